//! What the schema of its kind says of an object that changes or comes, and of one
//! that stays as it is under another version of its controllers.
//! Source: apiextensions-apiserver, the apply of kustomize-controller: see
//! [`crate::schema`].

use super::fate::{is_forced, prunes};
use super::removal::what_goes;
use super::{Effect, Pair, Placed, Side};
use crate::lang::yaml::{Known, Location, NodeRef};
use crate::lint::rules::schema::dotted;
use crate::lint::rules::schema::malformed_field_value::{is_filled, is_placeholder};
use crate::model::{EffectKind, ObjectId, kinds};
use crate::schema::{Fault, Malformed, Options, Product, Schema, TableKind, Violation};
use crate::simulate::gating::objects::{are_available, is_taken};
use crate::world::schemas::{Basis, Judge, KindSchema, is_stated, is_whole_build};
use crate::world::{Cluster, Outcome, World};
use serde_json::json;
use std::collections::BTreeSet;

/// What the API server refuses in an object.
struct RefusedObject {
    /// Why, in a phrase.
    reason: String,
    /// Who says so: `with Flux 2.7`; empty where the version does not matter.
    by: String,
    /// JSON Pointer of the value.
    pointer: String,
    /// Where that is written.
    place: Option<Location>,
    /// Whether the API server answers that the object is invalid, for which `force`
    /// deletes the live one.
    invalid: bool,
}

/// A side of the comparison.
type Look<'w> = (&'w World, &'w Cluster);

/// The effect on an object of the head that the API server refuses for its fields or
/// values, where it took what was before.
pub(super) fn refused(pair: &Pair<'_>, before: Option<&Placed<'_>>, after: &Placed<'_>) -> Option<Effect> {
    let (base, head) = ((pair.base_world, pair.base?), (pair.head_world, pair.head?));
    let by = after.kustomization.filter(|_| is_stated(head.1))?;
    if !matches!(by.outcome, Outcome::Built { .. }) {
        return None;
    }
    let id = &after.object.id;
    let node = after.object.node.get_ref();
    let refused = match found(head, after) {
        KindSchema::NotServed { kind, release } => {
            let served =
                before.is_none_or(|before| !matches!(found(base, before), KindSchema::NotServed { .. }));
            served.then(|| not_served(kind, release, node))?
        }
        // Of what is known at one release only, rules about changes are believed.
        KindSchema::Judge(judge) if judge.is_certain() || judge.basis == Basis::Any(Product::Neighbours) => {
            let mut old = None;
            if let Some(before) = before {
                let KindSchema::Judge(then) = found(base, before) else { return None };
                let whole = is_whole_build(base.1, before.kustomization);
                let options = Options { partial: !whole, operator: then.operator };
                // One that was refused all along, or that is misjudged here.
                let then = then.report(before.object.node.get_ref(), None, options).violations;
                if !then.iter().all(|violation| is_proposed(id, violation, base.1)) {
                    return None;
                }
                old = (before.object.id.api_version == id.api_version).then(|| before.object.node.get_ref());
            }
            let whole = is_whole_build(head.1, after.kustomization);
            let options = Options { partial: !whole, operator: judge.operator };
            let report = judge.report(node, old, options);
            let counts = |violation: &&Violation<'_, '_>| {
                let is_rule = matches!(violation.fault, Fault::Rejected { .. });
                (judge.is_certain() || is_rule) && !is_told_elsewhere(id, violation, head.1)
            };
            let violation = report.violations.iter().find(counts)?;
            by_schema(&judge, violation, node)
        }
        _ => return None,
    };
    Some(effect(pair, before, after, &refused))
}

