//! Two binaries of forebay side by side, on what this file generates and on the corpus
//! where it is present: `FOREBAY_BEFORE` names the other one. Time of the processor is
//! what the kernel counts for whole processes; docs/performance.md has the table.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/support/corpus.rs"]
mod corpus;
mod generated;

use corpus::{Corpus, manifests};
use generated::{write_fleet, write_overlays};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const RUNS: usize = 5;

/// What some processes took.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    /// Seconds of the processor, of one process on average.
    cpu: f64,
    /// Seconds by the clock, likewise.
    wall: f64,
    /// KiB at the peak.
    peak: f64,
}

fn main() {
    let after = PathBuf::from(env!("CARGO_BIN_EXE_forebay"));
    let before = std::env::var_os("FOREBAY_BEFORE").map_or_else(|| after.clone(), PathBuf::from);
    let binaries = [before.as_path(), after.as_path()];
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    println!("| work | before | after | ratio |\n|---|---|---|---|");
    let row = |name: &str, unit: &str, values: [f64; 2]| {
        println!(
            "| {name} | {:.3}{unit} | {:.3}{unit} | {:.2} |",
            values[0],
            values[1],
            values[1] / values[0]
        );
    };
    let one = ["lint", "-q", "--no-config", "--threads", "1"];
    let two = ["lint", "-q", "--no-config", "--threads", "2"];

    let millions = |name: &str, counts: Option<[f64; 2]>| {
        counts.into_iter().for_each(|counts| row(name, " M", counts.map(|count| count / 1e6)));
    };

    let empty = root.join("empty");
    fs::create_dir_all(&empty).unwrap();
    let nothing = measure(binaries, &empty, &["lint", "-q", "--allow-empty"], 200);
    row("empty directory, CPU", " s", nothing.map(|cost| cost.cpu));
    millions("the same, instructions", instructions(binaries, &empty, &one));

    let fleet = root.join("fleet");
    write_fleet(&fleet, &["a", "b", "c", "d"], 62);
    commit(&fleet);
    let costs = measure(binaries, &fleet, &one, 5);
    row("lint of 500 files, four clusters, git, CPU", " s", costs.map(|cost| cost.cpu));
    let linted = instructions(binaries, &fleet, &one);
    millions("the same, instructions", linted);
    let deployment = fleet.join("apps/app-7/deployment.yaml");
    let changed = fs::read_to_string(&deployment).unwrap().replace("6.5.4", "6.6.0");
    fs::write(&deployment, changed).unwrap();
    let plan = ["plan", "-q", "--threads", "1", "--base", "HEAD"];
    let planned = measure(binaries, &fleet, &plan, 5);
    row("plan of one changed image in it, CPU", " s", planned.map(|cost| cost.cpu));
    row("plan against lint", "", [0, 1].map(|n| planned[n].cpu / costs[n].cpu));
    if let (Some(linted), Some(planned)) = (linted, instructions(binaries, &fleet, &plan)) {
        row("plan against lint, instructions", "", [0, 1].map(|n| planned[n] / linted[n]));
    }

    let cluster = root.join("cluster");
    write_fleet(&cluster, &["production"], 222);
    let alone = measure(binaries, &cluster, &one, 10);
    let both = measure(binaries, &cluster, &two, 10);
    row("one core to two, 2,000 objects, by the clock", "", [0, 1].map(|n| alone[n].wall / both[n].wall));

    for (apps, runs) in [(2_000, RUNS), (20_000, 1)] {
        let fleet = root.join("large");
        write_fleet(&fleet, &["production"], apps);
        let costs = measure_in(runs, binaries, &fleet, &one, 1);
        row(&format!("lint of {} files, CPU", apps * 5), " s", costs.map(|cost| cost.cpu));
        fs::remove_dir_all(&fleet).unwrap();
    }

    let overlays = root.join("overlays");
    let bytes = write_overlays(&overlays, 100, 40) as f64;
    let costs = measure(binaries, &overlays, &one, 1);
    let memory = |n: usize, cost: Cost| (cost.peak - nothing[n].peak) * 1024.0;
    row(
        "forty overlays of a hundred objects: memory beyond that of an empty run, times the bytes",
        "",
        [0, 1].map(|n| memory(n, costs[n]) / bytes),
    );

    let Some(corpus) = Corpus::find() else { return };
    let mut repositories: Vec<PathBuf> =
        fs::read_dir(corpus.root()).unwrap().flatten().map(|entry| entry.path()).collect();
    repositories.retain(|path| path.is_dir());
    repositories.sort();
    let mut read = 0.0;
    let (mut linted, mut counted, mut held) = ([0.0; 2], Some([0.0; 2]), [0.0_f64; 2]);
    for repository in &repositories {
        let files = manifests(repository);
        read += (0..RUNS).map(|_| reading(&files)).fold(f64::MAX, f64::min);
        let costs = measure(binaries, repository, &one, 1);
        linted = [0, 1].map(|n| linted[n] + costs[n].cpu);
        let counts = counted.and_then(|_| instructions(binaries, repository, &one));
        counted = counted.zip(counts).map(|(sum, counts)| [0, 1].map(|n| sum[n] + counts[n]));
        // What a run holds by itself would hide what a small repository takes.
        let bytes = files.iter().map(|file| fs::metadata(file).unwrap().len()).sum::<u64>();
        if bytes > 1 << 20 {
            held = [0, 1].map(|n| held[n].max(memory(n, costs[n]) / bytes as f64));
        }
    }
    row(&format!("lint of {} repositories, CPU", repositories.len()), " s", linted);
    row("against reading them (`cat`)", "", linted.map(|cpu| cpu / read));
    millions("the same, instructions", counted);
    row("of those above a MiB, the one that holds most memory, likewise, times its bytes", "", held);
    repositories.sort_by_key(|path| std::cmp::Reverse(manifests(path).len()));
    for repository in repositories.iter().take(6) {
        let copy = root.join("copy");
        assert!(Command::new("cp").arg("-r").arg(repository).arg(&copy).status().unwrap().success());
        let _ = fs::remove_dir_all(copy.join(".git"));
        commit(&copy);
        let linted = measure(binaries, &copy, &["lint", "-q", "--threads", "1"], 1);
        change(&copy);
        let planned = measure(binaries, &copy, &["plan", "-q", "--threads", "1", "--base", "HEAD"], 1);
        let name = repository.file_name().unwrap().to_string_lossy().into_owned();
        row(&format!("plan against lint, {name}"), "", [0, 1].map(|n| planned[n].cpu / linted[n].cpu));
        fs::remove_dir_all(&copy).unwrap();
    }
}

