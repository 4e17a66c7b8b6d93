//! Values against two independent parsers, yaml-rust2 and serde_yaml, on every
//! fixture and, where it is present, on every file of the corpus of real
//! repositories.

use crate::support::corpus::manifests;
use crate::support::skip::corpus_or_skip;
use forebay::internals::lang::yaml::go_compat::{DocumentReader, decode};
use forebay::internals::lang::yaml::tape::{Document, TokenKind};
use forebay::internals::lang::yaml::{
    Dialect, Node, NodeRef, Scalar, ScalarStyle, Stream, SyntaxErrorKind, parse_nodes,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use yaml_rust2::{Yaml, YamlLoader};

/// A value as all three parsers can say it. Maps keep their order; merge keys
/// are keys.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

/// Our value, with what a difference is judged by.
enum Ours {
    /// Text, style and value of a scalar, and whether a tag is written.
    Scalar(String, ScalarStyle, Value, bool),
    List(Vec<Ours>),
    Map(Vec<(Ours, Ours)>),
}

fn ours(source: &Arc<forebay::internals::lang::yaml::Source>, document: &Document, at: u32) -> Ours {
    let token = document.tokens[at as usize];
    let children = || {
        let mut children = Vec::new();
        let mut child = at + 1;
        while child < token.next {
            children.push(child);
            child = document.tokens[child as usize].next;
        }
        children
    };
    match token.kind {
        TokenKind::Alias => ours(source, document, token.extra),
        TokenKind::Sequence => {
            Ours::List(children().into_iter().map(|child| ours(source, document, child)).collect())
        }
        TokenKind::Mapping => Ours::Map(
            children()
                .chunks(2)
                .map(|pair| (ours(source, document, pair[0]), ours(source, document, pair[1])))
                .collect(),
        ),
        TokenKind::Scalar(style) => {
            let node = NodeRef::Source(source, at);
            let value = match node.scalar(Dialect::GoYamlV3) {
                Scalar::Null => Value::Null,
                Scalar::Bool(value) => Value::Bool(value),
                Scalar::Int(value) => Value::Number(value as f64),
                Scalar::Uint(value) => Value::Number(value as f64),
                Scalar::Float(value) => Value::Number(value),
                Scalar::Timestamp(text) | Scalar::Str(text) => Value::Text(text.into_owned()),
            };
            let text = node.text().unwrap().into_owned();
            Ours::Scalar(text, style, value, document.tag(at).is_some())
        }
    }
}

fn yaml_rust2(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Real(text) => Value::Number(match text.trim_start_matches(['+', '-']) {
            ".inf" | ".Inf" | ".INF" if text.starts_with('-') => f64::NEG_INFINITY,
            ".inf" | ".Inf" | ".INF" => f64::INFINITY,
            ".nan" | ".NaN" | ".NAN" => f64::NAN,
            _ => text.parse().unwrap(),
        }),
        Yaml::Integer(value) => Value::Number(*value as f64),
        Yaml::String(text) => Value::Text(text.clone()),
        Yaml::Boolean(value) => Value::Bool(*value),
        Yaml::Array(items) => Value::List(items.iter().map(yaml_rust2).collect()),
        Yaml::Hash(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (yaml_rust2(key), yaml_rust2(value))).collect())
        }
        Yaml::Alias(_) | Yaml::Null | Yaml::BadValue => Value::Null,
    }
}

fn serde_yaml(yaml: &serde_yaml::Value) -> Value {
    match yaml {
        serde_yaml::Value::Null => Value::Null,
        serde_yaml::Value::Bool(value) => Value::Bool(*value),
        serde_yaml::Value::Number(number) => Value::Number(number.as_f64().unwrap()),
        serde_yaml::Value::String(text) => Value::Text(text.clone()),
        serde_yaml::Value::Sequence(items) => Value::List(items.iter().map(serde_yaml).collect()),
        serde_yaml::Value::Mapping(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (serde_yaml(key), serde_yaml(value))).collect())
        }
        serde_yaml::Value::Tagged(tagged) => serde_yaml(&tagged.value),
    }
}

/// Why a scalar may differ from what a parser of YAML 1.2's core schema says.
fn known_difference(text: &str, style: ScalarStyle, tagged: bool, theirs: &Value) -> Option<&'static str> {
    let digits = text.trim_start_matches(['+', '-']);
    Some(match style {
        ScalarStyle::Literal | ScalarStyle::Folded
            if *theirs == Value::Text(format!("{text}\n")) && !text.ends_with('\n') =>
        {
            "a block scalar that ends with the file gains no line break in Go"
        }
        _ if tagged => "tags other than !!str resolve differently",
        ScalarStyle::Plain if digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_digit()) => {
            "a leading zero is octal in Go"
        }
        ScalarStyle::Plain if digits.starts_with(|c: char| c.is_ascii_digit()) && digits.contains('_') => {
            "underscores are left out of numbers in Go"
        }
        ScalarStyle::Plain if digits.starts_with("0b") => "0b is binary in Go",
        ScalarStyle::Plain if matches!(text, "Null" | "NULL") => "spellings of null",
        ScalarStyle::Plain if text.parse::<f64>().is_ok_and(f64::is_infinite) => "numbers out of range",
        _ => return None,
    })
}

