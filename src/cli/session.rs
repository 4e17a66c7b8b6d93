//! What every command starts with: the root, its configuration, its files.

use super::Failure;
use super::common::{Common, ConfigFile};
use super::root::root_and_focus;
use super::selector::Selector;
use super::stores::stores;
use crate::config::{self, Config};
use crate::files::{Snapshot, Store, git};
use crate::lang::text::{clean, suggest};
use crate::model::ObjectId;
use crate::world::{Cluster, Effective, Member, World};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A repository, opened.
pub(crate) struct Session {
    /// Its root, absolute.
    pub(crate) root: PathBuf,
    /// The PATHs that were given, relative to the root; empty for all.
    pub(crate) focus: Vec<String>,
    /// Its configuration.
    pub(crate) config: Config,
    /// The work tree.
    pub(crate) snapshot: Arc<Snapshot>,
}

impl Session {
    /// Open the repository that the flags and PATHs mean.
    pub(crate) fn open(common: &Common, paths: &[PathBuf]) -> Result<Session, Failure> {
        let (root, focus) = root_and_focus(common.root.as_deref(), paths)?;
        common.works_on(&root);
        let config = load_config(common, &root)?;
        let snapshot = Snapshot::work_tree(&root, Arc::new(Store::default()))
            .map_err(|error| Failure::Work(format!("{}: {error}", root.display())))?;
        let snapshot = Arc::new(snapshot);
        common.keeps_secret(&snapshot);
        Ok(Session { root, focus, config, snapshot })
    }

    /// Its clusters and effective objects.
    pub(crate) fn world(&self) -> World {
        self.world_of(&self.snapshot)
    }

    /// The same with other contents of its files.
    pub(crate) fn world_of(&self, snapshot: &Arc<Snapshot>) -> World {
        World::new(snapshot, &self.config, &git::remotes(&self.root))
    }

    /// Where the root lies in its git repository: empty, or with a final `/`.
    /// Only `--root` can put it below the top level.
    pub(crate) fn prefix(&self, common: &Common) -> String {
        if common.root.is_none() {
            return String::new();
        }
        let top = git::top_level(&self.root).and_then(|top| top.canonicalize().ok());
        let below =
            top.and_then(|top| Some(self.root.strip_prefix(top).ok()?.to_owned())).unwrap_or_default();
        let below = below.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
        if below.is_empty() { below } else { below + "/" }
    }

    /// The path inside the root of a file that need not exist.
    pub(crate) fn inside(&self, file: &Path) -> Result<String, Failure> {
        let outside = || Failure::Usage(format!("{} is outside of the root", file.display()));
        let directory = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let name = file.file_name().ok_or_else(outside)?;
        let missing = |_| Failure::Usage(format!("{}: there is no such directory", directory.display()));
        let full = directory.canonicalize().map_err(missing)?.join(name);
        let relative = full.strip_prefix(&self.root).map_err(|_| outside())?;
        Ok(relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"))
    }
}

/// The configuration that the flags mean.
pub(crate) fn load_config(common: &Common, root: &Path) -> Result<Config, Failure> {
    let loaded = |file| config::load(root, file).map_err(Failure::Configuration);
    let mut config = match common.config_file() {
        ConfigFile::None => Config::default(),
        ConfigFile::Given(file) => loaded(Some(file))?,
        ConfigFile::OfRoot => loaded(None)?,
    };
    config.allowed.directories.clone_from(&common.allow_dir);
    config.stores = Arc::new(stores(common, &config, root)?);
    Ok(config)
}

/// Whether `--cluster` names only clusters of these worlds.
///
/// # Errors
/// A name that no cluster has.
pub(crate) fn check_clusters(common: &Common, worlds: &[&World]) -> Result<(), Failure> {
    let clusters = worlds.iter().flat_map(|world| &world.clusters);
    let names: BTreeSet<&str> = clusters.filter_map(|cluster| cluster.name.as_deref()).collect();
    for wanted in &common.cluster {
        if !names.contains(wanted.as_str()) {
            let near = suggest(wanted, names.iter().copied());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => "this repository has no entry point".to_owned(),
                None => format!("there are {}", Vec::from_iter(names).join(", ")),
            };
            return Err(Failure::Usage(format!("no cluster is called `{wanted}`; {help}")));
        }
    }
    Ok(())
}

