//! `feature-gate-needed`: something needs a feature gate of Cluster API that is
//! known to be off.
//! Source: cluster-api `feature/feature.go`, `core/webhooks/admission`.

use super::{is_off, place_in, title};
use crate::config::Feature;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::{CONTROL_PLANE, CORE, RUNTIME};

pub(crate) static RULE: Rule = Rule {
    id: "feature-gate-needed",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "something needs a feature gate that is off",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/feature-gate-needed.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.group().ends_with("cluster.x-k8s.io") {
        return;
    }
    for (feature, gate, pointer) in needs(view) {
        if !is_off(view, feature) {
            continue;
        }
        let Some(location) = place_in(view, &pointer) else { continue };
        let finding = report.report(location, title(view.id, &format!("it needs the feature gate {gate}")));
        finding
            .why("the gate is off, so Cluster API's webhook rejects it, or its controller fails")
            .help(format!("turn {gate} on in the controllers' arguments, or remove this"))
            .object(view.id)
            .field(pointer, gate);
        let from = view.settings().find_map(|settings| settings.feature(feature).from.clone());
        if let Some(at) = from {
            finding.related("where the gate is read", at);
        }
    }
}

/// Gates that an object needs, with the first field that needs each.
fn needs(view: &ObjectView<'_>) -> Vec<(Feature, &'static str, String)> {
    let mut needs = Vec::new();
    let mut need = |feature, gate, pointer: String| needs.push((feature, gate, pointer));
    match (view.id.group(), &*view.id.kind) {
        (CORE, "Cluster") if view.node.at("/spec/topology").is_some_and(|t| t.is_map()) => {
            need(Feature::ClusterTopology, "ClusterTopology", "/spec/topology".to_owned());
        }
        (CORE, "ClusterClass") => {
            need(Feature::ClusterTopology, "ClusterTopology", "/spec".to_owned());
            let patch = view.node.items_at("/spec/patches").position(|p| p.at("/external").is_some());
            let pointer = match patch {
                Some(index) => Some(format!("/spec/patches/{index}/external")),
                None => view.node.at("/spec/upgrade/external").map(|_| "/spec/upgrade/external".to_owned()),
            };
            if let Some(pointer) = pointer {
                need(Feature::RuntimeSdk, "RuntimeSDK", pointer);
            }
        }
        (RUNTIME, "ExtensionConfig") => need(Feature::RuntimeSdk, "RuntimeSDK", "/spec".to_owned()),
        _ => {}
    }
    if let Some(pointer) = taints(view) {
        need(Feature::MachineTaintPropagation, "MachineTaintPropagation", pointer);
    }
    needs
}

/// The first list of taints.
fn taints(view: &ObjectView<'_>) -> Option<String> {
    let mut lists: Vec<String> = Vec::new();
    match (view.id.group(), &*view.id.kind) {
        (CORE, "Cluster" | "ClusterClass") => {
            // Entries with metadata and without: every list of workers.
            let base = if &*view.id.kind == "Cluster" { "/spec/topology" } else { "/spec" };
            lists.push(format!("{base}/controlPlane/taints"));
            for list in ["machineDeployments", "machinePools"] {
                let list = format!("{base}/workers/{list}");
                let count = view.node.items_at(&list).count();
                lists.extend((0..count).map(|index| format!("{list}/{index}/taints")));
            }
        }
        (CORE, "MachineDeployment" | "MachineSet") => lists.push("/spec/template/spec/taints".to_owned()),
        (CORE, "Machine") => lists.push("/spec/taints".to_owned()),
        (CONTROL_PLANE, "KubeadmControlPlane") => {
            lists.push("/spec/machineTemplate/spec/taints".to_owned());
        }
        _ => {}
    }
    lists.into_iter().find(|list| view.node.items_at(list).next().is_some())
}
