//! Annotation and label keys of Cluster API, as data. Names and godoc upstream:
//! `api/core/v1beta2/common_types.go` and the packages named at the rows.
//!
//! None of its domains is closed: providers define keys even in core's own.

use std::sync::LazyLock;

use crate::model::cluster_api_kinds::BOOTSTRAP;
use crate::model::keys::{
    Domain, Grammar, KeyField, KeyOwner, KeyShape, Kinds, MetadataKey, On, Openness, Registry, Unread,
};

const CORE: &str = "cluster.x-k8s.io";
const CONTROL_PLANE: &str = "controlplane.cluster.x-k8s.io";

/// Cluster API's keys.
pub(crate) static CLUSTER_API: LazyLock<Registry> =
    LazyLock::new(|| Registry::new(KEYS, DOMAINS, &["x-k8s"], None));

const CLUSTERS: &[Kinds] = &[Kinds(CORE, "Cluster")];
const MACHINES: &[Kinds] = &[Kinds(CORE, "Machine")];
const MACHINE_SETS: &[Kinds] = &[Kinds(CORE, "MachineSet"), Kinds(CORE, "MachineDeployment")];
const SCALABLE: &[Kinds] =
    &[Kinds(CORE, "MachineDeployment"), Kinds(CORE, "MachineSet"), Kinds(CORE, "MachinePool")];
const CONTROL_PLANES: &[Kinds] = &[Kinds(CONTROL_PLANE, "KubeadmControlPlane")];

/// An annotation that a person sets.
const SETTING: MetadataKey = MetadataKey {
    name: "",
    shape: KeyShape::Exact,
    field: KeyField::Annotation,
    on: On::Any,
    value: Grammar::Free,
    unread: Unread::Ignored,
    class: KeyOwner::Setting,
    reader: "Cluster API",
    effect: "",
    since: None,
    until: None,
    released: true,
};

/// A setting whose value is never looked at.
const SWITCH: MetadataKey = MetadataKey { value: Grammar::Presence, ..SETTING };

const REQUEST: MetadataKey = MetadataKey { value: Grammar::Presence, class: KeyOwner::Request, ..SETTING };

const INTERNAL: MetadataKey = MetadataKey { class: KeyOwner::Internal, ..SETTING };

const OWNER: MetadataKey = MetadataKey {
    field: KeyField::Either,
    class: KeyOwner::Owner,
    effect: "is written by the controllers, which overwrite other values",
    ..SETTING
};

/// What `clusterctl` puts on components, or looks for there.
const CLUSTERCTL: MetadataKey =
    MetadataKey { field: KeyField::Either, class: KeyOwner::Note, reader: "clusterctl", ..SETTING };

const fn owner(name: &'static str) -> MetadataKey {
    MetadataKey { name, ..OWNER }
}

const fn internal(name: &'static str, effect: &'static str) -> MetadataKey {
    MetadataKey { name, effect, ..INTERNAL }
}

const fn clusterctl(name: &'static str, effect: &'static str) -> MetadataKey {
    MetadataKey { name, effect, ..CLUSTERCTL }
}

/// A beginning of keys that others define.
const fn others(name: &'static str) -> MetadataKey {
    MetadataKey {
        name,
        shape: KeyShape::Prefix,
        field: KeyField::Either,
        class: KeyOwner::Note,
        reader: "a provider",
        effect: "is defined by a provider",
        ..SETTING
    }
}

