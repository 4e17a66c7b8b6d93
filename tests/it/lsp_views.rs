//! What the language server shows and offers at a place.

use crate::support::editor::{Editor, fleet};
use serde_json::{Value, json};

const APPS: &str = "clusters/prod/apps.yaml";
const RELEASE: &str = "apps/base/release.yaml";

fn hover(editor: &mut Editor, path: &str, mark: &str) -> String {
    let at = editor.at(path, mark);
    let answer = editor.request("textDocument/hover", at);
    answer["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

fn places(editor: &mut Editor, method: &str, path: &str, mark: &str) -> Vec<String> {
    let mut at = editor.at(path, mark);
    at["context"] = json!({"includeDeclaration": true});
    let answer = editor.request(method, at);
    answer.as_array().expect("a list").iter().map(|one| editor.place(one)).collect()
}

fn labels(editor: &mut Editor, path: &str, mark: &str) -> Vec<String> {
    let at = editor.at(path, mark);
    let answer = editor.request("textDocument/completion", at);
    let items = answer["items"].as_array().unwrap_or_else(|| panic!("nothing at {mark}: {answer}"));
    items.iter().map(|item| item["label"].as_str().expect("a label").to_owned()).collect()
}

/// A definition with words of its own, and an object of it.
const DEFINED: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shelves.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
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
              properties:
                boards:
                  type: array
                  items:
                    type: object
                    required: [width]
                    properties:
                      width: {type: integer, default: 80, description: \"Centimetres from side to side.\\nMore than 200 bend.\"}
                      wood: {type: string, enum: [oak, pine], description: What it is made of.}
---
apiVersion: shop.example.com/v1
kind: Shelf
metadata: {name: wall, namespace: shop}
spec:
  boards:
    - width: 90
";

#[test]
fn fields_are_described_by_the_definition_that_the_repository_has() {
    let scratch = fleet();
    scratch.write("infra/shelf.yaml", DEFINED.as_bytes());
    let list =
        scratch.read("infra/kustomization.yaml").replace("resources:\n", "resources:\n  - shelf.yaml\n");
    scratch.write("infra/kustomization.yaml", list.as_bytes());
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let told = hover(&mut editor, "infra/shelf.yaml", "wi|dth: 90");
    for part in [
        "Shelf.spec.boards.width",
        "Centimetres from side to side. More than 200 bend.",
        "shop.example.com/v1",
        "default   80",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    editor.edit("infra/shelf.yaml");
    editor.replace("infra/shelf.yaml", "    - width: 90\n", "    - width: 90\n      wo\n");
    let at = editor.at("infra/shelf.yaml", "      wo|\n");
    let answer = editor.request("textDocument/completion", at);
    let wood = answer["items"].as_array().into_iter().flatten().find(|item| item["label"] == "wood");
    assert_eq!(wood.map(|item| &item["documentation"]), Some(&json!("What it is made of.")), "{answer}");
    editor.quit();
}

#[test]
fn a_hover_tells_what_flux_makes_of_it() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let replicas = hover(&mut editor, RELEASE, "repl|icas: 1");
    let line = "- prod: `3`, from apps/prod/replicas.yaml:8:15 (via patch apps/prod/kustomization.yaml:6:5)";
    assert!(replicas.contains(line) && replicas.contains("- staging: `1`"), "{replicas}");
    let host = hover(&mut editor, RELEASE, "${HO|ST}");
    assert!(
        host.contains("- staging: `shop.staging.example.com`, from clusters/staging/apps.yaml:17:13"),
        "{host}"
    );
    let source = hover(&mut editor, RELEASE, "name: ch|arts");
    assert!(
        source.starts_with("**HelmRepository flux-system/charts** in infra/sources.yaml:1:1"),
        "{source}"
    );
    assert!(source.contains("- prod: applied by Kustomization flux-system/infra (stated)"), "{source}");
    let interval = hover(&mut editor, RELEASE, "inter|val: 30m");
    for part in ["HelmRelease.spec.interval", "How often the release is compared", "required  yes"] {
        assert!(interval.contains(part), "{part}: {interval}");
    }
    let schedule = hover(&mut editor, "infra/reports.yaml", "\"30| 6 * * 1-5\"");
    assert!(schedule.starts_with("next times\n\n- ") && schedule.contains("06:30:00 UTC"), "{schedule}");
    // Suspended meanwhile, in the editor alone.
    editor.edit("infra/sources.yaml");
    editor.replace("infra/sources.yaml", "spec:\n", "spec:\n  suspend: true # moving charts\n");
    let source = hover(&mut editor, RELEASE, "name: ch|arts");
    assert!(source.contains("suspended: moving charts"), "{source}");
    // Broken meanwhile: what was there is still told, where it stands now.
    editor.replace("infra/sources.yaml", "  interval: 1h\n", "  interval: 1h\n  secretRef: [\n");
    let source = hover(&mut editor, "infra/sources.yaml", "url|: https");
    assert!(source.contains("`https://charts.example.com`"), "{source}");
    // One with templates of its tool in it is no template of ours.
    editor.edit(RELEASE);
    editor.replace(RELEASE, "host: ${HOST}", "host: \"{{ .Release.Name }}\"");
    editor.replace(RELEASE, "  values:\n", "  values: {\n");
    assert!(hover(&mut editor, RELEASE, "interval: 3|0m").contains("prod, staging: `30m`"));
    editor.quit();
}

#[test]
fn values_of_secrets_stay_hidden() {
    let scratch = fleet();
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: token\n  namespace: shop\nstringData:\n  token: hunter2\n";
    scratch.write("apps/base/token.yaml", secret.as_bytes());
    let file = scratch.read("apps/base/kustomization.yaml") + "  - token.yaml\n";
    scratch.write("apps/base/kustomization.yaml", file.as_bytes());
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let text = hover(&mut editor, "apps/base/token.yaml", "token: hun|ter2");
    assert!(text.contains("prod") && !text.contains("hunter2"), "{text}");
    let at = editor.at("apps/base/token.yaml", "kind: |Secret");
    let effective = editor.request("forebay/effective", at);
    let text = effective["text"].as_str().expect("a text");
    assert!(text.contains("name: token") && !text.contains("hunter2"), "{text}");
    editor.quit();
}

#[test]
fn names_paths_and_variables_lead_to_each_other() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    for (path, mark, expected) in [
        (RELEASE, "name: ch|arts", &["infra/sources.yaml:4:9"][..]),
        (RELEASE, "${HO|ST}", &["clusters/prod/apps.yaml:17:13", "clusters/staging/apps.yaml:17:13"]),
        (
            "apps/base/settings.yaml",
            "${REG|ION}",
            &["clusters/prod/settings.yaml:7:11", "clusters/staging/settings.yaml:7:11"],
        ),
        (APPS, "name: inf|ra", &["clusters/prod/infra.yaml:4:9"]),
        (APPS, "path: ./ap|ps/prod", &["apps/prod/kustomization.yaml:1:1"]),
        (APPS, "name: cluster-|settings", &["clusters/prod/settings.yaml:4:9"]),
        ("apps/prod/kustomization.yaml", "../ba|se", &["apps/base/kustomization.yaml:1:1"]),
        ("apps/prod/kustomization.yaml", "path: repl|icas", &["apps/prod/replicas.yaml:1:1"]),
        ("infra/alerts.yaml", "    name: sl|ack\n  eventS", &["infra/alerts.yaml:4:9"]),
    ] {
        assert_eq!(places(&mut editor, "textDocument/definition", path, mark), expected, "{path} {mark}");
    }
    for (path, mark, expected) in [
        (
            "infra/sources.yaml",
            "name: ch|arts",
            &["infra/sources.yaml:4:9", "apps/base/release.yaml:13:15", "infra/kustomization.yaml:4:5"][..],
        ),
        ("clusters/prod/settings.yaml", "REG|ION", &["apps/base/settings.yaml:6:11"]),
        (APPS, "HO|ST:", &["apps/base/release.yaml:17:11"]),
        (
            "apps/base/kustomization.yaml",
            "kind: Kust|omization",
            &["apps/prod/kustomization.yaml:4:5", "apps/staging/kustomization.yaml:4:5"],
        ),
        ("apps/prod/kustomization.yaml", "kind: Kust|omization", &["clusters/prod/apps.yaml:10:9"]),
    ] {
        assert_eq!(places(&mut editor, "textDocument/references", path, mark), expected, "{path} {mark}");
    }
    let uri = editor.uri("infra/alerts.yaml");
    let symbols = editor.request("textDocument/documentSymbol", json!({"textDocument": {"uri": uri}}));
    let names: Vec<&Value> = symbols.as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["Provider flux-system/slack", "Alert flux-system/on-call"]);
    let found = editor.request("workspace/symbol", json!({"query": "helmrep ch"}));
    assert_eq!(found[0]["name"], "HelmRepository flux-system/charts", "{found}");
    editor.quit();
}

#[test]
fn what_is_offered_fits() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    editor.edit(APPS);
    editor.edit(RELEASE);
    editor.replace(APPS, "- name: infra", "- name: ");
    assert_eq!(labels(&mut editor, APPS, "    - name: |\n"), ["flux-system", "infra"]);
    editor.replace(APPS, "- name: \n", "- \n");
    assert_eq!(labels(&mut editor, APPS, "    - |\n"), ["name", "namespace", "readyExpr"]);
    editor.replace(APPS, "- \n", "- name: infra\n  ti\n");
    let fields = labels(&mut editor, APPS, "\n  ti|\n");
    assert!(fields.contains(&"timeout".to_owned()) && !fields.contains(&"interval".to_owned()), "{fields:?}");
    editor.replace(APPS, "\n  ti\n", "\n");
    editor.replace(APPS, "./apps/prod", "./apps/");
    assert!(labels(&mut editor, APPS, "path: ./apps/|").contains(&"./apps/staging".to_owned()));
    editor.replace(RELEASE, "${HOST}", "${");
    assert_eq!(labels(&mut editor, RELEASE, "host: ${|"), ["HOST", "REGION"]);
    editor.replace(RELEASE, "host: ${", "host: x");
    editor.replace(RELEASE, "kind: HelmRepository", "kind: ");
    assert!(labels(&mut editor, RELEASE, "        kind: |\n").contains(&"HelmRepository".to_owned()));
    editor.replace(RELEASE, "        kind: \n", "        kind: HelmRepository\n");
    // Right kind, and the namespace that the reference says.
    editor.replace(RELEASE, "name: charts", "name: c");
    assert_eq!(labels(&mut editor, RELEASE, "name: c|\n        namespace"), ["charts"]);
    editor.replace(
        RELEASE,
        "metadata:\n",
        "metadata:\n  annotations:\n    kustomize.toolkit.fluxcd.io/prune: \n",
    );
    assert_eq!(labels(&mut editor, RELEASE, "prune: |\n"), ["disabled"]);
    editor.replace(RELEASE, "kustomize.toolkit.fluxcd.io/prune: \n", "kus\n");
    let keys = labels(&mut editor, RELEASE, "    kus|\n");
    assert!(keys.contains(&"kustomize.toolkit.fluxcd.io/prune".to_owned()), "{keys:?}");
    let staging = "apps/staging/kustomization.yaml";
    editor.edit(staging);
    editor.replace(staging, "- ../base", "- ../base\n  - ");
    assert_eq!(labels(&mut editor, staging, "../base\n  - |"), ["../prod", "../../infra"]);
    editor.edit_new("apps/base/new.yaml", "kind: HelmRelease\napiVersion: ");
    assert!(
        labels(&mut editor, "apps/base/new.yaml", "apiVersion: |")
            .contains(&"helm.toolkit.fluxcd.io/v2".to_owned())
    );
    editor.quit();
}

