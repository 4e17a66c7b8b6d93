//! A plan in a line: the verdict that stands first, the total that stands last.

use super::Plan;
use crate::config::Level;
use crate::lang::text::counted;
use crate::lint::{Finding, Group};
use crate::model::{Category, EffectKind, ObjectId, Severity};
use crate::plan::Effect;
use crate::world::ApplyTarget;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

impl Plan<'_> {
    /// The counts that matter: Machines replaced, objects deleted and what is lost
    /// with them. What waits behind a refused object is not counted.
    pub(super) fn headline(&self) -> Option<String> {
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
        let kinds = self.deleted();
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
        let anew = now().filter(|effect| effect.effect == EffectKind::Replaced).count() as u64;
        if anew > 0 {
            parts.push(plural(
                anew,
                "1 object is deleted and created anew",
                "objects are deleted and created anew",
            ));
        }
        if reinstalled > 0 {
            parts.push(plural(reinstalled, "1 HelmRelease is reinstalled", "HelmReleases are reinstalled"));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }
    /// Objects that are deleted, by kind: those of effects, and those that go with them.
    fn deleted(&self) -> BTreeMap<String, u64> {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        let is_anew = |effect: &&Effect| effect.effect == EffectKind::Replaced;
        let gone = self.counted().filter(|effect| !effect.details.contains_key("heldBy"));
        for effect in gone.filter(|effect| !is_anew(effect)) {
            if effect.effect == EffectKind::Deleted {
                *kinds.entry(effect.object.kind.to_string()).or_default() += 1;
            }
            let listed = effect.details.get("deleted").and_then(Value::as_object);
            for (kind, count) in listed.into_iter().flatten() {
                *kinds.entry(kind.clone()).or_default() += count.as_u64().unwrap_or(0);
            }
        }
        kinds
    }

    /// What an approver has to know first: what breaks, is refused, is lost; else how much
    /// happens.
    pub(super) fn verdict(&self) -> String {
        let of = |kind: EffectKind| self.counted().filter(move |effect| effect.effect == kind);
        let mut parts = Vec::new();
        let is_new = |effect: &&Effect| effect.details.get("new").and_then(Value::as_bool) == Some(true);
        let (new, old): (Vec<&Effect>, Vec<&Effect>) = of(EffectKind::BuildFails).partition(is_new);
        match old.len() {
            0 => {}
            1 => parts.push("1 Kustomization does not build any more".to_owned()),
            count => parts.push(format!("{count} Kustomizations do not build any more")),
        }
        match new.len() {
            0 => {}
            1 => parts.push("1 new Kustomization does not build".to_owned()),
            count => parts.push(format!("{count} new Kustomizations do not build")),
        }
        let in_release = |effect: &&Effect| effect.details.contains_key("release");
        match of(EffectKind::Refused).filter(|effect| !in_release(effect)).count() {
            0 => {}
            count => parts.push(format!("the API server refuses {}", counted(count, "object"))),
        }
        let waiting = self.counted().filter_map(|effect| effect.details.get("waitForNothing")?.as_u64());
        match waiting.sum::<u64>() {
            0 => {}
            1 => parts.push("1 object waits for ever".to_owned()),
            count => parts.push(format!("{count} objects wait for ever")),
        }
        let failing =
            of(EffectKind::ReleaseUpgrade).filter(|effect| effect.severity == Severity::Disruptive).count();
        match failing {
            0 => {}
            1 => parts.push("the upgrade of 1 HelmRelease fails".to_owned()),
            count => parts.push(format!("the upgrades of {count} HelmReleases fail")),
        }
        parts.extend(self.headline());
        if !parts.is_empty() {
            return parts.join(", ");
        }
        let notes = self.changes.iter().flat_map(|change| &change.notes);
        let grave = notes.filter(|note| note.severity == Severity::Disruptive).count();
        if grave > 0 {
            return format!(
                "{}: {}",
                self.cluster_words().join(", "),
                counted(grave, "disruptive consequence")
            );
        }
        let disruptive = self.counted().filter(|effect| effect.severity == Severity::Disruptive).count();
        if disruptive > 0 {
            return counted(disruptive, "disruptive effect");
        }
        let mild = self.mild();
        match (self.counted().next().is_some() || !mild.is_empty(), mild.is_empty()) {
            (true, true) => self.nothing_grave().to_owned(),
            (true, false) => format!("{}; {}", self.nothing_grave(), mild.join(", ")),
            (false, _) if self.reach.is_whole() => "nothing changes in the clusters".to_owned(),
            (false, _) => "nothing changes in what was followed".to_owned(),
        }
    }

    /// That nothing grave happens, as far as that is known: the objects of a chart that is not
    /// here, of a source that points elsewhere, and what a new finding tells of are not.
    fn nothing_grave(&self) -> &'static str {
        let is_open = |effect: &Effect| {
            !effect.details.contains_key("heldBack")
                && ["unseen", "elsewhere", "unapplied"].iter().any(|key| effect.details.contains_key(*key))
        };
        let is_doubt = |finding: &&Finding| {
            finding.level == Level::Error
                || finding.level == Level::Warning && finding.rule.group == Group::Schema
        };
        let is_known = !self.new_findings.iter().any(is_doubt)
            && !self.counted().any(is_open)
            && self
                .changes
                .iter()
                .flat_map(|change| &change.notes)
                .all(|note| note.severity < Severity::Notable);
        match is_known {
            true => "nothing is deleted, replaced or refused",
            false => "nothing is known to be deleted, replaced or refused",
        }
    }

    /// What happens that is neither disruptive nor held back, and releases that wait for their
    /// resume.
    fn mild(&self) -> Vec<String> {
        let of = |kind: EffectKind| self.counted().filter(move |effect| effect.effect == kind);
        let waits = |effect: &&Effect| effect.details.contains_key("heldBack");
        let held: BTreeSet<String> = of(EffectKind::ReleaseUpgrade)
            .filter(waits)
            .map(|effect| {
                format!("{}/{}", effect.object.namespace.as_deref().unwrap_or_default(), effect.object.name)
            })
            .collect();
        let is_held = |effect: &&Effect| {
            let release = effect.details.get("release").and_then(Value::as_str);
            release.is_some_and(|release| held.contains(release))
        };
        let rolls =
            of(EffectKind::WorkloadRollout).filter(|effect| !waits(effect) && !is_held(effect)).count();
        let (later, upgrades): (Vec<&Effect>, Vec<&Effect>) = of(EffectKind::ReleaseUpgrade).partition(waits);
        let (later, upgrades) = (later.len(), upgrades.len());
        let mut mild = self.cluster_words();
        match self.counted().filter(|effect| effect.details.contains_key("unapplied")).count() {
            0 => {}
            count => mild.push(format!("{} may be deleted", counted(count, "object"))),
        }
        if upgrades > 0 {
            mild.push(format!("{} upgraded", are(upgrades, "HelmRelease")));
        }
        match later {
            0 => {}
            1 => mild.push("1 HelmRelease is upgraded when that is resumed".to_owned()),
            count => mild.push(format!("{count} HelmReleases are upgraded when that is resumed")),
        }
        match rolls {
            0 => {}
            1 => mild.push("1 workload rolls".to_owned()),
            count => mild.push(format!("{count} workloads roll")),
        }
        let is_unseen = |effect: &&Effect| effect.details.contains_key("unseen") && !waits(effect);
        match self.counted().filter(is_unseen).count() {
            0 => {}
            1 => mild.push("what 1 chart changes is not known".to_owned()),
            count => mild.push(format!("what the charts of {count} releases change is not known")),
        }
        let elsewhere = self.counted().filter(|effect| effect.details.contains_key("elsewhere")).count();
        for (count, one, many) in [
            (of(EffectKind::Suspended).count(), "1 object is suspended", "objects are suspended"),
            (elsewhere, "1 source points elsewhere", "sources point elsewhere"),
        ] {
            match count {
                0 => {}
                1 => mild.push(one.to_owned()),
                count => mild.push(format!("{count} {many}")),
            }
        }
        for (level, word) in [(Level::Error, "new error"), (Level::Warning, "new warning")] {
            let count = self.new_findings.iter().filter(|finding| finding.level == level).count();
            if count > 0 {
                mild.push(counted(count, word));
            }
        }
        mild
    }

    /// Versions and features that change in whole clusters.
    fn cluster_words(&self) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for change in self.changes {
            let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let word = match change.before.is_null() {
                true => format!("{} {}", change.what, value(&change.after)),
                false => format!("{} {} -> {}", change.what, value(&change.before), value(&change.after)),
            };
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }

    /// `Plan: 7 to add, 1 to change, 7 to delete (1 claim), 2 disruptive`
    pub(super) fn total(&self) -> String {
        let added = self.counted().filter(|effect| effect.effect == EffectKind::Added).count();
        let changed: BTreeSet<(Option<&str>, &ApplyTarget, &ObjectId)> = self
            .counted()
            .filter(|effect| is_change(effect))
            .map(|effect| (effect.cluster.as_deref(), &effect.target, &effect.object))
            .collect();
        let kinds = self.deleted();
        let deleted: u64 = kinds.values().sum();
        // One that is created anew has lost what it held.
        let is_anew = |effect: &&Effect| {
            effect.effect == EffectKind::Replaced && effect.object.is("", "PersistentVolumeClaim")
        };
        let anew = self.counted().filter(is_anew).count() as u64;
        let claims = kinds.get("PersistentVolumeClaim").copied().unwrap_or(0) + anew;
        let claims =
            if claims > 0 { format!(" ({})", counted(claims as usize, "claim")) } else { String::new() };
        let disruptive = self.counted().filter(|effect| effect.severity == Severity::Disruptive).count();
        format!(
            "Plan: {added} to add, {} to change, {deleted} to delete{claims}, {disruptive} disruptive",
            changed.len()
        )
    }
}

/// Whether an effect changes an object that stays.
fn is_change(effect: &Effect) -> bool {
    let category = effect.category();
    !matches!(category, Category::Event | Category::Wait | Category::Hook)
        && !matches!(
            effect.effect,
            EffectKind::Added
                | EffectKind::Deleted
                | EffectKind::Emptied
                | EffectKind::Orphaned
                | EffectKind::Kept
                | EffectKind::Refused
                | EffectKind::Rejected
                | EffectKind::BuildFails
                | EffectKind::BuildsAgain
                | EffectKind::Unseen
                | EffectKind::MayChange
        )
}

fn are(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one} is") } else { format!("{count} {one}s are") }
}
