//! One control plane or worker whose Machines a change concerns, and what is said of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::in_place::{self, InPlaceVerdict};
use super::{Comparison, MachineChange};
use crate::lang::yaml::{Location, pointer_join, pointer_to};
use crate::model::value::{has_unknown, unknown};
use crate::model::{EffectKind, ObjectId};
use crate::simulate::cluster_api::hooks::mutation::{MutationHook, Update};
use crate::simulate::cluster_api::propagation::{KeySource, Keys, Metadata, MetadataEntry};
use crate::simulate::cluster_api::rollout::field::Judgement;
use crate::simulate::cluster_api::rollout::{RolloutEffect, field, kubeadm_config, template};
use crate::simulate::cluster_api::topology::fields;
use crate::simulate::cluster_api::topology::fields::{Fields, HEALTH_CHECK, TopologyField};
use crate::world::ApplyTarget;

/// Collects the effects of one control plane or worker, whose causes of
/// replacement are one effect: its Machines are replaced once.
pub(super) struct ReplacementPart<'p> {
    pub(super) object: ObjectId,
    pub(super) applied_to: ApplyTarget,
    pub(super) target: String,
    /// The part inside its object: the entry's JSON Pointer, and that with its
    /// name for its index.
    pub(super) entry: Option<(String, String)>,
    pub(super) machines: Option<i64>,
    /// Who is asked whether Machines can be changed in place, and what comes of it.
    pub(super) in_place: (Option<MutationHook>, InPlaceVerdict),
    /// How Machines are replaced: `rollout.strategy`.
    pub(super) strategy: Option<Value>,
    /// Why everything but replacement waits.
    pub(super) held: Option<String>,
    /// Why everything waits.
    pub(super) paused: Option<String>,
    /// Why replacement waits.
    pub(super) rollout_waits: Option<String>,
    /// Whether Machines are replaced as somebody deletes them (strategy OnDelete).
    pub(super) on_delete: bool,
    /// Said with everything that does not wait.
    pub(super) note: Option<String>,
    /// The first change that needs other Machines, without what comes of it.
    pub(super) rollout: Option<(MachineChange, String)>,
    pub(super) rolled: Vec<String>,
    /// The template and the patch behind what is pushed next.
    pub(super) origin: Option<EffectOrigin>,
    /// Those behind the rollout.
    pub(super) origins: Vec<EffectOrigin>,
    pub(super) changes: &'p mut Vec<MachineChange>,
}

impl<'p> ReplacementPart<'p> {
    pub(super) fn new(
        comparison: &Comparison<'_, '_>,
        object: &ObjectId,
        target: &str,
        machines: Option<i64>,
        changes: &'p mut Vec<MachineChange>,
    ) -> Self {
        ReplacementPart {
            object: object.clone(),
            applied_to: comparison.after.target.clone(),
            target: target.to_owned(),
            entry: None,
            machines,
            in_place: (
                None,
                if comparison.conditions.in_place.is_on {
                    InPlaceVerdict::Maybe
                } else {
                    InPlaceVerdict::No(None)
                },
            ),
            strategy: None,
            held: None,
            paused: None,
            rollout_waits: None,
            on_delete: false,
            note: None,
            rollout: None,
            rolled: Vec::new(),
            origin: None,
            origins: Vec::new(),
            changes,
        }
    }

    /// Asks whether Machines can be changed in place.
    pub(super) fn ask(&mut self, comparison: &Comparison<'_, '_>, hook: MutationHook) {
        let namespace = self.object.namespace.as_deref().unwrap_or("default");
        self.in_place = (Some(hook), comparison.verdict(hook, namespace));
    }

