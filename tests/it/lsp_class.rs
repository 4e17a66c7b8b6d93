//! Variables and worker classes of a ClusterClass in the editor.

use crate::support::editor::Editor;
use crate::support::scratch::Scratch;
use serde_json::{Value, json};

const CLASS: &str = "apps/class.yaml";
const CLUSTER: &str = "apps/cluster.yaml";

const FILES: [(&str, &str); 5] = [
    (
        "clusters/prod/apps.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: apps
  namespace: flux-system
spec:
  interval: 10m
  path: ./apps
  prune: true
  sourceRef:
    kind: GitRepository
    name: flux-system
",
    ),
    (".forebay.yaml", "clusters: [{name: prod, path: clusters/prod}]\n"),
    ("apps/kustomization.yaml", "namespace: fleet\nresources:\n  - class.yaml\n  - cluster.yaml\n"),
    (
        CLASS,
        "apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata:
  name: small
spec:
  workers:
    machineDeployments:
      - class: default-worker
        template: {}
  variables:
    - name: region
      required: true
      schema:
        openAPIV3Schema:
          type: string
          description: Where it runs.
          enum: [north, south]
    - name: imageRepository
      required: false
      schema:
        openAPIV3Schema:
          type: string
          default: registry.example.com
  patches:
    - name: image
      enabledIf: '{{ ne .imageRepository \"\" }}'
      definitions:
        - selector:
            apiVersion: controlplane.cluster.x-k8s.io/v1beta1
            kind: KubeadmControlPlaneTemplate
            matchResources:
              machineDeploymentClass:
                names: [default-worker]
          jsonPatches:
            - op: add
              path: /spec/template/spec/image
              valueFrom:
                variable: imageRepository
            - op: add
              path: /spec/template/spec/region
              valueFrom:
                template: |
                  at: {{ .region }}
",
    ),
    (
        CLUSTER,
        "apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: one
spec:
  topology:
    class: small
    version: v1.31.0
    workers:
      machineDeployments:
        - class: default-worker
          name: md-0
          variables:
            overrides:
              - name: imageRepository
                value: mirror.example.com
    variables:
      - name: region
        value: north
",
    ),
];

fn open(scratch: &Scratch) -> Editor {
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    editor
}

fn places(editor: &mut Editor, method: &str, path: &str, mark: &str) -> Vec<String> {
    let mut at = editor.at(path, mark);
    at["context"] = json!({"includeDeclaration": true});
    let answer = editor.request(method, at);
    answer.as_array().expect("a list").iter().map(|one| editor.place(one)).collect()
}

fn labels(editor: &mut Editor, path: &str, mark: &str) -> Vec<String> {
    let at = editor.at(path, mark);
    let answer = editor.request("textDocument/completion", at);
    let items = answer["items"].as_array().unwrap_or_else(|| panic!("nothing at {mark}: {answer}"));
    items.iter().map(|item| item["label"].as_str().expect("a label").to_owned()).collect()
}

#[test]
fn parts_of_a_class_lead_to_each_other() {
    let scratch = Scratch::git(&FILES);
    let mut editor = open(&scratch);
    for (path, mark, expected) in [
        (CLUSTER, "name: re|gion", "apps/class.yaml:11:13"),
        (CLUSTER, "value: no|rth", "apps/class.yaml:11:13"),
        (CLUSTER, "name: image|Repository", "apps/class.yaml:18:13"),
        (CLUSTER, "class: def|ault-worker", "apps/class.yaml:8:16"),
        (CLUSTER, "class: sm|all", "apps/class.yaml:4:9"),
        (CLASS, "variable: image|Repository", "apps/class.yaml:18:13"),
        (CLASS, "ne .image|Repository", "apps/class.yaml:18:13"),
        (CLASS, "{{ .reg|ion }}", "apps/class.yaml:11:13"),
        (CLASS, "names: [def|ault-worker]", "apps/class.yaml:8:16"),
    ] {
        assert_eq!(places(&mut editor, "textDocument/definition", path, mark), [expected], "{path} {mark}");
    }
    for (path, mark, expected) in [
        (
            CLASS,
            "name: image|Repository",
            &[
                "apps/class.yaml:18:13",
                "apps/class.yaml:26:26",
                "apps/class.yaml:38:27",
                "apps/cluster.yaml:15:23",
            ][..],
        ),
        (
            CLUSTER,
            "name: re|gion",
            &["apps/class.yaml:11:13", "apps/class.yaml:43:27", "apps/cluster.yaml:18:15"],
        ),
        (
            CLASS,
            "class: default|-worker",
            &["apps/class.yaml:8:16", "apps/class.yaml:33:25", "apps/cluster.yaml:11:18"],
        ),
    ] {
        assert_eq!(places(&mut editor, "textDocument/references", path, mark), expected, "{path} {mark}");
    }
    editor.quit();
}

#[test]
fn what_a_class_has_is_offered() {
    let scratch = Scratch::git(&FILES);
    let mut editor = open(&scratch);
    editor.edit(CLUSTER);
    // What has a value is not offered again.
    editor.replace(CLUSTER, "        value: north\n", "        value: \n      - name: i\n");
    assert_eq!(labels(&mut editor, CLUSTER, "- name: i|\n"), ["imageRepository"]);
    assert_eq!(labels(&mut editor, CLUSTER, "value: |\n"), ["north", "south"]);
    editor.replace(CLUSTER, "class: default-worker", "class: d");
    assert_eq!(labels(&mut editor, CLUSTER, "- class: d|\n"), ["default-worker"]);
    editor.edit(CLASS);
    editor.replace(CLASS, "variable: imageRepository", "variable: i");
    let offered = labels(&mut editor, CLASS, "variable: i|\n");
    assert_eq!(offered[..3], ["region", "imageRepository", "builtin.cluster.name"]);
    editor.quit();
}

#[test]
fn a_part_is_renamed_in_steps() {
    let scratch = Scratch::git(&FILES);
    let mut editor = open(&scratch);
    for (path, mark, new, command) in [
        (CLUSTER, "name: re|gion", "site", "`forebay rename variable region site --class fleet/small`"),
        (
            CLASS,
            "class: default|-worker",
            "worker",
            "`forebay rename worker-class default-worker worker --class fleet/small`",
        ),
    ] {
        let at = editor.at(path, mark);
        let prepared = editor.request("textDocument/prepareRename", at.clone());
        let old = prepared["placeholder"].as_str().expect("a name").to_owned();
        assert!(command.contains(&format!(" {old} ")), "{old}");
        let mut at = at;
        at["newName"] = json!(new);
        let answer = editor.try_request("textDocument/rename", at);
        let why = answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
        assert!(why.starts_with("not in one commit: Cluster API refuses"), "{why}");
        assert!(why.contains("\n1. ") && why.contains("\n3. ") && why.contains(command), "{why}");
    }
    editor.quit();
}
