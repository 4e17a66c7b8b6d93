//! Objects added, removed, changed, moved, renamed, and what the controllers
//! make of it.
//! Source: kustomize-controller `finalizerShouldDeleteResources`, `prune`
//! (ssa/manager_delete.go); helm-controller `reconcileDelete`; the API server's
//! immutable fields.

use super::fields::{FieldChange, compare};
use super::machines::Told;
use super::{Effect, Key, Objects, Pair, Placed, Side};
use crate::model::kinds;
use crate::model::kinds::SOURCE;
use crate::model::{EffectKind, ObjectId, Severity};
use crate::simulate::suspend::consumers;
use crate::world::{Applied, ApplyTarget};
use crate::yaml::{Known, NodeRef, pointer_join};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// `told`: fields that effects on Machines tell, which are not told again.
pub(super) fn effects(pair: &Pair<'_>, told: &Told<'_>) -> Vec<Effect> {
    let base = &pair.before;
    let head = &pair.after;
    let mut out = Vec::new();
    let removed: Vec<(&Key<'_>, &Placed<'_>)> =
        base.iter().filter(|(key, _)| !head.contains_key(*key)).collect();
    let added: Vec<(&Key<'_>, &Placed<'_>)> =
        head.iter().filter(|(key, _)| !base.contains_key(*key)).collect();
    let renamed = renames(&removed, &added);
    let gone: BTreeSet<&ObjectId> = removed
        .iter()
        .filter(|(key, placed)| *key.0 == ApplyTarget::Local && kinds::is_kustomization(&placed.object.id))
        .map(|(_, placed)| &placed.object.id)
        .collect();
    for (key, before) in base {
        if let Some(after) = head.get(key) {
            both(pair, before, after, told, &mut out);
            out.extend(values_from(pair, before, after));
        }
    }
    for (_, before) in &removed {
        if renamed.values().any(|old| std::ptr::eq(old.object, before.object)) {
            continue;
        }
        // What a removed Kustomization applied is told with it.
        let by_gone = before.applied_by.is_some_and(|by| gone.contains(&by.id) && by.id != before.object.id);
        if !by_gone {
            out.push(removal(pair, before, base, head));
        }
    }
    for (key, after) in &added {
        match renamed.get(*key) {
            Some(before) => out.push(rename(pair, before, after)),
            None => out.push(addition(pair, after)),
        }
    }
    out
}

