//! Releases and charts of any size.

use super::changes::Change;
use super::{Files, Generator, SYNC, each, files};

/// A release of `./charts/web` with values, one line each.
fn release(name: &str, values: &str) -> String {
    let values: String = values.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec:\n  interval: 5m\n  chart: {{spec: {{chart: ./charts/web, sourceRef: {{kind: GitRepository, name: flux-system}}}}}}\n\
         \x20 values:\n{values}---\n"
    )
}

/// A release with values, and a chart of one template with these defaults.
fn released(values: &str, defaults: &str, template: &str) -> Files {
    files(&[
        ("clusters/a/sync.yaml", SYNC.to_owned() + &release("web", values)),
        ("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n".to_owned()),
        ("charts/web/values.yaml", defaults.to_owned()),
        ("charts/web/templates/a.yaml", template.to_owned()),
    ])
}

const HEAD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n";

/// `k0: v` and so on.
fn keys(count: usize) -> String {
    each(count, |at| format!("k{at}: v\n"))
}

/// A template that reads each key in one form.
fn reading(count: usize, form: impl Fn(usize) -> String) -> String {
    HEAD.to_owned() + &each(count, |at| format!("  d{at}: {}\n", form(at)))
}

pub(crate) const ALL: &[Generator] = &[
    ("releases of one chart", 20, |count| {
        let mut found = released("k0: v\n", "", &reading(1, |_| "{{ .Values.k0 }}".to_owned()));
        let releases = each(count, |at| release(&format!("web{at}"), &format!("k0: v{at}\nk{at}: v\n")));
        found[0].1 = SYNC.to_owned() + &releases;
        found
    }),
    ("values that a chart reads", 40, |count| {
        released(&keys(count), "", &reading(count, |at| format!("{{{{ .Values.k{at} }}}}")))
    }),
    ("equal templates of one chart", 40, |count| {
        let mut found = released("k0: v\n", "", "");
        for at in 0..count {
            found.push((
                format!("charts/web/templates/b{at}.yaml"),
                reading(1, |_| "{{ .Values.k0 }}".to_owned()),
            ));
        }
        found
    }),
    ("values that nothing reads", 40, |count| released(&keys(count), "", HEAD)),
    ("misspelt values", 40, |count| {
        let values = each(count, |at| format!("setting{at}x: v\n"));
        let defaults = each(count, |at| format!("setting{at}: v\n"));
        let form = |at| format!("{{{{ .Values.setting{at} }}}}");
        released(&values, &defaults, &reading(count, form))
    }),
    ("values that stand elsewhere", 40, |count| {
        let values = each(count, |at| format!("k{at}: v\n"));
        released(
            &values,
            "",
            &reading(count, |at| format!("{{{{ (.Values.in{at} | default dict).k{at} }}}}")),
        )
    }),
    ("values that a copy reads", 40, |count| {
        let template = reading(count, |at| format!("{{{{ $copy.k{at} }}}}"));
        released(&keys(count), "", &("{{- $copy := deepCopy .Values }}\n".to_owned() + &template))
    }),
    ("values in branches that are passed over", 40, |count| {
        let form = |at| format!("{{{{ if .Values.off{at} }}}}{{{{ .Values.k{at} }}}}{{{{ end }}}}");
        released(&keys(count), "", &reading(count, form))
    }),
    ("values that are templates", 40, |count| {
        let texts = each(count, |at| format!("  k{at}: '{{{{ .Values.w{at} }}}}'\n"));
        let values = format!("texts:\n{texts}") + &each(count, |at| format!("w{at}: v\n"));
        let template =
            "{{- range $key, $text := .Values.texts }}\n  {{ $key }}: {{ tpl $text $ }}\n{{- end }}\n";
        released(&values, "", &(HEAD.to_owned() + template))
    }),
    ("values in the place of a table", 40, |count| {
        let defaults = each(count, |at| format!("k{at}: {{a: b}}\n"));
        released(&keys(count), &defaults, &reading(count, |at| format!("{{{{ .Values.k{at} }}}}")))
    }),
    ("values that a schema refuses", 40, |count| {
        let mut found = released(&keys(count), "", HEAD);
        let schema = "{\"properties\": {\"a\": {}}, \"additionalProperties\": false}";
        found.push(("charts/web/values.schema.json".to_owned(), schema.to_owned()));
        found
    }),
    ("resources of one schema", 40, |count| {
        let part = |at| format!("\"d{at}\": {{\"$id\": \"http://a.example/d{at}\", \"type\": \"string\"}},");
        let reference = |at| format!("\"k{at}\": {{\"$ref\": \"http://a.example/d{at}\"}},");
        let schema = format!(
            "{{\"definitions\": {{{} \"d\": {{}}}}, \"properties\": {{{} \"k\": {{}}}}}}",
            each(count, part),
            each(count, reference)
        );
        let mut found = released("k0: v\n", "", &reading(1, |_| "{{ .Values.k0 }}".to_owned()));
        found.push(("charts/web/values.schema.json".to_owned(), schema));
        found
    }),
    ("files that references of a schema mean", 40, |count| {
        let reference = |at| format!("\"k{at}\": {{\"$ref\": \"https://a.example/s/d{at}.json\"}},");
        let schema = format!("{{\"properties\": {{{} \"k\": {{}}}}}}", each(count, reference));
        let mut found = released("k0: v\n", "", &reading(1, |_| "{{ .Values.k0 }}".to_owned()));
        found.push(("charts/web/values.schema.json".to_owned(), schema));
        found.extend((0..count).map(|at| {
            let text = format!("{{\"$id\": \"https://a.example/s/d{at}.json\", \"type\": \"string\"}}");
            (format!("charts/web/s/d{at}.json"), text)
        }));
        found
    }),
    ("values of a chart that fails", 40, |count| {
        let template = reading(count, |at| format!("{{{{ .Values.k{at} }}}}"));
        released(&keys(count), "", &(template + "{{ required \"a\" .Values.other }}\n"))
    }),
    ("items that a chart makes objects of", 40, |count| {
        let values = "items:\n".to_owned() + &each(count, |at| format!("- {{name: n{at}, v: w}}\n"));
        let template = "{{- range .Values.items }}\n---\napiVersion: v1\nkind: ConfigMap\n\
                        metadata: {name: {{ .name }}}\ndata: {v: {{ .v }}}\n{{- end }}\n";
        released(&values, "", template)
    }),
    ("templates of a chart", 40, |count| {
        let mut found = released("k0: v\n", "", HEAD);
        let text = |at| HEAD.replace("name: a", &format!("name: a{at}")) + "  k: {{ .Values.k0 }}\n";
        found.extend((0..count).map(|at| (format!("charts/web/templates/t{at}.yaml"), text(at))));
        found
    }),
    ("named templates", 40, |count| {
        let named = |at| format!("{{{{ define \"n{at}\" }}}}{{{{ .Values.k{at} }}}}{{{{ end }}}}\n");
        let template = reading(count, |at| format!("{{{{ include \"n{at}\" . }}}}"));
        released(&keys(count), "", &(each(count, named) + &template))
    }),
    ("actions on one line of a template", 100, |count| {
        let actions = each(count, |at| format!("{{{{ .Values.k{at} }}}}"));
        released(&keys(count), "", &format!("{HEAD}  d: {actions}\n"))
    }),
    ("variables of a template", 40, |count| {
        let variables = each(count, |at| format!("{{{{- $v{at} := .Values.k{at} }}}}\n"));
        released(&keys(count), "", &(variables + &reading(count, |at| format!("{{{{ $v{at} }}}}"))))
    }),
    ("regular expressions of a template", 40, |count| {
        let form = |at| format!("{{{{ regexReplaceAll \"x{at}[a-z]+\" .Values.k{at} \"y\" }}}}");
        released(&keys(count), "", &reading(count, form))
    }),
    ("questions of a template about the cluster", 40, |count| {
        let form = |at| {
            format!("{{{{ if .Capabilities.APIVersions.Has \"g{at}/v1\" }}}}a{{{{ else }}}}b{{{{ end }}}}")
        };
        released("k0: v\n", "", &reading(count, form))
    }),
    ("files of a chart", 40, |count| {
        let template = HEAD.to_owned() + "{{ (.Files.Glob \"files/*\").AsConfig | indent 2 }}\n";
        let mut found = released("k0: v\n", "", &template);
        found.extend((0..count).map(|at| (format!("charts/web/files/f{at}.txt"), "text\n".to_owned())));
        found
    }),
    ("charts in a chart", 20, |count| {
        let values = each(count, |at| format!("c{at}: {{enabled: true, k: v, dead: x}}\n"));
        let mut found = released(&values, "", HEAD);
        let dependency =
            |at| format!("- {{name: c{at}, version: 1.0.0, repository: '', condition: c{at}.enabled}}\n");
        found[1].1 += &format!("dependencies:\n{}", each(count, dependency));
        for at in 0..count {
            let below = format!("charts/web/charts/c{at}");
            found.push((
                format!("{below}/Chart.yaml"),
                format!("apiVersion: v2\nname: c{at}\nversion: 1.0.0\n"),
            ));
            let text = HEAD.replace("name: a", &format!("name: c{at}")) + "  k: {{ .Values.k }}\n";
            found.push((format!("{below}/templates/a.yaml"), text));
        }
        found
    }),
    ("charts in a store", 20, |count| {
        let of = |at| {
            release(&format!("web{at}"), "k0: v\n").replace(
                "./charts/web, sourceRef: {kind: GitRepository, name: flux-system}",
                &format!("c{at}, version: 1.0.0, sourceRef: {{kind: HelmRepository, name: charts}}"),
            )
        };
        let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\n\
                      metadata: {name: charts, namespace: flux-system}\nspec: {interval: 5m, url: 'https://charts.example'}\n---\n";
        let mut found = files(&[("clusters/a/sync.yaml", SYNC.to_owned() + source + &each(count, of))]);
        for at in 0..count {
            let below = format!(".forebay/charts/c{at}");
            found.push((
                format!("{below}/Chart.yaml"),
                format!("apiVersion: v2\nname: c{at}\nversion: 1.0.0\n"),
            ));
            found.push((format!("{below}/templates/a.yaml"), HEAD.to_owned() + "  k: {{ .Values.k0 }}\n"));
        }
        found
    }),
    ("ConfigMaps that values of a release come from", 40, |count| {
        let mut found = released("k0: v\n", "", &reading(count, |at| format!("{{{{ .Values.k{at} }}}}")));
        let from = each(count, |at| format!("  - {{kind: ConfigMap, name: v{at}}}\n"));
        let release =
            release("web", "k0: v\n").replace("  values:\n", &format!("  valuesFrom:\n{from}  values:\n"));
        let map = |at: usize| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: v{at}, namespace: flux-system}}\n\
                 data:\n  values.yaml: |\n    k{at}: v\n---\n"
            )
        };
        found[0].1 = SYNC.to_owned() + &release + &each(count, map);
        found
    }),
    ("files of values of a release", 20, |count| {
        let mut found = released("k0: v\n", "", &reading(count, |at| format!("{{{{ .Values.k{at} }}}}")));
        let names = each(count, |at| format!("values/v{at}.yaml, "));
        found[0].1 = found[0].1.replace("./charts/web,", &format!("./charts/web, valuesFiles: [{names}],"));
        found.extend((0..count).map(|at| (format!("values/v{at}.yaml"), format!("k{at}: v\ndead{at}: v\n"))));
        found
    }),
];

