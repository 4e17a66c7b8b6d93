//! Objects of a file or of a text inside a file.
//!
//! Mirrors `kyaml/kio/byteio_reader.go` (`splitDocuments`, `Read`),
//! `api/resource/factory.go` (`RNodesFromBytes`, `dropBadNodes`,
//! `inlineAnyEmbeddedLists`).

use super::OUTPUT_LIMIT;
use super::error::{BuildError, ErrorClass, Result};
use super::nodes::{self, Kind};
use crate::lang::yaml::resolve::reads_as_string;
use crate::lang::yaml::tape::{Soundness, TokenKind};
use crate::lang::yaml::{
    Dialect, Embed, FilePath, Location, Node, NodeRef, Scalar, ScalarStyle, Sizes, Source, Stream, Via,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// Nodes that one document may expand to through its aliases.
const NODE_LIMIT: u64 = 4_000_000;
const TOO_LARGE: &str = "this document grows beyond every limit when its aliases and copies are expanded";
/// Nesting that one document may expand to through its aliases.
pub(super) const DEPTH_LIMIT: u32 = 120;

/// The documents of a stream that kustomize reads: of each part between
/// separators the first. An error where a part is malformed.
pub(super) fn documents(file: &FilePath, stream: &Arc<Stream>, place: &TextPlace) -> Result<Vec<Node>> {
    if let Some(start) = directive(&stream.text) {
        let message = "kustomize splits files at `---` before it parses, so a directive ends in an error; \
                       remove this line";
        return Err(BuildError::new(ErrorClass::Yaml, message, Some(place.location(file, start, start))));
    }
    let parts = parts(stream).map_err(|range| {
        BuildError::new(
            ErrorClass::Yaml,
            "kustomize takes only a comment after a document separator",
            Some(place.location(file, range.0, range.1)),
        )
    })?;
    let part_of = |offset: u32| parts.partition_point(|start| *start <= offset);
    let mut found = Vec::new();
    let mut last_part = 0;
    for (index, document) in stream.documents.iter().enumerate() {
        if document.broken {
            let error = stream.errors.iter().find(|error| error.document == index as u32);
            let offset = error.map_or(document.start, |error| error.offset);
            if last_part != 0 && part_of(offset) == last_part {
                continue;
            }
            let reason = error.map_or("not readable", |error| &error.message);
            return Err(BuildError::new(
                ErrorClass::Yaml,
                format!("not valid YAML: {reason}"),
                Some(place.location(file, offset, offset)),
            ));
        }
        let Some(root) = document.tokens.first() else { continue };
        let part = part_of(root.start).max(1);
        if root.empty && document.tags.is_empty() || part == last_part {
            continue;
        }
        last_part = part;
        found.push(place.node(file, stream, index as u32));
    }
    Ok(found)
}

/// The first directive of a text: a line with `%` before a document's content.
fn directive(text: &str) -> Option<u32> {
    if !text.starts_with('%') && !text.contains("\n%") {
        return None;
    }
    let (mut before_content, mut offset) = (true, 0);
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches('\u{feff}').trim_start();
        match content.chars().next() {
            Some('%') if before_content && line.starts_with('%') => return Some(offset),
            None | Some('#') => {}
            Some(_) => before_content = line.starts_with("---"),
        }
        offset += line.len() as u32;
    }
    None
}

/// Starts of the parts between separators: a separator is a line that starts
/// with `---`, after another line and before one. The error is the bytes of one
/// with content behind it.
fn parts(stream: &Stream) -> std::result::Result<Vec<u32>, (u32, u32)> {
    let mut starts = vec![0];
    for at in memchr::memmem::find_iter(stream.text.as_bytes(), "\n---") {
        let start = at + 1;
        let Some(length) = memchr::memchr(b'\n', &stream.text.as_bytes()[start..]) else { break };
        let end = start + length + 1;
        // The line break of one separator can't begin the next.
        if starts.last() == Some(&(start as u32)) {
            continue;
        }
        let rest = stream.text[start + 3..end].trim();
        if !rest.is_empty() && !rest.starts_with('#') {
            return Err((start as u32, end as u32));
        }
        starts.push(end as u32);
    }
    Ok(starts)
}

