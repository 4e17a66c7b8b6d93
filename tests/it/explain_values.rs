//! `forebay explain-values`: who set each value, and what reads it.

use crate::support::scratch::Scratch;
use forebay::internals::lang::yaml::emit::to_json;
use forebay::internals::lang::yaml::parse_nodes;
use serde_json::Value;

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://git.example.com/fleet, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/prod, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
";

const CHART: &str = "apiVersion: v2\nname: web\nversion: 0.1.0\n";

const TEMPLATE: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data:
  port: {{ .Values.port | quote }}
  hosts: {{ range .Values.hosts }}{{ .name }}{{ end }}
  token: {{ .Values.token | quote }}
  note: {{ .Values.note | quote }}
  inner: {{ .Values.inner.size | quote }}
";

fn release(spec: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: web, namespace: apps}}
spec:
  interval: 1h
  chart:
    spec:
      chart: ./charts/web
      sourceRef: {{kind: GitRepository, name: flux-system, namespace: flux-system}}
{spec}"
    )
}

fn repository(spec: &str, more: &[(&str, &str)]) -> Scratch {
    let release = release(spec);
    let mut files = vec![
        ("clusters/prod/sync.yaml", SYNC),
        ("clusters/prod/web.yaml", &release),
        ("charts/web/Chart.yaml", CHART),
        ("charts/web/values.yaml", "port: 80\nhosts: [{name: a, old: b}]\ninner: {size: 1}\ngone: {a: 1}\n"),
        ("charts/web/templates/a.yaml", TEMPLATE),
    ];
    files.extend_from_slice(more);
    Scratch::new(&files)
}

/// Exit code, standard output and standard error.
fn told(scratch: &Scratch, arguments: &[&str]) -> (i32, String, String) {
    let run = scratch.forebay(&[&["explain-values"], arguments, &["--no-user-stores"]].concat());
    (run.code, run.out, run.err)
}

fn set(scratch: &Scratch) -> Vec<(String, String, String)> {
    let (code, out, complaints) = told(scratch, &["apps/web", "--format", "json"]);
    assert_eq!(code, 0, "{complaints}");
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    let row = |row: &Value| {
        let place = match &row["location"] {
            Value::Null => "-".to_owned(),
            at => format!("{}:{}", at["path"].as_str().unwrap_or_default(), at["line"]),
        };
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        (text("path"), format!("{} {place}", text("by")), row["read"].to_string())
    };
    answer["set"].as_array().expect("rows").iter().map(row).collect()
}

#[test]
fn each_value_has_who_set_it_and_whether_it_is_read() {
    let spec = "  valuesFrom:
    - {kind: ConfigMap, name: one}
    - {kind: Secret, name: two}
    - {kind: ConfigMap, name: one, valuesKey: note, targetPath: note}
  values:
    port: 81
    inner: {sise: 2}
";
    let more = "apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: apps}
data:
  values.yaml: |
    port: 1
    hosts:
      - name: c
        oldd: d
  note: hello
---
apiVersion: v1
kind: Secret
metadata: {name: two, namespace: apps}
stringData:
  values.yaml: |
    token: marker-of-the-secret-1
";
    let scratch = repository(spec, &[("clusters/prod/more.yaml", more)]);
    let expected = [
        ("/gone/a", "chart charts/web/values.yaml:4", "false"),
        ("/hosts/0/name", "configMap clusters/prod/more.yaml:8", "true"),
        ("/hosts/0/oldd", "configMap clusters/prod/more.yaml:9", "false"),
        ("/inner/sise", "release clusters/prod/web.yaml:16", "false"),
        ("/inner/size", "chart charts/web/values.yaml:3", "true"),
        ("/note", "targetPath clusters/prod/more.yaml:10", "true"),
        ("/port", "release clusters/prod/web.yaml:15", "true"),
        ("/token", "secret clusters/prod/more.yaml:17", "true"),
    ];
    let expected: Vec<_> = expected
        .iter()
        .map(|(path, by, read)| (path.to_string(), by.to_string(), read.to_string()))
        .collect();
    assert_eq!(set(&scratch), expected);
    for format in ["text", "yaml", "json"] {
        let (code, out, _) = told(&scratch, &["web", "-n", "apps", "--format", format]);
        assert_eq!(code, 0);
        assert!(!out.contains("marker-of-the-secret-1") && out.contains("oldd"), "{out}");
    }
    let (_, out, _) = told(&scratch, &["apps/web", "--color", "always"]);
    assert!(out.contains("\u{1b}[9minner.sise: 2\u{1b}[0m") && !out.contains("~~"), "{out}");
}

