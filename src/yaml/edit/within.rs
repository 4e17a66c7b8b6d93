//! Replacing a word inside of a scalar or a comment.

use super::{Change, Compiled, Content, Refused, Scene};
use crate::yaml::tape::TokenKind;
use std::ops::Range;

impl Scene<'_> {
    /// Replace bytes inside of one scalar or one comment.
    pub(super) fn replace_within(&self, range: Range<u32>, new: &str) -> Result<Compiled, Refused> {
        let refuse = |message: &str| {
            let help = "change it by hand".to_owned();
            Err(Refused { message: message.to_owned(), help, range: range.clone() })
        };
        let inside = |start: u32, end: u32| start <= range.start && range.end <= end;
        let old = &self.text[range.start as usize..range.end as usize];
        let mut compiled = Compiled::default();
        let comments = &self.document.comments;
        if let Some(comment) = comments.iter().find(|comment| inside(comment.start, comment.end)) {
            let (start, end) = (comment.start as usize, comment.end as usize);
            let (head, tail) = (&self.text[start..range.start as usize], &self.text[range.end as usize..end]);
            compiled.edit(start..end, format!("{head}{new}{tail}"));
            return Ok(compiled);
        }
        let tokens = self.document.tokens.iter();
        let scalar = tokens.enumerate().find(|(_, token)| {
            matches!(token.kind, TokenKind::Scalar(_)) && !token.empty && inside(token.start, token.end)
        });
        let Some((at, token)) = scalar else {
            return refuse("no scalar and no comment stands here");
        };
        let at = at as u32;
        self.check_anchor(at)?;
        // Which of the equal words of the value it is, by how many stand before it.
        let (before, written) = (&self.text[token.start as usize..range.start as usize], self.written(at));
        let value = self.value(at);
        let count = |text: &str| text.match_indices(old).count();
        if old.is_empty() || count(written) != count(value) {
            return refuse("the word is not written as it is meant");
        }
        let Some((place, _)) = value.match_indices(old).nth(count(before)) else {
            return refuse("the word is not written as it is meant");
        };
        let with = format!("{}{new}{}", &value[..place], &value[place + old.len()..]);
        compiled.edit(range.start as usize..range.end as usize, new);
        compiled.changes.push(Change::Replace { token: at, with: Content::Str(with) });
        Ok(compiled)
    }
}
