//! Trees to text: YAML as go-yaml v2 writes it and JSON as Go does.
//!
//! Everything that leaves a build went through `sigs.k8s.io/yaml.JSONToYAML`:
//! keys sorted, comments and styles gone, quotes only where YAML 1.1 would
//! misread a string, lines folded behind column 80. Flux substitutes variables
//! in exactly this text. Mirrors go-yaml v2.4 (`emitterc.go`, `encode.go`,
//! `sorter.go`).

use super::known::Holes;
use super::node::{NodeKind, NodeRef};
use super::resolve::{Dialect, Scalar, format_float, format_float_yaml, json_key, resolve_plain};
use super::resolve::{ScalarStyle, timestamp_rfc3339};
use super::{Location, Value};
use regex::Regex;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::OnceLock;

/// Why a tree has no text.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EmitError {
    /// A value or key that JSON cannot hold: an infinity, a key that is no
    /// string. Go's builds fail on it.
    #[error("{message}")]
    NotJson {
        /// In Go's words.
        message: String,
        /// Where the value or key is written.
        location: Option<Box<Location>>,
    },
    /// Deeper than [`DEPTH_LIMIT`].
    #[error("nested more than {DEPTH_LIMIT} deep")]
    TooDeep,
}

/// How deeply a tree may be nested.
pub(crate) const DEPTH_LIMIT: usize = 150;

/// Behind this column go-yaml breaks a line at the next blank.
const WIDTH: usize = 80;

/// A tree as YAML, ending in a line break. An unknown value is written as the
/// map `{$unknown: WHY}`, a string with holes as `{$holes: […]}`.
pub fn to_yaml(node: NodeRef<'_>) -> Result<String, EmitError> {
    let mut emitter = Emitter::new();
    emitter.node(node, Context::default(), 0)?;
    emitter.write_indent();
    Ok(emitter.out)
}

/// Where a scalar or a key was written.
pub(crate) struct Mark {
    /// Bytes of the text.
    pub(crate) bytes: Range<usize>,
    /// The [`NodeRef::address`] of the scalar, or of the value that the key is of.
    pub(crate) of: (usize, u32),
    /// Whether it is the key.
    pub(crate) is_key: bool,
}

/// As [`to_yaml`], with the place of every scalar and key, in order. `pretty` is as
/// go-yaml v3 writes with an indent of two: lists indented, nothing folded, floats as
/// Go prints them.
pub(crate) fn to_yaml_marked(node: NodeRef<'_>, pretty: bool) -> Result<(String, Vec<Mark>), EmitError> {
    let mut emitter = Emitter { marks: Some(Vec::new()), pretty, ..Emitter::new() };
    emitter.node(node, Context::default(), 0)?;
    emitter.write_indent();
    Ok((emitter.out, emitter.marks.unwrap_or_default()))
}

