//! `format`, as `format.go` of github.com/santhosh-tekuri/jsonschema v6 asserts it up to
//! draft 7. A format that is not known here is not asserted, as upstream does.

use std::net::Ipv6Addr;

/// Whether a text is of a format; why not.
pub(super) fn check(format: &str, text: &str) -> Result<(), String> {
    match format {
        "ipv4" => ipv4(text),
        "ipv6" => ipv6(text),
        "hostname" => hostname(text),
        "email" => email(text),
        "uuid" => uuid(text),
        "date" => date(text),
        "date-time" => date_time(text),
        "uri" | "iri" => uri(text),
        "semver" => {
            let is = text.split('.').count() >= 3 && crate::lang::template::Version::parse(text).is_ok();
            require(is, "invalid semver")
        }
        "regex" => crate::lang::go::regexp::GoRegexp::new(text).map(drop).map_err(|error| error.to_string()),
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

fn date(text: &str) -> Result<(), String> {
    let is = text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok();
    require(is, &format!("parsing time {text:?} as \"2006-01-02\": cannot parse"))
}

fn date_time(text: &str) -> Result<(), String> {
    require(text.len() >= 20, "less than 20 characters long")?;
    let separator = text.as_bytes()[10];
    require(matches!(separator, b'T' | b't'), "11th character must be t or T")?;
    let date_part = text.get(..10).ok_or("invalid date element")?;
    date(date_part).map_err(|why| format!("invalid date element: {why}"))?;
    let zoned = text.replace('t', "T").replace('z', "Z");
    require(zoned.parse::<jiff::Timestamp>().is_ok(), "invalid time element")
}

fn uri(text: &str) -> Result<(), String> {
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let is = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && !text.contains(|c: char| c.is_control() || c == ' ');
    require(is, "relative url")
}
