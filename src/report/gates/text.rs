//! Text: a table of what holds at one moment, or a chart of a range.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use jiff::{SignedDuration, Timestamp};

use super::chart::{DAY, chart};
use super::{ClusterGates, PROPOSAL, View, charted, is_proposal, label, short_name, verb, waits_for};
use crate::lang::text::clean;
use crate::lang::text::wrap;
use crate::model::ObjectId;
use crate::report::parts::{columns, of_clusters, paragraph, shared, width};
use crate::report::stated::heads;
use crate::simulate::gating::format_time;
use crate::simulate::gating::timeline::{
    GatedAt, PassState, Simulation, SubjectKind, TimedSubject, changes, short,
};

/// Transitions, waits and consumers above these are counted.
const MAX_TRANSITIONS: usize = 100;
const MAX_NOTES: usize = 10;

/// The whole answer. What several clusters have in common is said once, with their names.
pub fn render(view: &View<'_>) -> String {
    let mut out = String::new();
    // Clusters of which nothing is to be said are one line.
    let (empty, gated): (Vec<&ClusterGates>, Vec<&ClusterGates>) =
        view.clusters.iter().partition(|cluster| cluster.simulation.subjects.is_empty());
    let is_proposed = gated.iter().any(|cluster| is_proposal(cluster));
    let mut last = match &*gated {
        [one] => {
            paragraph(&mut out, &one.version.to_string(), "  ");
            Vec::new()
        }
        _ => {
            let versions = gated.iter().map(|cluster| (cluster.name.clone(), cluster.version.clone()));
            heads(&mut out, versions, "all objects").unwrap_or_default()
        }
    };
    if is_proposed {
        paragraph(&mut out, "gates and what waits for them: as the gating RFC says, a proposal", "  ");
    }
    let said = gated.iter().map(|cluster| (cluster.name.clone(), said(view, &cluster.simulation)));
    let mut sections = shared(said);
    // What all of them have in common goes below their head.
    sections.sort_by_key(|(names, _)| *names != last);
    let mut unnamed = gated.iter().filter(|cluster| cluster.name.is_none());
    for (index, (names, said)) in sections.into_iter().enumerate() {
        let named = || gated.iter().find(|cluster| cluster.name.as_ref() == names.first());
        let first = if names.is_empty() { unnamed.next() } else { named() };
        let Some(first) = first else { continue };
        if index > 0 {
            out.push('\n');
        }
        let mut title = of_clusters(&names, "all objects");
        if names.len() > 1 {
            if names != last {
                paragraph(&mut out, &title, "  ");
            }
            title = format!("{} clusters", names.len());
        }
        let ids: HashSet<&ObjectId> = said.iter().map(|(id, _)| id).collect();
        moment(view, &title, &only(&first.simulation, &ids), &mut out);
        last = names;
    }
    if is_proposed {
        out.push('\n');
        paragraph(&mut out, PROPOSAL, "");
    }
    let names: Vec<String> = empty.iter().filter_map(|cluster| cluster.name.clone()).collect();
    match &*empty {
        [] if gated.is_empty() => out.push_str("no cluster was found\n"),
        [] => {}
        _ if gated.is_empty() => out.push_str("nothing gates a deployment\n"),
        [first, ..] => {
            out.push('\n');
            let where_ = of_clusters(&names, &first.title());
            paragraph(&mut out, &format!("nothing gates a deployment in {where_}"), "  ");
        }
    }
    out
}

