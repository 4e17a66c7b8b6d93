//! Upstream's cases on metadata through `forebay simulate propagation`, written
//! as manifests.

use std::process::Command;

use crate::support::recordings;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

/// What is derived of these objects, under this configuration.
fn simulate(objects: &[Value], config: &Value) -> Vec<Value> {
    let directory = TempDir::new().expect("a temporary directory");
    let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
    std::fs::write(directory.path().join("objects.yaml"), documents.join("\n---\n")).expect("writable");
    std::fs::write(directory.path().join(".forebay.yaml"), config.to_string()).expect("writable");
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["simulate", "propagation", "--format", "json", "--root"])
        .arg(directory.path())
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    match answer["objects"].take() {
        Value::Array(objects) => objects,
        _ => Vec::new(),
    }
}

fn no_config() -> Value {
    json!({"version": 1})
}

fn derived<'v>(objects: &'v [Value], kind: &str) -> &'v Value {
    objects.iter().find(|o| o["derived"]["kind"] == kind).unwrap_or_else(|| panic!("no {kind} is derived"))
}

/// Values by key; what only a cluster knows as the cases write it.
fn values(map: &Value) -> Value {
    let entries = map.as_object().into_iter().flatten();
    let plain = entries.map(|(key, entry)| {
        let value = entry["value"].as_str().unwrap_or("<hash>-<random>");
        (key.clone(), json!(value))
    });
    Value::Object(plain.collect::<Map<_, _>>())
}

fn machine(metadata: Value) -> Value {
    let mut metadata = metadata;
    metadata["name"] = json!("m");
    metadata["namespace"] = json!("ns");
    json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata,
           "spec": {"clusterName": "c"}})
}

#[test]
fn labels_and_annotations_reach_nodes() {
    for case in recordings::cluster_api(&["node-label-sync"]) {
        let config =
            json!({"version": 1, "target": {"additionalSyncMachineLabels": case["input"]["regexes"]}});
        let objects = simulate(&[machine(json!({"labels": case["input"]["machineLabels"]}))], &config);
        assert_eq!(
            values(&derived(&objects, "Node")["labels"]),
            case["expect"]["nodeLabels"],
            "{}",
            case["id"]
        );
    }
    for case in recordings::cluster_api(&["node-annotation-sync"]) {
        let config =
            json!({"version": 1, "target": {"additionalSyncMachineAnnotations": case["input"]["regexes"]}});
        let mut metadata = json!({"annotations": case["input"]["machineAnnotations"]});
        if case["input"]["hasController"] == json!(true) {
            metadata["ownerReferences"] = json!([{"kind": "MachineSet", "name": "ms", "controller": true}]);
        }
        let objects = simulate(&[machine(metadata)], &config);
        let expected = case["expect"]["nodeAnnotations"].to_string();
        let expected = expected.replace("<spec.clusterName>", "c").replace("<machine ns>", "ns");
        let expected: Value = serde_json::from_str(&expected.replace("<machine name>", "m")).expect("JSON");
        assert_eq!(values(&derived(&objects, "Node")["annotations"]), expected, "{}", case["id"]);
    }
}

#[test]
fn machine_deployments_make_machine_sets() {
    for case in recordings::cluster_api(&["md-compute-ms", "md-annotations-to-ms"]) {
        let input = if case["input"]["md"].is_null() { &case["input"] } else { &case["input"]["md"] };
        let annotations = if input["annotations"].is_null() { "mdAnnotations" } else { "annotations" };
        let rolling = json!({"maxSurge": input["maxSurge"], "maxUnavailable": input["maxUnavailable"]});
        let md = json!({
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": "md1", "namespace": "ns", "annotations": input[annotations]},
            "spec": {
                "clusterName": "c",
                "replicas": input["replicas"],
                "selector": {"matchLabels": input["selector"]},
                "rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}},
                "template": {"metadata": {
                    "labels": input["templateLabels"],
                    "annotations": input["templateAnnotations"],
                }},
            },
        });
        let objects = simulate(&[md], &no_config());
        let set = derived(&objects, "MachineSet");
        let expect = &case["expect"];
        if !expect["msAnnotations"].is_null() {
            assert_eq!(values(&set["annotations"]), expect["msAnnotations"], "{}", case["id"]);
            continue;
        }
        assert_eq!(values(&set["labels"]), expect["ms"]["labels"], "{}", case["id"]);
        assert_eq!(values(&set["annotations"]), expect["ms"]["annotations"], "{}", case["id"]);
    }
}

