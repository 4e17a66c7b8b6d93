//! Schemas from CustomResourceDefinitions and from files of JSON Schema.
//! Source: apiextensions-apiserver `pkg/apis/apiextensions/v1` (`JSONSchemaProps`),
//! `pkg/apiserver/schema` (structural schemas).

use super::tree::{Additional, Child, Dialect, Schema, SchemaText, Types, WrittenSchema};
use crate::lang::yaml::{EntryRef, NodeRef, Scalar};
use serde_json::{Number, Value};
use std::sync::Arc;

/// A version of a kind that a CustomResourceDefinition defines.
#[derive(Debug)]
pub(crate) struct Defined {
    /// The API group.
    pub group: Arc<str>,
    pub version: Arc<str>,
    pub kind: Arc<str>,
    /// Whether the API server serves it; `None` where that is unknown.
    pub served: Option<bool>,
    /// The schema of its objects; `None` where anything is taken or it is unknown.
    pub schema: Option<Arc<WrittenSchema>>,
}

/// The versions that an effective CustomResourceDefinition defines; none where its
/// group or kind is unknown.
pub(crate) fn defined(definition: NodeRef<'_>) -> Vec<Defined> {
    let text = |pointer: &str| definition.str_at(pointer).filter(|text| !text.contains("${"));
    let (Some(group), Some(kind)) = (text("/spec/group"), text("/spec/names/kind")) else {
        return Vec::new();
    };
    let (group, kind): (Arc<str>, Arc<str>) = (group.as_ref().into(), kind.as_ref().into());
    // Beside a schema of a version, this old switch makes every field free.
    let is_free =
        definition.at("/spec/preserveUnknownFields").is_some_and(|free| free.as_bool() != Some(false));
    let of_version = |version: NodeRef<'_>| {
        let name = version.str_at("/name")?;
        let schema = version.at("/schema/openAPIV3Schema").filter(|schema| schema.is_map() && !is_free);
        Some(Defined {
            group: group.clone(),
            version: name.as_ref().into(),
            kind: kind.clone(),
            served: version.at("/served").and_then(NodeRef::as_bool),
            schema: schema.map(|schema| written(schema, Dialect::Structural)),
        })
    };
    definition.items_at("/spec/versions").filter_map(of_version).collect()
}

/// The schema at a node of a text, read when it is asked for.
pub(super) fn written(node: NodeRef<'_>, dialect: Dialect) -> Arc<WrittenSchema> {
    WrittenSchema::new(node, dialect, read)
}

/// The schema at a node of a text. What isn't understood says nothing.
fn read(node: NodeRef<'_>, dialect: Dialect) -> Schema {
    let mut schema = Schema::default();
    let mut exclusive = (false, false);
    for entry in node.entries() {
        // A schema that is partly unknown takes anything there.
        if entry.value.is_unknown() {
            continue;
        }
        match &*entry.key {
            // A boolean beside the limit in OpenAPI 3.0, a limit in JSON Schema.
            "exclusiveMinimum" => exclusive.0 = entry.value.as_bool() == Some(true),
            "exclusiveMaximum" => exclusive.1 = entry.value.as_bool() == Some(true),
            // Where it leads isn't followed: anything is taken.
            "$ref" => return Schema { additional: Additional::Any, ..Schema::default() },
            _ => {}
        }
        read_structure(&mut schema, &entry, dialect);
        read_limit(&mut schema, &entry);
    }
    if exclusive.0 {
        schema.exclusive_minimum = schema.minimum.take();
    }
    if exclusive.1 {
        schema.exclusive_maximum = schema.maximum.take();
    }
    let silent = matches!(schema.additional, Additional::Silent);
    if dialect == Dialect::Structural && silent && schema.types.has(Types::OBJECT) && !schema.preserve_unknown
    {
        schema.additional = Additional::Closed;
    }
    schema
}

