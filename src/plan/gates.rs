//! Gates opened, closed and changed; objects newly gated and released.

use super::{Effect, Pair, Side, json_of};
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::model::{EffectKind, ObjectId};
use crate::simulate::gating::objects::are_available;
use crate::simulate::gating::{Position, parse_request_time};
use serde_json::json;
use std::collections::BTreeSet;

/// API group of the proposal.
const GROUP: &str = "gating.toolkit.fluxcd.io";

pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let mut out = Vec::new();
    for (_, before, after) in pair.kept() {
        let (old, new) = (before.object.node.get_ref(), after.object.node.get_ref());
        let id = &after.object.id;
        if id.is(GROUP, "Gate") {
            requests(pair, (old, new), id, &mut out);
            defaults(pair, (old, new), id, &mut out);
            continue;
        }
        let names = |node: NodeRef<'_>| -> BTreeSet<String> {
            node.items_at("/spec/gates")
                .filter_map(|gate| gate.str_at("/name").map(|name| name.into_owned()))
                .collect()
        };
        let (was, is) = (names(old), names(new));
        // Elsewhere `spec.gates` is a field like any other: refused where it is not declared.
        if !pair.head.is_some_and(|head| are_available(&head.settings)) {
            continue;
        }
        for (list, other, name, words) in [
            (&is, &was, EffectKind::Gated, "it waits for"),
            (&was, &is, EffectKind::Released, "it no longer waits for"),
        ] {
            let changed: Vec<&String> = list.difference(other).collect();
            if changed.is_empty() {
                continue;
            }
            let mut effect = Effect::new(pair, name, id);
            effect.field = "/spec/gates".to_owned();
            effect.before = json!(was);
            effect.after = json!(is);
            let names = changed.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            effect.reason = format!("{words} {names}");
            effect.details.insert("gates".to_owned(), json!(changed));
            let place = new.location_at("/spec/gates");
            out.push(effect.at(Side::Head, place));
        }
    }
    out
}

/// Requests to open or to close a Gate.
fn requests(pair: &Pair<'_>, (old, new): (NodeRef<'_>, NodeRef<'_>), id: &ObjectId, out: &mut Vec<Effect>) {
    for position in [Position::Opened, Position::Closed] {
        let pointer = pointer_join("/metadata/annotations", position.annotation());
        let text = |node: NodeRef<'_>| node.str_at(&pointer).map(|text| text.into_owned());
        let (was, is) = (text(old), text(new));
        let Some(at) = is.as_deref().filter(|_| was != is).and_then(parse_request_time) else {
            continue;
        };
        let name = match position {
            Position::Opened => EffectKind::Opened,
            Position::Closed => EffectKind::Closed,
        };
        let mut effect = Effect::new(pair, name, id);
        effect.field.clone_from(&pointer);
        effect.before = json!(was);
        effect.after = json!(is);
        effect.reason = format!("requested at {at}");
        if let Some(window) = new.str_at("/spec/window") {
            effect.consequences.push(format!("a request away from the default holds for {window}"));
        }
        out.push(effect.at(Side::Head, new.at(&pointer).and_then(NodeRef::location)));
    }
}

/// What a Gate is without a request, and how long one holds.
fn defaults(pair: &Pair<'_>, (old, new): (NodeRef<'_>, NodeRef<'_>), id: &ObjectId, out: &mut Vec<Effect>) {
    for (pointer, name) in
        [("/spec/window", EffectKind::WindowChanged), ("/spec/default", EffectKind::DefaultChanged)]
    {
        if json_of(old.at(pointer)) == json_of(new.at(pointer)) {
            continue;
        }
        let mut effect = Effect::new(pair, name, id);
        effect.field = pointer.to_owned();
        effect.before = json_of(old.at(pointer));
        effect.after = json_of(new.at(pointer));
        effect.reason = "standing requests are judged anew".to_owned();
        out.push(effect.at(Side::Head, new.location_at(pointer)));
    }
}
