//! What go-yaml does with a document once its text is read: which keys collide,
//! what a merge key merges, when aliases are too many, and how the readers of
//! the API machinery and of kustomize cut a text into documents.
//!
//! Mirrors `decode.go` of go.yaml.in/yaml v2 and v3, `yaml.go` of
//! sigs.k8s.io/yaml (`YAMLToJSON`, `YAMLToJSONStrict`),
//! `k8s.io/apimachinery/pkg/util/yaml/decoder.go` (`YAMLReader`) and
//! `sigs.k8s.io/kustomize/kyaml/kio/byteio_reader.go` (`splitDocuments`).

use super::node::{Built, Entry, Node, NodeRef, Origin, Source, Value};
use super::resolve::{
    Dialect, Scalar, ScalarStyle, json_key, json_value, resolve_plain, resolve_tagged, timestamp_rfc3339,
};
use super::tape::{Document, Token, TokenKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::sync::Arc;

/// Who reads a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentReader {
    /// sigs.k8s.io/yaml `Unmarshal`: kubectl, Flux's reading of text after
    /// substitution, kustomization files. Of equal keys the last wins.
    V2,
    /// sigs.k8s.io/yaml `UnmarshalStrict`: equal keys are refused.
    V2Strict,
    /// kyaml: every resource of a kustomize build. Equal keys are refused.
    V3,
}

impl DocumentReader {
    fn dialect(self) -> Dialect {
        match self {
            DocumentReader::V2 | DocumentReader::V2Strict => Dialect::GoYamlV2,
            DocumentReader::V3 => Dialect::GoYamlV3,
        }
    }
}

/// What a reader refuses in a document whose syntax is fine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderRefusal {
    /// In Go's words, as far as they make sense to a person.
    pub message: String,
    /// Byte offset in the text of the stream.
    pub offset: u32,
}

/// Read a document as `reader` does into JSON's types: scalars resolved, keys
/// strings, aliases followed, merge keys merged. An empty document is null.
///
/// In v3 a key that is no string is refused below the root, where it makes a
/// kustomize build fail; at the root its text is the key.
pub fn decode(source: &Arc<Source>, reader: DocumentReader) -> Result<Node, ReaderRefusal> {
    if source.document().tokens.is_empty() {
        return Ok(Node::scalar(Value::Null, None));
    }
    let mut decoder = Decoder { source, reader, aliases: FxHashMap::default(), kept: None, depth: 0 };
    decoder.node(0, true)
}

/// Whether the value of a key is asked for, by the maps around it, the root being one.
pub(crate) type Kept = fn(usize, &str) -> bool;

/// As [`decode`] for [`DocumentReader::V2`], for who reads little of a document: values of keys
/// that are not asked for are null. What they hold is refused all the same.
pub(crate) fn decode_kept(source: &Arc<Source>, kept: Kept) -> Result<Node, ReaderRefusal> {
    let document = source.document();
    let is_plain = document.anchors.is_empty() && document.tags.is_empty() && !document.merges;
    if document.tokens.is_empty() || !is_plain {
        return decode(source, DocumentReader::V2);
    }
    let reader = DocumentReader::V2;
    let mut decoder = Decoder { source, reader, aliases: FxHashMap::default(), kept: Some(kept), depth: 0 };
    decoder.node(0, true)
}

struct Decoder<'s> {
    source: &'s Arc<Source>,
    reader: DocumentReader,
    /// Decoded targets of aliases.
    aliases: FxHashMap<u32, Node>,
    /// What is made of values, where not all of it.
    kept: Option<Kept>,
    /// Maps around.
    depth: usize,
}

/// A map on its way: entries in order, and where those of a key stand. Keys are
/// told apart as Go's map does it, by type and text: `1` and `1.0` are two.
#[derive(Default)]
struct Pairs {
    entries: Vec<(Key, Entry)>,
    /// Of a map with many keys; few are gone through.
    places: FxHashMap<Key, usize>,
}

