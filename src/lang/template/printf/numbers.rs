//! Numbers and bytes as Go's `fmt` writes them.

use super::{Spec, WIDTH_LIMIT};
use crate::lang::template::print::float_v;

/// A number with its sign, its prefix, and zeros up to precision or width.
pub(super) fn signed(negative: bool, digits: &str, prefix: &str, spec: &Spec) -> String {
    let sign = match (negative, spec.plus, spec.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    let least = match (spec.precision, spec.zero, spec.width) {
        (Some(precision), ..) => precision,
        (None, true, Some(width)) if !spec.minus => width.saturating_sub(sign.len()),
        _ => 0,
    };
    if spec.precision == Some(0) && digits == "0" {
        return String::new();
    }
    let zeros = "0".repeat(least.saturating_sub(digits.len()).min(WIDTH_LIMIT as usize));
    let prefix = if prefix == "0" && (digits.starts_with('0') || !zeros.is_empty()) { "" } else { prefix };
    format!("{sign}{prefix}{zeros}{digits}")
}

pub(super) fn hex(bytes: &[u8], is_upper: bool, spec: &Spec) -> String {
    let bytes = &bytes[..spec.precision.unwrap_or(bytes.len()).min(bytes.len())];
    let prefix = match (spec.sharp, is_upper) {
        (false, _) => "",
        (true, false) => "0x",
        (true, true) => "0X",
    };
    let mut out = String::with_capacity(bytes.len() * 2);
    if !bytes.is_empty() {
        out.push_str(prefix);
    }
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 && spec.space {
            out.push(' ');
            out.push_str(prefix);
        }
        out.push_str(&if is_upper { format!("{byte:02X}") } else { format!("{byte:02x}") });
    }
    out
}

/// `%x` of a float: all its bits.
pub(super) fn hex_float(value: f64) -> String {
    if let Some(special) = special(value) {
        return special;
    }
    let bits = value.to_bits();
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if value == 0.0 {
        return format!("{sign}0x0p+00");
    }
    let (mut exponent, mut fraction) = ((bits >> 52 & 0x7ff) as i32 - 1023, bits << 12 >> 12);
    if exponent == -1023 {
        // Not normal: shifted until it is.
        let shift = fraction.leading_zeros() - 11;
        fraction = fraction << shift & ((1 << 52) - 1);
        exponent = -1022 - shift as i32;
    }
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}0x1{point}{digits}p{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// `%b` of a float: its mantissa as a whole number, and the power of two.
pub(super) fn binary_exponent(value: f64) -> String {
    if let Some(special) = special(value) {
        return special;
    }
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits << 12 >> 12);
    let (exponent, mantissa) = if exponent == 0 { (1, fraction) } else { (exponent, fraction | 1 << 52) };
    let exponent = exponent - 1075;
    let sign = if value.is_sign_negative() { "-" } else { "" };
    format!("{sign}{mantissa}p{}{}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

pub(super) fn special(value: f64) -> Option<String> {
    (!value.is_finite()).then(|| float_v(value))
}

pub(super) fn scientific(value: f64, precision: usize) -> String {
    if let Some(special) = special(value) {
        return special;
    }
    let (mantissa, exponent) = mantissa_and_exponent(value, precision);
    format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

/// Digits behind the point that a float can have: whatever comes after them is 0. Rust
/// formats no more than 65,535.
const DIGITS: usize = 1_100;

fn mantissa_and_exponent(value: f64, precision: usize) -> (String, i32) {
    let shown = format!("{value:.*e}", precision.min(DIGITS));
    let (mantissa, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let zeros = "0".repeat(precision.saturating_sub(DIGITS));
    (format!("{mantissa}{zeros}"), exponent.parse().unwrap_or(0))
}

pub(super) fn fixed(value: f64, precision: usize) -> String {
    special(value).unwrap_or_else(|| {
        let zeros = "0".repeat(precision.saturating_sub(DIGITS));
        format!("{value:.*}{zeros}", precision.min(DIGITS))
    })
}

/// `%g` with a precision.
pub(super) fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    if let Some(special) = special(value) {
        return special;
    }
    let precision = precision.max(1);
    let (mantissa, exponent) = mantissa_and_exponent(value, precision - 1);
    let mantissa = mantissa.as_str();
    let digits = mantissa.trim_start_matches('-').chars().filter(char::is_ascii_digit).collect::<String>();
    let significant = digits.trim_end_matches('0').len().max(1) as i32;
    // Go counts the digits that are there.
    let limit =
        if precision as i32 > significant && significant > exponent { significant } else { precision as i32 };
    if exponent < -4 || exponent >= limit.max(1) {
        let mantissa = if keep_zeros || !mantissa.contains('.') {
            mantissa
        } else {
            mantissa.trim_end_matches('0').trim_end_matches('.')
        };
        return format!("{mantissa}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs());
    }
    let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
    let shown = fixed(value, decimals);
    if keep_zeros || !shown.contains('.') {
        return shown;
    }
    shown.trim_end_matches('0').trim_end_matches('.').to_owned()
}
