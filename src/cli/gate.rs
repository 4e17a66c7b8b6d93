//! `forebay gate open` and `forebay gate close`.

use super::common::Common;
use super::output;
use super::rewriting::{self, RewritingFlags, Task, subjects};
use super::session::Session;
use super::{Answer, Failure, Status};
use crate::config::Feature;
use crate::lang::text::{clean, suggest};
use crate::lang::yaml::edit::{Content, Operation};
use crate::lang::yaml::pointer_join;
use crate::rewrite::Wanted;
use crate::rewrite::subject::{EditableText, Subject, home, manifest_of, text_of};
use crate::simulate::gating::objects::{Gate, Gating, is_gate};
use crate::simulate::gating::{GateRequest, Position, format_time, state};
use crate::world::{Cluster, Effective, World};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::fmt::Write as _;

/// Flags of `gate open` and `gate close`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The Gate: [NAMESPACE/]NAME
    gate: String,
    #[command(flatten)]
    flags: RewritingFlags,
}

/// Run the command: write the annotation that asks for a position.
pub(crate) fn run(common: &Common, arguments: &Arguments, position: Position) -> Answer {
    let now = || Timestamp::from_second(Timestamp::now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH);
    let at = common.at(&TimeZone::UTC)?.unwrap_or_else(now);
    let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
    let session = Session::open(common, &[])?;
    let world = session.world();
    let found = chosen(common, arguments, &session, &world)?;
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut said = String::new();
    for subject in &found {
        let Some(gate) = gate_of(subject.object) else { continue };
        check_order(&gate, position, at)?;
        let change = change(&session, subject.object, position, at)?;
        if !wanted.contains(&change) {
            say(&mut said, &gate, &change, position, at);
            wanted.push(change);
        }
    }
    let pointer = pointer_join("/metadata/annotations", position.annotation());
    let is_requested = |_: &Cluster, object: &Effective| {
        let requests = gate_of(object).map(|gate| gate.requests).unwrap_or_default();
        requests.iter().any(|(request, _)| *request == GateRequest { at, position })
    };
    let flags = &arguments.flags;
    let task = Task { common, flags, session: &session, world: &world, subjects: &found };
    let changes = task.carry_out(&wanted, |_| pointer.clone(), is_requested)?;
    if !flags.mode.writes() {
        return Ok(flags.mode.status(&changes));
    }
    if changes.is_empty() {
        said.push_str("the manifest says so already; nothing was written\n");
    }
    if found.iter().any(|subject| !has_gates(subject.cluster)) {
        said.push_str("warning: no released Flux controller has gates (the gating RFC is a proposal)\n");
    }
    output::emit(common, |_: output::TextOnly, out, _| out.write_all(said.as_bytes()))?;
    Ok(Status::Clean)
}

fn gate_of(object: &Effective) -> Option<Gate> {
    Gating::read(std::iter::once((&object.id, object.node.get_ref()))).gates.into_iter().next()
}

fn has_gates(cluster: &Cluster) -> bool {
    cluster.settings.feature(Feature::Gates).value == Some(true)
}

/// The Gate that is meant, in each cluster that is meant.
fn chosen<'w>(
    common: &Common,
    arguments: &Arguments,
    session: &Session,
    world: &'w World,
) -> Result<Vec<Subject<'w>>, Failure> {
    let (namespace, name) = match arguments.gate.rsplit_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (common.namespace.as_deref(), &*arguments.gate),
    };
    let is_meant = |object: &Effective| {
        is_gate(&object.id)
            && *object.id.name == *name
            && namespace.is_none_or(|namespace| object.id.namespace.as_deref() == Some(namespace))
    };
    let found = subjects(common, arguments.flags.all_clusters, session, world, is_meant)?;
    let Some(first) = found.first() else {
        let orphan = world.orphans().find(|orphan| {
            let named = namespace.is_none_or(|namespace| orphan.id.namespace.as_deref() == Some(namespace));
            is_gate(&orphan.id) && *orphan.id.name == *name && named
        });
        if let Some(orphan) = orphan {
            return Err(Failure::Usage(format!(
                "no cluster applies {}, which stands in {}; nothing was written\n\
                 help: if one does, name it in .forebay.yaml (`clusters: [{{name: NAME, path: DIRECTORY}}]`)",
                clean(&orphan.id.to_string()),
                clean(orphan.path())
            )));
        }
        let gates = world.objects.iter().filter(|object| is_gate(&object.id));
        let names: Vec<String> = gates
            .map(|object| match (&object.id.namespace, namespace) {
                (Some(namespace), Some(_)) => format!("{namespace}/{}", object.id.name),
                _ => object.id.name.to_string(),
            })
            .collect();
        let near = suggest(&arguments.gate, names.iter().map(String::as_str));
        let hint = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        return Err(Failure::Usage(format!("no Gate is called {}{hint}", clean(&arguments.gate))));
    };
    if found.iter().any(|subject| subject.object.id != first.object.id) {
        let mut text = format!("several Gates are called {}; nothing was written", clean(&arguments.gate));
        for subject in &found {
            let id = subject.object.id.to_string();
            let _ = write!(text, "\n  {}  {}", subject.cluster.label(), clean(&id));
        }
        return Err(Failure::Usage(format!("{text}\nhelp: write NAMESPACE/NAME")));
    }
    Ok(found)
}

