//! Labels, annotations and taints on their way from a Cluster to its Nodes: one
//! pure function for each edge along which the controllers copy them.
//!
//! Mirrors, edge by edge, cluster-api `exp/topology/desiredstate/desired_state.go`,
//! `controllers/external/util.go` (`GenerateTemplate`),
//! `core/reconcilers/machinedeployment` (`computeDesiredMS`,
//! `MachineSetAnnotationsFromMachineDeployment`), `core/reconcilers/machineset`
//! (`computeDesiredMachine`), `core/reconcilers/machinepool` and
//! `controlplane/kubeadm/pkg/desiredstate`.

pub(crate) mod node;
pub(crate) mod simulate;

use std::collections::BTreeMap;

use crate::lang::yaml::Location;

/// The label with the Cluster's name, on every owned object.
pub(crate) const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
/// Set on everything that the topology controller generates, and below.
pub(crate) const TOPOLOGY_OWNED: &str = "topology.cluster.x-k8s.io/owned";
/// The name of the topology's MachineDeployment entry.
pub(crate) const TOPOLOGY_DEPLOYMENT_NAME: &str = "topology.cluster.x-k8s.io/deployment-name";
/// The name of the topology's MachinePool entry.
pub(crate) const TOPOLOGY_POOL_NAME: &str = "topology.cluster.x-k8s.io/pool-name";
/// The MachineDeployment's name, on its MachineSets and Machines.
pub(crate) const DEPLOYMENT_NAME: &str = "cluster.x-k8s.io/deployment-name";
/// The MachineSet's name, on its Machines.
pub(crate) const SET_NAME: &str = "cluster.x-k8s.io/set-name";
/// The MachinePool's name, on its Machines.
pub(crate) const POOL_NAME: &str = "cluster.x-k8s.io/pool-name";
/// Tells the MachineSets of a MachineDeployment apart.
pub(crate) const TEMPLATE_HASH: &str = "machine-template-hash";
/// On control plane Machines.
pub(crate) const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
/// The control plane object's name, on its Machines.
pub(crate) const CONTROL_PLANE_NAME: &str = "cluster.x-k8s.io/control-plane-name";
/// The template that an object was cloned from.
pub(crate) const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
/// Kind and group of that template.
pub(crate) const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";

/// Where a key's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// A field that the repository states.
    Field {
        /// JSON Pointer of the map that holds the key, such as
        /// `/spec/topology/controlPlane/metadata/labels`.
        pointer: String,
        /// Where the key is written.
        location: Option<Location>,
    },
    /// A controller sets it, whatever the repository says.
    Controller(&'static str),
}

/// One label or annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataEntry {
    /// Its value; `None` when it is known in the cluster only.
    pub value: Option<String>,
    /// Where it comes from.
    pub source: KeySource,
}

impl MetadataEntry {
    fn forced(value: Option<&str>, by: &'static str) -> Self {
        Self { value: value.map(str::to_owned), source: KeySource::Controller(by) }
    }
}

/// Labels or annotations by key.
pub type Keys = BTreeMap<String, MetadataEntry>;

/// Labels and annotations of one `metadata`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    /// `labels`.
    pub labels: Keys,
    /// `annotations`.
    pub annotations: Keys,
}

/// Merges two maps; of a key that both have, the first one's value wins
/// (`util.MergeMap`).
pub fn merge(first: &Keys, second: &Keys) -> Keys {
    let mut merged = second.clone();
    merged.extend(first.iter().map(|(k, e)| (k.clone(), e.clone())));
    merged
}

fn merge_metadata(first: &Metadata, second: &Metadata) -> Metadata {
    Metadata {
        labels: merge(&first.labels, &second.labels),
        annotations: merge(&first.annotations, &second.annotations),
    }
}

fn force(keys: &mut Keys, by: &'static str, pairs: &[(&str, Option<&str>)]) {
    for (key, value) in pairs {
        keys.insert((*key).to_owned(), MetadataEntry::forced(*value, by));
    }
}

const TOPOLOGY: &str = "topology controller";

