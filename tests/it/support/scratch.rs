//! Scratch repositories and runs of the binary, for tests of the command line.

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What `flux bootstrap` writes for a cluster at `clusters/a`.
pub(crate) const GOTK_SYNC: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://example.com/fleet.git', ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/a, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
";

/// A directory that goes away with the test.
pub(crate) struct Scratch(tempfile::TempDir);

impl Scratch {
    /// With these files, and no git.
    pub(crate) fn new(files: &[(&str, &str)]) -> Scratch {
        let scratch = Scratch(tempfile::tempdir().expect("a temporary directory"));
        for (path, text) in files {
            scratch.write(path, text.as_bytes());
        }
        scratch
    }

    /// With these files in a git repository.
    pub(crate) fn git(files: &[(&str, &str)]) -> Scratch {
        let scratch = Scratch::new(files);
        scratch.run_git(&["init", "-q", "-b", "main"]);
        scratch
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Write a file, its directories included.
    pub(crate) fn write(&self, path: &str, bytes: &[u8]) -> PathBuf {
        let full = self.path().join(path);
        std::fs::create_dir_all(full.parent().expect("a file has a directory")).expect("a directory");
        std::fs::write(&full, bytes).expect("a file");
        full
    }

    /// Read a file.
    pub(crate) fn read(&self, path: &str) -> String {
        let full = self.path().join(path);
        std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{}: {error}", full.display()))
    }

    /// Run git here, with nobody's configuration.
    pub(crate) fn run_git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(self.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .args(["-c", "user.name=test", "-c", "user.email=test@example.com"])
            .args(arguments)
            .output()
            .expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Commit everything.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.run_git(&["add", "-A"]);
        self.run_git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.run_git(&["rev-parse", "HEAD"])
    }

    /// Run forebay here.
    pub(crate) fn forebay(&self, arguments: &[&str]) -> Run {
        self.forebay_with(arguments, &[], b"")
    }

    /// Run forebay in a directory below.
    pub(crate) fn forebay_in(&self, directory: &str, arguments: &[&str]) -> Run {
        let output = forebay().current_dir(self.path().join(directory)).args(arguments).output();
        Run::of(output.expect("forebay runs"))
    }

    /// Run forebay here with environment variables and standard input.
    pub(crate) fn forebay_with(&self, arguments: &[&str], environment: &[(&str, &str)], input: &[u8]) -> Run {
        let mut child = forebay()
            .current_dir(self.path())
            .envs(environment.iter().copied())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("forebay runs");
        // It may answer without reading.
        let _ = child.stdin.take().expect("piped").write_all(input);
        Run::of(child.wait_with_output().expect("forebay ends"))
    }
}

/// The binary with an environment that changes nothing.
pub(crate) fn forebay() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_forebay"));
    for name in [
        "CI",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "FORCE_HYPERLINK",
        "GITHUB_ACTIONS",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
    ] {
        command.env_remove(name);
    }
    // The caches of whoever runs the tests hold charts of nobody knows what.
    for name in ["HELM_CACHE_HOME", "HELM_REPOSITORY_CACHE"] {
        command.env_remove(name);
    }
    command.env("XDG_CACHE_HOME", "/nonexistent");
    command.env("TERM", "dumb");
    command.env("COLUMNS", "80");
    command
}

/// What a run answered.
pub(crate) struct Run {
    /// Exit code.
    pub(crate) code: i32,
    /// Standard output.
    pub(crate) out: String,
    /// Standard error.
    pub(crate) err: String,
}

impl Run {
    /// The answer of a run that has ended.
    pub(crate) fn of(output: Output) -> Run {
        Run {
            code: output.status.code().expect("no signal"),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }
}

/// Assert that an answer is what a schema of the project says.
pub(crate) fn assert_schema(path: &str, answer: &Value) {
    let full = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let schema = std::fs::read_to_string(&full).unwrap_or_else(|error| panic!("{}: {error}", full.display()));
    let schema: Value = serde_json::from_str(&schema).expect("a schema is JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(answer).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{path}:\n{}\n{answer:#}", errors.join("\n"));
}
