//! Who owns, adopts, prunes and finalises what when a repository is rearranged.
//!
//! A [`ClusterState`] is a cluster: live objects with the Kustomization whose owner labels
//! they carry, and the inventories in the status of Kustomizations. An [`Event`] is
//! one reconciliation or one finalizer. [`ClusterState::after`] is what one event does;
//! [`orders::explore`] does all events of a commit in every order that the
//! controllers allow and says what becomes of each object.
//!
//! Sources, by file: `kustomize` mirrors kustomize-controller
//! `internal/controller/kustomization_controller.go` and fluxcd/pkg `ssa`; `helm`
//! mirrors helm-controller `internal/action/verify.go` and
//! `internal/controller/helmrelease_controller.go`; `instance` mirrors flux-operator
//! `internal/controller/fluxinstance_controller.go` and its uninstaller.
//!
//! Not modelled: failures of health checks (they come after the prune and change
//! nothing about it), admission by webhooks, and the time that a deletion takes: an
//! object is gone with its DELETE unless it has a finalizer of Flux.

pub(crate) mod helm;
mod instance;
mod kustomize;
pub(crate) mod orders;
#[cfg(test)]
mod tests;

use crate::model::ObjectId;
use crate::world::ApplyTarget;
use helm::WantedRelease;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Identity of an object in an inventory: the version is not part of it.
/// Source: kustomize-controller `internal/inventory/inventory.go` `AddChangeSet`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Id {
    /// API group; empty for the core one.
    pub group: Arc<str>,
    /// Kind.
    pub kind: Arc<str>,
    /// Namespace; `None` for what has none.
    pub namespace: Option<Arc<str>>,
    /// Name.
    pub name: Arc<str>,
}

impl From<&ObjectId> for Id {
    fn from(id: &ObjectId) -> Id {
        Id {
            group: id.group().into(),
            kind: id.kind.clone(),
            namespace: id.namespace.clone(),
            name: id.name.clone(),
        }
    }
}

/// An object in a cluster: the one of the controllers, or that of a kubeConfig.
pub(crate) type ObjectPlace = (ApplyTarget, Id);

/// An object as Git wants it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Manifest {
    pub id: Id,
    /// What it says about its own fate.
    pub marks: Marks,
    /// What it is to Flux.
    pub role: Role,
    /// Tells contents apart: equal numbers, equal content.
    pub content: u64,
    /// What the API server says to this over the object that is live.
    pub refusal: Option<ApiRefusal>,
}

impl Manifest {
    /// An object without marks that Flux knows nothing of.
    pub(crate) fn plain(id: Id, content: u64) -> Manifest {
        Manifest { id, marks: Marks::default(), role: Role::Plain, content, refusal: None }
    }
}

/// Labels and annotations that decide about pruning and applying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Marks {
    /// `kustomize.toolkit.fluxcd.io/prune: disabled`.
    pub prune_disabled: bool,
    /// `kustomize.toolkit.fluxcd.io/reconcile: disabled`.
    pub reconcile_disabled: bool,
    /// `kustomize.toolkit.fluxcd.io/ssa`.
    pub ssa: Ssa,
    /// `kustomize.toolkit.fluxcd.io/force: enabled`.
    pub force: bool,
    /// `fluxcd.controlplane.io/prune: disabled`, which flux-operator reads.
    pub operator_prune_disabled: bool,
}

/// `kustomize.toolkit.fluxcd.io/ssa`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ssa {
    /// Absent, `Override` or `Merge`: applied and pruned.
    #[default]
    Applied,
    /// Neither applied over what is live nor, since Flux 2.8.5, pruned.
    Ignore,
    /// Applied only where nothing is live; pruned all the same.
    IfNotPresent,
}

/// Why the API server refuses an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ApiRefusal {
    /// A field that can't change: a new object would be accepted.
    Immutable,
    /// Invalid in any case.
    #[cfg_attr(not(test), expect(dead_code, reason = "part of the model; no question of ours has one yet"))]
    Invalid,
}

