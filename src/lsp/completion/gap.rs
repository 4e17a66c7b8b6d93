//! Where the cursor stands in a text that is being written.

use super::MARK;
use crate::lang::yaml::edit::pointer_of;
use crate::lang::yaml::{FilePath, NodeRef, Source, Stream, pointer_segments};
use std::sync::Arc;

/// A place to complete.
pub(super) struct Gap {
    /// The document, with the mark in it.
    source: Arc<Source>,
    /// JSON Pointer of the marked value, or of the map that gets a key.
    pub(super) pointer: String,
    /// Whether a key is wanted, or a value.
    pub(super) is_key: bool,
    /// Whether the line begins an item of a list, which may become either.
    pub(super) is_item: bool,
}

/// The line that the cursor is in, cut at the word that is being written.
pub(super) struct CursorLine<'t> {
    /// Everything before the word.
    head: &'t str,
    /// Everything behind it.
    tail: &'t str,
    /// What stands before the word in its line.
    before: &'t str,
    /// First byte of the word, and one past its last.
    pub(super) word: (usize, usize),
}

impl<'t> CursorLine<'t> {
    pub(super) fn of(text: &'t str, offset: usize) -> CursorLine<'t> {
        let start = text[..offset].rfind(['\n', '\r']).map_or(0, |at| at + 1);
        let is_end = |c: char| c.is_whitespace() || "{}[],\"'".contains(c);
        let word = text[start..offset].rfind(is_end).map_or(start, |at| start + at + 1);
        let end = text[offset..].find(is_end).map_or(text.len(), |at| offset + at);
        // The colon of a key that is written already is no part of it.
        let written = text[word..end].trim_end_matches(':');
        let end = (word + written.len()).max(offset);
        CursorLine { head: &text[..word], tail: &text[end..], before: &text[start..word], word: (word, end) }
    }

    fn is_value(&self) -> bool {
        let before = self.before.trim_end().trim_end_matches(['"', '\'']).trim_end();
        before.ends_with(':')
    }

    pub(super) fn is_item(&self) -> bool {
        let before = self.before.trim_end_matches(['"', '\'']).trim();
        !before.is_empty() && before.chars().all(|c| c == '-' || c == ' ') || before.ends_with('[')
    }

    /// The text with the mark in place of the word.
    fn marked(&self, is_key: bool, whole: bool) -> String {
        let colon = if is_key && !self.tail.starts_with(':') { ": " } else { "" };
        let tail = match whole {
            true => self.tail,
            // The rest of the line may close a quote or a brace.
            false => &self.tail[..self.tail.find(['\n', '\r']).unwrap_or(self.tail.len())],
        };
        format!("{}{MARK}{colon}{tail}", self.head)
    }
}

impl Gap {
    pub(super) fn find(path: &str, line: &CursorLine<'_>) -> Option<Gap> {
        let is_item = line.is_item();
        let is_key = !line.is_value() && !is_item;
        [true, false].into_iter().find_map(|whole| {
            let stream = Arc::new(Stream::parse(&line.marked(is_key, whole)));
            (0..stream.documents.len() as u32).find_map(|document| {
                let source = Source {
                    file: FilePath::in_root(path),
                    stream: stream.clone(),
                    index: document,
                    embed: None,
                    via: Vec::new(),
                };
                let source = Arc::new(source);
                let tokens = source.document().tokens.len() as u32;
                let token = (0..tokens)
                    .find(|token| NodeRef::Source(&source, *token).text().is_some_and(|text| text == MARK))?;
                let pointer = match is_key {
                    // The value behind the key.
                    true => pointer_of(NodeRef::Source(&source, token + 1))?.1.rsplit_once('/')?.0.to_owned(),
                    false => pointer_of(NodeRef::Source(&source, token))?.1,
                };
                Some(Gap { source: source.clone(), pointer, is_key, is_item })
            })
        })
    }

    pub(super) fn root(&self) -> NodeRef<'_> {
        NodeRef::Source(&self.source, 0)
    }

    /// Path in the schema: lists are passed through.
    pub(super) fn path(&self) -> Vec<String> {
        let segments = pointer_segments(&self.pointer).map(|segment| segment.into_owned());
        segments.filter(|segment| !segment.bytes().all(|byte| byte.is_ascii_digit())).collect()
    }
}
