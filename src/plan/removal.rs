//! Objects that are gone, or have another name: what goes with them.

use super::fate::{Fate, UNAPPLIED, by_its_old_spec, fate, is_suspended, protected, takes_what_is_elsewhere};
use super::fields::{compare, fields};
use super::{Effect, Key, Pair, Placed, Side};
use crate::build::kustomize::FileRole;
use crate::lang::yaml::{FilePath, Known, NodeRef};
use crate::model::cluster_api_kinds::{CONTROL_PLANE, CORE};
use crate::model::{EffectKind, ObjectId, Severity, kinds};
use crate::simulate::takeover::helm::WantedRelease;
use crate::world::{Applied, ApplyTarget, Cluster, Effective};
use rustc_hash::{FxHashMap, FxHasher};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Added objects that are removed ones under another name: a generated name
/// with another hash, or equal content.
pub(super) fn renames<'p, 'w>(
    removed: &[(&Key<'w>, &'p Placed<'w>)],
    added: &[(&'p Key<'w>, &'p Placed<'w>)],
) -> BTreeMap<&'p Key<'w>, &'p Placed<'w>> {
    let place = |key: &Key<'w>| (key.0, key.1.group, key.1.kind, key.1.namespace);
    // Places in `removed` by what an added object may have of them: a name but for its
    // hash, a content.
    let mut stems: FxHashMap<_, Vec<usize>> = FxHashMap::default();
    let mut contents: FxHashMap<_, Vec<usize>> = FxHashMap::default();
    for (index, (key, before)) in removed.iter().enumerate().filter(|_| !added.is_empty()) {
        if let Some(stem) = generated_stem(key.1.name) {
            stems.entry((place(key), stem)).or_default().push(index);
        }
        contents.entry((place(key), content_hash(before))).or_default().push(index);
    }
    let mut renamed: BTreeMap<&Key<'w>, &Placed<'w>> = BTreeMap::new();
    let mut used: BTreeSet<usize> = BTreeSet::new();
    for (key, after) in added {
        let free = |index: &&usize| !used.contains(*index);
        let same = |index: &&usize| same_but_name(removed[**index].1, after);
        let hashed =
            generated_stem(key.1.name).and_then(|stem| stems.get(&(place(key), stem))?.iter().find(free));
        let alike = contents.get(&(place(key), content_hash(after)));
        let alike = alike.and_then(|alike| alike.iter().filter(free).find(same));
        if let Some(index) = hashed.into_iter().chain(alike).min().copied() {
            used.insert(index);
            renamed.insert(key, removed[index].1);
        }
    }
    renamed
}

/// The same for all objects that are the same but for their metadata.
fn content_hash(placed: &Placed<'_>) -> u64 {
    let entries = placed.object.node.get_ref().entries().filter(|entry| entry.key != "metadata");
    // In any order, and one of keys that stand twice is as good as another.
    let mut hashes: Vec<u64> = entries.map(|entry| entry.value.value_hash()).collect();
    hashes.sort_unstable();
    hashes.dedup();
    let mut hasher = FxHasher::default();
    hashes.hash(&mut hasher);
    hasher.finish()
}

/// The name without kustomize's hash suffix, when it has one.
pub(super) fn generated_stem(name: &str) -> Option<&str> {
    let (stem, hash) = name.rsplit_once('-')?;
    let hashed = hash.len() == 10
        && hash.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        && hash.bytes().any(|byte| byte.is_ascii_digit());
    hashed.then_some(stem)
}

fn same_but_name(before: &Placed<'_>, after: &Placed<'_>) -> bool {
    let (a, b) = (before.object.node.get_ref(), after.object.node.get_ref());
    let rest = |node: NodeRef<'_>, other: NodeRef<'_>| {
        node.entries().all(|entry| {
            entry.key == "metadata"
                || other
                    .get(&entry.key)
                    .is_some_and(|value| entry.value.same_value(value) == Known::Value(true))
        })
    };
    // An object of nothing but metadata says too little to be recognised.
    a.entries().any(|entry| !matches!(&*entry.key, "apiVersion" | "kind" | "metadata"))
        && rest(a, b)
        && rest(b, a)
}

pub(super) fn rename(pair: &Pair<'_>, before: &Placed<'_>, after: &Placed<'_>) -> Effect {
    let (id, old) = (&after.object.id, &before.object.id);
    let stem = generated_stem(&old.name);
    let hashed = stem.is_some();
    let fate = fate(pair, before);
    let loses = !hashed && fate == Fate::Deleted && what_goes(before).is_some();
    let mut effect = Effect::new(pair, EffectKind::Renamed, id);
    if hashed {
        effect.severity = Severity::Routine;
    } else if loses {
        effect.severity = Severity::Disruptive;
    }
    effect.target = after.target.clone();
    effect.field = "/metadata/name".to_owned();
    effect.before = json!(&*old.name);
    effect.after = json!(&*id.name);
    effect.reason = if hashed && stem != generated_stem(&id.name) {
        "its generator has another name".to_owned()
    } else if hashed {
        "its generated content changed".to_owned()
    } else {
        let old = match fate {
            Fate::Deleted => "; the old one is removed",
            Fate::Orphaned(_) | Fate::Kept(_) => "; the old one stays",
            Fate::Unapplied => "",
        };
        format!("created anew{old}")
    };
    if hashed {
        let changes = compare(before.object.node.get_ref(), after.object.node.get_ref());
        effect.details.insert("fields".to_owned(), fields(&changes));
    } else {
        effect.consequences.push(fate.words(old));
        if fate == Fate::Deleted {
            effect.consequences.extend(what_goes(before));
            effect.details.insert("deleted".to_owned(), json!({&*old.kind: 1}));
            renamed_release(pair, before, after, &mut effect);
            left_waiting(pair, old, &mut effect);
            machines_of(before, &mut effect);
            if let Some(short) = refactored(old) {
                let namespace = old.namespace.as_deref().map_or(String::new(), |name| format!("{name}/"));
                effect.consequences.push(format!(
                    "help: `forebay rename {short}/{namespace}{} {}` does this in steps without deleting",
                    old.name, id.name
                ));
            }
        }
    }
    effect
        .at(Side::Head, after.object.node.get_ref().location_at("/metadata/name"))
        .at(Side::Base, before.object.node.get_ref().location_at("/metadata/name"))
}

/// What the new name of a HelmRelease means for its release.
/// Source: helm-controller `reconcileDelete`, which uninstalls what its own status names;
/// `internal/action` finds the release of another HelmRelease by its name and namespace.
fn renamed_release(pair: &Pair<'_>, before: &Placed<'_>, after: &Placed<'_>, effect: &mut Effect) {
    let (id, node) = (&before.object.id, before.object.node.get_ref());
    if !kinds::is_helm_release(id) {
        return;
    }
    if is_suspended(pair.base, id, node) {
        effect.consequences.push(fate_of_release(before, &Fate::Deleted, true).to_owned());
        return;
    }
    let old = WantedRelease::of(id, node);
    let new = WantedRelease::of(&after.object.id, after.object.node.get_ref());
    effect.severity = Severity::Disruptive;
    let gone = pair.rendered.uninstalled(id);
    let is_same = old
        .as_ref()
        .zip(new.as_ref())
        .is_some_and(|(old, new)| old.target == new.target && new.changes(old).is_none());
    effect.consequences.push(match old.filter(|_| is_same) {
        Some(old) => format!(
            "both name the release {}/{}: the deletion of the old one uninstalls what the new one has taken over, \
             which then installs it anew",
            old.namespace, old.name
        ),
        None => fate_of_release(before, &Fate::Deleted, false).to_owned(),
    });
    let mut kinds = BTreeMap::from([(id.kind.to_string(), 1u64)]);
    for placed in &gone {
        *kinds.entry(placed.object.id.kind.to_string()).or_default() += 1;
    }
    effect.details.insert("deleted".to_owned(), json!(kinds));
    for placed in gone.iter().filter(|placed| placed.object.id.is("", "PersistentVolumeClaim")).take(CLAIMS) {
        let what = what_goes(placed).unwrap_or_default();
        effect.consequences.push(format!("{}: {what}", placed.object.id));
    }
}

/// The short word for kinds whose deletion deletes more, and which `rename` protects.
fn refactored(id: &ObjectId) -> Option<&'static str> {
    match () {
        () if kinds::is_kustomization(id) => Some("ks"),
        () if kinds::is_helm_release(id) => Some("hr"),
        () => None,
    }
}

/// Objects that are gone, by name and namespace of what applied them.
pub(super) type ByApplier<'p, 'w> = FxHashMap<(&'w str, Option<&'w str>), Vec<&'p Placed<'w>>>;

pub(super) fn by_applier<'p, 'w>(removed: impl Iterator<Item = &'p Placed<'w>>) -> ByApplier<'p, 'w>
where
    'w: 'p,
{
    let mut found = ByApplier::default();
    for placed in removed {
        if let Some(by) = placed.kustomization {
            found.entry((&*by.id.name, by.id.namespace.as_deref())).or_default().push(placed);
        }
    }
    found
}

/// What a Kustomization applied, and what the Kustomizations among it did.
pub(super) fn below<'p, 'w>(by: &ObjectId, removed: &ByApplier<'p, 'w>) -> Vec<&'p Placed<'w>> {
    let mut found: Vec<&'p Placed<'w>> = Vec::new();
    let mut seen: BTreeSet<(&str, Option<&str>)> = BTreeSet::from([(&*by.name, by.namespace.as_deref())]);
    let mut next = 0;
    let direct = |name: &str, namespace: Option<&str>| {
        let inside = removed.get(&(name, namespace)).into_iter().flatten().copied();
        inside.collect::<Vec<&'p Placed<'w>>>()
    };
    found.extend(
        direct(&by.name, by.namespace.as_deref()).into_iter().filter(|placed| placed.object.id != *by),
    );
    while let Some(placed) = found.get(next).copied() {
        next += 1;
        let id = &placed.object.id;
        let mut is_new = || seen.insert((&id.name, id.namespace.as_deref()));
        if *placed.target == ApplyTarget::Local && kinds::is_kustomization(id) && is_new() {
            found.extend(
                direct(&id.name, id.namespace.as_deref()).into_iter().filter(|own| own.object.id != *id),
            );
        }
    }
    found
}

/// The file that states an object.
fn home(object: &Effective) -> Option<&FilePath> {
    let holds = |role: FileRole| matches!(role, FileRole::Resource | FileRole::Base | FileRole::Component);
    object.files.iter().find(|(role, _)| holds(*role)).map(|(_, home)| &home.file)
}

/// Whether the file that stated an object is there as it was, and only nothing takes it in.
fn is_still_stated(pair: &Pair<'_>, object: &Effective) -> bool {
    let Some(file) = home(object) else { return false };
    let files = [pair.base_world, pair.head_world].map(|world| world.snapshot.find(file));
    matches!(files, [Some(before), Some(after)] if Arc::ptr_eq(before, after))
}

/// Objects that come, by all that tells them apart but their namespace.
pub(super) type ByName<'p, 'w> = FxHashMap<(&'w ApplyTarget, &'w str, &'w str, &'w str), Vec<&'p Placed<'w>>>;

pub(super) fn by_name<'p, 'w>(added: &[(&Key<'w>, &'p Placed<'w>)]) -> ByName<'p, 'w> {
    let mut found = ByName::default();
    for (key, placed) in added {
        found.entry((key.0, key.1.group, key.1.kind, key.1.name)).or_default().push(placed);
    }
    found
}

/// The namespace that the file of an object puts it into from now on.
pub(super) fn namespace_now<'w>(
    before: &Placed<'w>,
    key: &Key<'w>,
    added: &ByName<'_, 'w>,
) -> Option<&'w str> {
    let file = home(before.object)?;
    let named = added.get(&(key.0, key.1.group, key.1.kind, key.1.name))?;
    let mut same = named.iter().filter(|after| home(after.object) == Some(file));
    let only = same.next().filter(|_| same.next().is_none())?;
    only.object.id.namespace.as_deref()
}

/// `added`: what comes in the same change.
pub(super) fn removal<'w>(
    pair: &Pair<'_>,
    (key, before): (&Key<'w>, &Placed<'w>),
    removed: &ByApplier<'_, '_>,
    added: &ByName<'_, 'w>,
) -> Effect {
    let id = &before.object.id;
    let fate = fate(pair, before);
    let hashed = generated_stem(&id.name).is_some();
    let mut effect = Effect::new(pair, fate.effect(), id);
    if hashed && fate == Fate::Deleted {
        effect.severity = Severity::Routine;
    }
    effect.target = before.target.clone();
    effect.reason = match namespace_now(before, key, added) {
        Some(namespace) => format!("from now on it is in namespace {namespace}"),
        None if is_still_stated(pair, before.object) => {
            "no longer listed, the file is still there".to_owned()
        }
        None => "removed from Git".to_owned(),
    };
    match &fate {
        Fate::Deleted => deletion(pair, before, &mut effect),
        Fate::Orphaned(why) | Fate::Kept(why) => {
            effect.consequences.push(format!("it stays in the cluster: {why}"))
        }
        Fate::Unapplied => {
            effect.details.insert("unapplied".to_owned(), json!(true));
            effect.consequences.push(UNAPPLIED.to_owned());
        }
    }
    if matches!(&fate, Fate::Orphaned(why) if why.contains("another cluster")) {
        effect.severity = Severity::Disruptive;
        effect.reason = "applied to another cluster from now on".to_owned();
    }
    if kinds::is_kustomization(id) && *before.target == ApplyTarget::Local {
        inventory(pair, &below(id, removed), &fate, &mut effect);
        if fate == Fate::Deleted && takes_what_is_elsewhere(pair, id) {
            effect.consequences.push("what it applied, which is not known here, goes with it".to_owned());
        }
    }
    if fate == Fate::Deleted {
        left_waiting(pair, id, &mut effect);
    }
    let suspended = is_suspended(pair.base, id, before.object.node.get_ref());
    if id.is(kinds::OPERATOR, "ResourceSet") && fate == Fate::Deleted && suspended {
        effect.consequences.push("it is not reconciled: what it made stays in the cluster".to_owned());
    }
    if kinds::is_helm_release(id) {
        effect.consequences.push(fate_of_release(before, &fate, suspended).to_owned());
    }
    let place = before.object.node.get_ref().location_at("/metadata/name");
    effect.at(Side::Base, place)
}

