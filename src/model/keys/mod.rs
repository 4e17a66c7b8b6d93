//! Annotation and label keys that controllers read or write, as data, and how
//! an unknown key relates to them.
//!
//! The shapes here serve Cluster API's table in [`crate::model::cluster_api_keys`] too. Sources
//! are named at the rows of the tables.

mod table;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::lang::go::duration::GoDuration;
use crate::lang::text::edit_distance;
use crate::lang::text::suggest;

pub(crate) use table::{DOMAINS, KEYS};

/// A minor version of the family's product: Flux 2.5 is `(2, 5)`.
pub(crate) type Minor = (u16, u16);

/// One key, or all keys with one beginning.
#[derive(Clone, Copy, Debug)]
pub struct MetadataKey {
    /// The whole key, or what every such key begins with.
    pub name: &'static str,
    /// Whether `name` is the whole key.
    pub shape: KeyShape,
    /// Where the reader looks for it.
    pub field: KeyField,
    /// On which kinds it takes effect (their own metadata, not a pod template's).
    pub on: On,
    /// Which values mean something.
    pub value: Grammar,
    /// What happens with any other value.
    pub unread: Unread,
    /// Who puts it there, and for how long.
    pub class: KeyOwner,
    /// Who reads it.
    pub reader: &'static str,
    /// What it does, as the predicate of a sentence: "keeps the object …".
    pub effect: &'static str,
    /// First version that reads it; `None`: every supported one, or unknown.
    pub since: Option<Minor>,
    /// Last version that reads it.
    pub until: Option<Minor>,
    /// False for keys that exist only in a proposal.
    pub released: bool,
}

/// How a [`MetadataKey`]'s name is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyShape {
    /// The name is the whole key.
    Exact,
    /// Every key that begins with the name.
    Prefix,
}

/// Where a key is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyField {
    /// In `metadata.labels` only.
    Label,
    /// In `metadata.annotations` only.
    Annotation,
    /// In both.
    Either,
}

/// A set of kinds: a group (`*.x` stands for `x` and every group below it) and a
/// kind (`*` stands for all of them, `*Template` for all that end so).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(pub &'static str, pub &'static str);

impl Kinds {
    /// Whether the kind of that API group is in the set.
    pub fn has(self, group: &str, kind: &str) -> bool {
        let group_fits = match self.0.strip_prefix("*.") {
            Some(root) => group.strip_suffix(root).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
            None => self.0 == group,
        };
        let kind_fits = match self.1.strip_prefix('*') {
            Some(end) => kind.ends_with(end),
            None => self.1 == kind,
        };
        group_fits && kind_fits
    }
}

/// The kinds on which a key takes effect.
#[derive(Clone, Copy, Debug)]
pub enum On {
    /// On every kind, or on kinds that can't be told offline.
    Any,
    /// On these.
    Only(&'static [Kinds]),
    /// Everywhere but on these.
    AnyBut(&'static [Kinds]),
    /// On no object of its own: in the metadata of an entry of
    /// `Cluster.spec.topology.workers`.
    TopologyEntry,
}

impl On {
    /// Whether the key takes effect in the metadata of such an object.
    pub fn has(self, group: &str, kind: &str) -> bool {
        match self {
            On::Any => true,
            On::Only(kinds) => kinds.iter().any(|k| k.has(group, kind)),
            On::AnyBut(kinds) => !kinds.iter().any(|k| k.has(group, kind)),
            On::TopologyEntry => false,
        }
    }
}

/// Which values of a key its reader understands.
#[derive(Clone, Copy, Debug)]
pub enum Grammar {
    /// Any string.
    Free,
    /// The key alone counts, whatever its value.
    Presence,
    /// The key alone counts, except with exactly this value.
    PresenceBut(&'static str),
    /// One of some words.
    Word {
        /// The words that do something, first the usual one.
        does: &'static [&'static str],
        /// Words that say what holds anyway, in lower case.
        idle: &'static [&'static str],
        /// Whether the reader compares the case of letters too.
        exact: bool,
    },
    /// A comma-separated list of these words, compared exactly; blanks around
    /// one are cut, an empty one counts.
    Words(&'static [&'static str]),
    /// A Go duration, such as `10m`.
    Duration,
    /// An RFC 3339 time.
    Timestamp,
    /// A decimal integer between these.
    Int(i64, i64),
    /// `projects/<n>/locations/global/workloadIdentityPools/<p>/providers/<q>`
    GoogleAudience,
}

