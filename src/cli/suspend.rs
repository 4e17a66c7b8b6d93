//! `forebay suspend`, `forebay resume` and `forebay migrate suspend`.

use super::common::Common;
use super::rewriting::{RewritingFlags, Task, subjects, told};
use super::selector::{ObjectSelector, joined};
use super::session::Session;
use super::{Answer, Failure, Status};
use crate::config::Feature;
use crate::lang::text::clean;
use crate::lang::yaml::edit::Operation;
use crate::model::ObjectId;
use crate::rewrite::Wanted;
use crate::rewrite::patch;
use crate::rewrite::subject::{Subject, Via, home};
use crate::rewrite::suspend::{self, Aim, NoText, is_suspendable, is_suspended_by_field};
use crate::simulate::suspend::{ANNOTATION, suspension};
use crate::world::{ApplyTarget, Cluster, Effective, World};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Flags of `suspend`.
#[derive(clap::Args)]
pub(crate) struct SuspendArguments {
    /// Objects: KIND/[NAMESPACE/]NAME, with globs; `ks/apps`, `hr/podinfo/podinfo`
    #[arg(required = true, value_name = "OBJECT")]
    objects: Vec<String>,
    /// Why: the value of the annotation, or a comment behind spec.suspend
    #[arg(long, value_name = "TEXT", value_parser = message)]
    message: Option<String>,
    /// Where to write it [default: what the cluster's controllers honour]
    #[arg(long, value_enum)]
    via: Option<Via>,
    #[command(flatten)]
    flags: RewritingFlags,
}

/// Flags of `resume`.
#[derive(clap::Args)]
pub(crate) struct ResumeArguments {
    /// Objects: KIND/[NAMESPACE/]NAME, with globs
    #[arg(required = true, value_name = "OBJECT")]
    objects: Vec<String>,
    #[command(flatten)]
    flags: RewritingFlags,
}

/// Flags of `migrate suspend`.
#[derive(clap::Args)]
pub(crate) struct MigrateArguments {
    /// Where suspensions are to be written
    #[arg(long, value_enum)]
    to: Via,
    #[command(flatten)]
    flags: RewritingFlags,
}

/// A reason fits on one line.
fn message(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    match text {
        "" => Err("it is empty"),
        _ if text.chars().any(char::is_control) => Err("it has to be one line, without control characters"),
        _ => Ok(text.to_owned()),
    }
}

/// Run `suspend`.
pub(crate) fn suspend(common: &Common, arguments: &SuspendArguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    let found = named(common, &arguments.flags, &session, &world, &arguments.objects)?;
    if arguments.via == Some(Via::Annotation) {
        refuse_annotation(&found)?;
    }
    let aim = Aim::Suspended { via: arguments.via, message: arguments.message.as_deref() };
    let task = Task { common, flags: &arguments.flags, session: &session, world: &world, subjects: &found };
    match run(&task, aim, "suspended") {
        Ok((answer, _)) => Ok(answer),
        // The manifest feeds others, or something overrides it: a patch in what the
        // cluster builds reaches the object alone.
        Err(failure) if !arguments.flags.shared => patched(&task, aim, arguments).ok_or(failure)?,
        Err(failure) => Err(failure),
    }
}

/// Run `resume`.
pub(crate) fn resume(common: &Common, arguments: &ResumeArguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    let found = named(common, &arguments.flags, &session, &world, &arguments.objects)?;
    let task = Task { common, flags: &arguments.flags, session: &session, world: &world, subjects: &found };
    let (answer, sets) = run(&task, Aim::Resumed, "resumed")?;
    let note = match sets {
        true => {
            "`suspend: false` stays written: leaving the field out resumes only what Git alone ever \
             suspended; one that the CLI or a UI also set stays suspended"
        }
        false => {
            "without the field, what Git alone suspended is resumed; one that the CLI or a UI also \
             suspended needs `flux resume` once"
        }
    };
    if !common.quiet && found.iter().any(|subject| is_suspended_by_field(&subject.object.id)) {
        let _ = writeln!(super::output::stderr(common), "{note}");
    }
    Ok(answer)
}

