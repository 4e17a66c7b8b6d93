//! A text that a template wrote, read as YAML: each node knows the line of the template
//! and the values that flowed in, and what is unknown is put back as such.
//!
//! Read as `sigs.k8s.io/yaml` reads it: scalars by go-yaml v2.

use crate::build::stand_in;
use crate::lang::template::{Engine, OriginId, Output, OutputPart, TraceSource as Flowed};
use crate::lang::yaml::emit::DEPTH_LIMIT;
use crate::lang::yaml::go_compat::{DocumentReader, decode};
use crate::lang::yaml::resolve::{after_json, json_key, timestamp_rfc3339};
use crate::lang::yaml::{
    Built, Dialect, Embed, EmbedPart, Entry, EntryRef, Location, Node, NodeRef, Origin, Scalar, ScalarStyle,
    Source, Stream, Value, Via, ViaKind,
};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// Why a text is no objects: it is no YAML that the API server takes, or nested too deeply.
pub(crate) struct Unreadable;

type Result<T> = std::result::Result<T, Unreadable>;

/// What an unknown part is.
pub(crate) enum Unknown {
    /// A node that was unknown before the template was filled in.
    Node(Node),
    /// What the template could not know, and why.
    Part(String),
}

/// A run of a rendered text.
struct Piece {
    /// Bytes of the text.
    bytes: Range<u32>,
    /// Bytes of the template that wrote it.
    template: Range<u32>,
    /// What flowed in: indices of [`RenderedText::places`].
    from: Vec<u32>,
}

/// A rendered text.
pub(crate) struct RenderedText<'p> {
    text: String,
    /// In order and without gaps.
    pieces: Vec<Piece>,
    /// Where the values of the run are written, by their origin.
    places: &'p [Location],
    unknowns: Vec<Unknown>,
}

