//! What the chart of a release says of a value below `spec.values`: the default and the
//! comment of its values.yaml and of those of the charts in it, and its schema.
//!
//! Who reads a value, and whether anybody does, is not told here.

use super::place::{Spot, memberships, objects_of};
use super::state::ServerState;
use crate::lang::text::markdown::{self, MarkdownViewer};
use crate::lang::text::{clean, shorten};
use crate::lang::yaml::{EntryRef, Location, NodeRef, Source, pointer_segments};
use crate::model::kinds::is_helm_release;
use crate::world::{Cluster, Effective, World};
use serde_json::Value;
use std::sync::Arc;

/// Lines of a comment that are shown; some charts write pages.
const COMMENT: usize = 20;

/// Characters of a default that are shown.
const DEFAULT: usize = 60;

/// References of a schema that are followed to reach one value.
const REFERENCES: usize = 16;

/// A chart of a release.
pub(super) struct Defaults<'w> {
    /// Name and version.
    label: String,
    /// The values of the chart, then of the charts in it, each with the JSON Pointer below
    /// which a release writes them.
    texts: Vec<(String, &'w Arc<Source>)>,
    schema: Option<Value>,
}

/// A value that a chart knows.
pub(super) struct ChartValue {
    pub(super) key: String,
    /// Its default, or its type, in a few words.
    pub(super) detail: String,
    /// What the chart says of it.
    pub(super) comment: String,
    /// Whether it is a map or a list.
    pub(super) is_nested: bool,
}

