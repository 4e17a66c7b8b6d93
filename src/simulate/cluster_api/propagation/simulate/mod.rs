//! What becomes of every key of a Cluster's objects: the objects that
//! controllers derive, each with its keys and their origin, and where the others
//! stop.

mod stops;

use serde_json::Value;
use stops::{cluster_of, controller_of, read_taints, stop, stop_all, strategy, taint_stop, taints_of};

use super::node::{syncs_annotation, syncs_label};
use super::{
    DEPLOYMENT_NAME, KeySource, MachineDeployment, Metadata, MetadataEntry, WorkerKind,
    control_plane_machine, created_from_template, is_upgrade_order_annotation, machine, machine_set,
    pool_machine, reaches_machine_sets, template_clone, template_object,
};
use crate::lang::go::regexp::GoRegexp;
use crate::lang::yaml::Location;
use crate::model::ObjectId;
use crate::model::cluster_api_kinds as kinds;
use crate::simulate::cluster_api::references::{Objects, ScopedObject};
use crate::simulate::cluster_api::topology::desired::{Desired, TemplatePart, Worker, desired};
use crate::simulate::cluster_api::topology::fields;
use crate::simulate::cluster_api::topology::fields::Table;
use crate::simulate::cluster_api::topology::{Cluster, first_at, metadata_at, text_at};

/// What decides about the last edges.
#[derive(Debug, Default)]
pub struct PropagationSettings {
    /// `--additional-sync-machine-labels`.
    pub additional_labels: Vec<GoRegexp>,
    /// `--additional-sync-machine-annotations`.
    pub additional_annotations: Vec<GoRegexp>,
    /// Whether annotations of Machines reach Nodes (Cluster API 1.10).
    pub annotations: bool,
    /// Feature gate MachineTaintPropagation, where known.
    pub taints: Option<bool>,
    /// Whether patches may change template metadata (Cluster API 1.14).
    pub template_metadata: bool,
}

/// What the simulation lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The class of this Cluster: nothing is derived of it.
    Class(ObjectId),
    /// A template of a class: its own metadata is left out.
    Template(ObjectId, String),
}

/// An object that controllers make.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The object of the repository that it is made of.
    pub from: ObjectId,
    pub kind: String,
    /// Its name; with `…` for what is generated.
    pub name: String,
    /// Whether the name is known.
    pub name_known: bool,
    /// Its labels and annotations.
    pub metadata: Metadata,
    pub taints: Vec<Taint>,
    /// Keys of the objects above it that do not reach it.
    pub stops: Vec<Stop>,
    /// On what it depends that it is there at all.
    pub condition: Option<&'static str>,
}

/// Source: cluster-api `core/reconcilers/machinepool/machinepool_controller_phases.go`,
/// `reconcileMachines`, goes by `status.infrastructureMachineKind`.
const POOL_MACHINES: &str = "only where the infrastructure provider has Machines for its pools";

/// A taint on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Taint {
    /// The whole taint: key, value, effect, propagation.
    pub value: Value,
    /// JSON Pointer of the list that states it.
    pub pointer: String,
    /// Where that is.
    pub location: Option<Location>,
}

/// A key that stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    pub key: String,
    /// `labels`, `annotations` or `taints`.
    pub field: &'static str,
    /// The kind of object that still has it.
    pub stops_at: String,
    /// Why it goes no further.
    pub why: &'static str,
    /// Where it is written.
    pub location: Option<Location>,
}

/// Everything that is derived of the objects of a repository, and what is not
/// among them: the classes of Clusters, by Cluster, and templates of classes.
pub fn simulate(objects: &Objects<'_>, settings: &PropagationSettings) -> (Vec<Derived>, Vec<Missing>) {
    let mut chain = Chain { settings, objects, derived: Vec::new(), missing: Vec::new() };
    for cluster in Cluster::all(objects).filter(|c| c.topology().is_some()) {
        match desired(cluster, objects, settings.template_metadata) {
            Some(desired) => {
                chain.topology(&desired);
                let from = cluster.object.id;
                let missing = desired.missing.into_iter();
                chain.missing.extend(missing.map(|what| Missing::Template(from.clone(), what)));
            }
            None => chain.missing.push(Missing::Class(cluster.object.id.clone())),
        }
    }
    for object in objects.of_kind(kinds::CONTROL_PLANE, "KubeadmControlPlane") {
        chain.control_plane(object);
    }
    for object in objects.of_kind(kinds::CORE, "MachineDeployment") {
        chain.machine_deployment(object);
    }
    for object in objects.of_kind(kinds::CORE, "MachineSet") {
        chain.machine_set(object);
    }
    for object in objects.of_kind(kinds::CORE, "MachinePool") {
        chain.machine_pool(object);
    }
    for object in objects.of_kind(kinds::CORE, "Machine") {
        chain.machine(object);
    }
    (chain.derived, chain.missing)
}

