//! What a build can't do: errors with their class and place, and parts left out.

use crate::lang::yaml::{Location, NodeRef};
use crate::model::Unchecked;
use std::fmt;

/// Why kustomize would refuse to build a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    /// The class of failure.
    pub class: ErrorClass,
    /// What is wrong and why, in lower case, without a place.
    pub message: String,
    /// Where it must be changed. `None` only when the directory to build does
    /// not exist.
    pub location: Option<Location>,
    /// Other places that matter, each with what is there: the entries that led
    /// here, outermost last, the other of two equal ids.
    pub related: Vec<(String, Location)>,
}

/// Classes of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The kustomization file is missing, ambiguous, empty or malformed.
    KustomizationFile,
    /// A path names nothing, or something behind a link that artifacts lack.
    Missing,
    /// A path leaves the tree, or the directory that it must stay in.
    Outside,
    /// A path names the wrong thing, or leads in a circle.
    Path,
    /// A file is no YAML.
    Yaml,
    /// A document is no Kubernetes object.
    NotAnObject,
    /// The result can't be written as JSON.
    Output,
    /// Two objects share an id.
    Id,
    /// A config map or secret generator.
    Generator,
    /// A patch that is no patch.
    PatchConfig,
    /// A patch without exactly one target.
    PatchTarget,
    /// A patch that doesn't fit its target.
    PatchApply,
    /// A transformer's field is something else in an object.
    FieldSpec,
    /// `replicas` names nothing.
    Replicas,
    Replacement,
    /// A reference by name is ambiguous or malformed.
    NameReference,
    /// `vars`.
    Vars,
    /// A generator, transformer or validator file.
    Plugin,
    /// A file on another host, which is noted: the build goes on without it.
    Remote,
    /// A limit of this program.
    Limit,
    /// Anything else.
    Other,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for BuildError {}

/// A result whose error is rare and large.
pub(super) type Result<T> = std::result::Result<T, Box<BuildError>>;

impl BuildError {
    pub(super) fn new(
        class: ErrorClass,
        message: impl Into<String>,
        location: Option<Location>,
    ) -> Box<BuildError> {
        Box::new(BuildError { class, message: message.into(), location, related: Vec::new() })
    }

    /// At a node.
    pub(super) fn at(class: ErrorClass, message: impl Into<String>, node: NodeRef<'_>) -> Box<BuildError> {
        BuildError::new(class, message, node.location())
    }

    /// The same with one more related place.
    #[must_use]
    pub(super) fn related(
        mut self: Box<Self>,
        message: impl Into<String>,
        location: Option<Location>,
    ) -> Box<BuildError> {
        if let Some(location) = location {
            self.related.push((message.into(), location));
        }
        self
    }

    /// The same at this place when it has none of its own, else with the place
    /// as a related one.
    #[must_use]
    pub(super) fn from_here(
        mut self: Box<Self>,
        message: &str,
        location: Option<Location>,
    ) -> Box<BuildError> {
        if self.location.is_none() {
            self.location = location;
            return self;
        }
        self.related(message, location)
    }
}

/// Something that a build leaves out because it can't be known offline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partial {
    /// What kind of thing.
    pub what: Omitted,
    /// The thing: the address of a remote base, the name of a chart.
    pub name: String,
    /// Where it is asked for.
    pub location: Option<Location>,
}

/// What a build leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Omitted {
    /// A base or manifest on another host: objects that are missing.
    Remote,
    /// A component, a patch or a configuration on another host: it may change any object.
    RemoteChange,
    /// A file of a generator on another host: the object is made, its content is unknown.
    RemoteContent,
    /// A chart that kustomize would render with helm.
    Helm,
    /// A plugin that isn't built in.
    Plugin,
    /// The content hash in a name of other than a ConfigMap or Secret.
    Hash,
}

impl Omitted {
    /// Whether it may change objects that are there.
    pub fn may_change(self) -> bool {
        matches!(self, Omitted::RemoteChange | Omitted::Plugin)
    }

    /// What it is under "not checked".
    pub fn unchecked(self) -> Unchecked {
        match self {
            Omitted::Remote | Omitted::RemoteChange => Unchecked::RemoteBase,
            Omitted::RemoteContent => Unchecked::RemoteFile,
            Omitted::Helm => Unchecked::HelmChart,
            Omitted::Plugin => Unchecked::KustomizePlugin,
            Omitted::Hash => Unchecked::ContentHash,
        }
    }
}

impl fmt::Display for Partial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.what.unchecked(), self.name)
    }
}
