//! Quantities of resources, as the API server reads them.
//! Source: apimachinery `pkg/api/resource/quantity.go` (`ParseQuantity`), `suffix.go`.

/// Digits of a number that are read.
const DIGITS: usize = 24;

/// A quantity in billionths, which is as fine as the API server keeps it; `None` where it
/// can't be read, or is beyond any use.
pub(crate) fn quantity(text: &str) -> Option<i128> {
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty())
        || whole.len() + fraction.len() > DIGITS
        || fraction.contains('.')
    {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (factor, ten) = scale(suffix)?;
    let exponent = ten + 9 - i32::try_from(fraction.len()).ok()?;
    let amount = digits.checked_mul(factor)?;
    let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
    let amount = if exponent < 0 {
        // The API server rounds up.
        amount / power + i128::from(amount % power != 0)
    } else {
        amount.checked_mul(power)?
    };
    Some(sign * amount)
}

/// What a suffix multiplies by: a factor and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
    let binary = |power: u32| Some((1024_i128.pow(power), 0));
    match suffix {
        "" => Some((1, 0)),
        "n" => Some((1, -9)),
        "u" => Some((1, -6)),
        "m" => Some((1, -3)),
        "k" => Some((1, 3)),
        "M" => Some((1, 6)),
        "G" => Some((1, 9)),
        "T" => Some((1, 12)),
        "P" => Some((1, 15)),
        "E" => Some((1, 18)),
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        _ => {
            let exponent: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (-18..=18).contains(&exponent).then_some((1, exponent))
        }
    }
}
