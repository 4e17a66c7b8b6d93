//! `even-control-plane-replicas`: an even number of control planes with stacked
//! etcd.
//! Source: cluster-api `controlplane/kubeadm/webhooks/admission/kubeadmcontrolplane.go`
//! (`validateKubeadmControlPlaneSpec`).

use super::{place, scopes, title};
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::cluster_api_kinds::CONTROL_PLANE;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::Cluster;

pub(crate) static RULE: Rule = Rule {
    id: "even-control-plane-replicas",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an even number of control planes with stacked etcd",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/even-control-plane-replicas.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        for object in scope.objects.of_kind(CONTROL_PLANE, "KubeadmControlPlane") {
            if !has_external_etcd(object.node, "/spec") {
                judge(object, "/spec/replicas", "Cluster API's webhook rejects it", report);
            }
        }
        for cluster in Cluster::all(&scope.objects) {
            let Some(class) = cluster.class(&scope.objects) else { continue };
            let Some(reference) = class.control_plane() else { continue };
            let Some(template) = class.template(&scope.objects, &reference) else { continue };
            let kubeadm = template.id.is(CONTROL_PLANE, "KubeadmControlPlaneTemplate");
            // A patch may bring an external etcd.
            let patched = class.patches().iter().any(|(_, patch)| names_etcd(*patch));
            if !kubeadm || patched || has_external_etcd(template.node, "/spec/template/spec") {
                continue;
            }
            let why = "the webhook rejects the KubeadmControlPlane, so the topology reconcile fails";
            judge(cluster.object, "/spec/topology/controlPlane/replicas", why, report);
        }
    }
}

fn judge(object: ScopedObject<'_>, pointer: &str, why: &str, report: &mut Reporter<'_>) {
    let Some(replicas) = object.node.at(pointer).and_then(NodeRef::as_int) else { return };
    if replicas % 2 != 0 {
        return;
    }
    let Some(location) = place(object, pointer) else { return };
    report
        .report(location, title(object.id, &format!("{replicas} control planes cannot vote")))
        .why(format!("stacked etcd needs an odd number of members; {why}"))
        .help("use 1, 3 or 5 replicas, or an external etcd")
        .object(object.id)
        .field(pointer, replicas.to_string());
}

fn has_external_etcd(node: NodeRef<'_>, base: &str) -> bool {
    let etcd = node.at(&format!("{base}/kubeadmConfigSpec/clusterConfiguration/etcd"));
    etcd.is_some_and(|etcd| etcd.is_unknown() || etcd.at("/external").is_some())
}

fn names_etcd(patch: NodeRef<'_>) -> bool {
    patch.items_at("/definitions").any(|definition| {
        definition.items_at("/jsonPatches").any(|operation| {
            operation.at("/path").and_then(NodeRef::text).is_some_and(|path| {
                path.contains("/etcd") || path.ends_with("/clusterConfiguration") || path.ends_with("/spec")
            })
        })
    }) || patch.at("/external").is_some()
}
