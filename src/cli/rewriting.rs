//! What all commands that rewrite files share: the flags, finding the text
//! behind an object, showing or writing the change.

use super::common::Common;
use super::session::{Session, cluster_filter};
use super::{Failure, Status, output, why};
use crate::build::kustomize::FileRole;
use crate::lang::text::{clean, counted, line_start, with_article};
use crate::lang::yaml::{Location, NodeRef, Tree};
use crate::model::ObjectId;
use crate::report;
use crate::rewrite::subject::{EditableText, Subject, Unproven, home, manifest_of, prove};
use crate::rewrite::{self, FileChange, Wanted};
use crate::world::{ApplyTarget, Cluster, Effective, World};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

/// Whether a change is written, shown or only told.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Mode {
    /// Show the change as a unified diff and write nothing
    #[arg(long)]
    pub(crate) diff: bool,
    /// Only tell whether a change is needed: exit 1 when it is
    #[arg(long, conflicts_with = "diff")]
    pub(crate) check: bool,
    /// With --diff: show the values of Secrets, so that it can be applied
    #[arg(long, requires = "diff")]
    pub(crate) show_secrets: bool,
}

impl Mode {
    /// Whether files are written.
    pub(crate) fn writes(&self) -> bool {
        !self.diff && !self.check
    }

    /// Write the changes, or show them.
    pub(crate) fn carry_out(
        &self,
        common: &Common,
        session: &Session,
        changes: &[FileChange],
    ) -> Result<(), Failure> {
        if self.diff {
            return show(common, session, changes, self.show_secrets);
        }
        if self.check {
            return Ok(());
        }
        let linked = rewrite::write::write(&session.root, changes).map_err(|refusals| {
            Failure::Work(refused(session, "the change could not be written", &refusals))
        })?;
        tell_of_links(common, &linked);
        Ok(())
    }

    /// The answer when so many files change.
    pub(crate) fn status(&self, changes: &[FileChange]) -> Status {
        if self.writes() || changes.is_empty() { Status::Clean } else { Status::Findings }
    }
}

/// A file that was written is a new one: what was the same file by a hard link is not
/// any more.
pub(crate) fn tell_of_links(common: &Common, paths: &[String]) {
    for path in paths {
        let path = line_start(path);
        let _ = writeln!(
            output::stderr(common),
            "{path} had another name (a hard link); under that one the old text stays"
        );
    }
}

/// Show changes as a unified diff.
pub(crate) fn show(
    common: &Common,
    session: &Session,
    changes: &[FileChange],
    secrets: bool,
) -> Result<(), Failure> {
    if secrets {
        common.show_secrets();
    }
    let texts = changes.iter().map(|change| (&*change.path, change.after.clone().into_bytes()));
    let after = session.snapshot.with_files(texts);
    output::emit(common, |_: output::DiffOnly, out, terminal| {
        let look = report::diff::Look { color: terminal.color, secrets };
        report::diff::write(out, &session.snapshot, &after, changes, look)
    })
}

/// Flags of commands that rewrite files.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct RewritingFlags {
    #[command(flatten)]
    pub(crate) mode: Mode,
    /// Change the object in every cluster that has it
    #[arg(long)]
    pub(crate) all_clusters: bool,
    /// Change a text that feeds other objects too
    #[arg(long)]
    pub(crate) shared: bool,
}

/// The objects that a command is about, in the clusters that the flags mean. One
/// that several clusters have, or several texts state, needs a word.
pub(crate) fn subjects<'w>(
    common: &Common,
    all_clusters: bool,
    session: &Session,
    world: &'w World,
    wanted: impl Fn(&Effective) -> bool,
) -> Result<Vec<Subject<'w>>, Failure> {
    let in_cluster = cluster_filter(common, world)?;
    let mut found: Vec<Subject<'w>> = Vec::new();
    for cluster in world.applied_clusters().filter(|cluster| in_cluster(cluster)) {
        for (member, object) in world.written(cluster) {
            if member.target == ApplyTarget::Local && wanted(object) {
                found.push(Subject { cluster, object });
            }
        }
    }
    if all_clusters {
        return Ok(found);
    }
    let mut known: BTreeMap<&ObjectId, Vec<Subject<'w>>> = BTreeMap::new();
    for subject in &found {
        known.entry(&subject.object.id).or_default().push(*subject);
    }
    match known.into_iter().find_map(|(id, same)| ambiguous(session, id, &same)) {
        Some(message) => Err(Failure::Usage(message)),
        None => Ok(found),
    }
}

