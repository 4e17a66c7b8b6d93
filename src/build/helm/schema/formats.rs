//! `format`, as `format.go` of github.com/santhosh-tekuri/jsonschema v6 asserts it up to
//! draft 7 and in the schemas of schemas, or in Helm 3 `format_checkers.go` of
//! github.com/xeipuuv/gojsonschema. A format that is not known here is not asserted, as
//! upstream does.

use crate::build::helm::value::{Kind, Value};
use crate::lang::go::regexp::GoRegexp;
use crate::lang::template::{go_quote, url_scheme};
use std::net::{IpAddr, Ipv6Addr};

/// A format that is asserted.
#[derive(Clone, Debug)]
pub(super) struct Format {
    pub(super) name: String,
    /// Whether Helm 3 asserts it.
    pub(super) of_3: bool,
}

impl Format {
    /// Whether a value is of the format; why not.
    pub(super) fn check(&self, value: &Value) -> Result<(), String> {
        match &value.kind {
            Kind::Text(text) if self.of_3 => require(is_of_3(&self.name, text).unwrap_or(true), ""),
            // There a number is of none.
            Kind::Int(_) | Kind::Float(_) if self.of_3 => require(is_of_3(&self.name, "").is_none(), ""),
            Kind::Text(text) => check(&self.name, text),
            _ => Ok(()),
        }
    }
}

/// Whether a text is of a format; nothing where Helm 3 does not know the format. Of mail
/// addresses Go reads more than is read here: what it may take is taken.
fn is_of_3(format: &str, text: &str) -> Option<bool> {
    let address = || text.parse::<IpAddr>().is_ok();
    let plain = || !text.contains('\\');
    Some(match format {
        "date" => date(text).is_ok(),
        "time" => is_time(text),
        "date-time" => is_time(text) || date(text).is_ok() || is_moment(text),
        "hostname" => text.len() < 256 && !text.ends_with('.') && hostname(text).is_ok(),
        "email" | "idn-email" => text.contains('<') || is_address(text),
        "ipv4" => address() && text.contains('.'),
        "ipv6" => address() && text.contains(':'),
        "uri" | "iri" => plain() && url_scheme(text).is_ok_and(|scheme| !scheme.is_empty()),
        "uri-reference" | "iri-reference" => plain() && url_scheme(text).is_ok(),
        "uri-template" => url_scheme(text).is_ok() && text.split('{').skip(1).all(|rest| rest.contains('}')),
        "uuid" => uuid(text).is_ok() && !text.contains(|c: char| c.is_ascii_uppercase()),
        "regex" => GoRegexp::new(text).is_ok(),
        "json-pointer" => json_pointer(text).is_ok(),
        "relative-json-pointer" => relative_json_pointer(text).is_ok(),
        _ => return None,
    })
}

fn is_address(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(local, domain)| {
        let is_plain = !local.contains(['@', ' ']) || local.starts_with('"');
        !local.is_empty() && !domain.is_empty() && is_plain && !domain.contains(' ')
    })
}

/// Go's `15:04:05` or `15:04:05Z07:00`.
fn is_time(text: &str) -> bool {
    let number = |text: &str, most: u8| text.parse::<u8>().is_ok_and(|number| number <= most);
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = text.splitn(3, ':');
    let (Some(hour), Some(minute), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let hours = |text: &str, most: u8| digits(text) && number(text, most);
    let clock = (1..=2).contains(&hour.len()) && hours(hour, 23) && minute.len() == 2 && hours(minute, 59);
    let Some(second) = rest.get(..2).filter(|second| hours(second, 59)) else { return false };
    let mut rest = &rest[second.len()..];
    if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if after.len() == fraction.len() {
            return false;
        }
        rest = after;
    }
    let zone = rest.is_empty()
        || rest == "Z"
        || rest.strip_prefix(['+', '-']).and_then(|zone| zone.split_once(':')).is_some_and(
            |(hour, minute)| hour.len() == 2 && minute.len() == 2 && hours(hour, 24) && hours(minute, 60),
        );
    clock && zone
}

/// RFC 3339 as Go reads it, with its capitals.
fn is_moment(text: &str) -> bool {
    let (Some(day), Some(clock)) = (text.get(..10), text.get(10..).and_then(|rest| rest.strip_prefix('T')))
    else {
        return false;
    };
    let has_zone = clock.ends_with('Z') || clock.contains(['+', '-']);
    date(day).is_ok() && has_zone && is_time(clock)
}

