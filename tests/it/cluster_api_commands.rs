//! Upstream's cases on Cluster API through the command line, as far as their
//! inputs can be written as manifests. `simulate_hooks.rs` runs observed states,
//! `simulate_propagation.rs` the metadata of derived objects, `cluster_api.rs`
//! every case against the library.
//!
//! Not runnable from outside, because no manifest states the input:
//!
//! | group | why |
//! |---|---|
//! | `md-find-new-old-ms` | MachineSets exist in the cluster only; run in so far as the desired template differs |
//! | `kcp-kubeadmconfig-match`, first Machine | which Machine was the first one is not in Git |
//! | `kcp-infra-match-001`, `-007` | a missing InfraMachine; a control plane under deletion |
//! | `node-patch`, `node-taints` with a Node that has something | Nodes are no manifests |
//! | `node-outdated-taint` | revisions are set by controllers |
//! | `topology-ssa-haschanges-007`, `-008` | owner references and ignored paths are the controller's own |
//! | `metadata-merge-002` | nothing and null read the same |

use crate::support::recordings;
use crate::support::scratch::Scratch;
use serde_json::{Value, json};

fn documents(objects: &[Value]) -> String {
    objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
}

fn answer(scratch: &Scratch, arguments: &[&str]) -> Value {
    scratch.forebay(&[arguments, &["--format", "json"]].concat()).json()
}

/// Effects on Machines of a change from one set of manifests to another.
fn plan(base: &[Value], head: &[Value]) -> Vec<Value> {
    let config = "version: 1\nclusters: [{name: c, path: fleet}]\n";
    let scratch = Scratch::new(&[
        ("base/fleet/objects.yaml", &documents(base)),
        ("base/.forebay.yaml", config),
        ("head/fleet/objects.yaml", &documents(head)),
        ("head/.forebay.yaml", config),
    ]);
    let mut answer = answer(&scratch, &["plan", "--base", "./base", "--head", "./head", "--root", "head"]);
    let Value::Array(effects) = answer["effects"].take() else { return Vec::new() };
    effects.into_iter().filter(|effect| effect["category"] == "machines").collect()
}

fn of<'e>(effects: &'e [Value], word: &str) -> Vec<&'e Value> {
    effects.iter().filter(|effect| effect["effect"] == word).collect()
}

fn text(value: &Value) -> String {
    value.to_string()
}

fn machine_deployment(template: &Value) -> Value {
    let mut template = template.clone();
    template["metadata"]["labels"]["set"] = json!("md");
    template["spec"]["clusterName"] = json!("cluster1");
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineDeployment",
        "metadata": {"name": "md", "namespace": "ns"},
        "spec": {"clusterName": "cluster1", "replicas": 3, "selector": {"matchLabels": {"set": "md"}},
                 "template": template},
    })
}

fn extension_config() -> Value {
    json!({
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig",
        "metadata": {"name": "updater"}, "spec": {"clientConfig": {"url": "https://updater.example.com"}},
    })
}

#[test]
fn machine_deployments_roll_where_upstream_does() {
    for case in recordings::cluster_api(&["md-template-uptodate"]) {
        let side = |key: &str| vec![extension_config(), machine_deployment(&case["input"][key])];
        for (from, to) in [("current", "desired"), ("desired", "current")] {
            let effects = plan(&side(from), &side(to));
            let rollouts = of(&effects, "rollout");
            let up_to_date = case["expect"]["upToDate"] == json!(true);
            assert_eq!(rollouts.is_empty(), up_to_date, "{} {from}: {effects:#?}", case["id"]);
            for rollout in rollouts {
                let in_place = text(&rollout["consequences"]).contains("unless an update extension accepts");
                assert_eq!(json!(in_place), case["expect"]["eligibleForInPlaceUpdate"], "{}", case["id"]);
            }
        }
    }
}

