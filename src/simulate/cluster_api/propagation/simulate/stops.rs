//! What stops on its way, and the fields that are read for it.

use super::{Stop, Taint};
use crate::lang::yaml::NodeRef;
use crate::simulate::cluster_api::propagation::{KeySource, Metadata, MetadataEntry, Strategy};
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::fields::Fields;
use crate::simulate::cluster_api::topology::text_at;
use serde_json::Value;

/// Keys of `from` that are not in `to`; those of controllers left out.
pub(super) fn stop_all(from: &Metadata, to: &Metadata, stops_at: &str, why: &'static str) -> Vec<Stop> {
    let mut stops = Vec::new();
    for (field, from, to) in
        [("labels", &from.labels, &to.labels), ("annotations", &from.annotations, &to.annotations)]
    {
        for (key, entry) in from.iter().filter(|(key, _)| !to.contains_key(*key)) {
            if !matches!(entry.source, KeySource::Controller(_)) {
                stops.push(stop(key, field, stops_at, why, entry));
            }
        }
    }
    stops
}

pub(super) fn stop(
    key: &str,
    field: &'static str,
    stops_at: &str,
    why: &'static str,
    entry: &MetadataEntry,
) -> Stop {
    let location = match &entry.source {
        KeySource::Field { location, .. } => location.clone(),
        KeySource::Controller(_) => None,
    };
    Stop { key: key.to_owned(), field, stops_at: stops_at.to_owned(), why, location }
}

pub(super) fn taint_stop(taint: &Taint, stops_at: &str, why: &'static str) -> Stop {
    Stop {
        key: taint.value.get("key").and_then(Value::as_str).unwrap_or_default().to_owned(),
        field: "taints",
        stops_at: stops_at.to_owned(),
        why,
        location: taint.location.clone(),
    }
}

pub(super) fn taints_of(fields: &Fields, name: &str) -> Vec<Taint> {
    let Some(field) = fields.get(name) else { return Vec::new() };
    let items = field.value.as_array().into_iter().flatten();
    let taint = |value: &Value| Taint {
        value: value.clone(),
        pointer: field.pointer.clone(),
        location: field.location.clone(),
    };
    items.map(taint).collect()
}

pub(super) fn read_taints(node: NodeRef<'_>, pointer: &str) -> Vec<Taint> {
    node.items_at(pointer)
        .map(|item| Taint {
            value: crate::model::value::to_json(item),
            pointer: pointer.to_owned(),
            location: item.location(),
        })
        .collect()
}

pub(super) fn strategy(fields: &Fields) -> Strategy {
    let Some(field) = fields.get("/spec/rollout/strategy") else { return Strategy::default() };
    if field.value.get("type").is_some_and(|kind| kind == "OnDelete") {
        return Strategy::OnDelete;
    }
    let number = |name: &str, default: &str| match field.value.pointer(&format!("/rollingUpdate/{name}")) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => default.to_owned(),
    };
    Strategy::RollingUpdate {
        max_surge: number("maxSurge", "1"),
        max_unavailable: number("maxUnavailable", "0"),
    }
}

/// `spec.clusterName`, else the Cluster that labels or owner references name.
pub(super) fn cluster_of(object: ScopedObject<'_>) -> String {
    let owner = || {
        object
            .node
            .items_at("/metadata/ownerReferences")
            .find(|owner| owner.str_at("/kind").as_deref() == Some("Cluster"))
            .and_then(|owner| text_at(owner, &["/name"]))
    };
    text_at(object.node, &["/spec/clusterName", "/metadata/labels/cluster.x-k8s.io~1cluster-name"])
        .or_else(owner)
        .unwrap_or_else(|| "…".to_owned())
}

pub(super) fn controller_of(node: NodeRef<'_>) -> Option<(String, String)> {
    let owner = node
        .items_at("/metadata/ownerReferences")
        .find(|owner| owner.at("/controller").and_then(NodeRef::as_bool) == Some(true))?;
    Some((text_at(owner, &["/kind"])?, text_at(owner, &["/name"])?))
}
