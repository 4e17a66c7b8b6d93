//! Objects suspended and resumed.

use super::{Effect, Pair, Side};
use crate::lang::yaml::NodeRef;
use crate::model::{EffectKind, ObjectId, Severity, kinds};
use crate::simulate::suspend::{consequences, suspension};
use crate::world::{Applied, ApplyTarget};
use rustc_hash::FxHashMap;
use serde_json::json;
use std::cell::LazyCell;

pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let (Some(base_cluster), Some(relations)) = (pair.base, &pair.relations) else {
        return Vec::new();
    };
    let moving = LazyCell::new(|| moving_away(pair));
    let moves_away = |id: &ObjectId| match kinds::is_kustomization(id) {
        true => moving.get(&(&*id.name, id.namespace.as_deref())).copied().unwrap_or_default(),
        false => 0,
    };
    let mut out = Vec::new();
    for (_, before, after) in pair.kept().filter(|(key, ..)| *key.0 == ApplyTarget::Local) {
        let (old_node, new_node) = (before.object.node.get_ref(), after.object.node.get_ref());
        let id = &after.object.id;
        let (Some(old), Some(new)) = (
            suspension(id, old_node, &base_cluster.settings),
            suspension(id, new_node, &relations.cluster.settings),
        ) else {
            continue;
        };
        let generation = old.field.is_some() != new.field.is_some();
        let field =
            if generation { "/spec/suspend" } else { "/metadata/annotations/reconcile.fluxcd.io~1suspended" };
        let mut effect = match (old.suspended, new.suspended) {
            (Some(false), Some(true)) => {
                let mut effect = Effect::new(pair, EffectKind::Suspended, id);
                effect.reason = match new.reason(&pair.head_world.snapshot) {
                    Some(reason) => format!("suspended: {reason}"),
                    None => "suspended".to_owned(),
                };
                effect.consequences = consequences(relations, (id, new_node), &new);
                add_moving_while_suspended(&mut effect, moves_away(id));
                effect
            }
            (Some(true), Some(false)) => {
                let written = new_node.at("/spec/suspend").and_then(NodeRef::as_bool) == Some(false);
                resumed(pair, id, old.field.is_some() && !written)
            }
            _ if new.annotation.is_some() && old.annotation.is_none() && new.suspended == Some(false) => {
                let mut effect = Effect::new(pair, EffectKind::AnnotatedOnly, id);
                effect.reason = "annotated as suspended, which these controllers ignore".to_owned();
                effect.consequences = consequences(relations, (id, new_node), &new);
                if new_node.at("/spec/prune").and_then(NodeRef::as_bool) == Some(true) {
                    add_moving_while_annotated(&mut effect, moves_away(id));
                }
                effect
            }
            _ => continue,
        };
        effect.field = field.to_owned();
        effect.before = super::json_of(old_node.at(field));
        effect.after = super::json_of(new_node.at(field));
        effect.details.insert("generationChanges".to_owned(), json!(generation));
        let place = match new.location() {
            Some(location) => (Side::Head, Some(location)),
            None => (Side::Base, old.location()),
        };
        out.push(effect.at(place.0, place.1));
    }
    out
}

fn add_moving_while_suspended(effect: &mut Effect, moving: usize) {
    if moving == 0 {
        return;
    }
    effect.severity = Severity::Disruptive;
    effect.consequences.push(format!(
        "{moving} of its objects move elsewhere in the same change: with controllers that do not honour the \
         suspension, prune deletes them"
    ));
    effect.details.insert("movingObjects".to_owned(), json!(moving));
}

fn add_moving_while_annotated(effect: &mut Effect, moving: usize) {
    if moving == 0 {
        return;
    }
    effect.severity = Severity::Disruptive;
    effect
        .consequences
        .push(format!("{moving} of its objects move elsewhere and are pruned: not suspended at all"));
}

fn resumed(pair: &Pair<'_>, id: &ObjectId, by_omission: bool) -> Effect {
    let name = if by_omission { EffectKind::ResumedByOmission } else { EffectKind::Resumed };
    let mut effect = Effect::new(pair, name, id);
    effect.reason = "resumed".to_owned();
    if by_omission {
        effect.consequences.push(
            "resumed, unless it was also suspended by hand: a field that another client set stays".to_owned(),
        );
    }
    effect.consequences.push("it applies everything that changed meanwhile".to_owned());
    effect
}

/// How many of the objects that each Kustomization applied before something else, or
/// nothing, applies after.
fn moving_away<'p>(pair: &'p Pair<'_>) -> FxHashMap<(&'p str, Option<&'p str>), usize> {
    let named = |by: &'p Applied| (&*by.id.name, by.id.namespace.as_deref());
    let mut found = FxHashMap::default();
    for (key, before) in &pair.before {
        let Some(by) = before.kustomization else { continue };
        let is_own = kinds::is_kustomization(&before.object.id)
            && (&*before.object.id.name, before.object.id.namespace.as_deref()) == named(by);
        let after = pair.after.get(key).and_then(|after| after.kustomization);
        if !is_own && after.is_none_or(|after| named(after) != named(by)) {
            *found.entry(named(by)).or_default() += 1;
        }
    }
    found
}
