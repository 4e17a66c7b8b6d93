//! `forebay simulate hooks` from outside: upstream's cases as given states, and
//! a Cluster's events as sequences.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::support::recordings;
use serde_json::{Value, json};
use tempfile::TempDir;

fn forebay(root: Option<&Path>, arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    command.args(["simulate", "hooks"]).args(arguments);
    if let Some(root) = root {
        command.arg("--root").arg(root);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command runs");
    child.stdin.take().expect("piped").write_all(input.as_bytes()).expect("it reads");
    child.wait_with_output().expect("it ends")
}

fn sequence(manifests: &str, arguments: &[&str]) -> Value {
    sequence_under("version: 1\n", manifests, arguments)
}

fn sequence_under(config: &str, manifests: &str, arguments: &[&str]) -> Value {
    let directory = TempDir::new().expect("a temporary directory");
    std::fs::write(directory.path().join(".forebay.yaml"), config).expect("a writable directory");
    std::fs::write(directory.path().join("fleet.yaml"), manifests).expect("a writable directory");
    let arguments = [arguments, &["--format", "json"]].concat();
    let output = forebay(Some(directory.path()), &arguments, "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn recorded_states_are_answered() {
    let groups = [
        "upgrade-hook-sequence",
        "upgrade-plan",
        "upgrade-deferred",
        "after-hook-calls",
        "before-cluster-create",
    ];
    for case in recordings::cluster_api(&groups) {
        let output = forebay(None, &["--input", "-"], &case["input"].to_string());
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for (key, value) in case["expect"].as_object().expect("an object") {
            assert_eq!(&answer["result"][key], value, "{}: {key}", case["id"]);
        }
    }
}

/// Beside the recorded cases: workers without an extension that plans, and the older
/// workers first.
#[test]
fn plans_of_workers_in_given_states() {
    let versions = json!(["v1.30.4", "v1.31.9", "v1.32.8", "v1.33.5", "v1.34.1"]);
    for (input, control_plane, deployments, pools) in [
        (
            json!({"desiredVersion": "v1.34.1", "controlPlaneVersion": "v1.30.4",
                   "machineDeploymentVersion": "v1.30.4", "clusterClassVersions": versions}),
            json!(["v1.31.9", "v1.32.8", "v1.33.5", "v1.34.1"]),
            json!(["v1.33.5", "v1.34.1"]),
            json!([]),
        ),
        (
            json!({"desiredVersion": "v1.34.1", "controlPlaneVersion": "v1.34.1",
                   "machineDeploymentVersion": "v1.33.1", "machinePoolVersion": "v1.34.1",
                   "planFunctionReturns": {"controlPlane": [], "workers": [], "error": null}}),
            json!([]),
            json!(["v1.34.1"]),
            json!(["v1.34.1"]),
        ),
    ] {
        let output = forebay(None, &["--input", "-"], &input.to_string());
        let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let result = &answer["result"];
        assert_eq!(result["controlPlaneUpgradePlan"], control_plane, "{input}");
        assert_eq!(result["machineDeploymentUpgradePlan"], deployments, "{input}");
        assert_eq!(result["machinePoolUpgradePlan"], pools, "{input}");
    }
}

#[test]
fn an_input_that_asks_nothing_is_a_usage_error() {
    let output = forebay(None, &["--input", "-"], "{}");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("topologyVersion"));
}

const FLEET: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick-start, namespace: fleet}
spec:
  kubernetesVersions: [v1.30.4, v1.31.9, v1.32.8, v1.33.5, v1.34.1]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: prod
  namespace: fleet
  annotations: {ANNOTATIONS}
spec:
  topology:
    classRef: {name: quick-start}
    version: v1.30.4
    workers:
      machineDeployments:
      - {class: w, name: md-0, replicas: 6}
      - {class: w, name: md-1, metadata: {annotations: {WORKER}}}
";

fn fleet(annotation: &str, worker: &str) -> String {
    FLEET.replace("ANNOTATIONS", annotation).replace("WORKER", worker)
}

/// `state kind version` of each step.
fn states(answer: &Value) -> Vec<String> {
    let steps = answer["steps"].as_array().expect("steps");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    steps
        .iter()
        .map(|step| {
            let what = if step["hook"].is_null() { text(&step["kind"]) } else { text(&step["hook"]) };
            format!("{} {what} {}", text(&step["state"]), text(&step["toVersion"])).trim_end().to_owned()
        })
        .collect()
}

