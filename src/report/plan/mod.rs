//! The answer of `plan`: text for a terminal, JSON, Markdown for a pull request,
//! annotations.

mod changes;
mod github;
mod groups;
mod html;
mod json;
mod markdown;
mod readable;
mod text;
mod totals;
mod values;

pub use github::render as github;
pub(crate) use html::render as html;
pub use json::render as json;
pub use markdown::render as markdown;
pub use text::render as text;

use values::Phrase;

use crate::config::{Assumed, Level};
use crate::lang::yaml::{Location, ViaKind, pointer_segments};
use crate::lint::Finding;
use crate::lint::engine::NotChecked;
use crate::model::{Category, EffectKind};
use crate::plan::{Cause, ClusterChange, Effect, Reach, Side};
use crate::report::parts::width;
use crate::world::{ApplyTarget, Cluster, Outcome, World};
use jiff::Timestamp;
use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// What to render.
#[derive(Clone)]
pub struct Plan<'a> {
    /// What the base is called.
    pub base: &'a str,
    /// What the head is called.
    pub head: &'a str,
    /// The repository before.
    pub base_world: &'a World,
    /// The repository after.
    pub head_world: &'a World,
    /// The effects, by cluster, the worst first.
    pub effects: &'a [Effect],
    /// What concerns whole clusters.
    pub changes: &'a [ClusterChange],
    /// What a rehearsal assumes; nothing in a plan of a change.
    pub assumed: Option<&'a Assumed>,
    /// Findings that are new.
    pub new_findings: Vec<&'a Finding>,
    /// Findings that are gone.
    pub fixed_findings: Vec<&'a Finding>,
    /// What could not be known.
    pub not_checked: &'a NotChecked,
    /// How much of the change was followed.
    pub reach: &'a Reach,
    /// Only these clusters; empty for all.
    pub clusters: &'a [String],
    /// Lowest level of findings that is printed.
    pub show: Level,
    /// `--at`.
    pub at: Option<Timestamp>,
}

impl Plan<'_> {
    /// Names of all clusters, those without effects included.
    fn cluster_names(&self) -> Vec<String> {
        let names = crate::plan::cluster_names(self.base_world, self.head_world);
        let is_chosen =
            |name: &Arc<str>| self.clusters.is_empty() || self.clusters.iter().any(|own| **own == **name);
        names.iter().filter(|name| is_chosen(name)).map(|name| name.to_string()).collect()
    }

    /// Effects by cluster name (empty for none), in order.
    fn by_cluster(&self) -> BTreeMap<&str, Vec<&Effect>> {
        let mut map: BTreeMap<&str, Vec<&Effect>> = BTreeMap::new();
        for effect in self.effects {
            map.entry(effect.cluster.as_deref().unwrap_or("")).or_default().push(effect);
        }
        map
    }

    /// Effects of this change itself.
    fn counted(&self) -> impl Iterator<Item = &Effect> {
        self.effects.iter().filter(|effect| effect.when.is_none())
    }

    /// New findings that are printed.
    fn shown<'p>(&'p self, findings: &'p [&'p Finding]) -> impl Iterator<Item = &'p Finding> {
        findings.iter().copied().filter(|finding| finding.level >= self.show)
    }

    /// The key of the line of a cause: what a reader knows it by.
    fn cause_key(&self, cause: &Cause) -> Option<String> {
        let world = if cause.side == Side::Base { self.base_world } else { self.head_world };
        let file = world.snapshot.find(&cause.location.file)?;
        let text = &world.snapshot.stream(file)?.text;
        let start = text[..cause.location.start as usize].rfind('\n').map_or(0, |at| at + 1);
        let line = text[start..].lines().next()?.trim_start_matches([' ', '-']);
        let (key, _) = line.split_once(':')?;
        let is_key = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-./".contains(c));
        is_key.then(|| key.to_owned())
    }

    /// `path:line` of a cause, without what it goes through.
    fn place_alone(&self, cause: &Cause) -> String {
        let location = Location { via: Vec::new(), ..cause.location.clone() };
        self.place(&Cause { location, side: cause.side })
    }

    /// The world that a cause stands in.
    fn world_of(&self, cause: &Cause) -> &World {
        if cause.side == Side::Base { self.base_world } else { self.head_world }
    }

    /// The line of a cause in its file, from 1.
    fn line(&self, cause: &Cause) -> u32 {
        self.world_of(cause).snapshot.positions(&cause.location).0.0
    }

    /// `path:line` of a cause, with its side where it is the base.
    fn place(&self, cause: &Cause) -> String {
        let world = self.world_of(cause);
        let line = self.line(cause);
        let side = if cause.side == Side::Base { " (base)" } else { "" };
        let through = cause.location.via.iter().find(|via| via.kind == ViaKind::Resource).map(|via| {
            let line = world.snapshot.positions(&via.location).0.0;
            format!(", through {}:{line}", via.location.file)
        });
        format!("{}:{line}{side}{}", cause.location.file, through.unwrap_or_default())
    }
}