/// As [`to_yaml`], with what is unknown written as the words that `stand_in`
/// gives for it, so that the text can be parsed again and the unknown put back.
pub(crate) fn to_yaml_with(
    node: NodeRef<'_>,
    stand_in: &mut dyn FnMut(NodeRef<'_>) -> String,
) -> Result<String, EmitError> {
    let mut emitter = Emitter { stand_in: Some(stand_in), ..Emitter::new() };
    emitter.node(node, Context::default(), 0)?;
    emitter.write_indent();
    Ok(emitter.out)
}

/// A tree as compact JSON, as Go's `encoding/json` writes a map: keys sorted by
/// their bytes; `<`, `>`, `&`, U+2028 and U+2029 escaped.
pub fn to_json(node: NodeRef<'_>) -> Result<String, EmitError> {
    let mut out = String::new();
    json(node, &mut out, 0)?;
    Ok(out)
}

/// The style that go-yaml v2 gives to a string.
pub(crate) fn style_of(text: &str, is_key: bool) -> ScalarStyle {
    let analysis = Analysis::of(text);
    let mut style = if text.contains('\n') {
        ScalarStyle::Literal
    } else if is_string_when_plain(text) {
        ScalarStyle::Plain
    } else {
        ScalarStyle::DoubleQuoted
    };
    if is_key && analysis.multiline {
        style = ScalarStyle::DoubleQuoted;
    }
    if style == ScalarStyle::Plain && (!analysis.plain_allowed || (is_key && text.is_empty())) {
        style = ScalarStyle::SingleQuoted;
    }
    if style == ScalarStyle::SingleQuoted && !analysis.single_quoted_allowed {
        style = ScalarStyle::DoubleQuoted;
    }
    if style == ScalarStyle::Literal && (!analysis.block_allowed || is_key) {
        style = ScalarStyle::DoubleQuoted;
    }
    style
}

/// Whether go-yaml writes a text of one line without quotes as far as its syntax
/// goes: no indicator, no blank at an edge, no character that needs an escape.
pub(crate) fn is_plain_safe(text: &str) -> bool {
    !text.is_empty() && Analysis::of(text).plain_allowed
}

/// The order of keys in emitted YAML (`keyList.Less`): runs of digits compare
/// as numbers, and other characters come before letters.
pub(crate) fn compare_keys(a: &str, b: &str) -> Ordering {
    let common = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    if common == a.len() || common == b.len() {
        return a.len().cmp(&b.len());
    }
    let common = (0..=common).rev().find(|at| a.is_char_boundary(*at)).unwrap_or(0);
    let (rest_a, rest_b) = (&a[common..], &b[common..]);
    let (Some(first_a), Some(first_b)) = (rest_a.chars().next(), rest_b.chars().next()) else {
        return a.len().cmp(&b.len());
    };
    match (is_letter(first_a), is_letter(first_b)) {
        (true, true) => return first_a.cmp(&first_b),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let behind_digits = (first_a == '0' || first_b == '0')
        && a[..common].bytes().rev().take_while(u8::is_ascii_digit).any(|digit| digit != b'0');
    let number = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit);
        digits.fold((u128::from(behind_digits), 0), |(value, length), digit| {
            (value.saturating_mul(10).saturating_add(u128::from(digit - b'0')), length + 1)
        })
    };
    number(rest_a).cmp(&number(rest_b)).then(first_a.cmp(&first_b))
}

fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { c.is_alphabetic() }
}

type Field<'a> = (Cow<'a, str>, NodeRef<'a>);

/// Sorts by [`compare_keys`]. Not the standard sort: absurd digit runs make the
/// order inconsistent, on which that one may panic.
fn sort_for_yaml(entries: Vec<Field<'_>>) -> Vec<Field<'_>> {
    if entries.len() < 2 {
        return entries;
    }
    let mut left = entries;
    let right = sort_for_yaml(left.split_off(left.len() / 2));
    let (mut left, mut right) = (sort_for_yaml(left).into_iter().peekable(), right.into_iter().peekable());
    let mut merged = Vec::with_capacity(left.len() + right.len());
    while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
        let next = if compare_keys(&b.0, &a.0).is_lt() { right.next() } else { left.next() };
        merged.extend(next);
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

/// The entries of a map in order, each key as the string that it becomes; of
/// equal keys the last one wins. Keys of the root are read as text.
fn ordered_entries<'a>(
    node: NodeRef<'a>,
    is_root: bool,
    sort: fn(Vec<Field<'a>>) -> Vec<Field<'a>>,
) -> Result<Vec<Field<'a>>, EmitError> {
    let (mut entries, mut unknown) = (Vec::new(), Vec::new());
    for entry in node.entries() {
        let key = entry.key_node;
        if key.is_unknown() {
            unknown.push((key, entry.value));
            continue;
        }
        if !is_root {
            let scalar = key.scalar(Dialect::GoYamlV3);
            json_key(&scalar, Dialect::GoYamlV3)
                .map_err(|message| EmitError::NotJson { message, location: key.location().map(Box::new) })?;
        }
        entries.push((entry.key, entry.value));
    }
    let mut entries = sort(entries);
    entries.reverse();
    entries.dedup_by(|a, b| a.0 == b.0);
    entries.reverse();
    if unknown.is_empty() {
        return Ok(entries);
    }
    for (key, value) in unknown {
        let mut text = text_of_unknown(key);
        while entries.iter().any(|(known, _)| *known == text) {
            text.push('?');
        }
        entries.push((text.into(), value));
    }
    Ok(sort(entries))
}

/// A key with a part that is not known is a text, whatever that part is: `?` stands for
/// it. Two of them may be different keys, so that each stays.
fn text_of_unknown(key: NodeRef<'_>) -> String {
    match key.holes() {
        Some(holes) => holes.parts.iter().map(|part| part.as_deref().unwrap_or("?")).collect(),
        None => "?".to_owned(),
    }
}

/// The text of a scalar that is no string.
fn other_scalar<'a>(
    node: NodeRef<'_>,
    scalar: &'a Scalar<'_>,
    float: fn(f64) -> String,
) -> Result<Cow<'a, str>, EmitError> {
    let refuse =
        |message: String| Err(EmitError::NotJson { message, location: node.location().map(Box::new) });
    Ok(match scalar {
        Scalar::Null => Cow::Borrowed("null"),
        Scalar::Bool(true) => Cow::Borrowed("true"),
        Scalar::Bool(false) => Cow::Borrowed("false"),
        Scalar::Int(int) => Cow::Owned(int.to_string()),
        Scalar::Uint(int) => Cow::Owned(int.to_string()),
        Scalar::Float(value) if !value.is_finite() => {
            return refuse(format!("json: unsupported value: {}", format_float_yaml(*value)));
        }
        Scalar::Float(value) => {
            // What reads as an integer again becomes one: -0.0 ends as 0.
            let as_json = format_float(*value);
            match (as_json.parse::<i64>(), as_json.parse::<u64>()) {
                (Ok(int), _) => Cow::Owned(int.to_string()),
                (_, Ok(int)) => Cow::Owned(int.to_string()),
                _ => Cow::Owned(float(*value)),
            }
        }
        Scalar::Timestamp(text) => match timestamp_rfc3339(text) {
            Some(text) => Cow::Owned(text),
            None => return refuse("timezone hour outside of range [0,23]".to_owned()),
        },
        Scalar::Str(text) => Cow::Borrowed(text),
    })
}

