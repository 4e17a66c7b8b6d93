//! What helm-controller's post-renderers make of what a chart writes, for each line of Helm.
//! The tables were recorded from Helm 3.17.3, 4.1.4 and 4.2.3 with kustomize's factory of
//! resources as their post-renderer, which is what helm-controller runs.

use crate::support::scratch::{GOTK_SYNC, Run, Scratch};
use serde_json::{Value, json};

/// Versions of helm-controller with Helm 3.17, 4.1 and 4.2.
const CONTROLLERS: [&str; 3] = ["v1.3.0", "v1.5.3", "v1.6.3"];

/// A release of a chart with these templates.
fn fleet(controller: &str, templates: &[&str], spec: &str) -> Scratch {
    let release = format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: helm-controller, namespace: flux-system}}\nspec: {{selector: {{}}, template: {{spec: {{containers: [{{name: manager, image: 'ghcr.io/fluxcd/helm-controller:{controller}'}}]}}}}}}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: apps}}\nspec:\n  interval: 1h\n  chart: {{spec: {{chart: ./charts/web, sourceRef: {{kind: GitRepository, name: flux-system, namespace: flux-system}}}}}}\n{spec}"
    );
    let scratch = Scratch::new(&[
        ("clusters/a/flux-system/gotk-sync.yaml", GOTK_SYNC),
        ("clusters/a/web.yaml", &release),
        ("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"),
    ]);
    for (at, template) in templates.iter().enumerate() {
        scratch.write(&format!("charts/web/templates/{at}.yaml"), template.as_bytes());
    }
    scratch
}

/// The root, with variables of a Secret that is not here.
fn substituting() -> String {
    GOTK_SYNC.replace(
        "path: ./clusters/a, prune: true",
        "path: ./clusters/a, prune: true, postBuild: {substituteFrom: [{kind: Secret, name: s}]}",
    )
}

fn build(scratch: &Scratch) -> Run {
    scratch.forebay(&["build", "--helm-release", "apps/web", "--format", "json"])
}

fn objects(scratch: &Scratch) -> Vec<Value> {
    let run = build(scratch);
    assert!(run.code < 2, "{}{}", run.out, run.err);
    run.json()["objects"].as_array().expect("objects").clone()
}

/// Level, place, title and cause of what is told of the chart.
fn told(scratch: &Scratch) -> Vec<(String, String, String)> {
    let run = scratch.forebay(&["lint", "--select", "chart-fails", "--show", "info", "--format", "json"]);
    let findings = run.json()["findings"].as_array().expect("findings").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place =
        |finding: &Value| format!("{}:{}", text(&finding["location"]["path"]), finding["location"]["line"]);
    findings.iter().map(|one| (text(&one["level"]), place(one), text(&one["why"]))).collect()
}

fn config(name: &str, rest: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n{rest}")
}

#[test]
fn a_text_at_the_end_of_a_document_ends_as_each_line_of_helm_leaves_it() {
    let kept = config("a", "data:\n  k: |\n    text\n");
    let all = config("b", "data:\n  k: |+\n    text\n\n");
    let last = config("c", "data:\n  k: |\n    text\n");
    let bare = config("d", "data:\n  k: |\n    text");
    let many = config("e", "data:\n  k: |+\n    text\n\n\n");
    let templates = [format!("{kept}---\n{all}---\n{last}"), bare, many];
    let templates: Vec<&str> = templates.iter().map(String::as_str).collect();
    for (controller, expected) in CONTROLLERS.iter().zip([
        ["text\n", "text\n", "text\n", "text\n", "text\n"],
        ["text\n", "text\n\n", "text\n", "text", "text\n\n\n"],
        ["text", "text", "text\n", "text", "text\n\n\n"],
    ]) {
        let mut found: Vec<(String, String)> = objects(&fleet(controller, &templates, ""))
            .iter()
            .map(|object| {
                (object["metadata"]["name"].to_string(), object["data"]["k"].as_str().unwrap().to_owned())
            })
            .collect();
        found.sort();
        let found: Vec<&str> = found.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(found, expected, "{controller}");
    }
}

