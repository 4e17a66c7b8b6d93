//! Nodes, places and texts as bytes: each text and each list of places once.

use crate::lang::yaml::emit::DEPTH_LIMIT;
use crate::lang::yaml::{
    Built, Entry, FilePath, Holes, Location, Node, Origin, Places, Tree, Value, Via, ViaKind,
};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Writes what [`RecordReader`] reads.
#[derive(Default)]
pub(super) struct Writer {
    out: Vec<u8>,
    texts: FxHashMap<Arc<str>, u64>,
    files: FxHashMap<FilePath, u64>,
    origins: FxHashMap<Arc<Places>, u64>,
    /// Those of them that were met, by where they are held: many values share one, and to compare
    /// all that is in it takes long.
    met: FxHashMap<usize, (Origin, u64)>,
    /// Whether something was met that has no form here.
    is_lost: bool,
}

/// Reads what [`Writer`] wrote. Whatever else the bytes are, it ends with `None`.
pub(super) struct RecordReader<'b> {
    bytes: &'b [u8],
    texts: Vec<Arc<str>>,
    files: Vec<FilePath>,
    origins: Vec<Origin>,
}

/// The steps that a value goes through, by their numbers here.
const STEPS: [ViaKind; 9] = [
    ViaKind::Patch,
    ViaKind::Component,
    ViaKind::Transformer,
    ViaKind::Generator,
    ViaKind::Substitution,
    ViaKind::CommonMetadata,
    ViaKind::Template,
    ViaKind::Input,
    ViaKind::Resource,
];

const TREES: [Tree; 3] = [Tree::Root, Tree::Outside, Tree::Chart];

/// How deeply steps may be nested in the places of steps.
const STEP_DEPTH: usize = 32;

impl Writer {
    /// The bytes; `None` where something has no form here.
    pub(super) fn finish(self) -> Option<Vec<u8>> {
        (!self.is_lost).then_some(self.out)
    }

    pub(super) fn byte(&mut self, byte: u8) {
        self.out.push(byte);
    }

    /// A number, in groups of seven bits.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.out.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.out.push(number as u8);
    }

    /// A text: where it comes first as it is, else its number.
    pub(super) fn text(&mut self, text: &str) {
        if let Some(number) = self.texts.get(text) {
            return self.number(number + 1);
        }
        let number = self.texts.len() as u64;
        self.texts.insert(text.into(), number);
        self.number(0);
        self.number(text.len() as u64);
        self.out.extend_from_slice(text.as_bytes());
    }

    pub(super) fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, each: impl Fn(&mut Self, T)) {
        self.number(items.len() as u64);
        items.for_each(|item| each(self, item));
    }

    pub(super) fn texts<'t, T: AsRef<str> + 't>(&mut self, texts: impl ExactSizeIterator<Item = &'t T>) {
        self.list(texts, |out, text| out.text(text.as_ref()));
    }

    pub(super) fn option<T>(&mut self, value: Option<T>, some: impl FnOnce(&mut Self, T)) {
        self.byte(u8::from(value.is_some()));
        if let Some(value) = value {
            some(self, value);
        }
    }

    fn file(&mut self, file: &FilePath) {
        if let Some(number) = self.files.get(file) {
            return self.number(number + 1);
        }
        let number = self.files.len() as u64;
        self.files.insert(file.clone(), number);
        self.number(0);
        let tree = TREES.iter().position(|tree| tree == file.tree());
        self.byte(tree.unwrap_or_default() as u8);
        self.text(file.shown());
    }

    pub(super) fn location(&mut self, location: &Location) {
        self.located(location, 0);
    }

    fn located(&mut self, location: &Location, depth: usize) {
        self.is_lost |= depth > STEP_DEPTH;
        if self.is_lost {
            return;
        }
        self.file(&location.file);
        self.number(u64::from(location.start));
        self.number(u64::from(location.end.saturating_sub(location.start)));
        self.is_lost |= location.end < location.start;
        self.number(location.via.len() as u64);
        for via in &location.via {
            let step = STEPS.iter().position(|step| *step == via.kind);
            self.byte(step.unwrap_or_default() as u8);
            self.located(&via.location, depth + 1);
        }
    }

    fn origin(&mut self, origin: Option<&Origin>) {
        let Some(origin) = origin else { return self.number(0) };
        let address = match origin {
            Origin::Text(location) => Arc::as_ptr(location).addr(),
            Origin::Several(places) => Arc::as_ptr(places).addr(),
            Origin::Token(..) | Origin::Styled(..) => {
                self.is_lost = true;
                return;
            }
        };
        if let Some((_, number)) = self.met.get(&address) {
            return self.number(number + 2);
        }
        let places = match origin {
            Origin::Several(places) => places.clone(),
            _ => Arc::new(Places { all: vec![origin.location()], own: 1 }),
        };
        let next = self.origins.len() as u64;
        let number = *self.origins.entry(places.clone()).or_insert(next);
        self.met.insert(address, (origin.clone(), number));
        if number < next {
            return self.number(number + 2);
        }
        self.number(1);
        self.list(places.all.iter(), Writer::location);
        self.number(places.own as u64);
    }

    /// A node that a chart made: none of its values is a token of a document.
    pub(super) fn node(&mut self, node: &Node) {
        let Node::Built(built) = node else {
            self.is_lost = true;
            return;
        };
        match &built.value {
            Value::Null => self.byte(0),
            Value::Bool(value) => self.byte(1 + u8::from(*value)),
            Value::Int(value) => {
                self.byte(3);
                self.out.extend_from_slice(&value.to_le_bytes());
            }
            Value::Uint(value) => {
                self.byte(4);
                self.out.extend_from_slice(&value.to_le_bytes());
            }
            Value::Float(value) => {
                self.byte(5);
                self.out.extend_from_slice(&value.to_bits().to_le_bytes());
            }
            Value::Str(text) => {
                self.byte(6);
                self.text(text);
            }
            Value::Plain(text) => {
                self.byte(7);
                self.text(text);
            }
            Value::Holes(holes) => {
                self.byte(8);
                self.list(holes.parts.iter(), |out, part| {
                    out.option(part.as_deref(), Writer::text);
                });
                self.option(holes.why.as_deref(), Writer::text);
            }
            Value::Unknown(why) => {
                self.byte(9);
                self.text(why);
            }
            Value::Seq(items) => {
                self.byte(10);
                self.list(items.iter(), Writer::node);
            }
            Value::Map(entries) => {
                self.byte(11);
                self.list(entries.iter(), |out, entry| {
                    out.node(&entry.key);
                    out.node(&entry.value);
                });
            }
        }
        self.origin(built.origin.as_ref());
    }
}

