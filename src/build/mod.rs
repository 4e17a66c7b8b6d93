//! Files to objects: kustomizations, the variables of Flux in what they build, and charts.

pub(crate) mod helm;
pub(crate) mod kustomize;
pub(crate) mod substitute;