/// Objects that stay as they are, and that another definition or version of their
/// kind refuses.
pub(super) fn by_version(pair: &Pair<'_>) -> Vec<Effect> {
    let (Some(base), Some(head)) = (pair.base, pair.head) else { return Vec::new() };
    let mut kinds = BTreeSet::new();
    let both = |key| pair.before.get(key).zip(pair.after.get(key));
    for key in pair.before.keys().chain(pair.after.keys()) {
        if (key.1.group, key.1.kind) != ("apiextensions.k8s.io", "CustomResourceDefinition") {
            continue;
        }
        let same = both(key).is_some_and(|(before, after)| is_same(before, after));
        for placed in [pair.before.get(key), pair.after.get(key)].into_iter().flatten().filter(|_| !same) {
            let node = placed.object.node.get_ref();
            let text = |pointer: &str| node.str_at(pointer).map(|text| text.into_owned());
            kinds.extend(text("/spec/group").zip(text("/spec/names/kind")));
        }
    }
    let versions = |cluster: &Cluster| (cluster.settings.flux.value, cluster.settings.cluster_api.value);
    if kinds.is_empty() && versions(base) == versions(head) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (key, after) in &pair.after {
        let Some(before) = pair.before.get(key).filter(|before| is_same(before, after)) else { continue };
        let defined = kinds.contains(&(key.1.group.to_owned(), key.1.kind.to_owned()));
        if defined || is_judged_otherwise((pair.base_world, base), before, (pair.head_world, head), after) {
            out.extend(refused(pair, Some(before), after));
        }
    }
    out
}

fn is_same(before: &Placed<'_>, after: &Placed<'_>) -> bool {
    std::ptr::eq(before.object, after.object)
        || before.object.node.get_ref().same_value(after.object.node.get_ref()) != Known::Value(false)
}

/// Whether another version of the table judges an object after the change.
fn is_judged_otherwise(base: Look<'_>, before: &Placed<'_>, head: Look<'_>, after: &Placed<'_>) -> bool {
    match (found(base, before), found(head, after)) {
        (KindSchema::Judge(then), KindSchema::Judge(now)) => {
            let roots = |judge: &Judge<'_>| -> Vec<*const Schema> {
                judge.schemas.iter().map(|schema| std::ptr::from_ref(*schema)).collect()
            };
            matches!(now.basis, Basis::Version { .. }) && roots(&then) != roots(&now)
        }
        (_, KindSchema::NotServed { .. }) => true,
        _ => false,
    }
}

fn found<'w>((world, cluster): Look<'w>, placed: &Placed<'_>) -> KindSchema<'w> {
    let index = world.clusters.iter().position(|other| std::ptr::eq(other, cluster));
    index.map_or(KindSchema::Unknown, |index| {
        world.schemas.of_member(world, index, placed.target, &placed.object.id)
    })
}

/// Whether a rule or a simulation of its own tells of a value, or it is no mistake.
fn is_told_elsewhere(id: &ObjectId, violation: &Violation<'_, '_>, cluster: &Cluster) -> bool {
    let pointer = &*violation.pointer;
    let provider = id.is(kinds::NOTIFICATION, "Provider") && pointer == "/spec/type";
    let metadata = pointer.contains("/labels/") || pointer.contains("/annotations/");
    let filled = match &violation.fault {
        Fault::Malformed { what, .. } => {
            let text = violation.node.text();
            is_filled(id, pointer, what, violation.node) || text.is_some_and(|text| is_placeholder(&text))
        }
        _ => false,
    };
    is_proposed(id, violation, cluster) || provider || metadata || filled
}

/// Whether it is a field of a proposal that the cluster's controllers have.
fn is_proposed(id: &ObjectId, violation: &Violation<'_, '_>, cluster: &Cluster) -> bool {
    let is_field = matches!(violation.fault, Fault::UnknownField { .. });
    is_field && is_taken(id, &violation.pointer, are_available(&cluster.settings))
}

fn not_served(kind: &TableKind, release: usize, node: NodeRef<'_>) -> RefusedObject {
    let product = kind.product;
    let group = if kind.group().is_empty() { String::new() } else { format!("{}/", kind.group()) };
    RefusedObject {
        reason: format!("{group}{} {} is not served", kind.version(), kind.kind()),
        by: format!("with {} {}", product.name(), product.releases()[release]),
        pointer: "/apiVersion".to_owned(),
        place: node.location_at("/apiVersion"),
        invalid: false,
    }
}

