//! The scripts of the GitHub Action, run with a simulated event.

#![cfg(unix)]

use crate::support::scratch::{Scratch, assert_schema};
use crate::support::skip::skip;
use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
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
fn pages_are_written_where_they_are_wanted() {
    if !has("bash jq") {
        skip!("bash or jq is absent");
    }
    let workspace = Scratch::new(&[("repository/a.yaml", FAULTY)]);
    script("run.sh", &workspace, &[]);
    assert!(!outputs(&workspace).contains_key("pages-directory"));
    let both = [("FOREBAY_PAGES", "true"), ("FOREBAY_COMMAND", "both"), ("FOREBAY_BASE", "./.")];
    script("run.sh", &workspace, &both);
    let directory = PathBuf::from(&outputs(&workspace)["pages-directory"]);
    for (name, told) in [("lint.html", "malformed-label-value"), ("plan.html", "Plan: 0 to add")] {
        let page = std::fs::read_to_string(directory.join(name)).expect("a page");
        assert!(page.starts_with("<!doctype html>") && page.contains(told), "{page}");
    }
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

/// What the scripts ask of a system, and some that they might.
const TOOLS: &str = "bash sh env cargo rustup rustc cc curl tar grep sed head uname mktemp mkdir mv rm cp cat jq od tr \
                     sha256sum shasum dirname git forebay chmod helm";

/// A cargo that does as rustup and cargo do with what lies around the working directory.
const CARGO: &str = r#"#!/bin/sh
{ echo "args $*"; env; } >>"SCRATCH/asked"
at="$PWD"
while :; do
  for file in "$at/rust-toolchain.toml" "$at/.cargo/config.toml"; do
    [ ! -e "$file" ] || echo "cargo took $file" >>"SCRATCH/pwned"
  done
  [ -n "${at%/}" ] || break
  at="${at%/*}"
done
while [ $# -gt 0 ]; do
  [ "$1" != --target-dir ] || build="$2"
  [ "$1" != --root ] || build="$2"
  shift
done
mkdir -p "$build/hook"
echo built >"$build/hook/forebay"
chmod +x "$build/hook/forebay"
"#;

/// Answers as the file `status` says, with what lies in `served`.
const CURL: &str = r#"#!/bin/sh
{ echo "curl $*"; env; } >>"SCRATCH/asked"
while [ $# -gt 1 ]; do
  [ "$1" != -o ] || out="$2"
  shift
done
read -r status <"SCRATCH/status"
[ "$status" != none ] || exit 6
case "$1" in
  *SUMS) cp "SCRATCH/served/SHA256SUMS" "$out" ;;
  *) cp "SCRATCH/served/archive" "$out" ;;
esac
printf %s "$status"
"#;

/// A workspace in which everything is planted that could run, on a PATH that leads there.
struct Planted(Scratch);

impl Planted {
    fn new() -> Planted {
        let scratch = Scratch::new(&[
            ("repository/a.yaml", FAULTY),
            ("repository/rust-toolchain.toml", "[toolchain]\npath = \"evil\"\n"),
            ("repository/.cargo/config.toml", "[build]\nrustc-wrapper = \"evil\"\n"),
            ("repository/.gitattributes", "* filter=evil diff=evil\n"),
            ("repository/home/.cargo/config.toml", "[build]\nrustc-wrapper = \"evil\"\n"),
            ("status", "404\n"),
            ("served/archive", ""),
            ("served/SHA256SUMS", ""),
            ("_runner/none", ""),
            ("_action/none", ""),
        ]);
        let planted = Planted(scratch);
        for tool in TOOLS.split_whitespace() {
            for directory in ["repository", "repository/bin", "repository/home/.cargo/bin"] {
                let text = format!("#!/bin/sh\necho {directory}/{tool} ran >>SCRATCH/pwned\n");
                planted.program(&format!("{directory}/{tool}"), &text);
            }
        }
        planted.program("repository/start", "echo start ran >>SCRATCH/pwned\n");
        planted.program("tools/cargo", CARGO);
        planted.program("tools/curl", CURL);
        symlink("repository/bin", planted.0.path().join("link")).expect("a link");
        planted
    }

    fn program(&self, path: &str, text: &str) {
        let text = text.replace("SCRATCH", &self.0.path().display().to_string());
        let path = self.0.write(path, text.as_bytes());
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it may run");
    }

    /// A step of action.yml, as a runner starts it: `bash` itself is the runner's choice.
    fn step(&self, id: &str, inputs: &[(&str, &str)]) -> Output {
        let top = Path::new(env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(top.join("action.yml")).expect("the action");
        let action: serde_yaml::Value = serde_yaml::from_str(&text).expect("YAML");
        let steps = action["runs"]["steps"].as_sequence().expect("steps");
        let step = steps.iter().find(|step| step["id"].as_str() == Some(id)).expect("the step");
        let at = |path: &str| self.0.path().join(path).display().to_string();
        let system = std::env::var("PATH").expect("a PATH");
        let path = format!(".:bin::{}:{}:{}:{system}", at("repository/bin"), at("link"), at("tools"));
        let mut command = Command::new(on_path("bash").expect("bash is here"));
        command
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"].as_str().expect("a script")])
            .current_dir(self.0.path().join("repository"))
            .env_clear()
            .env("PATH", path)
            .env("BASH_ENV", at("repository/start"))
            .env("CDPATH", at("repository"))
            .env("HOME", at("repository/home"))
            .env("RUSTC_WRAPPER", "./evil")
            .env("RUSTUP_TOOLCHAIN", "./evil")
            .env("ACTIONS_RUNTIME_TOKEN", "the-token-of-the-job")
            .env("GIT_DIR", "evil")
            .env("GITHUB_ACTION_PATH", top)
            .env("GITHUB_WORKSPACE", at("repository"))
            .env("GITHUB_OUTPUT", at("_runner/output"))
            .env("GITHUB_STEP_SUMMARY", at("_runner/summary"))
            .env("RUNNER_TEMP", at("_runner"))
            .env("FOREBAY_BINARY", env!("CARGO_BIN_EXE_forebay"));
        for (name, value) in step["env"].as_mapping().expect("an environment") {
            // All others are inputs.
            if value.as_str() == Some("") {
                command.env(name.as_str().expect("a name"), "");
            }
        }
        command.envs(inputs.iter().copied()).output().expect("bash runs")
    }

    /// Nothing of the workspace ran, and no tool saw the token.
    #[track_caller]
    fn held(&self, run: &Output) {
        let told = String::from_utf8_lossy(&run.stderr);
        let pwned = std::fs::read_to_string(self.0.path().join("pwned")).unwrap_or_default();
        assert_eq!(pwned, "", "{told}");
        for entry in self.asked().lines() {
            assert!(!entry.contains("the-token") && !entry.contains("evil"), "{entry}\n{told}");
        }
    }

    fn asked(&self) -> String {
        std::fs::read_to_string(self.0.path().join("asked")).unwrap_or_default()
    }

    /// A release whose binary is this text, for every system.
    fn serve(&self, text: &str, sum: Option<&str>) {
        self.program("served/forebay-0-x/forebay", text);
        let served = self.0.path().join("served");
        let run = |program: &str, arguments: &[&str]| {
            let output = Command::new(program).current_dir(&served).args(arguments).output().expect(program);
            assert!(output.status.success(), "{program}");
            String::from_utf8(output.stdout).expect("text")
        };
        run("tar", &["-czf", "archive", "forebay-0-x"]);
        let made = run("sha256sum", &["archive"]);
        let sum = sum.unwrap_or_else(|| made.split(' ').next().expect("a sum"));
        let systems = [
            "x86_64-unknown-linux-musl",
            "aarch64-unknown-linux-musl",
            "x86_64-apple-darwin",
            "aarch64-apple-darwin",
        ];
        let lines = systems.map(|it| format!("{sum}  forebay-{}-{it}.tar.gz\n", env!("CARGO_PKG_VERSION")));
        self.0.write("served/SHA256SUMS", lines.concat().as_bytes());
        self.0.write("status", b"200\n");
    }
}

fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|it| it.is_file())
}

