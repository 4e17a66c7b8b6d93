//! `unskippable-version`: a change of version that is rejected, or goes back.
//! Source: cluster-api `core/webhooks/admission/cluster.go`
//! (`validateTopologyVersionUpdate`), `kubeadmcontrolplane.go` (`validateVersion`).

use super::{change_scopes, place, title};
use crate::lint::metadata::has_hole;
use crate::lint::{ChangeView, Check, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::cluster_api_kinds::{CONTROL_PLANE, CORE};
use crate::model::kubernetes_version::Version;
use crate::simulate::cluster_api::hooks::simulate::VersionUpdate;
use crate::simulate::cluster_api::references::ScopedObject;
use crate::simulate::cluster_api::topology::class::has_chained_upgrades;
use crate::simulate::cluster_api::topology::{Cluster, text_at};

pub(crate) static RULE: Rule = Rule {
    id: "unskippable-version",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a change of version that is rejected, or goes back",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/unskippable-version.md"),
    check: Check::Change(check),
};

const UNCHECKED: &str =
    "/metadata/annotations/unsafe.topology.cluster.x-k8s.io~1disable-update-version-check";

fn check(view: &ChangeView<'_>, report: &mut Reporter<'_>) {
    for (before, after) in change_scopes(view) {
        for cluster in Cluster::all(&after.objects) {
            let old = before.objects.find(CORE, "Cluster", cluster.object.namespace(), cluster.object.name());
            let Some(old) = old.map(|object| Cluster { object }) else { continue };
            let Some((from, to)) = old.version().zip(cluster.version()).filter(changes) else { continue };
            if cluster.object.node.at(UNCHECKED).is_some() {
                continue;
            }
            let class = cluster.class(&after.objects);
            let settings = after.cluster.map(|cluster| &cluster.settings);
            let minor =
                settings.and_then(|s| s.cluster_api.value).map(|version| u64::from(version.minor_in(1)));
            let listed = class.as_ref().map(|c| c.kubernetes_versions(minor)).unwrap_or_default();
            let update = VersionUpdate {
                from: &from,
                to: &to,
                class_versions: &listed,
                plan_extension: has_chained_upgrades(minor)
                    && class.as_ref().is_none_or(|c| c.upgrade_plan_extension(minor).is_some()),
            };
            if let Some(why) = update.rejection() {
                let why = format!("Cluster API's webhook rejects it: {why}");
                found(cluster.object, "/spec/topology/version", (&from, &to), Level::Error, &why, report);
            }
        }
        for (group, kind, pointer) in [
            (CONTROL_PLANE, "KubeadmControlPlane", "/spec/version"),
            (CORE, "MachineDeployment", "/spec/template/spec/version"),
        ] {
            for object in after.objects.of_kind(group, kind) {
                let Some(old) = before.objects.find(group, kind, object.namespace(), object.name()) else {
                    continue;
                };
                let text = |object: ScopedObject<'_>| text_at(object.node, &[pointer]);
                let Some((from, to)) = text(old).zip(text(object)).filter(changes) else { continue };
                let (Some(a), Some(b)) = (Version::parse(&from), Version::parse(&to)) else { continue };
                if b.compare(&a).is_lt() {
                    let why = "nothing rejects it: Machines are replaced by ones of the older version, \
                               which Kubernetes does not support";
                    found(object, pointer, (&from, &to), Level::Warning, why, report);
                } else if group == CONTROL_PLANE && (b.major, b.minor) >= (a.major, a.minor + 2) {
                    let why = "the webhook rejects a control plane that skips a minor";
                    found(object, pointer, (&from, &to), Level::Error, why, report);
                }
            }
        }
    }
}

fn changes((from, to): &(String, String)) -> bool {
    from != to && !has_hole(from) && !has_hole(to)
}

fn found(
    object: ScopedObject<'_>,
    pointer: &str,
    (from, to): (&str, &str),
    level: Level,
    why: &str,
    report: &mut Reporter<'_>,
) {
    let Some(location) = place(object, pointer) else { return };
    report
        .report(location, title(object.id, &format!("{from} cannot become {to}")))
        .level(level)
        .why(why)
        .label(format!("was {from}"))
        .help("go up one minor at a time, or list the versions between in the ClusterClass")
        .object(object.id)
        .field(pointer, to.to_owned());
}
