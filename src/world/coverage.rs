//! How much of a repository the clusters rest on: which Flux Kustomizations
//! were followed, and why the others were not.

use super::entry::is_archive;
use super::left_out::{LeftOut, Listings};
use super::{Applied, Outcome, Unsettled, World};
use crate::files::Snapshot;
use crate::lang::yaml::{FilePath, Location};
use crate::model::{Certainty, ObjectId, kinds};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What was followed.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Flux Kustomizations: those of each cluster, and those that no cluster
    /// applies.
    pub kustomizations: usize,
    /// Those whose source and path were found and built.
    pub followed: usize,
    /// Objects as written.
    pub objects: usize,
    /// Those that a cluster takes in.
    pub in_clusters: usize,
    /// Those that no cluster takes in.
    pub orphans: usize,
    /// The clusters by name, and how each is known.
    pub clusters: BTreeMap<Arc<str>, Certainty>,
    /// The Kustomizations that were not followed.
    pub not_followed: Vec<NotFollowed>,
    /// The files of those that no cluster applies.
    pub unapplied: Unapplied,
}

/// Files with Kustomizations that no cluster applies, by what a kustomization near them
/// says.
#[derive(Debug, Default)]
pub struct Unapplied {
    /// Kustomizations in them.
    pub kustomizations: usize,
    /// All of them.
    pub files: usize,
    /// Put aside, by the name of a directory.
    pub archived: usize,
    /// In an entry that is commented out.
    pub commented_out: usize,
    /// In a directory whose kustomization, or one above, lists others.
    pub unlisted: usize,
    /// Those kustomizations.
    pub could_list: BTreeSet<String>,
}

/// A Flux Kustomization that was not followed.
#[derive(Clone, Debug)]
pub struct NotFollowed {
    pub object: ObjectId,
    /// Why.
    pub why: String,
    /// Where it is written, or the field that says why.
    pub location: Option<Location>,
}

/// Why one that no cluster applies isn't followed.
const UNAPPLIED: &str = "no cluster applies it";

impl Coverage {
    /// Those that were not followed. Where there are clusters, what none of them applies is
    /// counted apart ([`Coverage::unapplied`]).
    pub fn left_out(&self) -> impl Iterator<Item = &NotFollowed> {
        self.not_followed.iter().filter(|one| self.clusters.is_empty() || one.why != UNAPPLIED)
    }

    /// The Kustomizations of which [`Coverage::left_out`] are a part.
    pub fn counted(&self) -> usize {
        let apart = if self.clusters.is_empty() { 0 } else { self.unapplied.kustomizations };
        self.kustomizations - apart
    }
}

impl Unapplied {
    fn add(&mut self, snapshot: &Snapshot, entries: &mut Listings, path: &str) {
        self.files += 1;
        if is_archive(path) {
            self.archived += 1;
            return;
        }
        match entries.left_out(snapshot, path) {
            Some(LeftOut { comment: Some(_), .. }) => self.commented_out += 1,
            Some(LeftOut { kustomization, .. }) => {
                self.unlisted += 1;
                self.could_list.insert(kustomization);
            }
            None => {}
        }
    }
}

impl World {
    /// What was followed, and what was not.
    pub fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::default();
        self.cover_applied(&mut coverage);
        self.cover_unapplied(&mut coverage);
        self.cover_unsettled(&mut coverage);
        coverage
    }

    /// What a followed cluster applies.
    fn cover_applied(&self, coverage: &mut Coverage) {
        for cluster in self.applied_clusters().filter(|cluster| self.counts(cluster)) {
            let Some(name) = &cluster.name else { continue };
            coverage.clusters.insert(name.clone(), cluster.certainty);
            for applied in &cluster.applied {
                coverage.kustomizations += 1;
                let Some((why, location)) = why_not_followed(applied) else {
                    coverage.followed += 1;
                    continue;
                };
                coverage.not_followed.push(NotFollowed { object: applied.id.clone(), why, location });
            }
        }
    }

    /// The objects of the repository, and the Kustomizations among those that nothing applies.
    fn cover_unapplied(&self, coverage: &mut Coverage) {
        let is_object = |object: &&crate::model::Object| {
            object.id.group() != "kustomize.config.k8s.io" && !self.is_excluded(&object.source.file)
        };
        coverage.objects = self.snapshot.objects().iter().filter(is_object).count();
        let unapplied: Vec<&crate::model::Object> = match self.has_entry {
            true => self.orphans().filter(is_object).collect(),
            false => self.snapshot.objects().iter().filter(is_object).collect(),
        };
        coverage.orphans = unapplied.len();
        coverage.in_clusters = coverage.objects - coverage.orphans;
        let mut places: FxHashMap<(FilePath, u32), &Unsettled> = FxHashMap::default();
        for one in self.unsettled.iter().rev() {
            places.extend(key(&one.location).map(|place| (place, one)));
        }
        let unsettled =
            |object: &crate::model::Object| places.get(&key(&object.node.get_ref().location())?).copied();
        let mut files: BTreeSet<&str> = BTreeSet::new();
        for orphan in unapplied.into_iter().filter(|orphan| kinds::is_kustomization(&orphan.id)) {
            coverage.kustomizations += 1;
            if unsettled(orphan).is_none() {
                coverage.unapplied.kustomizations += 1;
                files.insert(orphan.path());
            }
            coverage.not_followed.push(NotFollowed {
                object: orphan.id.clone(),
                why: unsettled(orphan).map_or(UNAPPLIED, |one| one.why.as_str()).to_owned(),
                location: orphan.node.get_ref().location(),
            });
        }
        let mut entries = Listings::default();
        for path in files {
            coverage.unapplied.add(&self.snapshot, &mut entries, path);
        }
    }

    /// The Kustomizations that may be applied or not, as far as they are not told of already.
    fn cover_unsettled(&self, coverage: &mut Coverage) {
        let written: FxHashSet<_> =
            coverage.not_followed.iter().filter_map(|one| key(&one.location)).collect();
        for one in &self.unsettled {
            let is_excluded = one.location.as_ref().is_some_and(|place| self.is_excluded(&place.file));
            if is_excluded || key(&one.location).is_some_and(|place| written.contains(&place)) {
                continue;
            }
            coverage.kustomizations += 1;
            coverage.not_followed.push(NotFollowed {
                object: one.id.clone(),
                why: one.why.clone(),
                location: one.location.clone(),
            });
        }
    }
}

/// Why the tree of a Flux Kustomization was not followed, and where that stands.
fn why_not_followed(applied: &Applied) -> Option<(String, Option<Location>)> {
    let node = applied.node.get_ref();
    let at = |pointer: &str| node.location_at(pointer).or_else(|| node.location());
    Some(match &applied.outcome {
        Outcome::Built { .. } => return None,
        Outcome::Failed(failure) => {
            let place = failure.location.clone().or_else(|| at("/spec/path"));
            (format!("it can't be built: {}", failure.message), place)
        }
        Outcome::External(why) => (why.clone(), at("/spec/sourceRef")),
        Outcome::Unknown(why) => (why.clone(), at("/spec/path")),
        Outcome::MissingPath => (format!("there is no {}", applied.path), at("/spec/path")),
    })
}

/// What two mentions of one place have in common.
fn key(place: &Option<Location>) -> Option<(FilePath, u32)> {
    place.as_ref().map(|place| (place.file.clone(), place.start))
}