/// Refuses a time that the standing request makes pointless.
fn check_order(gate: &Gate, position: Position, at: Timestamp) -> Result<(), Failure> {
    let standing = gate.requests.iter().map(|(request, _)| request).max_by_key(|request| request.at);
    let Some(standing) = standing else { return Ok(()) };
    let tie = standing.at == at && standing.position != position;
    if standing.at > at || tie {
        let than = if tie { "is not later than" } else { "is older than" };
        return Err(Failure::Usage(format!(
            "{}: {} {than} the standing request to {} of {}; nothing was written\n\
             help: the newest request counts; give a later time with --at",
            clean(&gate.id.to_string()),
            format_time(at),
            standing.position.verb(),
            format_time(standing.at)
        )));
    }
    Ok(())
}

/// The change of the text that decides: the annotation where it is written,
/// else the Gate's own manifest.
fn change(
    session: &Session,
    object: &Effective,
    position: Position,
    at: Timestamp,
) -> Result<Wanted, Failure> {
    let key = position.annotation();
    let refuse =
        |why: &str| Failure::Usage(format!("{}: {why}; nothing was written", clean(&object.id.to_string())));
    let own = pointer_join("/metadata/annotations", key);
    let text = match object.node.get_ref().at(&own) {
        Some(annotation) => {
            let text = text_of(&session.snapshot, annotation).ok_or_else(|| {
                rewriting::no_text(&format!("{key} of {}", object.id), annotation.location().as_ref())
            })?;
            // One of `commonAnnotations` is no request of this Gate's own.
            if !text.pointer.ends_with(&own) {
                let place = format!("the annotation comes from {}, change it there", clean(&text.path));
                return Err(refuse(&place));
            }
            text
        }
        None => {
            let manifest = manifest_of(&session.snapshot, object)
                .ok_or_else(|| rewriting::no_text(&object.id.to_string(), home(object)))?;
            EditableText { pointer: format!("{}{own}", manifest.pointer), ..manifest }
        }
    };
    Ok(Wanted {
        path: text.path,
        document: text.document,
        operation: Operation::Set {
            pointer: text.pointer,
            value: Content::str(format_time(at)),
            comment: None,
        },
    })
}

/// What was written, what follows from it, and how kubectl does the same.
fn say(out: &mut String, gate: &Gate, change: &Wanted, position: Position, at: Timestamp) {
    let id = &gate.id;
    let mut requests: Vec<GateRequest> = gate.requests.iter().map(|(request, _)| *request).collect();
    requests.retain(|request| request.position != position);
    requests.push(GateRequest { at, position });
    let then = state(gate.spec, &requests, at);
    let time = format_time(at);
    let _ = writeln!(
        out,
        "{}: {} requested at {time}  {}",
        clean(&id.to_string()),
        position.verb(),
        clean(&change.path)
    );
    let _ = writeln!(out, "  then: {}", then.message);
    let namespace = id.namespace.as_deref().map_or(String::new(), |namespace| format!(" -n {namespace}"));
    let _ = writeln!(
        out,
        "  as kubectl: kubectl{} annotate --overwrite gate/{} {}=\"{time}\"",
        clean(&namespace),
        clean(&id.name),
        position.annotation()
    );
}
