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
    plan_under(CONFIG, base, head)
}

fn plan_under(config: &str, base: &[Value], head: &[Value]) -> Vec<Value> {
    let mut answer: Value = serde_json::from_str(&answer(config, base, head, "json")).expect("JSON");
    let Value::Array(effects) = answer["effects"].take() else { return Vec::new() };
    effects.into_iter().filter(told).collect()
}

/// The same for people.
fn plan_text(base: &[Value], head: &[Value]) -> String {
    answer(CONFIG, base, head, "text")
}

fn answer(config: &str, base: &[Value], head: &[Value], format: &str) -> String {
    answer_with(config, base, head, &["--format", format])
}

/// Effects where extensions are stated to answer; `responses` are files beside the trees.
fn plan_answered(config: &str, base: &[Value], head: &[Value], respond: &[&str]) -> Vec<Value> {
    let flags: Vec<&str> = respond.iter().flat_map(|one| ["--respond", one]).collect();
    let all = [&["--format", "json"], &flags[..]].concat();
    let mut answer: Value = serde_json::from_str(&answer_with(config, base, head, &all)).expect("JSON");
    let Value::Array(effects) = answer["effects"].take() else { return Vec::new() };
    effects.into_iter().filter(told).collect()
}

/// Answers to GeneratePatches, by file.
const RESPONSES: &[(&str, &str)] = &[("a.json", "a"), ("b.json", "b")];

