//! Sprig's functions over texts. Parts go along wherever a byte of the result is a
//! byte of an argument.

use super::{sprig, strval, variadic};
use crate::lang::template::error::{Result, fail};
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, Ty};
use crate::lang::template::quote::decode;
use crate::lang::template::rope::{Builder, Text};
use crate::lang::template::trace::ProvId;
use crate::lang::template::value::{Kind, Val};

const S: &[Ty] = &[Ty::Str];
const SS: &[Ty] = &[Ty::Str, Ty::Str];
const IS: &[Ty] = &[Ty::Int, Ty::Str];
const ANY: &[Ty] = &[Ty::Any];

pub(super) const TABLE: &[Function] = &[
    sprig("abbrev", IS, Flow::Keeps, abbrev),
    sprig("abbrevboth", &[Ty::Int, Ty::Int, Ty::Str], Flow::Keeps, abbrev_both),
    sprig("trunc", IS, Flow::Keeps, trunc),
    sprig("trim", S, Flow::Keeps, trim),
    sprig("upper", S, Flow::Keeps, upper),
    sprig("lower", S, Flow::Keeps, lower),
    sprig("title", S, Flow::Keeps, title),
    sprig("untitle", S, Flow::Keeps, untitle),
    sprig("substr", &[Ty::Int, Ty::Int, Ty::Str], Flow::Keeps, substr),
    sprig("repeat", IS, Flow::Keeps, repeat),
    sprig("trimall", SS, Flow::Keeps, trim_all),
    sprig("trimAll", SS, Flow::Keeps, trim_all),
    sprig("trimSuffix", SS, Flow::Keeps, trim_suffix),
    sprig("trimPrefix", SS, Flow::Keeps, trim_prefix),
    sprig("nospace", S, Flow::Keeps, nospace),
    sprig("initials", S, Flow::Keeps, initials),
    sprig("swapcase", S, Flow::Keeps, swapcase),
    sprig("contains", SS, Flow::Unites, contains),
    sprig("hasPrefix", SS, Flow::Unites, has_prefix),
    sprig("hasSuffix", SS, Flow::Unites, has_suffix),
    variadic("quote", ANY, Flow::Keeps, quote),
    variadic("squote", ANY, Flow::Keeps, squote),
    variadic("cat", ANY, Flow::Keeps, cat),
    sprig("indent", IS, Flow::Keeps, indent),
    sprig("nindent", IS, Flow::Keeps, nindent),
    sprig("replace", &[Ty::Str, Ty::Str, Ty::Str], Flow::Keeps, replace),
    sprig("plural", &[Ty::Str, Ty::Str, Ty::Int], Flow::Picks, plural),
    sprig("toString", ANY, Flow::Keeps, to_string),
    sprig("wrap", IS, Flow::Unites, wrap),
    sprig("wrapWith", &[Ty::Int, Ty::Str, Ty::Str], Flow::Unites, wrap_with),
];

/// A part of an argument. Where a part of it is unknown, so is where it would be cut.
fn cut(call: &mut Call<'_>, index: usize, range: std::ops::Range<usize>) -> Result<Val> {
    let text = call.text(index);
    let part = text.slice(range);
    if part.len() < text.len() && flow::has_unknown(&call.cx.trace, &text) {
        let set = flow::of_text(&mut call.cx.trace, &text);
        return Ok(Val::text(flow::also(&mut call.cx.trace, &part, set)));
    }
    Ok(Val::text(part))
}

fn trunc(call: &mut Call<'_>) -> Result<Val> {
    let (count, len) = (call.int(0), call.bytes(1).len() as i64);
    if count < 0 && len + count > 0 {
        return cut(call, 1, (len + count) as usize..len as usize);
    }
    if count >= 0 && len > count {
        return cut(call, 1, 0..count as usize);
    }
    cut(call, 1, 0..len as usize)
}

