//! Who waits while changed Kustomizations roll out.
//! Source: kustomize-controller `checkDependencies` (the revision rule).

use super::{Effect, Pair, Side};
use crate::lang::yaml::Known;
use crate::model::{EffectKind, ObjectId, kinds};
use serde_json::json;
use std::collections::BTreeSet;

/// What waits for a Kustomization.
pub(super) struct Reach {
    /// All that wait for it, directly or through others.
    pub reached: BTreeSet<ObjectId>,
    /// Pairs of names: the second waits for the first.
    edges: BTreeSet<(String, String)>,
    /// Whether it waits for one of them itself.
    pub is_cycle: bool,
    /// Whether one of them has its source.
    same_source: bool,
}

/// What waits for a Kustomization of the head.
pub(super) fn reach(pair: &Pair<'_>, id: &ObjectId) -> Reach {
    let mut reach =
        Reach { reached: BTreeSet::new(), edges: BTreeSet::new(), is_cycle: false, same_source: false };
    let Some(relations) = &pair.relations else { return reach };
    let mut next = vec![id.clone()];
    while let Some(current) = next.pop() {
        for dependant in relations.dependants(&current) {
            reach.is_cycle |= dependant.object.id == *id;
            reach.same_source |= dependant.same_source;
            reach.edges.insert((current.name.to_string(), dependant.object.id.name.to_string()));
            if dependant.object.id != *id && reach.reached.insert(dependant.object.id.clone()) {
                next.push(dependant.object.id.clone());
            }
        }
    }
    reach
}

/// `a waits`, `a, b wait`, `7 Kustomizations wait`; nothing where nobody does.
pub(super) fn named(reached: &BTreeSet<ObjectId>) -> Option<String> {
    let names: Vec<&str> = reached.iter().map(|id| &*id.name).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("{} waits", names[0])),
        count if count <= 4 => Some(format!("{} wait", names.join(", "))),
        count => Some(format!("{count} Kustomizations wait")),
    }
}

/// What becomes of those that wait at the same revision.
fn not_updated(reached: &BTreeSet<ObjectId>) -> String {
    let names: Vec<&str> = reached.iter().map(|id| &*id.name).collect();
    match names.len() {
        1 => format!("{} is not updated", names[0]),
        count if count <= 4 => format!("{} are not updated", names.join(", ")),
        count => format!("{count} dependants are not updated"),
    }
}

pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let Some(cluster) = pair.head.filter(|_| pair.base.is_some()) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for id in changed(pair) {
        let reach = reach(pair, &id);
        let Some(waiting) = named(&reach.reached) else { continue };
        let place = cluster
            .applied(id.namespace.as_deref(), &id.name)
            .and_then(|applied| applied.node.get_ref().location_at("/metadata/name"));
        let mut effect = Effect::new(pair, EffectKind::Waits, &id);
        effect.reason = format!("{waiting} while it rolls out");
        if reach.same_source {
            effect.consequences.push(format!("if it does not become ready, {}", not_updated(&reach.reached)));
        }
        let names: Vec<&str> = reach.reached.iter().map(|id| &*id.name).collect();
        effect.details.insert("dependants".to_owned(), json!(names));
        effect.details.insert("count".to_owned(), json!(names.len()));
        effect.details.insert("edges".to_owned(), json!(reach.edges));
        out.push(effect.at(Side::Head, place));
    }
    out
}

/// Kustomizations whose output, or own definition, differs.
fn changed(pair: &Pair<'_>) -> BTreeSet<ObjectId> {
    let mut set = BTreeSet::new();
    let mut add = |by: Option<&crate::world::Applied>| {
        let Some(by) = by.filter(|by| kinds::is_kustomization(&by.id)) else { return };
        let here = pair.head.and_then(|cluster| cluster.applied(by.id.namespace.as_deref(), &by.id.name));
        if let Some(here) = here {
            set.insert(here.id.clone());
        }
    };
    for (_, before, after) in pair.sides() {
        match (before, after) {
            (Some(before), Some(after)) => {
                let same = std::ptr::eq(before.object, after.object)
                    || before.object.node.get_ref().same_value(after.object.node.get_ref())
                        != Known::Value(false);
                if !same {
                    add(after.kustomization);
                }
            }
            (one, other) => add(other.or(one).and_then(|placed| placed.kustomization)),
        }
    }
    set
}
