//! Words of a text in other cases, by the rules of xstrings.

use crate::lang::template::bound::Bound;
use crate::lang::template::error::{Fault, Result};
use crate::lang::template::function::Call;
use crate::lang::template::value::Val;

/// What a character is for `xstrings`' words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CharClass {
    Invalid,
    Number,
    Upper,
    Letter,
    Symbol,
    Punct,
    Connector,
}

fn is_connector(c: char) -> bool {
    matches!(c, '-' | '_') || c.is_whitespace()
}

fn class(c: char) -> CharClass {
    if c == '\u{fffd}' {
        CharClass::Invalid
    } else if c.is_uppercase() {
        CharClass::Upper
    } else if c.is_numeric() {
        CharClass::Number
    } else if is_connector(c) {
        CharClass::Connector
    } else if c.is_alphabetic()
        && !matches!(c, '\u{3400}'..='\u{4d85}' | '\u{4e00}'..='\u{9fcc}' | '\u{20000}'..='\u{2b81d}')
    {
        CharClass::Letter
    } else if is_punctuation(c) {
        CharClass::Punct
    } else {
        CharClass::Symbol
    }
}

/// Go's `unicode.IsPunct`.
fn is_punctuation(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_punctuation() && !matches!(c, '$' | '+' | '<' | '=' | '>' | '^' | '`' | '|' | '~');
    }
    static PUNCT: std::sync::OnceLock<Option<regex::Regex>> = std::sync::OnceLock::new();
    let pattern = PUNCT.get_or_init(|| regex::Regex::new(r"^\p{P}$").ok());
    let mut buffer = [0; 4];
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(c.encode_utf8(&mut buffer)))
}

/// The text of a call. Of one that is cut within a character Go keeps the bytes.
fn readable(call: &Call<'_>) -> Result<String> {
    match std::str::from_utf8(call.bytes(0)) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Fault::bound(Bound::Unsupported("cases of a text that is no UTF-8"))),
    }
}

/// `xstrings.ToPascalCase`.
pub(super) fn camelcase(call: &mut Call<'_>) -> Result<Val> {
    let text = readable(call)?;
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    // Leading connectors stay.
    while at < chars.len() && is_connector(chars[at]) {
        out.push(chars[at]);
        at += 1;
    }
    if at == chars.len() {
        // Go writes the last one twice.
        out.extend(chars.last());
        return call.made(out);
    }
    // Of several upper case letters in a row only the first stays one.
    let mut after_upper = chars[at].is_uppercase();
    let mut before = super::strings::upper_of(chars[at]);
    at += 1;
    while at < chars.len() {
        let c = chars[at];
        at += 1;
        if is_connector(before) && is_connector(c) {
            out.push(before);
            before = c;
        } else if is_connector(before) {
            after_upper = c.is_uppercase();
            before = super::strings::upper_of(c);
        } else {
            out.push(before);
            after_upper &= c.is_uppercase();
            before = if after_upper { super::strings::lower_of(c) } else { c };
        }
    }
    out.push(before);
    call.made(out)
}

pub(super) fn snakecase(call: &mut Call<'_>) -> Result<Val> {
    let text = words(&readable(call)?, '_');
    call.made(text)
}

pub(super) fn kebabcase(call: &mut Call<'_>) -> Result<Val> {
    let text = words(&readable(call)?, '-');
    call.made(text)
}

/// `xstrings`' `camelCaseToLowerCase`.
fn words(text: &str, connector: char) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let chars: Vec<char> = text.chars().collect();
    let (mut kind, mut word, mut rest) = next_word(&chars);
    while !rest.is_empty() {
        if kind != CharClass::Connector {
            push_lower(&mut out, word, kind, connector);
        }
        let previous = kind;
        let last = word;
        (kind, word, rest) = next_word(rest);
        match previous {
            CharClass::Number => {
                while matches!(kind, CharClass::Letter | CharClass::Number) {
                    push_lower(&mut out, word, kind, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, CharClass::Invalid | CharClass::Punct | CharClass::Connector) {
                    out.push(connector);
                }
            }
            CharClass::Connector => push_lower(&mut out, last, previous, connector),
            CharClass::Punct => {}
            _ if kind == CharClass::Number => {
                if rest.is_empty() {
                    continue;
                }
                let number = word;
                (kind, word, rest) = next_word(rest);
                if kind != CharClass::Letter {
                    push_lower(&mut out, number, CharClass::Number, connector);
                    if !matches!(kind, CharClass::Connector | CharClass::Punct) {
                        out.push(connector);
                    }
                    continue;
                }
                out.push(connector);
                push_lower(&mut out, number, CharClass::Number, connector);
                while matches!(kind, CharClass::Letter | CharClass::Number) {
                    push_lower(&mut out, word, kind, connector);
                    (kind, word, rest) = next_word(rest);
                }
                if !matches!(kind, CharClass::Invalid | CharClass::Punct | CharClass::Connector) {
                    out.push(connector);
                }
            }
            _ if !matches!(kind, CharClass::Connector | CharClass::Punct) => out.push(connector),
            _ => {}
        }
    }
    push_lower(&mut out, word, kind, connector);
    out
}

fn push_lower(out: &mut String, word: &[char], kind: CharClass, connector: char) {
    match kind {
        CharClass::Upper => out.extend(word.iter().map(|c| super::strings::lower_of(*c))),
        CharClass::Connector => out.extend(std::iter::repeat_n(connector, word.len())),
        _ => out.extend(word),
    }
}

/// `xstrings`' `nextWord`.
fn next_word(chars: &[char]) -> (CharClass, &[char], &[char]) {
    let Some(first) = chars.first() else {
        return (CharClass::Invalid, &[], &[]);
    };
    let kind = class(*first);
    let run = |from: usize, wanted: CharClass| {
        from + chars[from..].iter().take_while(|c| class(**c) == wanted).count()
    };
    let end = match kind {
        CharClass::Upper => {
            let end = run(1, CharClass::Upper);
            if end > 1 {
                // Behind several upper case letters, the last one begins the next word.
                if chars.get(end).is_some_and(|c| class(*c) == CharClass::Letter) { end - 1 } else { end }
            } else {
                run(1, CharClass::Letter)
            }
        }
        CharClass::Invalid => 1,
        // Go counts `-` and `_` as punctuation, where no word begins with them.
        CharClass::Punct => {
            let goes_on = |c: &&char| class(**c) == CharClass::Punct || matches!(c, '-' | '_');
            1 + chars[1..].iter().take_while(goes_on).count()
        }
        other => run(1, other),
    };
    (kind, &chars[..end], &chars[end..])
}