/// Go's panic of a slice out of range.
fn slice_range(start: i64, end: i64, len: usize) -> Result<std::ops::Range<usize>> {
    if end < 0 || end > len as i64 {
        return fail(if end < 0 {
            format!("runtime error: slice bounds out of range [:{end}]")
        } else {
            format!("runtime error: slice bounds out of range [:{end}] with length {len}")
        });
    }
    if start > end {
        return fail(format!("runtime error: slice bounds out of range [{start}:{end}]"));
    }
    Ok(start as usize..end as usize)
}

fn substr(call: &mut Call<'_>) -> Result<Val> {
    let (start, end, len) = (call.int(0), call.int(1), call.bytes(2).len());
    let range = if start < 0 {
        slice_range(0, end, len)?
    } else if end < 0 || end > len as i64 {
        if start > len as i64 {
            return fail(format!("runtime error: slice bounds out of range [{start}:{len}]"));
        }
        start as usize..len
    } else {
        slice_range(start, end, len)?
    };
    cut(call, 2, range)
}

/// A range of characters without those at both ends that match.
fn trimmed(text: &str, matches: impl Fn(char) -> bool + Copy) -> std::ops::Range<usize> {
    let start = text.len() - text.trim_start_matches(matches).len();
    let end = start + text[start..].trim_end_matches(matches).len();
    start..end
}

/// Go's `unicode.IsSpace`.
fn is_space(c: char) -> bool {
    c.is_whitespace()
}

fn trim(call: &mut Call<'_>) -> Result<Val> {
    let text = call.string(0);
    let whole = call.bytes(0).len();
    let range = if text.len() == whole { trimmed(&text, is_space) } else { 0..whole };
    let text = call.text(0);
    Ok(Val::text(text.slice(range)))
}

fn trim_all(call: &mut Call<'_>) -> Result<Val> {
    let set = call.string(0);
    let text = call.string(1);
    let whole = call.bytes(1).len();
    let range = if text.len() == whole { trimmed(&text, |c| set.contains(c)) } else { 0..whole };
    let text = call.text(1);
    Ok(Val::text(text.slice(range)))
}

fn trim_suffix(call: &mut Call<'_>) -> Result<Val> {
    let (suffix, text) = (call.bytes(0), call.bytes(1));
    let end = text.len() - if text.ends_with(suffix) { suffix.len() } else { 0 };
    Ok(Val::text(call.text(1).slice(0..end)))
}

fn trim_prefix(call: &mut Call<'_>) -> Result<Val> {
    let (prefix, text) = (call.bytes(0), call.bytes(1));
    let (start, end) = (if text.starts_with(prefix) { prefix.len() } else { 0 }, text.len());
    Ok(Val::text(call.text(1).slice(start..end)))
}

/// Writes each character of an argument anew, with its own provenance. `None` leaves
/// it out.
fn by_character(
    call: &mut Call<'_>,
    index: usize,
    mut change: impl FnMut(char, &mut String) -> bool,
) -> Result<Val> {
    let text = call.text(index);
    let mut out = Builder::default();
    let mut buffer = String::new();
    for (range, prov) in text.runs() {
        for c in String::from_utf8_lossy(&text.bytes()[range]).chars() {
            buffer.clear();
            if change(c, &mut buffer) {
                out.push(buffer.as_bytes(), prov);
            }
        }
    }
    call.built(out)
}

/// Go maps a character to one character, never to two.
pub(super) fn upper_of(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

pub(super) fn lower_of(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        (Some(one), Some(_)) if c == 'İ' => one,
        _ => c,
    }
}

fn upper(call: &mut Call<'_>) -> Result<Val> {
    by_character(call, 0, |c, out| {
        out.push(upper_of(c));
        true
    })
}

fn lower(call: &mut Call<'_>) -> Result<Val> {
    by_character(call, 0, |c, out| {
        out.push(lower_of(c));
        true
    })
}

fn title(call: &mut Call<'_>) -> Result<Val> {
    let mut after_separator = true;
    by_character(call, 0, |c, out| {
        out.push(if after_separator { upper_of(c) } else { c });
        after_separator = if c.is_ascii() {
            !(c.is_ascii_alphanumeric() || c == '_')
        } else {
            !c.is_alphanumeric() && is_space(c)
        };
        true
    })
}

