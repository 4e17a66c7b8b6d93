//! The objects that the topology controller makes of a Cluster and its class.
//!
//! Mirrors cluster-api `exp/topology/desiredstate/desired_state.go`. What hooks
//! withhold is not left out here: this is the state that the topology asks for.

use serde_json::{Map, Value, json};

use super::fields::{self, Fields, Table};
use super::part_names::{CONTROL_PLANE, INFRASTRUCTURE, MACHINE_INFRASTRUCTURE, worker_part};
use super::patches::{PatchFailure, PatchWrite, Patching, Role};
use super::variables::{self, TopologyVariables};
use super::{Class, Cluster, TemplateRef, WorkerEntry, metadata_at, text_at};
use crate::model::cluster_api_kinds as kinds;
use crate::model::value::to_json;
use crate::simulate::cluster_api::hooks::mutation::{StatedAnswers, UNSTATED};
use crate::simulate::cluster_api::propagation;
use crate::simulate::cluster_api::propagation::{KeySource, Keys, Metadata, MetadataEntry, WorkerKind};
use crate::simulate::cluster_api::references::{Objects, ScopedObject};

/// Everything that a topology asks for.
#[derive(Clone, Debug)]
pub(crate) struct Desired<'a> {
    pub cluster: Cluster<'a>,
    pub class: Class<'a>,
    /// The infrastructure cluster.
    pub infrastructure: Option<TemplatePart>,
    /// The control plane object.
    pub control_plane: ControlPlane,
    /// MachineDeployments and MachinePools, by list and in its order.
    pub workers: Vec<Worker<'a>>,
    /// Why the reconcile fails.
    pub failures: Vec<PatchFailure>,
    /// Templates that are not among the objects; what they make is unknown.
    pub missing: Vec<String>,
}

/// What is made of one template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TemplatePart {
    /// `apiVersion` of the template.
    pub api_version: String,
    /// Kind of the template.
    pub template_kind: String,
    /// `Kind.group` of the template.
    pub group_kind: String,
    /// Name of the template that the class references.
    pub template_name: String,
    /// The patched template: metadata and spec.
    pub template: Value,
    /// Which operations of the class's patches wrote to it.
    pub written: Vec<PatchWrite>,
    /// Its labels and annotations, with their places where no patch set them.
    pub metadata: Metadata,
    /// Those of `spec.template`.
    pub nested_metadata: Metadata,
}

/// The control plane object.
#[derive(Clone, Debug)]
pub(crate) struct ControlPlane {
    pub kind: String,
    /// Its template, patched; `spec.template.spec` becomes its spec.
    pub part: Option<TemplatePart>,
    /// `metadata`.
    pub metadata: Metadata,
    /// `spec.machineTemplate.metadata`, where the class has a machine
    /// infrastructure for control planes.
    pub machine_metadata: Option<Metadata>,
    /// The clone of that machine infrastructure's template.
    pub machines: Option<TemplatePart>,
    /// The fields of the contract.
    pub fields: Fields,
}

/// A MachineDeployment or a MachinePool.
#[derive(Clone, Debug)]
pub(crate) struct Worker<'a> {
    /// The entry that asks for it.
    pub entry: WorkerEntry<'a>,
    /// `metadata` and `spec.template.metadata`.
    pub metadata: Metadata,
    pub fields: Fields,
    /// The clone of its bootstrap template.
    pub bootstrap: Option<TemplatePart>,
    /// The clone of its infrastructure template.
    pub infrastructure: Option<TemplatePart>,
}

/// [`desired_with`] where nothing is stated of what extensions answer.
pub(crate) fn desired<'a>(
    cluster: Cluster<'a>,
    objects: &Objects<'a>,
    template_metadata: bool,
) -> Option<Desired<'a>> {
    desired_with(cluster, objects, template_metadata, UNSTATED)
}

/// Computes what a Cluster's topology asks for; none without a topology, or
/// where its class is not among the objects. `template_metadata`: patches may
/// change template metadata (Cluster API 1.14).
pub(crate) fn desired_with<'a>(
    cluster: Cluster<'a>,
    objects: &Objects<'a>,
    template_metadata: bool,
    stated: StatedAnswers<'_>,
) -> Option<Desired<'a>> {
    cluster.topology()?;
    let class = cluster.class(objects)?;
    let mut maker = Maker {
        cluster,
        class,
        objects,
        template_metadata,
        stated,
        global: variables::global(&cluster, &class),
        failures: Vec::new(),
        missing: Vec::new(),
    };
    let global = maker.global.clone();
    let infrastructure = class
        .infrastructure()
        .and_then(|r| maker.part(&r, Role::InfrastructureCluster, INFRASTRUCTURE, &global));
    let control_plane = maker.control_plane();
    let workers = cluster.all_workers().into_iter().map(|entry| maker.worker(entry)).collect();
    let Maker { failures, missing, .. } = maker;
    Some(Desired { cluster, class, infrastructure, control_plane, workers, failures, missing })
}

