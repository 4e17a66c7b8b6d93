//! The parts of a ClusterClass that have names, where they are used, and the edits of
//! them.

use super::{Refused, apply, changed, template};
use crate::files::Snapshot;
use crate::lang::yaml::NodeRef;
use crate::lang::yaml::edit::{Content, Operation};
use crate::model::cluster_api_kinds as kinds;
use crate::model::value::to_json;
use crate::rewrite::subject::{EditableText, text_of};
use crate::rewrite::{FileChange, Wanted};
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::world::{Effective, World};
use serde_json::Value;

/// What of a ClusterClass is renamed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassPartKind {
    /// A class of MachineDeployments or MachinePools.
    Worker,
    /// A variable.
    Variable,
}

impl ClassPartKind {
    /// What it is called.
    pub(crate) fn what(self) -> &'static str {
        match self {
            ClassPartKind::Worker => "worker class",
            ClassPartKind::Variable => "variable",
        }
    }

    /// The key that names an entry of its lists.
    pub(crate) fn key(self) -> &'static str {
        match self {
            ClassPartKind::Worker => "class",
            ClassPartKind::Variable => "name",
        }
    }
}

/// An object with the old name wherever the new one stands, copies being one.
pub(super) fn normal(part: ClassPartKind, old: &str, new: &str, object: &Effective) -> Result<Value, String> {
    let mut value = to_json(object.node.get_ref());
    let is_class = object.id.is(kinds::CORE, "ClusterClass");
    let lists: Vec<String> = match (part, is_class) {
        (ClassPartKind::Variable, true) => vec!["/spec/variables".to_owned()],
        (ClassPartKind::Worker, true) => {
            WorkerKind::BOTH.iter().map(|kind| format!("/spec/workers/{}", kind.list())).collect()
        }
        (_, false) => lists_of_cluster(object.node.get_ref(), part),
    };
    for list in lists {
        let Some(Value::Array(entries)) = value.pointer_mut(&list) else { continue };
        for entry in entries.iter_mut() {
            if let Some(Value::String(name)) = entry.get_mut(part.key())
                && name == new
            {
                *name = old.to_owned();
            }
        }
        if part == ClassPartKind::Variable || is_class {
            merge(entries, part.key(), old)?;
        }
    }
    let Some(Value::Array(patches)) = value.pointer_mut("/spec/patches").filter(|_| is_class) else {
        return Ok(value);
    };
    for patch in patches {
        normalise_patch(part, old, new, patch);
    }
    Ok(value)
}

/// A patch of a class with the old name wherever the new one stands.
fn normalise_patch(part: ClassPartKind, old: &str, new: &str, patch: &mut Value) {
    let text = |value: Option<&mut Value>, rename: &dyn Fn(&str) -> String| {
        if let Some(Value::String(text)) = value {
            *text = rename(text);
        }
    };
    if part == ClassPartKind::Variable {
        text(patch.get_mut("enabledIf"), &|text| template::renamed(text, new, old));
    }
    let Some(Value::Array(definitions)) = patch.get_mut("definitions") else { return };
    for definition in definitions {
        if part == ClassPartKind::Worker {
            normalise_selector(old, new, definition);
            continue;
        }
        let Some(Value::Array(patches)) = definition.get_mut("jsonPatches") else { continue };
        for patch in patches {
            text(patch.pointer_mut("/valueFrom/template"), &|text| template::renamed(text, new, old));
            text(patch.pointer_mut("/valueFrom/variable"), &|text| match text.strip_prefix(new) {
                Some(rest) if rest.is_empty() || rest.starts_with(['.', '[']) => {
                    format!("{old}{rest}")
                }
                _ => text.to_owned(),
            });
        }
    }
}

