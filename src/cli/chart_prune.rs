//! `forebay chart prune`.

use super::chart_pull::entries;
use super::common::Common;
use super::session::{Session, cluster_filter};
use super::stores::ROOT_STORE;
use super::{Answer, Failure, Status, output, revisions};
use crate::files::{ChartStore, ChartStores, StoreLayout, git};
use crate::lang::text::clean;
use crate::rewrite::chart_store;
use crate::sources::request::Unclear;
use crate::sources::resolve::ChartPlace;
use crate::world::{Cluster, World};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

output::formats!(Text = "text": "for people");

/// Flags of `chart prune`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// Store to prune [default: .forebay/charts of the root]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Keep what the releases of this revision or directory (./DIR) mean, too
    #[arg(long, value_name = "REV|./DIR")]
    base: Option<String>,
    /// Print what would be removed
    #[arg(long)]
    dry_run: bool,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let mut session = Session::open(common, &[])?;
    drop(cluster_filter(common, &session.world())?);
    let store = arguments.into.clone().unwrap_or_else(|| session.root.join(ROOT_STORE));
    let shown = arguments.into.as_ref().map_or(ROOT_STORE.into(), |into| into.to_string_lossy().into_owned());
    let listed = ChartStore { name: Arc::from(shown), path: Ok(store.clone()), layout: StoreLayout::Charts };
    // Of this store alone: what another one has as well is used of this one, too.
    session.config.stores = Arc::new(ChartStores::new(vec![listed]));
    let world = session.world();
    let mut used = BTreeSet::new();
    let mut unclear = keep(&world, &mut used);
    if let Some(base) = &arguments.base {
        let base = revisions::read(&session, base)?;
        let earlier = world.like(&base.snapshot, &session.config, &git::remotes(&session.root));
        unclear += keep(&earlier, &mut used);
    }
    if unclear > 0 {
        return Err(Failure::Work(format!(
            "{unclear} releases don't say here which chart they mean, and may use any; nothing was removed"
        )));
    }
    let stores = session.config.stores.clone();
    let unused: Vec<_> = stores.charts().iter().filter(|chart| !used.contains(&chart.path)).collect();
    for chart in unused.iter().filter(|_| !arguments.dry_run) {
        let removed = chart_store::remove(&store, &chart.path, chart.is_archive());
        removed.map_err(|error| Failure::Work(format!("{}: {error}", chart.path)))?;
    }
    if !arguments.dry_run && !unused.is_empty() {
        let (boundary, directory) = common.output_directory(&store)?;
        let rest = entries(&store);
        let written = chart_store::write_index(&boundary, &directory, &rest);
        written.map_err(|error| Failure::Work(format!("index.yaml: {error}")))?;
    }
    let word = if arguments.dry_run { "would remove" } else { "removed" };
    output::emit(common, |_: Format, out, _| {
        for chart in &unused {
            writeln!(
                out,
                "{word} {} {} ({})",
                clean(&chart.name),
                clean(&chart.version),
                clean(&chart.path)
            )?;
        }
        if unused.is_empty() { writeln!(out, "every chart of the store is used") } else { Ok(()) }
    })?;
    Ok(Status::Clean)
}

/// Notes the charts that releases use; how many releases may use any.
fn keep(world: &World, used: &mut BTreeSet<String>) -> usize {
    let counted = |cluster: &&Cluster| world.counts(cluster);
    let releases: Vec<_> =
        world.clusters.iter().filter(counted).flat_map(|cluster| &cluster.releases).collect();
    for found in releases.iter().filter_map(|release| release.chart.as_ref().ok()) {
        if let ChartPlace::Store(chart) = &found.place {
            used.insert(chart.path.clone());
        }
    }
    releases.iter().filter(|release| matches!(release.request, Err(Unclear::Unknown(_)))).count()
}