/// Who depends on what is gone: none of them is applied any more.
/// Source: kustomize-controller and helm-controller `checkDependencies`.
fn left_waiting(pair: &Pair<'_>, id: &ObjectId, effect: &mut Effect) {
    let Some(relations) = &pair.relations else { return };
    let names: BTreeSet<&str> =
        relations.dependants(id).iter().map(|dependant| &*dependant.object.id.name).collect();
    let shown: Vec<&str> = names.iter().take(NAMED_DEPENDANTS).copied().collect();
    effect.consequences.push(match names.len() {
        0 => return,
        1 => format!("{} depends on it: it is not applied any more until that is there again", shown[0]),
        count if count == shown.len() => {
            format!(
                "{} depend on it: they are not applied any more until it is there again",
                shown.join(", ")
            )
        }
        count => format!(
            "{count} {}s depend on it ({}, …): they are not applied any more until it is there again",
            id.kind,
            shown.join(", ")
        ),
    });
    effect.severity = Severity::Disruptive;
    effect.details.insert("waitForNothing".to_owned(), json!(names.len()));
}

/// Names of those that depend on what is gone.
const NAMED_DEPENDANTS: usize = 4;

/// What goes with an object that is deleted, and why nothing holds it.
fn deletion(pair: &Pair<'_>, before: &Placed<'_>, effect: &mut Effect) {
    effect.consequences.extend(what_goes(before));
    in_namespace(pair, before, effect);
    if added_protection_too_late(pair, &before.object.id) {
        effect.consequences.push(
            "prune: disabled was added in the same change: it never reaches the cluster, so it does not protect"
                .to_owned(),
        );
    }
    machines_of(before, effect);
    effect.consequences.extend(before.kustomization.and_then(|by| by_its_old_spec(pair, by)));
}

