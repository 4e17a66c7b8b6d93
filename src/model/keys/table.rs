//! Flux's keys and domains. Matching where nothing else is said: fluxcd/pkg
//! `ssa/utils` `AnyInMetadata` (label or annotation, case ignored, empty ignored).

use super::{Domain, Grammar, KeyField, KeyOwner, KeyShape, Kinds, MetadataKey, On, Openness, Unread};

const KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io";
const HELM: &str = "helm.toolkit.fluxcd.io";
const SOURCE: &str = "source.toolkit.fluxcd.io";
const IMAGE: &str = "image.toolkit.fluxcd.io";
const NOTIFICATION: &str = "notification.toolkit.fluxcd.io";
const EXTENSIONS: &str = "source.extensions.fluxcd.io";
const OPERATOR: &str = "fluxcd.controlplane.io";

/// Kinds whose controllers send events to notification-controller.
const EMITTERS: &[Kinds] = &[
    Kinds(KUSTOMIZE, "Kustomization"),
    Kinds(HELM, "HelmRelease"),
    Kinds(SOURCE, "GitRepository"),
    Kinds(SOURCE, "OCIRepository"),
    Kinds(SOURCE, "Bucket"),
    Kinds(SOURCE, "HelmRepository"),
    Kinds(SOURCE, "HelmChart"),
    Kinds(IMAGE, "*"),
    Kinds(EXTENSIONS, "ArtifactGenerator"),
    Kinds(OPERATOR, "*"),
];

const RECONCILED: &[Kinds] = &[
    Kinds(KUSTOMIZE, "*"),
    Kinds(HELM, "*"),
    Kinds(SOURCE, "*"),
    Kinds(IMAGE, "*"),
    Kinds(NOTIFICATION, "*"),
    Kinds(EXTENSIONS, "*"),
    Kinds(OPERATOR, "*"),
];

const OPERATED: &[Kinds] = &[Kinds(OPERATOR, "*")];
const CONFIG_AND_SECRET: &[Kinds] = &[Kinds("", "ConfigMap"), Kinds("", "Secret")];

const DISABLED: Grammar = Grammar::Word { does: &["disabled"], idle: &["enabled", "true"], exact: false };
const ENABLED: Grammar = Grammar::Word { does: &["enabled"], idle: &["disabled", "false"], exact: false };

/// A released annotation that a person sets on any object.
const SETTING: MetadataKey = MetadataKey {
    name: "",
    shape: KeyShape::Exact,
    field: KeyField::Annotation,
    on: On::Any,
    value: Grammar::Free,
    unread: Unread::Ignored,
    class: KeyOwner::Setting,
    reader: "",
    effect: "",
    since: None,
    until: None,
    released: true,
};

/// What kustomize-controller reads on the objects that it applies.
const APPLIED: MetadataKey =
    MetadataKey { field: KeyField::Either, reader: "kustomize-controller", ..SETTING };

/// What the Flux Operator reads on its own kinds and on what a ResourceSet makes.
const OPERATOR_KEY: MetadataKey = MetadataKey { reader: "flux-operator", ..SETTING };

const REQUEST: MetadataKey = MetadataKey { class: KeyOwner::Request, ..SETTING };

const OWNER: MetadataKey = MetadataKey {
    field: KeyField::Label,
    class: KeyOwner::Owner,
    effect: "names the object that applied this one; its controller writes it",
    ..SETTING
};

const PROPOSED: MetadataKey =
    MetadataKey { released: false, reader: "no released controller", on: On::Only(RECONCILED), ..SETTING };