/// JSON Pointer below `spec.values` of one in a HelmRelease.
pub(super) fn below_values(pointer: &str) -> Option<&str> {
    pointer.strip_prefix("/spec/values").filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl<'w> Defaults<'w> {
    /// Of the first of these releases whose chart is here.
    pub(super) fn of(world: &'w World, objects: &[&'w Effective]) -> Option<Defaults<'w>> {
        let releases = objects.iter().filter(|object| is_helm_release(&object.id));
        releases
            .flat_map(|object| memberships(world, object).map(move |(cluster, _)| (cluster, *object)))
            .find_map(|(cluster, object)| Defaults::of_one(world, cluster, object))
    }

    fn of_one(world: &'w World, cluster: &'w Cluster, object: &Effective) -> Option<Defaults<'w>> {
        let snapshot = &*world.snapshot;
        let release = cluster.releases.iter().find(|release| release.id == object.id)?;
        let text = |name: &str| -> Option<&'w Arc<Source>> {
            let file = snapshot.find(&release.chart_file(name)?)?;
            snapshot.sources(file).iter().find(|source| !source.document().tokens.is_empty())
        };
        let about = text("Chart.yaml");
        let field = |pointer: &str| {
            let root = NodeRef::Source(about?, 0);
            root.str_at(pointer).map(|text| text.into_owned())
        };
        let mut texts: Vec<(String, &Arc<Source>)> = Vec::new();
        texts.extend(text("values.yaml").map(|source| (String::new(), source)));
        for dependency in
            about.into_iter().flat_map(|about| NodeRef::Source(about, 0).items_at("/dependencies"))
        {
            let Some(name) = dependency.str_at("/name") else { continue };
            let alias = dependency.str_at("/alias").filter(|alias| !alias.is_empty());
            let inner = text(&format!("charts/{name}/values.yaml"));
            let prefix = format!("/{}", alias.as_ref().unwrap_or(&name));
            texts.extend(inner.map(|source| (prefix, source)));
        }
        let schema = release.chart_file("values.schema.json").and_then(|place| {
            let blob = snapshot.blob(snapshot.find(&place)?).ok()?;
            serde_json::from_slice(blob.bytes()).ok()
        });
        let label = match (field("/name"), field("/version")) {
            (Some(name), Some(version)) => format!("{name} {version}"),
            _ => "of this release".to_owned(),
        };
        (!texts.is_empty() || schema.is_some()).then_some(Defaults { label, texts, schema })
    }

    /// The key and value at a pointer below `spec.values`.
    fn entry(&self, pointer: &str) -> Option<(EntryRef<'w>, &'w Arc<Source>)> {
        let (map, _) = pointer.rsplit_once('/')?;
        let key = pointer_segments(pointer).last()?;
        self.texts.iter().find_map(|(prefix, source)| {
            let inner = below(map, prefix)?;
            let found = NodeRef::Source(source, 0).at(inner)?.entry(&key)?;
            Some((found, *source))
        })
    }

    /// The keys of a map below `spec.values`.
    pub(super) fn keys(&self, pointer: &str) -> Vec<ChartValue> {
        let mut all: Vec<ChartValue> = Vec::new();
        for (prefix, source) in &self.texts {
            let Some(map) = below(pointer, prefix).and_then(|inner| NodeRef::Source(source, 0).at(inner))
            else {
                continue;
            };
            for entry in map.entries() {
                if all.iter().any(|known| *known.key == *entry.key) {
                    continue;
                }
                let comment = entry.key_location().map(|at| comment(source, at.start));
                all.push(ChartValue {
                    key: entry.key.to_string(),
                    detail: shown(entry.value),
                    comment: comment.unwrap_or_default(),
                    is_nested: entry.value.is_map() || entry.value.is_seq(),
                });
            }
        }
        let charts = self.texts.iter().filter_map(|(prefix, _)| below(prefix, pointer)?.strip_prefix('/'));
        for key in charts.filter(|key| !key.contains('/')) {
            if !all.iter().any(|known| known.key == key) {
                all.push(ChartValue {
                    key: key.to_owned(),
                    detail: "values of a chart in it".to_owned(),
                    comment: String::new(),
                    is_nested: true,
                });
            }
        }
        let schema = self.schema.as_ref().and_then(|root| schema_at(root, pointer));
        let properties = schema.and_then(|schema| schema.get("properties")?.as_object());
        for (key, schema) in properties.into_iter().flatten() {
            if all.iter().any(|known| known.key == *key) {
                continue;
            }
            let kind = kind_of(schema);
            all.push(ChartValue {
                key: key.clone(),
                is_nested: matches!(&*kind, "object" | "array"),
                detail: kind,
                comment: description(schema),
            });
        }
        all
    }

    /// The words that a value may be: those of the schema, else of a switch.
    pub(super) fn words(&self, pointer: &str) -> Vec<String> {
        let schema = self.schema.as_ref().and_then(|root| schema_at(root, pointer));
        let listed = schema.and_then(|schema| schema.get("enum")?.as_array()).into_iter().flatten();
        let mut words: Vec<String> = listed
            .filter(|value| !value.is_object() && !value.is_array())
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        let entry = self.entry(pointer);
        let default = entry.and_then(|(entry, _)| entry.value.text());
        let is_switch = matches!(default.as_deref(), Some("true" | "false"))
            || schema.is_some_and(|schema| kind_of(schema) == "boolean");
        if words.is_empty() && is_switch {
            words = vec!["true".to_owned(), "false".to_owned()];
        }
        if let Some(default) = default.filter(|text| !text.is_empty() && !text.contains('\n'))
            && !words.iter().any(|word| *word == *default)
        {
            words.push(default.into_owned());
        }
        words
    }

    /// The default of a value, what the chart says of it, and what its schema takes.
    fn about(&self, pointer: &str) -> Option<String> {
        let entry = self.entry(pointer);
        let schema = self.schema.as_ref().and_then(|root| schema_at(root, pointer));
        if entry.is_none() && schema.is_none() {
            return None;
        }
        let plain = |text: &str| markdown::literal(text, MarkdownViewer::Editor);
        let mut parts = vec![format!("chart {}", plain(&self.label))];
        if let Some((entry, source)) = entry {
            parts.push(format!("default: {}", markdown::code(&shown(entry.value))));
            let comment = entry.key_location().map(|at| comment(source, at.start));
            parts.extend(comment.filter(|text| !text.is_empty()).map(|text| plain(&text)));
        }
        if let Some(schema) = schema {
            let kind = kind_of(schema);
            parts.extend((!kind.is_empty()).then(|| format!("type: {}", plain(&kind))));
            let words = schema.get("enum").map(|_| self.words(pointer).join(", "));
            parts.extend(words.map(|words| format!("one of {}", plain(&words))));
            let text = description(schema);
            parts.extend((!text.is_empty()).then(|| plain(&text)));
        }
        Some(parts.join("\n\n"))
    }
}