/// What was not followed, in a phrase; nothing where everything was.
fn not_followed(plan: &Plan<'_>) -> Option<String> {
    let Reach { not_followed: (count, all), changed, unread, in_part } = plan.reach;
    let count = count.saturating_sub(broken(plan));
    if count == 0 && plan.reach.is_whole() {
        return None;
    }
    let mut parts = Vec::new();
    if count > 0 {
        let was = if count == 1 { "was" } else { "were" };
        parts.push(format!("{count} of {all} Kustomizations {was} not followed"));
    }
    let files = |list: &[String]| {
        let more = if list.len() > 1 { ", …" } else { "" };
        let first =
            list.first().map(|first| crate::lang::text::clean(first).into_owned()).unwrap_or_default();
        match list.len() {
            1 if *changed == 1 => format!("the changed file ({first})"),
            count => format!("{count} of {changed} changed files ({first}{more})"),
        }
    };
    if !unread.is_empty() {
        parts.push(format!("nothing that was followed reads {}", files(unread)));
    }
    if !in_part.is_empty() {
        parts.push(format!("only builds that are known in part read {}", files(in_part)));
    }
    let text = parts.join("; ");
    if plan.assumed.is_some() {
        return Some(format!("{text}: what they apply is not rehearsed"));
    }
    Some(if plan.reach.is_whole() { format!("{text}, and no changed file lies there") } else { text })
}

/// Kustomizations of the head that have no build at all because of this change: each is told
/// of by itself.
fn broken(plan: &Plan<'_>) -> usize {
    let clusters: BTreeMap<Option<&str>, &Cluster> =
        plan.head_world.clusters.iter().map(|cluster| (cluster.name.as_deref(), cluster)).collect();
    let has_no_build = |effect: &&Effect| {
        let id = &effect.object;
        let cluster = clusters.get(&effect.cluster.as_deref());
        let applied = cluster.and_then(|cluster| cluster.applied(id.namespace.as_deref(), &id.name));
        applied.is_some_and(|applied| !matches!(applied.outcome, Outcome::Built { .. }))
    };
    plan.counted().filter(|effect| effect.effect == EffectKind::BuildFails).filter(has_no_build).count()
}

/// How many effects there are where, in a phrase.
fn tally(plan: &Plan<'_>) -> String {
    let mut by_cluster: BTreeMap<&str, usize> = BTreeMap::new();
    for effect in plan.counted() {
        *by_cluster.entry(effect.cluster.as_deref().unwrap_or("")).or_default() += 1;
    }
    if by_cluster.is_empty() {
        if plan.assumed.is_some() {
            return "no effect on an object".to_owned();
        }
        return match plan.reach.is_whole() {
            true => "no effect".to_owned(),
            false => "no effect in what was followed".to_owned(),
        };
    }
    let count = |number: usize| if number == 1 { "1 effect".to_owned() } else { format!("{number} effects") };
    // Of many clusters, those with as many effects are counted together.
    const NAMED: usize = 3;
    let mut alike: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
    for (name, effects) in &by_cluster {
        alike.entry(*effects).or_default().push(name);
    }
    let together = |effects: usize| by_cluster.len() > NAMED && alike[&effects].len() > NAMED;
    let mut parts: Vec<String> = by_cluster
        .iter()
        .filter(|(_, effects)| !together(**effects))
        .map(|(name, effects)| match *name {
            "" => count(*effects),
            name => format!("{} in {}", count(*effects), crate::lang::text::clean(name)),
        })
        .collect();
    for (effects, names) in alike.iter().rev().filter(|(effects, _)| together(**effects)) {
        parts.push(format!("{} in each of {} clusters", count(*effects), names.len()));
    }
    let quiet: Vec<String> =
        plan.cluster_names().into_iter().filter(|name| !by_cluster.contains_key(name.as_str())).collect();
    match quiet.len() {
        0 => {}
        1..=3 => parts.push(format!("none in {}", quiet.join(", "))),
        number => parts.push(format!("none in {number} others")),
    }
    parts.join(", ")
}

