//! Operations on block style: lines, indentation, dashes.

use super::editor::Editor;
use super::render::{column, line_start};
use super::{Compiled, Content, KeyPlace, RefusedEdit, TreeChange};
use crate::lang::yaml::ScalarStyle;
use crate::lang::yaml::tape::TokenKind;

impl Editor<'_> {
    /// The end of the line of a byte, its break excluded.
    pub(super) fn line_end(&self, at: usize) -> usize {
        memchr::memchr2(b'\n', b'\r', &self.text.as_bytes()[at..]).map_or(self.text.len(), |found| at + found)
    }

    /// The start of the line behind that of a byte; the end of the text at last.
    pub(super) fn next_line(&self, at: usize) -> usize {
        let end = self.line_end(at);
        match self.text.as_bytes().get(end) {
            Some(b'\r') if self.text[end..].starts_with("\r\n") => end + 2,
            Some(_) => end + 1,
            None => end,
        }
    }

    /// The end of the line where nothing but blanks follows, else `at`.
    pub(super) fn end_of_blanks(&self, at: usize) -> usize {
        let end = self.line_end(at);
        if self.text[at..end].trim().is_empty() { end } else { at }
    }

    pub(super) fn is_blank_line(&self, at: usize) -> bool {
        self.text[at..self.line_end(at)].trim().is_empty()
    }

    /// Start of the line behind a node: behind the comment at its end, and behind
    /// the empty lines that a block scalar keeps.
    pub(super) fn end_of_lines(&self, at: u32) -> usize {
        let last = self.token(at).next - 1;
        let end = self.next_line(self.token(last).end.max(self.token(at).end) as usize);
        if self.keeps_blank_lines(last) { self.end_of_blank_lines(end) } else { end }
    }

    /// Whether empty lines behind a token belong to its value.
    fn keeps_blank_lines(&self, at: u32) -> bool {
        let token = self.token(at);
        if !matches!(token.kind, TokenKind::Scalar(ScalarStyle::Literal | ScalarStyle::Folded)) {
            return false;
        }
        let header = &self.text[token.start as usize..self.line_end(token.start as usize)];
        let indicators = header.trim_start_matches(['|', '>']);
        indicators.chars().take_while(|c| !c.is_whitespace()).any(|c| c == '+')
    }

    fn end_of_blank_lines(&self, at: usize) -> usize {
        let mut end = at;
        while end < self.text.len() && self.is_blank_line(end) {
            end = self.next_line(end);
        }
        end
    }

    /// Behind the comments that follow at `at` and are indented more deeply than a column:
    /// they are about what stands above, and a block scalar before them would take them in.
    fn end_of_deeper_comments(&self, at: usize, column: usize) -> usize {
        let (mut found, mut next) = (at, at);
        while next < self.text.len() {
            let body = self.text[next..self.line_end(next)].trim_start_matches(' ');
            let indent = self.line_end(next) - next - body.len();
            let is_comment = body.starts_with('#') && indent > column;
            next = self.next_line(next);
            match (is_comment, body.trim().is_empty()) {
                (true, _) => found = next,
                (false, true) => {}
                (false, false) => break,
            }
        }
        found
    }

    /// Refuse a text that ends inside a block scalar without a line break: what is
    /// put behind it would add one to its value.
    pub(super) fn check_end(&self, at: u32) -> Result<(), RefusedEdit> {
        let last = self.token(self.token(at).next - 1);
        let is_block = matches!(last.kind, TokenKind::Scalar(ScalarStyle::Literal | ScalarStyle::Folded));
        if is_block && last.end as usize == self.text.len() {
            return self.refuse(
                at,
                "the file ends inside a block scalar, without a line break",
                "end the file with a line break if the value may have one",
            );
        }
        Ok(())
    }

    /// What stands on the line in front of a byte.
    fn before(&self, at: usize) -> &str {
        &self.text[line_start(self.text, at)..at]
    }

    pub(super) fn starts_line(&self, at: usize) -> bool {
        self.before(at).bytes().all(|byte| byte == b' ')
    }

    /// Start of the comment lines right above a line, in its column. Those at the
    /// top of the document are about all of it.
    pub(super) fn attached_comments(&self, at: usize) -> usize {
        let wanted = column(self.text, at);
        let mut start = line_start(self.text, at);
        // A byte order mark is no line.
        let top = if self.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        while start > top {
            let above = line_start(self.text, start - 1);
            let above =
                if self.text[..start].ends_with("\r\n") { line_start(self.text, start - 2) } else { above };
            let line = &self.text[above..start];
            let body = line.trim_start_matches(' ');
            let is_top = above <= self.document.start as usize
                || self.text[..above].trim_end().ends_with("---")
                || above == line_start(self.text, 0);
            if !body.starts_with('#') || line.len() - body.len() != wanted {
                break;
            }
            if is_top {
                return line_start(self.text, at);
            }
            start = above;
        }
        start
    }

    /// Check that a key is written plainly: on a line of its own or behind dashes.
    pub(super) fn check_key(&self, key: u32) -> Result<(), RefusedEdit> {
        let before = self.before(self.token(key).start as usize);
        if before.bytes().all(|byte| byte == b' ' || byte == b'-') && !self.has_properties(key) {
            return Ok(());
        }
        self.refuse(
            key,
            "the key is written with `?`, an anchor, a tag, or behind `---` or an unusual line break",
            "edit it by hand",
        )
    }

    pub(super) fn remove_comment(&self, start: u32) -> Result<Compiled, RefusedEdit> {
        let comments = &self.document.comments;
        let Ok(at) = comments.binary_search_by_key(&start, |comment| comment.start) else {
            return Err(RefusedEdit {
                message: "no comment starts here".to_owned(),
                help: "name one that is there".to_owned(),
                range: start..start,
            });
        };
        let mut compiled = Compiled::default();
        let (start, end) = (comments[at].start as usize, comments[at].end as usize);
        let line = line_start(self.text, start);
        let before = self.text[..start].trim_end_matches([' ', '\t']).len();
        if before <= line {
            compiled.edit(line..self.next_line(end), "");
        } else {
            compiled.edit(before..end, "");
        }
        Ok(compiled)
    }

    pub(super) fn insert_block_entry(
        &self,
        map: u32,
        key: &str,
        value: &Content,
        place: &KeyPlace,
        comment: Option<&str>,
    ) -> Result<Compiled, RefusedEdit> {
        let entries = self.entries(map);
        let named = |name: &str| entries.iter().position(|(key, _)| self.is_key(*key, name));
        let before = match place {
            KeyPlace::End => None,
            KeyPlace::Before(sibling) => named(sibling),
            KeyPlace::After(sibling) => named(sibling).map(|at| at + 1).filter(|at| *at < entries.len()),
        };
        let (first, last) = (entries[0].0, entries[entries.len() - 1]);
        self.check_key(first)?;
        let indent = column(self.text, self.token(first).start as usize);
        // A copy of its sibling is quoted as that is.
        let copied = match (place, value) {
            (KeyPlace::After(sibling), Content::Str(text)) => named(sibling)
                .map(|at| entries[at].1)
                .filter(|at| self.is_quoted(*at) && self.is_key(*at, text))
                .map(|at| format!(" {}", self.written(at))),
            _ => None,
        };
        let behind = copied.unwrap_or_else(|| self.habits.behind_key(value, indent));
        let mut line = format!("{}:{behind}", self.habits.key(key, None, false));
        if let Some(comment) = comment {
            line.push_str(&format!(" # {comment}"));
        }
        let mut compiled = Compiled::default();
        compiled.changes.push(TreeChange::Insert {
            parent: map,
            before: before.map(|at| entries[at].0),
            key: Some(key.to_owned()),
            value: value.clone(),
        });
        let eol = self.habits.eol;
        match (before, place) {
            // Right behind its sibling, before empty lines and comments.
            (Some(at), KeyPlace::After(_)) => {
                self.append_line(&mut compiled, entries[at - 1].1, &format!("{:indent$}{line}", ""))?;
            }
            (Some(at), _) => {
                self.check_key(entries[at].0)?;
                let start = self.token(entries[at].0).start as usize;
                if self.starts_line(start) {
                    let at = self.attached_comments(start);
                    compiled.edit(at..at, format!("{:indent$}{line}{eol}", ""));
                } else {
                    compiled.edit(start..start, format!("{line}{eol}{:indent$}", ""));
                }
            }
            (None, _) => self.append_line(&mut compiled, last.1, &format!("{:indent$}{line}", ""))?,
        }
        Ok(compiled)
    }

    /// Put a line behind a node.
    pub(super) fn append_line(
        &self,
        compiled: &mut Compiled,
        behind: u32,
        line: &str,
    ) -> Result<(), RefusedEdit> {
        let column = line.len() - line.trim_start_matches(' ').len();
        let at = self.end_of_deeper_comments(self.end_of_lines(behind), column);
        let eol = self.habits.eol;
        self.check_end(behind)?;
        let ends_with_break = self.text[..at].ends_with(['\n', '\r']);
        if ends_with_break {
            compiled.edit(at..at, format!("{line}{eol}"));
        } else {
            compiled.edit(at..at, format!("{eol}{line}"));
        }
        Ok(())
    }

    pub(super) fn remove_block_entry(&self, map: u32, key: u32, value: u32) -> Result<Compiled, RefusedEdit> {
        self.check_key(key)?;
        let entries = self.entries(map);
        let start = self.token(key).start as usize;
        if entries.len() == 1 {
            return self.empty_block(map, key, start, self.end_of_lines(value), "{}");
        }
        let mut compiled = Compiled::default();
        compiled.changes.push(TreeChange::Remove { child: key });
        if self.starts_line(start) {
            let from = self.attached_comments(start);
            self.remove_lines(&mut compiled, from, self.end_of_lines(value), key);
            return Ok(compiled);
        }
        // The first key behind a dash: the next one takes its place.
        let next = entries[1].0;
        self.check_key(next)?;
        self.pull_up(&mut compiled, start, value, self.token(next).start as usize)?;
        Ok(compiled)
    }

    /// Remove everything from `start` on up to `next`, which stands on a later line
    /// and moves to `start`.
    fn pull_up(
        &self,
        compiled: &mut Compiled,
        start: usize,
        removed: u32,
        next: usize,
    ) -> Result<(), RefusedEdit> {
        if self.has_comment(self.end_of_lines(removed)..next) || !self.starts_line(next) {
            return self.refuse(removed, "a comment stands between it and what follows", "edit it by hand");
        }
        compiled.edit(start..next, "");
        Ok(())
    }

    /// Remove whole lines, the last of which may have no line break.
    pub(super) fn remove_lines(&self, compiled: &mut Compiled, from: usize, to: usize, removed: u32) {
        let unfinished = to == self.text.len() && !self.text.ends_with(['\n', '\r']);
        let before = removed.checked_sub(1);
        let behind_block = before.is_some_and(|at| {
            matches!(self.token(at).kind, TokenKind::Scalar(ScalarStyle::Literal | ScalarStyle::Folded))
        });
        // Empty lines behind it would become part of the value before it.
        let to = if before.is_some_and(|at| self.keeps_blank_lines(at)) {
            self.end_of_blank_lines(to)
        } else {
            to
        };
        let mut from = from;
        if unfinished && !behind_block {
            // The line before becomes the last one, and has no line break either.
            from = self.text[..from].strip_suffix('\n').map_or(from, |rest| rest.len());
            from = self.text[..from].strip_suffix('\r').map_or(from, |rest| rest.len());
        }
        compiled.edit(from..to, "");
    }

    /// Remove the only child of a block collection: braces or brackets take its
    /// place.
    fn empty_block(
        &self,
        collection: u32,
        child: u32,
        start: usize,
        end: usize,
        empty: &str,
    ) -> Result<Compiled, RefusedEdit> {
        if self.has_properties(collection) {
            return self.refuse(collection, "the value carries an anchor or a tag", "edit it by hand");
        }
        let mut compiled = Compiled::default();
        compiled.changes.push(TreeChange::Remove { child });
        let last = self.token(self.token(collection).next - 1).end;
        let last = last.max(self.token(collection).end) as usize;
        let key = self.parent(collection).and_then(|(_, key)| key);
        match key {
            Some(key) if self.starts_line(start) => {
                self.check_key(key)?;
                let colon = self.token(key).end as usize;
                let Some(offset) = self.text[colon..start].find(':') else {
                    return self.refuse(key, "its `:` can't be found", "edit it by hand");
                };
                let colon = colon + offset + 1;
                compiled.edit(colon..colon, format!(" {empty}"));
                // Comments between the key and its only child are about the child.
                let from = self.next_line(colon).max(self.attached_comments(start));
                self.remove_lines(&mut compiled, from, end, child);
            }
            _ => {
                if self.has_comment(start..last) {
                    return self.refuse(child, "a comment stands inside of it", "edit it by hand");
                }
                compiled.edit(start..last, empty);
            }
        }
        Ok(compiled)
    }

    /// The dash of an item of a block list.
    pub(super) fn dash(&self, seq: u32, item: u32) -> Result<usize, RefusedEdit> {
        let wanted = column(self.text, self.token(seq).start as usize);
        let mut at = self.start(item);
        let first = self.token(seq).start as usize;
        loop {
            let line = line_start(self.text, at);
            let dash = line + wanted;
            if dash < at && self.text.as_bytes().get(dash) == Some(&b'-') {
                return Ok(dash);
            }
            if line <= first {
                return self.refuse(item, "its dash can't be found", "edit it by hand");
            }
            at = line - 1;
        }
    }

    pub(super) fn insert_block_item(
        &self,
        seq: u32,
        before: Option<u32>,
        value: &Content,
    ) -> Result<Compiled, RefusedEdit> {
        let items = self.items(seq);
        let (first, last) = (items[0], items[items.len() - 1]);
        let dash = self.dash(seq, first)?;
        let indent = column(self.text, dash);
        // As many blanks as behind the first dash, when the item is on its line.
        let gap = match self.start(first).checked_sub(dash + 1) {
            Some(gap @ 1..=8) if !self.text[dash..dash + gap].contains(['\n', '\r']) => gap,
            _ => 1,
        };
        let text = format!("-{:gap$}{}", "", self.habits.behind_dash(value, indent + 1 + gap));
        let mut compiled = Compiled::default();
        compiled.changes.push(TreeChange::Insert { parent: seq, before, key: None, value: value.clone() });
        let eol = self.habits.eol;
        match before {
            Some(item) => {
                let dash = self.dash(seq, item)?;
                if self.starts_line(dash) {
                    let at = self.attached_comments(dash);
                    compiled.edit(at..at, format!("{:indent$}{text}{eol}", ""));
                } else {
                    compiled.edit(dash..dash, format!("{text}{eol}{:indent$}", ""));
                }
            }
            None => self.append_line(&mut compiled, last, &format!("{:indent$}{text}", ""))?,
        }
        Ok(compiled)
    }

    pub(super) fn remove_block_item(&self, seq: u32, item: u32) -> Result<Compiled, RefusedEdit> {
        let items = self.items(seq);
        let dash = self.dash(seq, item)?;
        if items.len() == 1 {
            return self.empty_block(seq, item, dash, self.end_of_lines(item), "[]");
        }
        let mut compiled = Compiled::default();
        compiled.changes.push(TreeChange::Remove { child: item });
        if self.starts_line(dash) {
            let from = self.attached_comments(dash);
            self.remove_lines(&mut compiled, from, self.end_of_lines(item), item);
            return Ok(compiled);
        }
        let next = self.dash(seq, items[1])?;
        self.pull_up(&mut compiled, dash, item, next)?;
        Ok(compiled)
    }
}