/// What to say of an identity that several named clusters, or several texts, have.
fn ambiguous(session: &Session, id: &ObjectId, same: &[Subject<'_>]) -> Option<String> {
    let names: BTreeSet<&str> = same.iter().filter_map(|one| one.cluster.name.as_deref()).collect();
    let texts: BTreeSet<Option<EditableText>> =
        same.iter().map(|one| manifest_of(&session.snapshot, one.object)).collect();
    if names.len() < 2 && texts.len() < 2 {
        return None;
    }
    let id = clean(&id.to_string()).into_owned();
    let mut message = match names.len() {
        0 | 1 => format!("{} texts state {}; nothing was written", texts.len(), with_article(&id)),
        many => format!("{many} clusters have {}; nothing was written", with_article(&id)),
    };
    let mut lines = BTreeSet::new();
    for one in same {
        let place = home(one.object).map_or("in no file".to_owned(), |place| line_of(session, place));
        let cluster = one.cluster.name.as_deref().unwrap_or(&one.cluster.root);
        lines.insert(format!("\n  {}  {place}", clean(if cluster.is_empty() { "-" } else { cluster })));
    }
    message.extend(lines);
    let help = match names.first() {
        Some(name) if names.len() > 1 => format!("add --cluster {}, or --all-clusters", clean(name)),
        Some(_) => "add --all-clusters to change each of them".to_owned(),
        None => "name the clusters in .forebay.yaml (`clusters: [{name, path}]`) for --cluster, or add \
                 --all-clusters to change each of them"
            .to_owned(),
    };
    Some(format!("{message}\nhelp: {help}"))
}

fn line_of(session: &Session, place: &Location) -> String {
    format!("{}:{}", clean(place.file.shown()), session.snapshot.positions(place).0.0)
}

/// What a command is to do, and to which objects.
pub(crate) struct Task<'a, 'w> {
    /// The flags of every command.
    pub(crate) common: &'a Common,
    /// Those of commands that rewrite files.
    pub(crate) flags: &'a RewritingFlags,
    pub(crate) session: &'a Session,
    pub(crate) world: &'w World,
    pub(crate) subjects: &'a [Subject<'w>],
}