#[test]
fn machine_sets_of_another_template_are_replaced() {
    let template = |infra: &Value| {
        json!({"metadata": {"labels": {}}, "spec": {"version": "v1.33.0", "infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DevMachineTemplate", "name": infra}}})
    };
    for case in recordings::cluster_api(&["md-find-new-old-ms"]) {
        let input = &case["input"];
        let desired = machine_deployment(&template(&input["desiredInfraRef"]));
        for (name, set) in input["machineSets"].as_object().expect("sets") {
            let mut before = template(&set["infraRef"]);
            for field in set["differs"].as_array().into_iter().flatten() {
                match field.as_str().expect("a field") {
                    "taints" => before["spec"]["taints"] = json!([{"key": "a", "effect": "NoSchedule"}]),
                    "deletion.nodeDrainTimeoutSeconds" => {
                        before["spec"]["deletion"]["nodeDrainTimeoutSeconds"] = json!(1);
                    }
                    other => panic!("{other}"),
                }
            }
            let effects = plan(&[machine_deployment(&before)], std::slice::from_ref(&desired));
            let differs = set["infraRef"] != input["desiredInfraRef"];
            assert_eq!(!of(&effects, "rollout").is_empty(), differs, "{} {name}: {effects:#?}", case["id"]);
            let in_place = set["differs"].as_array().map_or(0, Vec::len);
            assert_eq!(of(&effects, "propagated-in-place").len(), in_place, "{} {name}", case["id"]);
        }
    }
}

fn control_plane(version: &Value, infra: (&str, &Value), kubeadm: &Value, rollout: &Value) -> Value {
    json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2", "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "ns"},
        "spec": {"replicas": 3, "version": version, "kubeadmConfigSpec": kubeadm, "rollout": rollout,
                 "machineTemplate": {"spec": {"infrastructureRef": {
                     "apiGroup": "infrastructure.cluster.x-k8s.io", "kind": infra.0, "name": infra.1}}}},
    })
}

#[test]
fn control_planes_roll_where_upstream_does() {
    const KIND: &str = "TestInfrastructureMachineTemplate";
    for case in recordings::cluster_api(&["kcp-uptodate"]) {
        let (kcp, machine) = (&case["input"]["kcp"], &case["input"]["machine"]);
        // The cases write their difference in `certificatesDir`, which a webhook
        // does not let change; `verbosity` is as good and may.
        let kubeadm = |of: &Value| {
            json!({"verbosity": of["certificatesDir"].as_str().expect("a path").len(),
                                "files": [{"path": of["certificatesDir"]}]})
        };
        let base =
            control_plane(&machine["version"], (KIND, &machine["clonedFrom"]), &kubeadm(machine), &json!({}));
        let passed = kcp["rolloutAfterDays"].as_i64().is_some_and(|days| days < 0);
        let rollout = if passed { json!({"after": "2001-01-01T00:00:00Z"}) } else { json!({}) };
        let head = control_plane(&kcp["version"], (KIND, &kcp["infraTemplate"]), &kubeadm(kcp), &rollout);
        let effects = plan(&[base], &[head]);
        let up_to_date = case["expect"]["upToDate"] == json!(true);
        assert_eq!(of(&effects, "rollout").is_empty(), up_to_date, "{}: {effects:#?}", case["id"]);
    }
    for case in recordings::cluster_api(&["kcp-infra-match"]) {
        let input = &case["input"];
        if input["found"] == json!(false) || input["kcpDeleting"] == json!(true) {
            continue;
        }
        let version = json!("v1.33.0");
        let kind = if input["groupKindMatches"] == json!(true) { KIND } else { "OtherTemplate" };
        let name = if input["nameMatches"] == json!(true) { "template" } else { "other" };
        let side = |kind, name: &str| control_plane(&version, (kind, &json!(name)), &json!({}), &json!({}));
        let effects = plan(&[side(kind, name)], &[side(KIND, "template")]);
        assert_eq!(json!(of(&effects, "rollout").is_empty()), case["expect"]["match"], "{}", case["id"]);
    }
}

#[test]
fn kubeadm_configs_of_joined_machines() {
    for case in recordings::cluster_api(&["kcp-kubeadmconfig-match"]) {
        let (kcp, machine) = (&case["input"]["kcp"], &case["input"]["machine"]);
        if kcp.is_null() || case["input"]["machineKind"] != json!("join") {
            continue;
        }
        let version = json!("v1.30.0");
        let side =
            |spec: &Value| control_plane(&version, ("DevMachineTemplate", &json!("i")), spec, &json!({}));
        let effects = plan(&[side(machine)], &[side(kcp)]);
        assert_eq!(json!(!of(&effects, "rollout").is_empty()), case["expect"]["rollout"], "{}", case["id"]);
    }
}

