//! What charts make on both sides, and what becomes of each of these objects: a release is
//! upgraded as a whole, by Helm, and what it no longer holds is deleted by Helm.
//! Source: Helm `pkg/action/upgrade.go` (`performUpgrade`), `pkg/kube/client.go` (`Update`):
//! objects are compared by kind, namespace and name; what is left of the old release is
//! deleted unless it says `helm.sh/resource-policy: keep`.

use super::causes::Changes;
use super::fate::text_at;
use super::release_words::tells;
use super::released::{added, changed, inside};
use super::releases::Upgrade;
use super::{Cause, Effect, Key, Pair, Placed, Side, releases};
use crate::model::{EffectKind, ObjectId, Severity};
use crate::world::releases::Release;
use crate::world::{ApplyTarget, Cluster, World};
use std::collections::{BTreeMap, BTreeSet};

/// What charts make on one side, by identity, with the release; what a file states as well
/// is left to that.
pub(super) type RenderedObjects<'w> = BTreeMap<Key<'w>, (Placed<'w>, &'w Release)>;

/// What charts make in a cluster before and after, where a release differs.
#[derive(Default)]
pub(super) struct Rendered<'w> {
    pub(super) before: RenderedObjects<'w>,
    pub(super) after: RenderedObjects<'w>,
    /// Keys of both sides by the release that makes them.
    by_release: BTreeMap<&'w ObjectId, BTreeSet<Key<'w>>>,
    /// Releases that ask for the same chart on both sides.
    same_charts: BTreeSet<&'w ObjectId>,
}

impl<'w> Rendered<'w> {
    /// Those of both sides; nothing where all releases are the same.
    pub(super) fn of(
        (base_world, base): (&'w World, Option<&'w Cluster>),
        (head_world, head): (&'w World, Option<&'w Cluster>),
        written: [&super::Objects<'w>; 2],
    ) -> Rendered<'w> {
        let of =
            |cluster: Option<&'w Cluster>| cluster.map(|cluster| &cluster.releases[..]).unwrap_or_default();
        let (old, new) = (of(base), of(head));
        if old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.is_same(new)) {
            return Rendered::default();
        }
        let before = made(base_world, base, written[0]);
        let after = made(head_world, head, written[1]);
        let mut by_release: BTreeMap<&ObjectId, BTreeSet<Key<'_>>> = BTreeMap::new();
        for (key, (_, release)) in before.iter().chain(&after) {
            by_release.entry(&release.id).or_default().insert(*key);
        }
        let twins: BTreeMap<&ObjectId, &Release> = old.iter().map(|release| (&release.id, release)).collect();
        let is_same = |new: &&Release| twins.get(&new.id).is_some_and(|old| new.asks_for_the_chart_of(old));
        let same_charts = new.iter().filter(is_same).map(|release| &release.id).collect();
        Rendered { before, after, by_release, same_charts }
    }

    /// Whether a release asks for the same chart on both sides.
    pub(super) fn has_same_chart(&self, id: &ObjectId) -> bool {
        self.same_charts.contains(id)
    }

    /// Whether what a release of the base makes is known.
    pub(super) fn is_known(&self, id: &ObjectId) -> bool {
        self.by_release.contains_key(id)
    }

    /// What an uninstall of a release deletes: all but what says that it stays, what `crds/`
    /// brought, and what something else makes from now on.
    pub(super) fn uninstalled(&self, id: &ObjectId) -> Vec<&Placed<'w>> {
        let keys = self.by_release.get(id).into_iter().flatten();
        let old = keys.filter_map(|key| Some((key, self.before.get(key)?)));
        old.filter(|(key, (placed, release))| {
            release.id == *id
                && !is_kept(placed)
                && !release.brings(&placed.object.id)
                && self.after.get(*key).is_none_or(|(_, other)| other.id == *id)
        })
        .map(|(_, (placed, _))| placed)
        .collect()
    }
}

