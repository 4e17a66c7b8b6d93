//! The answer of `simulate events`: text and JSON.

pub(crate) mod json;
pub(crate) mod text;

use crate::files::Snapshot;
use crate::model::ObjectId;
use crate::report::stated::StatedVersions;
use crate::simulate::notify::simulate::Simulation;

/// One simulated event.
pub(crate) struct SimulatedEvent<'a> {
    /// The object that it is about.
    pub object: ObjectId,
    /// The cluster that it is in, where that is not the one at hand.
    pub target: Option<&'a str>,
    /// Whether helm-controller makes it.
    pub is_made: bool,
    /// The controller that emits it; empty if none is known to.
    pub controller: &'a str,
    /// What becomes of it.
    pub simulation: Simulation<'a>,
}

/// The answers of one cluster.
pub(crate) struct ClusterEvents<'a> {
    /// Its name; none in a repository without entry points.
    pub name: Option<&'a str>,
    /// Which version is simulated, and from where it is known.
    pub version: StatedVersions,
    /// What is to be said of a version that differs, or is not known.
    pub note: Option<String>,
    /// One per object, in order.
    pub answers: Vec<SimulatedEvent<'a>>,
    pub alerts: Vec<&'a ObjectId>,
    /// Those of them that ask for errors only.
    pub errors_only: Vec<&'a ObjectId>,
}

/// What to show, and how.
pub(crate) struct View<'a> {
    /// Where lines and columns come from.
    pub snapshot: &'a Snapshot,
    /// The clusters, in order.
    pub clusters: &'a [ClusterEvents<'a>],
    /// Show objects that no alert wants, and every alert.
    pub explain: bool,
    /// Whether JSON lists every alert of every event.
    pub lists_alerts: bool,
    /// Whether long values are cut, as on a terminal.
    pub cuts: bool,
    /// Whether events of severity `info` were asked for, whatever alerts ask for.
    pub is_info: bool,
}
