//! `configMapGenerator` and `secretGenerator`.
//!
//! Mirrors `api/internal/generators`, `api/kv/kv.go`, `kyaml/yaml/datamap.go`
//! and `api/resmap/reswrangler.go` (`appendReplaceOrMerge`).

use super::builder::{Accumulator, BuildLevel, Builder, start_of};
use super::decode::Text;
use super::entries::{Generator, GeneratorOptions};
use super::error::{BuildError, ErrorClass, Result};
use super::names::NameIndex;
use super::nodes;
use super::resource::{Behavior, FileRole, FileUse, Resource, Traces, text_pairs};
use super::trace;
use super::tree::TreeFile;
use crate::lang::yaml::{Entry, Location, Map, Node, NodeRef, Value, Via, ViaKind};
use base64::Engine as _;
use std::sync::Arc;

/// Run the generators of a level.
pub(super) fn run(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    accumulator: &mut Accumulator,
) -> Result<()> {
    let file = &level.file;
    let mut names = NameIndex::default();
    for (generators, secret) in [(&file.config_maps, false), (&file.secrets, true)] {
        for generator in generators {
            let made = generate(builder, level, generator, file.generator_options.as_ref(), secret);
            let mut resource = match made {
                Ok(resource) => resource,
                Err(error) => {
                    builder.leave_out(error)?;
                    continue;
                }
            };
            if let Some(place) = level.origin_of(file.file_name) {
                let kind = if secret { "SecretGenerator" } else { "ConfigMapGenerator" };
                let text = trace::configured(&place, "builtin", kind, "", "");
                resource.traces = Some(Box::new(Traces::generated(&text)));
            }
            absorb(accumulator, resource, &mut names, builder.is_partial())
                .map_err(|error| error.from_here("generated here", generator.node.get_ref().location()))?;
        }
    }
    Ok(())
}

/// One pair of a generator's data.
struct DataPair {
    key: String,
    key_at: Option<Location>,
    /// `None` for a file on another host.
    value: Option<Vec<u8>>,
    value_at: Option<Location>,
}

/// Make the object of one generator.
pub(super) fn generate(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    generator: &Generator,
    global: Option<&GeneratorOptions>,
    secret: bool,
) -> Result<Resource> {
    let kind = if secret { "Secret" } else { "ConfigMap" };
    let place = generator.node.get_ref().location();
    if generator.name.value.is_empty() {
        let message = format!("the generator of a {kind} needs a name");
        return Err(BuildError::new(ErrorClass::Generator, message, place));
    }
    let mut pairs = pairs_of(builder, level, generator)?;
    pairs.sort_by(|a, b| a.key.cmp(&b.key));
    refuse_twice(generator, kind, &pairs, place.as_ref())?;
    let via = generator_via(level, place.clone());
    let built = |text: &str| Node::string(text, place.clone());
    let metadata = metadata(generator, global, place.as_ref(), &via);
    let mut object = Node::empty_map(place.clone());
    object.set("apiVersion", built("v1"), place.clone());
    object.set("kind", built(kind), place.clone());
    object.set("metadata", metadata, place.clone());
    if secret {
        let kind_of_secret = match &generator.secret_type {
            Some(text) => text_node(text, &via),
            None => Node::string("Opaque", place.clone()),
        };
        object.set("type", kind_of_secret, place.clone());
        object.set("data", Node::empty_map(place.clone()), place.clone());
    }
    let odd_keys = pairs.iter().any(|pair| nodes::reads_as_other_key(&pair.key));
    for pair in pairs {
        put_pair(&mut object, pair, secret, &via);
    }
    let local = generator.options.as_ref();
    let immutable = [local, global].into_iter().flatten().any(|options| options.immutable);
    if immutable {
        object.set("immutable", Node::scalar(Value::Bool(true), place.clone()), place.clone());
    }
    let mut resource = Resource::new(object, FileRole::Generator, place);
    let disabled = [local, global].into_iter().flatten().any(|options| options.disable_name_suffix_hash);
    resource.needs_hash = !disabled;
    resource.suspect = odd_keys;
    resource.behavior =
        generator.behavior.as_ref().map_or(Behavior::Unspecified, |text| Behavior::parse(&text.value));
    Ok(resource)
}

