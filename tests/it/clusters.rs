//! Which clusters a repository has, and what is in each.

use crate::support::scratch::Scratch;
use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::world::World;
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

/// A bootstrap that nothing was added to hides no root that applies itself; one that applies
/// something does, for there the other may be left over.
#[test]
fn a_bare_bootstrap_hides_nothing() {
    let source = sync("./kube/flux")
        .split("---")
        .next()
        .expect("the source")
        .replace("name: flux-system, n", "name: home, n");
    let own = |text: String| {
        text.replace("kind: GitRepository, name: flux-system", "kind: GitRepository, name: home")
    };
    let root = own(kustomization("home", "path: ./kube/flux"));
    let web = own(kustomization("web", "path: ./kube/web"));
    let bare = [
        ("clusters/one/flux-system/gotk-sync.yaml", &*sync("./clusters/one")),
        ("clusters/one/flux-system/kustomization.yaml", &*overlay("gotk-sync.yaml", "")),
        ("kube/flux/home.yaml", &*source),
        ("kube/flux/root.yaml", &*root),
        ("kube/flux/web.yaml", &*web),
        ("kube/web/a.yaml", &*config_map("web")),
    ];
    let names = |found: Value| {
        let found = found.as_object().expect("clusters").values().cloned().collect::<Vec<Value>>();
        json!(found)
    };
    assert_eq!(names(clusters(&Scratch::git(&bare))), json!([["home", "web"], ["flux-system"]]));
    let (apps, map) = (kustomization("apps", "path: ./apps"), config_map("a"));
    let mut used = bare.to_vec();
    used.extend([("clusters/one/apps.yaml", &*apps), ("apps/a.yaml", &*map)]);
    assert_eq!(names(clusters(&Scratch::git(&used))), json!([["flux-system", "apps"]]));
    let mut alone = bare[..2].to_vec();
    alone.push(("kube/web/a.yaml", &*map));
    assert_eq!(names(clusters(&Scratch::git(&alone))), json!([["flux-system"]]));
}

