//! What is deep or long in every way that input can be: a debug build has 512 KiB of stack
//! for each thread, much less than any user's, and answers all the same. Where a bound
//! stops it, the answer says so; no process dies.
//!
//! What calls itself is found by the calls of the binary (`.ci/recursion`); each row here
//! reaches some of it. Those of charts stand in [`crate::hostile_stack_charts`].

use crate::support::scratch::{Scratch, forebay};
use std::fmt::Write as _;
use std::process::Command;

/// Levels or terms of what is hostile.
pub(crate) const MANY: usize = 60_000;

pub(crate) const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: flux-system}\n\
                    spec: {interval: 1m, url: 'https://example.com/o/r'}\n---\n";

pub(crate) fn kustomization(name: &str, path: &str, rest: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec:\n  interval: 1h\n  prune: true\n  path: {path}\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n{rest}---\n"
    )
}

pub(crate) type Files = Vec<(String, String)>;

pub(crate) fn owned(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

/// A cluster whose app is this.
fn app(files: &[(&str, &str)]) -> Files {
    let sync = SYNC.to_owned()
        + &kustomization("flux-system", "./clusters/main", "")
        + &kustomization("app", "./app", "");
    let mut all = owned(&[("clusters/main/flux-system/gotk-sync.yaml", &sync)]);
    all.extend(files.iter().map(|(path, text)| (format!("app/{path}"), (*text).to_owned())));
    all
}

pub(crate) const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: d, labels: {a: b}}\ndata: {k: v}\n---\n\
                   apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: c, namespace: d}\nspec: {a: {b: c}}\n";

/// A value nested as deeply as YAML may be: in blocks, and in brackets within them.
pub(crate) fn nested(indent: usize) -> String {
    let mut text = String::new();
    for level in 0..48 {
        let _ = write!(text, "\n{}a:", " ".repeat(indent + level));
    }
    text + " " + &"{b: ".repeat(46) + "1" + &"}".repeat(46) + "\n"
}

/// As deep as aliases make it. What is written besides them is so much that go-yaml does not
/// call them excessive.
pub(crate) fn aliases(count: usize) -> String {
    let mut text = format!("many: [{}1]\na0: &a0 {{x: 1}}\n", "1,".repeat(count * 12));
    for level in 1..count {
        let _ = writeln!(text, "a{level}: &a{level} {{x: *a{}}}", level - 1);
    }
    text
}

pub(crate) fn indented(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| all + "  " + line + "\n")
}

/// A CRD with a rule, and an object that it is asked about.
fn rule(rule: &str) -> Files {
    app(&[(
        "a.yaml",
        &format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
             spec:\n  group: example.com\n  names: {{kind: Thing, plural: things, singular: thing, listKind: ThingList}}\n  scope: Namespaced\n  \
             versions:\n  - name: v1\n    served: true\n    storage: true\n    schema:\n      openAPIV3Schema:\n        type: object\n        \
             properties:\n          spec:\n            type: object\n            x-kubernetes-preserve-unknown-fields: true\n            \
             x-kubernetes-validations:\n            - rule: \"{rule}\"\n              message: no\n---\n{MAP}"
        ),
    )])
}

fn kustomized(text: &str) -> Files {
    app(&[("kustomization.yaml", &format!("resources: [a.yaml]\n{text}")), ("a.yaml", MAP)])
}

fn steps(by: &str) -> String {
    vec!["a"; MANY].join(by)
}

/// A patch of 16 operations, each of which makes the object twice as deep.
fn deepening(op: &str) -> String {
    let mut operations = String::new();
    for level in 0..16 {
        let path = "/a".repeat(1 << level);
        match op {
            "copy" => {
                let _ = writeln!(operations, "    - {{op: copy, from: /spec, path: /spec{path}}}");
            }
            _ => {
                let _ = writeln!(operations, "    - {{op: add, path: /b{level}, value: {{}}}}");
                let _ = writeln!(operations, "    - {{op: move, from: /spec, path: /b{level}/spec}}");
                let _ = writeln!(operations, "    - {{op: move, from: /b{level}, path: /spec}}");
            }
        }
    }
    format!("patches:\n- target: {{kind: Thing}}\n  patch: |\n{operations}")
}