/// Run `migrate suspend`.
pub(crate) fn migrate(common: &Common, arguments: &MigrateArguments) -> Answer {
    let session = Session::open(common, &[])?;
    let world = session.world();
    let aim = Aim::Moved(arguments.to);
    // A migration is about all clusters unless some are named.
    let mut found = subjects(common, true, &session, &world, |object| is_suspended_by_field(&object.id))?;
    let needs_change = |subject: &Subject<'_>| !aim.is_reached(subject.cluster, subject.object);
    found.retain(needs_change);
    if arguments.to == Via::Annotation {
        refuse_annotation(&found)?;
    }
    // What one object stands in the way of is no reason to leave the others.
    let mut left = Vec::new();
    found.retain(|subject| {
        let one = Task {
            common,
            flags: &arguments.flags,
            session: &session,
            world: &world,
            subjects: std::slice::from_ref(subject),
        };
        let planned = wanted_of(&one, aim).and_then(|wanted| super::rewriting::plan(&session, &wanted));
        match planned {
            Ok(_) => true,
            Err(failure) => {
                left.push((subject.object.id.to_string(), failure));
                false
            }
        }
    });
    let task = Task { common, flags: &arguments.flags, session: &session, world: &world, subjects: &found };
    let (mut answer, _) = run(&task, aim, "migrated")?;
    if arguments.flags.mode.diff && !found.is_empty() {
        answer = Status::Findings;
    }
    let mut reasons: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (id, failure) in &left {
        let why = match failure {
            Failure::Usage(text) | Failure::Work(text) => text.replace("nothing was written\n", ""),
            _ => "it cannot be changed".to_owned(),
        };
        let id = clean(id).into_owned();
        reasons.entry(why.replace(&format!("{id} is"), "it is")).or_default().insert(id);
        answer = Status::Findings;
    }
    for (why, ids) in reasons {
        let ids = Vec::from_iter(ids).join(", ");
        let _ = writeln!(super::output::stderr(common), "left: {ids}: {why}");
    }
    Ok(answer)
}

/// The changes that make all subjects so.
fn wanted_of(task: &Task<'_, '_>, aim: Aim<'_>) -> Result<Vec<Wanted>, Failure> {
    let mut wanted = Vec::new();
    for subject in task.subjects {
        wanted.extend(
            aim.changes(&task.session.snapshot, *subject)
                .map_err(|NoText(id)| super::rewriting::no_text(&id.to_string(), home(subject.object)))?,
        );
    }
    Ok(wanted)
}

/// The JSON Pointer of the value that decides on a suspension.
fn decides(subject: Subject<'_>) -> String {
    let Subject { cluster, object } = subject;
    let state = suspension(&object.id, object.node.get_ref(), &cluster.settings);
    let by_annotation = state.is_some_and(|state| state.field.is_none() && state.annotation.is_some());
    suspend::pointer(&object.id, if by_annotation { Via::Annotation } else { Via::Spec })
}

/// Suspend each subject by a patch in what its cluster builds, the first that is
/// proven to change exactly this object in this cluster; `None` where none is.
fn patched(
    task: &Task<'_, '_>,
    aim: Aim<'_>,
    arguments: &SuspendArguments,
) -> Option<Result<Status, Failure>> {
    let mut wanted: Vec<Wanted> = Vec::new();
    for subject in task.subjects {
        if !is_suspended_by_field(&subject.object.id) || aim.is_reached(subject.cluster, subject.object) {
            return None;
        }
        let via = arguments.via.unwrap_or_else(|| suspend::default_via(subject.cluster));
        let message = arguments.message.as_deref();
        let snapshot = &task.session.snapshot;
        let one = Task { subjects: std::slice::from_ref(subject), ..*task };
        let is_proven = |change: &Wanted| {
            let reached = |cluster: &Cluster, object: &Effective| aim.is_reached(cluster, object);
            one.proven(std::slice::from_ref(change), decides, reached)
                .is_ok_and(|changes| !changes.is_empty())
        };
        let ways = patch::suspending(snapshot, task.world, *subject, via, message);
        wanted.push(ways.into_iter().find(is_proven)?);
    }
    let reached = |cluster: &Cluster, object: &Effective| aim.is_reached(cluster, object);
    let changes = match task.carry_out(&wanted, decides, reached) {
        Ok(changes) => changes,
        Err(failure) => return Some(Err(failure)),
    };
    if !task.common.quiet {
        let ids: Vec<String> = task
            .subjects
            .iter()
            .map(|subject| format!("{} in {}", subject.object.id, subject.cluster.label()))
            .collect();
        let only = if ids.len() == 1 { "changes nothing else" } else { "change nothing else" };
        let _ = writeln!(
            super::output::stderr(task.common),
            "its manifest feeds more, so it is suspended by a patch: all clusters built again show that it \
             reaches {} and {only}",
            clean(&ids.join(", "))
        );
    }
    let done = match task.subjects {
        [one] => format!("suspended {}", clean(&one.object.id.to_string())),
        many => format!("suspended {} objects", many.len()),
    };
    Some(Ok(told(task.common, task.flags, &changes, &done)))
}

