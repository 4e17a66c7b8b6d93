//! Scalar resolution: what go-yaml makes of a scalar.
//!
//! Two libraries read the same manifests. The API machinery, kustomization
//! files and Flux's substitution go through sigs.k8s.io/yaml, which is go-yaml
//! v2; a kustomize build goes through kyaml, which is go-yaml v3. They disagree
//! on plain `yes`, on dates, on the tag `!` and on `!!bool yes`.
//!
//! Mirrors `resolve.go` (`resolve`, `parseTimestamp`) and `decode.go`
//! (`decoder.scalar`) of go.yaml.in/yaml v2 and v3, and `yaml.go`
//! (`convertToJSONableObject`) of sigs.k8s.io/yaml.

mod floats;
mod timestamp;

pub use floats::format_float;
pub(crate) use floats::format_float_yaml;
use floats::{format_float_key, go_special};
use std::borrow::Cow;
use timestamp::parse_timestamp;
pub use timestamp::timestamp_rfc3339;

use base64::Engine as _;

/// The library whose rules decide what a scalar is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// sigs.k8s.io/yaml: the API machinery, kustomization.yaml, text after substitution.
    GoYamlV2,
    /// kyaml: every object that goes through a kustomize build.
    GoYamlV3,
}

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScalarStyle {
    /// `a`
    Plain,
    /// `'a'`
    SingleQuoted,
    /// `"a"`
    DoubleQuoted,
    /// `|` block
    Literal,
    /// `>` block
    Folded,
}

/// A resolved scalar, borrowing from the source where it can.
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar<'a> {
    /// `~`, `null` or nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer within 64 bits, signed.
    Int(i64),
    /// An integer above `i64::MAX`; never one that fits `Int`.
    Uint(u64),
    /// A float; may be infinite or not a number.
    Float(f64),
    /// A date or time, as written; only in [`Dialect::GoYamlV3`].
    Timestamp(Cow<'a, str>),
    /// A string.
    Str(Cow<'a, str>),
}

impl<'a> Scalar<'a> {
    /// The text of a string; `None` for every other type, timestamps included.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Scalar::Str(s) => Some(s),
            _ => None,
        }
    }

    /// The type's name in messages: JSON's names, with `integer` and `timestamp` told apart.
    pub fn type_name(&self) -> &'static str {
        match self {
            Scalar::Null => "null",
            Scalar::Bool(_) => "boolean",
            Scalar::Int(_) | Scalar::Uint(_) => "integer",
            Scalar::Float(_) => "number",
            Scalar::Timestamp(_) => "timestamp",
            Scalar::Str(_) => "string",
        }
    }

    /// The same scalar without its borrow.
    pub fn into_owned(self) -> Scalar<'static> {
        match self {
            Scalar::Null => Scalar::Null,
            Scalar::Bool(b) => Scalar::Bool(b),
            Scalar::Int(i) => Scalar::Int(i),
            Scalar::Uint(u) => Scalar::Uint(u),
            Scalar::Float(f) => Scalar::Float(f),
            Scalar::Timestamp(s) => Scalar::Timestamp(Cow::Owned(s.into_owned())),
            Scalar::Str(s) => Scalar::Str(Cow::Owned(s.into_owned())),
        }
    }
}

/// Resolves a plain scalar that carries no tag.
///
/// Allocates only where the text holds underscores or a date; most scalars are
/// told to be strings by their first byte.
pub(crate) fn resolve_plain<'a>(text: Cow<'a, str>, dialect: Dialect) -> Scalar<'a> {
    match classify(&text, dialect, true) {
        Resolved::Str => Scalar::Str(text),
        Resolved::Timestamp => Scalar::Timestamp(text),
        Resolved::Value(value) => value,
    }
}

