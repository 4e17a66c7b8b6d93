//! flux-operator in the place of `flux bootstrap`: what bootstrap installed is taken
//! over, not deleted, if the FluxInstance comes first.
//! Source: flux-operator `internal/builder/templates.go` (`ssa: Ignore`,
//! `prune: Disabled` on all that it generates), `fluxinstance_controller.go`
//! `takeOwnershipFrom`, `docs/guides/operator-migration.md`.

use super::fate::{Fate, fate, text_at};
use super::removal::inventory;
use super::{Effect, Key, Pair, Placed, Side};
use crate::lang::yaml::NodeRef;
use crate::model::{EffectKind, ObjectId, Severity, kinds};
use crate::world::ApplyTarget;
use serde_json::json;
use std::collections::BTreeSet;

const GROUP: &str = "fluxcd.controlplane.io";

/// The effect, and the objects that it tells of.
pub(super) fn taken_over<'w>(
    pair: &Pair<'w>,
    removed: &[(&Key<'w>, &Placed<'w>)],
) -> Option<(Effect, BTreeSet<&'w ObjectId>)> {
    let instance = |objects: &super::Objects<'w>| {
        objects
            .values()
            .find(|placed| placed.object.id.is(GROUP, "FluxInstance") && *placed.target == ApplyTarget::Local)
            .copied()
    };
    let now = instance(&pair.after)?;
    let flux: Vec<&Placed<'w>> = removed
        .iter()
        .filter(|(key, placed)| {
            let label =
                text_at(placed.object.node.get_ref(), "/metadata/labels", "app.kubernetes.io/part-of");
            *key.0 == ApplyTarget::Local && label.as_deref() == Some("flux")
        })
        .map(|(_, placed)| *placed)
        .collect();
    if flux.is_empty() {
        return None;
    }
    let was = instance(&pair.before).is_some();
    let mut effect = Effect::new(pair, EffectKind::TakenOver, &now.object.id);
    let crds = flux.iter().filter(|placed| &*placed.object.id.kind == "CustomResourceDefinition").count();
    let prunes = flux.iter().any(|placed| fate(pair, placed) == Fate::Deleted);
    effect.reason = match flux.len() {
        1 => "1 object of Flux leaves Git".to_owned(),
        count => format!("{count} objects of Flux leave Git"),
    };
    effect.details.insert("objects".to_owned(), json!(flux.len()));
    effect.consequences.push(
        "once it is ready, they carry ssa: Ignore and prune: Disabled, and kustomize-controller leaves them alone"
            .to_owned(),
    );
    if was || !prunes {
        effect.severity = Severity::Notable;
        effect.consequences.push("make sure that it is ready before this is merged".to_owned());
    } else {
        let crds = if crds > 0 { ", CRDs and with them every Flux object included" } else { "" };
        effect.consequences.push(format!("before it is ready, they are pruned{crds}"));
        effect.consequences.push(
            "install flux-operator and apply the FluxInstance first, and remove these files when it is ready"
                .to_owned(),
        );
    }
    let mut ids: BTreeSet<&ObjectId> = flux.iter().map(|placed| &placed.object.id).collect();
    // The pair of bootstrap, where the instance generates one of the same names.
    let name = sync_name(&now.object.id, now.object.node.get_ref());
    ids.extend(removed.iter().map(|(_, placed)| &placed.object.id).filter(|id| {
        let of_flux = kinds::is_kustomization(id) || id.group() == kinds::SOURCE;
        of_flux && name.as_deref() == Some(&*id.name) && id.namespace == now.object.id.namespace
    }));
    let place = now.object.node.get_ref().location_at("/metadata/name");
    Some((effect.at(Side::Head, place), ids))
}

/// The name of the source and the Kustomization that an instance generates; `None`
/// for one that synchronises nothing.
fn sync_name(id: &ObjectId, node: NodeRef<'_>) -> Option<String> {
    node.at("/spec/sync").filter(|sync| sync.is_map())?;
    let name = node.str_at("/spec/sync/name").filter(|name| !name.is_empty());
    Some(name.map_or_else(
        || id.namespace.as_deref().unwrap_or("flux-system").to_owned(),
        |name| name.into_owned(),
    ))
}

/// An instance that no longer generates the root of its cluster: flux-operator
/// deletes the root, which prunes all that it applied.
/// Source: `fluxinstance_controller.go` `apply`: its own diff spares only
/// `fluxcd.controlplane.io/prune: disabled`.
pub(super) fn root_deleted(pair: &Pair<'_>, effects: &mut Vec<Effect>) {
    let Some((effect, instance)) = deletion_of_root(pair) else { return };
    // It is in Git still, and goes with the root if that applied it.
    effects.retain(|effect| effect.effect != EffectKind::Deleted || effect.object != *instance);
    // The pair was never in Git: it can't be removed from there.
    let root = effect.object.clone();
    let is_pair = |id: &ObjectId| {
        (*id == root || id.group() == kinds::SOURCE) && id.name == root.name && id.namespace == root.namespace
    };
    effects.retain(|effect| effect.effect != EffectKind::Orphaned || !is_pair(&effect.object));
    effects.push(effect);
}

fn deletion_of_root<'w>(pair: &Pair<'w>) -> Option<(Effect, &'w ObjectId)> {
    let base = pair.base?;
    let root = base.applied.first()?;
    let before = pair.before.values().find(|placed| placed.object.id.is(GROUP, "FluxInstance"))?;
    let (id, node) = (&before.object.id, before.object.node.get_ref());
    let was =
        sync_name(id, node).filter(|name| **name == *root.id.name && root.id.namespace == id.namespace)?;
    let now = pair.head_world.snapshot.objects().iter().find(|object| {
        object.id.is(GROUP, "FluxInstance")
            && object.id.name == id.name
            && object.id.namespace == id.namespace
    })?;
    let is = sync_name(&now.id, now.node.get_ref());
    // A name that was stated is fixed: the API server refuses another one.
    let stated = |node: NodeRef<'_>| node.str_at("/spec/sync/name").is_some_and(|name| !name.is_empty());
    if is.as_deref() == Some(&*was) || stated(node) && stated(now.node.get_ref()) {
        return None;
    }
    let mut effect = Effect::new(pair, EffectKind::Deleted, &root.id);
    effect.reason = match &is {
        None => format!("{id} no longer has spec.sync: flux-operator deletes what it made of it"),
        Some(name) => format!("{id} calls it {name} from now on: flux-operator deletes the old one"),
    };
    let inside: Vec<&Placed<'_>> =
        pair.before.values().filter(|placed| placed.object.id != root.id).collect();
    effect.consequences.push(match is {
        None => "everything that it applied is pruned".to_owned(),
        Some(_) => "everything that it applied and the new one has not applied yet is pruned".to_owned(),
    });
    inventory(pair, &inside, &Fate::Deleted, &mut effect);
    effect.consequences.push(
        "spec.kustomize.patches with deletionPolicy: Orphan on it, applied before, keeps them".to_owned(),
    );
    let place = node.location_at("/spec/sync");
    if before.kustomization.is_some() {
        effect.consequences.push(
            "the FluxInstance is among them: Flux is uninstalled, its CRDs and every Flux object with it"
                .to_owned(),
        );
    }
    Some((effect.at(Side::Base, place), id))
}