/// What the removal of a HelmRelease means for its release.
fn fate_of_release(before: &Placed<'_>, fate: &Fate, suspended: bool) -> &'static str {
    match (fate, suspended) {
        (Fate::Deleted, false) => {
            "its release is uninstalled; what its chart's crds/ brought and claims of \
             volumeClaimTemplates stay"
        }
        (Fate::Deleted, true) => match before.object.node.get_ref().at("/spec/chart") {
            Some(_) => "suspended: its release stays installed, its HelmChart is left behind",
            None => "suspended: its release stays installed",
        },
        _ => "its release stays installed",
    }
}

/// A Kustomization whose build holds nothing any more, and which therefore prunes
/// all that it applied.
/// Source: kustomize-controller, test `PruneEmpty`.
pub(super) fn emptied(pair: &Pair<'_>, now: &Applied, inside: &[&Placed<'_>]) -> Effect {
    let mut effect = Effect::new(pair, EffectKind::Emptied, &now.id);
    effect.reason = "its build holds no object any more, and is ready".to_owned();
    effect.field = "/spec/path".to_owned();
    let going: Vec<&&Placed<'_>> =
        inside.iter().filter(|placed| fate(pair, placed) == Fate::Deleted).collect();
    let fate = if going.is_empty() { Fate::Orphaned("") } else { Fate::Deleted };
    inventory(pair, inside, &fate, &mut effect);
    if going.is_empty() {
        effect.severity = Severity::Notable;
    }
    effect.at(Side::Head, now.node.get_ref().location_at("/spec/path"))
}

