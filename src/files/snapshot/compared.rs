//! What two snapshots have in common.

use super::{File, Snapshot};
use crate::files::tree;
use crate::files::tree::FileKind;
use crate::lang::yaml::FilePath;
use std::sync::Arc;

impl Snapshot {
    /// Paths at which one of two snapshots has nothing or something of another
    /// kind, in order.
    pub fn moved_paths<'s>(&'s self, other: &'s Snapshot) -> Vec<&'s Arc<str>> {
        let differs = |here: &Snapshot, there: &'s Snapshot| {
            let alike = |file: &File| here.file(&file.path).is_some_and(|twin| twin.kind == file.kind);
            there.files.iter().filter(|file| !alike(file)).map(|file| &file.path).collect::<Vec<_>>()
        };
        let mut paths = [differs(self, other), differs(other, self)].concat();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Whether two snapshots hold the same bytes of a file. Of a tree beside them that
    /// is so where they share it.
    pub fn holds_same(&self, other: &Snapshot, file: &FilePath) -> bool {
        match file.of_root() {
            Some(path) => self.has_same_content(other, path),
            None => Arc::ptr_eq(&self.forest, &other.forest) && self.find(file).is_some(),
        }
    }

    /// Whether two snapshots hold the same bytes at a path.
    pub fn has_same_content(&self, other: &Snapshot, path: &str) -> bool {
        match (self.file(path), other.file(path)) {
            (Some(one), Some(two)) if Arc::ptr_eq(one, two) => true,
            (Some(one), Some(two)) if one.kind != FileKind::Regular => one.kind == two.kind,
            (Some(one), Some(two)) if one.oid.is_some() && one.oid == two.oid => true,
            (Some(one), Some(two)) if one.blob.get().is_none() && one.oid.is_some() => {
                other.has_object_id(two, one)
            }
            (Some(one), Some(two)) if two.blob.get().is_none() && two.oid.is_some() => {
                self.has_object_id(one, two)
            }
            (Some(one), Some(two)) => match (self.blob(one), other.blob(two)) {
                (Ok(one), Ok(two)) => Arc::ptr_eq(one, two) || one.bytes() == two.bytes(),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a file's content is that of a file of a revision, which is not read.
    pub(super) fn has_object_id(&self, file: &File, other: &File) -> bool {
        let oid = other.oid.as_deref().unwrap_or_default();
        file.kind == other.kind && self.blob(file).is_ok_and(|blob| tree::has_object_id(blob.bytes(), oid))
    }
}
