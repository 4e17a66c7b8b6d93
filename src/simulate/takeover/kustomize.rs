//! kustomize-controller: apply, inventory, prune, finalizer.

use super::{
    ApiRefusal, Build, Builds, ClusterState, DeletionPolicy, Id, KustomizationSettings, Live, Manifest, Role,
    Ssa, Status,
};
use crate::world::ApplyTarget;
use std::collections::BTreeSet;

impl ClusterState {
    /// Whether all of `dependsOn` lets a Kustomization begin.
    /// Source: `checkDependencies`: a missing one blocks; one of the same source must
    /// be ready at the same revision; with a `readyExpr` the built-in checks are
    /// skipped (gate AdditiveCELDependencyCheck off, its default).
    pub(super) fn dependencies_are_ready(&self, settings: &KustomizationSettings) -> bool {
        settings.depends_on.iter().all(|dependency| {
            let Some(live) = self.local(&dependency.on) else { return false };
            if dependency.expression {
                return true;
            }
            let Role::Kustomization(other) = &live.manifest.role else { return false };
            let same_source = other.source.is_some() && other.source == settings.source;
            match self.status.get(&dependency.on) {
                Some(Status::New) => !self.pending.contains(&dependency.on),
                Some(Status::Old) => !same_source,
                Some(Status::Failed) | None => false,
            }
        })
    }

    /// One reconciliation: build, apply, new inventory, prune.
    /// Source: `reconcile`: any error before the end of the apply returns before the
    /// inventory is written and before the prune.
    pub(super) fn reconcile(&mut self, id: &Id, settings: &KustomizationSettings, builds: &Builds) {
        let Some(Build::Objects(objects)) = builds.get(&(id.clone(), settings.build)) else {
            self.status.insert(id.clone(), Status::Failed);
            return;
        };
        if !self.apply(id, settings, objects) {
            self.status.insert(id.clone(), Status::Failed);
            return;
        }
        let new: BTreeSet<Id> = objects.iter().map(|object| object.id.clone()).collect();
        let old = self.inventories.insert(id.clone(), new.clone()).unwrap_or_default();
        // Source: `prune` returns at once with `spec.prune: false`; the inventory is
        // written by then, so what is stale is forgotten for good.
        if settings.prune {
            let stale: BTreeSet<Id> = old.difference(&new).cloned().collect();
            self.delete_owned(id, &settings.target, &stale);
        }
        self.status.insert(id.clone(), Status::New);
    }

    /// Applies everything, or nothing where the API server refuses one object.
    /// Source: ssa `ApplyAllStaged`, `ApplyAll`: every object is dry-run first. With
    /// `force` an object that is refused is deleted during the dry run (ssa
    /// `IsImmutableError` takes any 422 for immutable), and is not created again in
    /// this run where another object is refused.
    fn apply(&mut self, owner: &Id, settings: &KustomizationSettings, objects: &[Manifest]) -> bool {
        let mut accepted = true;
        let mut forced = Vec::new();
        for object in objects.iter().filter(|object| !self.is_skipped(settings, object)) {
            let place = (settings.target.clone(), object.id.clone());
            let live = self.objects.get(&place);
            let force =
                settings.force || object.marks.force || live.is_some_and(|live| live.manifest.marks.force);
            match (&object.refusal, live) {
                (Some(refusal), Some(_)) if force => {
                    forced.push(place);
                    accepted &= *refusal == ApiRefusal::Immutable;
                }
                (Some(ApiRefusal::Invalid), _) | (Some(_), Some(_)) => accepted = false,
                _ => {}
            }
        }
        for place in &forced {
            self.delete(place);
        }
        if !accepted {
            return false;
        }
        for object in objects {
            if !self.is_skipped(settings, object) {
                self.put(&settings.target, object, Some(owner));
            }
        }
        true
    }

    /// Whether an object is left alone.
    /// Source: ssa `manager_apply.go`: `reconcile: disabled` and `ssa: Ignore` on the
    /// manifest or on the live object; `ssa: IfNotPresent` on the manifest where
    /// something is live.
    fn is_skipped(&self, settings: &KustomizationSettings, object: &Manifest) -> bool {
        let live = self.objects.get(&(settings.target.clone(), object.id.clone()));
        let ignored =
            |manifest: &Manifest| manifest.marks.reconcile_disabled || manifest.marks.ssa == Ssa::Ignore;
        match live {
            Some(live) => ignored(object) || ignored(&live.manifest) || object.marks.ssa == Ssa::IfNotPresent,
            // What is not there is created all the same.
            None => false,
        }
    }

    /// Creates an object, or writes over it with its owner's labels.
    /// Source: ssa `apply`: ownership is forced. An apply onto an object that is
    /// terminating succeeds, and it vanishes nevertheless.
    pub(super) fn put(&mut self, target: &ApplyTarget, object: &Manifest, owner: Option<&Id>) {
        let place = (target.clone(), object.id.clone());
        let is_local = *target == ApplyTarget::Local;
        if is_local && self.terminating.contains_key(&object.id) {
            return;
        }
        let known = self.objects.get(&place);
        let is_new = known.is_none();
        let changes = known.is_none_or(|live| live.manifest.content != object.content);
        let fresh = known.is_none_or(|live| live.fresh);
        let live = Live { manifest: object.clone(), owner: owner.cloned(), fresh };
        self.objects.insert(place, live);
        if is_local && object.role != Role::Plain {
            if is_new {
                self.inventories.insert(object.id.clone(), BTreeSet::new());
                self.status.insert(object.id.clone(), Status::Failed);
            }
            if changes {
                self.pending.insert(object.id.clone());
            }
        }
    }

    /// Deletes those objects that carry the labels of an owner and are not protected.
    /// Source: `deleteObjects`, ssa `Delete`: the live object decides, in the cluster
    /// of the present spec; what is not there counts as deleted.
    fn delete_owned(&mut self, owner: &Id, target: &ApplyTarget, ids: &BTreeSet<Id>) {
        for id in ids {
            let place = (target.clone(), id.clone());
            let Some(live) = self.objects.get(&place) else { continue };
            let marks = live.manifest.marks;
            let spared = marks.prune_disabled || marks.reconcile_disabled || marks.ssa == Ssa::Ignore;
            if live.owner.as_ref() == Some(owner) && !spared {
                self.delete(&place);
            }
        }
    }

    /// The finalizer of a deleted Kustomization.
    /// Source: `finalize`, `finalizerShouldDeleteResources`: by the live spec at the
    /// deletion; a suspended one, or one whose ServiceAccount is gone, deletes
    /// nothing.
    pub(super) fn finalize(&mut self, id: &Id, settings: &KustomizationSettings) {
        let wanted = match settings.deletion_policy {
            DeletionPolicy::MirrorPrune => settings.prune,
            DeletionPolicy::Delete => true,
            DeletionPolicy::Orphan | DeletionPolicy::Unknown => false,
        };
        let can = settings.account.as_ref().is_none_or(|account| self.local(account).is_some());
        if wanted && can && !settings.suspend {
            let inventory = self.inventories.get(id).cloned().unwrap_or_default();
            self.delete_owned(id, &settings.target, &inventory);
        }
    }
}
