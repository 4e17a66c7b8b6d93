//! `substitution-deadlock`: a Kustomization reads variables that only it, or what waits
//! for it, brings into the cluster.
//! Source: kustomize-controller `reconcile`: dependencies, then `build` with
//! `LoadVariables`, then `apply`.

use super::title;
use crate::lang::yaml::NodeRef;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, by_hand};
use crate::model::references::{Role, references};
use crate::model::{Certainty, kinds};
use crate::world::{ApplyTarget, Effective, Member};
use std::collections::BTreeSet;

/// The rule.
pub(crate) static RULE: Rule = Rule {
    id: "substitution-deadlock",
    group: Group::Build,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "variables that come from what waits for the Kustomization that reads them",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/substitution-deadlock.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let cluster = view.cluster;
    if cluster.name.is_none() || cluster.certainty == Certainty::Guessed {
        return;
    }
    for (index, applied) in cluster.applied.iter().enumerate() {
        if !kinds::is_kustomization(&applied.id) {
            continue;
        }
        let own = index as u32;
        let all = references(&applied.id, applied.node.get_ref());
        for variables in all.iter().filter(|one| one.role == Role::Variables && !one.optional) {
            let (Some(name), Some(namespace)) =
                (super::super::reference::known_name(variables), &variables.namespace)
            else {
                continue;
            };
            let providers = providers(view, &variables.kind, namespace, name);
            let makers: Option<Vec<u32>> =
                providers.iter().map(|(member, _)| member.maker.kustomization()).collect();
            let Some(makers) = makers.filter(|makers| !makers.is_empty()) else { continue };
            let provided = providers[0].1;
            // `self-provided-substitution` says this one.
            let is_plain = provided.id.is("", &variables.kind);
            if is_plain && makers.contains(&own) || !makers.iter().all(|by| waits_for(view, *by, own)) {
                continue;
            }
            // What somebody makes at the bootstrap is there in time.
            if by_hand::names(view.beyond(), &[name], &[]) {
                continue;
            }
            let Some(place) = variables.name_node.location() else { continue };
            let by = &cluster.applied[makers[0] as usize].id;
            let wanted = format!("{} {name}", variables.kind);
            let how = if makers[0] == own {
                format!("{} makes it, and {} applies that itself", provided.id, applied.id.name)
            } else {
                format!(
                    "{} makes it, which {} applies; and that waits for {}",
                    provided.id, by.name, applied.id.name
                )
            };
            let finding = report
                .report(place, title(&applied.id, &format!("reads {wanted}, which comes only after it")))
                .claims_absence()
                .why(format!(
                    "{how}: variables are read before the apply, so that in a new cluster neither ever begins"
                ))
                .help(format!("apply {} with a Kustomization that waits for none of these", provided.id))
                .object(&applied.id)
                .field("/spec/postBuild/substituteFrom", wanted);
            if let Some(place) = provided.node.get_ref().location_at("/metadata/name") {
                finding.related(provided.id.to_string(), place);
            }
        }
    }
}

/// The objects of a cluster that are, or by which a controller makes, a ConfigMap or
/// Secret.
fn providers<'a>(
    view: &ClusterView<'a>,
    kind: &str,
    namespace: &str,
    name: &str,
) -> Vec<(&'a Member, &'a Effective)> {
    let local = view.members().filter(|(member, _)| member.target == ApplyTarget::Local);
    local.filter(|(_, object)| provides(object, kind, namespace, name)).collect()
}

fn provides(object: &Effective, kind: &str, namespace: &str, name: &str) -> bool {
    let (id, node) = (&object.id, object.node.get_ref());
    let in_namespace = id.namespace.as_deref() == Some(namespace);
    let called = |pointers: &[&str]| match pointers.iter().find_map(|pointer| node.str_at(pointer)) {
        Some(written) => written == name,
        None => *id.name == *name,
    };
    match (id.group(), &*id.kind) {
        ("", "ConfigMap" | "Secret") => *id.kind == *kind && in_namespace && *id.name == *name,
        _ if kind != "Secret" => false,
        ("external-secrets.io", "ExternalSecret") => in_namespace && called(&["/spec/target/name"]),
        ("external-secrets.io", "ClusterExternalSecret") => {
            called(&["/spec/externalSecretSpec/target/name", "/spec/externalSecretName"])
                && reaches(node, namespace)
        }
        ("bitnami.com", "SealedSecret") => in_namespace && called(&["/spec/template/metadata/name"]),
        _ => false,
    }
}

/// Whether a ClusterExternalSecret makes its Secret in a namespace, as far as its text
/// says: by name, or by the label that every Namespace has.
fn reaches(node: NodeRef<'_>, namespace: &str) -> bool {
    let named =
        node.items_at("/spec/namespaces").any(|name| name.as_str().is_some_and(|name| name == namespace));
    let selectors = node.items_at("/spec/namespaceSelectors").chain(node.at("/spec/namespaceSelector"));
    let by_label = |selector: NodeRef<'_>| {
        let label = |entry: crate::lang::yaml::EntryRef<'_>| {
            entry.key == "kubernetes.io/metadata.name"
                && entry.value.as_str().is_some_and(|value| value == namespace)
        };
        selector.entries_at("/matchLabels").any(label)
            || selector.is_map() && selector.entries().next().is_none()
    };
    named || selectors.into_iter().any(by_label)
}

/// Whether a Kustomization is another one, is applied below it, or depends on one that
/// is.
fn waits_for(view: &ClusterView<'_>, from: u32, on: u32) -> bool {
    let applied = &view.cluster.applied;
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if at == on {
            return true;
        }
        if !seen.insert(at) {
            continue;
        }
        let one = &applied[at as usize];
        open.extend(one.parent);
        for dependency in references(&one.id, one.node.get_ref()) {
            if dependency.role != Role::DependsOn {
                continue;
            }
            let is_it = |other: &crate::world::Applied| {
                Some(&*other.id.name) == dependency.name.as_deref()
                    && other.id.namespace.as_deref() == dependency.namespace.as_deref()
            };
            open.extend(applied.iter().position(is_it).map(|index| index as u32));
        }
    }
    false
}
