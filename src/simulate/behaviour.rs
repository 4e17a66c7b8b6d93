//! What controllers do from some version on, and the one question that rules
//! and simulators ask about it: do the controllers of this cluster do that? Yes,
//! no, or unknown where nothing states their version.

use crate::lang::yaml::Known;
use crate::model::Version;
use crate::world::versions::Settings;

/// Whose version counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Product {
    /// Flux 2.x.
    Flux,
    /// Cluster API 1.x.
    ClusterApi,
}

impl Product {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Product::Flux => "Flux",
            Product::ClusterApi => "Cluster API",
        }
    }

    fn major(self) -> u32 {
        match self {
            Product::Flux => 2,
            Product::ClusterApi => 1,
        }
    }

    /// The version that a cluster states.
    pub(crate) fn version(self, settings: &Settings) -> Option<Version> {
        match self {
            Product::Flux => settings.flux.value,
            Product::ClusterApi => settings.cluster_api.value,
        }
    }
}

/// Something that controllers do from a minor version on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Behaviour {
    /// Whose version counts.
    pub product: Product,
    /// The first minor version that does it.
    pub since: u32,
    /// What it does since then, as a clause.
    pub now: &'static str,
    /// What it did before, as a clause.
    pub before: &'static str,
}

impl Behaviour {
    /// Whether the controllers of a cluster do it.
    pub(crate) fn of(&self, settings: &Settings) -> Known<bool> {
        // Of Flux a range may be known where no version is.
        let in_range = match self.product {
            Product::Flux => settings.flux_at_least(self.since),
            Product::ClusterApi => None,
        };
        in_range.map_or_else(|| self.at(self.product.version(settings)), Known::Value)
    }

    /// Whether controllers of a version do it.
    pub(crate) fn at(&self, version: Option<Version>) -> Known<bool> {
        match version {
            Some(version) => Known::Value(version.at_least(self.product.major(), self.since)),
            None => Known::Unknown,
        }
    }

    /// The version that does it first: `Flux 2.5`.
    pub(crate) fn first(&self) -> String {
        format!("{} {}.{}", self.product.name(), self.product.major(), self.since)
    }

    /// What is to be said of a cluster whose controllers don't do it, or of which
    /// it is not known: then both answers.
    pub(crate) fn note(&self, settings: &Settings) -> Option<String> {
        let Behaviour { now, before, .. } = self;
        match (self.of(settings), self.product.version(settings)) {
            (Known::Value(true), _) => None,
            (Known::Value(false), None) => {
                Some(format!("{} before {}: {before}; from then on {now}", self.product.name(), self.first()))
            }
            (_, Some(version)) => {
                Some(format!("{} {version}: {before}; from {} on {now}", self.product.name(), self.first()))
            }
            (_, None) => Some(format!(
                "the version of {} is not known: from {} on {now}; before, {before}",
                self.product.name(),
                self.first()
            )),
        }
    }
}

const fn flux(since: u32, now: &'static str, before: &'static str) -> Behaviour {
    Behaviour { product: Product::Flux, since, now, before }
}

const fn cluster_api(since: u32, now: &'static str, before: &'static str) -> Behaviour {
    Behaviour { product: Product::ClusterApi, since, now, before }
}

/// RFC-0008 (notification-controller 1.5, and the recorder of all controllers of
/// that release): notification-controller pull request 1014.
pub(crate) const OBJECT_EVENT_METADATA: Behaviour = flux(
    5,
    "annotations event.toolkit.fluxcd.io/… are sent, and the Alert's eventMetadata wins over them",
    "no annotation is sent, and the Alert's eventMetadata adds only keys that the event lacks",
);

/// The gate for commit status providers (`getNotificationParams`).
pub(crate) const COMMIT_STATUS_GATE: Behaviour = flux(
    8,
    "a commit status provider gets only events that name a commit",
    "a commit status provider gets every event",
);

/// Error events without a commit pass that gate: notification-controller 1.9.
pub(crate) const ERRORS_REACH_COMMIT_STATUS: Behaviour = flux(
    9,
    "error events reach a commit status provider without a commit key",
    "error events need a commit key too",
);

