//! `extension-covers-all-namespaces`: an extension is called for every Cluster.
//! Source: cluster-api `core/webhooks/admission/extensionconfig.go` (`Default`),
//! `internal/runtime/client` (`matchNamespace`).

use super::{place_in, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::RUNTIME;

pub(crate) static RULE: Rule = Rule {
    id: "extension-covers-all-namespaces",
    group: Group::ClusterApi,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "an extension that is called for every Cluster",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/extension-covers-all-namespaces.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    const POINTER: &str = "/spec/namespaceSelector";
    if !view.id.is(RUNTIME, "ExtensionConfig") {
        return;
    }
    let selector = view.node.at(POINTER);
    let is_empty = |node: crate::lang::yaml::NodeRef<'_>| {
        !node.is_unknown()
            && node.entries_at("/matchLabels").next().is_none()
            && node.items_at("/matchExpressions").next().is_none()
    };
    if !selector.is_none_or(is_empty) {
        return;
    }
    let Some(location) = place_in(view, if selector.is_some() { POINTER } else { "/spec" }) else { return };
    report
        .report(location, title(view.id, "it is called for Clusters of every namespace"))
        .why("without a namespaceSelector its hooks can hold or fail all Clusters of this management cluster")
        .help("select namespaces in spec.namespaceSelector, unless all are meant")
        .object(view.id)
        .field(POINTER, "");
}
