//! What several test targets share: where recordings and real repositories are.

#![allow(dead_code, clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The directory of recorded cases and the corpus, or nothing where it is absent.
pub fn shared() -> Option<PathBuf> {
    let shared = std::env::var_os("FOREBAY_SHARED")
        .map_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/../shared").into(), PathBuf::from);
    if !shared.is_dir() {
        println!("skipped: ../shared is absent");
        return None;
    }
    Some(shared)
}

/// Recorded cases.
pub fn recorded(file: &str) -> Option<serde_json::Value> {
    let text = std::fs::read_to_string(shared()?.join("cases").join(file)).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

/// Real repositories, unpacked as long as this lives.
pub struct Corpus {
    root: PathBuf,
    _unpacked: Option<tempfile::TempDir>,
}

impl Corpus {
    /// `FOREBAY_CORPUS`, or the archive of the shared directory unpacked; nothing
    /// where neither is there.
    pub fn find() -> Option<Corpus> {
        if let Some(root) = std::env::var_os("FOREBAY_CORPUS") {
            return Some(Corpus { root: root.into(), _unpacked: None });
        }
        let archive = shared()?.join("corpus/gitops-corpus.tar.gz");
        if !archive.is_file() {
            println!("skipped: no corpus");
            return None;
        }
        let unpacked = tempfile::tempdir().unwrap();
        let status = std::process::Command::new("tar")
            .arg("-xzf")
            .arg(&archive)
            .arg("-C")
            .arg(unpacked.path())
            .status()
            .unwrap();
        assert!(status.success());
        Some(Corpus { root: unpacked.path().to_owned(), _unpacked: Some(unpacked) })
    }

    /// Its root directory.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// All YAML and JSON files below a directory, in order.
pub fn manifests(directory: &Path) -> Vec<PathBuf> {
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
pub type Files = BTreeMap<String, Vec<u8>>;

/// The repositories that lie in a directory, by name, in order.
pub fn children(directory: &Path) -> Vec<(String, Files)> {
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