#[test]
fn topologies_make_control_planes() {
    for case in recordings::cluster_api(&["metadata-topology-to-cp"]) {
        let input = &case["input"];
        let mut control_plane = json!({
            "metadata": input["classMetadata"],
            "templateRef": {"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
                            "kind": "KubeadmControlPlaneTemplate", "name": "template1"},
        });
        if input["hasControlPlaneInfrastructureMachine"] == json!(true) {
            control_plane["machineInfrastructure"] = json!({"templateRef": {
                "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "DevMachineTemplate", "name": "m"}});
        }
        let metadata = |name: &str| json!({"name": name, "namespace": "ns"});
        let objects = simulate(
            &[
                json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata("cluster1"),
                       "spec": {"topology": {"classRef": {"name": "class"}, "version": "v1.33.0",
                                "controlPlane": {"metadata": input["topologyMetadata"]}}}}),
                json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": metadata("class"),
                       "spec": {"controlPlane": control_plane}}),
                json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlaneTemplate",
                       "metadata": metadata("template1"),
                       "spec": {"template": {"spec": {"machineTemplate": {
                           "metadata": input["templateMachineTemplateMetadata"]}}}}}),
            ],
            &no_config(),
        );
        let object = derived(&objects, "KubeadmControlPlane");
        let expect = &case["expect"];
        if !expect["labels"].is_null() {
            assert_eq!(values(&object["labels"]), expect["labels"], "{}", case["id"]);
        }
        for (key, value) in expect["annotationsInclude"].as_object().into_iter().flatten() {
            assert_eq!(&object["annotations"][key]["value"], value, "{}: {key}", case["id"]);
        }
        let machine = derived(&objects, "Machine");
        for (field, map) in
            [("labels", "machineTemplateLabels"), ("annotations", "machineTemplateAnnotations")]
        {
            for (key, value) in expect[map].as_object().into_iter().flatten() {
                assert_eq!(&machine[field][key]["value"], value, "{}: {key}", case["id"]);
            }
        }
    }
}

#[test]
fn keys_that_stop_say_where() {
    let kcp = json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "ns", "labels": {"node.cluster.x-k8s.io/a": "top"}},
        "spec": {"machineTemplate": {"metadata": {"labels": {"plain": "x", "node.cluster.x-k8s.io/b": "y"}}}},
    });
    let objects = simulate(&[kcp], &no_config());
    let stops = |kind: &str| {
        let list = derived(&objects, kind)["notPropagated"].as_array().cloned().unwrap_or_default();
        list.iter().map(|s| format!("{} {}", s["key"], s["stopsAt"])).collect::<Vec<_>>()
    };
    assert_eq!(stops("Machine"), [r#""node.cluster.x-k8s.io/a" "KubeadmControlPlane""#]);
    assert_eq!(stops("Node"), [r#""plain" "Machine""#]);
    let node = derived(&objects, "Node");
    assert_eq!(node["labels"]["node.cluster.x-k8s.io/b"]["source"], "/spec/machineTemplate/metadata/labels");
    assert_eq!(node["labels"]["node.cluster.x-k8s.io/b"]["location"]["line"], 1);
}

#[test]
fn a_pool_passes_on_what_its_template_holds() {
    let pool = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachinePool",
        "metadata": {"name": "pool", "namespace": "ns", "labels": {"node.cluster.x-k8s.io/a": "top"}},
        "spec": {"clusterName": "c", "template": {
            "metadata": {"labels": {"node.cluster.x-k8s.io/b": "y"}},
            "spec": {"taints": [{"key": "k", "effect": "NoSchedule", "propagation": "Always"}]},
        }},
    });
    let objects = simulate(&[pool], &no_config());
    let machine = derived(&objects, "Machine");
    assert_eq!(machine["labels"]["cluster.x-k8s.io/pool-name"]["value"], "pool");
    let condition = "only where the infrastructure provider has Machines for its pools";
    assert_eq!(machine["condition"], condition);
    assert_eq!(derived(&objects, "Node")["condition"], condition);
    assert_eq!(machine["taints"], json!([]));
    let stops = machine["notPropagated"].as_array().expect("a list").iter();
    let stops: Vec<String> = stops.map(|stop| format!("{} {}", stop["key"], stop["stopsAt"])).collect();
    assert_eq!(stops, [r#""k" "MachinePool""#, r#""node.cluster.x-k8s.io/a" "MachinePool""#]);
    let node = derived(&objects, "Node");
    assert_eq!(values(&node["labels"]), json!({"node.cluster.x-k8s.io/b": "y"}));
}

/// Source: cluster-api `controllers/external/util.go`, `GenerateTemplate`, and
/// `exp/topology/desiredstate/desired_state.go`, `templateToObject` and `computeMachinePool`.
#[test]
fn clones_say_what_they_are_cloned_from() {
    let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta2";
    let reference = |kind: &str, name: &str| json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": kind, "name": name});
    let template = |kind: &str, name: &str, labels: Value| {
        json!({"apiVersion": infrastructure, "kind": kind, "metadata": {"name": name, "namespace": "ns"},
               "spec": {"template": {"metadata": {"labels": labels}, "spec": {}}}})
    };
    let md = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {"name": "md", "namespace": "ns"},
        "spec": {"clusterName": "c", "template": {"spec": {
            "infrastructureRef": reference("DevMachineTemplate", "small"),
        }}},
    });
    let objects =
        simulate(&[md, template("DevMachineTemplate", "small", json!({"rack": "1"}))], &no_config());
    let machine = derived(&objects, "DevMachine");
    assert_eq!(
        values(&machine["annotations"]),
        json!({"cluster.x-k8s.io/cloned-from-name": "small",
               "cluster.x-k8s.io/cloned-from-groupkind": "DevMachineTemplate.infrastructure.cluster.x-k8s.io"})
    );
    assert_eq!(machine["labels"]["rack"]["value"], "1", "{machine:#}");
    assert_eq!(derived(&objects, "Machine")["annotations"], json!({}));
    assert!(derived(&objects, "Machine").get("condition").is_none());

    let of = |kind: &str, name: &str| json!({"templateRef": {"apiVersion": infrastructure, "kind": kind, "name": name}});
    let metadata = |name: &str| json!({"name": name, "namespace": "ns"});
    let objects = simulate(
        &[
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata("prod"),
                   "spec": {"topology": {"classRef": {"name": "class"}, "version": "v1.33.0", "workers": {
                       "machinePools": [{"class": "pool", "name": "p0"}]}}}}),
            json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": metadata("class"),
                   "spec": {"infrastructure": of("DevClusterTemplate", "cluster"), "workers": {"machinePools": [
                       {"class": "pool", "infrastructure": of("DevMachinePoolTemplate", "pool")}]}}}),
            template("DevClusterTemplate", "cluster", json!({"zone": "a"})),
            template("DevMachinePoolTemplate", "pool", json!({})),
        ],
        &no_config(),
    );
    let cluster = derived(&objects, "DevCluster");
    assert_eq!(cluster["labels"]["zone"]["value"], "a", "{cluster:#}");
    assert_eq!(cluster["annotations"]["cluster.x-k8s.io/cloned-from-name"]["value"], "cluster");
    let pool = derived(&objects, "DevMachinePool");
    assert_eq!(pool["labels"]["topology.cluster.x-k8s.io/pool-name"]["value"], "p0", "{pool:#}");
    assert_eq!(pool["annotations"]["cluster.x-k8s.io/cloned-from-name"]["value"], "pool");
}

