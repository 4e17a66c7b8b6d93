//! The recursion of a build: what a level accumulates and in which order its
//! parts run.
//!
//! Mirrors `api/internal/target/kusttarget.go`, `api/krusty/kustomizer.go` and
//! `api/internal/accumulator/resaccumulator.go`.

use super::config::{self, Config};
use super::decode::{Decoder, Text};
use super::error::{BuildError, Class, Omitted, Partial, Result};
use super::file::{self, FILE_NAMES, Kustomization, Var};
use super::load::{self, Loaded, Place};
use super::nodes;
use super::order::{self, Order};
use super::resource::{Resource, Role, Traces};
use super::schema::Schemas;
use super::tree::{Found, Links, TreeFile, find};
use super::{Build, OUTPUT_LIMIT, Warning, WarningKind};
use super::{generate, hash, nameref, patch, plugin, replacement, trace, transform, vars};
use crate::repo::{self, FileTree};
use crate::yaml::{Location, Node, NodeRef, Sizes, Stream, Via, ViaKind};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// How to build.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which files a kustomization may name.
    pub load_restriction: LoadRestriction,
    /// What happens at symbolic links.
    pub links: Links,
    /// The output's order where the root file has no `sortOptions`.
    pub order: Order,
    /// How the root file is read.
    pub root: RootFile,
}

impl Options {
    /// As `kustomize build --load-restrictor LoadRestrictionsNone` does.
    pub fn command_line() -> Options {
        Options {
            load_restriction: LoadRestriction::None,
            links: Links::Follow,
            order: Order::Legacy,
            root: RootFile::Strict,
        }
    }
}

/// Which files a kustomization may name, apart from directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadRestriction {
    /// Those in or below its own directory.
    RootOnly,
    /// Any in the tree.
    None,
}

/// How the root file is read.
#[derive(Clone, Debug)]
pub enum RootFile {
    /// As it is, unknown fields being errors.
    Strict,
    /// As Flux rewrites it: unknown fields dropped, fields injected.
    Rewritten(Box<Rewrite>),
}

/// What Flux writes into the root file. Values are nodes of the Flux object, so
/// that what they set is located there.
///
/// Mirrors `fluxcd/pkg/kustomize/kustomize_generator.go` (`WriteFile`).
#[derive(Clone, Debug, Default)]
pub struct Rewrite {
    /// Paths of the resources where the directory has no kustomization file.
    pub generated: Option<Vec<String>>,
    /// `spec.targetNamespace`; replaces the file's.
    pub namespace: Option<Node>,
    /// `spec.namePrefix`; replaces the file's.
    pub name_prefix: Option<Node>,
    /// `spec.nameSuffix`; replaces the file's.
    pub name_suffix: Option<Node>,
    /// `spec.patches`; come after the file's.
    pub patches: Option<Node>,
    /// Entries of `spec.components` that are to be used; come after the file's.
    pub components: Vec<Node>,
    /// `spec.images`; replace the fields of the file's entry of the same name.
    pub images: Option<Node>,
    /// `spec.buildMetadata`; replaces the file's.
    pub build_metadata: Option<Node>,
}

/// Levels below each other that are followed.
const DEPTH_LIMIT: usize = 100;
/// Objects of one build.
const RESOURCE_LIMIT: usize = 25_000;
/// Directories that one build may go through, each as often as it is named.
const VISIT_LIMIT: usize = 100_000;

/// Results of bases, shared by builds of trees of one snapshot.
#[derive(Debug, Default)]
pub struct Memo {
    bases: Mutex<FxHashMap<BaseKey, Base>>,
}

/// A tree's key and the rules that it is read by; a directory.
type BaseKey = (Arc<str>, LoadRestriction, Links, Arc<str>);

type Base = std::result::Result<Arc<Accumulated>, Arc<BuildError>>;

/// What a base brings up, finished.
#[derive(Clone, Debug)]
struct Accumulated {
    level: Accumulator,
    record: Record,
}

/// Objects of a level and what belongs to them.
#[derive(Clone, Debug, Default)]
pub(super) struct Accumulator {
    resources: Vec<Resource>,
    /// Positions by id, where no transformer ran since it was made.
    index: Option<FxHashMap<u64, usize>>,
    pub config: Option<Arc<Config>>,
    vars: Vec<Var>,
}

/// What a build notes on its way.
#[derive(Clone, Debug, Default)]
struct Record {
    /// Directories gone through, for the test for circles.
    directories: BTreeSet<Arc<str>>,
    files: BTreeSet<Arc<str>>,
    /// Whether a file may hold characters that change on their way out.
    unusual: bool,
    partial: Vec<Partial>,
    warnings: Vec<Warning>,
}