/// What applies itself is only Flux's own part: the rest hangs on a root beside it that was
/// applied by hand. Where that is listed, of another source, smaller, or one of two, it
/// is none.
#[test]
fn a_root_applied_by_hand_stands_beside_one_that_applies_itself() {
    let source = sync("./kube/flux").split("---").next().expect("the source").to_owned();
    let cluster = kustomization("cluster", "path: ./kube");
    let files = |root: &str| {
        vec![
            ("kube/flux/kustomization.yaml", overlay("self.yaml, source.yaml", "")),
            ("kube/flux/self.yaml", kustomization("flux", "path: ./kube/flux")),
            ("kube/flux/source.yaml", source.clone()),
            ("kube/ks.yaml", root.to_owned()),
            ("kube/kustomization.yaml", overlay("web, db", "")),
            ("kube/web/kustomization.yaml", overlay("ks.yaml", "")),
            ("kube/web/ks.yaml", kustomization("web", "path: ./kube/web/app")),
            ("kube/web/app/a.yaml", config_map("web")),
            ("kube/db/kustomization.yaml", overlay("ks.yaml", "")),
            ("kube/db/ks.yaml", kustomization("db", "path: ./kube/db/app")),
            ("kube/db/app/a.yaml", config_map("db")),
        ]
    };
    let found = |files: &[(&str, String)]| {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
        let found = clusters(&Scratch::git(&files));
        let mut names: Vec<String> = found
            .as_object()
            .expect("clusters")
            .values()
            .flat_map(|names| names.as_array().expect("names"))
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(found(&files(&cluster)), "cluster db flux web");
    let other = cluster
        .replace("name: flux-system}}", "name: apps}}")
        .replace("name: flux-system}, path", "name: apps}, path");
    assert_eq!(found(&files(&other)), "flux");
    let mut listed = files(&cluster);
    listed.push(("old/kustomization.yaml", overlay("../kube/ks.yaml", "")));
    assert_eq!(found(&listed), "flux");
    let mut two = files(&cluster);
    two.push(("kube/all.yaml", kustomization("all", "path: ./kube")));
    assert_eq!(found(&two), "flux");
    assert_eq!(found(&files(&kustomization("cluster", "path: ./kube/db/app"))), "flux");
}

/// What `flux bootstrap` applies is the kustomization beside its gotk-sync.yaml. Where the root
/// does not list that directory, its patches are in the cluster all the same; where it does,
/// or another Kustomization applies it, what is applied counts; what is not listed there is no
/// part of it.
#[test]
fn what_bootstrap_applied_is_in_the_cluster() {
    let patch = "patches:\n  - target: {kind: Kustomization}\n    patch: |\n      - {op: add, path: /spec/postBuild, value: {substitute: {REGION: eu}}}\n";
    let files = |root: &str, beside: &str| {
        vec![
            ("clusters/main/flux-system/gotk-sync.yaml", sync("./clusters/main")),
            ("clusters/main/flux-system/kustomization.yaml", overlay(beside, patch)),
            ("clusters/main/flux-system/extra.yaml", config_map("extra")),
            ("clusters/main/kustomization.yaml", overlay(root, "")),
            ("clusters/main/a.yaml", config_map("web").replace("k: v", "region: '${REGION}'")),
            ("clusters/main/flux.yaml", kustomization("flux", "path: ./clusters/main/flux-system")),
        ]
    };
    let scratch = |files: &[(&str, String)]| {
        Scratch::git(&files.iter().map(|(path, text)| (*path, &**text)).collect::<Vec<_>>())
    };
    let region = |scratch: &Scratch| {
        let place = ["locate", "ConfigMap/shop/web", "/data/region", "--format", "json"];
        scratch.forebay(&place).json()["value"].clone()
    };
    let whole = "gotk-sync.yaml, extra.yaml";
    let apart = scratch(&files("a.yaml", whole));
    assert_eq!(region(&apart), "eu");
    assert_eq!(apart.forebay(&["why", "ConfigMap/shop/extra"]).code, 0);
    let answer = apart.forebay(&["lint", "--format", "json", "--no-cache"]).json();
    assert_eq!(answer["coverage"]["followed"], 1, "{answer:#}");
    assert_eq!(answer["coverage"]["kustomizations"], 2, "{answer:#}");
    let listed = scratch(&files("a.yaml, flux-system", whole));
    assert_eq!(region(&listed), "eu");
    let by_another = scratch(&files("a.yaml, flux.yaml", whole));
    assert_eq!(by_another.forebay(&["lint", "--select", "duplicate-object"]).code, 0);
    // What is applied since goes before: here the root of a directory that was there before.
    let mut moved = files("a.yaml", whole);
    moved[0].1 = sync("./clusters/main/once");
    let patched = moved[1].1.clone();
    moved[1].1 = overlay("gotk-sync.yaml", "");
    moved.extend([
        ("clusters/main/once/kustomization.yaml", overlay("root.yaml", "")),
        (
            "clusters/main/once/root.yaml",
            kustomization("flux-system", "path: ./clusters/main, postBuild: {substitute: {REGION: us}}"),
        ),
    ]);
    assert_eq!(region(&scratch(&moved)), "us");
    // The configuration names the directory.
    let mut configured = files("a.yaml", whole);
    configured[1].1 = patched;
    configured
        .push((".forebay.yaml", "version: 1\nclusters: [{name: main, path: clusters/main}]\n".to_owned()));
    let configured = scratch(&configured);
    assert_eq!(region(&configured), "eu");
    configured.commit("base");
    let other = overlay(whole, patch).replace("REGION: eu", "REGION: fr");
    configured.write("clusters/main/flux-system/kustomization.yaml", other.as_bytes());
    let plan = configured.forebay(&["plan", "--base", "HEAD"]).out;
    assert!(
        plan.contains("data.region eu -> fr") && plan.contains("not now: when `flux bootstrap`"),
        "{plan}"
    );
    // As bootstrap leaves it: without a patch, and with a kustomization that lists other files.
    let unlisted = scratch(&files("a.yaml", "extra.yaml"));
    assert_eq!(region(&unlisted), "${REGION}");
}

/// Of two gotk-sync.yaml of one repository, of which one has its path, the other one's was moved
/// with its directory. Of two repositories, and where none has it, the directory is one's top.
#[test]
fn a_moved_directory_is_no_repository() {
    let other = |text: String| text.replace("https://example.com/o/r", "https://example.com/o/other");
    let found = |top: Option<String>, inner: String| {
        let mut files = vec![
            ("old/flux-system/gotk-sync.yaml", inner),
            ("old/flux-system/kustomization.yaml", overlay("gotk-sync.yaml", "")),
            ("old/clusters/main/a.yaml", config_map("old")),
        ];
        if let Some(top) = top {
            files.push(("fleet/main/flux-system/gotk-sync.yaml", top));
            files.push(("fleet/main/a.yaml", config_map("new")));
        }
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
        let answer = Scratch::git(&files).forebay(&["config", "show", "--format", "json"]).json();
        answer["coverage"]["clusters"].as_object().map_or(0, serde_json::Map::len)
    };
    let (top, inner) = (sync("./fleet/main"), sync("./clusters/main"));
    assert_eq!(found(Some(top.clone()), inner.clone()), 1);
    assert_eq!(found(Some(top), other(inner.clone())), 2);
    assert_eq!(found(None, inner), 1);
}

/// Where nothing defines the one source that all Kustomizations name, it is this repository:
/// somebody made it who installed Flux. Not where they name two, where there is one alone, or
/// where a path is not here.
#[test]
fn a_source_that_nothing_defines_is_the_repository() {
    let own = |text: String| {
        text.replace("kind: GitRepository, name: flux-system", "kind: GitRepository, name: home")
    };
    let found = |changed: &[(&str, String)]| {
        let mut files = vec![
            ("cluster.yaml", own(kustomization("cluster", "path: ./manifests"))),
            ("manifests/web/ks.yaml", own(kustomization("web", "path: ./manifests/web/app"))),
            ("manifests/web/app/a.yaml", config_map("web")),
            ("manifests/web/kustomization.yaml", overlay("ks.yaml", "")),
            ("manifests/kustomization.yaml", overlay("web", "")),
        ];
        files.extend(changed.iter().cloned());
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, &**text)).collect();
        let answer = Scratch::git(&files).forebay(&["lint", "--format", "json", "--no-cache"]).json();
        answer["coverage"]["followed"].as_u64().expect("a count")
    };
    assert_eq!(found(&[]), 2);
    let second = kustomization("db", "path: ./manifests/web/app")
        .replace("kind: GitRepository, name: flux-system", "kind: GitRepository, name: elsewhere");
    assert_eq!(found(&[("manifests/web/ks.yaml", second)]), 0);
    let missing = own(kustomization("web", "path: ./nowhere"));
    assert_eq!(found(&[("manifests/web/ks.yaml", missing)]), 0);
    assert_eq!(found(&[("manifests/web/ks.yaml", config_map("ks"))]), 0);
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
    assert_eq!(clusters(&scratch), json!({"main": ["root", "web"]}));
}

