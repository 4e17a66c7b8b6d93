//! `buildMetadata`: annotations that tell where objects come from.
//!
//! Mirrors `api/resource/origin.go` and `api/krusty/kustomizer.go`.

use super::error::Result;
use super::file::Kustomization;
use super::nodes;
use super::resource::{ORIGIN, Resource, TRANSFORMATIONS, Traces};
use super::tables;
use super::transform;
use crate::lang::yaml::{Node, emit};
use std::sync::Arc;

impl Traces {
    /// Of an object that stands in a file.
    pub(super) fn of_file(path: &str) -> Traces {
        let origin = format!("path: {}\n", scalar(path));
        Traces { path: Some(path.into()), origin: Some(origin.into()), transformations: Vec::new() }
    }

    /// Of an object that something generated.
    pub(super) fn generated(text: &str) -> Traces {
        Traces { path: None, origin: Some(text.into()), transformations: Vec::new() }
    }

    /// The annotations that hold them.
    pub(super) fn annotations(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        if let Some(origin) = &self.origin {
            found.push((ORIGIN, origin.to_string()));
        }
        if !self.transformations.is_empty() {
            let lines = self.transformations.iter().flat_map(|item| item.lines().enumerate());
            let text =
                lines.map(|(at, line)| format!("{} {line}\n", if at == 0 { "-" } else { " " })).collect();
            found.push((TRANSFORMATIONS, text));
        }
        found
    }
}

/// Join two relative paths, `..` at the front kept.
pub(super) fn join(directory: &str, path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in directory.split('/').chain(path.split('/')) {
        match step {
            "" | "." => {}
            ".." if steps.last().is_some_and(|last| *last != "..") => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    steps.join("/")
}

fn scalar(text: &str) -> String {
    if emit::is_plain_safe(text) && !nodes::reads_otherwise(text) {
        text.to_owned()
    } else {
        emit::quoted(text)
    }
}

/// What configured a generator or transformer, as YAML.
pub(super) fn configured(place: &str, api_version: &str, kind: &str, name: &str, namespace: &str) -> String {
    let mut text = format!("configuredIn: {}\nconfiguredBy:\n", scalar(place));
    for (key, value) in
        [("apiVersion", api_version), ("kind", kind), ("name", name), ("namespace", namespace)]
    {
        if !value.is_empty() {
            text.push_str(&format!("  {key}: {}\n", scalar(value)));
        }
    }
    text
}

/// What the object of a plugin configures.
pub(super) fn configured_by(config: &Resource) -> Option<String> {
    let path = config.traces.as_ref()?.path.as_deref()?;
    let id = &config.id;
    Some(configured(path, &id.gvk.api_version, &id.gvk.kind, &id.name, &id.namespace))
}

/// Note a transformer in all objects; what has no origin yet comes from it.
pub(super) fn transformed(text: &str, resources: &mut [Resource]) {
    let text: Arc<str> = text.into();
    for resource in resources {
        let traces = resource.traces.get_or_insert_default();
        match traces.origin {
            None => traces.origin = Some(text.clone()),
            Some(_) => traces.transformations.push(text.clone()),
        }
    }
}

/// The version in the label that `managedByLabel` sets: what a build without a
/// release writes.
const MANAGED_BY: &str = "kustomize-(devel)";

/// Bring annotations into the form of the output and add what the root file's
/// `buildMetadata` asks for.
pub(super) fn finish(file: &Kustomization, resources: &mut [Resource]) -> Result<()> {
    let asked = |name: &str| file.build_metadata.iter().find(|entry| &*entry.value == name);
    if let Some(entry) = asked("managedByLabel") {
        let value = super::decode::Spanned { value: MANAGED_BY.into(), node: entry.node.clone() };
        let pair = super::decode::TextEntry {
            key: "app.kubernetes.io/managed-by".into(),
            key_node: entry.node.clone(),
            value,
        };
        transform::set_pairs(&vec![pair], tables::PLAIN_LABELS, resources)?;
    }
    let wanted = [(ORIGIN, asked("originAnnotations")), (TRANSFORMATIONS, asked("transformerAnnotations"))];
    for resource in resources {
        resource.clean_annotations();
        let Some(traces) = resource.traces.take() else { continue };
        for (key, text) in traces.annotations() {
            if let Some((_, Some(entry))) = wanted.iter().find(|(known, _)| *known == key) {
                resource.set_annotation(key, Node::string(&text, entry.node.get_ref().location()));
            }
        }
    }
    Ok(())
}
