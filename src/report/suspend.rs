//! The answer of `simulate suspend`.

use super::parts::{alike, location, object, of_clusters, paragraph, shared, width};
use super::place;
use super::stated::{StatedVersions, together};
use crate::lang::text::{clean, counted, shorten, wrap};
use crate::lang::yaml::NodeRef;
use crate::model::value::unknown;
use crate::model::{ObjectId, kinds};
use crate::simulate::behaviour::Product;
use crate::simulate::gating::objects::{Gating, Job, suspends};
use crate::simulate::gating::timeline::{
    PassState as Position, Range, StateChange, SubjectKind, TimedSubject, simulate,
};
use crate::simulate::relations::Relations;
use crate::simulate::suspend::{Suspension, consequences, resumption, suspension};
use crate::world::helm_charts::HelmChart;
use crate::world::{ApplyTarget, Cluster, Effective, World};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json as value};
use std::fmt::Write as _;

/// One suspendable object of a cluster.
pub(crate) struct SuspendState<'w> {
    cluster: &'w Cluster,
    id: &'w ObjectId,
    /// Whether it is a HelmChart that helm-controller makes.
    is_made: bool,
    suspension: Suspension<'w>,
    consequences: Vec<String>,
    /// What CronJobs make of it around the moment asked about.
    scheduled: Option<TimedSubject>,
}

/// The suspendable objects, and what was not read of them.
pub struct States<'w> {
    states: Vec<SuspendState<'w>>,
    /// CronJobs with a command about a suspension that cannot be read, and the
    /// command.
    pub unread: Vec<(ObjectId, String)>,
}

impl States<'_> {
    /// The objects that can be suspended.
    pub fn ids(&self) -> impl Iterator<Item = &ObjectId> {
        self.states.iter().map(|state| state.id)
    }

    /// Leaves out other objects than these.
    pub fn keep(&mut self, wanted: impl Fn(&ObjectId) -> bool) {
        self.states.retain(|state| wanted(state.id));
    }
}

/// Days after the moment asked about in which the next change is looked for.
const AHEAD: i64 = 7;

/// Every suspendable object of the wanted clusters.
///
/// With an earlier state of the repository and its name, the consequences say what
/// the end of a suspension applies and prunes of what changed since. With a
/// moment, an object that CronJobs suspend and resume is in the state in which
/// their last runs before it leave it.
pub fn states<'w>(
    world: &'w World,
    charts: &'w [HelmChart<'w>],
    earlier: Option<(&World, &str)>,
    at: Option<Timestamp>,
    wanted: impl Fn(&Cluster) -> bool,
) -> States<'w> {
    let mut out = States { states: Vec::new(), unread: Vec::new() };
    for cluster in world.applied_clusters().filter(|cluster| wanted(cluster)) {
        let local = || world.written(cluster).filter(|(member, _)| member.target == ApplyTarget::Local);
        let relations = Relations::new(world, cluster);
        let gating = Gating::read(local().map(|(_, object)| (&object.id, object.node.get_ref())));
        let mut subjects = match at.filter(|_| !gating.jobs.is_empty()) {
            Some(at) => {
                let to = at.checked_add(SignedDuration::from_hours(24 * AHEAD)).unwrap_or(Timestamp::MAX);
                simulate(&gating, Range { from: at, to }).subjects
            }
            None => Vec::new(),
        };
        subjects.retain(|subject| subject.kind == SubjectKind::CronJob);
        let mut own: Vec<SuspendState<'w>> = Vec::new();
        let made = charts.iter().filter(|chart| std::ptr::eq(chart.cluster, cluster));
        let made = made.map(|chart| (&chart.id, chart.node.get_ref(), None));
        let written = local().map(|(_, object)| (&object.id, object.node.get_ref(), Some(object)));
        for (id, node, object) in written.chain(made) {
            let Some(mut suspension) = suspension(id, node, &cluster.settings) else { continue };
            let scheduled = subjects.iter().find(|subject| subject.id == *id).cloned();
            if let Some(subject) = &scheduled {
                suspension.suspended = match subject.timeline.first {
                    Position::Closed => Some(true),
                    Position::Opened => Some(false),
                    Position::Unknown => None,
                };
            }
            let mut consequences = consequences(&relations, (id, node), &suspension);
            let since = earlier.filter(|_| suspension.suspended == Some(true));
            if let (Some((earlier, name)), Some(object)) = (since, object) {
                consequences.extend(resumed(&relations, object, earlier, name));
            }
            match &scheduled {
                Some(subject) => consequences.push(next(subject)),
                None => consequences.extend(jobs_of(&gating, id)),
            }
            own.push(SuspendState {
                cluster,
                id,
                is_made: object.is_none(),
                suspension,
                consequences,
                scheduled,
            });
        }
        own.sort_by(|a, b| a.id.cmp(b.id));
        own.dedup_by(|a, b| a.id == b.id);
        out.states.append(&mut own);
        out.unread.extend(gating.unread);
    }
    out
}

