//! Which values a chart reads, judged by what it makes without each.

use crate::support::scratch::Scratch;
use serde_json::Value;
use std::collections::BTreeSet;

/// What a report counts of charts that are not followed.
fn unfollowed(report: &Value) -> Option<&Value> {
    report["notChecked"].as_array()?.iter().find(|count| count["what"] == "chart-values")
}

/// A chart `web` of one template.
fn chart(template: &str) -> Scratch {
    let scratch = Scratch::new(&[
        ("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"),
        ("web/files/settings.yaml", "mode: {{ .Values.mode }}\nsize: {{ .Values.size | quote }}\n"),
    ]);
    scratch.write("web/templates/all.yaml", template.as_bytes());
    scratch
}

/// Which of some values are told as read by nothing, by their keys; each line has one key.
fn told(template: &str, values: &[&str]) -> BTreeSet<String> {
    let scratch = chart(template);
    let text: String = values.iter().map(|line| format!("    {line}\n")).collect();
    let release = format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: apps}}\nspec:\n  interval: 1h\n  chart: {{spec: {{chart: ./web, sourceRef: {{kind: GitRepository, name: fleet}}}}}}\n  values:\n{text}---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: fleet, namespace: apps}}\nspec: {{interval: 1m, url: https://example.com/fleet.git, ref: {{branch: main}}}}\n"
    );
    scratch.write("release.yaml", release.as_bytes());
    scratch
        .write(".forebay.yaml", b"sources: [{kind: GitRepository, name: fleet, namespace: apps, dir: .}]\n");
    let run = scratch.forebay(&["lint", "--select", "unknown-chart-value", "--format", "json"]);
    let all = run.json();
    assert!(unfollowed(&all).is_none(), "{all:#}");
    let findings = all["findings"].as_array().expect("findings").clone();
    let paths = findings.iter().filter_map(|finding| finding["valuesPath"].as_str());
    paths.map(|path| path.trim_start_matches('/').to_owned()).collect()
}

/// Which of the values the chart makes the same without.
fn needless(template: &str, values: &[&str]) -> BTreeSet<String> {
    let scratch = chart(template);
    let made = |values: &[&str]| {
        scratch.write("values.yaml", values.join("\n").as_bytes());
        let run = scratch.forebay(&["chart", "template", "web", "web", "-f", "values.yaml"]);
        (run.code, run.out)
    };
    let all = made(values);
    assert_eq!(all.0, 0, "{values:?}");
    let is_needless = |line: &&&str| {
        let others: Vec<&str> = values.iter().filter(|other| *other != *line).copied().collect();
        made(&others) == all
    };
    let key = |line: &&str| line.split(':').next().unwrap_or_default().to_owned();
    values.iter().filter(is_needless).map(key).collect()
}

