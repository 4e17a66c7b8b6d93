//! `autoscaler-with-replicas`: replicas are stated, and left to the autoscaler.
//! Source: cluster-api `core/webhooks/admission/cluster.go`
//! (`validateAutoscalerAnnotationsForCluster`).

use super::{place, scopes, title};
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::cluster_api_kinds::CORE;
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::Cluster;

pub(crate) static RULE: Rule = Rule {
    id: "autoscaler-with-replicas",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "replicas are stated and left to the autoscaler",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/autoscaler-with-replicas.md"),
    check: Check::Cluster(check),
};

const SIZES: [&str; 2] = [
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size",
    "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size",
];

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        for cluster in Cluster::all(&scope.objects) {
            let class = cluster.class(&scope.objects);
            for entry in cluster.workers(WorkerKind::MachineDeployment) {
                let Some(replicas) = entry.node.at("/replicas").filter(|r| !r.is_null()) else { continue };
                let own = entry.node.at("/metadata/annotations").and_then(sizes);
                let of_class = || {
                    let worker = class.as_ref()?.worker(entry.kind, entry.class.as_deref()?)?;
                    let annotations = worker.node.at(&format!("{}/annotations", worker.metadata))?;
                    sizes(annotations)
                };
                let Some(annotation) = own.or_else(of_class) else { continue };
                let Some(location) = replicas.location() else { continue };
                let finding = report
                    .report(location, title(cluster.object.id, "replicas are also left to the autoscaler"));
                finding
                    .why("Cluster API's webhook rejects a topology entry with both")
                    .help("remove `replicas`; the autoscaler starts from the minimum size")
                    .object(cluster.object.id)
                    .field(format!("{}/replicas", entry.pointer), "replicas");
                if let Some(at) = annotation.location() {
                    finding.related("the autoscaler's annotation", at);
                }
            }
        }
        for kind in ["MachineDeployment", "MachineSet", "MachinePool"] {
            for object in scope.objects.of_kind(CORE, kind) {
                standalone(object, report);
            }
        }
    }
}

/// A standalone object is accepted with both, and two masters then write it.
fn standalone(object: ScopedObject<'_>, report: &mut Reporter<'_>) {
    let Some(annotation) = object.node.at("/metadata/annotations").and_then(sizes) else { return };
    if !object.node.at("/spec/replicas").is_some_and(|r| !r.is_null() && !r.is_unknown()) {
        return;
    }
    let Some(location) = place(object, "/spec/replicas") else { return };
    let finding = report.report(location, title(object.id, "replicas are also left to the autoscaler"));
    finding
        .level(Level::Warning)
        .why("each apply sets them back, the autoscaler changes them again: Machines come and go")
        .help("remove `replicas`; the autoscaler starts from the minimum size")
        .object(object.id)
        .field("/spec/replicas", "replicas");
    if let Some(at) = annotation.location() {
        finding.related("the autoscaler's annotation", at);
    }
}

fn sizes(annotations: NodeRef<'_>) -> Option<NodeRef<'_>> {
    SIZES.iter().find_map(|key| annotations.get(key))
}
