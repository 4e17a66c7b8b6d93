//! Words that stand for what is unknown in a text that is parsed, and how it is put
//! back afterwards.

use crate::lang::yaml::{Dialect, Holes, Scalar, Value, resolve};
use std::borrow::Cow;
use std::sync::Arc;

/// What every word begins with.
const START: &str = "forebayUnknown";

/// The word for the unknown of this number.
pub(crate) fn word(number: usize) -> String {
    format!("{START}{number}z")
}

/// Whether a word may be in a text.
pub(crate) fn is_in(text: &str) -> bool {
    text.contains(START)
}

/// The number, where a text is one word and nothing else.
pub(crate) fn number_of(text: &str) -> Option<usize> {
    text.strip_prefix(START)?.strip_suffix('z')?.parse().ok()
}

/// A string with holes where words are; of one word alone, what is unknown altogether.
pub(crate) fn value_of(text: &str) -> Value {
    if !is_in(text) {
        return Value::Str(text.into());
    }
    let parts = parts_of(text);
    match parts.as_slice() {
        [None] => Value::Unknown(text.into()),
        _ => Value::Holes(Holes::from(parts)),
    }
}

/// The numbers of the words in a text, in order.
pub(crate) fn numbers_in(text: &str) -> Vec<Option<usize>> {
    let mut rest = text;
    let mut found = Vec::new();
    while let Some(at) = rest.find(START) {
        let (number, behind) = rest[at + START.len()..].split_once('z').unwrap_or_default();
        found.push(number.parse().ok());
        rest = behind;
    }
    found
}

fn parts_of(text: &str) -> Vec<Option<Arc<str>>> {
    let mut parts: Vec<Option<Arc<str>>> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(START) {
        if at > 0 {
            parts.push(Some(rest[..at].into()));
        }
        parts.push(None);
        let after = &rest[at + START.len()..];
        rest = after.split_once('z').map_or("", |(_, rest)| rest);
    }
    if !rest.is_empty() {
        parts.push(Some(rest.into()));
    }
    parts
}

/// Whether a plain scalar with words is a string, whatever they stand for.
pub(crate) fn is_string_anyhow(text: &str) -> bool {
    let parts = parts_of(text);
    parts.len() > 1
        && ["", "1", "x"].iter().all(|filled| {
            let text: String = parts.iter().map(|part| part.as_deref().unwrap_or(filled)).collect();
            matches!(resolve::resolve_plain(Cow::Owned(text), Dialect::GoYamlV2), Scalar::Str(_))
        })
}
