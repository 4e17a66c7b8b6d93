//! The HelmCharts that helm-controller makes: in events, suspensions and the graph.
//! Source: helm-controller `internal/reconcile/helmchart_template.go`, `Reconcile` and
//! `buildHelmChartFromTemplate`; source-controller `internal/controller/
//! helmchart_controller.go`, `notify` and `Reconcile`.

use crate::support::scratch::Scratch;
use serde_json::{Value, json};

/// A release of a chart of a repository in another namespace, and one of a `chartRef`.
fn releases(target: &str, release: &str, repository: &str) -> Scratch {
    let all = format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: web
  namespace: apps
  annotations:
    event.toolkit.fluxcd.io/of: release
spec:
  interval: 1h
  chart:
    metadata:
      labels: {{team: a}}
      annotations:
        event.toolkit.fluxcd.io/of: chart
        reconcile.fluxcd.io/suspended: later
    spec:
      chart: web
      sourceRef: {{kind: HelmRepository, name: charts, namespace: flux-system}}
{release}---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: other, namespace: apps}}
spec:
  interval: 1h
  chartRef: {{kind: OCIRepository, name: other}}
  suspend: true
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: charts, namespace: flux-system}}
spec:
  interval: 1h
  url: https://charts.example.com
{repository}---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {{name: chat, namespace: flux-system}}
spec: {{type: slack, channel: general}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {{name: charts, namespace: flux-system}}
spec:
  providerRef: {{name: chat}}
  eventMetadata: {{revision: mine}}
  eventSources:
  - {{kind: HelmChart, name: \"*\", matchLabels: {{team: a, helm.toolkit.fluxcd.io/name: web}}}}
"
    )
    .replace("\\\"", "\"");
    let config = format!("{target}clusters: [{{name: prod, path: clusters/prod}}]\n");
    Scratch::new(&[(".forebay.yaml", &config), ("clusters/prod/all.yaml", &all)])
}

const SUSPEND: &str = "  suspend: true\n";

fn answer(scratch: &Scratch, arguments: &[&str]) -> Value {
    let run = scratch.forebay(&[arguments, &["--format", "json"]].concat());
    assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
    run.json()
}

#[test]
fn events_of_a_chart_have_the_annotations_of_its_template() {
    for (target, api) in [("target: {flux: \"2.2\"}\n", "v1beta2"), ("target: {flux: \"2.9\"}\n", "v1")] {
        let scratch = releases(target, "", "");
        let all = answer(&scratch, &["simulate", "events"]);
        let objects = all["objects"].as_array().expect("a list");
        let chart = objects.iter().find(|one| one["object"]["kind"] == "HelmChart").expect("the chart");
        let expected = json!({"apiVersion": format!("source.toolkit.fluxcd.io/{api}"), "kind": "HelmChart",
            "namespace": "flux-system", "name": "apps-web"});
        assert_eq!(chart["object"], expected);
        let found = &chart["notifications"][0];
        assert_eq!(found["delivered"], true, "{found:#}");
        assert_eq!(found["runtimeKeys"], json!(["revision"]), "{found:#}");
        if api == "v1" {
            assert_eq!(found["metadata"]["of"], "chart", "{found:#}");
            assert_eq!(found["locations"]["of"]["line"], 14, "{found:#}");
        }
        let conflict = &found["conflicts"][0]["key"];
        assert_eq!(conflict, "revision", "{found:#}");
        let charts = objects.iter().filter(|one| one["object"]["kind"] == "HelmChart");
        assert_eq!(charts.count(), 1, "a chartRef has none");
    }
    // Nothing is made in a namespace that may not be referred to.
    let scratch = releases("target: {features: {crossNamespaceRefs: disabled}}\n", "", "");
    let all = answer(&scratch, &["simulate", "events"]).to_string();
    assert!(!all.contains("apps-web"), "{all}");
}

#[test]
fn a_chart_keeps_reconciling_while_its_release_is_suspended() {
    let consequences = |all: &Value, kind: &str, name: &str| {
        let objects = all["objects"].as_array().expect("a list");
        let is_it = |one: &&Value| one["object"]["kind"] == kind && one["object"]["name"] == name;
        objects.iter().find(is_it).unwrap_or_else(|| panic!("{kind} {name} in {all:#}")).clone()
    };
    let scratch = releases("", SUSPEND, SUSPEND);
    let all = answer(&scratch, &["simulate", "suspend"]);
    let release = consequences(&all, "HelmRelease", "web")["consequences"].to_string();
    assert!(release.contains("HelmChart flux-system/apps-web, once made, keeps reconciling"), "{release}");
    assert!(release.contains("leaves its HelmChart behind"), "{release}");
    let other = consequences(&all, "HelmRelease", "other")["consequences"].to_string();
    assert!(other.contains("uninstalls nothing") && !other.contains("HelmChart"), "{other}");
    let repository = consequences(&all, "HelmRepository", "charts")["consequences"].to_string();
    assert!(repository.contains("1 HelmChart keeps reconciling and finds no newer chart"), "{repository}");
    // The chart itself is suspended by neither.
    let chart = consequences(&all, "HelmChart", "apps-web");
    assert_eq!(chart["suspended"], false, "{chart:#}");
    assert_eq!(chart["by"], json!(["annotation"]), "{chart:#}");
    assert_eq!(chart["honoured"], "no", "{chart:#}");
    assert_eq!(chart["location"]["line"], 15, "{chart:#}");
    let text = scratch.forebay(&["simulate", "suspend"]).out;
    assert!(text.contains("(1 of them made by helm-controller)"), "{text}");
    let scratch = releases("target: {features: {suspendAnnotation: enabled}}\n", "", "");
    let chart = consequences(&answer(&scratch, &["simulate", "suspend"]), "HelmChart", "apps-web");
    assert_eq!(chart["suspended"], true, "{chart:#}");
    let words = "its artifact stays served: 1 consumer keeps its last revision";
    assert_eq!(chart["consequences"], json!([words]), "{chart:#}");
}

#[test]
fn the_graph_shows_a_chart_between_its_release_and_its_source() {
    let scratch = releases("", "", "");
    let graph = answer(&scratch, &["graph"]);
    let nodes = graph["nodes"].as_array().expect("nodes");
    let node = |kind: &str, name: &str| {
        let is_it = |one: &&Value| one["object"]["kind"] == kind && one["object"]["name"] == name;
        nodes.iter().find(is_it).expect("the node")["id"].clone()
    };
    let edges = graph["edges"].as_array().expect("edges");
    let has = |from: Value, to: Value, kind: &str| {
        let edge = json!({"from": from, "to": to, "kind": kind});
        assert!(edges.contains(&edge), "{edge} in {graph:#}");
    };
    let chart = node("HelmChart", "apps-web");
    has(node("HelmRelease", "web"), chart.clone(), "applies");
    has(chart, node("HelmRepository", "charts"), "source");
    assert_eq!(nodes.iter().filter(|one| one["object"]["kind"] == "HelmChart").count(), 1);
    let why = scratch.forebay(&["why", "HelmChart/flux-system/apps-web"]);
    let expected =
        "no file states HelmChart flux-system/apps-web: a controller makes it of HelmRelease apps/web";
    assert!(why.code == 2 && why.err.contains(expected), "{}", why.err);
    let text = scratch.forebay(&["graph"]).out;
    assert!(text.contains("HelmChart flux-system/apps-web  (made by helm-controller)"), "{text}");
}

#[test]
fn a_plan_tells_what_alerts_will_say_of_a_chart() {
    let (base, head) = (releases("", "", ""), releases("", "", ""));
    let change = |from: &str, to: &str| {
        let text = head.read("clusters/prod/all.yaml").replace(from, to);
        head.write("clusters/prod/all.yaml", text.as_bytes());
    };
    change("of: chart", "of: charts");
    let base = base.path().display().to_string();
    let plan = |head: &Scratch| answer(head, &["plan", "--base", &base])["effects"].clone();
    let effects = plan(&head);
    let of_chart = |effects: &Value| -> Vec<String> {
        let all = effects.as_array().expect("a list").iter();
        let own = all.filter(|effect| effect["object"]["kind"] == "HelmChart");
        own.map(|effect| format!("{} {}", effect["effect"].as_str().unwrap_or_default(), effect["reason"]))
            .collect()
    };
    let words = "key-changed \"Alert flux-system/charts sends of: charts instead of chart\"";
    assert_eq!(of_chart(&effects), [words], "{effects:#}");
    // Labels of the template decide whether an alert tells of it.
    change("labels: {team: a}", "labels: {team: b}");
    let effects = plan(&head);
    let words = "notification-lost \"Alert flux-system/charts no longer tells of it\"";
    assert_eq!(of_chart(&effects), [words], "{effects:#}");
    let lost = effects.as_array().expect("a list").iter().find(|one| one["effect"] == "notification-lost");
    let place = &lost.expect("the effect")["causes"][0]["location"];
    assert_eq!(place["path"], "clusters/prod/all.yaml", "{effects:#}");
}
