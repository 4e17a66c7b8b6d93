//! `forebay gate open` and `gate close` on real files.

use crate::support::fleet::{kustomization, sync};
use crate::support::scratch::{Run, Scratch};

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

/// A fleet whose clusters apply their own directory and `gates/` of the root.
fn fleet(clusters: &[&str]) -> Scratch {
    let root = Scratch::new(&[("gates/gate.yaml", GATE)]);
    for cluster in clusters {
        let own = format!("clusters/{cluster}");
        root.write(&format!("{own}/flux-system/gotk-sync.yaml"), sync(&format!("./{own}")).as_bytes());
        root.write(&format!("{own}/gates.yaml"), kustomization("gates", "./gates").as_bytes());
    }
    root
}

fn forebay(root: &Scratch, arguments: &[&str]) -> Run {
    root.forebay(&[&["gate"], arguments].concat())
}

fn gate(root: &Scratch) -> String {
    root.read("gates/gate.yaml")
}

#[test]
fn only_the_annotation_changes() {
    let root = fleet(&["prod"]);
    let output = forebay(&root, &["open", "approval", "--at", "2026-03-26T10:00:00.7+01:00"]);
    let said = &output.out;
    assert_eq!(output.code, 0, "{}", output.err);
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
    let text = gate(&root).replace('\'', "\"");
    assert_eq!(text, annotated("2026-03-26T09:00:00Z"));

    let output = forebay(&root, &["open", "flux-system/approval", "--at", "2026-03-26T09:30:00Z"]);
    assert_eq!(output.code, 0);
    assert_eq!(gate(&root).replace('\'', "\""), annotated("2026-03-26T09:30:00Z"));
}

#[test]
fn diff_and_check_write_nothing() {
    let root = fleet(&["prod"]);
    for flag in ["--diff", "--check"] {
        let output = forebay(&root, &["close", "approval", "--at", "2026-03-26T10:00:00Z", flag]);
        assert_eq!(output.code, 1);
        assert_eq!(gate(&root), GATE);
        assert_eq!(output.out.is_empty(), flag == "--check");
    }
}

#[test]
fn older_requests_and_ties_are_refused() {
    let root = fleet(&["prod"]);
    assert_eq!(forebay(&root, &["close", "approval", "--at", "2026-03-26T10:00:00Z"]).code, 0);
    let before = gate(&root);
    for (arguments, code) in [
        (["open", "approval", "--at", "2026-03-26T09:59:59Z"], 2),
        (["open", "approval", "--at", "2026-03-26T10:00:00Z"], 2),
        (["close", "approval", "--at", "2026-03-26T09:00:00Z"], 2),
        (["close", "approval", "--at", "2026-03-26T10:00:00Z"], 0),
        (["close", "aproval", "--at", "2026-03-26T11:00:00Z"], 2),
    ] {
        let output = forebay(&root, &arguments);
        assert_eq!(output.code, code, "{arguments:?}: {}", output.err);
        assert_eq!(gate(&root), before);
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
        let output = forebay(&root, &[&at[..], &flags].concat());
        let said = &output.err;
        assert_eq!(output.code, code, "{flags:?}: {said}");
        assert!(said.contains(part), "{said}");
        assert_eq!(gate(&root), GATE);
    }
    for flags in [vec!["--cluster", "prod", "--shared"], vec!["--all-clusters"]] {
        root.write("gates/gate.yaml", GATE.as_bytes());
        let output = forebay(&root, &[&at[..], &flags].concat());
        assert_eq!(output.code, 0, "{flags:?}: {}", output.err);
        assert_eq!(gate(&root).matches("requestedAt").count(), 1);
    }
}

#[test]
fn an_annotation_of_a_patch_is_changed_there() {
    let root = fleet(&["prod"]);
    root.write(
        "gates/kustomization.yaml",
        b"apiVersion: kustomize.config.k8s.io/v1beta1
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
    root.write("gates/request.yaml", patch.as_bytes());
    let output = forebay(&root, &["open", "approval", "--at", "2026-03-26T10:00:00Z"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let changed = root.read("gates/request.yaml");
    assert_eq!(changed, patch.replace("2026-01-01T00:00:00Z", "2026-03-26T10:00:00Z"));
    assert_eq!(gate(&root), GATE);

    // One that every object gets is no request of this gate's own.
    root.write(
        "gates/kustomization.yaml",
        b"apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [gate.yaml]
commonAnnotations:
  open.gate.fluxcd.io/requestedAt: \"2026-01-01T00:00:00Z\"
",
    );
    let output = forebay(&root, &["open", "approval", "--at", "2026-03-26T10:00:00Z"]);
    assert_eq!(output.code, 2, "{}", output.err);
    assert_eq!(gate(&root), GATE);
}
