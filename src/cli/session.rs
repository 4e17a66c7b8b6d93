//! What every command starts with: the root, its configuration, its files.

use super::Failure;
use super::common::{Common, ConfigFile};
use super::root::root_and_focus;
use super::selector::{ObjectSelector, selector_of};
use super::stores::stores;
use crate::config::{self, Config};
use crate::files::{Snapshot, Store, git};
use crate::lang::text::{clean, shorten, suggest};
use crate::lang::yaml::emit::DEPTH_LIMIT;
use crate::lang::yaml::{Node, NodeRef, pointer_join};
use crate::model::ObjectId;
use crate::report::objects::{Masks, masked, place};
use crate::report::references::dotted;
use crate::rewrite::subject::home;
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
    Ok(|cluster: &Cluster| common.wants(cluster.name.as_deref()))
}

/// An effective object and where it is.
pub(crate) struct LocatedObject<'w> {
    pub(crate) cluster: &'w Cluster,
    pub(crate) member: &'w Member,
    pub(crate) object: &'w Effective,
}

/// The effective objects that are wanted, in the clusters that the flags mean.
///
/// # Errors
/// A cluster that is not there.
pub(crate) fn found_by<'w>(
    common: &Common,
    world: &'w World,
    wanted: &dyn Fn(&Effective) -> bool,
) -> Result<Vec<LocatedObject<'w>>, Failure> {
    let in_cluster = cluster_filter(common, world)?;
    let clusters = world.applied_clusters().filter(|cluster| in_cluster(cluster));
    let members = clusters.flat_map(|cluster| {
        world.members(cluster).map(move |(member, object)| LocatedObject { cluster, member, object })
    });
    Ok(members.filter(|found| wanted(found.object)).collect())
}

/// The one object that a selector names in the clusters that the flags mean, in
/// every cluster that holds it in the same form.
///
/// # Errors
/// None, or several that differ: they are listed.
pub(crate) fn one_object<'w>(
    common: &Common,
    world: &'w World,
    selector: &ObjectSelector,
) -> Result<Vec<LocatedObject<'w>>, Failure> {
    let found = found_by(common, world, &|object| selector.matches(&object.id))?;
    let Some(first) = found.first() else {
        return Err(selector.missing(world, world.objects.iter().map(|object| &object.id)));
    };
    if found.iter().all(|other| std::ptr::eq(other.object, first.object)) {
        return Ok(found);
    }
    Err(Failure::Usage(several(world, &found)))
}

/// Names that a refusal lists.
const LISTED: usize = 10;

/// What to say of several objects that a selector names, or of one in several forms.
fn several(world: &World, found: &[LocatedObject<'_>]) -> String {
    let ids: BTreeSet<_> = found.iter().map(|found| &found.object.id).collect();
    let names: BTreeSet<_> = found.iter().filter_map(|found| found.cluster.name.as_deref()).collect();
    let help = match (ids.len(), names.len()) {
        (2.., _) => {
            return format!("several objects are called so; name one of them:\n{}", listed(names_of(&ids)));
        }
        (_, 2..) => "its clusters hold it in different forms; choose one with --cluster",
        // A form each of one cluster, so that no --cluster parts them.
        (_, 1) if found.iter().all(|found| applier(found).is_some()) => {
            "several Kustomizations of this cluster apply it, each in its own form, and overwrite each \
             other's; look at one with `forebay build --kustomization NAMESPACE/NAME --origin`"
        }
        _ => {
            "several files state it, and no cluster applies them; look at one with \
             `forebay why FILE:LINE`, or name the clusters in .forebay.yaml"
        }
    };
    format!("{help}:\n{}", listed(forms(world, found)))
}

fn applier<'w>(found: &LocatedObject<'w>) -> Option<&'w ObjectId> {
    Some(&found.cluster.applied[found.member.maker.kustomization()? as usize].id)
}

fn listed(mut lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(LISTED);
    lines.truncate(LISTED);
    if more > 0 {
        lines.push(format!("and {more} more"));
    }
    lines.iter().map(|line| format!("  {}", clean(line))).collect::<Vec<_>>().join("\n")
}

/// Objects as selectors that name each of them alone.
fn names_of(ids: &BTreeSet<&ObjectId>) -> Vec<String> {
    let alike = |one: &ObjectId, other: &ObjectId| selector_of(one) == selector_of(other);
    let name = |id: &&ObjectId| match ids.iter().filter(|other| alike(id, other)).count() {
        0 | 1 => selector_of(id),
        _ => selector_of(id).replacen(&*id.kind, &format!("{}.{}", id.kind, id.group()), 1),
    };
    ids.iter().map(name).collect()
}

