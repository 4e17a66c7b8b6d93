//! Which clusters a repository has, and what is in each.

mod common;

use common::Scratch;
use forebay::config::Config;
use forebay::flux::cluster::World;
use forebay::repo::{Snapshot, Store};
use serde_json::{Value, json};
use std::sync::Arc;

fn kustomization(name: &str, rest: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec: {{interval: 1h, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}, {rest}}}\n"
    )
}

fn sync(path: &str) -> String {
    format!(
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: flux-system, namespace: flux-system}}\n\
         spec: {{interval: 1m, url: 'https://example.com/o/r'}}\n---\n{}",
        kustomization("flux-system", &format!("path: {path}"))
    )
}

fn config_map(name: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\ndata: {{k: v}}\n")
}

fn overlay(resources: &str, rest: &str) -> String {
    format!(
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [{resources}]\n{rest}"
    )
}

/// The clusters of the graph with the names of their Flux Kustomizations.
fn clusters(scratch: &Scratch) -> Value {
    let answer = scratch.forebay(&["graph", "--format", "json"]).json();
    let mut found = serde_json::Map::new();
    for node in answer["nodes"].as_array().expect("nodes") {
        if node["object"]["kind"] == "Kustomization" {
            let name = node["cluster"].as_str().expect("a cluster").to_owned();
            let list = found.entry(name).or_insert_with(|| json!([]));
            list.as_array_mut().expect("a list").push(node["object"]["name"].clone());
        }
    }
    Value::Object(found)
}

/// What two clusters apply in the same way is one object of both, also where
/// each has a Kustomization of its own and where names are changed on the way.
#[test]
fn equal_builds_of_clusters_are_one() {
    let apps = kustomization("apps", "path: ./apps, targetNamespace: shop");
    let both = overlay("flux-system/gotk-sync.yaml, ../../fleet", "");
    let files = [
        ("clusters/a/flux-system/gotk-sync.yaml", sync("./clusters/a")),
        ("clusters/b/flux-system/gotk-sync.yaml", sync("./clusters/b")),
        ("fleet/apps.yaml", apps),
        ("clusters/a/kustomization.yaml", both.clone()),
        ("clusters/b/kustomization.yaml", both),
        ("fleet/kustomization.yaml", overlay("apps.yaml", "")),
        ("apps/a.yaml", config_map("settings").replace(", namespace: shop", "")),
    ];
    let files = files.map(|(path, text)| (path, text.into_bytes()));
    let snapshot = Arc::new(Snapshot::memory(files, Arc::new(Store::default())));
    let world = World::new(&snapshot, &Config::default(), &[]);
    let names: Vec<String> = world.objects.iter().map(|object| object.id.to_string()).collect();
    assert_eq!(names.len(), 6, "{names:?}");
    let shared = world.objects.iter().find(|object| &*object.id.kind == "ConfigMap").expect("built");
    assert_eq!((shared.id.namespace.as_deref(), shared.members.len()), (Some("shop"), 2));
}

/// A home-made root covers what its kustomization includes, wherever that lies.
#[test]
fn a_guessed_cluster_holds_what_its_root_includes() {
    let scratch = Scratch::git(&[
        ("kube/main/root.yaml", &kustomization("root", "path: ./kube/main")),
        ("kube/main/kustomization.yaml", &overlay("root.yaml, ../apps/web, ../apps/all", "")),
        ("kube/apps/web/kustomization.yaml", &overlay("ks.yaml", "")),
        ("kube/apps/web/ks.yaml", &kustomization("web", "path: ./kube/apps/web/app")),
        ("kube/apps/web/app/a.yaml", &config_map("web")),
        ("kube/apps/all/db/ks.yaml", &kustomization("db", "path: ./kube/apps/all/db/app")),
        ("kube/apps/all/db/app/a.yaml", &config_map("db")),
        ("kube/apps/all/kustomization.yaml", &overlay("db/ks.yaml", "")),
    ]);
    assert_eq!(clusters(&scratch), json!({"main": ["root", "web", "db"]}));
}

/// The same where the root cannot be built: a text is broken somewhere.
#[test]
fn a_broken_root_keeps_its_files() {
    let scratch = Scratch::git(&[
        ("kube/main/root.yaml", &kustomization("root", "path: ./kube/main")),
        ("kube/main/kustomization.yaml", &overlay("root.yaml, ../apps/web, missing.yaml", "")),
        ("kube/apps/web/kustomization.yaml", &overlay("ks.yaml", "")),
        ("kube/apps/web/ks.yaml", &kustomization("web", "path: ./kube/apps/web/app")),
        ("kube/apps/web/app/a.yaml", &config_map("web")),
    ]);
    assert_eq!(clusters(&scratch), json!({"main": ["root"]}));
}

/// Overlays of Flux Kustomizations that nothing here applies are clusters as
/// they build: with the fields that they set.
#[test]
fn overlays_that_nothing_applies_are_clusters() {
    let bare = kustomization("web", "path: ./web").replace(", namespace: flux-system", "");
    let scratch = Scratch::git(&[
        ("fleet/base/web.yaml", &bare),
        ("fleet/base/kustomization.yaml", &overlay("web.yaml", "")),
        (
            "fleet/staging/kustomization.yaml",
            &overlay("../base", "namespace: flux-system\nnamePrefix: staging-\n"),
        ),
        ("fleet/production/kustomization.yaml", &overlay("../base", "namespace: flux-system\n")),
        ("web/a.yaml", &config_map("web")),
    ]);
    assert_eq!(clusters(&scratch), json!({"staging": ["staging-web"], "production": ["web"]}));
    let why = scratch.forebay(&["why", "Kustomization/flux-system/staging-web"]);
    assert_eq!(why.code, 0, "{}", why.err);
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    assert_eq!(answer["findings"], json!([]), "{answer:#}");
}
