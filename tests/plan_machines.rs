//! Changes of Cluster API objects through `forebay plan`: the rows of what rolls,
//! what is propagated in place, and what waits.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

const CONFIG: &str = "version: 1\nclusters: [{name: production, path: fleet}]\n";

fn write(root: &Path, objects: &[Value]) {
    let fleet = root.join("fleet");
    std::fs::create_dir_all(&fleet).expect("a directory");
    let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
    std::fs::write(fleet.join("objects.yaml"), documents.join("\n---\n")).expect("writable");
    std::fs::write(root.join(".forebay.yaml"), CONFIG).expect("writable");
}

/// Effects of the categories `machines` and `hook`.
fn plan(base: &[Value], head: &[Value]) -> Vec<Value> {
    let directory = TempDir::new().expect("a temporary directory");
    let (before, after) = (directory.path().join("base"), directory.path().join("head"));
    write(&before, base);
    write(&after, head);
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["plan", "--format", "json", "--base"])
        .arg(&before)
        .arg("--head")
        .arg(&after)
        .arg("--root")
        .arg(&after)
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let Value::Array(effects) = answer["effects"].take() else { return Vec::new() };
    effects.into_iter().filter(|e| e["category"] == "machines" || e["category"] == "hook").collect()
}

fn words(effects: &[Value]) -> Vec<&str> {
    let mut words: Vec<&str> = effects.iter().filter_map(|e| e["effect"].as_str()).collect();
    words.sort_unstable();
    words
}

fn set(object: &Value, pointer: &str, value: Value) -> Value {
    let mut changed = object.clone();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = changed.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer}"));
    match (parent.is_array(), key.parse::<usize>()) {
        (true, Ok(index)) => parent[index] = value,
        _ => parent[key.replace("~1", "/")] = value,
    }
    changed
}

fn machine_deployment() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
        "metadata": {"name": "md", "namespace": "fleet", "labels": {}, "annotations": {}},
        "spec": {
            "clusterName": "c", "replicas": 3, "selector": {"matchLabels": {"a": "b"}},
            "rollout": {"strategy": {"type": "RollingUpdate"}}, "deletion": {},
            "template": {
                "metadata": {"labels": {"a": "b"}, "annotations": {}},
                "spec": {
                    "clusterName": "c", "version": "v1.33.0", "deletion": {},
                    "bootstrap": {"configRef": {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "b"}},
                    "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "i"},
                },
            },
        },
    })
}

#[test]
fn rows_of_machine_deployments() {
    let base = machine_deployment();
    let spec = "/spec/template/spec";
    for (pointer, value, effect) in [
        (format!("{spec}/version"), json!("v1.34.0"), "rollout"),
        (format!("{spec}/bootstrap/configRef/name"), json!("b2"), "rollout"),
        (format!("{spec}/bootstrap"), json!({"dataSecretName": "s"}), "rollout"),
        (format!("{spec}/infrastructureRef/name"), json!("i2"), "rollout"),
        (format!("{spec}/failureDomain"), json!("1"), "rollout"),
        ("/spec/rollout/after".to_owned(), json!("2026-03-26T10:00:00Z"), "rollout"),
        ("/spec/template/metadata/labels/c".to_owned(), json!("d"), "propagated-in-place"),
        ("/spec/template/metadata/annotations/c".to_owned(), json!("d"), "propagated-in-place"),
        (format!("{spec}/deletion/nodeDrainTimeoutSeconds"), json!(10), "propagated-in-place"),
        (format!("{spec}/deletion/nodeVolumeDetachTimeoutSeconds"), json!(10), "propagated-in-place"),
        (format!("{spec}/deletion/nodeDeletionTimeoutSeconds"), json!(10), "propagated-in-place"),
        (format!("{spec}/minReadySeconds"), json!(10), "propagated-in-place"),
        (format!("{spec}/readinessGates"), json!([{"conditionType": "x"}]), "propagated-in-place"),
        (format!("{spec}/taints"), json!([{"key": "a", "effect": "NoSchedule"}]), "propagated-in-place"),
        ("/spec/replicas".to_owned(), json!(5), "scale"),
        ("/spec/rollout/strategy".to_owned(), json!({"type": "OnDelete"}), "object-only"),
        ("/spec/remediation".to_owned(), json!({"maxInFlight": 1}), "object-only"),
        ("/spec/deletion/order".to_owned(), json!("Oldest"), "object-only"),
        ("/spec/machineNaming".to_owned(), json!({"template": "x"}), "object-only"),
        ("/spec/paused".to_owned(), json!(true), "object-only"),
        ("/spec/selector/matchLabels".to_owned(), json!({"x": "y"}), "object-only"),
        ("/metadata/annotations/c".to_owned(), json!("d"), "object-only"),
        ("/metadata/labels/c".to_owned(), json!("d"), "object-only"),
        ("/spec/clusterName".to_owned(), json!("other"), "rejected"),
    ] {
        let effects = plan(std::slice::from_ref(&base), &[set(&base, &pointer, value)]);
        assert_eq!(words(&effects), [effect], "{pointer}");
    }
    assert!(plan(std::slice::from_ref(&base), std::slice::from_ref(&base)).is_empty());
}

