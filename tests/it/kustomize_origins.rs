//! Every value of a build knows the bytes that it came from.

use forebay::internals::build::kustomize::{self, BaseMemo, Build, BuildError, BuildOptions};
use forebay::internals::files::{FileTree, Snapshot, Store};
use forebay::internals::lang::yaml::Location;
use std::sync::Arc;

fn tree(files: &[(&str, &str)]) -> FileTree {
    let files = files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec()));
    FileTree::root(Arc::new(Snapshot::memory(files, Arc::new(Store::default()))))
}

fn build(files: &[(&str, &str)], directory: &str) -> Result<Build, BuildError> {
    kustomize::build(&tree(files), directory, &BuildOptions::command_line(), &BaseMemo::default())
}

/// The text that a location names.
fn text_at<'t>(files: &[(&str, &'t str)], location: &Location) -> &'t str {
    let (_, text) =
        files.iter().find(|(path, _)| *path == &**location.file.shown()).expect("a file of the test");
    &text[location.start as usize..location.end as usize]
}

/// Build and compare where values of the object of a kind come from.
fn assert_origins(files: &[(&str, &str)], directory: &str, kind: &str, expected: &[(&str, &str, &str)]) {
    let build = build(files, directory).expect("a build");
    let object = build
        .resources
        .iter()
        .find(|resource| resource.node.get_ref().str_at("/kind").as_deref() == Some(kind))
        .expect("an object of the kind");
    for (pointer, path, text) in expected {
        let node = object.node.get_ref().at(pointer).unwrap_or_else(|| panic!("no {pointer}"));
        let location = node.location().unwrap_or_else(|| panic!("{pointer} has no place"));
        assert_eq!((&**location.file.shown(), text_at(files, &location)), (*path, *text), "{pointer}");
    }
}

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: nginx:1
        envFrom:
        - configMapRef:
            name: settings
";

#[test]
fn values_of_transformers_are_found_in_the_kustomization() {
    let files = [
        ("d.yaml", DEPLOYMENT),
        (
            "kustomization.yaml",
            "resources: [d.yaml]\nnamespace: prod\nnamePrefix: a-\nlabels:\n- pairs: {team: blue}\n\
             images:\n- {name: nginx, newTag: \"2\"}\nreplicas:\n- {name: web, count: 5}\n",
        ),
    ];
    assert_origins(
        &files,
        "",
        "Deployment",
        &[
            ("/metadata/namespace", "kustomization.yaml", "prod"),
            ("/metadata/name", "d.yaml", "web"),
            ("/metadata/labels/team", "kustomization.yaml", "blue"),
            ("/spec/replicas", "kustomization.yaml", "5"),
            ("/spec/template/spec/containers/0/image", "kustomization.yaml", "\"2\""),
            ("/spec/template/spec/containers/0/name", "d.yaml", "web"),
        ],
    );
}

#[test]
fn values_of_patches_are_found_in_the_patches() {
    let files = [
        ("d.yaml", DEPLOYMENT),
        ("p.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  paused: true\n"),
        (
            "kustomization.yaml",
            "resources: [d.yaml]\npatches:\n- path: p.yaml\n- target: {kind: Deployment}\n  patch: |\n    \
             - op: add\n      path: /spec/strategy\n      value:\n        type: Recreate\n",
        ),
    ];
    assert_origins(
        &files,
        "",
        "Deployment",
        &[
            ("/spec/paused", "p.yaml", "true"),
            ("/spec/strategy/type", "kustomization.yaml", "Recreate"),
            ("/spec/replicas", "d.yaml", "1"),
        ],
    );
}

#[test]
fn generated_values_and_references_are_found() {
    let files = [
        ("d.yaml", DEPLOYMENT),
        ("a.env", "FROM_ENV=one\n"),
        (
            "kustomization.yaml",
            "resources: [d.yaml]\nconfigMapGenerator:\n- name: settings\n  literals: [mode=fast]\n  envs: [a.env]\n",
        ),
    ];
    assert_origins(
        &files,
        "",
        "ConfigMap",
        &[
            ("/data/mode", "kustomization.yaml", "fast"),
            ("/data/FROM_ENV", "a.env", "one"),
            ("/metadata/name", "kustomization.yaml", "settings"),
        ],
    );
    let pointer = "/spec/template/spec/containers/0/envFrom/0/configMapRef/name";
    assert_origins(&files, "", "Deployment", &[(pointer, "d.yaml", "settings")]);
}

#[test]
fn a_component_patched_by_an_overlay_is_found_in_both() {
    let files = [
        ("base/d.yaml", DEPLOYMENT),
        ("base/kustomization.yaml", "resources: [d.yaml]\n"),
        (
            "part/kustomization.yaml",
            "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [c.yaml]\n",
        ),
        ("part/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: one, b: two}\n"),
        (
            "overlay/kustomization.yaml",
            "resources: [../base]\ncomponents: [../part]\npatches:\n- patch: |\n    apiVersion: v1\n    \
             kind: ConfigMap\n    metadata: {name: c}\n    data: {b: three}\n",
        ),
    ];
    let expected = [("/data/a", "part/c.yaml", "one"), ("/data/b", "overlay/kustomization.yaml", "three")];
    assert_origins(&files, "overlay", "ConfigMap", &expected);
}

#[test]
fn failures_name_their_place() {
    let table = [
        ("resources: [missing.yaml]\n", "missing.yaml"),
        ("resources: [../../../../etc]\n", "../../../../etc"),
        ("resource: []\n", "resource"),
        ("resources: [d.yaml]\nreplicas:\n- {name: api, count: 1}\n", "{name: api, count: 1}"),
    ];
    for (text, place) in table {
        let files = [("d.yaml", DEPLOYMENT), ("kustomization.yaml", text)];
        let error = build(&files, "").expect_err(text);
        let location = error.location.unwrap_or_else(|| panic!("no place: {text}"));
        assert_eq!(text_at(&files, &location), place, "{text}");
    }
}

#[test]
fn circles_and_floods_end_with_an_error() {
    let circle =
        [("a/kustomization.yaml", "resources: [../b]\n"), ("b/kustomization.yaml", "resources: [../a]\n")];
    let error = build(&circle, "a").expect_err("a circle");
    assert!(error.message.contains("circle"), "{}", error.message);

    // Each level holds thirty renamed copies of the one below.
    let mut files: Vec<(String, String)> = vec![
        ("l0/kustomization.yaml".into(), "resources: [c.yaml]\n".into()),
        ("l0/c.yaml".into(), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n".into()),
    ];
    for level in 1..=3 {
        let entries: Vec<String> = (0..30).map(|copy| format!("../l{level}-{copy}")).collect();
        files
            .push((format!("l{level}/kustomization.yaml"), format!("resources: [{}]\n", entries.join(", "))));
        for copy in 0..30 {
            let text = format!("resources: [../l{}]\nnamePrefix: p{copy}-\n", level - 1);
            files.push((format!("l{level}-{copy}/kustomization.yaml"), text));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let error = build(&files, "l3").expect_err("a flood");
    assert!(error.message.contains("more than"), "{}", error.message);
}
