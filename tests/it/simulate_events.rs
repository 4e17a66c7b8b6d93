//! Upstream's cases and recorded runs through `forebay simulate events`: as
//! manifests where they can be written as such, and as given events.

use forebay::internals::simulate::notify::alerts::{OPERATOR_SOURCE_KINDS, SOURCE_KINDS};
use std::path::Path;
use std::process::Command;

use crate::support::recordings;
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A repository of these objects.
fn repository(objects: &[Value]) -> TempDir {
    let directory = TempDir::new().expect("a temporary directory");
    let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
    write(directory.path(), "objects.yaml", &documents.join("\n---\n"));
    directory
}

fn write(directory: &Path, name: &str, text: &str) {
    std::fs::write(directory.join(name), text).expect("a writable directory");
}

fn simulate(root: &Path, arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["simulate", "events", "--format", "json", "--root"])
        .arg(root)
        .args(arguments)
        .output()
        .expect("the command runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// What becomes of a given event.
fn simulate_event(root: &Path, event: &Value) -> Value {
    write(root, "event.json", &event.to_string());
    let path = root.join("event.json");
    simulate(root, &["--event", path.to_str().expect("UTF-8")])["objects"][0].take()
}

fn object(kind: &str, namespace: &str, name: &str, spec: &Value) -> Value {
    let version = if kind == "Kustomization" { "kustomize.toolkit.fluxcd.io/v1" } else { NOTIFICATION };
    json!({
        "apiVersion": version,
        "kind": kind,
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    })
}

const NOTIFICATION: &str = "notification.toolkit.fluxcd.io/v1beta3";

/// null maps are Go's nil maps: empty.
fn map(value: &Value) -> Value {
    json!(value.as_object().cloned().unwrap_or_else(Map::new))
}

fn alert_and_provider(case: &Value) -> [Value; 2] {
    let spec = json!({
        "providerRef": {"name": "chat"},
        "summary": case["alert_summary"],
        "eventMetadata": case["alert_eventMetadata"],
        "eventSources": [{"kind": case["involvedObject"]["kind"], "name": "*"}],
    });
    [object("Alert", "ns", "alert", &spec), object("Provider", "ns", "chat", &json!({"type": "generic"}))]
}

fn assert_combined(name: &str, case: &Value, answer: &Value) {
    let found = &answer["notifications"][0];
    assert_eq!(answer["kubernetesEventAnnotations"], map(&case["posted_metadata"]), "{name}");
    assert_eq!(found["metadata"], map(&case["result_metadata"]), "{name}: metadata");
    assert_eq!(found["conflicts"], case["conflicts"], "{name}: conflicts");
    // The API server refuses an Alert that names another kind.
    let kind = answer["object"]["kind"].as_str().unwrap();
    let is_taken = SOURCE_KINDS.contains(&kind) || OPERATOR_SOURCE_KINDS.contains(&kind);
    if answer["notifications"][0]["alert"]["name"] == "alert" {
        assert_eq!(found["delivered"], json!(is_taken), "{name}: delivered");
    }
    let kept: Vec<&String> =
        case["after_exclude"].as_object().into_iter().flatten().map(|(k, _)| k).collect();
    for (key, _) in case["posted_metadata"].as_object().into_iter().flatten() {
        let dropped = list(&answer["dropped"]).iter().any(|item| item["key"] == json!(key));
        assert_eq!(dropped, !kept.contains(&key), "{name}: {key} dropped");
    }
    if case["k8s_event"].is_object() {
        let event = &case["k8s_event"];
        for field in ["type", "reason", "message"] {
            assert_eq!(found["event"][field], event[field], "{name}: event");
        }
        let sources = list(&case["conflicts"]).iter().map(|conflict| {
            let sources: Vec<&str> = list(&conflict["sources"]).iter().filter_map(Value::as_str).collect();
            (conflict["key"].as_str().unwrap_or_default().to_owned(), json!(sources.join(", ")))
        });
        assert_eq!(found["event"]["annotations"], Value::Object(sources.collect()), "{name}");
        let log = list(&case["logs"]).iter().find(|log| log["conflictingKeys"].is_array());
        assert_eq!(found["log"], log.expect("a log line")["msg"], "{name}: log");
    } else {
        assert_eq!(found["event"], Value::Null, "{name}: event");
        assert_eq!(found["log"], Value::Null, "{name}: log");
    }
}

#[test]
fn recorded_combinations_as_events() {
    let file = recordings::json("combine-metadata.json");
    list(&file["cases"]).par_iter().for_each(|case| {
        let name = case["name"].as_str().unwrap_or_default();
        let repository = repository(&alert_and_provider(case));
        let mut involved = case["involvedObject"].clone();
        involved["namespace"] = json!("ns");
        involved["name"] = json!("obj");
        let event = json!({
            "involvedObject": involved,
            "severity": "info",
            "message": "msg",
            "reason": "Tested",
            "reportingController": "tester",
            "metadata": case["posted_metadata"],
        });
        let answer = simulate_event(repository.path(), &event);
        assert_combined(name, case, &answer);
        assert_eq!(answer["notifications"][0]["runtimeKeys"], json!([]), "{name}");
    });
}

#[test]
fn recorded_combinations_as_manifests() {
    let file = recordings::json("combine-metadata.json");
    list(&file["cases"]).par_iter().for_each(|case| {
        let name = case["name"].as_str().unwrap_or_default();
        let involved = &case["involvedObject"];
        let mut objects = alert_and_provider(case).to_vec();
        objects.push(json!({
            "apiVersion": involved["apiVersion"],
            "kind": involved["kind"],
            "metadata": {"namespace": "ns", "name": "obj", "annotations": case["object_annotations"]},
        }));
        let repository = repository(&objects);
        let wanted = format!("{}/ns/obj", involved["kind"].as_str().unwrap_or_default());
        let mut arguments = vec!["--object".to_owned(), wanted];
        for (key, value) in case["controller_metadata"].as_object().into_iter().flatten() {
            arguments.push("--controller-metadata".to_owned());
            arguments.push(format!("{key}={}", value.as_str().unwrap_or_default()));
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let answer = &simulate(repository.path(), &arguments)["objects"][0];
        let missing = overridden_at_run_time(case);
        if missing.is_empty() {
            assert_combined(name, case, answer);
        }
        let found = &answer["notifications"][0];
        for key in missing {
            let unknown = json!({"$unknown": "known at run time"});
            assert_eq!(found["metadata"][key], unknown, "{name}: {key}");
            let told = list(&found["conflicts"]).iter().find(|conflict| conflict["key"] == json!(key));
            let last = list(&told.expect("a conflict")["sources"]).last().cloned();
            assert_eq!(last, Some(json!("involved object controller metadata")), "{name}: {key}");
        }
    });
}

/// Keys of a case that its controller sets in each event as well, and that the case does not
/// give: whoever asks about an object, without an event, is told of the conflict.
fn overridden_at_run_time(case: &Value) -> Vec<&'static str> {
    let involved = &case["involvedObject"];
    let group = involved["apiVersion"].as_str().unwrap_or_default().split('/').next().unwrap_or_default();
    let always: &[&str] = match (group, involved["kind"].as_str().unwrap_or_default()) {
        ("helm.toolkit.fluxcd.io", "HelmRelease") => &["revision", "app-version"],
        ("kustomize.toolkit.fluxcd.io", "Kustomization") => &["revision"],
        ("source.toolkit.fluxcd.io", _) => &["revision"],
        ("fluxcd.controlplane.io", "FluxInstance" | "ResourceSetInputProvider") => &["revision"],
        _ => &[],
    };
    let is_given = |key: &str| case["controller_metadata"].get(format!("{group}/{key}")).is_some();
    let is_set = |key: &str| {
        case["object_annotations"].get(format!("event.toolkit.fluxcd.io/{key}")).is_some()
            || case["controller_metadata"].get(format!("event.toolkit.fluxcd.io/{key}")).is_some()
            || case["alert_eventMetadata"].get(key).is_some()
    };
    always.iter().copied().filter(|key| is_set(key) && !is_given(key)).collect()
}

#[test]
fn upstream_combinations() {
    let file = recordings::json("flux-events.json");
    let written = list(&file["combineEventMetadata"]).iter();
    for case in written.chain(list(&file["combineEventMetadata_derived"])) {
        let (input, expect) = (&case["input"], &case["expect"]);
        let mut spec = input["alert"]["spec"].clone();
        spec["providerRef"] = json!({"name": "chat"});
        spec["eventSources"] = json!([{"kind": "Kustomization", "name": "*"}]);
        let repository = repository(&[
            object("Alert", "ns", "alert", &spec),
            object("Provider", "ns", "chat", &json!({"type": "generic"})),
        ]);
        let mut involved = input["involvedObject"].clone();
        involved["kind"] = json!("Kustomization");
        involved["namespace"] = json!("ns");
        involved["name"] = json!("obj");
        let metadata = match &input["rawEventMetadata"] {
            Value::Null => &input["eventMetadata"],
            raw => raw,
        };
        let event = json!({"involvedObject": involved, "severity": "info", "metadata": metadata});
        let answer = simulate_event(repository.path(), &event);
        let found = &answer["notifications"][0];
        assert_eq!(found["metadata"], map(&expect["metadata"]), "{}", case["id"]);
        let conflicts = list(&found["conflicts"]).iter().map(|conflict| {
            (conflict["key"].as_str().unwrap_or_default().to_owned(), conflict["sources"].clone())
        });
        assert_eq!(Value::Object(conflicts.collect()), expect["conflicts"], "{}", case["id"]);
        let annotations = &expect["k8sEvent"]["annotations"];
        assert_eq!(found["event"]["annotations"], *annotations, "{}", case["id"]);
    }
}

#[test]
fn upstream_matching() {
    let file = recordings::json("flux-events.json");
    let matching = |answer: &Value| -> Vec<String> {
        list(&answer["alertsConsidered"])
            .iter()
            .filter(|considered| considered["matched"] == json!(true))
            .map(|considered| considered["alert"]["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    };
    for case in list(&file["filterAlerts"]) {
        let input = &case["input"];
        let namespace = input["alertNamespace"].as_str().unwrap_or_default();
        let alerts: Vec<Value> = list(&input["alerts"])
            .iter()
            .map(|alert| {
                object("Alert", namespace, alert["name"].as_str().unwrap_or_default(), &alert["spec"])
            })
            .collect();
        let answer = simulate_event(repository(&alerts).path(), &input["event"]);
        assert_eq!(json!(matching(&answer)), case["expect"]["matchingAlerts"], "{}", case["id"]);
    }
    for case in list(&file["matchAlertSource"]) {
        let input = &case["input"];
        let mut spec = input["alert"]["spec"].clone();
        spec["eventSources"] = json!([input["source"]]);
        let alert = &input["alert"];
        let mut objects = vec![object(
            "Alert",
            alert["namespace"].as_str().unwrap_or_default(),
            alert["name"].as_str().unwrap_or_default(),
            &spec,
        )];
        if input["clusterObject"]["exists"] == json!(true) {
            let mut involved = object("Kustomization", "foo-ns", "foo", &json!({}));
            involved["metadata"]["labels"] = input["clusterObject"]["labels"].clone();
            objects.push(involved);
        }
        let answer = simulate_event(repository(&objects).path(), &input["event"]);
        assert_eq!(json!(!matching(&answer).is_empty()), case["expect"]["match"], "{}", case["id"]);
    }
    for case in list(&file["eventServerEndToEnd"]) {
        let input = &case["input"];
        let mut objects = vec![
            object("Alert", "foo-ns", "alert-foo", &input["alert"]["spec"]),
            object("Provider", "foo-ns", "provider-foo", &json!({"type": "generic"})),
        ];
        for item in list(&input["clusterObjects"]) {
            objects.push(json!({
                "apiVersion": "source.toolkit.fluxcd.io/v1",
                "kind": item["kind"],
                "metadata": {
                    "namespace": item["namespace"], "name": item["name"], "labels": item["labels"],
                },
            }));
        }
        let answer = simulate_event(repository(&objects).path(), &input["event"]);
        let forwarded = list(&answer["notifications"]).iter().any(|found| found["delivered"] == json!(true));
        assert_eq!(json!(forwarded), case["expect"]["forwarded"], "{}", case["id"]);
    }
}

#[test]
fn upstream_dispatch() {
    let file = recordings::json("flux-events.json");
    let run = |event: &Value, alert: (&str, Value), provider: (&str, Value)| -> Value {
        let mut spec = alert.1;
        spec["providerRef"] = json!({"name": "provider-foo"});
        let sources = json!([{"kind": "Kustomization", "name": "*", "namespace": event["involvedObject"]["namespace"]}]);
        spec["eventSources"] = sources;
        let repository = repository(&[
            object("Alert", alert.0, "alert-foo", &spec),
            object("Provider", provider.0, "provider-foo", &provider.1),
        ]);
        simulate_event(repository.path(), event)["notifications"][0].take()
    };
    let event = |namespace: &Value, metadata: &Value| {
        json!({
            "involvedObject": {
                "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
                "namespace": namespace, "name": "foo",
            },
            "metadata": metadata,
        })
    };
    for case in list(&file["dispatch"]) {
        let (input, expect) = (&case["input"], &case["expect"]);
        let found = run(
            &event(&input["alertNamespace"], &Value::Null),
            (input["alertNamespace"].as_str().unwrap_or_default(), json!({})),
            (
                input["provider"]["namespace"].as_str().unwrap_or_default(),
                json!({"type": input["provider"]["type"], "suspend": input["provider"]["suspend"]}),
            ),
        );
        let sent = expect["sent"].as_bool().unwrap_or(expect["error"] == json!(false));
        assert_eq!(found["delivered"], json!(sent), "{}", case["id"]);
        assert_eq!(found["reason"].is_null(), sent, "{}", case["id"]);
    }
    for case in list(&file["notificationParams"]) {
        let (input, expect) = (&case["input"], &case["expect"]);
        let found = run(
            &event(&input["eventNamespace"], &input["eventMetadata"]),
            (
                input["alertNamespace"].as_str().unwrap_or_default(),
                json!({"summary": input["alertSummary"], "eventMetadata": input["alertEventMetadata"]}),
            ),
            (
                input["providerNamespace"].as_str().unwrap_or_default(),
                json!({"type": input["providerType"], "secretRef": {"name": "secret-foo"}}),
            ),
        );
        assert_eq!(found["delivered"], expect["dispatched"], "{}", case["id"]);
        for (key, value) in input["expectMetadata"].as_object().into_iter().flatten() {
            assert_eq!(found["metadata"][key], *value, "{}", case["id"]);
        }
    }
}

#[test]
fn the_answer_as_json_obeys_its_schema() {
    let schema = serde_json::from_str(include_str!("../../schemas/simulate-events.json")).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for fixture in ["deployment-id", "image-policy", "conflicts"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/events").join(fixture);
        let answer = simulate(&root, &[]);
        let faults: Vec<_> = validator.iter_errors(&answer).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{fixture}: {faults:?}");
        assert!(!list(&answer["objects"][0]["notifications"]).is_empty(), "{fixture}");
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/events/conflicts");
    let answer = simulate(&root, &["--alert", "on-call", "--object", "hr/podinfo"]);
    let found = &answer["objects"][0]["notifications"][0];
    assert_eq!(found["metadata"]["region"], json!({"$holes": [null, "-1"]}));
    assert_eq!(found["locations"]["env"]["path"], json!("clusters/production/alerts.yaml"));
    assert_eq!(found["locations"]["env"]["line"], json!(20));
}

#[test]
fn settings_of_the_cluster_decide() {
    let event = json!({
        "involvedObject": {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "namespace": "foo-ns", "name": "foo",
        },
        "severity": "error",
        "message": "boom",
        "metadata": {"kustomize.toolkit.fluxcd.io/revision": "main@sha1:5394cb7f48332b2de7c17dd8b8384bbc84b7e738"},
    });
    let alert = |namespace: &str| {
        let spec = json!({
            "providerRef": {"name": "chat"},
            "eventSources": [{"kind": "Kustomization", "name": "*", "namespace": "foo-ns"}],
        });
        object("Alert", namespace, "alert", &spec)
    };
    let controller = |argument: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {
                "namespace": "flux-system", "name": "notification-controller",
                "labels": {"app.kubernetes.io/part-of": "flux"},
            },
            "spec": {"template": {"spec": {"containers": [{
                "name": "manager", "image": "ghcr.io/fluxcd/notification-controller:v1.8.0",
                "args": ["--events-addr=:9690", argument],
            }]}}},
        })
    };
    for (namespace, provider, extra, config, delivered) in [
        ("foo-ns", "slack", None, "", true),
        ("bar-ns", "slack", None, "", true),
        ("bar-ns", "slack", Some("--no-cross-namespace-refs=true"), "", false),
        ("foo-ns", "slack", Some("--no-cross-namespace-refs=true"), "", true),
        ("bar-ns", "slack", None, "{version: 1, target: {features: {crossNamespaceRefs: disabled}}}", false),
        ("foo-ns", "github", None, "", true),
        ("foo-ns", "github", None, "{version: 1, target: {flux: \"2.9\"}}", true),
        ("foo-ns", "github", None, "{version: 1, target: {flux: \"2.8\"}}", false),
    ] {
        let mut objects =
            vec![alert(namespace), object("Provider", namespace, "chat", &json!({"type": provider}))];
        objects.extend(extra.map(controller));
        let repository = repository(&objects);
        if !config.is_empty() {
            write(repository.path(), ".forebay.yaml", config);
        }
        let answer = simulate_event(repository.path(), &event);
        let found = &answer["notifications"][0];
        assert_eq!(
            found["delivered"],
            json!(delivered),
            "{namespace} {provider} {extra:?} {config}: {found}"
        );
    }
}

/// What a Provider's expression sees of the event, its Alert and the Provider.
#[test]
fn commit_statuses_of_expressions() {
    for (expression, context) in [
        ("event.involvedObject.name + '/' + event.metadata.team", "apps/shop"),
        ("alert.metadata.name + '/' + provider.spec.type", "on-call/github"),
        // The API server stores no null.
        ("has(provider.spec.proxy) ? 'proxy' : 'direct'", "direct"),
    ] {
        let provider = json!({"type": "github", "proxy": null, "commitStatusExpr": expression});
        let mut kustomization = object("Kustomization", "fleet", "apps", &json!({}));
        kustomization["metadata"]["annotations"] = json!({"event.toolkit.fluxcd.io/team": "shop"});
        let alert = json!({
            "providerRef": {"name": "forge"},
            "eventSources": [{"kind": "Kustomization", "name": "*"}],
        });
        let repository = repository(&[
            object("Provider", "fleet", "forge", &provider),
            object("Alert", "fleet", "on-call", &alert),
            kustomization,
        ]);
        let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["simulate", "events", "--no-config", "--root"])
            .arg(repository.path())
            .output()
            .expect("the command runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(&format!("commit status: context {context}, ")), "{expression}: {text}");
    }
}

/// Before Flux 2.5 an object's annotations are left out, and nothing else.
#[test]
fn annotations_that_are_not_sent_yet() {
    let mut kustomization = object("Kustomization", "fleet", "apps", &json!({}));
    kustomization["metadata"]["annotations"] = json!({"event.toolkit.fluxcd.io/team": "shop"});
    let repository = repository(&[kustomization]);
    let revision = "kustomize.toolkit.fluxcd.io/revision";
    let given = format!("{revision}=main@sha1:5394cb7f48332b2de7c17dd8b8384bbc84b7e738");
    for (version, dropped) in [("2.4", json!(["event.toolkit.fluxcd.io/team"])), ("2.5", json!([]))] {
        let config = format!("{{version: 1, target: {{flux: \"{version}\"}}}}");
        write(repository.path(), ".forebay.yaml", &config);
        let answer = simulate(repository.path(), &["--object", "ks/apps", "--controller-metadata", &given]);
        let found: Vec<&Value> =
            list(&answer["objects"][0]["dropped"]).iter().map(|one| &one["key"]).collect();
        assert_eq!(json!(found), dropped, "{version}: {answer}");
    }
}

#[test]
fn what_cannot_be_answered() {
    let repository = repository(&[object("Kustomization", "flux-system", "apps", &json!({}))]);
    write(repository.path(), "broken.json", "{\"metadata\": {\"a\": 1}}");
    let broken = repository.path().join("broken.json");
    let broken = broken.to_str().expect("UTF-8");
    for (arguments, code, words) in [
        (&["--object", "ks/app"][..], 2, "did you mean Kustomization/apps?"),
        (&["--object", "apps"], 2, "write KIND/NAMESPACE/NAME"),
        (&["--alert", "on-call"], 2, "no Alert is called on-call"),
        (&["--cluster", "nowhere"], 2, "nowhere"),
        (&["--event", broken], 2, "no event"),
        (&["--event", "does-not-exist.json"], 3, "does-not-exist.json"),
        (&["--event", broken, "--severity", "error"], 2, "cannot be used with"),
        (&["--controller-metadata", "a"], 2, "KEY=VALUE"),
        (&["--severity", "trace"], 2, "info, error"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["simulate", "events", "--root"])
            .arg(repository.path())
            .args(arguments)
            .output()
            .expect("the command runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(error.contains(words), "{arguments:?}: {error}");
    }
}

/// As many alerts as objects are not listed for each of them unless that is asked for.
#[test]
fn alerts_are_listed_where_they_are_asked_for() {
    let alert = |name: &str, source: &str| {
        let spec = json!({"providerRef": {"name": "p"}, "eventSources": [{"kind": source, "name": "*"}]});
        object("Alert", "ns", name, &spec)
    };
    let watched = r#"{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "app", "namespace": "ns"}, "spec": {"suspend": true}}"#;
    let watched: Value = serde_json::from_str(watched).expect("JSON");
    let repository = repository(&[alert("a", "Kustomization"), alert("b", "Bucket"), watched]);
    for (arguments, listed) in [(&[][..], 0), (&["--explain"], 2), (&["--object", "ks/ns/app"], 2)] {
        let answer = simulate(repository.path(), arguments);
        let all = list(&answer["objects"]);
        let found = all.iter().find(|one| one["object"]["name"] == "app").expect("the object");
        assert_eq!(list(&found["alertsConsidered"]).len(), listed, "{arguments:?}");
        assert_eq!(found["alertsNotMatched"], json!(1), "{arguments:?}");
    }
}
