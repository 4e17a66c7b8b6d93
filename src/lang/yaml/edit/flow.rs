//! Operations on flow style: commas between brackets and braces.

use super::editor::Editor;
use super::render::line_start;
use super::{Compiled, Content, KeyPlace, RefusedEdit, TreeChange};
use crate::lang::yaml::tape::TokenKind;
use std::ops::Range;

impl Editor<'_> {
    /// Children of a flow collection: (first token, last token) of each.
    fn flow_children(&self, collection: u32) -> Vec<(u32, u32)> {
        match self.token(collection).kind {
            TokenKind::Mapping => self.entries(collection),
            _ => self.items(collection).into_iter().map(|item| (item, item)).collect(),
        }
    }

    /// Check that a flow collection has its brackets and that commas alone stand
    /// between its children.
    fn check_flow(&self, collection: u32) -> Result<Vec<(u32, u32)>, RefusedEdit> {
        let token = self.token(collection);
        let text = &self.text[token.start as usize..token.end as usize];
        let children = self.flow_children(collection);
        if !text.starts_with(['[', '{']) || self.has_comment(token.start as usize..token.end as usize) {
            return self.refuse(
                collection,
                "the layout of these brackets leaves no certain place",
                "edit it by hand, or write it as a block",
            );
        }
        Ok(children)
    }

    pub(super) fn insert_flow_entry(
        &self,
        map: u32,
        key: &str,
        value: &Content,
        place: &KeyPlace,
    ) -> Result<Compiled, RefusedEdit> {
        let children = self.check_flow(map)?;
        let named = |name: &str| children.iter().position(|(key, _)| self.is_key(*key, name));
        let before = match place {
            KeyPlace::End => None,
            KeyPlace::Before(sibling) => named(sibling),
            KeyPlace::After(sibling) => named(sibling).map(|at| at + 1).filter(|at| *at < children.len()),
        };
        let text = format!("{}: {}", self.habits.key(key, None, true), self.habits.flow(value));
        let before = before.map(|at| children[at].0);
        let mut compiled = self.splice_flow(map, &children, before, &text)?;
        compiled.changes.push(TreeChange::Insert {
            parent: map,
            before,
            key: Some(key.to_owned()),
            value: value.clone(),
        });
        Ok(compiled)
    }

    pub(super) fn insert_flow_item(
        &self,
        seq: u32,
        before: Option<u32>,
        value: &Content,
    ) -> Result<Compiled, RefusedEdit> {
        let children = self.check_flow(seq)?;
        let mut compiled = self.splice_flow(seq, &children, before, &self.habits.flow(value))?;
        compiled.changes.push(TreeChange::Insert { parent: seq, before, key: None, value: value.clone() });
        Ok(compiled)
    }

    /// Put a child between the brackets: on the same line, or on one of its own
    /// where each of the others has one.
    fn splice_flow(
        &self,
        collection: u32,
        children: &[(u32, u32)],
        before: Option<u32>,
        text: &str,
    ) -> Result<Compiled, RefusedEdit> {
        let token = self.token(collection);
        let mut compiled = Compiled::default();
        let Some((key, last)) = children.last() else {
            let open = token.start as usize + 1;
            compiled.edit(open..open, text);
            return Ok(compiled);
        };
        let several = self.text[token.start as usize..token.end as usize].contains(['\n', '\r']);
        let own_line = |at: usize| self.text[line_start(self.text, at)..at].trim().is_empty();
        if several && !children.iter().all(|(first, _)| own_line(self.start(*first))) {
            return self.refuse(
                collection,
                "the brackets are on several lines, with no line for each child",
                "edit it by hand, or write it as a block",
            );
        }
        let lead = |at: usize| {
            let start = line_start(self.text, at);
            format!("{}{}", self.habits.eol, &self.text[start..at])
        };
        match before {
            Some(child) => {
                let at = self.start(child);
                let gap = if several { lead(at) } else { " ".to_owned() };
                compiled.edit(at..at, format!("{text},{gap}"));
            }
            None => {
                let end = self.token(*last).end as usize;
                let behind = &self.text[end..token.end as usize - 1];
                if behind.contains(',') {
                    return self.refuse(
                        collection,
                        "a comma stands behind the last child",
                        "edit it by hand: remove the comma first",
                    );
                }
                let gap =
                    if several { lead(self.start(children[children.len() - 1].0)) } else { " ".to_owned() };
                // `key:,` is a scalar to go-yaml.
                let is_colon = self.text[..end].ends_with(':') && self.token(*key).end as usize != end;
                let blank = if is_colon { " " } else { "" };
                compiled.edit(end..end, format!("{blank},{gap}{text}"));
            }
        }
        Ok(compiled)
    }

    /// Remove a child: an item, or a key with its value.
    pub(super) fn remove_flow(
        &self,
        collection: u32,
        first: u32,
        last: u32,
    ) -> Result<Compiled, RefusedEdit> {
        let children = self.check_flow(collection)?;
        let Some(at) = children.iter().position(|child| *child == (first, last)) else {
            return self.refuse(first, "it is no child of these brackets", "edit it by hand");
        };
        let end = |at: usize| self.token(children[at].1).end as usize;
        let mut compiled = Compiled::default();
        compiled.changes.push(TreeChange::Remove { child: first });
        let range = match (at.checked_sub(1), children.get(at + 1)) {
            (_, Some((next, _))) => self.start(first)..self.start(*next),
            (Some(previous), None) => end(previous)..end(at),
            (None, None) => self.only_child(collection, self.start(first)..end(at)),
        };
        compiled.edit(range, "");
        Ok(compiled)
    }

    /// The place of the only child of brackets, with a comma behind it, which would be one
    /// without a child, and with its line, where it has one of its own.
    fn only_child(&self, collection: u32, child: Range<usize>) -> Range<usize> {
        let open = self.token(collection).start as usize;
        let behind = &self.text[child.end..self.token(collection).end as usize - 1];
        let comma = behind.trim_start().starts_with(',').then(|| behind.find(',')).flatten();
        let end = child.end + comma.map_or(0, |comma| comma + 1);
        let line = line_start(self.text, child.start);
        let is_own = line > open && self.text[line..child.start].trim().is_empty();
        match self.text[end..].strip_prefix(self.habits.eol) {
            Some(rest) if is_own => line..self.text.len() - rest.len(),
            _ => child.start..end,
        }
    }
}
