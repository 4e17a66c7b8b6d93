//! Suppressions for findings: a comment above the line of each, and nothing
//! else changed.

use super::{FileChange, RewriteRefusal, policy};
use crate::files::Snapshot;
use crate::lang::yaml::tape::TokenKind;
use crate::lang::yaml::{FilePath, Known, Location, NodeRef, Source, Stream, WorkPath};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A rule to silence at a place.
pub(crate) struct Ignore {
    /// The rule's id.
    pub rule: &'static str,
    /// The finding's place.
    pub location: Location,
}

/// What came of adding comments.
#[derive(Default)]
pub(crate) struct Added {
    /// The files with their comments, in order of paths.
    pub changes: Vec<FileChange>,
    /// How many comments they hold.
    pub comments: usize,
    /// Findings that can't be silenced by a comment, and why.
    pub refusals: Vec<RewriteRefusal>,
}

/// The comments that silence some findings, one for each line, with a `reason`
/// that may be empty.
pub(crate) fn add(snapshot: &Snapshot, ignores: &[Ignore], reason: &str) -> Added {
    let mut files: BTreeMap<WorkPath, Vec<&Ignore>> = BTreeMap::new();
    let mut added = Added::default();
    for ignore in ignores {
        let file = &ignore.location.file;
        match file.writable() {
            Some(path) => files.entry(path).or_default().push(ignore),
            None => {
                let refusal = RewriteRefusal::elsewhere(file);
                // One for a file: what stands in it is for its own repository to silence.
                if !added.refusals.contains(&refusal) {
                    added.refusals.push(refusal);
                }
            }
        }
    }
    for (path, ignores) in files {
        match add_to_file(snapshot, &path, &ignores, reason) {
            Ok((change, comments)) => {
                added.changes.push(change);
                added.comments += comments;
            }
            Err(refusal) => added.refusals.push(refusal),
        }
    }
    added
}

fn add_to_file(
    snapshot: &Snapshot,
    path: &WorkPath,
    ignores: &[&Ignore],
    reason: &str,
) -> Result<(FileChange, usize), RewriteRefusal> {
    if path.ends_with(".json") {
        return Err(RewriteRefusal::whole(
            path,
            "JSON has no comments",
            "exclude the file, or use a baseline",
        ));
    }
    let (blob, stream) = policy::check_file(snapshot, path)?;
    let is_signed = |document: u32| {
        root(path, stream, document).is_some_and(|source| NodeRef::Source(&source, 0).get("sops").is_some())
    };
    if (0..stream.documents.len() as u32).any(is_signed) {
        return Err(RewriteRefusal::whole(path, "SOPS signs the file", "add the comment with `sops edit`"));
    }
    let mut lines: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for ignore in ignores {
        let rules = lines.entry(line_of(stream, ignore.location.start)).or_default();
        if !rules.contains(&ignore.rule) {
            rules.push(ignore.rule);
        }
    }
    let mut after = String::with_capacity(stream.text.len() + 64 * lines.len());
    let mut done = 0;
    for (line, rules) in &lines {
        let start = stream.lines().start_of(*line) as usize;
        let rest = &stream.text[start..];
        let indent = &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()];
        let end = if rest.lines().next().is_some_and(|line| rest[line.len()..].starts_with("\r\n")) {
            "\r\n"
        } else {
            "\n"
        };
        let gap = if reason.is_empty() { "" } else { " " };
        after.push_str(&stream.text[done..start]);
        after.push_str(&format!("{indent}# forebay: ignore[{}]{gap}{reason}{end}", rules.join(", ")));
        done = start;
    }
    after.push_str(&stream.text[done..]);
    match proven(path, stream, &after, lines.len()) {
        true => Ok((FileChange { path: path.clone(), before: blob.clone(), after }, lines.len())),
        false => Err(RewriteRefusal::whole(
            path,
            "a comment has no place there",
            "write it by hand, or use a baseline",
        )),
    }
}