/// The type and the text of a key.
type Key = (&'static str, Arc<str>);

impl Pairs {
    /// Keys that are gone through.
    const FEW: usize = 16;

    fn place(&self, of_type: &'static str, text: &str) -> Option<usize> {
        if self.entries.len() <= Pairs::FEW {
            let is_it = |(known, _): &(Key, Entry)| known.0 == of_type && *known.1 == *text;
            return self.entries.iter().position(is_it);
        }
        self.places.get(&(of_type, text.into())).copied()
    }

    fn push(&mut self, key: Key, entry: Entry) {
        self.entries.push((key, entry));
        let count = self.entries.len();
        if count > Pairs::FEW {
            // All that were gone through until now, once.
            let known = if count == Pairs::FEW + 1 { 0 } else { count - 1 };
            let places = self.entries[known..].iter().zip(known..).map(|((key, _), at)| (key.clone(), at));
            self.places.extend(places);
        }
    }

    /// By their texts: keys that Go's map tells apart may be one as strings, `1` and "1".
    fn into_entries(self) -> Vec<Entry> {
        if self.entries.iter().all(|((of_type, _), _)| *of_type == "string") {
            return self.entries.into_iter().map(|(_, entry)| entry).collect();
        }
        let mut entries: Vec<Entry> = Vec::with_capacity(self.entries.len());
        let mut places: FxHashMap<Arc<str>, usize> = FxHashMap::default();
        for ((_, text), entry) in self.entries {
            match places.get(&text) {
                Some(place) => entries[*place] = entry,
                None => {
                    places.insert(text, entries.len());
                    entries.push(entry);
                }
            }
        }
        entries
    }
}

impl Decoder<'_> {
    fn document(&self) -> &Document {
        self.source.document()
    }

    fn token(&self, at: u32) -> &Token {
        &self.source.document().tokens[at as usize]
    }

    fn refuse<T>(&self, at: u32, message: impl Into<String>) -> Result<T, ReaderRefusal> {
        Err(ReaderRefusal { message: message.into(), offset: self.token(at).start })
    }

    fn node(&mut self, at: u32, root: bool) -> Result<Node, ReaderRefusal> {
        let token = *self.token(at);
        match token.kind {
            TokenKind::Alias => {
                let target = token.extra;
                if target <= at && at < self.token(target).next {
                    return self.refuse(at, "anchor value contains itself");
                }
                if let Some(known) = self.aliases.get(&target) {
                    return Ok(known.clone());
                }
                let node = self.node(target, root)?;
                self.aliases.insert(target, node.clone());
                Ok(node)
            }
            TokenKind::Scalar(_) => {
                let value = self.value(at)?;
                Ok(self.built(at, value))
            }
            TokenKind::Sequence => {
                let mut items = Vec::new();
                let mut child = at + 1;
                while child < token.next {
                    items.push(self.node(child, false)?);
                    child = self.token(child).next;
                }
                Ok(self.built(at, Value::Seq(items)))
            }
            TokenKind::Mapping => {
                let mut pairs = Pairs::default();
                self.depth += 1;
                self.mapping(at, root, false, &mut pairs)?;
                self.depth -= 1;
                Ok(self.built(at, Value::Map(pairs.into_entries().into())))
            }
        }
    }

    /// Refuse what [`Decoder::node`] refuses, of a document without aliases, merge keys and tags,
    /// and make nothing of it.
    fn check(&self, at: u32) -> Result<(), ReaderRefusal> {
        let token = self.token(at);
        let is_map = match token.kind {
            TokenKind::Scalar(ScalarStyle::Plain) => {
                return match self.plain(at) {
                    Scalar::Float(_) | Scalar::Timestamp(_) => self.value(at).map(drop),
                    _ => Ok(()),
                };
            }
            TokenKind::Scalar(_) | TokenKind::Alias => return Ok(()),
            TokenKind::Sequence => false,
            TokenKind::Mapping => true,
        };
        let mut child = at + 1;
        while child < token.next {
            if is_map {
                self.check_key(child)?;
                child = self.token(child).next;
            }
            self.check(child)?;
            child = self.token(child).next;
        }
        Ok(())
    }

    fn check_key(&self, at: u32) -> Result<(), ReaderRefusal> {
        match self.token(at).kind {
            TokenKind::Scalar(ScalarStyle::Plain) => match json_key(&self.plain(at), self.reader.dialect()) {
                Ok(_) => Ok(()),
                Err(message) => self.refuse(at, message),
            },
            TokenKind::Scalar(_) => Ok(()),
            _ => self.refuse(at, "invalid map key"),
        }
    }

    /// A plain scalar without a tag.
    fn plain(&self, at: u32) -> Scalar<'_> {
        let text = NodeRef::Source(self.source, at).text().unwrap_or_default();
        resolve_plain(text, self.reader.dialect())
    }

    /// What a scalar is in JSON.
    fn value(&self, at: u32) -> Result<Value, ReaderRefusal> {
        Ok(match self.scalar(at)? {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Int(value) => Value::Int(value),
            Scalar::Uint(value) => Value::Uint(value),
            Scalar::Float(value) if value.is_finite() => Value::Float(value),
            Scalar::Float(value) => {
                let message = json_value(&Scalar::Float(value)).err().unwrap_or_default();
                return self.refuse(at, message);
            }
            Scalar::Timestamp(text) => match timestamp_rfc3339(&text) {
                Some(text) => Value::Str(text.into()),
                None => return self.refuse(at, "timezone hour outside of range [0,23]"),
            },
            Scalar::Str(text) => Value::Str(text.as_ref().into()),
        })
    }

    fn built(&self, at: u32, value: Value) -> Node {
        Node::Built(Arc::new(Built { value, origin: Some(Origin::Token(self.source.clone(), at)) }))
    }

    fn scalar(&self, at: u32) -> Result<Scalar<'static>, ReaderRefusal> {
        let node = NodeRef::Source(self.source, at);
        let text = node.text().unwrap_or_default();
        let tag = self.document().tag(at).map(|tag| &*tag.name);
        match resolve_tagged(text, node.style(), tag, self.reader.dialect()) {
            Ok(scalar) => Ok(scalar.into_owned()),
            Err(message) => self.refuse(at, message),
        }
    }

    /// The keys and values of a mapping: (key, value) tokens.
    fn pairs(&self, at: u32) -> Vec<(u32, u32)> {
        let end = self.token(at).next;
        let mut pairs = Vec::new();
        let mut key = at + 1;
        while key < end {
            let value = self.token(key).next;
            pairs.push((key, value));
            key = self.token(value).next;
        }
        pairs
    }

    /// Decode a mapping into `out`. `merged`: through a merge key.
    fn mapping(&mut self, at: u32, root: bool, merged: bool, out: &mut Pairs) -> Result<(), ReaderRefusal> {
        let pairs = self.pairs(at);
        if self.reader == DocumentReader::V3 {
            self.refuse_duplicates(&pairs)?;
        }
        let mut merge = None;
        for (key, value) in pairs {
            if self.is_merge(key) {
                match self.reader {
                    DocumentReader::V3 => merge = Some(value),
                    DocumentReader::V2 | DocumentReader::V2Strict => self.merge(value, out)?,
                }
                continue;
            }
            let target = self.follow(key)?;
            if !matches!(self.token(target).kind, TokenKind::Scalar(_)) {
                return self.refuse(key, "invalid map key");
            }
            let scalar = self.scalar(target)?;
            let text = match json_key(&scalar, self.reader.dialect()) {
                Ok(_) if !root && self.reader == DocumentReader::V3 && !self.tagged_as_string(target) => {
                    return self.refuse(key, "a map with a key of another tag than !!str is no JSON object");
                }
                Ok(text) => text.into_owned(),
                Err(_) if root && self.reader == DocumentReader::V3 => {
                    NodeRef::Source(self.source, target).text().unwrap_or_default().into_owned()
                }
                Err(message) => return self.refuse(key, message),
            };
            let text: Arc<str> = text.into();
            let value = match self.kept {
                Some(kept) if !kept(self.depth, &text) => {
                    self.check(value)?;
                    Node::scalar(Value::Null, None)
                }
                _ => self.node(value, false)?,
            };
            let entry = Entry { key: self.built(key, Value::Str(text.clone())), value };
            let of_type = scalar.type_name();
            // What is not a number equals nothing, itself neither.
            let is_nan = matches!(scalar, Scalar::Float(value) if value.is_nan());
            match if is_nan { None } else { out.place(of_type, &text) } {
                None => out.push((of_type, text), entry),
                Some(_) if self.reader == DocumentReader::V2Strict => {
                    return self.refuse(key, format!("key {:?} already set in map", &*text));
                }
                // In v3 what is there stays against what is merged; in v2 the last
                // wins, merged or not.
                Some(_) if self.reader == DocumentReader::V3 && merged => {}
                Some(place) => out.entries[place].1 = entry,
            }
        }
        match merge {
            Some(value) => self.merge(value, out),
            None => Ok(()),
        }
    }

    /// v3 makes a map of strings only where every key's tag says so (`isStringMap`).
    fn tagged_as_string(&self, at: u32) -> bool {
        let tag = self.document().tag(at).map(|tag| &*tag.name);
        matches!(tag, None | Some("!" | "tag:yaml.org,2002:str"))
    }

    fn follow(&self, at: u32) -> Result<u32, ReaderRefusal> {
        let token = self.token(at);
        match token.kind {
            TokenKind::Alias if token.extra <= at && at < self.token(token.extra).next => {
                self.refuse(at, "anchor value contains itself")
            }
            TokenKind::Alias => Ok(token.extra),
            _ => Ok(at),
        }
    }

    /// v3 compares kind and text of keys, so that `1` and `0x1` pass here.
    fn refuse_duplicates(&self, pairs: &[(u32, u32)]) -> Result<(), ReaderRefusal> {
        let key_of = |at: u32| {
            let token = self.token(at);
            let text = match token.kind {
                TokenKind::Scalar(_) => NodeRef::Source(self.source, at).text().unwrap_or_default(),
                // An alias is compared by its name, a collection as such.
                TokenKind::Alias => {
                    Cow::Borrowed(&self.source.stream.text[token.start as usize..token.end as usize])
                }
                _ => Cow::Borrowed(""),
            };
            (std::mem::discriminant(&token.kind), text)
        };
        let keys: Vec<_> = pairs.iter().map(|(key, _)| key_of(*key)).collect();
        let mut seen = FxHashSet::default();
        let again = match keys.len() {
            ..=Pairs::FEW => (1..keys.len()).find(|at| keys[..*at].contains(&keys[*at])),
            _ => keys.iter().position(|key| !seen.insert(key)),
        };
        match again {
            Some(at) => self.refuse(pairs[at].0, format!("mapping key {:?} already defined", keys[at].1)),
            None => Ok(()),
        }
    }

    fn is_merge(&self, at: u32) -> bool {
        let node = NodeRef::Source(self.source, at);
        if !matches!(self.token(at).kind, TokenKind::Scalar(_)) || node.text().as_deref() != Some("<<") {
            return false;
        }
        match self.document().tag(at).map(|tag| &*tag.name) {
            Some("tag:yaml.org,2002:merge") => true,
            Some("!") | None => node.style() == ScalarStyle::Plain,
            Some(_) => false,
        }
    }

    /// Merge a map or a list of maps. v2 steps backwards through the list and
    /// overwrites, v3 forwards and keeps: either way the first map wins.
    fn merge(&mut self, value: u32, out: &mut Pairs) -> Result<(), ReaderRefusal> {
        const WANTED: &str = "map merge requires map or sequence of maps as the value";
        let mut maps = Vec::new();
        match self.token(value).kind {
            TokenKind::Sequence => {
                let end = self.token(value).next;
                let mut item = value + 1;
                while item < end {
                    maps.push(item);
                    item = self.token(item).next;
                }
            }
            _ => maps.push(value),
        }
        if self.reader != DocumentReader::V3 {
            maps.reverse();
        }
        for map in maps {
            let target = self.follow(map)?;
            if self.token(target).kind != TokenKind::Mapping {
                return self.refuse(map, WANTED);
            }
            self.mapping(target, false, true, out)?;
        }
        Ok(())
    }
}

