//! `gotk-sync.yaml`: what `flux bootstrap` writes, or a stub of comments that it
//! will fill in.

use super::other_roots::{closure, paths_by_file};
use super::{EntryPoint, Form, by_path, clean_path, source_of};
use crate::files::{FileTree, Snapshot};
use crate::lang::yaml::{FilePath, Location, Node};
use crate::model::{Object, ObjectId, kinds};
use crate::world::build::{BuiltObject, Memo, build_overlay};
use crate::world::overlays::Overlays;
use crate::world::source::{ignore, normalise, reference};
use rustc_hash::FxHashSet;
use std::sync::Arc;

pub(super) fn find(snapshot: &Arc<Snapshot>) -> Vec<EntryPoint> {
    let mut entries = Vec::new();
    let stubs: Vec<&str> = snapshot
        .files()
        .iter()
        .map(|file| &*file.path)
        .filter(|path| path.rsplit('/').next() == Some("gotk-sync.yaml"))
        .collect();
    let mut stated: FxHashSet<&str> = FxHashSet::default();
    for object in snapshot.objects() {
        let path = &**object.path();
        // Without a source it is a patch for what another file holds.
        let whole = || object.node.get_ref().at("/spec/sourceRef").is_some();
        if path.rsplit('/').next() == Some("gotk-sync.yaml") && kinds::is_kustomization(&object.id) && whole()
        {
            stated.insert(path);
            entries.extend(Some(from_sync(snapshot, object)).filter(|entry| !is_template(snapshot, entry)));
        }
    }
    for stub in stubs.into_iter().filter(|stub| !stated.contains(stub)) {
        let is_empty = snapshot.file(stub).is_some_and(|file| {
            let empty = snapshot.sources(file).iter().all(|source| source.document().tokens.len() <= 1);
            empty && snapshot.stream(file).is_some()
        });
        // A comment-only stub: bootstrap fills it in.
        if let Some((directory, _)) = stub.rsplit_once('/').filter(|_| is_empty) {
            let root = directory.strip_suffix("flux-system").unwrap_or(directory).trim_end_matches('/');
            let location = Location { file: FilePath::in_root(stub), start: 0, end: 0, via: Vec::new() };
            entries.push(by_path("flux-system", "flux-system", "flux-system", root, Some(location)));
        }
    }
    entries
}

/// Whether it is what a script fills in elsewhere: its source has a variable for an address, and
/// what it would apply is not here. A variable alone tells nothing: a path that is here is a root's.
fn is_template(snapshot: &Snapshot, entry: &EntryPoint) -> bool {
    entry.url.as_ref().is_some_and(|url| url.contains("${")) && !snapshot.has_directory(&entry.root)
}

fn from_sync(snapshot: &Snapshot, object: &Object) -> EntryPoint {
    let node = object.node.get_ref();
    let source = source_of(&object.id, node);
    let written = source
        .as_ref()
        .and_then(|source| snapshot.objects_in(object.path()).iter().find(|other| source.is(&other.id)));
    EntryPoint {
        kustomizations: vec![(object.id.clone(), object.node.clone())],
        // Bootstrap applies it beside the Kustomization.
        generated: written.map(|other| (other.id.clone(), None)).into_iter().collect(),
        url: written.and_then(|other| other.node.get_ref().str_at("/spec/url").map(|url| normalise(&url))),
        reference: written.and_then(|other| reference(other.node.get_ref())),
        ignore: written.and_then(|other| ignore(other.node.get_ref())),
        source,
        ..EntryPoint::stated(
            clean_path(&node.str_at("/spec/path").unwrap_or_default()),
            Form::Sync,
            node.location(),
        )
    }
}

/// Where what a root applies does not hold its own gotk-sync.yaml, the cluster has what
/// bootstrap applied: the build of the file's directory, with its patches.
/// Source: flux2 `pkg/bootstrap` (`ReconcileComponents`, `ReconcileSyncConfig`).
pub(super) fn complete(
    entries: &mut [EntryPoint],
    snapshot: &Arc<Snapshot>,
    overlays: &Overlays,
    memo: &Memo,
) {
    let mut paths = None;
    for entry in entries.iter_mut().filter(|entry| entry.form == Form::Sync) {
        let file = entry.file().to_owned();
        let Some((directory, _)) = file.rsplit_once('/') else { continue };
        let is_listed = overlays.named_by(directory).is_some_and(|names| names.contains(&file));
        if !is_listed || overlays.reach(snapshot, &entry.root).contains(&*file) {
            continue;
        }
        let paths = paths.get_or_insert_with(|| paths_by_file(snapshot));
        if closure(&entry.root, &entry.tree, paths, snapshot, overlays).contains(&*file) {
            continue;
        }
        if let Ok(build) = build_overlay(&FileTree::root(snapshot.clone()), directory, memo) {
            take_bootstrapped(entry, build.objects);
        }
    }
}

/// The root as bootstrap applied it, and what it applied beside it.
fn take_bootstrapped(entry: &mut EntryPoint, objects: Vec<Arc<BuiltObject>>) {
    let path = |node: &Node| node.get_ref().str_at("/spec/path").map(|path| clean_path(&path));
    let built = |(id, node): &(ObjectId, Node)| {
        let same = objects.iter().find(|object| object.id.as_deref() == Some(id))?;
        // With another path it is another root.
        (path(&same.node) == path(node)).then(|| (id.clone(), same.node.clone()))
    };
    let Some(kustomizations) = entry.kustomizations.iter().map(built).collect::<Option<Vec<_>>>() else {
        return;
    };
    entry.kustomizations = kustomizations;
    entry.generated.retain(|(id, _)| !objects.iter().any(|object| object.id.as_deref() == Some(id)));
    entry.overlay = objects;
    entry.bootstrapped = entry.location.as_ref().map(|location| location.file.clone());
}