#[test]
fn yaml_holds_the_values_of_json() {
    let spec = "  values:
    note: |
      two
      lines
    hosts: []
    port: {}
    token: 'a: b # c'
";
    let scratch = repository(spec, &[]);
    let (_, yaml, _) = told(&scratch, &["apps/web", "--format", "yaml"]);
    let (_, json, _) = told(&scratch, &["apps/web", "--format", "json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let node = parse_nodes("a.yaml", &yaml).remove(0);
    let read = to_json(node.get_ref()).expect("JSON");
    let read: Value = serde_json::from_str(&read).expect("JSON");
    assert_eq!(read, json["values"], "{yaml}");
    assert!(yaml.contains("# release, clusters/prod/web.yaml:11:11\nnote: |\n"), "{yaml}");
    assert!(yaml.contains("hosts: [] # release, clusters/prod/web.yaml:14:12\n"), "{yaml}");
}

#[test]
fn what_is_missing_is_said() {
    let remote = release("  values: {port: 81}\n")
        .replace("./charts/web", "web")
        .replace("GitRepository", "HelmRepository");
    let source = "apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1h, url: https://charts.example.com}
";
    let scratch = Scratch::new(&[
        ("clusters/prod/sync.yaml", SYNC),
        ("clusters/prod/web.yaml", &remote),
        ("clusters/prod/source.yaml", source),
    ]);
    let (code, out, complaints) = told(&scratch, &["apps/web"]);
    assert_eq!(code, 1);
    assert!(out.contains("port: 81") && out.contains("what reads them isn't known"), "{out}");
    assert!(complaints.contains("partial: HelmRelease apps/web: the defaults of its chart"), "{complaints}");
    let (_, out, _) = told(&scratch, &["apps/web", "--format", "json"]);
    let answer: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(answer["notChecked"][0]["what"], "chart");
    assert_eq!(answer["set"][0]["read"], "$unknown");
    let (code, out, complaints) = told(&scratch, &["apps/webb"]);
    assert_eq!((code, &*out), (2, ""));
    assert!(complaints.contains("did you mean apps/web?"), "{complaints}");
}

#[test]
fn values_that_helm_refuses_are_none() {
    let inner = [
        ("charts/web/charts/s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 0.1.0\n"),
        ("charts/web/charts/s/values.yaml", "d: 1\n"),
    ];
    let scratch = repository("  values: {s: 5}\n", &inner);
    let (code, out, complaints) = told(&scratch, &["apps/web"]);
    assert_eq!((code, &*out), (1, ""));
    assert!(complaints.starts_with("Error: HelmRelease apps/web: type mismatch on s"), "{complaints}");
}

#[test]
fn clusters_of_different_values_are_told_apart() {
    let release = release("  values:\n    port: ${port}\n");
    let apply = |name: &str, port: u8| {
        format!(
            "{SYNC}---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: apps, namespace: flux-system}}
spec: {{interval: 10m, path: ./apps, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}, postBuild: {{substitute: {{port: '{port}'}}}}}}
"
        )
        .replace("clusters/prod", &format!("clusters/{name}"))
    };
    let (one, two) = (apply("one", 1), apply("two", 2));
    let scratch = Scratch::new(&[
        ("clusters/one/sync.yaml", &one),
        ("clusters/two/sync.yaml", &two),
        ("apps/web.yaml", &release),
        ("charts/web/Chart.yaml", CHART),
        ("charts/web/values.yaml", "inner: {size: 1}\n"),
        ("charts/web/templates/a.yaml", TEMPLATE),
    ]);
    let (code, _, complaints) = told(&scratch, &["apps/web"]);
    assert_eq!(code, 2);
    assert!(complaints.contains("choose one with --cluster"), "{complaints}");
    let (code, out, _) = told(&scratch, &["apps/web", "--cluster", "two"]);
    assert_eq!(code, 0);
    assert!(out.contains("port: 2 "), "{out}");
}
