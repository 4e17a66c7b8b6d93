//! Directory to objects: a native `kustomize build` in which every value keeps
//! the file and the bytes that it came from.
//!
//! The norm is kustomize v5.8.1. [`build`] reads a directory of a [`FileTree`]
//! and gives its [`Resource`]s in output order. Not run: plugins that aren't
//! built in, helm, anything on another host; what that leaves out is
//! [`Partial`].
//!
//! A level is built bottom up (`target`): its resources and bases, its
//! generated objects, its components, then the transformers in a fixed order.
//! Names, hashes, references and order are settled once at the root.

mod builder;
mod common;
mod config;
mod decode;
mod elements;
mod entries;
mod error;
mod fieldspec;
mod file;
mod generate;
mod hash;
mod id;
mod json6902;
mod load;
mod merge;
mod nameref;
mod names;
mod nodes;
mod options;
mod order;
mod patch;
mod patch_text;
mod path;
mod plugin;
mod replacement;
mod resource;
mod root_file;
mod schema;
mod scopes;
mod selector;
mod structured;
mod tables;
mod target;
mod trace;
mod transform;
mod tree;
mod value_add;
mod vars;

pub use builder::{BaseMemo, LoadRestriction};
pub use error::BuildError;
pub(crate) use error::{ErrorClass, Partial};
pub use file::FILE_NAMES;
pub(crate) use id::is_namespaced;
pub use options::BuildOptions;
pub(crate) use options::{Rewrite, RootFile};
pub(crate) use order::Order;
pub(crate) use resource::{FileRole, Resource};
pub(crate) use tree::Links;

use crate::files::FileTree;
use crate::lang::yaml::{FilePath, Location, Node, NodeRef, Stream};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Bytes that one build may come to when it is written: bases that double what
/// they are based on, copied values and expanded ones grow without limit
/// otherwise.
pub(crate) const OUTPUT_LIMIT: u64 = 256 << 20;

/// What a directory builds to.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// Its objects in output order.
    pub resources: Vec<Resource>,
    /// What is missing from them.
    pub partial: Vec<Partial>,
    /// Paths of the files that were read, sorted.
    pub files_read: Vec<FilePath>,
    /// What kustomize accepts silently though it does nothing.
    pub warnings: Vec<Warning>,
    /// About how many bytes the objects take when they are written, at most
    /// [`OUTPUT_LIMIT`].
    pub size: u64,
    /// What kustomize refuses, where [`BuildOptions::best_effort`] left it out.
    pub left_out: Vec<BuildError>,
}

/// Something that a build does nothing with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What it is.
    pub kind: WarningKind,
    /// A sentence about it.
    pub message: String,
    /// Where it is written.
    pub location: Option<Location>,
    /// What was meant, for what is not known: a name, or how an object differs that is
    /// nearly selected.
    pub near: Option<Arc<str>>,
    /// Whether a selector asks for labels or annotations.
    pub by_labels: bool,
}

/// Kinds of warnings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WarningKind {
    /// A patch with a target that selects nothing.
    UnmatchedPatchTarget,
    /// An entry of `images` that matches no image.
    UnmatchedImage,
    /// A replacement whose target selects nothing.
    UnmatchedReplacementTarget,
    /// A deprecated field.
    Deprecated,
    /// A field that the root file doesn't have, and that Flux drops.
    DroppedField,
}

/// Build the directory `dir` of a tree (`""` is its root). The memo holds what
/// bases came to: builds that share one must be of trees of one snapshot.
///
/// # Errors
/// What kustomize refuses to build.
pub fn build(
    tree: &FileTree,
    dir: &str,
    options: &BuildOptions,
    memo: &BaseMemo,
) -> Result<Build, BuildError> {
    build_noting(tree, dir, options, memo, &mut BTreeSet::new())
}

/// [`build`], with the paths of all files that were read added to `read`, also where
/// it is refused: while there is the same at each path, another build comes to the same
/// unless one of these says something else.
///
/// # Errors
/// What kustomize refuses to build.
pub(crate) fn build_noting(
    tree: &FileTree,
    dir: &str,
    options: &BuildOptions,
    memo: &BaseMemo,
    read: &mut BTreeSet<FilePath>,
) -> Result<Build, BuildError> {
    target::build(tree, dir, options, memo, read).map_err(|error| *error)
}

