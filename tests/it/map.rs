//! The page of `forebay map`, and graphs as SVG. What a browser makes of the page is
//! tried by `.ci/browser`.

use crate::support::scratch::Scratch;
use serde_json::Value;

const AT: &str = "2026-03-26T10:00:00Z";

const SYNC: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://robot:hunter2@git.example/fleet}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/prod, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
";

const APPS: &str = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: infra, namespace: flux-system}
spec: {interval: 10m, path: ./infra, prune: true, suspend: true, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 10m, path: ./apps, prune: true, dependsOn: [{name: infra}], sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: on-call, namespace: flux-system}
spec: {providerRef: {name: slack}, eventSources: [{kind: Kustomization, name: apps}]}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: slack, namespace: flux-system}
spec: {type: slack, address: https://hooks.example/hunter2}
";

const CONFIG_MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n";

fn fleet() -> Scratch {
    Scratch::git(&[
        ("clusters/prod/flux-system/gotk-sync.yaml", SYNC),
        ("clusters/prod/apps.yaml", APPS),
        ("apps/a.yaml", CONFIG_MAP),
        ("infra/b.yaml", &CONFIG_MAP.replace("name: a", "name: b")),
    ])
}

/// The page and the data in it.
fn page(scratch: &Scratch, more: &[&str]) -> (String, Value) {
    let arguments = [&["map", "--at", AT, "--output", "fleet.html"], more].concat();
    let run = scratch.forebay(&arguments);
    assert_eq!(run.code, 0, "{}", run.err);
    let page = scratch.read("fleet.html");
    let (_, rest) = page.split_once("id=\"data\">").expect("data");
    let (data, _) = rest.split_once("</script>").expect("an end");
    let data = serde_json::from_str(data).expect("JSON");
    (page, data)
}

fn item<'d>(data: &'d Value, kind: &str, name: &str) -> &'d Value {
    let items = data["items"].as_array().expect("items");
    items
        .iter()
        .find(|item| item["k"] == kind && item["n"] == name)
        .unwrap_or_else(|| panic!("{kind} {name}"))
}

#[test]
fn states_alerts_and_counts_are_on_it() {
    let (_, data) = page(&fleet(), &[]);
    assert_eq!(data["clusters"][0]["n"], "prod");
    assert_eq!(data["clusters"][0]["c"], "stated");
    assert_eq!(item(&data, "Kustomization", "infra")["t"], serde_json::json!(["suspended"]));
    let apps = item(&data, "Kustomization", "apps");
    assert_eq!(apps["e"], serde_json::json!(["sent to Alert flux-system/on-call"]));
    assert_eq!(apps["o"], serde_json::json!(["1 ConfigMap"]));
    assert_eq!(apps["f"][0], serde_json::json!(["clusters/prod/apps.yaml", 6, "resource"]));
    let left = |name| item(&data, "Kustomization", name)["x"].as_u64();
    assert!(left("infra") < left("apps"), "apps waits for infra and stands right of it");
}

#[test]
fn no_secret_and_no_request_is_in_it() {
    let (page, data) = page(&fleet(), &[]);
    assert!(!page.contains("hunter2"));
    let source = item(&data, "GitRepository", "flux-system");
    assert_eq!(source["a"][0], serde_json::json!(["url", "https://git.example/fleet"]));
    let policy = "content=\"default-src 'none'; style-src 'sha256-";
    assert!(page.contains(policy), "{}", &page[..400]);
    assert!(!page.contains("unsafe-inline"));
}

#[test]
fn the_same_repository_gives_the_same_bytes() {
    let scratch = fleet();
    let (first, _) = page(&scratch, &["--threads", "1"]);
    let (second, _) = page(&scratch, &["--threads", "2"]);
    assert!(first == second);
}

#[test]
fn a_change_is_drawn_with_what_waits_for_it() {
    let scratch = fleet();
    scratch.commit("base");
    scratch.write(
        "clusters/prod/apps.yaml",
        APPS.replace("path: ./infra", "path: ./nowhere").replace(", suspend: true", "").as_bytes(),
    );
    let (_, data) = page(&scratch, &["--base", "HEAD"]);
    let infra = item(&data, "Kustomization", "infra");
    let effects: Vec<&Value> = infra["p"]
        .as_array()
        .expect("effects")
        .iter()
        .map(|at| &data["effects"][at.as_u64().expect("an index") as usize])
        .collect();
    assert!(effects.iter().any(|effect| effect["s"] == "disruptive"), "{effects:?}");
    let apps = item(&data, "Kustomization", "apps");
    assert!(apps["t"].as_array().is_some_and(|states| states.contains(&"shock".into())), "{apps}");
    assert!(data["summary"].as_str().is_some_and(|text| text.contains("since HEAD")), "{}", data["summary"]);
}

#[test]
fn a_graph_is_a_picture() {
    let run = fleet().forebay(&["graph", "--format", "svg"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.starts_with("<svg "), "{}", run.out);
    for text in
        [">flux-system/apps</text>", "class=\"dependsOn\"", "class=\"source\"", ">cluster prod</text>"]
    {
        assert!(run.out.contains(text), "{text}: {}", run.out);
    }
}
