//! The proof behind every rewrite: the new text says what the old one did, plus
//! exactly the declared changes, for two parsers.

use super::tree::{self, Tree};
use super::{Compiled, TextEdit};
use crate::lang::yaml::tape::{Document, TokenKind};
use crate::lang::yaml::{ScalarStyle, Stream};
use yaml_rust2::parser::{Event, EventReceiver, Parser};
use yaml_rust2::scanner::TScalarStyle;

/// Apply edits that don't overlap, in order of the text.
pub fn splice(text: &str, edits: &[&TextEdit]) -> String {
    let mut out = String::with_capacity(text.len() + edits.iter().map(|edit| edit.text.len()).sum::<usize>());
    let mut at = 0;
    for edit in edits {
        out.push_str(&text[at..edit.start as usize]);
        out.push_str(&edit.text);
        at = edit.end as usize;
    }
    out.push_str(&text[at..]);
    out
}

/// Operations of one document of a stream.
pub(crate) type Batch<'c> = (u32, &'c Compiled);

/// Splice compiled operations into a text, if nothing but what they declare
/// changes by it.
///
/// # Errors
/// Why the result is not what was declared: a mistake of forebay's own, or edits
/// that overlap. Nothing may be written then.
pub fn verify(stream: &Stream, batch: &[Batch<'_>]) -> Result<Stream, String> {
    let mut edits: Vec<&TextEdit> = batch.iter().flat_map(|(_, compiled)| &compiled.edits).collect();
    edits.sort_by_key(|edit| (edit.start, edit.end));
    if edits.windows(2).any(|pair| pair[0].end > pair[1].start) {
        return Err("two changes touch the same bytes".to_owned());
    }
    if !stream.errors.is_empty() {
        return Err("the file has a document that can't be read".to_owned());
    }
    let new = Stream::parse(&splice(&stream.text, &edits));
    if let Some(error) = new.errors.first() {
        return Err(format!("the new text can't be read: {} at byte {}", error.message, error.offset));
    }
    if new.documents.len() != stream.documents.len() {
        return Err("the number of documents changed".to_owned());
    }
    for (index, (before, after)) in stream.documents.iter().zip(&new.documents).enumerate() {
        let changes: Vec<_> = batch
            .iter()
            .filter(|(document, _)| *document as usize == index)
            .flat_map(|(_, compiled)| &compiled.changes)
            .collect();
        let old = Tree { text: &stream.text, document: before };
        tree::check(old, Tree { text: &new.text, document: after }, &changes)?;
    }
    check_comments(stream, &new, batch, &edits)?;
    second_witness(&new).map_err(|why| format!("of the new text: {why}"))?;
    Ok(new)
}

/// Every comment that was not declared to go is there, in order; every other one
/// was inserted.
fn check_comments(
    old: &Stream,
    new: &Stream,
    batch: &[Batch<'_>],
    edits: &[&TextEdit],
) -> Result<(), String> {
    let dropped: rustc_hash::FxHashSet<u32> =
        batch.iter().flat_map(|(_, compiled)| compiled.dropped.iter().copied()).collect();
    // Where a byte of the new text lies: inside an inserted text or not.
    let mut inserted = Vec::new();
    let mut shift = 0i64;
    for edit in edits {
        let start = i64::from(edit.start) + shift;
        inserted.push(start..start + edit.text.len() as i64);
        shift += edit.text.len() as i64 - i64::from(edit.end - edit.start);
    }
    let is_inserted = |start: u32| {
        let at = inserted.partition_point(|range| range.end <= i64::from(start));
        inserted.get(at).is_some_and(|range| range.contains(&i64::from(start)))
    };
    let comments = |stream: &Stream, keep: &dyn Fn(u32) -> bool| -> Vec<String> {
        let all = stream.documents.iter().flat_map(|document| &document.comments);
        all.filter(|comment| keep(comment.start))
            .map(|comment| stream.text[comment.start as usize..comment.end as usize].to_owned())
            .collect()
    };
    let before = comments(old, &|start| !dropped.contains(&start));
    let after = comments(new, &|start| !is_inserted(start));
    if before == after { Ok(()) } else { Err("a comment would be lost or changed".to_owned()) }
}

/// What a parser says of a text, without places.
#[derive(Debug, PartialEq)]
enum Said {
    Document,
    Scalar(String, ScalarStyle),
    Alias,
    Sequence,
    Mapping,
    End,
}

/// yaml-rust2, which shares no code with our parser, reads the same events. Our
/// parser has bounded the depth, over which the other one recurses.
///
/// # Errors
/// What it reads otherwise. It refuses some texts that go-yaml reads, a tab behind
/// `key:` for one; nothing can be proven of such a file.
pub fn second_witness(stream: &Stream) -> Result<(), String> {
    struct Witness(Vec<Said>);
    impl EventReceiver for Witness {
        fn on_event(&mut self, event: Event) {
            self.0.push(match event {
                Event::DocumentStart => Said::Document,
                Event::Scalar(value, style, _, _) => Said::Scalar(value, style_of(style)),
                Event::Alias(_) => Said::Alias,
                Event::SequenceStart(..) => Said::Sequence,
                Event::MappingStart(..) => Said::Mapping,
                Event::SequenceEnd | Event::MappingEnd => Said::End,
                _ => return,
            });
        }
    }
    let mut theirs = Witness(Vec::new());
    let text = stream.text.strip_prefix('\u{feff}').unwrap_or(&stream.text);
    Parser::new_from_str(text)
        .load(&mut theirs, true)
        .map_err(|error| format!("a second parser can't read it: {error}"))?;
    let mut ours = Vec::with_capacity(theirs.0.len());
    for document in stream.documents.iter().filter(|document| !document.tokens.is_empty()) {
        say(&stream.text, document, &mut ours);
    }
    // A block scalar that ends with the file has a line break more there, one that
    // is nothing but empty lines too.
    let ends = text.ends_with(['\n', '\r']);
    if let (Some(Said::Scalar(theirs, style)), Some(Said::Scalar(ours, _))) =
        (last_scalar(&mut theirs.0), last_scalar(&mut ours))
        && matches!(style, ScalarStyle::Literal | ScalarStyle::Folded)
        && theirs.strip_suffix('\n') == Some(ours)
        && (!ends || ours.is_empty())
    {
        theirs.pop();
    }
    if ours == theirs.0 { Ok(()) } else { Err("a second parser reads it otherwise".to_owned()) }
}

fn last_scalar(said: &mut [Said]) -> Option<&mut Said> {
    said.iter_mut().rev().find(|said| matches!(said, Said::Scalar(..)))
}

fn style_of(style: TScalarStyle) -> ScalarStyle {
    match style {
        TScalarStyle::Plain => ScalarStyle::Plain,
        TScalarStyle::SingleQuoted => ScalarStyle::SingleQuoted,
        TScalarStyle::DoubleQuoted => ScalarStyle::DoubleQuoted,
        TScalarStyle::Literal => ScalarStyle::Literal,
        TScalarStyle::Folded => ScalarStyle::Folded,
    }
}

fn say(text: &str, document: &Document, out: &mut Vec<Said>) {
    out.push(Said::Document);
    let mut open: Vec<u32> = Vec::new();
    for (at, token) in document.tokens.iter().enumerate() {
        while open.last().is_some_and(|end| *end <= at as u32) {
            open.pop();
            out.push(Said::End);
        }
        match token.kind {
            TokenKind::Scalar(style) => {
                out.push(Said::Scalar(tree::value(text, document, at as u32).to_owned(), style));
            }
            TokenKind::Alias => out.push(Said::Alias),
            kind => {
                out.push(if kind == TokenKind::Sequence { Said::Sequence } else { Said::Mapping });
                open.push(token.next);
            }
        }
    }
    out.extend(open.iter().map(|_| Said::End));
}