/// Refuse a key that a generator has twice; `pairs` are in the order of their keys.
fn refuse_twice(
    generator: &Generator,
    kind: &str,
    pairs: &[DataPair],
    place: Option<&Location>,
) -> Result<()> {
    let Some(twice) = pairs.windows(2).find(|pair| pair[0].key == pair[1].key) else { return Ok(()) };
    let message =
        format!("the generator of {kind} {} has the key {} twice", generator.name.value, twice[0].key);
    Err(BuildError::new(ErrorClass::Generator, message, twice[1].key_at.clone().or(place.cloned()))
        .related("the other one", twice[0].key_at.clone()))
}

/// Name, namespace, labels and annotations of what a generator makes.
fn metadata(
    generator: &Generator,
    global: Option<&GeneratorOptions>,
    place: Option<&Location>,
    via: &[Via],
) -> Node {
    let mut metadata = Node::empty_map(place.cloned());
    metadata.set("name", text_node(&generator.name, via), place.cloned());
    if let Some(namespace) = &generator.namespace {
        metadata.set("namespace", text_node(namespace, via), place.cloned());
    }
    let local = generator.options.as_ref();
    for (field, own, shared) in [
        ("labels", local.map(|options| &options.labels), global.map(|options| &options.labels)),
        (
            "annotations",
            local.map(|options| &options.annotations),
            global.map(|options| &options.annotations),
        ),
    ] {
        let mut map = Node::empty_map(place.cloned());
        for entry in shared.into_iter().flatten().chain(own.into_iter().flatten()) {
            map.set(&entry.key, text_node(&entry.value, via), entry.key_node.get_ref().location());
        }
        if map.get_ref().entries().next().is_some() {
            metadata.set(field, map, place.cloned());
        }
    }
    metadata
}

/// Write a key and its value into the object, encoded as its kind wants them.
fn put_pair(object: &mut Node, mut pair: DataPair, secret: bool, via: &[Via]) {
    for location in [&mut pair.key_at, &mut pair.value_at].into_iter().flatten() {
        location.via.extend(via.iter().cloned());
    }
    let Some(bytes) = pair.value else {
        let unknown = Value::Unknown("a file on another host".into());
        put(object, "data", &pair.key, Node::scalar(unknown, pair.value_at), pair.key_at);
        return;
    };
    let (field, text) = match (secret, String::from_utf8(bytes)) {
        (false, Ok(text)) => ("data", text),
        (false, Err(error)) => ("binaryData", encode_base64(error.as_bytes())),
        (true, Ok(text)) => ("data", encode_base64(text.as_bytes())),
        (true, Err(error)) => ("data", encode_base64(error.as_bytes())),
    };
    put(object, field, &pair.key, Node::string(&text, pair.value_at), pair.key_at);
}

fn generator_via(level: &BuildLevel, place: Option<Location>) -> Vec<Via> {
    let own = place.map(|location| Via { kind: ViaKind::Generator, location });
    own.into_iter().chain(level.via.iter().cloned()).collect()
}

/// A string that a generator copies from the kustomization.
fn text_node(text: &Text, via: &[Via]) -> Node {
    let mut location = text.node.get_ref().location();
    if let Some(location) = &mut location {
        location.via.extend(via.iter().cloned());
    }
    Node::string(&text.value, location)
}

/// Set a key of a map of the object, making the map.
fn put(object: &mut Node, field: &str, key: &str, value: Node, key_at: Option<Location>) {
    if object.get_ref().get(field).is_none() {
        let origin = object.get_ref().location();
        object.set(field, Node::empty_map(origin.clone()), origin);
    }
    if let Some(entries) = object.get_mut(field).and_then(Node::make_map) {
        // The key of a generated map is untagged: `true` fails at the end.
        let key_node = if nodes::reads_as_other_key(key) {
            nodes::untagged_key(key, key_at.map(Arc::new).as_ref())
        } else {
            Node::string(key, key_at)
        };
        entries.push(Entry { key: key_node, value });
    }
}