/// Resolves a scalar of any style that may carry a tag.
///
/// `tag` is the full text: `tag:yaml.org,2002:str`, `!`, `!foo`; go-yaml v3 also
/// takes the short form `!!str`. An error is what Go refuses, in its words.
pub(crate) fn resolve_tagged<'a>(
    text: Cow<'a, str>,
    style: ScalarStyle,
    tag: Option<&str>,
    dialect: Dialect,
) -> Result<Scalar<'a>, String> {
    let tag = match tag {
        Some("!") if dialect == Dialect::GoYamlV3 => None,
        tag => tag,
    };
    let Some(tag) = tag else {
        return Ok(match style {
            ScalarStyle::Plain => resolve_plain(text, dialect),
            _ => Scalar::Str(text),
        });
    };
    let Some(core) = core_tag(tag, dialect) else {
        return Ok(Scalar::Str(text));
    };
    match core {
        "binary" => decode_binary(&text).map(|s| Scalar::Str(Cow::Owned(s))),
        "bool" | "int" | "float" | "null" | "timestamp" => force(text, core, dialect),
        _ => Ok(Scalar::Str(text)),
    }
}

/// The JSON text of a scalar: what sigs.k8s.io/yaml and a kustomize build hand on.
///
/// An error for infinities, for what is not a number and for a timestamp whose
/// zone is 24 hours or more away: Go's JSON encoder refuses them.
pub(crate) fn json_value(scalar: &Scalar<'_>) -> Result<String, String> {
    match scalar {
        Scalar::Null => Ok("null".to_owned()),
        Scalar::Bool(b) => Ok(b.to_string()),
        Scalar::Int(i) => Ok(i.to_string()),
        Scalar::Uint(u) => Ok(u.to_string()),
        Scalar::Float(f) if f.is_finite() => Ok(format_float(*f)),
        Scalar::Float(f) => Err(format!("json: unsupported value: {}", go_special(*f))),
        Scalar::Timestamp(text) => timestamp_rfc3339(text)
            .map(|t| quote_json(&t))
            .ok_or_else(|| "timezone hour outside of range [0,23]".to_owned()),
        Scalar::Str(s) => Ok(quote_json(s)),
    }
}

/// The string that a scalar becomes as a key of a JSON object.
///
/// In v2 (`convertToJSONableObject`) floats are written with 32 bits, and null
/// and integers above `i64::MAX` are refused. In v3 only strings pass: Go's JSON
/// encoder takes no other map key. (The keys at the root of a built object are
/// decoded as text and escape that; the caller has the raw text for them.)
pub(crate) fn json_key<'s>(scalar: &'s Scalar<'_>, dialect: Dialect) -> Result<Cow<'s, str>, String> {
    let unsupported = || Err(format!("unsupported map key of type {}", scalar.type_name()));
    match (scalar, dialect) {
        (Scalar::Str(s), _) => Ok(Cow::Borrowed(s)),
        (_, Dialect::GoYamlV3) => unsupported(),
        (Scalar::Bool(b), _) => Ok(Cow::Borrowed(if *b { "true" } else { "false" })),
        (Scalar::Int(i), _) => Ok(Cow::Owned(i.to_string())),
        (Scalar::Float(f), _) => Ok(Cow::Owned(format_float_key(*f))),
        (Scalar::Null | Scalar::Uint(_) | Scalar::Timestamp(_), _) => unsupported(),
    }
}

/// A float after Go wrote it as JSON and read it again: an integer where it has no
/// fraction and fits.
pub(crate) fn after_json(value: f64) -> Scalar<'static> {
    let text = format_float(value);
    match (text.parse(), text.parse()) {
        (Ok(int), _) => Scalar::Int(int),
        (_, Ok(int)) => Scalar::Uint(int),
        _ => Scalar::Float(value),
    }
}

fn quote_json(s: &str) -> String {
    serde_json::Value::from(s).to_string()
}

/// What a scalar's text is, before the text is moved.
enum Resolved {
    Str,
    Timestamp,
    Value(Scalar<'static>),
}

/// Whether a scalar without a tag is a string by its first character and its length, in
/// both dialects and however it is quoted: true is certain, false is not.
pub(crate) fn reads_as_string(text: &str) -> bool {
    match text.as_bytes().first() {
        None | Some(b'.' | b'0'..=b'9' | b'+' | b'-') => false,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            text.len() > LONGEST_WORD
        }
        Some(_) => true,
    }
}

