//! `suspended-dependency`: a dependency that is suspended.
//! Source: kustomize-controller and helm-controller `checkDependencies` (no suspend check;
//! the revision rule for one source).

use super::suspended_objects;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::simulate::relations::Relations;
use rustc_hash::FxHashSet;

pub(crate) static RULE: Rule = Rule {
    id: "suspended-dependency",
    group: Group::Suspend,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a dependency that is suspended",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspended-dependency.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let relations = Relations::new(view.world(), view.cluster);
    let suspended: FxHashSet<&ObjectId> = suspended_objects(view)
        .filter(|(_, suspension)| suspension.suspended == Some(true))
        .map(|(object, _)| &object.id)
        .collect();
    for (object, suspension) in suspended_objects(view) {
        if suspension.suspended != Some(true) || suspension.disabled.is_some() {
            continue;
        }
        for dependant in relations.dependants(&object.id) {
            // What is suspended itself waits for nothing.
            if suspended.contains(&dependant.object.id) {
                continue;
            }
            let Some(location) = dependant.location.clone() else { continue };
            let (level, why) = if dependant.same_source {
                (
                    Level::Warning,
                    "both have the same source: from its next revision on, this one waits until the \
                     dependency is resumed",
                )
            } else {
                (
                    Level::Info,
                    "it passes if the dependency was ready before its suspension, else it waits forever",
                )
            };
            let id = &dependant.object.id;
            let finding =
                report.report(location, format!("{id}: depends on {}, which is suspended", object.id.name));
            finding
                .level(level)
                .why(why)
                .help("suspend it too, or resume the dependency")
                .object(id)
                .field("/spec/dependsOn", &*object.id.name);
            if let Some(place) = suspension.location() {
                finding.related("suspended here", place);
            }
        }
    }
}
