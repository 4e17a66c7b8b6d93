//! Simulators: pure functions with upstream's inputs and outputs. Alerts and
//! events, gates and schedules, suspension, and what Cluster API makes of
//! topologies: propagation, rollouts, hooks.

pub mod alerts;
pub mod behaviour;
pub mod events;
pub mod gates;
pub mod hooks;
pub mod machines;
pub mod propagation;
pub mod references;
pub mod rollout;
pub mod schedule;
pub mod ssa;
pub mod suspend;
pub mod takeover;
pub mod topology;
