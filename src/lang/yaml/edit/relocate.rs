//! Moving a scalar entry into a map beside it. Its text stays as it is, comments
//! included; only the indentation follows.

use super::editor::Editor;
use super::render::{column, line_start};
use super::{Compiled, Content, KeyPlace, RefusedEdit, TreeChange};
use crate::lang::yaml::tape::TokenKind;
use std::ops::Range;

/// The entry that is moved.
struct Moved<'s> {
    map: u32,
    key: u32,
    value: u32,
    name: &'s str,
    content: Content,
}

impl<'s> Editor<'s> {
    /// Move the entry of a pointer into the map `into` beside it.
    pub(super) fn move_key(&self, pointer: &str, into: &str) -> Result<Compiled, RefusedEdit> {
        let value = self.existing(pointer)?;
        let Some((map, Some(key))) = self.parent(value) else {
            return self.refuse(value, format!("`{pointer}` is no key of a map"), "name a key");
        };
        if !matches!(self.token(value).kind, TokenKind::Scalar(_)) {
            return self.refuse(value, format!("`{pointer}` is no scalar"), "move it by hand");
        }
        if self.has_properties(key) || self.has_properties(value) {
            return self.refuse(value, "it carries an anchor or a tag", "move it by hand");
        }
        self.check_merge(map, into)?;
        let content = Content::str(self.value(value));
        if !self.is_string(value) {
            return self.refuse(value, format!("`{pointer}` is no string"), "quote it first");
        }
        let moved = Moved { map, key, value, name: self.value(key), content };
        let target = self.entries(map).into_iter().find(|(other, _)| self.is_key(*other, into));
        if let Some((_, target)) = target {
            self.check_anchor(target)?;
            if self.token(target).kind != TokenKind::Mapping && !self.is_vacant(target) {
                return self.refuse(target, format!("`{into}` is no map"), "move it by hand");
            }
        }
        if self.token(map).flow {
            return self.move_by_content(&moved, into);
        }
        self.check_key(key)?;
        if !self.starts_line(self.token(key).start as usize) {
            return self.refuse(key, "it is the first key behind a dash", "move it by hand");
        }
        match target {
            None => self.wrap(&moved, into),
            Some((empty, target)) if self.is_vacant(target) && self.lines_have_comments(empty, target) => {
                self.refuse(target, "comments belong to the empty map", "move it by hand")
            }
            Some((empty, target)) if self.is_vacant(target) => {
                let mut compiled = self.wrap(&moved, into)?;
                let removed = self.remove_block_entry(map, empty, target)?;
                compiled.edits.extend(removed.edits);
                compiled.changes.extend(removed.changes);
                Ok(compiled)
            }
            Some((_, target)) if self.token(target).flow => {
                if self.lines_have_comments(key, value) {
                    return self.refuse(target, "a comment has no place between braces", "move it by hand");
                }
                self.move_by_content(&moved, into)
            }
            Some((_, target)) => {
                let twin =
                    self.entries(target).into_iter().find(|(other, _)| self.is_key(*other, moved.name));
                match twin {
                    Some((twin, old)) => self.move_over(&moved, twin, old),
                    None => self.move_behind(&moved, target),
                }
            }
        }
    }

    /// The lines of an entry with the comments above it.
    fn lines(&self, key: u32, value: u32) -> Range<usize> {
        self.attached_comments(self.token(key).start as usize)..self.end_of_lines(value)
    }

    fn lines_have_comments(&self, key: u32, value: u32) -> bool {
        self.has_comment(self.lines(key, value))
    }

