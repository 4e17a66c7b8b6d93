//! `duplicate-list-item`: two items that the API server can't tell apart.
//! Source: structured-merge-diff `typed/validation.go` ("duplicate entries for
//! key"), apiextensions-apiserver `pkg/apiserver/schema/listtype`.

use super::{faults, level, place, refusal, title};
use crate::lint::metadata::clipped;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::schema::Fault;

pub(crate) static RULE: Rule = Rule {
    id: "duplicate-list-item",
    group: Group::Schema,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "two items of a list with the same key",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/schema/duplicate-list-item.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let verdict = view.verdict();
    for fault in faults(view, verdict) {
        let Fault::Duplicate { first, key } = &fault.violation.fault else { continue };
        let pointer = &fault.violation.pointer;
        let Some(location) = place(view, fault.violation.node, pointer) else { continue };
        let list = pointer.rsplit_once('/').map_or("", |(list, _)| list);
        let finding = report
            .report(location, title(view.id, "", list, &format!(" holds `{}` twice", clipped(key, 30))))
            .level(level(fault))
            .why(format!("items of this list are told apart by it: {}", refusal(view, fault)))
            .help("remove one of them, or give it another key")
            .object(view.id)
            .field(pointer.as_str(), key.as_str());
        finding.clusters.clone_from(&fault.clusters);
        if let Some(first) = first.location() {
            finding.related("the first one", first);
        }
    }
}