/// The documents of a text that stands inside of a scalar, such as an inline patch;
/// their places are those of the file. None where the text can't be read.
pub(crate) fn documents_in(scalar: NodeRef<'_>) -> Vec<Node> {
    let Some(text) = scalar.as_str() else { return Vec::new() };
    let place = load::TextPlace { inside: Some(scalar.to_node()), ..load::TextPlace::default() };
    let stream = Arc::new(Stream::parse(&text));
    load::documents(&load::file_of(scalar), &stream, &place).unwrap_or_default()
}

/// The fields of objects of a type that hold names of objects of another kind, by
/// kustomize's built-in table: steps to a name, a list of names, or a map (or list
/// of maps) with a `name`. A step that ends in `[]` is a list.
pub(crate) fn name_fields(group: &str, kind: &str, of: (&str, &str)) -> Vec<Vec<String>> {
    let config = config::Config::builtin();
    let targets = config
        .name_references
        .iter()
        .filter(|target| target.kind == of.1 && (target.group.is_empty() || target.group == of.0));
    let fields = targets.flat_map(|target| &target.referrers).filter(|spec| {
        (spec.kind.is_empty() || spec.kind == kind) && (spec.group.is_empty() || spec.group == group)
    });
    fields.map(|spec| spec.steps().into_iter().map(|step| step.into_owned()).collect()).collect()
}

/// Whether nothing is unknown in what tells an object from others.
pub(crate) fn is_identified(object: NodeRef<'_>) -> bool {
    let unknown = |pointer: &str| object.at(pointer).is_some_and(NodeRef::is_unknown);
    const PARTS: [&str; 7] = [
        "/apiVersion",
        "/kind",
        "/items",
        "/metadata",
        "/metadata/name",
        "/metadata/namespace",
        "/metadata/annotations",
    ];
    !object.is_unknown() && !PARTS.into_iter().any(unknown)
}

/// Takes in objects that stand in no file of their own and writes them out again, as each
/// post-renderer of helm-controller does (`internal/postrender/transformer.go`): lists are
/// unfolded, an id stands once.
///
/// # Errors
/// What kustomize refuses.
pub(crate) fn pass(nodes: Vec<Node>) -> Result<Vec<Node>, BuildError> {
    target::pass(nodes).map_err(|error| *error)
}

/// Runs patches and images over objects that stand in no file of their own, as the
/// post-renderer of helm-controller does (`internal/postrender/kustomize.go`).
///
/// # Errors
/// What kustomize refuses.
pub(crate) fn post_render(
    nodes: Vec<Node>,
    patches: Option<Node>,
    images: Option<Node>,
) -> Result<Vec<Node>, BuildError> {
    target::post_render(nodes, patches, images).map_err(|error| *error)
}

/// Whether a built-in kind has no namespaces.
pub(crate) fn is_cluster_scoped(api_version: &str, kind: &str) -> bool {
    matches!((api_version, kind), ("v1", "Namespace" | "Node" | "PersistentVolume" | "ComponentStatus"))
        || scopes::CLUSTER_SCOPED.contains(&(api_version, kind))
}

/// Whether a build of `dir` could take a path in it as a resource: a file of
/// objects, or a directory that builds. Bases that this builds are kept for the
/// build itself. The files that it reads are added to `read`, see [`build_noting`].
///
/// Mirrors the scan of fluxcd/pkg `kustomize/kustomize_generator.go`
/// (`generateKustomization`), which reads the files only.
///
/// # Errors
/// Why not.
pub(crate) fn check_resource(
    tree: &FileTree,
    dir: &str,
    path: &str,
    memo: &BaseMemo,
    read: &mut BTreeSet<FilePath>,
) -> Result<(), BuildError> {
    target::check_resource(tree, dir, path, memo, read).map_err(|error| *error)
}