impl Record {
    fn read(&mut self, file: &TreeFile) {
        self.files.insert(file.file.path.clone());
        self.unusual |= file.snapshot.blob(&file.file).is_ok_and(|blob| load::is_unusual(&blob.bytes));
    }

    fn absorb(&mut self, other: &Record) {
        self.directories.extend(other.directories.iter().cloned());
        self.files.extend(other.files.iter().cloned());
        self.unusual |= other.unusual;
        for partial in &other.partial {
            if !self.partial.contains(partial) {
                self.partial.push(partial.clone());
            }
        }
        for warning in &other.warnings {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
    }
}

/// The directories that are being built, innermost first.
#[derive(Clone, Copy)]
pub(super) struct Chain<'c> {
    directory: &'c str,
    up: Option<&'c Chain<'c>>,
    depth: usize,
}

impl Chain<'_> {
    /// A directory on the chain that is the candidate or lies below it.
    fn visited(&self, candidate: &str) -> Option<&str> {
        let below = candidate.is_empty()
            || self.directory == candidate
            || self.directory.strip_prefix(candidate).is_some_and(|rest| rest.starts_with('/'));
        if below { Some(self.directory) } else { self.up.and_then(|up| up.visited(candidate)) }
    }
}

/// One kustomization that is being built.
pub(super) struct Level {
    /// Its directory.
    pub directory: Arc<str>,
    /// Its file.
    pub file: Kustomization,
    /// The components that it is part of, innermost first.
    pub via: Vec<Via>,
    /// What its own objects are for the build.
    pub role: Role,
    /// Its path from the root, where `buildMetadata` wants such paths.
    pub origin: Option<String>,
}

impl Level {
    /// A path of this level from the root, where that is wanted.
    pub(super) fn origin_of(&self, path: &str) -> Option<String> {
        self.origin.as_deref().map(|origin| trace::join(origin, path))
    }
}

/// Reads and notes for one build.
pub(super) struct Builder<'b> {
    tree: &'b FileTree,
    tree_key: Arc<str>,
    memo: &'b Memo,
    restriction: LoadRestriction,
    links: Links,
    record: Record,
    visits: usize,
    /// Bytes of texts that generators and transformers made so far.
    copied: u64,
    schemas: Schemas,
    /// Whether `buildMetadata` of the root asks where objects come from.
    tracing: bool,
}

/// See [`super::build`].
pub(super) fn build(tree: &FileTree, dir: &str, options: &Options, memo: &Memo) -> Result<Build> {
    let mut builder = Builder {
        tree,
        tree_key: tree.key().into(),
        memo,
        restriction: options.load_restriction,
        links: options.links,
        record: Record::default(),
        visits: 0,
        copied: 0,
        schemas: match options.root {
            RootFile::Strict => Schemas::default(),
            RootFile::Rewritten(_) => Schemas::preloaded(),
        },
        tracing: false,
    };
    let directory: Arc<str> = match repo::join("", dir).map(|path| find(tree, options.links, &path)) {
        Some(Found::Directory(directory)) => directory,
        Some(Found::File(_)) => {
            let message = format!("{dir} is a file; kustomize builds directories");
            return Err(BuildError::new(Class::Path, message, None));
        }
        _ => {
            let message = format!("the directory {dir} doesn't exist");
            return Err(BuildError::new(Class::Path, message, None));
        }
    };
    let file = match &options.root {
        RootFile::Strict => builder.kustomization(&directory, true)?,
        RootFile::Rewritten(rewrite) => builder.rewritten(&directory, rewrite)?,
    };
    builder.tracing = !file.build_metadata.is_empty();
    let origin = builder.tracing.then(String::new);
    let level = Level { directory: directory.clone(), file, via: Vec::new(), role: Role::Resource, origin };
    builder.open_api(&level)?;
    let chain = Chain { directory: &directory, up: None, depth: 0 };
    let mut accumulator = builder.accumulate(&level, chain, Accumulator::default())?;

    let config = accumulator.config.clone().unwrap_or_else(|| Config::builtin().clone());
    let mut resources = std::mem::take(accumulator.resources_mut());
    builder.add_hashes(&mut resources)?;
    nameref::fix(&mut resources, &config)?;
    vars::resolve(&accumulator.vars, &config, &mut resources)?;
    resources.retain(|resource| !resource.is_local_config());
    require_unique(&resources)?;
    order::sort(&mut resources, level.file.sort_options.as_ref(), options.order)?;
    trace::finish(&level.file, &mut resources)?;
    let record = builder.record;
    for resource in &mut resources {
        finish(resource, record.unusual)?;
    }
    let size = written_size(&resources)?;
    Ok(Build {
        resources,
        size,
        partial: record.partial,
        files_read: record.files.into_iter().collect(),
        warnings: record.warnings,
    })
}