/// Whether a text is of a format; why not.
fn check(format: &str, text: &str) -> Result<(), String> {
    match format {
        "ipv4" => ipv4(text),
        "ipv6" => ipv6(text),
        "hostname" => hostname(text),
        "email" => email(text),
        "uuid" => uuid(text),
        "date" => date(text),
        "time" => time(text),
        "date-time" => date_time(text),
        "duration" => duration(text),
        "period" => period(text),
        "json-pointer" => json_pointer(text),
        "relative-json-pointer" => relative_json_pointer(text),
        "uri" | "iri" => require(!url_scheme(text)?.is_empty(), "relative url"),
        "uri-reference" | "iri-reference" => url_scheme(text).map(drop),
        "uri-template" => uri_template(text),
        "semver" => semver(text),
        "regex" => GoRegexp::new(text).map(drop).map_err(|error| error.to_string()),
        _ => Ok(()),
    }
}

fn require(holds: bool, why: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why.to_owned()) }
}

fn ipv4(text: &str) -> Result<(), String> {
    let groups: Vec<&str> = text.split('.').collect();
    require(groups.len() == 4, "expected four decimals")?;
    for group in groups {
        require(group.len() < 2 || !group.starts_with('0'), "leading zeros")?;
        let number: i64 =
            group.parse().map_err(|_| format!("strconv.Atoi: parsing {group:?}: invalid syntax"))?;
        require((0..=255).contains(&number), "decimal must be between 0 and 255")?;
    }
    Ok(())
}

fn ipv6(text: &str) -> Result<(), String> {
    require(text.contains(':'), "missing colon")?;
    require(!text.contains('%'), "zone id is not a part of ipv6 address")?;
    text.parse::<Ipv6Addr>().map(drop).map_err(|_| format!("ParseAddr({text:?}): unable to parse IP"))
}

fn hostname(text: &str) -> Result<(), String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    require(text.len() <= 253, "more than 253 characters long")?;
    for label in text.split('.') {
        require((1..=63).contains(&label.len()), "label must be 1 to 63 characters long")?;
        require(!label.starts_with('-'), "label starts with hyphen")?;
        require(!label.ends_with('-'), "label ends with hyphen")?;
        if let Some(c) = label.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '-')) {
            return Err(format!("invalid character {c:?}"));
        }
    }
    Ok(())
}

fn email(text: &str) -> Result<(), String> {
    require(text.len() <= 254, "more than 255 characters long")?;
    let (local, domain) = text.rsplit_once('@').ok_or("missing @")?;
    require(local.len() <= 64, "local part more than 64 characters long")?;
    if local.len() > 1 && local.starts_with('"') {
        let inner = local.get(1..local.len() - 1).unwrap_or_default();
        let plain = !inner.contains(['\\', '"']);
        require(plain, "backslash and quote are not allowed within quoted local part")?;
    } else {
        require(!local.starts_with('.'), "starts with dot")?;
        require(!local.ends_with('.'), "ends with dot")?;
        require(!local.contains(".."), "consecutive dots")?;
        let fits = |c: &char| c.is_ascii_alphanumeric() || ".!#$%&'*+-/=?^_`{|}~".contains(*c);
        if let Some(c) = local.chars().find(|c| !fits(c)) {
            return Err(format!("invalid character {c:?}"));
        }
    }
    match domain.strip_prefix('[').and_then(|domain| domain.strip_suffix(']')) {
        Some(address) => match address.strip_prefix("IPv6:") {
            Some(address) => ipv6(address).map_err(|why| format!("invalid ipv6 address: {why}")),
            None => ipv4(address).map_err(|why| format!("invalid ipv4 address: {why}")),
        },
        None => hostname(domain).map_err(|why| format!("invalid domain: {why}")),
    }
}

fn uuid(text: &str) -> Result<(), String> {
    let groups: Vec<&str> = text.split('-').collect();
    require(groups.len() == 5, "must have 5 elements")?;
    for (index, (group, length)) in groups.iter().zip([8, 4, 4, 4, 12]).enumerate() {
        require(group.len() == length, &format!("element {} must be {length} characters long", index + 1))?;
        if let Some(c) = group.chars().find(|c| !c.is_ascii_hexdigit()) {
            return Err(format!("non-hex character {c:?}"));
        }
    }
    Ok(())
}

