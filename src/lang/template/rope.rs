//! Texts whose parts know where they come from.
//!
//! A text is bytes (Go's strings need not be UTF-8) with runs of provenance, or two
//! texts joined. Joining costs nothing; the bytes are laid out when somebody reads
//! them, so a loop that appends to a text is not quadratic unless it reads each time.
//! A text that is written out of a value may be written as late: charts of which libraries
//! pass objects on as YAML read most of it back as the value that it was.

use super::trace::{CondId, ProvId, SetId, WriterId};
use std::any::Any;
use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::fmt::{self, Debug};
use std::ops::{Deref, Range};
use std::rc::Rc;
use std::sync::Arc;

/// A text with the provenance of its bytes. Cloning is a reference count.
#[derive(Clone, Debug)]
pub(super) struct Text(Rc<Rope>);

#[derive(Debug)]
struct Rope {
    /// Nothing where that is known once it is written.
    len: Option<usize>,
    flat: OnceCell<Flat>,
    made_of: RefCell<MadeOf>,
    meaning: Option<Box<Meaning>>,
}

/// What a text is laid out from.
#[derive(Default)]
enum MadeOf {
    #[default]
    Nothing,
    Parts(Text, Text),
    Later(Box<dyn FnOnce() -> Vec<u8>>),
    File(Box<dyn FnOnce() -> SharedBytes>, ProvId),
}

impl Debug for MadeOf {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MadeOf::Nothing => Ok(()),
            MadeOf::Parts(one, other) => (one, other).fmt(out),
            MadeOf::Later(_) | MadeOf::File(..) => out.write_str("later"),
        }
    }
}

/// What a text was written out of, where nothing but line breaks stands around it: who asks
/// for the value that it says need not read it.
#[derive(Clone, Debug)]
pub(super) struct Meaning {
    pub(super) of: Rc<dyn Any>,
    /// What flowed into all of it since, who wrote it, and under which condition.
    pub(super) from: SetId,
    pub(super) writer: WriterId,
    pub(super) under: CondId,
}

impl Meaning {
    pub(super) fn new(of: Rc<dyn Any>) -> Meaning {
        Meaning { of, from: SetId::NONE, writer: WriterId::NOBODY, under: CondId::default() }
    }
}

/// Bytes that others hold too.
#[derive(Clone, Debug)]
pub enum SharedBytes {
    /// Of a text: who reads it need not copy it.
    Text(Arc<str>),
    /// Any.
    Other(Arc<[u8]>),
}

/// Bytes of its own, or those of a file.
#[derive(Debug)]
enum Bytes {
    Own(Box<[u8]>),
    Shared(SharedBytes),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Own(bytes) => bytes,
            Bytes::Shared(SharedBytes::Text(text)) => text.as_bytes(),
            Bytes::Shared(SharedBytes::Other(bytes)) => bytes,
        }
    }
}

/// Laid out.
#[derive(Debug)]
struct Flat {
    bytes: Bytes,
    /// Where each run ends.
    runs: Runs,
}

#[derive(Debug)]
enum Runs {
    One(ProvId),
    Many(Box<[(u32, ProvId)]>),
}

impl Default for Runs {
    fn default() -> Runs {
        Runs::One(ProvId::default())
    }
}

impl Drop for Rope {
    /// Without recursion: a text that a loop made is as deep as the loop is long.
    fn drop(&mut self) {
        let mut todo: Vec<Text> = Vec::new();
        let mut made_of = self.made_of.take();
        loop {
            if let MadeOf::Parts(a, b) = std::mem::take(&mut made_of) {
                todo.extend([a, b]);
            }
            let Some(text) = todo.pop() else {
                return;
            };
            if let Some(rope) = Rc::into_inner(text.0) {
                made_of = rope.made_of.take();
            }
        }
    }
}

