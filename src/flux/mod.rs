//! Flux semantics: kinds, keys, versions and flags, clusters, substitution,
//! references, suspend, gates, events and alerts.

pub mod alerts;
pub mod build;
pub mod cluster;
pub mod cron;
pub mod duration;
pub mod events;
pub mod gates;
pub mod graph;
pub mod keys;
pub mod kinds;
pub mod markers;
pub mod metadata;
pub mod references;
pub mod regexp;
mod resource_set;
pub mod schedule;
pub mod substitution;
pub mod suspend;
pub mod text;
pub mod versions;