fn chain(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

fn expressions() -> Vec<(&'static str, Files)> {
    vec![
        ("sums", rule(&format!("1{} > 0", "+1".repeat(MANY)))),
        ("fields", rule(&format!("self{} == 1", ".b".repeat(MANY)))),
        ("alternatives", rule(&format!("false{}", " || true".repeat(MANY)))),
        ("comparisons", rule(&format!("1{}", " == 1".repeat(MANY)))),
        ("indexes", rule(&format!("self{}", "[0]".repeat(MANY)))),
        ("calls", rule(&format!("self{}", ".size()".repeat(MANY)))),
        ("choices", rule(&format!("{}true", "true ? true : ".repeat(MANY)))),
        ("negations", rule(&format!("{}true", "!".repeat(MANY)))),
        ("parentheses", rule(&format!("{}true{}", "(".repeat(MANY), ")".repeat(MANY)))),
        ("lists", rule(&format!("{}1{} == [1]", "[".repeat(MANY), "]".repeat(MANY)))),
        ("functions", rule(&format!("{}1{}", "size(".repeat(MANY), ")".repeat(MANY)))),
        ("within the bound", rule(&format!("{}1{} > 0", "(".repeat(20), ")+1".repeat(20)))),
        ("a text that doubles", rule(&format!("['12345678']{}.size() == 1", ".map(x, x + x)".repeat(90)))),
        ("a list that doubles", rule(&format!("[[1]]{}.size() == 1", ".map(x, x + x)".repeat(90)))),
        (
            "a commit status",
            app(&[(
                "a.yaml",
                &format!(
                    "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Provider\nmetadata: {{name: p, namespace: d}}\n\
                     spec: {{type: github, commitStatusExpr: \"'a'{}\"}}\n---\n\
                     apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {{name: p, namespace: d}}\n\
                     spec: {{providerRef: {{name: p}}, eventSources: [{{kind: Kustomization, name: '*', namespace: flux-system}}], inclusionList: ['{}']}}\n",
                    " + 'a'".repeat(500),
                    "(".repeat(900) + &")".repeat(900),
                ),
            )]),
        ),
    ]
}

fn builds() -> Vec<(&'static str, Files)> {
    let path = |by: &str| format!("a{by}{}", steps(by));
    let substituted = |text: &str| {
        let mut files = app(&[("a.yaml", &MAP.replace("k: v", &format!("k: '{text}'")))]);
        files[0].1 = files[0].1.replace("path: ./app\n", "path: ./app\n  postBuild: {substitute: {A: b}}\n");
        files
    };
    vec![
        (
            "fields of labels",
            kustomized(&format!(
                "labels:\n- pairs: {{a: b}}\n  fields: [{{path: {}, create: true}}]\n",
                path("/")
            )),
        ),
        (
            "a target's path",
            kustomized(&format!(
                "replacements:\n- source: {{kind: ConfigMap, fieldPath: data.k}}\n  targets: [{{select: {{kind: Thing}}, options: {{create: true}}, fieldPaths: [spec.{}]}}]\n",
                path(".")
            )),
        ),
        (
            "a source's path",
            kustomized(&format!(
                "replacements:\n- source: {{kind: Thing, fieldPath: spec.{}}}\n  targets: [{{select: {{kind: ConfigMap}}, fieldPaths: [data.k]}}]\n",
                path(".")
            )),
        ),
        (
            "replacements that deepen what they copy",
            kustomized(&format!(
                "replacements:\n{}",
                chain(400, |at| format!(
                    "- source: {{kind: Thing, fieldPath: spec}}\n  targets: [{{select: {{kind: Thing}}, options: {{create: true}}, fieldPaths: [spec.{}x{at}]}}]\n",
                    "a.".repeat(90)
                ))
            )),
        ),
        (
            "a path of a JSON patch",
            kustomized(&format!(
                "patches:\n- target: {{kind: Thing}}\n  patch: '[{{\"op\": \"add\", \"path\": \"/{}\", \"value\": 1}}]'\n",
                steps("/")
            )),
        ),
        ("copies of copies", kustomized(&deepening("copy"))),
        ("moves of moves", kustomized(&deepening("move"))),
        (
            "a patch",
            kustomized(&format!(
                "patches:\n- patch: |\n    apiVersion: example.com/v1\n    kind: Thing\n    metadata: {{name: c, namespace: d}}\n    spec:{}",
                nested(6)
            )),
        ),
        ("configured paths", {
            let mut files = kustomized("configurations: [c.yaml]\nnamePrefix: a-\n");
            let text = format!(
                "namePrefix: [{{path: {0}, create: true}}]\nnameReference: [{{kind: ConfigMap, fieldSpecs: [{{path: {0}, create: true}}]}}]\n",
                path("/")
            );
            files.push(("app/c.yaml".to_owned(), text));
            files
        }),
        ("variables in variables", substituted(&("${A:-".repeat(MANY) + &"}".repeat(MANY)))),
        ("variables open without end", substituted(&"${".repeat(MANY))),
        ("variables as deep as they may be", substituted(&("${A:-".repeat(38) + &"}".repeat(38)))),
        ("bases", {
            let mut files = app(&[("kustomization.yaml", "resources: [../l0]\n")]);
            files.extend((0..300).map(|level| {
                (format!("l{level}/kustomization.yaml"), format!("resources: [../l{}]\n", level + 1))
            }));
            files
        }),
    ]
}

fn objects() -> Vec<(&'static str, Files)> {
    let spec = |header: &str| format!("{header}metadata: {{name: c, namespace: d}}\nspec:{}", nested(2));
    let kinds = [
        "apiVersion: example.com/v1\nkind: Thing\n",
        "apiVersion: apps/v1\nkind: Deployment\n",
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n",
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\n",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\n",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\n",
        "apiVersion: bootstrap.cluster.x-k8s.io/v1beta1\nkind: KubeadmConfigTemplate\n",
        "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\n",
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: ArtifactGenerator\n",
    ];
    let all = kinds.map(spec).join("---\n");
    let schema = |levels: usize, close: &str| {
        "{type: object, properties: {a: ".repeat(levels) + "{type: string}" + &"}}".repeat(levels) + close
    };
    let definition = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: things.example.com}}\n\
         spec:\n  group: example.com\n  names: {{kind: Thing, plural: things}}\n  scope: Namespaced\n  \
         versions:\n  - {{name: v1, served: true, storage: true, schema: {{openAPIV3Schema: {}}}}}\n---\n\
         apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: c, namespace: d}}\na: {}1{}\n",
        schema(44, ""),
        "{a: ".repeat(46),
        "}".repeat(46),
    );
    let class = format!(
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {{name: c, namespace: d}}\nspec:\n  variables:\n  - name: v\n    required: true\n    \
         schema: {{openAPIV3Schema: {}}}\n  patches:\n  - name: p\n    enabledIf: '{{{{ {}true{} }}}}'\n    definitions: [{{selector: {{apiVersion: a/v1, kind: B, matchResources: {{controlPlane: true}}}}, jsonPatches: [{{op: add, path: /spec{}, valueFrom: {{variable: v{}}}}}]}}]\n---\n\
         apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: c, namespace: d}}\nspec: {{topology: {{class: c, version: v1.30.0, variables: [{{name: v, value: {}1{}}}]}}}}\n",
        schema(44, ""),
        "(and ".repeat(3000),
        ")".repeat(3000),
        "/a".repeat(MANY),
        ".a".repeat(MANY),
        "{a: ".repeat(46),
        "}".repeat(46),
    );
    vec![
        ("objects as deep as YAML", app(&[("a.yaml", &all)])),
        ("objects as deep as YAML, with labels", {
            let mut files = app(&[("a.yaml", &all)]);
            let text = "resources: [a.yaml]\nnamePrefix: x-\nlabels: [{pairs: {a: b}, includeTemplates: true}]\nimages: [{name: a, newTag: b}]\n";
            files.push(("app/kustomization.yaml".to_owned(), text.to_owned()));
            files
        }),
        (
            "a kustomization as deep as YAML",
            app(&[("kustomization.yaml", &format!("resources:{}", nested(1)))]),
        ),
        ("a schema as deep as YAML", app(&[("a.yaml", &definition)])),
        ("a class as deep as YAML", app(&[("a.yaml", &class)])),
        ("a configuration as deep as YAML", owned(&[(".forebay.yaml", &format!("a:{}", nested(1)))])),
        ("aliases of aliases", owned(&[("a.yaml", &aliases(500))])),
        ("a configuration of aliases", owned(&[(".forebay.yaml", &aliases(400))])),
        ("a Secret of aliases", {
            let text = format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: c, namespace: d}}\nstringData:\n{}",
                indented(&aliases(500))
            );
            app(&[("a.yaml", &text)])
        }),
        ("a loop of a class", {
            let nests =
                "{{ $l := list }}{{ range until 400 }}{{ $l = list $l }}{{ end }}{{ $l }}{{ toJson $l }}";
            let text = format!(
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {{name: c, namespace: d}}\nspec:\n  patches:\n  - name: p\n    enabledIf: '{nests}'\n    \
                 definitions: [{{selector: {{apiVersion: a/v1, kind: B, matchResources: {{controlPlane: true}}}}, jsonPatches: [{{op: add, path: /spec/a, valueFrom: {{template: '{nests}'}}}}]}}]\n---\n\
                 apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {{name: c, namespace: d}}\nspec: {{topology: {{class: c, version: v1.30.0}}}}\n"
            );
            app(&[("a.yaml", &text)])
        }),
        (
            "aliases of aliases in an object",
            app(&[(
                "a.yaml",
                &format!("apiVersion: v1\nkind: Thing\nmetadata: {{name: a}}\n{}", aliases(500)),
            )]),
        ),
        ("brackets", owned(&[("a.yaml", &"[".repeat(MANY))])),
    ]
}

