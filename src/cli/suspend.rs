//! `forebay suspend`, `forebay resume` and `forebay migrate suspend`.

use super::common::Common;
use super::rewriting::{
    self, Flags, Subject, Text, carry_out, document_of, refuse_shared, subjects, text_of,
};
use super::selector::Selector;
use super::session::Session;
use super::{Answer, Failure};
use crate::config::Feature;
use crate::flux::cluster::{Effective, World};
use crate::flux::kinds::{self, SuspendBy};
use crate::flux::suspend::{ANNOTATION, Suspension, comment_after, suspension};
use crate::rewrite::Wanted;
use crate::yaml::edit::{Content, Operation, Place};
use crate::yaml::{NodeRef, pointer_join};

/// Where a suspension is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Via {
    /// `spec.suspend`
    Spec,
    /// The proposed annotation `reconcile.fluxcd.io/suspended`
    Annotation,
}

/// Flags of `suspend`.
#[derive(clap::Args)]
pub(crate) struct SuspendArguments {
    /// Objects: KIND/[NAMESPACE/]NAME, with globs; `ks/apps`, `hr/podinfo/podinfo`
    #[arg(required = true, value_name = "OBJECT")]
    objects: Vec<String>,
    /// Why: the value of the annotation, or a comment behind spec.suspend
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Where to write it [default: what the cluster's controllers honour]
    #[arg(long, value_enum)]
    via: Option<Via>,
    #[command(flatten)]
    flags: Flags,
}

/// Flags of `resume`.
#[derive(clap::Args)]
pub(crate) struct ResumeArguments {
    /// Objects: KIND/[NAMESPACE/]NAME, with globs
    #[arg(required = true, value_name = "OBJECT")]
    objects: Vec<String>,
    #[command(flatten)]
    flags: Flags,
}

/// Flags of `migrate suspend`.
#[derive(clap::Args)]
pub(crate) struct MigrateArguments {
    /// Where suspensions are to be written
    #[arg(long, value_enum)]
    to: Via,
    #[command(flatten)]
    flags: Flags,
}

const SPEC: &str = "/spec/suspend";

fn annotation_pointer(key: &str) -> String {
    pointer_join("/metadata/annotations", key)
}

/// Run `suspend`.
pub(crate) fn suspend(common: &Common, arguments: &SuspendArguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    let found = named(common, &arguments.flags, &session, &world, &arguments.objects)?;
    let mut wanted = Vec::new();
    for subject in &found {
        let state = state(subject);
        let honours = subject.cluster.settings.feature(Feature::SuspendAnnotation).value == Some(true);
        let via = arguments.via.unwrap_or(if honours { Via::Annotation } else { Via::Spec });
        let message = arguments.message.as_deref();
        if let Some(SuspendBy::Annotation(key)) = kinds::of(&subject.object.id).map(|kind| kind.suspend) {
            let pointer = annotation_pointer(key);
            if state.disabled.is_none() {
                wanted.push(set(
                    &session,
                    &world,
                    &found,
                    subject,
                    arguments.flags.shared,
                    &pointer,
                    Content::str("disabled"),
                    message,
                )?);
            }
            continue;
        }
        match via {
            Via::Spec if state.field.is_none() => {
                wanted.push(set(
                    &session,
                    &world,
                    &found,
                    subject,
                    arguments.flags.shared,
                    SPEC,
                    Content::Bool(true),
                    message,
                )?);
            }
            Via::Annotation if state.annotation.is_none() => {
                let value = Content::str(message.unwrap_or("suspended"));
                let pointer = annotation_pointer(ANNOTATION);
                wanted.push(set(
                    &session,
                    &world,
                    &found,
                    subject,
                    arguments.flags.shared,
                    &pointer,
                    value,
                    None,
                )?);
            }
            _ => {}
        }
    }
    carry_out(common, &arguments.flags, &session, &wanted, &counted("suspended", &found))
}

/// Run `resume`.
pub(crate) fn resume(common: &Common, arguments: &ResumeArguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    let found = named(common, &arguments.flags, &session, &world, &arguments.objects)?;
    let mut wanted = Vec::new();
    for subject in &found {
        wanted.extend(resumed(&session, &world, &found, subject, arguments.flags.shared)?);
    }
    let written = wanted.iter().any(|change| matches!(change.operation, Operation::Set { .. }));
    let done = counted("resumed", &found);
    let answer = carry_out(common, &arguments.flags, &session, &wanted, &done)?;
    if written && !common.quiet {
        use std::io::Write;
        let _ = writeln!(
            anstream::stderr(),
            "`suspend: false` stays written: leaving the field out resumes only what Git alone ever \
             suspended; one that the CLI or a UI also set stays suspended"
        );
    }
    Ok(answer)
}

/// Run `migrate suspend`.
pub(crate) fn migrate(common: &Common, arguments: &MigrateArguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    // A migration is about all clusters unless some are named.
    let flags = Flags { all_clusters: true, ..arguments.flags.clone() };
    let found = subjects(common, &flags, &session, &world, |object| {
        kinds::of(&object.id).is_some_and(|kind| kind.suspend == SuspendBy::Field)
    })?;
    let mut wanted = Vec::new();
    for subject in &found {
        let state = state(subject);
        match arguments.to {
            Via::Spec => {
                let Some(entry) = &state.annotation else { continue };
                let reason = entry.value.text().map(|text| text.into_owned());
                let reason = reason.filter(|text| !text.is_empty() && text != "suspended" && text != "true");
                if state.field.is_none() {
                    wanted.push(set(
                        &session,
                        &world,
                        &found,
                        subject,
                        flags.shared,
                        SPEC,
                        Content::Bool(true),
                        reason.as_deref(),
                    )?);
                }
                wanted.extend(remove(&session, &world, &found, subject, flags.shared, entry.value)?);
            }
            Via::Annotation => {
                let Some(field) = state.field else { continue };
                let comment = field.location().and_then(|place| comment_after(&session.snapshot, &place));
                if state.annotation.is_none() {
                    let value = Content::str(comment.unwrap_or_else(|| "suspended".to_owned()));
                    let pointer = annotation_pointer(ANNOTATION);
                    wanted.push(set(&session, &world, &found, subject, flags.shared, &pointer, value, None)?);
                }
                wanted.extend(remove(&session, &world, &found, subject, flags.shared, field)?);
            }
        }
    }
    carry_out(common, &flags, &session, &wanted, "migrated")
}

fn counted(word: &str, found: &[Subject<'_>]) -> String {
    match found {
        [one] => format!("{word} {}", one.object.id),
        many => format!("{word} {} objects", many.len()),
    }
}

fn named<'w>(
    common: &Common,
    flags: &Flags,
    session: &Session,
    world: &'w World,
    objects: &[String],
) -> Result<Vec<Subject<'w>>, Failure> {
    let selectors: Vec<Selector> =
        objects.iter().map(|text| Selector::parse(text)).collect::<Result<_, _>>()?;
    let suspendable =
        |object: &Effective| kinds::of(&object.id).is_some_and(|kind| kind.suspend != SuspendBy::Nothing);
    let matches = |object: &Effective| selectors.iter().any(|selector| selector.matches(&object.id));
    let found = subjects(common, flags, session, world, |object| suspendable(object) && matches(object))?;
    for selector in &selectors {
        if !found.iter().any(|subject| selector.matches(&subject.object.id)) {
            return Err(selector.not_found(world.objects.iter().map(|object| &object.id)));
        }
    }
    Ok(found)
}

