//! What the proposals would change: Gates that objects wait for, annotations that suspend.

use super::{ClusterChange, Note};
use crate::config::Feature;
use crate::model::{Name, Severity};
use crate::plan::Pair;
use crate::simulate::gating::objects::GATE_GROUP;
use crate::simulate::suspend::suspension;
use crate::world::{ApplyTarget, Cluster};
use serde_json::json;
use std::collections::BTreeSet;

/// A change for each proposal that is turned on or off.
pub(super) fn changes(pair: &Pair<'_>, (base, head): (&Cluster, &Cluster)) -> Vec<ClusterChange> {
    let mut out = Vec::new();
    for feature in [Feature::Gates, Feature::SuspendAnnotation] {
        let (was, is) = (base.settings.feature(feature), head.settings.feature(feature));
        let (Some(on), false) = (is.value, was.value == is.value) else { continue };
        // Nothing implements a proposal unless something says so.
        if !on && was.value.is_none() {
            continue;
        }
        let note = match feature {
            Feature::Gates => gated(pair, head, on),
            _ => suspended(pair, (base, head), on),
        };
        out.push(ClusterChange {
            cluster: pair.name.clone(),
            what: feature.name(),
            before: json!(was.value),
            after: json!(on),
            notes: note.into_iter().collect(),
            from: is.from.clone(),
        });
    }
    out
}

/// Who waits for which Gate.
fn gated(pair: &Pair<'_>, head: &Cluster, on: bool) -> Option<Note> {
    let mut found = BTreeSet::new();
    for (_, placed) in pair.after.iter().filter(|(key, _)| *key.0 == ApplyTarget::Local) {
        let id = &placed.object.id;
        for gate in placed.object.node.get_ref().items_at("/spec/gates") {
            let Some(name) = gate.str_at("/name") else { continue };
            let there =
                head.find(&ApplyTarget::Local, Name::new(GATE_GROUP, "Gate", id.namespace.as_deref(), &name));
            let state = match there {
                None => "is not here, so it blocks".to_owned(),
                Some(member) => {
                    let node = pair.head_world.object(member.object).node.get_ref();
                    let default = node.str_at("/spec/default");
                    format!("is {} by default", default.as_deref().unwrap_or("closed"))
                }
            };
            found.insert(format!("{id} (Gate {name} {state})"));
        }
    }
    if found.is_empty() {
        return None;
    }
    Some(Note {
        id: "gated",
        severity: Severity::Notable,
        what: match on {
            true => "an object proceeds only while all of its Gates are open".to_owned(),
            false => "no Gate holds anything".to_owned(),
        },
        concerns: found.into_iter().collect(),
        before: if on { "`forebay simulate gates` says when each is open".to_owned() } else { String::new() },
        after: String::new(),
        source: "https://github.com/fluxcd/flux2/pull/3158",
    })
}

/// Who is suspended, or is no more.
fn suspended(pair: &Pair<'_>, (base, head): (&Cluster, &Cluster), on: bool) -> Option<Note> {
    let mut found = BTreeSet::new();
    for (_, _, placed) in pair.kept().filter(|(key, ..)| *key.0 == ApplyTarget::Local) {
        let (id, node) = (&placed.object.id, placed.object.node.get_ref());
        let state = |cluster: &Cluster| suspension(id, node, &cluster.settings)?.suspended;
        if state(base) != state(head) {
            found.insert(id.to_string());
        }
    }
    if found.is_empty() {
        return None;
    }
    Some(Note {
        id: "suspended-by-annotation",
        severity: Severity::Notable,
        what: match on {
            true => "reconcile.fluxcd.io/suspended suspends, whatever its value".to_owned(),
            false => "reconcile.fluxcd.io/suspended is not read".to_owned(),
        },
        concerns: found.into_iter().collect(),
        before: if on { "take the annotation off what is to go on".to_owned() } else { String::new() },
        after: String::new(),
        source: "https://github.com/fluxcd/flux2/pull/4271",
    })
}