#[test]
fn names_of_v1beta1_mean_the_same() {
    let mut old = machine_deployment();
    old["apiVersion"] = json!("cluster.x-k8s.io/v1beta1");
    let spec = old.pointer_mut("/spec/template/spec").expect("a spec");
    spec["infrastructureRef"] = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevMachineTemplate", "name": "i", "namespace": "fleet"});
    spec["nodeDrainTimeout"] = json!("10s");
    let new = set(&machine_deployment(), "/spec/template/spec/deletion/nodeDrainTimeoutSeconds", json!(10));
    assert!(plan(&[old], &[new]).is_empty());
}

fn control_plane() -> Value {
    json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "fleet", "labels": {}},
        "spec": {
            "replicas": 3, "version": "v1.33.0", "rollout": {},
            "machineTemplate": {"metadata": {"labels": {}}, "spec": {"deletion": {},
                "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": "i"}}},
            "kubeadmConfigSpec": {"clusterConfiguration": {"etcd": {"local": {"dataDir": "/a"}}},
                "initConfiguration": {"nodeRegistration": {"name": "n"}},
                "joinConfiguration": {"nodeRegistration": {"name": "n"}}},
        },
    })
}

#[test]
fn rows_of_control_planes() {
    let base = control_plane();
    let (machines, kubeadm) = ("/spec/machineTemplate", "/spec/kubeadmConfigSpec");
    for (pointer, value, effect) in [
        ("/spec/version".to_owned(), json!("v1.34.0"), Some("rollout")),
        (format!("{machines}/spec/infrastructureRef/name"), json!("i2"), Some("rollout")),
        (format!("{kubeadm}/files"), json!([{"path": "/x"}]), Some("rollout")),
        (format!("{kubeadm}/files"), json!([]), Some("new-machines-only")),
        (format!("{kubeadm}/clusterConfiguration/dns"), json!({"imageTag": "v1"}), Some("object-only")),
        (format!("{kubeadm}/joinConfiguration/discovery"), json!({"a": 1}), Some("new-machines-only")),
        (format!("{kubeadm}/joinConfiguration/nodeRegistration"), json!({"name": "m"}), Some("rollout")),
        (format!("{kubeadm}/joinConfiguration/nodeRegistration/taints"), json!([]), Some("rollout")),
        (format!("{kubeadm}/clusterConfiguration/certificatesDir"), json!("/x"), Some("rejected")),
        (
            format!("{kubeadm}/clusterConfiguration/etcd"),
            json!({"external": {"endpoints": []}}),
            Some("rejected"),
        ),
        ("/spec/rollout/after".to_owned(), json!("2026-03-26T10:00:00Z"), Some("rollout")),
        ("/spec/rollout/before".to_owned(), json!({"certificatesExpiryDays": 21}), Some("unknown")),
        (format!("{machines}/metadata/labels/a"), json!("b"), Some("propagated-in-place")),
        (format!("{machines}/spec/deletion/nodeDrainTimeoutSeconds"), json!(10), Some("propagated-in-place")),
        (format!("{machines}/spec/taints"), json!([{"key": "a"}]), Some("propagated-in-place")),
        ("/spec/replicas".to_owned(), json!(5), Some("scale")),
        ("/spec/remediation".to_owned(), json!({"maxRetry": 1}), Some("object-only")),
        ("/metadata/labels/a".to_owned(), json!("b"), Some("object-only")),
    ] {
        let effects = plan(std::slice::from_ref(&base), &[set(&base, &pointer, value)]);
        assert_eq!(words(&effects), effect.into_iter().collect::<Vec<_>>(), "{pointer}: {effects:?}");
    }
}

