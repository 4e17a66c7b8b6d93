//! The tree that a text says, compared with the tree that another one said and
//! the changes that were declared.

use super::{Content, TreeChange};
use crate::lang::yaml::resolve::{Dialect, Scalar, resolve_tagged};
use crate::lang::yaml::tape::{Document, NONE, TokenKind};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The decoded text of a scalar.
pub(super) fn value<'t>(text: &'t str, document: &'t Document, at: u32) -> &'t str {
    let token = &document.tokens[at as usize];
    match token.kind {
        _ if token.empty => "",
        _ if token.extra != NONE => &document.decoded[token.extra as usize],
        TokenKind::Scalar(style) => {
            crate::lang::yaml::scalar::written_value(text, style, token.start, token.end).unwrap_or("")
        }
        _ => "",
    }
}

/// A document and its text.
#[derive(Clone, Copy)]
pub(super) struct Tree<'t> {
    pub(super) text: &'t str,
    pub(super) document: &'t Document,
}

impl<'t> Tree<'t> {
    fn children(&self, at: u32) -> Vec<u32> {
        let end = self.document.tokens[at as usize].next;
        let mut children = Vec::new();
        let mut child = at + 1;
        while child < end {
            children.push(child);
            child = self.document.tokens[child as usize].next;
        }
        children
    }

    fn anchor(&self, at: u32) -> Option<&'t str> {
        let anchor = self.document.anchor(at)?;
        Some(&self.text[anchor.start as usize..anchor.end as usize])
    }

    fn tag(&self, at: u32) -> Option<&'t str> {
        self.document.tag(at).map(|tag| &*tag.name)
    }
}

/// Whether `new` is `old` with `changes`. The error names the first difference,
/// for a report of our own mistake.
pub(super) fn check(old: Tree<'_>, new: Tree<'_>, changes: &[&TreeChange]) -> Result<(), String> {
    let mut comparison = Comparison {
        old,
        new,
        replaced: FxHashMap::default(),
        removed: FxHashMap::default(),
        inserted: FxHashMap::default(),
        places: FxHashMap::default(),
    };
    for change in changes {
        match change {
            TreeChange::Replace { token, with } => {
                comparison.replaced.insert(*token, with);
            }
            TreeChange::Remove { child } => {
                comparison.removed.insert(*child, ());
            }
            TreeChange::Insert { parent, before, key, value } => {
                comparison.inserted.entry((*parent, *before)).or_default().push((key.as_deref(), value));
            }
        }
    }
    match (old.document.tokens.is_empty(), new.document.tokens.is_empty()) {
        (true, true) => Ok(()),
        (false, false) => comparison.node(0, 0),
        _ => Err("a document appeared or went".to_owned()),
    }
}

/// A new entry (with its key) or item.
type New<'c> = (Option<&'c str>, &'c Content);

struct Comparison<'t, 'c> {
    old: Tree<'t>,
    new: Tree<'t>,
    replaced: FxHashMap<u32, &'c Content>,
    removed: FxHashMap<u32, ()>,
    inserted: FxHashMap<(u32, Option<u32>), Vec<New<'c>>>,
    /// Old tokens and where they are now: for aliases.
    places: FxHashMap<u32, u32>,
}