fn pairs_of(builder: &mut Builder<'_>, level: &BuildLevel, generator: &Generator) -> Result<Vec<DataPair>> {
    let mut pairs = Vec::new();
    for env in &generator.envs {
        let Some(file) = builder.read_here(level, env)? else { continue };
        let bytes = bytes_of(&file, env)?;
        builder.copy(bytes.len(), env.node.get_ref())?;
        env_pairs(&bytes, &start_of(&file), &mut pairs)?;
    }
    for literal in &generator.literals {
        pairs.push(literal_pair(literal)?);
    }
    for entry in &generator.files {
        let (key, path) = file_source(entry)?;
        let path = Text { value: path.into(), node: entry.node.clone() };
        let key_at = entry.node.get_ref().location();
        let (value, value_at) = match builder.read_here(level, &path)? {
            Some(file) => {
                let value = bytes_of(&file, entry)?;
                builder.copy(value.len(), entry.node.get_ref())?;
                let mut value_at = start_of(&file);
                value_at.end = value.len() as u32;
                (Some(value), Some(value_at))
            }
            None => (None, key_at.clone()),
        };
        pairs.push(DataPair { key: key.to_owned(), key_at, value, value_at });
    }
    Ok(pairs)
}

fn bytes_of(file: &TreeFile, entry: &Text) -> Result<Vec<u8>> {
    match file.snapshot.blob(&file.file) {
        Ok(blob) => Ok(blob.bytes().to_vec()),
        Err(_) => {
            let message = format!("{} can't be read", file.file.path);
            Err(BuildError::at(ErrorClass::Path, message, entry.node.get_ref()))
        }
    }
}

/// `key=value`, split at the first `=`; one pair of quotes around the value is
/// taken off.
fn literal_pair(literal: &Text) -> Result<DataPair> {
    let node = literal.node.get_ref();
    let Some((key, value)) = literal.value.split_once('=').filter(|(key, _)| !key.is_empty()) else {
        let message = "a literal must be `key=value`".to_owned();
        return Err(BuildError::at(ErrorClass::Generator, message, node));
    };
    let bytes = value.as_bytes();
    let quoted =
        bytes.len() >= 2 && bytes.first() == bytes.last() && matches!(bytes.first(), Some(b'"' | b'\''));
    let quote = usize::from(quoted);
    let bare = &value[quote..value.len() - quote];
    let from = key.len() + 1 + quote;
    Ok(DataPair {
        key: key.to_owned(),
        key_at: part_of(node, 0, key.len()),
        value: Some(bare.as_bytes().to_vec()),
        value_at: part_of(node, from, from + bare.len()),
    })
}

/// The place of a part of a scalar's value, where the value stands in the text
/// as it is; else of the whole scalar.
fn part_of(node: NodeRef<'_>, from: usize, to: usize) -> Option<Location> {
    let mut location = node.location()?;
    let NodeRef::Source(source, token) = node else { return Some(location) };
    let token = source.document().tokens.get(token as usize)?;
    let text = source.stream.text.get(token.start as usize..token.end as usize)?;
    let value = node.text()?;
    let inset = if text == value {
        0
    } else if text.len() == value.len() + 2 && text.get(1..text.len() - 1) == Some(&value) {
        1
    } else {
        return Some(location);
    };
    if source.embed.is_none() {
        location.end = location.start + (inset + to) as u32;
        location.start += (inset + from) as u32;
    }
    Some(location)
}

/// `path` or `key=path`.
fn file_source(entry: &Text) -> Result<(&str, &str)> {
    let fail = |message: &str| Err(BuildError::at(ErrorClass::Generator, message, entry.node.get_ref()));
    let text = &*entry.value;
    match text.matches('=').count() {
        0 => {
            let name = text.rsplit('/').next().unwrap_or(text);
            Ok((name, text))
        }
        1 => match text.split_once('=') {
            Some(("", _)) => fail("this has no key before the `=`"),
            Some((_, "")) | None => fail("this has no path behind the `=`"),
            Some((key, path)) => Ok((key, path)),
        },
        _ => fail("a file is `path` or `key=path`; this has several `=`"),
    }
}

/// Bytes of a line of an env file that are read.
const ENV_LINE_LIMIT: usize = 64 * 1024;

