//! The recursion of a build: what a level accumulates and in which order its
//! parts run.
//!
//! Mirrors `api/internal/target/kusttarget.go` and `api/krusty/kustomizer.go`.

use super::builder::{
    Accumulated, Accumulator, Base, BaseMemo, BuildLevel, Builder, EntryTarget, LoadRestriction, Record,
    RefusedBase, documents_of, require_unique, too_large,
};
use super::config::Config;
use super::decode::Text;
use super::error::{BuildError, ErrorClass, Omitted, Result};
use super::load::{self, TextPlace};
use super::names::NameIndex;
use super::nodes;
use super::options::{BuildOptions, Rewrite, RootFile};
use super::order::{self, Order};
use super::resource::{FileRole, Resource};
use super::schema::Schemas;
use super::tree::{Links, TreeEntry, find};
use super::{
    Build, OUTPUT_LIMIT, WarningKind, generate, nameref, patch, plugin, replacement, trace, transform, vars,
};
use crate::files::{self, FileTree};
use crate::lang::yaml::{FilePath, Node, Sizes, Via, ViaKind};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

/// Levels below each other that are followed.
const DEPTH_LIMIT: usize = 24;
/// Directories that one build may go through, each as often as it is named.
const VISIT_LIMIT: usize = 100_000;

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

/// See [`super::build_noting`].
pub(super) fn build(
    tree: &FileTree,
    dir: &str,
    options: &BuildOptions,
    memo: &BaseMemo,
    read: &mut BTreeSet<FilePath>,
) -> Result<Build> {
    let mut builder = Builder {
        tree,
        tree_key: tree.key().into(),
        memo,
        restriction: options.load_restriction,
        links: options.links,
        best_effort: options.best_effort,
        record: Record::default(),
        visits: 0,
        copied: 0,
        schemas: match options.root {
            RootFile::Strict => Schemas::default(),
            RootFile::Rewritten(_) => Schemas::preloaded(),
        },
        tracing: false,
    };
    let built = whole(&mut builder, dir, options, Vec::new());
    read.extend(builder.record.all_files().cloned());
    built
}

/// See [`super::post_render`].
pub(super) fn post_render(
    nodes: Vec<Node>,
    patches: Option<Node>,
    images: Option<Node>,
) -> Result<Vec<Node>> {
    let nothing: [(&str, Vec<u8>); 0] = [];
    let snapshot = files::Snapshot::memory(nothing, Arc::new(files::Store::default()));
    let (tree, memo) = (FileTree::root(Arc::new(snapshot)), BaseMemo::default());
    let rewrite =
        Rewrite { generated: Some(Vec::new()), patches, listed_images: images, ..Rewrite::default() };
    let options = BuildOptions {
        load_restriction: LoadRestriction::None,
        links: Links::Absent,
        order: Order::Fifo,
        root: RootFile::Rewritten(Box::new(rewrite)),
        best_effort: false,
    };
    let mut builder = Builder {
        tree: &tree,
        tree_key: tree.key().into(),
        memo: &memo,
        restriction: options.load_restriction,
        links: options.links,
        best_effort: false,
        record: Record::default(),
        visits: 0,
        copied: 0,
        schemas: Schemas::preloaded(),
        tracing: false,
    };
    let built = whole(&mut builder, "", &options, taken_in(nodes)?)?;
    Ok(built.resources.into_iter().map(|resource| resource.node).collect())
}

/// See [`super::pass`].
pub(super) fn pass(nodes: Vec<Node>) -> Result<Vec<Node>> {
    let mut all = Accumulator::default();
    all.append(taken_in(nodes)?)?;
    let mut resources = std::mem::take(all.resources_mut());
    for resource in &mut resources {
        finish(resource, false)?;
    }
    Ok(resources.into_iter().map(|resource| resource.node).collect())
}

fn taken_in(nodes: Vec<Node>) -> Result<Vec<Resource>> {
    let resource = |loaded: load::Loaded| {
        let location = loaded.node.get_ref().location();
        let defect = loaded.defect;
        let changes_in_passing = loaded.changes_in_passing;
        let resource = Resource::new(loaded.node, FileRole::Resource, location);
        Resource { defect, changes_in_passing, ..resource }
    };
    Ok(load::objects(nodes)?.into_iter().map(resource).collect())
}

