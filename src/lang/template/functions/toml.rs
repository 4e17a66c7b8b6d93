//! TOML, as `BurntSushi/toml` writes and reads it.

use super::Native;
use super::json::error_map;
use crate::lang::template::bound::Bound;
use crate::lang::template::error::{Fault, Result, fail};
use crate::lang::template::function::{Call, Flow, Function, FunctionBody, Library, Purity, Ty};
use crate::lang::template::limits::Libraries;
use crate::lang::template::print::float_v;
use crate::lang::template::rope::Text;
use crate::lang::template::time::parse as parse_time;
use crate::lang::template::trace::{ProvId, SetId};
use crate::lang::template::value::{Elem, Kind, List, Map, MapType, Val};

const fn helm(name: &'static str, params: &'static [Ty], run: Native) -> Function {
    let (library, purity, flow, run) = (Library::Helm, Purity::Pure, Flow::Unites, FunctionBody::Native(run));
    Function { name, library, params, is_variadic: false, purity, flow, run }
}

pub(super) const TABLE: &[Function] =
    &[helm("toToml", &[Ty::Any], to_toml), helm("fromToml", &[Ty::Str], from_toml)];

/// How deeply values are written.
const DEPTH_LIMIT: usize = 200;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Nothing,
    Table,
    Tables,
    Other,
}

const NIL_IN_ARRAY: &str = "toml: cannot encode array with nil element";

fn shape(val: &Val) -> Result<Shape> {
    Ok(match &val.kind {
        Kind::Nil | Kind::Null => Shape::Nothing,
        Kind::Map(_) | Kind::Struct(_) => Shape::Table,
        Kind::List(list) if list.len() > 0 => {
            let mut all = true;
            for item in list.iter() {
                match shape(&item)? {
                    _ if is_nil(&item) => return fail(NIL_IN_ARRAY),
                    Shape::Table => {}
                    _ => all = false,
                }
            }
            if all { Shape::Tables } else { Shape::Other }
        }
        _ => Shape::Other,
    })
}

struct Writer {
    out: String,
    limit: usize,
    libraries: Libraries,
}

fn fields(val: &Val) -> Vec<(String, Val)> {
    match &val.kind {
        Kind::Map(map) => map
            .snapshot()
            .into_iter()
            .map(|(key, entry)| (String::from_utf8_lossy(&key).into_owned(), entry.val))
            .collect(),
        Kind::Struct(of) => of
            .fields
            .iter()
            .filter(|(name, _)| !name.starts_with(|c: char| c.is_lowercase()))
            .map(|(name, val)| (name.to_string(), val.clone()))
            .collect(),
        _ => Vec::new(),
    }
}

