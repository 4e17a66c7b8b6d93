//! What may be done at a place: fixes, a comment that silences, suspend and resume.
//! What a change of an object needs is proven by building the clusters again, so it
//! is worked out when it is chosen.

use super::hover;
use super::place::{Spot, memberships};
use super::position::Mapping;
use super::state::{LocatedFinding, ServerState};
use crate::files::Snapshot;
use crate::lang::text::{clean, suggest};
use crate::lint::{Applicability, Fix};
use crate::rewrite::ignore::{self, Ignore};
use crate::rewrite::subject::{Subject, Via, prove};
use crate::rewrite::suspend::{Aim, default_via, is_suspendable, is_suspended_by_field};
use crate::rewrite::{self, FileChange, Wanted, patch};
use crate::simulate::suspend::suspension;
use crate::world::ApplyTarget;
use lsp_types::{
    CodeAction, CodeActionDisabled, CodeActionKind, CodeActionParams, Diagnostic, NumberOrString, Position,
    Range, TextDocumentIdentifier, TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit,
};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// What the author is to write in its place.
const REASON: &str = "TODO say why";

/// An action that is worked out when it is chosen.
#[derive(Debug, Serialize, Deserialize)]
struct Later {
    uri: Uri,
    position: Position,
    change: SuspensionChange,
    /// Only here; `None` for every cluster that has the object.
    cluster: Option<String>,
    object: String,
}

/// What becomes of a suspension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum SuspensionChange {
    Suspend,
    Resume,
    /// From the annotation.
    ToSpec,
    /// From `spec.suspend`, where the cluster's controllers read the annotation.
    ToAnnotation,
}

impl SuspensionChange {
    fn aim(self) -> Aim<'static> {
        match self {
            SuspensionChange::Suspend => Aim::Suspended { via: None, message: None },
            SuspensionChange::Resume => Aim::Resumed,
            SuspensionChange::ToSpec => Aim::Moved(Via::Spec),
            SuspensionChange::ToAnnotation => Aim::Moved(Via::Annotation),
        }
    }

    fn title(self, object: &str) -> String {
        match self {
            SuspensionChange::Suspend => format!("Suspend {object}"),
            SuspensionChange::Resume => format!("Resume {object}"),
            SuspensionChange::ToSpec => format!("Move the suspension of {object} to spec.suspend"),
            SuspensionChange::ToAnnotation => format!("Move the suspension of {object} to the annotation"),
        }
    }
}

/// What is offered at a range.
pub(super) fn actions(
    state: &ServerState<'_>,
    parameters: &CodeActionParams,
    later: bool,
) -> Vec<CodeAction> {
    let Some(path) = state.path(&parameters.text_document.uri) else { return Vec::new() };
    let mut actions = Vec::new();
    let at_range = |found: &&LocatedFinding| {
        let place = &found.finding.location;
        place.file.is_at(&path)
            && state.range(&found.snapshot, place).is_some_and(|range| touches(range, parameters.range))
    };
    for found in state.findings().iter().filter(at_range) {
        let diagnostic = parameters.context.diagnostics.iter().find(|one| {
            let same = one.code == Some(NumberOrString::String(found.finding.rule.id.to_owned()));
            same && touches(one.range, parameters.range)
        });
        actions.extend(fixes(state, found, diagnostic));
        actions.extend(meant(state, found, diagnostic));
        actions.extend(everywhere(state, found, diagnostic));
        actions.extend(silence(state, found, diagnostic));
    }
    actions.extend(suspensions(state, parameters, later));
    actions
}

fn touches(one: Range, other: Range) -> bool {
    one.start.line <= other.end.line && other.start.line <= one.end.line
}

fn fixes(
    state: &ServerState<'_>,
    found: &LocatedFinding,
    diagnostic: Option<&Diagnostic>,
) -> Vec<CodeAction> {
    let all = found.finding.fixes.iter().filter(|fix| fix.applicability > Applicability::DisplayOnly);
    all.map(|fix| {
        let sure = fix.applicability == Applicability::Safe;
        let doubt = if sure { "" } else { " (a guess)" };
        let mut action = CodeAction {
            title: format!("{}{doubt}", capital(&clean(&fix.title))),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: diagnostic.map(|one| vec![one.clone()]),
            is_preferred: Some(sure),
            ..CodeAction::default()
        };
        match proven(state, &found.snapshot, &fix.operations) {
            Ok(edit) => action.edit = Some(edit),
            Err(reason) => action.disabled = Some(CodeActionDisabled { reason }),
        }
        action
    })
    .collect()
}

