//! `cross-namespace-gate`: a reference to a gate of another namespace.
//! Source: the gating RFC, whose `spec.gates[]` holds names only.

use super::is_refused;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::objects::is_gateable;

pub(crate) static RULE: Rule = Rule {
    id: "cross-namespace-gate",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a reference to a gate of another namespace",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/cross-namespace-gate.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !is_gateable(view.id) || is_refused(view) {
        return;
    }
    for (index, item) in view.node.items_at("/spec/gates").enumerate() {
        let own = view.id.namespace.as_deref();
        let namespace = item.at("/namespace").filter(|value| !value.is_null());
        let name = item.at("/name");
        let (field, value, other) = match (namespace, name.and_then(NodeRef::as_str)) {
            (Some(namespace), _) => match namespace.as_str() {
                Some(text) if own.is_some() && Some(&*text) != own => ("namespace", namespace, text),
                _ => continue,
            },
            (None, Some(text)) => match (text.split_once('/'), name) {
                (Some(_), Some(name)) => ("name", name, text),
                _ => continue,
            },
            (None, None) => continue,
        };
        let Some(location) = value.location() else {
            continue;
        };
        report
            .report(location, format!("{}: gates[{index}] names another namespace", view.id))
            .why("a gate is looked up in the object's own namespace; this one counts as missing and blocks")
            .help(format!(
                "define the Gate in namespace {} and name it without a namespace",
                own.unwrap_or("of the object")
            ))
            .object(view.id)
            .field(format!("/spec/gates/{index}/{field}"), other);
    }
}