/// What an object is to Flux.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// Nothing.
    Plain,
    /// A Flux Kustomization.
    Kustomization(KustomizationSettings),
    HelmRelease(WantedRelease),
    /// A FluxInstance and what it generates.
    #[cfg_attr(not(test), expect(dead_code, reason = "part of the model; no question of ours has one yet"))]
    FluxInstance(Vec<Manifest>),
}

/// The spec of a Flux Kustomization, as far as it decides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KustomizationSettings {
    /// Effective suspension.
    pub suspend: bool,
    /// `prune`.
    pub prune: bool,
    /// `deletionPolicy`.
    pub deletion_policy: DeletionPolicy,
    /// `force`.
    pub force: bool,
    /// The cluster that it applies to.
    pub target: ApplyTarget,
    /// `dependsOn`.
    pub depends_on: Vec<Dependency>,
    /// Its source; two of one source wait for each other's revision.
    pub source: Option<Id>,
    /// The ServiceAccount that it impersonates.
    pub account: Option<Id>,
    /// Tells apart specs that build other objects: path, source, patches, variables.
    pub build: u64,
}

/// `spec.deletionPolicy`.
/// Source: kustomize-controller `finalizerShouldDeleteResources`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DeletionPolicy {
    /// Follows `prune`.
    #[default]
    MirrorPrune,
    /// `Delete` and `WaitForTermination`.
    Delete,
    /// Keeps everything.
    Orphan,
    /// A value that the controller doesn't know deletes nothing.
    Unknown,
}

impl DeletionPolicy {
    /// By its text; `None` is the default.
    pub(crate) fn of(text: Option<&str>) -> DeletionPolicy {
        match text {
            None | Some("MirrorPrune" | "") => DeletionPolicy::MirrorPrune,
            Some("Delete" | "WaitForTermination") => DeletionPolicy::Delete,
            Some("Orphan") => DeletionPolicy::Orphan,
            Some(_) => DeletionPolicy::Unknown,
        }
    }
}

/// One entry of `dependsOn`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Dependency {
    /// The Kustomization that is waited for.
    pub on: Id,
    /// Has a `readyExpr`, which replaces the built-in checks.
    pub expression: bool,
}

/// A live object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Live {
    /// As it was last applied.
    pub manifest: Manifest,
    /// The Kustomization whose owner labels it carries.
    pub owner: Option<Id>,
    /// Created since the start.
    pub fresh: bool,
}

/// What the last reconciliation of an applier came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Ready at the revision before.
    Old,
    /// Ready at the new revision.
    New,
    /// Not ready.
    Failed,
}

/// A cluster, or several: every object says in which one it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ClusterState {
    /// Live objects; those of Flux are in [`ApplyTarget::Local`].
    pub objects: BTreeMap<ObjectPlace, Live>,
    /// `status.inventory` of Kustomizations and FluxInstances: ids without a cluster.
    pub inventories: BTreeMap<Id, BTreeSet<Id>>,
    /// Appliers that have yet to look at the new revision, or at their new spec.
    pub pending: BTreeSet<Id>,
    /// Ready conditions.
    pub status: BTreeMap<Id, Status>,
    /// Deleted, with a finalizer that has not run.
    pub terminating: BTreeMap<Id, Live>,
    /// Releases of HelmReleases: `status.history` and `status.storageNamespace`.
    pub history: BTreeMap<Id, WantedRelease>,
}

/// What an applier builds from the new revision, by itself and by
/// [`KustomizationSettings::build`]. Nothing is done for a pair that is not here until the spec
/// changes.
pub(crate) type Builds = BTreeMap<(Id, u64), Build>;

/// What a Kustomization builds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// These objects, in any order.
    Objects(Vec<Manifest>),
    /// It can't be built.
    Fails,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A Kustomization, HelmRelease or FluxInstance is reconciled.
    Reconcile(Id),
    /// The finalizer of a deleted one runs.
    Finalize(Id),
}