/// The CronJobs that suspend or resume an object, where no moment is asked about.
fn jobs_of(gating: &Gating, id: &ObjectId) -> Option<String> {
    let touches = |job: &&Job| job.actions.iter().any(|found| suspends(&found.action, id));
    let names: Vec<String> = gating.jobs.iter().filter(touches).map(|job| job.id.to_string()).collect();
    (!names.is_empty())
        .then(|| format!("suspended and resumed by {}: ask with --at TIME for a moment", names.join(", ")))
}

/// What comes after the moment that was asked about.
fn next(subject: &TimedSubject) -> String {
    if let Some(why) = &subject.unknown {
        return format!("its state at that time is unknown: {why}");
    }
    match subject.timeline.changes.first() {
        Some(StateChange { at, state, cause, .. }) => {
            let what = if *state == Position::Closed { "suspended" } else { "resumed" };
            format!("{what} next at {at}, by {cause}")
        }
        None => format!("no CronJob changes that in the {AHEAD} days after"),
    }
}

/// What is applied and pruned on resume, in sentences without a full stop.
fn resumed(relations: &Relations<'_>, object: &Effective, earlier: &World, name: &str) -> Vec<String> {
    let Some(resumption) = resumption(relations, object, earlier) else {
        let same = kinds::is_kustomization(&object.id);
        return same
            .then(|| format!("on resume: it is not in {name}, so what changed is unknown"))
            .into_iter()
            .collect();
    };
    let mut out = Vec::new();
    let mut say = |what: &str, ids: &[ObjectId]| {
        if !ids.is_empty() {
            let shown: Vec<String> = ids.iter().take(NAMED).map(ToString::to_string).collect();
            let rest = ids.len().saturating_sub(NAMED);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            out.push(format!("on resume, {what}: {}{rest}", shown.join(", ")));
        }
    };
    say("applied for the first time", &resumption.added);
    say("applied with new values", &resumption.changed);
    let prunes = object.node.get_ref().at("/spec/prune").and_then(NodeRef::as_bool) == Some(true);
    say(if prunes { "pruned" } else { "left in the cluster, as nothing prunes" }, &resumption.removed);
    if out.is_empty() {
        out.push(format!("on resume: nothing changes, its build is what it was in {name}"));
    }
    if !resumption.since {
        out.push(format!(
            "it was not suspended in {name}: name the commit that suspended it, so that what was applied before doesn't count"
        ));
    }
    out
}

/// Objects that are named before the rest is counted.
const NAMED: usize = 8;

/// The contract's body.
pub fn json(world: &World, states: &States<'_>) -> Value {
    let snapshot = &*world.snapshot;
    let objects = states.states.iter().map(|state| {
        let suspension = &state.suspension;
        let honoured = match (suspension.annotation.is_some(), suspension.honoured) {
            (false, _) | (true, Some(true)) => "yes",
            (true, Some(false)) => "no",
            (true, None) => "unknown",
        };
        let suspended = match (suspension.suspended, &state.scheduled) {
            (Some(known), _) => value!(known),
            (None, Some(TimedSubject { unknown: Some(why), .. })) => unknown(why),
            (None, _) => unknown("whether the controllers read the annotation, or the value, is unknown"),
        };
        let next = state.scheduled.as_ref().and_then(|subject| subject.timeline.changes.first());
        let mut one = value!({
            "cluster": state.cluster.name.as_deref(),
            "object": object(state.id),
            "suspended": suspended,
            "by": state.ways(),
            "honoured": honoured,
            "reason": suspension.reason(snapshot),
            "generationChanges": suspension.field.is_some() || state.is_set_by_job(),
            "consequences": state.consequences,
            "location": location(snapshot, suspension.location().as_ref()),
        });
        if let Some(change) = next {
            one["next"] = value!({
                "at": change.at.to_string(),
                "suspended": change.state == Position::Closed,
                "cause": change.cause,
                "location": location(snapshot, change.location.as_ref()),
            });
        }
        one
    });
    value!({"objects": objects.collect::<Vec<_>>()})
}