/// A release before and after a change.
pub(crate) const CHANGES: &[Change] = &[
    ("values of a release that change", 40, |count| {
        let of = |value: &str| {
            let values = each(count, |at| format!("k{at}: {value}\n"));
            released(&values, "", &reading(count, |at| format!("{{{{ .Values.k{at} }}}}")))
        };
        (of("v"), of("w"))
    }),
    ("objects of a chart whose version changes", 40, |count| {
        let of = |version: &str| {
            let mut found = released("k0: v\n", "", HEAD);
            found[1].1 = found[1].1.replace("1.0.0", version);
            let text = |at| {
                let named = HEAD.replace("name: a", &format!("name: a{at}"));
                named + "  k: {{ .Chart.Version }}\n"
            };
            found.extend((0..count).map(|at| (format!("charts/web/templates/t{at}.yaml"), text(at))));
            found
        };
        (of("1.0.0"), of("2.0.0"))
    }),
    ("values that a new version reads no more", 40, |count| {
        let of = |reads: bool| {
            let template = reading(if reads { count } else { 1 }, |at| format!("{{{{ .Values.k{at} }}}}"));
            released(&keys(count), "", &template)
        };
        (of(true), of(false))
    }),
];

/// A release of a chart that reads each of its values.
pub(crate) fn read(count: usize) -> Files {
    released(&keys(count), "", &reading(count, |at| format!("{{{{ .Values.k{at} }}}}")))
}