fn env_pairs(bytes: &[u8], file: &Location, pairs: &mut Vec<DataPair>) -> Result<()> {
    let mut offset = 0;
    for (number, raw) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let start = offset;
        offset += raw.len();
        let line = raw.strip_suffix(b"\n").unwrap_or(raw);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if raw.len() > ENV_LINE_LIMIT {
            break;
        }
        let place = |from: usize, to: usize| Location {
            file: file.file.clone(),
            start: (start + from) as u32,
            end: (start + to) as u32,
            via: Vec::new(),
        };
        let Ok(text) = std::str::from_utf8(line) else {
            let message = "this line of an env file is not UTF-8";
            return Err(BuildError::new(ErrorClass::Generator, message, Some(place(0, line.len()))));
        };
        let mut content = text;
        if number == 0 {
            content = content.strip_prefix('\u{feff}').unwrap_or(content);
        }
        content = content.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let from = text.len() - content.len();
        let (key, value) = content.split_once('=').unwrap_or((content, ""));
        if key.is_empty() {
            let message = "this line of an env file has no key before the `=`";
            return Err(BuildError::new(ErrorClass::Generator, message, Some(place(from, text.len()))));
        }
        pairs.push(DataPair {
            key: key.to_owned(),
            key_at: Some(place(from, from + key.len())),
            value: Some(value.as_bytes().to_vec()),
            value_at: Some(place(text.len() - value.len(), text.len())),
        });
    }
    Ok(())
}

/// Base64, in lines of 70 characters when it is longer than one.
fn encode_base64(bytes: &[u8]) -> String {
    let encoded = base64::engine::general_purpose::STANDARD.encode(bytes);
    if encoded.len() < 70 {
        return encoded;
    }
    let mut lines = String::with_capacity(encoded.len() + encoded.len() / 70 + 1);
    for line in encoded.as_bytes().chunks(70) {
        lines.extend(line.iter().map(|byte| char::from(*byte)));
        lines.push('\n');
    }
    lines
}

/// Add a generated object: a new one, or one that replaces or merges into the
/// object of its id, whatever that was called before. `names` is the same for those in
/// a row. What it is to change may be among the objects of a build that `is_partial`.
pub(super) fn absorb(
    accumulator: &mut Accumulator,
    mut new: Resource,
    names: &mut NameIndex,
    is_partial: bool,
) -> Result<()> {
    let mut matches = names.positions(accumulator.resources(), Some(&new.id.name));
    matches.retain(|at| accumulator.resources()[*at].ids().any(|id| id.equals(&new.id)));
    let behavior = new.behavior;
    let known = |at: usize| accumulator.resources()[at].location();
    match (&matches[..], behavior) {
        ([], Behavior::Merge | Behavior::Replace) if is_partial => Ok(()),
        ([], Behavior::Merge | Behavior::Replace) => {
            let message = format!("{} is to change an object of a base, but none of this id is here", new.id);
            Err(BuildError::new(ErrorClass::Generator, message, new.location()))
        }
        ([], _) => {
            let at = accumulator.resources().len();
            accumulator.append(vec![new])?;
            names.add(at, &accumulator.resources()[at]);
            Ok(())
        }
        ([at], Behavior::Unspecified | Behavior::Create) => {
            let message =
                format!("{} exists already; say `behavior: merge` or `replace` to change it", new.id);
            Err(BuildError::new(ErrorClass::Generator, message, new.location())
                .related("it is here", known(*at)))
        }
        ([at], _) => {
            let old = &accumulator.resources()[*at];
            inherit(&mut new, old);
            if behavior == Behavior::Merge {
                merge_data(&mut new.node, &old.node, "data");
                merge_data(&mut new.node, &old.node, "binaryData");
            }
            if let Some(known) = &old.traces {
                let traces = new.traces.get_or_insert_default();
                traces.transformations.clone_from(&known.transformations);
                if behavior == Behavior::Merge && known.origin.is_some() {
                    traces.path.clone_from(&known.path);
                    traces.origin.clone_from(&known.origin);
                }
            }
            let mut files: Vec<FileUse> = old.files.clone();
            files.append(&mut new.files);
            new.files = files;
            new.sync();
            names.add(*at, &new);
            accumulator.replace(*at, new);
            Ok(())
        }
        ([first, second, ..], _) => {
            let message = format!("several objects could take the changes of {}", new.id);
            Err(BuildError::new(ErrorClass::Generator, message, new.location())
                .related("one of them", known(*first))
                .related("another one", known(*second)))
        }
    }
}