/// The forms of an object: where each is held, and a value that tells them apart.
fn forms(world: &World, found: &[LocatedObject<'_>]) -> Vec<String> {
    let mask = |object: &Effective| masked(object.node.get_ref(), &world.snapshot, &mut Masks::default());
    let mut forms: Vec<(Node, Vec<String>)> = Vec::new();
    for one in found {
        let place = place_of(world, found, one);
        let node = mask(one.object);
        let same =
            |form: &&mut (Node, Vec<String>)| differences(&[form.0.get_ref(), node.get_ref()]).is_empty();
        match forms.iter_mut().find(same) {
            Some((_, places)) => places.push(place),
            None => forms.push((node, vec![place])),
        }
    }
    let nodes: Vec<NodeRef<'_>> = forms.iter().map(|(node, _)| node.get_ref()).collect();
    let values = |pointer: &String| nodes.iter().map(|node| shown(node.at(pointer))).collect::<Vec<String>>();
    let distinct = |pointer: &String| values(pointer).into_iter().collect::<BTreeSet<String>>().len();
    let all = differences(&nodes);
    // The first of those that part the most.
    let best = all.iter().rev().max_by_key(|pointer| distinct(pointer));
    let told = best.map_or_else(
        || vec![String::new(); nodes.len()],
        |pointer| {
            values(pointer).into_iter().map(|value| format!(": {} = {value}", dotted(pointer))).collect()
        },
    );
    forms.iter().zip(told).map(|((_, places), value)| format!("{}{value}", places.join(", "))).collect()
}

/// Where a form is held, as the reader tells it from the others.
fn place_of(world: &World, all: &[LocatedObject<'_>], one: &LocatedObject<'_>) -> String {
    let names: BTreeSet<_> = all.iter().filter_map(|found| found.cluster.name.as_deref()).collect();
    match (&one.cluster.name, applier(one), home(one.object)) {
        (Some(name), ..) if names.len() > 1 => name.to_string(),
        (_, Some(applied), _) => applied.to_string(),
        (Some(name), None, _) => format!("cluster {name}"),
        (None, None, Some(home)) => place(&world.snapshot, home),
        (None, None, None) => one.cluster.root.clone(),
    }
}

/// Whether a value is a map or a list, and of how many items.
fn shape(node: &NodeRef<'_>) -> (bool, Option<usize>) {
    (node.is_map(), node.is_seq().then(|| node.items().count()))
}

/// A value in a word.
fn shown(value: Option<NodeRef<'_>>) -> String {
    match value {
        None => "not there".to_owned(),
        Some(value) if value.is_map() => "a map".to_owned(),
        Some(value) if value.is_seq() => format!("a list of {}", value.items().count()),
        Some(value) => value.text().map_or_else(|| "null".to_owned(), |text| shorten(&clean(&text), 40)),
    }
}

/// Differing values that are looked at.
const DIFFERENCES: usize = 50;

/// JSON Pointers of the values in which some of these differ, each as deep as it goes.
pub(super) fn differences(nodes: &[NodeRef<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    compare(nodes, String::new(), 0, &mut found);
    found
}

fn compare(nodes: &[NodeRef<'_>], pointer: String, depth: usize, found: &mut Vec<String>) {
    let Some((first, rest)) = nodes.split_first() else { return };
    if depth > DEPTH_LIMIT || found.len() >= DIFFERENCES {
        return;
    }
    let all_maps = nodes.iter().all(|node| node.is_map());
    let count = first.items().count();
    let all_lists = first.is_seq() && nodes.iter().all(|node| node.is_seq() && node.items().count() == count);
    if !all_maps && !all_lists {
        if rest.iter().any(|node| shape(node) != shape(first) || node.text() != first.text()) {
            found.push(pointer);
        }
        return;
    }
    let keys: BTreeSet<String> = match all_maps {
        true => nodes.iter().flat_map(|node| node.entries()).map(|entry| entry.key.into_owned()).collect(),
        false => (0..count).map(|index| index.to_string()).collect(),
    };
    for key in keys {
        let inner = pointer_join("", &key);
        let children: Vec<Option<NodeRef<'_>>> = nodes.iter().map(|node| node.at(&inner)).collect();
        let deeper = format!("{pointer}{inner}");
        match children.iter().copied().collect::<Option<Vec<_>>>() {
            Some(children) => compare(&children, deeper, depth + 1, found),
            None => found.push(deeper),
        }
    }
}
