//! `gotk-sync.yaml`: what `flux bootstrap` writes, or a stub of comments that it
//! will fill in.

use super::{EntryPoint, Form, by_path, clean_path, source_of};
use crate::files::Snapshot;
use crate::lang::yaml::{FilePath, Location};
use crate::model::Object;
use crate::model::kinds;
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
            entries.push(from_sync(snapshot, object));
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
