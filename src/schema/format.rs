//! Formats of strings that the API server checks. The others say nothing.
//! Source: apiextensions-apiserver `pkg/apiserver/validation/formats.go`
//! (`supportedVersionedFormats`), kube-openapi `pkg/validation/strfmt`.

use base64::Engine;

/// Whether a text is of a format; `None` where the API server doesn't check it, or
/// where its check isn't known here in every detail.
pub(super) fn is_valid(format: &str, text: &str) -> Option<bool> {
    let name = format.replace('-', "");
    Some(match name.as_str() {
        "byte" => base64::engine::general_purpose::STANDARD.decode(text.replace(['\n', '\r'], "")).is_ok(),
        "datetime" => is_date_time(text),
        "date" => is_date(text),
        "ipv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
        "cidr" => is_cidr(text),
        "uuid" => is_uuid(text),
        "mac" => is_mac(text),
        _ => return None,
    })
}

/// Whether a text is a quantity of Kubernetes: `500m`, `1.5Gi`, `1e3`.
/// Source: apimachinery `pkg/api/resource/quantity.go` (`parseQuantityString`,
/// `suffixer`).
pub(super) fn is_quantity(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(unsigned);
    let rest = &unsigned[whole..];
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole == 0 && fraction.is_empty() {
        return false;
    }
    const SUFFIXES: [&str; 17] =
        ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "K"];
    match suffix.strip_prefix(['e', 'E']) {
        Some(exponent) if !exponent.is_empty() && suffix != "Ei" => {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        _ => SUFFIXES[..16].contains(&suffix),
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok()
}

/// RFC 3339, as Go's `time.Parse` and strfmt's patterns take it: leniently, so that
/// only what surely is none is told.
fn is_date_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    let Some(date) = text.get(..10) else { return false };
    is_date(date) && matches!(bytes.get(10), Some(b'T' | b't' | b' ')) && text.len() >= 16
}

fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(_)) => 32,
        Ok(std::net::IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u32>().is_ok_and(|bits| bits <= most)
}

/// Groups of hexadecimal digits, with or without the dashes.
fn is_uuid(text: &str) -> bool {
    let hex = text.replace('-', "");
    hex.len() == 32 && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// What Go's `net.ParseMAC` takes: pairs with colons or dashes, or fours with dots.
fn is_mac(text: &str) -> bool {
    let groups: Vec<&str> = text.split([':', '-', '.']).collect();
    let width = if text.contains('.') { 4 } else { 2 };
    let bytes = groups.len() * width / 2;
    matches!(bytes, 6 | 8 | 20)
        && groups
            .iter()
            .all(|group| group.len() == width && group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_those_of_the_api_server() {
        for (format, text, expected) in [
            ("byte", "aGVsbG8=", Some(true)),
            ("byte", "hello!", Some(false)),
            ("date-time", "2026-01-02T03:04:05Z", Some(true)),
            ("date-time", "2026-01-02T03:04:05.678+02:00", Some(true)),
            ("date-time", "tomorrow", Some(false)),
            ("date", "2026-02-30", Some(false)),
            ("ipv4", "10.0.0.1", Some(true)),
            ("ipv4", "10.0.0.256", Some(false)),
            ("ipv6", "fd00::1", Some(true)),
            ("cidr", "10.0.0.0/8", Some(true)),
            ("cidr", "10.0.0.0/33", Some(false)),
            ("cidr", "10.0.0.0", Some(false)),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", Some(true)),
            ("mac", "00:1b:63:84:45:e6", Some(true)),
            ("mac", "00:1b", Some(false)),
            ("url", "anything", None),
            ("string", "anything", None),
        ] {
            assert_eq!(is_valid(format, text), expected, "{format} {text}");
        }
    }

    #[test]
    fn quantities_are_kubernetes_own() {
        for text in
            ["0", "1", "1.5", ".5", "5.", "500m", "1Gi", "1.5Gi", "1e3", "1E3", "2E", "2Ei", "-1", "100k"]
        {
            assert!(is_quantity(text), "{text}");
        }
        for text in ["", "m", "1GB", "1gi", "1K", "1 Gi", "1e", "1e3Gi", "1.2.3", "abc", "10Gib"] {
            assert!(!is_quantity(text), "{text}");
        }
    }
}
