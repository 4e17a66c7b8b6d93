//! Paths of a file tree as a build resolves them.

use crate::files::{self, File, FileKind, FileTree, Snapshot};
use crate::lang::yaml::Source;
use std::sync::Arc;

/// What happens at a symbolic link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Links {
    /// It is followed inside the tree, as on disk.
    Follow,
    /// It isn't there: artifacts of Git and Bucket sources hold no links.
    Absent,
}

/// A file of a tree.
#[derive(Clone, Debug)]
pub(super) struct TreeFile {
    /// The snapshot that holds it.
    pub snapshot: Arc<Snapshot>,
    /// The file; its path is that of the snapshot.
    pub file: Arc<File>,
    /// Its path in the tree, links resolved.
    pub path: Arc<str>,
}

impl TreeFile {
    /// Its documents at their place, empty where it is no text.
    pub(super) fn sources(&self) -> &[Arc<Source>] {
        self.snapshot.sources(&self.file)
    }
}

/// What is at a path of a tree.
#[derive(Clone, Debug)]
pub(super) enum TreeEntry {
    /// A regular file.
    File(TreeFile),
    /// A directory, by its path with links resolved.
    Directory(Arc<str>),
    /// Nothing.
    Missing,
    /// A symbolic link that is not followed, or leads nowhere.
    Link,
    /// A path that leaves the tree.
    Outside,
}

/// Links on the way to one file that are followed.
const LINK_LIMIT: u32 = 40;

/// What is at a clean path of a tree.
pub(super) fn find(tree: &FileTree, links: Links, path: &str) -> TreeEntry {
    let mut path = path.to_owned();
    let mut linked = false;
    for _ in 0..LINK_LIMIT {
        let behind = match tree.file(&path).map(|file| (file, &file.kind)) {
            Some((_, FileKind::Symlink(target))) => files::resolve_link(&path, target),
            Some((file, FileKind::Regular)) => {
                return TreeEntry::File(TreeFile {
                    snapshot: tree.snapshot().clone(),
                    file: file.clone(),
                    path: path.into(),
                });
            }
            Some(_) => return TreeEntry::Missing,
            None if path.is_empty() || tree.is_directory(&path) => return TreeEntry::Directory(path.into()),
            None => match linked_ancestor(tree, &path) {
                Some(behind) => behind,
                None => break,
            },
        };
        linked = true;
        match behind {
            _ if links == Links::Absent => return TreeEntry::Link,
            Some(behind) => path = behind,
            None => return TreeEntry::Outside,
        }
    }
    if linked { TreeEntry::Link } else { TreeEntry::Missing }
}

/// The path behind the first directory on a path that is a link; `None` inside
/// when it leaves the tree.
fn linked_ancestor(tree: &FileTree, path: &str) -> Option<Option<String>> {
    path.match_indices('/').find_map(|(at, _)| {
        let FileKind::Symlink(target) = &tree.file(&path[..at])?.kind else { return None };
        let directory = files::resolve_link(&path[..at], target);
        Some(directory.and_then(|directory| files::join(&directory, &path[at + 1..])))
    })
}
