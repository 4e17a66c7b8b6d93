//! Variables of a topology as patches see them.
//!
//! Mirrors cluster-api `core/reconcilers/topology/cluster/patches/variables`
//! (`Global`, `ControlPlane`, `MachineDeployment`, `GetVariableValue`) and
//! `internal/topology/variables` (defaulting).

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{Class, Cluster, WorkerEntry, text_at};
use crate::lang::yaml::NodeRef;
use crate::model::value::{is_unknown, is_unknown_map, to_json, unknown};
use crate::simulate::cluster_api::propagation::WorkerKind;

/// Values by variable name, `builtin` among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TopologyVariables {
    values: Map<String, Value>,
    /// What the Cluster sets, also where only an extension defines it.
    set: Map<String, Value>,
}

/// Variables that hold for all templates of a Cluster.
pub(crate) fn global(cluster: &Cluster<'_>, class: &Class<'_>) -> TopologyVariables {
    let set = cluster.topology().map(|t| named_values(t, "/variables")).unwrap_or_default();
    let mut values = Map::new();
    for (name, definition) in class.variables() {
        let schema = definition.at("/schema/openAPIV3Schema").map(to_json).unwrap_or_default();
        let mut value = set.get(&name).cloned().or_else(|| schema.get("default").cloned());
        if let Some(value) = &mut value {
            apply_defaults(&schema, value, 0);
        }
        if let Some(value) = value {
            values.insert(name, value);
        }
    }
    let node = cluster.object.node;
    let class_ref = cluster.class_ref();
    let (name, namespace) = class_ref.map(|c| (c.name, c.namespace)).unzip();
    let network = |pointer: &str| node.at(pointer).map(to_json);
    let mut builtin = json!({"cluster": {
        "name": cluster.object.name(),
        "namespace": cluster.object.namespace(),
        "uid": unknown("the Cluster's uid"),
        "topology": {
            "version": cluster.version(),
            "class": name,
            "classNamespace": namespace,
            "classRef": {"name": name, "namespace": namespace},
        },
        "metadata": {
            "labels": network("/metadata/labels"),
            "annotations": network("/metadata/annotations").map(without_records),
        },
        "network": {
            "serviceDomain": network("/spec/clusterNetwork/serviceDomain"),
            "services": network("/spec/clusterNetwork/services/cidrBlocks"),
            "pods": network("/spec/clusterNetwork/pods/cidrBlocks"),
        },
    }});
    drop_nulls(&mut builtin);
    values.insert("builtin".to_owned(), builtin);
    TopologyVariables { values, set }
}

/// Annotations without those that hold other objects (`cleanupAnnotations`).
fn without_records(mut annotations: Value) -> Value {
    if let Value::Object(map) = &mut annotations {
        map.remove("kubectl.kubernetes.io/last-applied-configuration");
        map.remove("cluster.x-k8s.io/conversion-data");
    }
    annotations
}

/// `name` and `value` of the entries at a pointer.
fn named_values(node: NodeRef<'_>, pointer: &str) -> Map<String, Value> {
    node.items_at(pointer)
        .filter_map(|entry| Some((text_at(entry, &["/name"])?, entry.at("/value").map(to_json)?)))
        .collect()
}

/// Fills in what a schema defaults inside a value that is given.
fn apply_defaults(schema: &Value, value: &mut Value, depth: u32) {
    if depth > 50 || is_unknown(value) {
        return;
    }
    match value {
        Value::Object(map) => {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                if !map.contains_key(name)
                    && let Some(default) = property.get("default")
                {
                    map.insert(name.clone(), default.clone());
                }
                if let Some(child) = map.get_mut(name) {
                    apply_defaults(property, child, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for item in items {
                apply_defaults(schema, item, depth + 1);
            }
        }
        _ => {}
    }
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, child| !child.is_null());
        for child in map.values_mut() {
            drop_nulls(child);
        }
        map.retain(|_, child| child.as_object().is_none_or(|map| !map.is_empty()));
    }
}

impl TopologyVariables {
    /// With the control plane's overrides and builtins.
    pub(crate) fn for_control_plane(&self, cluster: &Cluster<'_>, class: &Class<'_>) -> Self {
        let topology = cluster.topology();
        let part = topology.and_then(|t| t.at("/controlPlane"));
        let overrides = part.map(|p| named_values(p, "/variables/overrides")).unwrap_or_default();
        let infrastructure = class
            .control_plane_machines()
            .map(|_| json!({"infrastructureRef": {"name": unknown("a generated name")}}));
        let builtin = json!({"controlPlane": {
            "name": unknown("a generated name"),
            "metadata": unknown("the metadata of the control plane"),
            "version": cluster.version(),
            "replicas": part.and_then(|p| p.at("/replicas")).map(to_json),
            "machineTemplate": infrastructure,
        }});
        self.with(class, overrides, builtin)
    }

