//! `metadata-never-reaches-node`: a label plainly meant for Nodes, on the way to
//! Machines, in a domain that does not sync.
//! Source: cluster-api `util/labels/helpers.go` (`GetManagedLabels`).

use super::title;
use crate::lang::go::regexp::GoRegexp;
use crate::lang::yaml::NodeRef;
use crate::lint::ClusterView;
use crate::lint::metadata::{has_hole, metadata_maps};
use crate::lint::{Check, FixAvailability, Group, Level, Reporter, Rule};
use crate::simulate::cluster_api::propagation::node::syncs_label;

pub(crate) static RULE: Rule = Rule {
    id: "metadata-never-reaches-node",
    group: Group::ClusterApi,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "a label meant for Nodes that no controller syncs",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/metadata-never-reaches-node.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let Some(additional) = additional_labels(view) else { return };
    for (_, object) in view.written().filter(|(_, o)| is_cluster_api(o.id.group())) {
        let own = &*object.id.kind == "Machine";
        for map in metadata_maps(&object.id, object.node.get_ref()) {
            if !map.labels || map.own != own {
                continue;
            }
            for entry in map.entries.iter().map(|e| &e.entry) {
                let key = &*entry.key;
                let meant = is_for_nodes(key) && !syncs_label(key, &additional);
                if !meant || has_hole(key) || view.is_selected(key) {
                    continue;
                }
                let Some(location) = entry.key_location() else { continue };
                report
                    .report(location, title(&object.id, "a label for Nodes reaches none"))
                    .why(
                        "of a Machine's labels only those of node-role.kubernetes.io, \
                         node-restriction.kubernetes.io and node.cluster.x-k8s.io reach its Node",
                    )
                    .help(format!(
                        "use one of these domains, or `--additional-sync-machine-labels` for `{key}`"
                    ))
                    .object(&object.id)
                    .field(map.pointer_of(key), key.to_owned());
            }
        }
    }
}

fn is_cluster_api(group: &str) -> bool {
    group == "cluster.x-k8s.io" || group == "controlplane.cluster.x-k8s.io"
}

/// Domains of Kubernetes whose labels describe Nodes, and domains named after
/// them. Application labels are nobody's mistake.
fn is_for_nodes(key: &str) -> bool {
    let Some((domain, _)) = key.split_once('/') else { return false };
    let under = |parent: &str| domain == parent || domain.ends_with(&format!(".{parent}"));
    let applications = ["app.kubernetes.io", "helm.sh", "pod-security.kubernetes.io"];
    domain.starts_with("node.")
        || domain.starts_with("node-")
        || (under("kubernetes.io") && !applications.contains(&domain))
        || (under("k8s.io") && !domain.ends_with("x-k8s.io"))
}

/// The expressions of `--additional-sync-machine-labels`; `None` where nothing
/// tells whether there are any.
fn additional_labels(view: &ClusterView<'_>) -> Option<Vec<GoRegexp>> {
    const FLAG: &str = "--additional-sync-machine-labels";
    let target = view.config().target_of(view.cluster.name.as_deref());
    let mut texts: Vec<String> =
        target.additional_sync_machine_labels.iter().map(|written| written.value.clone()).collect();
    let controller =
        view.of_kind("apps", "Deployment").find(|(_, object)| &*object.id.name == "capi-controller-manager");
    if texts.is_empty() && controller.is_none() && target.cluster_api.is_none() {
        return None;
    }
    if let Some((_, object)) = controller {
        let mut args: Vec<String> = Vec::new();
        for container in object.node.get_ref().items_at("/spec/template/spec/containers") {
            args.extend(container.items_at("/args").filter_map(NodeRef::as_str).map(|t| t.into_owned()));
        }
        for (index, arg) in args.iter().enumerate() {
            let value = match arg.strip_prefix(FLAG) {
                Some("") => args.get(index + 1).map(String::as_str),
                Some(rest) => rest.strip_prefix('='),
                None => None,
            };
            texts.extend(value.into_iter().flat_map(|v| v.split(',')).map(str::to_owned));
        }
    }
    texts.iter().map(|text| GoRegexp::new(text).ok()).collect()
}