fn answer_with(config: &str, base: &[Value], head: &[Value], flags: &[&str]) -> String {
    let directory = TempDir::new().expect("a temporary directory");
    let (before, after) = (directory.path().join("base"), directory.path().join("head"));
    write(&before, base);
    write(&after, head);
    for root in [&before, &after] {
        std::fs::write(root.join(".forebay.yaml"), config).expect("writable");
    }
    for (file, value) in RESPONSES {
        let merge = json!({"spec": {"template": {"spec": {"kubeadmConfigSpec": {"clusterConfiguration":
            {"imageRepository": value}}}}}});
        let operations = json!([{"op": "add", "path": "/spec/template/spec/image", "value": value}]);
        let response = json!({"items": [
            {"uid": "controlPlane", "patchType": "JSONMergePatch", "patch": merge},
            {"uid": "fleet/c/machineDeployments/md-0/infrastructure", "patchType": "JSONPatch", "patch": operations},
        ]});
        std::fs::write(directory.path().join(file), response.to_string()).expect("writable");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .current_dir(directory.path())
        .arg("plan")
        .args(flags)
        .arg("--base")
        .arg(&before)
        .arg("--head")
        .arg(&after)
        .arg("--root")
        .arg(&after)
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Effects on Machines, hooks, and what a webhook refuses.
fn told(effect: &Value) -> bool {
    effect["category"] == "machines" || effect["category"] == "hook" || effect["effect"] == "rejected"
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
        ("/spec/selector/matchLabels".to_owned(), json!({"x": "y"}), "rejected"),
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
        // Its webhook refuses it.
        (MACHINES, "/spec/template/spec/x".to_owned(), json!(1), &["rejected"]),
        (MACHINES, "/spec/template/metadata/labels".to_owned(), json!({"a": "b"}), &["rollout"]),
        (MACHINES, "/metadata/labels".to_owned(), json!({"a": "b"}), &["object-only"]),
        (BOOTSTRAP, "/spec/template/spec/files".to_owned(), json!([1]), &["rollout"]),
        (1, "/spec/template/spec/x".to_owned(), json!(1), &["provider-defined"]),
        (2, "/spec/template/spec/kubeadmConfigSpec".to_owned(), json!({"files": [1]}), &["rejected"]),
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
    assert_eq!(words(&effects), ["delayed", "rollout"], "RuntimeSDK is off in every release");
    let effects = plan_under(&with_hooks(""), &topology(), &head);
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

/// The class lists the versions on the way, which counts from Cluster API 1.12 on.
#[test]
fn chained_upgrades_need_their_version() {
    let listed = |version: &str| {
        let mut objects = changed(CLUSTER, "/spec/topology/version", json!(version));
        objects[CLASS]["spec"]["kubernetesVersions"] = json!(["v1.33.0", "v1.34.1", "v1.35.0"]);
        objects
    };
    let under = |version: &str| {
        let config =
            format!("{CONFIG}target: {{clusterApi: \"{version}\", features: {{runtimeSdk: enabled}}}}\n");
        plan_under(&config, &listed("v1.33.0"), &listed("v1.35.0"))
    };
    assert_eq!(words(&under("1.11")), ["rejected"]);
    assert_eq!(words(&under("1.12")), ["hooks-called", "rollout"]);
    assert_eq!(words(&plan(&listed("v1.33.0"), &listed("v1.35.0"))), ["rollout"]);
}

#[test]
fn editing_a_referenced_template_rolls_nothing() {
    for (kind, expected) in
        [("DevMachineTemplate", "rejected"), ("OtherMachineTemplate", "new-machines-only")]
    {
        let template = json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind,
            "metadata": {"name": "i", "namespace": "fleet"}, "spec": {"template": {"spec": {"a": 1}}}});
        let used = set(&machine_deployment(), "/spec/template/spec/infrastructureRef/kind", json!(kind));
        let head = set(&template, "/spec/template/spec/a", json!(2));
        let effects = plan(&[used.clone(), template], &[used, head]);
        assert_eq!(words(&effects), [expected], "{kind}");
    }
}

/// The topology with a MachinePool beside its MachineDeployment.
fn with_pool() -> Vec<Value> {
    let mut objects = topology();
    let pool = objects[CLASS]["spec"]["workers"]["machineDeployments"][0].clone();
    objects[CLASS]["spec"]["workers"]["machinePools"] = json!([pool]);
    objects[CLUSTER]["spec"]["topology"]["workers"]["machinePools"] =
        json!([{"class": "w", "name": "mp-0", "replicas": 2, "metadata": {"labels": {}}, "deletion": {}}]);
    objects
}

fn machine_pool() -> Value {
    let mut pool = machine_deployment();
    pool["kind"] = json!("MachinePool");
    pool
}

/// Facts: a MachinePool's provider decides about replacement; its metadata
/// reaches its Machines; the rest follows the table of MachineDeployments.
#[test]
fn rows_of_machine_pools() {
    let base = machine_pool();
    let spec = "/spec/template/spec";
    for (pointer, value, effect) in [
        (format!("{spec}/version"), json!("v1.34.0"), "provider-defined"),
        (format!("{spec}/bootstrap/configRef/name"), json!("b2"), "provider-defined"),
        (format!("{spec}/infrastructureRef/name"), json!("i2"), "provider-defined"),
        ("/spec/failureDomains".to_owned(), json!(["1"]), "provider-defined"),
        ("/spec/template/metadata/labels/c".to_owned(), json!("d"), "propagated-in-place"),
        ("/spec/replicas".to_owned(), json!(5), "scale"),
        ("/metadata/labels/c".to_owned(), json!("d"), "object-only"),
        ("/spec/clusterName".to_owned(), json!("other"), "rejected"),
    ] {
        let effects = plan(std::slice::from_ref(&base), &[set(&base, &pointer, value)]);
        assert_eq!(words(&effects), [effect], "{pointer}");
    }
    let pool = "/spec/topology/workers/machinePools/0";
    let (base, change) = (with_pool(), |pointer: &str, value: Value| {
        let mut objects = with_pool();
        objects[CLUSTER] = set(&objects[CLUSTER], &format!("{pool}{pointer}"), value);
        objects
    });
    for (pointer, value, effect) in [
        ("/metadata/labels/a", json!("b"), "propagated-in-place"),
        ("/replicas", json!(5), "scale"),
        ("/deletion/nodeDrainTimeoutSeconds", json!(5), "object-only"),
        ("/failureDomains", json!(["1"]), "provider-defined"),
    ] {
        let effects = plan(&base, &change(pointer, value));
        assert_eq!(words(&effects), [effect], "{pointer}: {effects:#?}");
    }
    // Its bootstrap object is no clone of a template: it is patched in place.
    let mut head = with_pool();
    head[BOOTSTRAP] = set(&head[BOOTSTRAP], "/spec/template/spec/files", json!([1]));
    let effects = plan(&base, &head);
    assert_eq!(words(&effects), ["provider-defined", "rollout"], "{effects:#?}");
    let mut head = with_pool();
    head[CLUSTER] = set(&head[CLUSTER], "/spec/topology/version", json!("v1.34.0"));
    let effects = plan(&base, &head);
    let rollout = effects.iter().find(|e| e["effect"] == "rollout").expect("one");
    assert!(
        rollout["consequences"].to_string().contains("MachinePool mp-0: the infrastructure provider decides")
    );
    assert_eq!(rollout["details"]["machines"], 7);
}

/// A second class, its templates included, as a copy of the first.
fn with_second_class(edit: impl Fn(&mut Value)) -> Vec<Value> {
    let mut objects = topology();
    let mut second = objects[CLASS].clone();
    second["metadata"]["name"] = json!("second");
    edit(&mut second);
    objects.push(second);
    objects
}

/// Facts: `classRef` (v1beta1 `class`) rebases the Cluster. Effects are those of
/// the differences; incompatible classes are refused.
#[test]
fn rows_of_another_class() {
    let rebase = |edit: &dyn Fn(&mut Value), field: &str, value: Value| {
        let base = with_second_class(edit);
        let mut head = with_second_class(edit);
        head[CLUSTER] = set(&head[CLUSTER], field, value);
        let mut base = base;
        if field.ends_with("/class") {
            for objects in [&mut base, &mut head] {
                objects[CLUSTER]["apiVersion"] = json!("cluster.x-k8s.io/v1beta1");
                let topology = &mut objects[CLUSTER]["spec"]["topology"];
                topology.as_object_mut().expect("a map").remove("classRef");
            }
            base[CLUSTER]["spec"]["topology"]["class"] = json!("class");
        }
        plan(&base, &head)
    };
    for (field, value) in
        [("/spec/topology/classRef", json!({"name": "second"})), ("/spec/topology/class", json!("second"))]
    {
        let same = rebase(&|_| {}, field, value.clone());
        assert_eq!(words(&same), Vec::<&str>::new(), "{same:#?}");
        let other_default = rebase(
            &|class| class["spec"]["variables"][0]["schema"]["openAPIV3Schema"]["default"] = json!("v9"),
            field,
            value.clone(),
        );
        assert_eq!(words(&other_default), ["rollout"], "{other_default:#?}");
        let other_label = rebase(
            &|class| {
                class["spec"]["workers"]["machineDeployments"][0]["metadata"] = json!({"labels": {"a": "b"}})
            },
            field,
            value.clone(),
        );
        assert_eq!(words(&other_label), ["propagated-in-place"], "{other_label:#?}");
        for (what, edit) in [
            ("another kind of infrastructure", "/spec/infrastructure/templateRef/kind"),
            ("another kind of control plane", "/spec/controlPlane/templateRef/kind"),
            ("other Machines", "/spec/workers/machineDeployments/0/infrastructure/templateRef/kind"),
        ] {
            let refused = rebase(
                &|class| *class.pointer_mut(edit).expect("a reference") = json!("OtherTemplate"),
                field,
                value.clone(),
            );
            assert_eq!(words(&refused), ["rejected"], "{what}: {refused:#?}");
        }
        let unused = rebase(
            &|class| class["spec"]["workers"]["machineDeployments"][0]["class"] = json!("renamed"),
            field,
            value.clone(),
        );
        assert_eq!(words(&unused), ["rejected"], "{unused:#?}");
        let without_machines = rebase(
            &|class| {
                class["spec"]["controlPlane"].as_object_mut().expect("a map").remove("machineInfrastructure");
            },
            field,
            value.clone(),
        );
        assert_eq!(words(&without_machines), ["rejected"], "{without_machines:#?}");
    }
    // The same edits of the class itself are refused at the class.
    let edited =
        plan(&topology(), &changed(CLASS, "/spec/workers/machineDeployments/0/class", json!("renamed")));
    assert_eq!(words(&edited), ["rejected"]);
    assert_eq!(edited[0]["object"]["kind"], "ClusterClass");
}

/// Facts: an entry that takes another worker class keeps its MachineDeployment;
/// its templates are compared.
#[test]
fn rows_of_another_worker_class() {
    let two = |class: &str| {
        let mut objects = topology();
        let mut second = objects[CLASS]["spec"]["workers"]["machineDeployments"][0].clone();
        second["class"] = json!("w2");
        second["infrastructure"]["templateRef"]["name"] = json!("m2");
        objects[CLASS]["spec"]["workers"]["machineDeployments"].as_array_mut().expect("a list").push(second);
        let mut template = objects[MACHINES].clone();
        template["metadata"]["name"] = json!("m2");
        template["spec"]["template"]["spec"] = json!({"size": "large"});
        objects.push(template);
        objects[CLUSTER] =
            set(&objects[CLUSTER], "/spec/topology/workers/machineDeployments/0/class", json!(class));
        objects
    };
    let effects = plan(&two("w"), &two("w2"));
    assert_eq!(words(&effects), ["rollout"], "{effects:#?}");
    let mut other_kind = two("w2");
    let kind = "/spec/workers/machineDeployments/1/infrastructure/templateRef/kind";
    other_kind[CLASS] = set(&other_kind[CLASS], kind, json!("OtherTemplate"));
    let mut base = two("w");
    base[CLASS] = set(&base[CLASS], kind, json!("OtherTemplate"));
    let last = base.len() - 1;
    for objects in [&mut base, &mut other_kind] {
        objects[last]["kind"] = json!("OtherTemplate");
    }
    let effects = plan(&base, &other_kind);
    assert_eq!(words(&effects), ["rejected"], "{effects:#?}");
}

/// Facts: health checks make, change and delete a MachineHealthCheck; no Machine
/// is replaced. Both API versions' names.
#[test]
fn rows_of_health_checks() {
    let (control_plane, md) = ("/spec/topology/controlPlane", "/spec/topology/workers/machineDeployments/0");
    for entry in [control_plane, md] {
        for (name, first, second) in [
            ("healthCheck", json!({"enabled": true}), json!({"enabled": false})),
            ("machineHealthCheck", json!({"enable": true, "maxUnhealthy": "40%"}), json!({"enable": false})),
        ] {
            let without = topology();
            let with = changed(CLUSTER, &format!("{entry}/{name}"), first);
            let other = changed(CLUSTER, &format!("{entry}/{name}"), second);
            for (base, head) in [(&without, &with), (&with, &other), (&other, &without)] {
                let effects = plan(base, head);
                assert_eq!(words(&effects), ["object-only"], "{entry}/{name}: {effects:#?}");
            }
        }
    }
    let check = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineHealthCheck",
        "metadata": {"name": "h", "namespace": "fleet"},
        "spec": {"clusterName": "c", "maxUnhealthy": "40%", "nodeStartupTimeout": "10m"}});
    for (pointer, value, effect) in [
        ("/spec/maxUnhealthy", json!("50%"), "object-only"),
        ("/spec/nodeStartupTimeout", json!("5m"), "object-only"),
        ("/spec/clusterName", json!("d"), "rejected"),
    ] {
        let effects = plan(std::slice::from_ref(&check), &[set(&check, pointer, value)]);
        assert_eq!(words(&effects), [effect], "{pointer}");
    }
}

