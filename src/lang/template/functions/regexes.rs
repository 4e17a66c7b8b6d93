//! Sprig's regular expressions.

use super::sprig;
use crate::lang::go::regexp::{GoFinder, RegexpError};
use crate::lang::template::bound::Bound;
use crate::lang::template::error::{Fault, Result};
use crate::lang::template::function::{Call, Flow, Function, Ty};
use crate::lang::template::rope::{Builder, Text};
use crate::lang::template::trace::SetId;
use crate::lang::template::value::{Elem, List, Val};
use std::sync::Arc;

const SS: &[Ty] = &[Ty::Str, Ty::Str];
const SSS: &[Ty] = &[Ty::Str, Ty::Str, Ty::Str];
const SSI: &[Ty] = &[Ty::Str, Ty::Str, Ty::Int];

pub(super) const TABLE: &[Function] = &[
    sprig("regexMatch", SS, Flow::Unites, is_match),
    sprig("mustRegexMatch", SS, Flow::Unites, must_match),
    sprig("regexFindAll", SSI, Flow::Keeps, find_all),
    sprig("mustRegexFindAll", SSI, Flow::Keeps, must_find_all),
    sprig("regexFind", SS, Flow::Keeps, find),
    sprig("mustRegexFind", SS, Flow::Keeps, must_find),
    sprig("regexReplaceAll", SSS, Flow::Keeps, replace_all),
    sprig("mustRegexReplaceAll", SSS, Flow::Keeps, must_replace_all),
    sprig("regexReplaceAllLiteral", SSS, Flow::Keeps, replace_all_literal),
    sprig("mustRegexReplaceAllLiteral", SSS, Flow::Keeps, must_replace_all_literal),
    sprig("regexSplit", SSI, Flow::Keeps, split),
    sprig("mustRegexSplit", SSI, Flow::Keeps, must_split),
    sprig("regexQuoteMeta", &[Ty::Str], Flow::Unites, quote_meta),
];

/// Steps of a pattern that a run uses for the first time, besides its size.
const COMPILING: usize = 1_000;
/// Steps that the largest pattern takes.
const MOST_COMPILING: usize = 60_000;
/// Patterns that a run keeps.
const KEPT: usize = 64;

/// A pattern, or Go's error; `must` functions give it as it is, the others panic.
fn compiled(call: &mut Call<'_>, panics: bool) -> Result<Arc<GoFinder>> {
    let pattern = call.string(0);
    let length = call.bytes(1).len();
    call.cx.step(length / 16)?;
    if let Some(known) = call.cx.patterns.get(&*pattern) {
        return Ok(known.clone());
    }
    if let Err(error) = std::str::from_utf8(call.bytes(0)) {
        let rest = String::from_utf8_lossy(&call.bytes(0)[error.valid_up_to()..]);
        let message = format!("error parsing regexp: invalid UTF-8: `{rest}`");
        let quoted = crate::lang::template::quote::go_quote(call.bytes(0));
        return Err(Fault::new(if panics {
            format!("regexp: Compile({quoted}): {message}")
        } else {
            message
        }));
    }
    call.cx.step(COMPILING)?;
    let finder = GoFinder::kept(&pattern).map_err(|error| match error {
        RegexpError::Rejected(message) if panics => {
            let quoted = if pattern.contains('`') || !is_raw(&pattern) {
                crate::lang::template::quote::go_quote(pattern.as_bytes())
            } else {
                format!("`{pattern}`")
            };
            Fault::new(format!("regexp: Compile({quoted}): {message}"))
        }
        RegexpError::Rejected(message) => Fault::new(message),
        RegexpError::Unknown(_) => Fault::bound(Bound::Unsupported("this regular expression")),
    })?;
    call.cx.step(finder.size.min(MOST_COMPILING))?;
    if finder.is_small() {
        let patterns = &mut call.cx.patterns;
        if patterns.len() >= KEPT {
            patterns.clear();
        }
        patterns.insert((&*pattern).into(), finder.clone());
    }
    Ok(finder)
}

/// `strconv.CanBackquote`.
fn is_raw(text: &str) -> bool {
    !text.chars().any(|c| (c < ' ' && c != '\t') || matches!(c, '`' | '\u{7f}' | '\u{feff}'))
}

/// Pattern and text, which decided on what was found.
fn deciding(call: &mut Call<'_>) -> SetId {
    let pattern = call.set(0);
    let whole = call.set(1);
    let both = call.cx.trace.union(pattern, whole);
    call.cx.trace.decides(both)
}

