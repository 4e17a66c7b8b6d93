//! Text to tree and back: parsing into a flat tape, go-yaml's scalar rules,
//! one node handle for source tokens and built nodes, emitters and byte edits.
//!
//! A [`Stream`] is the parsed text of one file. A [`Source`] is one document of
//! it at its place in the repository. A [`NodeRef`] reads a token of a source
//! or a node that a transformer built; readers see no difference.

mod as_written;
mod compose;
pub(crate) mod edit;
pub(crate) mod emit;
pub(crate) mod go_compat;
mod known;
mod lines;
mod location;
mod node;
mod parse;
mod pointer;
pub(crate) mod resolve;
mod scalar;
mod scan;
mod size;
pub(crate) mod tape;
mod written;

pub(crate) use as_written::is_read_as_written;
pub(crate) use known::Holes;
pub use known::Known;
pub(crate) use lines::LineIndex;
pub(crate) use location::Via;
pub use location::{FilePath, Location, Tree, ViaKind, WorkPath};
pub(crate) use node::{Built, Embed, EmbedPart, Entry, Map, Origin, Places, Style};
pub use node::{EntryRef, Node, NodeKind, NodeRef, Source, Value};
pub(crate) use parse::SyntaxError;
pub use parse::SyntaxErrorKind;
pub(crate) use pointer::{Trail, pointer_to};
pub use pointer::{pointer_join, pointer_segments};
pub use resolve::{Dialect, Scalar, ScalarStyle};
pub(crate) use size::Sizes;
pub(crate) use written::written_runs;

use std::sync::{Arc, OnceLock};
use tape::Document;

/// The parsed text of a file: all its documents.
#[derive(Debug)]
pub struct Stream {
    /// The whole text, a byte order mark included.
    pub text: Arc<str>,
    /// Its documents in order.
    pub documents: Vec<Document>,
    /// What the parser refused, in order.
    pub errors: Vec<SyntaxError>,
    lines: OnceLock<LineIndex>,
}

impl Stream {
    /// Parse a text. Never fails: what can't be read is in `errors`.
    pub fn parse(text: &str) -> Stream {
        Stream::of(text.into())
    }

    /// As [`Stream::parse`], of a text that somebody else holds too.
    pub fn of(text: Arc<str>) -> Stream {
        let base = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let (mut documents, errors) = parse::parse(&text, base);
        documents.shrink_to_fit();
        Stream { text, documents, errors, lines: OnceLock::new() }
    }

    /// The line index, made on first use.
    pub fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }
}

/// Parse a text that is no file of the repository (a test, standard input, a
/// recorded case) and give its documents as nodes.
pub fn parse_nodes(path: &str, text: &str) -> Vec<Node> {
    let stream = Arc::new(Stream::parse(text));
    let file = FilePath::in_root(path);
    (0..stream.documents.len() as u32)
        .filter(|index| !stream.documents[*index as usize].tokens.is_empty())
        .map(|index| {
            let source =
                Source { file: file.clone(), stream: stream.clone(), index, embed: None, via: Vec::new() };
            Node::Source(Arc::new(source), 0)
        })
        .collect()
}
