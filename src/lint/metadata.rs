//! The label and annotation maps of an object, its own and those that it hands
//! down to others, for rules about keys and values.

use crate::lang::yaml::edit::{Content, KeyPlace, Operation, Prune};
use crate::lang::yaml::{EntryRef, NodeRef, pointer_join};
use crate::model::ObjectId;
use crate::model::cluster_api_keys::CLUSTER_API;
use crate::model::keys::{FLUX, KeyStanding, Kinds};
use std::borrow::Cow;

/// A label or annotation map.
#[derive(Debug)]
pub struct MetadataMap<'a> {
    /// JSON Pointer of the map inside the object.
    pub pointer: Cow<'static, str>,
    /// Whether it holds labels; annotations otherwise.
    pub labels: bool,
    /// Whether it is the object's own and not one of a template or entry.
    pub own: bool,
    /// Its entries whose key has no unresolved `${…}`.
    pub entries: Vec<MetadataEntry<'a>>,
}

/// A label or annotation.
#[derive(Debug)]
pub struct MetadataEntry<'a> {
    pub entry: EntryRef<'a>,
    /// What the registries know of its key.
    pub standing: KeyStanding,
}

impl<'a> MetadataMap<'a> {
    fn new(pointer: Cow<'static, str>, labels: bool, own: bool, node: NodeRef<'a>) -> Self {
        let known = node.entries().filter(|entry| !has_hole(&entry.key));
        let entries = known.map(|entry| MetadataEntry { standing: standing(&entry.key), entry }).collect();
        MetadataMap { pointer, labels, own, entries }
    }

    /// JSON Pointer of an entry.
    pub fn pointer_of(&self, key: &str) -> String {
        pointer_join(&self.pointer, key)
    }

    /// `label` or `annotation`.
    pub fn word(&self) -> &'static str {
        if self.labels { "label" } else { "annotation" }
    }
}

/// What the registries together say about a key.
fn standing(key: &str) -> KeyStanding {
    match FLUX.standing(key) {
        KeyStanding::Foreign => CLUSTER_API.standing(key),
        known => known,
    }
}

/// Whether a text holds a `${…}` that a substitution may replace, or a `<<…>>` of
/// a ResourceSet's template. Such a template speaks of its inputs; other `<<` and `>>`
/// are text like any other.
pub(crate) fn has_hole(text: &str) -> bool {
    // Most texts hold none of the characters.
    if !text.bytes().any(|byte| matches!(byte, b'{' | b'<')) {
        return false;
    }
    let template = || text.split_once("<<").and_then(|(_, rest)| rest.split_once(">>"));
    text.contains("${") || template().is_some_and(|(action, _)| action.contains("inputs"))
}

/// The known text of a scalar without `${…}`, whatever its type.
pub(crate) fn known_text(node: NodeRef<'_>) -> Option<Cow<'_, str>> {
    if node.is_unknown() || node.is_null() {
        return None;
    }
    node.text().filter(|text| !has_hole(text))
}

/// The known string without `${…}`; `None` for every other type.
pub(crate) fn known_string(node: NodeRef<'_>) -> Option<Cow<'_, str>> {
    node.as_str().filter(|text| !has_hole(text))
}

const WORKLOAD: &[&str] = &["/spec/template/metadata"];
const APPS: &str = "apps";
const CORE: &str = "cluster.x-k8s.io";

/// Where kinds hold the metadata of what is made from them; `*` is every item.
/// `spec.commonMetadata` of a Flux Kustomization is not here: its build shows it
/// on every object.
const NESTED: &[(Kinds, &[&str])] = &[
    (Kinds("helm.toolkit.fluxcd.io", "HelmRelease"), &["/spec/commonMetadata"]),
    (Kinds("fluxcd.controlplane.io", "ResourceSet"), &["/spec/commonMetadata"]),
    (Kinds(APPS, "StatefulSet"), &["/spec/template/metadata", "/spec/volumeClaimTemplates/*/metadata"]),
    (Kinds(APPS, "*"), WORKLOAD),
    (Kinds("batch", "Job"), WORKLOAD),
    (Kinds("batch", "CronJob"), &["/spec/jobTemplate/metadata", "/spec/jobTemplate/spec/template/metadata"]),
    (Kinds("", "ReplicationController"), WORKLOAD),
    (Kinds("", "PodTemplate"), &["/template/metadata"]),
    (Kinds(CORE, "MachineDeployment"), WORKLOAD),
    (Kinds(CORE, "MachineSet"), WORKLOAD),
    (Kinds(CORE, "MachinePool"), WORKLOAD),
    (
        Kinds(CORE, "Cluster"),
        &[
            "/spec/topology/controlPlane/metadata",
            "/spec/topology/workers/machineDeployments/*/metadata",
            "/spec/topology/workers/machinePools/*/metadata",
        ],
    ),
    (
        Kinds(CORE, "ClusterClass"),
        &[
            "/spec/controlPlane/metadata",
            "/spec/workers/machineDeployments/*/metadata",
            "/spec/workers/machineDeployments/*/template/metadata",
            "/spec/workers/machinePools/*/metadata",
            "/spec/workers/machinePools/*/template/metadata",
        ],
    ),
    (Kinds("controlplane.cluster.x-k8s.io", "KubeadmControlPlane"), &["/spec/machineTemplate/metadata"]),
    (
        Kinds("controlplane.cluster.x-k8s.io", "KubeadmControlPlaneTemplate"),
        &["/spec/template/metadata", "/spec/template/spec/machineTemplate/metadata"],
    ),
    (Kinds("*.cluster.x-k8s.io", "*Template"), WORKLOAD),
];

/// All label and annotation maps of an object: its own first, then those that
/// the API server or Cluster API checks inside it.
pub(crate) fn metadata_maps<'a>(id: &ObjectId, node: NodeRef<'a>) -> Vec<MetadataMap<'a>> {
    let mut found = Vec::new();
    for (pointer, labels) in [("/metadata/labels", true), ("/metadata/annotations", false)] {
        if let Some(node) = node.at(pointer).filter(|node| node.is_map()) {
            found.push(MetadataMap::new(pointer.into(), labels, true, node));
        }
    }
    let nested = NESTED.iter().find(|(kinds, _)| kinds.has(id.group(), &id.kind));
    for pattern in nested.map_or(&[][..], |(_, patterns)| patterns) {
        for (pointer, metadata) in expand(node, pattern) {
            for (key, labels) in [("labels", true), ("annotations", false)] {
                if let Some(node) = metadata.get(key).filter(|node| node.is_map()) {
                    found.push(MetadataMap::new(format!("{pointer}/{key}").into(), labels, false, node));
                }
            }
        }
    }
    found
}

