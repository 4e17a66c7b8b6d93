//! What git ignores.

use super::{File, Snapshot, SnapshotOrigin};
use crate::files::source_ignore::SourceIgnore;
use rustc_hash::FxHashMap;
use std::sync::Arc;

impl Snapshot {
    /// Whether a path that this snapshot lacks exists on disk all the same: git
    /// ignores it.
    pub fn is_ignored(&self, path: &str) -> bool {
        let missing = self.file(path).is_none() && !self.has_directory(path);
        missing
            && match &self.origin {
                SnapshotOrigin::Directory(root) => root.exists(path),
                SnapshotOrigin::Outside(root, lead) => {
                    path.strip_prefix(&**lead).is_some_and(|path| root.exists(path))
                }
                _ => self.ignored.iter().any(|ignored| ignored == path),
            }
    }

    /// The pattern of a `.gitignore` file of the repository that covers a path, and
    /// that file: what is not there is then made where it is needed.
    pub fn git_ignores(&self, path: &str) -> Option<(String, String)> {
        let mut found = None;
        let mut directory = String::new();
        let parents = path.rsplit_once('/').map_or("", |(parents, _)| parents);
        let below = parents.split('/').filter(|segment| !segment.is_empty());
        for segment in std::iter::once("").chain(below) {
            if !segment.is_empty() {
                directory =
                    if directory.is_empty() { segment.to_owned() } else { format!("{directory}/{segment}") };
            }
            let own = if directory.is_empty() {
                ".gitignore".to_owned()
            } else {
                format!("{directory}/.gitignore")
            };
            let pattern = self.git_patterns().get(&*own).and_then(|ignore| ignore.pattern(path));
            if let Some(pattern) = pattern {
                found = Some((pattern.to_owned(), own));
            }
        }
        found
    }

    /// What each `.gitignore` says, by its path.
    fn git_patterns(&self) -> &FxHashMap<Arc<str>, SourceIgnore> {
        self.git_patterns.get_or_init(|| {
            let read = |file: &Arc<File>| {
                let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
                let text = self.blob(file).ok().filter(|_| name == ".gitignore")?.text()?;
                Some((file.path.clone(), SourceIgnore::of_git([(directory, text)])))
            };
            self.files.iter().filter(|file| file.path.ends_with(".gitignore")).filter_map(read).collect()
        })
    }

    /// Files in memory beside paths that exist and that git ignores.
    #[must_use]
    pub fn beside_ignored(mut self, paths: Vec<String>) -> Snapshot {
        self.ignored = paths;
        self
    }
}
