//! Values of Secrets, wherever they turn up: what a replacement, a substitution or
//! a hand has copied is as secret as what it was copied from. Texts are compared,
//! as the logs of CI are masked; what is too short or too plain to be told from
//! other words is masked at its own place only.

use crate::files::Snapshot;
use crate::lint::rules::RULES;
use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use regex::Regex;
use rustc_hash::FxHashSet;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// Shorter values are too plain.
const SHORT: usize = 6;

/// Values from this length on may be a part of a word.
const LONG: usize = 12;

/// Bytes of a value by which it is found, and where there are more than [`MANY`] of
/// all values together.
const START: usize = 256;
const START_OF_MANY: usize = 24;
const MANY: usize = 4 << 20;

/// Values that are looked for.
const LIMIT: usize = 1 << 17;

/// Secret texts.
#[derive(Debug, Default)]
pub struct SecretValues {
    /// In order.
    known: Vec<Box<str>>,
    /// Finds how they begin.
    starts: Option<AhoCorasick>,
}

impl SecretValues {
    /// What the Secrets of trees hold, what makes and changes them, and of the trees
    /// beside them.
    pub(crate) fn of<'s>(trees: impl IntoIterator<Item = &'s Snapshot>) -> SecretValues {
        let mut known: BTreeSet<String> = BTreeSet::new();
        for snapshot in trees {
            add_of(snapshot, &mut known);
            snapshot.beside().for_each(|other| add_of(other, &mut known));
        }
        let known: Vec<Box<str>> = known.into_iter().take(LIMIT).map(String::into_boxed_str).collect();
        let is_many = known.iter().map(|value| value.len().min(START)).sum::<usize>() > MANY;
        let length = if is_many { START_OF_MANY } else { START };
        let starts = known.iter().map(|value| &value.as_bytes()[..value.len().min(length)]);
        let starts = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            // What is searched is little; the other kinds take longer to build.
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(starts);
        SecretValues { starts: starts.ok().filter(|_| !known.is_empty()), known }
    }

    /// Where secret texts are: known values, credentials in URLs. In order, and
    /// not overlapping.
    pub(crate) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = 0;
        while let Some(starts) = &self.starts
            && let Some(hit) = starts.find(Input::new(text).range(at..))
        {
            let end = hit.end() + self.more(text, hit.start(), hit.end());
            if stands_alone(text.as_bytes(), hit.start(), end) {
                found.push(hit.start()..end);
                at = end;
            } else {
                at = hit.start() + 1;
            }
        }
        if text.contains("://") {
            let lower = text.to_ascii_lowercase();
            let expressions = CREDENTIALS.iter().filter_map(|credential| credential.of(&lower));
            let credentials = expressions.flat_map(|expression| expression.captures_iter(text));
            let parts = credentials.filter_map(|captures| captures.name("secret").map(|part| part.range()));
            found.extend(parts);
            found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
            let mut end = 0;
            found.retain(|range| {
                let apart = range.start >= end;
                end = end.max(range.end);
                apart
            });
        }
        found
    }

    /// How much of what follows the beginning of a value belongs to it as well.
    fn more(&self, text: &str, start: usize, end: usize) -> usize {
        let text = &text[start..];
        let after = self.known.partition_point(|value| **value <= *text);
        let common = |value: &str| {
            let same = value.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
            (0..=same).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
        };
        let neighbours = self.known[after.saturating_sub(1)..].iter().take(2);
        let longest = neighbours.map(|value| common(value)).max().unwrap_or(0);
        longest.saturating_sub(end - start).min(if end - start < START_OF_MANY { 0 } else { usize::MAX })
    }

    /// The text with stars for what is secret.
    pub(crate) fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        stars(text, &self.find(text))
    }
}

/// A text with stars in the place of some of its parts.
pub(super) fn stars<'t>(text: &'t str, parts: &[Range<usize>]) -> Cow<'t, str> {
    if parts.is_empty() {
        return text.into();
    }
    let mut masked = String::with_capacity(text.len());
    let mut end = 0;
    for range in parts {
        masked.push_str(&text[end..range.start]);
        masked.push_str("***");
        end = range.end;
    }
    masked.push_str(&text[end..]);
    masked.into()
}

/// Calls `found` with words that are no secret, whatever a Secret holds: what objects,
/// files and rules are called.
fn names<'s>(snapshot: &'s Snapshot, mut found: impl FnMut(&'s str)) {
    for object in snapshot.objects() {
        let id = &object.id;
        [&id.name, &id.kind, &id.api_version].into_iter().for_each(|name| found(name));
        id.namespace.iter().for_each(|name| found(name));
    }
    for file in snapshot.files() {
        found(&file.path);
        for part in file.path.split('/') {
            found(part);
            part.split_once('.').into_iter().for_each(|(stem, _)| found(stem));
        }
    }
    RULES.iter().for_each(|rule| found(rule.id));
}

/// Adds the secret texts of a tree.
fn add_of(snapshot: &Snapshot, known: &mut BTreeSet<String>) {
    let mut telling: FxHashSet<&str> = snapshot.hidden_words().map(str::trim).collect();
    telling.retain(|text| is_telling(text));
    if !telling.is_empty() {
        names(snapshot, |name| {
            telling.remove(name);
        });
    }
    for text in telling {
        known.insert(text.to_owned());
        // As JSON writes it.
        let written = serde_json::to_string(text).unwrap_or_default();
        known.insert(written[1..written.len() - 1].to_owned());
    }
}

