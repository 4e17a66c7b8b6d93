//! `worker-version-skew`: workers of a version that their control plane does not
//! serve.
//! Source: cluster-api `core/reconcilers/machineset/machineset_preflight.go`
//! (`kubernetesVersionPreflightCheck`).

use super::{known, place, scopes, title};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::cluster_api_kinds::{CONTROL_PLANE, CORE, group_of};
use crate::model::kubernetes_version::Version;
use crate::simulate::cluster_api::references::{Objects, ScopedObject};
use crate::simulate::cluster_api::topology::text_at;

pub(crate) static RULE: Rule = Rule {
    id: "worker-version-skew",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "workers of a version that their control plane does not serve",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/worker-version-skew.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        for kind in ["MachineDeployment", "MachineSet", "MachinePool"] {
            for worker in scope.objects.of_kind(CORE, kind) {
                judge(&scope.objects, worker, report);
            }
        }
    }
}

fn judge(objects: &Objects<'_>, worker: ScopedObject<'_>, report: &mut Reporter<'_>) {
    const POINTER: &str = "/spec/template/spec/version";
    let Some(text) = known(text_at(worker.node, &[POINTER])) else { return };
    let Some(control_plane) = control_plane_of(objects, worker) else { return };
    let Some(theirs) = known(text_at(control_plane.node, &["/spec/version"])) else { return };
    let (Some(version), Some(served)) = (Version::parse(&text), Version::parse(&theirs)) else { return };
    if version.major != served.major || skips_check(worker) {
        return;
    }
    let (level, why) = if version.minor > served.minor {
        (Level::Error, "kubelets must not be newer than the API server: no Machine of it is created")
    } else if version.minor + 3 < served.minor {
        (Level::Warning, "more than three minors behind: no further Machine of it is created")
    } else {
        return;
    };
    let Some(location) = place(worker, POINTER) else { return };
    let finding = report.report(location, title(worker.id, "its version does not fit the control plane"));
    finding
        .level(level)
        .why(why)
        .label(format!("the control plane has {theirs}"))
        .help("bring both within three minors, the control plane first")
        .object(worker.id)
        .field(POINTER, text);
    if let Some(at) = place(control_plane, "/spec/version") {
        finding.related(control_plane.id.to_string(), at);
    }
}

/// The KubeadmControlPlane of a worker's Cluster.
fn control_plane_of<'a>(objects: &Objects<'a>, worker: ScopedObject<'_>) -> Option<ScopedObject<'a>> {
    let name = known(text_at(worker.node, &["/spec/clusterName"]))?;
    let cluster = objects.find(CORE, "Cluster", worker.namespace(), &name)?;
    let reference = cluster.node.at("/spec/controlPlaneRef")?;
    let group = text_at(reference, &["/apiGroup"])
        .or_else(|| text_at(reference, &["/apiVersion"]).map(|v| group_of(&v).to_owned()))?;
    let (kind, name) = (text_at(reference, &["/kind"])?, text_at(reference, &["/name"])?);
    if group != CONTROL_PLANE {
        return None;
    }
    objects.find(&group, &kind, worker.namespace(), &name)
}

fn skips_check(worker: ScopedObject<'_>) -> bool {
    let key = "/metadata/annotations/machineset.cluster.x-k8s.io~1skip-preflight-checks";
    text_at(worker.node, &[key])
        .is_some_and(|list| list.split(',').any(|c| matches!(c.trim(), "All" | "KubernetesVersionSkew")))
}