/// Where a text stands: in a file of its own or inside a scalar, and what its
/// nodes went through.
#[derive(Clone, Debug, Default)]
pub(super) struct TextPlace {
    /// The scalar that holds it.
    pub inside: Option<Node>,
    /// Bytes of the scalar's value before the text.
    pub skipped: u32,
    /// See [`Source::via`].
    pub via: Vec<Via>,
}

impl TextPlace {
    fn location(&self, file: &FilePath, start: u32, end: u32) -> Location {
        match &self.inside {
            None => Location { file: file.clone(), start, end, via: self.via.clone() },
            Some(node) => {
                let embed = Embed::of(node, self.skipped);
                let whole = embed.as_ref().map_or(0..0, |embed| embed.whole.clone());
                let range = embed.map_or(whole, |embed| embed.outer(start..end));
                Location { file: file.clone(), start: range.start, end: range.end, via: self.via.clone() }
            }
        }
    }

    /// The root of a document of the text.
    pub(super) fn node(&self, file: &FilePath, stream: &Arc<Stream>, index: u32) -> Node {
        let embed = self.inside.as_ref().and_then(|node| Embed::of(node, self.skipped));
        let source =
            Source { file: file.clone(), stream: stream.clone(), index, embed, via: self.via.clone() };
        Arc::new(source).root()
    }
}

/// The file that a node stands in; one without a name for what no text says.
pub(super) fn file_of(node: NodeRef<'_>) -> FilePath {
    match node {
        NodeRef::Source(source, _) => source.file.clone(),
        NodeRef::Built(_) => node.location().map_or_else(|| FilePath::in_root(""), |location| location.file),
    }
}

/// An object of a file, and why it can't be written if it can't.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    pub node: Node,
    /// See [`super::resource::Resource`].
    pub defect: Option<Arc<BuildError>>,
    /// Whether it has scalars that change on their way out.
    pub changes_in_passing: bool,
}

/// The objects among documents: lists unfolded, empty documents dropped.
pub(super) fn objects(documents: Vec<Node>) -> Result<Vec<Loaded>> {
    let single = documents.len() == 1;
    let mut queue = VecDeque::new();
    for document in documents {
        let items = match document.get_ref() {
            root if single && root.is_map() && is_list(root) => root.get("items"),
            _ => None,
        };
        match items {
            Some(items) => {
                for item in items.items() {
                    push_object(&mut queue, item.to_node())?;
                }
            }
            None => push_object(&mut queue, document)?,
        }
    }
    let mut found = Vec::new();
    while let Some(loaded) = queue.pop_front() {
        let root = loaded.node.get_ref();
        let kind = nodes::field_text(root, "kind");
        let items = root.get("items");
        let (true, Some(items)) = (kind.ends_with("List"), items) else {
            found.push(loaded);
            continue;
        };
        if let Some(defect) = loaded.defect {
            return Err(Box::new((*defect).clone()));
        }
        match nodes::kind(Some(items)) {
            Kind::Null => {}
            Kind::Seq => {
                for item in items.items() {
                    let mut item = item.to_node();
                    nodes::decode(&mut item);
                    push_object(&mut queue, item)?;
                }
            }
            _ => {
                let message = format!("`items` of a {kind} must be a list");
                return Err(BuildError::at(ErrorClass::NotAnObject, message, items));
            }
        }
    }
    Ok(found)
}

fn is_list(root: NodeRef<'_>) -> bool {
    matches!(&*nodes::field_text(root, "kind"), "List" | "ResourceList")
        && (root.get("items").is_some() || root.get("functionConfig").is_some())
}

