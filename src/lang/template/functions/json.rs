//! JSON, as Go's `encoding/json` writes and reads it.

use super::{Native, STR};
use crate::lang::template::bound::Bound;
use crate::lang::template::error::{Fault, Result, fail};
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, FunctionBody, Library, Purity, Ty};
use crate::lang::template::print::float_shortest;
use crate::lang::template::rope::{Builder, Text};
use crate::lang::template::trace::{ProvId, SetId, Trace};
use crate::lang::template::value::{Kind, List, Map, MapType, Val};

const fn json(
    name: &'static str,
    library: Library,
    params: &'static [Ty],
    flow: Flow,
    run: Native,
) -> Function {
    let run = FunctionBody::Native(run);
    Function { name, library, params, is_variadic: false, purity: Purity::Pure, flow, run }
}

const ANY: &[Ty] = &[Ty::Any];

pub(super) const TABLE: &[Function] = &[
    json("toJson", Library::Helm, ANY, Flow::Keeps, to_json),
    json("mustToJson", Library::Helm, ANY, Flow::Keeps, must_to_json),
    json("toPrettyJson", Library::Sprig, ANY, Flow::Keeps, to_pretty_json),
    json("mustToPrettyJson", Library::Sprig, ANY, Flow::Keeps, must_to_pretty_json),
    json("toRawJson", Library::Sprig, ANY, Flow::Keeps, to_raw_json),
    json("mustToRawJson", Library::Sprig, ANY, Flow::Keeps, to_raw_json),
    json("fromJson", Library::Helm, STR, Flow::Holds, from_json),
    json("fromJsonArray", Library::Helm, STR, Flow::Holds, from_json_array),
    json("mustFromJson", Library::Sprig, STR, Flow::Holds, must_from_json),
];

/// How deeply values are written and read.
const DEPTH_LIMIT: usize = 1000;

/// A writer of JSON whose scalars keep their origins.
struct Writer<'t> {
    out: Builder,
    trace: &'t mut Trace,
    escapes_html: bool,
    indent: Option<usize>,
    limit: usize,
}

