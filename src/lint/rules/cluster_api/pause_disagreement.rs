//! `pause-disagreement`: an annotation pauses less, or more, than it reads.
//! Source: cluster-api `util/paused` (`EnsurePausedCondition`),
//! `exp/topology/desiredstate/desired_state.go` (topology metadata is copied).

use super::title;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;

pub(crate) static RULE: Rule = Rule {
    id: "pause-disagreement",
    group: Group::ClusterApi,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a pause that reaches less or more than it reads",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/pause-disagreement.md"),
    check: Check::Object(check),
};

const KEY: &str = "cluster.x-k8s.io/paused";

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.group().ends_with("cluster.x-k8s.io") {
        return;
    }
    for map in view.metadata() {
        let annotation = map.entries.iter().map(|e| &e.entry).find(|e| e.key == KEY);
        let Some(entry) = annotation.filter(|_| !map.labels) else { continue };
        let paused = || view.node.at("/spec/paused").and_then(NodeRef::as_bool);
        let (words, why, help) = match (view.id.is(CORE, "Cluster"), map.own) {
            (true, true) if paused() != Some(true) => (
                "its annotation does not pause what it owns",
                "it stops the Cluster and topology controllers only: control plane, MachineDeployments \
                 and Machines keep reconciling",
                "set `spec.paused: true`, which stops all of them",
            ),
            (true, false) => (
                "a topology entry hands a pause down",
                "topology metadata is copied: the object of the entry and its Machines are paused one by one",
                "set `spec.paused: true` on the Cluster, or annotate the one object in the cluster",
            ),
            (false, false) => (
                "a template hands a pause down",
                "template metadata is copied to Machines: each of them is paused, the object itself is not",
                "annotate the object, or pause the Cluster with `spec.paused: true`",
            ),
            (true, true) | (false, true) => continue,
        };
        let Some(location) = entry.key_location() else { continue };
        report
            .report(location, title(view.id, words))
            .why(why)
            .help(help)
            .object(view.id)
            .field(map.pointer_of(KEY), KEY);
    }
}
