//! `suspend-annotation-value`: a suspend annotation whose value reads as not suspended.
//! Source: the proposal of an alternative suspend control: presence decides, with any value.

use super::suspended_objects;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "suspend-annotation-value",
    group: Group::Suspend,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a suspend annotation whose value reads as not suspended",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspend-annotation-value.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, suspension) in suspended_objects(view) {
        let Some(entry) = suspension.annotation.as_ref().filter(|_| suspension.honoured == Some(true)) else {
            continue;
        };
        let Some(text) = entry.value.text() else { continue };
        if !matches!(&*text.to_ascii_lowercase(), "" | "false" | "no" | "off" | "disabled") {
            continue;
        }
        let Some(location) = entry.value.location().or_else(|| entry.key_location()) else { continue };
        report
            .report(location, format!("{}: `{text}` suspends it all the same", object.id))
            .why("the annotation suspends by its presence, whatever its value")
            .help("remove the annotation, or write the reason of the suspension as its value")
            .object(&object.id)
            .field("/metadata/annotations/reconcile.fluxcd.io~1suspended", &*text);
    }
}
