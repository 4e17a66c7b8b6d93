//! What a rehearsal assumes of the controllers, in place of what the repository and its
//! configuration state.

use super::Feature;
use crate::model::Version;

/// Versions and features that `plan --assume` names. The default assumes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assumed {
    /// The version of the Flux distribution.
    pub flux: Option<Version>,
    /// The version of Cluster API's core.
    pub cluster_api: Option<Version>,
    /// The version of Kubernetes.
    pub kubernetes: Option<Version>,
    /// Features that are on or off whatever is stated, in the order of the flag.
    pub features: Vec<(Feature, bool)>,
}

impl Assumed {
    /// Key and value of each, as the flag writes them: versions first.
    pub fn words(&self) -> Vec<(&'static str, String)> {
        let versions =
            [("flux", self.flux), ("kubernetes", self.kubernetes), ("clusterApi", self.cluster_api)];
        let versions = versions.into_iter().filter_map(|(key, version)| Some((key, version?.to_string())));
        let word = |on| if on { "enabled" } else { "disabled" };
        let features = self.features.iter().map(|(feature, on)| (feature.name(), String::from(word(*on))));
        versions.chain(features).collect()
    }

    /// The same for people: `Flux 2.9, Kubernetes 1.34, gates enabled`.
    pub fn in_words(&self) -> String {
        let name = |key: &'static str| match key {
            "flux" => "Flux",
            "kubernetes" => "Kubernetes",
            "clusterApi" => "Cluster API",
            other => other,
        };
        let words = self.words().into_iter().map(|(key, value)| format!("{} {value}", name(key)));
        words.collect::<Vec<_>>().join(", ")
    }
}
