//! Fields of kinds: text and JSON.

use crate::lang::text::{clean, shorten};
use crate::model::ObjectId;
use crate::report::parts::{of_clusters, paragraph};
use crate::schema::Schema;
use crate::schema::descriptions::describe;
use crate::schema::explain::{self, Versioned};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A field, and what the clusters of the repository have of it.
pub(crate) struct SchemaField<'a> {
    /// The kind as people write it.
    pub kind: &'a str,
    /// The path below it.
    pub path: &'a [&'a str],
    /// The field in each version that has it, the newest first; at least one.
    pub versions: &'a [Versioned],
    /// Clusters of the repository: the name, the version that decides, where it is
    /// known, and whether it has the field.
    pub clusters: &'a [(String, Option<String>, Option<bool>)],
}

impl SchemaField<'_> {
    /// What it does, in a sentence.
    fn description(&self) -> Option<&'static str> {
        let kind = self.versions.first()?.kind;
        describe(kind.group(), kind.kind(), self.path)
    }
}

/// In words.
pub(crate) fn text(field: &SchemaField<'_>) -> String {
    let mut out = String::new();
    let path: Vec<&str> = std::iter::once(field.kind).chain(field.path.iter().copied()).collect();
    let _ = writeln!(out, "{}", clean(&path.join(".")));
    if let Some(sentence) = field.description() {
        out.push_str("  ");
        paragraph(&mut out, sentence, "  ");
    }
    for (index, version) in field.versions.iter().enumerate() {
        let kind = version.kind;
        let name = match kind.group() {
            "" => kind.version().to_owned(),
            group => format!("{group}/{}", kind.version()),
        };
        let _ = writeln!(out, "  {name}{}", span(version));
        if index == 0 {
            details(&mut out, version.schema, version.required);
        }
    }
    if !field.clusters.is_empty() {
        let _ = writeln!(out);
    }
    let mut alike: Vec<(&Option<String>, &Option<bool>, Vec<String>)> = Vec::new();
    for (name, version, has) in field.clusters {
        match alike.iter_mut().find(|(known, same, _)| (*known, *same) == (version, has)) {
            Some((.., names)) => names.push(name.clone()),
            None => alike.push((version, has, vec![name.clone()])),
        }
    }
    for (version, has, names) in alike {
        let version = version.as_deref().unwrap_or("version unknown");
        let has = match (has, names.len()) {
            (Some(true), 1) => "has it",
            (Some(true), _) => "have it",
            (Some(false), 1) => "does not have it",
            (Some(false), _) => "do not have it",
            (None, _) => "may have it",
        };
        paragraph(&mut out, &format!("{} ({}): {has}", some_clusters(&names), clean(version)), "  ");
    }
    out
}

/// Clusters that a line names; the rest is counted.
const CLUSTERS: usize = 3;

/// `cluster prod`, `5 clusters: a, b, c and 2 more`.
fn some_clusters(names: &[String]) -> String {
    let more = names.len().saturating_sub(CLUSTERS);
    if more == 0 {
        return of_clusters(names, "");
    }
    let named = clean(&names[..CLUSTERS].join(", ")).into_owned();
    format!("{} clusters: {named} and {more} more", names.len())
}

/// A field of a definition that the repository has: what it says of the field, and what it takes.
pub(crate) fn defined(id: &ObjectId, path: &[&str], root: &Schema) -> Option<String> {
    let (schema, required) = explain::at(root, path)?;
    let mut out = format!("{}.{}\n", clean(&id.kind), clean(&path.join(".")));
    if let Some(text) = explain::description_at(root, path) {
        out.push_str("  ");
        paragraph(&mut out, &shorten(&clean(&text.replace('\n', " ")), DESCRIPTION), "  ");
    }
    let _ = writeln!(out, "  {}", clean(&id.api_version));
    details(&mut out, schema, required);
    Some(out)
}

/// Characters of a definition's own words that are shown.
const DESCRIPTION: usize = 400;

fn span(version: &Versioned) -> String {
    let product = version.kind.product;
    if !explain::has_releases(product) {
        return String::new();
    }
    match version.until {
        Some(until) => format!(", {} {} to {until}", product.name(), version.since),
        None => format!(", since {} {}", product.name(), version.since),
    }
}

fn details(out: &mut String, schema: &Schema, required: bool) {
    let mut line = |name: &str, text: String| {
        let mut words = String::new();
        paragraph(&mut words, &clean(&text), "              ");
        let _ = writeln!(out, "    {name:<10}{}", words.trim());
    };
    line("type", explain::type_of(schema));
    line("required", if required { "yes" } else { "no" }.to_owned());
    if let Some(default) = &schema.default {
        line("default", default.to_string());
    }
    if !schema.enumeration.is_empty() {
        line("values", schema.enumeration.iter().map(plain).collect::<Vec<_>>().join(", "));
    }
    if let Some(pattern) = &schema.pattern {
        line("pattern", pattern.to_string());
    }
    if let Some(format) = &schema.format {
        line("format", format.to_string());
    }
    let fields = explain::fields(schema);
    if !fields.is_empty() {
        let names = fields.iter().map(|(name, required)| match required {
            true => format!("{name} (required)"),
            false => (*name).to_owned(),
        });
        line("fields", names.collect::<Vec<_>>().join(", "));
    }
    for rule in &schema.rules {
        line("rule", rule.to_string());
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// As the JSON contract has it.
pub(crate) fn json(field: &SchemaField<'_>) -> Value {
    let version = |version: &Versioned| {
        let schema = version.schema;
        let kind = version.kind;
        let has_releases = explain::has_releases(kind.product);
        json!({
            "apiVersion": match kind.group() {
                "" => kind.version().to_owned(),
                group => format!("{group}/{}", kind.version()),
            },
            "product": kind.product.name(),
            "since": has_releases.then_some(version.since),
            "until": version.until,
            "type": explain::type_of(schema),
            "required": version.required,
            "default": schema.default,
            "values": schema.enumeration,
            "pattern": schema.pattern,
            "format": schema.format,
            "fields": explain::fields(schema)
                .into_iter()
                .map(|(name, required)| json!({"name": name, "required": required}))
                .collect::<Value>(),
            "rules": schema.rules,
        })
    };
    let cluster = |(name, version, has): &(String, Option<String>, Option<bool>)| json!({"name": name, "version": version, "available": has});
    json!({
        "kind": field.kind,
        "path": field.path.join("."),
        "description": field.description(),
        "versions": field.versions.iter().map(version).collect::<Value>(),
        "clusters": field.clusters.iter().map(cluster).collect::<Value>(),
    })
}
