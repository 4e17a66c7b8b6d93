//! What the parts of a build share: the level that they belong to, the objects
//! that it has so far, and the reading and noting of one build.
//!
//! Mirrors `api/internal/accumulator/resaccumulator.go` and
//! `api/internal/loader/fileloader.go`.

use super::config::{self, Config};
use super::decode::Text;
use super::entries::{Selector, Var};
use super::error::{BuildError, ErrorClass, Omitted, Partial, Result};
use super::file::Kustomization;
use super::hash::{self, Hashes};
use super::load::{self, Loaded, TextPlace};
use super::resource::{FileRole, Resource, Traces};
use super::schema::Schemas;
use super::selector::{described, near_miss};
use super::tree::{Links, TreeEntry, TreeFile, find};
use super::{OUTPUT_LIMIT, Warning, WarningKind, trace};
use crate::files::{self, FileTree};
use crate::lang::yaml::{FilePath, Location, Node, NodeRef, Stream, Via};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, PoisonError};

/// Which files a kustomization may name, apart from directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadRestriction {
    /// Those in or below its own directory.
    RootOnly,
    /// Any in the tree.
    None,
}

/// Objects of one build.
const RESOURCE_LIMIT: usize = 25_000;

/// Results of bases, shared by builds of trees of one snapshot.
#[derive(Debug, Default)]
pub struct BaseMemo {
    pub(super) bases: Mutex<FxHashMap<BaseKey, Base>>,
    texts: Mutex<FxHashMap<Box<str>, Arc<Stream>>>,
    hashes: Hashes,
}

impl BaseMemo {
    /// A text inside a file, parsed: one patch is often written into many builds.
    pub(super) fn stream(&self, text: &str) -> Arc<Stream> {
        let mut texts = self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stream) = texts.get(text) {
            return stream.clone();
        }
        let stream = Arc::new(Stream::parse(text));
        texts.insert(text.into(), stream.clone());
        stream
    }
}

/// A tree's key and the rules that it is read by, with best effort or without; a
/// directory.
pub(super) type BaseKey = (Arc<str>, LoadRestriction, Links, bool, Arc<str>);

pub(super) type Base = std::result::Result<Arc<Accumulated>, Arc<RefusedBase>>;

/// Why a base can't be built, and the files that tell so.
#[derive(Debug)]
pub(super) struct RefusedBase {
    pub(super) error: BuildError,
    pub(super) read: BTreeSet<FilePath>,
    /// What was left out of it before: what the refusal may come of.
    pub(super) left_out: Vec<BuildError>,
}

/// What a base brings up, finished.
#[derive(Clone, Debug)]
pub(super) struct Accumulated {
    pub(super) level: Accumulator,
    pub(super) record: Record,
}

/// Objects of a level and what belongs to them.
#[derive(Clone, Debug, Default)]
pub(super) struct Accumulator {
    pub(super) resources: Vec<Resource>,
    index: Index,
    pub(super) config: Option<Arc<Config>>,
    pub(super) vars: Vec<Var>,
}

/// Positions of objects by their ids.
#[derive(Clone, Debug, Default)]
struct Index {
    by_hash: FxHashMap<u64, usize>,
    /// Of each object.
    hashes: Vec<u64>,
    /// Whether objects may have changed since.
    stale: bool,
}

impl Index {
    fn of(resources: &[Resource]) -> Index {
        let hashes: Vec<u64> = resources.iter().map(|resource| resource.id.hash()).collect();
        let by_hash = hashes.iter().enumerate().map(|(at, hash)| (*hash, at)).collect();
        Index { by_hash, hashes, stale: false }
    }