/// The clusters that `--cluster` names; all of them without.
///
/// # Errors
/// A name that no cluster has.
pub(crate) fn cluster_filter<'c>(
    common: &'c Common,
    world: &World,
) -> Result<impl Fn(&Cluster) -> bool + 'c, Failure> {
    check_clusters(common, &[world])?;
    Ok(|cluster: &Cluster| {
        common.cluster.is_empty()
            || cluster.name.as_deref().is_some_and(|name| common.cluster.iter().any(|wanted| wanted == name))
    })
}

/// An effective object and where it is.
pub(crate) struct Found<'w> {
    pub(crate) cluster: &'w Cluster,
    pub(crate) member: &'w Member,
    pub(crate) object: &'w Effective,
}

/// The one object that a selector names in the clusters that the flags mean, in
/// every cluster that holds it in the same form.
///
/// # Errors
/// None, or several that differ: they are listed.
pub(crate) fn one_object<'w>(
    common: &Common,
    world: &'w World,
    selector: &Selector,
) -> Result<Vec<Found<'w>>, Failure> {
    let wanted = cluster_filter(common, world)?;
    let found: Vec<Found<'w>> = world
        .applied_clusters()
        .filter(|cluster| wanted(cluster))
        .flat_map(|cluster| {
            let all = world.members(cluster);
            all.map(move |(member, object)| Found { cluster, member, object })
        })
        .filter(|found| selector.matches(&found.object.id))
        .collect();
    let Some(first) = found.first() else {
        return Err(selector.missing(world, world.objects.iter().map(|object| &object.id)));
    };
    if found.iter().all(|other| std::ptr::eq(other.object, first.object)) {
        return Ok(found);
    }
    Err(Failure::Usage(several(&found)))
}

/// What to say of several objects that a selector names, or of one in several forms.
fn several(found: &[Found<'_>]) -> String {
    const SHOWN: usize = 10;
    let ids: BTreeSet<_> = found.iter().map(|found| &found.object.id).collect();
    let names: BTreeSet<_> = found.iter().filter_map(|found| found.cluster.name.as_deref()).collect();
    fn applied<'w>(found: &Found<'w>) -> Option<&'w ObjectId> {
        Some(&found.cluster.applied[found.member.maker.kustomization()? as usize].id)
    }
    let help = match (ids.len(), names.len()) {
        (2.., _) => "several objects are called so; name one of them, with its namespace".to_owned(),
        (_, 2..) => "its clusters hold it in different forms; choose one with --cluster".to_owned(),
        // A form each of one cluster, so that no --cluster parts them.
        (_, 1) if found.iter().all(|found| applied(found).is_some()) => {
            "several Kustomizations of this cluster apply it, each in its own form, and overwrite each \
             other's; look at one with `forebay build --kustomization NAMESPACE/NAME --origin`"
                .to_owned()
        }
        _ => "several directories hold it, and no cluster applies them; look at one with \
              `forebay build DIR --origin`, or name the clusters in .forebay.yaml"
            .to_owned(),
    };
    let line = |found: &Found<'_>| {
        let id = &found.object.id;
        match (&found.cluster.name, applied(found)) {
            (Some(name), Some(applied)) => format!("{id} in cluster {name}, by {applied}"),
            (Some(name), None) => format!("{id} in cluster {name}"),
            (None, _) if found.cluster.root.is_empty() => format!("{id} in the root"),
            (None, _) => format!("{id} in {}", found.cluster.root),
        }
    };
    let mut lines: Vec<String> = found.iter().map(|found| clean(&line(found)).into_owned()).collect();
    lines.dedup();
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    format!("{help}:\n  {}", lines.join("\n  "))
}