impl<'p> RenderedText<'p> {
    /// An output, with a word for each part that is unknown. `unknowns` has what words
    /// stand for in the template's own text, in order.
    pub(crate) fn new(
        engine: &Engine,
        output: &Output,
        places: &'p [Location],
        unknowns: Vec<Unknown>,
    ) -> Result<RenderedText<'p>> {
        let mut made = RenderedText { text: String::new(), pieces: Vec::new(), places, unknowns };
        let mut bytes: Vec<u8> = Vec::with_capacity(output.bytes().len());
        let mut after_unknown = false;
        for part in engine.parts(output) {
            let start = bytes.len() as u32;
            let span = part.written_by.map(|place| place.span.start..place.span.end).unwrap_or_default();
            let is_unknown = part.is_unknown || part.is_assumed;
            if let (true, true, Some(last)) = (is_unknown, after_unknown, made.pieces.last_mut()) {
                last.from.extend(origins(&part));
                continue;
            }
            after_unknown = is_unknown;
            if is_unknown {
                bytes.extend_from_slice(stand_in::word(made.unknowns.len()).as_bytes());
                made.unknowns.push(Unknown::Part(why(&part)));
            } else {
                bytes.extend_from_slice(&output.bytes()[part.bytes.clone()]);
            }
            let from = origins(&part);
            made.pieces.push(Piece { bytes: start..bytes.len() as u32, template: span, from });
        }
        // The reader of documents ends each line, the last one too (apimachinery
        // `pkg/util/yaml/decoder.go` `LineReader.Read`).
        if bytes.last().is_some_and(|last| *last != b'\n') {
            bytes.push(b'\n');
        }
        made.text = String::from_utf8(bytes).map_err(|_| Unreadable)?;
        Ok(made)
    }

    /// The pieces that have bytes of a range.
    fn within(&self, bytes: Range<u32>) -> &[Piece] {
        let start = self.pieces.partition_point(|piece| piece.bytes.end <= bytes.start);
        let rest = &self.pieces[start..];
        let count = rest.partition_point(|piece| piece.bytes.start < bytes.end);
        &rest[..count]
    }

    /// The documents of the text, of a template that is a scalar of a file: nodes that no
    /// value flowed into are the text's own, at the lines of the template.
    pub(crate) fn documents(&self, template: NodeRef<'_>) -> Result<Vec<Node>> {
        let stream = self.stream()?;
        let place = template.location().ok_or(Unreadable)?;
        let written = template.text().ok_or(Unreadable)?;
        let outer = Embed::of(&template.to_node(), 0).ok_or(Unreadable)?;
        let parts: Arc<[EmbedPart]> = self.embed_parts(&written, &outer).into();
        let mut found = Vec::new();
        for index in 0..stream.documents.len() as u32 {
            if stream.documents[index as usize].tokens.first().is_none_or(|root| root.empty) {
                continue;
            }
            let embed = Some(Embed::made_of(place.start..place.end, parts.clone()));
            let (file, via) = (place.file.clone(), place.via.clone());
            let root = root(Source { file, stream: stream.clone(), index, embed, via })?;
            found.push(self.read(root.get_ref(), 0)?.unwrap_or(root));
        }
        Ok(found)
    }

    /// The first document of the text, of a template that is a whole object as text:
    /// what is the same is shared with it, what differs has the place of what it was.
    pub(crate) fn object(&self, template: NodeRef<'_>) -> Result<Node> {
        let stream = self.stream()?;
        let index = stream
            .documents
            .iter()
            .position(|document| document.tokens.first().is_some_and(|root| !root.empty))
            .ok_or(Unreadable)? as u32;
        let file = crate::lang::yaml::FilePath::in_root("");
        let root = root(Source { file, stream, index, embed: None, via: Vec::new() })?;
        self.twin(root.get_ref(), Some(template), None, 0)
    }

    fn stream(&self) -> Result<Arc<Stream>> {
        let stream = Stream::parse(&self.text);
        if stream.errors.is_empty() { Ok(Arc::new(stream)) } else { Err(Unreadable) }
    }

    /// Where the bytes of the text stand in the file of its template: a part for each
    /// line of what was copied, and for each action.
    fn embed_parts(&self, template: &str, outer: &Embed) -> Vec<EmbedPart> {
        let mut parts = Vec::new();
        for piece in &self.pieces {
            let text = &self.text[piece.bytes.start as usize..piece.bytes.end as usize];
            let written = &template[piece.template.start as usize..piece.template.end as usize];
            let is_copy = !written.is_empty()
                && text.len().is_multiple_of(written.len())
                && text.as_bytes().chunks(written.len()).all(|chunk| chunk == written.as_bytes());
            if !is_copy {
                let outer = outer.outer(piece.template.clone());
                parts.push(EmbedPart { start: piece.bytes.start, outer, is_copy: false });
                continue;
            }
            // A loop that writes nothing but a text writes it again and again.
            for start in (piece.bytes.start..piece.bytes.end).step_by(written.len()) {
                let mut at = 0;
                for line in written.split_inclusive('\n') {
                    let from = piece.template.start + at;
                    let outer = outer.outer(from..from + line.trim_end_matches('\n').len() as u32);
                    parts.push(EmbedPart { start: start + at, outer, is_copy: true });
                    at += line.len() as u32;
                }
            }
        }
        parts
    }

    /// A node of the text with all its origins; `None` where it stays as it is.
    fn read(&self, node: NodeRef<'_>, depth: usize) -> Result<Option<Node>> {
        if depth > DEPTH_LIMIT {
            return Err(Unreadable);
        }
        if node.is_map() {
            let mut changes = Vec::new();
            for (index, entry) in node.entries().enumerate() {
                let key = self.key(&entry, entry.key_location())?;
                let value = self.read(entry.value, depth + 1)?;
                if key.is_some() || value.is_some() {
                    changes.push((index, key, value));
                }
            }
            if changes.is_empty() {
                return Ok(None);
            }
            let mut copy = node.to_node();
            let entries = copy.make_map().ok_or(Unreadable)?;
            for (index, key, value) in changes {
                let entry = entries.get_mut(index).ok_or(Unreadable)?;
                entry.key = key.unwrap_or_else(|| entry.key.clone());
                entry.value = value.unwrap_or_else(|| entry.value.clone());
            }
            return Ok(Some(copy));
        }
        if node.is_seq() {
            let mut changes = Vec::new();
            for (index, item) in node.items().enumerate() {
                if let Some(item) = self.read(item, depth + 1)? {
                    changes.push((index, item));
                }
            }
            if changes.is_empty() {
                return Ok(None);
            }
            let mut copy = node.to_node();
            let items = copy.make_seq().ok_or(Unreadable)?;
            for (index, item) in changes {
                *items.get_mut(index).ok_or(Unreadable)? = item;
            }
            return Ok(Some(copy));
        }
        let (inputs, whole) = self.flowed(node);
        let value = self.value(node)?;
        if inputs.is_empty() && is_what_v3_reads(&value, node) {
            return Ok(None);
        }
        let value = match value {
            Value::Unknown(word) => self.unknown(&word)?,
            value => value,
        };
        let origin = Origin::of_all(all_origins(node.location(), inputs, whole));
        Ok(Some(Node::Built(Arc::new(Built { value, origin }))))
    }

    /// A key that is not what it is read as, or that values flowed into.
    fn key(&self, entry: &EntryRef<'_>, place: Option<Location>) -> Result<Option<Node>> {
        let (inputs, whole) = self.flowed(entry.key_node);
        let scalar = entry.key_node.scalar(Dialect::GoYamlV2);
        let text = json_key(&scalar, Dialect::GoYamlV2).map_err(|_| Unreadable)?;
        let is_text = matches!(entry.key_node.scalar(Dialect::GoYamlV3), Scalar::Str(_));
        if inputs.is_empty() && !stand_in::is_in(&text) && is_text && text == entry.key {
            return Ok(None);
        }
        let value = match stand_in::value_of(&text) {
            Value::Unknown(word) => self.unknown(&word)?,
            value => value,
        };
        let origin = Origin::of_all(all_origins(place, inputs, whole));
        Ok(Some(Node::Built(Arc::new(Built { value, origin }))))
    }

    /// The places of the values that flowed into a scalar, and whether it is made of
    /// nothing else.
    fn flowed(&self, node: NodeRef<'_>) -> (Vec<&Location>, bool) {
        let Some(token) = node.token() else { return (Vec::new(), false) };
        // Quotes are nobody's.
        let edge = u32::from(matches!(node.style(), ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted));
        let pieces = self.within(token.start + edge..token.end.saturating_sub(edge));
        let mut inputs = Vec::new();
        for place in pieces.iter().flat_map(|piece| &piece.from) {
            inputs.extend(self.places.get(*place as usize));
        }
        let whole = !pieces.is_empty() && pieces.iter().all(|piece| !piece.from.is_empty());
        (inputs, whole)
    }

    /// What a scalar is, by go-yaml v2; a lone word as it stands.
    fn value(&self, node: NodeRef<'_>) -> Result<Value> {
        Ok(match node.scalar(Dialect::GoYamlV2) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => Value::Int(value),
            // Unstructured objects have no integers beyond 64 bits with a sign.
            Scalar::Uint(value) => Value::Float(value as f64),
            Scalar::Float(value) if !value.is_finite() => return Err(Unreadable),
            Scalar::Float(value) => match after_json(value) {
                Scalar::Int(value) => Value::Int(value),
                _ => Value::Float(value),
            },
            Scalar::Timestamp(text) | Scalar::Str(text) => {
                let is_plain = node.style() == ScalarStyle::Plain;
                match stand_in::value_of(&text) {
                    Value::Holes(_) if is_plain && !stand_in::is_string_anyhow(&text) => {
                        Value::Unknown("a part of a template that isn't known decides what it is".into())
                    }
                    value => value,
                }
            }
        })
    }

    /// What a word stands for; any other text says why something is unknown.
    fn unknown(&self, word: &Arc<str>) -> Result<Value> {
        let Some(number) = stand_in::number_of(word) else { return Ok(Value::Unknown(word.clone())) };
        Ok(match self.unknowns.get(number) {
            Some(Unknown::Part(why)) => Value::Unknown(why.as_str().into()),
            Some(Unknown::Node(_)) => Value::Unknown("unknown".into()),
            None => return Err(Unreadable),
        })
    }

    /// A node of the text, beside what it was in the template. `place`: of the nearest
    /// node above it that was there.
    fn twin(
        &self,
        new: NodeRef<'_>,
        old: Option<NodeRef<'_>>,
        place: Option<&Location>,
        depth: usize,
    ) -> Result<Node> {
        if depth > DEPTH_LIMIT {
            return Err(Unreadable);
        }
        let own = old.and_then(NodeRef::location);
        let place = own.as_ref().or(place);
        let built = |value: Value| {
            let origin = place.cloned().map(Origin::from);
            Node::Built(Arc::new(Built { value, origin }))
        };
        if new.is_map() {
            let entries = self.twins(new, old, place, depth)?;
            if let Some(old) = old.filter(|old| is_same_map(*old, &entries)) {
                return Ok(old.to_node());
            }
            return Ok(built(Value::Map(entries.into())));
        }
        if new.is_seq() {
            let mut before = old.filter(|old| old.is_seq()).into_iter().flat_map(NodeRef::items);
            let mut items = Vec::new();
            for item in new.items() {
                items.push(self.twin(item, before.next(), place, depth + 1)?);
            }
            let is_same = |old: &NodeRef<'_>| old.is_seq() && is_same_list(old.items(), &items);
            if let Some(old) = old.filter(is_same) {
                return Ok(old.to_node());
            }
            return Ok(built(Value::Seq(items)));
        }
        let (inputs, whole) = self.flowed(new);
        let mut value = self.value(new)?;
        if let Value::Unknown(word) = &value {
            let number = stand_in::number_of(word);
            if let Some(Unknown::Node(node)) = number.and_then(|number| self.unknowns.get(number)) {
                return Ok(node.clone());
            }
            value = self.unknown(word)?;
        }
        match old {
            Some(old) if inputs.is_empty() && is_same_scalar(&value, old) => Ok(old.to_node()),
            _ => {
                let origin = Origin::of_all(all_origins(place.cloned(), inputs, whole));
                Ok(Node::Built(Arc::new(Built { value, origin })))
            }
        }
    }

    /// The entries of a map, each beside the one of its key.
    fn twins(
        &self,
        new: NodeRef<'_>,
        old: Option<NodeRef<'_>>,
        place: Option<&Location>,
        depth: usize,
    ) -> Result<Vec<Entry>> {
        let before: FxHashMap<Cow<'_, str>, EntryRef<'_>> =
            old.into_iter().flat_map(NodeRef::entries).map(|entry| (entry.key.clone(), entry)).collect();
        let mut entries: Vec<Entry> = Vec::new();
        let mut known: FxHashMap<String, usize> = FxHashMap::default();
        for entry in new.entries() {
            let scalar = entry.key_node.scalar(Dialect::GoYamlV2);
            let text = json_key(&scalar, Dialect::GoYamlV2).map_err(|_| Unreadable)?.into_owned();
            let twin = before.get(&*text);
            let value = self.twin(entry.value, twin.map(|twin| twin.value), place, depth + 1)?;
            let key = match twin {
                Some(twin) => twin.key_node.to_node(),
                None => {
                    let made = self.key(&entry, place.cloned())?;
                    made.unwrap_or_else(|| Node::string(&text, place.cloned()))
                }
            };
            // Of equal keys the last one counts.
            match known.get(&text) {
                Some(at) => entries[*at] = Entry { key, value },
                None => {
                    known.insert(text, entries.len());
                    entries.push(Entry { key, value });
                }
            }
        }
        Ok(entries)
    }
}