/// The word that a finding says may have been meant, in the place of the one that is
/// written; nothing where the rule has a fix, which says it better.
fn meant(
    state: &ServerState<'_>,
    found: &LocatedFinding,
    diagnostic: Option<&Diagnostic>,
) -> Option<CodeAction> {
    let finding = &found.finding;
    let is_fix = |fix: &Fix| fix.applicability > Applicability::DisplayOnly;
    let (_, rest) = finding.help.split_once("did you mean ").filter(|_| !finding.fixes.iter().any(is_fix))?;
    let near = rest.split_once('?')?.0.trim_matches('`');
    let mut place = finding.location.clone();
    let path = place.file.of_root()?.to_owned();
    let stream = found.snapshot.stream(found.snapshot.file(&path)?)?;
    let written = stream.text.get(place.start as usize..place.end as usize)?;
    let word = written.trim_matches(['"', '\'']);
    // A place may be more than the word: what is not like it is not replaced.
    let is_word = |text: &str| !text.is_empty() && !text.contains([' ', '\n', '`', '"', '\'']);
    if !is_word(near) || !is_word(word) || suggest(word, [near]).is_none() {
        return None;
    }
    place.start += written.find(word)? as u32;
    place.end = place.start + word.len() as u32;
    let range = state.range(&found.snapshot, &place)?;
    let edits = vec![TextEdit { range, new_text: near.to_owned() }];
    #[expect(clippy::mutable_key_type, reason = "the protocol's type keys its map so")]
    let changes = HashMap::from([(state.uri(&path)?, edits)]);
    Some(CodeAction {
        title: format!("Change `{}` to `{}` (a guess)", clean(word), clean(near)),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: diagnostic.map(|one| vec![one.clone()]),
        edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
        ..CodeAction::default()
    })
}

