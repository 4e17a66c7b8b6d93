//! Whether a control plane Machine's KubeadmConfig still matches the
//! `kubeadmConfigSpec` of its KubeadmControlPlane.
//!
//! Mirrors cluster-api `controlplane/kubeadm/pkg/filters.go`
//! (`matchesKubeadmConfig`, `PrepareKubeadmConfigsForDiff`, `dropOmittableFields`)
//! and `pkg/desiredstate` (`ComputeDesiredKubeadmConfig`,
//! `DefaultFeatureGates`). Field names of v1beta1 and v1beta2 are both read.

use serde_json::{Map, Value, json};

use super::template;
use crate::model::kubernetes_version::Version;
use crate::simulate::cluster_api::topology::fields::seconds;

const CONTROL_PLANE_HEALTH: &str = "controlPlaneComponentHealthCheckSeconds";

/// How a control plane Machine came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigOrigin {
    /// The first Machine: `kubeadm init`.
    Init,
    /// Every other: `kubeadm join`.
    Join,
}

/// The KubeadmConfig spec that a control plane of this `kubeadmConfigSpec`
/// gives to a Machine. `version` is the control plane's; it decides the
/// defaulted feature gate.
pub(crate) fn desired(kubeadm_config_spec: &Value, origin: ConfigOrigin, version: &str) -> Value {
    let mut spec = object(kubeadm_config_spec);
    match origin {
        ConfigOrigin::Init => {
            spec.remove("joinConfiguration");
        }
        ConfigOrigin::Join => {
            spec.remove("initConfiguration");
            let join = entry(&mut spec, "joinConfiguration");
            join.entry("controlPlane").or_insert_with(|| json!({}));
        }
    }
    if defaults_local_mode(version) {
        let cluster = entry(&mut spec, "clusterConfiguration");
        entry(cluster, "featureGates").entry("ControlPlaneKubeletLocalMode").or_insert(Value::Bool(true));
    }
    Value::Object(spec)
}

fn defaults_local_mode(version: &str) -> bool {
    Version::parse(version).is_some_and(|v| v.major == 1 && (31..36).contains(&v.minor))
}

/// Whether a Machine with KubeadmConfig `current` may stay. Both arguments are
/// specs: the control plane's and the Machine's.
pub fn matches(kubeadm_config_spec: &Value, version: &str, current: &Value) -> bool {
    differences(kubeadm_config_spec, version, current).is_empty()
}

/// The paths, as their keys, for which a Machine with KubeadmConfig `current` is
/// replaced; empty when it may stay.
pub(crate) fn differences(kubeadm_config_spec: &Value, version: &str, current: &Value) -> Vec<Vec<String>> {
    let as_join = diff(&desired(kubeadm_config_spec, ConfigOrigin::Join, version), current, true);
    if as_join.is_empty() || origin(current) == ConfigOrigin::Join {
        return as_join;
    }
    diff(&desired(kubeadm_config_spec, ConfigOrigin::Init, version), current, false)
}

/// Whether a KubeadmConfig spec is that of the first Machine: the others have
/// `joinConfiguration.controlPlane`.
pub(crate) fn origin(kubeadm_config: &Value) -> ConfigOrigin {
    match kubeadm_config.pointer("/joinConfiguration/controlPlane") {
        None | Some(Value::Null) => ConfigOrigin::Init,
        Some(_) => ConfigOrigin::Join,
    }
}

fn diff(desired: &Value, current: &Value, convert: bool) -> Vec<Vec<String>> {
    let mut desired = object(desired);
    let mut current = object(current);
    if convert && origin(&Value::Object(current.clone())) == ConfigOrigin::Init {
        init_to_join(&desired, &mut current);
    }
    for path in ["controlPlaneEndpoint", "dns"] {
        for spec in [&mut desired, &mut current] {
            if let Some(Value::Object(cluster)) = spec.get_mut("clusterConfiguration") {
                cluster.remove(path);
            }
        }
    }
    for spec in [&mut desired, &mut current] {
        drop_irrelevant(spec);
    }
    let mut desired = Value::Object(desired);
    let mut current = Value::Object(current);
    drop_omittable(&mut desired, &mut Vec::new());
    drop_omittable(&mut current, &mut Vec::new());
    template::differences(&current, &desired)
}

