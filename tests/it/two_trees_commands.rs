//! Every command that there is, over two repositories that both hold `apps/x.yaml`: no
//! byte of the other one changes, nothing of A's file is changed for a finding in B's, and
//! places name the file that they are in.

use crate::support::editor::Editor;
use crate::support::scratch::{Run, Scratch};
use crate::two_trees::{self, KUSTOMIZATION, LISTED, OURS};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const CONFIG: &str = "version: 1\n\
    sources: [{kind: GitRepository, name: fleet-b, namespace: flux-system, dir: ../b}]\n\
    clusters: [{name: prod, path: clusters/prod}]\n\
    target: {features: {gates: enabled, suspendAnnotation: enabled}}\n";

/// What A's cluster applies of its own, among it an Alert about what B holds.
const CLUSTER: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: fleet-b, namespace: flux-system}
spec: {interval: 1m, url: 'https://example.com/b'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: b, namespace: flux-system}
spec:
  interval: 10m
  prune: true
  path: ./apps
  sourceRef: {kind: GitRepository, name: fleet-b}
  postBuild: {substitute: {zone: eu}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: ours, namespace: flux-system}
spec:
  providerRef: {name: chat}
  eventSources: [{kind: HelmRepository, name: charts}]
";

/// B's file, each object of which some command reads or would change. Its first lines are
/// more than A's file has, so that a line number tells the two apart.
const THEIRS: &str = "# B's file:
#
# it begins
# where A's
# has ended
#
apiVersion: source.toolkit.fluxcd.io/v1beta2
kind: HelmRepository
metadata: {name: charts, namespace: flux-system, annotations: {reconcile.fluxcd.io/suspended: 'true'}}
spec: {interval: 5m, url: 'https://example.com/charts'}
---
apiVersion: v1
kind: Secret
metadata: {name: creds, namespace: flux-system}
stringData: {token: Sup3rS3cretT0kenValue}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: copy, namespace: flux-system, labels: {token: x}}
data: {zone: '${zone}'}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: told, namespace: flux-system}
spec: {summary: all, providerRef: {name: chat}, eventSources: [{kind: HelmRepository, name: charts}]}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: chat, namespace: flux-system}
spec: {type: slack}
---
apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata: {name: approval, namespace: flux-system}
spec: {interval: 30s, default: closed, window: 1h}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: flux-system}
spec:
  interval: 1h
  suspend: true
  gates: [{name: approval}]
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: fleet-b}}}
  values: {port: 81, prot: 82, note: a b}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick, namespace: flux-system}
