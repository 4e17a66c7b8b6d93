//! Languages, with no knowledge of Kubernetes.

pub(crate) mod template;