fn untitle(call: &mut Call<'_>) -> Result<Val> {
    let mut at_start = true;
    by_character(call, 0, |c, out| {
        if is_space(c) {
            at_start = true;
            out.push(c);
        } else {
            out.push(if at_start { lower_of(c) } else { c });
            at_start = false;
        }
        true
    })
}

fn swapcase(call: &mut Call<'_>) -> Result<Val> {
    let mut after_space = true;
    by_character(call, 0, |c, out| {
        if c.is_uppercase() {
            out.push(lower_of(c));
            after_space = false;
        } else if c.is_lowercase() {
            // Behind white space, goutils makes title case, which is upper case here.
            out.push(upper_of(c));
            after_space = false;
        } else {
            after_space = is_space(c);
            out.push(c);
        }
        true
    })
}

/// As [`by_character`], where Go's library takes each byte for a character.
fn by_byte(call: &mut Call<'_>, mut keeps: impl FnMut(char) -> bool) -> Result<Val> {
    let text = call.text(0);
    let mut out = Builder::default();
    let mut buffer = [0; 4];
    for (range, prov) in text.runs() {
        for byte in &text.bytes()[range] {
            let c = char::from(*byte);
            if keeps(c) {
                out.push(c.encode_utf8(&mut buffer).as_bytes(), prov);
            }
        }
    }
    call.built(out)
}

fn nospace(call: &mut Call<'_>) -> Result<Val> {
    if !call.bytes(0).iter().any(|byte| is_space(char::from(*byte))) {
        return Ok(call.args[0].clone());
    }
    by_byte(call, |c| !is_space(c))
}

fn initials(call: &mut Call<'_>) -> Result<Val> {
    let mut at_start = true;
    by_byte(call, |c| {
        if is_space(c) {
            at_start = true;
            return false;
        }
        std::mem::take(&mut at_start)
    })
}

fn repeat(call: &mut Call<'_>) -> Result<Val> {
    let count = call.int(0);
    if count < 0 {
        return fail("strings: negative Repeat count");
    }
    let text = call.text(1);
    let length = text.len().saturating_mul(count as usize);
    call.cx.text(length)?;
    call.cx.step(if text.is_empty() { 0 } else { count as usize })?;
    let mut out = Builder::default();
    for _ in 0..if text.is_empty() { 0 } else { count } {
        out.push_text(&text);
    }
    Ok(Val::text(out.finish()))
}

fn contains(call: &mut Call<'_>) -> Result<Val> {
    let found = memchr::memmem::find(call.bytes(1), call.bytes(0)).is_some();
    Ok(Val::bool(found, Default::default()))
}

fn has_prefix(call: &mut Call<'_>) -> Result<Val> {
    Ok(Val::bool(call.bytes(1).starts_with(call.bytes(0)), Default::default()))
}

fn has_suffix(call: &mut Call<'_>) -> Result<Val> {
    Ok(Val::bool(call.bytes(1).ends_with(call.bytes(0)), Default::default()))
}

fn quote(call: &mut Call<'_>) -> Result<Val> {
    let mut out = Builder::default();
    for val in call.args.iter().filter(|val| !val.is_nil()) {
        if !out.is_empty() {
            out.push(b" ", ProvId::default());
        }
        let text = strval(call, val);
        flow::push_quoted(&mut out, &text);
        call.cx.text(out.len())?;
    }
    call.built(out)
}

fn squote(call: &mut Call<'_>) -> Result<Val> {
    let mut out = Builder::default();
    for val in call.args.iter().filter(|val| !val.is_nil()) {
        if !out.is_empty() {
            out.push(b" ", ProvId::default());
        }
        let text = super::percent_v(call, val);
        let prov = if text.is_empty() { ProvId::default() } else { text.prov_at(0) };
        out.push(b"'", prov);
        out.push_text(&text);
        out.push(b"'", if text.is_empty() { prov } else { text.prov_at(text.len() - 1) });
        call.cx.text(out.len())?;
    }
    call.built(out)
}

