//! Cluster API's own cases of topology mutation and of updates in place, written down as
//! data in `tests/recordings/topology-mutation.json`, through `simulate hooks --input`.

use crate::support::recordings;
use serde_json::{Map, Value, json};
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Cases that are answered otherwise, or not at all, each with the reason.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "apply-005",
        "what patches set of a control plane's version, replicas and references is shown, not dropped",
    ),
    ("in-place-machine-018", DRY_RUN),
    ("in-place-machine-019", DRY_RUN),
    ("in-place-machine-020", DRY_RUN),
    ("in-place-machine-021", DRY_RUN),
    ("in-place-machine-022", DRY_RUN),
    ("in-place-machine-023", DRY_RUN),
];

const DRY_RUN: &str = "`createRequest` asks the API server for a dry run";

/// A fixture of upstream's `TestApply`: one class with all kinds of templates, two entries of
/// each kind of workers.
fn fixture(patches: &Value, definitions: Option<&Value>) -> Vec<Value> {
    let template = |group: &str, kind: &str, name: &str| {
        json!({"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind,
               "metadata": {"name": name, "namespace": "default"}, "spec": {"template": {"spec": {}}}})
    };
    let reference = |group: &str, kind: &str, name: &str| json!({"templateRef": {"apiVersion": format!("{group}.cluster.x-k8s.io/v1beta2"), "kind": kind, "name": name}});
    let (infra, boot) = ("infrastructure", "bootstrap");
    let machines = "GenericInfrastructureMachineTemplate";
    let pools = "GenericInfrastructureMachinePoolTemplate";
    let config = "GenericBootstrapConfigTemplate";
    let mut control_plane = reference("controlplane", "GenericControlPlaneTemplate", "cp");
    control_plane["machineInfrastructure"] = reference(infra, machines, "cpm");
    // Without definitions none of the variables is one of the patch.
    let inline = definitions.and_then(Value::as_array).into_iter().flatten().filter(|definition| {
        definition["from"].as_array().is_some_and(|from| from.contains(&json!("inline")))
    });
    let variables: Vec<Value> =
        inline.map(|one| json!({"name": one["name"], "schema": {"openAPIV3Schema": {}}})).collect();
    let class = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "ClusterClass",
        "metadata": {"name": "clusterClass1", "namespace": "default"},
        "spec": {
            "infrastructure": reference(infra, "GenericInfrastructureClusterTemplate", "ic"),
            "controlPlane": control_plane, "variables": variables, "patches": patches,
            "workers": {
                "machineDeployments": [{"class": "default-worker", "bootstrap": reference(boot, config, "b"),
                                        "infrastructure": reference(infra, machines, "wm")}],
                "machinePools": [{"class": "default-mp-worker", "bootstrap": reference(boot, config, "b"),
                                  "infrastructure": reference(infra, pools, "wp")}],
            },
        },
    });
    let entries = |class: &str, variable: &str| {
        let value = format!("{class}-topo1-override-value");
        json!([
            {"class": class, "name": format!("{class}-topo1"),
             "variables": {"overrides": [{"name": variable, "value": value}]}},
            {"class": class, "name": format!("{class}-topo2"), "replicas": 5},
        ])
    };
    let overrides = json!([{"name": "controlPlaneVariable", "value": "control-plane-override-value"}]);
    let cluster = json!({
        "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
        "metadata": {"name": "cluster1", "namespace": "default", "labels": {"foo": "bar"}, "annotations": {"fizz": "buzz"}},
        "spec": {
            "clusterNetwork": {"services": {"cidrBlocks": ["10.10.10.1/24"]}, "pods": {"cidrBlocks": ["11.10.10.1/24"]},
                               "serviceDomain": "lark"},
            "topology": {
                "version": "v1.21.2", "classRef": {"name": "clusterClass1"},
                "controlPlane": {"replicas": 3, "variables": {"overrides": overrides}},
                "variables": [
                    {"name": "infraCluster", "value": "value99"},
                    {"name": "controlPlaneVariable", "value": "control-plane-cluster-wide-value"},
                    {"name": "defaultMDWorkerVariable", "value": "default-md-cluster-wide-value"},
                    {"name": "defaultMPWorkerVariable", "value": "default-mp-cluster-wide-value"},
                ],
                "workers": {"machineDeployments": entries("default-worker", "defaultMDWorkerVariable"),
                            "machinePools": entries("default-mp-worker", "defaultMPWorkerVariable")},
            },
        },
    });
    vec![
        cluster,
        class,
        template(infra, "GenericInfrastructureClusterTemplate", "ic"),
        template("controlplane", "GenericControlPlaneTemplate", "cp"),
        template(infra, machines, "cpm"),
        template(infra, machines, "wm"),
        template(infra, pools, "wp"),
        template(boot, config, "b"),
    ]
}

