//! Annotations and labels that begin or cease to be read.

use super::{Look, Note};
use crate::lint::metadata::metadata_maps;
use crate::model::keys::{FLUX, KeyField, KeyOwner, KeyStanding, MetadataKey};
use crate::model::{Severity, Version};
use crate::plan::Placed;
use crate::simulate::behaviour::Product;
use std::collections::{BTreeMap, BTreeSet};

/// One note for each key.
pub(super) fn notes(look: &Look<'_, '_>, product: Product) -> Vec<Note> {
    let Some(old) = look.old else { return Vec::new() };
    let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for placed in look.kept() {
        for (words, id) in keys(placed, product, (old, look.new)) {
            said.entry(words).or_default().insert(id);
        }
    }
    let note = |(what, objects): (String, BTreeSet<String>)| Note {
        id: "metadata-key",
        severity: Severity::Notable,
        what,
        concerns: objects.into_iter().collect(),
        before: String::new(),
        after: String::new(),
        source: match product {
            Product::Flux => "https://fluxcd.io/flux/components/",
            Product::ClusterApi => "https://cluster-api.sigs.k8s.io/reference/api/labels-and-annotations",
        },
    };
    said.into_iter().map(note).collect()
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
            let KeyStanding::Known(key) = entry.standing else { continue };
            let of_flux = FLUX.lookup(&entry.entry.key).is_some();
            // Events are a behaviour; the keys of Flux count in an object's own maps.
            let is_told = entry.entry.key.starts_with("event.toolkit.fluxcd.io/") || of_flux && !map.own;
            let in_its_field = match key.field {
                KeyField::Label => map.labels,
                KeyField::Annotation => !map.labels,
                KeyField::Either => true,
            };
            let is_setting = matches!(key.class, KeyOwner::Setting | KeyOwner::Request) && key.released;
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

fn is_read(key: &MetadataKey, version: Version) -> bool {
    let at_least = |(major, minor): (u16, u16)| version.at_least(major.into(), minor.into());
    key.since.is_none_or(at_least) && !key.until.is_some_and(|(major, minor)| at_least((major, minor + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_its_first_version_to_its_last() {
        let KeyStanding::Known(known) = FLUX.standing("event.toolkit.fluxcd.io/team") else {
            panic!("a key of Flux");
        };
        for (since, until, read) in [
            (None, None, [true, true, true]),
            (Some((2, 5)), None, [false, true, true]),
            (None, Some((2, 5)), [true, true, false]),
            (Some((2, 5)), Some((2, 5)), [false, true, false]),
        ] {
            let key = MetadataKey { since, until, ..*known };
            let versions = ["2.4.1", "2.5.3", "2.6.0"].map(|text| Version::parse(text).expect("a version"));
            assert_eq!(versions.map(|version| is_read(&key, version)), read, "{since:?} to {until:?}");
        }
    }
}
