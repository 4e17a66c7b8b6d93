//! Another name for an object or a variable: where one commit does it without deleting
//! what runs, the edit; else why not, the steps, and the command that takes them.

use super::actions::edit;
use super::class;
use super::links::{is_definition, meant_at, variable_at};
use super::place::{Spot, memberships};
use super::state::ServerState;
use crate::files::Snapshot;
use crate::lang::text::clean;
use crate::model::ObjectId;
use crate::rewrite::refactor::class::{ClassPartKind, PartOfClass};
use crate::rewrite::refactor::variable::Variable;
use crate::rewrite::refactor::{Refused, Rename, Series};
use crate::rewrite::subject::{Subject, manifest_of};
use crate::world::{ApplyTarget, World};
use lsp_types::{PrepareRenameResponse, RenameParams, TextDocumentPositionParams, WorkspaceEdit};
use std::sync::Arc;

/// What a place names, when it can be given another name.
enum RenameSubject {
    /// A variable of postBuild.
    Variable(String),
    /// A part of a ClusterClass.
    Part(ClassPartKind, ObjectId, String),
    Object(ObjectId),
}

/// What stands at a place with a name of its own: `${NAME}`, the key that defines a
/// variable, the name of an object or of one that is referred to.
fn meant(state: &ServerState<'_>, spot: &Spot<'_>) -> Result<RenameSubject, String> {
    if let Some(name) = variable_at(spot) {
        return Ok(RenameSubject::Variable(name));
    }
    let is_variable = spot.key.is_some() && spot.pointer.contains("/postBuild/substitute/");
    if is_variable || is_definition(state.world(), spot) {
        return Ok(RenameSubject::Variable(spot.name()));
    }
    let mut parts: Vec<(ClassPartKind, &ObjectId, String)> = Vec::new();
    for named in class::named_at(state.world(), spot) {
        let one = (named.part, &named.class.id, named.name);
        if !parts.contains(&one) {
            parts.push(one);
        }
    }
    match parts.as_slice() {
        [] => {}
        [(part, class, name)] => return Ok(RenameSubject::Part(*part, (*class).clone(), name.clone())),
        several => {
            return Err(format!(
                "parts of {} classes are meant here: `forebay rename` takes them one by one",
                several.len()
            ));
        }
    }
    let is_name = spot.key.is_none() && spot.node().text().is_some();
    let mut ids: Vec<ObjectId> = Vec::new();
    for object in meant_at(state.world(), spot) {
        let same = spot.node().text().is_some_and(|text| *text == *object.id.name);
        if is_name && same && !ids.contains(&object.id) {
            ids.push(object.id.clone());
        }
    }
    match ids.as_slice() {
        [id] => Ok(RenameSubject::Object(id.clone())),
        [] => Err("neither the name of an object that the repository holds nor a variable".to_owned()),
        several => Err(format!(
            "{} objects are meant here, of other namespaces or kinds: `forebay rename` takes them one by one",
            several.len()
        )),
    }
}

/// Whether there is something to rename, and what it is called.
///
/// # Errors
/// Why not.
pub(super) fn prepare(
    state: &ServerState<'_>,
    at: &TextDocumentPositionParams,
) -> Result<PrepareRenameResponse, String> {
    let spot = Spot::of(state, at).ok_or("nothing stands here")?;
    let meant = meant(state, &spot)?;
    let mut place = spot.location();
    let text = &spot.source.stream.text;
    let name = match meant {
        RenameSubject::Variable(name) | RenameSubject::Part(_, _, name) => name,
        RenameSubject::Object(id) => id.name.to_string(),
    };
    // Without quotes, and of an expression the name alone.
    let written = text.get(place.start as usize..place.end as usize).unwrap_or_default();
    let from = (spot.offset - place.start.min(spot.offset)) as usize;
    let starts = written.match_indices(&*name).map(|(start, _)| start);
    let start = starts.filter(|start| *start <= from).last().or_else(|| written.find(&*name));
    let start = start.ok_or("the name is put together of several parts")?;
    place.start += start as u32;
    place.end = place.start + name.len() as u32;
    let range = state.range(state.snapshot(), &place).ok_or("the text has changed meanwhile")?;
    Ok(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder: name })
}

