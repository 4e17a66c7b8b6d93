//! Snapshots of changed files over the same store.

use super::{File, Snapshot, Unreadable};
use crate::files::tree::{FileKind, is_manifest_path};
use crate::lang::yaml::{Tree, WorkPath};
use std::sync::{Arc, OnceLock};

impl Snapshot {
    /// The same tree with one file's content replaced or added.
    #[must_use]
    pub fn with_file(&self, path: &str, bytes: Vec<u8>) -> Snapshot {
        self.with_files([(path, bytes)])
    }

    /// The same tree with the contents of some files replaced or added.
    #[must_use]
    pub fn with_files<'f>(&self, changes: impl IntoIterator<Item = (&'f str, Vec<u8>)>) -> Snapshot {
        let mut files = self.files.clone();
        for (path, bytes) in changes {
            let position = files.binary_search_by(|file| (*file.path).cmp(path));
            let tracked = position.is_ok_and(|at| files[at].tracked);
            let file = Arc::new(File {
                path: path.into(),
                tree: Tree::Root,
                kind: FileKind::Regular,
                tracked,
                is_manifest: is_manifest_path(path),
                size: bytes.len() as u64,
                oid: None,
                blob: OnceLock::from(Ok(self.store.intern(&bytes))),
                sources: OnceLock::new(),
                objects: OnceLock::new(),
                template: OnceLock::new(),
                generated: OnceLock::new(),
                secrets: OnceLock::new(),
            });
            match position {
                Ok(at) => files[at] = file,
                Err(at) => files.insert(at, file),
            }
        }
        let mut after = self.with_listed(files);
        if after.chart_roots != self.chart_roots {
            // What is a template, and what is vendored, is another question now.
            for file in &mut after.files {
                *file = Arc::new(File {
                    template: OnceLock::new(),
                    generated: OnceLock::new(),
                    secrets: OnceLock::new(),
                    ..File::clone(file)
                });
            }
        }
        after.with_objects()
    }

    /// The same tree with some files under other paths, (from, to); what is at `to` is
    /// replaced.
    ///
    /// # Errors
    /// A file that is not there, or that can't be read.
    pub fn with_moved(&self, moves: &[(WorkPath, WorkPath)]) -> Result<Snapshot, Unreadable> {
        let mut bytes: Vec<(&str, Vec<u8>)> = Vec::new();
        for (from, to) in moves {
            let file = self.file(from).ok_or(Unreadable::NotAFile)?;
            bytes.push((to, self.blob(file).map_err(Clone::clone)?.bytes().to_vec()));
        }
        let gone: rustc_hash::FxHashSet<&str> = moves.iter().map(|(from, _)| &**from).collect();
        let mut rest = self.clone_tree();
        rest.files.retain(|file| !gone.contains(&*file.path));
        rest.index = rest.files.iter().enumerate().map(|(at, file)| (file.path.clone(), at as u32)).collect();
        Ok(rest.with_files(bytes))
    }

    fn clone_tree(&self) -> Snapshot {
        self.with_listed(self.files.clone())
    }

    /// Other files of the same origin, in the same forest.
    fn with_listed(&self, files: Vec<Arc<File>>) -> Snapshot {
        let (unnamed, store) = (self.unnamed.clone(), self.store.clone());
        let after = Snapshot::from_files(self.origin.clone(), files, unnamed, store);
        Snapshot { forest: self.forest.clone(), base: self.base.clone(), ..after }
    }
}