    /// With the ids that objects have now; `None` where objects came or went, or may
    /// share an id.
    fn refreshed(mut self, resources: &[Resource]) -> Option<Index> {
        if self.hashes.len() != resources.len() || self.by_hash.len() != resources.len() {
            return None;
        }
        let is_other = |at: &usize| resources[*at].id.hash() != self.hashes[*at];
        let changed: Vec<usize> = (0..resources.len()).filter(is_other).collect();
        for at in &changed {
            self.by_hash.remove(&self.hashes[*at]);
        }
        for at in changed {
            self.hashes[at] = resources[at].id.hash();
            if self.by_hash.insert(self.hashes[at], at).is_some() {
                return None;
            }
        }
        self.stale = false;
        Some(self)
    }
}

/// What a build notes on its way.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// Directories gone through, for the test for circles.
    pub(super) directories: BTreeSet<Arc<str>>,
    pub(super) files: BTreeSet<FilePath>,
    /// Files that were read for bases that are refused.
    pub(super) refused: BTreeSet<FilePath>,
    /// Whether a file may hold characters that change on their way out.
    pub(super) unusual: bool,
    pub(super) partial: Vec<Partial>,
    pub(super) warnings: Vec<Warning>,
    /// What was left out, with best effort.
    pub(super) left_out: Vec<BuildError>,
    /// Places of notes by their words: a build may leave out as much as it has.
    noted: FxHashMap<u64, Vec<usize>>,
}

impl Record {
    pub(super) fn read(&mut self, file: &TreeFile) {
        self.files.insert(file.file.name());
        self.unusual |= file.snapshot.blob(&file.file).is_ok_and(|blob| load::is_unusual(blob.bytes()));
    }

    /// All files that were read.
    pub(super) fn all_files(&self) -> impl Iterator<Item = &FilePath> {
        self.files.iter().chain(&self.refused)
    }

    pub(super) fn absorb(&mut self, other: &Record) {
        self.directories.extend(other.directories.iter().cloned());
        self.files.extend(other.files.iter().cloned());
        self.refused.extend(other.refused.iter().cloned());
        self.unusual |= other.unusual;
        for partial in &other.partial {
            self.note_partial(partial.clone());
        }
        for warning in &other.warnings {
            note(&mut self.noted, &mut self.warnings, (1, &warning.message), warning.clone());
        }
        for error in &other.left_out {
            self.note_left_out(error.clone());
        }
    }

    /// Note what is left out, once.
    fn note_partial(&mut self, partial: Partial) {
        note(&mut self.noted, &mut self.partial, (0, &partial.name.clone()), partial);
    }

    /// Note what was left out for an error, once.
    pub(super) fn note_left_out(&mut self, error: BuildError) {
        note(&mut self.noted, &mut self.left_out, (2, &error.message.clone()), error);
    }
}

/// Append what is not in a list; `words` and the list tell where equals may be.
fn note<T: PartialEq>(noted: &mut FxHashMap<u64, Vec<usize>>, list: &mut Vec<T>, words: (u8, &str), new: T) {
    let places = noted.entry(FxBuildHasher.hash_one(words)).or_default();
    if !places.iter().any(|at| list.get(*at) == Some(&new)) {
        places.push(list.len());
        list.push(new);
    }
}

/// One kustomization that is being built.
pub(super) struct BuildLevel {
    pub(super) directory: Arc<str>,
    pub(super) file: Kustomization,
    /// The components that it is part of, innermost first.
    pub(super) via: Vec<Via>,
    /// What its own objects are for the build.
    pub(super) role: FileRole,
    /// Its path from the root, where `buildMetadata` wants such paths.
    pub(super) origin: Option<String>,
}

impl BuildLevel {
    /// A path of this level from the root, where that is wanted.
    pub(super) fn origin_of(&self, path: &str) -> Option<String> {
        self.origin.as_deref().map(|origin| trace::join(origin, path))
    }
}

