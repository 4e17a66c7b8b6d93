//! Which files and documents may be changed.

use super::{RewriteRefusal, Wanted};
use crate::files::{Blob, Content, FileKind, Snapshot, Unreadable};
use crate::lang::yaml::edit::Operation;
use crate::lang::yaml::{
    Dialect, FilePath, NodeKind, NodeRef, Scalar, Source, Stream, WorkPath, pointer_join,
};
use std::sync::Arc;

/// The content of a file that may be changed.
pub(super) fn check_file<'s>(
    snapshot: &'s Snapshot,
    path: &WorkPath,
) -> Result<(&'s Arc<Blob>, &'s Arc<Stream>), RewriteRefusal> {
    let refuse = |message: &str, help: &str| Err(RewriteRefusal::whole(path, message, help));
    let Some(file) = snapshot.file(path) else {
        return refuse("the file is not there", "name a file of the repository");
    };
    match &file.kind {
        FileKind::Regular => {}
        FileKind::Symlink(target) => {
            return refuse(
                &format!("the file is a symbolic link to {target}"),
                "change the file that it leads to",
            );
        }
        FileKind::Submodule | FileKind::Special => {
            return refuse("it is no regular file", "change it by hand");
        }
    }
    let blob = match snapshot.blob(file) {
        Ok(blob) => blob,
        Err(Unreadable::Io(error)) => {
            return refuse(&format!("it can't be read: {error}"), "make it readable");
        }
        Err(Unreadable::TooLarge(_)) => return refuse("it is too large to be read", "change it by hand"),
        Err(Unreadable::BeyondTotal) => {
            return refuse("the manifests before it are all that is read", "change it by hand");
        }
        Err(_) => return refuse("its content is not here", "check it out first"),
    };
    let stream = match blob.content() {
        Content::Text(stream) if !blob.is_utf16() => stream,
        Content::Text(_) => return refuse("the file is UTF-16", "convert it to UTF-8 first"),
        Content::Undecodable(why) => return refuse(&why.reason, "convert it to UTF-8 first"),
        Content::TooManyDocuments => {
            return refuse("it has too many documents to be read", "change it by hand");
        }
        Content::LfsPointer => return refuse("the file is a Git LFS pointer", "check out its content first"),
        Content::GitCrypt => {
            return refuse("the file is encrypted by git-crypt", "unlock the repository first");
        }
    };
    if snapshot.is_template(file) {
        return refuse("the file is a template", "change it by hand: its text is not the manifest yet");
    }
    if snapshot.is_generated(file) {
        return refuse("a program writes this file", "change what it is generated from");
    }
    if let Some(error) = stream.errors.first() {
        return Err(RewriteRefusal {
            path: path.as_arc().clone(),
            range: Some(error.offset..error.offset),
            message: format!("a document of the file can't be read: {}", error.message),
            help: "correct its syntax first".to_owned(),
        });
    }
    Ok((blob, stream))
}

/// Whether a change may be made to a document: SOPS signs values, and without
/// `mac_only_encrypted` those that it leaves in the clear too.
pub(super) fn check_document(
    path: &WorkPath,
    stream: &Arc<Stream>,
    wanted: &Wanted,
) -> Result<(), RewriteRefusal> {
    let source = Arc::new(Source {
        file: FilePath::in_root(path.as_arc().clone()),
        stream: stream.clone(),
        index: wanted.document,
        embed: None,
        via: Vec::new(),
    });
    if source.document().tokens.is_empty() {
        return Ok(());
    }
    let root = NodeRef::Source(&source, 0);
    let Some(sops) = root.get("sops").filter(|sops| sops.is_map()) else { return Ok(()) };
    let refuse = |node: NodeRef<'_>, message: &str, help: &str| {
        Err(RewriteRefusal {
            path: path.as_arc().clone(),
            range: node.token().map(|token| token.start..token.end),
            message: message.to_owned(),
            help: help.to_owned(),
        })
    };
    let in_the_clear = matches!(
        sops.get("mac_only_encrypted").map(|node| node.scalar(Dialect::GoYamlV3)),
        Some(Scalar::Bool(true))
    );
    if !in_the_clear {
        return refuse(
            sops,
            "the file is signed by SOPS as a whole: any change breaks its MAC",
            "use `sops edit`, or encrypt it with `--mac-only-encrypted`",
        );
    }
    match touched(root, &wanted.operation) {
        Some(encrypted) => refuse(encrypted, "values here are encrypted by SOPS", "use `sops edit`"),
        None => Ok(()),
    }
}

/// An encrypted value that an operation would touch, or whose place it would
/// change, or beside which it would put a value in the clear.
fn touched<'a>(root: NodeRef<'a>, operation: &Operation) -> Option<NodeRef<'a>> {
    let (pointer, inserts) = match operation {
        Operation::Set { pointer, .. } => (pointer.clone(), root.at(pointer).is_none()),
        Operation::InsertKey { map, key, .. } => (pointer_join(map, key), true),
        Operation::InsertItem { list, .. } => (list.clone(), false),
        Operation::RemoveKey { pointer, .. }
        | Operation::RenameKey { pointer, .. }
        | Operation::RemoveItem { pointer } => (pointer.clone(), false),
        Operation::MoveKey { pointer, .. } => (pointer.clone(), false),
        // Texts in the clear only: an encrypted one holds no word that is looked for.
        Operation::ReplaceWithin { .. } => return None,
        // SOPS may keep encrypted comments; those are no one's to remove.
        Operation::RemoveComment { .. } => return None,
    };
    if !inserts {
        return root.at(&pointer).and_then(encrypted);
    }
    // The nearest parent that is there: its own values tell whether such are
    // encrypted.
    let mut parent = &*pointer;
    while let Some((shorter, _)) = parent.rsplit_once('/') {
        parent = shorter;
        if let Some(node) = root.at(parent) {
            return node.entries().map(|entry| entry.value).find(|value| is_encrypted(*value));
        }
    }
    None
}

fn is_encrypted(node: NodeRef<'_>) -> bool {
    node.kind() == NodeKind::Scalar && node.text().is_some_and(|text| text.starts_with("ENC["))
}

fn encrypted(node: NodeRef<'_>) -> Option<NodeRef<'_>> {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if is_encrypted(node) {
            return Some(node);
        }
        open.extend(node.items());
        open.extend(node.entries().map(|entry| entry.value));
    }
    None
}
