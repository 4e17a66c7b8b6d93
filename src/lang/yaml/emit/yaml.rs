//! YAML as go-yaml's emitter writes it.

use super::{
    DEPTH_LIMIT, EmitError, EmittedField, Mark, WIDTH, described, float_text, is_printable, is_word,
    ordered_entries, other_scalar, sort_for_yaml, style_of,
};
use crate::lang::yaml::node::{NodeKind, NodeRef};
use crate::lang::yaml::resolve::{Dialect, Scalar, ScalarStyle, format_float_yaml, resolve_plain};
use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::OnceLock;

/// Bytes of a key that is written without `?`.
const SIMPLE_KEY: usize = 128;

/// What go-yaml's emitter keeps about the place of a node.
#[derive(Clone, Copy, Default)]
pub(crate) struct Context {
    in_mapping: bool,
    pub(super) is_key: bool,
}

impl Context {
    /// That of a value of a map.
    pub(crate) fn in_mapping() -> Context {
        Context { in_mapping: true, is_key: false }
    }
}

/// Writes a tree, or values that are none, one after another.
pub(crate) struct Emitter<'s> {
    pub(crate) out: String,
    /// Characters written in the current line.
    pub(super) column: usize,
    /// -1 outside the root.
    pub(super) indent: isize,
    /// Whether the last character was a blank or the line's start.
    pub(super) whitespace: bool,
    /// Whether the line holds nothing but indentation and `- ` so far.
    pub(super) indention: bool,
    pub(super) stand_in: Option<&'s mut dyn FnMut(NodeRef<'_>) -> String>,
    pub(super) marks: Option<Vec<Mark>>,
    /// As go-yaml v3 with an indent of two.
    pub(crate) pretty: bool,
}

