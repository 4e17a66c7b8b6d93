//! Which lists of a type merge by key.
//!
//! Mirrors what `kyaml/openapi` answers for kustomize: the schema of a field,
//! its patch strategy and merge keys, from the built-in schema or from a file
//! that `openapi.path` names.

use super::nodes;
use super::tables::{self, MergeKeys};
use crate::lang::yaml::{Node, NodeRef};
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// The schemas that a build merges with.
#[derive(Clone, Debug, Default)]
pub(super) struct Schemas {
    /// Whether the built-in one is used.
    builtin: bool,
    /// The file's, and whether it is used.
    custom: Option<Arc<Custom>>,
    /// Whether what is used has been settled: kustomize reads schemas when it
    /// first needs one.
    settled: bool,
}

/// The definitions of a schema file.
#[derive(Debug)]
pub(super) struct Custom {
    root: Node,
    types: FxHashMap<(String, String), Node>,
}

impl Schemas {
    /// The built-in schema is there from the start, as in Flux.
    pub(super) fn preloaded() -> Schemas {
        Schemas { builtin: true, custom: None, settled: true }
    }

    /// Use a file's definitions from now on, unless a file is in use already.
    pub(super) fn set(&mut self, root: Node) {
        if self.custom.is_some() {
            return;
        }
        let mut types = FxHashMap::default();
        for entry in root.get_ref().entries_at("/definitions") {
            for gvk in entry.value.get("x-kubernetes-group-version-kind").into_iter().flat_map(NodeRef::items)
            {
                let part = |key| nodes::field_text(gvk, key).into_owned();
                let (group, version) = (part("group"), part("version"));
                let api_version = if group.is_empty() { version } else { format!("{group}/{version}") };
                types.insert((api_version, part("kind")), entry.value.to_node());
            }
        }
        self.custom = Some(Arc::new(Custom { root, types }));
        self.settled = false;
    }

    /// Whether a file's definitions are in use.
    pub(super) fn is_custom(&self) -> bool {
        self.custom.is_some()
    }

    /// Settle what is used: the file's where there is one, else the built-in
    /// schema; what was in use before stays.
    pub(super) fn settle(&mut self) {
        if !self.settled {
            self.settled = true;
            self.builtin |= self.custom.is_none();
        }
    }

    /// The schema of the type that a map says to be, where it says so.
    pub(super) fn of_object(&self, node: NodeRef<'_>) -> Schema<'_> {
        if !node.is_map() {
            return Schema::Unknown;
        }
        let api_version = nodes::field_text(node, "apiVersion");
        let kind = nodes::field_text(node, "kind");
        if api_version.is_empty() || kind.is_empty() {
            return Schema::Unknown;
        }
        if let Some(custom) = &self.custom
            && let Some(definition) = custom.types.get(&(api_version.to_string(), kind.to_string()))
        {
            return Schema::Custom { root: custom.root.get_ref(), node: definition.get_ref() };
        }
        match self.builtin.then(|| builtin(&api_version, &kind)).flatten() {
            Some(schema) => Schema::Builtin(schema),
            None => Schema::Unknown,
        }
    }
}

/// A place in a schema.
#[derive(Clone, Copy, Debug)]
pub(super) enum Schema<'s> {
    /// Nothing is known.
    Unknown,
    /// In the built-in schema.
    Builtin(&'static SchemaNode),
    /// In a schema file.
    Custom { root: NodeRef<'s>, node: NodeRef<'s> },
}

impl<'s> Schema<'s> {
    /// This, or where it is unknown the other.
    pub(super) fn or_else(self, other: impl FnOnce() -> Schema<'s>) -> Schema<'s> {
        if matches!(self, Schema::Unknown) { other() } else { self }
    }

    /// The schema of a field.
    pub(super) fn field(self, key: &str) -> Schema<'s> {
        match self {
            Schema::Unknown => Schema::Unknown,
            Schema::Builtin(node) => node.fields.get(key).map_or(Schema::Unknown, Schema::Builtin),
            Schema::Custom { root, node } => {
                let property = node.get("properties").and_then(|properties| properties.get(key));
                let value = || node.get("additionalProperties").filter(|value| value.is_map());
                resolve(root, property.or_else(value))
            }
        }
    }