/// Where a comparison of two trees failed, and the known differences that it
/// passed.
#[derive(Default)]
struct Comparison {
    known: BTreeMap<&'static str, usize>,
    scalars: usize,
    failures: Vec<String>,
}

impl Comparison {
    fn compare(&mut self, place: &str, ours: &Ours, theirs: &Value) {
        match (ours, theirs) {
            (Ours::List(ours), Value::List(theirs)) if ours.len() == theirs.len() => {
                for (index, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                    self.compare(&format!("{place}/{index}"), ours, theirs);
                }
            }
            (Ours::Map(ours), Value::Map(theirs)) if ours.len() == theirs.len() => {
                for ((key, value), (their_key, their_value)) in ours.iter().zip(theirs) {
                    let place = match key {
                        Ours::Scalar(text, ..) => format!("{place}/{text}"),
                        _ => format!("{place}/?"),
                    };
                    self.compare(&place, key, their_key);
                    self.compare(&place, value, their_value);
                }
            }
            (Ours::Scalar(text, style, value, tagged), theirs) => {
                self.scalars += 1;
                if value != theirs && !(is_nan(value) && is_nan(theirs)) {
                    match known_difference(text, *style, *tagged, theirs) {
                        Some(why) => *self.known.entry(why).or_default() += 1,
                        None => {
                            self.failures.push(format!("{place}: {text:?} is {value:?}, theirs {theirs:?}"));
                        }
                    }
                }
            }
            (_, theirs) => self.failures.push(format!("{place}: another shape: {theirs:?}")),
        }
    }
}

fn is_nan(value: &Value) -> bool {
    matches!(value, Value::Number(number) if number.is_nan())
}

/// What became of the files.
#[derive(Default)]
struct Tally {
    compared: usize,
    /// Files that are not compared, by reason.
    left_out: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn leave_out(&mut self, why: &'static str) {
        *self.left_out.entry(why).or_default() += 1;
    }
}

/// The trees of a text's documents, or nothing when the text has none for
/// certain.
fn our_documents(text: &str) -> Vec<Ours> {
    parse_nodes("oracle.yaml", text)
        .iter()
        .map(|node| match node {
            Node::Source(source, at) => ours(source, source.document(), *at),
            Node::Built(_) => unreachable!(),
        })
        .collect()
}

/// Whether any map of the text has a key twice, or a key that no reader takes.
fn has_refused_keys(text: &str) -> bool {
    parse_nodes("oracle.yaml", text).iter().any(|node| match node {
        Node::Source(source, _) => decode(source, DocumentReader::V3).is_err(),
        Node::Built(_) => false,
    })
}

/// Both parsers recurse where ours doesn't: their input is bounded first.
const DEPTH: usize = 100;

fn depth(document: &Document) -> usize {
    let mut open: Vec<u32> = Vec::new();
    let mut deepest = 0;
    for (index, token) in document.tokens.iter().enumerate() {
        while open.last().is_some_and(|end| *end <= index as u32) {
            open.pop();
        }
        if !matches!(token.kind, TokenKind::Scalar(_) | TokenKind::Alias) {
            open.push(token.next);
            deepest = deepest.max(open.len());
        }
    }
    deepest
}

/// Compare one text with both oracles.
fn check(name: &str, text: &str, all: &mut Comparison, tally: &mut Tally) {
    let stream = Stream::parse(text);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let expands = |document: &Document| document.tokens.iter().any(|token| token.kind == TokenKind::Alias);
    if stream.documents.iter().any(|document| depth(document) > DEPTH) {
        return tally.leave_out("too deep for the oracles");
    }
    if stream.documents.iter().any(|document| expands(document) && document.tokens.len() > 100_000) {
        return tally.leave_out("too many aliases for the oracles");
    }
    if let Some(error) = stream.errors.first() {
        if error.kind == SyntaxErrorKind::Malformed {
            let oracle = yaml_rust2_events(text);
            assert!(oracle.is_err(), "{name}: refused here, read by yaml-rust2: {error:?}");
        }
        return tally.leave_out("refused by us, and where no parser reads it by yaml-rust2 too");
    }
    let ours = our_documents(text);
    match YamlLoader::load_from_str(text) {
        Ok(theirs) => {
            assert_eq!(ours.len(), theirs.len(), "{name}: documents");
            for (index, (ours, theirs)) in ours.iter().zip(&theirs).enumerate() {
                all.compare(&format!("yaml-rust2 {name} document {index}"), ours, &yaml_rust2(theirs));
            }
        }
        Err(error) => {
            if has_refused_keys(text) {
                return tally.leave_out("keys twice");
            }
            // serde_yaml has to read it then, below: `[a: {b: c}]`.
            println!("{name}: refused by yaml-rust2: {error}");
            tally.leave_out("for yaml-rust2: a pair in a flow sequence");
        }
    }
    if stream.documents.iter().any(|document| redefines_anchors(&stream.text, document)) {
        tally.compared += 1;
        return tally.leave_out("for serde_yaml: an anchor defined twice");
    }
    for (index, document) in serde_yaml::Deserializer::from_str(text).enumerate() {
        match <serde_yaml::Value as serde::Deserialize>::deserialize(document) {
            Ok(theirs) => match ours.get(index) {
                Some(ours) => {
                    all.compare(&format!("serde_yaml {name} document {index}"), ours, &serde_yaml(&theirs));
                }
                None => assert_eq!(theirs, serde_yaml::Value::Null, "{name}: documents"),
            },
            Err(error) => panic!("{name}: read here, refused by serde_yaml: {error}"),
        }
    }
    tally.compared += 1;
}