fn made<'w>(
    world: &'w World,
    cluster: Option<&'w Cluster>,
    written: &super::Objects<'w>,
) -> RenderedObjects<'w> {
    let mut all = RenderedObjects::new();
    let Some(cluster) = cluster else { return all };
    for (member, object) in world.rendered(cluster) {
        let id = &object.id;
        if matches!(&*id.name, "" | "?") || id.is_unknown() {
            continue;
        }
        let Some(release) = cluster.release_of(member) else { continue };
        let key = (&member.target, id.named());
        if !written.contains_key(&key) {
            let placed = Placed { object, target: &member.target, kustomization: None, set: None };
            all.insert(key, (placed, release));
        }
    }
    all
}

/// Whether Helm leaves an object alone that goes.
/// Source: Helm `pkg/kube/resource_policy.go`.
fn is_kept(placed: &Placed<'_>) -> bool {
    let policy = text_at(placed.object.node.get_ref(), "/metadata/annotations", "helm.sh/resource-policy");
    policy.is_some_and(|policy| policy.trim().eq_ignore_ascii_case("keep"))
}

/// Effects on what charts make, beside those of their releases in `own`, which tell the
/// rest.
pub(super) fn effects(pair: &Pair<'_>, changes: &Changes, own: &mut Vec<Effect>) -> Vec<Effect> {
    let mut out = Vec::new();
    for (before, after) in sides(pair) {
        let Some(id) = after.or(before).map(|release| &release.id) else { continue };
        let host = own.iter().position(|effect| tells(effect, id));
        match (before, after) {
            (Some(before), Some(after)) => {
                let known = host.map(|at| own[at].effect);
                if matches!(known, Some(EffectKind::Refused | EffectKind::Replaced)) {
                    continue;
                }
                if known == Some(EffectKind::Reinstalled) {
                    host.iter().for_each(|at| releases::uninstall(pair, before, &mut own[*at]));
                    continue;
                }
                let mut upgrade = Upgrade::of(before, after);
                if upgrade.is_rendered() {
                    upgraded(pair, &mut upgrade);
                    upgrade.hold_back();
                }
                let Some(host) = upgrade.tell(pair, host.map(|at| &own[at]), changes) else { continue };
                if upgrade.is_stale() {
                    upgrade.effects.clear();
                }
                settle(&mut upgrade.effects, &host, changes);
                out.append(&mut upgrade.effects);
                match own.iter_mut().find(|effect| tells(effect, id)) {
                    Some(known) => *known = host,
                    None => own.push(host),
                }
            }
            (None, Some(after)) => {
                let is_new = |at: usize| own[at].effect == EffectKind::Added;
                if let Some(at) = host.filter(|at| is_new(*at)) {
                    let mut inner = installed(pair, after);
                    releases::install(after, &mut own[at], &inner);
                    settle(&mut inner, &own[at], changes);
                    out.append(&mut inner);
                }
            }
            (Some(before), None) => {
                if let Some(at) = host {
                    releases::uninstall(pair, before, &mut own[at]);
                }
            }
            (None, None) => {}
        }
    }
    out
}

/// Releases that are told: those of both sides, but for what stays as it is because its
/// Kustomization builds no more.
fn sides<'w>(pair: &Pair<'w>) -> Vec<(Option<&'w Release>, Option<&'w Release>)> {
    type Both<'w> = (Option<&'w Release>, Option<&'w Release>);
    let mut all: BTreeMap<&ObjectId, Both<'w>> = BTreeMap::new();
    for release in pair.base.iter().flat_map(|cluster| &cluster.releases) {
        all.entry(&release.id).or_default().0.get_or_insert(release);
    }
    for release in pair.head.iter().flat_map(|cluster| &cluster.releases) {
        all.entry(&release.id).or_default().1.get_or_insert(release);
    }
    let stays = |id: &ObjectId| {
        let key = (&ApplyTarget::Local, id.named());
        pair.standstills.iter().any(|standstill| standstill.keeps(&key))
    };
    let same =
        |(before, after): &Both<'_>| matches!((before, after), (Some(old), Some(new)) if old.is_same(new));
    all.into_iter().filter(|(id, both)| !same(both) && !stays(id)).map(|(_, both)| both).collect()
}