fn push_object(queue: &mut VecDeque<Loaded>, node: Node) -> Result<()> {
    let root = node.get_ref();
    let document = match root {
        NodeRef::Source(source, 0) => Some((source.document(), &source.stream.text)),
        _ => None,
    };
    if let Some(known) = document.and_then(|(document, _)| document.soundness.get()) {
        let changes_in_passing = known.changes_in_passing;
        queue.push_back(Loaded { node, defect: None, changes_in_passing });
        return Ok(());
    }
    if nodes::is_empty(Some(root)) {
        return Ok(());
    }
    if Sizes::default().of(root) > OUTPUT_LIMIT {
        return Err(BuildError::at(ErrorClass::Limit, TOO_LARGE, root));
    }
    let mut inspection = Inspection::default();
    inspection.visit(root, 0)?;
    require_object(root)?;
    let Inspection { visited, height, defect, changes_in_passing } = inspection;
    if let (Some((document, text)), None) = (document, &defect) {
        let unusual = is_unusual(&text.as_bytes()[document.start as usize..document.end as usize]);
        let found = Soundness { changes_in_passing, unusual, nodes: visited, height };
        document.soundness.get_or_init(|| found);
    }
    queue.push_back(Loaded { node, defect: defect.map(Arc::from), changes_in_passing });
    Ok(())
}

/// What is known of the document that a node is a part of.
fn soundness(node: NodeRef<'_>) -> Option<&Soundness> {
    match node {
        NodeRef::Source(source, _) => source.document().soundness.get(),
        NodeRef::Built(_) => None,
    }
}

/// Whether some scalar of a node may change on its way out.
pub(super) fn may_change(node: NodeRef<'_>) -> bool {
    soundness(node).is_none_or(|known| known.changes_in_passing)
}

/// Mirrors `RNode.GetValidatedMetadata`.
fn require_object(root: NodeRef<'_>) -> Result<()> {
    let filled = |key: &str| root.get(key).is_some_and(|value| !nodes::is_empty(Some(value)));
    if !filled("apiVersion") && !filled("kind") && !filled("metadata") {
        let message = "not a Kubernetes object: it has neither apiVersion nor kind nor metadata";
        return Err(BuildError::at(ErrorClass::NotAnObject, message, root));
    }
    let kind = nodes::field_text(root, "kind");
    if kind.is_empty() {
        return Err(BuildError::at(ErrorClass::NotAnObject, "not a Kubernetes object: it has no kind", root));
    }
    let name = root.get("metadata").map(|metadata| nodes::field_text(metadata, "name"));
    if !kind.ends_with("List") && name.is_none_or(|name| name.is_empty()) {
        let message = format!("{kind} without metadata.name");
        return Err(BuildError::at(ErrorClass::NotAnObject, message, root));
    }
    Ok(())
}

/// What keeps an object from being written as JSON, if anything: keys that are
/// no strings, equal keys, infinities, values that aren't what their tag says.
///
/// An error for what kustomize can't even expand: its aliases go too far.
pub(super) fn inspect(root: NodeRef<'_>) -> Result<Option<Arc<BuildError>>> {
    // Looks at what is shared once, the inspection each time.
    if Sizes::default().of(root) > OUTPUT_LIMIT {
        return Err(BuildError::at(ErrorClass::Limit, TOO_LARGE, root));
    }
    let mut inspection = Inspection::default();
    inspection.visit(root, 0)?;
    Ok(inspection.defect.map(Arc::from))
}

#[derive(Default)]
struct Inspection {
    visited: u64,
    /// The deepest level that was visited.
    height: u32,
    defect: Option<Box<BuildError>>,
    /// See [`Loaded`].
    changes_in_passing: bool,
}

