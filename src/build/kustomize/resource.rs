//! An object on its way through a build, with the history that kustomize keeps
//! in annotations: earlier ids, prefixes and suffixes, whether a hash is wanted.
//!
//! Mirrors `api/resource/resource.go` and `api/internal/utils/annotations.go`.

use super::error::BuildError;
use super::id::ResId;
use super::nodes;
use crate::lang::yaml::{Dialect, EntryRef, Location, Node, NodeRef, Scalar, Value};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// An object that a build makes.
#[derive(Clone, Debug)]
pub struct Resource {
    pub node: Node,
    /// The files that it was made from, first the one that defines it.
    pub files: Vec<FileUse>,
    /// Its current id.
    pub(super) id: ResId,
    /// Earlier ids, oldest first.
    pub(super) previous: Vec<ResId>,
    /// Prefixes that its name was given, innermost first.
    pub(super) prefixes: Vec<Arc<str>>,
    /// Suffixes, likewise.
    pub(super) suffixes: Vec<Arc<str>>,
    /// Whether its name ends in a hash of its content.
    pub(super) needs_hash: bool,
    /// What a generated object does to one of the same id.
    pub(super) behavior: Behavior,
    /// Names of the vars that read from it.
    pub(super) vars: Vec<Arc<str>>,
    /// Why it can't be written, if it can't.
    pub(super) defect: Option<Arc<BuildError>>,
    /// Whether it has scalars that change on their way out.
    pub(super) changes_in_passing: bool,
    /// Whether a transformer may have made it one that can't.
    pub(super) suspect: bool,
    /// Values that several of its fields have in common, by their key; see
    /// [`Resource::write_through`].
    pub(super) common: BTreeMap<Arc<str>, Vec<Node>>,
    /// What `buildMetadata` would say about it.
    pub(super) traces: Option<Box<Traces>>,
}

/// A file that an object was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileUse {
    /// What it did.
    pub role: FileRole,
    /// Where: the object, the entry of the patch, the generator.
    pub location: Arc<Location>,
}

/// What a file did for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileRole {
    /// It holds the object and the kustomization that was built names it.
    Resource,
    /// It holds the object and a base names it.
    Base,
    /// It holds the object and a component names it.
    Component,
    /// It patched the object.
    Patch,
    /// It generated the object or a part of it.
    Generator,
    /// It defines a variable that was substituted in the object.
    Substitution,
}

impl FileRole {
    /// The name in the JSON contract.
    pub fn name(self) -> &'static str {
        match self {
            FileRole::Resource => "resource",
            FileRole::Base => "base",
            FileRole::Component => "component",
            FileRole::Patch => "patch",
            FileRole::Generator => "generator",
            FileRole::Substitution => "substitution",
        }
    }
}

/// `behavior` of a generator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Behavior {
    /// Not stated, or no known word.
    #[default]
    Unspecified,
    /// A new object.
    Create,
    /// Replaces an existing one.
    Replace,
    /// Merges into an existing one.
    Merge,
}

impl Behavior {
    /// Mirrors `types.NewGenerationBehavior`.
    pub(super) fn parse(text: &str) -> Behavior {
        match text {
            "create" => Behavior::Create,
            "replace" => Behavior::Replace,
            "merge" => Behavior::Merge,
            _ => Behavior::Unspecified,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Behavior::Unspecified => "unspecified",
            Behavior::Create => "create",
            Behavior::Replace => "replace",
            Behavior::Merge => "merge",
        }
    }
}

/// Where an object came from and what changed it, as `buildMetadata` tells it.
#[derive(Clone, Debug, Default)]
pub(super) struct Traces {
    /// The path of its file from the root, where it has one.
    pub path: Option<Arc<str>>,
    /// `config.kubernetes.io/origin`.
    pub origin: Option<Arc<str>>,
    /// Items of `alpha.config.kubernetes.io/transformations`.
    pub transformations: Vec<Arc<str>>,
}

const PREFIX: &str = "internal.config.kubernetes.io/";
const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";
const PREVIOUS_NAMESPACES: &str = "internal.config.kubernetes.io/previousNamespaces";
const PREVIOUS_KINDS: &str = "internal.config.kubernetes.io/previousKinds";
const PREFIXES: &str = "internal.config.kubernetes.io/prefixes";
const SUFFIXES: &str = "internal.config.kubernetes.io/suffixes";
const NEEDS_HASH: &str = "internal.config.kubernetes.io/needsHashSuffix";
const BEHAVIOR: &str = "internal.config.kubernetes.io/generatorBehavior";