#[test]
fn workers_stop_where_the_version_skew_demands_it() {
    let answer = sequence(
        &fleet("", ""),
        &[
            "Cluster/fleet/prod",
            "--on",
            "upgrade",
            "--to",
            "v1.34.1",
            "--respond",
            "AfterWorkersUpgrade=blocking",
        ],
    );
    assert_eq!(answer["upgradePlan"]["workers"], json!(["v1.33.5", "v1.34.1"]));
    assert_eq!(
        states(&answer)[..13],
        [
            "done BeforeClusterUpgrade v1.34.1",
            "done BeforeControlPlaneUpgrade v1.31.9",
            "done controlPlane v1.31.9",
            "done AfterControlPlaneUpgrade v1.31.9",
            "done BeforeControlPlaneUpgrade v1.32.8",
            "done controlPlane v1.32.8",
            "done AfterControlPlaneUpgrade v1.32.8",
            "done BeforeControlPlaneUpgrade v1.33.5",
            "done controlPlane v1.33.5",
            "done AfterControlPlaneUpgrade v1.33.5",
            "done BeforeWorkersUpgrade v1.33.5",
            "done workers v1.33.5",
            "blocked AfterWorkersUpgrade v1.33.5",
        ]
    );
    assert_eq!(states(&answer)[13], "pending BeforeControlPlaneUpgrade v1.34.1");
}

#[test]
fn what_stops_an_upgrade() {
    let upgrade = ["Cluster/prod", "--on", "upgrade", "--to", "v1.31.9"];
    let gate = "before-upgrade.hook.cluster.cluster.x-k8s.io/backup: ''";
    let blocked = sequence(&fleet(gate, ""), &upgrade);
    assert_eq!(states(&blocked)[0], "blocked BeforeClusterUpgrade v1.31.9");
    assert_eq!(states(&blocked)[1], "pending BeforeControlPlaneUpgrade v1.31.9");

    let deferred = sequence(&fleet("", "topology.cluster.x-k8s.io/defer-upgrade: ''"), &upgrade);
    assert_eq!(states(&deferred)[5], "blocked workers v1.31.9");
    assert!(deferred["steps"][5]["reason"].as_str().expect("text").starts_with("md-1 deferred"));
    assert!(deferred["withheld"][0].as_str().expect("text").contains("rejected"));

    let aborted =
        sequence(&fleet("", ""), &[&upgrade[..], &["--respond", "BeforeWorkersUpgrade=failure"]].concat());
    assert_eq!(states(&aborted)[4], "aborted BeforeWorkersUpgrade v1.31.9");
    assert!(aborted["withheld"][0].as_str().expect("text").starts_with("nothing of the topology"));
}

#[test]
fn answers_that_cannot_block_do_not() {
    let create = ["Cluster/prod", "--on", "create", "--respond", "AfterControlPlaneInitialized=blocking"];
    assert_eq!(
        states(&sequence(&fleet("", ""), &create)),
        [
            "done BeforeClusterCreate",
            "done controlPlane v1.30.4",
            "done workers v1.30.4",
            "done AfterControlPlaneInitialized"
        ]
    );
}

#[test]
fn a_committed_ok_to_delete_skips_the_hook() {
    let delete = ["Cluster/prod", "--on", "delete", "--respond", "BeforeClusterDelete=blocking"];
    let bypassed = sequence(&fleet("runtime.cluster.x-k8s.io/ok-to-delete: ''", ""), &delete);
    assert_eq!(states(&bypassed), ["skipped BeforeClusterDelete", "done workers", "done controlPlane"]);
    let held = sequence(&fleet("", ""), &delete);
    assert_eq!(states(&held), ["blocked BeforeClusterDelete", "pending workers", "pending controlPlane"]);
}

#[test]
fn clusters_without_hooks_say_why() {
    let legacy = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: legacy, namespace: fleet}
spec: {paused: true}
";
    let answer = sequence(legacy, &["Cluster/legacy", "--on", "delete"]);
    assert_eq!(answer["steps"], json!([]));
    assert!(answer["notes"][0].as_str().expect("text").contains("no managed topology"));

    let skips = sequence(&fleet("", ""), &["Cluster/prod", "--on", "upgrade", "--to", "v1.35.0"]);
    assert_eq!(skips["steps"], json!([]));
    assert!(skips["notes"][0].as_str().expect("text").contains("kubernetesVersions"));
}

