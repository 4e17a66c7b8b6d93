//! Writing files: each is whole at any moment, the old one or the new one.
//!
//! A new text goes to a temporary file `.forebay-….tmp` in the same directory,
//! gets the mode of the old file, is synced and renamed over it. A run that was
//! killed leaves at most such files behind; the next one that writes to the
//! directory removes them.

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
            Ok(permissions) => targets.push((target, permissions)),
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
    for (number, (change, (target, permissions))) in changes.iter().zip(&targets).enumerate() {
        replace(target, &change.after, permissions, number).map_err(|error| {
            vec![Refusal::whole(
                &change.path,
                format!("it can't be written: {error}"),
                "files before it in the list are written; run again when this is solved",
            )]
        })?;
    }
    for directory in directories {
        // A directory that can't be synced (on some file systems) is no failure.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
    }
    Ok(())
}

/// Whether the file is still the one that was read, and may be written.
fn check(target: &Path, change: &FileChange) -> Result<fs::Permissions, Refusal> {
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
        Ok(bytes) if bytes == *change.before.bytes => Ok(metadata.permissions()),
        Ok(_) => refuse("the file was changed since it was read".to_owned(), "run again"),
        Err(error) => refuse(format!("it can't be read: {error}"), "make it readable"),
    }
}

fn replace(target: &Path, text: &str, permissions: &fs::Permissions, number: usize) -> io::Result<()> {
    let directory = target.parent().unwrap_or(Path::new("."));
    let temporary = directory.join(format!("{PREFIX}{}-{number}{SUFFIX}", std::process::id()));
    let written = write_new(&temporary, text, permissions).and_then(|()| fs::rename(&temporary, target));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write_new(path: &PathBuf, text: &str, permissions: &fs::Permissions) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.set_permissions(permissions.clone())?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) && name.ends_with(SUFFIX) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
