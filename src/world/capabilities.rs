//! What charts may ask of a cluster: its version of Kubernetes and its API versions.

use super::PlacedObject;
use super::versions::Settings;
use crate::build::helm::{Capabilities, HelmLine, KubeVersion};
use crate::lang::yaml::NodeRef;
use crate::sources::render::ApiVersionsDigest;
use std::collections::BTreeSet;

/// The oldest minor of Kubernetes 1 that each minor of Flux 2 takes.
/// Source: fluxcd/flux2 `cmd/flux/check.go` (`kubernetesConstraints`) of each tag.
const OLDEST: [u32; 10] = [24, 25, 26, 28, 28, 30, 31, 32, 33, 33];

/// The newest minor of Kubernetes 1 that the newest Helm knows.
const NEWEST: u32 = 36;

/// What is told where nothing is known for sure.
const ASSUMED: &str = "what the cluster can do";

/// What a cluster can do, as far as that is known.
#[derive(Clone, Debug)]
pub(super) struct Possible {
    /// What is likely; what it decides is assumed.
    pub(super) likely: Capabilities,
    /// The least and the most that it may be: what both decide alike is known.
    pub(super) ends: Vec<Capabilities>,
    /// Tells the API versions of all of them from others.
    pub(super) api_versions: ApiVersionsDigest,
}

impl Possible {
    /// Of a cluster by its settings; `served` are the API versions that its own
    /// definitions add to those of Kubernetes.
    pub(super) fn of(settings: &Settings, line: HelmLine, served: &BTreeSet<String>) -> Possible {
        let mut likely = Capabilities::of(line).with_versions(served.iter().cloned());
        let stated = settings.kubernetes.value.map(|version| {
            let patch = version.patch.unwrap_or_default();
            format!("v{}.{}.{patch}", version.major, version.minor)
        });
        let (least, most) = match stated {
            Some(version) => (version.clone(), version),
            None => (format!("v1.{}.0", oldest(settings)), format!("v1.{NEWEST}.0")),
        };
        let at = |version: &str| {
            let kube_version = KubeVersion::parse(version, line).ok()?;
            Some(Capabilities { kube_version, ..likely.clone() })
        };
        let ends: Vec<Capabilities> =
            [at(&least), at(&most).map(Capabilities::with_any_api)].into_iter().flatten().collect();
        if let (true, Some(stated)) = (least == most, ends.first()) {
            likely.kube_version = stated.kube_version.clone();
        }
        likely.assumed = Some(ASSUMED.to_owned());
        let api_versions = ApiVersionsDigest::of([&likely].into_iter().chain(&ends));
        Possible { likely, ends, api_versions }
    }
}

/// The oldest minor of Kubernetes that a cluster may have, by its Flux.
fn oldest(settings: &Settings) -> u32 {
    let minor = match (settings.flux.value, settings.flux_between.0) {
        (Some(version), _) if version.major < 2 => 0,
        (Some(version), _) => version.minor as usize,
        (None, least) => least.unwrap_or_default() as usize,
    };
    OLDEST[minor.min(OLDEST.len() - 1)]
}

/// The API versions that definitions among objects add, as a live cluster lists them: with
/// and without their kinds.
pub(super) fn served<'o>(objects: impl Iterator<Item = &'o PlacedObject>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, built, ..) in objects.filter(|(id, ..)| id.is("apiextensions.k8s.io", "CustomResourceDefinition"))
    {
        let node = built.node.get_ref();
        let (Some(group), Some(kind)) = (node.str_at("/spec/group"), node.str_at("/spec/names/kind")) else {
            continue;
        };
        for version in node.items_at("/spec/versions") {
            let is_served = version.get("served").and_then(NodeRef::as_bool) != Some(false);
            if let Some(name) = version.str_at("/name").filter(|_| is_served) {
                found.insert(format!("{group}/{name}"));
                found.insert(format!("{group}/{name}/{kind}"));
            }
        }
    }
    found
}
