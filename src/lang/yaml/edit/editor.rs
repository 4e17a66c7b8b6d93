//! A document as operations see it: where a pointer leads, what stands around a token,
//! and what forbids to touch it.

use super::render::Habits;
use super::{RefusedEdit, tree};
use crate::lang::yaml::resolve::{Dialect, Scalar, resolve_plain};
use crate::lang::yaml::tape::{Document, Token, TokenKind};
use crate::lang::yaml::{ScalarStyle, Stream, pointer_segments};
use std::borrow::Cow;
use std::ops::Range;

/// The document as operations see it: the text, the tape and the habits.
pub(super) struct Editor<'s> {
    pub(super) text: &'s str,
    pub(super) document: &'s Document,
    pub(super) habits: Habits,
}

/// What a pointer leads to.
pub(super) enum PointerTarget {
    /// This token.
    Token(u32),
    /// Nothing: the deepest token that is there, and the rest of the path.
    Missing(u32, Vec<String>),
}

impl<'s> Editor<'s> {
    pub(super) fn new(
        stream: &'s Stream,
        document: &'s Document,
        habits: Habits,
    ) -> Result<Self, RefusedEdit> {
        if document.tokens.is_empty() {
            return Err(RefusedEdit {
                message: "the document can't be read".to_owned(),
                help: "correct its syntax first".to_owned(),
                range: document.start..document.end,
            });
        }
        Ok(Editor { text: &stream.text, document, habits })
    }

