//! What is said of a release: steps of versions, images, what becomes of its objects in a
//! line, hooks, and what helm-controller does where an upgrade fails.
//! Source: helm-controller `api/v2` (`UpgradeRemediation`, `GetRetry`),
//! `internal/reconcile/atomic_release.go`; Helm `pkg/action/hooks.go`.

use super::Effect;
use super::fields::FieldChange;
use crate::build::helm::HOOK;
use crate::lang::template::Version;
use crate::lang::text::counted;
use crate::lang::yaml::NodeRef;
use crate::model::{Category, EffectKind, ObjectId};
use crate::world::ApplyTarget;
use crate::world::releases::Release;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Names that are told of a list; the rest is counted.
pub(super) const NAMED: usize = 3;

/// Whether an effect tells what becomes of an object itself.
pub(super) fn tells(effect: &Effect, id: &ObjectId) -> bool {
    effect.object == *id && effect.target == ApplyTarget::Local && effect.category() == Category::Object
}

pub(super) fn is_are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// Names of a set, some of them.
pub(super) fn listed(names: &BTreeSet<String>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let first: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("{}{more}", first.join(", "))
}

/// How far a version goes: `major`, `minor`, `patch`, and `downgrade`.
pub(crate) fn step(before: &str, after: &str) -> Option<&'static str> {
    let parse = |text: &str| Version::parse(text.trim_start_matches('v')).ok();
    let (old, new) = (parse(before)?, parse(after)?);
    let order = new.compare(&old);
    let core = |version: &Version| (version.major, version.minor, version.patch);
    Some(match () {
        () if order.is_eq() => return None,
        // Behind a tag stands what an image is based on as well: `-alpine`, `-patched`.
        () if core(&new) == core(&old) && !is_before_release(&new.pre) => return None,
        () if order.is_lt() => "downgrade",
        () if new.major != old.major => "major",
        () if new.minor != old.minor => "minor",
        () if new.patch != old.patch => "patch",
        // What stands behind is no step: a build's number, a commit.
        () => return None,
    })
}

/// Whether what stands behind a version says that it comes before that.
fn is_before_release(suffix: &str) -> bool {
    const WORDS: [&str; 8] = ["alpha", "beta", "canary", "dev", "nightly", "pre", "rc", "snapshot"];
    let suffix = suffix.to_ascii_lowercase();
    WORDS.iter().any(|word| suffix.starts_with(word))
}

/// Repository and tag of an image, without its digest.
fn image_parts(image: &str) -> (&str, &str) {
    let named = image.split('@').next().unwrap_or(image);
    let begin = named.rfind('/').map_or(0, |slash| slash + 1);
    match named[begin..].find(':') {
        Some(colon) => (&named[..begin + colon], &named[begin + colon + 1..]),
        None => (named, ""),
    }
}

/// How far the tag of an image goes, where the image is the same.
pub(crate) fn image_step(before: &str, after: &str) -> Option<&'static str> {
    let ((old, from), (new, to)) = (image_parts(before), image_parts(after));
    (old == new).then(|| step(from, to)).flatten()
}

/// `quay.io/jetstack/cert-manager-controller v1.17.2 -> v1.18.0 (minor)`
pub(crate) fn image_words(before: &str, after: &str) -> String {
    let ((old, from), (new, to)) = (image_parts(before), image_parts(after));
    let step = image_step(before, after).map_or(String::new(), |step| format!(" ({step})"));
    match old == new && !from.is_empty() && !to.is_empty() && from != to {
        true => format!("{old} {from} -> {to}{step}"),
        false => format!("{before} -> {after}"),
    }
}