fn expand<'a>(node: NodeRef<'a>, pattern: &str) -> Vec<(String, NodeRef<'a>)> {
    let mut places = vec![(String::new(), node)];
    for segment in pattern.split('/').skip(1) {
        let mut next = Vec::new();
        for (pointer, node) in places {
            if segment == "*" {
                next.extend(node.items().enumerate().map(|(at, item)| (format!("{pointer}/{at}"), item)));
            } else if let Some(value) = node.get(segment) {
                next.push((format!("{pointer}/{segment}"), value));
            }
        }
        places = next;
    }
    places
}

/// The map that holds `key` at a JSON Pointer of a document; `None` where the text
/// is laid out otherwise, such as the operation list of a JSON patch.
pub(crate) fn map_of<'p>(pointer: &'p str, key: &str) -> Option<&'p str> {
    pointer.rsplit_once('/').map(|(map, _)| map).filter(|map| pointer_join(map, key) == pointer)
}

/// Renames a key in its map.
pub(crate) fn rename(pointer: &str, from: &str, to: &str) -> Vec<Operation> {
    match map_of(pointer, from) {
        Some(_) => vec![Operation::RenameKey { pointer: pointer.to_owned(), to: to.to_owned() }],
        None => Vec::new(),
    }
}

/// Moves a label to the annotations beside it, or an annotation to the labels.
pub(crate) fn move_across(pointer: &str, key: &str, value: &str) -> Vec<Operation> {
    let map = map_of(pointer, key);
    let beside = map.and_then(|map| match map.strip_suffix("/metadata/labels") {
        Some(object) => Some(format!("{object}/metadata/annotations")),
        None => map.strip_suffix("/metadata/annotations").map(|object| format!("{object}/metadata/labels")),
    });
    let Some(beside) = beside else { return Vec::new() };
    move_into(pointer, beside, key, Content::str(value))
}

/// Moves an entry into another map of its document, at its end.
pub(crate) fn move_into(pointer: &str, map: String, key: &str, value: Content) -> Vec<Operation> {
    let beside = pointer.rsplit_once('/').and_then(|(parent, _)| map.strip_prefix(parent)?.strip_prefix('/'));
    if let Some(into) = beside.filter(|into| !into.contains(['/', '~']) && value.is_scalar()) {
        return vec![Operation::MoveKey { pointer: pointer.to_owned(), into: into.to_owned() }];
    }
    let shared = pointer.split('/').zip(map.split('/')).take_while(|(from, to)| from == to);
    let shared = shared.map(|(segment, _)| segment).collect::<Vec<_>>().join("/");
    vec![
        Operation::RemoveKey { pointer: pointer.to_owned(), prune: Prune::EmptyBelow(shared) },
        Operation::InsertKey { map, key: key.to_owned(), value, place: KeyPlace::End, comment: None },
    ]
}

/// Writes a string in place of a scalar.
pub(crate) fn write_string(pointer: &str, text: &str) -> Vec<Operation> {
    vec![Operation::Set { pointer: pointer.to_owned(), value: Content::str(text), comment: None }]
}

/// A text from a file for a title: shortened to `limit` characters.
pub(crate) fn clipped(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    text.chars().take(limit.saturating_sub(1)).chain(['…']).collect()
}

/// A title `Kind namespace/name: before` + `text` in backticks + `after`.
pub(crate) fn title(id: &ObjectId, before: &str, text: &str, after: &str) -> String {
    format!("{id}: {before}`{}`{after}", clipped(text, QUOTED))
}

/// Characters of a file that a title quotes: a value may be a document of its own.
const QUOTED: usize = 300;

#[cfg(test)]
mod tests {
    use super::has_hole;

    #[test]
    fn what_a_template_leaves_open() {
        for text in ["${A}", "a-${A:=b}", "<< inputs.name >>", "<<inputs.a | quote>>", "a-<< inputs.b >>-c"] {
            assert!(has_hole(text), "{text}");
        }
        for text in ["a << b", "a << b >> c", "<<", ">> inputs <<", "$A", "{{ a }}"] {
            assert!(!has_hole(text), "{text}");
        }
    }
}
