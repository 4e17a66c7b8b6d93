//! A few lines of a file for a terminal: cleaned, masked, cut to fit. The text
//! is made for each finding from the line index, so that showing one costs the
//! same in a file of any length.

use crate::lang::text as clean;
use crate::lang::yaml::Stream;
use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use std::ops::Range;

/// Lines longer than this are shown around the finding only.
const LINE_LIMIT: usize = 200;

/// Lines of a file around a finding, ready to print.
#[derive(Debug)]
pub(crate) struct Snippet {
    name: String,
    text: String,
    /// 0-based number of the first line.
    first: usize,
    /// 0-based line and column of the finding.
    at: (usize, usize),
    /// The finding's bytes in `text`.
    pub(crate) label: Range<usize>,
}

impl Snippet {
    /// The lines around `range` of a file: the one before and, when the range
    /// lies in a single line, that line; bytes of `masks` become stars.
    pub(crate) fn new(name: String, stream: &Stream, range: Range<u32>, masks: &[Range<u32>]) -> Snippet {
        let text = &*stream.text;
        let lines = stream.lines();
        let start = floor(text, range.start as usize);
        let (line, column) = lines.position(text, start as u32);
        let line_at = |line: u32| {
            let from = lines.start_of(line) as usize;
            let to = if line < lines.count() { lines.start_of(line + 1) as usize } else { text.len() };
            let bare = text[from..to].trim_end_matches(['\r', '\n']).len();
            from..from + bare
        };
        let here = line_at(line);
        // Of a finding over several lines, the first one is marked.
        let end = floor(text, range.end as usize).clamp(start, here.end.max(start));
        let mut out = String::new();
        let mut first = line;
        if here.len() > LINE_LIMIT {
            let from = floor(text, start.saturating_sub(LINE_LIMIT / 4).max(here.start));
            let to = floor(text, (start + LINE_LIMIT / 2).min(here.end)).max(start);
            push(&mut out, text, from..start, masks);
            let label = out.len();
            push(&mut out, text, start..end.min(to), masks);
            let label = label..out.len();
            push(&mut out, text, end.min(to)..to, masks);
            return Snippet::of(name, out, line, (line, column), label);
        }
        if line > 1 {
            let before = line_at(line - 1);
            if before.len() <= LINE_LIMIT {
                first = line - 1;
                push(&mut out, text, before, masks);
                out.push('\n');
            }
        }
        push(&mut out, text, here.start..start.min(here.end), masks);
        let label = out.len();
        push(&mut out, text, start.min(here.end)..end.min(here.end), masks);
        let label = label..out.len();
        push(&mut out, text, end.min(here.end)..here.end, masks);
        Snippet::of(name, out, first, (line, column), label)
    }

    /// The lines, cleaned and masked.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The number of the first line, counted from 1.
    pub(crate) fn first_line(&self) -> usize {
        self.first + 1
    }

    fn of(name: String, text: String, first: u32, at: (u32, u32), label: Range<usize>) -> Snippet {
        let at = (at.0 as usize - 1, at.1 as usize - 1);
        Snippet { name, text, first: first as usize - 1, at, label }
    }
}

/// The start of the character that holds a byte.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

fn push(out: &mut String, text: &str, range: Range<usize>, masks: &[Range<u32>]) {
    let mut before = ' ';
    for (at, c) in text[range.clone()].char_indices() {
        let offset = (range.start + at) as u32;
        let after = masks.partition_point(|mask| mask.start <= offset);
        let secret = !c.is_whitespace() && after > 0 && masks[after - 1].contains(&offset);
        match c {
            '\t' => out.push(' '),
            // The mark of a file belongs to no line.
            '\u{feff}' if offset == 0 => {}
            _ if secret => out.push('*'),
            _ => clean::push(out, before, c),
        }
        before = c;
    }
}

impl SourceCode for Snippet {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        // Without context the renderer asks where the finding is; with context,
        // for the lines to print. Both are known here.
        let (line, column) = if before == 0 && after == 0 { self.at } else { (self.first, 0) };
        let whole: SourceSpan = (0, self.text.len()).into();
        let (span, data) = if before == 0 && after == 0 {
            (*span, self.text.as_bytes().get(self.label.clone()).unwrap_or_default())
        } else {
            (whole, self.text.as_bytes())
        };
        let count = self.text.matches('\n').count() + 1;
        Ok(Box::new(MietteSpanContents::new_named(self.name.clone(), data, span, line, column, count)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str, range: Range<u32>) -> (String, String, usize) {
        let snippet = Snippet::new("f".to_owned(), &Stream::parse(text), range, &[]);
        let label = snippet.text[snippet.label.clone()].to_owned();
        (snippet.text, label, snippet.first + 1)
    }

    #[test]
    fn the_line_and_the_one_before_it_are_shown() {
        assert_eq!(show("a: 1\nb: 2\nc: 3\n", 8..9), ("a: 1\nb: 2".into(), "2".into(), 1));
        assert_eq!(show("a: 1\r\nb: 2\r\n", 9..10), ("a: 1\nb: 2".into(), "2".into(), 1));
        assert_eq!(show("a: 1\nb: 2\n", 0..9), ("a: 1".into(), "a: 1".into(), 1));
        assert_eq!(show("a: 1\n", 99..100), ("a: 1\n".into(), "".into(), 1));
        assert_eq!(show("", 0..0), ("".into(), "".into(), 1));
    }

    #[test]
    fn long_lines_are_cut_around_the_finding() {
        let text = format!("k: {}X{}\n", "é".repeat(1000), "y".repeat(1000));
        let at = text.find('X').expect("written above") as u32;
        let (shown, label, line) = show(&text, at..at + 1);
        assert_eq!((label.as_str(), line), ("X", 1));
        assert!(shown.chars().count() < LINE_LIMIT, "{shown}");
    }

    #[test]
    fn secrets_and_hostile_characters_are_not_shown() {
        let stream = Stream::parse("a: se\u{1b}cret\n");
        let snippet = Snippet::new("f".to_owned(), &stream, 3..10, std::slice::from_ref(&(6..10)));
        assert_eq!(snippet.text, "a: se\\u{1b}****");
    }
}
