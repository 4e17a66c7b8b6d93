//! `missing-template`: a ClusterClass references a template that is not in its
//! namespace.
//! Source: cluster-api `core/reconcilers/clusterclass` (`reconcileExternalReferences`).

use super::{absence, help, known, place, scopes, title};
use crate::lang::text::Words;
use crate::lang::yaml::Location;
use crate::lint::{Check, ClusterView, Finding, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::{ObjectId, Unchecked};
use crate::simulate::cluster_api::topology::Class;
use crate::world::UnseenMakerKind;
use rustc_hash::FxHashMap;

pub(crate) static RULE: Rule = Rule {
    id: "missing-template",
    group: Group::ClusterApi,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a ClusterClass references a template that is not there",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/cluster-api/missing-template.md"),
    check: Check::Cluster(check),
};

/// A template that a class names and nothing makes.
fn absent<'r>(
    report: &'r mut Reporter<'_>,
    location: Location,
    class: &ObjectId,
    level: Level,
    wanted: &str,
) -> &'r mut Finding {
    let finding = report.report(location, title(class, "a template is not there"));
    finding
        .claims_absence()
        .level(level)
        .why(
            "one missing template, used or not, keeps the class unreconciled: new Clusters of it are not \
             created, existing ones no longer change",
        )
        .label(format!("no {wanted}"))
        .object(class)
}

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    for scope in scopes(view) {
        let mut named: FxHashMap<(String, String, &str), Words<&str>> = FxHashMap::default();
        for class in Class::all(&scope.objects) {
            let references = class.templates();
            let has_others = references.iter().any(|r| class.template(&scope.objects, r).is_some());
            let mut reported: Vec<(String, String)> = Vec::new();
            for reference in &references {
                let (Some(kind), Some(name), Some(group)) =
                    (known(reference.kind.clone()), known(reference.name.clone()), reference.group())
                else {
                    continue;
                };
                let namespace = class.object.namespace();
                let target = (kind.clone(), name.clone());
                if scope.objects.has(group, &kind, namespace, &name) || reported.contains(&target) {
                    continue;
                }
                let others = scope.objects.of_kind(group, &kind).filter(|o| o.namespace() == namespace);
                let elsewhere = scope.objects.of_name(group, &kind, &name);
                let beside = named.entry((group.to_owned(), kind.clone(), namespace));
                let near = beside.or_insert_with(|| others.map(|o| o.name()).collect()).nearest(&name);
                let found = absence(view, &scope.target, (group, &kind), Some(namespace), &name, near);
                let id = class.object.id;
                // Without an entry point anything may come from elsewhere, but a
                // class whose other templates are here is written in one place.
                let only_no_entry =
                    view.cluster.openers.iter().all(|opener| opener.cause == UnseenMakerKind::NoEntry);
                let (level, near) = match found {
                    Some(absence) => (absence.level, absence.near),
                    None if elsewhere.is_some() || (has_others && only_no_entry) => (Level::Warning, None),
                    None => {
                        let what = format!("{id}: {kind} {namespace}/{name}");
                        let place = place(class.object, &reference.pointer);
                        report.not_checked(Unchecked::ClusterApiReference, place, what);
                        continue;
                    }
                };
                let pointer = format!("{}/name", reference.pointer);
                let Some(location) = place(class.object, &pointer) else { continue };
                reported.push(target);
                let wanted = format!("{kind} {namespace}/{name}");
                let finding = absent(report, location, id, level, &wanted);
                finding.field(pointer, format!("{kind} {name}"));
                match elsewhere {
                    Some(other) => {
                        finding.help(format!("move {} to namespace {namespace}", other.id));
                        if let Some(at) = place(other, "/metadata/name") {
                            finding.related(other.id.to_string(), at);
                        }
                    }
                    None => {
                        finding.help(help(near, format!("create {wanted}")));
                    }
                }
            }
        }
    }
}