#[test]
fn without_a_release_it_is_built_and_the_workspace_decides_nothing() {
    if !has("bash") {
        skip!("bash is absent");
    }
    let planted = Planted::new();
    let run = planted.step("install", &[]);
    planted.held(&run);
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let asked = planted.asked();
    for part in ["args build ", " --locked ", "\nPWD=/\n", "\nRUSTUP_TOOLCHAIN="] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    let binary = &outputs(&planted.0)["binary"];
    assert_eq!(std::fs::read_to_string(binary).expect("a binary"), "built\n");
    assert!(!Path::new(binary).starts_with(planted.0.path().join("repository")));
}

#[test]
fn the_release_of_the_own_version_is_fetched_and_checked() {
    if !has("bash tar sha256sum") {
        skip!("bash, tar or sha256sum is absent");
    }
    let planted = Planted::new();
    planted.serve("a release\n", None);
    for inputs in [&[][..], &[("FOREBAY_VERSION", env!("CARGO_PKG_VERSION"))]] {
        let run = planted.step("install", inputs);
        planted.held(&run);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let binary = outputs(&planted.0)["binary"].clone();
        assert_eq!(std::fs::read_to_string(binary).expect("a binary"), "a release\n");
    }
    let asked = planted.asked();
    assert!(
        asked.contains(concat!("/releases/download/v", env!("CARGO_PKG_VERSION"), "/forebay-")),
        "{asked}"
    );
    assert!(!asked.contains("args "), "nothing is built: {asked}");
    // It is kept, and fetched once: the archive and its checksums.
    assert_eq!(asked.matches("curl ").count(), 2, "{asked}");
}

