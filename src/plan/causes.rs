//! The lines that a change changed, as the causes of its effects. Where a value
//! stands is a cause only if that line changed; else it is what the cause goes
//! through.

use super::{Cause, Effect, Pair, Placed, Side};
use crate::build::kustomize::{FILE_NAMES, FileRole};
use crate::files::join;
use crate::lang::yaml::{FilePath, Location, Via, ViaKind};
use crate::model::{EffectKind, ObjectId};
use crate::world::{Applied, ApplyTarget, Cluster, World};
use rustc_hash::FxHashMap;
use similar::{ChangeTag, TextDiff};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Causes that are told of one effect, where nothing singles one out.
const MOST: usize = 3;

/// The changed lines of both sides, as byte ranges by path.
pub(super) struct Changes {
    base: FxHashMap<Arc<str>, Vec<Range<u32>>>,
    head: FxHashMap<Arc<str>, Vec<Range<u32>>>,
}

impl Changes {
    /// Compares the files that builds of two worlds read.
    pub(super) fn between(base: &World, head: &World) -> Changes {
        let mut changes = Changes { base: FxHashMap::default(), head: FxHashMap::default() };
        let mut paths: BTreeSet<Arc<str>> = BTreeSet::new();
        for (here, there) in [(base, head), (head, base)] {
            let files = here.snapshot.files().iter();
            let read = files.filter(|file| file.is_manifest || here.inputs.contains(&file.path));
            let other = read.filter(|file| !here.snapshot.has_same_content(&there.snapshot, &file.path));
            paths.extend(other.map(|file| file.path.clone()));
        }
        for path in paths {
            let text = |world: &World| {
                let file = world.snapshot.file(&path)?;
                world.snapshot.stream(file).map(|stream| stream.text.clone())
            };
            let (old, new) = (text(base).unwrap_or_default(), text(head).unwrap_or_default());
            let (old, new) = lines(&old, &new);
            changes.base.insert(path.clone(), old);
            changes.head.insert(path, new);
        }
        changes
    }

