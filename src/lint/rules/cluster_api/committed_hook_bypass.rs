//! `committed-hook-bypass`: a Cluster in Git says that it may be deleted.
//! Source: cluster-api topology controller `reconcileDelete`
//! (`hooks.IsOkToDelete`).

use super::title;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::simulate::cluster_api::hooks::sequence::OK_TO_DELETE;

pub(crate) static RULE: Rule = Rule {
    id: "committed-hook-bypass",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a Cluster in Git bypasses the hook before its deletion",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/committed-hook-bypass.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.is(CORE, "Cluster") {
        return;
    }
    let Some(entry) = view.node.at("/metadata/annotations").and_then(|a| a.entry(OK_TO_DELETE)) else {
        return;
    };
    let Some(location) = entry.key_location() else { return };
    report
        .report(location, title(view.id, "its BeforeClusterDelete hook is bypassed"))
        .why(
            "the controller sets this once the hook has allowed the deletion: set in Git, the Cluster is \
             deleted without asking, whatever extensions would have saved first",
        )
        .help("remove the annotation")
        .object(view.id)
        .field("/metadata/annotations/runtime.cluster.x-k8s.io~1ok-to-delete", OK_TO_DELETE);
}
