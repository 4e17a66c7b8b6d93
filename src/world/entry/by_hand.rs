//! A root that somebody applies by hand beside the only one that applies itself: a
//! Kustomization of the same source that lies below its own path, in a file that no
//! kustomization takes in, and from which more follows than from the other.

use super::holes::has_holes;
use super::leftovers::is_leftover;
use super::other_roots::{closure, paths_by_file};
use super::{EntryPoint, Form, path_of, source_of};
use crate::files::Snapshot;
use crate::lang::yaml::Known;
use crate::model::{Certainty, Object, kinds};
use crate::world::overlays::Overlays;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Of more than that none stands out.
const MOST: usize = 8;

/// Adds it to the roots of the cluster, where there is just one such Kustomization.
pub(super) fn add(entries: &mut [EntryPoint], snapshot: &Arc<Snapshot>, overlays: &Overlays) {
    let [entry] = entries else { return };
    if entry.form != Form::AppliesItself {
        return;
    }
    let paths = paths_by_file(snapshot);
    let reached = |path: &str| closure(path, &entry.tree, &paths, snapshot, overlays);
    let own = reached(&entry.root);
    let mut taken_in = own.clone();
    taken_in.extend(overlays.leaves().flat_map(|leaf| overlays.reach(snapshot, leaf)));
    let all = || snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id));
    let count = |files: &FxHashSet<Arc<str>>| all().filter(|object| files.contains(object.path())).count();
    let with_path = |object: &'_ Object| {
        let node = object.node.get_ref();
        let Known::Value(path) = path_of(node) else { return None };
        let is_below = object.path().strip_prefix(&*path).is_some_and(|rest| rest.starts_with('/'));
        let is_outside = !taken_in.contains(object.path()) && !is_leftover(object.path());
        let is_of_source = source_of(&object.id, node) == entry.source;
        (is_below && is_outside && is_of_source && !has_holes(&path)).then_some(path)
    };
    let candidates: Vec<(&Object, String)> =
        all().filter_map(|object| Some((object, with_path(object)?))).take(MOST + 1).collect();
    if candidates.len() > MOST {
        return;
    }
    let more = |path: &String| count(&reached(path)) > count(&own);
    let mut found = candidates.iter().filter(|(_, path)| more(path)).map(|(object, _)| object);
    let (Some(object), None) = (found.next(), found.next()) else { return };
    let (id, node) = (object.id.clone(), object.node.clone());
    entry.kustomizations.push((id, node));
    entry.certainty = entry.certainty.min(Certainty::Assumed);
}
