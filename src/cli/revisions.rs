//! The two snapshots of `plan` and `lint --since`: git revisions or directories.

use super::Failure;
use super::root::real;
use super::session::Session;
use crate::repo::{Snapshot, git};
use std::path::Path;
use std::sync::Arc;

/// A snapshot and what to call it.
pub(crate) struct Revision {
    /// The files.
    pub(crate) snapshot: Arc<Snapshot>,
    /// As JSON and titles show it: a short commit, a directory, `working tree`.
    pub(crate) label: String,
}

/// Read a revision or a directory (`./DIR`, `../DIR` or absolute) that a flag names.
pub(crate) fn read(session: &Session, name: &str) -> Result<Revision, Failure> {
    if !is_directory(name) {
        return revision(session, name);
    }
    let path = real(Path::new(name))?;
    directory(session, name, &path)
}

/// Read the default base.
pub(crate) fn read_default_base(session: &Session) -> Result<Revision, Failure> {
    match &session.config.plan_base {
        // Relative to the root, and outside of it only where that is allowed.
        Some(written) if is_directory(&written.value) => {
            let name = &written.value;
            let path = session.config.allowed.directory(&session.root, name);
            let path = path.map_err(|error| Failure::Work(format!("plan.base {name}: {error}")))?;
            directory(session, name, &path)
        }
        Some(written) => revision(session, &written.value),
        None => revision(session, &default_base(session)?),
    }
}

fn is_directory(name: &str) -> bool {
    name.starts_with("./") || name.starts_with("../") || name.starts_with('/') || name == "."
}

fn directory(session: &Session, name: &str, path: &Path) -> Result<Revision, Failure> {
    if !path.is_dir() {
        return Err(Failure::Usage(format!("{name} is no directory")));
    }
    let like = &session.snapshot;
    let snapshot = Snapshot::work_tree(path, like.store().clone());
    let snapshot = snapshot.map_err(|error| Failure::Work(format!("{name}: {error}")))?.sharing(like);
    Ok(Revision { snapshot: Arc::new(snapshot), label: name.to_owned() })
}

fn revision(session: &Session, name: &str) -> Result<Revision, Failure> {
    let commit = git::resolve_commit(&session.root, name)
        .map_err(|error| Failure::Work(format!("{error}{}", cure(session))))?;
    let snapshot = Snapshot::revision(&session.root, &commit, &session.snapshot)
        .map_err(|error| Failure::Work(format!("{name}: {error}")))?;
    let short = &commit[..commit.len().min(7)];
    let label = if commit.starts_with(name) { short.to_owned() } else { format!("{name} ({short})") };
    Ok(Revision { snapshot: Arc::new(snapshot), label })
}

/// The default base without configuration: the first parent of a merge that a pull
/// request is checked out as, the merge base with the main branch.
fn default_base(session: &Session) -> Result<String, Failure> {
    let root = &session.root;
    let merge_ref = std::env::var("GITHUB_REF")
        .is_ok_and(|name| name.starts_with("refs/pull/") && name.ends_with("/merge"));
    if merge_ref && git::resolve_commit(root, "HEAD^2").is_ok() {
        return Ok("HEAD^1".to_owned());
    }
    for branch in ["origin/HEAD", "origin/main", "origin/master", "main"] {
        if let Ok(base) = git::run(root, &["merge-base", "HEAD", branch]) {
            return Ok(String::from_utf8_lossy(&base).trim().to_owned());
        }
    }
    if merge_ref {
        return Err(Failure::Work(format!("no base to compare with{}", cure(session))));
    }
    match git::resolve_commit(root, "HEAD") {
        Ok(_) => Err(Failure::Work(format!(
            "no base to compare with: there is no merge base with origin/HEAD, origin/main, origin/master or main{}",
            cure(session)
        ))),
        Err(_) => {
            Err(Failure::Work("no base to compare with: name one with --base REV or --base ./DIR".to_owned()))
        }
    }
}

/// What to do where history is missing.
fn cure(session: &Session) -> String {
    let shallow = git::run(&session.root, &["rev-parse", "--is-shallow-repository"]).unwrap_or_default();
    if shallow.starts_with(b"true") {
        "; this is a shallow clone: fetch its history (`git fetch --unshallow`, or `fetch-depth: 0` of \
         actions/checkout), or name a base with --base"
            .to_owned()
    } else {
        "; name one with --base REV or --base ./DIR".to_owned()
    }
}
