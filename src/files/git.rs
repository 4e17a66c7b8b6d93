//! Git plumbing by the `git` command: nothing but reading, no network, no
//! hooks, no prompts, whatever the user's configuration says.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A `git` command in `dir` with a scrubbed environment.
pub(crate) fn command(dir: &Path) -> Command {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command
        .current_dir(dir)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("LC_ALL", "C")
        .args(["--no-optional-locks", "--no-pager", "--literal-pathspecs"])
        // Only plumbing that reads is run, so a repository of another user (a
        // container in CI) is as good as one's own.
        .args(["-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
        // A directory of the tree that looks like a bare repository is content: its
        // index and configuration are nobody's.
        .args(["-c", "safe.bareRepository=explicit"])
        .stdin(Stdio::null());
    command
}

/// Run git and give its standard output; an error holds its last message.
pub(crate) fn run<S: AsRef<OsStr>>(dir: &Path, arguments: &[S]) -> io::Result<Vec<u8>> {
    let Output { status, stdout, stderr } = command(dir).args(arguments).output()?;
    if status.success() {
        return Ok(stdout);
    }
    let message = String::from_utf8_lossy(&stderr);
    let message = message.lines().last().unwrap_or("git failed").to_owned();
    Err(io::Error::other(message))
}

/// Whether a directory may lie in a work tree: false where nothing above it is called
/// `.git`, as no variable of the environment says where else one is, and a directory
/// that only looks like a repository is none. Asking git takes longer than all of a
/// small lint.
pub(crate) fn is_around(dir: &Path) -> bool {
    let Ok(real) = dir.canonicalize() else { return true };
    real.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok())
}

/// The top level of the work tree that holds `dir`, or `None` outside of git
/// and where git is not installed.
pub(crate) fn top_level(dir: &Path) -> Option<PathBuf> {
    if !is_around(dir) {
        return None;
    }
    let output = run(dir, &["rev-parse", "--show-toplevel"]).ok()?;
    let text = String::from_utf8(output).ok()?;
    let path = Path::new(text.trim_end_matches(['\n', '\r']));
    // A `core.worktree` that leads elsewhere is not followed.
    let holds = dir.canonicalize().ok()?.starts_with(path.canonicalize().ok()?);
    holds.then(|| path.to_owned())
}

/// The object id of a revision, peeled to a commit.
pub(crate) fn resolve_commit(root: &Path, revision: &str) -> io::Result<String> {
    let spec = format!("{revision}^{{commit}}");
    let output = run(root, &["rev-parse", "--verify", "--quiet", "--end-of-options", &spec])
        .map_err(|_| io::Error::other(format!("no commit `{revision}` in this repository")))?;
    Ok(String::from_utf8_lossy(&output).trim().to_owned())
}

/// URLs of the remotes of the repository at `root`; none outside of git.
pub(crate) fn remotes(root: &Path) -> Vec<String> {
    if !is_around(root) {
        return Vec::new();
    }
    let output = run(root, &["config", "--get-regexp", r"^remote\..*\.url$"]).unwrap_or_default();
    let text = String::from_utf8_lossy(&output).into_owned();
    text.lines().filter_map(|line| line.split_once(' ')).map(|(_, url)| url.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// Git is asked wherever it may say yes: in a clone, in a work tree or submodule of
    /// which `.git` is a file, above which there is nothing else.
    #[test]
    fn git_is_asked_below_whatever_is_called_git() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        for name in ["clone/.git", "clone/a/b", "submodule/a", "bare/objects", "bare/refs"] {
            fs::create_dir_all(path(name)).expect("made");
        }
        fs::write(path("submodule/.git"), "gitdir: ../elsewhere\n").expect("written");
        fs::write(path("bare/HEAD"), "ref: refs/heads/main\n").expect("written");
        for (name, expected) in [
            ("clone", true),
            ("clone/a/b", true),
            ("clone/.git", true),
            ("submodule/a", true),
            ("nowhere", true),
            ("bare", false),
            ("bare/objects", false),
        ] {
            assert_eq!(is_around(&path(name)), expected, "{name}");
        }
    }
}
