//! Fixes of texts that several objects share: one is offered only when every
//! object that the text feeds has the finding.

use super::Finding;
use crate::world::{Effective, World};
use crate::yaml::{Location, NodeRef};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Take back the fixes that would change objects without the finding.
pub(super) fn withhold_fixes(world: &World, findings: &mut [Finding]) {
    let has_fixes = |finding: &Finding| !finding.fixes.is_empty() && !finding.path.is_empty();
    if !findings.iter().any(has_fixes) {
        return;
    }
    let mut by_file: FxHashMap<Arc<str>, Vec<&Effective>> = FxHashMap::default();
    for object in &world.objects {
        if let Some(location) = object.node.get_ref().location() {
            by_file.entry(location.path).or_default().push(object);
        }
    }
    for finding in findings.iter_mut().filter(|finding| has_fixes(finding)) {
        let own_text = finding.objects.iter().all(|id| {
            let of_file = by_file.get(&finding.location.path);
            of_file.is_some_and(|objects| objects.iter().any(|object| object.id == *id))
        });
        let spared = |object: &Effective| {
            !finding.objects.contains(&object.id)
                && feeds(object.node.get_ref(), &finding.path, &finding.location)
        };
        // The text of a patch may feed the objects of any file.
        let shared = match by_file.get(&finding.location.path).filter(|_| own_text) {
            Some(objects) => objects.iter().any(|object| spared(object)),
            None => world.objects.iter().any(spared),
        };
        if shared {
            finding.fixes.clear();
        }
    }
}

/// Whether the field of an object, or its key, stands at this place.
fn feeds(object: NodeRef<'_>, pointer: &str, place: &Location) -> bool {
    let same = |location: Option<Location>| {
        location.is_some_and(|location| {
            (&location.path, location.start, location.end) == (&place.path, place.start, place.end)
        })
    };
    if object.at(pointer).is_some_and(|node| same(node.location())) {
        return true;
    }
    let Some((parent, _)) = pointer.rsplit_once('/') else { return false };
    object.entries_at(parent).any(|entry| same(entry.key_location()))
}
