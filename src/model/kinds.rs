//! Flux kinds: groups, the versions that each Flux minor serves, and how an
//! object of the kind is suspended.
//! Source: CHANGELOG and `config/crd/bases` of each controller; removals in
//! kustomize-controller 1.7/1.8, helm-controller 1.4/1.5, source-controller
//! 1.7/1.8, notification-controller 1.7/1.9, image-reflector-controller 1.0/1.2.

use crate::model::{ObjectId, short_names};

/// How an object of a kind is suspended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspendBy {
    /// `spec.suspend: true`.
    Field,
    /// An annotation set to `disabled`, compared without case.
    Annotation(&'static str),
    /// It can't be.
    Nothing,
}

/// A version of a kind's API and the Flux minors that serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedVersion {
    /// Such as `v1beta2`.
    pub version: &'static str,
    /// First Flux 2.x minor that serves it.
    pub since: u32,
    /// First Flux 2.x minor that no longer does.
    pub removed: Option<u32>,
}

/// A Flux kind.
#[derive(Debug)]
pub struct FluxKind {
    /// API group.
    pub group: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Its versions, the newest first.
    pub versions: &'static [ServedVersion],
    /// How it is suspended.
    pub suspend: SuspendBy,
    /// Fields that existed in a removed version and are gone in the newest: an
    /// object that has one can't just change its apiVersion. JSON Pointers, `*`
    /// for each item of a list.
    pub gone_fields: &'static [&'static str],
    /// What people type for it besides the kind: `ks`, `hr`.
    pub short: &'static [&'static str],
}

const fn served(version: &'static str, since: u32, removed: Option<u32>) -> ServedVersion {
    ServedVersion { version, since, removed }
}

/// API group of the sources.
pub const SOURCE: &str = "source.toolkit.fluxcd.io";
/// API group of the Flux Kustomization.
pub(crate) const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io";
/// API group of the HelmRelease.
pub(crate) const HELM: &str = "helm.toolkit.fluxcd.io";
/// API group of image automation.
pub(crate) const IMAGE: &str = "image.toolkit.fluxcd.io";
/// API group of alerts, providers and receivers.
pub(crate) const NOTIFICATION: &str = "notification.toolkit.fluxcd.io";
/// API group of the ArtifactGenerator.
pub(crate) const EXTENSIONS: &str = "source.extensions.fluxcd.io";
/// API group of flux-operator.
pub(crate) const OPERATOR: &str = "fluxcd.controlplane.io";

const OPERATOR_SUSPEND: SuspendBy = SuspendBy::Annotation("fluxcd.controlplane.io/reconcile");