/// Build all of it, beside objects that are there already.
fn whole(
    builder: &mut Builder<'_>,
    dir: &str,
    options: &BuildOptions,
    resources: Vec<Resource>,
) -> Result<Build> {
    let tree = builder.tree;
    let directory: Arc<str> = match files::join("", dir).map(|path| find(tree, options.links, &path)) {
        Some(TreeEntry::Directory(directory)) => directory,
        Some(TreeEntry::File(_)) => {
            let message = format!("{dir} is a file; kustomize builds directories");
            return Err(BuildError::new(ErrorClass::Path, message, None));
        }
        _ => {
            let message = format!("the directory {dir} doesn't exist");
            return Err(BuildError::new(ErrorClass::Path, message, None));
        }
    };
    let file = match &options.root {
        RootFile::Strict => builder.kustomization(&directory, true)?,
        RootFile::Rewritten(rewrite) => builder.rewritten(&directory, rewrite)?,
    };
    builder.tracing = !file.build_metadata.is_empty();
    let origin = builder.tracing.then(String::new);
    let level =
        BuildLevel { directory: directory.clone(), file, via: Vec::new(), role: FileRole::Resource, origin };
    builder.open_api(&level)?;
    let chain = Chain { directory: &directory, up: None, depth: 0 };
    let mut start = Accumulator::default();
    *start.resources_mut() = resources;
    let mut accumulator = builder.accumulate(&level, chain, start)?;

    let config = accumulator.config.clone().unwrap_or_else(|| Config::builtin().clone());
    let mut resources = std::mem::take(accumulator.resources_mut());
    builder.add_hashes(&mut resources)?;
    nameref::fix(&mut resources, &config)?;
    vars::resolve(&accumulator.vars, &config, &mut resources)?;
    resources.retain(|resource| !resource.is_local_config());
    require_unique(&resources)?;
    order::sort(&mut resources, level.file.sort_options.as_ref(), options.order)?;
    trace::finish(&level.file, &mut resources)?;
    let mut unwritable = FxHashSet::default();
    for resource in &mut resources {
        if let Err(error) = finish(resource, builder.record.unusual) {
            builder.leave_out(error)?;
            unwritable.insert(resource.id.hash());
        }
    }
    resources.retain(|resource| !unwritable.contains(&resource.id.hash()));
    let record = &mut builder.record;
    let size = written_size(&resources)?;
    Ok(Build {
        resources,
        size,
        partial: std::mem::take(&mut record.partial),
        files_read: record.files.iter().cloned().collect(),
        warnings: std::mem::take(&mut record.warnings),
        left_out: std::mem::take(&mut record.left_out),
    })
}

/// See [`super::check_resource`].
pub(super) fn check_resource(
    tree: &FileTree,
    directory: &str,
    path: &str,
    memo: &BaseMemo,
    read: &mut BTreeSet<FilePath>,
) -> Result<()> {
    let mut builder = Builder {
        tree,
        tree_key: tree.key().into(),
        memo,
        restriction: LoadRestriction::None,
        links: Links::Absent,
        best_effort: false,
        record: Record::default(),
        visits: 0,
        copied: 0,
        schemas: Schemas::preloaded(),
        tracing: false,
    };
    match files::join(directory, path).map(|full| find(tree, Links::Absent, &full)) {
        Some(TreeEntry::File(file)) => {
            read.insert(file.file.name());
            load::objects(documents_of(&file, &TextPlace::default())?).map(drop)
        }
        Some(TreeEntry::Directory(inner)) => {
            let entry = Text { value: path.into(), node: Node::string(path, None) };
            let built = builder.base(&inner, Chain { directory, up: None, depth: 0 }, &entry, None);
            read.extend(builder.record.all_files().cloned());
            built.map(drop)
        }
        _ => Ok(()),
    }
}