/// The question of a case, as the command takes it.
fn question(case: &Value) -> Value {
    let input = &case["input"];
    let named = |function: &str| {
        let mut question = input.clone();
        question["function"] = json!(function);
        question
    };
    match case["group"].as_str().unwrap_or_default() {
        "patch-selector" => named("matchesSelector"),
        "patch-enabled" => named("patchIsEnabled"),
        "patch-value" => named("calculateValue"),
        "patch-template" => named("renderValueTemplate"),
        "path-segment" => named("parsePathSegment"),
        "generate" => named("generate"),
        "apply" => json!({
            "function": "apply", "objects": fixture(&input["patches"], input.get("definitions")),
            "responses": input["responses"],
        }),
        group if group.starts_with("variables-") => {
            json!({"function": "variables", "objects": with_variables(group, input)})
        }
        _ => input.clone(),
    }
}

/// A Cluster of which one part is that of a case.
fn with_variables(group: &str, input: &Value) -> Vec<Value> {
    let mut objects = fixture(&json!([]), None);
    let defined = input["definedForPatch"].as_array().cloned().unwrap_or_default();
    let definitions: Vec<Value> =
        defined.iter().map(|name| json!({"name": name, "schema": {"openAPIV3Schema": {}}})).collect();
    objects[1]["spec"]["variables"] = json!(definitions);
    let topology = &mut objects[0]["spec"]["topology"];
    match group {
        "variables-global" => {
            let mut cluster = input["cluster"].clone();
            cluster["apiVersion"] = json!("cluster.x-k8s.io/v1beta2");
            cluster["kind"] = json!("Cluster");
            objects[1]["metadata"]["name"] = cluster["spec"]["topology"]["classRef"]["name"].clone();
            objects[0] = cluster;
        }
        "variables-control-plane" => {
            topology["controlPlane"] = input["topology"].clone();
            topology["version"] = input["object"]["version"].clone();
            if input.get("controlPlaneInfrastructureMachineTemplate").is_none() {
                let class = &mut objects[1]["spec"]["controlPlane"];
                class.as_object_mut().expect("a map").remove("machineInfrastructure");
            }
        }
        "variables-machine-deployment" => {
            topology["workers"] = json!({"machineDeployments": [input["topology"]]});
            topology["version"] = input["object"]["version"].clone();
        }
        _ => {
            topology["workers"] = json!({"machinePools": [input["topology"]]});
            topology["version"] = input["object"]["version"].clone();
        }
    }
    objects
}

/// The answers to questions, in one process each.
fn answer(question: &Value) -> Result<Value, String> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["simulate", "hooks", "--format", "json", "--input", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command runs");
    let text = question.to_string();
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it is read");
    let output = child.wait_with_output().expect("it ends");
    let mut answer: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    Ok(answer["result"].take())
}

/// Whether a value is as expected; what is not known offline may be anything.
fn agrees(found: &Value, expected: &Value) -> bool {
    if found.get("$unknown").is_some() {
        return true;
    }
    match (found, expected) {
        (Value::Object(found), Value::Object(expected)) => {
            expected.iter().all(|(key, value)| found.get(key).is_some_and(|own| agrees(own, value)))
        }
        (Value::Number(found), Value::Number(expected)) => found.as_f64() == expected.as_f64(),
        _ => found == expected,
    }
}