#[test]
fn what_is_no_release_is_neither_taken_nor_built() {
    if !has("bash tar sha256sum") {
        skip!("bash, tar or sha256sum is absent");
    }
    for (status, sum, version) in
        [("200\n", Some("00"), ""), ("none\n", None, ""), ("500\n", None, ""), ("404\n", None, "9.9.9")]
    {
        let planted = Planted::new();
        planted.serve("another one\n", sum);
        planted.0.write("status", status.as_bytes());
        let run = planted.step("install", &[("FOREBAY_VERSION", version)]);
        planted.held(&run);
        assert_eq!(run.status.code(), Some(2), "{status}{}", String::from_utf8_lossy(&run.stderr));
        assert!(!planted.asked().contains("args "), "{status}");
        assert!(!planted.0.path().join("_runner/output").exists(), "{status}");
    }
}

#[test]
fn the_run_takes_no_tool_from_the_workspace() {
    if !has("bash jq git") {
        skip!("bash, jq or git is absent");
    }
    let planted = Planted::new();
    let git = |arguments: &[&str]| {
        let done =
            Command::new("git").arg("-C").arg(planted.0.path().join("repository")).args(arguments).status();
        assert!(done.expect("git runs").success());
    };
    git(&["init", "-q"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "--allow-empty", "-m", "a"]);
    for command in ["lint", "both"] {
        let run = planted.step("run", &[("FOREBAY_COMMAND", command), ("FOREBAY_BASE", "HEAD")]);
        planted.held(&run);
        assert_eq!(run.status.code(), Some(1), "{}", String::from_utf8_lossy(&run.stderr));
        assert_eq!(outputs(&planted.0)["errors"], "1");
    }
    assert!(outputs(&planted.0).contains_key("plan-effects"));
}

/// A helm that writes the chart that it is asked for, where that is there.
const HELM: &str = r#"#!/bin/sh
{ echo "helm $*"; env; } >>"SCRATCH/asked"
case "$1" in
version) echo v3.17.3+ge4da497 && exit ;;
repo) echo '[]' && exit ;;
esac
while [ $# -gt 0 ]; do
  [ "$1" != --destination ] || cp "SCRATCH/web.tgz" "$2/web-1.2.3.tgz" || exit 1
  shift
done
"#;

/// The releases of a repository, and where their charts come from.
const RELEASES: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: stable, namespace: a}
spec: {url: 'https://charts.example.com/stable'}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: a}
spec:
  interval: 5m
  chart: {spec: {chart: web, version: 1.2.3, sourceRef: {kind: HelmRepository, name: stable}}}
";

#[test]
fn charts_are_fetched_outside_of_the_workspace_and_kept_under_a_key_of_their_versions() {
    if !has("bash jq") {
        skip!("bash or jq is absent");
    }
    let planted = Planted::new();
    planted.0.write("repository/releases.yaml", RELEASES.as_bytes());
    planted.program("tools/helm", HELM);
    // Not asked for: nothing is fetched, and nothing named.
    let run = planted.step("charts", &[("FOREBAY_CHARTS", "off")]);
    assert!(run.status.success() && !planted.0.path().join("_runner/output").exists());
    let wrong = planted.step("charts", &[("FOREBAY_CHARTS", "$(touch pwned)")]);
    assert_eq!(wrong.status.code(), Some(2));
    let key = || {
        let run = planted.step("charts", &[("FOREBAY_CHARTS", "pull")]);
        planted.held(&run);
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let key = outputs(&planted.0)["key"].clone();
        assert!(key.starts_with("forebay-charts-") && key.len() == 79, "{key}");
        key
    };
    let first = key();
    let store = outputs(&planted.0)["store"].clone();
    assert!(!Path::new(&store).starts_with(planted.0.path().join("repository")), "{store}");
    let pull = || planted.step("pull", &[("FOREBAY_CHARTS", "pull")]);
    // What can't be fetched is told, and ends nothing.
    let run = pull();
    planted.held(&run);
    let log = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success() && log.contains("::warning::forebay: some charts"), "{log}{run:?}");
    planted.0.write("web.tgz", &crate::chart_stores::archive("web", "1.2.3", "a: 1\n"));
    let run = pull();
    planted.held(&run);
    let log = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(run.status.success() && log.contains("pulled web 1.2.3"), "{log}");
    assert_eq!(obeyed(&log), Vec::<&str>::new());
    // The key is one of the releases, not of what lies in the store or in the repository.
    planted.0.write("repository/b.yaml", FAULTY.as_bytes());
    assert_eq!(key(), first);
    let run = planted.step("run", &[("FOREBAY_STORE", &store)]);
    planted.held(&run);
    let json = outputs(&planted.0)["sarif-file"].replace("forebay.sarif", "lint.json");
    let json = std::fs::read_to_string(json).expect("JSON");
    assert!(!json.contains("\"what\": \"chart\"") && !json.contains("\"what\":\"chart\""), "{json}");
    planted.0.write("repository/releases.yaml", RELEASES.replace("1.2.3", "1.2.4").as_bytes());
    assert_ne!(key(), first);
}
