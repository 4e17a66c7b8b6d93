//! `missing-field`: a field that has to be there.
//! Source: kube-openapi `pkg/validation/validate` (`required`), after defaulting
//! (apiextensions-apiserver `pkg/apiserver/schema/defaulting`).

use super::{faults, level, refusal, title};
use crate::lang::text::nearest;
use crate::lint::validity::Judged;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::schema::{Fault, Schema};

pub(crate) static RULE: Rule = Rule {
    id: "missing-field",
    group: Group::Schema,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a required field that is not there",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/schema/missing-field.md"),
    check: Check::Object(check),
};

/// Fields that Kubernetes' descriptions call required and its API server fills, or
/// takes as empty. Source: kubernetes `pkg/apis/rbac/v1/defaults.go`,
/// `pkg/apis/*/validation`.
const OPTIONAL: &[&str] = &["apiGroup", "podSelector", "serviceName", "value", "lastTransitionTime"];

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let verdict = view.verdict();
    for fault in faults(view, verdict) {
        let Fault::MissingField { name, parent } = &fault.violation.fault else { continue };
        if fault.native && OPTIONAL.contains(&name.as_str()) || is_misspelled(fault, name, parent) {
            continue;
        }
        let pointer = &fault.violation.pointer;
        let Some(location) = view.node.location_at(pointer) else { continue };
        let finding = report
            .report(location, title(view.id, "", pointer, " is missing"))
            .level(level(fault))
            .why(refusal(view, fault))
            .help(format!("add `{name}`"))
            .object(view.id)
            .field(pointer.as_str(), "");
        finding.clusters.clone_from(&fault.clusters);
    }
}

/// Whether the field is there under a misspelled name, which `unknown-field` tells.
fn is_misspelled(fault: &Judged<'_>, name: &str, parent: &Schema) -> bool {
    fault.violation.node.entries().any(|entry| {
        parent.property(&entry.key).is_none() && nearest(&entry.key, parent.names()) == Some(name)
    })
}
