//! Where nothing says what is applied: each path whose Flux Kustomizations no
//! other one applies and whose source and path exist. Nobody need apply these.

use super::holes::has_holes;
use super::leftovers::is_leftover;
use super::{Entry, source_of};
use crate::model::kinds;
use crate::model::{Object, ObjectId};
use crate::repo::{FileTree, Snapshot, join};
use crate::world::build::{Memo, build_overlay};
use crate::world::overlays::Overlays;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Directories that look like clusters, for somebody who has to say which ones
/// are: those below a `clusters` directory, else those of Kustomizations.
pub fn suggestions(snapshot: &Snapshot) -> Vec<String> {
    let mut found: BTreeSet<String> = BTreeSet::new();
    let flux = snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id));
    for path in flux.map(|object| &*object.source.path).filter(|path| !is_leftover(path)) {
        found.insert(group_directory(path));
    }
    let below: BTreeSet<String> =
        found.iter().filter(|path| path.split('/').rev().nth(1) == Some("clusters")).cloned().collect();
    let mut chosen: Vec<String> = if below.is_empty() { found } else { below }.into_iter().collect();
    // One directory speaks for those below it.
    let all = chosen.clone();
    chosen.retain(|path| {
        !all.iter().any(|other| path.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/')))
    });
    chosen.truncate(12);
    chosen
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
pub(super) fn unapplied(snapshot: &Arc<Snapshot>, overlays: &Overlays, memo: &Memo) -> Vec<Entry> {
    if is_product(snapshot) {
        return Vec::new();
    }
    let defined = |source: &(String, Option<String>, String)| {
        let bootstrap = source.0 == "GitRepository" && source.2 == "flux-system";
        bootstrap
            || snapshot.objects().iter().any(|object| {
                *object.id.kind == *source.0
                    && *object.id.name == *source.2
                    && !is_leftover(&object.source.path)
            })
    };
    let all: Vec<(&Object, Option<String>)> = snapshot
        .objects()
        .iter()
        .filter(|object| kinds::is_kustomization(&object.id))
        .filter(|object| !object.id.name.is_empty() && !is_leftover(&object.source.path))
        .filter(|object| source_of(&object.id, object.node.get_ref()).is_some_and(|source| defined(&source)))
        .map(|object| {
            (object, object.node.get_ref().str_at("/spec/path").map(|path| super::clean_path(&path)))
        })
        .filter(|(_, path)| {
            let path = path.as_deref().unwrap_or_default();
            !has_holes(path) && snapshot.has_directory(path)
        })
        .collect();
    let below = |file: &str, path: &str| {
        path.is_empty() || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
    };
    // Sources that stand for this repository, as far as can be seen: a directory
    // that one of their Kustomizations names is here.
    let own: BTreeSet<_> = all
        .iter()
        .filter(|(_, path)| {
            path.as_deref().is_some_and(|path| !path.is_empty() && snapshot.has_directory(path))
        })
        .filter_map(|(object, _)| source_of(&object.id, object.node.get_ref()))
        .collect();
    let all: Vec<(&Object, Option<String>)> = all
        .into_iter()
        .map(|(object, path)| match source_of(&object.id, object.node.get_ref()) {
            Some(source) if path.as_deref() == Some("") && !own.contains(&source) => (object, None),
            _ => (object, path),
        })
        .collect();
    let mut reach: BTreeMap<&str, FxHashSet<Arc<str>>> = BTreeMap::new();
    for path in all.iter().filter_map(|(_, path)| path.as_deref()) {
        reach.entry(path).or_insert_with(|| overlays.reach(snapshot, path));
    }
    let covers = |path: &Option<String>, file: &str| {
        path.as_deref().is_some_and(|path| {
            below(file, path) || reach.get(path).is_some_and(|files| files.contains(file))
        })
    };
    let leaves: Vec<(&String, FxHashSet<Arc<str>>)> =
        overlays.leaves().map(|leaf| (leaf, overlays.reach(snapshot, leaf))).collect();
    let mut tried: BTreeMap<&String, bool> = BTreeMap::new();
    let mut groups: BTreeMap<String, Entry> = BTreeMap::new();
    for (index, (object, _)) in all.iter().enumerate() {
        let file = &*object.source.path;
        let covered = all.iter().enumerate().any(|(other, (_, path))| {
            other != index
                && covers(path, file)
                && !(covers(&all[index].1, file)
                    && all[index].1.as_deref().map(str::len) <= path.as_deref().map(str::len))
        });
        if covered {
            continue;
        }
        let mut built = false;
        for (leaf, _) in leaves.iter().filter(|(_, files)| files.contains(file)) {
            built |= match tried.get(leaf) {
                Some(built) => *built,
                None => {
                    let built = add_overlay(snapshot, leaf, memo, &own, &mut groups);
                    tried.insert(leaf, built);
                    built
                }
            };
        }
        if built {
            continue;
        }
        let directory = group_directory(file);
        let entry = groups.entry(directory.clone()).or_insert_with(|| Entry::unstated(directory));
        if entry.source.is_none() {
            entry.source = source_of(&object.id, object.node.get_ref()).filter(|source| own.contains(source));
        }
        entry.kustomizations.push((object.id.clone(), object.node.clone()));
    }
    // A directory below another one's belongs to the same cluster.
    let roots: Vec<String> = groups.keys().cloned().collect();
    for root in &roots {
        let parent =
            roots.iter().find(|other| *other != root && below(root, other) && groups.contains_key(*other));
        let Some(parent) = parent else { continue };
        if let Some(child) = groups.remove(root)
            && let Some(entry) = groups.get_mut(parent)
        {
            entry.kustomizations.extend(child.kustomizations);
            entry.overlay.extend(child.overlay);
        }
    }
    // Of several directories, those that look like clusters.
    let is_cluster = |root: &str| root.split('/').rev().nth(1) == Some("clusters");
    let only = groups.len() == 1;
    groups.into_values().filter(|entry| only || is_cluster(&entry.root)).collect()
}

/// An overlay of Flux Kustomizations that somebody applies by hand, or from
/// elsewhere: what it builds to. False where it can't be built.
fn add_overlay(
    snapshot: &Arc<Snapshot>,
    leaf: &str,
    memo: &Memo,
    own: &BTreeSet<(String, Option<String>, String)>,
    groups: &mut BTreeMap<String, Entry>,
) -> bool {
    let directory = group_directory(&format!("{leaf}/"));
    let Ok(build) = build_overlay(&FileTree::root(snapshot.clone()), leaf, memo) else { return false };
    let entry = groups.entry(directory.clone()).or_insert_with(|| Entry::unstated(directory));
    for object in build.objects {
        let node = object.node.get_ref();
        if let Some(id) = ObjectId::of(node).filter(kinds::is_kustomization)
            && !entry.kustomizations.iter().any(|(known, _)| *known == id)
        {
            let source = source_of(&id, node).filter(|source| own.contains(source));
            entry.source = entry.source.take().or(source);
            entry.kustomizations.push((id, object.node.clone()));
        }
        entry.overlay.push(object);
    }
    true
}

/// The directory that stands for a cluster: `…/clusters/<name>` where the path
/// has it, else the file's own directory.
fn group_directory(file: &str) -> String {
    let directory = file.rsplit_once('/').map_or("", |(directory, _)| directory);
    let segments: Vec<&str> = directory.split('/').collect();
    match segments.iter().position(|segment| *segment == "clusters") {
        Some(at) if at + 1 < segments.len() => segments[..at + 2].join("/"),
        _ => join("", directory).unwrap_or_default(),
    }
}
