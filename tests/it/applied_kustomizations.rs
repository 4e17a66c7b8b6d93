//! What kustomize-controller applies of a Kustomization, and when it applies nothing.
//! The tables were recorded from its code: fluxcd/pkg `kustomize` with kustomize 5.8, then
//! the reader of `ssa/utils/object.go`.

use crate::support::scratch::{GOTK_SYNC, Scratch};
use serde_json::Value;

/// A Kustomization `app` of the directory `app`, with these fields of `spec` in addition.
fn fleet(spec: &str, files: &[(&str, &str)]) -> Scratch {
    let app = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: app, namespace: flux-system}}\nspec:\n  interval: 10m\n  prune: true\n  path: ./app\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n{spec}"
    );
    let scratch = Scratch::new(&[
        ("clusters/a/flux-system/gotk-sync.yaml", GOTK_SYNC),
        ("clusters/a/app.yaml", &app),
        ("app/README.md", "Nothing here.\n"),
    ]);
    for (path, text) in files {
        scratch.write(path, text.as_bytes());
    }
    scratch
}

/// `kind namespace/name` of each object, or the place and title of why there is none.
fn applied(scratch: &Scratch) -> Vec<String> {
    let found = scratch
        .forebay(&["lint", "--select", "unbuildable-kustomization", "--format", "json"])
        .json()["findings"]
        .clone();
    let findings = found.as_array().expect("findings");
    if !findings.is_empty() {
        let told = |finding: &Value| {
            let place = &finding["location"];
            let title = finding["message"].as_str().unwrap_or_default();
            format!("{}:{}: {title}", place["path"].as_str().unwrap_or_default(), place["line"])
        };
        return findings.iter().map(told).collect();
    }
    let run = scratch.forebay(&["build", "--kustomization", "flux-system/app", "--format", "json"]);
    let built = run.json();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "-".to_owned(),
        value => value.to_string(),
    };
    let name = |object: &Value| {
        let metadata = &object["metadata"];
        format!("{} {}/{}", text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
    };
    built["objects"].as_array().expect("objects").iter().map(name).collect()
}

fn object(kind: &str, metadata: &str) -> String {
    let version = if kind == "ClusterRole" { "rbac.authorization.k8s.io/v1" } else { "v1" };
    format!("apiVersion: {version}\nkind: {kind}\nmetadata: {metadata}\n")
}

#[test]
fn names_that_variables_make_equal_fail_the_build() {
    const TWICE: &str = "is in this build twice once its variables are replaced";
    let config = |metadata: &str| object("ConfigMap", metadata);
    for (documents, expected) in [
        (
            [config("{name: '${A}'}"), config("{name: x}")],
            vec![format!("app/all.yaml:3: ConfigMap x {TWICE}")],
        ),
        (
            [config("{name: x}"), config("{name: '${A}'}")],
            vec![format!("app/all.yaml:7: ConfigMap x {TWICE}")],
        ),
        (
            [config("{name: '${A}'}"), config("{name: '${B:=x}'}")],
            vec![format!("app/all.yaml:7: ConfigMap x {TWICE}")],
        ),
        (
            [config("{name: x, namespace: '${A}'}"), config("{name: x, namespace: x}")],
            vec![format!("app/all.yaml:3: ConfigMap x/x {TWICE}")],
        ),
        // No namespace and `default` are one for kustomize.
        (
            [config("{name: '${A}'}"), config("{name: x, namespace: default}")],
            vec![format!("app/all.yaml:3: ConfigMap x {TWICE}")],
        ),
        (
            [object("ClusterRole", "{name: '${A}'}"), object("ClusterRole", "{name: x, namespace: n}")],
            vec![format!("app/all.yaml:3: ClusterRole x {TWICE}")],
        ),
        // One that is left as it is has its name all the same.
        (
            [
                config("{name: '${A}'}"),
                config("{name: x, annotations: {kustomize.toolkit.fluxcd.io/substitute: disabled}}"),
            ],
            vec![format!("app/all.yaml:3: ConfigMap x {TWICE}")],
        ),
        (
            [config("{name: '${A}'}"), object("Secret", "{name: x}")],
            vec!["ConfigMap -/x".to_owned(), "Secret -/x".to_owned()],
        ),
        (
            [config("{name: '${A}', namespace: n}"), config("{name: x, namespace: m}")],
            vec!["ConfigMap n/x".to_owned(), "ConfigMap m/x".to_owned()],
        ),
    ] {
        let text = documents.join("---\n");
        let scratch = fleet("  postBuild: {substitute: {A: x}}\n", &[("app/all.yaml", &text)]);
        assert_eq!(applied(&scratch), expected, "{text}");
    }
}

#[test]
fn names_that_are_not_known_are_not_taken_for_equal() {
    let two = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '${A}', namespace: n}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: '${B}', namespace: n}\n";
    let spec = "  postBuild: {substituteFrom: [{kind: Secret, name: not-here}]}\n";
    let findings = fleet(spec, &[("app/all.yaml", two)])
        .forebay(&["lint", "--select", "unbuildable-kustomization", "--format", "json"])
        .json();
    assert_eq!(findings["findings"], serde_json::json!([]));
}

#[test]
fn a_directory_without_manifests_gives_components_a_namespace_of_its_own() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [c.yaml]\n";
    let config = object("ConfigMap", "{name: c}");
    for (spec, more, expected) in [
        ("", None, "ConfigMap _placeholder/c"),
        ("  targetNamespace: t\n", None, "ConfigMap t/c"),
        ("", Some(("app/kustomization.yaml", "resources: []\n")), "ConfigMap -/c"),
        ("", Some(("app/x.txt", "x")), "ConfigMap _placeholder/c"),
    ] {
        let mut files = vec![("part/kustomization.yaml", component), ("part/c.yaml", config.as_str())];
        files.extend(more);
        let scratch = fleet(&format!("{spec}  components: [../part]\n"), &files);
        assert_eq!(applied(&scratch), [expected], "{spec} {more:?}");
    }
}

#[test]
fn build_says_why_nothing_is_applied() {
    let broken = object("ConfigMap", "{name: x, namespace: n}") + "data: {image: 'nginx:${TAG}'}\n";
    let scratch = fleet("  postBuild: {substitute: {TAG: 'a: b'}}\n", &[("app/all.yaml", &broken)]);
    let run = scratch.forebay(&["build", "--kustomization", "app"]);
    assert_eq!(run.code, 1, "{}", run.err);
    let why = "partial: ConfigMap n/x: its build fails: no YAML once variables are replaced: ";
    assert!(run.err.contains(why) && run.err.contains("(app/all.yaml:4:"), "{}", run.err);

    // Where nothing says what Flux applies first.
    let scratch = Scratch::new(&[
        (
            "apps/web.yaml",
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: web, namespace: apps}\nspec: {interval: 10m, prune: true, path: ./web, sourceRef: {kind: GitRepository, name: fleet}}\n",
        ),
        ("apps/kustomization.yaml", "resources: [web.yaml]\n"),
    ]);
    let run = scratch.forebay(&["build", "--kustomization", "web"]);
    assert_eq!(run.code, 2);
    assert!(
        run.err.contains("no cluster applies Kustomization web, which stands at apps/web.yaml:1:1"),
        "{}",
        run.err
    );
}