/// Nodes below which go-yaml doesn't look at aliases.
const ALIAS_FREE: (u64, u64) = (100, 1000);

/// The first alias of a document that go-yaml refuses for what aliases add to
/// it (`decoder.unmarshal`, `allowedAliasRatio`): the message and its offset.
///
/// Decoding is counted, not done: the ratio bounds the count by ten times the
/// document or four million.
pub(super) fn excessive_alias(document: &Document) -> Option<(&'static str, u32)> {
    if !document.anchors.iter().any(|anchor| anchor.used) {
        return None;
    }
    let tokens = &document.tokens;
    let (mut decoded, mut aliased) = (0u64, 0u64);
    // What is being decoded: (next token, end of the subtree, inside an alias).
    let mut stack: Vec<(u32, u32)> = vec![(0, tokens.len() as u32)];
    let mut depth = 0u64;
    let mut blame = None;
    // The document itself counts as one.
    decoded += 1;
    while let Some((at, end)) = stack.last_mut() {
        if *at >= *end {
            stack.pop();
            depth = depth.saturating_sub(1);
            continue;
        }
        let index = *at;
        *at += 1;
        let token = &tokens[index as usize];
        decoded += 1;
        if depth > 0 {
            aliased += 1;
        }
        let (free, least) = ALIAS_FREE;
        if aliased > free && decoded > least && aliased as f64 / decoded as f64 > allowed_ratio(decoded) {
            return Some(("document contains excessive aliasing", blame.unwrap_or(token.start)));
        }
        if token.kind == TokenKind::Alias {
            let target = token.extra;
            // Go marks the alias that it is following; one that is met again below
            // itself never ends.
            if target <= index && index < tokens[target as usize].next {
                return Some(("anchor value contains itself", token.start));
            }
            if depth == 0 {
                blame = Some(token.start);
            }
            stack.push((target, tokens[target as usize].next));
            depth += 1;
        }
    }
    None
}

