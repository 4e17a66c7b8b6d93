//! `removed-kubernetes-api`: a version of a built-in kind that Kubernetes dropped.
//! Source: the lifecycle functions of k8s.io/api and Kubernetes' deprecated API
//! migration guide; the table in `model/removed_apis`.

use crate::lang::yaml::edit::{Content, Operation};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::removed_apis::{self, ApiChange, OLDEST_MAINTAINED, RemovedApi};
use crate::world::Cluster;

pub(crate) static RULE: Rule = Rule {
    id: "removed-kubernetes-api",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "an apiVersion that Kubernetes itself no longer serves",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/reference/removed-kubernetes-api.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some(gone) = removed_apis::find(&view.id.api_version, &view.id.kind) else { return };
    let Some(place) = view.node.at("/apiVersion").and_then(|node| node.location()) else { return };
    if view.node.at("/$patch").is_some() {
        return;
    }
    // A patch for whoever lists it has the version of what it patches.
    let is_built = view.memberships().any(|(cluster, _)| !cluster.applied.is_empty());
    if !is_built && place.file.shown().contains("patch") {
        return;
    }
    let clusters: Vec<&Cluster> = view.memberships().map(|(cluster, _)| cluster).collect();
    let is_nowhere = clusters.iter().all(|cluster| cluster.name.is_none());
    if clusters.is_empty() || is_nowhere && view.beyond().world.has_entry {
        // What nothing applies fails nowhere.
        return told(view, gone, (Level::Info, &[], true), report);
    }
    let kubernetes = |cluster: &Cluster| cluster.settings.kubernetes.value;
    let lacking = |lacks: Option<bool>| -> Vec<&Cluster> {
        let of = |cluster: &Cluster| kubernetes(cluster).map(|version| version.at_least(1, gone.removed));
        clusters.iter().copied().filter(|cluster| of(cluster) == lacks).collect()
    };
    let suits = gone.replacement.is_none_or(|next| {
        let has =
            |cluster: &&Cluster| kubernetes(cluster).is_none_or(|version| version.at_least(1, next.since));
        clusters.iter().all(has)
    });
    for (level, lacks) in [(Level::Error, Some(true)), (Level::Warning, None)] {
        let clusters = lacking(lacks);
        if !clusters.is_empty() {
            told(view, gone, (level, &clusters, suits), report);
        }
    }
}

/// What happens in these clusters, and whether all that apply it serve what replaces it.
fn told(
    view: &ObjectView<'_>,
    gone: &RemovedApi,
    (level, clusters, suits): (Level, &[&Cluster], bool),
    report: &mut Reporter<'_>,
) {
    let Some(node) = view.node.at("/apiVersion") else { return };
    let Some(location) = node.location() else { return };
    let (version, removed) = (gone.api_version, gone.removed);
    let finding = report
        .report(location, format!("{}: {version} is not served since Kubernetes 1.{removed}", view.id))
        .level(level)
        .why(match level {
            Level::Error => {
                format!(
                    "the API server has no {version} {}: no object of this build is applied",
                    view.id.kind
                )
            }
            Level::Warning => format!(
                "no maintained Kubernetes (1.{OLDEST_MAINTAINED} and later) has it: the apply fails, and \
                 with it the whole Kustomization"
            ),
            _ => "whatever applies it fails".to_owned(),
        })
        .object(view.id)
        .field("/apiVersion", version);
    finding.of_clusters(clusters.iter().copied());
    let Some(next) = gone.replacement else {
        finding.help("remove it; the labels of Pod Security Admission took its place");
        return;
    };
    let wanted = next.api_version;
    if !suits {
        finding
            .help(format!("use {wanted} once all clusters that apply it have Kubernetes 1.{}", next.since));
        return;
    }
    let missing = match next.change {
        ApiChange::Nothing => None,
        ApiChange::Required(pointer) => {
            let value = view.node.at(pointer);
            // An empty one means another thing than it did, or was filled in.
            let is_there = value.is_some_and(|value| value.entries().next().is_some());
            (!is_there)
                .then(|| format!("which needs `{}` to say what it selects", pointer[1..].replace('/', ".")))
        }
        ApiChange::Fields(words) => Some(format!("where {words}")),
    };
    match missing {
        Some(words) => {
            finding.help(format!("use {wanted}, {words}"));
        }
        None => {
            finding.help(format!("use {wanted}, which Kubernetes has since 1.{}", next.since));
            let sure = if level == Level::Error { Applicability::Safe } else { Applicability::Unsafe };
            finding.fix(format!("change apiVersion to {wanted}"), sure, node, |pointer| {
                let value = Content::str(wanted.to_owned());
                vec![Operation::Set { pointer: pointer.to_owned(), value, comment: None }]
            });
        }
    }
}
