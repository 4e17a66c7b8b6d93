//! `missing-cluster-class`: a topology names a ClusterClass that is not there.
//! Source: cluster-api `core/webhooks/admission/cluster.go` (a warning on
//! create, an error on update), topology controller `getBlueprint`.

use super::{absence, help, known, place, scopes, title};
use crate::lang::text::Words;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Unchecked;
use crate::model::cluster_api_kinds as kinds;
use crate::simulate::cluster_api::topology::{Class, Cluster};
use rustc_hash::FxHashMap;

pub(crate) static RULE: Rule = Rule {
    id: "missing-cluster-class",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a topology names a ClusterClass that is not there",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/missing-cluster-class.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        let mut classes: FxHashMap<&str, Vec<&str>> = FxHashMap::default();
        for class in Class::all(&scope.objects) {
            classes.entry(class.object.namespace()).or_default().push(class.object.name());
        }
        let named: FxHashMap<&str, Words<&str>> =
            classes.into_iter().map(|(namespace, names)| (namespace, names.into_iter().collect())).collect();
        for cluster in Cluster::all(&scope.objects) {
            let Some(class) = cluster.class_ref() else { continue };
            let (Some(name), Some(namespace)) =
                (known(Some(class.name.clone())), known(Some(class.namespace)))
            else {
                continue;
            };
            let kind = (kinds::CORE, "ClusterClass");
            if scope.objects.has(kind.0, kind.1, &namespace, &name) {
                continue;
            }
            let elsewhere = scope.objects.of_name(kind.0, kind.1, &name);
            let near = named.get(namespace.as_str()).and_then(|names| names.nearest(&name));
            let found = absence(view, &scope.target, kind, Some(&namespace), &name, near);
            let id = cluster.object.id;
            let (level, near) = match (found, elsewhere) {
                (Some(absence), _) => (absence.level, absence.near),
                (None, Some(_)) => (Level::Warning, None),
                (None, None) => {
                    let what = format!("{id}: ClusterClass {namespace}/{name}");
                    let place = place(cluster.object, class.pointer);
                    report.not_checked(Unchecked::ClusterApiReference, place, what);
                    continue;
                }
            };
            let Some(location) = place(cluster.object, class.pointer) else { continue };
            let finding = report.report(location, title(id, "its ClusterClass is not there"));
            finding
                .claims_absence()
                .level(level)
                .why("the topology is not reconciled until the class exists: no Machine is created")
                .label(format!("no ClusterClass {namespace}/{name} in {}", view.cluster.label()))
                .object(id)
                .field(class.pointer, format!("{namespace}/{name}"));
            match elsewhere {
                Some(other) => {
                    finding.help(format!(
                        "set `classRef.namespace: {}`, or move the class to namespace {namespace}",
                        other.namespace()
                    ));
                    if let Some(at) = place(other, "/metadata/name") {
                        finding.related(other.id.to_string(), at);
                    }
                }
                None => {
                    finding.help(help(near, format!("create ClusterClass {namespace}/{name}")));
                }
            }
        }
    }
}
