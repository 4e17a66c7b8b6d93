//! The errors that docs/corpus-findings.md lists are those that lint reports on
//! real repositories, no more and no fewer.

#![allow(clippy::unwrap_used)]

mod recordings;

use recordings::Corpus;
use std::collections::BTreeSet;
use std::process::Command;

#[test]
fn listed_errors_are_the_reported_ones() {
    let Some(corpus) = Corpus::find() else { return };
    let mut reported = BTreeSet::new();
    let mut repositories: Vec<_> = std::fs::read_dir(corpus.root()).unwrap().flatten().collect();
    repositories.retain(|entry| entry.path().is_dir());
    repositories.sort_by_key(|entry| entry.file_name());
    for repository in &repositories {
        let name = repository.file_name().into_string().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["lint", "--no-config", "--format", "json", "--show", "error", "--root"])
            .arg(repository.path())
            .arg(repository.path())
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|error| {
            panic!("{name}: {error}: {}", String::from_utf8_lossy(&output.stderr));
        });
        for finding in answer["findings"].as_array().unwrap() {
            let (rule, at) = (finding["rule"].as_str().unwrap(), &finding["location"]);
            reported.insert(format!("`{name}/{}:{}` `{rule}`", at["path"].as_str().unwrap(), at["line"]));
        }
    }
    let page = include_str!("../docs/corpus-findings.md");
    // An item is "- `path:line` `rule`: verdict", its first line possibly broken.
    let listed: BTreeSet<String> = page
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