/// Bytes as characters, with what is none replaced. Nearly all are: to see that is faster than
/// to look for what is not.
pub(super) fn characters(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

impl Text {
    /// A text of one origin.
    pub(super) fn new(bytes: impl Into<Box<[u8]>>, prov: ProvId) -> Text {
        Text::flat(Bytes::Own(bytes.into()), Runs::One(prov))
    }

    /// A text of one origin that is held elsewhere too.
    pub(super) fn shared(bytes: SharedBytes, prov: ProvId) -> Text {
        Text::flat(Bytes::Shared(bytes), Runs::One(prov))
    }

    /// The text of a file, which is read when somebody reads the text.
    pub(super) fn of_file(read: impl FnOnce() -> SharedBytes + 'static, prov: ProvId) -> Text {
        let made_of = RefCell::new(MadeOf::File(Box::new(read), prov));
        Text(Rc::new(Rope { len: None, flat: OnceCell::new(), made_of, meaning: None }))
    }

    pub(super) fn empty() -> Text {
        Text::new(Vec::new(), ProvId::default())
    }

    fn flat(bytes: Bytes, runs: Runs) -> Text {
        Text::flat_of(bytes, runs, None)
    }

    fn flat_of(bytes: Bytes, runs: Runs, meaning: Option<Box<Meaning>>) -> Text {
        let len = bytes.len();
        let flat = OnceCell::from(Flat { bytes, runs });
        Text(Rc::new(Rope { len: Some(len), flat, made_of: RefCell::default(), meaning }))
    }

    /// A text that is written out of a value when somebody reads it, if ever; it is not empty, and
    /// nothing has to be known about where it comes from.
    pub(super) fn later(meaning: Meaning, write: impl FnOnce() -> Vec<u8> + 'static) -> Text {
        let made_of = RefCell::new(MadeOf::Later(Box::new(write)));
        Text(Rc::new(Rope { len: None, flat: OnceCell::new(), made_of, meaning: Some(Box::new(meaning)) }))
    }

    /// Whether nobody has read it yet, so that it is not written.
    pub(super) fn is_later(&self) -> bool {
        self.0.len.is_none() && self.0.flat.get().is_none()
    }

    /// What it was written out of.
    pub(super) fn meaning(&self) -> Option<&Meaning> {
        self.0.meaning.as_deref()
    }

    /// This text, and another behind it.
    pub(super) fn join(&self, other: &Text) -> Text {
        if self.is_empty() {
            return other.clone();
        }
        if other.is_empty() {
            return self.clone();
        }
        let made_of = RefCell::new(MadeOf::Parts(self.clone(), other.clone()));
        let len = Some(self.len() + other.len());
        Text(Rc::new(Rope { len, flat: OnceCell::new(), made_of, meaning: None }))
    }

    pub(super) fn len(&self) -> usize {
        self.0.len.unwrap_or_else(|| self.bytes().len())
    }

    pub(super) fn is_empty(&self) -> bool {
        // What is written out of a value is not empty.
        self.0.len.map_or_else(|| self.0.meaning.is_none() && self.bytes().is_empty(), |len| len == 0)
    }

    fn laid_out(&self) -> &Flat {
        self.0.flat.get_or_init(|| {
            let mut todo = Vec::new();
            match self.0.made_of.take() {
                MadeOf::Nothing => {}
                MadeOf::Parts(a, b) => todo.extend([b, a]),
                MadeOf::Later(write) => {
                    let bytes = Bytes::Own(write().into_boxed_slice());
                    return Flat { bytes, runs: Runs::default() };
                }
                MadeOf::File(read, prov) => {
                    return Flat { bytes: Bytes::Shared(read()), runs: Runs::One(prov) };
                }
            }
            let mut out = Builder::default();
            while let Some(text) = todo.pop() {
                match &*text.0.made_of.borrow() {
                    MadeOf::Parts(a, b) if text.0.flat.get().is_none() => {
                        todo.extend([b.clone(), a.clone()]);
                    }
                    _ => out.push_text(&text),
                }
            }
            out.into_flat().0
        })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.laid_out().bytes
    }

    /// [`Text::bytes`], copied only where something else holds them.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.laid_out();
        match Rc::get_mut(&mut self.0).and_then(|rope| rope.flat.take()) {
            Some(Flat { bytes: Bytes::Own(own), .. }) => own.into_vec(),
            Some(Flat { bytes, .. }) => bytes.to_vec(),
            None => self.bytes().to_vec(),
        }
    }

    /// [`Text::str`], for who holds it.
    pub(super) fn shared_str(&self) -> Arc<str> {
        match &self.laid_out().bytes {
            Bytes::Shared(SharedBytes::Text(text)) => text.clone(),
            bytes => characters(bytes).into(),
        }
    }

    /// As characters, with what is none replaced.
    pub(super) fn str(&self) -> Cow<'_, str> {
        characters(self.bytes())
    }

    /// Its runs: their bytes and their provenance.
    pub(super) fn runs(&self) -> impl Iterator<Item = (Range<usize>, ProvId)> + '_ {
        let flat = self.laid_out();
        let (one, many) = match &flat.runs {
            Runs::One(prov) => (Some((0..flat.bytes.len(), *prov)), [].as_slice()),
            Runs::Many(runs) => (None, &**runs),
        };
        let mut start = 0;
        one.into_iter().filter(|(range, _)| !range.is_empty()).chain(many.iter().map(move |(end, prov)| {
            let range = start..*end as usize;
            start = *end as usize;
            (range, *prov)
        }))
    }

    /// The provenance of all of it, where that is one.
    pub(super) fn only_prov(&self) -> Option<ProvId> {
        match &self.laid_out().runs {
            Runs::One(prov) => Some(*prov),
            Runs::Many(_) => None,
        }
    }

    /// The provenances of these bytes.
    pub(super) fn provs(&self, range: Range<usize>) -> impl Iterator<Item = ProvId> + '_ {
        let (one, many) = match &self.laid_out().runs {
            Runs::One(prov) => (Some(*prov), [].as_slice()),
            Runs::Many(runs) => (None, &**runs),
        };
        let first = many.partition_point(|(end, _)| *end as usize <= range.start);
        let starts = many[..first].last().map_or(0, |(end, _)| *end as usize);
        let ends = many[first..]
            .iter()
            .scan(starts, move |start, (end, prov)| Some((std::mem::replace(start, *end as usize), *prov)));
        let is_some = !range.is_empty();
        let many = ends.take_while(move |(start, _)| *start < range.end).map(|(_, prov)| prov);
        one.into_iter().chain(many).filter(move |_| is_some)
    }

    /// The provenance of a byte.
    pub(super) fn prov_at(&self, at: usize) -> ProvId {
        match &self.laid_out().runs {
            Runs::One(prov) => *prov,
            Runs::Many(runs) => {
                let index = runs.partition_point(|(end, _)| *end as usize <= at);
                runs.get(index).map(|(_, prov)| *prov).unwrap_or_default()
            }
        }
    }

    /// A part of it.
    pub(super) fn slice(&self, range: Range<usize>) -> Text {
        if range.len() == self.len() {
            return self.clone();
        }
        let mut out = Builder::default();
        out.push_slice(self, range);
        out.finish()
    }
}

