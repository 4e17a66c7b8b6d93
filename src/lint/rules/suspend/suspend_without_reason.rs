//! `suspend-without-reason`: a suspension that says no reason.
//! Source: flux2 PRs on `--reason`: who resumes must know why it was suspended.

use super::suspended_objects;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "suspend-without-reason",
    group: Group::Suspend,
    level: Level::Warning,
    default: false,
    since: "0.1.0",
    summary: "a suspension that says no reason",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspend-without-reason.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, suspension) in suspended_objects(view) {
        if suspension.suspended != Some(true) || suspension.reason(view.beyond().snapshot).is_some() {
            continue;
        }
        let Some(location) = suspension.location() else { continue };
        report
            .report(location, format!("{}: suspended without a reason", object.id))
            .why("whoever finds it later can't tell whether it may be resumed")
            .help("add a comment on the line: `suspend: true # INC-4711, ask sre`")
            .object(&object.id)
            .field("/spec/suspend", "true");
    }
}
