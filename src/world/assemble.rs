//! All clusters of a repository as one world: grown from their entry points, and
//! what none of them reaches beside them.

use super::earlier::{Builds, Earlier};
use super::entry;
use super::entry_point::{self, EntryPoint};
use super::fixpoint::{Grown, Repository, cluster_names, grow, grow_placed, injected_variables};
use super::index::Index;
use super::inventory::{Kinds, UnseenMaker, UnseenMakerKind};
use super::overlays::Overlays;
use super::schemas::Schemas;
use super::source::{SharedMemo, normalise};
use super::{ApplyTarget, Cluster, Effective, Member, PlacedObject, World};
use super::{releases, unreached};
use crate::config::Config;
use crate::files::Snapshot;
use crate::lang::yaml::{FilePath, Node};
use crate::model::{Certainty, ObjectId, kinds};
use crate::world::versions::{Installs, Settings};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::{Arc, OnceLock};

pub(super) fn world(
    snapshot: &Arc<Snapshot>,
    config: &Config,
    remotes: &[String],
    earlier: Option<&World>,
) -> World {
    let shared = SharedMemo::default();
    let charts =
        Arc::new(earlier.map_or_else(releases::KnownReleases::default, |world| world.charts.after()));
    let pushes = super::pushes::find(snapshot);
    let overlays = Overlays::of(snapshot);
    let entry::EntryPoints { entries, unsettled } =
        entry::find(snapshot, config, &overlays, &pushes, &shared.memo);
    let repository = Repository {
        snapshot,
        shared: &shared,
        charts: charts.clone(),
        pushes: &pushes,
        config,
        urls: remotes.iter().map(|url| normalise(url)).collect(),
        installs: Installs::of(snapshot),
        earlier: earlier.map(|world| Earlier::new(world, snapshot)),
    };
    let has_entry = !entries.is_empty();
    let names = cluster_names(&entries);
    let mut grown: Vec<Grown> = entries
        .par_iter()
        .zip(names.par_iter())
        .map(|(entry, name)| grow_placed(&repository, entry, name.clone()))
        .collect();
    if has_entry {
        grow_sent(&repository, &entries, &mut grown);
    }
    let world = assemble(&repository, overlays, grown, unsettled, has_entry);
    // Nobody waits for that.
    rayon::spawn(move || drop(shared));
    world
}

/// Grow the clusters that others send objects to, by a kubeconfig that the configuration
/// names: with what the others send them.
fn grow_sent(repository: &Repository<'_>, entries: &[EntryPoint], grown: &mut Vec<Grown>) {
    for cluster in &repository.config.clusters {
        if cluster.kube_config.is_none() {
            continue;
        }
        let same = |one: &Grown| one.name.as_deref() == Some(cluster.name.as_str());
        let at = grown.iter().position(same);
        let own = entries.iter().find(|entry| entry.name.as_deref() == Some(cluster.name.as_str()));
        let mut entry = own.cloned().unwrap_or_else(|| EntryPoint::sent(cluster));
        for one in grown.iter().filter(|one| !same(one)) {
            for (id, object, to, _) in &one.objects {
                if matches!(to, ApplyTarget::Remote(by) if cluster.is_reached_by(by)) {
                    if kinds::is_kustomization(id) {
                        entry.kustomizations.push(((**id).clone(), object.node.clone()));
                    }
                    entry.overlay.push(object.clone());
                }
            }
        }
        let again = grow(repository, &entry, cluster.name.as_str().into());
        match at {
            Some(at) => grown[at] = again,
            None => grown.push(again),
        }
    }
}

/// One list of distinct objects for all clusters; indices, openers, orphans.
fn assemble(
    repository: &Repository<'_>,
    mut overlays: Overlays,
    grown: Vec<Grown>,
    unsettled: Vec<entry_point::Unsettled>,
    has_entry: bool,
) -> World {
    let snapshot = repository.snapshot;
    let mut world = World {
        snapshot: snapshot.clone(),
        objects: Vec::new(),
        clusters: Vec::new(),
        orphans: Vec::new(),
        unapplied: OnceLock::new(),
        has_entry,
        unsettled,
        inputs: std::mem::take(&mut overlays.inputs),
        read: FxHashSet::default(),
        excluded: excluded(snapshot, repository.config),
        charts: repository.charts.clone(),
        builds: Builds::default(),
        schemas: Schemas::default(),
    };
    let mut joined = Joined {
        world: &mut world,
        distinct: FxHashMap::default(),
        ids: Vec::new(),
        used: FxHashSet::default(),
        settings: None,
    };
    for one in grown {
        joined.add(repository, one);
    }
    let mut used = std::mem::take(&mut joined.used);
    if has_entry {
        for applied in joined.world.clusters.iter().flat_map(|cluster| &cluster.applied) {
            used.extend(applied.files_read.iter().cloned());
            let places = applied.outcome.failures().iter().filter_map(|failure| failure.location.as_ref());
            used.extend(places.map(|location| location.file.clone()));
        }
        joined.world.orphans = (0..snapshot.objects().len() as u32)
            .filter(|index| {
                let object = &snapshot.objects()[*index as usize];
                !used.contains(&object.source.file) && object.id.group() != "kustomize.config.k8s.io"
            })
            .collect();
        super::inventory::fill_by_hand(joined.world, &used);
        joined.settings =
            Some(Settings::common(joined.world.clusters.iter().map(|cluster| &cluster.settings)));
        joined.world.read.clone_from(&used);
    }
    for one in unreached::clusters(repository, &overlays, used) {
        joined.add(repository, one);
    }
    world.schemas = Schemas::new(world.clusters.len(), repository.config);
    world
}

