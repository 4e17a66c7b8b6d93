//! Equal effects over clusters and objects are one entry; what happens to the objects of a
//! release stands below it, and what one line of a file causes stands together.

use super::values::Phrase;
use super::{Plan, consequences, phrases, verb};
use crate::lang::text::{counted, plural};
use crate::model::{Category, EffectKind, Severity};
use crate::plan::{Cause, Effect, is_by_label_only, is_version_label};
use rustc_hash::FxHashSet;
use serde_json::Value;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// Entries of one cause from which on they stand together.
const BUNDLE: usize = 4;

/// Lines that are told of what happens inside of a release, but for what is disruptive.
const INSIDE: usize = 12;

/// Fields that are told of an object inside of a release.
const FIELDS_INSIDE: usize = 3;

/// Effects that say the same.
pub(super) struct EffectGroup<'p> {
    /// One of each object, in order.
    pub effects: Vec<&'p Effect>,
    /// The same on these objects in other clusters, where other lines may cause it.
    pub elsewhere: Vec<&'p Effect>,
    /// What happens to the objects of a release.
    pub inside: Vec<ReleaseLine>,
}

/// What happens to some objects of a release, as it is printed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReleaseLine {
    pub verb: String,
    pub severity: std::cmp::Reverse<Severity>,
    pub subject: String,
    pub told: Vec<Phrase>,
    pub notes: Vec<String>,
}

/// An entry, or several that one line of a file causes.
pub(super) enum GroupItem<'s, 'p> {
    One(&'s EffectGroup<'p>),
    Bundle(Bundle<'s, 'p>),
}

impl GroupItem<'_, '_> {
    /// Whether something stops, or is lost, by this change.
    pub(super) fn is_bad(&self) -> bool {
        matches!(self, GroupItem::One(entry) if matches!(rank(entry), (false, std::cmp::Reverse(Severity::Disruptive), _)))
    }

    /// Whether claims go, or may go.
    pub(super) fn loses_data(&self) -> bool {
        match self {
            GroupItem::One(entry) => entry.effects.iter().any(|effect| loses_data(effect)),
            GroupItem::Bundle(_) => false,
        }
    }
}

/// Entries that one line of a file causes.
pub(super) struct Bundle<'s, 'p> {
    pub cause: &'p Cause,
    pub entries: Vec<&'s EffectGroup<'p>>,
}

/// Entries of the same clusters.
pub(super) struct Section<'p> {
    /// Names of the clusters; none without entry points.
    pub clusters: Vec<&'p str>,
    /// The worst first.
    pub entries: Vec<EffectGroup<'p>>,
}

/// Everything but the object, the cluster and the place.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct EffectShape {
    later: bool,
    severity: std::cmp::Reverse<Severity>,
    effect: &'static str,
    phrases: Vec<Phrase>,
    consequences: Vec<String>,
    inside: Vec<ReleaseLine>,
}

/// The release, with its cluster, that an object belongs to.
type HostRelease<'p> = (Option<&'p str>, String);

fn host_of(effect: &Effect) -> Option<HostRelease<'_>> {
    let release = effect.details.get("release")?.as_str()?;
    Some((effect.cluster.as_deref(), release.to_owned()))
}

/// Effects on objects of releases by the release.
fn inside_of<'p>(plan: &'p Plan<'_>) -> BTreeMap<HostRelease<'p>, Vec<&'p Effect>> {
    let mut inside: BTreeMap<HostRelease<'p>, Vec<&'p Effect>> = BTreeMap::new();
    for effect in plan.effects {
        if let Some(host) = host_of(effect) {
            inside.entry(host).or_default().push(effect);
        }
    }
    inside
}

/// What tells of a release that its chart makes something of.
fn as_host(effect: &Effect) -> Option<HostRelease<'_>> {
    effect.details.get("summary")?;
    let namespace = effect.object.namespace.as_deref().unwrap_or_default();
    Some((effect.cluster.as_deref(), format!("{namespace}/{}", effect.object.name)))
}