/// Puts the parts that `kubeadm init` and `kubeadm join` share where join has
/// them.
fn init_to_join(desired: &Map<String, Value>, current: &mut Map<String, Value>) {
    let init = match current.remove("initConfiguration") {
        Some(Value::Object(init)) => init,
        _ => Map::new(),
    };
    let join = entry(current, "joinConfiguration");
    for key in ["timeouts", "patches", "skipPhases", "nodeRegistration"] {
        match init.get(key) {
            Some(value) => join.insert(key.to_owned(), value.clone()),
            None => join.remove(key),
        };
    }
    let endpoint = init.get("localAPIEndpoint").cloned().unwrap_or_default();
    join.insert("controlPlane".to_owned(), json!({ "localAPIEndpoint": endpoint }));
    match desired.get("joinConfiguration").and_then(|j| j.get("caCertPath")) {
        Some(path) => join.insert("caCertPath".to_owned(), path.clone()),
        None => join.remove("caCertPath"),
    };
}

/// Removes what never replaces a Machine, and defaults that mean the same as
/// their absence.
fn drop_irrelevant(spec: &mut Map<String, Value>) {
    if spec.get("format").is_some_and(|f| f == "cloud-config") {
        spec.remove("format");
    }
    if let Some(Value::Object(cluster)) = spec.get_mut("clusterConfiguration") {
        drop_type(cluster);
        if let Some(Value::Object(api_server)) = cluster.get_mut("apiServer") {
            api_server.remove("timeoutForControlPlane");
        }
        for component in ["apiServer", "controllerManager", "scheduler"] {
            list_args(cluster.get_mut(component), "extraArgs");
        }
        if let Some(etcd) = cluster.get_mut("etcd") {
            list_args(etcd.get_mut("local"), "extraArgs");
        }
    }
    for key in ["initConfiguration", "joinConfiguration"] {
        let Some(Value::Object(section)) = spec.get_mut(key) else {
            continue;
        };
        drop_type(section);
        section.remove("discovery");
        if let Some(Value::Object(timeouts)) = section.get_mut("timeouts") {
            timeouts.remove(CONTROL_PLANE_HEALTH);
        }
        list_args(section.get_mut("nodeRegistration"), "kubeletExtraArgs");
        if let Some(Value::Object(node)) = section.get_mut("nodeRegistration")
            && node.get("imagePullPolicy").is_some_and(|p| p == "IfNotPresent")
        {
            node.remove("imagePullPolicy");
        }
    }
}

/// A spec in the form of v1beta2, as far as its conversion is plain: arguments
/// as lists, without the fields that v1beta2 has not. Only for comparing specs
/// of two API versions: within v1beta1 those fields count.
pub(crate) fn converted(kubeadm_config_spec: &Value) -> Value {
    let mut spec = object(kubeadm_config_spec);
    spec.remove("useExperimentalRetryJoin");
    let mut patience = None;
    if let Some(Value::Object(cluster)) = spec.get_mut("clusterConfiguration") {
        drop_type(cluster);
        if let Some(Value::Object(api_server)) = cluster.get_mut("apiServer") {
            patience = api_server.remove("timeoutForControlPlane");
            if api_server.is_empty() {
                cluster.remove("apiServer");
            }
        }
        for key in ["networking", "kubernetesVersion", "clusterName"] {
            cluster.remove(key);
        }
        for component in ["apiServer", "controllerManager", "scheduler"] {
            list_args(cluster.get_mut(component), "extraArgs");
        }
        if let Some(etcd) = cluster.get_mut("etcd") {
            list_args(etcd.get_mut("local"), "extraArgs");
        }
    }
    for key in ["initConfiguration", "joinConfiguration"] {
        if let Some(Value::Object(section)) = spec.get_mut(key) {
            drop_type(section);
            list_args(section.get_mut("nodeRegistration"), "kubeletExtraArgs");
        }
        // One field became one of each section.
        if let Some(patience) = &patience {
            let timeouts = entry(entry(&mut spec, key), "timeouts");
            timeouts.insert(CONTROL_PLANE_HEALTH.to_owned(), seconds(patience.clone()));
        }
    }
    Value::Object(spec)
}

