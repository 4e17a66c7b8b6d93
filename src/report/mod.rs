//! One file per output format. What nobody sees of a string that came from
//! a file is written out before it is printed, and nothing of the run itself
//! (time of day, duration, absolute paths) is printed.

pub(crate) mod charts;
pub(crate) mod concise;
pub(crate) mod coverage;
pub(crate) mod diff;
pub(crate) mod docs;
mod entries;
pub(crate) mod events;
pub(crate) mod full;
pub(crate) mod gates;
pub(crate) mod github;
pub(crate) mod gitlab;
pub(crate) mod graph;
pub(crate) mod graph_svg;
pub(crate) mod hooks;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod layout;
pub(crate) mod lines;
pub(crate) mod map;
pub(crate) mod markdown;
mod markup;
mod mask;
pub(crate) mod objects;
mod page;
pub(crate) mod paint;
pub(crate) mod parts;
pub(crate) mod plan;
pub(crate) mod propagation;
pub(crate) mod references;
pub(crate) mod sarif;
pub(crate) mod schema;
pub(crate) mod secrets;
mod snippet;
pub(crate) mod stated;
pub(crate) mod steps;
pub(crate) mod summary;
pub(crate) mod suspend;
pub(crate) mod unchecked;
pub(crate) mod values;

use crate::config::Level;
use crate::files::{Content, Snapshot};
use crate::lang::yaml::{FilePath, Location};
use crate::lint::engine::LintOutcome;
use crate::lint::{Applicability, Edit, Finding, Fix, Rule};
use crate::world::World;
use jiff::Timestamp;
use secrets::SecretValues;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What a place that shows text can do. The default is a plain file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    /// ANSI colours.
    pub color: bool,
    /// OSC 8 hyperlinks.
    pub links: bool,
    /// Its columns; none where nobody looks: a file, or a pipe to another program.
    pub columns: Option<u16>,
}

impl Terminal {
    /// Columns to wrap prose at: those of the terminal, within what reads well. Lines
    /// of a pipe stay whole.
    pub fn width(self) -> usize {
        self.columns.map_or(usize::MAX, |columns| usize::from(columns).clamp(40, 120))
    }
}

/// The findings of a run, for every format of `lint`.
pub struct Lint<'a> {
    /// What was looked at.
    pub world: &'a World,
    /// What was found.
    pub outcome: &'a LintOutcome,
    /// Lowest level that is printed; the summary counts all.
    pub show: Level,
    /// The time that was asked for.
    pub at: Option<Timestamp>,
    /// Whether to end with a summary.
    pub summary: bool,
    /// Columns to wrap the summary at.
    pub width: usize,
    /// Whether to list the places that were not checked.
    pub list_unchecked: bool,
    /// Whether nothing yet chooses among the findings: no baseline, no revision, no
    /// PATH.
    pub begins: bool,
    /// Whether the root has a configuration.
    pub is_configured: bool,
    /// The lowest level that makes the exit code 1; nothing where none does.
    pub fails_at: Option<Level>,
    /// How many findings of the baseline are not found any more.
    pub stale_baseline: usize,
    /// Where the root lies in its git repository: empty, or a path that ends
    /// with `/`. Services that show files want paths of the repository.
    pub prefix: String,
    /// The secret values of what was read, where somebody has looked for them.
    pub secrets: Option<Arc<SecretValues>>,
}

impl<'a> Lint<'a> {
    /// The files.
    pub fn snapshot(&self) -> &'a Snapshot {
        &self.world.snapshot
    }

    /// The findings to print, in order.
    pub fn shown(&self) -> impl Iterator<Item = &'a Finding> {
        let show = self.show;
        self.outcome.findings.iter().filter(move |finding| finding.level >= show)
    }

    /// A path as seen from the root, as seen from the top of the root's git repository.
    pub fn in_repository(&self, shown: &str) -> String {
        let (mut above, mut path) = (self.prefix.trim_end_matches('/'), shown);
        while let Some(rest) = path.strip_prefix("../").filter(|_| !above.is_empty()) {
            above = above.rsplit_once('/').map_or("", |(above, _)| above);
            path = rest;
        }
        if above.is_empty() { path.to_owned() } else { format!("{above}/{path}") }
    }

    /// The findings to print with their fingerprints; of equal ones (two files
    /// that say the same) the second and later carry a number.
    pub fn with_unique_fingerprints(&self) -> Vec<(&'a Finding, String)> {
        let mut seen: HashMap<&str, usize> = HashMap::new();
        let number = |finding: &'a Finding| {
            let count = seen.entry(&finding.fingerprint).or_default();
            *count += 1;
            let fingerprint = match *count {
                1 => finding.fingerprint.clone(),
                count => format!("{}-{count}", finding.fingerprint),
            };
            (finding, fingerprint)
        };
        self.shown().map(number).collect()
    }

    /// How many findings of a level there are, printed or not.
    pub fn count(&self, level: Level) -> usize {
        self.outcome.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// How many findings `--fix` would fix, printed or not.
    pub fn fixable(&self) -> usize {
        summary::with_fix(&self.outcome.findings, Applicability::Safe)
    }
}

