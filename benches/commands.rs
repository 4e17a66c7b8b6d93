//! Whole processes, from start to exit, on repositories that this file
//! generates and on the corpus where it is present, against reading the same
//! bytes and against yaml-rust2's loader in one thread. docs/performance.md has
//! the ratios.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/support/corpus.rs"]
mod corpus;

use corpus::{Corpus, manifests};
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 15;

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    println!("median of {RUNS} runs, and the fastest");
    time("start and exit", || run(root, &["--version"]));
    for apps in [100, 2000] {
        let fleet = root.join(format!("fleet-{apps}"));
        write_fleet(&fleet, apps);
        against_bytes(&format!("lint {} files", apps * 5), &fleet);
    }
    let fleet = root.join("fleet-100");
    git(&fleet, &["init", "--quiet", "--initial-branch", "main"]);
    git(&fleet, &["add", "."]);
    let author = ["-c", "user.name=bench", "-c", "user.email=bench@example.com"];
    git(&fleet, &[&author[..], &["commit", "--quiet", "--message", "base"]].concat());
    let deployment = fleet.join("apps/app-7/deployment.yaml");
    let changed = fs::read_to_string(&deployment).unwrap().replace("6.5.4", "6.6.0");
    fs::write(&deployment, changed).unwrap();
    time("plan of one changed image in 500 files", || run(&fleet, &["plan", "--base", "HEAD"]));
    let faults = root.join("faults");
    write_faults(&faults);
    time("lint with 2,000 findings, full", || run(&faults, &["lint", "--format", "full", "."]));
    time("lint with 2,000 findings, json", || run(&faults, &["lint", "--format", "json", "."]));
    if let Some(corpus) = Corpus::find() {
        for entry in fs::read_dir(corpus.root()).unwrap().flatten().filter(|entry| entry.path().is_dir()) {
            against_bytes(&format!("lint {}", entry.file_name().to_string_lossy()), &entry.path());
        }
    }
}

/// Lint of a tree, and what reading and parsing alone costs.
fn against_bytes(name: &str, root: &Path) {
    let files = manifests(root);
    let lint = time(name, || run(root, &["lint", "--no-config", "--root", ".", "."]));
    let read = time("  read the bytes", || {
        for path in &files {
            black_box(fs::read(path).unwrap());
        }
    });
    let texts: Vec<String> = files.iter().filter_map(|path| fs::read_to_string(path).ok()).collect();
    let loaded = time("  yaml-rust2's loader", || {
        for text in &texts {
            // Some of the corpus is no YAML that it can read.
            let _ = black_box(yaml_rust2::YamlLoader::load_from_str(text));
        }
    });
    println!(
        "  {:.1} times reading, {:.2} times yaml-rust2's loader\n",
        lint.as_secs_f64() / read.as_secs_f64(),
        lint.as_secs_f64() / loaded.as_secs_f64()
    );
}

/// The median.
fn time(name: &str, mut work: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    println!("{name:44} {:9.1?} {:9.1?}", times[RUNS / 2], times[0]);
    times[RUNS / 2]
}

fn run(directory: &Path, arguments: &[&str]) {
    let status = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(arguments)
        .current_dir(directory)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(matches!(status.code(), Some(0 | 1)), "{arguments:?}: {status}");
}

fn git(directory: &Path, arguments: &[&str]) {
    assert!(Command::new("git").args(arguments).current_dir(directory).status().unwrap().success());
}

/// One cluster, whose applications have five files and nine documents each.
fn write_fleet(root: &Path, apps: usize) {
    let write = |path: String, text: String| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write(
        "clusters/production/flux-system/gotk-sync.yaml".to_owned(),
        "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: flux-system\n  \
         namespace: flux-system\nspec:\n  interval: 1m\n  url: https://example.com/fleet.git\n  ref:\n    branch: \
         main\n---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: \
         flux-system\n  namespace: flux-system\nspec:\n  interval: 10m\n  path: ./clusters/production\n  prune: \
         true\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n"
            .to_owned(),
    );
    for app in 0..apps {
        let depends = match app {
            0 => String::new(),
            _ => format!("  dependsOn:\n  - name: app-{}\n", app / 2),
        };
        write(
            format!("clusters/production/app-{app}.yaml"),
            format!(
                "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: app-{app}\n---\napiVersion: \
                 kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: app-{app}\n  namespace: \
                 flux-system\nspec:\n{depends}  interval: 10m\n  path: ./apps/app-{app}\n  prune: true\n  \
                 targetNamespace: app-{app}\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n  \
                 postBuild:\n    substitute:\n      replicas: \"{}\"\n",
                app % 5 + 1
            ),
        );
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

/// Twenty files with a hundred misspelled annotations each.
fn write_faults(root: &Path) {
    fs::create_dir_all(root).unwrap();
    for file in 0..20 {
        let documents: Vec<String> = (0..100)
            .map(|number| {
                format!(
                    "apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata:\n  name: \
                     charts-{file}-{number}\n  namespace: flux-system\n  annotations:\n    \
                     events.toolkit.fluxcd.io/team: platform\nspec:\n  interval: 1h\n  url: \
                     https://charts.example.com\n"
                )
            })
            .collect();
        fs::write(root.join(format!("charts-{file}.yaml")), documents.join("---\n")).unwrap();
    }
}
