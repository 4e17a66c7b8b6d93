//! Strategic merge patches that no effective object shows: their target is not
//! here, or nothing builds the kustomization that names them.

use crate::kustomize::{FILE_NAMES, documents_in};
use crate::model::{ObjectId, kinds};
use crate::repo::join;
use crate::world::World;
use crate::yaml::{Location, Node, NodeRef};
use rustc_hash::FxHashSet;

/// Their documents, with the identities that they state.
pub(super) fn unused(world: &World) -> Vec<(ObjectId, Node)> {
    let snapshot = &*world.snapshot;
    let place = |location: &Location| (location.path.to_string(), location.start);
    let used: FxHashSet<(String, u32)> = world
        .objects
        .iter()
        .flat_map(|object| &object.files)
        .filter(|(role, _)| *role == "patch")
        .map(|(_, location)| place(location))
        .collect();
    let mut found = Vec::new();
    let mut take =
        |directory: &str, entry: NodeRef<'_>, text: Option<NodeRef<'_>>, path: Option<NodeRef<'_>>| {
            if entry.location().is_some_and(|location| used.contains(&place(&location))) {
                return;
            }
            let inline = text.map(documents_in).unwrap_or_default();
            let file = path
                .and_then(NodeRef::as_str)
                .and_then(|path| join(directory, &path))
                .and_then(|path| snapshot.file(&path));
            let sources = file.map(|file| snapshot.sources(file)).unwrap_or_default();
            let of_file = sources
                .iter()
                .filter(|source| !source.document().tokens.is_empty())
                .map(|source| Node::Source(source.clone(), 0));
            for node in inline.into_iter().chain(of_file) {
                // The target says what kind it is, where the patch says another one.
                let kind = entry.at("/target/kind").and_then(NodeRef::as_str);
                let id = ObjectId::of(node.get_ref());
                if let Some(id) = id.filter(|id| kind.is_none_or(|kind| *kind == *id.kind)) {
                    found.push((id, node));
                }
            }
        };
    for file in snapshot.files() {
        let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
        if !FILE_NAMES.contains(&name) {
            continue;
        }
        for source in snapshot.sources(file).iter().filter(|source| !source.document().tokens.is_empty()) {
            let root = NodeRef::Source(source, 0);
            for entry in root.items_at("/patches") {
                take(directory, entry, entry.get("patch"), entry.get("path"));
            }
            for entry in root.items_at("/patchesStrategicMerge") {
                let is_inline = entry.as_str().is_some_and(|text| text.contains('\n'));
                let (text, path) = if is_inline { (Some(entry), None) } else { (None, Some(entry)) };
                take(directory, entry, text, path);
            }
        }
    }
    for object in snapshot.objects().iter().filter(|object| kinds::is_kustomization(&object.id)) {
        for entry in object.node.get_ref().items_at("/spec/patches") {
            take("", entry, entry.get("patch"), None);
        }
    }
    found
}