/// The objects of a release that is upgraded.
fn upgraded(pair: &Pair<'_>, upgrade: &mut Upgrade<'_>) {
    let rendered = &pair.rendered;
    let (before, after) = (upgrade.before, upgrade.after);
    for key in rendered.by_release.get(&after.id).into_iter().flatten() {
        let (old, new) = (rendered.before.get(key).copied(), rendered.after.get(key).copied());
        let is_own = |side: &(Placed<'_>, &Release)| side.1.id == after.id;
        match (old.filter(is_own), new.filter(is_own)) {
            (Some((old, _)), Some((new, _))) => {
                match (before.brings(&old.object.id), after.brings(&new.object.id)) {
                    (true, true) => upgrade.definition(pair, Some(&old), &new),
                    // The old release had it, the new one has not: that CRDs of crds/ are
                    // there already is no reason for Helm to leave it.
                    (false, true) => upgrade.effects.push(left(pair, key, (before, &old), None)),
                    (_, false) => upgrade.effects.extend(changed(pair, after, &old, &new)),
                }
            }
            (Some((old, _)), None) if before.brings(&old.object.id) => upgrade.forgets(&old.object.id),
            (Some((old, _)), None) => {
                upgrade.effects.push(left(pair, key, (before, &old), new.map(|(_, by)| by)));
            }
            (None, Some((new, _))) if after.brings(&new.object.id) => upgrade.definition(pair, None, &new),
            // What another release gives up is told there.
            (None, Some((new, _))) if old.is_none() => upgrade.effects.push(added(pair, after, &new)),
            (None, _) => {}
        }
    }
}

fn installed(pair: &Pair<'_>, after: &Release) -> Vec<Effect> {
    let keys = pair.rendered.by_release.get(&after.id).into_iter().flatten();
    let new = keys.filter(|key| !pair.rendered.before.contains_key(*key));
    let placed = new.filter_map(|key| pair.rendered.after.get(key));
    placed.filter(|(_, by)| by.id == after.id).map(|(placed, _)| added(pair, after, placed)).collect()
}

/// An object that a release no longer holds.
fn left(
    pair: &Pair<'_>,
    key: &Key<'_>,
    (release, old): (&Release, &Placed<'_>),
    by: Option<&Release>,
) -> Effect {
    let place = old.object.node.get_ref().location_at("/metadata/name");
    let written = pair.after.get(key).and_then(|placed| placed.kustomization);
    let new_owner = by.map(|by| by.id.to_string()).or(written.map(|by| by.id.to_string()));
    if is_kept(old) {
        let mut effect = inside(pair, EffectKind::Kept, old, release);
        effect.reason = "no longer part of the release".to_owned();
        effect.consequences.push("it stays in the cluster: helm.sh/resource-policy: keep".to_owned());
        return effect.at(Side::Base, place);
    }
    let Some(new_owner) = new_owner else {
        let mut effect = inside(pair, EffectKind::Deleted, old, release);
        effect.reason = "no longer part of the release".to_owned();
        effect.consequences.extend(super::removal::what_goes(old));
        return effect.at(Side::Base, place);
    };
    let mut effect = inside(pair, EffectKind::Moved, old, release);
    effect.severity = Severity::Disruptive;
    effect.reason = format!("made by {new_owner} instead of {}", release.id);
    effect.consequences.push(match by {
        Some(by) => format!(
            "the upgrade of {} deletes it; if {} was upgraded before that, it is missing until its next upgrade",
            release.id, by.id
        ),
        None => format!("the upgrade of {} deletes it, and {new_owner} creates it anew", release.id),
    });
    effect.consequences.extend(super::removal::what_goes(old));
    effect.at(Side::Base, place)
}

/// Leaves what changed in this repository as causes: the value, else what made the release
/// differ.
pub(super) fn settle(inner: &mut [Effect], host: &Effect, changes: &Changes) {
    for effect in inner {
        let own: Vec<Cause> = std::mem::take(&mut effect.causes);
        let mut found: Vec<Cause> = Vec::new();
        for cause in own {
            let all = std::iter::once(&cause.location)
                .chain(super::causes::steps(&cause.location).into_iter().map(|via| &via.location));
            for location in all {
                let place = Cause { location: location.clone(), side: cause.side };
                if changes.holds(cause.side, location) && !found.contains(&place) {
                    found.push(place);
                }
            }
        }
        effect.causes = if found.is_empty() { host.causes.clone() } else { found };
        effect.when.clone_from(&host.when);
    }
}
