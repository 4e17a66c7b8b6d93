//! Where a value comes from: bytes of a file, and what it went through.

use std::fmt;
use std::sync::Arc;

/// Which file tree holds a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tree {
    /// The root's work tree, or a revision of it: the one tree that is changed.
    Root,
    /// What lies outside of it: other repositories of a fleet, and what git leaves out
    /// of the work tree.
    Outside,
    /// A packed chart: the first part of a path is its `name@version`.
    Chart,
}

/// A file: the tree that holds it, and its path as seen from the root. Two trees may
/// hold equal paths below themselves; no two files are equal here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FilePath {
    tree: Tree,
    path: Arc<str>,
}

impl FilePath {
    /// A file of the root's tree, by its path relative to the root, with `/`.
    pub fn in_root(path: impl Into<Arc<str>>) -> FilePath {
        FilePath { tree: Tree::Root, path: path.into() }
    }

    /// A file of a tree, by its path as seen from the root.
    pub fn new(tree: Tree, path: impl Into<Arc<str>>) -> FilePath {
        FilePath { tree, path: path.into() }
    }

    /// The tree that holds it.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The path for people and reports, as seen from the root: `../b/apps/x.yaml` lies
    /// in another tree. What looks a file up or compares files takes the whole.
    pub fn shown(&self) -> &Arc<str> {
        &self.path
    }

    /// The chart that holds it, as `NAME@VERSION`, and its path in that; `None` for a file
    /// of another tree.
    pub fn in_chart(&self) -> Option<(&str, &str)> {
        if self.tree == Tree::Chart { self.path.split_once('/') } else { None }
    }

    /// The path relative to the root; `None` where another tree holds the file.
    pub fn of_root(&self) -> Option<&Arc<str>> {
        (self.tree == Tree::Root).then_some(&self.path)
    }

    /// What may be written of it: `None` for a file of another tree.
    pub fn writable(&self) -> Option<WorkPath> {
        WorkPath::new(self.of_root()?.clone())
    }

    /// Whether it is the file at a path of the root's tree.
    pub fn is_at(&self, path: &str) -> bool {
        self.tree == Tree::Root && *self.path == *path
    }
}

/// A file of the root's work tree: what may be written. Nothing makes one of a file of
/// another tree, so that an edit elsewhere does not compile.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkPath(Arc<str>);

impl WorkPath {
    /// A path relative to the root, with `/`; `None` for one that leads out of it or
    /// that systems read otherwise than as it is written.
    pub fn new(path: impl Into<Arc<str>>) -> Option<WorkPath> {
        let path = path.into();
        let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.eq_ignore_ascii_case(".git");
        let stays = !path.contains(['\\', '\0']) && path.split('/').all(is_part);
        stays.then_some(WorkPath(path))
    }

    /// The path, relative to the root.
    pub fn as_arc(&self) -> &Arc<str> {
        &self.0
    }
}

impl std::ops::Deref for WorkPath {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorkPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As [`FilePath::shown`].
impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)
    }
}

/// Where a value came from: a file and a byte range in it, and what it went
/// through on its way into the effective object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file.
    pub file: FilePath,
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
    /// A template that the value was put into.
    Template,
    /// A value that was put into the template.
    Input,
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
            ViaKind::Template => "template",
            ViaKind::Input => "input",
            ViaKind::Resource => "resource",
        }
    }
}
