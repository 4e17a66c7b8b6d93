//! Releases of charts: all in one process, with and without origins, against one process
//! each of forebay and of Helm. docs/performance.md has the figures.
//!
//! RELEASES is a file of releases (`releases`), of which none asks another host for a schema. HELM is
//! the helm to compare with, of the line 4.2, if any. With AGAIN, a number, all are rendered so often
//! with their charts parsed, and nothing else is done: what a profiler is to see. With KEEP=branches
//! they are rendered as a lint renders them.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod releases;

use forebay::internals::build::helm::{Chart, Keep};
use forebay::internals::files::Store;
use forebay::internals::lang::template::with_stack;
use releases::{Case, cases, load, printed, values};
use rustc_hash::FxHashMap;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// As the command has it.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Renders of one release, of which the median counts.
const RUNS: usize = 9;
/// Threads of a render, as the command has them.
const THREADS: usize = 2;
/// The releases with the most output, that origins are timed on.
const LARGEST: usize = 20;
fn median<T: Copy + PartialOrd>(mut found: Vec<T>) -> T {
    found.sort_by(|a, b| a.partial_cmp(b).unwrap());
    found[found.len() / 2]
}

/// From a store that is empty to the last output; the cases that render, their charts, and
/// the bytes of their outputs.
fn in_process(cases: &[Case]) -> Vec<(&Case, Chart, usize)> {
    let store = Arc::new(Store::default());
    let mut charts: FxHashMap<&str, Option<Chart>> = FxHashMap::default();
    let mut found = Vec::new();
    let start = Instant::now();
    for case in cases {
        let chart = charts.entry(&case.chart).or_insert_with(|| load(&case.chart, &store));
        if let Some(chart) = chart
            && let Some(output) = printed(case, chart, &values(case, &store), (Keep::Text, THREADS))
        {
            found.push((case, chart.clone(), black_box(output).len()));
        }
    }
    let time = start.elapsed();
    println!(
        "in one process: {} of {} releases of {} charts in {time:.2?}, {:.2?} each",
        found.len(),
        cases.len(),
        charts.len(),
        time / cases.len() as u32
    );
    found
}

/// What origins are of a whole render: values read, chart rendered, output printed.
fn origins(found: &[(&Case, Chart, usize)]) {
    let store = Arc::new(Store::default());
    let mut shares = Vec::new();
    for (case, chart, bytes) in found.iter().take(LARGEST) {
        let once = |keep: Keep| {
            let start = Instant::now();
            black_box(printed(case, chart, &values(case, &store), (keep, THREADS)));
            start.elapsed()
        };
        // In turns, so that both meet the same machine.
        let times: Vec<_> = (0..RUNS).map(|_| (once(Keep::Origins), once(Keep::Text))).collect();
        let with = median(times.iter().map(|(with, _)| *with).collect());
        let without = median(times.iter().map(|(_, without)| *without).collect());
        let share = 100.0 * (1.0 - without.as_secs_f64() / with.as_secs_f64());
        println!(
            "{}: {bytes} bytes, {with:.2?} with origins, {without:.2?} without: {share:.0} %",
            case.chart
        );
        shares.push(share);
    }
    println!(
        "origins are {:.0} % of the render, median of {} releases",
        median(shares.clone()),
        shares.len()
    );
}

/// One process for each, start to exit.
fn processes(program: &[&str], found: &[(&Case, Chart, usize)]) -> Duration {
    let values = std::env::temp_dir().join(format!("forebay-bench-{}.json", std::process::id()));
    let mut all = Duration::ZERO;
    for (case, ..) in found {
        std::fs::write(&values, &case.values).unwrap();
        let start = Instant::now();
        let status = Command::new(program[0])
            .args(&program[1..])
            .args(["template", &case.release.name, &case.chart, "-n", &case.release.namespace])
            .args(["--include-crds", "-f"])
            .arg(&values)
            .args(case.skips_schemas.then_some("--skip-schema-validation"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        all += start.elapsed();
        assert!(status.success(), "{program:?}: {}", case.chart);
    }
    std::fs::remove_file(&values).unwrap();
    all
}

fn main() {
    // One thread for all, as the command has it.
    with_stack(compare).unwrap();
}

fn compare() {
    let Ok(path) = std::env::var("RELEASES") else {
        println!("skipped: RELEASES names no file");
        return;
    };
    let cases = cases(&path);
    let mut found = in_process(&cases);
    let keep = if std::env::var_os("KEEP").is_some() { Keep::Branches } else { Keep::Text };
    let again = std::env::var("AGAIN").ok().and_then(|times| times.parse().ok());
    for _ in 0..again.unwrap_or(1) {
        let start = Instant::now();
        let store = Arc::new(Store::default());
        for (case, chart, _) in &found {
            black_box(printed(case, chart, &values(case, &store), (keep, THREADS)));
        }
        println!("again, with each chart parsed: {:.2?} each", start.elapsed() / found.len() as u32);
    }
    if again.is_some() {
        return;
    }
    found.sort_by_key(|(_, _, bytes)| std::cmp::Reverse(*bytes));
    origins(&found);
    let Ok(helm) = std::env::var("HELM") else { return };
    let ours = processes(&[env!("CARGO_BIN_EXE_forebay"), "chart"], &found);
    let theirs = processes(&[&helm], &found);
    let each = |all: Duration| all / found.len() as u32;
    println!(
        "one process each: forebay {:.2?}, Helm {:.2?}, {:.1} times as long",
        each(ours),
        each(theirs),
        theirs.as_secs_f64() / ours.as_secs_f64()
    );
}
