//! Cluster, ClusterClass and their parts as views over trees, with the field
//! names of v1beta1 and of v1beta2.

pub(crate) mod class;
pub(crate) mod desired;
pub(crate) mod fields;
mod json_patch;
pub(crate) mod part_names;
pub(crate) mod patches;
pub(crate) mod template;
pub(crate) mod variables;

use crate::lang::yaml::{NodeRef, pointer_join};
use crate::model::cluster_api_kinds as kinds;
use crate::model::kubernetes_version::Version;
use crate::simulate::cluster_api::propagation::{KeySource, Keys, Metadata, MetadataEntry, WorkerKind};
use crate::simulate::cluster_api::references::{Objects, ScopedObject};

pub(crate) use class::{Class, TemplateRef};
use fields::{Fields, Table};

/// A text at the first of these pointers that is present.
pub(crate) fn text_at(node: NodeRef<'_>, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|p| node.at(p)).and_then(text)
}

/// A known scalar's text; nothing for null.
pub(crate) fn text(node: NodeRef<'_>) -> Option<String> {
    (!node.is_null()).then(|| node.text()).flatten().map(|t| t.into_owned())
}

/// The first of these pointers that is present, with its node.
pub(crate) fn first_at<'a, 'p>(node: NodeRef<'a>, pointers: &[&'p str]) -> Option<(&'p str, NodeRef<'a>)> {
    pointers.iter().find_map(|p| node.at(p).filter(|n| !n.is_null()).map(|n| (*p, n)))
}

/// `labels` and `annotations` of the metadata at `pointer`. Values that are not
/// known stay without one.
pub(crate) fn metadata_at(root: NodeRef<'_>, pointer: &str) -> Metadata {
    let keys = |field: &str| -> Keys {
        let pointer = pointer_join(pointer, field);
        root.entries_at(&pointer)
            .map(|entry| {
                let source = KeySource::Field { pointer: pointer.clone(), location: entry.key_location() };
                (entry.key.clone().into_owned(), MetadataEntry { value: text(entry.value), source })
            })
            .collect()
    };
    Metadata { labels: keys("labels"), annotations: keys("annotations") }
}

/// A Cluster of Cluster API.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// The object.
    pub object: ScopedObject<'a>,
}

/// The class that a Cluster names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassRef {
    pub name: String,
    /// Its namespace: the Cluster's unless stated.
    pub namespace: String,
    /// Where the Cluster names it.
    pub pointer: &'static str,
}

/// An entry of the topology's `machineDeployments` or `machinePools`.
#[derive(Clone, Debug)]
pub struct WorkerEntry<'a> {
    /// Which list it stands in.
    pub kind: WorkerKind,
    /// JSON Pointer in the Cluster.
    pub pointer: String,
    pub node: NodeRef<'a>,
    /// Its name, where known.
    pub name: Option<String>,
    /// The worker class that it names.
    pub class: Option<String>,
}

impl WorkerEntry<'_> {
    /// Whether the entry's metadata has an annotation.
    pub fn has_annotation(&self, key: &str) -> bool {
        self.node.at("/metadata/annotations").is_some_and(|a| a.get(key).is_some())
    }
}

impl WorkerKind {
    /// The kind of object that an entry becomes.
    pub fn kind(self) -> &'static str {
        match self {
            Self::MachineDeployment => "MachineDeployment",
            Self::MachinePool => "MachinePool",
        }
    }

    /// The list's name in topologies and classes.
    pub fn list(self) -> &'static str {
        match self {
            Self::MachineDeployment => "machineDeployments",
            Self::MachinePool => "machinePools",
        }
    }

    /// Both lists.
    pub const BOTH: [Self; 2] = [Self::MachineDeployment, Self::MachinePool];
}

impl<'a> Cluster<'a> {
    /// All Clusters among objects.
    pub fn all<'s>(objects: &'s Objects<'a>) -> impl Iterator<Item = Self> + 's {
        objects.of_kind(kinds::CORE, "Cluster").map(|object| Self { object })
    }