/// The text: tables of what is, or seems, suspended, and what follows from it. What
/// several clusters have in common is said once, with their names.
pub fn text(world: &World, at: Option<Timestamp>, states: &States<'_>) -> String {
    let mut clusters: Vec<OfCluster> = Vec::new();
    let mut rest = &*states.states;
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|state| std::ptr::eq(state.cluster, first.cluster)).count();
        let (own, others) = rest.split_at(count);
        clusters.push(OfCluster::new(world, own));
        rest = others;
    }
    let mut out = String::new();
    let at = at.map_or(String::new(), |at| format!(", at {at}"));
    let head = |names: &[String], version: &str| {
        let of = of_clusters(names, "no entry point");
        format!("{of}{at}, {version}")
    };
    for one in clusters.iter().filter(|one| one.name.is_none()) {
        paragraph(&mut out, &head(&[], &one.version.to_string()), "  ");
        table(&mut out, &one.rows);
        let _ = writeln!(out, "{}", one.counts);
    }
    clusters.retain(|one| one.name.is_some());
    let version = |names: &[String]| {
        let named = |one: &&OfCluster| one.name.as_ref().is_some_and(|name| names.contains(name));
        together(clusters.iter().filter(named).map(|one| &one.version))
    };
    let sections = shared(clusters.iter().map(|one| (one.name.clone(), one.rows.clone())));
    let counts = alike(clusters.iter().map(|one| (one.name.clone(), &one.counts)));
    let mut counted = vec![false; counts.len()];
    for (names, rows) in &sections {
        paragraph(&mut out, &head(names, &version(names)), "  ");
        table(&mut out, rows);
        // The last line of a table whose clusters have nothing else.
        let own = counts.iter().position(|(all, _)| all == names);
        let tables = sections.iter().filter(|(others, _)| share(others, names)).count();
        if let Some(own) = own.filter(|_| tables == 1) {
            counted[own] = true;
            let _ = writeln!(out, "{}", counts[own].1);
        }
    }
    for ((names, text), _) in counts.iter().zip(&counted).filter(|(_, counted)| !**counted) {
        if sections.iter().any(|(others, _)| share(others, names)) {
            paragraph(&mut out, &format!("{}: {text}", of_clusters(names, "")), "  ");
        } else {
            paragraph(&mut out, &head(names, &version(names)), "  ");
            let _ = writeln!(out, "{text}");
        }
    }
    if states.states.is_empty() {
        out.push_str("no suspendable object\n");
    }
    if !states.unread.is_empty() {
        out.push_str("\nnot read: commands that may suspend or resume more\n");
    }
    for (job, command) in &states.unread {
        let _ = writeln!(out, "  {}", shorten(&clean(&format!("{job}: {command}")), width() - 2));
    }
    out
}

fn share(one: &[String], other: &[String]) -> bool {
    one.iter().any(|name| other.contains(name))
}

/// What is said of a cluster.
struct OfCluster {
    name: Option<String>,
    version: StatedVersions,
    rows: Vec<ObjectRow>,
    counts: String,
}

/// What is said of an object.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ObjectRow {
    object: String,
    suspended: &'static str,
    ways: String,
    reason: String,
    spot: String,
    consequences: Vec<String>,
    is_annotated: bool,
}

impl SuspendState<'_> {
    /// Ways in which it is, or seems, suspended. What a CronJob sets is the
    /// field.
    fn ways(&self) -> Vec<&'static str> {
        let mut ways = self.suspension.ways();
        if self.is_set_by_job() && !ways.contains(&"spec") {
            ways.insert(0, "spec");
        }
        ways
    }

    fn is_set_by_job(&self) -> bool {
        self.scheduled.is_some() && self.suspension.suspended == Some(true)
    }
}