/// What is said of each object of a cluster, by itself.
fn said(view: &View<'_>, simulation: &Simulation) -> Vec<(ObjectId, String)> {
    let Simulation { range, gates, gated, subjects, frozen } = simulation;
    let mut parts: Vec<(ObjectId, Simulation)> = Vec::new();
    let mut known: HashMap<&ObjectId, usize> = HashMap::new();
    let mut part = |id| {
        let at = *known.entry(id).or_insert(parts.len());
        if at == parts.len() {
            let none =
                Simulation { range: *range, gates: vec![], gated: vec![], subjects: vec![], frozen: vec![] };
            parts.push((id.clone(), none));
        }
        at
    };
    let of_subjects: Vec<usize> = subjects.iter().map(|one| part(&one.id)).collect();
    let of_gates: Vec<usize> = gates.iter().map(|one| part(&one.gate.id)).collect();
    let of_gated: Vec<usize> = gated.iter().map(|one| part(&one.gated.id)).collect();
    let of_frozen: Vec<usize> = frozen.iter().map(|one| part(&one.by)).collect();
    subjects.iter().zip(of_subjects).for_each(|(one, at)| parts[at].1.subjects.push(one.clone()));
    gates.iter().zip(of_gates).for_each(|(one, at)| parts[at].1.gates.push(one.clone()));
    gated.iter().zip(of_gated).for_each(|(one, at)| parts[at].1.gated.push(one.clone()));
    frozen.iter().zip(of_frozen).for_each(|(one, at)| parts[at].1.frozen.push(one.clone()));
    let said = parts.into_iter().map(|(id, part)| {
        let mut out = String::new();
        moment(view, "", &part, &mut out);
        (id, out)
    });
    said.collect()
}

/// What concerns some objects of a simulation.
fn only(simulation: &Simulation, ids: &HashSet<&ObjectId>) -> Simulation {
    let mut part = simulation.clone();
    part.subjects.retain(|one| ids.contains(&one.id));
    part.gates.retain(|one| ids.contains(&one.gate.id));
    part.gated.retain(|one| ids.contains(&one.gated.id));
    part.frozen.retain(|one| ids.contains(&one.by));
    part
}

/// The table of a moment or the chart of a range, and what follows from them.
fn moment(view: &View<'_>, name: &str, simulation: &Simulation, out: &mut String) {
    if view.is_range {
        chart(view, name, simulation, out);
    } else {
        paragraph(out, &format!("{name}, at {}", format_time(simulation.range.from)), "  ");
        table(view, simulation, out);
    }
    transitions(view, simulation, out);
    notes(view, simulation, out);
}

/// What holds at a moment: of gates, of what waits for them, of what is suspended.
fn table(view: &View<'_>, simulation: &Simulation, out: &mut String) {
    if !simulation.gates.is_empty() {
        gates(simulation, out);
    }
    if !simulation.gated.is_empty() {
        out.push('\n');
        gated(simulation, out);
    }
    today(view, simulation, out);
}

fn gates(simulation: &Simulation, out: &mut String) {
    let time = |at: Option<Timestamp>| at.map_or("-".into(), format_time);
    let mut rows = vec![heading(&["GATE", "STATE", "REQUESTED AT", "RESETS AT"])];
    for at in &simulation.gates {
        let name = label(&at.gate.id);
        let name = name.strip_prefix("Gate ").unwrap_or(&name).to_string();
        rows.push(match &at.state {
            Some(state) => vec![
                name,
                state.position.name().into(),
                time(state.requested_at),
                time(state.reset_to_default_at),
            ],
            None => vec![name, "unknown".into(), "-".into(), "-".into()],
        });
    }
    columns(&rows, out);
    for at in &simulation.gates {
        let mut subjects = simulation.subjects.iter().filter(|subject| subject.kind == SubjectKind::Gate);
        let why = match &at.state {
            Some(state) => state.message.clone(),
            None => subjects
                .find(|subject| subject.id == at.gate.id)
                .and_then(|subject| subject.unknown.clone())
                .unwrap_or_default(),
        };
        let _ = writeln!(out, "  {}: {}", clean(&at.gate.id.name), clean(&why));
    }
}