impl ClusterState {
    /// Puts an applied object into the start: live, owned, and in the inventory of
    /// its owner. Objects of Flux are ready.
    pub(crate) fn place(&mut self, target: ApplyTarget, manifest: Manifest, owner: Option<&Id>) {
        let id = manifest.id.clone();
        if let Some(owner) = owner {
            self.inventories.entry(owner.clone()).or_default().insert(id.clone());
        }
        match &manifest.role {
            Role::HelmRelease(release) => {
                let installed = Live {
                    manifest: Manifest::plain(release.id(), 0),
                    owner: Some(id.clone()),
                    fresh: false,
                };
                self.objects.insert((release.target.clone(), release.id()), installed);
                self.history.insert(id.clone(), release.clone());
                self.status.insert(id.clone(), Status::Old);
            }
            Role::Kustomization(_) | Role::FluxInstance(_) => {
                self.status.insert(id.clone(), Status::Old);
                self.inventories.entry(id.clone()).or_default();
            }
            Role::Plain => {}
        }
        self.objects.insert((target, id), Live { manifest, owner: owner.cloned(), fresh: false });
    }

    /// A new revision arrives: everything that applies looks at it.
    pub(crate) fn revision(&mut self) {
        let appliers = self.objects.values().filter(|live| live.manifest.role != Role::Plain);
        self.pending = appliers.map(|live| live.manifest.id.clone()).collect();
    }

    /// The same as a start: what is there was not created just now.
    #[must_use]
    pub(crate) fn settled(mut self) -> ClusterState {
        self.objects.values_mut().for_each(|live| live.fresh = false);
        self
    }

    /// What can happen next.
    pub(crate) fn enabled(&self, builds: &Builds) -> Vec<Event> {
        let reconciled =
            self.pending.iter().filter(|id| self.reconciles(id, builds)).cloned().map(Event::Reconcile);
        let finalized = self.terminating.keys().cloned().map(Event::Finalize);
        reconciled.chain(finalized).collect()
    }

    /// The state after an event; the same where it does nothing.
    #[must_use]
    pub(crate) fn after(&self, event: &Event, builds: &Builds) -> ClusterState {
        let mut next = self.clone();
        match event {
            Event::Reconcile(id) => {
                next.pending.remove(id);
                match self.local(id).map(|live| live.manifest.role.clone()) {
                    Some(Role::Kustomization(settings)) => next.reconcile(id, &settings, builds),
                    Some(Role::HelmRelease(release)) => next.upgrade(id, &release),
                    Some(Role::FluxInstance(generated)) => next.generate(id, &generated),
                    _ => {}
                }
            }
            Event::Finalize(id) => {
                let Some(live) = next.terminating.remove(id) else { return next };
                match &live.manifest.role {
                    Role::Kustomization(settings) => next.finalize(id, settings),
                    Role::HelmRelease(release) => next.uninstall(id, release),
                    Role::FluxInstance(_) => next.uninstall_flux(id, &live),
                    Role::Plain => {}
                }
                next.inventories.remove(id);
                next.status.remove(id);
                next.history.remove(id);
            }
        }
        next
    }

    fn local(&self, id: &Id) -> Option<&Live> {
        self.objects.get(&(ApplyTarget::Local, id.clone()))
    }

    /// Whether an applier that looks would do anything.
    fn reconciles(&self, id: &Id, builds: &Builds) -> bool {
        match self.local(id).map(|live| &live.manifest.role) {
            Some(Role::Kustomization(settings)) => {
                !settings.suspend
                    && self.dependencies_are_ready(settings)
                    && builds.contains_key(&(id.clone(), settings.build))
            }
            Some(Role::HelmRelease(release)) => !release.suspend,
            Some(Role::FluxInstance(_)) => {
                !self.local(id).is_some_and(|live| live.manifest.marks.reconcile_disabled)
            }
            _ => false,
        }
    }

    /// An accepted DELETE: what has a finalizer of Flux waits for it.
    fn delete(&mut self, place: &ObjectPlace) {
        let Some(live) = self.objects.remove(place) else { return };
        if live.manifest.role != Role::Plain && place.0 == ApplyTarget::Local {
            self.pending.remove(&place.1);
            self.terminating.insert(place.1.clone(), live);
        }
    }
}