fn by_schema(judge: &Judge<'_>, violation: &Violation<'_, '_>, node: NodeRef<'_>) -> RefusedObject {
    let field = match dotted(&violation.pointer) {
        field if field.is_empty() => "the object".to_owned(),
        field => format!("`{field}`"),
    };
    let (reason, invalid) = match &violation.fault {
        Fault::UnknownField { .. } => (format!("{field} is no field of its kind"), false),
        Fault::MissingField { .. } => (format!("{field} is required"), true),
        Fault::Duplicate { key, .. } => (format!("{field} holds {key} twice"), false),
        Fault::Rejected { rule } => (format!("{field} breaks a rule of its kind: {rule}"), true),
        Fault::Malformed { what, .. } => match what {
            Malformed::Type(found) => (format!("{field} must not be {found}"), false),
            Malformed::Enum => (format!("{field} is none of the values that it may be"), true),
            Malformed::Pattern => (format!("{field} does not have the form that it must have"), true),
            Malformed::Format => (format!("{field} is not of its format"), true),
            Malformed::Quantity => (format!("{field} is no quantity"), true),
            Malformed::Range(limit) | Malformed::Size(limit) => (format!("{field} must be {limit}"), true),
            Malformed::Alternatives => (format!("{field} is none of its alternatives"), true),
        },
    };
    let by = match judge.basis {
        Basis::Version { product: product @ (Product::Flux | Product::ClusterApi), release } => {
            format!("with {} {}", product.name(), product.releases()[release])
        }
        Basis::Cluster => "by the definition that this cluster applies".to_owned(),
        _ => String::new(),
    };
    let place = violation.node.location().or_else(|| node.location_at(&violation.pointer));
    RefusedObject { reason, by, pointer: violation.pointer.clone(), place, invalid }
}

fn effect(
    pair: &Pair<'_>,
    before: Option<&Placed<'_>>,
    after: &Placed<'_>,
    refused: &RefusedObject,
) -> Effect {
    let id = &after.object.id;
    let mut effect = Effect::new(pair, EffectKind::Refused, id);
    effect.target = after.target.clone();
    effect.field.clone_from(&refused.pointer);
    effect.before =
        super::json_of(before.and_then(|before| before.object.node.get_ref().at(&refused.pointer)));
    effect.after = super::json_of(after.object.node.get_ref().at(&refused.pointer));
    effect.reason.clone_from(&refused.reason);
    let lead = if refused.by.is_empty() { String::new() } else { format!("{}, ", refused.by) };
    if effect.before != effect.after {
        effect.consequences.push(refused.reason.clone());
    }
    effect.consequences.push(format!("{lead}the API server refuses the object"));
    effect.details.insert(
        "refusal".to_owned(),
        json!({"reason": refused.reason, "immutable": false, "by": refused.by}),
    );
    // Source: fluxcd/pkg ssa `IsImmutableError`: any answer 422 will do.
    if let Some(before) = before.filter(|before| is_forced(before, after))
        && refused.invalid
    {
        let words = "force is set: the live object is deleted for it, and can't be created anew";
        effect.consequences.push(words.to_owned());
        effect.consequences.extend(what_goes(before));
        if kinds::is_kustomization(id) && prunes(before.object.node.get_ref()) {
            effect.consequences.push("everything that it applied is pruned with it".to_owned());
        }
        if kinds::is_helm_release(id) {
            effect.consequences.push("its release is uninstalled with it".to_owned());
        }
        effect.details.insert("deleted".to_owned(), json!({&*id.kind: 1}));
    }
    let own = || after.object.node.get_ref().location_at("/metadata/name");
    effect.at(Side::Head, refused.place.clone().or_else(own))
}
