//! `ineffective-upgrade-annotation`: `hold-upgrade-sequence` or `defer-upgrade`
//! where it is not read.
//! Source: cluster-api `exp/topology/desiredstate/desired_state.go`
//! (`isMachineDeploymentDeferred`, `isMachinePoolDeferred`).

use super::title;
use crate::lang::yaml::pointer_join;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::cluster_api::propagation::is_upgrade_order_annotation;

pub(crate) static RULE: Rule = Rule {
    id: "ineffective-upgrade-annotation",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an annotation that orders upgrades, where it is not read",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/ineffective-upgrade-annotation.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !view.id.group().ends_with("cluster.x-k8s.io") {
        return;
    }
    for map in view.metadata() {
        let of_entry = &*view.id.kind == "Cluster" && map.pointer.starts_with("/spec/topology/workers/");
        for entry in map.entries.iter().map(|e| &e.entry).filter(|e| is_upgrade_order_annotation(&e.key)) {
            if of_entry && !map.labels {
                continue;
            }
            let Some(location) = entry.key_location() else { continue };
            let short = entry.key.rsplit('/').next().unwrap_or(&entry.key);
            report
                .report(location, title(view.id, &format!("`{short}` is not read here")))
                .why("it is read from annotations of topology.workers entries only: upgrades go on")
                .help(
                    "put it into spec.topology.workers.machineDeployments[].metadata.annotations, or \
                     machinePools[], of the Cluster",
                )
                .object(view.id)
                .field(pointer_join(&map.pointer, &entry.key), entry.key.to_string());
        }
    }
}
