//! Sprig's functions over numbers.

use super::cast::{to_float64, to_int64};
use super::decimal::Decimal;
use super::{percent_v, sprig, variadic};
use crate::lang::template::error::{Result, fail};
use crate::lang::template::function::{Call, Flow, Function, Ty};
use crate::lang::template::number::parse_int;
use crate::lang::template::trace::SetId;
use crate::lang::template::value::{Elem, List, Val};

const ANY: &[Ty] = &[Ty::Any];
const TWO: &[Ty] = &[Ty::Any, Ty::Any];

pub(super) const TABLE: &[Function] = &[
    sprig("atoi", &[Ty::Str], Flow::Unites, atoi),
    sprig("int64", ANY, Flow::Unites, int64),
    sprig("int", ANY, Flow::Unites, int),
    sprig("float64", ANY, Flow::Unites, float64),
    variadic("seq", &[Ty::Int], Flow::Unites, seq),
    sprig("toDecimal", ANY, Flow::Unites, to_decimal),
    sprig("until", &[Ty::Int], Flow::Unites, until),
    sprig("untilStep", &[Ty::Int, Ty::Int, Ty::Int], Flow::Unites, until_step),
    sprig("add1", ANY, Flow::Unites, add1),
    variadic("add", ANY, Flow::Unites, add),
    sprig("sub", TWO, Flow::Unites, sub),
    sprig("div", TWO, Flow::Unites, div),
    sprig("mod", TWO, Flow::Unites, modulo),
    variadic("mul", TWO, Flow::Unites, mul),
    sprig("add1f", ANY, Flow::Unites, add1f),
    variadic("addf", ANY, Flow::Unites, addf),
    variadic("subf", TWO, Flow::Unites, subf),
    variadic("divf", TWO, Flow::Unites, divf),
    variadic("mulf", TWO, Flow::Unites, mulf),
    variadic("biggest", TWO, Flow::Unites, max),
    variadic("max", TWO, Flow::Unites, max),
    variadic("min", TWO, Flow::Unites, min),
    variadic("maxf", TWO, Flow::Unites, maxf),
    variadic("minf", TWO, Flow::Unites, minf),
    sprig("ceil", ANY, Flow::Unites, ceil),
    sprig("floor", ANY, Flow::Unites, floor),
    variadic("round", &[Ty::Any, Ty::Int, Ty::Float], Flow::Unites, round),
];

fn int_of(value: i64) -> Result<Val> {
    Ok(Val::int64(value, SetId::NONE))
}

fn float_of(value: f64) -> Result<Val> {
    Ok(Val::float(value, SetId::NONE))
}

fn atoi(call: &mut Call<'_>) -> Result<Val> {
    // On overflow Go gives the nearest number besides its error.
    let text = call.string(0);
    let value = match parse_int(&text, 10) {
        Ok(value) => value,
        Err(crate::lang::template::number::Reason::Range) if text.starts_with('-') => i64::MIN,
        Err(crate::lang::template::number::Reason::Range) => i64::MAX,
        Err(_) => 0,
    };
    Ok(Val::int(value, SetId::NONE))
}

fn int64(call: &mut Call<'_>) -> Result<Val> {
    int_of(to_int64(&call.args[0]))
}

fn int(call: &mut Call<'_>) -> Result<Val> {
    Ok(Val::int(to_int64(&call.args[0]), SetId::NONE))
}

fn float64(call: &mut Call<'_>) -> Result<Val> {
    float_of(to_float64(&call.args[0]))
}

fn to_decimal(call: &mut Call<'_>) -> Result<Val> {
    let text = percent_v(call, &call.args[0]);
    int_of(parse_int(&text.str(), 8).unwrap_or(0))
}

/// How many numbers there are from `start` to before `stop`.
fn steps(start: i64, stop: i64, step: i64) -> u64 {
    let distance = if step > 0 { stop.saturating_sub(start) } else { start.saturating_sub(stop) };
    if distance <= 0 || step == 0 { 0 } else { (distance as u64).div_ceil(step.unsigned_abs()) }
}

fn numbers(call: &mut Call<'_>, start: i64, stop: i64, step: i64) -> Result<Vec<i64>> {
    let runs = if stop < start { step < 0 } else { step > 0 };
    if !runs {
        return Ok(Vec::new());
    }
    let count = steps(start, stop, step);
    call.cx.list(usize::try_from(count).unwrap_or(usize::MAX))?;
    Ok((0..count as i64).map(|index| start + index * step).collect())
}

fn until_list(call: &mut Call<'_>, start: i64, stop: i64, step: i64) -> Result<Val> {
    let from = if call.args.len() == 1 { call.set(0) } else { SetId::NONE };
    let items = numbers(call, start, stop, step)?.into_iter().map(|value| Val::int(value, from));
    Ok(Val::list(List::new(items.collect(), Elem::Int)))
}

fn until(call: &mut Call<'_>) -> Result<Val> {
    let count = call.int(0);
    until_list(call, 0, count, if count < 0 { -1 } else { 1 })
}

fn until_step(call: &mut Call<'_>) -> Result<Val> {
    let (start, stop, step) = (call.int(0), call.int(1), call.int(2));
    until_list(call, start, stop, step)
}