#[test]
fn configured_handlers_are_the_only_ones() {
    let directory = TempDir::new().expect("a temporary directory");
    let config = "version: 1\ntarget:\n  extensions:\n    - name: addons\n      handlers:\n        \
                  - {name: upgrade, hook: BeforeClusterUpgrade}\n";
    std::fs::write(directory.path().join(".forebay.yaml"), config).expect("a writable directory");
    std::fs::write(directory.path().join("fleet.yaml"), fleet("", "")).expect("a writable directory");
    let arguments = ["Cluster/prod", "--on", "upgrade", "--to", "v1.31.9", "--format", "json"];
    let output = forebay(Some(directory.path()), &arguments, "");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["steps"][0]["handlers"], json!(["upgrade.addons"]));
    assert_eq!(states(&answer)[1], "skipped BeforeControlPlaneUpgrade v1.31.9");
}

/// Chained upgrades, their hooks and the blocking AfterClusterUpgrade came with 1.12,
/// the annotation that blocks with 1.10.
#[test]
fn older_versions_do_what_they_can() {
    let under = |version: &str, annotation: &str, to: &str, respond: &[&str]| {
        let config =
            format!("version: 1\ntarget: {{clusterApi: \"{version}\", features: {{runtimeSdk: enabled}}}}\n");
        let arguments = [&["Cluster/prod", "--on", "upgrade", "--to", to][..], respond].concat();
        sequence_under(&config, &fleet(annotation, ""), &arguments)
    };
    let chained = under("1.12", "", "v1.33.5", &[]);
    assert_eq!(chained["upgradePlan"]["controlPlane"], json!(["v1.31.9", "v1.32.8", "v1.33.5"]));
    let direct = under("1.11", "", "v1.33.5", &[]);
    assert_eq!(direct["steps"], json!([]));
    let note = direct["notes"][0].as_str().expect("text");
    assert!(note.contains("skips a minor") && note.contains("Cluster API 1.12"), "{note}");
    // A version that the class does not list is none of its concern there.
    assert_eq!(under("1.11", "", "v1.31.10", &[])["upgradePlan"]["controlPlane"], json!(["v1.31.10"]));
    assert_eq!(
        states(&under("1.11", "", "v1.31.9", &[])),
        [
            "done BeforeClusterUpgrade v1.31.9",
            "done controlPlane v1.31.9",
            "done AfterControlPlaneUpgrade v1.31.9",
            "done workers v1.31.9",
            "done AfterClusterUpgrade v1.31.9",
        ]
    );
    let after = ["--respond", "AfterClusterUpgrade=blocking"];
    let last = |answer: &Value| states(answer).last().cloned();
    assert_eq!(
        last(&under("1.12", "", "v1.31.9", &after)).as_deref(),
        Some("blocked AfterClusterUpgrade v1.31.9")
    );
    assert_eq!(
        last(&under("1.11", "", "v1.31.9", &after)).as_deref(),
        Some("done AfterClusterUpgrade v1.31.9")
    );
    let gate = "before-upgrade.hook.cluster.cluster.x-k8s.io/backup: ''";
    assert_eq!(states(&under("1.10", gate, "v1.31.9", &[]))[0], "blocked BeforeClusterUpgrade v1.31.9");
    assert_eq!(states(&under("1.9", gate, "v1.31.9", &[]))[0], "done BeforeClusterUpgrade v1.31.9");
}

/// A topology under v1beta1's names goes the same way.
#[test]
fn names_of_v1beta1_mean_the_same() {
    let old = fleet("", "")
        .replace("v1beta2", "v1beta1")
        .replace("classRef: {name: quick-start}", "class: quick-start");
    let upgrade = ["Cluster/prod", "--on", "upgrade", "--to", "v1.34.1"];
    assert_eq!(states(&sequence(&old, &upgrade)), states(&sequence(&fleet("", ""), &upgrade)));
}

