//! `denied-image-repository`: an ImagePolicy of one namespace and an
//! ImageRepository of another that does not let it in.
//! Source: fluxcd/pkg `runtime/acl`, `HasAccessToRef`, which
//! image-reflector-controller alone calls.

use super::{known_name, local_references, target_name};
use crate::lang::yaml::NodeRef;
use crate::lint::metadata::has_hole;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::references::Role;
use crate::world::ApplyTarget;

pub(crate) static RULE: Rule = Rule {
    id: "denied-image-repository",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an ImagePolicy that its ImageRepository does not let in",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/denied-image-repository.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for (object, reference) in local_references(view) {
        let is_image = reference.role == Role::Image && reference.kind == "ImageRepository";
        let Some(name) = known_name(reference).filter(|_| is_image && reference.crosses) else { continue };
        let namespace = reference.namespace.as_deref();
        let local = ApplyTarget::Local;
        let found = view.cluster.find(&local, Name::new(&reference.group, &reference.kind, namespace, name));
        let Some(member) = found else { continue };
        let repository = view.object(member);
        let root = repository.node.get_ref();
        let labels = view
            .cluster
            .find(
                &local,
                Name::new("", "Namespace", None, object.id.namespace.as_deref().unwrap_or_default()),
            )
            .map(|member| view.object(member).node.get_ref());
        let Some(why) = denial(root, labels, object.id.namespace.as_deref().unwrap_or_default()) else {
            continue;
        };
        let pointer = format!("{}/namespace", reference.pointer);
        let Some(location) = object.node.get_ref().location_at(&pointer) else { continue };
        let finding = report.report(location, format!("{}: its ImageRepository denies access", object.id));
        finding
            .why(format!(
                "{why}: image-reflector-controller denies the policy access to it, and selects no image"
            ))
            .help(format!(
                "add accessFrom.namespaceSelectors to {}, or move the policy next to it",
                repository.id
            ))
            .object(&object.id)
            .field(pointer, target_name(reference, name));
        let place = root.location_at("/spec/accessFrom").or_else(|| root.location_at("/metadata/name"));
        if let Some(place) = place {
            finding.related(repository.id.to_string(), place);
        }
    }
}

/// Why objects of a namespace are denied; `None` where they are not, or where that
/// is not known. `object` is the Namespace, if it is known.
fn denial(repository: NodeRef<'_>, object: Option<NodeRef<'_>>, namespace: &str) -> Option<String> {
    let Some(access) = repository.at("/spec/accessFrom").filter(|access| !access.is_null()) else {
        return Some("it has no accessFrom".to_owned());
    };
    if access.is_unknown() {
        return None;
    }
    let Some(selectors) = access.get("namespaceSelectors").filter(|list| !list.is_null()) else {
        return Some("its accessFrom selects no namespace".to_owned());
    };
    if selectors.is_unknown() {
        return None;
    }
    let mut may_match = false;
    for selector in selectors.items() {
        let wanted: Vec<_> = selector.entries_at("/matchLabels").collect();
        let is_known = |entry: &crate::lang::yaml::EntryRef<'_>| {
            entry.value.text().is_some_and(|text| !has_hole(&text)) && !has_hole(&entry.key)
        };
        if wanted.is_empty() {
            return None;
        }
        may_match |= selector.is_unknown() || !wanted.iter().all(is_known);
        let has = |key: &str, value: &str| match key {
            // The API server sets it.
            "kubernetes.io/metadata.name" => Some(value == namespace),
            _ => object.map(|object| {
                let label = object.at("/metadata/labels").and_then(|labels| labels.get(key));
                label.is_some_and(|label| label.text().is_none_or(|text| text == value || has_hole(&text)))
            }),
        };
        let answers: Vec<Option<bool>> =
            wanted.iter().map(|entry| has(&entry.key, &entry.value.text().unwrap_or_default())).collect();
        // Labels of a Namespace can be set elsewhere too.
        may_match |= !answers.contains(&Some(false));
    }
    (!may_match).then(|| format!("no selector of its accessFrom matches Namespace {namespace}"))
}
