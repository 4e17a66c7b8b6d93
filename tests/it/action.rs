//! The scripts of the GitHub Action, run with a simulated event.

#![cfg(unix)]

use crate::support::scratch::{Scratch, assert_schema};
use crate::support::skip::skip;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

const FAULTY: &str = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels:\n    a: \"b b\"\n  annotations:\n    \
                      events.toolkit.fluxcd.io/x: \"${{ github.token }}%0A::error::pwned\"\n";

/// Whether all of these tools are here.
fn has(tools: &str) -> bool {
    let all = format!("for tool in {tools}; do command -v $tool || exit 1; done >/dev/null");
    Command::new("sh").args(["-c", &all]).status().is_ok_and(|status| status.success())
}

/// The script with the variables that a runner sets, and nothing else.
fn script(name: &str, workspace: &Scratch, inputs: &[(&str, &str)]) -> Output {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("action").join(name);
    std::fs::create_dir_all(workspace.path().join("_runner")).expect("a directory");
    let file = |name: &str| workspace.path().join("_runner").join(name);
    Command::new("bash")
        .arg(path)
        .current_dir(workspace.path().join("repository"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_EVENT_NAME", "pull_request")
        .env("GITHUB_OUTPUT", file("output"))
        .env("GITHUB_STEP_SUMMARY", file("summary"))
        .env("RUNNER_TEMP", workspace.path().join("_runner"))
        .env("FOREBAY_BINARY", env!("CARGO_BIN_EXE_forebay"))
        .envs(inputs.iter().copied())
        .output()
        .expect("bash runs")
}

fn outputs(workspace: &Scratch) -> BTreeMap<String, String> {
    let text = workspace.read("_runner/output");
    let pair = |line: &str| line.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned()));
    text.lines().map(|line| pair(line).unwrap_or_else(|| panic!("no output: {line}"))).collect()
}

/// The commands of a log that a runner obeys: none while they are stopped.
fn obeyed(log: &str) -> Vec<&str> {
    let mut stopped: Option<String> = None;
    let mut commands = Vec::new();
    for line in
        log.lines().map(str::trim_start).filter(|line| line.starts_with("::") || line.starts_with("##["))
    {
        match &stopped {
            Some(token) if line == format!("::{token}::") => stopped = None,
            Some(_) => {}
            None => match line.strip_prefix("::stop-commands::") {
                Some(token) => stopped = Some(token.to_owned()),
                None => commands.push(line),
            },
        }
    }
    assert!(stopped.is_none(), "commands stay stopped");
    commands
}

#[test]
fn one_run_gives_log_annotations_sarif_summary_and_outputs() {
    if !has("bash jq") {
        skip!("bash or jq is absent");
    }
    let workspace =
        Scratch::new(&[("repository/a.yaml", FAULTY), ("repository/::error::pwned.yaml", FAULTY)]);
    let run = script("run.sh", &workspace, &[]);
    let log = String::from_utf8_lossy(&run.stdout).into_owned();
    assert_eq!(run.status.code(), Some(1), "{log}{}", String::from_utf8_lossy(&run.stderr));
    assert!(log.contains("malformed-label-value"), "{log}");
    let commands = obeyed(&log);
    assert_eq!(commands.len(), 4, "{log}");
    for command in commands {
        assert!(command.starts_with("::error file=") || command.starts_with("::warning file="), "{command}");
    }
    let outputs = outputs(&workspace);
    let value = |key: &str| outputs.get(key).map(String::as_str);
    assert_eq!((value("findings"), value("errors"), value("exit-code")), (Some("4"), Some("2"), Some("1")));
    let sarif = std::fs::read_to_string(value("sarif-file").expect("a path")).expect("SARIF");
    assert_schema("tests/data/sarif-2.1.0.json", &serde_json::from_str(&sarif).expect("JSON"));
    let summary = workspace.read("_runner/summary");
    assert!(summary.starts_with("<!-- forebay:lint -->\n### forebay: 2 errors, 2 warnings\n"), "{summary}");
    assert_eq!(summary, std::fs::read_to_string(value("summary-file").expect("a path")).expect("a page"));
}

#[test]
fn the_map_is_written_where_it_is_wanted() {
    if !has("bash jq") {
        skip!("bash or jq is absent");
    }
    let workspace = Scratch::new(&[("repository/a.yaml", FAULTY)]);
    script("run.sh", &workspace, &[]);
    assert!(!outputs(&workspace).contains_key("map-file"));
    script("run.sh", &workspace, &[("FOREBAY_MAP", "true")]);
    let page = std::fs::read_to_string(&outputs(&workspace)["map-file"]).expect("a page");
    assert!(page.starts_with("<!doctype html>") && page.contains("malformed-label-value"), "{page}");
    let base = [("FOREBAY_MAP", "true"), ("FOREBAY_COMMAND", "plan"), ("FOREBAY_BASE", "./.")];
    let run = script("run.sh", &workspace, &base);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    assert!(Path::new(&outputs(&workspace)["map-file"]).exists());
}

#[test]
fn inputs_choose_and_are_never_evaluated() {
    if !has("bash jq") {
        skip!("bash or jq is absent");
    }
    let evil = "$(touch pwned); `touch pwned` ' \" ; touch pwned #";
    for (inputs, expected) in [
        (&[("FOREBAY_FAIL_ON", "never")][..], 0),
        (&[("FOREBAY_FAIL_ON", "warning")], 1),
        (&[("FOREBAY_ROOT", evil)], 3),
        (&[("FOREBAY_CONFIG", evil)], 2),
        (&[("FOREBAY_SHOW", evil)], 2),
        (&[("FOREBAY_COMMAND", evil)], 2),
        (&[("FOREBAY_ROOT", "missing")], 3),
    ] {
        let workspace = Scratch::new(&[("repository/a.yaml", FAULTY)]);
        let run = script("run.sh", &workspace, inputs);
        assert_eq!(run.status.code(), Some(expected), "{inputs:?} {}", String::from_utf8_lossy(&run.stderr));
        assert!(!workspace.path().join("repository/pwned").exists(), "{inputs:?}");
    }
}

#[test]
fn a_given_binary_is_used_and_versions_are_checked() {
    if !has("bash") {
        skip!("bash is absent");
    }
    let workspace = Scratch::new(&[("repository/a.yaml", FAULTY)]);
    let run = script("install.sh", &workspace, &[("FOREBAY_PATH", env!("CARGO_BIN_EXE_forebay"))]);
    assert!(run.status.success());
    assert_eq!(outputs(&workspace)["binary"], env!("CARGO_BIN_EXE_forebay"));
    for version in ["latest", "1.0", "1.0.0/../../x", "v1.0.0", "1.0.0; touch pwned"] {
        let run = script("install.sh", &workspace, &[("FOREBAY_VERSION", version)]);
        assert_eq!(run.status.code(), Some(2), "{version}");
    }
    assert_eq!(script("install.sh", &workspace, &[("FOREBAY_PATH", "a.yaml")]).status.code(), Some(2));
}
