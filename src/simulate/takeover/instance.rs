//! flux-operator: a FluxInstance, the controllers and the root that it generates.

use super::{ClusterState, Id, Live, Manifest, Role, Ssa, Status};
use crate::world::ApplyTarget;
use std::collections::BTreeSet;

impl ClusterState {
    /// Applies what an instance generates, takes it from kustomize-controller, and
    /// deletes what it generates no more.
    /// Source: `fluxinstance_controller.go` `apply`; `internal/builder/templates.go`:
    /// everything is annotated `ssa: Ignore` and `prune: Disabled`; the owner labels
    /// of kustomize-controller are removed (`takeOwnershipFrom`). Its own diff spares
    /// only `fluxcd.controlplane.io/prune: disabled`.
    pub(super) fn generate(&mut self, id: &Id, generated: &[Manifest]) {
        let mut new = BTreeSet::new();
        for object in generated {
            let mut stamped = object.clone();
            stamped.marks.ssa = Ssa::Ignore;
            stamped.marks.prune_disabled = true;
            self.put(&ApplyTarget::Local, &stamped, None);
            new.insert(stamped.id);
        }
        let old = self.inventories.insert(id.clone(), new.clone()).unwrap_or_default();
        for stale in old.difference(&new) {
            let place = (ApplyTarget::Local, stale.clone());
            let spared =
                self.objects.get(&place).is_some_and(|live| live.manifest.marks.operator_prune_disabled);
            if !spared {
                self.delete(&place);
            }
        }
        self.status.insert(id.clone(), Status::New);
    }

    /// The finalizer of an instance: Flux is uninstalled, what Flux applied stays.
    /// Source: `fluxinstance_uninstaller.go`: finalizers of all Flux objects are
    /// emptied first, so nothing is pruned and no release uninstalled; then the
    /// inventory goes, CRDs included, and with them every Flux object. With
    /// `reconcile: disabled` only the finalizer is removed.
    pub(super) fn uninstall_flux(&mut self, id: &Id, instance: &Live) {
        if instance.manifest.marks.reconcile_disabled {
            return;
        }
        let inventory = self.inventories.get(id).cloned().unwrap_or_default();
        let is_flux = |place: &(ApplyTarget, Id), live: &Live| {
            place.0 == ApplyTarget::Local
                && matches!(live.manifest.role, Role::Kustomization(_) | Role::HelmRelease(_))
        };
        self.objects.retain(|place, live| {
            let own = place.0 == ApplyTarget::Local && inventory.contains(&place.1);
            !(is_flux(place, live) || own && !live.manifest.marks.operator_prune_disabled)
        });
        let objects = &self.objects;
        self.inventories.retain(|owner, _| objects.contains_key(&(ApplyTarget::Local, owner.clone())));
        self.terminating.clear();
        self.pending.clear();
    }
}
