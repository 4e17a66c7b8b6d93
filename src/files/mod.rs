//! What exists: file trees of a work tree, a directory or a git revision;
//! blobs, documents and objects. The only room that reads.

mod blob;
mod chart_store;
mod file_tree;
mod forest;
mod forward;
pub(crate) mod git;
mod gunzip;
pub(crate) mod markers;
mod open;
mod packed_files;
mod render_cache;
pub(crate) mod secrets;
mod snapshot;
mod source_ignore;
mod suite;
mod template;
mod tree;

pub use blob::Store;
pub(crate) use blob::{Blob, Content, DOCUMENT_LIMIT, SIZE_LIMIT};
#[cfg(test)]
pub(crate) use chart_store::read_index;
pub(crate) use chart_store::{ChartContent, ChartStore, ChartStores, Recorded, StoreLayout, StoredChart};
pub use file_tree::FileTree;
pub(crate) use file_tree::PathKind;
pub(crate) use forward::Forward;
pub(crate) use gunzip::Gunzip;
pub(crate) use open::{Allowed, PathTarget, place, read_bytes, read_named};
pub(crate) use packed_files::PackedFiles;
pub(crate) use render_cache::RenderCache;
pub(crate) use snapshot::Unreadable;
pub use snapshot::{File, Snapshot};
pub(crate) use source_ignore::SourceIgnore;
pub(crate) use tree::{FileKind, is_manifest_path, join, relative, resolve_link};
