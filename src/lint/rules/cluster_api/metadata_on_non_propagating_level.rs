//! `metadata-on-non-propagating-level`: a key of a domain that syncs to Nodes, on
//! top-level metadata that goes nowhere.
//! Source: cluster-api `controlplane/kubeadm/pkg/desiredstate` (only
//! spec.machineTemplate.metadata), `machinedeployment_rollout_planner.go`
//! (`computeDesiredMS`), `core/reconcilers/machineset` (`machineLabelsFromMachineSet`).

use super::title;
use crate::lang::text::with_article;
use crate::lint::metadata::has_hole;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::{CONTROL_PLANE, CORE};
use crate::simulate::cluster_api::propagation::node::{syncs_annotation, syncs_label};

pub(crate) static RULE: Rule = Rule {
    id: "metadata-on-non-propagating-level",
    group: Group::ClusterApi,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "metadata for Nodes where it is copied nowhere",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/metadata-on-non-propagating-level.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let (reaches, all) = match &*view.id.kind {
        "Cluster" if view.id.group() == CORE => ("/spec/topology/controlPlane/metadata", true),
        "KubeadmControlPlane" if view.id.group() == CONTROL_PLANE => ("/spec/machineTemplate/metadata", true),
        // A MachineDeployment's annotations reach its MachineSets, and stop there.
        "MachineDeployment" | "MachineSet" | "MachinePool" if view.id.group() == CORE => {
            ("/spec/template/metadata", true)
        }
        _ => return,
    };
    for (field, word) in [("labels", "label"), ("annotations", "annotation")] {
        let pointer = format!("/metadata/{field}");
        for entry in view.node.entries_at(&pointer) {
            let key = &*entry.key;
            let for_nodes = match field {
                "labels" => syncs_label(key, &[]),
                _ => all && syncs_annotation(key, &[]),
            };
            let there = view.node.at(&format!("{reaches}/{field}")).and_then(|m| m.get(key)).is_some();
            if !for_nodes || there || has_hole(key) || key.contains("uninitialized") {
                continue;
            }
            let Some(location) = entry.key_location() else { continue };
            report
                .report(location, title(view.id, &format!("{} for Nodes stops here", with_article(word))))
                .why(format!("top-level metadata of {} is copied to no Machine", with_article(&view.id.kind)))
                .help(help(view, reaches, field))
                .object(view.id)
                .field(crate::lang::yaml::pointer_join(&pointer, key), key.to_owned());
        }
    }
}

fn help(view: &ObjectView<'_>, reaches: &str, field: &str) -> String {
    let path = reaches.trim_start_matches('/').replace('/', ".");
    match &*view.id.kind {
        "Cluster" => {
            format!("put it into {path}.{field}, or into the metadata of a workers entry of the topology")
        }
        _ => format!("put it into {path}.{field}"),
    }
}