impl<'b> RecordReader<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> RecordReader<'b> {
        RecordReader { bytes, texts: Vec::new(), files: Vec::new(), origins: Vec::new() }
    }

    /// Whether all was read.
    pub(super) fn is_done(&self) -> bool {
        self.bytes.is_empty()
    }

    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn text(&mut self) -> Option<Arc<str>> {
        match self.number()? {
            0 => {
                let length = usize::try_from(self.number()?).ok()?;
                let text: Arc<str> = std::str::from_utf8(self.take(length)?).ok()?.into();
                self.texts.push(text.clone());
                Some(text)
            }
            number => self.texts.get(usize::try_from(number - 1).ok()?).cloned(),
        }
    }

    pub(super) fn list<T>(&mut self, each: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = usize::try_from(self.number()?).ok()?;
        // Whatever is counted takes a byte at least.
        if count > self.bytes.len() {
            return None;
        }
        let mut items = Vec::with_capacity(count.min(4096));
        for _ in 0..count {
            items.push(each(self)?);
        }
        Some(items)
    }

    pub(super) fn texts<T: for<'t> From<&'t str>>(&mut self) -> Option<Vec<T>> {
        self.list(|from| Some(T::from(&*from.text()?)))
    }

    /// What may be absent: `Some(None)` where it is.
    pub(super) fn option<T>(&mut self, some: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        match self.byte()? {
            0 => Some(None),
            1 => some(self).map(Some),
            _ => None,
        }
    }

    fn file(&mut self) -> Option<FilePath> {
        match self.number()? {
            0 => {
                let tree = TREES.get(usize::from(self.byte()?))?.clone();
                let file = FilePath::new(tree, self.text()?);
                self.files.push(file.clone());
                Some(file)
            }
            number => self.files.get(usize::try_from(number - 1).ok()?).cloned(),
        }
    }

    pub(super) fn location(&mut self) -> Option<Location> {
        self.located(0)
    }

    fn located(&mut self, depth: usize) -> Option<Location> {
        if depth > STEP_DEPTH {
            return None;
        }
        let file = self.file()?;
        let start = u32::try_from(self.number()?).ok()?;
        let end = start.checked_add(u32::try_from(self.number()?).ok()?)?;
        let via = self.list(|from| {
            let kind = *STEPS.get(usize::from(from.byte()?))?;
            Some(Via { kind, location: from.located(depth + 1)? })
        })?;
        Some(Location { file, start, end, via })
    }

    fn origin(&mut self) -> Option<Option<Origin>> {
        match self.number()? {
            0 => Some(None),
            1 => {
                let all = self.list(RecordReader::location)?;
                let own = usize::try_from(self.number()?).ok().filter(|own| *own <= all.len())?;
                let origin = Origin::of_places(Places { all, own })?;
                self.origins.push(origin.clone());
                Some(Some(origin))
            }
            number => Some(Some(self.origins.get(usize::try_from(number - 2).ok()?)?.clone())),
        }
    }

    pub(super) fn node(&mut self) -> Option<Node> {
        self.node_at(0)
    }

    fn node_at(&mut self, depth: usize) -> Option<Node> {
        // A list of the deepest key.
        if depth > DEPTH_LIMIT + 1 {
            return None;
        }
        let value = match self.byte()? {
            0 => Value::Null,
            1 => Value::Bool(false),
            2 => Value::Bool(true),
            3 => Value::Int(i64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            4 => Value::Uint(u64::from_le_bytes(self.take(8)?.try_into().ok()?)),
            5 => Value::Float(f64::from_bits(u64::from_le_bytes(self.take(8)?.try_into().ok()?))),
            6 => Value::Str(self.text()?),
            7 => Value::Plain(self.text()?),
            8 => {
                let parts = self.list(|from| from.option(RecordReader::text))?;
                Value::Holes(Holes { parts, why: self.option(RecordReader::text)? })
            }
            9 => Value::Unknown(self.text()?),
            10 => Value::Seq(self.list(|from| from.node_at(depth + 1))?),
            11 => {
                let entries = self.list(|from| {
                    Some(Entry { key: from.node_at(depth + 1)?, value: from.node_at(depth + 1)? })
                })?;
                Value::Map(entries.into())
            }
            _ => return None,
        };
        let origin = self.origin()?;
        Some(Node::Built(Arc::new(Built { value, origin })))
    }
}