/// What else section 2.6 of the facts has.
#[test]
fn other_rows_of_topologies() {
    let (control_plane, md) = ("/spec/topology/controlPlane", "/spec/topology/workers/machineDeployments/0");
    for (pointer, value, effects) in [
        // Documented as not implemented, and dropped by the conversion.
        ("/spec/topology/rolloutAfter".to_owned(), json!("2026-03-26T10:00:00Z"), &[][..]),
        (format!("{control_plane}/rollout"), json!({"after": "2026-03-26T10:00:00Z"}), &["rollout"]),
        (format!("{md}/rollout/after"), json!("2026-03-26T10:00:00Z"), &["rollout"]),
        (format!("{md}/nodeDrainTimeout"), json!("5m"), &["propagated-in-place"]),
        (
            format!("{md}/strategy"),
            json!({"rollingUpdate": {"deletePolicy": "Oldest"}}),
            &["object-only", "object-only"],
        ),
        (format!("{md}/readinessGates"), json!([{"conditionType": "a"}]), &["propagated-in-place"]),
        (format!("{md}/taints"), json!([{"key": "a", "effect": "NoSchedule"}]), &["propagated-in-place"]),
        (
            format!("{control_plane}/taints"),
            json!([{"key": "a", "effect": "NoSchedule"}]),
            &["propagated-in-place"],
        ),
        (
            format!("{control_plane}/readinessGates"),
            json!([{"conditionType": "a"}]),
            &["propagated-in-place"],
        ),
        (format!("{control_plane}/deletion/nodeDrainTimeoutSeconds"), json!(5), &["propagated-in-place"]),
        (format!("{control_plane}/replicas"), json!(4), &["rejected"]),
        (format!("{md}/variables"), json!({"overrides": [{"name": "image", "value": "v2"}]}), &["rollout"]),
        ("/spec/topology/version".to_owned(), json!("v1.32.0"), &["rejected"]),
    ] {
        let found = plan(&topology(), &changed(CLUSTER, &pointer, value));
        assert_eq!(words(&found), effects, "{pointer}: {found:#?}");
    }
    // An entry that goes is deleted; one that comes is created; order is nothing.
    let mut two = topology();
    let list = &mut two[CLUSTER]["spec"]["topology"]["workers"]["machineDeployments"];
    let mut second = list[0].clone();
    second["name"] = json!("md-1");
    list.as_array_mut().expect("a list").push(second);
    assert_eq!(words(&plan(&topology(), &two)), ["scale"]);
    assert_eq!(words(&plan(&two, &topology())), ["scale"]);
    let mut reversed = two.clone();
    reversed[CLUSTER]["spec"]["topology"]["workers"]["machineDeployments"]
        .as_array_mut()
        .expect("a list")
        .reverse();
    assert!(plan(&two, &reversed).is_empty());
}

/// cluster-api `core/reconcilers/topology/cluster/patches/engine.go`, `Apply`: an extension
/// gets variables and templates, and answers with any patch of a template's spec.
#[test]
fn what_an_extension_answers_is_not_told_as_a_rollout() {
    let external = json!({"name": "ext", "external": {"generatePatchesExtension": "patches.addons"}});
    let only = changed(CLASS, "/spec/patches", json!([external]));
    // A variable that only the extension reads.
    let mut more = only.clone();
    more[CLUSTER]["spec"]["topology"]["variables"] = json!([{"name": "image", "value": "v2"}]);
    let effects = plan(&only, &more);
    assert_eq!(words(&effects), ["provider-defined"; 5], "{effects:#?}");
    // So does one that the class doesn't define, as the extension may.
    let mut undefined = only.clone();
    undefined[CLUSTER]["spec"]["topology"]["variables"] = json!([{"name": "registry", "value": "r"}]);
    assert_eq!(words(&plan(&only, &undefined)), ["provider-defined"; 5]);

    // The inline patch before it is known, and so is the change that it makes.
    let mut both = topology();
    both[CLASS]["spec"]["patches"].as_array_mut().expect("a list").push(external.clone());
    let mut head = both.clone();
    head[CLUSTER]["spec"]["topology"]["variables"] = json!([{"name": "image", "value": "v2"}]);
    let effects = plan(&both, &head);
    let rolls: Vec<&Value> = effects.iter().filter(|effect| effect["effect"] == "rollout").collect();
    assert_eq!(rolls.len(), 1, "{effects:#?}");
    assert_eq!((&rolls[0]["before"], &rolls[0]["after"]), (&json!("v1"), &json!("v2")), "{rolls:#?}");
    assert!(rolls[0]["field"].as_str().is_some_and(|field| field.ends_with("/spec/template/spec/image")));

    // Several fields that are not known: people get words for them as well.
    let text = plan_text(&both, &head);
    assert!(text.contains("image v1 -> v2"), "{text}");
    assert!(text.contains("what the extension answers decides"), "{text}");
}

/// A topology is neither given to a Cluster nor taken from it.
#[test]
fn topologies_stay() {
    let mut without = topology();
    without[CLUSTER]["spec"] = json!({"controlPlaneRef": {"kind": "KubeadmControlPlane", "name": "c"}});
    assert_eq!(words(&plan(&topology(), &without)), ["rejected"]);
    assert_eq!(words(&plan(&without, &topology())), ["rejected"]);
    let mut allowed = topology();
    allowed[CLUSTER]["metadata"]["annotations"] =
        json!({"unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check": ""});
    assert!(plan(&without, &allowed).is_empty());
}

