//! `rejected-topology-version`: a version of a topology that the webhook rejects.
//! Source: cluster-api `core/webhooks/admission/cluster.go`, `validateTopology`
//! (`KubeSemver`) and `ValidateClusterForClusterClass` (`spec.kubernetesVersions`).

use super::{known, place, scopes, title};
use crate::lang::text::suggest;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::simulate::cluster_api::topology::{Cluster, text_at};

pub(crate) static RULE: Rule = Rule {
    id: "rejected-topology-version",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a version of a topology that the webhook rejects",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/rejected-topology-version.md"),
    check: Check::Cluster(check),
};

const POINTER: &str = "/spec/topology/version";

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        let minor = scope
            .cluster
            .and_then(|cluster| cluster.settings.cluster_api.value)
            .map(|version| u64::from(version.minor_in(1)));
        for cluster in Cluster::all(&scope.objects) {
            let written = text_at(cluster.object.node, &[POINTER]);
            let Some(version) = known(cluster.version()).filter(|_| known(written).is_some()) else {
                continue;
            };
            let class = cluster.class(&scope.objects);
            let listed = class.as_ref().map(|class| class.kubernetes_versions(minor)).unwrap_or_default();
            let Some(why) = crate::simulate::cluster_api::topology::version_rejection(&version, &listed)
            else {
                continue;
            };
            let Some(location) = place(cluster.object, POINTER) else { continue };
            let is_listed =
                listed.is_empty() || crate::model::kubernetes_version::Version::is_kube_semver(&version);
            let finding =
                report.report(location, title(cluster.object.id, &format!("version {version} is rejected")));
            finding
                .level(if is_listed && !listed.is_empty() && minor.is_none() {
                    Level::Warning
                } else {
                    Level::Error
                })
                .why(format!("Cluster API's webhook rejects the Cluster: {why}"))
                .help(match (suggest(&version, listed.iter().map(String::as_str)), listed.is_empty()) {
                    (_, true) => {
                        format!("write all three numbers, such as {}.0", version.trim_end_matches('.'))
                    }
                    (Some(near), _) => format!("did you mean `{near}`?"),
                    (None, _) => format!("use one of {}", listed.join(", ")),
                })
                .object(cluster.object.id)
                .field(POINTER, version.clone());
            let class = class.filter(|_| !listed.is_empty());
            if let Some(at) = class.and_then(|class| place(class.object, "/spec/kubernetesVersions")) {
                finding.related("the versions of its ClusterClass", at);
            }
        }
    }
}