/// Fields, written with dots, that a template has beyond what it was.
fn fields_of(part: &str, template: &Value) -> Map<String, Value> {
    let is_object = !part.starts_with("machineDeployments/") && !part.ends_with("machineInfrastructure");
    let mut found = Map::new();
    let mut collect = |prefix: &str, map: &Value| {
        for (key, value) in map.as_object().into_iter().flatten() {
            found.insert(format!("{prefix}.{key}"), value.clone());
        }
    };
    let inner = &template["spec"]["template"];
    if is_object {
        collect("spec", &inner["spec"]);
        collect("metadata.labels", &inner["metadata"]["labels"]);
        collect("metadata.annotations", &inner["metadata"]["annotations"]);
    } else {
        collect("spec.template.spec", &inner["spec"]);
        collect("spec.template.metadata.labels", &inner["metadata"]["labels"]);
        collect("spec.template.metadata.annotations", &inner["metadata"]["annotations"]);
        collect("metadata.labels", &template["metadata"]["labels"]);
        collect("metadata.annotations", &template["metadata"]["annotations"]);
    }
    found
}

/// Why an answer is not what upstream expects.
fn difference(case: &Value, found: &Value) -> Option<String> {
    let expect = &case["expect"];
    let group = case["group"].as_str().unwrap_or_default();
    let failed = found.get("error").is_some_and(|error| *error != json!(false));
    if expect.get("error") == Some(&json!(true)) {
        return (!failed).then(|| format!("no error: {found}"));
    }
    match group {
        "apply" => {
            let parts = found["templates"].as_object().into_iter().flatten();
            let fields: Map<String, Value> = parts
                .map(|(part, template)| (part.clone(), Value::Object(fields_of(part, template))))
                .filter(|(_, fields)| fields.as_object().is_some_and(|fields| !fields.is_empty()))
                .collect();
            let expected = expect["fields"].as_object().cloned().unwrap_or_default();
            let is_same = fields.len() == expected.len() && agrees(&json!(fields), &json!(expected));
            (!is_same || failed).then(|| format!("{} instead of {}", json!(fields), expect["fields"]))
        }
        _ if group.starts_with("variables-") => {
            let own = match group {
                "variables-global" => &found["global"],
                "variables-control-plane" => &found["controlPlane"],
                _ => found["workers"].as_object()?.values().next()?,
            };
            (!agrees(own, &expect["variables"])).then(|| format!("{own} instead of {}", expect["variables"]))
        }
        _ if expect.get("differs").is_some() => {
            let reasons: Vec<String> =
                found["reasons"].as_array().into_iter().flatten().map(|reason| reason.to_string()).collect();
            let kinds: Vec<&str> = reasons
                .iter()
                .filter_map(|reason| reason.trim_start_matches('"').split_once(" cannot be updated in-place"))
                .map(|(kind, _)| kind)
                .collect();
            let is_same = found["canUpdate"] == expect["canUpdate"] && json!(kinds) == expect["differs"];
            (!is_same).then(|| format!("{found} instead of {expect}"))
        }
        _ => (!agrees(found, expect)).then(|| format!("{found} instead of {expect}")),
    }
}

#[test]
fn upstreams_cases_agree_but_for_those_that_are_listed() {
    let all = recordings::json("topology-mutation.json");
    let cases = all["cases"].as_array().expect("cases");
    let mut agreeing = 0;
    let mut wrong = Vec::new();
    for case in cases {
        let id = case["id"].as_str().expect("an id");
        let known = OTHERWISE.iter().find(|(known, _)| *known == id);
        let difference = match answer(&question(case)) {
            Ok(found) => difference(case, &found),
            Err(error) => Some(error),
        };
        match (difference, known) {
            (None, None) => agreeing += 1,
            (None, Some(_)) => wrong.push(format!("{id} agrees now: take it from the list")),
            (Some(why), None) => wrong.push(format!("{id} ({}): {why}", case["name"])),
            (Some(_), Some(_)) => {}
        }
    }
    assert!(wrong.is_empty(), "{agreeing} of {} agree\n{}", cases.len(), wrong.join("\n"));
    assert_eq!(agreeing + OTHERWISE.len(), cases.len());
}
