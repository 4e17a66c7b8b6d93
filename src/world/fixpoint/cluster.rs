//! A cluster from its entry point, in rounds.

use super::beside::{as_written, by_hand, openers_of};
use super::grown::{Grown, Repository};
use super::round::{Extent, Round};
use super::start::Start;
use super::walk::round;
use crate::model::{Certainty, Maker, Name, kinds};
use crate::world::earlier::{EarlierBuild, Identity};
use crate::world::entry_point::EntryPoint;
use crate::world::{ApplyTarget, PlacedObject, capabilities, instance};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Rounds after which a cluster that keeps changing is taken as it is.
const ROUNDS: usize = 8;

/// Grows a cluster, and once more where the object that states its entry point
/// turns out to be of another namespace: there the operator makes the pair.
pub(crate) fn grow_placed(repository: &Repository<'_>, entry: &EntryPoint, name: Arc<str>) -> Grown {
    let grown = grow(repository, entry, name.clone());
    let Some((kind, object, file)) = entry.stated_by.as_ref().filter(|_| entry.owned) else { return grown };
    let placed = grown.objects.iter().find(|(id, built, target, _)| {
        let is_it = id.kind == *kind && id.name == *object && *target == ApplyTarget::Local;
        is_it && built.node.get_ref().location().is_some_and(|location| location.file.is_at(file))
    });
    let namespace = placed.and_then(|(id, built, _, _)| {
        let target =
            built.node.get_ref().str_at("/spec/targetNamespace").filter(|_| kinds::is_helm_release(id));
        target.map(|text| text.into_owned()).or_else(|| id.namespace.as_deref().map(str::to_owned))
    });
    let before = entry.kustomizations.first().and_then(|(id, _)| id.namespace.as_deref());
    match namespace.filter(|namespace| !namespace.contains('?')) {
        Some(namespace) if Some(namespace.as_str()) != before => {
            grow(repository, &instance::in_namespace(entry, &namespace), name)
        }
        _ => grown,
    }
}

/// Grows a cluster.
pub(crate) fn grow(repository: &Repository<'_>, entry: &EntryPoint, name: Arc<str>) -> Grown {
    let mut known: FxHashMap<Identity, EarlierBuild> = FxHashMap::default();
    let mut start = Start::first(repository, entry, &name);
    let mut grown = Grown::of_nothing(repository, entry, name);
    // The roots by themselves first: most apply their own definition, and what they
    // apply differs from what the files state where something patches them. Charts last:
    // until the builds have settled, releases lack values.
    let renders = !repository.config.stores.charts().is_empty();
    let between = renders.then_some(Extent::Builds);
    for extent in [Some(Extent::Roots), between, Some(Extent::Charts)].into_iter().flatten() {
        for _ in 0..ROUNDS {
            let round = round(&start, &mut known, extent);
            let changed = round.changed;
            grown.become_of(round);
            if start.advance(&grown) && !changed {
                break;
            }
        }
    }
    grown.builds = known;
    grown.add_pair(entry);
    let applied = grown.objects.len();
    grown.add_beside(repository, entry);
    let beside = grown.objects[applied..].iter().filter(|(id, ..)| kinds::is_helm_release(id));
    let beside: Vec<(PlacedObject, u32)> = beside.map(|placed| (placed.clone(), 0)).collect();
    let mut served = capabilities::served(grown.objects.iter());
    served.extend(start.served.iter().cloned());
    grown.take_in(start.render(&beside, &served));
    grown
}

impl Grown {
    fn of_nothing(repository: &Repository<'_>, entry: &EntryPoint, name: Arc<str>) -> Grown {
        Grown {
            name: Some(name),
            root: entry.root.clone(),
            objects: Vec::new(),
            applied: Vec::new(),
            generated: entry.generated.iter().map(|(id, _)| id.clone()).collect(),
            read: FxHashSet::default(),
            certainty: entry.certainty,
            form: Some(entry.form),
            location: entry.location.clone(),
            bootstrapped: entry.bootstrapped.clone(),
            tree: entry.tree.clone(),
            source: entry.source.clone(),
            is_sent: entry.is_sent,
            sets: Vec::new(),
            releases: Vec::new(),
            rendered: Vec::new(),
            builds: FxHashMap::default(),
            openers: openers_of(repository.snapshot, entry),
        }
    }

    fn become_of(&mut self, round: Round) {
        self.objects = round.objects;
        self.applied = round.applied;
        self.read = round.read;
        self.sets = round.sets;
        self.releases = round.releases;
        self.rendered = round.rendered;
    }

    /// What the operator makes of an instance is there beside what Git holds, and
    /// before it: copies in Git are left alone.
    fn add_pair(&mut self, entry: &EntryPoint) {
        if !entry.owned {
            return;
        }
        let sources = entry.generated.iter().filter_map(|(id, node)| Some((id, node.as_ref()?)));
        let pair = sources.chain(entry.kustomizations.iter().map(|(id, node)| (id, node)));
        let pair: Vec<PlacedObject> = pair.map(|(id, node)| as_written(id, node)).collect();
        self.objects.splice(0..0, pair);
        self.generated.clear();
    }

    /// What nothing in Git applies.
    fn add_beside(&mut self, repository: &Repository<'_>, entry: &EntryPoint) {
        let local = self.objects.iter().filter(|(_, _, target, _)| *target == ApplyTarget::Local);
        // What is applied since bootstrap goes before.
        let since: FxHashSet<Name<'_>> = match entry.bootstrapped {
            Some(_) => local.map(|(id, ..)| id.named()).collect(),
            None => FxHashSet::default(),
        };
        let left = entry.overlay.iter().filter_map(|object| Some((object.id.clone()?, object.clone())));
        let left: Vec<_> = left.filter(|(id, _)| !since.contains(&id.named())).collect();
        self.objects
            .extend(left.into_iter().map(|(id, object)| (id, object, ApplyTarget::Local, Maker::Entry)));
        if entry.certainty == Certainty::Guessed && entry.name.is_none() {
            let placed = by_hand(repository.snapshot, entry, self);
            self.objects.extend(placed);
        }
    }
}