fn actions(editor: &mut Editor, path: &str, mark: &str) -> Vec<Value> {
    let at = editor.at(path, mark);
    let answer = editor.request(
        "textDocument/codeAction",
        json!({
            "textDocument": at["textDocument"],
            "range": {"start": at["position"], "end": at["position"]},
            "context": {"diagnostics": []},
        }),
    );
    answer.as_array().expect("a list").clone()
}

/// Apply an action's edits to the open files.
fn apply(editor: &mut Editor, action: &Value) {
    let changes = action["edit"]["changes"].as_object().unwrap_or_else(|| panic!("{action:#}"));
    for (uri, edits) in changes {
        let path = editor.path(&json!(uri));
        editor.edit(&path);
        let mut text = editor.text(&path).to_owned();
        for edit in edits.as_array().expect("a list") {
            let byte = |position: &Value| {
                let lines: Vec<&str> = text.split_inclusive('\n').collect();
                let line = position["line"].as_u64().expect("a line") as usize;
                lines[..line].concat().len() + position["character"].as_u64().expect("a column") as usize
            };
            let (start, end) = (byte(&edit["range"]["start"]), byte(&edit["range"]["end"]));
            text.replace_range(start..end, edit["newText"].as_str().expect("a text"));
        }
        editor.set(&path, &text);
        editor.save(&path);
        editor.close(&path);
    }
}