/// The first alias that nests a document more deeply than what is written may be: what an
/// anchor holds stands below its alias, so a chain of them is as deep as it is long.
pub(super) fn deep_alias(document: &Document) -> Option<(&'static str, u32)> {
    if !document.anchors.iter().any(|anchor| anchor.used) {
        return None;
    }
    let tokens = &document.tokens;
    // Levels below each token, as far as they are known.
    let mut heights = vec![0_usize; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        while let Some(closed) = open.pop_if(|top| tokens[*top].next as usize <= at) {
            if let Some(around) = open.last() {
                heights[*around] = heights[*around].max(heights[closed] + 1);
            }
        }
        if token.kind == TokenKind::Alias {
            heights[at] = heights[token.extra as usize];
        }
        if let Some(around) = open.last() {
            heights[*around] = heights[*around].max(heights[at] + 1);
        }
        if open.len() + heights[at] > super::emit::DEPTH_LIMIT {
            return Some((super::scan::TOO_DEEP, token.start));
        }
        if matches!(token.kind, TokenKind::Mapping | TokenKind::Sequence) {
            open.push(at);
        }
    }
    None
}

/// Share of nodes that may come from aliases: 99 % up to 400,000 nodes, falling
/// to 10 % at four million.
fn allowed_ratio(decoded: u64) -> f64 {
    const LOW: u64 = 400_000;
    const HIGH: u64 = 4_000_000;
    match decoded {
        0..=LOW => 0.99,
        HIGH.. => 0.10,
        _ => 0.99 - 0.89 * ((decoded - LOW) as f64 / (HIGH - LOW) as f64),
    }
}