/// Labels of Machines reach Nodes in every version, annotations since 1.10.
#[test]
fn annotations_reach_nodes_of_newer_versions_only() {
    let key = "node.cluster.x-k8s.io/rack";
    for (version, reaches) in [("1.9", false), ("1.10", true), ("1.14", true)] {
        let config = json!({"version": 1, "target": {"clusterApi": version}});
        let metadata = json!({"labels": {key: "1"}, "annotations": {key: "1"}});
        let objects = simulate(&[machine(metadata)], &config);
        let node = derived(&objects, "Node");
        assert_eq!(node["labels"][key]["value"], "1", "{version}");
        assert_eq!(node["annotations"].get(key).is_some(), reaches, "{version}: {node:#}");
        let stopped = node["notPropagated"].as_array().expect("a list");
        let why = stopped.iter().find(|stop| stop["field"] == "annotations").map(|stop| stop["why"].clone());
        let expected =
            (!reaches).then(|| json!("annotations of Machines reach Nodes from Cluster API 1.10 on"));
        assert_eq!(why, expected, "{version}");
    }
}

#[test]
fn patches_reach_the_metadata_of_templates_from_cluster_api_1_14_on() {
    for (version, reaches) in [("1.13", false), ("1.14", true), ("1.15", true)] {
        let metadata = |name: &str| json!({"name": name, "namespace": "ns"});
        let kind = "KubeadmControlPlaneTemplate";
        let api = "controlplane.cluster.x-k8s.io/v1beta2";
        let patch = json!({"name": "team", "definitions": [{
            "selector": {"apiVersion": api, "kind": kind, "matchResources": {"controlPlane": true}},
            "jsonPatches": [
                {"op": "add", "path": "/spec/template/metadata", "value": {"labels": {"team": "a"}}},
                {"op": "add", "path": "/spec/template/spec/machineTemplate",
                 "value": {"metadata": {"labels": {"node.cluster.x-k8s.io/rack": "1"}}}},
            ],
        }]});
        let objects = simulate(
            &[
                json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata("prod"),
                       "spec": {"topology": {"classRef": {"name": "class"}, "version": "v1.33.0", "controlPlane": {}}}}),
                json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": metadata("class"),
                       "spec": {"controlPlane": {"templateRef": {"apiVersion": api, "kind": kind, "name": "t"},
                                                 "machineInfrastructure": {"templateRef": {
                                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
                                    "kind": "DevMachineTemplate", "name": "m"}}},
                                "patches": [patch]}}),
                json!({"apiVersion": api, "kind": kind, "metadata": metadata("t"),
                       "spec": {"template": {"spec": {"kubeadmConfigSpec": {}}}}}),
            ],
            &json!({"version": 1, "target": {"clusterApi": version}}),
        );
        let object = derived(&objects, "KubeadmControlPlane");
        assert_eq!(object["labels"].get("team").is_some(), reaches, "{version}: {object:#}");
        // The spec of a template was always open to patches, and with it its Machines' metadata.
        let machine = derived(&objects, "Machine");
        assert_eq!(machine["labels"]["node.cluster.x-k8s.io/rack"]["value"], "1", "{version}: {machine:#}");
    }
}