/// What a controller makes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueReading {
    /// The key does what it is for.
    Effective,
    /// The value says what holds without the key: `enabled`, or nothing at all.
    Idle,
    /// The reader doesn't understand it.
    Unread,
}

impl Grammar {
    /// What the reader makes of `value`.
    pub fn read(self, value: &str) -> ValueReading {
        let effective = match self {
            Grammar::Free | Grammar::Presence => true,
            Grammar::PresenceBut(off) => {
                return if value == off { ValueReading::Idle } else { ValueReading::Effective };
            }
            Grammar::Word { does, idle, exact } => {
                let same = |word: &&str| {
                    if exact { *word == value } else { word.eq_ignore_ascii_case(value) }
                };
                if !does.iter().any(same)
                    && (value.is_empty() || idle.iter().any(|w| w.eq_ignore_ascii_case(value)))
                {
                    return ValueReading::Idle;
                }
                does.iter().any(same)
            }
            Grammar::Words(words) => value.split(',').all(|word| words.contains(&word.trim())),
            Grammar::Duration => GoDuration::parse(value).is_ok(),
            Grammar::Timestamp => is_rfc3339(value),
            Grammar::Int(least, most) => value.parse::<i64>().is_ok_and(|n| (least..=most).contains(&n)),
            Grammar::GoogleAudience => is_google_audience(value),
        };
        if effective { ValueReading::Effective } else { ValueReading::Unread }
    }

    /// The value that was probably meant by one that isn't understood: the same
    /// word in another case, or its only near neighbour.
    pub fn meant(self, value: &str) -> Option<&'static str> {
        let Grammar::Word { does, .. } = self else {
            return None;
        };
        let value = value.trim();
        does.iter()
            .find(|word| word.eq_ignore_ascii_case(value))
            .copied()
            .or_else(|| suggest(value, does.iter().copied()))
    }

    /// The values that mean something, as a phrase for a message; `None` where
    /// every value does.
    pub fn wanted(self) -> Option<String> {
        let listed = |words: &[&str]| words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ");
        match self {
            Grammar::Free | Grammar::Presence | Grammar::PresenceBut(_) => None,
            Grammar::Word { does: [word], exact: true, .. } => Some(format!("exactly `{word}`")),
            Grammar::Word { does: [word], .. } => Some(format!("`{word}`")),
            Grammar::Word { does, .. } => Some(format!("one of {}", listed(does))),
            Grammar::Words(words) => Some(format!("a comma-separated list of {}", listed(words))),
            Grammar::Duration => Some("a duration such as `10m` or `1h30m`".into()),
            Grammar::Timestamp => Some("an RFC 3339 time such as `2026-03-26T10:00:00Z`".into()),
            Grammar::Int(least, i64::MAX) => Some(format!("an integer from {least} up")),
            Grammar::Int(least, most) => Some(format!("an integer between {least} and {most}")),
            Grammar::GoogleAudience => Some(
                "`projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>`"
                    .into(),
            ),
        }
    }
}

/// What becomes of a value that the reader doesn't understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// As if the key were not there.
    Ignored,
    /// A default takes its place; the text says which.
    Default(&'static str),
    /// A webhook refuses the object.
    Rejected,
    /// The reader's reconciliation fails.
    Fails,
}

/// Who puts a key on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOwner {
    /// A person, for as long as it should hold: Git is the place for it.
    Setting,
    /// A person or a command, once; it asks for one action.
    Request,
    /// A request to a gate: meant to be committed.
    Gate,
    /// A controller, as its own record; a person's value breaks it or is lost.
    Internal,
    /// A controller, to mark what it owns.
    Owner,
    /// Whoever; information only.
    Note,
}

