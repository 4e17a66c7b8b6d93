//! `malformed-health-check`: a health check that no object can ever satisfy.
//! Source: kustomize-controller `checkHealth` and `referenceToObjMetadataSet`
//! (no namespace is defaulted, an absent apiVersion is `apps/v1`); fluxcd/pkg
//! `ssa/manager_wait.go` (`WaitForSet`), which waits until the timeout for an
//! object that the API server does not find, in every version.

use super::local_references;
use crate::lang::yaml::{Location, NodeRef};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds;
use crate::model::references::{Reference, Role};
use crate::schema::table;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-health-check",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a health check that no object can ever satisfy",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/malformed-health-check.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, reference) in local_references(view) {
        if reference.role != Role::HealthCheck {
            continue;
        }
        let node = object.node.get_ref();
        // Ignored under `wait`.
        let waits = node.at("/spec/wait").and_then(NodeRef::as_bool).unwrap_or(false);
        let known = node.at(&reference.pointer).is_some_and(|entry| {
            ["apiVersion", "kind", "namespace"]
                .iter()
                .all(|field| entry.get(field).is_none_or(|value| !value.is_unknown()))
        });
        if waits || !known {
            continue;
        }
        let Some(location) = place(node.at(&reference.pointer), reference.name_node) else { continue };
        let name = reference.name.as_deref().unwrap_or("?");
        let kind = &reference.kind;
        let written = node.at(&reference.pointer).and_then(|entry| entry.str_at("/apiVersion"));
        if let Some(right) = other_version(reference) {
            let is_absent = written.is_none();
            let version = written.as_deref().unwrap_or("apps/v1");
            report
                .report(location, format!("{}: no {version} has a kind {kind}", object.id))
                .why(format!(
                    "{}{kind} {name} of {version} is never found, so the Kustomization waits until its timeout \
                     and fails",
                    if is_absent { "a health check without apiVersion means apps/v1: " } else { "" }
                ))
                .help(format!("write apiVersion: {right}"))
                .object(&object.id)
                .field(format!("{}/apiVersion", reference.pointer), name);
        } else if reference.namespace.is_none() && is_namespaced(reference) {
            report
                .report(
                    location,
                    format!("{}: the health check of {kind} {name} has no namespace", object.id),
                )
                .why(format!(
                    "healthChecks have no default namespace: {kind} {name} is looked up as a cluster-scoped \
                     object and never found, so the Kustomization waits until its timeout and fails"
                ))
                .help("write the namespace of the object")
                .object(&object.id)
                .field(format!("{}/namespace", reference.pointer), name);
        }
    }
}

/// Where the name is written, or the kind where the name is an alias of something above.
pub(super) fn place(entry: Option<NodeRef<'_>>, name: NodeRef<'_>) -> Option<Location> {
    let (entry, name) = (entry?, name.location()?);
    let is_in = |whole: &Location| {
        whole.file == name.file && (whole.start..whole.end).contains(&name.start) || whole.start == whole.end
    };
    match entry.location().is_none_or(|whole| is_in(&whole)) {
        true => Some(name),
        false => entry.get("kind").and_then(NodeRef::location).or(Some(name)),
    }
}

/// Built-in kinds that people wait for, with the version that has them, and
/// whether they lie in namespaces.
const BUILT_IN: &[(&str, &str, bool)] = &[
    ("Deployment", "apps/v1", true),
    ("StatefulSet", "apps/v1", true),
    ("DaemonSet", "apps/v1", true),
    ("ReplicaSet", "apps/v1", true),
    ("Job", "batch/v1", true),
    ("CronJob", "batch/v1", true),
    ("Service", "v1", true),
    ("Pod", "v1", true),
    ("ConfigMap", "v1", true),
    ("Secret", "v1", true),
    ("PersistentVolumeClaim", "v1", true),
    ("ServiceAccount", "v1", true),
    ("Namespace", "v1", false),
    ("PersistentVolume", "v1", false),
    ("CustomResourceDefinition", "apiextensions.k8s.io/v1", false),
];

/// The apiVersion of a kind, where the one of the health check is a group of
/// Kubernetes itself that has no such kind.
fn other_version(reference: &Reference<'_>) -> Option<String> {
    if !matches!(reference.group.as_str(), "" | "apps" | "batch") {
        return None;
    }
    let group = |version: &str| version.rsplit_once('/').map_or("", |(group, _)| group).to_owned();
    if reference.group == "apps"
        && let Some(flux) = kinds::KINDS.iter().find(|known| known.kind == reference.kind)
    {
        return Some(format!("{}/{}", flux.group, flux.versions.first()?.version));
    }
    let (_, version, _) = BUILT_IN.iter().find(|(kind, ..)| *kind == reference.kind)?;
    (group(version) != reference.group).then(|| (*version).to_owned())
}

fn is_namespaced(reference: &Reference<'_>) -> bool {
    let built_in = BUILT_IN.iter().find(|(kind, version, _)| {
        *kind == reference.kind && version.rsplit_once('/').map_or("", |(group, _)| group) == reference.group
    });
    match built_in {
        Some((.., namespaced)) => *namespaced,
        None => {
            kinds::find(&reference.group, &reference.kind).is_some()
                || table::is_namespaced(&reference.group, &reference.kind) == Some(true)
        }
    }
}