/// The last test of an object: whether it can be written. `unusual`: whether it
/// may hold characters that can't.
fn finish(resource: &mut Resource, unusual: bool) -> Result<()> {
    if resource.changes_in_passing || unusual {
        nodes::rewrite_where(&mut resource.node, &load::may_change, &mut nodes::passed);
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

impl Builder<'_> {
    /// Build a level onto what is accumulated: nothing for a kustomization, the
    /// parent's objects for a component.
    fn accumulate(
        &mut self,
        level: &BuildLevel,
        chain: Chain<'_>,
        mut accumulator: Accumulator,
    ) -> Result<Accumulator> {
        self.record.directories.insert(level.directory.clone());
        for entry in &level.file.resources {
            if let Err(error) = self.resource(level, chain, entry, &mut accumulator) {
                self.leave_out(error)?;
            }
        }
        let own = self.configuration(level)?;
        accumulator.merge_config(&own, &level.file.location)?;
        generate::run(self, level, &mut accumulator)?;
        for (name, node) in &level.file.charts {
            self.omit(Omitted::Helm, name, node);
        }
        let configs = self.configs(level, chain, &level.file.generators)?;
        plugin::generators(self, level, configs, &mut accumulator)?;
        for entry in &level.file.components {
            accumulator = self.component(level, chain, entry, accumulator)?;
        }
        self.transform(level, &mut accumulator)?;
        let configs = self.configs(level, chain, &level.file.transformers)?;
        plugin::transformers(self, level, configs, accumulator.resources_mut())?;
        let configs = self.configs(level, chain, &level.file.validators)?;
        plugin::validators(self, level, configs, accumulator.resources_mut())?;
        let Accumulator { vars: known, resources, .. } = &mut accumulator;
        vars::register(known, &level.file.vars, resources)?;
        Ok(accumulator)
    }

    /// Run the built-in transformers in their order, whatever the file's.
    fn transform(&mut self, level: &BuildLevel, accumulator: &mut Accumulator) -> Result<()> {
        let config = accumulator.config.clone().unwrap_or_else(|| Config::builtin().clone());
        let resources = accumulator.resources_mut();
        self.patch(level, resources)?;
        self.rename(level, &config, resources)?;
        self.set_metadata(level, &config, resources)?;
        for patch in &level.file.patches_json6902 {
            match patch::apply_json6902(self, level, patch, resources) {
                Err(error) if !self.may_fit(&error) => return Err(error),
                _ => self.trace(level, "PatchJson6902Transformer", resources),
            }
        }
        self.set_workloads(level, &config, resources)?;
        if !level.file.replacements.is_empty() {
            replacement::replacements(self, level, &level.file.replacements, resources)?;
            self.trace(level, "ReplacementTransformer", resources);
        }
        Ok(())
    }

    /// `patchesStrategicMerge` and `patches`.
    fn patch(&mut self, level: &BuildLevel, resources: &mut Vec<Resource>) -> Result<()> {
        let file = &level.file;
        if !file.patches_strategic_merge.is_empty() {
            patch::strategic_merges(self, level, &file.patches_strategic_merge, None, resources)?;
            self.trace(level, "PatchStrategicMergeTransformer", resources);
        }
        let mut row = patch::PatchRow::default();
        for patch in &file.patches {
            let applied = patch::apply(self, level, patch, resources, &mut row);
            if let Err(error) =
                applied.or_else(|error| if self.may_fit(&error) { Ok(()) } else { Err(error) })
            {
                if error.class != ErrorClass::PatchTarget {
                    return Err(error);
                }
                // It changes nothing of what is left; its target may have been left
                // out itself.
                if self.record.left_out.is_empty() {
                    self.leave_out(error)?;
                }
            }
            self.trace(level, "PatchTransformer", resources);
        }
        Ok(())
    }

    /// Whether a patch that does not fit may fit what a file on another host, or a plugin, makes
    /// of its target.
    fn may_fit(&self, error: &BuildError) -> bool {
        error.class == ErrorClass::PatchApply
            && self.record.partial.iter().any(|partial| partial.what.may_change())
    }

    /// An error, unless what it names may be among what was left out.
    pub(super) fn may_name(&self, error: Box<BuildError>) -> Result<()> {
        if error.class == ErrorClass::Replicas && self.is_partial() { Ok(()) } else { Err(error) }
    }

    /// `namespace`, `namePrefix` and `nameSuffix`.
    fn rename(&mut self, level: &BuildLevel, config: &Config, resources: &mut [Resource]) -> Result<()> {
        let file = &level.file;
        let filled = |text: &Option<Text>| text.as_ref().is_some_and(|text| !text.value.is_empty());
        if filled(&file.namespace) {
            transform::namespace(file, config, resources)?;
            self.trace(level, "NamespaceTransformer", resources);
        }
        if filled(&file.name_prefix) {
            transform::name_prefix(file, config, resources)?;
            self.trace(level, "PrefixTransformer", resources);
        }
        if filled(&file.name_suffix) {
            transform::name_suffix(file, config, resources)?;
            self.trace(level, "SuffixTransformer", resources);
        }
        Ok(())
    }

    /// `labels`, `commonLabels` and `commonAnnotations`.
    fn set_metadata(
        &mut self,
        level: &BuildLevel,
        config: &Config,
        resources: &mut [Resource],
    ) -> Result<()> {
        let file = &level.file;
        for entry in &file.labels {
            transform::labels(entry, config, resources)?;
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
        Ok(())
    }

    /// `replicas` and `images`.
    fn set_workloads(
        &mut self,
        level: &BuildLevel,
        config: &Config,
        resources: &mut [Resource],
    ) -> Result<()> {
        let mut names = NameIndex::default();
        for replica in &level.file.replicas {
            let set = transform::set_replicas(replica, &config.replicas, resources, &mut names);
            set.or_else(|error| self.may_name(error))?;
            self.trace(level, "ReplicaCountTransformer", resources);
        }
        let mut images = transform::Images::new(&config.images);
        for image in &level.file.images {
            if !images.set(image, resources)? {
                let message = format!("`images` names {}, which no container here runs", image.name);
                self.warn(WarningKind::UnmatchedImage, message, image.node.get_ref().location());
            }
            self.trace(level, "ImageTagTransformer", resources);
        }
        Ok(())
    }

    /// Add what an entry of `resources` names.
    fn resource(
        &mut self,
        level: &BuildLevel,
        chain: Chain<'_>,
        entry: &Text,
        accumulator: &mut Accumulator,
    ) -> Result<()> {
        let from_entry =
            |error: Box<BuildError>| error.from_here("named here", entry.node.get_ref().location());
        match self.find(level, entry)? {
            EntryTarget::File(file) => {
                self.require_allowed(level, &file, entry)?;
                let loaded = self.objects_of(&file, level, entry).map_err(from_entry)?;
                accumulator.append(loaded).map_err(from_entry)
            }
            EntryTarget::Directory(directory) => {
                let origin = level.origin_of(&entry.value);
                let base = self.base(&directory, chain, entry, origin).map_err(from_entry)?;
                let mut resources = base.level.resources().to_vec();
                for resource in &mut resources {
                    if let Some(first) = resource.files.first_mut()
                        && first.role == FileRole::Resource
                    {
                        first.role = FileRole::Base;
                    }
                }
                accumulator.append(resources).map_err(from_entry)?;
                vars::absorb(&mut accumulator.vars, &base.level.vars)?;
                match &base.level.config {
                    Some(config) => accumulator.merge_config(config, &level.file.location),
                    None => Ok(()),
                }
            }
            EntryTarget::Remote => {
                self.omit(Omitted::Remote, &entry.value, &entry.node);
                Ok(())
            }
        }
    }

    /// The objects that entries of `generators` and its like hold or name: inline ones first.
    fn configs(&mut self, level: &BuildLevel, chain: Chain<'_>, entries: &[Text]) -> Result<Vec<Resource>> {
        let mut accumulator = Accumulator::default();
        let mut paths = Vec::new();
        for entry in entries {
            match self.inline_objects(level, entry) {
                Ok(resources) => accumulator.append(resources)?,
                Err(error) if entry.value.contains('\n') => return Err(error),
                Err(_) => paths.push(entry),
            }
        }
        for entry in paths {
            self.resource(level, chain, entry, &mut accumulator)?;
        }
        Ok(std::mem::take(accumulator.resources_mut()))
    }

    fn component(
        &mut self,
        level: &BuildLevel,
        chain: Chain<'_>,
        entry: &Text,
        accumulator: Accumulator,
    ) -> Result<Accumulator> {
        let place = entry.node.get_ref().location();
        let from_entry = |error: Box<BuildError>| error.from_here("used here", place.clone());
        let directory = match self.find(level, entry)? {
            EntryTarget::Directory(directory) => directory,
            EntryTarget::File(_) => {
                let message = format!("a component is a directory; {} is a file", entry.value);
                return Err(BuildError::new(ErrorClass::Path, message, place));
            }
            EntryTarget::Remote => {
                self.omit(Omitted::RemoteChange, &entry.value, &entry.node);
                return Ok(accumulator);
            }
        };
        let below = self.enter(&directory, chain, entry)?;
        let file = self.kustomization(&directory, true).map_err(from_entry)?;
        let origin = level.origin_of(&entry.value);
        let inner = BuildLevel {
            directory: directory.clone(),
            file,
            via: Vec::new(),
            role: FileRole::Component,
            origin,
        };
        self.open_api(&inner)?;
        let BuildLevel { file, origin, .. } = inner;
        if !file.component {
            let message = format!("{} is a Kustomization; `components` takes Components", entry.value);
            return Err(BuildError::new(ErrorClass::KustomizationFile, message, place)
                .related("its file", Some(file.location)));
        }
        let mut via = Vec::new();
        if let Some(location) = place.clone() {
            via.push(Via { kind: ViaKind::Component, location });
        }
        via.extend(level.via.iter().cloned());
        let inner = BuildLevel { directory: directory.clone(), file, via, role: FileRole::Component, origin };
        let chain = Chain { directory: &directory, up: Some(&chain), depth: below };
        let result = self.accumulate(&inner, chain, accumulator).map_err(from_entry)?;
        result.handed_on().map_err(from_entry)
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
        let inner = Chain { directory, up: Some(&chain), depth };
        match self.remembered_base(directory, inner, origin) {
            Err(refused) => {
                self.record.refused.extend(refused.read.iter().cloned());
                let mut causes = refused.left_out.iter().cloned();
                let first = causes.next();
                causes.for_each(|cause| self.record.note_left_out(cause));
                Err(Box::new(first.unwrap_or_else(|| refused.error.clone())))
            }
            Ok(accumulated) => {
                for inner in &accumulated.record.directories {
                    if **inner != **directory
                        && let Some(visited) = chain.visited(inner)
                    {
                        self.record.refused.extend(accumulated.record.all_files().cloned());
                        return Err(circle(inner, visited, entry));
                    }
                }
                self.record.absorb(&accumulated.record);
                Ok(accumulated)
            }
        }
    }

    /// A base from the memory that builds share, or built and remembered there.
    fn remembered_base(&mut self, directory: &Arc<str>, chain: Chain<'_>, origin: Option<String>) -> Base {
        let key = (self.tree_key.clone(), self.restriction, self.links, self.best_effort, directory.clone());
        let bases = &self.memo.bases;
        // Traces and schemas belong to one build.
        let own = self.tracing || self.schemas.is_custom();
        if !own && let Some(base) = bases.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return base.clone();
        }
        let outer = std::mem::take(&mut self.record);
        let result = self.build_base(directory, chain, origin);
        let record = std::mem::replace(&mut self.record, outer);
        let base: Base = match result {
            Ok(level) => Ok(Arc::new(Accumulated { level: level.without_index(), record })),
            Err(error) => {
                let read = record.all_files().cloned().collect();
                Err(Arc::new(RefusedBase { error: *error, read, left_out: record.left_out }))
            }
        };
        // A circle is one of the whole chain, not of the base.
        let circular = matches!(&base, Err(refused) if matches!(refused.error.class, ErrorClass::Path | ErrorClass::Limit));
        if circular || own || self.schemas.is_custom() {
            return base;
        }
        // Another thread may have come first: all take its nodes.
        bases.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert(base).clone()
    }

    fn build_base(
        &mut self,
        directory: &Arc<str>,
        chain: Chain<'_>,
        origin: Option<String>,
    ) -> Result<Accumulator> {
        let file = self.kustomization(directory, true)?;
        let level = BuildLevel {
            directory: directory.clone(),
            file,
            via: Vec::new(),
            role: FileRole::Resource,
            origin,
        };
        self.open_api(&level)?;
        let file = &level.file;
        if file.component {
            let message = "a Component can't be a resource; list it under `components`";
            return Err(BuildError::new(ErrorClass::KustomizationFile, message, Some(file.location.clone())));
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
            return Err(BuildError::new(ErrorClass::Limit, message, place));
        }
        if self.visits > VISIT_LIMIT {
            let message = format!("this build goes through more than {VISIT_LIMIT} directories");
            return Err(BuildError::new(ErrorClass::Limit, message, place));
        }
        Ok(chain.depth + 1)
    }

    /// Note a built-in transformer of a level in all objects.
    fn trace(&mut self, level: &BuildLevel, kind: &str, resources: &mut [Resource]) {
        if let Some(place) = level.origin_of(level.file.file_name) {
            trace::transformed(&trace::configured(&place, "builtin", kind, "", ""), resources);
        }
    }
}

fn circle(candidate: &str, visited: &str, entry: &Text) -> Box<BuildError> {
    let name =
        |directory: &str| if directory.is_empty() { "the root".to_owned() } else { directory.to_owned() };
    let message = if candidate == visited {
        format!("a circle: {} is being built already", name(candidate))
    } else {
        format!("a circle: {} contains {}, which is being built", name(candidate), name(visited))
    };
    BuildError::at(ErrorClass::Path, message, entry.node.get_ref())
}
