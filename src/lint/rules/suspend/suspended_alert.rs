//! `suspended-alert`: a suspended Alert: notifications are silently off.
//! Source: notification-controller `internal/server/event_handlers.go`.

use super::suspended_objects;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::NOTIFICATION;

pub(crate) static RULE: Rule = Rule {
    id: "suspended-alert",
    group: Group::Suspend,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a suspended Alert: notifications are silently off",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspended-alert.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, suspension) in suspended_objects(view) {
        if !object.id.is(NOTIFICATION, "Alert") || suspension.suspended != Some(true) {
            continue;
        }
        let Some(location) = suspension.location() else { continue };
        report
            .report(location, format!("{}: suspended, notifications are off", object.id))
            .why("events that match it are dropped without a trace")
            .help("remove `suspend: true`, or the Alert if it is not wanted")
            .object(&object.id)
            .field("/spec/suspend", "true");
    }
}
