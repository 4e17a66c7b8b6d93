//! The answer of `plan`: text for a terminal, JSON, Markdown for a pull request,
//! annotations.

mod github;
mod json;
mod markdown;
mod text;

pub use github::render as github;
pub use json::render as json;
pub use markdown::render as markdown;
pub use text::render as text;

use crate::config::Level;
use crate::lint::Finding;
use crate::lint::engine::NotChecked;
use crate::model::{Category, EffectKind};
use crate::plan::{Cause, Effect, Side};
use crate::world::{ApplyTarget, World};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;

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
    /// Findings that are new.
    pub new_findings: Vec<&'a Finding>,
    /// Findings that are gone.
    pub fixed_findings: Vec<&'a Finding>,
    /// What could not be known.
    pub not_checked: &'a NotChecked,
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
        format!("{}:{line}{side}", cause.location.path)
    }

    /// The counts that matter: Machines replaced, objects deleted.
    fn headline(&self) -> Option<String> {
        let number =
            |effect: &Effect, key: &str| effect.details.get(key).and_then(Value::as_u64).unwrap_or(0);
        let machines: u64 = self
            .counted()
            .filter(|effect| effect.effect == EffectKind::Rollout)
            .map(|effect| number(effect, "machines"))
            .sum();
        let deleted: u64 = self
            .counted()
            .filter(|effect| effect.effect == EffectKind::Deleted)
            .map(|effect| 1 + number(effect, "deletedObjects"))
            .sum();
        let plural = |count: u64, one: &str, many: &str| {
            if count == 1 { one.to_owned() } else { format!("{count} {many}") }
        };
        let mut parts = Vec::new();
        if machines > 0 {
            parts.push(plural(machines, "1 Machine is replaced", "Machines are replaced"));
        }
        if deleted > 0 {
            parts.push(plural(deleted, "1 object is deleted", "objects are deleted"));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// How many effects there are where, in a phrase.
fn tally(plan: &Plan<'_>) -> String {
    let mut by_cluster: BTreeMap<&str, usize> = BTreeMap::new();
    for effect in plan.counted() {
        *by_cluster.entry(effect.cluster.as_deref().unwrap_or("")).or_default() += 1;
    }
    if by_cluster.is_empty() {
        return "no effect".to_owned();
    }
    let count = |number: usize| if number == 1 { "1 effect".to_owned() } else { format!("{number} effects") };
    let mut parts: Vec<String> = by_cluster
        .iter()
        .map(|(name, effects)| match *name {
            "" => count(*effects),
            name => format!("{} in {}", count(*effects), crate::text::clean(name)),
        })
        .collect();
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
        EffectKind::Immutable => "blocks",
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
        EffectKind::Unseen | EffectKind::ProviderDefined | EffectKind::Unknown => "changes",
    }
}

/// What happens, in a phrase without the object: `chart 6.5.4 -> 6.6.0`.
fn phrase(effect: &Effect) -> String {
    let line = match (&effect.before, &effect.after) {
        (Value::String(before), Value::String(after)) => first_difference(before, after),
        _ => 0,
    };
    let value = |value: &Value| match value {
        Value::String(text) => short(text, line),
        Value::Null => "nothing".to_owned(),
        other => other.to_string(),
    };
    let field = effect.field.trim_start_matches("/spec/").trim_start_matches('/').replace("~1", "/");
    let listed = effect.details.get("fields").and_then(Value::as_array).map_or(0, Vec::len);
    let more = match listed {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let target = match &effect.target {
        ApplyTarget::Local => String::new(),
        ApplyTarget::Remote(name) => format!(" (in the cluster of {name})"),
    };
    let told_by_field = effect.category() == Category::Object
        && effect.effect != EffectKind::Renamed
        && !effect.field.is_empty();
    if !told_by_field || effect.before == effect.after {
        return format!("{}{target}", effect.reason);
    }
    let is_collection = |value: &Value| value.is_object() || value.is_array();
    let change = match (&effect.before, &effect.after) {
        (Value::Null, after) if is_collection(after) => "added".to_owned(),
        (before, Value::Null) if is_collection(before) => "removed".to_owned(),
        (before, after) if is_collection(before) || is_collection(after) => "changed".to_owned(),
        (before, after) => format!("{} -> {}", value(before), value(after)),
    };
    format!("{field} {change}{more}{target}")
}

/// What follows, first of all when.
fn consequences(effect: &Effect) -> Vec<String> {
    let when = effect.when.as_ref().map(|tracked| format!("not now: when `{tracked}` moves"));
    when.into_iter().chain(effect.consequences.iter().cloned()).collect()
}

/// The first line in which two texts differ, from zero.
fn first_difference(before: &str, after: &str) -> usize {
    before.lines().zip(after.lines()).take_while(|(before, after)| before == after).count()
}

/// A line of a text, cut where it is long.
fn short(text: &str, line: usize) -> String {
    let whole = line == 0 && text.lines().nth(1).is_none();
    let line = text.lines().nth(line).unwrap_or("").trim();
    let cut: String = line.chars().take(39).collect();
    if whole && line.chars().count() <= 40 { line.to_owned() } else { format!("{cut}…") }
}
