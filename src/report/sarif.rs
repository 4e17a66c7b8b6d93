//! `sarif`: SARIF 2.1.0 for code scanning.

use super::{Lint, docs, place, rule_url, shown_edits, uri};
use crate::config::Level;
use crate::lang::text::clean;
use crate::lang::yaml::{FilePath, Location};
use crate::lint::rules::RULES;
use crate::lint::{Applicability, Edit, Finding, Fix, Rule};
use serde_json::{Value, json};
use std::io;

/// The log of one run.
///
/// # Errors
/// None in practice: documentation is written to memory.
pub fn log(lint: &Lint<'_>) -> io::Result<Value> {
    let rules = RULES.iter().map(|rule| descriptor(rule)).collect::<io::Result<Vec<Value>>>()?;
    let mut results: Vec<Value> = Vec::new();
    for (finding, fingerprint) in lint.with_unique_fingerprints() {
        results.push(result(lint, finding, &fingerprint));
    }
    for suppressed in lint.outcome.suppressed.iter().filter(|one| one.finding.level >= lint.show) {
        let mut silenced = result(lint, &suppressed.finding, &suppressed.finding.fingerprint);
        let kind = if suppressed.by_baseline { "external" } else { "inSource" };
        silenced["suppressions"] = json!([{"kind": kind, "justification": clean(&suppressed.reason)}]);
        results.push(silenced);
    }
    let not_checked = lint.outcome.not_checked.iter().map(|(reason, places)| {
        let text = format!("not checked: {}", reason.counted(places.len()));
        json!({"level": "note", "message": {"text": text}, "descriptor": {"id": reason.name()}})
    });
    Ok(json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "forebay",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": bases(lint),
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": not_checked.collect::<Vec<_>>(),
            }],
            "results": results,
        }],
    }))
}

/// What paths are relative to: the root, and each tree beside it.
fn bases(lint: &Lint<'_>) -> Value {
    let mut bases = json!({ROOT: {"description": {"text": "The root of the repository."}}});
    for (name, directory) in beside(lint) {
        let uri = format!("{}/", uri(directory));
        bases[name] = json!({"uri": uri, "uriBaseId": ROOT});
    }
    bases
}

/// The base of all URIs.
const ROOT: &str = "%SRCROOT%";

fn descriptor(rule: &Rule) -> io::Result<Value> {
    let (mut text, mut markdown) = (Vec::new(), Vec::new());
    docs::text(&mut text, rule, super::Terminal::default())?;
    docs::markdown(&mut markdown, rule)?;
    Ok(json!({
        "id": rule.id,
        "shortDescription": {"text": rule.summary},
        "help": {"text": String::from_utf8_lossy(&text), "markdown": String::from_utf8_lossy(&markdown)},
        "helpUri": rule_url(rule),
        "defaultConfiguration": {"level": level(rule.level), "enabled": rule.default},
        "properties": {
            "tags": ["gitops", rule.group.name()],
            "precision": "high",
            "problem.severity": match rule.level {
                Level::Error => "error",
                Level::Warning => "warning",
                Level::Info | Level::Off => "recommendation",
            },
        },
    }))
}

fn level(level: Level) -> &'static str {
    match level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Info => "note",
        Level::Off => "none",
    }
}

