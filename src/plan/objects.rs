//! Objects added, removed, changed, moved, renamed, and what the controllers
//! make of it.
//! Source: kustomize-controller `finalizerShouldDeleteResources`, `prune`
//! (ssa/manager_delete.go); helm-controller `reconcileDelete`; the API server's
//! immutable fields.

use super::builds::unseen_before;
use super::equal::compare_objects;
use super::fate::{by_its_old_spec, is_forced, is_suspended, may_be_made};
use super::fields::{FieldChange, compare, fields};
use super::machines::MachineFields;
use super::removal::{ByName, below, by_applier, by_name, emptied, namespace_now, removal, rename, renames};
use super::{Effect, Key, Pair, Placed, Side, class, moves, operator, refused, validity, waits};
use crate::lang::text::counted;
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::model::kinds;
use crate::model::kinds::SOURCE;
use crate::model::{EffectKind, Name, ObjectId, Severity};
use crate::simulate::takeover::helm::{TargetChange, WantedRelease};
use crate::world::namespaces::lacks_namespace;
use crate::world::{Applied, ApplyTarget, Effective};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// `told`: fields that effects on Machines tell, which are not told again.
pub(super) fn effects(pair: &Pair<'_>, told: &MachineFields<'_>) -> Vec<Effect> {
    let mut out = Vec::new();
    let (mut removed, mut added): (Vec<(&Key<'_>, &Placed<'_>)>, Vec<_>) = (Vec::new(), Vec::new());
    for (key, before, after) in pair.sides() {
        match (before, after) {
            (Some(before), None) => removed.push((key, before)),
            (None, Some(after)) => added.push((key, after)),
            _ => {}
        }
    }
    let coming = by_name(&added);
    drop_never_applied(pair, &mut removed, &coming);
    let renamed = renames(&removed, &added);
    let old_names: FxHashSet<*const Effective> =
        renamed.values().map(|old| std::ptr::from_ref(old.object)).collect();
    let is_renamed = |old: &Placed<'_>| old_names.contains(&std::ptr::from_ref(old.object));
    // What has another name now is told by itself.
    let inside = by_applier(removed.iter().map(|(_, old)| *old).filter(|old| !is_renamed(old)));
    let gone: BTreeSet<&ObjectId> = removed
        .iter()
        .filter(|(key, placed)| *key.0 == ApplyTarget::Local && kinds::is_kustomization(&placed.object.id))
        .map(|(_, placed)| &placed.object.id)
        .collect();
    let empty = emptied_ones(pair, &removed);
    for (_, before, after) in pair.kept() {
        both(pair, before, after, told, &mut out);
        out.extend(values_from(pair, before, after));
    }
    out.extend(moves::effects(pair));
    out.extend(validity::by_version(pair));
    let taken = operator::taken_over(pair, &removed);
    let is_taken = |id: &ObjectId| taken.as_ref().is_some_and(|(_, ids)| ids.contains(id));
    for (key, before) in &removed {
        if is_taken(&before.object.id) || is_renamed(before) || may_be_made(pair, before) {
            continue;
        }
        // What a removed Kustomization applied is told with it.
        let told = before.kustomization.is_some_and(|by| {
            by.id != before.object.id && (gone.contains(&by.id) || empty.contains_key(&by.id))
        });
        if !told {
            out.push(removal(pair, (*key, *before), &inside, &coming));
        }
    }
    out.extend(taken.as_ref().map(|(effect, _)| effect.clone()));
    for (applied, _) in empty.values() {
        out.push(emptied(pair, applied, &below(&applied.id, &inside)));
    }
    let mut unseen = UnseenBefore::default();
    for (key, after) in &added {
        match renamed.get(*key) {
            Some(before) => out.push(rename(pair, before, after)),
            None if is_below_repaired(pair, after) => {}
            None => {
                let refused = validity::refused(pair, None, after);
                out.push(refused.unwrap_or_else(|| addition(pair, after, &mut unseen)));
            }
        }
    }
    out
}

