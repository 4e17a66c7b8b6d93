//! Documents that are edited at random: the server answers whatever it is asked, and
//! in the end says what `lint` says of the files.

use crate::support::editor::{Editor, fleet};
use crate::support::random::Random;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const FILES: [&str; 10] = [
    "clusters/prod/apps.yaml",
    "clusters/prod/infra.yaml",
    "clusters/prod/settings.yaml",
    "clusters/staging/flux-system/gotk-sync.yaml",
    "apps/base/release.yaml",
    "apps/base/kustomization.yaml",
    "apps/prod/replicas.yaml",
    "infra/alerts.yaml",
    "infra/sources.yaml",
    "infra/definition.yaml",
];

/// What people, and their editors, put into a manifest.
const SNIPPETS: [&str; 30] = [
    "\n",
    "  ",
    " ",
    ":",
    "- ",
    "'",
    "\"",
    "{",
    "[",
    "}",
    "#",
    "&a ",
    "*a",
    "|\n",
    "\t",
    "---\n",
    "<<: *a\n",
    "name: infr\n",
    "  suspend: true\n",
    "${REGION}",
    "${",
    "{{ .Values.x }}",
    "\u{1d11e}ü",
    "\r\n",
    "spec:\n",
    "kind: Kustomization\n",
    "  dependsOn:\n    - name: apps\n",
    "metadata:\n  name: x\n",
    "resources:\n  - ../base\n",
    "# forebay: ignore[missing-reference] later\n",
];

/// A kind of one's own, and an object of it.
const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: shelves.example.com
spec:
  group: example.com
  scope: Cluster
  names: {kind: Shelf, plural: shelves}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [width]
              properties:
                width: {type: integer, maximum: 9}
---
apiVersion: example.com/v1
kind: Shelf
metadata:
  name: upper
spec:
  width: 12
  height: 3
";

/// What is asked at a place.
const REQUESTS: [&str; 5] = [
    "textDocument/hover",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/completion",
    "forebay/effective",
];

/// What is asked of a file.
const OF_FILES: [&str; 2] = ["textDocument/documentSymbol", "textDocument/codeLens"];

#[test]
fn random_edits_end_where_lint_ends() {
    for seed in 0..3 {
        one_session(seed);
    }
}

fn one_session(seed: u64) {
    let mut random = Random(seed);
    let scratch = fleet();
    // A definition judges an object of its kind, wherever that is.
    scratch.write("infra/definition.yaml", DEFINITION.as_bytes());
    let listed = scratch.read("infra/kustomization.yaml") + "  - definition.yaml\n";
    scratch.write("infra/kustomization.yaml", listed.as_bytes());
    let mut editor = Editor::with(scratch.path(), Value::Null, &["utf-16"]);
    editor.settle();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for _ in 0..30 {
        let path = *random.pick(&FILES);
        if open.insert(path) {
            editor.edit(path);
        }
        change(&mut editor, path, &mut random);
        let place = place(&editor, path, &mut random);
        let answer = match random.below(8) {
            0 => {
                editor.save(path);
                continue;
            }
            1 => {
                // Closed without saving: the file's own text is back.
                editor.close(path);
                open.remove(path);
                continue;
            }
            2 => editor.try_request(
                random.pick::<&str>(&OF_FILES),
                json!({"textDocument": {"uri": editor.uri(path)}}),
            ),
            3 => editor.try_request(
                "textDocument/codeAction",
                json!({
                    "textDocument": {"uri": editor.uri(path)},
                    "range": {"start": place, "end": place},
                    "context": {"diagnostics": []},
                }),
            ),
            4 => editor.try_request(
                "textDocument/inlayHint",
                json!({
                    "textDocument": {"uri": editor.uri(path)},
                    "range": {"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}},
                }),
            ),
            _ => editor.try_request(
                random.pick::<&str>(&REQUESTS),
                json!({
                    "textDocument": {"uri": editor.uri(path)},
                    "position": place,
                    "context": {"includeDeclaration": true, "triggerKind": 1},
                }),
            ),
        };
        assert!(answer.get("error").is_none(), "seed {seed}: {answer}\n{}", editor.text(path));
    }
    for path in &open {
        editor.save(path);
    }
    let answer: Value =
        serde_json::from_str(&scratch.forebay(&["lint", "--format", "json"]).out).expect("JSON");
    let findings = answer["findings"].as_array().expect("a list");
    let mut expected: Vec<String> = findings.iter().map(|finding| of_lint(&scratch, finding)).collect();
    let mut found = editor.problems();
    expected.sort();
    found.sort();
    assert_eq!(found, expected, "seed {seed}");
    editor.quit();
}

/// A finding as [`Editor::problems`] has it.
fn of_lint(scratch: &crate::support::scratch::Scratch, finding: &Value) -> String {
    let location = &finding["location"];
    let path = location["path"].as_str().expect("a path");
    let text = String::from_utf8(std::fs::read(scratch.path().join(path)).expect("a file")).expect("a text");
    let before = &text[..location["start"].as_u64().expect("a byte") as usize];
    // A lone carriage return ends a line too.
    let line = before.replace("\r\n", "\n").matches(['\n', '\r']).count() + 1;
    let message = finding["message"].as_str().expect("a message");
    format!("{path}:{line}: [{}] {message}", finding["rule"].as_str().expect("a rule"))
}

fn place(editor: &Editor, path: &str, random: &mut Random) -> Value {
    let lines = editor.text(path).lines().count();
    json!({"line": random.below(lines + 2), "character": random.below(24)})
}

/// Type, delete, or paste somewhere.
fn change(editor: &mut Editor, path: &str, random: &mut Random) {
    let mut text = editor.text(path).to_owned();
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    // Mostly at ends of lines, as people do.
    if !random.one_in(3) {
        at = text[at..].find('\n').map_or(text.len(), |rest| at + rest);
    }
    match random.below(4) {
        0 => {
            let end =
                text[at..].char_indices().nth(random.below(12)).map_or(text.len(), |(rest, _)| at + rest);
            text.replace_range(at..end, "");
        }
        1 => {
            let lines: Vec<&str> = text.lines().collect();
            let line = (*random.pick(&lines)).to_owned();
            text.insert_str(at, &format!("\n{line}"));
        }
        _ => text.insert_str(at, random.pick::<&str>(&SNIPPETS)),
    }
    editor.set(path, &text);
}
