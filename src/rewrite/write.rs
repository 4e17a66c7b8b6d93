//! Writing files: each is whole at any moment, the old one or the new one.
//!
//! Every new text first goes to a temporary file `.forebay-….tmp` in the directory
//! of the old one, gets its mode and is synced. When all of them are there, they
//! are renamed over the old files: a full disk or a directory that can't be
//! written stops a run before the first file is touched. A run that was killed
//! leaves at most such files behind; the next one that writes to the directory
//! removes them.

use super::{FileChange, Refusal};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const PREFIX: &str = ".forebay-";
const SUFFIX: &str = ".tmp";

/// Write changed files below `root`.
///
/// # Errors
/// Every file that can't be written, with nothing written then; or the one that
/// failed midway, with those before it written.
pub fn write(root: &Path, changes: &[FileChange]) -> Result<(), Vec<Refusal>> {
    let mut targets = Vec::new();
    let mut refusals = Vec::new();
    for change in changes {
        let target = root.join(&*change.path);
        match check(&target, change) {
            Ok(metadata) => targets.push((target, metadata)),
            Err(refusal) => refusals.push(refusal),
        }
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let directories: BTreeSet<&Path> = targets.iter().filter_map(|(target, _)| target.parent()).collect();
    for directory in &directories {
        remove_leftovers(directory);
    }
    let mut staged = Staged(Vec::new());
    for (number, (change, (target, metadata))) in changes.iter().zip(&targets).enumerate() {
        let directory = target.parent().unwrap_or(Path::new("."));
        let temporary = directory.join(format!("{PREFIX}{}-{number}{SUFFIX}", std::process::id()));
        staged.0.push(temporary);
        write_new(&staged.0[number], &change.after, metadata).map_err(|error| {
            let message = format!("a new file can't be written beside it: {error}");
            vec![Refusal::whole(&change.path, message, "no file was changed; run again when this is solved")]
        })?;
    }
    for (number, (change, (target, metadata))) in changes.iter().zip(&targets).enumerate() {
        let done = if number == 0 { "no file was changed" } else { "the files before it are changed" };
        let help = format!("{done}; run again");
        if let Err(refusal) = check(target, change) {
            return Err(vec![Refusal { help, ..refusal }]);
        }
        put(&staged.0[number], target, &change.after, metadata).map_err(|error| {
            vec![Refusal::whole(&change.path, format!("it can't be replaced: {error}"), &help)]
        })?;
    }
    for directory in directories {
        // A directory that can't be synced (on some file systems) is no failure.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
    }
    Ok(())
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

/// Whether the file is still the one that was read, and may be written.
fn check(target: &Path, change: &FileChange) -> Result<fs::Metadata, Refusal> {
    let refuse = |message: String, help: &str| Err(Refusal::whole(&change.path, message, help));
    let metadata = match fs::symlink_metadata(target) {
        Ok(metadata) => metadata,
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
        Ok(bytes) if bytes == *change.before.bytes => Ok(metadata),
        Ok(_) => refuse("the file was changed since it was read".to_owned(), "run again"),
        Err(error) => refuse(format!("it can't be read: {error}"), "make it readable"),
    }
}

/// Rename the temporary file over the target.
fn put(temporary: &Path, target: &Path, text: &str, metadata: &fs::Metadata) -> io::Result<()> {
    match fs::rename(temporary, target) {
        // Another run took it for a leftover.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            write_new(temporary, text, metadata)?;
            fs::rename(temporary, target)
        }
        other => other,
    }
}

fn write_new(path: &Path, text: &str, metadata: &fs::Metadata) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    keep_owner(&file, metadata);
    file.set_permissions(metadata.permissions())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
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

fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