    /// The changed lines of a file; other trees are the same on both sides.
    fn of(&self, side: Side, file: &FilePath) -> &[Range<u32>] {
        let map = if side == Side::Base { &self.base } else { &self.head };
        file.of_root().and_then(|path| map.get(path)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a place is on a line that changed.
    pub(super) fn holds(&self, side: Side, location: &Location) -> bool {
        let end = location.end.max(location.start + 1);
        self.of(side, &location.file).iter().any(|range| range.start < end && location.start < range.end)
    }

    /// The first changed lines of a file, or of a part of it.
    fn first(&self, file: &FilePath, within: Option<(Side, Range<u32>)>) -> Option<Cause> {
        let sides = match &within {
            Some((side, _)) => vec![*side],
            None => vec![Side::Head, Side::Base],
        };
        sides.into_iter().find_map(|side| {
            let range = self.of(side, file).iter().find(|range| {
                within.as_ref().is_none_or(|(_, part)| range.start < part.end && part.start < range.end)
            })?;
            let start = within.as_ref().map_or(range.start, |(_, part)| range.start.max(part.start));
            let location = Location { file: file.clone(), start, end: range.end.max(start), via: Vec::new() };
            Some(Cause { location, side })
        })
    }
}

/// Ranges of the lines that only one of two texts has.
fn lines(old: &str, new: &str) -> (Vec<Range<u32>>, Vec<Range<u32>>) {
    let diff = TextDiff::from_lines(old, new);
    let (mut before, mut after): (Vec<Range<u32>>, Vec<Range<u32>>) = (Vec::new(), Vec::new());
    let (mut old_at, mut new_at) = (0u32, 0u32);
    let add = |ranges: &mut Vec<Range<u32>>, start: u32, end: u32| match ranges.last_mut() {
        Some(last) if last.end == start => last.end = end,
        _ => ranges.push(start..end),
    };
    for change in diff.iter_all_changes() {
        let length = change.value().len() as u32;
        match change.tag() {
            ChangeTag::Equal => {
                old_at += length;
                new_at += length;
            }
            ChangeTag::Delete => {
                add(&mut before, old_at, old_at + length);
                old_at += length;
            }
            ChangeTag::Insert => {
                add(&mut after, new_at, new_at + length);
                new_at += length;
            }
        }
    }
    (before, after)
}

/// What was found of the builds of Kustomizations, by their addresses.
#[derive(Default)]
struct KnownLines {
    /// The changed lines of a build.
    of_builds: FxHashMap<(Side, usize), Vec<Cause>>,
    /// The lines of one side that its kustomizations have there alone, and that name paths.
    listed: FxHashMap<(Side, usize), ListedLines>,
}

impl KnownLines {
    /// The line of one side alone that names the file of an object, or a directory above it.
    fn listing(
        &mut self,
        pair: &Pair<'_>,
        changes: &Changes,
        side: Side,
        placed: &Placed<'_>,
    ) -> Option<Cause> {
        let by = placed.kustomization?;
        let of = (side, std::ptr::from_ref(by) as usize);
        let listed = self.listed.entry(of).or_insert_with(|| listed_lines(pair, changes, side, by));
        let files = placed.object.files.iter().filter_map(|(_, location)| location.file.of_root());
        files.into_iter().find_map(|file| {
            let above = file.rmatch_indices('/').map(|(at, _)| &file[..at]);
            std::iter::once(&**file).chain(above).find_map(|path| listed.get(path).cloned())
        })
    }
}

/// Leaves only lines that changed as causes, where any can be told.
pub(super) fn settle(pair: &Pair<'_>, changes: &Changes, effects: &mut [Effect]) {
    let mut known = KnownLines::default();
    for effect in effects {
        if effect.details.contains_key(super::machines::ANSWER) {
            continue;
        }
        let own = std::mem::take(&mut effect.causes);
        let mut found: Vec<Cause> = Vec::new();
        for cause in &own {
            if changes.holds(cause.side, &cause.location) {
                found.push(cause.clone());
                continue;
            }
            // A patch, a variable, a transformer that changed.
            for via in steps(&cause.location) {
                if changes.holds(cause.side, &via.location) {
                    found.push(through(via.location.clone(), cause.side, cause));
                }
            }
        }
        if found.is_empty() {
            found = around(pair, changes, effect, &mut known);
            if let (Some(first), Some(stands)) = (found.first_mut(), own.first()) {
                *first = through(first.location.clone(), first.side, stands);
            }
        }
        if found.is_empty() {
            found = own;
        }
        let mut places: Vec<Cause> = Vec::new();
        for cause in found {
            if !places.contains(&cause) {
                places.push(cause);
            }
        }
        effect.causes = places;
    }
}

/// All steps of a value, the outermost first.
pub(super) fn steps(location: &Location) -> Vec<&Via> {
    let mut found: Vec<&Via> = Vec::new();
    for via in location.via.iter().rev() {
        found.push(via);
        found.extend(steps(&via.location));
    }
    found
}

/// A cause that goes through the line where the value, or the object, stands.
fn through(mut location: Location, side: Side, stands: &Cause) -> Cause {
    let place = Location { via: Vec::new(), ..stands.location.clone() };
    let same = place.file == location.file && place.start == location.start;
    if !same && stands.side == side {
        location.via.push(Via { kind: ViaKind::Resource, location: place });
    }
    Cause { location, side }
}

/// Changed lines of what makes an object: its files, its Kustomization and the files
/// that reads, then what applies that.
fn around(pair: &Pair<'_>, changes: &Changes, effect: &Effect, known: &mut KnownLines) -> Vec<Cause> {
    let id = &effect.object;
    let key = (&effect.target, id.named());
    let sides =
        [(Side::Head, pair.head, pair.after.get(&key)), (Side::Base, pair.base, pair.before.get(&key))];
    let is_own = matches!(
        effect.effect,
        EffectKind::Waits
            | EffectKind::BuildFails
            | EffectKind::BuildsAgain
            | EffectKind::Emptied
            | EffectKind::Unseen
            | EffectKind::MayChange
    );
    // What is still stated, and only named no more.
    let is_stated = |placed: &Placed<'_>| {
        let stated = placed.object.files.iter().filter(|(role, _)| *role == FileRole::Resource);
        stated.into_iter().all(|(_, location)| changes.of(Side::Base, &location.file).is_empty())
    };
    let is_gone = !pair.after.contains_key(&key);
    let before = pair.before.get(&key).filter(|placed| is_gone && is_stated(placed));
    let taken_off = before.and_then(|placed| known.listing(pair, changes, Side::Base, placed));
    // What something else applies from now on is new there.
    let by = |placed: &Placed<'_>| placed.kustomization.map(|by| by.id.clone());
    let is_new = |after: &&Placed<'_>| pair.before.get(&key).is_none_or(|before| by(before) != by(after));
    let after = pair.after.get(&key).filter(is_new);
    if let Some(cause) = taken_off.or_else(|| put_on(pair, changes, known, after?)) {
        return vec![cause];
    }
    for (_, _, placed) in &sides {
        let files = placed.iter().flat_map(|placed| &placed.object.files);
        let paths: BTreeSet<&FilePath> = files.map(|(_, location)| &location.file).collect();
        let found: Vec<Cause> = paths.into_iter().filter_map(|path| changes.first(path, None)).collect();
        if !found.is_empty() && !is_own {
            return found.into_iter().take(MOST).collect();
        }
    }
    for (side, cluster, placed) in sides {
        let Some(cluster) = cluster else { continue };
        let of_itself = is_own.then(|| own(cluster, id)).flatten();
        let mut by = of_itself.or_else(|| placed.and_then(|placed| placed.kustomization));
        for _ in 0..64 {
            let Some(applied) = by else { break };
            let at = (side, std::ptr::from_ref(applied) as usize);
            let found = known.of_builds.entry(at).or_insert_with(|| of_build(changes, side, applied));
            if !found.is_empty() {
                return found.clone();
            }
            let parent = applied.parent.and_then(|index| cluster.applied.get(index as usize));
            by = parent.filter(|parent| parent.id != applied.id);
        }
    }
    Vec::new()
}

/// What made an object new to who applies it, though it was written before: the line that names
/// its file, or what made the Kustomization new that applies it.
fn put_on(pair: &Pair<'_>, changes: &Changes, known: &mut KnownLines, after: &Placed<'_>) -> Option<Cause> {
    let mut placed = after;
    for _ in 0..64 {
        if let Some(listed) = known.listing(pair, changes, Side::Head, placed) {
            return Some(listed);
        }
        let by = placed.kustomization?;
        let key = (&ApplyTarget::Local, by.id.named());
        placed = pair.after.get(&key).filter(|_| !pair.before.contains_key(&key))?;
        let place = placed.object.node.get_ref().location_at("/metadata/name");
        if let Some(location) = place.filter(|place| changes.holds(Side::Head, place)) {
            return Some(Cause { location, side: Side::Head });
        }
    }
    None
}

/// Lines of kustomizations by the paths that they name.
type ListedLines = FxHashMap<String, Cause>;

fn listed_lines(pair: &Pair<'_>, changes: &Changes, side: Side, by: &Applied) -> ListedLines {
    let world = if side == Side::Base { pair.base_world } else { pair.head_world };
    let mut found = ListedLines::default();
    for file in &by.files_read {
        let Some(path) = file.of_root() else { continue };
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let own = changes.of(side, file);
        if own.is_empty() || !FILE_NAMES.contains(&name) {
            continue;
        }
        let snapshot = &world.snapshot;
        let Some(stream) = snapshot.find(file).and_then(|file| snapshot.stream(file)) else { continue };
        for range in own {
            let mut start = range.start;
            let text = stream.text.get(range.start as usize..range.end as usize).unwrap_or_default();
            for line in text.split_inclusive('\n') {
                let place = Location {
                    file: file.clone(),
                    start: start + (line.len() - line.trim_start().len()) as u32,
                    end: start + line.trim_end().len() as u32,
                    via: Vec::new(),
                };
                start += line.len() as u32;
                if let Some(listed) = listed(line).and_then(|entry| join(directory, entry)) {
                    let listed = listed.trim_end_matches('/').to_owned();
                    found.entry(listed).or_insert(Cause { location: place, side });
                }
            }
        }
    }
    found
}

/// What an item of a list of paths says.
fn listed(line: &str) -> Option<&str> {
    let entry = line.trim().strip_prefix('-')?.split(" #").next()?;
    Some(entry.trim().trim_matches(['"', '\''].as_slice()))
}

fn own<'w>(cluster: &'w Cluster, id: &ObjectId) -> Option<&'w Applied> {
    cluster.applied(id.namespace.as_deref(), &id.name).filter(|applied| applied.id == *id)
}

/// Changed lines of a Kustomization, else those of the files that its build reads.
fn of_build(changes: &Changes, side: Side, applied: &Applied) -> Vec<Cause> {
    let place = applied.node.get_ref().location();
    let own = place.and_then(|place| changes.first(&place.file, Some((side, place.start..place.end))));
    if let Some(own) = own {
        return vec![own];
    }
    let read = applied.files_read.iter().filter_map(|path| changes.first(path, None));
    read.take(MOST).collect()
}