/// A location in terms that people and other programs use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownPlace {
    /// 1-based line and Unicode-scalar column of the first character.
    pub from: (u32, u32),
    /// 1-based line and column after the last character.
    pub to: (u32, u32),
    /// First byte in the file as it is on disk.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
}

/// Where a location is, or `None` where its file is no text (or is no file of
/// the snapshot).
pub fn place(snapshot: &Snapshot, location: &Location) -> Option<ShownPlace> {
    let file = snapshot.find(&location.file)?;
    let whole = ShownPlace { from: (1, 1), to: (1, 1), start: 0, end: 0 };
    let Ok(blob) = snapshot.blob(file) else { return Some(whole) };
    let Content::Text(stream) = blob.content() else {
        // No characters are known there: lines and columns of bytes.
        let bytes = blob.bytes();
        let position = |offset: u32| {
            let before = &bytes[..(offset as usize).min(bytes.len())];
            let line = before.iter().filter(|byte| **byte == b'\n').count();
            let column = before.iter().rev().take_while(|byte| **byte != b'\n').count();
            (line as u32 + 1, column as u32 + 1)
        };
        return Some(ShownPlace {
            from: position(location.start),
            to: position(location.end),
            start: u64::from(location.start),
            end: u64::from(location.end),
        });
    };
    let (from, to) = snapshot.positions(location);
    let byte = |offset: u32| {
        if !blob.is_utf16() {
            return u64::from(offset);
        }
        // The byte order mark, then two bytes for each UTF-16 unit.
        let before = stream.text.get(..offset as usize).unwrap_or(&stream.text);
        2 + 2 * before.chars().map(|c| c.len_utf16() as u64).sum::<u64>()
    };
    Some(ShownPlace { from, to, start: byte(location.start), end: byte(location.end) })
}

/// The edits of a fix that may be told: none of one that writes the value of a Secret
/// anew. `--fix` makes them all the same.
pub(crate) fn shown_edits<'f>(snapshot: &Snapshot, finding: &Finding, fix: &'f Fix) -> &'f [Edit] {
    let tells = |edit: &Edit| {
        let file = FilePath::in_root(edit.path.as_arc().clone());
        let place = Location { file, start: edit.start, end: edit.end, via: Vec::new() };
        let text = edit.text.trim();
        !text.is_empty()
            && [&place, &finding.location]
                .iter()
                .any(|place| matches!(snapshot.conceal(text, place), Cow::Owned(_)))
    };
    if fix.edits.iter().any(tells) { &[] } else { &fix.edits }
}

/// The page of a rule.
pub(crate) fn rule_url(rule: &Rule) -> String {
    format!("{}/blob/v{}/docs/rules/{}.md", env!("CARGO_PKG_REPOSITORY"), env!("CARGO_PKG_VERSION"), rule.id)
}

/// A path as a relative URI.
pub(crate) fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte.into())
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;
    use std::sync::Arc;

    #[test]
    fn prose_is_as_wide_as_the_terminal_within_reason() {
        for (columns, width) in [(None, usize::MAX), (Some(20), 40), (Some(100), 100), (Some(300), 120)] {
            assert_eq!(Terminal { columns, ..Terminal::default() }.width(), width);
        }
    }

    #[test]
    fn bytes_are_those_of_the_file() {
        let utf16 = |text: &str| {
            let units = text.encode_utf16().flat_map(u16::to_le_bytes);
            [0xff, 0xfe].into_iter().chain(units).collect::<Vec<u8>>()
        };
        let files = [
            ("a.yaml", b"k: \xc3\xa9 x\n".to_vec()),
            ("b.yaml", b"\xef\xbb\xbfk: v\n".to_vec()),
            ("c.yaml", utf16("k: \u{1f600} x\n")),
            ("d.yaml", vec![b'a', 0xff]),
        ];
        let snapshot = Snapshot::memory(files, Arc::new(Store::default()));
        let at = |path: &str, start, end| {
            place(&snapshot, &Location { file: FilePath::in_root(path), start, end, via: Vec::new() })
                .map(|place| (place.from, place.start, place.end))
        };
        assert_eq!(at("a.yaml", 6, 7), Some(((1, 6), 6, 7)));
        assert_eq!(at("b.yaml", 6, 7), Some(((1, 4), 6, 7)));
        assert_eq!(at("c.yaml", 8, 9), Some(((1, 6), 2 + 2 * 6, 2 + 2 * 7)));
        assert_eq!(at("d.yaml", 0, 1), Some(((1, 1), 0, 1)));
        assert_eq!(at("missing.yaml", 0, 1), None);
    }
}
