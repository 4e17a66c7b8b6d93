//! `ineffective-hook-annotation`: an annotation that should hold an upgrade, where
//! it holds none.
//! Source: cluster-api `exp/topology/desiredstate/lifecycle_hooks.go`
//! (`callBeforeClusterUpgradeHook`).

use super::{is_off, title};
use crate::config::Feature;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::simulate::cluster_api::hooks::sequence::BEFORE_UPGRADE_PREFIX;

pub(crate) static RULE: Rule = Rule {
    id: "ineffective-hook-annotation",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an annotation that should hold an upgrade and does not",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/ineffective-hook-annotation.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.group().ends_with("cluster.x-k8s.io") {
        return;
    }
    for map in view.metadata() {
        for entry in map.entries.iter().map(|e| &e.entry).filter(|e| e.key.starts_with(BEFORE_UPGRADE_PREFIX))
        {
            let on_cluster = view.id.is(CORE, "Cluster") && map.own;
            let (why, help) = if map.labels {
                (
                    "it is read as an annotation only, and this is a label",
                    "make it an annotation of the Cluster",
                )
            } else if !on_cluster {
                ("it is read from the Cluster's own annotations only", "put it on the Cluster")
            } else if !has_topology(view) {
                (
                    "only upgrades of a managed topology are held: nothing reads it on this Cluster",
                    "hold the version in Git, or manage the Cluster by spec.topology",
                )
            } else if is_off(view, Feature::RuntimeSdk) {
                (
                    "it is read only with the feature gate RuntimeSDK, which is off",
                    "turn the feature gate on, or hold the version in Git",
                )
            } else {
                continue;
            };
            let Some(location) = entry.key_location() else { continue };
            report
                .report(location, title(view.id, "an annotation holds no upgrade here"))
                .why(why)
                .label("upgrades start all the same")
                .help(help)
                .object(view.id)
                .field(map.pointer_of(&entry.key), entry.key.to_string());
        }
    }
}

fn has_topology(view: &ObjectView<'_>) -> bool {
    view.node.at("/spec").is_none_or(|spec| spec.is_unknown() || spec.get("topology").is_some())
}
