//! What a ResourceSet makes, where its inputs stand in the repository.
//!
//! Mirrors flux-operator `internal/builder/resourceset.go` (each resource is
//! written as YAML, is a template in `<<` and `>>` as text, and is read again)
//! and `internal/inputs` (own inputs, then providers; a Static provider is one
//! set, its `defaultValues`). Evaluated are paths of `inputs` and the functions
//! that keep a text a text; a value that needs more is unknown, and a
//! ResourceSet of which it isn't certain what it makes is not expanded at all.

use crate::build::kustomize::FileRole;
use crate::build::substitute::{fits, reread};
use crate::lang::yaml::emit::{DEPTH_LIMIT, style_of};
use crate::lang::yaml::{
    Built, Dialect, Embed, EntryRef, Known, Location, Node, NodeRef, Origin, Scalar, ScalarStyle, Source,
    Stream, Value, Via, ViaKind,
};
use crate::model::ObjectId;
use crate::world::build::{BuiltObject, set_common_metadata};
use std::sync::Arc;

/// Objects that one ResourceSet may make.
const LIMIT: usize = 10_000;

/// Leaves an object out of a ResourceSet, or stops a ResourceSet.
const RECONCILE: &str = "fluxcd.controlplane.io/reconcile";

/// One set of inputs.
struct Inputs<'n> {
    /// The map that `inputs` gives.
    values: NodeRef<'n>,
    /// Who provides it: what `inputs.provider` gives.
    provider: &'n ObjectId,
}

/// Why a template has no text.
enum Refusal {
    /// It has one that isn't known here.
    Unknown,
    /// It may change what is around it, or fails.
    Anything,
}

/// The objects that a ResourceSet makes; `None` where that isn't certain.
/// `provider` finds a ResourceSetInputProvider of the ResourceSet's namespace.
pub(crate) fn expand<'n>(
    id: &'n ObjectId,
    node: NodeRef<'n>,
    provider: &dyn Fn(&str) -> Option<(&'n ObjectId, NodeRef<'n>)>,
) -> Option<Vec<Arc<BuiltObject>>> {
    let absent = |pointer: &str| node.at(pointer).is_none_or(NodeRef::is_null);
    let strategy = node.str_at("/spec/inputStrategy/name");
    let flat = absent("/spec/inputStrategy") || strategy.is_some_and(|name| name == "Flatten");
    if !flat || !absent("/spec/steps") || is_disabled(node) != Known::Value(false) {
        return None;
    }
    let mut sets: Vec<Inputs<'n>> = Vec::new();
    for field in ["/spec/inputs", "/spec/inputsFrom", "/spec/resources"] {
        if node.at(field).is_some_and(|list| !list.is_seq() && !list.is_null()) {
            return None;
        }
    }
    sets.extend(node.items_at("/spec/inputs").map(|values| Inputs { values, provider: id }));
    let mut providers = Vec::new();
    for from in node.items_at("/spec/inputsFrom") {
        let (id, node) = provider(&from.str_at("/name")?)?;
        let known = node.str_at("/spec/type").is_some_and(|kind| kind == "Static");
        if !known || is_disabled(node) != Known::Value(false) {
            return None;
        }
        providers.push(Inputs { values: node.at("/spec/defaultValues")?, provider: id });
    }
    providers.sort_by(|one, other| one.provider.name.cmp(&other.provider.name));
    sets.extend(providers);
    let nothing = Node::empty_map(None);
    let mut found: Vec<(ObjectId, Arc<BuiltObject>)> = Vec::new();
    if sets.is_empty() {
        make(node, &Inputs { values: nothing.get_ref(), provider: id }, &mut found)?;
    }
    for inputs in &sets {
        make(node, inputs, &mut found)?;
    }
    Some(found.into_iter().map(|(_, object)| object).collect())
}

