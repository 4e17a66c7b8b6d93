//! YAML, as `sigs.k8s.io/yaml` writes and reads it, and as go-yaml v3 writes it.

use super::Native;
use super::json::{error_list, error_map, typed};
use super::yaml_tree::{Document, read_back};
use crate::lang::template::error::Result;
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, FunctionBody, Library, Purity, Ty};
use crate::lang::template::rope::{Builder, Meaning, Text};
use crate::lang::template::sigs_yaml::not_utf8;
use crate::lang::template::trace::{ProvId, SetId, Trace};
use crate::lang::template::value::{Entries, Kind, List, Map, MapEntry, MapType, Val};
use crate::lang::yaml::emit::DEPTH_LIMIT;
use crate::lang::yaml::{Dialect, EntryRef, Location, NodeKind, NodeRef, Scalar, written_runs};
use std::ops::Range;
use std::rc::Rc;

const fn helm(name: &'static str, params: &'static [Ty], flow: Flow, run: Native) -> Function {
    let (library, purity, run) = (Library::Helm, Purity::Pure, FunctionBody::Native(run));
    Function { name, library, params, is_variadic: false, purity, flow, run }
}

pub(super) const TABLE: &[Function] = &[
    helm("toYaml", &[Ty::Any], Flow::Keeps, to_yaml),
    helm("mustToYaml", &[Ty::Any], Flow::Keeps, must_to_yaml),
    helm("toYamlPretty", &[Ty::Any], Flow::Keeps, to_yaml_pretty),
    helm("fromYaml", &[Ty::Str], Flow::Holds, from_yaml),
    helm("fromYamlArray", &[Ty::Str], Flow::Holds, from_yaml_array),
];

/// A value as YAML without its last line break; each scalar keeps its origins.
fn emitted(call: &mut Call<'_>, val: &Val, pretty: bool) -> Result<Val> {
    call.cx.weigh(val, 16)?;
    let most = call.cx.limits.text;
    let document = Rc::new(Document::of(&mut call.cx.trace, val, (pretty, most))?);
    call.cx.text(document.size)?;
    call.cx.step(document.size / 16)?;
    let meaning = (!pretty).then(|| Meaning::new(document.clone()));
    Ok(Val::text(match meaning {
        Some(meaning) if call.cx.trace.is_empty() => Text::later(meaning, move || document.bytes()),
        meaning => {
            let (bytes, layout) = document.written(&mut call.cx.trace, pretty);
            layout.text(bytes, meaning)
        }
    }))
}

/// A value as `toYaml` writes it.
pub(in crate::lang::template) fn yaml_of(call: &mut Call<'_>, val: &Val) -> Result<Val> {
    match emitted(call, val, false) {
        Err(fault) if fault.bound.is_none() => call.made(""),
        result => result,
    }
}

fn to_yaml(call: &mut Call<'_>) -> Result<Val> {
    yaml_of(call, &call.args[0])
}

fn must_to_yaml(call: &mut Call<'_>) -> Result<Val> {
    emitted(call, &call.args[0], false)
}

/// As flux-operator has it: the line break at the end stays.
pub(super) fn operator_must_to_yaml(call: &mut Call<'_>) -> Result<Val> {
    let Val { kind: Kind::Str(text), from, .. } = emitted(call, &call.args[0], false)? else {
        return call.made("");
    };
    let end = Text::new(&b"\n"[..], ProvId::default());
    Ok(Val::text(text.join(&end)).with(from))
}

/// As [`operator_must_to_yaml`], with an empty text for what has no YAML.
pub(super) fn operator_to_yaml(call: &mut Call<'_>) -> Result<Val> {
    match operator_must_to_yaml(call) {
        Err(fault) if fault.bound.is_none() => call.made(""),
        result => result,
    }
}

fn to_yaml_pretty(call: &mut Call<'_>) -> Result<Val> {
    match emitted(call, &call.args[0], true) {
        Err(fault) if fault.bound.is_none() => call.made(""),
        result => result,
    }
}

/// The first document of a text, as JSON would decode it.
fn document(call: &mut Call<'_>, text: &Text) -> std::result::Result<Option<Val>, String> {
    if let Some(refused) = not_utf8(text.bytes()) {
        return Err(refused);
    }
    let Some(node) = call.cx.documents.read(text)? else {
        return Ok(None);
    };
    if let Some(prov) = text.only_prov() {
        let trace = &mut call.cx.trace;
        let from = trace.prov(prov).from;
        let of = OneOrigin { text: text.clone(), from, prov, plain: trace.plain(from) };
        return Ok(Some(value_of_one(node.get_ref(), &Rc::new(of), 0)?));
    }
    Ok(Some(value(call, node.get_ref(), text, 0)?))
}