#[test]
fn a_paused_cluster_delays_everything() {
    let mut head = changed(CLUSTER, "/spec/topology/version", json!("v1.34.0"));
    let md = "/spec/topology/workers/machineDeployments/0";
    head[CLUSTER] = set(&head[CLUSTER], &format!("{md}/metadata/labels/a"), json!("b"));
    head[CLUSTER]["spec"]["paused"] = json!(true);
    let effects = plan(&topology(), &head);
    assert_eq!(words(&effects), ["delayed", "delayed"], "{effects:#?}");
    // Its objects stop with it, unless only its annotation says so.
    let cluster = |spec: Value, annotations: Value| {
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
               "metadata": {"name": "c", "namespace": "fleet", "annotations": annotations}, "spec": spec})
    };
    let rolled = set(&machine_deployment(), "/spec/template/spec/version", json!("v1.34.0"));
    for (spec, annotations, effect) in [
        (json!({"paused": true}), json!({}), "delayed"),
        (json!({}), json!({"cluster.x-k8s.io/paused": ""}), "rollout"),
    ] {
        let cluster = cluster(spec, annotations);
        let effects = plan(&[cluster.clone(), machine_deployment()], &[cluster, rolled.clone()]);
        assert_eq!(words(&effects), [effect], "{effects:#?}");
    }
    let held = set(&rolled, "/spec/paused", json!(true));
    let effects = plan(&[machine_deployment()], &[held]);
    assert_eq!(words(&effects), ["delayed", "object-only"], "{effects:#?}");
}

#[test]
fn a_deferred_entry_stays_behind() {
    let entry = "/spec/topology/workers/machineDeployments/0";
    let annotations = format!("{entry}/metadata/annotations");
    let defer = json!({"topology.cluster.x-k8s.io/defer-upgrade": ""});
    let deferred = changed(CLUSTER, &annotations, defer);
    let mut head = deferred.clone();
    head[CLUSTER] = set(&head[CLUSTER], "/spec/topology/version", json!("v1.34.0"));
    let effects = plan(&deferred, &head);
    let rollout = effects.iter().find(|e| e["effect"] == "rollout").expect("one");
    assert_eq!(rollout["details"]["machines"], 3);
    assert!(rollout["consequences"].to_string().contains("md-0: deferred by annotation"));
    assert_eq!(words(&plan(&topology(), &deferred)), ["object-only"]);
    assert_eq!(words(&plan(&deferred, &topology())), ["unknown"]);
}

#[test]
fn control_planes_that_the_webhook_refuses() {
    let base = control_plane();
    for (pointer, value) in
        [("/spec/replicas", json!(4)), ("/spec/replicas", json!(0)), ("/spec/version", json!("v1.35.0"))]
    {
        let effects = plan(std::slice::from_ref(&base), &[set(&base, pointer, value)]);
        assert_eq!(words(&effects), ["rejected"], "{pointer}");
    }
    // With external etcd any number may be.
    let external = json!({"external": {"endpoints": ["e"]}});
    let base = set(&base, "/spec/kubeadmConfigSpec/clusterConfiguration/etcd", external);
    let effects = plan(std::slice::from_ref(&base), &[set(&base, "/spec/replicas", json!(4))]);
    assert_eq!(words(&effects), ["scale"]);
}

/// Another API version of the same content rolls nothing; what only a conversion
/// could tell is unknown.
#[test]
fn api_versions_are_no_change() {
    let old = |arguments: Value| {
        let mut objects = topology();
        objects[BOOTSTRAP]["apiVersion"] = json!("bootstrap.cluster.x-k8s.io/v1beta1");
        objects[BOOTSTRAP]["spec"]["template"]["spec"] =
            json!({"joinConfiguration": {"nodeRegistration": {"kubeletExtraArgs": arguments}}});
        objects
    };
    let new = |arguments: Value| {
        let mut objects = old(arguments);
        objects[BOOTSTRAP]["apiVersion"] = json!("bootstrap.cluster.x-k8s.io/v1beta2");
        objects
    };
    let same = plan(&old(json!({"v": "2"})), &new(json!([{"name": "v", "value": "2"}])));
    assert!(same.is_empty(), "{same:#?}");
    let other = plan(&old(json!({"v": "2"})), &new(json!([{"name": "v", "value": "3"}])));
    assert_eq!(words(&other), ["rollout"], "{other:#?}");
    let mut infra = topology();
    infra[MACHINES]["apiVersion"] = json!("infrastructure.cluster.x-k8s.io/v1beta1");
    infra[MACHINES]["spec"]["template"]["spec"] = json!({"oldName": 1});
    let mut renamed = topology();
    renamed[MACHINES]["spec"]["template"]["spec"] = json!({"newName": 1});
    let found = plan(&infra, &renamed);
    assert_eq!(words(&found), ["unknown"], "{found:#?}");
}

/// Each field is told once: as an effect on Machines, or as one of the object.
#[test]
fn fields_are_told_once() {
    let directory = TempDir::new().expect("a temporary directory");
    let (before, after) = (directory.path().join("base"), directory.path().join("head"));
    write(&before, &topology());
    let mut head = changed(CLUSTER, "/spec/topology/workers/machineDeployments/0/replicas", json!(9));
    head[CLUSTER]["metadata"]["annotations"] = json!({"example.com/note": "x"});
    write(&after, &head);
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["plan", "--format", "json", "--base"])
        .arg(&before)
        .arg("--head")
        .arg(&after)
        .arg("--root")
        .arg(&after)
        .output()
        .expect("the command runs");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let told: Vec<(&Value, &Value)> = answer["effects"]
        .as_array()
        .expect("effects")
        .iter()
        .map(|e| (&e["category"], &e["field"]))
        .collect();
    assert_eq!(
        told,
        [
            (&json!("machines"), &json!("/spec/topology/workers/machineDeployments/{name=md-0}/replicas")),
            (&json!("object"), &json!("/metadata/annotations/example.com~1note")),
        ]
    );
}

/// Hooks are told for Clusters that come and go, too; what stays in the cluster
/// calls none.
#[test]
fn new_clusters_call_hooks() {
    let without: Vec<Value> = topology().into_iter().take(CLUSTER).collect();
    assert!(plan(&without, &topology()).is_empty(), "RuntimeSDK is off in every release");
    let plan = |base: &[Value], head: &[Value]| plan_under(&with_hooks(""), base, head);
    let effects = plan(&without, &topology());
    assert_eq!(words(&effects), ["hooks-called"]);
    let called: Vec<&Value> =
        effects[0]["details"]["hooks"].as_array().expect("hooks").iter().map(|h| &h["hook"]).collect();
    assert_eq!(called, ["BeforeClusterCreate", "AfterControlPlaneInitialized"]);
    let effects = plan(&topology(), &without);
    assert_eq!(words(&effects), ["hooks-called"]);
    assert_eq!(effects[0]["details"]["hooks"][0]["hook"], "BeforeClusterDelete");
    let kept = json!({"kustomize.toolkit.fluxcd.io/prune": "disabled"});
    assert!(plan(&changed(CLUSTER, "/metadata/annotations", kept), &without).is_empty());
    // Extensions that are stated are the only ones.
    let extension = "extensions: [{name: addons, handlers: [{name: up, hook: BeforeClusterCreate}]}], ";
    let effects = plan_under(&with_hooks(extension), &without, &topology());
    assert_eq!(effects[0]["details"]["hooks"].as_array().expect("hooks").len(), 1, "{effects:#?}");
    let answered = json!("answered by up.addons");
    assert!(effects[0]["consequences"].as_array().expect("consequences").contains(&answered), "{effects:#?}");
    assert!(plan_under(&with_hooks(extension), &topology(), &without).is_empty());
}

