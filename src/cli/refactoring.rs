//! What `rename` and `move` share: their flags, and doing a step of a series.

use super::common::Common;
use super::output::{self, formats};
use super::selector::ObjectSelector;
use super::session::{Session, cluster_filter};
use super::{Answer, Failure, Status, rewriting};
use crate::files::{Snapshot, git};
use crate::lang::text::{clean, counted};
use crate::lang::yaml::WorkPath;
use crate::lint::engine::NotChecked;
use crate::model::ObjectId;
use crate::report::{self, json, steps};
use crate::rewrite::FileChange;
use crate::rewrite::refactor::rename::clusters_of;
use crate::rewrite::refactor::{Refused, Series, changed};
use crate::rewrite::subject::{EditableText, Subject, home, manifest_of};
use crate::rewrite::write;
use crate::world::{ApplyTarget, World};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

formats!(Plain = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of commands that refactor.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct RefactoringFlags {
    #[command(flatten)]
    pub(crate) mode: rewriting::Mode,
    /// Change the object in every cluster that has it
    #[arg(long)]
    pub(crate) all_clusters: bool,
    /// Do this step; those before it have to be in the tree
    #[arg(long, value_name = "N")]
    pub(crate) step: Option<usize>,
    /// Write every step as a patch for `git am` into DIR instead
    #[arg(long, value_name = "DIR", conflicts_with_all = ["diff", "check", "step"])]
    pub(crate) patches: Option<PathBuf>,
}

/// Builds other worlds of the repository, sharing what is the same.
pub(crate) fn rebuild<'s>(session: &'s Session, world: &'s World) -> impl Fn(&Arc<Snapshot>) -> World + 's {
    let remotes = git::remotes(&session.root);
    move |snapshot| world.like(snapshot, &session.config, &remotes)
}

/// The flags that the command for the next step needs too.
pub(crate) fn add_flags(command: &mut String, common: &Common, flags: &RefactoringFlags) {
    for cluster in &common.cluster {
        command.push_str(&format!(" --cluster {cluster}"));
    }
    if let Some(namespace) = &common.namespace {
        command.push_str(&format!(" -n {namespace}"));
    }
    if flags.all_clusters {
        command.push_str(" --all-clusters");
    }
}

/// Tell the steps and do the one that is asked for.
pub(crate) fn carry_out(
    common: &Common,
    session: &Session,
    world: &World,
    flags: &RefactoringFlags,
    name: &str,
    command: &str,
    result: Result<Series, Vec<Refused>>,
) -> Answer {
    let (format, _) = output::chosen::<Format>(common).or_else(|failure| match flags.mode.diff {
        // `--diff` has a format of its own.
        true => Ok((Format::Plain, Vec::new())),
        false => Err(failure),
    })?;
    let header = || json::header(name, None, Some(world), &NotChecked::default());
    let series = match result {
        Ok(series) => series,
        Err(refused) => return Err(tell_refused(common, session, format, &refused, &header)),
    };
    if let Some(directory) = &flags.patches {
        return write_patches(common, session, directory, &series);
    }
    let step = wanted_step(flags, &series)?;
    let changes = step.map_or(&[][..], |number| &series.steps[number - 1].changes[..]);
    let moves = step.map_or(&[][..], |number| &series.steps[number - 1].moves[..]);
    let told = steps::StepsRun { does: step, writes: flags.mode.writes(), command };
    let before = world.snapshot.clone();
    if flags.mode.writes() {
        let linked = write::relocate(&session.root, moves, changes).map_err(|refusals| {
            Failure::Work(rewriting::refused(session, "the change could not be written", &refusals))
        })?;
        rewriting::tell_of_links(common, &linked);
    }
    let text = steps::text(&before, &series, told);
    if flags.mode.diff {
        write_diff(common, flags, &before, changes, moves)?;
        if !common.quiet {
            let _ = super::output::stderr(common).write_all(text.as_bytes());
        }
    } else {
        output::emit(common, |format, out, _| match format {
            Format::Plain => out.write_all(text.as_bytes()),
            Format::Json => json::write(out, &json::answer(header(), steps::json(&series))),
        })?;
    }
    let pending = flags.mode.check && !(changes.is_empty() && moves.is_empty());
    Ok(if pending { Status::Findings } else { Status::Clean })
}

/// The step that is done now: the one that is asked for, or the first of a series of which
/// nothing is done.
///
/// # Errors
/// The series has no such step, or has done it, or another one comes before it.
fn wanted_step(flags: &RefactoringFlags, series: &Series) -> Result<Option<usize>, Failure> {
    let next = series.next();
    Ok(match flags.step {
        None if next == 1 => Some(1),
        // The commit before it may not be in the cluster yet: that is for people to see.
        None => None,
        Some(wanted) if wanted == next => Some(wanted),
        Some(wanted) if wanted > series.steps.len() => {
            let count = counted(series.steps.len(), "step");
            return Err(Failure::Usage(format!("--step {wanted}: there is {count}; nothing was written")));
        }
        Some(wanted) if wanted < next => {
            return Err(Failure::Usage(format!("--step {wanted}: the tree has it; nothing was written")));
        }
        Some(wanted) => {
            return Err(Failure::Usage(format!(
                "--step {wanted}: this tree has no step {} yet; nothing was written\n\
                 help: do that first, and wait until the cluster has it",
                wanted - 1
            )));
        }
    })
}

/// Why nothing is done, in the format that is asked for.
fn tell_refused(
    common: &Common,
    session: &Session,
    format: Format,
    refused: &[Refused],
    header: &dyn Fn() -> serde_json::Map<String, serde_json::Value>,
) -> Failure {
    if format == Format::Json {
        let body = steps::refusals(&session.snapshot, refused);
        let written =
            output::emit(common, |_: Format, out, _| json::write(out, &json::answer(header(), body.clone())));
        if let Err(failure) = written {
            return failure;
        }
    }
    let lines: Vec<String> = refused.iter().map(|one| steps::sentence(&session.snapshot, one)).collect();
    Failure::Usage(format!("nothing was written\n{}", lines.join("\n")))
}

/// What a step changes, as a diff.
fn write_diff(
    common: &Common,
    flags: &RefactoringFlags,
    before: &Arc<Snapshot>,
    changes: &[FileChange],
    moves: &[(WorkPath, WorkPath)],
) -> Result<(), Failure> {
    let moved = match moves.is_empty() {
        true => before.clone(),
        false => {
            let moved = before.with_moved(moves);
            Arc::new(moved.map_err(|_| Failure::Work("a file can't be read".to_owned()))?)
        }
    };
    let after = changed(&moved, changes);
    if flags.mode.show_secrets {
        common.show_secrets();
    }
    output::emit(common, |_: output::DiffOnly, out, terminal| {
        for (from, to) in moves {
            writeln!(out, "rename {} -> {}", clean(from), clean(to))?;
        }
        let look = report::diff::Look { color: terminal.color, secrets: flags.mode.show_secrets };
        report::diff::write(out, &moved, &after, changes, look)
    })
}

fn write_patches(common: &Common, session: &Session, directory: &std::path::Path, series: &Series) -> Answer {
    let failed = |error: std::io::Error| Failure::Work(format!("{}: {error}", directory.display()));
    let (boundary, inner) = common.output_directory(directory)?;
    let real = write::directories(&boundary, &inner).map_err(failed)?;
    let mut before = session.snapshot.clone();
    for step in series.steps.iter().filter(|step| !step.done) {
        let moved = match step.moves.is_empty() {
            true => before.clone(),
            false => Arc::new(
                before
                    .with_moved(&step.moves)
                    .map_err(|_| Failure::Work("a file can't be read".to_owned()))?,
            ),
        };
        let after = changed(&moved, &step.changes);
        let mut bytes = Vec::new();
        steps::patch(&mut bytes, &moved, &after, series, step).map_err(failed)?;
        let name = format!("{:04}-step-{}.patch", step.number, step.number);
        write::file(&boundary, &real.join(&name), &bytes).map_err(failed)?;
        let _ = writeln!(output::stdout(common), "{}", directory.join(&name).display());
        before = after;
    }
    Ok(Status::Clean)
}

/// An object by its selector in the clusters that the flags mean; in all of them
/// where one text states it.
pub(crate) fn subjects<'w>(
    common: &Common,
    session: &Session,
    world: &'w World,
    selector: &ObjectSelector,
    all_clusters: bool,
) -> Result<Vec<Subject<'w>>, Failure> {
    let in_cluster = cluster_filter(common, world)?;
    let mut found: Vec<Subject<'w>> = Vec::new();
    let mut remote = None;
    for cluster in &world.clusters {
        for (member, object) in world.written(cluster).filter(|(_, object)| selector.matches(&object.id)) {
            match &member.target {
                ApplyTarget::Local => found.push(Subject { cluster, object }),
                ApplyTarget::Remote(by) => remote = Some((object.id.clone(), by.clone())),
            }
        }
    }
    let is_applied = |subject: &Subject<'_>| subject.cluster.name.is_some() || !world.has_entry;
    let mut meant: Vec<Subject<'w>> =
        found.iter().copied().filter(|subject| is_applied(subject) && in_cluster(subject.cluster)).collect();
    if meant.is_empty() {
        return Err(nothing(world, selector, &found, remote));
    }
    let ids: BTreeSet<&ObjectId> = meant.iter().map(|subject| &subject.object.id).collect();
    if ids.len() > 1 {
        return Err(several_objects(&ids));
    }
    let id = meant[0].object.id.clone();
    let text = |subject: &Subject<'_>| manifest_of(&session.snapshot, subject.object);
    let mut texts: BTreeMap<Option<EditableText>, Vec<Subject<'w>>> = BTreeMap::new();
    for subject in &meant {
        texts.entry(text(subject)).or_default().push(*subject);
    }
    if texts.len() > 1 && !all_clusters {
        return Err(several_texts(session, &meant, &id, texts.len()));
    }
    // What the same texts state elsewhere has the new name too.
    let mut elsewhere = Vec::new();
    for subject in &found {
        let known = meant.iter().any(|one| {
            std::ptr::eq(one.cluster, subject.cluster) && std::ptr::eq(one.object, subject.object)
        });
        if subject.object.id != id || known || !texts.contains_key(&text(subject)) {
            continue;
        }
        if is_applied(subject) && !in_cluster(subject.cluster) {
            elsewhere.push(*subject);
        }
        meant.push(*subject);
    }
    if elsewhere.is_empty() { Ok(meant) } else { Err(stands_elsewhere(&id, &elsewhere)) }
}

