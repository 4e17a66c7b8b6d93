//! Writing files: each is whole at any moment, the old one or the new one.
//!
//! Every new text first goes to a temporary file `.forebay-….tmp` in the directory
//! of the old one, gets its mode and is synced. When all of them are there, they
//! are renamed over the old files: a full disk or a directory that can't be
//! written stops a run before the first file is touched. A run that was killed
//! leaves at most such files behind. The next one that writes into that directory
//! removes those whose writer, which the name tells, lives no more on this machine:
//! what holds nothing but the beginning of what it writes itself, and what is older
//! than an hour, in case the writer lives where this machine doesn't see it.
//!
//! Nothing is written through a symbolic link below the root, whoever names the
//! file: the tree may have made it. [`file()`] writes reports and builds by the same
//! laws.

use super::{FileChange, RewriteRefusal};
use crate::files::{PathTarget, place};
use crate::lang::yaml::WorkPath;
use rustc_hash::FxHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = ".forebay-";
const SUFFIX: &str = ".tmp";

/// Write changed files below `root`. Gives those that had another name as well (a
/// hard link): under that one the old text stays.
///
/// # Errors
/// Every file that can't be written, with nothing written then; or the one that
/// failed midway, with those before it written.
pub fn write(root: &Path, changes: &[FileChange]) -> Result<Vec<String>, Vec<RewriteRefusal>> {
    let mut targets = Vec::new();
    let mut refusals = Vec::new();
    for change in changes {
        let found = plain(root, Path::new(&*change.path))
            .map_err(|error| {
                let help = "change the file that it leads to";
                RewriteRefusal::whole(&change.path, error.to_string(), help)
            })
            .and_then(|target| Ok((check(&target, change)?, target)));
        match found {
            Ok((metadata, target)) => targets.push((target, metadata)),
            Err(refusal) => refusals.push(refusal),
        }
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let directories: BTreeSet<&Path> = targets.iter().filter_map(|(target, _)| target.parent()).collect();
    let texts =
        changes.iter().zip(&targets).map(|(change, (target, _))| (&**target, change.after.as_bytes()));
    remove_leftovers(texts);
    let mut staged = Staged(Vec::new());
    for (number, (change, (target, metadata))) in changes.iter().zip(&targets).enumerate() {
        staged.0.push(temporary(target, number));
        write_new(&staged.0[number], change.after.as_bytes(), metadata.as_ref(), true).map_err(|error| {
            let message = format!("a new file can't be written beside it: {error}");
            vec![RewriteRefusal::whole(
                &change.path,
                message,
                "no file was changed; run again when this is solved",
            )]
        })?;
    }
    remove_old(&staged.0);
    for (number, (change, (target, metadata))) in changes.iter().zip(&targets).enumerate() {
        let done = if number == 0 { "no file was changed" } else { "the files before it are changed" };
        let help = format!("{done}; run again");
        if let Err(refusal) = check(target, change) {
            return Err(vec![RewriteRefusal { help, ..refusal }]);
        }
        put(&staged.0[number], target, change.after.as_bytes(), metadata.as_ref()).map_err(|error| {
            vec![RewriteRefusal::whole(&change.path, format!("it can't be replaced: {error}"), &help)]
        })?;
    }
    for directory in directories {
        // A directory that can't be synced (on some file systems) is no failure.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
    }
    let linked = changes
        .iter()
        .zip(&targets)
        .filter(|(_, (_, metadata))| metadata.as_ref().is_some_and(has_other_names));
    Ok(linked.map(|(change, _)| change.path.to_string()).collect())
}

/// Move files below `root`, (from, to), and write those that change, whose paths are
/// those after the moves. Directories that are empty afterwards go.
///
/// # Errors
/// As of [`write()`]; a path that is taken. Where something fails midway, files that
/// were moved are moved back.
pub(crate) fn relocate(
    root: &Path,
    moves: &[(WorkPath, WorkPath)],
    changes: &[FileChange],
) -> Result<Vec<String>, Vec<RewriteRefusal>> {
    let refuse = |path: &WorkPath, message: String| {
        vec![RewriteRefusal::whole(path, message, "no file was changed; run again when this is solved")]
    };
    let mut done: Vec<(PathBuf, PathBuf)> = Vec::new();
    let back = |done: &[(PathBuf, PathBuf)]| {
        done.iter().rev().for_each(|(from, to)| drop(fs::rename(to, from)));
    };
    for (from, to) in moves {
        let directory = Path::new(&**to).parent().unwrap_or(Path::new(""));
        let moved = plain(root, Path::new(&**from)).and_then(|source| {
            directories(root, directory)?;
            let target = plain(root, Path::new(&**to))?;
            if fs::symlink_metadata(&target).is_ok() {
                return Err(io::Error::other(format!("{to} is there already")));
            }
            fs::rename(&source, &target)?;
            Ok((source, target))
        });
        match moved {
            Ok(pair) => done.push(pair),
            Err(error) => {
                back(&done);
                return Err(refuse(from, format!("it can't be moved: {error}")));
            }
        }
    }
    let linked = write(root, changes).inspect_err(|_| back(&done))?;
    for (from, _) in &done {
        let above = from.ancestors().skip(1).take_while(|above| *above != root);
        // The first that is not empty ends it.
        let _ = above.map(fs::remove_dir).take_while(Result::is_ok).count();
    }
    Ok(linked)
}

/// Write a report or a build to the file that a flag names, its directory being
/// there: whole, with the mode that it had.
///
/// # Errors
/// What the system says. Below the root: a symbolic link on the way or in its
/// place, anything but a regular file.
pub(crate) fn file(root: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    match place(root, path) {
        PathTarget::Inside(root, rest) => {
            let target = plain(&root, &rest)?;
            replace(&target, bytes)
        }
        PathTarget::Outside => {
            // The user's own links are followed, as far as they stay outside.
            let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            if real != path && place(root, &real) != PathTarget::Outside {
                return file(root, &real, bytes);
            }
            match fs::metadata(&real) {
                // `/dev/stdout`, a pipe.
                Ok(metadata) if !metadata.is_file() => in_place(&real, bytes),
                // A file may be all that can be written of its directory.
                Ok(_) => replace(&real, bytes).or_else(|_| in_place(&real, bytes)),
                Err(_) => replace(&real, bytes),
            }
        }
    }
}

/// Make the directories of a path below a base: what is missing is created, what is
/// there has to be a directory and no link.
///
/// # Errors
/// What the system says, and a link or file on the way.
pub(crate) fn directories(base: &Path, rest: &Path) -> io::Result<PathBuf> {
    let mut path = base.to_owned();
    for component in rest.components() {
        path.push(component);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => directory(base, &path)?,
            other => other?,
        }
    }
    Ok(path)
}