/// The medians of some runs of each binary, in turns; `times` processes a run.
fn measure(binaries: [&Path; 2], directory: &Path, arguments: &[&str], times: usize) -> [Cost; 2] {
    measure_in(RUNS, binaries, directory, arguments, times)
}

fn measure_in(
    runs: usize,
    binaries: [&Path; 2],
    directory: &Path,
    arguments: &[&str],
    times: usize,
) -> [Cost; 2] {
    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..runs {
        for (binary, costs) in binaries.iter().zip(&mut costs) {
            costs.push(run(binary, directory, arguments, times));
        }
    }
    costs.map(|costs| {
        let median = |of: fn(&Cost) -> f64| {
            let mut values: Vec<f64> = costs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        Cost { cpu: median(|cost| cost.cpu), wall: median(|cost| cost.wall), peak: median(|cost| cost.peak) }
    })
}

fn run(binary: &Path, directory: &Path, arguments: &[&str], times: usize) -> Cost {
    let script = "n=$1; shift; while [ $n -gt 0 ]; do \"$@\" >/dev/null 2>&1; n=$((n-1)); done";
    let words = ["-f", "%U %S %e %M", "sh", "-c", script, "sh", &times.to_string()].map(str::to_owned);
    let output = Command::new("/usr/bin/time")
        .args(words)
        .arg(binary)
        .args(arguments)
        .current_dir(directory)
        .stdout(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let last = text.lines().last().unwrap();
    let [user, system, wall, peak] =
        last.split(' ').map(|part| part.parse::<f64>().unwrap()).collect::<Vec<_>>()[..]
    else {
        panic!("{text}")
    };
    let times = times as f64;
    Cost { cpu: (user + system) / times, wall: wall / times, peak }
}

/// Instructions of one run of each binary, as valgrind counts them; `None` without it.
fn instructions(binaries: [&Path; 2], directory: &Path, arguments: &[&str]) -> Option<[f64; 2]> {
    let count = |binary: &Path| {
        let mut command = Command::new("valgrind");
        command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
        let output = command.arg(binary).args(arguments).current_dir(directory).output().ok()?;
        let told = String::from_utf8(output.stderr).ok()?;
        let (_, count) = told.lines().find_map(|line| line.split_once("refs:"))?;
        count.trim().replace(',', "").parse().ok()
    };
    Some([count(binaries[0])?, count(binaries[1])?])
}

/// Seconds of the processor that reading some files takes `cat`.
fn reading(files: &[PathBuf]) -> f64 {
    let list = files.iter().map(|path| format!("{}\0", path.display())).collect::<String>();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, list.as_bytes()).unwrap();
    let script = format!(
        "for i in 1 2 3 4 5 6 7 8 9 10; do xargs -0 cat < '{}' > /dev/null; done",
        file.path().display()
    );
    let output = Command::new("/usr/bin/time").args(["-f", "%U %S", "sh", "-c", &script]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    let last = text.lines().last().unwrap();
    last.split(' ').map(|part| part.parse::<f64>().unwrap()).sum::<f64>() / 10.0
}

/// Another interval in the first HelmRelease.
fn change(repository: &Path) {
    for path in manifests(repository) {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if text.contains("\nkind: HelmRelease\n") && text.contains("\n  interval: ") {
            fs::write(&path, text.replacen("\n  interval: ", "\n  interval: 7", 1)).unwrap();
            return;
        }
    }
}

fn commit(directory: &Path) {
    let author = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
    for arguments in [
        &["init", "--quiet", "--initial-branch", "main"][..],
        &["add", "--force", "."],
        &["commit", "--quiet", "--message", "base"],
        // As a clone is.
        &["gc", "--quiet"],
    ] {
        let mut git = Command::new("git");
        assert!(git.args(author).args(arguments).current_dir(directory).status().unwrap().success());
    }
}
