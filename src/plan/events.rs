//! What notifications will say differently, and who gets them no more.

use super::{Effect, Pair, Side};
use crate::lang::yaml::{Known, Location, Node};
use crate::model::value::of_text;
use crate::model::{EffectKind, ObjectId, kinds};
use crate::simulate::notify::simulate::{Notifier, SimulatedObject, items};
use crate::world::helm_charts::helm_charts;
use crate::world::{ApplyTarget, Cluster, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The metadata of an object's events at one alert, and where each value is.
type EventKeys = BTreeMap<String, (Value, Option<Location>, bool)>;

pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let concerned = concerned(pair);
    let before = notifications(pair.base_world, pair.base, &concerned);
    let after = notifications(pair.head_world, pair.head, &concerned);
    if before.is_empty() && after.is_empty() {
        return Vec::new();
    }
    let objects_before = objects(pair.base_world, pair.base);
    let objects_after = objects(pair.head_world, pair.head);
    let mut out = Vec::new();
    for ((object, alert), keys) in &after {
        match before.get(&(object.clone(), alert.clone())) {
            Some(old) => changed(pair, object, alert, old, keys, &mut out),
            None if objects_before.contains_key(object) => {
                let mut effect = Effect::new(pair, EffectKind::NotificationGained, object);
                effect.reason = format!("{alert} matches it now");
                effect.details.insert("alert".to_owned(), json!(alert.to_string()));
                out.push(effect.at(Side::Head, objects_after.get(object).cloned().flatten()));
            }
            None => {}
        }
    }
    for (object, alert) in before.keys() {
        if !after.contains_key(&(object.clone(), alert.clone())) && objects_after.contains_key(object) {
            let mut effect = Effect::new(pair, EffectKind::NotificationLost, object);
            effect.reason = format!("{alert} no longer tells of it");
            effect.details.insert("alert".to_owned(), json!(alert.to_string()));
            out.push(effect.at(Side::Head, objects_after.get(object).cloned().flatten()));
        }
    }
    out
}

/// What may be told of, and where it is stated; of a HelmChart that is in its HelmRelease.
fn objects(world: &World, cluster: Option<&Cluster>) -> BTreeMap<ObjectId, Option<Location>> {
    let Some(cluster) = cluster else { return BTreeMap::new() };
    let made = helm_charts(world, cluster, &ApplyTarget::Local).into_iter();
    let made = made.map(|chart| (chart.id, chart.node.get_ref().location()));
    let written = world.written(cluster).map(|(_, object)| (object.id.clone(), None));
    written.chain(made).collect()
}

/// The objects whose notifications may differ; `None` for all, where what sends them
/// does.
fn concerned<'w>(pair: &Pair<'w>) -> Option<BTreeSet<&'w ObjectId>> {
    let (base, head) = (pair.base?, pair.head?);
    let settings = |cluster: &Cluster| {
        let features = cluster.settings.features().map(|(_, setting)| setting.value).collect::<Vec<_>>();
        (cluster.settings.flux.value, cluster.settings.flux_between, features)
    };
    if settings(base) != settings(head) {
        return None;
    }
    let objects = |world: &'w World, cluster: &'w Cluster| {
        world.written(cluster).map(|(_, object)| (&object.id, &object.node)).collect::<Vec<_>>()
    };
    let (before, after) = (objects(pair.base_world, base), objects(pair.head_world, head));
    let alike = |(one, other): (&&Node, &&Node)| {
        one.address() == other.address() || one.get_ref().same_value(other.get_ref()) == Known::Value(true)
    };
    // Most of a cluster is as it was, and in the same order.
    let same = |((id, node), (other, twin)): &(&(&ObjectId, &Node), &(&ObjectId, &Node))| {
        id == other && alike((node, twin))
    };
    let first = before.iter().zip(&after).take_while(same).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = before.iter().rev().zip(after.iter().rev()).take_while(same).count();
    // Of several objects that share an identity any may be the one that counts.
    let nodes = |objects: &[(&'w ObjectId, &'w Node)]| {
        let mut nodes: BTreeMap<&'w ObjectId, Vec<&'w Node>> = BTreeMap::new();
        for (id, node) in &objects[..objects.len() - last] {
            nodes.entry(id).or_default().push(node);
        }
        nodes
    };
    let (before, after) = (nodes(before), nodes(after));
    let differs = |id: &&&ObjectId| match (before.get(**id), after.get(**id)) {
        (Some(before), Some(after)) => before.len() != after.len() || !before.iter().zip(after).all(alike),
        _ => true,
    };
    let concerned: BTreeSet<&ObjectId> = before.keys().chain(after.keys()).filter(differs).copied().collect();
    let sends = |id: &&ObjectId| id.group() == kinds::NOTIFICATION;
    if concerned.iter().any(sends) { None } else { Some(concerned) }
}

