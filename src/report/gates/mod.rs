//! The answers of `simulate gates`: text with a chart, JSON, Mermaid and SVG.

mod chart;
pub(crate) mod json;
pub(crate) mod mermaid;
pub(crate) mod svg;
pub(crate) mod text;
pub(crate) mod why;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rustc_hash::FxHashSet;

use crate::files::Snapshot;
use crate::lang::text::clean;
use crate::lang::yaml::Location;
use crate::model::ObjectId;
use crate::report::stated::StatedVersions;
use crate::simulate::gating::timeline::{PassState, Simulation, SubjectKind, TimedSubject};

/// The answer of one cluster.
pub struct ClusterGates {
    /// Its name; none in a repository without entry points.
    pub name: Option<String>,
    /// The directory that its root applies, relative to the repository's root.
    pub root: String,
    /// What was simulated.
    pub simulation: Simulation,
    /// Whether its controllers have the proposed Gate API, as far as known.
    pub has_gates: bool,
    /// Which version is simulated, and from where it is known.
    pub version: StatedVersions,
    /// CronJobs with a command about a suspension that was not read.
    pub unread: Vec<(ObjectId, String)>,
}

/// What to show, and how.
pub struct View<'a> {
    /// Where lines and columns come from.
    pub snapshot: &'a Snapshot,
    /// The clusters, in order.
    pub clusters: &'a [ClusterGates],
    /// The zone of printed times.
    pub zone: &'a TimeZone,
    /// Whether a range was asked for, which is charted.
    pub is_range: bool,
    /// Draw with ASCII characters only.
    pub ascii: bool,
}

impl View<'_> {
    /// `path:line` of a location.
    fn place(&self, location: Option<&Location>) -> String {
        location.map_or(String::new(), |location| {
            let ((line, _), _) = self.snapshot.positions(location);
            format!("{}:{line}", clean(location.file.shown()))
        })
    }

    /// The zone's name.
    fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    fn local(&self, at: Timestamp, format: &str) -> String {
        at.to_zoned(self.zone.clone()).strftime(format).to_string()
    }
}

impl ClusterGates {
    /// `cluster production`; without entry points the overlay or the repository.
    fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("cluster {}", clean(name)),
            None if self.root.is_empty() => "this repository".into(),
            None => clean(&self.root).into_owned(),
        }
    }
}

/// `Kind namespace/name`, safe to print.
fn label(id: &ObjectId) -> String {
    clean(&id.to_string()).into_owned()
}

/// The label in at most so many columns. The kind gives way before the name.
fn short_label(id: &ObjectId, width: usize) -> String {
    let label = label(id);
    let excess = label.chars().count().saturating_sub(width);
    let kind = id.kind.chars().count();
    if excess == 0 {
        return label;
    }
    if kind < excess + 8 {
        return shorten(&label, width);
    }
    let start: String = label.chars().take(kind - excess - 2).collect();
    let rest: String = label.chars().skip(kind).collect();
    format!("{start}..{rest}")
}

/// An object's name alone where that says which it is, else its label.
fn short_name(simulation: &Simulation, id: &ObjectId) -> String {
    let mut same = simulation.subjects.iter().filter(|subject| subject.id.name == id.name);
    if same.all(|subject| subject.id == *id) { clean(&id.name).into_owned() } else { label(id) }
}

/// The clusters to draw: those that gate something, else the first.
fn shown<'v>(view: &View<'v>) -> Vec<&'v ClusterGates> {
    let gated: Vec<&ClusterGates> =
        view.clusters.iter().filter(|cluster| !cluster.simulation.subjects.is_empty()).collect();
    if gated.is_empty() { view.clusters.iter().take(1).collect() } else { gated }
}

/// Subjects that a chart shows, in order: gates, then what waits for them, then
/// what gates today.
fn charted(simulation: &Simulation) -> Vec<&TimedSubject> {
    let rank = |subject: &TimedSubject| match subject.kind {
        SubjectKind::Gate => 0,
        SubjectKind::Consumer => 1,
        SubjectKind::Schedule => 2,
        SubjectKind::CronJob | SubjectKind::Suspend => 3,
    };
    let of_consumers = simulation.subjects.iter().filter(|subject| subject.kind == SubjectKind::Consumer);
    let consumers: FxHashSet<&ObjectId> = of_consumers.map(|subject| &subject.id).collect();
    // A suspension shows in the row of its consumer.
    let mut found: Vec<&TimedSubject> = simulation
        .subjects
        .iter()
        .filter(|subject| {
            !matches!(subject.kind, SubjectKind::Suspend | SubjectKind::CronJob)
                || !consumers.contains(&subject.id)
        })
        .collect();
    found.sort_by_key(|subject| rank(subject));
    found
}

/// What a row of a chart waits for, in a few words.
fn waits_for(subject: &TimedSubject) -> String {
    match (&*subject.waits_for, subject.kind) {
        ([], SubjectKind::Suspend) => "suspended".into(),
        ([], SubjectKind::CronJob) => "CronJob".into(),
        ([], SubjectKind::Schedule) => "schedule".into(),
        ([], _) => String::new(),
        ([one], _) => clean(one).into_owned(),
        ([_, _], _) if subject.waits_for[0] != "suspend" => "both gates".into(),
        (several, _) if several[0] != "suspend" => format!("{} gates", several.len()),
        ([_, one], _) => format!("suspend, {}", clean(one)),
        (several, _) => format!("suspend, {} gates", several.len() - 1),
    }
}

fn verb(state: PassState) -> &'static str {
    match state {
        PassState::Opened => "opens",
        PassState::Closed => "closes",
        PassState::Unknown => "becomes unknown",
    }
}

/// Shortens a text in its middle to a width.
fn shorten(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width || width < 5 {
        return text.to_string();
    }
    let head = (width - 2) / 2;
    let tail = width - 2 - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}..{end}")
}

/// What pictures say of a cluster whose controllers are not known to have gates.
const PICTURE_NOTE: &str = "no released Flux has gates: this is what the gating RFC, a proposal, says";

/// Whether anything of the proposal is in an answer, and the controllers are not
/// known to have it.
fn is_proposal(cluster: &ClusterGates) -> bool {
    let simulation = &cluster.simulation;
    (!simulation.gates.is_empty() || !simulation.gated.is_empty()) && !cluster.has_gates
}

/// What is said once per cluster whose controllers are not known to have gates.
const PROPOSAL: &str = "warning: no released Flux controller has gates (the gating RFC is a proposal); \
    this is what it says would happen. Needs CRD gates.gating.toolkit.fluxcd.io";
