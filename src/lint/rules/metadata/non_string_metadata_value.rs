//! `non-string-metadata-value`: a label, annotation or data value that is no string.
//! Source: kustomize `api/resource` `RemoveBuildAnnotations` rewrites the values
//! of the object's own annotations as strings from their text; kustomize-controller's
//! `SetOwnerLabels` reads no label map when one value is no string and writes
//! back only its own two; everything else is decoded by the API server into a
//! map of strings.

use super::super::annotation::is_misread_annotation;
use crate::lang::yaml::{Dialect, NodeRef, Scalar, ViaKind, pointer_join};
use crate::lint::metadata::{MetadataEntry, title, write_string};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "non-string-metadata-value",
    group: Group::Metadata,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a label, annotation or data value that is no string",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/metadata/non-string-metadata-value.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for map in view.metadata() {
        for MetadataEntry { entry, .. } in &map.entries {
            let Some(kind) = non_string(entry.value) else { continue };
            let Some(location) = entry.value.location() else { continue };
            if map.own && !map.labels && is_misread_annotation(view.id, entry) {
                continue;
            }
            let collection = entry.value.is_map() || entry.value.is_seq();
            let (level, why) = match (map.own, map.labels) {
                (true, true) => (
                    Level::Error,
                    "kustomize-controller then drops all labels of the object; outside a Flux build the API server rejects it",
                ),
                (true, false) if collection => (
                    Level::Error,
                    "the Flux build makes an empty string of it; outside a Flux build the API server rejects it",
                ),
                (true, false) => (
                    Level::Info,
                    "the Flux build makes a string of it; outside a Flux build the API server rejects it",
                ),
                (false, _) => (Level::Error, "the API server rejects the object: it takes strings only"),
            };
            let finding = report
                .report(
                    location,
                    title(view.id, &format!("{} ", map.word()), &entry.key, &format!(" is {kind}")),
                )
                .level(level)
                .why(why)
                .help(if collection { "write a single string" } else { "put quotes around the value" })
                .object(view.id)
                .field(map.pointer_of(&entry.key), kind);
            if let Some(text) = entry.value.text() {
                finding.fix("quote the value", Applicability::Safe, entry.value, |pointer| {
                    write_string(pointer, &text)
                });
            }
        }
    }
    no_map(view, report);
    data_values(view, report);
}

/// Values of a ConfigMap or a Secret.
fn data_values(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let data: &[&str] = match (view.id.group(), &*view.id.kind) {
        ("", "ConfigMap") => &["data", "binaryData"],
        ("", "Secret") => &["data", "stringData"],
        _ => return,
    };
    for field in data {
        for entry in view.node.get(field).into_iter().flat_map(NodeRef::entries) {
            let Some(kind) = non_string(entry.value) else { continue };
            let Some(location) = entry.value.location() else { continue };
            // Quotes would make base64 of it, of other bytes than those meant.
            let encoded = *field == "binaryData" || (*field == "data" && &*view.id.kind == "Secret");
            let help = match (encoded, &*view.id.kind) {
                (false, _) => "put quotes around the value, or make it a block scalar",
                (true, "Secret") => "encode the value as base64, or move it to `stringData`",
                (true, _) => "encode the value as base64, or move it to `data`",
            };
            let finding = report
                .report(location, title(view.id, "", &entry.key, &format!(" in {field} is {kind}")))
                .why("the API server rejects the object: data values are strings")
                .help(help)
                .object(view.id)
                .field(pointer_join(&format!("/{field}"), &entry.key), kind);
            if let Some(text) = entry.value.text().filter(|_| !encoded) {
                finding.fix("quote the value", Applicability::Safe, entry.value, |pointer| {
                    write_string(pointer, &text)
                });
            }
        }
    }
}

/// Labels that are no map at all: `SetOwnerLabels` reads them as little as those with a
/// value that is no string.
fn no_map(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(value) = view.node.at("/metadata/labels") else { return };
    if value.is_map() || value.is_null() || value.is_unknown() || is_substituted(value) {
        return;
    }
    let Some(location) = value.location() else { return };
    let kind = if value.is_seq() { "a list" } else { "a single value" };
    report
        .report(location, title(view.id, "", "labels", &format!(" is {kind}, not a map")))
        .why("kustomize-controller reads no label of it and writes its own two only: the object is applied without labels")
        .help("write `key: value` lines")
        .object(view.id)
        .field("/metadata/labels", kind);
}

/// What the value is when it is surely no string after a build. Null deletes a
/// key where the text is a patch, so it is none; a date becomes a string.
fn non_string(node: NodeRef<'_>) -> Option<&'static str> {
    if node.is_unknown() || is_substituted(node) {
        return None;
    }
    if node.is_map() {
        return Some("a map");
    }
    if node.is_seq() {
        return Some("a list");
    }
    match node.scalar(Dialect::GoYamlV3) {
        Scalar::Null | Scalar::Str(_) | Scalar::Timestamp(_) => None,
        Scalar::Bool(_) => Some("a boolean, not a string"),
        Scalar::Int(_) | Scalar::Uint(_) => Some("an integer, not a string"),
        Scalar::Float(_) => Some("a number, not a string"),
    }
}

/// Whether substitution wrote the value: `substitution-changes-type` reports it.
fn is_substituted(node: NodeRef<'_>) -> bool {
    node.location().is_some_and(|at| at.via.iter().any(|via| via.kind == ViaKind::Substitution))
}