/// Reads and notes for one build.
pub(super) struct Builder<'b> {
    pub(super) tree: &'b FileTree,
    pub(super) tree_key: Arc<str>,
    pub(super) memo: &'b BaseMemo,
    pub(super) restriction: LoadRestriction,
    pub(super) links: Links,
    pub(super) best_effort: bool,
    pub(super) record: Record,
    pub(super) visits: usize,
    /// Bytes of texts that generators and transformers made so far.
    pub(super) copied: u64,
    pub(super) schemas: Schemas,
    /// Whether `buildMetadata` of the root asks where objects come from.
    pub(super) tracing: bool,
}

pub(super) fn too_large(location: Option<Location>) -> Box<BuildError> {
    let message = format!("this build comes to more than {} MiB", OUTPUT_LIMIT >> 20);
    BuildError::new(ErrorClass::Limit, message, location)
}

/// Two objects of one id at the end: kustomize panics there.
pub(super) fn require_unique(resources: &[Resource]) -> Result<()> {
    let mut known: FxHashMap<u64, &Resource> = FxHashMap::default();
    for resource in resources {
        if let Some(other) = known.insert(resource.id.hash(), resource)
            && other.id.equals(&resource.id)
        {
            return Err(same_id(resource, other));
        }
    }
    Ok(())
}

fn same_id(new: &Resource, known: &Resource) -> Box<BuildError> {
    let message = format!("{} is in this build twice", new.id);
    BuildError::new(ErrorClass::Id, message, new.location()).related("the other one", known.location())
}

impl Accumulator {
    /// Append objects; an error when an id is taken.
    pub(super) fn append(&mut self, new: Vec<Resource>) -> Result<()> {
        if self.resources.len() + new.len() > RESOURCE_LIMIT {
            let message = format!("this build has more than {RESOURCE_LIMIT} objects");
            return Err(BuildError::new(
                ErrorClass::Limit,
                message,
                new.first().and_then(Resource::location),
            ));
        }
        if self.index.stale {
            self.index = Index::of(&self.resources);
        }
        let (resources, index) = (&mut self.resources, &mut self.index);
        index.by_hash.reserve(new.len());
        index.hashes.reserve(new.len());
        resources.reserve(new.len());
        for resource in new {
            // What is refused leaves no trace: the rest of a build may go on without it.
            let hash = resource.id.hash();
            if let Some(at) = index.by_hash.get(&hash).copied() {
                let known = if resources[at].id.equals(&resource.id) {
                    resources.get(at)
                } else {
                    resources.iter().find(|known| known.id.equals(&resource.id))
                };
                if let Some(known) = known {
                    return Err(same_id(&resource, known));
                }
            }
            index.by_hash.insert(hash, resources.len());
            index.hashes.push(hash);
            resources.push(resource);
        }
        Ok(())
    }

    /// Hand the objects on as new ones; an error when two share an id.
    pub(super) fn handed_on(mut self) -> Result<Accumulator> {
        if let Some(index) = std::mem::take(&mut self.index).refreshed(&self.resources) {
            self.index = index;
            return Ok(self);
        }
        let mut known = FxHashMap::with_capacity_and_hasher(self.resources.len(), Default::default());
        for (at, resource) in self.resources.iter().enumerate() {
            if known.insert(resource.id.hash(), at).is_some() {
                let mut before = self.resources[..at].iter();
                if let Some(known) = before.find(|known| known.id.equals(&resource.id)) {
                    return Err(same_id(resource, known));
                }
            }
        }
        self.index = Index::of(&self.resources);
        Ok(self)
    }

    /// As what nothing is appended to.
    pub(super) fn without_index(mut self) -> Accumulator {
        self.index = Index { stale: true, ..Index::default() };
        self
    }

    /// Put an object in the place of another one.
    pub(super) fn replace(&mut self, at: usize, new: Resource) {
        self.index.stale |= self.resources[at].id.hash() != new.id.hash();
        self.resources[at] = new;
    }

    /// The objects, to be changed.
    pub(super) fn resources_mut(&mut self) -> &mut Vec<Resource> {
        self.index.stale = true;
        &mut self.resources
    }

    pub(super) fn resources(&self) -> &[Resource] {
        &self.resources
    }