/// A domain of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Domain {
    /// The part of a key before the slash.
    pub name: &'static str,
    /// Who may define keys in it.
    pub openness: Openness,
    /// Whether every domain below it is of the same kind.
    pub with_subdomains: bool,
}

/// Who may define keys in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Openness {
    /// Its controllers alone: an unknown key means nothing.
    Closed,
    /// Other projects or users as well: an unknown key is a mistake only when it
    /// resembles a known one.
    Shared,
    /// Users: every key means something.
    Open,
}

/// What a registry says about a key.
#[derive(Clone, Debug)]
pub enum KeyStanding {
    /// It is one of the registry's.
    Known(&'static MetadataKey),
    /// The part before the slash is wrong; the keys that may be meant, best first.
    WrongPrefix(Vec<String>),
    /// The part before the slash is right; the rest is nearly this key's.
    NearMiss(&'static MetadataKey),
    /// In a closed domain, and near nothing.
    Unknown,
    /// In a domain open to users.
    Open,
    /// Not of this family.
    Foreign,
}

/// The keys and domains of one family of controllers.
pub(crate) struct Registry {
    /// All keys.
    pub keys: &'static [MetadataKey],
    /// All domains that keys of the family can have.
    pub domains: &'static [Domain],
    /// Pieces of text of which every domain name of the family holds one: without
    /// them a name is foreign however near it may be.
    marks: &'static [&'static str],
    /// The label which no other family's domain names end in (before the last).
    root: Option<&'static str>,
    exact: FxHashMap<&'static str, &'static MetadataKey>,
    prefixes: Vec<&'static MetadataKey>,
}

/// A qualified name is no longer: a prefix of 253, a slash, a name of 63.
const LONGEST_KEY: usize = 317;

/// Flux's keys, the Flux Operator's included.
pub(crate) static FLUX: LazyLock<Registry> =
    LazyLock::new(|| Registry::new(KEYS, DOMAINS, &["flux", "toolkit."], Some("fluxcd")));

impl Registry {
    /// A registry of these tables. `marks`: pieces of text of which every domain
    /// name of the family holds one. `root`: the label of the domain names that
    /// the family alone has, if it has all of them.
    pub(crate) fn new(
        keys: &'static [MetadataKey],
        domains: &'static [Domain],
        marks: &'static [&'static str],
        root: Option<&'static str>,
    ) -> Registry {
        let exact = keys.iter().filter(|k| k.shape == KeyShape::Exact).map(|k| (k.name, k)).collect();
        let mut prefixes: Vec<_> = keys.iter().filter(|k| k.shape == KeyShape::Prefix).collect();
        prefixes.sort_by_key(|k| std::cmp::Reverse(k.name.len()));
        Registry { keys, domains, marks, root, exact, prefixes }
    }

