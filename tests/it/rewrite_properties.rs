//! Random operations on random documents: what a rewrite promises, over the
//! fixtures and, where it is present, the corpus of real repositories.
//!
//! `FOREBAY_OPERATIONS` sets how many operations are to be completed.

use crate::support::corpus::manifests;
use crate::support::skip::corpus_or_skip;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lang::yaml::edit::verify::{second_witness, splice, verify};
use forebay::internals::lang::yaml::edit::{
    Compiled, Content, KeyPlace, Operation, Prune, RefusedEdit, compile,
};
use forebay::internals::lang::yaml::tape::TokenKind;
use forebay::internals::lang::yaml::{
    Dialect, NodeKind, NodeRef, Scalar, Source, Stream, pointer_join, pointer_segments,
};
use forebay::internals::lang::yaml::{FilePath, WorkPath};
use forebay::internals::report::diff::{self, Look};
use forebay::internals::rewrite::FileChange;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const TEXTS: &[&str] = &[
    "x",
    "true",
    "no",
    "1.10",
    "a: b",
    "# c",
    "it's",
    "\"q\"",
    "",
    " lead",
    "trail ",
    "two\nlines",
    "é😀",
    "- x",
    "[a]",
    "{b}",
    "*a",
    "&a",
    "!t",
    "%d",
    "@e",
    "`f`",
    "a,b",
    "?",
    "v1.2.3",
    "1:30",
    "2024-01-01",
    "a#b",
    "a #b",
    "key:",
    ":x",
    "\t",
    "null",
    "~",
    "0x1F",
    "$(x)",
    "${X:=y}",
    "C:\\dir",
    "<<",
];

fn scalar() -> BoxedStrategy<Content> {
    prop_oneof![
        1 => Just(Content::Null),
        1 => Just(Content::Bool(true)),
        1 => (-1000i64..1000).prop_map(Content::Int),
        3 => prop::sample::select(TEXTS).prop_map(Content::str),
    ]
    .boxed()
}

fn content() -> BoxedStrategy<Content> {
    let list = |item: BoxedStrategy<Content>| prop::collection::vec(item, 0..3);
    scalar()
        .prop_recursive(2, 6, 2, move |inner| {
            prop_oneof![
                list(inner.clone()).prop_map(Content::Seq),
                list(inner).prop_map(|values| {
                    Content::Map(values.into_iter().enumerate().map(|(n, v)| (format!("k{n}"), v)).collect())
                }),
            ]
        })
        .boxed()
}

/// An operation before it is known what it is made on.
#[derive(Clone, Debug)]
struct Dice {
    file: Index,
    document: Index,
    node: Index,
    sibling: Index,
    kind: u8,
    flag: bool,
    text: &'static str,
    value: Content,
    comment: bool,
}

fn dice() -> impl Strategy<Value = Dice> {
    let places = (any::<Index>(), any::<Index>(), any::<Index>(), any::<Index>());
    (places, 0u8..8, any::<bool>(), prop::sample::select(TEXTS), content(), prop::bool::weighted(0.2))
        .prop_map(|((file, document, node, sibling), kind, flag, text, value, comment)| Dice {
            file,
            document,
            node,
            sibling,
            kind,
            flag,
            text,
            value,
            comment,
        })
}

/// A node that an operation can name.
struct Spot {
    pointer: String,
    kind: NodeKind,
    /// Keys, of a map.
    keys: Vec<String>,
}

/// The nodes of a document, down to a number of them.
fn spots(root: NodeRef<'_>) -> Vec<Spot> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), root)];
    while let Some((pointer, node)) = open.pop() {
        if found.len() > 300 {
            break;
        }
        let mut keys = Vec::new();
        for entry in node.entries() {
            open.push((pointer_join(&pointer, &entry.key), entry.value));
            keys.push(entry.key.into_owned());
        }
        for (index, item) in node.items().enumerate() {
            open.push((format!("{pointer}/{index}"), item));
        }
        found.push(Spot { pointer, kind: node.kind(), keys });
    }
    found
}