/// The configuration under which lifecycle hooks are called.
fn with_hooks(more: &str) -> String {
    format!("{CONFIG}target: {{{more}features: {{runtimeSdk: enabled}}}}\n")
}

/// Manifests whose values come from a Secret that is not in the repository.
fn plan_substituted(base: &[Value], head: &[Value]) -> Vec<Value> {
    let directory = TempDir::new().expect("a temporary directory");
    let kustomization = json!({
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "fleet", "namespace": "flux-system"},
        "spec": {"interval": "10m", "path": "./fleet", "prune": true,
                 "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
                 "postBuild": {"substituteFrom": [{"kind": "Secret", "name": "variables"}]}},
    });
    for (side, objects) in [("base", base), ("head", head)] {
        let root = directory.path().join(side);
        write(&root, objects);
        std::fs::create_dir_all(root.join("clusters")).expect("a directory");
        std::fs::write(root.join("clusters/fleet.yaml"), kustomization.to_string()).expect("writable");
        let config = "version: 1\nclusters: [{name: production, path: clusters}]\n";
        std::fs::write(root.join(".forebay.yaml"), config).expect("writable");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .current_dir(directory.path())
        .args(["plan", "--format", "json", "--base", "./base", "--head", "./head", "--root", "head"])
        .output()
        .expect("the command runs");
    let mut answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let Value::Array(effects) = answer["effects"].take() else { return Vec::new() };
    effects.into_iter().filter(told).collect()
}

/// What only a cluster knows makes an effect unknown, or in place where only its
/// value is; never a rollout, a deletion or a refusal.
#[test]
fn unknown_values_are_never_taken_for_known_ones() {
    let md = "/spec/topology/workers/machineDeployments/0";
    for (index, pointer, effects) in [
        (CLUSTER, "/spec/topology/version".to_owned(), &["unknown"][..]),
        (CLUSTER, format!("{md}/replicas"), &["unknown"]),
        (CLUSTER, format!("{md}/name"), &["unknown"]),
        (CLUSTER, format!("{md}/class"), &["unknown", "unknown"]),
        (CLUSTER, format!("{md}/failureDomain"), &["unknown"]),
        (CLUSTER, format!("{md}/metadata/labels/a"), &["propagated-in-place"]),
        (CLUSTER, "/spec/topology/classRef/name".to_owned(), &["unknown"]),
        (CLUSTER, "/metadata/name".to_owned(), &[]),
        (CLASS, "/spec/infrastructure/templateRef/kind".to_owned(), &[]),
        (CLASS, "/spec/workers/machineDeployments/0/class".to_owned(), &["unknown", "unknown"]),
        (MACHINES, "/spec/template/spec/x".to_owned(), &["unknown"]),
        (2, "/spec/template/spec/kubeadmConfigSpec".to_owned(), &["unknown"]),
        (MACHINES, "/metadata/name".to_owned(), &["unknown"]),
    ] {
        let head = changed(index, &pointer, json!("v${V}.1"));
        let found = plan_substituted(&topology(), &head);
        assert_eq!(words(&found), effects, "{pointer}: {found:#?}");
        let found = plan_substituted(&head, &topology());
        assert_eq!(words(&found), effects, "from {pointer}: {found:#?}");
    }
    for (object, pointer) in [
        (machine_deployment(), "/spec/template/spec/version"),
        (machine_deployment(), "/spec/template/spec/infrastructureRef/name"),
        (machine_deployment(), "/spec/clusterName"),
        (control_plane(), "/spec/version"),
        (control_plane(), "/spec/replicas"),
        (control_plane(), "/spec/kubeadmConfigSpec/verbosity"),
        (control_plane(), "/spec/kubeadmConfigSpec/clusterConfiguration/certificatesDir"),
    ] {
        let head = set(&object, pointer, json!("${V}"));
        let found = plan_substituted(std::slice::from_ref(&object), &[head]);
        assert_eq!(words(&found), ["unknown"], "{pointer}: {found:#?}");
    }
}

fn machine_deployment_v1beta1() -> Value {
    json!({
        "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment",
        "metadata": {"name": "md", "namespace": "fleet"},
        "spec": {
            "clusterName": "c", "replicas": 3, "selector": {"matchLabels": {"a": "b"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "clusterName": "c", "version": "v1.33.0",
                    "bootstrap": {"configRef": {"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta1", "kind": "KubeadmConfigTemplate", "name": "b"}},
                    "infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevMachineTemplate", "name": "i"},
                },
            },
        },
    })
}