/// See [`super::check_resource`].
pub(super) fn check_resource(tree: &FileTree, directory: &str, path: &str, memo: &Memo) -> Result<()> {
    let mut builder = Builder {
        tree,
        tree_key: tree.key().into(),
        memo,
        restriction: LoadRestriction::None,
        links: Links::Absent,
        record: Record::default(),
        visits: 0,
        copied: 0,
        schemas: Schemas::preloaded(),
        tracing: false,
    };
    match repo::join(directory, path).map(|full| find(tree, Links::Absent, &full)) {
        Some(Found::File(file)) => load::objects(documents_of(&file, &Place::default())?).map(drop),
        Some(Found::Directory(inner)) => {
            let entry = Text { value: path.into(), node: Node::string(path, None) };
            builder.base(&inner, Chain { directory, up: None, depth: 0 }, &entry, None).map(drop)
        }
        _ => Ok(()),
    }
}

/// The last test of an object: whether it can be written. `unusual`: whether it
/// may hold characters that can't.
fn finish(resource: &mut Resource, unusual: bool) -> Result<()> {
    if resource.changes_in_passing || unusual {
        nodes::rewrite(&mut resource.node, &mut |scalar, in_flow| nodes::passed(scalar, in_flow));
    }
    if unusual {
        load::require_readable(resource.node.get_ref())?;
    }
    if resource.defect.is_none() && resource.suspect {
        resource.defect = load::inspect(resource.node.get_ref())?;
    }
    match &resource.defect {
        Some(defect) => {
            let mut error = (**defect).clone();
            error.location = error.location.or_else(|| resource.location());
            Err(Box::new(error))
        }
        None => Ok(()),
    }
}

/// About how many bytes the objects take when they are written.
fn written_size(resources: &[Resource]) -> Result<u64> {
    let mut sizes = Sizes::default();
    let mut total: u64 = 0;
    for resource in resources {
        total = total.saturating_add(sizes.of(resource.node.get_ref()));
        if total > OUTPUT_LIMIT {
            return Err(too_large(resource.location()));
        }
    }
    Ok(total)
}

fn too_large(location: Option<Location>) -> Box<BuildError> {
    let message = format!("this build comes to more than {} MiB", OUTPUT_LIMIT >> 20);
    BuildError::new(Class::Limit, message, location)
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
    BuildError::new(Class::Id, message, new.location()).related("the other one", known.location())
}

impl Accumulator {
    /// Append objects; an error when an id is taken.
    pub(super) fn append(&mut self, new: Vec<Resource>) -> Result<()> {
        if self.resources.len() + new.len() > RESOURCE_LIMIT {
            let message = format!("this build has more than {RESOURCE_LIMIT} objects");
            return Err(BuildError::new(Class::Limit, message, new.first().and_then(Resource::location)));
        }
        let resources = &mut self.resources;
        let index = self.index.get_or_insert_with(|| {
            resources.iter().enumerate().map(|(at, resource)| (resource.id.hash(), at)).collect()
        });
        resources.reserve(new.len());
        for resource in new {
            if let Some(at) = index.insert(resource.id.hash(), resources.len()) {
                let known = if resources[at].id.equals(&resource.id) {
                    resources.get(at)
                } else {
                    resources.iter().find(|known| known.id.equals(&resource.id))
                };
                if let Some(known) = known {
                    return Err(same_id(&resource, known));
                }
            }
            resources.push(resource);
        }
        Ok(())
    }

    /// The objects, to be changed.
    pub(super) fn resources_mut(&mut self) -> &mut Vec<Resource> {
        self.index = None;
        &mut self.resources
    }

    /// The objects.
    pub(super) fn resources(&self) -> &[Resource] {
        &self.resources
    }

    fn merge_config(&mut self, other: &Arc<Config>, location: &Location) -> Result<()> {
        match &mut self.config {
            None => self.config = Some(other.clone()),
            Some(config) if Arc::ptr_eq(config, other) || config == other => {}
            Some(config) => Arc::make_mut(config)
                .merge(other)
                .map_err(|reason| BuildError::new(Class::FieldSpec, reason, Some(location.clone())))?,
        }
        Ok(())
    }
}