/// Overlays of Flux Kustomizations that nothing here applies are clusters as
/// they build: with the fields that they set.
#[test]
fn overlays_that_nothing_applies_are_clusters() {
    let bare = kustomization("web", "path: ./web").replace(", namespace: flux-system", "");
    let scratch = Scratch::git(&[
        ("clusters/base/web.yaml", &bare),
        ("clusters/base/kustomization.yaml", &overlay("web.yaml", "")),
        (
            "clusters/staging/kustomization.yaml",
            &overlay("../base", "namespace: flux-system\nnamePrefix: staging-\n"),
        ),
        ("clusters/production/kustomization.yaml", &overlay("../base", "namespace: flux-system\n")),
        ("web/a.yaml", &config_map("web")),
    ]);
    assert_eq!(clusters(&scratch), json!({"staging": ["staging-web"], "production": ["web"]}));
    let why = scratch.forebay(&["why", "Kustomization/flux-system/staging-web"]);
    assert_eq!(why.code, 0, "{}", why.err);
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    assert_eq!(answer["findings"], json!([]), "{answer:#}");
}

/// What a hub sends through a kubeConfig is followed where the configuration
/// names that cluster, and `config show` tells where the hub says so.
#[test]
fn spokes_are_followed_where_they_are_named() {
    let hub = kustomization("fleet", "path: ./fleet, kubeConfig: {secretRef: {name: spoke-kubeconfig}}");
    let files = [
        ("hub/flux-system/gotk-sync.yaml", sync("./hub")),
        ("hub/fleet.yaml", hub),
        ("fleet/source.yaml", sync("./fleet").split("---").next().unwrap_or_default().to_owned()),
        ("fleet/apps.yaml", kustomization("apps", "path: ./apps, dependsOn: [{name: nothing}]")),
        ("apps/a.yaml", config_map("web")),
    ];
    let files = files.each_ref().map(|(path, text)| (*path, text.as_str()));
    let scratch = Scratch::git(&files);
    scratch.run_git(&["remote", "add", "origin", "https://example.com/o/r"]);
    assert_eq!(clusters(&scratch), json!({"hub": ["flux-system", "fleet", "apps"]}));
    let show = scratch.forebay(&["config", "show"]).out;
    let row = show.lines().find(|line| line.contains("kubeConfig")).expect("a row");
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words, ["kubeConfig.flux-system/spoke-kubeconfig", "not", "followed", "hub/fleet.yaml:4"]);
    let lint = |scratch: &Scratch| scratch.forebay(&["lint", "--format", "json"]).json();
    assert_eq!(lint(&scratch)["findings"], json!([]));

    let config =
        "version: 1\nclusters:\n  - {name: spoke, kubeConfig: {secretRef: {name: spoke-kubeconfig}}}\n";
    scratch.write(".forebay.yaml", config.as_bytes());
    let spoke = json!(["apps"]);
    assert_eq!(clusters(&scratch)["spoke"], spoke);
    let answer = scratch.forebay(&["config", "show", "--format", "json"]).json();
    crate::support::scratch::assert_schema("schemas/config-show.json", &answer);
    let rows = answer["values"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["key"] == "clusters.hub.kubeConfig.flux-system/spoke-kubeconfig");
    assert_eq!(row.expect("a row")["value"], "spoke");
    assert_eq!(scratch.forebay(&["why", "ConfigMap/shop/web", "--cluster", "spoke"]).code, 0);
}

