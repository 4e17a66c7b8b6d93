//! `rejected-by-rule`: a validation rule of the kind that is false.
//! Source: apiextensions-apiserver `pkg/apiserver/schema/cel` (`x-kubernetes-validations`).

use super::{faults, level, place, refusal, title};
use crate::lang::yaml::Location;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::Unchecked;
use crate::schema::Fault;

pub(crate) static RULE: Rule = Rule {
    id: "rejected-by-rule",
    group: Group::Schema,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a validation rule of the kind that does not hold",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/schema/rejected-by-rule.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let verdict = view.verdict();
    for rule in &verdict.unknown_rules {
        let what = format!("{}: {rule}", view.id);
        report.not_checked(Unchecked::ValidationRule, view.node.location(), what);
    }
    for fault in faults(view, verdict) {
        let Fault::Rejected { rule } = &fault.violation.fault else { continue };
        let pointer = &fault.violation.pointer;
        let place = key_place(view, pointer).or_else(|| place(view, fault.violation.node, pointer));
        let Some(location) = place else { continue };
        let words = match pointer.as_str() {
            "" => format!("{}: it breaks a rule of its kind", view.id),
            pointer => title(view.id, "", pointer, " breaks a rule of its kind"),
        };
        let finding = report
            .report(location, words)
            .level(level(fault))
            .why(format!("{}: `{rule}` is false", refusal(view, fault)))
            .help(help(rule))
            .object(view.id)
            .field(pointer.as_str(), rule.as_str());
        finding.clusters.clone_from(&fault.clusters);
    }
}

/// The key of a field: the rule is about all of its value.
fn key_place(view: &ObjectView<'_>, pointer: &str) -> Option<Location> {
    let (parent, name) = pointer.rsplit_once('/')?;
    view.node.entries_at(parent).find(|entry| entry.key == name)?.key_location()
}

/// The commonest rules in words.
fn help(rule: &str) -> String {
    match rule {
        "(has(self.chart) && !has(self.chartRef)) || (!has(self.chart) && has(self.chartRef))" => {
            "give it either `chart` or `chartRef`".to_owned()
        }
        _ => "change the fields that the rule names (`self` is this field)".to_owned(),
    }
}
