//! The file trees beside the root's: directories that the configuration names, each
//! opened once and kept for all snapshots of one repository.
//!
//! A file has one identity, however it is reached. What lies in the root's work tree
//! is the root's; any other file is known by its path as seen from the root, so that
//! two directories of which one holds the other agree on it.

use super::open::Allowed;
use rustc_hash::FxHashMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

/// The directories that were opened, each with its files `F`, in the order of their
/// opening, and the files `T` of charts. Grows only: what it gave stays where it is.
#[derive(Debug)]
pub(super) struct Forest<F, T> {
    first: Link<F>,
    /// Charts that are no part of a file tree.
    chart: ChartLink<T>,
}

type ChartLink<T> = OnceLock<Box<ChartFiles<T>>>;

/// The files of a chart that is no part of a file tree, read when one is asked for.
#[derive(Debug)]
struct ChartFiles<T> {
    /// What their paths begin with, its own first: `NAME@VERSION/`.
    leads: Vec<String>,
    files: LazyLock<FxHashMap<Arc<str>, T>, Files<T>>,
    next: ChartLink<T>,
}

/// What reads the files of a chart.
type Files<T> = Box<dyn FnOnce() -> FxHashMap<Arc<str>, T> + Send>;

type Link<F> = OnceLock<Box<Opened<F>>>;

#[derive(Debug)]
struct Opened<F> {
    /// The real path.
    path: PathBuf,
    outcome: Result<Arc<Outside<F>>, String>,
    next: Link<F>,
}

/// A directory beside the root's tree.
#[derive(Debug)]
pub(super) struct Outside<F> {
    /// Its files; their paths are those as seen from the root.
    pub(super) files: F,
    /// Its own path as seen from the root: `../b`, or `vendor/b` where git leaves it
    /// out of the work tree.
    pub(super) directory: Arc<str>,
    /// Where the root lies in it, for one that holds the root.
    pub(super) root_below: Option<Arc<str>>,
}

/// What a directory that the configuration names is.
#[derive(Debug)]
pub(super) enum NamedDirectory<F> {
    /// A directory of the root's tree; empty for the root.
    OfRoot(String),
    /// Another tree.
    Outside(Arc<Outside<F>>),
}

/// What is read of a directory beside the root's tree.
pub(super) struct WantedFiles<'w> {
    /// The real path.
    pub(super) path: &'w Path,
    /// What its paths begin with, as seen from the root.
    pub(super) lead: &'w str,
    /// The directory in it that is the root's, and is left out.
    pub(super) without: Option<&'w str>,
}

impl<F, T> Default for Forest<F, T> {
    fn default() -> Forest<F, T> {
        Forest { first: Link::new(), chart: ChartLink::new() }
    }
}