    pub(super) fn token(&self, at: u32) -> &'s Token {
        &self.document.tokens[at as usize]
    }

    pub(super) fn refuse<T>(
        &self,
        at: u32,
        message: impl Into<String>,
        help: &str,
    ) -> Result<T, RefusedEdit> {
        let token = self.token(at);
        Err(RefusedEdit { message: message.into(), help: help.to_owned(), range: token.start..token.end })
    }

    /// Keys and values of a mapping.
    pub(super) fn entries(&self, map: u32) -> Vec<(u32, u32)> {
        let end = self.token(map).next;
        let mut entries = Vec::new();
        let mut key = map + 1;
        while key < end {
            let value = self.token(key).next;
            entries.push((key, value));
            key = self.token(value).next;
        }
        entries
    }

    pub(super) fn items(&self, seq: u32) -> Vec<u32> {
        let end = self.token(seq).next;
        let mut items = Vec::new();
        let mut item = seq + 1;
        while item < end {
            items.push(item);
            item = self.token(item).next;
        }
        items
    }

    /// The decoded text of a scalar.
    pub(super) fn value(&self, at: u32) -> &'s str {
        tree::value(self.text, self.document, at)
    }

    pub(super) fn is_null(&self, at: u32) -> bool {
        let token = self.token(at);
        token.kind == TokenKind::Scalar(ScalarStyle::Plain)
            && self.document.tag(at).is_none()
            && matches!(self.value(at), "" | "~" | "null" | "Null" | "NULL")
    }

    /// Whether both dialects read a scalar without a tag as a string.
    pub(super) fn is_string(&self, at: u32) -> bool {
        let plain = self.token(at).kind == TokenKind::Scalar(ScalarStyle::Plain);
        let text = || Cow::Borrowed(self.value(at));
        !plain
            || [Dialect::GoYamlV2, Dialect::GoYamlV3]
                .into_iter()
                .all(|dialect| matches!(resolve_plain(text(), dialect), Scalar::Str(_)))
    }

    /// Whether nothing that the text says is lost when this becomes a collection.
    pub(super) fn is_vacant(&self, at: u32) -> bool {
        let token = self.token(at);
        self.is_null(at) || (token.flow && token.next == at + 1)
    }

    /// Follow a pointer down from the root.
    pub(super) fn find(&self, pointer: &str) -> Result<PointerTarget, RefusedEdit> {
        let segments: Vec<String> = pointer_segments(pointer).map(|segment| segment.into_owned()).collect();
        let mut at = 0;
        self.check_anchor(at)?;
        for (depth, segment) in segments.iter().enumerate() {
            let missing = |at| Ok(PointerTarget::Missing(at, segments[depth..].to_vec()));
            match self.token(at).kind {
                TokenKind::Mapping => {
                    let entries = self.entries(at);
                    let mut named = entries.iter().filter(|(key, _)| self.is_key(*key, segment));
                    let Some((key, value)) = named.next() else {
                        self.check_merge(at, segment)?;
                        return missing(at);
                    };
                    if let Some((twin, _)) = named.next() {
                        return self.refuse(
                            *twin,
                            format!("the key `{segment}` is there twice"),
                            "remove one",
                        );
                    }
                    if self.token(*key).kind == TokenKind::Alias {
                        return self.refuse(*key, "the key is an alias", "write the key itself");
                    }
                    at = *value;
                }
                TokenKind::Sequence => {
                    match segment.parse::<usize>().ok().map(|n| self.items(at).get(n).copied()) {
                        Some(Some(item)) => at = item,
                        _ => {
                            return self.refuse(
                                at,
                                format!("the list has no item {segment}"),
                                "name an item that is there",
                            );
                        }
                    }
                }
                TokenKind::Scalar(_) if self.is_null(at) => return missing(at),
                TokenKind::Scalar(_) => {
                    return self.refuse(
                        at,
                        format!("`{segment}` would be inside of a scalar"),
                        "change the scalar",
                    );
                }
                TokenKind::Alias => {
                    return self.refuse(
                        at,
                        format!("`{pointer}` leads through the alias {}", self.written(at)),
                        "change the anchor that it names, or replace the alias by its own copy",
                    );
                }
            }
            self.check_anchor(at)?;
        }
        Ok(PointerTarget::Token(at))
    }

    /// The token that a pointer leads to.
    pub(super) fn existing(&self, pointer: &str) -> Result<u32, RefusedEdit> {
        match self.find(pointer)? {
            PointerTarget::Token(at) => Ok(at),
            PointerTarget::Missing(at, _) => {
                self.refuse(at, format!("there is no `{pointer}`"), "name something that is there")
            }
        }
    }

    pub(super) fn is_key(&self, key: u32, name: &str) -> bool {
        let key = match self.token(key) {
            Token { kind: TokenKind::Alias, extra, .. } => *extra,
            _ => key,
        };
        matches!(self.token(key).kind, TokenKind::Scalar(_)) && self.value(key) == name
    }

    /// Whether a value is quoted, on one line, with neither tag nor anchor.
    pub(super) fn is_quoted(&self, at: u32) -> bool {
        let quoted = [ScalarStyle::SingleQuoted, ScalarStyle::DoubleQuoted];
        matches!(self.token(at).kind, TokenKind::Scalar(style) if quoted.contains(&style))
            && !self.has_properties(at)
            && !self.written(at).contains(['\n', '\r'])
    }

    /// The text of a token.
    pub(super) fn written(&self, at: u32) -> &'s str {
        let token = self.token(at);
        &self.text[token.start as usize..token.end as usize]
    }

    /// Refuse what is inside an anchor that aliases use: they would change too.
    pub(super) fn check_anchor(&self, at: u32) -> Result<(), RefusedEdit> {
        match self.document.anchor(at) {
            Some(anchor) if anchor.used => Err(RefusedEdit {
                message: format!(
                    "aliases elsewhere in the document use {}",
                    &self.text[anchor.start as usize..anchor.end as usize]
                ),
                help: "edit it by hand: every place that names the anchor changes with it".to_owned(),
                range: anchor.start..anchor.end,
            }),
            _ => Ok(()),
        }
    }

    /// Refuse to remove an anchor that aliases elsewhere use.
    pub(super) fn check_anchors_below(&self, from: u32, at: u32) -> Result<(), RefusedEdit> {
        let end = self.token(at).next;
        let inside = |token: u32| (from..end).contains(&token);
        let used = self.document.anchors.iter().find(|anchor| anchor.used && inside(anchor.token));
        used.map_or(Ok(()), |anchor| self.check_anchor(anchor.token))
    }

    /// Refuse a key that a merge gives to the map.
    pub(super) fn check_merge(&self, map: u32, key: &str) -> Result<(), RefusedEdit> {
        let merge = self.entries(map).into_iter().find(|(at, _)| self.is_key(*at, "<<"));
        match merge {
            Some((at, _)) => self.refuse(
                at,
                format!("`{key}` may come through the merge key `<<`"),
                "edit it by hand: write the key out, or change the merged map",
            ),
            None => Ok(()),
        }
    }

    /// The mapping that a value is in, and its key; or the list. `None` for the
    /// root.
    pub(super) fn parent(&self, at: u32) -> Option<(u32, Option<u32>)> {
        let parent = (0..at).rev().find(|candidate| {
            let token = self.token(*candidate);
            matches!(token.kind, TokenKind::Mapping | TokenKind::Sequence) && token.next > at
        })?;
        match self.token(parent).kind {
            TokenKind::Mapping => {
                let entry = self.entries(parent).into_iter().find(|(_, value)| *value == at)?;
                Some((parent, Some(entry.0)))
            }
            _ => Some((parent, None)),
        }
    }

    /// Start of a node with its anchor and tag.
    pub(super) fn start(&self, at: u32) -> usize {
        let anchor = self.document.anchor(at).map(|anchor| anchor.start);
        let tag = self.document.tag(at).map(|tag| tag.start);
        let first = [anchor, tag].into_iter().flatten().min().unwrap_or(u32::MAX);
        self.token(at).start.min(first) as usize
    }

    pub(super) fn has_properties(&self, at: u32) -> bool {
        self.document.anchor(at).is_some() || self.document.tag(at).is_some()
    }

    /// The comment at the end of the line of `at`, if there is one behind it.
    pub(super) fn comment_behind(&self, at: usize) -> Option<Range<usize>> {
        let comments = &self.document.comments;
        let index = comments.partition_point(|comment| (comment.start as usize) < at);
        let comment = comments.get(index)?;
        let range = comment.start as usize..comment.end as usize;
        self.text[at..range.start].bytes().all(|byte| byte == b' ' || byte == b'\t').then_some(range)
    }

    /// Whether a comment stands between two bytes.
    pub(super) fn has_comment(&self, range: Range<usize>) -> bool {
        self.document
            .comments
            .iter()
            .any(|comment| range.start <= comment.start as usize && (comment.start as usize) < range.end)
    }

    pub(super) fn refuse_comment<T>(&self, at: u32) -> Result<T, RefusedEdit> {
        self.refuse(
            at,
            "a comment has no place between braces",
            "leave out the comment, or write the value as a block",
        )
    }
}
