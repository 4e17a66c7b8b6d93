//! What objects are: identities, kinds, keys, references and the names and
//! versions that Kubernetes, Flux and Cluster API know.

mod certainty;
pub(crate) mod cluster_api_keys;
pub(crate) mod cluster_api_kinds;
pub(crate) mod effect;
pub(crate) mod keys;
pub(crate) mod kinds;
pub(crate) mod kubernetes_version;
mod maker;
pub(crate) mod metadata;
mod named;
pub(crate) mod names;
pub(crate) mod namespaces;
mod object;
pub(crate) mod references;
pub(crate) mod removed_apis;
pub(crate) mod short_names;
pub(crate) mod text;
mod unchecked;
pub(crate) mod value;
mod version;
pub(crate) mod workloads;

pub(crate) use certainty::Certainty;
pub(crate) use effect::Severity;
pub use effect::{Category, EffectKind};
pub(crate) use maker::Maker;
pub use object::ObjectId;
pub(crate) use object::{Called, Name, Object, objects_of};
pub use unchecked::Unchecked;
pub(crate) use version::{CLUSTER_API, CLUSTER_API_RELEASED, FLUX, Version};