struct Maker<'a, 'o> {
    cluster: Cluster<'a>,
    class: Class<'a>,
    objects: &'o Objects<'a>,
    template_metadata: bool,
    stated: StatedAnswers<'o>,
    global: TopologyVariables,
    failures: Vec<PatchFailure>,
    missing: Vec<String>,
}

impl<'a> Maker<'a, '_> {
    fn part(
        &mut self,
        reference: &TemplateRef<'_>,
        role: Role<'_>,
        part: &str,
        variables: &TopologyVariables,
    ) -> Option<TemplatePart> {
        let (Some(api_version), Some(kind), Some(name)) =
            (&reference.api_version, &reference.kind, &reference.name)
        else {
            self.missing.push(reference.pointer.clone());
            return None;
        };
        let Some(template_object) = self.class.template(self.objects, reference) else {
            self.missing.push(format!("{kind} {}/{name}", self.class.object.namespace()));
            return None;
        };
        let part = (self.cluster.object.namespace(), self.cluster.object.name(), part);
        let template = (self.class.object.namespace(), &**name);
        let patching = Patching { api_version, kind, template, role, variables, part, stated: self.stated };
        let content = content(template_object);
        let mut written = Vec::new();
        let patches = self.class.patches();
        let (template, failures) = patching.apply(&patches, self.template_metadata, &content, &mut written);
        for failure in failures {
            if !self.failures.contains(&failure) {
                self.failures.push(failure);
            }
        }
        Some(TemplatePart {
            api_version: text_at(template_object.node, &["/apiVersion"]).unwrap_or_default(),
            template_kind: kind.clone(),
            group_kind: format!("{kind}.{}", kinds::group_of(api_version)),
            template_name: name.clone(),
            metadata: patched_metadata(template_object, &template, "/metadata"),
            nested_metadata: patched_metadata(template_object, &template, "/spec/template/metadata"),
            template,
            written,
        })
    }

    fn control_plane(&mut self) -> ControlPlane {
        let variables = self.global.for_control_plane(&self.cluster, &self.class);
        let reference = self.class.control_plane();
        let part =
            reference.as_ref().and_then(|r| self.part(r, Role::ControlPlane, CONTROL_PLANE, &variables));
        let machines_ref = self.class.control_plane_machines();
        let of_machines =
            |r: &TemplateRef<'_>| self.part(r, Role::ControlPlane, MACHINE_INFRASTRUCTURE, &variables);
        let machines = machines_ref.as_ref().and_then(of_machines);

        let topology = metadata_at(self.cluster.object.node, "/spec/topology/controlPlane/metadata");
        let class = metadata_at(self.class.object.node, "/spec/controlPlane/metadata");
        let template = reference.as_ref().and_then(|r| self.class.template(self.objects, r));
        // What a patch of the class sets or takes away counts, not what is written.
        let of_template = |pointer: &str| match (template, &part) {
            (Some(object), Some(part)) => patched_metadata(object, &part.template, pointer),
            _ => Metadata::default(),
        };
        let cluster = self.cluster.object.name();
        let group_kind = reference.as_ref().and_then(TemplateRef::group_kind).unwrap_or_default();
        let cloned_from =
            (reference.as_ref().and_then(|r| r.name.as_deref()).unwrap_or_default(), &*group_kind);
        let metadata = propagation::control_plane(
            cluster,
            &topology,
            &class,
            &of_template("/spec/template/metadata"),
            cloned_from,
        );
        let machine_metadata = machines_ref.map(|_| {
            let template = of_template("/spec/template/spec/machineTemplate/metadata");
            propagation::control_plane_machine_template(cluster, &topology, &class, &template)
        });
        let entry =
            fields::of_entry(Table::ControlPlane, self.cluster.object.node, "/spec/topology/controlPlane");
        let class = fields::of_entry(Table::ControlPlane, self.class.object.node, "/spec/controlPlane");
        let mut fields = fields::overlay(entry, class);
        if let Some(field) = self.version() {
            fields.insert("/spec/version", field);
        }
        let kind = reference.as_ref().and_then(|r| r.kind.as_deref()).unwrap_or("ControlPlane");
        let kind = kinds::templated_kind(kind).to_owned();
        ControlPlane { kind, part, metadata, machine_metadata, machines, fields }
    }

    fn worker(&mut self, entry: WorkerEntry<'a>) -> Worker<'a> {
        let variables = self.global.for_worker(&self.cluster, &self.class, &entry);
        let class = entry.class.as_deref().and_then(|name| self.class.worker(entry.kind, name));
        let name = entry.class.clone().unwrap_or_default();
        let role = Role::Worker(entry.kind, &name);
        let mut part = |what: &str, reference: Option<&TemplateRef<'_>>| {
            reference.and_then(|r| self.part(r, role, &worker_part(&entry, what), &variables))
        };
        let bootstrap = part("bootstrap", class.as_ref().and_then(|c| c.bootstrap.as_ref()));
        let infrastructure = part("infrastructure", class.as_ref().and_then(|c| c.infrastructure.as_ref()));

        let of_class = |pointer: &str| {
            let base = class.as_ref().map(|c| format!("{}{pointer}", c.pointer));
            base.map(|base| metadata_at(self.class.object.node, &base)).unwrap_or_default()
        };
        let metadata = propagation::worker(
            entry.kind,
            self.cluster.object.name(),
            entry.name.as_deref().unwrap_or_default(),
            &metadata_at(self.cluster.object.node, &format!("{}/metadata", entry.pointer)),
            &of_class(class.as_ref().map_or("/metadata", |c| c.metadata)),
        );
        let mut fields = self.cluster.worker_fields(&entry, Some(&self.class));
        if let Some(field) = self.version() {
            fields.insert("/spec/template/spec/version", field);
        }
        Worker { entry, metadata, fields, bootstrap, infrastructure }
    }

    fn version(&self) -> Option<fields::TopologyField> {
        const POINTER: &str = "/spec/topology/version";
        let node = self.cluster.object.node.at(POINTER)?;
        let value = to_json(node);
        let pointer = POINTER.to_owned();
        Some(fields::TopologyField { written: value.clone(), value, pointer, location: node.location() })
    }
}

