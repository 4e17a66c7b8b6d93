//! What exists: file trees of a work tree, a directory or a git revision;
//! blobs, documents and objects. The only room that reads.

mod blob;
mod file_tree;
pub mod git;
pub mod markers;
mod snapshot;
mod source_ignore;
mod template;
mod tree;

pub use blob::{Blob, Content, SIZE_LIMIT, Store, Undecodable};
pub use file_tree::{FileTree, PathKind};
pub use snapshot::{File, Snapshot, Unreadable, is_manifest_path};
pub use source_ignore::SourceIgnore;
pub use tree::{FileKind, join, resolve_link};

use std::io;
use std::path::Path;

/// The text of a file that is no part of a tree: a configuration or an event.
///
/// # Errors
/// What the system says; anything but a regular file of at most
/// [`SIZE_LIMIT`] bytes of UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if metadata.len() > SIZE_LIMIT {
        return Err(io::Error::other("larger than 64 MiB"));
    }
    std::fs::read_to_string(path)
}
