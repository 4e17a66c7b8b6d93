//! `suspend-disagreement`: two places say the opposite about suspension.
//! Source: the proposal of an alternative suspend control (a logical OR); flux-operator
//! `internal/web/resource_action.go` (`suspendedBy`).

use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::simulate::suspend::SUSPENDED_BY;

pub(crate) static RULE: Rule = Rule {
    id: "suspend-disagreement",
    group: Group::Suspend,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "two places say the opposite about suspension",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspend-disagreement.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, suspension) in view.suspendable() {
        let node = object.node.get_ref();
        let written = node.at("/spec/suspend").filter(|node| node.as_bool() == Some(false));
        if let (Some(entry), Some(written)) = (&suspension.annotation, written) {
            let Some(location) = written.location() else { continue };
            let why = match suspension.honoured {
                Some(true) => "the annotation wins: it is suspended although the field says no",
                Some(false) => "the field wins: released controllers do not read the annotation",
                None => "whether it is suspended depends on whether the controllers read the annotation",
            };
            let finding =
                report.report(location, format!("{}: annotated as suspended, `suspend: false`", object.id));
            finding.why(why).help("keep one of the two").object(&object.id).field("/spec/suspend", "false");
            if let Some(place) = entry.key_location() {
                finding.related("annotated as suspended", place);
            }
            continue;
        }
        let stale = node
            .at("/metadata/annotations")
            .and_then(|map| map.entry(SUSPENDED_BY))
            .filter(|_| suspension.suspended == Some(false) && suspension.annotation.is_none());
        if let Some(entry) = stale {
            let Some(location) = entry.key_location() else { continue };
            report
                .report(location, format!("{}: suspendedBy names somebody, nothing is suspended", object.id))
                .why("the annotation is only information; the object is reconciled")
                .help("remove the annotation")
                .object(&object.id)
                .field(
                    "/metadata/annotations/fluxcd.controlplane.io~1suspendedBy",
                    entry.value.text().unwrap_or_default(),
                );
        }
    }
}