fn gated(simulation: &Simulation, out: &mut String) {
    let mut rows = vec![heading(&["OBJECT", "PROCEEDS", "WAITS FOR"])];
    for at in &simulation.gated {
        let proceeds = match at.proceeds {
            PassState::Opened => "yes",
            PassState::Closed => "no",
            PassState::Unknown => "unknown",
        };
        let closed = at.closed.iter().map(|gate| {
            let missing = if at.missing.contains(gate) { " (missing)" } else { "" };
            format!("{}{missing}", clean(gate))
        });
        let mut waits: Vec<String> = closed.collect();
        if at.suspended == PassState::Closed {
            waits.insert(0, "its suspension".into());
        }
        let waits = if waits.is_empty() { "-".into() } else { waits.join(", ") };
        rows.push(vec![label(&at.gated.id), proceeds.into(), waits]);
    }
    columns(&rows, out);
    for at in simulation.gated.iter().filter(|at| !at.closed.is_empty()) {
        let condition = &at.condition;
        let text = format!(
            "{}: {}={}, {}: {}",
            label(&at.gated.id),
            condition.kind,
            condition.status,
            condition.reason,
            clean(&condition.message)
        );
        for (number, line) in wrap(&text, width() - 4).iter().enumerate() {
            let _ = writeln!(out, "  {}{line}", if number > 0 { "  " } else { "" });
        }
    }
}

/// What controllers do today, whatever gates are proposed.
fn today(view: &View<'_>, simulation: &Simulation, out: &mut String) {
    let mut subjects = charted(simulation);
    let gated: HashSet<&ObjectId> = simulation.gated.iter().map(|at| &at.gated.id).collect();
    subjects.retain(|subject| subject.kind != SubjectKind::Gate && !gated.contains(&subject.id));
    if subjects.is_empty() {
        return;
    }
    if !simulation.gates.is_empty() || !simulation.gated.is_empty() {
        out.push('\n');
    }
    let mut rows = vec![heading(&["TODAY", "STATE", "BY", "UNTIL"])];
    for subject in subjects {
        let until = subject.timeline.changes.first().map(|change| change.at);
        rows.push(vec![
            label(&subject.id),
            subject.timeline.first.name().into(),
            waits_for(subject),
            until.map_or_else(|| view.place(subject.location.as_ref()), format_time),
        ]);
    }
    columns(&rows, out);
}

