//! A value as a tree to be written as YAML, and back without a text between.

use crate::lang::template::bound::Bound;
use crate::lang::template::error::{Fault, Result, fail};
use crate::lang::template::flow;
use crate::lang::template::function::Call;
use crate::lang::template::rope::{Builder, Layout, Meaning, Text, characters};
use crate::lang::template::trace::{ProvId, SetId, Trace};
use crate::lang::template::value::{Kind, List, Map, MapEntry, Val};
use crate::lang::yaml::emit::{Context, DEPTH_LIMIT, Emitter, sort_for_yaml, style_of};
use crate::lang::yaml::resolve::{resolve_plain, timestamp_rfc3339};
use crate::lang::yaml::{Dialect, Scalar, ScalarStyle};
use std::borrow::Cow;
use std::ops::Range;
use std::rc::Rc;

/// A value as it is written, whatever is set in it later.
pub(super) struct Document {
    root: Tree,
    /// About how many bytes it has.
    pub(super) size: usize,
}

/// A part of a document, and what it comes from.
struct Tree {
    shape: Shape,
    from: SetId,
}

enum Shape {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    /// As go-yaml reads it from JSON ([`through_json`]), where that is another text.
    Text(Text, Option<Box<str>>),
    /// What stands for bytes, a time or a version, and the style that it is written in.
    Other(Box<str>, ScalarStyle),
    List(Box<[Tree]>),
    Map(Box<[Field]>),
    Struct(Box<[Field]>),
}

struct Field {
    key: Rc<[u8]>,
    /// Where the key comes from.
    from: SetId,
    value: Tree,
}

impl Document {
    /// The document of a value, of `most` bytes. `pretty`: floats stay floats and structs have the
    /// names of go-yaml.
    pub(super) fn of(trace: &mut Trace, val: &Val, (pretty, most): (bool, usize)) -> Result<Document> {
        let mut planting = Planting { trace, pretty, breaks: 0, size: 0, most };
        let root = planting.tree(val, 0)?;
        Ok(Document { root, size: planting.size })
    }

    /// What it is written as, without the last line break.
    pub(super) fn written(&self, trace: &mut Trace, pretty: bool) -> (Vec<u8>, Layout) {
        let own = trace.plain(self.root.from);
        let mut places = Places { layout: Layout::default(), own, trace };
        let bytes = self.bytes_at(pretty, Some(&mut places));
        places.layout.to(bytes.len(), own);
        (bytes, places.layout)
    }

    /// The bytes of [`Document::written`] alone.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.bytes_at(false, None)
    }

    fn bytes_at(&self, pretty: bool, places: Option<&mut Places<'_>>) -> Vec<u8> {
        let mut emitter = Emitter::new();
        emitter.pretty = pretty;
        let mut writing = Writing { emitter, places };
        writing.tree(&self.root, Context::default());
        let mut emitter = writing.emitter;
        emitter.write_indent();
        let mut bytes = emitter.out.into_bytes();
        if bytes.ends_with(b"\n") {
            bytes.pop();
        }
        bytes
    }
}

/// Bytes of a scalar that is no text, and of what stands around any.
const SCALAR: usize = 4;

struct Planting<'t> {
    trace: &'t mut Trace,
    pretty: bool,
    /// Line breaks that JSON has in texts so far ([`through_json`]).
    breaks: usize,
    /// About how many bytes are to be written so far.
    size: usize,
    most: usize,
}