/// Added objects that are removed ones under another name: a generated name
/// with another hash, or equal content.
fn renames<'p, 'w>(
    removed: &[(&Key<'w>, &'p Placed<'w>)],
    added: &[(&'p Key<'w>, &'p Placed<'w>)],
) -> BTreeMap<&'p Key<'w>, &'p Placed<'w>> {
    let mut renamed: BTreeMap<&Key<'w>, &Placed<'w>> = BTreeMap::new();
    let mut used: BTreeSet<usize> = BTreeSet::new();
    for (key, after) in added {
        let found = removed.iter().enumerate().find(|(index, (old, before))| {
            let same_kind = (old.0, old.1, old.2, old.3) == (key.0, key.1, key.2, key.3);
            let hashed = generated_stem(old.4).is_some() && generated_stem(old.4) == generated_stem(key.4);
            same_kind && !used.contains(index) && (hashed || same_but_name(before, after))
        });
        if let Some((index, (_, before))) = found {
            used.insert(index);
            renamed.insert(key, before);
        }
    }
    renamed
}

/// The name without kustomize's hash suffix, when it has one.
fn generated_stem(name: &str) -> Option<&str> {
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

fn rename(pair: &Pair<'_>, before: &Placed<'_>, after: &Placed<'_>) -> Effect {
    let hashed = generated_stem(&before.object.id.name).is_some();
    let mut effect = Effect::new(pair, EffectKind::Renamed, &after.object.id);
    if hashed {
        effect.severity = Severity::Routine;
    }
    effect.target = after.target.clone();
    effect.field = "/metadata/name".to_owned();
    effect.before = json!(&*before.object.id.name);
    effect.after = json!(&*after.object.id.name);
    effect.reason = if hashed {
        "its generated content changed".to_owned()
    } else {
        "created anew; the old one is removed".to_owned()
    };
    if hashed {
        let changes = compare(before.object.node.get_ref(), after.object.node.get_ref());
        effect.details.insert("fields".to_owned(), fields(&changes, &after.object.id));
    } else {
        effect.consequences.push(fate(pair, before).words(&before.object.id));
    }
    effect
        .at(Side::Head, after.object.node.get_ref().location_at("/metadata/name"))
        .at(Side::Base, before.object.node.get_ref().location_at("/metadata/name"))
}

fn addition(pair: &Pair<'_>, after: &Placed<'_>) -> Effect {
    let mut effect = Effect::new(pair, EffectKind::Added, &after.object.id);
    effect.target = after.target.clone();
    effect.reason = match after.applied_by {
        Some(by) if pair.failed_before.contains(&by.id) => {
            format!("applied by {}, whose build failed before", by.id)
        }
        Some(by) => format!("applied by {}", by.id),
        None => "created".to_owned(),
    };
    effect.consequences.extend(held_back(after));
    let place = after.object.node.get_ref().location_at("/metadata/name");
    effect.at(Side::Head, place)
}

/// Whether an object of the base is deleted by the change, not only no longer
/// looked after.
pub(super) fn deletes(pair: &Pair<'_>, target: &ApplyTarget, id: &ObjectId) -> bool {
    let key = (target, id.group(), &*id.kind, id.namespace.as_deref(), &*id.name);
    pair.before.get(&key).is_some_and(|before| fate(pair, before) == Fate::Deleted)
}

/// What becomes of an object that is no longer wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Fate {
    Deleted,
    /// It stays, and nothing looks after it any more.
    Orphaned(&'static str),
    /// It stays because it says so.
    Kept(&'static str),
}

impl Fate {
    fn effect(&self) -> EffectKind {
        match self {
            Fate::Deleted => EffectKind::Deleted,
            Fate::Orphaned(_) => EffectKind::Orphaned,
            Fate::Kept(_) => EffectKind::Kept,
        }
    }

    fn words(&self, id: &ObjectId) -> String {
        match self {
            Fate::Deleted => format!("{id} is deleted"),
            Fate::Orphaned(why) | Fate::Kept(why) => format!("{id} stays in the cluster: {why}"),
        }
    }
}

fn text_at<'n>(node: NodeRef<'n>, map: &str, key: &str) -> Option<std::borrow::Cow<'n, str>> {
    node.at(map)?.get(key)?.text()
}

/// `prune: disabled` and its kin on the object as it is in the cluster now.
fn protected(node: NodeRef<'_>) -> Option<&'static str> {
    let has = |key: &str, value: &str| {
        ["/metadata/labels", "/metadata/annotations"]
            .iter()
            .any(|map| text_at(node, map, key).is_some_and(|text| text.eq_ignore_ascii_case(value)))
    };
    if has("kustomize.toolkit.fluxcd.io/prune", "disabled") {
        Some("prune: disabled")
    } else if has("kustomize.toolkit.fluxcd.io/reconcile", "disabled") {
        Some("reconcile: disabled")
    } else if has("kustomize.toolkit.fluxcd.io/ssa", "ignore") {
        Some("ssa: Ignore")
    } else {
        None
    }
}

fn is_suspended(node: NodeRef<'_>) -> bool {
    node.at("/spec/suspend").and_then(NodeRef::as_bool) == Some(true)
}

fn prunes(node: NodeRef<'_>) -> bool {
    node.at("/spec/prune").and_then(NodeRef::as_bool) == Some(true)
}

/// The fate of an object that the head no longer applies.
fn fate(pair: &Pair<'_>, before: &Placed<'_>) -> Fate {
    if let Some(why) = protected(before.object.node.get_ref()) {
        return Fate::Kept(why);
    }
    let Some(by) = before.applied_by else {
        return Fate::Orphaned("nothing here applied it");
    };
    let still = pair.head.and_then(|cluster| cluster.applied(by.id.namespace.as_deref(), &by.id.name));
    match still {
        Some(still) if is_suspended(still.node.get_ref()) => {
            Fate::Orphaned("its Kustomization is suspended; it is pruned after a resume")
        }
        Some(still) if !prunes(still.node.get_ref()) => Fate::Orphaned("its Kustomization has prune: false"),
        Some(_) => Fate::Deleted,
        None => fate_with(pair, by, 0),
    }
}

/// The fate of what a removed Kustomization applied.
fn fate_with(pair: &Pair<'_>, by: &Applied, depth: u32) -> Fate {
    let node = by.node.get_ref();
    // It goes only if what applied it deletes it.
    let own = match by.applied_by.and_then(|index| pair.base.map(|cluster| &cluster.applied[index as usize]))
    {
        _ if protected(node).is_some() => Fate::Kept("its Kustomization is protected from pruning"),
        Some(parent) if parent.id != by.id && depth < 64 => {
            match pair
                .head
                .and_then(|cluster| cluster.applied(parent.id.namespace.as_deref(), &parent.id.name))
            {
                Some(still) if is_suspended(still.node.get_ref()) => {
                    Fate::Orphaned("the parent of its Kustomization is suspended")
                }
                Some(still) if !prunes(still.node.get_ref()) => {
                    Fate::Orphaned("the parent of its Kustomization has prune: false")
                }
                Some(_) => Fate::Deleted,
                None => fate_with(pair, parent, depth + 1),
            }
        }
        _ => Fate::Deleted,
    };
    if own != Fate::Deleted {
        return own;
    }
    if is_suspended(node) {
        return Fate::Orphaned("its Kustomization is suspended: deleting that prunes nothing");
    }
    match node.str_at("/spec/deletionPolicy").as_deref() {
        Some("Orphan") => Fate::Orphaned("deletionPolicy: Orphan"),
        Some("Delete" | "WaitForTermination") => Fate::Deleted,
        _ if prunes(node) => Fate::Deleted,
        _ => Fate::Orphaned("its Kustomization has prune: false"),
    }
}

fn removal(pair: &Pair<'_>, before: &Placed<'_>, base: &Objects<'_>, head: &Objects<'_>) -> Effect {
    let id = &before.object.id;
    let fate = fate(pair, before);
    let hashed = generated_stem(&id.name).is_some();
    let mut effect = Effect::new(pair, fate.effect(), id);
    if hashed && fate == Fate::Deleted {
        effect.severity = Severity::Routine;
    }
    effect.target = before.target.clone();
    effect.reason = "removed from Git".to_owned();
    match &fate {
        Fate::Deleted => {}
        Fate::Orphaned(why) | Fate::Kept(why) => {
            effect.consequences.push(format!("it stays in the cluster: {why}"))
        }
    }
    if fate == Fate::Deleted && added_protection_too_late(pair, id) {
        effect.consequences.push(
            "prune: disabled was added in the same change: it never reaches the cluster, so it does not protect"
                .to_owned(),
        );
    }
    if kinds::is_kustomization(id) && *before.target == ApplyTarget::Local {
        let inside: Vec<&Placed<'_>> = base
            .iter()
            .filter(|(key, placed)| !head.contains_key(*key) && placed.object.id != *id)
            .filter(|(_, placed)| {
                placed.applied_by.is_some_and(|by| by.id.name == id.name && by.id.namespace == id.namespace)
            })
            .map(|(_, placed)| placed)
            .collect();
        inventory(pair, &inside, &fate, &mut effect);
    }
    if kinds::is_helm_release(id) {
        effect.consequences.push(match (&fate, is_suspended(before.object.node.get_ref())) {
            (Fate::Deleted, false) => "its release is uninstalled".to_owned(),
            (Fate::Deleted, true) => {
                "suspended: its release stays installed, its HelmChart is left behind".to_owned()
            }
            _ => "its release stays installed".to_owned(),
        });
    }
    let place = before.object.node.get_ref().location_at("/metadata/name");
    effect.at(Side::Base, place)
}

/// The objects of a removed Kustomization, by fate and kind.
fn inventory(pair: &Pair<'_>, inside: &[&Placed<'_>], fate_of_it: &Fate, effect: &mut Effect) {
    let mut deleted: BTreeMap<&str, usize> = BTreeMap::new();
    let mut stay = 0;
    for placed in inside {
        if *fate_of_it == Fate::Deleted && fate(pair, placed) == Fate::Deleted {
            *deleted.entry(&*placed.object.id.kind).or_default() += 1;
        } else {
            stay += 1;
        }
    }
    let total: usize = deleted.values().sum();
    let first = ["PersistentVolumeClaim", "Namespace", "CustomResourceDefinition"];
    if total > 0 {
        let mut parts: Vec<String> = first
            .iter()
            .filter_map(|kind| {
                deleted.get(kind).map(|count| format!("{count} {kind}{}", if *count == 1 { "" } else { "s" }))
            })
            .collect();
        let named: usize = first.iter().filter_map(|kind| deleted.get(kind)).sum();
        if total > named && named > 0 {
            parts.push(format!("{} others", total - named));
        }
        let list = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        effect.consequences.push(format!("{total} objects go with it{list}"));
    }
    if stay > 0 {
        effect.consequences.push(format!("{stay} of its objects stay in the cluster"));
    }
    effect.details.insert("deleted".to_owned(), json!(deleted));
    effect.details.insert("deletedObjects".to_owned(), json!(total));
    effect.details.insert("remainingObjects".to_owned(), json!(stay));
    if total == 0 && effect.severity == Severity::Disruptive && stay > 0 {
        effect.severity = Severity::Notable;
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

fn both(pair: &Pair<'_>, before: &Placed<'_>, after: &Placed<'_>, told: &Told<'_>, out: &mut Vec<Effect>) {
    let id = &after.object.id;
    moved(pair, before, after, out);
    if std::ptr::eq(before.object, after.object) {
        return;
    }
    let changes = compare(before.object.node.get_ref(), after.object.node.get_ref());
    // Suspension, gates, event metadata and Machines are told by their own rooms.
    let changes: Vec<FieldChange> = changes
        .into_iter()
        .filter(|change| !told_elsewhere(id, change) && !told.covers(after.target, id, change))
        .collect();
    let Some(first) = changes.first() else { return };
    let class = class_of(id, &changes);
    let immutable: Vec<&FieldChange> = changes.iter().filter(|change| is_immutable(id, change)).collect();
    let decisive = changes.iter().find(|change| class.decides(&change.path)).unwrap_or(first);
    let mut effect = Effect::new(pair, class.kind, id);
    effect.target = after.target.clone();
    fill(&mut effect, decisive, &changes, class.reason);
    if class.kind == EffectKind::WorkloadRollout {
        effect.consequences.push(rollout_words(id, after.object.node.get_ref()));
    }
    if class.kind == EffectKind::SourceChange {
        effect.consequences.extend(followers(pair, id));
    }
    effect.consequences.extend(held_back(after));
    if !immutable.is_empty() {
        let forced = forces(after);
        let mut blocked = Effect::new(pair, EffectKind::Immutable, id);
        blocked.target = after.target.clone();
        fill(&mut blocked, immutable[0], &changes, "the API server refuses to change this field");
        blocked.consequences.push(if forced {
            "force is set: the object is deleted and created anew".to_owned()
        } else {
            "the apply fails until the object is deleted, or recreated by force".to_owned()
        });
        out.push(blocked);
        if immutable.len() == changes.len() {
            return;
        }
    }
    out.push(effect);
}

/// Who takes manifests or charts from a source that points elsewhere now.
fn followers(pair: &Pair<'_>, id: &ObjectId) -> Option<String> {
    let names: BTreeSet<String> =
        consumers(pair.head_world, pair.head?, id).iter().map(|object| object.id.to_string()).collect();
    let list = Vec::from_iter(names);
    match list.len() {
        0 => None,
        1 => Some(format!("{} follows it", list[0])),
        count if count <= 3 => Some(format!("{} follow it", list.join(", "))),
        count => Some(format!("{count} objects follow it: {}, …", list[..2].join(", "))),
    }
}

/// Why a change stays in Git for now: what would apply it, or the release itself,
/// is suspended.
fn held_back(after: &Placed<'_>) -> Option<String> {
    let by = after.applied_by.filter(|by| by.id != after.object.id && is_suspended(by.node.get_ref()));
    if let Some(by) = by {
        return Some(format!("{} is suspended: applied when it is resumed", by.id));
    }
    let release = kinds::is_helm_release(&after.object.id) && is_suspended(after.object.node.get_ref());
    release.then(|| "it is suspended: upgraded when it is resumed".to_owned())
}

/// A release whose own text stays, and whose values come from a ConfigMap or
/// Secret with other content.
/// Source: helm-controller `internal/reconcile/atomic_release.go`: a changed
/// digest of the values is an upgrade.
fn values_from(pair: &Pair<'_>, before: &Placed<'_>, after: &Placed<'_>) -> Option<Effect> {
    let id = &after.object.id;
    if !kinds::is_helm_release(id) {
        return None;
    }
    let (old, new) = (before.object.node.get_ref(), after.object.node.get_ref());
    let own = compare(old, new);
    if class_of(id, &own).kind == EffectKind::ReleaseUpgrade {
        return None;
    }
    for (index, entry) in new.items_at("/spec/valuesFrom").enumerate() {
        let (Some(kind), Some(name)) = (entry.str_at("/kind"), entry.str_at("/name")) else { continue };
        let key = entry.str_at("/valuesKey").unwrap_or("values.yaml".into());
        let identity = (&ApplyTarget::Local, "", &*kind, id.namespace.as_deref(), &*name);
        let (Some(was), Some(is)) = (pair.before.get(&identity), pair.after.get(&identity)) else {
            continue;
        };
        let field = |map: &str| pointer_join(map, &key);
        let change = ["/data", "/stringData", "/binaryData"].iter().map(|map| field(map)).find_map(|path| {
            let changes = compare(was.object.node.get_ref(), is.object.node.get_ref());
            changes.into_iter().find(|change| change.path == path)
        });
        let Some(change) = change else { continue };
        let mut effect = Effect::new(pair, EffectKind::ReleaseUpgrade, id);
        effect.target = after.target.clone();
        effect.field = format!("/spec/valuesFrom/{index}");
        effect.reason = format!("the release is upgraded: its values in {} changed", is.object.id);
        effect.consequences.extend(held_back(after));
        let place = change.head.or(change.base);
        return Some(effect.at(Side::Head, place));
    }
    None
}

fn fill(effect: &mut Effect, decisive: &FieldChange, changes: &[FieldChange], reason: &str) {
    effect.field.clone_from(&decisive.path);
    let secret = effect.object.is("", "Secret");
    effect.before = masked(secret, &decisive.path, &decisive.before);
    effect.after = masked(secret, &decisive.path, &decisive.after);
    effect.reason = reason.to_owned();
    let listed = fields(changes, &effect.object);
    effect.details.insert("fields".to_owned(), listed);
    let (side, place) = match (&decisive.head, &decisive.base) {
        (Some(head), _) if !decisive.after.is_null() || decisive.base.is_none() => {
            (Side::Head, Some(head.clone()))
        }
        (_, Some(base)) => (Side::Base, Some(base.clone())),
        (head, None) => (Side::Head, head.clone()),
    };
    effect.causes.extend(place.map(|location| super::Cause { location, side }));
}

fn fields(changes: &[FieldChange], id: &ObjectId) -> Value {
    let secret = id.is("", "Secret");
    let list = changes.iter().map(|change| {
        json!({
            "path": change.path,
            "before": masked(secret, &change.path, &change.before),
            "after": masked(secret, &change.path, &change.after),
        })
    });
    Value::Array(list.collect())
}

/// Values of Secrets are never shown.
fn masked(secret: bool, path: &str, value: &Value) -> Value {
    let hidden = secret && (path.starts_with("/data") || path.starts_with("/stringData")) && !value.is_null();
    if hidden { json!("***") } else { value.clone() }
}

fn told_elsewhere(id: &ObjectId, change: &FieldChange) -> bool {
    let path = change.path.as_str();
    let flux = kinds::of(id).is_some();
    let gate = id.is("gating.toolkit.fluxcd.io", "Gate") && matches!(path, "/spec/window" | "/spec/default");
    gate || (flux && (path == "/spec/suspend" || path.starts_with("/spec/gates")))
        || path == "/metadata/annotations/reconcile.fluxcd.io~1suspended"
        || path.starts_with("/metadata/annotations/event.toolkit.fluxcd.io~1")
        || path.starts_with("/metadata/annotations/open.gate.fluxcd.io~1")
        || path.starts_with("/metadata/annotations/close.gate.fluxcd.io~1")
}

/// The same object, applied by another Kustomization.
fn moved(pair: &Pair<'_>, before: &Placed<'_>, after: &Placed<'_>, out: &mut Vec<Effect>) {
    let (Some(from), Some(to)) = (before.applied_by, after.applied_by) else { return };
    if (&from.id.name, &from.id.namespace) == (&to.id.name, &to.id.namespace) {
        return;
    }
    let id = &after.object.id;
    let mut effect = Effect::new(pair, EffectKind::Moved, id);
    effect.target = after.target.clone();
    effect.before = json!(from.id.to_string());
    effect.after = json!(to.id.to_string());
    effect.reason = format!("applied by {} instead of {}", to.id.name, from.id.name);
    let leaving = pair.head.and_then(|cluster| cluster.applied(from.id.namespace.as_deref(), &from.id.name));
    let prunes_it = leaving.map_or(prunes(from.node.get_ref()), |still| prunes(still.node.get_ref()));
    if is_suspended(to.node.get_ref()) && prunes_it {
        effect.severity = Severity::Disruptive;
        effect.consequences.push(format!(
            "{} is suspended and does not take it over; {} prunes it: it is deleted",
            to.id.name, from.id.name
        ));
    } else if prunes_it {
        effect.consequences.push(format!(
            "if {} reconciles before {} has applied it, it is deleted and created anew",
            from.id.name, to.id.name
        ));
    }
    let place = after.object.node.get_ref().location_at("/metadata/name");
    out.push(effect.at(Side::Head, place));
}

/// What the controllers make of a change.
struct Class {
    kind: EffectKind,
    reason: &'static str,
    prefixes: &'static [&'static str],
}

impl Class {
    fn decides(&self, path: &str) -> bool {
        self.prefixes.iter().any(|prefix| path.starts_with(prefix))
    }
}

fn class_of(id: &ObjectId, changes: &[FieldChange]) -> Class {
    const TEMPLATE: &[&str] = &["/spec/template", "/spec/jobTemplate"];
    const RELEASE: &[&str] =
        &["/spec/chart", "/spec/chartRef", "/spec/values", "/spec/valuesFrom", "/spec/postRenderers"];
    const SOURCE_FIELDS: &[&str] = &[
        "/spec/ref",
        "/spec/url",
        "/spec/endpoint",
        "/spec/bucketName",
        "/spec/sourceRef",
        "/spec/path",
        "/spec/chart",
        "/spec/version",
    ];
    const QUIET: &[&str] = &[
        "/spec/interval",
        "/spec/timeout",
        "/spec/retryInterval",
        "/metadata/annotations",
        "/metadata/labels",
    ];
    let any = |prefixes: &[&str]| {
        changes.iter().any(|change| prefixes.iter().any(|prefix| change.path.starts_with(prefix)))
    };
    let workload = matches!(
        (id.group(), &*id.kind),
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet") | ("", "ReplicationController")
    );
    if workload && any(TEMPLATE) {
        return Class {
            kind: EffectKind::WorkloadRollout,
            reason: "its pod template changed: Pods are replaced",
            prefixes: TEMPLATE,
        };
    }
    if kinds::is_helm_release(id) && any(RELEASE) {
        return Class {
            kind: EffectKind::ReleaseUpgrade,
            reason: "the release is upgraded",
            prefixes: RELEASE,
        };
    }
    if (id.group() == SOURCE || kinds::is_kustomization(id)) && any(SOURCE_FIELDS) {
        return Class {
            kind: EffectKind::SourceChange,
            reason: "its manifests or charts come from elsewhere",
            prefixes: SOURCE_FIELDS,
        };
    }
    let only_quiet = changes.iter().all(|change| QUIET.iter().any(|prefix| change.path.starts_with(prefix)));
    if kinds::of(id).is_some() && only_quiet && any(&QUIET[..3]) {
        return Class {
            kind: EffectKind::ReconcileOnly,
            reason: "it reconciles at another pace",
            prefixes: &QUIET[..3],
        };
    }
    Class { kind: EffectKind::Changed, reason: "applied with new values", prefixes: &[] }
}

fn rollout_words(id: &ObjectId, node: NodeRef<'_>) -> String {
    match node.at("/spec/replicas").and_then(NodeRef::as_int) {
        Some(count) if &*id.kind != "DaemonSet" => format!("{count} Pods are replaced"),
        _ => "its Pods are replaced".to_owned(),
    }
}

/// Fields that the API server refuses to change on existing objects.
/// Source: `ValidateXUpdate` functions of the built-in kinds.
fn is_immutable(id: &ObjectId, change: &FieldChange) -> bool {
    let fields: &[&str] = match (id.group(), &*id.kind) {
        ("apps", "Deployment" | "DaemonSet" | "ReplicaSet") => &["/spec/selector"],
        ("apps", "StatefulSet") => {
            // Everything but these.
            let mutable = [
                "/spec/replicas",
                "/spec/template",
                "/spec/updateStrategy",
                "/spec/persistentVolumeClaimRetentionPolicy",
                "/spec/minReadySeconds",
                "/spec/ordinals",
                "/spec/revisionHistoryLimit",
            ];
            return change.path.starts_with("/spec/")
                && !mutable.iter().any(|path| change.path.starts_with(path));
        }
        ("batch", "Job") => {
            &["/spec/selector", "/spec/template", "/spec/completions", "/spec/completionMode"]
        }
        ("", "Service") => {
            // A cluster IP may be set, not changed.
            return change.path == "/spec/clusterIP" && !change.before.is_null() && !change.after.is_null();
        }
        ("", "PersistentVolumeClaim") => &[
            "/spec/accessModes",
            "/spec/storageClassName",
            "/spec/selector",
            "/spec/volumeName",
            "/spec/volumeMode",
            "/spec/dataSource",
        ],
        ("", "Secret") => &["/type"],
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => &["/roleRef"],
        ("storage.k8s.io", "StorageClass") => {
            &["/provisioner", "/parameters", "/reclaimPolicy", "/volumeBindingMode"]
        }
        ("scheduling.k8s.io", "PriorityClass") => &["/value", "/preemptionPolicy"],
        ("networking.k8s.io", "IngressClass") => &["/spec/controller"],
        _ => &[],
    };
    fields.iter().any(|field| change.path == *field || change.path.starts_with(&format!("{field}/")))
}

/// `force` of the Kustomization, or on the object.
fn forces(after: &Placed<'_>) -> bool {
    let by = after.applied_by.and_then(|by| by.node.get_ref().at("/spec/force").and_then(NodeRef::as_bool));
    let node = after.object.node.get_ref();
    by == Some(true)
        || ["/metadata/labels", "/metadata/annotations"].iter().any(|map| {
            text_at(node, map, "kustomize.toolkit.fluxcd.io/force")
                .is_some_and(|text| text.eq_ignore_ascii_case("enabled"))
        })
}