/// Go's `2006-01-02`.
fn date(text: &str) -> Result<(), String> {
    let quoted = go_quote(text);
    let mut rest = text;
    let mut numbers = [0_u32; 3];
    for (number, layout) in numbers.iter_mut().zip(["2006", "-01", "-02"]) {
        let digits = layout.trim_start_matches('-');
        let failed = |rest: &str, part: &str| {
            let (rest, part) = (go_quote(rest), go_quote(part));
            Err(format!("parsing time {quoted} as \"2006-01-02\": cannot parse {rest} as {part}"))
        };
        if digits != layout {
            let Some(behind) = rest.strip_prefix('-') else { return failed(rest, "-") };
            rest = behind;
        }
        let own = rest.get(..digits.len()).filter(|own| own.bytes().all(|byte| byte.is_ascii_digit()));
        let Some(own) = own else { return failed(rest, digits) };
        *number = own.parse().unwrap_or_default();
        rest = &rest[own.len()..];
    }
    let [year, month, day] = numbers;
    require((1..=12).contains(&month), &format!("parsing time {quoted}: month out of range"))?;
    if !rest.is_empty() {
        return Err(format!("parsing time {quoted}: extra text: {}", go_quote(rest)));
    }
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    };
    require((1..=days).contains(&day), &format!("parsing time {quoted}: day out of range"))
}

/// Two numbers of two digits with a colon between them.
fn two_numbers(text: &str) -> Option<[u32; 2]> {
    let (one, two) = text.split_once(':')?;
    let number = |text: &str| {
        let is = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is.then(|| text.parse().ok()).flatten()
    };
    Some([number(one)?, number(two)?])
}

fn time(text: &str) -> Result<(), String> {
    let bytes = text.as_bytes();
    require(bytes.len() >= 9, "less than 9 characters long")?;
    require(bytes[2] == b':' && bytes[5] == b':', "missing colon in correct place")?;
    let clock = text.get(..8).and_then(|clock| {
        let [hour, minute] = two_numbers(&clock[..5])?;
        let [_, second] = two_numbers(&clock[3..])?;
        Some([hour, minute, second])
    });
    let [hour, minute, second] = clock.ok_or("invalid hour/min/sec")?;
    require(hour <= 23 && minute <= 59 && second <= 60, "hour/min/sec out of range")?;
    let mut zone = &text[8..];
    if let Some(fraction) = zone.strip_prefix('.') {
        let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        require(after.len() < fraction.len(), "no digits in second fraction")?;
        zone = after;
    }
    let mut minutes = i64::from(hour * 60 + minute);
    if !matches!(zone, "z" | "Z") {
        require(zone.len() == 6, "offset must be 6 characters long")?;
        let sign = match zone.as_bytes()[0] {
            b'+' => -1,
            b'-' => 1,
            _ => return Err("offset must begin with plus/minus".to_owned()),
        };
        require(zone.as_bytes()[3] == b':', "missing colon in offset at correct place")?;
        let [hours, rest] = zone.get(1..).and_then(two_numbers).ok_or("invalid hour/min in offset")?;
        require(hours <= 23 && rest <= 59, "hour/min in offset out of range")?;
        minutes += sign * i64::from(hours * 60 + rest);
    }
    let is_last = minutes.rem_euclid(24 * 60) == 24 * 60 - 1;
    require(second < 60 || is_last, "invalid leap second")
}

fn date_time(text: &str) -> Result<(), String> {
    require(text.len() >= 20, "less than 20 characters long")?;
    let separator = text.as_bytes()[10];
    require(matches!(separator, b'T' | b't'), "11th character must be t or T")?;
    let day = text.get(..10).ok_or("invalid date element")?;
    date(day).map_err(|why| format!("invalid date element: {why}"))?;
    time(&text[11..]).map_err(|why| format!("invalid time element: {why}"))
}