/// Whether claims, and with them volumes, go or may go.
fn loses_data(effect: &Effect) -> bool {
    const CLAIM: &str = "PersistentVolumeClaim";
    let in_details = |key: &str| {
        effect
            .details
            .get(key)
            .and_then(|kinds| kinds.get(CLAIM))
            .and_then(Value::as_u64)
            .is_some_and(|n| n > 0)
    };
    (effect.effect == EffectKind::Deleted && effect.object.is("", CLAIM))
        || in_details("deleted")
        || in_details("mayBeDeleted")
}

/// The plan as sections, those with the worst effects first.
pub(super) fn sections<'p>(plan: &'p Plan<'_>) -> Vec<Section<'p>> {
    let inside = inside_of(plan);
    let hosts: BTreeSet<HostRelease<'_>> = plan.effects.iter().filter_map(as_host).collect();
    // The same effect on the same object, over clusters.
    let mut alike: BTreeMap<(EffectShape, String), Vec<&Effect>> = BTreeMap::new();
    for effect in plan.effects {
        if host_of(effect).is_some_and(|host| hosts.contains(&host)) {
            continue;
        }
        let own_inside = as_host(effect).and_then(|host| inside.get(&host));
        let shape = EffectShape {
            later: effect.when.is_some(),
            severity: std::cmp::Reverse(effect.severity),
            effect: effect.effect.name(),
            phrases: phrases(effect),
            consequences: consequences(effect),
            inside: own_inside.map(|effects| lines(effects)).unwrap_or_default(),
        };
        let object = format!("{:?} {} {}", effect.target, effect.object.api_version, effect.object);
        let own = own_entry(effect) || !shape.inside.is_empty();
        let by_field = own || effect.category() == Category::Machines;
        alike
            .entry((shape, if by_field { format!("{object} {}", effect.field) } else { object }))
            .or_default()
            .push(effect);
    }
    // Equal effects of the same clusters, over objects.
    let mut sections: BTreeMap<Vec<&str>, BTreeMap<(EffectShape, String), EffectGroup<'p>>> = BTreeMap::new();
    for ((shape, object), effects) in alike {
        let clusters: BTreeSet<&str> =
            effects.iter().filter_map(|effect| effect.cluster.as_deref()).collect();
        let Some(first) = effects.first().copied() else { continue };
        let own = own_entry(first) || !shape.inside.is_empty();
        // Machines of several Clusters share an entry, those of one field each.
        let kind = match (own, first.category()) {
            (true, _) => object,
            (false, Category::Machines) => first.field.clone(),
            (false, _) => String::new(),
        };
        let entries = sections.entry(clusters.into_iter().collect()).or_default();
        let inside = shape.inside.clone();
        let entry = entries.entry((shape, kind)).or_insert_with(|| EffectGroup {
            effects: Vec::new(),
            elsewhere: Vec::new(),
            inside,
        });
        entry.effects.push(first);
        entry.elsewhere.extend(effects.iter().skip(1));
    }
    let mut sections: Vec<Section<'p>> = sections
        .into_iter()
        .map(|(clusters, entries)| Section { clusters, entries: merged_by_name(entries) })
        .collect();
    let worst = |section: &Section<'_>| section.entries.iter().map(|entry| rank(entry)).min();
    sections.sort_by_key(&worst);
    for section in &mut sections {
        section.entries.sort_by(|a, b| {
            rank(a).cmp(&rank(b)).then_with(|| a.effects[0].object.cmp(&b.effects[0].object))
        });
    }
    sections
}

/// Entries of one object each, which say the same but for its name, as one.
fn merged_by_name<'p>(entries: BTreeMap<(EffectShape, String), EffectGroup<'p>>) -> Vec<EffectGroup<'p>> {
    let (mut merged, mut single) = (Vec::new(), BTreeMap::<_, EffectGroup<'p>>::new());
    for ((mut shape, kind), entry) in entries {
        let [only] = *entry.effects else {
            merged.push(entry);
            continue;
        };
        shape.phrases = without_own_name(only);
        match single.entry((shape, kind)) {
            Entry::Vacant(place) => drop(place.insert(entry)),
            Entry::Occupied(mut known) => {
                known.get_mut().effects.extend(entry.effects);
                known.get_mut().elsewhere.extend(entry.elsewhere);
            }
        }
    }
    merged.extend(single.into_values());
    merged
}