/// What becomes of the objects of a release, the worst first.
pub(super) fn object_words(effects: &[Effect]) -> Vec<String> {
    let of = |kind: EffectKind| effects.iter().filter(move |effect| effect.effect == kind);
    let mut parts = Vec::new();
    if let Some(first) = of(EffectKind::Refused).next() {
        let more = of(EffectKind::Refused).count() - 1;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("the upgrade fails: the API server refuses {}{more}", first.object));
    }
    let gone = |kind: EffectKind, word: &str| {
        let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
        of(kind).for_each(|effect| *kinds.entry(effect.object.kind.to_string()).or_default() += 1);
        let count: u64 = kinds.values().sum();
        let named = super::counted_kinds(&kinds);
        let named = if named.is_empty() { named } else { format!(" ({named})") };
        (count > 0).then(|| {
            format!("{} {} {word}{named}", counted(count as usize, "object"), is_are(count as usize))
        })
    };
    // Helm deletes last: not at all where something before that fails.
    if parts.is_empty() {
        parts.extend(gone(EffectKind::Deleted, "deleted"));
        parts.extend(gone(EffectKind::Moved, "made by something else"));
    }
    let mut rolls: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for effect in of(EffectKind::WorkloadRollout) {
        let restarts = effect.details.contains_key("checksumOnly");
        *rolls.entry((restarts, &effect.object.kind)).or_default() += 1;
    }
    parts.extend(rolls.into_iter().map(|((restarts, kind), count)| match (restarts, count) {
        (false, 1) => format!("1 {kind} rolls"),
        (false, _) => format!("{count} {kind}s roll"),
        (true, 1) => format!("1 {kind} restarts (checksum only)"),
        (true, _) => format!("{count} {kind}s restart (checksum only)"),
    }));
    let added = of(EffectKind::Added).count();
    if added > 0 {
        parts.push(format!("{} {} new", counted(added, "object"), is_are(added)));
    }
    let others = effects.iter().filter(|effect| {
        !matches!(
            effect.effect,
            EffectKind::Refused
                | EffectKind::Deleted
                | EffectKind::Moved
                | EffectKind::WorkloadRollout
                | EffectKind::Added
                | EffectKind::Kept
        )
    });
    let (labels, content): (Vec<&Effect>, Vec<&Effect>) = others.partition(|effect| is_by_label_only(effect));
    if !content.is_empty() {
        let other = if parts.is_empty() { "object" } else { "other object" };
        let verb = if content.len() == 1 { "changes" } else { "change" };
        parts.push(format!("{} {verb}", counted(content.len(), other)));
    } else if parts.is_empty() && !labels.is_empty() {
        parts.push(format!("only labels of {} change", counted(labels.len(), "object")));
    }
    parts
}

/// Whether a field is a label that names the chart's or the program's version.
pub(crate) fn is_version_label(path: &str) -> bool {
    ["helm.sh~1chart", "app.kubernetes.io~1version", "chart"]
        .iter()
        .any(|key| path.strip_suffix(key).is_some_and(|map| map.ends_with("/labels/")))
}

/// Whether only such labels of an object itself changed.
pub(crate) fn is_by_label_only(effect: &Effect) -> bool {
    let fields = effect.details.get("fields").and_then(Value::as_array);
    let is_own = |field: &Value| {
        field["path"].as_str().is_some_and(|path| path.starts_with("/metadata/") && is_version_label(path))
    };
    effect.details.contains_key("release")
        && fields.is_some_and(|fields| !fields.is_empty() && fields.iter().all(is_own))
}

/// Whether of a pod template only annotations changed that are checksums: charts write
/// these to restart Pods when what they read changes.
pub(super) fn only_checksums(changes: &[FieldChange], template: &[&str]) -> bool {
    let mut inside =
        changes.iter().filter(|change| template.iter().any(|part| change.path.starts_with(part))).peekable();
    let is_checksum = |change: &FieldChange| {
        change
            .path
            .rsplit_once("/annotations/")
            .is_some_and(|(_, key)| key.to_ascii_lowercase().contains("checksum"))
    };
    inside.peek().is_some() && inside.all(is_checksum)
}