impl Planting<'_> {
    fn tree(&mut self, val: &Val, depth: usize) -> Result<Tree> {
        if depth > DEPTH_LIMIT {
            return Err(Fault::bound(Bound::Nesting(DEPTH_LIMIT)));
        }
        let mut from = val.from;
        self.size += SCALAR;
        if let Kind::Str(text) | Kind::Bytes(text) = &val.kind {
            // Each of its lines may be indented.
            self.size = self.size.saturating_add(text.len().saturating_mul(1 + depth / 8));
        }
        if self.size > self.most {
            return Err(Fault::bound(Bound::Text(self.most)));
        }
        let shape = match &val.kind {
            Kind::Nil | Kind::Null => Shape::Null,
            Kind::Bool(value) => Shape::Bool(*value),
            Kind::Int(value, ty) if ty.is_unsigned() => Shape::Uint(*value as u64),
            Kind::Int(value, _) => Shape::Int(*value),
            Kind::Float(value) if !value.is_finite() && !self.pretty => {
                let shown = crate::lang::template::print::float_v(*value);
                return fail(format!("error marshaling into JSON: json: unsupported value: {shown}"));
            }
            Kind::Float(value) => Shape::Float(*value),
            Kind::Complex(..) => {
                return fail("error marshaling into JSON: json: unsupported type: complex128");
            }
            Kind::Str(text) => Shape::Text(text.clone(), self.text(text)?),
            Kind::Bytes(text) => {
                from = flow::of(self.trace, val);
                let encoded =
                    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text.bytes());
                other(&encoded)
            }
            Kind::List(list) if list.is_nil && !self.pretty => Shape::Null,
            Kind::Map(map) if map.is_nil && !self.pretty => Shape::Null,
            Kind::List(list) => {
                let items: Result<Box<[Tree]>> =
                    list.iter().map(|item| self.tree(&item, depth + 1)).collect();
                Shape::List(items?)
            }
            Kind::Map(map) => {
                let entries = map.entries.borrow();
                let fields = entries.iter().map(|(key, entry)| (key.clone(), entry.key, &entry.val));
                Shape::Map(self.fields(fields, depth)?)
            }
            Kind::Struct(of) => {
                let exported =
                    of.fields.iter().filter(|(name, _)| !name.starts_with(|c: char| c.is_lowercase()));
                let pretty = self.pretty;
                let named = exported.map(|(name, val)| {
                    let name = if pretty { name.to_lowercase() } else { name.to_string() };
                    (name.into_bytes().into(), SetId::NONE, val)
                });
                Shape::Struct(self.fields(named, depth)?)
            }
            Kind::Time(time) => self.time(&time.format("2006-01-02T15:04:05.999999999Z07:00"))?,
            Kind::Version(version) => other(&version.full()),
        };
        Ok(Tree { shape, from })
    }

    fn time(&self, written: &str) -> Result<Shape> {
        if !self.pretty || !matches!(resolve_plain(written.into(), Dialect::GoYamlV3), Scalar::Timestamp(_)) {
            return Ok(other(written));
        }
        match timestamp_rfc3339(written) {
            Some(written) => Ok(Shape::Other(written.into(), ScalarStyle::Plain)),
            None => fail("timezone hour outside of range [0,23]"),
        }
    }

    fn text(&mut self, text: &Text) -> Result<Option<Box<str>>> {
        if self.pretty {
            return match std::str::from_utf8(text.bytes()) {
                Ok(_) => Ok(None),
                // go-yaml v3 writes `!!binary` and base64, in lines where it is long.
                Err(_) => Err(Fault::bound(Bound::Unsupported("toYamlPretty of a text that is no UTF-8"))),
            };
        }
        let text = text.str();
        self.breaks += breaks(&text);
        Ok(match through_json(&text)? {
            Cow::Borrowed(_) => None,
            Cow::Owned(folded) => Some(folded.into()),
        })
    }

    fn fields<'f>(
        &mut self,
        fields: impl Iterator<Item = (Rc<[u8]>, SetId, &'f Val)>,
        depth: usize,
    ) -> Result<Box<[Field]>> {
        let mut planted = Vec::with_capacity(fields.size_hint().0);
        for (key, from, val) in fields {
            self.size += key.len() + 2 * depth;
            let value = self.tree(val, depth + 1)?;
            let shown = characters(&key);
            if !self.pretty && matches!(through_json(&shown)?, Cow::Owned(_)) {
                let line = self.breaks + breaks(&shown);
                return fail(format!("yaml: line {line}: did not find expected ',' or '}}'"));
            }
            planted.push(Field { key, from, value });
        }
        Ok(planted.into())
    }
}

