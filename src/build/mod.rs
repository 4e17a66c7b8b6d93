//! Files to objects: kustomizations, and the variables of Flux in what they build.

pub(crate) mod kustomize;
pub(crate) mod substitute;