/// The objects of one set of inputs.
fn make(set: NodeRef<'_>, inputs: &Inputs<'_>, found: &mut Vec<(ObjectId, Arc<BuiltObject>)>) -> Option<()> {
    let common = set.at("/spec/commonMetadata").filter(|node| !node.is_null());
    let mut made = Vec::new();
    for resource in set.items_at("/spec/resources") {
        made.push(rendered(resource, inputs, 0).ok()?.unwrap_or_else(|| resource.to_node()));
    }
    if let Some(template) = set.at("/spec/resourcesTemplate").filter(|node| !node.is_null()) {
        made.extend(from_template(template, inputs)?);
    }
    for mut node in made {
        let place = node.get_ref().location();
        let id = ObjectId::of(node.get_ref()).filter(|id| !id.is_unknown())?;
        match is_disabled(node.get_ref()) {
            Known::Value(true) => continue,
            Known::Value(false) => {}
            Known::Unknown => return None,
        }
        if let Some(common) = common {
            for field in ["labels", "annotations"] {
                set_common_metadata(&mut node, field, common, common.location().as_ref());
            }
        }
        // The first of one identity wins.
        let same = |other: &ObjectId| {
            other.group() == id.group()
                && (&other.kind, &other.namespace, &other.name) == (&id.kind, &id.namespace, &id.name)
        };
        if found.iter().any(|(other, _)| same(other)) {
            continue;
        }
        if found.len() == LIMIT {
            return None;
        }
        let files = place.map(|location| (FileRole::Resource, location)).into_iter().collect();
        found.push((id, Arc::new(BuiltObject::new(node, files))));
    }
    Some(())
}

/// The objects of `resourcesTemplate`: a text that is filled in as it stands and
/// read as YAML then. `None` where a value isn't known here, or anything but plain
/// actions is in it.
fn from_template(template: NodeRef<'_>, inputs: &Inputs<'_>) -> Option<Vec<Node>> {
    if template.is_unknown() {
        return None;
    }
    let Scalar::Str(text) = template.scalar(Dialect::GoYamlV3) else { return None };
    let place = template.location()?;
    let filled = fill(&text, inputs).ok()?;
    // Several lines mean something else at each indentation.
    let values = filled.parts.iter().filter(|part| part.is_value).map(|part| &filled.text[part.range()]);
    if filled.has_unknown || values.into_iter().any(|value| value.contains('\n')) {
        return None;
    }
    let stream = Arc::new(Stream::parse(&filled.text));
    if !stream.errors.is_empty() {
        return None;
    }
    let written = Embed::of(&template.to_node(), 0)?;
    let runs = runs(&text, &filled.parts, &written);
    let documents = (0..stream.documents.len() as u32)
        .filter(|index| !stream.documents[*index as usize].tokens.first().is_none_or(|root| root.empty));
    let node = |index: u32| {
        let embed = Some(Embed::made_of(place.start..place.end, runs.clone()));
        let (file, via) = (place.file.clone(), place.via.clone());
        let source = Source { file, stream: stream.clone(), index, embed, via };
        let root = Node::Source(Arc::new(source), 0);
        with_origins(root.get_ref(), &filled.parts, 0).unwrap_or(root)
    };
    Some(documents.map(node).collect())
}

/// Where the bytes of a filled text stand in the file of its template: a run for each
/// line and each part.
fn runs(template: &str, parts: &[Part], written: &Embed) -> Vec<(u32, u32)> {
    let outer = |at: u32| written.outer(at..at).start;
    let mut runs = Vec::new();
    for part in parts {
        runs.push((part.start, outer(part.template)));
        if !part.is_value {
            let from = part.template as usize;
            let text = &template[from..from + part.range().len()];
            let lines = text.match_indices('\n').map(|(at, _)| at as u32 + 1);
            runs.extend(lines.map(|line| (part.start + line, outer(part.template + line))));
        }
    }
    runs
}

/// The document with all origins of what inputs flowed into; `None` where none did.
fn with_origins(node: NodeRef<'_>, parts: &[Part], depth: usize) -> Option<Node> {
    if depth > DEPTH_LIMIT {
        return None;
    }
    if node.is_map() {
        let inner = |(index, entry): (usize, EntryRef<'_>)| {
            Some((index, with_origins(entry.value, parts, depth + 1)?))
        };
        let changes = node.entries().enumerate().filter_map(inner).collect();
        return with_changes(node, changes, put_value);
    }
    if node.is_seq() {
        let inner = |(index, item)| Some((index, with_origins(item, parts, depth + 1)?));
        let changes = node.items().enumerate().filter_map(inner).collect();
        return with_changes(node, changes, put_item);
    }
    let token = node.token()?;
    let flowed = parts.iter().filter(|part| part.start < token.end && token.start < part.end);
    let inputs: Vec<&Location> = flowed.clone().filter_map(|part| part.input.as_ref()).collect();
    if inputs.is_empty() {
        return None;
    }
    let value = match node.scalar(Dialect::GoYamlV3) {
        Scalar::Str(text) => Value::Str(text.into()),
        // Read again, it is what it was.
        _ => Value::Plain(node.text()?.into()),
    };
    let whole = flowed.clone().all(|part| part.input.is_some());
    let origin = Origin::of_all(origins(node.location(), inputs, whole));
    Some(Node::Built(Arc::new(Built { value, origin })))
}