fn cat(call: &mut Call<'_>) -> Result<Val> {
    let mut out = Builder::default();
    for (index, val) in call.args.iter().filter(|val| !val.is_nil()).enumerate() {
        if index > 0 {
            out.push(b" ", ProvId::default());
        }
        let text = super::percent_v(call, val);
        out.push_text(&text);
        call.cx.text(out.len())?;
    }
    call.built(out)
}

fn to_string(call: &mut Call<'_>) -> Result<Val> {
    let text = strval(call, &call.args[0]);
    call.cx.text(text.len())?;
    Ok(Val::text(text))
}

/// `pad` behind every line break; where there are many, that is where much is made.
fn indented(call: &mut Call<'_>, before: &[u8]) -> Result<Val> {
    let spaces = call.int(0);
    if spaces < 0 {
        return fail("strings: negative Repeat count");
    }
    let text = call.text(1);
    let lines = 1 + memchr::memchr_iter(b'\n', text.bytes()).count();
    call.cx.text(text.len().saturating_add(lines.saturating_mul(spaces as usize)))?;
    let pad = vec![b' '; spaces as usize];
    let mut out = Builder::default();
    let first = if text.is_empty() { ProvId::default() } else { text.prov_at(0) };
    out.push(before, first);
    out.push(&pad, first);
    for (range, prov) in text.runs() {
        for line in text.bytes()[range].split_inclusive(|b| *b == b'\n') {
            out.push(line, prov);
            if line.ends_with(b"\n") {
                out.push(&pad, prov);
            }
        }
    }
    Ok(Val::text(out.finish()))
}

fn indent(call: &mut Call<'_>) -> Result<Val> {
    indented(call, b"")
}

fn nindent(call: &mut Call<'_>) -> Result<Val> {
    indented(call, b"\n")
}

fn replace(call: &mut Call<'_>) -> Result<Val> {
    let (old, new, text) = (call.text(0), call.text(1), call.text(2));
    let by = call.deciding(0);
    let new = flow::also(&mut call.cx.trace, &new, by);
    Ok(Val::text(replaced(call, &text, &old, &new)?))
}

/// `strings.ReplaceAll`.
fn replaced(call: &mut Call<'_>, text: &Text, old: &Text, new: &Text) -> Result<Text> {
    let bytes = text.bytes();
    let mut out = Builder::default();
    let mut start = 0;
    if old.is_empty() {
        let mut at = 0;
        while at <= bytes.len() {
            out.push_text(new);
            if at == bytes.len() {
                break;
            }
            let (_, length) = decode(&bytes[at..]);
            out.push_slice(text, at..at + length);
            at += length;
            call.cx.text(0)?;
            if out.len() > call.cx.limits.text {
                call.cx.text(out.len())?;
            }
        }
        call.cx.text(out.len())?;
        return Ok(out.finish());
    }
    let count = memchr::memmem::find_iter(bytes, old.bytes()).count();
    if count == 0 {
        return Ok(text.clone());
    }
    call.cx.text((bytes.len() - count * old.len()).saturating_add(count.saturating_mul(new.len())))?;
    for at in memchr::memmem::find_iter(bytes, old.bytes()) {
        out.push_slice(text, start..at);
        out.push_text(new);
        start = at + old.len();
    }
    out.push_slice(text, start..bytes.len());
    Ok(out.finish())
}

fn plural(call: &mut Call<'_>) -> Result<Val> {
    let chosen = call.args[usize::from(call.int(2) != 1)].clone();
    let by = call.set(2);
    Ok(flow::decided(&mut call.cx.trace, chosen, by))
}