fn operation(dice: &Dice, spots: &[Spot]) -> Operation {
    let spot = dice.node.get(spots);
    let pointer = spot.pointer.clone();
    let comment = dice.comment.then(|| "why".to_owned());
    let flat = match &dice.value {
        Content::Seq(_) | Content::Map(_) => Content::str(dice.text),
        scalar => scalar.clone(),
    };
    match (spot.kind, dice.kind) {
        (NodeKind::Map, 0..=2) => Operation::InsertKey {
            map: pointer,
            key: format!("new-{}", dice.text),
            value: dice.value.clone(),
            place: match (dice.kind, spot.keys.is_empty()) {
                (1, false) => KeyPlace::Before(dice.sibling.get(&spot.keys).clone()),
                (2, false) => KeyPlace::After(dice.sibling.get(&spot.keys).clone()),
                _ => KeyPlace::End,
            },
            comment,
        },
        (NodeKind::Map, 3) => {
            Operation::Set { pointer: format!("{pointer}/deep/deeper"), value: dice.value.clone(), comment }
        }
        (NodeKind::Seq, 0..=2) => Operation::InsertItem {
            list: pointer,
            before: Some(dice.sibling.index(4)).filter(|n| *n < 3),
            value: dice.value.clone(),
        },
        (_, 4) => Operation::RemoveKey { pointer, prune: if dice.flag { Prune::Empty } else { Prune::Keep } },
        (_, 5) if dice.flag => Operation::RemoveItem { pointer },
        (_, 5 | 6) => Operation::RenameKey { pointer, to: format!("other-{}", dice.text) },
        (NodeKind::Scalar, 7) if dice.flag => {
            let (map, _) = pointer.rsplit_once('/').unwrap_or_default();
            let beside = spots.iter().find(|spot| spot.pointer == map).map(|spot| &spot.keys);
            let into = match beside {
                Some(keys) if !keys.is_empty() && dice.comment => dice.sibling.get(keys).clone(),
                _ => "moved".to_owned(),
            };
            Operation::MoveKey { pointer, into }
        }
        (NodeKind::Scalar, 7) => {
            Operation::Set { pointer: pointer_join(&pointer, "deeper"), value: flat, comment }
        }
        _ => Operation::Set { pointer, value: flat, comment },
    }
}

/// What a document says, apart from how: to predict what an operation makes of
/// it, by other means than the code that makes it.
#[derive(Clone, Debug, PartialEq)]
enum Said {
    Leaf(String),
    Seq(Vec<Said>),
    Map(Vec<(String, Said)>),
}

impl Said {
    fn of(node: NodeRef<'_>) -> Said {
        match node.kind() {
            NodeKind::Map => Said::Map(
                node.entries().map(|entry| (entry.key.into_owned(), Said::of(entry.value))).collect(),
            ),
            NodeKind::Seq => Said::Seq(node.items().map(Said::of).collect()),
            _ => Said::Leaf(format!("{:?}", node.scalar(Dialect::GoYamlV3))),
        }
    }

    fn wanted(content: &Content) -> Said {
        let leaf = |scalar: Scalar<'_>| Said::Leaf(format!("{scalar:?}"));
        match content {
            Content::Null => leaf(Scalar::Null),
            Content::Bool(value) => leaf(Scalar::Bool(*value)),
            Content::Int(value) => leaf(Scalar::Int(*value)),
            Content::Str(text) => leaf(Scalar::Str(Cow::Borrowed(text))),
            Content::Seq(items) => Said::Seq(items.iter().map(Said::wanted).collect()),
            Content::Map(entries) => {
                Said::Map(entries.iter().map(|(key, value)| (key.clone(), Said::wanted(value))).collect())
            }
        }
    }

    fn child(&mut self, segment: &str) -> Option<&mut Said> {
        match self {
            Said::Map(entries) => entries.iter_mut().find(|(key, _)| key == segment).map(|(_, value)| value),
            Said::Seq(items) => items.get_mut(segment.parse::<usize>().ok()?),
            Said::Leaf(_) => None,
        }
    }

    fn at(&mut self, pointer: &str) -> Option<&mut Said> {
        pointer_segments(pointer).try_fold(self, |said, segment| said.child(&segment))
    }

    /// The map at a pointer, made of nothing where it is null or absent.
    fn map_at(&mut self, pointer: &str) -> &mut Vec<(String, Said)> {
        let mut said = self;
        for segment in pointer_segments(pointer) {
            if said.child(&segment).is_none() {
                said.entries().push((segment.to_string(), Said::Map(Vec::new())));
            }
            said = said.child(&segment).unwrap();
        }
        said.entries()
    }

    /// Null or an empty collection.
    fn is_vacant(&self) -> bool {
        match self {
            Said::Leaf(text) => text == "Null",
            Said::Seq(items) => items.is_empty(),
            Said::Map(entries) => entries.is_empty(),
        }
    }

    fn entries(&mut self) -> &mut Vec<(String, Said)> {
        if !matches!(self, Said::Map(_)) {
            assert!(self.is_vacant(), "not a map: {self:?}");
            *self = Said::Map(Vec::new());
        }
        match self {
            Said::Map(entries) => entries,
            _ => unreachable!(),
        }
    }

