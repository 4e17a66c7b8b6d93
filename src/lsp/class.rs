//! The named parts of a ClusterClass, its variables and its classes of workers: where
//! they are defined, who uses them, and what may stand where one is wanted.

use super::place::{Spot, memberships, seen};
use crate::lang::yaml::{Location, NodeRef};
use crate::model::cluster_api_kinds::CORE;
use crate::rewrite::refactor::class::ClassPartKind;
use crate::rewrite::refactor::{parts, template};
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::world::named::named_by;
use crate::world::{Cluster, Effective, World};

/// A part of a class that a text names.
#[derive(Clone)]
pub(super) struct ClassPart<'w> {
    /// Which of its parts.
    pub(super) part: ClassPartKind,
    pub(super) name: String,
    /// The class that has it, or should.
    pub(super) class: &'w Effective,
    /// Where that is.
    cluster: &'w Cluster,
}

/// The lists of a class that define parts of a kind.
fn lists_of_class(part: ClassPartKind) -> Vec<String> {
    match part {
        ClassPartKind::Variable => vec!["/spec/variables".to_owned()],
        ClassPartKind::Worker => WorkerKind::BOTH.map(|kind| format!("/spec/workers/{}", kind.list())).into(),
    }
}

/// The entries of a class that define parts of a kind.
pub(super) fn entries(class: NodeRef<'_>, part: ClassPartKind) -> Vec<NodeRef<'_>> {
    lists_of_class(part).iter().flat_map(|list| class.items_at(list).collect::<Vec<_>>()).collect()
}

/// The class of a Cluster in a cluster.
fn class_of<'w>(world: &'w World, cluster: &'w Cluster, object: &Effective) -> Option<&'w Effective> {
    let all = named_by(&object.id, object.node.get_ref());
    all.iter().find(|named| named.kind == "ClusterClass")?.find(world, cluster)
}

/// The part, and the entry of a list, that a pointer into a Cluster lies in.
pub(super) fn entry_of_cluster(node: NodeRef<'_>, pointer: &str) -> Option<(ClassPartKind, String)> {
    [ClassPartKind::Variable, ClassPartKind::Worker].into_iter().find_map(|part| {
        parts::lists_of_cluster(node, part).into_iter().find_map(|list| {
            let (index, rest) = entry_in(pointer, &list)?;
            // Overrides lie below an entry of workers: they are variables.
            let is_here = matches!(rest.as_str(), "" | "/name" | "/value" | "/class");
            (is_here && (part == ClassPartKind::Variable || rest == "/class"))
                .then(|| (part, format!("{list}/{index}")))
        })
    })
}

fn entry_in(pointer: &str, list: &str) -> Option<(usize, String)> {
    let rest = pointer.strip_prefix(list)?.strip_prefix('/')?;
    let (index, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Some((index.parse().ok()?, rest.to_owned()))
}

/// The part that a pointer into a class names.
fn part_of_class(class: NodeRef<'_>, pointer: &str, spot: &Spot<'_>) -> Option<(ClassPartKind, String)> {
    for part in [ClassPartKind::Variable, ClassPartKind::Worker] {
        for list in lists_of_class(part) {
            let Some((index, rest)) = entry_in(pointer, &list) else { continue };
            if rest.is_empty() || rest.strip_prefix('/') == Some(part.key()) {
                let name = class.str_at(&format!("{list}/{index}/{}", part.key()))?;
                return Some((part, name.into_owned()));
            }
        }
    }
    if !pointer.starts_with("/spec/patches/") {
        return None;
    }
    if pointer.contains("/selector/matchResources/") && pointer.contains("/names/") {
        return Some((ClassPartKind::Worker, class.str_at(pointer)?.into_owned()));
    }
    if pointer.ends_with("/valueFrom/variable") {
        let path = class.str_at(pointer)?;
        return Some((ClassPartKind::Variable, path.split(['.', '[']).next().unwrap_or(&path).to_owned()));
    }
    if !pointer.ends_with("/valueFrom/template") && !pointer.ends_with("/enabledIf") {
        return None;
    }
    let place = spot.node().location()?;
    let written = spot.source.stream.text.get(place.start as usize..place.end as usize)?;
    let at = spot.offset.checked_sub(place.start)? as usize;
    let names = entries(class, ClassPartKind::Variable).into_iter().filter_map(|entry| entry.str_at("/name"));
    names.into_iter().find_map(|name| {
        let places = template::places(written, &name).unwrap_or_default();
        let is_here = |start: &usize| *start <= at && at <= start + name.len();
        places.iter().any(is_here).then(|| (ClassPartKind::Variable, name.into_owned()))
    })
}

/// The parts of classes that a place names, in each cluster that has it.
pub(super) fn named_at<'w>(world: &'w World, spot: &Spot<'_>) -> Vec<ClassPart<'w>> {
    let mut found: Vec<ClassPart<'w>> = Vec::new();
    for seen in seen(world, spot) {
        let object = seen.object;
        let node = object.node.get_ref();
        let is_class = object.id.is(CORE, "ClusterClass");
        let named = match is_class {
            true => part_of_class(node, &seen.pointer, spot),
            false if object.id.is(CORE, "Cluster") => {
                entry_of_cluster(node, &seen.pointer).and_then(|(part, entry)| {
                    Some((part, node.str_at(&format!("{entry}/{}", part.key()))?.into_owned()))
                })
            }
            false => None,
        };
        let Some((part, name)) = named else { continue };
        for (cluster, _) in memberships(world, object) {
            let class = if is_class { Some(object) } else { class_of(world, cluster, object) };
            found.extend(class.map(|class| ClassPart { part, name: name.clone(), class, cluster }));
        }
    }
    found
}

impl ClassPart<'_> {
    /// Where the class defines it.
    pub(super) fn definition(&self) -> Vec<Location> {
        let all = entries(self.class.node.get_ref(), self.part).into_iter();
        let names = all.filter_map(|entry| entry.get(self.part.key()));
        names.filter(|name| self.is(*name)).filter_map(NodeRef::location).collect()
    }

    fn is(&self, node: NodeRef<'_>) -> bool {
        node.as_str().is_some_and(|text| *text == *self.name)
    }

    /// Where the class and its Clusters use it.
    pub(super) fn uses(&self, world: &World) -> Vec<Location> {
        let class = self.class.node.get_ref();
        let mut found: Vec<Location> = match self.part {
            ClassPartKind::Worker => {
                let all = parts::selectors(class).into_iter();
                all.filter(|name| self.is(*name)).filter_map(NodeRef::location).collect()
            }
            ClassPartKind::Variable => {
                let all = parts::uses(class).into_iter();
                all.flat_map(|(node, is_template)| self.uses_in(world, node, is_template)).collect()
            }
        };
        let clusters = world.written(self.cluster).map(|(_, object)| object);
        for object in clusters.filter(|object| object.id.is(CORE, "Cluster")) {
            if !class_of(world, self.cluster, object).is_some_and(|class| std::ptr::eq(class, self.class)) {
                continue;
            }
            let node = object.node.get_ref();
            for list in parts::lists_of_cluster(node, self.part) {
                let names = node.items_at(&list).filter_map(|entry| entry.get(self.part.key()));
                found.extend(names.filter(|name| self.is(*name)).filter_map(NodeRef::location));
            }
        }
        found
    }

    /// Where the text of a patch names it: a path into it, or a template.
    fn uses_in(&self, world: &World, node: NodeRef<'_>, is_template: bool) -> Vec<Location> {
        let Some(place) = node.location() else { return Vec::new() };
        if !is_template {
            let path = node.as_str().unwrap_or_default();
            let is_it = path.split(['.', '[']).next() == Some(&self.name);
            return is_it.then_some(place).into_iter().collect();
        }
        let snapshot = &world.snapshot;
        let stream = snapshot.find(&place.file).and_then(|file| snapshot.stream(file));
        let written = stream.and_then(|stream| stream.text.get(place.start as usize..place.end as usize));
        let starts = written.and_then(|written| template::places(written, &self.name).ok());
        let at = |start: usize| {
            let start = place.start + start as u32;
            Location { start, end: start + self.name.len() as u32, ..place.clone() }
        };
        starts.unwrap_or_default().into_iter().map(at).collect()
    }
}

/// What a schema of a variable takes, in words.
pub(super) fn type_of(entry: NodeRef<'_>) -> String {
    let schema = entry.at("/schema/openAPIV3Schema");
    let kind =
        schema.and_then(|schema| schema.str_at("/type")).map_or_else(String::new, |kind| kind.into_owned());
    let required = entry.at("/required").and_then(NodeRef::as_bool) == Some(true);
    let default = schema.and_then(|schema| schema.at("/default")).and_then(NodeRef::text);
    let about = schema.and_then(|schema| schema.str_at("/description"));
    let parts = [
        (!kind.is_empty()).then_some(kind),
        required.then(|| "required".to_owned()),
        default.map(|default| format!("default {default}")),
        about.map(|about| about.lines().next().unwrap_or_default().to_owned()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The values that a schema of a variable lists.
pub(super) fn values_of(entry: NodeRef<'_>) -> Vec<String> {
    let Some(schema) = entry.at("/schema/openAPIV3Schema") else { return Vec::new() };
    let mut values: Vec<String> =
        schema.items_at("/enum").filter_map(NodeRef::text).map(|text| text.into_owned()).collect();
    if values.is_empty() && schema.str_at("/type").as_deref() == Some("boolean") {
        values = ["true", "false"].map(str::to_owned).into();
    }
    let default = schema.at("/default").filter(|node| !node.is_map() && !node.is_seq());
    if let Some(text) = default.and_then(NodeRef::text)
        && !values.iter().any(|value| *value == *text)
    {
        values.insert(0, text.into_owned());
    }
    values
}

/// What a path in a patch may begin with besides the class's own variables.
/// Source: cluster-api `api/runtime/hooks/v1alpha1` (`Builtins`).
pub(super) const BUILTINS: [&str; 17] = [
    "builtin.cluster.name",
    "builtin.cluster.namespace",
    "builtin.cluster.uid",
    "builtin.cluster.topology.version",
    "builtin.cluster.topology.class",
    "builtin.cluster.network.serviceDomain",
    "builtin.cluster.network.services",
    "builtin.cluster.network.pods",
    "builtin.controlPlane.version",
    "builtin.controlPlane.name",
    "builtin.controlPlane.replicas",
    "builtin.machineDeployment.version",
    "builtin.machineDeployment.class",
    "builtin.machineDeployment.topologyName",
    "builtin.machineDeployment.replicas",
    "builtin.machinePool.version",
    "builtin.machinePool.class",
];
