//! Objects out of documents, each value with the places that flowed into it.

use super::RenderedChart;
use super::manifest::ManifestDocument;
use crate::lang::template::{Flow, OutputPart, Place, TraceSource};
use crate::lang::yaml::{
    Built, Entry, FilePath, Holes, Location, Node, NodeRef, Origin, Places, Tree, Value, Via, ViaKind,
    written_runs,
};
use std::collections::BTreeSet;
use std::sync::Arc;

impl RenderedChart {
    /// The object of a document, each of its values with all places that it comes from:
    /// first the user's values, then those of charts, then the line of the template. What
    /// is unknown in it is a hole. Nothing where the document is empty, or only its text was kept.
    pub fn node(&self, document: &ManifestDocument) -> Option<Node> {
        let node = document.node.as_ref()?;
        let parts = self.written.iter().find(|written| written.source == document.source)?;
        let located = Located { rendered: self, parts: &parts.parts, start: document.range.start };
        Some(located.node(node, false))
    }

    /// The first document that post-renderers of helm-controller refuse though Helm takes it: why,
    /// and where it is written. Not one that is refused for something unknown.
    pub fn refused_document(&self) -> Option<(String, Option<Location>)> {
        self.manifests.iter().chain(&self.hooks).find_map(|document| {
            let defect = document.defect.as_ref()?;
            let parts = &self.written.iter().find(|written| written.source == document.source)?.parts;
            let (start, at) = (document.range.start, defect.offset as usize);
            if covered(parts, start + at, start + at + 1).iter().any(|part| part.is_unknown) {
                return None;
            }
            let origin = Located { rendered: self, parts, start }.origin(&document.text, at, at + 1, true);
            Some((defect.message.clone(), origin.map(|origin| origin.location())))
        })
    }

    /// The parts of what a template wrote that a range of a document's text covers.
    pub fn parts(&self, document: &ManifestDocument, range: std::ops::Range<usize>) -> &[OutputPart] {
        let Some(written) = self.written.iter().find(|written| written.source == document.source) else {
            return &[];
        };
        covered(&written.parts, document.range.start + range.start, document.range.start + range.end)
    }

    /// Where a part's template stands.
    pub fn place(&self, place: Place) -> Option<Location> {
        let file = self.sources.get(place.source as usize)?;
        let range = place.span.range();
        Some(location(&file.place, range.start as u32, range.end as u32))
    }

    /// As [`RenderedChart::place`], where the byte `at` of a document stands that a part wrote:
    /// of a text of the template's own, its line there, not that of its beginning.
    fn place_of(&self, part: &OutputPart, document: &str, start: usize, at: usize) -> Option<Location> {
        let place = part.written_by?;
        let file = self.sources.get(place.source as usize)?;
        let within = || {
            let own = file.text()?.get(place.span.range()).filter(|own| !own.starts_with("{{"))?;
            // What of its line the part wrote.
            let line = document.get(..at)?.rfind('\n').map_or(0, |at| at + 1);
            let end = at + document.get(at..)?.find('\n').unwrap_or(document.len() - at);
            let (line, end) =
                (line.max(part.bytes.start.saturating_sub(start)), end.min(part.bytes.end - start));
            let found = own_offset(own, document.get(line..end)?, at - line, start + at - part.bytes.start)?;
            let from = place.span.range().start + found;
            Some(location(&file.place, from as u32, (from + end - at) as u32))
        };
        within().or_else(|| self.place(place))
    }

    /// Where the values were written that flowed into a part or decided on it; of a key
    /// that flowed in, where that is.
    fn flows(&self, flows: &[Flow], is_key: bool) -> Vec<(Location, bool)> {
        let mut found = Vec::new();
        for flow in flows {
            if let TraceSource::Value(id) = &flow.source
                && let Some(origin) = self.origins.get(id.0 as usize)
            {
                let key = if is_key && !flow.decided { key_of(origin) } else { None };
                found.push((key.unwrap_or_else(|| origin.location()), flow.decided));
            }
        }
        found
    }
}

/// Where the byte `column` of a line stands in a template's text: as far behind its beginning
/// as in what was written, where that is the same, or in the only place that has the line.
fn own_offset(own: &str, line: &str, column: usize, behind: usize) -> Option<usize> {
    let written = line.get(column..).filter(|written| !written.is_empty())?;
    if own.get(behind..).is_some_and(|rest| rest.starts_with(written)) {
        return Some(behind);
    }
    let lead = line.len() - line.trim_start().len();
    let mut places = own.match_indices(line.trim());
    let (first, _) = places.next()?;
    (places.next().is_none() && column >= lead).then(|| first + column - lead)
}

fn location(file: &FilePath, start: u32, end: u32) -> Location {
    Location { file: file.clone(), start, end, via: Vec::new() }
}

/// The key that a value stands behind: nothing but a colon is between them.
pub(crate) fn key_of(origin: &Origin) -> Option<Location> {
    let Origin::Token(source, at) = origin else { return None };
    let tokens = &source.document().tokens;
    let (key, value) = (&tokens[at.checked_sub(1)? as usize], &tokens[*at as usize]);
    let between = source.stream.text.get(key.end as usize..value.start as usize)?;
    between.trim_start().starts_with(':').then(|| source.location(key.start..key.end))
}