/// The files that the configuration excludes.
fn excluded(snapshot: &Snapshot, config: &Config) -> FxHashSet<Arc<str>> {
    let is_excluded = |path: &str| config.exclude.matches(path);
    match config.exclude.is_empty() {
        true => FxHashSet::default(),
        false => {
            let paths = snapshot.files().iter().map(|file| &file.path);
            paths.filter(|path| is_excluded(path)).cloned().collect()
        }
    }
}

/// A world that clusters are added to.
struct Joined<'w> {
    world: &'w mut World,
    /// Objects that are known, by their nodes.
    distinct: FxHashMap<(usize, u32), u32>,
    /// Their names, which the indices of the clusters share.
    ids: Vec<Arc<ObjectId>>,
    /// Files that the clusters read.
    used: FxHashSet<FilePath>,
    /// What the clusters have in common, which holds for what none of them
    /// reaches: wherever that comes to be applied, it is in one of them.
    settings: Option<Settings>,
}

impl Joined<'_> {
    fn add(&mut self, repository: &Repository<'_>, one: Grown) {
        let Joined { world, used, settings, .. } = self;
        let (snapshot, config) = (repository.snapshot, repository.config);
        world.builds.entry(one.root.clone()).or_default().extend(one.builds);
        let read = || {
            Settings::read(
                one.objects.iter().map(|(id, built, _, _)| (&**id, built.node.get_ref())),
                snapshot,
                &repository.installs,
                &one.root,
                (&config.target_of(one.name.as_deref()), &config.assumed),
            )
        };
        let settings = settings.clone().unwrap_or_else(read);
        let mut cluster = Cluster {
            name: one.name,
            root: one.root,
            certainty: one.certainty,
            form: one.form,
            location: one.location,
            bootstrapped: one.bootstrapped,
            tree: one.tree,
            source: one.source,
            settings,
            injected: injected_variables(config, &one.objects),
            members: Vec::new(),
            written: one.objects.len(),
            applied: one.applied,
            openers: one.openers,
            sets: one.sets,
            releases: one.releases,
            generated: one.generated.into_iter().map(|id| (id, "the entry point".to_owned())).collect(),
            index: Index::default(),
            applied_index: FxHashMap::default(),
        };
        for (at, applied) in cluster.applied.iter().enumerate() {
            cluster.applied_index.entry(applied.id.name.clone()).or_default().push(at as u32);
        }
        if one.certainty == Certainty::Guessed || one.is_sent {
            cluster.openers.push(no_entry());
        }
        used.extend(one.read);
        let number = world.clusters.len() as u32;
        for placed in one.objects {
            self.place(&mut cluster, number, placed, false);
        }
        for placed in one.rendered {
            self.place(&mut cluster, number, placed, true);
        }
        super::inventory::fill(&mut cluster, &self.world.objects, snapshot);
        self.world.clusters.push(cluster);
    }

    /// Put an object into a cluster, the one of that number.
    fn place(&mut self, cluster: &mut Cluster, number: u32, placed: PlacedObject, is_rendered: bool) {
        let (id, built, target, maker) = placed;
        // What a chart is made of is no file that a cluster reads.
        if !is_rendered {
            self.used.extend(built.files.iter().map(|(_, location)| location.file.clone()));
        }
        let identity = match &built.node {
            Node::Source(source, token) => (Arc::as_ptr(source) as usize, *token),
            Node::Built(built) => (Arc::as_ptr(built) as usize, u32::MAX),
        };
        let (objects, ids) = (&mut self.world.objects, &mut self.ids);
        let object = *self.distinct.entry(identity).or_insert_with(|| {
            ids.push(id.clone());
            objects.push(Effective {
                id: (*id).clone(),
                node: built.node.clone(),
                files: built.files.clone(),
                problems: built.problems.clone(),
                is_rendered,
                members: Vec::new(),
            });
            objects.len() as u32 - 1
        });
        let known = &ids[object as usize];
        let id = if *known == id { known.clone() } else { id };
        let member = cluster.add(&id, Member { object, target, maker });
        objects[object as usize].members.push((number, member));
    }
}

/// Without a stated entry point anything may be applied from elsewhere.
fn no_entry() -> UnseenMaker {
    UnseenMaker {
        cause: UnseenMakerKind::NoEntry,
        kinds: Kinds::All,
        namespace: None,
        names: None,
        only: None,
        target: ApplyTarget::Local,
        what: "no entry point".to_owned(),
        location: None,
    }
}
