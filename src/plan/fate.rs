//! What becomes of an object that is no longer wanted.
//! Source: kustomize-controller `prune`, `finalize` and
//! `finalizerShouldDeleteResources` (kustomization_controller.go), fluxcd/pkg ssa
//! `manager_delete.go`; helm-controller `reconcileDelete`; flux-operator `apply`,
//! `deleteAllStaged` and `uninstall` (internal/controller/resourceset_controller.go).

use super::fields::compare;
use super::{Pair, Placed};
use crate::lang::yaml::{Known, NodeRef, pointer_join};
use crate::model::{EffectKind, ObjectId, kinds};
use crate::simulate::suspend::suspension;
use crate::world::{Applied, ApplyTarget, Cluster, Outcome, ResourceSet};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Whether an object of the base is deleted by the change, not only no longer
/// looked after.
pub(super) fn deletes(pair: &Pair<'_>, target: &ApplyTarget, id: &ObjectId) -> bool {
    let key = (target, id.named());
    pair.before.get(&key).is_some_and(|before| fate(pair, before) == Fate::Deleted)
}

/// What becomes of an object that is no longer wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Deleted from the cluster.
    Deleted,
    /// It stays, and nothing looks after it any more.
    Orphaned(&'static str),
    /// Nothing here says what applies it: whether it goes is not known.
    Unapplied,
    /// It stays because it says so.
    Kept(&'static str),
}

impl Fate {
    /// The effect's name.
    pub(super) fn effect(&self) -> EffectKind {
        match self {
            Fate::Deleted => EffectKind::Deleted,
            Fate::Orphaned(_) | Fate::Unapplied => EffectKind::Orphaned,
            Fate::Kept(_) => EffectKind::Kept,
        }
    }

    /// A sentence about the object.
    pub(super) fn words(&self, id: &ObjectId) -> String {
        match self {
            Fate::Deleted => format!("{id} is deleted"),
            Fate::Unapplied => format!("{id}: {UNAPPLIED}"),
            Fate::Orphaned(why) | Fate::Kept(why) => format!("{id} stays in the cluster: {why}"),
        }
    }
}

/// What is said of what nothing here applies.
pub(super) const UNAPPLIED: &str = "nothing here says what applies it, and so whether it is deleted";

/// A label or annotation.
pub(super) fn text_at<'n>(node: NodeRef<'n>, map: &str, key: &str) -> Option<Cow<'n, str>> {
    node.at(map)?.get(key)?.text()
}

