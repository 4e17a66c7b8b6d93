//! What all commands that rewrite files share: the flags, finding the text
//! behind an object, showing or writing the change.

use super::common::Common;
use super::session::{Session, cluster_filter};
use super::{Answer, Failure, Status, output};
use crate::flux::cluster::{ApplyTarget, Cluster, Effective, World};
use crate::report;
use crate::rewrite::{self, FileChange, Wanted};
use crate::yaml::edit::pointer_of;
use crate::yaml::{Location, NodeRef};
use std::collections::BTreeSet;
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
        rewrite::write::write(&session.root, changes)
            .map_err(|refusals| Failure::Work(refused(session, "the change could not be written", &refusals)))
    }

    /// The answer when so many files change.
    pub(crate) fn status(&self, changes: &[FileChange]) -> Status {
        if self.writes() || changes.is_empty() { Status::Clean } else { Status::Findings }
    }
}

/// Show changes as a unified diff.
pub(crate) fn show(
    common: &Common,
    session: &Session,
    changes: &[FileChange],
    secrets: bool,
) -> Result<(), Failure> {
    let texts = changes.iter().map(|change| (&*change.path, change.after.clone().into_bytes()));
    let after = session.snapshot.with_files(texts);
    output::emit(common, &["diff"], |_, out, terminal| {
        let look = report::diff::Look { color: terminal.color, secrets };
        report::diff::write(out, &session.snapshot, &after, changes, look)
    })
}

/// Flags of commands that rewrite files.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Flags {
    #[command(flatten)]
    pub(crate) mode: Mode,
    /// Change the object in every cluster that has it
    #[arg(long)]
    pub(crate) all_clusters: bool,
    /// Change a text that feeds other objects too
    #[arg(long)]
    pub(crate) shared: bool,
}

/// An object to change: where it is, and the document that states it.
pub(crate) struct Subject<'w> {
    /// Its cluster.
    pub(crate) cluster: &'w Cluster,
    /// The effective object.
    pub(crate) object: &'w Effective,
}

/// The subjects of a command, checked for ambiguity: an object that several
/// clusters have needs `--cluster` or `--all-clusters`.
pub(crate) fn subjects<'w>(
    common: &Common,
    flags: &Flags,
    session: &Session,
    world: &'w World,
    wanted: impl Fn(&Effective) -> bool,
) -> Result<Vec<Subject<'w>>, Failure> {
    let in_cluster = cluster_filter(common, world)?;
    let mut found: Vec<Subject<'w>> = Vec::new();
    for cluster in world.clusters.iter().filter(|cluster| in_cluster(cluster)) {
        for (member, object) in world.members(cluster) {
            if member.target == ApplyTarget::Local && wanted(object) {
                found.push(Subject { cluster, object });
            }
        }
    }
    for subject in &found {
        let same: Vec<&Subject<'w>> =
            found.iter().filter(|other| other.object.id == subject.object.id).collect();
        let clusters: BTreeSet<&str> =
            same.iter().filter_map(|other| other.cluster.name.as_deref()).collect();
        if clusters.len() > 1 && !flags.all_clusters {
            let mut message =
                format!("{} clusters have a {}; nothing was written", clusters.len(), subject.object.id);
            for other in &same {
                let place = other.object.node.get_ref().location_at("/metadata/name");
                let place = place.map_or(String::new(), |place| line_of(session, &place));
                let name = other.cluster.name.as_deref().unwrap_or("");
                message.push_str(&format!("\n  {name}  {place}"));
            }
            let first = clusters.iter().next().copied().unwrap_or_default();
            message.push_str(&format!("\nhelp: add --cluster {first}, or --all-clusters"));
            return Err(Failure::Usage(message));
        }
    }
    Ok(found)
}

fn line_of(session: &Session, place: &Location) -> String {
    format!("{}:{}", place.path, session.snapshot.positions(place).0.0)
}

/// A text to change: a file, a document of it, and the pointer of a value in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text {
    /// The file.
    pub(crate) path: Arc<str>,
    /// Index of the document.
    pub(crate) document: u32,
    /// JSON Pointer of the value from the document's root.
    pub(crate) pointer: String,
}

/// The text that states a value: its own token, or the token at its origin.
pub(crate) fn text_of(session: &Session, node: NodeRef<'_>) -> Option<Text> {
    let of = |node: NodeRef<'_>| {
        let (source, pointer) = pointer_of(node)?;
        Some(Text { path: source.path.clone(), document: source.index, pointer })
    };
    of(node).or_else(|| {
        let location = node.location()?;
        let file = session.snapshot.file(&location.path)?;
        let sources = session.snapshot.sources(file);
        let found = sources.iter().find_map(|source| {
            let tokens = &source.document().tokens;
            let exact =
                |token: &crate::yaml::tape::Token| token.start == location.start && token.end == location.end;
            let index = tokens.iter().rposition(exact)?;
            Some(NodeRef::Source(source, index as u32))
        });
        of(found?)
    })
}

