//! Which files exist: git's view of a work tree, a plain directory, or a
//! revision.

use super::blob::SIZE_LIMIT;
use super::git;
use super::open;
use rayon::prelude::*;
use sha2::Digest;
use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    Regular,
    /// A symbolic link and its target as written.
    Symlink(Box<str>),
    /// A submodule: an empty directory for Flux unless it recurses.
    Submodule,
    /// A FIFO, socket or device.
    Special,
}

/// One path of a tree.
#[derive(Clone, Debug)]
pub(super) struct TreeEntry {
    /// Relative to the root, with `/`.
    pub path: String,
    /// What is there.
    pub kind: FileKind,
    /// Whether git tracks it. True in trees without git.
    pub tracked: bool,
    /// Size in bytes of a manifest; 0 where the tree is a revision.
    pub size: u64,
    /// The blob id where the tree is a revision.
    pub oid: Option<String>,
}

impl TreeEntry {
    pub(super) fn new(path: &str, kind: FileKind) -> TreeEntry {
        TreeEntry { path: path.to_owned(), kind, tracked: true, size: 0, oid: None }
    }
}

/// The entries of a directory, sorted by path, and the paths that could not be
/// named because they are not UTF-8.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Entries in order of their paths' bytes.
    pub entries: Vec<TreeEntry>,
    /// Lossy names of what had to be left out: not UTF-8, or no name below a root.
    pub unnamed: Vec<String>,
}

/// Whether a path looks like a manifest: by its extension alone.
pub(crate) fn is_manifest_path(path: &str) -> bool {
    matches!(path.rsplit_once('.').map(|(_, extension)| extension), Some("yaml" | "yml" | "json"))
        || path.rsplit('/').next() == Some("Kustomization")
}

/// List the work tree at `root`: tracked files and untracked ones that no
/// `.gitignore` excludes; without git, everything below it.
pub(super) fn work_tree(root: &Path) -> io::Result<Listing> {
    if !git::is_around(root) {
        return directory(root);
    }
    let arguments = ["ls-files", "-z", "-t", "-c", "-o", "--exclude-per-directory=.gitignore"];
    match git::run(root, &arguments) {
        Ok(output) => Ok(from_git(root, &output)),
        Err(_) => directory(root),
    }
}

fn from_git(root: &Path, output: &[u8]) -> Listing {
    let mut listing = Listing::default();
    let mut names: Vec<(&str, bool)> = Vec::new();
    for record in output.split(|byte| *byte == 0) {
        // `H path` is tracked, `? path` is not; `S`, `M` and others are tracked.
        let Some((tag, name)) = record.split_first().and_then(|(tag, rest)| Some((tag, rest.get(1..)?)))
        else {
            continue;
        };
        match std::str::from_utf8(name) {
            Ok(name) if open::is_name(name.trim_end_matches('/')) => {
                names.push((name.trim_end_matches('/'), *tag != b'?'));
            }
            _ => listing.unnamed.push(String::from_utf8_lossy(name).into_owned()),
        }
    }
    names.sort_unstable();
    // A path in conflict is listed once per stage.
    names.dedup_by(|a, b| a.0 == b.0);
    listing.entries =
        entries(&names, |(name, tracked)| Some(TreeEntry { tracked: *tracked, ..stat(root, name)? }));
    listing
}

/// What stands at the names; what is gone is left out.
fn entries<N: Sync>(names: &[N], entry: impl Fn(&N) -> Option<TreeEntry> + Sync + Send) -> Vec<TreeEntry> {
    names.par_iter().with_min_len(256).filter_map(entry).collect()
}

/// Most files of a directory that is listed without git. Nobody means a root of
/// the file system, and its listing would not end.
const ENTRIES: usize = 2_000_000;