    pub(super) fn fields(
        &mut self,
        before: &Fields,
        after: &Fields,
        judge: impl Fn(&str, &Value, &Value) -> Judgement,
    ) {
        let names: BTreeMap<&str, ()> = before.keys().chain(after.keys()).map(|name| (*name, ())).collect();
        for name in names.into_keys() {
            let (old, new) = (before.get(name), after.get(name));
            let value = |field: Option<&TopologyField>| field.map(|f| f.value.clone()).unwrap_or_default();
            let (before, after) = (value(old), value(new));
            if before == after {
                continue;
            }
            let mut judgement = judge(name, &before, &after);
            if has_unknown(&before) || has_unknown(&after) {
                judgement = (EffectKind::Unknown, "its value is not known offline");
            }
            if name == HEALTH_CHECK {
                judgement.1 = "the MachineHealthCheck is changed; no Machine is touched";
            }
            let pointer = new.or(old).map(|f| f.pointer.clone()).unwrap_or_default();
            let place = |field: Option<&TopologyField>| field.and_then(|f| f.location.clone());
            let waits = name != HEALTH_CHECK;
            let written =
                |field: Option<&TopologyField>| field.map(|f| f.written.clone()).unwrap_or_default();
            self.push(judgement, pointer, (written(old), written(new)), (place(old), place(new)), waits);
        }
    }

    /// `kubeadmConfigSpec` on both sides; `migrated`: in two API versions.
    pub(super) fn kubeadm(
        &mut self,
        (mut before, mut after): (Value, Value),
        migrated: bool,
        version: &str,
        pointer: &str,
        places: (Option<Location>, Option<Location>),
    ) {
        if migrated {
            (before, after) = (kubeadm_config::converted(&before), kubeadm_config::converted(&after));
        }
        let (before, after) = (&before, &after);
        let Some((mut judgement, paths)) = field::kubeadm_config_spec(before, after, version) else { return };
        if migrated && !paths.iter().any(|path| is_on_both_sides(before, after, path)) {
            judgement = MIGRATED;
        }
        let mut pointers = paths.iter().map(|path| pointer_to(path));
        let first = pointers.next().unwrap_or_default();
        let rest: Vec<String> = pointers.map(|path| format!("{pointer}{path}")).collect();
        let at = |spec: &Value| spec.pointer(&first).cloned().unwrap_or_default();
        let count = self.changes.len();
        self.push(judgement, format!("{pointer}{first}"), (at(before), at(after)), places, true);
        if rest.is_empty() {
            return;
        }
        match self.changes.get_mut(count) {
            Some(change) => {
                let all: Vec<&String> = std::iter::once(&change.effect.field).chain(&rest).collect();
                change.effect.details.insert("fields".to_owned(), json!(all));
            }
            // One of the causes of the replacement.
            None => self.rolled.extend(rest),
        }
    }

    pub(super) fn metadata(&mut self, before: &Metadata, after: &Metadata, judgement: Judgement) {
        self.keys("label", &before.labels, &after.labels, judgement);
        self.keys("annotation", &before.annotations, &after.annotations, judgement);
    }

    fn keys(&mut self, word: &str, before: &Keys, after: &Keys, judgement: Judgement) {
        let names: BTreeMap<&String, ()> = before.keys().chain(after.keys()).map(|name| (name, ())).collect();
        for key in names.into_keys() {
            let (old, new) = (before.get(key), after.get(key));
            if old.map(|e| &e.value) == new.map(|e| &e.value) {
                continue;
            }
            let Some((pointer, _)) = new.or(old).and_then(field_of) else { continue };
            let value = |entry: Option<&MetadataEntry>| match entry.map(|e| &e.value) {
                Some(None) => unknown("its value is not known offline"),
                Some(Some(text)) => json!(text),
                None => Value::Null,
            };
            let place = |entry: Option<&MetadataEntry>| entry.and_then(field_of).and_then(|(_, at)| at);
            let count = self.changes.len();
            self.push(
                judgement,
                pointer_join(&pointer, key),
                (value(old), value(new)),
                (place(old), place(new)),
                true,
            );
            if let Some(change) = self.changes.get_mut(count)
                && judgement.0 == EffectKind::PropagatedInPlace
            {
                change.effect.details.insert("key".to_owned(), json!(key));
                if new.is_none() {
                    let text = format!(
                        "the {word} is removed from existing Machines, unless something else applies it too"
                    );
                    change.effect.consequences.push(text);
                }
            }
        }
    }