/// What the chart says of the value at a place.
pub(super) fn hover(state: &ServerState<'_>, spot: &Spot<'_>) -> Option<String> {
    let pointer = below_values(spot.object().1).filter(|pointer| !pointer.is_empty())?;
    let objects = objects_of(state.world(), spot);
    Defaults::of(state.world(), &objects)?.about(pointer)
}

/// Where the chart has the value of a place.
pub(super) fn definition(world: &World, spot: &Spot<'_>) -> Option<Location> {
    let pointer = below_values(spot.object().1).filter(|pointer| !pointer.is_empty())?;
    let objects = objects_of(world, spot);
    let (entry, _) = Defaults::of(world, &objects)?.entry(pointer)?;
    entry.key_location()
}

/// The rest of a pointer below a prefix.
fn below<'p>(pointer: &'p str, prefix: &str) -> Option<&'p str> {
    pointer.strip_prefix(prefix).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A default in a few words.
fn shown(node: NodeRef<'_>) -> String {
    match node {
        node if node.is_map() => match node.entries().count() {
            0 => "{}".to_owned(),
            count => format!("a map of {count}"),
        },
        node if node.is_seq() => match node.items().count() {
            0 => "[]".to_owned(),
            count => format!("a list of {count}"),
        },
        node => match node.text() {
            Some(text) if text.is_empty() => "\"\"".to_owned(),
            Some(text) => shorten(&clean(&text), DEFAULT),
            None => "null".to_owned(),
        },
    }
}

/// The comment lines right above a key and the comment behind it, without the marks of
/// helm-docs (`# --`) and of Bitnami's generator (`## @param NAME`).
fn comment(source: &Source, key: u32) -> String {
    let text = &*source.stream.text;
    let Some(before) = text.get(..key as usize) else { return String::new() };
    let mut end = before.rfind('\n').map_or(0, |at| at + 1);
    let mut lines: Vec<&str> = Vec::new();
    while end > 0 && lines.len() < COMMENT {
        let start = text[..end - 1].rfind('\n').map_or(0, |at| at + 1);
        let Some(line) = text[start..end - 1].trim().strip_prefix('#') else { break };
        lines.push(line);
        end = start;
    }
    lines.reverse();
    let line_end = text[key as usize..].find('\n').map_or(text.len(), |at| key as usize + at);
    let comments = source.document().comments.iter();
    let mut behind = comments.filter(|one| one.start >= key && (one.start as usize) < line_end);
    lines.extend(behind.next().and_then(|one| text.get(one.start as usize + 1..one.end as usize)));
    let plain = lines.into_iter().map(|line| {
        let line = line.trim_start_matches('#').trim().trim_start_matches("--").trim();
        match line.strip_prefix("@param ") {
            Some(rest) => rest.split_once(' ').map_or("", |(_, words)| words),
            None => line,
        }
    });
    clean(&plain.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")).replace("\\n", "\n")
}

/// The schema of a value below `spec.values`.
fn schema_at<'s>(root: &'s Value, pointer: &str) -> Option<&'s Value> {
    let mut followed = 0;
    let mut resolved = |mut schema: &'s Value| -> Option<&'s Value> {
        while let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            followed += 1;
            if followed > REFERENCES {
                return None;
            }
            schema = root.pointer(reference.strip_prefix('#')?)?;
        }
        Some(schema)
    };
    let mut schema = resolved(root)?;
    for segment in pointer_segments(pointer) {
        let is_index = !segment.is_empty() && segment.bytes().all(|byte| byte.is_ascii_digit());
        let named = schema.get("properties").and_then(|all| all.get(&*segment));
        let item = schema.get("items").filter(|items| is_index && items.is_object());
        let other = schema.get("additionalProperties").filter(|other| other.is_object());
        schema = resolved(named.or(item).or(other)?)?;
    }
    Some(schema)
}

/// The `type` of a schema; several with `or`.
fn kind_of(schema: &Value) -> String {
    match schema.get("type") {
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => String::new(),
    }
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").or_else(|| schema.get("title"));
    text.and_then(Value::as_str).map(|text| clean(text).into_owned()).unwrap_or_default()
}