impl Builder<'_> {
    /// Decode the kustomization file of a directory.
    fn kustomization(&mut self, directory: &str, strict: bool) -> Result<Kustomization> {
        let mut found: Vec<(&'static str, TreeFile)> = Vec::new();
        for name in FILE_NAMES {
            if let Some(path) = repo::join(directory, name)
                && let Found::File(file) = find(self.tree, self.links, &path)
            {
                found.push((name, file));
            }
        }
        match &found[..] {
            [] => {
                let place = if directory.is_empty() { "the root" } else { directory };
                let message = format!("{place} has no kustomization.yaml");
                Err(BuildError::new(Class::KustomizationFile, message, None))
            }
            [(name, file)] => {
                self.record.read(file);
                decode_file(name, file, strict)
            }
            [(_, first), (_, second), ..] => {
                let message = "this directory has several kustomization files; kustomize takes one";
                Err(BuildError::new(Class::KustomizationFile, message, Some(start_of(first)))
                    .related("another one", Some(start_of(second))))
            }
        }
    }

    /// The root file as Flux rewrites it.
    fn rewritten(&mut self, directory: &str, rewrite: &Rewrite) -> Result<Kustomization> {
        let decoder = Decoder::lenient(Class::KustomizationFile);
        let mut file = match &rewrite.generated {
            None => self.kustomization(directory, false)?,
            Some(entries) => {
                let path: Arc<str> = repo::join(directory, FILE_NAMES[0]).unwrap_or_default().into();
                let location = Location { path, start: 0, end: 0, via: Vec::new() };
                let mut file = Kustomization::empty(location.clone(), FILE_NAMES[0]);
                file.resources = entries
                    .iter()
                    .map(|entry| Text {
                        value: entry.as_str().into(),
                        node: Node::string(entry, Some(location.clone())),
                    })
                    .collect();
                file
            }
        };
        let text = |node: &Option<Node>| match node {
            Some(node) => decoder.text(node.get_ref()).map(|text| text.filter(|text| !text.value.is_empty())),
            None => Ok(None),
        };
        file.namespace = text(&rewrite.namespace)?.or(file.namespace);
        file.name_prefix = text(&rewrite.name_prefix)?.or(file.name_prefix);
        file.name_suffix = text(&rewrite.name_suffix)?.or(file.name_suffix);
        if let Some(patches) = &rewrite.patches {
            file.patches.extend(decoder.list(patches.get_ref(), |item| file::patch(decoder, item))?);
        }
        for component in &rewrite.components {
            file.components.extend(decoder.text(component.get_ref())?);
        }
        if let Some(images) = &rewrite.images {
            for image in decoder.list(images.get_ref(), |item| file::image(decoder, item))? {
                match file.images.iter_mut().find(|known| known.name == image.name) {
                    Some(known) => {
                        known.new_name = image.new_name.or(known.new_name.take());
                        if image.new_tag.is_some() || image.digest.is_some() {
                            known.new_tag = image.new_tag;
                            known.digest = image.digest;
                        }
                        known.node = image.node;
                    }
                    None => file.images.push(image),
                }
            }
        }
        match &rewrite.build_metadata {
            Some(metadata) => file.build_metadata = decoder.texts(metadata.get_ref())?,
            // Flux asks for origins wherever an existing file has no resources.
            None if rewrite.generated.is_none() && file.resources.is_empty() => {
                let node = Node::string("originAnnotations", Some(file.location.clone()));
                file.build_metadata = vec![Text { value: "originAnnotations".into(), node }];
            }
            None => {}
        }
        Ok(file)
    }

    /// Build a level onto what is accumulated: nothing for a kustomization, the
    /// parent's objects for a component.
    fn accumulate(
        &mut self,
        level: &Level,
        chain: Chain<'_>,
        mut accumulator: Accumulator,
    ) -> Result<Accumulator> {
        self.record.directories.insert(level.directory.clone());
        for entry in &level.file.resources {
            self.resource(level, chain, entry, &mut accumulator)?;
        }
        let own = self.configuration(level)?;
        accumulator.merge_config(&own, &level.file.location)?;
        generate::run(self, level, &mut accumulator)?;
        for (name, node) in &level.file.charts {
            self.omit(Omitted::Helm, name, node);
        }
        plugin::generators(self, level, chain, &mut accumulator)?;
        for entry in &level.file.components {
            accumulator = self.component(level, chain, entry, accumulator)?;
        }
        self.transform(level, &mut accumulator)?;
        plugin::transformers(self, level, chain, accumulator.resources_mut())?;
        plugin::validators(self, level, chain, accumulator.resources_mut())?;
        let Accumulator { vars: known, resources, .. } = &mut accumulator;
        vars::register(known, &level.file.vars, resources)?;
        Ok(accumulator)
    }

    /// Run the built-in transformers in their order, whatever the file's.
    fn transform(&mut self, level: &Level, accumulator: &mut Accumulator) -> Result<()> {
        let config = accumulator.config.clone().unwrap_or_else(|| Config::builtin().clone());
        let file = &level.file;
        let resources = accumulator.resources_mut();
        if !file.patches_strategic_merge.is_empty() {
            patch::strategic_merges(self, level, &file.patches_strategic_merge, None, resources)?;
            self.trace(level, "PatchStrategicMergeTransformer", resources);
        }
        for patch in &file.patches {
            patch::apply(self, level, patch, resources)?;
            resources.retain(|resource| !nodes::is_empty(Some(resource.node.get_ref())));
            self.trace(level, "PatchTransformer", resources);
        }
        let filled = |text: &Option<Text>| text.as_ref().is_some_and(|text| !text.value.is_empty());
        if filled(&file.namespace) {
            transform::namespace(file, &config, resources)?;
            self.trace(level, "NamespaceTransformer", resources);
        }
        if filled(&file.name_prefix) {
            transform::name_prefix(file, &config, resources)?;
            self.trace(level, "PrefixTransformer", resources);
        }
        if filled(&file.name_suffix) {
            transform::name_suffix(file, &config, resources)?;
            self.trace(level, "SuffixTransformer", resources);
        }
        for entry in &file.labels {
            transform::labels(entry, &config, resources)?;
            self.trace(level, "LabelTransformer", resources);
        }
        // Beside `labels`, kustomize runs the transformer of `commonLabels` even where
        // there are none, and `buildMetadata` tells so.
        if !file.common_labels.is_empty() || !file.labels.is_empty() {
            transform::set_pairs(&file.common_labels, &config.common_labels, resources)?;
            self.trace(level, "LabelTransformer", resources);
        }
        if !file.common_annotations.is_empty() {
            transform::set_pairs(&file.common_annotations, &config.common_annotations, resources)?;
            self.trace(level, "AnnotationsTransformer", resources);
        }
        for patch in &file.patches_json6902 {
            patch::apply_json6902(self, level, patch, resources)?;
            self.trace(level, "PatchJson6902Transformer", resources);
        }
        for replica in &file.replicas {
            transform::set_replicas(replica, &config.replicas, resources)?;
            self.trace(level, "ReplicaCountTransformer", resources);
        }
        for image in &file.images {
            if !transform::set_image(image, &config.images, resources)? {
                let message = format!("`images` names {}, which no container here runs", image.name);
                self.warn(WarningKind::UnmatchedImage, message, image.node.get_ref().location());
            }
            self.trace(level, "ImageTagTransformer", resources);
        }
        if !file.replacements.is_empty() {
            replacement::replacements(self, level, &file.replacements, resources)?;
            self.trace(level, "ReplacementTransformer", resources);
        }
        Ok(())
    }

    /// Add what an entry of `resources` names.
    pub(super) fn resource(
        &mut self,
        level: &Level,
        chain: Chain<'_>,
        entry: &Text,
        accumulator: &mut Accumulator,
    ) -> Result<()> {
        let from_entry =
            |error: Box<BuildError>| error.from_here("named here", entry.node.get_ref().location());
        match self.find(level, entry)? {
            Target::File(file) => {
                self.require_allowed(level, &file, entry)?;
                let loaded = self.objects_of(&file, level, entry).map_err(from_entry)?;
                accumulator.append(loaded).map_err(from_entry)
            }
            Target::Directory(directory) => {
                let origin = level.origin_of(&entry.value);
                let base = self.base(&directory, chain, entry, origin).map_err(from_entry)?;
                let mut resources = base.level.resources().to_vec();
                for resource in &mut resources {
                    if let Some(first) = resource.files.first_mut()
                        && first.role == Role::Resource
                    {
                        first.role = Role::Base;
                    }
                }
                accumulator.append(resources).map_err(from_entry)?;
                vars::absorb(&mut accumulator.vars, &base.level.vars)?;
                match &base.level.config {
                    Some(config) => accumulator.merge_config(config, &level.file.location),
                    None => Ok(()),
                }
            }
            Target::Remote => {
                self.omit(Omitted::Remote, &entry.value, &entry.node);
                Ok(())
            }
        }
    }

    fn component(
        &mut self,
        level: &Level,
        chain: Chain<'_>,
        entry: &Text,
        accumulator: Accumulator,
    ) -> Result<Accumulator> {
        let place = entry.node.get_ref().location();
        let from_entry = |error: Box<BuildError>| error.from_here("used here", place.clone());
        let directory = match self.find(level, entry)? {
            Target::Directory(directory) => directory,
            Target::File(_) => {
                let message = format!("a component is a directory; {} is a file", entry.value);
                return Err(BuildError::new(Class::Path, message, place));
            }
            Target::Remote => {
                self.omit(Omitted::Remote, &entry.value, &entry.node);
                return Ok(accumulator);
            }
        };
        let below = self.enter(&directory, chain, entry)?;
        let file = self.kustomization(&directory, true).map_err(from_entry)?;
        let origin = level.origin_of(&entry.value);
        let inner =
            Level { directory: directory.clone(), file, via: Vec::new(), role: Role::Component, origin };
        self.open_api(&inner)?;
        let Level { file, origin, .. } = inner;
        if !file.component {
            let message = format!("{} is a Kustomization; `components` takes Components", entry.value);
            return Err(BuildError::new(Class::KustomizationFile, message, place)
                .related("its file", Some(file.location)));
        }
        let mut via = Vec::new();
        if let Some(location) = place.clone() {
            via.push(Via { kind: ViaKind::Component, location });
        }
        via.extend(level.via.iter().cloned());
        let inner = Level { directory: directory.clone(), file, via, role: Role::Component, origin };
        let chain = Chain { directory: &directory, up: Some(&chain), depth: below };
        let result = self.accumulate(&inner, chain, accumulator).map_err(from_entry)?;
        let Accumulator { resources, config, vars, .. } = result;
        let mut merged = Accumulator { config, vars, ..Accumulator::default() };
        merged.append(resources).map_err(from_entry)?;
        Ok(merged)
    }

    /// A base, built once per tree.
    fn base(
        &mut self,
        directory: &Arc<str>,
        chain: Chain<'_>,
        entry: &Text,
        origin: Option<String>,
    ) -> Result<Arc<Accumulated>> {
        let depth = self.enter(directory, chain, entry)?;
        let key = (self.tree_key.clone(), self.restriction, self.links, directory.clone());
        let cache = self.memo;
        // Traces and schemas belong to one build.
        let own = self.tracing || self.schemas.is_custom();
        let known = if own {
            None
        } else {
            cache.bases.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
        };
        let base = match known {
            Some(base) => base,
            None => {
                let outer = std::mem::take(&mut self.record);
                let inner = Chain { directory, up: Some(&chain), depth };
                let result = self.build_base(directory, inner, origin);
                let record = std::mem::replace(&mut self.record, outer);
                let base: Base = match result {
                    Ok(level) => Ok(Arc::new(Accumulated { level, record })),
                    Err(error) => Err(Arc::new(*error)),
                };
                // A circle is one of the whole chain, not of the base.
                let circular =
                    matches!(&base, Err(error) if matches!(error.class, Class::Path | Class::Limit));
                if circular || own || self.schemas.is_custom() {
                    base
                } else {
                    // Another thread may have come first: all take its nodes.
                    let mut bases = cache.bases.lock().unwrap_or_else(PoisonError::into_inner);
                    bases.entry(key).or_insert(base).clone()
                }
            }
        };
        match base {
            Err(error) => Err(Box::new((*error).clone())),
            Ok(accumulated) => {
                for inner in &accumulated.record.directories {
                    if **inner != **directory
                        && let Some(visited) = chain.visited(inner)
                    {
                        return Err(circle(inner, visited, entry));
                    }
                }
                self.record.absorb(&accumulated.record);
                Ok(accumulated)
            }
        }
    }

    fn build_base(
        &mut self,
        directory: &Arc<str>,
        chain: Chain<'_>,
        origin: Option<String>,
    ) -> Result<Accumulator> {
        let file = self.kustomization(directory, true)?;
        let level =
            Level { directory: directory.clone(), file, via: Vec::new(), role: Role::Resource, origin };
        self.open_api(&level)?;
        let file = &level.file;
        if file.component {
            let message = "a Component can't be a resource; list it under `components`";
            return Err(BuildError::new(Class::KustomizationFile, message, Some(file.location.clone())));
        }
        self.accumulate(&level, chain, Accumulator::default())
    }

    /// Test that a directory may be gone into; its depth.
    fn enter(&mut self, directory: &str, chain: Chain<'_>, entry: &Text) -> Result<usize> {
        if let Some(visited) = chain.visited(directory) {
            return Err(circle(directory, visited, entry));
        }
        self.visits += 1;
        let place = entry.node.get_ref().location();
        if chain.depth >= DEPTH_LIMIT {
            let message = format!("bases lie more than {DEPTH_LIMIT} levels deep");
            return Err(BuildError::new(Class::Limit, message, place));
        }
        if self.visits > VISIT_LIMIT {
            let message = format!("this build goes through more than {VISIT_LIMIT} directories");
            return Err(BuildError::new(Class::Limit, message, place));
        }
        Ok(chain.depth + 1)
    }

    /// What an entry names.
    fn find(&self, level: &Level, entry: &Text) -> Result<Target> {
        let path = &*entry.value;
        let error = |class, message: String| Err(BuildError::at(class, message, entry.node.get_ref()));
        if path.is_empty() {
            return error(Class::Path, "an empty path names nothing".to_owned());
        }
        let joined = if path.starts_with('/') { None } else { repo::join(&level.directory, path) };
        let found = joined.as_deref().map(|joined| find(self.tree, self.links, joined));
        match found {
            Some(Found::File(file)) => Ok(Target::File(file)),
            _ if is_remote(path) => Ok(Target::Remote),
            Some(Found::Directory(directory)) => Ok(Target::Directory(directory)),
            Some(Found::Missing) => error(Class::Missing, format!("{path} doesn't exist")),
            Some(Found::Link) => error(
                Class::Missing,
                format!("{path} is behind a symbolic link; artifacts hold none, so it is missing"),
            ),
            Some(Found::Outside) | None => {
                error(Class::Outside, format!("{path} lies outside of the tree that this build may read"))
            }
        }
    }

    /// Read a file that a field names. The place is that of the field.
    pub(super) fn read(&mut self, level: &Level, entry: &Text) -> Result<TreeFile> {
        match self.find(level, entry)? {
            Target::File(file) => {
                self.require_allowed(level, &file, entry)?;
                self.record.read(&file);
                Ok(file)
            }
            Target::Directory(_) => {
                let message = format!("{} is a directory; a file is wanted here", entry.value);
                Err(BuildError::at(Class::Path, message, entry.node.get_ref()))
            }
            Target::Remote => {
                self.omit(Omitted::Remote, &entry.value, &entry.node);
                let message = format!("{} is on another host", entry.value);
                Err(BuildError::at(Class::Path, message, entry.node.get_ref()))
            }
        }
    }

    /// As [`Builder::read`]; `None` for a file on another host, which is noted.
    pub(super) fn read_here(&mut self, level: &Level, entry: &Text) -> Result<Option<TreeFile>> {
        if let Target::Remote = self.find(level, entry)? {
            self.omit(Omitted::Remote, &entry.value, &entry.node);
            return Ok(None);
        }
        self.read(level, entry).map(Some)
    }

    fn require_allowed(&self, level: &Level, file: &TreeFile, entry: &Text) -> Result<()> {
        if self.restriction == LoadRestriction::None || level.directory.is_empty() {
            return Ok(());
        }
        match file.path.strip_prefix(&*level.directory) {
            Some(rest) if rest.starts_with('/') => Ok(()),
            _ => {
                let message =
                    format!("{} is not in or below the directory of this kustomization", entry.value);
                Err(BuildError::at(Class::Outside, message, entry.node.get_ref()))
            }
        }
    }

    /// The objects of a file.
    fn objects_of(&mut self, file: &TreeFile, level: &Level, entry: &Text) -> Result<Vec<Resource>> {
        self.record.read(file);
        let place = Place { via: level.via.clone(), ..Place::default() };
        let documents = documents_of(file, &place)?;
        Ok(self.resources_of(load::objects(documents)?, level, level.origin_of(&entry.value)))
    }

    /// The objects that an inline entry holds.
    pub(super) fn inline_objects(&mut self, level: &Level, entry: &Text) -> Result<Vec<Resource>> {
        let stream = Arc::new(Stream::parse(&entry.value));
        let place = Place { inside: Some(entry.node.clone()), via: level.via.clone(), ..Place::default() };
        let path = load::path_of(entry.node.get_ref());
        let loaded = load::objects(load::documents(&path, &stream, &place)?)?;
        Ok(self.resources_of(loaded, level, level.origin_of(level.file.file_name)))
    }

    fn resources_of(&mut self, loaded: Vec<Loaded>, level: &Level, origin: Option<String>) -> Vec<Resource> {
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
    fn configuration(&mut self, level: &Level) -> Result<Arc<Config>> {
        let file = &level.file;
        if file.configurations.is_empty() && file.crds.is_empty() {
            return Ok(Config::builtin().clone());
        }
        let mut config = (**Config::builtin()).clone();
        let entries = file.configurations.iter().map(|entry| (entry, false));
        for (entry, is_definitions) in entries.chain(file.crds.iter().map(|entry| (entry, true))) {
            let source = self.read(level, entry)?;
            let documents = documents_of(&source, &Place::default())?;
            let Some(root) = documents.first() else { continue };
            let place = || entry.node.get_ref().location();
            let decoded = if is_definitions {
                config::definitions(root.get_ref())
            } else {
                config::configuration(root.get_ref())
            };
            let table = decoded.map_err(|error| error.from_here("named here", place()))?;
            config.merge(&table).map_err(|reason| BuildError::new(Class::FieldSpec, reason, place()))?;
        }
        Ok(Arc::new(config))
    }

    /// The schemas to merge with now.
    pub(super) fn schemas(&mut self) -> &Schemas {
        self.schemas.settle();
        &self.schemas
    }

    /// Heed `openapi` of a kustomization: the first of a build holds.
    fn open_api(&mut self, level: &Level) -> Result<()> {
        let field = |name: &str| level.file.openapi.iter().find(|entry| &*entry.key == name);
        let fail =
            |message: &str, text: &Text| Err(BuildError::at(Class::Other, message, text.node.get_ref()));
        match (field("version"), field("path")) {
            (Some(version), Some(_)) => fail("`openapi` takes either a version or a path", &version.value),
            (Some(version), None) if &*version.value.value != "v1.21.2" => {
                fail("the only built-in OpenAPI version is v1.21.2", &version.value)
            }
            (None, Some(path)) => {
                let file = self.read(level, &path.value)?;
                let documents = documents_of(&file, &Place::default())?;
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

    /// Append the hashes of contents to the names that want one.
    pub(super) fn add_hashes(&mut self, resources: &mut [Resource]) -> Result<()> {
        hash::add_suffixes(resources, &mut self.record.partial)
    }

    /// Note a built-in transformer of a level in all objects.
    fn trace(&mut self, level: &Level, kind: &str, resources: &mut [Resource]) {
        if let Some(place) = level.origin_of(level.file.file_name) {
            trace::transformed(&trace::configured(&place, "builtin", kind, "", ""), resources);
        }
    }

    /// Note something that is left out.
    pub(super) fn omit(&mut self, what: Omitted, name: &str, node: &Node) {
        let partial = Partial { what, name: name.to_owned(), location: node.get_ref().location() };
        if !self.record.partial.contains(&partial) {
            self.record.partial.push(partial);
        }
    }

    /// Whether something was left out so far.
    pub(super) fn is_partial(&self) -> bool {
        !self.record.partial.is_empty()
    }

    /// Note bytes of a text that is about to be made.
    pub(super) fn copy(&mut self, bytes: usize, at: NodeRef<'_>) -> Result<()> {
        self.copied += bytes as u64;
        if self.copied > OUTPUT_LIMIT { Err(too_large(at.location())) } else { Ok(()) }
    }

    /// Note something that does nothing.
    pub(super) fn warn(&mut self, kind: WarningKind, message: String, location: Option<Location>) {
        self.record.warnings.push(Warning { kind, message, location });
    }
}

enum Target {
    File(TreeFile),
    Directory(Arc<str>),
    Remote,
}

/// The documents of a file that kustomize reads.
pub(super) fn documents_of(file: &TreeFile, place: &Place) -> Result<Vec<Node>> {
    match file.snapshot.stream(&file.file) {
        Some(stream) => load::documents(&file.file.path, stream, place),
        None => {
            let message = "this file can't be read as text";
            Err(BuildError::new(Class::Yaml, message, Some(start_of(file))))
        }
    }
}

/// The beginning of a file.
pub(super) fn start_of(file: &TreeFile) -> Location {
    Location { path: file.file.path.clone(), start: 0, end: 0, via: Vec::new() }
}

fn decode_file(name: &'static str, file: &TreeFile, strict: bool) -> Result<Kustomization> {
    let location = start_of(file);
    let Some(stream) = file.snapshot.stream(&file.file) else {
        let message = "this kustomization file can't be read as text";
        return Err(BuildError::new(Class::KustomizationFile, message, Some(location)));
    };
    if let Some(error) = stream.errors.first().filter(|error| error.document == 0) {
        let place = Location { start: error.offset, end: error.offset, ..location };
        let message = format!("not valid YAML: {}", error.message);
        return Err(BuildError::new(Class::KustomizationFile, message, Some(place)));
    }
    let root = file.sources().iter().find(|source| !source.document().tokens.is_empty());
    let root = root.map(|source| Node::Source(source.clone(), 0));
    if let Some(root) = &root {
        load::inspect(root.get_ref())?;
    }
    Kustomization::decode(root.as_ref().map(Node::get_ref), location, name, strict)
}

fn circle(candidate: &str, visited: &str, entry: &Text) -> Box<BuildError> {
    let name =
        |directory: &str| if directory.is_empty() { "the root".to_owned() } else { directory.to_owned() };
    let message = if candidate == visited {
        format!("a circle: {} is being built already", name(candidate))
    } else {
        format!("a circle: {} contains {}, which is being built", name(candidate), name(visited))
    };
    BuildError::at(Class::Path, message, entry.node.get_ref())
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
