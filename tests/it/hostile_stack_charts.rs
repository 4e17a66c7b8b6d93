//! Charts and templates that are deep or long in every way, as [`crate::hostile_stack`]
//! does it with everything else.

use crate::hostile_stack::{
    Files, MANY, MAP, SYNC, aliases, indented, kustomization, nested as levels, none_dies, owned,
};

const CHART: &str = "apiVersion: v2\nname: c\nversion: 0.1.0\n";

/// A release with these values and fields, whose chart has these files.
fn release(rest: &str, files: &[(&str, &str)]) -> Files {
    let sync = SYNC.to_owned()
        + &kustomization("flux-system", "./clusters/main", "")
        + "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: h, namespace: default}\nspec:\n  interval: 5m\n  \
           chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}\n"
        + rest;
    let mut all = owned(&[("clusters/main/flux-system/gotk-sync.yaml", &sync), ("chart/Chart.yaml", CHART)]);
    for (path, text) in files {
        all.retain(|(known, _)| *known != format!("chart/{path}"));
        all.push((format!("chart/{path}"), (*text).to_owned()));
    }
    all
}

fn templates() -> Vec<(&'static str, Files)> {
    let template = |text: &str| release("", &[("templates/a.yaml", text)]);
    let many = |before: &str, inner: &str, after: &str, count: usize| {
        template(&format!("{}{inner}{}", before.repeat(count), after.repeat(count)))
    };
    let nests = "{{ $d := dict }}{{ $l := list }}{{ range until 20000 }}{{ $d = dict \"a\" $d }}{{ $l = list $l }}{{ end }}";
    let own = |inner: &str| {
        let open = "{{ range list . }}".repeat(245);
        let close = "{{ end }}".repeat(245);
        template(&format!(
            "{{{{ define \"x\" }}}}{open}{inner}{close}{{{{ end }}}}{{{{ template \"x\" . }}}}"
        ))
    };
    vec![
        (
            "parentheses of a template",
            template(&format!("a: {{{{ {}1{} }}}}", "(".repeat(MANY), ")".repeat(MANY))),
        ),
        ("actions in each other", many("{{ if 1 }}", "a", "{{ end }}", MANY)),
        ("actions as deep as they may be", many("{{ with 1 }}", "a: 1", "{{ end }}", 245)),
        (
            "alternatives of alternatives",
            template(&format!("{{{{ if 0 }}}}{}{{{{ end }}}}", "{{ else if 0 }}x".repeat(MANY))),
        ),
        ("fields of fields", template(&format!("a: {{{{ .Values{} }}}}", ".a".repeat(MANY)))),
        ("a template of itself in actions", own("{{ template \"x\" . }}")),
        ("an include of itself in actions", own("{{ include \"x\" . }}")),
        ("values that a loop nests", template(&format!("{nests}a: 1"))),
        ("values that a loop nests, as YAML", template(&format!("{nests}a: {{{{ toYaml $d }}}}"))),
        ("values that a loop nests, as JSON", template(&format!("{nests}a: {{{{ toJson $d }}}}"))),
        (
            "values that a loop nests, as text",
            template(&format!("{nests}a: {{{{ $l }}}}{{{{ printf \"%#v\" $l }}}}")),
        ),
        (
            "values that a loop nests, compared",
            template(&format!("{nests}a: {{{{ deepEqual $l (list $l) }}}}{{{{ deepCopy $l }}}}")),
        ),
        (
            "JSON that is read",
            template("a: {{ fromJsonArray (printf \"%s1%s\" (repeat 90000 \"[\") (repeat 90000 \"]\")) }}"),
        ),
        (
            "YAML that is read",
            template(
                "a: {{ (fromYaml (printf \"%s1%s\" (repeat 90000 \"{a: \") (repeat 90000 \"}\"))).Error | quote }}",
            ),
        ),
        (
            "TOML that is read",
            template(
                "a: {{ (fromToml (printf \"a%s = %s1\" (repeat 90000 \".a\") (repeat 90000 \"[\"))).Error | quote }}",
            ),
        ),
        (
            "a text that a loop joins",
            template(
                "{{ $s := \"\" }}{{ range until 20000 }}{{ $s = print $s \"a\" }}{{ end }}a: {{ len $s }}",
            ),
        ),
        ("objects that nest JSON", many("{\"a\": ", "1", "}", 9_000)),
        (
            "objects that nest aliases",
            template(&format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n{}",
                indented(&aliases(500))
            )),
        ),
    ]
}

