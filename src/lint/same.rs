//! Objects that a change leaves as they are, of which rules that look at nothing else
//! find the same before and after it.

use super::Rule;
use crate::model::ObjectId;
use crate::world::versions::Settings;
use crate::world::{Applied, Cluster, Effective, Outcome, World};
use rustc_hash::{FxHashMap, FxHashSet};

/// Rules about objects that look at more than the object, its clusters' settings and
/// the schema of its kind.
pub const LOOK_AROUND: [&str; 4] = [
    "annotation-as-label",
    "event-metadata-dropped",
    "misspelled-annotation-prefix",
    "unknown-annotation-key",
];

/// Whether a rule about objects looks at more than the object.
pub(super) fn looks_around(rule: &Rule) -> bool {
    LOOK_AROUND.contains(&rule.id)
}

/// The objects that two worlds share, as indices of [`World::objects`] of each.
pub(super) fn objects(base: &World, head: &World) -> (FxHashSet<usize>, FxHashSet<usize>) {
    let (mut old, mut new) = (FxHashSet::default(), FxHashSet::default());
    if !judge_alike(base, head) {
        return (old, new);
    }
    let mut known: FxHashMap<(usize, u32), Vec<usize>> = FxHashMap::default();
    for (index, object) in base.objects.iter().enumerate() {
        known.entry(object.node.address()).or_default().push(index);
    }
    for (index, object) in head.objects.iter().enumerate() {
        // One that stands several times is several objects: too much to tell apart.
        let Some([before]) = known.get(&object.node.address()).map(Vec::as_slice) else { continue };
        let other = &base.objects[*before];
        if other.id == object.id
            && other.problems == object.problems
            && places(base, other) == places(head, object)
            && old.insert(*before)
        {
            new.insert(index);
        }
    }
    (old, new)
}

/// Whether versions, flags and definitions are the same: what judges objects.
fn judge_alike(base: &World, head: &World) -> bool {
    let definitions = |world: &World| -> FxHashSet<(usize, u32)> {
        let is_definition = |id: &ObjectId| id.is("apiextensions.k8s.io", "CustomResourceDefinition");
        let effective = world.objects.iter().filter(|object| is_definition(&object.id));
        let written = world.snapshot.objects().iter().filter(|object| is_definition(&object.id));
        let written = written.map(|object| object.node.address());
        effective.map(|object| object.node.address()).chain(written).collect()
    };
    let settings = |world: &World| {
        world
            .clusters
            .iter()
            .map(|cluster| (cluster.name.clone(), known(&cluster.settings)))
            .collect::<Vec<_>>()
    };
    settings(base) == settings(head) && definitions(base) == definitions(head)
}

/// What is known of a cluster's controllers, for a comparison.
fn known(settings: &Settings) -> impl PartialEq + use<> {
    let features: Vec<Option<bool>> = settings.features().map(|(_, setting)| setting.value).collect();
    let versions = (settings.flux.value, settings.cluster_api.value, settings.kubernetes.value);
    (versions, settings.flux_between, settings.operator, features)
}

/// Where an object is applied, and by what.
fn places<'w>(world: &'w World, object: &'w Effective) -> Vec<impl PartialEq + use<'w>> {
    let whole = |applied: &Applied| match &applied.outcome {
        Outcome::Built { partial, .. } => partial.is_empty(),
        _ => false,
    };
    let place = |(cluster, member): &(u32, u32)| {
        let cluster: &'w Cluster = &world.clusters[*cluster as usize];
        let member = &cluster.members[*member as usize];
        let by = member.applied_by.map(|index| &cluster.applied[index as usize]);
        let by = by.map(|applied| (&applied.id, whole(applied), applied.later));
        (cluster.name.as_deref(), &*cluster.root, cluster.certainty, &member.target, by)
    };
    object.members.iter().map(place).collect()
}
