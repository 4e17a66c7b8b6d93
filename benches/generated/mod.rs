//! Repositories that benches generate.

#![allow(dead_code, clippy::unwrap_used, reason = "each bench uses a part")]

use std::fs;
use std::path::Path;

/// Clusters that apply the same applications, of four files and seven documents each,
/// and one file of two documents in each cluster.
pub(crate) fn write_fleet(root: &Path, clusters: &[&str], apps: usize) {
    let write = |path: String, text: String| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for cluster in clusters {
        write(
            format!("clusters/{cluster}/flux-system/gotk-sync.yaml"),
            format!(
                "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: flux-system\n  \
         namespace: flux-system\nspec:\n  interval: 1m\n  url: https://example.com/fleet.git\n  ref:\n    branch: \
         main\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: \
         flux-system\n  namespace: flux-system\nspec:\n  interval: 10m\n  path: ./clusters/{cluster}\n  prune: \
         true\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n"
            ),
        );
    }
    for app in 0..apps {
        let depends = match app {
            0 => String::new(),
            _ => format!("  dependsOn:\n  - name: app-{}\n", app / 2),
        };
        for cluster in clusters {
            write(
                format!("clusters/{cluster}/app-{app}.yaml"),
                format!(
                    "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: app-{app}\n---\napiVersion: \
                 kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: app-{app}\n  namespace: \
                 flux-system\nspec:\n{depends}  interval: 10m\n  path: ./apps/app-{app}\n  prune: true\n  \
                 targetNamespace: app-{app}\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n  \
                 postBuild:\n    substitute:\n      replicas: \"{}\"\n",
                    app % 5 + 1
                ),
            );
        }
        write(
            format!("apps/app-{app}/kustomization.yaml"),
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n- deployment.yaml\n- \
             config.yaml\n- release.yaml\nlabels:\n- pairs:\n    team: platform\n"
                .to_owned(),
        );
        write(
            format!("apps/app-{app}/deployment.yaml"),
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{app}\n  labels:\n    \
                 app.kubernetes.io/name: app-{app}\nspec:\n  replicas: ${{replicas}}\n  selector:\n    \
                 matchLabels:\n      app.kubernetes.io/name: app-{app}\n  template:\n    metadata:\n      \
                 labels:\n        app.kubernetes.io/name: app-{app}\n    spec:\n      containers:\n      - name: \
                 main\n        image: ghcr.io/example/app-{app}:6.5.4\n        args: [serve, --port=8080]\n        \
                 ports:\n        - name: http\n          containerPort: 8080\n        envFrom:\n        - \
                 configMapRef:\n            name: app-{app}\n---\napiVersion: v1\nkind: Service\nmetadata:\n  name: \
                 app-{app}\nspec:\n  selector:\n    app.kubernetes.io/name: app-{app}\n  ports:\n  - name: \
                 http\n    port: 80\n    targetPort: http\n"
            ),
        );
        write(
            format!("apps/app-{app}/config.yaml"),
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: app-{app}\ndata:\n  config.toml: |\n    \
                 [server]\n    port = 8080\n    hosts = [\"app-{app}.example.com\"]\n---\napiVersion: \
                 v1\nkind: ServiceAccount\nmetadata:\n  name: app-{app}\n"
            ),
        );
        write(
            format!("apps/app-{app}/release.yaml"),
            format!(
                "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata:\n  name: \
                 charts\nspec:\n  interval: 1h\n  url: https://charts.example.com\n---\napiVersion: \
                 helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: cache\n  annotations:\n    \
                 event.toolkit.fluxcd.io/team: platform # for the channel of app-{app}\nspec:\n  interval: \
                 10m\n  chart:\n    spec:\n      chart: cache\n      version: 1.2.x\n      sourceRef:\n        \
                 kind: HelmRepository\n        name: charts\n  values:\n    size: 2Gi\n    nodes: [a, b, c]\n"
            ),
        );
    }
}

/// Overlays of one base, each with a prefix and a patch, applied by one cluster each.
/// The bytes of all.
pub(crate) fn write_overlays(root: &Path, objects: usize, overlays: usize) -> usize {
    let mut bytes = 0;
    let mut write = |path: String, text: String| {
        let path = root.join(path);
        bytes += text.len();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let names: Vec<String> = (0..objects).map(|number| format!("- app-{number}.yaml\n")).collect();
    write("base/kustomization.yaml".to_owned(), format!("resources:\n{}", names.concat()));
    for number in 0..objects {
        write(
            format!("base/app-{number}.yaml"),
            format!(
                "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: app-{number}\n  namespace: web\nspec:\n  \
                 replicas: 1\n  selector:\n    matchLabels: {{app: app-{number}}}\n  template:\n    metadata:\n      \
                 labels: {{app: app-{number}}}\n    spec:\n      containers:\n      - name: main\n        image: \
                 ghcr.io/example/app-{number}:6.5.4\n        args: [serve, --port=8080]\n"
            ),
        );
    }
    for number in 0..overlays {
        write(
            format!("overlays/{number}/kustomization.yaml"),
            format!(
                "resources: [../../base]\nnamePrefix: o{number}-\npatches:\n- target: {{kind: Deployment}}\n  patch: |\n    \
                 - {{op: replace, path: /spec/replicas, value: {number}}}\n"
            ),
        );
    }
    bytes
}

/// Clusters that apply one directory of ConfigMaps, each by a Kustomization of its own that
/// changes nothing.
pub(crate) fn write_shared(root: &Path, clusters: &[&str], objects: usize) {
    write_fleet(root, clusters, 0);
    for cluster in clusters {
        let text = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: apps\n  \
                    namespace: flux-system\nspec:\n  interval: 10m\n  path: ./apps\n  prune: true\n  sourceRef:\n    \
                    kind: GitRepository\n    name: flux-system\n";
        fs::write(root.join(format!("clusters/{cluster}/apps.yaml")), text).unwrap();
    }
    fs::create_dir_all(root.join("apps")).unwrap();
    let object = |number: usize| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config-{number}\n  namespace: default\ndata:\n  \
             number: \"{number}\"\n---\n"
        )
    };
    fs::write(root.join("apps/all.yaml"), (0..objects).map(object).collect::<String>()).unwrap();
}

/// Files of some bytes each, of ConfigMaps with long texts, that one cluster applies.
pub(crate) fn write_huge(root: &Path, files: usize, bytes: usize) {
    write_shared(root, &["production"], 0);
    let line = "    a line of a text that somebody wrote for people to read\n";
    let text = line.repeat(64 * 1024 / line.len());
    for file in 0..files {
        let object = |number: usize| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: text-{file}-{number}\n  namespace: default\ndata:\n  \
                 text: |\n{text}---\n"
            )
        };
        let all: String = (0..bytes / text.len()).map(object).collect();
        fs::write(root.join(format!("apps/text-{file}.yaml")), all).unwrap();
    }
    fs::remove_file(root.join("apps/all.yaml")).unwrap();
}
