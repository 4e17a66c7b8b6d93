//! `forebay gate open` and `gate close` on real files.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const GATE: &str = "apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata:
  name: approval # of the SRE team
  namespace: flux-system
spec:
  interval: 30s
  default: closed
  window: 1h
";

fn put(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A fleet whose clusters apply their own directory and `gates/` of the root.
fn fleet(clusters: &[&str]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for cluster in clusters {
        let kustomization = |name: &str, path: &str| {
            format!(
                "---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: {name}
  namespace: flux-system
spec:
  interval: 10m
  path: {path}
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
"
            )
        };
        let sync = format!(
            "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata:
  name: flux-system
  namespace: flux-system
spec:
  interval: 1m
  url: https://git.example.com/fleet.git
{}",
            kustomization("flux-system", &format!("./clusters/{cluster}"))
        );
        put(root.path(), &format!("clusters/{cluster}/flux-system/gotk-sync.yaml"), &sync);
        put(root.path(), &format!("clusters/{cluster}/gates.yaml"), &kustomization("gates", "./gates")[4..]);
    }
    put(root.path(), "gates/gate.yaml", GATE);
    root
}

fn forebay(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["gate"])
        .args(arguments)
        .arg("--root")
        .arg(root)
        .output()
        .unwrap()
}

fn gate(root: &Path) -> String {
    fs::read_to_string(root.join("gates/gate.yaml")).unwrap()
}

#[test]
fn only_the_annotation_changes() {
    let root = fleet(&["prod"]);
    let output = forebay(root.path(), &["open", "approval", "--at", "2026-03-26T10:00:00.7+01:00"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(said.contains(
        "kubectl -n flux-system annotate --overwrite gate/approval \
         open.gate.fluxcd.io/requestedAt=\"2026-03-26T09:00:00Z\""
    ));
    assert!(said.contains("Gate scheduled for closing at 2026-03-26T10:00:00Z"), "{said}");
    let annotated = |time: &str| {
        GATE.replace(
            "  namespace: flux-system\n",
            &format!(
                "  namespace: flux-system\n  annotations:\n    open.gate.fluxcd.io/requestedAt: \"{time}\"\n"
            ),
        )
    };
    let text = gate(root.path()).replace('\'', "\"");
    assert_eq!(text, annotated("2026-03-26T09:00:00Z"));

    let output = forebay(root.path(), &["open", "flux-system/approval", "--at", "2026-03-26T09:30:00Z"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(gate(root.path()).replace('\'', "\""), annotated("2026-03-26T09:30:00Z"));
}

#[test]
fn diff_and_check_write_nothing() {
    let root = fleet(&["prod"]);
    for flag in ["--diff", "--check"] {
        let output = forebay(root.path(), &["close", "approval", "--at", "2026-03-26T10:00:00Z", flag]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(gate(root.path()), GATE);
        assert_eq!(output.stdout.is_empty(), flag == "--check");
    }
}

#[test]
fn older_requests_and_ties_are_refused() {
    let root = fleet(&["prod"]);
    assert!(forebay(root.path(), &["close", "approval", "--at", "2026-03-26T10:00:00Z"]).status.success());
    let before = gate(root.path());
    for (arguments, code) in [
        (["open", "approval", "--at", "2026-03-26T09:59:59Z"], 2),
        (["open", "approval", "--at", "2026-03-26T10:00:00Z"], 2),
        (["close", "approval", "--at", "2026-03-26T09:00:00Z"], 2),
        (["close", "approval", "--at", "2026-03-26T10:00:00Z"], 0),
        (["close", "aproval", "--at", "2026-03-26T11:00:00Z"], 2),
    ] {
        let output = forebay(root.path(), &arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
        assert_eq!(gate(root.path()), before);
    }
}

#[test]
fn several_clusters_and_shared_texts_need_a_word() {
    let root = fleet(&["prod", "staging"]);
    let at = ["open", "approval", "--at", "2026-03-26T10:00:00Z"];
    for (flags, code, part) in [
        (vec![], 2, "--all-clusters"),
        (vec!["--cluster", "prod"], 2, "also feeds Gate flux-system/approval in cluster staging"),
        (vec!["--cluster", "nowhere"], 2, "nowhere"),
    ] {
        let output = forebay(root.path(), &[&at[..], &flags].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {said}");
        assert!(said.contains(part), "{said}");
        assert_eq!(gate(root.path()), GATE);
    }
    for flags in [vec!["--cluster", "prod", "--shared"], vec!["--all-clusters"]] {
        put(root.path(), "gates/gate.yaml", GATE);
        let output = forebay(root.path(), &[&at[..], &flags].concat());
        assert_eq!(output.status.code(), Some(0), "{flags:?}: {output:?}");
        assert_eq!(gate(root.path()).matches("requestedAt").count(), 1);
    }
}

#[test]
fn an_annotation_of_a_patch_is_changed_there() {
    let root = fleet(&["prod"]);
    put(
        root.path(),
        "gates/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [gate.yaml]
patches: [{path: request.yaml}]
",
    );
    let patch = "apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata:
  name: approval
  namespace: flux-system
  annotations:
    open.gate.fluxcd.io/requestedAt: \"2026-01-01T00:00:00Z\"
";
    put(root.path(), "gates/request.yaml", patch);
    let output = forebay(root.path(), &["open", "approval", "--at", "2026-03-26T10:00:00Z"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let changed = fs::read_to_string(root.path().join("gates/request.yaml")).unwrap();
    assert_eq!(changed, patch.replace("2026-01-01T00:00:00Z", "2026-03-26T10:00:00Z"));
    assert_eq!(gate(root.path()), GATE);

    // One that every object gets is no request of this gate's own.
    put(
        root.path(),
        "gates/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [gate.yaml]
commonAnnotations:
  open.gate.fluxcd.io/requestedAt: \"2026-01-01T00:00:00Z\"
",
    );
    let output = forebay(root.path(), &["open", "approval", "--at", "2026-03-26T10:00:00Z"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(gate(root.path()), GATE);
}
