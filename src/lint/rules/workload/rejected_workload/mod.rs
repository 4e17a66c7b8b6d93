//! `rejected-workload`: a workload that fits its schema and that the API server refuses.
//! Source: kubernetes `pkg/apis/apps/validation`, `batch`, `core`, `policy` and `autoscaling`.

mod controllers;
mod pods;
mod values;

use super::dotted;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::kinds;
use crate::model::workloads::pod_spec;

pub(crate) static RULE: Rule = Rule {
    id: "rejected-workload",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a workload that fits its schema and that the API server refuses",
    fix: FixAvailability::None,
    docs: include_str!("../../../../../tests/rules/workload/rejected-workload.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if kinds::is_helm_release(view.id) {
        return values::check(view, report);
    }
    let mut refusals = Vec::new();
    controllers::check(view, &mut refusals);
    let of_controller = refusals.len();
    if let Some((prefix, spec)) = pod_spec(view.id, view.node) {
        pods::check(prefix, spec, view.is_built(), &mut refusals);
    }
    let (level, would) = match view.is_built() {
        true => (Level::Error, "refuses"),
        false => (Level::Warning, "would refuse"),
    };
    for (index, refusal) in refusals.into_iter().enumerate() {
        let why = match index < of_controller {
            true => format!("the API server {would} the object"),
            false => super::refusal_of_pods(view.id, would),
        };
        let Some(location) = refusal.node.location() else { continue };
        report
            .report(location, format!("{}: `{}` {}", view.id, dotted(&refusal.pointer), refusal.what))
            .level(level)
            .why(why)
            .help(refusal.help)
            .object(view.id)
            .field(refusal.pointer.clone(), dotted(&refusal.pointer));
    }
}

/// A value that is refused.
struct Refusal<'a> {
    pointer: String,
    node: NodeRef<'a>,
    /// What is wrong, behind the field.
    what: String,
    help: String,
}

impl<'a> Refusal<'a> {
    fn new(pointer: String, node: NodeRef<'a>, what: impl Into<String>, help: impl Into<String>) -> Self {
        Refusal { pointer, node, what: what.into(), help: help.into() }
    }
}

/// A text that is known.
fn known(node: Option<NodeRef<'_>>) -> Option<std::borrow::Cow<'_, str>> {
    node.and_then(super::text)
}

/// The keys of a map that hold something.
fn filled<'a>(map: NodeRef<'a>) -> impl Iterator<Item = (String, NodeRef<'a>)> {
    map.entries().filter(|entry| !entry.value.is_null()).map(|entry| (entry.key.into_owned(), entry.value))
}