/// A class with one MachineDeployment class, its templates, and a Cluster of it.
fn topology(infra_template: &Value) -> Vec<Value> {
    let metadata = |name: &str| json!({"name": name, "namespace": "ns"});
    let reference = |group: &str, kind: &str, name: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name}});
    let template = |group: &str, kind: &str, name: &str| {
        json!({"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind,
               "metadata": metadata(name), "spec": {"template": {"spec": {}}}})
    };
    vec![
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": metadata("class"),
               "spec": {
                   "infrastructure": reference("infrastructure", "DevClusterTemplate", "dc"),
                   "controlPlane": reference("controlplane", "KubeadmControlPlaneTemplate", "cp"),
                   "workers": {"machineDeployments": [{"class": "w",
                       "bootstrap": reference("bootstrap", "KubeadmConfigTemplate", "b"),
                       "infrastructure": reference("infrastructure", "ExampleMachineTemplate", "m")}]}}}),
        template("infrastructure", "DevClusterTemplate", "dc"),
        template("controlplane", "KubeadmControlPlaneTemplate", "cp"),
        template("bootstrap", "KubeadmConfigTemplate", "b"),
        infra_template.clone(),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata("c"),
               "spec": {"topology": {"classRef": {"name": "class"}, "version": "v1.33.0",
                   "controlPlane": {"replicas": 1},
                   "workers": {"machineDeployments": [{"class": "w", "name": "md-0", "replicas": 2}]}}}}),
    ]
}

#[test]
fn templates_of_a_class_rotate_where_upstream_rotates_them() {
    for case in recordings::cluster_api(&["topology-ssa-haschanges"]) {
        let path = case["input"]["changePath"].as_str().expect("a path");
        if !case["input"]["ignorePaths"].is_null() || path == "metadata.ownerReferences" {
            continue;
        }
        let template = json!({
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "ExampleMachineTemplate",
            "metadata": {"name": "m", "namespace": "ns", "labels": {}, "annotations": {}},
            "spec": {"template": {"spec": {}}}, "status": {},
        });
        let mut changed = template.clone();
        // Of a template's spec only `spec.template.spec` reaches its clone.
        let pointer = format!("/{}", path.replace('.', "/")).replace("/spec/", "/spec/template/spec/");
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        changed.pointer_mut(parent).expect("a map")[key] = json!("changed-value");
        let effects = plan(&topology(&template), &topology(&changed));
        let word = match case["expect"]["templateOutcome"].as_str().expect("an outcome") {
            "none" => None,
            "patch in place (no rollout)" => Some("object-only"),
            _ => Some("rollout"),
        };
        let words: Vec<&str> = effects.iter().filter_map(|effect| effect["effect"].as_str()).collect();
        assert_eq!(words, word.into_iter().collect::<Vec<_>>(), "{}: {effects:#?}", case["id"]);
    }
}

#[test]
fn machines_are_synced_in_place() {
    for case in recordings::cluster_api(&["ms-sync-machines"]) {
        let side = |key: &str| {
            let md =
                machine_deployment(&json!({"metadata": case["input"][key], "spec": {"version": "v1.33.0"}}));
            vec![md]
        };
        let effects = plan(&side("before"), &side("after"));
        assert_eq!(effects.len(), of(&effects, "propagated-in-place").len(), "{effects:#?}");
        let keys = |gone: bool| -> Vec<&Value> {
            let of_kind = effects.iter().filter(|effect| effect["after"].is_null() == gone);
            of_kind.map(|effect| &effect["details"]["key"]).collect()
        };
        for (gone, name) in [(true, "removed"), (false, "changed")] {
            let mut found = keys(gone);
            found.sort_by_key(|key| key.to_string());
            let mut expected: Vec<&Value> = case["expect"][name].as_array().expect("a list").iter().collect();
            expected.sort_by_key(|key| key.to_string());
            assert_eq!(found, expected, "{name}");
        }
        for effect in effects.iter().filter(|effect| effect["after"].is_null()) {
            assert!(text(&effect["consequences"]).contains("removed from existing Machines"));
        }
    }
}

