//! Suspending, resuming, and moving suspensions from the field to the proposed
//! annotation or back, in the text that decides.

use super::Wanted;
use super::patch;
use super::subject::{EditableText, Subject, Via, manifest_of, text_of};
use crate::config::Feature;
use crate::files::Snapshot;
use crate::lang::yaml::edit::{Content, KeyPlace, Operation, Prune};
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::model::ObjectId;
use crate::model::kinds;
use crate::model::kinds::SuspendBy;
use crate::simulate::suspend::{ANNOTATION, Suspension, comment_after, suspension};
use crate::world::{Cluster, Effective};

/// What a command wants of its subjects.
#[derive(Clone, Copy, Debug)]
pub enum Aim<'m> {
    /// Suspended; by default as the cluster's controllers honour it.
    Suspended {
        /// Where to write it.
        via: Option<Via>,
        /// The annotation's value, or a comment behind the field.
        message: Option<&'m str>,
    },
    /// Not suspended in any way.
    Resumed,
    /// Those that are suspended are so by this, and by this only.
    Moved(Via),
}

/// An object that no file of the repository states: nothing can be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoText(pub ObjectId);

const SPEC: &str = "/spec/suspend";

/// Whether objects of this kind can be suspended.
pub fn is_suspendable(id: &ObjectId) -> bool {
    kinds::of(id).is_some_and(|kind| kind.suspend != SuspendBy::Nothing)
}

/// Whether objects of this kind are suspended by `spec.suspend`.
pub(crate) fn is_suspended_by_field(id: &ObjectId) -> bool {
    kinds::of(id).is_some_and(|kind| kind.suspend == SuspendBy::Field)
}

/// Where a suspension of an object is written when nobody says so.
pub(crate) fn default_via(cluster: &Cluster) -> Via {
    match cluster.settings.feature(Feature::SuspendAnnotation).value {
        Some(true) => Via::Annotation,
        _ => Via::Spec,
    }
}

/// The JSON Pointer of the value that decides on the suspension of an object.
pub(crate) fn pointer(id: &ObjectId, via: Via) -> String {
    let key = match kinds::of(id).map(|kind| kind.suspend) {
        Some(SuspendBy::Annotation(key)) => key,
        _ if via == Via::Spec => return SPEC.to_owned(),
        _ => ANNOTATION,
    };
    pointer_join("/metadata/annotations", key)
}

impl Aim<'_> {
    fn via(&self, cluster: &Cluster) -> Via {
        match self {
            Aim::Suspended { via, .. } => via.unwrap_or_else(|| default_via(cluster)),
            Aim::Resumed => Via::Spec,
            Aim::Moved(via) => *via,
        }
    }

    /// The changes that make a subject so; none where it is so.
    ///
    /// # Errors
    /// It is written in no file.
    pub fn changes(&self, snapshot: &Snapshot, subject: Subject<'_>) -> Result<Vec<Wanted>, NoText> {
        let Some(state) = state(subject.cluster, subject.object) else { return Ok(Vec::new()) };
        let id = &subject.object.id;
        let via = self.via(subject.cluster);
        let set = |via: Via, value: Content, comment: Option<&str>| {
            set(snapshot, subject, &pointer(id, via), value, comment)
        };
        let annotated = state.annotation.as_ref().map(|entry| entry.value);
        let disabled = state.disabled.as_ref().map(|entry| entry.value);
        let mut changes = Vec::new();
        match *self {
            // A message that is given replaces the one that stands there.
            Aim::Suspended { message, .. } if !is_suspended_by_field(id) => {
                if disabled.is_none() || message.is_some() {
                    changes.push(set(via, Content::str("disabled"), message)?);
                }
            }
            Aim::Suspended { message, .. } if via == Via::Spec => {
                if state.field.is_none() || message.is_some() {
                    changes.push(set(via, Content::Bool(true), message)?);
                }
            }
            Aim::Suspended { message, .. } => {
                if annotated.is_none() || message.is_some() {
                    changes.push(set(via, Content::str(message.unwrap_or("suspended")), None)?);
                }
            }
            Aim::Resumed => {
                for value in [annotated, disabled].into_iter().flatten() {
                    match patch::resuming(snapshot, value) {
                        Some(removal) => changes.push(removal),
                        None => changes.push(remove(snapshot, subject, value)?),
                    }
                }
                if let Some(field) = state.field {
                    changes.extend(resume(snapshot, subject, field)?);
                }
            }
            Aim::Moved(Via::Spec) => {
                let Some(value) = annotated else { return Ok(changes) };
                if state.field.is_none() {
                    let reason = value.text().map(|text| text.into_owned());
                    let reason =
                        reason.filter(|text| !text.is_empty() && text != "suspended" && text != "true");
                    changes.push(set(via, Content::Bool(true), reason.as_deref())?);
                }
                changes.push(remove(snapshot, subject, value)?);
            }
            Aim::Moved(Via::Annotation) => {
                let Some(field) = state.field else { return Ok(changes) };
                if annotated.is_none() {
                    let comment = field.location().and_then(|place| comment_after(snapshot, &place));
                    let value = comment.unwrap_or_else(|| "suspended".to_owned());
                    changes.push(set(via, Content::str(value), None)?);
                }
                changes.push(remove(snapshot, subject, field)?);
            }
        }
        Ok(changes)
    }

    /// Whether an object is as wanted.
    pub fn is_reached(&self, cluster: &Cluster, object: &Effective) -> bool {
        let Some(state) = state(cluster, object) else { return true };
        let annotated = state.annotation.is_some() || state.disabled.is_some();
        let by_field = is_suspended_by_field(&object.id);
        match (self, self.via(cluster)) {
            (Aim::Suspended { .. }, Via::Spec) if by_field => state.field.is_some(),
            (Aim::Suspended { .. }, _) => annotated,
            (Aim::Resumed, _) => state.field.is_none() && !annotated,
            (Aim::Moved(_), Via::Spec) => !annotated,
            (Aim::Moved(_), Via::Annotation) => state.field.is_none(),
        }
    }
}

