//! Files of manifests that their directory's kustomization leaves out, as it seems without
//! being meant to.
//! Source: kustomize builds what `resources` names; Flux looks for files by itself only
//! where there is no kustomization.

use super::by_hand::{ByHand, last_components};
use crate::build::kustomize::FILE_NAMES;
use crate::files::{File, FileTree, Snapshot, join};
use crate::lang::yaml::NodeRef;
use crate::model::{Object, ObjectId, kinds};
use crate::world::entry::is_archive;
use crate::world::{Effective, World};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A file of manifests that nothing names, beside files that its kustomization lists.
#[derive(Debug)]
pub(crate) struct Unlisted {
    pub path: Arc<str>,
    pub objects: Vec<Object>,
    pub kustomization: Arc<File>,
    /// A file beside it that is listed, or one of a directory beside its own.
    pub sibling: String,
    /// What is to be listed.
    pub entry: String,
}

/// The files that are left out, as it seems without being meant to.
pub(super) fn unlisted(world: &World, by_hand: &ByHand) -> Vec<Unlisted> {
    if !world.has_entry {
        return Vec::new();
    }
    let mut files: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for object in world.orphans() {
        files.entry(object.path()).or_default().push(object);
    }
    files.retain(|path, objects| {
        !objects.iter().all(|object| is_run_once(&object.id))
            && !is_archive(path)
            && !is_put_aside(path)
            && objects.iter().all(|object| is_manifest(object))
    });
    let mut directories: BTreeMap<&str, Vec<(&str, Vec<&Object>)>> = BTreeMap::new();
    for (path, objects) in files {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        directories.entry(directory).or_default().push((name, objects));
    }
    let mut found: Vec<Unlisted> = Vec::new();
    let mut lists = FxHashMap::default();
    for (directory, files) in directories {
        let Some(list) = List::of(world, directory) else {
            found.extend(left_out_below(world, &mut lists, directory, files));
            continue;
        };
        let left_out = files.into_iter().filter(|(name, _)| !list.says(name));
        found.extend(left_out.map(|(name, objects)| Unlisted {
            path: objects[0].path().clone(),
            objects: objects.into_iter().cloned().collect(),
            kustomization: list.file.clone(),
            sibling: list.beside.first().cloned().unwrap_or_default(),
            entry: name.to_owned(),
        }));
    }
    if found.is_empty() {
        return found;
    }
    let named = named(&world.snapshot);
    let applied: FxHashSet<(&str, &str, &str)> = world
        .objects
        .iter()
        .filter(|object| is_in_cluster(world, object))
        .map(|object| key(&object.id))
        .collect();
    let endings = Endings::of(world);
    let said: FxHashSet<&str> = found.iter().map(|unlisted| endings.telling(&unlisted.path)).collect();
    let said: FxHashSet<String> = by_hand.named(&said).into_iter().map(str::to_owned).collect();
    found.retain(|unlisted| {
        !is_named(unlisted, &named)
            // Another text of what is applied.
            && !unlisted.objects.iter().any(|object| applied.contains(&key(&object.id)))
            && !said.contains(endings.telling(&unlisted.path))
    });
    found
}

/// Whether a kustomization names the file, or its directory where that is to be listed; the
/// kustomization of a directory that is not listed itself says nothing.
fn is_named(unlisted: &Unlisted, named: &FxHashSet<String>) -> bool {
    let (directory, name) = unlisted.path.rsplit_once('/').unwrap_or(("", &unlisted.path));
    let is_directory = directory.rsplit('/').next() == Some(&*unlisted.entry);
    !is_directory && named.contains(&*unlisted.path) || unlisted.entry != name && named.contains(directory)
}

/// The first Flux Kustomization of a directory, where the kustomization above lists those of
/// two other directories, or these directories, and does not say this one's name.
/// `lists` are the kustomizations that were read, by their directories.
fn left_out_below<'a>(
    world: &'a World,
    lists: &mut FxHashMap<&'a str, Option<List<'a>>>,
    directory: &'a str,
    files: Vec<(&'a str, Vec<&'a Object>)>,
) -> Option<Unlisted> {
    let (above, name) = directory.rsplit_once('/')?;
    let is_flux = |objects: &[&Object]| objects.iter().all(|object| kinds::is_kustomization(&object.id));
    let (file, objects) = files.into_iter().find(|(_, objects)| is_flux(objects))?;
    let list = lists.entry(above).or_insert_with(|| List::of_any(world, above)).as_ref()?;
    let below = if list.files_below.len() > 1 { &list.files_below } else { &list.directories };
    if below.len() < 2 || list.says(name) || is_put_aside(directory) {
        return None;
    }
    let path = objects[0].path();
    let entry =
        if list.files_below.len() > 1 { &path[path.len() - file.len() - name.len() - 1..] } else { name };
    Some(Unlisted {
        path: path.clone(),
        kustomization: list.file.clone(),
        sibling: below[0].clone(),
        entry: entry.to_owned(),
        objects: objects.into_iter().cloned().collect(),
    })
}

/// The last two components of the paths of files that are applied.
struct Endings<'a>(FxHashSet<&'a str>);

impl<'a> Endings<'a> {
    fn of(world: &'a World) -> Endings<'a> {
        let files = world.snapshot.files().iter().filter(|file| world.is_applied(file));
        Endings(files.filter_map(|file| last_components(&file.path, 2)).collect())
    }

    /// The end of a path that names this file: two components, or three where files that are
    /// applied end in the same two. A pattern such as `%s/app/release.yaml` names all of them.
    fn telling<'p>(&self, path: &'p str) -> &'p str {
        let last = |count| last_components(path, count);
        match last(2) {
            Some(two) if self.0.contains(two) => last(3).unwrap_or(path),
            two => two.unwrap_or(path),
        }
    }
}