/// Refuse the characters that YAML 1.1 allows in no text: kustomize writes
/// objects as JSON, which doesn't escape them, and reads that as YAML.
///
/// Mirrors `readerc.go` (`yaml_parser_update_buffer`) of go-yaml v2.
pub(super) fn require_readable(node: NodeRef<'_>) -> Result<()> {
    let refused = |text: &str, is_key: bool| {
        text.chars().find(|c| {
            matches!(c, '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}')
                || is_key && *c == nodes::NEXT_LINE
        })
    };
    let fail = |c: char, node: NodeRef<'_>| {
        let code = u32::from(c);
        let message = format!("the character U+{code:04X} in this text can't go through YAML");
        Err(BuildError::at(ErrorClass::Output, message, node))
    };
    if soundness(node).is_some_and(|known| !known.unusual) {
        return Ok(());
    }
    if node.is_map() {
        for entry in node.entries() {
            if let Some(c) = refused(&entry.key, true) {
                return fail(c, entry.key_node);
            }
            require_readable(entry.value)?;
        }
        return Ok(());
    }
    if node.is_seq() {
        return node.items().try_for_each(require_readable);
    }
    match node.text().and_then(|text| refused(&text, false)) {
        Some(c) => fail(c, node),
        None => Ok(()),
    }
}

/// Whether a file may hold characters that [`require_readable`] refuses or that
/// change on their way out: as they are, or escaped.
pub(super) fn is_unusual(bytes: &[u8]) -> bool {
    let next = |at: usize| bytes.get(at + 1).copied().unwrap_or_default();
    memchr::memchr3_iter(0x7f, 0xc2, b'\\', bytes).any(|at| match bytes[at] {
        0xc2 => (0x80..=0x9f).contains(&next(at)),
        b'\\' => matches!(next(at), b'x' | b'u' | b'U' | b'N'),
        _ => true,
    }) || memchr::memchr2_iter(0xef, b'!', bytes).any(|at| match bytes[at] {
        0xef => next(at) == 0xbf && next(at + 1) >= 0xbe,
        _ => bytes[at..].starts_with(b"!!binary"),
    })
}

impl Inspection {
    fn visit(&mut self, node: NodeRef<'_>, depth: u32) -> Result<()> {
        self.visited += 1;
        self.height = self.height.max(depth);
        if self.visited > NODE_LIMIT || depth > DEPTH_LIMIT {
            return Err(BuildError::at(ErrorClass::Limit, TOO_LARGE, node));
        }
        if self.is_sound_part(node, depth) {
            return Ok(());
        }
        match node {
            NodeRef::Source(source, at) => {
                let tokens = &source.document().tokens;
                match tokens[at as usize].kind {
                    TokenKind::Alias => {
                        let message = "an alias inside its own anchor has no value";
                        return Err(BuildError::at(ErrorClass::Yaml, message, node));
                    }
                    TokenKind::Scalar(_) => self.scalar(node),
                    TokenKind::Sequence => {
                        for item in node.items() {
                            self.visit(item, depth + 1)?;
                        }
                    }
                    TokenKind::Mapping => self.map(node, depth)?,
                }
            }
            NodeRef::Built(_) if node.is_map() => self.map(node, depth)?,
            NodeRef::Built(_) if node.is_seq() => {
                for item in node.items() {
                    self.visit(item, depth + 1)?;
                }
            }
            NodeRef::Built(_) => self.scalar(node),
        }
        Ok(())
    }

    /// Whether a node is a part of a document that was found sound, within the limits
    /// here as well.
    fn is_sound_part(&mut self, node: NodeRef<'_>, depth: u32) -> bool {
        let NodeRef::Source(source, 1..) = node else { return false };
        let Some(whole) = source.document().soundness.get() else { return false };
        let fits =
            depth + whole.height <= DEPTH_LIMIT && self.visited.saturating_add(whole.nodes) <= NODE_LIMIT;
        if fits {
            self.visited += whole.nodes;
            self.height = self.height.max(depth + whole.height);
            self.changes_in_passing |= whole.changes_in_passing;
        }
        fits
    }