/// Annotations that never reach the output.
///
/// Mirrors `resource.BuildAnnotations`.
const REMOVED: &[&str] = &[
    PREVIOUS_KINDS,
    PREVIOUS_NAMES,
    PREFIXES,
    SUFFIXES,
    PREVIOUS_NAMESPACES,
    "internal.config.kubernetes.io/allowNameChange",
    "internal.config.kubernetes.io/allowKindChange",
    "internal.config.kubernetes.io/refBy",
    BEHAVIOR,
    NEEDS_HASH,
    "internal.config.kubernetes.io/path",
    "internal.config.kubernetes.io/index",
    "internal.config.kubernetes.io/seqindent",
    "internal.config.kubernetes.io/id",
    "internal.config.kubernetes.io/annotations-migration-resource-id",
    "internal.config.kubernetes.io/helm-generated",
    "config.kubernetes.io/path",
    "config.kubernetes.io/index",
    "config.k8s.io/id",
];

/// Marks an object that takes part in a build and is left out of its result.
const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
/// Where an object came from, with `buildMetadata: [originAnnotations]`.
pub(super) const ORIGIN: &str = "config.kubernetes.io/origin";
/// What changed it, with `buildMetadata: [transformerAnnotations]`.
pub(super) const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";

impl Resource {
    /// An object as read or generated.
    pub(super) fn new(node: Node, role: FileRole, location: Option<Location>) -> Resource {
        let id = ResId::of(node.get_ref());
        let files = location.map(|location| FileUse { role, location: Arc::new(location) });
        let mut resource = Resource {
            node,
            files: files.into_iter().collect(),
            id,
            previous: Vec::new(),
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            needs_hash: false,
            behavior: Behavior::Unspecified,
            vars: Vec::new(),
            defect: None,
            changes_in_passing: false,
            suspect: false,
            common: BTreeMap::new(),
            traces: None,
        };
        resource.absorb_history();
        resource
    }

    /// Where the object is written.
    pub fn location(&self) -> Option<Location> {
        self.files.first().map(|file| (*file.location).clone())
    }

    /// Read the id anew after a change.
    pub(super) fn sync(&mut self) {
        let id = ResId::of(self.node.get_ref());
        if id.gvk.api_version != self.id.gvk.api_version {
            for previous in &mut self.previous {
                *previous = ResId::new(
                    &id.gvk.api_version,
                    &previous.gvk.kind,
                    previous.name.clone(),
                    previous.namespace.clone(),
                );
            }
        }
        self.id = id;
    }

    /// Remember the current id.
    pub(super) fn store_previous_id(&mut self) {
        let mut id = self.id.clone();
        id.namespace = id.effective_namespace().into();
        // A patch after a patch remembers nothing new.
        if self.previous.last() != Some(&id) {
            self.previous.push(id);
        }
    }

    /// The first id.
    pub(super) fn original_id(&self) -> &ResId {
        self.previous.first().unwrap_or(&self.id)
    }

    /// Earlier ids and the current one.
    pub(super) fn ids(&self) -> impl Iterator<Item = &ResId> {
        self.previous.iter().chain(std::iter::once(&self.id))
    }

    /// The history as the annotations that kustomize would have written.
    pub(super) fn internal_annotations(&self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let mut push = |key, parts: Vec<&str>| {
            if !parts.is_empty() {
                found.push((key, parts.join(",")));
            }
        };
        push(PREVIOUS_NAMES, self.previous.iter().map(|id| &*id.name).collect());
        push(PREVIOUS_NAMESPACES, self.previous.iter().map(|id| &*id.namespace).collect());
        push(PREVIOUS_KINDS, self.previous.iter().map(|id| &*id.gvk.kind).collect());
        push(PREFIXES, self.prefixes.iter().map(|text| &**text).collect());
        push(SUFFIXES, self.suffixes.iter().map(|text| &**text).collect());
        if self.needs_hash {
            found.push((NEEDS_HASH, "enabled".to_owned()));
        }
        if self.behavior != Behavior::Unspecified {
            found.push((BEHAVIOR, self.behavior.name().to_owned()));
        }
        found
    }

    /// Write the history and the traces into the object's annotations, where
    /// kustomize has them.
    pub(super) fn expose_history(&mut self) {
        for (key, value) in self.internal_annotations() {
            self.set_annotation(key, Node::string(&value, None));
        }
        for (key, value) in self.traces.as_deref().map(Traces::annotations).unwrap_or_default() {
            self.set_annotation(key, Node::string(&value, None));
        }
    }