impl Emitter<'_> {
    pub(crate) fn new() -> Self {
        Emitter {
            out: String::new(),
            column: 0,
            indent: -1,
            whitespace: true,
            indention: true,
            stand_in: None,
            marks: None,
            pretty: false,
        }
    }

    /// What was written since, without the blanks in front.
    pub(crate) fn since(&self, start: usize) -> Range<usize> {
        let blanks = self.out.as_bytes()[start..].iter().take_while(|b| **b == b' ').count();
        start + blanks..self.out.len()
    }

    /// Notes that as a scalar or a key.
    fn mark(&mut self, bytes: Range<usize>, of: NodeRef<'_>, is_key: bool) {
        if let Some(marks) = &mut self.marks {
            marks.push(Mark { bytes, of: of.address(), is_key });
        }
    }

    pub(super) fn node(
        &mut self,
        node: NodeRef<'_>,
        context: Context,
        depth: usize,
    ) -> Result<(), EmitError> {
        if depth > DEPTH_LIMIT {
            return Err(EmitError::TooDeep);
        }
        if node.is_unknown() {
            return self.unknown(node, context, depth);
        }
        match node.kind() {
            NodeKind::Map => self.mapping(ordered_entries(node, depth == 0, sort_for_yaml)?, depth),
            NodeKind::Seq => self.sequence(node.items(), context, depth),
            NodeKind::Scalar | NodeKind::Unknown => {
                let scalar = node.scalar(Dialect::GoYamlV3);
                let start = self.out.len();
                let text = match scalar {
                    Scalar::Float(value) if self.pretty => Cow::Owned(format_float_yaml(value)),
                    _ => other_scalar(node, &scalar, format_float_yaml)?,
                };
                let is_string = matches!(scalar, Scalar::Str(_));
                if is_string || (matches!(scalar, Scalar::Timestamp(_)) && !self.pretty) {
                    self.string(&text, context);
                } else {
                    self.scalar(&text, ScalarStyle::Plain, context);
                }
                self.mark(self.since(start), node, false);
                Ok(())
            }
        }
    }

    fn unknown(&mut self, node: NodeRef<'_>, context: Context, depth: usize) -> Result<(), EmitError> {
        if let Some(stand_in) = &mut self.stand_in {
            let word = stand_in(node);
            self.string(&word, context);
            return Ok(());
        }
        let plain = described(node);
        self.node(plain.get_ref(), context, depth)
    }

    fn mapping(&mut self, entries: Vec<EmittedField<'_>>, depth: usize) -> Result<(), EmitError> {
        if entries.is_empty() {
            self.empty("{", "}");
            return Ok(());
        }
        let outer = self.begin_map();
        for (key, value) in entries {
            let written = self.key(&key);
            self.mark(written, value, true);
            self.node(value, Context::in_mapping(), depth + 1)?;
        }
        self.end(outer);
        Ok(())
    }

    /// A map or a list with nothing in it.
    pub(crate) fn empty(&mut self, open: &str, close: &str) {
        self.indicator(open, true, true, false);
        self.indicator(close, false, false, false);
    }

    /// Begins a map that is not empty; [`Emitter::end`] takes what it gives.
    pub(crate) fn begin_map(&mut self) -> isize {
        let outer = self.indent;
        self.increase_indent(false, false);
        outer
    }

    /// Begins a list that is not empty; [`Emitter::end`] takes what it gives.
    pub(crate) fn begin_list(&mut self, context: Context) -> isize {
        let outer = self.indent;
        self.increase_indent(false, context.in_mapping && !self.indention && !self.pretty);
        outer
    }

    /// Ends a map or a list.
    pub(crate) fn end(&mut self, outer: isize) {
        self.indent = outer;
    }

    /// A key of a map, and where it stands; its value comes next.
    pub(crate) fn key(&mut self, key: &str) -> Range<usize> {
        self.write_indent();
        let start = self.out.len();
        if key.len() <= SIMPLE_KEY && is_word(key) {
            self.word(key);
            let written = self.since(start);
            self.indicator(":", false, false, false);
            return written;
        }
        if !key.contains(is_break) && key.len() <= SIMPLE_KEY {
            self.string(key, Context { in_mapping: true, is_key: true });
            let written = self.since(start);
            self.indicator(":", false, false, false);
            return written;
        }
        self.indicator("?", true, false, true);
        self.string(key, Context { in_mapping: true, is_key: false });
        let written = self.since(start);
        self.write_indent();
        self.indicator(":", true, false, true);
        written
    }

    /// Begins an element of a list.
    pub(crate) fn item(&mut self) {
        self.write_indent();
        self.indicator("-", true, false, true);
    }

    /// A float, as it is written where nothing else is asked for.
    pub(crate) fn float(&mut self, value: f64, context: Context) {
        let text = if self.pretty { format_float_yaml(value) } else { float_text(value, format_float_yaml) };
        self.scalar(&text, ScalarStyle::Plain, context);
    }

    fn sequence<'n>(
        &mut self,
        items: impl Iterator<Item = NodeRef<'n>>,
        context: Context,
        depth: usize,
    ) -> Result<(), EmitError> {
        let mut items = items.peekable();
        if items.peek().is_none() {
            self.empty("[", "]");
            return Ok(());
        }
        let outer = self.begin_list(context);
        for item in items {
            self.item();
            self.node(item, Context::default(), depth + 1)?;
        }
        self.end(outer);
        Ok(())
    }

    pub(crate) fn string(&mut self, text: &str, context: Context) {
        if is_word(text) {
            return self.word(text);
        }
        self.scalar(text, style_of(text, context.is_key), context);
    }

    pub(crate) fn scalar(&mut self, text: &str, style: ScalarStyle, context: Context) {
        let outer = self.indent;
        self.increase_indent(true, false);
        let fold = !context.is_key && !self.pretty;
        match style {
            ScalarStyle::Plain => self.plain(text, fold),
            ScalarStyle::SingleQuoted => self.single_quoted(text, fold),
            ScalarStyle::DoubleQuoted => self.double_quoted(text, fold),
            ScalarStyle::Literal | ScalarStyle::Folded => self.literal(text),
        }
        self.indent = outer;
    }

    fn increase_indent(&mut self, flow: bool, indentless: bool) {
        if self.indent < 0 {
            self.indent = if flow { 2 } else { 0 };
        } else if !indentless {
            self.indent += 2;
        }
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column += 1;
    }

    /// ASCII characters in the current line.
    fn put_all(&mut self, text: &str) {
        self.out.push_str(text);
        self.column += text.len();
    }

    fn put_break(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    pub(crate) fn write_indent(&mut self) {
        let indent = self.indent.max(0) as usize;
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, text: &str, separate: bool, is_whitespace: bool, is_indention: bool) {
        if separate && !self.whitespace {
            self.put(' ');
        }
        self.put_all(text);
        self.whitespace = is_whitespace;
        self.indention = self.indention && is_indention;
    }

    /// What [`is_word`].
    fn word(&mut self, text: &str) {
        if !self.whitespace {
            self.put(' ');
        }
        self.put_all(text);
        self.whitespace = false;
        self.indention = false;
    }

    fn plain(&mut self, text: &str, fold: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        self.words(text, fold, |_, _| true, None);
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, fold: bool) {
        self.indicator("'", true, false, false);
        let last = text.len().saturating_sub(1);
        self.words(text, fold, |at, _| at > 0 && at < last, Some('\''));
        self.indicator("'", false, false, false);
    }

    /// A text that is neither escaped nor indented: blanks may become line
    /// breaks where `breakable`, line breaks are doubled, `doubled` is written
    /// twice.
    fn words(
        &mut self,
        text: &str,
        fold: bool,
        breakable: impl Fn(usize, char) -> bool,
        doubled: Option<char>,
    ) {
        let (mut after_blank, mut after_break) = (false, false);
        let mut at = 0;
        loop {
            let run = ordinary(&text[at..], |byte| doubled != Some(char::from(byte)));
            if run > 0 {
                if after_break {
                    self.write_indent();
                }
                self.put_all(&text[at..at + run]);
                self.indention = false;
                (after_blank, after_break) = (false, false);
                at += run;
            }
            let Some(c) = text[at..].chars().next() else { break };
            if c == ' ' {
                let next_is_blank = text.as_bytes().get(at + 1) == Some(&b' ');
                if fold && !after_blank && self.column > WIDTH && !next_is_blank && breakable(at, c) {
                    self.write_indent();
                } else {
                    self.put(c);
                }
                after_blank = true;
            } else if is_break(c) {
                if !after_break && c == '\n' {
                    self.put_break();
                }
                self.write_break(c);
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.write_indent();
                }
                if doubled == Some(c) {
                    self.put(c);
                }
                self.put(c);
                self.indention = false;
                (after_blank, after_break) = (false, false);
            }
            at += c.len_utf8();
        }
    }

    fn write_break(&mut self, c: char) {
        self.out.push(c);
        self.column = 0;
    }

    fn double_quoted(&mut self, text: &str, fold: bool) {
        self.indicator("\"", true, false, false);
        let last = text.len().saturating_sub(1);
        let mut after_blank = false;
        for (at, c) in text.char_indices() {
            if !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.escape(c);
                after_blank = false;
            } else if c == ' ' {
                if fold && !after_blank && self.column > WIDTH && at > 0 && at < last {
                    self.write_indent();
                    if text.as_bytes().get(at + 1) == Some(&b' ') {
                        self.put('\\');
                    }
                } else {
                    self.put(c);
                }
                after_blank = true;
            } else {
                self.put(c);
                after_blank = false;
            }
        }
        self.indicator("\"", false, false, false);
    }

    fn escape(&mut self, c: char) {
        let short = match c {
            '\0' => "0",
            '\u{7}' => "a",
            '\u{8}' => "b",
            '\t' => "t",
            '\n' => "n",
            '\u{b}' => "v",
            '\u{c}' => "f",
            '\r' => "r",
            '\u{1b}' => "e",
            '"' => "\"",
            '\\' => "\\",
            '\u{85}' => "N",
            '\u{a0}' => "_",
            '\u{2028}' => "L",
            '\u{2029}' => "P",
            _ => "",
        };
        let escaped = match (short, u32::from(c)) {
            ("", code @ ..=0xff) => format!("\\x{code:02X}"),
            ("", code @ ..=0xffff) => format!("\\u{code:04X}"),
            ("", code) => format!("\\U{code:08X}"),
            (short, _) => format!("\\{short}"),
        };
        for c in escaped.chars() {
            self.put(c);
        }
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false, false);
        if text.starts_with([' ', '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']) {
            self.indicator("2", false, false, false);
        }
        let mut from_end = text.chars().rev();
        let chomping = match (from_end.next().is_some_and(is_break), from_end.next()) {
            (false, _) => "-",
            (true, None) => "+",
            (true, Some(c)) if is_break(c) => "+",
            (true, Some(_)) => "",
        };
        if !chomping.is_empty() {
            self.indicator(chomping, false, false, false);
        }
        self.put_break();
        self.indention = true;
        self.whitespace = true;
        let mut rest = text;
        loop {
            let end = rest.find(is_break).unwrap_or(rest.len());
            let (line, tail) = rest.split_at(end);
            if !line.is_empty() {
                self.write_indent();
                self.out.push_str(line);
                self.column += line.chars().count();
                self.indention = false;
            }
            let mut tail = tail.chars();
            let Some(c) = tail.next() else { break };
            rest = tail.as_str();
            self.write_break(c);
            self.indention = true;
        }
    }
}