/// `goutils.AbbreviateFull`: the range that is kept, and whether dots stand before and
/// behind it.
fn abbreviated(len: i64, offset: i64, width: i64) -> Option<(std::ops::Range<usize>, bool, bool)> {
    let max = len;
    if width < 4 || max <= width {
        return (max <= width && width >= 4).then_some((0..len as usize, false, false));
    }
    let mut offset = offset.min(max);
    if max - offset < width - 3 {
        offset = max - (width - 3);
    }
    if offset <= 4 {
        return Some((0..(width - 3) as usize, false, true));
    }
    if width < 7 {
        return None;
    }
    if offset + width - 3 < max {
        let inner = width - 3;
        let rest = max - offset;
        // What is left is cut from its own beginning.
        if rest <= inner {
            return Some((offset as usize..max as usize, true, false));
        }
        return Some((offset as usize..(offset + inner - 3) as usize, true, true));
    }
    Some(((max - (width - 3)) as usize..max as usize, true, false))
}

fn abbreviate(call: &mut Call<'_>, index: usize, offset: i64, width: i64) -> Result<Val> {
    let text = call.text(index);
    let Some((range, before, behind)) = abbreviated(text.len() as i64, offset, width) else {
        return call.made("");
    };
    let mut out = Builder::default();
    let dots = |at: usize| if text.is_empty() { ProvId::default() } else { text.prov_at(at) };
    if before {
        out.push(b"...", dots(0));
    }
    out.push_slice(&text, range);
    if behind {
        out.push(b"...", dots(text.len() - 1));
    }
    let text = out.finish();
    call.cx.text(text.len())?;
    Ok(Val::text(text))
}

fn abbrev(call: &mut Call<'_>) -> Result<Val> {
    let width = call.int(0);
    if width < 4 {
        return Ok(call.args[1].clone());
    }
    abbreviate(call, 1, 0, width)
}

fn abbrev_both(call: &mut Call<'_>) -> Result<Val> {
    let (left, right) = (call.int(0), call.int(1));
    if right < 4 || (left > 0 && right < 7) {
        return Ok(call.args[2].clone());
    }
    abbreviate(call, 2, left, right)
}

fn wrap(call: &mut Call<'_>) -> Result<Val> {
    let text = wrapped(call.bytes(1), call.int(0), "\n", false);
    call.made(text)
}

fn wrap_with(call: &mut Call<'_>) -> Result<Val> {
    let separator = call.string(1);
    let separator = if separator.is_empty() { "\n" } else { &separator };
    let text = wrapped(call.bytes(2), call.int(0), separator, true);
    call.made(text)
}

/// `goutils.WrapCustom`.
fn wrapped(bytes: &[u8], width: i64, separator: &str, long_words: bool) -> Vec<u8> {
    let width = width.max(1) as usize;
    let mut out: Vec<u8> = Vec::with_capacity(bytes.len() + 32);
    let mut offset = 0;
    while bytes.len() - offset > width {
        if bytes[offset] == b' ' {
            offset += 1;
            continue;
        }
        let window = &bytes[offset..(offset + width + 1).min(bytes.len())];
        let space = window.iter().rposition(|b| *b == b' ');
        match space.filter(|at| *at > 0) {
            Some(at) => {
                out.extend_from_slice(&bytes[offset..offset + at]);
                out.extend_from_slice(separator.as_bytes());
                offset += at + 1;
            }
            None if long_words => {
                out.extend_from_slice(&bytes[offset..offset + width]);
                out.extend_from_slice(separator.as_bytes());
                offset += width;
            }
            None => match bytes[offset + width..].iter().position(|b| *b == b' ') {
                Some(at) => {
                    let end = offset + width + at;
                    out.extend_from_slice(&bytes[offset..end]);
                    out.extend_from_slice(separator.as_bytes());
                    offset = end + 1;
                }
                None => {
                    out.extend_from_slice(&bytes[offset..]);
                    offset = bytes.len();
                }
            },
        }
    }
    out.extend_from_slice(&bytes[offset.min(bytes.len())..]);
    out
}

/// Whether a value is a text.
pub(super) fn is_text(val: &Val) -> bool {
    matches!(val.kind, Kind::Str(_))
}
