//! Operations on files: whether a file may be changed at all, what its new text
//! is, and writing it so that every file is whole at any moment.
//!
//! Nothing is written that [`plan`] has not proven: the new text says what the
//! old one did plus the wanted changes. All files of a run are proven before
//! [`write::write`] touches the first.

pub(crate) mod chart_store;
pub(crate) mod fix;
pub(crate) mod ignore;
pub(crate) mod patch;
mod policy;
pub(crate) mod refactor;
pub(crate) mod subject;
pub(crate) mod suspend;
pub(crate) mod write;

use crate::files::{Blob, Snapshot};
use crate::lang::yaml::{FilePath, WorkPath, edit};

pub(crate) use crate::lang::yaml::edit::Wanted;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A file with its new content: one of the root's work tree. Of a file of any tree, what
/// may be written is asked for, and of another tree's there is nothing.
///
/// ```
/// use forebay::internals::{lang::yaml::{FilePath, Tree}, rewrite::FileChange};
///
/// fn to(file: FilePath, change: FileChange) -> Option<FileChange> {
///     Some(FileChange { path: file.writable()?, ..change })
/// }
/// assert_eq!(FilePath::new(Tree::Outside, "../b/x.yaml").writable(), None);
/// assert_eq!(FilePath::new(Tree::Outside, "vendor/b/x.yaml").writable(), None);
/// assert!(FilePath::in_root("x.yaml").writable().is_some());
/// ```
///
/// So an edit of whatever file a value came from does not compile:
///
/// ```compile_fail,E0308
/// use forebay::internals::{lang::yaml::FilePath, rewrite::FileChange};
///
/// fn to(file: FilePath, change: FileChange) -> Option<FileChange> {
///     Some(FileChange { path: file, ..change })
/// }
/// ```
///
/// Nor does one by a path that somebody put together:
///
/// ```compile_fail,E0423
/// use forebay::internals::{lang::yaml::WorkPath, rewrite::FileChange};
///
/// fn to(file: &str, change: FileChange) -> Option<FileChange> {
///     Some(FileChange { path: WorkPath(file.into()), ..change })
/// }
/// ```
///
/// `WorkPath::new` gives a path below the root or none, for files that are not there yet:
///
/// ```
/// use forebay::internals::{lang::yaml::WorkPath, rewrite::FileChange};
///
/// fn to(file: &str, change: FileChange) -> Option<FileChange> {
///     Some(FileChange { path: WorkPath::new(file)?, ..change })
/// }
/// assert!(WorkPath::new("x.yaml").is_some());
/// for out in ["../b/x.yaml", "/b/x.yaml", "a/../../b/x.yaml", ".git/config", "a\\..\\b"] {
///     assert_eq!(WorkPath::new(out), None);
/// }
/// ```
#[derive(Clone, Debug)]
pub struct FileChange {
    /// The file.
    pub path: WorkPath,
    /// What was read; nothing for a file that is not there yet.
    pub before: Arc<Blob>,
    /// What is to be written.
    pub after: String,
}

/// Why a file can't be changed as wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteRefusal {
    /// The file, as seen from the root.
    pub path: Arc<str>,
    /// The bytes that stand in the way, `None` for the file as a whole.
    pub range: Option<Range<u32>>,
    /// Why.
    pub message: String,
    /// The way out, imperative.
    pub help: String,
}

impl RewriteRefusal {
    fn whole(path: &str, message: impl Into<String>, help: &str) -> RewriteRefusal {
        RewriteRefusal { path: path.into(), range: None, message: message.into(), help: help.to_owned() }
    }

    /// A file of another tree: only the root's is changed.
    fn elsewhere(file: &FilePath) -> RewriteRefusal {
        let message = "it is of another file tree, and only the root's is changed";
        RewriteRefusal::whole(file.shown(), message, "change it there")
    }

    /// Our own mistake: what came out is not what was declared.
    fn bug(path: &str, why: &str) -> RewriteRefusal {
        RewriteRefusal::whole(
            path,
            format!("the rewrite can't be proven, which is a bug in forebay: {why}"),
            "nothing was written; please report it with the file",
        )
    }
}

/// The new contents of the files that some changes touch, in order of paths.
///
/// # Errors
/// Every reason why one of the changes can't be made; then none is.
pub fn plan(snapshot: &Snapshot, wanted: &[Wanted]) -> Result<Vec<FileChange>, Vec<RewriteRefusal>> {
    let mut files: BTreeMap<&WorkPath, Vec<&Wanted>> = BTreeMap::new();
    for change in wanted {
        files.entry(&change.path).or_default().push(change);
    }
    let (mut changes, mut refusals) = (Vec::new(), Vec::new());
    for (path, wanted) in files {
        match plan_file(snapshot, path, &wanted) {
            Ok(change) => changes.extend(change),
            Err(mut found) => refusals.append(&mut found),
        }
    }
    if refusals.is_empty() { Ok(changes) } else { Err(refusals) }
}

/// The new content of one file; `None` where it is the old one.
fn plan_file(
    snapshot: &Snapshot,
    path: &WorkPath,
    wanted: &[&Wanted],
) -> Result<Option<FileChange>, Vec<RewriteRefusal>> {
    let (blob, stream) = policy::check_file(snapshot, path).map_err(|refusal| vec![refusal])?;
    let (mut compiled, mut refusals) = (Vec::new(), Vec::new());
    for change in wanted {
        let outcome = policy::check_document(path, stream, change).and_then(|()| {
            edit::compile(stream, change.document, &change.operation).map_err(|refused| RewriteRefusal {
                path: path.as_arc().clone(),
                range: Some(refused.range),
                message: refused.message,
                help: refused.help,
            })
        });
        match outcome {
            Ok(done) => compiled.push((change.document, done)),
            Err(refusal) => refusals.push(refusal),
        }
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let batch: Vec<edit::verify::Batch<'_>> =
        compiled.iter().map(|(document, compiled)| (*document, compiled)).collect();
    let new = edit::verify::verify(stream, &batch).map_err(|why| {
        vec![match edit::verify::second_witness(stream) {
            Ok(()) => RewriteRefusal::bug(path, &why),
            Err(why) => RewriteRefusal::whole(
                path,
                format!("no rewrite of it can be proven: {why}"),
                "change it by hand, or write it in plainer YAML first",
            ),
        }]
    })?;
    if new.text == stream.text {
        return Ok(None);
    }
    Ok(Some(FileChange { path: path.clone(), before: blob.clone(), after: new.text.to_string() }))
}
