//! What puts an object into a cluster.

/// The maker of an object of a cluster. "Owner" would be another thing: ownerReferences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Maker {
    /// The entry point, or a user: nothing in the cluster that is built here.
    Entry,
    /// A Flux Kustomization: an index of its cluster's.
    Kustomization(u32),
    /// A ResourceSet: an index of its cluster's.
    ResourceSet(u32),
    /// A HelmRelease, by its chart: an index of its cluster's.
    HelmRelease(u32),
}

impl Maker {
    /// The Flux Kustomization that applies the object itself.
    pub fn kustomization(self) -> Option<u32> {
        match self {
            Maker::Kustomization(index) => Some(index),
            Maker::Entry | Maker::ResourceSet(_) | Maker::HelmRelease(_) => None,
        }
    }

    /// The word of the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Maker::Entry => "entry",
            Maker::Kustomization(_) => "kustomization",
            Maker::ResourceSet(_) => "resourceSet",
            Maker::HelmRelease(_) => "helmRelease",
        }
    }
}