fn duration(text: &str) -> Result<(), String> {
    let rest = text.strip_prefix('P').ok_or("must start with P")?;
    require(!rest.is_empty(), "nothing after P")?;
    if let Some(weeks) = rest.strip_suffix('W') {
        require(!weeks.is_empty(), "no number in week")?;
        return require(weeks.bytes().all(|byte| byte.is_ascii_digit()), "invalid week");
    }
    const UNITS: [&str; 2] = ["YMD", "HMS"];
    for (index, part) in rest.split('T').enumerate() {
        require(index == 0 || !part.is_empty(), "no time elements")?;
        let all = UNITS.get(index).ok_or("more than one T")?;
        let (mut left, mut units) = (part, *all);
        while !left.is_empty() {
            let behind = left.trim_start_matches(|c: char| c.is_ascii_digit());
            require(behind.len() < left.len(), "missing number")?;
            let unit = behind.chars().next().ok_or("missing unit")?;
            let Some(at) = units.find(unit) else {
                return Err(match all.contains(unit) {
                    true => format!("unit {unit:?} out of order"),
                    false => format!("invalid unit {unit:?}"),
                });
            };
            units = &units[at + 1..];
            left = &behind[unit.len_utf8()..];
        }
    }
    Ok(())
}

fn period(text: &str) -> Result<(), String> {
    let (start, end) = text.split_once('/').ok_or("missing slash")?;
    if start.starts_with('P') {
        duration(start).map_err(|why| format!("invalid start duration: {why}"))?;
        return date_time(end).map_err(|why| format!("invalid end date-time: {why}"));
    }
    date_time(start).map_err(|why| format!("invalid start date-time: {why}"))?;
    match end.starts_with('P') {
        true => duration(end).map_err(|why| format!("invalid end duration: {why}")),
        false => date_time(end).map_err(|why| format!("invalid end date-time: {why}")),
    }
}

fn json_pointer(text: &str) -> Result<(), String> {
    require(text.is_empty() || text.starts_with('/'), "not starting with /")?;
    let is_escape = |rest: &str| rest.starts_with(['0', '1']);
    require(text.split('~').skip(1).all(is_escape), "~ must be followed by 0 or 1")
}

fn relative_json_pointer(text: &str) -> Result<(), String> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = &text[..text.len() - rest.len()];
    require(!number.is_empty(), "must start with non-negative integer")?;
    require(number.len() == 1 || !number.starts_with('0'), "starts with zero")?;
    if rest == "#" { Ok(()) } else { json_pointer(rest) }
}

fn uri_template(text: &str) -> Result<(), String> {
    url_scheme(text)?;
    // The path as it is decoded; what comes behind it is not looked at.
    let path = text.split(['?', '#']).next().unwrap_or_default();
    for part in path.split('/') {
        let mut is_open = false;
        for c in part.chars() {
            match c {
                '{' | '}' => {
                    require(is_open == (c == '}'), "nested curly braces")?;
                    is_open = !is_open;
                }
                _ => {}
            }
        }
        require(!is_open, "no matching closing brace")?;
    }
    Ok(())
}

