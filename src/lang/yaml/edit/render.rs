//! New values as text, in the habits of the file.

use super::Content;
use crate::lang::yaml::resolve::{Dialect, Scalar, resolve_plain};
use crate::lang::yaml::tape::{Document, TokenKind};
use crate::lang::yaml::{ScalarStyle, Stream};
use std::borrow::Cow;

/// How a file is written.
#[derive(Clone, Debug)]
pub(super) struct Habits {
    /// Its line break.
    pub(super) eol: &'static str,
    /// Columns that a map inside a map is indented by.
    pub(super) step: usize,
    /// Columns that a list is indented by below its key.
    pub(super) dash: usize,
    /// The quotes that it uses more often.
    quotes: ScalarStyle,
    /// Whether it is JSON: quotes everywhere.
    json: bool,
    /// Whether texts of several lines are written as literal blocks. A comment
    /// behind the last line of one would be a part of it.
    pub(super) literals: bool,
}

impl Default for Habits {
    fn default() -> Habits {
        let quotes = ScalarStyle::DoubleQuoted;
        Habits { eol: "\n", step: 2, dash: 2, quotes, json: false, literals: true }
    }
}

impl Habits {
    /// Those of a document, with defaults for what it doesn't show.
    pub(super) fn of(stream: &Stream, document: &Document) -> Habits {
        let text = &*stream.text;
        let eol = match memchr::memchr2(b'\n', b'\r', text.as_bytes()) {
            Some(at) if text[at..].starts_with("\r\n") => "\r\n",
            Some(at) if text[at..].starts_with('\r') => "\r",
            _ => "\n",
        };
        let (mut step, mut dash) = (None, None);
        let (mut single, mut double) = (0usize, 0usize);
        let mut open: Vec<(u32, usize)> = Vec::new();
        for (at, token) in document.tokens.iter().enumerate() {
            while open.last().is_some_and(|(end, _)| *end <= at as u32) {
                open.pop();
            }
            match token.kind {
                TokenKind::Scalar(ScalarStyle::SingleQuoted) => single += 1,
                TokenKind::Scalar(ScalarStyle::DoubleQuoted) => double += 1,
                TokenKind::Mapping | TokenKind::Sequence if !token.flow => {
                    let column = column(text, token.start as usize);
                    let parent = open.last().map(|(_, column)| *column);
                    let below_key = parent.filter(|parent| {
                        *parent <= column && document.tokens[at - 1].kind != TokenKind::Sequence
                    });
                    match (token.kind, below_key) {
                        (TokenKind::Mapping, Some(parent)) if column > parent => {
                            step.get_or_insert(column - parent);
                        }
                        (TokenKind::Sequence, Some(parent)) => {
                            dash.get_or_insert(column - parent);
                        }
                        _ => {}
                    }
                    if token.kind == TokenKind::Mapping {
                        open.push((token.next, column));
                    }
                }
                _ => {}
            }
        }
        let json = document.tokens.first().is_some_and(|root| root.flow) && single == 0 && double > 0;
        let step = step.unwrap_or(2).clamp(1, 8);
        Habits {
            eol,
            step,
            dash: dash.unwrap_or(step).min(8),
            quotes: if single > double { ScalarStyle::SingleQuoted } else { ScalarStyle::DoubleQuoted },
            json,
            literals: true,
        }
    }

    /// A key. `like`: the style of the text that it replaces.
    pub(super) fn key(&self, text: &str, like: Option<ScalarStyle>, flow: bool) -> String {
        self.string(text, like, flow)
    }

    /// A scalar. `like`: the style of the text that it replaces.
    pub(super) fn scalar(&self, value: &Content, like: Option<ScalarStyle>, flow: bool) -> String {
        match value {
            Content::Null => "null".to_owned(),
            Content::Bool(value) => value.to_string(),
            Content::Int(value) => value.to_string(),
            Content::Str(text) => self.string(text, like, flow),
            Content::Seq(_) | Content::Map(_) => self.flow(value),
        }
    }

    fn string(&self, text: &str, like: Option<ScalarStyle>, flow: bool) -> String {
        let wanted = match like {
            _ if self.json => ScalarStyle::DoubleQuoted,
            Some(style @ (ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted)) => style,
            _ if is_plain(text, flow) => return text.to_owned(),
            _ => self.quotes,
        };
        match wanted {
            ScalarStyle::SingleQuoted if !text.chars().any(needs_escape) => {
                format!("'{}'", text.replace('\'', "''"))
            }
            _ => double_quoted(text),
        }
    }