/// A keyword about the type, about what a map and a list hold, or about alternatives.
fn read_structure(schema: &mut Schema, entry: &EntryRef<'_>, dialect: Dialect) {
    let value = entry.value;
    let is_true = || value.as_bool() == Some(true);
    let child = |node: NodeRef<'_>| Child::Written(written(node, dialect));
    let children = |node: NodeRef<'_>| node.items().map(child).collect::<Vec<_>>();
    match &*entry.key {
        "type" => {
            let names: Vec<NodeRef<'_>> = if value.is_seq() { value.items().collect() } else { vec![value] };
            let types = names.iter().filter_map(|name| Types::of_name(&name.as_str()?));
            schema.types = types.fold(Types::default(), Types::and);
        }
        "nullable" => schema.nullable = is_true(),
        "x-kubernetes-int-or-string" => schema.int_or_string = is_true(),
        "x-kubernetes-preserve-unknown-fields" => schema.preserve_unknown = is_true(),
        "x-kubernetes-embedded-resource" => schema.embedded = is_true(),
        "properties" => {
            let field = |entry: EntryRef<'_>| (SchemaText::Owned(entry.key.into_owned()), child(entry.value));
            schema.properties = value.entries().map(field).collect();
            schema.properties.sort_by(|a, b| a.0.cmp(&b.0));
        }
        "required" => schema.required = texts(value),
        "items" => schema.items = value.is_map().then(|| child(value)),
        "additionalProperties" => {
            schema.additional = match value.as_bool() {
                Some(false) => Additional::Closed,
                Some(true) => Additional::Any,
                None => Additional::Of(child(value)),
            };
        }
        "x-kubernetes-list-type" => schema.list_type = text(value),
        "x-kubernetes-list-map-keys" => schema.list_keys = texts(value),
        "x-kubernetes-map-type" => schema.map_type = text(value),
        "anyOf" => schema.any = children(value),
        "allOf" => schema.all = children(value),
        "oneOf" => schema.one = children(value),
        "not" => schema.not = value.is_map().then(|| child(value)),
        _ => {}
    }
}

/// A keyword about which values of the type are taken.
fn read_limit(schema: &mut Schema, entry: &EntryRef<'_>) {
    let value = entry.value;
    match &*entry.key {
        "uniqueItems" => schema.unique = value.as_bool() == Some(true),
        "enum" => schema.enumeration = value.items().filter_map(json).collect(),
        "const" => schema.constant = json(value),
        "default" => schema.default = json(value),
        "pattern" => schema.pattern = text(value),
        "format" => schema.format = text(value),
        "minimum" => schema.minimum = number(value),
        "maximum" => schema.maximum = number(value),
        "exclusiveMinimum" => schema.exclusive_minimum = number(value),
        "exclusiveMaximum" => schema.exclusive_maximum = number(value),
        "multipleOf" => schema.multiple_of = number(value),
        "minLength" => schema.min_length = size(value),
        "maxLength" => schema.max_length = size(value),
        "minItems" => schema.min_items = size(value),
        "maxItems" => schema.max_items = size(value),
        "minProperties" => schema.min_properties = size(value),
        "maxProperties" => schema.max_properties = size(value),
        "x-kubernetes-validations" => {
            let rules = value.items().filter_map(|rule| text(rule.get("rule")?));
            schema.rules = rules.collect();
        }
        _ => {}
    }
}

fn text(node: NodeRef<'_>) -> Option<SchemaText> {
    node.as_str().map(|text| SchemaText::Owned(text.into_owned()))
}

fn texts(node: NodeRef<'_>) -> Vec<SchemaText> {
    node.items().filter_map(text).collect()
}

fn number(node: NodeRef<'_>) -> Option<f64> {
    match node.scalar(crate::lang::yaml::Dialect::GoYamlV3) {
        Scalar::Int(value) => Some(value as f64),
        Scalar::Uint(value) => Some(value as f64),
        Scalar::Float(value) => Some(value),
        _ => None,
    }
}

fn size(node: NodeRef<'_>) -> Option<u64> {
    node.as_int().and_then(|value| u64::try_from(value).ok())
}

/// A known value as JSON; `None` where a part of it is unknown.
pub fn json(node: NodeRef<'_>) -> Option<Value> {
    if node.is_unknown() {
        return None;
    }
    if node.is_map() {
        return node.entries().map(|entry| Some((entry.key.into_owned(), json(entry.value)?))).collect();
    }
    if node.is_seq() {
        return node.items().map(json).collect();
    }
    Some(match node.scalar(crate::lang::yaml::Dialect::GoYamlV3) {
        Scalar::Null => Value::Null,
        Scalar::Bool(value) => Value::Bool(value),
        Scalar::Int(value) => Value::from(value),
        Scalar::Uint(value) => Value::from(value),
        Scalar::Float(value) => Number::from_f64(value).map(Value::Number)?,
        Scalar::Timestamp(text) | Scalar::Str(text) => Value::String(text.into_owned()),
    })
}
