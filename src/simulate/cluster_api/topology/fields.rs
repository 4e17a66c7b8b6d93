//! Fields that classes, topologies and objects share, read by whatever names
//! v1beta1 and v1beta2 give them, and named by v1beta2's.

use std::collections::BTreeMap;

use serde_json::Value;

use super::first_at;
use crate::lang::go::duration::GoDuration;
use crate::lang::yaml::{Location, NodeRef};
use crate::model::value::{is_unknown, to_json};

/// A field of a desired object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TopologyField {
    /// Its value, in the form of v1beta2: timeouts are seconds.
    pub value: Value,
    /// Its value as written.
    pub written: Value,
    /// Where it is written: JSON Pointer in the Cluster, the class or the object.
    pub pointer: String,
    /// Where that is.
    pub location: Option<Location>,
}

/// Fields by their v1beta2 JSON Pointer in the object that has them.
pub(crate) type Fields = BTreeMap<&'static str, TopologyField>;

/// One field: its v1beta2 pointer in the object, its pointers in a topology
/// entry or a class, its pointers in the object; newest names first. An empty
/// list means that it is not there.
type FieldRow = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Fields of MachineDeployments. MachineSets and MachinePools have a part of
/// them.
const WORKER: &[FieldRow] = &[
    ("/spec/replicas", &["/replicas"], &["/spec/replicas"]),
    ("/spec/template/spec/version", &[], &["/spec/template/spec/version"]),
    ("/spec/template/spec/failureDomain", &["/failureDomain"], &["/spec/template/spec/failureDomain"]),
    ("/spec/failureDomains", &["/failureDomains"], &["/spec/failureDomains"]),
    ("/spec/template/spec/bootstrap", &[], &["/spec/template/spec/bootstrap"]),
    ("/spec/template/spec/infrastructureRef", &[], &["/spec/template/spec/infrastructureRef"]),
    (
        "/spec/template/spec/minReadySeconds",
        &["/minReadySeconds"],
        &["/spec/template/spec/minReadySeconds", "/spec/minReadySeconds"],
    ),
    ("/spec/template/spec/readinessGates", &["/readinessGates"], &["/spec/template/spec/readinessGates"]),
    ("/spec/template/spec/taints", &["/taints"], &["/spec/template/spec/taints"]),
    (
        "/spec/template/spec/deletion/nodeDrainTimeoutSeconds",
        &["/deletion/nodeDrainTimeoutSeconds", "/nodeDrainTimeout"],
        &["/spec/template/spec/deletion/nodeDrainTimeoutSeconds", "/spec/template/spec/nodeDrainTimeout"],
    ),
    (
        "/spec/template/spec/deletion/nodeVolumeDetachTimeoutSeconds",
        &["/deletion/nodeVolumeDetachTimeoutSeconds", "/nodeVolumeDetachTimeout"],
        &[
            "/spec/template/spec/deletion/nodeVolumeDetachTimeoutSeconds",
            "/spec/template/spec/nodeVolumeDetachTimeout",
        ],
    ),
    (
        "/spec/template/spec/deletion/nodeDeletionTimeoutSeconds",
        &["/deletion/nodeDeletionTimeoutSeconds", "/nodeDeletionTimeout"],
        &[
            "/spec/template/spec/deletion/nodeDeletionTimeoutSeconds",
            "/spec/template/spec/nodeDeletionTimeout",
        ],
    ),
    (
        "/spec/rollout/after",
        &["/rollout/after", "/rolloutAfter"],
        &["/spec/rollout/after", "/spec/rolloutAfter"],
    ),
    (
        "/spec/rollout/strategy",
        &["/rollout/strategy", "/strategy"],
        &["/spec/rollout/strategy", "/spec/strategy"],
    ),
    (
        "/spec/deletion/order",
        &["/deletion/order", "/strategy/rollingUpdate/deletePolicy"],
        &["/spec/deletion/order", "/spec/strategy/rollingUpdate/deletePolicy"],
    ),
    ("/spec/remediation", &["/strategy/remediation"], &["/spec/remediation", "/spec/strategy/remediation"]),
    ("/spec/machineNaming", &[], &["/spec/machineNaming", "/spec/machineNamingStrategy"]),
    ("/spec/paused", &[], &["/spec/paused"]),
    ("/spec/selector", &[], &["/spec/selector"]),
    ("/spec/clusterName", &[], &["/spec/clusterName"]),
    (HEALTH_CHECK, &["/healthCheck", "/machineHealthCheck"], &[]),
];