fn in_place(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    file.write_all(bytes)
}

/// Put a whole file in the place of a regular one or of none.
fn replace(target: &Path, bytes: &[u8]) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(target) {
        Ok(metadata) if metadata.is_file() => Some(metadata),
        Ok(metadata) if metadata.is_symlink() => {
            return Err(io::Error::other("it is a symbolic link; remove it or name another file"));
        }
        Ok(_) => return Err(io::Error::other("it is no regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    if metadata.as_ref().is_some_and(|metadata| metadata.permissions().readonly()) {
        return Err(io::Error::other("it is read-only"));
    }
    remove_leftovers(std::iter::once((target, bytes)));
    let staged = Staged(vec![temporary(target, 0)]);
    write_new(&staged.0[0], bytes, metadata.as_ref(), metadata.is_some())?;
    remove_old(&staged.0);
    put(&staged.0[0], target, bytes, metadata.as_ref())
}

/// The path of a name below the root all of whose directories are no links.
fn plain(root: &Path, rest: &Path) -> io::Result<PathBuf> {
    let path = root.join(rest);
    let inside = rest.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !inside || rest.as_os_str().is_empty() {
        return Err(io::Error::other("its name is none below the root"));
    }
    let mut above: Vec<&Path> = path.ancestors().skip(1).take_while(|above| *above != root).collect();
    above.reverse();
    above.into_iter().try_for_each(|above| directory(root, above))?;
    Ok(path)
}

/// Whether a directory below the root is one, and no link.
fn directory(root: &Path, path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    let named = path.strip_prefix(root).unwrap_or(path).display();
    match () {
        () if metadata.is_symlink() => Err(io::Error::other(format!("{named} is a symbolic link"))),
        () if !metadata.is_dir() => Err(io::Error::other(format!("{named} is no directory"))),
        () => Ok(()),
    }
}

/// The name of a temporary file tells the target that it is for, and the process.
fn temporary(target: &Path, number: usize) -> PathBuf {
    let name = format!("{}{}-{number}{SUFFIX}", prefix(target), std::process::id());
    target.with_file_name(name)
}

fn prefix(target: &Path) -> String {
    let mut hasher = FxHasher::default();
    hasher.write(target.file_name().unwrap_or_default().as_encoded_bytes());
    format!("{PREFIX}{:016x}-", hasher.finish())
}

#[cfg(unix)]
fn has_other_names(metadata: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

#[cfg(not(unix))]
fn has_other_names(_: &fs::Metadata) -> bool {
    false
}

/// Temporary files, removed where a run stops before they are renamed.
struct Staged(Vec<PathBuf>);

impl Drop for Staged {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// Whether the file is still the one that was read, and may be written. One that is
/// not there yet has no metadata.
fn check(target: &Path, change: &FileChange) -> Result<Option<fs::Metadata>, RewriteRefusal> {
    let refuse = |message: String, help: &str| Err(RewriteRefusal::whole(&change.path, message, help));
    let metadata = match fs::symlink_metadata(target) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound && change.before.bytes().is_empty() => {
            return Ok(None);
        }
        Err(error) => return refuse(format!("it can't be read: {error}"), "run again"),
    };
    if metadata.file_type().is_symlink() {
        return refuse("it is a symbolic link".to_owned(), "change the file that it leads to");
    }
    if !metadata.is_file() {
        return refuse("it is no regular file".to_owned(), "change it by hand");
    }
    if metadata.permissions().readonly() {
        return refuse("the file is read-only".to_owned(), "make it writable first");
    }
    match fs::read(target) {
        Ok(bytes) if bytes == *change.before.bytes() => Ok(Some(metadata)),
        Ok(_) => refuse("the file was changed since it was read".to_owned(), "run again"),
        Err(error) => refuse(format!("it can't be read: {error}"), "make it readable"),
    }
}

/// Rename the temporary file over the target.
fn put(temporary: &Path, target: &Path, text: &[u8], metadata: Option<&fs::Metadata>) -> io::Result<()> {
    match fs::rename(temporary, target) {
        // Another run took it for a leftover.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write_new(temporary, text, metadata, metadata.is_some())?;
            fs::rename(temporary, target)
        }
        other => other,
    }
}

/// Write a file that is not there yet. Sources are synced: a report can be made again.
fn write_new(path: &Path, text: &[u8], metadata: Option<&fs::Metadata>, sync: bool) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    if let Some(metadata) = metadata {
        keep_owner(&file, metadata);
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(text)?;
    if sync { file.sync_all() } else { Ok(()) }
}

/// Give the file to the owner of the old one: a container's root would take away
/// the files of whoever started it. Where that is not allowed, the file is the
/// writer's own, as with any editor.
#[cfg(unix)]
fn keep_owner(file: &File, metadata: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    let is_ours = |own: &fs::Metadata| (own.uid(), own.gid()) == (metadata.uid(), metadata.gid());
    if !file.metadata().is_ok_and(|own| is_ours(&own)) {
        let _ = fchown(file, Some(metadata.uid()), Some(metadata.gid()));
    }
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &fs::Metadata) {}

/// Remove what runs that were killed left of the same texts. A file that holds
/// anything else is somebody's, whatever it is called.
fn remove_leftovers<'t>(texts: impl Iterator<Item = (&'t Path, &'t [u8])>) {
    let mut wanted: BTreeMap<&Path, BTreeMap<String, &[u8]>> = BTreeMap::new();
    for (target, text) in texts {
        let Some(directory) = target.parent() else { continue };
        wanted.entry(directory).or_default().insert(prefix(target), text);
    }
    for (directory, texts) in wanted {
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let text = name
                .split_at_checked(PREFIX.len() + 17)
                .filter(|(_, rest)| rest.ends_with(SUFFIX))
                .and_then(|(prefix, _)| texts.get(prefix));
            if let Some(text) = text
                && entry.file_type().is_ok_and(|kind| kind.is_file())
                && writer(&name).is_none_or(|process| lives(process) != Some(true))
                && holds_beginning(&entry.path(), text).unwrap_or(false)
            {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// A killed writer's files are younger than this where it may live on unseen: in another
/// container, or on another machine that shares the directory.
const HOUR: Duration = Duration::from_secs(3600);

/// Remove what other runs left in the directories of files that were written just now, by
/// whose time, the file system's own, it is told what is old.
fn remove_old(written: &[PathBuf]) {
    let newest: BTreeMap<&Path, &PathBuf> =
        written.iter().filter_map(|path| Some((path.parent()?, path))).collect();
    for (directory, written) in newest {
        let Ok(now) = fs::metadata(written).and_then(|metadata| metadata.modified()) else { continue };
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let is_left = writer(&entry.file_name().to_string_lossy())
                .is_some_and(|process| lives(process) == Some(false));
            if !is_left {
                continue;
            }
            // Of the entry itself, whatever a link leads to.
            let Ok(metadata) = entry.metadata() else { continue };
            let age = metadata.modified().ok().and_then(|modified| now.duration_since(modified).ok());
            if metadata.is_file() && age.is_some_and(|age| age > HOUR) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// The process that a temporary file is named for; `None` for other names.
fn writer(name: &str) -> Option<u32> {
    let rest = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let mut parts = rest.split('-');
    let (hash, process, number) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hash = hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let is_ours = is_hash && is_number(process) && is_number(number) && parts.next().is_none();
    is_ours.then(|| process.parse().ok()).flatten()
}

/// Whether a process lives on this machine, as far as it can be told.
#[cfg(unix)]
fn lives(process: u32) -> Option<bool> {
    let process = rustix::process::Pid::from_raw(i32::try_from(process).ok()?)?;
    match rustix::process::test_kill_process(process) {
        Ok(()) | Err(rustix::io::Errno::PERM) => Some(true),
        Err(rustix::io::Errno::SRCH) => Some(false),
        Err(_) => None,
    }
}

#[cfg(not(unix))]
fn lives(_: u32) -> Option<bool> {
    None
}

fn holds_beginning(path: &Path, text: &[u8]) -> io::Result<bool> {
    let mut held = Vec::new();
    File::open(path)?.take(text.len() as u64 + 1).read_to_end(&mut held)?;
    Ok(text.starts_with(&held))
}
