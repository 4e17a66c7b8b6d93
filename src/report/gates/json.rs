//! The body of `forebay.simulate-gates/v1`.

use serde_json::{Value, json};

use super::{ClusterGates, View};
use crate::model::ObjectId;
use crate::model::value;
use crate::report::parts::{location, object};
use crate::simulate::gating::timeline::{PassState, changes};
use crate::simulate::gating::{GATE_REASON, format_time};

/// The arrays `gates`, `objects`, `frozen`, `subjects` and `transitions`.
pub fn body(view: &View<'_>) -> Value {
    let each = |list: fn(&View<'_>, &ClusterGates) -> Vec<Value>| -> Vec<Value> {
        view.clusters.iter().flat_map(|cluster| list(view, cluster)).collect()
    };
    json!({
        "gates": each(gates),
        "objects": each(objects),
        "frozen": each(frozen),
        "subjects": each(subjects),
        "transitions": each(transitions),
    })
}

fn unknown(why: Option<&String>) -> Value {
    value::unknown(why.map_or("it depends on the cluster", String::as_str))
}

fn gates(view: &View<'_>, cluster: &ClusterGates) -> Vec<Value> {
    let simulation = &cluster.simulation;
    simulation
        .gates
        .iter()
        .zip(&simulation.subjects)
        .map(|(at, subject)| {
            let gate = &at.gate;
            let time = |time: Option<jiff::Timestamp>| time.map(format_time);
            let state = at.state.as_ref();
            json!({
                "cluster": cluster.name,
                "namespace": gate.id.namespace.as_deref(),
                "name": &*gate.id.name,
                "default": gate.default.map(|default| default.name()),
                "window": gate.spec.window.map(|window| window.to_string()),
                "opened": match subject.timeline.first {
                    PassState::Opened => json!(true),
                    PassState::Closed => json!(false),
                    PassState::Unknown => unknown(subject.unknown.as_ref()),
                },
                "requestedAt": state.and_then(|state| time(state.requested_at)),
                "resetToDefaultAt": state.and_then(|state| time(state.reset_to_default_at)),
                "reason": state.map(|_| GATE_REASON),
                "message": state.map(|state| state.message.clone()),
                "location": location(view.snapshot, gate.location.as_ref()),
            })
        })
        .collect()
}

fn objects(_: &View<'_>, cluster: &ClusterGates) -> Vec<Value> {
    let simulation = &cluster.simulation;
    let known = |state: PassState, yes: PassState, id: &ObjectId| match state {
        PassState::Unknown => {
            let mut subjects = simulation.subjects.iter().filter(|subject| subject.id == *id);
            unknown(subjects.find_map(|subject| subject.unknown.as_ref()))
        }
        known => json!(known == yes),
    };
    simulation
        .gated
        .iter()
        .map(|at| {
            let id = &at.gated.id;
            json!({
                "cluster": cluster.name,
                "object": object(id),
                "gates": at.gated.gates.iter().map(|gate| &*gate.name).collect::<Vec<_>>(),
                "proceeds": known(at.proceeds, PassState::Opened, id),
                "suspended": known(at.suspended, PassState::Closed, id),
                "closed": at.closed,
                "condition": {
                    "type": at.condition.kind,
                    "status": at.condition.status,
                    "reason": at.condition.reason,
                    "message": at.condition.message,
                },
                "latency": {
                    "gate": at.gate_latency.map(|latency| latency.to_string()),
                    "object": at.gated.interval.map(|interval| interval.to_string()),
                },
            })
        })
        .collect()
}

fn frozen(_: &View<'_>, cluster: &ClusterGates) -> Vec<Value> {
    let found = cluster.simulation.frozen.iter();
    found
        .map(|frozen| json!({"cluster": cluster.name, "object": object(&frozen.id), "because": frozen.because}))
        .collect()
}

fn subjects(_: &View<'_>, cluster: &ClusterGates) -> Vec<Value> {
    let simulation = &cluster.simulation;
    simulation
        .subjects
        .iter()
        .map(|subject| {
            let intervals: Vec<Value> = subject
                .timeline
                .intervals(simulation.range)
                .into_iter()
                .map(|(from, to, state)| {
                    json!({"from": format_time(from), "to": to.map(format_time), "state": state.name()})
                })
                .collect();
            json!({
                "cluster": cluster.name,
                "object": object(&subject.id),
                "kind": subject.kind.name(),
                "intervals": intervals,
            })
        })
        .collect()
}

fn transitions(view: &View<'_>, cluster: &ClusterGates) -> Vec<Value> {
    changes(&cluster.simulation)
        .into_iter()
        .map(|(subject, change)| {
            json!({
                "cluster": cluster.name,
                "at": format_time(change.at),
                "object": object(&subject.id),
                "state": change.state.name(),
                "cause": change.cause,
                "location": location(view.snapshot, change.location.as_ref()),
            })
        })
        .collect()
}