/// What an extension plans is not known; the workers go where the control plane goes.
#[test]
fn an_extension_that_plans_hides_the_steps_between() {
    let versions = "kubernetesVersions: [v1.30.4, v1.31.9, v1.32.8, v1.33.5, v1.34.1]";
    let planned = |workers: &str| {
        let class = "upgrade: {external: {generateUpgradePlanExtension: plan.addons}}";
        let (cluster, _) = FLEET.split_once("    workers:\n").expect("a fleet with workers");
        let cluster = cluster.replace(versions, class).replace("{ANNOTATIONS}", "{}");
        format!("{cluster}{workers}")
    };
    let upgrade = ["Cluster/prod", "--on", "upgrade", "--to", "v1.33.5"];
    let both = "    workers:
      machineDeployments: [{class: w, name: md-0, replicas: 6}]
      machinePools: [{class: p, name: mp-0, replicas: 2}]
";
    let answer = sequence(&planned(both), &upgrade);
    assert!(answer["notes"][0].as_str().is_some_and(|note| note.contains("extension plan.addons")));
    assert_eq!(answer["upgradePlan"], json!({"controlPlane": ["v1.33.5"], "workers": ["v1.33.5"]}));
    let steps = answer["steps"].as_array().expect("steps");
    let workers = steps.iter().find(|step| step["kind"] == "workers").expect("workers follow");
    assert_eq!(workers["fromVersion"], "v1.30.4");
    assert_eq!(workers["reason"], "md-0: 6 Machines; mp-0: 2 Machines");
    // Without workers nothing waits for them.
    let alone = sequence(&planned(""), &upgrade);
    assert_eq!(alone["upgradePlan"], json!({"controlPlane": ["v1.33.5"], "workers": []}));
    assert!(!states(&alone).iter().any(|step| step.contains("orkers")), "{:?}", states(&alone));
    // Before 1.12 no extension is asked, and a minor can't be skipped.
    let config = "version: 1\ntarget: {clusterApi: \"1.11\"}\n";
    let older = sequence_under(config, &planned(both), &upgrade);
    assert_eq!(older["steps"], json!([]));
    assert!(older["notes"][0].as_str().is_some_and(|note| note.contains("skips a minor")), "{older}");
}

#[test]
fn workers_go_one_after_another_unless_the_cluster_says_how_many_at_once() {
    let upgrade = ["Cluster/prod", "--on", "upgrade", "--to", "v1.31.9"];
    for (annotation, words) in [
        ("", "md-0: 6 Machines, then md-1"),
        ("topology.cluster.x-k8s.io/upgrade-concurrency: '1'", "md-0: 6 Machines, then md-1"),
        ("topology.cluster.x-k8s.io/upgrade-concurrency: '2'", "md-0: 6 Machines, md-1"),
    ] {
        let answer = sequence(&fleet(annotation, ""), &upgrade);
        let steps = answer["steps"].as_array().expect("steps");
        let workers = steps.iter().find(|step| step["kind"] == "workers").expect("workers follow");
        assert_eq!(workers["reason"], words, "{annotation}");
    }
}

/// The namespace of a class is the Cluster's unless another one is stated.
#[test]
fn classes_of_other_namespaces() {
    let upgrade = ["Cluster/prod", "--on", "upgrade", "--to", "v1.34.1"];
    let expected = states(&sequence(&fleet("", ""), &upgrade));
    let named = "classRef: {name: quick-start}";
    let empty = fleet("", "").replace(named, "classRef: {name: quick-start, namespace: ''}");
    assert_eq!(states(&sequence(&empty, &upgrade)), expected);
    let elsewhere = fleet("", "")
        .replace("{name: quick-start, namespace: fleet}", "{name: quick-start, namespace: classes}")
        .replace(named, "classRef: {name: quick-start, namespace: classes}");
    assert_eq!(states(&sequence(&elsewhere, &upgrade)), expected);
}

