//! What the builds of a round start from: what the round before came to.

use super::beside::by_hand;
use super::grown::{Grown, Repository};
use super::shape::{injected_variables, rendered, shapes, shaping};
use crate::config::{Injected, TargetConfig};
use crate::lang::yaml::{Node, NodeRef};
use crate::model::{Called, Certainty, ObjectId};
use crate::world::entry_point::EntryPoint;
use crate::world::source::{LocalObjects, Sources};
use crate::world::versions::Settings;
use crate::world::{ApplyTarget, capabilities};
use std::collections::BTreeSet;

pub(super) struct Start<'a> {
    pub(super) repository: &'a Repository<'a>,
    pub(super) sources: Sources<'a>,
    pub(super) entry: &'a EntryPoint,
    /// What the configuration says of the cluster.
    target: TargetConfig,
    /// What the entry point puts there, of that which shapes builds: it stays.
    given: Vec<(Called, (ObjectId, Node))>,
    /// Likewise, what it put there once: what is applied since goes before.
    begun: Vec<(Called, (ObjectId, Node))>,
    pub(super) settings: Settings,
    /// What shapes builds.
    pub(super) objects: LocalObjects,
    /// Whether something in the cluster may add variables to Kustomizations.
    pub(super) injected: Injected,
    /// API versions that charts add by their definitions.
    pub(super) served: BTreeSet<String>,
}

impl<'a> Start<'a> {
    /// That of the first round, of what the files state.
    pub(super) fn first(repository: &'a Repository<'a>, entry: &'a EntryPoint, name: &str) -> Start<'a> {
        let Repository { snapshot, shared, pushes, config, .. } = repository;
        let mut urls = repository.urls.clone();
        urls.extend(entry.url.clone());
        let target = config.target_of(Some(name));
        // Most often what lies below its root is what a cluster applies.
        let guessed = snapshot.objects_below(&entry.root).iter();
        let guessed = guessed.map(|object| (&object.id, object.node.get_ref()));
        let settings = settings(repository, entry, &target, guessed);
        let (given, begun) = (given(entry), begun(entry));
        Start {
            repository,
            sources: Sources { snapshot, shared, config, urls, entry, pushes },
            entry,
            target,
            settings,
            objects: begun.iter().chain(&given).cloned().collect(),
            given,
            begun,
            injected: injected_variables(config, &[]),
            served: BTreeSet::new(),
        }
    }

    /// Takes what a round came to; whether the next one would start from the same.
    pub(super) fn advance(&mut self, grown: &Grown) -> bool {
        let Repository { snapshot, config, .. } = self.repository;
        // What a root applies by hand gives variables as what it builds does.
        let beside = match self.entry.certainty == Certainty::Guessed && self.entry.name.is_none() {
            true => by_hand(snapshot, self.entry, grown),
            false => Vec::new(),
        };
        let started = self.objects.len();
        let objects = || {
            let placed = beside.iter().chain(&grown.objects).filter(|(id, _, target, _)| shapes(id, target));
            let placed = placed.map(|(id, built, ..)| shaping(id, &built.node));
            let begun = self.begun.iter().cloned();
            begun
                .chain(placed)
                .chain(grown.releases.iter().flat_map(rendered))
                .chain(self.given.iter().cloned())
                .collect()
        };
        let settings = || {
            let placed = grown.objects.iter().map(|(id, built, ..)| (&**id, built.node.get_ref()));
            settings(self.repository, self.entry, &self.target, placed)
        };
        (self.objects, self.settings) = rayon::join(objects, settings);
        let injected = injected_variables(config, &grown.objects);
        let served = capabilities::served(grown.rendered.iter());
        let is_same = self.objects.len() == started && injected == self.injected && served == self.served;
        (self.injected, self.served) = (injected, served);
        is_same
    }
}

fn settings<'o>(
    repository: &Repository<'_>,
    entry: &EntryPoint,
    target: &TargetConfig,
    objects: impl Iterator<Item = (&'o ObjectId, NodeRef<'o>)> + Clone,
) -> Settings {
    let Repository { snapshot, config, installs, .. } = repository;
    Settings::read(objects, snapshot, installs, &entry.root, (target, &config.assumed))
}

/// What an entry point keeps in its cluster by itself, of that which shapes builds.
fn given(entry: &EntryPoint) -> Vec<(Called, (ObjectId, Node))> {
    let pair = entry.generated.iter().filter_map(|(id, node)| Some((id, node.as_ref()?)));
    let roots = entry.kustomizations.iter().map(|(id, node)| (id, node)).filter(|_| entry.owned);
    pair.chain(roots).map(|(id, node)| (id.called(), (id.clone(), node.clone()))).collect()
}

/// What somebody applied at its beginning, of that which shapes builds.
fn begun(entry: &EntryPoint) -> Vec<(Called, (ObjectId, Node))> {
    let overlay = entry.overlay.iter().filter_map(|object| Some((object.id.as_ref()?, &object.node)));
    let placed = overlay.filter(|(id, _)| shapes(id, &ApplyTarget::Local));
    placed.map(|(id, node)| shaping(id, node)).collect()
}