/// Every key of Flux and the Flux Operator.
pub(crate) static KEYS: &[MetadataKey] = &[
    // Requests: fluxcd/pkg `apis/meta` annotations.
    MetadataKey {
        name: "reconcile.fluxcd.io/requestedAt",
        on: On::Only(RECONCILED),
        reader: "every Flux controller",
        effect: "asks for one reconciliation when its value changes",
        ..REQUEST
    },
    MetadataKey {
        name: "reconcile.fluxcd.io/forceAt",
        on: On::Only(&[
            Kinds(HELM, "HelmRelease"),
            Kinds(OPERATOR, "FluxInstance"),
            Kinds(OPERATOR, "ResourceSetInputProvider"),
        ]),
        reader: "helm-controller and flux-operator",
        effect: "asks for one forced install or upgrade when it equals `requestedAt`",
        ..REQUEST
    },
    MetadataKey {
        name: "reconcile.fluxcd.io/resetAt",
        on: On::Only(&[Kinds(HELM, "HelmRelease")]),
        reader: "helm-controller",
        effect: "resets the failure counts once when it equals `requestedAt`",
        ..REQUEST
    },
    // A label selector, so compared exactly: fluxcd/pkg `runtime` default of
    // `--watch-configs-label-selector`.
    MetadataKey {
        name: "reconcile.fluxcd.io/watch",
        field: KeyField::Label,
        on: On::Only(CONFIG_AND_SECRET),
        value: Grammar::Word { does: &["Enabled"], idle: &["disabled", "false"], exact: true },
        reader: "kustomize-controller and helm-controller",
        effect: "makes a change of this object reconcile those that use it",
        ..SETTING
    },
    // kustomize-controller `apply`, `deleteObjects`; pkg `ssa/manager_delete.go`.
    MetadataKey {
        name: "kustomize.toolkit.fluxcd.io/reconcile",
        value: DISABLED,
        effect: "keeps the Kustomization that applies this object from applying and deleting it",
        ..APPLIED
    },
    MetadataKey {
        name: "kustomize.toolkit.fluxcd.io/prune",
        value: DISABLED,
        effect: "keeps this object in the cluster when it leaves Git",
        ..APPLIED
    },
    MetadataKey {
        name: "kustomize.toolkit.fluxcd.io/ssa",
        value: Grammar::Word {
            does: &["Merge", "IfNotPresent", "Ignore", "Override"],
            idle: &[],
            exact: false,
        },
        effect: "chooses how this object is applied",
        ..APPLIED
    },
    MetadataKey {
        name: "kustomize.toolkit.fluxcd.io/force",
        value: ENABLED,
        effect: "lets this object be recreated when an immutable field changes",
        ..APPLIED
    },
    // pkg `kustomize` `SubstituteVariables` compares exactly.
    MetadataKey {
        name: "kustomize.toolkit.fluxcd.io/substitute",
        value: Grammar::Word { does: &["disabled"], idle: &["enabled", "true"], exact: true },
        effect: "keeps postBuild substitution away from this object",
        ..APPLIED
    },
    MetadataKey {
        name: "kustomize.toolkit.fluxcd.io/decrypt",
        field: KeyField::Annotation,
        value: DISABLED,
        effect: "keeps SOPS decryption away from this object",
        ..APPLIED
    },
    MetadataKey { name: "kustomize.toolkit.fluxcd.io/name", reader: "kustomize-controller", ..OWNER },
    MetadataKey { name: "kustomize.toolkit.fluxcd.io/namespace", reader: "kustomize-controller", ..OWNER },
    MetadataKey {
        name: "kustomize.toolkit.fluxcd.io/checksum",
        class: KeyOwner::Note,
        effect: "did something in old versions; kustomize-controller removes it",
        ..APPLIED
    },
    // helm-controller: the exclusion selector of jsondiff, on rendered objects.
    MetadataKey {
        name: "helm.toolkit.fluxcd.io/driftDetection",
        field: KeyField::Either,
        on: On::AnyBut(&[Kinds(HELM, "HelmRelease")]),
        value: DISABLED,
        reader: "helm-controller",
        effect: "leaves an object that the chart renders out of drift detection",
        ..SETTING
    },
    MetadataKey { name: "helm.toolkit.fluxcd.io/name", reader: "helm-controller", ..OWNER },
    MetadataKey { name: "helm.toolkit.fluxcd.io/namespace", reader: "helm-controller", ..OWNER },
    // pkg `runtime/events/recorder.go` `AnnotatedEventf`.
    MetadataKey {
        name: "event.toolkit.fluxcd.io/",
        shape: KeyShape::Prefix,
        on: On::Only(EMITTERS),
        reader: "the controllers' event recorder",
        effect: "adds a key to the object's events and notifications",
        since: Some((2, 5)),
        ..SETTING
    },
    // source-watcher lower-cases the value.
    MetadataKey {
        name: "source.extensions.fluxcd.io/reconcile",
        on: On::Only(&[Kinds(EXTENSIONS, "ArtifactGenerator")]),
        value: DISABLED,
        reader: "source-watcher",
        effect: "suspends the ArtifactGenerator",
        since: Some((2, 7)),
        ..SETTING
    },
    MetadataKey { name: "source.extensions.fluxcd.io/generator", reader: "source-watcher", ..OWNER },
    // flux-operator: its own kinds, and the objects that a ResourceSet makes.
    MetadataKey {
        name: "fluxcd.controlplane.io/reconcile",
        value: DISABLED,
        effect: "suspends an object of the Flux Operator, or leaves one out of a ResourceSet",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/reconcileEvery",
        on: On::Only(OPERATED),
        value: Grammar::Duration,
        unread: Unread::Default("1h (10m for a ResourceSetInputProvider)"),
        effect: "sets the interval of reconciliation",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/reconcileArtifactEvery",
        on: On::Only(&[Kinds(OPERATOR, "FluxInstance")]),
        value: Grammar::Duration,
        unread: Unread::Default("10m"),
        effect: "sets how often the distribution artifact is looked up",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/reconcileTimeout",
        on: On::Only(OPERATED),
        value: Grammar::Duration,
        unread: Unread::Default("5m (2m for a ResourceSetInputProvider)"),
        effect: "sets the timeout of a reconciliation",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/prune",
        field: KeyField::Either,
        value: DISABLED,
        effect: "keeps an object of a ResourceSet in the cluster when it leaves the set",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/force",
        field: KeyField::Either,
        value: ENABLED,
        effect: "lets an object of a ResourceSet be recreated when an immutable field changes",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/recreateOnFailure",
        value: Grammar::Word { does: &["enabled"], idle: &["disabled", "false"], exact: true },
        effect: "runs a failed Job of a ResourceSet again",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/copyFrom",
        on: On::Only(CONFIG_AND_SECRET),
        effect: "fills the object from the one it names as `namespace/name`",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/convertKubeConfigFrom",
        on: On::Only(&[Kinds("", "ConfigMap")]),
        effect: "fills address and CA from the Secret it names as `namespace/name`",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/checksumFrom",
        effect: "rolls the workload out when one of the objects that it names changes",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/checksum",
        class: KeyOwner::Internal,
        effect: "is written by flux-operator from `checksumFrom`",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/revision",
        class: KeyOwner::Note,
        effect: "is the revision of an event",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/profile",
        field: KeyField::Either,
        class: KeyOwner::Note,
        effect: "names the sizing profile",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/suspendedBy",
        class: KeyOwner::Note,
        effect: "says who suspended the object in the web UI",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/createdBy",
        class: KeyOwner::Note,
        effect: "says who started the Job in the web UI",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/id",
        field: KeyField::Either,
        class: KeyOwner::Note,
        effect: "is the Flux Operator's own mark",
        ..OPERATOR_KEY
    },
    MetadataKey {
        name: "fluxcd.controlplane.io/role",
        field: KeyField::Either,
        class: KeyOwner::Note,
        effect: "is the Flux Operator's own mark",
        ..OPERATOR_KEY
    },
    MetadataKey { name: "resourceset.fluxcd.controlplane.io/name", reader: "flux-operator", ..OWNER },
    MetadataKey { name: "resourceset.fluxcd.controlplane.io/namespace", reader: "flux-operator", ..OWNER },
    // `--watch-label-selector` of the controllers' shards.
    MetadataKey {
        name: "sharding.fluxcd.io/key",
        field: KeyField::Label,
        reader: "the controllers of a shard",
        effect: "chooses the shard of controllers that reconciles the object",
        ..SETTING
    },
    MetadataKey {
        name: "sharding.fluxcd.io/role",
        field: KeyField::Label,
        class: KeyOwner::Note,
        effect: "marks the Deployments of a shard",
        ..SETTING
    },
    // pkg `auth/gcp`.
    MetadataKey {
        name: "gcp.auth.fluxcd.io/workload-identity-provider",
        on: On::Only(&[Kinds("", "ServiceAccount")]),
        value: Grammar::GoogleAudience,
        unread: Unread::Fails,
        reader: "the controllers' login to Google Cloud",
        effect: "names the workload identity provider of the ServiceAccount",
        ..SETTING
    },
    MetadataKey {
        name: "notification.toolkit.fluxcd.io/webhook",
        class: KeyOwner::Note,
        effect: "records the URL of a Receiver",
        ..SETTING
    },
    MetadataKey {
        name: "toolkit.fluxcd.io/tenant",
        field: KeyField::Either,
        class: KeyOwner::Note,
        effect: "names the tenant",
        ..SETTING
    },
    MetadataKey {
        name: "toolkit.fluxcd.io/runtime",
        field: KeyField::Either,
        class: KeyOwner::Note,
        effect: "marks the runtime",
        ..SETTING
    },
    MetadataKey {
        name: "fluxcd.io/sync-checksum",
        field: KeyField::Either,
        class: KeyOwner::Note,
        effect: "is left from Flux v1; kustomize-controller removes it",
        ..SETTING
    },
    MetadataKey {
        name: "fluxcd.io/sync-gc-mark",
        field: KeyField::Either,
        class: KeyOwner::Note,
        effect: "is left from Flux v1; kustomize-controller removes it",
        ..SETTING
    },
    // Proposals: the suspend control RFC and the gating RFC.
    MetadataKey {
        name: "reconcile.fluxcd.io/suspended",
        value: Grammar::Presence,
        effect: "would suspend the object",
        ..PROPOSED
    },
    MetadataKey {
        name: "reconcile.fluxcd.io/suspendedDuring",
        effect: "would suspend the object on a schedule",
        ..PROPOSED
    },
    MetadataKey {
        name: "suspend.fluxcd.io/reason",
        effect: "would say why the object is suspended",
        ..PROPOSED
    },
    MetadataKey {
        name: "open.gate.fluxcd.io/requestedAt",
        on: On::Only(&[Kinds("gating.toolkit.fluxcd.io", "Gate")]),
        class: KeyOwner::Gate,
        value: Grammar::Timestamp,
        effect: "would open the gate",
        ..PROPOSED
    },
    MetadataKey {
        name: "close.gate.fluxcd.io/requestedAt",
        on: On::Only(&[Kinds("gating.toolkit.fluxcd.io", "Gate")]),
        class: KeyOwner::Gate,
        value: Grammar::Timestamp,
        effect: "would close the gate",
        ..PROPOSED
    },
];

