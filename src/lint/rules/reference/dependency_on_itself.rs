//! `dependency-on-itself`: an object that waits for itself.
//! Source: kustomize-controller and helm-controller `checkDependencies`.

use super::dependency_cycle::{Victims, edges};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "dependency-on-itself",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "dependsOn names the object itself",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/dependency-on-itself.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let victims = Victims::default();
    for edge in edges(view) {
        let id = &edge.from.id;
        if edge.conditional || *edge.to.1 != *id.name || edge.to.0.as_deref() != id.namespace.as_deref() {
            continue;
        }
        let Some(location) = edge.location.clone() else { continue };
        report
            .report(location, format!("{id}: depends on itself"))
            .why(format!(
                "it is never ready before it is applied, and never applied{}",
                victims.of(view, edge.from)
            ))
            .help("remove the entry")
            .label("this is the object itself")
            .object(id)
            .field("/spec/dependsOn", edge.to.1);
    }
}