    /// The schema of a list's elements.
    pub(super) fn elements(self) -> Schema<'s> {
        match self {
            Schema::Unknown => Schema::Unknown,
            Schema::Builtin(node) => node.elements.as_deref().map_or(Schema::Unknown, Schema::Builtin),
            Schema::Custom { root, node } => resolve(root, node.get("items")),
        }
    }

    /// The keys by which a list merges, `[""]` for scalars; `None` where it is
    /// replaced.
    pub(super) fn merge_keys(self) -> Option<Vec<String>> {
        match self {
            Schema::Unknown => None,
            Schema::Builtin(node) => Some(node.keys?.iter().map(|key| (*key).to_owned()).collect()),
            Schema::Custom { node, .. } => {
                let strategy = node.get("x-kubernetes-patch-strategy").map(nodes::text)?;
                if !strategy.contains("merge") {
                    return None;
                }
                let text = |node: NodeRef<'_>| nodes::text(node).into_owned();
                let list = node.get("x-kubernetes-list-map-keys");
                let keys: Vec<String> = match list {
                    Some(list) => list.items().map(text).collect(),
                    None => node.get("x-kubernetes-patch-merge-key").map(text).into_iter().collect(),
                };
                Some(if keys.is_empty() { vec![String::new()] } else { keys })
            }
        }
    }
}

/// References that are followed one after another.
const REFERENCE_LIMIT: usize = 16;

fn resolve<'s>(root: NodeRef<'s>, node: Option<NodeRef<'s>>) -> Schema<'s> {
    let Some(mut node) = node else { return Schema::Unknown };
    for _ in 0..REFERENCE_LIMIT {
        let Some(reference) = node.get("$ref").map(nodes::text) else {
            return Schema::Custom { root, node };
        };
        let name = reference.strip_prefix("#/definitions/");
        match name.and_then(|name| root.get("definitions")?.get(name)) {
            Some(definition) => node = definition,
            None => return Schema::Unknown,
        }
    }
    Schema::Unknown
}

/// A part of the built-in schema: only what leads to lists that merge.
#[derive(Debug, Default)]
pub(super) struct SchemaNode {
    fields: FxHashMap<&'static str, SchemaNode>,
    elements: Option<Box<SchemaNode>>,
    keys: Option<&'static [&'static str]>,
}

impl SchemaNode {
    fn add(&mut self, path: &'static str, keys: &'static [&'static str]) {
        let mut node = self;
        for step in path.split('.').filter(|step| !step.is_empty()) {
            let name = step.strip_suffix("[]").unwrap_or(step);
            node = node.fields.entry(name).or_default();
            if name != step {
                node = node.elements.get_or_insert_default();
            }
        }
        node.keys = Some(keys);
    }

    fn add_at(&mut self, place: &'static str, lists: MergeKeys) {
        let mut node = self;
        for step in place.split('.') {
            node = node.fields.entry(step).or_default();
        }
        for (path, keys) in lists {
            node.add(path, keys);
        }
    }
}

fn builtin(api_version: &str, kind: &str) -> Option<&'static SchemaNode> {
    static TYPES: OnceLock<FxHashMap<&'static str, Vec<(&'static str, SchemaNode)>>> = OnceLock::new();
    let types = TYPES.get_or_init(|| {
        let mut types: FxHashMap<&'static str, Vec<_>> = FxHashMap::default();
        for built_in in tables::MERGE_TYPES {
            let mut root = SchemaNode::default();
            for place in built_in.metadata {
                root.add_at(place, tables::OBJECT_META);
            }
            if !built_in.pod_spec.is_empty() {
                root.add_at(built_in.pod_spec, tables::POD_SPEC);
            }
            for (path, keys) in built_in.lists {
                root.add(path, keys);
            }
            types.entry(built_in.kind).or_default().push((built_in.api_version, root));
        }
        types
    });
    types.get(kind)?.iter().find(|(known, _)| *known == api_version).map(|(_, schema)| schema)
}
