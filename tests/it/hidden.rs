//! No value of a Secret leaves, whatever the Secret looks like and whoever asks.

use crate::support::attack::command_line;
use crate::support::editor::Editor;
use crate::support::scratch::{Run, Scratch};
use crate::support::secrets::{SHAPES, marked};
use base64::Engine;
use serde_json::{Value, json};

/// What every command that tells something of a repository is asked, with its formats.
const COMMANDS: &[(&[&str], &[&str])] = &[
    (
        &["lint", "--show", "info"],
        &["full", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "html"],
    ),
    (&["lint", "--show", "info", "--color", "always"], &["full"]),
    (&["lint", "--show", "info", "--list-unchecked", "--statistics"], &["full"]),
    (&["lint", "--since", "HEAD", "--show", "info"], &["full", "json", "markdown"]),
    (&["lint", "--fix=unsafe", "--diff"], &["diff"]),
    (&["build", "--all"], &["yaml", "json"]),
    (&["build", "--all", "--origin"], &["yaml", "json"]),
    (&["simulate", "events", "--explain"], &["text", "json"]),
    (&["simulate", "gates", "--at", "2026-03-27T09:00:00Z"], &["text", "json", "mermaid", "svg"]),
    (&["simulate", "suspend"], &["text", "json"]),
    (&["simulate", "propagation"], &["text", "json"]),
    (&["plan", "--base", "HEAD"], &["text", "json", "markdown", "github", "html"]),
    (&["map", "--at", "2026-03-27T09:00:00Z", "--base", "HEAD"], &["html"]),
    (&["graph"], &["text", "mermaid", "dot", "svg", "json"]),
    (&["why", "ConfigMap/apps/takes"], &["text", "json"]),
    (&["why", "Secret/apps/plain"], &["text", "json"]),
    (&["locate", "ConfigMap/apps/takes", "/data"], &["text", "json"]),
    (&["locate", "Secret/apps/plain", ""], &["text", "json"]),
    (&["locate", "Secret/apps/plain", "/metadata/labels/team"], &["text", "json"]),
    (&["locate", "Secret/apps/plain", "/stringData/nested/x"], &["text", "json"]),
    (&["suspend", "ks/*", "--all-clusters", "--diff"], &["diff"]),
    (&["migrate", "api-versions", "--to", "2.9", "--diff"], &["diff"]),
    (&["rename", "Secret/apps/plain", "other", "--diff"], &["diff"]),
    (&["rename", "variable", "GIVEN", "OTHER", "--diff"], &["diff"]),
    (&["rename", "ks/plain", "other", "--diff"], &["diff"]),
    (&["move", "apps/plain", "apps/moved", "--diff"], &["diff"]),
    (&["config", "show"], &["text", "json"]),
];

const SYNC: &str = r"apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://example.com/fleet.git', ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 5m, path: ./clusters/a, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
";

/// What variables come from: a Secret of the same cluster.
const VARIABLES: &str = "apiVersion: v1\nkind: Secret\nmetadata: {name: variables, namespace: flux-system}\n\
                         stringData: {GIVEN: \"@T@\", COLON: \"x: @T@: [\", BREAKS: \"a\\\": *@T@\"}\ndata: {ENCODED: \"@B@\"}\n";

fn kustomization(name: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec:\n  interval: 5m\n  path: ./apps/{name}\n  prune: true\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n\
         \x20 postBuild: {{substituteFrom: [{{kind: Secret, name: variables}}]}}\n\
         \x20 patches:\n  - target: {{kind: Secret, name: nothing-is-called-so}}\n    patch: '- {{op: add, path: /stringData/x, value: \"@T@\"}}'\n"
    )
}

/// A repository with Secrets of every shape, and a change of every value of them.
fn repository(word: &str) -> (Scratch, Vec<String>, Vec<String>) {
    let mut markers = Vec::new();
    let mut count = 0;
    let mut paths = Vec::new();
    let scratch = Scratch::git(&[]);
    for round in 0..2 {
        let mut write = |path: &str, text: &str| {
            let text = marked(text, word, &mut count, &mut markers);
            scratch.write(path, text.as_bytes());
            if round == 1 {
                paths.push(path.to_owned());
            }
        };
        write("clusters/a/flux-system/gotk-sync.yaml", SYNC);
        write("clusters/a/variables.yaml", VARIABLES);
        let mut all = String::new();
        for (name, files) in SHAPES {
            all.push_str(&kustomization(name));
            all.push_str("---\n");
            for (file, text) in *files {
                write(&format!("apps/{name}/{file}"), text);
            }
        }
        write("clusters/a/apps.yaml", &all);
        write("charts/x/Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n");
        write(
            "charts/x/templates/secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: {{ .Values.x }}}\nstringData: {a: \"@T@\"}\n",
        );
        if round == 0 {
            scratch.commit("base");
        }
    }
    (scratch, markers, paths)
}

