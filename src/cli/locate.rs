//! `forebay locate`.

use super::common::Common;
use super::output;
use super::places::Places;
use super::selector::ObjectSelector;
use super::session::{LocatedObject, Session, one_object};
use super::{Answer, Failure, Status};
use crate::lang::text::clean;
use crate::lang::yaml::{Node, NodeRef, pointer_join};
use crate::lint::engine::NotChecked;
use crate::model::Name;
use crate::model::kinds::is_helm_release;
use crate::report::references::dotted;
use crate::report::{self, objects, parts};
use crate::sources::values::{By, of_release};
use crate::world::{ApplyTarget, World};
use serde_json::json;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of `locate`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// The object: KIND/[NAMESPACE/]NAME, or KIND NAME
    object: String,
    /// JSON Pointer of the value, such as /spec/replicas, or spec.replicas
    #[arg(value_name = "POINTER", num_args = 0..=2)]
    pointer: Vec<String>,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let words = &arguments.pointer;
    let (object, written) = match (words.as_slice(), arguments.object.contains('/')) {
        ([], _) => (arguments.object.clone(), ""),
        ([pointer], true) => (arguments.object.clone(), pointer.as_str()),
        ([name, rest @ ..], false) => {
            (format!("{}/{name}", arguments.object), rest.first().map_or("", String::as_str))
        }
        _ => return Err(Failure::Usage("write OBJECT POINTER, or KIND NAME POINTER".to_owned())),
    };
    let selector = ObjectSelector::of(common, &object)?;
    let pointer = pointer_of(written);
    let session = Session::open(common, &[])?;
    let world = session.world();
    let found = one_object(common, &world, &selector)?;
    let Some(first) = found.first() else {
        return Err(selector.missing(&world, []));
    };
    let masked =
        objects::masked(first.object.node.get_ref(), &session.snapshot, &mut objects::Masks::default());
    let node = masked.get_ref();
    let given = given(&world, first, &pointer).map(|(layer, inner, by)| {
        (objects::masked(layer.get_ref(), &session.snapshot, &mut objects::Masks::default()), inner, by)
    });
    let from = given.as_ref().and_then(|(layer, inner, by)| Some((layer.get_ref().at(inner)?, by)));
    let Some(value) = node.at(&pointer).or(from.map(|(value, _)| value)) else {
        let help = nearest(node, &pointer);
        return Err(Failure::Usage(format!("{} has no {}; {help}", first.object.id, pointer)));
    };
    let location = value.location().or_else(|| node.location_at(&pointer));
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let header = report::json::header("locate", None, Some(&world), &NotChecked::default());
            let mut body = json!({
                "location": parts::location(&session.snapshot, location.as_ref()),
                "value": objects::json(value).unwrap_or(serde_json::Value::Null),
            });
            if let Some(origins) = parts::origins_of(&session.snapshot, value, location.as_ref()) {
                body["origins"] = origins.into();
            }
            report::json::write(out, &report::json::answer(header, body))
        }
        Format::Text => match &location {
            Some(location) => {
                let by = from.filter(|_| node.at(&pointer).is_none());
                let by = by.map_or_else(String::new, |(_, by)| format!(" (by valuesFrom, {})", clean(by)));
                writeln!(out, "{}{by}", Places::of(common, &session).text(location))
            }
            None => writeln!(out, "no file states this value"),
        },
    })?;
    Ok(Status::Clean)
}

/// A JSON Pointer; `spec.interval` is what kubectl's jsonpath calls /spec/interval.
pub(super) fn pointer_of(written: &str) -> String {
    if written.is_empty() || written.starts_with('/') {
        return written.to_owned();
    }
    let keys = written.trim_start_matches('.').replace('[', ".").replace(']', "");
    keys.split('.').fold(String::new(), |pointer, key| pointer_join(&pointer, key))
}

/// The values beside `spec.values` that set a pointer into them, as helm-controller merges
/// them: the last document of `valuesFrom` that has it, the pointer in it, and its object and
/// key in words. Of those with a `targetPath` the value is one text.
pub(super) fn given(
    world: &World,
    found: &LocatedObject<'_>,
    pointer: &str,
) -> Option<(Node, String, String)> {
    let inner = pointer.strip_prefix("/spec/values").filter(|rest| rest.starts_with('/'))?;
    let (id, node) = (&found.object.id, found.object.node.get_ref());
    if !is_helm_release(id) {
        return None;
    }
    let lookup = |kind: &str, namespace: Option<&str>, name: &str| {
        let member = found.cluster.find(&ApplyTarget::Local, Name::new("", kind, namespace, name))?;
        Some(world.object(member.object).node.clone())
    };
    let values = of_release(id, node, &lookup, &|file| world.snapshot.written(file)).ok()?;
    values.layers.into_iter().rev().find_map(|layer| {
        let (pointer, reference) = match layer.by {
            By::Release => return None,
            By::Reference(reference) => (inner.to_owned(), reference),
            By::TargetPath(reference, _) => {
                let mut entries = node.items_at("/spec/valuesFrom");
                let entry = entries.find(|entry| entry.location() == reference.location)?;
                (entry.str_at("/targetPath")? == dotted(inner)).then(|| (String::new(), reference))?
            }
        };
        layer.root.get_ref().at(&pointer)?;
        Some((layer.root, pointer, reference.told))
    })
}

/// What there is at the nearest parent that exists.
pub(super) fn nearest(node: NodeRef<'_>, pointer: &str) -> String {
    let mut parent = pointer;
    while let Some((shorter, _)) = parent.rsplit_once('/') {
        parent = shorter;
        if let Some(found) = node.at(parent) {
            let keys: Vec<String> = found.entries().take(12).map(|entry| entry.key.into_owned()).collect();
            let shown = if parent.is_empty() { "the object" } else { parent };
            return match found.items().count() {
                0 if keys.is_empty() => format!("{shown} holds nothing"),
                0 => format!("{shown} has {}", keys.join(", ")),
                count => format!("{shown} has items 0 to {}", count - 1),
            };
        }
    }
    "write a JSON Pointer, such as /metadata/name".to_owned()
}
