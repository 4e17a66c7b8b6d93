//! `object-without-namespace`: a namespaced object that nothing gives a namespace.
//! Source: kustomize-controller applies what the build gives, without a default;
//! client-go refuses a name in a namespaced resource without a namespace.

use super::title;
use crate::lang::text::plural;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::world::Applied;
use crate::world::namespaces::lacks_namespace;
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
        let Some(by) = member.maker.kustomization().filter(|by| placed.contains(by)) else { continue };
        let by = &cluster.applied[by as usize];
        if !lacks_namespace(cluster, object, by, &member.target) {
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

fn help(by: &Applied) -> String {
    format!(
        "set metadata.namespace, `namespace:` in the kustomization, or spec.targetNamespace of {}",
        by.id.name
    )
}