/// Bytes of the longest word that is no string: `false`.
const LONGEST_WORD: usize = 5;

/// go-yaml's `resolve` for everything but strings forced by a tag.
/// `timestamps`: the scalar is untagged or tagged as a timestamp.
fn classify(text: &str, dialect: Dialect, timestamps: bool) -> Resolved {
    let Some(first) = text.as_bytes().first() else {
        return Resolved::Value(Scalar::Null);
    };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text, dialect),
        b'.' => match text {
            ".inf" | ".Inf" | ".INF" => Resolved::Value(Scalar::Float(f64::INFINITY)),
            ".nan" | ".NaN" | ".NAN" => Resolved::Value(Scalar::Float(f64::NAN)),
            _ => dotted_float(text),
        },
        b'0'..=b'9' | b'+' | b'-' => {
            if timestamps && parse_timestamp(text).is_some() {
                return match dialect {
                    Dialect::GoYamlV2 => Resolved::Str,
                    Dialect::GoYamlV3 => Resolved::Timestamp,
                };
            }
            number(text, dialect)
        }
        _ => Resolved::Str,
    }
}

/// The words that mean something, in exactly these spellings.
fn word(text: &str, dialect: Dialect) -> Resolved {
    // Prose starts with these letters too.
    if text.len() > LONGEST_WORD {
        return Resolved::Str;
    }
    match text {
        "~" | "null" | "Null" | "NULL" => Resolved::Value(Scalar::Null),
        "true" | "True" | "TRUE" => Resolved::Value(Scalar::Bool(true)),
        "false" | "False" | "FALSE" => Resolved::Value(Scalar::Bool(false)),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" if dialect == Dialect::GoYamlV2 => {
            Resolved::Value(Scalar::Bool(true))
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" if dialect == Dialect::GoYamlV2 => {
            Resolved::Value(Scalar::Bool(false))
        }
        _ => Resolved::Str,
    }
}

/// A text that starts with a dot goes straight to Go's `ParseFloat`, which wants
/// each underscore between two digits.
fn dotted_float(text: &str) -> Resolved {
    let bytes = text.as_bytes();
    for (i, _) in text.match_indices('_') {
        let digit_at = |i: usize| bytes.get(i).is_some_and(u8::is_ascii_digit);
        if !digit_at(i.wrapping_sub(1)) || !digit_at(i + 1) {
            return Resolved::Str;
        }
    }
    float(&without_underscores(text))
}

/// A text that starts with a digit or a sign.
fn number(text: &str, dialect: Dialect) -> Resolved {
    match text {
        "+.inf" | "+.Inf" | "+.INF" => return Resolved::Value(Scalar::Float(f64::INFINITY)),
        "-.inf" | "-.Inf" | "-.INF" => return Resolved::Value(Scalar::Float(f64::NEG_INFINITY)),
        _ => {}
    }
    let plain = without_underscores(text);
    if let Some(value) = integer(&plain) {
        return Resolved::Value(value);
    }
    if let found @ Resolved::Value(_) = float(&plain) {
        return found;
    }
    // A second chance for what ParseInt refused. After the prefix Go takes a sign
    // of its own, so that `0b-1` is -1.
    let (binary, octal) = (plain.strip_prefix("0b"), plain.strip_prefix("0o"));
    match (binary, octal, dialect) {
        (Some(digits), _, _) => signed(digits, 2),
        (_, Some(digits), Dialect::GoYamlV3) => signed(digits, 8),
        _ => None,
    }
    .map_or(Resolved::Str, Resolved::Value)
}

