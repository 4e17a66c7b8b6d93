//! Twice the input is not much more than twice the work. Work is counted in
//! instructions, by valgrind, so that the tests say the same on every machine, busy
//! or not. A suite takes one generator; `FOREBAY_GROWTH=N` takes all of them, N times
//! as large, and `FOREBAY_GROWTH=N:WORDS` those with these words in their names.

use crate::support::growing::{COMMANDS, Files, changes, generators};
use crate::support::scratch::{Scratch, forebay};
use crate::support::skip::skip;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What the second doubling adds against the first, in hundredths: 200 where work is
/// as the size, 400 where it is as its square. What every run costs is in neither.
const CEILING: u64 = 230;

/// What the whole process does the second time against the first, in hundredths.
const WHOLE: u64 = 220;

/// The generator of an ordinary run: a debug binary below valgrind takes its time.
const OFTEN: &str = "Kustomizations that apply one directory";

/// Likewise of the changes.
const OFTEN_CHANGED: &str = "Kustomizations that apply one directory, and go";

/// Instructions of one run over a repository.
fn work(arguments: &[&str], files: &Files) -> u64 {
    let scratch = Scratch::new(&[]);
    for (path, text) in files {
        scratch.write(path, text.as_bytes());
    }
    instructions(arguments, scratch.path())
}

const LINT: &[&str] = &["lint", "--show", "info", "--format", "concise", "--allow-empty"];

/// Instructions of one plan of a change.
fn plan((before, after): &(Files, Files)) -> u64 {
    let scratch = Scratch::new(&[]);
    for (side, files) in [("before", before), ("after", after)] {
        for (path, text) in files {
            scratch.write(&format!("{side}/{path}"), text.as_bytes());
        }
    }
    let base = scratch.path().join("before");
    let base = base.to_str().expect("a path in UTF-8");
    let allowed = scratch.path().to_str().expect("a path in UTF-8");
    instructions(&["plan", "--base", base, "--allow-dir", allowed], &scratch.path().join("after"))
}

/// Instructions of one run over a repository.
fn instructions(arguments: &[&str], root: &Path) -> u64 {
    let binary = forebay();
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(binary.get_program()).args(arguments).args(["--threads", "1", "--root"]);
    command.current_dir(root);
    // Renders that an earlier run has kept would be work that is not done.
    for (name, value) in binary.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output =
        command.arg(root).stdin(Stdio::null()).stdout(Stdio::null()).output().expect("valgrind runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code <= 1), "{}: {told}", output.status);
    let count = told.lines().find_map(|line| line.split_once("refs:").map(|(_, count)| count));
    let count = count.unwrap_or_else(|| panic!("valgrind counts: {told}"));
    count.trim().replace(',', "").parse().expect("a number")
}

/// What doubling adds the second time against the first, in hundredths.
fn ratio(work: [u64; 3]) -> u64 {
    let [first, second] = [work[1].saturating_sub(work[0]), work[2].saturating_sub(work[1])];
    second * 100 / first.max(1)
}

#[test]
fn squares_are_told_from_lines() {
    for (constant, line, square) in [(1000, 7, 0), (0, 100, 0), (0, 100, 3), (500, 0, 3)] {
        let work = [10, 20, 40].map(|size| constant + line * size + square * size * size);
        assert_eq!(ratio(work) > CEILING, square > 0, "{work:?}: {}", ratio(work));
    }
}

/// The size to take of a generator; `None` where it is not its turn.
fn size_of(name: &str, size: usize, often: &str) -> Option<usize> {
    let Ok(wanted) = std::env::var("FOREBAY_GROWTH") else {
        return (name == often).then_some(size / 4);
    };
    let (times, words) = wanted.split_once(':').unwrap_or((&wanted, ""));
    name.contains(words).then(|| size * times.parse::<usize>().expect("a number"))
}

/// Names, sizes and work of three sizes: prints the table, and fails above the ceiling.
fn judge(rows: impl Iterator<Item = (String, usize, [u64; 3])>) {
    let mut table = String::new();
    let mut above = Vec::new();
    for (name, size, work) in rows {
        let (ratio, whole) = (ratio(work), work[2] * 100 / work[1].max(1));
        let row = format!(
            "| {name} | {} | {} | {} | {}.{:02} | {}.{:02} |",
            4 * size,
            work[1],
            work[2],
            whole / 100,
            whole % 100,
            ratio / 100,
            ratio % 100
        );
        println!("{row}");
        let _ = writeln!(table, "{row}");
        if ratio > CEILING || whole > WHOLE {
            above.push(name);
        }
    }
    assert!(above.is_empty(), "{above:?}\n{table}");
}

fn has_valgrind() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

#[test]
fn twice_the_input_is_not_much_more_than_twice_the_work() {
    if !has_valgrind() {
        skip!("valgrind is not installed, so that no instructions are counted");
    }
    judge(generators().filter_map(|(name, size, generate)| {
        let size = size_of(name, *size, OFTEN)?;
        Some(((*name).to_owned(), size, [1, 2, 4].map(|times| work(LINT, &generate(size * times)))))
    }));
}

#[test]
fn twice_the_change_is_not_much_more_than_twice_the_work() {
    if !has_valgrind() {
        skip!("valgrind is not installed, so that no instructions are counted");
    }
    judge(changes().filter_map(|(name, size, generate)| {
        let size = size_of(name, *size, OFTEN_CHANGED)?;
        Some(((*name).to_owned(), size, [1, 2, 4].map(|times| plan(&generate(size * times)))))
    }));
}

#[test]
fn other_commands_do_not_much_more_than_twice_the_work_either() {
    if !has_valgrind() {
        skip!("valgrind is not installed, so that no instructions are counted");
    }
    judge(COMMANDS.iter().filter_map(|(arguments, size, generate)| {
        let name = arguments.join(" ");
        let size = size_of(&name, *size, "simulate events")?;
        Some((name, size, [1, 2, 4].map(|times| work(arguments, &generate(size * times)))))
    }));
}

/// What is counted is work, not the refusal of a command that names what is not there.
#[test]
fn each_command_of_the_table_answers() {
    for (arguments, _, generate) in COMMANDS {
        let scratch = Scratch::new(&[]);
        for (path, text) in &generate(2) {
            scratch.write(path, text.as_bytes());
        }
        let run =
            forebay().args(*arguments).arg("--root").arg(scratch.path()).current_dir(scratch.path()).output();
        let output = run.expect("forebay runs");
        assert!(output.status.code().is_some_and(|code| code <= 1), "{arguments:?}: {output:?}");
    }
}

/// The table is no shorter than it was said to be.
#[test]
fn there_are_generators_of_all_kinds() {
    assert!(generators().count() >= 121 && changes().count() >= 13 && COMMANDS.len() >= 23);
}
