//! `duplicate-gate-reference`: one gate twice in `spec.gates[]`.
//! Source: the gating RFC; an object proceeds when all its gates are opened.

use super::is_refused;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::objects::is_gateable;

pub(crate) static RULE: Rule = Rule {
    id: "duplicate-gate-reference",
    group: Group::Gate,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "one gate twice in spec.gates",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/duplicate-gate-reference.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !is_gateable(view.id) || is_refused(view) {
        return;
    }
    let mut seen = Vec::new();
    for (index, item) in view.node.items_at("/spec/gates").enumerate() {
        let Some((name, location)) = item.str_at("/name").zip(item.location_at("/name")) else {
            continue;
        };
        // One of another namespace is another gate.
        let namespace = item.str_at("/namespace").filter(|own| Some(&**own) != view.id.namespace.as_deref());
        match seen.iter().find(|(known, other, _)| *known == name && *other == namespace) {
            Some((_, _, first)) => {
                let first: &crate::lang::yaml::Location = first;
                report
                    .report(location, format!("{}: gate {name} is named twice", view.id))
                    .why("the second entry changes nothing; another gate may have been meant")
                    .help("remove it, or name the gate that was meant")
                    .object(view.id)
                    .field(format!("/spec/gates/{index}/name"), name)
                    .related("first named here", first.clone());
            }
            None => seen.push((name, namespace, location)),
        }
    }
}
