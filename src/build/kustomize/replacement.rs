//! `replacements`.
//!
//! Mirrors `api/filters/replacement/replacement.go` and
//! `api/internal/builtins/ReplacementTransformer.go`.

use super::WarningKind;
use super::builder::{BuildLevel, Builder, documents_of, unless_remote};
use super::decode::{Decoder, Text};
use super::entries::{self, FieldOptions, Replacement, ReplacementSource, ReplacementTarget, Selector};
use super::error::{BuildError, ErrorClass, Result};
use super::id::ResId;
use super::load::{self, TextPlace};
use super::names::NameIndex;
use super::nodes::{self, Kind};
use super::path::{self, Create};
use super::resource::Resource;
use super::selector::Compiled;
use super::structured;
use crate::lang::text::counted;
use crate::lang::yaml::{Location, Node, NodeRef, Value, Via, ViaKind};

/// `replacements` of a level.
pub(super) fn replacements(
    builder: &mut Builder<'_>,
    level: &BuildLevel,
    entries: &[Replacement],
    resources: &mut [Resource],
) -> Result<()> {
    let mut names = NameIndex::default();
    for replacement in all(builder, level, entries)? {
        apply(builder, &replacement, resources, &mut names)?;
    }
    Ok(())
}

/// The replacements that the entries hold or name.
fn all(builder: &mut Builder<'_>, level: &BuildLevel, entries: &[Replacement]) -> Result<Vec<Replacement>> {
    let decoder = Decoder::lenient(ErrorClass::Replacement);
    let mut found = Vec::new();
    for entry in entries {
        let Some(path) = &entry.path else {
            found.push(entry.clone());
            continue;
        };
        if entry.source.is_some() || entry.targets.as_ref().is_some_and(|targets| !targets.is_empty()) {
            let message = "a replacement has either a path or a source with targets";
            return Err(BuildError::at(ErrorClass::Replacement, message, entry.node.get_ref()));
        }
        let Some(file) = unless_remote(builder.read(level, path))? else { continue };
        let documents = documents_of(&file, &TextPlace::default())?;
        let root = documents.first().map(Node::get_ref);
        match root {
            Some(root) if root.is_seq() => {
                found.extend(decoder.list(root, |item| entries::replacement(decoder, item))?);
            }
            Some(root) if root.is_map() => found.push(entries::replacement(decoder, root)?),
            _ => {
                let message = format!("{} must hold a replacement or a list of them", path.value);
                return Err(BuildError::at(ErrorClass::Replacement, message, path.node.get_ref()));
            }
        }
    }
    Ok(found)
}

/// Apply one replacement; `names` is the same for those in a row.
fn apply(
    builder: &mut Builder<'_>,
    replacement: &Replacement,
    resources: &mut [Resource],
    names: &mut NameIndex,
) -> Result<()> {
    let error =
        |message: &str| Err(BuildError::at(ErrorClass::Replacement, message, replacement.node.get_ref()));
    let Some(targets) = &replacement.targets else {
        return error("a replacement needs a source and targets");
    };
    let value = match (&replacement.source, &replacement.source_value) {
        (None, None) => return error("a replacement needs a source and targets"),
        (Some(_), Some(_)) => return error("a replacement takes either `source` or `sourceValue`"),
        (None, Some(text)) => Node::scalar(Value::Plain(text.value.clone()), text.node.get_ref().location()),
        (Some(source), None) => match source_value(source, resources, names)? {
            Some(value) => value,
            // Its object may be in what was left out.
            None if builder.is_partial() => return Ok(()),
            None => {
                let message = format!("the source selects nothing here: {}", described(&source.selector));
                return Err(BuildError::at(ErrorClass::Replacement, message, source.selector.node.get_ref()));
            }
        },
    };
    for target in targets {
        let matched = apply_target(builder, target, &value, resources, names)?;
        if !matched {
            let message = "the target of this replacement selects nothing here".to_owned();
            builder.warn(WarningKind::UnmatchedReplacementTarget, message, target.node.get_ref().location());
        }
    }
    Ok(())
}