/// The same safe fix for all findings of the rule: what `forebay migrate` does.
fn everywhere(
    state: &ServerState<'_>,
    found: &LocatedFinding,
    diagnostic: Option<&Diagnostic>,
) -> Option<CodeAction> {
    let rule = found.finding.rule;
    let safe = |one: &LocatedFinding| {
        let same = std::ptr::eq(one.finding.rule, rule) && Arc::ptr_eq(&one.snapshot, &found.snapshot);
        let fix = one.finding.fixes.iter().find(|fix| fix.applicability == Applicability::Safe);
        fix.filter(|_| same).map(|fix| fix.operations.clone())
    };
    safe(found)?;
    let all: Vec<Vec<Wanted>> = state.findings().iter().filter_map(safe).collect();
    if all.len() < 2 {
        return None;
    }
    let mut wanted: Vec<Wanted> = Vec::new();
    for one in all.iter().flatten() {
        if !wanted.contains(one) {
            wanted.push(one.clone());
        }
    }
    let what = match rule.id {
        "deprecated-alert-summary" => "Migrate the summary of all",
        "removed-api-version" => "Migrate the apiVersion of all",
        _ => "Fix all",
    };
    let mut action = CodeAction {
        title: format!("{what} {} findings of {}", all.len(), rule.id),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: diagnostic.map(|one| vec![one.clone()]),
        ..CodeAction::default()
    };
    match proven(state, &found.snapshot, &wanted) {
        Ok(edit) => action.edit = Some(edit),
        Err(reason) => action.disabled = Some(CodeActionDisabled { reason }),
    }
    Some(action)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// The edit that some changes come to.
fn proven(state: &ServerState<'_>, snapshot: &Snapshot, wanted: &[Wanted]) -> Result<WorkspaceEdit, String> {
    let changes = rewrite::plan(snapshot, wanted).map_err(|refusals| {
        let first = refusals.first().map(|refusal| format!("{}; {}", refusal.message, refusal.help));
        clean(&first.unwrap_or_default()).into_owned()
    })?;
    edit(state, snapshot, &changes)
}

/// The least that has to change in each file.
pub(super) fn edit(
    state: &ServerState<'_>,
    snapshot: &Snapshot,
    changes: &[FileChange],
) -> Result<WorkspaceEdit, String> {
    #[expect(clippy::mutable_key_type, reason = "the protocol's type keys its map so")]
    let mut files: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    for change in changes {
        let file = snapshot.file(&change.path).and_then(|file| snapshot.stream(file));
        let (Some(stream), Some(uri)) = (file, state.uri(&change.path)) else { continue };
        if !state.is_current(snapshot, &change.path) {
            return Err(format!("{} does not parse as it is; finish it first", clean(&change.path)));
        }
        let (start, end, text) =
            Mapping::new(&stream.text, &change.after).replaced(&stream.text, &change.after);
        let place = state.ranges(snapshot, &change.path, [(start as u32, end as u32)]).pop().flatten();
        let range = place.ok_or("the text has changed meanwhile")?;
        files.insert(uri, vec![TextEdit { range, new_text: text.to_owned() }]);
    }
    Ok(WorkspaceEdit { changes: Some(files), ..WorkspaceEdit::default() })
}

fn silence(
    state: &ServerState<'_>,
    found: &LocatedFinding,
    diagnostic: Option<&Diagnostic>,
) -> Option<CodeAction> {
    let rule = found.finding.rule.id;
    let ignores = [Ignore { rule, location: found.finding.location.clone() }];
    let added = ignore::add(&found.snapshot, &ignores, REASON);
    let edit = edit(state, &found.snapshot, &added.changes).ok().filter(|_| added.comments > 0)?;
    Some(CodeAction {
        title: format!("Silence {rule} here, with a reason"),
        kind: Some(CodeActionKind::QUICKFIX),
        diagnostics: diagnostic.map(|one| vec![one.clone()]),
        edit: Some(edit),
        ..CodeAction::default()
    })
}

/// Suspend or resume the object, everywhere or in one cluster.
fn suspensions(state: &ServerState<'_>, parameters: &CodeActionParams, later: bool) -> Vec<CodeAction> {
    let at = TextDocumentPositionParams {
        text_document: TextDocumentIdentifier { uri: parameters.text_document.uri.clone() },
        position: parameters.range.start,
    };
    let Some(spot) = Spot::of(state, &at) else { return Vec::new() };
    let subjects = suspendable(state, &spot);
    let Some(first) = subjects.first() else { return Vec::new() };
    let id = first.object.id.to_string();
    let is_suspended = |subject: &Subject<'_>| {
        suspension(&subject.object.id, subject.object.node.get_ref(), &subject.cluster.settings)
            .is_some_and(|found| !found.ways().is_empty())
    };
    let wanted = wanted_changes(&subjects, &is_suspended);
    wanted
        .into_iter()
        .map(|(change, cluster)| {
            let place = match (&cluster, subjects.len()) {
                (Some(cluster), _) => format!(" only in cluster {}", clean(cluster)),
                (None, 1) => String::new(),
                (None, many) => format!(" in all {many} clusters"),
            };
            let choice = Later {
                uri: at.text_document.uri.clone(),
                position: at.position,
                change,
                cluster,
                object: id.clone(),
            };
            let action = CodeAction {
                title: format!("{}{place}", change.title(&clean(&id))),
                kind: Some(CodeActionKind::REFACTOR_REWRITE),
                data: serde_json::to_value(&choice).ok(),
                ..CodeAction::default()
            };
            if later { action } else { resolve(state, action) }
        })
        .collect()
}

/// The objects of applied clusters that stand there and can be suspended.
fn suspendable<'s>(state: &'s ServerState<'_>, spot: &Spot<'_>) -> Vec<Subject<'s>> {
    let world = state.world();
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for object in hover::objects(state, spot).into_iter().filter(|object| is_suspendable(&object.id)) {
        let local = memberships(world, object).filter(|(_, member)| member.target == ApplyTarget::Local);
        let applied = local.filter(|(cluster, _)| cluster.name.is_some());
        subjects.extend(applied.map(|(cluster, _)| Subject { cluster, object }));
    }
    subjects
}