    /// Take the traces out of the object's annotations again; forget what a patch
    /// has removed.
    pub(super) fn absorb_traces(&mut self) {
        let Some(traces) = self.traces.as_deref_mut() else { return };
        let mut annotations =
            self.node.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"));
        let mut taken = |key: &str| annotations.as_mut().and_then(|map| map.remove(key)).is_some();
        if !taken(ORIGIN) {
            traces.origin = None;
        }
        if !taken(TRANSFORMATIONS) {
            traces.transformations.clear();
        }
    }

    /// Forget the traces, as happens when a patch clears all annotations.
    pub(super) fn forget_traces(&mut self) {
        if let Some(traces) = self.traces.as_deref_mut() {
            traces.origin = None;
            traces.transformations.clear();
        }
    }

    /// Set one annotation, making the maps on the way.
    pub(super) fn set_annotation(&mut self, key: &str, value: Node) {
        for (at, field) in [("metadata", None), ("annotations", Some("metadata"))] {
            let parent = match field {
                None => Some(&mut self.node),
                Some(parent) => self.node.get_mut(parent),
            };
            let Some(parent) = parent else { return };
            if nodes::kind(parent.get_ref().get(at)) == nodes::Kind::Null {
                nodes::set_entry(parent, at, Node::empty_map(None), None);
            }
        }
        let annotations = self.node.get_mut("metadata").and_then(|node| node.get_mut("annotations"));
        if let Some(annotations) = annotations {
            nodes::set_entry(annotations, key, value, None);
        }
    }

    /// Take a history out of the object's annotations, where an input file or a
    /// patch may have put or kept one.
    pub(super) fn absorb_history(&mut self) {
        let Some(annotations) = self.node.get_ref().at("/metadata/annotations") else { return };
        if !annotations.entries().any(|entry| REMOVED.contains(&&*entry.key)) {
            return;
        }
        let list = |key: &str| -> Vec<Arc<str>> {
            let text = annotations.get(key).map(|node| nodes::text(node).into_owned());
            text.map_or(Vec::new(), |text| text.split(',').map(Arc::from).collect())
        };
        let (names, namespaces, kinds) =
            (list(PREVIOUS_NAMES), list(PREVIOUS_NAMESPACES), list(PREVIOUS_KINDS));
        let previous: Vec<ResId> = names
            .into_iter()
            .zip(namespaces)
            .zip(kinds)
            .map(|((name, namespace), kind)| ResId::new(&self.id.gvk.api_version, &kind, name, namespace))
            .collect();
        let (prefixes, suffixes) = (list(PREFIXES), list(SUFFIXES));
        let needs_hash = annotations.get(NEEDS_HASH).is_some_and(|node| nodes::text(node) == "enabled");
        let behavior = annotations
            .get(BEHAVIOR)
            .map_or(Behavior::Unspecified, |node| Behavior::parse(&nodes::text(node)));
        let present: Vec<String> = annotations
            .entries()
            .map(|entry| entry.key.into_owned())
            .filter(|key| REMOVED.contains(&key.as_str()))
            .collect();
        self.previous = previous;
        self.prefixes = prefixes;
        self.suffixes = suffixes;
        self.needs_hash = needs_hash;
        self.behavior = behavior;
        for key in present {
            if let Some(node) = self.node.get_mut("metadata").and_then(|node| node.get_mut("annotations")) {
                node.remove(&key);
            }
        }
    }

    /// Forget the history, as happens when a patch clears all annotations.
    pub(super) fn forget_history(&mut self) {
        self.previous.clear();
        self.prefixes.clear();
        self.suffixes.clear();
        self.needs_hash = false;
        self.behavior = Behavior::Unspecified;
    }

    /// Labels or annotations as kustomize's selectors see them: key and value
    /// texts, of annotations with the history.
    pub(super) fn metadata_map(&self, field: &str) -> Vec<(String, String)> {
        let map = self.node.get_ref().get("metadata").and_then(|metadata| metadata.get(field));
        let mut found = text_pairs(map);
        if field == "annotations" {
            found.extend(self.internal_annotations().into_iter().map(|(key, value)| (key.to_owned(), value)));
        }
        found
    }

    /// Whether the object is only an input of the build.
    pub(super) fn is_local_config(&self) -> bool {
        self.node
            .get_ref()
            .at("/metadata/annotations")
            .and_then(|annotations| annotations.get(LOCAL_CONFIG))
            .is_some_and(|value| nodes::text(value) != "false")
    }

