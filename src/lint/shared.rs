//! What findings have to do with each other: fixes of texts that several objects
//! share are offered only when every object that the text feeds has the finding, and
//! one mistake is one finding.

use super::{Finding, Group, Level};
use crate::lang::text::counted;
use crate::lang::yaml::{FilePath, Location, NodeRef};
use crate::model::ObjectId;
use crate::world::{Effective, World};
use rustc_hash::{FxHashMap, FxHashSet};

/// Findings of one rule in one file that are reported. More help nobody, and an
/// attacker writes a million of them in a few kilobytes.
const MOST: usize = 1000;

/// Leave out what one rule finds in one file beyond a bound; the last one that
/// stays tells how many, so that every format does.
pub(super) fn cap(findings: &mut Vec<Finding>) {
    if findings.len() <= MOST {
        return;
    }
    let mut counts: FxHashMap<(&'static str, FilePath), (usize, Level)> = FxHashMap::default();
    for finding in findings.iter() {
        let key = (finding.rule.id, finding.location.file.clone());
        let (count, level) = counts.entry(key).or_insert((0, finding.level));
        *count += 1;
        *level = finding.level.max(*level);
    }
    if counts.values().all(|(count, _)| *count <= MOST) {
        return;
    }
    let mut seen: FxHashMap<(&'static str, FilePath), usize> = FxHashMap::default();
    findings.retain_mut(|finding| {
        let key = (finding.rule.id, finding.location.file.clone());
        let (total, level) = counts[&key];
        let seen = seen.entry(key).or_insert(0);
        *seen += 1;
        if total <= MOST || *seen < MOST {
            return true;
        }
        if *seen > MOST {
            return false;
        }
        let more = counted(total - MOST + 1, "more finding");
        let mut rest = Finding::new(finding.rule, finding.location.clone(), String::new());
        rest.title = format!("{more} of {} from here on in this file", finding.rule.id);
        rest.level = level;
        rest.why = format!("{MOST} of one rule in one file are all that is reported");
        rest.help = "mend what comes before, or exclude the file in .forebay.yaml".to_owned();
        *finding = rest;
        true
    });
}

/// Take back the fixes that would change objects without the finding.
pub(super) fn withhold_fixes(world: &World, findings: &mut [Finding]) {
    let has_fixes = |finding: &Finding| !finding.fixes.is_empty() && !finding.path.is_empty();
    if !findings.iter().any(has_fixes) {
        return;
    }
    let mut by_file: FxHashMap<FilePath, Vec<&Effective>> = FxHashMap::default();
    let mut ids: FxHashSet<(FilePath, &ObjectId)> = FxHashSet::default();
    for object in &world.objects {
        if let Some(location) = object.node.get_ref().location() {
            ids.insert((location.file.clone(), &object.id));
            by_file.entry(location.file).or_default().push(object);
        }
    }
    let all: Vec<&Effective> = world.objects.iter().collect();
    let mut fed = Fed::default();
    for finding in findings.iter_mut().filter(|finding| has_fixes(finding)) {
        let path = &finding.location.file;
        let own_text = finding.objects.iter().all(|id| ids.contains(&(path.clone(), id)));
        let objects: FxHashSet<&ObjectId> = finding.objects.iter().collect();
        // The text of a patch may feed the objects of any file.
        let shared = match by_file.get(path).filter(|_| own_text) {
            Some(beside) => fed.any_besides(Some(path), beside, finding, &objects),
            None => fed.any_besides(None, &all, finding, &objects),
        };
        if shared {
            finding.fixes.clear();
        }
    }
}

/// A place: path, start and end.
type TextRange = (FilePath, u32, u32);

fn place_of(location: Location) -> TextRange {
    (location.file, location.start, location.end)
}

/// Which objects take a field, or its key, from a place: read once for each field
/// that findings are about, of the objects of a file or of all.
#[derive(Default)]
struct Fed<'w> {
    values: FxHashMap<(Option<FilePath>, String), SharedObjects<'w>>,
    keys: FxHashMap<(Option<FilePath>, String), SharedObjects<'w>>,
}

type SharedObjects<'w> = FxHashMap<TextRange, Vec<&'w ObjectId>>;

impl<'w> Fed<'w> {
    /// Whether the text of a finding feeds the same field of objects beside its own.
    fn any_besides(
        &mut self,
        file: Option<&FilePath>,
        objects: &[&'w Effective],
        finding: &Finding,
        own: &FxHashSet<&ObjectId>,
    ) -> bool {
        let place = place_of(finding.location.clone());
        let values = self.values.entry((file.cloned(), finding.path.clone())).or_insert_with(|| {
            let mut found = SharedObjects::default();
            for object in objects {
                let value = object.node.get_ref().at(&finding.path);
                if let Some(location) = value.and_then(NodeRef::location) {
                    found.entry(place_of(location)).or_default().push(&object.id);
                }
            }
            found
        });
        let spares = |found: &SharedObjects<'w>| {
            found.get(&place).is_some_and(|objects| objects.iter().any(|id| !own.contains(id)))
        };
        if spares(values) {
            return true;
        }
        let Some((parent, _)) = finding.path.rsplit_once('/') else { return false };
        let keys = self.keys.entry((file.cloned(), parent.to_owned())).or_insert_with(|| {
            let mut found = SharedObjects::default();
            for object in objects {
                for entry in object.node.get_ref().entries_at(parent) {
                    if let Some(location) = entry.key_location() {
                        found.entry(place_of(location)).or_default().push(&object.id);
                    }
                }
            }
            found
        });
        spares(keys)
    }
}

/// Rules about values of charts that say nothing where a schema refuses the value; whether
/// they are silent below it, too.
const BESIDE_REFUSED: [(&str, bool); 3] =
    [("unknown-chart-value", false), ("value-without-effect", true), ("value-replaced-table", true)];

/// One finding for one value of a chart: what its schema refuses is an error, and nothing
/// else is said of it.
pub(super) fn give_way_to_schemas(findings: Vec<Finding>) -> Vec<Finding> {
    let mut refused: FxHashSet<(ObjectId, String)> = FxHashSet::default();
    for finding in findings.iter().filter(|finding| finding.rule.id == "rejected-chart-values") {
        let paths =
            finding.objects.iter().map(|id| (id.clone(), finding.values_path.clone().unwrap_or_default()));
        refused.extend(paths);
    }
    if refused.is_empty() {
        return findings;
    }
    let is_refused = |finding: &Finding, below: bool| {
        let Some(path) = &finding.values_path else { return false };
        let above = path.match_indices('/').map(|(at, _)| &path[..at]).filter(|_| below);
        let mut paths = above.filter(|above| !above.is_empty()).chain([&**path]);
        paths.any(|path| finding.objects.iter().any(|id| refused.contains(&(id.clone(), path.to_owned()))))
    };
    let gives_way = |finding: &Finding| {
        let rule = BESIDE_REFUSED.iter().find(|(id, _)| *id == finding.rule.id);
        rule.is_some_and(|(_, below)| is_refused(finding, *below))
    };
    findings.into_iter().filter(|finding| !gives_way(finding)).collect()
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
        let place = |finding: &Finding| (finding.location.file.clone(), finding.location.start);
        let field = || {
            !one.path.is_empty()
                && one.path == two.path
                && one.objects.iter().any(|object| two.objects.contains(object))
        };
        place(one) == place(two) || field()
    };
    let mut by_place: FxHashMap<(&FilePath, u32), Vec<usize>> = FxHashMap::default();
    let mut by_field: FxHashMap<(&str, &ObjectId), Vec<usize>> = FxHashMap::default();
    // What the schema says gives way to nothing that it says itself.
    for (at, finding) in findings.iter().enumerate().filter(|(_, finding)| !is_schema(finding)) {
        by_place.entry((&finding.location.file, finding.location.start)).or_default().push(at);
        for object in &finding.objects {
            by_field.entry((&finding.path, object)).or_default().push(at);
        }
    }
    let mut dropped: Vec<bool> = vec![false; findings.len()];
    for (at, finding) in findings.iter().enumerate().filter(|(_, finding)| is_schema(finding)) {
        let beside = by_place.get(&(&finding.location.file, finding.location.start));
        let about = finding.objects.iter().filter_map(|object| by_field.get(&(&*finding.path, object)));
        for other in beside.into_iter().chain(about).flatten().copied().filter(|other| *other != at) {
            let told = &findings[other];
            if !same(finding, told) {
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