    /// Make an operation that is known to be possible.
    fn change(&mut self, operation: &Operation) {
        let split = |pointer: &str| {
            let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
            (parent.to_owned(), pointer_segments(&format!("/{key}")).next().unwrap().into_owned())
        };
        match operation {
            Operation::Set { pointer, value, .. } => match self.at(pointer) {
                Some(old) => *old = Said::wanted(value),
                None => {
                    let (parent, key) = split(pointer);
                    match self.at(&parent) {
                        Some(Said::Seq(items)) if !items.is_empty() => items.push(Said::wanted(value)),
                        _ => self.map_at(&parent).push((key, Said::wanted(value))),
                    }
                }
            },
            Operation::InsertKey { map, key, value, place, .. } => {
                let entries = self.map_at(map);
                let named = |name: &str| entries.iter().position(|(key, _)| key == name);
                let at = match place {
                    KeyPlace::End => None,
                    KeyPlace::Before(sibling) => named(sibling),
                    KeyPlace::After(sibling) => named(sibling).map(|at| at + 1),
                };
                let at = at.unwrap_or(entries.len());
                entries.insert(at, (key.clone(), Said::wanted(value)));
            }
            Operation::RemoveKey { pointer, prune } => {
                let mut pointer = pointer.clone();
                loop {
                    let (parent, key) = split(&pointer);
                    let is_entry = matches!(
                        self.at(&split(&parent).0),
                        Some(Said::Map(_)) if !parent.is_empty()
                    );
                    let entries = self.map_at(&parent);
                    entries.retain(|(other, _)| *other != key);
                    if !(*prune == Prune::Empty && entries.is_empty() && is_entry) {
                        break;
                    }
                    pointer = parent;
                }
            }
            Operation::RenameKey { pointer, to } => {
                let (parent, key) = split(pointer);
                let entries = self.map_at(&parent);
                entries.iter_mut().find(|(other, _)| *other == key).unwrap().0 = to.clone();
            }
            Operation::MoveKey { pointer, into } => {
                let (parent, key) = split(pointer);
                let entries = self.map_at(&parent);
                let at = entries.iter().position(|(other, _)| *other == key).unwrap();
                let (_, value) = entries.remove(at);
                let target = self.map_at(&pointer_join(&parent, into));
                target.retain(|(other, _)| *other != key);
                target.push((key, value));
            }
            Operation::InsertItem { list, before, value } => {
                let value = Said::wanted(value);
                match self.at(list) {
                    Some(Said::Seq(items)) => {
                        let at = before.unwrap_or(items.len()).min(items.len());
                        items.insert(at, value);
                    }
                    Some(other) => *other = Said::Seq(vec![value]),
                    None => unreachable!("only lists that are there are chosen"),
                }
            }
            Operation::RemoveItem { pointer } => {
                let (parent, index) = split(pointer);
                let Some(Said::Seq(items)) = self.at(&parent) else { unreachable!() };
                items.remove(index.parse().unwrap());
            }
            Operation::RemoveComment { .. } | Operation::ReplaceWithin { .. } => {}
        }
    }

    /// Without the order of keys.
    fn sorted(mut self) -> Said {
        match &mut self {
            Said::Map(entries) => {
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                for (_, value) in entries {
                    *value = std::mem::replace(value, Said::Seq(Vec::new())).sorted();
                }
            }
            Said::Seq(items) => {
                for item in items {
                    *item = std::mem::replace(item, Said::Seq(Vec::new())).sorted();
                }
            }
            Said::Leaf(_) => {}
        }
        self
    }
}

