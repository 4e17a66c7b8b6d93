//! The lifecycle hooks that an event of a Cluster calls.

use super::VERSION;
use crate::model::EffectKind;
use crate::simulate::cluster_api::hooks::selection::called;
use crate::simulate::cluster_api::hooks::simulate::{
    Event, RuntimeSdk, Simulation, SimulationRequest, StepKind, StepState, simulate,
};
use crate::simulate::cluster_api::machines::{Comparison, MachineChange};
use crate::simulate::cluster_api::rollout::RolloutEffect;
use crate::simulate::cluster_api::topology::Cluster;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The hooks that an event of a Cluster calls. `before` is absent for a new
/// Cluster; for a deleted one both are what it was.
pub(in crate::simulate::cluster_api::machines) fn hooks(
    comparison: &Comparison<'_, '_>,
    event: Event,
    before: Option<&Cluster<'_>>,
    after: &Cluster<'_>,
    changes: &mut Vec<MachineChange>,
) {
    if !comparison.conditions.runtime_sdk {
        return;
    }
    let upgrade = event == Event::Upgrade;
    let from = before.and_then(Cluster::version).filter(|_| upgrade);
    let to = after.version().filter(|_| upgrade);
    let objects = match event {
        Event::Delete => &comparison.before.objects,
        _ => &comparison.after.objects,
    };
    let called_for = called(&comparison.conditions.extensions, objects, after.object.namespace());
    // What makes it sure that hooks are called at all is an extension that is.
    if called_for.none_selects && !comparison.conditions.runtime_sdk_stated {
        return;
    }
    let request = SimulationRequest {
        event,
        from: from.clone(),
        to: to.clone(),
        respond: Default::default(),
        handlers: called_for.handlers,
        minor: comparison.conditions.minor,
        unreachable: Default::default(),
        ignoring: called_for.ignoring,
        runtime_sdk: RuntimeSdk::On,
    };
    let Ok(simulation) = simulate(after, objects, &request) else { return };
    let Some(Called { hooks, consequences }) = called_hooks(&simulation, called_for.notes) else { return };
    let (field, reason) = match event {
        Event::Create => ("/spec/topology", "lifecycle hooks of its creation are called in order"),
        Event::Upgrade => (VERSION, "lifecycle hooks of the upgrade are called in order"),
        Event::Delete => ("/spec/topology", "a lifecycle hook is called before it is deleted"),
    };
    let place = |cluster: &Cluster<'_>| cluster.object.node.location_at(field);
    changes.push(MachineChange {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: RolloutEffect {
            effect: EffectKind::HooksCalled,
            field: field.to_owned(),
            before: json!(from),
            after: json!(to),
            reason: reason.to_owned(),
            consequences,
            details: Map::from_iter([("hooks".to_owned(), json!(hooks))]),
        },
        base: before.and_then(place),
        head: place(after).filter(|_| event != Event::Delete),
        via: None,
    });
}

/// The hooks that are called, and what follows.
struct Called {
    hooks: Vec<Value>,
    consequences: Vec<String>,
}

/// What the hooks of a simulation come to; `None` where nothing answers any. `notes` end it.
fn called_hooks(simulation: &Simulation, notes: Vec<String>) -> Option<Called> {
    let mut hooks = Vec::new();
    let mut answering = BTreeSet::new();
    let mut blocking: Vec<&str> = Vec::new();
    let mut blocked = None;
    for step in &simulation.steps {
        let StepKind::Hook(hook) = step.kind else { continue };
        // Nothing answers it.
        if step.handlers.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        answering.extend(step.handlers.clone().unwrap_or_default());
        hooks.push(json!({
            "hook": hook.name(), "fromVersion": step.from, "toVersion": step.to, "mayBlock": step.blocking,
        }));
        if step.blocking && !blocking.contains(&hook.name()) {
            blocking.push(hook.name());
        }
        if step.state == StepState::Blocked {
            blocked = Some(&step.reason);
        }
    }
    if hooks.is_empty() {
        return None;
    }
    let mut consequences = Vec::new();
    if !blocking.is_empty() {
        consequences.push(format!("may block: {}", blocking.join(", ")));
    }
    if let Some(reason) = blocked {
        consequences.insert(0, format!("it is blocked from the start: {reason}"));
        consequences.extend(simulation.withheld.iter().cloned());
    }
    consequences.push(match answering.is_empty() {
        true => "extensions are unknown offline".to_owned(),
        false => format!("answered by {}", Vec::from_iter(answering).join(", ")),
    });
    consequences.extend(notes);
    Some(Called { hooks, consequences })
}
