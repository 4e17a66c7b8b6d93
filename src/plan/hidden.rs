//! What effects tell of Secrets, and of what comes from them: that a value changed, and
//! nothing of it.

use super::{Effect, Pair, Side};
use crate::files::secrets::{Concealed, is_shown, shown_path};
use crate::world::Effective;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::borrow::Cow;

/// Puts stars into effects.
pub(super) fn conceal(pair: &Pair<'_>, effects: &mut [Effect]) {
    let mut known: FxHashMap<*const Effective, Concealed> = FxHashMap::default();
    for effect in effects {
        if &*effect.object.kind == "Secret" {
            of_secret(effect);
        }
        let key = super::key_of(effect);
        let made_before = pair.rendered.before.get(&key).map(|(placed, _)| placed);
        let made_after = pair.rendered.after.get(&key).map(|(placed, _)| placed);
        let before = pair.before.get(&key).or(made_before).map(|placed| (placed.object, pair.base_world));
        let after = pair.after.get(&key).or(made_after).map(|placed| (placed.object, pair.head_world));
        for (object, world) in before.into_iter().chain(after) {
            let of = || Concealed::of(object.node.get_ref(), &world.snapshot);
            let concealed = known.entry(std::ptr::from_ref(object)).or_insert_with(of);
            concealed.conceal_json(&mut effect.before);
            concealed.conceal_json(&mut effect.after);
            // The name of the release is none of its Secrets' values.
            let told = effect.details.iter_mut().filter(|(key, _)| *key != "release");
            told.for_each(|(_, value)| concealed.conceal_json(value));
            concealed.conceal(&mut effect.reason);
            effect.consequences.iter_mut().for_each(|text| concealed.conceal(text));
        }
        by_causes(pair, effect);
    }
}

/// Of a Secret only names are told.
fn of_secret(effect: &mut Effect) {
    let hide = |path: &str, value: &mut Value| {
        if path.starts_with('/') && !is_shown(path) && !value.is_null() {
            *value = json!("***");
        }
    };
    hide(&effect.field, &mut effect.before);
    hide(&effect.field, &mut effect.after);
    effect.field = shown_path(&effect.field);
    let Some(Value::Array(fields)) = effect.details.get_mut("fields") else { return };
    for field in fields.iter_mut() {
        let path = field["path"].as_str().unwrap_or_default().to_owned();
        hide(&path, &mut field["before"]);
        hide(&path, &mut field["after"]);
        field["path"] = shown_path(&path).into();
    }
    fields.dedup();
}

/// A reason is quoted from where it stands, which may be a text that no object is made of.
fn by_causes(pair: &Pair<'_>, effect: &mut Effect) {
    for cause in &effect.causes {
        let snapshot = match cause.side {
            Side::Base => &pair.base_world.snapshot,
            Side::Head => &pair.head_world.snapshot,
        };
        for text in std::iter::once(&mut effect.reason).chain(&mut effect.consequences) {
            if let Cow::Owned(concealed) = snapshot.conceal(text, &cause.location) {
                *text = concealed;
            }
        }
    }
}
