//! Names of a topology's templates, by which answers of extensions say which one they patch.
//!
//! Cluster API numbers the templates of each request anew (`uid`), so that no real number
//! says which template it was.

use super::{Class, Cluster, WorkerEntry};

/// What a topology's templates are called in answers of extensions: as in the ClusterClass,
/// with names of entries.
pub(crate) const INFRASTRUCTURE: &str = "infrastructure";
/// See [`INFRASTRUCTURE`].
pub(crate) const CONTROL_PLANE: &str = "controlPlane";
/// See [`INFRASTRUCTURE`].
pub(crate) const MACHINE_INFRASTRUCTURE: &str = "controlPlane/machineInfrastructure";

/// See [`INFRASTRUCTURE`]: a template of a worker.
pub(crate) fn worker_part(entry: &WorkerEntry<'_>, what: &str) -> String {
    format!("{}/{}/{what}", entry.kind.list(), entry.name.as_deref().unwrap_or_default())
}

/// The names of all templates that a Cluster's topology is made of, in the order of a
/// request (cluster-api `patches/engine.go`, `createRequest`).
pub(crate) fn parts(cluster: &Cluster<'_>, class: &Class<'_>) -> Vec<String> {
    let machines = class.control_plane_machines().map(|_| MACHINE_INFRASTRUCTURE.to_owned());
    let workers = cluster.all_workers();
    let of_workers =
        workers.iter().flat_map(|entry| ["bootstrap", "infrastructure"].map(|what| worker_part(entry, what)));
    [INFRASTRUCTURE, CONTROL_PLANE].map(str::to_owned).into_iter().chain(machines).chain(of_workers).collect()
}
