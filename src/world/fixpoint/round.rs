//! One round of a cluster: its queue, and what came of it so far.

use super::sets::Providers;
use super::start::Start;
use super::step::Due;
use crate::lang::yaml::FilePath;
use crate::world::earlier::{EarlierBuild, Identity};
use crate::world::releases::Release;
use crate::world::{Applied, PlacedObject, ResourceSet};
use rustc_hash::{FxHashMap, FxHashSet};

/// Flux Kustomizations that one cluster may have.
pub(super) const LIMIT: usize = 20_000;

/// How far a round goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Extent {
    /// What the roots apply.
    Roots,
    /// What that applies as well.
    Builds,
    /// What the charts of the releases among it make, and what that applies.
    Charts,
}

/// What came of a round.
#[derive(Default)]
pub(super) struct Round {
    pub(super) objects: Vec<PlacedObject>,
    /// The HelmReleases, with what their charts make.
    pub(super) releases: Vec<Release>,
    /// What their charts make.
    pub(super) rendered: Vec<PlacedObject>,
    pub(super) applied: Vec<Applied>,
    pub(super) read: FxHashSet<FilePath>,
    /// ResourceSets of which everything that they make is among the objects.
    pub(super) sets: Vec<ResourceSet>,
    /// Whether something was built anew.
    pub(super) changed: bool,
}

/// A round under way.
pub(super) struct RoundWalk<'r, 's> {
    pub(super) start: &'r Start<'s>,
    /// The builds of the rounds before, and of this one.
    pub(super) known: &'r mut FxHashMap<Identity, EarlierBuild>,
    pub(super) extent: Extent,
    pub(super) providers: Providers<'r>,
    pub(super) out: Round,
    pub(super) queue: Vec<Due>,
    /// What is or was in the queue.
    pub(super) seen: FxHashSet<Identity>,
    /// Bytes of the objects so far.
    pub(super) size: u64,
    /// How often each path is applied.
    pub(super) paths: FxHashMap<String, usize>,
    pub(super) rendering: Rendering,
}

/// How far the releases of a round are rendered.
#[derive(Default)]
pub(super) struct Rendering {
    /// Objects that were looked through.
    pub(super) seen: usize,
    /// Releases that charts make, and their depth.
    pub(super) pending: Vec<(PlacedObject, u32)>,
    /// The releases that there are.
    pub(super) known: FxHashSet<Identity>,
}
