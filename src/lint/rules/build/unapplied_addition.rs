//! `unapplied-addition`: a file that a change adds and that nothing applies.
//! Source: as `unlisted-file`; of a change it is known that somebody just wrote it.

use super::title;
use crate::build::kustomize::FILE_NAMES;
use crate::lint::unlisted::is_manifest;
use crate::lint::{ChangeView, Check, Context, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Object;
use crate::world::entry::is_leftover;
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static RULE: Rule = Rule {
    id: "unapplied-addition",
    group: Group::Build,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a file that this change adds and that nothing applies",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/build/unapplied-addition.md"),
    check: Check::Change(check),
};

fn check(view: &ChangeView<'_>, report: &mut Reporter<'_>) {
    let (base, head) = (view.base, view.head);
    if !head.world.has_entry {
        return;
    }
    let moved: BTreeSet<&str> =
        head.snapshot.moved_paths(base.snapshot).into_iter().map(|path| &**path).collect();
    let is_new = |path: &str| base.snapshot.objects_in(path).is_empty() && !moved.contains(path);
    let mut added: BTreeMap<&str, Vec<&Object>> = BTreeMap::new();
    for object in head.world.orphans().filter(|object| is_manifest(object) && is_new(object.path())) {
        added.entry(object.path()).or_default().push(object);
    }
    if added.is_empty() {
        return;
    }
    let unlisted: BTreeSet<&str> = head.unlisted().iter().map(|one| &*one.path).collect();
    let reach = Reach::of(head);
    let mut told: FxHashSet<&str> = FxHashSet::default();
    for (path, objects) in &added {
        let level = match unlisted.contains(*path) {
            true => Level::Error,
            false if above(path).any(|directory| told.contains(directory)) => continue,
            false if !is_leftover(path) && reach.is_beside_applied(head, path) => Level::Warning,
            false => continue,
        };
        told.extend(path.rsplit_once('/').map(|(directory, _)| directory));
        tell(report, path, objects, level);
    }
}

/// The directories that a path lies in, the nearest first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |directory| parent(directory))
}

fn tell(report: &mut Reporter<'_>, path: &str, objects: &[&Object], level: Level) {
    let Some((first, place)) =
        objects.first().and_then(|first| Some((first, first.node.get_ref().location()?)))
    else {
        return;
    };
    let finding = report.report(place, title(&first.id, "this change adds it, and nothing applies it"));
    finding
        .level(level)
        .why("no kustomization lists the file and no Kustomization has it below its path: it changes nothing")
        .help("list it where its neighbours are listed")
        .field("", path);
    for object in objects {
        finding.object(&object.id);
    }
}

/// The directory of a path.
fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(directory, _)| directory)
}

/// The directories below which a cluster reads a file.
struct Reach<'a>(FxHashSet<&'a str>);

impl<'a> Reach<'a> {
    fn of(head: &'a Context<'_>) -> Reach<'a> {
        let files = head.snapshot.files().iter().filter(|file| head.world.is_applied(file));
        Reach(files.flat_map(|file| above(&file.path)).collect())
    }

    /// Whether others of the directory above a new one are applied, and no kustomization
    /// up there names the new one, which a comment does as well.
    fn is_beside_applied(&self, head: &Context<'_>, path: &str) -> bool {
        let (snapshot, world) = (head.snapshot, head.world);
        let mut below = path;
        for directory in above(path) {
            let name = &below[directory.len() + 1..];
            let kustomization =
                FILE_NAMES.iter().find_map(|file| snapshot.file(&format!("{directory}/{file}")));
            if let Some(file) = kustomization {
                let text = snapshot.stream(file).map_or("", |stream| &*stream.text);
                if world.is_applied(file) {
                    return !text.contains(name);
                }
            } else if below != path && self.0.contains(directory) {
                return true;
            }
            below = directory;
        }
        false
    }
}
