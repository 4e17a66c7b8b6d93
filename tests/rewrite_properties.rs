//! Random operations on random documents: what a rewrite promises, over the
//! fixtures and, where it is present, the corpus of real repositories.
//!
//! `FOREBAY_OPERATIONS` sets how many operations are tried.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod recordings;

use forebay::yaml::Stream;
use forebay::yaml::edit::verify::{splice, verify};
use forebay::yaml::edit::{Content, Operation, Place, compile};
use forebay::yaml::{NodeKind, NodeRef, Source, pointer_join};
use recordings::{Corpus, manifests};
use similar::TextDiff;
use std::path::Path;
use std::sync::Arc;

/// A small generator of random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

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

fn content(random: &mut Random, depth: usize) -> Content {
    match random.below(if depth == 0 { 5 } else { 7 }) {
        0 => Content::Null,
        1 => Content::Bool(true),
        2 => Content::Int(random.below(2000) as i64 - 1000),
        3 | 4 => Content::str(*random.pick(TEXTS)),
        5 => Content::Seq((0..random.below(3)).map(|_| content(random, depth - 1)).collect()),
        _ => Content::Map(
            (0..random.below(3)).map(|n| (format!("k{n}"), content(random, depth - 1))).collect(),
        ),
    }
}

/// Every pointer of a document and what it leads to, down to a number of nodes.
fn pointers(root: NodeRef<'_>) -> Vec<(String, NodeKind)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), root)];
    while let Some((pointer, node)) = open.pop() {
        if found.len() > 300 {
            break;
        }
        for entry in node.entries() {
            open.push((pointer_join(&pointer, &entry.key), entry.value));
        }
        for (index, item) in node.items().enumerate() {
            open.push((format!("{pointer}/{index}"), item));
        }
        found.push((pointer, node.kind()));
    }
    found
}

fn operation(random: &mut Random, places: &[(String, NodeKind)]) -> Operation {
    let (pointer, kind) = random.pick(places).clone();
    let scalar = loop {
        let value = content(random, 0);
        if !matches!(value, Content::Seq(_) | Content::Map(_)) {
            break value;
        }
    };
    match (kind, random.below(4)) {
        (NodeKind::Map, 0 | 1) => Operation::InsertKey {
            map: pointer,
            key: format!("new-{}", random.pick(TEXTS)),
            value: content(random, 2),
            place: Place::End,
            comment: None,
        },
        (NodeKind::Seq, 0 | 1) => Operation::InsertItem {
            list: pointer,
            before: Some(random.below(4)).filter(|n| *n < 3),
            value: content(random, 2),
        },
        (_, 2) => Operation::RemoveKey { pointer, prune: random.below(2) == 0 },
        (_, 3) if random.below(2) == 0 => Operation::RemoveItem { pointer },
        (_, 3) => Operation::RenameKey { pointer, to: format!("other-{}", random.pick(TEXTS)) },
        (NodeKind::Scalar, _) if random.below(3) == 0 => {
            Operation::Set { pointer: pointer_join(&pointer, "deeper"), value: scalar, comment: None }
        }
        _ => Operation::Set { pointer, value: scalar, comment: None },
    }
}

/// Lines that start somewhere in the edits must be the only ones that differ.
fn check_untouched_bytes(old: &str, new: &str, edits: &[forebay::yaml::edit::TextEdit], what: &str) {
    let (mut at, mut shift) = (0usize, 0i64);
    for edit in edits {
        let (start, end) = (edit.start as usize, edit.end as usize);
        let moved = |offset: usize| (offset as i64 + shift) as usize;
        assert_eq!(&old[at..start], &new[moved(at)..moved(start)], "{what}");
        shift += edit.text.len() as i64 - (end - start) as i64;
        at = end;
    }
    assert_eq!(&old[at..], &new[(at as i64 + shift) as usize..], "{what}");
}

#[derive(Default)]
struct Tally {
    done: usize,
    refused: usize,
}