/// Take over name, namespace, labels, annotations and history.
///
/// Mirrors `Resource.CopyMergeMetaDataFieldsFrom`.
fn inherit(new: &mut Resource, old: &Resource) {
    for field in ["labels", "annotations"] {
        let of = |resource: &Resource| {
            let metadata = resource.node.get_ref().get("metadata");
            metadata.and_then(|metadata| metadata.get(field)).map(NodeRef::to_node)
        };
        let merged = overlay(of(old), of(new));
        if let Some(metadata) = new.node.get_mut("metadata") {
            match merged {
                Some(map) => drop(metadata.set(field, map, None)),
                None => drop(metadata.remove(field)),
            }
        }
    }
    for field in ["name", "namespace"] {
        let value = old.node.get_ref().get("metadata").and_then(|metadata| metadata.get(field));
        let value = value.filter(|value| !nodes::text(*value).is_empty()).map(NodeRef::to_node);
        if let Some(metadata) = new.node.get_mut("metadata") {
            match value {
                Some(value) => drop(metadata.set(field, value, None)),
                None => drop(metadata.remove(field)),
            }
        }
    }
    new.previous.clone_from(&old.previous);
    new.prefixes.clone_from(&old.prefixes);
    new.suffixes.clone_from(&old.suffixes);
    new.needs_hash = new.needs_hash && old.needs_hash;
    new.suspect |= old.suspect;
    new.behavior = old.behavior;
    new.vars.clone_from(&old.vars);
    // The origin is an annotation like others, which the new one wins.
    if let Some(traces) = &mut new.traces {
        traces.path = old.traces.as_ref().and_then(|old| old.path.clone());
        traces.transformations = old.traces.as_ref().map_or(Vec::new(), |old| old.transformations.clone());
    }
}

fn merge_data(new: &mut Node, old: &Node, field: &str) {
    let of = |node: &Node| node.get_ref().get(field).map(NodeRef::to_node);
    match overlay(of(old), of(new)) {
        Some(map) => drop(new.set(field, map, None)),
        None => drop(new.remove(field)),
    }
}

/// Two maps of texts as one, in order of the keys, all values strings; `None`
/// when it is empty.
fn overlay(old: Option<Node>, new: Option<Node>) -> Option<Node> {
    let mut merged = Map::default();
    for map in [&old, &new].into_iter().flatten() {
        for (key, text) in text_pairs(Some(map.get_ref())) {
            let Some(entry) = map.get_ref().entry(&key) else { continue };
            let value = if nodes::is_string(entry.value) {
                entry.value.to_node()
            } else {
                Node::string(&text, entry.value.location())
            };
            merged.set(&key, value, || entry.key_node.to_node());
        }
    }
    if merged.is_empty() {
        return None;
    }
    merged.sort_by(|a, b| a.key_text().cmp(&b.key_text()));
    let origin = new.or(old).and_then(|node| node.get_ref().location());
    Some(Node::scalar(Value::Map(merged), origin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::FilePath;

    #[test]
    fn long_base64_is_broken_into_lines() {
        assert_eq!(encode_base64(b"abc"), "YWJj");
        assert_eq!(encode_base64(&[0; 51]), "A".repeat(68));
        let long = encode_base64(&[0; 54]);
        assert_eq!(long, format!("{}\n{}\n", "A".repeat(70), "AA"));
    }

    #[test]
    fn env_files_are_read_line_by_line() {
        let text = "\u{feff}A=1\r\n  B = two \n# no\n\nC\nD=\"q\"\n";
        let file = Location { file: FilePath::in_root("e.env"), start: 0, end: 0, via: Vec::new() };
        let mut pairs = Vec::new();
        env_pairs(text.as_bytes(), &file, &mut pairs).expect("a valid file");
        let found: Vec<(String, String)> = pairs
            .iter()
            .map(|pair| {
                (
                    pair.key.clone(),
                    String::from_utf8_lossy(pair.value.as_deref().unwrap_or_default()).into_owned(),
                )
            })
            .collect();
        let expected = [("A", "1"), ("B ", " two "), ("C", ""), ("D", "\"q\"")];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
        for pair in &pairs {
            let place = pair.value_at.as_ref().expect("a place");
            assert_eq!(
                &text.as_bytes()[place.start as usize..place.end as usize],
                pair.value.as_deref().unwrap_or_default()
            );
        }
    }
}
