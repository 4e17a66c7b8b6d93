//! `object-without-namespace`: a namespaced object that nothing gives a namespace.
//! Source: kustomize-controller applies what the build gives, without a default;
//! client-go refuses a name in a namespaced resource without a namespace.

use super::title;
use crate::build::kustomize::is_namespaced;
use crate::lang::text::plural;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::{ObjectId, kinds};
use crate::schema::table;
use crate::world::schemas::is_whole;
use crate::world::{Applied, ApplyTarget};
use rustc_hash::FxHashSet;

pub(crate) static RULE: Rule = Rule {
    id: "object-without-namespace",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a namespaced object that nothing gives a namespace",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/object-without-namespace.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let cluster = view.cluster;
    // Where all of a build have none, whoever wrote it knows who sets it.
    let placed: FxHashSet<u32> = view
        .written()
        .filter(|(_, object)| object.id.namespace.is_some())
        .filter_map(|(member, _)| member.maker.kustomization())
        .collect();
    for (member, object) in view.written() {
        let Some(by) = member.maker.kustomization().map(|by| &cluster.applied[by as usize]) else { continue };
        // A parent that is not seen may patch a targetNamespace in.
        if object.id.namespace.is_some()
            || member.target != ApplyTarget::Local
            || !is_in_namespaces(&object.id)
            || !is_whole(cluster, member)
            || !member.maker.kustomization().is_some_and(|by| placed.contains(&by))
            || is_left_alone(object.node.get_ref())
        {
            continue;
        }
        let node = object.node.get_ref();
        let Some(place) = node.location_at("/metadata/name").or_else(|| node.location()) else { continue };
        report
            .report(place, title(&object.id, "it is in no namespace"))
            .why(format!(
                "{} lie in namespaces, and neither the object, nor its kustomization, nor {} names one: the \
                 apply of {} fails",
                plural(&object.id.kind),
                by.id,
                by.id.name
            ))
            .help(help(by))
            .object(&object.id)
            .field("/metadata/namespace", "");
    }
}

/// Whether objects of the kind lie in namespaces, as far as it is known.
fn is_in_namespaces(id: &ObjectId) -> bool {
    kinds::of(id).is_some()
        || is_namespaced(&id.api_version, &id.kind) == Some(true)
        || table::is_namespaced(id.group(), &id.kind) == Some(true)
}

/// Whether the controller is told not to apply it.
fn is_left_alone(node: crate::lang::yaml::NodeRef<'_>) -> bool {
    node.entries_at("/metadata/annotations").any(|entry| {
        let value = entry.value.as_str().unwrap_or_default();
        (entry.key == "kustomize.toolkit.fluxcd.io/reconcile" && value.eq_ignore_ascii_case("disabled"))
            || (entry.key == "kustomize.toolkit.fluxcd.io/ssa" && value.eq_ignore_ascii_case("ignore"))
    })
}

fn help(by: &Applied) -> String {
    format!(
        "set metadata.namespace, `namespace:` in the kustomization, or spec.targetNamespace of {}",
        by.id.name
    )
}
