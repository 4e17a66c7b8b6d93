//! The tape: one YAML document as a flat list of tokens in pre-order.
//!
//! A token knows its bytes in the text and where its subtree ends, so that a
//! walk needs no pointers and a document needs a handful of allocations. The
//! tape is the interface between whatever scans the text and everything that
//! reads it.

use super::resolve::ScalarStyle;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// A scalar; `extra` is an index into [`Document::decoded`] or [`NONE`].
    Scalar(ScalarStyle),
    /// A block or flow sequence; its items follow.
    Sequence,
    /// A block or flow mapping; keys and values follow in turn.
    Mapping,
    /// An alias; `extra` is the token that it stands for.
    Alias,
}

/// "No index" in [`Token::extra`].
pub(crate) const NONE: u32 = u32::MAX;

/// One node of a document.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// A collection written between brackets or braces; an omitted node in one.
    pub flow: bool,
    /// An omitted node: `key:` with nothing after it. Its span is empty.
    pub empty: bool,
    /// First byte in the stream's text, the quote or block header included.
    pub start: u32,
    /// One past the last byte; of a block collection, the end of its last
    /// child; of a block scalar, the end of its last line with content.
    pub end: u32,
    /// Index of the token after this one's subtree.
    pub next: u32,
    /// See [`TokenKind`].
    pub extra: u32,
}

/// An anchor definition.
#[derive(Clone, Debug)]
pub struct Anchor {
    /// The anchored token.
    pub token: u32,
    /// Bytes of `&name`.
    pub start: u32,
    /// One past the last byte of `&name`.
    pub end: u32,
    /// Whether an alias of the document uses it.
    pub used: bool,
}

/// A tag written on a node.
#[derive(Clone, Debug)]
pub struct Tag {
    /// The tagged token.
    pub token: u32,
    /// The resolved tag, such as `tag:yaml.org,2002:str`, `!` or `!vault`.
    pub name: Box<str>,
    /// Bytes of the tag as written, empty when the parser doesn't tell.
    pub start: u32,
    /// One past the last byte of the tag.
    pub end: u32,
}

/// A comment, from its `#` to the end of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    /// The `#`.
    pub start: u32,
    /// One past the last byte, the line break excluded.
    pub end: u32,
}

/// One document of a stream. Without tokens it is empty (comments only) or
/// broken; see [`super::Stream::errors`].
#[derive(Debug, Default)]
pub struct Document {
    /// Nodes in pre-order; the root is the first.
    pub tokens: Vec<Token>,
    /// Values of scalars that differ from the bytes between their quotes.
    pub decoded: Vec<Box<str>>,
    /// Anchors in order of their tokens.
    pub anchors: Vec<Anchor>,
    /// Tags in order of their tokens.
    pub tags: Vec<Tag>,
    /// Comments inside and right after the document, in order.
    pub comments: Vec<Comment>,
    /// First byte: the `---` or the first token.
    pub start: u32,
    /// One past the last byte of the last token.
    pub end: u32,
    /// Whether it starts with `---`.
    pub explicit: bool,
    /// Whether any mapping in it has a `<<` key.
    pub merges: bool,
    /// Whether the parser stopped inside it.
    pub broken: bool,
    /// What kustomize's loader found out about the object that it is, where nothing is
    /// wrong with it: builds read one document many times.
    pub soundness: OnceLock<Soundness>,
    /// Where the keys of its large maps stand.
    pub(crate) large_maps: LargeMaps,
}

/// Where the keys of the large maps of a document stand; found out once readers have
/// looked through them for longer than that takes.
#[derive(Debug, Default)]
pub(crate) struct LargeMaps {
    /// Keys that readers of large maps went past.
    pub(super) passed: AtomicU64,
    /// First keys of each large map by the hashes of their texts.
    pub(super) keys: OnceLock<FxHashMap<u32, FxHashMap<u64, u32>>>,
}

/// See [`Document::soundness`]: a function of the document's text alone.
#[derive(Clone, Copy, Debug)]
pub struct Soundness {
    /// Whether it has scalars that change on their way out.
    pub changes_in_passing: bool,
    /// Whether it may hold characters that kustomize can't write.
    pub unusual: bool,
    /// Nodes that it expands to through its aliases.
    pub nodes: u64,
    /// Levels below its root.
    pub height: u32,
}

impl Document {
    /// The tag of a token, if one is written.
    pub fn tag(&self, token: u32) -> Option<&Tag> {
        if self.tags.is_empty() {
            return None;
        }
        let at = self.tags.binary_search_by_key(&token, |tag| tag.token);
        at.ok().map(|index| &self.tags[index])
    }

    /// The anchor of a token, if it has one.
    pub fn anchor(&self, token: u32) -> Option<&Anchor> {
        let at = self.anchors.binary_search_by_key(&token, |anchor| anchor.token);
        at.ok().map(|index| &self.anchors[index])
    }
}
