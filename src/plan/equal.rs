//! What the API server takes for the same value: a quantity in another unit, a default that
//! is written out, nothing and an empty list. Neither is an update, nor does it refuse one
//! for it.
//! Source: apimachinery `pkg/api/resource/quantity.go` (`Quantity.Equal`), `pkg/api/equality`
//! (`Semantic`, to which nil and empty are equal); Kubernetes `pkg/apis/*/v1/defaults.go`;
//! `pkg/apis/apps/v1/conversion.go` (kind and version of `volumeClaimTemplates`).

use super::fields::{FieldChange, compare};
use crate::lang::yaml::{NodeRef, pointer_segments};
use crate::model::ObjectId;
use serde_json::{Map, Value};

/// Depth to which values are compared so; what is deeper is compared as it stands.
const DEPTH: usize = 64;

/// Groups of the API server's own kinds that it compares so.
const GROUPS: [&str; 8] = [
    "",
    "apps",
    "autoscaling",
    "batch",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
];

/// Maps of texts: their keys are anybody's.
const FREE: [&str; 8] = [
    "annotations",
    "binaryData",
    "data",
    "labels",
    "matchLabels",
    "nodeSelector",
    "parameters",
    "stringData",
];

/// Fields whose own fields are all by value: an empty one is as none.
const BY_VALUE: [&str; 5] = ["limits", "metadata", "requests", "resources", "status"];

/// Maps of quantities.
const QUANTITIES: [&str; 5] = ["capacity", "hard", "limits", "requests", "used"];

/// A field with the word that the API server fills in, below a parent; an empty parent is
/// any.
const DEFAULTS: [(&str, &str, &str); 20] = [
    ("", "protocol", "TCP"),
    ("", "terminationMessagePath", "/dev/termination-log"),
    ("", "terminationMessagePolicy", "File"),
    ("", "volumeMode", "Filesystem"),
    ("fieldRef", "apiVersion", "v1"),
    ("httpGet", "scheme", "HTTP"),
    ("roleRef", "apiGroup", "rbac.authorization.k8s.io"),
    ("spec", "dnsPolicy", "ClusterFirst"),
    ("spec", "internalTrafficPolicy", "Cluster"),
    ("spec", "podManagementPolicy", "OrderedReady"),
    ("spec", "completionMode", "NonIndexed"),
    ("spec", "schedulerName", "default-scheduler"),
    ("spec", "sessionAffinity", "None"),
    ("spec", "terminationGracePeriodSeconds", "30"),
    ("configMap", "defaultMode", "420"),
    ("downwardAPI", "defaultMode", "420"),
    ("projected", "defaultMode", "420"),
    ("secret", "defaultMode", "420"),
    ("volumeClaimTemplates", "apiVersion", "v1"),
    ("volumeClaimTemplates", "kind", "PersistentVolumeClaim"),
];

/// Fields of probes with their defaults.
const OF_PROBES: [(&str, &str); 4] =
    [("failureThreshold", "3"), ("periodSeconds", "10"), ("successThreshold", "1"), ("timeoutSeconds", "1")];

/// As [`compare`], without what the API server takes for the same.
pub(crate) fn compare_objects(id: &ObjectId, base: NodeRef<'_>, head: NodeRef<'_>) -> Vec<FieldChange> {
    let mut changes = compare(base, head);
    if GROUPS.contains(&id.group()) {
        changes.retain(|change| !is_equal(change));
    }
    changes
}

/// Whether a change is none.
fn is_equal(change: &FieldChange) -> bool {
    let keys: Vec<String> = pointer_segments(&change.path)
        .map(std::borrow::Cow::into_owned)
        .filter(|key| !key.starts_with('{'))
        .collect();
    let Some((key, above)) = keys.split_last() else { return false };
    if above.iter().any(|key| FREE.contains(&&**key)) {
        return false;
    }
    // Of an item of a list the list's key is the parent of its fields.
    let is_item = change.path.ends_with('}');
    let parent = if is_item { key.as_str() } else { above.last().map_or("", String::as_str) };
    let key = if is_item { "" } else { key.as_str() };
    let canonical = |value: &Value| canonical(parent, key, value, 0);
    // What is told alike differs in something that is not known.
    change.before != change.after && canonical(&change.before) == canonical(&change.after)
}

/// A value as the API server compares it; `None` where that is as none.
fn canonical(parent: &str, key: &str, value: &Value, depth: usize) -> Option<Value> {
    if depth > DEPTH {
        return Some(value.clone());
    }
    match value {
        Value::Null => None,
        Value::Object(map) if FREE.contains(&key) => (!map.is_empty()).then(|| value.clone()),
        Value::Object(map) => {
            let own = if key.is_empty() { parent } else { key };
            let below = map
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), canonical(own, name, value, depth + 1)?)));
            let below: Map<String, Value> = below.collect();
            (!below.is_empty() || !BY_VALUE.contains(&key)).then_some(Value::Object(below))
        }
        Value::Array(items) => {
            let item = |item: &Value| canonical(key, "", item, depth + 1).unwrap_or(Value::Null);
            (!items.is_empty()).then(|| items.iter().map(item).collect())
        }
        scalar => {
            if QUANTITIES.contains(&parent) || matches!(key, "sizeLimit" | "averageValue") {
                return Some(
                    quantity(scalar).map_or_else(|| scalar.clone(), |amount| amount.to_string().into()),
                );
            }
            (!is_default(parent, key, scalar)).then(|| scalar.clone())
        }
    }
}