fn state<'a>(cluster: &Cluster, object: &'a Effective) -> Option<Suspension<'a>> {
    suspension(&object.id, object.node.get_ref(), &cluster.settings)
}

/// Set a value where it is written, else in the object's manifest.
fn set(
    snapshot: &Snapshot,
    subject: Subject<'_>,
    pointer: &str,
    value: Content,
    comment: Option<&str>,
) -> Result<Wanted, NoText> {
    let comment = comment.map(str::to_owned);
    let existing = subject.object.node.get_ref().at(pointer).and_then(|node| text_of(snapshot, node));
    if let Some(text) = existing {
        return Ok(wanted(text.clone(), Operation::Set { pointer: text.pointer, value, comment }));
    }
    let manifest = manifest_of(snapshot, subject.object).ok_or_else(|| no_text(subject))?;
    let full = format!("{}{pointer}", manifest.pointer);
    let keys = manifest.keys(snapshot, "/spec");
    let operation = match full.strip_suffix("/suspend").filter(|_| !keys.iter().any(|key| key == "suspend")) {
        // A suspension is best seen at the head of the spec.
        Some(spec) => Operation::InsertKey {
            map: spec.to_owned(),
            key: "suspend".to_owned(),
            value,
            place: keys.into_iter().next().map_or(KeyPlace::End, KeyPlace::Before),
            comment,
        },
        None => Operation::Set { pointer: full, value, comment },
    };
    Ok(wanted(manifest, operation))
}

fn remove(snapshot: &Snapshot, subject: Subject<'_>, node: NodeRef<'_>) -> Result<Wanted, NoText> {
    let text = text_of(snapshot, node).ok_or_else(|| no_text(subject))?;
    Ok(wanted(text.clone(), Operation::RemoveKey { pointer: text.pointer, prune: Prune::Empty }))
}

/// Take away what `suspend` writes: a patch of its own, or the field at the head of
/// the spec. Elsewhere write `suspend: false`, and take away the comment that gave
/// the reason.
fn resume(snapshot: &Snapshot, subject: Subject<'_>, field: NodeRef<'_>) -> Result<Vec<Wanted>, NoText> {
    if let Some(removal) = patch::resuming(snapshot, field) {
        return Ok(vec![removal]);
    }
    let text = text_of(snapshot, field).ok_or_else(|| no_text(subject))?;
    if let Some(manifest) = manifest_of(snapshot, subject.object)
        && (&manifest.path, manifest.document) == (&text.path, text.document)
        && text.pointer == format!("{}{SPEC}", manifest.pointer)
        && manifest.keys(snapshot, "/spec").first().is_some_and(|key| key == "suspend")
    {
        let operation = Operation::RemoveKey { pointer: text.pointer.clone(), prune: Prune::Keep };
        return Ok(vec![wanted(text, operation)]);
    }
    let set = Operation::Set { pointer: text.pointer.clone(), value: Content::Bool(false), comment: None };
    let mut changes = vec![wanted(text.clone(), set)];
    let reason = field.location().filter(|place| comment_after(snapshot, place).is_some());
    let sources = snapshot.file(&text.path).map(|file| snapshot.sources(file)).unwrap_or_default();
    if let Some(place) = reason
        && let Some(source) = sources.iter().find(|source| source.index == text.document)
        && let Some(comment) = source.document().comments.iter().find(|comment| comment.start >= place.end)
    {
        changes.push(wanted(text, Operation::RemoveComment { start: comment.start }));
    }
    Ok(changes)
}

fn wanted(text: EditableText, operation: Operation) -> Wanted {
    Wanted { path: text.path, document: text.document, operation }
}

fn no_text(subject: Subject<'_>) -> NoText {
    NoText(subject.object.id.clone())
}