impl Writer<'_> {
    fn add(&mut self, text: &str, from: SetId) {
        let prov = self.trace.plain(from);
        self.out.push(text.as_bytes(), prov);
    }

    fn line(&mut self, depth: usize) {
        if self.indent.is_some() {
            let text = format!("\n{}", "  ".repeat(depth));
            self.add(&text, SetId::NONE);
        }
    }

    fn string(&mut self, text: &Text, from: SetId) {
        let text = flow::also(self.trace, text, from);
        let bytes = text.bytes();
        let edge = |at: usize| if bytes.is_empty() { ProvId::default() } else { text.prov_at(at) };
        self.out.push(b"\"", if bytes.is_empty() { self.trace.plain(from) } else { edge(0) });
        let mut piece = String::new();
        for (range, prov) in text.runs() {
            piece.clear();
            let mut rest = &bytes[range];
            while !rest.is_empty() {
                let (c, length) = crate::lang::template::quote::decode(rest);
                match c {
                    Some(c) => escape(c, self.escapes_html, &mut piece),
                    None => piece.push_str("\\ufffd"),
                }
                rest = &rest[length..];
            }
            self.out.push(piece.as_bytes(), prov);
        }
        self.out.push(b"\"", edge(bytes.len().saturating_sub(1)));
    }

    fn plain_string(&mut self, text: &str, from: SetId) {
        let prov = self.trace.plain(from);
        self.string(&Text::new(text.as_bytes(), prov), SetId::NONE);
    }

    fn value(&mut self, val: &Val, depth: usize) -> Result<()> {
        if depth > DEPTH_LIMIT {
            return Err(Fault::bound(Bound::Nesting(DEPTH_LIMIT)));
        }
        if self.out.len() > self.limit {
            return Err(Fault::bound(Bound::Text(self.limit)));
        }
        match &val.kind {
            Kind::Nil | Kind::Null => self.add("null", val.from),
            Kind::Bool(value) => self.add(if *value { "true" } else { "false" }, val.from),
            Kind::Int(value, ty) if ty.is_unsigned() => self.add(&(*value as u64).to_string(), val.from),
            Kind::Int(value, _) => self.add(&value.to_string(), val.from),
            Kind::Float(value) if !value.is_finite() => {
                return fail(format!("json: unsupported value: {}", float_shortest(*value, 21)));
            }
            Kind::Float(value) => self.add(&float(*value), val.from),
            Kind::Complex(..) => return fail("json: unsupported type: complex128"),
            Kind::Str(text) => self.string(text, val.from),
            Kind::Bytes(text) => {
                let encoded =
                    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text.bytes());
                let from = flow::of(self.trace, val);
                self.plain_string(&encoded, from);
            }
            Kind::List(list) if list.is_nil => self.add("null", val.from),
            Kind::Map(map) if map.is_nil => self.add("null", val.from),
            Kind::List(list) => self.list(list, val.from, depth)?,
            Kind::Map(map) => {
                let entries = map.snapshot();
                let fields = entries.iter().map(|(key, entry)| (&**key, entry.key, &entry.val));
                self.object(fields, val.from, depth)?;
            }
            Kind::Struct(of) => {
                let exported =
                    of.fields.iter().filter(|(name, _)| !name.starts_with(|c: char| c.is_lowercase()));
                self.object(
                    exported.map(|(name, val)| (name.as_bytes(), SetId::NONE, val)),
                    val.from,
                    depth,
                )?;
            }
            Kind::Time(time) => {
                let text = time.format("2006-01-02T15:04:05.999999999Z07:00");
                self.plain_string(&text, val.from);
            }
            Kind::Version(version) => {
                let text = version.full();
                self.plain_string(&text, val.from);
            }
        }
        Ok(())
    }

    fn list(&mut self, list: &List, from: SetId, depth: usize) -> Result<()> {
        self.add("[", from);
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                self.add(",", SetId::NONE);
            }
            self.line(depth + 1);
            self.value(&item, depth + 1)?;
        }
        if list.len() > 0 {
            self.line(depth);
        }
        self.add("]", from);
        Ok(())
    }

    fn object<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], SetId, &'f Val)>,
        from: SetId,
        depth: usize,
    ) -> Result<()> {
        self.add("{", from);
        let mut is_empty = true;
        for (key, key_from, val) in fields {
            if !is_empty {
                self.add(",", SetId::NONE);
            }
            is_empty = false;
            self.line(depth + 1);
            self.plain_string(&String::from_utf8_lossy(key), key_from);
            self.add(if self.indent.is_some() { ": " } else { ":" }, SetId::NONE);
            self.value(val, depth + 1)?;
        }
        if !is_empty {
            self.line(depth);
        }
        self.add("}", from);
        Ok(())
    }
}

fn escape(c: char, html: bool, out: &mut String) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        '<' | '>' | '&' if html => out.push_str(&format!("\\u{:04x}", c as u32)),
        '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", c as u32)),
        c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
        c => out.push(c),
    }
}

/// A float as ES6 writes it.
pub(super) fn float(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-6..1e21).contains(&magnitude) {
        let shown = format!("{value:e}");
        let (mantissa, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
        let sign = if exponent.starts_with('-') { "" } else { "+" };
        return format!("{mantissa}e{sign}{exponent}");
    }
    format!("{value}")
}

/// A value as JSON.
pub(super) fn written(call: &mut Call<'_>, val: &Val, escapes_html: bool, pretty: bool) -> Result<Text> {
    call.cx.weigh(val, 8)?;
    let limit = call.cx.limits.text;
    let indent = pretty.then_some(2);
    let mut writer =
        Writer { out: Builder::default(), trace: &mut call.cx.trace, escapes_html, indent, limit };
    writer.value(val, 0)?;
    let text = writer.out.finish();
    call.cx.text(text.len())?;
    call.cx.step(text.len() / 64)?;
    Ok(text)
}