/// Lines outside of the operation's own, first and last byte: those of the entry
/// or item that it names, with the comments right above; for an insertion those
/// of the collection that it goes into.
fn own_lines(text: &str, root: NodeRef<'_>, operation: &Operation) -> std::ops::Range<usize> {
    let pointer = match operation {
        Operation::Set { pointer, .. } | Operation::RenameKey { pointer, .. } => pointer.clone(),
        Operation::InsertKey { map, .. } => map.clone(),
        Operation::InsertItem { list, .. } => list.clone(),
        // What is emptied by it shows it: its key, its braces.
        Operation::RemoveKey { pointer, .. } | Operation::RemoveItem { pointer } => {
            let prunes = matches!(operation, Operation::RemoveKey { prune: Prune::Empty, .. });
            let mut pointer = &**pointer;
            while let Some((parent, _)) = pointer.rsplit_once('/') {
                let Some(node) = root.at(parent) else { break };
                let is_alone = node.entries().count() + node.items().count() == 1;
                let flow = node.token().is_some_and(|token| token.flow);
                if !is_alone && !flow {
                    break;
                }
                pointer = parent;
                // A comma on another line goes too.
                if flow && !(is_alone && prunes) {
                    break;
                }
            }
            pointer.to_owned()
        }
        Operation::MoveKey { pointer, .. } => {
            pointer.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned())
        }
        Operation::RemoveComment { .. } | Operation::ReplaceWithin { .. } => unreachable!(),
    };
    let mut named = &*pointer;
    while root.at(named).is_none() {
        named = named.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    let node = root.at(named).unwrap();
    let location = node.location().unwrap();
    let key = named.rsplit_once('/').and_then(|(parent, _)| {
        let parent = root.at(parent)?;
        let key = pointer_segments(&named[named.rfind('/')?..]).next()?.into_owned();
        parent.entry(&key)?.key_location()
    });
    // An alias lies where its key does.
    let location = key.as_ref().filter(|key| location.start < key.start).cloned().unwrap_or(location);
    let first = key.map_or(location.start, |key| key.start) as usize;
    // A dash, an anchor or a tag stand in front of a node, maybe on a line above.
    let breaks = |byte: u8| byte == b'\n' || byte == b'\r';
    let line = |at: usize| text[..at].bytes().rposition(breaks).map_or(0, |found| found + 1);
    let mut start = line(first);
    while start > 0 {
        let above = line(text[..start].trim_end_matches(['\n', '\r']).len());
        let body = text[above..start].trim();
        if !(body.starts_with('#') || body.starts_with(['-', '&', '!', '?']) || body.is_empty()) {
            break;
        }
        start = above;
    }
    let mut end = location.end as usize;
    end += text[end..].bytes().position(breaks).unwrap_or(text.len() - end);
    if end == text.len() {
        // The last line without a break: the one before becomes that.
        start = text[..start].trim_end_matches(['\n', '\r']).len();
    }
    if let Operation::RemoveKey { .. } | Operation::RemoveItem { .. } = operation
        && text[line(first)..first].contains('-')
        && let Some(next) = next_beside(root, named)
    {
        // The one behind the first on the line of a dash takes its place.
        end = end.max(next as usize);
        end += text[end..].bytes().position(breaks).unwrap_or(text.len() - end);
    }
    // Blank lines that belong to a block scalar, and the line break.
    end += text[end..].len() - text[end..].trim_start().len();
    // What comes new goes behind comments that are about what stands above.
    while !matches!(operation, Operation::RemoveKey { .. } | Operation::RemoveItem { .. })
        && text[end..].starts_with('#')
    {
        end += text[end..].bytes().position(breaks).unwrap_or(text.len() - end);
        end += text[end..].len() - text[end..].trim_start().len();
    }
    end = if end == text.len() { end } else { line(end) };
    start..end
}

/// Where the sibling behind a node ends. An alias lies where its key does.
fn next_beside(root: NodeRef<'_>, pointer: &str) -> Option<u32> {
    let (parent, _) = pointer.rsplit_once('/')?;
    let removed = pointer_segments(&pointer[parent.len()..]).next()?.into_owned();
    let parent = root.at(parent)?;
    if parent.entries().next().is_some() {
        let next = parent.entries().skip_while(|entry| entry.key != removed).nth(1)?;
        let (key, value) = (next.key_location()?, next.value.location()?);
        return Some(if value.start < key.start { key.end } else { value.end });
    }
    let at = root.at(pointer)?.location()?.end;
    parent
        .items()
        .filter_map(NodeRef::location)
        .filter(|place| place.start >= at && place.end > at)
        .map(|place| place.end)
        .min()
}

#[derive(Default)]
struct Tally {
    done: usize,
    refused: BTreeMap<&'static str, usize>,
}

/// A text to make operations on.
struct Sample {
    name: String,
    text: String,
    stream: Arc<Stream>,
    /// Documents that say something, with the nodes of each and what it says.
    documents: Vec<(Arc<Source>, Vec<Spot>, Said)>,
}

impl Sample {
    fn new(name: &str, text: String) -> Option<Sample> {
        let stream = Arc::new(Stream::parse(&text));
        if !stream.errors.is_empty() {
            return None;
        }
        let documents = sources(name, &stream)
            .map(|source| {
                let root = NodeRef::Source(&source, 0);
                let (spots, said) = (spots(root), Said::of(root));
                (source, spots, said)
            })
            .collect::<Vec<_>>();
        (!documents.is_empty()).then(|| Sample { name: name.to_owned(), text, stream, documents })
    }
}

fn sources(name: &str, stream: &Arc<Stream>) -> impl Iterator<Item = Arc<Source>> {
    let readable = (0..stream.documents.len()).filter(|at| !stream.documents[*at].tokens.is_empty());
    readable.map(move |index| {
        Arc::new(Source {
            file: FilePath::in_root(name),
            stream: stream.clone(),
            index: index as u32,
            embed: None,
            via: Vec::new(),
        })
    })
}

