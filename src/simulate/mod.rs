//! Simulators: pure functions with upstream's inputs and outputs. Alerts and
//! events, gates and schedules, suspension, and what Cluster API makes of
//! topologies: propagation, rollouts, hooks.

pub(crate) mod alerts;
pub(crate) mod behaviour;
pub(crate) mod events;
pub(crate) mod gates;
pub(crate) mod hooks;
pub(crate) mod machines;
pub(crate) mod propagation;
pub(crate) mod references;
pub(crate) mod rollout;
pub(crate) mod schedule;
pub(crate) mod ssa;
pub(crate) mod suspend;
pub(crate) mod takeover;
pub(crate) mod topology;
