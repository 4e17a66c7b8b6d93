//! Objects of the source view: documents with apiVersion and kind, items of
//! lists included.

use crate::yaml::{Node, NodeRef, Source};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What identifies an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// `apiVersion` as written.
    pub api_version: Arc<str>,
    /// `kind`.
    pub kind: Arc<str>,
    /// `metadata.namespace`, when present and not empty. Unknown parts of it and
    /// of the name are `?`, which stands in no name of Kubernetes.
    pub namespace: Option<Arc<str>>,
    /// `metadata.name`; empty where there is none.
    pub name: Arc<str>,
}

impl ObjectId {
    /// The identity that a node states, when it has apiVersion and kind.
    pub fn of(node: NodeRef<'_>) -> Option<ObjectId> {
        let text =
            |pointer: &str| node.at(pointer).filter(|node| !node.is_null()).and_then(with_unknown_parts);
        let api_version = node.str_at("/apiVersion").filter(|text| !text.is_empty())?;
        let kind = node.str_at("/kind").filter(|text| !text.is_empty())?;
        Some(ObjectId {
            api_version: api_version.as_ref().into(),
            kind: kind.as_ref().into(),
            namespace: text("/metadata/namespace")
                .filter(|text| !text.is_empty())
                .map(|text| text.as_ref().into()),
            name: text("/metadata/name").unwrap_or_default().as_ref().into(),
        })
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// Whether a part of its name or namespace is unknown.
    pub fn is_unknown(&self) -> bool {
        self.name.contains('?') || self.namespace.as_deref().is_some_and(|namespace| namespace.contains('?'))
    }

    /// The API version without its group.
    pub fn version(&self) -> &str {
        self.api_version.rsplit_once('/').map_or(&*self.api_version, |(_, version)| version)
    }

    /// Whether it is of this group and kind.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        &*self.kind == kind && self.group() == group
    }
}

/// A scalar's text with `?` for what is unknown.
fn with_unknown_parts(node: NodeRef<'_>) -> Option<Cow<'_, str>> {
    match node.holes() {
        Some(holes) => Some(holes.parts.iter().map(|part| part.as_deref().unwrap_or("?")).collect()),
        None if node.is_unknown() => Some(Cow::Borrowed("?")),
        None => node.text(),
    }
}

/// `Kind namespace/name`, as messages name objects.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.namespace, &*self.name) {
            (_, "") => write!(f, "{}", self.kind),
            (Some(namespace), name) => write!(f, "{} {namespace}/{name}", self.kind),
            (None, name) => write!(f, "{} {name}", self.kind),
        }
    }
}

/// An object as written.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its identity.
    pub id: ObjectId,
    /// Its root.
    pub node: Node,
    /// The document that holds it.
    pub source: Arc<Source>,
}

/// Objects of a document: itself, or the items of a `kind: List`.
pub(crate) fn objects_of(source: &Arc<Source>, out: &mut Vec<Object>) {
    if source.document().tokens.is_empty() {
        return;
    }
    let root = Node::Source(source.clone(), 0);
    let Some(id) = ObjectId::of(root.get_ref()) else {
        return;
    };
    if &*id.kind == "List" && &*id.api_version == "v1" {
        for item in root.get_ref().items_at("/items") {
            if let Some(id) = ObjectId::of(item) {
                out.push(Object { id, node: item.to_node(), source: source.clone() });
            }
        }
        return;
    }
    out.push(Object { id, node: root, source: source.clone() });
}