const NOT_COPIED: &str = "top-level metadata of it is copied nowhere";

struct Chain<'s, 'a> {
    settings: &'s PropagationSettings,
    objects: &'s Objects<'a>,
    derived: Vec<Derived>,
    missing: Vec<Missing>,
}

/// What is made for a Machine beside it: its infrastructure or its bootstrap.
struct Below {
    kind: String,
    /// `spec.template.metadata` of its template.
    template: Metadata,
    /// Its template: the name, unless that is generated, and `Kind.group`.
    cloned_from: Option<(Option<String>, String)>,
}

impl Below {
    fn of_part(part: &TemplatePart) -> Self {
        let kind = kinds::templated_kind(&part.template_kind).to_owned();
        // What Machines are made of is the Cluster's own clone of the class's template.
        let cloned_from = Some((None, part.group_kind.clone()));
        Self { kind, template: part.nested_metadata.clone(), cloned_from }
    }

    /// The config that a KubeadmControlPlane makes itself, of no template.
    fn kubeadm(control_plane: &str) -> Option<Self> {
        let template = Metadata::default();
        let made = Self { kind: "KubeadmConfig".to_owned(), template, cloned_from: None };
        (control_plane == "KubeadmControlPlane").then_some(made)
    }

    fn created(&self, machine: &Metadata, by: &'static str) -> Metadata {
        let cloned_from = self.cloned_from.as_ref().map(|(name, kind)| (name.as_deref(), kind.as_str()));
        created_from_template(machine, &self.template, cloned_from, by)
    }
}

/// An object of the chain below which Machines stand.
struct Parent<'p> {
    from: &'p ObjectId,
    cluster: String,
    /// Name, where not generated, and how generated ones begin.
    name: Option<&'p str>,
    prefix: String,
}

impl Parent<'_> {
    fn shown(&self) -> String {
        self.name.map_or_else(|| self.prefix.clone(), str::to_owned)
    }
}

impl Missing {
    /// The object whose derived ones lack it.
    pub fn from(&self) -> &ObjectId {
        match self {
            Self::Class(from) | Self::Template(from, _) => from,
        }
    }
}

impl Chain<'_, '_> {
    fn push(
        &mut self,
        from: &ObjectId,
        kind: &str,
        name: (String, bool),
        metadata: Metadata,
        taints: Vec<Taint>,
        stops: Vec<Stop>,
    ) {
        self.derived.push(Derived {
            from: from.clone(),
            kind: kind.to_owned(),
            name: name.0,
            name_known: name.1,
            metadata,
            taints,
            stops,
            condition: None,
        });
    }

