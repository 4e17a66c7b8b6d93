//! What workloads refer to, and which names controllers make of an object.
//!
//! The tables here speak of Kubernetes' own kinds and of operators that many clusters
//! run; those of Flux stand in [`super::references`].

mod derived;
mod field;
mod operated;
mod operators;
mod pods;
mod reference;
mod references;
mod scope;
mod values;

pub(crate) use derived::{Derived, derived, made_keys};
pub(crate) use operators::{NameForm, Unseen, unseen};
pub(crate) use pods::{are_pods_unread, pod_spec, pod_template};
pub(crate) use reference::WorkloadReference;
pub(crate) use references::{is_judged, references};
pub(crate) use scope::is_cluster_scoped;