#[test]
fn what_a_chart_makes_is_read_as_kustomize_reads_it() {
    let thing = |value: &str| {
        format!("apiVersion: example.org/v1\nkind: Thing\nmetadata: {{name: a}}\nspec: {value}\n")
    };
    for (value, expected) in [
        ("yes", json!("yes")),
        ("Off", json!("Off")),
        ("true", json!(true)),
        ("2020-01-01", json!("2020-01-01T00:00:00Z")),
        ("2001-12-14t21:59:43.10-05:00", json!("2001-12-14T21:59:43.1-05:00")),
        ("010", json!(8)),
        ("1_000", json!(1000)),
        ("0o10", json!(8)),
        ("!!str 5", json!("5")),
        ("{y: 1, n: on}", json!({"y": 1, "n": "on"})),
        ("[a, yes, 1]", json!(["a", "yes", 1])),
        ("{x: &x {a: 1}, z: {<<: *x, b: 2}}", json!({"x": {"a": 1}, "z": {"a": 1, "b": 2}})),
    ] {
        for controller in CONTROLLERS {
            let found = objects(&fleet(controller, &[&thing(value)], ""));
            assert_eq!(found[0]["spec"], expected, "{controller} {value}");
        }
    }
}

#[test]
fn lists_are_unfolded_and_empty_annotations_gone() {
    let item = config("a", "").replace('\n', "\n  ");
    let list = format!("apiVersion: v1\nkind: ConfigMapList\nitems:\n- {}\n", item.trim_end());
    let empty = config("b", "  annotations: {}\n");
    for (controller, annotations) in CONTROLLERS.iter().zip([json!({}), Value::Null, Value::Null]) {
        let found = objects(&fleet(controller, &[&list, &empty], ""));
        let names: Vec<&Value> = found.iter().map(|object| &object["metadata"]["name"]).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        for object in &found {
            assert_eq!(object["metadata"]["labels"]["helm.toolkit.fluxcd.io/name"], "web", "{object}");
        }
        let of_b = found.iter().find(|object| object["metadata"]["name"] == "b").expect("b");
        assert_eq!(of_b["metadata"]["annotations"], annotations, "{controller}");
    }
}

#[test]
fn what_only_post_renderers_refuse_is_told() {
    let hook = config("a", "  annotations: {helm.sh/hook: pre-install}\n");
    let twice = config("a", "data:\n  k: v\n  k: w\n");
    let list = config("a", "  labels: [a]\n");
    let nameless = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  generateName: a-\n";
    let (a, b) = (config("a", ""), config("a", "data: {k: v}\n"));
    let elsewhere = config("a", "  namespace: other\n");
    let from_values = config("a", "data:\n  k: v\n{{ toYaml .Values.data | indent 2 }}\n");
    let chart = "clusters/a/web.yaml:11";
    let patch = "  postRenderers:\n  - kustomize:\n      patches:\n      - patch: |\n          apiVersion: v1\n          kind: ConfigMap\n          metadata: {name: gone}\n          data: {k: v}\n";
    let values = "  values:\n    data:\n      k: mine\n";
    type Case<'c> = (&'c [&'c str], &'c str, [Option<(&'c str, &'c str)>; 3]);
    let cases: [Case<'_>; 9] = [
        (&[&a, &b], "", [Some((chart, "ConfigMap a is in this build twice")); 3]),
        (&[&a, &elsewhere], "", [None; 3]),
        (&[&a, &hook], "", [None, Some((chart, "twice")), Some((chart, "twice"))]),
        (&[&a, &hook], "  postRenderStrategy: separate\n", [None; 3]),
        (&[&twice], "", [Some((chart, "mapping key \"k\" already defined")); 3]),
        (&[&from_values], values, [Some(("clusters/a/web.yaml:14", "mapping key \"k\"")); 3]),
        (&[nameless], "", [Some((chart, "ConfigMap without metadata.name")); 3]),
        (&[&list], "", [Some((chart, "metadata.labels is no map")); 3]),
        (&[&a], patch, [Some(("clusters/a/web.yaml:16", "error while running post render on files")); 3]),
    ];
    for (templates, spec, expected) in cases {
        for (controller, expected) in CONTROLLERS.iter().zip(expected) {
            let found = told(&fleet(controller, templates, spec));
            let Some((place, cause)) = expected else {
                assert_eq!(found, [], "{controller} {templates:?}");
                continue;
            };
            assert_eq!(found.len(), 1, "{controller} {templates:?}: {found:?}");
            assert_eq!((&*found[0].0, &*found[0].1), ("error", place), "{controller} {templates:?}");
            assert!(found[0].2.contains(cause), "{controller}: {}", found[0].2);
            assert!(!found[0].2.contains("the chart renders"), "{controller}: {}", found[0].2);
        }
    }
}

#[test]
fn images_of_a_post_renderer_are_set_one_behind_the_other() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, image: 'nginx:1.2'}]}\n";
    for (images, expected) in [
        ("[{name: nginx, newName: x/y}, {name: nginx, newTag: '9'}]", "x/y:1.2"),
        ("[{name: nginx, newTag: '8'}, {name: nginx, newTag: '9'}]", "nginx:9"),
        ("[{name: nginx, newName: x/y}, {name: x/y, newTag: '9'}]", "x/y:9"),
    ] {
        let spec = format!("  postRenderers: [{{kustomize: {{images: {images}}}}}]\n");
        let found = objects(&fleet("v1.6.3", &[pod], &spec));
        assert_eq!(found[0]["spec"]["containers"][0]["image"], expected, "{images}");
    }
}

