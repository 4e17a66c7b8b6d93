//! Flux Kustomizations that are known in the cluster only, wholly or in part:
//! a parent substitutes what a Secret or ConfigMap of the cluster holds. What
//! follows from that is not checked; nothing of it is a finding.

use crate::support::scratch::Scratch;
use serde_json::Value;

const SYNC: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://example.com/o/r, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec:
  interval: 10m
  path: ./clusters/p
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substituteFrom: [{kind: Secret, name: outside}]}
";

const MANIFEST: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: 'nginx:1'}]}
";

/// A repository whose only child Kustomization has these lines in its spec.
fn repository(spec: &str) -> Scratch {
    let child = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
         metadata: {{name: apps, namespace: flux-system}}\nspec:\n  interval: 10m\n  prune: true\n{spec}\n"
    );
    Scratch::git(&[
        ("clusters/p/flux-system/gotk-sync.yaml", SYNC),
        ("clusters/p/apps.yaml", &child),
        ("apps/base/web.yaml", MANIFEST),
        ("apps/other/web.yaml", &MANIFEST.replace("name: web", "name: other")),
    ])
}

const SOURCE: &str = "  sourceRef: {kind: GitRepository, name: flux-system}\n";

fn lint(scratch: &Scratch) -> Value {
    scratch.forebay(&["lint", "--format", "json", "--show", "warning"]).json()
}

fn not_checked<'v>(answer: &'v Value, what: &str) -> Vec<&'v str> {
    let all = answer["notChecked"].as_array().expect("a list");
    let entry = all.iter().find(|entry| entry["what"] == what);
    entry
        .and_then(|entry| entry["examples"].as_array())
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

#[test]
fn nothing_follows_from_what_is_unknown() {
    let cases = [
        ("  path: ./apps/${X}\n", true),
        ("  path: ${X}\n", true),
        ("  path: ./apps/base\n  targetNamespace: ${X}\n", false),
        ("  path: ./apps/base\n  namePrefix: ${X}-\n  nameSuffix: -${Y}\n", false),
        ("  path: ./apps/base\n  components: ['../../components/${X}']\n", true),
        (
            "  path: ./apps/base\n  ignoreMissingComponents: true\n  components: ['../../components/${X}']\n",
            true,
        ),
        ("  path: ./apps/base\n  images: [{name: nginx, newTag: '${X}'}]\n", false),
        ("  path: ./apps/base\n  images: [{name: '${X}', newTag: '2'}]\n", true),
        (
            "  path: ./apps/base\n  patches: [{target: {name: '${X}'}, patch: '[{op: remove, path: /spec}]'}]\n",
            true,
        ),
        (
            "  path: ./apps/base\n  patches:\n  - patch: |\n      apiVersion: apps/v1\n      kind: Deployment\n      metadata: {name: '${X}', namespace: shop}\n",
            true,
        ),
        (
            "  path: ./apps/base\n  patches:\n  - target: {kind: Deployment}\n    patch: |\n      - {op: add, path: /metadata/labels, value: {a: '${X}'}}\n",
            false,
        ),
        ("  path: ./apps/base\n  kubeConfig: {secretRef: {name: '${X}-kubeconfig'}}\n", false),
    ];
    for (spec, is_counted) in cases {
        let scratch = repository(&format!("{spec}{SOURCE}"));
        let answer = lint(&scratch);
        assert_eq!(answer["findings"], serde_json::json!([]), "{spec}");
        assert_eq!(!not_checked(&answer, "unknown-field").is_empty(), is_counted, "{spec}: {answer:#}");
    }
    for source in ["{kind: GitRepository, name: '${X}'}", "{kind: '${X}', name: flux-system}"] {
        let scratch = repository(&format!("  path: ./apps/base\n  sourceRef: {source}\n"));
        let answer = lint(&scratch);
        assert_eq!(answer["findings"], serde_json::json!([]), "{source}");
        let examples = not_checked(&answer, "unknown-field");
        assert_eq!(examples, ["Kustomization flux-system/apps: its source is known in the cluster only"]);
    }
}

#[test]
fn an_unknown_path_applies_nothing() {
    let scratch = repository(&format!("  path: ./apps/${{X}}\n{SOURCE}"));
    let graph = scratch.forebay_with(&["graph"], &[("COLUMNS", "")], b"");
    assert_eq!(graph.code, 0, "{}", graph.err);
    assert!(graph.out.contains("apps  apps/? (its path is known in the cluster only)"), "{}", graph.out);
    let build = scratch.forebay(&["build", "--kustomization", "apps"]);
    assert_eq!(build.code, 3, "{}", build.err);
    assert!(build.err.contains("its path is known in the cluster only"), "{}", build.err);
    assert_eq!(scratch.forebay(&["build", "--all"]).code, 1);
}

