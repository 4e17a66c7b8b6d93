//! Sessions with the language server, as an editor has them.

use crate::support::editor::{Editor, fleet};
use crate::support::scratch::Scratch;
use serde_json::{Value, json};

const APPS: &str = "clusters/prod/apps.yaml";

#[test]
fn a_session_opens_types_breaks_mends_and_saves() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    assert_eq!(editor.problems(), Vec::<String>::new());
    assert_eq!(editor.capabilities["positionEncoding"], "utf-16");
    let watched = &editor.asked[0];
    assert_eq!(watched["params"]["registrations"][0]["method"], "workspace/didChangeWatchedFiles");
    editor.edit(APPS);
    // A name that nothing has, in another file's objects too.
    editor.replace(APPS, "- name: infra", "- name: infr");
    let missing = "clusters/prod/apps.yaml:8: [missing-reference] Kustomization flux-system/apps: dependsOn names no \
                   known Kustomization flux-system/infr";
    assert_eq!(editor.problems(), [missing]);
    let one = &editor.shown[APPS][0];
    assert_eq!(one["severity"], 1);
    assert_eq!(one["source"], "forebay");
    assert_eq!(
        one["range"],
        json!({"start": {"line": 7, "character": 12}, "end": {"line": 7, "character": 16}})
    );
    let page = one["codeDescription"]["href"].as_str().expect("a link");
    assert!(page.ends_with("/docs/rules/missing-reference.md"), "{page}");
    assert!(one["message"].as_str().expect("a message").contains("\ncluster: prod"), "{one}");
    // An unfinished line says so, and the rest stays.
    editor.replace(APPS, "  interval: 10m\n", "  interval: 10m\n  time\n");
    let problems = editor.problems();
    assert_eq!(problems.len(), 2, "{problems:#?}");
    assert!(problems.iter().any(|one| one.contains("[yaml-syntax]")), "{problems:#?}");
    assert!(problems.contains(&missing.to_owned()), "{problems:#?}");
    // What is above and below the unfinished line keeps its place.
    editor.replace(APPS, "  time\n", "  timeout: 5m\n");
    editor.replace(APPS, "- name: infr\n", "- name: infra\n");
    assert_eq!(editor.problems(), Vec::<String>::new());
    editor.save(APPS);
    assert_eq!(editor.problems(), Vec::<String>::new());
    editor.close(APPS);
    assert_eq!(editor.problems(), Vec::<String>::new());
    editor.quit();
}

#[test]
fn what_is_saved_broken_is_what_flux_reads() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    editor.edit("apps/base/release.yaml");
    editor.replace("apps/base/release.yaml", "spec:\n", "spec: [\n");
    let typed = editor.problems();
    assert!(typed.iter().all(|one| one.contains("[yaml-syntax]")), "{typed:#?}");
    editor.save("apps/base/release.yaml");
    let saved = editor.problems();
    // Other files are told too, and it is what lint says.
    let answer: Value =
        serde_json::from_str(&scratch.forebay(&["lint", "--format", "json"]).out).expect("JSON");
    let expected = answer["findings"].as_array().expect("a list").len();
    assert_eq!(saved.len(), expected, "{saved:#?}\n{answer:#}");
    editor.close("apps/base/release.yaml");
    assert_eq!(editor.problems(), saved);
    editor.quit();
}

#[test]
fn files_come_change_and_go_on_disk() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let changed = |editor: &mut Editor, path: &str, kind: u32| {
        let uri = editor.uri(path);
        editor.notify("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": uri, "type": kind}]}));
        editor.settle();
    };
    std::fs::remove_file(scratch.path().join("infra/sources.yaml")).expect("it was there");
    changed(&mut editor, "infra/sources.yaml", 3);
    let problems = editor.problems();
    assert!(
        problems.iter().any(|one| one.starts_with("infra/kustomization.yaml:4: [missing-resource]")),
        "{problems:#?}"
    );
    // A file that is not saved yet is there all the same.
    let text = std::fs::read_to_string(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/editor/infra/sources.yaml"),
    );
    editor.edit_new("infra/sources.yaml", &text.expect("the fixture"));
    assert_eq!(editor.problems(), Vec::<String>::new());
    // The configuration is read again, and its mistakes have their place.
    scratch.write(".forebay.yaml", b"version: 1\nrulez: {}\n");
    changed(&mut editor, ".forebay.yaml", 1);
    let problems = editor.problems();
    assert!(problems.len() == 1 && problems[0].starts_with(".forebay.yaml:2:"), "{problems:#?}");
    scratch.write(".forebay.yaml", b"version: 1\nexclude: [infra/**]\n");
    changed(&mut editor, ".forebay.yaml", 2);
    assert_eq!(editor.problems(), Vec::<String>::new());
    editor.quit();
}

#[test]
fn what_git_ignores_and_what_lies_elsewhere_is_left_alone() {
    let scratch = Scratch::git(&[(".gitignore", "made/\n"), ("a.yaml", "apiVersion: v1\nkind: ConfigMap\n")]);
    scratch.write("made/b.yaml", b"kind: [\n");
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let before = editor.problems();
    editor.edit("made/b.yaml");
    editor.edit_new("made/new.yaml", "kind: [\n");
    editor.edit_new("../elsewhere.yaml", "kind: [\n");
    assert_eq!(editor.problems(), before);
    let elsewhere = editor.try_request("textDocument/unknown", json!({}));
    assert_eq!(elsewhere["error"]["code"], -32601, "{elsewhere}");
    let broken = editor.try_request("textDocument/diagnostic", json!({"textDocument": 1}));
    assert_eq!(broken["error"]["code"], -32602, "{broken}");
    editor.quit();
}

#[test]
fn diagnostics_can_be_asked_for() {
    let scratch = fleet();
    scratch.write(APPS, scratch.read(APPS).replace("- name: infra", "- name: infr").as_bytes());
    let mut editor = Editor::open(scratch.path(), json!({"diagnostics": "pull"}));
    editor.settle();
    assert!(editor.shown.is_empty(), "nothing is sent");
    assert_eq!(editor.capabilities["diagnosticProvider"]["workspaceDiagnostics"], true);
    let uri = editor.uri(APPS);
    let asked = json!({"textDocument": {"uri": uri}});
    let first = editor.request("textDocument/diagnostic", asked);
    assert_eq!(
        (&first["kind"], first["items"].as_array().map(Vec::len)),
        (&json!("full"), Some(1)),
        "{first}"
    );
    let again = json!({"textDocument": {"uri": uri}, "previousResultId": first["resultId"]});
    assert_eq!(editor.request("textDocument/diagnostic", again)["kind"], "unchanged");
    let all = editor.request("workspace/diagnostic", json!({"previousResultIds": []}));
    assert_eq!(all["items"].as_array().map(Vec::len), Some(1), "{all}");
    editor.edit(APPS);
    editor.replace(APPS, "- name: infr", "- name: infra");
    let previous = json!([{"uri": uri, "value": all["items"][0]["resultId"]}]);
    let mended = editor.request("workspace/diagnostic", json!({"previousResultIds": previous}));
    assert_eq!(mended["items"][0]["items"], json!([]), "{mended}");
    editor.quit();
}

#[test]
fn a_client_that_goes_away_ends_the_server() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), json!({"inlayHints": 1}));
    editor.settle();
    drop(editor);
    let run = scratch.forebay(&["lsp", "--format", "json"]);
    assert_eq!(run.code, 2, "{}", run.err);
}
