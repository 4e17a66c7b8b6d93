//! Trees to text: YAML as go-yaml v2 writes it and JSON as Go does.
//!
//! Everything that leaves a build went through `sigs.k8s.io/yaml.JSONToYAML`:
//! keys sorted, comments and styles gone, quotes only where YAML 1.1 would
//! misread a string, lines folded behind column 80. Flux substitutes variables
//! in exactly this text. Mirrors go-yaml v2.4 (`emitterc.go`, `encode.go`,
//! `sorter.go`).

mod yaml;

use super::known::Holes;
use super::node::{NodeKind, NodeRef};
use super::resolve::{Dialect, Scalar, format_float, format_float_yaml, json_key};
use super::resolve::{ScalarStyle, reads_as_string, timestamp_rfc3339};
use super::{Location, Value};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;
use yaml::{Analysis, is_string_when_plain};

pub(crate) use yaml::{Context, Emitter};

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

/// As [`to_yaml`], with the place of every scalar and key, in order, and as go-yaml v3 writes
/// with an indent of two: lists indented, nothing folded, floats as Go prints them.
pub(crate) fn to_yaml_marked(node: NodeRef<'_>) -> Result<(String, Vec<Mark>), EmitError> {
    let mut emitter = Emitter { marks: Some(Vec::new()), pretty: true, ..Emitter::new() };
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

/// Whether a text is one word that is read as a string: most texts are, and nothing more has
/// to be known to write them.
fn is_word(text: &str) -> bool {
    text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && reads_as_string(text)
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'#' | b':'))
}

/// The style that go-yaml v2 gives to a string.
pub(crate) fn style_of(text: &str, is_key: bool) -> ScalarStyle {
    if is_word(text) { ScalarStyle::Plain } else { style_of_any(text, is_key) }
}

fn style_of_any(text: &str, is_key: bool) -> ScalarStyle {
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

type EmittedField<'a> = (Cow<'a, str>, NodeRef<'a>);

/// Sorts by [`compare_keys`]. Not the standard sort: absurd digit runs make the
/// order inconsistent, on which that one may panic.
pub(crate) fn sort_for_yaml<T>(entries: Vec<(Cow<'_, str>, T)>) -> Vec<(Cow<'_, str>, T)> {
    let has_digit = |key: &str| key.bytes().any(|byte| byte.is_ascii_digit());
    let in_order = |pair: &[(Cow<'_, str>, T)]| compare_keys(&pair[0].0, &pair[1].0).is_le();
    // Without digits it is one order.
    let is_sorted = || entries.windows(2).all(in_order) && !entries.iter().any(|(key, _)| has_digit(key));
    if entries.len() < 2 || is_sorted() {
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
    sort: fn(Vec<EmittedField<'a>>) -> Vec<EmittedField<'a>>,
) -> Result<Vec<EmittedField<'a>>, EmitError> {
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
        Scalar::Float(value) => Cow::Owned(float_text(*value, float)),
        Scalar::Timestamp(text) => match timestamp_rfc3339(text) {
            Some(text) => Cow::Owned(text),
            None => return refuse("timezone hour outside of range [0,23]".to_owned()),
        },
        Scalar::Str(text) => Cow::Borrowed(text),
    })
}

/// A finite float. What reads as an integer again becomes one: -0.0 ends as 0.
fn float_text(value: f64, otherwise: fn(f64) -> String) -> String {
    let as_json = format_float(value);
    match (as_json.parse::<i64>(), as_json.parse::<u64>()) {
        (Ok(int), _) => int.to_string(),
        (_, Ok(int)) => int.to_string(),
        _ => otherwise(value),
    }
}

/// `is_printable`: what needs no escape. Characters beyond the basic plane do.
pub(crate) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
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

fn sort_for_json(mut entries: Vec<EmittedField<'_>>) -> Vec<EmittedField<'_>> {
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
mod tests;
