//! `malformed-image-policy-marker`: a comment meant for image automation that it
//! does not read.
//! Source: image-automation-controller `internal/update/{filereader,setters}.go`
//! and kyaml `fieldmeta`: the comment of a scalar must be a JSON object of strings.

use crate::lang::yaml::Location;
use crate::lang::yaml::tape::{Document, TokenKind};
use crate::lint::metadata::{clipped, has_hole};
use crate::lint::rules::schema::malformed_field_value::is_placeholder;
use crate::lint::{Check, DocumentView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Unchecked;
use std::collections::BTreeMap;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-image-policy-marker",
    group: Group::Annotation,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an image policy marker that image automation does not read",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/annotation/malformed-image-policy-marker.md"),
    check: Check::Document(check),
};

fn check(view: &DocumentView<'_>, report: &mut Reporter<'_>) {
    let Some(stream) = view.stream() else { return };
    if view.file.path.ends_with(".json") || memchr::memmem::find(stream.text.as_bytes(), b"$image").is_none()
    {
        return;
    }
    for source in view.sources {
        let document = source.document();
        let keys = std::cell::OnceCell::new();
        for comment in &document.comments {
            let written = &stream.text[comment.start as usize..comment.end as usize];
            let body = written.trim_start_matches('#').trim();
            let lower = body.to_ascii_lowercase();
            if !lower.contains("$imagepolicy") || has_hole(body) {
                continue;
            }
            let own_line = is_own_line(&stream.text, comment.start);
            // Prose about markers, and marked lines that are commented out.
            let commented_out = body.starts_with('#');
            let bare = !own_line && lower.trim_start_matches(['"', '\'']).starts_with("$imagepolicy");
            if commented_out || (!body.contains('{') && !bare) || (own_line && !body.starts_with('{')) {
                continue;
            }
            let (level, fault, help) = match (
                fault(body),
                place(document, keys.get_or_init(|| keys_of(document)), comment.start, own_line),
            ) {
                (Some((fault, help)), _) => (Level::Error, fault, help),
                (None, MarkerPlace::KeyAbove) => (
                    Level::Warning,
                    "a comment above a key belongs to the key, not to the value",
                    "put the marker at the end of the value's line",
                ),
                (None, MarkerPlace::Collection) => (
                    Level::Warning,
                    "it stands at a map or list, and only single values are updated",
                    "put the marker at the end of the value's line",
                ),
                (None, MarkerPlace::Nothing) => continue,
                (None, MarkerPlace::Value) => {
                    unknown_policy(view, source.location(comment.start..comment.end), body, report);
                    continue;
                }
            };
            if is_placeholder(body) {
                let what = format!("image policy marker {}", clipped(body, 80));
                let place = source.location(comment.start..comment.end);
                report.not_checked(Unchecked::Placeholder, Some(place), what);
                continue;
            }
            report
                .report(source.location(comment.start..comment.end), "image policy marker is not read")
                .level(level)
                .why(format!("image-automation-controller skips it and never updates the value: {fault}"))
                .help(help)
                .field(String::new(), clipped(body, 200));
        }
    }
}

/// Reports a marker that is well formed and names a policy which the repository would
/// have. A repository without policies leaves them to another one.
fn unknown_policy(view: &DocumentView<'_>, location: Location, body: &str, report: &mut Reporter<'_>) {
    let Ok(fields) = serde_json::from_str::<BTreeMap<String, String>>(body) else { return };
    let Some(policy) = fields.get("$imagepolicy") else { return };
    let mut parts = policy.split(':');
    let (Some(namespace), Some(name)) = (parts.next(), parts.next()) else { return };
    let policies = view.beyond().image_policies();
    let near = policies.like(namespace, name);
    if policies.has(namespace, name) || (near.is_none() && !policies.is_complete(namespace)) {
        return;
    }
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("create ImagePolicy {namespace}/{name}, or remove the marker"),
    };
    report
        .report(location, format!("image policy marker names no known ImagePolicy {namespace}/{name}"))
        .level(Level::Warning)
        .why("image-automation-controller skips it and never updates the value")
        .help(help)
        .field(String::new(), clipped(body, 200));
}

