//! Upstream's cases on Cluster API, as recorded in `cases/cluster-api.json`.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::recordings;
use forebay::internals::lang::go::regexp::GoRegexp;
use forebay::internals::simulate::cluster_api::hooks::extension_config::ExtensionConfig;
use forebay::internals::simulate::cluster_api::hooks::input;
use forebay::internals::simulate::cluster_api::propagation;
use forebay::internals::simulate::cluster_api::propagation::node;
use forebay::internals::simulate::cluster_api::propagation::node::{
    MachineIdentity, MachineTaint, NodeMetadata, Taint, WantedMetadata,
};
use forebay::internals::simulate::cluster_api::propagation::{
    KeySource, Keys, Metadata, MetadataEntry, Strategy,
};
use forebay::internals::simulate::cluster_api::rollout::ObjectRef;
use forebay::internals::simulate::cluster_api::rollout::control_plane;
use forebay::internals::simulate::cluster_api::rollout::control_plane::{
    ControlPlane, ControlPlaneMachine, InfraMachine,
};
use forebay::internals::simulate::cluster_api::rollout::kubeadm_config;
use forebay::internals::simulate::cluster_api::rollout::machine_deployment;
use forebay::internals::simulate::cluster_api::rollout::machine_deployment::{MachineSet, MachineTemplate};
use forebay::internals::simulate::cluster_api::rollout::template;
use forebay::internals::simulate::cluster_api::rollout::template::TemplateOutcome;
use forebay::internals::simulate::cluster_api::ssa;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    group: String,
    name: String,
    input: Value,
    expect: Value,
}

/// Cases that are not run, each with the reason. Where an input of upstream's
/// test body was recorded as a description only, the objects are written out in
/// [`described_kubeadm_configs`] instead.
const LEFT_OUT: &[(&str, &str)] = &[(
    "kcp-infra-match-007",
    "asks about a KubeadmControlPlane that is being deleted, which no repository states",
)];

/// The recorded cases.
fn cases() -> Vec<Case> {
    serde_json::from_value::<Cases>(recordings::json("cluster-api.json")).expect("cases").cases
}