/// The edit of all files.
///
/// # Errors
/// Why it is not done in one commit, and how it is done.
pub(super) fn rename(state: &ServerState<'_>, parameters: &RenameParams) -> Result<WorkspaceEdit, String> {
    let spot = Spot::of(state, &parameters.text_document_position).ok_or("nothing stands here")?;
    let new = parameters.new_name.trim().to_owned();
    let world = state.world();
    let rebuild = |snapshot: &Arc<Snapshot>| state.world_of(snapshot);
    let (series, command) = match meant(state, &spot)? {
        RenameSubject::Variable(old) => {
            let command = format!("forebay rename variable {old} {new}");
            let variable = Variable { world, old, new, in_cluster: &|_| true };
            (variable.series(&rebuild), command)
        }
        RenameSubject::Part(_, _, old) if old == new => return Err(format!("it is called {new}")),
        RenameSubject::Part(part, class, old) => {
            let what = if part == ClassPartKind::Variable { "variable" } else { "worker-class" };
            let namespace = class.namespace.as_deref().map(str::to_owned);
            let place = namespace.as_ref().map_or(String::new(), |namespace| format!("{namespace}/"));
            let command = format!("forebay rename {what} {old} {new} --class {place}{}", class.name);
            let class = Some((namespace, class.name.to_string()));
            let part = PartOfClass { world, part, class, old, new, in_cluster: &|_| true };
            (part.series(&rebuild), command)
        }
        RenameSubject::Object(old) if *old.name == *new => return Err(format!("it is called {new}")),
        RenameSubject::Object(old) => {
            let object = match &old.namespace {
                Some(namespace) => format!("{}/{namespace}/{}", old.kind, old.name),
                None => format!("{}/{}", old.kind, old.name),
            };
            let command = format!("forebay rename {object} {new}");
            let subjects = subjects(world, state.snapshot(), &old);
            if subjects.is_empty() {
                return Err(format!("no cluster applies {old} here"));
            }
            (Rename { world, subjects, old, new }.series(&rebuild), command)
        }
    };
    let series = series.map_err(|refused| refusals(state, &refused))?;
    match series.steps.as_slice() {
        [only] if series.naive.is_empty() && !only.done && only.moves.is_empty() => {
            edit(state, state.snapshot(), &only.changes)
        }
        _ => Err(steps(&series, &command)),
    }
}

/// The object in every cluster that applies it, and in what else its texts state.
fn subjects<'w>(world: &'w World, snapshot: &Snapshot, id: &ObjectId) -> Vec<Subject<'w>> {
    let all = world.objects.iter().filter(|object| object.id == *id);
    let all = all.flat_map(|object| {
        let local = memberships(world, object).filter(|(_, member)| member.target == ApplyTarget::Local);
        local.map(move |(cluster, _)| Subject { cluster, object })
    });
    let is_applied = |subject: &Subject<'_>| subject.cluster.name.is_some() || !world.has_entry;
    let (mut meant, others): (Vec<Subject<'_>>, Vec<Subject<'_>>) = all.partition(is_applied);
    let texts: Vec<_> = meant.iter().map(|subject| manifest_of(snapshot, subject.object)).collect();
    let shares = |subject: &Subject<'_>| texts.contains(&manifest_of(snapshot, subject.object));
    meant.extend(others.into_iter().filter(shares));
    meant
}

fn refusals(state: &ServerState<'_>, refused: &[Refused]) -> String {
    let lines = refused.iter().map(|one| {
        let place = one.location.as_ref().map(|place| {
            let ((line, _), _) = state.snapshot().positions(place);
            format!("{}:{line}: ", place.file)
        });
        let help = if one.help.is_empty() { String::new() } else { format!("; {}", one.help) };
        clean(&format!("{}{}{help}", place.unwrap_or_default(), one.why)).into_owned()
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// What one commit would do, and the commits that do it.
fn steps(series: &Series, command: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    lines.push(match series.naive.first() {
        Some(first) => format!("not in one commit: {first}"),
        None => "it takes other commits than one".to_owned(),
    });
    for step in &series.steps {
        let done = if step.done { " (done)" } else { "" };
        lines.push(format!("{}. {}{done}", step.number, step.title));
    }
    lines.push(format!("help: `{command}` does the next one and tells what to wait for"));
    lines.into_iter().map(|line| clean(&line).into_owned()).collect::<Vec<String>>().join("\n")
}