/// List everything below `root` with no regard to git; links are not followed.
pub(super) fn directory(root: &Path) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let mut names: Vec<(String, bool)> = Vec::new();
    std::fs::read_dir(root)?;
    let walk = walkdir::WalkDir::new(root).follow_links(false).into_iter();
    for entry in walk.filter_entry(|entry| entry.file_name() != ".git" || entry.depth() == 0) {
        // An unreadable directory is left out, as an unreadable file is.
        let Ok(entry) = entry else { continue };
        if entry.file_type().is_dir() {
            continue;
        }
        let Ok(relative) = entry.path().strip_prefix(root) else { continue };
        let name = relative.to_str().map(|name| match std::path::MAIN_SEPARATOR {
            '/' => Cow::Borrowed(name),
            other => Cow::Owned(name.replace(other, "/")),
        });
        match name {
            Some(name) if open::is_name(&name) => {
                if names.len() >= ENTRIES {
                    return Err(io::Error::other(format!("more than {ENTRIES} files")));
                }
                // The directory says what is a file; only of what is read must more be known.
                let known = entry.file_type().is_file() && !is_manifest_path(&name);
                names.push((name.into_owned(), known));
            }
            _ => listing.unnamed.push(relative.to_string_lossy().into_owned()),
        }
    }
    names.sort_unstable();
    listing.entries = entries(&names, |(name, known)| match known {
        true => Some(TreeEntry::new(name, FileKind::Regular)),
        false => stat(root, name),
    });
    listing.unnamed.sort_unstable();
    Ok(listing)
}

fn stat(root: &Path, name: &str) -> Option<TreeEntry> {
    let path = root.join(name);
    let metadata = std::fs::symlink_metadata(&path).ok()?;
    let kind = if metadata.is_file() {
        FileKind::Regular
    } else if metadata.is_symlink() {
        let target = std::fs::read_link(&path).ok()?;
        FileKind::Symlink(target.to_string_lossy().into())
    } else if metadata.is_dir() {
        FileKind::Submodule
    } else {
        FileKind::Special
    };
    Some(TreeEntry { size: metadata.len(), ..TreeEntry::new(name, kind) })
}

/// List the tree of a commit.
pub(super) fn revision(root: &Path, commit: &str, blobs: &Blobs) -> io::Result<Listing> {
    let output = git::run(root, &["ls-tree", "-r", "-z", "--full-tree", commit])?;
    let mut listing = Listing::default();
    for record in output.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        // `<mode> <type> <oid>\t<path>`
        let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { continue };
        let path = std::str::from_utf8(&record[tab + 1..]);
        let Some(path) = path.ok().filter(|path| open::is_name(path)) else {
            listing.unnamed.push(String::from_utf8_lossy(&record[tab + 1..]).into_owned());
            continue;
        };
        let head = String::from_utf8_lossy(&record[..tab]);
        let mut fields = head.split_ascii_whitespace();
        let (Some(mode), Some(_), Some(oid)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let kind = match mode {
            "120000" => FileKind::Symlink("".into()),
            "160000" => FileKind::Submodule,
            _ => FileKind::Regular,
        };
        listing.entries.push(TreeEntry { oid: Some(oid.to_owned()), ..TreeEntry::new(path, kind) });
    }
    let links: Vec<usize> = (0..listing.entries.len())
        .filter(|index| matches!(listing.entries[*index].kind, FileKind::Symlink(_)))
        .collect();
    let oids: Vec<&str> = links.iter().filter_map(|index| listing.entries[*index].oid.as_deref()).collect();
    let targets = blobs.read(&oids)?;
    for (index, target) in links.into_iter().zip(targets) {
        let GitBlob::Bytes(target) = target else { continue };
        listing.entries[index].kind = FileKind::Symlink(String::from_utf8_lossy(&target).into());
    }
    listing.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(listing)
}

/// What git has of a blob.
#[derive(Debug)]
pub(super) enum GitBlob {
    Bytes(Vec<u8>),
    /// More bytes than are read.
    TooLarge(u64),
    /// Nothing: this is a partial clone.
    Missing,
}

/// Blobs of a repository, read by one `git cat-file --batch` that is started when
/// the first is asked for.
#[derive(Debug)]
pub(super) struct Blobs {
    root: PathBuf,
    running: Mutex<Option<Running>>,
}