fn other(text: &str) -> Shape {
    Shape::Other(text.into(), style_of(text, false))
}

/// A tree on its way to a text.
struct Writing<'w, 't> {
    emitter: Emitter<'static>,
    /// Nothing where only the bytes are wanted.
    places: Option<&'w mut Places<'t>>,
}

impl Writing<'_, '_> {
    fn tree(&mut self, tree: &Tree, context: Context) {
        let start = self.emitter.out.len();
        match &tree.shape {
            Shape::List(items) if items.is_empty() => return self.emitter.empty("[", "]"),
            Shape::Map(fields) | Shape::Struct(fields) if fields.is_empty() => {
                return self.emitter.empty("{", "}");
            }
            Shape::List(items) => {
                let outer = self.emitter.begin_list(context);
                for item in items {
                    self.emitter.item();
                    self.tree(item, Context::default());
                }
                return self.emitter.end(outer);
            }
            Shape::Map(fields) | Shape::Struct(fields) => return self.fields(fields),
            Shape::Null => self.emitter.scalar("null", ScalarStyle::Plain, context),
            Shape::Bool(true) => self.emitter.scalar("true", ScalarStyle::Plain, context),
            Shape::Bool(false) => self.emitter.scalar("false", ScalarStyle::Plain, context),
            Shape::Int(value) => self.emitter.scalar(&value.to_string(), ScalarStyle::Plain, context),
            Shape::Uint(value) => self.emitter.scalar(&value.to_string(), ScalarStyle::Plain, context),
            Shape::Float(value) => self.emitter.float(*value, context),
            Shape::Text(_, Some(folded)) => self.emitter.string(folded, context),
            Shape::Text(text, None) => self.emitter.string(&text.str(), context),
            Shape::Other(text, style) => self.emitter.scalar(text, *style, context),
        }
        let Some(places) = &mut self.places else { return };
        let written = self.emitter.since(start);
        match &tree.shape {
            Shape::Text(text, _) => {
                places.layout.to(written.start, places.own);
                places.text(text, tree.from, written, self.emitter.out.as_bytes());
            }
            _ => places.plain(tree.from, written),
        }
    }

    fn fields(&mut self, fields: &[Field]) {
        let entries = fields.iter().map(|field| (characters(&field.key), field)).collect();
        let entries = sort_for_yaml(entries);
        let outer = self.emitter.begin_map();
        for (index, (key, field)) in entries.iter().enumerate() {
            // Of keys that are written alike the last one counts.
            if entries.get(index + 1).is_some_and(|(next, _)| next == key) {
                continue;
            }
            let written = self.emitter.key(key);
            if let Some(places) = &mut self.places {
                places.plain(field.from, written);
            }
            self.tree(&field.value, Context::in_mapping());
        }
        self.emitter.end(outer);
    }
}

/// Where the parts of a text come from; each scalar and each key keeps its origins.
struct Places<'t> {
    layout: Layout,
    /// Of what stands between them.
    own: ProvId,
    trace: &'t mut Trace,
}