impl<F, T: 'static> Forest<F, T> {
    /// The directory that `written` names, absolute or relative to `base`, the root.
    /// `is_of_root` tells whether the root's tree has files below a directory; `read`
    /// reads one that is none of it.
    ///
    /// # Errors
    /// It can't be listed or may not be read.
    pub(super) fn named(
        &self,
        base: &Path,
        written: &str,
        allowed: &Allowed,
        is_of_root: impl Fn(&str) -> bool,
        read: impl Fn(WantedFiles<'_>) -> io::Result<F>,
    ) -> Result<NamedDirectory<F>, String> {
        let told = |error: io::Error| format!("{written}: {error}");
        let real = allowed.directory(base, written).map_err(told)?;
        let root = base.canonicalize().map_err(told)?;
        if let Ok(inner) = real.strip_prefix(&root) {
            let inner = shown(inner);
            // What git doesn't list of the work tree is no part of the root's tree.
            if inner.is_empty() || is_of_root(&inner) {
                return Ok(NamedDirectory::OfRoot(inner));
            }
        }
        let outcome = self.open(&root, real, read).map_err(|error| format!("{written}: {error}"))?;
        Ok(NamedDirectory::Outside(outcome))
    }

    fn open(
        &self,
        root: &Path,
        real: PathBuf,
        read: impl Fn(WantedFiles<'_>) -> io::Result<F>,
    ) -> Result<Arc<Outside<F>>, String> {
        let open = || outside(root, &real, &read).map(Arc::new);
        let mut link = &self.first;
        loop {
            let opened = link
                .get_or_init(|| Box::new(Opened { path: real.clone(), outcome: open(), next: Link::new() }));
            if opened.path == real {
                return opened.outcome.clone();
            }
            link = &opened.next;
        }
    }

    /// Whether reading them again gives the same trees: files that `is_same` tells so, or
    /// none for the same reason.
    pub(super) fn is_as_read(
        &self,
        base: &Path,
        read: impl Fn(WantedFiles<'_>) -> io::Result<F>,
        is_same: impl Fn(&F, &F) -> bool,
    ) -> bool {
        let Ok(root) = base.canonicalize() else { return false };
        self.links().all(|opened| match (&opened.outcome, outside(&root, &opened.path, &read)) {
            (Ok(old), Ok(new)) => is_same(&old.files, &new.files),
            (Err(old), Err(new)) => *old == new,
            _ => false,
        })
    }

    /// Notes a chart, by what the paths of its files begin with, its own `NAME@VERSION/`
    /// first. What is known already stays what it was.
    pub(super) fn add_chart(
        &self,
        leads: Vec<String>,
        files: impl FnOnce() -> FxHashMap<Arc<str>, T> + Send + 'static,
    ) {
        let mut files: Option<Files<T>> = Some(Box::new(files));
        let mut link = &self.chart;
        loop {
            let chart = link.get_or_init(|| {
                let files = files.take().unwrap_or_else(|| Box::new(FxHashMap::default));
                let (leads, next) = (leads.clone(), ChartLink::new());
                Box::new(ChartFiles { leads, files: LazyLock::new(files), next })
            });
            if chart.leads.first() == leads.first() {
                return;
            }
            link = &chart.next;
        }
    }

    /// A file of a chart.
    pub(super) fn chart_file(&self, path: &str) -> Option<&T> {
        let first = self.chart.get().map(|chart| &**chart);
        std::iter::successors(first, |chart| chart.next.get().map(|next| &**next))
            .filter(|chart| chart.leads.iter().any(|lead| path.starts_with(&**lead)))
            .find_map(|chart| chart.files.get(path))
    }

    /// The trees that were opened so far.
    pub(super) fn opened(&self) -> impl Iterator<Item = &Arc<Outside<F>>> {
        self.links().filter_map(|opened| opened.outcome.as_ref().ok())
    }

    fn links(&self) -> impl Iterator<Item = &Opened<F>> {
        let first = self.first.get().map(|opened| &**opened);
        std::iter::successors(first, |opened| opened.next.get().map(|next| &**next))
    }
}

/// A directory beside the root's tree, read.
fn outside<F>(
    root: &Path,
    real: &Path,
    read: impl Fn(WantedFiles<'_>) -> io::Result<F>,
) -> Result<Outside<F>, String> {
    let directory = from_root(root, real);
    let root_below = root.strip_prefix(real).ok().map(shown);
    let wanted = WantedFiles { path: real, lead: &directory, without: root_below.as_deref() };
    let files = read(wanted).map_err(|error| error.to_string())?;
    Ok(Outside { files, directory: directory.into(), root_below: root_below.map(Arc::from) })
}

/// A real path as seen from another one: `../b`.
fn from_root(root: &Path, real: &Path) -> String {
    let common = root.components().zip(real.components()).take_while(|(one, other)| one == other).count();
    let up = root.components().skip(common).map(|_| Component::ParentDir);
    let path: PathBuf = up.chain(real.components().skip(common)).collect();
    shown(&path)
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_seen_from_the_root() {
        for (root, real, expected) in [
            ("/a/b", "/a/c", "../c"),
            ("/a/b", "/a", ".."),
            ("/a/b", "/a/b/c/d", "c/d"),
            ("/a/b", "/x", "../../x"),
            ("/a/b", "/a/bc", "../bc"),
        ] {
            assert_eq!(from_root(Path::new(root), Path::new(real)), expected);
        }
    }
}