/// The line above which a comment is read as one: that of the bytes, or where
/// they lie inside a scalar of several lines, the one on which it begins.
fn line_of(stream: &Stream, offset: u32) -> u32 {
    let lines = stream.lines();
    let mut line = lines.line(offset);
    let scalars = stream.documents.iter().flat_map(|document| &document.tokens);
    for token in scalars.filter(|token| matches!(token.kind, TokenKind::Scalar(_))) {
        if token.start < lines.start_of(line) && lines.start_of(line) < token.end {
            line = lines.line(token.start);
        }
    }
    line
}

fn root(path: &WorkPath, stream: &Arc<Stream>, document: u32) -> Option<Arc<Source>> {
    let has_tokens = !stream.documents[document as usize].tokens.is_empty();
    has_tokens.then(|| {
        Arc::new(Source {
            file: FilePath::in_root(path.as_arc().clone()),
            stream: stream.clone(),
            index: document,
            embed: None,
            via: Vec::new(),
        })
    })
}

/// Whether the new text says the same and has just `count` more comments.
fn proven(path: &WorkPath, before: &Arc<Stream>, after: &str, count: usize) -> bool {
    let after = Arc::new(Stream::parse(after));
    let comments =
        |stream: &Stream| stream.documents.iter().map(|document| document.comments.len()).sum::<usize>();
    if !after.errors.is_empty()
        || before.documents.len() != after.documents.len()
        || comments(before) + count != comments(&after)
    {
        return false;
    }
    (0..before.documents.len() as u32).all(|document| {
        match (root(path, before, document), root(path, &after, document)) {
            (Some(old), Some(new)) => {
                NodeRef::Source(&old, 0).same_value(NodeRef::Source(&new, 0)) == Known::Value(true)
            }
            (old, new) => old.is_none() && new.is_none(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Store;

    fn added(path: &str, text: &str, marks: &[&str]) -> Result<String, String> {
        let snapshot = Snapshot::memory([(path, text.as_bytes().to_vec())], Arc::new(Store::default()));
        let at = |mark: &&str| {
            let start = text.find(*mark).expect("the mark is in the text") as u32;
            let location = Location { file: FilePath::in_root(path), start, end: start + 1, via: Vec::new() };
            Ignore { rule: "some-rule", location }
        };
        let ignores: Vec<Ignore> = marks.iter().map(at).collect();
        let mut added = add(&snapshot, &ignores, "");
        match added.refusals.pop() {
            Some(refusal) => Err(refusal.message),
            None => Ok(added.changes.pop().map_or(String::new(), |change| change.after)),
        }
    }

    #[test]
    fn comments_stand_above_their_line() {
        for (text, mark, expected) in [
            ("a:\n  b: 1\n", "1", "a:\n  # forebay: ignore[some-rule]\n  b: 1\n"),
            ("a:\r\n  b: 1\r\n", "1", "a:\r\n  # forebay: ignore[some-rule]\r\n  b: 1\r\n"),
            (
                "- x: |\n    text\n    more\n",
                "more",
                "# forebay: ignore[some-rule]\n- x: |\n    text\n    more\n",
            ),
            ("a: {\n  b: 1,\n  c: 2}\n", "2", "a: {\n  b: 1,\n  # forebay: ignore[some-rule]\n  c: 2}\n"),
            ("a: 'x\n  y'\n", "y", "# forebay: ignore[some-rule]\na: 'x\n  y'\n"),
        ] {
            assert_eq!(added("a.yaml", text, &[mark]).as_deref(), Ok(expected), "{text}");
        }
        let two = added("a.yaml", "a: 1\nb: 2\n", &["1", "1", "2"]);
        let expected = "# forebay: ignore[some-rule]\na: 1\n# forebay: ignore[some-rule]\nb: 2\n";
        assert_eq!(two.as_deref(), Ok(expected));
    }

    #[test]
    fn where_no_comment_can_stand_none_is_written() {
        for (path, text, mark) in [
            ("a.json", "{\"a\": 1}", "1"),
            ("a.yaml", "a: 1\n---\nb: [\n", "1"),
            ("a.yaml", "a: 1\nsops: {mac: x}\n", "1"),
        ] {
            assert!(added(path, text, &[mark]).is_err(), "{text}");
        }
    }
}