/// What the pattern chose of a text.
fn chosen(call: &mut Call<'_>, text: Text) -> Val {
    let by = deciding(call);
    Val::text(text).with(by)
}

/// Texts that the pattern chose; none is Go's nil slice.
fn chosen_list(call: &mut Call<'_>, items: Vec<Val>, is_nil: bool) -> Result<Val> {
    call.cx.list(items.len())?;
    let by = deciding(call);
    let list = if is_nil { List::nil(Elem::Str) } else { List::new(items, Elem::Str) };
    Ok(Val::list(list).with(by))
}

fn is_match(call: &mut Call<'_>) -> Result<Val> {
    let found = match compiled(call, false) {
        Ok(finder) => finder.regex.is_match(call.bytes(1)),
        Err(fault) if fault.bound.is_some() => return Err(fault),
        Err(_) => false,
    };
    Ok(Val::bool(found, SetId::NONE))
}

fn must_match(call: &mut Call<'_>) -> Result<Val> {
    let finder = compiled(call, false)?;
    Ok(Val::bool(finder.regex.is_match(call.bytes(1)), SetId::NONE))
}

fn found(call: &mut Call<'_>, panics: bool) -> Result<Val> {
    let finder = compiled(call, panics)?;
    let text = call.text(1);
    let part = finder.regex.find(text.bytes()).map_or_else(Text::empty, |found| text.slice(found.range()));
    Ok(chosen(call, part))
}

fn find(call: &mut Call<'_>) -> Result<Val> {
    found(call, true)
}

fn must_find(call: &mut Call<'_>) -> Result<Val> {
    found(call, false)
}

/// Matches as Go counts them: an empty one right behind another is none.
fn matches(finder: &GoFinder, bytes: &[u8], limit: i64) -> Vec<std::ops::Range<usize>> {
    let most = if limit < 0 { usize::MAX } else { limit as usize };
    let mut out: Vec<std::ops::Range<usize>> = Vec::new();
    let mut at = 0;
    let mut last_end = None;
    while at <= bytes.len() && out.len() < most {
        let Some(found) = finder.regex.find_at(bytes, at) else {
            break;
        };
        let range = found.range();
        let is_empty_behind = range.is_empty() && last_end == Some(range.start);
        if !is_empty_behind {
            out.push(range.clone());
        }
        last_end = Some(range.end);
        at = if range.is_empty() { range.end + width(bytes, range.end) } else { range.end };
    }
    out
}

fn width(bytes: &[u8], at: usize) -> usize {
    if at < bytes.len() { crate::lang::template::quote::decode(&bytes[at..]).1 } else { 1 }
}

fn all(call: &mut Call<'_>, panics: bool) -> Result<Val> {
    let finder = compiled(call, panics)?;
    let text = call.text(1);
    let found = matches(&finder, text.bytes(), call.int(2));
    let items: Vec<Val> = found.into_iter().map(|range| Val::text(text.slice(range))).collect();
    let is_nil = items.is_empty();
    chosen_list(call, items, is_nil)
}

fn find_all(call: &mut Call<'_>) -> Result<Val> {
    all(call, true)
}

fn must_find_all(call: &mut Call<'_>) -> Result<Val> {
    all(call, false)
}

/// One piece of a replacement.
enum Piece {
    Literal(std::ops::Range<usize>),
    Group(usize),
}

/// Go's template of a replacement: `$1`, `${name}`, `$$`.
fn template(finder: &GoFinder, replacement: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'$', &replacement[at..]) {
        let dollar = at + found;
        pieces.push(Piece::Literal(start..dollar));
        let rest = &replacement[dollar + 1..];
        if rest.first() == Some(&b'$') {
            pieces.push(Piece::Literal(dollar..dollar + 1));
            at = dollar + 2;
            start = at;
            continue;
        }
        match reference(rest) {
            Some((name, length)) => {
                if let Some(group) = group_of(finder, name) {
                    pieces.push(Piece::Group(group));
                }
                at = dollar + 1 + length;
                start = at;
            }
            None => {
                pieces.push(Piece::Literal(dollar..dollar + 1));
                at = dollar + 1;
                start = at;
            }
        }
    }
    pieces.push(Piece::Literal(start..replacement.len()));
    pieces
}

