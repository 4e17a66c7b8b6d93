//! What Cluster API's controllers do otherwise from a version on.

use super::{BehaviourChange, ChangedObject};
use crate::lang::yaml::NodeRef;
use crate::model::Severity;
use crate::model::cluster_api_kinds::CORE;
use crate::simulate::behaviour::{
    AFTER_CLUSTER_UPGRADE_BLOCKS, CHAINED_UPGRADES, OLD_VERSION_DEPRECATED, PATCHED_TEMPLATE_METADATA,
};

/// The rows, by version.
pub(super) static ROWS: &[BehaviourChange] = &[
    BehaviourChange {
        id: "deprecated-v1beta1",
        behaviour: OLD_VERSION_DEPRECATED,
        severity: Severity::Routine,
        concerns: |subject| {
            subject.id.version() == "v1beta1"
                && [CORE, "bootstrap.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"]
                    .contains(&subject.id.group())
                && !subject.id.kind.starts_with("Docker")
        },
        before: "",
        after: "write them in v1beta2, kind by kind: fields have other places there",
        source: "https://github.com/kubernetes-sigs/cluster-api/blob/main/docs/book/src/developer/providers/migrations/v1.13-to-v1.14.md#removals-scheduled-for-future-releases",
    },
    BehaviourChange {
        id: "chained-upgrades",
        behaviour: CHAINED_UPGRADES,
        severity: Severity::Notable,
        concerns: has_topology,
        before: "",
        after: "",
        source: "https://github.com/kubernetes-sigs/cluster-api/blob/main/docs/proposals/20250513-chained-and-efficient-upgrades-for-clusters-with-managed-topologies.md",
    },
    BehaviourChange {
        id: "after-cluster-upgrade",
        behaviour: AFTER_CLUSTER_UPGRADE_BLOCKS,
        severity: Severity::Routine,
        concerns: |subject| subject.id.is("runtime.cluster.x-k8s.io", "ExtensionConfig"),
        before: "look at what your extension answers to AfterClusterUpgrade: `retryAfterSeconds` counts from then on",
        after: "",
        source: "https://github.com/kubernetes-sigs/cluster-api/blob/main/docs/book/src/tasks/experimental-features/runtime-sdk/implement-lifecycle-hooks.md",
    },
    BehaviourChange {
        id: "patched-template-metadata",
        behaviour: PATCHED_TEMPLATE_METADATA,
        severity: Severity::Notable,
        concerns: patches_metadata,
        before: "take out what was never meant to work; new labels in a template roll Machines",
        after: "",
        source: "https://github.com/kubernetes-sigs/cluster-api/blob/main/CHANGELOG/v1.14.0.md",
    },
];

fn has_topology(subject: &ChangedObject<'_, '_>) -> bool {
    subject.id.is(CORE, "Cluster") && subject.node.at("/spec/topology").is_some()
}

fn patches_metadata(subject: &ChangedObject<'_, '_>) -> bool {
    let is_metadata =
        |json: NodeRef<'_>| json.str_at("/path").is_some_and(|path| path.contains("/metadata/"));
    subject.id.is(CORE, "ClusterClass")
        && subject.node.items_at("/spec/patches").any(|patch| {
            patch
                .items_at("/definitions")
                .any(|definition| definition.items_at("/jsonPatches").any(is_metadata))
        })
}
