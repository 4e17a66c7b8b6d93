//! The one way to open what exists. In CI the tree is the content of a pull
//! request, and a name in it is a claim: it may be a symbolic link out of the
//! tree, a device, a pipe, or a file whose size says 0 and that never ends.
//!
//! [`Root`] opens names below a root: every directory on the way is a directory
//! and no link, what is opened is the regular file that was looked at, and no more
//! than a limit is read. [`read_named`] opens what a flag or the root's
//! configuration names: inside the root by the same laws, after links that stay
//! inside; elsewhere whatever the user named, still bounded.

use super::blob::SIZE_LIMIT;
use rustc_hash::FxHashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::RwLock;

/// A directory and the names below it.
#[derive(Debug)]
pub(super) struct Root {
    path: PathBuf,
    /// Directories below it that were seen to be no links: a tree of thousands of
    /// files has few of them. A tree that changes while it is read is not held
    /// back by this; what is opened is looked at again.
    plain: RwLock<FxHashSet<Box<str>>>,
}

impl Root {
    /// The directory at a path, which is followed where it is a link itself.
    pub(super) fn new(path: &Path) -> Root {
        Root { path: path.to_owned(), plain: RwLock::default() }
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The bytes of a regular file.
    ///
    /// # Errors
    /// What the system says; a name that is none below a root, or leads through
    /// a symbolic link; anything but a regular file; more than [`SIZE_LIMIT`].
    pub(super) fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.plain(name)?;
        read_regular(&path)
    }

    /// A regular file, opened: of a large one only the beginning may be wanted.
    ///
    /// # Errors
    /// As [`Root::read`], but for the limit.
    pub(super) fn open(&self, name: &str) -> io::Result<File> {
        let file = open_itself(&self.plain(name)?)?;
        if file.metadata()?.is_file() { Ok(file) } else { Err(not_regular()) }
    }

    /// How many bytes a file has as the file system says.
    pub(super) fn size(&self, name: &str) -> io::Result<u64> {
        Ok(self.plain(name)?.symlink_metadata()?.len())
    }

    /// Whether something stands at a name, without following links.
    pub(super) fn exists(&self, name: &str) -> bool {
        self.plain(name).is_ok_and(|path| path.symlink_metadata().is_ok())
    }

    /// The path of a name all of whose directories are no links.
    fn plain(&self, name: &str) -> io::Result<PathBuf> {
        if !is_name(name) {
            return Err(io::Error::other("its name is none below the root"));
        }
        if let Some((directory, _)) = name.rsplit_once('/') {
            self.check(directory)?;
        }
        Ok(self.path.join(name))
    }

    fn check(&self, directory: &str) -> io::Result<()> {
        let is_known = |directory: &str| self.plain.read().is_ok_and(|plain| plain.contains(directory));
        let mut unknown = Vec::new();
        let mut next = Some(directory);
        while let Some(directory) = next.filter(|directory| !is_known(directory)) {
            unknown.push(directory);
            next = directory.rsplit_once('/').map(|(above, _)| above);
        }
        for directory in unknown.into_iter().rev() {
            let metadata = self.path.join(directory).symlink_metadata()?;
            if !metadata.is_dir() {
                return Err(io::Error::other("a directory of its path is a symbolic link"));
            }
            if let Ok(mut plain) = self.plain.write() {
                plain.insert(directory.into());
            }
        }
        Ok(())
    }
}

/// Whether a text is the name of a file below a root: no absolute path, no `..`,
/// nothing of git's own directory, and nothing that a system reads otherwise
/// than as it is written. Indexes and trees of git can hold any bytes.
pub(super) fn is_name(name: &str) -> bool {
    let is_part = |part: &[u8]| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git");
    let bytes = name.as_bytes();
    memchr::memchr2(0, b'\\', bytes).is_none() && bytes.split(|byte| *byte == b'/').all(is_part)
}