fn notifications(
    world: &World,
    cluster: Option<&Cluster>,
    concerned: &Option<BTreeSet<&ObjectId>>,
) -> BTreeMap<(ObjectId, ObjectId), EventKeys> {
    let mut found = BTreeMap::new();
    let Some(cluster) = cluster else { return found };
    let target = ApplyTarget::Local;
    let notifier = Notifier::new(world, cluster, &target);
    if notifier.alerts.is_empty() {
        return found;
    }
    let is_concerned = |id: &ObjectId| concerned.as_ref().is_none_or(|concerned| concerned.contains(id));
    let charts = helm_charts(world, cluster, &target);
    let made = charts.iter().filter(|chart| is_concerned(chart.release));
    let made = made.map(|chart| SimulatedObject { id: &chart.id, node: chart.node.get_ref() });
    for item in items(world, cluster, &target).filter(|item| is_concerned(item.id)).chain(made) {
        for notification in notifier.notifications(item, "info") {
            let conflicting: Vec<String> =
                notification.conflicts.iter().map(|conflict| conflict.key.clone()).collect();
            let keys = notification
                .combined
                .metadata()
                .into_iter()
                .map(|(key, value)| {
                    let overridden = conflicting.contains(&key);
                    (key, (of_text(&value.text), value.location, overridden))
                })
                .collect();
            found.insert((item.id.clone(), notification.alert.id.clone()), keys);
        }
    }
    found
}

/// A value that fits a sentence.
fn told(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty() && text.len() <= 60 && !text.contains('\n'))
}

fn changed(
    pair: &Pair<'_>,
    object: &ObjectId,
    alert: &ObjectId,
    old: &EventKeys,
    new: &EventKeys,
    out: &mut Vec<Effect>,
) {
    let effect = |name, key: &str, (before, after): (Value, Value), reason: String| {
        let mut effect = Effect::new(pair, name, object);
        effect.field = format!("{alert} {key}");
        effect.before = before;
        effect.after = after;
        effect.reason = reason;
        effect.details.insert("alert".to_owned(), json!(alert.to_string()));
        effect.details.insert("key".to_owned(), json!(key));
        effect
    };
    for (key, (value, place, overridden)) in new {
        let (name, before, reason) = match old.get(key) {
            None => {
                let value = told(value).map_or_else(String::new, |value| format!(": {value}"));
                (EffectKind::KeyAdded, Value::Null, format!("{alert} now sends {key}{value}"))
            }
            Some((before, _, was)) if *overridden && !was => {
                let reason =
                    format!("two sources for {key} at {alert}: a conflict is logged with each event");
                (EffectKind::KeyOverridden, before.clone(), reason)
            }
            Some((before, _, _)) if before != value => {
                let reason = match (told(before), told(value)) {
                    (Some(before), Some(value)) => {
                        format!("{alert} sends {key}: {value} instead of {before}")
                    }
                    _ => format!("{alert} sends another value of {key}"),
                };
                (EffectKind::KeyChanged, before.clone(), reason)
            }
            Some(_) => continue,
        };
        out.push(effect(name, key, (before, value.clone()), reason).at(Side::Head, place.clone()));
    }
    for (key, (before, place, _)) in old.iter().filter(|(key, _)| !new.contains_key(*key)) {
        let value = told(before).map_or_else(String::new, |before| format!(": {before}"));
        let reason = format!("{alert} no longer sends {key}{value}");
        let effect = effect(EffectKind::KeyRemoved, key, (before.clone(), Value::Null), reason);
        out.push(effect.at(Side::Base, place.clone()));
    }
}