    /// The row of a key: its own, else that of the longest beginning.
    pub(crate) fn lookup(&self, key: &str) -> Option<&'static MetadataKey> {
        self.exact
            .get(key)
            .copied()
            .or_else(|| self.prefixes.iter().find(|k| key.starts_with(k.name)).copied())
    }

    /// The domain of a key, if it is one of the family's.
    pub(crate) fn domain_of(&self, key: &str) -> Option<&'static Domain> {
        let name = key.split_once('/').map_or(key, |(domain, _)| domain);
        self.domains.iter().find(|d| d.name == name).or_else(|| {
            self.domains.iter().find(|d| {
                d.with_subdomains && name.strip_suffix(d.name).is_some_and(|rest| rest.ends_with('.'))
            })
        })
    }

    /// How a key relates to the known ones.
    pub(crate) fn standing(&self, key: &str) -> KeyStanding {
        if let Some(known) = self.lookup(key) {
            return KeyStanding::Known(known);
        }
        if key.len() > LONGEST_KEY || !self.marks.iter().any(|mark| key.contains(mark)) {
            return KeyStanding::Foreign;
        }
        let Some((prefix, name)) = key.split_once('/') else {
            return self
                .without_slash(key)
                .map_or(KeyStanding::Foreign, |meant| KeyStanding::WrongPrefix(vec![meant]));
        };
        if name.is_empty() || name.contains('/') {
            return KeyStanding::Foreign;
        }
        let Some(domain) = self.domain_of(key) else {
            let meant = self.near_domains(prefix, name);
            return if meant.is_empty() { KeyStanding::Foreign } else { KeyStanding::WrongPrefix(meant) };
        };
        if domain.openness == Openness::Open {
            return KeyStanding::Open;
        }
        let elsewhere = self.same_name_elsewhere(prefix, name);
        if !elsewhere.is_empty() {
            return KeyStanding::WrongPrefix(elsewhere);
        }
        match (self.near_name(domain.name, name), domain.openness) {
            (Some(near), _) => KeyStanding::NearMiss(near),
            (None, Openness::Closed) => KeyStanding::Unknown,
            (None, _) => KeyStanding::Foreign,
        }
    }

    /// `event.toolkit.fluxcd.io-image`: a domain of the family runs on into the
    /// name. Shared domains also have keys of their own without a slash.
    fn without_slash(&self, key: &str) -> Option<String> {
        self.domains.iter().filter(|d| d.openness != Openness::Shared).find_map(|d| {
            let rest = key.strip_prefix(d.name)?.trim_start_matches(['.', '-', '_', ':']);
            Some(format!("{}/{}", d.name, if rest.is_empty() { "<name>" } else { rest }))
        })
    }

    /// The keys of this name that people set, in other domains, nearest first.
    fn same_name_elsewhere(&self, prefix: &str, name: &str) -> Vec<String> {
        let mut found: Vec<_> = self
            .keys
            .iter()
            .filter(|k| {
                k.shape == KeyShape::Exact && matches!(k.class, KeyOwner::Setting | KeyOwner::Request)
            })
            .filter(|k| k.local_name() == name && k.domain() != prefix)
            .collect();
        found.sort_by_key(|k| edit_distance(prefix, k.domain(), usize::MAX));
        found.iter().map(|k| k.name.to_owned()).collect()
    }

    /// Keys of this name in known domains that the unknown `prefix` resembles.
    fn near_domains(&self, prefix: &str, name: &str) -> Vec<String> {
        let mut found: Vec<(usize, String)> = Vec::new();
        for domain in self.domains {
            let distance = edit_distance(prefix, domain.name, 2);
            if distance.is_none() && plain_labels(prefix) != plain_labels(domain.name) {
                continue;
            }
            let near = match domain.openness {
                Openness::Open => Some(name),
                _ => self
                    .keys
                    .iter()
                    .find(|k| {
                        k.shape == KeyShape::Exact && k.domain() == domain.name && k.local_name() == name
                    })
                    .or_else(|| self.near_name(domain.name, name))
                    .map(|k| k.local_name()),
            };
            if let Some(near) = near {
                found.push((distance.unwrap_or(3), format!("{}/{near}", domain.name)));
            }
        }
        if found.is_empty()
            && self.root.is_some_and(|root| matches!(plain_labels(prefix)[..], [_, last] if last == root))
        {
            return self.same_name_elsewhere(prefix, name);
        }
        found.sort();
        found.into_iter().map(|(_, key)| key).collect()
    }

    fn near_name(&self, domain: &str, name: &str) -> Option<&'static MetadataKey> {
        let candidates = self
            .keys
            .iter()
            .filter(|k| k.shape == KeyShape::Exact && k.domain() == domain && k.name.contains('/'));
        let near = suggest(name, candidates.clone().map(|k| k.local_name()))?;
        candidates.into_iter().find(|k| k.local_name() == near)
    }
}

