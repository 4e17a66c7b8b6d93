//! What an operator does with a value.
//!
//! Mirrors `envsubst/funcs.go` and `envsubst/path/match.go` of fluxcd/pkg.
//! Lengths, offsets and trimming work on bytes, so that a result may be no
//! UTF-8; a byte outside UTF-8 counts as one character, as in Go.

use super::{MAX_EXPANSION, Operator};

/// Why a function has no result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FunctionFailure {
    /// A negative length: upstream slices out of bounds.
    NegativeLength,
    /// Larger than [`MAX_EXPANSION`].
    TooLarge,
}

/// Longer values are not matched against patterns: matching every prefix is
/// quadratic.
const MAX_TRIMMED: usize = 4096;

/// Applies `operator` to a value. `None` where working it out would take too
/// long.
pub(super) fn apply(
    operator: Operator,
    value: &str,
    operands: &[&[u8]],
) -> Result<Option<Vec<u8>>, FunctionFailure> {
    let bytes = value.as_bytes();
    let result = match operator {
        Operator::Value | Operator::Nothing | Operator::Default => bytes.to_vec(),
        Operator::Length => bytes.len().to_string().into_bytes(),
        Operator::Lower => value.chars().map(lower).collect::<String>().into_bytes(),
        Operator::Upper => value.chars().map(upper).collect::<String>().into_bytes(),
        Operator::LowerFirst => first(value, lower),
        Operator::UpperFirst => first(value, upper),
        Operator::Substring => substring(bytes, operands)?,
        Operator::TrimShortestPrefix
        | Operator::TrimLongestPrefix
        | Operator::TrimShortestSuffix
        | Operator::TrimLongestSuffix => {
            let pattern = operands.first().copied().unwrap_or_default();
            if bytes.len() > MAX_TRIMMED || pattern.len() > MAX_TRIMMED {
                return Ok(None);
            }
            match operator {
                Operator::TrimShortestPrefix => trim_shortest(bytes, pattern).to_vec(),
                Operator::TrimLongestPrefix => trim_longest(bytes, pattern).to_vec(),
                Operator::TrimShortestSuffix => reverse(trim_shortest(&reverse(bytes), &reverse(pattern))),
                _ => reverse(trim_longest(&reverse(bytes), &reverse(pattern))),
            }
        }
        Operator::ReplaceFirst => replace(bytes, operands, 1)?,
        Operator::ReplaceAll => replace(bytes, operands, usize::MAX)?,
        Operator::ReplacePrefix => match operands {
            [prefix, with] if bytes.starts_with(prefix) => [with, &bytes[prefix.len()..]].concat(),
            _ => bytes.to_vec(),
        },
        Operator::ReplaceSuffix => match operands {
            [suffix, with] if bytes.ends_with(suffix) => {
                [&bytes[..bytes.len() - suffix.len()], with].concat()
            }
            _ => bytes.to_vec(),
        },
    };
    Ok(Some(result))
}

/// Go maps one character to one, so that `ß` stays where Rust writes `SS`.
fn upper(c: char) -> char {
    only(c.to_uppercase(), c)
}

fn lower(c: char) -> char {
    if c == 'İ' {
        return 'i';
    }
    only(c.to_lowercase(), c)
}

fn only(mut mapped: impl Iterator<Item = char>, otherwise: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => otherwise,
    }
}

fn first(value: &str, map: fn(char) -> char) -> Vec<u8> {
    let mut chars = value.chars();
    match chars.next() {
        Some(c) => format!("{}{}", map(c), chars.as_str()).into_bytes(),
        None => Vec::new(),
    }
}

/// `toSubstr`: an operand that is no number gives the whole value.
fn substring(value: &[u8], operands: &[&[u8]]) -> Result<Vec<u8>, FunctionFailure> {
    let Some(offset) = operands.first().and_then(|text| integer(text)) else {
        return Ok(value.to_vec());
    };
    let size = value.len() as i64;
    let offset = if offset < 0 { (size + offset).max(0) } else { offset };
    let end = match operands.get(1) {
        None => size,
        Some(text) => match integer(text) {
            None => return Ok(value.to_vec()),
            Some(length) if length < 0 && offset.saturating_add(length) < size => {
                return Err(FunctionFailure::NegativeLength);
            }
            Some(length) => offset.saturating_add(length).min(size),
        },
    };
    if offset >= size {
        return Ok(Vec::new());
    }
    Ok(value[offset as usize..end as usize].to_vec())
}

/// `strconv.Atoi`: an optional sign and digits.
fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// `strings.Replace` with at most `limit` replacements. An empty pattern
/// matches before every character and at the end.
fn replace(value: &[u8], operands: &[&[u8]], limit: usize) -> Result<Vec<u8>, FunctionFailure> {
    let pattern = operands.first().copied().unwrap_or_default();
    let with = operands.get(1).copied().unwrap_or_default();
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    let mut replaced = 0;
    while replaced < limit {
        let before = match pattern {
            [] if replaced == 0 => 0,
            [] if rest.is_empty() => break,
            [] => decode(rest).1,
            _ => match memchr::memmem::find(rest, pattern) {
                Some(at) => at,
                None => break,
            },
        };
        out.extend_from_slice(&rest[..before]);
        out.extend_from_slice(with);
        if out.len() > MAX_EXPANSION {
            return Err(FunctionFailure::TooLarge);
        }
        rest = &rest[before + pattern.len()..];
        replaced += 1;
    }
    out.extend_from_slice(rest);
    Ok(out)
}

