//! Go's `time.ParseDuration` and the duration grammars of Flux's CRDs.
//!
//! A duration field of a Flux object passes two checks: the CRD's pattern, when
//! the object is applied ([`matches_interval_pattern`],
//! [`matches_timeout_pattern`]), and `metav1.Duration`, which is
//! `time.ParseDuration`, when a controller reads it ([`GoDuration::parse`]).
//! Both have strings that only the other accepts (`.5m`, `9999999999h`).

use std::fmt;

/// Nanoseconds and their names, smallest unit first. `µ` is U+00B5, `μ` U+03BC.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Magnitude of the smallest `i64`: the largest that a negative duration has.
const LIMIT: u64 = 1 << 63;

/// A span of time as Go's `time.Duration` holds it: signed nanoseconds, about
/// 292 years either way. Displays as Go's `Duration.String` does: `1h0m0s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GoDuration(i64);

impl GoDuration {
    /// No time at all, `0s`.
    pub const ZERO: GoDuration = GoDuration(0);

    /// A duration of so many nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        GoDuration(nanoseconds)
    }

    /// A duration of so many whole seconds, held at the limits of the type.
    pub const fn from_seconds(seconds: i64) -> Self {
        GoDuration(seconds.saturating_mul(1_000_000_000))
    }

    /// Parses a duration as Go does: an optional sign, then one or more decimal
    /// numbers, each with a unit (`ns`, `us`, `µs`, `ms`, `s`, `m`, `h`).
    ///
    /// Mirrors Go's `time.ParseDuration`, with its rounding of fractions and
    /// its limits. The error carries Go's text.
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        let (negative, mut rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if rest == "0" {
            return Ok(GoDuration::ZERO);
        }
        if rest.is_empty() {
            return Err(DurationError::malformed(text));
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (nanoseconds, after) = parse_term(text, rest)?;
            rest = after;
            total = total
                .checked_add(nanoseconds)
                .filter(|&sum| sum <= LIMIT)
                .ok_or_else(|| DurationError::malformed(text))?;
        }
        if negative {
            Ok(GoDuration(0i64.wrapping_sub_unsigned(total)))
        } else {
            i64::try_from(total).map(GoDuration).map_err(|_| DurationError::malformed(text))
        }
    }

    /// The duration in nanoseconds.
    pub const fn nanoseconds(self) -> i64 {
        self.0
    }
}