/// The kind of a refusal, if what it says is so. Every reason has its own test
/// here, so that a new one is noticed.
fn check_refusal(
    refused: &RefusedEdit,
    text: &str,
    root: NodeRef<'_>,
    operation: &Operation,
) -> Result<&'static str, String> {
    let NodeRef::Source(source, _) = root else { unreachable!() };
    let document = source.document();
    let tokens = &document.tokens;
    let Some(written) = text.get(refused.range.start as usize..refused.range.end as usize) else {
        return Err("a range that is none".to_owned());
    };
    let message = &*refused.message;
    if message.is_empty() || refused.help.is_empty() {
        return Err("no words".to_owned());
    }
    let (pointer, key) = match operation {
        Operation::Set { pointer, .. }
        | Operation::RemoveKey { pointer, .. }
        | Operation::RenameKey { pointer, .. }
        | Operation::RemoveItem { pointer }
        | Operation::MoveKey { pointer, .. } => pointer.rsplit_once('/').unwrap_or_default(),
        Operation::InsertKey { map, key, .. } => (&**map, &**key),
        Operation::InsertItem { list, .. } => (&**list, ""),
        Operation::RemoveComment { .. } | Operation::ReplaceWithin { .. } => unreachable!(),
    };
    let parent = root.at(pointer).map(NodeRef::kind);
    let target = match operation {
        // The document itself: not its key ``.
        Operation::Set { pointer, .. } if pointer.is_empty() => Some(root),
        _ => root.at(&format!("{pointer}/{key}")).or_else(|| root.at(pointer)),
    };
    let commented = !document.comments.is_empty();
    let flow = tokens.iter().any(|token| token.flow);
    let lines = written.contains(['\n', '\r']);
    let aliases = tokens.iter().any(|token| token.kind == TokenKind::Alias);
    let properties =
        !document.anchors.is_empty() || (0..tokens.len()).any(|at| document.tag(at as u32).is_some());
    let twice = || {
        let texts = tokens.iter().map(|token| &text[token.start as usize..token.end as usize]);
        texts
            .map(|text| text.trim_matches(['"', '\'']))
            .filter(|other| *other == written.trim_matches(['"', '\'']))
            .count()
            > 1
    };
    let with_comment = matches!(
        operation,
        Operation::Set { comment: Some(_), .. } | Operation::InsertKey { comment: Some(_), .. }
    );
    let renamed = match operation {
        Operation::RenameKey { to, .. } => root.at(&pointer_join(pointer, to)).is_some(),
        _ => target.is_some(),
    };
    let moves = matches!(operation, Operation::MoveKey { .. });
    let reasons: &[(&'static str, bool)] = &[
        ("leads through the alias", aliases),
        ("is an alias", aliases),
        ("aliases elsewhere in the document use", aliases && written.starts_with('&')),
        ("the merge key `<<`", written.contains("<<")),
        ("is there twice", twice()),
        ("is there already", renamed),
        ("is no key of a map", parent != Some(NodeKind::Map) || key.is_empty()),
        ("is no item of a list", parent != Some(NodeKind::Seq) || key.is_empty()),
        ("would be inside of a scalar", !lines || !written.is_empty()),
        ("not a scalar", target.is_some_and(|node| node.kind() != NodeKind::Scalar)),
        ("the value carries a tag", properties),
        (
            "carries an anchor or a tag, or is a block",
            properties || text.contains("? |") || text.contains("? >"),
        ),
        ("an anchor or a tag", properties),
        (
            "written with `?`, an anchor, a tag, or behind `---` or an unusual line break",
            properties
                || text.contains(['?', '\t', '\u{85}', '\u{2028}', '\u{2029}'])
                || text.contains("---"),
        ),
        ("left out between braces", flow && written.is_empty()),
        ("left out behind `?`", text.contains('?') && written.is_empty()),
        ("the braces are on several lines", flow && lines),
        ("the brackets are on several lines", flow && lines),
        ("the layout of these brackets", flow && (commented || !written.starts_with(['[', '{']))),
        ("a comma stands behind the last child", flow && written.contains(',')),
        ("a comment has no place between braces", flow && (commented || with_comment)),
        ("comment", commented),
        ("an image policy marker", text.contains("$imagepolicy") && with_comment),
        ("the document is empty", tokens.len() == 1),
        ("ends inside a block scalar", !text.ends_with('\n')),
        ("takes several lines", moves && text.contains(['\n', '\r'])),
        ("too near to the old one", moves && flow),
        ("behind a dash", moves && tokens.iter().any(|token| token.kind == TokenKind::Sequence)),
        ("is no scalar", moves),
        ("is no map", moves),
        ("is no string", moves),
    ];
    // A key may be called like a reason.
    let said = message.replace(&pointer_join(pointer, key), "");
    match reasons.iter().find(|(words, _)| said.contains(words)) {
        Some((words, true)) => Ok(words),
        Some(_) => Err(format!("it is not so that {message}")),
        None => Err(format!("a reason that no one expects: {message}")),
    }
}

