//! Every gate, schedule and suspension of a cluster over a range of time, and
//! what they hold back.

mod state;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
pub use state::{PassState, Range};
pub(crate) use state::{StateChange, Timeline};

use super::commands::{Action, RequestValue};
use super::objects::{Dependant, Gate, GateTarget, Gated, Gating, Job, Suspendable, suspends};
use super::{Condition, GateRequest, GateState, PositionCause, condition, parse_request_time, transitions};
use crate::lang::go::duration::GoDuration;
use crate::lang::yaml::Location;
use crate::model::ObjectId;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// What a subject of the simulation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectKind {
    Gate,
    /// A ResourceSetInputProvider with a schedule.
    Schedule,
    /// An object that Git suspends.
    Suspend,
    /// An object that CronJobs suspend and resume.
    CronJob,
    /// An object that waits for gates; a Canary with confirming webhooks.
    Consumer,
}

impl SubjectKind {
    /// The word of the JSON contract.
    pub fn name(self) -> &'static str {
        match self {
            SubjectKind::Gate => "gate",
            SubjectKind::Schedule => "schedule",
            SubjectKind::Suspend => "suspend",
            SubjectKind::CronJob => "cronjob",
            SubjectKind::Consumer => "consumer",
        }
    }
}

/// Something that opens and closes over time.
#[derive(Debug, Clone)]
pub struct TimedSubject {
    pub id: ObjectId,
    /// What it is here.
    pub kind: SubjectKind,
    pub timeline: Timeline,
    /// Why its state is unknown, where it is.
    pub unknown: Option<String>,
    /// What a consumer waits for: gate names, `suspend`, a webhook's type.
    pub waits_for: Vec<String>,
    /// Where the object, or the part of it that gates, is written.
    pub location: Option<Location>,
}

/// A Gate at the start of the range.
#[derive(Debug, Clone)]
pub struct GateAt {
    pub gate: Gate,
    /// Its state; nothing where that is unknown.
    pub state: Option<GateState>,
}

/// A gated object at the start of the range.
#[derive(Debug, Clone)]
pub struct GatedAt {
    pub gated: Gated,
    /// Whether it is suspended, which comes before all gates.
    pub suspended: PassState,
    /// Its gates that are closed or missing, in order.
    pub closed: Vec<String>,
    /// Those of `closed` that do not exist.
    pub missing: Vec<String>,
    /// Whether it may reconcile.
    pub proceeds: PassState,
    /// The condition that it carries.
    pub condition: Condition,
    /// How late its gates may notice a request: the longest of their intervals.
    pub gate_latency: Option<GoDuration>,
}

/// An object that something closed upstream holds at what it has.
#[derive(Debug, Clone)]
pub struct Frozen {
    pub id: ObjectId,
    /// Why.
    pub because: String,
    /// The object that holds it.
    pub by: ObjectId,
}

/// The answer for one cluster.
#[derive(Debug, Clone)]
pub struct Simulation {
    /// The range that was simulated.
    pub range: Range,
    /// The gates at its start.
    pub gates: Vec<GateAt>,
    /// The gated objects at its start.
    pub gated: Vec<GatedAt>,
    /// Everything that changes over time, gates first.
    pub subjects: Vec<TimedSubject>,
    /// What is held back downstream at some moment of the range.
    pub frozen: Vec<Frozen>,
}

/// Simulates a cluster over a range.
pub fn simulate(gating: &Gating, range: Range) -> Simulation {
    let mut subjects = Vec::new();
    let mut gates = Vec::new();
    for gate in &gating.gates {
        let (subject, state) = simulate_gate(gate, &gating.jobs, range);
        subjects.push(subject);
        gates.push(GateAt { gate: gate.clone(), state });
    }
    let gate_count = subjects.len();
    for provider in &gating.providers {
        subjects.push(simulate_provider(provider, range));
    }
    let first_suspendable = subjects.len();
    for object in &gating.suspendable {
        subjects.push(simulate_suspension(object, &gating.jobs, range));
    }
    let gates_by_name = by_name(&gating.gates, &subjects[..gate_count]);
    let suspensions = firsts(subjects[first_suspendable..].iter().map(|subject| (&subject.id, subject)));
    let mut consumers = Vec::new();
    let mut gated = Vec::new();
    for object in &gating.gated {
        let suspension = suspensions.get(&object.id).copied();
        let (consumer, at) = simulate_gated(object, &gates_by_name, suspension);
        consumers.push(consumer);
        gated.push(at);
    }
    for hook in &gating.hooks {
        let state = hook.answer.map_or(PassState::Unknown, PassState::from);
        consumers.push(TimedSubject {
            id: hook.id.clone(),
            kind: SubjectKind::Consumer,
            timeline: Timeline::constant(state),
            unknown: hook.answer.is_none().then(|| "Flagger's gate keeps its state in the cluster".into()),
            waits_for: vec![hook.kind.to_string()],
            location: hook.location.clone(),
        });
    }
    subjects.extend(consumers);
    let frozen = frozen(gating, &subjects[first_suspendable..]);
    Simulation { range, gates, gated, subjects, frozen }
}

