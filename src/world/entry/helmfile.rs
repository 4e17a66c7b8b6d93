//! Releases of the flux-instance chart in helmfiles: what installs Flux before
//! Flux takes over. A template is read as text: only what is literal counts.

use super::EntryPoint;
use crate::files::{Snapshot, join};
use crate::lang::yaml::{Node, parse_nodes};
use crate::world::instance;
use std::sync::Arc;

/// Whether a path is a helmfile's.
fn is_helmfile(path: &str) -> bool {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = name.strip_suffix(".gotmpl").unwrap_or(name);
    let yaml = name.ends_with(".yaml") || name.ends_with(".yml");
    yaml && (name.starts_with("helmfile") || directory.split('/').any(|part| part.starts_with("helmfile")))
}

pub(super) fn find(snapshot: &Arc<Snapshot>) -> Vec<EntryPoint> {
    let mut entries = Vec::new();
    for file in snapshot.files().iter().filter(|file| is_helmfile(&file.path)) {
        let Some(stream) = snapshot.stream(file).filter(|stream| stream.text.contains("flux-instance"))
        else {
            continue;
        };
        for document in documents(&file.path, &stream.text) {
            let root = document.get_ref();
            for release in root.items_at("/releases") {
                let chart = release.str_at("/chart").unwrap_or_default();
                if chart.rsplit('/').next() != Some("flux-instance") {
                    continue;
                }
                let namespace = release.str_at("/namespace");
                let directory = file.path.rsplit_once('/').map_or("", |(directory, _)| directory);
                for values in release.items_at("/values") {
                    let texts = match values.as_str() {
                        Some(path) => values_of(snapshot, directory, &path),
                        None => vec![values.to_node()],
                    };
                    for text in &texts {
                        let found = text.get_ref().at("/instance").and_then(|instance| {
                            instance::of_values(namespace.as_deref(), instance, &file.path)
                        });
                        entries.extend(found);
                    }
                }
            }
        }
    }
    entries
}

/// A file of values, where it is here.
fn values_of(snapshot: &Snapshot, directory: &str, path: &str) -> Vec<Node> {
    let Some(path) = join(directory, path) else { return Vec::new() };
    let file = snapshot.file(&path);
    let stream = file.and_then(|file| snapshot.stream(file));
    stream.map_or_else(Vec::new, |stream| documents(&path, &stream.text))
}

/// The documents of a text of which lines may be template actions.
fn documents(path: &str, text: &str) -> Vec<Node> {
    if !text.contains("{{") {
        return parse_nodes(path, text);
    }
    let mut plain = String::with_capacity(text.len());
    for line in text.lines() {
        if !line.trim_start().starts_with("{{") {
            let mut rest = line;
            // What an action writes is a hole of the text around it.
            while let Some((before, after)) = rest.split_once("{{") {
                plain.push_str(before);
                let (action, after) = after.split_once("}}").unwrap_or((after, ""));
                let name: String = action.chars().filter(char::is_ascii_alphanumeric).collect();
                plain.push_str(&format!("${{{name}}}"));
                rest = after;
            }
            plain.push_str(rest);
        }
        plain.push('\n');
    }
    parse_nodes(path, &plain)
}