/// As in charts that pass what they make on as YAML: `home.${DOMAIN}` of a Secret that is not
/// known here makes no other value unknown.
#[test]
fn a_variable_in_one_value_leaves_the_others_known() {
    let template = "{{ define \"c\" }}{{ .Values.c | toYaml }}{{ end }}{{ define \"d\" }}{{ . | toYaml }}{{ end }}apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n{{- $c := include \"c\" . | fromYaml }}{{ range $name, $one := include \"d\" $c.all | fromYaml }}\n  - name: {{ $name }}\n{{ toYaml $one | indent 4 }}\n{{- end }}\n";
    let spec = "  valuesFrom: [{kind: ConfigMap, name: v, valuesKey: k}]\n";
    let scratch = fleet("v1.6.3", &[template], spec);
    scratch.write("clusters/a/flux-system/gotk-sync.yaml", substituting().as_bytes());
    scratch.write(
        "clusters/a/v.yaml",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: v, namespace: apps}\ndata:\n  k: |\n    c:\n      text: |\n        a\n        b\n      all: {app: {image: nginx:1, env: [{name: HOST, value: 'home.${DOMAIN}'}, {name: TZ, value: UTC}]}}\n",
    );
    let found = objects(&scratch);
    let container = &found[0]["spec"]["containers"][0];
    assert_eq!(container["name"], "app", "{container:#}");
    assert_eq!(container["image"], "nginx:1");
    assert_eq!(container["env"][1], json!({"name": "TZ", "value": "UTC"}));
    assert_eq!(container["env"][0]["name"], "HOST");
    assert_eq!(container["env"][0]["value"], json!({"$holes": ["home.", null]}));
}

#[test]
fn a_patch_leaves_what_is_not_known_of_the_object() {
    let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: {l: '{{ .Values.name }}-x'}}\ndata: {k: 'a.{{ .Values.name }}', gone: v, kept: w}\n";
    for patch in [
        "{target: {kind: ConfigMap}, patch: '[{\"op\": \"remove\", \"path\": \"/data/gone\"}]'}",
        "{target: {kind: ConfigMap}, patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {gone: null}}'}",
    ] {
        let spec = format!(
            "  values: {{name: 'n-${{DOMAIN}}'}}\n  postRenderers: [{{kustomize: {{patches: [{patch}]}}}}]\n"
        );
        let scratch = fleet("v1.6.3", &[template], &spec);
        scratch.write("clusters/a/flux-system/gotk-sync.yaml", substituting().as_bytes());
        let found = objects(&scratch);
        assert_eq!(found[0]["data"], json!({"k": {"$holes": ["a.n-", null]}, "kept": "w"}), "{patch}");
        assert_eq!(found[0]["metadata"]["labels"]["l"], json!({"$holes": ["n-", null, "-x"]}), "{patch}");
    }
}

#[test]
fn names_that_are_not_known_here_are_no_name_twice() {
    let named = |suffix: &str| config(&format!("'{{{{ .Values.name }}}}{suffix}'"), "");
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: values, namespace: apps}\nsops: {version: 3.9.0}\nstringData: {name: 'ENC[AES256_GCM,data:aa,type:str]'}\n";
    let spec = format!(
        "  valuesFrom: [{{kind: Secret, name: values, valuesKey: name, targetPath: name}}]\n{secret}"
    );
    for controller in CONTROLLERS {
        let scratch = fleet(controller, &[&named(""), &named(""), &named("-a")], &spec);
        assert_eq!(told(&scratch), [], "{controller}");
        assert_eq!(objects(&scratch).len(), 3, "{controller}");
    }
}

#[test]
fn a_patch_that_finds_nothing_is_no_error_beside_a_name_that_is_not_known_here() {
    let named = |name: &str| config(name, "");
    let patch = "  values: {name: 'n-${DOMAIN}'}\n  postRenderers: [{kustomize: {patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: gone}, data: {k: v}}'}]}}]\n";
    let (known, unknown) = (named("a"), named("'{{ .Values.name }}'"));
    for (templates, level) in [([&*known, ""], "error"), ([&*known, &*unknown], "info")] {
        let scratch = fleet("v1.6.3", &templates, patch);
        scratch.write("clusters/a/flux-system/gotk-sync.yaml", substituting().as_bytes());
        let found = told(&scratch);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].0, level, "{found:?}");
    }
}
