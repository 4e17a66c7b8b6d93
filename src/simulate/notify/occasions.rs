//! The kinds of events that controllers emit about an object, as far as commit status
//! providers tell them apart, and what becomes of each.
//!
//! Sources: kustomize-controller `internal/controller/kustomization_controller.go`, `event`
//! and the deferred block of `Reconcile`; helm-controller `internal/reconcile/release.go`,
//! `eventMeta`; source-controller, `notify` of each reconciler.

use super::delivery::{Controller, Delivery, Dispatch, deliver};
use super::{InvolvedObject, Metadata};
use crate::config::Feature;
use crate::lang::yaml::{Known, NodeRef};
use crate::model::ObjectId;
use crate::model::kinds;
use crate::model::text::Text;
use crate::simulate::behaviour;
use crate::simulate::suspend::{is_static_repository, suspension};
use crate::world::versions::Settings;

/// What an event has as its own revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Revision {
    /// One that ends in a hash: of a commit, or of an artifact.
    Hash,
    /// A chart's version, which holds no hash.
    ChartVersion,
    /// None.
    Missing,
}

/// A kind of event of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Occasion {
    /// What it tells, as the object of a sentence.
    of: &'static str,
    /// `info` or `error`.
    severity: &'static str,
    /// Whether it has `commit_status=update`.
    updates: bool,
    /// What the source says: `main@sha1:…`, or the version of a chart.
    revision: Revision,
}

const fn occasion(of: &'static str, severity: &'static str, revision: Revision) -> Occasion {
    Occasion { of, severity, updates: false, revision }
}

const SUCCESS: Occasion = Occasion {
    of: "the end of a successful reconciliation",
    severity: "info",
    updates: true,
    revision: Revision::Hash,
};

/// Progress is what kustomize-controller applies and prunes, and health checks.
const KUSTOMIZATION: &[Occasion] =
    &[SUCCESS, occasion("progress", "info", Revision::Hash), occasion("failures", "error", Revision::Hash)];

const HELM_RELEASE: &[Occasion] = &[
    occasion("releases", "info", Revision::ChartVersion),
    occasion("failures", "error", Revision::ChartVersion),
];

/// Failures of sources carry no revision.
const SOURCE: &[Occasion] =
    &[occasion("new artifacts", "info", Revision::Hash), occasion("failures", "error", Revision::Missing)];

const HELM_CHART: &[Occasion] = &[
    occasion("new charts", "info", Revision::ChartVersion),
    occasion("failures", "error", Revision::Missing),
];

/// Each with the revision that was tried (flux-operator `fluxinstance_controller.go`, `notify`).
const FLUX_INSTANCE: &[Occasion] =
    &[occasion("reconciliations", "info", Revision::Hash), occasion("failures", "error", Revision::Hash)];

/// With the digest of what is exported (`resourcesetinputprovider_controller.go`, `reconcile`).
const INPUT_PROVIDER: &[Occasion] =
    &[occasion("new inputs", "info", Revision::Hash), occasion("failures", "error", Revision::Missing)];

const OTHERS: &[Occasion] =
    &[occasion("its events", "info", Revision::Missing), occasion("failures", "error", Revision::Missing)];

fn occasions(object: &InvolvedObject) -> &'static [Occasion] {
    match (object.group(), &*object.kind) {
        (kinds::KUSTOMIZE, "Kustomization") => KUSTOMIZATION,
        (kinds::HELM, "HelmRelease") => HELM_RELEASE,
        (kinds::SOURCE, "HelmChart") => HELM_CHART,
        (kinds::SOURCE, _) => SOURCE,
        (kinds::OPERATOR, "FluxInstance") => FLUX_INSTANCE,
        (kinds::OPERATOR, "ResourceSetInputProvider") => INPUT_PROVIDER,
        _ => OTHERS,
    }
}

/// What becomes of the events of an object at a commit status provider: of all of them
/// where the one at hand is of severity `info`, as an Alert of that severity gets failures
/// as well. `dispatch` is of an event to which its controller has yet to add keys;
/// `new_keys` says whether the commit may come from metadata.
///
/// Mirrors notification-controller `internal/server/event_handlers.go`,
/// `getNotificationParams`, and `internal/notifier/util.go`, `parseRevision`, of the tags
/// 1.0 to 1.9.3; see [`super::providers::CommitStatusGate`].
pub(super) fn deliver_all(dispatch: &Dispatch<'_>, controller: &Controller, new_keys: bool) -> Delivery {
    let prefix = dispatch.object.prefix();
    let has = |key: &str| dispatch.metadata.contains_key(&format!("{prefix}{key}"));
    let is_meant = |occasion: &&Occasion| {
        (occasion.severity == dispatch.severity || dispatch.severity == "info")
            && (occasion.updates || !has("commit_status"))
    };
    let outcome = |occasion: &Occasion| {
        let metadata = with_status(dispatch, occasion, &prefix);
        let combined = with_revision(dispatch, occasion, has("revision"), new_keys);
        let posted = Dispatch {
            severity: occasion.severity,
            metadata: &metadata,
            combined: &combined,
            complete: true,
            ..dispatch.clone()
        };
        (occasion.of, deliver(&posted, controller))
    };
    summary(occasions(dispatch.object).iter().filter(is_meant).map(outcome).collect())
}

