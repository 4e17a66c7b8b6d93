//! `missing-reference-grant`: a route or Gateway refers to another namespace, which doesn't
//! allow it.
//! Source: Gateway API `apis/v1beta1/referencegrant_types.go`, GEP-709.

use super::{dotted, judged, target};
use crate::lang::yaml::NodeRef;
use crate::lint::usual::is_slip;
use crate::lint::workloads::TargetState;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::workloads::WorkloadReference;
use crate::world::Effective;
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) static RULE: Rule = Rule {
    id: "missing-reference-grant",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a route refers to another namespace that does not grant it",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/missing-reference-grant.md"),
    check: Check::Cluster(check),
};

const GROUP: &str = "gateway.networking.k8s.io";

/// So many grants of a namespace are held against a reference to find the one that was meant.
const NEAR: usize = 64;

/// What one pair of `from` and `to` of a ReferenceGrant allows.
struct Grant<'a> {
    of: &'a Effective,
    kind: NodeRef<'a>,
    namespace: NodeRef<'a>,
    to: NodeRef<'a>,
}

/// Kind and namespace of who refers; group, kind and name of what is referred to, none where
/// the grant is for all of the kind.
type AllowedReference = (String, String, String, String, Option<String>);

#[derive(Default)]
struct Grants<'a> {
    /// Of each namespace.
    allowed: FxHashMap<&'a str, FxHashSet<AllowedReference>>,
    all: FxHashMap<&'a str, Vec<Grant<'a>>>,
    /// Kind and namespace of the objects that refer from another namespace.
    referring: FxHashSet<(&'a str, &'a str)>,
}

fn said(node: NodeRef<'_>, pointer: &str) -> String {
    node.str_at(pointer).unwrap_or_default().into_owned()
}

impl<'a> Grants<'a> {
    fn of(view: &ClusterView<'a>) -> Grants<'a> {
        let mut grants = Grants::default();
        for (_, object) in view.of_kind(GROUP, "ReferenceGrant") {
            let (node, own) = (object.node.get_ref(), object.id.namespace.as_deref().unwrap_or_default());
            let froms = node.items_at("/spec/from").filter(|from| said(*from, "/group") == GROUP);
            for from in froms.take(NEAR) {
                for to in node.items_at("/spec/to").take(NEAR) {
                    grants.allowed.entry(own).or_default().insert((
                        said(from, "/kind"),
                        said(from, "/namespace"),
                        said(to, "/group"),
                        said(to, "/kind"),
                        to.str_at("/name").map(|name| name.into_owned()),
                    ));
                    if let (Some(kind), Some(namespace)) = (from.at("/kind"), from.at("/namespace")) {
                        grants.all.entry(own).or_default().push(Grant { of: object, kind, namespace, to });
                    }
                }
            }
        }
        grants
    }

    /// Whether a grant of the target's namespace lets an object refer to it.
    fn allow(
        &self,
        object: &Effective,
        reference: &WorkloadReference<'_>,
        namespace: &str,
        name: &str,
    ) -> bool {
        self.allowed.get(namespace).is_some_and(|allowed| {
            [None, Some(name.to_owned())].into_iter().any(|only| {
                allowed.contains(&(
                    object.id.kind.to_string(),
                    object.id.namespace.as_deref().unwrap_or_default().to_owned(),
                    reference.group.to_string(),
                    reference.kind.to_string(),
                    only,
                ))
            })
        })
    }

    /// The grant that would do but for a letter in a name, or for a kind that nothing of the
    /// namespace has: the field that is wrong, and what it should say.
    fn nearly(
        &self,
        object: &'a Effective,
        reference: &WorkloadReference<'_>,
        namespace: &str,
        name: &str,
    ) -> Option<(&Grant<'a>, NodeRef<'a>, &'static str, String)> {
        let own = object.id.namespace.as_deref().unwrap_or_default();
        for grant in self.all.get(namespace)?.iter().take(NEAR) {
            let only = grant.to.at("/name");
            let is_kind = said(grant.kind, "") == *object.id.kind;
            let (from, to) = (said(grant.namespace, ""), only.map(|only| said(only, "")));
            if said(grant.to, "/group") != *reference.group || said(grant.to, "/kind") != *reference.kind {
                continue;
            }
            let is_named = to.as_deref().is_none_or(|to| to == name);
            if is_kind && is_named && is_slip(&from, own) {
                return Some((grant, grant.namespace, "/spec/from/namespace", own.to_owned()));
            }
            if let (Some(only), Some(to)) = (only, &to)
                && is_kind
                && from == own
                && is_slip(to, name)
            {
                return Some((grant, only, "/spec/to/name", name.to_owned()));
            }
            let kind = said(grant.kind, "");
            if from == own && is_named && to.is_some() && !self.referring.contains(&(&*kind, own)) {
                return Some((grant, grant.kind, "/spec/from/kind", object.id.kind.to_string()));
            }
        }
        None
    }
}

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    let is_guarded = |object: &Effective, reference: &WorkloadReference<'_>| {
        object.id.group() == GROUP && matches!(&*reference.kind, "Service" | "Secret") && reference.crosses
    };
    let mut grants = Grants::of(view);
    for (object, reference, _) in
        judged(workloads).filter(|(object, reference, _)| is_guarded(object, reference))
    {
        let own = object.id.namespace.as_deref().unwrap_or_default();
        if reference.namespace.is_some() {
            grants.referring.insert((&*object.id.kind, own));
        }
    }
    for (object, reference, name) in judged(workloads) {
        let Some(namespace) = reference.namespace.as_deref().filter(|_| is_guarded(object, reference)) else {
            continue;
        };
        let found = workloads.target(Name::new(&reference.group, &reference.kind, Some(namespace), name));
        if matches!(found, TargetState::Absent(_)) || grants.allow(object, reference, namespace, name) {
            continue;
        }
        let is_complete = workloads.is_complete(GROUP, "ReferenceGrant", Some(namespace));
        let near = grants.nearly(object, reference, namespace, name);
        if !is_complete && near.is_none() {
            let what = format!("{}: ReferenceGrant in {namespace}", object.id);
            let place = reference.name_node.location();
            report.not_checked(crate::model::Unchecked::ReferenceIntoChart, place, what);
            continue;
        }
        let Some(location) = reference.name_node.location() else { continue };
        let wanted = target(reference, name);
        let title =
            format!("{}: no ReferenceGrant lets `{}` use {wanted}", object.id, dotted(&reference.pointer));
        if let Some((grant, wrong, field, meant)) = near
            && let Some(place) = wrong.location()
        {
            let finding = report.report(place, title);
            if !is_complete {
                finding.level(Level::Warning);
            }
            finding.why(reference.consequence).object(&grant.of.id).object(&object.id);
            finding.field(field, said(wrong, "")).help(format!("did you mean `{meant}`?"));
            finding.related("what refers to it", location);
            continue;
        }
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