fn without_underscores(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'_', text.as_bytes()).is_some() {
        Cow::Owned(text.replace('_', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Go's `ParseInt(s, 0, 64)`, then `ParseUint(s, 0, 64)`, which knows no sign.
fn integer(s: &str) -> Option<Scalar<'static>> {
    let (negative, rest) = split_sign(s);
    let (digits, radix) = match rest.as_bytes() {
        [b'0', b'b' | b'B', _, ..] => (&rest[2..], 2),
        [b'0', b'o' | b'O', _, ..] => (&rest[2..], 8),
        [b'0', b'x' | b'X', _, ..] => (&rest[2..], 16),
        [b'0', _, ..] => (&rest[1..], 8),
        _ => (rest, 10),
    };
    let magnitude = magnitude(digits, radix)?;
    signed_magnitude(magnitude, negative, rest.len() < s.len())
}

/// Go's `ParseInt(s, radix, 64)`, then `ParseUint(s, radix, 64)`.
fn signed(s: &str, radix: u32) -> Option<Scalar<'static>> {
    let (negative, digits) = split_sign(s);
    let magnitude = magnitude(digits, radix)?;
    signed_magnitude(magnitude, negative, digits.len() < s.len())
}

fn split_sign(s: &str) -> (bool, &str) {
    match s.as_bytes().first() {
        Some(b'-') => (true, &s[1..]),
        Some(b'+') => (false, &s[1..]),
        _ => (false, s),
    }
}

fn magnitude(digits: &str, radix: u32) -> Option<u64> {
    // from_str_radix takes a plus sign; after a sign and a prefix Go doesn't.
    if digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(digits, radix).ok()
}

fn signed_magnitude(magnitude: u64, negative: bool, has_sign: bool) -> Option<Scalar<'static>> {
    if negative {
        return 0i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    match i64::try_from(magnitude) {
        Ok(i) => Some(Scalar::Int(i)),
        Err(_) if has_sign => None,
        Err(_) => Some(Scalar::Uint(magnitude)),
    }
}

/// `^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`, and within range.
fn float(s: &str) -> Resolved {
    let (_, rest) = split_sign(s);
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let shaped = all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|e| {
            let (_, digits) = split_sign(e);
            !digits.is_empty() && all_digits(digits)
        });
    if !shaped {
        return Resolved::Str;
    }
    match s.parse::<f64>() {
        Ok(f) if f.is_finite() => Resolved::Value(Scalar::Float(f)),
        _ => Resolved::Str,
    }
}

/// The short name of a tag that go-yaml knows: `str`, `int`, …
fn core_tag(tag: &str, dialect: Dialect) -> Option<&str> {
    let long = tag.strip_prefix("tag:yaml.org,2002:");
    match dialect {
        Dialect::GoYamlV2 => long,
        Dialect::GoYamlV3 => long.or_else(|| tag.strip_prefix("!!")),
    }
}

/// Resolves a text whose tag wants a type; every style alike.
fn force<'a>(text: Cow<'a, str>, wanted: &str, dialect: Dialect) -> Result<Scalar<'a>, String> {
    let is_time = wanted == "timestamp" && parse_timestamp(&text).is_some();
    let resolved = classify(&text, dialect, wanted == "timestamp");
    let (found, value) = match resolved {
        Resolved::Str if is_time => return Ok(Scalar::Str(text)),
        Resolved::Str => ("str", None),
        Resolved::Timestamp => return Ok(Scalar::Timestamp(text)),
        Resolved::Value(Scalar::Null) => ("null", Some(Scalar::Null)),
        Resolved::Value(value @ Scalar::Bool(_)) => ("bool", Some(value)),
        Resolved::Value(value @ Scalar::Float(_)) => ("float", Some(value)),
        Resolved::Value(Scalar::Int(i)) if wanted == "float" => {
            return Ok(Scalar::Float(i as f64));
        }
        Resolved::Value(value) => ("int", Some(value)),
    };
    match value {
        Some(value) if found == wanted => Ok(value),
        _ => Err(format!("cannot decode !!{found} `{text}` as a !!{wanted}")),
    }
}

/// `!!binary`: Go's decoder skips line breaks and does not mind stray trailing
/// bits; bytes that are no UTF-8 become U+FFFD one by one when JSON is written.
fn decode_binary(text: &str) -> Result<String, String> {
    use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
    let engine = GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    let joined = text.replace(['\r', '\n'], "");
    let bytes =
        engine.decode(joined).map_err(|_| "!!binary value contains invalid base64 data".to_owned())?;
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        out.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
