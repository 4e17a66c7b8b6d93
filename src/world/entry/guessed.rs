//! Where nothing says what is applied: each path whose Flux Kustomizations no
//! other one applies and whose source and path exist. Nobody need apply these.

use super::holes::has_holes;
use super::leftovers::is_leftover;
use super::{EntryPoint, source_of};
use crate::files::{FileTree, Snapshot, join};
use crate::model::kinds;
use crate::model::{Called, Object};
use crate::world::build::{Memo, build_overlay};
use crate::world::overlays::Overlays;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Directories that look like clusters, for somebody who has to say which ones
/// are: those below a `clusters` directory, else those of Kustomizations.
pub(crate) fn suggestions(snapshot: &Arc<Snapshot>) -> Vec<String> {
    let overlays = Overlays::of(snapshot);
    let flux = flux_files(snapshot);
    let leaves = leaves(snapshot, &overlays, &flux);
    let alone = alone(&leaves);
    let mut found: BTreeSet<String> = BTreeSet::new();
    for path in flux.iter().filter(|path| !is_leftover(path)) {
        let mut reached = leaves.iter().filter(|(_, files)| files.contains(path)).peekable();
        if reached.peek().is_none() {
            found.insert(group_directory(path, &alone));
        }
        found.extend(reached.map(|(leaf, _)| group_directory(&format!("{leaf}/"), &alone)));
    }
    let below: BTreeSet<String> = found.iter().filter(|path| is_cluster(path, &alone)).cloned().collect();
    let mut chosen: Vec<String> = if below.is_empty() { found } else { below }.into_iter().collect();
    // One directory speaks for those below it.
    let all = chosen.clone();
    chosen.retain(|path| {
        !all.iter().any(|other| path.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/')))
    });
    chosen
}

/// An overlay that nothing includes, and files that it takes in.
type LeafOverlay = (String, FxHashSet<Arc<str>>);

/// The files that hold Flux Kustomizations, patches for them included.
fn flux_files(snapshot: &Snapshot) -> FxHashSet<Arc<str>> {
    let flux = snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id));
    flux.map(|object| object.path().clone()).collect()
}

/// The overlays that nothing includes, with the files of Flux Kustomizations that
/// they take in, where they do.
fn leaves(snapshot: &Snapshot, overlays: &Overlays, flux: &FxHashSet<Arc<str>>) -> Vec<LeafOverlay> {
    let with_files = |leaf: &String| {
        let mut files = overlays.reach(snapshot, leaf);
        files.retain(|file| flux.contains(file));
        (!files.is_empty()).then(|| (leaf.clone(), files))
    };
    overlays.leaves().filter(|leaf| !is_leftover(leaf)).filter_map(with_files).collect()
}

/// Overlays below one `clusters/<name>` that build the same Kustomization of a
/// shared file: each is a cluster of its own, as in `clusters/<env>/<number>`.
fn alone(leaves: &[LeafOverlay]) -> BTreeSet<String> {
    let mut groups: BTreeMap<String, Vec<&LeafOverlay>> = BTreeMap::new();
    for leaf in leaves {
        groups.entry(group_directory(&format!("{}/", leaf.0), &BTreeSet::new())).or_default().push(leaf);
    }
    let mut alone = BTreeSet::new();
    for group in groups.values() {
        let mut users: FxHashMap<&str, usize> = FxHashMap::default();
        for file in group.iter().flat_map(|(_, files)| files) {
            *users.entry(file).or_default() += 1;
        }
        let shares = |files: &FxHashSet<Arc<str>>| files.iter().any(|file| users[&**file] > 1);
        alone.extend(group.iter().filter(|(_, files)| shares(files)).map(|(leaf, _)| leaf.clone()));
    }
    alone
}

/// Whether a repository is a program: what it holds of Flux shows or tests it.
fn is_product(snapshot: &Snapshot) -> bool {
    ["go.mod", "Cargo.toml", "package.json", "pom.xml", "PROJECT"]
        .iter()
        .any(|name| snapshot.file(name).is_some())
        && !snapshot.has_directory("clusters")
}