    fn map(&mut self, node: NodeRef<'_>, depth: u32) -> Result<()> {
        if let NodeRef::Source(source, at) = node {
            self.raw_keys(node, source, at)?;
        }
        let mut keys: Vec<_> = Vec::new();
        for entry in node.entries() {
            let key = entry.key_node;
            if key.is_unknown() {
                self.visit(entry.value, depth + 1)?;
                continue;
            }
            let is_text = matches!(key, NodeRef::Source(source, _) if source.document().tags.is_empty())
                && reads_as_string(&entry.key);
            // The keys of the root are decoded as text; deeper ones must be strings.
            if !is_text
                && (depth > 0 || nodes::is_null(key))
                && !matches!(key.scalar(Dialect::GoYamlV3), Scalar::Str(_))
            {
                self.fail(format!("the key `{}` is no string", entry.key), key);
            }
            keys.push((entry.key.clone(), key));
            self.visit(entry.value, depth + 1)?;
        }
        // Most maps are small, and none of their keys stands twice.
        let is_alone = |at: usize| keys[..at].iter().all(|(other, _)| *other != keys[at].0);
        if keys.len() <= 8 && (1..keys.len()).all(is_alone) {
            return Ok(());
        }
        keys.sort_by(|a, b| a.0.cmp(&b.0));
        for pair in keys.windows(2) {
            if pair[0].0 == pair[1].0 {
                self.fail(format!("the key `{}` stands here twice", pair[0].0), pair[1].1);
            }
        }
        Ok(())
    }

    /// Keys that readers never see: collections, merges of what is no map.
    fn raw_keys(&mut self, node: NodeRef<'_>, source: &Arc<Source>, at: u32) -> Result<()> {
        let tokens = &source.document().tokens;
        let end = tokens[at as usize].next;
        let mut key = at + 1;
        let mut merges = 0;
        while key < end {
            let value = tokens[key as usize].next;
            match tokens[key as usize].kind {
                TokenKind::Sequence | TokenKind::Mapping => {
                    self.fail("a list or a map can't be a key".to_owned(), NodeRef::Source(source, key));
                }
                TokenKind::Scalar(ScalarStyle::Plain) if source.document().merges => {
                    let text = NodeRef::Source(source, key).text();
                    if text.as_deref() == Some("<<") && source.document().tag(key).is_none() {
                        merges += 1;
                        if merges > 1 {
                            let message = "a second `<<` in one map";
                            return Err(BuildError::at(
                                ErrorClass::Yaml,
                                message,
                                NodeRef::Source(source, key),
                            ));
                        }
                        require_mergeable(Node::Source(source.clone(), value).get_ref())?;
                    }
                }
                _ => {}
            }
            key = match tokens.get(value as usize) {
                Some(value) => value.next,
                None => return Err(BuildError::at(ErrorClass::Yaml, "a key without a value", node)),
            };
        }
        Ok(())
    }

    fn scalar(&mut self, node: NodeRef<'_>) {
        self.changes_in_passing |= nodes::may_change(node);
        match node.scalar(Dialect::GoYamlV3) {
            Scalar::Float(value) if !value.is_finite() => {
                self.fail(format!("{} can't be written as JSON", nodes::text(node)), node);
            }
            _ => {}
        }
        if let NodeRef::Source(source, at) = node
            && let Some(tag) = source.document().tag(at)
            && let Some(text) = node.text()
            && let Err(reason) = crate::lang::yaml::resolve::resolve_tagged(
                text,
                node.style(),
                Some(&tag.name),
                Dialect::GoYamlV3,
            )
        {
            self.fail(reason, node);
        }
    }

    fn fail(&mut self, message: String, node: NodeRef<'_>) {
        if self.defect.is_none() {
            self.defect = Some(BuildError::at(ErrorClass::Output, message, node));
        }
    }
}