fn group_of(finder: &GoFinder, name: &str) -> Option<usize> {
    if name.bytes().all(|b| b.is_ascii_digit()) {
        let is_padded = name.len() > 1 && name.starts_with('0');
        return name.parse().ok().filter(|_| !is_padded).filter(|number: &usize| *number < 100_000_000);
    }
    finder.names.iter().find(|(known, _)| known == name).map(|(_, number)| *number)
}

/// The name behind a `$`, and how long it is written.
fn reference(rest: &[u8]) -> Option<(&str, usize)> {
    let braced = rest.first() == Some(&b'{');
    let inner = std::str::from_utf8(&rest[usize::from(braced)..]).ok()?;
    let is_name = |c: char| c == '_' || c.is_alphanumeric();
    let length = inner.find(|c| !is_name(c)).unwrap_or(inner.len());
    if length == 0 || (braced && inner.as_bytes().get(length) != Some(&b'}')) {
        return None;
    }
    Some((&inner[..length], length + if braced { 2 } else { 0 }))
}

fn replaced(call: &mut Call<'_>, panics: bool, literal: bool) -> Result<Val> {
    let finder = compiled(call, panics)?;
    let (text, replacement) = (call.text(1), call.text(2));
    let pieces = if literal {
        vec![Piece::Literal(0..replacement.len())]
    } else {
        template(&finder, replacement.bytes())
    };
    let bytes = text.bytes();
    let mut out = Builder::default();
    let (mut last, mut search) = (0, 0);
    let mut captures = finder.regex.capture_locations();
    while search <= bytes.len() {
        let Some(found) = finder.regex.captures_read_at(&mut captures, bytes, search) else {
            break;
        };
        let (start, end) = (found.start(), found.end());
        out.push_slice(&text, last..start);
        if end > last || start == 0 {
            for piece in &pieces {
                match piece {
                    Piece::Literal(range) => out.push_slice(&replacement, range.clone()),
                    Piece::Group(number) => {
                        if let Some((start, end)) = captures.get(*number) {
                            out.push_slice(&text, start..end);
                        }
                    }
                }
            }
        }
        if out.len() > call.cx.limits.text {
            call.cx.text(out.len())?;
        }
        call.cx.step(1)?;
        last = end;
        search = if search + width(bytes, search) > end {
            search + width(bytes, search)
        } else if search + 1 > end {
            search + 1
        } else {
            end
        };
    }
    out.push_slice(&text, last..bytes.len());
    call.cx.text(out.len())?;
    Ok(chosen(call, out.finish()))
}

fn replace_all(call: &mut Call<'_>) -> Result<Val> {
    replaced(call, true, false)
}

fn must_replace_all(call: &mut Call<'_>) -> Result<Val> {
    replaced(call, false, false)
}

fn replace_all_literal(call: &mut Call<'_>) -> Result<Val> {
    replaced(call, true, true)
}

fn must_replace_all_literal(call: &mut Call<'_>) -> Result<Val> {
    replaced(call, false, true)
}

/// `Regexp.Split`.
fn parts(call: &mut Call<'_>, panics: bool) -> Result<Val> {
    let finder = compiled(call, panics)?;
    let text = call.text(1);
    let limit = call.int(2);
    if limit == 0 {
        return chosen_list(call, Vec::new(), true);
    }
    let bytes = text.bytes();
    let mut items = Vec::new();
    if !call.bytes(0).is_empty() && bytes.is_empty() {
        items.push(Val::text(Text::empty()));
        return chosen_list(call, items, false);
    }
    let (mut start, mut end) = (0, 0);
    for range in matches(&finder, bytes, limit) {
        if limit > 0 && items.len() as i64 == limit - 1 {
            break;
        }
        end = range.start;
        if range.end != 0 {
            items.push(Val::text(text.slice(start..end)));
        }
        start = range.end;
    }
    if end != bytes.len() {
        items.push(Val::text(text.slice(start..bytes.len())));
    }
    chosen_list(call, items, false)
}

fn split(call: &mut Call<'_>) -> Result<Val> {
    parts(call, true)
}

fn must_split(call: &mut Call<'_>) -> Result<Val> {
    parts(call, false)
}

fn quote_meta(call: &mut Call<'_>) -> Result<Val> {
    let mut out = Vec::new();
    for byte in call.bytes(0) {
        if br"\.+*?()|[]{}^$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    call.made(out)
}