spec:
  infrastructure:
    templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerClusterTemplate, name: quick}
  controlPlane:
    templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: quick}
  workers:
    machineDeployments:
    - class: default-worker
      bootstrap:
        templateRef: {apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfigTemplate, name: quick}
      infrastructure:
        templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerMachineTemplate, name: quick}
  variables:
  - {name: registry, required: false, schema: {openAPIV3Schema: {type: string}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: c1, namespace: flux-system, labels: {team: x}}
spec:
  topology:
    classRef: {name: quick}
    version: v1.33.0
    controlPlane: {replicas: 3, metadata: {labels: {role: cp}}}
    workers: {machineDeployments: [{class: default-worker, name: md-0, replicas: 1}]}
    variables: [{name: registry, value: r}]
";

const TEMPLATE: &str = "# B's template
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  labels:
    note: {{ .Values.note | quote }}
data:
  port: {{ .Values.port | quote }}
";

/// The two repositories, each with a chart at the same path.
fn fleet() -> Scratch {
    two_trees::fleet(&[
        ("a/.forebay.yaml", CONFIG),
        ("a/clusters/prod/ks.yaml", CLUSTER),
        ("a/clusters/prod/kustomization.yaml", LISTED),
        ("a/charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 9.9.9\n"),
        ("a/charts/web/values.yaml", "port: 1\n"),
        ("a/charts/web/templates/a.yaml", "# A's template\n"),
        ("b/apps/x.yaml", THEIRS),
        ("b/apps/kustomization.yaml", KUSTOMIZATION),
        ("b/charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"),
        ("b/charts/web/values.yaml", "port: 80\n"),
        ("b/charts/web/templates/a.yaml", TEMPLATE),
    ])
}

/// A run: the words of the command, its exit code, what it has to say, and the files of A
/// that it changes, makes or removes.
type Row = (&'static str, i32, &'static [&'static str], &'static [&'static str]);

/// B's file, wherever in it.
const B: &str = "../b/apps/x.yaml:";
const ELSEWHERE: &str = "another file tree";

const READING: &[Row] = &[
    ("lint", 1, &["[apps/x.yaml:4:", "[../b/apps/x.yaml:7:"], &[]),
    ("lint --format concise --show info", 1, &["\napps/x.yaml:4:", "\n../b/apps/x.yaml:7:"], &[]),
    ("lint --format json --select all", 1, &["\"../b/apps/x.yaml\""], &[]),
    ("lint --format github", 1, &["file=../b/apps/x.yaml,line=7"], &[]),
    ("lint --fix --diff", 0, &[], &[]),
    ("lint --fix=unsafe --diff --select all", 0, &[], &[]),
    ("lint --since HEAD", 0, &["No findings"], &[]),
    ("lint --statistics", 1, &["../b\n", "apps\n"], &[]),
    ("lint --list-unchecked", 1, &["Gate"], &[]),
    ("lint a/apps/x.yaml --format concise", 1, &["apps/x.yaml:4:", "Found 1 error in 1 file"], &[]),
    ("lint b/apps/x.yaml", 2, &["outside of the root"], &[]),
    ("build a/clusters/prod --origin", 0, &["# clusters/prod/ks.yaml:1:1", "# apps/x.yaml:2:1"], &[]),
    ("build b/apps", 2, &["outside of the root"], &[]),
    ("build --all --origin", 0, &["# apps/x.yaml:2:1", "# ../b/apps/x.yaml:7:1"], &[]),
    ("build --kustomization flux-system/b --origin", 0, &["# ../b/apps/x.yaml:7:1"], &[]),
    ("build --helm-release flux-system/web --origin", 0, &[B, "../b/charts/web/templates/a.yaml:2"], &[]),
    ("chart list", 0, &["0.1.0", "../b/charts/web"], &[]),
    ("chart list --format json", 0, &["\"../b/charts/web\""], &[]),
    ("chart template b/charts/web", 0, &["# B's template"], &[]),
    ("chart template a/charts/web", 0, &["# A's template"], &[]),
    ("chart pull", 0, &["no chart is missing"], &[]),
    ("chart prune", 0, &[], &[]),
    ("chart verify", 0, &[], &[]),
    ("simulate events", 0, &["../b/apps/x.yaml", "Alert flux-system/ours"], &[]),
    ("simulate events --format json --explain", 0, &["\"../b/apps/x.yaml\""], &[]),
    ("simulate gates", 0, &["flux-system/approval"], &[]),
    ("simulate gates --format json", 0, &["\"../b/apps/x.yaml\""], &[]),
    ("simulate hooks Cluster/flux-system/c1 --on create", 0, &["md-0"], &[]),
    ("simulate suspend", 0, &[B], &[]),
    ("simulate suspend --format json", 0, &["\"../b/apps/x.yaml\""], &[]),
    ("simulate propagation", 0, &[B], &[]),
    ("simulate propagation --format json", 0, &["\"../b/apps/x.yaml\""], &[]),
    ("plan --base HEAD", 0, &["1 other file tree"], &[]),
    ("plan --base HEAD --format json", 0, &["\"other-tree\"", "\"../b\""], &[]),
    ("plan --head HEAD", 0, &["1 other file tree"], &[]),
    ("plan --assume flux=2.9", 0, &[B], &[]),
    ("explain removed-api-version", 0, &["apiVersion"], &[]),
    ("explain ks.spec.path", 0, &["Kustomization.spec.path"], &[]),
    ("explain-values flux-system/web", 0, &[B, "0.1.0"], &[]),
    ("explain-values flux-system/web --format json", 0, &["\"../b/apps/x.yaml\""], &[]),
    ("why HelmRelease/flux-system/web", 0, &[B], &[]),
    ("why ConfigMap/flux-system/own --format json", 0, &["\"apps/x.yaml\""], &[]),
    ("why ConfigMap/flux-system/web", 0, &["../b/charts/web/templates/a.yaml:2:1"], &[]),
    ("why ConfigMap/flux-system/copy", 0, &[B, "clusters/prod/ks.yaml:14"], &[]),
    ("locate HelmRelease/flux-system/web /spec/values/note", 0, &[B], &[]),
    ("locate ConfigMap/flux-system/own /metadata/labels/note", 0, &["apps/x.yaml:4:"], &[]),
    (
        "locate ConfigMap/flux-system/web /metadata/labels/note --format json",
        0,
        &["\"../b/apps/x.yaml\""],
        &[],
    ),
    ("graph", 0, &["HelmRelease flux-system/web"], &[]),
    ("graph --format json", 0, &["\"charts\""], &[]),
    ("map", 0, &["../b/apps/x.yaml"], &[]),
    ("rules", 0, &["removed-api-version"], &[]),
    ("schema export Kustomization", 0, &["json-schema"], &[]),
    ("config show", 0, &["../b", ".forebay.yaml:2"], &[]),
    ("config schema", 0, &["json-schema"], &[]),
    ("config init", 2, &["left as it is"], &[]),
    ("completions bash", 0, &["forebay"], &[]),
];

const KS: &str = "clusters/prod/ks.yaml";
const OWN: &str = "apps/x.yaml";

const WRITING: &[Row] = &[
    ("lint --fix", 1, &[B], &[]),
    ("lint --fix=unsafe --select all", 1, &[B], &[]),
    ("lint --add-ignores=known --format concise", 1, &[B, ELSEWHERE, "1 comment added"], &[OWN]),
    ("lint --update-baseline", 0, &[], &[".forebay-baseline.json"]),
    ("map --output a/fleet.html", 0, &[], &["fleet.html"]),
    ("build --all --output-dir a/out", 0, &[], &["out/"]),
    ("gate open approval", 2, &["../b/apps/x.yaml", ELSEWHERE], &[]),
    ("gate close flux-system/approval", 2, &["../b/apps/x.yaml", ELSEWHERE], &[]),
    ("migrate alert-summary", 1, &[B, ELSEWHERE], &[]),
    ("migrate suspend --to annotation", 1, &["../b/apps/x.yaml", ELSEWHERE], &[]),
    ("migrate suspend --to spec", 1, &["../b/apps/x.yaml", ELSEWHERE], &[]),
    ("migrate api-versions --to 2.9", 1, &[B, ELSEWHERE], &[]),
    ("suspend HelmRepository/flux-system/charts --message later", 2, &["../b/apps/x.yaml", ELSEWHERE], &[]),
    ("suspend ks/flux-system/b --message later", 0, &["1 file changed"], &[KS]),
    ("resume HelmRelease/flux-system/web", 2, &["../b/apps/x.yaml", ELSEWHERE], &[]),
    ("rename HelmRepository/flux-system/charts store", 2, &[B, ELSEWHERE], &[]),
    ("rename ConfigMap/flux-system/copy other", 2, &[B, ELSEWHERE], &[]),
    ("rename ConfigMap/flux-system/own other", 0, &["apps/x.yaml"], &[OWN]),
    ("rename ks/flux-system/b other", 0, &[KS], &[KS]),
    ("rename variable zone region", 2, &["../b/apps/x.yaml", ELSEWHERE], &[]),
    ("rename variable registry other --class quick", 2, &[B, ELSEWHERE], &[]),
    ("rename class quick slow", 2, &[B, ELSEWHERE], &[]),
    ("rename worker-class default-worker other --class quick", 2, &[B, ELSEWHERE], &[]),
    ("move apps things", 0, &[OWN], &["apps/x.yaml", "clusters/prod/kustomization.yaml", "things/x.yaml"]),
    ("move ../b/apps ../b/things", 2, &["outside of the root"], &[]),
    ("move HelmRepository/flux-system/charts --to ks/flux-system/flux-system", 2, &[B, ELSEWHERE], &[]),
    ("move ConfigMap/flux-system/own --to ks/flux-system/b", 2, &["not in this repository"], &[]),
];

/// Sessions: they take what follows from their standard input.
const SESSIONS: [(&str, fn()); 2] =
    [("lsp", an_editor_shows_both_and_changes_its_own), ("mcp", an_agent_is_answered_about_both)];

/// The commands that the binary's own help lists, with the words of those above them.
fn commands(above: &str) -> Vec<String> {
    let scratch = Scratch::new(&[]);
    let words: Vec<&str> = above.split_whitespace().chain(["--help"]).collect();
    let help = scratch.forebay(&words).out;
    let Some((_, rest)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let (list, _) = rest.split_once("\n\n").expect("the end of the list");
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
    names
        .flat_map(|name| {
            let command = format!("{above} {name}").trim().to_owned();
            let below = commands(&command);
            if below.is_empty() { vec![command] } else { below }
        })
        .collect()
}

#[test]
fn every_command_has_a_row() {
    let commands = commands("");
    assert!(commands.len() > 25 && commands.contains(&"simulate events".to_owned()), "{commands:?}");
    let rows: Vec<&str> = READING.iter().chain(WRITING).map(|row| row.0).collect();
    let is_of = |words: &str, command: &str| words == command || words.starts_with(&format!("{command} "));
    for command in &commands {
        let is_tried =
            rows.iter().any(|row| is_of(row, command)) || SESSIONS.iter().any(|(name, _)| name == command);
        assert!(is_tried, "`{command}` is tried over no two trees: give it a row here");
    }
    for row in rows {
        assert!(commands.iter().any(|command| is_of(row, command)), "`{row}` is no command");
    }
}

/// The files below a directory but for git's own, by path.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries =
        walkdir::WalkDir::new(directory).into_iter().filter_entry(|entry| entry.file_name() != ".git");
    let files = entries.map(|entry| entry.expect("readable")).filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let path = entry.path().strip_prefix(directory).expect("below it").to_string_lossy().into_owned();
            (path, std::fs::read(entry.path()).expect("readable"))
        })
        .collect()
}

/// The paths at which two trees differ.
fn differing(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    paths.into_iter().filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

/// Whether a line number of `apps/x.yaml` is one of the tree whose path stands before it.
fn is_of_its_tree(beside: bool, line: u64) -> bool {
    let ours = OURS.lines().count() as u64;
    if beside { line > ours } else { line <= ours }
}

/// Places of texts (`apps/x.yaml:7`) that are in the wrong tree.
fn misplaced(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("apps/x.yaml:") {
        let rest = &text[at + "apps/x.yaml:".len()..];
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let Ok(line) = rest[..digits].parse() else { continue };
        if !is_of_its_tree(text[..at].ends_with("../b/"), line) {
            let start = text[..at].rfind('\n').map_or(0, |start| start + 1);
            found.push(text[start..].lines().next().unwrap_or_default());
        }
    }
    found
}

/// Locations of JSON that are in the wrong tree.
fn misplaced_in(value: &Value) -> Vec<&Value> {
    let inside: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    };
    let mut found: Vec<&Value> = inside.into_iter().flat_map(misplaced_in).collect();
    let path = value["path"].as_str().filter(|path| path.ends_with("apps/x.yaml"));
    if let (Some(path), Some(line)) = (path, value["line"].as_u64())
        && !is_of_its_tree(path.starts_with("../b/"), line)
    {
        found.push(value);
    }
    found
}

/// What holds of every answer.
fn check_places(words: &str, run: &Run) {
    let said = format!("{}{}", run.out, run.err);
    assert!(!said.contains("Sup3rS3cret"), "`{words}` shows a Secret of B: {said}");
    assert_eq!(misplaced(&said), [""; 0], "`{words}`");
    if let Ok(answer) = serde_json::from_str::<Value>(&run.out) {
        assert_eq!(misplaced_in(&answer), Vec::<&Value>::new(), "`{words}`");
    }
}

fn check((words, code, says, changes): &Row, scratch: &Scratch) {
    let [a, b] = ["a", "b"].map(|tree| files(&scratch.path().join(tree)));
    let words_of: Vec<&str> = words.split_whitespace().collect();
    let run = scratch.forebay(&[&["--root", "a", "--allow-dir", "b"], &words_of[..]].concat());
    let said = format!("{}{}", run.out, run.err);
    assert_eq!(run.code, *code, "`{words}`: {said}");
    // A line of its own begins anywhere, the first one too.
    let lines = format!("\n{said}");
    for word in *says {
        assert!(lines.contains(word), "`{words}` does not say {word:?}: {said}");
    }
    check_places(words, &run);
    let [now_a, now_b] = ["a", "b"].map(|tree| files(&scratch.path().join(tree)));
    assert_eq!(differing(&b, &now_b), BTreeSet::new(), "`{words}` changes B: {said}");
    let changed = differing(&a, &now_a);
    let is_allowed = |path: &String| {
        changes.iter().any(|one| if one.ends_with('/') { path.starts_with(one) } else { path == one })
    };
    assert!(changed.iter().all(is_allowed), "`{words}` changes {changed:?}: {said}");
    let is_done = |one: &&&str| changed.iter().any(|path| path.starts_with(**one));
    assert_eq!(
        changes.iter().filter(is_done).count(),
        changes.len(),
        "`{words}` changes {changed:?}: {said}"
    );
}

#[test]
fn what_reads_tells_the_two_files_apart() {
    let scratch = fleet();
    READING.iter().for_each(|row| check(row, &scratch));
}

#[test]
fn what_writes_changes_its_own_tree_alone() {
    WRITING.iter().for_each(|row| check(row, &fleet()));
}

/// What the pre-commit hooks and the action start, whose commands are those above.
#[test]
fn hooks_run_commands_that_are_tried() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let hooks = std::fs::read_to_string(top.join(".pre-commit-hooks.yaml")).expect("the hooks");
    let entries: Vec<&str> =
        hooks.lines().filter_map(|line| line.trim().strip_prefix("entry: hooks/run ")).collect();
    assert!(entries.len() >= 3, "{entries:?}");
    for entry in entries {
        let is_tried = READING.iter().chain(WRITING).any(|(words, ..)| *words == entry);
        assert!(is_tried, "`{entry}` of a hook has no row");
    }
}

#[test]
fn an_editor_shows_both_and_changes_its_own() {
    let scratch = fleet();
    let before = files(scratch.path());
    let b = scratch.path().join("b");
    let mut editor = Editor::with_flags(&scratch.path().join("a"), &["--allow-dir", &b.to_string_lossy()]);
    editor.settle();
    let theirs = editor.uri("../b/apps/x.yaml").replace("a/../b", "b");
    let problems = editor.problems();
    let has = |problems: &[String], start: &str| problems.iter().any(|one| one.starts_with(start));
    assert!(has(&problems, "apps/x.yaml:4: [malformed-label-value]"), "{problems:#?}");
    assert!(has(&problems, &format!("{theirs}:7: [removed-api-version]")), "{problems:#?}");
    assert_eq!(problems.iter().filter(|one| one.starts_with("apps/x.yaml")).count(), 1, "{problems:#?}");
    // A name that A's Alert uses and B's file states: it is found there, and not renamed.
    editor.edit(KS);
    let named = editor.at(KS, "providerRef: {name: ch|at}");
    let found = editor.request("textDocument/definition", named.clone());
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(editor.place(&found[0]), format!("{theirs}:27:1"));
    let hover = editor.request("textDocument/hover", named.clone());
    assert!(hover.to_string().contains("../b/apps/x.yaml:27:1"), "{hover}");
    let mut rename = named;
    rename["newName"] = json!("other");
    let refused = editor.try_request("textDocument/rename", rename);
    let why = refused["error"]["message"].as_str().expect("refused");
    assert!(why.contains(ELSEWHERE) && why.contains("../b/apps/x.yaml:29"), "{why}");
    // No action edits another file than the one that it is asked for.
    for (path, title) in [(OWN, "Silence malformed-label-value"), (KS, "Suspend GitRepository")] {
        let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
        let uri = editor.uri(path);
        let asked = json!({"textDocument": {"uri": uri}, "range": range, "context": {"diagnostics": []}});
        let actions = editor.request("textDocument/codeAction", asked);
        let actions = actions.as_array().expect("actions");
        assert!(actions.iter().any(|one| one["title"].to_string().contains(title)), "{actions:#?}");
        let edited = actions.iter().filter_map(|one| one["edit"]["changes"].as_object());
        assert!(edited.flat_map(|changes| changes.keys()).all(|one| *one == uri), "{actions:#?}");
    }
    // Of B's file none is offered.
    let all = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
    let asked = json!({"textDocument": {"uri": theirs}, "range": all, "context": {"diagnostics": []}});
    let actions = editor.request("textDocument/codeAction", asked);
    assert!(actions.as_array().is_none_or(Vec::is_empty), "{actions}");
    assert_eq!(differing(&before, &files(scratch.path())), BTreeSet::new());
    // What changes in B is seen when something is saved.
    scratch.write("b/apps/x.yaml", THEIRS.replace("/v1beta2\nkind: HelmR", "/v1\nkind: HelmR").as_bytes());
    editor.save(KS);
    let problems = editor.problems();
    assert!(!has(&problems, &format!("{theirs}:7:")), "{problems:#?}");
    assert!(has(&problems, &format!("{theirs}:25: [deprecated-alert-summary]")), "{problems:#?}");
    editor.quit();
}

#[test]
fn an_agent_is_answered_about_both() {
    let scratch = fleet();
    let before = files(scratch.path());
    let call = |id: u32, name: &str, arguments: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
            .to_string()
    };
    let object = "HelmRelease/flux-system/web";
    let lines = [
        call(0, "lint", json!({})),
        call(1, "why", json!({"object": object})),
        call(2, "locate", json!({"object": object, "pointer": "/spec/values/note"})),
    ];
    let input = lines.join("\n") + "\n";
    let run = scratch.forebay_with(&["mcp", "--root", "a", "--allow-dir", "b"], &[], input.as_bytes());
    assert_eq!((run.code, run.out.lines().count()), (0, lines.len()), "{}{}", run.out, run.err);
    for line in run.out.lines() {
        let answer: Value = serde_json::from_str(line).expect("JSON");
        let text = answer["result"]["content"][0]["text"].as_str().expect("a text").to_owned();
        assert!(text.contains("../b/apps/x.yaml"), "{text}");
        check_places("mcp", &Run { code: 0, out: text, err: String::new() });
    }
    assert_eq!(differing(&before, &files(scratch.path())), BTreeSet::new());
}