fn attempt(sample: &Sample, dice: &Dice, tally: &mut Tally) -> Result<(), String> {
    let Sample { name, text, stream, .. } = sample;
    let (source, spots, _) = dice.document.get(&sample.documents);
    let document = source.index;
    let root = NodeRef::Source(source, 0);
    let operation = operation(dice, spots);
    let because = |why: String| format!("{name} document {document}: {operation:?}: {why}");
    let compiled = match compile(stream, document, &operation) {
        Ok(compiled) => compiled,
        Err(refused) => {
            let kind = check_refusal(&refused, text, root, &operation).map_err(because)?;
            *tally.refused.entry(kind).or_default() += 1;
            return Ok(());
        }
    };
    // The proof that every rewrite has to pass must not fail here, unless the
    // second parser can't even read what is there.
    let new = match verify(stream, &[(document, &compiled)]) {
        Ok(new) => Arc::new(new),
        Err(_) if second_witness(stream).is_err() => {
            *tally.refused.entry("no proof by a second parser").or_default() += 1;
            return Ok(());
        }
        Err(why) => {
            let edits: Vec<_> = compiled.edits.iter().collect();
            return Err(because(format!("{why}\n{}", splice(text, &edits))));
        }
    };
    check_bytes(text, &new.text, &compiled, own_lines(text, root, &operation)).map_err(because)?;
    // The value tree is as predicted, that of other documents as before.
    let now: Vec<Arc<Source>> = sources(name, &new).collect();
    for ((before, _, said), after) in sample.documents.iter().zip(&now) {
        let mut expected = said.clone();
        let mut got = Said::of(NodeRef::Source(after, 0));
        if before.index == document {
            expected.change(&operation);
        }
        if matches!(operation, Operation::MoveKey { .. }) {
            (expected, got) = (expected.sorted(), got.sorted());
        }
        if expected != got {
            return Err(because(format!("expected {expected:?}\n got {got:?}")));
        }
    }
    check_twice(&new, document, &operation).map_err(because)?;
    // A lone carriage return ends lines of YAML, but not of a diff.
    let lone = text.replace("\r\n", "").contains('\r');
    if dice.sibling.index(4) == 0 && !lone {
        check_diff(name, text, &new.text).map_err(because)?;
    }
    tally.done += 1;
    Ok(())
}

/// Bytes outside of the edits are the old ones, and the edits are on the lines
/// that the operation is about.
fn check_bytes(
    old: &str,
    new: &str,
    compiled: &Compiled,
    lines: std::ops::Range<usize>,
) -> Result<(), String> {
    let edits: Vec<_> = compiled.edits.iter().collect();
    if splice(old, &edits) != new {
        return Err("bytes outside of the edits changed".to_owned());
    }
    let (before, after) = (&old[..lines.start], &old[lines.end..]);
    if !new.starts_with(before) || !new.ends_with(after) || new.len() < before.len() + after.len() {
        return Err(format!("lines beside its own changed: {lines:?} {edits:?}"));
    }
    Ok(())
}

/// What is done is not done again.
fn check_twice(new: &Stream, document: u32, operation: &Operation) -> Result<(), String> {
    let again = compile(new, document, operation);
    match (operation, again) {
        (Operation::Set { .. }, Ok(again)) => {
            let twice = verify(new, &[(document, &again)])?;
            if twice.text == new.text { Ok(()) } else { Err("setting it again changes it".to_owned()) }
        }
        // A collection is set only where nothing is.
        (Operation::Set { value: Content::Seq(_) | Content::Map(_), .. }, Err(_)) => Ok(()),
        (Operation::Set { .. }, Err(refused)) => Err(format!("it can't be set again: {}", refused.message)),
        // Another item each time.
        (Operation::InsertItem { .. } | Operation::RemoveItem { .. }, _) => Ok(()),
        (_, Err(_)) => Ok(()),
        (_, Ok(_)) => Err("it can be done again".to_owned()),
    }
}

/// The diff, applied by another crate, gives the same file.
fn check_diff(name: &str, old: &str, new: &str) -> Result<(), String> {
    let before = Snapshot::memory([(name, old.as_bytes().to_vec())], Arc::new(Store::default()));
    let after = before.with_file(name, new.as_bytes().to_vec());
    let blob = before.blob(before.file(name).unwrap()).unwrap().clone();
    let change = FileChange { path: WorkPath::new(name).unwrap(), before: blob, after: new.to_owned() };
    let mut unified = Vec::new();
    let look = Look { color: false, secrets: true };
    diff::write(&mut unified, &before, &after, &[change], look).unwrap();
    let unified = String::from_utf8(unified).unwrap();
    if old == new {
        return Ok(());
    }
    let patch = diffy::Patch::from_str(&unified).map_err(|error| format!("{error}\n{unified}"))?;
    let applied = diffy::apply(old, &patch).map_err(|error| format!("{error}\n{unified}"))?;
    if applied == new { Ok(()) } else { Err(format!("the diff makes another file\n{unified}")) }
}

