//! `topology-rollout-drops-strategy`: a topology entry with any `rollout` drops
//! the rollout strategy of its class.
//! Source: cluster-api `exp/topology/desiredstate/desired_state.go`
//! (`computeMachineDeployment`).

use super::{place, scopes, title};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::topology::Cluster;

pub(crate) static RULE: Rule = Rule {
    id: "topology-rollout-drops-strategy",
    group: Group::ClusterApi,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a topology entry that drops its class's rollout strategy",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/topology-rollout-drops-strategy.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        for cluster in Cluster::all(&scope.objects) {
            let Some(class) = cluster.class(&scope.objects) else { continue };
            for entry in cluster.workers(WorkerKind::MachineDeployment) {
                let Some(rollout) = entry.node.at("/rollout").filter(|r| r.is_map()) else { continue };
                let states_strategy =
                    rollout.at("/strategy").is_some() || entry.node.at("/strategy").is_some();
                if states_strategy || rollout.entries().next().is_none() {
                    continue;
                }
                let worker = entry.class.as_deref().and_then(|name| class.worker(entry.kind, name));
                let strategy = worker.as_ref().and_then(|w| {
                    ["/rollout/strategy", "/strategy"]
                        .iter()
                        .find_map(|p| w.node.at(p))
                        .filter(|s| s.is_map())
                });
                let Some(strategy) = strategy else { continue };
                let pointer = format!("{}/rollout", entry.pointer);
                let Some(location) = place(cluster.object, &pointer) else { continue };
                let id = cluster.object.id;
                let finding = report.report(location, title(id, "`rollout` drops the class's strategy"));
                finding
                    .why(
                        "`rollout` is taken whole from the entry or from the class: without a strategy \
                         here, RollingUpdate with maxSurge 1 and maxUnavailable 0 applies",
                    )
                    .help("repeat the strategy of the class in this entry")
                    .object(id)
                    .field(pointer, "rollout");
                if let Some(at) = strategy.location() {
                    finding.related("the class's strategy", at);
                }
            }
        }
    }
}