    fn topology(&mut self, desired: &Desired<'_>) {
        let from = desired.cluster.object.id;
        let cluster = desired.cluster.object.name();
        let control_plane = &desired.control_plane;
        let kind = control_plane.kind.clone();
        let mut stops = stop_all(
            &metadata_at(desired.cluster.object.node, "/metadata"),
            &Metadata::default(),
            "Cluster",
            "metadata of the Cluster is copied nowhere; spec.topology.*.metadata is",
        );
        stops.retain(|stop| !stop.key.starts_with("topology.cluster.x-k8s.io/"));
        let prefix = format!("{cluster}-…");
        if let Some(part) = &desired.infrastructure {
            self.object_of(from, cluster, part, &prefix, None);
        }
        self.push(from, &kind, (prefix.clone(), false), control_plane.metadata.clone(), Vec::new(), stops);
        let parent = Parent { from, cluster: cluster.to_owned(), name: None, prefix };
        if let Some(part) = &control_plane.machines {
            self.clone_of(from, cluster, part, &format!("{cluster}-…"));
        }
        let taints = taints_of(&control_plane.fields, "/spec/machineTemplate/spec/taints");
        match &control_plane.machine_metadata {
            Some(template) => {
                let stops = stop_all(
                    &control_plane.metadata,
                    template,
                    &kind,
                    "only spec.machineTemplate.metadata reaches Machines",
                );
                let parts = [control_plane.machines.as_ref().map(Below::of_part), Below::kubeadm(&kind)];
                self.control_plane_machines(&parent, template, taints, stops, parts.into_iter().flatten());
            }
            None => {
                let stops = stop_all(
                    &control_plane.metadata,
                    &Metadata::default(),
                    &kind,
                    "the class has no controlPlane.machineInfrastructure, so no machine template",
                );
                self.control_plane_machines(&parent, &Metadata::default(), taints, stops, []);
            }
        }
        for worker in &desired.workers {
            self.topology_worker(desired, worker);
        }
    }

    fn topology_worker(&mut self, desired: &Desired<'_>, worker: &Worker<'_>) {
        let from = desired.cluster.object.id;
        let cluster = desired.cluster.object.name();
        let entry = worker.entry.name.as_deref().unwrap_or("…");
        let prefix = format!("{cluster}-{entry}-…");
        let stated = metadata_at(desired.cluster.object.node, &format!("{}/metadata", worker.entry.pointer));
        let mut stops = stop_all(
            &stated,
            &worker.metadata,
            "Cluster",
            "it orders upgrades and is read from the topology entry only",
        );
        stops.retain(|stop| is_upgrade_order_annotation(&stop.key));
        let taints = taints_of(&worker.fields, "/spec/template/spec/taints");
        let kind = worker.entry.kind.kind();
        self.push(from, kind, (prefix.clone(), false), worker.metadata.clone(), Vec::new(), stops);
        for part in [&worker.infrastructure, &worker.bootstrap].into_iter().flatten() {
            match worker.entry.kind {
                WorkerKind::MachineDeployment => self.clone_of(from, cluster, part, &prefix),
                WorkerKind::MachinePool => {
                    self.object_of(from, cluster, part, &prefix, worker.entry.name.as_deref());
                }
            }
        }
        let parent = Parent { from, cluster: cluster.to_owned(), name: None, prefix };
        match worker.entry.kind {
            WorkerKind::MachineDeployment => {
                let md = MachineDeployment {
                    name: None,
                    annotations: worker.metadata.annotations.clone(),
                    template: worker.metadata.clone(),
                    selector: Default::default(),
                    replicas: worker.fields.get("/spec/replicas").and_then(|f| f.value.as_i64()),
                    strategy: strategy(&worker.fields),
                };
                let parts = [worker.infrastructure.as_ref(), worker.bootstrap.as_ref()];
                let parts: Vec<Below> = parts.into_iter().flatten().map(Below::of_part).collect();
                self.machine_sets(&parent, &md, &worker.metadata, taints, &parts);
            }
            WorkerKind::MachinePool => self.pool_machines(&parent, &worker.metadata, &taints),
        }
    }

    /// The per-cluster clone of a template that the class references.
    fn clone_of(&mut self, from: &ObjectId, cluster: &str, part: &TemplatePart, prefix: &str) {
        let metadata = template_clone(cluster, &part.metadata, (&part.template_name, &part.group_kind));
        self.push(from, &part.template_kind, (prefix.to_owned(), false), metadata, Vec::new(), Vec::new());
    }

    /// What the topology controller makes of a template for itself.
    fn object_of(
        &mut self,
        from: &ObjectId,
        cluster: &str,
        part: &TemplatePart,
        prefix: &str,
        pool: Option<&str>,
    ) {
        let cloned_from = (&*part.template_name, &*part.group_kind);
        let metadata = template_object(cluster, &part.nested_metadata, cloned_from, pool);
        let kind = kinds::templated_kind(&part.template_kind).to_owned();
        self.push(from, &kind, (prefix.to_owned(), false), metadata, Vec::new(), Vec::new());
    }