/// Takes away objects that lack the namespace their kind lies in: nothing of them was ever in the
/// cluster.
fn drop_never_applied<'w>(
    pair: &Pair<'w>,
    removed: &mut Vec<(&Key<'w>, &Placed<'w>)>,
    coming: &ByName<'_, 'w>,
) {
    let Some(base) = pair.base.filter(|_| removed.iter().any(|(_, old)| old.object.id.namespace.is_none()))
    else {
        return;
    };
    let with_namespaces: BTreeSet<&ObjectId> = pair
        .before
        .values()
        .filter(|placed| placed.object.id.namespace.is_some())
        .filter_map(|placed| Some(&placed.kustomization?.id))
        .collect();
    removed.retain(|(key, old)| {
        let Some(by) = old.kustomization else { return true };
        // Whoever gives one to an object itself says that nothing else did.
        let is_alone = with_namespaces.contains(&by.id) || namespace_now(old, key, coming).is_some();
        !(is_alone && lacks_namespace(base, old.object, by, old.target))
    });
}

/// Kustomizations of both sides of which nothing is left, with what they applied
/// before and nothing applies now.
fn emptied_ones<'p, 'w>(
    pair: &'p Pair<'w>,
    removed: &[(&Key<'w>, &'p Placed<'w>)],
) -> BTreeMap<&'w ObjectId, (&'w Applied, Vec<&'p Placed<'w>>)> {
    let mut found: BTreeMap<&ObjectId, (&Applied, Vec<&Placed<'_>>)> = BTreeMap::new();
    for (_, before) in removed {
        let Some(by) = before.kustomization.filter(|by| by.id != before.object.id) else { continue };
        let now = pair.head.and_then(|head| head.applied(by.id.namespace.as_deref(), &by.id.name));
        if let Some(now) = now.filter(|now| now.target == by.target) {
            found.entry(&now.id).or_insert_with(|| (now, Vec::new())).1.push(before);
        }
    }
    found.retain(|_, (_, inside)| inside.len() > 1);
    if found.is_empty() {
        return found;
    }
    for after in pair.after.values() {
        if let Some(by) = after.kustomization.filter(|by| by.id != after.object.id) {
            found.remove(&by.id);
        }
    }
    found
}

/// Whether an object comes through a Kustomization whose build failed before: it may
/// well be in the cluster.
fn is_below_repaired(pair: &Pair<'_>, after: &Placed<'_>) -> bool {
    let mut by = after.kustomization;
    for _ in 0..64 {
        let Some(applied) = by else { return false };
        if pair.repaired.contains(&applied.id) {
            return true;
        }
        let parent = applied.parent;
        by = parent.and_then(|index| pair.head?.applied.get(index as usize));
        if by.is_some_and(|by| by.id == applied.id) {
            return false;
        }
    }
    false
}

/// What of the builds of Kustomizations could not be told before, found once for each.
type UnseenBefore<'w> = FxHashMap<&'w ObjectId, Option<String>>;

fn addition<'w>(pair: &Pair<'w>, after: &Placed<'w>, unseen: &mut UnseenBefore<'w>) -> Effect {
    let mut effect = Effect::new(pair, EffectKind::Added, &after.object.id);
    effect.target = after.target.clone();
    effect.reason = match after.kustomization {
        Some(by) if kinds::is_kustomization(&by.id) => format!("applied by {}", by.id),
        Some(by) if by.path.is_empty() => "in the build of the root".to_owned(),
        Some(by) => format!("in the build of {}", by.path),
        None => "created".to_owned(),
    };
    let find = |by: &Applied| {
        let before = pair.base?.applied(by.id.namespace.as_deref(), &by.id.name)?;
        unseen_before(before, by)
    };
    if let Some(by) = after.kustomization
        && let Some(what) = unseen.entry(&by.id).or_insert_with(|| find(by))
    {
        effect
            .consequences
            .push(format!("perhaps there already: what {} applied can't all be told here: {what}", by.id));
    }
    hold_back(pair, after, &mut effect);
    let place = after.object.node.get_ref().location_at("/metadata/name");
    effect.at(Side::Head, place)
}

fn both(
    pair: &Pair<'_>,
    before: &Placed<'_>,
    after: &Placed<'_>,
    told: &MachineFields<'_>,
    out: &mut Vec<Effect>,
) {
    let id = &after.object.id;
    if std::ptr::eq(before.object, after.object) {
        return;
    }
    let (old, new) = (before.object.node.get_ref(), after.object.node.get_ref());
    let all = compare_objects(id, old, new);
    if all.is_empty() {
        return;
    }
    if let Some(refusal) = refused::refusal(id, old, new, &all) {
        out.push(rejected(pair, before, after, &all, &refusal));
        return;
    }
    if let Some(effect) = validity::refused(pair, Some(before), after) {
        out.push(effect);
        return;
    }
    // Suspension, gates, event metadata and Machines are told by their own rooms.
    let changes: Vec<FieldChange> = all
        .into_iter()
        .filter(|change| !told_elsewhere(id, change) && !told.covers(after.target, id, change))
        .collect();
    let Some(first) = changes.first() else { return };
    if let Some(effect) = reinstalled(pair, before, after, &changes) {
        out.push(effect);
        return;
    }
    let class = class::told(pair, (old, new), id, &changes);
    let decisive = changes.iter().find(|change| class.decides(&change.path)).unwrap_or(first);
    let mut effect = Effect::new(pair, class.kind, id);
    effect.target = after.target.clone();
    fill(&mut effect, decisive, &changes, class.reason);
    follow(pair, (old, new), &changes, &mut effect);
    if let Some(stay) = refused::stays_for(id, old, &changes) {
        effect.severity = effect.severity.max(Severity::Notable);
        effect.consequences.push(match is_forced(before, after) {
            true => "it runs again: force deletes it first if it is still there".to_owned(),
            false => format!(
                "it runs again once it is gone, {stay} after it has ended: until then the API server refuses this"
            ),
        });
    }
    hold_back(pair, after, &mut effect);
    out.push(effect);
}

/// What follows from the changes of an object.
fn follow(
    pair: &Pair<'_>,
    (old, new): (NodeRef<'_>, NodeRef<'_>),
    changes: &[FieldChange],
    effect: &mut Effect,
) {
    let id = &effect.object.clone();
    if effect.effect == EffectKind::WorkloadRollout {
        effect.consequences.push(rollout_words(id, (old, new)));
    }
    if effect.effect == EffectKind::SourceChange {
        effect.consequences.extend(followers(pair, id));
        if brings_the_unknown(pair, id) {
            effect.details.insert("elsewhere".to_owned(), json!(true));
            effect.consequences.push("what it holds there is not known here".to_owned());
        }
    }
    pruning(changes, effect);
    let was_balanced = old.str_at("/spec/type").as_deref() == Some("LoadBalancer");
    if id.is("", "Service") && was_balanced && changes.iter().any(|change| change.path == "/spec/type") {
        effect.severity = effect.severity.max(Severity::Notable);
        effect.consequences.push("its load balancer and address go".to_owned());
    }
    if changes.iter().any(|change| change.path.starts_with("/spec/dependsOn")) {
        waits_for_nothing(pair, (id, old), new, effect);
        waits_for_itself(pair, id, effect);
    }
}

/// A change that the API server refuses, or makes Flux replace the object by force.
fn rejected(
    pair: &Pair<'_>,
    before: &Placed<'_>,
    after: &Placed<'_>,
    changes: &[FieldChange],
    refusal: &refused::ChangeRefusal,
) -> Effect {
    let id = &after.object.id;
    let forced = is_forced(before, after);
    let kind = if forced && refusal.immutable { EffectKind::Replaced } else { EffectKind::Refused };
    let mut effect = Effect::new(pair, kind, id);
    effect.target = after.target.clone();
    fill(&mut effect, &changes[refusal.change], changes, &refusal.reason);
    effect.consequences.push(refusal.reason.clone());
    effect.details.insert("refusal".to_owned(), refused::details(refusal));
    if forced && refusal.immutable {
        effect.consequences.push("force is set: the object is deleted and created anew".to_owned());
        effect.consequences.extend(super::removal::what_goes(before));
        effect.details.insert("deleted".to_owned(), json!({&*id.kind: 1}));
        // Source: fluxcd/pkg ssa `Apply`: deleted during the dry run.
    } else if forced {
        effect
            .consequences
            .push("force is set: the live object is deleted for it, and can't be created anew".to_owned());
        effect.details.insert("deleted".to_owned(), json!({&*id.kind: 1}));
    } else {
        effect.consequences.extend(refusal.note.map(str::to_owned));
    }
    effect
}

/// A HelmRelease that becomes another release: the old one is uninstalled.
/// Source: helm-controller `internal/action/verify.go` `ReleaseTargetChanged`.
fn reinstalled(
    pair: &Pair<'_>,
    before: &Placed<'_>,
    after: &Placed<'_>,
    changes: &[FieldChange],
) -> Option<Effect> {
    let id = &after.object.id;
    if !kinds::is_helm_release(id) {
        return None;
    }
    let old = WantedRelease::of(&before.object.id, before.object.node.get_ref())?;
    let new = WantedRelease::of(id, after.object.node.get_ref())?;
    let elsewhere = old.target != new.target;
    let change = new.changes(&old);
    if change.is_none() && !elsewhere {
        return None;
    }
    let paths: &[&str] = match change {
        _ if elsewhere => &["/spec/kubeConfig"],
        Some(TargetChange::Storage) => &["/spec/storageNamespace"],
        Some(TargetChange::Namespace) => &["/spec/targetNamespace"],
        Some(TargetChange::Chart) => &["/spec/chart/spec/chart", "/spec/chart"],
        Some(TargetChange::Name) | None => &["/spec/releaseName", "/spec/targetNamespace"],
    };
    let decisive =
        paths.iter().find_map(|path| changes.iter().find(|change| change.path.starts_with(path)))?;
    let mut effect = Effect::new(pair, EffectKind::Reinstalled, id);
    effect.target = after.target.clone();
    fill(&mut effect, decisive, changes, "the release is uninstalled, and another one installed");
    if elsewhere {
        effect.reason = "the release is installed in another cluster".to_owned();
        effect
            .consequences
            .push("the release in the old cluster stays, and nothing looks after it".to_owned());
        return Some(effect);
    }
    effect.consequences.push("the release is uninstalled, and another one installed".to_owned());
    effect.consequences.push(moved(change, &old, &new));
    effect.consequences.push(
        "claims that are templates of the chart go; those of volumeClaimTemplates and the CRDs of crds/ stay"
            .to_owned(),
    );
    effect.details.insert("releaseBefore".to_owned(), json!(format!("{}/{}", old.namespace, old.name)));
    effect.details.insert("releaseAfter".to_owned(), json!(format!("{}/{}", new.namespace, new.name)));
    hold_back(pair, after, &mut effect);
    Some(effect)
}

/// Where a release is installed from now on, or as what.
fn moved(change: Option<TargetChange>, old: &WantedRelease, new: &WantedRelease) -> String {
    match change {
        Some(TargetChange::Storage) => {
            format!("Helm's storage is in namespace {} instead of {}", new.storage, old.storage)
        }
        Some(TargetChange::Namespace) if old.name != new.name => format!(
            "it is installed as {} in namespace {} instead of {} in {}",
            new.name, new.namespace, old.name, old.namespace
        ),
        Some(TargetChange::Namespace) => {
            format!("it is installed in namespace {} instead of {}", new.namespace, old.namespace)
        }
        Some(TargetChange::Name) => format!("the release is called {} instead of {}", new.name, old.name),
        Some(TargetChange::Chart) | None => {
            "another chart's name is another release; upgrade.chartNameChangeStrategy: InPlaceUpdate (Flux 2.9) \
             upgrades instead"
                .to_owned()
        }
    }
}

/// What switching `prune` means for what leaves.
/// Source: kustomize-controller `reconcile`, `prune`: the inventory is written first.
fn pruning(changes: &[FieldChange], effect: &mut Effect) {
    if !kinds::is_kustomization(&effect.object) {
        return;
    }
    let Some(change) = changes.iter().find(|change| change.path == "/spec/prune") else { return };
    effect.severity = effect.severity.max(Severity::Notable);
    let text = if change.after == json!(true) {
        "what left it before is forgotten, and is not deleted now"
    } else {
        "objects that you remove from Git from now on stay in the cluster, even if prune is set to true again"
    };
    effect.consequences.push(text.to_owned());
}

/// What an object waits for from now on though nothing here makes it.
/// Source: kustomize-controller, helm-controller and flux-operator `checkDependencies`.
fn waits_for_nothing(
    pair: &Pair<'_>,
    (id, old): (&ObjectId, NodeRef<'_>),
    new: NodeRef<'_>,
    effect: &mut Effect,
) {
    if !(kinds::is_kustomization(id) || kinds::is_helm_release(id)) {
        return;
    }
    let named = |item: NodeRef<'_>| {
        let own = || id.namespace.as_deref().map(str::to_owned);
        let namespace = item.get("namespace").map_or_else(own, |value| Some(value.as_str()?.into_owned()));
        Some((namespace, item.get("name")?.as_str()?.into_owned()))
    };
    let before: BTreeSet<_> = old.items_at("/spec/dependsOn").filter_map(named).collect();
    for (namespace, name) in new.items_at("/spec/dependsOn").filter_map(named) {
        let wanted = Name::new(id.group(), &id.kind, namespace.as_deref(), &name);
        let is_known = before.contains(&(namespace.clone(), name.clone()))
            || pair.after.contains_key(&(&ApplyTarget::Local, wanted));
        if !is_known {
            let namespace = namespace.map_or(String::new(), |namespace| format!("{namespace}/"));
            effect.severity = effect.severity.max(Severity::Notable);
            effect.details.insert("waitForNothing".to_owned(), json!(1));
            effect.consequences.push(format!(
                "it waits for {} {namespace}{name}, which nothing here makes: it is not applied until that is there",
                id.kind
            ));
        }
    }
}

/// Says where an object waits for others that wait for it.
/// Source: kustomize-controller and helm-controller `checkDependencies`: none of a cycle ever
/// becomes ready.
fn waits_for_itself(pair: &Pair<'_>, id: &ObjectId, effect: &mut Effect) {
    if !(kinds::is_kustomization(id) || kinds::is_helm_release(id)) {
        return;
    }
    let reach = waits::reach(pair, id);
    if !reach.is_cycle {
        return;
    }
    let others: Vec<&str> = reach.reached.iter().map(|other| &*other.name).take(4).collect();
    effect.severity = Severity::Disruptive;
    effect.details.insert("waitForNothing".to_owned(), json!(1));
    effect.consequences.push(match others[..] {
        [] => "it waits for itself: it is never applied".to_owned(),
        _ => format!(
            "what it waits for waits for it ({}): none of these is applied any more",
            others.join(", ")
        ),
    });
}

/// Whether manifests of a source are taken, and what they are at its new place is unknown:
/// charts are looked for by their versions.
fn brings_the_unknown(pair: &Pair<'_>, id: &ObjectId) -> bool {
    let is_taken = || {
        let consumers = pair.relations.as_ref().map(|relations| relations.consumers(id));
        consumers.into_iter().flatten().any(|object| !kinds::is_helm_release(&object.id))
    };
    id.group() == SOURCE
        && match &*id.kind {
            "GitRepository" | "Bucket" => true,
            "OCIRepository" => is_taken(),
            _ => false,
        }
}

/// Who takes manifests or charts from a source that points elsewhere now.
fn followers(pair: &Pair<'_>, id: &ObjectId) -> Option<String> {
    let names: BTreeSet<String> =
        pair.relations.as_ref()?.consumers(id).iter().map(|object| object.id.to_string()).collect();
    let list = Vec::from_iter(names);
    match list.len() {
        0 => None,
        1 => Some(format!("{} follows it", list[0])),
        count if count <= 3 => Some(format!("{} follow it", list.join(", "))),
        count => Some(format!("{count} objects follow it: {}, …", list[..2].join(", "))),
    }
}

/// Says on an effect why it stays in Git for now, if it does; the verdict doesn't count it.
fn hold_back(pair: &Pair<'_>, after: &Placed<'_>, effect: &mut Effect) {
    if let Some(words) = held_back(pair, after) {
        effect.details.insert("heldBack".to_owned(), json!(true));
        effect.consequences.push(words);
    }
}

/// Why a change stays in Git for now: what would apply it, or the release itself,
/// is suspended, or what would tell of it where to look.
fn held_back(pair: &Pair<'_>, after: &Placed<'_>) -> Option<String> {
    let by = after
        .kustomization
        .filter(|by| by.id != after.object.id && is_suspended(pair.head, &by.id, by.node.get_ref()));
    if let Some(by) = by {
        return Some(format!("{} is suspended: applied when it is resumed", by.id));
    }
    if let Some(words) = after.kustomization.and_then(|by| by_its_old_spec(pair, by)) {
        return Some(words);
    }
    let id = &after.object.id;
    let release = kinds::is_helm_release(id) && is_suspended(pair.head, id, after.object.node.get_ref());
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
    if class::told(pair, (old, new), id, &own).kind == EffectKind::ReleaseUpgrade {
        return None;
    }
    for (index, entry) in new.items_at("/spec/valuesFrom").enumerate() {
        let (Some(kind), Some(name)) = (entry.str_at("/kind"), entry.str_at("/name")) else { continue };
        let key = entry.str_at("/valuesKey").unwrap_or("values.yaml".into());
        let identity = (&ApplyTarget::Local, Name::new("", &kind, id.namespace.as_deref(), &name));
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
        hold_back(pair, after, &mut effect);
        let place = change.head.or(change.base);
        return Some(effect.at(Side::Head, place));
    }
    None
}

pub(super) fn fill(effect: &mut Effect, decisive: &FieldChange, changes: &[FieldChange], reason: &str) {
    effect.field.clone_from(&decisive.path);
    effect.before.clone_from(&decisive.before);
    effect.after.clone_from(&decisive.after);
    effect.reason = reason.to_owned();
    effect.details.insert("fields".to_owned(), fields(changes));
    let (side, place) = match (&decisive.head, &decisive.base) {
        (Some(head), _) if !decisive.after.is_null() || decisive.base.is_none() => {
            (Side::Head, Some(head.clone()))
        }
        (_, Some(base)) => (Side::Base, Some(base.clone())),
        (head, None) => (Side::Head, head.clone()),
    };
    effect.causes.extend(place.map(|location| super::Cause { location, side }));
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

/// What becomes of the Pods of a workload whose template changes.
pub(super) fn rollout_words(id: &ObjectId, (old, new): (NodeRef<'_>, NodeRef<'_>)) -> String {
    let is_counted = &*id.kind != "DaemonSet";
    let count = |node: NodeRef<'_>| {
        let replicas = node.at("/spec/replicas").filter(|_| is_counted)?.as_int()?;
        usize::try_from(replicas).ok()
    };
    let Some(is) = count(new) else { return "its Pods are replaced".to_owned() };
    // What is not stated may be an autoscaler's.
    let was = count(old).unwrap_or(is);
    let verb = |count: usize, one: &str, many: &str| {
        format!("{} {}", counted(count, "Pod"), if count == 1 { one } else { many })
    };
    let replaced = verb(was.min(is), "is replaced", "are replaced");
    match (was, is) {
        (0, 0) => "it has no Pods".to_owned(),
        (0, is) => verb(is, "comes", "come"),
        (was, 0) => verb(was, "goes", "go"),
        (was, is) if was < is => format!("{replaced}, {}", verb(is - was, "comes", "come")),
        (was, is) if was > is => format!("{replaced}, {}", verb(was - is, "goes", "go")),
        _ => replaced,
    }
}
