//! Text inside a scalar that is a document of its own: an inline patch.

use super::{Node, NodeRef, Source};
use crate::lang::yaml::resolve::ScalarStyle;
use crate::lang::yaml::tape::TokenKind;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Where an embedded text stands in its file. Its lines are looked for when a place is
/// asked for: a patch that thirty Kustomizations use is rarely told of.
#[derive(Debug)]
pub struct Embed {
    /// The whole scalar.
    pub whole: Range<u32>,
    /// The scalar and the bytes of its value before the text; `None` where every
    /// location is `whole`.
    inside: Option<(Arc<Source>, u32, u32)>,
    lines: OnceLock<Vec<(u32, u32)>>,
    /// Of a text that a template made: what it is made of.
    parts: Option<Arc<[EmbedPart]>>,
}

/// A run of a text that a template made. It ends where the next one begins.
#[derive(Debug, PartialEq)]
pub struct EmbedPart {
    /// Its first byte in the text.
    pub start: u32,
    /// Bytes of the file.
    pub outer: Range<u32>,
    /// Whether it is those bytes, one for one.
    pub is_copy: bool,
}

impl Embed {
    /// A text all of whose locations are one range of the file.
    pub fn at(whole: Range<u32>) -> Embed {
        Embed { whole, inside: None, lines: OnceLock::new(), parts: None }
    }

    /// A text that a template made, by its parts in order.
    pub fn made_of(whole: Range<u32>, parts: Arc<[EmbedPart]>) -> Embed {
        Embed { whole, inside: None, lines: OnceLock::new(), parts: Some(parts) }
    }

    /// A text that was `raw` before it was changed within its lines, whose bytes stand at what
    /// `outer` says; `None` where it has other lines.
    pub fn changed(
        whole: Range<u32>,
        text: &str,
        raw: &str,
        outer: &dyn Fn(Range<u32>) -> Range<u32>,
    ) -> Option<Embed> {
        if text.matches('\n').count() != raw.matches('\n').count() {
            return None;
        }
        let mut parts = Vec::new();
        let (mut at, mut from) = (0, 0);
        for (line, old) in text.split_inclusive('\n').zip(raw.split_inclusive('\n')) {
            let same = line.bytes().zip(old.bytes()).take_while(|(new, old)| new == old).count();
            let same = (0..=same).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
            let (new_rest, old_rest) = (&line[same..], &old[same..]);
            let behind = new_rest.bytes().rev().zip(old_rest.bytes().rev());
            let behind = behind.take_while(|(new, old)| new == old).count();
            let kept = (new_rest.len() - behind..).find(|at| new_rest.is_char_boundary(*at));
            let behind = new_rest.len() - kept.unwrap_or(new_rest.len());
            let mut put = |start: usize, range: Range<usize>, is_copy: bool| {
                let outer = outer(from + range.start as u32..from + range.end as u32);
                parts.push(EmbedPart { start: at + start as u32, outer, is_copy });
            };
            put(0, 0..same, true);
            if !new_rest.is_empty() {
                put(same, same..old.len() - behind, false);
                put(line.len() - behind, old.len() - behind..old.len(), true);
            }
            (at, from) = (at + line.len() as u32, from + old.len() as u32);
        }
        Some(Embed::made_of(whole, parts.into()))
    }

    /// The text in the value of a scalar, after some bytes of it; `None` for what is no
    /// scalar and stands nowhere.
    pub fn of(node: &Node, skipped: u32) -> Option<Embed> {
        // Of an embedded text in an embedded text, the outermost scalar is the place.
        let (source, token) = match node {
            Node::Source(source, token) if source.embed.is_none() => (source, *token),
            _ => {
                let location = node.get_ref().location()?;
                return Some(Embed::at(location.start..location.end));
            }
        };
        let written = source.document().tokens.get(token as usize)?;
        let TokenKind::Scalar(_) = written.kind else { return None };
        let inside = Some((source.clone(), token, skipped));
        let whole = written.start..written.end;
        Some(Embed { whole, inside, lines: OnceLock::new(), parts: None })
    }

