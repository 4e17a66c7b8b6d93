//! A snapshot: all files of a tree at one moment, with the documents and
//! objects of its manifests. Built in parallel, then only read.

mod changed;
mod compared;
mod ignored;
mod looks;

use super::blob::{Blob, Content, DOCUMENT_LIMIT, SIZE_LIMIT, Store};
use super::forest::{Forest, NamedDirectory, WantedFiles};
use super::open::{Allowed, Root};
use super::secrets;
use super::source_ignore::SourceIgnore;
use super::tree::{self, Blobs, FileKind, GitBlob, Listing, TreeEntry, is_manifest_path};
use crate::lang::yaml::{FilePath, Location, Source, Stream, Tree};
use crate::model::Object;
use crate::model::objects_of;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// A file of a snapshot.
#[derive(Clone, Debug)]
pub struct File {
    /// As seen from the root, with `/`.
    pub path: Arc<str>,
    /// The tree that holds it.
    pub tree: Tree,
    /// What is there.
    pub kind: FileKind,
    /// Whether git tracks it.
    pub tracked: bool,
    /// Whether it looks like a manifest: by its extension alone.
    pub is_manifest: bool,
    /// Size in bytes of a manifest as the file system says; 0 in a revision.
    pub size: u64,
    oid: Option<String>,
    blob: OnceLock<Result<Arc<Blob>, Unreadable>>,
    sources: OnceLock<Vec<Arc<Source>>>,
    /// Those that it would state if it were no template.
    objects: OnceLock<Vec<Object>>,
    template: OnceLock<bool>,
    generated: OnceLock<bool>,
    secrets: OnceLock<Arc<secrets::Regions>>,
}

impl File {
    /// The tree that holds it, and its path.
    pub fn name(&self) -> FilePath {
        FilePath::new(self.tree.clone(), self.path.clone())
    }
}

/// Why a file has no content here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// The file system said no.
    Io(String),
    /// Above [`SIZE_LIMIT`].
    TooLarge(u64),
    /// No regular file.
    NotAFile,
    /// The object is not in this (partial) clone.
    MissingObject,
    /// The manifests before it have [`BYTES_LIMIT`] bytes or [`DOCUMENTS_LIMIT`]
    /// documents.
    BeyondTotal,
}

/// Bytes of manifests that are read of one tree, in order of their paths.
pub(crate) const BYTES_LIMIT: u64 = 1 << 30;

/// Documents of manifests that are read of one tree, in order of their paths.
pub(crate) const DOCUMENTS_LIMIT: u64 = 1_000_000;

/// Where a snapshot's bytes come from.
#[derive(Clone, Debug)]
enum SnapshotOrigin {
    Directory(Arc<Root>),
    /// A directory outside of the root's tree, and what the paths of its files begin with.
    Outside(Arc<Root>, Arc<str>),
    Revision(Arc<Blobs>),
    Memory,
}

/// A tree of files over a store; built in parallel, then only read.
#[derive(Debug)]
pub struct Snapshot {
    origin: SnapshotOrigin,
    store: Arc<Store>,
    /// The trees beside this one, and the directory that they are seen from.
    forest: Arc<Forest<Snapshot, Arc<File>>>,
    base: Option<Arc<Path>>,
    files: Vec<Arc<File>>,
    index: FxHashMap<Arc<str>, u32>,
    /// Directories that hold a Chart.yaml, each with the `/` at its end.
    chart_roots: FxHashSet<String>,
    objects: Vec<Object>,
    /// Of files in memory, those that git would ignore.
    ignored: Vec<String>,
    git_patterns: OnceLock<FxHashMap<Arc<str>, SourceIgnore>>,
    /// Manifests from this place of the files on are not read: those before it are
    /// all that one run can hold.
    end: usize,
    suites: OnceLock<FxHashSet<String>>,
    made: OnceLock<secrets::SecretParts>,
    /// Paths that are not UTF-8 and so could not be named.
    pub unnamed: Vec<String>,
}