/// `prune: disabled` and its kin on the object as it is in the cluster now.
pub(super) fn protected(node: NodeRef<'_>) -> Option<&'static str> {
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

/// `prune: disabled` on an object of a ResourceSet, of which flux-operator reads its own key
/// alone.
fn protected_from_set(node: NodeRef<'_>) -> bool {
    ["/metadata/labels", "/metadata/annotations"].iter().any(|map| {
        let value = text_at(node, map, "fluxcd.controlplane.io/prune");
        value.is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
    })
}

/// Whether an object of Flux is suspended in effect: by its field, or by the
/// annotation where the cluster's controllers read that.
pub(super) fn is_suspended(cluster: Option<&Cluster>, id: &ObjectId, node: NodeRef<'_>) -> bool {
    let effective = cluster.and_then(|cluster| suspension(id, node, &cluster.settings)?.suspended);
    effective.unwrap_or_else(|| node.at("/spec/suspend").and_then(NodeRef::as_bool) == Some(true))
}

/// Whether a Flux Kustomization prunes.
pub(super) fn prunes(node: NodeRef<'_>) -> bool {
    node.at("/spec/prune").and_then(NodeRef::as_bool) == Some(true)
}

/// ResourceSets that make ResourceSets, and so on.
const SETS: u32 = 64;

/// The fate of an object that a ResourceSet no longer makes.
fn fate_in_set(pair: &Pair<'_>, before: &Placed<'_>, set: &ResourceSet, depth: u32) -> Fate {
    if protected_from_set(before.object.node.get_ref()) {
        return Fate::Kept("prune: disabled");
    }
    match made_now(pair, set) {
        Now::Known => return Fate::Deleted,
        Now::Paused => {
            return Fate::Orphaned(
                "its ResourceSet is not reconciled; it is deleted once that is enabled again",
            );
        }
        Now::Unknown => return Fate::Orphaned("what its ResourceSet makes now is not known here"),
        Now::Gone => {}
    }
    let own = match pair.before.get(&(&ApplyTarget::Local, set.id.named())) {
        Some(own) if depth < SETS => fate_below(pair, own, depth + 1),
        _ => Fate::Unapplied,
    };
    match own {
        Fate::Deleted => Fate::Deleted,
        Fate::Unapplied => Fate::Unapplied,
        Fate::Orphaned(_) | Fate::Kept(_) => Fate::Orphaned("its ResourceSet stays in the cluster"),
    }
}

/// What the head says of a ResourceSet of the base.
#[derive(PartialEq)]
enum Now {
    /// All that it makes is known.
    Known,
    /// It is there, and what it makes is not known.
    Unknown,
    /// It is there, and not reconciled.
    Paused,
    Gone,
}

fn made_now(pair: &Pair<'_>, set: &ResourceSet) -> Now {
    let Some(now) = pair.after.get(&(&ApplyTarget::Local, set.id.named())) else { return Now::Gone };
    match pair.complete_sets.contains(&set.id) {
        _ if is_suspended(pair.head, &set.id, now.object.node.get_ref()) => Now::Paused,
        true => Now::Known,
        false => Now::Unknown,
    }
}

/// Whether it can't be said if the head goes on to make an object.
pub(super) fn may_be_made(pair: &Pair<'_>, before: &Placed<'_>) -> bool {
    before.set.is_some_and(|set| made_now(pair, set) == Now::Unknown)
}

/// The fate of an object that the head no longer applies.
pub(super) fn fate(pair: &Pair<'_>, before: &Placed<'_>) -> Fate {
    fate_below(pair, before, 0)
}

fn fate_below(pair: &Pair<'_>, before: &Placed<'_>, depth: u32) -> Fate {
    if let Some(set) = before.set {
        return fate_in_set(pair, before, set, depth);
    }
    // Spared by kustomize-controller 1.8.5 and later (`deleteObjects`).
    let ignored_only = |why: &str| why == "ssa: Ignore";
    let spares = pair.base.is_none_or(|base| base.settings.flux_at_least(8) != Some(false));
    if let Some(why) = protected(before.object.node.get_ref()).filter(|why| spares || !ignored_only(why)) {
        return Fate::Kept(why);
    }
    // An overlay that nothing applies is no Kustomization of Flux.
    let Some(by) = before.kustomization.filter(|by| kinds::is_kustomization(&by.id)) else {
        return Fate::Unapplied;
    };
    let still = pair.head.and_then(|cluster| cluster.applied(by.id.namespace.as_deref(), &by.id.name));
    match still {
        Some(still) if is_suspended(pair.head, &still.id, still.node.get_ref()) => {
            Fate::Orphaned("its Kustomization is suspended; it is pruned after a resume")
        }
        Some(still) if still.target != by.target => Fate::Orphaned(
            "its Kustomization applies to another cluster now, and prunes nothing in the old one",
        ),
        Some(still) if !prunes(still.node.get_ref()) => Fate::Orphaned(
            "its Kustomization has prune: false, and forgets it: prune: true later does not delete it",
        ),
        Some(_) => Fate::Deleted,
        None => fate_with(pair, by, 0),
    }
}

/// Whether a removed Kustomization takes with it what it applied, which is not known here.
pub(super) fn takes_what_is_elsewhere(pair: &Pair<'_>, id: &ObjectId) -> bool {
    let by = pair.base.and_then(|base| base.applied(id.namespace.as_deref(), &id.name));
    by.is_some_and(|by| {
        matches!(by.outcome, Outcome::External(_) | Outcome::Unknown(_))
            && fate_with(pair, by, 0) == Fate::Deleted
    })
}

/// The fate of what a removed Kustomization applied.
fn fate_with(pair: &Pair<'_>, by: &Applied, depth: u32) -> Fate {
    let node = by.node.get_ref();
    // It goes only if what applied it deletes it.
    let own = match by.parent.and_then(|index| pair.base.map(|cluster| &cluster.applied[index as usize])) {
        _ if protected(node).is_some() => Fate::Kept("its Kustomization is protected from pruning"),
        Some(parent) if parent.id != by.id && depth < 64 => {
            match pair
                .head
                .and_then(|cluster| cluster.applied(parent.id.namespace.as_deref(), &parent.id.name))
            {
                Some(still) if is_suspended(pair.head, &still.id, still.node.get_ref()) => {
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
    if is_suspended(pair.base, &by.id, node) {
        return Fate::Orphaned("its Kustomization is suspended: deleting that prunes nothing");
    }
    match node.str_at("/spec/deletionPolicy").as_deref() {
        Some("Orphan") => Fate::Orphaned("deletionPolicy: Orphan"),
        Some("Delete" | "WaitForTermination") => Fate::Deleted,
        Some(other) if !matches!(other, "" | "MirrorPrune") => {
            Fate::Orphaned("its deletionPolicy is one that the controller does not know")
        }
        _ if prunes(node) => Fate::Deleted,
        _ => Fate::Orphaned("its Kustomization has prune: false"),
    }
}

/// Whether Flux deletes what is there where the API server refuses the change.
pub(super) fn is_forced(before: &Placed<'_>, after: &Placed<'_>) -> bool {
    let by_flux = after.kustomization.is_some_and(|by| kinds::is_kustomization(&by.id));
    by_flux && (forces(after) || forces(before))
}

/// `force` of the Kustomization, or on the object.
fn forces(after: &Placed<'_>) -> bool {
    let by =
        after.kustomization.and_then(|by| by.node.get_ref().at("/spec/force").and_then(NodeRef::as_bool));
    let node = after.object.node.get_ref();
    by == Some(true)
        || ["/metadata/labels", "/metadata/annotations"].iter().any(|map| {
            text_at(node, map, "kustomize.toolkit.fluxcd.io/force")
                .is_some_and(|text| text.eq_ignore_ascii_case("enabled"))
        })
}

/// Why a Kustomization builds as before for now: what applies it is suspended, or does not
/// build.
pub(super) fn by_its_old_spec<'w>(pair: &Pair<'w>, by: &Applied) -> Option<String> {
    let (base, head) = (pair.base?, pair.head?);
    let find = |cluster: &'w Cluster| cluster.applied(by.id.namespace.as_deref(), &by.id.name);
    let (before, now) = (find(base)?, find(head)?);
    let parent = head.applied.get(now.parent? as usize).filter(|parent| parent.id != by.id)?;
    let waits = is_suspended(pair.head, &parent.id, parent.node.get_ref());
    let fails = pair.standstills.iter().any(|standstill| standstill.fails(&parent.id));
    // What does not build leaves variables in the specs of its children open.
    let is_same = || before.node.get_ref().same_value(now.node.get_ref()) == Known::Value(true);
    let until = if waits { "is resumed" } else { "builds again" };
    (waits && !builds_alike(before, now) || fails && !is_same())
        .then(|| format!("{} keeps its old spec until {} {until}", by.id, parent.id))
}

/// Whether the specs of a Kustomization build the same from the same files.
pub(super) fn builds_alike(old: &Applied, new: &Applied) -> bool {
    const DECIDES: [&str; 10] = [
        "path",
        "sourceRef",
        "targetNamespace",
        "namePrefix",
        "nameSuffix",
        "patches",
        "images",
        "components",
        "postBuild",
        "commonMetadata",
    ];
    let changed: BTreeSet<String> =
        compare(old.node.get_ref(), new.node.get_ref()).into_iter().map(|change| change.path).collect();
    !DECIDES.iter().any(|field| {
        let pointer = pointer_join("/spec", field);
        changes_within(&changed, &pointer)
    })
}

fn changes_within(changed: &BTreeSet<String>, pointer: &str) -> bool {
    changed.iter().any(|path| {
        path.strip_prefix(pointer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            || pointer.starts_with(&format!("{path}/"))
    })
}
