//! Where the root of an entry point lies in this repository: its variables, the
//! directory that its source stands for, whether it exists, and which of several
//! statements is the live one.

use super::holes::{GivenVariables, expand, has_holes};
use super::leftovers::is_archived;
use super::{EntryPoint, EntryPoints, Form, Unsettled, clean_path};
use crate::build::kustomize::FILE_NAMES;
use crate::files::{Snapshot, join};
use crate::lang::yaml::{Location, Node};
use crate::model::kinds;
use crate::model::{Certainty, Object};
use crate::world::overlays::Overlays;
use crate::world::pushes::{self, Push};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Where a root lies: the directory of its source, and how that is known.
struct RootPlace {
    tree: String,
    certainty: Certainty,
    is_tree_known: bool,
}

/// The candidates whose root exists, each root once, and what is left over.
pub(super) fn settle(
    candidates: Vec<EntryPoint>,
    snapshot: &Arc<Snapshot>,
    overlays: &Overlays,
    pushes: &[Push],
) -> EntryPoints {
    let mut found = EntryPoints::default();
    let mut variables: Option<GivenVariables> = None;
    for entry in candidates {
        if is_archived(entry.file()) || is_archived(&entry.root) {
            continue;
        }
        let (paths, is_said) = if has_holes(&entry.root) {
            let variables = variables.get_or_insert_with(|| GivenVariables::of(snapshot));
            expand(&entry.root, variables, snapshot)
        } else {
            (vec![entry.root.clone()], true)
        };
        if paths.is_empty() {
            found.unsettled.push(unsettled(&entry, "nothing here says the value of a variable in its path"));
            continue;
        }
        let several = has_holes(&entry.root);
        for path in paths {
            let path = clean_path(&path);
            match place(&entry, &path, snapshot, pushes) {
                Ok(place) => {
                    let mut entry = entry.clone();
                    if several {
                        set_path(&mut entry, &path);
                    }
                    entry.root = join(&place.tree, &path).unwrap_or_default();
                    entry.tree = place.tree;
                    entry.is_tree_known = place.is_tree_known;
                    let certainty = if is_said { place.certainty } else { Certainty::Assumed };
                    entry.certainty = entry.certainty.min(certainty);
                    if !found.entries.iter().any(|other| other.root == entry.root) {
                        found.entries.push(entry);
                    }
                }
                Err(why) => found.unsettled.push(unsettled(&entry, &why)),
            }
        }
    }
    // What another statement settles needs no complaint.
    let entries = &found.entries;
    found.unsettled.retain(|one| {
        let same = |entry: &EntryPoint| {
            entry.root == clean_path(&one.path) || matches!(one.form, Form::Helmfile | Form::Values)
        };
        !entries.iter().any(same)
    });
    drop_other_trees(&mut found.entries);
    drop_stale(&mut found.entries, snapshot, overlays);
    drop_other_layouts(&mut found.entries, snapshot);
    found
}

fn unsettled(entry: &EntryPoint, why: &str) -> Unsettled {
    let id = entry.kustomizations.first().map(|(id, _)| id.clone());
    Unsettled {
        id: id.unwrap_or_else(|| crate::model::ObjectId {
            api_version: "kustomize.toolkit.fluxcd.io/v1".into(),
            kind: "Kustomization".into(),
            namespace: None,
            name: "".into(),
        }),
        path: entry.root.clone(),
        form: entry.form,
        why: why.to_owned(),
        location: entry.location.clone(),
    }
}

/// The root Kustomization with its path written out.
fn set_path(entry: &mut EntryPoint, path: &str) {
    for (_, node) in &mut entry.kustomizations {
        let place: Option<Location> = node.get_ref().location_at("/spec/path");
        if let Some(spec) = node.get_mut("spec") {
            spec.set("path", Node::string(&format!("./{path}"), place.clone()), place);
        }
    }
}

fn place(
    entry: &EntryPoint,
    path: &str,
    snapshot: &Arc<Snapshot>,
    pushes: &[Push],
) -> Result<RootPlace, String> {
    let exists = |path: &str| snapshot.has_directory(path);
    let at = |tree: &str, certainty, is_tree_known| {
        Ok(RootPlace { tree: tree.to_owned(), certainty, is_tree_known })
    };
    let is_pushed =
        entry.source.as_ref().is_some_and(|source| matches!(&*source.kind, "OCIRepository" | "Bucket"));
    if is_pushed {
        if let Some(url) = &entry.url
            && let Some(push) = pushes::root_of(pushes, url, path, snapshot)
        {
            return at(&push.directory, Certainty::Stated, true);
        }
        if path.is_empty() {
            return Err("its source is an artifact whose root nothing here states".to_owned());
        }
        if exists(path) {
            return at("", Certainty::Assumed, false);
        }
        return match ending_in(path, snapshot).as_slice() {
            [tree] => at(tree, Certainty::Assumed, false),
            _ => Err(format!(
                "its source is an artifact whose root nothing here states, and there is no {path}"
            )),
        };
    }
    if path.is_empty() {
        return at_top(entry, snapshot);
    }
    if exists(path) {
        return at("", Certainty::Stated, true);
    }
    // Several repositories in one: the only directory above the file in which
    // the path is there.
    let mut above = entry.file();
    let mut trees = Vec::new();
    while let Some((directory, _)) = above.rsplit_once('/') {
        if join(directory, path).is_some_and(|path| exists(&path)) {
            trees.push(directory);
        }
        above = directory;
    }
    match trees.as_slice() {
        [tree] => at(tree, Certainty::Stated, true),
        _ => Err(format!("there is no {path}")),
    }
}

