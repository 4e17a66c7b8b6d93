//! `suspended-source`: a suspended source that something still uses.
//! Source: source-controller (the artifact stays served); kustomize-controller `getSource`,
//! helm-controller `isReady`; `migrationToStatic` of HelmRepositories.

use super::suspended_objects;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::SOURCE;
use crate::simulate::relations::Relations;
use crate::simulate::suspend::is_static_repository;

pub(crate) static RULE: Rule = Rule {
    id: "suspended-source",
    group: Group::Suspend,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a suspended source that something still uses",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspended-source.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let relations = Relations::new(view.world(), view.cluster);
    for (object, suspension) in suspended_objects(view) {
        if object.id.group() != SOURCE || suspension.suspended != Some(true) {
            continue;
        }
        let consumers = relations.consumers(&object.id);
        let Some(location) = suspension.location().filter(|_| !consumers.is_empty()) else { continue };
        if is_static_repository(&object.id, object.node.get_ref(), &view.cluster.settings) {
            report
                .report(location, format!("{}: `suspend` does nothing here", object.id))
                .why(
                    "of type oci it is static: nothing reconciles it, and its charts are pulled all the same",
                )
                .help("suspend the HelmReleases that use it, or remove the line")
                .object(&object.id)
                .field("/spec/suspend", "true");
            continue;
        }
        let finding = report.report(location, format!("{}: suspended, but still used", object.id));
        finding
            .why(format!(
                "{} reconciling its last artifact: drift is corrected, new revisions never arrive",
                match consumers.len() {
                    1 => "1 consumer keeps".to_owned(),
                    count => format!("{count} consumers keep"),
                }
            ))
            .help("suspend the consumers to stop them, or resume the source")
            .object(&object.id)
            .field("/spec/suspend", "true");
        for consumer in consumers.iter().take(3) {
            if let Some(place) = consumer.node.get_ref().location_at("/metadata/name") {
                finding.related(format!("used by {}", consumer.id), place);
            }
        }
    }
}
