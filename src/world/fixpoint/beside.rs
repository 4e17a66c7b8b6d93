//! What is in a cluster beside what its entry point applies.

use super::grown::Grown;
use crate::build::kustomize::FileRole;
use crate::files::Snapshot;
use crate::lang::yaml::{FilePath, Node, Tree};
use crate::model::{Maker, ObjectId};
use crate::world::build::BuiltObject;
use crate::world::entry_point::EntryPoint;
use crate::world::inventory::{Kinds, UnseenMaker, UnseenMakerKind, WrittenObjects};
use crate::world::{ApplyTarget, PlacedObject};
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// What may be in a cluster by its entry point: what another root has applied,
/// sources that come with the installation.
pub(super) fn openers_of(snapshot: &Snapshot, entry: &EntryPoint) -> Vec<UnseenMaker> {
    let other = |(id, files): &(ObjectId, FxHashSet<Arc<str>>)| {
        let objects = snapshot.objects().iter().filter(|object| files.contains(object.path()));
        WrittenObjects::of(objects).opener(UnseenMakerKind::OtherRoot, format!("{id}, which may be the root"))
    };
    let mut openers: Vec<UnseenMaker> = entry.other_roots.iter().filter_map(other).collect();
    if entry.has_unseen_sources {
        openers.push(UnseenMaker {
            cause: UnseenMakerKind::NoEntry,
            kinds: Kinds::Only(["GitRepository", "OCIRepository", "Bucket"].map(Arc::from).to_vec()),
            namespace: None,
            names: None,
            only: None,
            target: ApplyTarget::Local,
            what: "what installs Flux".to_owned(),
            location: None,
        });
    }
    openers
}

/// Without a stated entry point, what lies beside the root Kustomizations is
/// taken to be applied by hand.
pub(super) fn by_hand(snapshot: &Snapshot, entry: &EntryPoint, grown: &Grown) -> Vec<PlacedObject> {
    let mut placed = Vec::new();
    let directory = |file: &FilePath| {
        let above = file.shown().rsplit_once('/').map_or("", |(directory, _)| directory);
        (file.tree().clone(), above.to_owned())
    };
    let roots: FxHashSet<(Tree, String)> = entry
        .kustomizations
        .iter()
        .filter_map(|(_, node)| node.get_ref().location())
        .map(|location| directory(&location.file))
        .collect();
    let built: FxHashSet<FilePath> = grown
        .objects
        .iter()
        .flat_map(|(_, object, _, _)| object.files.iter().map(|(_, location)| location.file.clone()))
        .collect();
    for object in snapshot.objects() {
        let beside = roots.contains(&directory(&object.source.file)) && !built.contains(&object.source.file);
        if !beside || object.id.group() == "kustomize.config.k8s.io" {
            continue;
        }
        placed.push(as_written(&object.id, &object.node));
    }
    placed
}

/// An object that nothing builds, as it is written.
pub(super) fn as_written(id: &ObjectId, node: &Node) -> PlacedObject {
    let place = node.get_ref().location().map(|location| (FileRole::Resource, location));
    let built = BuiltObject::new(node.clone(), place.into_iter().collect());
    (Arc::new(id.clone()), Arc::new(built), ApplyTarget::Local, Maker::Entry)
}