/// Without a stated entry point: the paths that hold Flux Kustomizations which
/// no other one applies. One that lies below its own path is a home-made root.
pub(super) fn unapplied(snapshot: &Arc<Snapshot>, overlays: &Overlays, memo: &Memo) -> Vec<EntryPoint> {
    if is_product(snapshot) {
        return Vec::new();
    }
    let (found, own) = with_directories(snapshot);
    let leaves: Vec<LeafOverlay> =
        overlays.leaves().map(|leaf| (leaf.clone(), overlays.reach(snapshot, leaf))).collect();
    let alone = alone(&self::leaves(snapshot, overlays, &flux_files(snapshot)));
    let mut tried: BTreeMap<&String, bool> = BTreeMap::new();
    let mut groups: BTreeMap<String, EntryPoint> = BTreeMap::new();
    for object in not_covered(snapshot, overlays, &found) {
        let file = &**object.path();
        let mut built = false;
        for (leaf, _) in leaves.iter().filter(|(_, files)| files.contains(file)) {
            built |= match tried.get(leaf) {
                Some(built) => *built,
                None => {
                    let built = add_overlay(snapshot, leaf, memo, &own, &alone, &mut groups);
                    tried.insert(leaf, built);
                    built
                }
            };
        }
        if built {
            continue;
        }
        let directory = group_directory(file, &alone);
        let entry = groups.entry(directory.clone()).or_insert_with(|| EntryPoint::unstated(directory));
        if entry.source.is_none() {
            entry.source = source_of(&object.id, object.node.get_ref()).filter(|source| own.contains(source));
        }
        entry.kustomizations.push((object.id.clone(), object.node.clone()));
    }
    merge_nested(&mut groups);
    // Of several directories, those that look like clusters.
    let only = groups.len() == 1;
    groups.into_values().filter(|entry| only || is_cluster(&entry.root, &alone)).collect()
}

/// A Flux Kustomization and its path; `None` for the root of what may be another
/// repository.
type WithPath<'s> = (&'s Object, Option<String>);

/// The Flux Kustomizations whose source is defined and whose path is here, and the sources
/// that stand for this repository, as far as can be seen: a directory that one of their
/// Kustomizations names is here. Where none does, that is the one source that nothing
/// defines and all name: somebody makes it who installs Flux.
fn with_directories(snapshot: &Snapshot) -> (Vec<WithPath<'_>>, BTreeSet<Called>) {
    let objects = snapshot.objects().iter().filter(|object| !is_leftover(object.path()));
    let names: FxHashSet<(&str, &str)> = objects.map(|object| (&*object.id.kind, &*object.id.name)).collect();
    let defined = |source: &Called| {
        let bootstrap = &*source.kind == "GitRepository" && &*source.name == "flux-system";
        bootstrap || names.contains(&(&*source.kind, &*source.name))
    };
    let source_of = |object: &Object| source_of(&object.id, object.node.get_ref());
    let all = || {
        let kustomizations = snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id));
        kustomizations.filter(|object| !object.id.name.is_empty() && !is_leftover(object.path()))
    };
    let with_path = |object: &'_ Object| {
        let path = object.node.get_ref().str_at("/spec/path").map(|path| super::clean_path(&path));
        let written = path.as_deref().unwrap_or_default();
        (!has_holes(written) && snapshot.has_directory(written)).then_some(path)
    };
    let is_own = |path: &Option<String>| path.as_deref().is_some_and(|path| !path.is_empty());
    let with_source = |is_meant: &dyn Fn(&Called) -> bool| -> Vec<WithPath<'_>> {
        let meant = all().filter(|object| source_of(object).is_some_and(|source| is_meant(&source)));
        meant.filter_map(|object| Some((object, with_path(object)?))).collect()
    };
    let mut found = with_source(&defined);
    if !found.iter().any(|(_, path)| is_own(path)) {
        let undefined: BTreeSet<Called> =
            all().filter_map(source_of).filter(|source| !defined(source)).collect();
        let mut named = undefined.iter();
        if let (Some(source), None) = (named.next(), named.next()) {
            let count = all().filter(|object| source_of(object).as_ref() == Some(source)).count();
            let of_source = with_source(&|other| other == source);
            if count > 1 && of_source.len() == count && of_source.iter().all(|(_, path)| is_own(path)) {
                found = of_source;
            }
        }
    }
    let own: BTreeSet<Called> =
        found.iter().filter(|(_, path)| is_own(path)).filter_map(|(object, _)| source_of(object)).collect();
    for (object, path) in &mut found {
        if path.as_deref() == Some("") && source_of(object).is_some_and(|source| !own.contains(&source)) {
            *path = None;
        }
    }
    (found, own)
}

/// Whether a path lies below another one.
fn is_below(file: &str, path: &str) -> bool {
    path.is_empty() || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
}