    pub(super) fn push(
        &mut self,
        (effect, reason): Judgement,
        field: String,
        (before, after): (Value, Value),
        (base, head): (Option<Location>, Option<Location>),
        waits: bool,
    ) {
        let field = match &self.entry {
            Some((pointer, named)) => match field.strip_prefix(pointer.as_str()) {
                Some(rest) => format!("{named}{rest}"),
                None if field.starts_with("/spec/topology/") => field,
                None => format!("{named}{field}"),
            },
            None => field,
        };
        // What the object itself is need not be said again.
        let part =
            if self.target == *self.object.kind { String::new() } else { format!("{}, ", self.target) };
        let reason = if effect == EffectKind::Rollout && self.on_delete { fields::ON_DELETE } else { reason };
        let what = format!("{part}{}", phrase(&field, &before, &after));
        let reason = format!("{what}: {reason}");
        let origin = self.origin.take();
        let mut change = MachineChange {
            object: self.object.clone(),
            target: self.applied_to.clone(),
            effect: RolloutEffect {
                effect,
                field: field.clone(),
                before,
                after,
                reason: reason.clone(),
                consequences: Vec::new(),
                details: Map::from_iter([("target".to_owned(), json!(self.target))]),
            },
            base,
            head,
            via: None,
        };
        if effect == EffectKind::Rollout {
            self.rolled.push(field);
            self.origins.extend(origin.filter(|origin| !self.origins.contains(origin)));
            self.rollout.get_or_insert((change, what));
            return;
        }
        if let Some(origin) = origin {
            origin.tell(&mut change);
        }
        match self.paused.as_ref().or(self.held.as_ref().filter(|_| waits)) {
            Some(why) if effect != EffectKind::Rejected => {
                change.effect.details.insert("then".to_owned(), json!(effect.name()));
                change.effect.effect = EffectKind::Delayed;
                change.effect.reason = format!("{reason}; {why}");
            }
            _ => change.effect.consequences.extend(self.note.clone().filter(|_| waits)),
        }
        self.changes.push(change);
    }

    /// Adds the one replacement of all Machines of the part, or their change in place.
    pub(super) fn finish(mut self) {
        let Some((mut change, what)) = self.rollout.take() else { return };
        for origin in &self.origins {
            origin.tell(&mut change);
        }
        let effect = &mut change.effect;
        let (hook, mut verdict) = std::mem::replace(&mut self.in_place, (None, InPlaceVerdict::No(None)));
        // A time that has come asks for new Machines (`ShouldRolloutAfter`, `ShouldRolloutBefore`).
        let is_due = |field: &String| field.contains("/rollout/") || field.contains("/rolloutAfter");
        if matches!(verdict, InPlaceVerdict::Yes(_)) && self.rolled.iter().any(is_due) {
            verdict =
                InPlaceVerdict::No(Some("what asks for new Machines is not changed in place".to_owned()));
        }
        let changed = hook
            .zip(self.machines)
            .map(|(hook, machines)| in_place::changed(hook, self.strategy.as_ref(), machines));
        if let (InPlaceVerdict::Yes(_), Some(hook), Some(0)) = (&verdict, hook, changed) {
            verdict = InPlaceVerdict::No(Some(in_place::replaced_first(hook)));
        }
        if self.on_delete {
            // Nothing is replaced by itself, so no Machine counts.
            effect.effect = EffectKind::NewMachinesOnly;
        } else if let (InPlaceVerdict::Yes(update), Some(hook)) = (&verdict, hook) {
            effect.effect = EffectKind::UpdatedInPlace;
            effect.reason = format!("{what}: {} accepts it in place", hook.name());
            effect.details.extend(self.machines.map(|machines| ("machines".to_owned(), json!(machines))));
            let machines = self.machines;
            effect.consequences.extend(in_place::told(hook, &self.target, machines, changed.unwrap_or(0)));
            effect.consequences.extend(in_place::progress(*update).map(str::to_owned));
        } else if let Some(machines) = self.machines {
            effect.details.insert("machines".to_owned(), json!(machines));
            effect.consequences.push(match machines {
                1 => format!("{}: 1 Machine", self.target),
                n => format!("{}: {n} Machines", self.target),
            });
        } else {
            effect.consequences.push(format!("{}: number of Machines not stated here", self.target));
        }
        if self.rolled.len() > 1 {
            effect.consequences.push(format!("for {} fields at once", self.rolled.len()));
        }
        effect.details.insert("fields".to_owned(), json!(self.rolled));
        let mut stops = None;
        match verdict {
            _ if self.on_delete => {}
            InPlaceVerdict::No(why) => effect.consequences.extend(why),
            InPlaceVerdict::Maybe => effect.consequences.push(MAYBE_IN_PLACE.to_owned()),
            InPlaceVerdict::Yes(Some(Update::Failure)) => stops = Some("UpdateMachine fails".to_owned()),
            InPlaceVerdict::Yes(_) => {}
            InPlaceVerdict::Fails(why) => stops = Some(why),
        }
        if let Some(why) = self.paused.or(self.rollout_waits).or(stops) {
            effect.details.insert("then".to_owned(), json!(effect.effect.name()));
            effect.effect = EffectKind::Delayed;
            effect.reason = format!("{}; {why}", effect.reason);
        }
        effect.consequences.extend(self.held);
        self.changes.push(change);
    }
}