/// The worker classes that a patch selects, once each.
fn normalise_selector(old: &str, new: &str, definition: &mut Value) {
    for list in ["machineDeploymentClass", "machinePoolClass"] {
        let names = definition.pointer_mut(&format!("/selector/matchResources/{list}/names"));
        let Some(Value::Array(names)) = names else { continue };
        let mut seen = false;
        names.retain_mut(|name| {
            if name == new {
                *name = Value::String(old.to_owned());
            }
            let again = name == old && seen;
            seen |= name == old;
            !again
        });
    }
}

/// Entries of one name are one, required where one of them is.
fn merge(entries: &mut Vec<Value>, key: &str, name: &str) -> Result<(), String> {
    let mut first: Option<(usize, Value)> = None;
    let mut required = false;
    let mut kept = Vec::new();
    for mut entry in std::mem::take(entries) {
        if entry.get(key).and_then(Value::as_str) != Some(name) {
            kept.push(entry);
            continue;
        }
        required |= entry.get("required") == Some(&Value::Bool(true));
        if let Value::Object(map) = &mut entry {
            map.remove("required");
        }
        match &first {
            Some((_, known)) if *known != entry => return Err(format!("the copy of {name} is not the same")),
            Some(_) => {}
            None => {
                first = Some((kept.len(), entry.clone()));
                kept.push(entry);
            }
        }
    }
    if let Some((at, _)) = first
        && required
    {
        kept[at]["required"] = Value::Bool(true);
    }
    *entries = kept;
    Ok(())
}

/// Entries of a list that a key names so.
pub(super) fn named<'n>(
    node: NodeRef<'n>,
    list: &str,
    key: &'static str,
    name: &str,
) -> impl Iterator<Item = NodeRef<'n>> {
    let name = name.to_owned();
    node.items_at(list)
        .filter(move |entry| entry.get(key).and_then(NodeRef::as_str).as_deref() == Some(&*name))
}

/// The lists of a Cluster whose entries name parts of its class.
pub(crate) fn lists_of_cluster(node: NodeRef<'_>, part: ClassPartKind) -> Vec<String> {
    let workers = WorkerKind::BOTH.map(|kind| format!("/spec/topology/workers/{}", kind.list()));
    if part == ClassPartKind::Worker {
        return workers.into();
    }
    let mut lists = vec![
        "/spec/topology/variables".to_owned(),
        "/spec/topology/controlPlane/variables/overrides".to_owned(),
    ];
    for list in workers {
        for at in 0..node.items_at(&list).count() {
            lists.push(format!("{list}/{at}/variables/overrides"));
        }
    }
    lists
}

/// The names by which patches select worker classes.
pub(crate) fn selectors(class: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let definitions = class.items_at("/spec/patches").flat_map(|patch| patch.items_at("/definitions"));
    definitions
        .flat_map(|definition| {
            ["machineDeploymentClass", "machinePoolClass"].into_iter().flat_map(move |list| {
                definition.items_at(&format!("/selector/matchResources/{list}/names")).collect::<Vec<_>>()
            })
        })
        .collect()
}

/// Where patches use variables: the text, and whether it is a template.
pub(crate) fn uses(class: NodeRef<'_>) -> Vec<(NodeRef<'_>, bool)> {
    let mut found = Vec::new();
    for patch in class.items_at("/spec/patches") {
        found.extend(patch.get("enabledIf").map(|node| (node, true)));
        for json in patch.items_at("/definitions").flat_map(|definition| definition.items_at("/jsonPatches"))
        {
            found.extend(json.at("/valueFrom/template").map(|node| (node, true)));
            found.extend(json.at("/valueFrom/variable").map(|node| (node, false)));
        }
    }
    found
}

/// The text of an entry.
pub(super) fn text(world: &World, entry: NodeRef<'_>) -> Result<EditableText, Vec<Refused>> {
    text_of(&world.snapshot, entry)
        .ok_or_else(|| vec![Refused::no_text(entry.location(), "this", "change it by hand")])
}

