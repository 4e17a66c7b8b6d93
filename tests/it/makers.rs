//! What makes an object, and all the places that a value comes from: ResourceSets
//! between a Kustomization and what they make, templates and the inputs in them.

use crate::support::scratch::{Run, Scratch, assert_schema};
use serde_json::{Value, json};

const CLUSTER: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
    metadata: {name: flux-system, namespace: flux-system}\n\
    spec: {interval: 10m, prune: true, path: ./clusters/prod, sourceRef: {kind: GitRepository, name: flux-system}}\n\
    ---\n\
    apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
    metadata: {name: tenants, namespace: flux-system}\n\
    spec: {interval: 10m, prune: true, path: ./tenants, sourceRef: {kind: GitRepository, name: flux-system}}\n";

/// Inputs of two teams; what is made of them is structured and a text.
const SET: &str = "apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata: {name: teams, namespace: flux-system}
spec:
  inputs:
  - name: team1
    owner: alice
  - name: team2
    owner: bob smith
  resources:
  - apiVersion: v1
    kind: ConfigMap
    metadata:
      name: << inputs.name >>
      namespace: flux-system
      labels: {owner: << inputs.owner >>}
    data: {note: \"made for << inputs.name >> of << inputs.owner >>\", fixed: same}
  resourcesTemplate: |
    # one for each
    apiVersion: v1
    kind: ServiceAccount
    metadata:
      name: sa-<< inputs.name >>
      namespace: flux-system
      annotations:
        team: << inputs.name >>
        plain: text
";

fn fleet(set: &str) -> Scratch {
    Scratch::git(&[
        (".forebay.yaml", "version: 1\nclusters: [{name: prod, path: clusters/prod}]\n"),
        ("clusters/prod/ks.yaml", CLUSTER),
        ("tenants/set.yaml", set),
    ])
}

fn json_of(scratch: &Scratch, arguments: &[&str]) -> Value {
    let Run { code, out, err } = scratch.forebay(&[arguments, &["--format", "json"]].concat());
    assert!(code < 2, "{arguments:?}: {err}");
    serde_json::from_str(&out).expect("JSON")
}

/// `path:line:column` of locations.
fn places(list: &Value) -> Vec<String> {
    let one = |place: &Value| {
        format!("{}:{}:{}", place["path"].as_str().unwrap_or("?"), place["line"], place["column"])
    };
    list.as_array().map_or_else(Vec::new, |list| list.iter().map(one).collect())
}

#[test]
fn why_names_every_maker_up_to_the_entry_point() {
    let scratch = fleet(SET);
    let why = json_of(&scratch, &["why", "ConfigMap/team1"]);
    assert_schema("schemas/why.json", &why);
    let made: Vec<(&str, Option<&str>)> = why["madeBy"]
        .as_array()
        .expect("makers")
        .iter()
        .map(|maker| (maker["kind"].as_str().expect("a kind"), maker["object"]["name"].as_str()))
        .collect();
    let expected = [
        ("resourceSet", Some("teams")),
        ("kustomization", Some("tenants")),
        ("kustomization", Some("flux-system")),
        ("entry", None),
    ];
    assert_eq!(made, expected);
    assert_eq!(why["madeBy"][0]["location"]["path"], "tenants/set.yaml");
    assert_eq!(why["madeBy"][3]["location"]["path"], ".forebay.yaml");
    let applied: Vec<&Value> =
        why["appliedBy"].as_array().expect("appliers").iter().map(|object| &object["name"]).collect();
    assert_eq!(applied, [&json!("tenants"), &json!("flux-system")]);
    let text = scratch.forebay(&["why", "ConfigMap/team1"]).out;
    assert!(text.contains("    made by ResourceSet flux-system/teams\n"), "{text}");
    assert!(text.contains("    which is applied by Kustomization flux-system/tenants (tenants)\n"), "{text}");
    // What a Kustomization applies itself has no ResourceSet in its chain.
    let why = json_of(&scratch, &["why", "ResourceSet/teams"]);
    assert_eq!(why["madeBy"][0]["kind"], "kustomization");
}

#[test]
fn a_set_that_a_set_makes_is_expanded_and_named() {
    let inner = "  - apiVersion: fluxcd.controlplane.io/v1\n    kind: ResourceSet\n    \
        metadata: {name: 'inner-<< inputs.name >>', namespace: flux-system}\n    spec:\n      resources:\n      \
        - {apiVersion: v1, kind: ConfigMap, metadata: {name: 'deep-<< inputs.name >>', namespace: flux-system}}\n";
    let set = SET.replace("  resourcesTemplate:", &format!("{inner}  resourcesTemplate:"));
    let scratch = fleet(&set);
    let why = json_of(&scratch, &["why", "ConfigMap/deep-team2"]);
    let names: Vec<&Value> =
        why["madeBy"].as_array().expect("makers").iter().map(|maker| &maker["object"]["name"]).collect();
    assert_eq!(names[..2], [&json!("inner-team2"), &json!("teams")], "{why}");
}

#[test]
fn a_value_of_a_template_has_its_own_line_and_that_of_its_input() {
    let scratch = fleet(SET);
    let cases: [(&str, &str, &[&str]); 8] = [
        // A value that is nothing but an input is changed where the input stands.
        ("ConfigMap/team1", "/metadata/name", &["tenants/set.yaml:6:11", "tenants/set.yaml:14:13"]),
        ("ConfigMap/team2", "/metadata/labels/owner", &["tenants/set.yaml:9:12", "tenants/set.yaml:16:23"]),
        // One of more than that in the template, with the inputs beside.
        (
            "ConfigMap/team1",
            "/data/note",
            &["tenants/set.yaml:17:18", "tenants/set.yaml:6:11", "tenants/set.yaml:7:12"],
        ),
        ("ConfigMap/team1", "/data/fixed", &["tenants/set.yaml:17:77"]),
        // The text of a template, line by line.
        ("ServiceAccount/sa-team1", "/metadata/name", &["tenants/set.yaml:23:13", "tenants/set.yaml:6:11"]),
        (
            "ServiceAccount/sa-team2",
            "/metadata/annotations/team",
            &["tenants/set.yaml:8:11", "tenants/set.yaml:26:15"],
        ),
        ("ServiceAccount/sa-team2", "/metadata/annotations/plain", &["tenants/set.yaml:27:16"]),
        ("ServiceAccount/sa-team2", "/kind", &["tenants/set.yaml:21:11"]),
    ];
    for (object, pointer, expected) in cases {
        let found = json_of(&scratch, &["locate", object, pointer]);
        assert_schema("schemas/locate.json", &found);
        assert_eq!(places(&json!([found["location"]])), expected[..1], "{object} {pointer}");
        match expected.len() {
            1 => assert!(found.get("origins").is_none(), "{found}"),
            _ => assert_eq!(places(&found["origins"]), expected, "{object} {pointer}"),
        }
    }
    let text = scratch.forebay(&["locate", "ConfigMap/team1", "/metadata/name"]).out;
    assert_eq!(text.trim(), "tenants/set.yaml:6:11 (via template tenants/set.yaml:14:13)");
}

#[test]
fn equal_inputs_at_two_keys_are_told_apart() {
    let set = SET.replace("owner: alice", "owner: team1");
    let scratch = fleet(&set);
    let name = json_of(&scratch, &["locate", "ConfigMap/team1", "/metadata/name"]);
    let owner = json_of(&scratch, &["locate", "ConfigMap/team1", "/metadata/labels/owner"]);
    assert_eq!((&name["value"], &owner["value"]), (&json!("team1"), &json!("team1")));
    assert_eq!(name["location"]["line"], 6);
    assert_eq!(owner["location"]["line"], 7);
}

#[test]
fn a_finding_names_the_input_and_the_template() {
    let scratch = fleet(SET);
    let lint = json_of(&scratch, &["lint"]);
    assert_schema("schemas/lint.json", &lint);
    let findings = lint["findings"].as_array().expect("findings");
    let label =
        findings.iter().find(|finding| finding["rule"] == "malformed-label-value").expect("bob smith");
    assert_eq!(places(&json!([label["location"]])), ["tenants/set.yaml:9:12"]);
    assert_eq!(places(&label["origins"]), ["tenants/set.yaml:9:12", "tenants/set.yaml:16:23"]);
    // It can be silenced at either place.
    let comment = "# forebay: ignore[malformed-label-value] later";
    for line in ["    owner: bob smith", "      labels: {owner: << inputs.owner >>}"] {
        let silenced = fleet(&SET.replace(line, &format!("{line} {comment}")));
        let found = json_of(&silenced, &["lint"]);
        let mut findings = found["findings"].as_array().expect("findings").iter();
        assert!(findings.all(|one| one["rule"] != "malformed-label-value"), "{line}: {found}");
    }
}

#[test]
fn values_of_a_provider_stand_in_no_file() {
    let set = SET.replace("sa-<< inputs.name >>", "sa-<< inputs.provider.namespace >>-<< inputs.name >>");
    let scratch = fleet(&set);
    let found =
        json_of(&scratch, &["locate", "ServiceAccount/sa-flux-system-team1", "/metadata/annotations/plain"]);
    assert_eq!(places(&json!([found["location"]])), ["tenants/set.yaml:27:16"]);
}
