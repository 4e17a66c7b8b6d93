//! A schema as JSON Schema, for editors and for comparison.

use super::tree::{Additional, Child, Schema, Types};
use serde_json::{Map, Value, json};

/// Levels that are written; below them anything goes.
const DEPTH: usize = 60;

/// The JSON Schema (draft 2020-12) of a whole object.
pub fn json_schema(schema: &Schema, title: &str) -> Value {
    let mut value = of(schema, 0);
    if let Value::Object(map) = &mut value {
        map.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        map.insert("title".to_owned(), json!(title));
    }
    value
}

fn of(schema: &Schema, depth: usize) -> Value {
    if depth > DEPTH {
        return json!({});
    }
    let child = |child: &Child| of(child.get(), depth + 1);
    let children = |children: &[Child]| children.iter().map(child).collect::<Value>();
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| out.insert(key.to_owned(), value);
    let mut types: Vec<&str> = schema.types.names().collect();
    if schema.int_or_string {
        types = vec!["integer", "string"];
    } else if schema.quantity {
        types = vec!["number", "string"];
    }
    if !types.is_empty() && (schema.nullable || schema.types.has(Types::NULL)) {
        types.push("null");
    }
    match types.as_slice() {
        [] => {}
        [one] => drop(put("type", json!(one))),
        many => drop(put("type", json!(many))),
    }
    if !schema.properties.is_empty() {
        let fields = schema.properties.iter().map(|(name, field)| (name.to_string(), child(field)));
        put("properties", Value::Object(fields.collect()));
    }
    if !schema.required.is_empty() {
        // What is filled in before the validation need not be written.
        let is_needed = |name: &&super::Text| {
            !schema.filled.contains(name) && schema.property(name).is_none_or(|field| field.default.is_none())
        };
        put("required", schema.required.iter().filter(is_needed).map(|name| json!(name)).collect());
    }
    match &schema.additional {
        Additional::Closed if !schema.preserve_unknown && !schema.embedded => {
            put("additionalProperties", json!(false));
        }
        Additional::Of(values) => drop(put("additionalProperties", child(values))),
        Additional::Silent | Additional::Any | Additional::Closed => {}
    }
    if let Some(items) = &schema.items {
        put("items", child(items));
    }
    let mut allowed = schema.enumeration.clone();
    allowed.extend(schema.operator_enumeration.iter().cloned());
    if !allowed.is_empty() {
        put("enum", Value::Array(allowed));
    }
    for (key, value) in [("const", &schema.constant), ("default", &schema.default)] {
        if let Some(value) = value {
            put(key, value.clone());
        }
    }
    for (key, text) in [
        ("pattern", &schema.pattern),
        ("format", &schema.format),
        ("x-kubernetes-list-type", &schema.list_type),
        ("x-kubernetes-map-type", &schema.map_type),
    ] {
        if let Some(text) = text {
            put(key, json!(text));
        }
    }
    for (key, limit) in [
        ("minimum", schema.minimum),
        ("maximum", schema.maximum),
        ("exclusiveMinimum", schema.exclusive_minimum),
        ("exclusiveMaximum", schema.exclusive_maximum),
        ("multipleOf", schema.multiple_of),
    ] {
        if let Some(limit) = limit {
            put(key, if limit.fract() == 0.0 { json!(limit as i64) } else { json!(limit) });
        }
    }
    for (key, limit) in [
        ("minLength", schema.min_length),
        ("maxLength", schema.max_length),
        ("minItems", schema.min_items),
        ("maxItems", schema.max_items),
        ("minProperties", schema.min_properties),
        ("maxProperties", schema.max_properties),
    ] {
        if let Some(limit) = limit {
            put(key, json!(limit));
        }
    }
    if schema.unique {
        put("uniqueItems", json!(true));
    }
    if !schema.list_keys.is_empty() {
        put("x-kubernetes-list-map-keys", json!(schema.list_keys));
    }
    if schema.preserve_unknown {
        put("x-kubernetes-preserve-unknown-fields", json!(true));
    }
    if schema.embedded {
        put("x-kubernetes-embedded-resource", json!(true));
    }
    if !schema.rules.is_empty() {
        let rules = schema.rules.iter().map(|rule| json!({"rule": rule}));
        put("x-kubernetes-validations", rules.collect());
    }
    for (key, alternatives) in [("anyOf", &schema.any), ("allOf", &schema.all), ("oneOf", &schema.one)] {
        if !alternatives.is_empty() && !schema.int_or_string {
            put(key, children(alternatives));
        }
    }
    if let Some(not) = &schema.not {
        put("not", child(not));
    }
    Value::Object(out)
}
