//! Questions to a value alone: its type, equality, what is multiple or twice there.

use super::Wrong;
use crate::build::helm::schema::compile::Schema;
use crate::build::helm::value::{Kind, Value};
use std::sync::Arc;

/// JSON Schema's name of a value's type.
pub(in crate::build::helm::schema) fn type_name(value: &Value) -> &'static str {
    match &value.kind {
        Kind::Null => "null",
        Kind::Bool(_) => "boolean",
        Kind::Int(_) | Kind::Float(_) => "number",
        Kind::Text(_) | Kind::Holes(_) | Kind::Unknown(_) => "string",
        Kind::List(_) => "array",
        Kind::Map(_) => "object",
    }
}

pub(in crate::build::helm::schema) fn is_integer(value: &Value) -> bool {
    match value.kind {
        Kind::Int(_) => true,
        Kind::Float(number) => number.fract() == 0.0,
        _ => false,
    }
}

/// What ends the look at a value before anything below it is looked at.
pub(super) fn first(schema: &Schema, value: &Value) -> Option<Wrong> {
    let own = type_name(value);
    let fits = |wanted: &Arc<str>| **wanted == *own || (&**wanted == "integer" && is_integer(value));
    if !schema.types.is_empty() && !schema.types.iter().any(fits) {
        return Some(Wrong::Type(schema.types.iter().map(ToString::to_string).collect(), value.clone()));
    }
    let rare = schema.rare.as_deref();
    if let Some(wanted) = rare.and_then(|rare| rare.constant.as_ref())
        && !equal(value, wanted)
    {
        return Some(Wrong::Const(wanted.clone()));
    }
    if let Some(wanted) = &schema.enumeration
        && !wanted.iter().any(|wanted| equal(value, wanted))
    {
        return Some(Wrong::Enum(wanted.to_vec()));
    }
    if let Some(format) = rare.and_then(|rare| rare.format.as_ref())
        && let Err(why) = format.check(value)
    {
        return Some(Wrong::Format(value.clone(), format.name.clone(), why));
    }
    None
}

pub(super) fn is_multiple(number: f64, of: f64) -> bool {
    if of == 0.0 {
        return true;
    }
    let quotient = number / of;
    // Decimal fractions are exact upstream.
    (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
}

/// Whether JSON calls both the same.
pub(in crate::build::helm::schema) fn equal(one: &Value, two: &Value) -> bool {
    let number = |value: &Value| match value.kind {
        Kind::Int(number) => Some(number as f64),
        Kind::Float(number) => Some(number),
        _ => None,
    };
    if let (Some(one), Some(two)) = (number(one), number(two)) {
        return one == two;
    }
    match (&one.kind, &two.kind) {
        (Kind::Null, Kind::Null) => true,
        (Kind::Bool(one), Kind::Bool(two)) => one == two,
        (Kind::Text(one), Kind::Text(two)) => one == two,
        (Kind::List(one), Kind::List(two)) => {
            one.len() == two.len() && one.iter().zip(two.iter()).all(|(one, two)| equal(one, two))
        }
        (Kind::Map(one), Kind::Map(two)) => {
            one.len() == two.len()
                && one.iter().zip(two.iter()).all(|((a, one), (b, two))| a == b && equal(one, two))
        }
        _ => false,
    }
}

/// Two items that are equal.
pub(super) fn duplicates(items: &[Value]) -> Option<(usize, usize)> {
    let mut seen = std::collections::BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        if let Some(first) = seen.insert(format!("{}{item}", type_name(item)), index)
            && equal(&items[first], item)
        {
            return Some((first, index));
        }
    }
    None
}