/// A Cluster with its class and templates: class, templates, Cluster.
fn topology() -> Vec<Value> {
    let meta = |name: &str| json!({"name": name, "namespace": "fleet"});
    let reference = |group: &str, kind: &str, name: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name}});
    let mut control_plane = reference("controlplane", "KubeadmControlPlaneTemplate", "cp");
    control_plane["machineInfrastructure"] = reference("infrastructure", "DevMachineTemplate", "cpm");
    let template = |group: &str, kind: &str, name: &str| {
        json!({"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "metadata": meta(name),
               "spec": {"template": {"metadata": {}, "spec": {}}}})
    };
    vec![
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": meta("class"), "spec": {
            "infrastructure": reference("infrastructure", "DevClusterTemplate", "ic"),
            "controlPlane": control_plane,
            "workers": {"machineDeployments": [{"class": "w",
                "bootstrap": reference("bootstrap", "KubeadmConfigTemplate", "b"),
                "infrastructure": reference("infrastructure", "DevMachineTemplate", "m")}]},
            "variables": [{"name": "image", "required": false, "schema": {"openAPIV3Schema": {"type": "string", "default": "v1"}}}],
            "patches": [{"name": "image", "definitions": [{
                "selector": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate",
                             "matchResources": {"machineDeploymentClass": {"names": ["*"]}}},
                "jsonPatches": [{"op": "add", "path": "/spec/template/spec/image", "valueFrom": {"variable": "image"}}]}]}],
        }}),
        template("infrastructure", "DevClusterTemplate", "ic"),
        template("controlplane", "KubeadmControlPlaneTemplate", "cp"),
        template("infrastructure", "DevMachineTemplate", "cpm"),
        template("bootstrap", "KubeadmConfigTemplate", "b"),
        template("infrastructure", "DevMachineTemplate", "m"),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": meta("c"), "spec": {"topology": {
            "classRef": {"name": "class"}, "version": "v1.33.0", "variables": [],
            "controlPlane": {"replicas": 3, "metadata": {"labels": {}}, "deletion": {}},
            "workers": {"machineDeployments": [{"class": "w", "name": "md-0", "replicas": 4,
                "metadata": {"labels": {}}, "deletion": {}, "rollout": {}}]},
        }}}),
    ]
}

const CLASS: usize = 0;
const BOOTSTRAP: usize = 4;
const MACHINES: usize = 5;
const CLUSTER: usize = 6;

fn changed(index: usize, pointer: &str, value: Value) -> Vec<Value> {
    let mut objects = topology();
    objects[index] = set(&objects[index], pointer, value);
    objects
}

