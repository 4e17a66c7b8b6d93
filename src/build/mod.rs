//! Files to objects: kustomizations, the variables of Flux in what they build, charts, and
//! the templates of ResourceSets.

pub(crate) mod helm;
pub(crate) mod kustomize;
pub(crate) mod rendered;
pub(crate) mod resource_set;
pub(crate) mod stand_in;
pub(crate) mod substitute;