/// Kinds that are named in a count, the worst first.
const NAMED: [&str; 9] = [
    "PersistentVolumeClaim",
    "PersistentVolume",
    "Namespace",
    "CustomResourceDefinition",
    "Cluster",
    "MachineDeployment",
    "HelmRelease",
    "Kustomization",
    "StatefulSet",
];

/// `2 PersistentVolumeClaims, 1 Namespace, 20 others`.
pub(crate) fn counted_kinds(kinds: &BTreeMap<String, u64>) -> String {
    let plural = |count: u64, kind: &str| format!("{count} {kind}{}", if count == 1 { "" } else { "s" });
    let named = |kind: &str| NAMED.contains(&kind);
    let mut parts: Vec<String> =
        NAMED.iter().filter_map(|kind| kinds.get(*kind).map(|count| plural(*count, kind))).collect();
    let others: u64 = kinds.iter().filter(|(kind, _)| !named(kind)).map(|(_, count)| count).sum();
    if others > 0 && parts.is_empty() {
        return String::new();
    }
    if others > 0 {
        parts.push(if others == 1 { "1 other".to_owned() } else { format!("{others} others") });
    }
    parts.join(", ")
}

/// The objects of a removed Kustomization, by fate and kind.
pub(super) fn inventory(pair: &Pair<'_>, inside: &[&Placed<'_>], fate_of_it: &Fate, effect: &mut Effect) {
    let goes = |placed: &Placed<'_>| *fate_of_it == Fate::Deleted && fate(pair, placed) == Fate::Deleted;
    let mut gone: Vec<&Placed<'_>> = inside.iter().copied().filter(|placed| goes(placed)).collect();
    let stay = inside.len() - gone.len();
    let releases: Vec<&ObjectId> = gone
        .iter()
        .filter(|placed| kinds::is_helm_release(&placed.object.id))
        .filter(|placed| !is_suspended(pair.base, &placed.object.id, placed.object.node.get_ref()))
        .map(|placed| &placed.object.id)
        .collect();
    let direct = gone.len();
    let unseen = releases.iter().filter(|id| !pair.rendered.is_known(id)).count();
    let uninstalled = uninstalled_words(releases.len(), unseen);
    gone.extend(releases.into_iter().flat_map(|id| pair.rendered.uninstalled(id)));
    let machines: u64 = gone.iter().filter_map(|placed| own_machines(placed)).sum();
    with_it(&gone, direct, stay, effect);
    effect.consequences.extend(uninstalled);
    if machines > 0 {
        effect.details.insert("machinesDeleted".to_owned(), json!(machines));
        effect.consequences.push(format!("{machines} Machines go with it"));
    }
    if stay > 0 {
        let stays = if stay == 1 { "1 of its objects stays" } else { &format!("{stay} of its objects stay") };
        let mut reasons: Vec<&str> = inside.iter().filter_map(|placed| why_it_stays(pair, placed)).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let why = match reasons[..] {
            [only] => format!(": {only}"),
            _ => String::new(),
        };
        effect.consequences.push(format!("{stays} in the cluster{why}"));
    }
    effect.details.insert("remainingObjects".to_owned(), json!(stay));
    if gone.is_empty() && effect.severity == Severity::Disruptive && stay > 0 {
        effect.severity = Severity::Notable;
    }
}