/// Credentials that a URL holds: of a user, of a webhook, in its query. What a
/// substitution will put there is none yet.
static CREDENTIALS: LazyLock<[Credential; 6]> = LazyLock::new(|| {
    const REST: &str = r#"(?P<secret>[^\s"'\\<>`$*][^\s"'\\<>`]*)"#;
    let of = |word, pattern| Credential { word, pattern, compiled: OnceLock::new() };
    [
        of(
            "@",
            r#"(?i)\b[a-z][a-z0-9+.-]*://[^/\s:@"'\\<>]*:(?P<secret>[^/\s@"'\\<>$*][^/\s@"'\\<>]*)@"#.to_owned(),
        ),
        of("@", r#"(?i)\bhttps?://(?P<secret>[^/\s:@"'\\<>$*][^/\s:@"'\\<>]{7,})@"#.to_owned()),
        of("slack.com", format!(r"(?i)\bhooks\.slack\.com/(?:services|workflows|triggers)/{REST}")),
        of("/api/webhooks/", format!(r"(?i)\bdiscord(?:app)?\.com/api/webhooks/{REST}")),
        of("office.com", format!(r"(?i)\.webhook\.office\.com/{REST}")),
        of(
            "=",
            r#"(?i)[?&](?:access_?token|api_?key|auth|key|passw(?:or)?d|secret|sig|signature|token)=(?P<secret>[^&\s"'\\<>`$*][^&\s"'\\<>`]*)"#
                .to_owned(),
        ),
    ]
});

/// One form of them. Compiling an expression takes longer than reading most texts.
struct Credential {
    /// What a text without is not asked for: part of every match, in small letters.
    word: &'static str,
    pattern: String,
    compiled: OnceLock<Regex>,
}

impl Credential {
    /// The expression, for a text that may have a match; `lower` is the text in small
    /// letters of ASCII.
    fn of(&self, lower: &str) -> Option<&Regex> {
        let compile = || Regex::new(&self.pattern).expect("a constant expression");
        lower.contains(self.word).then(|| self.compiled.get_or_init(compile))
    }
}

/// Whether a value can be told from words that are no secret.
fn is_telling(text: &str) -> bool {
    let has = |test: fn(char) -> bool| text.chars().any(test);
    let mixed = has(|c| c.is_ascii_digit()) && has(char::is_alphabetic);
    let is_host =
        text.contains('.') && text.chars().all(|c| c.is_ascii_lowercase() || "0123456789.-:".contains(c));
    let is_number = text.chars().all(|c| c.is_ascii_digit() || ".:-+TZ".contains(c));
    let long_enough = match text.len() {
        0..SHORT => false,
        SHORT..8 => mixed,
        8..LONG => mixed || has(char::is_uppercase),
        _ => true,
    };
    long_enough
        && !is_host
        && !is_number
        && !text.contains("::")
        && !text.contains("://")
        && !text.contains("${")
        && !text.starts_with("ENC[")
}

/// Whether a short value is a word of its own.
fn stands_alone(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let before = start.checked_sub(1).and_then(|before| bytes.get(before));
    end - start >= LONG || !(is_part(before) || is_part(bytes.get(end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;
    use std::sync::Arc;

    #[test]
    fn values_are_masked_wherever_they_are() {
        let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: database}\ndata: {k: aHVudGVyMi1tYXJrZXI=}\nstringData: {a: production, b: s3cr3t, c: database}\n";
        let generator = "secretGenerator:\n- name: g\n  literals: [a=literal-marker-1, bare-marker-22]\n  envs: [x.env]\npatches:\n- target: {kind: Secret}\n  patch: |\n    - {op: add, path: /stringData/x, value: patched-marker}\n";
        let snapshot = Snapshot::memory(
            [
                ("a.yaml", secret.as_bytes().to_vec()),
                ("kustomization.yaml", generator.as_bytes().to_vec()),
                ("x.env", b"TOKEN=env-marker-1\n".to_vec()),
            ],
            Arc::new(Store::default()),
        );
        let values = SecretValues::of([&snapshot]);
        for (text, expected) in [
            ("x hunter2-marker y", "x *** y"),
            ("aHVudGVyMi1tYXJrZXI=", "***"),
            ("s3cr3t as3cr3tb", "*** as3cr3tb"),
            ("literal-marker-1, bare-marker-22, env-marker-1, patched-marker", "***, ***, ***, ***"),
            // Words that name other things stay.
            ("production database", "production database"),
        ] {
            assert_eq!(values.mask(text), expected);
        }
    }

    #[test]
    fn credentials_in_urls_are_masked() {
        for (text, expected) in [
            ("https://u:pw@example.com/a", "https://u:***@example.com/a"),
            ("http://ghp_0123456789@github.com", "http://***@github.com"),
            ("ssh://git@github.com/a", "ssh://git@github.com/a"),
            (
                "address: https://hooks.slack.com/services/T0/B0/x",
                "address: https://hooks.slack.com/services/***",
            ),
            ("https://Hooks.SLACK.com/Workflows/T0/B0/x", "https://Hooks.SLACK.com/Workflows/***"),
            ("https://discordapp.com/API/Webhooks/1/x", "https://discordapp.com/API/Webhooks/***"),
            ("https://a.webhook.Office.com/webhookb2/x", "https://a.webhook.Office.com/***"),
            ("https://example.com/?a=b&token=abc&c=d", "https://example.com/?a=b&token=***&c=d"),
            (
                "https://u:${PASSWORD}@example.com/?token=${TOKEN}",
                "https://u:${PASSWORD}@example.com/?token=${TOKEN}",
            ),
        ] {
            assert_eq!(SecretValues::default().mask(text), expected);
        }
    }
}