/// The process; it ends when its standard input is closed.
#[derive(Debug)]
struct Running {
    child: Child,
    input: Option<ChildStdin>,
    output: io::BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.input = None;
        // One that was left in the middle of an answer still has some to write.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(root: &Path) -> io::Result<Running> {
        let mut child = git::command(root)
            .args(["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(ended)?;
        Ok(Running { child, input, output: io::BufReader::with_capacity(1 << 16, output) })
    }

    fn read(&mut self, oids: &[&str]) -> io::Result<Vec<GitBlob>> {
        let wanted = oids.join("\n") + "\n";
        let input = self.input.as_mut().ok_or_else(ended)?;
        let output = &mut self.output;
        std::thread::scope(|scope| {
            // Written by a thread of its own where it is much: git answers while it is
            // still being asked.
            match oids.len() {
                0..=16 => input.write_all(wanted.as_bytes())?,
                _ => drop(scope.spawn(move || input.write_all(wanted.as_bytes()))),
            }
            oids.iter().map(|_| answer(output)).collect()
        })
    }
}

fn ended() -> io::Error {
    io::Error::other("git cat-file ended early")
}

/// One answer of `git cat-file --batch`.
fn answer(reader: &mut impl BufRead) -> io::Result<GitBlob> {
    let mut header = String::new();
    if reader.read_line(&mut header)? == 0 {
        return Err(ended());
    }
    let (is_blob, size) = match header.split_ascii_whitespace().collect::<Vec<_>>()[..] {
        [_, kind, size] => (kind == "blob", size.parse::<u64>().ok()),
        _ => (false, None),
    };
    let Some(size) = size else { return Ok(GitBlob::Missing) };
    if !is_blob || size > SIZE_LIMIT {
        io::copy(&mut reader.take(size + 1), &mut io::sink())?;
        return Ok(if is_blob { GitBlob::TooLarge(size) } else { GitBlob::Missing });
    }
    let mut bytes = vec![0; size as usize + 1];
    reader.read_exact(&mut bytes)?;
    bytes.pop();
    Ok(GitBlob::Bytes(bytes))
}

impl Blobs {
    /// The blobs of the repository at `root`.
    pub(super) fn new(root: &Path) -> Blobs {
        Blobs { root: root.to_owned(), running: Mutex::new(None) }
    }

    /// Blobs in the order asked for.
    ///
    /// # Errors
    /// Where git can't be run, or ends before it has answered.
    pub(super) fn read(&self, oids: &[&str]) -> io::Result<Vec<GitBlob>> {
        if oids.is_empty() {
            return Ok(Vec::new());
        }
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let mut process = match running.take() {
            Some(process) => process,
            None => Running::start(&self.root)?,
        };
        let found = process.read(oids)?;
        *running = Some(process);
        Ok(found)
    }
}

/// Whether git names this content by an object id, in either of its hashes.
pub(super) fn has_object_id(bytes: &[u8], oid: &str) -> bool {
    fn is<D: Digest>(bytes: &[u8], oid: &str) -> bool {
        let header = format!("blob {}\0", bytes.len());
        let hash = D::new().chain_update(header).chain_update(bytes).finalize();
        let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        digits.map(|digit| b"0123456789abcdef"[usize::from(digit)]).eq(oid.bytes())
    }
    match oid.len() {
        40 => is::<sha1::Sha1>(bytes, oid),
        64 => is::<sha2::Sha256>(bytes, oid),
        _ => false,
    }
}

/// The path of `target` seen from the directory of `link`, both relative to
/// the root; `None` when it leaves the root.
pub(crate) fn resolve_link(link: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let directory = link.rsplit_once('/').map_or("", |(directory, _)| directory);
    join(directory, target)
}

/// A path seen from a directory.
pub(crate) fn relative(directory: &str, path: &str) -> String {
    let segments = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let (from, to) = (segments(directory), segments(path));
    let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - common);
    let parts: Vec<String> = up.chain(to[common..].iter().cloned()).collect();
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

/// Join and clean two slash-separated paths; `None` when the result leaves the
/// root.
pub(crate) fn join(directory: &str, path: &str) -> Option<String> {
    let is_clean = |path: &str| path.split('/').all(|segment| !matches!(segment, "" | "." | ".."));
    if is_clean(directory) && is_clean(path) {
        return Some([directory, "/", path].concat());
    }
    let mut segments: Vec<&str> = directory.split('/').filter(|segment| !segment.is_empty()).collect();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop()?;
            }
            _ => segments.push(segment),
        }
    }
    Some(segments.join("/"))
}