impl Snapshot {
    /// The work tree at `root`, as git sees it, or all of it without git.
    pub fn work_tree(root: &Path, store: Arc<Store>) -> io::Result<Snapshot> {
        let listing = tree::work_tree(root)?;
        Ok(Snapshot::build(SnapshotOrigin::Directory(Root::new(root).into()), listing, store))
    }

    /// A directory with no regard to git.
    pub fn directory(root: &Path, store: Arc<Store>) -> io::Result<Snapshot> {
        let listing = tree::directory(root)?;
        Ok(Snapshot::build(SnapshotOrigin::Directory(Root::new(root).into()), listing, store))
    }

    /// A directory with no regard to git, of which nothing is read before it is asked
    /// for: its objects are not known.
    pub fn listed(root: &Path, store: Arc<Store>) -> io::Result<Snapshot> {
        let listing = tree::directory(root)?;
        Ok(Snapshot::build_files(SnapshotOrigin::Directory(Root::new(root).into()), listing, store))
    }

    /// A directory outside of the root's tree, with no regard to git.
    fn outside(wanted: WantedFiles<'_>, store: Arc<Store>) -> io::Result<Snapshot> {
        let WantedFiles { path, lead, without } = wanted;
        let mut listing = tree::directory(path)?;
        if let Some(without) = without {
            let below = |path: &str| path.strip_prefix(without).is_some_and(|rest| rest.starts_with('/'));
            listing.entries.retain(|entry| !below(&entry.path));
        }
        listing.entries.iter_mut().for_each(|entry| entry.path = format!("{lead}/{}", entry.path));
        let lead = format!("{lead}/").into();
        Ok(Snapshot::build(SnapshotOrigin::Outside(Root::new(path).into(), lead), listing, store))
    }

    /// The tree of a commit of the repository at `root`; files that are as they
    /// are in `like` are taken from it, what they parse to included.
    pub fn revision(root: &Path, commit: &str, like: &Snapshot) -> io::Result<Snapshot> {
        let blobs = Arc::new(Blobs::new(root));
        let listing = tree::revision(root, commit, &blobs)?;
        let origin = SnapshotOrigin::Revision(blobs.clone());
        let snapshot = Snapshot::build_files(origin, listing, like.store.clone());
        snapshot.files.par_iter().with_min_len(16).for_each(|file| {
            let Some(Ok(blob)) = like.file(&file.path).and_then(|other| other.blob.get()) else { return };
            let same = file.oid.as_ref().is_some_and(|oid| tree::has_object_id(blob.bytes(), oid));
            if same && file.kind == FileKind::Regular {
                let _ = file.blob.set(Ok(blob.clone()));
            }
        });
        let wanted: Vec<&Arc<File>> = snapshot
            .files
            .iter()
            .filter(|file| file.is_manifest && file.kind == FileKind::Regular)
            .filter(|file| file.blob.get().is_none())
            .collect();
        let oids: Vec<&str> = wanted.iter().filter_map(|file| file.oid.as_deref()).collect();
        for (file, found) in wanted.iter().zip(blobs.read(&oids)?) {
            let _ = file.blob.set(snapshot.content(found));
        }
        Ok(snapshot.sharing(like))
    }

    /// The same tree; files that another snapshot has alike are taken from it, what
    /// they parse to included. Nodes of both are the same then.
    #[must_use]
    pub fn sharing(mut self, like: &Snapshot) -> Snapshot {
        let is_same = |one: &File, other: &File| {
            let blobs = (one.blob.get(), other.blob.get());
            one.tracked == other.tracked
                && one.kind == other.kind
                && matches!(blobs, (Some(Ok(one)), Some(Ok(other))) if Arc::ptr_eq(one, other))
        };
        self.forest = like.forest.clone();
        self.base.clone_from(&like.base);
        // Whether a file is a template depends on the charts around it.
        if self.chart_roots == like.chart_roots {
            for file in &mut self.files {
                if let Some(other) = like.file(&file.path).filter(|other| is_same(file, other)) {
                    *file = other.clone();
                }
            }
        }
        self.with_objects()
    }

