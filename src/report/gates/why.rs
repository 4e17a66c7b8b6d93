//! `--why`: what one object waits for, in sentences.

use std::fmt::Write as _;

use super::{View, label};
use crate::lang::text::clean;
use crate::model::ObjectId;
use crate::report::parts::paragraph;
use crate::simulate::gating::format_time;
use crate::simulate::gating::objects::{GateReference, is_gateable};
use crate::simulate::gating::timeline::{GatedAt, PassState, Simulation, SubjectKind};

/// Explains objects, each of the cluster with that index, at the start of the
/// range. Clusters are named where there are several.
pub fn render(view: &View<'_>, objects: &[(usize, &ObjectId)]) -> String {
    let mut out = String::new();
    let mut last = None;
    for (index, id) in objects {
        let cluster = &view.clusters[*index];
        if view.clusters.len() > 1 && last != Some(index) {
            let _ = writeln!(out, "{}", cluster.title());
            last = Some(index);
        }
        for sentence in sentences(view, &cluster.simulation, id) {
            paragraph(&mut out, &sentence, "  ");
        }
    }
    out
}

fn sentences(view: &View<'_>, simulation: &Simulation, id: &ObjectId) -> Vec<String> {
    let name = label(id);
    if let Some(at) = simulation.gated.iter().find(|at| at.gated.id == *id) {
        return gated(view, simulation, at, &name);
    }
    let mut found = Vec::new();
    for subject in simulation.subjects.iter().filter(|subject| subject.id == *id) {
        let by = match subject.kind {
            SubjectKind::Gate => "by its requests and its default",
            SubjectKind::Schedule => "by its schedule",
            SubjectKind::Suspend => "as Git suspends it",
            SubjectKind::CronJob => "by CronJobs that suspend and resume it",
            SubjectKind::Consumer => "by its confirming webhook",
        };
        found.push(match &subject.unknown {
            Some(why) => format!("{name}: unknown: {}.", clean(why)),
            None => format!("{name}: {} {by}{}.", subject.timeline.first.name(), until(simulation, subject)),
        });
        if let Some(at) = simulation.gates.iter().find(|at| at.gate.id == *id)
            && let Some(state) = &at.state
        {
            found.push(format!("Condition Opened: {}.", state.message));
        }
    }
    for frozen in simulation.frozen.iter().filter(|frozen| frozen.id == *id) {
        found.push(format!("{name}: {}.", clean(&frozen.because)));
    }
    if found.is_empty() {
        found.push(match is_gateable(id) {
            true => format!("{name}: proceeds; it waits for no gate and is not suspended."),
            // What `spec.gates` of another kind says is nobody's.
            false => format!("{name}: proceeds; the proposal gates sources and syncs alone."),
        });
    }
    found
}

/// `, closes at 2026-…` where a change is ahead.
fn until(simulation: &Simulation, subject: &crate::simulate::gating::timeline::TimedSubject) -> String {
    match subject.timeline.changes.first() {
        Some(change) => {
            format!(
                ", {} at {} ({})",
                super::verb(change.state),
                format_time(change.at),
                clean(&change.cause)
            )
        }
        None => format!(", up to {} at least", format_time(simulation.range.to)),
    }
}

fn gated(view: &View<'_>, simulation: &Simulation, at: &GatedAt, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    if at.suspended == PassState::Closed {
        found.push(format!("{name}: waits: it is suspended, whatever its gates say."));
    }
    for reference in &at.gated.gates {
        found.extend(of_gate(view, simulation, at, reference, name));
    }
    if found.is_empty() {
        found.push(format!("{name}: proceeds: all its gates are opened."));
    }
    let condition = &at.condition;
    found.push(format!(
        "Its condition: {}={}, reason {}: {}",
        condition.kind,
        condition.status,
        condition.reason,
        clean(&condition.message)
    ));
    let consumer = simulation
        .subjects
        .iter()
        .find(|subject| subject.kind == SubjectKind::Consumer && subject.id == at.gated.id);
    if at.proceeds == PassState::Closed
        && let Some(opens) =
            consumer.and_then(|subject| subject.timeline.next(simulation.range.from, PassState::Opened))
    {
        found.push(format!("It may proceed from {} on.", format_time(opens)));
    }
    for frozen in simulation.frozen.iter().filter(|frozen| frozen.id == at.gated.id) {
        found.push(format!("Besides, {}.", clean(&frozen.because)));
    }
    found
}

/// What one gate means for an object; nothing where it is open.
fn of_gate(
    view: &View<'_>,
    simulation: &Simulation,
    at: &GatedAt,
    reference: &GateReference,
    name: &str,
) -> Option<String> {
    let namespace = at.gated.id.namespace.as_deref();
    let gate = simulation.gates.iter().zip(&simulation.subjects).find(|(gate, _)| {
        gate.gate.id.namespace.as_deref() == namespace && gate.gate.id.name == reference.name
    });
    let full = match namespace {
        Some(namespace) => format!("`{}/{}`", clean(namespace), clean(&reference.name)),
        None => format!("`{}`", clean(&reference.name)),
    };
    let Some((gate, subject)) = gate else {
        let place = view.place(reference.location.as_ref());
        return Some(format!("{name}: waits: gate {full} does not exist ({place}); a missing gate blocks."));
    };
    match (&gate.state, subject.timeline.first) {
        (_, PassState::Opened) => None,
        (Some(state), PassState::Closed) => {
            let how = match state.requested_at {
                None => "by default".into(),
                Some(asked) if Some(asked) == state.reset_to_default_at => {
                    format!("since the request of {}", format_time(asked))
                }
                Some(_) if state.reset_to_default_at.is_some_and(|reset| reset <= simulation.range.from) => {
                    "by default, its last request being over".into()
                }
                Some(asked) => format!("by the request of {}", format_time(asked)),
            };
            let opens = match subject.timeline.next(simulation.range.from, PassState::Opened) {
                Some(at) => format!(" and opens at {}", format_time(at)),
                None if !gate.gate.receivers.is_empty() => {
                    let receivers: Vec<String> = gate.gate.receivers.iter().map(label).collect();
                    format!(" and opens when {} is called", receivers.join(" or "))
                }
                None => " and no request to open it is in Git".into(),
            };
            Some(format!("{name}: waits: gate {full} is closed {how}{opens}."))
        }
        _ => {
            let why = subject.unknown.as_deref().unwrap_or("it depends on the cluster");
            Some(format!("{name}: gate {full} is in an unknown state: {}.", clean(why)))
        }
    }
}
