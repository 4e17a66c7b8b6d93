//! `forebay locate`.

use super::common::Common;
use super::output;
use super::selector::Selector;
use super::session::{Session, one_object};
use super::{Answer, Failure, Status};
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::lint::engine::NotChecked;
use crate::report::{self, objects, parts};
use serde_json::json;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of `locate`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// The object: KIND/[NAMESPACE/]NAME
    object: String,
    /// JSON Pointer of the value, such as /spec/replicas, or spec.replicas
    #[arg(default_value = "")]
    pointer: String,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let selector = Selector::of(common, &arguments.object)?;
    // `spec.interval` is what kubectl's jsonpath calls /spec/interval.
    let pointer = match arguments.pointer.as_str() {
        "" => String::new(),
        pointer if pointer.starts_with('/') => pointer.to_owned(),
        dotted => {
            let keys = dotted.trim_start_matches('.').replace('[', ".").replace(']', "");
            keys.split('.').fold(String::new(), |pointer, key| pointer_join(&pointer, key))
        }
    };
    let session = Session::open(common, &[])?;
    let world = session.world();
    let found = one_object(common, &world, &selector)?;
    let Some(first) = found.first() else {
        return Err(selector.missing(&world, []));
    };
    let masked =
        objects::masked(first.object.node.get_ref(), &session.snapshot, &mut objects::Masks::default());
    let node = masked.get_ref();
    let Some(value) = node.at(&pointer) else {
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
            if let Some(origins) = parts::origins(&session.snapshot, location.as_ref()) {
                body["origins"] = origins.into();
            }
            report::json::write(out, &report::json::answer(header, body))
        }
        Format::Text => match &location {
            Some(location) => writeln!(out, "{}", objects::place(&session.snapshot, location)),
            None => writeln!(out, "no file states this value"),
        },
    })?;
    Ok(Status::Clean)
}

/// What there is at the nearest parent that exists.
fn nearest(node: NodeRef<'_>, pointer: &str) -> String {
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
