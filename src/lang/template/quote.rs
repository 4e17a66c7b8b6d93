//! Go's string literals: `strconv.Quote`, `Unquote`, and what `unicode.IsPrint` prints.

/// Whether Go prints a character in quotes as it is.
pub(super) fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    static PRINTED: std::sync::OnceLock<Option<regex::Regex>> = std::sync::OnceLock::new();
    let pattern = PRINTED.get_or_init(|| regex::Regex::new(r"^[\p{L}\p{M}\p{N}\p{P}\p{S}]$").ok());
    let mut buffer = [0; 4];
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(c.encode_utf8(&mut buffer)))
}

/// One piece of a quoted text: how many bytes of the source it is made of, and how
/// it is written.
pub(super) fn quote_step(bytes: &[u8], quote: char, ascii: bool, out: &mut Vec<u8>) -> usize {
    let (c, length) = decode(bytes);
    let Some(c) = c else {
        out.extend_from_slice(format!("\\x{:02x}", bytes[0]).as_bytes());
        return 1;
    };
    if c == quote || c == '\\' {
        out.push(b'\\');
        out.push(c as u8);
    } else if is_print(c) && (!ascii || c.is_ascii()) {
        out.extend_from_slice(&bytes[..length]);
    } else {
        let escaped = match c {
            '\u{7}' => "\\a".to_owned(),
            '\u{8}' => "\\b".to_owned(),
            '\u{c}' => "\\f".to_owned(),
            '\n' => "\\n".to_owned(),
            '\r' => "\\r".to_owned(),
            '\t' => "\\t".to_owned(),
            '\u{b}' => "\\v".to_owned(),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => format!("\\x{:02x}", c as u32),
            c if (c as u32) < 0x10000 => format!("\\u{:04x}", c as u32),
            c => format!("\\U{:08x}", c as u32),
        };
        out.extend_from_slice(escaped.as_bytes());
    }
    length
}

/// `strconv.Quote`.
/// A text as Go's `%q`.
pub(crate) fn go_quote_text(text: &str) -> String {
    go_quote(text.as_bytes())
}

pub(super) fn go_quote(bytes: &[u8]) -> String {
    String::from_utf8(quoted(bytes, '"', false)).unwrap_or_default()
}

/// A text in quotes, `strconv.QuoteToASCII` if `ascii`.
pub(super) fn quoted(bytes: &[u8], quote: char, ascii: bool) -> Vec<u8> {
    let mut out = vec![quote as u8];
    let mut at = 0;
    while at < bytes.len() {
        at += quote_step(&bytes[at..], quote, ascii, &mut out);
    }
    out.push(quote as u8);
    out
}

/// The first character of a text, or `None` with one byte that is none.
pub(super) fn decode(bytes: &[u8]) -> (Option<char>, usize) {
    let first = bytes[0];
    if first < 0x80 {
        return (Some(first as char), 1);
    }
    let length = match first {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => return (None, 1),
    };
    let c = bytes.get(..length).and_then(|part| std::str::from_utf8(part).ok()?.chars().next());
    (c, if c.is_some() { length } else { 1 })
}

/// `strconv.Unquote` of a token that the lexer found.
pub(super) fn unquote(written: &str) -> Option<Vec<u8>> {
    let inner = written.get(1..written.len().checked_sub(1)?)?;
    if written.starts_with('`') {
        return Some(inner.bytes().filter(|b| *b != b'\r').collect());
    }
    if memchr::memchr3(b'\\', b'"', b'\n', inner.as_bytes()).is_none() {
        return Some(inner.as_bytes().to_vec());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while !rest.is_empty() {
        let (unit, after) = unquote_char(rest, '"')?;
        match unit {
            Unit::Char(c) => {
                let mut buffer = [0; 4];
                out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            }
            Unit::Byte(byte) => out.push(byte),
        }
        rest = after;
    }
    Some(out)
}

/// What an escape means.
pub(super) enum Unit {
    Char(char),
    Byte(u8),
}

impl Unit {
    pub(super) fn value(&self) -> i64 {
        match self {
            Unit::Char(c) => i64::from(*c as u32),
            Unit::Byte(byte) => i64::from(*byte),
        }
    }
}

/// `strconv.UnquoteChar`: the first character, and the rest.
pub(super) fn unquote_char(text: &str, quote: char) -> Option<(Unit, &str)> {
    let first = text.chars().next()?;
    if first == quote {
        return None;
    }
    if first != '\\' {
        return Some((Unit::Char(first), &text[first.len_utf8()..]));
    }
    let escape = text[1..].chars().next()?;
    let rest = &text[1 + escape.len_utf8()..];
    let simple = |c| Some((Unit::Char(c), rest));
    match escape {
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        'x' | 'u' | 'U' => {
            let digits = match escape {
                'x' => 2,
                'u' => 4,
                _ => 8,
            };
            let hex = rest.get(..digits).filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()))?;
            let value = u32::from_str_radix(hex, 16).ok()?;
            let unit =
                if escape == 'x' { Unit::Byte(value as u8) } else { Unit::Char(char::from_u32(value)?) };
            Some((unit, &rest[digits..]))
        }
        '0'..='7' => {
            let octal = text.get(1..4).filter(|octal| octal.bytes().all(|b| (b'0'..=b'7').contains(&b)))?;
            let value = u32::from_str_radix(octal, 8).ok().filter(|value| *value < 256)?;
            Some((Unit::Byte(value as u8), &text[4..]))
        }
        '\\' => simple('\\'),
        '\'' | '"' if escape == quote => simple(escape),
        _ => None,
    }
}