/// The places of a value that inputs flowed into, the one to change first: the input
/// where the value is nothing else, else the template.
fn origins(template: Option<Location>, inputs: Vec<&Location>, whole: bool) -> Vec<Location> {
    let mut all: Vec<Location> = Vec::new();
    let inputs = inputs.into_iter().cloned();
    let places: Vec<Location> = match whole {
        true => inputs.chain(template).collect(),
        false => template.into_iter().chain(inputs).collect(),
    };
    for place in places {
        if !all.contains(&place) {
            all.push(place);
        }
    }
    // Whoever has only the place to change sees there what else it is made of.
    let kind = if whole { ViaKind::Template } else { ViaKind::Input };
    if let Some((first, others)) = all.split_first_mut() {
        for other in others {
            first.passed(Via { kind, location: other.clone() });
        }
    }
    all
}

fn is_disabled(node: NodeRef<'_>) -> Known<bool> {
    match node.at("/metadata/annotations").and_then(|annotations| annotations.get(RECONCILE)) {
        None => Known::Value(false),
        Some(value) if value.is_unknown() => Known::Unknown,
        Some(value) => Known::Value(value.as_str().is_some_and(|value| value == "disabled")),
    }
}

/// A node with its templates filled in; `None` where it has none.
fn rendered(node: NodeRef<'_>, inputs: &Inputs<'_>, depth: usize) -> Result<Option<Node>, Refusal> {
    if depth > DEPTH_LIMIT {
        return Err(Refusal::Anything);
    }
    if node.is_map() {
        let mut changes = Vec::new();
        for (index, entry) in node.entries().enumerate() {
            if entry.key.contains("<<") {
                return Err(Refusal::Anything);
            }
            if let Some(value) = rendered(entry.value, inputs, depth + 1)? {
                changes.push((index, value));
            }
        }
        return Ok(with_changes(node, changes, put_value));
    }
    if node.is_seq() {
        let mut changes = Vec::new();
        for (index, item) in node.items().enumerate() {
            if let Some(value) = rendered(item, inputs, depth + 1)? {
                changes.push((index, value));
            }
        }
        return Ok(with_changes(node, changes, put_item));
    }
    if node.is_unknown() {
        let holds =
            node.holes().is_some_and(|holes| holes.parts.iter().flatten().any(|part| part.contains("<<")));
        return if holds { Err(Refusal::Anything) } else { Ok(None) };
    }
    let Scalar::Str(text) = node.scalar(Dialect::GoYamlV3) else { return Ok(None) };
    if !text.contains("<<") {
        return Ok(None);
    }
    let filled = fill(&text, inputs)?;
    let places = filled.parts.iter().filter_map(|part| part.input.as_ref()).collect();
    let whole = filled.parts.iter().all(|part| part.input.is_some());
    let origin = Origin::of_all(origins(node.location(), places, whole));
    let value =
        value_of(&text, &filled).unwrap_or_else(|| Value::Unknown("a template of a ResourceSet".into()));
    Ok(Some(Node::Built(Arc::new(Built { value, origin }))))
}

fn put_value(copy: &mut Node, index: usize, value: Node) {
    if let Some(entry) = copy.make_map().and_then(|entries| entries.get_mut(index)) {
        entry.value = value;
    }
}

fn put_item(copy: &mut Node, index: usize, value: Node) {
    if let Some(item) = copy.make_seq().and_then(|items| items.get_mut(index)) {
        *item = value;
    }
}

fn with_changes(
    node: NodeRef<'_>,
    changes: Vec<(usize, Node)>,
    put: impl Fn(&mut Node, usize, Node),
) -> Option<Node> {
    if changes.is_empty() {
        return None;
    }
    let mut copy = node.to_node();
    for (index, value) in changes {
        put(&mut copy, index, value);
    }
    Some(copy)
}

