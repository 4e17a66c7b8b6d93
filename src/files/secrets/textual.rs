//! Secrets in texts that are no tree: broken documents, templates, texts within values.

use super::Region;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// `kind: Secret`, as YAML or JSON writes it, with all spaces in between.
static KIND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)(^|[\s{,"'\-])kind["']?[ \t]*:[ \t]*["']?(\$\{[^}\n]*)?secret(list)?(["'\s,}]|$)"#)
        .expect("a constant expression")
});

/// Fields that say what a Secret holds.
static DATA: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)(^|[^a-z])(string|binary)?data\b").expect("a constant expression"));

/// Whether a text holds a Secret, not only a reference to one.
pub(super) fn names_secret(text: &str) -> bool {
    KIND.find_iter(text).any(|found| {
        let line = text[..found.end()].trim_end().rfind('\n').map_or(0, |at| at + 1);
        // The kind of a whole document begins its line.
        let own = text[line..].to_ascii_lowercase();
        own.starts_with("kind") || own.starts_with("\"kind") || own.starts_with('{')
    }) || KIND.is_match(text) && DATA.is_match(text)
}

/// The Secrets of a text that begins at byte `base`, one for each document of it.
pub(super) fn regions(text: &str, base: u32) -> Vec<Region> {
    let mut regions = Vec::new();
    for document in documents(text) {
        let part = &text[document.clone()];
        if names_secret(part) {
            regions.push(region(part, base + document.start as u32));
        }
    }
    regions
}

/// The parts between lines of `---`.
fn documents(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("---") && at > start {
            parts.push(start..at);
            start = at;
        }
        at += line.len();
    }
    parts.push(start..text.len());
    parts
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// A document of which only lines are known: shown are those that say what it is.
fn region(text: &str, base: u32) -> Region {
    let mut region = Region::of(base..base + text.len() as u32);
    let is_kind = |line: &&str| KIND.is_match(line) && line.trim_start().starts_with("kind");
    let own = text.lines().find(is_kind).map(indent);
    let mut at = base;
    let mut in_metadata = false;
    for line in text.split_inclusive('\n') {
        let start = at + indent(line) as u32;
        let shown = match own {
            Some(own) => shown(line, own, &mut in_metadata),
            None => 0,
        };
        let shown = if line.starts_with("---") { 3 } else { shown };
        let end = at + line.trim_end().len() as u32;
        at += line.len() as u32;
        let from = start + shown as u32;
        if from < end {
            region.hidden.push(from..end);
            pieces(&line.trim_start()[shown..], &mut region);
        }
    }
    region
}

/// How much of a line, its indentation aside, says what a Secret is; `own` is the
/// indentation of its kind.
fn shown(line: &str, own: usize, in_metadata: &mut bool) -> usize {
    let body = line.trim();
    let Some((key, rest)) = body.split_once(':') else { return 0 };
    let plain = !key.is_empty() && key.len() < 64 && key.chars().all(|c| c.is_ascii_alphanumeric());
    let scalar = !rest.contains(['{', '[', '#', '&', '*', '|', '>', '!']);
    if indent(line) == own && plain {
        *in_metadata = key == "metadata";
        return if matches!(key, "apiVersion" | "kind" | "type") && scalar {
            body.len()
        } else {
            key.len() + 1
        };
    }
    let names = *in_metadata && indent(line) > own && matches!(key, "name" | "namespace") && scalar;
    if names { body.len() } else { 0 }
}

/// The values that a piece of text may hold: what stands behind a colon, and what stands
/// between signs.
pub(super) fn pieces(text: &str, region: &mut Region) {
    let value = text.split_once(": ").map_or(text, |(_, value)| value);
    let value = value.trim().trim_end_matches([',', '}', ']']).trim_matches(['"', '\'']);
    if value.len() >= LEAST {
        region.add(value, is_random(value) || value.contains("inputs."));
    }
    let signs = |c: char| {
        c.is_whitespace()
            || matches!(c, '{' | '}' | '[' | ']' | ',' | ':' | '"' | '\'' | '#' | '*' | '&' | '!' | '`')
    };
    for piece in text.split(signs).filter(|piece| piece.len() >= LEAST && is_word_of_value(piece)) {
        region.add(piece, is_random(piece));
    }
}

/// Whether a text looks like a value that nothing else is called: what else stands in
/// such a place are names.
fn is_random(text: &str) -> bool {
    let has = |test: fn(char) -> bool| text.chars().any(test);
    text.len() >= 8 && has(|c| c.is_ascii_digit()) && has(char::is_alphabetic)
}

/// Shorter pieces are of no use to anybody.
const LEAST: usize = 4;

/// Whether a piece may be a value: no field's name and no word of the format.
fn is_word_of_value(piece: &str) -> bool {
    !matches!(
        piece,
        "apiVersion"
            | "kind"
            | "Secret"
            | "metadata"
            | "name"
            | "namespace"
            | "type"
            | "Opaque"
            | "data"
            | "stringData"
            | "labels"
            | "annotations"
            | "true"
            | "false"
            | "null"
            | "SecretList"
            | "List"
    )
}