fn charts() -> Vec<(&'static str, Files)> {
    let plain = ("templates/a.yaml", "a: {{ toYaml .Values | len }}");
    let schema = |text: &str| release("", &[plain, ("values.schema.json", text)]);
    let references = |count: usize| {
        let all: Vec<String> =
            (1..count).map(|at| format!("\"d{}\":{{\"$ref\":\"#/$defs/d{at}\"}}", at - 1)).collect();
        format!("{{\"$ref\":\"#/$defs/d0\",\"$defs\":{{{},\"d{}\":{{}}}}}}", all.join(","), count - 1)
    };
    let nested = |open: &str, count: usize, close: &str| open.repeat(count) + "{}" + &close.repeat(count);
    let mut within = vec![("templates/a.yaml".to_owned(), "a: 1".to_owned())];
    for level in 1..31 {
        let at = "charts/c/".repeat(level);
        within.push((format!("{at}Chart.yaml"), CHART.to_owned()));
        within.push((format!("{at}values.yaml"), aliases(120)));
        within.push((format!("{at}templates/b.yaml"), "a: {{ .Values.a9 }}".to_owned()));
    }
    let within: Vec<(&str, &str)> = within.iter().map(|(path, text)| (&**path, &**text)).collect();
    let path = |by: &str| {
        let text = format!(
            "  valuesFrom: [{{kind: ConfigMap, name: v, valuesKey: k, targetPath: 'a{}'}}]\n---\n\
             apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: v, namespace: default}}\ndata: {{k: x}}\n",
            by.repeat(MANY)
        );
        release(&text, &[plain])
    };
    vec![
        ("brackets of values", release("", &[plain, ("values.yaml", &format!("a: {}", "[".repeat(MANY)))])),
        (
            "values as deep as YAML",
            release(
                &format!("  values:{}", levels(4)),
                &[plain, ("values.yaml", &format!("b:{}", levels(2)))],
            ),
        ),
        ("aliases of values", release("", &[plain, ("values.yaml", &aliases(500))])),
        (
            "aliases of Chart.yaml",
            release(
                "",
                &[plain, ("Chart.yaml", &format!("{CHART}annotations:\n{}", indented(&aliases(500))))],
            ),
        ),
        (
            "aliases of crds",
            release(
                "",
                &[
                    plain,
                    (
                        "crds/a.yaml",
                        &format!(
                            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n{}",
                            indented(&aliases(500))
                        ),
                    ),
                ],
            ),
        ),
        (
            "values of a release by aliases",
            release(
                &format!("  values:\n{}", indented(&indented(&aliases(140)))),
                &[plain, ("values.yaml", &aliases(130))],
            ),
        ),
        ("charts within charts", release("", &within)),
        ("references of a schema", schema(&references(6_000))),
        ("references as far as they may lead", schema(&references(4_000))),
        (
            "a schema that is its own",
            schema(
                "{\"allOf\":[{\"$ref\":\"#/$defs/a\"}],\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/b\"}]},\"b\":{\"oneOf\":[{\"$ref\":\"#\"}]}}}",
            ),
        ),
        ("schemas in schemas", schema(&nested("{\"allOf\":[", MANY, "]}"))),
        ("schemas as deep as they may be", schema(&nested("{\"allOf\":[", 140, "]}"))),
        ("a constant as deep as it may be", schema(&format!("{{\"const\":{}}}", nested("[", 290, "]")))),
        (
            "properties of properties",
            schema(&nested("{\"type\":\"object\",\"properties\":{\"a\":", 140, "}}")),
        ),
        ("a target path of names", path(".a")),
        ("a target path of indices", path("[0]")),
        ("a target path of both", path("[0].a")),
        (
            "a condition of names",
            release(
                "",
                &[
                    plain,
                    (
                        "Chart.yaml",
                        &format!(
                            "{CHART}dependencies:\n- {{name: s, version: '*', repository: '', condition: 'a{}'}}\n",
                            ".a".repeat(MANY)
                        ),
                    ),
                    ("charts/s/Chart.yaml", "apiVersion: v2\nname: s\nversion: 0.1.0\n"),
                ],
            ),
        ),
        (
            "patches of what a chart makes",
            release(
                &format!(
                    "  postRenderers: [{{kustomize: {{patches: [{{target: {{kind: ConfigMap}}, patch: '[{{\"op\": \"add\", \"path\": \"{}\", \"value\": 1}}]'}}]}}}}]\n",
                    "/a".repeat(MANY)
                ),
                &[("templates/a.yaml", MAP)],
            ),
        ),
    ]
}

/// What every chart goes through.
const COMMANDS_OF_CHARTS: &[&[&str]] = &[
    &["chart", "template", "r", "chart"],
    &["lint", "--show", "info", "--format", "json"],
    &["why", "--references", "hr/h"],
    &["plan", "--base", "../before", "--allow-dir", "..", "--format", "json"],
];

#[cfg(target_os = "linux")]
#[test]
fn no_chart_is_deeper_than_the_stack() {
    none_dies([templates(), charts()].concat(), COMMANDS_OF_CHARTS);
}
