//! ClusterClass as a view: template references, worker classes, patches.

use super::{first_at, text, text_at};
use crate::lang::yaml::NodeRef;
use crate::model::cluster_api_kinds as kinds;
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::references::{Objects, ScopedObject};

#[derive(Clone, Copy, Debug)]
pub struct Class<'a> {
    pub object: ScopedObject<'a>,
}

/// A reference from a ClusterClass to a template.
#[derive(Clone, Debug)]
pub struct TemplateRef<'a> {
    pub node: NodeRef<'a>,
    /// JSON Pointer of it in the ClusterClass.
    pub pointer: String,
    /// `apiVersion`, where known.
    pub api_version: Option<String>,
    /// `kind`, where known.
    pub kind: Option<String>,
    /// `name`, where known.
    pub name: Option<String>,
}

impl<'a> TemplateRef<'a> {
    fn at(root: NodeRef<'a>, base: &str) -> Option<Self> {
        let pointers = [format!("{base}/templateRef"), format!("{base}/ref")];
        let (pointer, node) = first_at(root, &[&pointers[0], &pointers[1]])?;
        Some(Self {
            node,
            pointer: pointer.to_owned(),
            api_version: text_at(node, &["/apiVersion"]),
            kind: text_at(node, &["/kind"]),
            name: text_at(node, &["/name"]),
        })
    }

    /// The group of the template.
    pub fn group(&self) -> Option<&str> {
        self.api_version.as_deref().map(kinds::group_of)
    }

    /// `Kind.group` of the template.
    pub fn group_kind(&self) -> Option<String> {
        Some(format!("{}.{}", self.kind.as_deref()?, self.group()?))
    }
}

/// A class of workers.
#[derive(Clone, Debug)]
pub struct WorkerClass<'a> {
    /// Which list it stands in.
    pub kind: WorkerKind,
    /// JSON Pointer in the ClusterClass.
    pub pointer: String,
    pub node: NodeRef<'a>,
    /// Its name, where known.
    pub class: Option<String>,
    /// JSON Pointer, inside the entry, of its metadata.
    pub metadata: &'static str,
    /// Bootstrap template.
    pub bootstrap: Option<TemplateRef<'a>>,
    /// Infrastructure template.
    pub infrastructure: Option<TemplateRef<'a>>,
}

impl<'a> Class<'a> {
    /// All ClusterClasses among objects.
    pub fn all<'s>(objects: &'s Objects<'a>) -> impl Iterator<Item = Self> + 's {
        objects.of_kind(kinds::CORE, "ClusterClass").map(|object| Self { object })
    }

    /// The template of the infrastructure cluster.
    pub fn infrastructure(&self) -> Option<TemplateRef<'a>> {
        TemplateRef::at(self.object.node, "/spec/infrastructure")
    }

    /// The template of the control plane.
    pub fn control_plane(&self) -> Option<TemplateRef<'a>> {
        TemplateRef::at(self.object.node, "/spec/controlPlane")
    }

    /// The template of control plane Machines' infrastructure; none where the
    /// control plane provider needs none.
    pub fn control_plane_machines(&self) -> Option<TemplateRef<'a>> {
        TemplateRef::at(self.object.node, "/spec/controlPlane/machineInfrastructure")
    }

    /// The classes of one list of workers.
    pub fn workers(&self, kind: WorkerKind) -> Vec<WorkerClass<'a>> {
        let list = format!("/spec/workers/{}", kind.list());
        self.object
            .node
            .items_at(&list)
            .enumerate()
            .map(|(index, node)| {
                let pointer = format!("{list}/{index}");
                let template = |part: &str| {
                    ["", "/template"].iter().find_map(|nested| {
                        TemplateRef::at(self.object.node, &format!("{pointer}{nested}/{part}"))
                    })
                };
                let metadata =
                    if node.at("/template/metadata").is_some() { "/template/metadata" } else { "/metadata" };
                WorkerClass {
                    kind,
                    node,
                    class: text_at(node, &["/class"]),
                    metadata,
                    bootstrap: template("bootstrap"),
                    infrastructure: template("infrastructure"),
                    pointer,
                }
            })
            .collect()
    }

    /// The worker class of a name.
    pub fn worker(&self, kind: WorkerKind, class: &str) -> Option<WorkerClass<'a>> {
        self.workers(kind).into_iter().find(|w| w.class.as_deref() == Some(class))
    }

    /// Every template reference, those of unused worker classes included.
    pub fn templates(&self) -> Vec<TemplateRef<'a>> {
        let workers = WorkerKind::BOTH.into_iter().flat_map(|kind| self.workers(kind));
        [self.infrastructure(), self.control_plane(), self.control_plane_machines()]
            .into_iter()
            .chain(workers.flat_map(|w| [w.bootstrap, w.infrastructure]))
            .flatten()
            .collect()
    }

    /// The template that a reference names, in the class's namespace.
    pub fn template(&self, objects: &Objects<'a>, reference: &TemplateRef<'_>) -> Option<ScopedObject<'a>> {
        let (group, kind) = (reference.group()?, reference.kind.as_deref()?);
        objects.find(group, kind, self.object.namespace(), reference.name.as_deref()?)
    }

    /// `spec.kubernetesVersions`; none for a Cluster API of this minor that does not
    /// have the field.
    pub fn kubernetes_versions(&self, minor: Option<u64>) -> Vec<String> {
        let versions = self.object.node.items_at("/spec/kubernetesVersions").filter_map(text);
        versions.filter(|_| has_chained_upgrades(minor)).collect()
    }

    /// The extension that plans upgrades; as above.
    pub fn upgrade_plan_extension(&self, minor: Option<u64>) -> Option<String> {
        text_at(self.object.node, &["/spec/upgrade/external/generateUpgradePlanExtension"])
            .filter(|_| has_chained_upgrades(minor))
    }

    /// `spec.patches`, each with its JSON Pointer.
    pub fn patches(&self) -> Vec<(String, NodeRef<'a>)> {
        let patches = self.object.node.items_at("/spec/patches").enumerate();
        patches.map(|(index, node)| (format!("/spec/patches/{index}"), node)).collect()
    }

    /// Names of variables that the class defines itself, with their entries.
    /// Extensions may define more.
    pub fn variables(&self) -> Vec<(String, NodeRef<'a>)> {
        let variables = self.object.node.items_at("/spec/variables");
        variables.filter_map(|v| Some((text_at(v, &["/name"])?, v))).collect()
    }

    /// Whether an extension may define variables (`discoverVariablesExtension`).
    pub fn discovers_variables(&self) -> bool {
        self.patches().iter().any(|(_, p)| p.at("/external/discoverVariablesExtension").is_some())
    }
}

/// Whether Cluster API 1.`minor` upgrades over several minors in one go, if only
/// possibly where its version is unknown.
pub(crate) fn has_chained_upgrades(minor: Option<u64>) -> bool {
    minor.is_none_or(|minor| minor >= u64::from(crate::simulate::behaviour::CHAINED_UPGRADES.since))
}
