//! Values as numbers, as `spf13/cast` reads them.

use crate::lang::template::number::{parse_float, parse_int};
use crate::lang::template::value::{Kind, Val};

/// Go's conversion of a float that no integer can hold.
pub(super) fn truncated(value: f64) -> i64 {
    if value.is_nan() || value >= 9_223_372_036_854_775_807.0 || value <= -9_223_372_036_854_775_808.0 {
        return i64::MIN;
    }
    value as i64
}

/// A text without the `.000` behind it.
fn without_zero_decimals(text: &str) -> &str {
    match text.rsplit_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        _ => text,
    }
}

pub(super) fn to_int64(val: &Val) -> i64 {
    match &val.kind {
        Kind::Bool(value) => i64::from(*value),
        Kind::Int(value, _) => *value,
        Kind::Float(value) => truncated(*value),
        Kind::Str(text) => parse_int(without_zero_decimals(&text.str()), 0).unwrap_or(0),
        _ => 0,
    }
}

pub(super) fn to_float64(val: &Val) -> f64 {
    match &val.kind {
        Kind::Bool(value) => f64::from(u8::from(*value)),
        Kind::Int(value, ty) if ty.is_unsigned() => *value as u64 as f64,
        Kind::Int(value, _) => *value as f64,
        Kind::Float(value) => *value,
        Kind::Str(text) => parse_float(&text.str()).unwrap_or(0.0),
        _ => 0.0,
    }
}