/// Make the subjects so; and whether a value was set, not only removed.
fn run(task: &Task<'_, '_>, aim: Aim<'_>, word: &str) -> Result<(Status, bool), Failure> {
    let wanted = wanted_of(task, aim)?;
    let changes = task.carry_out(&wanted, decides, |cluster, object| aim.is_reached(cluster, object))?;
    let done = match task.subjects {
        [one] => format!("{word} {}", clean(&one.object.id.to_string())),
        many => format!("{word} {} objects", many.len()),
    };
    let sets = wanted.iter().any(|change| matches!(change.operation, Operation::Set { .. }));
    Ok((told(task.common, task.flags, &changes, &done), sets && !changes.is_empty()))
}

/// An annotation that the controllers of a cluster don't read suspends nothing: what it
/// should hold would reconcile on, and what `spec.suspend` held would resume.
fn refuse_annotation(found: &[Subject<'_>]) -> Result<(), Failure> {
    let is_ignored = |subject: &&Subject<'_>| {
        let honoured = subject.cluster.settings.feature(Feature::SuspendAnnotation).value;
        is_suspended_by_field(&subject.object.id) && honoured != Some(true)
    };
    let ignored: Vec<&Subject<'_>> = found.iter().filter(is_ignored).collect();
    let Some(first) = ignored.first() else { return Ok(()) };
    let more = match ignored.len() {
        1 => String::new(),
        many => format!(" and {} more", many - 1),
    };
    let clusters: BTreeSet<String> = ignored.iter().map(|subject| subject.cluster.label()).collect();
    let clusters = clean(&Vec::from_iter(clusters).join(", ")).into_owned();
    Err(Failure::Usage(format!(
        "{clusters}: no released Flux reads {ANNOTATION}, so {}{more} would not be suspended by it; nothing \
         was written\nhelp: write spec.suspend; if the controllers there read the annotation, say so in \
         .forebay.yaml for that cluster: `target: {{features: {{suspendAnnotation: enabled}}}}`",
        clean(&first.object.id.to_string()),
    )))
}

fn named<'w>(
    common: &Common,
    flags: &RewritingFlags,
    session: &Session,
    world: &'w World,
    objects: &[String],
) -> Result<Vec<Subject<'w>>, Failure> {
    let selectors: Vec<ObjectSelector> =
        joined(objects).iter().map(|text| ObjectSelector::of(common, text)).collect::<Result<_, _>>()?;
    let matches = |id: &ObjectId| selectors.iter().any(|selector| selector.matches(id));
    let found = subjects(common, flags.all_clusters, session, world, |object| {
        is_suspendable(&object.id) && matches(&object.id)
    })?;
    for selector in &selectors {
        if !found.iter().any(|subject| selector.matches(&subject.object.id)) {
            return Err(nothing_named(world, selector));
        }
    }
    Ok(found)
}

/// Why a selector names nothing that can be suspended here.
fn nothing_named(world: &World, selector: &ObjectSelector) -> Failure {
    let usage = |id: &ObjectId, why: &str| {
        Failure::Usage(format!("{}: {why}; nothing was written", clean(&id.to_string())))
    };
    let mut elsewhere = None;
    for cluster in world.applied_clusters() {
        for (member, object) in world.written(cluster).filter(|(_, object)| selector.matches(&object.id)) {
            if !is_suspendable(&object.id) {
                return usage(&object.id, "objects of this kind can't be suspended");
            }
            elsewhere = Some(match &member.target {
                ApplyTarget::Remote(by) => usage(
                    &object.id,
                    &format!(
                        "it is applied to the cluster of the kubeConfig {}; name that cluster in \
                         .forebay.yaml (`clusters: [{{name, path, kubeConfig}}]`)",
                        clean(by)
                    ),
                ),
                ApplyTarget::Local => usage(
                    &object.id,
                    &format!("it is in {}, which --cluster leaves out", clean(&cluster.label())),
                ),
            });
        }
    }
    let orphan = world.orphans().find(|object| selector.matches(&object.id));
    match (elsewhere, orphan) {
        (Some(failure), _) => failure,
        (None, Some(orphan)) => usage(&orphan.id, &format!("no cluster applies {}", clean(orphan.path()))),
        (None, None) => {
            selector.not_found(world.objects.iter().map(|object| &object.id).filter(|id| is_suspendable(id)))
        }
    }
}
