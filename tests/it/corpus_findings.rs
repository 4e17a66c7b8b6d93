//! docs/corpus-findings.md says what lint reports on real repositories, no more and
//! no less: counts, skipped files, and every error with its place.

use crate::support::corpus::Corpus;
use crate::support::skip::corpus_or_skip;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

const PAGE: &str = include_str!("../../docs/corpus-findings.md");

/// Reasons of `notChecked` that skip a file, not a reference.
const SKIPPED: [&str; 7] =
    ["symlink", "submodule", "special-file", "missing-git-object", "git-lfs", "git-crypt", "template"];

/// Each repository's name and the answer of lint.
fn answers(corpus: &Corpus) -> Vec<(String, Value)> {
    let mut repositories: Vec<_> = std::fs::read_dir(corpus.root()).unwrap().flatten().collect();
    repositories.retain(|entry| entry.path().is_dir());
    repositories.sort_by_key(|entry| entry.file_name());
    let answer = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["lint", "--no-config", "--format", "json", "--show", "info", "--root"])
            .arg(entry.path())
            .arg(entry.path())
            .output()
            .unwrap();
        let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{name}: {error}: {}", String::from_utf8_lossy(&output.stderr));
        });
        (name, answer)
    };
    repositories.into_iter().map(answer).collect()
}

#[test]
fn the_page_says_what_lint_reports() {
    let corpus = corpus_or_skip!();
    let answers = answers(corpus);
    let rows: Vec<String> = answers.iter().map(|(name, answer)| counts(name, answer)).collect();
    let missing: Vec<&String> = rows.iter().filter(|row| !PAGE.contains(&***row)).collect();
    assert!(missing.is_empty(), "rows that docs/corpus-findings.md has to have: {missing:#?}");

    let mut skipped = BTreeSet::new();
    for (name, answer) in &answers {
        for reason in answer["notChecked"].as_array().unwrap() {
            let (what, count) = (reason["what"].as_str().unwrap(), &reason["count"]);
            if SKIPPED.contains(&what) {
                skipped.insert(format!("| {what} | {name} | {count} |"));
            }
        }
    }
    let section = PAGE.split("## Files that are skipped").nth(1).unwrap().split("\n## ").next().unwrap();
    let listed: BTreeSet<String> =
        section.lines().filter(|line| line.starts_with('|')).skip(2).map(str::to_owned).collect();
    assert_eq!(skipped, listed);
    listed_errors_are_the_reported_ones(&answers);
}

/// The row of a repository: what it holds, and how often each rule speaks.
fn counts(name: &str, answer: &Value) -> String {
    let mut rules: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for finding in answer["findings"].as_array().unwrap() {
        let key = (finding["level"].as_str().unwrap(), finding["rule"].as_str().unwrap());
        *rules.entry(key).or_default() += 1;
    }
    let of = |level: &str| {
        let own = rules.iter().filter(|((own, _), _)| *own == level);
        let counted: Vec<String> = own.map(|((_, rule), count)| format!("{count} `{rule}`")).collect();
        if counted.is_empty() { "0".to_owned() } else { counted.join(", ") }
    };
    let summary = &answer["summary"];
    format!(
        "| {name} | {} | {} | {} | {} | {} | {} |\n",
        summary["files"],
        summary["documents"],
        summary["objects"],
        of("error"),
        of("warning"),
        of("info")
    )
}

fn listed_errors_are_the_reported_ones(answers: &[(String, Value)]) {
    let mut reported = BTreeSet::new();
    for (name, answer) in answers {
        for finding in
            answer["findings"].as_array().unwrap().iter().filter(|finding| finding["level"] == "error")
        {
            let (rule, at) = (finding["rule"].as_str().unwrap(), &finding["location"]);
            reported.insert(format!("`{name}/{}:{}` `{rule}`", at["path"].as_str().unwrap(), at["line"]));
        }
    }
    // An item is "- `path:line` `rule`: verdict", its first line possibly broken.
    let listed: BTreeSet<String> = PAGE
        .split("\n- ")
        .skip(1)
        .filter_map(|item| Some(item.split_once("`: ")?.0.split_whitespace().collect::<Vec<_>>()))
        .filter(|words| words.len() == 2)
        .map(|words| format!("{} {}`", words[0], words[1]))
        .collect();
    let missing: Vec<_> = reported.difference(&listed).collect();
    let stale: Vec<_> = listed.difference(&reported).collect();
    assert!(missing.is_empty(), "reported, but not in docs/corpus-findings.md: {missing:#?}");
    assert!(stale.is_empty(), "in docs/corpus-findings.md, but not reported: {stale:#?}");
}
