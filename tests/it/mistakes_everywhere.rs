//! What no cluster reaches is linted as what a cluster applies is: the same
//! mistakes are found in both, with a kustomization above them and without one.
//! None of them claims that something isn't there.

use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::engine::{self, LintOptions};
use forebay::internals::world::World;
use std::sync::Arc;

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://github.com/example/fleet}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/prod, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
";

/// A Kustomization with more of `metadata` and of `spec`.
fn kustomization(metadata: &str, spec: &str) -> String {
    let interval = if spec.contains("interval") { "" } else { "  interval: 10m\n" };
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: a\n  \
         namespace: flux-system\n{metadata}spec:\n{interval}  path: ./apps\n  prune: true\n  sourceRef:\n    \
         kind: GitRepository\n    name: flux-system\n{spec}"
    )
}

/// An Alert and its Provider, with more of `spec`.
fn alert(spec: &str, provider: &str) -> String {
    format!(
        "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata:\n  name: a\n  namespace: \
         flux-system\nspec:\n  providerRef:\n    name: chat\n  eventSources:\n    - kind: Kustomization\n      \
         name: '*'\n{spec}---\napiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Provider\nmetadata:\n  \
         name: chat\n  namespace: flux-system\nspec:\n  type: {provider}\n  address: https://example.com\n"
    )
}

/// A ConfigMap with more of `metadata`.
fn config_map(metadata: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\n{metadata}data:\n  a: b\n"
    )
}

fn mistakes() -> Vec<(&'static str, String)> {
    let annotated = |line: &str| config_map(&format!("  annotations:\n    {line}\n"));
    vec![
        ("malformed-duration", kustomization("", "  interval: 5 min\n")),
        ("unknown-field", kustomization("", "  intervall: 5m\n")),
        ("malformed-field-value", kustomization("", "  wait: sometimes\n")),
        ("dependency-on-itself", kustomization("", "  dependsOn:\n    - name: a\n")),
        (
            "malformed-health-check",
            kustomization(
                "",
                "  healthChecks:\n    - apiVersion: apps/v1\n      kind: Deployment\n      name: a\n",
            ),
        ),
        ("non-string-metadata-value", config_map("  labels:\n    a: true\n")),
        ("malformed-label-value", config_map("  labels:\n    a: me@example.com\n")),
        ("malformed-metadata-key", config_map("  labels:\n    a b: c\n")),
        ("annotation-value-without-effect", annotated("kustomize.toolkit.fluxcd.io/substitute: disable")),
        ("unknown-annotation-key", annotated("kustomize.toolkit.fluxcd.io/prun: disabled")),
        ("misspelled-annotation-prefix", annotated("kustomize.toolkit.fluxcd.com/prune: disabled")),
        ("annotation-as-label", config_map("  labels:\n    kustomize.toolkit.fluxcd.io/decrypt: disabled\n")),
        (
            "committed-request-annotation",
            kustomization("  annotations:\n    reconcile.fluxcd.io/requestedAt: \"2026-01-01\"\n", ""),
        ),
        (
            "duplicate-key",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: default\n  name: b\n"
                .to_owned(),
        ),
        ("yaml-syntax", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n data:\n  a: b\n".to_owned()),
        ("unsupported-alert-source-kind", alert("    - kind: Deployment\n      name: a\n", "slack")),
        ("malformed-alert-pattern", alert("  exclusionList:\n    - \"(\"\n", "slack")),
        ("unknown-provider-type", alert("", "slak")),
        ("deprecated-alert-summary", alert("  summary: a\n", "slack")),
        (
            "wrong-reference-kind",
            kustomization("", "").replace("kind: GitRepository", "kind: HelmRepository"),
        ),
        ("label-as-annotation", annotated("reconcile.fluxcd.io/watch: Enabled")),
        (
            "annotation-only-suspend",
            kustomization("  annotations:\n    reconcile.fluxcd.io/suspended: \"false\"\n", ""),
        ),
    ]
}

/// The rules that speak about a file.
fn found(files: &[(&str, &str)], path: &str) -> Vec<&'static str> {
    let files = files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec()));
    let snapshot = Arc::new(Snapshot::memory(files, Arc::new(Store::default())));
    let world = World::new(&snapshot, &Config::default(), &[]);
    assert!(world.clusters.iter().any(|cluster| cluster.name.as_deref() == Some("prod")));
    let findings = engine::run(&world, &Config::default(), &LintOptions::default()).findings;
    let here = findings.iter().filter(|finding| finding.location.file.is_at(path));
    here.map(|finding| finding.rule.id).filter(|rule| *rule != "orphan-object").collect()
}

#[test]
fn a_mistake_is_found_wherever_it_stands() {
    let mistakes = mistakes();
    assert!(mistakes.len() >= 20, "{}", mistakes.len());
    let list = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n";
    let mut missed = Vec::new();
    for (rule, text) in &mistakes {
        let base = [
            ("clusters/prod/flux-system/gotk-sync.yaml", SYNC),
            ("apps/b.yaml", &config_map("").replace("name: a", "name: b")),
        ];
        let sets = [
            ("a cluster", "clusters/prod/a.yaml", None),
            ("an overlay", "later/a.yaml", Some(("later/kustomization.yaml", list))),
            ("no overlay", "later/a.yaml", None),
        ];
        for (place, path, beside) in sets {
            let mut files = base.to_vec();
            files.push((path, text));
            files.extend(beside);
            let found = found(&files, path);
            if !found.contains(rule) {
                missed.push(format!("{rule} in {place}: {found:?}"));
            }
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}
