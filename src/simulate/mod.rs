//! Simulators: pure functions with upstream's inputs and outputs. Alerts and
//! events, gates and schedules, suspension, takeovers, and what Cluster API makes of
//! topologies: propagation, rollouts, hooks.

pub(crate) mod admission;
pub(crate) mod behaviour;
pub(crate) mod cluster_api;
pub(crate) mod gating;
pub(crate) mod notify;
pub(crate) mod relations;
pub(crate) mod suspend;
pub(crate) mod takeover;
