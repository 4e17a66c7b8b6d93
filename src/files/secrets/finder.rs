//! Hidden values in a message about the Secret that holds them.

use super::HiddenValue;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

/// Finds the values of one region in a text.
#[derive(Debug)]
pub(super) struct Finder {
    /// All of them, a line each.
    all: String,
    /// Those that are told from other words by their length.
    long: Option<AhoCorasick>,
    names: Vec<Box<str>>,
}

/// Values from this length on are looked for outside of quotes too.
const LONG: usize = 5;

/// Values from this length on may be a part of a word.
const PART: usize = 12;

/// Words of every Secret, whatever its values are.
const FIELDS: &[&str] = &[
    "apiVersion",
    "kind",
    "type",
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "data",
    "stringData",
    "immutable",
    "Secret",
    "SecretList",
    "List",
    "items",
    "v1",
    "Opaque",
    "true",
    "false",
    "null",
    "string",
];

impl Finder {
    pub(super) fn of(words: &[HiddenValue], names: &[Box<str>]) -> Finder {
        let is_name = |word: &str| FIELDS.contains(&word) || names.iter().any(|name| **name == *word);
        let mut all = String::from("\n");
        for word in words.iter().map(|word| word.text.trim()).filter(|word| !is_name(word)) {
            all.push_str(word);
            all.push('\n');
        }
        let long =
            words.iter().map(|word| word.text.trim()).filter(|word| word.len() >= LONG && !is_name(word));
        let long = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(long);
        Finder { all, long: long.ok(), names: names.to_vec() }
    }

    /// The text without values: `***` for what stands between quotes and is one or a part
    /// of one, and for each long one. `None` where it holds none.
    pub(super) fn conceal(&self, text: &str) -> Option<String> {
        let quoted = self.without_quoted(text);
        let rest = quoted.as_deref().unwrap_or(text);
        self.without_long(rest).or(quoted)
    }

    /// Whether a text is one of the values.
    pub(super) fn is_value(&self, text: &str) -> bool {
        !text.trim().is_empty() && self.all.contains(&format!("\n{}\n", text.trim()))
    }

    fn without_quoted(&self, text: &str) -> Option<String> {
        let mut out = String::with_capacity(text.len());
        let mut found = false;
        let mut rest = text;
        while let Some(start) = rest.find(['`', '"', '\'']) {
            let quote = rest.as_bytes()[start] as char;
            let inner = &rest[start + 1..];
            let in_word = rest[..start].chars().next_back().is_some_and(char::is_alphanumeric);
            out.push_str(&rest[..=start]);
            rest = inner;
            let Some(end) = inner.find(quote).filter(|_| quote != '\'' || !in_word) else { continue };
            if self.tells(&inner[..end]) {
                found = true;
                out.push_str("***");
                rest = &inner[end..];
            } else {
                out.push_str(&inner[..end]);
                rest = &inner[end..];
            }
            out.push(quote);
            rest = &rest[1..];
        }
        out.push_str(rest);
        found.then_some(out)
    }

    /// Whether a quoted text is a value or a part of one.
    fn tells(&self, quoted: &str) -> bool {
        let text = quoted.trim();
        let is_name = FIELDS.contains(&text) || self.names.iter().any(|name| **name == *text);
        !text.is_empty()
            && !is_name
            && if text.len() >= LONG { self.all.contains(text) } else { self.is_value(text) }
    }

    fn without_long(&self, text: &str) -> Option<String> {
        let long = self.long.as_ref()?;
        let mut out = String::new();
        let (mut at, mut done) = (0, 0);
        while let Some(hit) = long.find(Input::new(text).range(at..)) {
            let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
            let bytes = text.as_bytes();
            let before = hit.start().checked_sub(1).and_then(|before| bytes.get(before));
            if hit.len() >= PART || !(is_part(before) || is_part(bytes.get(hit.end()))) {
                out.push_str(&text[done..hit.start()]);
                out.push_str("***");
                done = hit.end();
                at = hit.end();
            } else {
                at = hit.start() + 1;
                while !text.is_char_boundary(at) {
                    at += 1;
                }
            }
        }
        (done > 0).then(|| out + &text[done..])
    }
}
