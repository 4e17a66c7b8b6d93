//! `unknown-topology-class`: a topology entry names a worker class that its
//! ClusterClass does not have.
//! Source: cluster-api `internal/topology/check/compatibility.go`
//! (`MachineDeploymentTopologiesAreValidAndDefinedInClusterClass`).

use super::{help, known, place, scopes, title};
use crate::lang::text::suggest;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::simulate::cluster_api::topology::Cluster;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-topology-class",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a topology entry names a worker class that does not exist",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/unknown-topology-class.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        for cluster in Cluster::all(&scope.objects) {
            let Some(class) = cluster.class(&scope.objects) else { continue };
            for entry in cluster.all_workers() {
                let Some(name) = known(entry.class.clone()) else { continue };
                let classes: Vec<Option<String>> =
                    class.workers(entry.kind).into_iter().map(|w| w.class).collect();
                if classes.iter().any(|c| known(c.clone()).is_none_or(|c| c == name)) {
                    continue;
                }
                let pointer = format!("{}/class", entry.pointer);
                let Some(location) = place(cluster.object, &pointer) else { continue };
                let near = suggest(&name, classes.iter().flatten().map(String::as_str));
                let known_classes: Vec<&str> = classes.iter().flatten().map(String::as_str).collect();
                let list = match known_classes.len() {
                    0 => format!("the class has no {}", entry.kind.list()),
                    _ => format!("use one of {}", known_classes.join(", ")),
                };
                let finding =
                    report.report(location, title(cluster.object.id, "its worker class does not exist"));
                finding
                    .why("Cluster API's webhook rejects the Cluster")
                    .label(format!("no such class in {}", entry.kind.list()))
                    .help(help(near, list))
                    .object(cluster.object.id)
                    .field(pointer, name);
                if let Some(at) = place(class.object, "/spec/workers") {
                    finding.related(class.object.id.to_string(), at);
                }
            }
        }
    }
}
