//! What may change though its values are not known here: a Secret or ConfigMap that
//! Kustomizations substitute from has another content, which only the cluster reads.

use super::{Effect, Pair, Placed, Side, fields::compare};
use crate::lang::yaml::{Location, NodeRef};
use crate::model::references::{Role, references};
use crate::model::{EffectKind, Name, ObjectId};
use crate::world::ApplyTarget;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Kind, namespace and name of what variables come from.
type VariableSource<'n> = (&'n str, Option<&'n str>, &'n str);

/// One effect for each Kustomization that substitutes from such a source.
pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let Some(head) = pair.head.filter(|_| pair.base.is_some()) else { return Vec::new() };
    let mut changed: BTreeMap<VariableSource<'_>, (&ObjectId, Option<Location>)> = BTreeMap::new();
    for (key, before, after) in pair.kept() {
        let (target, Name { group, kind, namespace, name }) = *key;
        if !group.is_empty() || !matches!(kind, "Secret" | "ConfigMap") || *target != ApplyTarget::Local {
            continue;
        }
        if let Some(place) = hidden_change(before, after) {
            changed.insert((kind, namespace, name), (&after.object.id, place));
        }
    }
    if changed.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for applied in &head.applied {
        for reference in references(&applied.id, applied.node.get_ref()) {
            let Some(name) = reference.name.as_deref().filter(|_| reference.role == Role::Variables) else {
                continue;
            };
            let key = (&*reference.kind, applied.id.namespace.as_deref(), name);
            let Some((source, place)) = changed.get(&key) else { continue };
            let objects: Vec<String> = pair
                .after
                .values()
                .filter(|placed| placed.kustomization.is_some_and(|by| by.id == applied.id))
                .filter(|placed| has_unknown(placed.object.node.get_ref(), 0))
                .map(|placed| placed.object.id.to_string())
                .collect();
            if objects.is_empty() {
                continue;
            }
            let mut effect = Effect::new(pair, EffectKind::MayChange, &applied.id);
            effect.field.clone_from(&reference.pointer);
            effect.reason = format!("{source} changed, and its values are not known here");
            let (count, first) = (objects.len(), objects.iter().take(6).cloned().collect::<Vec<_>>());
            let more = if count > 6 { format!(", and {} more", count - 6) } else { String::new() };
            effect.consequences.push(format!("may change: {}{more}", first.join(", ")));
            effect.details.insert("objects".to_owned(), json!(objects));
            out.push(effect.at(Side::Head, place.clone()));
        }
    }
    out
}

/// Where a value that only the cluster can read has another text.
fn hidden_change(before: &Placed<'_>, after: &Placed<'_>) -> Option<Option<Location>> {
    if std::ptr::eq(before.object, after.object) {
        return None;
    }
    let changes = compare(before.object.node.get_ref(), after.object.node.get_ref());
    let encrypted = |value: &Value| value.as_str().is_some_and(|text| text.starts_with("ENC["));
    changes.into_iter().find_map(|change| {
        let data = change.path.starts_with("/data") || change.path.starts_with("/stringData");
        (data && (encrypted(&change.after) || encrypted(&change.before))).then_some(change.head)
    })
}

/// Whether any value of a node is not known.
fn has_unknown(node: NodeRef<'_>, depth: u32) -> bool {
    if node.is_unknown() || node.holes().is_some() {
        return true;
    }
    depth < 64
        && (node.is_map() && node.entries().any(|entry| has_unknown(entry.value, depth + 1))
            || node.is_seq() && node.items().any(|item| has_unknown(item, depth + 1)))
}
