//! The values that a HelmRelease gives its chart, each with its place.
//!
//! Mirrors fluxcd/pkg `chartutil/values.go` (`ChartValuesFromReferences`) with its odd
//! precedence: a `targetPath` first merges `spec.values`, then writes into the result, and
//! so into the maps of `spec.values` that came in unmerged; at the end `spec.values` are
//! merged over everything.

use super::request::ObjectLookup;
use crate::build::helm::{Kind, Map, Style, Value, merge_into, merge_maps, set};
use crate::build::stand_in;
use crate::lang::template;
use crate::lang::yaml::{
    self, Built, Dialect, Embed, EmbedPart, Entry, EntryRef, FilePath, Location, Node, NodeKind, NodeRef,
    Origin, Scalar, Source, Stream,
};
use crate::model::ObjectId;
use base64::Engine as _;
use std::borrow::Cow;
use std::sync::Arc;

/// The values of a release, merged.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// What `-f` would be given: a map.
    pub value: Value,
    /// What sets values, in order of precedence; the last is `spec.values`.
    pub layers: Vec<Layer>,
    /// What may set more, or other, values, in words.
    pub unknown: Vec<String>,
}

/// The documents of a file, as they are written.
pub(crate) type WrittenFile<'w> = dyn Fn(&FilePath) -> Option<&'w [Arc<Source>]> + 'w;

/// Something that sets values.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// What it is.
    pub by: By,
    /// Its values; of a `targetPath` the text that is set there.
    pub root: Node,
}

/// What sets values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// `spec.values`
    Release,
    /// A key of a ConfigMap or Secret.
    Reference(ValuesReference),
    /// The same, at a path of the values; and where the key stands.
    TargetPath(ValuesReference, Option<Location>),
}

/// An item of `spec.valuesFrom`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValuesReference {
    /// The object and its key, in words.
    pub told: String,
    /// Whether the object is a Secret; else it is a ConfigMap.
    pub is_secret: bool,
    /// Where the item stands.
    pub location: Option<Location>,
}

/// Why a release has no values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoValues {
    /// helm-controller fails: what it says, and where.
    Fails(String, Option<Location>),
    /// The values are known in the cluster only.
    Unknown(&'static str),
}

/// What a reference of `valuesFrom` gives.
enum Given {
    /// A text, and its node.
    Text(String, Node),
    /// A text with words of [`stand_in`] in the place of what is unknown, and its node.
    Holed(String, Node),
    /// A text that nobody knows here, and where it stands.
    Hidden(Option<Location>),
    /// Nothing.
    Nothing,
    /// Nobody knows whether it is there.
    Unseen,
}

/// The values of a release.
///
/// # Errors
/// Why there are none.
pub(crate) fn of_release(
    id: &ObjectId,
    node: NodeRef<'_>,
    lookup: &ObjectLookup<'_>,
    written: &WrittenFile<'_>,
) -> Result<Values, NoValues> {
    let too_deep = || NoValues::Unknown("values nested too deeply");
    let own = node.at("/spec/values").filter(|values| !values.is_null());
    let mut spec = match own {
        Some(values) if values.is_map() => value_of(values, Dialect::GoYamlV3, 0).ok_or_else(too_deep)?,
        Some(values) if values.is_unknown() => return Err(NoValues::Unknown("spec.values")),
        _ => Value::empty(),
    };
    let references = node.at("/spec/valuesFrom");
    if references.is_some_and(NodeRef::is_unknown) {
        return Err(NoValues::Unknown("spec.valuesFrom"));
    }
    let mut values = Values { value: Value::empty(), layers: Vec::new(), unknown: Vec::new() };
    for reference in references.into_iter().flat_map(NodeRef::items) {
        values.take(id, reference, &mut spec, lookup, written)?;
    }
    merge_into(&mut values.value, &spec);
    if let Some(own) = own {
        values.layers.push(Layer { by: By::Release, root: own.to_node() });
    }
    Ok(values)
}

