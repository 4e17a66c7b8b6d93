//! Reads the kustomization file of a directory: as it is, or as Flux rewrites it before
//! the build.
//!
//! Mirrors `api/internal/target/kusttarget.go` (`loadKustFile`) and
//! `fluxcd/pkg/kustomize/kustomize_generator.go` (`WriteFile`).

use super::builder::{Builder, start_of};
use super::decode::{Decoder, Dropped, Text};
use super::entries::{self, Image};
use super::error::{BuildError, ErrorClass, Result};
use super::file::{FILE_NAMES, Kustomization};
use super::load;
use super::options::Rewrite;
use super::tree::{TreeEntry, TreeFile, find};
use super::{Warning, WarningKind};
use crate::files;
use crate::lang::yaml::{FilePath, Location, Node};
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Builder<'_> {
    /// Decode the kustomization file of a directory.
    pub(super) fn kustomization(&mut self, directory: &str, strict: bool) -> Result<Kustomization> {
        let mut found: Vec<(&'static str, TreeFile)> = Vec::new();
        for name in FILE_NAMES {
            if let Some(path) = files::join(directory, name)
                && let TreeEntry::File(file) = find(self.tree, self.links, &path)
            {
                found.push((name, file));
            }
        }
        match &found[..] {
            [] => {
                let place = if directory.is_empty() { "the root" } else { directory };
                let message = format!("{place} has no kustomization.yaml");
                Err(BuildError::new(ErrorClass::KustomizationFile, message, None))
            }
            [(name, file)] => {
                self.record.read(file);
                decode_file(name, file, strict)
            }
            [(_, first), (_, second), ..] => {
                let message = "this directory has several kustomization files; kustomize takes one";
                Err(BuildError::new(ErrorClass::KustomizationFile, message, Some(start_of(first)))
                    .related("another one", Some(start_of(second))))
            }
        }
    }

    /// The root file as Flux reads it: what it doesn't know it drops.
    fn root_file(&mut self, directory: &str) -> Result<Kustomization> {
        let file = self.kustomization(directory, false)?;
        for Dropped { key, node, near } in &file.dropped {
            let (kind, location) = (WarningKind::DroppedField, node.get_ref().location());
            let message = format!("unknown field `{key}`");
            self.record.warnings.push(Warning {
                kind,
                message,
                location,
                near: near.map(Arc::from),
                by_labels: false,
            });
        }
        Ok(file)
    }

    /// The root file as Flux rewrites it.
    pub(super) fn rewritten(&mut self, directory: &str, rewrite: &Rewrite) -> Result<Kustomization> {
        let mut file = match &rewrite.generated {
            None => self.root_file(directory)?,
            Some(entries) => self.generated_file(directory, entries),
        };
        let decoder = Decoder::lenient(ErrorClass::KustomizationFile);
        let text = |node: &Option<Node>| match node {
            Some(node) => decoder.text(node.get_ref()).map(|text| text.filter(|text| !text.value.is_empty())),
            None => Ok(None),
        };
        file.namespace = text(&rewrite.namespace)?.or(file.namespace);
        file.name_prefix = text(&rewrite.name_prefix)?.or(file.name_prefix);
        file.name_suffix = text(&rewrite.name_suffix)?.or(file.name_suffix);
        if let Some(patches) = &rewrite.patches {
            file.patches.extend(decoder.list(patches.get_ref(), |item| entries::patch(decoder, item))?);
        }
        for component in &rewrite.components {
            file.components.extend(decoder.text(component.get_ref())?);
        }
        if let Some(images) = &rewrite.images {
            let images = decoder.list(images.get_ref(), |item| entries::image(decoder, item))?;
            merge_images(&mut file.images, images);
        }
        if let Some(images) = &rewrite.listed_images {
            file.images.extend(decoder.list(images.get_ref(), |item| entries::image(decoder, item))?);
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

    /// The file that Flux writes where a directory has none: it lists every manifest.
    fn generated_file(&self, directory: &str, entries: &[String]) -> Kustomization {
        let path = files::join(directory, FILE_NAMES[0]).unwrap_or_default();
        let file = self.tree.real(&path).unwrap_or_else(|| FilePath::in_root(path));
        let location = Location { file, start: 0, end: 0, via: Vec::new() };
        let resource = |entry: &String| Text {
            value: entry.as_str().into(),
            node: Node::string(entry, Some(location.clone())),
        };
        let mut file = Kustomization::empty(location.clone(), FILE_NAMES[0]);
        file.resources = entries.iter().map(resource).collect();
        file
    }
}

/// Put the images of Flux's object over those of the file: fields of an entry of the same
/// name, or a new entry.
fn merge_images(known: &mut Vec<Image>, images: Vec<Image>) {
    let mut places: FxHashMap<Arc<str>, usize> = FxHashMap::default();
    for (at, image) in known.iter().enumerate() {
        places.entry(image.name.clone()).or_insert(at);
    }
    for image in images {
        match places.get(&image.name).map(|at| &mut known[*at]) {
            Some(known) => {
                known.new_name = image.new_name.or(known.new_name.take());
                if image.new_tag.is_some() || image.digest.is_some() {
                    known.new_tag = image.new_tag;
                    known.digest = image.digest;
                }
                known.node = image.node;
            }
            None => {
                places.insert(image.name.clone(), known.len());
                known.push(image);
            }
        }
    }
}

fn decode_file(name: &'static str, file: &TreeFile, strict: bool) -> Result<Kustomization> {
    let location = start_of(file);
    let Some(stream) = file.snapshot.stream(&file.file) else {
        let message = "this kustomization file can't be read as text";
        return Err(BuildError::new(ErrorClass::KustomizationFile, message, Some(location)));
    };
    if let Some(error) = stream.errors.first().filter(|error| error.document == 0) {
        let place = Location { start: error.offset, end: error.offset, ..location };
        let message = format!("not valid YAML: {}", error.message);
        return Err(BuildError::new(ErrorClass::KustomizationFile, message, Some(place)));
    }
    let root = file.sources().iter().find(|source| !source.document().tokens.is_empty());
    let root = root.map(|source| source.root());
    if let Some(root) = &root {
        load::inspect(root.get_ref())?;
    }
    Kustomization::decode(root.as_ref().map(Node::get_ref), location, name, strict)
}