fn key(id: &ObjectId) -> (&str, &str, &str) {
    (id.group(), &id.kind, &id.name)
}

fn is_in_cluster(world: &World, object: &Effective) -> bool {
    object.members.iter().any(|(cluster, _)| world.clusters[*cluster as usize].name.is_some())
}

/// What a kustomization of a cluster lists.
struct List<'a> {
    file: &'a Arc<File>,
    /// Files beside it.
    beside: Vec<String>,
    /// Files in directories beside it.
    files_below: Vec<String>,
    /// Directories beside it.
    directories: Vec<String>,
    /// The names of files that its text holds, in comments too, without their endings.
    stems: FxHashSet<&'a str>,
}

impl<'a> List<'a> {
    /// The one of a directory, where it lists files of it.
    fn of(world: &'a World, directory: &str) -> Option<List<'a>> {
        List::of_any(world, directory).filter(|list| !list.beside.is_empty())
    }

    fn of_any(world: &'a World, directory: &str) -> Option<List<'a>> {
        let snapshot = &*world.snapshot;
        let at =
            |name: &str| if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") };
        let file = FILE_NAMES.iter().find_map(|name| snapshot.file(&at(name)))?;
        if !world.is_applied(file) {
            return None;
        }
        let stream = snapshot.stream(file)?;
        let source = snapshot.sources(file).first().filter(|one| !one.document().tokens.is_empty())?;
        let root = source.root();
        // `missing-resource` says what a misspelled entry may mean.
        let tree = FileTree::root(world.snapshot.clone());
        let (mut beside, mut files_below, mut directories) = (Vec::new(), Vec::new(), Vec::new());
        for entry in root.get_ref().items_at("/resources") {
            let Some(written) = entry.as_str().filter(|written| !written.contains("://")) else { continue };
            let Some(resolved) = join(directory, &written) else { continue };
            tree.kind(&resolved)?;
            let below = match directory.is_empty() {
                true => Some(&*resolved),
                false => resolved.strip_prefix(directory).and_then(|rest| rest.strip_prefix('/')),
            };
            let depth = below.map_or(usize::MAX, |below| below.matches('/').count());
            match (depth, snapshot.file(&resolved).is_some()) {
                (0, true) => beside.push(written.into_owned()),
                (0, false) => directories.push(written.into_owned()),
                (1, true) => files_below.push(written.into_owned()),
                _ => {}
            }
        }
        let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let stems = stream.text.split(|c| !is_path(c)).map(stem).collect();
        Some(List { file, beside, files_below, directories, stems })
    }

    /// Whether its text holds the name of a file of its directory.
    fn says(&self, name: &str) -> bool {
        self.stems.contains(stem(name))
    }
}

/// Whether the object is meant for a cluster, as far as can be seen: files of
/// other tools use the same shape.
pub(super) fn is_manifest(object: &Object) -> bool {
    let name = object.path().rsplit('/').next().unwrap_or_default();
    !object.id.name.is_empty() && !name.starts_with('.') && object.id.group() != "backstage.io"
}

/// The name of a file without its ending.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether an object is something that is done when somebody applies it: a run, a backup, or
/// that it is restored.
fn is_run_once(id: &ObjectId) -> bool {
    matches!(
        (id.group(), &*id.kind),
        ("batch", "Job")
            | ("", "Pod")
            | ("volsync.backube", "ReplicationDestination")
            | ("velero.io", "Backup" | "Restore")
            | ("postgresql.cnpg.io", "Backup")
            | ("k8up.io", "Restore" | "Backup")
            | ("k8s.mariadb.com", "Restore")
            | ("argoproj.io", "Workflow")
            | ("tekton.dev", "PipelineRun" | "TaskRun")
    )
}

/// Words in the name of a file that is not meant to be applied as it is.
const ASIDE: [&str; 19] = [
    "archive",
    "bak",
    "bootstrap",
    "copy",
    "disabled",
    "draft",
    "example",
    "kustomizeconfig",
    "manual",
    "old",
    "orig",
    "patch",
    "patches",
    "sample",
    "template",
    "tmp",
    "unused",
    "values",
    "wip",
];

/// Whether a file's own name says that it is put aside, shows something or is a patch.
fn is_put_aside(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    name.starts_with(['.', '_'])
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| ASIDE.contains(&word))
}

/// Every path that a string of a kustomization names.
fn named(snapshot: &Snapshot) -> FxHashSet<String> {
    let mut named = FxHashSet::default();
    for file in snapshot.files() {
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        if !FILE_NAMES.contains(&name) {
            continue;
        }
        for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()) {
            strings(source.root().get_ref(), &mut |text| {
                let path = text.rsplit_once('=').map_or(text, |(_, path)| path);
                named.extend(join(directory, path));
            });
        }
    }
    named
}

/// Each string below a node; its depth is bounded by the parser.
fn strings(node: NodeRef<'_>, take: &mut impl FnMut(&str)) {
    if node.is_map() {
        node.entries().for_each(|entry| strings(entry.value, take));
    } else if node.is_seq() {
        node.items().for_each(|item| strings(item, take));
    } else if let Some(text) = node.as_str() {
        take(&text);
    }
}