/// Every key of Cluster API's core, kubeadm providers and clusterctl, and the
/// keys of other providers in core's domains.
pub(crate) static KEYS: &[MetadataKey] = &[
    // Pausing and filtering: `util/paused`, `util/annotations`.
    MetadataKey {
        name: "cluster.x-k8s.io/paused",
        on: On::Only(&[Kinds("*.cluster.x-k8s.io", "*")]),
        effect: "pauses the object",
        ..SWITCH
    },
    MetadataKey {
        name: "cluster.x-k8s.io/watch-filter",
        field: KeyField::Label,
        effect: "chooses the controllers that reconcile the object",
        ..SETTING
    },
    MetadataKey {
        name: "cluster.x-k8s.io/managed-by",
        on: On::Only(&[Kinds("infrastructure.cluster.x-k8s.io", "*")]),
        effect: "says that something else manages the infrastructure",
        ..SWITCH
    },
    // Scaling: `internal/webhooks` defaulting of replicas.
    MetadataKey {
        name: "cluster.x-k8s.io/replicas-managed-by",
        on: On::Only(&[Kinds(CORE, "MachinePool")]),
        value: Grammar::PresenceBut("false"),
        effect: "leaves the replicas to an external autoscaler",
        ..SETTING
    },
    MetadataKey {
        name: "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size",
        on: On::Only(SCALABLE),
        value: Grammar::Int(i32::MIN as i64, i32::MAX as i64),
        unread: Unread::Rejected,
        reader: "Cluster API and the cluster autoscaler",
        effect: "is the least number of replicas",
        ..SETTING
    },
    MetadataKey {
        name: "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size",
        on: On::Only(SCALABLE),
        value: Grammar::Int(i32::MIN as i64, i32::MAX as i64),
        unread: Unread::Rejected,
        reader: "Cluster API and the cluster autoscaler",
        effect: "is the greatest number of replicas",
        ..SETTING
    },
    // Machines: `core/reconcilers/{machine,machineset}`, MachineHealthCheck.
    MetadataKey {
        name: "cluster.x-k8s.io/delete-machine",
        on: On::Only(MACHINES),
        effect: "makes the Machine the first to go on scale down",
        ..REQUEST
    },
    MetadataKey {
        name: "cluster.x-k8s.io/remediate-machine",
        on: On::Only(MACHINES),
        effect: "asks a MachineHealthCheck to replace the Machine",
        since: Some((1, 7)),
        ..REQUEST
    },
    MetadataKey {
        name: "cluster.x-k8s.io/skip-remediation",
        on: On::Only(MACHINES),
        effect: "keeps MachineHealthChecks away from the Machine",
        ..SWITCH
    },
    MetadataKey {
        name: "cluster.x-k8s.io/drain",
        field: KeyField::Label,
        on: On::Only(&[Kinds("", "Pod")]),
        value: Grammar::Word { does: &["skip", "wait-completed"], idle: &["drain"], exact: false },
        effect: "says what draining a Machine does with the Pod",
        since: Some((1, 9)),
        ..SETTING
    },
    MetadataKey {
        name: "machineset.cluster.x-k8s.io/skip-preflight-checks",
        on: On::Only(&[
            Kinds(CORE, "MachineSet"),
            Kinds(CORE, "MachineDeployment"),
            Kinds(BOOTSTRAP, "*Template"),
        ]),
        value: Grammar::Words(&[
            "All",
            "KubeadmVersionSkew",
            "KubernetesVersionSkew",
            "ControlPlaneIsStable",
            "ControlPlaneVersionSkew",
        ]),
        unread: Unread::Rejected,
        effect: "lets Machines be created in spite of these checks",
        since: Some((1, 5)),
        ..SETTING
    },
    MetadataKey {
        name: "machine.cluster.x-k8s.io/exclude-node-draining",
        on: On::Only(MACHINES),
        effect: "deletes the Machine without draining its Node",
        ..SWITCH
    },
    MetadataKey {
        name: "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach",
        on: On::Only(MACHINES),
        effect: "deletes the Machine without waiting for its volumes",
        ..SWITCH
    },
    MetadataKey {
        name: "machine.cluster.x-k8s.io/certificates-expiry",
        on: On::Only(&[Kinds(CORE, "Machine"), Kinds(BOOTSTRAP, "KubeadmConfig")]),
        value: Grammar::Timestamp,
        unread: Unread::Fails,
        reader: "the KubeadmControlPlane controller",
        effect: "is when the certificates of the control plane end",
        ..SETTING
    },
    MetadataKey {
        name: "pre-drain.delete.hook.machine.cluster.x-k8s.io",
        shape: KeyShape::Prefix,
        on: On::Only(MACHINES),
        effect: "holds the draining of the Machine until it is removed",
        ..SETTING
    },
    MetadataKey {
        name: "pre-terminate.delete.hook.machine.cluster.x-k8s.io",
        shape: KeyShape::Prefix,
        on: On::Only(MACHINES),
        effect: "holds the deletion of the infrastructure until it is removed",
        ..SETTING
    },
    // Topology: `exp/topology/desiredstate`, `core/webhooks/admission/cluster.go`.
    MetadataKey {
        name: "topology.cluster.x-k8s.io/hold-upgrade-sequence",
        on: On::TopologyEntry,
        effect: "holds the upgrade of this entry and of those after it",
        ..SWITCH
    },
    MetadataKey {
        name: "topology.cluster.x-k8s.io/defer-upgrade",
        on: On::TopologyEntry,
        effect: "defers the upgrade of this entry",
        since: Some((1, 4)),
        ..SWITCH
    },
    MetadataKey {
        name: "topology.cluster.x-k8s.io/upgrade-concurrency",
        on: On::Only(CLUSTERS),
        value: Grammar::Int(1, i64::MAX),
        unread: Unread::Rejected,
        effect: "is how many MachineDeployments upgrade at once",
        since: Some((1, 5)),
        ..SETTING
    },
    MetadataKey {
        name: "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check",
        on: On::Only(CLUSTERS),
        effect: "allows a topology to be added to an existing Cluster",
        ..SWITCH
    },
    MetadataKey {
        name: "unsafe.topology.cluster.x-k8s.io/disable-update-version-check",
        on: On::Only(CLUSTERS),
        effect: "skips every check of a version change",
        ..SWITCH
    },
    MetadataKey {
        name: "before-upgrade.hook.cluster.cluster.x-k8s.io",
        shape: KeyShape::Prefix,
        on: On::Only(CLUSTERS),
        effect: "holds an upgrade of the Cluster until it is removed",
        since: Some((1, 10)),
        ..SETTING
    },
    MetadataKey {
        name: "runtime.cluster.x-k8s.io/inject-ca-from-secret",
        on: On::Only(&[Kinds("runtime.cluster.x-k8s.io", "ExtensionConfig")]),
        effect: "takes the CA bundle from a Secret, named as `namespace/name`",
        ..SETTING
    },
    // KubeadmControlPlane.
    MetadataKey {
        name: "controlplane.cluster.x-k8s.io/skip-coredns",
        on: On::Only(CONTROL_PLANES),
        effect: "leaves CoreDNS out of upgrades",
        ..SWITCH
    },
    MetadataKey {
        name: "controlplane.cluster.x-k8s.io/skip-kube-proxy",
        on: On::Only(CONTROL_PLANES),
        effect: "leaves kube-proxy out of upgrades",
        ..SWITCH
    },
    MetadataKey {
        name: "controlplane.cluster.x-k8s.io/kubeadm-cluster-configuration",
        until: Some((1, 11)),
        ..internal("", "is the control plane's own record")
    },
    internal("controlplane.cluster.x-k8s.io/remediation-in-progress", "is a record of remediation"),
    internal("controlplane.cluster.x-k8s.io/remediation-for", "is a record of remediation"),
    // What controllers write for themselves.
    MetadataKey {
        on: On::Only(CLUSTERS),
        ..internal(
            "runtime.cluster.x-k8s.io/ok-to-delete",
            "says that BeforeClusterDelete allowed the deletion",
        )
    },
    internal("runtime.cluster.x-k8s.io/pending-hooks", "lists the hooks that are still to be called"),
    internal("topology.internal.cluster.x-k8s.io/upgrade-step", "is the current step of an upgrade"),
    internal("topology.cluster.x-k8s.io/dry-run", "marks a dry run of the topology controller"),
    MetadataKey {
        shape: KeyShape::Prefix,
        since: Some((1, 12)),
        ..internal("in-place-updates.internal.cluster.x-k8s.io/", "is a record of an in-place update")
    },
    MetadataKey {
        on: On::Only(MACHINE_SETS),
        ..internal("cluster.x-k8s.io/disable-machine-create", "is set by the MachineDeployment controller")
    },
    internal("cluster.x-k8s.io/cloned-from-name", "records the template of the object"),
    internal("cluster.x-k8s.io/cloned-from-groupkind", "records the template of the object"),
    internal("cluster.x-k8s.io/conversion-data", "keeps fields of another API version"),
    internal("crd-migration.cluster.x-k8s.io/observed-generation", "is a record of the CRD migrator"),
    internal("machinedeployment.clusters.x-k8s.io/desired-replicas", "is a record of a rollout"),
    internal("machinedeployment.clusters.x-k8s.io/max-replicas", "is a record of a rollout"),
    internal("machinedeployment.clusters.x-k8s.io/revision", "is a record of a rollout"),
    internal("machinedeployment.clusters.x-k8s.io/revision-history", "is a record of a rollout"),
    internal("cluster.x-k8s.io/labels-from-machine", "lists what was copied to the Node"),
    internal("cluster.x-k8s.io/annotations-from-machine", "lists what was copied to the Node"),
    internal("cluster.x-k8s.io/taints-from-machine", "lists what was copied to the Node"),
    internal("conversion.cluster.x-k8s.io/cluster-name-label-set", "is a record of a conversion"),
    // Owner marks.
    owner("cluster.x-k8s.io/cluster-name"),
    owner("cluster.x-k8s.io/cluster-namespace"),
    owner("cluster.x-k8s.io/machine"),
    owner("cluster.x-k8s.io/owner-kind"),
    owner("cluster.x-k8s.io/owner-name"),
    owner("cluster.x-k8s.io/deployment-name"),
    owner("cluster.x-k8s.io/set-name"),
    owner("cluster.x-k8s.io/pool-name"),
    owner("cluster.x-k8s.io/control-plane"),
    owner("cluster.x-k8s.io/control-plane-name"),
    owner("cluster.x-k8s.io/interruptible"),
    owner("topology.cluster.x-k8s.io/owned"),
    owner("topology.cluster.x-k8s.io/deployment-name"),
    owner("topology.cluster.x-k8s.io/pool-name"),
    owner("machine-template-hash"),
    // Labels that reach the Node: `util/labels` `GetManagedLabels`.
    MetadataKey {
        shape: KeyShape::Prefix,
        effect: "is copied from the Machine to its Node",
        ..others("node.cluster.x-k8s.io")
    },
    // clusterctl: `cmd/clusterctl/api`.
    clusterctl("cluster.x-k8s.io/provider", "names the provider of a component"),
    clusterctl("clusterctl.cluster.x-k8s.io", "marks an object that clusterctl installed"),
    clusterctl("clusterctl.cluster.x-k8s.io/core", "marks shared components"),
    clusterctl("clusterctl.cluster.x-k8s.io/move", "moves the objects of a CRD"),
    clusterctl("clusterctl.cluster.x-k8s.io/move-hierarchy", "moves an object and what it owns"),
    clusterctl("clusterctl.cluster.x-k8s.io/block-move", "holds a move"),
    clusterctl("clusterctl.cluster.x-k8s.io/delete-for-move", "deletes the object before a move"),
    clusterctl(
        "clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check",
        "skips the check of a CRD's name",
    ),
    clusterctl("cert-manager.clusterctl.cluster.x-k8s.io/version", "is the version of cert-manager"),
    clusterctl("visualizer.cluster.x-k8s.io", "is read by a visualizer"),
    // The contract labels of CRDs: `cluster.x-k8s.io/v1beta1: v1beta1_v1beta2`.
    MetadataKey {
        field: KeyField::Label,
        effect: "maps a contract to the versions of the CRD",
        ..others("cluster.x-k8s.io/v")
    },
    others("cluster.x-k8s.io/aggregate-to-"),
    others("cluster.x-k8s.io/skip-apiserver-"),
    others("controlplane.cluster.x-k8s.io/rosacontrolplane-"),
    others("provider.cluster.x-k8s.io/"),
    others("operator.cluster.x-k8s.io/"),
    others("addons.cluster.x-k8s.io/"),
    others("infrastructure.cluster.x-k8s.io/"),
];