#[test]
fn rows_of_topologies_and_templates() {
    let (control_plane, md) = ("/spec/topology/controlPlane", "/spec/topology/workers/machineDeployments/0");
    for (index, pointer, value, effects) in [
        (CLUSTER, format!("{md}/metadata/labels/a"), json!("b"), &["propagated-in-place"][..]),
        (CLUSTER, format!("{control_plane}/metadata/labels/a"), json!("b"), &["propagated-in-place"]),
        (CLUSTER, format!("{md}/replicas"), json!(5), &["scale"]),
        (CLUSTER, format!("{control_plane}/replicas"), json!(5), &["scale"]),
        (CLUSTER, format!("{md}/deletion/nodeDrainTimeoutSeconds"), json!(5), &["propagated-in-place"]),
        (CLUSTER, format!("{md}/minReadySeconds"), json!(5), &["propagated-in-place"]),
        (CLUSTER, format!("{md}/failureDomain"), json!("1"), &["rollout"]),
        (CLUSTER, format!("{md}/rollout/strategy"), json!({"type": "OnDelete"}), &["object-only"]),
        (CLUSTER, format!("{md}/deletion/order"), json!("Oldest"), &["object-only"]),
        (CLUSTER, format!("{md}/healthCheck"), json!({"enabled": true}), &["object-only"]),
        (
            CLUSTER,
            "/spec/topology/variables".to_owned(),
            json!([{"name": "image", "value": "v2"}]),
            &["rollout"],
        ),
        (CLUSTER, "/spec/topology/variables".to_owned(), json!([{"name": "image", "value": "v1"}]), &[]),
        (MACHINES, "/spec/template/spec/x".to_owned(), json!(1), &["rollout"]),
        (MACHINES, "/spec/template/metadata/labels".to_owned(), json!({"a": "b"}), &["rollout"]),
        (MACHINES, "/metadata/labels".to_owned(), json!({"a": "b"}), &["object-only"]),
        (BOOTSTRAP, "/spec/template/spec/files".to_owned(), json!([1]), &["rollout"]),
        (1, "/spec/template/spec/x".to_owned(), json!(1), &["provider-defined"]),
        (2, "/spec/template/spec/kubeadmConfigSpec".to_owned(), json!({"files": [1]}), &["rollout"]),
        (
            CLASS,
            "/spec/workers/machineDeployments/0/metadata".to_owned(),
            json!({"labels": {"a": "b"}}),
            &["propagated-in-place"],
        ),
    ] {
        let found = plan(&topology(), &changed(index, &pointer, value));
        assert_eq!(words(&found), effects, "{index} {pointer}: {found:#?}");
    }
}

#[test]
fn the_same_content_under_another_name_rolls_nothing() {
    let mut head = topology();
    head[MACHINES]["metadata"]["name"] = json!("m2");
    head[CLASS] =
        set(&head[CLASS], "/spec/workers/machineDeployments/0/infrastructure/templateRef/name", json!("m2"));
    assert!(plan(&topology(), &head).is_empty());
}

#[test]
fn an_upgrade_holds_everything_else_of_workers() {
    let mut head = changed(CLUSTER, "/spec/topology/version", json!("v1.34.0"));
    let md = "/spec/topology/workers/machineDeployments/0";
    head[CLUSTER] = set(&head[CLUSTER], &format!("{md}/metadata/labels/a"), json!("b"));
    let effects = plan(&topology(), &head);
    assert_eq!(words(&effects), ["delayed", "hooks-called", "rollout"]);
    let rollout = effects.iter().find(|e| e["effect"] == "rollout").expect("one");
    assert_eq!(rollout["details"]["machines"], 7);
    let delayed = effects.iter().find(|e| e["effect"] == "delayed").expect("one");
    assert_eq!(delayed["details"]["then"], "propagated-in-place");
    assert_eq!(delayed["field"], "/spec/topology/workers/machineDeployments/{name=md-0}/metadata/labels/a");
    let hooks = effects.iter().find(|e| e["category"] == "hook").expect("one");
    assert_eq!(hooks["details"]["hooks"][0]["hook"], "BeforeClusterUpgrade");
}

#[test]
fn a_renamed_entry_loses_capacity_during_an_upgrade() {
    let mut head = changed(CLUSTER, "/spec/topology/version", json!("v1.34.0"));
    head[CLUSTER] = set(&head[CLUSTER], "/spec/topology/workers/machineDeployments/0/name", json!("md-1"));
    let effects = plan(&topology(), &head);
    let gone = effects.iter().find(|e| e["effect"] == "scale").expect("one");
    assert_eq!(gone["details"]["capacityLost"], true);
    assert_eq!(gone["severity"], "disruptive");
    assert!(effects.iter().any(|e| e["effect"] == "delayed" && e["details"]["then"] == "scale"));
}

#[test]
fn a_skipped_minor_is_rejected_and_calls_nothing() {
    let effects = plan(&topology(), &changed(CLUSTER, "/spec/topology/version", json!("v1.35.0")));
    assert_eq!(words(&effects), ["rejected"]);
}

#[test]
fn editing_a_referenced_template_rolls_nothing() {
    let template = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate",
        "metadata": {"name": "i", "namespace": "fleet"}, "spec": {"template": {"spec": {"a": 1}}}});
    let head = set(&template, "/spec/template/spec/a", json!(2));
    let effects = plan(&[machine_deployment(), template], &[machine_deployment(), head]);
    assert_eq!(words(&effects), ["new-machines-only"]);
}