    /// `spec.topology`; none for a Cluster without a managed topology.
    pub fn topology(&self) -> Option<NodeRef<'a>> {
        self.object.node.at("/spec/topology").filter(|t| !t.is_null())
    }

    /// The class that it names, where known (`GetClassKey`).
    pub fn class_ref(&self) -> Option<ClassRef> {
        let topology = self.topology()?;
        let (pointer, name) = match text_at(topology, &["/classRef/name"]) {
            Some(name) => ("/spec/topology/classRef/name", name),
            None => ("/spec/topology/class", text_at(topology, &["/class"])?),
        };
        let namespace = text_at(topology, &["/classRef/namespace", "/classNamespace"])
            .filter(|namespace| !namespace.is_empty())
            .unwrap_or_else(|| self.object.namespace().to_owned());
        Some(ClassRef { name, namespace, pointer })
    }

    /// The ClusterClass that it names, where it is among these objects.
    pub fn class(&self, objects: &Objects<'a>) -> Option<Class<'a>> {
        let class = self.class_ref()?;
        let object = objects.find(kinds::CORE, "ClusterClass", &class.namespace, &class.name)?;
        Some(Class { object })
    }

    /// `spec.topology.version`, where known; the webhook puts a missing `v` before
    /// it.
    pub fn version(&self) -> Option<String> {
        let version = text_at(self.object.node, &["/spec/topology/version"])?;
        Some(if version.starts_with(|c: char| c.is_ascii_digit()) { format!("v{version}") } else { version })
    }

    /// The entries of one list of workers.
    pub fn workers(&self, kind: WorkerKind) -> Vec<WorkerEntry<'a>> {
        let list = format!("/spec/topology/workers/{}", kind.list());
        self.object
            .node
            .items_at(&list)
            .enumerate()
            .map(|(index, node)| WorkerEntry {
                kind,
                pointer: format!("{list}/{index}"),
                node,
                name: text_at(node, &["/name"]),
                class: text_at(node, &["/class"]),
            })
            .collect()
    }

    /// The entries of both lists, MachineDeployments first.
    pub fn all_workers(&self) -> Vec<WorkerEntry<'a>> {
        WorkerKind::BOTH.into_iter().flat_map(|kind| self.workers(kind)).collect()
    }

    /// The fields of an entry over those of its class.
    pub(crate) fn worker_fields(&self, entry: &WorkerEntry<'_>, class: Option<&Class<'_>>) -> Fields {
        let of_class = class.and_then(|class| {
            let worker = class.worker(entry.kind, entry.class.as_deref()?)?;
            Some(fields::of_entry(Table::Worker, class.object.node, &worker.pointer))
        });
        let own = fields::of_entry(Table::Worker, self.object.node, &entry.pointer);
        fields::overlay(own, of_class.unwrap_or_default())
    }

    /// Whether Machines of an entry are replaced only as somebody deletes them.
    pub(crate) fn is_on_delete(&self, entry: &WorkerEntry<'_>, class: Option<&Class<'_>>) -> bool {
        entry.kind == WorkerKind::MachineDeployment && fields::is_on_delete(&self.worker_fields(entry, class))
    }

    /// Whether it is paused, by spec or by annotation.
    pub fn is_paused(&self) -> bool {
        self.object.node.at("/spec/paused").and_then(NodeRef::as_bool) == Some(true)
            || has_annotation(self.object.node, "cluster.x-k8s.io/paused")
    }
}

/// Why the webhook rejects a version of a topology, whatever it was before.
/// `listed` is what the class lists, where this Cluster API reads it.
///
/// Mirrors cluster-api `core/webhooks/admission/cluster.go`, `validateTopology` and
/// `ValidateClusterForClusterClass`.
pub(crate) fn version_rejection(version: &str, listed: &[String]) -> Option<String> {
    if !Version::is_kube_semver(version) {
        return Some(format!("{version} is no full semantic version"));
    }
    (!listed.is_empty() && !listed.iter().any(|known| known == version))
        .then(|| format!("{version} is not among the ClusterClass's kubernetesVersions"))
}

/// Whether an object has an annotation.
pub(crate) fn has_annotation(node: NodeRef<'_>, key: &str) -> bool {
    node.at("/metadata/annotations").is_some_and(|a| a.get(key).is_some())
}