/// A text with its actions filled in.
struct Filled {
    text: String,
    /// What it is made of, in order and without gaps.
    parts: Vec<Part>,
    /// Whether an action has no text that is known here.
    has_unknown: bool,
    /// Whether a part is in quotes that an action wrote.
    has_quotes: bool,
}

/// A run of a filled text.
struct Part {
    /// First byte in the filled text.
    start: u32,
    /// One past the last byte.
    end: u32,
    /// First byte in the template.
    template: u32,
    /// Whether an action gave it; else it is of the template's own bytes.
    is_value: bool,
    /// Where the input is written that an action took; `None` for what no file states.
    input: Option<Location>,
}

impl Part {
    fn range(&self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Fill in the actions of a text.
fn fill(text: &str, inputs: &Inputs<'_>) -> Result<Filled, Refusal> {
    let mut filled = Filled { text: String::new(), parts: Vec::new(), has_unknown: false, has_quotes: false };
    let mut at = 0;
    while let Some(before) = text[at..].find("<<") {
        filled.push(&text[at..at + before], at, false, None);
        let opened = at + before + 2;
        let length = text[opened..].find(">>").ok_or(Refusal::Anything)?;
        match evaluate(&text[opened..opened + length], inputs) {
            Ok(Evaluated { text: value, quoted, place }) => {
                filled.has_quotes |= quoted;
                let value = if quoted { format!("\"{value}\"") } else { value };
                filled.push(&value, at + before, true, place);
            }
            Err(Refusal::Unknown) => filled.has_unknown = true,
            Err(Refusal::Anything) => return Err(Refusal::Anything),
        }
        at = opened + length + 2;
    }
    filled.push(&text[at..], at, false, None);
    Ok(filled)
}

impl Filled {
    fn push(&mut self, text: &str, template: usize, is_value: bool, input: Option<Location>) {
        let start = self.text.len() as u32;
        self.text.push_str(text);
        let end = self.text.len() as u32;
        if start < end {
            self.parts.push(Part { start, end, template: template as u32, is_value, input });
        }
    }
}

/// What a string with templates is when it is read again; `None` where that isn't known.
fn value_of(template: &str, filled: &Filled) -> Option<Value> {
    if filled.has_unknown {
        return None;
    }
    if filled.has_quotes {
        // Quoted, and nothing else: quotes that the reader takes off.
        let [_] = &filled.parts[..] else { return None };
        let inner = filled.text.strip_prefix('"')?.strip_suffix('"')?;
        return Some(Value::Str(inner.into()));
    }
    let style = style_of(template, false);
    if !fits(style, template, &filled.text) {
        return None;
    }
    Some(match style {
        ScalarStyle::Plain => reread(&filled.text),
        _ => Value::Str(filled.text.as_str().into()),
    })
}

/// What an action gives.
struct Evaluated {
    text: String,
    /// Whether it is in double quotes, which are no part of the text.
    quoted: bool,
    /// Where the input is written; `None` for what no file states.
    place: Option<Location>,
}

/// The text of an action.
fn evaluate(action: &str, inputs: &Inputs<'_>) -> Result<Evaluated, Refusal> {
    const CONTROL: [&str; 11] =
        ["if", "else", "end", "range", "with", "define", "template", "block", "break", "continue", "/*"];
    // `<<-` and `->>` take away what is around them.
    let trims = action.starts_with('-') || action.ends_with('-');
    let first = action.split_whitespace().next().unwrap_or_default();
    if trims || first.is_empty() || CONTROL.contains(&first) || action.contains(":=") {
        return Err(Refusal::Anything);
    }
    let mut stages = action.split('|').map(str::trim);
    let path = stages.next().and_then(|stage| stage.strip_prefix("inputs.")).ok_or(Refusal::Unknown)?;
    if !path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')) {
        return Err(Refusal::Unknown);
    }
    let (mut value, place) = look_up(path, inputs)?;
    let mut quoted = false;
    for stage in stages {
        if quoted {
            return Err(Refusal::Unknown);
        }
        value = match stage {
            "quote" if !value.contains(['"', '\\', '\n']) && value.chars().all(|c| !c.is_control()) => {
                quoted = true;
                value
            }
            "toString" => value,
            "lower" => value.to_lowercase(),
            "upper" => value.to_uppercase(),
            _ => return Err(Refusal::Unknown),
        };
    }
    Ok(Evaluated { text: value, quoted, place })
}

/// An input as Go prints it, and where it is written. A key that isn't there fails the
/// ResourceSet.
fn look_up(path: &str, inputs: &Inputs<'_>) -> Result<(String, Option<Location>), Refusal> {
    if let Some(field) = path.strip_prefix("provider.") {
        let provider = inputs.provider;
        let text = match field {
            "apiVersion" => provider.api_version.to_string(),
            "kind" => provider.kind.to_string(),
            "name" => provider.name.to_string(),
            "namespace" => provider.namespace.as_deref().unwrap_or_default().to_owned(),
            _ => return Err(Refusal::Anything),
        };
        return Ok((text, None));
    }
    let mut node = inputs.values;
    for segment in path.split('.') {
        if node.is_unknown() {
            return Err(Refusal::Unknown);
        }
        // `id` is made of a UID.
        node = match node.get(segment) {
            Some(value) => value,
            None if path == "id" => return Err(Refusal::Unknown),
            None => return Err(Refusal::Anything),
        };
    }
    if node.is_unknown() || node.is_map() || node.is_seq() {
        return Err(Refusal::Unknown);
    }
    let text = match node.scalar(Dialect::GoYamlV3) {
        Scalar::Str(text) => text.into_owned(),
        Scalar::Bool(value) => value.to_string(),
        // Numbers are floats after JSON: from a million on with an exponent.
        Scalar::Int(value) if value.abs() < 1_000_000 => value.to_string(),
        _ => return Err(Refusal::Unknown),
    };
    Ok((text, node.location()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::parse_nodes;

    fn text_of(template: &str, inputs: &str) -> String {
        let values = parse_nodes("i.yaml", inputs).remove(0);
        let provider = ObjectId {
            api_version: "fluxcd.controlplane.io/v1".into(),
            kind: "ResourceSet".into(),
            namespace: Some("flux-system".into()),
            name: "apps".into(),
        };
        let inputs = Inputs { values: values.get_ref(), provider: &provider };
        match fill(template, &inputs) {
            Ok(filled) => {
                value_of(template, &filled).map_or("unknown".to_owned(), |value| format!("{value:?}"))
            }
            Err(Refusal::Unknown) => "unknown".to_owned(),
            Err(Refusal::Anything) => "anything".to_owned(),
        }
    }

    #[test]
    fn templates_are_read_as_the_text_that_they_give() {
        let inputs =
            "{a: one, n: 3, big: 1000000, yes: \"true\", b: true, deep: {x: y}, s: 'a: b', list: [1]}";
        for (template, expected) in [
            ("<< inputs.a >>", "Str(\"one\")"),
            ("<<inputs.a>>", "Str(\"one\")"),
            ("x-<< inputs.a >>-<< inputs.deep.x >>", "Str(\"x-one-y\")"),
            ("<< inputs.n >>", "Int(3)"),
            ("<< inputs.n | quote >>", "Str(\"3\")"),
            ("v<< inputs.n >>", "Str(\"v3\")"),
            ("<< inputs.yes >>", "Bool(true)"),
            ("<< inputs.b >>", "Bool(true)"),
            ("<< inputs.a | upper >>", "Str(\"ONE\")"),
            ("<< inputs.provider.name >>", "Str(\"apps\")"),
            ("a: << inputs.a >>", "Str(\"a: one\")"),
            ("line\n<< inputs.a >>\n", "Str(\"line\\none\\n\")"),
            ("<< inputs.big >>", "unknown"),
            ("<< inputs.s >>", "unknown"),
            ("<< inputs.list >>", "unknown"),
            ("<< inputs.id >>", "unknown"),
            ("<< inputs.a | slugify >>", "unknown"),
            ("<< printf \"%s\" inputs.a >>", "unknown"),
            ("x<< inputs.a | quote >>", "unknown"),
            ("<< inputs.none >>", "anything"),
            ("<< inputs.a", "anything"),
            ("<<- inputs.a >>", "anything"),
            ("<< if inputs.a >>x<< end >>", "anything"),
            ("<<- range inputs.list ->>", "anything"),
        ] {
            assert_eq!(text_of(template, inputs), expected, "{template}");
        }
    }
}