/// What happens to an object, with words in the place of its name where a value is that.
fn without_own_name(effect: &Effect) -> Vec<Phrase> {
    const OWN: &str = "its own name";
    let name = &*effect.object.name;
    let mut told = phrases(effect);
    for phrase in &mut told {
        let is_named = |line: &&str| line.ends_with(" -> ") || line.ends_with(": ");
        if let Some(before) = phrase.line.strip_suffix(name).filter(is_named) {
            phrase.line = format!("{before}{OWN}");
        }
        phrase.line = phrase.line.replacen(&format!(" {name} -> "), &format!(" {OWN} -> "), 1);
    }
    told
}

/// What loses data stands before what else is as grave.
fn rank(entry: &EffectGroup<'_>) -> (bool, std::cmp::Reverse<Severity>, bool) {
    let first = entry.effects[0];
    let severity = first.severity.max(entry.inside.first().map_or(Severity::Routine, |line| line.severity.0));
    let keeps_data = !entry.effects.iter().any(|effect| loses_data(effect));
    (first.when.is_some(), std::cmp::Reverse(severity), keeps_data)
}

/// Whether an effect says so much of its object that it stands for itself.
fn own_entry(effect: &Effect) -> bool {
    let names_itself = || effect.consequences.iter().any(|text| text.contains(&*effect.object.name));
    effect.category() != Category::Machines && names_itself()
}

/// Entries, those that one line of a file causes together where they are many; what is
/// disruptive stands for itself.
pub(super) fn items<'s, 'p>(plan: &Plan<'_>, section: &'s Section<'p>) -> Vec<GroupItem<'s, 'p>> {
    let place = |cause: &Cause| (cause.side, cause.location.file.shown().to_string(), plan.line(cause));
    let cause = |entry: &EffectGroup<'p>| -> Option<&'p Cause> {
        let first = entry.effects[0];
        let plain = first.severity < Severity::Disruptive && entry.inside.is_empty() && first.when.is_none();
        let [cause] = &first.causes[..] else { return None };
        let same = |effect: &&Effect| matches!(&effect.causes[..], [own] if place(own) == place(cause));
        (plain && entry.effects.iter().chain(&entry.elsewhere).all(same)).then_some(cause)
    };
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for cause in section.entries.iter().filter_map(cause) {
        *counts.entry(place(cause)).or_default() += 1;
    }
    let mut items: Vec<GroupItem<'s, 'p>> = Vec::new();
    let mut known: BTreeMap<_, usize> = BTreeMap::new();
    for entry in &section.entries {
        match cause(entry).filter(|cause| counts[&place(cause)] >= BUNDLE) {
            None => items.push(GroupItem::One(entry)),
            Some(cause) => match known.get(&place(cause)) {
                Some(at) => {
                    if let Some(GroupItem::Bundle(bundle)) = items.get_mut(*at) {
                        bundle.entries.push(entry);
                    }
                }
                None => {
                    known.insert(place(cause), items.len());
                    items.push(GroupItem::Bundle(Bundle { cause, entries: vec![entry] }));
                }
            },
        }
    }
    items
}