const OPERATOR: &str = "\
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec:
  distribution: {version: 2.9.x}
  sync: {kind: GitRepository, url: 'https://example.com/o/r', ref: refs/heads/main, path: clusters/main}
";

/// `kustomize.patches` of a FluxInstance reach the pair that it makes; those for
/// Deployments, which are not in Git, change nothing here.
#[test]
fn patches_of_a_flux_instance_reach_its_pair() {
    let patches = "  kustomize:
    patches:
      - target: {kind: Deployment, name: kustomize-controller}
        patch: |
          - {op: add, path: /spec/template/spec/containers/0/args/-, value: --concurrent=20}
      - patch: |
          apiVersion: apps/v1
          kind: Deployment
          metadata: {name: source-controller}
          spec: {replicas: 2}
      - target: {kind: Kustomization}
        patch: |
          - {op: replace, path: /spec/path, value: fleet/main}
          - {op: add, path: /spec/postBuild, value: {substitute: {REGION: eu}}}
      - target: {kind: GitRepository}
        patch: |
          - {op: add, path: /spec/ignore, value: 'left-out/'}
";
    let scratch = Scratch::git(&[
        ("flux/instance.yaml", &format!("{OPERATOR}{patches}")),
        ("clusters/main/a.yaml", &config_map("elsewhere")),
        ("fleet/main/a.yaml", &config_map("web").replace("k: v", "region: '${REGION}'")),
        ("fleet/main/left-out/b.yaml", &config_map("left")),
    ]);
    assert_eq!(clusters(&scratch), json!({"main": ["flux-system"]}));
    let graph = scratch.forebay(&["graph"]).out;
    assert!(graph.contains("Kustomization flux-system/flux-system  fleet/main"), "{graph}");
    let locate = scratch.forebay(&["locate", "ConfigMap/shop/web", "/data/region", "--format", "json"]);
    assert_eq!(locate.json()["value"], "eu");
    // The variable's place is in the patch.
    let why = scratch.forebay(&["why", "ConfigMap/shop/web"]).out;
    assert!(why.contains("substitution flux/instance.yaml:20"), "{why}");
    assert_eq!(scratch.forebay(&["why", "ConfigMap/shop/left"]).code, 2);
    // A copy of the root in Git is not what the operator runs.
    scratch.write("fleet/main/copy.yaml", kustomization("flux-system", "path: ./nowhere").as_bytes());
    assert_eq!(scratch.forebay(&["lint", "--select", "missing-path"]).code, 0);
}

/// The values of the flux-instance chart, in a ConfigMap that is generated.
#[test]
fn values_of_the_instance_chart_are_read_where_they_are() {
    let release = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: flux-instance, namespace: flux-system}
spec:
  interval: 1h
  chartRef: {kind: OCIRepository, name: flux-instance}
  valuesFrom: [{kind: ConfigMap, name: flux-instance-values}]
