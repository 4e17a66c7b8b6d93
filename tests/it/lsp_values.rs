//! What the editor tells of a release's values by its chart.

use crate::support::editor::{Editor, fleet};
use crate::support::scratch::Scratch;
use serde_json::Value;

const RELEASE: &str = "apps/base/release.yaml";

const VALUES: &str = "# -- Copies of the shop\nreplicas: 1\n## @param service.type How it is reached\nservice:\n  \
                      type: ClusterIP # inside only\n  port: 80\nmetrics:\n  # Whether it is scraped\n  enabled: \
                      false\n";

const SCHEMA: &str = r##"{
  "properties": {
    "service": {"$ref": "#/definitions/service"},
    "region": {"type": "string", "description": "Where it runs", "enum": ["eu", "us"]}
  },
  "definitions": {
    "service": {"properties": {"type": {"type": "string", "enum": ["ClusterIP", "NodePort"]}}}
  }
}"##;

/// The fleet, whose release means a chart that a store has.
fn with_chart() -> Scratch {
    let scratch = fleet();
    let chart = "apiVersion: v2\nname: shop\nversion: 1.4.2\ndependencies:\n  - {name: cache, alias: redis, version: \
                 1.0.0, repository: \"\"}\n";
    for (path, text) in [
        ("store/shop/Chart.yaml", chart),
        ("store/shop/values.yaml", VALUES),
        ("store/shop/values.schema.json", SCHEMA),
        ("store/shop/templates/a.yaml", "{{ .Values.replicas }}: \n"),
        ("store/shop/charts/cache/Chart.yaml", "apiVersion: v2\nname: cache\nversion: 1.0.0\n"),
        ("store/shop/charts/cache/values.yaml", "memory: 64Mi\n"),
    ] {
        scratch.write(path, text.as_bytes());
    }
    let config = scratch.path().join(".forebay.yaml");
    let before = std::fs::read_to_string(config).unwrap_or_else(|_| "version: 1\n".to_owned());
    scratch.write(".forebay.yaml", format!("{before}charts: [store]\n").as_bytes());
    scratch
}

fn hover(editor: &mut Editor, mark: &str) -> String {
    let at = editor.at(RELEASE, mark);
    let answer = editor.request("textDocument/hover", at);
    answer["contents"]["value"].as_str().unwrap_or_default().to_owned()
}

fn offered(editor: &mut Editor, mark: &str) -> Vec<Value> {
    let at = editor.at(RELEASE, mark);
    let answer = editor.request("textDocument/completion", at);
    answer["items"].as_array().unwrap_or_else(|| panic!("nothing at {mark}: {answer}")).clone()
}

fn labels(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["label"].as_str().expect("a label")).collect()
}

#[test]
fn values_are_those_of_the_chart() {
    let scratch = with_chart();
    let mut editor = Editor::open(scratch.path(), Value::Null);
    editor.settle();
    editor.edit(RELEASE);
    // Keys that the chart and its schema know, without those that are written.
    editor.replace(RELEASE, "  values:\n", "  values:\n    \n");
    let items = offered(&mut editor, "  values:\n    |\n");
    let mut names = labels(&items);
    names.sort_unstable();
    assert_eq!(names, ["metrics", "redis", "region", "service"]);
    let service = items.iter().find(|item| item["label"] == "service").expect("offered");
    assert_eq!(service["documentation"], "How it is reached", "{service}");
    assert_eq!(service["textEdit"]["newText"], "service:", "{service}");
    let region = items.iter().find(|item| item["label"] == "region").expect("offered");
    assert_eq!(
        (region["detail"].as_str(), region["documentation"].as_str()),
        (Some("string"), Some("Where it runs"))
    );
    // Of a map below, of a chart in the chart by its alias, and the words of a value.
    editor.replace(
        RELEASE,
        "  values:\n    \n",
        "  values:\n    service:\n      \n    redis:\n      memory: 1Gi\n",
    );
    assert_eq!(labels(&offered(&mut editor, "    service:\n      |\n")), ["type", "port"]);
    editor.replace(
        RELEASE,
        "    service:\n      \n",
        "    service:\n      type: \n    metrics:\n      enabled: \n",
    );
    assert_eq!(labels(&offered(&mut editor, "      type: |\n")), ["ClusterIP", "NodePort"]);
    assert_eq!(labels(&offered(&mut editor, "      enabled: |\n")), ["true", "false"]);
    editor.replace(RELEASE, "      type: \n", "      type: NodePort\n");
    editor.replace(RELEASE, "      enabled: \n", "      enabled: true\n");
    let told = hover(&mut editor, "ty|pe: NodePort");
    for part in ["chart shop 1.4.2", "default: `ClusterIP`", "inside only", "one of ClusterIP, NodePort"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let told = hover(&mut editor, "mem|ory: 1Gi");
    assert!(told.contains("default: `64Mi`"), "{told}");
    // The chart itself is a document that nobody writes.
    let at = editor.at(RELEASE, "ena|bled: true");
    let found = editor.request("textDocument/definition", at);
    let uri = found[0]["uri"].as_str().expect("a document");
    assert_eq!(uri, "forebay-chart:/shop%401.4.2/values.yaml");
    assert_eq!(found[0]["range"]["start"], serde_json::json!({"line": 8, "character": 2}), "{found}");
    let answer = editor.request("forebay/chart", serde_json::json!({"uri": uri}));
    assert_eq!(answer["text"], VALUES);
    let other = serde_json::json!({"uri": "forebay-chart:/shop%401.4.2/../../etc/passwd"});
    assert_eq!(editor.request("forebay/chart", other), Value::Null);
    editor.quit();
}