fn heading(cells: &[&str]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

fn transitions(view: &View<'_>, simulation: &Simulation, out: &mut String) {
    let found = changes(simulation);
    if found.is_empty() {
        return;
    }
    out.push('\n');
    if !view.is_range {
        let days = (simulation.range.to.as_second() - simulation.range.from.as_second()) / DAY;
        let _ = writeln!(out, "the next {days} days, {}", view.zone_name());
    }
    let format = time_format(view, simulation);
    let rows: Vec<Vec<String>> = found
        .iter()
        .take(MAX_TRANSITIONS)
        .map(|(subject, change)| {
            let name = short_name(simulation, &subject.id);
            vec![
                view.local(change.at, format),
                format!("{name} {}", verb(change.state)),
                clean(&change.cause).into_owned(),
                view.place(change.location.as_ref()),
            ]
        })
        .collect();
    columns(&rows, out);
    if found.len() > MAX_TRANSITIONS {
        let _ = writeln!(out, "  and {} more (--format json has all)", found.len() - MAX_TRANSITIONS);
    }
}

/// Day and time; with month and year where the range has several.
fn time_format(view: &View<'_>, simulation: &Simulation) -> &'static str {
    let last = simulation.range.to.checked_sub(SignedDuration::from_secs(1)).unwrap_or(simulation.range.to);
    let [from, to] = [simulation.range.from, last].map(|at| at.to_zoned(view.zone.clone()).date());
    match (from.year() == to.year(), from.month() == to.month()) {
        (true, true) => "%d %H:%M",
        (true, false) => "%b %d %H:%M",
        (false, _) => "%Y-%m-%d %H:%M",
    }
}

/// What follows from closed gates, and how late everything is.
fn notes(view: &View<'_>, simulation: &Simulation, out: &mut String) {
    let mut lines = held(simulation);
    lines.extend(lateness(view, simulation));
    lines.extend(of_gates(simulation));
    if lines.is_empty() {
        return;
    }
    out.push('\n');
    for line in lines.iter().take(MAX_NOTES) {
        paragraph(out, line, "");
    }
    if lines.len() > MAX_NOTES {
        let _ = writeln!(out, "and {} more such remarks (--format json has all)", lines.len() - MAX_NOTES);
    }
}

/// What stands still while a source, or what others depend on, is held back.
fn held(simulation: &Simulation) -> Vec<String> {
    let mut sources: Vec<_> = simulation.frozen.iter().map(|frozen| &frozen.by).collect();
    sources.sort();
    sources.dedup();
    let line = |source: &ObjectId| {
        let held = simulation.frozen.iter().filter(|frozen| frozen.by == *source).count();
        let keep = if held == 1 {
            "its consumer keeps reconciling its last revision".to_string()
        } else {
            format!("its {held} consumers keep reconciling their last revision")
        };
        let gated = simulation.gated.iter().any(|at| at.gated.id == *source);
        let held_by = if gated { "closed" } else { "suspended" };
        if source.group() == "source.toolkit.fluxcd.io" {
            format!("while {} is {held_by}, {keep}: drift is corrected, new commits wait", label(source))
        } else {
            let who = if held == 1 {
                "1 object that depends".into()
            } else {
                format!("{held} objects that depend")
            };
            format!(
                "while {} is closed, {who} on it and share its source wait at the next revision",
                label(source)
            )
        }
    };
    sources.into_iter().map(line).collect()
}

/// When each object may begin, and how late that is.
fn lateness(view: &View<'_>, simulation: &Simulation) -> Vec<String> {
    let format = time_format(view, simulation);
    let line = |at: &GatedAt| {
        let mut subjects = simulation.subjects.iter();
        let subject =
            subjects.find(|subject| subject.kind == SubjectKind::Consumer && subject.id == at.gated.id)?;
        let when = openings(view, simulation, subject, format)?;
        let late = at
            .gated
            .interval
            .map_or(String::new(), |interval| format!(", up to {} late (its interval)", short(interval)));
        let reread = at
            .gate_latency
            .map_or(String::new(), |interval| format!("; gates are re-read every {}", short(interval)));
        let ends = if at.gated.is_source { "" } else { ", and finishes what it began" };
        let starts = if at.gated.is_source { "fetch" } else { "start" };
        Some(format!("{} may {starts} {when}{late}{ends}{reread}", label(&at.gated.id)))
    };
    simulation.gated.iter().filter_map(line).collect()
}

/// Gates that are read too seldom, and those that a webhook sets.
fn of_gates(simulation: &Simulation) -> Vec<String> {
    let mut lines = Vec::new();
    for at in &simulation.gates {
        if let (Some(interval), Some(window)) = (at.gate.interval, at.gate.spec.window)
            && interval.nanoseconds() > window.nanoseconds()
        {
            lines.push(format!(
                "warning: {} is read every {}, which is longer than its window of {}: a request may be over \
                 before it is seen",
                label(&at.gate.id),
                short(interval),
                short(window)
            ));
        }
        for receiver in &at.gate.receivers {
            lines.push(format!(
                "{} names {}: a call of its webhook opens or closes it at any time",
                label(receiver),
                label(&at.gate.id)
            ));
        }
    }
    lines
}

/// `26 10:00 to 11:00, 27 10:00 to 11:00`; none if it never changes.
fn openings(
    view: &View<'_>,
    simulation: &Simulation,
    subject: &TimedSubject,
    format: &str,
) -> Option<String> {
    if subject.timeline.changes.is_empty() {
        return None;
    }
    let spans: Vec<String> = subject
        .timeline
        .intervals(simulation.range)
        .into_iter()
        .filter(|(_, _, state)| *state == PassState::Opened)
        .map(|(from, to, _)| {
            let day = |at: Timestamp| view.local(at, "%Y %m %d");
            match (from == simulation.range.from, to) {
                (true, None) => "all the time".into(),
                (true, Some(to)) => format!("until {}", view.local(to, format)),
                (false, None) => format!("from {}", view.local(from, format)),
                (false, Some(to)) => {
                    let end = if day(from) == day(to) { "%H:%M" } else { format };
                    format!("{} to {}", view.local(from, format), view.local(to, end))
                }
            }
        })
        .collect();
    match &*spans {
        [] => None,
        [first, .., last] if spans.len() > 4 => {
            Some(format!("{first}, {} more times, {last}", spans.len() - 2))
        }
        _ => Some(spans.join(", ")),
    }
}