    fn control_plane(&mut self, object: ScopedObject<'_>) {
        let template = metadata_at(object.node, "/spec/machineTemplate/metadata");
        let stops = stop_all(
            &metadata_at(object.node, "/metadata"),
            &template,
            "KubeadmControlPlane",
            "only spec.machineTemplate.metadata reaches Machines",
        );
        let fields = fields::of_object(Table::ControlPlane, object.node);
        let parent = Parent {
            from: object.id,
            cluster: cluster_of(object),
            name: Some(object.name()),
            prefix: String::new(),
        };
        let taints = taints_of(&fields, "/spec/machineTemplate/spec/taints");
        let machines = self.below(
            object,
            &["/spec/machineTemplate/spec/infrastructureRef", "/spec/machineTemplate/infrastructureRef"],
        );
        let parts = [machines, Below::kubeadm("KubeadmControlPlane")];
        self.control_plane_machines(&parent, &template, taints, stops, parts.into_iter().flatten());
    }

    /// What is made of a template that an object references; its own metadata
    /// counts where it is among the objects.
    fn below(&mut self, object: ScopedObject<'_>, pointers: &[&str]) -> Option<Below> {
        let (_, reference) = first_at(object.node, pointers)?;
        let (kind, name) = (text_at(reference, &["/kind"])?, text_at(reference, &["/name"])?);
        let group = text_at(reference, &["/apiGroup"])
            .or_else(|| Some(kinds::group_of(&text_at(reference, &["/apiVersion"])?).to_owned()))?;
        let namespace = text_at(reference, &["/namespace"]).unwrap_or_else(|| object.namespace().to_owned());
        let template = self.objects.find(&group, &kind, &namespace, &name);
        if template.is_none() {
            let missing = Missing::Template(object.id.clone(), format!("{kind} {namespace}/{name}"));
            if !self.missing.contains(&missing) {
                self.missing.push(missing);
            }
        }
        Some(Below {
            kind: kinds::templated_kind(&kind).to_owned(),
            template: template
                .map(|template| metadata_at(template.node, "/spec/template/metadata"))
                .unwrap_or_default(),
            cloned_from: Some((Some(name), format!("{kind}.{group}"))),
        })
    }

    fn control_plane_machines(
        &mut self,
        parent: &Parent<'_>,
        template: &Metadata,
        taints: Vec<Taint>,
        stops: Vec<Stop>,
        parts: impl IntoIterator<Item = Below>,
    ) {
        let metadata = control_plane_machine(&parent.cluster, parent.name, template);
        let name = format!("{}-…", parent.shown().trim_end_matches("-…"));
        self.push(parent.from, "Machine", (name.clone(), false), metadata.clone(), taints.clone(), stops);
        for part in parts {
            // The hook that only a Machine has.
            let mut metadata = metadata.clone();
            metadata.annotations.remove(super::KCP_CLEANUP);
            let created = part.created(&metadata, "KubeadmControlPlane controller");
            self.push(parent.from, &part.kind, (name.clone(), false), created, Vec::new(), Vec::new());
        }
        self.node(parent.from, None, &name, &metadata, &taints, None);
    }

    fn machine_deployment(&mut self, object: ScopedObject<'_>) {
        let template = metadata_at(object.node, "/spec/template/metadata");
        let own = metadata_at(object.node, "/metadata");
        let fields = fields::of_object(Table::Worker, object.node);
        let md = MachineDeployment {
            name: Some(object.name().to_owned()),
            annotations: own.annotations.clone(),
            template,
            selector: Default::default(),
            replicas: fields.get("/spec/replicas").and_then(|f| f.value.as_i64()),
            strategy: strategy(&fields),
        };
        let parent = Parent {
            from: object.id,
            cluster: cluster_of(object),
            name: Some(object.name()),
            prefix: String::new(),
        };
        let parts = self.below_workers(object);
        self.machine_sets(&parent, &md, &own, taints_of(&fields, "/spec/template/spec/taints"), &parts);
    }

