//! Suppressions: `# forebay: ignore[rule-id] reason` at a line, above it or at
//! the head of a block; `# forebay: ignore-file[rule-id] reason`; the object
//! annotation `forebay.dev/ignore: "rule-id: reason; …"`.

use crate::files::{File, Snapshot};
use crate::lang::yaml::tape::Document;
use crate::lang::yaml::{FilePath, Location, Source, Tree};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// One suppression written in a file.
#[derive(Debug)]
pub struct Suppression {
    /// The rule that it silences.
    pub rule: String,
    /// Why, as written; may be empty.
    pub reason: String,
    /// The comment or annotation.
    pub location: Location,
    /// The bytes of the file that it covers.
    pub covers: Range<u32>,
    /// Whether it is a comment, and no annotation.
    pub is_comment: bool,
    used: AtomicBool,
}

impl Suppression {
    /// Whether it silenced a finding of this run.
    pub fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}

/// All suppressions of a snapshot, by file.
#[derive(Debug, Default)]
pub struct Suppressions {
    files: FxHashMap<FilePath, Vec<Suppression>>,
    malformed: Vec<(Location, String)>,
}

/// The annotation that suppresses rules for a whole object.
pub(super) const ANNOTATION: &str = "forebay.dev/ignore";

impl Suppressions {
    /// Collect those of the given files.
    pub fn collect<'f>(snapshot: &Snapshot, files: impl Iterator<Item = &'f File>) -> Suppressions {
        let mut all = Suppressions::default();
        let mut beside: FxHashSet<FilePath> = FxHashSet::default();
        let own_name = memchr::memmem::Finder::new("forebay");
        for file in files {
            let Some(stream) = snapshot.stream(file) else { continue };
            if file.tree != Tree::Root {
                beside.insert(file.name());
            }
            if own_name.find(stream.text.as_bytes()).is_none() {
                continue;
            }
            let mut found = Vec::new();
            for source in snapshot.sources(file) {
                comments(source, &mut found, &mut all.malformed);
            }
            if !found.is_empty() {
                all.files.insert(file.name(), found);
            }
        }
        let others = snapshot.beside().flat_map(Snapshot::objects);
        let others = others.filter(|object| beside.contains(&object.source.file));
        for object in snapshot.objects().iter().chain(others) {
            let node = object.node.get_ref();
            let Some(entry) = node.at("/metadata/annotations").and_then(|map| map.entry(ANNOTATION)) else {
                continue;
            };
            let (Some(text), Some(location), Some(covers)) =
                (entry.value.text(), entry.value.location(), node.location())
            else {
                continue;
            };
            let list = all.files.entry(location.file.clone()).or_default();
            for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
                let (rule, reason) = part.split_once(':').unwrap_or((part, ""));
                list.push(Suppression {
                    rule: rule.trim().to_owned(),
                    reason: reason.trim().to_owned(),
                    location: location.clone(),
                    covers: covers.start..covers.end.max(covers.start + 1),
                    is_comment: false,
                    used: AtomicBool::new(false),
                });
            }
        }
        all
    }

    /// The suppression that silences a finding of `rule` at `location`, or at a
    /// place that its value went through. All that do count as used.
    pub fn silencing(&self, rule: &str, location: &Location) -> Option<&Suppression> {
        let list = self.files.get(&location.file).map_or(&[][..], Vec::as_slice);
        let mut here = None;
        for suppression in list.iter().filter(|suppression| suppression.rule == rule) {
            if suppression.covers.contains(&location.start) {
                suppression.used.store(true, Ordering::Relaxed);
                here = here.or(Some(suppression));
            }
        }
        here.or_else(|| location.via.iter().find_map(|via| self.silencing(rule, &via.location)))
    }

    /// Comments that begin with `forebay:` and are no suppressions: where they
    /// are, and their text.
    pub fn malformed(&self) -> &[(Location, String)] {
        &self.malformed
    }

    /// All suppressions, by path.
    pub fn all(&self) -> impl Iterator<Item = &Suppression> {
        self.files.values().flatten()
    }
}

fn comments(source: &Source, out: &mut Vec<Suppression>, malformed: &mut Vec<(Location, String)>) {
    let (document, text) = (source.document(), &source.stream.text);
    let mut run = 0..0;
    for comment in &document.comments {
        let written = &text[comment.start as usize..comment.end as usize];
        let Some(body) = written.trim_start_matches('#').trim_start().strip_prefix("forebay:") else {
            continue;
        };
        let location =
            Location { file: source.file.clone(), start: comment.start, end: comment.end, via: Vec::new() };
        let Some((whole_file, rules, reason)) = directive(body.trim_start()) else {
            malformed.push((location, body.trim().to_owned()));
            continue;
        };
        let covers = if whole_file { 0..u32::MAX } else { covered(document, text, comment.start, &mut run) };
        for rule in rules.split(',') {
            out.push(Suppression {
                rule: rule.trim().to_owned(),
                reason: reason.trim().to_owned(),
                location: location.clone(),
                covers: covers.clone(),
                is_comment: true,
                used: AtomicBool::new(false),
            });
        }
    }
}

/// `ignore[rule, …] reason` or `ignore-file[rule, …] reason`: whether it is the
/// latter, the rules, the reason.
fn directive(body: &str) -> Option<(bool, &str, &str)> {
    let (whole_file, rest) = match body.strip_prefix("ignore-file[") {
        Some(rest) => (true, rest),
        None => (false, body.strip_prefix("ignore[")?),
    };
    let (rules, reason) = rest.split_once(']')?;
    Some((whole_file, rules, reason))
}

/// The bytes that a comment covers: its own line when something stands before
/// it, else the next line that is no comment; and the whole block that begins
/// on that line.
///
/// `run` are the lines of comments that were looked at last: one that stands in them is
/// about the same line.
fn covered(document: &Document, text: &str, comment: u32, run: &mut Range<usize>) -> Range<u32> {
    let before = &text[..comment as usize];
    let line = before.rfind(['\n', '\r']).map_or(0, |at| at + 1);
    let start = if text[line..comment as usize].trim().is_empty() && run.contains(&line) {
        run.end
    } else if text[line..comment as usize].trim().is_empty() {
        let mut at = line;
        loop {
            let Some(next) = text[at..].find('\n').map(|n| at + n + 1) else { return 0..0 };
            let body = text[next..].trim_start_matches([' ', '\t']);
            if !body.starts_with('#') {
                *run = line..next;
                break next;
            }
            at = next;
        }
    } else {
        line
    };
    let end = text[start..].find(['\n', '\r']).map_or(text.len(), |n| start + n);
    // The key (or item) that begins on this line and the value below it.
    let first = document.tokens.partition_point(|token| token.start < start as u32);
    let begins = |first: &usize| document.tokens.get(*first).is_some_and(|token| token.start < end as u32);
    let first = Some(first).filter(begins);
    let block = first.and_then(|first| {
        let tokens = &document.tokens;
        let key = first.max(1);
        // A line's first token may be a collection that starts with the key.
        let key = (key..tokens.len())
            .find(|index| matches!(tokens[*index].kind, crate::lang::yaml::tape::TokenKind::Scalar(_)))?;
        tokens
            .get(tokens[key].next as usize)
            .filter(|value| value.start >= tokens[key].end)
            .map(|value| value.end)
    });
    start as u32..block.unwrap_or(0).max(end as u32 + 1)
}
