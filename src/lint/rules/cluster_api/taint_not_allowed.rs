//! `taint-not-allowed`: a taint that Cluster API refuses to propagate.
//! Source: cluster-api `internal/util/taints/validation.go`
//! (`ValidateMachineTaints`, `validateMachineTaintsForWorkers`), `machinepool.go`
//! (`validate`).

use super::{place_in, text_at, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::{CONTROL_PLANE, CORE};
use crate::model::names::{is_label_value, is_qualified_name};

pub(crate) static RULE: Rule = Rule {
    id: "taint-not-allowed",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a taint that Cluster API refuses",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/taint-not-allowed.md"),
    check: Check::Object(check),
};

/// What a list of taints is for.
#[derive(Clone, Copy, PartialEq)]
enum For {
    ControlPlane,
    Worker,
    Pool,
    /// A topology's or class's pool: accepted here, refused at the MachinePool.
    PoolEntry,
}

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for (pointer, role) in lists(view) {
        let mut items = view.node.items_at(&pointer).peekable();
        if items.peek().is_some() && matches!(role, For::Pool | For::PoolEntry) {
            let why = match role {
                For::Pool => "the webhook rejects taints on every MachinePool",
                _ => "the webhook rejects taints on every MachinePool, so the topology reconcile fails",
            };
            found(view, &pointer, "", why, "remove the taints; pools do not support them yet", report);
            continue;
        }
        for (index, taint) in items.enumerate() {
            let Some(key) = text_at(taint, "/key") else { continue };
            let value = text_at(taint, "/value").unwrap_or_default();
            if let Some((why, help)) = refusal(&key, &value, role) {
                found(view, &format!("{pointer}/{index}/key"), &key, why, help, report);
            }
        }
    }
}

fn found(view: &ObjectView<'_>, pointer: &str, key: &str, why: &str, help: &str, report: &mut Reporter<'_>) {
    let Some(location) = place_in(view, pointer) else { return };
    let words =
        if key.is_empty() { "taints are refused here".to_owned() } else { "a taint is refused".to_owned() };
    report
        .report(location, title(view.id, &words))
        .why(why)
        .label(key.to_owned())
        .help(help)
        .object(view.id)
        .field(pointer.to_owned(), key.to_owned());
}

/// Lists of taints of an object, by JSON Pointer. kubeadm's own
/// `nodeRegistration.taints` are another matter.
fn lists(view: &ObjectView<'_>) -> Vec<(String, For)> {
    let entries = |list: &str, role: For| {
        let count = view.node.items_at(list).count();
        (0..count).map(|index| (format!("{list}/{index}/taints"), role)).collect::<Vec<_>>()
    };
    let one = |pointer: &str, role| vec![(pointer.to_owned(), role)];
    match (view.id.group(), &*view.id.kind) {
        (CORE, "Cluster" | "ClusterClass") => {
            let base = if &*view.id.kind == "Cluster" { "/spec/topology" } else { "/spec" };
            let mut all = one(&format!("{base}/controlPlane/taints"), For::ControlPlane);
            all.extend(entries(&format!("{base}/workers/machineDeployments"), For::Worker));
            all.extend(entries(&format!("{base}/workers/machinePools"), For::PoolEntry));
            all
        }
        (CORE, "MachineDeployment" | "MachineSet") => one("/spec/template/spec/taints", For::Worker),
        (CORE, "MachinePool") => one("/spec/template/spec/taints", For::Pool),
        (CONTROL_PLANE, "KubeadmControlPlane") => one("/spec/machineTemplate/spec/taints", For::ControlPlane),
        (CORE, "Machine") => {
            let labels = view.node.at("/metadata/labels");
            let is_control_plane = labels
                .is_some_and(|l| l.get(crate::simulate::cluster_api::propagation::CONTROL_PLANE).is_some());
            one("/spec/taints", if is_control_plane { For::ControlPlane } else { For::Worker })
        }
        _ => Vec::new(),
    }
}

fn refusal(key: &str, value: &str, role: For) -> Option<(&'static str, &'static str)> {
    const REJECTED: &str = "Cluster API's webhook rejects it";
    const RESERVED: &str = "the webhook rejects it: this key belongs to Kubernetes or Cluster API";
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let reserved = ["node.cluster.x-k8s.io/uninitialized", "node.cluster.x-k8s.io/outdated-revision"]
        .contains(&key)
        || (domain == "node.kubernetes.io" && key != "node.kubernetes.io/out-of-service")
        || domain == "node.cloudprovider.kubernetes.io"
        || key == "node-role.kubernetes.io/master";
    if reserved {
        return Some((RESERVED, "use a key of your own domain"));
    }
    if key == "node-role.kubernetes.io/control-plane" && role == For::Worker {
        return Some((
            "the webhook rejects the control plane's taint on workers",
            "use a key of your own domain",
        ));
    }
    if !is_qualified_name(key) || key.len() > 317 {
        return Some((REJECTED, "write a key as for labels: [domain/]name"));
    }
    (!is_label_value(value)).then_some((REJECTED, "write a value as for labels, at most 63 characters"))
}
