//! Trees as JSON values, with parts that are unknown offline marked.

use serde_json::{Map, Value, json};

use super::text::Text;
use crate::lang::yaml::emit::{HOLES, UNKNOWN};
use crate::lang::yaml::resolve::timestamp_rfc3339;
use crate::lang::yaml::{Dialect, Holes, NodeRef, Scalar, Value as Built};

/// Levels of nesting that are followed; deeper parts are unknown.
const DEPTH: u32 = 200;

/// A value that is not known, and why. Equal reasons mean equal values: what
/// cannot be computed here is still a function of its inputs, which the reason
/// must then name.
pub(crate) fn unknown(why: impl Into<String>) -> Value {
    json!({ UNKNOWN: why.into() })
}

fn with_holes(holes: &Holes) -> Value {
    let parts: Vec<Option<&str>> = holes.parts.iter().map(Option::as_deref).collect();
    json!({ HOLES: parts })
}

/// Why a value is not known.
pub(crate) fn why_unknown(value: &Value) -> Option<&str> {
    value.get(UNKNOWN)?.as_str()
}

pub(crate) fn of_text(text: &Text) -> Value {
    match text {
        Text::Known(text) => json!(text),
        Text::Holes(holes) => with_holes(holes),
        Text::Unknown(why) => unknown(why),
    }
}

/// Whether this very value is unknown, wholly or in part of its text.
pub(crate) fn is_unknown(value: &Value) -> bool {
    value.as_object().is_some_and(is_unknown_map)
}

/// Whether a map is the mark of something unknown.
pub(crate) fn is_unknown_map(map: &Map<String, Value>) -> bool {
    map.contains_key(UNKNOWN) || map.contains_key(HOLES)
}

/// Whether something in it is unknown.
pub(crate) fn has_unknown(value: &Value) -> bool {
    is_unknown(value)
        || match value {
            Value::Object(map) => map.values().any(has_unknown),
            Value::Array(items) => items.iter().any(has_unknown),
            _ => false,
        }
}

/// The tree as the API server gets it.
pub(crate) fn to_json(node: NodeRef<'_>) -> Value {
    convert(node, 0)
}

fn convert(node: NodeRef<'_>, depth: u32) -> Value {
    if depth > DEPTH {
        return unknown("nested too deeply");
    }
    if let Some(holes) = node.holes() {
        return with_holes(holes);
    }
    if let NodeRef::Built(built) = node
        && let Built::Unknown(why) = &built.value
    {
        return unknown(&**why);
    }
    if node.is_map() {
        let entries = node.entries().map(|e| (e.key.into_owned(), convert(e.value, depth + 1)));
        return Value::Object(entries.collect::<Map<_, _>>());
    }
    if node.is_seq() {
        return node.items().map(|item| convert(item, depth + 1)).collect();
    }
    match node.scalar(Dialect::GoYamlV3) {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(value) => value.into(),
        Scalar::Uint(value) => value.into(),
        Scalar::Float(value) => value.into(),
        // As kustomize hands it on.
        Scalar::Timestamp(text) => {
            Value::String(timestamp_rfc3339(&text).unwrap_or_else(|| text.into_owned()))
        }
        Scalar::Str(text) => Value::String(text.into_owned()),
    }
}
