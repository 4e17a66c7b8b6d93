//! The body of `forebay.simulate-events/v1`.

use serde_json::{Map, Value, json};

use super::{ClusterEvents, SimulatedEvent, View};
use crate::lang::yaml::Known;
use crate::model::value::{of_text, unknown};
use crate::report::parts::{location, object};
use crate::simulate::notify::Metadata;
use crate::simulate::notify::combine::{CONFLICT_REASON, Conflict};
use crate::simulate::notify::delivery::Delivery;
use crate::simulate::notify::objects::MetadataValue as Sourced;
use crate::simulate::notify::simulate::{Considered, Notification};

/// The array `objects`.
pub(crate) fn body(view: &View<'_>) -> Value {
    let of_cluster = |cluster: &ClusterEvents<'_>| -> Vec<Value> {
        cluster.answers.iter().map(|answer| object_of(view, cluster, answer)).collect()
    };
    json!({"objects": view.clusters.iter().flat_map(of_cluster).collect::<Vec<_>>()})
}

fn object_of(view: &View<'_>, cluster: &ClusterEvents<'_>, answer: &SimulatedEvent<'_>) -> Value {
    let simulation = &answer.simulation;
    let dropped = simulation.dropped.iter().map(|key| json!({"key": key.key, "reason": key.reason}));
    let notifications = simulation.notifications.iter().map(|found| notification(view, found));
    // As many alerts as objects would be a square of lines.
    let listed = if view.lists_alerts { &*simulation.considered } else { &[] };
    let mut involved = object(&answer.object);
    if let Some(target) = answer.target {
        involved["target"] = json!(target);
    }
    json!({
        "cluster": cluster.name,
        "object": involved,
        "kubernetesEventAnnotations": values(&simulation.posted),
        "dropped": dropped.collect::<Vec<_>>(),
        "notifications": notifications.collect::<Vec<_>>(),
        "alertsConsidered": listed.iter().map(considered).collect::<Vec<_>>(),
        "alertsNotMatched": simulation.not_matched,
    })
}

fn values(metadata: &Metadata<Sourced>) -> Value {
    let entries = metadata.iter().map(|(key, value)| (key.clone(), of_text(&value.text)));
    Value::Object(entries.collect())
}

fn notification(view: &View<'_>, found: &Notification<'_>) -> Value {
    let (delivered, reason) = match &found.delivery {
        Delivery::Delivered => (json!(true), Value::Null),
        Delivery::Partly(others) => (json!(true), json!(others)),
        Delivery::Dropped(reason) | Delivery::Failed(reason) => (json!(false), json!(reason)),
        Delivery::Unknown(why) => (unknown(why), json!(why)),
    };
    let mut sources = Map::new();
    let mut locations = Map::new();
    for (key, all) in &found.combined.entries {
        let labels: Vec<&str> = all.iter().map(|(source, _)| source.label()).collect();
        sources.insert(key.clone(), json!(labels));
        let winner = all.last().and_then(|(_, value)| value.location.as_ref());
        locations.insert(key.clone(), location(view.snapshot, winner));
    }
    let provider_type = match found.provider {
        Some(provider) => of_text(&provider.kind),
        None => unknown("the Provider is not in this repository"),
    };
    let event = found.report.as_ref().and_then(|report| {
        let message = report.message.as_ref()?;
        Some(json!({
            "type": "Warning",
            "reason": CONFLICT_REASON,
            "message": message,
            "annotations": report.annotations,
        }))
    });
    json!({
        "alert": {"namespace": found.alert.namespace(), "name": &*found.alert.id.name},
        "provider": {"name": found.provider_name, "type": provider_type},
        "delivered": delivered,
        "reason": reason,
        "metadata": values(&found.combined.metadata()),
        "sources": sources,
        "locations": locations,
        "conflicts": found.conflicts.iter().map(conflict).collect::<Vec<_>>(),
        "log": found.report.as_ref().map(|report| &report.log),
        "event": event,
        "runtimeKeys": found.runtime_keys.iter().map(|key| key.key).collect::<Vec<_>>(),
    })
}

fn conflict(conflict: &Conflict) -> Value {
    let sources: Vec<&str> = conflict.sources.iter().map(|source| source.label()).collect();
    json!({"key": conflict.key, "sources": sources})
}

fn considered(considered: &Considered<'_>) -> Value {
    let id = considered.alert;
    let matched = match considered.answer.matched {
        Known::Value(matched) => json!(matched),
        Known::Unknown => unknown(&*considered.answer.reason),
    };
    json!({
        "alert": {"namespace": id.namespace.as_deref().unwrap_or_default(), "name": &*id.name},
        "matched": matched,
        "reason": considered.answer.reason,
    })
}