fn state<'w>(subject: &Subject<'w>) -> Suspension<'w> {
    let object = subject.object;
    suspension(&object.id, object.node.get_ref(), &subject.cluster.settings).unwrap_or(Suspension {
        field: None,
        annotation: None,
        disabled: None,
        honoured: None,
        suspended: Some(false),
    })
}

fn no_text(subject: &Subject<'_>) -> Failure {
    Failure::Usage(format!(
        "{} is written in no file of this repository; nothing was written",
        subject.object.id
    ))
}

/// Set a value where it is written, else in the object's own document.
#[allow(clippy::too_many_arguments)]
fn set(
    session: &Session,
    world: &World,
    found: &[Subject<'_>],
    subject: &Subject<'_>,
    shared: bool,
    pointer: &str,
    value: Content,
    comment: Option<&str>,
) -> Result<Wanted, Failure> {
    let existing = subject.object.node.get_ref().at(pointer).and_then(|node| text_of(session, node));
    let comment = comment.map(str::to_owned);
    if let Some(text) = existing {
        checked(session, world, found, subject, shared, &text)?;
        let operation = Operation::Set { pointer: text.pointer.clone(), value, comment };
        return Ok(Wanted { path: text.path, document: text.document, operation });
    }
    let text = document_of(session, subject.object).ok_or_else(|| no_text(subject))?;
    checked(session, world, found, subject, shared, &text)?;
    let full = format!("{}{pointer}", text.pointer);
    let operation = match full.strip_suffix("/suspend") {
        Some(map) => Operation::InsertKey {
            map: map.to_owned(),
            key: "suspend".to_owned(),
            value,
            place: first_key(subject.object.node.get_ref()).map_or(Place::End, Place::Before),
            comment,
        },
        None => Operation::Set { pointer: full, value, comment },
    };
    Ok(Wanted { path: text.path, document: text.document, operation })
}

/// The first key of `spec`: a suspension is best seen at its head.
fn first_key(node: NodeRef<'_>) -> Option<String> {
    node.entries_at("/spec").next().map(|entry| entry.key.into_owned())
}

fn remove(
    session: &Session,
    world: &World,
    found: &[Subject<'_>],
    subject: &Subject<'_>,
    shared: bool,
    node: NodeRef<'_>,
) -> Result<Option<Wanted>, Failure> {
    let text = text_of(session, node).ok_or_else(|| no_text(subject))?;
    checked(session, world, found, subject, shared, &text)?;
    let operation = Operation::RemoveKey { pointer: text.pointer, prune: true };
    Ok(Some(Wanted { path: text.path, document: text.document, operation }))
}

fn checked(
    session: &Session,
    world: &World,
    found: &[Subject<'_>],
    subject: &Subject<'_>,
    shared: bool,
    text: &Text,
) -> Result<(), Failure> {
    if shared { Ok(()) } else { refuse_shared(session, world, found, subject, text) }
}

fn resumed(
    session: &Session,
    world: &World,
    found: &[Subject<'_>],
    subject: &Subject<'_>,
    shared: bool,
) -> Result<Vec<Wanted>, Failure> {
    let state = state(subject);
    let mut wanted = Vec::new();
    for entry in [&state.annotation, &state.disabled].into_iter().flatten() {
        wanted.extend(remove(session, world, found, subject, shared, entry.value)?);
    }
    if let Some(field) = state.field {
        let text = rewriting::text_of(session, field).ok_or_else(|| no_text(subject))?;
        checked(session, world, found, subject, shared, &text)?;
        wanted.push(Wanted {
            path: text.path.clone(),
            document: text.document,
            operation: Operation::Set { pointer: text.pointer, value: Content::Bool(false), comment: None },
        });
        // The reason of the suspension went with it.
        if let Some(place) =
            field.location().filter(|place| comment_after(&session.snapshot, place).is_some())
        {
            let comments = session.snapshot.file(&place.path).map(|file| session.snapshot.sources(file));
            let start = comments
                .into_iter()
                .flatten()
                .filter(|source| source.index == text.document)
                .find_map(|source| {
                    let comments = &source.document().comments;
                    comments.iter().find(|comment| comment.start >= place.end).map(|comment| comment.start)
                });
            if let Some(start) = start {
                wanted.push(Wanted {
                    path: text.path,
                    document: text.document,
                    operation: Operation::RemoveComment { start },
                });
            }
        }
    }
    Ok(wanted)
}
