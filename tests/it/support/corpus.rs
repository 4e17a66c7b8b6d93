//! Real repositories, which are not part of the project: tests that need them skip
//! where they are absent.

#![allow(dead_code, clippy::unwrap_used, reason = "benches hold this file too, and use a part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Real repositories, one a directory. Tests only read them.
pub(crate) struct Corpus {
    root: PathBuf,
}

impl Corpus {
    /// `FOREBAY_CORPUS`, or the archive of the directory beside the checkout
    /// (`FOREBAY_SHARED` says another place), unpacked once; nothing where neither
    /// is there.
    pub(crate) fn find() -> Option<&'static Corpus> {
        static CORPUS: OnceLock<Option<Corpus>> = OnceLock::new();
        CORPUS.get_or_init(|| Some(Corpus { root: root()? })).as_ref()
    }

    /// Its root directory.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }
}

fn root() -> Option<PathBuf> {
    if let Some(root) = std::env::var_os("FOREBAY_CORPUS") {
        return Some(root.into());
    }
    let shared = std::env::var_os("FOREBAY_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let archive = shared.join("corpus/gitops-corpus.tar.gz");
    let about = std::fs::metadata(&archive).ok()?;
    // Another archive is another directory.
    let changed = about.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    // Outside of any checkout, whose ignore rules would hide it.
    let target = &std::env::temp_dir();
    let root = target.join(format!("forebay-corpus-{}-{changed}", about.len()));
    if !root.is_dir() {
        let unpacked = tempfile::tempdir_in(target).unwrap();
        let mut tar = std::process::Command::new("tar");
        assert!(tar.arg("-xzf").arg(&archive).arg("-C").arg(unpacked.path()).status().unwrap().success());
        // Whole or not at all; who comes second finds the first one's.
        let _ = std::fs::rename(unpacked.path(), &root);
        assert!(root.is_dir(), "{} can't be made", root.display());
    }
    Some(root)
}

/// All YAML and JSON files below a directory, in order.
pub(crate) fn manifests(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if matches!(path.extension().and_then(|e| e.to_str()), Some("yaml" | "yml" | "json")) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The files of a repository: contents by path.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The repositories that lie in a directory, by name, in order.
pub(crate) fn children(directory: &Path) -> Vec<(String, Files)> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    paths.iter().filter(|path| path.is_dir()).map(|path| (name(path), files(path))).collect()
}

fn files(directory: &Path) -> Files {
    let mut files = Files::new();
    for entry in walkdir::WalkDir::new(directory).into_iter().flatten() {
        if entry.file_type().is_file() {
            let path = entry.path().strip_prefix(directory).unwrap();
            files.insert(path.to_string_lossy().replace('\\', "/"), std::fs::read(entry.path()).unwrap());
        }
    }
    files
}