/// The Kustomizations in whose file no other one's path comes out. Of two that cover each
/// other the one with the shorter path counts.
fn not_covered<'f>(
    snapshot: &Snapshot,
    overlays: &Overlays,
    found: &'f [WithPath<'_>],
) -> impl Iterator<Item = &'f Object> {
    let paths: BTreeSet<&str> = found.iter().filter_map(|(_, path)| path.as_deref()).collect();
    let files: FxHashSet<&str> = found.iter().map(|(object, _)| &**object.path()).collect();
    // The paths whose kustomization takes a file in.
    let mut takers: FxHashMap<Arc<str>, FxHashSet<&str>> = FxHashMap::default();
    for path in &paths {
        for file in overlays.reach(snapshot, path).into_iter().filter(|file| files.contains(&**file)) {
            takers.entry(file).or_default().insert(path);
        }
    }
    let shortest: FxHashMap<Arc<str>, usize> = takers
        .iter()
        .filter_map(|(file, paths)| Some((file.clone(), paths.iter().map(|path| path.len()).min()?)))
        .collect();
    let is_covered = move |file: &str, own: Option<&str>| {
        let ends = memchr::memchr_iter(b'/', file.as_bytes()).map(|at| &file[..at]);
        // The first is the shortest.
        let above = std::iter::once("").chain(ends).find(|path| paths.contains(path)).map(str::len);
        let least = above.into_iter().chain(shortest.get(file).copied()).min();
        let takes =
            |own: &str| is_below(file, own) || takers.get(file).is_some_and(|paths| paths.contains(own));
        match own.filter(|own| takes(own)) {
            Some(own) => least.is_some_and(|least| least < own.len()),
            None => least.is_some(),
        }
    };
    let left = found.iter().filter(move |(object, path)| !is_covered(object.path(), path.as_deref()));
    left.map(|(object, _)| *object)
}

/// A directory below another one's belongs to the same cluster.
fn merge_nested(groups: &mut BTreeMap<String, EntryPoint>) {
    let roots: Vec<String> = groups.keys().cloned().collect();
    for root in &roots {
        let parent =
            roots.iter().find(|other| *other != root && is_below(root, other) && groups.contains_key(*other));
        let Some(parent) = parent else { continue };
        if let Some(child) = groups.remove(root)
            && let Some(entry) = groups.get_mut(parent)
        {
            entry.kustomizations.extend(child.kustomizations);
            entry.overlay.extend(child.overlay);
        }
    }
}

/// Whether a directory looks like that of a cluster.
fn is_cluster(root: &str, alone: &BTreeSet<String>) -> bool {
    root.split('/').rev().nth(1) == Some("clusters") || alone.contains(root) && root.contains("clusters/")
}

/// An overlay of Flux Kustomizations that somebody applies by hand, or from
/// elsewhere: what it builds to. False where it can't be built.
fn add_overlay(
    snapshot: &Arc<Snapshot>,
    leaf: &str,
    memo: &Memo,
    own: &BTreeSet<Called>,
    alone: &BTreeSet<String>,
    groups: &mut BTreeMap<String, EntryPoint>,
) -> bool {
    let directory = group_directory(&format!("{leaf}/"), alone);
    let Ok(build) = build_overlay(&FileTree::root(snapshot.clone()), leaf, memo) else { return false };
    let entry = groups.entry(directory.clone()).or_insert_with(|| EntryPoint::unstated(directory));
    for object in build.objects {
        let node = object.node.get_ref();
        if let Some(id) = object.id.clone().filter(|id| kinds::is_kustomization(id))
            && !entry.kustomizations.iter().any(|(known, _)| *known == *id)
        {
            let source = source_of(&id, node).filter(|source| own.contains(source));
            entry.source = entry.source.take().or(source);
            entry.kustomizations.push(((*id).clone(), object.node.clone()));
        }
        entry.overlay.push(object);
    }
    true
}

/// The directory that stands for a cluster: an overlay that stands `alone`,
/// `…/clusters/<name>` where the path has it, else the file's own directory.
fn group_directory(file: &str, alone: &BTreeSet<String>) -> String {
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
    let inside = |leaf: &&String| {
        directory.strip_prefix(leaf.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if let Some(leaf) = alone.iter().find(inside) {
        return leaf.clone();
    }
    let segments: Vec<&str> = directory.split('/').collect();
    match segments.iter().position(|segment| *segment == "clusters") {
        Some(at) if at + 1 < segments.len() => segments[..at + 2].join("/"),
        _ => join("", directory).unwrap_or_default(),
    }
}