/// The documents that the API machinery's reader cuts a text into, or the
/// separator that it refuses. Lines that start with `---` separate; behind it
/// only blanks and a comment may stand. One that nothing stands before is a
/// part of its document. Every line ends with `\n` afterwards, the last one too,
/// so that a block scalar there gains a line break.
pub fn apimachinery_documents(text: &str) -> Result<Vec<String>, ReaderRefusal> {
    let mut documents = Vec::new();
    let mut current = String::new();
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        if let Some(rest) = content.strip_prefix("---") {
            check_separator(rest, offset)?;
        }
        offset += line.len();
        if content.starts_with("---") && !current.is_empty() {
            documents.push(std::mem::take(&mut current));
        } else {
            current.push_str(content);
            current.push('\n');
        }
    }
    if !current.is_empty() {
        documents.push(current);
    }
    Ok(documents)
}

/// The documents that kustomize cuts a text into, or the separator that it
/// refuses. A `---` at the very start is part of the first document.
pub fn kustomize_documents(text: &str) -> Result<Vec<String>, ReaderRefusal> {
    let text = text.replace("\r\n", "\n");
    let mut documents = Vec::new();
    let mut start = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find("\n---") {
        let at = from + found;
        let Some(length) = text[at + 1..].find('\n') else { break };
        let line = &text[at + 1..at + 1 + length];
        check_separator(&line[3..], at + 1)?;
        documents.push(format!("{}\n", &text[start..at]));
        start = at + 1 + length + 1;
        // The break before the next separator must be its own.
        from = start;
    }
    if !text.is_empty() {
        documents.push(text[start..].to_owned());
    }
    Ok(documents)
}

