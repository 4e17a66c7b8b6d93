//! What a run could not check, and why.

use crate::lang::yaml::{FilePath, Node};
use crate::model::Unchecked;
use crate::model::kinds;
use crate::sources::resolve::Missing;
use crate::world::{Outcome as BuildOutcome, World};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// What to do about objects beside clusters whose entry points are known.
const UNAPPLIED: &str = "no cluster applies these objects: list their files in a kustomization.yaml, or \
                         `exclude` them in .forebay.yaml";

/// The same of files that a change touches.
const UNREAD: &str = "no build of a cluster reads these files: list them in a kustomization.yaml, if they \
                      are meant to be applied";

/// What was skipped, by reason, and the places.
#[derive(Clone, Debug, Default)]
pub struct NotChecked {
    reasons: BTreeMap<Unchecked, Vec<String>>,
    /// Whether a cluster states its entry point: then none is missing in the configuration.
    pub(crate) states_entry: bool,
}

impl NotChecked {
    /// Count one place under a reason.
    pub fn add(&mut self, reason: Unchecked, place: impl Into<String>) {
        self.reasons.entry(reason).or_default().push(place.into());
    }

    /// Reasons in order with their places.
    pub fn iter(&self) -> impl Iterator<Item = (Unchecked, &[String])> {
        self.reasons.iter().map(|(reason, places)| (*reason, places.as_slice()))
    }

    /// What would let a reason go away here.
    pub(crate) fn remedy(&self, reason: Unchecked) -> &'static str {
        match reason {
            Unchecked::ReferenceWithoutEntryPoint if self.states_entry => UNAPPLIED,
            Unchecked::ChangedFileOutsideClusters if self.states_entry => UNREAD,
            reason => reason.remedy(),
        }
    }

    /// Whether everything was checked.
    pub fn is_empty(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// Kustomizations whose files are not here, and what builds left out.
pub(crate) fn not_built(world: &World, not_checked: &mut NotChecked) {
    not_built_in(world, &|_| true, not_checked);
}

/// As [`not_built`], of the files that are asked about.
pub(super) fn not_built_in(
    world: &World,
    asks: &dyn Fn(Option<&FilePath>) -> bool,
    not_checked: &mut NotChecked,
) {
    let states = |node: &Node| asks(node.get_ref().location().map(|at| at.file).as_ref());
    let mut seen = FxHashSet::default();
    let mut charts: BTreeSet<&Missing> = BTreeSet::new();
    let mut unable: BTreeSet<String> = BTreeSet::new();
    for cluster in &world.clusters {
        for applied in &cluster.applied {
            match &applied.outcome {
                BuildOutcome::External(why) if states(&applied.node) => {
                    not_checked.add(Unchecked::ExternalSource, format!("{}: {why}", applied.id));
                }
                BuildOutcome::Unknown(why) if states(&applied.node) => {
                    not_checked.add(Unchecked::UnknownField, format!("{}: {why}", applied.id));
                }
                BuildOutcome::Built { partial, .. } => {
                    for (reason, what, location) in partial {
                        let place = location.as_ref().map(|location| (location.file.clone(), location.start));
                        let file = place.as_ref().map(|(file, _)| file);
                        if asks(file) && seen.insert((*reason, what.clone(), place)) {
                            not_checked.add(*reason, what.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        for (_, object) in world.written(cluster) {
            if object.id.is(kinds::OPERATOR, "ResourceSet")
                && !cluster.sets.iter().any(|set| set.is_complete && set.id == object.id)
                && states(&object.node)
            {
                not_checked.add(Unchecked::ResourceSet, object.id.to_string());
            }
        }
        let asked: Vec<_> = cluster.releases.iter().filter(|release| states(&release.node)).collect();
        let missing = asked.iter().filter_map(|release| release.chart.as_ref().err());
        charts.extend(missing.filter(|missing| !missing.name.is_empty()));
        for release in asked {
            if let Some(why) = release.unable() {
                unable.insert(format!("{}: {why}", release.id));
            }
            let again = release.unfollowed.iter();
            unable.extend(again.map(|id| format!("{}: its chart makes {id} again", release.id)));
        }
    }
    for missing in charts {
        not_checked.add(Unchecked::Chart, missing.to_string());
    }
    for release in unable {
        not_checked.add(Unchecked::Chart, release);
    }
}