/// The text that states the object states it in clusters too that are not meant.
fn stands_elsewhere(id: &ObjectId, elsewhere: &[Subject<'_>]) -> Failure {
    let (clusters, _) = clusters_of(elsewhere);
    Failure::Usage(format!(
        "{} stands in a text that {} has too; nothing was written\n\
         help: leave out --cluster to change it in all of them, or give each cluster a text of its own first",
        clean(&id.to_string()),
        clean(&clusters),
    ))
}

/// Several texts state the object that is meant: where, and which flag says which.
fn several_texts(session: &Session, meant: &[Subject<'_>], id: &ObjectId, count: usize) -> Failure {
    let mut lines = BTreeSet::new();
    for subject in meant {
        let place = home(subject.object).map_or("in no file".to_owned(), |place| {
            format!("{}:{}", clean(place.file.shown()), session.snapshot.positions(place).0.0)
        });
        let name = subject.cluster.name.as_deref().unwrap_or(&subject.cluster.root);
        lines.insert(format!("\n  {}  {place}", clean(if name.is_empty() { "-" } else { name })));
    }
    let name = meant.iter().find_map(|subject| subject.cluster.name.as_deref());
    let help = match name {
        Some(name) => format!("add --cluster {}, or --all-clusters", clean(name)),
        None => "add --all-clusters to change each of them".to_owned(),
    };
    Failure::Usage(format!(
        "{} texts state {}; nothing was written{}\nhelp: {help}",
        count,
        crate::lang::text::with_article(&clean(&id.to_string())),
        lines.into_iter().collect::<String>(),
    ))
}

/// Several objects are called as the one that is meant.
fn several_objects(ids: &BTreeSet<&ObjectId>) -> Failure {
    let lines: Vec<String> =
        ids.iter().take(10).map(|id| format!("\n  {}", clean(&id.to_string()))).collect();
    Failure::Usage(format!(
        "{} objects are called so; nothing was written{}\nhelp: name one of them, with its namespace",
        ids.len(),
        lines.concat()
    ))
}

fn nothing(
    world: &World,
    selector: &ObjectSelector,
    found: &[Subject<'_>],
    remote: Option<(ObjectId, std::sync::Arc<str>)>,
) -> Failure {
    if let Some(subject) = found.iter().find(|subject| subject.cluster.name.is_some()) {
        let id = clean(&subject.object.id.to_string()).into_owned();
        let label = subject.cluster.label();
        return Failure::Usage(format!(
            "{id}: it is in {}, which --cluster leaves out; nothing was written",
            clean(&label)
        ));
    }
    if let Some((id, by)) = remote {
        return Failure::Usage(format!(
            "{}: it is applied to the cluster of the kubeConfig {}; name that cluster in .forebay.yaml \
             (`clusters: [{{name, path, kubeConfig}}]`); nothing was written",
            clean(&id.to_string()),
            clean(&by),
        ));
    }
    if let Some(orphan) = world.orphans().find(|object| selector.matches(&object.id)) {
        return Failure::Usage(format!(
            "{}: no cluster applies {}; nothing was written",
            clean(&orphan.id.to_string()),
            clean(orphan.path()),
        ));
    }
    selector.not_found(world.objects.iter().map(|object| &object.id))
}
