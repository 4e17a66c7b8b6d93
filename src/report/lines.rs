//! The sink that everything people or logs read goes through: no line is a command
//! to the runner of a workflow, nothing invisible is in it, and no secret leaves.

use super::secrets::{SecretValues, stars};
use crate::lang::text::{is_command, is_visible, push};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

/// What the lines of a format are made of: what they may begin with, and which parts
/// of them come from files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Text: nothing looks like a command.
    Text,
    /// A diff, to be applied: nothing is a command, but `::1 localhost` stays.
    Diff,
    /// Commands of our own, whose values are escaped.
    Commands,
    /// JSON: its strings that are no keys.
    Json,
    /// XML: text and values of attributes.
    Xml,
    /// Documents and pages, whose values are masked before: nothing is changed any more.
    Yaml,
}

/// Writes whole lines to another writer.
#[derive(Debug)]
pub(crate) struct Lines<W: Write> {
    inner: W,
    shape: Shape,
    secrets: Option<Arc<SecretValues>>,
    /// Whether the lines may have colours and links of our own.
    ansi: bool,
    line: Vec<u8>,
}

impl<W: Write> Lines<W> {
    /// A sink over a writer; `secrets` are what the repository holds, `None` where
    /// they are to be shown.
    pub(crate) fn new(inner: W, shape: Shape, secrets: Option<Arc<SecretValues>>) -> Lines<W> {
        Lines { inner, shape, secrets, ansi: false, line: Vec::new() }
    }

    /// The same for a terminal that shows colours and links.
    pub(crate) fn with_ansi(mut self, ansi: bool) -> Lines<W> {
        self.ansi = ansi;
        self
    }

    fn end_line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.line);
        match std::str::from_utf8(&line) {
            Ok(text) => {
                let line = line_of(text, self.shape, self.secrets.as_deref());
                self.inner.write_all(visible(&line, self.shape, self.ansi).as_bytes())
            }
            Err(_) => self.inner.write_all(&line),
        }
    }
}

/// A line as it may leave.
pub(super) fn line_of<'l>(line: &'l str, shape: Shape, secrets: Option<&SecretValues>) -> Cow<'l, str> {
    let line = match secrets {
        Some(secrets) if shape != Shape::Yaml => masked(line, shape, secrets),
        _ => Cow::Borrowed(line),
    };
    let begins = match shape {
        Shape::Commands | Shape::Json | Shape::Yaml => return line,
        Shape::Text | Shape::Xml => is_command(&line),
        Shape::Diff => is_complete_command(&line),
    };
    if !begins && !line.contains("##") {
        return line;
    }
    let mut safe = line.into_owned();
    if begins && let Some(at) = safe.find("::") {
        safe.replace_range(at..=at, "\\u{3a}");
    }
    // `##[group]`, `##vso[…]`, `##teamcity[…]` count anywhere in a line.
    let mut from = 0;
    while let Some(at) = safe[from..].find("##").map(|at| from + at + 2) {
        let word = safe[at..].trim_start_matches(|c: char| c.is_ascii_alphabetic());
        if word.starts_with('[') {
            safe.replace_range(at - 1..at, "\\u{23}");
        }
        from = at - 1;
    }
    safe.into()
}

/// The line with what nobody sees written out, should something of it have come here: of
/// JSON as JSON does, and documents as they are, which are made so before.
fn visible(line: &str, shape: Shape, ansi: bool) -> Cow<'_, str> {
    let keeps = |c: char| match c {
        '\n' | '\t' => true,
        '\u{1b}' | '\u{7}' => ansi,
        // Where a file has its mark, and the end of its lines: a diff is to be applied.
        '\u{feff}' | '\u{200d}' | '\r' => shape == Shape::Diff,
        _ => false,
    };
    if shape == Shape::Yaml || line.is_ascii() && !line.bytes().any(|b| b.is_ascii_control() && b != b'\n') {
        return line.into();
    }
    let mut out = String::with_capacity(line.len());
    let mut before = ' ';
    for c in line.chars() {
        if keeps(c) || is_visible(before, c) {
            out.push(c);
        } else if shape == Shape::Json {
            json_escape(&mut out, c);
        } else {
            push(&mut out, before, c);
        }
        before = c;
    }
    out.into()
}