const fn closed(name: &'static str) -> Domain {
    Domain { name, openness: Openness::Closed, with_subdomains: false }
}

const fn shared(name: &'static str) -> Domain {
    Domain { name, openness: Openness::Shared, with_subdomains: false }
}

/// Every domain of Flux's keys.
pub(crate) static DOMAINS: &[Domain] = &[
    Domain { name: "event.toolkit.fluxcd.io", openness: Openness::Open, with_subdomains: false },
    closed("kustomize.toolkit.fluxcd.io"),
    closed("helm.toolkit.fluxcd.io"),
    closed("source.toolkit.fluxcd.io"),
    closed("image.toolkit.fluxcd.io"),
    closed("notification.toolkit.fluxcd.io"),
    closed("gating.toolkit.fluxcd.io"),
    closed("source.extensions.fluxcd.io"),
    closed("reconcile.fluxcd.io"),
    closed("suspend.fluxcd.io"),
    closed("sharding.fluxcd.io"),
    closed("open.gate.fluxcd.io"),
    closed("close.gate.fluxcd.io"),
    closed("gcp.auth.fluxcd.io"),
    closed("fluxcd.controlplane.io"),
    closed("resourceset.fluxcd.controlplane.io"),
    shared("toolkit.fluxcd.io"),
    shared("fluxcd.io"),
];
