//! `malformed-gate-reference`: an entry of `spec.gates` that names no gate.
//! Source: the gating RFC, story 1, where `spec.gates[]` is a list of maps with a `name`.

use super::is_refused;
use crate::lang::yaml::{Location, NodeRef};
use crate::lint::metadata::has_hole;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::objects::is_gateable;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-gate-reference",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "an entry of spec.gates that names no gate",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/malformed-gate-reference.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let gates = view.node.at("/spec/gates").filter(|gates| !gates.is_null() && !gates.is_unknown());
    let Some(gates) = gates.filter(|_| is_gateable(view.id) && !is_refused(view)) else { return };
    if !gates.is_seq() {
        let help = match gates.is_map() {
            true => "write a list: `- name: …`".to_owned(),
            false => written_as(&gates.text().unwrap_or_default()),
        };
        let location = gates.location().or_else(|| view.node.location_at("/spec/gates"));
        tell(view, location, "", "is no list", help, report);
        return;
    }
    for (index, item) in gates.items().enumerate() {
        let at = format!("[{index}]");
        let location = || item.location().or_else(|| view.node.location_at("/spec/gates"));
        if item.is_unknown() {
            continue;
        }
        if !item.is_map() {
            let help = written_as(&item.text().unwrap_or_default());
            tell(view, location(), &at, "is no map with a name", help, report);
            continue;
        }
        match item.get("name").filter(|name| !name.is_null()) {
            None => tell(view, place_of(item).or_else(location), &at, "has no name", nearest(item), report),
            Some(name) if name.is_unknown() => {}
            Some(name) => match name.as_str() {
                Some(text) if text.is_empty() => {
                    let help = "name the gate".to_owned();
                    tell(view, name.location(), &at, "has an empty name", help, report);
                }
                Some(_) => {}
                None => {
                    let help = format!("quote it: `name: \"{}\"`", name.text().unwrap_or_default());
                    tell(view, name.location(), &at, "has a name that is no string", help, report);
                }
            },
        }
    }
}

/// The first key of a map: an entry has no place of its own in a flow list.
fn place_of(item: NodeRef<'_>) -> Option<Location> {
    item.entries().next()?.key_location()
}

/// How a bare name is written.
fn written_as(name: &str) -> String {
    match name.is_empty() || has_hole(name) {
        true => "write a list: `- name: …`".to_owned(),
        false => format!("write `- name: {name}`"),
    }
}

/// The key that was meant for `name`.
fn nearest(item: NodeRef<'_>) -> String {
    let near = item.entries().map(|entry| entry.key.into_owned()).find(|key| {
        let letters = |text: &str| {
            let mut letters: Vec<char> = text.to_ascii_lowercase().chars().collect();
            letters.sort_unstable();
            letters
        };
        letters(key) == letters("name") || crate::lang::text::edit_distance(key, "name", 1).is_some()
    });
    match near {
        Some(key) => format!("`{key}`: did you mean `name`?"),
        None => "give it the name of a gate: `name: …`".to_owned(),
    }
}

fn tell(
    view: &ObjectView<'_>,
    location: Option<Location>,
    at: &str,
    defect: &str,
    help: String,
    report: &mut Reporter<'_>,
) {
    let Some(location) = location else { return };
    let pointer = at.trim_matches(['[', ']']);
    let pointer =
        if pointer.is_empty() { "/spec/gates".to_owned() } else { format!("/spec/gates/{pointer}") };
    report
        .report(location, format!("{}: gates{at} {defect}", view.id))
        .why("each entry names one gate of the object's own namespace, and this one names none")
        .help(help)
        .object(view.id)
        .field(pointer, defect);
}