/// The value that a source names: of exactly one object; `None` where none is selected.
fn source_value(
    source: &ReplacementSource,
    resources: &[Resource],
    names: &mut NameIndex,
) -> Result<Option<Node>> {
    let selector = &source.selector;
    let error = |message: String| BuildError::at(ErrorClass::Replacement, message, selector.node.get_ref());
    let named = names.positions(resources, Some(&*selector.name).filter(|name| !name.is_empty()));
    let named = named.into_iter().map(|at| &resources[at]);
    let mut selected = named.filter(|resource| resource.ids().any(|id| is_selected(id, selector)));
    let Some(object) = selected.next() else {
        return Ok(None);
    };
    if let Some(other) = selected.next() {
        let message = format!("the source must select one object, {} and {} match", object.id, other.id);
        return Err(error(message)
            .related("one of them", object.location())
            .related("another one", other.location()));
    }
    let field = if source.field_path.is_empty() { "metadata.name" } else { &source.field_path };
    let found = path::lookup(object.node.get_ref(), &path::split(field)).map_err(|reason| {
        error(format!("the source's fieldPath {field} doesn't fit {}: {reason}", object.id))
    })?;
    match found {
        Some(value) if !nodes::is_empty(Some(value)) => refine(source, value).map(Some),
        _ => {
            Err(error(format!("{} has no {field} to copy", object.id))
                .related("the object", object.location()))
        }
    }
}