/// Each key with the first of its values.
fn firsts<K: Eq + Hash, V>(pairs: impl Iterator<Item = (K, V)>) -> FxHashMap<K, V> {
    let mut found = FxHashMap::default();
    for (key, value) in pairs {
        found.entry(key).or_insert(value);
    }
    found
}

/// Gates with their timelines, as references of a namespace name them.
type GatesByName<'g> = FxHashMap<(Option<&'g str>, &'g str), (&'g Gate, &'g TimedSubject)>;

fn by_name<'g>(gates: &'g [Gate], subjects: &'g [TimedSubject]) -> GatesByName<'g> {
    let named = gates.iter().zip(subjects);
    firsts(named.map(|pair| ((pair.0.id.namespace.as_deref(), &*pair.0.id.name), pair)))
}

/// All changes of gates, schedules and suspensions, in order of time.
pub fn changes(simulation: &Simulation) -> Vec<(&TimedSubject, &StateChange)> {
    let mut found: Vec<_> = simulation
        .subjects
        .iter()
        .filter(|subject| subject.kind != SubjectKind::Consumer)
        .flat_map(|subject| subject.timeline.changes.iter().map(move |change| (subject, change)))
        .collect();
    found.sort_by_key(|(_, change)| change.at);
    found
}

/// A request with its origin: an annotation, or runs of a CronJob.
struct ChangeOrigin<'g> {
    job: Option<&'g Job>,
    location: Option<Location>,
}

fn simulate_gate(gate: &Gate, jobs: &[Job], range: Range) -> (TimedSubject, Option<GateState>) {
    let mut requests: Vec<GateRequest> = gate.requests.iter().map(|(request, _)| *request).collect();
    let mut origins: Vec<ChangeOrigin<'_>> = gate
        .requests
        .iter()
        .map(|(_, location)| ChangeOrigin { job: None, location: location.clone() })
        .collect();
    let mut unknown = gate.unknown.clone();
    for job in jobs {
        match job_requests(job, gate, range) {
            Ok(found) => {
                origins.extend(
                    found.iter().map(|_| ChangeOrigin { job: Some(job), location: job.location.clone() }),
                );
                requests.extend(found);
            }
            Err(why) => unknown = unknown.or(Some(format!("{}: {why}", job.id))),
        }
    }
    let mut timeline = Timeline::constant(PassState::Unknown);
    let mut state = None;
    if unknown.is_none() {
        let now = super::state(gate.spec, &requests, range.from);
        timeline.first = now.position.into();
        state = Some(now);
        for transition in transitions(gate.spec, &requests) {
            if transition.at > range.from && transition.at < range.to {
                timeline.push(gate_change(gate, transition, &origins));
            }
        }
    }
    let subject = TimedSubject {
        id: gate.id.clone(),
        kind: SubjectKind::Gate,
        timeline,
        unknown,
        waits_for: Vec::new(),
        location: gate.location.clone(),
    };
    (subject, state)
}