impl Places<'_> {
    /// A part that comes from one set as a whole.
    fn plain(&mut self, from: SetId, written: Range<usize>) {
        self.layout.to(written.start, self.own);
        let prov = self.trace.plain(from);
        self.layout.to(written.end, prov);
    }

    /// The parts of a text where it stands as it is, else all that flowed into it.
    fn text(&mut self, text: &Text, from: SetId, written: Range<usize>, out: &[u8]) {
        let text = flow::also(self.trace, text, from);
        // A text of one part keeps who wrote it.
        if let Some(prov) = text.only_prov() {
            return self.layout.to(written.end, prov);
        }
        let bytes = &out[written.clone()];
        let Some(at) = memchr::memmem::find(bytes, text.bytes()) else {
            return self.lines(&text, written, out);
        };
        let start = written.start + at;
        self.layout.to(start, text.prov_at(0));
        for (range, prov) in text.runs() {
            self.layout.to(start + range.end, prov);
        }
        self.layout.to(written.end, text.prov_at(text.len() - 1));
    }

    /// A text of several lines: each written line from the part of the text that it is.
    fn lines(&mut self, text: &Text, written: Range<usize>, out: &[u8]) {
        let from = flow::of_text(self.trace, text);
        let whole = self.trace.plain(from);
        let (mut at, mut end) = (0, written.start);
        for line in out[written].split_inclusive(|b| *b == b'\n') {
            let start = end;
            end += line.len();
            let inner = line.trim_ascii();
            let found =
                if inner.is_empty() { None } else { memchr::memmem::find(&text.bytes()[at..], inner) };
            let Some(found) = found else {
                self.layout.to(end, whole);
                continue;
            };
            let indent = line.len() - line.trim_ascii_start().len();
            let first = at + found;
            at = first + inner.len();
            self.layout.to(start + indent, text.prov_at(first));
            for (range, prov) in text.slice(first..at).runs() {
                self.layout.to(start + indent + range.end, prov);
            }
            self.layout.to(end, text.prov_at(at - 1));
        }
    }
}

/// A text as go-yaml reads it from JSON, which `sigs.k8s.io/yaml` writes first: encoding/json
/// leaves some characters as they are that a YAML document may not have, and U+0085, which
/// is a line break and folds to a blank.
///
/// Mirrors `yaml_parser_update_buffer` of go.yaml.in/yaml `readerc.go` and
/// `yaml_parser_scan_flow_scalar` of `scannerc.go`.
fn through_json(text: &str) -> Result<Cow<'_, str>> {
    let is_refused = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}') && c != NEXT_LINE;
    if text.bytes().all(|byte| byte < 0x7f) {
        return Ok(Cow::Borrowed(text));
    }
    if text.contains(is_refused) {
        return fail("yaml: control characters are not allowed");
    }
    if !text.contains(NEXT_LINE) {
        return Ok(Cow::Borrowed(text));
    }
    let mut folded = String::with_capacity(text.len());
    let mut before = 0;
    let last = breaks(text);
    for (index, line) in text.split(NEXT_LINE).enumerate() {
        let is_last = index == last;
        let line = if index > 0 { line.trim_start_matches(' ') } else { line };
        let line = if is_last { line } else { line.trim_end_matches(' ') };
        if index > 0 {
            before += 1;
        }
        if line.is_empty() && !is_last && index > 0 {
            continue;
        }
        match before {
            0 => {}
            1 => folded.push(' '),
            more => folded.extend(std::iter::repeat_n('\n', more - 1)),
        }
        before = 0;
        folded.push_str(line);
    }
    Ok(Cow::Owned(folded))
}

const NEXT_LINE: char = '\u{85}';

fn breaks(text: &str) -> usize {
    if text.is_ascii() { 0 } else { text.matches(NEXT_LINE).count() }
}

/// A text that reads back as it was written: none that YAML escapes or gives a meaning, and at the
/// end of the document, whose last line break is cut off, none that has it.
fn reads_back(bytes: &[u8], is_end: bool) -> bool {
    line_reads_back(bytes) || (memchr::memchr(b'\n', bytes).is_some() && lines_read_back(bytes, is_end))
}

fn line_reads_back(bytes: &[u8]) -> bool {
    let is_special =
        |c: char| c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'..);
    bytes.iter().all(|b| matches!(b, b' '..=b'~'))
        || std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(is_special))
}

/// Of lines that a block has as they are, and that say by themselves how deep it stands.
fn lines_read_back(bytes: &[u8], is_end: bool) -> bool {
    let (lines, is_cut) = match bytes.strip_suffix(b"\n") {
        Some(lines) => (lines, is_end),
        None => (bytes, false),
    };
    let is_line = |line: &[u8]| !line.ends_with(b" ") && line_reads_back(line);
    !is_cut
        && !matches!(lines.first(), None | Some(b' ' | b'\n'))
        && !lines.ends_with(b"\n")
        && lines.split(|byte| *byte == b'\n').all(is_line)
}

