//! Twice the input is not much more than twice the work. Work is counted in
//! instructions, by valgrind, so that the tests say the same on every machine, busy
//! or not. A suite takes one generator; `FOREBAY_GROWTH=N` takes all of them, N times
//! as large.

use crate::support::growing::{Files, GENERATORS};
use crate::support::scratch::{Scratch, forebay};
use crate::support::skip::skip;
use std::fmt::Write as _;
use std::process::{Command, Stdio};

/// What the second doubling adds against the first, in hundredths: 200 where work is
/// as the size, 400 where it is as its square. What every run costs is in neither.
const CEILING: u64 = 230;

/// The generator of an ordinary run: a debug binary below valgrind takes its time.
const OFTEN: &str = "Kustomizations that apply one directory";

/// Instructions of one run over a repository.
fn instructions(files: &Files) -> u64 {
    let scratch = Scratch::new(&[]);
    for (path, text) in files {
        scratch.write(path, text.as_bytes());
    }
    let binary = forebay();
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(binary.get_program());
    command.args([
        "lint",
        "--show",
        "info",
        "--format",
        "concise",
        "--threads",
        "1",
        "--allow-empty",
        "--root",
    ]);
    let output = command
        .arg(scratch.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .expect("valgrind runs");
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

#[test]
fn twice_the_input_is_not_much_more_than_twice_the_work() {
    let times = std::env::var("FOREBAY_GROWTH").ok().map(|times| times.parse::<usize>().expect("a number"));
    if !Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success()) {
        skip!("valgrind is not installed, so that no instructions are counted");
    }
    let mut table = String::new();
    let mut above = Vec::new();
    for (name, size, generate) in GENERATORS {
        let size = match times {
            Some(times) => size * times,
            None if *name == OFTEN => size / 4,
            None => continue,
        };
        let work = [1, 2, 4].map(|times| instructions(&generate(size * times)));
        let ratio = ratio(work);
        let _ = writeln!(table, "| {name} | {} | {}.{:02} |", 4 * size, ratio / 100, ratio % 100);
        if ratio > CEILING {
            above.push(*name);
        }
    }
    println!("{table}");
    assert!(above.is_empty(), "{above:?}\n{table}");
}