/// What fails gives the empty text, but for a bound.
fn or_empty(call: &mut Call<'_>, text: Result<Text>) -> Result<Val> {
    match text {
        Ok(text) => Ok(Val::text(text)),
        Err(fault) if fault.bound.is_some() => Err(fault),
        Err(_) => call.made(""),
    }
}

fn to_json(call: &mut Call<'_>) -> Result<Val> {
    let text = written(call, &call.args[0], true, false);
    or_empty(call, text)
}

fn must_to_json(call: &mut Call<'_>) -> Result<Val> {
    Ok(Val::text(written(call, &call.args[0], true, false)?))
}

fn to_pretty_json(call: &mut Call<'_>) -> Result<Val> {
    let text = written(call, &call.args[0], true, true);
    or_empty(call, text)
}

fn must_to_pretty_json(call: &mut Call<'_>) -> Result<Val> {
    Ok(Val::text(written(call, &call.args[0], true, true)?))
}

fn to_raw_json(call: &mut Call<'_>) -> Result<Val> {
    Ok(Val::text(written(call, &call.args[0], false, false)?))
}

/// A text as JSON; scalars come from the parts that they stand on.
pub(super) fn read(call: &mut Call<'_>, text: &Text) -> std::result::Result<Val, String> {
    let shown = text.str();
    let mut reader = Reader { text, bytes: shown.as_bytes(), at: 0, trace: &mut call.cx.trace };
    reader.check()?;
    reader.at = 0;
    reader.space();
    reader.value(0).ok_or_else(|| "unexpected end of JSON input".to_owned())
}

struct Reader<'t> {
    text: &'t Text,
    bytes: &'t [u8],
    at: usize,
    trace: &'t mut Trace,
}

impl Reader<'_> {
    /// Whether it is JSON at all, in Go's words.
    fn check(&self) -> std::result::Result<(), String> {
        super::json_check::check(self.bytes)
    }

    fn space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    /// What the bytes from here to `end` come from.
    fn set(&mut self, start: usize, end: usize) -> SetId {
        if self.text.len() != self.bytes.len() {
            return flow::of_text(self.trace, self.text);
        }
        let part = self.text.slice(start..end);
        flow::of_text(self.trace, &part)
    }

    fn value(&mut self, depth: usize) -> Option<Val> {
        if depth > DEPTH_LIMIT * 10 {
            return None;
        }
        let start = self.at;
        let val = match self.bytes.get(self.at)? {
            b'{' => return self.object(depth),
            b'[' => return self.list(depth),
            b'"' => return self.string().map(Val::text),
            b't' => self.word(4, Kind::Bool(true)),
            b'f' => self.word(5, Kind::Bool(false)),
            b'n' => self.word(4, Kind::Nil),
            _ => {
                let digits = |b: &&u8| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
                self.at += self.bytes[self.at..].iter().take_while(digits).count();
                let number = std::str::from_utf8(&self.bytes[start..self.at]).ok()?;
                Kind::Float(number.parse().ok()?)
            }
        };
        let from = self.set(start, self.at);
        Some(Val::new(val, from))
    }

    fn word(&mut self, length: usize, kind: Kind) -> Kind {
        self.at += length;
        kind
    }

    fn list(&mut self, depth: usize) -> Option<Val> {
        let start = self.at;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.space();
            match self.bytes.get(self.at)? {
                b']' => break,
                b',' => self.at += 1,
                _ => items.push(self.value(depth + 1)?),
            }
        }
        self.at += 1;
        let from = self.set(start, start + 1);
        Some(Val::list(List::any(items)).with(from))
    }

    fn object(&mut self, depth: usize) -> Option<Val> {
        let start = self.at;
        self.at += 1;
        let map = Map::new(MapType::Any);
        loop {
            self.space();
            match self.bytes.get(self.at)? {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    let key = self.string()?;
                    self.space();
                    self.at += 1;
                    self.space();
                    let val = self.value(depth + 1)?;
                    let from = flow::of_text(self.trace, &key);
                    map.insert(key.bytes(), from, val);
                }
            }
        }
        self.at += 1;
        let from = self.set(start, start + 1);
        Some(Val::map(map).with(from))
    }

    fn string(&mut self) -> Option<Text> {
        let start = self.at;
        self.at += 1;
        while *self.bytes.get(self.at)? != b'"' {
            self.at += if self.bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        let written = std::str::from_utf8(&self.bytes[start..self.at]).ok()?;
        let inner = start + 1..self.at - 1;
        if !written.contains('\\') && self.text.len() == self.bytes.len() {
            return Some(self.text.slice(inner));
        }
        let value = super::json_check::unquote(&written[1..written.len() - 1]);
        let from = self.set(inner.start, inner.end);
        let prov = self.trace.plain(from);
        Some(Text::new(value.into_bytes(), prov))
    }
}