/// `utf8.DecodeRune`: the character at the start and its width in bytes.
fn decode(bytes: &[u8]) -> (char, usize) {
    let valid = match std::str::from_utf8(&bytes[..bytes.len().min(4)]) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    };
    match valid.chars().next() {
        Some(c) => (c, c.len_utf8()),
        None => (char::REPLACEMENT_CHARACTER, bytes.len().min(1)),
    }
}

fn reverse(bytes: &[u8]) -> Vec<u8> {
    let mut chars = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (c, width) = decode(rest);
        chars.push(c);
        rest = &rest[width..];
    }
    chars.into_iter().rev().collect::<String>().into_bytes()
}

/// Removes the shortest prefix of at least one byte that matches.
fn trim_shortest<'v>(value: &'v [u8], pattern: &[u8]) -> &'v [u8] {
    let mut shortest = 0;
    for end in (1..=value.len()).rev() {
        match matches(pattern, &value[..end]) {
            None => return value,
            Some(true) => shortest = end,
            Some(false) => {}
        }
    }
    &value[shortest..]
}

/// Removes the longest prefix that matches.
fn trim_longest<'v>(value: &'v [u8], pattern: &[u8]) -> &'v [u8] {
    for end in (1..=value.len()).rev() {
        match matches(pattern, &value[..end]) {
            None => return value,
            Some(true) => return &value[end..],
            Some(false) => {}
        }
    }
    value
}

/// Go's `path.Match` without its special treatment of `/`. `None` for a
/// malformed pattern, which is noticed only where matching gets that far.
fn matches(mut pattern: &[u8], mut name: &[u8]) -> Option<bool> {
    'chunks: while !pattern.is_empty() {
        let (star, chunk, rest) = next_chunk(pattern);
        pattern = rest;
        if star && chunk.is_empty() {
            return Some(true);
        }
        if let Some(after) = match_chunk(chunk, name)?
            && (after.is_empty() || !pattern.is_empty())
        {
            name = after;
            continue;
        }
        if star {
            for skipped in 1..=name.len() {
                if let Some(after) = match_chunk(chunk, &name[skipped..])? {
                    if pattern.is_empty() && !after.is_empty() {
                        continue;
                    }
                    name = after;
                    continue 'chunks;
                }
            }
        }
        return Some(false);
    }
    Some(name.is_empty())
}

/// Splits off leading stars and the text up to the next star outside brackets.
fn next_chunk(pattern: &[u8]) -> (bool, &[u8], &[u8]) {
    let stars = pattern.iter().take_while(|b| **b == b'*').count();
    let pattern = &pattern[stars..];
    let mut in_class = false;
    let mut end = 0;
    while end < pattern.len() {
        match pattern[end] {
            b'\\' if end + 1 < pattern.len() => end += 1,
            b'[' => in_class = true,
            b']' => in_class = false,
            b'*' if !in_class => break,
            _ => {}
        }
        end += 1;
    }
    (stars > 0, &pattern[..end], &pattern[end..])
}

/// Matches a chunk without stars at the start of `name`. `Some(Some(rest))` on
/// a match, `Some(None)` without one, `None` for a malformed chunk.
fn match_chunk<'n>(mut chunk: &[u8], mut name: &'n [u8]) -> Option<Option<&'n [u8]>> {
    while let Some(&head) = chunk.first() {
        if name.is_empty() {
            return Some(None);
        }
        match head {
            b'[' => {
                let (c, width) = decode(name);
                name = &name[width..];
                let (hit, rest) = match_class(&chunk[1..], c)?;
                if !hit {
                    return Some(None);
                }
                chunk = rest;
            }
            b'?' => {
                name = &name[decode(name).1..];
                chunk = &chunk[1..];
            }
            _ => {
                if head == b'\\' {
                    chunk = &chunk[1..];
                }
                if *chunk.first()? != name[0] {
                    return Some(None);
                }
                chunk = &chunk[1..];
                name = &name[1..];
            }
        }
    }
    Some(Some(name))
}

/// Matches what follows `[`; the rest begins after `]`.
fn match_class(mut class: &[u8], c: char) -> Option<(bool, &[u8])> {
    let negated = *class.first()? == b'^';
    if negated {
        class = &class[1..];
    }
    let mut hit = false;
    let mut ranges = 0;
    loop {
        if ranges > 0 && class.first() == Some(&b']') {
            return Some((hit != negated, &class[1..]));
        }
        let (low, rest) = class_character(class)?;
        let mut high = low;
        class = rest;
        if class.first() == Some(&b'-') {
            (high, class) = class_character(&class[1..])?;
        }
        hit |= (low..=high).contains(&c);
        ranges += 1;
    }
}

fn class_character(class: &[u8]) -> Option<(char, &[u8])> {
    let class = match class.first()? {
        b'-' | b']' => return None,
        b'\\' => &class[1..],
        _ => class,
    };
    let (c, width) = decode(class);
    let rest = class.get(width..).filter(|rest| !rest.is_empty())?;
    if c == char::REPLACEMENT_CHARACTER && width <= 1 {
        return None;
    }
    Some((c, rest))
}
