//! Text: a table of what holds at one moment, or a chart of a range.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};

use super::{Cluster, PROPOSAL, View, charted, is_proposal, label, short_label, short_name, verb, waits_for};
use crate::lang::text::clean;
use crate::lang::text::wrap;
use crate::model::ObjectId;
use crate::report::parts::{columns, drawn_width, of_clusters, paragraph, shared, width};
use crate::report::stated::heads;
use crate::simulate::gating::format_time;
use crate::simulate::gating::timeline::{Range, Simulation, State, Subject, SubjectKind, changes, short};

const MAX_LABEL: usize = 34;
const MIN_CELLS: usize = 24;
/// Transitions, waits and consumers above these are counted.
const MAX_TRANSITIONS: usize = 100;
const MAX_NOTES: usize = 10;

/// The whole answer. What several clusters have in common is said once, with their names.
pub fn render(view: &View<'_>) -> String {
    let mut out = String::new();
    // Clusters of which nothing is to be said are one line.
    let (empty, gated): (Vec<&Cluster>, Vec<&Cluster>) =
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

fn table(view: &View<'_>, simulation: &Simulation, out: &mut String) {
    let time = |at: Option<Timestamp>| at.map_or("-".into(), format_time);
    if !simulation.gates.is_empty() {
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
    if !simulation.gated.is_empty() {
        out.push('\n');
        let mut rows = vec![heading(&["OBJECT", "PROCEEDS", "WAITS FOR"])];
        for at in &simulation.gated {
            let proceeds = match at.proceeds {
                State::Opened => "yes",
                State::Closed => "no",
                State::Unknown => "unknown",
            };
            let mut waits: Vec<String> = at
                .closed
                .iter()
                .map(|gate| {
                    let missing = if at.missing.contains(gate) { " (missing)" } else { "" };
                    format!("{}{missing}", clean(gate))
                })
                .collect();
            if at.suspended == State::Closed {
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
    let today: Vec<&Subject> = charted(simulation)
        .into_iter()
        .filter(|subject| {
            subject.kind != SubjectKind::Gate && simulation.gated.iter().all(|at| at.gated.id != subject.id)
        })
        .collect();
    if !today.is_empty() {
        if !simulation.gates.is_empty() || !simulation.gated.is_empty() {
            out.push('\n');
        }
        let mut rows = vec![heading(&["TODAY", "STATE", "BY", "UNTIL"])];
        for subject in today {
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
}

fn heading(cells: &[&str]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

/// The cells of a chart: their starts, and the end of the last.
struct Cells {
    starts: Vec<Timestamp>,
    end: Timestamp,
    /// What one cell stands for: `2h`, `1d`.
    step: String,
}

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Lengths of a cell, in seconds.
const STEPS: [i64; 21] = [
    MINUTE,
    2 * MINUTE,
    3 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    20 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    4 * HOUR,
    6 * HOUR,
    8 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
    28 * DAY,
    91 * DAY,
];

impl Cells {
    /// The finest cells of which at most `width` cover the range. Those of whole
    /// days follow the calendar, so that a change of the clock does not shift them.
    fn new(range: Range, width: usize, zone: &TimeZone) -> Cells {
        let seconds = (range.to.as_second() - range.from.as_second()).max(1);
        let fits = |step: &i64| (seconds + step - 1) / step <= width as i64;
        let days = seconds / (width as i64 * DAY) + 1;
        let step = STEPS.into_iter().find(fits).unwrap_or(days * DAY);
        let mut starts = Vec::new();
        let mut next = Some(range.from);
        while let Some(start) = next.filter(|start| *start < range.to && starts.len() < width) {
            starts.push(start);
            next = if step % DAY == 0 {
                let days = Span::new().try_days(step / DAY);
                days.and_then(|days| start.to_zoned(zone.clone()).checked_add(days))
                    .ok()
                    .map(|next| next.timestamp())
            } else {
                start.checked_add(SignedDuration::from_secs(step)).ok()
            };
        }
        let name = match step {
            _ if step % DAY == 0 => format!("{}d", step / DAY),
            _ if step % HOUR == 0 => format!("{}h", step / HOUR),
            _ => format!("{}m", step / MINUTE),
        };
        Cells { starts, end: range.to, step: name }
    }

    fn spans(&self) -> impl Iterator<Item = (Timestamp, Timestamp)> {
        let ends = self.starts.iter().skip(1).copied().chain([self.end]);
        self.starts.iter().copied().zip(ends)
    }
}

/// The picture of one span of a timeline.
fn cell(subject: &Subject, from: Timestamp, to: Timestamp, ascii: bool) -> char {
    let mut states = vec![subject.timeline.at(from)];
    states.extend(subject.timeline.changes.iter().filter(|c| c.at > from && c.at < to).map(|c| c.state));
    let all = |state: State| states.iter().all(|found| *found == state);
    match () {
        () if states.contains(&State::Unknown) => '?',
        () if all(State::Opened) => {
            if ascii {
                '#'
            } else {
                '█'
            }
        }
        () if all(State::Closed) => {
            if ascii {
                '.'
            } else {
                '░'
            }
        }
        () => {
            if ascii {
                '+'
            } else {
                '▌'
            }
        }
    }
}

fn chart(view: &View<'_>, name: &str, simulation: &Simulation, out: &mut String) {
    // What has the same schedule and waits for the same shares a row.
    let mut rows: Vec<(&Subject, usize)> = Vec::new();
    for subject in charted(simulation) {
        let is_same = |(first, _): &&mut (&Subject, usize)| {
            subject.kind != SubjectKind::Gate
                && first.kind == subject.kind
                && first.timeline == subject.timeline
                && first.waits_for == subject.waits_for
                && first.unknown == subject.unknown
        };
        match rows.iter_mut().find(is_same) {
            Some((_, more)) => *more += 1,
            None => rows.push((subject, 0)),
        }
    }
    let counts: Vec<usize> = rows.iter().map(|(_, more)| *more).collect();
    let rows: Vec<&Subject> = rows.into_iter().map(|(subject, _)| subject).collect();
    let labels: Vec<String> = rows
        .iter()
        .zip(&counts)
        .map(|(subject, more)| match more {
            0 => short_label(&subject.id, MAX_LABEL),
            more => {
                let tail = format!(" and {more} more");
                format!("{}{tail}", short_label(&subject.id, MAX_LABEL - tail.chars().count()))
            }
        })
        .collect();
    let notes: Vec<String> = rows
        .iter()
        .map(|subject| {
            let changes = subject.timeline.changes.is_empty();
            match &subject.unknown {
                Some(_) if changes => "unknown".into(),
                _ => waits_for(subject),
            }
        })
        .collect();
    let widest = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
    let label_width = widest(&labels);
    let mut note_width = widest(&notes);
    // Bars come before remarks.
    if label_width + note_width + 3 + MIN_CELLS > drawn_width() {
        note_width = 0;
    }
    let taken = label_width + 1 + if note_width > 0 { note_width + 2 } else { 0 };
    let room = drawn_width().saturating_sub(taken).max(MIN_CELLS);
    let cells = Cells::new(simulation.range, room, view.zone);

    let head = format!("{name}, {}, 1 cell = {}", view.zone_name(), cells.step);
    let mut legend = if view.ascii {
        String::from("# open   + partly open   . closed")
    } else {
        String::from("█ open   ▌ partly open   ░ closed")
    };
    if rows.iter().any(|subject| subject.timeline.ever(State::Unknown)) {
        legend.push_str("   ? unknown");
    }
    if head.chars().count() + 3 + legend.chars().count() <= drawn_width() {
        let gap = drawn_width() - legend.chars().count() - head.chars().count();
        let _ = writeln!(out, "{head}{}{legend}", " ".repeat(gap.min(5)));
    } else {
        let _ = writeln!(out, "{head}\n{legend}");
    }
    let _ = writeln!(out, "{}", ruler(view, &cells, label_width).trim_end());
    for ((subject, label), note) in rows.iter().zip(&labels).zip(&notes) {
        let bar: String = cells.spans().map(|(from, to)| cell(subject, from, to, view.ascii)).collect();
        let note = if note_width > 0 { note.as_str() } else { "" };
        let line = format!("{label:label_width$} {bar}  {note}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// The line of dates, or of hours, above the bars.
fn ruler(view: &View<'_>, cells: &Cells, indent: usize) -> String {
    let seconds = cells.end.as_second() - cells.starts.first().map_or(0, |start| start.as_second());
    let (format, distance) = match seconds {
        0..=3_600 => ("%H:%M", Span::new().minutes(10)),
        3_601..=14_400 => ("%H:%M", Span::new().minutes(30)),
        14_401..=108_000 => ("%H:%M", Span::new().hours(1)),
        108_001..=1_382_400 => ("%a %d", Span::new().days(1)),
        1_382_401..=31_622_400 => ("%b %d", Span::new().days(1)),
        _ => ("%b %Y", Span::new().days(1)),
    };
    let mut line = " ".repeat(indent + 1);
    // From the midnight before on, marks follow the wall clock.
    let first = cells.starts.first().map(|start| start.to_zoned(view.zone.clone()).date());
    let mut mark = first.map(|day| day.to_datetime(Time::midnight()));
    for (column, (from, to)) in cells.spans().enumerate() {
        let mut found = None;
        while let Some(wall) = mark {
            match view.zone.to_timestamp(wall) {
                Ok(at) if at >= to => break,
                Ok(at) if at >= from => found = found.or(Some(at)),
                _ => {}
            }
            mark = wall.checked_add(distance).ok();
        }
        let Some(at) = found else {
            continue;
        };
        let text = view.local(at, format);
        let column = indent + 1 + column;
        let used = line.chars().count();
        if (used == indent + 1 || used < column) && column + text.len() <= drawn_width() {
            line.push_str(&" ".repeat(column - used));
            line.push_str(&text);
        }
    }
    line
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
    let mut lines = Vec::new();
    let mut sources: Vec<_> = simulation.frozen.iter().map(|frozen| &frozen.by).collect();
    sources.sort();
    sources.dedup();
    for source in sources {
        let held = simulation.frozen.iter().filter(|frozen| frozen.by == *source).count();
        let keep = if held == 1 {
            "its consumer keeps reconciling its last revision".to_string()
        } else {
            format!("its {held} consumers keep reconciling their last revision")
        };
        let gated = simulation.gated.iter().any(|at| at.gated.id == *source);
        let held_by = if gated { "closed" } else { "suspended" };
        lines.push(if source.group() == "source.toolkit.fluxcd.io" {
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
        });
    }
    let format = time_format(view, simulation);
    for at in &simulation.gated {
        let subject = simulation
            .subjects
            .iter()
            .find(|subject| subject.kind == SubjectKind::Consumer && subject.id == at.gated.id);
        let Some(subject) = subject else {
            continue;
        };
        let when = openings(view, simulation, subject, format);
        let Some(when) = when else {
            continue;
        };
        let late = at
            .gated
            .interval
            .map_or(String::new(), |interval| format!(", up to {} late (its interval)", short(interval)));
        let reread = at
            .gate_latency
            .map_or(String::new(), |interval| format!("; gates are re-read every {}", short(interval)));
        let ends = if at.gated.is_source { "" } else { ", and finishes what it began" };
        let starts = if at.gated.is_source { "fetch" } else { "start" };
        lines.push(format!("{} may {starts} {when}{late}{ends}{reread}", label(&at.gated.id)));
    }
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

/// `26 10:00 to 11:00, 27 10:00 to 11:00`; none if it never changes.
fn openings(view: &View<'_>, simulation: &Simulation, subject: &Subject, format: &str) -> Option<String> {
    if subject.timeline.changes.is_empty() {
        return None;
    }
    let spans: Vec<String> = subject
        .timeline
        .intervals(simulation.range)
        .into_iter()
        .filter(|(_, _, state)| *state == State::Opened)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn range(from: &str, to: &str) -> Range {
        Range { from: from.parse().unwrap(), to: to.parse().unwrap() }
    }

    #[test]
    fn cells_are_as_fine_as_fits() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        for (from, to, width, count, step) in [
            ("2026-03-26T00:00:00Z", "2026-03-29T00:00:00Z", 36, 36, "2h"),
            ("2026-03-26T00:00:00Z", "2026-03-29T00:00:00Z", 35, 24, "3h"),
            ("2026-03-26T00:00:00Z", "2026-03-26T01:00:00Z", 60, 60, "1m"),
            ("2026-03-26T00:00:00Z", "2026-03-26T01:00:01Z", 60, 31, "2m"),
            // A month of 743 hours.
            ("2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z", 40, 31, "1d"),
        ] {
            let cells = Cells::new(range(from, to), width, &berlin);
            assert_eq!((cells.starts.len(), &*cells.step), (count, step), "{from} {to}");
        }
    }

    #[test]
    fn days_begin_at_midnight_on_both_sides_of_a_change_of_the_clock() {
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        let cells = Cells::new(range("2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"), 40, &berlin);
        for start in cells.starts {
            assert_eq!(start.to_zoned(berlin.clone()).hour(), 0);
        }
    }
}
