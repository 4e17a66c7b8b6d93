//! What another version of the controllers changes for the objects of a cluster:
//! behaviours, keys that begin or cease to be read, defaults that flip.

use super::{Effect, Pair, Placed, Side};
use crate::build::substitute::ProblemKind;
use crate::config::Feature;
use crate::lang::yaml::{Known, Location, NodeRef};
use crate::lint::metadata::metadata_maps;
use crate::model::cluster_api_kinds::CORE;
use crate::model::keys::{Class, FLUX, Field, Key, Standing};
use crate::model::{EffectKind, ObjectId, Severity, Version, kinds};
use crate::simulate::behaviour::{self, Behaviour, Product};
use crate::simulate::notify::providers::sets_commit_status;
use crate::world::{ApplyTarget, Cluster};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Whether an object is one that a behaviour concerns.
type Concerns = fn(&ObjectId, NodeRef<'_>) -> bool;

/// Behaviours that depend on a version, and whom they concern. What schemas say is
/// not repeated here.
const BEHAVIOURS: &[(Behaviour, Concerns)] = &[
    (behaviour::OBJECT_EVENT_METADATA, |id, node| {
        kinds::of(id).is_some()
            && node
                .entries_at("/metadata/annotations")
                .any(|entry| entry.key.starts_with("event.toolkit.fluxcd.io/"))
    }),
    (behaviour::COMMIT_STATUS_GATE, sets_status),
    (behaviour::ERRORS_REACH_COMMIT_STATUS, sets_status),
    (behaviour::SERVER_SIDE_RELEASES, |id, node| {
        let is_true = |pointer: &str| node.at(pointer).and_then(NodeRef::as_bool) == Some(true);
        kinds::is_helm_release(id) && is_true("/spec/upgrade/force")
    }),
    (behaviour::CHAINED_UPGRADES, |id, node| id.is(CORE, "Cluster") && node.at("/spec/topology").is_some()),
    (behaviour::PATCHED_TEMPLATE_METADATA, |id, node| {
        let is_metadata = |text: &str| text.contains("/metadata/");
        id.is(CORE, "ClusterClass")
            && node.items_at("/spec/patches").any(|patch| {
                patch.items_at("/definitions").any(|definition| {
                    definition
                        .items_at("/jsonPatches")
                        .any(|json| json.str_at("/path").is_some_and(|path| is_metadata(&path)))
                })
            })
    }),
];

fn sets_status(id: &ObjectId, node: NodeRef<'_>) -> bool {
    id.is(kinds::NOTIFICATION, "Provider")
        && node.str_at("/spec/type").is_some_and(|provider| sets_commit_status(&provider))
}

/// One effect for each product whose minor version changes.
pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let (Some(base), Some(head)) = (pair.base, pair.head) else { return Vec::new() };
    [Product::Flux, Product::ClusterApi]
        .into_iter()
        .filter_map(|product| {
            let (old, new) = (product.version(&base.settings)?, product.version(&head.settings)?);
            let minor = |version: Version| (version.major, version.minor);
            if minor(old) == minor(new) { None } else { effect(pair, (base, head), product, (old, new)) }
        })
        .collect()
}

fn effect(
    pair: &Pair<'_>,
    (base, head): (&Cluster, &Cluster),
    product: Product,
    (old, new): (Version, Version),
) -> Option<Effect> {
    // What is the same kind of thing before and after; others are told as what they are.
    let objects: Vec<&Placed<'_>> = pair
        .after
        .iter()
        .filter(|(key, _)| *key.0 == ApplyTarget::Local && pair.before.contains_key(*key))
        .map(|(_, placed)| placed)
        .collect();
    let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (behaviour, concerns) in BEHAVIOURS.iter().filter(|(behaviour, _)| behaviour.product == product) {
        let words = match (behaviour.of(&base.settings), behaviour.of(&head.settings)) {
            (Known::Value(false), Known::Value(true)) => behaviour.now,
            (Known::Value(true), Known::Value(false)) => behaviour.before,
            _ => continue,
        };
        for placed in objects.iter().filter(|one| concerns(&one.object.id, one.object.node.get_ref())) {
            said.entry(words.to_owned()).or_default().insert(placed.object.id.to_string());
        }
    }
    for placed in &objects {
        for (words, id) in keys(placed, product, (old, new)) {
            said.entry(words).or_default().insert(id);
        }
    }
    if product == Product::Flux {
        substitution(&objects, (base, head), &mut said);
    }
    let from = match product {
        Product::Flux => &head.settings.flux.from,
        Product::ClusterApi => &head.settings.cluster_api.from,
    };
    let root = head.applied.first().map(|applied| &applied.id);
    let stating = from.as_ref().and_then(|from| states(pair, from));
    let mut effect = Effect::new(pair, EffectKind::VersionChanged, stating.or(root)?);
    effect.before = json!(old.to_string());
    effect.after = json!(new.to_string());
    effect.reason = format!("{} {old} -> {new}", product.name());
    if said.is_empty() {
        effect.severity = Severity::Routine;
        effect.consequences.push("no behaviour that depends on it concerns these objects".to_owned());
    }
    for (words, ids) in &said {
        let first: Vec<&str> = ids.iter().take(4).map(String::as_str).collect();
        let more = if ids.len() > 4 { format!(", and {} more", ids.len() - 4) } else { String::new() };
        effect.consequences.push(format!("{words}: {}{more}", first.join(", ")));
    }
    let list: Vec<_> = said.iter().map(|(words, ids)| json!({"what": words, "objects": ids})).collect();
    effect.details.insert("changes".to_owned(), json!(list));
    effect.details.insert("product".to_owned(), json!(product.name()));
    Some(effect.at(Side::Head, from.clone()))
}

