//! All kustomize builds of the corpus in one process, against one `kubectl
//! kustomize` process each, and the peak of memory against the bytes read.
//! docs/performance.md has the ratios.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/support/corpus.rs"]
mod corpus;

use corpus::Corpus;
use forebay::internals::build::kustomize::{self, BaseMemo, BuildOptions, FILE_NAMES};
use forebay::internals::files::{FileTree, Snapshot, Store};
use forebay::internals::lang::yaml::FilePath;
use forebay::internals::lang::yaml::emit;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Directories that kubectl is timed on: every so many of all.
const SAMPLE: usize = 40;

fn main() {
    let Some(corpus) = Corpus::find() else {
        println!("skipped: no corpus");
        return;
    };
    let mut roots: Vec<PathBuf> =
        std::fs::read_dir(corpus.root()).unwrap().map(|entry| entry.unwrap().path()).collect();
    roots.retain(|root| root.is_dir());
    roots.sort();

    let before = peak_memory();
    let start = Instant::now();
    let (mut directories, mut built, mut text, mut bytes) = (Vec::new(), 0, 0, 0);
    for root in &roots {
        let (found, outcome) = build_all(root);
        directories.extend(found.into_iter().map(|directory| root.join(directory)));
        built += outcome.built;
        text += outcome.text;
        bytes += outcome.bytes;
    }
    let ours = start.elapsed();
    println!("{} directories, {built} build, {bytes} bytes read, {text} bytes written", directories.len());
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        println!("peak of memory: {:.1} times the bytes read", (after - before) as f64 / bytes as f64);
    }
    match kubectl(&directories) {
        None => println!("skipped: kubectl is not on the PATH"),
        Some(each) => {
            let theirs = each * directories.len() as u32;
            println!(
                "one process for each build takes {:.0} times as long",
                theirs.as_secs_f64() / ours.as_secs_f64()
            );
        }
    }
}

#[derive(Default)]
struct Outcome {
    built: usize,
    /// Bytes of the YAML that came of it.
    text: usize,
    /// Bytes of the files that were read, each once.
    bytes: u64,
}

/// Read a repository and build each of its directories with a kustomization.
fn build_all(root: &Path) -> (Vec<String>, Outcome) {
    let snapshot = Arc::new(Snapshot::directory(root, Arc::new(Store::default())).unwrap());
    let tree = FileTree::root(snapshot.clone());
    let memo = BaseMemo::default();
    let mut outcome = Outcome::default();
    let directories: Vec<String> = snapshot
        .files()
        .iter()
        .filter_map(|file| {
            let (directory, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
            FILE_NAMES.contains(&name).then(|| directory.to_owned())
        })
        .collect();
    let build = |directory: &String| {
        let build = kustomize::build(&tree, directory, &BuildOptions::command_line(), &memo).ok()?;
        let texts = build.resources.iter().map(|resource| black_box(emit::to_yaml(resource.node.get_ref())));
        let text: usize = texts.map(|text| text.map_or(0, |text| text.len())).sum();
        Some((text, build.files_read))
    };
    let builds: Vec<_> = directories.par_iter().filter_map(build).collect();
    outcome.built = builds.len();
    outcome.text = builds.iter().map(|(text, _)| text).sum();
    let read: BTreeSet<FilePath> = builds.into_iter().flat_map(|(_, files)| files).collect();
    let size = |file: &FilePath| snapshot.file(file.shown()).map_or(0, |file| file.size);
    outcome.bytes = read.iter().map(size).sum();
    (directories, outcome)
}

/// What one process of kubectl takes on average.
fn kubectl(directories: &[PathBuf]) -> Option<Duration> {
    let sample: Vec<&PathBuf> = directories.iter().step_by((directories.len() / SAMPLE).max(1)).collect();
    let start = Instant::now();
    for directory in &sample {
        let mut command = Command::new("kubectl");
        command.args(["kustomize", "--load-restrictor", "LoadRestrictionsNone"]).arg(directory);
        // A remote base must fail at once.
        command.env("HTTPS_PROXY", "http://127.0.0.1:1").env("GIT_TERMINAL_PROMPT", "0");
        command.output().ok()?;
    }
    Some(start.elapsed() / sample.len() as u32)
}

/// The most memory that this process has held, in bytes, where Linux tells it.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}