fn titled<'a>(actions: &'a [Value], title: &str) -> &'a Value {
    let titles: Vec<&Value> = actions.iter().map(|one| &one["title"]).collect();
    actions.iter().find(|one| one["title"] == title).unwrap_or_else(|| panic!("{title}: {titles:?}"))
}

#[test]
fn actions_mend_silence_and_suspend() {
    let scratch = fleet();
    let sync = scratch
        .read(APPS)
        .replace("kustomize.toolkit.fluxcd.io/v1\n", "kustomize.toolkit.fluxcd.io/v1beta1\n");
    scratch.write(APPS, sync.replace("- name: infra", "- name: infr").as_bytes());
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let problems = editor.problems();
    assert!(problems.iter().any(|one| one.contains("[missing-reference]")), "{problems:#?}");
    let offered = actions(&mut editor, APPS, "name: in|fr\n");
    apply(&mut editor, titled(&offered, "Silence missing-reference here, with a reason"));
    assert!(
        scratch
            .read(APPS)
            .contains("    # forebay: ignore[missing-reference] TODO say why\n    - name: infr\n")
    );
    assert!(
        !editor.problems().iter().any(|one| one.contains("missing-reference")),
        "{:#?}",
        editor.problems()
    );
    // In one cluster only: by a patch of what that cluster builds.
    let offered = actions(&mut editor, RELEASE, "name: sh|op\nspec");
    apply(&mut editor, titled(&offered, "Suspend HelmRelease shop/shop only in cluster staging"));
    assert!(scratch.read("apps/staging/kustomization.yaml").contains("path: /spec/suspend"));
    assert!(!scratch.read(RELEASE).contains("suspend"));
    let offered = actions(&mut editor, RELEASE, "name: sh|op\nspec");
    apply(&mut editor, titled(&offered, "Resume HelmRelease shop/shop in all 2 clusters"));
    assert_eq!(scratch.read("apps/staging/kustomization.yaml").matches("suspend").count(), 0);
    let offered = actions(&mut editor, RELEASE, "name: sh|op\nspec");
    apply(&mut editor, titled(&offered, "Suspend HelmRelease shop/shop in all 2 clusters"));
    assert!(scratch.read(RELEASE).contains("spec:\n  suspend: true\n"));
    editor.quit();
}