    pub(super) fn merge_config(&mut self, other: &Arc<Config>, location: &Location) -> Result<()> {
        match &mut self.config {
            None => self.config = Some(other.clone()),
            Some(config) if Arc::ptr_eq(config, other) || config == other => {}
            Some(config) => Arc::make_mut(config)
                .merge(other)
                .map_err(|reason| BuildError::new(ErrorClass::FieldSpec, reason, Some(location.clone())))?,
        }
        Ok(())
    }
}

impl Builder<'_> {
    /// What an entry names.
    pub(super) fn find(&self, level: &BuildLevel, entry: &Text) -> Result<EntryTarget> {
        let path = &*entry.value;
        let error = |class, message: String| Err(BuildError::at(class, message, entry.node.get_ref()));
        if path.is_empty() {
            return error(ErrorClass::Path, "an empty path names nothing".to_owned());
        }
        let joined = if path.starts_with('/') { None } else { files::join(&level.directory, path) };
        let found = joined.as_deref().map(|joined| find(self.tree, self.links, joined));
        match found {
            Some(TreeEntry::File(file)) => Ok(EntryTarget::File(file)),
            _ if is_remote(path) => Ok(EntryTarget::Remote),
            Some(TreeEntry::Directory(directory)) => Ok(EntryTarget::Directory(directory)),
            Some(TreeEntry::Missing) => error(ErrorClass::Missing, format!("{path} doesn't exist")),
            Some(TreeEntry::Link) => error(
                ErrorClass::Missing,
                format!("{path} is behind a symbolic link; artifacts hold none, so it is missing"),
            ),
            Some(TreeEntry::Outside) | None => error(
                ErrorClass::Outside,
                format!("{path} lies outside of the tree that this build may read"),
            ),
        }
    }

    /// Read a file that a field names. The place is that of the field.
    ///
    /// # Errors
    /// Of the class [`ErrorClass::Remote`] for a file on another host: see [`unless_remote`].
    pub(super) fn read(&mut self, level: &BuildLevel, entry: &Text) -> Result<TreeFile> {
        match self.find(level, entry)? {
            EntryTarget::File(file) => {
                self.require_allowed(level, &file, entry)?;
                self.record.read(&file);
                Ok(file)
            }
            EntryTarget::Directory(_) => {
                let message = format!("{} is a directory; a file is wanted here", entry.value);
                Err(BuildError::at(ErrorClass::Path, message, entry.node.get_ref()))
            }
            EntryTarget::Remote => {
                self.omit(Omitted::RemoteChange, &entry.value, &entry.node);
                let message = format!("{} is on another host", entry.value);
                Err(BuildError::at(ErrorClass::Remote, message, entry.node.get_ref()))
            }
        }
    }

    /// As [`Builder::read`]; `None` for a file on another host, which is noted.
    pub(super) fn read_here(&mut self, level: &BuildLevel, entry: &Text) -> Result<Option<TreeFile>> {
        if let EntryTarget::Remote = self.find(level, entry)? {
            self.omit(Omitted::RemoteContent, &entry.value, &entry.node);
            return Ok(None);
        }
        self.read(level, entry).map(Some)
    }

    pub(super) fn require_allowed(&self, level: &BuildLevel, file: &TreeFile, entry: &Text) -> Result<()> {
        if self.restriction == LoadRestriction::None || level.directory.is_empty() {
            return Ok(());
        }
        match file.path.strip_prefix(&*level.directory) {
            Some(rest) if rest.starts_with('/') => Ok(()),
            _ => {
                let message =
                    format!("{} is not in or below the directory of this kustomization", entry.value);
                Err(BuildError::at(ErrorClass::Outside, message, entry.node.get_ref()))
            }
        }
    }

    /// The objects of a file.
    pub(super) fn objects_of(
        &mut self,
        file: &TreeFile,
        level: &BuildLevel,
        entry: &Text,
    ) -> Result<Vec<Resource>> {
        self.record.read(file);
        let place = TextPlace { via: level.via.clone(), ..TextPlace::default() };
        let documents = documents_of(file, &place)?;
        Ok(self.resources_of(load::objects(documents)?, level, level.origin_of(&entry.value)))
    }

    /// The objects that an inline entry holds.
    pub(super) fn inline_objects(&mut self, level: &BuildLevel, entry: &Text) -> Result<Vec<Resource>> {
        let stream = Arc::new(Stream::parse(&entry.value));
        let place =
            TextPlace { inside: Some(entry.node.clone()), via: level.via.clone(), ..TextPlace::default() };
        let path = load::file_of(entry.node.get_ref());
        let loaded = load::objects(load::documents(&path, &stream, &place)?)?;
        Ok(self.resources_of(loaded, level, level.origin_of(level.file.file_name)))
    }

    pub(super) fn resources_of(
        &mut self,
        loaded: Vec<Loaded>,
        level: &BuildLevel,
        origin: Option<String>,
    ) -> Vec<Resource> {
        let mut resources = Vec::with_capacity(loaded.len());
        for object in loaded {
            let location = object.node.get_ref().location();
            let mut resource = Resource::new(object.node, level.role, location);
            resource.defect = object.defect;
            resource.changes_in_passing = object.changes_in_passing;
            resource.traces = origin.as_deref().map(|path| Box::new(Traces::of_file(path)));
            if !resource.id.gvk.has_known_scope() {
                self.schemas.settle();
            }
            resources.push(resource);
        }
        resources
    }

    /// The tables of a level: the built-in ones and its files'.
    pub(super) fn configuration(&mut self, level: &BuildLevel) -> Result<Arc<Config>> {
        let file = &level.file;
        if file.configurations.is_empty() && file.crds.is_empty() {
            return Ok(Config::builtin().clone());
        }
        let mut config = (**Config::builtin()).clone();
        let entries = file.configurations.iter().map(|entry| (entry, false));
        for (entry, is_definitions) in entries.chain(file.crds.iter().map(|entry| (entry, true))) {
            let Some(source) = unless_remote(self.read(level, entry))? else { continue };
            let documents = documents_of(&source, &TextPlace::default())?;
            let Some(root) = documents.first() else { continue };
            let place = || entry.node.get_ref().location();
            let decoded = if is_definitions {
                config::definitions(root.get_ref())
            } else {
                config::configuration(root.get_ref())
            };
            let table = decoded.map_err(|error| error.from_here("named here", place()))?;
            config.merge(&table).map_err(|reason| BuildError::new(ErrorClass::FieldSpec, reason, place()))?;
        }
        Ok(Arc::new(config))
    }

    /// The schemas to merge with now.
    pub(super) fn schemas(&mut self) -> &Schemas {
        self.schemas.settle();
        &self.schemas
    }

    /// Heed `openapi` of a kustomization: the first of a build holds.
    pub(super) fn open_api(&mut self, level: &BuildLevel) -> Result<()> {
        let field = |name: &str| level.file.openapi.iter().find(|entry| &*entry.key == name);
        let fail =
            |message: &str, text: &Text| Err(BuildError::at(ErrorClass::Other, message, text.node.get_ref()));
        match (field("version"), field("path")) {
            (Some(version), Some(_)) => fail("`openapi` takes either a version or a path", &version.value),
            (Some(version), None) if &*version.value.value != "v1.21.2" => {
                fail("the only built-in OpenAPI version is v1.21.2", &version.value)
            }
            (None, Some(path)) => {
                let Some(file) = unless_remote(self.read(level, &path.value))? else { return Ok(()) };
                let documents = documents_of(&file, &TextPlace::default())?;
                match documents.into_iter().next() {
                    Some(root) => {
                        load::inspect(root.get_ref())?;
                        self.schemas.set(root);
                        Ok(())
                    }
                    None => fail("this OpenAPI file is empty", &path.value),
                }
            }
            _ => Ok(()),
        }
    }

    /// Note what is left out, where that is asked for.
    ///
    /// # Errors
    /// The same where it isn't, and what makes the whole build meaningless.
    pub(super) fn leave_out(&mut self, error: Box<BuildError>) -> Result<()> {
        if !self.best_effort || matches!(error.class, ErrorClass::Limit | ErrorClass::Path) {
            return Err(error);
        }
        self.record.note_left_out(*error);
        Ok(())
    }

    /// Append the hashes of contents to the names that want one.
    pub(super) fn add_hashes(&mut self, resources: &mut [Resource]) -> Result<()> {
        hash::add_suffixes(resources, &self.memo.hashes, &mut self.record.partial)
    }

    /// Note something that is left out.
    pub(super) fn omit(&mut self, what: Omitted, name: &str, node: &Node) {
        let partial = Partial { what, name: name.to_owned(), location: node.get_ref().location() };
        self.record.note_partial(partial);
    }

    /// Whether something was left out so far.
    pub(super) fn is_partial(&self) -> bool {
        !self.record.partial.is_empty() || !self.record.left_out.is_empty()
    }

    /// Note bytes of a text that is about to be made.
    pub(super) fn copy(&mut self, bytes: usize, at: NodeRef<'_>) -> Result<()> {
        self.copied += bytes as u64;
        if self.copied > OUTPUT_LIMIT { Err(too_large(at.location())) } else { Ok(()) }
    }

    /// Note something that does nothing.
    pub(super) fn warn(&mut self, kind: WarningKind, message: String, location: Option<Location>) {
        self.record.warnings.push(Warning { kind, message, location, near: None, by_labels: false });
    }

    /// The same for a selector that selects nothing, with what it nearly selects.
    pub(super) fn warn_unmatched(&mut self, selector: &Selector, resources: &[Resource]) {
        self.record.warnings.push(Warning {
            kind: WarningKind::UnmatchedPatchTarget,
            message: described(selector),
            location: selector.node.get_ref().location(),
            near: near_miss(selector, resources).map(Arc::from),
            by_labels: !selector.labels.is_empty() || !selector.annotations.is_empty(),
        });
    }
}