/// A path that is the top of its source: the repository's, where that holds a
/// kustomization or the bootstrap's directory, else a directory above the file.
fn at_top(entry: &EntryPoint, snapshot: &Snapshot) -> Result<RootPlace, String> {
    let at = |tree: &str, certainty| Ok(RootPlace { tree: tree.to_owned(), certainty, is_tree_known: true });
    if entry.form == Form::Sync {
        let directory = entry.file().rsplit_once('/').map_or("", |(directory, _)| directory);
        return match directory.rsplit_once('/') {
            None => at("", Certainty::Stated),
            Some((above, _)) => at(above, Certainty::Assumed),
        };
    }
    if FILE_NAMES.iter().any(|name| snapshot.file(name).is_some()) {
        return at("", Certainty::Stated);
    }
    Err("its path is the top of its source, and nothing here is built from the top".to_owned())
}

/// Directories in which a path exists that doesn't at the top.
fn ending_in(path: &str, snapshot: &Snapshot) -> Vec<String> {
    let wanted = format!("/{path}/");
    let mut found: FxHashSet<String> = FxHashSet::default();
    for file in snapshot.files() {
        if let Some(at) = file.path.find(&wanted) {
            found.insert(file.path[..at].to_owned());
        }
    }
    found.retain(|tree| !super::leftovers::is_leftover(tree));
    found.into_iter().collect()
}

/// Drop those for which a directory was taken for the top of a source that is the
/// whole repository: what was there before its directories were moved.
fn drop_other_trees(entries: &mut Vec<EntryPoint>) {
    let at_top = |entry: &&EntryPoint| entry.tree.is_empty() && entry.is_tree_known;
    let whole: FxHashSet<String> =
        entries.iter().filter(at_top).filter_map(|entry| entry.url.clone()).collect();
    // Of one whose path is the top of its source, that is not told.
    let is_top = |entry: &EntryPoint| entry.tree.is_empty() || entry.root == entry.tree;
    entries.retain(|entry| is_top(entry) || entry.url.as_ref().is_none_or(|url| !whole.contains(url)));
}

/// Where a script bootstraps each cluster at one pattern of paths, a gotk-sync.yaml
/// of another layout is what was there before.
fn drop_other_layouts(entries: &mut Vec<EntryPoint>, snapshot: &Snapshot) {
    if !entries.iter().any(|entry| entry.form == Form::Sync) {
        return;
    }
    let patterns = pushes::bootstraps(snapshot);
    let fits = |entry: &EntryPoint| {
        let fit = |(before, after): &(String, String)| {
            entry.root.starts_with(before.as_str()) && entry.root.ends_with(after.as_str())
        };
        patterns.iter().any(fit)
    };
    if entries.iter().any(|entry| entry.form == Form::Sync && fits(entry)) {
        entries.retain(|entry| entry.form != Form::Sync || fits(entry));
    }
}

/// Drop what a migration left behind: a FluxInstance that nothing applies beside
/// something that is, and a gotk-sync.yaml whose root holds or lies in that of
/// an instance which its own root applies.
fn drop_stale(entries: &mut Vec<EntryPoint>, snapshot: &Arc<Snapshot>, overlays: &Overlays) {
    if entries.len() < 2
        || !entries.iter().any(|entry| entry.form == Form::Instance || entry.form == Form::Chart)
    {
        return;
    }
    let flux = snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id));
    let path = |object: &Object| object.node.get_ref().str_at("/spec/path").map(|path| clean_path(&path));
    let mut paths: FxHashSet<String> =
        flux.filter_map(path).filter(|path| snapshot.has_directory(path)).collect();
    // Paths of another tree are seen from it.
    for tree in entries.iter().map(|entry| entry.tree.clone()).filter(|tree| !tree.is_empty()) {
        let flux = snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id));
        paths.extend(
            flux.filter_map(path)
                .filter_map(|path| join(&tree, &path))
                .filter(|path| snapshot.has_directory(path)),
        );
    }
    paths.extend(entries.iter().map(|entry| entry.root.clone()));
    paths.extend(overlays.leaves().cloned());
    let wanted: FxHashSet<&str> = entries.iter().map(EntryPoint::file).collect();
    let mut applied: FxHashSet<Arc<str>> = FxHashSet::default();
    for path in &paths {
        applied.extend(overlays.reach(snapshot, path).into_iter().filter(|file| wanted.contains(&**file)));
    }
    let nested = |one: &str, other: &str| {
        one.is_empty()
            || other.is_empty()
            || one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
            || other.strip_prefix(one).is_some_and(|rest| rest.starts_with('/'))
    };
    let is_applied = |entry: &EntryPoint| applied.contains(entry.file());
    let is_own = |entry: &EntryPoint| {
        let directory = entry.file().rsplit_once('/').map_or("", |(directory, _)| directory);
        directory == entry.root
            || entry.root.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
    };
    let operator = |entry: &EntryPoint| matches!(entry.form, Form::Instance | Form::Chart);
    let live: Vec<bool> = entries
        .iter()
        .map(|entry| match entry.form {
            Form::Instance if !is_applied(entry) => {
                let other = entries.iter().any(|other| {
                    other.root != entry.root && (other.form != Form::Instance || is_applied(other))
                });
                !other || is_own(entry)
            }
            Form::Sync => !entries
                .iter()
                .any(|other| operator(other) && is_applied(other) && nested(&entry.root, &other.root)),
            _ => true,
        })
        .collect();
    let mut live = live.into_iter();
    entries.retain(|_| live.next().unwrap_or(true));
}