impl OfCluster {
    fn new(world: &World, states: &[SuspendState<'_>]) -> OfCluster {
        let count = |is: &dyn Fn(&SuspendState<'_>) -> bool| states.iter().filter(|state| is(state)).count();
        let suspended = count(&|state| state.suspension.suspended == Some(true));
        let seems = count(&|state| {
            state.suspension.annotation.is_some() && state.suspension.suspended == Some(false)
        });
        let made = match count(&|state| state.is_made) {
            0 => String::new(),
            made => format!(" ({made} of them made by helm-controller)"),
        };
        let objects = counted(states.len(), "suspendable object");
        let mut counts = format!("{objects}{made}, {suspended} suspended");
        if seems > 0 {
            let _ = write!(counts, ", {seems} only seems so");
        }
        let shown = states
            .iter()
            .filter(|state| !state.suspension.ways().is_empty() || !state.consequences.is_empty());
        let cluster = states.first().map(|first| first.cluster);
        OfCluster {
            name: cluster.and_then(|cluster| cluster.name.as_deref()).map(str::to_owned),
            version: cluster.map_or_else(StatedVersions::default, |cluster| {
                super::stated::version(&world.snapshot, Product::Flux, &cluster.settings)
            }),
            rows: shown.map(|state| ObjectRow::new(world, state)).collect(),
            counts,
        }
    }
}

impl ObjectRow {
    fn new(world: &World, state: &SuspendState<'_>) -> ObjectRow {
        let snapshot = &*world.snapshot;
        let suspended = match state.suspension.suspended {
            Some(true) => "yes",
            Some(false) if state.suspension.annotation.is_none() => "no",
            Some(false) => "NO",
            None => "unknown",
        };
        let ways = match (state.ways(), &state.scheduled) {
            (_, Some(_)) => "CronJob".to_owned(),
            (ways, None) if ways.is_empty() => "-".to_owned(),
            (ways, None) => ways.join("+"),
        };
        let reason = state.suspension.reason(snapshot).unwrap_or_else(|| "-".to_owned());
        let job = state.scheduled.as_ref().and_then(|subject| subject.timeline.changes.first());
        let spot = state.suspension.location().or_else(|| job?.location.clone()).and_then(|location| {
            let line = place(snapshot, &location)?.from.0;
            Some(format!("{}:{line}", location.file))
        });
        ObjectRow {
            object: clean(&state.id.to_string()).into_owned(),
            suspended,
            ways,
            reason: clean(&reason).into_owned(),
            spot: clean(&spot.unwrap_or_default()).into_owned(),
            consequences: state.consequences.iter().map(|text| clean(text).into_owned()).collect(),
            is_annotated: state.suspension.annotation.is_some(),
        }
    }
}

fn table(out: &mut String, rows: &[ObjectRow]) {
    if rows.is_empty() {
        return;
    }
    if rows.iter().any(|row| row.is_annotated) {
        paragraph(out, "(a proposal: suspension by the annotation, which no released Flux reads)", "  ");
    }
    // Names and reasons share what the other columns leave of a terminal.
    const OTHERS: usize = 27;
    let room = width().saturating_sub(OTHERS);
    let longest = rows.iter().map(|row| row.object.chars().count()).max().unwrap_or(0);
    let object = longest.min(room.saturating_sub(10).max(20)).max(6);
    let room = room.saturating_sub(object).max(10);
    let _ = writeln!(out, "  {:object$}  SUSPENDED  BY          REASON", "OBJECT");
    for ObjectRow { object: name, suspended, ways, reason, .. } in rows {
        let (name, reason) = (shorten(name, object), shorten(reason, room));
        let line = format!("  {name:object$}  {suspended:9}  {ways:10}  {reason}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push('\n');
    for ObjectRow { object: head, spot, consequences, .. } in rows {
        let _ = match head.chars().count().max(40) + 1 + spot.chars().count() > width() {
            true => writeln!(out, "{head}\n  {spot}"),
            false => writeln!(out, "{}", format!("{head:40} {spot}").trim_end()),
        };
        for consequence in consequences {
            for (index, line) in wrap(consequence, width() - 4).iter().enumerate() {
                let _ = writeln!(out, "{}{line}", if index == 0 { "  " } else { "    " });
            }
        }
    }
    out.push('\n');
}
