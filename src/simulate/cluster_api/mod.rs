//! What Cluster API makes of its objects: topologies, propagation, rollouts, hooks.

pub(crate) mod hooks;
pub(crate) mod machines;
pub(crate) mod propagation;
pub(crate) mod references;
pub(crate) mod rollout;
pub(crate) mod ssa;
pub(crate) mod topology;
