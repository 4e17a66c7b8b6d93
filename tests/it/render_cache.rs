//! What runs of `lint` keep of charts for those after them: the answers stay the same.

use crate::support::archive::packed;
use crate::support::scratch::{Run, Scratch};
use std::path::{Path, PathBuf};

const CLUSTER: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://example.com/fleet.git', ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/a, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: flux-system}
spec: {interval: 1h, url: 'https://charts.example.com/'}
";

/// Applies what several clusters share.
const APPS: &str = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 10m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
";

/// Templates that are read, passed over, undecided, and whose values have odd shapes.
const CHART: [(&str, &str); 7] = [
    (
        "Chart.yaml",
        "apiVersion: v2\nname: web\nversion: 1.2.3\ndeprecated: true\ndescription: moved elsewhere\n",
    ),
    (
        "values.yaml",
        "image: {tag: '1', list: []}\nport: 80\nextra: {on: false, text: x}\ntable: {a: 1}\nlimits: {cpu: 1}\nratio: 0.5\n",
    ),
    (
        "templates/deployment.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: {{ .Release.Name }}, annotations: {ratio: {{ .Values.ratio | quote }}}}\nspec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n        - name: web\n          image: web:{{ .Values.image.tag }}\n          ports: [{containerPort: {{ .Values.port }}}]\n",
    ),
    (
        "templates/secret.yaml",
        "{{- if .Values.extra.on }}\napiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Values.extra.text }}}\n{{- end }}\n",
    ),
    (
        "templates/unknown.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unknown}\ndata: {a: x{{ randAlphaNum 3 }}y, b: {{ .Values.table | toJson | quote }}}\n{{- if kindIs \"map\" .Values.limits }}\nbinaryData: {cpu: {{ .Values.limits.cpu | quote }}}\n{{- end }}\n",
    ),
    (
        "templates/hook.yaml",
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: hook, annotations: {helm.sh/hook: post-install}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}\n",
    ),
    (
        "crds/things.yaml",
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Thing, plural: things}\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n",
    ),
];

fn release(name: &str, values: &str) -> String {
    format!(
        "---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: apps}}\nspec:\n  interval: 1h\n  chart: {{spec: {{chart: web, version: 1.2.3, sourceRef: {{kind: HelmRepository, name: charts, namespace: flux-system}}}}}}\n  values:\n{values}"
    )
}

/// A fleet whose releases have a finding of each kind.
fn fleet() -> Scratch {
    let scratch = Scratch::new(&[("fleet/clusters/a/flux-system/gotk-sync.yaml", CLUSTER)]);
    let releases = [
        release("first", "    imag: {tag: '2'}\n    extra: {text: y}\n    port: eighty\n"),
        release("second", "    limits: none\n    table: none\n    image: {tag: '3'}\n    replicas: many\n"),
        release("third", "    image: null\n"),
    ];
    scratch.write("fleet/clusters/a/apps.yaml", releases.concat().as_bytes());
    scratch.write("store/web-1.2.3.tgz", &packed("web", &CHART));
    std::fs::create_dir(scratch.path().join("caches")).expect("a directory");
    scratch
}

fn lint(scratch: &Scratch, flags: &[&str]) -> Run {
    let caches = scratch.path().join("caches");
    let caches = caches.to_str().expect("a path");
    let all = [&["lint", "--root", "fleet", "--charts", "store", "--show", "info"], flags].concat();
    scratch.forebay_with(&all, &[("XDG_CACHE_HOME", caches)], b"")
}

fn entries(scratch: &Scratch) -> Vec<PathBuf> {
    let Ok(listing) = std::fs::read_dir(scratch.path().join("caches/forebay/renders")) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = listing.map(|entry| entry.expect("an entry").path()).collect();
    found.sort();
    found
}

fn same(one: &Run, other: &Run) {
    assert_eq!(one.out, other.out);
    assert_eq!((&one.err, one.code), (&other.err, other.code));
}

