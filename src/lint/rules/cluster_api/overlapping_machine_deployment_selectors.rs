//! `overlapping-machine-deployment-selectors`: two MachineDeployments of one
//! Cluster select each other's Machines.
//! Source: cluster-api issue 5957; `machinedeployment_controller.go`
//! (`getAndAdoptMachineSetsForDeployment`).

use std::collections::BTreeMap;

use super::{known, place, scopes, title};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::model::names::LabelSelector;
use crate::model::value::{has_unknown, to_json};
use crate::simulate::cluster_api::propagation::CLUSTER_NAME;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::text_at;

pub(crate) static RULE: Rule = Rule {
    id: "overlapping-machine-deployment-selectors",
    group: Group::ClusterApi,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "two MachineDeployments select each other's Machines",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/overlapping-machine-deployment-selectors.md"),
    check: Check::Cluster(check),
};

/// A MachineDeployment with a selector of its own.
struct Selecting<'a> {
    object: ScopedObject<'a>,
    cluster: String,
    selector: LabelSelector,
    labels: BTreeMap<String, String>,
}

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        let all: Vec<Selecting<'_>> =
            scope.objects.of_kind(CORE, "MachineDeployment").filter_map(read).collect();
        for (index, second) in all.iter().enumerate() {
            let overlaps = |first: &&Selecting<'_>| {
                first.cluster == second.cluster
                    && first.object.namespace() == second.object.namespace()
                    && first.object.name() != second.object.name()
                    && (first.selector.matches(&second.labels) || second.selector.matches(&first.labels))
            };
            let Some(first) = all[..index].iter().find(overlaps) else { continue };
            let Some(location) = place(second.object, "/spec/selector") else { continue };
            let id = second.object.id;
            let finding = report.report(location, title(id, "its selector overlaps another one's"));
            finding
                .why(
                    "after a restore or a move, when owners are lost, each may adopt the other's \
                     MachineSets and delete their Machines",
                )
                .help("remove the selector (a unique one is set then), or add a label that differs")
                .object(id)
                .field("/spec/selector", first.object.name().to_owned());
            if let Some(at) = place(first.object, "/spec/selector") {
                finding.related(first.object.id.to_string(), at);
            }
        }
    }
}

/// A MachineDeployment without a selector gets one that is its own.
fn read(object: ScopedObject<'_>) -> Option<Selecting<'_>> {
    let selector = to_json(object.node.at("/spec/selector")?);
    let cluster = known(text_at(object.node, &["/spec/clusterName"]))?;
    if has_unknown(&selector) {
        return None;
    }
    let selector: LabelSelector = serde_json::from_value(selector).ok()?;
    if selector.is_empty() {
        return None;
    }
    let mut labels = BTreeMap::from([(CLUSTER_NAME.to_owned(), cluster.clone())]);
    for entry in object.node.entries_at("/spec/template/metadata/labels") {
        labels.insert(entry.key.clone().into_owned(), known(entry.value.text().map(|t| t.into_owned()))?);
    }
    Some(Selecting { object, cluster, selector, labels })
}