/// Metadata of the control plane object that a topology generates.
///
/// `template` is `spec.template.metadata` of the ControlPlaneTemplate.
/// `cloned_from` names it: its name, and `Kind.group`.
pub fn control_plane(
    cluster: &str,
    topology: &Metadata,
    class: &Metadata,
    template: &Metadata,
    cloned_from: (&str, &str),
) -> Metadata {
    let mut metadata = merge_metadata(&merge_metadata(topology, class), template);
    force(&mut metadata.labels, TOPOLOGY, &[(CLUSTER_NAME, Some(cluster)), (TOPOLOGY_OWNED, Some(""))]);
    force(
        &mut metadata.annotations,
        TOPOLOGY,
        &[(CLONED_FROM_NAME, Some(cloned_from.0)), (CLONED_FROM_GROUP_KIND, Some(cloned_from.1))],
    );
    metadata
}

/// `spec.machineTemplate.metadata` of that control plane object; only generated
/// when the class names a machine infrastructure for control planes.
///
/// `template` is the same field of the ControlPlaneTemplate.
pub fn control_plane_machine_template(
    cluster: &str,
    topology: &Metadata,
    class: &Metadata,
    template: &Metadata,
) -> Metadata {
    let mut metadata = merge_metadata(&merge_metadata(topology, class), template);
    force(&mut metadata.labels, TOPOLOGY, &[(CLUSTER_NAME, Some(cluster)), (TOPOLOGY_OWNED, Some(""))]);
    metadata
}

/// Which list of the topology's workers an entry stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerKind {
    /// `machineDeployments`.
    MachineDeployment,
    /// `machinePools`.
    MachinePool,
}

/// Metadata of a generated MachineDeployment or MachinePool, which is that of
/// its machine template too. `hold-upgrade-sequence` and `defer-upgrade` stay
/// behind.
pub(crate) fn worker(
    kind: WorkerKind,
    cluster: &str,
    entry: &str,
    topology: &Metadata,
    class: &Metadata,
) -> Metadata {
    let mut metadata = merge_metadata(topology, class);
    metadata.annotations.retain(|key, _| !is_upgrade_order_annotation(key));
    let name = match kind {
        WorkerKind::MachineDeployment => TOPOLOGY_DEPLOYMENT_NAME,
        WorkerKind::MachinePool => TOPOLOGY_POOL_NAME,
    };
    force(
        &mut metadata.labels,
        TOPOLOGY,
        &[(CLUSTER_NAME, Some(cluster)), (TOPOLOGY_OWNED, Some("")), (name, Some(entry))],
    );
    metadata
}

/// Whether a key orders upgrades and so is read from topology entries only.
pub(crate) fn is_upgrade_order_annotation(key: &str) -> bool {
    use crate::simulate::cluster_api::hooks::sequence::{DEFER_UPGRADE, HOLD_UPGRADE_SEQUENCE};
    key == DEFER_UPGRADE || key == HOLD_UPGRADE_SEQUENCE
}

/// Metadata of the per-cluster clone of a template that a class references: the
/// template's own top-level metadata, of which only kubectl's stays behind.
pub(crate) fn template_clone(cluster: &str, template: &Metadata, cloned_from: (&str, &str)) -> Metadata {
    let mut metadata = template.clone();
    metadata.annotations.remove(LAST_APPLIED);
    force(&mut metadata.labels, TOPOLOGY, &[(CLUSTER_NAME, Some(cluster)), (TOPOLOGY_OWNED, Some(""))]);
    force(
        &mut metadata.annotations,
        TOPOLOGY,
        &[(CLONED_FROM_NAME, Some(cloned_from.0)), (CLONED_FROM_GROUP_KIND, Some(cloned_from.1))],
    );
    metadata
}

