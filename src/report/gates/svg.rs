//! A self-contained picture: one bar per row on a time axis, for light and dark
//! surroundings. Opened is a thick bar, closed a thin line, unknown a dashed
//! frame, so that nothing depends on colour.

use std::fmt::Write as _;

use jiff::civil::Time;
use jiff::{Span, Timestamp, Zoned};

use super::{ClusterGates, PICTURE_NOTE, View, charted, is_proposal, short_label, shorten, shown, waits_for};
use crate::report::markup::escape;
use crate::simulate::gating::timeline::{PassState, Range, SubjectKind, TimedSubject};

const MARGIN: f64 = 16.0;
const ROW: f64 = 22.0;
const FONT: f64 = 12.0;
/// Width of a character of the fixed-width fonts in use, in units of their size.
const CHARACTER: f64 = 0.61;
const BARS: f64 = 620.0;
const MAX_LABEL: usize = 46;
const MAX_NOTE: usize = 24;

const STYLE: &str = "
  text { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace; fill: #1f2328 }
  .m { fill: #59636e } .b { font-weight: bold }
  .back { fill: #ffffff } .grid { stroke: #d1d9e0 } .zebra { fill: #f6f8fa }
  .o { fill: #1a7f37 } .c { fill: #cf222e } .x { fill: #9a6700 } .u { fill: none; stroke: #9a6700; stroke-dasharray: 3 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .m { fill: #9198a1 }
    .back { fill: #0d1117 } .grid { stroke: #3d444d } .zebra { fill: #151b23 }
    .o { fill: #3fb950 } .c { fill: #f85149 } .x { fill: #d29922 } .u { stroke: #d29922 }
  }
";

/// The picture of all clusters, one below the other.
pub fn render(view: &View<'_>) -> String {
    let mut picture = Picture { body: String::new(), y: MARGIN, width: 0.0 };
    for cluster in shown(view) {
        picture.cluster(view, cluster);
    }
    let (width, height) = (picture.width, picture.y);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-label=\"Gates over time\">\n\
         <style>{STYLE}</style>\n<rect class=\"back\" width=\"100%\" height=\"100%\"/>\n{}</svg>\n",
        picture.body
    )
}

struct Picture {
    body: String,
    /// Where the next thing goes.
    y: f64,
    width: f64,
}

/// Where time lies horizontally.
struct Axis {
    range: Range,
    left: f64,
}

impl Axis {
    fn x(&self, at: Timestamp) -> f64 {
        let seconds = |from: Timestamp, to: Timestamp| (to.as_second() - from.as_second()) as f64;
        let whole = seconds(self.range.from, self.range.to).max(1.0);
        self.left + BARS * (seconds(self.range.from, at) / whole).clamp(0.0, 1.0)
    }
}

fn text_width(characters: usize, size: f64) -> f64 {
    characters as f64 * size * CHARACTER
}

impl Picture {
    fn text(&mut self, x: f64, baseline: f64, size: f64, class: &str, text: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = writeln!(
            self.body,
            "<text x=\"{x:.1}\" y=\"{baseline:.1}\" font-size=\"{size}\"{class}>{}</text>",
            escape(text)
        );
        self.width = self.width.max(x + text_width(text.chars().count(), size) + MARGIN);
    }

    fn cluster(&mut self, view: &View<'_>, cluster: &ClusterGates) {
        let simulation = &cluster.simulation;
        let rows = charted(simulation);
        self.text(MARGIN, self.y + 16.0, 16.0, "b", &format!("Gates of {}", cluster.title()));
        let time = |at| view.local(at, "%a %d %b %Y %H:%M");
        let span =
            format!("{} to {}, {}", time(simulation.range.from), time(simulation.range.to), view.zone_name());
        self.text(MARGIN, self.y + 36.0, FONT, "m", &span);
        self.legend(self.y + 50.0);
        self.y += 78.0;
        if rows.is_empty() {
            self.text(MARGIN, self.y + 12.0, FONT, "", "nothing gates a deployment");
            self.y += ROW + MARGIN;
            return;
        }
        if is_proposal(cluster) {
            self.text(MARGIN, self.y + 8.0, 11.0, "m", PICTURE_NOTE);
            self.y += ROW;
        }
        let labels: Vec<String> = rows.iter().map(|row| short_label(&row.id, MAX_LABEL)).collect();
        let notes: Vec<String> = rows.iter().map(|row| shorten(&waits_for(row), MAX_NOTE)).collect();
        let widest = |texts: &[String]| texts.iter().map(|text| text.chars().count()).max().unwrap_or(0);
        let axis = Axis { range: simulation.range, left: MARGIN + text_width(widest(&labels), FONT) + 12.0 };
        let right = axis.left + BARS;
        self.width = self.width.max(right + 12.0 + text_width(widest(&notes), FONT) + MARGIN);

        let top = self.y;
        self.y += 20.0;
        let first_row = self.y;
        let mut group = None;
        let mut bars = Vec::new();
        for (subject, (label, note)) in rows.iter().zip(labels.iter().zip(&notes)) {
            let heading = heading(subject.kind);
            if group != Some(heading) {
                group = Some(heading);
                self.text(MARGIN, self.y + 15.0, 11.0, "m", heading);
                self.y += ROW;
            }
            if bars.len() % 2 == 0 {
                self.zebra();
            }
            bars.push((self.y, *subject));
            self.text(MARGIN, self.y + 15.0, FONT, "", label);
            if !note.is_empty() {
                self.text(right + 12.0, self.y + 15.0, FONT, "m", note);
            }
            self.y += ROW;
        }
        self.marks(&axis, &ticks(view, simulation.range), (top, first_row));
        for (y, subject) in bars {
            self.bar(view, &axis, y, subject);
        }
        self.y += 20.0 + MARGIN;
    }

    /// The ground of every other row.
    fn zebra(&mut self) {
        let width = self.width - 2.0 * MARGIN + 8.0;
        let _ = writeln!(
            self.body,
            "<rect class=\"zebra\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{ROW}\"/>",
            MARGIN - 4.0,
            self.y
        );
    }

    /// Lines and texts of the time axis, from its top to below the last row.
    fn marks(&mut self, axis: &Axis, ticks: &[(Timestamp, String)], (top, first_row): (f64, f64)) {
        let right = axis.left + BARS;
        for (at, text) in ticks {
            let x = axis.x(*at);
            let _ = writeln!(
                self.body,
                "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{:.1}\"/>",
                top + 4.0,
                self.y
            );
            // No room is left beside the last marks.
            if x + 4.0 + text_width(text.len(), 11.0) > right {
                continue;
            }
            self.text(x + 4.0, top + 14.0, 11.0, "m", text);
            // Far below the axis it is repeated.
            if self.y - first_row > 20.0 * ROW {
                self.text(x + 4.0, self.y + 14.0, 11.0, "m", text);
            }
        }
    }

    fn legend(&mut self, y: f64) {
        let mut x = MARGIN;
        for (state, text) in [
            (Some(PassState::Opened), "opened"),
            (Some(PassState::Closed), "closed"),
            (None, "changes too often to draw"),
            (Some(PassState::Unknown), "unknown"),
        ] {
            self.piece(x, y, 28.0, state, "");
            self.text(x + 36.0, y + 15.0, FONT, "m", text);
            x += 36.0 + text_width(text.len(), FONT) + 24.0;
        }
    }

    /// A piece of a bar; no state stands for a mixture.
    fn piece(&mut self, x: f64, y: f64, width: f64, state: Option<PassState>, title: &str) {
        let (class, height) = match state {
            Some(PassState::Opened) => ("o", 14.0),
            Some(PassState::Closed) => ("c", 4.0),
            Some(PassState::Unknown) => ("u", 10.0),
            None => ("x", 8.0),
        };
        let _ = writeln!(
            self.body,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height}\" \
             rx=\"1\"><title>{}</title></rect>",
            y + (ROW - height) / 2.0,
            escape(title)
        );
    }

    fn bar(&mut self, view: &View<'_>, axis: &Axis, y: f64, subject: &TimedSubject) {
        let time = |at: Timestamp| view.local(at, "%a %d %b %H:%M");
        let mut mixed: Option<(f64, f64)> = None;
        for (from, to, state) in subject.timeline.intervals(axis.range) {
            let end = to.unwrap_or(axis.range.to);
            let (x, width) = (axis.x(from), axis.x(end) - axis.x(from));
            // What is narrower than a pixel is drawn together.
            if width < 1.0 {
                mixed = Some((mixed.map_or(x, |(start, _)| start), x + width));
                continue;
            }
            if let Some((start, end)) = mixed.take() {
                self.piece(start, y, (end - start).max(1.0), None, "opens and closes");
            }
            let title = format!("{}: {} to {}", state.name(), time(from), time(end));
            self.piece(x, y, width, Some(state), &title);
        }
        if let Some((start, end)) = mixed {
            self.piece(start, y, (end - start).max(1.0), None, "opens and closes");
        }
    }
}

fn heading(kind: SubjectKind) -> &'static str {
    match kind {
        SubjectKind::Gate => "Gates",
        SubjectKind::Consumer => "What waits for gates",
        SubjectKind::Schedule => "Schedules",
        SubjectKind::Suspend | SubjectKind::CronJob => "Suspensions",
    }
}

/// A distance between the marks of an axis.
#[derive(Clone, Copy)]
enum AxisStep {
    Minutes(i32),
    Hours(i32),
    Days(i32),
    Months(i32),
}

/// Marks in the view's zone, at full hours, midnights, Mondays or firsts of a
/// month, so far apart that their texts have room.
fn ticks(view: &View<'_>, range: Range) -> Vec<(Timestamp, String)> {
    use AxisStep::{Days, Hours, Minutes, Months};
    let seconds = (range.to.as_second() - range.from.as_second()).max(1);
    let (step, _) = [
        (Minutes(10), 600),
        (Minutes(30), 1800),
        (Hours(1), 3600),
        (Hours(3), 10_800),
        (Hours(6), 21_600),
        (Hours(12), 43_200),
        (Days(1), 86_400),
        (Days(2), 172_800),
        (Days(7), 604_800),
        (Months(1), 28 * 86_400),
        (Months(3), 90 * 86_400),
    ]
    .into_iter()
    .find(|(_, length)| BARS * *length as f64 / seconds as f64 > text_width(8, 11.0))
    .unwrap_or((Months(12), 365 * 86_400));
    let Some(mut at) = first_tick(range.from.to_zoned(view.zone.clone()), step) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    while at.timestamp() < range.to && found.len() < 100 {
        if at.timestamp() >= range.from {
            let midnight = at.time() == Time::midnight();
            let format = match step {
                Minutes(_) | Hours(_) if !midnight => "%H:%M",
                Minutes(_) | Hours(_) | Days(1) => "%a %d",
                Days(_) => "%b %d",
                Months(_) => "%b %Y",
            };
            found.push((at.timestamp(), at.strftime(format).to_string()));
        }
        match next_tick(&at, step) {
            Some(next) if next > at => at = next,
            _ => break,
        }
    }
    found
}

fn first_tick(from: Zoned, step: AxisStep) -> Option<Zoned> {
    let day = from.date();
    let start = match step {
        AxisStep::Days(7) => {
            let back = i32::from(day.weekday().to_monday_zero_offset());
            day.checked_sub(Span::new().days(back)).ok()?
        }
        AxisStep::Months(1) => day.first_of_month(),
        AxisStep::Months(_) => day.first_of_year(),
        AxisStep::Days(_) | AxisStep::Hours(_) | AxisStep::Minutes(_) => day,
    };
    start.to_datetime(Time::midnight()).to_zoned(from.time_zone().clone()).ok()
}

/// The next mark on the wall clock, so that midnights stay midnights.
fn next_tick(at: &Zoned, step: AxisStep) -> Option<Zoned> {
    let span = match step {
        AxisStep::Minutes(count) => Span::new().minutes(count),
        AxisStep::Hours(count) => Span::new().hours(count),
        AxisStep::Days(count) => Span::new().days(count),
        AxisStep::Months(count) => Span::new().months(count),
    };
    at.datetime().checked_add(span).ok()?.to_zoned(at.time_zone().clone()).ok()
}
