//! Decimals as `shopspring/decimal` calculates: exact sums and products, quotients of
//! 16 places. A number too wide for that is calculated as a float.

/// `digits * 10^exponent`, or a float where that is too wide.
#[derive(Clone, Debug)]
pub(super) enum Decimal {
    Exact(i128, i32),
    Float(f64),
}

use Decimal::{Exact, Float};

/// Places of a quotient.
const PRECISION: i32 = 16;

impl Decimal {
    /// The shortest decimal that means a float.
    pub(super) fn of(value: f64) -> Option<Decimal> {
        if !value.is_finite() {
            return None;
        }
        let shown = format!("{value:e}");
        let (mantissa, exponent) = shown.split_once('e')?;
        let exponent: i32 = exponent.parse().ok()?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        Some(Exact(digits, exponent - fraction.len() as i32))
    }

    pub(super) fn to_f64(&self) -> f64 {
        match self {
            Exact(digits, exponent) => format!("{digits}e{exponent}").parse().unwrap_or(0.0),
            Float(value) => *value,
        }
    }

    /// Both with the smaller exponent.
    fn aligned(&self, other: &Decimal) -> Option<(i128, i128, i32)> {
        let (Exact(a, x), Exact(b, y)) = (self, other) else {
            return None;
        };
        let exponent = *x.min(y);
        let scale = |digits: i128, from: i32| {
            let power = 10i128.checked_pow(u32::try_from(from - exponent).ok()?)?;
            digits.checked_mul(power)
        };
        Some((scale(*a, *x)?, scale(*b, *y)?, exponent))
    }

    pub(super) fn add(&self, other: &Decimal) -> Option<Decimal> {
        let exact = self.aligned(other).and_then(|(a, b, exponent)| Some(Exact(a.checked_add(b)?, exponent)));
        Some(exact.unwrap_or_else(|| Float(self.to_f64() + other.to_f64())))
    }

    pub(super) fn sub(&self, other: &Decimal) -> Option<Decimal> {
        let exact = self.aligned(other).and_then(|(a, b, exponent)| Some(Exact(a.checked_sub(b)?, exponent)));
        Some(exact.unwrap_or_else(|| Float(self.to_f64() - other.to_f64())))
    }

    pub(super) fn mul(&self, other: &Decimal) -> Option<Decimal> {
        let exact = match (self, other) {
            (Exact(a, x), Exact(b, y)) => a.checked_mul(*b).map(|digits| Exact(digits, x + y)),
            _ => None,
        };
        Some(exact.unwrap_or_else(|| Float(self.to_f64() * other.to_f64())))
    }

    /// Rounded half away from zero; nothing by zero.
    pub(super) fn div(&self, other: &Decimal) -> Option<Decimal> {
        if other.to_f64() == 0.0 {
            return None;
        }
        let exact = match (self, other) {
            (Exact(a, x), Exact(b, y)) => quotient(*a, *b, x - y),
            _ => None,
        };
        Some(exact.unwrap_or_else(|| Float(self.to_f64() / other.to_f64())))
    }
}

/// `a / b * 10^exponent` to the places of a quotient.
fn quotient(a: i128, b: i128, exponent: i32) -> Option<Decimal> {
    let shift = PRECISION + exponent;
    let power = 10i128.checked_pow(shift.unsigned_abs())?;
    let (a, b) = if shift >= 0 { (a.checked_mul(power)?, b) } else { (a, b.checked_mul(power)?) };
    let (whole, rest) = (a / b, a % b);
    let rounds = rest.checked_abs()?.checked_mul(2)? >= b.checked_abs()?;
    let away = if (a < 0) == (b < 0) { 1 } else { -1 };
    Some(Exact(if rounds { whole + away } else { whole }, -PRECISION))
}