#[test]
fn fixes_are_those_of_lint() {
    let scratch = fleet();
    let alerts = scratch
        .read("infra/alerts.yaml")
        .replace("  eventSeverity: error\n", "  eventSeverity: error\n  summary: prod\n");
    scratch.write("infra/alerts.yaml", alerts.as_bytes());
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let offered = actions(&mut editor, "infra/alerts.yaml", "summ|ary: prod");
    let fix = offered.iter().find(|one| one["isPreferred"] == true);
    let Some(fix) = fix else { panic!("{offered:#?}") };
    apply(&mut editor, fix);
    let mended = scratch.read("infra/alerts.yaml");
    scratch.write("infra/alerts.yaml", alerts.as_bytes());
    scratch.forebay(&["lint", "--fix", "."]);
    assert_eq!(mended, scratch.read("infra/alerts.yaml"));
    editor.quit();
}

#[test]
fn hints_and_lenses_are_each_a_setting() {
    let scratch = fleet();
    let options = json!({"inlayHints": {"clusters": false}, "codeLens": {"alerts": false, "plan": false}});
    let mut editor = Editor::open(scratch.path(), options);
    editor.settle();
    let ask = |editor: &mut Editor, method: &str| {
        let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}});
        let uri = editor.uri(RELEASE);
        let answer = editor.request(method, json!({"textDocument": {"uri": uri}, "range": range}));
        let text = |one: &Value| match one["command"]["title"].as_str() {
            Some(title) => title.to_owned(),
            // The words of a plan are asked for one by one.
            None => one["label"].as_str().unwrap_or("plan").to_owned(),
        };
        answer.as_array().expect("a list").iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(ask(&mut editor, "textDocument/inlayHint"), ["namespace shop", "= 2 values"]);
    assert_eq!(ask(&mut editor, "textDocument/codeLens"), ["applied in 2 clusters by flux-system/apps"]);
    let settings = json!({"settings": {"forebay": {"inlayHints": {"namespace": false, "variables": false}}}});
    editor.notify("workspace/didChangeConfiguration", settings);
    editor.settle();
    assert_eq!(ask(&mut editor, "textDocument/inlayHint"), ["in 2 clusters"]);
    let lenses =
        ["applied in 2 clusters by flux-system/apps", "alert flux-system/on-call tells of it", "plan"];
    assert_eq!(ask(&mut editor, "textDocument/codeLens"), lenses);
    editor.quit();
}

#[test]
fn the_effective_object_follows_edits() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    editor.edit("apps/prod/replicas.yaml");
    editor.replace("apps/prod/replicas.yaml", "replicas: 3", "replicas: 5");
    let mut at = editor.at(RELEASE, "kind: |HelmRelease");
    let answer = editor.request("forebay/effective", at.clone());
    assert_eq!(answer["clusters"], json!(["prod", "staging"]));
    let text = answer["text"].as_str().expect("a text");
    assert!(text.contains("replicas: 5") && text.contains("replicas: 1"), "{text}");
    at["cluster"] = json!("prod");
    at["origins"] = json!(true);
    let answer = editor.request("forebay/effective", at);
    let text = answer["text"].as_str().expect("a text");
    assert!(text.contains("host: shop.prod.example.com") && !text.contains("staging"), "{text}");
    assert!(text.contains("apps/prod/replicas.yaml"), "{text}");
    editor.quit();
}