fn check_separator(rest: &str, offset: usize) -> Result<(), ReaderRefusal> {
    let rest = rest.trim();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(());
    }
    Err(ReaderRefusal { message: format!("invalid document separator: --- {rest}"), offset: offset as u32 })
}

#[cfg(test)]
mod tests {
    use super::super::{Dialect, NodeKind, parse_nodes};
    use super::*;

    /// A document as `reader` reads it, in one line; or why it refuses it.
    fn read(text: &str, reader: DocumentReader) -> String {
        let nodes = parse_nodes("t.yaml", text);
        let Some(Node::Source(source, _)) = nodes.first() else {
            return "unreadable".to_owned();
        };
        match decode(source, reader) {
            Ok(node) => show(node.get_ref()),
            Err(refusal) => refusal.message,
        }
    }

    fn show(node: NodeRef<'_>) -> String {
        match node.kind() {
            NodeKind::Map => {
                let entries = node.entries().map(|entry| format!("{}:{}", entry.key, show(entry.value)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(" "))
            }
            NodeKind::Seq => format!("[{}]", node.items().map(show).collect::<Vec<_>>().join(" ")),
            _ => json_value(&node.scalar(Dialect::GoYamlV3)).expect("decoded"),
        }
    }

    #[test]
    fn readers_differ_on_keys_and_merges() {
        let merge = "b: &b {k: 1, z: 9}\nm:\n  k: 2\n  <<: *b\n";
        let table = [
            ("a: 1\na: 2\n", "{a:2}", "key \"a\" already set in map", "mapping key \"a\" already defined"),
            ("on: a\nOn: b\n", "{true:\"b\"}", "key \"true\" already set in map", "{on:\"a\" On:\"b\"}"),
            ("x: {1: a}\n", "{x:{1:\"a\"}}", "{x:{1:\"a\"}}", "unsupported map key of type integer"),
            ("1: a\n", "{1:\"a\"}", "{1:\"a\"}", "{1:\"a\"}"),
            (merge, "{b:{k:1 z:9} m:{k:1 z:9}}", "key \"k\" already set in map", "{b:{k:1 z:9} m:{k:2 z:9}}"),
            (
                "m: {<<: [{k: 1}, {k: 2, l: 3}]}\n",
                "{m:{k:1 l:3}}",
                "key \"k\" already set in map",
                "{m:{k:1 l:3}}",
            ),
            (
                "a: .inf\n",
                "json: unsupported value: +Inf",
                "json: unsupported value: +Inf",
                "json: unsupported value: +Inf",
            ),
            ("a: 2024-1-2\n", "{a:\"2024-1-2\"}", "{a:\"2024-1-2\"}", "{a:\"2024-01-02T00:00:00Z\"}"),
            ("a: yes\n", "{a:true}", "{a:true}", "{a:\"yes\"}"),
        ];
        for (text, v2, strict, v3) in table {
            assert_eq!(read(text, DocumentReader::V2), v2, "v2 {text}");
            assert_eq!(read(text, DocumentReader::V2Strict), strict, "strict {text}");
            assert_eq!(read(text, DocumentReader::V3), v3, "v3 {text}");
        }
    }

    #[test]
    fn many_keys_are_told_apart_as_few_are() {
        for count in [1, 15, 16, 17, 18, 40] {
            let keys: Vec<String> = (0..count).map(|key| format!("k{key}: v")).collect();
            let text = format!("{{{}, 1: a, '1': b, 1: c, .nan: d, .nan: e, k0: z}}", keys.join(", "));
            let keys: Vec<String> = (1..count).map(|key| format!("k{key}:\"v\" ")).collect();
            let all = format!("{{k0:\"z\" {}1:\"b\" .nan:\"e\"}}", keys.concat());
            assert_eq!(read(&text, DocumentReader::V2), all);
            assert_eq!(read(&text, DocumentReader::V2Strict), "key \"1\" already set in map", "{count}");
        }
    }

    #[test]
    fn what_every_reader_refuses() {
        for (text, message) in [
            ("<<: 1\n", "map merge requires map or sequence of maps as the value"),
            ("? [a]\n: 1\n", "invalid map key"),
            ("a: !!int x\n", "cannot decode !!str `x` as a !!int"),
        ] {
            for reader in [DocumentReader::V2, DocumentReader::V2Strict, DocumentReader::V3] {
                assert_eq!(read(text, reader), message, "{reader:?} {text}");
            }
        }
    }

    #[test]
    fn what_is_not_kept_is_refused_all_the_same() {
        let values = [
            "1",
            "x",
            "",
            "~",
            "'.inf'",
            "{a: [b, {c: d}]}",
            "[a, [b]]",
            ".inf",
            "-.Inf",
            ".nan",
            "1e400",
            "{.nan: 1}",
            "{1: 1}",
            "{~: 1}",
            "{18446744073709551615: 1}",
            "{[a]: 1}",
            "{{a: b}: 1}",
            "{2001-01-01: 1}",
            "{a: 1, a: .inf}",
            "[{yes: 1}, {.inf: 1}, {[]: 1}]",
            "{<<: {a: b}}",
            "{<<: 1}",
            "&a {b: .inf}",
            "!!int x",
            "{b: !!float x}",
            "2001-01-01T00:00:00+99:00",
            "{'': .inf}",
        ];
        for value in values {
            let text = format!("kind: a\nspec: {value}\nmetadata: {{name: b, other: {value}}}\n");
            let nodes = parse_nodes("t.yaml", &text);
            let Some(Node::Source(source, _)) = nodes.first() else { panic!("unreadable: {text}") };
            let kept = |depth: usize, key: &str| match depth {
                1 => matches!(key, "kind" | "metadata"),
                _ => key == "name",
            };
            let all = decode(source, DocumentReader::V2);
            match (decode_kept(source, kept), all) {
                (Ok(some), Ok(all)) => {
                    for path in ["/kind", "/metadata/name"] {
                        let text = |node: &Node| node.get_ref().str_at(path).map(|text| text.into_owned());
                        assert_eq!((text(&some), text(&some).is_some()), (text(&all), true), "{value}");
                    }
                }
                (Err(one), Err(two)) => assert_eq!(one, two, "{value}"),
                (some, all) => panic!("{value}: {some:?}, {all:?}"),
            }
        }
    }

    #[test]
    fn aliases_are_counted_not_expanded() {
        let laughs = |levels: usize| {
            let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
            for level in 1..levels {
                let aliases = vec![format!("*a{}", level - 1); 9].join(",");
                text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
            }
            super::super::Stream::parse(&text).errors.len()
        };
        assert_eq!([laughs(3), laughs(5), laughs(30)], [0, 1, 1]);
        assert_eq!(super::super::Stream::parse("a: &a [*a]\n").errors.len(), 1);
    }

    #[test]
    fn texts_are_cut_at_separators() {
        let text = "a: 1\n--- # c\nb: 2\n---\n---\nc: 3";
        assert_eq!(
            apimachinery_documents(text).expect("no text behind ---"),
            ["a: 1\n", "b: 2\n", "---\nc: 3\n"]
        );
        assert_eq!(kustomize_documents(text).expect("no text behind ---"), ["a: 1\n", "b: 2\n", "---\nc: 3"]);
        let refused = apimachinery_documents("a: 1\n--- x\n").expect_err("text behind ---");
        assert_eq!((refused.message.as_str(), refused.offset), ("invalid document separator: --- x", 5));
        assert!(kustomize_documents("a: 1\n----\n").is_err());
    }
}
