//! `topology-variable-type`: a variable's value is of another type than its
//! definition says, or a required one is missing.
//! Source: cluster-api `internal/topology/variables/cluster_variable_validation.go`.

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;

use super::undefined_topology_variable::variable_lists;
use super::{known, place, scopes, title};
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::lint::metadata::has_hole;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::value::{has_unknown, is_unknown, to_json};
use crate::simulate::cluster_api::topology::{Cluster, text_at};

pub(crate) static RULE: Rule = Rule {
    id: "topology-variable-type",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a variable of a topology has the wrong type, or is missing",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/topology-variable-type.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        for cluster in Cluster::all(&scope.objects) {
            let Some(class) = cluster.class(&scope.objects) else { continue };
            let id = cluster.object.id;
            let definitions = class.variables();
            let mut by_name: FxHashMap<&str, NodeRef<'_>> = FxHashMap::default();
            for (name, definition) in &definitions {
                by_name.entry(name).or_insert(*definition);
            }
            let mut set = FxHashSet::default();
            for (at, list) in variable_lists(&cluster).into_iter().enumerate() {
                for (index, variable) in cluster.object.node.items_at(&list).enumerate() {
                    let Some(name) = known(text_at(variable, &["/name"])) else { continue };
                    if at == 0 {
                        set.insert(name.clone());
                    }
                    let Some(definition) = by_name.get(&*name) else { continue };
                    let Some(value) = variable.at("/value") else { continue };
                    let schema = definition.at("/schema/openAPIV3Schema").map(to_json).unwrap_or_default();
                    let overrides = at > 0;
                    let Some((below, problem)) = mismatch(&schema, &to_json(value), overrides, 0) else {
                        continue;
                    };
                    let pointer = format!("{list}/{index}/value{below}");
                    let Some(location) = place(cluster.object, &pointer) else { continue };
                    let words = format!("variable `{name}` {}", problem.title());
                    let finding = report.report(location, title(id, &words));
                    finding
                        .why("Cluster API's webhook rejects the Cluster")
                        .label(problem.to_string())
                        .help("correct the value; the schema stands in the ClusterClass")
                        .object(id)
                        .field(pointer, name);
                    related(finding, *definition);
                }
            }
            // What is set elsewhere, or computed, is not seen here.
            if cluster.object.node.at("/spec/topology/variables").is_some_and(NodeRef::is_unknown) {
                continue;
            }
            for (name, definition) in &definitions {
                let required = definition.at("/required").and_then(NodeRef::as_bool) == Some(true);
                let defaulted = definition.at("/schema/openAPIV3Schema/default").is_some();
                if !required || defaulted || set.contains(name) || has_hole(name) {
                    continue;
                }
                let Some(location) = place(cluster.object, "/spec/topology/variables") else { continue };
                let finding = report.report(location, title(id, &format!("variable `{name}` is missing")));
                finding
                    .why("it is required and has no default, so Cluster API's webhook rejects the Cluster")
                    .help(format!("add `{name}` to spec.topology.variables"))
                    .object(id)
                    .field("/spec/topology/variables", name.clone());
                related(finding, *definition);
            }
        }
    }
}

fn related(finding: &mut crate::lint::Finding, definition: NodeRef<'_>) {
    if let Some(at) = definition.location_at("/name") {
        finding.related("its definition", at);
    }
}

/// What is wrong with a value.
enum Problem {
    Type { wanted: String, found: &'static str },
    Missing { property: String },
}

impl Problem {
    fn title(&self) -> &'static str {
        match self {
            Self::Type { .. } => "has the wrong type",
            Self::Missing { .. } => "lacks a required property",
        }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Type { wanted, found } => write!(f, "{found}, where {wanted} is wanted"),
            Self::Missing { property } => write!(f, "`{property}` is required"),
        }
    }
}

/// The first place, as a JSON Pointer below the value, where a value does not
/// fit its schema. Overrides need not be complete.
fn mismatch(schema: &Value, value: &Value, overrides: bool, depth: u32) -> Option<(String, Problem)> {
    if depth > 50 || is_unknown(value) || is_unknown(schema) || value.is_null() {
        return None;
    }
    if value.as_str().is_some_and(has_hole) {
        return None;
    }
    let int_or_string = schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    if let Some(wanted) = schema.get("type").and_then(Value::as_str)
        && !int_or_string
        && !fits(wanted, value)
    {
        return Some((String::new(), Problem::Type { wanted: wanted.to_owned(), found: type_of(value) }));
    }
    match value {
        Value::Object(map) => {
            let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
            for property in required.filter_map(Value::as_str).filter(|_| !overrides) {
                let defaulted = schema
                    .pointer(&pointer_join("/properties", property))
                    .is_some_and(|s| s.get("default").is_some());
                if !map.contains_key(property) && !defaulted && !has_unknown(value) {
                    return Some((String::new(), Problem::Missing { property: property.to_owned() }));
                }
            }
            map.iter().find_map(|(key, child)| {
                let property = schema.pointer(&pointer_join("/properties", key));
                let schema =
                    property.or_else(|| schema.get("additionalProperties").filter(|s| s.is_object()))?;
                let (below, problem) = mismatch(schema, child, overrides, depth + 1)?;
                Some((format!("{}{below}", pointer_join("", key)), problem))
            })
        }
        Value::Array(items) => {
            let schema = schema.get("items")?;
            items.iter().enumerate().find_map(|(index, item)| {
                let (below, problem) = mismatch(schema, item, overrides, depth + 1)?;
                Some((format!("/{index}{below}"), problem))
            })
        }
        _ => None,
    }
}

fn fits(wanted: &str, value: &Value) -> bool {
    match wanted {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        _ => true,
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