/// What go-yaml's emitter keeps about the place of a node.
#[derive(Clone, Copy, Default)]
struct Context {
    in_mapping: bool,
    is_key: bool,
}

struct Emitter<'s> {
    out: String,
    /// Characters written in the current line.
    column: usize,
    /// -1 outside the root.
    indent: isize,
    /// Whether the last character was a blank or the line's start.
    whitespace: bool,
    /// Whether the line holds nothing but indentation and `- ` so far.
    indention: bool,
    stand_in: Option<&'s mut dyn FnMut(NodeRef<'_>) -> String>,
    marks: Option<Vec<Mark>>,
    /// As go-yaml v3 with an indent of two.
    pretty: bool,
}

impl Emitter<'_> {
    fn new() -> Self {
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

    /// Notes what was written since as a scalar or a key.
    fn mark(&mut self, start: usize, of: NodeRef<'_>, is_key: bool) {
        if let Some(marks) = &mut self.marks {
            let blanks = self.out[start..].bytes().take_while(|b| *b == b' ').count();
            marks.push(Mark { bytes: start + blanks..self.out.len(), of: of.address(), is_key });
        }
    }

    fn node(&mut self, node: NodeRef<'_>, context: Context, depth: usize) -> Result<(), EmitError> {
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
                self.mark(start, node, false);
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

    fn mapping(&mut self, entries: Vec<Field<'_>>, depth: usize) -> Result<(), EmitError> {
        if entries.is_empty() {
            self.indicator("{", true, true, false);
            self.indicator("}", false, false, false);
            return Ok(());
        }
        let outer = self.indent;
        self.increase_indent(false, false);
        for (key, value) in entries {
            self.write_indent();
            let start = self.out.len();
            if !key.contains(is_break) && key.len() <= 128 {
                self.string(&key, Context { in_mapping: true, is_key: true });
                self.mark(start, value, true);
                self.indicator(":", false, false, false);
            } else {
                self.indicator("?", true, false, true);
                self.string(&key, Context { in_mapping: true, is_key: false });
                self.mark(start, value, true);
                self.write_indent();
                self.indicator(":", true, false, true);
            }
            self.node(value, Context { in_mapping: true, is_key: false }, depth + 1)?;
        }
        self.indent = outer;
        Ok(())
    }

    fn sequence<'n>(
        &mut self,
        items: impl Iterator<Item = NodeRef<'n>>,
        context: Context,
        depth: usize,
    ) -> Result<(), EmitError> {
        let mut items = items.peekable();
        if items.peek().is_none() {
            self.indicator("[", true, true, false);
            self.indicator("]", false, false, false);
            return Ok(());
        }
        let outer = self.indent;
        self.increase_indent(false, context.in_mapping && !self.indention && !self.pretty);
        for item in items {
            self.write_indent();
            self.indicator("-", true, false, true);
            self.node(item, Context::default(), depth + 1)?;
        }
        self.indent = outer;
        Ok(())
    }

    fn string(&mut self, text: &str, context: Context) {
        self.scalar(text, style_of(text, context.is_key), context);
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, context: Context) {
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

    fn write_indent(&mut self) {
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
struct Analysis {
    multiline: bool,
    plain_allowed: bool,
    single_quoted_allowed: bool,
    block_allowed: bool,
}

impl Analysis {
    fn of(text: &str) -> Analysis {
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
fn is_string_when_plain(text: &str) -> bool {
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

/// `is_printable`: what needs no escape. Characters beyond the basic plane do.
pub(crate) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}

fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The only key of the map that JSON has for a value that is not known: why.
pub(crate) const UNKNOWN: &str = "$unknown";

/// The only key of the map that JSON has for a string with unknown parts: its parts.
pub(crate) const HOLES: &str = "$holes";

/// An unknown value as the JSON contract writes it.
fn described(node: NodeRef<'_>) -> super::Node {
    let list = |holes: &Holes| {
        let part = |part: &Option<std::sync::Arc<str>>| match part {
            Some(text) => Value::Str(text.clone()),
            None => Value::Null,
        };
        Value::Seq(holes.parts.iter().map(|p| super::Node::scalar(part(p), None)).collect())
    };
    let (key, value) = match node {
        NodeRef::Built(built) => match &built.value {
            Value::Holes(holes) => (HOLES, list(holes)),
            Value::Unknown(why) => (UNKNOWN, Value::Str(why.clone())),
            _ => (UNKNOWN, Value::Str("unknown".into())),
        },
        NodeRef::Source(..) => (UNKNOWN, Value::Str("unknown".into())),
    };
    let entry = super::Entry { key: super::Node::string(key, None), value: super::Node::scalar(value, None) };
    super::Node::scalar(Value::Map(vec![entry].into()), None)
}

fn sort_for_json(mut entries: Vec<Field<'_>>) -> Vec<Field<'_>> {
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries
}

fn json(node: NodeRef<'_>, out: &mut String, depth: usize) -> Result<(), EmitError> {
    if depth > DEPTH_LIMIT {
        return Err(EmitError::TooDeep);
    }
    if node.is_unknown() {
        return json(described(node).get_ref(), out, depth);
    }
    match node.kind() {
        NodeKind::Map => {
            out.push('{');
            let entries = ordered_entries(node, depth == 0, sort_for_json)?;
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                out.push_str(&quoted(&key));
                out.push(':');
                json(value, out, depth + 1)?;
            }
            out.push('}');
        }
        NodeKind::Seq => {
            out.push('[');
            for (index, item) in node.items().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                json(item, out, depth + 1)?;
            }
            out.push(']');
        }
        NodeKind::Scalar | NodeKind::Unknown => {
            let scalar = node.scalar(Dialect::GoYamlV3);
            let text = other_scalar(node, &scalar, format_float)?;
            if matches!(scalar, Scalar::Str(_) | Scalar::Timestamp(_)) {
                out.push_str(&quoted(&text));
            } else {
                out.push_str(&text);
            }
        }
    }
    Ok(())
}

/// A string as JSON, with Go's escapes.
pub(crate) fn quoted(text: &str) -> String {
    let plain = serde_json::to_string(text).unwrap_or_default();
    let is_special = |byte: u8| matches!(byte, b'<' | b'>' | b'&' | 0xe2);
    let mut rest = plain.as_str();
    let mut out = String::new();
    while let Some(at) = rest.bytes().position(is_special) {
        let special = rest[at..].chars().next().unwrap_or_default();
        let escape = match special {
            '<' => Some("\\u003c"),
            '>' => Some("\\u003e"),
            '&' => Some("\\u0026"),
            '\u{2028}' => Some("\\u2028"),
            '\u{2029}' => Some("\\u2029"),
            _ => None,
        };
        let end = at + special.len_utf8();
        out.push_str(&rest[..if escape.is_some() { at } else { end }]);
        out.push_str(escape.unwrap_or_default());
        rest = &rest[end..];
    }
    if out.is_empty() {
        return plain;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::{Entry, Node, parse_nodes};

    fn emitted(text: &str) -> String {
        to_yaml(parse_nodes("test.yaml", text)[0].get_ref()).expect(text)
    }

    #[test]
    fn trees() {
        for (input, expected) in [
            ("b: 1\na: [x, {}, []]\n", "a:\n- x\n- {}\n- []\nb: 1\n"),
            ("- - 1\n  - a: b\n    c: d\n", "- - 1\n  - a: b\n    c: d\n"),
            ("a: {b: [{c: 1}]}", "a:\n  b:\n  - c: 1\n"),
            ("{}", "{}\n"),
            ("plain", "plain\n"),
            ("a: 1.0\nb: 1e21\nc: 0755\nd: 1234567.5\n", "a: 1\nb: 1e+21\nc: 493\nd: 1.2345675e+06\n"),
            ("d: 2024-01-01\ny: yes\nn: ~\n", "d: \"2024-01-01T00:00:00Z\"\n\"n\": null\n\"y\": \"yes\"\n"),
            ("x: &a {k: v}\ny: {<<: *a, z: 1}\n", "x:\n  k: v\n\"y\":\n  k: v\n  z: 1\n"),
            ("port10: 1\nport9: 2\nportA: 3\n", "port9: 2\nport10: 1\nportA: 3\n"),
        ] {
            assert_eq!(emitted(input), expected, "{input}");
        }
    }

    #[test]
    fn strings() {
        let long = "word ".repeat(20);
        for (text, expected) in [
            ("", "\"\""),
            ("1.10", "\"1.10\""),
            ("1:30", "\"1:30\""),
            ("2024-01-01", "\"2024-01-01\""),
            ("<<", "<<"),
            ("=", "="),
            ("-a", "-a"),
            ("- a", "'- a'"),
            ("a: b", "'a: b'"),
            ("a:", "'a:'"),
            ("a #b", "'a #b'"),
            (" a", "' a'"),
            ("it's", "it's"),
            ("@it's", "'@it''s'"),
            ("a\tb\u{1f600}", "\"a\\tb\\U0001F600\""),
            ("${A:=x}", "${A:=x}"),
            ("a\nb", "|-\n  a\n  b"),
            ("a\nb\n", "|\n  a\n  b"),
            ("\n a\n\n", "|2+\n\n   a\n"),
            ("a \nb", "\"a \\nb\""),
            (
                long.trim_end(),
                "word word word word word word word word word word word word word word word word word\n  word word word",
            ),
        ] {
            let node = crate::lang::yaml::Node::string(text, None);
            assert_eq!(to_yaml(node.get_ref()).expect(text), format!("{expected}\n"), "{text:?}");
        }
    }

    #[test]
    fn keys_with_unknown_parts_are_texts_and_stay_apart() {
        let holes = |parts: &[Option<&str>]| {
            Value::Holes(Holes { parts: parts.iter().map(|part| part.map(Into::into)).collect() })
        };
        let names = [
            holes(&[None, Some("-b")]),
            Value::Str("plain".into()),
            holes(&[Some("app-"), None]),
            Value::Unknown("a variable".into()),
            Value::Str("?".into()),
            holes(&[Some("app-"), None]),
            Value::Unknown("another one".into()),
        ];
        let entry = |(at, name): (usize, Value)| Entry {
            key: Node::scalar(name, None),
            value: Node::scalar(Value::Int(at as i64), None),
        };
        let map = Node::scalar(Value::Map(names.into_iter().enumerate().map(entry).collect()), None);
        let mut object = Node::empty_map(None);
        object.set("labels", map.clone(), None);
        assert_eq!(
            to_json(map.get_ref()).as_deref(),
            Ok(r#"{"?":4,"?-b":0,"??":3,"???":6,"app-?":2,"app-??":5,"plain":1}"#)
        );
        for node in [&map, &object] {
            let (yaml, json) =
                (to_yaml(node.get_ref()).expect("yaml"), to_json(node.get_ref()).expect("json"));
            let again = parse_nodes("emitted.yaml", &yaml);
            assert_eq!(to_json(again[0].get_ref()).as_ref(), Ok(&json), "{yaml}");
        }
    }

    #[test]
    fn json_is_sorted_and_compact() {
        let node = &parse_nodes("test.yaml", "b: [1, 1e3, null]\na: {z: \"x\\n\", y: <&>}\n")[0];
        let json = to_json(node.get_ref()).expect("JSON");
        assert_eq!(json, r#"{"a":{"y":"\u003c\u0026\u003e","z":"x\n"},"b":[1,1000,null]}"#);
    }

    #[test]
    fn what_json_cannot_hold_is_located() {
        for (text, start) in [("a: .inf\n", 3), ("a: {1: b}\n", 4)] {
            match to_yaml(parse_nodes("test.yaml", text)[0].get_ref()) {
                Err(EmitError::NotJson { location: Some(location), .. }) => {
                    assert_eq!(location.start, start, "{text}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
