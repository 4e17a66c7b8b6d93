//! `init-join-configuration-differ`: the first control plane Machine is
//! configured differently from the others.
//! Source: cluster-api `controlplane/kubeadm/pkg/filters.go`
//! (`PrepareKubeadmConfigsForDiff`, `matchesKubeadmConfig`).

use super::{place_in, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::cluster_api_kinds::CONTROL_PLANE;
use crate::model::value::{has_unknown, to_json};
use crate::simulate::cluster_api::rollout::kubeadm_config::init_join_differences;

pub(crate) static RULE: Rule = Rule {
    id: "init-join-configuration-differ",
    group: Group::ClusterApi,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "initConfiguration and joinConfiguration differ in what they share",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/init-join-configuration-differ.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let base = match &*view.id.kind {
        "KubeadmControlPlane" => "/spec/kubeadmConfigSpec",
        "KubeadmControlPlaneTemplate" => "/spec/template/spec/kubeadmConfigSpec",
        _ => return,
    };
    let Some(node) = view.node.at(base).filter(|_| view.id.group() == CONTROL_PLANE) else { return };
    let spec = to_json(node);
    let stated =
        |name: &str| spec.get(name).is_some_and(|c| c.as_object().is_some_and(|map| !map.is_empty()));
    // Patches of a class often add what a template leaves out.
    if !stated("initConfiguration") && !stated("joinConfiguration") || has_unknown(&spec) {
        return;
    }
    let paths = init_join_differences(&spec);
    let Some(first) = paths.first() else { return };
    let shown = shared_name(first);
    let pointer = format!("{base}/joinConfiguration");
    let present = if node.at("/joinConfiguration").is_some() { pointer.clone() } else { base.to_owned() };
    let Some(location) = place_in(view, &present) else { return };
    let more = if paths.len() > 1 { format!(" and {} more", paths.len() - 1) } else { String::new() };
    report
        .report(
            location,
            title(view.id, &format!("initConfiguration and joinConfiguration differ in {shown}{more}")),
        )
        .why(
            "the first Machine is set up by init, the others and every replacement by join: it is \
             configured otherwise than they are",
        )
        .label(format!(
            "they differ in {}",
            paths.iter().map(|path| shared_name(path)).collect::<Vec<_>>().join(", ")
        ))
        .help("state the same in both; KubeadmControlPlane decides about rollouts by this")
        .object(view.id)
        .field(pointer, paths.join(","));
}

/// `joinConfiguration.nodeRegistration.taints` as both sides call it.
fn shared_name(path: &str) -> &str {
    path.strip_prefix("joinConfiguration.").unwrap_or(path)
}
