//! YAML, as `sigs.k8s.io/yaml` writes and reads it, and as go-yaml v3 writes it.

use super::Native;
use super::json::{error_list, error_map, typed};
use super::yaml_tree::{Document, read_back};
use crate::lang::template::error::Result;
use crate::lang::template::flow;
use crate::lang::template::function::{Call, Flow, Function, FunctionBody, Library, Purity, Ty};
use crate::lang::template::rope::{Builder, Meaning, Text};
use crate::lang::template::sigs_yaml::not_utf8;
use crate::lang::template::trace::{ProvId, SetId};
use crate::lang::template::value::{Kind, List, Map, MapEntry, MapType, Val};
use crate::lang::yaml::emit::DEPTH_LIMIT;
use crate::lang::yaml::{Dialect, NodeKind, NodeRef, Scalar, written_runs};
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
    let shown = text.str();
    let Some(node) = call.cx.documents.read(&shown)? else {
        return Ok(None);
    };
    // A text of one origin gives that to all of its values.
    let only = text.only_prov().map(|prov| (prov, call.cx.trace.prov(prov).from));
    let text = Written { text, exact: shown.len() == text.len(), only };
    Ok(Some(value(call, node.get_ref(), &text, 0)?))
}

/// A text that is read, and what it comes from.
struct Written<'t> {
    text: &'t Text,
    /// Whether places in the document are places in the text.
    exact: bool,
    /// The origin of all of it, where that is one.
    only: Option<(ProvId, SetId)>,
}

impl Written<'_> {
    /// Some of its bytes; nothing where all of it is of one origin or the place is not known.
    fn part(&self, range: std::ops::Range<u32>) -> Option<Text> {
        let range = range.start as usize..range.end as usize;
        let is_part = range.end <= self.text.len() && range.start <= range.end;
        (self.exact && self.only.is_none() && is_part).then(|| self.text.slice(range))
    }

    /// Whether a scalar stands in it as it is.
    fn is_verbatim(&self, node: NodeRef<'_>, scalar: &str) -> bool {
        let place = if self.exact { node.location() } else { None };
        let written = place.and_then(|at| self.text.bytes().get(at.start as usize..at.end as usize));
        written == Some(scalar.as_bytes())
    }

    /// Whether a map or a list comes from what stands around its scalars alone: something
    /// unknown in one of those, as `a.${DOMAIN}`, makes nothing else unknown.
    fn is_known_around(&self, call: &Call<'_>, all: SetId) -> bool {
        self.only.is_none() && call.cx.trace.is_unknown(all)
    }

    /// The value of a scalar, each part with what it comes from, where something unknown is
    /// in it and it stands in the text as it is: the rest of it is known.
    fn parts_of(&self, call: &Call<'_>, node: NodeRef<'_>, value: &str, from: SetId) -> Option<Text> {
        if !self.is_known_around(call, from) || !self.exact {
            return None;
        }
        let start = node.location()?.start as usize;
        let mut parts = Builder::default();
        for (at, run) in written_runs(node, value)? {
            let range = start + at..start + at + run.len();
            if self.text.bytes().get(range.clone()) != Some(run.as_bytes()) {
                return None;
            }
            parts.push_slice(self.text, range);
        }
        Some(parts.finish())
    }

    /// Where these bytes of it come from.
    fn from(&self, call: &mut Call<'_>, part: Option<&Text>) -> SetId {
        match self.only {
            Some((_, from)) => from,
            None => flow::of_text(&mut call.cx.trace, part.unwrap_or(self.text)),
        }
    }
}

/// What a map or a list comes from; nothing of another value.
fn around_of(val: &Val) -> SetId {
    match val.kind {
        Kind::Map(_) | Kind::List(_) => val.from,
        _ => SetId::NONE,
    }
}

/// A node's value, with the origins of the bytes that it stands on.
fn value(
    call: &mut Call<'_>,
    node: NodeRef<'_>,
    text: &Written<'_>,
    depth: usize,
) -> std::result::Result<Val, String> {
    if depth > DEPTH_LIMIT {
        return Err(format!("nested more than {DEPTH_LIMIT} deep"));
    }
    let place = if text.only.is_none() { node.location() } else { None };
    let part = place.and_then(|at| text.part(at.start..at.end));
    let from = text.from(call, part.as_ref());
    Ok(match node.kind() {
        NodeKind::Map => {
            let mut entries = Vec::new();
            let mut own = if text.is_known_around(call, from) { SetId::NONE } else { from };
            for entry in node.entries() {
                let val = value(call, entry.value, text, depth + 1)?;
                let place = if text.only.is_none() { entry.key_location() } else { None };
                let key = place.and_then(|at| text.part(at.start..at.end));
                let key = key.map_or(from, |key| flow::of_text(&mut call.cx.trace, &key));
                if own != from {
                    own = call.cx.trace.union(own, key);
                    own = call.cx.trace.union(own, around_of(&val));
                }
                entries.push((entry.key.as_bytes().into(), MapEntry { key, val: val.stored() }));
            }
            Val::map(Map::of(entries.into_iter().collect())).with(own)
        }
        NodeKind::Seq => {
            let mut own = if text.is_known_around(call, from) { SetId::NONE } else { from };
            let mut items = Vec::new();
            for item in node.items() {
                let val = value(call, item, text, depth + 1)?;
                if own != from {
                    own = call.cx.trace.union(own, around_of(&val));
                }
                items.push(val);
            }
            Val::list(List::any(items)).with(own)
        }
        _ => scalar(call, node, text, (part, from)),
    })
}

/// A scalar's value, out of its bytes and what these come from.
fn scalar(
    call: &mut Call<'_>,
    node: NodeRef<'_>,
    text: &Written<'_>,
    (part, from): (Option<Text>, SetId),
) -> Val {
    match node.scalar(Dialect::GoYamlV2) {
        Scalar::Null => Val::nil().with(from),
        Scalar::Bool(value) => Val::bool(value, from),
        Scalar::Int(value) => Val::float(value as f64, from),
        Scalar::Uint(value) => Val::float(value as f64, from),
        Scalar::Float(value) => Val::float(value, from),
        Scalar::Timestamp(value) | Scalar::Str(value) => match part {
            // A plain scalar keeps the parts of its text.
            Some(part) if part.bytes() == value.as_bytes() => Val::text(part),
            _ => {
                if let Some(parts) = text.parts_of(call, node, &value, from) {
                    return Val::text(parts);
                }
                let prov = match text.only {
                    Some((prov, _)) if text.is_verbatim(node, &value) => prov,
                    _ => call.cx.trace.plain(from),
                };
                Val::text(Text::new(value.as_bytes(), prov))
            }
        },
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
