//! Who waits while changed Kustomizations roll out.
//! Source: kustomize-controller `checkDependencies` (the revision rule).

use super::{Effect, Pair, Severity, Side};
use crate::flux::kinds;
use crate::flux::suspend::dependants;
use crate::repo::ObjectId;
use crate::yaml::Known;
use serde_json::json;
use std::collections::BTreeSet;

pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let Some(cluster) = pair.head.filter(|_| pair.base.is_some()) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for id in changed(pair) {
        // All that wait for it, directly or through others.
        let mut edges: Vec<(String, String)> = Vec::new();
        let mut reached: BTreeSet<ObjectId> = BTreeSet::new();
        let mut same_source = false;
        let mut next = vec![id.clone()];
        while let Some(current) = next.pop() {
            for dependant in dependants(pair.head_world, cluster, &current) {
                same_source |= dependant.same_source;
                edges.push((current.name.to_string(), dependant.object.id.name.to_string()));
                if dependant.object.id != id && reached.insert(dependant.object.id.clone()) {
                    next.push(dependant.object.id.clone());
                }
            }
        }
        if reached.is_empty() {
            continue;
        }
        let place = cluster
            .applied(id.namespace.as_deref(), &id.name)
            .and_then(|applied| applied.node.get_ref().location_at("/metadata/name"));
        let mut effect = Effect::new(pair, "wait", "waits", Severity::Routine, &id);
        let names: Vec<&str> = reached.iter().map(|id| &*id.name).collect();
        effect.reason = match names.len() {
            1 => format!("{} waits while it rolls out", names[0]),
            count if count <= 4 => format!("{} wait while it rolls out", names.join(", ")),
            count => format!("{count} Kustomizations wait while it rolls out"),
        };
        if same_source {
            effect
                .consequences
                .push("if it fails, they stay blocked at the new revision (same source)".to_owned());
        }
        edges.sort();
        edges.dedup();
        effect.details.insert("dependants".to_owned(), json!(names));
        effect.details.insert("count".to_owned(), json!(names.len()));
        effect.details.insert("edges".to_owned(), json!(edges));
        out.push(effect.at(Side::Head, place));
    }
    out
}

/// Kustomizations whose output, or own definition, differs.
fn changed(pair: &Pair<'_>) -> BTreeSet<ObjectId> {
    let base = &pair.before;
    let head = &pair.after;
    let mut set = BTreeSet::new();
    let mut add = |by: Option<&crate::flux::cluster::Applied>| {
        let Some(by) = by.filter(|by| kinds::is_kustomization(&by.id)) else { return };
        let here = pair.head.and_then(|cluster| cluster.applied(by.id.namespace.as_deref(), &by.id.name));
        if let Some(here) = here {
            set.insert(here.id.clone());
        }
    };
    for (key, after) in head {
        match base.get(key) {
            Some(before) => {
                let same = std::ptr::eq(before.object, after.object)
                    || before.object.node.get_ref().same_value(after.object.node.get_ref())
                        != Known::Value(false);
                if !same {
                    add(after.applied_by);
                }
            }
            None => add(after.applied_by),
        }
    }
    for (key, before) in base {
        if !head.contains_key(key) {
            add(before.applied_by);
        }
    }
    set
}