impl<'c> Comparison<'_, 'c> {
    fn differ<T>(&self, at: u32, what: &str) -> Result<T, String> {
        let token = &self.new.document.tokens[at as usize];
        Err(format!("{what} at byte {}", token.start))
    }

    fn node(&mut self, old: u32, new: u32) -> Result<(), String> {
        if let Some(content) = self.replaced.get(&old) {
            return self.content(content, new);
        }
        let (before, after) =
            (self.old.document.tokens[old as usize], self.new.document.tokens[new as usize]);
        if before.kind != after.kind {
            return self.differ(new, "another kind of node");
        }
        if self.old.anchor(old) != self.new.anchor(new) || self.old.tag(old) != self.new.tag(new) {
            return self.differ(new, "another anchor or tag");
        }
        self.places.insert(old, new);
        match before.kind {
            TokenKind::Scalar(_) => {
                let same = value(self.old.text, self.old.document, old)
                    == value(self.new.text, self.new.document, new);
                if same && before.empty == after.empty { Ok(()) } else { self.differ(new, "another value") }
            }
            TokenKind::Alias => match self.places.get(&before.extra) {
                Some(target) if *target == after.extra => Ok(()),
                _ => self.differ(new, "another alias"),
            },
            TokenKind::Sequence => self.children(old, new, 1),
            TokenKind::Mapping => self.children(old, new, 2),
        }
    }

    /// Children in groups: items alone, keys with their values.
    fn children(&mut self, old: u32, new: u32, group: usize) -> Result<(), String> {
        let olds = self.old.children(old);
        let news = self.new.children(new);
        let mut rest = news.chunks(group);
        let mut kept = 0;
        for child in olds.chunks(group) {
            self.insertions(old, Some(child[0]), new, &mut rest)?;
            if self.removed.contains_key(&child[0]) {
                continue;
            }
            kept += 1;
            match rest.next() {
                Some(now) if now.len() == child.len() => {
                    for (before, after) in child.iter().zip(now) {
                        self.node(*before, *after)?;
                    }
                }
                _ => return self.differ(new, "a child is missing"),
            }
        }
        self.insertions(old, None, new, &mut rest)?;
        let flow = |tree: Tree<'_>, at: u32| tree.document.tokens[at as usize].flow;
        if flow(self.old, old) != flow(self.new, new) && kept > 0 {
            return self.differ(new, "another style of collection");
        }
        match rest.next() {
            None => Ok(()),
            Some(extra) => self.differ(extra[0], "a child too many"),
        }
    }

    fn insertions<'n>(
        &mut self,
        parent: u32,
        before: Option<u32>,
        new: u32,
        rest: &mut impl Iterator<Item = &'n [u32]>,
    ) -> Result<(), String> {
        for (key, content) in self.inserted.remove(&(parent, before)).unwrap_or_default() {
            match (key, rest.next()) {
                (None, Some([item])) => self.content(content, *item)?,
                (Some(key), Some([at, value])) => {
                    self.content(&Content::str(key), *at)?;
                    self.content(content, *value)?;
                }
                _ => return self.differ(new, "an insertion is missing"),
            }
        }
        Ok(())
    }

    /// Whether a new node is what was declared, for both dialects.
    fn content(&self, content: &Content, at: u32) -> Result<(), String> {
        let token = &self.new.document.tokens[at as usize];
        match (content, token.kind) {
            (Content::Seq(items), TokenKind::Sequence) => {
                let children = self.new.children(at);
                if children.len() != items.len() {
                    return self.differ(at, "another number of items");
                }
                items.iter().zip(children).try_for_each(|(item, child)| self.content(item, child))
            }
            (Content::Map(entries), TokenKind::Mapping) => {
                let children = self.new.children(at);
                if children.len() != entries.len() * 2 {
                    return self.differ(at, "another number of entries");
                }
                entries.iter().zip(children.chunks(2)).try_for_each(|((key, value), pair)| {
                    self.content(&Content::str(key.as_str()), pair[0])?;
                    self.content(value, pair[1])
                })
            }
            (scalar, TokenKind::Scalar(style)) => {
                let text = value(self.new.text, self.new.document, at);
                let tag = self.new.tag(at);
                for dialect in [Dialect::GoYamlV2, Dialect::GoYamlV3] {
                    let same = match (scalar, resolve_tagged(Cow::Borrowed(text), style, tag, dialect)) {
                        (Content::Null, Ok(Scalar::Null)) => true,
                        (Content::Bool(wanted), Ok(Scalar::Bool(value))) => *wanted == value,
                        (Content::Int(wanted), Ok(Scalar::Int(value))) => *wanted == value,
                        (Content::Str(wanted), Ok(Scalar::Str(value))) => *wanted == value,
                        _ => false,
                    };
                    if !same {
                        return self.differ(at, "not the value that was to be written");
                    }
                }
                Ok(())
            }
            _ => self.differ(at, "not the kind of value that was to be written"),
        }
    }
}