/// A text of one origin, which it gives to all of its values.
struct OneOrigin {
    text: Text,
    from: SetId,
    /// Of a scalar that stands in the text as it is.
    prov: ProvId,
    /// Of any other.
    plain: ProvId,
}

/// Bytes above which the entries of a map are made when somebody looks: of the definitions in its
/// files a chart asks for their names.
const LARGE: u32 = 1 << 10;

/// A node's value, where all of its text is of one origin.
fn value_of_one(node: NodeRef<'_>, text: &Rc<OneOrigin>, depth: usize) -> std::result::Result<Val, String> {
    if depth > DEPTH_LIMIT {
        return Err(too_deep());
    }
    let val = match node.kind() {
        NodeKind::Map => match node.token() {
            // Documents that are not made anew were read no deeper than values may be.
            Some(token) if token.end - token.start > LARGE => {
                let (node, text) = (node.to_node(), text.clone());
                let make = move || entries_of_one(node.get_ref(), &text, depth).unwrap_or_default();
                Val::map(Map::later(MapType::Any, make))
            }
            _ => Val::map(Map::of(entries_of_one(node, text, depth)?)),
        },
        NodeKind::Seq => {
            let items = node.items().map(|item| value_of_one(item, text, depth + 1));
            Val::list(List::any(items.collect::<std::result::Result<_, _>>()?))
        }
        _ => match node.scalar(Dialect::GoYamlV2) {
            Scalar::Timestamp(value) | Scalar::Str(value) => {
                let is_verbatim = is_verbatim(node, &value, text.text.bytes());
                let prov = if is_verbatim { text.prov } else { text.plain };
                return Ok(Val::text(Text::new(value.as_bytes(), prov)));
            }
            other => number(&other),
        },
    };
    Ok(val.with(text.from))
}

fn entries_of_one(
    node: NodeRef<'_>,
    text: &Rc<OneOrigin>,
    depth: usize,
) -> std::result::Result<Entries, String> {
    let entry = |entry: EntryRef<'_>| {
        let val = value_of_one(entry.value, text, depth + 1)?.stored();
        Ok((entry.key.as_bytes().into(), MapEntry { key: text.from, val }))
    };
    node.entries().map(entry).collect()
}

fn too_deep() -> String {
    format!("nested more than {DEPTH_LIMIT} deep")
}

/// What is no text; numbers are floats, as JSON's.
fn number(scalar: &Scalar<'_>) -> Val {
    match scalar {
        Scalar::Bool(value) => Val::bool(*value, SetId::NONE),
        Scalar::Int(value) => Val::float(*value as f64, SetId::NONE),
        Scalar::Uint(value) => Val::float(*value as f64, SetId::NONE),
        Scalar::Float(value) => Val::float(*value, SetId::NONE),
        Scalar::Null | Scalar::Timestamp(_) | Scalar::Str(_) => Val::nil(),
    }
}

/// Whether a scalar stands in a text as it is.
fn is_verbatim(node: NodeRef<'_>, scalar: &str, text: &[u8]) -> bool {
    let written = node.location().and_then(|at| text.get(at.start as usize..at.end as usize));
    written == Some(scalar.as_bytes())
}

/// Some bytes of a text; nothing where they are not known.
fn part(text: &Text, place: Option<Location>) -> Option<Text> {
    let place = place?;
    let range = place.start as usize..place.end as usize;
    let is_part = range.end <= text.len() && range.start <= range.end;
    is_part.then(|| text.slice(range))
}

/// Where a part of a text comes from; of one that is not known, all of it may.
fn from(call: &mut Call<'_>, part: Option<&Text>, text: &Text) -> SetId {
    flow::of_text(&mut call.cx.trace, part.unwrap_or(text))
}

/// The value of a scalar, each part with what it comes from, where something unknown is in it and
/// it stands in the text as it is: the rest of it is known.
fn parts_of(call: &Call<'_>, node: NodeRef<'_>, value: &str, (text, from): (&Text, SetId)) -> Option<Text> {
    if !call.cx.trace.is_unknown(from) {
        return None;
    }
    let start = node.location()?.start as usize;
    let mut parts = Builder::default();
    for (at, run) in written_runs(node, value)? {
        let range = start + at..start + at + run.len();
        if text.bytes().get(range.clone()) != Some(run.as_bytes()) {
            return None;
        }
        parts.push_slice(text, range);
    }
    Some(parts.finish())
}

/// What a map or a list comes from: what stands around the keys and values in it. What lies in one
/// of those, as the unknown of `a.${DOMAIN}`, is of none of its neighbours.
struct Around<'t> {
    /// Nothing where the places of values are not known: then it comes from all of the text.
    text: Option<&'t Text>,
    /// The bytes that were not looked at.
    left: Range<usize>,
    from: SetId,
}