fn fleets() -> Vec<(&'static str, Files)> {
    let sync = SYNC.to_owned() + &kustomization("flux-system", "./clusters/main", "");
    let waiting = |at: usize| {
        kustomization(&format!("k{at}"), "./app", &format!("  dependsOn: [{{name: k{}}}]\n", at + 1))
    };
    let app = ("app/a.yaml", MAP);
    let mut own = owned(&[
        ("clusters/main/flux-system/gotk-sync.yaml", &(sync.clone() + &kustomization("k0", "./n/k0", ""))),
        app,
    ]);
    own.extend((0..300).map(|at| {
        (format!("n/k{at}/a.yaml"), kustomization(&format!("k{}", at + 1), &format!("./n/k{}", at + 1), ""))
    }));
    let directory = format!("app/{}a.yaml", "d/".repeat(1500));
    vec![
        (
            "Kustomizations that wait",
            owned(&[
                ("clusters/main/flux-system/gotk-sync.yaml", &(sync.clone() + &chain(1500, waiting))),
                app,
            ]),
        ),
        ("Kustomizations that apply each other", own),
        ("directories", owned(&[("clusters/main/flux-system/gotk-sync.yaml", &sync), (&directory, MAP)])),
    ]
}

/// What every row goes through.
const COMMANDS: &[&[&str]] = &[
    &["lint", "--show", "info", "--format", "json"],
    &["build", "--all"],
    &["plan", "--base", "../before", "--allow-dir", "..", "--format", "json"],
    &["simulate", "events", "--explain"],
    &["simulate", "propagation"],
    &["graph"],
    &["map"],
];