/// The object that states a version.
fn states<'w>(pair: &Pair<'w>, from: &Location) -> Option<&'w ObjectId> {
    let holds = |placed: &&Placed<'w>| {
        let place = placed.object.node.get_ref().location();
        place.is_some_and(|place| {
            place.file == from.file && place.start <= from.start && from.end <= place.end
        })
    };
    pair.after.values().find(holds).map(|placed| &placed.object.id)
}

/// Annotations and labels of an object that begin or cease to be read.
fn keys(
    placed: &Placed<'_>,
    product: Product,
    (old, new): (Version, Version),
) -> impl Iterator<Item = (String, String)> {
    let id = &placed.object.id;
    let maps = metadata_maps(id, placed.object.node.get_ref());
    let mut found = Vec::new();
    for map in &maps {
        for entry in &map.entries {
            let Standing::Known(key) = entry.standing else { continue };
            let of_flux = FLUX.lookup(&entry.entry.key).is_some();
            // Events are a behaviour; the keys of Flux count in an object's own maps.
            let is_told = entry.entry.key.starts_with("event.toolkit.fluxcd.io/") || of_flux && !map.own;
            let in_its_field = match key.field {
                Field::Label => map.labels,
                Field::Annotation => !map.labels,
                Field::Either => true,
            };
            let is_setting = matches!(key.class, Class::Setting | Class::Request) && key.released;
            let of_product = of_flux == (product == Product::Flux);
            let on = key.on.has(id.group(), &id.kind) || !map.own;
            if is_told || !is_setting || !of_product || !in_its_field || !on {
                continue;
            }
            let word = if map.labels { "label" } else { "annotation" };
            let name = &entry.entry.key;
            match (is_read(key, old), is_read(key, new)) {
                (false, true) => {
                    found.push((format!("{word} {name} begins to work: it {}", key.effect), id.to_string()))
                }
                (true, false) => found.push((format!("{word} {name} is not read any more"), id.to_string())),
                _ => {}
            }
        }
    }
    found.into_iter()
}

fn is_read(key: &Key, version: Version) -> bool {
    let at_least = |(major, minor): (u16, u16)| version.at_least(major.into(), minor.into());
    key.since.is_none_or(at_least) && !key.until.is_some_and(|(major, minor)| at_least((major, minor + 1)))
}

/// Variables that nothing defines, where strict substitution begins or ends.
fn substitution(
    objects: &[&Placed<'_>],
    (base, head): (&Cluster, &Cluster),
    said: &mut BTreeMap<String, BTreeSet<String>>,
) {
    let strict = |cluster: &Cluster| cluster.settings.feature(Feature::StrictSubstitution).value;
    let begins = match (strict(base), strict(head)) {
        (Some(false), Some(true)) => true,
        (Some(true), Some(false)) => false,
        _ => return,
    };
    for placed in objects {
        for problem in &placed.object.problems {
            let (name, perhaps) = match &problem.kind {
                ProblemKind::Undefined { name } => (name, ""),
                ProblemKind::PerhapsUndefined { name } => (name, " (unless the cluster defines it)"),
                _ => continue,
            };
            let words = match begins {
                true => format!("${{{name}}} is not defined, which fails the build from now on{perhaps}"),
                false => format!("${{{name}}} is not defined, and becomes empty from now on{perhaps}"),
            };
            said.entry(words).or_default().insert(placed.object.id.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_its_first_version_to_its_last() {
        let Standing::Known(known) = FLUX.standing("event.toolkit.fluxcd.io/team") else {
            panic!("a key of Flux");
        };
        for (since, until, read) in [
            (None, None, [true, true, true]),
            (Some((2, 5)), None, [false, true, true]),
            (None, Some((2, 5)), [true, true, false]),
            (Some((2, 5)), Some((2, 5)), [false, true, false]),
        ] {
            let key = Key { since, until, ..*known };
            let versions = ["2.4.1", "2.5.3", "2.6.0"].map(|text| Version::parse(text).expect("a version"));
            assert_eq!(versions.map(|version| is_read(&key, version)), read, "{since:?} to {until:?}");
        }
    }
}