impl<'t> Around<'t> {
    fn of(call: &mut Call<'_>, node: NodeRef<'_>, text: &'t Text) -> Around<'t> {
        let left = node.location().map(|at| at.start as usize..at.end as usize);
        match left.filter(|left| left.start <= left.end && left.end <= text.len()) {
            Some(left) => Around { text: Some(text), left, from: SetId::NONE },
            None => Around { text: None, left: 0..0, from: from(call, None, text) },
        }
    }

    /// Passes over a key or a value in it.
    fn skip(&mut self, trace: &mut Trace, node: NodeRef<'_>) {
        let Some(place) = self.text.and_then(|_| node.location()) else { return };
        let (start, end) = (place.start as usize, place.end as usize);
        // What an alias stands for is elsewhere.
        if self.left.start <= start && start <= end && end <= self.left.end {
            self.take(trace, start);
            self.left.start = end;
        }
    }

    fn take(&mut self, trace: &mut Trace, end: usize) {
        for prov in self.text.into_iter().flat_map(|text| text.provs(self.left.start..end)) {
            let from = trace.prov(prov).from;
            self.from = trace.union(self.from, from);
        }
    }

    fn finish(mut self, trace: &mut Trace) -> SetId {
        self.take(trace, self.left.end);
        self.from
    }
}

/// A node's value, with the origins of the bytes that it stands on.
fn value(
    call: &mut Call<'_>,
    node: NodeRef<'_>,
    text: &Text,
    depth: usize,
) -> std::result::Result<Val, String> {
    if depth > DEPTH_LIMIT {
        return Err(too_deep());
    }
    Ok(match node.kind() {
        NodeKind::Map => {
            let mut around = Around::of(call, node, text);
            let mut entries = Vec::new();
            for entry in node.entries() {
                around.skip(&mut call.cx.trace, entry.key_node);
                around.skip(&mut call.cx.trace, entry.value);
                let val = value(call, entry.value, text, depth + 1)?;
                let part = part(text, entry.key_location());
                let key = from(call, part.as_ref(), text);
                entries.push((entry.key.as_bytes().into(), MapEntry { key, val: val.stored() }));
            }
            let from = around.finish(&mut call.cx.trace);
            Val::map(Map::of(entries.into_iter().collect())).with(from)
        }
        NodeKind::Seq => {
            let mut around = Around::of(call, node, text);
            let mut items = Vec::new();
            for item in node.items() {
                around.skip(&mut call.cx.trace, item);
                items.push(value(call, item, text, depth + 1)?);
            }
            let from = around.finish(&mut call.cx.trace);
            Val::list(List::any(items)).with(from)
        }
        _ => {
            let part = part(text, node.location());
            let from = from(call, part.as_ref(), text);
            scalar(call, node, text, (part, from))
        }
    })
}

/// A scalar's value, out of its bytes and what these come from.
fn scalar(call: &mut Call<'_>, node: NodeRef<'_>, text: &Text, (part, from): (Option<Text>, SetId)) -> Val {
    match node.scalar(Dialect::GoYamlV2) {
        Scalar::Timestamp(value) | Scalar::Str(value) => match part {
            // A plain scalar keeps the parts of its text.
            Some(part) if part.bytes() == value.as_bytes() => Val::text(part),
            _ => {
                if let Some(parts) = parts_of(call, node, &value, (text, from)) {
                    return Val::text(parts);
                }
                Val::text(Text::new(value.as_bytes(), call.cx.trace.plain(from)))
            }
        },
        other => number(&other).with(from),
    }
}

fn read(call: &mut Call<'_>, wants_map: bool) -> Result<std::result::Result<Option<Val>, String>> {
    let text = call.text(0);
    call.cx.step(text.len() / 4)?;
    Ok(document(call, &text).and_then(|val| {
        val.map(|val| typed(val, wants_map))
            .transpose()
            .map_err(|error| format!("error unmarshaling JSON: while decoding JSON: {error}"))
    }))
}

fn from_yaml(call: &mut Call<'_>) -> Result<Val> {
    if let Some(val) = read_back(call, true)? {
        return Ok(val);
    }
    let from = call.set(0);
    Ok(match read(call, true)? {
        Ok(Some(Val { kind: Kind::Nil, .. }) | None) => Val::map(Map::new(MapType::Any)).with(from),
        Ok(Some(val)) => val,
        Err(message) => error_map(call, message, from),
    })
}

fn from_yaml_array(call: &mut Call<'_>) -> Result<Val> {
    if let Some(val) = read_back(call, false)? {
        return Ok(val);
    }
    let from = call.set(0);
    Ok(match read(call, false)? {
        Ok(Some(Val { kind: Kind::Nil, .. }) | None) => Val::list(List::any(Vec::new())).with(from),
        Ok(Some(val)) => val,
        Err(message) => error_list(call, message, from),
    })
}
