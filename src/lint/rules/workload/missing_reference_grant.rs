//! `missing-reference-grant`: a route or Gateway refers to another namespace, which doesn't
//! allow it.
//! Source: Gateway API `apis/v1beta1/referencegrant_types.go`, GEP-709.

use super::{dotted, judged, target};
use crate::lint::workloads::Target;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::workloads::Reference;
use crate::world::Effective;

pub(crate) static RULE: Rule = Rule {
    id: "missing-reference-grant",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.3.0",
    summary: "a route refers to another namespace that does not grant it",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/missing-reference-grant.md"),
    check: Check::Cluster(check),
};

const GROUP: &str = "gateway.networking.k8s.io";

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    let grants: Vec<&Effective> = view.of_kind(GROUP, "ReferenceGrant").map(|(_, object)| object).collect();
    for (object, reference, name) in judged(workloads) {
        let is_guarded = object.id.group() == GROUP && matches!(&*reference.kind, "Service" | "Secret");
        let Some(namespace) = reference.namespace.as_deref().filter(|_| is_guarded && reference.crosses)
        else {
            continue;
        };
        let found = workloads.target(Name::new(&reference.group, &reference.kind, Some(namespace), name));
        if matches!(found, Target::Absent(_)) {
            continue;
        }
        let is_granted = |grant: &&Effective| {
            grant.id.namespace.as_deref() == Some(namespace) && grants_it(grant, object, reference, name)
        };
        if grants.iter().any(is_granted) {
            continue;
        }
        if !workloads.is_complete(GROUP, "ReferenceGrant", Some(namespace)) {
            let what = format!("{}: ReferenceGrant in {namespace}", object.id);
            let place = reference.name_node.location();
            report.not_checked(crate::model::Unchecked::ReferenceIntoChart, place, what);
            continue;
        }
        let Some(location) = reference.name_node.location() else { continue };
        let wanted = target(reference, name);
        let title =
            format!("{}: no ReferenceGrant lets `{}` use {wanted}", object.id, dotted(&reference.pointer));
        let finding = report.report(location, title);
        finding.claims_absence().why(reference.consequence).object(&object.id).label("of another namespace");
        finding.field(reference.pointer.clone(), name);
        finding.help(format!(
            "create a ReferenceGrant in namespace {namespace}, from {} of {} to {}",
            object.id.kind,
            object.id.namespace.as_deref().unwrap_or_default(),
            reference.kind
        ));
    }
}

/// Whether a grant of the target's namespace lets an object refer to it.
fn grants_it(grant: &Effective, object: &Effective, reference: &Reference<'_>, name: &str) -> bool {
    let node = grant.node.get_ref();
    let is =
        |at: Option<std::borrow::Cow<'_, str>>, wanted: &str| at.as_deref().unwrap_or_default() == wanted;
    let from = node.items_at("/spec/from").any(|from| {
        is(from.str_at("/group"), object.id.group())
            && is(from.str_at("/kind"), &object.id.kind)
            && is(from.str_at("/namespace"), object.id.namespace.as_deref().unwrap_or_default())
    });
    let to = node.items_at("/spec/to").any(|to| {
        is(to.str_at("/group"), &reference.group)
            && is(to.str_at("/kind"), &reference.kind)
            && to.str_at("/name").is_none_or(|only| only == name)
    });
    from && to
}
