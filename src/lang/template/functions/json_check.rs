//! Whether a text is JSON, and where it is none in the words of Go's scanner.

/// What the scanner expects.
#[derive(Clone, Copy)]
enum State {
    Value,
    /// A value or the end of the list.
    ValueOrEnd,
    Key,
    /// A key or the end of the object.
    KeyOrEnd,
    Colon,
    /// A comma or the end, behind a value.
    Behind,
}

const END: &str = "unexpected end of JSON input";
/// Go's own limit.
const DEPTH_LIMIT: usize = 10_000;

fn shown(byte_at: &[u8]) -> String {
    let (c, _) = crate::lang::template::quote::decode(byte_at);
    match byte_at[0] {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        // Go's scanner goes by bytes, each shown as a character of its own.
        byte => {
            let c = if byte < 0x80 { c.unwrap_or('\u{fffd}') } else { byte as char };
            let mut buffer = [0; 4];
            let quoted = crate::lang::template::quote::go_quote(c.encode_utf8(&mut buffer).as_bytes());
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    }
}

fn invalid<T>(bytes: &[u8], at: usize, context: &str) -> Result<T, String> {
    match bytes.get(at..).filter(|rest| !rest.is_empty()) {
        Some(rest) => Err(format!("invalid character {} {context}", shown(rest))),
        // At the end Go's scanner looks at one blank more.
        None if context.starts_with("in ") || context.contains("decimal point") => {
            Err(format!("invalid character ' ' {context}"))
        }
        None => Err(END.to_owned()),
    }
}

/// Go's words for what is no JSON.
pub(crate) fn check(bytes: &[u8]) -> Result<(), String> {
    let mut open: Vec<u8> = Vec::new();
    let mut state = State::Value;
    let mut at = 0;
    loop {
        at += bytes[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
        if let (State::Behind, true) = (state, open.is_empty()) {
            return if at == bytes.len() { Ok(()) } else { invalid(bytes, at, "after top-level value") };
        }
        let Some(byte) = bytes.get(at) else {
            return Err(END.to_owned());
        };
        state = match (state, byte) {
            (State::ValueOrEnd, b']') | (State::KeyOrEnd, b'}') => {
                open.pop();
                at += 1;
                State::Behind
            }
            (State::Value | State::ValueOrEnd, b'{' | b'[') => {
                if open.len() >= DEPTH_LIMIT {
                    return Err("exceeded max depth".to_owned());
                }
                open.push(*byte);
                at += 1;
                if *byte == b'{' { State::KeyOrEnd } else { State::ValueOrEnd }
            }
            (State::Value | State::ValueOrEnd, _) => {
                at = scalar(bytes, at)?;
                State::Behind
            }
            (State::Key | State::KeyOrEnd, b'"') => {
                at = string(bytes, at)?;
                State::Colon
            }
            (State::Key | State::KeyOrEnd, _) => {
                return invalid(bytes, at, "looking for beginning of object key string");
            }
            (State::Colon, b':') => {
                at += 1;
                State::Value
            }
            (State::Colon, _) => return invalid(bytes, at, "after object key"),
            (State::Behind, b',') => {
                at += 1;
                if open.last() == Some(&b'{') { State::Key } else { State::Value }
            }
            (State::Behind, b'}' | b']')
                if open.last() == Some(if *byte == b'}' { &b'{' } else { &b'[' }) =>
            {
                open.pop();
                at += 1;
                State::Behind
            }
            (State::Behind, _) => {
                let is_object = open.last() == Some(&b'{');
                let context = if is_object { "after object key:value pair" } else { "after array element" };
                return invalid(bytes, at, context);
            }
        };
    }
}

fn scalar(bytes: &[u8], at: usize) -> Result<usize, String> {
    for word in ["true", "false", "null"] {
        if bytes[at] == word.as_bytes()[0] {
            for (index, expected) in word.bytes().enumerate().skip(1) {
                if bytes.get(at + index) != Some(&expected) {
                    let context = format!("in literal {word} (expecting '{}')", expected as char);
                    return invalid(bytes, at + index, &context);
                }
            }
            return Ok(at + word.len());
        }
    }
    match bytes[at] {
        b'"' => string(bytes, at),
        b'-' | b'0'..=b'9' => number(bytes, at),
        _ => invalid(bytes, at, "looking for beginning of value"),
    }
}

fn number(bytes: &[u8], start: usize) -> Result<usize, String> {
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut at = start;
    if bytes[at] == b'-' {
        at += 1;
        if !digit(at) {
            return invalid(bytes, at, "in numeric literal");
        }
    }
    if bytes[at] == b'0' {
        at += 1;
    } else {
        while digit(at) {
            at += 1;
        }
    }
    if bytes.get(at) == Some(&b'.') {
        at += 1;
        if !digit(at) {
            return invalid(bytes, at, "after decimal point in numeric literal");
        }
        while digit(at) {
            at += 1;
        }
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(bytes.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        if !digit(at) {
            return invalid(bytes, at, "in exponent of numeric literal");
        }
        while digit(at) {
            at += 1;
        }
    }
    Ok(at)
}

fn string(bytes: &[u8], start: usize) -> Result<usize, String> {
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            None => return Err(END.to_owned()),
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => match bytes.get(at + 1) {
                Some(b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"') => at += 2,
                Some(b'u') => {
                    for digit in 2..6 {
                        if !bytes.get(at + digit).is_some_and(u8::is_ascii_hexdigit) {
                            return invalid(bytes, at + digit, "in \\u hexadecimal character escape");
                        }
                    }
                    at += 6;
                }
                _ => return invalid(bytes, at + 1, "in string escape code"),
            },
            Some(byte) if *byte < 0x20 => return invalid(bytes, at, "in string literal"),
            Some(_) => at += 1,
        }
    }
}

/// The text of a string that was checked, without its quotes.
pub(super) fn unquote(written: &str) -> String {
    let mut out = String::with_capacity(written.len());
    let mut rest = written;
    let unit = |text: &str| u32::from_str_radix(text.get(2..6)?, 16).ok();
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (c, length) = match rest.as_bytes().get(1) {
            Some(b'b') => ('\u{8}', 2),
            Some(b'f') => ('\u{c}', 2),
            Some(b'n') => ('\n', 2),
            Some(b'r') => ('\r', 2),
            Some(b't') => ('\t', 2),
            Some(b'u') => {
                let first = unit(rest).unwrap_or(0xfffd);
                let second = rest.get(6..).filter(|next| next.starts_with("\\u")).and_then(unit);
                match (first, second) {
                    (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => {
                        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
                        (char::from_u32(code).unwrap_or('\u{fffd}'), 12)
                    }
                    _ => (char::from_u32(first).unwrap_or('\u{fffd}'), 6),
                }
            }
            Some(other) => (*other as char, 2),
            None => ('\\', 1),
        };
        out.push(c);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}