fn attempt(text: &str, stream: &Arc<Stream>, random: &mut Random, tally: &mut Tally, name: &str) {
    let readable: Vec<u32> = (0..stream.documents.len() as u32)
        .filter(|index| !stream.documents[*index as usize].tokens.is_empty())
        .collect();
    if readable.is_empty() {
        return;
    }
    let document = *random.pick(&readable);
    let source = Arc::new(Source {
        path: name.into(),
        stream: stream.clone(),
        index: document,
        embed: None,
        via: Vec::new(),
    });
    let places = pointers(NodeRef::Source(&source, 0));
    let operation = operation(random, &places);
    let what = || format!("{name} document {document}: {operation:?}");
    let Ok(compiled) = compile(stream, document, &operation) else {
        tally.refused += 1;
        return;
    };
    // The value tree is as declared, comments are accounted for, a second parser
    // agrees: all of that is the proof, and it must not fail.
    let new = verify(stream, &[(document, &compiled)])
        .unwrap_or_else(|why| panic!("{}: {why}\n{:?}", what(), compiled.edits));
    let edits: Vec<_> = compiled.edits.iter().collect();
    assert_eq!(splice(text, &edits), &*new.text);
    check_untouched_bytes(text, &new.text, &compiled.edits, &what());
    // Setting what is set already changes nothing.
    if let Operation::Set { .. } = operation
        && let Ok(again) = compile(&new, document, &operation)
    {
        let twice = verify(&new, &[(document, &again)]).unwrap_or_else(|why| panic!("{}: {why}", what()));
        assert_eq!(twice.text, new.text, "{}", what());
    }
    // The diff, applied by another crate, gives the same file.
    if random.below(8) == 0 && !text.contains('\r') {
        let diff = TextDiff::from_lines(text, &*new.text);
        let unified = diff.unified_diff().context_radius(3).header("a", "b").to_string();
        if !unified.is_empty() {
            let patch =
                diffy::Patch::from_str(&unified).unwrap_or_else(|error| panic!("{}: {error}", what()));
            assert_eq!(diffy::apply(text, &patch).unwrap(), &*new.text, "{}", what());
        }
    }
    tally.done += 1;
}

fn run(root: &Path, wanted: usize, seed: u64) -> Tally {
    let mut random = Random(seed);
    let mut texts = Vec::new();
    for path in manifests(root) {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        // Large files take their time and show nothing that small ones don't.
        if text.len() > 32 << 10 {
            continue;
        }
        let stream = Arc::new(Stream::parse(&text));
        if stream.errors.is_empty() && !stream.documents.is_empty() {
            texts.push((path.strip_prefix(root).unwrap().display().to_string(), text, stream));
        }
    }
    let mut tally = Tally::default();
    for _ in 0..wanted {
        let (name, text, stream) = &texts[random.below(texts.len())];
        attempt(text, stream, &mut random, &mut tally, name);
    }
    println!("{} operations, {} refused", tally.done, tally.refused);
    tally
}

fn wanted(default: usize) -> usize {
    std::env::var("FOREBAY_OPERATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(default)
}

#[test]
fn random_operations_on_fixtures_keep_their_promises() {
    let wanted = wanted(13_000);
    let tally = run(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")), wanted, 1);
    assert!(tally.done * 2 > wanted, "{} done", tally.done);
}

#[test]
fn random_operations_on_real_manifests_keep_their_promises() {
    let Some(corpus) = Corpus::find() else { return };
    let wanted = wanted(16_000);
    let tally = run(corpus.root(), wanted, 2);
    assert!(tally.done * 2 > wanted, "{} done", tally.done);
}

/// Layouts that fixtures may lack.
#[test]
fn random_operations_on_odd_layouts_keep_their_promises() {
    let mut random = Random(3);
    let mut tally = Tally::default();
    for text in [
        "a: 1 # one\n# b\nb:\n  - x # x\n  -   y\n  - k: v\n    l: # l\n    - - 1\n      - 2\n\nc: |+\n  t\n\n\n# end",
        "\u{feff}a: 1\r\nb:\r\n- x\r\n- y: 'q'\r\n  z: >-\r\n    folded\r\n",
        "---\n# top\na: &x {b: [1, 2], c: {}}\nd: *x\ne: !t v\n...\n---\n- {a: 1}\n- []\n-\n- \"q\"",
        "{\n  \"a\": 1,\n  \"b\": [\n    \"x\",\n    {\"c\": null}\n  ]\n}\n",
        "? a\n: - b\n  - c\n? |\n  d\n: e\n",
        "a:\n    b:\n        c: 1\n    d: 'x\n      y'\n    e: p\n      q\n    f:\n    g: |\n        text",
    ] {
        let stream = Arc::new(Stream::parse(text));
        assert!(stream.errors.is_empty(), "{text:?} {:?}", stream.errors);
        for _ in 0..wanted(1_000) / 4 {
            attempt(text, &stream, &mut random, &mut tally, text);
        }
    }
    assert!(tally.done > 300, "{} done", tally.done);
}