/// The document that states an object, as a text whose pointer is its root: of
/// the files that made it, the resource.
pub(crate) fn document_of(session: &Session, object: &Effective) -> Option<Text> {
    let name = object.node.get_ref().at("/spec").or_else(|| object.node.get_ref().at("/kind"));
    let role =
        object.files.iter().find(|(role, _)| *role == "resource").map(|(_, location)| location.clone());
    let location = role.or_else(|| name?.location())?;
    let file = session.snapshot.file(&location.path)?;
    let sources = session.snapshot.sources(file);
    for source in sources.iter().filter(|source| !source.document().tokens.is_empty()) {
        let root = NodeRef::Source(source, 0);
        // An item of a List is inside the document.
        let holds = source.document().start <= location.start && location.start <= source.document().end;
        if !holds {
            continue;
        }
        let item =
            root.items_at("/items").find(|item| item.location().is_some_and(|at| at.start == location.start));
        return text_of(session, item.unwrap_or(root));
    }
    None
}

/// Refuse to change a text that feeds objects beyond those asked for.
pub(crate) fn refuse_shared(
    session: &Session,
    world: &World,
    subjects: &[Subject<'_>],
    subject: &Subject<'_>,
    text: &Text,
) -> Result<(), Failure> {
    for cluster in &world.clusters {
        for (_, object) in world.members(cluster) {
            let asked = subjects
                .iter()
                .any(|other| std::ptr::eq(other.cluster, cluster) && other.object.id == object.id);
            if asked || object.id.kind != subject.object.id.kind {
                continue;
            }
            let feeds = document_of(session, object)
                .is_some_and(|other| other.path == text.path && other.document == text.document);
            if feeds {
                let place = object.applied_place(world);
                let elsewhere = match &cluster.name {
                    Some(name) if object.id == subject.object.id => format!("cluster {name}"),
                    _ => object.id.to_string(),
                };
                return Err(Failure::Usage(format!(
                    "{} takes this from a shared text; nothing was written: {} also feeds {elsewhere}\n\
                     help: {}add --shared to change it for all",
                    subject.object.id,
                    text.path,
                    place.map_or(String::new(), |place| format!(
                        "set it in an overlay of its own ({place}), or "
                    ))
                )));
            }
        }
    }
    Ok(())
}

impl Effective {
    /// A file of an overlay that shapes this object alone: a patch.
    fn applied_place(&self, _: &World) -> Option<String> {
        self.files.iter().find(|(role, _)| *role == "patch").map(|(_, location)| location.path.to_string())
    }
}

/// Make the changes, as the flags say: write them, show them, or only tell.
pub(crate) fn carry_out(
    common: &Common,
    flags: &Flags,
    session: &Session,
    wanted: &[Wanted],
    done: &str,
) -> Answer {
    let mut unique: Vec<Wanted> = Vec::new();
    for change in wanted {
        if !unique.contains(change) {
            unique.push(change.clone());
        }
    }
    let changes = plan(session, &unique)?;
    flags.mode.carry_out(common, session, &changes)?;
    if !common.quiet {
        use std::io::Write;
        let say = &mut anstream::stderr();
        let files = report::counted(changes.len(), "file");
        let _ = match (changes.len(), flags.mode.writes()) {
            (0, _) => writeln!(say, "nothing to change"),
            (_, false) => writeln!(say, "{files} would change"),
            (_, true) => writeln!(say, "{done}: {files} changed"),
        };
    }
    Ok(flags.mode.status(&changes))
}

/// The new contents of the files that some changes touch.
pub(crate) fn plan(session: &Session, wanted: &[Wanted]) -> Result<Vec<FileChange>, Failure> {
    rewrite::plan(&session.snapshot, wanted)
        .map_err(|refusals| Failure::Usage(refused(session, "nothing was written", &refusals)))
}

/// Why files are not changed, one reason a line.
pub(crate) fn refused(session: &Session, what: &str, refusals: &[rewrite::Refusal]) -> String {
    let lines = refusals.iter().map(|refusal| report::diff::sentence(&session.snapshot, refusal));
    format!("{what}\n{}", lines.collect::<Vec<_>>().join("\n"))
}