fn control_plane_v1beta1() -> Value {
    json!({
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane",
        "metadata": {"name": "cp", "namespace": "fleet"},
        "spec": {
            "replicas": 3, "version": "v1.33.0",
            "machineTemplate": {"metadata": {"labels": {"a": "b"}},
                "infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "DevMachineTemplate", "name": "i"}},
            "kubeadmConfigSpec": {
                "clusterConfiguration": {"apiServer": {"timeoutForControlPlane": "4m"}, "etcd": {"local": {"dataDir": "/a"}}},
                "initConfiguration": {"nodeRegistration": {"name": "n"}},
                "joinConfiguration": {"nodeRegistration": {"name": "n"}}},
        },
    })
}

/// The rows of facts 2.1 and 2.3 under the names of v1beta1.
#[test]
fn rows_under_the_names_of_v1beta1() {
    let (spec, machines, kubeadm) =
        ("/spec/template/spec", "/spec/machineTemplate", "/spec/kubeadmConfigSpec");
    for (base, pointer, value, effect) in [
        (0, format!("{spec}/version"), json!("v1.34.0"), "rollout"),
        (0, format!("{spec}/failureDomain"), json!("1"), "rollout"),
        (0, format!("{spec}/infrastructureRef/name"), json!("i2"), "rollout"),
        (0, "/spec/rolloutAfter".to_owned(), json!("2026-03-26T10:00:00Z"), "rollout"),
        (0, format!("{spec}/nodeDrainTimeout"), json!("10s"), "propagated-in-place"),
        (0, format!("{spec}/nodeVolumeDetachTimeout"), json!("10s"), "propagated-in-place"),
        (0, format!("{spec}/nodeDeletionTimeout"), json!("10s"), "propagated-in-place"),
        (0, "/spec/minReadySeconds".to_owned(), json!(10), "propagated-in-place"),
        (0, "/spec/strategy/rollingUpdate/maxSurge".to_owned(), json!(2), "object-only"),
        (0, "/spec/strategy/rollingUpdate/deletePolicy".to_owned(), json!("Oldest"), "object-only"),
        (0, "/spec/machineNamingStrategy".to_owned(), json!({"template": "x"}), "object-only"),
        (0, "/spec/strategy/remediation".to_owned(), json!({"maxInFlight": 1}), "object-only"),
        (1, "/spec/rolloutAfter".to_owned(), json!("2026-03-26T10:00:00Z"), "rollout"),
        (1, "/spec/rolloutBefore".to_owned(), json!({"certificatesExpiryDays": 21}), "unknown"),
        (1, "/spec/rolloutStrategy".to_owned(), json!({"rollingUpdate": {"maxSurge": 0}}), "object-only"),
        (1, "/spec/remediationStrategy".to_owned(), json!({"maxRetry": 1}), "object-only"),
        (1, "/spec/machineNamingStrategy".to_owned(), json!({"template": "x"}), "object-only"),
        (1, format!("{machines}/infrastructureRef/name"), json!("i2"), "rollout"),
        (1, format!("{machines}/nodeDrainTimeout"), json!("10s"), "propagated-in-place"),
        (1, format!("{machines}/nodeVolumeDetachTimeout"), json!("10s"), "propagated-in-place"),
        (1, format!("{machines}/nodeDeletionTimeout"), json!("10s"), "propagated-in-place"),
        (1, format!("{machines}/metadata/labels/a"), json!("c"), "propagated-in-place"),
        (
            1,
            format!("{kubeadm}/clusterConfiguration/apiServer/timeoutForControlPlane"),
            json!("5m"),
            "new-machines-only",
        ),
        (1, format!("{kubeadm}/clusterConfiguration/dns"), json!({"imageTag": "v1"}), "object-only"),
        (1, format!("{kubeadm}/joinConfiguration/nodeRegistration"), json!({"name": "m"}), "rollout"),
        (1, format!("{kubeadm}/preKubeadmCommands"), json!(["x"]), "rollout"),
    ] {
        let base = [machine_deployment_v1beta1(), control_plane_v1beta1()][base].clone();
        let effects = plan(std::slice::from_ref(&base), &[set(&base, &pointer, value)]);
        assert_eq!(words(&effects), [effect], "{pointer}: {effects:#?}");
    }
}

/// The same object under the names of the newer version: a migration rolls nothing.
#[test]
fn moving_to_v1beta2_is_no_change() {
    let mut old = machine_deployment_v1beta1();
    old["spec"]["minReadySeconds"] = json!(5);
    old["spec"]["rolloutAfter"] = json!("2026-03-26T10:00:00Z");
    old["spec"]["strategy"]["rollingUpdate"]["deletePolicy"] = json!("Oldest");
    old["spec"]["machineNamingStrategy"] = json!({"template": "x"});
    old["spec"]["strategy"]["remediation"] = json!({"maxInFlight": 2});
    for timeout in ["nodeDrainTimeout", "nodeVolumeDetachTimeout", "nodeDeletionTimeout"] {
        old["spec"]["template"]["spec"][timeout] = json!("1m30s");
    }
    let mut new = machine_deployment();
    new["metadata"] = old["metadata"].clone();
    new["spec"]["deletion"] = json!({"order": "Oldest"});
    new["spec"]["machineNaming"] = json!({"template": "x"});
    new["spec"]["remediation"] = json!({"maxInFlight": 2});
    new["spec"]["rollout"] = json!({"after": "2026-03-26T10:00:00Z",
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}});
    new["spec"]["template"]["spec"]["minReadySeconds"] = json!(5);
    new["spec"]["template"]["spec"]["deletion"] = json!({"nodeDrainTimeoutSeconds": 90,
        "nodeVolumeDetachTimeoutSeconds": 90, "nodeDeletionTimeoutSeconds": 90});
    let effects = plan(&[old], &[new]);
    assert!(effects.is_empty(), "{effects:#?}");

    let mut old = control_plane_v1beta1();
    old["spec"]["machineTemplate"]["nodeDrainTimeout"] = json!("1m");
    old["spec"]["rolloutBefore"] = json!({"certificatesExpiryDays": 21});
    old["spec"]["rolloutStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}});
    old["spec"]["remediationStrategy"] = json!({"maxRetry": 2, "retryPeriod": "1m"});
    old["spec"]["kubeadmConfigSpec"]["joinConfiguration"]["nodeRegistration"]["kubeletExtraArgs"] =
        json!({"v": "2"});
    old["spec"]["kubeadmConfigSpec"]["initConfiguration"]["nodeRegistration"]["kubeletExtraArgs"] =
        json!({"v": "2"});
    let mut new = control_plane();
    new["metadata"] = old["metadata"].clone();
    new["spec"]["machineTemplate"]["metadata"] = old["spec"]["machineTemplate"]["metadata"].clone();
    new["spec"]["machineTemplate"]["spec"]["deletion"] = json!({"nodeDrainTimeoutSeconds": 60});
    new["spec"]["rollout"] = json!({"before": {"certificatesExpiryDays": 21},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}});
    new["spec"]["remediation"] = json!({"maxRetry": 2, "retryPeriodSeconds": 60});
    for phase in ["initConfiguration", "joinConfiguration"] {
        new["spec"]["kubeadmConfigSpec"][phase] = json!({"nodeRegistration": {"name": "n",
            "kubeletExtraArgs": [{"name": "v", "value": "2"}]},
            "timeouts": {"controlPlaneComponentHealthCheckSeconds": 240}});
    }
    let effects = plan(&[old], &[new]);
    assert!(effects.is_empty(), "{effects:#?}");

    let check = |version: &str, spec: Value| {
        json!({"apiVersion": format!("cluster.x-k8s.io/{version}"), "kind": "MachineHealthCheck",
               "metadata": {"name": "h", "namespace": "fleet"}, "spec": spec})
    };
    let old = check(
        "v1beta1",
        json!({"clusterName": "c", "selector": {}, "maxUnhealthy": "40%",
        "nodeStartupTimeout": "10m", "unhealthyConditions": [{"type": "Ready", "status": "False", "timeout": "5m"}]}),
    );
    let new = check(
        "v1beta2",
        json!({"clusterName": "c", "selector": {},
        "checks": {"nodeStartupTimeoutSeconds": 600,
            "unhealthyNodeConditions": [{"type": "Ready", "status": "False", "timeoutSeconds": 300}]},
        "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%"}}}),
    );
    let effects = plan(&[old], &[new]);
    assert!(effects.is_empty(), "{effects:#?}");
}