/// The root of a document that its reader takes.
fn root(source: Source) -> Result<Node> {
    let source = Arc::new(source);
    match decode(&source, DocumentReader::V2) {
        Ok(_) => Ok(source.root()),
        Err(_) => Err(Unreadable),
    }
}

/// Origins of values that flowed into a part.
fn origins(part: &OutputPart) -> Vec<u32> {
    let value = |source: &Flowed| match source {
        Flowed::Value(OriginId(place)) => Some(*place),
        _ => None,
    };
    part.from.iter().filter(|flow| !flow.decided).filter_map(|flow| value(&flow.source)).collect()
}

/// Why a part is unknown.
fn why(part: &OutputPart) -> String {
    let reason = |source: &Flowed| match source {
        Flowed::Unknown(why) => Some(why.clone()),
        _ => None,
    };
    part.from.iter().find_map(|flow| reason(&flow.source)).unwrap_or_else(|| "unknown".to_owned())
}

/// The places of a value that others flowed into, the one to change first: the value
/// where it is nothing else, else the template.
fn all_origins(template: Option<Location>, values: Vec<&Location>, whole: bool) -> Vec<Location> {
    let mut all: Vec<Location> = Vec::new();
    let values = values.into_iter().cloned();
    let places: Vec<Location> = match whole {
        true => values.chain(template).collect(),
        false => template.into_iter().chain(values).collect(),
    };
    for place in places {
        if !all.contains(&place) {
            all.push(place);
        }
    }
    // Whoever has only the place to change sees there what else it is made of.
    let kind = if whole { ViaKind::Template } else { ViaKind::Input };
    if let Some((first, others)) = all.split_first_mut() {
        for other in others {
            first.passed(Via { kind, location: other.clone() });
        }
    }
    all
}