/// A map or list that was read, or Go's words for what it is instead.
pub(super) fn typed(val: Val, wants_map: bool) -> std::result::Result<Val, String> {
    let found = match &val.kind {
        Kind::Map(_) if wants_map => return Ok(val),
        Kind::List(_) if !wants_map => return Ok(val),
        Kind::Nil => return Ok(val),
        Kind::Map(_) => "object",
        Kind::List(_) => "array",
        Kind::Str(_) => "string",
        Kind::Bool(_) => "bool",
        _ => "number",
    };
    let ty = if wants_map { "map[string]interface {}" } else { "[]interface {}" };
    Err(format!("json: cannot unmarshal {found} into Go value of type {ty}"))
}

/// Helm's map with the error in it.
pub(super) fn error_map(call: &mut Call<'_>, message: String, from: SetId) -> Val {
    let map = Map::new(MapType::Any);
    let prov = call.cx.trace.plain(from);
    map.insert(&b"Error"[..], from, Val::text(Text::new(message.into_bytes(), prov)));
    Val::map(map).with(from)
}

fn from_json(call: &mut Call<'_>) -> Result<Val> {
    let text = call.text(0);
    call.cx.step(text.len() / 16)?;
    let from = flow::of_text(&mut call.cx.trace, &text);
    match read(call, &text).and_then(|val| typed(val, true)) {
        Ok(Val { kind: Kind::Nil, .. }) => {
            Ok(Val::map(Map { is_nil: true, ..Map::new(MapType::Any) }).with(from))
        }
        Ok(val) => Ok(val),
        Err(message) => Ok(error_map(call, message, from)),
    }
}

/// Helm's list with the error in it.
pub(super) fn error_list(call: &mut Call<'_>, message: String, from: SetId) -> Val {
    let prov = call.cx.trace.plain(from);
    Val::list(List::any(vec![Val::text(Text::new(message.into_bytes(), prov))])).with(from)
}

fn from_json_array(call: &mut Call<'_>) -> Result<Val> {
    let text = call.text(0);
    call.cx.step(text.len() / 16)?;
    let from = flow::of_text(&mut call.cx.trace, &text);
    match read(call, &text).and_then(|val| typed(val, false)) {
        Ok(Val { kind: Kind::Nil, .. }) => {
            Ok(Val::list(List::nil(crate::lang::template::value::Elem::Any)).with(from))
        }
        Ok(val) => Ok(val),
        Err(message) => Ok(error_list(call, message, from)),
    }
}

/// As Sprig has it: any value, and none where the text is no JSON.
pub(super) fn sprig_from_json(call: &mut Call<'_>) -> Result<Val> {
    match must_from_json(call) {
        Err(fault) if fault.bound.is_none() => Ok(Val::nil()),
        result => result,
    }
}

fn must_from_json(call: &mut Call<'_>) -> Result<Val> {
    let text = call.text(0);
    call.cx.step(text.len() / 16)?;
    read(call, &text).map_err(Fault::new)
}