#[cfg(target_os = "linux")]
#[test]
fn no_input_is_deeper_than_the_stack() {
    none_dies([expressions(), builds(), objects(), fleets()].concat(), COMMANDS);
}

#[cfg(target_os = "linux")]
pub(crate) fn none_dies(rows: Vec<(&str, Files)>, commands: &[&[&str]]) {
    let died: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> =
            rows.chunks(rows.len().div_ceil(4)).map(|part| scope.spawn(|| deaths(part, commands))).collect();
        parts.into_iter().flat_map(|part| part.join().expect("rows run")).collect()
    });
    assert!(died.is_empty(), "{}", died.join("\n"));
}

/// Commands that end by a signal or a panic.
#[cfg(target_os = "linux")]
fn deaths(rows: &[(&str, Files)], commands: &[&[&str]]) -> Vec<String> {
    let mut died = Vec::new();
    for (name, files) in rows {
        let scratch = Scratch::new(&[]);
        for (path, text) in files {
            scratch.write(&format!("after/{path}"), text.as_bytes());
            // Another version of the same: what is compared is as deep on both sides.
            scratch.write(
                &format!("before/{path}"),
                text.replace("name: c,", "name: b,")
                    .replace(" 1}", " 2}")
                    .replace("0.1.0", "0.2.0")
                    .as_bytes(),
            );
        }
        for arguments in commands {
            let binary = forebay();
            let output = Command::new("sh")
                .args(["-c", "ulimit -s 512 && ulimit -t 120 && ulimit -v 8388608 && exec \"$0\" \"$@\""])
                .arg(binary.get_program())
                .args(*arguments)
                .env("RUST_MIN_STACK", (512 << 10).to_string())
                .current_dir(scratch.path().join("after"))
                .output()
                .expect("it runs");
            if output.status.code().is_none_or(|code| code > 3) {
                let told = String::from_utf8_lossy(&output.stderr);
                let told = told.lines().find(|line| !line.is_empty()).unwrap_or_default();
                died.push(format!("{name}: {}: {}: {told}", arguments.join(" "), output.status));
            }
        }
    }
    died
}
