//! The same in the values of a release, which charts hand on to Pods: only shapes that mean
//! nothing else.

use super::pods::{beyond, beyond_modes, escalation, is_octal};
use super::{Refusal, dotted, known};
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::lint::{Level, ObjectView, Reporter};

/// The only scalar that is looked at.
const MODE: &str = "defaultMode";

/// Levels of values that are looked at.
const DEPTH: usize = 40;

pub(super) fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(values) = view.node.at("/spec/values") else { return };
    let mut open = vec![("/spec/values".to_owned(), values, 0)];
    let mut refusals = Vec::new();
    while let Some((pointer, node, depth)) = open.pop() {
        if depth > DEPTH {
            continue;
        }
        if node.is_seq() {
            let items = node.items().enumerate();
            open.extend(items.map(|(index, item)| (format!("{pointer}/{index}"), item, depth + 1)));
            continue;
        }
        for entry in node.entries() {
            let is_inner = entry.value.is_map() || entry.value.is_seq();
            if !is_inner && entry.key != MODE {
                continue;
            }
            let inner = pointer_join(&pointer, &entry.key);
            shape(&entry.key, &inner, entry.value, &mut refusals);
            if is_inner {
                open.push((inner, entry.value, depth + 1));
            }
        }
    }
    for Refusal { pointer, node, what, help } in refusals {
        let Some(location) = node.location() else { continue };
        report
            .report(location, format!("{}: `{}` {what}", view.id, dotted(&pointer)))
            .level(Level::Warning)
            .why("the API server refuses Pods like this: where the chart hands it on, the release fails")
            .help(help)
            .object(view.id)
            .field(pointer.clone(), dotted(&pointer));
    }
}

fn shape<'a>(key: &str, pointer: &str, value: NodeRef<'a>, refusals: &mut Vec<Refusal<'a>>) {
    match key {
        "resources" => {
            for (name, asked, limit) in beyond(value) {
                let (Some(more), Some(less)) = (known(Some(asked)), known(Some(limit))) else { continue };
                let what = format!("is {more}, more than the limit, which is {less}");
                let pointer = pointer_join(&format!("{pointer}/requests"), &name);
                refusals.push(Refusal::new(pointer, asked, what, "raise the limit, or ask for less"));
            }
        }
        "securityContext" | "containerSecurityContext" => {
            if let Some((refused, beside)) = escalation(value) {
                let pointer = format!("{pointer}/allowPrivilegeEscalation");
                let help = format!("take out one of the two: {beside} needs the escalation");
                refusals.push(Refusal::new(pointer, refused, format!("is false beside {beside}"), help));
            }
        }
        MODE => {
            // Any number of a chart's own may be called so; one like an octal is meant as a mode.
            if let Some(mode) = value.as_int().filter(|mode| is_octal(*mode)) {
                let (what, help) = beyond_modes(mode);
                refusals.push(Refusal::new(pointer.to_owned(), value, what, help));
            }
        }
        _ => {}
    }
}
