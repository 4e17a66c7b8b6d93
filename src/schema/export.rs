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
    let mut out = Map::new();
    put_structure(&mut out, schema, &child);
    put_values(&mut out, schema);
    put_limits(&mut out, schema);
    put_extensions(&mut out, schema);
    for (key, alternatives) in [("anyOf", &schema.any), ("allOf", &schema.all), ("oneOf", &schema.one)] {
        if !alternatives.is_empty() && !schema.int_or_string {
            put(&mut out, key, alternatives.iter().map(child).collect());
        }
    }
    if let Some(not) = &schema.not {
        put(&mut out, "not", child(not));
    }
    Value::Object(out)
}

fn put(out: &mut Map<String, Value>, key: &str, value: Value) {
    out.insert(key.to_owned(), value);
}

/// The type, and what a map and a list hold; `child` writes a schema below this one.
fn put_structure(out: &mut Map<String, Value>, schema: &Schema, child: &dyn Fn(&Child) -> Value) {
    match types_of(schema).as_slice() {
        [] => {}
        [one] => put(out, "type", json!(one)),
        many => put(out, "type", json!(many)),
    }
    if !schema.properties.is_empty() {
        let fields = schema.properties.iter().map(|(name, field)| (name.to_string(), child(field)));
        put(out, "properties", Value::Object(fields.collect()));
    }
    if !schema.required.is_empty() {
        // What is filled in before the validation need not be written.
        let is_needed = |name: &&super::SchemaText| {
            !schema.filled.contains(name) && schema.property(name).is_none_or(|field| field.default.is_none())
        };
        put(out, "required", schema.required.iter().filter(is_needed).map(|name| json!(name)).collect());
    }
    match &schema.additional {
        Additional::Closed if !schema.preserve_unknown && !schema.embedded => {
            put(out, "additionalProperties", json!(false));
        }
        Additional::Of(values) => put(out, "additionalProperties", child(values)),
        Additional::Silent | Additional::Any | Additional::Closed => {}
    }
    if let Some(items) = &schema.items {
        put(out, "items", child(items));
    }
}

fn types_of(schema: &Schema) -> Vec<&str> {
    let mut types: Vec<&str> = match () {
        () if schema.int_or_string => vec!["integer", "string"],
        () if schema.quantity => vec!["number", "string"],
        () => schema.types.names().collect(),
    };
    if !types.is_empty() && (schema.nullable || schema.types.has(Types::NULL)) {
        types.push("null");
    }
    types
}

/// The values that are allowed, and the one that is taken where none is written.
fn put_values(out: &mut Map<String, Value>, schema: &Schema) {
    let mut allowed = schema.enumeration.clone();
    allowed.extend(schema.operator_enumeration.iter().cloned());
    if !allowed.is_empty() {
        put(out, "enum", Value::Array(allowed));
    }
    for (key, value) in [("const", &schema.constant), ("default", &schema.default)] {
        if let Some(value) = value {
            put(out, key, value.clone());
        }
    }
    for (key, text) in [
        ("pattern", &schema.pattern),
        ("format", &schema.format),
        ("x-kubernetes-list-type", &schema.list_type),
        ("x-kubernetes-map-type", &schema.map_type),
    ] {
        if let Some(text) = text {
            put(out, key, json!(text));
        }
    }
}

fn put_limits(out: &mut Map<String, Value>, schema: &Schema) {
    for (key, limit) in [
        ("minimum", schema.minimum),
        ("maximum", schema.maximum),
        ("exclusiveMinimum", schema.exclusive_minimum),
        ("exclusiveMaximum", schema.exclusive_maximum),
        ("multipleOf", schema.multiple_of),
    ] {
        if let Some(limit) = limit {
            put(out, key, if limit.fract() == 0.0 { json!(limit as i64) } else { json!(limit) });
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
            put(out, key, json!(limit));
        }
    }
    if schema.unique {
        put(out, "uniqueItems", json!(true));
    }
}

/// What Kubernetes adds to JSON Schema.
fn put_extensions(out: &mut Map<String, Value>, schema: &Schema) {
    if !schema.list_keys.is_empty() {
        put(out, "x-kubernetes-list-map-keys", json!(schema.list_keys));
    }
    if schema.preserve_unknown {
        put(out, "x-kubernetes-preserve-unknown-fields", json!(true));
    }
    if schema.embedded {
        put(out, "x-kubernetes-embedded-resource", json!(true));
    }
    if !schema.rules.is_empty() {
        let rules = schema.rules.iter().map(|rule| json!({"rule": rule}));
        put(out, "x-kubernetes-validations", rules.collect());
    }
}
