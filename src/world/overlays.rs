//! Which kustomizations include which files, as far as their text tells: for
//! guesses about who applies what.

use crate::files::{FileTree, Snapshot, join};
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// The kustomization files of a repository.
pub(super) struct Overlays {
    /// Directories with a kustomization that builds on its own, in order.
    pub directories: Vec<String>,
    /// Directories that another kustomization includes.
    pub included: FxHashSet<String>,
    /// What each directory with a kustomization names, as clean paths.
    entries: FxHashMap<String, Vec<String>>,
    /// Files that generators read, and no kustomization names as anything else.
    pub inputs: FxHashSet<Arc<str>>,
}

impl Overlays {
    pub(super) fn of(snapshot: &Arc<Snapshot>) -> Overlays {
        let tree = FileTree::root(snapshot.clone());
        let mut overlays = Overlays {
            directories: Vec::new(),
            included: FxHashSet::default(),
            entries: FxHashMap::default(),
            inputs: FxHashSet::default(),
        };
        let mut named: FxHashSet<String> = FxHashSet::default();
        for file in snapshot.files() {
            let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
            if !matches!(name, "kustomization.yaml" | "kustomization.yml" | "Kustomization") {
                continue;
            }
            let Some(source) =
                snapshot.sources(file).first().filter(|source| !source.document().tokens.is_empty())
            else {
                continue;
            };
            let root = source.root();
            let root = root.get_ref();
            let component = root.str_at("/kind").is_some_and(|kind| kind == "Component");
            let foreign = root
                .str_at("/apiVersion")
                .is_some_and(|version| !version.starts_with("kustomize.config.k8s.io/"));
            if !component && !foreign {
                overlays.directories.push(directory.to_owned());
            }
            let entries = overlays.entries.entry(directory.to_owned()).or_default();
            for field in ["/resources", "/bases", "/components"] {
                for item in root.items_at(field) {
                    let Some(path) = item.as_str().and_then(|path| join(directory, &path)) else { continue };
                    if tree.is_directory(&path) {
                        overlays.included.insert(path.clone());
                    }
                    named.insert(path.clone());
                    entries.push(path);
                }
            }
            for generator in root.items_at("/configMapGenerator").chain(root.items_at("/secretGenerator")) {
                let sources = generator.items_at("/files").chain(generator.items_at("/envs"));
                for source in sources.chain(generator.at("/env")) {
                    let Some(written) = source.as_str() else { continue };
                    let path = written.rsplit_once('=').map_or(&*written, |(_, path)| path);
                    let file = join(directory, path).and_then(|path| snapshot.file(&path));
                    overlays.inputs.extend(file.map(|file| file.path.clone()));
                }
            }
        }
        overlays.inputs.retain(|path| !named.contains(&**path));
        overlays
    }

    /// What the kustomization of a directory names, as clean paths; `None` without one.
    pub(super) fn named_by(&self, directory: &str) -> Option<&[String]> {
        self.entries.get(directory).map(Vec::as_slice)
    }

    /// Directories that no other kustomization includes.
    pub(super) fn leaves(&self) -> impl Iterator<Item = &String> {
        self.directories.iter().filter(|directory| !self.included.contains(*directory))
    }

    /// The files that a build of a directory would take in: what its
    /// kustomization names, and what that names; all of a directory without one.
    pub(super) fn reach(&self, snapshot: &Snapshot, directory: &str) -> FxHashSet<Arc<str>> {
        let mut files: FxHashSet<Arc<str>> = FxHashSet::default();
        let mut seen: FxHashSet<String> = FxHashSet::default();
        let mut open = vec![directory.to_owned()];
        while let Some(path) = open.pop() {
            if !seen.insert(path.clone()) {
                continue;
            }
            if let Some(entries) = self.entries.get(&path) {
                open.extend(entries.iter().cloned());
            } else if let Some(file) = snapshot.file(&path) {
                files.insert(file.path.clone());
            } else {
                for file in snapshot.files_below(&path) {
                    // A kustomization below speaks for its directory.
                    let mut above = &*file.path;
                    let mut inner = None;
                    while let Some((parent, _)) =
                        above.rsplit_once('/').filter(|(parent, _)| parent.len() > path.len())
                    {
                        if self.entries.contains_key(parent) {
                            inner = Some(parent.to_owned());
                        }
                        above = parent;
                    }
                    match inner {
                        Some(inner) => open.push(inner),
                        None => drop(files.insert(file.path.clone())),
                    }
                }
            }
        }
        files
    }
}
