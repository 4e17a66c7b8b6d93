//! How much of a repository the clusters rest on: which Flux Kustomizations
//! were followed, and why the others were not.

use super::{Outcome, World};
use crate::lang::yaml::Location;
use crate::model::{Certainty, ObjectId, kinds};
use std::collections::BTreeMap;
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
}

/// A Flux Kustomization that was not followed.
#[derive(Clone, Debug)]
pub struct NotFollowed {
    /// Its identity.
    pub object: ObjectId,
    /// Why.
    pub why: String,
    /// Where it is written, or the field that says why.
    pub location: Option<Location>,
}

/// Why one that no cluster applies isn't followed.
const UNAPPLIED: &str = "no cluster applies it";

impl World {
    /// What was followed, and what was not.
    pub fn coverage(&self) -> Coverage {
        let mut coverage = Coverage::default();
        for cluster in self.applied_clusters().filter(|cluster| self.counts(cluster)) {
            let Some(name) = &cluster.name else { continue };
            coverage.clusters.insert(name.clone(), cluster.certainty);
            for applied in &cluster.applied {
                coverage.kustomizations += 1;
                let node = applied.node.get_ref();
                let at = |pointer: &str| node.location_at(pointer).or_else(|| node.location());
                let (why, location) = match &applied.outcome {
                    Outcome::Built { .. } => {
                        coverage.followed += 1;
                        continue;
                    }
                    Outcome::Failed(failure) => {
                        let place = failure.location.clone().or_else(|| at("/spec/path"));
                        (format!("it can't be built: {}", failure.message), place)
                    }
                    Outcome::External(why) => (why.clone(), at("/spec/sourceRef")),
                    Outcome::Unknown(why) => (why.clone(), at("/spec/path")),
                    Outcome::MissingPath => (format!("there is no {}", applied.path), at("/spec/path")),
                };
                coverage.not_followed.push(NotFollowed { object: applied.id.clone(), why, location });
            }
        }
        let is_object = |object: &&crate::model::Object| {
            object.id.group() != "kustomize.config.k8s.io" && !self.is_excluded(&object.source.file)
        };
        coverage.objects = self.snapshot.objects().iter().filter(is_object).count();
        let unapplied: Vec<&crate::model::Object> = match self.has_entry {
            true => self.orphans().filter(is_object).collect(),
            false => self.snapshot.objects().iter().filter(is_object).collect(),
        };
        let key = |place: &Option<Location>| place.as_ref().map(|place| (place.file.clone(), place.start));
        let unsettled = |object: &crate::model::Object| {
            let place = key(&object.node.get_ref().location());
            self.unsettled.iter().find(|one| place.is_some() && key(&one.location) == place)
        };
        coverage.orphans = unapplied.len();
        coverage.in_clusters = coverage.objects - coverage.orphans;
        for orphan in unapplied.into_iter().filter(|orphan| kinds::is_kustomization(&orphan.id)) {
            coverage.kustomizations += 1;
            coverage.not_followed.push(NotFollowed {
                object: orphan.id.clone(),
                why: unsettled(orphan).map_or(UNAPPLIED, |one| one.why.as_str()).to_owned(),
                location: orphan.node.get_ref().location(),
            });
        }
        let written: Vec<_> = coverage.not_followed.iter().filter_map(|one| key(&one.location)).collect();
        for one in &self.unsettled {
            if one.location.as_ref().is_some_and(|location| self.is_excluded(&location.file)) {
                continue;
            }
            if key(&one.location).is_some_and(|place| written.contains(&place)) {
                continue;
            }
            coverage.kustomizations += 1;
            coverage.not_followed.push(NotFollowed {
                object: one.id.clone(),
                why: one.why.clone(),
                location: one.location.clone(),
            });
        }
        coverage
    }
}
