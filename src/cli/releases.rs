//! HelmReleases as people name them on the command line.

use super::Failure;
use super::common::Common;
use super::session::cluster_filter;
use crate::lang::text::suggest;
use crate::world::releases::Release;
use crate::world::{Cluster, World};
use std::collections::BTreeSet;

/// A release and its number in its cluster.
pub(super) type OfCluster<'w> = (&'w Cluster, (usize, &'w Release));

/// The releases of a name, `NAMESPACE/NAME` or `NAME`, in the clusters that the flags mean;
/// one at least.
///
/// # Errors
/// There is none: with what may be meant.
pub(super) fn releases_called<'w>(
    common: &Common,
    world: &'w World,
    name: &str,
) -> Result<Vec<OfCluster<'w>>, Failure> {
    let wanted = cluster_filter(common, world)?;
    let (namespace, short) = match name.split_once('/') {
        Some((namespace, short)) => (Some(namespace), short),
        None => (common.namespace.as_deref(), name),
    };
    let all = || {
        let clusters = world.applied_clusters().filter(|cluster| wanted(cluster));
        clusters
            .flat_map(|cluster| cluster.releases.iter().enumerate().map(move |release| (cluster, release)))
    };
    let is_named = |release: &Release| {
        *release.id.name == *short
            && namespace.is_none_or(|namespace| release.id.namespace.as_deref() == Some(namespace))
    };
    let found: Vec<OfCluster<'w>> = all().filter(|(_, (_, release))| is_named(release)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names: BTreeSet<String> = all()
        .map(|(_, (_, release))| match (&release.id.namespace, namespace) {
            (Some(namespace), Some(_)) => format!("{namespace}/{}", release.id.name),
            _ => release.id.name.to_string(),
        })
        .collect();
    let help = match suggest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean {near}?"),
        None => "; `forebay chart list --format json` names all".to_owned(),
    };
    Err(Failure::Usage(format!("no HelmRelease is called {name}{help}")))
}

/// What to say of releases of one name that differ.
pub(super) fn several(name: &str, found: &[OfCluster<'_>]) -> Failure {
    let places: Vec<String> = found
        .iter()
        .map(|(cluster, (_, release))| format!("\n  {} in {}", release.id, cluster.label()))
        .collect();
    Failure::Usage(format!(
        "several HelmReleases are called {name}; choose one with --cluster or its namespace:{}",
        places.concat()
    ))
}
