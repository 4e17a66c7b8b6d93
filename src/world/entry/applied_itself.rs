//! Kustomizations that apply their own definition: applied by hand once, they
//! keep themselves from then on. Two layouts have them: one that lies below its
//! own path with its source, and a shared one that the overlay of each cluster
//! completes with a patch.

use super::leftovers::is_leftover;
use super::{EntryPoint, Form, path_of, source_of};
use crate::files::{FileTree, Snapshot};
use crate::lang::yaml::{Known, Node};
use crate::model::{Certainty, Object, ObjectId, kinds};
use crate::world::build::{Memo, build_overlay};
use crate::world::overlays::Overlays;
use crate::world::source::{ignore, normalise, reference};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A Flux Kustomization as written, with its path.
struct WrittenKustomization<'s> {
    object: &'s Object,
    path: String,
}

pub(super) fn find(snapshot: &Arc<Snapshot>, overlays: &Overlays, memo: &Memo) -> Vec<EntryPoint> {
    let mut entries = below(snapshot, overlays);
    entries.extend(merged(snapshot, overlays, memo, &entries));
    entries
}

/// Those that lie below their own path with their source.
pub(super) fn below(snapshot: &Snapshot, overlays: &Overlays) -> Vec<EntryPoint> {
    let all: Vec<WrittenKustomization<'_>> = snapshot
        .objects()
        .iter()
        .filter(|object| kinds::is_kustomization(&object.id) && !is_leftover(object.path()))
        .filter_map(|object| {
            let node = object.node.get_ref();
            let Known::Value(path) = path_of(node) else { return None };
            // Without a source it is a patch, or not whole yet.
            let whole = node.at("/spec/sourceRef/name").is_some() && !super::holes::has_holes(&path);
            // The top of an artifact of another project holds everything here too.
            let whole = whole && !path.is_empty();
            (whole && snapshot.has_directory(&path)).then_some(WrittenKustomization { object, path })
        })
        .collect();
    below_their_path(snapshot, overlays, &all)
}

fn below_their_path(
    snapshot: &Snapshot,
    overlays: &Overlays,
    all: &[WrittenKustomization<'_>],
) -> Vec<EntryPoint> {
    let mut reach: BTreeMap<&str, FxHashSet<Arc<str>>> = BTreeMap::new();
    let is_below = |file: &str, path: &str| {
        path.is_empty() || file.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
    };
    let mut candidates: Vec<&WrittenKustomization<'_>> = Vec::new();
    for written in all.iter().filter(|written| !is_leftover(&written.path)) {
        if !is_below(written.object.path(), &written.path) {
            continue;
        }
        let files = reach.entry(&written.path).or_insert_with(|| overlays.reach(snapshot, &written.path));
        if files.contains(written.object.path()) {
            candidates.push(written);
        }
    }
    let source_below = |written: &WrittenKustomization<'_>| {
        let source = source_of(&written.object.id, written.object.node.get_ref())?;
        snapshot.objects().iter().find(|other| {
            other.id.kind == source.kind
                && other.id.name == source.name
                && (other.id.namespace == source.namespace || other.id.namespace.is_none())
                && other.id.group() == kinds::SOURCE
                && is_below(other.path(), &written.path)
        })
    };
    let mut entries: Vec<EntryPoint> = Vec::new();
    for written in &candidates {
        let outer = candidates.iter().any(|other| {
            other.path.len() < written.path.len() && is_below(written.object.path(), &other.path)
        });
        let Some(source) = source_below(written).filter(|_| !outer) else { continue };
        let node = written.object.node.get_ref();
        entries.push(EntryPoint {
            kustomizations: vec![(written.object.id.clone(), written.object.node.clone())],
            source: source_of(&written.object.id, node),
            generated: vec![(source.id.clone(), None)],
            url: source.node.get_ref().str_at("/spec/url").map(|url| normalise(&url)),
            reference: reference(source.node.get_ref()),
            ignore: ignore(source.node.get_ref()),
            location: node.location(),
            certainty: Certainty::Stated,
            form: Form::AppliesItself,
            ..EntryPoint::unstated(written.path.clone())
        });
    }
    // Of several with one path the first stands for all: the one of the source that
    // bootstrap makes, whatever the order of the documents.
    entries.sort_by_cached_key(|entry| {
        let is_bootstrap = entry.source.as_ref().is_some_and(|source| &*source.name == "flux-system");
        let id = entry.kustomizations.first().map(|(id, _)| id.clone());
        (!is_bootstrap, entry.source.clone(), id)
    });
    entries
}

/// Overlays that nothing includes and that build a Kustomization of their own
/// directory.
fn merged(
    snapshot: &Arc<Snapshot>,
    overlays: &Overlays,
    memo: &Memo,
    known: &[EntryPoint],
) -> Vec<EntryPoint> {
    let flux: FxHashSet<Arc<str>> = snapshot
        .objects()
        .iter()
        .filter(|object| kinds::is_kustomization(&object.id))
        .map(|object| object.path().clone())
        .collect();
    let tree = FileTree::root(snapshot.clone());
    let mut entries = Vec::new();
    for leaf in overlays.leaves().filter(|leaf| !leaf.is_empty() && !is_leftover(leaf)) {
        let is_known = known.iter().any(|entry| entry.root == **leaf);
        let files = overlays.reach(snapshot, leaf);
        if is_known || files.is_disjoint(&flux) {
            continue;
        }
        let Ok(build) = build_overlay(&tree, leaf, memo) else { continue };
        let nodes: Vec<&Node> = build.objects.iter().map(|object| &object.node).collect();
        for node in &nodes {
            let view = node.get_ref();
            let Some(id) = ObjectId::of(view).filter(kinds::is_kustomization) else { continue };
            let Some(source) = source_of(&id, view) else { continue };
            if path_of(view) != Known::Value(leaf.to_string()) {
                continue;
            }
            let written = nodes.iter().find_map(|other| {
                let other_id = ObjectId::of(other.get_ref())?;
                source.is(&other_id).then_some((other_id, other.get_ref()))
            });
            let elsewhere = view.location().is_some_and(|location| {
                !location.file.shown().strip_prefix(leaf.as_str()).is_some_and(|rest| rest.starts_with('/'))
            });
            if written.is_none() && !elsewhere {
                continue;
            }
            entries.push(EntryPoint {
                url: written
                    .as_ref()
                    .and_then(|(_, node)| node.str_at("/spec/url"))
                    .map(|url| normalise(&url)),
                reference: written.as_ref().and_then(|(_, node)| reference(*node)),
                ignore: written.as_ref().and_then(|(_, node)| ignore(*node)),
                generated: written.map(|(id, _)| (id, None)).into_iter().collect(),
                kustomizations: vec![(id, (*node).clone())],
                source: Some(source),
                location: view.location_at("/spec/path").or_else(|| view.location()),
                certainty: Certainty::Stated,
                form: Form::AppliesItself,
                ..EntryPoint::unstated(leaf.to_string())
            });
        }
    }
    entries
}
