//! A borrowed node: how readers read one, whichever kind it is of.

use super::entries::{Entries, Items, Merge, merge_entries, tape_value, tape_values};
use super::{Built, Node, Origin, Source, Value};
use crate::lang::yaml::known::Holes;
use crate::lang::yaml::location::Location;
use crate::lang::yaml::pointer::pointer_segments;
use crate::lang::yaml::resolve::{Dialect, Scalar, ScalarStyle, resolve_plain, resolve_tagged};
use crate::lang::yaml::tape::{NONE, Token, TokenKind};
use std::borrow::Cow;
use std::sync::Arc;

/// A borrowed node: what readers hold.
#[derive(Clone, Copy, Debug)]
pub enum NodeRef<'a> {
    /// A token of a source document; never an alias.
    Source(&'a Arc<Source>, u32),
    /// A built node.
    Built(&'a Arc<Built>),
}

/// One entry of a map as a reader sees it.
#[derive(Clone, Debug)]
pub struct EntryRef<'a> {
    /// The key's text.
    pub key: Cow<'a, str>,
    /// The key as a node.
    pub key_node: NodeRef<'a>,
    /// The value.
    pub value: NodeRef<'a>,
}

impl<'a> EntryRef<'a> {
    /// Where the key is written.
    pub fn key_location(&self) -> Option<Location> {
        self.key_node.location()
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A string, number, boolean or null, a string with holes included.
    Scalar,
    /// A list.
    Seq,
    /// A map.
    Map,
    /// Unknown offline; everything below it is unknown too.
    Unknown,
}

impl<'a> NodeRef<'a> {
    /// An owned handle.
    pub fn to_node(self) -> Node {
        match self {
            NodeRef::Source(source, token) => Node::Source(source.clone(), token),
            NodeRef::Built(built) => Node::Built(built.clone()),
        }
    }

    /// Which node it is, as long as somebody holds it: an address, and the token of a
    /// source document.
    pub(crate) fn address(self) -> (usize, u32) {
        match self {
            NodeRef::Source(source, token) => (Arc::as_ptr(source) as usize, token),
            NodeRef::Built(built) => (Arc::as_ptr(built) as usize, u32::MAX),
        }
    }

    /// What it is.
    #[inline]
    pub fn kind(self) -> NodeKind {
        match self {
            NodeRef::Source(source, token) => match source.document().tokens[token as usize].kind {
                TokenKind::Mapping => NodeKind::Map,
                TokenKind::Sequence => NodeKind::Seq,
                TokenKind::Scalar(_) | TokenKind::Alias => NodeKind::Scalar,
            },
            NodeRef::Built(built) => match &built.value {
                Value::Map(_) => NodeKind::Map,
                Value::Seq(_) => NodeKind::Seq,
                Value::Unknown(_) => NodeKind::Unknown,
                _ => NodeKind::Scalar,
            },
        }
    }

    /// Whether some text in it, keys included, may hold this character of ASCII, as its
    /// bytes show: false is certain, true is not. A built node may.
    pub fn may_hold(self, character: u8) -> bool {
        // An escape may write any character.
        self.extent().is_none_or(|written| memchr::memchr2(character, b'\\', written).is_some())
    }

    /// The same of a word without white space.
    pub(crate) fn may_hold_word(self, word: &memchr::memmem::Finder<'_>) -> bool {
        let holds = |written: &[u8]| word.find(written).is_some() || memchr::memchr(b'\\', written).is_some();
        self.extent().is_none_or(|written| written.len() >= word.needle().len() && holds(written))
    }

    /// The bytes of all that is in it; `None` for a built node.
    fn extent(self) -> Option<&'a [u8]> {
        let NodeRef::Source(source, at) = self else { return None };
        let document = source.document();
        // Through an alias it holds what stands elsewhere.
        let (start, end) = if document.anchors.is_empty() {
            let token = &document.tokens[at as usize];
            let last = &document.tokens[token.next.max(at + 1) as usize - 1];
            (token.start, last.end.max(token.end))
        } else {
            (document.start, document.end)
        };
        Some(&source.stream.text.as_bytes()[start as usize..end as usize])
    }

