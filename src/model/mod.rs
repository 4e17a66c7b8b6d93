//! What objects are: identities, kinds, keys, references and the names and
//! versions that Kubernetes, Flux and Cluster API know.

mod certainty;
pub mod cluster_api_keys;
pub mod cluster_api_kinds;
pub mod effect;
pub mod keys;
pub mod kinds;
pub mod kubernetes_version;
pub mod metadata;
mod named;
pub mod names;
mod object;
pub mod references;
pub mod text;
mod version;

pub use certainty::Certainty;
pub use effect::{Category, EffectKind, Severity};
pub use object::{Object, ObjectId, objects_of};
pub use version::{CLUSTER_API, FLUX, Version};