";
    let values = "instance:\n  distribution: {version: 2.9.x}\n  sync:\n    kind: GitRepository\n    url: https://example.com/o/r\n    ref: refs/heads/main\n    path: kubernetes/main\n";
    let generator = "configMapGenerator:\n  - {name: flux-instance-values, files: [values.yaml]}\nconfigurations: [names.yaml]\nnamespace: flux-system\n";
    let names = "nameReference:\n  - kind: ConfigMap\n    version: v1\n    fieldSpecs:\n      - {path: spec/valuesFrom/name, kind: HelmRelease}\n";
    let scratch = Scratch::git(&[
        ("kubernetes/flux/release.yaml", release),
        ("kubernetes/flux/values.yaml", values),
        ("kubernetes/flux/names.yaml", names),
        ("kubernetes/flux/kustomization.yaml", &overlay("release.yaml", generator)),
        ("kubernetes/main/a.yaml", &kustomization("apps", "path: ./nowhere")),
    ]);
    assert_eq!(clusters(&scratch), json!({"main": ["flux-system", "apps"]}));
    let found = scratch.forebay(&["lint", "--format", "json", "--select", "missing-path"]).json();
    assert_eq!(found["findings"][0]["location"]["path"], "kubernetes/main/a.yaml", "{found:#}");
    // An unknown path is no path.
    scratch.write("kubernetes/flux/values.yaml", values.replace("kubernetes/main", "${ROOT}").as_bytes());
    assert_eq!(scratch.forebay(&["lint", "--select", "missing-path"]).code, 0);
}

/// A file of values for the flux-instance chart says what is applied, whoever gives it to
/// Helm: taken for so. Not where it is an object, where it names no path, where its path is
/// not here, or where an instance of that root is here too.
#[test]
fn values_of_the_instance_chart_may_stand_alone() {
    let values = "instance:\n  distribution: {version: 2.9.x}\n  sync:\n    kind: GitRepository\n    url: https://example.com/o/r\n    path: kubernetes/main\n";
    let found = |text: &str, more: &[(&str, &str)]| {
        let apps = kustomization("apps", "path: ./apps");
        let map = config_map("web");
        let mut files = vec![
            ("bootstrap/flux-values.yaml", text),
            ("kubernetes/main/a.yaml", &*apps),
            ("apps/a.yaml", &*map),
        ];
        files.extend(more);
        let answer = Scratch::git(&files).forebay(&["config", "show", "--format", "json"]).json();
        answer["coverage"]["clusters"].clone()
    };
    assert_eq!(found(values, &[]), json!({"main": "assumed"}));
    let object = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\n{values}");
    let guessed = found(&object, &[]);
    assert_ne!(guessed, json!({"main": "assumed"}));
    assert_eq!(found(&values.replace("    path: kubernetes/main\n", ""), &[]), guessed);
    assert_eq!(found(&values.replace("kubernetes/main", "kubernetes/other"), &[]), guessed);
    let instance = OPERATOR.replace("clusters/main", "kubernetes/main");
    assert_eq!(found(values, &[("kubernetes/main/flux.yaml", &instance)]), json!({"main": "stated"}));
}