/// Fields of control planes that the contract names, and of KubeadmControlPlane.
const CONTROL_PLANE: &[FieldRow] = &[
    ("/spec/replicas", &["/replicas"], &["/spec/replicas"]),
    ("/spec/version", &[], &["/spec/version"]),
    (
        "/spec/machineTemplate/spec/infrastructureRef",
        &[],
        &["/spec/machineTemplate/spec/infrastructureRef", "/spec/machineTemplate/infrastructureRef"],
    ),
    (
        "/spec/machineTemplate/spec/readinessGates",
        &["/readinessGates"],
        &["/spec/machineTemplate/spec/readinessGates", "/spec/machineTemplate/readinessGates"],
    ),
    ("/spec/machineTemplate/spec/taints", &["/taints"], &["/spec/machineTemplate/spec/taints"]),
    (
        "/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds",
        &["/deletion/nodeDrainTimeoutSeconds", "/nodeDrainTimeout"],
        &[
            "/spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds",
            "/spec/machineTemplate/nodeDrainTimeout",
        ],
    ),
    (
        "/spec/machineTemplate/spec/deletion/nodeVolumeDetachTimeoutSeconds",
        &["/deletion/nodeVolumeDetachTimeoutSeconds", "/nodeVolumeDetachTimeout"],
        &[
            "/spec/machineTemplate/spec/deletion/nodeVolumeDetachTimeoutSeconds",
            "/spec/machineTemplate/nodeVolumeDetachTimeout",
        ],
    ),
    (
        "/spec/machineTemplate/spec/deletion/nodeDeletionTimeoutSeconds",
        &["/deletion/nodeDeletionTimeoutSeconds", "/nodeDeletionTimeout"],
        &[
            "/spec/machineTemplate/spec/deletion/nodeDeletionTimeoutSeconds",
            "/spec/machineTemplate/nodeDeletionTimeout",
        ],
    ),
    ("/spec/rollout/after", &["/rollout/after"], &["/spec/rollout/after", "/spec/rolloutAfter"]),
    ("/spec/rollout/before", &[], &["/spec/rollout/before", "/spec/rolloutBefore"]),
    ("/spec/rollout/strategy", &[], &["/spec/rollout/strategy", "/spec/rolloutStrategy"]),
    ("/spec/remediation", &[], &["/spec/remediation", "/spec/remediationStrategy"]),
    ("/spec/machineNaming", &[], &["/spec/machineNaming", "/spec/machineNamingStrategy"]),
    (HEALTH_CHECK, &["/healthCheck", "/machineHealthCheck"], &[]),
];

/// The MachineHealthCheck of a topology's part; a field of no object.
pub(crate) const HEALTH_CHECK: &str = "/healthCheck";

/// Which table of fields to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// MachineDeployment, MachineSet, MachinePool.
    Worker,
    /// Control plane objects.
    ControlPlane,
}

impl Table {
    fn rows(self) -> &'static [FieldRow] {
        match self {
            Self::Worker => WORKER,
            Self::ControlPlane => CONTROL_PLANE,
        }
    }
}

/// The fields of an object as written.
pub(crate) fn of_object(table: Table, object: NodeRef<'_>) -> Fields {
    read(table, object, "", |row| row.2)
}

/// The fields of a topology entry or of a class, which stands at `pointer` of
/// `root`.
pub(crate) fn of_entry(table: Table, root: NodeRef<'_>, pointer: &str) -> Fields {
    read(table, root, pointer, |row| row.1)
}

fn read(
    table: Table,
    root: NodeRef<'_>,
    base: &str,
    names: impl Fn(&FieldRow) -> &'static [&'static str],
) -> Fields {
    let Some(entry) = root.at(base) else { return Fields::new() };
    let mut fields = Fields::new();
    for row in table.rows() {
        if let Some((pointer, node)) = first_at(entry, names(row)) {
            let written = to_json(node);
            let field = TopologyField {
                value: normalise(row.0, written.clone()),
                written,
                pointer: format!("{base}{pointer}"),
                location: node.location(),
            };
            fields.insert(row.0, field);
        }
    }
    fields
}