    /// From a MachineDeployment with metadata `own` to its Nodes.
    fn machine_sets(
        &mut self,
        parent: &Parent<'_>,
        md: &MachineDeployment,
        own: &Metadata,
        taints: Vec<Taint>,
        parts: &[Below],
    ) {
        let set = machine_set(md);
        let name = format!("{}-…", parent.shown().trim_end_matches("-…"));
        let labels = Metadata { labels: own.labels.clone(), ..Metadata::default() };
        let reached = Metadata { labels: md.template.labels.clone(), ..Metadata::default() };
        let mut stops = stop_all(
            &labels,
            &reached,
            "MachineDeployment",
            "labels of MachineSets come from spec.template.metadata",
        );
        for (key, entry) in &own.annotations {
            if !reaches_machine_sets(key) {
                let why = "the MachineDeployment controller keeps it to itself";
                stops.push(stop(key, "annotations", "MachineDeployment", why, entry));
            }
        }
        self.push(parent.from, "MachineSet", (name.clone(), false), set.metadata.clone(), Vec::new(), stops);

        let metadata = machine(&parent.cluster, None, Some(md.name.as_deref()), &set.template);
        let annotations = Metadata { annotations: set.metadata.annotations.clone(), ..Metadata::default() };
        let reached = Metadata { annotations: metadata.annotations.clone(), ..Metadata::default() };
        let stops =
            stop_all(&annotations, &reached, "MachineSet", "only spec.template.metadata reaches Machines");
        self.machine_and_below(parent.from, &name, metadata, taints, stops, parts);
    }

    fn machine_set(&mut self, object: ScopedObject<'_>) {
        let own = metadata_at(object.node, "/metadata");
        let template = metadata_at(object.node, "/spec/template/metadata");
        let deployment = own.labels.get(DEPLOYMENT_NAME).map(|entry| entry.value.as_deref());
        let metadata = machine(&cluster_of(object), Some(object.name()), deployment, &template);
        let mut stops =
            stop_all(&own, &metadata, "MachineSet", "only spec.template.metadata reaches Machines");
        stops.retain(|stop| stop.key != DEPLOYMENT_NAME);
        let fields = fields::of_object(Table::Worker, object.node);
        let taints = taints_of(&fields, "/spec/template/spec/taints");
        let name = format!("{}-…", object.name());
        let parts = self.below_workers(object);
        self.machine_and_below(object.id, &name, metadata, taints, stops, &parts);
    }

    fn below_workers(&mut self, object: ScopedObject<'_>) -> Vec<Below> {
        let spec = ["/spec/template/spec/infrastructureRef", "/spec/template/spec/bootstrap/configRef"];
        spec.into_iter().filter_map(|pointer| self.below(object, &[pointer])).collect()
    }

    fn machine_and_below(
        &mut self,
        from: &ObjectId,
        name: &str,
        metadata: Metadata,
        taints: Vec<Taint>,
        stops: Vec<Stop>,
        parts: &[Below],
    ) {
        self.push(from, "Machine", (name.to_owned(), false), metadata.clone(), taints.clone(), stops);
        for part in parts {
            let created = part.created(&metadata, "MachineSet controller");
            self.push(from, &part.kind, (name.to_owned(), false), created, Vec::new(), Vec::new());
        }
        self.node(from, None, name, &metadata, &taints, Some("MachineSet"));
    }

    fn machine_pool(&mut self, object: ScopedObject<'_>) {
        let template = metadata_at(object.node, "/spec/template/metadata");
        let fields = fields::of_object(Table::Worker, object.node);
        let parent = Parent {
            from: object.id,
            cluster: cluster_of(object),
            name: Some(object.name()),
            prefix: String::new(),
        };
        let before = self.derived.len();
        self.pool_machines(&parent, &template, &taints_of(&fields, "/spec/template/spec/taints"));
        let stops = stop_all(&metadata_at(object.node, "/metadata"), &template, "MachinePool", NOT_COPIED);
        if let Some(machine) = self.derived.get_mut(before) {
            machine.stops.extend(stops);
        }
    }