const fn shared(name: &'static str) -> Domain {
    Domain { name, openness: Openness::Shared, with_subdomains: false }
}

const fn open(name: &'static str) -> Domain {
    Domain { name, openness: Openness::Open, with_subdomains: true }
}

/// Every domain that Cluster API's core has keys in, and those known to be open.
pub(crate) static DOMAINS: &[Domain] = &[
    shared("cluster.x-k8s.io"),
    shared("machine.cluster.x-k8s.io"),
    shared("machineset.cluster.x-k8s.io"),
    shared("machinedeployment.clusters.x-k8s.io"),
    shared("topology.cluster.x-k8s.io"),
    shared("unsafe.topology.cluster.x-k8s.io"),
    shared("topology.internal.cluster.x-k8s.io"),
    shared("in-place-updates.internal.cluster.x-k8s.io"),
    shared("controlplane.cluster.x-k8s.io"),
    shared("runtime.cluster.x-k8s.io"),
    shared("conversion.cluster.x-k8s.io"),
    shared("crd-migration.cluster.x-k8s.io"),
    shared("clusterctl.cluster.x-k8s.io"),
    shared("cert-manager.clusterctl.cluster.x-k8s.io"),
    open("node.cluster.x-k8s.io"),
    open("pre-drain.delete.hook.machine.cluster.x-k8s.io"),
    open("pre-terminate.delete.hook.machine.cluster.x-k8s.io"),
    open("before-upgrade.hook.cluster.cluster.x-k8s.io"),
    open("provider.cluster.x-k8s.io"),
    open("operator.cluster.x-k8s.io"),
    open("addons.cluster.x-k8s.io"),
    open("infrastructure.cluster.x-k8s.io"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::keys::{KeyStanding, table_faults};

    #[test]
    fn rows_are_whole() {
        assert_eq!(table_faults(&CLUSTER_API), Vec::<String>::new());
    }

    #[test]
    fn a_key_is_known_by_name_or_beginning() {
        let cases = [
            ("cluster.x-k8s.io/paused", Some("cluster.x-k8s.io/paused")),
            ("clusterctl.cluster.x-k8s.io", Some("clusterctl.cluster.x-k8s.io")),
            ("node.cluster.x-k8s.io/tier", Some("node.cluster.x-k8s.io")),
            ("cluster.x-k8s.io/v1beta1", Some("cluster.x-k8s.io/v")),
            (
                "pre-drain.delete.hook.machine.cluster.x-k8s.io/kcp-ready-check",
                Some("pre-drain.delete.hook.machine.cluster.x-k8s.io"),
            ),
            ("cluster.x-k8s.io/proxmox-cluster-cni", None),
            ("cluster.k8s.io/paused", None),
        ];
        for (key, expected) in cases {
            assert_eq!(CLUSTER_API.lookup(key).map(|k| k.name), expected, "{key}");
        }
    }

    #[test]
    fn only_near_misses_are_told_from_foreign_keys() {
        let prefix = |meant: &str| format!("prefix: {meant}");
        let near = |meant: &str| format!("near: {meant}");
        let cases = [
            ("cluster.x-k8s.io/pause", near("cluster.x-k8s.io/paused")),
            (
                "cluster.x-k8s.io/hold-upgrade-sequence",
                prefix("topology.cluster.x-k8s.io/hold-upgrade-sequence"),
            ),
            ("clusters.x-k8s.io/paused", prefix("cluster.x-k8s.io/paused")),
            (
                "machinedeployment.cluster.x-k8s.io/revision",
                prefix("machinedeployment.clusters.x-k8s.io/revision"),
            ),
            ("topolgy.cluster.x-k8s.io/defer-upgrade", prefix("topology.cluster.x-k8s.io/defer-upgrade")),
            ("cluster.x-k8s.io/proxmox-cluster-cni", "foreign".into()),
            ("ipam.capmox.cluster.x-k8s.io/gateway-metric", "foreign".into()),
            ("aws.cluster.x-k8s.io/external-resource-gc", "foreign".into()),
            ("aws.cluster.x-k8s.io/paused", "foreign".into()),
            ("company.node.cluster.x-k8s.io/tier", "open".into()),
            ("cluster.k8s.io/cluster-name", "foreign".into()),
            ("gateway.networking.k8s.io/paused", "foreign".into()),
        ];
        for (key, expected) in cases {
            let found = match CLUSTER_API.standing(key) {
                KeyStanding::Known(k) => format!("known: {}", k.name),
                KeyStanding::WrongPrefix(meant) => prefix(&meant[0]),
                KeyStanding::NearMiss(k) => near(k.name),
                KeyStanding::Unknown => "unknown".into(),
                KeyStanding::Open => "open".into(),
                KeyStanding::Foreign => "foreign".into(),
            };
            assert_eq!(found, expected, "{key}");
        }
    }

    #[test]
    fn kinds_fit_by_group_and_name() {
        let paused = CLUSTER_API.lookup("cluster.x-k8s.io/paused").unwrap().on;
        let checks = CLUSTER_API.lookup("machineset.cluster.x-k8s.io/skip-preflight-checks").unwrap().on;
        let cases = [
            (paused, "cluster.x-k8s.io", "Machine", true),
            (paused, "infrastructure.cluster.x-k8s.io", "AWSCluster", true),
            (paused, "subcluster.x-k8s.io", "Machine", false),
            (paused, "apps", "Deployment", false),
            (checks, "bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate", true),
            (checks, "bootstrap.cluster.x-k8s.io", "KubeadmConfig", false),
            (checks, "cluster.x-k8s.io", "MachineDeployment", true),
            (checks, "cluster.x-k8s.io", "MachinePool", false),
        ];
        for (on, group, kind, expected) in cases {
            assert_eq!(on.has(group, kind), expected, "{group} {kind}");
        }
    }
}