/// Namespace and ExtensionConfig of [`FLEET`]; the namespace has one label in the repository.
fn selecting(selector: &str) -> String {
    format!(
        "{}
---
apiVersion: v1
kind: Namespace
metadata: {{name: fleet, labels: {{tier: gold}}}}
---
apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata: {{name: addons}}
spec:
  clientConfig: {{url: https://addons.example.com}}
  namespaceSelector: {selector}
",
        fleet("", "")
    )
}

/// `matchNamespace` of cluster-api `internal/runtime/client/client.go`.
#[test]
fn an_extension_is_called_where_its_selector_selects_the_namespace() {
    let config = "version: 1
target:
  features: {runtimeSdk: enabled}
  extensions: [{name: addons, handlers: [{name: before, hook: BeforeClusterUpgrade}]}]
";
    let upgrade = ["Cluster/prod", "--on", "upgrade", "--to", "v1.31.9"];
    for (selector, called, known) in [
        ("{}", true, true),
        ("{matchLabels: {kubernetes.io/metadata.name: fleet}}", true, true),
        ("{matchLabels: {kubernetes.io/metadata.name: other}}", false, true),
        ("{matchLabels: {tier: gold}}", true, true),
        ("{matchLabels: {tier: silver}}", false, true),
        ("{matchExpressions: [{key: tier, operator: NotIn, values: [silver]}]}", true, true),
        ("{matchExpressions: [{key: tier, operator: NotIn, values: [gold]}]}", false, true),
        ("{matchExpressions: [{key: tier, operator: Exists}]}", true, true),
        ("{matchExpressions: [{key: tier, operator: DoesNotExist}]}", false, true),
        // Others may have given the Namespace labels that the repository does not state.
        ("{matchLabels: {team: a}}", true, false),
        ("{matchExpressions: [{key: team, operator: In, values: [a]}]}", true, false),
        ("{matchExpressions: [{key: team, operator: NotIn, values: [a]}]}", true, false),
        ("{matchExpressions: [{key: team, operator: Exists}]}", true, false),
        ("{matchExpressions: [{key: team, operator: DoesNotExist}]}", true, false),
        // What is surely false decides.
        ("{matchLabels: {team: a, tier: silver}}", false, true),
    ] {
        let answer = sequence_under(config, &selecting(selector), &upgrade);
        let step = &answer["steps"][0];
        assert_eq!(step["hook"], "BeforeClusterUpgrade", "{selector}");
        let handlers = if called { json!(["before.addons"]) } else { json!([]) };
        assert_eq!(step["handlers"], handlers, "{selector}");
        assert_eq!(step["state"], if called { "done" } else { "skipped" }, "{selector}");
        let notes = answer["notes"].to_string();
        assert_eq!(notes.contains("extension addons is not called"), !called, "{selector}: {notes}");
        assert_eq!(notes.contains("whether extension addons is called is not known"), !known, "{selector}");
    }
}

/// `planOnDelete` of cluster-api: the topology's MachineDeployment is upgrading until each of
/// its Machines was deleted.
#[test]
fn workers_with_on_delete_wait_for_whoever_deletes_their_machines() {
    let upgrade = ["Cluster/prod", "--on", "upgrade", "--to", "v1.31.9"];
    let workers = |answer: &Value| {
        let steps = answer["steps"].as_array().expect("steps");
        steps.iter().find(|step| step["kind"] == "workers").expect("workers follow").clone()
    };
    let with = |worker: &str| fleet("", "").replace("replicas: 6", &format!("replicas: 6, {worker}"));
    for worker in ["rollout: {strategy: {type: OnDelete}}", "strategy: {type: OnDelete}"] {
        let step = workers(&sequence(&with(worker), &upgrade));
        assert_eq!(step["state"], "blocked", "{worker}");
        let reason = step["reason"].as_str().unwrap_or_default();
        assert!(
            reason.starts_with("md-0: OnDelete: each Machine is replaced when you delete it"),
            "{reason}"
        );
    }
    // Both entries are of the class.
    let class = "  kubernetesVersions: [v1.30.4, v1.31.9, v1.32.8, v1.33.5, v1.34.1]
  workers: {machineDeployments: [{class: w, rollout: {strategy: {type: OnDelete}}}]}
";
    let versions = "  kubernetesVersions: [v1.30.4, v1.31.9, v1.32.8, v1.33.5, v1.34.1]\n";
    let by_class = fleet("", "").replace(versions, class);
    assert_eq!(workers(&sequence(&by_class, &upgrade))["state"], "blocked", "by the class");
    let own =
        by_class.replace("{class: w, name", "{class: w, rollout: {strategy: {type: RollingUpdate}}, name");
    assert_eq!(workers(&sequence(&own, &upgrade))["state"], "done", "the Cluster comes before the class");
}

#[test]
fn nothing_is_called_for_the_version_that_is_there() {
    let directory = TempDir::new().expect("a temporary directory");
    std::fs::write(directory.path().join("fleet.yaml"), fleet("", "")).expect("a writable directory");
    let output = forebay(Some(directory.path()), &["Cluster/prod", "--on", "upgrade", "--to", "v1.30.4"], "");
    let text = String::from_utf8_lossy(&output.stdout).replace("\n  ", " ");
    assert!(
        text.contains("nothing happens: Cluster fleet/prod is at v1.30.4 already, and hooks of an upgrade"),
        "{text}"
    );
}

/// What a class that is not here lists decides on the steps between.
#[test]
fn an_unknown_class_leaves_the_steps_unknown() {
    let (_, cluster) = FLEET.split_once("---\n").expect("two objects");
    let cluster = cluster.replace("{ANNOTATIONS}", "{}");
    let answer = sequence(&cluster, &["Cluster/prod", "--on", "upgrade", "--to", "v1.33.5"]);
    assert_eq!(answer["upgradePlan"]["controlPlane"], json!(["v1.33.5"]), "{answer:#}");
    let notes = answer["notes"].to_string();
    assert!(notes.contains("kubernetesVersions and extensions are unknown"), "{notes}");
    assert!(!notes.contains("fails"), "{notes}");
}

/// cluster-api `patches/engine.go`, `Apply`, and `kubeadmcontrolplane/update.go`,
/// `rollingUpdate`: hooks of topology mutation come before the first control plane step, those
/// of updates in place where Machines change.
#[test]
fn hooks_that_decide_what_is_made_stand_where_they_are_called() {
    let external = "      patches:\n        - name: ext\n          external:\n            \
                    {discoverVariablesExtension: d.addons, generatePatchesExtension: p.addons, \
                    validateTopologyExtension: v.addons}\n";
    let kind = "kind: ClusterClass";
    assert!(fleet("", "").contains(kind));
    let spec = |text: &str| {
        let (before, class) = text.split_once(kind).expect("a class");
        let (head, rest) = class.split_once("spec:\n").expect("a spec");
        let patches = external.replace("      patches", "  patches").replace("\n        ", "\n    ");
        format!("{before}{kind}{head}spec:\n{patches}{rest}")
    };
    let with = spec(&fleet("", ""));
    let config = "version: 1\ntarget: {features: {runtimeSdk: enabled, inPlaceUpdates: enabled}}\n";
    let upgrade = ["Cluster/prod", "--on", "upgrade", "--to", "v1.31.9"];
    let run = |respond: &[&str]| {
        let flags: Vec<&str> = respond.iter().flat_map(|one| ["--respond", one]).collect();
        states(&sequence_under(config, &with, &[&upgrade[..], &flags].concat()))
    };
    let plain = run(&[]);
    let names: Vec<&str> = plain.iter().filter_map(|step| step.split(' ').nth(1)).collect();
    assert_eq!(
        names,
        [
            "DiscoverVariables",
            "BeforeClusterUpgrade",
            "BeforeControlPlaneUpgrade",
            "GeneratePatches",
            "ValidateTopology",
            "CanUpdateMachine",
            "controlPlane",
            "AfterControlPlaneUpgrade",
            "BeforeWorkersUpgrade",
            "CanUpdateMachineSet",
            "workers",
            "AfterWorkersUpgrade",
            "AfterClusterUpgrade"
        ]
    );
    let at = |steps: &[String], state: &str| steps.iter().find(|step| step.starts_with(state)).cloned();
    for (respond, stopped) in [
        (&["DiscoverVariables=failure"][..], "aborted DiscoverVariables"),
        (&["GeneratePatches=unreachable"], "aborted GeneratePatches"),
        (&["ValidateTopology=failure"], "aborted ValidateTopology"),
        (&["CanUpdateMachine=unreachable"], "aborted CanUpdateMachine"),
        (&["CanUpdateMachine=all", "UpdateMachine=inProgress"], "blocked UpdateMachine"),
        (&["CanUpdateMachine=all", "UpdateMachine=failure"], "aborted UpdateMachine"),
        (&["CanUpdateMachineSet=unreachable"], "aborted CanUpdateMachineSet"),
    ] {
        let steps = run(respond);
        let state = stopped.split(' ').next().expect("a state");
        let found = at(&steps, state).unwrap_or_default();
        assert!(found.starts_with(stopped), "{respond:?}: {steps:?}");
    }
    let accepted = run(&["CanUpdateMachine=all", "CanUpdateMachineSet=none", "UpdateMachine=done"]);
    assert_eq!(
        accepted.iter().filter(|step| step.starts_with("done UpdateMachine")).count(),
        1,
        "{accepted:?}"
    );
    // Nothing is asked where the gate is off.
    let off = config.replace("inPlaceUpdates: enabled", "inPlaceUpdates: disabled");
    let answer =
        sequence_under(&off, &with, &[&upgrade[..], &["--respond", "CanUpdateMachine=all"]].concat());
    assert!(!states(&answer).iter().any(|step| step.contains("CanUpdate")), "{answer:#}");
    assert!(answer["notes"].to_string().contains("InPlaceUpdates is off"), "{answer:#}");
}