const SHAPE: &str =
    r#"write `# {"$imagepolicy": "namespace:policy"}`, with `:tag`, `:name` or `:digest` after it if wanted"#;

/// What is wrong with the text of a marker, and what to do.
fn fault(body: &str) -> Option<(&'static str, &'static str)> {
    let Ok(fields) = serde_json::from_str::<BTreeMap<String, String>>(body) else {
        return Some(("the comment must be a JSON object of strings and nothing else", SHAPE));
    };
    let Some(policy) = fields.get("$imagepolicy") else {
        let other = fields.keys().any(|key| key.eq_ignore_ascii_case("$imagepolicy"));
        let fault = if other { "its key is read in lower case only" } else { "it has no key `$imagepolicy`" };
        return Some((fault, SHAPE));
    };
    let parts: Vec<&str> = policy.split(':').collect();
    match parts[..] {
        [namespace, name] | [namespace, name, _] if namespace.is_empty() || name.is_empty() => {
            Some(("the namespace or the policy's name is empty", SHAPE))
        }
        [namespace, name] | [namespace, name, _] if !is_name(namespace) || !is_name(name) => {
            Some(("what stands for the namespace or the policy's name can't be one", SHAPE))
        }
        [_, _] | [_, _, "tag" | "name" | "digest"] => None,
        [_, _, _] => Some(("the part after the policy's name is none of `tag`, `name`, `digest`", SHAPE)),
        _ => Some(("the policy is not named as `namespace:name`", SHAPE)),
    }
}

/// Whether an object may be called so, as far as its letters go.
/// Source: apimachinery `pkg/util/validation` (`IsDNS1123Subdomain`).
fn is_name(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte))
}

/// What a comment stands at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkerPlace {
    /// At the end of a value's line, or above a single list item.
    Value,
    /// At the end of a line whose value is a map or list below it.
    Collection,
    /// On a line of its own above a key.
    KeyAbove,
    /// On a line of its own above nothing.
    Nothing,
}

fn is_own_line(text: &str, comment: u32) -> bool {
    let line = text[..comment as usize].rfind(['\n', '\r']).map_or(0, |at| at + 1);
    text[line..comment as usize].trim().is_empty()
}

fn place(document: &Document, keys: &[bool], comment: u32, own_line: bool) -> MarkerPlace {
    let tokens = &document.tokens;
    let below = tokens.partition_point(|token| token.start < comment);
    if own_line {
        return match tokens.get(below) {
            Some(token) if token.kind == TokenKind::Mapping || keys[below] => MarkerPlace::KeyAbove,
            Some(token) if matches!(token.kind, TokenKind::Scalar(_)) && !token.empty => MarkerPlace::Value,
            _ => MarkerPlace::Nothing,
        };
    }
    // A block header's comment and an omitted value are left alone.
    let Some(last) = below.checked_sub(1).filter(|at| keys[*at]) else { return MarkerPlace::Value };
    match tokens.get(tokens[last].next as usize) {
        Some(value) if !value.empty && !matches!(value.kind, TokenKind::Scalar(_)) => MarkerPlace::Collection,
        _ => MarkerPlace::Value,
    }
}

/// Which tokens are keys of maps.
fn keys_of(document: &Document) -> Vec<bool> {
    let tokens = &document.tokens;
    let mut keys = vec![false; tokens.len()];
    for (at, map) in tokens.iter().enumerate().filter(|(_, token)| token.kind == TokenKind::Mapping) {
        let mut key = at + 1;
        while key < map.next as usize {
            keys[key] = true;
            let value = tokens[key].next as usize;
            key = tokens.get(value).map_or(tokens.len(), |token| token.next as usize);
        }
    }
    keys
}
