//! What another version of a chart does with the values that a release gives it: those
//! that it reads no more, those that it asks for, those that it refuses.

use super::release_words::{NAMED, is_are};
use super::{Effect, Pair};
use crate::build::helm::{SchemaFault, SchemaFaultKind};
use crate::lang::text::{clean, counted, dotted};
use crate::lang::yaml::{Location, pointer_to};
use crate::sources::outcome::UnreadValue;
use crate::world::releases::Release;
use serde_json::{Value, json};

/// Adds it to the effect on the release, and to the line that sums it up.
pub(super) fn tell(
    pair: &Pair<'_>,
    before: &Release,
    after: &Release,
    host: &mut Effect,
    parts: &mut Vec<String>,
) {
    let mut details = serde_json::Map::new();
    tell_unread(pair, before, after, host, parts, &mut details);
    if before.refusal().is_none() {
        tell_faults(pair, after, host, &mut details);
    }
    if !details.is_empty() {
        host.details.insert("values".to_owned(), Value::Object(details));
    }
}

fn tell_unread(
    pair: &Pair<'_>,
    before: &Release,
    after: &Release,
    host: &mut Effect,
    parts: &mut Vec<String>,
    details: &mut serde_json::Map<String, Value>,
) {
    let (Some(old), Some(new)) = (&before.rendering, &after.rendering) else { return };
    let unread = new.unread_since(old);
    if unread.is_empty() {
        return;
    }
    parts.push(format!("{} {} read no more", counted(unread.len(), "value"), is_are(unread.len())));
    let told = unread.iter().take(NAMED).map(|(dead, meant)| {
        let now = match meant {
            Some(UnreadValue::Near(other) | UnreadValue::Elsewhere(other)) => {
                format!(", now `{}`", dotted(other))
            }
            None => String::new(),
        };
        let place = place(pair, after.value_place(&pointer_to(&dead.path)).map(|place| place.location));
        format!("`{}`{now}{place}", dotted(&dead.path))
    });
    host.consequences.push(format!(
        "read no more: {}{}",
        told.collect::<Vec<_>>().join("; "),
        more(unread.len())
    ));
    let list = unread.iter().map(|(dead, meant)| {
        let now = meant
            .as_ref()
            .map(|(UnreadValue::Near(other) | UnreadValue::Elsewhere(other))| pointer_to(other));
        json!({"path": pointer_to(&dead.path), "now": now})
    });
    details.insert("readNoMore".to_owned(), list.collect());
}

/// What the schemas of the new version ask for, and what they refuse.
fn tell_faults(
    pair: &Pair<'_>,
    after: &Release,
    host: &mut Effect,
    details: &mut serde_json::Map<String, Value>,
) {
    let faults: &[SchemaFault] = after.refusal().map_or(&[], |refusal| &refusal.faults);
    let missing: Vec<Vec<String>> = faults
        .iter()
        .flat_map(|fault| match &fault.kind {
            SchemaFaultKind::Missing(names) => {
                names.iter().map(|name| [&*fault.path, std::slice::from_ref(name)].concat()).collect()
            }
            SchemaFaultKind::Value | SchemaFaultKind::Additional => Vec::new(),
        })
        .collect();
    if !missing.is_empty() {
        let told: Vec<String> =
            missing.iter().take(NAMED).map(|path| format!("`{}`", dotted(path))).collect();
        host.consequences.push(format!("asked for now: {}{}", told.join(", "), more(missing.len())));
        details.insert("required".to_owned(), missing.iter().map(|path| pointer_to(path)).collect());
    }
    let refused: Vec<&SchemaFault> =
        faults.iter().filter(|fault| !matches!(fault.kind, SchemaFaultKind::Missing(_))).collect();
    if !refused.is_empty() {
        let told = refused.iter().take(NAMED).map(|fault| {
            let place = place(pair, after.value_place(&pointer_to(&fault.path)).map(|place| place.location));
            format!("`{}`{place}", dotted(&fault.path))
        });
        let told: Vec<String> = told.collect();
        host.consequences.push(format!("refused now: {}{}", told.join(", "), more(refused.len())));
        details.insert("refused".to_owned(), refused.iter().map(|fault| pointer_to(&fault.path)).collect());
    }
}

/// ` (apps/web.yaml:21)`
fn place(pair: &Pair<'_>, location: Option<Location>) -> String {
    location.map_or_else(String::new, |location| {
        let ((line, _), _) = pair.head_world.snapshot.positions(&location);
        format!(" ({}:{line})", clean(location.file.shown()))
    })
}

fn more(count: usize) -> String {
    match count.saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    }
}