    /// Write the value anew, where there are no lines to move.
    fn move_by_content(&self, moved: &Moved<'_>, into: &str) -> Result<Compiled, RefusedEdit> {
        let path = [into.to_owned(), moved.name.to_owned()];
        let target = self.entries(moved.map).into_iter().find(|(other, _)| self.is_key(*other, into));
        let twin = target.and_then(|(_, target)| {
            self.entries(target).into_iter().find(|(other, _)| self.is_key(*other, moved.name))
        });
        let mut compiled = match (target, twin) {
            (_, Some((_, old))) => self.set_scalar(old, &moved.content, None)?,
            (Some((_, target)), None) => {
                self.insert_path(target, &path[1..], &moved.content, &KeyPlace::End, None)?
            }
            (None, None) => return self.wrap_flow(moved, into),
        };
        let removed = if self.token(moved.map).flow {
            self.remove_flow(moved.map, moved.key, moved.value)?
        } else {
            self.remove_block_entry(moved.map, moved.key, moved.value)?
        };
        compiled.edits.extend(removed.edits);
        compiled.changes.extend(removed.changes);
        compiled.edits.sort_by_key(|edit| (edit.start, edit.end));
        if compiled.edits.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return self.refuse(moved.key, "its new place is too near to the old one", "move it by hand");
        }
        Ok(compiled)
    }

    /// Put braces around the entry, where it stands between others.
    fn wrap_flow(&self, moved: &Moved<'_>, into: &str) -> Result<Compiled, RefusedEdit> {
        let mut compiled = Compiled::default();
        let (start, end) = (self.token(moved.key).start as usize, self.token(moved.value).end as usize);
        let key = self.habits.key(into, None, true);
        compiled.edit(start..start, format!("{key}: {{"));
        compiled.edit(end..end, "}");
        let inner = Content::Map(vec![(moved.name.to_owned(), moved.content.clone())]);
        compiled.changes.push(TreeChange::Insert {
            parent: moved.map,
            before: Some(moved.key),
            key: Some(into.to_owned()),
            value: inner,
        });
        compiled.changes.push(TreeChange::Remove { child: moved.key });
        Ok(compiled)
    }

    /// Put the map around the entry, where it stands.
    fn wrap(&self, moved: &Moved<'_>, into: &str) -> Result<Compiled, RefusedEdit> {
        let mut compiled = Compiled::default();
        let start = self.token(moved.key).start as usize;
        let (indent, step) = (column(self.text, start), self.habits.step);
        let line = format!("{}:{}", self.habits.key(into, None, false), self.habits.eol);
        compiled.edit(start..start, format!("{line}{:1$}", "", indent + step));
        let end = self.token(moved.value).end as usize;
        let mut at = self.next_line(start);
        while at < end {
            if !self.is_blank_line(at) {
                compiled.edit(at..at, " ".repeat(step));
            }
            at = self.next_line(at);
        }
        let inner = Content::Map(vec![(moved.name.to_owned(), moved.content.clone())]);
        compiled.changes.push(TreeChange::Insert {
            parent: moved.map,
            before: Some(moved.key),
            key: Some(into.to_owned()),
            value: inner,
        });
        compiled.changes.push(TreeChange::Remove { child: moved.key });
        Ok(compiled)
    }

    /// Put the lines of the entry behind the last one of a block map.
    fn move_behind(&self, moved: &Moved<'_>, target: u32) -> Result<Compiled, RefusedEdit> {
        let entries = self.entries(target);
        let (first, last) = (entries[0].0, entries[entries.len() - 1].1);
        self.check_key(first)?;
        let own = column(self.text, self.token(moved.key).start as usize);
        let wanted = column(self.text, self.token(first).start as usize);
        let lines = self.lines(moved.key, moved.value);
        let text = self.indented(&self.text[lines.clone()], own, wanted);
        let mut compiled = Compiled::default();
        if self.end_of_lines(last) == lines.start {
            let ends = self.text[..lines.end].ends_with(['\n', '\r']);
            let eol = if ends { self.habits.eol } else { "" };
            compiled.edit(lines, format!("{text}{eol}"));
        } else {
            self.check_end(moved.value)?;
            self.append_line(&mut compiled, last, &text)?;
            self.remove_lines(&mut compiled, lines.start, lines.end, moved.key);
        }
        compiled.changes.push(TreeChange::Insert {
            parent: target,
            before: None,
            key: Some(moved.name.to_owned()),
            value: moved.content.clone(),
        });
        compiled.changes.push(TreeChange::Remove { child: moved.key });
        Ok(compiled)
    }

    /// Put the value of the entry in place of another one's. A marker on the value
    /// that is replaced goes with it.
    fn move_over(&self, moved: &Moved<'_>, twin: u32, old: u32) -> Result<Compiled, RefusedEdit> {
        let is_plain = |at: u32| {
            let token = self.token(at);
            let written = &self.text[token.start as usize..token.end as usize];
            matches!(token.kind, TokenKind::Scalar(_)) && !token.empty && !written.contains(['\n', '\r'])
        };
        if !is_plain(moved.value) || !is_plain(old) || self.has_properties(old) {
            return self.refuse(old, "one of the two values takes several lines", "move it by hand");
        }
        self.check_key(twin)?;
        let (value, over) = (self.token(moved.value), self.token(old));
        let own_comment = self.comment_behind(value.end as usize);
        let old_comment = self.comment_behind(over.end as usize);
        let mut text = self.written(moved.value).to_owned();
        let mut end = over.end as usize;
        match (own_comment, old_comment) {
            (Some(own), old) => {
                text.push_str(&self.text[value.end as usize..own.end]);
                end = old.map_or(end, |old| old.end);
            }
            (None, Some(old)) if self.text[old.clone()].contains("$imagepolicy") => end = old.end,
            (None, _) => {}
        }
        let mut compiled = Compiled::default();
        compiled.edit(over.start as usize..end, text);
        let lines = self.lines(moved.key, moved.value);
        let first = line_start(self.text, self.token(moved.key).start as usize);
        if lines.start < first {
            let start = self.token(twin).start as usize;
            if !self.starts_line(start) {
                return self.refuse(twin, "a comment has no place in front of it", "move it by hand");
            }
            let own = column(self.text, self.token(moved.key).start as usize);
            let text = self.indented(&self.text[lines.start..first], own, column(self.text, start));
            let at = line_start(self.text, start);
            compiled.edit(at..at, format!("{text}{}", self.habits.eol));
        }
        self.remove_lines(&mut compiled, lines.start, lines.end, moved.key);
        compiled.changes.push(TreeChange::Replace { token: old, with: moved.content.clone() });
        compiled.changes.push(TreeChange::Remove { child: moved.key });
        Ok(compiled)
    }

    /// Lines moved from one column to another, without the last line break.
    fn indented(&self, lines: &str, from: usize, to: usize) -> String {
        let moved = lines.lines().map(|line| {
            let body = line.trim_start_matches(' ');
            let column = (line.len() - body.len() + to).saturating_sub(from);
            if body.is_empty() { String::new() } else { format!("{:column$}{body}", "") }
        });
        moved.collect::<Vec<_>>().join(self.habits.eol)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Operation, compile, verify};
    use crate::lang::yaml::Stream;

    fn moved(text: &str) -> Result<String, String> {
        let stream = Stream::parse(text);
        let operation =
            Operation::MoveKey { pointer: "/spec/summary".to_owned(), into: "eventMetadata".to_owned() };
        let compiled = compile(&stream, 0, &operation).map_err(|refused| refused.message)?;
        let new = verify::verify(&stream, &[(0, &compiled)])?;
        Ok(new.text.to_string())
    }

    #[test]
    fn the_map_is_put_around_the_entry() {
        for (before, after) in [
            ("spec:\n  summary: a\n", "spec:\n  eventMetadata:\n    summary: a\n"),
            (
                "spec:\n  a: 1\n  # ring\n  summary: 'a' # {\"$imagepolicy\": \"ns:p\"}\n\n  # sources\n  b: 2\n",
                "spec:\n  a: 1\n  # ring\n  eventMetadata:\n    summary: 'a' # {\"$imagepolicy\": \"ns:p\"}\n\n  # sources\n  b: 2\n",
            ),
            (
                "spec:\n  summary: |\n    two\n\n    lines\n  b: 2\n",
                "spec:\n  eventMetadata:\n    summary: |\n      two\n\n      lines\n  b: 2\n",
            ),
            (
                "spec:\n  summary: one\n    line\n  b: 2",
                "spec:\n  eventMetadata:\n    summary: one\n      line\n  b: 2",
            ),
            (
                "spec:\r\n    summary: a\r\n    b: 2\r\n",
                "spec:\r\n    eventMetadata:\r\n        summary: a\r\n    b: 2\r\n",
            ),
            ("spec:\n  summary: a", "spec:\n  eventMetadata:\n    summary: a"),
            ("spec:\n  eventMetadata: {}\n  summary: a\n", "spec:\n  eventMetadata:\n    summary: a\n"),
            ("spec:\n  summary: a\n  eventMetadata:\n", "spec:\n  eventMetadata:\n    summary: a\n"),
        ] {
            assert_eq!(moved(before).as_deref(), Ok(after), "{before}");
        }
    }

    #[test]
    fn the_lines_go_behind_the_last_entry() {
        for (before, after) in [
            (
                "spec:\n  eventMetadata:\n    env: x\n  summary: a # why\n  b: 2\n",
                "spec:\n  eventMetadata:\n    env: x\n    summary: a # why\n  b: 2\n",
            ),
            (
                "spec:\n  # ring\n  summary: \"a\"\n  b: 2\n  eventMetadata:\n    env: x # e\n  # c\n  d: 3\n",
                "spec:\n  b: 2\n  eventMetadata:\n    env: x # e\n    # ring\n    summary: \"a\"\n  # c\n  d: 3\n",
            ),
            (
                "spec:\n  eventMetadata:\n    env: x\n  summary: a",
                "spec:\n  eventMetadata:\n    env: x\n    summary: a",
            ),
            (
                "spec:\n  eventMetadata:\n    env: x\n  b: 2\n  summary: a",
                "spec:\n  eventMetadata:\n    env: x\n    summary: a\n  b: 2",
            ),
            (
                "spec:\n  summary: >-\n    two\n    lines\n  eventMetadata:\n      env: x",
                "spec:\n  eventMetadata:\n      env: x\n      summary: >-\n        two\n        lines",
            ),
            (
                "spec:\n  summary: a b\n  eventMetadata: {env: x}\n",
                "spec:\n  eventMetadata: {env: x, summary: a b}\n",
            ),
            (
                "{\"spec\": {\"summary\": \"a\", \"b\": 2}}\n",
                "{\"spec\": {\"eventMetadata\": {\"summary\": \"a\"}, \"b\": 2}}\n",
            ),
            ("spec: { summary: a }\n", "spec: { eventMetadata: {summary: a} }\n"),
            (
                "{\n  \"spec\": {\n    \"summary\": \"a\"\n  }\n}\n",
                "{\n  \"spec\": {\n    \"eventMetadata\": {\"summary\": \"a\"}\n  }\n}\n",
            ),
        ] {
            assert_eq!(moved(before).as_deref(), Ok(after), "{before}");
        }
    }

    #[test]
    fn the_value_takes_the_place_of_another() {
        for (before, after) in [
            (
                "spec:\n  summary: \"a\"\n  eventMetadata:\n    summary: b # c\n",
                "spec:\n  eventMetadata:\n    summary: \"a\" # c\n",
            ),
            (
                "spec:\n  eventMetadata:\n    summary: b # {\"$imagepolicy\": \"ns:p\"}\n    env: x\n  summary: a\n",
                "spec:\n  eventMetadata:\n    summary: a\n    env: x\n",
            ),
            (
                "spec:\n  # ring\n  summary: a  # {\"$imagepolicy\": \"ns:q\"}\n  eventMetadata:\n    env: x\n    summary: b # c\n",
                "spec:\n  eventMetadata:\n    env: x\n    # ring\n    summary: a  # {\"$imagepolicy\": \"ns:q\"}\n",
            ),
        ] {
            assert_eq!(moved(before).as_deref(), Ok(after), "{before}");
        }
    }

    #[test]
    fn refused() {
        for (text, words) in [
            ("spec:\n  b: 1\n", "there is no"),
            ("spec:\n  summary: &a x\n  b: *a\n", "use &a"),
            ("spec:\n  summary: !!str x\n", "an anchor or a tag"),
            ("spec:\n  summary: [x]\n", "is no scalar"),
            ("spec:\n  summary: a # c\n  eventMetadata: {env: x}\n", "between braces"),
            ("spec:\n  summary: a\n  eventMetadata: text\n", "is no map"),
            ("spec:\n  summary: a\n  eventMetadata:\n    summary: |\n      b\n", "several lines"),
            ("x: &x\n  eventMetadata: {}\nspec:\n  <<: *x\n  summary: a\n", "merge key"),
        ] {
            let refusal = moved(text).expect_err(text);
            assert!(refusal.contains(words), "{text}: {refusal}");
        }
    }
}
