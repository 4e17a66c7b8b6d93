//! One file per output format. Every string that came from a file is stripped
//! of control characters before it is printed, and nothing of the run itself
//! (time of day, duration, absolute paths) is.

pub mod concise;
pub mod diff;
pub mod docs;
pub mod events;
pub mod full;
pub mod gates;
pub mod github;
pub mod gitlab;
pub mod graph;
pub mod hooks;
pub mod json;
pub mod junit;
pub mod markdown;
mod mask;
pub mod objects;
pub mod parts;
pub mod plan;
pub mod propagation;
pub mod sarif;
mod snippet;
pub mod summary;
pub mod suspend;
mod words;

pub use words::counted;

use crate::config::Level;
use crate::flux::cluster::World;
use crate::lint::engine::Outcome;
use crate::lint::{Applicability, Finding, Rule};
use crate::repo::{Content, Snapshot};
use crate::yaml::Location;
use jiff::Timestamp;
use std::borrow::Cow;
use std::collections::HashMap;

/// What a place that shows text can do. The default is a plain file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal {
    /// ANSI colours.
    pub color: bool,
    /// OSC 8 hyperlinks.
    pub links: bool,
}

/// The findings of a run, for every format of `lint`.
pub struct Lint<'a> {
    /// What was looked at.
    pub world: &'a World,
    /// What was found.
    pub outcome: &'a Outcome,
    /// Lowest level that is printed; the summary counts all.
    pub show: Level,
    /// The time that was asked for.
    pub at: Option<Timestamp>,
    /// Whether to end with a summary.
    pub summary: bool,
    /// Whether to list the places that were not checked.
    pub list_unchecked: bool,
    /// How many findings of the baseline are not found any more.
    pub stale_baseline: usize,
    /// Where the root lies in its git repository: empty, or a path that ends
    /// with `/`. Services that show files want paths of the repository.
    pub prefix: String,
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

    /// The path of a file in its git repository.
    pub fn in_repository(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
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
pub struct Place {
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
pub fn place(snapshot: &Snapshot, location: &Location) -> Option<Place> {
    let file = snapshot.file(&location.path)?;
    let blob = snapshot.blob(file).ok()?;
    let Content::Text(stream) = blob.content() else { return None };
    let (from, to) = snapshot.positions(location);
    let byte = |offset: u32| {
        if !blob.is_utf16() {
            return u64::from(offset);
        }
        // The byte order mark, then two bytes for each UTF-16 unit.
        let before = stream.text.get(..offset as usize).unwrap_or(&stream.text);
        2 + 2 * before.chars().map(|c| c.len_utf16() as u64).sum::<u64>()
    };
    Some(Place { from, to, start: byte(location.start), end: byte(location.end) })
}

/// The page of a rule.
pub fn rule_url(rule: &Rule) -> String {
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

/// Text from a file, safe for a terminal or a log: control characters (line
/// ends included) and those that reorder text become U+FFFD.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.contains(is_hostile) { text.replace(is_hostile, "\u{fffd}").into() } else { text.into() }
}

/// A path at the start of a line: one that looks like a command to the runner
/// of a workflow (`::error::`, `##[…]`) is written as `./path`.
pub(crate) fn line_start(path: &str) -> String {
    let lead = if is_command(path) { "./" } else { "" };
    format!("{lead}{}", clean(path))
}

/// Whether the runner of a workflow takes a line that begins like this, blanks
/// aside, for a command.
pub(crate) fn is_command(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("::") || text.starts_with("##[")
}

/// Characters that make a terminal or a reader do something: controls, and the
/// bidirectional overrides that show text in another order than it is.
pub(crate) fn is_hostile(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Store;
    use std::sync::Arc;

    #[test]
    fn hostile_characters_are_replaced() {
        for (text, expected) in [
            ("plain é 漢", "plain é 漢"),
            ("a\u{1b}[31mb", "a\u{fffd}[31mb"),
            ("a\r\n::error::b", "a\u{fffd}\u{fffd}::error::b"),
            ("a\u{202e}b\u{9b}c", "a\u{fffd}b\u{fffd}c"),
        ] {
            assert_eq!(clean(text), expected);
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
            place(&snapshot, &Location { path: path.into(), start, end, via: Vec::new() })
                .map(|place| (place.from, place.start, place.end))
        };
        assert_eq!(at("a.yaml", 6, 7), Some(((1, 6), 6, 7)));
        assert_eq!(at("b.yaml", 6, 7), Some(((1, 4), 6, 7)));
        assert_eq!(at("c.yaml", 8, 9), Some(((1, 6), 2 + 2 * 6, 2 + 2 * 7)));
        assert_eq!(at("d.yaml", 0, 1), None);
        assert_eq!(at("missing.yaml", 0, 1), None);
    }
}
