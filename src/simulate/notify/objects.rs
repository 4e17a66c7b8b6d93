//! Alerts, Providers and event metadata as objects state them.

use std::collections::BTreeMap;

use super::delivery::Provider;
use super::{InvolvedObject, Metadata};
use crate::lang::yaml::{Known, Location, NodeRef};
use crate::model::ObjectId;
use crate::model::text::Text;
use crate::simulate::notify::alerts::{Alert, EventSource};

/// A value of metadata and where it is written.
#[derive(Debug, Clone)]
pub struct MetadataValue {
    /// What is known of it.
    pub text: Text,
    /// Its bytes; `None` for one that no file states.
    pub location: Option<Location>,
}

/// The involved object of an event about `id`.
pub(crate) fn involved_object(id: &ObjectId) -> InvolvedObject {
    InvolvedObject {
        api_version: id.api_version.to_string(),
        kind: id.kind.to_string(),
        namespace: id.namespace.as_deref().unwrap_or_default().to_owned(),
        name: id.name.to_string(),
    }
}

/// The map of strings at a JSON Pointer. Values of other types are taken as
/// written: a build makes strings of annotations, and the API server refuses
/// the rest.
pub(crate) fn values_at(node: NodeRef<'_>, pointer: &str) -> Metadata<MetadataValue> {
    node.entries_at(pointer)
        .map(|entry| {
            let value = MetadataValue { text: Text::of(entry.value), location: entry.value.location() };
            (entry.key.into_owned(), value)
        })
        .collect()
}

/// The labels of an object.
pub(crate) fn labels_of(node: NodeRef<'_>) -> BTreeMap<String, Text> {
    texts(&values_at(node, "/metadata/labels"))
}

/// The values without their places.
pub(crate) fn texts(values: &Metadata<MetadataValue>) -> Metadata<Text> {
    values.iter().map(|(key, value)| (key.clone(), value.text.clone())).collect()
}

/// A string field; absent and null are empty.
fn field(node: NodeRef<'_>, pointer: &str) -> Text {
    node.at(pointer).filter(|node| !node.is_null()).map_or_else(|| Text::from(""), Text::of)
}

/// A boolean field that is false by default.
fn flag(node: NodeRef<'_>, pointer: &str) -> Known<bool> {
    match node.at(pointer) {
        None => Known::Value(false),
        Some(value) if value.is_unknown() => Known::Unknown,
        Some(value) => Known::Value(value.as_bool().unwrap_or(false)),
    }
}

fn strings(node: NodeRef<'_>, pointer: &str) -> Vec<Text> {
    node.items_at(pointer).map(Text::of).collect()
}

impl Alert {
    /// Reads an Alert of any API version, with the API server's defaults.
    pub fn of(id: &ObjectId, node: NodeRef<'_>) -> Alert {
        let severity = field(node, "/spec/eventSeverity");
        let summary = field(node, "/spec/summary");
        Alert {
            namespace: id.namespace.as_deref().unwrap_or_default().to_owned(),
            name: id.name.to_string(),
            provider: field(node, "/spec/providerRef/name"),
            severity: if severity.known() == Some("") { Text::from("info") } else { severity },
            sources: node.items_at("/spec/eventSources").map(EventSource::of).collect(),
            inclusion: strings(node, "/spec/inclusionList"),
            exclusion: strings(node, "/spec/exclusionList"),
            suspend: flag(node, "/spec/suspend"),
            event_metadata: texts(&values_at(node, "/spec/eventMetadata")),
            summary: Some(summary).filter(|summary| summary.known() != Some("")),
            refusal: None,
        }
    }
}

impl EventSource {
    /// Reads one item of `spec.eventSources`.
    pub fn of(node: NodeRef<'_>) -> EventSource {
        EventSource {
            kind: field(node, "/kind"),
            name: field(node, "/name"),
            namespace: field(node, "/namespace"),
            match_labels: node
                .at("/matchLabels")
                .filter(|labels| !labels.is_null())
                .map(|_| texts(&values_at(node, "/matchLabels"))),
        }
    }
}

impl Provider {
    /// Reads a Provider of any API version.
    pub fn of(id: &ObjectId, node: NodeRef<'_>) -> Provider {
        let expression = field(node, "/spec/commitStatusExpr");
        Provider {
            name: id.name.to_string(),
            kind: field(node, "/spec/type"),
            suspend: flag(node, "/spec/suspend"),
            commit_status_expr: Some(expression).filter(|text| text.known() != Some("")),
            service_account: field(node, "/spec/serviceAccountName").known() != Some(""),
            refusal: None,
        }
    }
}
