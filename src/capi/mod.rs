//! Cluster API semantics: kinds, keys, topology, propagation, rollout, hooks.

pub mod changes;
pub mod hooks;
pub mod keys;
pub mod kinds;
pub mod names;
pub mod objects;
pub mod propagation;
pub mod rollout;
pub mod ssa;
pub mod topology;
pub mod version;