/// The verb that a line begins with.
fn verb(effect: &Effect) -> &'static str {
    verb_of(effect.effect)
}

/// The verb of text for an effect.
pub(crate) fn verb_of(effect: EffectKind) -> &'static str {
    match effect {
        EffectKind::Deleted => "deletes",
        EffectKind::Orphaned => "orphans",
        EffectKind::Kept => "keeps",
        EffectKind::Added => "adds",
        EffectKind::Renamed => "renames",
        EffectKind::Moved => "moves",
        EffectKind::Refused => "rejects",
        EffectKind::Replaced => "replaces",
        EffectKind::Reinstalled => "reinstalls",
        EffectKind::Emptied => "empties",
        EffectKind::TakenOver => "takes over",
        EffectKind::BuildsAgain => "repairs",
        EffectKind::BuildFails => "breaks",
        EffectKind::WorkloadRollout => "rolls",
        EffectKind::ReleaseUpgrade => "upgrades",
        EffectKind::SourceChange => "repoints",
        EffectKind::ReconcileOnly
        | EffectKind::Changed
        | EffectKind::WindowChanged
        | EffectKind::DefaultChanged => "changes",
        EffectKind::Suspended => "suspends",
        EffectKind::AnnotatedOnly => "annotates",
        EffectKind::Resumed | EffectKind::ResumedByOmission => "resumes",
        EffectKind::Opened => "opens",
        EffectKind::Closed => "closes",
        EffectKind::Gated => "gates",
        EffectKind::Released => "releases",
        EffectKind::NotificationLost => "silences",
        EffectKind::Waits => "delays",
        EffectKind::Rollout => "replaces",
        EffectKind::PropagatedInPlace
        | EffectKind::UpdatedInPlace
        | EffectKind::ObjectOnly
        | EffectKind::NewMachinesOnly => "changes",
        EffectKind::Scale => "scales",
        EffectKind::Rejected => "rejects",
        EffectKind::Delayed => "delays",
        EffectKind::KeyAdded
        | EffectKind::KeyChanged
        | EffectKind::KeyRemoved
        | EffectKind::KeyOverridden
        | EffectKind::NotificationGained => "notifies",
        EffectKind::HooksCalled => "calls",
        EffectKind::Unseen | EffectKind::MayChange | EffectKind::ProviderDefined | EffectKind::Unknown => {
            "changes"
        }
    }
}

/// Column at which the text of an effect begins, for a terminal.
const INDENT: usize = 12;