/// Runs the cases of `groups`; `decide` answers in the shape of `expect`, whose
/// every key must then be equal.
fn run(groups: &[&str], decide: impl Fn(&Case) -> Value) {
    let all = cases();
    let mut failures = Vec::new();
    for case in all.iter().filter(|c| groups.contains(&c.group.as_str())) {
        if LEFT_OUT.iter().any(|(id, _)| *id == case.id) {
            continue;
        }
        let answer = decide(case);
        let expect = case.expect.as_object().expect("expect is an object");
        for (key, value) in expect {
            if answer.get(key) != Some(value) {
                failures.push(format!(
                    "{} ({}): {key} is {} instead of {value}",
                    case.id,
                    case.name,
                    answer.get(key).unwrap_or(&Value::Null),
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn hooks_plans_and_deferral() {
    run(
        &[
            "upgrade-hook-sequence",
            "upgrade-plan",
            "upgrade-deferred",
            "after-hook-calls",
            "before-cluster-create",
        ],
        |case| input::answer(&case.input).unwrap_or_else(|e| json!({ "unreadable": e })),
    );
}

#[test]
fn extension_configs() {
    let read = |object: &Value| ExtensionConfig {
        name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
        client_config: serde_json::from_value(object["spec"]["clientConfig"].clone())
            .expect("a client config"),
        namespace_selector: serde_json::from_value(object["spec"]["namespaceSelector"].clone())
            .expect("a selector or none"),
    };
    run(&["extensionconfig-validate"], |case| {
        let mut config = read(&case.input["object"]);
        config.default_fields();
        let gate = case.input["featureGateRuntimeSDK"] == json!(true);
        json!({ "error": !config.problems(gate).is_empty() })
    });
    run(&["extensionconfig-default"], |case| {
        let mut config = read(&case.input["object"]);
        config.default_fields();
        let selector = config.namespace_selector.expect("defaulted");
        let service = config.client_config.service.expect("given");
        json!({
            "namespaceSelector": if selector.is_empty() { json!({}) } else { Value::Null },
            "servicePort": service.port,
        })
    });
}

fn reference(kind: &str, name: &str) -> ObjectRef {
    ObjectRef {
        api_group: "infrastructure.cluster.x-k8s.io".to_owned(),
        kind: kind.to_owned(),
        name: name.to_owned(),
    }
}

#[test]
fn machine_templates_up_to_date() {
    run(&["md-template-uptodate"], |case| {
        let read = |key: &str| MachineTemplate::deserialize(&case.input[key]).expect("a template");
        let (current, desired) = (read("current"), read("desired"));
        let result = machine_deployment::machine_template_up_to_date(&current, &desired);
        let swapped = machine_deployment::machine_template_up_to_date(&desired, &current);
        json!({
            "upToDate": result.is_up_to_date(),
            "eligibleForInPlaceUpdate": result.eligible_for_in_place_update,
            "logMessages": result.log_messages,
            "logMessagesWhenSwapped": swapped.log_messages,
        })
    });
}

#[test]
fn new_and_old_machine_sets() {
    let template = |infra: &Value| {
        let mut template = MachineTemplate::default();
        template.spec.infrastructure_ref = reference("Template", infra.as_str().expect("a name"));
        template
    };
    run(&["md-find-new-old-ms"], |case| {
        let input = &case.input;
        let sets: Vec<MachineSet> = input["listOrder"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|name| {
                let name = name.as_str().expect("a name");
                let set = &input["machineSets"][name];
                MachineSet {
                    name: name.to_owned(),
                    template: template(&set["infraRef"]),
                    replicas: set["replicas"].as_i64().unwrap_or_default(),
                    created: set["created"].as_i64().unwrap_or_default(),
                }
            })
            .collect();
        let found = machine_deployment::find_new_and_old_machine_sets(
            &template(&input["desiredInfraRef"]),
            input["rolloutAfter"].as_i64(),
            &sets,
            input["now"].as_i64().unwrap_or_default(),
        );
        json!({
            "createNewMS": found.new.is_none(),
            "newMS": found.new,
            "oldMSs": found.old,
            "eligibleForInPlaceUpdate": found.eligible_for_in_place_update,
        })
    });
}

#[test]
fn control_plane_machines_up_to_date() {
    const KIND: &str = "TestInfrastructureMachineTemplate";
    const DAY: i64 = 86_400;
    run(&["kcp-uptodate"], |case| {
        let (kcp, machine) = (&case.input["kcp"], &case.input["machine"]);
        let text = |value: &Value| value.as_str().expect("a string").to_owned();
        let kubeadm = |value: &Value| json!({"clusterConfiguration": {"certificatesDir": value}});
        let mut joined = kubeadm(&machine["certificatesDir"]);
        joined["joinConfiguration"] = json!({"controlPlane": {}});
        let marks = ["delete-machine", "remediate-machine"];
        let result = control_plane::up_to_date(
            &ControlPlane {
                version: text(&kcp["version"]),
                infrastructure_ref: reference(KIND, &text(&kcp["infraTemplate"])),
                kubeadm_config_spec: kubeadm(&kcp["certificatesDir"]),
                rollout_after: kcp["rolloutAfterDays"].as_i64().map(|days| days * DAY),
                certificates_expiry_days: kcp["rolloutBeforeCertificatesExpiryDays"].as_i64(),
            },
            &ControlPlaneMachine {
                version: text(&machine["version"]),
                created: -DAY * machine["createdDaysAgo"].as_i64().expect("days"),
                certificates_expire: machine["certsExpireInDays"].as_i64().map(|days| days * DAY),
                kubeadm_config: Some(joined),
                infra_machine: InfraMachine::ClonedFrom {
                    name: text(&machine["clonedFrom"]),
                    group_kind: reference(KIND, "").group_kind(),
                },
                marked_to_go: marks
                    .iter()
                    .any(|mark| !machine["annotations"][format!("cluster.x-k8s.io/{mark}")].is_null()),
            },
            0,
        );
        let messages: Vec<String> = result
            .log_messages
            .iter()
            .map(|message| match message.split_once("diff: ") {
                Some((start, _)) => format!("{start}diff: <...>"),
                None => message.clone(),
            })
            .collect();
        json!({
            "upToDate": result.is_up_to_date(),
            "eligibleForInPlaceUpdate": result.eligible_for_in_place_update,
            "logMessages": messages,
        })
    });
    run(&["kcp-infra-match"], |case| {
        let matches = |key: &str| case.input[key] == json!(true);
        let infra_machine = if matches("found") {
            let kind = if matches("groupKindMatches") { KIND } else { "Other" };
            InfraMachine::ClonedFrom {
                name: if matches("nameMatches") { "template" } else { "other" }.to_owned(),
                group_kind: reference(kind, "").group_kind(),
            }
        } else {
            InfraMachine::Unknown
        };
        let template = reference(KIND, "template");
        json!({"match": control_plane::matches_infra_machine(&infra_machine, &template)})
    });
}

/// `kubeadmConfigSpec` of the control plane and spec of the Machine's
/// KubeadmConfig, for cases that describe them in words.
fn described_kubeadm_configs(id: &str) -> Option<(Value, Value)> {
    let node = |name: &str| json!({"nodeRegistration": {"name": name}});
    let join = |name: &str| json!({"controlPlane": {}, "nodeRegistration": {"name": name}});
    Some(match id {
        "kcp-kubeadmconfig-match-008" => {
            (json!({"joinConfiguration": node("a")}), json!({"initConfiguration": node("a")}))
        }
        "kcp-kubeadmconfig-match-010" => (
            json!({"initConfiguration": node("b"), "joinConfiguration": node("b")}),
            json!({"initConfiguration": node("a")}),
        ),
        "kcp-kubeadmconfig-match-011" => {
            (json!({"joinConfiguration": node("a")}), json!({"joinConfiguration": join("a")}))
        }
        "kcp-kubeadmconfig-match-013" => (json!({}), json!({"joinConfiguration": {"controlPlane": {}}})),
        "kcp-kubeadmconfig-match-014" => (
            json!({"joinConfiguration": {"controlPlane": {"localAPIEndpoint": {"bindPort": 1}}}}),
            json!({"joinConfiguration": {"controlPlane": {"localAPIEndpoint": {"bindPort": 2}}}}),
        ),
        "kcp-kubeadmconfig-match-017" => {
            (json!({"format": "cloud-config"}), json!({"joinConfiguration": {"controlPlane": {}}}))
        }
        "kcp-kubeadmconfig-match-018" => (
            json!({"files": [], "preKubeadmCommands": ["true"]}),
            json!({"joinConfiguration": {"controlPlane": {}}}),
        ),
        // Metadata is no part of what is compared.
        "kcp-kubeadmconfig-match-019" | "kcp-kubeadmconfig-match-021" | "kcp-kubeadmconfig-match-022" => {
            (json!({}), json!({"joinConfiguration": {"controlPlane": {}}}))
        }
        _ => return None,
    })
}

#[test]
fn kubeadm_configs_match() {
    run(&["kcp-kubeadmconfig-match"], |case| {
        let (control_plane, machine) = described_kubeadm_configs(&case.id)
            .unwrap_or_else(|| (case.input["kcp"].clone(), case.input["machine"].clone()));
        let matches = kubeadm_config::matches(&control_plane, "v1.30.0", &machine);
        json!({"match": matches, "rollout": !matches})
    });
}

#[test]
fn template_rotation() {
    run(&["topology-ssa-haschanges"], |case| {
        let changed = case.input["changePath"].as_str().expect("a path");
        let ignored: Vec<&str> =
            case.input["ignorePaths"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let changes = template::summarise([changed], &ignored);
        json!({
            "hasChanges": changes.any,
            "hasSpecChanges": changes.spec,
            "templateOutcome": match template::template_outcome(changes) {
                TemplateOutcome::Unchanged => "none",
                TemplateOutcome::PatchedInPlace => "patch in place (no rollout)",
                TemplateOutcome::Rotated => "rotate (new template, rollout)",
            },
        })
    });
}

fn keys(value: &Value) -> Keys {
    let entries = value.as_object().into_iter().flatten();
    entries
        .map(|(key, value)| {
            let source = KeySource::Field { pointer: String::new(), location: None };
            (key.clone(), MetadataEntry { value: value.as_str().map(str::to_owned), source })
        })
        .collect()
}

fn metadata(value: &Value) -> Metadata {
    Metadata { labels: keys(&value["labels"]), annotations: keys(&value["annotations"]) }
}

/// The values of a map; what is known in the cluster only is the hash.
fn values(keys: &Keys) -> Value {
    let hash = "<hash>-<random>".to_owned();
    keys.iter().map(|(key, entry)| (key.clone(), json!(entry.value.as_ref().unwrap_or(&hash)))).collect()
}

fn strings(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(key, value)| (key.clone(), value.as_str().expect("a string").to_owned())).collect()
}

#[test]
fn metadata_edges() {
    run(&["metadata-merge"], |case| {
        let merged = propagation::merge(&keys(&case.input["first"]), &keys(&case.input["second"]));
        json!({"merged": if merged.is_empty() { Value::Null } else { values(&merged) }})
    });
    run(&["metadata-topology-to-cp"], |case| {
        let input = &case.input;
        let cluster = input["clusterName"].as_str().expect("a name");
        let (topology, class) = (metadata(&input["topologyMetadata"]), metadata(&input["classMetadata"]));
        let cloned_from = ("template1", "ControlPlaneTemplate.controlplane.cluster.x-k8s.io");
        let top = propagation::control_plane(cluster, &topology, &class, &Metadata::default(), cloned_from);
        let has_machines = input["hasControlPlaneInfrastructureMachine"] == json!(true);
        let template = metadata(&input["templateMachineTemplateMetadata"]);
        let machines = propagation::control_plane_machine_template(cluster, &topology, &class, &template);
        let mut included = values(&top.annotations);
        // The case names the annotations that must be there, not all of them.
        if let Some(annotations) = included.as_object_mut() {
            annotations.remove("cluster.x-k8s.io/cloned-from-groupkind");
        }
        json!({
            "labels": values(&top.labels),
            "annotationsInclude": included,
            "machineTemplateMetadataSet": has_machines,
            "machineTemplateLabels": values(&machines.labels),
            "machineTemplateAnnotations": values(&machines.annotations),
        })
    });
}

#[test]
fn machine_set_metadata() {
    let strategy = |input: &Value| match input["strategy"].as_str() {
        Some("OnDelete") => Strategy::OnDelete,
        _ => Strategy::RollingUpdate {
            max_surge: input["maxSurge"].to_string(),
            max_unavailable: input["maxUnavailable"].to_string(),
        },
    };
    run(&["md-annotations-to-ms"], |case| {
        let machine_set = propagation::machine_set(&propagation::MachineDeployment {
            annotations: keys(&case.input["mdAnnotations"]),
            replicas: case.input["replicas"].as_i64(),
            strategy: strategy(&case.input),
            ..Default::default()
        });
        json!({"msAnnotations": values(&machine_set.metadata.annotations)})
    });
    run(&["md-compute-ms"], |case| {
        let md = &case.input["md"];
        let machine_set = propagation::machine_set(&propagation::MachineDeployment {
            name: md["name"].as_str().map(str::to_owned),
            annotations: keys(&md["annotations"]),
            template: Metadata {
                labels: keys(&md["templateLabels"]),
                annotations: keys(&md["templateAnnotations"]),
            },
            selector: strings(&md["selector"]),
            replicas: md["replicas"].as_i64(),
            strategy: strategy(md),
        });
        let selector: BTreeMap<_, _> = machine_set
            .selector
            .into_iter()
            .map(|(key, value)| (key, value.unwrap_or_else(|| "<hash>-<random>".to_owned())))
            .collect();
        json!({"ms": {
            "replicas": machine_set.replicas,
            "labels": values(&machine_set.metadata.labels),
            "annotations": values(&machine_set.metadata.annotations),
            "selector": selector,
            "templateLabels": values(&machine_set.template.labels),
            "templateAnnotations": values(&machine_set.template.annotations),
        }})
    });
    run(&["ms-sync-machines"], |case| {
        let (mut removed, mut changed) = (Vec::new(), Vec::new());
        for field in ["labels", "annotations"] {
            let (before, after) =
                (strings(&case.input["before"][field]), strings(&case.input["after"][field]));
            let map = ssa::ManagedMap {
                previous: before.keys().cloned().collect(),
                live: before.clone(),
                others: BTreeMap::new(),
            };
            let (live, outcomes) = ssa::apply(&map, &after);
            for (key, outcome) in outcomes {
                match outcome {
                    ssa::KeyOutcome::Removed => removed.push(key),
                    _ if live.get(&key) != before.get(&key) => changed.push(key),
                    _ => {}
                }
            }
        }
        let template = metadata(&case.input["after"]);
        let machine = propagation::machine("c", Some("ms"), None, &template);
        let own: BTreeSet<_> =
            machine.labels.keys().filter(|key| !template.labels.contains_key(*key)).collect();
        let same = MachineTemplate::default();
        let decision = machine_deployment::machine_template_up_to_date(&same, &same);
        json!({
            "perTarget": ["Machine", "InfraMachine", "BootstrapConfig"],
            "removed": removed,
            "changed": changed,
            "specUntouched": true,
            "rollout": !decision.is_up_to_date(),
            "topLevelMSLabelsPropagated": own.iter().any(|key| !key.starts_with("cluster.x-k8s.io/")),
        })
    });
}

fn expressions(value: &Value) -> Vec<GoRegexp> {
    let texts = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    texts.map(|text| GoRegexp::new(text).expect("an expression")).collect()
}

#[test]
fn machine_metadata_to_nodes() {
    run(&["node-label-sync"], |case| {
        let additional = expressions(&case.input["regexes"]);
        let mut labels = strings(&case.input["machineLabels"]);
        labels.retain(|key, _| node::syncs_label(key, &additional));
        json!({"nodeLabels": labels})
    });
    run(&["node-annotation-sync"], |case| {
        let machine = MachineIdentity {
            cluster: "<spec.clusterName>".to_owned(),
            namespace: "<machine ns>".to_owned(),
            name: "<machine name>".to_owned(),
            controller: (case.input["hasController"] == json!(true))
                .then(|| ("MachineSet".to_owned(), "ms".to_owned())),
        };
        let additional = expressions(&case.input["regexes"]);
        let annotations = strings(&case.input["machineAnnotations"]);
        json!({"nodeAnnotations": node::annotations(&machine, &annotations, &additional)})
    });
    run(&["node-outdated-taint"], |case| {
        let outdated = node::is_outdated(case.input["ms"].as_i64(), case.input["md"].as_i64());
        json!({"outdated": outdated})
    });
}

fn taint(text: &str) -> Taint {
    let (key, effect) = text.rsplit_once(':').expect("a taint");
    let (key, value) = key.split_once('=').unwrap_or((key, ""));
    Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() }
}

fn taints(value: &Value) -> Vec<Taint> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(taint).collect()
}

fn written(taints: &[Taint]) -> Vec<String> {
    let write = |t: &Taint| match &*t.value {
        "" => format!("{}:{}", t.key, t.effect),
        value => format!("{}={value}:{}", t.key, t.effect),
    };
    taints.iter().map(write).collect()
}

#[test]
fn nodes_are_patched() {
    run(&["node-patch"], |case| {
        let before = &case.input["node"];
        let mut node = NodeMetadata {
            labels: strings(&before["labels"]),
            annotations: strings(&before["annotations"]),
            taints: taints(&before["taints"]),
        };
        let wanted = WantedMetadata {
            labels: strings(&case.input["labelsFromMachine"]),
            annotations: strings(&case.input["annotationsFromMachine"]),
            taints: None,
            outdated: node::is_outdated(before["msRevision"].as_i64(), before["mdRevision"].as_i64()),
        };
        node::patch(&mut node, &wanted);
        // Upstream compares only the maps that a case names.
        let mut after = json!({"annotations": node.annotations});
        for (key, value) in [("labels", json!(node.labels)), ("taints", json!(written(&node.taints)))] {
            if !case.expect["node"][key].is_null() {
                after[key] = value;
            }
        }
        json!({"node": after})
    });
    run(&["node-taints"], |case| {
        let mut node = NodeMetadata { taints: taints(&case.input["nodeTaints"]), ..NodeMetadata::default() };
        if let Some(tracking) = case.input["trackingAnnotation"].as_str() {
            node.annotations.insert(node::TAINTS_FROM_MACHINE.to_owned(), tracking.to_owned());
        }
        let machine_taints: Vec<MachineTaint> = case.input["machineTaints"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| MachineTaint {
                taint: taint(entry["taint"].as_str().expect("a taint")),
                always: entry["propagation"] == json!("Always"),
            })
            .collect();
        let changed = node::propagate_taints(&mut node, &machine_taints);
        json!({
            "nodeTaints": written(&node.taints),
            "trackingAnnotation": node.annotations[node::TAINTS_FROM_MACHINE],
            "changed": changed,
        })
    });
}

#[test]
fn every_group_of_the_recorded_cases_is_run() {
    let run: BTreeSet<&str> = [
        "upgrade-hook-sequence",
        "upgrade-plan",
        "upgrade-deferred",
        "after-hook-calls",
        "before-cluster-create",
        "extensionconfig-validate",
        "extensionconfig-default",
        "md-template-uptodate",
        "md-find-new-old-ms",
        "kcp-uptodate",
        "kcp-infra-match",
        "kcp-kubeadmconfig-match",
        "topology-ssa-haschanges",
        "metadata-merge",
        "metadata-topology-to-cp",
        "md-annotations-to-ms",
        "md-compute-ms",
        "ms-sync-machines",
        "node-label-sync",
        "node-annotation-sync",
        "node-outdated-taint",
        "node-patch",
        "node-taints",
    ]
    .into();
    let all = cases();
    let recorded: BTreeSet<&str> = all.iter().map(|case| &*case.group).collect();
    assert!(recorded.is_subset(&run), "not run: {:?}", recorded.difference(&run));
}