/// How a string may be written (`yaml_emitter_analyze_scalar`).
pub(super) struct Analysis {
    pub(super) multiline: bool,
    pub(super) plain_allowed: bool,
    pub(super) single_quoted_allowed: bool,
    pub(super) block_allowed: bool,
}

impl Analysis {
    pub(super) fn of(text: &str) -> Analysis {
        if text.is_empty() {
            return Analysis {
                multiline: false,
                plain_allowed: true,
                single_quoted_allowed: true,
                block_allowed: false,
            };
        }
        let mut indicators = text.starts_with("---") || text.starts_with("...");
        let mut start = text.chars();
        indicators |= match start.next() {
            Some(
                ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`',
            ) => true,
            Some('?' | '-') => start.next().is_none_or(|next| matches!(next, ' ' | '\t')),
            _ => false,
        };
        let (mut line_breaks, mut special) = (false, false);
        let (mut break_blank, mut blank_break) = (false, false);
        let (mut after_blank, mut after_break, mut after_whitespace) = (false, false, true);
        let mut rest = text;
        loop {
            let run = ordinary(rest, |byte| !matches!(byte, b'#' | b':'));
            if run > 0 {
                rest = &rest[run..];
                (after_blank, after_break, after_whitespace) = (false, false, false);
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { break };
            rest = chars.as_str();
            indicators |= match c {
                '#' => after_whitespace,
                ':' => rest.is_empty() || rest.starts_with([' ', '\t']),
                _ => false,
            };
            special |= !is_printable(c);
            if c == ' ' {
                break_blank |= after_break;
            } else if is_break(c) {
                line_breaks = true;
                blank_break |= after_blank;
            }
            (after_blank, after_break) = (c == ' ', is_break(c));
            after_whitespace = matches!(c, ' ' | '\t' | '\0') || is_break(c);
        }
        let edge = |c: Option<char>| c.is_some_and(|c| c == ' ' || is_break(c));
        let open_edge = edge(text.chars().next()) || edge(text.chars().next_back());
        Analysis {
            multiline: line_breaks,
            plain_allowed: !(indicators || open_edge || break_blank || blank_break || special || line_breaks),
            single_quoted_allowed: !(break_blank || blank_break || special),
            block_allowed: !(text.ends_with(' ') || blank_break || special),
        }
    }
}

/// How many bytes at the beginning of a text are visible ASCII characters that
/// also pass `test`: nothing has to be decided at each of them.
fn ordinary(text: &str, test: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes();
    bytes.iter().position(|byte| !(byte.is_ascii_graphic() && test(*byte))).unwrap_or(bytes.len())
}

/// Whether the text, written without quotes, is read as a string again.
pub(super) fn is_string_when_plain(text: &str) -> bool {
    matches!(resolve_plain(Cow::Borrowed(text), Dialect::GoYamlV2), Scalar::Str(_))
        && !matches!(resolve_plain(Cow::Borrowed(text), Dialect::GoYamlV3), Scalar::Timestamp(_))
        && !is_base_60(text)
}

/// `isBase60Float`: quoted although go-yaml reads it as a string.
fn is_base_60(text: &str) -> bool {
    static PATTERN: OnceLock<Regex> = OnceLock::new();
    let candidate = text.starts_with(|c: char| matches!(c, '+' | '-') || c.is_ascii_digit());
    candidate
        && text.contains(':')
        && PATTERN
            .get_or_init(|| {
                Regex::new(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$")
                    .expect("a constant expression")
            })
            .is_match(text)
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}