/// Whether go-yaml v3, by which built objects are read, takes a scalar for the same.
fn is_what_v3_reads(value: &Value, node: NodeRef<'_>) -> bool {
    match (value, node.scalar(Dialect::GoYamlV3)) {
        (Value::Str(value), Scalar::Str(text)) => **value == *text,
        (Value::Null, Scalar::Null) => true,
        (Value::Bool(a), Scalar::Bool(b)) => *a == b,
        (Value::Int(a), Scalar::Int(b)) => *a == b,
        (Value::Uint(a), Scalar::Uint(b)) => *a == b,
        (Value::Float(a), Scalar::Float(b)) => *a == b,
        _ => false,
    }
}

/// Whether a scalar is still what it was.
fn is_same_scalar(value: &Value, old: NodeRef<'_>) -> bool {
    if old.is_map() || old.is_seq() || old.is_unknown() {
        return false;
    }
    match (value, old.scalar(Dialect::GoYamlV3)) {
        (Value::Str(a), Scalar::Timestamp(b)) => timestamp_rfc3339(&b).is_some_and(|b| *b == **a),
        (Value::Int(a), Scalar::Float(b)) => *a as f64 == b,
        _ => is_what_v3_reads(value, old),
    }
}

/// Whether all values are still the same nodes, in whatever order.
fn is_same_map(old: NodeRef<'_>, entries: &[Entry]) -> bool {
    let address = |entry: &Entry| (entry.key_text().into_owned(), entry.value.address());
    let new: FxHashMap<String, (usize, u32)> = entries.iter().map(address).collect();
    let mut count = 0;
    let mut same = |entry: EntryRef<'_>| {
        count += 1;
        new.get(&*entry.key) == Some(&entry.value.address())
    };
    old.is_map() && old.entries().all(&mut same) && count == entries.len()
}

fn is_same_list<'a>(mut old: impl Iterator<Item = NodeRef<'a>>, items: &[Node]) -> bool {
    let same = |item: &Node| old.next().is_some_and(|old| old.address() == item.get_ref().address());
    items.iter().all(same) && old.next().is_none()
}
