//! What findings have to do with each other: fixes of texts that several objects
//! share are offered only when every object that the text feeds has the finding, and
//! one mistake is one finding.

use super::{Finding, Group};
use crate::model::ObjectId;
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

/// One finding for one mistake: where a more telling rule reports the same place or
/// the same field, what the group `schema` says of it is left out. Only of what a
/// scalar reads as, the schema tells more.
pub(super) fn give_way(findings: Vec<Finding>) -> Vec<Finding> {
    let is_schema = |finding: &Finding| finding.rule.group == Group::Schema;
    if !findings.iter().any(is_schema) {
        return findings;
    }
    let yields = |finding: &Finding| finding.rule.id == "ambiguous-scalar";
    let same = |one: &Finding, two: &Finding| {
        let place = |finding: &Finding| (finding.location.path.clone(), finding.location.start);
        let field = || {
            !one.path.is_empty()
                && one.path == two.path
                && one.objects.iter().any(|object| two.objects.contains(object))
        };
        place(one) == place(two) || field()
    };
    let mut by_place: FxHashMap<(&str, u32), Vec<usize>> = FxHashMap::default();
    let mut by_field: FxHashMap<(&str, &ObjectId), Vec<usize>> = FxHashMap::default();
    for (at, finding) in findings.iter().enumerate() {
        by_place.entry((&finding.location.path, finding.location.start)).or_default().push(at);
        for object in &finding.objects {
            by_field.entry((&finding.path, object)).or_default().push(at);
        }
    }
    let mut dropped: Vec<bool> = vec![false; findings.len()];
    for (at, finding) in findings.iter().enumerate().filter(|(_, finding)| is_schema(finding)) {
        let beside = by_place.get(&(&*finding.location.path, finding.location.start));
        let about = finding.objects.iter().filter_map(|object| by_field.get(&(&*finding.path, object)));
        for other in beside.into_iter().chain(about).flatten().copied().filter(|other| *other != at) {
            let told = &findings[other];
            if is_schema(told) || !same(finding, told) {
                continue;
            }
            if yields(told) {
                dropped[other] = true;
            } else if told.level >= finding.level {
                dropped[at] = true;
            }
        }
    }
    let kept = findings.into_iter().zip(dropped).filter(|(_, dropped)| !dropped);
    kept.map(|(finding, _)| finding).collect()
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