impl MetadataKey {
    /// The part before the slash.
    pub fn domain(&self) -> &'static str {
        self.name.split_once('/').map_or(self.name, |(domain, _)| domain)
    }

    /// The part after the slash; of a key without one, all of it.
    pub fn local_name(&self) -> &'static str {
        self.name.split_once('/').map_or(self.name, |(_, name)| name)
    }
}

/// A domain's labels without what people mix up: the last one, `toolkit`, and
/// the plural's `s`.
fn plain_labels(domain: &str) -> Vec<&str> {
    let labels: Vec<&str> = domain.split('.').collect();
    labels[..labels.len() - 1]
        .iter()
        .filter(|label| **label != "toolkit")
        .map(|label| label.strip_suffix('s').unwrap_or(label))
        .collect()
}

/// Go's `time.Parse(time.RFC3339, …)`, the day of the month checked loosely.
fn is_rfc3339(value: &str) -> bool {
    let bytes = value.as_bytes();
    let number = |from: usize, to: usize| -> Option<u32> { value.get(from..to)?.parse().ok() };
    let mark = |at: usize, mark: u8| bytes.get(at) == Some(&mark);
    let date = mark(4, b'-') && mark(7, b'-') && mark(10, b'T') && mark(13, b':') && mark(16, b':');
    let in_range = number(0, 4).is_some()
        && matches!(number(5, 7), Some(1..=12))
        && matches!(number(8, 10), Some(1..=31))
        && matches!(number(11, 13), Some(0..=23))
        && matches!(number(14, 16), Some(0..=59))
        && matches!(number(17, 19), Some(0..=59));
    let Some(mut zone) = value.get(19..) else {
        return false;
    };
    if let Some(fraction) = zone.strip_prefix('.') {
        zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if zone.len() == fraction.len() {
            return false;
        }
    }
    let zone_fits = zone == "Z"
        || (zone.len() == 6
            && zone.starts_with(['+', '-'])
            && zone.as_bytes()[3] == b':'
            && matches!(zone.get(1..3).and_then(|h| h.parse::<u32>().ok()), Some(0..=24))
            && matches!(zone.get(4..6).and_then(|m| m.parse::<u32>().ok()), Some(0..=60)));
    date && in_range
        && zone_fits
        && bytes[..19].iter().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b':' | b'T'))
}

/// Source: fluxcd/pkg `auth/gcp`, the pattern of the workload identity provider.
fn is_google_audience(value: &str) -> bool {
    let parts: Vec<&str> = value.split('/').collect();
    matches!(
        parts[..],
        ["projects", number, "locations", "global", "workloadIdentityPools", pool, "providers", provider]
            if !number.is_empty()
                && number.bytes().all(|b| b.is_ascii_digit())
                && !pool.is_empty()
                && !provider.is_empty()
    )
}

/// What is missing or wrong in the rows of a registry, for the tests of each.
#[cfg(test)]
pub(crate) fn table_faults(registry: &Registry) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for key in registry.keys {
        let mut fault = |what: &str| faults.push(format!("{}: {what}", key.name));
        if !seen.insert(key.name) {
            fault("listed twice");
        }
        if key.effect.is_empty() || key.effect.ends_with('.') {
            fault("the effect is no predicate");
        }
        let example = match key.shape {
            KeyShape::Exact => key.name.to_owned(),
            KeyShape::Prefix if key.name.ends_with(['/', '-']) => format!("{}x", key.name),
            KeyShape::Prefix if key.name.contains('/') => key.name.to_owned(),
            KeyShape::Prefix => format!("{}/x", key.name),
        };
        if crate::model::metadata::label_key_fault(&example).is_some() {
            fault("no qualified name");
        }
        if example.contains('/') && registry.domain_of(&example).is_none() {
            fault("its domain is not listed");
        }
        if !matches!(registry.lookup(&example), Some(found) if found.name == key.name) {
            fault("not found by lookup");
        }
        if let Grammar::Word { does, .. } = key.value
            && does.iter().any(|word| key.value.read(word) != ValueReading::Effective)
        {
            fault("one of its own words does nothing");
        }
    }
    faults
}

#[cfg(test)]
mod tests;