impl Bundle<'_, '_> {
    /// A line for each verb and object; where they are many, for each verb and kind.
    pub(super) fn lines(&self) -> Vec<ReleaseLine> {
        let is_short = self.entries.len() <= INSIDE;
        let mut alike: BTreeMap<_, Vec<&EffectGroup<'_>>> = BTreeMap::new();
        for entry in &self.entries {
            let first = entry.effects[0];
            let own = is_short.then_some(&first.object);
            let key = (std::cmp::Reverse(first.severity), verb(first), &*first.object.kind, own);
            alike.entry(key).or_default().push(entry);
        }
        let told = alike.into_iter().map(|((severity, verb, ..), entries)| {
            let effects: Vec<&Effect> =
                entries.iter().flat_map(|entry| entry.effects.iter().copied()).collect();
            let mut told: Vec<Phrase> = match is_short {
                true => some_phrases(&entries),
                false => common_phrases(&entries),
            };
            let fields: usize = effects.iter().map(|effect| fields_of(effect)).sum();
            let objects: BTreeSet<_> = effects.iter().map(|effect| &effect.object).collect();
            let is_more = fields > objects.len().max(told.len());
            if let Some(last) = told.last_mut().filter(|_| is_more) {
                last.line.push_str(&format!(" ({} in all)", counted(fields, "field")));
            }
            let held = effects.iter().filter(|effect| effect.details.contains_key("heldBack")).count();
            let who = if held == effects.len() { "not applied yet" } else { "some are not applied yet" };
            let note = || format!("{who}: suspended, or below what is or does not build");
            ReleaseLine {
                verb: verb.to_owned(),
                severity,
                subject: subject(&effects, 6),
                told,
                notes: (held > 0).then(note).into_iter().collect(),
            }
        });
        told.collect()
    }

    /// How many effects these are.
    pub(super) fn count(&self) -> usize {
        self.entries.iter().map(|entry| entry.effects.len()).sum()
    }
}

