//! The two snapshots of `plan` and `lint --since`: git revisions or directories.

use super::Failure;
use super::root::real;
use super::session::Session;
use crate::config::Config;
use crate::files::{Snapshot, git};
use std::path::Path;
use std::sync::Arc;

/// A snapshot and what to call it.
pub(crate) struct Revision {
    pub(crate) snapshot: Arc<Snapshot>,
    /// As JSON and titles show it: a short commit, a directory, `working tree`.
    pub(crate) label: String,
}

/// Read a revision or a directory (`./DIR`, `../DIR` or absolute) that a flag names.
pub(crate) fn read(session: &Session, name: &str) -> Result<Revision, Failure> {
    let place = &RevisionPlace::of(session);
    if !is_directory(name) {
        return revision(place, name);
    }
    let path = real(Path::new(name))?;
    directory(place, name, &path)
}

/// Read the default base.
pub(crate) fn read_default_base(session: &Session) -> Result<Revision, Failure> {
    default_of(&RevisionPlace::of(session)).map(|(revision, _)| revision)
}

/// The default base of a root, and what people call it: `origin/main`.
pub(crate) fn base_of(
    root: &Path,
    config: &Config,
    like: &Arc<Snapshot>,
) -> Result<(Arc<Snapshot>, String), String> {
    let found = default_of(&RevisionPlace { root, config, snapshot: like });
    match found {
        Ok((base, name)) => {
            let head = git::run(root, &["rev-parse", "--abbrev-ref", &name]).ok();
            let head = head.filter(|_| name == "origin/HEAD");
            let head = head.map(|head| String::from_utf8_lossy(&head).trim().to_owned());
            Ok((base.snapshot, head.filter(|head| !head.is_empty()).unwrap_or(name)))
        }
        Err(Failure::Usage(why) | Failure::Work(why)) => Err(why),
        Err(Failure::Configuration(error)) => Err(error.to_string()),
    }
}

/// A repository, and a snapshot that others share its files with.
struct RevisionPlace<'s> {
    root: &'s Path,
    config: &'s Config,
    snapshot: &'s Arc<Snapshot>,
}

impl<'s> RevisionPlace<'s> {
    fn of(session: &'s Session) -> RevisionPlace<'s> {
        RevisionPlace { root: &session.root, config: &session.config, snapshot: &session.snapshot }
    }
}

/// The default base, and the name that it was found by.
fn default_of(place: &RevisionPlace<'_>) -> Result<(Revision, String), Failure> {
    match &place.config.plan_base {
        // Relative to the root, and outside of it only where that is allowed.
        Some(written) if is_directory(&written.value) => {
            let name = &written.value;
            let path = place.config.allowed.directory(place.root, name);
            let path = path.map_err(|error| Failure::Work(format!("plan.base {name}: {error}")))?;
            Ok((directory(place, name, &path)?, name.clone()))
        }
        Some(written) => Ok((revision(place, &written.value)?, written.value.clone())),
        None => {
            let (commit, name) = default_base(place)?;
            Ok((revision(place, &commit)?, name))
        }
    }
}

fn is_directory(name: &str) -> bool {
    name.starts_with("./") || name.starts_with("../") || name.starts_with('/') || name == "."
}

fn directory(place: &RevisionPlace<'_>, name: &str, path: &Path) -> Result<Revision, Failure> {
    if !path.is_dir() {
        return Err(Failure::Usage(format!("{name} is no directory")));
    }
    let like = place.snapshot;
    let snapshot = Snapshot::work_tree(path, like.store().clone());
    let snapshot = snapshot.map_err(|error| Failure::Work(format!("{name}: {error}")))?.sharing(like);
    Ok(Revision { snapshot: Arc::new(snapshot), label: name.to_owned() })
}

fn revision(place: &RevisionPlace<'_>, name: &str) -> Result<Revision, Failure> {
    let commit = git::resolve_commit(place.root, name)
        .map_err(|error| Failure::Work(format!("{error}{}", cure(place))))?;
    let snapshot = Snapshot::revision(place.root, &commit, place.snapshot)
        .map_err(|error| Failure::Work(format!("{name}: {error}")))?;
    let short = &commit[..commit.len().min(7)];
    let label = if commit.starts_with(name) { short.to_owned() } else { format!("{name} ({short})") };
    Ok(Revision { snapshot: Arc::new(snapshot), label })
}

/// The default base without configuration: the first parent of a merge that a pull
/// request is checked out as, the merge base with the main branch; and the name that it
/// was found by.
fn default_base(place: &RevisionPlace<'_>) -> Result<(String, String), Failure> {
    let root = place.root;
    let merge_ref = std::env::var("GITHUB_REF")
        .is_ok_and(|name| name.starts_with("refs/pull/") && name.ends_with("/merge"));
    if merge_ref && git::resolve_commit(root, "HEAD^2").is_ok() {
        return Ok(("HEAD^1".to_owned(), "HEAD^1".to_owned()));
    }
    for branch in ["origin/HEAD", "origin/main", "origin/master", "main"] {
        if let Ok(base) = git::run(root, &["merge-base", "HEAD", branch]) {
            return Ok((String::from_utf8_lossy(&base).trim().to_owned(), branch.to_owned()));
        }
    }
    if merge_ref {
        return Err(Failure::Work(format!("no base to compare with{}", cure(place))));
    }
    match git::resolve_commit(root, "HEAD") {
        Ok(_) => Err(Failure::Work(format!(
            "no base to compare with: there is no merge base with origin/HEAD, origin/main, origin/master or main{}",
            cure(place)
        ))),
        Err(_) => {
            Err(Failure::Work("no base to compare with: name one with --base REV or --base ./DIR".to_owned()))
        }
    }
}

/// What to do where history is missing.
fn cure(place: &RevisionPlace<'_>) -> String {
    let shallow = git::run(place.root, &["rev-parse", "--is-shallow-repository"]).unwrap_or_default();
    if shallow.starts_with(b"true") {
        "; this is a shallow clone: fetch its history (`git fetch --unshallow`, or `fetch-depth: 0` of \
         actions/checkout), or name a base with --base"
            .to_owned()
    } else {
        "; name one with --base REV or --base ./DIR".to_owned()
    }
}