    fn content(&self, found: GitBlob) -> Result<Arc<Blob>, Unreadable> {
        match found {
            GitBlob::Bytes(bytes) => Ok(self.store.intern(&bytes)),
            GitBlob::TooLarge(size) => Err(Unreadable::TooLarge(size)),
            GitBlob::Missing => Err(Unreadable::MissingObject),
        }
    }

    /// Files held in memory: (path, bytes), in any order.
    pub fn memory<'f>(files: impl IntoIterator<Item = (&'f str, Vec<u8>)>, store: Arc<Store>) -> Snapshot {
        let mut listing = Listing::default();
        let mut blobs = FxHashMap::default();
        for (path, bytes) in files {
            let entry = TreeEntry::new(path, FileKind::Regular);
            listing.entries.push(TreeEntry { size: bytes.len() as u64, ..entry });
            blobs.insert(path.to_owned(), store.intern(&bytes));
        }
        listing.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let snapshot = Snapshot::build_files(SnapshotOrigin::Memory, listing, store);
        for file in &snapshot.files {
            if let Some(blob) = blobs.remove(&*file.path) {
                let _ = file.blob.set(Ok(blob));
            }
        }
        snapshot.with_objects()
    }

    fn build(origin: SnapshotOrigin, listing: Listing, store: Arc<Store>) -> Snapshot {
        Snapshot::build_files(origin, listing, store).with_objects()
    }

    fn build_files(origin: SnapshotOrigin, listing: Listing, store: Arc<Store>) -> Snapshot {
        let tree = match origin {
            SnapshotOrigin::Outside(..) => Tree::Outside,
            SnapshotOrigin::Directory(_) | SnapshotOrigin::Revision(_) | SnapshotOrigin::Memory => Tree::Root,
        };
        let files = listing
            .entries
            .into_iter()
            .map(|entry| {
                Arc::new(File {
                    is_manifest: is_manifest_path(&entry.path),
                    path: entry.path.into(),
                    tree: tree.clone(),
                    kind: entry.kind,
                    tracked: entry.tracked,
                    size: entry.size,
                    oid: entry.oid,
                    blob: OnceLock::new(),
                    sources: OnceLock::new(),
                    objects: OnceLock::new(),
                    template: OnceLock::new(),
                    generated: OnceLock::new(),
                    secrets: OnceLock::new(),
                })
            })
            .collect();
        Snapshot::from_files(origin, files, listing.unnamed, store)
    }

    fn from_files(
        origin: SnapshotOrigin,
        files: Vec<Arc<File>>,
        unnamed: Vec<String>,
        store: Arc<Store>,
    ) -> Snapshot {
        let index = files.iter().enumerate().map(|(at, file)| (file.path.clone(), at as u32)).collect();
        let chart_roots = files
            .iter()
            .filter_map(|file| match file.path.rsplit_once('/') {
                Some((directory, "Chart.yaml")) => Some(format!("{directory}/")),
                None if &*file.path == "Chart.yaml" => Some(String::new()),
                _ => None,
            })
            .collect();
        let base = match &origin {
            SnapshotOrigin::Directory(root) => Some(root.path().into()),
            SnapshotOrigin::Outside(..) | SnapshotOrigin::Revision(_) | SnapshotOrigin::Memory => None,
        };
        Snapshot {
            origin,
            store,
            forest: Arc::default(),
            base,
            files,
            index,
            chart_roots,
            objects: Vec::new(),
            ignored: Vec::new(),
            git_patterns: OnceLock::new(),
            end: usize::MAX,
            suites: OnceLock::new(),
            made: OnceLock::new(),
            unnamed,
        }
    }

    fn with_objects(mut self) -> Snapshot {
        self.end = self.bounded();
        let stated = |file: &File| {
            let mut objects = Vec::new();
            for source in self.sources(file) {
                objects_of(source, &mut objects);
            }
            objects
        };
        let per_file: Vec<&[Object]> = self
            .files
            .par_iter()
            .with_min_len(16)
            .map(|file| match file.is_manifest && !self.is_template(file) && !self.is_test(file) {
                true => file.objects.get_or_init(|| stated(file)).as_slice(),
                false => &[],
            })
            .collect();
        self.objects = per_file.concat();
        self
    }

    /// The blobs that this snapshot and its successors share.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// The directory on disk, `None` for a revision or files in memory.
    pub fn directory_path(&self) -> Option<&Path> {
        match &self.origin {
            SnapshotOrigin::Directory(root) => Some(root.path()),
            _ => None,
        }
    }

    /// What a directory is that the configuration names: absolute, or relative to the
    /// root. A tree beside the root's is the same for all snapshots of one repository.
    ///
    /// # Errors
    /// It can't be listed or may not be read, or these files have no directory.
    pub(super) fn named(&self, written: &str, allowed: &Allowed) -> Result<NamedDirectory<Snapshot>, String> {
        let has = |directory: &str| self.has_directory(directory);
        let read = |wanted: WantedFiles<'_>| Snapshot::outside(wanted, self.store.clone());
        match &self.base {
            Some(base) => self.forest.named(base, written, allowed, has, read),
            None => Err(format!("{written}: these files lie in no directory")),
        }
    }

    /// Whether the trees beside this one are on disk as they were read. Files that lie in
    /// no directory have none to look at.
    pub(crate) fn beside_is_as_read(&self) -> bool {
        let Some(base) = &self.base else { return false };
        let read = |wanted: WantedFiles<'_>| Snapshot::outside(wanted, self.store.clone());
        self.forest.is_as_read(base, read, Snapshot::agrees_with)
    }

    /// Whether another reading of the same directory finds the same files, and in those
    /// that were read the same bytes.
    fn agrees_with(&self, other: &Snapshot) -> bool {
        let is_same = |(old, new): (&Arc<File>, &Arc<File>)| {
            let blobs = || (self.blob(old).ok(), other.blob(new).ok());
            (&old.path, &old.kind, old.size) == (&new.path, &new.kind, new.size)
                && (old.blob.get().is_none()
                    || matches!(blobs(), (Some(one), Some(two)) if one.bytes() == two.bytes()))
        };
        self.files.len() == other.files.len() && self.files.iter().zip(&other.files).all(is_same)
    }

    /// The trees beside this one that were read so far.
    pub(crate) fn beside(&self) -> impl Iterator<Item = &Snapshot> {
        self.forest.opened().map(|outside| &outside.files)
    }

    /// The directories of the trees beside this one, as seen from the root, in order.
    pub(crate) fn directories_beside(&self) -> Vec<&str> {
        let mut directories: Vec<&str> = self.forest.opened().map(|outside| &*outside.directory).collect();
        directories.sort_unstable();
        directories
    }

    /// A file of any tree of the forest.
    pub(crate) fn find(&self, name: &FilePath) -> Option<&Arc<File>> {
        match name.of_root() {
            Some(path) => self.file(path),
            None if *name.tree() == Tree::Chart => self.forest.chart_file(name.shown()),
            None => self.beside().find_map(|tree| tree.file(name.shown())),
        }
    }

    /// Note a chart that is no part of a file tree, by its files and the paths that answers
    /// tell: they are found, read and masked as all others are. `leads` are what these begin
    /// with, `NAME@VERSION/`, its own first.
    pub(crate) fn add_chart(
        &self,
        leads: Vec<String>,
        files: impl FnOnce() -> Vec<(Arc<str>, Arc<Blob>)> + Send + 'static,
    ) {
        let file = |(path, blob): (Arc<str>, Arc<Blob>)| {
            let file = File {
                path: path.clone(),
                tree: Tree::Chart,
                kind: FileKind::Regular,
                tracked: false,
                is_manifest: false,
                size: blob.bytes().len() as u64,
                oid: None,
                blob: OnceLock::from(Ok(blob)),
                sources: OnceLock::new(),
                objects: OnceLock::new(),
                template: OnceLock::new(),
                generated: OnceLock::new(),
                secrets: OnceLock::new(),
            };
            (path, Arc::new(file))
        };
        self.forest.add_chart(leads, move || files().into_iter().map(file).collect());
    }

    /// The snapshot of the forest that a file is of.
    fn holder(&self, file: &File) -> &Snapshot {
        match file.tree {
            Tree::Root => self,
            Tree::Outside | Tree::Chart => {
                self.beside().find(|tree| tree.file(&file.path).is_some()).unwrap_or(self)
            }
        }
    }

    /// All files in order of their paths' bytes.
    pub fn files(&self) -> &[Arc<File>] {
        &self.files
    }

    /// The file at a path.
    pub fn file(&self, path: &str) -> Option<&Arc<File>> {
        self.index.get(path).map(|at| &self.files[*at as usize])
    }

    /// Files below a directory (`""` is the root), in order.
    pub fn files_below<'s>(&'s self, directory: &str) -> &'s [Arc<File>] {
        if directory.is_empty() {
            return &self.files;
        }
        let prefix = format!("{directory}/");
        let start = self.files.partition_point(|file| *file.path < *prefix);
        let count = self.files[start..].partition_point(|file| file.path.starts_with(&prefix));
        &self.files[start..start + count]
    }

    /// Whether any file lies below a directory.
    pub fn has_directory(&self, directory: &str) -> bool {
        !self.files_below(directory).is_empty()
    }

    /// A file's content, read on first use.
    pub fn blob<'s>(&'s self, file: &'s File) -> Result<&'s Arc<Blob>, &'s Unreadable> {
        if file.tree != Tree::Root && !matches!(self.origin, SnapshotOrigin::Outside(..)) {
            let holder = self.holder(file);
            if !std::ptr::eq(holder, self) {
                return holder.blob(file);
            }
        }
        if self.end < self.files.len() && file.is_manifest && file.path >= self.files[self.end].path {
            return Err(&Unreadable::BeyondTotal);
        }
        file.blob.get_or_init(|| self.read(file)).as_ref()
    }

    /// The first manifest with which the tree is more than one run can hold.
    fn bounded(&self) -> usize {
        let manifests = || self.files.iter().enumerate().filter(|(_, file)| file.is_manifest);
        // By what the file system says, before anything is read.
        let mut size = 0;
        let listed = manifests().find(|(_, file)| {
            size += file.size.min(SIZE_LIMIT);
            size > BYTES_LIMIT
        });
        let end = listed.map_or(self.files.len(), |(at, _)| at);
        let known: Vec<(u64, u64)> = self.files[..end]
            .par_iter()
            .with_min_len(16)
            .map(|file| match file.is_manifest.then(|| file.blob.get_or_init(|| self.read(file))) {
                Some(Ok(blob)) if blob.separators() < DOCUMENT_LIMIT => {
                    (blob.bytes().len() as u64, blob.separators() as u64 + 1)
                }
                Some(Ok(blob)) => (blob.bytes().len() as u64, 0),
                _ => (0, 0),
            })
            .collect();
        let (mut bytes, mut documents) = (0, 0);
        let over = known.iter().position(|(size, count)| {
            bytes += size;
            documents += count;
            bytes > BYTES_LIMIT || documents > DOCUMENTS_LIMIT
        });
        over.unwrap_or(end).min(end)
    }

    fn read(&self, file: &File) -> Result<Arc<Blob>, Unreadable> {
        if file.kind != FileKind::Regular {
            return Err(Unreadable::NotAFile);
        }
        if file.size > SIZE_LIMIT {
            return Err(Unreadable::TooLarge(file.size));
        }
        let in_directory = |root: &Root, path: &str| {
            let bytes = root.read(path).map_err(|error| match error.kind() {
                io::ErrorKind::FileTooLarge => Unreadable::TooLarge(root.size(path).unwrap_or_default()),
                _ => Unreadable::Io(error.to_string()),
            });
            bytes.map(|bytes| self.store.intern(&bytes))
        };
        match (&self.origin, &file.oid) {
            (SnapshotOrigin::Directory(root), _) => in_directory(root, &file.path),
            (SnapshotOrigin::Outside(root, lead), _) => match file.path.strip_prefix(&**lead) {
                Some(path) => in_directory(root, path),
                None => Err(Unreadable::NotAFile),
            },
            (SnapshotOrigin::Revision(blobs), Some(oid)) => match blobs.read(&[oid.as_str()]) {
                Ok(mut found) => self.content(found.pop().unwrap_or(GitBlob::Missing)),
                Err(error) => Err(Unreadable::Io(error.to_string())),
            },
            _ => Err(Unreadable::MissingObject),
        }
    }

    /// A file's parsed text, when it is readable text.
    pub fn stream<'s>(&'s self, file: &'s File) -> Option<&'s Arc<Stream>> {
        self.blob(file).ok()?.stream()
    }

    /// The documents of the file of a path.
    pub fn written(&self, path: &FilePath) -> Option<&[Arc<Source>]> {
        Some(self.sources(self.find(path)?))
    }

    /// A file's documents at their place, empty where it is no text.
    pub fn sources<'s>(&'s self, file: &'s File) -> &'s [Arc<Source>] {
        file.sources.get_or_init(|| match self.blob(file).map(|blob| blob.content()) {
            Ok(Content::Text(stream)) => (0..stream.documents.len() as u32)
                .map(|index| {
                    Arc::new(Source {
                        file: file.name(),
                        stream: stream.clone(),
                        index,
                        embed: None,
                        via: Vec::new(),
                    })
                })
                .collect(),
            _ => Vec::new(),
        })
    }

    /// The parts of a file that are about Secrets, by its own text.
    pub(super) fn regions_in<'s>(&'s self, file: &'s File) -> &'s secrets::Regions {
        file.secrets.get_or_init(|| Arc::new(secrets::regions_of(self.holder(file), file)))
    }

    /// The region that a file is as a whole, by those that make Secrets of it.
    pub(super) fn made_of(&self, file: &File) -> Option<&secrets::Region> {
        let holder = self.holder(file);
        holder.made.get_or_init(|| secrets::SecretParts::of(holder)).get(file)
    }

    /// Objects of the source view, in order of files and documents; none of
    /// templates.
    pub fn objects(&self) -> &[Object] {
        &self.objects
    }

    /// Objects in files below a directory (`""` is the root), in order.
    pub fn objects_below(&self, directory: &str) -> &[Object] {
        match directory {
            "" => &self.objects,
            _ => self.objects_where(&format!("{directory}/"), |path, lead| path.starts_with(lead)),
        }
    }

    /// Objects of a file of this tree, in order.
    pub fn objects_in(&self, path: &str) -> &[Object] {
        self.objects_where(path, |path, wanted| path == wanted)
    }

    fn objects_where(&self, lead: &str, is_one: impl Fn(&str, &str) -> bool) -> &[Object] {
        let start = self.objects.partition_point(|object| **object.source.file.shown() < *lead);
        let count = self.objects[start..].partition_point(|object| is_one(object.source.file.shown(), lead));
        &self.objects[start..start + count]
    }

    /// 1-based lines and columns of a location: start and end.
    pub fn positions(&self, location: &Location) -> ((u32, u32), (u32, u32)) {
        match self.find(&location.file).and_then(|file| self.stream(file)) {
            Some(stream) => {
                let lines = stream.lines();
                (lines.position(&stream.text, location.start), lines.position(&stream.text, location.end))
            }
            None => ((1, 1), (1, 1)),
        }
    }
}

#[cfg(test)]
mod tests;
