//! Builds of kustomizations that a test holds in memory, by forebay and, where
//! it is on the PATH, by `kubectl kustomize`.

pub(crate) mod generated;

use forebay::internals::build::kustomize::{self, BaseMemo, BuildOptions};
use forebay::internals::files::{FileTree, Snapshot, Store};
use forebay::internals::lang::yaml::emit;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Paths and contents; the root is the directory that is built.
pub(crate) type Files = Vec<(String, String)>;

/// What forebay makes of the files: the text that kustomize would print, or
/// where and why it can't, as `PATH:LINE` and a message.
pub(crate) fn forebay(files: &Files) -> Result<String, (String, String)> {
    let bytes = files.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
    let snapshot = Arc::new(Snapshot::memory(bytes, Arc::new(Store::default())));
    let tree = FileTree::root(snapshot.clone());
    let place = |location: Option<&forebay::internals::lang::yaml::Location>| match location {
        Some(location) => format!("{}:{}", location.file, snapshot.positions(location).0.0),
        None => "nowhere".to_owned(),
    };
    let build = kustomize::build(&tree, "", &BuildOptions::command_line(), &BaseMemo::default())
        .map_err(|error| (place(error.location.as_ref()), error.message))?;
    if let Some(partial) = build.partial.first() {
        return Err((place(partial.location.as_ref()), format!("partial: {partial}")));
    }
    let texts: Result<Vec<String>, _> =
        build.resources.iter().map(|resource| emit::to_yaml(resource.node.get_ref())).collect();
    match texts {
        Ok(texts) => Ok(texts.join("---\n")),
        Err(emit::EmitError::NotJson { message, location }) => Err((place(location.as_deref()), message)),
        Err(error) => Err(("nowhere".to_owned(), error.to_string())),
    }
}

/// Whether `kubectl` with kustomize 5.5 or newer is on the PATH.
pub(crate) fn has_kubectl() -> bool {
    let Ok(output) = Command::new("kubectl").args(["version", "--client"]).output() else { return false };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().find_map(|line| line.strip_prefix("Kustomize Version: v"));
    let mut parts = version.unwrap_or("0.0").split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next(), parts.next()) >= (Some(5), Some(5))
}

/// Whether a complaint of kubectl is a crash, which says nothing about the files.
pub(crate) fn is_crash(complaint: &str) -> bool {
    complaint.contains("panic: ") && complaint.contains("\ngoroutine ")
}

/// What `kubectl kustomize` prints, or its complaint.
pub(crate) fn kubectl(files: &Files) -> Result<String, String> {
    let scratch = tempfile::tempdir().expect("a temporary directory");
    write(scratch.path(), files);
    let output = Command::new("kubectl")
        .args(["kustomize", "--load-restrictor", "LoadRestrictionsNone"])
        .arg(scratch.path())
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .output()
        .expect("kubectl runs");
    if output.status.success() {
        Ok(String::from_utf8(output.stdout).expect("UTF-8"))
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}

/// Write the files below a directory.
pub(crate) fn write(root: &Path, files: &Files) {
    for (path, text) in files {
        let full = root.join(path);
        std::fs::create_dir_all(full.parent().expect("a file has a directory")).expect("a directory");
        std::fs::write(&full, text).expect("a file");
    }
}
