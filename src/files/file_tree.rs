//! A file tree: what a Flux source resolves to. `spec.path` and everything that
//! a kustomization names is resolved inside it; origins stay at the real files.

use super::forest::{NamedDirectory, Outside};
use super::open::Allowed;
use super::snapshot::{File, Snapshot};
use super::source_ignore::SourceIgnore;
use crate::lang::yaml::{FilePath, Tree};
use sha2::Digest;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Paths of a tree and the files behind them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct FileTree {
    /// The root's files, which know the trees beside them.
    snapshot: Arc<Snapshot>,
    layout: Layout,
    ignore: Option<Arc<SourceIgnore>>,
}

#[derive(Clone, Debug)]
enum Layout {
    /// A directory of the root's tree; `""` is the root.
    Directory(Arc<str>),
    /// A directory beside it.
    Outside(Arc<Outside<Snapshot>>),
    /// Paths of the tree to files: an artifact composed by an ArtifactGenerator.
    Composed(Arc<Composed>),
}

#[derive(Debug)]
struct Composed {
    key: String,
    files: BTreeMap<Arc<str>, FilePath>,
}

/// What stands at a path of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A regular file.
    File,
    /// A symbolic link; artifacts of Flux hold none.
    Symlink,
    /// A directory: at least one file lies below it.
    Directory,
    /// A submodule, FIFO, socket or device.
    Other,
}

impl FileTree {
    /// The whole repository.
    pub fn root(snapshot: Arc<Snapshot>) -> FileTree {
        FileTree::directory(snapshot, "")
    }

    /// A directory of the repository as the root of a tree.
    pub fn directory(snapshot: Arc<Snapshot>, directory: &str) -> FileTree {
        FileTree { snapshot, layout: Layout::Directory(directory.into()), ignore: None }
    }

    /// The directory that the configuration names: absolute, or relative to the root.
    ///
    /// # Errors
    /// It can't be listed or may not be read.
    pub(crate) fn named(
        snapshot: &Arc<Snapshot>,
        written: &str,
        allowed: &Allowed,
    ) -> Result<FileTree, String> {
        Ok(match snapshot.named(written, allowed)? {
            NamedDirectory::OfRoot(directory) => FileTree::directory(snapshot.clone(), &directory),
            NamedDirectory::Outside(outside) => {
                FileTree { snapshot: snapshot.clone(), layout: Layout::Outside(outside), ignore: None }
            }
        })
    }

    /// A tree of chosen files: (path in the tree, file).
    pub fn composed(
        snapshot: Arc<Snapshot>,
        files: impl IntoIterator<Item = (Arc<str>, FilePath)>,
    ) -> FileTree {
        let files: BTreeMap<Arc<str>, FilePath> = files.into_iter().collect();
        let mut hasher = sha2::Sha256::new();
        for (path, real) in &files {
            for part in [path, real.shown()] {
                hasher.update((part.len() as u64).to_le_bytes());
                hasher.update(part.as_bytes());
            }
            hasher.update([u8::from(real.of_root().is_some())]);
        }
        let key = hasher.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        FileTree { snapshot, layout: Layout::Composed(Arc::new(Composed { key, files })), ignore: None }
    }

    /// The same tree without the files that these patterns exclude.
    #[must_use]
    pub fn without(mut self, ignore: Arc<SourceIgnore>) -> FileTree {
        self.ignore = Some(ignore);
        self
    }

    /// The directory of the root's tree that this tree is, `None` for a composed one and
    /// one that lies elsewhere.
    pub fn as_directory(&self) -> Option<&str> {
        match &self.layout {
            Layout::Directory(directory) => Some(directory),
            Layout::Outside(_) | Layout::Composed(_) => None,
        }
    }

    fn holds(&self, path: &str) -> bool {
        self.ignore.as_ref().is_none_or(|ignore| !ignore.excludes(path))
    }

    /// What leaves a file or directory of the root's tree out of this one, in words;
    /// `None` where nothing is there, or nothing leaves it out.
    pub fn left_out(&self, root_path: &str) -> Option<String> {
        let (ignore, root) = (self.ignore.as_ref()?, self.as_directory()?);
        let inner = |path: &str| match root {
            "" => Some(path.to_owned()),
            _ => path.strip_prefix(root)?.strip_prefix('/').map(str::to_owned),
        };
        let file = match self.snapshot.file(root_path) {
            Some(file) => file,
            None => self.snapshot.files_below(root_path).first()?,
        };
        ignore.reason(&inner(&file.path)?)
    }

    /// The root's files; they read those of every tree of the forest.
    pub fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// What tells trees apart while their snapshots live, equal for trees of the
    /// same files: memoised builds are keyed by it.
    pub fn key(&self) -> String {
        let snapshot = Arc::as_ptr(&self.snapshot);
        let ignore = self.ignore.as_ref().map_or(std::ptr::null(), Arc::as_ptr);
        match &self.layout {
            Layout::Directory(directory) => format!("{snapshot:p} {ignore:p} directory {directory}"),
            Layout::Outside(outside) => format!("{snapshot:p} {ignore:p} outside {}", outside.directory),
            Layout::Composed(composed) => format!("{snapshot:p} {ignore:p} composed {}", composed.key),
        }
    }

    /// Whether another tree, perhaps of another snapshot, lies at the same place
    /// and leaves out the same files.
    pub fn is_laid_out_as(&self, other: &FileTree) -> bool {
        let same_place = match (&self.layout, &other.layout) {
            (Layout::Directory(one), Layout::Directory(two)) => one == two,
            (Layout::Outside(one), Layout::Outside(two)) => Arc::ptr_eq(one, two),
            (Layout::Composed(one), Layout::Composed(two)) => one.key == two.key,
            _ => false,
        };
        same_place
            && match (&self.ignore, &other.ignore) {
                (Some(one), Some(two)) => Arc::ptr_eq(one, two) || one.is_same(two),
                (None, None) => true,
                _ => false,
            }
    }