    /// With the overrides and builtins of a worker entry.
    pub(crate) fn for_worker(
        &self,
        cluster: &Cluster<'_>,
        class: &Class<'_>,
        entry: &WorkerEntry<'_>,
    ) -> Self {
        let name = match entry.kind {
            WorkerKind::MachineDeployment => "machineDeployment",
            WorkerKind::MachinePool => "machinePool",
        };
        let builtin = json!({ name: {
            "version": cluster.version(),
            "metadata": unknown("the metadata of the workers"),
            "class": entry.class,
            "name": unknown("a generated name"),
            "topologyName": entry.name,
            "replicas": entry.node.at("/replicas").map(to_json),
            "bootstrap": {"configRef": {"name": unknown("a generated name")}},
            "infrastructureRef": {"name": unknown("a generated name")},
        }});
        self.with(class, named_values(entry.node, "/variables/overrides"), builtin)
    }

    fn with(&self, class: &Class<'_>, overrides: Map<String, Value>, mut builtin: Value) -> Self {
        let mut values = self.values.clone();
        let mut set = self.set.clone();
        set.extend(overrides.clone());
        let defined = class.variables();
        values.extend(overrides.into_iter().filter(|(name, _)| defined.iter().any(|(d, _)| d == name)));
        drop_nulls(&mut builtin);
        if let (Some(Value::Object(all)), Value::Object(more)) = (values.get_mut("builtin"), builtin) {
            all.extend(more);
        }
        Self { values, set }
    }

    /// All by name, `builtin` among them.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.values.iter()
    }

    /// Of a map of values; none of anything else.
    pub(crate) fn of(values: Value) -> TopologyVariables {
        let values = if let Value::Object(values) = values { values } else { Map::new() };
        TopologyVariables { values, set: Map::new() }
    }

    /// The value at a path such as `builtin.cluster.name` or `users[0].name`;
    /// none where a part is not set (`GetVariableValue`).
    pub(crate) fn get(&self, path: &str) -> Option<Value> {
        if is_unknown_map(&self.values) {
            return Some(Value::Object(self.values.clone()));
        }
        let mut segments = path.split('.');
        let (name, index) = segment(segments.next()?)?;
        let mut value = item(self.values.get(name)?, index)?;
        for part in segments {
            if is_unknown(value) {
                break;
            }
            let (name, index) = segment(part)?;
            value = item(value.get(name)?, index)?;
        }
        Some(value.clone())
    }

    /// A short text that differs whenever any variable differs, those that only an extension
    /// defines among them.
    pub(crate) fn digest_all(&self, more: &str) -> String {
        let mut hasher = Sha256::new();
        hasher.update(more);
        hasher.update(Value::Object(self.set.clone()).to_string());
        hasher.update(Value::Object(self.values.clone()).to_string());
        short(hasher)
    }
}

pub(super) fn short(hasher: Sha256) -> String {
    hasher.finalize()[..6].iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A name, with the index of an item where one is written (`parsePathSegment`).
pub(crate) fn segment(segment: &str) -> Option<(&str, Option<usize>)> {
    match segment.split_once('[') {
        Some((name, index)) => Some((name, Some(index.strip_suffix(']')?.parse::<usize>().ok()?))),
        None => (!segment.contains(']')).then_some((segment, None)),
    }
}

fn item(value: &Value, index: Option<usize>) -> Option<&Value> {
    match index {
        Some(index) => value.get(index),
        None => Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables() -> TopologyVariables {
        let values = json!({
            "a": "x", "n": 3, "b": true, "big": 1_000_000, "l": [{"c": 1}],
            "builtin": {"cluster": {"name": "prod", "uid": unknown("uid")}},
        });
        TopologyVariables::of(values)
    }

    #[test]
    fn paths_name_parts_of_values() {
        for (path, value) in [
            ("a", Some(json!("x"))),
            ("builtin.cluster.name", Some(json!("prod"))),
            ("l[0].c", Some(json!(1))),
            ("l[1].c", None),
            ("missing", None),
            ("a.b", None),
        ] {
            assert_eq!(variables().get(path), value, "{path}");
        }
    }

    #[test]
    fn defaults_fill_objects_that_are_given() {
        let schema = json!({"properties": {"a": {"default": 1}, "b": {"properties": {"c": {"default": 2}}}}});
        let mut value = json!({"b": {}});
        apply_defaults(&schema, &mut value, 0);
        assert_eq!(value, json!({"a": 1, "b": {"c": 2}}));
    }
}