#[test]
fn unknown_parts_reach_the_objects() {
    let build = |spec: &str| -> Value {
        let scratch = repository(&format!("  path: ./apps/base\n{spec}{SOURCE}"));
        let mut answer = scratch.forebay(&["build", "--kustomization", "apps", "--format", "json"]).json();
        answer["objects"][0].take()
    };
    let object = build("  namePrefix: ${X}-\n  targetNamespace: ${Y}\n");
    assert_eq!(object["metadata"]["name"], serde_json::json!({"$holes": [null, "-web"]}));
    assert!(object["metadata"]["namespace"]["$unknown"].is_string(), "{object:#}");
    let object = build("  images: [{name: nginx, newTag: 'v${X}-a'}]\n");
    let image = &object["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(*image, serde_json::json!({"$holes": ["nginx:v", null, "-a"]}));
    let patch = "  patches:\n  - target: {kind: Deployment}\n    patch: |\n      - {op: add, path: /spec/replicas, value: ${X}}\n";
    let object = build(patch);
    assert!(object["spec"]["replicas"]["$unknown"].is_string(), "{object:#}");
    assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:1");
}

/// References to and from objects whose name or namespace is unknown are never
/// missing; they are, where those are known.
#[test]
fn references_of_unknown_identity() {
    let release = |source: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: shop}}\n\
             spec: {{interval: 1h, chart: {{spec: {{chart: web, sourceRef: {{kind: HelmRepository, name: {source}, namespace: charts}}}}}}}}\n"
        )
    };
    let repository_of = |name: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\n\
             metadata: {{name: {name}, namespace: charts}}\nspec: {{interval: 1h, url: https://example.com/charts}}\n"
        )
    };
    let findings = |spec: &str, source: &str, written: &str| -> Vec<String> {
        let scratch = repository(&format!("  path: ./apps/base\n{spec}{SOURCE}"));
        scratch.write("apps/base/web.yaml", release(source).as_bytes());
        scratch.write("clusters/p/charts.yaml", repository_of(written).as_bytes());
        let answer = lint(&scratch);
        let all = answer["findings"].as_array().expect("a list").iter();
        all.map(|finding| finding["rule"].as_str().expect("a rule").to_owned()).collect()
    };
    assert_eq!(findings("", "bitnami", "podinfo"), ["missing-reference"]);
    for (spec, source, written) in [
        ("", "bitnami", "'${X}'"),
        ("", "bitnami", "'b${X}'"),
        ("  targetNamespace: ${X}\n", "bitnami", "'${Y}'"),
        ("  postBuild: {substituteFrom: [{kind: Secret, name: outside}]}\n", "'${X}'", "podinfo"),
    ] {
        assert_eq!(findings(spec, source, written), Vec::<String>::new(), "{spec} {source} {written}");
    }
    // The unknown part can't make it fit.
    assert_eq!(findings("", "bitnami", "'c${X}'"), ["missing-reference"]);
}

/// One that applies its own definition under another name each time.
#[test]
fn a_kustomization_that_renames_itself_is_reported_once_and_bounded() {
    let sync = SYNC.replace("{substituteFrom: [{kind: Secret, name: outside}]}", "{substitute: {N: a}}");
    let own = |name: &str, next: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
             metadata: {{name: '{name}', namespace: flux-system}}\nspec:\n  interval: 10m\n  path: ./clusters/p\n\
             {SOURCE}  prune: true\n  postBuild: {{substitute: {{N: '{next}'}}}}\n"
        )
    };
    // Two of them double at each level.
    let files = [
        ("clusters/p/flux-system/gotk-sync.yaml", sync.as_str()),
        ("clusters/p/b.yaml", &own("b-${N}", "${N}b")),
        ("clusters/p/a.yaml", &own("a-${N}", "${N}${N}")),
    ];
    for files in [&files[..2], &files] {
        let scratch = Scratch::git(files);
        let run = scratch.forebay(&["lint", "--format", "json", "--select", "build"]);
        assert_eq!(run.code, 1, "{}", run.err);
        let answer = run.json();
        let found = answer["findings"].as_array().expect("a list").iter();
        let found: Vec<_> = found.filter(|finding| finding["level"] == "error").collect();
        assert_eq!(found.len(), files.len() - 1, "{answer:#}");
        assert_eq!(found[0]["rule"], "unbuildable-kustomization");
        assert_eq!(found[0]["location"]["path"], files[files.len() - 1].0);
        assert_eq!(found[0]["location"]["line"], 6);
        let text = found[0]["message"].as_str().expect("a message");
        assert!(text.contains("applies itself again and again"), "{text}");
    }
}
