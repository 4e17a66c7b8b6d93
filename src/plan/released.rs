//! What happens to an object that a chart makes.

use super::equal::compare_objects;
use super::fate::is_suspended;
use super::fields::FieldChange;
use super::objects::{fill, rollout_words};
use super::release_words::{is_version_label, only_checksums, way_out};
use super::{Effect, Pair, Placed, Side, class, refused};
use crate::model::EffectKind;
use crate::world::releases::Release;
use serde_json::json;

/// An effect on an object of a release.
pub(super) fn inside(pair: &Pair<'_>, kind: EffectKind, placed: &Placed<'_>, release: &Release) -> Effect {
    let mut effect = Effect::new(pair, kind, &placed.object.id);
    effect.target = placed.target.clone();
    let namespace = release.id.namespace.as_deref().unwrap_or_default();
    effect.details.insert("release".to_owned(), json!(format!("{namespace}/{}", release.id.name)));
    if is_suspended(pair.head, &release.id, release.node.get_ref()) {
        effect.consequences.push(format!("{} is suspended: upgraded when it is resumed", release.id));
    }
    effect
}

pub(super) fn added(pair: &Pair<'_>, release: &Release, placed: &Placed<'_>) -> Effect {
    let mut effect = inside(pair, EffectKind::Added, placed, release);
    effect.reason = format!("rendered by {}", release.id);
    let place = placed.object.node.get_ref().location_at("/metadata/name");
    effect.at(Side::Head, place)
}

pub(super) fn changed(
    pair: &Pair<'_>,
    release: &Release,
    old: &Placed<'_>,
    new: &Placed<'_>,
) -> Option<Effect> {
    if std::ptr::eq(old.object, new.object) {
        return None;
    }
    let id = &new.object.id;
    let (before, after) = (old.object.node.get_ref(), new.object.node.get_ref());
    let changes = compare_objects(id, before, after);
    let first = changes.first()?;
    if let Some(refusal) = refused::refusal(id, before, after, &changes) {
        let mut effect = inside(pair, EffectKind::Refused, new, release);
        fill(&mut effect, &changes[refusal.change], &changes, &refusal.reason);
        effect.consequences.push(refusal.reason.clone());
        effect.consequences.push(format!("the upgrade of {} fails", release.id));
        effect.consequences.extend(way_out(refusal.note));
        effect.details.insert("refusal".to_owned(), refused::details(&refusal));
        return Some(effect);
    }
    let class = class::of(id, &changes);
    let decides = |change: &&FieldChange| class.decides(&change.path);
    let content = |change: &&FieldChange| !is_version_label(&change.path);
    let decisive = changes.iter().filter(decides).find(content).or(changes.iter().find(decides));
    let decisive = decisive.or(changes.iter().find(content)).unwrap_or(first);
    let mut effect = inside(pair, class.kind, new, release);
    fill(&mut effect, decisive, &changes, class.reason);
    if class.kind == EffectKind::WorkloadRollout {
        effect.consequences.push(match only_checksums(&changes, class.prefixes) {
            true => {
                effect.details.insert("checksumOnly".to_owned(), json!(true));
                format!("only a checksum annotation changed: {}", rollout_words(id, (before, after)))
            }
            false => rollout_words(id, (before, after)),
        });
    }
    Some(effect)
}