fn covered(parts: &[OutputPart], start: usize, end: usize) -> &[OutputPart] {
    let first = parts.partition_point(|part| part.bytes.end <= start);
    let count = parts[first..].partition_point(|part| part.bytes.start < end);
    &parts[first..first + count]
}

/// Why a part is unknown.
fn reasons(part: &OutputPart) -> impl Iterator<Item = &str> {
    part.from.iter().filter(|flow| !flow.decided).filter_map(|flow| match &flow.source {
        TraceSource::Unknown(why) => Some(why.as_str()),
        _ => None,
    })
}

/// Parts of a value whose places are told: of a map or a list, the first of them.
const MOST_PARTS: usize = 16;

struct Located<'r> {
    rendered: &'r RenderedChart,
    parts: &'r [OutputPart],
    /// Where the document begins in what was written.
    start: usize,
}

impl Located<'_> {
    fn node(&self, node: &Node, is_key: bool) -> Node {
        let Node::Built(built) = node else { return node.clone() };
        let token = match &built.origin {
            Some(Origin::Token(source, token)) => Some((source, *token)),
            _ => None,
        };
        let value = match &built.value {
            Value::Seq(items) => Value::Seq(items.iter().map(|item| self.node(item, false)).collect()),
            Value::Map(entries) => Value::Map(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: self.node(&entry.key, true),
                        value: self.node(&entry.value, false),
                    })
                    .collect(),
            ),
            other => match token {
                Some((source, token)) => self.scalar(NodeRef::Source(source, token), other),
                None => other.clone(),
            },
        };
        let origin = token.and_then(|(source, token)| {
            let token = &source.document().tokens[token as usize];
            self.origin(&source.stream.text, token.start as usize, token.end as usize, is_key)
        });
        Node::Built(Arc::new(Built { value, origin }))
    }

    /// A scalar, with holes where a part of it is unknown.
    fn scalar(&self, node: NodeRef<'_>, known: &Value) -> Value {
        let Some(token) = node.token() else { return known.clone() };
        let (start, end) = (self.start + token.start as usize, self.start + token.end as usize);
        let parts = covered(self.parts, start, end);
        if !parts.iter().any(|part| part.is_unknown) {
            return known.clone();
        }
        let Value::Str(text) = known else {
            return Value::Unknown("made of something unknown".into());
        };
        let Some(runs) = written_runs(node, text) else {
            return Value::Unknown("made of something unknown".into());
        };
        let mut holes: Vec<Option<Arc<str>>> = Vec::new();
        for (at, run) in runs {
            let at = start + at;
            for part in covered(self.parts, at, at + run.len()) {
                let range = part.bytes.start.max(at) - at..part.bytes.end.min(at + run.len()) - at;
                let Some(piece) = run.get(range) else {
                    return Value::Unknown("made of something unknown".into());
                };
                match (part.is_unknown, holes.last_mut()) {
                    (true, Some(None)) => {}
                    (true, _) => holes.push(None),
                    (false, _) if piece.is_empty() => {}
                    (false, Some(Some(last))) => *last = format!("{last}{piece}").into(),
                    (false, _) => holes.push(Some(piece.into())),
                }
            }
        }
        if !holes.contains(&None) {
            return Value::Unknown("made of something unknown".into());
        }
        let reasons: BTreeSet<&str> = parts.iter().filter(|part| part.is_unknown).flat_map(reasons).collect();
        let why = reasons.into_iter().collect::<Vec<_>>().join(", ");
        Value::Holes(Holes { parts: holes, why: (!why.is_empty()).then(|| why.into()) })
    }

    fn origin(&self, document: &str, start: usize, end: usize, is_key: bool) -> Option<Origin> {
        let parts = covered(self.parts, self.start + start, self.start + end.max(start + 1));
        let parts = &parts[..parts.len().min(MOST_PARTS)];
        let template = parts.iter().find_map(|part| {
            let at = start.max(part.bytes.start.saturating_sub(self.start));
            self.rendered.place_of(part, document, self.start, at)
        });
        let (mut flowed, mut decided): (Vec<Location>, Vec<Location>) = (Vec::new(), Vec::new());
        let mut seen: Vec<*const Flow> = Vec::new();
        for part in parts {
            // Neighbours come from the same values most often.
            if seen.contains(&part.from.as_ptr()) {
                continue;
            }
            seen.push(part.from.as_ptr());
            for (location, is_decided) in self.rendered.flows(&part.from, is_key) {
                let found = if is_decided { &mut decided } else { &mut flowed };
                if !found.contains(&location) {
                    found.push(location);
                }
            }
        }
        // What a user may change comes first; what only decided that there is anything is
        // no place to change it.
        flowed.sort_by_key(|location| *location.file.tree() == Tree::Chart);
        decided.sort_by_key(|location| *location.file.tree() == Tree::Chart);
        decided.retain(|location| !flowed.contains(location));
        let mut found = flowed;
        if let Some(template) = template {
            for location in found.iter_mut().chain(&mut decided) {
                location.passed(Via { kind: ViaKind::Template, location: template.clone() });
            }
            found.push(template);
        }
        let own = found.len();
        found.append(&mut decided);
        Origin::of_places(Places { all: found, own })
    }
}