impl Values {
    /// Takes in what a reference of `valuesFrom` gives.
    fn take(
        &mut self,
        id: &ObjectId,
        reference: NodeRef<'_>,
        spec: &mut Value,
        lookup: &ObjectLookup<'_>,
        written: &WrittenFile<'_>,
    ) -> Result<(), NoValues> {
        let field = |name: &str| match reference.get(name) {
            Some(found) if found.is_unknown() => Err(NoValues::Unknown("spec.valuesFrom")),
            Some(found) => Ok(found.as_str().filter(|text| !text.is_empty()).map(|text| text.into_owned())),
            None => Ok(None),
        };
        let (Some(kind), Some(name)) = (field("kind")?, field("name")?) else { return Ok(()) };
        let key = field("valuesKey")?.unwrap_or_else(|| "values.yaml".to_owned());
        let path = field("targetPath")?;
        let is_secret = kind == "Secret";
        let told = || format!("{kind} {}/{name}, key {key}", id.namespace.as_deref().unwrap_or_default());
        match given(id, &kind, &name, &key, lookup) {
            Given::Nothing => Ok(()),
            Given::Unseen | Given::Hidden(_) if path.is_none() => {
                self.unknown.push(told());
                Ok(())
            }
            given @ (Given::Text(..) | Given::Holed(..)) if path.is_none() => {
                let by = By::Reference(ValuesReference {
                    told: told(),
                    is_secret,
                    location: reference.location(),
                });
                match given {
                    Given::Text(text, node) => self.merge((&text, &node), by, is_secret, &told(), written)?,
                    Given::Holed(text, node) => self.merge_holed((&text, &node), by, told(), written),
                    Given::Hidden(_) | Given::Nothing | Given::Unseen => {}
                }
                Ok(())
            }
            given => {
                let path = path.unwrap_or_default();
                let literal = reference.get("literal").and_then(NodeRef::as_bool).unwrap_or(false);
                let (text, place) = match &given {
                    Given::Text(text, node) => {
                        (Some(text.as_str()).filter(|_| !is_secret), node.get_ref().location())
                    }
                    Given::Holed(_, node) => (None, node.get_ref().location()),
                    Given::Hidden(place) => (None, place.clone()),
                    Given::Nothing | Given::Unseen => (None, None),
                };
                let place = place.or_else(|| reference.location_at("/targetPath"));
                self.set(&path, text, literal, place.clone(), spec, &told())?;
                let item = ValuesReference { told: told(), is_secret, location: reference.location() };
                let by = By::TargetPath(item, key_location(id, &kind, &name, &key, lookup));
                self.layers.push(Layer { by, root: Node::string("", place) });
                Ok(())
            }
        }
    }

    /// Merges a document of values over what is there.
    fn merge(
        &mut self,
        (text, node): (&str, &Node),
        by: By,
        is_secret: bool,
        told: &str,
        written: &WrittenFile<'_>,
    ) -> Result<(), NoValues> {
        let place = node.get_ref().location();
        let fails = |why: &str| NoValues::Fails(format!("{told}: {why}"), place.clone());
        template::document(text).map_err(|why| fails(&why))?;
        let Some(root) = document(text, node, written) else { return Ok(()) };
        if root.get_ref().is_null() {
            return Ok(());
        }
        if !root.get_ref().is_map() {
            return Err(fails("it holds no map of values"));
        }
        let value = value_of(root.get_ref(), Dialect::GoYamlV2, 0);
        let value = value.ok_or(NoValues::Unknown("values nested too deeply"))?;
        let value = if is_secret { hidden(&value) } else { value };
        merge_into(&mut self.value, &value);
        self.layers.push(Layer { by, root });
        Ok(())
    }

    /// Merges a document of values with words in the place of what is unknown, which is no more
    /// than that, as far as anybody can say. All of it is unknown where it is no map then, or
    /// a key is.
    fn merge_holed(&mut self, (text, node): (&str, &Node), by: By, told: String, written: &WrittenFile<'_>) {
        let root = document(text, node, written).filter(|root| root.get_ref().is_map() && is_read(root));
        let root = root.and_then(|root| with_holes(root.get_ref(), 0));
        let value = root.as_ref().and_then(|root| value_of(root.get_ref(), Dialect::GoYamlV2, 0));
        match (root, value) {
            (Some(root), Some(value)) => {
                merge_into(&mut self.value, &value);
                self.layers.push(Layer { by, root });
            }
            _ => self.unknown.push(told),
        }
    }

