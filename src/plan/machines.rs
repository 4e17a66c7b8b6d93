//! Machines and lifecycle hooks: Cluster API's effects in the plan's words.

use super::{Effect, Pair, Severity, Side};
use crate::capi::changes::effects as changes;
use crate::capi::rollout::EffectKind;

pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let found = changes(pair.base_world, pair.base, pair.head_world, pair.head);
    found
        .into_iter()
        .map(|change| {
            let (name, severity) = word(change.effect.effect);
            let severity = if change.effect.category == "hook" { Severity::Notable } else { severity };
            // What is lost until an upgrade is over is a disruption.
            let lost = change.effect.details.get("capacityLost").and_then(serde_json::Value::as_bool);
            let severity = if lost == Some(true) { Severity::Disruptive } else { severity };
            let mut effect = Effect::new(pair, change.effect.category, name, severity, &change.object);
            effect.field = change.effect.field;
            effect.before = change.effect.before;
            effect.after = change.effect.after;
            effect.reason = change.effect.reason;
            effect.consequences = change.effect.consequences;
            effect.details = change.effect.details;
            match change.head {
                Some(location) => effect.at(Side::Head, Some(location)),
                None => effect.at(Side::Base, change.base),
            }
        })
        .collect()
}

fn word(kind: EffectKind) -> (&'static str, Severity) {
    match kind {
        EffectKind::Rollout => ("rollout", Severity::Disruptive),
        EffectKind::Rejected => ("rejected", Severity::Disruptive),
        EffectKind::Scale => ("scale", Severity::Notable),
        EffectKind::Delayed => ("delayed", Severity::Notable),
        EffectKind::UpdatedInPlace => ("updated-in-place", Severity::Notable),
        EffectKind::ProviderDefined => ("provider-defined", Severity::Notable),
        EffectKind::Unknown => ("unknown", Severity::Notable),
        EffectKind::HooksCalled => ("hooks-called", Severity::Notable),
        EffectKind::PropagatedInPlace => ("propagated-in-place", Severity::Routine),
        EffectKind::ObjectOnly => ("object-only", Severity::Routine),
        EffectKind::NewMachinesOnly => ("new-machines-only", Severity::Routine),
    }
}
