//! Whole processes, from start to exit, on repositories that this file
//! generates and on the corpus where it is present, against reading the same
//! bytes and against yaml-rust2's loader in one thread. docs/performance.md has
//! the ratios.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/support/corpus.rs"]
mod corpus;
mod generated;

use corpus::{Corpus, manifests};
use generated::write_fleet;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 15;

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    println!("median of {RUNS} runs, and the fastest");
    time("start and exit", || run(root, &["--version"]));
    for apps in [100, 2000] {
        let fleet = root.join(format!("fleet-{apps}"));
        write_fleet(&fleet, &["production"], apps);
        against_bytes(&format!("lint {} files", apps * 5), &fleet);
    }
    let fleet = root.join("fleet-100");
    git(&fleet, &["init", "--quiet", "--initial-branch", "main"]);
    git(&fleet, &["add", "."]);
    let author = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
    git(&fleet, &[&author[..], &["commit", "--quiet", "--message", "base"]].concat());
    let deployment = fleet.join("apps/app-7/deployment.yaml");
    let changed = fs::read_to_string(&deployment).unwrap().replace("6.5.4", "6.6.0");
    fs::write(&deployment, changed).unwrap();
    time("plan of one changed image in 500 files", || run(&fleet, &["plan", "--base", "HEAD"]));
    let faults = root.join("faults");
    write_faults(&faults);
    time("lint with 2,000 findings, full", || run(&faults, &["lint", "--format", "full", "."]));
    time("lint with 2,000 findings, json", || run(&faults, &["lint", "--format", "json", "."]));
    if let Some(corpus) = Corpus::find() {
        for entry in fs::read_dir(corpus.root()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
            against_bytes(&format!("lint {}", entry.file_name().to_string_lossy()), &entry.path());
        }
    }
}

/// Lint of a tree, and what reading and parsing alone costs.
fn against_bytes(name: &str, root: &Path) {
    let files = manifests(root);
    let lint = time(name, || run(root, &["lint", "--no-config", "--root", ".", "."]));
    let read = time("  read the bytes", || {
        for path in &files {
            black_box(fs::read(path).unwrap());
        }
    });
    let texts: Vec<String> = files.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    let loaded = time("  yaml-rust2's loader", || {
        for text in &texts {
            // Some of the corpus is no YAML that it can read.
            let _ = black_box(yaml_rust2::YamlLoader::load_from_str(text));
        }
    });
    println!(
        "  {:.1} times reading, {:.2} times yaml-rust2's loader\n",
        lint.as_secs_f64() / read.as_secs_f64(),
        lint.as_secs_f64() / loaded.as_secs_f64()
    );
}

/// The median.
fn time(name: &str, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("{name:44} {:9.1?} {:9.1?}", times[RUNS / 2], times[0]);
    times[RUNS / 2]
}

fn run(directory: &Path, arguments: &[&str]) {
    let status = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(arguments)
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(matches!(status.code(), Some(0 | 1)), "{arguments:?}: {status}");
}

fn git(directory: &Path, arguments: &[&str]) {
    assert!(Command::new("git").args(arguments).current_dir(directory).status().unwrap().success());
}

/// Twenty files with a hundred misspelled annotations each.
fn write_faults(root: &Path) {
    fs::create_dir_all(root).unwrap();
    for file in 0..20 {
        let documents: Vec<String> = (0..100)
            .map(|number| {
                format!(
                    "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata:\n  name: \
                     charts-{file}-{number}\n  namespace: flux-system\n  annotations:\n    \
                     events.toolkit.fluxcd.io/team: platform\nspec:\n  interval: 1h\n  url: \
                     https://charts.example.com\n"
                )
            })
            .collect();
        fs::write(root.join(format!("charts-{file}.yaml")), documents.join("---\n")).unwrap();
    }
}
