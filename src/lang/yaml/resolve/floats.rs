//! Floats, as Go's libraries print them.

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
pub(super) fn format_float_key(f: f64) -> String {
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

pub(super) fn go_special(f: f64) -> &'static str {
    if f.is_nan() {
        "NaN"
    } else if f > 0.0 {
        "+Inf"
    } else {
        "-Inf"
    }
}
