//! Trees as JSON values, with parts that are unknown offline marked.

use serde_json::{Map, Value, json};

use crate::lang::yaml::resolve::timestamp_rfc3339;
use crate::lang::yaml::{Dialect, NodeRef, Scalar, Value as Built};

/// Levels of nesting that are followed; deeper parts are unknown.
const DEPTH: u32 = 200;

/// A value that is not known, and why. Equal reasons mean equal values: what
/// cannot be computed here is still a function of its inputs, which the reason
/// must then name.
pub(crate) fn unknown(why: impl Into<String>) -> Value {
    json!({ "$unknown": why.into() })
}

/// Whether this very value is unknown, wholly or in part of its text.
pub(crate) fn is_unknown(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.contains_key("$unknown") || map.contains_key("$holes"))
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
        let parts: Vec<Option<&str>> = holes.parts.iter().map(Option::as_deref).collect();
        return json!({ "$holes": parts });
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
