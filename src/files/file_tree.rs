//! A file tree: what a Flux source resolves to. `spec.path` and everything that
//! a kustomization names is resolved inside it; origins stay at the real files.

use super::snapshot::{File, Snapshot};
use super::source_ignore::SourceIgnore;
use sha2::Digest;
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// Paths of a tree and the repository files behind them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct FileTree {
    snapshot: Arc<Snapshot>,
    layout: Layout,
    ignore: Option<Arc<SourceIgnore>>,
}

#[derive(Clone, Debug)]
enum Layout {
    /// A directory of the repository; `""` is its root.
    Directory(Arc<str>),
    /// Paths of the tree to paths of the repository: an artifact composed by an
    /// ArtifactGenerator.
    Composed(Arc<Composed>),
}

#[derive(Debug)]
struct Composed {
    key: String,
    files: BTreeMap<Arc<str>, Arc<str>>,
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

    /// A tree of chosen files: (path in the tree, path in the repository).
    pub fn composed(
        snapshot: Arc<Snapshot>,
        files: impl IntoIterator<Item = (Arc<str>, Arc<str>)>,
    ) -> FileTree {
        let files: BTreeMap<Arc<str>, Arc<str>> = files.into_iter().collect();
        let mut hasher = sha2::Sha256::new();
        for part in files.iter().flat_map(|(path, real)| [path, real]) {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
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

    /// The directory of the repository that the tree is, `None` for a composed
    /// one.
    pub fn as_directory(&self) -> Option<&str> {
        match &self.layout {
            Layout::Directory(directory) => Some(directory),
            Layout::Composed(_) => None,
        }
    }

    fn holds(&self, path: &str) -> bool {
        self.ignore.as_ref().is_none_or(|ignore| !ignore.excludes(path))
    }

    /// What leaves a file or directory of the repository out of this tree, in
    /// words; `None` where nothing is there, or nothing leaves it out.
    pub fn left_out(&self, repository_path: &str) -> Option<String> {
        let (ignore, root) = (self.ignore.as_ref()?, self.as_directory()?);
        let inner = |path: &str| match root {
            "" => Some(path.to_owned()),
            _ => path.strip_prefix(root)?.strip_prefix('/').map(str::to_owned),
        };
        let file = match self.snapshot.file(repository_path) {
            Some(file) => file,
            None => self.snapshot.files_below(repository_path).first()?,
        };
        ignore.reason(&inner(&file.path)?)
    }

    /// The snapshot that holds the files.
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
            Layout::Composed(composed) => format!("{snapshot:p} {ignore:p} composed {}", composed.key),
        }
    }

    /// Whether another tree, perhaps of another snapshot, lies at the same place
    /// and leaves out the same files.
    pub fn is_laid_out_as(&self, other: &FileTree) -> bool {
        let same_place = match (&self.layout, &other.layout) {
            (Layout::Directory(one), Layout::Directory(two)) => one == two,
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

    /// The path in the repository of a path of this tree, whether or not
    /// anything is there; `None` where a composed tree has no such file.
    pub fn repository_path(&self, path: &str) -> Option<Arc<str>> {
        match &self.layout {
            Layout::Directory(directory) if directory.is_empty() => Some(path.into()),
            Layout::Directory(directory) => Some(format!("{directory}/{path}").into()),
            Layout::Composed(composed) => composed.files.get(path).cloned(),
        }
    }

    /// The file (or link) at a clean path of the tree.
    pub fn file(&self, path: &str) -> Option<&Arc<File>> {
        let file = match &self.layout {
            Layout::Directory(directory) if directory.is_empty() => self.snapshot.file(path),
            _ => self.snapshot.file(&self.repository_path(path)?),
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
        match &self.layout {
            Layout::Directory(root) => {
                let full = match (root.is_empty(), directory.is_empty()) {
                    (true, _) => directory.to_owned(),
                    (false, true) => root.to_string(),
                    (false, false) => format!("{root}/{directory}"),
                };
                let cut = if root.is_empty() { 0 } else { root.len() + 1 };
                let files = self.snapshot.files_below(&full);
                let all = files.iter().map(move |file| {
                    let path: Arc<str> = if cut == 0 { file.path.clone() } else { file.path[cut..].into() };
                    (path, file)
                });
                Box::new(all.filter(|(path, _)| self.holds(path)))
            }
            Layout::Composed(composed) => {
                let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
                let from: Bound<Arc<str>> = Bound::Included(prefix.as_str().into());
                let range = composed.files.range((from, Bound::Unbounded));
                Box::new(
                    range
                        .take_while(move |(path, _)| path.starts_with(&prefix))
                        .filter(|(path, _)| self.holds(path))
                        .filter_map(|(path, real)| Some((path.clone(), self.snapshot.file(real)?))),
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