fn key(name: &str) -> String {
    let is_bare =
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if is_bare { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            c if (c as u32) < 0x20 || c as u32 == 0x7f => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn dotted(path: &[String]) -> String {
    path.iter().map(|part| key(part)).collect::<Vec<String>>().join(".")
}

impl Writer {
    fn newline(&mut self) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    fn check(&self, depth: usize) -> Result<()> {
        if depth > DEPTH_LIMIT {
            return Err(Fault::bound(Bound::Nesting(DEPTH_LIMIT)));
        }
        if self.out.len() > self.limit {
            return Err(Fault::bound(Bound::Text(self.limit)));
        }
        Ok(())
    }

    fn encode(&mut self, path: &mut Vec<String>, val: &Val) -> Result<()> {
        self.check(path.len())?;
        let indent = "  ".repeat(path.len().saturating_sub(1));
        match shape(val)? {
            Shape::Nothing => Ok(()),
            _ if is_nil(val) && !path.is_empty() => Ok(()),
            Shape::Table => {
                if path.len() == 1 {
                    self.newline();
                }
                if !path.is_empty() {
                    self.out.push_str(&format!("{indent}[{}]", dotted(path)));
                    self.newline();
                }
                self.table(path, val)
            }
            Shape::Tables => {
                if path.is_empty() {
                    return fail("toml: top-level values must be Go maps or structs");
                }
                let Kind::List(list) = &val.kind else {
                    return Ok(());
                };
                for item in list.iter() {
                    self.newline();
                    self.out.push_str(&format!("{indent}[[{}]]", dotted(path)));
                    self.newline();
                    self.table(path, &item)?;
                }
                Ok(())
            }
            Shape::Other => {
                if let Some(name) = path.last() {
                    self.out.push_str(&format!("{indent}{} = ", key(name)));
                    self.element(val, path.len())?;
                    self.newline();
                    return Ok(());
                }
                self.element(val, 0)
            }
        }
    }

    fn table(&mut self, path: &mut Vec<String>, val: &Val) -> Result<()> {
        let fields = fields(val);
        let mut below = Vec::new();
        for (name, val) in fields {
            if matches!(shape(&val)?, Shape::Table | Shape::Tables) {
                below.push((name, val));
                continue;
            }
            path.push(name);
            self.encode(path, &val)?;
            path.pop();
        }
        for (name, val) in below {
            path.push(name);
            self.encode(path, &val)?;
            path.pop();
        }
        Ok(())
    }

    fn element(&mut self, val: &Val, depth: usize) -> Result<()> {
        self.check(depth)?;
        match &val.kind {
            Kind::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Kind::Int(value, ty) if ty.is_unsigned() => self.out.push_str(&(*value as u64).to_string()),
            Kind::Int(value, _) => self.out.push_str(&value.to_string()),
            Kind::Float(value) => self.out.push_str(&float(*value, self.libraries)),
            Kind::Str(text) => self.out.push_str(&quoted(&text.str())),
            Kind::Version(version) => self.out.push_str(&quoted(&version.full())),
            Kind::Time(time) => self.out.push_str(&time.format("2006-01-02T15:04:05.999999999Z07:00")),
            Kind::Bytes(text) => {
                let bytes: Vec<String> = text.bytes().iter().map(ToString::to_string).collect();
                self.out.push_str(&format!("[{}]", bytes.join(", ")));
            }
            Kind::List(list) => {
                self.out.push('[');
                for (index, item) in list.iter().enumerate() {
                    if index > 0 {
                        self.out.push_str(", ");
                    }
                    if is_nil(&item) {
                        return fail(NIL_IN_ARRAY);
                    }
                    self.element(&item, depth + 1)?;
                }
                self.out.push(']');
            }
            Kind::Map(_) | Kind::Struct(_) => self.inline(val, depth)?,
            Kind::Nil | Kind::Null => {}
            Kind::Complex(..) => return fail("unsupported type: complex128"),
        }
        Ok(())
    }

    fn inline(&mut self, val: &Val, depth: usize) -> Result<()> {
        self.out.push('{');
        let (mut direct, mut below) = (Vec::new(), Vec::new());
        for (name, val) in fields(val) {
            let is_table = matches!(shape(&val)?, Shape::Table | Shape::Tables);
            if is_table { below.push((name, val)) } else { direct.push((name, val)) }
        }
        let (first, total) = (direct.len(), direct.len() + below.len());
        for (index, (name, val)) in direct.into_iter().chain(below).enumerate() {
            if is_nil(&val) {
                continue;
            }
            self.out.push_str(&format!("{} = ", key(&name)));
            self.element(&val, depth + 1)?;
            if index + 1 < total && !(index + 1 == first && total == first) {
                self.out.push_str(", ");
            }
        }
        self.out.push('}');
        Ok(())
    }
}

/// A slice or a map that was never made is nil as well.
fn is_nil(val: &Val) -> bool {
    match &val.kind {
        Kind::List(list) => list.is_nil,
        Kind::Map(map) => map.is_nil,
        _ => val.is_nil(),
    }
}

fn float(value: f64, libraries: Libraries) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    // Exponents since toml 1.4.
    let shown = if libraries == Libraries::Helm3_17 { value.to_string() } else { float_v(value) };
    if shown.contains(['.', 'e']) { shown } else { format!("{shown}.0") }
}

fn written(call: &mut Call<'_>) -> Result<String> {
    if call.args[0].is_nil() {
        return fail(super::builtin::ZERO_VALUE);
    }
    call.cx.weigh(&call.args[0], 8)?;
    let mut writer = Writer { out: String::new(), limit: call.cx.limits.text, libraries: call.cx.libraries };
    writer.encode(&mut Vec::new(), &call.args[0])?;
    call.cx.step(writer.out.len() / 16)?;
    Ok(writer.out)
}

fn to_toml(call: &mut Call<'_>) -> Result<Val> {
    match written(call) {
        Ok(text) => call.made(text),
        Err(fault) if fault.bound.is_none() && !call.args[0].is_nil() => {
            call.made(fault.message().to_owned())
        }
        Err(fault) => Err(fault),
    }
}

/// A value as the decoder gives it: integers `int64`, dates as moments.
fn value(found: toml::Value, prov: ProvId, set: SetId) -> Val {
    match found {
        toml::Value::String(text) => Val::text(Text::new(text.into_bytes(), prov)),
        toml::Value::Integer(value) => Val::int64(value, set),
        toml::Value::Float(value) => Val::float(value, set),
        toml::Value::Boolean(value) => Val::bool(value, set),
        toml::Value::Datetime(date) => {
            let text = date.to_string();
            let layouts = [
                "2006-01-02T15:04:05.999999999Z07:00",
                "2006-01-02T15:04:05.999999999",
                "2006-01-02",
                "15:04:05.999999999",
            ];
            let time = layouts.iter().find_map(|layout| parse_time(layout, &text).ok());
            match time {
                Some(time) => Val::time(time, set),
                None => Val::text(Text::new(text.into_bytes(), prov)),
            }
        }
        toml::Value::Array(items) => {
            let tables = !items.is_empty() && items.iter().all(|item| item.is_table());
            let items = items.into_iter().map(|item| value(item, prov, set)).collect();
            Val::list(List::new(items, if tables { Elem::Maps } else { Elem::Any })).with(set)
        }
        toml::Value::Table(table) => {
            let map = Map::new(MapType::Any);
            for (key, item) in table {
                let val = value(item, prov, set);
                map.insert(key.as_bytes(), set, val);
            }
            Val::map(map).with(set)
        }
    }
}

/// What is wrong, near Go's words: the line, and that the text ended where it did.
fn refusal(text: &str, error: &toml::de::Error) -> String {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let line = 1 + text.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
    let current = text.lines().nth(line - 1).unwrap_or_default();
    if let Some((name, rest)) = current.split_once('=')
        && rest.trim().is_empty()
        && text.lines().count() <= line
    {
        return format!("toml: line {line} (last key \"{}\"): unexpected EOF; expected value", name.trim());
    }
    let is_bare = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let trimmed = current.trim_start();
    let rest = trimmed[trimmed.bytes().take_while(|b| is_bare(b)).count()..].trim_start();
    let is_header = trimmed.starts_with(['[', '"', '\'', '#']);
    match rest.chars().next() {
        None if !is_header && text.lines().count() == line && !text.ends_with('\n') => {
            format!("toml: line {line}: unexpected EOF; expected key separator '='")
        }
        None if !is_header => {
            format!("toml: line {line}: expected '.' or '=', but got '\\n' instead")
        }
        Some(c) if !is_header && !matches!(c, '=' | '.') => {
            format!("toml: line {line}: expected '.' or '=', but got '{c}' instead")
        }
        _ => format!("toml: line {line}: {}", error.message()),
    }
}

fn from_toml(call: &mut Call<'_>) -> Result<Val> {
    let text = call.string(0);
    call.cx.step(text.len() / 4)?;
    let set = call.set(0);
    let prov = call.cx.trace.plain(set);
    match text.parse::<toml::Table>() {
        Ok(table) => Ok(value(toml::Value::Table(table), prov, set)),
        Err(error) => {
            let message = refusal(&text, &error);
            Ok(error_map(call, message, set))
        }
    }
}
