//! `wrong-reference-kind`: a reference that can't name what it names.
//! Source: kustomize-controller and helm-controller `checkDependencies` (each
//! looks only for its own kind), CRD enums of the `kind` fields.

use super::{field_name, known_name, local_references, target_name};
use crate::config::Feature;
use crate::lang::text::with_article;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::{HELM, KUSTOMIZE};
use crate::model::references::{Reference, Role};
use crate::model::{Name, ObjectId};
use crate::world::{ApplyTarget, Effective};

pub(crate) static RULE: Rule = Rule {
    id: "wrong-reference-kind",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a reference to a kind that the field does not accept",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/wrong-reference-kind.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, reference) in local_references(view) {
        let field = field_name(&reference.pointer).to_owned();
        // A webhook may open a gate, where there are gates.
        let is_gate = reference.role == Role::Receiver
            && reference.kind == "Gate"
            && view.cluster.settings.feature(Feature::Gates).value == Some(true);
        if !is_gate
            && !reference.accepted.is_empty()
            && !reference.kind.is_empty()
            && !reference.kind.contains("${")
            && !reference.accepted.contains(&reference.kind.as_str())
        {
            let pointer = format!("{}/kind", reference.pointer);
            let node = object.node.get_ref();
            let Some(location) = node.location_at(&pointer) else { continue };
            report
                .report(
                    location,
                    format!("{}: {field} can't be {}", object.id, with_article(&reference.kind)),
                )
                .why("the API server rejects the object")
                .help(format!("use one of {}", reference.accepted.join(", ")))
                .object(&object.id)
                .field(pointer, reference.kind.clone());
            continue;
        }
        let Some(name) = known_name(reference) else { continue };
        let Some(other) = other_kind(view, &object.id, reference, name) else { continue };
        let Some(location) = reference.name_node.location() else { continue };
        let wanted = target_name(reference, name);
        let finding =
            report.report(location, format!("{}: {field} names {}", object.id, with_article(&other.id.kind)));
        finding
            .claims_absence()
            .why(format!(
                "dependsOn of a {kind} is looked up among {kind}s only: {wanted} is never found, and {} \
                 is never applied",
                object.id.name,
                kind = object.id.kind
            ))
            .help(help(view, other, &object.id))
            .label(format!("this is {}", other.id))
            .object(&object.id)
            .field(format!("{}/name", reference.pointer), wanted);
        if let Some(place) = other.node.get_ref().location_at("/metadata/name") {
            finding.related(other.id.to_string(), place);
        }
    }
}

/// What was found by that name, and what to name instead.
fn help(view: &ClusterView<'_>, other: &Effective, id: &ObjectId) -> String {
    let found = format!("{} of that name exists in this namespace", with_article(&other.id.kind));
    let elsewhere = view
        .of_kind(id.group(), &id.kind)
        .map(|(_, object)| &object.id)
        .filter(|same| same.name == other.id.name && same.namespace.is_some())
        .min();
    if let Some(ObjectId { kind, name, namespace: Some(namespace), .. }) = elsewhere {
        return format!(
            "{found}; a {kind} `{name}` in `{namespace}`: if that is meant, add `namespace: {namespace}`"
        );
    }
    let applying = view
        .written()
        .find(|(_, object)| std::ptr::eq(*object, other))
        .and_then(|(member, _)| member.maker.kustomization())
        .map(|index| &view.cluster.applied[index as usize].id);
    match applying {
        Some(applying) if &*id.kind == "Kustomization" && applying != id => {
            format!("{found}; depend on {applying}, which applies it, and let that one wait for it")
        }
        _ => format!("{found}; name a {}", id.kind),
    }
}

/// The object of the other kind that a dependsOn entry names, when nothing of
/// the right kind has that name and all objects of the right kind are known.
pub(super) fn other_kind<'a>(
    view: &ClusterView<'a>,
    id: &ObjectId,
    reference: &Reference<'_>,
    name: &str,
) -> Option<&'a Effective> {
    if reference.role != Role::DependsOn {
        return None;
    }
    let namespace = reference.namespace.as_deref();
    let (group, kind) = (reference.group.as_str(), reference.kind.as_str());
    let local = ApplyTarget::Local;
    if view.cluster.find(&local, Name::new(group, kind, namespace, name)).is_some()
        || !view.cluster.is_complete(group, kind, namespace)
    {
        return None;
    }
    same_name(view, id, reference, name)
}

/// The object of the other kind that has the name of a dependsOn entry.
pub(super) fn same_name<'a>(
    view: &ClusterView<'a>,
    id: &ObjectId,
    reference: &Reference<'_>,
    name: &str,
) -> Option<&'a Effective> {
    let (group, kind) = match id.kind.as_ref() {
        _ if reference.role != Role::DependsOn => return None,
        "Kustomization" if id.group() == KUSTOMIZE => (HELM, "HelmRelease"),
        "HelmRelease" if id.group() == HELM => (KUSTOMIZE, "Kustomization"),
        _ => return None,
    };
    let namespace = reference.namespace.as_deref();
    view.cluster
        .find(&ApplyTarget::Local, Name::new(group, kind, namespace, name))
        .map(|member| view.object(member))
}
