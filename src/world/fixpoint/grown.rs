//! A cluster while it grows, and what it grows on.

use crate::config::Config;
use crate::files::Snapshot;
use crate::lang::yaml::{FilePath, Location};
use crate::model::{Called, Certainty, Maker, ObjectId};
use crate::world::build::FluxBuild;
use crate::world::earlier::{Earlier, EarlierBuild, Identity};
use crate::world::entry_point::Form;
use crate::world::inventory::UnseenMaker;
use crate::world::releases::{self, Release};
use crate::world::source::SharedMemo;
use crate::world::versions::Installs;
use crate::world::{Applied, Outcome, PlacedObject, ResourceSet, pushes};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// What all clusters grow on.
pub(crate) struct Repository<'a> {
    pub(crate) snapshot: &'a Arc<Snapshot>,
    pub(crate) shared: &'a SharedMemo,
    pub(crate) charts: Arc<releases::KnownReleases>,
    pub(crate) pushes: &'a [pushes::Push],
    pub(crate) config: &'a Config,
    /// URLs of the git remotes, normalised.
    pub(crate) urls: Vec<String>,
    pub(crate) installs: Installs,
    pub(crate) earlier: Option<Earlier<'a>>,
}

/// A cluster with its objects still at hand.
pub(crate) struct Grown {
    pub(crate) name: Option<Arc<str>>,
    pub(crate) root: String,
    pub(crate) objects: Vec<PlacedObject>,
    pub(crate) applied: Vec<Applied>,
    pub(crate) generated: Vec<ObjectId>,
    /// Paths of the files that its builds read.
    pub(crate) read: FxHashSet<FilePath>,
    pub(crate) certainty: Certainty,
    pub(crate) form: Option<Form>,
    pub(crate) location: Option<Location>,
    pub(crate) bootstrapped: Option<FilePath>,
    pub(crate) tree: String,
    pub(crate) source: Option<Called>,
    pub(crate) is_sent: bool,
    pub(crate) sets: Vec<ResourceSet>,
    pub(crate) releases: Vec<Release>,
    /// What their charts make.
    pub(crate) rendered: Vec<PlacedObject>,
    pub(crate) builds: FxHashMap<Identity, EarlierBuild>,
    /// What may have applied more: other roots.
    pub(crate) openers: Vec<UnseenMaker>,
}
impl Grown {
    /// Adds releases of what no cluster applies, with what their charts make, which is not
    /// followed. Where it goes is not known of one that says no namespace: whoever applies it
    /// gives it one.
    pub(crate) fn take_in(&mut self, releases: Vec<Release>) {
        for release in releases {
            let maker = Maker::HelmRelease(self.releases.len() as u32);
            if release.says_namespace() {
                self.rendered.extend(release.placed(maker));
            }
            self.releases.push(release);
        }
    }
}

pub(crate) fn built_outcome(build: &FluxBuild) -> Outcome {
    Outcome::Built {
        partial: build.partial.clone(),
        may_change: build.may_change,
        bad_variables: build.bad_variables.clone(),
        missing_sources: build.missing_sources.clone(),
        unusable: build.unusable.clone(),
        warnings: build.warnings.clone(),
    }
}

impl Outcome {
    pub(crate) fn again(&self) -> Outcome {
        match self {
            Outcome::Built { partial, may_change, bad_variables, missing_sources, unusable, warnings } => {
                Outcome::Built {
                    partial: partial.clone(),
                    may_change: *may_change,
                    bad_variables: bad_variables.clone(),
                    missing_sources: missing_sources.clone(),
                    unusable: unusable.clone(),
                    warnings: warnings.clone(),
                }
            }
            Outcome::Failed(failure) => Outcome::Failed(failure.clone()),
            Outcome::External(why) => Outcome::External(why.clone()),
            Outcome::Unknown(why) => Outcome::Unknown(why.clone()),
            Outcome::MissingPath => Outcome::MissingPath,
        }
    }
}