/// A character as JSON writes one that it escapes.
pub(crate) fn json_escape(out: &mut String, c: char) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// The line with stars for secret values; never for a part of the format itself,
/// which a value may be made to look like.
fn masked<'l>(line: &'l str, shape: Shape, secrets: &SecretValues) -> Cow<'l, str> {
    let mut found = secrets.find(line);
    if found.is_empty() {
        return line.into();
    }
    let parts = match shape {
        Shape::Json => strings(line),
        Shape::Xml => contents(line),
        _ => std::iter::once(0..line.len()).collect(),
    };
    found.retain(|range| {
        let after = parts.partition_point(|part| part.start <= range.start);
        after > 0 && range.end <= parts[after - 1].end
    });
    stars(line, &found)
}

/// The insides of JSON strings that are no keys.
fn strings(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'"', &bytes[at..]).map(|quote| at + quote + 1) {
        let mut end = start;
        while end < bytes.len() && bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let end = end.min(bytes.len());
        at = (end + 1).min(bytes.len());
        if bytes[at..].iter().find(|byte| **byte != b' ') != Some(&b':') {
            parts.push(start..end);
        }
    }
    parts
}

/// Texts between XML tags, and values of attributes. A tag does not go over lines.
fn contents(line: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut quote) = (Some(0), None);
    for (at, byte) in line.bytes().enumerate() {
        let ends = match (start, quote, byte) {
            (Some(_), None, b'<') => true,
            (Some(_), Some(quote), byte) => byte == quote,
            (None, _, b'>') => {
                (start, quote) = (Some(at + 1), None);
                false
            }
            (None, _, b'"' | b'\'') => {
                (start, quote) = (Some(at + 1), Some(byte));
                false
            }
            _ => false,
        };
        if ends {
            parts.extend(start.take().map(|start| start..at));
        }
    }
    parts.extend(start.map(|start| start..line.len()));
    parts
}

/// Whether the runner of a workflow takes a line for a command.
pub(super) fn is_complete_command(line: &str) -> bool {
    let bare = line.trim_start();
    let v2 = bare.strip_prefix("::").is_some_and(|rest| rest.contains("::"));
    v2 || bare.contains("##[") || bare.contains("##vso[")
}

impl<W: Write> Write for Lines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for Lines<W> {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_comes_from_files_is_masked() {
        let line = r#"{"level-0":"level-0","a":"x \"level-0\""}"#;
        let parts: Vec<&str> = strings(line).into_iter().map(|part| &line[part]).collect();
        assert_eq!(parts, ["level-0", r#"x \"level-0\""#]);
        let line = r#"  <a b="c" d='e>'>f</a>"#;
        let parts: Vec<&str> = contents(line).into_iter().map(|part| &line[part]).collect();
        assert_eq!(parts, ["  ", "c", "e>", "f", ""]);
    }

    #[test]
    fn lines_are_no_commands() {
        for (line, none, complete) in [
            ("plain :: text", "plain :: text", "plain :: text"),
            ("  ::error::x", "  \\u{3a}:error::x", "  \\u{3a}:error::x"),
            ("::1 localhost", "\\u{3a}:1 localhost", "::1 localhost"),
            ("a ##[error]x", "a #\\u{23}[error]x", "a #\\u{23}[error]x"),
            ("##vso[task]", "#\\u{23}vso[task]", "#\\u{23}vso[task]"),
            ("## heading", "## heading", "## heading"),
            ("###[x", "##\\u{23}[x", "##\\u{23}[x"),
        ] {
            assert_eq!(line_of(line, Shape::Text, None), none);
            assert_eq!(line_of(line, Shape::Diff, None), complete);
            assert_eq!(line_of(line, Shape::Json, None), line);
        }
    }
}