#[test]
fn extension_configs_are_judged_as_the_webhook_does() {
    for case in recordings::cluster_api(&["extensionconfig-validate", "extensionconfig-default"]) {
        let mut object = case["input"]["object"].clone();
        object["apiVersion"] = json!("runtime.cluster.x-k8s.io/v1beta2");
        object["kind"] = json!("ExtensionConfig");
        let gate = case["input"]["featureGateRuntimeSDK"] != json!(false);
        let config = json!({"version": 1, "target": {"features": {
            "runtimeSdk": if gate { "enabled" } else { "disabled" }}}});
        let scratch = Scratch::new(&[
            ("extension.yaml", &documents(&[object])),
            (".forebay.yaml", &config.to_string()),
        ]);
        let answer = answer(&scratch, &["lint", "--root", "."]);
        let rules: Vec<&Value> = answer["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .filter(|finding| finding["level"] == "error")
            .map(|finding| &finding["rule"])
            .collect();
        let expected = match (case["expect"]["error"] == json!(true), gate) {
            (false, _) => Vec::new(),
            (true, true) => vec!["malformed-extension-config"],
            (true, false) => vec!["feature-gate-needed"],
        };
        assert_eq!(rules, expected, "{}", case["id"]);
    }
}

/// A Cluster whose workers are the entries of a case.
fn cluster_of(kind: &str, entries: &[Value], class: Option<&[Value]>) -> Vec<Value> {
    let list = if kind == "MachinePool" { "machinePools" } else { "machineDeployments" };
    let workers: Vec<Value> = entries
        .iter()
        .map(|entry| {
            json!({"class": "w", "name": entry["name"], "metadata": {"annotations": entry["annotations"]}})
        })
        .collect();
    let metadata = |name: &str| json!({"name": name, "namespace": "ns"});
    vec![
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass", "metadata": metadata("class"),
               "spec": {"kubernetesVersions": class}}),
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": metadata("c"),
               "spec": {"topology": {"classRef": {"name": "class"}, "version": "v1.33.0",
                                     "workers": {list: workers}}}}),
    ]
}

#[test]
fn deferred_workers_hold_an_upgrade() {
    for case in recordings::cluster_api(&["upgrade-deferred"]) {
        let input = &case["input"];
        let list = input["topologyList"].as_array().expect("a list");
        let subject = input["subject"].as_str().expect("a name");
        let objects = cluster_of(input["kind"].as_str().unwrap_or_default(), list, None);
        let scratch = Scratch::new(&[("fleet.yaml", &documents(&objects))]);
        let arguments = ["simulate", "hooks", "Cluster/ns/c", "--on", "upgrade", "--to", "v1.34.0"];
        let answer = answer(&scratch, &arguments);
        let workers = answer["steps"].as_array().expect("steps").iter().find(|s| s["kind"] == "workers");
        let reason = workers.expect("a step of workers")["reason"].as_str().expect("a text");
        let deferred = reason.split_once(" deferred by annotation").map_or("", |(names, _)| names);
        let named = deferred.split(", ").any(|name| name == subject);
        assert_eq!(json!(named), case["expect"]["deferred"], "{}: {reason}", case["id"]);
    }
}

#[test]
fn control_planes_go_through_the_planned_versions() {
    for case in recordings::cluster_api(&["upgrade-plan"]) {
        let input = &case["input"];
        let plain = input["machineDeploymentVersion"].is_null() && input["planFunctionReturns"].is_null();
        let (Some(from), true) = (input["controlPlaneVersion"].as_str(), plain) else { continue };
        let class = input["clusterClassVersions"].as_array().map(Vec::as_slice);
        let objects = cluster_of("MachineDeployment", &[], class);
        let scratch = Scratch::new(&[("fleet.yaml", &documents(&objects))]);
        let to = input["desiredVersion"].as_str().expect("a version");
        let arguments = ["simulate", "hooks", "Cluster/ns/c", "--on", "upgrade", "--from", from, "--to", to];
        let answer = answer(&scratch, &arguments);
        assert_eq!(
            answer["upgradePlan"]["controlPlane"], case["expect"]["controlPlaneUpgradePlan"],
            "{}: {answer:#}",
            case["id"]
        );
        let refused = answer["notes"].as_array().is_some_and(|notes| !notes.is_empty());
        assert_eq!(json!(refused), case["expect"]["error"], "{}: {}", case["id"], answer["notes"]);
    }
}

#[test]
fn before_cluster_create_holds_creation() {
    for case in recordings::cluster_api(&["before-cluster-create"]) {
        let response = case["input"]["hookResponse"].as_str().expect("a text");
        let objects = cluster_of("MachineDeployment", &[], None);
        let scratch = Scratch::new(&[("fleet.yaml", &documents(&objects))]);
        let mut arguments = vec!["simulate", "hooks", "Cluster/ns/c", "--on", "create"];
        if response.starts_with("Failure") {
            arguments.extend(["--respond", "BeforeClusterCreate=failure"]);
        } else if !response.ends_with("=0") {
            arguments.extend(["--respond", "BeforeClusterCreate=blocking"]);
        }
        let answer = answer(&scratch, &arguments);
        let expect = &case["expect"];
        assert_eq!(json!(answer["steps"][0]["state"] == "aborted"), expect["error"], "{}", case["id"]);
        assert_eq!(
            json!(answer["steps"][1]["state"] == "done"),
            expect["topologyObjectsCreated"],
            "{}",
            case["id"]
        );
    }
}