/// What helm-controller does after a failed upgrade.
/// Source: helm-controller `api/v2/helmrelease_types.go` (`UpgradeRemediation`,
/// `GetRetry`).
pub(super) fn remediation(node: NodeRef<'_>) -> Vec<String> {
    if node.str_at("/spec/upgrade/strategy/name").as_deref() == Some("RetryOnFailure") {
        let every = node.str_at("/spec/upgrade/strategy/retryInterval").unwrap_or("5m".into()).into_owned();
        return vec![format!(
            "upgrade.strategy RetryOnFailure: tried again every {every}, nothing is rolled back"
        )];
    }
    let settings = node.at("/spec/upgrade/remediation");
    let retries = settings.and_then(|node| node.at("/retries")).and_then(NodeRef::as_int).unwrap_or(0);
    let last = settings.and_then(|node| node.at("/remediateLastFailure")).and_then(NodeRef::as_bool);
    let last = last.unwrap_or(retries > 0);
    let uninstalls = settings.and_then(|node| node.str_at("/strategy")).as_deref() == Some("uninstall");
    let remedy = if uninstalls { "uninstalled, all its objects with it," } else { "rolled back" };
    let mut words = vec![match (retries, last) {
        (0, false) => {
            "no upgrade.remediation: the release stays failed, with what was applied before the refusal, \
                       until its chart or values change"
                .to_owned()
        }
        (0, true) => format!("upgrade.remediation: the release is {remedy} and stays failed"),
        (count, _) if count < 0 => {
            format!("upgrade.remediation: the release is {remedy} and upgraded again, without end")
        }
        (count, true) => format!(
            "upgrade.remediation: the release is {remedy} and upgraded again {}, then left {}",
            times(count),
            if uninstalls { "uninstalled" } else { "rolled back" }
        ),
        (count, false) => format!(
            "upgrade.remediation: the release is {remedy} and upgraded again {}, then left failed",
            times(count)
        ),
    }];
    if node.at("/spec/upgrade/force").and_then(NodeRef::as_bool) == Some(true) {
        words.push(
            "upgrade.force does not help: what it puts in place of the object is refused as well".to_owned(),
        );
    }
    words
}

fn times(count: i64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// What to do about a refusal in a release.
pub(super) fn way_out(note: Option<&'static str>) -> Option<String> {
    // What a Kustomization's annotation does, Helm does not.
    note.filter(|note| !note.contains("kustomize.toolkit")).map(str::to_owned)
}

/// The hooks of an action, those before it and those after it.
pub(super) fn hook_words(release: &Release, action: &str) -> Vec<String> {
    let off = release.node.get_ref().at(&format!("/spec/{action}/disableHooks")).and_then(NodeRef::as_bool);
    if off == Some(true) {
        return Vec::new();
    }
    let of = |when: &str| -> BTreeSet<String> {
        let event = format!("{when}-{action}");
        let runs = release.hooks.iter().filter(|hook| {
            let events = hook.node.get_ref().at("/metadata/annotations").and_then(|map| map.get(HOOK));
            let events = events.and_then(NodeRef::text);
            events.is_some_and(|events| events.split(',').any(|own| own.trim().eq_ignore_ascii_case(&event)))
        });
        let ids: Vec<&ObjectId> = runs.filter_map(|hook| hook.id.as_deref()).collect();
        // What runs is told; what is made for it only where nothing runs.
        let running = |id: &&&ObjectId| matches!(&*id.kind, "Job" | "Pod");
        let names = |ids: &mut dyn Iterator<Item = &&ObjectId>| ids.map(|id| id.to_string()).collect();
        match ids.iter().any(|id| running(&id)) {
            true => names(&mut ids.iter().filter(running)),
            false => names(&mut ids.iter()),
        }
    };
    let told =
        [("before", of("pre")), ("after", of("post"))].into_iter().filter(|(_, names)| !names.is_empty());
    told.map(|(when, names)| {
        let verb = if names.len() == 1 { "a hook runs" } else { "hooks run" };
        format!("{verb} {when} the {action}: {}", listed(&names))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_by_what_a_version_says() {
        for (before, after, expected) in [
            ("1.17.2", "v1.18.0", Some("minor")),
            ("v4.2.3", "v4.1.9", Some("downgrade")),
            ("v4.2.3", "v4.2.3-rc.1", Some("downgrade")),
            ("v4.2.3-rc.1", "v4.2.3", None),
            ("v4.2.3", "v4.2.3-patched", None),
            ("16.4-bookworm", "16.4-alpine", None),
            ("16.4-alpine", "16.4-bookworm", None),
            ("latest", "1.0.0", None),
        ] {
            assert_eq!(step(before, after), expected, "{before} {after}");
        }
    }
}
