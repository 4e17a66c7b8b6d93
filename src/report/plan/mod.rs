//! The answer of `plan`: text for a terminal, JSON, Markdown for a pull request,
//! annotations.

mod changes;
mod github;
mod groups;
mod json;
mod markdown;
mod text;
mod values;

pub use github::render as github;
pub use json::render as json;
pub use markdown::render as markdown;
pub use text::render as text;

use values::Told;

use crate::config::{Assumed, Level};
use crate::lang::yaml::ViaKind;
use crate::lint::Finding;
use crate::lint::engine::NotChecked;
use crate::model::{Category, EffectKind};
use crate::plan::{Cause, ClusterChange, Effect, Reach, Side};
use crate::report::parts::width;
use crate::world::{ApplyTarget, World};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What to render.
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
        let clusters = self.base_world.clusters.iter().chain(&self.head_world.clusters);
        let mut names: Vec<String> = clusters
            .filter_map(|cluster| cluster.name.as_deref().map(str::to_owned))
            .filter(|name| self.clusters.is_empty() || self.clusters.contains(name))
            .collect();
        names.sort();
        names.dedup();
        names
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

    /// `path:line` of a cause, with its side where it is the base.
    fn place(&self, cause: &Cause) -> String {
        let world = if cause.side == Side::Base { self.base_world } else { self.head_world };
        let line = world.snapshot.positions(&cause.location).0.0;
        let side = if cause.side == Side::Base { " (base)" } else { "" };
        let through = cause.location.via.iter().find(|via| via.kind == ViaKind::Resource).map(|via| {
            let line = world.snapshot.positions(&via.location).0.0;
            format!(", through {}:{line}", via.location.file)
        });
        format!("{}:{line}{side}{}", cause.location.file, through.unwrap_or_default())
    }

    /// The counts that matter: Machines replaced, objects deleted and what is lost
    /// with them. What waits behind a refused object is not counted.
    fn headline(&self) -> Option<String> {
        let number =
            |effect: &Effect, key: &str| effect.details.get(key).and_then(Value::as_u64).unwrap_or(0);
        let now = || self.counted().filter(|effect| !effect.details.contains_key("heldBy"));
        let replaced: u64 = now()
            .filter(|effect| effect.effect == EffectKind::Rollout)
            .map(|effect| number(effect, "machines"))
            .sum();
        let mut machines: u64 = now().map(|effect| number(effect, "machinesDeleted")).sum();
        let gone = |effect: &&Effect| effect.details.get("deleted") == Some(&Value::Bool(true));
        machines += now().filter(gone).map(|effect| number(effect, "machines")).sum::<u64>();
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        for effect in now() {
            if effect.effect == EffectKind::Deleted {
                *kinds.entry(effect.object.kind.to_string()).or_default() += 1;
            }
            let listed = effect.details.get("deleted").and_then(Value::as_object);
            for (kind, count) in listed.into_iter().flatten() {
                *kinds.entry(kind.clone()).or_default() += count.as_u64().unwrap_or(0);
            }
        }
        let deleted: u64 = kinds.values().sum();
        let reinstalled = now().filter(|effect| effect.effect == EffectKind::Reinstalled).count() as u64;
        let plural = |count: u64, one: &str, many: &str| {
            if count == 1 { one.to_owned() } else { format!("{count} {many}") }
        };
        let mut parts = Vec::new();
        if replaced > 0 {
            parts.push(plural(replaced, "1 Machine is replaced", "Machines are replaced"));
        }
        if machines > 0 {
            parts.push(plural(machines, "1 Machine is deleted", "Machines are deleted"));
        }
        if deleted > 0 {
            let list = crate::plan::counted_kinds(&kinds);
            let list = if list.is_empty() { list } else { format!(" ({list})") };
            parts.push(format!("{}{list}", plural(deleted, "1 object is deleted", "objects are deleted")));
        }
        let mut maybe: BTreeMap<String, u64> = BTreeMap::new();
        for effect in now() {
            let listed = effect.details.get("mayBeDeleted").and_then(Value::as_object);
            for (kind, count) in listed.into_iter().flatten() {
                *maybe.entry(kind.clone()).or_default() += count.as_u64().unwrap_or(0);
            }
        }
        let in_doubt: u64 = maybe.values().sum();
        if in_doubt > 0 {
            let list = crate::plan::counted_kinds(&maybe);
            let list = if list.is_empty() { list } else { format!(" ({list})") };
            parts.push(format!(
                "{}{list}",
                plural(in_doubt, "1 object may be deleted", "objects may be deleted")
            ));
        }
        if reinstalled > 0 {
            parts.push(plural(reinstalled, "1 HelmRelease is reinstalled", "HelmReleases are reinstalled"));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// What was not followed, in a phrase; nothing where everything was.
fn not_followed(plan: &Plan<'_>) -> Option<String> {
    let Reach { not_followed: (count, all), changed, unread, in_part } = plan.reach;
    if *count == 0 && plan.reach.is_whole() {
        return None;
    }
    let mut parts = Vec::new();
    if *count > 0 {
        parts.push(format!("{count} of {all} Kustomizations were not followed"));
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
    match effect.effect {
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
fn phrases(effect: &Effect) -> Vec<Told> {
    let target = match &effect.target {
        ApplyTarget::Local => String::new(),
        ApplyTarget::Remote(name) => format!(" (in the cluster of {name})"),
    };
    let told_by_field = effect.category() == Category::Object
        && effect.effect != EffectKind::Renamed
        && !effect.field.is_empty()
        && effect.before != effect.after;
    if !told_by_field {
        return vec![Told { line: format!("{}{target}", effect.reason), sides: Vec::new() }];
    }
    let mut told = vec![values::told(&effect.field, &effect.before, &effect.after)];
    told[0].line.push_str(&target);
    let listed = effect.details.get("fields").and_then(Value::as_array);
    let others: Vec<&Value> =
        listed.into_iter().flatten().filter(|field| field["path"] != effect.field).collect();
    told.extend(others.iter().take(FIELDS - 1).map(|field| {
        values::told(field["path"].as_str().unwrap_or_default(), &field["before"], &field["after"])
    }));
    match others.len().saturating_sub(FIELDS - 1) {
        0 => {}
        1 => told.push(Told { line: "and 1 more field".to_owned(), sides: Vec::new() }),
        count => told.push(Told { line: format!("and {count} more fields"), sides: Vec::new() }),
    }
    told
}

/// What happens, on one line.
fn phrase(effect: &Effect) -> String {
    let told = phrases(effect);
    let text = |told: &Told| match told.sides.len() {
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
    let when = effect.when.as_ref().map(|tracked| format!("not now: when `{tracked}` moves"));
    when.into_iter().chain(effect.consequences.iter().cloned()).collect()
}

/// Where the causes of an entry are, each once; the rest is counted.
fn places(plan: &Plan<'_>, entry: &groups::Entry<'_>, at_most: usize) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for effect in &entry.effects {
        for cause in effect.causes.iter().take(2) {
            let place = plan.place(cause);
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
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