fn gate_change(gate: &Gate, transition: super::Transition, origins: &[ChangeOrigin<'_>]) -> StateChange {
    let (cause, location) = match transition.cause {
        PositionCause::Request(index) => {
            let origin = &origins[index];
            let cause = match origin.job {
                Some(job) => job.id.to_string(),
                None => format!("{} requested", transition.position.verb()),
            };
            (cause, origin.location.clone())
        }
        PositionCause::WindowOver(_) => {
            let window = gate.spec.window.unwrap_or_default();
            (format!("window of {} is over", short(window)), None)
        }
    };
    StateChange { at: transition.at, state: transition.position.into(), cause, location }
}

/// A duration without its zero parts: `1h` for Go's `1h0m0s`.
pub(crate) fn short(duration: GoDuration) -> String {
    let text = duration.to_string();
    let text = text.strip_suffix("m0s").map_or(text.clone(), |rest| format!("{rest}m"));
    text.strip_suffix("h0m").map_or(text.clone(), |rest| format!("{rest}h"))
}

/// The requests that a job makes of a gate, as far as they matter in the range.
fn job_requests(job: &Job, gate: &Gate, range: Range) -> Result<Vec<GateRequest>, String> {
    let mut found = Vec::new();
    for action in &job.actions {
        let Action::Request { gate: name, namespace, position, value } = &action.action else {
            continue;
        };
        let namespace = namespace.as_deref().or(job.id.namespace.as_deref());
        if &*gate.id.name != name || gate.id.namespace.as_deref() != namespace {
            continue;
        }
        if !action.certain {
            return Err("its command may or may not annotate the gate".into());
        }
        match value {
            RequestValue::Unknown => return Err("the time that it requests is not known".into()),
            RequestValue::Text(text) => {
                found.extend(parse_request_time(text).map(|at| GateRequest { at, position: *position }));
            }
            RequestValue::RunTime => {
                let window = SignedDuration::from_nanos(gate.spec.window.unwrap_or_default().nanoseconds());
                let since = range.from.checked_sub(window).unwrap_or(Timestamp::MIN);
                let runs = runs(job, since, range)?;
                found.extend(runs.into_iter().map(|at| GateRequest { at, position: *position }));
            }
        }
    }
    Ok(found)
}

/// When a job runs, from `since` to the end of the range, and at least its last
/// run before the range.
fn runs(job: &Job, since: Timestamp, range: Range) -> Result<Vec<Timestamp>, String> {
    let schedule = job.schedule.as_ref().map_err(Clone::clone)?;
    let last = schedule.previous(&range.from.to_zoned(TimeZone::UTC)).map(|run| run.timestamp());
    let since = last.map_or(since, |last| last.min(since));
    schedule.triggers(since, range.to).ok_or_else(|| "it runs too often to be listed".into())
}

fn simulate_provider(provider: &super::objects::Provider, range: Range) -> TimedSubject {
    let mut unknown = None;
    let mut timeline = Timeline::constant(PassState::Closed);
    match &provider.schedules {
        _ if provider.disabled => {}
        Err(why) => unknown = Some(why.clone()),
        Ok(schedules) => match schedules.openings(range.from, range.to) {
            None => unknown = Some("its schedule triggers too often to be listed".into()),
            Some(openings) => {
                let change = |at, state, cause: &str| StateChange {
                    at,
                    state,
                    cause: cause.to_string(),
                    location: provider.location.clone(),
                };
                for (start, end) in openings {
                    if start <= range.from {
                        timeline.first = PassState::Opened;
                    }
                    timeline.push(change(start, PassState::Opened, "its schedule triggers"));
                    if end < range.to {
                        timeline.push(change(end, PassState::Closed, "its window is over"));
                    }
                }
            }
        },
    }
    if unknown.is_some() {
        timeline = Timeline::constant(PassState::Unknown);
    }
    TimedSubject {
        id: provider.id.clone(),
        kind: SubjectKind::Schedule,
        timeline,
        unknown,
        waits_for: Vec::new(),
        location: provider.location.clone(),
    }
}

fn simulate_suspension(object: &Suspendable, jobs: &[Job], range: Range) -> TimedSubject {
    let mut events = Vec::new();
    let mut unknown = None;
    let mut by_job = false;
    for job in jobs {
        for found in job.actions.iter().filter(|found| suspends(&found.action, &object.id)) {
            let Action::Suspend { suspend, .. } = found.action else {
                continue;
            };
            by_job = true;
            match runs(job, range.from, range) {
                // Flux writes back what Git says, some time within the interval
                // of whatever applies the object.
                Ok(runs) if found.certain && object.suspend.is_none_or(|in_git| in_git == suspend) => {
                    let state = if suspend { PassState::Closed } else { PassState::Opened };
                    events.extend(runs.into_iter().map(|at| (at, state, job)));
                }
                Ok(_) if found.certain => {
                    unknown = Some(format!("{} and Git's spec.suspend overwrite each other", job.id));
                }
                Ok(_) => unknown = Some(format!("{}: its command may or may not do it", job.id)),
                Err(why) => unknown = Some(format!("{}: {why}", job.id)),
            }
        }
    }
    events.sort_by_key(|(at, ..)| *at);
    let mut timeline = Timeline::constant(match object.suspend {
        Some(true) => PassState::Closed,
        _ => PassState::Opened,
    });
    for (place, (at, state, job)) in events.iter().enumerate() {
        // Of several at one moment the last has the word.
        if events.get(place + 1).is_some_and(|(next, ..)| next == at) {
            continue;
        }
        if *at <= range.from {
            timeline.first = *state;
        } else if *at < range.to {
            let cause = job.id.to_string();
            timeline.push(StateChange { at: *at, state: *state, cause, location: job.location.clone() });
        }
    }
    if unknown.is_some() {
        timeline = Timeline::constant(PassState::Unknown);
    }
    TimedSubject {
        id: object.id.clone(),
        kind: if by_job { SubjectKind::CronJob } else { SubjectKind::Suspend },
        timeline,
        unknown,
        waits_for: Vec::new(),
        location: object.location.clone(),
    }
}

fn simulate_gated(
    object: &Gated,
    gates: &GatesByName<'_>,
    suspension: Option<&TimedSubject>,
) -> (TimedSubject, GatedAt) {
    let namespace = object.id.namespace.as_deref();
    let mut timeline = suspension
        .map_or_else(|| Timeline::constant(PassState::Opened), |suspension| suspension.timeline.clone());
    let mut unknown = suspension.and_then(|suspension| suspension.unknown.clone());
    if object.has_unknown_gate {
        timeline = timeline.and(&Timeline::constant(PassState::Unknown));
        unknown = Some("one of its gates is not known".into());
    }
    let mut closed = Vec::new();
    let mut missing = Vec::new();
    let mut gate_latency = None;
    for reference in &object.gates {
        let Some((gate, subject)) = gates.get(&(namespace, &*reference.name)) else {
            timeline = timeline.and(&Timeline::constant(PassState::Closed));
            closed.push(reference.name.to_string());
            missing.push(reference.name.to_string());
            continue;
        };
        timeline = timeline.and(&subject.timeline);
        gate_latency = gate_latency.max(gate.interval);
        unknown = unknown.or_else(|| subject.unknown.clone());
        if subject.timeline.first == PassState::Closed {
            closed.push(reference.name.to_string());
        }
    }
    let first_closed = closed.first().map(|name| with_namespace(namespace, name));
    let mut waits_for: Vec<String> = object.gates.iter().map(|gate| gate.name.to_string()).collect();
    let suspended = suspension.map_or(PassState::Opened, |suspension| suspension.timeline.first);
    if suspension.is_some() {
        waits_for.insert(0, "suspend".into());
    }
    let at = GatedAt {
        gated: object.clone(),
        suspended,
        closed,
        missing,
        proceeds: timeline.first,
        condition: condition(object.is_source, first_closed.as_deref()),
        gate_latency,
    };
    let subject = TimedSubject {
        id: object.id.clone(),
        kind: SubjectKind::Consumer,
        unknown: if timeline.ever(PassState::Unknown) { unknown } else { None },
        timeline,
        waits_for,
        location: object.location.clone(),
    };
    (subject, at)
}

fn with_namespace(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) if !name.contains('/') => format!("{namespace}/{name}"),
        _ => name.to_owned(),
    }
}