/// What reaches the Node of a Machine with this spec and metadata.
fn node_of(metadata: &Value, taints: &Value, target: &Value) -> Value {
    let mut metadata = metadata.clone();
    metadata["name"] = json!("m");
    metadata["namespace"] = json!("ns");
    let machine = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": metadata,
                         "spec": {"clusterName": "c", "taints": taints}});
    let scratch = Scratch::new(&[
        ("machine.yaml", &documents(&[machine])),
        (".forebay.yaml", &json!({"version": 1, "target": target}).to_string()),
    ]);
    let answer = answer(&scratch, &["simulate", "propagation", "Machine/m"]);
    let objects = answer["objects"].as_array().expect("objects");
    objects.iter().find(|object| object["derived"]["kind"] == "Node").expect("a Node").clone()
}

#[test]
fn new_nodes_get_the_taints_of_their_machine() {
    let mut run = 0;
    for case in recordings::cluster_api(&["node-taints"]) {
        let input = &case["input"];
        if !input["trackingAnnotation"].is_null() || input["nodeTaints"] != json!([]) {
            continue;
        }
        run += 1;
        let taints: Vec<Value> = input["machineTaints"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|taint| {
                let (key, effect) =
                    taint["taint"].as_str().expect("a text").rsplit_once(':').expect("an effect");
                let (key, value) = key.split_once('=').unwrap_or((key, ""));
                json!({"key": key, "value": value, "effect": effect, "propagation": taint["propagation"]})
            })
            .collect();
        let target = json!({"features": {"machineTaintPropagation": "enabled"}});
        let node = node_of(&json!({}), &json!(taints), &target);
        let found: Vec<String> = node["taints"]
            .as_array()
            .expect("taints")
            .iter()
            .map(|t| {
                format!(
                    "{}={}:{}",
                    t["key"].as_str().unwrap(),
                    t["value"].as_str().unwrap(),
                    t["effect"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(json!(found), case["expect"]["nodeTaints"], "{}", case["id"]);
    }
    assert!(run > 0);
}

#[test]
fn new_nodes_get_what_their_machine_syncs() {
    for case in recordings::cluster_api(&["node-patch"]) {
        let input = &case["input"];
        if input["node"] != json!({}) {
            continue;
        }
        let target =
            json!({"additionalSyncMachineLabels": [".*"], "additionalSyncMachineAnnotations": [".*"]});
        let metadata =
            json!({"labels": input["labelsFromMachine"], "annotations": input["annotationsFromMachine"]});
        let node = node_of(&metadata, &json!([]), &target);
        for (field, key) in [("labelsFromMachine", "labels"), ("annotationsFromMachine", "annotations")] {
            for (name, value) in input[field].as_object().expect("a map") {
                assert_eq!(&node[key][name]["value"], value, "{} {name}", case["id"]);
                assert_eq!(&case["expect"]["node"][key][name], value);
            }
        }
    }
}

#[test]
fn the_topologys_value_wins_over_the_classs() {
    for case in recordings::cluster_api(&["metadata-merge"]) {
        let (first, second) = (&case["input"]["first"], &case["input"]["second"]);
        let template = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "DevMachineTemplate", "metadata": {"name": "m", "namespace": "ns"},
            "spec": {"template": {"spec": {}}}});
        let mut objects = topology(&template);
        objects[0]["spec"]["workers"]["machineDeployments"][0]["metadata"] = json!({"labels": second});
        objects[5]["spec"]["topology"]["workers"]["machineDeployments"][0]["metadata"] =
            json!({"labels": first});
        let scratch = Scratch::new(&[("fleet.yaml", &documents(&objects))]);
        let answer = answer(&scratch, &["simulate", "propagation", "Cluster/ns/c"]);
        let derived = answer["objects"].as_array().expect("objects");
        let md = derived.iter().find(|o| o["derived"]["kind"] == "MachineDeployment").expect("derived");
        for (key, value) in case["expect"]["merged"].as_object().into_iter().flatten() {
            assert_eq!(&md["labels"][key]["value"], value, "{} {key}", case["id"]);
        }
    }
}
