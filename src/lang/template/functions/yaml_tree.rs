//! A value as a tree to be written as YAML, and back without a text between.

use crate::lang::template::bound::Bound;
use crate::lang::template::error::{Fault, Result, fail};
use crate::lang::template::flow;
use crate::lang::template::function::Call;
use crate::lang::template::rope::{Builder, Meaning, Text};
use crate::lang::template::trace::SetId;
use crate::lang::template::value::{Kind, List, Map, MapType, Val};
use crate::lang::yaml::emit::DEPTH_LIMIT;
use crate::lang::yaml::{Built, Entry, Node, Value};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::Arc;

/// What a node of the tree is made of: a value, and where its key comes from.
pub(super) struct Part {
    pub(super) val: Val,
    pub(super) key: SetId,
}

/// A value as a tree, and what its nodes are made of.
pub(super) struct Tree {
    pub(super) parts: FxHashMap<(usize, u32), Part>,
    /// Floats stay floats and structs have the names of go-yaml.
    pretty: bool,
    /// Line breaks that JSON has in texts so far ([`through_json`]).
    breaks: usize,
    /// The value as it was.
    pub(super) root: Node,
}

impl Tree {
    /// The tree of a value.
    pub(super) fn of(val: &Val, pretty: bool) -> Result<Tree> {
        let root = Node::scalar(Value::Null, None);
        let mut tree = Tree { parts: FxHashMap::default(), pretty, breaks: 0, root };
        tree.root = tree.node(val, SetId::NONE, 0)?;
        Ok(tree)
    }

    fn node(&mut self, val: &Val, key: SetId, depth: usize) -> Result<Node> {
        if depth > DEPTH_LIMIT {
            return Err(Fault::bound(Bound::Nesting(DEPTH_LIMIT)));
        }
        let value = match &val.kind {
            Kind::Nil | Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Int(value, ty) if ty.is_unsigned() => Value::Uint(*value as u64),
            Kind::Int(value, _) => Value::Int(*value),
            Kind::Float(value) if !value.is_finite() && !self.pretty => {
                let shown = crate::lang::template::print::float_v(*value);
                return fail(format!("error marshaling into JSON: json: unsupported value: {shown}"));
            }
            Kind::Float(value) => Value::Float(*value),
            Kind::Complex(..) => {
                return fail("error marshaling into JSON: json: unsupported type: complex128");
            }
            Kind::Str(text) => self.text(text)?,
            Kind::Bytes(text) => {
                let encoded =
                    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text.bytes());
                Value::Str(encoded.into())
            }
            Kind::List(list) if list.is_nil && !self.pretty => Value::Null,
            Kind::Map(map) if map.is_nil && !self.pretty => Value::Null,
            Kind::List(list) => {
                let items: Result<Vec<Node>> =
                    list.iter().map(|item| self.node(&item, SetId::NONE, depth + 1)).collect();
                Value::Seq(items?)
            }
            Kind::Map(map) => {
                let entries = map.snapshot();
                let fields = entries.iter().map(|(key, entry)| (&**key, entry.key, &entry.val));
                self.fields(fields, depth)?
            }
            Kind::Struct(of) => {
                let exported =
                    of.fields.iter().filter(|(name, _)| !name.starts_with(|c: char| c.is_lowercase()));
                if self.pretty {
                    let lower: Vec<(String, &Val)> =
                        exported.map(|(name, val)| (name.to_lowercase(), val)).collect();
                    let fields = lower.iter().map(|(name, val)| (name.as_bytes(), SetId::NONE, *val));
                    self.fields(fields, depth)?
                } else {
                    self.fields(exported.map(|(name, val)| (name.as_bytes(), SetId::NONE, val)), depth)?
                }
            }
            Kind::Time(time) if self.pretty => {
                Value::Plain(time.format("2006-01-02T15:04:05.999999999Z07:00").into())
            }
            Kind::Time(time) => Value::Str(time.format("2006-01-02T15:04:05.999999999Z07:00").into()),
            Kind::Version(version) => Value::Str(version.full().into()),
        };
        let node = Node::Built(Arc::new(Built { value, origin: None }));
        self.parts.insert(node.address(), Part { val: val.clone(), key });
        Ok(node)
    }

    fn text(&mut self, text: &Text) -> Result<Value> {
        if self.pretty && std::str::from_utf8(text.bytes()).is_err() {
            // go-yaml v3 writes `!!binary` and base64, in lines where it is long.
            return Err(Fault::bound(Bound::Unsupported("toYamlPretty of a text that is no UTF-8")));
        }
        let text = text.str();
        if self.pretty {
            return Ok(Value::Str(text.as_ref().into()));
        }
        self.breaks += breaks(&text);
        Ok(Value::Str(through_json(&text)?.as_ref().into()))
    }

    fn fields<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], SetId, &'f Val)>,
        depth: usize,
    ) -> Result<Value> {
        let mut entries = Vec::new();
        for (key, key_from, val) in fields {
            let value = self.node(val, key_from, depth + 1)?;
            let key = String::from_utf8_lossy(key);
            if !self.pretty && *through_json(&key)? != *key {
                let line = self.breaks + breaks(&key);
                return fail(format!("yaml: line {line}: did not find expected ',' or '}}'"));
            }
            let key = Node::string(&key, None);
            entries.push(Entry { key, value });
        }
        Ok(Value::Map(entries.into()))
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

/// A text that reads back as it was written, wherever it stands: none of which the end of
/// the document may cut a line break off, and none that YAML escapes or gives a meaning.
fn reads_back(bytes: &[u8]) -> bool {
    let is_special =
        |c: char| c.is_control() || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}'..);
    bytes.iter().all(|b| matches!(b, b' '..=b'~'))
        || std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(is_special))
}