/// Whatever a closed source or sync holds back: consumers keep their last
/// revision; who depends on a sync of the same source waits from the next
/// revision on, as kustomize-controller compares revisions.
fn frozen(gating: &Gating, subjects: &[TimedSubject]) -> Vec<Frozen> {
    let mut found = Vec::new();
    let gated: FxHashSet<&ObjectId> = gating.gated.iter().map(|object| &object.id).collect();
    let consumers = firsts(gating.consumers.iter().map(|consumer| (&consumer.id, consumer)));
    let mut dependants: FxHashMap<&GateTarget, Vec<&Dependant>> = FxHashMap::default();
    for dependant in &gating.dependants {
        dependants.entry(&dependant.on).or_default().push(dependant);
    }
    for subject in subjects {
        let is_source = subject.id.group() == "source.toolkit.fluxcd.io";
        // A gated object that is suspended too appears as its consumer alone.
        let twice = subject.kind != SubjectKind::Consumer && gated.contains(&subject.id);
        if twice || !subject.timeline.ever(PassState::Closed) {
            continue;
        }
        let why = if subject.kind == SubjectKind::Consumer { "is closed" } else { "is suspended" };
        if is_source {
            for id in gating.downstream(&subject.id) {
                found.push(Frozen {
                    id: id.clone(),
                    because: format!("{} {why}: it keeps its last revision", subject.id),
                    by: subject.id.clone(),
                });
            }
        }
        let own_source = consumers.get(&subject.id);
        for dependant in dependants.get(&GateTarget::of(&subject.id)).into_iter().flatten() {
            let same_source = &*dependant.id.kind == "Kustomization"
                && own_source.is_some_and(|own| Some(&own.source) == dependant.source.as_ref());
            if same_source {
                found.push(Frozen {
                    id: dependant.id.clone(),
                    because: format!(
                        "it depends on {}, which {why}: it waits from the next revision on",
                        subject.id
                    ),
                    by: subject.id.clone(),
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
