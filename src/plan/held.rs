//! What stays behind because the API server refuses an object of the same
//! Kustomization.
//! Source: fluxcd/pkg ssa `ApplyAllStaged`: every object is dry-run first, one error
//! and nothing of the stage is applied; kustomize-controller `reconcile`: no new
//! inventory and no prune then.

use super::{Effect, Pair};
use crate::model::{Category, EffectKind, ObjectId, kinds};
use crate::world::Applied;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Takes away what does not happen to refused objects, and says what waits for them.
pub(super) fn apply(pair: &Pair<'_>, effects: &mut Vec<Effect>) {
    let refused: Vec<usize> = (0..effects.len()).filter(|index| is_refused(&effects[*index])).collect();
    if refused.is_empty() {
        return;
    }
    drop_further(&refused, effects);
    let mut failing: BTreeMap<ObjectId, ObjectId> = BTreeMap::new();
    for effect in effects.iter().filter(|effect| is_refused(effect)) {
        if let Some(by) = applier(pair, effect) {
            failing.entry(by.id.clone()).or_insert_with(|| effect.object.clone());
        }
    }
    let mut waiting: BTreeMap<&ObjectId, BTreeSet<ObjectId>> = BTreeMap::new();
    for effect in effects.iter_mut().filter(|effect| !is_refused(effect) && !is_own_stage(effect)) {
        let Some(by) = applier(pair, effect) else { continue };
        let Some((by, because)) = failing.get_key_value(&by.id).filter(|(by, _)| **by != effect.object)
        else {
            continue;
        };
        effect.details.insert("heldBy".to_owned(), json!(because.to_string()));
        effect.consequences.push(format!("stays behind: {because} is refused"));
        waiting.entry(by).or_default().insert(effect.object.clone());
    }
    for effect in effects.iter_mut().filter(|effect| is_refused(effect)) {
        let Some(by) = applier(pair, effect) else { continue };
        effect.consequences.push(format!("nothing of {} is applied or pruned until that is mended", by.id));
        if let Some(others) = waiting.get(&by.id) {
            let names: Vec<String> = others.iter().take(3).map(ToString::to_string).collect();
            let more = if others.len() > 3 { ", …" } else { "" };
            let (count, stay) = match others.len() {
                1 => ("1 other change".to_owned(), "stays"),
                count => (format!("{count} other changes"), "stay"),
            };
            effect.consequences.push(format!("{count} of it {stay} behind: {}{more}", names.join(", ")));
            effect.details.insert("staysBehind".to_owned(), json!(others.len()));
        }
    }
}

fn is_refused(effect: &Effect) -> bool {
    // What a topology makes of a Cluster is refused by no apply of Flux.
    effect.effect == EffectKind::Refused
        || effect.effect == EffectKind::Rejected && &*effect.object.kind != "Cluster"
}

/// What is applied before the others, and so all the same.
fn is_own_stage(effect: &Effect) -> bool {
    matches!(&*effect.object.kind, "CustomResourceDefinition" | "Namespace")
        && matches!(effect.effect, EffectKind::Added | EffectKind::Changed)
}

/// Effects of a refused object, and those on Machines of what a refused template is
/// used for.
fn drop_further(refused: &[usize], effects: &mut Vec<Effect>) {
    let objects: Vec<(ObjectId, crate::world::ApplyTarget)> = refused
        .iter()
        .map(|index| (effects[*index].object.clone(), effects[*index].target.clone()))
        .collect();
    let places: Vec<crate::lang::yaml::Location> = refused
        .iter()
        .filter(|index| effects[**index].effect == EffectKind::Refused)
        .flat_map(|index| &effects[*index].causes)
        .map(|cause| cause.location.clone())
        .collect();
    let told: Vec<ObjectId> = effects
        .iter()
        .filter(|effect| effect.effect == EffectKind::Refused)
        .map(|effect| effect.object.clone())
        .collect();
    let mut index = 0;
    effects.retain(|effect| {
        // Of two refusals of an object, that of the object itself is told.
        let again = effect.effect == EffectKind::Rejected && told.contains(&effect.object);
        let keep = refused.contains(&index) && !again || {
            let own = objects.iter().any(|(id, target)| *id == effect.object && *target == effect.target);
            let through = effect.category() == Category::Machines
                && effect.causes.iter().any(|cause| {
                    places.iter().any(|place| {
                        place.file == cause.location.file
                            && place.start < cause.location.end
                            && cause.location.start < place.end
                    })
                });
            !own && !through
        };
        index += 1;
        keep
    });
}

fn applier<'w>(pair: &Pair<'w>, effect: &Effect) -> Option<&'w Applied> {
    let key = super::key_of(effect);
    let placed = pair.after.get(&key).or_else(|| pair.before.get(&key))?;
    placed.kustomization.filter(|by| kinds::is_kustomization(&by.id))
}
