//! How much of a change was followed: a plan says "no effect" only where everything
//! that the change touches is read by something that was built.

use crate::world::{Outcome, World};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// What of a change was followed.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    /// Flux Kustomizations of the head that were not followed, of how many.
    pub not_followed: (usize, usize),
    /// Files that hold manifests or parts of charts and are not the same.
    pub changed: usize,
    /// Those of them that nothing reads which was followed, in order.
    pub unread: Vec<String>,
}

impl Reach {
    /// Whether everything that the change touches was followed.
    pub fn is_whole(&self) -> bool {
        self.unread.is_empty()
    }
}

/// Compares the files of two worlds with what their builds read.
pub fn reach(base: &World, head: &World) -> Reach {
    let coverage = head.coverage();
    let mut changed: BTreeSet<&str> = BTreeSet::new();
    for (here, there) in [(base, head), (head, base)] {
        for file in here.snapshot.files() {
            if !here.snapshot.has_same_content(&there.snapshot, &file.path) {
                changed.insert(&file.path);
            }
        }
    }
    let mut touching: BTreeSet<&str> = BTreeSet::new();
    if !changed.is_empty() {
        for world in [base, head] {
            let objects = world.snapshot.objects().iter().map(|object| &*object.source.path);
            touching.extend(objects.filter_map(|path| changed.get(path)));
            let part = |path: &&&str| {
                let file = world.snapshot.file(path);
                file.is_some_and(|file| world.snapshot.is_template(file)) || in_chart(world, path)
            };
            touching.extend(changed.iter().filter(part));
        }
    }
    let read = if touching.is_empty() { FxHashSet::default() } else { read(&[base, head]) };
    let unread = touching.iter().filter(|path| !read.contains(**path)).map(|path| (*path).to_owned());
    Reach {
        not_followed: (coverage.not_followed.len(), coverage.kustomizations),
        changed: touching.len(),
        unread: unread.collect(),
    }
}

/// Whether a file belongs to a chart of the repository, whose effects are Helm's.
fn in_chart(world: &World, path: &str) -> bool {
    let mut directory = path;
    while let Some((parent, _)) = directory.rsplit_once('/') {
        if world.snapshot.file(&format!("{parent}/Chart.yaml")).is_some() {
            return true;
        }
        directory = parent;
    }
    false
}

/// Paths of all files that a build which was followed has read, and of those that
/// state an object of a cluster.
fn read<'w>(worlds: &[&'w World]) -> FxHashSet<&'w str> {
    let mut read = FxHashSet::default();
    for world in worlds {
        for cluster in &world.clusters {
            for applied in &cluster.applied {
                if matches!(applied.outcome, Outcome::Built { .. } | Outcome::Failed(_)) {
                    read.extend(applied.files_read.iter().map(|path| &**path));
                }
            }
            for (_, object) in world.members(cluster) {
                read.extend(object.files.iter().map(|(_, location)| &*location.path));
            }
        }
    }
    read
}
