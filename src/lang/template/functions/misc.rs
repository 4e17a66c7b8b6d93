//! Types, paths, digests, encodings, versions and addresses.

use super::cases::{camelcase, kebabcase, snakecase};
use super::sprig;
use crate::lang::template::error::{Fault, Result, fail};
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, Ty};
use crate::lang::template::limits::Libraries;
use crate::lang::template::rope::{Builder, Text};
use crate::lang::template::trace::SetId;
use crate::lang::template::value::{Kind, Map, MapType, Val};
use crate::lang::template::version::{Constraints, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;
use std::fmt::Write as _;
use std::rc::Rc;

const S: &[Ty] = &[Ty::Str];
const ANY: &[Ty] = &[Ty::Any];
const NAMED: &[Ty] = &[Ty::Str, Ty::Any];

pub(super) const TABLE: &[Function] = &[
    sprig("hello", &[], Flow::Nothing, hello),
    sprig("typeOf", ANY, Flow::Looks, type_of),
    sprig("typeIs", NAMED, Flow::Looks, type_is),
    sprig("typeIsLike", NAMED, Flow::Looks, type_is_like),
    sprig("kindOf", ANY, Flow::Looks, kind_of),
    sprig("kindIs", NAMED, Flow::Looks, kind_is),
    sprig("base", S, Flow::Keeps, base),
    sprig("osBase", S, Flow::Keeps, base),
    sprig("dir", S, Flow::Unites, dir),
    sprig("osDir", S, Flow::Unites, dir),
    sprig("clean", S, Flow::Unites, clean),
    sprig("osClean", S, Flow::Unites, clean),
    sprig("ext", S, Flow::Keeps, ext),
    sprig("osExt", S, Flow::Keeps, ext),
    sprig("isAbs", S, Flow::Unites, is_abs),
    sprig("osIsAbs", S, Flow::Unites, is_abs),
    sprig("sha1sum", S, Flow::Unites, sha1sum),
    sprig("sha256sum", S, Flow::Unites, sha256sum),
    sprig("sha512sum", S, Flow::Unites, sha512sum),
    sprig("adler32sum", S, Flow::Unites, adler32sum),
    sprig("b64enc", S, Flow::Keeps, b64enc),
    sprig("b64dec", S, Flow::Keeps, b64dec),
    sprig("b32enc", S, Flow::Unites, b32enc),
    sprig("b32dec", S, Flow::Unites, b32dec),
    sprig("semver", S, Flow::Unites, semver),
    sprig("semverCompare", &[Ty::Str, Ty::Str], Flow::Unites, semver_compare),
    sprig("getHostByName", S, Flow::Nothing, host_by_name),
    sprig("urlParse", S, Flow::Unites, url_parse),
    sprig("urlJoin", &[Ty::Map], Flow::Unites, url_join),
    sprig("camelcase", S, Flow::Unites, camelcase),
    sprig("snakecase", S, Flow::Unites, snakecase),
    sprig("kebabcase", S, Flow::Unites, kebabcase),
];

fn boolean(value: bool) -> Result<Val> {
    Ok(Val::bool(value, SetId::NONE))
}

fn hello(call: &mut Call<'_>) -> Result<Val> {
    call.made("Hello!")
}

fn type_name(val: &Val) -> String {
    if val.is_nil() { "<nil>".to_owned() } else { val.type_name().into_owned() }
}

fn type_of(call: &mut Call<'_>) -> Result<Val> {
    call.made(type_name(&call.args[0]))
}

fn type_is(call: &mut Call<'_>) -> Result<Val> {
    boolean(call.string(0) == type_name(&call.args[1]))
}

fn type_is_like(call: &mut Call<'_>) -> Result<Val> {
    let (wanted, name) = (call.string(0), type_name(&call.args[1]));
    boolean(wanted == name || name.strip_prefix('*') == Some(&wanted))
}

fn kind_of(call: &mut Call<'_>) -> Result<Val> {
    call.made(call.args[0].kind_name())
}

fn kind_is(call: &mut Call<'_>) -> Result<Val> {
    boolean(call.string(0) == call.args[1].kind_name())
}

/// `path.Clean`.
fn cleaned(path: &[u8]) -> Vec<u8> {
    let is_rooted = path.starts_with(b"/");
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|b| *b == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => drop(parts.pop()),
            b".." if is_rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join(&b'/');
    match (is_rooted, joined.is_empty()) {
        (true, _) => [b"/", &*joined].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}

/// `path.Base`.
pub(in crate::lang::template) fn base_name(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    let base = trimmed.rsplit('/').next().unwrap_or_default();
    if base.is_empty() { "/" } else { base }
}

fn base(call: &mut Call<'_>) -> Result<Val> {
    let path = call.bytes(0);
    let end = path.iter().rposition(|b| *b != b'/').map_or(0, |at| at + 1);
    if end == 0 {
        return call.made(if path.is_empty() { "." } else { "/" });
    }
    let start = path[..end].iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    Ok(Val::text(call.text(0).slice(start..end)))
}

fn dir(call: &mut Call<'_>) -> Result<Val> {
    let path = call.bytes(0);
    let end = path.iter().rposition(|b| *b == b'/').map_or(0, |at| at + 1);
    call.made(cleaned(&path[..end]))
}

fn clean(call: &mut Call<'_>) -> Result<Val> {
    call.made(cleaned(call.bytes(0)))
}

fn ext(call: &mut Call<'_>) -> Result<Val> {
    let path = call.bytes(0);
    let found = path.iter().rposition(|b| matches!(b, b'.' | b'/')).filter(|at| path[*at] == b'.');
    Ok(Val::text(call.text(0).slice(found.unwrap_or(path.len())..path.len())))
}

fn is_abs(call: &mut Call<'_>) -> Result<Val> {
    boolean(call.bytes(0).starts_with(b"/"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn sha1sum(call: &mut Call<'_>) -> Result<Val> {
    let digest = sha1::Sha1::digest(call.bytes(0));
    call.made(hex(&digest))
}

fn sha256sum(call: &mut Call<'_>) -> Result<Val> {
    let digest = sha2::Sha256::digest(call.bytes(0));
    call.made(hex(&digest))
}

fn sha512sum(call: &mut Call<'_>) -> Result<Val> {
    let digest = sha2::Sha512::digest(call.bytes(0));
    call.made(hex(&digest))
}

fn adler32sum(call: &mut Call<'_>) -> Result<Val> {
    call.made(adler32(call.bytes(0)).to_string())
}

/// The checksum of Adler, as Go's `hash/adler32` has it.
pub(crate) fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    b << 16 | a
}

/// Base64 by groups of three bytes: each group comes from what its bytes come from.
fn b64enc(call: &mut Call<'_>) -> Result<Val> {
    let text = call.text(0);
    let encoded = STANDARD.encode(text.bytes());
    call.cx.text(encoded.len())?;
    if text.only_prov().is_some() || flow::has_unknown(&call.cx.trace, &text) {
        let set = flow::of_text(&mut call.cx.trace, &text);
        let prov = match text.only_prov() {
            Some(prov) => prov,
            None => call.cx.trace.plain(set),
        };
        return Ok(Val::text(Text::new(encoded.into_bytes(), prov)));
    }
    let mut out = Builder::default();
    let groups = encoded.as_bytes().chunks(4);
    for (index, group) in groups.enumerate() {
        let start = index * 3;
        let end = (start + 3).min(text.len());
        let prov = text.prov_at(start);
        if prov == text.prov_at(end - 1) {
            out.push(group, prov);
        } else {
            let set = flow::of_text(&mut call.cx.trace, &text.slice(start..end));
            let prov = call.cx.trace.plain(set);
            out.push(group, prov);
        }
    }
    Ok(Val::text(out.finish()))
}

/// What Go's decoder says of a text that is no base 64 or 32: the offset that it names.
fn bad_base64(text: &[u8]) -> usize {
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    // Line breaks are left out; offsets count them.
    let bytes: Vec<(usize, u8)> =
        text.iter().copied().enumerate().filter(|(_, b)| !matches!(b, b'\n' | b'\r')).collect();
    let mut at = 0;
    while at < bytes.len() {
        let group = &bytes[at..(at + 4).min(bytes.len())];
        for (index, (offset, byte)) in group.iter().enumerate() {
            if is_digit(*byte) {
                continue;
            }
            if *byte != b'=' || index < 2 {
                return *offset;
            }
            if index == 2 {
                match bytes.get(at + 3) {
                    Some((_, b'=')) => {}
                    Some((next, _)) => return *next,
                    None => return text.len(),
                }
            }
            // Padding ends the text.
            return bytes.get(at + 4).map_or(text.len(), |(next, _)| *next);
        }
        if group.len() < 4 {
            return group[0].0;
        }
        at += 4;
    }
    0
}

pub(super) fn decode_base64(text: &[u8]) -> std::result::Result<Vec<u8>, String> {
    let clean: Vec<u8> = text.iter().copied().filter(|b| !matches!(b, b'\n' | b'\r')).collect();
    // Go lets the bits behind the last byte be anything.
    let lenient = base64::engine::GeneralPurpose::new(
        &base64::alphabet::STANDARD,
        base64::engine::GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
    );
    lenient.decode(&clean).map_err(|_| format!("illegal base64 data at input byte {}", bad_base64(text)))
}

fn b64dec(call: &mut Call<'_>) -> Result<Val> {
    let text = call.text(0);
    match decode_base64(text.bytes()) {
        Ok(decoded) => {
            let prov = match text.only_prov() {
                Some(prov) => prov,
                None => {
                    let set = flow::of_text(&mut call.cx.trace, &text);
                    call.cx.trace.plain(set)
                }
            };
            call.cx.text(decoded.len())?;
            Ok(Val::text(Text::new(decoded, prov)))
        }
        Err(message) => {
            let set = flow::of_text(&mut call.cx.trace, &text);
            Ok(call.made(message)?.with(set))
        }
    }
}

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn b32enc(call: &mut Call<'_>) -> Result<Val> {
    let mut out = String::new();
    for group in call.bytes(0).chunks(5) {
        let mut padded = [0u8; 5];
        padded[..group.len()].copy_from_slice(group);
        let value = padded.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        let digits = (group.len() * 8).div_ceil(5);
        for index in 0..8 {
            let digit = BASE32[(value >> (35 - index * 5)) as usize & 31];
            out.push(if index < digits { digit as char } else { '=' });
        }
    }
    call.made(out)
}

fn decode_base32(text: &[u8]) -> std::result::Result<Vec<u8>, usize> {
    let text: Vec<u8> = text.iter().copied().filter(|b| !matches!(b, b'\n' | b'\r')).collect();
    let mut out = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let mut value = 0u64;
        let mut digits = 0;
        let mut ended = false;
        for index in 0..8 {
            let Some(byte) = text.get(at + index) else {
                return Err(text.len() - index);
            };
            let behind = text.len() - (at + index + 1);
            if *byte == b'=' && index >= 2 && behind < 8 {
                if behind + index < 7 {
                    return Err(text.len());
                }
                let padding = &text[at + index + 1..];
                if let Some(other) = padding.iter().take(7 - index).position(|b| *b != b'=') {
                    return Err(at + index + other);
                }
                if matches!(index, 3 | 6) {
                    return Err(at + index);
                }
                ended = true;
                break;
            }
            let digit = BASE32.iter().position(|digit| digit == byte).ok_or(at + index)?;
            value |= (digit as u64) << (35 - index * 5);
            digits += 1;
        }
        out.extend_from_slice(&value.to_be_bytes()[3..3 + digits * 5 / 8]);
        at += 8;
        if ended {
            break;
        }
    }
    Ok(out)
}

fn b32dec(call: &mut Call<'_>) -> Result<Val> {
    match decode_base32(call.bytes(0)) {
        Ok(decoded) => call.made(decoded),
        Err(at) => call.made(format!("illegal base32 data at input byte {at}")),
    }
}

/// A version, or the words of the library for what is none.
fn version(call: &Call<'_>, index: usize) -> Result<Version> {
    Version::parse(&call.string(index)).map_err(|why| match (call.cx.libraries, &*why) {
        (Libraries::Helm3_17, "invalid semantic version") => Fault::new("Invalid Semantic Version"),
        (Libraries::Helm3_17, "version segment starts with 0") => Fault::new("Version segment starts with 0"),
        _ => Fault::new(why),
    })
}

fn semver(call: &mut Call<'_>) -> Result<Val> {
    let version = version(call, 0)?;
    Ok(Val::new(Kind::Version(Rc::new(version)), SetId::NONE))
}

fn semver_compare(call: &mut Call<'_>) -> Result<Val> {
    let constraints = Constraints::parse(&call.string(0)).map_err(|why| {
        match why.strip_prefix("improper constraint: ") {
            Some(text) if call.cx.libraries == Libraries::Helm4_2 => {
                let quoted = crate::lang::template::quote::go_quote(text.as_bytes());
                Fault::new(format!("improper constraint: {quoted}"))
            }
            _ => Fault::new(why),
        }
    })?;
    let version = version(call, 1)?;
    boolean(match call.cx.libraries {
        Libraries::Helm3_17 => constraints.check_each(&version),
        Libraries::Helm4_1 | Libraries::Helm4_2 => constraints.check(&version),
    })
}

fn host_by_name(call: &mut Call<'_>) -> Result<Val> {
    call.made("")
}

fn url_parse(call: &mut Call<'_>) -> Result<Val> {
    let text = call.string(0);
    let url =
        super::url::Url::parse(&text).map_err(|error| Fault::new(format!("unable to parse url: {error}")))?;
    let set = call.set(0);
    let prov = call.cx.trace.plain(set);
    let map = Map::new(MapType::Any);
    for (name, value) in url.parts() {
        map.insert(name.as_bytes(), set, Val::text(Text::new(value.into_bytes(), prov)));
    }
    Ok(Val::map(map))
}

fn url_join(call: &mut Call<'_>) -> Result<Val> {
    let map = call.map(0).cloned();
    let part = |name: &str| -> Result<String> {
        match map.as_ref().and_then(|map| map.get(name.as_bytes())) {
            None => Ok(String::new()),
            Some(val) => match &val.kind {
                Kind::Str(text) => Ok(text.str().into_owned()),
                Kind::Nil | Kind::Null => fail(crate::lang::template::error::NIL_POINTER),
                _ => {
                    let kind = val.kind_name();
                    fail(format!("unable to parse {name} key, must be of type string, but {kind} found"))
                }
            },
        }
    };
    let url = super::url::Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        raw_path: String::new(),
        query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        user: Some(part("userinfo")?).filter(|user| !user.is_empty()),
    };
    call.made(url.joined())
}