/// source-controller 1.2 `HelmRepositoryReconciler.migrationToStatic`; before,
/// `HelmRepositoryOCIReconciler`.
pub(crate) const STATIC_OCI_REPOSITORIES: Behaviour = flux(
    2,
    "a HelmRepository of type oci is static: nothing reconciles it",
    "a HelmRepository of type oci is reconciled, for its conditions",
);

/// `enhanceEventWithAlertMetadata` of notification-controller 1.2 emits an Event on the
/// Alert; that of 1.1 and before logs a line.
pub(crate) const CONFLICT_EVENTS: Behaviour = flux(
    2,
    "a conflict of metadata puts a Warning MetadataAppendFailed on the Alert",
    "a conflict of metadata is logged",
);

/// The kinds of source-watcher in the Alert's and Receiver's schema.
pub(crate) const NEWER_SOURCE_KINDS: Behaviour = flux(
    8,
    "an Alert may name ArtifactGenerator and ExternalArtifact",
    "the API server refuses an Alert that names ArtifactGenerator or ExternalArtifact",
);

/// Health checks end when a rollout has stalled: kustomize-controller 1.1.
pub(crate) const FAIL_FAST: Behaviour = flux(
    1,
    "a health check fails as soon as a rollout has stalled",
    "a health check waits until its timeout, also for a rollout that has stalled",
);

/// The default of `spec.maxHistory`: helm-controller 0.37.
pub(crate) const SHORT_HISTORY: Behaviour = flux(
    2,
    "Helm keeps 5 revisions of a release that sets no spec.maxHistory",
    "Helm keeps 10 revisions of a release that sets no spec.maxHistory",
);

/// The digest of post-renderers in the status: helm-controller 1.0.
pub(crate) const POST_RENDERERS_UPGRADE: Behaviour = flux(
    3,
    "a change of spec.postRenderers alone upgrades the release",
    "a change of spec.postRenderers alone waits for the next upgrade",
);

/// `valuesFrom` with a `targetPath`: helm-controller 1.1.
pub(crate) const TARGET_PATH_WINS: Behaviour = flux(
    4,
    "what valuesFrom puts at a targetPath may win over spec.values",
    "spec.values win over what valuesFrom puts at a targetPath",
);

/// The template data of commit messages: image-automation-controller 1.0.
pub(crate) const UPDATED_IS_GONE: Behaviour =
    flux(7, "a commit message with `.Updated` fails the automation", "a commit message may use `.Updated`");

/// The status of helm-controller before 0.37: helm-controller 1.5.
pub(crate) const NO_LEGACY_ADOPTION: Behaviour = flux(
    8,
    "helm-controller knows no release by the status that Flux before 2.2 wrote",
    "helm-controller adopts a release by the status that Flux before 2.2 wrote",
);

/// How helm-controller waits for what a release installs: helm-controller 1.5.
pub(crate) const KSTATUS_OF_RELEASES: Behaviour = flux(
    8,
    "Helm waits until everything that a release applies is ready by kstatus, custom resources too",
    "Helm waits for workloads, Services, claims and Jobs of a release alone",
);

/// Helm 4 in helm-controller 1.5. A release keeps the way that its last revision was
/// applied in, unless `spec.upgrade.serverSideApply` says otherwise.
pub(crate) const SERVER_SIDE_RELEASES: Behaviour = flux(
    8,
    "a release that is installed from then on is applied server-side; one that is there stays client-side",
    "a release that is installed is applied client-side",
);

/// `upgrade.force` replaces objects, which server-side apply does not do.
pub(crate) const FORCE_WITHOUT_EFFECT: Behaviour = flux(
    8,
    "upgrade.force does nothing for a release that is installed from then on, as it is applied server-side",
    "upgrade.force replaces objects",
);

/// What `ssa: Ignore` spares when Git lets go: kustomize-controller 1.8.5 (`deleteObjects`).
pub(crate) const IGNORED_IS_SPARED: Behaviour = flux(
    8,
    "an object with ssa: Ignore that leaves Git stays in the cluster",
    "an object with ssa: Ignore that leaves Git is pruned",
);

/// What post-renderers get: helm-controller 1.6.
pub(crate) const COMBINED_HOOKS: Behaviour = flux(
    9,
    "hooks of a chart pass through spec.postRenderers as its other objects do",
    "hooks of a chart don't pass through spec.postRenderers",
);