/// Where a path leads, seen from a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathTarget {
    /// Below the root: the root as the path names it, and the rest of the path.
    Inside(PathBuf, PathBuf),
    /// Elsewhere.
    Outside,
}

/// Whether a path lies below a root *as it is written*: a link in the tree that
/// leads out of it is still inside, because the tree made it, and a link of the
/// user's own that leads to the root is none of the tree's.
pub(crate) fn place(root: &Path, path: &Path) -> PathTarget {
    let (Ok(root), Ok(absolute)) = (root.canonicalize(), std::path::absolute(path)) else {
        return PathTarget::Outside;
    };
    let clean = without_parents(&absolute);
    let mut above: Vec<&Path> = clean.ancestors().collect();
    above.reverse();
    for ancestor in above {
        if ancestor.canonicalize().is_ok_and(|real| real == root) {
            let rest = clean.strip_prefix(ancestor).unwrap_or(Path::new(""));
            return PathTarget::Inside(root, rest.to_owned());
        }
    }
    PathTarget::Outside
}

/// `a/../b` as `b`: what the user means by it, whatever `a` is.
fn without_parents(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                clean.pop();
            }
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean
}

/// Directories outside of the root that may be read. The tree cannot allow itself
/// any: only a flag can, or a configuration that lies outside too.
#[derive(Clone, Debug, Default)]
pub struct Allowed {
    /// Every directory that the configuration names.
    pub all: bool,
    /// These, and what lies below them.
    pub directories: Vec<PathBuf>,
}

impl Allowed {
    /// The real path of a directory that the configuration names, absolute or
    /// relative to the root.
    ///
    /// # Errors
    /// What the system says, and a directory that may not be read.
    pub fn directory(&self, root: &Path, written: &str) -> io::Result<PathBuf> {
        let refused = || {
            io::Error::other(
                "it lies outside of the root; --allow-dir DIR allows it, or a configuration that lies \
                 outside too (--config FILE)",
            )
        };
        let root = root.canonicalize()?;
        let path = root.join(written);
        let allowed: Vec<PathBuf> =
            self.directories.iter().filter_map(|one| one.canonicalize().ok()).collect();
        // Before anything of it is looked at.
        let clean = without_parents(&path);
        let named = |above: &PathBuf| clean.starts_with(above) || place(above, &clean) != PathTarget::Outside;
        if !self.all && !clean.starts_with(&root) && !allowed.iter().any(named) {
            return Err(refused());
        }
        let real = clean.canonicalize()?;
        if let Ok(inner) = real.strip_prefix(&root) {
            let own = inner.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
            return if own { Err(io::Error::other("it is git's own directory")) } else { Ok(real) };
        }
        if self.all || allowed.iter().any(|above| real.starts_with(above)) {
            Ok(real)
        } else {
            Err(refused())
        }
    }
}

/// The text of a file that a flag or the root's configuration names.
///
/// # Errors
/// What the system says. Inside the root: a path that leads out of it or into
/// git's own directory, anything but a regular file. Anywhere: a directory, more
/// than [`SIZE_LIMIT`] bytes, anything but UTF-8.
pub(crate) fn read_named(root: &Path, path: &Path) -> io::Result<String> {
    let bytes = match place(root, path) {
        PathTarget::Inside(root, rest) => {
            let real = root.join(rest).canonicalize()?;
            let inner = real
                .strip_prefix(&root)
                .map_err(|_| io::Error::other("it leads out of the root through a symbolic link"))?;
            if inner.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git")) {
                return Err(io::Error::other("it leads into git's own directory"));
            }
            // What is a device is not even opened.
            match real.symlink_metadata()?.is_file() {
                true => read_regular(&real)?,
                false => return Err(not_regular()),
            }
        }
        PathTarget::Outside => read_bytes(path)?,
    };
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}

/// The bytes of a file that the user names, wherever it lies.
///
/// # Errors
/// What the system says; a directory, or more than [`SIZE_LIMIT`] bytes.
pub(crate) fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let opened = file.metadata()?;
    if opened.is_dir() {
        return Err(io::Error::other("it is a directory"));
    }
    bounded(file, if opened.is_file() { opened.len() } else { 0 })
}