fn why_it_stays(pair: &Pair<'_>, placed: &Placed<'_>) -> Option<&'static str> {
    match fate(pair, placed) {
        Fate::Deleted | Fate::Unapplied => None,
        Fate::Orphaned(why) | Fate::Kept(why) => Some(why).filter(|why| !why.is_empty()),
    }
}

/// `2 releases are uninstalled; what the charts of both made is not known here`.
fn uninstalled_words(releases: usize, unseen: usize) -> Option<String> {
    let uninstalled = match releases {
        0 => return None,
        1 => "1 release is uninstalled".to_owned(),
        count => format!("{count} releases are uninstalled"),
    };
    Some(match unseen {
        0 => uninstalled,
        1 if releases == 1 => format!("{uninstalled}; what its chart made goes, too, and is not known here"),
        count if count == releases => {
            format!("{uninstalled}; what their charts made goes, too, and is not known here")
        }
        count => format!("{uninstalled}; what the charts of {count} of them made is not known here"),
    })
}

/// What Git knows of that stands in a Namespace, what holds data first.
fn in_namespace(pair: &Pair<'_>, before: &Placed<'_>, effect: &mut Effect) {
    let id = &before.object.id;
    let (true, Some(base)) = (id.is("", "Namespace"), pair.base) else { return };
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    // Those that Git goes on to state: the others are told of by themselves.
    let mut stated: BTreeMap<String, u64> = BTreeMap::new();
    let mut claims: BTreeSet<String> = BTreeSet::new();
    for (member, object) in pair.base_world.members(base) {
        if member.target != *before.target || object.id.namespace.as_deref() != Some(&*id.name) {
            continue;
        }
        *kinds.entry(object.id.kind.to_string()).or_default() += 1;
        let is_there = |head: &Cluster| head.find(&member.target, object.id.named()).is_some();
        if pair.head.is_some_and(is_there) {
            *stated.entry(object.id.kind.to_string()).or_default() += 1;
        }
        if object.id.is("", "PersistentVolumeClaim") {
            claims.insert(object.id.to_string());
        }
    }
    let total: u64 = kinds.values().sum();
    if total == 0 {
        return;
    }
    effect.details.insert("deleted".to_owned(), json!(stated));
    let list = counted_kinds(&kinds);
    let list = if list.is_empty() { list } else { format!(": {list}") };
    let mut words = vec![match total {
        1 => format!("1 object that Git knows is in it{list}"),
        _ => format!("{total} objects that Git knows are in it{list}"),
    }];
    let more = claims.len().saturating_sub(CLAIMS);
    let name =
        |claim: String| format!("{claim}: its volume and data go with it where the reclaim policy is Delete");
    words.extend(claims.into_iter().take(CLAIMS).map(name));
    if more > 0 {
        words.push(format!("and {more} more like these"));
    }
    effect.consequences.extend(words);
}