/// Reads one number with its unit from the front of `rest`; `text` is the whole
/// input, for the error. Returns the term's nanoseconds and what follows it.
fn parse_term<'t>(text: &str, rest: &'t str) -> Result<(u64, &'t str), DurationError> {
    let malformed = || DurationError::malformed(text);
    let (digits, rest) = split_digits(rest);
    let whole = digits
        .bytes()
        .try_fold(0u64, |value, digit| {
            value.checked_mul(10)?.checked_add(u64::from(digit - b'0')).filter(|&value| value <= LIMIT)
        })
        .ok_or_else(malformed)?;
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(after) => split_digits(after),
        None => ("", rest),
    };
    if digits.is_empty() && fraction.is_empty() {
        return Err(malformed());
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    if name.is_empty() {
        return Err(DurationError { message: format!("time: missing unit in duration {}", quote(text)) });
    }
    let Some(&(_, unit)) = UNITS.iter().find(|(known, _)| *known == name) else {
        return Err(DurationError {
            message: format!("time: unknown unit {} in duration {}", quote(name), quote(text)),
        });
    };
    let nanoseconds = whole
        .checked_mul(unit)
        .and_then(|value| value.checked_add(fraction_of(fraction, unit)))
        .filter(|&value| value <= LIMIT)
        .ok_or_else(malformed)?;
    Ok((nanoseconds, rest))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// The nanoseconds of `0.digits` of a unit. Go reads as many digits as fit into
/// 63 bits and multiplies in floating point, so the last nanosecond may round up.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let mut value: u64 = 0;
    let mut scale: f64 = 1.0;
    for digit in digits.bytes() {
        if value > (LIMIT - 1) / 10 {
            break;
        }
        let next = value * 10 + u64::from(digit - b'0');
        if next > LIMIT {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

impl fmt::Display for GoDuration {
    /// Mirrors Go's `Duration.String`: hours, minutes and seconds with the
    /// leading zero units left out; below a second one unit of `ms`, `µs`, `ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let (unit, name) = match total {
            0 => return f.write_str("0s"),
            1..1_000 => (1, "ns"),
            1_000..1_000_000 => (1_000, "µs"),
            1_000_000..1_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        };
        let (mut whole, part) = (total / unit, total % unit);
        if name == "s" {
            let minutes = whole / 60;
            whole %= 60;
            if minutes >= 60 {
                write!(f, "{}h", minutes / 60)?;
            }
            if minutes > 0 {
                write!(f, "{}m", minutes % 60)?;
            }
        }
        write!(f, "{whole}")?;
        if part > 0 {
            let width = unit.ilog10() as usize;
            let digits = format!("{part:0width$}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        f.write_str(name)
    }
}

/// Why Go refuses a duration; displays as Go's own error text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DurationError {
    message: String,
}

impl DurationError {
    fn malformed(text: &str) -> Self {
        DurationError { message: format!("time: invalid duration {}", quote(text)) }
    }
}

/// Go's own quoting inside package `time`: control and non-ASCII bytes as `\xNN`.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                quoted.push('\\');
                quoted.push(char::from(byte));
            }
            b' '..=b'~' | 0x7f => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\x{byte:02x}")),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a string matches the CRD pattern of intervals and of most durations
/// in Flux: `^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`.
pub fn matches_interval_pattern(text: &str) -> bool {
    matches_terms(text, &["ms", "s", "m", "h"])
}

/// Whether a string matches the CRD pattern of `timeout` in sources,
/// ImageRepository and Provider, which has no hours:
/// `^([0-9]+(\.[0-9]+)?(ms|s|m))+$`.
pub fn matches_timeout_pattern(text: &str) -> bool {
    matches_terms(text, &["ms", "s", "m"])
}

/// `units` longest first: after `m` a term starts with a digit, so trying `ms`
/// before `m` needs no backtracking.
fn matches_terms(text: &str, units: &[&str]) -> bool {
    let mut rest = text;
    loop {
        let (whole, after) = split_digits(rest);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(digits) => split_digits(digits),
            None => ("0", after),
        };
        let Some(after) = units.iter().find_map(|unit| after.strip_prefix(unit)) else {
            return false;
        };
        if whole.is_empty() || fraction.is_empty() {
            return false;
        }
        if after.is_empty() {
            return true;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_as_go_does() {
        for (text, nanoseconds, printed) in [
            ("0", 0, "0s"),
            ("1h", 3_600_000_000_000, "1h0m0s"),
            ("-1.5h", -5_400_000_000_000, "-1h30m0s"),
            ("1m.5s", 60_500_000_000, "1m0.5s"),
            ("1h1h", 7_200_000_000_000, "2h0m0s"),
            ("0.99999999999999999999s", 1_000_000_000, "1s"),
            ("1500µs", 1_500_000, "1.5ms"),
            ("1500us", 1_500_000, "1.5ms"),
            ("9223372036854775807ns", i64::MAX, "2562047h47m16.854775807s"),
            ("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            let duration = GoDuration::parse(text).unwrap();
            assert_eq!(duration.nanoseconds(), nanoseconds, "{text}");
            assert_eq!(duration.to_string(), printed, "{text}");
        }
    }

    #[test]
    fn refuses_with_gos_words() {
        for (text, error) in [
            ("", r#"time: invalid duration """#),
            ("5", r#"time: missing unit in duration "5""#),
            ("1d", r#"time: unknown unit "d" in duration "1d""#),
            (".s", r#"time: invalid duration ".s""#),
            ("9223372036854775808ns", r#"time: invalid duration "9223372036854775808ns""#),
            ("1h\t", r#"time: unknown unit "h\x09" in duration "1h\x09""#),
        ] {
            assert_eq!(GoDuration::parse(text).unwrap_err().to_string(), error);
        }
    }

    #[test]
    fn patterns_and_parser_differ() {
        for (text, interval, timeout) in [
            ("1h30m", true, false),
            ("1m30s", true, true),
            ("1.5m500ms", true, true),
            (".5m", false, false),
            ("5.m", false, false),
            ("1us", false, false),
            ("-1m", false, false),
            ("0", false, false),
            ("", false, false),
            ("1m\n", false, false),
            ("9999999999h", true, false),
        ] {
            assert_eq!(matches_interval_pattern(text), interval, "{text}");
            assert_eq!(matches_timeout_pattern(text), timeout, "{text}");
        }
    }
}
