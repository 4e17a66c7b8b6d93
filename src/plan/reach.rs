//! How much of a change was followed: a plan says "no effect" only where everything
//! that the change touches is read by something that was built, and built whole.

use super::{Effect, builds};
use crate::build::kustomize::{FILE_NAMES, FileRole};
use crate::files::join;
use crate::lang::yaml::{FilePath, Known, Location, Node};
use crate::world::{Outcome, World};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What of a change was followed.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Flux Kustomizations that clusters of the head apply and that were not followed, of how many.
    pub not_followed: (usize, usize),
    /// Files that builds can read and that are not the same.
    pub changed: usize,
    /// Those of them that nothing reads which was followed, in order.
    pub unread: Vec<String>,
    /// Those that only builds read of which a part is not known here, and that no
    /// effect comes from, in order.
    pub in_part: Vec<String>,
}

impl Reach {
    /// Whether everything that the change touches was followed.
    pub fn is_whole(&self) -> bool {
        self.unread.is_empty() && self.in_part.is_empty()
    }
}

/// How well a file is read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum FileReading {
    /// By a build of which a part is not known: a patch may change what is not here.
    InPart,
    /// By a build that is known whole.
    Whole,
}

/// Compares the files of two worlds with what their builds read, and with what the
/// effects of the change tell of.
pub fn reach(base: &World, head: &World, effects: &[Effect]) -> Reach {
    let coverage = head.coverage();
    let charts: FxHashSet<&str> = [base, head].iter().flat_map(|world| charts(world)).collect();
    let is_input = |path: &str| base.inputs.contains(path) || head.inputs.contains(path);
    let is_part = |path: &str| in_one_of(&charts, path) || is_input(path);
    let mut changed: BTreeSet<&str> = BTreeSet::new();
    let (named_before, named_after) = (ListedTexts::of(base), ListedTexts::of(head));
    for (here, there, named) in [(base, head, &named_before), (head, base, &named_after)] {
        for file in here.snapshot.files() {
            // Most files are held once by both.
            if there.snapshot.file(&file.path).is_some_and(|other| Arc::ptr_eq(file, other)) {
                continue;
            }
            let counts = file.is_manifest || is_part(&file.path) || named.has(&file.path);
            if counts && !here.snapshot.has_same_content(&there.snapshot, &file.path) {
                changed.insert(&file.path);
            }
        }
    }
    let mut touching: BTreeSet<&str> = BTreeSet::new();
    if !changed.is_empty() {
        for (world, named) in [(base, &named_before), (head, &named_after)] {
            let objects = world.snapshot.objects().iter().map(|object| &**object.path());
            touching.extend(objects.filter_map(|path| changed.get(path)));
            let is_template =
                |path: &str| world.snapshot.file(path).is_some_and(|file| world.snapshot.is_template(file));
            let is_kustomization = |path: &str| {
                let name = path.rsplit('/').next().unwrap_or(path);
                FILE_NAMES.contains(&name)
            };
            let touches = |path: &&&str| {
                is_template(path) || is_part(path) || is_kustomization(path) || named.has(path)
            };
            touching.extend(changed.iter().filter(touches));
        }
    }
    let mut reach =
        Reach { not_followed: (coverage.left_out().count(), coverage.counted()), ..Reach::default() };
    reach.changed = touching.len();
    if touching.is_empty() {
        return reach;
    }
    let readings = readings(&[base, head]);
    let rendered: Vec<Arc<str>> = [base, head].iter().flat_map(|world| rendered_charts(world)).collect();
    let rendered: FxHashSet<&str> = rendered.iter().map(|path| &**path).collect();
    let mut told: FxHashSet<&str> = FxHashSet::default();
    for cause in effects.iter().flat_map(|effect| &effect.causes) {
        files_of(&cause.location, &mut told);
    }
    for path in touching {
        match readings.get(path) {
            Some(FileReading::Whole) => {}
            Some(FileReading::InPart) if told.contains(path) || says_the_same(base, head, path) => {}
            Some(FileReading::InPart) => reach.in_part.push(path.to_owned()),
            None if told.contains(path) || in_one_of(&rendered, path) => {}
            None => reach.unread.push(path.to_owned()),
        }
    }
    reach
}

fn files_of<'e>(location: &'e Location, files: &mut FxHashSet<&'e str>) {
    files.extend(location.file.of_root().map(|path| &**path));
    for via in &location.via {
        files_of(&via.location, files);
    }
}

/// Directories of charts of the repository, whose effects are Helm's.
fn charts(world: &World) -> impl Iterator<Item = &str> {
    let directory = |path: &'_ str| Some(path.strip_suffix("Chart.yaml")?.len());
    world.snapshot.files().iter().filter_map(move |file| match directory(&file.path)? {
        0 => Some(""),
        length => file.path[..length].strip_suffix('/'),
    })
}