    /// A value in one line, with brackets and braces.
    pub(super) fn flow(&self, value: &Content) -> String {
        match value {
            Content::Seq(items) => {
                format!("[{}]", items.iter().map(|item| self.flow(item)).collect::<Vec<_>>().join(", "))
            }
            Content::Map(entries) => {
                let entries = entries
                    .iter()
                    .map(|(key, value)| format!("{}: {}", self.key(key, None, true), self.flow(value)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            scalar => self.scalar(scalar, None, true),
        }
    }

    /// What stands behind `key:` whose key is in `column`: a blank and a scalar, or
    /// the lines of a collection. No line break at the end.
    pub(super) fn behind_key(&self, value: &Content, column: usize) -> String {
        match value {
            Content::Map(entries) if !entries.is_empty() => self
                .lines(column + self.step, entries.iter().map(|entry| self.entry(entry, column + self.step))),
            Content::Seq(items) if !items.is_empty() => {
                let column = column + self.dash;
                self.lines(
                    column,
                    items.iter().map(|item| format!("- {}", self.behind_dash(item, column + 2))),
                )
            }
            Content::Str(text) if self.literals && !self.json && is_literal(text) => {
                format!(" |-{}", self.lines(column + self.step, text.split('\n').map(str::to_owned)))
            }
            scalar => format!(" {}", self.block_scalar(scalar)),
        }
    }

    /// What stands behind `- `, of which the text starts in `column`.
    pub(super) fn behind_dash(&self, value: &Content, column: usize) -> String {
        match value {
            Content::Map(entries) if !entries.is_empty() => {
                let lines: Vec<String> = entries.iter().map(|entry| self.entry(entry, column)).collect();
                lines.join(&format!("{}{:column$}", self.eol, ""))
            }
            Content::Seq(items) if !items.is_empty() => {
                let items: Vec<String> =
                    items.iter().map(|item| format!("- {}", self.behind_dash(item, column + 2))).collect();
                items.join(&format!("{}{:column$}", self.eol, ""))
            }
            scalar => self.block_scalar(scalar),
        }
    }

    fn entry(&self, (key, value): &(String, Content), column: usize) -> String {
        format!("{}:{}", self.key(key, None, false), self.behind_key(value, column))
    }

    fn lines(&self, column: usize, lines: impl Iterator<Item = String>) -> String {
        lines.map(|line| format!("{}{:column$}{line}", self.eol, "")).collect()
    }

    fn block_scalar(&self, value: &Content) -> String {
        match value {
            Content::Seq(_) | Content::Map(_) => self.flow(value),
            scalar => self.scalar(scalar, None, false),
        }
    }
}

/// The column of a byte, in bytes: what stands before a block collection on its
/// line is blanks and dashes.
pub(super) fn column(text: &str, at: usize) -> usize {
    at - line_start(text, at)
}

/// The start of the line of a byte, a byte order mark left out.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    match memchr::memrchr2(b'\n', b'\r', &text.as_bytes()[..at]) {
        Some(found) => found + 1,
        None if text.starts_with('\u{feff}') => '\u{feff}'.len_utf8().min(at),
        None => 0,
    }
}

/// Whether a string can stand there without quotes and still be that string for
/// both dialects, as a key and as a value.
fn is_plain(text: &str, flow: bool) -> bool {
    let is_string = |dialect| matches!(resolve_plain(Cow::Borrowed(text), dialect), Scalar::Str(_));
    if !is_string(Dialect::GoYamlV2) || !is_string(Dialect::GoYamlV3) || looks_like_more(text) {
        return false;
    }
    // Readers of YAML 1.2 take a colon for less here than go-yaml does.
    if text.ends_with(':') || (flow && text.contains([':', '?'])) {
        return false;
    }
    // The grammar says, not a second copy of it.
    let probe = if flow { format!("{{{text}: {text}}}") } else { format!("{text}: {text}\n") };
    let stream = Stream::parse(&probe);
    let (true, [document]) = (stream.errors.is_empty(), &stream.documents[..]) else { return false };
    let [map, key, value] = &document.tokens[..] else { return false };
    let same = |token: &crate::lang::yaml::tape::Token| {
        token.kind == TokenKind::Scalar(ScalarStyle::Plain)
            && &probe[token.start as usize..token.end as usize] == text
    };
    map.kind == TokenKind::Mapping && same(key) && same(value) && document.comments.is_empty()
}

/// Whether a string is best read as the lines of a literal block: several, none of
/// them empty, and no line break at the end.
fn is_literal(text: &str) -> bool {
    let is_line = |line: &str| {
        !line.is_empty() && !line.ends_with(' ') && !line.contains('\t') && !line.chars().any(needs_escape)
    };
    text.contains('\n') && !text.starts_with(' ') && text.split('\n').all(is_line)
}

/// Strings in go-yaml that other readers take for something else: numbers of
/// base 60, and numbers that are out of range.
fn looks_like_more(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-', '.']);
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || b":._eExXoO+-".contains(&b))
        && !digits.bytes().any(|b| b == b'.' || b == b'-')
        || text == "="
        || text == "<<"
}

fn needs_escape(c: char) -> bool {
    matches!(c, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if needs_escape(c) => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