fn semver(text: &str) -> Result<(), String> {
    let (core, rest) = text.find(['-', '+']).map_or((text, ""), |at| text.split_at(at));
    let numbers: Vec<&str> = core.split('.').collect();
    require(numbers.len() == 3, "versionCore must have 3 numbers separated by dot")?;
    for (number, name) in numbers.iter().zip(["major", "minor", "patch"]) {
        require(!number.is_empty(), &format!("{name} is empty"))?;
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        require(digits, &format!("{name} contains non-digit"))?;
        require(number.len() == 1 || !number.starts_with('0'), &format!("{name} starts with zero"))?;
    }
    let (before, build) = match rest.split_once('+') {
        Some((before, build)) => (before, Some(build)),
        None => (rest, None),
    };
    let plain = |part: &str, of: &str| {
        let other = part.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '-'));
        other.map_or(Ok(()), |c| Err(format!("invalid character {c:?} in {of} identifier")))
    };
    for part in before.strip_prefix('-').into_iter().flat_map(|before| before.split('.')) {
        require(!part.is_empty(), "pre-release identifier is empty")?;
        plain(part, "pre-release")?;
        let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
        let starts = is_number && part.len() > 1 && part.starts_with('0');
        require(!starts, "pre-release numeric identifier starts with zero")?;
    }
    require(build != Some(""), "build is empty")?;
    for part in build.into_iter().flat_map(|build| build.split('.')) {
        require(!part.is_empty(), "build identifier is empty")?;
        plain(part, "build")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Helm 4.1.4 answered.
    #[test]
    fn formats_are_those_of_helm_4_in_its_words() {
        for (format, text, why) in [
            ("time", "10:00:00", "less than 9 characters long"),
            ("time", "10:00:00Z", ""),
            ("time", "10:00:00z", ""),
            ("time", "10:00:00.5Z", ""),
            ("time", "10:00:00.Z", "no digits in second fraction"),
            ("time", "10:00:00+01:00", ""),
            ("time", "10:00:00+0100", "offset must be 6 characters long"),
            ("time", "10:00:00+25:00", "hour/min in offset out of range"),
            ("time", "24:00:00Z", "hour/min/sec out of range"),
            ("time", "10:00:60Z", "invalid leap second"),
            ("time", "23:59:60Z", ""),
            ("time", "23:59:60+00:00", ""),
            ("time", "ab:00:00Z", "invalid hour/min/sec"),
            ("time", "1:00:00Z", "less than 9 characters long"),
            ("time", "10-00-00Z", "missing colon in correct place"),
            ("time", "10:00:00x", "offset must be 6 characters long"),
            ("time", "10:00:00*01:00", "offset must begin with plus/minus"),
            ("time", "10:00:00+ab:00", "invalid hour/min in offset"),
            ("duration", "5m", "must start with P"),
            ("duration", "P", "nothing after P"),
            ("duration", "P1Y", ""),
            ("duration", "P1M2D", ""),
            ("duration", "P1D2M", "unit 'M' out of order"),
            ("duration", "PT", "no time elements"),
            ("duration", "PT1H", ""),
            ("duration", "P1W", ""),
            ("duration", "PW", "no number in week"),
            ("duration", "PxW", "invalid week"),
            ("duration", "P1", "missing unit"),
            ("duration", "PY", "missing number"),
            ("duration", "P1X", "invalid unit 'X'"),
            ("duration", "P1DT1HT1M", "more than one T"),
            ("duration", "PT1S", ""),
            ("duration", "PT1M1H", "unit 'H' out of order"),
            ("json-pointer", "/a", ""),
            ("json-pointer", "a", "not starting with /"),
            ("json-pointer", "/a~2", "~ must be followed by 0 or 1"),
            ("json-pointer", "/a~", "~ must be followed by 0 or 1"),
            ("json-pointer", "/a~1", ""),
            ("json-pointer", "/a#b", ""),
            ("relative-json-pointer", "0", ""),
            ("relative-json-pointer", "0#", ""),
            ("relative-json-pointer", "01", "starts with zero"),
            ("relative-json-pointer", "a", "must start with non-negative integer"),
            ("relative-json-pointer", "1/a", ""),
            ("relative-json-pointer", "-1/a", "must start with non-negative integer"),
            ("relative-json-pointer", "1a", "not starting with /"),
            ("relative-json-pointer", "", "must start with non-negative integer"),
            ("uri", "a", "relative url"),
            ("uri", "http://a", ""),
            ("uri", "http://a:b", "parse \"http://a:b\": invalid port \":b\" after host"),
            ("uri", "http://[::1", "parse \"http://[::1\": missing ']' in host"),
            ("uri", "http://a b", "parse \"http://a b\": invalid character \" \" in host name"),
            ("uri", "%zz", "parse \"%zz\": invalid URL escape \"%zz\""),
            ("uri-reference", "a", ""),
            ("uri-reference", "%zz", "parse \"%zz\": invalid URL escape \"%zz\""),
            ("uri-reference", ":a", "parse \":a\": missing protocol scheme"),
            ("iri", "a", "relative url"),
            ("iri-reference", "%zz", "parse \"%zz\": invalid URL escape \"%zz\""),
            ("uri-template", "{a", "no matching closing brace"),
            ("uri-template", "http://{a}", "parse \"http://{a}\": invalid character \"{\" in host name"),
            ("uri-template", "a}", "nested curly braces"),
            ("uri-template", "a{b{c}}", "nested curly braces"),
            ("period", "x", "missing slash"),
            ("period", "2024-01-01T00:00:00Z/P1D", ""),
            ("period", "P1D/2024-01-01T00:00:00Z", ""),
            ("period", "2024-01-01T00:00:00Z/x", "invalid end date-time: less than 20 characters long"),
            ("semver", "1", "versionCore must have 3 numbers separated by dot"),
            ("semver", "1.2.3", ""),
            ("semver", "v1.2.3", "major contains non-digit"),
            ("semver", "1.2.3-a.01", "pre-release numeric identifier starts with zero"),
            ("semver", "01.2.3", "major starts with zero"),
            ("uuid", "x", "must have 5 elements"),
            ("uuid", "123E4567-E89B-12D3-A456-426614174000", ""),
            ("ipv4", "1.2.3", "expected four decimals"),
            ("ipv4", "01.2.3.4", "leading zeros"),
            ("ipv4", "a.b.c.d", "strconv.Atoi: parsing \"a\": invalid syntax"),
            ("ipv4", "256.1.1.1", "decimal must be between 0 and 255"),
            ("ipv6", "x", "missing colon"),
            ("ipv6", "::1%e", "zone id is not a part of ipv6 address"),
            ("hostname", "a..b", "label must be 1 to 63 characters long"),
            ("hostname", "-a", "label starts with hyphen"),
            ("hostname", "a_b", "invalid character '_'"),
            ("email", "a", "missing @"),
            ("email", "a@", "invalid domain: label must be 1 to 63 characters long"),
            ("email", "a@b", ""),
            ("email", "a b@c", "invalid character ' '"),
            ("email", "a@-b", "invalid domain: label starts with hyphen"),
            ("email", ".a@b", "starts with dot"),
            ("date", "2024-13-01", "parsing time \"2024-13-01\": month out of range"),
            ("date", "x", "parsing time \"x\" as \"2006-01-02\": cannot parse \"x\" as \"2006\""),
            ("date-time", "2024-01-01", "less than 20 characters long"),
            ("date-time", "2024-01-01T10:00:00", "less than 20 characters long"),
            ("date-time", "2024-01-01x10:00:00Z", "11th character must be t or T"),
            (
                "date-time",
                "2024-01-32T10:00:00Z",
                "invalid date element: parsing time \"2024-01-32\": day out of range",
            ),
            ("date-time", "2024-01-01T25:00:00Z", "invalid time element: hour/min/sec out of range"),
            ("date-time", "2024-01-01t10:00:00z", ""),
            ("date-time", "2024-01-01T23:59:60Z", ""),
            ("semver", "1.2", "versionCore must have 3 numbers separated by dot"),
            ("semver", "1.2.3+", "build is empty"),
            ("semver", "1.2.3-", "pre-release identifier is empty"),
            ("semver", "1.2.3-a..b", "pre-release identifier is empty"),
            ("semver", "1.2.3-a_b", "invalid character '_' in pre-release identifier"),
            ("semver", "1.2.3+a_b", "invalid character '_' in build identifier"),
            ("semver", "1..3", "minor is empty"),
            ("semver", "1.2.3-01+x.y", "pre-release numeric identifier starts with zero"),
            ("semver", "1.2.a", "patch contains non-digit"),
            ("time", "10:00:00.5", "offset must be 6 characters long"),
            ("time", "23:59:60-00:01", "invalid leap second"),
            ("time", "22:59:60-01:00", ""),
            ("date", "2024-02-30", "parsing time \"2024-02-30\": day out of range"),
            ("date", "2023-02-29", "parsing time \"2023-02-29\": day out of range"),
            (
                "date",
                "2024-1-1",
                "parsing time \"2024-1-1\" as \"2006-01-02\": cannot parse \"1-1\" as \"01\"",
            ),
            ("date", "2024-01-01x", "parsing time \"2024-01-01x\": extra text: \"x\""),
            (
                "date",
                "24-01-01",
                "parsing time \"24-01-01\" as \"2006-01-02\": cannot parse \"24-01-01\" as \"2006\"",
            ),
            (
                "date",
                "2024/01/01",
                "parsing time \"2024/01/01\" as \"2006-01-02\": cannot parse \"/01/01\" as \"-\"",
            ),
            ("date", "2024-00-01", "parsing time \"2024-00-01\": month out of range"),
            ("date", "2024-01-00", "parsing time \"2024-01-00\": day out of range"),
            ("date", "", "parsing time \"\" as \"2006-01-02\": cannot parse \"\" as \"2006\""),
            ("period", "P1D/P1D", "invalid end date-time: less than 20 characters long"),
            ("period", "x/P1D", "invalid start date-time: less than 20 characters long"),
            ("period", "PX/2024-01-01T00:00:00Z", "invalid start duration: missing number"),
            ("duration", "p1d", "must start with P"),
            ("duration", "P1Y1Y", "unit 'Y' out of order"),
            ("duration", "P1.5D", "invalid unit '.'"),
            ("duration", "P-1D", "missing number"),
            ("uri", "mailto:a", ""),
            ("uri", "//a", "relative url"),
            ("uri", "a b:c", "parse \"a b:c\": first path segment in URL cannot contain colon"),
            ("uri", "1a:b", "parse \"1a:b\": first path segment in URL cannot contain colon"),
            ("uri", "http://a/%z", "parse \"http://a/%z\": invalid URL escape \"%z\""),
            ("uri-template", "a/{b}/c", ""),
            ("uri-template", "{a/b}", "no matching closing brace"),
            (
                "date-time",
                "2024-01-01T10:00:00+1:00",
                "invalid time element: offset must be 6 characters long",
            ),
            ("date-time", "2024-01-01T10:00:00.123456Z", ""),
        ] {
            let found = check(format, text).err().unwrap_or_default();
            assert_eq!(found, why, "{format} {text:?}");
        }
    }

    /// As Helm 3.17.3 answered.
    #[test]
    fn formats_are_those_of_helm_3() {
        for (format, text, is) in [
            ("date", "2024-01-01", true),
            ("date", "2024-1-1", false),
            ("date-time", "2024-01-01", true),
            ("date-time", "10:00:00", true),
            ("date-time", "2024-01-01T10:00:00Z", true),
            ("date-time", "2024-01-01T10:00:00", false),
            ("date-time", "2024-01-01t10:00:00z", false),
            ("time", "10:00:00", true),
            ("time", "10:00:00Z", true),
            ("time", "x", false),
            ("hostname", "a_b", false),
            ("hostname", "a.b", true),
            ("hostname", "a.b.", false),
            ("hostname", "-a", false),
            ("hostname", "A-1", true),
            ("email", "a@b", true),
            ("email", "a", false),
            ("email", "a@", false),
            ("email", "A<a@b.c>", true),
            ("email", "a@b@c", false),
            ("ipv4", "1.2.3.4", true),
            ("ipv4", "1.2.3", false),
            ("ipv4", "01.2.3.4", false),
            ("ipv4", "::1.2.3.4", true),
            ("ipv6", "::1", true),
            ("ipv6", "1.2.3.4", false),
            ("ipv6", "fe80::1%eth0", false),
            ("uri", "a", false),
            ("uri", "http://a", true),
            ("uri", "a:b", true),
            ("uri", "http://a b", false),
            ("uri", "%zz", false),
            ("uri-reference", "a", true),
            ("uri-reference", "%zz", false),
            ("uri-reference", "a\\b", false),
            ("uuid", "123e4567-e89b-12d3-a456-426614174000", true),
            ("uuid", "123E4567-E89B-12D3-A456-426614174000", false),
            ("uuid", "x", false),
            ("regex", "(?!x)", false),
            ("regex", "a", true),
            ("json-pointer", "/a", true),
            ("json-pointer", "a", false),
            ("json-pointer", "/a~2", false),
            ("relative-json-pointer", "0/a", true),
            ("relative-json-pointer", "a", false),
            ("uri-template", "http://{a}", false),
            ("uri-template", "{a", false),
            ("int32", "x", true),
            ("idn-email", "a", false),
            ("iri", "a", false),
            ("iri", "http://é", true),
            ("idn-hostname", "-a", true),
            ("duration", "x", true),
            ("password", "x", true),
            ("hostname", "é", false),
            ("hostname", "256", true),
        ] {
            let asserted = Format { name: format.to_owned(), of_3: true };
            assert_eq!(asserted.check(&Value::text(text)).is_ok(), is, "{format} {text:?}");
        }
        for (format, is) in [("hostname", false), ("date-time", false), ("int32", true)] {
            let asserted = Format { name: format.to_owned(), of_3: true };
            assert_eq!(asserted.check(&Value::new(Kind::Int(1))).is_ok(), is, "{format} of a number");
            assert!(asserted.check(&Value::new(Kind::Bool(true))).is_ok(), "{format} of no number");
        }
    }
}