/// The provenance of the bytes of a text on its way, from the first on.
#[derive(Debug, Default)]
pub(super) struct Layout(Vec<(u32, ProvId)>);

impl Layout {
    /// What was not laid out before this byte is of this provenance.
    pub(super) fn to(&mut self, end: usize, prov: ProvId) {
        let end = end as u32;
        match self.0.last_mut() {
            Some((last, _)) if *last >= end => {}
            Some((last, known)) if *known == prov => *last = end,
            _ if end == 0 => {}
            _ => self.0.push((end, prov)),
        }
    }

    /// As a text holds it.
    fn runs(&self) -> Runs {
        match &*self.0 {
            [] => Runs::default(),
            [(_, prov)] => Runs::One(*prov),
            many => Runs::Many(many.into()),
        }
    }

    /// The text of these bytes; what was laid out behind them is not in it.
    pub(super) fn text(mut self, bytes: Vec<u8>, meaning: Option<Meaning>) -> Text {
        let end = bytes.len() as u32;
        let within = self.0.partition_point(|(last, _)| *last < end);
        self.0.truncate(within + 1);
        if let Some((last, _)) = self.0.last_mut() {
            *last = end;
        }
        Builder { bytes, runs: self, meaning: meaning.map(Box::new), held: None }.finish()
    }
}