fn drop_type(section: &mut Map<String, Value>) {
    section.remove("apiVersion");
    section.remove("kind");
}

/// v1beta1 writes arguments as a map, v1beta2 as a list of name and value; the
/// conversion sorts them by name.
fn list_args(holder: Option<&mut Value>, key: &str) {
    let Some(Value::Object(holder)) = holder else {
        return;
    };
    let Some(Value::Object(args)) = holder.get(key) else {
        return;
    };
    let mut names: Vec<&String> = args.keys().collect();
    names.sort_unstable();
    let list = names.into_iter().map(|name| json!({ "name": name, "value": args[name] })).collect();
    holder.insert(key.to_owned(), Value::Array(list));
}

/// Drops nulls, empty lists and empty maps. `nodeRegistration.taints` stays:
/// kubeadm taints control planes when it is absent, and not when it is empty.
fn drop_omittable(value: &mut Value, path: &mut Vec<String>) {
    // Deeper than any KubeadmConfig; left as it is.
    if path.len() > 100 {
        return;
    }
    match value {
        Value::Object(map) => {
            let keys: Vec<String> = map.keys().cloned().collect();
            for key in keys {
                path.push(key.clone());
                if let Some(child) = map.get_mut(&key) {
                    drop_omittable(child, path);
                    let taints = path.ends_with(&["nodeRegistration".into(), "taints".into()]);
                    if is_empty(child) && !(taints && child.is_array()) {
                        map.remove(&key);
                    }
                }
                path.pop();
            }
        }
        Value::Array(items) => {
            for item in items {
                path.push(String::new());
                drop_omittable(item, path);
                path.pop();
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// The object under `key`, created or put in place of anything else.
fn entry<'m>(map: &'m mut Map<String, Value>, key: &str) -> &'m mut Map<String, Value> {
    let slot = map.entry(key).or_insert_with(|| json!({}));
    if !slot.is_object() {
        *slot = json!({});
    }
    slot.as_object_mut().expect("made an object above")
}

/// The paths that differ between the shared parts of `initConfiguration` and
/// `joinConfiguration`, so that the first Machine and the others are configured
/// alike; as [`differences`] compares them.
pub(crate) fn init_join_differences(kubeadm_config_spec: &Value) -> Vec<String> {
    let spec = object(kubeadm_config_spec);
    let of_both = |key: &str| {
        let mut section = spec.get(key)?.clone();
        keep_of_both_commands(&mut section);
        Some(section)
    };
    let first =
        Map::from_iter(of_both("initConfiguration").map(|init| ("initConfiguration".to_owned(), init)));
    let join = of_both("joinConfiguration").unwrap_or_default();
    let others = json!({ "joinConfiguration": join });
    let paths = diff(&desired(&others, ConfigOrigin::Join, "v1.0.0"), &Value::Object(first), true);
    paths.into_iter().map(|path| path.join(".")).collect()
}

/// The phases of kubeadm that both `init` and `join` have and that leave something on the
/// Machine. A phase of the other command is refused ("invalid phase name"), so that it can
/// only be skipped in one of the two.
/// Source: kubernetes `cmd/kubeadm/app/cmd/init.go`, `join.go` (`AppendPhase`) and
/// `phases/workflow/runner.go` (`computePhaseRunFlags`).
const SHARED_PHASES: &[&str] = &["kubelet-start", "wait-control-plane"];

/// Drops what `kubeadm init` and `kubeadm join` have each for itself: the checks before
/// they start, which leave nothing on the Machine, and phases of one command only.
fn keep_of_both_commands(section: &mut Value) {
    if let Some(Value::Object(node)) = section.get_mut("nodeRegistration") {
        node.remove("ignorePreflightErrors");
    }
    if let Some(Value::Array(phases)) = section.get_mut("skipPhases") {
        phases.retain(|phase| phase.as_str().is_some_and(|name| SHARED_PHASES.contains(&name)));
    }
}

/// Whether the webhook of KubeadmControlPlanes lets this path, in dots and from
/// `spec` on, change (`controlplane/kubeadm/webhooks/admission/kubeadmcontrolplane.go`).
/// Names of v1beta1 are read as well.
pub(crate) fn may_change(path: &str) -> bool {
    const WITH_CHILDREN: &[&str] = &[
        "spec.kubeadmConfigSpec.clusterConfiguration.etcd",
        "spec.kubeadmConfigSpec.clusterConfiguration.dns",
        "spec.kubeadmConfigSpec.clusterConfiguration.imageRepository",
        "spec.kubeadmConfigSpec.clusterConfiguration.featureGates",
        "spec.kubeadmConfigSpec.clusterConfiguration.apiServer",
        "spec.kubeadmConfigSpec.clusterConfiguration.controllerManager",
        "spec.kubeadmConfigSpec.clusterConfiguration.scheduler",
        "spec.kubeadmConfigSpec.clusterConfiguration.certificateValidityPeriodDays",
        "spec.kubeadmConfigSpec.clusterConfiguration.encryptionAlgorithm",
        "spec.kubeadmConfigSpec.initConfiguration.nodeRegistration",
        "spec.kubeadmConfigSpec.initConfiguration.patches",
        "spec.kubeadmConfigSpec.initConfiguration.skipPhases",
        "spec.kubeadmConfigSpec.initConfiguration.bootstrapTokens",
        "spec.kubeadmConfigSpec.initConfiguration.localAPIEndpoint",
        "spec.kubeadmConfigSpec.initConfiguration.timeouts",
        "spec.kubeadmConfigSpec.joinConfiguration.nodeRegistration",
        "spec.kubeadmConfigSpec.joinConfiguration.patches",
        "spec.kubeadmConfigSpec.joinConfiguration.skipPhases",
        "spec.kubeadmConfigSpec.joinConfiguration.caCertPath",
        "spec.kubeadmConfigSpec.joinConfiguration.controlPlane",
        "spec.kubeadmConfigSpec.joinConfiguration.discovery",
        "spec.kubeadmConfigSpec.joinConfiguration.timeouts",
        "spec.kubeadmConfigSpec.bootCommands",
        "spec.kubeadmConfigSpec.preKubeadmCommands",
        "spec.kubeadmConfigSpec.postKubeadmCommands",
        "spec.kubeadmConfigSpec.files",
        "spec.kubeadmConfigSpec.verbosity",
        "spec.kubeadmConfigSpec.users",
        "spec.kubeadmConfigSpec.ntp",
        "spec.kubeadmConfigSpec.ignition",
        "spec.kubeadmConfigSpec.diskSetup",
        "spec.kubeadmConfigSpec.format",
        "spec.kubeadmConfigSpec.mounts",
        "spec.kubeadmConfigSpec.useExperimentalRetryJoin",
        "spec.machineTemplate",
        "spec.replicas",
        "spec.version",
        "spec.remediation",
        "spec.remediationStrategy",
        "spec.machineNaming",
        "spec.machineNamingStrategy",
        "spec.rollout",
        "spec.rolloutAfter",
        "spec.rolloutBefore",
        "spec.rolloutStrategy",
        "metadata",
    ];
    WITH_CHILDREN
        .iter()
        .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_replace_machines_and_fields_that_do_not() {
        // (what, control plane's spec, Machine's spec, whether it stays)
        let cases = [
            (
                "discovery, dns and endpoint do not count",
                json!({"clusterConfiguration": {"dns": {"imageTag": "v1"}},
                       "joinConfiguration": {"discovery": {"tlsBootstrapToken": "a"}}}),
                json!({"clusterConfiguration": {"controlPlaneEndpoint": "c:6443"},
                       "joinConfiguration": {"controlPlane": {}}}),
                true,
            ),
            (
                "health check timeout does not count",
                json!({"joinConfiguration": {"timeouts":
                       {"controlPlaneComponentHealthCheckSeconds": 60}}}),
                json!({"joinConfiguration": {"controlPlane": {}}}),
                true,
            ),
            (
                "another timeout counts",
                json!({"joinConfiguration": {"timeouts": {"etcdAPICallSeconds": 60}}}),
                json!({"joinConfiguration": {"controlPlane": {}}}),
                false,
            ),
            (
                "empty is absent",
                json!({"files": [], "clusterConfiguration": {"apiServer": {"extraArgs": []}}}),
                json!({"joinConfiguration": {"controlPlane": {}}}),
                true,
            ),
            (
                "null is absent, in entries of lists too",
                json!({"users": null, "files": [{"path": "/etc/a", "owner": null}]}),
                json!({"files": [{"path": "/etc/a"}], "joinConfiguration": {"controlPlane": {}}}),
                true,
            ),
            (
                "but not for taints of the node",
                json!({"joinConfiguration": {"nodeRegistration": {"taints": []}}}),
                json!({"joinConfiguration": {"controlPlane": {}}}),
                false,
            ),
            (
                "arguments as map and as list",
                json!({"clusterConfiguration": {"apiServer": {"extraArgs":
                       [{"name": "v", "value": "2"}]}}}),
                json!({"clusterConfiguration": {"apiServer": {"extraArgs": {"v": "2"}}},
                       "joinConfiguration": {"controlPlane": {}}}),
                true,
            ),
            (
                "first Machine, initConfiguration changed, joinConfiguration as it was",
                json!({"initConfiguration": {"nodeRegistration": {"name": "new"}},
                       "joinConfiguration": {"nodeRegistration": {"name": "old"}}}),
                json!({"initConfiguration": {"nodeRegistration": {"name": "old"}}}),
                true,
            ),
            (
                "first Machine, CA path changed",
                json!({"joinConfiguration": {"caCertPath": "/ca"}}),
                json!({"initConfiguration": {}}),
                true,
            ),
        ];
        for (what, control_plane, machine, stays) in cases {
            assert_eq!(matches(&control_plane, "v1.30.0", &machine), stays, "{what}");
        }
    }

    #[test]
    fn the_local_mode_gate_is_defaulted_for_five_minors() {
        let machine = |gates: Value| {
            json!({"clusterConfiguration": {"featureGates": gates},
                   "joinConfiguration": {"controlPlane": {}}})
        };
        let on = machine(json!({"ControlPlaneKubeletLocalMode": true}));
        assert!(matches(&json!({}), "v1.31.0", &on));
        assert!(matches(&json!({}), "v1.35.9", &on));
        assert!(!matches(&json!({}), "v1.36.0", &on));
        assert!(!matches(&json!({}), "v1.31.0", &machine(json!({}))));
    }

    #[test]
    fn init_and_join_are_compared_in_what_they_share() {
        let same = json!({
            "initConfiguration": {"nodeRegistration": {"name": "n"}, "bootstrapTokens": [{}],
                                  "localAPIEndpoint": {"bindPort": 1}},
            "joinConfiguration": {"nodeRegistration": {"name": "n"}, "discovery": {},
                                  "controlPlane": {"localAPIEndpoint": {"bindPort": 1}}}});
        assert_eq!(init_join_differences(&same), Vec::<String>::new());
        let differ = json!({
            "initConfiguration": {"nodeRegistration": {"taints": []}},
            "joinConfiguration": {"nodeRegistration": {}}});
        assert_eq!(init_join_differences(&differ), ["joinConfiguration.nodeRegistration.taints"]);
        let of_one_command = json!({
            "initConfiguration": {"skipPhases": ["addon/kube-proxy", "preflight"],
                                  "nodeRegistration": {"ignorePreflightErrors": ["Swap"]}},
            "joinConfiguration": {"skipPhases": ["control-plane-prepare/certs"]}});
        assert_eq!(init_join_differences(&of_one_command), Vec::<String>::new());
        let of_both = json!({"initConfiguration": {"skipPhases": ["kubelet-start"]}});
        assert_eq!(init_join_differences(&of_both), ["joinConfiguration.skipPhases"]);
    }
}
