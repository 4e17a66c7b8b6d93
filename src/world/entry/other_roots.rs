//! Which of two roots is live, where nothing that a cluster applies says it: an
//! instance that a program is said to install, beside a Kustomization that was
//! applied by hand and applies itself since. Where the instance is applied, the other root is
//! left over, unless what runs needs it.

use super::{EntryPoint, Form, clean_path};
use crate::files::{Snapshot, join};
use crate::model::{Certainty, kinds};
use crate::world::overlays::Overlays;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Take entry points that nothing of their own applies for assumed where another
/// root is there, and note what that one may have applied.
pub(super) fn compare(entries: &mut [EntryPoint], snapshot: &Arc<Snapshot>, overlays: &Overlays) {
    let by_operator = |entry: &EntryPoint| {
        matches!(entry.form, Form::Instance | Form::Chart | Form::Helmfile | Form::Values)
    };
    if !entries.iter().any(by_operator) {
        return;
    }
    let paths = paths_by_file(snapshot);
    let mut others: Option<Vec<EntryPoint>> = None;
    let roots: FxHashSet<String> = entries.iter().map(|entry| entry.root.clone()).collect();
    for entry in entries.iter_mut().filter(|entry| by_operator(entry)) {
        let applied = closure(&entry.root, &entry.tree, &paths, snapshot, overlays);
        let is_own = applied.contains(entry.file());
        let others = others.get_or_insert_with(|| super::applied_itself::below(snapshot, overlays));
        for other in others.iter().filter(|other| !roots.contains(&other.root)) {
            let reached = closure(&other.root, &other.tree, &paths, snapshot, overlays);
            let Some((id, _)) = other.kustomizations.first() else { continue };
            if is_own && !is_needed(snapshot, &applied, &reached) {
                continue;
            }
            if !is_own {
                entry.certainty = entry.certainty.min(Certainty::Assumed);
            }
            entry.other_roots.push((id.clone(), reached));
        }
    }
}

/// Whether all are bootstraps that nothing was added to: no Kustomization but their own.
pub(super) fn are_bare(entries: &[EntryPoint], snapshot: &Arc<Snapshot>, overlays: &Overlays) -> bool {
    if entries.iter().any(|entry| entry.form != Form::Sync) {
        return false;
    }
    let paths = paths_by_file(snapshot);
    entries.iter().all(|entry| {
        let applied = closure(&entry.root, &entry.tree, &paths, snapshot, overlays);
        !applied.iter().any(|file| **file != *entry.file() && paths.contains_key(&**file))
    })
}

/// From how many releases on a majority says something.
const MAJORITY: usize = 4;

/// Whether most releases of a root take their chart from sources that only another root
/// applies: without that one hardly anything would run, so that it is still there.
fn is_needed(snapshot: &Snapshot, applied: &FxHashSet<Arc<str>>, reached: &FxHashSet<Arc<str>>) -> bool {
    let objects = || snapshot.objects().iter();
    let names = |files: &FxHashSet<Arc<str>>| -> FxHashSet<(Arc<str>, Arc<str>)> {
        let of_files = objects().filter(|object| files.contains(object.path()));
        let sources = of_files.filter(|object| object.id.group() == kinds::SOURCE);
        sources.map(|object| (object.id.kind.clone(), object.id.name.clone())).collect()
    };
    let (own, others) = (names(applied), names(reached));
    let releases =
        objects().filter(|object| kinds::is_helm_release(&object.id) && applied.contains(object.path()));
    let (mut all, mut needing) = (0, 0);
    for release in releases {
        let node = release.node.get_ref();
        let reference = ["/spec/chart/spec/sourceRef", "/spec/chartRef"].iter().find_map(|at| node.at(at));
        let text = |field| Some(Arc::from(&*reference?.get(field)?.text()?));
        let Some(source) = text("kind").zip(text("name")) else { continue };
        all += 1;
        needing += usize::from(!own.contains(&source) && others.contains(&source));
    }
    needing >= MAJORITY && needing * 2 > all
}

/// `spec.path` of the Kustomizations of each file.
pub(super) fn paths_by_file(snapshot: &Snapshot) -> FxHashMap<&str, Vec<String>> {
    let mut paths: FxHashMap<&str, Vec<String>> = FxHashMap::default();
    for object in snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id)) {
        if let Some(path) = object.node.get_ref().str_at("/spec/path") {
            paths.entry(object.path()).or_default().push(clean_path(&path));
        }
    }
    paths
}

/// The files that a root applies, and those that what it applies does.
pub(super) fn closure(
    root: &str,
    tree: &str,
    paths: &FxHashMap<&str, Vec<String>>,
    snapshot: &Snapshot,
    overlays: &Overlays,
) -> FxHashSet<Arc<str>> {
    let mut files: FxHashSet<Arc<str>> = FxHashSet::default();
    let mut seen: FxHashSet<String> = FxHashSet::default();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        for file in overlays.reach(snapshot, &path) {
            let inside = |path: &String| join(tree, path).filter(|path| snapshot.has_directory(path));
            // The top is another project's artifact more often than everything here.
            let named = paths.get(&*file).into_iter().flatten().filter(|path| !path.is_empty());
            open.extend(named.filter_map(inside));
            files.insert(file);
        }
    }
    files
}