/// v1beta1 writes timeouts as durations, v1beta2 as seconds. v1beta1's references
/// state a version and a namespace, which do not count.
fn normalise(field: &str, value: Value) -> Value {
    if field.ends_with("TimeoutSeconds") {
        return seconds(value);
    }
    match field {
        "/spec/remediation" => match value {
            Value::Object(mut remediation) => {
                for (old, new) in
                    [("retryPeriod", "retryPeriodSeconds"), ("minHealthyPeriod", "minHealthyPeriodSeconds")]
                {
                    if let Some(period) = remediation.remove(old) {
                        remediation.insert(new.to_owned(), seconds(period));
                    }
                }
                Value::Object(remediation)
            }
            other => other,
        },
        "/spec/template/spec/infrastructureRef" | "/spec/machineTemplate/spec/infrastructureRef" => {
            reference(value)
        }
        "/spec/template/spec/bootstrap" => match value {
            Value::Object(mut bootstrap) if bootstrap.contains_key("configRef") => {
                let config = bootstrap.remove("configRef").unwrap_or_default();
                bootstrap.insert("configRef".to_owned(), reference(config));
                Value::Object(bootstrap)
            }
            other => other,
        },
        // v1beta1's places of `deletion.order` and `remediation`, which have rows of
        // their own.
        "/spec/rollout/strategy" => match value {
            Value::Object(mut strategy) => {
                strategy.remove("remediation");
                if let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate") {
                    rolling.remove("deletePolicy");
                    if rolling.is_empty() {
                        strategy.remove("rollingUpdate");
                    }
                }
                Value::Object(strategy)
            }
            other => other,
        },
        _ => value,
    }
}

/// The spec of a MachineHealthCheck in the form of v1beta2, by whatever names it
/// is written. Mirrors cluster-api `api/core/v1beta1/conversion.go`.
pub(crate) fn health_check_spec(spec: Value) -> Value {
    let Value::Object(mut spec) = spec else { return spec };
    let mut put = |old: &str, group: &str, path: &[&str], convert: fn(Value) -> Value| {
        let Some(value) = spec.remove(old) else { return };
        let mut slot = spec.entry(group).or_insert_with(|| serde_json::json!({}));
        for key in path {
            if !slot.is_object() {
                *slot = serde_json::json!({});
            }
            slot = &mut slot[*key];
        }
        *slot = convert(value);
    };
    put("nodeStartupTimeout", "checks", &["nodeStartupTimeoutSeconds"], seconds);
    put("unhealthyConditions", "checks", &["unhealthyNodeConditions"], |conditions| {
        let Value::Array(conditions) = conditions else { return conditions };
        let in_seconds = conditions.into_iter().map(|condition| {
            let Value::Object(mut condition) = condition else { return condition };
            if let Some(timeout) = condition.remove("timeout") {
                condition.insert("timeoutSeconds".to_owned(), seconds(timeout));
            }
            Value::Object(condition)
        });
        Value::Array(in_seconds.collect())
    });
    put("maxUnhealthy", "remediation", &["triggerIf", "unhealthyLessThanOrEqualTo"], |value| value);
    put("unhealthyRange", "remediation", &["triggerIf", "unhealthyInRange"], |value| value);
    put("remediationTemplate", "remediation", &["templateRef"], |reference| {
        let Value::Object(mut reference) = reference else { return reference };
        reference.remove("namespace");
        Value::Object(reference)
    });
    Value::Object(spec)
}

/// A duration as seconds; anything else as it is.
pub(crate) fn seconds(value: Value) -> Value {
    match value.as_str().and_then(|text| GoDuration::parse(text).ok()) {
        Some(duration) => (duration.nanoseconds() / 1_000_000_000).into(),
        None => value,
    }
}

fn reference(value: Value) -> Value {
    if is_unknown(&value) || !value.is_object() {
        return value;
    }
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let group = match (text("apiGroup"), text("apiVersion")) {
        (Some(group), _) => Some(group),
        (None, Some(version)) => Some(crate::model::cluster_api_kinds::group_of(version)),
        (None, None) => None,
    };
    serde_json::json!({"apiGroup": group, "kind": value.get("kind"), "name": value.get("name")})
}

/// `planOnDelete` of cluster-api
/// `core/reconcilers/machinedeployment/machinedeployment_rollout_ondelete.go`: old
/// MachineSets are scaled down by the Machines that somebody deleted.
pub(crate) const ON_DELETE: &str = "OnDelete: each Machine is replaced when you delete it";

/// Whether Machines of a MachineDeployment are replaced only as somebody deletes them.
pub(crate) fn is_on_delete(fields: &Fields) -> bool {
    let strategy = fields.get("/spec/rollout/strategy").map(|field| &field.value);
    strategy.and_then(|strategy| strategy.get("type")).and_then(Value::as_str) == Some("OnDelete")
}

/// Puts the fields of a topology entry over those of its class. Each is taken
/// whole, with one trap: an entry with any `rollout` drops the class's strategy.
pub(crate) fn overlay(entry: Fields, class: Fields) -> Fields {
    let states_rollout = entry.keys().any(|field| field.starts_with("/spec/rollout/"));
    let mut fields = class;
    if states_rollout {
        fields.retain(|field, _| !field.starts_with("/spec/rollout/"));
    }
    fields.extend(entry);
    fields
}