/// Where a name may be changed, and what it is now; or why not.
fn prepared(editor: &mut Editor, path: &str, mark: &str) -> Result<String, String> {
    let at = editor.at(path, mark);
    told(&editor.try_request("textDocument/prepareRename", at)).map(|answer| {
        let start = &answer["range"]["start"];
        format!(
            "{} at {}:{}",
            answer["placeholder"].as_str().expect("a name"),
            start["line"],
            start["character"]
        )
    })
}

fn renamed(editor: &mut Editor, path: &str, mark: &str, new: &str) -> Result<Value, String> {
    let mut at = editor.at(path, mark);
    at["newName"] = json!(new);
    told(&editor.try_request("textDocument/rename", at))
}

/// The answer, or the message that the person sees.
fn told(answer: &Value) -> Result<Value, String> {
    match answer.get("error") {
        Some(error) => Err(error["message"].as_str().expect("a message").to_owned()),
        None => Ok(answer["result"].clone()),
    }
}

#[test]
fn a_rename_that_deletes_nothing_is_an_edit_and_others_are_steps() {
    let scratch = fleet();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    // From what refers to it, in every file.
    assert_eq!(prepared(&mut editor, RELEASE, "name: ch|arts").as_deref(), Ok("charts at 12:14"));
    let why = renamed(&mut editor, RELEASE, "name: ch|arts", "Not A Name").expect_err("no name");
    assert!(why.contains("lower-case letters"), "{why}");
    let edit = renamed(&mut editor, RELEASE, "name: ch|arts", "bitnami").expect("an edit");
    apply(&mut editor, &json!({"edit": edit}));
    assert!(editor.text(RELEASE).contains("        name: bitnami\n"), "{}", editor.text(RELEASE));
    assert!(editor.text("infra/sources.yaml").contains("\n  name: bitnami\n"));
    editor.close(RELEASE);
    editor.close("infra/sources.yaml");
    // Helm would uninstall it.
    let why = renamed(&mut editor, RELEASE, "name: sh|op", "store").expect_err("steps");
    assert!(why.starts_with("not in one commit: the release shop would be uninstalled"), "{why}");
    assert!(why.contains("\n1. it is suspended") && why.contains("\n2. it is called store"), "{why}");
    assert!(why.contains("`forebay rename HelmRelease/shop/shop store`"), "{why}");
    // A Kustomization may look between two commits.
    assert_eq!(prepared(&mut editor, RELEASE, "${HO|ST}").as_deref(), Ok("HOST at 16:12"));
    let why = renamed(&mut editor, APPS, "HO|ST:", "DOMAIN").expect_err("steps");
    assert!(why.contains("`forebay rename variable HOST DOMAIN`") && why.contains("\n3. HOST goes"), "{why}");
    // What is no name.
    let why = prepared(&mut editor, RELEASE, "inter|val: 30m").expect_err("no name");
    assert!(why.starts_with("neither the name of an object"), "{why}");
    editor.quit();
}

#[test]
fn a_migration_changes_all_objects_at_once() {
    let scratch = fleet();
    let alerts = scratch
        .read("infra/alerts.yaml")
        .replace("  eventSeverity: error\n", "  summary: one\n  eventSeverity: error\n");
    let more = "---\napiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata:\n  name: second\n  \
                namespace: flux-system\nspec:\n  summary: two\n  providerRef:\n    name: slack\n  eventSources:\n    \
                - kind: HelmRelease\n      name: shop\n      namespace: shop\n";
    scratch.write("infra/alerts.yaml", format!("{alerts}{more}").as_bytes());
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    let offered = actions(&mut editor, "infra/alerts.yaml", "summary: o|ne");
    let all =
        offered.iter().find(|one| one["title"].as_str().is_some_and(|title| title.starts_with("Migrate")));
    let all = all.unwrap_or_else(|| panic!("{offered:#?}")).clone();
    assert_eq!(all["title"], "Migrate the summary of all 2 findings of deprecated-alert-summary");
    apply(&mut editor, &all);
    let text = editor.text("infra/alerts.yaml");
    assert_eq!(text.matches("eventMetadata:").count(), 2, "{text}");
    assert!(!text.contains("\n  summary:"), "{text}");
    editor.quit();
}