/// What is told is what the chart makes the same without, for ways of libraries of charts to
/// reach values.
#[test]
fn values_that_are_told_are_those_that_change_nothing() {
    // As Helm's own guide to libraries of charts has it.
    let merges = r#"{{- define "merge" -}}
{{- $top := first . -}}
{{- $over := fromYaml (include (index . 1) $top) | default (dict) -}}
{{- $base := fromYaml (include (index . 2) $top) | default (dict) -}}
{{- toYaml (merge $over $base) -}}
{{- end -}}
{{- define "base" -}}
kind: ConfigMap
apiVersion: v1
metadata: {name: {{ .Values.name }}}
{{- end -}}
{{- define "own" -}}
data: {a: {{ .Values.a | quote }}}
{{- end -}}
{{- define "config" -}}{{- include "merge" (append . "base") -}}{{- end -}}
{{ include "config" (list . "own") }}
"#;
    // A template is given what it made, by way of the map that it is put into.
    let labels = r#"{{- define "short" -}}{{- . | toString | trunc 63 | trimSuffix "-" -}}{{- end -}}
{{- $labels := dict "app" .Values.app -}}
{{- range $key, $label := .Values.labels -}}
{{- $_ := set $labels $key (include "short" $label) -}}
{{- end -}}
{{- range $key, $label := $labels -}}
{{- $_ := set $labels $key (include "short" $label) -}}
{{- end -}}
metadata: {{- toYaml $labels | nindent 2 }}
"#;
    // A value by its path, with another one where there is none.
    let resolves = r#"{{- define "resolve" -}}
{{- $value := .ctx.Values -}}
{{- range splitList "." .key -}}
{{- if $value -}}{{- $value = index $value . -}}{{- else -}}{{- $value = "" -}}{{- end -}}
{{- end -}}
{{- if $value -}}{{- $value -}}{{- else -}}{{- .default -}}{{- end -}}
{{- end -}}
tag: {{ include "resolve" (dict "ctx" . "key" "image.tag" "default" .Values.fallback) }}
none: {{ include "resolve" (dict "ctx" . "key" "none.tag" "default" .Values.other) }}
"#;
    // The first of some paths that leads to a value.
    let first = r#"{{- define "at" -}}
{{- $value := "" -}}{{- $at := .context.Values -}}
{{- range splitList "." .key -}}{{- $value = index $at . -}}{{- $at = $value -}}{{- end -}}
{{- printf "%v" (default "" $value) -}}
{{- end -}}
{{- define "first" -}}
{{- $key := first .keys -}}
{{- range reverse .keys -}}
{{- if include "at" (dict "key" . "context" $.context) -}}{{- $key = . -}}{{- end -}}
{{- end -}}
{{- printf "%s" $key -}}
{{- end -}}
{{- $key := include "first" (dict "keys" (list "global.db.auth.password" "auth.password") "context" .) }}
password: {{ include "at" (dict "key" $key "context" .) }}
"#;
    // A variable after one branch, after both, after none; in a loop the last one counts.
    let branches = r#"{{- $a := .Values.a -}}{{- $b := .Values.b -}}{{- $c := .Values.c -}}{{- $d := .Values.d -}}
{{- if .Values.is }}{{ $a = .Values.e }}{{ end -}}
{{- if .Values.is }}{{ $b = .Values.f }}{{ else }}{{ $b = .Values.g }}{{ end -}}
{{- if not .Values.is }}{{ $c = .Values.h }}{{ else if .Values.was }}{{ $c = .Values.i }}{{ end -}}
{{- range .Values.items }}{{ if .big }}{{ $d = .name }}{{ else }}{{ $d = $.Values.j }}{{ end }}{{ end -}}
all: {{ list $a $b $c $d | toJson }}
"#;
    // A file that is a template, in a map that is one.
    let files = r#"{{- define "settings" -}}{{- tpl (.Files.Get "files/settings.yaml") . -}}{{- end -}}
{{ tpl (mergeOverwrite (include "settings" . | fromYaml) .Values.extra | toYaml) . }}
"#;
    // Lists by their ends and places.
    let lists = r#"{{- $all := list .Values.a .Values.b -}}
{{- $more := append $all .Values.c -}}
{{- $most := prepend (concat $more (list .Values.d)) .Values.e -}}
a: {{ index $all 0 }}
c: {{ last $more }}
e: {{ first $most }}
rest: {{ first (rest $all) }}
turned: {{ first (reverse $most) }}
{{- $grown := list -}}
{{- range list .Values.f .Values.g .Values.h }}{{ $grown = append $grown . }}{{ end }}
f: {{ index $grown 0 }}
g: {{ index $grown 1 }}
h: {{ last (initial (append $grown .Values.i)) }}
i: {{ last (append $grown .Values.i) }}
"#;
    // One of some lists, each gone through to its end.
    let alternatives = r#"{{- define "at" -}}
{{- $at := .values -}}
{{- range (kindIs "slice" .key | ternary .key (list .key)) -}}{{- $at = index $at . | default (dict) -}}{{- end -}}
{{- $at | toJson -}}
{{- end -}}
{{- $ctx := dict "values" .Values "key" "one" -}}
one: {{ include "at" $ctx }}
{{- $_ := set $ctx "key" (list "two" "spec") }}
two: {{ include "at" $ctx }}
{{- $_ := set $ctx "key" (list "three" "deep" "spec") }}
three: {{ include "at" $ctx }}
"#;
    let cases: [(&str, &str, &[&str]); 8] = [
        ("merges", merges, &["name: web", "a: 1", "b: 2", "own: 3", "base: 4"]),
        ("labels", labels, &["app: web", "labels: {a: b}", "label: x", "short: y"]),
        ("resolves", resolves, &["image: {tag: 1}", "other: 3", "tag: 4", "key: 5", "default: 6", "ctx: 7"]),
        (
            "first",
            first,
            &["global: {db: {auth: {}}}", "auth: {password: x}", "db: {auth: {}}", "password: y", "keys: 1"],
        ),
        (
            "branches",
            branches,
            &[
                "is: true",
                "e: 5",
                "f: 6",
                "c: 3",
                "items: [{big: true, name: x}]",
                "k: 9",
                "big: 1",
                "name: 2",
            ],
        ),
        (
            "files",
            files,
            &["mode: fast", "size: 3", "extra: {who: '{{ .Values.who }}'}", "who: me", "extras: {}"],
        ),
        ("lists", lists, &["a: 1", "b: 2", "c: 3", "d: 4", "e: 5", "f: 6", "g: 7", "h: 8", "i: 9", "j: 10"]),
        (
            "alternatives",
            alternatives,
            &["one: {a: 1}", "two: {spec: 2}", "three: {deep: {spec: 3}}", "spec: 4", "deep: 5", "key: 6"],
        ),
    ];
    for (name, template, values) in cases {
        let told = told(template, values);
        assert_eq!(told, needless(template, values), "{name}");
    }
}

/// A chart whose templates are too much to follow is counted, and nothing is said of it.
#[test]
fn a_chart_that_is_too_much_to_follow_is_counted() {
    for (depth, notes) in [(20, 0), (200, 1)] {
        let scratch = Scratch::new(&[("web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n")]);
        let steps: String = (0..depth)
            .map(|step| {
                format!("{{{{ define \"t{step}\" }}}}{{{{ include \"t{}\" . }}}}{{{{ end }}}}\n", step + 1)
            })
            .collect();
        let template = format!(
            "{steps}{{{{ define \"t{depth}\" }}}}a: {{{{ .Values.a }}}}{{{{ end }}}}\n{{{{ include \"t0\" . }}}}\n"
        );
        scratch.write("web/templates/all.yaml", template.as_bytes());
        scratch.write(
            "release.yaml",
            b"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec:\n  interval: 1h\n  chart: {spec: {chart: ./web, sourceRef: {kind: GitRepository, name: fleet}}}\n  values: {a: 1, b: 2}\n",
        );
        scratch.write(
            ".forebay.yaml",
            b"sources: [{kind: GitRepository, name: fleet, namespace: apps, dir: .}]\n",
        );
        let all = scratch.forebay(&["lint", "--select", "unknown-chart-value", "--format", "json"]).json();
        let of_chart = unfollowed(&all).map(|count| count["examples"][0].clone());
        let expected = (notes == 1).then(|| "HelmRelease apps/web: the chart web".into());
        assert_eq!(of_chart, expected, "{all:#}");
        assert_eq!(all["findings"].as_array().map(Vec::len), Some(1 - notes), "{all:#}");
    }
}
