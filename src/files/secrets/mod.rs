//! What no output shows: the bytes of files that hold values of Secrets, and the words
//! that they are. The one place that knows them: snippets, diffs and documents ask for
//! the bytes, messages and plans for the place of what they tell.
//!
//! A document whose kind is Secret, or an item of a list of them, is hidden but for
//! apiVersion, kind, type, the name and namespace, and the names of its labels,
//! annotations and keys. So is what makes or changes one: literals and files of
//! generators, patches, templates and the inputs that they take.

mod document;
mod finder;
mod makers;
mod masked;
mod textual;

use super::{File, Snapshot};
use crate::lang::yaml::{FilePath, Location};
use base64::Engine;
use finder::Finder as WordFinder;
use memchr::memmem::Finder;
use rayon::prelude::*;
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

pub(super) use makers::SecretParts;
pub(crate) use masked::{Concealed, is_shown, masked, shown_path};

/// A part of a file that is about a Secret: a document, an item, a patch, a literal.
#[derive(Debug, Default)]
pub(crate) struct Region {
    /// All of it.
    extent: Range<u32>,
    /// The bytes that are not to be shown, in no order.
    hidden: Vec<Range<u32>>,
    words: Vec<HiddenValue>,
    /// Names that are shown, whatever else is called so.
    names: Vec<Box<str>>,
    finder: OnceLock<WordFinder>,
}

/// A hidden value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HiddenValue {
    text: Box<str>,
    /// Whether it is hidden in other places as well. The value of a label or an
    /// annotation stands in many objects that have nothing to hide.
    everywhere: bool,
}

impl Region {
    fn of(extent: Range<u32>) -> Region {
        Region { extent, ..Region::default() }
    }

    /// Hide some bytes, and the value that they are.
    fn hide(&mut self, range: Range<u32>, text: &str, everywhere: bool) {
        self.hidden.push(range);
        self.add(text, everywhere);
    }

    /// Hide a value, and what it is in base64.
    fn add(&mut self, text: &str, everywhere: bool) {
        if text.is_empty() {
            return;
        }
        self.words.push(HiddenValue { text: text.into(), everywhere });
        let bare: String = text.split_whitespace().collect();
        let decoded = base64::engine::general_purpose::STANDARD.decode(bare).ok();
        let decoded = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(decoded) = decoded.filter(|text| !text.is_empty() && !text.contains(is_binary)) {
            self.words.push(HiddenValue { text: decoded.into(), everywhere });
        }
    }

    fn finder(&self) -> &WordFinder {
        self.finder.get_or_init(|| WordFinder::of(&self.words, &self.names))
    }
}

/// The regions of a file in order of their begin.
#[derive(Debug, Default)]
pub(super) struct Regions {
    list: Vec<Region>,
    /// How far the regions up to each one reach.
    reach: Vec<u32>,
    /// The hidden bytes of all, in order and apart.
    hidden: Vec<Range<u32>>,
}

impl Regions {
    fn new(mut list: Vec<Region>) -> Regions {
        list.sort_by_key(|region| region.extent.start);
        let mut end = 0;
        let reach = list.iter().map(|region| {
            end = region.extent.end.max(end);
            end
        });
        let reach = reach.collect();
        let mut hidden: Vec<Range<u32>> = list.iter().flat_map(|region| &region.hidden).cloned().collect();
        hidden.sort_unstable_by_key(|range| range.start);
        hidden.dedup_by(|next, range| {
            let touches = next.start <= range.end;
            range.end = if touches { range.end.max(next.end) } else { range.end };
            touches
        });
        Regions { list, reach, hidden }
    }

    fn hides(&self, start: u32, end: u32) -> bool {
        let after = self.hidden.partition_point(|range| range.start < end);
        after > 0 && self.hidden[after - 1].end > start
    }

    /// The regions that a range meets.
    fn at(&self, start: u32, end: u32) -> impl Iterator<Item = &Region> {
        let after = self.list.partition_point(|region| region.extent.start <= end);
        let near = (0..after).rev().take_while(move |at| self.reach[*at] >= start);
        near.map(|at| &self.list[at]).filter(move |region| region.extent.end >= start)
    }
}

fn is_binary(c: char) -> bool {
    c.is_control() && !c.is_whitespace()
}

/// Whether a kind is one that holds what nobody may see. The API server knows one
/// spelling; what is spelt otherwise is meant to be it.
fn is_secret(kind: &str) -> bool {
    kind.eq_ignore_ascii_case("Secret") || kind.eq_ignore_ascii_case("SecretList")
}