/// Metadata of an object that a topology makes of a template for itself: the
/// infrastructure of a Cluster, and what a MachinePool of it references. `template` is
/// `spec.template.metadata`.
///
/// Source: cluster-api `exp/topology/desiredstate/desired_state.go`, `templateToObject`
/// and `computeMachinePool`.
pub(crate) fn template_object(
    cluster: &str,
    template: &Metadata,
    cloned_from: (&str, &str),
    pool: Option<&str>,
) -> Metadata {
    let mut metadata = template.clone();
    force(&mut metadata.labels, TOPOLOGY, &[(CLUSTER_NAME, Some(cluster)), (TOPOLOGY_OWNED, Some(""))]);
    if pool.is_some() {
        force(&mut metadata.labels, TOPOLOGY, &[(TOPOLOGY_POOL_NAME, pool)]);
    }
    force(
        &mut metadata.annotations,
        TOPOLOGY,
        &[(CLONED_FROM_NAME, Some(cloned_from.0)), (CLONED_FROM_GROUP_KIND, Some(cloned_from.1))],
    );
    metadata
}

/// Metadata of a control plane Machine, its InfraMachine and its KubeadmConfig.
/// Top-level metadata of the control plane object goes nowhere.
pub(crate) fn control_plane_machine(
    cluster: &str,
    control_plane: Option<&str>,
    machine_template: &Metadata,
) -> Metadata {
    const BY: &str = "KubeadmControlPlane controller";
    let mut metadata = machine_template.clone();
    force(
        &mut metadata.labels,
        BY,
        &[(CLUSTER_NAME, Some(cluster)), (CONTROL_PLANE, Some("")), (CONTROL_PLANE_NAME, control_plane)],
    );
    force(&mut metadata.annotations, BY, &[(KCP_CLEANUP, Some(""))]);
    metadata
}

const KCP_CLEANUP: &str = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// How many Machines the MachineDeployment wants.
const DESIRED_REPLICAS: &str = "machinedeployment.clusters.x-k8s.io/desired-replicas";
/// The same and what it may surge.
const MAX_REPLICAS: &str = "machinedeployment.clusters.x-k8s.io/max-replicas";
/// Annotations of a MachineDeployment that its MachineSets do not get.
const NOT_TO_MACHINE_SETS: [&str; 6] = [
    LAST_APPLIED,
    "machinedeployment.clusters.x-k8s.io/revision",
    "machinedeployment.clusters.x-k8s.io/revision-history",
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "cluster.x-k8s.io/conversion-data",
];

/// Whether a MachineDeployment's annotation reaches its MachineSets.
pub(crate) fn reaches_machine_sets(annotation: &str) -> bool {
    !NOT_TO_MACHINE_SETS.contains(&annotation)
}

/// What a MachineDeployment's MachineSets are made of.
#[derive(Debug, Clone, Default)]
pub struct MachineDeployment {
    /// Its name; `None` when generated.
    pub name: Option<String>,
    /// `metadata.annotations`. Its labels go nowhere.
    pub annotations: Keys,
    /// `spec.template.metadata`.
    pub template: Metadata,
    /// `spec.selector.matchLabels`.
    pub selector: BTreeMap<String, String>,
    /// `spec.replicas`, where the repository states it.
    pub replicas: Option<i64>,
    /// `spec.rollout.strategy`.
    pub strategy: Strategy,
}

/// `spec.rollout.strategy` (v1beta1 `spec.strategy`) of a MachineDeployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Strategy {
    /// Replace Machines step by step.
    RollingUpdate {
        /// A number, or a percentage of the replicas with `%`.
        max_surge: String,
        /// As `max_surge`.
        max_unavailable: String,
    },
    /// Replace Machines when they are deleted.
    OnDelete,
}

impl Default for Strategy {
    fn default() -> Self {
        Self::RollingUpdate { max_surge: "1".to_owned(), max_unavailable: "0".to_owned() }
    }
}

impl Strategy {
    /// How many Machines more than `replicas` may exist (`ResolveFenceposts`);
    /// `None` for a value that is neither number nor percentage.
    pub fn max_surge(&self, replicas: i64) -> Option<i64> {
        match self {
            Self::OnDelete => Some(0),
            Self::RollingUpdate { max_surge, .. } => match max_surge.strip_suffix('%') {
                Some(percent) => {
                    let percent = percent.parse::<i64>().ok()?;
                    Some((percent.checked_mul(replicas)? + 99).div_euclid(100))
                }
                None => max_surge.parse().ok(),
            },
        }
    }
}