/// Strategy OnDelete in both API versions, standalone, in a topology and in its class.
#[test]
fn on_delete_replaces_nothing_by_itself() {
    let says = "OnDelete: each Machine is replaced when you delete it";
    let check = |effects: &[Value], name: &str| {
        let found: Vec<&Value> = effects.iter().filter(|e| e["effect"] == "new-machines-only").collect();
        assert_eq!(found.len(), 1, "{name}: {effects:#?}");
        assert!(found[0]["reason"].as_str().unwrap_or_default().contains(says), "{name}: {}", found[0]);
        assert!(!words(effects).contains(&"rollout"), "{name}: {effects:#?}");
    };
    let new = set(&machine_deployment(), "/spec/rollout", json!({"strategy": {"type": "OnDelete"}}));
    let version = |object: &Value| set(object, "/spec/template/spec/version", json!("v1.35.0"));
    check(&plan(std::slice::from_ref(&new), &[version(&new)]), "v1beta2");
    let old = set(&machine_deployment_v1beta1(), "/spec/strategy", json!({"type": "OnDelete"}));
    check(&plan(std::slice::from_ref(&old), &[version(&old)]), "v1beta1");

    let strategy = json!({"strategy": {"type": "OnDelete"}});
    let entry = "/spec/topology/workers/machineDeployments/0/rollout";
    let with = |pointer: &str, index: usize, value: Value| {
        let mut objects = topology();
        objects[index] = set(&objects[index], pointer, value);
        objects
    };
    let zoned = |mut objects: Vec<Value>| {
        let pointer = "/spec/topology/workers/machineDeployments/0/failureDomain";
        objects[CLUSTER] = set(&objects[CLUSTER], pointer, json!("zone-9"));
        objects
    };
    let by_cluster = with(entry, CLUSTER, strategy.clone());
    check(&plan(&by_cluster, &zoned(by_cluster.clone())), "topology");
    let by_class = with("/spec/workers/machineDeployments/0/rollout", CLASS, strategy.clone());
    check(&plan(&by_class, &zoned(by_class.clone())), "class");
    let mut both = by_class;
    both[CLUSTER] = set(&both[CLUSTER], entry, json!({"strategy": {"type": "RollingUpdate"}}));
    assert!(words(&plan(&both, &zoned(both.clone()))).contains(&"rollout"), "the Cluster comes first");
}

/// An extension whose selector leaves the namespace out makes no hook of the Cluster sure.
#[test]
fn an_extension_of_other_namespaces_calls_no_hook() {
    let extension = |name: &str| {
        json!({"apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig",
               "metadata": {"name": "addons"},
               "spec": {"clientConfig": {"url": "https://addons.example.com"},
                        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}}}})
    };
    for (selected, is_called) in [("fleet", true), ("other", false)] {
        let mut before = topology();
        before.push(extension(selected));
        let mut after = before.clone();
        after.remove(CLUSTER);
        let effects = plan(&before, &after);
        assert_eq!(words(&effects).contains(&"hooks-called"), is_called, "{selected}: {effects:#?}");
    }
}

/// A class whose one patch is an extension's, which also says whether it accepts the result.
fn with_extension() -> Vec<Value> {
    let external =
        json!({"generatePatchesExtension": "patches.addons", "validateTopologyExtension": "check.addons"});
    changed(CLASS, "/spec/patches", json!([{"name": "ext", "external": external}]))
}

/// cluster-api `core/reconcilers/topology/cluster/patches/engine.go`, `Apply`: what an
/// extension answers is applied; an answer to one request says nothing about another.
#[test]
fn stated_answers_of_extensions_are_applied() {
    let base = with_extension();
    let mut head = base.clone();
    head[CLUSTER]["spec"]["topology"]["variables"] = json!([{"name": "registry", "value": "r"}]);
    let under = |base: &[Value], head: &[Value], respond: &[&str]| plan_answered(CONFIG, base, head, respond);
    // The same question before and after.
    assert!(under(&base, &base, &["GeneratePatches=a.json"]).is_empty());
    let other = under(&base, &head, &["GeneratePatches=a.json"]);
    assert_eq!(words(&other), ["provider-defined"; 5], "{other:#?}");
    assert!(other[0]["reason"].as_str().is_some_and(|reason| reason.contains("BEFORE..AFTER")), "{other:#?}");
    // Both answers.
    let both = under(&base, &head, &["GeneratePatches@patches.addons=a.json..b.json"]);
    assert_eq!(words(&both), ["rollout", "rollout"], "{both:#?}");
    let values: Vec<_> = both.iter().map(|effect| (&effect["before"], &effect["after"])).collect();
    assert_eq!(values, [(&json!("a"), &json!("b")); 2]);
    assert_eq!(both[0]["details"]["patch"], "ext");
    assert_eq!(both[0]["details"]["template"], "KubeadmControlPlaneTemplate/fleet/cp");
    // What fails holds everything, and failurePolicy speaks of what cannot be reached only.
    let ignoring = format!(
        "{CONFIG}target: {{extensions: [{{name: addons, handlers: [\
         {{name: patches, hook: GeneratePatches, failurePolicy: Ignore}}, \
         {{name: check, hook: ValidateTopology, failurePolicy: Ignore}}]}}]}}\n"
    );
    let answers = "GeneratePatches=a.json..b.json";
    for (config, validate, effects) in [
        (CONFIG, "ValidateTopology=success", ["rollout"; 2]),
        (CONFIG, "ValidateTopology=failure", ["delayed"; 2]),
        (CONFIG, "ValidateTopology=unreachable", ["delayed"; 2]),
        (&*ignoring, "ValidateTopology=failure", ["delayed"; 2]),
        (&*ignoring, "ValidateTopology=unreachable", ["rollout"; 2]),
    ] {
        let found = plan_answered(config, &base, &head, &[answers, validate]);
        assert_eq!(words(&found), effects, "{validate}: {found:#?}");
    }
    // Ignored, it is an answer without patches: nothing differs.
    assert!(plan_answered(&ignoring, &base, &head, &["GeneratePatches=unreachable"]).is_empty());
}

