//! Files that hold commands: scripts, tasks, workflows, playbooks.

use crate::files::{File, Snapshot};
use memchr::memmem;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Whether a file may hold commands.
pub(super) fn is_script(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).as_bytes();
    let begins =
        |with: &str| name.len() >= with.len() && name[..with.len()].eq_ignore_ascii_case(with.as_bytes());
    let ends = |with: &str| {
        name.len() >= with.len() && name[name.len() - with.len()..].eq_ignore_ascii_case(with.as_bytes())
    };
    let is = |one: &str| name.eq_ignore_ascii_case(one.as_bytes());
    let yaml = ends(".yaml") || ends(".yml");
    let workflow =
        [".github/", ".forgejo/", ".gitea/", ".woodpecker", ".circleci/", ".taskfiles/", ".tekton/"];
    (yaml && workflow.iter().any(|part| path.starts_with(part)))
        || [".sh", ".bash", ".mk", ".just"].into_iter().any(ends)
        || (yaml && (begins("taskfile") || is(".gitlab-ci.yml") || is(".gitlab-ci.yaml")))
        || ["makefile", "justfile", ".justfile", "gnumakefile"].into_iter().any(is)
        || (yaml
            && (memmem::find(path.as_bytes(), b"taskfile").is_some()
                || path.starts_with(".mise/")
                || memmem::find(path.as_bytes(), b"/.mise/").is_some()))
}

/// The files of a repository that hold commands, and what was looked for in them: clusters
/// ask for the same files.
#[derive(Debug)]
pub(crate) struct Scripts {
    files: Vec<Arc<File>>,
    naming: Mutex<FxHashMap<Box<str>, Option<u32>>>,
}

impl Scripts {
    pub(crate) fn of(snapshot: &Snapshot) -> Scripts {
        let files = snapshot.files().iter().filter(|file| is_script(&file.path) || is_playbook(&file.path));
        Scripts { files: files.cloned().collect(), naming: Mutex::default() }
    }

    /// The one that names a file, by its own name and by that of its directory:
    /// `$(DIR)/app.yaml` beside `DIR := hack/app` does.
    pub(crate) fn that_names(&self, snapshot: &Snapshot, path: &str) -> Option<&str> {
        let mut naming = self.naming.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match naming.get(path) {
            Some(found) => *found,
            None => *naming.entry(path.into()).or_insert(self.find(snapshot, path)),
        };
        found.map(|at| &*self.files[at as usize].path)
    }

    fn find(&self, snapshot: &Snapshot, path: &str) -> Option<u32> {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        let directory = directory.rsplit('/').next().unwrap_or_default();
        let at = self.files.iter().position(|file| {
            let text = snapshot.stream(file).map(|stream| &*stream.text).unwrap_or_default();
            holds_word(text, name) && (directory.is_empty() || holds_word(text, directory))
        });
        at.map(|at| at as u32)
    }
}

/// The page of documentation that says to apply a file by hand before Flux runs.
pub(crate) fn page_that_applies<'s>(snapshot: &'s Snapshot, path: &str) -> Option<&'s str> {
    let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
    let directory = directory.rsplit('/').next().unwrap_or_default();
    let says =
        |line: &str| line.contains("kubectl apply") && holds_word(line, name) && holds_word(line, directory);
    let mut pages = snapshot.files().iter().filter(|file| file.path.ends_with(".md"));
    let page = pages.find(|file| {
        let text = snapshot.blob(file).ok().and_then(|blob| blob.text());
        text.is_some_and(|text| text.lines().any(says))
    });
    page.map(|file| &*file.path)
}

/// Whether a file may belong to Ansible.
fn is_playbook(path: &str) -> bool {
    let is_yaml = path.ends_with(".yaml") || path.ends_with(".yml");
    let mut above = path.rsplit('/').skip(1);
    is_yaml && above.any(|segment| matches!(segment, "ansible" | "playbooks" | "roles" | "tasks"))
}

/// Whether a name stands in a text, and not as part of a longer one.
fn holds_word(text: &str, word: &str) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b));
    let bytes = text.as_bytes();
    let begins = |at: usize| !is_part(at.checked_sub(1).and_then(|before| bytes.get(before)));
    let ends = |at: usize| {
        let after = at + word.len();
        // A full stop may end a sentence.
        !is_part(bytes.get(after)) || bytes.get(after) == Some(&b'.') && !is_part(bytes.get(after + 1))
    };
    memmem::find_iter(bytes, word.as_bytes()).any(|at| begins(at) && ends(at))
}