/// Words up to the width, further lines indented.
fn wrapped(out: &mut String, text: &str, indent: usize) {
    let mut column = indent;
    for (index, word) in text.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width() {
            let _ = write!(out, "\n{}", " ".repeat(indent));
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
}

/// Fields of one effect that are shown; the rest is counted.
const FIELDS: usize = 6;

/// What happens, without the object: the fields that changed, or why.
fn phrases(effect: &Effect) -> Vec<Phrase> {
    let target = match &effect.target {
        ApplyTarget::Local => String::new(),
        ApplyTarget::Remote(name) => format!(" (in the cluster of {name})"),
    };
    let told_by_field = effect.category() == Category::Object
        && effect.effect != EffectKind::Renamed
        && !effect.field.is_empty()
        && effect.before != effect.after;
    if !told_by_field {
        let own = Phrase { line: format!("{}{target}", effect.reason), sides: Vec::new() };
        if let Some(told) = summary(effect) {
            return if effect.effect == EffectKind::ReleaseUpgrade { vec![told] } else { vec![own, told] };
        }
        return vec![Phrase { line: format!("{}{target}", effect.reason), sides: Vec::new() }];
    }
    let listed = effect.details.get("fields").and_then(Value::as_array);
    let first = json!({"path": effect.field, "before": effect.before, "after": effect.after});
    let others = listed.into_iter().flatten().filter(|field| field["path"] != effect.field);
    let all: Vec<&Value> = std::iter::once(&first).chain(others).collect();
    let mut told: Vec<Phrase> = summary(effect).into_iter().collect();
    let all = match told.is_empty() {
        true => paired(&all),
        // The line of the release says its chart's version.
        false => paired(&all).into_iter().filter(|(path, ..)| !is_chart_version(path)).collect(),
    };
    told.extend(all.iter().take(FIELDS).map(|(path, before, after)| values::told(path, before, after)));
    match all.len().saturating_sub(FIELDS) {
        0 => {}
        1 => told.push(Phrase { line: "and 1 more field".to_owned(), sides: Vec::new() }),
        count => told.push(Phrase { line: format!("and {count} more fields"), sides: Vec::new() }),
    }
    if let Some(first) = told.first_mut() {
        first.line.push_str(&target);
    }
    told
}

/// Of a release, its chart and what becomes of its objects.
fn summary(effect: &Effect) -> Option<Phrase> {
    let summary = effect.details.get("summary")?;
    let parts: Vec<&str> = summary["parts"].as_array()?.iter().filter_map(Value::as_str).collect();
    let chart = summary["chart"].as_str()?;
    let line = if parts.is_empty() { chart.to_owned() } else { format!("{chart}: {}", parts.join(", ")) };
    Some(Phrase { line, sides: Vec::new() })
}

fn is_chart_version(path: &str) -> bool {
    matches!(path, "/spec/chart/spec/version" | "/spec/chart/spec/chart")
}

/// A field that changed: its path, before, after.
type ChangedField = (String, Value, Value);

/// Fields that changed; an item of a keyed list that left and one that came in its place are
/// told by what differs between them, where that is little, and where they have anything in common:
/// one that is a name alone has only that to change.
fn paired(fields: &[&Value]) -> Vec<ChangedField> {
    let text = |field: &Value| field["path"].as_str().unwrap_or_default().to_owned();
    let list = |path: &str| path.rsplit_once("/{").map(|(list, _)| list.to_owned());
    let mut out: Vec<ChangedField> = Vec::new();
    let mut used = vec![false; fields.len()];
    for (index, field) in fields.iter().enumerate() {
        if std::mem::replace(&mut used[index], true) {
            continue;
        }
        let path = text(field);
        if let Some((at, renamed)) = renamed_key(fields, &used, index) {
            used[at] = true;
            out.push(renamed);
            continue;
        }
        let is_gone = field["after"].is_null() && field["before"].is_object() && path.ends_with('}');
        let place = list(&path).filter(|_| is_gone);
        let come = place.and_then(|place| {
            let all = scalars(&field["before"]);
            let fits = |at: usize| {
                let other = text(fields[at]);
                fields[at]["before"].is_null()
                    && other.ends_with('}')
                    && list(&other).as_ref() == Some(&place)
            };
            (0..fields.len()).filter(|at| !used[*at] && fits(*at)).find_map(|at| {
                let mut inner = Vec::new();
                leaves(&path, &field["before"], &fields[at]["after"], &mut inner, 0);
                let has_rest = inner.len() < all || all == 1;
                (inner.len() <= PAIRED && has_rest).then_some((at, inner))
            })
        });
        match come {
            Some((at, inner)) => {
                used[at] = true;
                out.extend(inner);
            }
            None => {
                let mut inner = Vec::new();
                if field["before"].is_array() && field["after"].is_array() {
                    leaves(&path, &field["before"], &field["after"], &mut inner, 0);
                }
                match (1..=PAIRED).contains(&inner.len()) {
                    true => out.extend(inner),
                    false => out.push((path, field["before"].clone(), field["after"].clone())),
                }
            }
        }
    }
    out
}

/// How many scalars a value holds.
fn scalars(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(scalars).sum(),
        Value::Object(entries) => entries.values().map(scalars).sum(),
        _ => 1,
    }
}