/// serde_yaml numbers anchors by how many names there are: where a name comes
/// twice, two anchors share a number and aliases of the one get the other.
fn redefines_anchors(text: &str, document: &Document) -> bool {
    let mut names: Vec<&str> = document
        .anchors
        .iter()
        .filter_map(|anchor| text.get(anchor.start as usize..anchor.end as usize))
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    names.len() < all
}

fn yaml_rust2_events(text: &str) -> Result<(), yaml_rust2::ScanError> {
    struct Ignore;
    impl yaml_rust2::parser::EventReceiver for Ignore {
        fn on_event(&mut self, _: yaml_rust2::Event) {}
    }
    yaml_rust2::parser::Parser::new_from_str(text).load(&mut Ignore, true)
}

fn check_directory(root: &Path) -> Tally {
    let mut all = Comparison::default();
    let mut tally = Tally::default();
    for path in manifests(root) {
        let name = path.strip_prefix(root).unwrap().display().to_string();
        match std::fs::read_to_string(&path) {
            Ok(text) => check(&name, &text, &mut all, &mut tally),
            Err(_) => tally.leave_out("no UTF-8"),
        }
    }
    println!("{} files compared, {} scalars; left out: {:?}", tally.compared, all.scalars, tally.left_out);
    println!("known differences: {:?}", all.known);
    assert!(all.failures.is_empty(), "{}", all.failures.join("\n"));
    tally
}

#[test]
fn fixtures_have_the_values_of_both_oracles() {
    let tally = check_directory(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")));
    assert!(tally.compared > 0);
}

#[test]
fn real_manifests_have_the_values_of_both_oracles() {
    let corpus = corpus_or_skip!();
    let tally = check_directory(corpus.root());
    assert!(tally.compared > 2000, "{} files compared", tally.compared);
}

/// Styles and corners that fixtures and real manifests may lack.
#[test]
fn corners_have_the_values_of_both_oracles() {
    let mut all = Comparison::default();
    let mut tally = Tally::default();
    for text in [
        "a: plain\nb: 'single ''quoted'''\nc: \"double \\\"quoted\\\" \\u00e9\\n\"\n",
        "a: two\n  lines\n\n  and three\nb: 'two\n  lines\n\n  more '\nc: \"two  \\\n   lines\n\n\n  more\"\n",
        "a: |\n  one\n\n   two\n\nb: >-\n  one\n  two\n\n   three\n  four\nc: |+\n  keep\n\nd: |2\n   x\n",
        "a: [1, -2, 3.5, .5, 1e3, 0x1f, 0o17, ~, null, true, False, yes, 1:30, 2024-01-01, .inf, -.inf, .nan]\n",
        "? a\n: b\n? |\n  block\n: - x\n  - y\n",
        "- - 1\n  - 2\n- a: 1\n  b:\n  - c\n-\n- {}\n- []\n- {a, b: , ? c : d}\n- [a: 1, b]\n",
        "a: &x {k: v}\nb: *x\nc: &y [*x]\nd: *y\n&z e: *z\n",
        "--- a\n---\n- b\n--- {c: d}\n...\n---\n# empty\n",
        "\u{feff}a: 😀\nü: 'é'\n",
        "a: 1\r\nb: |\r\n  x\r\n  y\r\nc: 'x\r\n  y'\r\n",
        "a:   # comment\n  b: 1 # more\n# between\n  c: x#y\n",
        "a: !!str 1\nb: !foo x\nc: !<tag:yaml.org,2002:str> 2\n",
        "08: 1\n1_000: 2\n0777: 3\n0b11: 4\na: 1e999\n",
        "a: |\n  no line break at the end",
        "",
        "# nothing\n",
    ] {
        check(text, text, &mut all, &mut tally);
    }
    assert!(all.failures.is_empty(), "{}", all.failures.join("\n"));
    assert_eq!(tally.left_out, BTreeMap::new());
}
