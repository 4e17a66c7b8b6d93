//! Machines and lifecycle hooks: Cluster API's effects in the plan's words.

use super::{Effect, FieldChange, Pair, Side};
use crate::lang::yaml::{Via, ViaKind, pointer_join};
use crate::model::{Category, ObjectId, Severity};
use crate::simulate::cluster_api::hooks::mutation::Responses;
use crate::simulate::cluster_api::machines::effects as changes;
use crate::simulate::cluster_api::rollout::template::differences;
use crate::world::ApplyTarget;
use serde_json::Value;
use std::collections::BTreeMap;

/// Among the details of an effect: what an extension answers is what changed.
pub(super) const ANSWER: &str = "answer";

pub(super) fn effects(pair: &Pair<'_>, responses: &Responses) -> Vec<Effect> {
    let found = changes(pair.base_world, pair.base, pair.head_world, pair.head, responses);
    found
        .into_iter()
        // A Cluster that only is no longer looked after calls no hook.
        .filter(|change| {
            let gone = change.effect.effect.category() == Category::Hook && change.head.is_none();
            !gone || super::fate::deletes(pair, &change.target, &change.object)
        })
        .map(|change| {
            // What is lost until an upgrade is over is a disruption.
            let lost = change.effect.details.get("capacityLost").and_then(serde_json::Value::as_bool);
            let mut effect = Effect::new(pair, change.effect.effect, &change.object);
            let gone = change.effect.details.get("deleted").and_then(serde_json::Value::as_bool);
            if lost == Some(true) || gone == Some(true) {
                effect.severity = Severity::Disruptive;
            }
            effect.target = change.target;
            effect.field = change.effect.field;
            effect.before = change.effect.before;
            effect.after = change.effect.after;
            effect.reason = change.effect.reason;
            effect.consequences = change.effect.consequences;
            effect.details = change.effect.details;
            let (side, mut location) = match (change.head, change.base) {
                (Some(head), _) => (Side::Head, Some(head)),
                (None, Some(base)) => (Side::Base, Some(base)),
                // Only an answer is another: no line is the cause.
                (None, None) => {
                    effect.details.insert(ANSWER.to_owned(), Value::from("stated"));
                    (Side::Head, change.via.clone())
                }
            };
            // A patch that changed itself is the cause, and told once.
            if let (Some(place), Some(patch)) = (&mut location, change.via)
                && side == Side::Head
                && (&place.file, place.start) != (&patch.file, patch.start)
            {
                place.via.push(Via { kind: ViaKind::Resource, location: patch });
            }
            effect.at(side, location)
        })
        .collect()
}

/// Fields by object that effects on Machines tell, as JSON Pointers.
#[derive(Default)]
pub(super) struct MachineFields<'e>(BTreeMap<(&'e ApplyTarget, &'e ObjectId), Vec<&'e str>>);

impl<'e> MachineFields<'e> {
    pub(super) fn by(effects: &'e [Effect]) -> MachineFields<'e> {
        let mut told = MachineFields::default();
        for effect in effects.iter().filter(|effect| effect.category() == Category::Machines) {
            let fields = told.0.entry((&effect.target, &effect.object)).or_default();
            fields.push(&effect.field);
            let listed = effect.details.get("fields").and_then(Value::as_array).into_iter().flatten();
            fields.extend(listed.filter_map(Value::as_str));
        }
        told
    }

    /// Whether everything that a change of a field changes is told already.
    pub(super) fn covers(&self, target: &ApplyTarget, id: &ObjectId, change: &FieldChange) -> bool {
        let Some(told) = self.0.get(&(target, id)) else { return false };
        differences(&change.before, &change.after).iter().all(|path| {
            let leaf = path.iter().fold(change.path.clone(), |path, segment| pointer_join(&path, segment));
            told.iter().any(|field| {
                leaf.strip_prefix(field).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        })
    }
}