/// Objects that are named of those that hold data; the rest is counted.
const CLAIMS: usize = 5;

/// What goes with something that is deleted, what holds data first; the first `direct` of it
/// by itself, the rest because releases are uninstalled.
pub(super) fn with_it(gone: &[&Placed<'_>], direct: usize, stay: usize, effect: &mut Effect) {
    let mut deleted: BTreeMap<String, u64> = BTreeMap::new();
    for placed in gone {
        *deleted.entry(placed.object.id.kind.to_string()).or_default() += 1;
    }
    let total = gone.len();
    effect.details.insert("deleted".to_owned(), json!(deleted));
    effect.details.insert("deletedObjects".to_owned(), json!(total));
    if total == 0 {
        return;
    }
    let kinds = counted_kinds(&deleted);
    let list = if kinds.is_empty() { String::new() } else { format!(": {kinds}") };
    let by_charts = match total - direct {
        0 => String::new(),
        count if direct == 0 => format!(" (its chart made {})", if count == 1 { "it" } else { "them" }),
        count => format!(" ({count} of them made by charts)"),
    };
    effect.consequences.push(match (effect.effect, stay) {
        (EffectKind::Emptied, 0) => {
            format!("all {total} objects that it applied are pruned{list}{by_charts}")
        }
        (EffectKind::Emptied, _) => format!("{total} objects that it applied are pruned{list}{by_charts}"),
        _ if total == 1 => format!("1 object goes with it{list}{by_charts}"),
        _ => format!("{total} objects go with it{list}{by_charts}"),
    });
    for kind in ["PersistentVolumeClaim", "Namespace", "CustomResourceDefinition"] {
        let of: Vec<&&Placed<'_>> = gone.iter().filter(|placed| &*placed.object.id.kind == kind).collect();
        let names: BTreeSet<String> = of.iter().map(|placed| placed.object.id.to_string()).collect();
        let what = of.iter().find_map(|placed| what_goes(placed));
        let (Some(what), most) = (what, if kind == "PersistentVolumeClaim" { CLAIMS } else { 3 }) else {
            continue;
        };
        let more = names.len().saturating_sub(most);
        effect.consequences.extend(names.into_iter().take(most).map(|name| format!("{name}: {what}")));
        if more > 0 {
            effect.consequences.push(format!("and {more} more like these"));
        }
    }
}

/// Whether the head still writes the object, no longer applied, with a fresh
/// `prune: disabled`.
fn added_protection_too_late(pair: &Pair<'_>, id: &ObjectId) -> bool {
    pair.head_world.snapshot.objects().iter().any(|object| {
        object.id.kind == id.kind
            && object.id.name == id.name
            && protected(object.node.get_ref()) == Some("prune: disabled")
    })
}

/// What a deletion takes along that Git does not bring back.
pub(super) fn what_goes(before: &Placed<'_>) -> Option<String> {
    let id = &before.object.id;
    let node = before.object.node.get_ref();
    let text = match (id.group(), &*id.kind) {
        ("", "Namespace") => "everything in it goes, also what Git does not know",
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            "all objects of its kind in the cluster go with it, also what Git does not know"
        }
        ("", "PersistentVolumeClaim") => "its volume and data go with it where the reclaim policy is Delete",
        ("", "Service") if node.str_at("/spec/type").as_deref() == Some("LoadBalancer") => {
            "its load balancer and address go with it"
        }
        ("networking.k8s.io", "Ingress") | ("gateway.networking.k8s.io", "Gateway") => {
            "its address goes with it, and certificates that were issued for it"
        }
        ("external-secrets.io", "ExternalSecret")
            if node.str_at("/spec/target/creationPolicy").is_none_or(|policy| policy == "Owner") =>
        {
            "the Secret that it made goes with it"
        }
        ("bitnami.com", "SealedSecret") => "the Secret that it made goes with it",
        ("fluxcd.controlplane.io", "FluxInstance") => {
            "Flux is uninstalled, its CRDs and every Flux object with it; what they applied stays"
        }
        (CORE, "Cluster" | "MachineDeployment" | "MachineSet" | "MachinePool")
        | (CONTROL_PLANE, "KubeadmControlPlane") => {
            return Some(match own_machines(before) {
                Some(1) => "1 Machine goes with it".to_owned(),
                Some(count) if count > 0 => format!("{count} Machines go with it"),
                _ => "its Machines go with it".to_owned(),
            });
        }
        _ => return None,
    };
    Some(text.to_owned())
}