fn result(lint: &Lint<'_>, finding: &Finding, fingerprint: &str) -> Value {
    let mut message = clean(&finding.title).into_owned();
    for (lead, text) in [("\n", &finding.why), ("\nhelp: ", &finding.help)] {
        if !text.is_empty() {
            message.push_str(lead);
            message.push_str(&clean(text));
        }
    }
    let logical = finding.objects.iter().map(|id| {
        json!({"name": clean(&id.name), "fullyQualifiedName": clean(&id.to_string()), "kind": "resource"})
    });
    let mut location = physical(lint, &finding.location);
    if !finding.objects.is_empty() {
        location["logicalLocations"] = logical.collect();
    }
    let related =
        finding.related.iter().map(|related| (clean(&related.message).into_owned(), &related.location));
    let via = finding.location.via.iter().map(|via| (format!("via {}", via.kind.name()), &via.location));
    let related = related.chain(via).enumerate().map(|(index, (text, place))| {
        let mut related = physical(lint, place);
        related["id"] = json!(index + 1);
        related["message"] = json!({"text": text});
        related
    });
    let mut result = json!({
        "ruleId": finding.rule.id,
        "ruleIndex": RULES.iter().position(|rule| std::ptr::eq(*rule, finding.rule)),
        "level": level(finding.level),
        "message": {"text": message},
        "locations": [location],
        "partialFingerprints": {"forebay/v1": fingerprint},
    });
    let related: Vec<Value> = related.collect();
    if !related.is_empty() {
        result["relatedLocations"] = json!(related);
    }
    let fixes = finding.fixes.iter().filter(|fix| fix.applicability != Applicability::DisplayOnly);
    let fixes = fixes.map(|fix| (fix, shown_edits(lint.snapshot(), finding, fix)));
    let fixes = fixes.filter(|(_, edits)| !edits.is_empty());
    let fixes: Vec<Value> = fixes.map(|(fix, edits)| self::fix(lint, fix, edits)).collect();
    if !fixes.is_empty() {
        result["fixes"] = json!(fixes);
    }
    result
}

fn artifact(lint: &Lint<'_>, file: &FilePath) -> Value {
    match beside(lint).find_map(|(name, directory)| Some((name, inside(directory, file)?))) {
        Some((name, inside)) => json!({"uri": uri(inside), "uriBaseId": name}),
        None => json!({"uri": uri(&lint.in_repository(file.shown())), "uriBaseId": ROOT}),
    }
}

/// The trees beside the root's: a base for the paths of each, and its directory as seen
/// from the root.
fn beside<'l>(lint: &Lint<'l>) -> impl Iterator<Item = (String, &'l str)> {
    let directories = lint.snapshot().directories_beside();
    directories.into_iter().enumerate().map(|(at, directory)| (format!("TREE{}", at + 1), directory))
}

fn inside<'f>(directory: &str, file: &'f FilePath) -> Option<&'f str> {
    if file.of_root().is_some() {
        return None;
    }
    file.shown().strip_prefix(directory)?.strip_prefix('/')
}

fn physical(lint: &Lint<'_>, location: &Location) -> Value {
    let mut physical = json!({"artifactLocation": artifact(lint, &location.file)});
    if let Some(place) = place(lint.snapshot(), location) {
        physical["region"] = json!({
            "startLine": place.from.0,
            "startColumn": place.from.1,
            "endLine": place.to.0,
            "endColumn": place.to.1,
            "byteOffset": place.start,
            "byteLength": place.end - place.start,
        });
    }
    json!({"physicalLocation": physical})
}

fn fix(lint: &Lint<'_>, fix: &Fix, edits: &[Edit]) -> Value {
    let mut changes: Vec<(FilePath, Vec<Value>)> = Vec::new();
    for edit in edits {
        let file = FilePath::in_root(edit.path.as_arc().clone());
        let range = Location { file: file.clone(), start: edit.start, end: edit.end, via: Vec::new() };
        let region = &physical(lint, &range)["physicalLocation"]["region"];
        let replacement = json!({"deletedRegion": region, "insertedContent": {"text": edit.text}});
        match changes.iter_mut().find(|(known, _)| *known == file) {
            Some((_, replacements)) => replacements.push(replacement),
            None => changes.push((file, vec![replacement])),
        }
    }
    let changes = changes.into_iter().map(|(file, replacements)| {
        json!({"artifactLocation": artifact(lint, &file), "replacements": replacements})
    });
    json!({"description": {"text": clean(&fix.title)}, "artifactChanges": changes.collect::<Vec<_>>()})
}
