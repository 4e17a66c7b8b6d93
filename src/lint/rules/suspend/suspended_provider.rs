//! `suspended-provider`: a suspended Provider: notifications are silently off.
//! Source: notification-controller `internal/server/event_handlers.go`.

use super::suspended_objects;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::NOTIFICATION;

pub(crate) static RULE: Rule = Rule {
    id: "suspended-provider",
    group: Group::Suspend,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a suspended Provider: notifications are silently off",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspended-provider.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, suspension) in suspended_objects(view) {
        if !object.id.is(NOTIFICATION, "Provider") || suspension.suspended != Some(true) {
            continue;
        }
        let Some(location) = suspension.location() else { continue };
        report
            .report(location, format!("{}: suspended, notifications are off", object.id))
            .why("what its alerts send is dropped without a trace")
            .help("remove `suspend: true`, or the Provider if it is not wanted")
            .object(&object.id)
            .field("/spec/suspend", "true");
    }
}