    /// The bytes of the file for bytes of the inner text.
    pub fn outer(&self, inner: Range<u32>) -> Range<u32> {
        if let Some(parts) = &self.parts {
            return outer_of(parts, inner).unwrap_or_else(|| self.whole.clone());
        }
        let lines = self.lines();
        let map = |offset: u32| {
            let at = lines.partition_point(|(start, _)| *start <= offset);
            lines.get(at.checked_sub(1)?).map(|(start, file)| file + (offset - start))
        };
        match (map(inner.start), map(inner.end)) {
            (Some(start), Some(end)) if start <= end => {
                start.clamp(self.whole.start, self.whole.end)..end.clamp(self.whole.start, self.whole.end)
            }
            _ => self.whole.clone(),
        }
    }

    /// (offset in the inner text, offset in the file's text) of each line, in order.
    /// Empty where bytes of the one can't be told from bytes of the other: then every
    /// location is `whole`.
    fn lines(&self) -> &[(u32, u32)] {
        self.lines.get_or_init(|| match &self.inside {
            Some((source, token, skipped)) => lines_of(source, *token, *skipped).unwrap_or_default(),
            None => Vec::new(),
        })
    }
}

/// The bytes of the file for bytes of a text that a template made. Of a loop's they may
/// end before they begin: then those of the first part count.
fn outer_of(parts: &[EmbedPart], inner: Range<u32>) -> Option<Range<u32>> {
    let part_at = |offset: u32| {
        let at = parts.partition_point(|part| part.start <= offset);
        parts.get(at.checked_sub(1)?)
    };
    let first = part_at(inner.start)?;
    let last = part_at(inner.end.saturating_sub(1).max(inner.start))?;
    let start = match first.is_copy {
        true => (first.outer.start + (inner.start - first.start)).min(first.outer.end),
        false => first.outer.start,
    };
    let end = match last.is_copy {
        true => (last.outer.start + (inner.end - last.start)).min(last.outer.end),
        false => last.outer.end,
    };
    Some(if start <= end { start..end } else { start..first.outer.end })
}

impl PartialEq for Embed {
    fn eq(&self, other: &Embed) -> bool {
        let is_one = || match (&self.inside, &other.inside) {
            (Some(one), Some(other)) => Arc::ptr_eq(&one.0, &other.0) && (one.1, one.2) == (other.1, other.2),
            _ => false,
        };
        self.whole == other.whole && self.parts == other.parts && (is_one() || self.lines() == other.lines())
    }
}

/// How bytes of a scalar's value map to bytes of its file: exact for literal
/// blocks and for values that stand in the file as they are.
fn lines_of(source: &Arc<Source>, token: u32, skipped: u32) -> Option<Vec<(u32, u32)>> {
    let value = NodeRef::Source(source, token).text()?;
    let token = source.document().tokens.get(token as usize)?;
    let text = source.stream.text.get(token.start as usize..token.end as usize)?;
    let mut lines = Vec::new();
    match token.kind {
        TokenKind::Scalar(ScalarStyle::Literal) => {
            let mut outer = token.start;
            let mut raw_lines = text.split_inclusive('\n');
            outer += raw_lines.next().map_or(0, str::len) as u32;
            let mut inner = 0;
            for line in value.split_inclusive('\n') {
                let content = line.trim_end_matches('\n');
                let Some(raw_line) = raw_lines.next() else { break };
                let body = raw_line.trim_end_matches(['\n', '\r']);
                let indent = body.len().saturating_sub(content.len());
                lines.push((inner, outer + indent as u32));
                inner += line.len() as u32;
                outer += raw_line.len() as u32;
            }
        }
        TokenKind::Scalar(ScalarStyle::Plain) if value == text => lines.push((0, token.start)),
        TokenKind::Scalar(ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted)
            if text.get(1..text.len().saturating_sub(1)) == Some(&value) =>
        {
            lines.push((0, token.start + 1));
        }
        _ => {}
    }
    for (inner, outer) in &mut lines {
        *outer += skipped.saturating_sub(*inner);
        *inner = inner.saturating_sub(skipped);
    }
    // Lines before the text all start at 0 now; the last of them is right.
    let first = lines.iter().rposition(|(inner, _)| *inner == 0).unwrap_or(0);
    lines.drain(..first);
    Some(lines)
}