pub(super) const MAYBE_IN_PLACE: &str = "unless an update extension accepts it in place";

/// `rollout.strategy` of a control plane or of workers.
pub(super) fn strategy(fields: &Fields) -> Option<Value> {
    fields.get("/spec/rollout/strategy").map(|field| field.value.clone())
}

/// The template that changes a clone, and the patch of the class that does it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct EffectOrigin {
    /// Kind and name of the template.
    pub(super) template: (String, String),
    /// The patch, and where its operation is written.
    pub(super) patch: Option<(String, Option<Location>)>,
}

impl EffectOrigin {
    fn tell(&self, change: &mut MachineChange) {
        let (kind, name) = &self.template;
        let by = self.patch.as_ref().map(|(name, _)| format!(", by patch {name}"));
        let details = &mut change.effect.details;
        change.effect.consequences.push(format!("template {kind} {name}{}", by.unwrap_or_default()));
        details.entry("template").or_insert(json!(format!("{kind}/{name}")));
        if let Some((name, location)) = &self.patch {
            details.entry("patch").or_insert(json!(name));
            change.via = change.via.take().or_else(|| location.clone());
        }
    }
}

/// Whether a path that differs has a value before and after. In two API versions
/// another path may be the same field under another name.
pub(super) fn is_on_both_sides(before: &Value, after: &Value, path: &[String]) -> bool {
    [before, after].into_iter().all(|value| {
        path.iter().try_fold(value, |value, key| value.get(key)).is_some_and(|value| !value.is_null())
    })
}

pub(super) const MIGRATED: Judgement =
    (EffectKind::Unknown, "another API version: what its conversion makes of it is not known offline");

/// A field's name and values, as far as they are short.
fn phrase(field: &str, before: &Value, after: &Value) -> String {
    let segments: Vec<String> = crate::lang::yaml::pointer_segments(field).map(|s| s.into_owned()).collect();
    let name = segments.iter().rev().find(|s| !s.starts_with('{')).cloned().unwrap_or_default();
    // The mark of what an extension may change.
    let name = name.strip_prefix('$').map_or(name.clone(), str::to_owned);
    let short = |value: &Value| match value {
        Value::Null => Some("nothing".to_owned()),
        Value::String(text) if text.is_empty() => Some("\"\"".to_owned()),
        Value::String(text) if text.chars().count() <= 30 => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    if let (Some(before), Some(after)) = (short(before), short(after))
        && before != after
    {
        return format!("{name} {before} -> {after}");
    }
    // Of a map the one value in it that differs.
    if let [path] = &template::differences(before, after)[..] {
        let at = |value: &Value| path.iter().try_fold(value, |value, key| value.get(key)).cloned();
        let (before, after) = (at(before).unwrap_or_default(), at(after).unwrap_or_default());
        if let (false, Some(before), Some(after)) = (path.is_empty(), short(&before), short(&after)) {
            return format!("{name}.{} {before} -> {after}", path.join("."));
        }
    }
    name
}

/// Where a key is written, of one that the repository states.
fn field_of(entry: &MetadataEntry) -> Option<(String, Option<Location>)> {
    match &entry.source {
        KeySource::Field { pointer, location } => Some((pointer.clone(), location.clone())),
        KeySource::Controller(_) => None,
    }
}