/// The first three phrases of entries that are told together.
fn some_phrases(entries: &[&EffectGroup<'_>]) -> Vec<Phrase> {
    let mut told: Vec<Phrase> = Vec::new();
    for phrase in entries.iter().flat_map(|entry| entry.phrases()) {
        if told.len() < 3 && !told.contains(&phrase) {
            told.push(phrase);
        }
    }
    told
}

/// What all of many entries say; where they say different things, one of them as an example.
fn common_phrases(entries: &[&EffectGroup<'_>]) -> Vec<Phrase> {
    let mut all = entries.iter().map(|entry| entry.phrases());
    let first = all.next().unwrap_or_default();
    let mut common = first.clone();
    for other in all {
        common.retain(|phrase| other.contains(phrase));
    }
    common.truncate(3);
    if common.is_empty()
        && let Some(mut example) = first.into_iter().next()
    {
        let name = &entries[0].effects[0].object.name;
        example.line = format!("different for each, such as {name}: {}", example.line);
        common.push(example);
    }
    common
}

fn fields_of(effect: &Effect) -> usize {
    effect.details.get("fields").and_then(|fields| fields.as_array()).map_or(1, Vec::len)
}

/// What happens to the objects of a release, equal ones in one line, the worst first.
fn lines(effects: &[&Effect]) -> Vec<ReleaseLine> {
    let (labels, others): (Vec<&Effect>, Vec<&Effect>) =
        effects.iter().copied().partition(|effect| is_by_label_only(effect));
    type GroupKey = (std::cmp::Reverse<Severity>, &'static str, bool, Vec<Phrase>, Vec<String>);
    let mut alike: BTreeMap<GroupKey, Vec<&Effect>> = BTreeMap::new();
    for effect in others {
        let told = inner_phrases(effect);
        let known = |text: &String| {
            !text.starts_with("the upgrade of ") && told.iter().all(|told| told.line != *text)
        };
        let notes: Vec<String> = consequences(effect).into_iter().filter(known).collect();
        // New and deleted objects stand together by kind where nothing more is said of them.
        let key = (
            std::cmp::Reverse(effect.severity),
            verb(effect),
            effect.effect == EffectKind::Added,
            told,
            notes,
        );
        alike.entry(key).or_default().push(effect);
    }
    let mut lines: Vec<ReleaseLine> = alike
        .into_iter()
        .map(|((severity, verb, _, told, notes), effects)| ReleaseLine {
            verb: verb.to_owned(),
            severity,
            subject: subject(&effects, 8),
            told,
            notes,
        })
        .collect();
    let grave = lines.iter().filter(|line| line.severity.0 == Severity::Disruptive).count();
    let most = grave + INSIDE;
    let more = lines.len().saturating_sub(most);
    lines.truncate(most);
    let plain = |verb: &str, subject: String, line: String| ReleaseLine {
        verb: verb.to_owned(),
        severity: std::cmp::Reverse(Severity::Routine),
        subject,
        told: vec![Phrase { line, sides: Vec::new() }],
        notes: Vec::new(),
    };
    if more > 0 {
        lines.push(plain("changes", format!("and {more} more"), "`--format json` has each".to_owned()));
    }
    if !labels.is_empty() {
        lines.push(plain(
            "labels",
            subject(&labels, 3),
            "only the version in helm.sh/chart or app.kubernetes.io/version".to_owned(),
        ));
    }
    lines
}

/// The fields of an object of a release: those that name versions only where there are no
/// others.
fn inner_phrases(effect: &Effect) -> Vec<Phrase> {
    let listed = effect.details.get("fields").and_then(|fields| fields.as_array());
    let Some(fields) = listed.filter(|_| effect.effect != EffectKind::Refused) else {
        return match effect.effect {
            EffectKind::Added | EffectKind::Deleted => Vec::new(),
            _ => phrases(effect),
        };
    };
    if &*effect.object.kind == "CustomResourceDefinition" {
        return vec![Phrase {
            line: format!("{} of its definition", counted(fields.len(), "field")),
            sides: Vec::new(),
        }];
    }
    let path = |field: &serde_json::Value| field["path"].as_str().unwrap_or_default().to_owned();
    let content: Vec<_> = fields.iter().filter(|field| !is_version_label(&path(field))).collect();
    if content.is_empty() {
        return vec![Phrase { line: "labels of versions in its pod template".to_owned(), sides: Vec::new() }];
    }
    let mut told: Vec<Phrase> = super::paired(&content)
        .into_iter()
        .take(FIELDS_INSIDE)
        .map(|(path, before, after)| super::values::told(&path, &before, &after))
        .collect();
    let more = content.len().saturating_sub(FIELDS_INSIDE);
    if more > 0 {
        told.push(Phrase { line: format!("and {}", counted(more, "more field")), sides: Vec::new() });
    }
    told
}

impl EffectGroup<'_> {
    /// What happens to each of its objects.
    pub(super) fn phrases(&self) -> Vec<Phrase> {
        match self.effects[..] {
            [first, second, ..] if phrases(first) != phrases(second) => without_own_name(first),
            [first, ..] => phrases(first),
            [] => Vec::new(),
        }
    }

    /// The Machines of several objects together.
    pub(super) fn machines(&self) -> Option<String> {
        let count = |effect: &&Effect| effect.details.get("machines").and_then(serde_json::Value::as_u64);
        let counts: Option<Vec<u64>> = self.effects.iter().map(count).collect();
        let all: u64 = counts.filter(|counts| counts.len() > 1)?.iter().sum();
        Some(format!("{} in all", counted(usize::try_from(all).unwrap_or(usize::MAX), "Machine")))
    }

    /// `Deployment shop/web`; `3 ConfigMaps: a/x, a/y, a/z`.
    pub(super) fn subject(&self, at_most: usize) -> String {
        subject(&self.effects, at_most)
    }
}

fn subject(effects: &[&Effect], at_most: usize) -> String {
    let mut seen = FxHashSet::default();
    let mut objects = effects.to_vec();
    objects.retain(|effect| seen.insert((&effect.object, &effect.target)));
    let effects = &objects[..];
    if let [first] = effects {
        return first.object.to_string();
    }
    let kinds: BTreeSet<&str> = effects.iter().map(|effect| &*effect.object.kind).collect();
    let several = kinds.len() > 1;
    let names: Vec<String> = effects
        .iter()
        .take(at_most)
        .map(|effect| {
            let name = match &effect.object.namespace {
                Some(namespace) => format!("{namespace}/{}", effect.object.name),
                None => effect.object.name.to_string(),
            };
            if several { format!("{} {name}", effect.object.kind) } else { name }
        })
        .collect();
    let more = match effects.len().saturating_sub(at_most) {
        0 => String::new(),
        count => format!(", and {count} more"),
    };
    let what = match kinds.first() {
        Some(kind) if !several => format!("{} {}", effects.len(), plural(kind)),
        _ => format!("{} objects", effects.len()),
    };
    format!("{what} ({}{more})", names.join(", "))
}