/// Make operations until so many are completed.
fn run(samples: &[Sample], wanted: usize, seed: u8) -> Tally {
    assert!(!samples.is_empty());
    let tally = Cell::new(Tally::default());
    for round in 0.. {
        let mut bytes = [seed; 32];
        bytes[..8].copy_from_slice(&u64::to_le_bytes(round));
        let config = Config { cases: 500, failure_persistence: None, ..Config::default() };
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        runner
            .run(&dice(), |dice| {
                let mut so_far = tally.take();
                let outcome = attempt(dice.file.get(samples), &dice, &mut so_far);
                tally.set(so_far);
                outcome.map_err(TestCaseError::fail)
            })
            .unwrap_or_else(|error| panic!("{error}"));
        let so_far = tally.take();
        if so_far.done >= wanted {
            let refused: usize = so_far.refused.values().sum();
            println!("{} operations, {refused} refused: {:?}", so_far.done, so_far.refused);
            return so_far;
        }
        assert!(round < 100 || so_far.done > 10_000, "most are refused: {:?}", so_far.refused);
        tally.set(so_far);
    }
    unreachable!()
}

fn wanted(default: usize) -> usize {
    std::env::var("FOREBAY_OPERATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

fn samples(root: &Path) -> Vec<Sample> {
    let mut samples = Vec::new();
    for path in manifests(root) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        // Large files take their time and show nothing that small ones don't.
        if text.len() <= 16 << 10 {
            samples.extend(Sample::new(&path.strip_prefix(root).unwrap().display().to_string(), text));
        }
    }
    samples
}

#[test]
fn random_operations_on_fixtures_keep_their_promises() {
    let wanted = wanted(20_000);
    let samples = samples(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")));
    assert!(run(&samples, wanted, 1).done >= wanted);
}

#[test]
fn random_operations_on_real_manifests_keep_their_promises() {
    let corpus = corpus_or_skip!();
    let wanted = wanted(8_000);
    assert!(run(&samples(corpus.root()), wanted, 2).done >= wanted);
}

/// Layouts that fixtures may lack.
#[test]
fn random_operations_on_odd_layouts_keep_their_promises() {
    let texts = [
        "a: 1 # one\n# b\nb:\n  - x # x\n  -   y\n  - k: v\n    l: # l\n    - - 1\n      - 2\n\nc: |+\n  t\n\n\n# end",
        "\u{feff}a: 1\r\nb:\r\n- x\r\n- y: 'q'\r\n  z: >-\r\n    folded\r\n",
        "---\n# top\na: &x {b: [1, 2], c: {}}\nd: *x\ne: !t v\n...\n---\n- {a: 1}\n- []\n-\n- \"q\"",
        "{\n  \"a\": 1,\n  \"b\": [\n    \"x\",\n    {\"c\": null}\n  ]\n}\n",
        "? a\n: - b\n  - c\n? |\n  d\n: e\n",
        "--- # top\na: 1\n--- !t\nb: {x: 1}\n--- &r\nc: [1]\n---\n- - - 1\n    # in\n    - 2\n\n  - 3\n",
        "a: 1\rb:\r  - x # c\r  - y: 1\r    z: |\r      t\r",
        "a:\t1\t# tab\nb: \t'x'\t\nc:\n  - d\t\n  - e: 1\t\n",
        "# é\nä: ö # ü\n漢: {字: [\"😀\", '👩‍👩‍👧'] }\nx:\n  - é: 1\n    ç: >\n      ñ\n    # ø\n",
        "a:\n  # between\n\n  # key and value\n  b\nc:\n\n  - # behind a dash\n    d: 1\n  # two\n  -\n\n    e: 2\nf: # here\n  g: &x # there\n    h: 1\n  i: *x\n",
        "a: &a\n  b: &b 1\n  c: *b\nd: &d !!map\n  e: !!str 5\nf:\n  <<: *a\n  b: 2\n  g: [*b, &h {i: *d}]\n",
        "a: \"x\n  y \\\n  z\" # c\nb: 'p\n\n  q'\n? [c, k]\n: {? x : y, z}\nd: [a: 1, {b}, c,]\n",
        "%YAML 1.1\n---\na: 1\n... # end\n# between\n---\nb:\n- 1\n-   - 2\n    - 3\n...\n",
        "a: |2\n    two\n   one\nb: >+\n  keep\n\n\nc:\n  - |-\n    x\n  - >2\n      y\n\n",
        "a:\n - b\n -  - c\n    - d\n -     e: 1\n       f:\n            g: 2\n\n\n\nh:    # far     \n         i: 1    \n",
        "{ a: { b: \"c\" }, d: [ {e: f} ], g: {} }\n",
        "a: |- # why\n  b\nc: >  \n  d\ne: | # {\"$imagepolicy\": \"a:b\"}\n  f\n",
        "a:\n    b:\n        c: 1\n    d: 'x\n      y'\n    e: p\n      q\n    f:\n    g: |\n        text",
        "a:\t1\n\"b\":\t'x' #\tc\n'c d':\t# e\n  e: 1\t\n  f:\t\n",
        "a: 1\r\nb:\n  - x\r\n  - y\nc: |\r\n  t\r\n  u\nd: 1\r\ne: >\n  f\r\n\r\n",
        "a: 1\n...\n\u{feff}---\nb: 2 # c\n",
        "a: x\u{85}  y\nb: \"p\u{2028} q\"\nc: z # \u{2029}d: 1\ne: 2\n",
        "a: 1\na: 2\nb: {c: 1, c: 2}\nd:\n  e: 1\n  \"e\": 2\n",
        "a: one\n  two\n\n  three # c\nb: x\n y\n# d\nc:\n  p\n  q\n",
        "a: {b: 1,\n  c: [1,\n    2\n  ],\n  # in\n  d: 3}\ne: [\n  x, # x\n  y,\n]\nf: {\n}\ng: [\n\n]\nh: {i: [ ], j: { } }\n",
        "# c0\n\n# c1\na: # c2\n  # c3\n  b: # c4\n    - # c5\n      c: 1 # c6\n      # c7\n    # c8\n  # c9\n# c10\nd: 1\n# c11",
        "--- # c\na: 1\n--- # d\n# e\nb: 1\n... # f\n--- |\n  text\n--- {c: 1}\n--- [1]\n---\n",
        "%YAML 1.1\n%TAG ! tag:x,2000:\n---\na: 1\n---\nb: !x y\n",
        "a:\n- b:\n  - c\n  d:\n  - e: 1\n    f:\n    - g\n- h\n-\n- - \n  - b\n",
        "\"a b\": 1\n'c: d': {\"e\": 1}\n\"f\\u0041\": x\n\"\": y\n'it''s': z\n",
        "a : 1\nb   :\n    c : d\ne: {f : g, h: i}\n",
        "{\"a\":1,\"b\":{\"c\":[1,2,{\"d\":null}]},\"e\":\"f\"}",
        "{\"a\":{\"b\":1},\"c\":[]}\n",
        "a: >-\n   x\n    y\n\n   z   \n\n\nb: |1-\n  x\nc: |-\n\n  y\nd: >+\n\ne: |\n\nf: 1\n",
        "a: !!binary |\n  aGVsbG8=\nb: !custom {c: 1}\nd: !!seq\n- 1\ne: !!null\nf: !!map {}\n",
        "a:\n# c\nb: # d\n\nc: ~\nd: \ne:\n\n# f\n",
        "a#b: 1#2 # 3\nu: http://x:80/#f\nw: C:\\x\n-a: -b\n?c: ?d\n:e: :f\n",
        "  a: 1\n  b:\n    - c\n  d:\n      e: 1\n",
        "a: &x\nb: *x\nc: &y # d\n  e: 1\nf: *y\n&k g: 1\n? &l h\n: 2\n",
        "a: &a {x: 1}\nb: &b {y: 2}\nc:\n  <<: [*a, *b]\n  z: 3\nd:\n  \"<<\": *a\n",
        "- a\n\n- b # c\n\n\n# d\n\n- e: 1\n\n  f: 2\n# g\n\n",
        "a: 'x' # y\n\nb: \"\" # z\n\n\n\n",
        "a:\n  - b\n  -   c: 1\n      d: 2\n  - {e: 1}\n  - [f]\n  - |\n    g\n  - 'h\n\n    i'\n",
        "# only\n\n---\n# first\n\na: 1\n\n# last\n---\n# none\n",
        "? a\n? b: 1\n: c\n? - d\n: - e\nf: 1\n",
    ];
    let wide = "wide ".repeat(400).trim().to_owned();
    let wide = format!("a: {wide} # {wide}\nb: [{wide}, \"{wide}\"]\nc:\n  d: {{e: {wide}}} # {wide}\n");
    let samples: Vec<Sample> = texts
        .into_iter()
        .chain([&*wide])
        .filter_map(|text| {
            let odd = Sample::new("odd.yaml", text.to_owned());
            if odd.is_none() {
                println!("{text:?} {:?}", Stream::parse(text).errors);
            }
            odd
        })
        .collect();
    let wanted = wanted(4_000);
    assert!(run(&samples, wanted, 3).done >= wanted);
}