fn seq(call: &mut Call<'_>) -> Result<Val> {
    let params: Vec<i64> = (0..call.args.len()).map(|index| call.int(index)).collect();
    let items = match *params {
        [end] => {
            let by = if end < 1 { -1 } else { 1 };
            numbers(call, 1, end.saturating_add(by), by)?
        }
        [start, end] => {
            let by = if end < start { -1 } else { 1 };
            numbers(call, start, end.saturating_add(by), by)?
        }
        [start, step, end] => {
            if end < start && step > 0 {
                return call.made("");
            }
            let by = if end < start { -1 } else { 1 };
            numbers(call, start, end.saturating_add(by), step)?
        }
        _ => Vec::new(),
    };
    let text: Vec<String> = items.iter().map(ToString::to_string).collect();
    call.made(text.join(" "))
}

fn add1(call: &mut Call<'_>) -> Result<Val> {
    int_of(to_int64(&call.args[0]).wrapping_add(1))
}

fn add(call: &mut Call<'_>) -> Result<Val> {
    int_of(call.args.iter().fold(0, |sum: i64, val| sum.wrapping_add(to_int64(val))))
}

fn sub(call: &mut Call<'_>) -> Result<Val> {
    int_of(to_int64(&call.args[0]).wrapping_sub(to_int64(&call.args[1])))
}

const BY_ZERO: &str = "runtime error: integer divide by zero";

fn div(call: &mut Call<'_>) -> Result<Val> {
    match to_int64(&call.args[1]) {
        0 => fail(BY_ZERO),
        by => int_of(to_int64(&call.args[0]).wrapping_div(by)),
    }
}

fn modulo(call: &mut Call<'_>) -> Result<Val> {
    match to_int64(&call.args[1]) {
        0 => fail(BY_ZERO),
        by => int_of(to_int64(&call.args[0]).wrapping_rem(by)),
    }
}

fn mul(call: &mut Call<'_>) -> Result<Val> {
    int_of(call.args.iter().fold(1, |product: i64, val| product.wrapping_mul(to_int64(val))))
}

fn max(call: &mut Call<'_>) -> Result<Val> {
    int_of(call.args.iter().map(to_int64).max().unwrap_or(0))
}

fn min(call: &mut Call<'_>) -> Result<Val> {
    int_of(call.args.iter().map(to_int64).min().unwrap_or(0))
}

/// Go's `math.Max`: NaN wins but over +Inf, and 0 over -0.
fn go_max(a: f64, b: f64) -> f64 {
    if a == f64::INFINITY || b == f64::INFINITY {
        return f64::INFINITY;
    }
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    if a > b || (a == b && a.is_sign_positive()) { a } else { b }
}

fn maxf(call: &mut Call<'_>) -> Result<Val> {
    float_of(call.args.iter().map(to_float64).reduce(go_max).unwrap_or(0.0))
}

fn minf(call: &mut Call<'_>) -> Result<Val> {
    float_of(call.args.iter().map(to_float64).reduce(|a, b| -go_max(-a, -b)).unwrap_or(0.0))
}

fn ceil(call: &mut Call<'_>) -> Result<Val> {
    float_of(to_float64(&call.args[0]).ceil())
}

fn floor(call: &mut Call<'_>) -> Result<Val> {
    float_of(to_float64(&call.args[0]).floor())
}

fn round(call: &mut Call<'_>) -> Result<Val> {
    let round_on = call.args.get(2).map_or(0.5, to_float64);
    let places = call.int(1).clamp(-400, 400) as i32;
    let power = 10f64.powi(places);
    let digit = power * to_float64(&call.args[0]);
    let fraction = if digit.is_finite() { digit - digit.trunc() } else { f64::NAN };
    let rounded = if fraction >= round_on { digit.ceil() } else { digit.floor() };
    float_of(rounded / power)
}

/// Sums and products of decimals, from left to right.
fn decimals(
    call: &mut Call<'_>,
    first: Option<f64>,
    op: fn(&Decimal, &Decimal) -> Option<Decimal>,
) -> Result<Val> {
    let mut values = first.into_iter().chain(call.args.iter().map(to_float64));
    let start = values.next().unwrap_or(0.0);
    let Some(mut result) = Decimal::of(start) else {
        return fail(format!(
            "Cannot create a Decimal from {}",
            crate::lang::template::print::float_v(start)
        ));
    };
    for value in values {
        let Some(value) = Decimal::of(value) else {
            return fail(format!(
                "Cannot create a Decimal from {}",
                crate::lang::template::print::float_v(value)
            ));
        };
        let Some(next) = op(&result, &value) else {
            return fail("decimal division by 0");
        };
        result = next;
    }
    float_of(result.to_f64())
}

fn add1f(call: &mut Call<'_>) -> Result<Val> {
    decimals(call, Some(1.0), Decimal::add)
}

fn addf(call: &mut Call<'_>) -> Result<Val> {
    decimals(call, Some(0.0), Decimal::add)
}

fn subf(call: &mut Call<'_>) -> Result<Val> {
    decimals(call, None, Decimal::sub)
}

fn divf(call: &mut Call<'_>) -> Result<Val> {
    decimals(call, None, Decimal::div)
}

fn mulf(call: &mut Call<'_>) -> Result<Val> {
    decimals(call, None, Decimal::mul)
}