/// As [`reads_back`], of a key: longer ones are written in another way.
fn key_reads_back(key: &str) -> bool {
    const LONG: usize = 100;
    key.len() < LONG && !matches!(key, "<<" | "=") && reads_back(key.as_bytes())
}

/// What reading a text again would give that was written out of a value, and nothing where
/// it may be anything else. The charts of which libraries pass objects on as YAML spend half
/// of their time in reading it.
pub(super) fn read_back(call: &mut Call<'_>, wants_map: bool) -> Option<Val> {
    let val = &call.args[0];
    let Kind::Str(text) = &val.kind else { return None };
    let meaning = text.meaning()?;
    let tree = meaning.of.downcast_ref::<Tree>()?;
    let Node::Built(root) = &tree.root else { return None };
    if !matches!((&root.value, wants_map), (Value::Map(_), true) | (Value::Seq(_), false)) {
        return None;
    }
    let from = call.cx.trace.union(meaning.from, val.from);
    Reading { tree, meaning: Meaning { from, ..meaning.clone() } }.value(call, &tree.root)
}

struct Reading<'t> {
    tree: &'t Tree,
    meaning: Meaning,
}

impl Reading<'_> {
    fn value(&self, call: &mut Call<'_>, node: &Node) -> Option<Val> {
        let Node::Built(built) = node else { return None };
        let part = self.tree.parts.get(&node.address())?;
        let from = call.cx.trace.union(part.val.from, self.meaning.from);
        Some(match (&built.value, &part.val.kind) {
            (Value::Null, _) => Val::nil().with(from),
            (Value::Bool(value), _) => Val::bool(*value, from),
            (Value::Int(value), _) => Val::float(*value as f64, from),
            (Value::Uint(value), _) => Val::float(*value as f64, from),
            (Value::Float(value), _) if value.to_bits() != (-0.0_f64).to_bits() => Val::float(*value, from),
            (Value::Str(_), Kind::Str(text)) if reads_back(text.bytes()) => {
                Val::text(self.text(call, text, &part.val))
            }
            (Value::Seq(items), Kind::List(_)) => {
                let items: Option<Vec<Val>> = items.iter().map(|item| self.value(call, item)).collect();
                Val::list(List::any(items?)).with(from)
            }
            (Value::Map(entries), Kind::Map(_)) => {
                let map = Map::new(MapType::Any);
                for entry in entries.iter() {
                    let Node::Built(key) = &entry.key else { return None };
                    let Value::Str(key) = &key.value else { return None };
                    if !key_reads_back(key) {
                        return None;
                    }
                    let val = self.value(call, &entry.value)?;
                    let own = self.tree.parts.get(&entry.value.address())?.key;
                    let own = call.cx.trace.union(own, self.meaning.from);
                    map.insert(key.as_bytes(), own, val);
                }
                Val::map(map).with(from)
            }
            _ => return None,
        })
    }

    /// A text with who wrote it, as the action that wrote the YAML wrote it.
    fn text(&self, call: &mut Call<'_>, text: &Text, val: &Val) -> Text {
        let trace = &mut call.cx.trace;
        let text = flow::also(trace, text, val.from);
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