fn described(selector: &Selector) -> String {
    [&selector.group, &selector.version, &selector.kind, &selector.namespace, &selector.name]
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| part.to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Exact equality of what is given, namespaces in effect.
fn is_selected(id: &ResId, selector: &Selector) -> bool {
    let namespace = || {
        let wanted = ResId::new(
            &api_version(&selector.group, &selector.version),
            &selector.kind,
            selector.name.clone(),
            selector.namespace.clone(),
        );
        wanted.effective_namespace() == id.effective_namespace()
    };
    (selector.name.is_empty() || selector.name == id.name)
        && id.gvk.is_selected_by(&selector.group, &selector.version, &selector.kind)
        && (selector.namespace.is_empty() || namespace())
}

fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// One part of a scalar, where the source asks for it.
fn refine(source: &ReplacementSource, value: NodeRef<'_>) -> Result<Node> {
    let options = &source.options;
    if options.delimiter.is_empty() {
        return Ok(value.to_node());
    }
    let error = |message: String| {
        Err(BuildError::at(ErrorClass::Replacement, message, source.selector.node.get_ref()))
    };
    if value.is_map() || value.is_seq() {
        return error("the delimiter of a source needs a scalar".to_owned());
    }
    let text = nodes::text(value);
    let part =
        usize::try_from(options.index).ok().and_then(|index| text.split(&*options.delimiter).nth(index));
    match part {
        Some(part) => Ok(Node::scalar(retyped(value, part), value.location())),
        None => {
            let parts = counted(text.split(&*options.delimiter).count(), "part");
            error(format!("index {} is out of bounds: the value has {parts}", options.index))
        }
    }
}

/// A text with the type of the scalar that it comes from.
fn retyped(from: NodeRef<'_>, text: &str) -> Value {
    if nodes::is_string(from) { Value::Str(text.into()) } else { Value::Plain(text.into()) }
}

/// Write a value into what a target selects; whether it selects anything.
fn apply_target(
    builder: &mut Builder<'_>,
    target: &ReplacementTarget,
    value: &Node,
    resources: &mut [Resource],
    names: &mut NameIndex,
) -> Result<bool> {
    let Some(select) = &target.select else {
        let message = "a replacement's target needs `select`";
        return Err(BuildError::at(ErrorClass::Replacement, message, target.node.get_ref()));
    };
    let selected = Compiled::new(select)?;
    let rejected: Vec<(Compiled, bool)> = target
        .reject
        .iter()
        .map(|reject| Ok((Compiled::new(reject)?, !described(reject).is_empty())))
        .collect::<Result<_>>()?;
    let default = [Text { value: "metadata.name".into(), node: target.node.clone() }];
    let paths = if target.field_paths.is_empty() { &default[..] } else { &target.field_paths };
    let mut matched = false;
    for at in names.positions(resources, selected.only_name()) {
        let resource = &mut resources[at];
        let matches = |compiled: &Compiled| {
            resource.ids().any(|id| compiled.matches_id(&id.gvk, &id.name, &id.namespace))
        };
        let is_rejected = rejected.iter().any(|(compiled, has_id)| {
            *has_id && matches(compiled) || compiled.has_metadata() && compiled.matches_metadata(resource)
        });
        if !selected.matches_metadata(resource) || is_rejected || !matches(&selected) {
            continue;
        }
        matched = true;
        for field in paths {
            let common = resource.common_in(resource.node.get_ref(), None);
            write(builder, resource, field, &target.options, value)?;
            if let Some(common) = common {
                resource.write_through(common, None);
            }
        }
        resource.suspect = true;
        if !matches!(nodes::kind(Some(value.get_ref())), Kind::Scalar | Kind::Null) {
            load::inspect(resource.node.get_ref())?;
        }
        resource.sync();
        names.add(at, resource);
    }
    Ok(matched)
}

/// Write a value at one path of an object.
fn write(
    builder: &mut Builder<'_>,
    resource: &mut Resource,
    field: &Text,
    options: &FieldOptions,
    value: &Node,
) -> Result<()> {
    let steps = path::split(&field.value);
    let create =
        if options.create { Create::Kind(nodes::kind(Some(value.get_ref()))) } else { Create::Never };
    let place = value_location(value, field);
    if structured::replace(&mut resource.node, &steps, create, value.get_ref(), place.as_ref()) {
        return Ok(());
    }
    let id = resource.id.clone();
    let mut over = None;
    let error = |reason: String| {
        let message = format!("{} of {id} can't be replaced: {reason}", field.value);
        BuildError::at(ErrorClass::Replacement, message, field.node.get_ref())
    };
    let count = path::for_each(&mut resource.node, &steps, create, &mut |leaf| {
        let copied = nodes::text(value.get_ref()).len() + nodes::text(leaf.get_ref()).len();
        if let Err(limit) = builder.copy(copied, field.node.get_ref()) {
            over = Some(limit);
            return Err(String::new());
        }
        set(leaf, options, value, place.as_ref())
    });
    if let Some(limit) = over {
        return Err(limit);
    }
    let count = count.map_err(error)?;
    if count == 0 {
        return Err(error("there is no such field".to_owned()));
    }
    Ok(())
}

/// Where a replaced value comes from: the source, through the target's path.
fn value_location(value: &Node, field: &Text) -> Option<Location> {
    let mut location = value.get_ref().location()?;
    if let Some(target) = field.node.get_ref().location() {
        location.passed(Via { kind: ViaKind::Transformer, location: target });
    }
    Some(location)
}

/// Write over one node: of a scalar only the text.
fn set(
    leaf: &mut Node,
    options: &FieldOptions,
    value: &Node,
    place: Option<&Location>,
) -> std::result::Result<(), String> {
    let old = leaf.get_ref();
    let is_scalar = !old.is_map() && !old.is_seq();
    let mut text = nodes::text(value.get_ref()).into_owned();
    if !options.delimiter.is_empty() {
        if !is_scalar {
            return Err("the delimiter of a target needs a scalar".to_owned());
        }
        let old_text = nodes::text(old);
        let mut parts: Vec<&str> = old_text.split(&*options.delimiter).collect();
        match usize::try_from(options.index) {
            Err(_) => parts.insert(0, &text),
            Ok(index) if index >= parts.len() => parts.push(&text),
            Ok(index) => parts[index] = &text,
        }
        text = parts.join(&options.delimiter);
    }
    *leaf = if is_scalar {
        nodes::restyled(Node::scalar(nodes::written(old, &text)?, place.cloned()), nodes::style(old))
    } else {
        value.clone()
    };
    Ok(())
}