/// A MachineSet as its MachineDeployment makes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineSet {
    /// `metadata` of the MachineSet.
    pub metadata: Metadata,
    /// `spec.template.metadata`.
    pub template: Metadata,
    /// `spec.selector.matchLabels`.
    pub selector: BTreeMap<String, Option<String>>,
    /// `spec.replicas` of a new one.
    pub replicas: i64,
}

/// The MachineSet of a MachineDeployment, new or old: their metadata is the
/// same.
pub fn machine_set(md: &MachineDeployment) -> MachineSet {
    const BY: &str = "MachineDeployment controller";
    let mut template = md.template.clone();
    force(&mut template.labels, BY, &[(TEMPLATE_HASH, None)]);
    let mut metadata = Metadata { labels: template.labels.clone(), annotations: md.annotations.clone() };
    force(&mut metadata.labels, BY, &[(DEPLOYMENT_NAME, md.name.as_deref())]);
    metadata.annotations.retain(|key, _| reaches_machine_sets(key));
    let max = md.replicas.and_then(|n| Some((n + md.strategy.max_surge(n)?).to_string()));
    let replicas = md.replicas.map(|n| n.to_string());
    force(
        &mut metadata.annotations,
        BY,
        &[(DESIRED_REPLICAS, replicas.as_deref()), (MAX_REPLICAS, max.as_deref())],
    );
    let mut selector: BTreeMap<String, Option<String>> =
        md.selector.iter().map(|(k, v)| (k.clone(), Some(v.clone()))).collect();
    selector.insert(TEMPLATE_HASH.to_owned(), None);
    MachineSet { metadata, template, selector, replicas: 0 }
}

/// Metadata of a MachineSet's Machine, its InfraMachine and its bootstrap
/// config. Of the MachineSet's own metadata only the label `deployment-name` is
/// read, which `deployment` gives.
pub fn machine(
    cluster: &str,
    machine_set: Option<&str>,
    deployment: Option<Option<&str>>,
    template: &Metadata,
) -> Metadata {
    const BY: &str = "MachineSet controller";
    let mut metadata = template.clone();
    force(&mut metadata.labels, BY, &[(CLUSTER_NAME, Some(cluster)), (SET_NAME, machine_set)]);
    if let Some(deployment) = deployment {
        force(&mut metadata.labels, BY, &[(DEPLOYMENT_NAME, deployment)]);
    }
    metadata
}

/// Metadata of a MachinePool's Machine, where the infrastructure provider has
/// Machines for its pools. The pool's infrastructure and bootstrap objects get
/// nothing but the Cluster's name.
pub(crate) fn pool_machine(cluster: &str, pool: Option<&str>, template: &Metadata) -> Metadata {
    let mut metadata = template.clone();
    force(
        &mut metadata.labels,
        "MachinePool controller",
        &[(CLUSTER_NAME, Some(cluster)), (POOL_NAME, pool)],
    );
    metadata
}

/// Metadata of an InfraMachine or a bootstrap config when it is created: the
/// Machine's, and `spec.template.metadata` of its template where the Machine has
/// no such key. Later changes of the template's metadata do not reach it. `cloned_from`
/// is the template: its name, where that is not generated, and `Kind.group`; `by` is the
/// controller that clones it.
///
/// Source: cluster-api `controllers/external/util.go`, `GenerateTemplate`.
pub(crate) fn created_from_template(
    machine: &Metadata,
    template: &Metadata,
    cloned_from: Option<(Option<&str>, &str)>,
    by: &'static str,
) -> Metadata {
    let mut metadata = merge_metadata(machine, template);
    if let Some((name, group_kind)) = cloned_from {
        let keys = [(CLONED_FROM_NAME, name), (CLONED_FROM_GROUP_KIND, Some(group_kind))];
        force(&mut metadata.annotations, by, &keys);
    }
    metadata
}
