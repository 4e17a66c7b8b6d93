//! Objects of the source view: documents with apiVersion and kind, items of
//! lists included.

use crate::lang::yaml::{Node, NodeRef, Source};
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::cell::RefCell;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// What identifies an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// What names an object whatever version of its API it is written in: what is looked up
/// and compared. In this order objects are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name<'n> {
    /// The API group; empty for the core group.
    pub group: &'n str,
    /// `kind`.
    pub kind: &'n str,
    /// `metadata.namespace`.
    pub namespace: Option<&'n str>,
    /// `metadata.name`.
    pub name: &'n str,
}

impl<'n> Name<'n> {
    /// Of its parts.
    pub fn new(group: &'n str, kind: &'n str, namespace: Option<&'n str>, name: &'n str) -> Name<'n> {
        Name { group, kind, namespace, name }
    }
}

/// What a reference calls an object, which has no group where it can only be Flux's.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Called {
    /// `kind`.
    pub kind: Arc<str>,
    /// `metadata.namespace`.
    pub namespace: Option<Arc<str>>,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl Called {
    /// Of its parts.
    pub fn new(kind: &str, namespace: Option<&str>, name: &str) -> Called {
        Called { kind: kind.into(), namespace: namespace.map(Arc::from), name: name.into() }
    }

    /// Whether it is what an object is called.
    pub fn is(&self, id: &ObjectId) -> bool {
        self.kind == id.kind && self.name == id.name && self.namespace == id.namespace
    }
}

impl fmt::Display for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

impl Object {
    /// The path of its file, as seen from the root.
    pub fn path(&self) -> &Arc<str> {
        self.source.file.shown()
    }
}

impl ObjectId {
    /// The identity that a node states, when it has apiVersion and kind.
    pub fn of(node: NodeRef<'_>) -> Option<ObjectId> {
        let stated = |key: &str| node.get(key)?.as_str().filter(|text| !text.is_empty());
        let api_version = stated("apiVersion")?;
        let kind = stated("kind")?;
        let metadata = node.get("metadata");
        let text = |key: &str| metadata?.get(key).filter(|node| !node.is_null()).and_then(with_unknown_parts);
        Some(ObjectId {
            api_version: shared(&api_version),
            kind: shared(&kind),
            namespace: text("namespace").filter(|text| !text.is_empty()).map(|text| shared(&text)),
            name: text("name").unwrap_or_default().as_ref().into(),
        })
    }

    /// What names it.
    pub fn named(&self) -> Name<'_> {
        Name::new(self.group(), &self.kind, self.namespace.as_deref(), &self.name)
    }

    /// What references call it.
    pub fn called(&self) -> Called {
        Called { kind: self.kind.clone(), namespace: self.namespace.clone(), name: self.name.clone() }
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        // Asked of every object by most rules; the texts are short.
        let slash = self.api_version.bytes().rposition(|byte| byte == b'/');
        slash.map_or("", |at| &self.api_version[..at])
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

/// One word that many objects have, held once by each thread: that two are the same is
/// then told by where they are.
fn shared(word: &str) -> Arc<str> {
    thread_local! {
        static WORDS: RefCell<FxHashSet<Arc<str>>> = RefCell::default();
    }
    WORDS.with_borrow_mut(|words| {
        if let Some(known) = words.get(word) {
            return known.clone();
        }
        if words.len() >= WORDS_LIMIT {
            words.clear();
        }
        let new: Arc<str> = word.into();
        words.insert(new.clone());
        new
    })
}

/// Words that a thread holds at a time.
const WORDS_LIMIT: usize = 4096;

/// By the fields in their order.
impl Ord for ObjectId {
    fn cmp(&self, other: &ObjectId) -> Ordering {
        let word = |one: &Arc<str>, other: &Arc<str>| match Arc::ptr_eq(one, other) {
            true => Ordering::Equal,
            false => one.cmp(other),
        };
        let namespace = || match (&self.namespace, &other.namespace) {
            (Some(one), Some(other)) => word(one, other),
            (one, other) => one.is_some().cmp(&other.is_some()),
        };
        word(&self.api_version, &other.api_version)
            .then_with(|| word(&self.kind, &other.kind))
            .then_with(namespace)
            .then_with(|| word(&self.name, &other.name))
    }
}

impl PartialOrd for ObjectId {
    fn partial_cmp(&self, other: &ObjectId) -> Option<Ordering> {
        Some(self.cmp(other))
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
    pub id: ObjectId,
    pub node: Node,
    /// The document that holds it.
    pub source: Arc<Source>,
}

/// Objects of a document: itself, or the items of a `kind: List`.
pub(crate) fn objects_of(source: &Arc<Source>, out: &mut Vec<Object>) {
    if source.document().tokens.is_empty() {
        return;
    }
    let root = source.root();
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