impl Task<'_, '_> {
    /// Make the changes, as the flags say: write them, show them, or only tell.
    /// Before that, refuse those that don't do what is wanted, or more: `decides`
    /// is the JSON Pointer of the value that counts, for the message.
    pub(crate) fn carry_out(
        &self,
        wanted: &[Wanted],
        decides: impl Fn(Subject<'_>) -> String,
        is_as_wanted: impl Fn(&Cluster, &Effective) -> bool,
    ) -> Result<Vec<FileChange>, Failure> {
        let changes = self.proven(wanted, decides, is_as_wanted)?;
        if !changes.is_empty() {
            self.flags.mode.carry_out(self.common, self.session, &changes)?;
        }
        Ok(changes)
    }

    /// The changes of files, proven to do what is wanted and no more; nothing is
    /// written yet.
    pub(crate) fn proven(
        &self,
        wanted: &[Wanted],
        decides: impl Fn(Subject<'_>) -> String,
        is_as_wanted: impl Fn(&Cluster, &Effective) -> bool,
    ) -> Result<Vec<FileChange>, Failure> {
        let Task { flags, session, world, subjects, .. } = *self;
        let mut unique: Vec<Wanted> = Vec::new();
        for change in wanted {
            if !unique.contains(change) {
                unique.push(change.clone());
            }
        }
        let changes = plan(session, &unique)?;
        if changes.is_empty() {
            let is_left = |subject: &&Subject<'_>| !is_as_wanted(subject.cluster, subject.object);
            return match subjects.iter().find(is_left) {
                Some(subject) => Err(without_effect(session, &changes, *subject, &decides(*subject))),
                None => Ok(changes),
            };
        }
        let texts = changes.iter().map(|change| (&*change.path, change.after.clone().into_bytes()));
        let after = session.world_of(&Arc::new(session.snapshot.with_files(texts)));
        match prove(world, &after, subjects, flags.shared, is_as_wanted) {
            Ok(()) => {}
            Err(Unproven::WithoutEffect(subject)) => {
                return Err(without_effect(session, &changes, subject, &decides(subject)));
            }
            Err(Unproven::Shared(others)) => return Err(self.shared(&changes, &others)),
        }
        Ok(changes)
    }

    fn shared(&self, changes: &[FileChange], others: &BTreeSet<(ObjectId, String)>) -> Failure {
        let subjects = self.subjects;
        const SHOWN: usize = 3;
        let mut fed: Vec<String> = others
            .iter()
            .take(SHOWN)
            .map(|(id, cluster)| clean(&format!("{id} in {cluster}")).into_owned())
            .collect();
        if others.len() > SHOWN {
            fed.push(format!("{} more", others.len() - SHOWN));
        }
        let ids: BTreeSet<&ObjectId> = subjects.iter().map(|subject| &subject.object.id).collect();
        let who = match ids.first() {
            Some(id) if ids.len() == 1 => format!("{} takes", clean(&id.to_string())),
            _ => format!("some of {} objects take", ids.len()),
        };
        Failure::Usage(format!(
            "{who} this from a shared text; nothing was written: {} also feeds {}\n\
         help: no text feeds it alone; add --shared to change it for all of them",
            paths(changes),
            fed.join(", ")
        ))
    }
}

/// What came of it, on standard error. A change that is shown has worked; only
/// `--check` asks whether there is one.
pub(crate) fn told(common: &Common, flags: &RewritingFlags, changes: &[FileChange], done: &str) -> Status {
    if !common.quiet {
        use std::io::Write;
        let say = &mut output::stderr(common);
        let files = counted(changes.len(), "file");
        let _ = match (changes.len(), flags.mode.writes()) {
            (0, _) => writeln!(say, "nothing to change"),
            (_, false) => writeln!(say, "{files} would change"),
            (_, true) => writeln!(say, "{done}: {files} changed"),
        };
    }
    if flags.mode.check { flags.mode.status(changes) } else { Status::Clean }
}

fn paths(changes: &[FileChange]) -> String {
    let paths: Vec<_> = changes.iter().map(|change| clean(&change.path)).collect();
    paths.join(", ")
}

/// The patches that shape an object, the last to apply first.
fn patches(session: &Session, object: &Effective) -> impl Iterator<Item = Location> {
    let files = why::files(object, &session.snapshot).into_iter().rev();
    files.filter(|(role, _)| *role == FileRole::Patch).map(|(_, location)| location)
}

fn without_effect(session: &Session, changes: &[FileChange], subject: Subject<'_>, decides: &str) -> Failure {
    let node = subject.object.node.get_ref();
    let place = node.at(decides).and_then(NodeRef::location);
    let place = place.or_else(|| patches(session, subject.object).next());
    let (why, help) = match place {
        Some(place) => (
            format!("{} decides on it", line_of(session, &place)),
            "change that by hand: it is no manifest of its own",
        ),
        None => ("something else decides on it".to_owned(), "`forebay why` tells which files shape it"),
    };
    Failure::Usage(format!(
        "{} in {} would stay as it is; nothing was written: a change of {} does not reach it, {why}\n\
         help: {help}",
        clean(&subject.object.id.to_string()),
        clean(&subject.cluster.label()),
        if changes.is_empty() { "its manifest".to_owned() } else { paths(changes) },
    ))
}

/// Why there is no text to change: where it stands is another file tree, or no file.
pub(crate) fn no_text(what: &str, place: Option<&Location>) -> Failure {
    let what = clean(what);
    Failure::Usage(match place.filter(|place| *place.file.tree() == Tree::Outside) {
        Some(place) => format!(
            "{what} is written in {}, of another file tree: change it there; nothing was written",
            clean(place.file.shown())
        ),
        None => format!("{what} is written in no file of this repository; nothing was written"),
    })
}

/// The new contents of the files that some changes touch.
pub(crate) fn plan(session: &Session, wanted: &[Wanted]) -> Result<Vec<FileChange>, Failure> {
    rewrite::plan(&session.snapshot, wanted)
        .map_err(|refusals| Failure::Usage(refused(session, "nothing was written", &refusals)))
}

/// Why files are not changed, one reason a line.
pub(crate) fn refused(session: &Session, what: &str, refusals: &[rewrite::RewriteRefusal]) -> String {
    let lines = refusals.iter().map(|refusal| report::diff::sentence(&session.snapshot, refusal));
    format!("{what}\n{}", lines.collect::<Vec<_>>().join("\n"))
}
