//! The lens that tells what the saved changes do.

use crate::support::editor::{Editor, fleet};
use crate::support::scratch::Scratch;
use serde_json::{Value, json};

const RELEASE: &str = "apps/base/release.yaml";

/// The words of the lenses about the plan of a file, asked for one by one.
fn plans(editor: &mut Editor, path: &str) -> Vec<String> {
    let uri = editor.uri(path);
    let lenses = editor.request("textDocument/codeLens", json!({"textDocument": {"uri": uri}}));
    let open = lenses.as_array().expect("a list").iter().filter(|lens| lens.get("command").is_none());
    let open: Vec<Value> = open.cloned().collect();
    let mut words = Vec::new();
    for lens in open {
        let lens = editor.request("codeLens/resolve", lens);
        words.push(lens["command"]["title"].as_str().expect("words").to_owned());
    }
    words
}

fn committed() -> Scratch {
    let scratch = fleet();
    scratch.run_git(&["branch", "-M", "main"]);
    scratch.commit("all");
    scratch
}

#[test]
fn a_lens_tells_what_was_saved_and_not_what_is_typed() {
    let scratch = committed();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    assert_eq!(editor.capabilities["codeLensProvider"]["resolveProvider"], true);
    assert_eq!(plans(&mut editor, RELEASE), ["plan against main: no effect"]);
    editor.edit(RELEASE);
    editor.replace(RELEASE, "interval: 30m", "interval: 31m");
    assert_eq!(plans(&mut editor, RELEASE), ["plan against main: no effect"]);
    editor.save(RELEASE);
    // In both clusters; the same as the command line says.
    assert_eq!(plans(&mut editor, RELEASE), ["plan against main: 2 effects"]);
    let plan = scratch.forebay(&["plan", "--format", "json"]).json();
    assert_eq!(plan["effects"].as_array().expect("a list").len(), 2, "{plan:#}");
    // What is elsewhere is not there.
    assert_eq!(plans(&mut editor, "infra/sources.yaml"), ["plan against main: no effect"]);
    // In a cluster with a patch that changes it too, it is one effect.
    editor.edit("apps/prod/replicas.yaml");
    editor.replace("apps/prod/replicas.yaml", "replicas: 3", "replicas: 4");
    editor.save("apps/prod/replicas.yaml");
    assert_eq!(plans(&mut editor, RELEASE), ["plan against main: 2 effects"]);
    // What is deleted has no text any more: the file that left it out tells.
    let base = scratch.read("apps/base/kustomization.yaml");
    editor.edit("apps/base/kustomization.yaml");
    editor.set("apps/base/kustomization.yaml", &base.replace("  - settings.yaml\n", ""));
    editor.save("apps/base/kustomization.yaml");
    let words = plans(&mut editor, "apps/base/kustomization.yaml");
    assert_eq!(words, ["plan against main: 2 effects, 2 disruptive"]);
    assert_eq!(plans(&mut editor, RELEASE), ["plan against main: 2 effects"]);
    editor.quit();
}

#[test]
fn without_a_base_a_lens_says_why() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let words = plans(&mut editor, RELEASE);
    assert!(words[0].starts_with("no plan: no base to compare with"), "{words:?}");
    let settings = json!({"settings": {"forebay": {"codeLens": {"plan": false}}}});
    editor.notify("workspace/didChangeConfiguration", settings);
    editor.settle();
    assert_eq!(plans(&mut editor, RELEASE), [""; 0]);
    editor.quit();
}