/// CVE-2026-40109: notification-controller 1.9.
pub(crate) const GCR_CLAIMS: Behaviour = flux(
    9,
    "a Receiver of type gcr refuses every request unless its Secret has `email` and `audience`",
    "a Receiver of type gcr checks the email and audience of a token where its Secret has them",
);

/// Upgrades over several minors, and the three hooks that came with them.
pub(crate) const CHAINED_UPGRADES: Behaviour = cluster_api(
    12,
    "an upgrade may pass several minors, with hooks at each step",
    "an upgrade goes up one minor",
);

/// Hooks CanUpdateMachine, CanUpdateMachineSet and UpdateMachine, with the gate
/// InPlaceUpdates.
pub(crate) const IN_PLACE_UPDATES: Behaviour = cluster_api(
    12,
    "an update extension may change Machines in place",
    "a Machine that is not up to date is replaced",
);

/// `retryAfterSeconds` of AfterClusterUpgrade.
pub(crate) const AFTER_CLUSTER_UPGRADE_BLOCKS: Behaviour = cluster_api(
    12,
    "AfterClusterUpgrade can block the next change of version",
    "AfterClusterUpgrade cannot block",
);

/// The annotation that holds an upgrade without an extension.
pub(crate) const UPGRADE_HOOK_ANNOTATION: Behaviour = cluster_api(
    10,
    "an annotation before-upgrade.hook.cluster.cluster.x-k8s.io… holds an upgrade",
    "that annotation is not read",
);

/// Annotations of Machines reach their Nodes.
pub(crate) const NODE_ANNOTATIONS: Behaviour = cluster_api(
    10,
    "annotations node.cluster.x-k8s.io/… of a Machine reach its Node",
    "no annotation of a Machine reaches its Node",
);

/// `v1beta2` of Cluster API's own kinds came with 1.11.
pub(crate) const OLD_VERSION_DEPRECATED: Behaviour = cluster_api(
    11,
    "v1beta1 is deprecated for v1beta2, and v1.16 is to serve it no more",
    "v1beta1 is the current version",
);

/// Patches of a ClusterClass may change a template's metadata.
pub(crate) const PATCHED_TEMPLATE_METADATA: Behaviour = cluster_api(
    14,
    "patches of a ClusterClass may change the metadata of templates",
    "metadata in patches of a ClusterClass is dropped",
);

/// Every behaviour that depends on a version, for tests and documentation.
#[cfg(test)]
pub(crate) const ALL: &[Behaviour] = &[
    OBJECT_EVENT_METADATA,
    COMMIT_STATUS_GATE,
    ERRORS_REACH_COMMIT_STATUS,
    STATIC_OCI_REPOSITORIES,
    CONFLICT_EVENTS,
    NEWER_SOURCE_KINDS,
    FAIL_FAST,
    SHORT_HISTORY,
    POST_RENDERERS_UPGRADE,
    TARGET_PATH_WINS,
    UPDATED_IS_GONE,
    NO_LEGACY_ADOPTION,
    KSTATUS_OF_RELEASES,
    SERVER_SIDE_RELEASES,
    FORCE_WITHOUT_EFFECT,
    IGNORED_IS_SPARED,
    COMBINED_HOOKS,
    GCR_CLAIMS,
    OLD_VERSION_DEPRECATED,
    CHAINED_UPGRADES,
    IN_PLACE_UPDATES,
    AFTER_CLUSTER_UPGRADE_BLOCKS,
    UPGRADE_HOOK_ANNOTATION,
    NODE_ANNOTATIONS,
    PATCHED_TEMPLATE_METADATA,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_behaviour_is_asked_below_at_and_above_its_version() {
        for behaviour in ALL {
            let major = behaviour.product.major();
            let at = |minor| behaviour.at(Some(Version { major, minor, patch: Some(3) }));
            assert_eq!(at(behaviour.since - 1), Known::Value(false), "{behaviour:?}");
            assert_eq!(at(behaviour.since), Known::Value(true), "{behaviour:?}");
            assert_eq!(at(behaviour.since + 1), Known::Value(true), "{behaviour:?}");
            assert_eq!(behaviour.at(None), Known::Unknown, "{behaviour:?}");
        }
    }
}