/// Words one of which stands in each text that is about Secrets. The capital is missing where
/// somebody has misspelt it, and in `secretGenerator`. Operations name no kind, only the path
/// of what they change.
static TELLING: LazyLock<[Finder<'_>; 3]> =
    LazyLock::new(|| ["ecret", "stringData", "/data"].map(Finder::new));

/// Where a text ends in a key of this name, before its colon.
fn name_before(before: &str, name: &str) -> Option<Range<u32>> {
    let key = before.trim_end().strip_suffix(':')?.trim_end_matches(['"', '\'']);
    let around = key.strip_suffix(name)?;
    let is_whole = around.is_empty() || around.ends_with(['\n', ' ', '{', ',', '"', '\'']);
    is_whole.then_some(around.len() as u32..key.len() as u32)
}

/// Whether a text may be about Secrets at all.
fn may_hold(bytes: &[u8]) -> bool {
    TELLING.iter().any(|word| word.find(bytes).is_some())
}

/// Where the words stand in a part of a text that say so, in order.
fn telling_words(text: &str, part: Range<u32>) -> Vec<Range<u32>> {
    let bytes = &text.as_bytes()[part.start as usize..part.end as usize];
    let places = TELLING.iter().flat_map(|word| {
        let length = word.needle().len() as u32;
        word.find_iter(bytes).map(move |at| part.start + at as u32..part.start + at as u32 + length)
    });
    let mut places: Vec<Range<u32>> = places.collect();
    places.sort_unstable_by_key(|place| place.start);
    places
}

/// The regions of a file that its own text tells.
pub(super) fn regions_of(snapshot: &Snapshot, file: &File) -> Regions {
    if !file.is_manifest && !makers::is_kustomization(&file.path) {
        return Regions::default();
    }
    let Ok(blob) = snapshot.blob(file) else { return Regions::default() };
    if !(may_hold(blob.bytes()) || blob.is_utf16()) {
        return Regions::default();
    }
    let Some(stream) = blob.stream() else { return Regions::default() };
    if snapshot.is_template(file) {
        return Regions::new(textual::regions(&stream.text, 0));
    }
    let mut regions = Vec::new();
    let mut from = 0;
    for (at, source) in snapshot.sources(file).iter().enumerate() {
        let next = stream.documents.get(at + 1).map(|next| next.start.max(source.document().end));
        let extent = from..next.unwrap_or(stream.text.len() as u32);
        from = source.document().end;
        if !source.document().tokens.is_empty() {
            let before = regions.len();
            document::regions(source, extent, &mut regions);
            makers::regions(source, before, &mut regions);
        }
    }
    for error in &stream.errors {
        // A text is read again from the next line of `---` on.
        let text = &*stream.text;
        let mut line = (error.offset as usize).min(text.len());
        line = text.as_bytes()[..line].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let here = text[line..].starts_with("---");
        let from = if here { line } else { text[..line].rfind("\n---").map_or(0, |at| at + 1) };
        let text = stream.text.get(from..).unwrap_or_default();
        let end = text.get(3..).and_then(|rest| rest.find("\n---")).map_or(text.len(), |at| at + 4);
        regions.extend(textual::regions(&text[..end], from as u32));
    }
    Regions::new(regions)
}

impl Snapshot {
    /// The bytes of a file that are not to be shown, in order and apart.
    pub(crate) fn hidden_in(&self, name: &FilePath) -> Vec<Range<u32>> {
        let Some(file) = self.find(name) else { return Vec::new() };
        match self.made_of(file) {
            Some(whole) => whole.hidden.clone(),
            None => self.regions_in(file).hidden.clone(),
        }
    }

    /// Whether a value is hidden: by where it stands, or by what it went through.
    pub(crate) fn hides(&self, location: &Location) -> bool {
        let here = self.find(&location.file).is_some_and(|file| {
            let made = self.made_of(file).is_some();
            made || self.regions_in(file).hides(location.start, location.end)
        });
        here || location.via.iter().any(|via| self.hides(&via.location))
    }

    /// Whether a text that comes from a hidden value is the name that the value has, which is shown.
    /// A value that is called what it is stays hidden.
    pub(crate) fn names(&self, location: &Location, text: &str) -> bool {
        let Some(file) = self.find(&location.file).filter(|file| self.made_of(file).is_none()) else {
            return false;
        };
        let Some(stream) = self.blob(file).ok().and_then(|blob| blob.stream().cloned()) else { return false };
        let part =
            |range: Range<u32>| stream.text.get(range.start as usize..range.end as usize).unwrap_or_default();
        let name = name_before(part(0..location.start), text)
            .filter(|_| !text.is_empty() && !part(location.start..location.end).contains(text));
        name.is_some_and(|name| !self.regions_in(file).hides(name.start, name.end))
    }

    /// A text about a place without the hidden values of the Secret that the place
    /// belongs to.
    pub(crate) fn conceal<'t>(&self, text: &'t str, location: &Location) -> Cow<'t, str> {
        self.hidden_at([location]).conceal(text)
    }

    /// What is hidden of the Secrets that places belong to.
    pub(crate) fn hidden_at<'l>(&self, places: impl IntoIterator<Item = &'l Location>) -> Hidden<'_> {
        let mut regions = Vec::new();
        for place in places {
            self.regions_at(place, &mut regions);
        }
        let mut seen = FxHashSet::default();
        regions.retain(|region| seen.insert(std::ptr::from_ref(*region)));
        Hidden(regions)
    }

    fn regions_at<'s>(&'s self, location: &Location, regions: &mut Vec<&'s Region>) {
        if let Some(file) = self.find(&location.file) {
            regions.extend(self.made_of(file));
            regions.extend(self.regions_in(file).at(location.start, location.end));
        }
        for via in &location.via {
            self.regions_at(&via.location, regions);
        }
    }

    /// The hidden values of all files of this tree that are hidden in other places as
    /// well.
    pub(crate) fn hidden_words(&self) -> impl Iterator<Item = &str> {
        self.files().par_iter().with_min_len(16).for_each(|file| {
            self.regions_in(file);
        });
        let files = self.files().iter();
        let regions = files.flat_map(|file| self.regions_in(file).list.iter().chain(self.made_of(file)));
        let words = regions.flat_map(|region| &region.words);
        words.filter(|word| word.everywhere).map(|word| &*word.text)
    }
}

/// The hidden values of Secrets.
pub(crate) struct Hidden<'s>(Vec<&'s Region>);

impl Hidden<'_> {
    /// A text without them.
    pub(crate) fn conceal<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let finders = self.0.iter().map(|region| region.finder());
        finders.fold(text.into(), |text, finder| match finder.conceal(&text) {
            Some(concealed) => concealed.into(),
            None => text,
        })
    }
}

#[cfg(test)]
mod tests;
