//! Numbers as Go's constants: `strconv.ParseInt`, `ParseUint`, `ParseFloat`, and what
//! a number of a template can be.

use super::ast::Number;
use super::quote::{go_quote, unquote_char};

/// A character constant, in its quotes.
pub(super) fn character(text: &str) -> Result<Number, String> {
    let (unit, tail) = unquote_char(&text[1..], '\'').ok_or("invalid syntax")?;
    if tail != "'" {
        return Err(format!("malformed character constant: {text}"));
    }
    let value = unit.value();
    Ok(Number {
        text: text.into(),
        int: Some(value),
        uint: Some(value as u64),
        float: Some(value as f64),
        complex: None,
    })
}

/// `1+2i`.
pub(super) fn complex(text: &str) -> Result<Number, String> {
    let bad = || "syntax error scanning complex number".to_owned();
    let split = text[1..].rfind(['+', '-']).map(|at| at + 1).ok_or_else(bad)?;
    let real = parse_float(&text[..split]).ok_or_else(bad)?;
    let imaginary = parse_float(&text[split..text.len() - 1]).ok_or_else(bad)?;
    Ok(simplified(text, real, imaginary))
}

fn simplified(text: &str, real: f64, imaginary: f64) -> Number {
    let mut number = Number { text: text.into(), complex: Some((real, imaginary)), ..Number::default() };
    if imaginary == 0.0 {
        number.float = Some(real);
        number.int = whole(real);
        number.uint = if real >= 0.0 { number.int.map(|int| int as u64) } else { None };
    }
    number
}

fn whole(f: f64) -> Option<i64> {
    (f as i64 as f64 == f && f.abs() < 9.3e18).then_some(f as i64)
}

/// Any other number.
pub(super) fn number(text: &str) -> Result<Number, String> {
    if let Some(imaginary) = text.strip_suffix('i').and_then(parse_float) {
        return Ok(simplified(text, 0.0, imaginary));
    }
    let mut number = Number { text: text.into(), ..Number::default() };
    number.uint = parse_uint(text);
    number.int = parse_int(text, 0).ok();
    if number.int == Some(0) {
        number.uint = Some(0);
    }
    number.float = number.int.map(|int| int as f64).or_else(|| number.uint.map(|uint| uint as f64));
    if number.float.is_none()
        && let Some(float) = parse_float(text)
    {
        if !text.contains(['.', 'e', 'E', 'p', 'P']) {
            return Err(format!("integer overflow: {}", go_quote(text.as_bytes())));
        }
        number.float = Some(float);
        number.int = whole(float);
        number.uint = (float >= 0.0 && float as u64 as f64 == float).then_some(float as u64);
    }
    if number.float.is_none() {
        return Err(format!("illegal number syntax: {}", go_quote(text.as_bytes())));
    }
    Ok(number)
}

/// Why a text is no integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    Syntax,
    Range,
}

/// Digits with a base by their prefix (`base` 0) or a given one.
fn digits(text: &str, base: u32) -> Result<u64, Reason> {
    let lower = text.to_ascii_lowercase();
    let (radix, digits) = match base {
        0 => {
            if let Some(rest) = lower.strip_prefix("0x") {
                (16, rest)
            } else if let Some(rest) = lower.strip_prefix("0b") {
                (2, rest)
            } else if let Some(rest) = lower.strip_prefix("0o") {
                (8, rest)
            } else if lower.len() > 1 && lower.starts_with('0') {
                (8, &lower[1..])
            } else {
                (10, &*lower)
            }
        }
        base => (base, &*lower),
    };
    let underscores = digits.contains('_');
    if underscores && (base != 0 || !underscores_ok(&lower)) {
        return Err(Reason::Syntax);
    }
    let digits: String = digits.chars().filter(|c| *c != '_').collect();
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(Reason::Syntax);
    }
    u64::from_str_radix(&digits, radix).map_err(|_| Reason::Range)
}

/// Underscores only between digits or behind a prefix.
fn underscores_ok(text: &str) -> bool {
    let mut before = if text.starts_with('0') && text.len() > 1 { b'0' } else { b'^' };
    let prefixed =
        text.len() > 2 && text.starts_with('0') && matches!(text.as_bytes()[1], b'x' | b'b' | b'o');
    let rest = if prefixed { &text[2..] } else { text };
    if prefixed {
        before = b'0';
    } else {
        before = if before == b'0' { b'^' } else { before };
    }
    for byte in rest.bytes() {
        match byte {
            b'_' if before != b'0' => return false,
            b'_' => before = b'_',
            byte if byte.is_ascii_hexdigit() => before = b'0',
            _ if before == b'_' => return false,
            _ => before = b'!',
        }
    }
    before != b'_'
}

fn parse_uint(text: &str) -> Option<u64> {
    digits(text, 0).ok()
}

/// `strconv.ParseInt` of 64 bits.
pub(super) fn parse_int(text: &str, base: u32) -> Result<i64, Reason> {
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let value = digits(rest, base)?;
    match (negative, value) {
        (false, value) => i64::try_from(value).map_err(|_| Reason::Range),
        (true, value) if value <= 1 << 63 => Ok((value as i64).wrapping_neg()),
        (true, _) => Err(Reason::Range),
    }
}

/// `strconv.ParseFloat`, of what is neither infinite nor out of range.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let lower = text.to_ascii_lowercase();
    let unsigned = lower.trim_start_matches(['+', '-']);
    if lower.len() - unsigned.len() > 1 {
        return None;
    }
    match unsigned {
        "inf" | "infinity" => {
            return Some(if lower.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY });
        }
        "nan" => return Some(f64::NAN),
        _ => {}
    }
    if unsigned.starts_with("0x") {
        return hex_float(unsigned).map(|value| if lower.starts_with('-') { -value } else { value });
    }
    if !unsigned.bytes().next().is_some_and(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    if lower.contains('_') && !underscores_ok(unsigned) {
        return None;
    }
    lower.replace('_', "").parse::<f64>().ok().filter(|value| value.is_finite())
}

fn hex_float(text: &str) -> Option<f64> {
    let text = text.strip_prefix("0x")?;
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0f64;
    for c in whole.chars().filter(|c| *c != '_') {
        value = value * 16.0 + f64::from(c.to_digit(16)?);
    }
    let mut scale = 1.0 / 16.0;
    for c in fraction.chars().filter(|c| *c != '_') {
        value += f64::from(c.to_digit(16)?) * scale;
        scale /= 16.0;
    }
    let value = value * 2f64.powi(exponent);
    value.is_finite().then_some(value)
}
