//! Replacing a word inside of a scalar or a comment.

use super::editor::Editor;
use super::{Compiled, Content, RefusedEdit, TreeChange};
use crate::lang::yaml::tape::TokenKind;

impl Editor<'_> {
    /// Replace a word at some places of one scalar or one comment.
    pub(super) fn replace_within(&self, places: &[(u32, u32)], new: &str) -> Result<Compiled, RefusedEdit> {
        let (Some((first, _)), Some((_, last))) = (places.first(), places.last()) else {
            return Ok(Compiled::default());
        };
        let refuse = |message: &str| {
            let help = "change it by hand".to_owned();
            Err(RefusedEdit { message: message.to_owned(), help, range: *first..*last })
        };
        let inside = |start: u32, end: u32| start <= *first && *last <= end;
        let mut compiled = Compiled::default();
        let comments = &self.document.comments;
        if let Some(comment) = comments.iter().find(|comment| inside(comment.start, comment.end)) {
            let mut text = self.text[comment.start as usize..comment.end as usize].to_owned();
            for (start, end) in places.iter().rev() {
                text.replace_range((start - comment.start) as usize..(end - comment.start) as usize, new);
            }
            compiled.edit(comment.start as usize..comment.end as usize, text);
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
        let old = &self.text[places[0].0 as usize..places[0].1 as usize];
        let (written, value) = (self.written(at), self.value(at));
        let count = |text: &str| text.match_indices(old).count();
        if old.is_empty() || count(written) != count(value) {
            return refuse("the word is not written as it is meant");
        }
        // Which of the equal words of the value they are, by how many stand before.
        let mut with = String::new();
        let mut done = 0;
        for (start, end) in places {
            let before = count(&self.text[token.start as usize..*start as usize]);
            let place = value.match_indices(old).nth(before).map(|(place, _)| place);
            let Some(place) =
                place.filter(|place| *place >= done && self.text[*start as usize..*end as usize] == *old)
            else {
                return refuse("the word is not written as it is meant");
            };
            with.push_str(&value[done..place]);
            with.push_str(new);
            done = place + old.len();
            compiled.edit(*start as usize..*end as usize, new);
        }
        with.push_str(&value[done..]);
        compiled.changes.push(TreeChange::Replace { token: at, with: Content::Str(with) });
        Ok(compiled)
    }
}