#[test]
fn a_second_run_answers_as_the_first() {
    let scratch = fleet();
    for format in ["json", "full", "concise", "sarif", "markdown"] {
        let flags = ["--format", format];
        let without = lint(&scratch, &[&flags[..], &["--no-cache"]].concat());
        let first = lint(&scratch, &flags);
        let second = lint(&scratch, &flags);
        same(&first, &without);
        same(&second, &without);
    }
    let findings = lint(&scratch, &["--format", "concise"]).out;
    for rule in [
        "unknown-chart-value",
        "value-without-effect",
        "value-replaced-table",
        "chart-fails",
        "deprecated-chart",
        "malformed-field-value",
    ] {
        assert!(findings.contains(rule), "{rule}: {findings}");
    }
}

#[test]
fn it_holds_a_file_for_each_release_and_no_flag_writes_nothing() {
    let scratch = fleet();
    lint(&scratch, &["--no-cache"]);
    assert_eq!(entries(&scratch).len(), 0);
    lint(&scratch, &["--no-charts"]);
    assert_eq!(entries(&scratch).len(), 0);
    lint(&scratch, &[]);
    let first = entries(&scratch);
    // What the definitions of the chart add is known before the others of the chart are
    // rendered: none of them is rendered twice.
    assert_eq!(first.len(), 3);
    // Nothing is written anew that is there.
    let times =
        || entries(&scratch).iter().map(|path| path.metadata().unwrap().modified().unwrap()).collect();
    let before: Vec<std::time::SystemTime> = times();
    lint(&scratch, &[]);
    assert_eq!((entries(&scratch), times()), (first, before));
}

#[cfg(unix)]
#[test]
fn others_cannot_read_what_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = fleet();
    lint(&scratch, &[]);
    let mode = |path: &Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
    let all = entries(&scratch);
    assert!(all.iter().all(|path| mode(path) == 0o600) && !all.is_empty());
    assert_eq!(mode(&scratch.path().join("caches/forebay/renders")), 0o700);
}

#[test]
fn caches_that_are_not_there_are_not_made() {
    let scratch = fleet();
    std::fs::remove_dir(scratch.path().join("caches")).expect("it is empty");
    assert_eq!(lint(&scratch, &[]).code, 1);
    assert!(!scratch.path().join("caches").exists());
}

/// Files of the root are not the user's.
#[test]
fn caches_in_the_root_are_left_alone() {
    let scratch = fleet();
    std::fs::create_dir(scratch.path().join("fleet/caches")).expect("a directory");
    let caches = scratch.path().join("fleet/caches");
    let flags = ["lint", "--root", "fleet", "--charts", "store"];
    scratch.forebay_with(&flags, &[("XDG_CACHE_HOME", caches.to_str().expect("a path"))], b"");
    assert!(std::fs::read_dir(caches).expect("it is there").next().is_none());
}

/// The files of a chart are found from a revision as well.
#[test]
fn what_is_new_since_a_revision_stays_the_same() {
    let scratch = fleet();
    scratch.run_git(&["init", "-q", "-b", "main"]);
    scratch.commit("one");
    let path = "fleet/clusters/a/apps.yaml";
    scratch.write(path, scratch.read(path).replace("replicas: many", "replicas: more").as_bytes());
    let flags = ["--since", "HEAD", "--format", "json"];
    let without = lint(&scratch, &[&flags[..], &["--no-cache"]].concat());
    for _ in 0..2 {
        same(&lint(&scratch, &flags), &without);
    }
    assert!(without.out.contains("malformed-field-value"), "{}", without.out);
}

#[test]
fn a_value_its_place_and_the_chart_are_what_an_entry_is_of() {
    let scratch = fleet();
    lint(&scratch, &[]);
    let path = "fleet/clusters/a/apps.yaml";
    let apps = scratch.read(path);
    let changes = [
        ("another value", apps.replace("eighty", "ninety")),
        ("another place", format!("# a line\n{apps}")),
        ("another name", apps.replace("imag:", "image:")),
    ];
    for (what, text) in changes {
        scratch.write(path, text.as_bytes());
        let count = entries(&scratch).len();
        let (with, without) =
            (lint(&scratch, &["--format", "json"]), lint(&scratch, &["--no-cache", "--format", "json"]));
        same(&with, &without);
        assert!(entries(&scratch).len() > count, "{what}");
    }
    let mut chart = CHART;
    chart[1].1 =
        "image: {tag: '1', list: []}\nimag: {}\nport: 80\nextra: {on: true}\ntable: {a: 1}\nratio: 1\n";
    scratch.write("store/web-1.2.3.tgz", &packed("web", &chart));
    same(&lint(&scratch, &["--format", "json"]), &lint(&scratch, &["--no-cache", "--format", "json"]));
}