fn with_status(dispatch: &Dispatch<'_>, occasion: &Occasion, prefix: &str) -> Metadata<Text> {
    let mut metadata = dispatch.metadata.clone();
    if occasion.updates {
        metadata.entry(format!("{prefix}commit_status")).or_insert_with(|| Text::from("update"));
    }
    metadata
}

fn with_revision(
    dispatch: &Dispatch<'_>,
    occasion: &Occasion,
    given: bool,
    new_keys: bool,
) -> Metadata<Text> {
    let mut combined = dispatch.combined.clone();
    if !new_keys {
        // Before `GetRevision` of fluxcd/pkg apis/event 0.12 only the revision was read.
        combined.remove("commit");
        combined.remove("originRevision");
    }
    if !given {
        match occasion.revision {
            Revision::Hash => {
                let later = Text::Unknown("known at run time".into());
                combined.insert("revision".to_owned(), later);
            }
            Revision::ChartVersion => {
                combined.insert("revision".to_owned(), Text::from("<version of the chart>"));
            }
            Revision::Missing => {}
        }
    }
    combined
}

/// One answer for all kinds of events.
fn summary(all: Vec<(&'static str, Delivery)>) -> Delivery {
    let Some((_, first)) = all.first() else { return Delivery::Delivered };
    if all.iter().all(|(_, delivery)| delivery == first) {
        return first.clone();
    }
    let words = |delivery: &Delivery| match delivery {
        Delivery::Delivered | Delivery::Partly(_) => String::new(),
        Delivery::Dropped(why) | Delivery::Unknown(why) => why.clone(),
        Delivery::Failed(error) => {
            format!("not sent, and the Alert gets NotificationDispatchFailed: {error}")
        }
    };
    let mut told: Vec<(&Delivery, Vec<&str>)> = Vec::new();
    for (of, delivery) in all.iter().filter(|(_, delivery)| *delivery != Delivery::Delivered) {
        match told.iter_mut().find(|(known, _)| *known == delivery) {
            Some((_, names)) => names.push(of),
            None => told.push((delivery, vec![of])),
        }
    }
    let each =
        |(delivery, names): &(&Delivery, Vec<&str>)| format!("{}: {}", names.join(" and "), words(delivery));
    let reasons = told.iter().map(each).collect::<Vec<_>>().join("; ");
    match all.iter().any(|(_, delivery)| *delivery == Delivery::Delivered) {
        true => Delivery::Partly(reasons),
        false if all.iter().any(|(_, delivery)| matches!(delivery, Delivery::Unknown(_))) => {
            Delivery::Unknown(reasons)
        }
        false => Delivery::Dropped(reasons),
    }
}

/// What an object says that decides whether its controller emits events about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Standing {
    by_field: bool,
    by_annotation: bool,
    is_disabled: bool,
    is_oci_repository: bool,
    /// Whether events have the digest of its chart's artifact ([`has_digest`]).
    pub(super) digest: Digest,
}

/// Whether events of a HelmRelease have the key `oci-digest`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Digest {
    /// All.
    Always,
    /// Where the artifact's revision holds a digest.
    #[default]
    Sometimes,
    /// None.
    Never,
}

/// Source: helm-controller `internal/controller/helmrelease_controller.go`,
/// `isSourceWithRevisionDigest` and `mutateChartWithSourceRevision`: a HelmChart, of whatever
/// source, leaves no digest.
pub(crate) fn has_digest(release: NodeRef<'_>) -> Digest {
    let kind = release.at("/spec/chartRef/kind").map(|kind| kind.as_str());
    match kind.as_ref().map(|kind| kind.as_deref()) {
        Some(Some("OCIRepository")) => Digest::Always,
        Some(Some("HelmChart")) => Digest::Never,
        None if release.at("/spec/chart").is_some_and(NodeRef::is_map) => Digest::Never,
        _ => Digest::Sometimes,
    }
}

impl Standing {
    pub(super) fn of(id: &ObjectId, node: NodeRef<'_>) -> Standing {
        let found = suspension(id, node, &Settings::default());
        Standing {
            by_field: found.as_ref().is_some_and(|found| found.field.is_some()),
            by_annotation: found.as_ref().is_some_and(|found| found.annotation.is_some()),
            // flux-operator emits an event about each reconciliation that it leaves out.
            is_disabled: found.is_some_and(|found| found.disabled.is_some()) && id.group() != kinds::OPERATOR,
            // Of whatever Flux: `silence` asks for the one at hand.
            is_oci_repository: is_static_repository(id, node, &Settings::default()),
            digest: match kinds::is_helm_release(id) {
                true => has_digest(node),
                false => Digest::default(),
            },
        }
    }

    /// Why no event is emitted, if none is.
    pub(super) fn silence(self, settings: &Settings) -> Option<&'static str> {
        let honours = settings.feature(Feature::SuspendAnnotation).value == Some(true);
        if self.by_field || self.is_disabled || (self.by_annotation && honours) {
            return Some("no event is emitted: it is suspended");
        }
        let is_static = behaviour::STATIC_OCI_REPOSITORIES.of(settings);
        (self.is_oci_repository && is_static != Known::Value(false))
            .then_some("no event is emitted: a HelmRepository of type oci is static, nothing reconciles it")
    }
}