/// The lines of an answer that tell a marker: as it is, in capitals, in base64.
fn told(text: &str, word: &str) -> Vec<String> {
    let encoded: Vec<String> = (0..3)
        .map(|shift| {
            let text = format!("{}{word}", "x".repeat(shift));
            let encoded = base64::engine::general_purpose::STANDARD_NO_PAD.encode(text);
            // Whole groups that hold nothing but the word.
            encoded[if shift == 0 { 0 } else { 4 }..encoded.len() / 4 * 4].to_owned()
        })
        .collect();
    let lower = word.to_lowercase();
    let tells = |line: &&str| {
        line.to_lowercase().contains(&lower)
            || encoded.iter().any(|encoded| encoded.len() >= 4 && line.contains(encoded.as_str()))
    };
    text.lines().filter(tells).map(|line| line.chars().take(400).collect()).collect()
}

/// Long words are told by their text too; those of small letters by their place alone.
const WORDS: &[&str] = &["Zk5d1fvalue9", "quux"];

#[test]
fn no_shape_of_a_secret_is_told_by_any_command() {
    let mut leaks = Vec::new();
    for word in WORDS {
        let (scratch, markers, _) = repository(word);
        assert!(markers.len() > 200, "{}", markers.len());
        let mut judge = |arguments: &[&str], format: &str, run: &Run| {
            assert!(
                (0..=3).contains(&run.code) && !run.err.contains("this is a bug"),
                "{arguments:?} {}",
                run.err
            );
            for text in [&run.out, &run.err] {
                leaks.extend(
                    told(text, word).into_iter().map(|line| format!("{arguments:?} {format}: {line}")),
                );
            }
        };
        for (arguments, formats) in COMMANDS {
            for format in *formats {
                judge(arguments, format, &scratch.forebay(&command_line(arguments, format)));
            }
        }
        for (name, _) in SHAPES {
            let directory = format!("apps/{name}");
            for arguments in [&["build", &directory][..], &["build", "--kustomization", name, "--origin"]] {
                judge(arguments, "yaml", &scratch.forebay(arguments));
            }
        }
    }
    leaks.sort();
    leaks.dedup();
    assert!(leaks.is_empty(), "{} lines:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn the_values_are_there_to_be_told() {
    // Else the tests here could not fail.
    let (scratch, _, _) = repository(WORDS[0]);
    let shown = scratch.forebay(&["build", "--all", "--show-secrets"]).out;
    assert!(told(&shown, WORDS[0]).len() > 60, "{shown}");
    let diff = scratch.forebay(&["lint", "--fix=unsafe", "--diff", "--show-secrets"]).out;
    assert!(!told(&diff, WORDS[0]).is_empty(), "{diff}");
    let lint = scratch.forebay(&["lint", "--show", "info", "--format", "concise"]).out;
    for rule in
        ["malformed-substitution", "unknown-field", "duplicate-key", "yaml-syntax", "malformed-label-value"]
    {
        assert!(lint.lines().any(|line| line.contains("apps/") && line.contains(rule)), "{rule} in {lint}");
    }
    let plan = scratch.forebay(&["plan", "--base", "HEAD", "--format", "json"]).json();
    let effects = plan["effects"].as_array().expect("effects");
    assert!(effects.iter().filter(|effect| effect["object"]["kind"] == "Secret").count() > 10, "{plan:#}");
}

#[test]
fn values_are_shown_only_where_documents_are_made_or_changed() {
    let scratch = Scratch::new(&[("a.yaml", "a: 1\n")]);
    for command in ["plan", "why", "map", "locate", "graph", "lsp", "config"] {
        let run = scratch.forebay(&[command, "--show-secrets"]);
        assert_eq!(run.code, 2, "{command}: {}", run.out);
    }
}

/// All texts of a message to the editor but those that it is to write into files.
fn texts(message: &Value, out: &mut Vec<String>) {
    match message {
        Value::String(text) => out.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Value::Object(map) => {
            let shown =
                map.iter().filter(|(key, _)| !matches!(key.as_str(), "newText" | "data" | "filterText"));
            shown.for_each(|(_, value)| texts(value, out));
        }
        _ => {}
    }
}

#[test]
fn no_shape_of_a_secret_is_told_to_the_editor() {
    let mut leaks = Vec::new();
    for word in WORDS {
        let (scratch, _, paths) = repository(word);
        let mut editor = Editor::open(scratch.path(), json!({}));
        let mut judge = |what: &str, message: &Value| {
            let mut all = Vec::new();
            texts(message, &mut all);
            let found = all.iter().flat_map(|text| told(text, word));
            leaks.extend(found.map(|line| format!("{what}: {line}")));
        };
        for path in paths.iter().filter(|path| path.ends_with("yaml")) {
            editor.edit(path);
            let document = json!({"uri": editor.uri(path)});
            let text = editor.text(path).to_owned();
            let lines = text.lines().count();
            let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": lines, "character": 0}});
            for (method, parameters) in [
                ("textDocument/documentSymbol", json!({"textDocument": document})),
                ("textDocument/codeLens", json!({"textDocument": document})),
                ("textDocument/inlayHint", json!({"textDocument": document, "range": whole})),
                (
                    "textDocument/codeAction",
                    json!({"textDocument": document, "range": whole, "context": {"diagnostics": []}}),
                ),
            ] {
                let answer = editor.request(method, parameters);
                judge(&format!("{path} {method}"), &answer);
            }
            for (number, line) in text.lines().enumerate() {
                let width = line.chars().count();
                for character in [line.len() - line.trim_start().len(), width / 2, width.saturating_sub(2)] {
                    let at = json!({"textDocument": document, "position": {"line": number, "character": character}});
                    for method in ["textDocument/hover", "forebay/effective", "textDocument/completion"] {
                        let answer = editor.request(method, at.clone());
                        judge(&format!("{path}:{number} {method}"), &answer);
                    }
                }
            }
            editor.close(path);
        }
        for items in editor.shown.values() {
            judge("diagnostics", &json!(items));
        }
        editor.quit();
    }
    leaks.sort();
    leaks.dedup();
    assert!(leaks.is_empty(), "{} texts:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn of_an_expression_only_the_name_is_told() {
    for (written, name) in [
        ("${PASSWORD-hunter-quux}", None),
        ("${hunter-quux", None),
        ("${A?hunter-quux}", None),
        ("${A:0:${hunter-quux}}", None),
        ("${PASSWORD:=hunter-quux}", Some("PASSWORD")),
        ("${PASSWORD:-hunter-quux}", Some("PASSWORD")),
        ("${PASSWORD/hunter-quux/x}", Some("PASSWORD")),
    ] {
        for substitutes in ["postBuild: {substitute: {OTHER: x}}", "wait: true"] {
            let config = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: b}}\ndata: {{a: '{written}'}}\n"
            );
            let apps = kustomization("app")
                .replace("postBuild: {substituteFrom: [{kind: Secret, name: variables}]}", substitutes);
            let scratch = Scratch::git(&[
                ("clusters/a/flux-system/gotk-sync.yaml", SYNC),
                ("clusters/a/apps.yaml", &apps.replace("@T@", "x")),
                (
                    "apps/app/config.yaml",
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {a: x}\n",
                ),
            ]);
            scratch.commit("base");
            scratch.write("apps/app/config.yaml", config.as_bytes());
            // `full` and `html` show the line itself.
            for format in ["concise", "json", "sarif", "github", "gitlab", "junit", "markdown"] {
                let run = scratch.forebay(&["lint", "--show", "info", "--format", format]);
                assert!(!run.out.contains("hunter"), "{written} {format}: {}", run.out);
                let told = name.is_none_or(|name| !run.out.contains("substitut") || run.out.contains(name));
                assert!(told, "{written} {format}: {}", run.out);
            }
            if name.is_none() {
                for format in ["text", "json", "markdown", "github", "html"] {
                    let run = scratch.forebay(&["plan", "--base", "HEAD", "--format", format]);
                    let own = run.out.lines().filter(|line| line.contains("malformed"));
                    assert!(!own.collect::<String>().contains("hunter"), "{written} {format}: {}", run.out);
                }
                let run = scratch.forebay(&["build", "--kustomization", "app"]);
                assert!(!run.err.contains("hunter"), "{written}: {}", run.err);
            }
        }
    }
}