fn machines_of(before: &Placed<'_>, effect: &mut Effect) {
    if let Some(count) = own_machines(before).filter(|count| *count > 0) {
        effect.details.insert("machinesDeleted".to_owned(), json!(count));
    }
}

/// How many Machines an object of Cluster API has by its text: replicas that are
/// not stated are one.
fn own_machines(before: &Placed<'_>) -> Option<u64> {
    let id = &before.object.id;
    let node = before.object.node.get_ref();
    let replicas = |node: NodeRef<'_>, pointer: &str| match node.at(pointer) {
        None => Some(1),
        Some(count) => count.as_int().and_then(|count| u64::try_from(count).ok()),
    };
    match (id.group(), &*id.kind) {
        (CORE, "Cluster") => {
            let topology = node.at("/spec/topology")?;
            let mut count = replicas(topology, "/controlPlane/replicas")?;
            for list in ["/workers/machineDeployments", "/workers/machinePools"] {
                for entry in topology.items_at(list) {
                    count += replicas(entry, "/replicas")?;
                }
            }
            Some(count)
        }
        (CORE, "MachineDeployment" | "MachineSet" | "MachinePool")
        | (CONTROL_PLANE, "KubeadmControlPlane") => replicas(node, "/spec/replicas"),
        _ => None,
    }
}
