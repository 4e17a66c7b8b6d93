//! `paused-cluster-class`: a ClusterClass is paused, which its Clusters feel.
//! Source: cluster-api `core/reconcilers/clusterclass`, topology controller
//! `reconcile` (observedGeneration, VariablesReady).

use super::title;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;

pub(crate) static RULE: Rule = Rule {
    id: "paused-cluster-class",
    group: Group::ClusterApi,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a paused ClusterClass",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/paused-cluster-class.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    const KEY: &str = "cluster.x-k8s.io/paused";
    if !view.id.is(CORE, "ClusterClass") {
        return;
    }
    let Some(entry) = view.node.at("/metadata/annotations").and_then(|a| a.entry(KEY)) else { return };
    let Some(location) = entry.key_location() else { return };
    report
        .report(location, title(view.id, "a paused class stops its Clusters"))
        .why(
            "from its next change on, and at once where the class is new, every topology of it fails: \
             its class is \"not successfully reconciled\"",
        )
        .help("pause the Clusters instead (`spec.paused: true`), and remove the annotation")
        .object(view.id)
        .field("/metadata/annotations/cluster.x-k8s.io~1paused", KEY);
}
