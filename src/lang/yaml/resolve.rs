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

use std::borrow::Cow;

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

/// A timestamp of [`Dialect::GoYamlV3`] as a kustomize build prints it; `None`
/// where the text is none, or where Go refuses to print its zone.
pub fn timestamp_rfc3339(text: &str) -> Option<String> {
    let t = parse_timestamp(text)?;
    let mut out =
        format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", t.year, t.month, t.day, t.hour, t.minute, t.second);
    if t.nanosecond != 0 {
        let fraction = format!("{:09}", t.nanosecond);
        out.push('.');
        out.push_str(fraction.trim_end_matches('0'));
    }
    if t.offset_minutes == 0 {
        out.push('Z');
        return Some(out);
    }
    let (hours, minutes) = (t.offset_minutes.abs() / 60, t.offset_minutes.abs() % 60);
    if hours > 23 {
        return None;
    }
    let sign = if t.offset_minutes < 0 { '-' } else { '+' };
    out.push_str(&format!("{sign}{hours:02}:{minutes:02}"));
    Some(out)
}

/// A finite float as Go's encoding/json writes it: shortest digits, an exponent
/// below 1e-6 and from 1e21 on.
pub fn format_float(f: f64) -> String {
    let abs = f.abs();
    if abs != 0.0 && !(1e-6..1e21).contains(&abs) {
        with_exponent_sign(format!("{f:e}"), 1)
    } else {
        format!("{f}")
    }
}

/// A float as go-yaml's emitters write it: `strconv.FormatFloat(f, 'g', -1, 64)`,
/// with YAML's words for infinities and not-a-number.
pub(crate) fn format_float_yaml(f: f64) -> String {
    if !f.is_finite() {
        return yaml_special(f).to_owned();
    }
    shortest_g(format!("{f:e}"), || f.to_string())
}

/// As [`format_float_yaml`] with the digits of 32 bits.
fn format_float_key(f: f64) -> String {
    let f = f as f32;
    if !f.is_finite() {
        return yaml_special(f64::from(f)).to_owned();
    }
    shortest_g(format!("{f:e}"), || f.to_string())
}

/// Go's format `g` at shortest precision: an exponent below -4 and from 6 on,
/// written with at least two digits.
fn shortest_g(scientific: String, plain: impl FnOnce() -> String) -> String {
    let exponent: i32 =
        scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    if (-4..6).contains(&exponent) { plain() } else { with_exponent_sign(scientific, 2) }
}

fn with_exponent_sign(scientific: String, least_digits: usize) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>least_digits$}")
}

fn yaml_special(f: f64) -> &'static str {
    if f.is_nan() {
        ".nan"
    } else if f > 0.0 {
        ".inf"
    } else {
        "-.inf"
    }
}

fn go_special(f: f64) -> &'static str {
    if f.is_nan() {
        "NaN"
    } else if f > 0.0 {
        "+Inf"
    } else {
        "-Inf"
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

/// A point in time as written: no arithmetic is done on it.
struct Timestamp {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    offset_minutes: i32,
}

/// go-yaml's `parseTimestamp`: Go's `time.Parse` with the layouts
/// `2006-1-2T15:4:5.999999999Z07:00` (also with `t`), `2006-1-2 15:4:5.999999999`
/// and `2006-1-2`.
fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    if bytes.len() < 8 || bytes[4] != b'-' || !bytes[..4].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let mut rest = Reader(bytes);
    let mut t = Timestamp {
        year: rest.digits(4)?,
        month: 0,
        day: 0,
        hour: 0,
        minute: 0,
        second: 0,
        nanosecond: 0,
        offset_minutes: 0,
    };
    rest.literal(b'-')?;
    t.month = rest.one_or_two_digits(1, 12)?;
    rest.literal(b'-')?;
    t.day = rest.one_or_two_digits(1, days_in(t.year, t.month))?;
    let zoned = match rest.0.first() {
        None => return Some(t),
        Some(b'T' | b't') => {
            rest.0 = &rest.0[1..];
            true
        }
        Some(b' ') => {
            // A blank in a layout stands for any number of them.
            while let [b' ', tail @ ..] = rest.0 {
                rest.0 = tail;
            }
            false
        }
        Some(_) => return None,
    };
    t.hour = rest.one_or_two_digits(0, 23)?;
    rest.literal(b':')?;
    t.minute = rest.one_or_two_digits(0, 59)?;
    rest.literal(b':')?;
    t.second = rest.one_or_two_digits(0, 59)?;
    t.nanosecond = rest.fraction();
    if zoned {
        t.offset_minutes = rest.zone()?;
    }
    rest.0.is_empty().then_some(t)
}