/// A key that is gone while another came beside it with the same value below, as one field;
/// and the place of the other.
fn renamed_key(fields: &[&Value], used: &[bool], index: usize) -> Option<(usize, ChangedField)> {
    let (value, path) = (&fields[index]["before"], fields[index]["path"].as_str()?);
    let is_gone = fields[index]["after"].is_null() && (value.is_object() || value.is_array());
    // What is hidden may be another value.
    if !is_gone || value.to_string().contains("***") {
        return None;
    }
    let (parent, old) = path.rsplit_once('/')?;
    let is_new = |at: &usize| !used[*at] && fields[*at]["before"].is_null() && fields[*at]["after"] == *value;
    (0..fields.len()).filter(is_new).find_map(|at| {
        let (other, new) = fields[at]["path"].as_str()?.rsplit_once('/')?;
        let keys = [old, new].map(|key| Value::String(pointer_segments(&format!("/{key}")).collect()));
        let are_keys = other == parent && ![old, new].iter().any(|key| key.ends_with('}'));
        let [old, new] = keys;
        are_keys.then(|| (at, (format!("{}: key", values::path(parent)), old, new)))
    })
}

/// Differences up to which two items of a list are one that changed.
const PAIRED: usize = 3;

/// The values that differ between two of JSON, to a depth that no item of a list has.
fn leaves(path: &str, before: &Value, after: &Value, out: &mut Vec<ChangedField>, depth: usize) {
    if before == after {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) if depth < 16 && values::is_plain_map(before, after) => {
            for (key, value) in old {
                let path = crate::lang::yaml::pointer_join(path, key);
                leaves(&path, value, new.get(key).unwrap_or(&Value::Null), out, depth + 1);
            }
            for (key, value) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
                out.push((crate::lang::yaml::pointer_join(path, key), Value::Null, value.clone()));
            }
        }
        (Value::Array(old), Value::Array(new)) if depth < 16 && old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                leaves(&format!("{path}/{index}"), old, new, out, depth + 1);
            }
        }
        _ => out.push((path.to_owned(), before.clone(), after.clone())),
    }
}

/// What happens, on one line.
fn phrase(effect: &Effect) -> String {
    let told = phrases(effect);
    let text = |told: &Phrase| match told.sides.len() {
        0 => told.line.clone(),
        _ => format!("{}: {}", told.line, told.sides.join(" ")),
    };
    told.iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The verb of an effect and what happens, as every answer words it.
pub(crate) fn sentence(effect: &Effect) -> (&'static str, String) {
    (verb(effect), phrase(effect))
}

/// What follows, first of all when.
fn consequences(effect: &Effect) -> Vec<String> {
    let when = effect.when.as_ref().map(|later| format!("not now: {}", later.words()));
    when.into_iter().chain(effect.consequences.iter().cloned()).collect()
}

/// Where the causes of an entry are, each once; the rest is counted.
fn places(plan: &Plan<'_>, entry: &groups::EffectGroup<'_>, at_most: usize) -> Vec<String> {
    let mut seen = FxHashSet::default();
    let causes = entry.effects.iter().chain(&entry.elsewhere).flat_map(|effect| effect.causes.iter().take(2));
    let mut places: Vec<String> =
        causes.map(|cause| plan.place(cause)).filter(|place| seen.insert(place.clone())).collect();
    let more = places.len().saturating_sub(at_most);
    places.truncate(at_most);
    if more > 0 {
        places.push(if more == 1 {
            "and 1 more place".to_owned()
        } else {
            format!("and {more} more places")
        });
    }
    places
}
