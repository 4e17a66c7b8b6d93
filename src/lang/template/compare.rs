//! `eq`, `lt` and their like, by kind as Go's `text/template/funcs.go`, and
//! `reflect.DeepEqual`.

use super::error::{Result, fail};
use super::value::{Kind, Val};
use std::cmp::Ordering;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    Bool,
    Int,
    Uint,
    Float,
    Complex,
    Str,
}

fn basic(val: &Val) -> Option<Basic> {
    Some(match &val.kind {
        Kind::Bool(_) => Basic::Bool,
        Kind::Int(_, ty) if ty.is_unsigned() => Basic::Uint,
        Kind::Int(..) => Basic::Int,
        Kind::Float(_) => Basic::Float,
        Kind::Complex(..) => Basic::Complex,
        Kind::Str(_) => Basic::Str,
        _ => return None,
    })
}

fn incompatible<T>(a: &Val, b: &Val) -> Result<T> {
    let name = |val: &Val| if val.is_nil() { "nil".into() } else { val.type_name() };
    fail(format!("incompatible types for comparison: {} and {}", name(a), name(b)))
}

fn is_comparable(val: &Val) -> bool {
    !matches!(val.kind, Kind::List(_) | Kind::Map(_) | Kind::Bytes(_))
}

fn non_comparable<T>(val: &Val) -> Result<T> {
    let shown = super::printf::shown_as_text(val);
    fail(format!("non-comparable type {shown}: {}", val.type_name()))
}

/// `eq`: whether the first equals any of the others.
pub(super) fn eq(args: &[Val]) -> Result<bool> {
    let Some((first, others)) = args.split_first() else {
        return Ok(false);
    };
    if others.is_empty() {
        return fail("missing argument for comparison");
    }
    for other in others {
        if eq_one(first, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn eq_one(a: &Val, b: &Val) -> Result<bool> {
    match (basic(a), basic(b)) {
        (Some(Basic::Int), Some(Basic::Uint)) | (Some(Basic::Uint), Some(Basic::Int)) => {
            let (Kind::Int(left, _), Kind::Int(right, _)) = (&a.kind, &b.kind) else {
                return Ok(false);
            };
            Ok(*left >= 0 && *right >= 0 && left == right)
        }
        (Some(left), Some(right)) if left == right => Ok(basic_equal(a, b)),
        (Some(_), Some(_)) => incompatible(a, b),
        (None, None) => eq_others(a, b),
        _ if a.is_nil() || b.is_nil() => Ok(false),
        _ => incompatible(a, b),
    }
}

/// Of values that are no scalars.
fn eq_others(a: &Val, b: &Val) -> Result<bool> {
    let is_nil = |val: &Val| val.is_nil() || matches!(&val.kind, Kind::List(list) if list.is_nil);
    if !a.is_nil() && !b.is_nil() && a.kind_name() != b.kind_name() {
        let (left, right) = (super::printf::shown_as_text(a), super::print::shown(b));
        let types = (a.type_name(), b.type_name());
        return fail(format!("non-comparable types {left}: {}, {}: {right}", types.0, types.1));
    }
    if is_nil(a) || is_nil(b) {
        return Ok(is_nil(a) && is_nil(b));
    }
    if !is_comparable(b) {
        return non_comparable(b);
    }
    Ok(a.type_name() == b.type_name() && deep_equal(a, b))
}

fn basic_equal(a: &Val, b: &Val) -> bool {
    match (&a.kind, &b.kind) {
        (Kind::Bool(a), Kind::Bool(b)) => a == b,
        (Kind::Int(a, _), Kind::Int(b, _)) => a == b,
        (Kind::Float(a), Kind::Float(b)) => a == b,
        (Kind::Complex(a, c), Kind::Complex(b, d)) => a == b && c == d,
        (Kind::Str(a), Kind::Str(b)) => a.bytes() == b.bytes(),
        _ => false,
    }
}

/// The order of two values of one kind.
pub(super) fn order(a: &Val, b: &Val) -> Result<Option<Ordering>> {
    let (Some(left), Some(right)) = (basic(a), basic(b)) else {
        return fail("invalid type for comparison");
    };
    let mixed = matches!((left, right), (Basic::Int, Basic::Uint) | (Basic::Uint, Basic::Int));
    if left != right && !mixed {
        return incompatible(a, b);
    }
    Ok(match (&a.kind, &b.kind) {
        (Kind::Int(a, x), Kind::Int(b, y)) => {
            let wide =
                |value: i64, unsigned: bool| if unsigned { i128::from(value as u64) } else { value.into() };
            Some(wide(*a, x.is_unsigned()).cmp(&wide(*b, y.is_unsigned())))
        }
        (Kind::Float(a), Kind::Float(b)) => a.partial_cmp(b),
        (Kind::Str(a), Kind::Str(b)) => Some(a.bytes().cmp(b.bytes())),
        _ => return fail("invalid type for comparison"),
    })
}

/// How deeply values are compared.
const DEPTH_LIMIT: usize = 500;

/// `reflect.DeepEqual`.
pub(super) fn deep_equal(a: &Val, b: &Val) -> bool {
    deep(a, b, 0)
}

fn deep(a: &Val, b: &Val, depth: usize) -> bool {
    if a.is_nil() || b.is_nil() || depth > DEPTH_LIMIT {
        return a.is_nil() && b.is_nil();
    }
    if a.type_name() != b.type_name() {
        return false;
    }
    match (&a.kind, &b.kind) {
        (Kind::List(a), Kind::List(b)) => {
            a.is_nil == b.is_nil
                && a.len() == b.len()
                && a.iter().zip(b.iter()).all(|(a, b)| deep(&a, &b, depth + 1))
        }
        (Kind::Map(a), Kind::Map(b)) => {
            a.is_same(b) || {
                let (a, b) = (a.entries.borrow(), b.entries.borrow());
                a.len() == b.len()
                    && a.iter()
                        .zip(b.iter())
                        .all(|((key, a), (other, b))| key == other && deep(&a.val, &b.val, depth + 1))
            }
        }
        (Kind::Bytes(a), Kind::Bytes(b)) => a.bytes() == b.bytes(),
        (Kind::Struct(a), Kind::Struct(b)) => {
            a.fields.len() == b.fields.len()
                && a.fields.iter().zip(&b.fields).all(|((_, a), (_, b))| deep(a, b, depth + 1))
        }
        (Kind::Time(a), Kind::Time(b)) => a.seconds == b.seconds && a.nanos == b.nanos,
        (Kind::Version(a), Kind::Version(b)) => a.original == b.original,
        _ => basic_equal(a, b),
    }
}