fn days_in(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The steps of Go's `time.Parse` that the layouts need.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn literal(&mut self, byte: u8) -> Option<()> {
        self.0 = self.0.strip_prefix(&[byte])?;
        Some(())
    }

    fn digits(&mut self, count: usize) -> Option<u32> {
        let (head, tail) = self.0.split_at_checked(count)?;
        if !head.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = tail;
        Some(head.iter().fold(0, |n, d| n * 10 + u32::from(d - b'0')))
    }

    fn one_or_two_digits(&mut self, min: u32, max: u32) -> Option<u32> {
        let n = self.digits(2).or_else(|| self.digits(1))?;
        (min..=max).contains(&n).then_some(n)
    }

    /// Nanoseconds after `.` or `,`; digits beyond the ninth are dropped.
    fn fraction(&mut self) -> u32 {
        let [b'.' | b',', digits @ ..] = self.0 else {
            return 0;
        };
        let count = digits.iter().take_while(|d| d.is_ascii_digit()).count();
        if count == 0 {
            return 0;
        }
        self.0 = &digits[count..];
        let digit = |i: usize| digits[..count].get(i).map_or(0, |d| u32::from(d - b'0'));
        (0..9).fold(0, |n, i| n * 10 + digit(i))
    }

    /// `Z` or `+hh:mm`, in minutes. Go lets 24 hours and 60 minutes pass.
    fn zone(&mut self) -> Option<i32> {
        let sign = match self.0.first()? {
            b'Z' => {
                self.0 = &self.0[1..];
                return Some(0);
            }
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        self.0 = &self.0[1..];
        let hours = self.digits(2).filter(|h| *h <= 24)?;
        self.literal(b':')?;
        let minutes = self.digits(2).filter(|m| *m <= 60)?;
        Some(sign * (hours * 60 + minutes) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Dialect::{GoYamlV2, GoYamlV3};

    fn plain(text: &str, dialect: Dialect) -> String {
        let scalar = resolve_plain(Cow::Borrowed(text), dialect);
        let value = json_value(&scalar).unwrap_or_else(|e| e);
        format!("{} {value}", scalar.type_name())
    }

    #[test]
    fn plain_scalars_alike_in_both_dialects() {
        let table = [
            ("", "null null"),
            ("~", "null null"),
            ("NULL", "null null"),
            ("nULL", "string \"nULL\""),
            ("True", "boolean true"),
            ("tRUE", "string \"tRUE\""),
            ("0", "integer 0"),
            ("-0", "integer 0"),
            ("+4", "integer 4"),
            ("1_000", "integer 1000"),
            ("_1", "string \"_1\""),
            ("017", "integer 15"),
            ("0o17", "integer 15"),
            ("0o-7x", "string \"0o-7x\""),
            ("0x1F", "integer 31"),
            ("0b-1", "integer -1"),
            ("0x", "string \"0x\""),
            ("08", "number 8"),
            ("-", "string \"-\""),
            ("9223372036854775808", "integer 9223372036854775808"),
            ("+9223372036854775808", "number 9223372036854776000"),
            ("-9223372036854775808", "integer -9223372036854775808"),
            ("0x10000000000000000", "string \"0x10000000000000000\""),
            ("1.10", "number 1.1"),
            ("5.", "number 5"),
            (".5", "number 0.5"),
            (".5_0", "number 0.5"),
            ("._5", "string \"._5\""),
            (".", "string \".\""),
            ("1e3", "number 1000"),
            ("12345e6", "number 12345000000"),
            ("1e21", "number 1e+21"),
            ("1.0e-7", "number 1e-7"),
            ("1e400", "string \"1e400\""),
            ("-.inf", "number json: unsupported value: -Inf"),
            (".nan", "number json: unsupported value: NaN"),
            ("1:30", "string \"1:30\""),
            ("1.2.3", "string \"1.2.3\""),
            ("<<", "string \"<<\""),
            ("v1", "string \"v1\""),
        ];
        for (text, expected) in table {
            assert_eq!(plain(text, GoYamlV2), expected, "v2 {text}");
            assert_eq!(plain(text, GoYamlV3), expected, "v3 {text}");
        }
    }

    #[test]
    fn plain_scalars_that_the_dialects_read_differently() {
        let table = [
            ("yes", "boolean true", "string \"yes\""),
            ("off", "boolean false", "string \"off\""),
            ("y", "boolean true", "string \"y\""),
            ("2024-1-1", "string \"2024-1-1\"", "timestamp \"2024-01-01T00:00:00Z\""),
            ("0o-7", "string \"0o-7\"", "integer -7"),
        ];
        for (text, v2, v3) in table {
            assert_eq!(plain(text, GoYamlV2), v2, "v2 {text}");
            assert_eq!(plain(text, GoYamlV3), v3, "v3 {text}");
        }
    }

    #[test]
    fn timestamps_are_printed_in_rfc3339() {
        let table = [
            ("2024-02-29", Some("2024-02-29T00:00:00Z")),
            ("2023-02-29", None),
            ("2024-01-01 1:02:03.50", Some("2024-01-01T01:02:03.5Z")),
            ("2024-01-01T10:00:00", None),
            ("2024-01-01t1:0:0,5+02:30", Some("2024-01-01T01:00:00.5+02:30")),
            ("2024-01-01T10:00:00-00:00", Some("2024-01-01T10:00:00Z")),
            ("2024-01-01T10:00:00+24:00", None),
            ("2024-01-01 10:00:00Z", None),
            ("2024-01-01T10:00:00.1234567899Z", Some("2024-01-01T10:00:00.123456789Z")),
            ("24-01-01", None),
        ];
        for (text, expected) in table {
            assert_eq!(timestamp_rfc3339(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn tags_force_or_keep() {
        let tagged = |text: &'static str, style, tag, dialect| match resolve_tagged(
            Cow::Borrowed(text),
            style,
            tag,
            dialect,
        ) {
            Ok(scalar) => format!("{} {}", scalar.type_name(), json_value(&scalar).unwrap()),
            Err(error) => error,
        };
        use ScalarStyle::{DoubleQuoted, Plain};
        let long = |name: &str| format!("tag:yaml.org,2002:{name}");
        let table = [
            ("1", Plain, long("str"), "string \"1\"", "string \"1\""),
            ("1", DoubleQuoted, long("int"), "integer 1", "integer 1"),
            ("1", Plain, long("float"), "number 1", "number 1"),
            ("1", Plain, "!".to_owned(), "string \"1\"", "integer 1"),
            ("1", DoubleQuoted, "!".to_owned(), "string \"1\"", "string \"1\""),
            ("1", Plain, "!foo".to_owned(), "string \"1\"", "string \"1\""),
            ("aGk=", Plain, long("binary"), "string \"hi\"", "string \"hi\""),
            ("", Plain, long("null"), "null null", "null null"),
            ("yes", Plain, long("bool"), "boolean true", "cannot decode !!str `yes` as a !!bool"),
            (
                "2024-01-01",
                DoubleQuoted,
                long("timestamp"),
                "string \"2024-01-01\"",
                "timestamp \"2024-01-01T00:00:00Z\"",
            ),
            (
                "08",
                Plain,
                long("int"),
                "cannot decode !!float `08` as a !!int",
                "cannot decode !!float `08` as a !!int",
            ),
        ];
        for (text, style, tag, v2, v3) in &table {
            assert_eq!(tagged(text, *style, Some(tag), GoYamlV2), *v2, "v2 {tag} {text}");
            assert_eq!(tagged(text, *style, Some(tag), GoYamlV3), *v3, "v3 {tag} {text}");
        }
        assert_eq!(tagged("yes", Plain, None, GoYamlV2), "boolean true");
        assert_eq!(tagged("yes", DoubleQuoted, None, GoYamlV2), "string \"yes\"");
        assert!(resolve_tagged("???".into(), Plain, Some(&long("binary")), GoYamlV2).is_err(), "not base64");
    }

    #[test]
    fn keys_become_strings_in_v2_only() {
        let key = |text: &str, dialect| {
            let scalar = resolve_plain(Cow::Borrowed(text), dialect);
            json_key(&scalar, dialect).map(Cow::into_owned).ok()
        };
        let table = [
            ("on", Some("true")),
            ("010", Some("8")),
            ("1.0", Some("1")),
            ("0123456789", Some("1.2345679e+08")),
            ("12E5", Some("1.2e+06")),
            ("5e5", Some("500000")),
            ("1.0e-7", Some("1e-07")),
            ("123e45", Some(".inf")),
            ("-.inf", Some("-.inf")),
            ("~", None),
            ("9223372036854775808", None),
            ("2024-01-01", Some("2024-01-01")),
        ];
        for (text, expected) in table {
            assert_eq!(key(text, GoYamlV2).as_deref(), expected, "{text}");
        }
        assert_eq!(key("on", GoYamlV3).as_deref(), Some("on"));
        assert_eq!(key("true", GoYamlV3), None);
        assert_eq!(key("2024-01-01", GoYamlV3), None);
    }

    #[test]
    fn floats_in_yaml_and_json() {
        assert_eq!(format_float(-0.0), "-0");
        assert_eq!(format_float(0.00001), "0.00001");
        assert_eq!(format_float(1.5e300), "1.5e+300");
        assert_eq!(format_float_yaml(1e6), "1e+06");
        assert_eq!(format_float_yaml(100000.0), "100000");
        assert_eq!(format_float_yaml(0.0001), "0.0001");
        assert_eq!(format_float_yaml(0.00001), "1e-05");
        assert_eq!(format_float_yaml(f64::NAN), ".nan");
    }

    #[test]
    fn strings_stay_borrowed() {
        for text in ["nginx", "yesterday", "1.2.3", "-x", ".x"] {
            let scalar = resolve_plain(Cow::Borrowed(text), GoYamlV3);
            assert!(matches!(scalar, Scalar::Str(Cow::Borrowed(_))), "{text}");
        }
    }
}