    /// Sets a value at a path, as helm-controller does: `spec.values` are merged first.
    fn set(
        &mut self,
        path: &str,
        text: Option<&str>,
        literal: bool,
        place: Option<Location>,
        spec: &mut Value,
        told: &str,
    ) -> Result<(), NoValues> {
        // What nobody knows is put in for what is written in its place.
        const HIDDEN: &str = "forebay.dev/unknown";
        let before = merge_maps(&self.value, spec);
        let origin = place.clone().map(Origin::from);
        let written = text.unwrap_or(HIDDEN);
        // A quote by itself is between itself.
        let is_quoted =
            ['\'', '"'].into_iter().any(|quote| written.starts_with(quote) && written.ends_with(quote));
        let (style, value) = match (literal, is_quoted) {
            (true, _) => (Style::Text, Cow::Owned(escaped(written))),
            (false, true) => (Style::Text, Cow::Borrowed(written.trim_matches(['\'', '"']))),
            (false, false) => (Style::Typed, Cow::Borrowed(written)),
        };
        let mut after = before.clone();
        set(&mut after, &format!("{path}={value}"), style, origin.as_ref())
            .map_err(|why| NoValues::Fails(format!("{told}: {why}"), place))?;
        if text.is_none() {
            after = revealed(&after, HIDDEN);
        }
        // What was written into a map of `spec.values` stands there from now on.
        written_through(&before, &after, spec);
        self.value = after;
        Ok(())
    }
}

/// A text that `--set-string` takes as it is.
///
/// Mirrors fluxcd/pkg `chartutil/values.go` (`ReplacePathLiteralValue`): the path before it is
/// read as ever, with `\.` for a dot in a key, which `--set-literal` does not know.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | ',' | '[' | ']' | '{' | '}') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Takes over into `spec` what was written into the maps that it shares with the result.
fn written_through(before: &Value, after: &Value, spec: &mut Value) {
    let (Some(before), Some(after)) = (before.map(), after.map()) else { return };
    let Kind::Map(own) = &mut spec.kind else { return };
    let mut changed: Vec<(Arc<str>, Value)> = Vec::new();
    for (key, value) in own.iter() {
        let (Some(before), Some(after)) = (before.get(key), after.get(key)) else { continue };
        let mut value = value.clone();
        match (&value.kind, &before.kind, &after.kind) {
            (Kind::Map(own), Kind::Map(was), Kind::Map(is))
                if Arc::ptr_eq(own, was) && !Arc::ptr_eq(was, is) =>
            {
                changed.push((key.clone(), after.clone()));
            }
            (Kind::Map(own), Kind::Map(was), Kind::Map(_)) if Arc::ptr_eq(own, was) => {}
            // Go writes into the list where its length stays.
            (Kind::List(own), Kind::List(was), Kind::List(is))
                if Arc::ptr_eq(own, was) && !Arc::ptr_eq(was, is) && was.len() == is.len() =>
            {
                changed.push((key.clone(), after.clone()));
            }
            (Kind::Map(_), Kind::Map(_), Kind::Map(_)) => {
                written_through(before, after, &mut value);
                changed.push((key.clone(), value));
            }
            _ => {}
        }
    }
    Arc::make_mut(own).extend(changed);
}

/// What a key of a ConfigMap or Secret of the release's namespace holds.
fn given(id: &ObjectId, kind: &str, name: &str, key: &str, lookup: &ObjectLookup<'_>) -> Given {
    let Some(object) = lookup(kind, id.namespace.as_deref(), name) else { return Given::Unseen };
    let node = object.get_ref();
    let field = |name: &str| node.get(name).and_then(|data| data.get(key));
    let (found, is_encoded) = match kind {
        "Secret" => match field("stringData") {
            Some(found) => (Some(found), false),
            None => (field("data"), true),
        },
        _ => (field("data"), false),
    };
    let Some(found) = found else {
        let is_partial =
            ["data", "stringData"].iter().any(|name| node.get(name).is_some_and(NodeRef::is_unknown));
        return if is_partial { Given::Unseen } else { Given::Nothing };
    };
    if let Some(holes) = found.holes().filter(|_| kind == "ConfigMap") {
        let parts = holes.parts.iter().enumerate().map(|(number, part)| match part {
            Some(part) => Cow::Borrowed(&**part),
            None => Cow::Owned(stand_in::word(number)),
        });
        return Given::Holed(parts.collect(), found.to_node());
    }
    let text = found.as_str().filter(|text| !found.is_unknown() && !text.starts_with("ENC["));
    let text = text.and_then(|text| match is_encoded {
        true => base64::engine::general_purpose::STANDARD
            .decode(text.trim())
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok()),
        false => Some(text.into_owned()),
    });
    match text {
        Some(text) => Given::Text(text, found.to_node()),
        None => Given::Hidden(found.location()),
    }
}

