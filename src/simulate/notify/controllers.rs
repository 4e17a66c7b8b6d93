//! What each controller itself adds to the metadata of its events. The values
//! exist at run time only; the keys are known.

use crate::model::kinds;

/// A key that a controller adds to its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuntimeKey {
    /// The key without the group's prefix, as a provider sees it.
    pub key: &'static str,
    /// Whether every event of the usual kind carries it; if not, `when` says
    /// which do.
    pub always: bool,
    /// Which events carry it.
    pub when: &'static str,
    /// Who sends those, where that is not the object's own controller.
    pub by: Option<&'static str>,
}

const fn always(key: &'static str, when: &'static str) -> RuntimeKey {
    RuntimeKey { key, always: true, when, by: None }
}

const fn sometimes(key: &'static str, when: &'static str) -> RuntimeKey {
    RuntimeKey { key, always: false, when, by: None }
}

/// A kind of object that emits events, and its controller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Emitter {
    /// The API group of the kind.
    pub group: &'static str,
    pub kind: &'static str,
    /// The controller that emits events about it.
    pub controller: &'static str,
    /// The keys that notification-controller keeps of what the controller
    /// adds. Its digest, checksum and token never get that far.
    pub keys: &'static [RuntimeKey],
}

/// Keys of kustomize-controller (`kustomization_controller.go`, `event`).
const KUSTOMIZATION: &[RuntimeKey] = &[
    sometimes("commit_status", "the event that ends a successful reconciliation"),
    sometimes("originRevision", "events of an artifact that carries an origin revision"),
    always("revision", "events of a known artifact revision"),
];

/// Keys of helm-controller (`internal/reconcile/release.go`, `eventMeta`,
/// `addAppVersion`, `addOCIDigest`).
const HELM_RELEASE: &[RuntimeKey] = &[
    always("app-version", "events of a release"),
    sometimes("oci-digest", "events of a release of an OCI chart"),
    always("revision", "events of a release"),
];

/// Keys of source-controller (`notify` of each reconciler).
const SOURCE: &[RuntimeKey] = &[always("revision", "events of a new artifact")];

/// Keys of flux-operator.
const OPERATOR: &[RuntimeKey] = &[always("revision", "events of a reconciliation")];

/// Every kind that posts events to notification-controller. `ExternalArtifact`
/// has no reconciler that emits, `Alert` and `Provider` have none at all.
pub(crate) static EMITTERS: &[Emitter] = &[
    emitter(kinds::KUSTOMIZE, "Kustomization", "kustomize-controller", KUSTOMIZATION),
    emitter(kinds::HELM, "HelmRelease", "helm-controller", HELM_RELEASE),
    emitter(kinds::SOURCE, "Bucket", "source-controller", SOURCE),
    emitter(kinds::SOURCE, "GitRepository", "source-controller", SOURCE),
    emitter(kinds::SOURCE, "HelmChart", "source-controller", SOURCE),
    emitter(kinds::SOURCE, "HelmRepository", "source-controller", SOURCE),
    emitter(kinds::SOURCE, "OCIRepository", "source-controller", SOURCE),
    emitter(kinds::IMAGE, "ImagePolicy", "image-reflector-controller", &[]),
    emitter(kinds::IMAGE, "ImageRepository", "image-reflector-controller", &[]),
    emitter(kinds::IMAGE, "ImageUpdateAutomation", "image-automation-controller", &[]),
    emitter(kinds::EXTENSIONS, "ArtifactGenerator", "source-watcher", &[]),
    emitter(kinds::NOTIFICATION, "Receiver", "notification-controller", &[]),
    emitter(kinds::OPERATOR, "FluxInstance", "flux-operator", OPERATOR),
    emitter(kinds::OPERATOR, "ResourceSet", "flux-operator", &[]),
    emitter(kinds::OPERATOR, "ResourceSetInputProvider", "flux-operator", OPERATOR),
];

const fn emitter(
    group: &'static str,
    kind: &'static str,
    controller: &'static str,
    keys: &'static [RuntimeKey],
) -> Emitter {
    Emitter { group, kind, controller, keys }
}

/// The emitter of events about a kind, `None` where nothing emits any.
pub(crate) fn emitter_of(group: &str, kind: &str) -> Option<&'static Emitter> {
    EMITTERS.iter().find(|e| e.group == group && e.kind == kind)
}