pub(super) enum EntryTarget {
    File(TreeFile),
    Directory(Arc<str>),
    Remote,
}

/// The documents of a file that kustomize reads.
pub(super) fn documents_of(file: &TreeFile, place: &TextPlace) -> Result<Vec<Node>> {
    match file.snapshot.stream(&file.file) {
        Some(stream) => load::documents(&file.file.name(), stream, place),
        None => {
            let message = "this file can't be read as text";
            Err(BuildError::new(ErrorClass::Yaml, message, Some(start_of(file))))
        }
    }
}

/// The beginning of a file.
pub(super) fn start_of(file: &TreeFile) -> Location {
    Location { file: file.file.name(), start: 0, end: 0, via: Vec::new() }
}

/// What was read; `None` for a file on another host, without which a build goes on: kustomize
/// fetches it (`api/internal/loader/fileloader.go`, `FileLoader.Load`).
pub(super) fn unless_remote<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Err(error) if error.class == ErrorClass::Remote => Ok(None),
        read => read.map(Some),
    }
}

/// Whether kustomize would look for a path on another host.
///
/// Mirrors `api/internal/git/repospec.go` (`parseHostSpec`).
fn is_remote(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let bare = lower.strip_prefix("git::").unwrap_or(&lower);
    let schemes = ["ssh://", "https://", "http://", "file://", "git://"];
    let user = bare.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && !user.contains(['/', '.']) && host.contains([':', '/'])
    });
    bare.len() < lower.len()
        || schemes.iter().any(|scheme| bare.starts_with(scheme))
        || bare.starts_with("github.com/")
        || bare.starts_with("github.com:")
        || bare.starts_with("gh:")
        || user && bare.contains(':')
}