    /// Make all annotations strings, as kustomize does in passing.
    pub(super) fn rewrite_annotations(&mut self) {
        self.write_annotations(true);
    }

    /// Leave annotations as the output has them: strings, without the build's
    /// own, without the field when nothing is left.
    ///
    /// Mirrors `RemoveBuildAnnotations` and what `krusty.Run` removes besides.
    pub(super) fn clean_annotations(&mut self) {
        self.write_annotations(false);
    }

    fn write_annotations(&mut self, keep_traces: bool) {
        let Some(metadata) = self.node.get_ref().get("metadata") else {
            self.node.set("metadata", Node::empty_map(None), None);
            return;
        };
        let Some(annotations) = metadata.get("annotations") else {
            if nodes::kind(Some(metadata)) == nodes::Kind::Null {
                self.node.set("metadata", Node::empty_map(None), None);
            }
            return;
        };
        let removed =
            |key: &str| REMOVED.contains(&key) || !keep_traces && matches!(key, ORIGIN | TRANSFORMATIONS);
        let clean = annotations.is_map()
            && annotations.entries().next().is_some()
            && annotations.entries().all(|entry| {
                !removed(&entry.key)
                    && is_string_scalar(entry.value)
                    // What is set anew is no longer folded, so that nothing
                    // refolds it on its way out.
                    && nodes::refolded(entry.value).is_none()
                    && !nodes::reads_as_other_key(&entry.key)
            });
        if clean {
            return;
        }
        let origin = annotations.location();
        let pairs = annotation_pairs(annotations);
        let mut map = Node::empty_map(origin);
        let mut any = false;
        let mut unwritable = false;
        for (key, key_at, value, value_at) in pairs {
            if !removed(&key) {
                any = true;
                map.set(&key, Node::string(&value, value_at), key_at.clone());
                if let Some(entry) = map.make_map().and_then(|entries| entries.last_mut())
                    && nodes::reads_as_other_key(&key)
                {
                    unwritable = true;
                    entry.key = nodes::untagged_key(&key, key_at.map(Arc::new).as_ref());
                }
            }
        }
        if let Some(metadata) = self.node.get_mut("metadata") {
            if any {
                metadata.set("annotations", map, None);
            } else {
                metadata.remove("annotations");
            }
        }
        self.suspect |= unwritable;
    }
}

/// Annotations as texts: each key and its place, its value and its place. A list is read
/// as keys and values in turn.
fn annotation_pairs(annotations: NodeRef<'_>) -> Vec<(String, Option<Location>, String, Option<Location>)> {
    let part = |node: NodeRef<'_>| (nodes::text(node).into_owned(), node.location());
    if annotations.is_map() {
        let pair = |entry: EntryRef<'_>| {
            let key_at = entry.key_location();
            let (value, value_at) = part(entry.value);
            (entry.key.into_owned(), key_at, value, value_at)
        };
        return annotations.entries().map(pair).collect();
    }
    let items: Vec<NodeRef<'_>> = annotations.items().collect();
    let pair = |pair: &[NodeRef<'_>]| {
        let ((key, key_at), (value, value_at)) = (part(pair[0]), part(pair[1]));
        (key, key_at, value, value_at)
    };
    items.chunks_exact(2).map(pair).collect()
}

fn is_string_scalar(node: NodeRef<'_>) -> bool {
    nodes::kind(Some(node)) == nodes::Kind::Scalar && matches!(node.scalar(Dialect::GoYamlV3), Scalar::Str(_))
}

/// Keys and values of a map as texts, the last of equal keys.
pub(super) fn text_pairs(map: Option<NodeRef<'_>>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut places: FxHashMap<Cow<'_, str>, usize> = FxHashMap::default();
    for entry in map.into_iter().flat_map(NodeRef::entries) {
        let value = nodes::text(entry.value).into_owned();
        match places.get(&entry.key) {
            Some(at) => found[*at].1 = value,
            None => {
                places.insert(entry.key.clone(), found.len());
                found.push((entry.key.into_owned(), value));
            }
        }
    }
    found
}

/// Whether a key belongs to the build itself.
pub(super) fn is_internal(key: &str) -> bool {
    key.starts_with(PREFIX)
}

/// A string that a transformer writes at a shared place.
pub(super) fn shared_string(text: &str, origin: Option<&Arc<Location>>) -> Node {
    nodes::scalar_at(Value::Str(text.into()), origin)
}