fn require_mergeable(value: NodeRef<'_>) -> Result<()> {
    let maps = |node: NodeRef<'_>| node.is_map();
    if maps(value) || value.is_seq() && value.items().all(maps) {
        return Ok(());
    }
    Err(BuildError::at(ErrorClass::Yaml, "`<<` takes a map or a list of maps", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> std::result::Result<Vec<String>, String> {
        let stream = Arc::new(Stream::parse(text));
        let file = FilePath::in_root("f.yaml");
        let documents = documents(&file, &stream, &TextPlace::default()).map_err(|error| error.message)?;
        let loaded = objects(documents).map_err(|error| error.message)?;
        Ok(loaded
            .iter()
            .map(|object| object.node.get_ref().str_at("/metadata/name").unwrap_or_default().into_owned())
            .collect())
    }

    #[test]
    fn documents_split_at_separator_lines() {
        let object = |name: &str| format!("kind: A\nmetadata: {{name: {name}}}\n");
        let (a, b, c) = (object("a"), object("b"), object("c"));
        let table = [
            (format!("{a}---\n{b}"), vec!["a", "b"]),
            (format!("---\n{a}--- # why\n{b}---"), vec!["a", "b"]),
            (format!("---\n---\n{a}---\n---\n{b}"), vec!["a", "b"]),
            (format!("{a}...\n{b}---\n{c}"), vec!["a", "c"]),
            (format!("# nothing\n---\nnull\n---\n{a}"), vec!["a"]),
            ("{\"kind\":\"A\",\"metadata\":{\"name\":\"a\"}}\n".to_owned(), vec!["a"]),
        ];
        for (text, expected) in table {
            assert_eq!(
                names(&text).as_deref(),
                Ok(&*expected.iter().map(|n| n.to_string()).collect::<Vec<_>>()),
                "{text}"
            );
        }
        assert!(names(&format!("{a}--- foo\n{b}")).is_err());
    }

    #[test]
    fn a_document_that_is_read_again_is_the_same_object() {
        let object = |rest: &str| format!("kind: A\nmetadata: {{name: a}}\n{rest}");
        for (text, changes, sound, plain) in [
            (object("v: plain\n"), false, true, true),
            (object("v: >-\n  a\n    b\n"), true, true, true),
            (object("v: [1:30:00, 2024-01-01 10:00:00]\n"), true, true, true),
            (object("v: \"a\\x85b\"\n"), true, true, false),
            (object("v: \"\\x7f\"\n"), false, true, false),
            (object("v: .inf\n"), false, false, true),
            (object("v: {a: 1, a: 2}\n"), false, false, true),
        ] {
            let stream = Arc::new(Stream::parse(&text));
            let read = || {
                let documents =
                    documents(&FilePath::in_root("f.yaml"), &stream, &TextPlace::default()).expect(&text);
                objects(documents).expect(&text).remove(0)
            };
            for time in ["the first time", "again"] {
                let Loaded { node, defect, changes_in_passing } = read();
                assert_eq!((changes_in_passing, defect.is_none()), (changes, sound), "{time}: {text}");
                assert_eq!(may_change(node.get_ref()), changes || !sound, "{time}: {text}");
                let refused = require_readable(node.get_ref()).is_err();
                assert_eq!(refused, text.contains("x7f"), "{time}: {text}");
                let known = soundness(node.get_ref()).map(|known| !known.unusual);
                assert_eq!(known, sound.then_some(plain), "{time}: {text}");
            }
        }
    }

    #[test]
    fn lists_are_unfolded() {
        let item = |name: &str| format!("{{kind: A, metadata: {{name: {name}}}}}");
        let list = format!("kind: FooList\nitems: [{}, null, {}]\n", item("a"), item("b"));
        assert_eq!(names(&list), Ok(vec!["a".to_owned(), "b".to_owned()]));
        // Items of a list among other documents come last.
        let mixed = format!("{list}---\n{}\n", item("c"));
        assert_eq!(names(&mixed), Ok(vec!["c".to_owned(), "a".to_owned(), "b".to_owned()]));
        assert!(names("kind: FooList\nitems: 5\n").is_err());
        assert_eq!(names("kind: FooList\nitems:\n"), Ok(Vec::new()));
    }
}
