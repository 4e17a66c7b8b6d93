//! Answers of `simulate propagation`.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::parts::{location, object, of_clusters, paragraph, shared, width};
use super::stated::{StatedVersions, heads};
use crate::files::Snapshot;
use crate::lang::text::clean;
use crate::lang::yaml::Location;
use crate::model::value::unknown;
use crate::simulate::cluster_api::propagation::simulate::Derived;
use crate::simulate::cluster_api::propagation::{KeySource, Keys, MetadataEntry};

/// What one cluster derives.
pub struct ClusterMetadata {
    /// Its name.
    pub name: Option<String>,
    /// The version of Cluster API that is simulated.
    pub version: StatedVersions,
    /// What controllers make of its objects.
    pub derived: Vec<Derived>,
}

/// The body of the contract `forebay.simulate-propagation/v1`.
pub fn json(snapshot: &Snapshot, clusters: &[ClusterMetadata]) -> Value {
    let objects: Vec<Value> = clusters
        .iter()
        .flat_map(|cluster| cluster.derived.iter().map(|derived| one(snapshot, &cluster.name, derived)))
        .collect();
    json!({ "objects": objects })
}

fn one(snapshot: &Snapshot, cluster: &Option<String>, derived: &Derived) -> Value {
    let stops: Vec<Value> = derived
        .stops
        .iter()
        .map(|stop| {
            json!({
                "key": stop.key,
                "field": stop.field,
                "stopsAt": stop.stops_at,
                "why": stop.why,
                "location": location(snapshot, stop.location.as_ref()),
            })
        })
        .collect();
    let taints: Vec<Value> = derived
        .taints
        .iter()
        .map(|taint| {
            let mut value = taint.value.clone();
            if let Value::Object(map) = &mut value {
                map.insert("source".to_owned(), json!(taint.pointer));
                map.insert("location".to_owned(), location(snapshot, taint.location.as_ref()));
            }
            value
        })
        .collect();
    let mut one = json!({
        "cluster": cluster,
        "from": object(&derived.from),
        "derived": {"kind": derived.kind, "name": derived.name},
        "nameKnown": derived.name_known,
        "labels": keys(snapshot, &derived.metadata.labels),
        "annotations": keys(snapshot, &derived.metadata.annotations),
        "taints": taints,
        "notPropagated": stops,
    });
    if let Some(condition) = derived.condition {
        one["condition"] = json!(condition);
    }
    one
}

fn keys(snapshot: &Snapshot, keys: &Keys) -> Value {
    let entry = |entry: &MetadataEntry| {
        let value = match &entry.value {
            Some(value) => json!(value),
            None => unknown("known in the cluster only"),
        };
        let (source, place) = match &entry.source {
            KeySource::Field { pointer, location: place } => (pointer.as_str(), place.as_ref()),
            KeySource::Controller(name) => (*name, None),
        };
        json!({"value": value, "source": source, "location": location(snapshot, place)})
    };
    Value::Object(keys.iter().map(|(key, value)| (key.clone(), entry(value))).collect::<Map<_, _>>())
}

/// The answer for a person: an object of several clusters once, with their names.
pub fn text(snapshot: &Snapshot, clusters: &[ClusterMetadata]) -> String {
    let mut out = String::new();
    // Where nothing is derived, no version of Cluster API was simulated.
    let simulated = clusters.iter().filter(|cluster| !cluster.derived.is_empty());
    let versions = simulated.map(|cluster| (cluster.name.clone(), cluster.version.clone()));
    let all = heads(&mut out, versions, "");
    let answers = clusters.iter().map(|cluster| (cluster.name.clone(), objects(snapshot, cluster)));
    let mut last = all.unwrap_or_default();
    for (names, objects) in shared(answers).into_iter().filter(|(_, objects)| !objects.is_empty()) {
        if names != last {
            paragraph(&mut out, &of_clusters(&names, "no entry point"), "  ");
        }
        out.extend(objects);
        last = names;
    }
    out
}

/// What is made of each object.
fn objects(snapshot: &Snapshot, cluster: &ClusterMetadata) -> Vec<String> {
    let of_object = |of: &[Derived]| {
        let mut out = String::new();
        if let Some(first) = of.first() {
            let _ = writeln!(out, "{}", clean(&first.from.to_string()));
        }
        of.iter().for_each(|derived| block(&mut out, snapshot, derived));
        out
    };
    cluster.derived.chunk_by(|one, next| one.from == next.from).map(of_object).collect()
}

fn block(out: &mut String, snapshot: &Snapshot, derived: &Derived) {
    let _ = writeln!(out, "\n  {} {}", clean(&derived.kind), clean(&derived.name));
    if let Some(condition) = derived.condition {
        wrap(out, condition, "    ");
    }
    let mut by_controllers = Vec::new();
    for (field, keys) in [("label", &derived.metadata.labels), ("annotation", &derived.metadata.annotations)]
    {
        for (key, entry) in keys {
            match &entry.source {
                KeySource::Controller(_) => by_controllers.push(key.as_str()),
                KeySource::Field { location, .. } => {
                    let value = entry.value.as_deref().unwrap_or("(known in the cluster only)");
                    let place = place(snapshot, location.as_ref());
                    placed(out, &format!("{field} {key}={value}"), &place);
                }
            }
        }
    }
    for taint in &derived.taints {
        let part = |name: &str| taint.value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = format!("taint {}={}:{}", part("key"), part("value"), part("effect"));
        placed(out, &text, &place(snapshot, taint.location.as_ref()));
    }
    for stop in &derived.stops {
        let field = stop.field.trim_end_matches('s');
        let place = place(snapshot, stop.location.as_ref());
        placed(out, &format!("not: {field} {} stops at {}", stop.key, stop.stops_at), &place);
    }
    let mut whys: Vec<&str> = derived.stops.iter().map(|stop| stop.why).collect();
    whys.sort_unstable();
    whys.dedup();
    for why in whys {
        wrap(out, why, "      ");
    }
    if !by_controllers.is_empty() {
        wrap(out, &format!("by controllers: {}", by_controllers.join(", ")), "    ");
    }
}

/// A text with its place beside it, or below where it is long.
fn placed(out: &mut String, text: &str, place: &str) {
    const COLUMN: usize = 50;
    let text = clean(text);
    let too_wide = text.chars().count() > COLUMN || COLUMN + 6 + place.chars().count() > width();
    let _ = match too_wide && !place.is_empty() {
        true => writeln!(out, "    {text}\n{:8}{place}", ""),
        false => writeln!(out, "    {:<COLUMN$}  {place}", text),
    };
}

/// Writes words, every line indented.
fn wrap(out: &mut String, text: &str, indent: &str) {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && indent.len() + line.chars().count() + 1 + word.chars().count() > width() {
            let _ = writeln!(out, "{indent}{line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "{indent}{line}");
}

fn place(snapshot: &Snapshot, location: Option<&Location>) -> String {
    location.map_or_else(String::new, |at| {
        let ((line, _), _) = snapshot.positions(at);
        format!("{}:{line}", clean(at.file.shown()))
    })
}