fn is_default(parent: &str, key: &str, value: &Value) -> bool {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let is_it = |(of, name, default): &(&str, &str, &str)| {
        *name == key && (of.is_empty() || *of == parent) && *default == text
    };
    let of_probe = parent.ends_with("Probe") && OF_PROBES.contains(&(key, text.as_str()));
    of_probe || DEFAULTS.iter().any(is_it)
}

/// A quantity in billionths; `None` where it can't be read.
pub(super) fn quantity(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => crate::lang::go::quantity::quantity(text),
        Value::Number(number) => crate::lang::go::quantity::quantity(&number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;

    fn paths(kind: &str, base: &str, head: &str) -> Vec<String> {
        let object = |spec: &str| {
            parse_nodes("a", &format!("apiVersion: {kind}\nmetadata: {{name: x}}\n{spec}")).remove(0)
        };
        let (base, head) = (object(base), object(head));
        let id = ObjectId::of(base.get_ref()).expect("an object");
        compare_objects(&id, base.get_ref(), head.get_ref()).into_iter().map(|change| change.path).collect()
    }

    #[test]
    fn what_the_api_server_takes_for_the_same_is_no_change() {
        let claims = |size: &str, more: &str| {
            format!(
                "spec: {{volumeClaimTemplates: [{{{more}metadata: {{name: d}}, spec: {{resources: {{requests: {{storage: {size}}}}}}}}}]}}"
            )
        };
        let set = "apps/v1\nkind: StatefulSet";
        let typed = "apiVersion: v1, kind: PersistentVolumeClaim, ";
        assert!(paths(set, &claims("1Gi", ""), &claims("1024Mi", typed)).is_empty());
        assert_eq!(paths(set, &claims("1Gi", ""), &claims("1G", "")), ["/spec/volumeClaimTemplates"]);
        let pod = |text: &str| format!("spec: {{template: {{spec: {{{text}}}}}}}");
        let deployment = "apps/v1\nkind: Deployment";
        for (base, head) in [
            ("a: b", "a: b, dnsPolicy: ClusterFirst, terminationGracePeriodSeconds: 30"),
            (
                "containers: [{name: a, ports: [{containerPort: 1}]}]",
                "containers: [{name: a, ports: [{protocol: TCP, containerPort: 1}]}]",
            ),
            (
                "containers: [{name: a, resources: {limits: {cpu: 0.5}}}]",
                "containers: [{name: a, resources: {limits: {cpu: 500m}, requests: {}}}]",
            ),
            ("containers: [{name: a}]", "containers: [{name: a, env: [], resources: {}}]"),
            (
                "volumes: [{name: a, emptyDir: {sizeLimit: 1Gi}}]",
                "volumes: [{name: a, emptyDir: {sizeLimit: 1024Mi}}]",
            ),
        ] {
            assert!(paths(deployment, &pod(base), &pod(head)).is_empty(), "{head}");
        }
        for (base, head) in [
            (
                "containers: [{name: a, resources: {limits: {cpu: 500m}}}]",
                "containers: [{name: a, resources: {limits: {cpu: 501m}}}]",
            ),
            ("a: b", "a: b, affinity: {}"),
            ("a: b", "a: b, volumes: [{name: a, emptyDir: {}}]"),
            ("volumes: [{name: a}]", "volumes: [{name: a, emptyDir: {}}]"),
            ("nodeSelector: {a: b}", "nodeSelector: {a: b, protocol: TCP}"),
        ] {
            assert!(!paths(deployment, &pod(base), &pod(head)).is_empty(), "{head}");
        }
        let role = |group: &str| format!("roleRef: {{{group}kind: Role, name: x}}");
        let binding = "rbac.authorization.k8s.io/v1\nkind: RoleBinding";
        assert!(paths(binding, &role(""), &role("apiGroup: rbac.authorization.k8s.io, ")).is_empty());
        assert_eq!(
            paths("v1\nkind: ConfigMap", "data: {a: b}", "data: {a: b, protocol: TCP}"),
            ["/data/protocol"]
        );
        assert_eq!(
            paths("example.com/v1\nkind: Web", "spec: {a: b}", "spec: {a: b, ports: []}"),
            ["/spec/ports"]
        );
    }

    #[test]
    fn quantities_are_equal_by_amount() {
        let of = |text: &str| quantity(&Value::String(text.to_owned()));
        for (one, other) in [
            ("1Gi", "1024Mi"),
            ("0.5", "500m"),
            ("1k", "1000"),
            ("1e3", "1k"),
            ("1.5Gi", "1536Mi"),
            ("-1", "-1000m"),
        ] {
            assert!(of(one).is_some() && of(one) == of(other), "{one} {other}");
        }
        for (one, other) in [("1G", "1Gi"), ("1", "2"), ("100m", "0.1001")] {
            assert_ne!(of(one), of(other), "{one} {other}");
        }
        for text in ["", ".", "Gi", "1.2.3", "1x", "99999999999999999999999999999"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