/// The text of a scalar that is written as it is meant.
pub(super) fn text_at(world: &World, node: NodeRef<'_>) -> Result<EditableText, Vec<Refused>> {
    let found = text(world, node)?;
    let written = super::texts::root_of(&world.snapshot, &found.path, found.document);
    let written = written.as_ref().and_then(|root| root.get_ref().at(&found.pointer)).and_then(NodeRef::text);
    if written.as_deref() != node.text().as_deref() {
        let why = format!("`{}` is computed here", node.text().unwrap_or_default());
        return Err(vec![Refused::at(node.location(), why, "write it out first")]);
    }
    Ok(found)
}

/// A list and the place in it of an item.
fn place(world: &World, item: NodeRef<'_>) -> Result<(EditableText, usize), Vec<Refused>> {
    let text = text(world, item)?;
    let split =
        text.pointer.rsplit_once('/').and_then(|(list, at)| Some((list.to_owned(), at.parse().ok()?)));
    match split {
        Some((list, at)) => Ok((EditableText { pointer: list, ..text }, at)),
        None => Err(vec![Refused::at(item.location(), "this is no item of a list", "change it by hand")]),
    }
}

pub(super) fn insert(world: &World, item: NodeRef<'_>, value: Content) -> Result<Wanted, Vec<Refused>> {
    let (list, at) = place(world, item)?;
    let root = super::texts::root_of(&world.snapshot, &list.path, list.document);
    let count = root.as_ref().map_or(0, |root| root.get_ref().items_at(&list.pointer).count());
    let before = (at + 1 < count).then_some(at + 1);
    let operation = Operation::InsertItem { list: list.pointer, before, value };
    Ok(Wanted { path: list.path, document: list.document, operation })
}

/// The changes of insertions, with a comment behind the names of what was inserted.
pub(super) fn marked(
    snapshot: &Snapshot,
    changes: Vec<FileChange>,
    wanted: &[Wanted],
    (key, name, mark): (&str, &str, &str),
) -> Result<Vec<FileChange>, Vec<Refused>> {
    let mut marks = Vec::new();
    for one in wanted {
        let Operation::InsertItem { list, before, value: Content::Map(_) } = &one.operation else { continue };
        let root = super::texts::root_of(snapshot, &one.path, one.document);
        let count = root.as_ref().map_or(0, |root| root.get_ref().items_at(list).count());
        let pointer = format!("{list}/{}/{key}", before.unwrap_or(count));
        let operation = Operation::Set { pointer, value: Content::str(name), comment: Some(mark.to_owned()) };
        marks.push(Wanted { operation, ..one.clone() });
    }
    let mut again = apply(&changed(snapshot, &changes), &marks)?;
    for change in changes {
        match again.iter_mut().find(|one| one.path == change.path) {
            Some(one) => one.before = change.before,
            None => again.push(change),
        }
    }
    again.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(again)
}

pub(super) fn remove(world: &World, item: NodeRef<'_>) -> Result<Wanted, Vec<Refused>> {
    let text = text(world, item)?;
    let operation = Operation::RemoveItem { pointer: text.pointer };
    Ok(Wanted { path: text.path, document: text.document, operation })
}

/// A value as it can be written again; none where a number is no integer.
pub(super) fn content(node: NodeRef<'_>) -> Option<Content> {
    if node.is_map() {
        let entries = node.entries().map(|entry| Some((entry.key.to_string(), content(entry.value)?)));
        return entries.collect::<Option<Vec<_>>>().map(Content::Map);
    }
    if node.is_seq() {
        return node.items().map(content).collect::<Option<Vec<_>>>().map(Content::Seq);
    }
    if node.is_null() {
        return Some(Content::Null);
    }
    if let Some(value) = node.as_bool() {
        return Some(Content::Bool(value));
    }
    if let Some(text) = node.as_str() {
        return Some(Content::str(text.into_owned()));
    }
    node.as_int().map(Content::Int)
}