/// What a ResourceSet makes of inputs in the repository is in the cluster; of
/// others nobody knows.
#[test]
fn resource_sets_with_static_inputs_are_expanded() {
    let set = |inputs: &str, path: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\nmetadata: {{name: tenants, namespace: flux-system}}\n\
             spec:\n  {inputs}\n  resources:\n    - apiVersion: kustomize.toolkit.fluxcd.io/v1\n      kind: Kustomization\n      \
             metadata:\n        name: << inputs.tenant >>\n        namespace: flux-system\n      spec:\n        interval: 1h\n        \
             prune: true\n        path: {path}\n        sourceRef: {{kind: GitRepository, name: flux-system}}\n        \
             postBuild: {{substitute: {{tier: \"<< inputs.tier | quote >>\"}}}}\n"
        )
    };
    let own = "inputs: [{tenant: red, tier: 1}, {tenant: blue, tier: 2}]";
    let waits = kustomization("waits", "path: ./apps, dependsOn: [{name: red}, {name: green}]");
    let scratch = Scratch::git(&[
        ("clusters/main/flux-system/gotk-sync.yaml", &sync("./clusters/main")),
        ("clusters/main/waits.yaml", &waits),
        ("clusters/main/set.yaml", &set(own, "./tenants/<< inputs.tenant >>")),
        ("apps/a.yaml", &config_map("web")),
        ("tenants/red/a.yaml", &config_map("red").replace("k: v", "k: 'tier ${tier}'")),
        ("tenants/blue/a.yaml", &config_map("blue")),
    ]);
    assert_eq!(clusters(&scratch), json!({"main": ["flux-system", "red", "blue", "waits"]}));
    let lint = |scratch: &Scratch| {
        let answer = scratch.forebay(&["lint", "--format", "json", "--show", "info"]).json();
        let findings = answer["findings"].as_array().expect("findings").clone();
        let found: Vec<(String, String, u64)> = findings
            .iter()
            .map(|finding| {
                let at = &finding["location"];
                let text = |value: &Value| value.as_str().expect("a text").to_owned();
                (text(&finding["rule"]), text(&at["path"]), at["line"].as_u64().expect("a line"))
            })
            .collect();
        let unchecked = answer["notChecked"].as_array().expect("a list");
        (
            found,
            unchecked.iter().map(|row| row["what"].as_str().expect("a word").to_owned()).collect::<Vec<_>>(),
        )
    };
    // All of it is known, so what isn't there is an error.
    let missing = ("missing-reference".to_owned(), "clusters/main/waits.yaml".to_owned(), 4);
    assert_eq!(lint(&scratch), (vec![missing.clone()], vec![]));
    let locate = scratch.forebay(&["locate", "ConfigMap/shop/red", "/data/k", "--format", "json"]).json();
    assert_eq!(locate["value"], "tier 1");
    let locate = scratch.forebay(&["locate", "Kustomization/flux-system/blue", "/spec/path"]).out;
    // The line of the template, and the input that flowed into it.
    assert_eq!(locate, "clusters/main/set.yaml:15:15 (via input clusters/main/set.yaml:5:45)\n");
    // The template's path is wrong for one of the inputs.
    scratch.write("clusters/main/set.yaml", set(own, "./tenant/<< inputs.tenant >>").as_bytes());
    let (found, _) = lint(&scratch);
    let wrong = ("missing-path".to_owned(), "clusters/main/set.yaml".to_owned(), 15);
    assert!(found.contains(&wrong), "{found:?}");

    // A provider whose inputs are written down is as good.
    let provider = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\nmetadata: {name: one, namespace: flux-system}\n\
                    spec: {type: Static, defaultValues: {tenant: red, tier: 3}}\n";
    let from = "inputsFrom: [{name: one}]";
    scratch.write("clusters/main/set.yaml", set(from, "./tenants/<< inputs.tenant >>").as_bytes());
    scratch.write("clusters/main/provider.yaml", provider.as_bytes());
    assert_eq!(clusters(&scratch)["main"], json!(["flux-system", "red", "waits"]));
    let locate = scratch.forebay(&["locate", "ConfigMap/shop/red", "/data/k", "--format", "json"]).json();
    assert_eq!(locate["value"], "tier 3");

    // Of these nobody knows which Kustomizations there are: nothing is an error.
    let asks = provider.replace(
        "type: Static, defaultValues",
        "type: GitHubBranch, url: 'https://example.com', defaultValues",
    );
    for (inputs, path, provider) in [
        (from, "./tenants/<< inputs.tenant >>", asks.as_str()),
        ("inputsFrom: [{selector: {matchLabels: {a: b}}}]", "./tenants/<< inputs.tenant >>", provider),
        (own, "<< inputs.tier", provider),
        (own, "./tenants/<< inputs.team >>", provider),
    ] {
        scratch.write("clusters/main/set.yaml", set(inputs, path).as_bytes());
        scratch.write("clusters/main/provider.yaml", provider.as_bytes());
        assert_eq!(clusters(&scratch)["main"], json!(["flux-system", "waits"]), "{inputs} {path}");
        let (found, unchecked) = lint(&scratch);
        assert!(found.iter().all(|(rule, ..)| rule == "orphan-object"), "{inputs} {path}: {found:?}");
        assert_eq!(unchecked, ["reference-into-resource-set", "resource-set"], "{inputs} {path}");
    }
    // Functions and control flow are known.
    for path in [
        "./tenants/<< inputs.tenant | slugify >>",
        "<< if inputs.tier >>./tenants/<< inputs.tenant >><< end >>",
    ] {
        scratch.write("clusters/main/set.yaml", set(own, path).as_bytes());
        assert_eq!(clusters(&scratch)["main"], json!(["flux-system", "red", "blue", "waits"]), "{path}");
        assert_eq!(lint(&scratch), (vec![missing.clone()], vec![]), "{path}");
    }
}

/// A file that the source leaves out is missing for that reason.
#[test]
fn what_is_left_out_of_the_artifact_says_so() {
    let repository = |ignore: &str| {
        Scratch::git(&[
            ("clusters/main/flux-system/gotk-sync.yaml", &sync("./clusters/main")),
            ("clusters/main/web.yaml", &kustomization("web", "path: ./web")),
            ("clusters/main/docs.yaml", &kustomization("docs", "path: ./docs")),
            ("web/kustomization.yaml", &overlay("a.yaml", "")),
            ("web/a.yaml", &config_map("web")),
            ("docs/a.yaml", &config_map("docs")),
            (".sourceignore", ignore),
        ])
    };
    assert_eq!(repository("").forebay(&["lint"]).code, 0);
    let scratch = repository("# too much\nweb/a.*\n/docs/\n");
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    let why = |at: usize| answer["findings"][at]["why"].as_str().expect("a reason").to_owned();
    assert_eq!(answer["findings"][0]["rule"], "missing-path", "{answer:#}");
    assert!(why(0).starts_with("it exists, but `/docs/` in .sourceignore keeps it out"), "{}", why(0));
    assert_eq!(answer["findings"][1]["rule"], "missing-resource", "{answer:#}");
    assert!(why(1).starts_with("it exists, but `web/a.*` in .sourceignore keeps it out"), "{}", why(1));
    assert!(why(1).contains("the build of Kustomization flux-system/web fails"), "{}", why(1));

    // The source itself can say so, in place of the file.
    let scratch = repository("");
    let source = sync("./clusters/main").replacen("interval: 1m", "interval: 1m, ignore: 'web/a.yaml'", 1);
    scratch.write("clusters/main/flux-system/gotk-sync.yaml", source.as_bytes());
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    assert_eq!(answer["findings"].as_array().map(Vec::len), Some(1), "{answer:#}");
    let finding = &answer["findings"][0];
    assert_eq!(finding["rule"], "missing-resource", "{answer:#}");
    assert_eq!(finding["location"]["path"], "web/kustomization.yaml", "{answer:#}");
    let why = finding["why"].as_str().expect("a reason");
    assert!(
        why.starts_with("it exists, but `web/a.yaml` in spec.ignore of the source keeps it out"),
        "{why}"
    );
}

/// What a source takes back from `.sourceignore` is there from the first build on, which
/// applies the source itself: by bootstrap, by a Kustomization that holds itself, by the
/// overlay of a cluster.
#[test]
fn a_source_takes_back_what_a_file_leaves_out() {
    let ignoring =
        |path: &str| sync(path).replacen("interval: 1m", "interval: 1m, ignore: \"/*\\n!/clusters\"", 1);
    let bootstrapped = ("clusters/main/flux-system/gotk-sync.yaml", ignoring("./clusters/main"));
    let by_itself = ("clusters/main/flux/cluster.yaml", ignoring("./clusters/main"));
    let of_an_overlay = ("clusters/base/cluster.yaml", ignoring("./elsewhere"));
    let patch = "resources: [../base, web.yaml]\npatches:\n- patch: |\n    - {op: replace, path: /spec/path, value: ./clusters/main}\n  target: {kind: Kustomization, name: flux-system}\n";
    for (written, patch) in [(bootstrapped, ""), (by_itself, ""), (of_an_overlay, patch)] {
        let mut files = vec![(written.0, written.1.as_str()), (".sourceignore", "/clusters/\n")];
        let web = kustomization("web", "path: ./clusters/apps");
        let apps = config_map("web");
        let base = overlay("cluster.yaml", "");
        files.extend([("clusters/main/web.yaml", web.as_str()), ("clusters/apps/a.yaml", apps.as_str())]);
        if !patch.is_empty() {
            files.push(("clusters/main/kustomization.yaml", patch));
            files.push(("clusters/base/kustomization.yaml", &base));
        }
        let answer = Scratch::git(&files).forebay(&["lint", "--format", "json"]).json();
        assert_eq!(answer["findings"], serde_json::json!([]), "{}: {answer:#}", written.0);
        assert_eq!(answer["coverage"]["followed"], 2, "{}: {answer:#}", written.0);
    }
}

/// What lies on another branch of the same repository is not here: before the cluster is
/// bootstrapped its own ref is unknown, and only the usual ones are taken for it.
#[test]
fn a_path_of_another_branch_is_not_missing() {
    for (reference, missing) in [
        ("", 1),
        (", ref: {branch: main}", 1),
        (", ref: {branch: master}", 1),
        (", ref: {branch: dev-team}", 0),
        (", ref: {tag: v1.0.0}", 0),
        (", ref: {semver: 1.x}", 0),
    ] {
        let tenant = format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
             metadata: {{name: team, namespace: apps}}\n\
             spec: {{interval: 1m, url: 'https://example.com/o/r'{reference}}}\n---\n\
             apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
             metadata: {{name: team, namespace: apps}}\n\
             spec: {{interval: 5m, path: ./production, prune: true, sourceRef: {{kind: GitRepository, name: team}}}}\n"
        );
        let scratch = Scratch::git(&[
            ("clusters/main/flux-system/gotk-sync.yaml", "# flux bootstrap writes it\n"),
            ("clusters/main/tenant.yaml", &tenant),
        ]);
        scratch.run_git(&["remote", "add", "origin", "https://example.com/o/r.git"]);
        let answer = scratch.forebay(&["lint", "--format", "json"]).json();
        let found = answer["findings"].as_array().expect("findings");
        let paths = found.iter().filter(|finding| finding["rule"] == "missing-path").count();
        assert_eq!(paths, missing, "{reference}: {answer:#}");
    }
}

/// `why` names the text of a patch, not only the entry that applies it.
#[test]
fn why_shows_the_patch_itself() {
    let merge =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata: {region: eu}\n";
    let two = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: db, namespace: shop}}\ndata: {{k: x}}\n---\n{merge}"
    );
    let patches =
        "patches:\n  - path: removes.yaml\n    target: {kind: ConfigMap, name: web}\n  - path: two.yaml\n";
    let scratch = Scratch::new(&[
        ("app/kustomization.yaml", &overlay("a.yaml, b.yaml", patches)),
        ("app/a.yaml", &config_map("web")),
        ("app/b.yaml", &config_map("db")),
        ("app/removes.yaml", "- {op: remove, path: /data/k}\n"),
        ("app/two.yaml", &two),
    ]);
    let why = scratch.forebay(&["why", "ConfigMap/shop/web"]).out;
    let patches: Vec<&str> = why.lines().filter(|line| line.contains("patch ")).collect();
    let expected = [
        "patch        app/removes.yaml:1:1 (via patch app/kustomization.yaml:5:5)",
        "patch        app/two.yaml:6:1 (via patch app/kustomization.yaml:7:5)",
    ];
    assert_eq!(patches.iter().map(|line| line.trim()).collect::<Vec<_>>(), expected, "{why}");
    let answer = scratch.forebay(&["why", "ConfigMap/shop/web", "--format", "json"]).json();
    crate::support::scratch::assert_schema("schemas/why.json", &answer);
    assert_eq!(answer["files"][1]["location"]["via"][0]["location"]["line"], 5, "{answer:#}");
}