/// cluster-api `kubeadmcontrolplane/update.go`, `rollingUpdate`, and
/// `machinedeployment_rollout_rollingupdate.go`, `reconcileInPlaceUpdateIntent`.
#[test]
fn answers_decide_whether_machines_are_changed_in_place() {
    let on = format!("{CONFIG}target: {{clusterApi: \"1.14\", features: {{inPlaceUpdates: enabled}}}}\n");
    let off = on.replace("enabled", "disabled");
    let old = on.replace("1.14", "1.11");
    let handlers = |hooks: &[&str]| {
        let all = hooks.iter().enumerate().map(|(index, hook)| format!("{{name: h{index}, hook: {hook}}}"));
        let all = all.collect::<Vec<_>>().join(", ");
        on.replace("features", &format!("extensions: [{{name: e, handlers: [{all}]}}], features"))
    };
    let (base, head) = (topology(), changed(MACHINES, "/spec/template/spec/x", json!(1)));
    let renamed = |objects: &[Value], to: &str| {
        let mut objects = objects.to_vec();
        objects[MACHINES]["metadata"]["name"] = json!(to);
        objects[CLASS]["spec"]["workers"]["machineDeployments"][0]["infrastructure"]["templateRef"]["name"] =
            json!(to);
        objects
    };
    let head = renamed(&head, "m2");
    let found = |config: &str, respond: &[&str]| {
        let found = plan_answered(config, &base, &head, respond);
        assert_eq!(found.len(), 1, "{respond:?} {found:#?}");
        found[0].clone()
    };
    let all = "CanUpdateMachineSet=all";
    let both = handlers(&["CanUpdateMachineSet", "UpdateMachine"]);
    let twice = handlers(&["CanUpdateMachineSet", "CanUpdateMachineSet"]);
    for (config, respond, effect, says) in [
        (&*on, &[][..], "rollout", "unless an update extension accepts it in place"),
        (&on, &["CanUpdateMachineSet=none"], "rollout", "CanUpdateMachineSet accepts nothing in place"),
        (&on, &["CanUpdateMachineSet=unreachable"], "delayed", ""),
        (&on, &[all], "updated-in-place", "3 of 4 Machines changed in place; with maxUnavailable 0"),
        (&on, &[all, "UpdateMachine=done"], "updated-in-place", ""),
        (&on, &[all, "UpdateMachine=inProgress"], "updated-in-place", "UpdateMachine asks to wait"),
        (&on, &[all, "UpdateMachine=failure"], "delayed", "UpdateMachine fails"),
        (&off, &[all], "rollout", "the feature gate InPlaceUpdates is off"),
        (&old, &[all], "rollout", "not called before Cluster API 1.12"),
        (&both, &[all], "updated-in-place", ""),
        (&handlers(&["UpdateMachine"]), &[all], "rollout", "no handler is registered"),
        (&handlers(&["CanUpdateMachineSet"]), &[all], "delayed", "UpdateMachine fails"),
        (&twice, &[all], "delayed", ""),
        // Asked for control planes only.
        (&on, &["CanUpdateMachine=all"], "rollout", "unless an update extension"),
    ] {
        let effect_found = found(config, respond);
        assert_eq!(effect_found["effect"], effect, "{respond:?} {effect_found:#}");
        let told = effect_found["consequences"].to_string();
        assert!(told.contains(says), "{respond:?}: {told}");
    }
    // One Machine is replaced by a new one in any case, and OnDelete is nobody's rollout.
    let alone = |objects: &[Value], entry: &str, value: Value| {
        let mut objects = objects.to_vec();
        objects[CLUSTER]["spec"]["topology"]["workers"]["machineDeployments"][0][entry] = value;
        objects
    };
    let one =
        plan_answered(&on, &alone(&base, "replicas", json!(1)), &alone(&head, "replicas", json!(1)), &[all]);
    assert_eq!(words(&one), ["rollout"], "{one:#?}");
    let spare = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}}});
    let spare =
        plan_answered(&on, &alone(&base, "rollout", spare.clone()), &alone(&head, "rollout", spare), &[all]);
    assert!(spare[0]["consequences"].to_string().contains("4 Machines changed in place"), "{spare:#?}");
    let held = json!({"strategy": {"type": "OnDelete"}});
    let held =
        plan_answered(&on, &alone(&base, "rollout", held.clone()), &alone(&head, "rollout", held), &[all]);
    assert_eq!(words(&held), ["new-machines-only"], "{held:#?}");
    // A new version: what accepts, and what not.
    let next = changed(CLUSTER, "/spec/topology/version", json!("v1.34.0"));
    for (respond, effect, count) in [
        (&[all, "CanUpdateMachine=all"][..], "updated-in-place", Some(7)),
        (&[all, "CanUpdateMachine=none"], "rollout", Some(4)),
        (&["CanUpdateMachine=unreachable"], "delayed", None),
    ] {
        let effects = plan_answered(&on, &base, &next, respond);
        let version = effects.iter().find(|one| one["field"] == "/spec/topology/version").expect("an effect");
        assert_eq!(version["effect"], effect, "{respond:?} {version:#}");
        assert_eq!(version["details"].get("inPlace"), count.map(|n: i32| json!(n)).as_ref(), "{version:#}");
    }
}

/// A change of a class is told for each Cluster, with the patch that it goes through; what is
/// equal stands together.
#[test]
fn a_change_of_a_class_names_templates_patches_and_clusters() {
    let many = |mut objects: Vec<Value>| {
        for name in ["d", "e", "f"] {
            let mut cluster = objects[CLUSTER].clone();
            cluster["metadata"]["name"] = json!(name);
            objects.push(cluster);
        }
        objects
    };
    let base = many(topology());
    let patch = "/spec/patches/0/definitions/0/jsonPatches/0/valueFrom";
    let head = many(changed(CLASS, patch, json!({"template": "{{ .image }}-hardened"})));
    let effects = plan(&base, &head);
    let rolls: Vec<&Value> = effects.iter().filter(|effect| effect["effect"] == "rollout").collect();
    assert_eq!(rolls.len(), 4, "{effects:#?}");
    assert_eq!(rolls[0]["details"]["template"], "DevMachineTemplate/fleet/m");
    assert_eq!(rolls[0]["details"]["patch"], "image");
    let text = plan_text(&base, &head);
    assert!(
        text.contains("4 Clusters (fleet/c, fleet/d, fleet/e, fleet/f): MachineDeployment md-0"),
        "{text}"
    );
    assert!(text.contains("template DevMachineTemplate fleet/m, by patch image"), "{text}");
    assert!(text.contains("16 Machines in all"), "{text}");

    // Of several variables the one that the patch reads is the cause.
    let variables = json!([{"name": "another", "value": "x"}, {"name": "image", "value": "v2"}]);
    let effects = plan(&topology(), &changed(CLUSTER, "/spec/topology/variables", variables));
    let via = &effects[0]["causes"][0]["location"]["via"];
    assert_eq!(via[0]["kind"], "resource", "{effects:#?}");
    // Several effects of one line on one Cluster are no several Clusters.
    let base = with_extension();
    let mut head = base.clone();
    head[CLUSTER]["spec"]["topology"]["variables"] = json!([{"name": "image", "value": "v2"}]);
    let text = plan_text(&base, &head);
    assert!(text.contains("changes   Cluster fleet/c: ") && !text.contains("Clusters ("), "{text}");
}

/// What a class that is not here says of versions is not known: a minor is skipped with it only.
#[test]
fn a_skipped_minor_without_the_class_may_be_rejected() {
    let without = |version: &str| {
        let mut objects = changed(CLUSTER, "/spec/topology/version", json!(version));
        objects.remove(CLASS);
        objects
    };
    let told = |to: &str| {
        let effects = plan(&without("v1.33.0"), &without(to));
        assert_eq!(words(&effects), ["rollout"], "{effects:#?}");
        effects[0]["consequences"].to_string()
    };
    assert!(told("v1.35.0").contains("unless it plans the steps, the webhook rejects it"));
    assert!(!told("v1.34.0").contains("rejects"));
}