/// Where a key of a ConfigMap or Secret stands.
fn key_location(
    id: &ObjectId,
    kind: &str,
    name: &str,
    key: &str,
    lookup: &ObjectLookup<'_>,
) -> Option<Location> {
    let object = lookup(kind, id.namespace.as_deref(), name)?;
    let field = |field: &&str| object.get_ref().get(field)?.entry(key)?.key_location();
    ["stringData", "data"].iter().find_map(field)
}

/// Values nested more deeply are nobody's.
const DEPTH: usize = crate::lang::yaml::emit::DEPTH_LIMIT;

/// Values of a node, as JSON decodes them: every number is a float. Those of an object
/// went through a build, those of a text are read as they stand.
fn value_of(node: NodeRef<'_>, dialect: Dialect, depth: usize) -> Option<Value> {
    if depth > DEPTH {
        return None;
    }
    let origin = match node {
        NodeRef::Source(source, token) => Some(Origin::Token(source.clone(), token)),
        NodeRef::Built(built) => Built::clone(built).origin,
    };
    let kind = match node.kind() {
        NodeKind::Map => {
            let inner = node.entries().map(|entry| {
                Some((Arc::from(entry.key.as_ref()), value_of(entry.value, dialect, depth + 1)?))
            });
            Kind::Map(Arc::new(inner.collect::<Option<Map>>()?))
        }
        NodeKind::Seq => {
            let inner = node.items().map(|item| value_of(item, dialect, depth + 1));
            Kind::List(Arc::new(inner.collect::<Option<Vec<Value>>>()?))
        }
        NodeKind::Unknown => Kind::Unknown("known in the cluster only".into()),
        NodeKind::Scalar => match node.holes() {
            Some(holes) => Kind::Holes(Arc::new(holes.clone())),
            None => match node.scalar(dialect) {
                Scalar::Null => Kind::Null,
                Scalar::Bool(value) => Kind::Bool(value),
                Scalar::Int(value) => Kind::Float(value as f64),
                Scalar::Uint(value) => Kind::Float(value as f64),
                Scalar::Float(value) => Kind::Float(value),
                Scalar::Timestamp(text) | Scalar::Str(text) => Kind::Text(text.as_ref().into()),
            },
        },
    };
    Some(Value { kind, origin })
}

/// The first document of a text that stands in a scalar; its places are those of the file.
fn document(text: &str, node: &Node, written: &WrittenFile<'_>) -> Option<Node> {
    let stream = Arc::new(Stream::parse(text));
    let place = node.get_ref().location();
    let (file, via) = match &place {
        Some(place) => (place.file.clone(), place.via.clone()),
        None => (FilePath::in_root(""), Vec::new()),
    };
    let is_text = |node: NodeRef<'_>| node.as_str().is_some_and(|own| own == text);
    let copied = match node {
        Node::Built(built) => match &built.origin {
            Some(Origin::Token(source, token)) => Some(Node::Source(source.clone(), *token)),
            _ => None,
        },
        Node::Source(..) => Some(node.clone()),
    };
    let embed = match &place {
        // A whole file that a generator took: as long as the text, and so the text itself.
        Some(place) if is_text(node.get_ref()) && (place.end - place.start) as usize == text.len() => {
            let outer = place.start..place.end;
            let part = EmbedPart { start: 0, outer: outer.clone(), is_copy: true };
            Some(Embed::made_of(outer, Arc::from([part])))
        }
        Some(_) if copied.as_ref().is_some_and(|node| is_text(node.get_ref())) => {
            copied.as_ref().and_then(|node| Embed::of(node, 0))
        }
        // Variables were filled in, each within its line.
        Some(place) => substituted(text, place, written).or_else(|| Some(Embed::at(place.start..place.end))),
        None => Some(Embed::at(0..0)),
    };
    let first = stream
        .documents
        .iter()
        .position(|document| document.tokens.first().is_some_and(|root| !root.empty))?;
    let source = Source { file, stream, index: first as u32, embed, via };
    Some(Arc::new(source).root())
}

