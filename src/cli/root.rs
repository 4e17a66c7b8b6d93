//! The root of a run.

use super::Failure;
use crate::files::{PathTarget, git, place};
use std::path::{Path, PathBuf};

/// The root (design: `--root`, else the git top level of the first PATH, else
/// that PATH, else the same of the working directory), and the PATHs relative
/// to it.
pub(crate) fn root_and_focus(
    root: Option<&Path>,
    paths: &[PathBuf],
) -> Result<(PathBuf, Vec<String>), Failure> {
    let first = match paths.first() {
        Some(path) => real(path)?,
        None => real(Path::new("."))?,
    };
    let directory = if first.is_dir() { first.as_path() } else { first.parent().unwrap_or(Path::new("/")) };
    let root = match root {
        Some(root) => real(root)?,
        None => match git::top_level(directory) {
            Some(top) => real(&top)?,
            None if first.is_dir() => first.clone(),
            None => real(Path::new("."))?,
        },
    };
    if !root.is_dir() {
        return Err(Failure::Usage(format!("{} is no directory", root.display())));
    }
    let mut focus = Vec::new();
    for path in paths {
        let full = real(path)?;
        let relative = full.strip_prefix(&root).map_err(|_| {
            Failure::Usage(format!("{} is outside of the root {}", path.display(), root.display()))
        })?;
        focus.push(relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"));
    }
    Ok((root, focus))
}

/// The real path of one that the command line names.
pub(crate) fn real(path: &Path) -> Result<PathBuf, Failure> {
    let real = path.canonicalize();
    let real = real.map_err(|error| Failure::Work(format!("{}: {error}", path.display())))?;
    stays(path, &real)?;
    Ok(real)
}

/// Whether a path of the command line means what the user sees: a link of the
/// repository around the working directory that leads out of it is the tree's.
fn stays(path: &Path, real: &Path) -> Result<(), Failure> {
    let here = std::env::current_dir().ok();
    // Without a link on the way there is nothing to ask git for.
    if here.as_ref().is_none_or(|here| here.join(path) == real) || path == Path::new(".") {
        return Ok(());
    }
    let top = here.and_then(|here| git::top_level(&here)).and_then(|top| top.canonicalize().ok());
    let Some(top) = top else { return Ok(()) };
    match place(&top, path) {
        PathTarget::Inside(..) if !real.starts_with(&top) => Err(Failure::Usage(format!(
            "{} leads out of the repository through a symbolic link; name the directory itself",
            path.display()
        ))),
        _ => Ok(()),
    }
}
