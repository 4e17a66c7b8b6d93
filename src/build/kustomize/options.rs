//! How a build is asked for: what it follows, and what Flux writes into the root file.

use super::builder::LoadRestriction;
use super::order::Order;
use super::tree::Links;
use crate::lang::yaml::Node;

/// How to build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Which files a kustomization may name.
    pub load_restriction: LoadRestriction,
    /// What happens at symbolic links.
    pub links: Links,
    /// The output's order where the root file has no `sortOptions`.
    pub order: Order,
    /// How the root file is read.
    pub root: RootFile,
    /// Leave out what can't be read or isn't there, and go on: a view of what is
    /// refused as a whole. [`super::Build::left_out`] has what was left out.
    pub best_effort: bool,
}

impl BuildOptions {
    /// As `kustomize build --load-restrictor LoadRestrictionsNone` does.
    pub fn command_line() -> BuildOptions {
        BuildOptions {
            load_restriction: LoadRestriction::None,
            links: Links::Follow,
            order: Order::Legacy,
            root: RootFile::Strict,
            best_effort: false,
        }
    }
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
    /// `images` of a post-renderer; come after the file's, also one of the same name.
    pub listed_images: Option<Node>,
    /// `spec.buildMetadata`; replaces the file's.
    pub build_metadata: Option<Node>,
}