/// Where a text stands that was written with variables, by the scalar or the file that it was.
fn substituted(text: &str, place: &Location, written: &WrittenFile<'_>) -> Option<Embed> {
    let sources = written(&place.file)?;
    let file = &sources.first()?.stream.text;
    if file.len() == (place.end - place.start) as usize {
        return Embed::changed(place.start..place.end, text, file, &|range| range);
    }
    let scalar = sources.iter().find_map(|source| {
        let tokens = &source.document().tokens;
        let at = tokens.partition_point(|token| token.start < place.start);
        let is_it = tokens.get(at).is_some_and(|token| (token.start, token.end) == (place.start, place.end));
        is_it.then(|| Node::Source(source.clone(), at as u32))
    })?;
    let (raw, embed) = (scalar.get_ref().as_str()?, Embed::of(&scalar, 0)?);
    Embed::changed(embed.whole.clone(), text, &raw, &|range| embed.outer(range))
}

/// Whether the parser took all of a text.
fn is_read(root: &Node) -> bool {
    match root {
        Node::Source(source, _) => source.stream.errors.is_empty(),
        Node::Built(_) => true,
    }
}

/// A document with holes where words of [`stand_in`] are; `None` where a key has one.
fn with_holes(node: NodeRef<'_>, depth: usize) -> Option<Node> {
    if depth > DEPTH {
        return None;
    }
    let value = match node.kind() {
        NodeKind::Map => {
            let entry = |entry: EntryRef<'_>| {
                let key = entry.key_node.to_node();
                (!stand_in::is_in(&entry.key))
                    .then_some(Entry { key, value: with_holes(entry.value, depth + 1)? })
            };
            yaml::Value::Map(node.entries().map(entry).collect::<Option<Vec<_>>>()?.into())
        }
        NodeKind::Seq => {
            yaml::Value::Seq(node.items().map(|item| with_holes(item, depth + 1)).collect::<Option<_>>()?)
        }
        NodeKind::Scalar | NodeKind::Unknown => {
            let Some(text) = node.text().filter(|text| stand_in::is_in(text)) else {
                return Some(node.to_node());
            };
            match stand_in::value_of(&text) {
                yaml::Value::Holes(holes) if stand_in::is_string_anyhow(&text) => yaml::Value::Holes(holes),
                _ => yaml::Value::Unknown("a variable that is known in the cluster only".into()),
            }
        }
    };
    let origin = match node {
        NodeRef::Source(source, token) => Some(Origin::Token(source.clone(), token)),
        NodeRef::Built(built) => Built::clone(built).origin,
    };
    Some(Node::Built(Arc::new(Built { value, origin })))
}

/// Values of which the keys are known alone.
fn hidden(value: &Value) -> Value {
    mapped(value, &|value| match &value.kind {
        Kind::Map(_) | Kind::List(_) => None,
        _ => Some(Value { kind: Kind::Unknown("a value of a Secret".into()), origin: value.origin.clone() }),
    })
}

/// Values in which a text stands for what is unknown.
fn revealed(value: &Value, text: &str) -> Value {
    mapped(value, &|value| match &value.kind {
        Kind::Text(own) if **own == *text => {
            Some(Value { kind: Kind::Unknown("a value of a Secret".into()), origin: value.origin.clone() })
        }
        _ => None,
    })
}

/// Values with some replaced; what holds none of them is shared.
fn mapped(value: &Value, replace: &dyn Fn(&Value) -> Option<Value>) -> Value {
    if let Some(other) = replace(value) {
        return other;
    }
    let same = |one: &Value, other: &Value| match (&one.kind, &other.kind) {
        (Kind::Map(one), Kind::Map(other)) => Arc::ptr_eq(one, other),
        (Kind::List(one), Kind::List(other)) => Arc::ptr_eq(one, other),
        (Kind::Unknown(_), Kind::Unknown(_)) => true,
        (_, Kind::Unknown(_)) => false,
        _ => true,
    };
    match &value.kind {
        Kind::Map(map) => {
            let new: Map = map.iter().map(|(key, value)| (key.clone(), mapped(value, replace))).collect();
            match new.iter().zip(map.iter()).all(|((_, new), (_, old))| same(old, new)) {
                true => value.clone(),
                false => Value { kind: Kind::Map(Arc::new(new)), origin: value.origin.clone() },
            }
        }
        Kind::List(items) => {
            let new: Vec<Value> = items.iter().map(|item| mapped(item, replace)).collect();
            match new.iter().zip(items.iter()).all(|(new, old)| same(old, new)) {
                true => value.clone(),
                false => Value { kind: Kind::List(Arc::new(new)), origin: value.origin.clone() },
            }
        }
        _ => value.clone(),
    }
}
