//! Every command's JSON obeys its schema.

use crate::support::scratch::{Scratch, assert_schema, forebay};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

const FLEET: &str = "apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick-start, namespace: fleet}
spec:
  kubernetesVersions: [v1.33.5, v1.34.1]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: prod
  namespace: fleet
  labels: {topology.cluster.x-k8s.io/owned: \"\", team: sre}
spec:
  topology:
    classRef: {name: quick-start}
    version: v1.33.5
    controlPlane: {metadata: {labels: {node.cluster.x-k8s.io/tier: one}}}
    workers:
      machineDeployments: [{class: default, name: md-0, metadata: {annotations: {a/b: c}}}]
";

fn demo() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo").to_string_lossy().into_owned()
}

#[test]
fn answers_obey_their_schemas() {
    let scratch = Scratch::new(&[("fleet.yaml", FLEET)]);
    let (demo, fleet) = (demo(), ".".to_owned());
    let object = "HelmRelease/podinfo/podinfo";
    let values = demo.replace("fixtures/demo", "fixtures/values");
    let store = format!("{values}/store");
    let cases: [(&str, &str, &[&str]); 24] = [
        ("lint", &demo, &["lint", "--show", "info"]),
        ("lint", &fleet, &["lint", "--show", "info"]),
        ("rules", &demo, &["rules"]),
        ("config-show", &demo, &["config", "show"]),
        ("why", &demo, &["why", object, "--cluster", "production"]),
        ("locate", &demo, &["locate", object, "/spec/values", "--cluster", "production"]),
        ("locate", &demo, &["locate", object, "/spec/interval", "--cluster", "production"]),
        ("graph", &demo, &["graph"]),
        ("chart-list", &demo, &["chart", "list"]),
        ("explain-values", &values, &["explain-values", "shop/shop", "--charts", &store]),
        ("explain", &demo, &["explain", "ks.spec.deletionPolicy"]),
        ("explain", &fleet, &["explain", "Deployment.spec.template.spec.containers.ports"]),
        ("build", &demo, &["build", "--all", "--origin", "--cluster", "production"]),
        ("build", &fleet, &["build", "--all"]),
        ("plan", &fleet, &["plan", "--base", &demo]),
        ("rename", &demo, &["rename", "ks/infra-configs", "settings", "--check", "--cluster", "production"]),
        ("rename", &demo, &["rename", "Namespace/podinfo", "web", "--check"]),
        ("move", &demo, &["move", "infrastructure", "infra", "--check"]),
        ("simulate-events", &demo, &["simulate", "events"]),
        ("simulate-gates", &demo, &["simulate", "gates", "--at", "2026-03-26T10:00:00Z"]),
        ("simulate-suspend", &demo, &["simulate", "suspend"]),
        ("simulate-propagation", &fleet, &["simulate", "propagation"]),
        (
            "simulate-hooks",
            &fleet,
            &["simulate", "hooks", "Cluster/fleet/prod", "--on", "upgrade", "--to", "v1.34.1"],
        ),
        ("simulate-hooks", &fleet, &["simulate", "hooks", "Cluster/fleet/prod", "--on", "create"]),
    ];
    for (schema, root, arguments) in cases {
        let output = forebay()
            .current_dir(scratch.path())
            .args(arguments)
            .args(["--format", "json", "--root", root])
            .output()
            .expect("forebay runs");
        let error = String::from_utf8_lossy(&output.stderr);
        let answer: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{arguments:?}: {error}"));
        assert_schema(&format!("schemas/{schema}.json"), &answer);
        assert_eq!(answer["schema"], format!("forebay.{schema}/v1"));
    }
}

/// What several schemas share is the same in all of them.
#[test]
fn schemas_agree() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let mut shared: BTreeMap<String, Value> = BTreeMap::new();
    for entry in std::fs::read_dir(directory).expect("schemas exist") {
        let path = entry.expect("readable").path();
        let schema: Value =
            serde_json::from_str(&std::fs::read_to_string(&path).expect("readable")).expect("JSON");
        for name in ["object", "location", "finding", "target", "notChecked", "coverage"] {
            let Some(definition) = schema["$defs"].get(name).filter(|_| !path.ends_with("config.json"))
            else {
                continue;
            };
            let first = shared.entry(name.to_owned()).or_insert_with(|| definition.clone());
            assert_eq!(definition, first, "{name} in {}", path.display());
        }
    }
}
