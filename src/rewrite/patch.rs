//! Suspensions as patches: an entry under `patches` of the kustomization that a
//! cluster builds reaches an object in that cluster alone, where the manifest
//! itself feeds others too.

use super::Wanted;
use super::subject::{EditableText, Subject, Via, home, overlay};
use crate::build::kustomize::FILE_NAMES;
use crate::files::Snapshot;
use crate::lang::yaml::edit::{Content, KeyPlace, Operation, Prune, pointer_of};
use crate::lang::yaml::{NodeRef, Source};
use crate::model::ObjectId;
use crate::simulate::suspend::ANNOTATION;
use crate::world::World;
use std::sync::Arc;

/// The ways to write such a patch, the most precise first; which of them reaches
/// the object and nothing else is for a proof to say.
pub(crate) fn suspending(
    snapshot: &Snapshot,
    world: &World,
    subject: Subject<'_>,
    via: Via,
    message: Option<&str>,
) -> Vec<Wanted> {
    let Some(file) = overlay(snapshot, world, subject) else { return Vec::new() };
    let Some(root) = root(snapshot, &file) else { return Vec::new() };
    let id = &subject.object.id;
    // A namespace or a prefix of the overlay itself comes after its patches.
    let mut names: Vec<(String, Option<String>)> =
        vec![(id.name.to_string(), id.namespace.as_deref().map(str::to_owned)), (id.name.to_string(), None)];
    if let Some(own) = home(subject.object).and_then(|place| {
        let objects = snapshot.objects();
        let found = objects.iter().find(|object| {
            object
                .node
                .get_ref()
                .location()
                .is_some_and(|at| at.file == place.file && at.start == place.start)
        });
        found.map(|object| object.id.clone())
    }) {
        let namespace = own.namespace.as_deref().map(str::to_owned);
        names.extend([(own.name.to_string(), namespace), (own.name.to_string(), None)]);
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    for (name, namespace) in names {
        let entry = entry(root, id, (&name, namespace.as_deref()), via, message);
        let operation = match root.get("patches").filter(|list| list.is_seq()) {
            Some(_) => Operation::InsertItem { list: "/patches".to_owned(), before: None, value: entry },
            None => Operation::InsertKey {
                map: String::new(),
                key: "patches".to_owned(),
                value: Content::Seq(vec![entry]),
                place: KeyPlace::End,
                comment: None,
            },
        };
        let change = Wanted { path: file.path.clone(), document: file.document, operation };
        if !wanted.contains(&change) {
            wanted.push(change);
        }
    }
    wanted
}

/// The removal of the patch that states a value, where the patch is one that
/// [`suspending`] writes.
pub(crate) fn resuming(snapshot: &Snapshot, value: NodeRef<'_>) -> Option<Wanted> {
    let location = value.location()?;
    let name = location.file.shown().rsplit('/').next()?;
    if !FILE_NAMES.contains(&name) {
        return None;
    }
    let file = snapshot.find(&location.file)?;
    let source = snapshot.sources(file).iter().find(|source| !source.document().tokens.is_empty())?;
    let root = NodeRef::Source(source, 0);
    let holds = |item: &NodeRef<'_>| {
        item.location().is_some_and(|at| at.start <= location.start && location.end <= at.end)
    };
    let items: Vec<NodeRef<'_>> = root.items_at("/patches").collect();
    let item = items.iter().find(|item| holds(item))?;
    if !is_ours(*item) {
        return None;
    }
    let (_, pointer) = pointer_of(*item)?;
    let operation = match items.len() {
        1 => Operation::RemoveKey { pointer: "/patches".to_owned(), prune: Prune::Keep },
        _ => Operation::RemoveItem { pointer },
    };
    Some(Wanted { path: source.file.writable()?, document: source.index, operation })
}

fn root<'s>(snapshot: &'s Snapshot, text: &EditableText) -> Option<NodeRef<'s>> {
    let file = snapshot.file(&text.path)?;
    let source: &Arc<Source> = snapshot.sources(file).iter().find(|source| source.index == text.document)?;
    Some(NodeRef::Source(source, 0))
}

/// How the last patch of a file is written.
struct Habit {
    /// A partial object, else operations.
    merges: bool,
    /// `target` before `patch`.
    target_first: bool,
}

impl Habit {
    fn of(root: NodeRef<'_>) -> Habit {
        let last = root.items_at("/patches").filter(|item| item.get("patch").is_some()).last();
        let text = last.and_then(|item| item.str_at("/patch").map(|text| text.into_owned()));
        let first = last.and_then(|item| item.entries().next().map(|entry| entry.key == "target"));
        Habit {
            merges: text.is_some_and(|text| !text.trim_start().starts_with(['-', '['])),
            target_first: first.unwrap_or(false),
        }
    }
}

fn entry(
    root: NodeRef<'_>,
    id: &ObjectId,
    (name, namespace): (&str, Option<&str>),
    via: Via,
    message: Option<&str>,
) -> Content {
    let habit = Habit::of(root);
    let comment = message.filter(|_| via == Via::Spec).map_or(String::new(), |text| format!(" # {text}"));
    let text = match via {
        Via::Spec if !habit.merges => format!("- op: add\n  path: /spec/suspend\n  value: true{comment}"),
        Via::Spec => format!("{}\nspec:\n  suspend: true{comment}", head(id, name, namespace)),
        Via::Annotation => {
            let value = serde_json::Value::from(message.unwrap_or("suspended"));
            let head = head(id, name, namespace);
            format!("{head}\n  annotations:\n    {ANNOTATION}: {value}")
        }
    };
    let patch = ("patch".to_owned(), Content::Str(text));
    let mut target =
        vec![("kind".to_owned(), Content::str(&*id.kind)), ("name".to_owned(), Content::str(name))];
    target.extend(namespace.map(|namespace| ("namespace".to_owned(), Content::str(namespace))));
    let target = ("target".to_owned(), Content::Map(target));
    Content::Map(if habit.target_first { vec![target, patch] } else { vec![patch, target] })
}

/// The head of a partial object; its metadata is open for more.
fn head(id: &ObjectId, name: &str, namespace: Option<&str>) -> String {
    let namespace = namespace.map_or(String::new(), |namespace| format!("\n  namespace: {namespace}"));
    format!("apiVersion: {}\nkind: {}\nmetadata:\n  name: {name}{namespace}", id.api_version, id.kind)
}

/// Whether a patch says nothing but that its target is suspended, in the form in
/// which [`suspending`] writes it.
fn is_ours(item: NodeRef<'_>) -> bool {
    let Some(text) = item.str_at("/patch") else { return false };
    let has_target = item.at("/target/name").is_some() && item.entries().count() == 2;
    let lines: Vec<&str> =
        text.lines().map(|line| line.split(" # ").next().unwrap_or(line).trim_end()).collect();
    let operations = lines == ["- op: add", "  path: /spec/suspend", "  value: true"];
    let merges = lines.first().is_some_and(|line| line.starts_with("apiVersion: "))
        && lines.ends_with(&["spec:", "  suspend: true"])
        && lines.len() <= 7;
    let annotates = lines.len() <= 7
        && lines.iter().rev().nth(1) == Some(&"  annotations:")
        && lines.last().is_some_and(|line| line.trim_start().starts_with(ANNOTATION));
    has_target && (operations || merges || annotates)
}
