//! The chart of a range: a bar for each gate and each object that waits.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Span, Timestamp};
use std::fmt::Write as _;

use super::{View, charted, short_label, waits_for};
use crate::report::parts::drawn_width;
use crate::simulate::gating::timeline::{PassState, Range, Simulation, SubjectKind, TimedSubject};

const MAX_LABEL: usize = 34;
const MIN_CELLS: usize = 24;

/// The cells of a chart: their starts, and the end of the last.
struct Cells {
    starts: Vec<Timestamp>,
    end: Timestamp,
    /// What one cell stands for: `2h`, `1d`.
    step: String,
}

const MINUTE: i64 = 60;

const HOUR: i64 = 60 * MINUTE;

pub(super) const DAY: i64 = 24 * HOUR;

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
fn cell(subject: &TimedSubject, from: Timestamp, to: Timestamp, ascii: bool) -> char {
    let mut states = vec![subject.timeline.at(from)];
    states.extend(subject.timeline.changes.iter().filter(|c| c.at > from && c.at < to).map(|c| c.state));
    let all = |state: PassState| states.iter().all(|found| *found == state);
    match () {
        () if states.contains(&PassState::Unknown) => '?',
        () if all(PassState::Opened) => {
            if ascii {
                '#'
            } else {
                '█'
            }
        }
        () if all(PassState::Closed) => {
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

pub(super) fn chart(view: &View<'_>, name: &str, simulation: &Simulation, out: &mut String) {
    let rows = chart_rows(simulation);
    let label_width = widest(rows.iter().map(|row| &row.label));
    let mut note_width = widest(rows.iter().map(|row| &row.note));
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
    if rows.iter().any(|row| row.subject.timeline.ever(PassState::Unknown)) {
        legend.push_str("   ? unknown");
    }
    if head.chars().count() + 3 + legend.chars().count() <= drawn_width() {
        let gap = drawn_width() - legend.chars().count() - head.chars().count();
        let _ = writeln!(out, "{head}{}{legend}", " ".repeat(gap.min(5)));
    } else {
        let _ = writeln!(out, "{head}\n{legend}");
    }
    let _ = writeln!(out, "{}", ruler(view, &cells, label_width).trim_end());
    for ChartRow { subject, label, note } in &rows {
        let bar: String = cells.spans().map(|(from, to)| cell(subject, from, to, view.ascii)).collect();
        let note = if note_width > 0 { note.as_str() } else { "" };
        let line = format!("{label:label_width$} {bar}  {note}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// A row of a chart.
struct ChartRow<'s> {
    subject: &'s TimedSubject,
    label: String,
    note: String,
}

/// The rows of a chart. What has the same schedule and waits for the same shares one.
fn chart_rows(simulation: &Simulation) -> Vec<ChartRow<'_>> {
    let mut rows: Vec<(&TimedSubject, usize)> = Vec::new();
    for subject in charted(simulation) {
        let is_same = |(first, _): &&mut (&TimedSubject, usize)| {
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
    let label = |subject: &TimedSubject, more| match more {
        0 => short_label(&subject.id, MAX_LABEL),
        more => {
            let tail = format!(" and {more} more");
            format!("{}{tail}", short_label(&subject.id, MAX_LABEL - tail.chars().count()))
        }
    };
    let note = |subject: &TimedSubject| match &subject.unknown {
        Some(_) if subject.timeline.changes.is_empty() => "unknown".into(),
        _ => waits_for(subject),
    };
    let row = |(subject, more)| ChartRow { subject, label: label(subject, more), note: note(subject) };
    rows.into_iter().map(row).collect()
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

/// The characters of the longest text.
fn widest<'t>(texts: impl Iterator<Item = &'t String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
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
