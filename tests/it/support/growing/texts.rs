//! Texts that are long in some way, and configurations.

use super::{Files, Generator, config_map, each, files, kustomization, named};

/// A ConfigMap of a Kustomization with variables.
fn substituted(value: String) -> Files {
    let map = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: default}}\ndata:\n  a: {value}\n"
    );
    let app = kustomization("app", "./app", "  postBuild:\n    substitute: {A: b}\n");
    files(&[("clusters/a/sync.yaml", super::SYNC.to_owned() + &app), ("app/a.yaml", map)])
}

/// ConfigMaps in a file each, with an unsound label.
fn unsound(count: usize) -> Files {
    let map = |at| config_map(&format!("c{at}")).replace("namespace: default", "labels: {a: 'b b'}");
    (0..count).map(|at| (format!("f/a{at}.yaml"), map(at))).collect()
}

fn configured(text: String, mut rest: Files) -> Files {
    rest.push((".forebay.yaml".to_owned(), text));
    rest
}

/// All of them.
pub(super) const ALL: &[Generator] = &[
    ("variables that don't begin, on one line", 2000, |count| {
        substituted(format!("'{}'", "${".repeat(count)))
    }),
    ("variables that don't end, in lines", 300, |count| {
        substituted(format!("|\n{}", "    ${A\n".repeat(count)))
    }),
    ("variables on one line", 300, |count| substituted(format!("'{}'", "${A}".repeat(count)))),
    ("undefined variables on one line", 200, |count| {
        substituted(format!("'{}'", each(count, |at| format!("${{A{at}}}"))))
    }),
    ("braces on one line", 2000, |count| files(&[("a.yaml", format!("a: '{}'\n", "{{".repeat(count)))])),
    ("braces on one line of a broken file", 2000, |count| {
        files(&[("a.yaml", format!("a: [{}\n", "{{".repeat(count)))])
    }),
    ("actions on one line of a template", 500, |count| {
        files(&[
            ("c/Chart.yaml", "apiVersion: v2\nname: c\nversion: 0.1.0\n".to_owned()),
            ("c/templates/a.yaml", "{{ .x }}".repeat(count)),
            ("c/templates/b.yaml", "{{".repeat(count)),
        ])
    }),
    ("lines of literal text that look like a template", 200, |count| {
        files(&[("a.yaml", each(count, |at| format!("k{at}: |\n  {{{{ if x }}}}\n")))])
    }),
    ("documents with text that looks like a template", 200, |count| {
        files(&[("a.yaml", each(count, |at| format!("k{at}: |\n  {{{{ if x }}}}\n---\n")))])
    }),
    ("mutations that make the wrong types", 100, |count| {
        let mutation = |at| {
            let lists = format!("[Object.a{{}}, {}]", "Object.spec.l{}, ".repeat(10));
            format!(
                "    - patchType: ApplyConfiguration\n      applyConfiguration:\n        expression: 'Object{{spec: Object.spec{{l: {lists}, f{at}: Object.spec.f{{}}}}}}'\n"
            )
        };
        files(&[(
            "a.yaml",
            format!(
                "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {{name: a}}\nspec:\n  reinvocationPolicy: Never\n  mutations:\n{}",
                each(count, mutation)
            ),
        )])
    }),
    ("findings on one line", 50, |count| {
        let labels = each(count, |at| format!("l{at}: 'b b', "));
        files(&[(
            "a.yaml",
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, labels: {{{labels}}}}}\n"),
        )])
    }),
    ("keys of one map", 500, |count| files(&[("a.yaml", each(count, |at| format!("k{at}: v\n")))])),
    ("keys that stand twice", 200, |count| {
        files(&[("a.yaml", each(count, |at| format!("k{at}: v\nk{at}: w\n")))])
    }),
    ("anchors and aliases", 200, |count| {
        files(&[("a.yaml", each(count, |at| format!("a{at}: &a{at} {{x: 1}}\nb{at}: *a{at}\n")))])
    }),
    ("merge keys", 200, |count| {
        let merged = each(count, |at| format!("b{at}:\n  <<: *a\n  y: 2\n"));
        files(&[("a.yaml", "a: &a {x: 1}\n".to_owned() + &merged)])
    }),
    ("tags", 200, |count| files(&[("a.yaml", each(count, |at| format!("k{at}: !!str v\n")))])),
    ("comments", 1000, |count| files(&[("a.yaml", "a: b\n".to_owned() + &"# c\n".repeat(count))])),
    ("a scalar of many lines", 1000, |count| {
        files(&[("a.yaml", "a: b\n".to_owned() + &"  c d\n".repeat(count))])
    }),
    ("escapes of one scalar", 1000, |count| {
        files(&[("a.yaml", format!("a: \"{}\"\n", "\\t\\u263a ".repeat(count)))])
    }),
    ("broken documents", 200, |count| files(&[("a.yaml", "a: [b\n---\n".repeat(count))])),
    ("suppressions that nothing needs", 50, |count| {
        let one = |at| format!("  # forebay: ignore[unknown-field] on purpose\n  k{at}: v\n");
        files(&[(
            "a.yaml",
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n{}", each(count, one)),
        )])
    }),
    ("files and patterns that exclude", 50, |count| {
        configured(format!("exclude:\n{}", each(count, |at| format!("- x{at}/**/*.y\n"))), unsound(count))
    }),
    ("files and patterns that exclude them", 50, |count| {
        configured(format!("exclude:\n{}", each(count, |at| format!("- f/a{at}.yaml\n"))), unsound(count))
    }),
    ("files and overrides of them", 40, |count| {
        let entry = |at| format!("- paths: [f/a{at}.yaml]\n  rules: {{malformed-label-value: info}}\n");
        configured(format!("overrides:\n{}", each(count, entry)), unsound(count))
    }),
    ("files and patterns of .sourceignore", 50, |count| {
        let mut found = files(&[
            ("clusters/a/sync.yaml", super::SYNC.to_owned() + &kustomization("app", "./app", "")),
            (".sourceignore", each(count, |at| format!("x{at}/**/y\n*.e{at}\n/app/b{at}.yaml\n"))),
        ]);
        found.extend((0..count).map(|at| named("app/d", at, "a.yaml", config_map(&format!("c{at}")))));
        found
    }),
    ("directories in each other", 20, |count| {
        (0..count).map(|at| (format!("{}a.yaml", "d/".repeat(at % 40)), config_map("c"))).collect()
    }),
];