    fn pool_machines(&mut self, parent: &Parent<'_>, template: &Metadata, taints: &[Taint]) {
        let metadata = pool_machine(&parent.cluster, parent.name, template);
        let name = format!("{}-…", parent.shown().trim_end_matches("-…"));
        let why = "the webhook rejects taints on MachinePools";
        let stops = taints.iter().map(|taint| taint_stop(taint, "MachinePool", why)).collect();
        let before = self.derived.len();
        self.push(parent.from, "Machine", (name.clone(), false), metadata.clone(), Vec::new(), stops);
        self.node(parent.from, None, &name, &metadata, &[], Some("MachinePool"));
        self.derived[before..].iter_mut().for_each(|derived| derived.condition = Some(POOL_MACHINES));
    }

    fn machine(&mut self, object: ScopedObject<'_>) {
        let metadata = metadata_at(object.node, "/metadata");
        let taints: Vec<Taint> = read_taints(object.node, "/spec/taints");
        self.node(object.id, Some(object), object.name(), &metadata, &taints, None);
    }

    /// The Node of a Machine; `standalone` is the Machine where the repository
    /// states it. `owner` is the kind of its controller.
    fn node(
        &mut self,
        from: &ObjectId,
        standalone: Option<ScopedObject<'_>>,
        machine: &str,
        metadata: &Metadata,
        taints: &[Taint],
        owner: Option<&str>,
    ) {
        const BY: &str = "Machine controller";
        let settings = self.settings;
        let mut synced = Metadata::default();
        let mut stops = Vec::new();
        for (key, entry) in &metadata.labels {
            if syncs_label(key, &settings.additional_labels) {
                synced.labels.insert(key.clone(), entry.clone());
            } else {
                let why = "only node-role.kubernetes.io, node-restriction.kubernetes.io and \
                           node.cluster.x-k8s.io labels, and additional ones, reach Nodes";
                stops.push(stop(key, "labels", "Machine", why, entry));
            }
        }
        for (key, entry) in &metadata.annotations {
            let syncs = syncs_annotation(key, &settings.additional_annotations);
            if syncs && settings.annotations {
                synced.annotations.insert(key.clone(), entry.clone());
            } else {
                let why = match settings.annotations {
                    true => "only node.cluster.x-k8s.io annotations, and additional ones, reach Nodes",
                    false => "annotations of Machines reach Nodes from Cluster API 1.10 on",
                };
                stops.push(stop(key, "annotations", "Machine", why, entry));
            }
        }
        let cluster = metadata.labels.get(super::CLUSTER_NAME).and_then(|entry| entry.value.clone());
        let (cluster, name) = match standalone {
            Some(object) => (Some(cluster_of(object)), Some(object.name().to_owned())),
            None => (cluster, None),
        };
        let (owner_kind, owner_name) = match standalone {
            Some(object) => controller_of(object.node).unzip(),
            None => (owner.map(str::to_owned), None),
        };
        let namespace = from.namespace.as_deref().unwrap_or("default").to_owned();
        let mut bookkeeping = |key: &str, value: Option<String>| {
            let entry = MetadataEntry { value, source: KeySource::Controller(BY) };
            synced.annotations.insert(format!("cluster.x-k8s.io/{key}"), entry);
        };
        bookkeeping("cluster-name", cluster);
        bookkeeping("cluster-namespace", Some(namespace));
        bookkeeping("machine", name);
        if let Some(kind) = owner_kind {
            bookkeeping("owner-kind", Some(kind));
            bookkeeping("owner-name", owner_name);
        }
        let on_node = self.taints_on_node(taints, &mut stops);
        stops.retain(|stop| stop.location.is_some() || stop.field == "taints");
        self.push(from, "Node", (machine.to_owned(), false), synced, on_node, stops);
    }

    /// The taints of a Machine that its Node gets; the others stop.
    fn taints_on_node(&self, taints: &[Taint], stops: &mut Vec<Stop>) -> Vec<Taint> {
        match self.settings.taints {
            Some(true) => return taints.to_vec(),
            known => {
                let why = match known {
                    Some(_) => "the feature gate MachineTaintPropagation is off",
                    None => "it needs the feature gate MachineTaintPropagation, which is off by default",
                };
                stops.extend(taints.iter().map(|taint| taint_stop(taint, "Machine", why)));
            }
        }
        Vec::new()
    }
}