/// A text on its way.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) bytes: Vec<u8>,
    runs: Layout,
    meaning: Option<Box<Meaning>>,
    /// All that is in it so far, where nobody has read that yet.
    held: Option<Text>,
}

impl Builder {
    /// How many bytes are in it that are written.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Takes a text that is not written yet into a builder that is empty; it is written once
    /// something comes behind it.
    pub(super) fn hold(&mut self, text: Text) {
        self.held = Some(text);
    }

    pub(super) fn push(&mut self, bytes: &[u8], prov: ProvId) {
        if !bytes.is_empty() {
            if let Some(held) = self.held.take() {
                self.push_text(&held);
                self.meaning = held.meaning().cloned().map(Box::new);
            }
            if self.meaning.is_some() && !is_blank(bytes) {
                self.meaning = None;
            }
            self.bytes.extend_from_slice(bytes);
            self.runs.to(self.bytes.len(), prov);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.held.is_none()
    }

    /// Whether nothing but line breaks is in it.
    pub(super) fn is_blank(&self) -> bool {
        self.held.is_none() && is_blank(&self.bytes)
    }

    /// All that is in it but line breaks was written out of this.
    pub(super) fn mean(&mut self, meaning: Meaning) {
        self.meaning = Some(Box::new(meaning));
    }

    pub(super) fn push_text(&mut self, text: &Text) {
        self.push_slice(text, 0..text.len());
    }

    pub(super) fn push_slice(&mut self, text: &Text, range: Range<usize>) {
        let bytes = text.bytes();
        match &text.laid_out().runs {
            Runs::One(prov) => self.push(&bytes[range], *prov),
            Runs::Many(runs) => {
                let mut start = range.start;
                let first = runs.partition_point(|(end, _)| *end as usize <= start);
                for (end, prov) in &runs[first..] {
                    let end = (*end as usize).min(range.end);
                    if start >= end {
                        break;
                    }
                    self.push(&bytes[start..end], *prov);
                    start = end;
                }
            }
        }
    }

    fn into_flat(self) -> (Flat, Option<Box<Meaning>>) {
        let runs = self.runs.runs();
        (Flat { bytes: Bytes::Own(self.bytes.into_boxed_slice()), runs }, self.meaning)
    }

    /// The text that was built; the builder is empty, and as large as it was.
    pub(super) fn take(&mut self) -> Text {
        /// A text of more bytes is not copied.
        const LARGE: usize = 16 << 10;
        if self.bytes.len() > LARGE || self.runs.0.len() > LARGE || self.held.is_some() {
            return std::mem::take(self).finish();
        }
        let bytes = Bytes::Own(self.bytes.as_slice().into());
        let text = Text::flat_of(bytes, self.runs.runs(), self.meaning.take());
        self.bytes.clear();
        self.runs.0.clear();
        text
    }

    pub(super) fn finish(mut self) -> Text {
        if let Some(held) = self.held.take() {
            return held;
        }
        let (Flat { bytes, runs }, meaning) = self.into_flat();
        Text::flat_of(bytes, runs, meaning)
    }
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| *b == b'\n')
}
