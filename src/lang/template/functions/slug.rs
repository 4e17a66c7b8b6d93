//! `slugify`: gosimple/slug as flux-operator sets it up (63 bytes, cut at a dash).

use crate::lang::template::error::Result;
use crate::lang::template::flow;
use crate::lang::template::function::Call;
use crate::lang::template::rope::Builder;
use crate::lang::template::trace::ProvId;
use crate::lang::template::value::Val;

/// `slug.MaxLength`.
const LENGTH: usize = 63;

/// Mirrors `slug.MakeLang`. Letters beyond ASCII are transliterated by a table that is
/// not here: what comes of such a text is unknown.
pub(super) fn slugify(call: &mut Call<'_>) -> Result<Val> {
    let text = call.text(0);
    call.cx.step(text.len() / 16)?;
    let mut bytes: Vec<(u8, ProvId)> = Vec::new();
    let mut transliterated = false;
    let shown = text.str();
    let start = shown.len() - shown.trim_start().len();
    for (at, c) in shown.trim().char_indices() {
        let prov = text.prov_at(start + at);
        let written = match c {
            '&' => "and",
            '@' => "at",
            '"' | '\'' | '\u{2019}' => "",
            '\u{2012}'..='\u{2015}' => "-",
            '0'..='9' | 'a'..='z' | 'A'..='Z' | '_' => {
                bytes.push((c.to_ascii_lowercase() as u8, prov));
                continue;
            }
            _ => {
                transliterated |= !c.is_ascii();
                "-"
            }
        };
        for byte in written.bytes() {
            let is_repeated = byte == b'-' && bytes.last().is_some_and(|(last, _)| *last == b'-');
            if !is_repeated {
                bytes.push((byte, prov));
            }
        }
    }
    let is_edge = |(byte, _): &&(u8, ProvId)| matches!(byte, b'-' | b'_');
    let end = bytes.len() - bytes.iter().rev().take_while(is_edge).count();
    let first = bytes.iter().take_while(is_edge).count().min(end);
    let slug = &bytes[first..end];
    let cut = |limit: usize| slug[..=limit].iter().rposition(|(byte, _)| *byte == b'-').unwrap_or(limit);
    let length = if slug.len() <= LENGTH { slug.len() } else { cut(LENGTH) };
    let mut out = Builder::default();
    for (byte, prov) in &slug[..length] {
        out.push(&[*byte], *prov);
    }
    let val = call.built(out)?;
    if !transliterated {
        return Ok(val);
    }
    let unknown = call.cx.trace.unknown("slugify of letters beyond ASCII".to_owned());
    let own = flow::of_text(&mut call.cx.trace, &text);
    let from = call.cx.trace.union(own, unknown);
    Ok(val.with(from))
}