/// Directories of charts of the repository that releases of a cluster are made of.
fn rendered_charts(world: &World) -> impl Iterator<Item = Arc<str>> + '_ {
    let releases = world.applied_clusters().flat_map(|cluster| &cluster.releases);
    let known = releases.filter(|release| release.made().is_some() || release.refusal().is_some());
    known.filter_map(|release| {
        let file = release.chart_file("Chart.yaml")?;
        let directory = file.of_root()?.strip_suffix("Chart.yaml")?.trim_end_matches('/');
        Some(Arc::from(directory))
    })
}

fn in_one_of(directories: &FxHashSet<&str>, path: &str) -> bool {
    above(path).any(|directory| match directory.strip_suffix('/') {
        Some(directory) => directories.contains(directory),
        // Beside a chart at the repository's top lies what is not its own.
        None => directories.contains("") && is_of_chart(path),
    })
}

/// Whether Helm reads a file of the chart in whose directory the path starts.
fn is_of_chart(path: &str) -> bool {
    match path.split_once('/') {
        Some((first, _)) => ["templates", "charts", "crds"].contains(&first),
        None => ["Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json"].contains(&path),
    }
}

/// The directories that a file lies in, each with a `/` behind it, the nearest first;
/// the last is the repository's top, which is empty.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').map(|(at, slash)| &path[..at + slash.len()]).chain([""])
}

/// The texts of kustomizations by their directories, each with a `/` behind it.
struct ListedTexts<'w>(FxHashMap<&'w str, Vec<(&'w str, &'w str)>>);

impl<'w> ListedTexts<'w> {
    fn of(world: &'w World) -> ListedTexts<'w> {
        let mut texts: FxHashMap<&str, Vec<(&str, &str)>> = FxHashMap::default();
        for file in world.snapshot.files() {
            let (directory, name) = file.path.split_at(file.path.rfind('/').map_or(0, |at| at + 1));
            if let Some(stream) =
                Some(file).filter(|_| FILE_NAMES.contains(&name)).and_then(|file| world.snapshot.stream(file))
            {
                texts.entry(directory).or_default().push((&file.path, &stream.text));
            }
        }
        ListedTexts(texts)
    }

    /// Whether a kustomization above a file names it: a patch, a generator's file.
    fn has(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        let texts = above(path).filter_map(|directory| self.0.get(directory)).flatten();
        texts.into_iter().any(|(place, text)| *place != path && has_word(text, name))
    }
}

/// Whether a text holds a name that is not a part of a longer one.
fn has_word(text: &str, name: &str) -> bool {
    let goes_on = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    memchr::memmem::find_iter(text.as_bytes(), name).any(|at| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(goes_on) && !after.starts_with(goes_on)
    })
}

/// Whether the documents of a file have the same values before and after.
fn says_the_same(base: &World, head: &World, path: &str) -> bool {
    let documents = |world: &World| -> Option<Vec<Node>> {
        let file = world.snapshot.file(path)?;
        let sources = world.snapshot.sources(file).iter();
        let filled = sources.filter(|source| !source.document().tokens.is_empty());
        Some(filled.map(|source| source.root()).collect())
    };
    let (Some(before), Some(after)) = (documents(base), documents(head)) else { return false };
    let same = |(one, other): (&Node, &Node)| one.get_ref().same_value(other.get_ref()) == Known::Value(true);
    before.len() == after.len() && before.iter().zip(&after).all(same)
}

/// All files that a build which was followed has read, and those that state an object
/// of a cluster.
fn readings<'w>(worlds: &[&'w World]) -> FxHashMap<&'w str, FileReading> {
    let mut found: FxHashMap<&str, FileReading> = FxHashMap::default();
    let mut add = |path: &'w str, reading: FileReading| {
        let known = found.entry(path).or_insert(reading);
        *known = (*known).max(reading);
    };
    for world in worlds {
        for cluster in world.applied_clusters() {
            for applied in &cluster.applied {
                let reading = match &applied.outcome {
                    Outcome::Built { partial, .. } if partial.is_empty() => FileReading::Whole,
                    Outcome::Failed(failure) if !builds::is_own_limit(failure) => FileReading::Whole,
                    Outcome::Built { .. } | Outcome::Failed(_) => FileReading::InPart,
                    Outcome::External(_) | Outcome::Unknown(_) | Outcome::MissingPath => continue,
                };
                let read = applied.files_read.iter().filter_map(FilePath::of_root);
                read.for_each(|path| add(path, reading));
            }
            // What bootstrap applied is built by the kustomization beside its file.
            if let Some((directory, _)) = super::bootstrapped(cluster) {
                let paths = FILE_NAMES.iter().filter_map(|name| join(directory, name));
                let files = paths.filter_map(|path| world.snapshot.file(&path));
                files.for_each(|file| add(&file.path, FileReading::Whole));
            }
            for (_, object) in world.written(cluster) {
                // A patch may change what is not here too.
                let own = object.files.iter().filter(|(role, _)| *role == FileRole::Resource);
                let own = own.filter_map(|(_, location)| location.file.of_root());
                own.for_each(|path| add(path, FileReading::Whole));
            }
        }
    }
    found
}