/// All kinds, by group and kind.
pub static KINDS: &[FluxKind] = &[
    FluxKind {
        group: SOURCE,
        kind: "GitRepository",
        versions: &[served("v1", 0, None), served("v1beta2", 0, Some(8)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &["/spec/gitImplementation", "/spec/accessFrom"],
        short: &["gitrepo"],
    },
    FluxKind {
        group: SOURCE,
        kind: "OCIRepository",
        versions: &[served("v1", 6, None), served("v1beta2", 0, Some(8))],
        suspend: SuspendBy::Field,
        gone_fields: &[],
        short: &["ocirepo"],
    },
    FluxKind {
        group: SOURCE,
        kind: "Bucket",
        versions: &[served("v1", 4, None), served("v1beta2", 0, Some(8)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &["/spec/accessFrom"],
        short: &[],
    },
    FluxKind {
        group: SOURCE,
        kind: "HelmRepository",
        versions: &[served("v1", 3, None), served("v1beta2", 0, Some(8)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &[],
        short: &["helmrepo"],
    },
    FluxKind {
        group: SOURCE,
        kind: "HelmChart",
        versions: &[served("v1", 3, None), served("v1beta2", 0, Some(8)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &["/spec/valuesFile", "/spec/accessFrom"],
        short: &["hc"],
    },
    FluxKind {
        group: SOURCE,
        kind: "ExternalArtifact",
        versions: &[served("v1", 7, None)],
        suspend: SuspendBy::Nothing,
        gone_fields: &[],
        short: &["ea"],
    },
    FluxKind {
        group: EXTENSIONS,
        kind: "ArtifactGenerator",
        versions: &[served("v1beta1", 7, None)],
        suspend: SuspendBy::Annotation("source.extensions.fluxcd.io/reconcile"),
        gone_fields: &[],
        short: &["ag"],
    },
    FluxKind {
        group: KUSTOMIZE,
        kind: "Kustomization",
        versions: &[served("v1", 0, None), served("v1beta2", 0, Some(8)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &["/spec/validation", "/spec/patchesStrategicMerge", "/spec/patchesJson6902"],
        short: &["ks"],
    },
    FluxKind {
        group: HELM,
        kind: "HelmRelease",
        versions: &[served("v2", 3, None), served("v2beta2", 2, Some(8)), served("v2beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &[
            "/spec/chart/spec/valuesFile",
            "/spec/postRenderers/*/kustomize/patchesStrategicMerge",
            "/spec/postRenderers/*/kustomize/patchesJson6902",
        ],
        short: &["hr"],
    },
    FluxKind {
        group: IMAGE,
        kind: "ImageRepository",
        versions: &[served("v1", 7, None), served("v1beta2", 0, Some(9)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &[],
        short: &[],
    },
    FluxKind {
        group: IMAGE,
        kind: "ImagePolicy",
        versions: &[served("v1", 7, None), served("v1beta2", 0, Some(9)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &[],
        short: &[],
    },
    FluxKind {
        group: IMAGE,
        kind: "ImageUpdateAutomation",
        versions: &[served("v1", 7, None), served("v1beta2", 3, Some(9)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &[],
        short: &["iua"],
    },
    FluxKind {
        group: NOTIFICATION,
        kind: "Receiver",
        versions: &[served("v1", 0, None), served("v1beta2", 0, Some(9)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &[],
        short: &[],
    },
    FluxKind {
        group: NOTIFICATION,
        kind: "Alert",
        versions: &[served("v1beta3", 3, None), served("v1beta2", 0, Some(9)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &[],
        short: &[],
    },
    FluxKind {
        group: NOTIFICATION,
        kind: "Provider",
        versions: &[served("v1beta3", 3, None), served("v1beta2", 0, Some(9)), served("v1beta1", 0, Some(7))],
        suspend: SuspendBy::Field,
        gone_fields: &[],
        short: &[],
    },
    FluxKind {
        group: OPERATOR,
        kind: "FluxInstance",
        versions: &[served("v1", 0, None)],
        suspend: OPERATOR_SUSPEND,
        gone_fields: &[],
        short: &[],
    },
    FluxKind {
        group: OPERATOR,
        kind: "FluxReport",
        versions: &[served("v1", 0, None)],
        suspend: OPERATOR_SUSPEND,
        gone_fields: &[],
        short: &[],
    },
    FluxKind {
        group: OPERATOR,
        kind: "ResourceSet",
        versions: &[served("v1", 0, None)],
        suspend: OPERATOR_SUSPEND,
        gone_fields: &[],
        short: &["rset"],
    },
    FluxKind {
        group: OPERATOR,
        kind: "ResourceSetInputProvider",
        versions: &[served("v1", 0, None)],
        suspend: OPERATOR_SUSPEND,
        gone_fields: &[],
        short: &["rsip"],
    },
];

/// The Flux kind of a group and kind.
pub(crate) fn find(group: &str, kind: &str) -> Option<&'static FluxKind> {
    KINDS.iter().find(|known| known.kind == kind && known.group == group)
}

/// The Flux kind of an object.
pub(crate) fn of(id: &ObjectId) -> Option<&'static FluxKind> {
    find(id.group(), &id.kind)
}

/// Whether an object is a Flux Kustomization (not a kustomize one).
pub fn is_kustomization(id: &ObjectId) -> bool {
    id.is(KUSTOMIZE, "Kustomization")
}

/// Whether an object is a HelmRelease.
pub(crate) fn is_helm_release(id: &ObjectId) -> bool {
    id.is(HELM, "HelmRelease")
}

/// The kind (of any API) that a user means by `ks`, `hr`, `deploy` or the name of one of
/// Flux's kinds in any case; the word itself where no table has it.
pub(crate) fn kind_of_word(word: &str) -> &str {
    let known =
        KINDS.iter().find(|known| known.kind.eq_ignore_ascii_case(word) || known.short.contains(&word));
    known.map(|known| known.kind).or_else(|| short_names::kind_of(word)).unwrap_or(word)
}
