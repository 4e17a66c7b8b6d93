//! The one node handle: a token of a source document or a node built by a
//! transformer. Transformers copy only the path from the root to a changed leaf
//! and share the rest, so memory follows the number of changes.

mod compare;
mod embed;
mod entries;
mod map;
mod reference;

pub(crate) use embed::{Embed, EmbedPart};
pub(crate) use map::Map;
pub use reference::{EntryRef, NodeKind, NodeRef};
use reference::{follow, source_text};

use super::Stream;
use super::known::{Holes, Known};
use super::location::{FilePath, Location, Via};
use super::resolve::{Dialect, Scalar};
use super::tape::Document;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// One document at its place in the repository.
#[derive(Debug)]
pub struct Source {
    /// The file.
    pub file: FilePath,
    /// The parsed text.
    pub stream: Arc<Stream>,
    /// Index of the document in the stream.
    pub index: u32,
    /// Set where the text lies inside a scalar of the file.
    pub embed: Option<Embed>,
    /// What everything in the document went through: the entry that applies it
    /// where it is a patch, the component that it belongs to.
    pub via: Vec<Via>,
}

impl Source {
    /// The document's tape.
    #[inline]
    pub fn document(&self) -> &Document {
        &self.stream.documents[self.index as usize]
    }

    /// Whether both are one document at one place, perhaps read twice.
    fn is_same(&self, other: &Source) -> bool {
        let same_text = || Arc::ptr_eq(&self.stream, &other.stream) || self.stream.text == other.stream.text;
        self.file == other.file
            && self.index == other.index
            && self.via == other.via
            && self.embed == other.embed
            && same_text()
    }

    /// The location of a byte range of the document's own text.
    pub fn location(&self, range: Range<u32>) -> Location {
        let range = match &self.embed {
            None => range,
            Some(embed) => embed.outer(range),
        };
        Location { file: self.file.clone(), start: range.start, end: range.end, via: self.via.clone() }
    }
}

impl Source {
    /// The root of the document; of one that holds nothing, and of one that can't be read,
    /// null.
    pub fn root(self: &Arc<Source>) -> Node {
        match self.document().tokens.is_empty() {
            true => Node::scalar(Value::Null, Some(self.location(0..0))),
            false => Node::Source(self.clone(), 0),
        }
    }
}

/// An owned node. Cloning is a reference count.
#[derive(Clone, Debug)]
pub enum Node {
    /// A token of a source document.
    Source(Arc<Source>, u32),
    /// A node that a transformer made.
    Built(Arc<Built>),
}

/// A node that a transformer made or copied to change something below it.
#[derive(Clone, Debug)]
pub struct Built {
    pub value: Value,
    /// Where it came from; `None` for what no text says (a default).
    pub origin: Option<Origin>,
}

/// Where a built node came from.
#[derive(Clone, Debug)]
pub enum Origin {
    /// The token that it is a copy of.
    Token(Arc<Source>, u32),
    /// A place in a text.
    Text(Arc<Location>),
    /// A place in a text, of a value that is written in another style than there:
    /// in that of the value that it replaced.
    Styled(Arc<Location>, Style),
    /// Several places, of a value that a template made.
    Several(Arc<Places>),
}

/// The places of a value that a template made.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Places {
    /// The one to change, then the others in the order of their influence; never empty.
    pub(crate) all: Vec<Location>,
    /// How many of them the value comes from; the others decided that there is one.
    pub(crate) own: usize,
}

/// How kustomize writes a node on its way. Other scalars can come out of it than
/// went in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A scalar without quotes.
    Plain,
    /// A scalar in quotes or a literal one.
    Quoted,
    /// A folded scalar.
    Folded,
    /// A collection in lines.
    Block,
    /// A collection between brackets or braces.
    Flow,
}

impl Origin {
    pub fn location(&self) -> Location {
        match self {
            Origin::Token(source, token) => {
                let token = &source.document().tokens[*token as usize];
                source.location(token.start..token.end)
            }
            Origin::Text(location) | Origin::Styled(location, _) => (**location).clone(),
            Origin::Several(places) => places.all[0].clone(),
        }
    }

    /// All places that a value comes from, the one to change first.
    pub fn of_all(all: Vec<Location>) -> Option<Origin> {
        let own = all.len();
        Origin::of_places(Places { all, own })
    }

    /// Of several places, if any.
    pub(crate) fn of_places(mut places: Places) -> Option<Origin> {
        match places.all.len() {
            0 => None,
            1 => places.all.pop().map(Origin::from),
            _ => Some(Origin::Several(Arc::new(places))),
        }
    }
}

impl Built {
    /// The style that it took over from what it replaced.
    pub fn style(&self) -> Option<Style> {
        match self.origin {
            Some(Origin::Styled(_, style)) => Some(style),
            _ => None,
        }
    }
}

impl From<Location> for Origin {
    fn from(location: Location) -> Origin {
        Origin::Text(Arc::new(location))
    }
}