/// The changes to offer, each with the one cluster that it is for, if it is for one.
fn wanted_changes(
    subjects: &[Subject<'_>],
    is_suspended: &dyn Fn(&Subject<'_>) -> bool,
) -> Vec<(SuspensionChange, Option<String>)> {
    let mut wanted: Vec<(SuspensionChange, Option<String>)> = Vec::new();
    if subjects.iter().any(|subject| !is_suspended(subject)) {
        wanted.push((SuspensionChange::Suspend, None));
    }
    if subjects.iter().any(is_suspended) {
        wanted.push((SuspensionChange::Resume, None));
        for change in [SuspensionChange::ToSpec, SuspensionChange::ToAnnotation] {
            let honoured = |subject: &Subject<'_>| match change {
                SuspensionChange::ToAnnotation => default_via(subject.cluster) == Via::Annotation,
                _ => is_suspended_by_field(&subject.object.id),
            };
            let is_there = |subject: &Subject<'_>| change.aim().is_reached(subject.cluster, subject.object);
            if subjects.iter().all(honoured) && !subjects.iter().all(is_there) {
                wanted.push((change, None));
            }
        }
    }
    if subjects.len() > 1 {
        for subject in subjects.iter().filter(|subject| !is_suspended(subject)) {
            wanted.push((SuspensionChange::Suspend, subject.cluster.name.as_deref().map(str::to_owned)));
        }
    }
    wanted
}

/// Work an action out that was chosen.
pub(super) fn resolve(state: &ServerState<'_>, mut action: CodeAction) -> CodeAction {
    let choice = action.data.clone().and_then(|data| serde_json::from_value::<Later>(data).ok());
    if let Some(choice) = choice.filter(|_| action.edit.is_none()) {
        match work_out(state, &choice) {
            Ok(edit) => action.edit = Some(edit),
            Err(reason) => action.disabled = Some(CodeActionDisabled { reason }),
        }
    }
    action
}

fn work_out(state: &ServerState<'_>, choice: &Later) -> Result<WorkspaceEdit, String> {
    let at = TextDocumentPositionParams {
        text_document: TextDocumentIdentifier { uri: choice.uri.clone() },
        position: choice.position,
    };
    let world = state.world();
    let spot = Spot::of(state, &at).ok_or("the text has changed meanwhile")?;
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for object in hover::objects(state, &spot) {
        let same = memberships(world, object).filter(|(cluster, member)| {
            member.target == ApplyTarget::Local
                && cluster.name.is_some()
                && object.id.to_string() == choice.object
                && choice.cluster.as_deref().is_none_or(|wanted| cluster.name.as_deref() == Some(wanted))
        });
        subjects.extend(same.map(|(cluster, _)| Subject { cluster, object }));
    }
    if subjects.is_empty() {
        return Err("the object is not there any more".to_owned());
    }
    let aim = choice.change.aim();
    let snapshot = state.snapshot();
    let mut plain: Vec<Wanted> = Vec::new();
    for subject in &subjects {
        let changes = aim.changes(snapshot, *subject);
        for change in changes.map_err(|none| format!("{} is written in no file", none.0))? {
            if !plain.contains(&change) {
                plain.push(change);
            }
        }
    }
    let mut ways = vec![plain];
    // Its manifest may feed others: a patch in what the cluster builds reaches it alone.
    if let ([subject], true) = (subjects.as_slice(), choice.change == SuspensionChange::Suspend) {
        let via = default_via(subject.cluster);
        ways.extend(patch::suspending(snapshot, world, *subject, via, None).into_iter().map(|one| vec![one]));
    }
    let mut refused = None;
    for wanted in ways.iter().filter(|wanted| !wanted.is_empty()) {
        let Ok(changes) = rewrite::plan(snapshot, wanted) else { continue };
        let texts = changes.iter().map(|change| (&*change.path, change.after.clone().into_bytes()));
        let after = state.world_of(&Arc::new(snapshot.with_files(texts)));
        let reached = |cluster: &crate::world::Cluster, object: &crate::world::Effective| {
            aim.is_reached(cluster, object)
        };
        match prove(world, &after, &subjects, false, reached) {
            Ok(()) => return edit(state, snapshot, &changes),
            Err(astray) => refused = refused.or(Some(words(&astray))),
        }
    }
    Err(refused.unwrap_or_else(|| "no text decides on it alone; `forebay suspend` says more".to_owned()))
}

fn words(astray: &rewrite::subject::Unproven<'_>) -> String {
    match astray {
        rewrite::subject::Unproven::WithoutEffect(subject) => format!(
            "{} in {} would stay as it is: something else decides on it",
            clean(&subject.object.id.to_string()),
            clean(&subject.cluster.label())
        ),
        rewrite::subject::Unproven::Shared(others) => {
            let first = others.first().map(|(id, cluster)| format!("{id} in {cluster}")).unwrap_or_default();
            format!("its text also feeds {}", clean(&first))
        }
    }
}
