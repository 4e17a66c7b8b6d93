//! Another value where one stands: a scalar for a scalar, a collection for null.

use super::editor::Editor;
use super::render::column;
use super::{Compiled, Content, RefusedEdit, TreeChange, tree};
use crate::lang::yaml::ScalarStyle;
use crate::lang::yaml::tape::TokenKind;

impl Editor<'_> {
    /// Replace a scalar by another.
    pub(super) fn set_scalar(
        &self,
        at: u32,
        value: &Content,
        comment: Option<&str>,
    ) -> Result<Compiled, RefusedEdit> {
        let token = self.token(at);
        let TokenKind::Scalar(style) = token.kind else {
            return self.refuse(at, "it is no scalar", "edit it by hand");
        };
        if self.document.tag(at).is_some() {
            return self.refuse(
                at,
                "the value carries a tag",
                "edit it by hand: tag and value belong together",
            );
        }
        let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
        let says = |wanted: &str| tree::value(self.text, self.document, at) == wanted;
        if is_block && comment.is_none() && matches!(value, Content::Str(wanted) if says(wanted)) {
            return Ok(Compiled::default());
        }
        let text = self.habits.scalar(value, Some(style).filter(|_| !token.empty), self.in_flow(at));
        let mut compiled = Compiled::default();
        if is_block {
            self.replace_block_scalar(&mut compiled, at, text, comment)?;
        } else {
            if token.empty {
                self.write_left_out(&mut compiled, at, &text)?;
            } else {
                self.replace_text(&mut compiled, at, text);
            }
            if let Some(comment) = comment {
                self.put_comment(&mut compiled, at, token.end as usize, comment)?;
            }
        }
        compiled.changes.push(TreeChange::Replace { token: at, with: value.clone() });
        Ok(compiled)
    }

    /// Put a text where a block scalar stands: the header's line keeps its comment, the
    /// body goes.
    fn replace_block_scalar(
        &self,
        compiled: &mut Compiled,
        at: u32,
        text: String,
        comment: Option<&str>,
    ) -> Result<(), RefusedEdit> {
        let (start, end) = (self.token(at).start as usize, self.token(at).end as usize);
        let body = self.line_end(start);
        let header = self.text[start..body].find([' ', '\t']).map_or(body, |blank| start + blank);
        compiled.edit(start..header, text);
        if let Some(comment) = comment {
            self.put_comment(compiled, at, header, comment)?;
        }
        if end > body {
            compiled.edit(body..end, "");
        }
        Ok(())
    }

    /// Write a value that is left out behind its colon or dash.
    fn write_left_out(&self, compiled: &mut Compiled, at: u32, text: &str) -> Result<(), RefusedEdit> {
        let start = self.token(at).start as usize;
        let flow = self.in_flow(at);
        let has_colon = self.text[..start].trim_end().ends_with(':');
        let is_entry = self.parent(at).is_some_and(|(_, key)| key.is_some());
        if !has_colon && (flow || is_entry && !self.has_properties(at)) {
            let place = if flow { "between braces" } else { "behind `?`" };
            let message = format!("the value is left out {place}");
            return self.refuse(at, message, "edit it by hand: write it first");
        }
        compiled.edit(start..start, format!(" {text}"));
        Ok(())
    }

    /// Put a text where a scalar of one line stands.
    fn replace_text(&self, compiled: &mut Compiled, at: u32, text: String) {
        let (start, end) = (self.token(at).start as usize, self.token(at).end as usize);
        match text.strip_prefix(['"', '\'']).and_then(|text| text.strip_suffix(['"', '\''])) {
            // Quotes around what is there, which may be a secret.
            Some(inner) if !inner.is_empty() && *inner == self.text[start..end] => {
                compiled.edit(start..start, &text[..1]);
                compiled.edit(end..end, &text[..1]);
            }
            _ => compiled.edit(start..end, text),
        }
    }

    /// Put a comment behind the byte `behind` of the line of a value, or in place of
    /// the one that is there.
    fn put_comment(
        &self,
        compiled: &mut Compiled,
        at: u32,
        behind: usize,
        comment: &str,
    ) -> Result<(), RefusedEdit> {
        if self.in_flow(at) {
            return self.refuse_comment(at);
        }
        match self.comment_behind(behind) {
            Some(old) if self.text[old.clone()].contains("$imagepolicy") => {
                return self.refuse(at, "the line carries an image policy marker", "leave out the comment");
            }
            Some(old) => compiled.edit(old, format!("# {comment}")),
            None => {
                let end = self.end_of_blanks(behind);
                match compiled.edits.last_mut() {
                    Some(last) if last.end as usize == behind => {
                        last.text.push_str(&format!(" # {comment}"));
                        last.end = end as u32;
                    }
                    _ => compiled.edit(behind..end, format!(" # {comment}")),
                }
            }
        }
        Ok(())
    }

    /// Whether a token stands between brackets or braces.
    pub(super) fn in_flow(&self, at: u32) -> bool {
        self.parent(at).is_some_and(|(parent, _)| self.token(parent).flow)
    }

    /// Put a collection where null or an empty one stands.
    pub(super) fn fill(
        &self,
        at: u32,
        value: &Content,
        comment: Option<&str>,
    ) -> Result<Compiled, RefusedEdit> {
        let token = self.token(at);
        let mut compiled = Compiled::default();
        compiled.changes.push(TreeChange::Replace { token: at, with: value.clone() });
        let (start, end) = (token.start as usize, token.end as usize);
        let in_line = || {
            let blank = if token.empty { " " } else { "" };
            format!("{blank}{}", self.habits.flow(value))
        };
        let is_split = self.text[start..end].contains(['\n', '\r']);
        if self.in_flow(at) || (token.flow && self.habits_are_json()) {
            if comment.is_some() {
                return self.refuse_comment(at);
            }
            if token.empty && !self.text[..start].trim_end().ends_with(':') {
                let message = "the value is left out between braces";
                return self.refuse(at, message, "edit it by hand: write it first");
            }
            if is_split {
                return self.refuse(at, "the braces are on several lines", "edit it by hand");
            }
            compiled.edit(start..end, in_line());
            return Ok(compiled);
        }
        if self.has_properties(at) {
            return self.refuse(at, "the value carries an anchor or a tag", "edit it by hand");
        }
        if is_split {
            return self.refuse(at, "the braces are on several lines", "edit it by hand");
        }
        if matches!(value, Content::Seq(items) if items.is_empty())
            || matches!(value, Content::Map(entries) if entries.is_empty())
        {
            compiled.edit(start..end, in_line());
            if let Some(comment) = comment {
                self.put_comment(&mut compiled, at, end, comment)?;
            }
            return Ok(compiled);
        }
        self.fill_with_lines(&mut compiled, at, value, comment)?;
        Ok(compiled)
    }

    /// Put the lines of a collection behind the key or the dash of a value.
    fn fill_with_lines(
        &self,
        compiled: &mut Compiled,
        at: u32,
        value: &Content,
        comment: Option<&str>,
    ) -> Result<(), RefusedEdit> {
        let (start, end) = (self.token(at).start as usize, self.token(at).end as usize);
        let tail = comment.map_or(String::new(), |comment| format!(" # {comment}"));
        match self.parent(at) {
            Some((_, Some(key))) => {
                self.check_key(key)?;
                let key_column = column(self.text, self.token(key).start as usize);
                let lines = format!("{}{tail}", self.habits.behind_key(value, key_column));
                // The value goes, with the blanks in front of it; a comment behind it
                // stays on the line of the key.
                let behind_key = self.text[..start].trim_end_matches([' ', '\t']).len();
                match self.comment_behind(end) {
                    None => compiled.edit(behind_key..self.end_of_blanks(end), lines),
                    Some(comment) => {
                        compiled.edit(behind_key..end, "");
                        compiled.edit(comment.end..comment.end, lines);
                    }
                }
                Ok(())
            }
            Some((seq, None)) => {
                let dash = self.dash(seq, at)?;
                let text = self.habits.behind_dash(value, column(self.text, dash) + 2);
                if self.comment_behind(end).is_some() {
                    return self.refuse(at, "a comment stands behind the empty item", "edit it by hand");
                }
                compiled.edit(dash + 1..self.end_of_blanks(end), format!(" {text}{tail}"));
                Ok(())
            }
            None => self.refuse(at, "the document is empty", "write its first key by hand"),
        }
    }

    fn habits_are_json(&self) -> bool {
        self.token(0).flow
    }
}