/// As [`reads_back`], of a key: longer ones are written in another way.
fn key_reads_back(key: &str) -> bool {
    const LONG: usize = 100;
    key.len() < LONG && !matches!(key, "<<" | "=") && line_reads_back(key.as_bytes())
}

/// The field that is written last.
fn last_of(fields: &[Field]) -> usize {
    let keys = fields.iter().enumerate().map(|(at, field)| (characters(&field.key), at)).collect();
    sort_for_yaml(keys).last().map_or(0, |(_, at)| *at)
}

/// What reading a text again would give that was written out of a value, and nothing where
/// it may be anything else. The charts of which libraries pass objects on as YAML spend half
/// of their time in reading it.
pub(super) fn read_back(call: &mut Call<'_>, wants_map: bool) -> Result<Option<Val>> {
    let val = &call.args[0];
    let Kind::Str(text) = &val.kind else { return Ok(None) };
    let Some(meaning) = text.meaning() else { return Ok(None) };
    let Some(Document { root, size }) = meaning.of.downcast_ref() else { return Ok(None) };
    if !matches!((&root.shape, wants_map), (Shape::Map(_), true) | (Shape::List(_), false)) {
        return Ok(None);
    }
    call.cx.step(size / 4)?;
    let from = call.cx.trace.union(meaning.from, val.from);
    Ok(Reading { meaning: Meaning { from, ..meaning.clone() } }.value(call, root, true))
}

struct Reading {
    meaning: Meaning,
}

impl Reading {
    /// `is_end`: whether the text ends with it.
    fn value(&self, call: &mut Call<'_>, tree: &Tree, is_end: bool) -> Option<Val> {
        let from = call.cx.trace.union(tree.from, self.meaning.from);
        Some(match &tree.shape {
            Shape::Null => Val::nil().with(from),
            Shape::Bool(value) => Val::bool(*value, from),
            Shape::Int(value) => Val::float(*value as f64, from),
            Shape::Uint(value) => Val::float(*value as f64, from),
            Shape::Float(value) if value.to_bits() != (-0.0_f64).to_bits() => Val::float(*value, from),
            Shape::Text(text, _) if reads_back(text.bytes(), is_end) => {
                Val::text(self.text(call, text, tree.from))
            }
            Shape::List(items) => {
                let last = items.len().saturating_sub(1);
                let item = |(at, item): (usize, &Tree)| self.value(call, item, is_end && at == last);
                let items: Option<Vec<Val>> = items.iter().enumerate().map(item).collect();
                Val::list(List::any(items?)).with(from)
            }
            Shape::Map(fields) => {
                let last = if is_end { last_of(fields) } else { fields.len() };
                let mut entries = Vec::with_capacity(fields.len());
                for (at, field) in fields.iter().enumerate() {
                    std::str::from_utf8(&field.key).ok().filter(|key| key_reads_back(key))?;
                    let val = self.value(call, &field.value, at == last)?;
                    let key = call.cx.trace.union(field.from, self.meaning.from);
                    entries.push((field.key.clone(), MapEntry { key, val: val.stored() }));
                }
                Val::map(Map::of(entries.into_iter().collect())).with(from)
            }
            Shape::Float(_) | Shape::Text(..) | Shape::Other(..) | Shape::Struct(_) => return None,
        })
    }

    /// A text with who wrote it, as the action that wrote the YAML wrote it.
    fn text(&self, call: &mut Call<'_>, text: &Text, own: SetId) -> Text {
        let trace = &mut call.cx.trace;
        let text = flow::also(trace, text, own);
        let Meaning { from, writer, under, .. } = self.meaning;
        if let Some(id) = text.only_prov() {
            let written = flow::written(trace, id, from, writer, under);
            return if written == id { text } else { Text::new(text.bytes(), written) };
        }
        let mut out = Builder::default();
        for (range, id) in text.runs() {
            let id = flow::written(trace, id, from, writer, under);
            out.push(&text.bytes()[range], id);
        }
        out.finish()
    }
}
