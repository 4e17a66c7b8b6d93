//! helm-controller: where a release is, and what a change of that does.

use super::{ClusterState, Id, Live, Manifest, Role, Status};
use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;
use crate::world::{ApplyTarget, target_of};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// A release as a HelmRelease wants it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WantedRelease {
    /// Its name in Helm's storage.
    pub name: String,
    /// The namespace that it is installed into.
    pub namespace: String,
    /// The namespace that holds Helm's storage.
    pub storage: String,
    /// Name of the chart, where it is known.
    pub chart: Option<String>,
    /// The cluster that it is installed into.
    pub target: ApplyTarget,
    /// `spec.suspend`.
    pub suspend: bool,
    /// `upgrade.chartNameChangeStrategy: InPlaceUpdate` (Flux 2.9).
    pub in_place: bool,
}

/// What makes another release of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TargetChange {
    /// The namespace of Helm's storage.
    Storage,
    /// The namespace of the release.
    Namespace,
    /// The name of the release.
    Name,
    /// The name of the chart.
    Chart,
}

impl WantedRelease {
    /// Where a HelmRelease is installed; `None` where a part of it is not known.
    /// Source: helm-controller `api/v2` `GetReleaseName`, `GetReleaseNamespace`,
    /// `GetStorageNamespace`; `internal/release` `ShortenName`.
    pub(crate) fn of(id: &ObjectId, node: NodeRef<'_>) -> Option<WantedRelease> {
        let own = id.namespace.as_deref().unwrap_or("default").to_owned();
        let text = |pointer: &str| match node.at(pointer) {
            None => Some(None),
            Some(node) if node.is_null() => Some(None),
            Some(node) => node.str_at("").map(|text| (!text.is_empty()).then(|| text.into_owned())),
        };
        let namespace = text("/spec/targetNamespace")?;
        let storage = text("/spec/storageNamespace")?;
        let name = match (text("/spec/releaseName")?, &namespace) {
            (Some(name), _) => name,
            (None, Some(namespace)) => format!("{namespace}-{}", id.name),
            (None, None) => id.name.to_string(),
        };
        let flag = |pointer: &str| node.at(pointer).and_then(NodeRef::as_bool) == Some(true);
        let strategy = node.str_at("/spec/upgrade/chartNameChangeStrategy");
        Some(WantedRelease {
            name: shortened(&name),
            namespace: namespace.unwrap_or_else(|| own.clone()),
            storage: storage.unwrap_or(own),
            chart: chart_name(node),
            target: target_of(id, node),
            suspend: flag("/spec/suspend"),
            in_place: strategy.as_deref() == Some("InPlaceUpdate"),
        })
    }

    /// The release as an object: what is in Helm's storage.
    pub(crate) fn id(&self) -> Id {
        Id {
            group: "helm.sh".into(),
            kind: "Release".into(),
            namespace: Some(Arc::from(&*self.storage)),
            name: Arc::from(&*self.name),
        }
    }

    /// What makes another release of the one that is installed; it is uninstalled
    /// and another one installed.
    /// Source: helm-controller `internal/action/verify.go` `ReleaseTargetChanged`. The
    /// cluster (`kubeConfig`) is not compared.
    pub(crate) fn changes(&self, installed: &WantedRelease) -> Option<TargetChange> {
        if self.storage != installed.storage {
            Some(TargetChange::Storage)
        } else if self.namespace != installed.namespace {
            Some(TargetChange::Namespace)
        } else if self.name != installed.name {
            Some(TargetChange::Name)
        } else {
            let other = self.chart.is_some() && installed.chart.is_some() && self.chart != installed.chart;
            (other && !self.in_place).then_some(TargetChange::Chart)
        }
    }
}

/// The chart's name where the text says it: in a HelmRepository that is `chart`
/// itself; in a Git repository or bucket it is in its Chart.yaml.
fn chart_name(node: NodeRef<'_>) -> Option<String> {
    let kind = node.str_at("/spec/chart/spec/sourceRef/kind")?;
    let chart = node.str_at("/spec/chart/spec/chart")?;
    (kind == "HelmRepository" && !chart.is_empty())
        .then(|| chart.rsplit('/').next().unwrap_or_default().to_owned())
}

/// Names over 53 bytes end in a digest.
fn shortened(name: &str) -> String {
    if name.len() <= 53 {
        return name.to_owned();
    }
    let digest: String = Sha256::digest(name.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let head: String = name.chars().take(40).collect();
    format!("{head}-{}", &digest[..12])
}

impl ClusterState {
    /// Installs or upgrades a release, after uninstalling what was installed under
    /// another name or elsewhere.
    /// Source: helm-controller `reconcileRelease` → `reconcileUninstall` where
    /// `ReleaseTargetChanged`; `DetermineReleaseState`: a release that is found in
    /// storage is adopted.
    pub(super) fn upgrade(&mut self, id: &Id, release: &WantedRelease) {
        if let Some(installed) = self.history.get(id).cloned()
            && release.changes(&installed).is_some()
        {
            // With the kubeConfig of the present spec.
            self.objects.remove(&(release.target.clone(), installed.id()));
        }
        let place = (release.target.clone(), release.id());
        let fresh = self.objects.get(&place).is_none_or(|live| live.fresh);
        let manifest = Manifest::plain(release.id(), 0);
        self.objects.insert(place, Live { manifest, owner: Some(id.clone()), fresh });
        self.history.insert(id.clone(), release.clone());
        self.status.insert(id.clone(), Status::New);
    }

    /// The finalizer of a HelmRelease.
    /// Source: helm-controller `reconcileDelete`, `reconcileReleaseDeletion`: a
    /// suspended one leaves its release; otherwise the newest release of that name
    /// goes, also where another HelmRelease made it.
    pub(super) fn uninstall(&mut self, id: &Id, release: &WantedRelease) {
        if release.suspend {
            return;
        }
        if let Some(installed) = self.history.get(id) {
            let place = (release.target.clone(), installed.id());
            self.objects.remove(&place);
            // Its maker installs it anew when it looks again.
            let makers = self.objects.iter().filter(|((_, other), live)| {
                other != id
                    && matches!(&live.manifest.role, Role::HelmRelease(other) if other.id() == place.1)
            });
            let makers: Vec<Id> = makers.map(|((_, other), _)| other.clone()).collect();
            self.pending.extend(makers);
        }
    }
}
