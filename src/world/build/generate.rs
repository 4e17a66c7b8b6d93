//! The kustomization that kustomize-controller writes where a directory has
//! none.
//!
//! Mirrors `generateKustomization` of fluxcd/pkg
//! `kustomize/kustomize_generator.go`: a walk in lexical order; a directory with
//! a kustomization file is one resource and not gone into; every other file
//! named `.yaml` or `.yml` is one too.

use crate::build::kustomize::FILE_NAMES;
use crate::files::{FileKind, FileTree};
use std::cmp::Ordering;

/// Whether a clean directory has a kustomization file, however many.
pub(crate) fn has_kustomization(tree: &FileTree, directory: &str) -> bool {
    FILE_NAMES.iter().any(|name| {
        let path = if directory.is_empty() { (*name).to_owned() } else { format!("{directory}/{name}") };
        tree.file(&path).is_some_and(|file| file.kind == FileKind::Regular)
    })
}

/// The resources of the generated kustomization: paths relative to the
/// directory, in the order in which they are built.
pub(crate) fn generated_resources(tree: &FileTree, directory: &str) -> Vec<String> {
    let cut = if directory.is_empty() { 0 } else { directory.len() + 1 };
    let mut files: Vec<String> = tree
        .walk(directory)
        .filter(|(_, file)| file.kind == FileKind::Regular)
        .map(|(path, _)| path[cut..].to_owned())
        .collect();
    files.sort_by(|a, b| walk_order(a, b));
    let mut resources: Vec<String> = Vec::new();
    let mut entered: Vec<String> = Vec::new();
    let mut finished: Option<String> = None;
    for path in files {
        if finished.as_deref().is_some_and(|directory| is_below(&path, directory)) {
            continue;
        }
        entered.retain(|directory| is_below(&path, directory));
        let new = path.match_indices('/').map(|(at, _)| &path[..at]).skip(entered.len());
        let mut whole = None;
        for inner in new {
            let full = if directory.is_empty() { inner.to_owned() } else { format!("{directory}/{inner}") };
            if has_kustomization(tree, &full) {
                whole = Some(inner.to_owned());
                break;
            }
            entered.push(inner.to_owned());
        }
        if let Some(inner) = whole {
            resources.push(inner.clone());
            finished = Some(inner);
        } else if path.ends_with(".yaml") || path.ends_with(".yml") {
            resources.push(path);
        }
    }
    resources
}

fn is_below(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

/// `filepath.Walk`: by the bytes of each component.
fn walk_order(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{Snapshot, Store};
    use std::sync::Arc;

    #[test]
    fn the_walk_is_lexical_and_stops_at_kustomizations() {
        let files = [
            "app/a-b/x.yaml",
            "app/a/x.yaml",
            "app/a/deep/y.yml",
            "app/a.yaml",
            "app/k/kustomization.yaml",
            "app/k/x.yaml",
            "app/k/deep/z.yaml",
            "app/ka/.hidden.yaml",
            "app/n/m/Kustomization",
            "app/n/m/x.yaml",
            "app/n/o.yaml",
            "app/README.md",
            "app/x.YAML",
            "app/y.json",
            "other/x.yaml",
        ];
        let files = files.iter().map(|path| (*path, Vec::new()));
        let tree = FileTree::root(Arc::new(Snapshot::memory(files, Arc::new(Store::default()))));
        assert!(!has_kustomization(&tree, "app"));
        assert!(has_kustomization(&tree, "app/n/m"));
        assert_eq!(
            generated_resources(&tree, "app"),
            ["a/deep/y.yml", "a/x.yaml", "a-b/x.yaml", "a.yaml", "k", "ka/.hidden.yaml", "n/m", "n/o.yaml"]
        );
        assert_eq!(
            generated_resources(&tree, ""),
            [
                "app/a/deep/y.yml",
                "app/a/x.yaml",
                "app/a-b/x.yaml",
                "app/a.yaml",
                "app/k",
                "app/ka/.hidden.yaml",
                "app/n/m",
                "app/n/o.yaml",
                "other/x.yaml"
            ]
        );
    }
}