/// The bytes of the regular file at a path, which is not followed.
fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let file = open_itself(path)?;
    let opened = file.metadata()?;
    if !opened.is_file() {
        return Err(not_regular());
    }
    bounded(file, opened.len())
}

fn not_regular() -> io::Error {
    io::Error::other("not a regular file")
}

/// Open what stands at a path: no link is followed, and a pipe is not waited for.
#[cfg(unix)]
fn open_itself(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let itself = libc::O_NOFOLLOW | libc::O_NOCTTY;
    let open = |flags| File::options().read(true).custom_flags(flags).open(path);
    match open(itself | libc::O_NONBLOCK) {
        // Somebody holds a lease of it, which whoever waits breaks.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock && path.symlink_metadata()?.is_file() => {
            open(itself)
        }
        // The error of a link differs from system to system.
        Err(error) => match path.symlink_metadata() {
            Ok(seen) if !seen.is_file() => Err(not_regular()),
            _ => Err(error),
        },
        Ok(file) => Ok(file),
    }
}

#[cfg(not(unix))]
fn open_itself(path: &Path) -> io::Result<File> {
    match path.symlink_metadata()?.is_file() {
        true => File::open(path),
        false => Err(not_regular()),
    }
}

/// The bytes of a file of a size, at most [`SIZE_LIMIT`]; of a file whose size says
/// 0, whatever it holds.
fn bounded(file: File, size: u64) -> io::Result<Vec<u8>> {
    let wanted = if size == 0 { SIZE_LIMIT + 1 } else { size };
    let mut bytes = Vec::with_capacity(size.clamp(64, SIZE_LIMIT) as usize);
    if size <= SIZE_LIMIT {
        // What is read up to its size is not asked for its end.
        file.take(wanted).read_to_end(&mut bytes)?;
    }
    if size.max(bytes.len() as u64) > SIZE_LIMIT {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than 64 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_below_their_root() {
        for name in ["a", "a/b.yaml", "a/..b/c", ".github/x", "a:b"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            "/etc/passwd",
            "../a",
            "a/../../b",
            "a//b",
            "a/./b",
            "a\0b",
            "a\\..\\b",
            ".git/config",
            "a/.GIT/x",
        ] {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_took_the_place_of_a_file_is_neither_followed_nor_waited_for() {
        let scratch = tempfile::tempdir().expect("a directory");
        let path = |name: &str| scratch.path().join(name);
        let root = Root::new(scratch.path());
        std::fs::write(path("elsewhere"), "of others").expect("written");
        assert_eq!(root.read("elsewhere").expect("a file"), b"of others");
        std::os::unix::fs::symlink(path("elsewhere"), path("link")).expect("linked");
        std::os::unix::fs::symlink(path("nowhere"), path("dangling")).expect("linked");
        std::fs::create_dir(path("directory")).expect("made");
        let made = std::process::Command::new("mkfifo").arg(path("pipe")).status().expect("mkfifo runs");
        assert!(made.success());
        for name in ["link", "dangling", "directory", "pipe"] {
            let refused = root.read(name).expect_err(name);
            assert_eq!(refused.to_string(), "not a regular file", "{name}");
        }
        assert_eq!(root.read("gone").expect_err("gone").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn paths_are_placed_as_they_are_written() {
        let scratch = tempfile::tempdir().expect("a directory");
        let root = scratch.path().canonicalize().expect("it exists");
        let inside = |rest: &str| PathTarget::Inside(root.clone(), rest.into());
        for (path, expected) in [
            (root.join("a/b"), inside("a/b")),
            (root.join("a/../c"), inside("c")),
            (root.clone(), inside("")),
            (root.join("../elsewhere"), PathTarget::Outside),
        ] {
            assert_eq!(place(&root, &path), expected, "{}", path.display());
        }
    }
}