    /// The file behind a path of this tree, whether or not anything is there; `None`
    /// where a composed tree has no such file.
    pub fn real(&self, path: &str) -> Option<FilePath> {
        match &self.layout {
            Layout::Directory(directory) => Some(FilePath::in_root(joined(directory, path))),
            Layout::Outside(outside) => Some(match outside.of_root(path) {
                Some(rest) => FilePath::in_root(rest),
                None => FilePath::new(Tree::Outside, joined(&outside.directory, path)),
            }),
            Layout::Composed(composed) => composed.files.get(path).cloned(),
        }
    }

    /// [`FileTree::real`], where that is a path of the root's tree.
    pub fn root_path(&self, path: &str) -> Option<Arc<str>> {
        self.real(path)?.of_root().cloned()
    }

    /// The file (or link) at a clean path of the tree.
    pub fn file(&self, path: &str) -> Option<&Arc<File>> {
        let file = match &self.layout {
            Layout::Directory(directory) if directory.is_empty() => self.snapshot.file(path),
            Layout::Outside(outside) if outside.of_root(path).is_none() => {
                outside.files.file(&joined(&outside.directory, path))
            }
            _ => self.snapshot.find(&self.real(path)?),
        };
        file.filter(|_| self.holds(path))
    }

    /// What is at a clean path; `""` is the root. `None` for nothing.
    pub fn kind(&self, path: &str) -> Option<PathKind> {
        use super::tree::FileKind;
        if let Some(file) = self.file(path) {
            return Some(match file.kind {
                FileKind::Regular => PathKind::File,
                FileKind::Symlink(_) => PathKind::Symlink,
                FileKind::Submodule | FileKind::Special => PathKind::Other,
            });
        }
        self.walk(path).next().map(|_| PathKind::Directory)
    }

    /// Whether a clean path is a directory.
    pub fn is_directory(&self, path: &str) -> bool {
        self.kind(path) == Some(PathKind::Directory)
    }

    /// All files below a clean directory path (`""` is the root): their paths in
    /// the tree, in order of bytes.
    pub fn walk<'t>(&'t self, directory: &str) -> Box<dyn Iterator<Item = (Arc<str>, &'t Arc<File>)> + 't> {
        let within = |snapshot: &'t Snapshot, root: &'t str, directory: &str| {
            let full = match (root.is_empty(), directory.is_empty()) {
                (_, true) => root.to_owned(),
                (true, false) => directory.to_owned(),
                (false, false) => format!("{root}/{directory}"),
            };
            let cut = if root.is_empty() { 0 } else { root.len() + 1 };
            snapshot.files_below(&full).iter().map(move |file| {
                let path: Arc<str> = if cut == 0 { file.path.clone() } else { file.path[cut..].into() };
                (path, file)
            })
        };
        match &self.layout {
            Layout::Directory(root) => {
                Box::new(within(&self.snapshot, root, directory).filter(|(path, _)| self.holds(path)))
            }
            Layout::Outside(outside) => {
                let own = within(&outside.files, &outside.directory, directory);
                let Some(root) = &outside.root_below else {
                    return Box::new(own.filter(|(path, _)| self.holds(path)));
                };
                let of_root =
                    self.snapshot.files().iter().map(|file| (joined(root, &file.path).into(), file));
                let below = |path: &Arc<str>| {
                    directory.is_empty()
                        || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
                };
                let mut all: Vec<(Arc<str>, &Arc<File>)> =
                    own.chain(of_root.filter(|(path, _)| below(path))).collect();
                all.sort_by(|(one, _), (other, _)| one.cmp(other));
                Box::new(all.into_iter().filter(|(path, _)| self.holds(path)))
            }
            Layout::Composed(composed) => {
                let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
                let from: Bound<Arc<str>> = Bound::Included(prefix.as_str().into());
                let range = composed.files.range((from, Bound::Unbounded));
                Box::new(
                    range
                        .take_while(move |(path, _)| path.starts_with(&prefix))
                        .filter(|(path, _)| self.holds(path))
                        .filter_map(|(path, real)| Some((path.clone(), self.snapshot.find(real)?))),
                )
            }
        }
    }

    /// Names in a clean directory path in order of bytes, and whether each is a
    /// directory.
    pub fn list(&self, directory: &str) -> Vec<(String, bool)> {
        let cut = if directory.is_empty() { 0 } else { directory.len() + 1 };
        let mut names: Vec<(String, bool)> = Vec::new();
        for (path, _) in self.walk(directory) {
            let rest = &path[cut..];
            let (name, is_directory) = match rest.split_once('/') {
                Some((name, _)) => (name, true),
                None => (rest, false),
            };
            if names.last().is_none_or(|(last, _)| last != name) {
                names.push((name.to_owned(), is_directory));
            }
        }
        names.sort();
        names.dedup();
        names
    }
}

impl Outside<Snapshot> {
    /// The path relative to the root of a path of this tree that lies in the root.
    fn of_root<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(&**self.root_below.as_ref()?)?;
        if rest.is_empty() { Some("") } else { rest.strip_prefix('/') }
    }
}

/// A path below a directory, either of which may be empty.
fn joined(directory: &str, path: &str) -> String {
    match (directory.is_empty(), path.is_empty()) {
        (true, _) => path.to_owned(),
        (_, true) => directory.to_owned(),
        _ => format!("{directory}/{path}"),
    }
}