/// Labels and annotations at a pointer of a patched template.
fn patched_metadata(object: ScopedObject<'_>, patched: &Value, pointer: &str) -> Metadata {
    let written = metadata_at(object.node, pointer);
    let keys = |field: &str, written: &Keys| -> Keys {
        let pointer = format!("{pointer}/{field}");
        let map = patched.pointer(&pointer).and_then(Value::as_object);
        map.into_iter()
            .flatten()
            .map(|(key, value)| {
                let value = value.as_str().map(str::to_owned);
                let source = KeySource::Field { pointer: pointer.clone(), location: None };
                let as_written = written.get(key).filter(|entry| entry.value == value).cloned();
                (key.clone(), as_written.unwrap_or(MetadataEntry { value, source }))
            })
            .collect()
    };
    Metadata {
        labels: keys("labels", &written.labels),
        annotations: keys("annotations", &written.annotations),
    }
}

/// Metadata (labels and annotations) and spec of a template.
fn content(template: ScopedObject<'_>) -> Value {
    let mut content = Map::new();
    let metadata = ["labels", "annotations"].into_iter().filter_map(|field| {
        let node = template.node.at("/metadata")?.get(field)?;
        Some((field.to_owned(), to_json(node)))
    });
    content.insert("metadata".to_owned(), Value::Object(metadata.collect()));
    content.insert("spec".to_owned(), template.node.at("/spec").map(to_json).unwrap_or_else(|| json!({})));
    Value::Object(content)
}

impl TemplatePart {
    /// `spec.template.spec`: the spec of generated objects.
    pub(crate) fn spec(&self) -> Option<&Value> {
        self.template.pointer("/spec/template/spec")
    }
}

impl Desired<'_> {
    /// All templates that are here, by their names in answers of extensions.
    pub(crate) fn templates(&self) -> impl Iterator<Item = (String, &TemplatePart)> {
        let plane = &self.control_plane;
        let of_workers = self.workers.iter().flat_map(|worker| {
            let parts = [("bootstrap", &worker.bootstrap), ("infrastructure", &worker.infrastructure)];
            parts.map(|(what, part)| (worker_part(&worker.entry, what), part))
        });
        [
            (INFRASTRUCTURE.to_owned(), &self.infrastructure),
            (CONTROL_PLANE.to_owned(), &plane.part),
            (MACHINE_INFRASTRUCTURE.to_owned(), &plane.machines),
        ]
        .into_iter()
        .chain(of_workers)
        .filter_map(|(name, part)| Some((name, part.as_ref()?)))
    }

    /// The worker of an entry name.
    pub(crate) fn worker(&self, kind: WorkerKind, name: &str) -> Option<&Worker<'_>> {
        self.workers.iter().find(|w| w.entry.kind == kind && w.entry.name.as_deref() == Some(name))
    }
}
