//! Where a value comes from: bytes of a file, and what it went through.

use std::sync::Arc;

/// Where a value came from: a file and a byte range in it, and what it went
/// through on its way into the effective object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// Path relative to the root, with `/`.
    pub path: Arc<str>,
    /// First byte in the file's text.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
    /// Patches, components, transformers and substitutions, innermost first.
    pub via: Vec<Via>,
}

/// One step that a value went through.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Via {
    /// What kind of step.
    pub kind: ViaKind,
    /// Where that step is written.
    pub location: Location,
}

/// Kinds of steps between a file and the effective object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViaKind {
    /// A kustomize patch, or `spec.patches` of a Flux Kustomization.
    Patch,
    /// A kustomize component.
    Component,
    /// A built-in transformer: prefix, namespace, labels, images, replacements.
    Transformer,
    /// A config map or secret generator.
    Generator,
    /// postBuild substitution.
    Substitution,
    /// `spec.commonMetadata`.
    CommonMetadata,
    /// The line of a resource that stays as it is, of a change elsewhere.
    Resource,
}

impl Location {
    /// Note one more thing that a value went through. Places are many and are kept, so
    /// that no room is made for more.
    pub(crate) fn passed(&mut self, via: Via) {
        self.via.reserve_exact(1);
        self.via.push(via);
    }
}

impl ViaKind {
    /// The name in the JSON contract.
    pub fn name(self) -> &'static str {
        match self {
            ViaKind::Patch => "patch",
            ViaKind::Component => "component",
            ViaKind::Transformer => "transformer",
            ViaKind::Generator => "generator",
            ViaKind::Substitution => "substitution",
            ViaKind::CommonMetadata => "common-metadata",
            ViaKind::Resource => "resource",
        }
    }
}