/// What no cluster applies is found by the directory that it lies in, also where names of
/// neighbours begin in the same way: `-` and `.` come before `/`, `0` comes behind it.
#[test]
fn orphans_are_found_below_a_directory() {
    let places =
        ["web.yaml", "web-old/a.yaml", "web.d/a.yaml", "web/a.yaml", "web/sub/a.yaml", "web0/a.yaml"];
    let lost = places.map(|place| (format!("lost/{place}"), config_map("x")));
    let stated = [
        ("clusters/a/flux-system/gotk-sync.yaml".to_owned(), sync("./clusters/a")),
        ("top.yaml".to_owned(), config_map("top")),
    ];
    let files: Vec<_> = stated.into_iter().chain(lost).collect();
    let files = files.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
    let snapshot = Arc::new(Snapshot::memory(files, Arc::new(Store::default())));
    let world = World::new(&snapshot, &Config::default(), &[]);
    for directory in ["", "lost", "lost/web", "lost/web/sub", "lost/web0", "lost/we", "clusters", "zzz"] {
        let is_below = |path: &str| {
            directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
        };
        let all = world.orphans().map(|object| object.path().clone());
        let expected: Vec<_> = all.filter(|path| is_below(path)).collect();
        let found: Vec<_> = world.orphans_below(directory).map(|object| object.path().clone()).collect();
        assert_eq!(found, expected, "{directory}");
    }
    assert_eq!(world.orphans_below("lost/web").count(), 2);
}

/// What lies in a directory of clusters is a cluster, also where the word says what else may
/// lie there.
#[test]
fn clusters_are_called_by_their_directories() {
    for (roots, names) in [
        (["kubernetes/clusters/apps", "kubernetes/clusters/infra"], ["apps", "infra"]),
        (["clusters/prod/apps", "clusters/dev/apps"], ["prod", "dev"]),
        (["clusters/flux", "clusters/bootstrap"], ["flux", "bootstrap"]),
        (["kubernetes/prod/flux/config", "kubernetes/dev/flux/config"], ["prod", "dev"]),
    ] {
        let syncs = roots.map(|root| (format!("{root}/gotk-sync.yaml"), sync(&format!("./{root}"))));
        let scratch = Scratch::git(&[(&*syncs[0].0, &*syncs[0].1), (&*syncs[1].0, &*syncs[1].1)]);
        let mut found: Vec<String> =
            clusters(&scratch).as_object().expect("clusters").keys().cloned().collect();
        let mut names = names.map(str::to_owned).to_vec();
        found.sort();
        names.sort();
        assert_eq!(found, names, "{roots:?}");
    }
}
