//! The releases of a round, and what their charts make that makes more.

use super::round::{LIMIT, RoundWalk};
use super::sets::{SET_DEPTH, made_by};
use super::start::Start;
use super::step::{Due, identity_of};
use crate::model::{Maker, kinds};
use crate::world::build::BuiltObject;
use crate::world::capabilities;
use crate::world::releases::{self, Release, Renderer};
use crate::world::{ApplyTarget, PlacedObject, ResourceSet};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Start<'_> {
    /// Renders releases.
    pub(super) fn render(&self, due: &[(PlacedObject, u32)], served: &BTreeSet<String>) -> Vec<Release> {
        let lookup = releases::lookup_in(&self.objects);
        let trees = releases::trees_in(&self.sources, &self.objects);
        let renderer = Renderer {
            known: &self.repository.charts,
            stores: &self.repository.config.stores,
            snapshot: self.repository.snapshot,
            settings: &self.settings,
            lookup: &lookup,
            trees: &trees,
        };
        let placed: Vec<&PlacedObject> = due.iter().map(|(placed, _)| placed).collect();
        renderer.releases(&placed, served)
    }
}

impl RoundWalk<'_, '_> {
    /// Renders the releases that are due, and notes what their charts make that makes
    /// more; whether there was any.
    pub(super) fn render_due(&mut self) -> bool {
        let found = self.out.objects[self.rendering.seen..].iter();
        let found = found.filter(|(id, ..)| kinds::is_helm_release(id));
        let mut due: Vec<(PlacedObject, u32)> = found.map(|placed| (placed.clone(), 0)).collect();
        self.rendering.seen = self.out.objects.len();
        due.append(&mut self.rendering.pending);
        for ((id, built, ..), _) in &due {
            self.rendering.known.insert(identity_of(id, built.node.get_ref()));
        }
        let mut served = capabilities::served(self.out.objects.iter());
        served.extend(self.start.served.iter().cloned());
        let made = self.start.render(&due, &served);
        made.into_iter().zip(&due).for_each(|(release, (_, depth))| self.take_release(release, *depth));
        !due.is_empty()
    }

    fn take_release(&mut self, mut release: Release, depth: u32) {
        let maker = Maker::HelmRelease(self.out.releases.len() as u32);
        let is_local = release.target == ApplyTarget::Local;
        let objects = release.objects.iter().rev().cloned();
        let mut inner: Vec<(Arc<BuiltObject>, Maker, u32)> =
            objects.map(|object| (object, maker, depth)).collect();
        while let Some((object, maker, depth)) = inner.pop() {
            let Some(id) = object.id.clone() else { continue };
            self.out.rendered.push((id.clone(), object.clone(), release.target.clone(), maker));
            let node = object.node.get_ref();
            if !is_local {
                continue;
            }
            if id.is(kinds::OPERATOR, "ResourceSet") && depth < SET_DEPTH {
                if let Some((made, is_complete)) = made_by(&self.providers, &id, node) {
                    let of_set = Maker::ResourceSet(self.out.sets.len() as u32);
                    let id = (*id).clone();
                    self.out.sets.push(ResourceSet { id, node: object.node.clone(), maker, is_complete });
                    inner.extend(made.into_iter().rev().map(|object| (object, of_set, depth + 1)));
                }
            } else if kinds::is_kustomization(&id) {
                if self.seen.insert(identity_of(&id, node)) && self.queue.len() < LIMIT {
                    let parent = release.maker.kustomization();
                    let id = (*id).clone();
                    self.queue.push(Due { id, node: object.node.clone(), parent, maker });
                }
            } else if kinds::is_helm_release(&id) {
                if depth >= SET_DEPTH || self.rendering.known.contains(&identity_of(&id, node)) {
                    release.unfollowed.push((*id).clone());
                } else {
                    self.rendering.pending.push(((id, object, ApplyTarget::Local, maker), depth + 1));
                }
            }
        }
        self.out.releases.push(release);
    }
}
