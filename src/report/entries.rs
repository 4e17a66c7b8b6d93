//! Findings as people read them: what is said once is not said again. JSON and the
//! formats of services keep every finding for itself.

use super::{Lint, place};
use crate::config::Level;
use crate::lang::text::counted;
use crate::lang::yaml::FilePath;
use crate::lint::Finding;
use std::collections::HashMap;

/// From so many places on, the same sentence is one entry with a list of places.
/// Fewer are shown one by one, each with its bytes.
const MANY: usize = 3;

/// Names that are listed before the rest is counted.
const NAMES: usize = 10;

/// Findings that are shown as one.
pub(crate) struct FindingGroup<'a> {
    /// The one that is shown in full.
    pub(crate) first: &'a Finding,
    /// Further sentences of its rule about the same bytes.
    pub(crate) here: Vec<&'a Finding>,
    /// The same sentence at other places.
    pub(crate) elsewhere: Vec<&'a Finding>,
}

impl FindingGroup<'_> {
    /// How many findings it stands for.
    pub(crate) fn count(&self) -> usize {
        1 + self.here.len() + self.elsewhere.len()
    }
}

/// An entry for each place: the findings of one rule about the same bytes.
pub(crate) fn by_place<'a>(lint: &Lint<'a>) -> Vec<FindingGroup<'a>> {
    let mut entries: Vec<FindingGroup<'a>> = Vec::new();
    let mut at: HashMap<(&str, Level, &FilePath, u32, u32), usize> = HashMap::new();
    for finding in lint.shown() {
        let location = &finding.location;
        let key = (finding.rule.id, finding.level, &location.file, location.start, location.end);
        match at.get(&key) {
            Some(index) => entries[*index].here.push(finding),
            None => {
                at.insert(key, entries.len());
                entries.push(FindingGroup { first: finding, here: Vec::new(), elsewhere: Vec::new() });
            }
        }
    }
    entries
}

/// An entry for each sentence: the same one of a rule about several objects in
/// several files is one, at the first of its places.
pub(crate) fn by_text<'a>(lint: &Lint<'a>) -> Vec<FindingGroup<'a>> {
    let places = by_place(lint);
    let alone = |entry: &FindingGroup<'a>| entry.here.is_empty();
    let mut counts: HashMap<Sentence<'a>, usize> = HashMap::new();
    for entry in places.iter().filter(|entry| alone(entry)) {
        *counts.entry(sentence(entry.first)).or_default() += 1;
    }
    let mut entries: Vec<FindingGroup<'a>> = Vec::new();
    let mut first: HashMap<Sentence<'a>, usize> = HashMap::new();
    for entry in places {
        let key = sentence(entry.first);
        if alone(&entry) && counts[&key] >= MANY {
            if let Some(index) = first.get(&key) {
                entries[*index].elsewhere.push(entry.first);
                continue;
            }
            first.insert(key, entries.len());
        }
        entries.push(entry);
    }
    entries
}

/// What a finding says, but for the object and the place.
type Sentence<'a> = (&'static str, Level, &'a str, &'a str, &'a str);

fn sentence(finding: &Finding) -> Sentence<'_> {
    let what = finding.title.split_once(": ").map_or(finding.title.as_str(), |(_, what)| what);
    (finding.rule.id, finding.level, what, &finding.why, &finding.help)
}

/// The object that a title begins with.
pub(crate) fn subject(finding: &Finding) -> &str {
    finding.title.split_once(": ").map_or(finding.title.as_str(), |(subject, _)| subject)
}

/// `path:line`, or the path of what is no text.
pub(crate) fn at(lint: &Lint<'_>, finding: &Finding) -> String {
    let path = &finding.location.file;
    match place(lint.snapshot(), &finding.location) {
        Some(place) => format!("{path}:{}", place.from.0),
        None => path.to_string(),
    }
}

/// The clusters that have a finding, where that tells something: nothing in a
/// repository of one cluster.
pub(crate) fn clusters(lint: &Lint<'_>, finding: &Finding) -> Option<String> {
    let (all, has) = (lint.outcome.clusters.len(), finding.clusters.len());
    match has {
        0 => None,
        _ if all < 2 => None,
        _ if has == all && all == 2 => Some("both clusters".to_owned()),
        _ if has == all => Some(format!("all {all} clusters")),
        1 => Some(format!("cluster {}", finding.clusters[0])),
        _ => {
            let names = names(finding.clusters.iter().map(|name| name.to_string()), has);
            Some(format!("{}: {names}", counted(has, "cluster")))
        }
    }
}

/// Further sentences of an entry that are shown before the rest is counted.
const ALSO: usize = 3;

/// Places of the same sentence that are listed before the rest is counted.
pub(crate) const PLACES: usize = 10;

/// The further sentences of an entry, each once, and how many more there are.
pub(crate) fn also<'e, 'a>(entry: &'e FindingGroup<'a>) -> (Vec<&'e &'a Finding>, usize) {
    let mut distinct: Vec<&&Finding> = Vec::new();
    for other in &entry.here {
        if other.title != entry.first.title && !distinct.iter().any(|known| known.title == other.title) {
            distinct.push(other);
        }
    }
    // A single one is as short as its count.
    let shown = if distinct.len() <= ALSO + 1 { distinct.len() } else { ALSO };
    let more = distinct.len() - shown;
    distinct.truncate(shown);
    (distinct, more)
}

/// The objects that a finding is about besides the one in its title.
pub(crate) fn more_objects(finding: &Finding) -> Option<String> {
    let more = finding.objects.len().saturating_sub(1);
    let others = finding.objects.iter().skip(1).map(ToString::to_string);
    (more > 0).then(|| format!("{}: {}", counted(more, "more object"), names(others, more)))
}

/// The first names, and how many more there are.
fn names(names: impl Iterator<Item = String>, count: usize) -> String {
    // A single one is as short as its count.
    let shown = if count <= NAMES + 1 { count } else { NAMES };
    let mut text = names.take(shown).collect::<Vec<_>>().join(", ");
    if count > shown {
        text.push_str(&format!(" and {} more", count - shown));
    }
    text
}