    /// Whether it is a map.
    #[inline]
    pub fn is_map(self) -> bool {
        self.kind() == NodeKind::Map
    }

    /// Whether it is a list.
    #[inline]
    pub fn is_seq(self) -> bool {
        self.kind() == NodeKind::Seq
    }

    /// Whether it or a part of it is unknown.
    pub fn is_unknown(self) -> bool {
        matches!(self, NodeRef::Built(built) if matches!(built.value, Value::Unknown(_) | Value::Holes(_)))
    }

    /// Whether it is null, written or omitted.
    pub fn is_null(self) -> bool {
        if let NodeRef::Source(source, token) = self
            && let document = source.document()
            && let token = &document.tokens[token as usize]
            && let TokenKind::Scalar(style) = token.kind
            && document.tags.is_empty()
        {
            // Of several lines none is null.
            let written = &source.stream.text[token.start as usize..token.end as usize];
            return style == ScalarStyle::Plain
                && (token.empty || matches!(written, "" | "~" | "null" | "Null" | "NULL"));
        }
        self.kind() == NodeKind::Scalar
            && !self.is_unknown()
            && matches!(self.scalar(Dialect::GoYamlV3), Scalar::Null)
    }

    /// The token behind it, `None` for a built node.
    pub fn token(self) -> Option<&'a Token> {
        match self {
            NodeRef::Source(source, token) => source.document().tokens.get(token as usize),
            NodeRef::Built(_) => None,
        }
    }

    /// The text of a scalar as written and unescaped, whatever its type: `yes`
    /// for a plain `yes`. `None` for collections, holes and built non-strings.
    pub fn text(self) -> Option<Cow<'a, str>> {
        match self {
            NodeRef::Source(source, token) => source_text(source, token),
            NodeRef::Built(built) => match &built.value {
                Value::Str(text) | Value::Plain(text) => Some(Cow::Borrowed(text)),
                Value::Bool(value) => Some(Cow::Borrowed(if *value { "true" } else { "false" })),
                Value::Int(value) => Some(Cow::Owned(value.to_string())),
                Value::Uint(value) => Some(Cow::Owned(value.to_string())),
                Value::Float(value) => Some(Cow::Owned(crate::lang::yaml::resolve::format_float(*value))),
                Value::Null => Some(Cow::Borrowed("null")),
                _ => None,
            },
        }
    }

    /// How a scalar of a source is written; built ones count as plain.
    pub fn style(self) -> ScalarStyle {
        match self.token().map(|token| token.kind) {
            Some(TokenKind::Scalar(style)) => style,
            _ => ScalarStyle::Plain,
        }
    }

    /// The scalar's value in a dialect. Built scalars have their type already;
    /// collections, holes and unknown values read as null: test for them first.
    pub fn scalar(self, dialect: Dialect) -> Scalar<'a> {
        match self {
            NodeRef::Source(source, token) => {
                let Some(text) = source_text(source, token) else {
                    return Scalar::Null;
                };
                let style = self.style();
                match source.document().tag(token) {
                    Some(tag) => resolve_tagged(text.clone(), style, Some(&tag.name), dialect)
                        .unwrap_or(Scalar::Str(text)),
                    None if style == ScalarStyle::Plain => resolve_plain(text, dialect),
                    None => Scalar::Str(text),
                }
            }
            NodeRef::Built(built) => match &built.value {
                Value::Bool(value) => Scalar::Bool(*value),
                Value::Int(value) => Scalar::Int(*value),
                Value::Uint(value) => Scalar::Uint(*value),
                Value::Float(value) => Scalar::Float(*value),
                Value::Str(text) => Scalar::Str(Cow::Borrowed(text)),
                Value::Plain(text) => resolve_plain(Cow::Borrowed(text), dialect),
                _ => Scalar::Null,
            },
        }
    }

    /// The value when it is a known string after a build (go-yaml v3 rules: a
    /// plain `yes` is one, `true` and `1` are not).
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        match self.scalar(Dialect::GoYamlV3) {
            Scalar::Str(text) if self.kind() == NodeKind::Scalar => Some(text),
            _ => None,
        }
    }

    /// The value when it is a known boolean after a build.
    pub fn as_bool(self) -> Option<bool> {
        match self.scalar(Dialect::GoYamlV3) {
            Scalar::Bool(value) => Some(value),
            _ => None,
        }
    }

    /// The value when it is a known integer after a build.
    pub fn as_int(self) -> Option<i64> {
        match self.scalar(Dialect::GoYamlV3) {
            Scalar::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The parts of a string with holes.
    pub fn holes(self) -> Option<&'a Holes> {
        match self {
            NodeRef::Built(built) => match &built.value {
                Value::Holes(holes) => Some(holes),
                _ => None,
            },
            NodeRef::Source(..) => None,
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(self) -> Items<'a> {
        match self {
            NodeRef::Source(source, token) if self.is_seq() => {
                Items::Tape { source, at: token + 1, end: source.document().tokens[token as usize].next }
            }
            NodeRef::Built(built) => match &built.value {
                Value::Seq(items) => Items::Built(items.iter()),
                _ => Items::Built([].iter()),
            },
            NodeRef::Source(..) => Items::Built([].iter()),
        }
    }

    /// The entries of a map in order, merge keys expanded as go-yaml v3 does:
    /// explicit keys win, of several merged maps the first. Keys that are no
    /// scalars are left out. None for anything else.
    pub fn entries(self) -> Entries<'a> {
        match self {
            NodeRef::Source(source, token) if self.is_map() => {
                let document = source.document();
                if document.merges {
                    let mut merged = Merge::default();
                    merge_entries(source, token, &mut merged, 0);
                    Entries::Merged(merged.entries.into_iter())
                } else {
                    let end = document.tokens[token as usize].next;
                    Entries::Tape { source, at: token + 1, end }
                }
            }
            NodeRef::Built(built) => match &built.value {
                Value::Map(entries) => Entries::Built(entries.iter()),
                _ => Entries::Built([].iter()),
            },
            NodeRef::Source(..) => Entries::Built([].iter()),
        }
    }

    /// The entry of a key.
    pub fn entry(self, key: &str) -> Option<EntryRef<'a>> {
        if let NodeRef::Built(built) = self
            && let Value::Map(entries) = &built.value
        {
            return entries.find(key).map(|at| entries[at].as_ref());
        }
        self.entries().find(|entry| entry.key == key)
    }

    /// The value of a key of a map. Below an unknown node everything is that
    /// unknown node.
    #[inline]
    pub fn get(self, key: &str) -> Option<NodeRef<'a>> {
        match self {
            NodeRef::Source(source, token) => {
                let document = source.document();
                if document.tokens[token as usize].kind != TokenKind::Mapping {
                    return None;
                }
                if document.merges {
                    return self.entry(key).map(|entry| entry.value);
                }
                tape_value(source, document, token, key).map(|value| NodeRef::Source(source, value))
            }
            NodeRef::Built(built) => match &built.value {
                Value::Map(entries) => entries.find(key).map(|at| entries[at].value.get_ref()),
                Value::Unknown(_) => Some(self),
                _ => None,
            },
        }
    }

    /// Whether a value of a key is one that is looked for; a key may be written twice.
    pub(crate) fn any_of(self, key: &str, is: impl Fn(NodeRef<'a>) -> bool) -> bool {
        match self {
            NodeRef::Source(source, token) if self.is_map() && !source.document().merges => {
                tape_values(source, token, key).any(|value| is(NodeRef::Source(source, value)))
            }
            _ => self.entries().any(|entry| entry.key == key && is(entry.value)),
        }
    }

    /// The node at a JSON Pointer (`/spec/dependsOn/0`), `""` being this one.
    pub fn at(self, pointer: &str) -> Option<NodeRef<'a>> {
        let mut node = self;
        for segment in pointer_segments(pointer) {
            node = match node.is_seq() {
                true => node.items().nth(segment.parse().ok()?)?,
                false => node.get(&segment)?,
            };
        }
        Some(node)
    }

    /// The known string at a JSON Pointer.
    pub fn str_at(self, pointer: &str) -> Option<Cow<'a, str>> {
        self.at(pointer)?.as_str()
    }

    /// The items of the list at a JSON Pointer; none where there is none.
    pub fn items_at(self, pointer: &str) -> impl Iterator<Item = NodeRef<'a>> {
        self.at(pointer).into_iter().flat_map(NodeRef::items)
    }

    /// The entries of the map at a JSON Pointer; none where there is none.
    pub fn entries_at(self, pointer: &str) -> impl Iterator<Item = EntryRef<'a>> {
        self.at(pointer).into_iter().flat_map(NodeRef::entries)
    }

    /// All places that it comes from, the one to change first: several for a value that a
    /// template made of others.
    pub fn origins(self) -> Vec<Location> {
        match self {
            NodeRef::Built(built) => match &built.origin {
                Some(Origin::Several(places)) => places.all.clone(),
                Some(origin) => vec![origin.location()],
                None => Vec::new(),
            },
            NodeRef::Source(..) => self.location().into_iter().collect(),
        }
    }

    /// As [`NodeRef::origins`], without those that only decided that there is a value.
    pub(crate) fn own_origins(self) -> Vec<Location> {
        match self {
            NodeRef::Built(built) => match &built.origin {
                Some(Origin::Several(places)) => places.all[..places.own].to_vec(),
                _ => self.origins(),
            },
            NodeRef::Source(..) => self.origins(),
        }
    }

    /// Where it is written: for a source token its own bytes (of a collection,
    /// from its first to its last child), for a built node its origin, of several the
    /// one to change.
    pub fn location(self) -> Option<Location> {
        match self {
            NodeRef::Source(source, token) => {
                let token = &source.document().tokens[token as usize];
                Some(source.location(token.start..token.end))
            }
            NodeRef::Built(built) => built.origin.as_ref().map(Origin::location),
        }
    }

    /// Where an absent or present field is to be shown: the value at the
    /// pointer, else the key of its nearest present parent.
    pub fn location_at(self, pointer: &str) -> Option<Location> {
        let mut node = self;
        let mut nearest = self.location();
        for segment in pointer_segments(pointer) {
            match node.kind() {
                NodeKind::Map => match node.entry(&segment) {
                    Some(entry) => {
                        nearest = entry.key_location().or_else(|| entry.value.location()).or(nearest);
                        node = entry.value;
                    }
                    None => return nearest,
                },
                NodeKind::Seq => match segment.parse().ok().and_then(|n: usize| node.items().nth(n)) {
                    Some(item) => {
                        nearest = item.location().or(nearest);
                        node = item;
                    }
                    None => return nearest,
                },
                _ => return nearest,
            }
        }
        node.location().or(nearest)
    }
}

/// Aliases resolve to the node that they stand for. An alias inside its own
/// anchor stays where it is: it reads as null.
pub(super) fn follow(source: &Source, token: u32) -> u32 {
    let tokens = &source.document().tokens;
    let Some(Token { kind: TokenKind::Alias, extra, .. }) = tokens.get(token as usize) else {
        return token;
    };
    match tokens.get(*extra as usize) {
        Some(target) if !(*extra <= token && token < target.next) => *extra,
        _ => token,
    }
}

#[inline]
pub(super) fn source_text<'a>(source: &'a Arc<Source>, token: u32) -> Option<Cow<'a, str>> {
    let document = source.document();
    let token = document.tokens.get(token as usize)?;
    let TokenKind::Scalar(style) = token.kind else {
        return None;
    };
    if token.empty {
        return Some(Cow::Borrowed(""));
    }
    if token.extra != NONE {
        return document.decoded.get(token.extra as usize).map(|text| Cow::Borrowed(&**text));
    }
    crate::lang::yaml::scalar::written_value(&source.stream.text, style, token.start, token.end)
        .map(Cow::Borrowed)
}
