//! The editor over the table of references, and what it offers where somebody reads.

use crate::support::editor::{Editor, fleet};
use crate::support::scratch::Scratch;
use serde_json::{Value, json};

const WEB: &str = "apps/base/web.yaml";
const SETTINGS: &str = "apps/base/settings.yaml";

/// The fleet, with a workload that names a ConfigMap and a Secret that a controller makes.
fn with_workload() -> Scratch {
    let scratch = fleet();
    let text = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  selector: \
                {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      \
                serviceAccountName: web # the account of the shop\n      containers:\n        - name: web\n          \
                image: web:1\n          envFrom:\n            - secretRef:\n                name: creds\n---\n\
                apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: web\n  namespace: shop\n---\napiVersion: \
                external-secrets.io/v1\nkind: ExternalSecret\nmetadata:\n  name: vault\n  namespace: shop\nspec:\n  \
                secretStoreRef: {kind: ClusterSecretStore, name: vault}\n  target: {name: creds}\n";
    scratch.write(WEB, text.as_bytes());
    let list = scratch.read("apps/base/kustomization.yaml") + "  - web.yaml\n";
    scratch.write("apps/base/kustomization.yaml", list.as_bytes());
    scratch
}

fn places(editor: &mut Editor, method: &str, path: &str, mark: &str) -> Vec<String> {
    let mut at = editor.at(path, mark);
    at["context"] = json!({"includeDeclaration": true});
    let answer = editor.request(method, at);
    answer.as_array().expect("a list").iter().map(|one| editor.place(one)).collect()
}

fn hover(editor: &mut Editor, path: &str, mark: &str) -> String {
    let at = editor.at(path, mark);
    let answer = editor.request("textDocument/hover", at);
    answer["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_a_workload_names_leads_to_it_and_back() {
    let scratch = with_workload();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let definition = "textDocument/definition";
    assert_eq!(places(&mut editor, definition, WEB, "serviceAccountName: w|eb"), ["apps/base/web.yaml:20:9"]);
    // A Secret that is made in the cluster leads to what it is made of.
    assert_eq!(places(&mut editor, definition, WEB, "name: cr|eds\n---"), ["apps/base/web.yaml:26:9"]);
    let told = hover(&mut editor, WEB, "name: cr|eds\n---");
    assert!(
        told.contains("Secret `shop/creds` is made in the cluster, of ExternalSecret shop/vault in "),
        "{told}"
    );
    let back = places(&mut editor, "textDocument/references", WEB, "ServiceAccount\nmetadata:\n  name: w|eb");
    assert!(back.contains(&"apps/base/web.yaml:9:27".to_owned()), "{back:?}");
    editor.quit();
}

#[test]
fn a_comment_is_no_value() {
    let scratch = with_workload();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    assert!(hover(&mut editor, WEB, "serviceAccountName: w|eb").contains("ServiceAccount"));
    assert_eq!(hover(&mut editor, WEB, "# the acc|ount"), "");
    editor.quit();
}

#[test]
fn a_variable_is_renamed_from_the_object_that_defines_it() {
    let scratch = with_workload();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let at = editor.at("clusters/prod/settings.yaml", "REG|ION");
    let answer = editor.try_request("textDocument/prepareRename", at.clone());
    assert_eq!(answer["result"]["placeholder"], "REGION", "{answer}");
    let mut at = at;
    at["newName"] = json!("AREA");
    let answer = editor.try_request("textDocument/rename", at);
    let told = answer.to_string();
    assert!(told.contains("forebay rename variable REGION AREA") || answer["result"].is_object(), "{told}");
    // A key that no Kustomization takes is no variable.
    let at = editor.at(SETTINGS, "reg|ion:");
    let answer = editor.try_request("textDocument/prepareRename", at);
    assert!(answer["error"]["message"].is_string(), "{answer}");
    editor.quit();
}

#[test]
fn what_may_have_been_meant_is_a_fix() {
    let scratch = with_workload();
    let text = scratch.read(WEB).replace("serviceAccountName: web", "serviceAccountName: wep");
    scratch.write(WEB, text.as_bytes());
    let apps = "clusters/prod/apps.yaml";
    let sync = scratch.read(apps).replace("- name: infra", "- name: infr");
    scratch.write(apps, sync.as_bytes());
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    for (path, mark, title, after) in [
        (apps, "- name: in|fr\n", "Change `infr` to `infra` (a guess)", "infra"),
        (WEB, "serviceAccountName: w|ep", "Change `wep` to `web` (a guess)", "web"),
    ] {
        let at = editor.at(path, mark);
        let request = json!({
            "textDocument": at["textDocument"],
            "range": {"start": at["position"], "end": at["position"]},
            "context": {"diagnostics": []},
        });
        let offered = editor.request("textDocument/codeAction", request);
        let offered = offered.as_array().expect("a list");
        let titles: Vec<&Value> = offered.iter().map(|one| &one["title"]).collect();
        let action = offered.iter().find(|one| one["title"] == title).unwrap_or_else(|| panic!("{titles:?}"));
        let edits = action["edit"]["changes"].as_object().expect("changes").values().next().expect("a file");
        assert_eq!(edits[0]["newText"], after, "{action}");
    }
    editor.quit();
}
