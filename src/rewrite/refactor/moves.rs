//! Which files go where.

use super::{Refused, files_at};
use crate::files::{FileKind, Snapshot, join};
use crate::lang::yaml::WorkPath;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which paths become which: whole files and directories.
#[derive(Clone, Debug)]
pub struct Moves {
    /// (from, to), each a file or a directory.
    pub(super) roots: Vec<(String, String)>,
    /// (from, to), each a file.
    pub files: Vec<(WorkPath, WorkPath)>,
}

impl Moves {
    /// The moves of some files and directories to a place: into it where it is a
    /// directory, ends in `/` or there are several.
    ///
    /// # Errors
    /// What is not there, what is taken, and what can't be moved.
    pub fn new(snapshot: &Snapshot, from: &[String], to: &str) -> Result<Moves, Vec<Refused>> {
        let refuse = |why: String, help: &str| Err(vec![Refused::at(None, why, help)]);
        let into = to.ends_with('/') || from.len() > 1 || snapshot.has_directory(to.trim_end_matches('/'));
        let to = to.trim_end_matches('/');
        let Some(to) = join("", to) else {
            return refuse(format!("{to} is outside of the root"), "name a path in it");
        };
        let mut moves = Moves { roots: Vec::new(), files: Vec::new() };
        for path in from {
            let Some(path) = join("", path).filter(|path| !path.is_empty()) else {
                return refuse(
                    format!("{path} is no path inside of the root"),
                    "name a file or directory of it",
                );
            };
            let name = path.rsplit('/').next().unwrap_or_default();
            let target = if into { join(&to, name).unwrap_or_default() } else { to.clone() };
            let below = snapshot.files_below(&path).iter().chain(snapshot.file(&path));
            if let Some(other) = below.clone().find(|file| file.kind != FileKind::Regular) {
                return refuse(format!("{} is no regular file", other.path), "move it by hand");
            }
            let files = files_at(snapshot, &path);
            if files.is_empty() {
                return refuse(format!("there is no {path}"), "name a file or directory of the repository");
            }
            if target == path {
                return refuse(format!("{path} is there already"), "name another place");
            }
            if target.starts_with(&format!("{path}/")) || path.starts_with(&format!("{target}/")) && into {
                return refuse(format!("{target} is inside of {path}"), "name a place outside of it");
            }
            for file in files {
                let new: Arc<str> = match file.strip_prefix(&*path) {
                    Some(rest) => format!("{target}{rest}").into(),
                    None => target.as_str().into(),
                };
                if snapshot.file(&new).is_some() || snapshot.is_ignored(&new) {
                    return refuse(format!("{new} is there already"), "name another place");
                }
                let Some(new) = WorkPath::new(new) else {
                    return refuse(format!("{target} is no path inside of the root"), "name another place");
                };
                moves.files.push((file, new));
            }
            moves.roots.push((path, target));
        }
        let names: BTreeSet<&WorkPath> = moves.files.iter().map(|(_, to)| to).collect();
        if names.len() != moves.files.len() {
            return refuse("two of them would have one path".to_owned(), "move them one after the other");
        }
        Ok(moves)
    }

    /// The path afterwards of a file or directory.
    pub fn path(&self, path: &str) -> String {
        let below =
            |from: &str| path.strip_prefix(from).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let found = self.roots.iter().find_map(|(from, to)| Some(format!("{to}{}", below(from)?)));
        found.unwrap_or_else(|| path.to_owned())
    }

    /// The path afterwards of a file.
    pub fn new_path(&self, path: &WorkPath) -> WorkPath {
        let found = self.files.iter().find(|(from, _)| from == path);
        found.map_or_else(|| path.clone(), |(_, to)| to.clone())
    }

    /// (from, to), each a file or a directory as it was named.
    pub fn roots(&self) -> impl Iterator<Item = (&str, &str)> {
        self.roots.iter().map(|(from, to)| (&**from, &**to))
    }

    /// Whether a file or directory gets another path.
    pub fn is_moved(&self, path: &str) -> bool {
        self.path(path) != path
    }
}
