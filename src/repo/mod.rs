//! What exists: file trees of a work tree, a directory or a git revision;
//! blobs, documents and objects. The only room that reads.

mod blob;
mod file_tree;
pub mod git;
pub mod markers;
mod open;
mod snapshot;
mod source_ignore;
mod template;
mod tree;

pub use blob::{Blob, Content, DOCUMENT_LIMIT, SIZE_LIMIT, Store, Undecodable};
pub use file_tree::{FileTree, PathKind};
pub use open::{Allowed, Place, place, read_named};
pub use snapshot::{BYTES_LIMIT, DOCUMENTS_LIMIT, File, Snapshot, Unreadable, is_manifest_path};
pub use source_ignore::SourceIgnore;
pub use tree::{FileKind, join, resolve_link};