/// The value of a built node.
#[derive(Clone, Debug)]
pub enum Value {
    /// null
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    /// A float.
    Float(f64),
    /// A string.
    Str(Arc<str>),
    /// A scalar that a transformer wrote without a type: it is what a plain
    /// scalar of this text is, as in kustomize's untagged nodes.
    Plain(Arc<str>),
    /// A string with unknown parts.
    Holes(Holes),
    /// A value of any type that is unknown offline, and why.
    Unknown(Arc<str>),
    /// A list.
    Seq(Vec<Node>),
    /// A map in order; keys are unique.
    Map(Map),
}

/// One entry of a built map.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key, a scalar.
    pub key: Node,
    pub value: Node,
}

impl Entry {
    /// The key's text.
    pub fn key_text(&self) -> Cow<'_, str> {
        self.key.get_ref().text().unwrap_or_default()
    }

    /// As a reader sees it.
    fn as_ref(&self) -> EntryRef<'_> {
        EntryRef { key: self.key_text(), key_node: self.key.get_ref(), value: self.value.get_ref() }
    }

    /// Whether the key has this text.
    fn has_key(&self, key: &str) -> bool {
        match self.key.get_ref() {
            NodeRef::Source(source, token) if !key.is_empty() => entries::is_text(source, token, key),
            NodeRef::Built(built) => match &built.value {
                Value::Str(text) => **text == *key,
                _ => self.key_text() == key,
            },
            NodeRef::Source(..) => self.key_text() == key,
        }
    }
}

impl Node {
    /// What tells it from other nodes: equal where two handles are of one node.
    pub fn address(&self) -> (usize, u32) {
        match self {
            Node::Source(source, token) => (Arc::as_ptr(source) as usize, *token),
            Node::Built(built) => (Arc::as_ptr(built) as usize, u32::MAX),
        }
    }

    /// A built scalar.
    pub fn scalar(value: Value, origin: Option<Location>) -> Node {
        Node::Built(Arc::new(Built { value, origin: origin.map(Origin::from) }))
    }

    /// A built string.
    pub fn string(text: &str, origin: Option<Location>) -> Node {
        Node::scalar(Value::Str(text.into()), origin)
    }

    /// A built empty map.
    pub fn empty_map(origin: Option<Location>) -> Node {
        Node::scalar(Value::Map(Map::default()), origin)
    }

    /// The reader's handle.
    pub fn get_ref(&self) -> NodeRef<'_> {
        match self {
            Node::Source(source, token) => NodeRef::Source(source, follow(source, *token)),
            Node::Built(built) => NodeRef::Built(built),
        }
    }

    /// Whether both are the same node, not only equal.
    pub fn is(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Source(a, left), Node::Source(b, right)) => left == right && Arc::ptr_eq(a, b),
            (Node::Built(a), Node::Built(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// The built node behind this handle, copied from the source first where it
    /// still is one. Children of a copied collection stay source tokens. The
    /// location of the source is kept as the origin.
    pub fn make_built(&mut self) -> &mut Built {
        if let Node::Source(source, token) = self {
            let built = build_shallow(NodeRef::Source(source, follow(source, *token)));
            *self = Node::Built(Arc::new(built));
        }
        match self {
            Node::Built(built) => Arc::make_mut(built),
            Node::Source(..) => unreachable!("converted above"),
        }
    }

    /// The entries of a map, ready to be changed; `None` when it is no map.
    pub fn make_map(&mut self) -> Option<&mut Map> {
        match &mut self.make_built().value {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items of a list, ready to be changed; `None` when it is no list.
    pub fn make_seq(&mut self) -> Option<&mut Vec<Node>> {
        match &mut self.make_built().value {
            Value::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// The value of a key, ready to be changed; `None` when it is absent or
    /// this is no map. The path down to it is copied only when it exists.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.get_ref().get(key)?;
        self.make_map()?.value_mut(key)
    }

    /// Set a key of a map, at its place when it exists, else at the end. False
    /// when this is no map.
    pub fn set(&mut self, key: &str, value: Node, key_origin: Option<Location>) -> bool {
        let Some(entries) = self.make_map() else {
            return false;
        };
        entries.set(key, value, || Node::string(key, key_origin));
        true
    }

    /// Remove a key of a map and give its value.
    pub fn remove(&mut self, key: &str) -> Option<Node> {
        self.get_ref().get(key)?;
        self.make_map()?.take(key).map(|entry| entry.value)
    }
}

fn build_shallow(node: NodeRef<'_>) -> Built {
    let origin = match node {
        NodeRef::Source(source, token) => Some(Origin::Token(source.clone(), token)),
        NodeRef::Built(built) => built.origin.clone(),
    };
    let value = match node.kind() {
        NodeKind::Map => Value::Map(
            node.entries()
                .map(|entry| Entry { key: entry.key_node.to_node(), value: entry.value.to_node() })
                .collect(),
        ),
        NodeKind::Seq => Value::Seq(node.items().map(NodeRef::to_node).collect()),
        NodeKind::Scalar => match node.scalar(Dialect::GoYamlV3) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => Value::Int(value),
            Scalar::Uint(value) => Value::Uint(value),
            Scalar::Float(value) => Value::Float(value),
            Scalar::Timestamp(text) | Scalar::Str(text) => Value::Str(text.as_ref().into()),
        },
        NodeKind::Unknown => Value::Unknown("unknown".into()),
    };
    Built { value, origin }
}