/// A chart that asks which API versions a cluster has is rendered for each answer.
#[test]
fn clusters_that_answer_otherwise_get_renders_of_their_own() {
    let scratch = fleet();
    let mut chart = CHART;
    chart[2].1 = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n        - name: web\n          image: web\n          ports: [{containerPort: {{ if .Capabilities.APIVersions.Has \"other.example.com/v1\" }}{{ .Values.port }}{{ else }}80{{ end }}}]\n";
    scratch.write("store/web-1.2.3.tgz", &packed("web", &chart));
    let sync = CLUSTER.replace("./clusters/a", "./clusters/b");
    scratch.write("fleet/clusters/b/flux-system/gotk-sync.yaml", sync.as_bytes());
    let release = release("web", "    port: eighty\n");
    scratch.write("fleet/clusters/a/apps.yaml", release.as_bytes());
    scratch.write("fleet/clusters/b/apps.yaml", format!("# of b\n{release}").as_bytes());
    let definition = CHART[6].1.replace("example.com", "other.example.com");
    scratch.write("fleet/clusters/b/definition.yaml", definition.as_bytes());
    for _ in 0..2 {
        let answer = lint(&scratch, &["--format", "json", "--select", "malformed-field-value"]).json();
        let findings = answer["findings"].as_array().expect("a list");
        let files: Vec<&str> = findings.iter().filter_map(|one| one["location"]["path"].as_str()).collect();
        assert_eq!(files, ["clusters/b/apps.yaml"], "{answer:#}");
    }
}

/// One release in two clusters, of which one has an API more: however its chart asks for that,
/// each cluster has its own answer, and a chart that asks for another has one for both.
#[test]
fn what_a_chart_asks_of_the_api_versions_decides_which_renders_are_one() {
    let asking = [
        ("if .Capabilities.APIVersions.Has \"other.example.com/v1\"", true),
        ("if .Capabilities.APIVersions.Has (printf \"other.%s/v1\" \"example.com\")", true),
        ("if has \"other.example.com/v1\" .Capabilities.APIVersions", true),
        ("if contains \"other.example.com\" (join \",\" .Capabilities.APIVersions)", true),
        ("$all := .Capabilities.APIVersions }}{{ if $all.Has \"other.example.com/v1\"", true),
        ("if .Capabilities.APIVersions.Has \"apps/v1\"", false),
        ("if gt (len .Capabilities.APIVersions) 3", false),
    ];
    for (ask, differs) in asking {
        let scratch = fleet();
        let mut chart = CHART;
        let template = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  selector: {{matchLabels: {{app: web}}}}\n  template:\n    metadata: {{labels: {{app: web}}}}\n    spec:\n      containers:\n        - name: web\n          image: web\n          ports: [{{containerPort: {{{{ {ask} }}}}{{{{ .Values.port }}}}{{{{ else }}}}80{{{{ end }}}}}}]\n"
        );
        chart[2].1 = template.as_str();
        scratch.write("store/web-1.2.3.tgz", &packed("web", &chart));
        scratch.write("fleet/clusters/a/apps.yaml", APPS.as_bytes());
        let sync = CLUSTER.replace("./clusters/a", "./clusters/b");
        scratch.write("fleet/clusters/b/flux-system/gotk-sync.yaml", sync.as_bytes());
        scratch.write("fleet/clusters/b/apps.yaml", APPS.as_bytes());
        scratch.write("fleet/apps/web.yaml", release("web", "    port: eighty\n").as_bytes());
        let definition = CHART[6].1.replace("example.com", "other.example.com");
        scratch.write("fleet/clusters/b/definition.yaml", definition.as_bytes());
        let mut kept = Vec::new();
        for cache in [&["--no-cache"][..], &[], &[]] {
            let flags = [&["--format", "json", "--select", "malformed-field-value"], cache].concat();
            let answer = lint(&scratch, &flags).json();
            let clusters: Vec<_> =
                answer["findings"].as_array().expect("a list").iter().map(|one| &one["clusters"]).collect();
            let wanted = if differs { serde_json::json!(["b"]) } else { serde_json::json!(["a", "b"]) };
            assert_eq!(clusters, [&wanted], "{ask} {cache:?}: {answer:#}");
            let content = |path: PathBuf| (std::fs::read(&path).expect("a file"), path);
            kept.push(entries(&scratch).into_iter().map(content).collect::<Vec<_>>());
        }
        // Charts add API versions while a cluster is followed, and either cluster may come first:
        // what the first run kept does for all.
        assert!(kept[0].is_empty() && !kept[1].is_empty() && kept[1] == kept[2], "{ask}");
    }
}

#[test]
fn entries_that_are_broken_are_made_anew() {
    let scratch = fleet();
    let without = lint(&scratch, &["--no-cache", "--format", "json"]);
    lint(&scratch, &[]);
    let all = entries(&scratch);
    let texts: Vec<Vec<u8>> = all.iter().map(|path| std::fs::read(path).expect("a file")).collect();
    let broken = |at: usize| -> Vec<Vec<u8>> {
        let text = &texts[at];
        let mut flipped = text.clone();
        let middle = flipped.len() / 2;
        flipped[middle] ^= 1;
        let other = texts[(at + 1) % texts.len()].clone();
        vec![Vec::new(), text[..text.len() / 2].to_vec(), flipped, other]
    };
    for way in 0..4 {
        for (at, path) in all.iter().enumerate() {
            std::fs::write(path, &broken(at)[way]).expect("a file");
        }
        same(&lint(&scratch, &["--format", "json"]), &without);
        let again: Vec<Vec<u8>> = all.iter().map(|path| std::fs::read(path).expect("a file")).collect();
        assert!(again == texts, "they are written anew");
    }
    // A directory, or nothing that can be read, in the place of an entry.
    for path in &all {
        std::fs::remove_file(path).expect("a file");
        std::fs::create_dir(path).expect("a directory");
    }
    same(&lint(&scratch, &["--format", "json"]), &without);
}

#[test]
fn what_a_store_gives_to_a_chart_is_looked_at_each_time() {
    let scratch = fleet();
    let mut chart = CHART.to_vec();
    let metadata = "apiVersion: v2\nname: web\nversion: 1.2.3\ndependencies: [{name: inner, version: 1.x.x, repository: 'https://charts.example.com'}]\n";
    chart[0].1 = metadata;
    scratch.write("store/web-1.2.3.tgz", &packed("web", &chart));
    for (version, key) in [("1.0.0", "a"), ("1.1.0", "imag")] {
        let text = format!("apiVersion: v2\nname: inner\nversion: {version}\n");
        scratch.write(&format!("store/inner-{version}/Chart.yaml"), text.as_bytes());
        let template = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: inner-{key}}}\n");
        scratch.write(&format!("store/inner-{version}/templates/a.yaml"), template.as_bytes());
        same(&lint(&scratch, &["--format", "json"]), &lint(&scratch, &["--no-cache", "--format", "json"]));
        assert_eq!(entries(&scratch).len(), 0);
    }
}

/// Plans, fixes and other commands make no use of it, whatever it holds.
#[test]
fn other_commands_look_at_charts_themselves() {
    let scratch = fleet();
    lint(&scratch, &[]);
    let before = entries(&scratch);
    let caches = scratch.path().join("caches");
    let explain = |caches: &Path| {
        let flags = ["explain-values", "apps/first", "--root", "fleet", "--charts", "store"];
        scratch.forebay_with(&flags, &[("XDG_CACHE_HOME", caches.to_str().expect("a path"))], b"")
    };
    let with = explain(&caches);
    assert_eq!(with.code, 0, "{}", with.err);
    same(&with, &explain(Path::new("/nonexistent")));
    assert_eq!(entries(&scratch), before);
}
