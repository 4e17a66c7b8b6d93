//! Words and numbers of a pattern: escapes, repeat counts, names of classes.

/// A class that no character is in.
pub(super) const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

pub(super) fn code_point(c: char) -> String {
    format!(r"\x{{{:X}}}", u32::from(c))
}

/// Adds a range to the items of a class. Surrogates may be written in Go; no
/// text holds any, so they are cut off at both ends.
pub(super) fn push_range(items: &mut String, low: u32, high: u32) {
    let low = if (0xD800..0xE000).contains(&low) { 0xE000 } else { low };
    let high = if (0xD800..0xE000).contains(&high) { 0xD7FF } else { high };
    if low <= high {
        items.push_str(&format!(r"\x{{{low:X}}}-\x{{{high:X}}}"));
    }
}

pub(super) fn parse_octal(first: char, rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let mut code = first.to_digit(8)?;
    for position in 1..3 {
        match rest.clone().next().and_then(|c| c.to_digit(8)) {
            Some(digit) => {
                code = code * 8 + digit;
                rest.next();
            }
            // A single digit from 1 to 7 would be a backreference.
            None if position == 1 && first != '0' => return None,
            None => break,
        }
    }
    Some(code)
}

pub(super) fn parse_hexadecimal(rest: &mut std::str::Chars<'_>) -> Option<u32> {
    let first = rest.next()?;
    if first != '{' {
        let second = rest.next()?;
        return Some(first.to_digit(16)? * 16 + second.to_digit(16)?);
    }
    let mut code = None;
    loop {
        let c = rest.next()?;
        if c == '}' {
            return code;
        }
        let value = code.unwrap_or(0) * 16 + c.to_digit(16)?;
        if value > u32::from(char::MAX) {
            return None;
        }
        code = Some(value);
    }
}

/// `{n}`, `{n,}` or `{n,m}` at the front: the counts and what follows. Anything
/// else is a literal brace to Go, `{,m}` included.
pub(super) fn parse_counts(text: &str) -> Option<(u32, Option<u32>, &str)> {
    let (min, rest) = parse_count(text.strip_prefix('{')?)?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((min, Some(min), after));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(after) = rest.strip_prefix('}') {
        return Some((min, None, after));
    }
    let (max, rest) = parse_count(rest)?;
    Some((min, Some(max), rest.strip_prefix('}')?))
}

/// A count without leading zeros; one too large stays above every limit.
fn parse_count(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}

pub(super) fn is_posix_class(name: &str) -> bool {
    matches!(
        name.strip_prefix('^').unwrap_or(name),
        "alnum"
            | "alpha"
            | "ascii"
            | "blank"
            | "cntrl"
            | "digit"
            | "graph"
            | "lower"
            | "print"
            | "punct"
            | "space"
            | "upper"
            | "word"
            | "xdigit"
    )
}

pub(super) enum Property {
    /// The items of a class in the crate's syntax.
    Class(String),
    No,
    Unknown,
}

/// Finds a Unicode category or script by the name that Go knows it by.
///
/// Go has the general categories with their long names, the scripts by their
/// long names only, and `Any`, `ASCII`, `Assigned`; no other properties and no
/// `name=value`. The crate knows all of these names and more.
pub(super) fn property(name: &str) -> Property {
    let plain: String =
        name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect();
    let well_formed = !plain.is_empty() && plain.bytes().all(|b| b.is_ascii_alphanumeric());
    // The crate ignores a prefix `is`, as no name of Go's begins.
    if !well_formed || plain.starts_with("is") {
        return Property::No;
    }
    match &*plain {
        "any" => return Property::Class(r"\x{0}-\x{10FFFF}".into()),
        "ascii" => return Property::Class(r"\x{0}-\x{7F}".into()),
        // Only surrogates, which are in no text.
        "cs" | "surrogate" => return Property::Class(NOTHING.into()),
        // Scripts of Unicode 17, which not every Go in use has.
        "beriaerfe" | "sidetic" | "taiyo" | "tolongsiki" => return Property::Unknown,
        _ => {}
    }
    // All short names of scripts have four letters; these are also long names.
    let short = plain.len() == 4 && !matches!(&*plain, "cham" | "kawi" | "lisu" | "newa" | "thai" | "toto");
    for candidate in [format!(r"\p{{gc={plain}}}"), format!(r"\p{{sc={plain}}}")] {
        let is_script = candidate.starts_with(r"\p{sc");
        if !(is_script && short) && regex::Regex::new(&candidate).is_ok() {
            return Property::Class(candidate);
        }
    }
    Property::No
}
