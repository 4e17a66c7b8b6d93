//! `forebay plan` over a git history that the test builds: thirty commits, each
//! planned against its parent; revisions, default bases and exit codes.

use std::path::Path;
use std::process::{Command, Output};

fn git(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    let output = command
        .current_dir(directory)
        .args(["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"])
        .args(["-c", "init.defaultBranch=main"])
        .args(arguments)
        .output()
        .expect("git is installed");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn forebay(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forebay"))
        .current_dir(directory)
        .env_remove("GITHUB_REF")
        .args(arguments)
        .output()
        .expect("the binary was built")
}

fn json(directory: &Path, arguments: &[&str]) -> serde_json::Value {
    let mut all = vec!["plan", "--format", "json"];
    all.extend(arguments);
    let output = forebay(directory, &all);
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn write(directory: &Path, path: &str, text: &str) {
    let path = directory.join(path);
    std::fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("temporary directory");
    std::fs::write(path, text).expect("temporary directory");
}

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://example.com/fleet'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec:
  interval: 10m
  path: ./clusters/prod
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
";

fn config_map(number: usize, value: usize) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-{number}\n  namespace: default\ndata:\n  value: \"{value}\"\n"
    )
}

fn repository() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("temporary directory");
    git(directory.path(), &["init", "-q"]);
    write(directory.path(), "clusters/prod/flux-system/gotk-sync.yaml", SYNC);
    git(directory.path(), &["add", "-A"]);
    git(directory.path(), &["commit", "-qm", "base"]);
    directory
}

#[test]
fn thirty_commits_each_have_the_effects_of_their_own_change() {
    let repository = repository();
    let root = repository.path();
    for number in 0..30 {
        // Add one, change an older one, remove an even older one.
        write(root, &format!("clusters/prod/{number}.yaml"), &config_map(number, 0));
        if number >= 3 {
            write(root, &format!("clusters/prod/{}.yaml", number - 3), &config_map(number - 3, number));
        }
        if number >= 6 {
            std::fs::remove_file(root.join(format!("clusters/prod/{}.yaml", number - 6)))
                .expect("written before");
        }
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", "change"]);
        let plan = json(root, &["--base", "HEAD^1", "--head", "HEAD"]);
        let effects: Vec<(String, String)> = plan["effects"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|effect| {
                let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
                (text(&effect["effect"]), text(&effect["object"]["name"]))
            })
            .collect();
        let mut expected = Vec::new();
        if number >= 6 {
            expected.push(("deleted".to_owned(), format!("settings-{}", number - 6)));
        }
        expected.push(("added".to_owned(), format!("settings-{number}")));
        if number >= 3 {
            expected.push(("changed".to_owned(), format!("settings-{}", number - 3)));
        }
        let sorted = |mut list: Vec<(String, String)>| {
            list.sort();
            list
        };
        assert_eq!(sorted(effects), sorted(expected), "commit {number}");
    }
}

#[test]
fn the_base_is_the_merge_base_with_the_main_branch() {
    let repository = repository();
    let root = repository.path();
    git(root, &["checkout", "-qb", "feature"]);
    write(root, "clusters/prod/a.yaml", &config_map(1, 1));
    let plan = json(root, &[]);
    assert_eq!(plan["summary"]["routine"], 1, "{plan}");
    assert_eq!(plan["head"], "working tree");
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "feature"]);
    assert_eq!(json(root, &[])["effects"].as_array().map(Vec::len), Some(1));
    assert_eq!(json(root, &["--base", "HEAD"])["effects"].as_array().map(Vec::len), Some(0));
}

#[test]
fn exit_codes_tell_effects_and_missing_bases() {
    let repository = repository();
    let root = repository.path();
    write(root, "clusters/prod/a.yaml", &config_map(1, 1));
    for (arguments, code) in [
        (&["plan", "--base", "HEAD"][..], 0),
        (&["plan", "--base", "HEAD", "--exit-code"], 1),
        (&["plan", "--base", "HEAD", "--head", "HEAD", "--exit-code"], 0),
        (&["plan", "--base", "HEAD", "--fail-on-effect", "added"], 1),
        (&["plan", "--base", "HEAD", "--fail-on-effect", "routine"], 1),
        (&["plan", "--base", "HEAD", "--fail-on-effect", "disruptive,deleted"], 0),
        (&["plan", "--base", "no-such-branch"], 3),
        (&["plan", "--base", "./no-such-directory"], 3),
        (&["plan", "--base", "HEAD", "--cluster", "no-such-cluster"], 2),
        (&["plan", "--base", "HEAD", "--format", "yaml"], 2),
    ] {
        let output = forebay(root, arguments);
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn a_directory_can_be_the_base() {
    let repository = repository();
    let root = repository.path();
    let before = tempfile::tempdir().expect("temporary directory");
    write(before.path(), "clusters/prod/flux-system/gotk-sync.yaml", SYNC);
    write(before.path(), "clusters/prod/a.yaml", &config_map(1, 1));
    let base = before.path().to_str().expect("a temporary path is UTF-8");
    let plan = json(root, &["--base", base]);
    assert_eq!(plan["effects"][0]["effect"], "deleted", "{plan}");
    assert_eq!(plan["effects"][0]["causes"][0]["side"], "base");
}

#[test]
fn a_rename_that_breaks_an_unchanged_file_is_new_since_the_base() {
    let repository = repository();
    let root = repository.path();
    let kustomization = |name: &str, rest: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: {name}\n  \
             namespace: flux-system\nspec:\n  interval: 10m\n  path: ./apps\n  prune: true\n  sourceRef:\n    \
             kind: GitRepository\n    name: flux-system\n{rest}"
        )
    };
    write(root, "apps/a.yaml", &config_map(1, 1));
    write(root, "clusters/prod/infra.yaml", &kustomization("infra", ""));
    write(root, "clusters/prod/apps.yaml", &kustomization("apps", "  dependsOn:\n    - name: infra\n"));
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "two"]);
    let quiet = forebay(root, &["lint", "--since", "HEAD"]);
    assert_eq!(quiet.status.code(), Some(0), "{}", String::from_utf8_lossy(&quiet.stdout));
    write(root, "clusters/prod/infra.yaml", &kustomization("infrastructure", ""));
    let output = forebay(root, &["lint", "--since", "HEAD", "--format", "concise"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("clusters/prod/apps.yaml:14:13: error[missing-reference]"), "{text}");
}

/// Of a Kustomization that builds on neither side nothing can be told: that is said.
#[test]
fn what_builds_on_neither_side_is_not_taken_for_unchanged() {
    let app = "---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: app, namespace: flux-system}\n\
               spec: {interval: 10m, path: ./app, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}\n";
    let broken = "resources: [a.yaml, gone.yaml]\n";
    let whole = "resources: [a.yaml]\n";
    let undefined = app.replace("spec: {", "spec: {postBuild: {substitute: {A: b}}, ");
    let malformed = config_map(1, 1).replace("\"1\"", "'${A'");
    // The Kustomization, and on each side its file and its object.
    let table: [(&str, [&str; 2], [&str; 2], bool); 6] = [
        (app, [broken, broken], ["1", "2"], true),
        (app, [broken, whole], ["1", "2"], false),
        (app, [whole, broken], ["1", "2"], false),
        (app, [whole, whole], ["1", "2"], false),
        (&app.replace("./app", "./nowhere"), [whole, whole], ["1", "2"], true),
        (&undefined, [whole, whole], [&malformed, &malformed.replace("${A", "x${A")], true),
    ];
    for (number, (kustomization, files, objects, silent)) in table.into_iter().enumerate() {
        let repository = repository();
        let root = repository.path();
        write(root, "clusters/prod/app.yaml", kustomization);
        for (file, object) in files.into_iter().zip(objects) {
            write(root, "app/kustomization.yaml", file);
            let text = match object.parse() {
                Ok(value) => config_map(1, value),
                Err(_) => object.to_owned(),
            };
            write(root, "app/a.yaml", &text);
            git(root, &["add", "-A"]);
            git(root, &["commit", "-qm", "change"]);
        }
        let found = json(root, &["--base", "HEAD~1"]);
        let told: Vec<&serde_json::Value> = found["notChecked"]
            .as_array()
            .expect("a list")
            .iter()
            .filter(|entry| entry["what"] == "build-fails-on-both-sides")
            .collect();
        assert_eq!(told.len(), usize::from(silent), "{number}: {found}");
        for entry in told {
            assert_eq!(entry["count"], 1, "{number}");
            assert_eq!(entry["examples"][0], "Kustomization flux-system/app in prod", "{number}");
        }
        let text = forebay(root, &["plan", "--base", "HEAD~1"]);
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        assert_eq!(text.contains("1 Kustomization unbuildable on both sides"), silent, "{number}: {text}");
        let complete = forebay(root, &["plan", "--base", "HEAD~1", "--complete"]);
        assert!(!silent || complete.status.code() == Some(1), "{number}");
    }
}

/// Overlays, Argo CD and plain manifests: who applies them is not said, nor what becomes of
/// what leaves them.
#[test]
fn what_nothing_applies_may_go_or_stay() {
    let directory = tempfile::tempdir().expect("temporary directory");
    let root = directory.path();
    git(root, &["init", "-q"]);
    let overlay = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n";
    let application = |name: &str| {
        format!(
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: {name}\n  namespace: argocd\n"
        )
    };
    write(root, "overlays/prod/kustomization.yaml", &overlay.replace("a.yaml", "a.yaml, b.yaml"));
    write(root, "overlays/prod/a.yaml", &config_map(1, 1));
    write(root, "overlays/prod/b.yaml", &config_map(2, 1));
    write(root, "argocd/shop.yaml", &application("shop"));
    write(root, "plain/one.yaml", &config_map(3, 1));
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "base"]);
    write(root, "overlays/prod/kustomization.yaml", overlay);
    for file in ["overlays/prod/b.yaml", "argocd/shop.yaml", "plain/one.yaml"] {
        std::fs::remove_file(root.join(file)).expect("written before");
    }
    write(
        root,
        "overlays/prod/c.yaml",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {}\n",
    );
    write(root, "overlays/prod/kustomization.yaml", &overlay.replace("a.yaml", "a.yaml, c.yaml"));
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "change"]);
    let plan = json(root, &["--base", "HEAD^1", "--head", "HEAD"]);
    let effects = plan["effects"].as_array().expect("a list");
    let gone: Vec<_> = effects.iter().filter(|effect| effect["effect"] == "orphaned").collect();
    assert_eq!(gone.len(), 3, "{effects:#?}");
    for effect in gone {
        let unknown = ["nothing here says what applies it, and so whether it is deleted"];
        assert_eq!(effect["consequences"], serde_json::json!(unknown), "{effect:#}");
    }
    let added: Vec<_> = effects.iter().filter(|effect| effect["effect"] == "added").collect();
    assert_eq!(added.len(), 1, "{effects:#?}");
    assert_eq!(added[0]["reason"], "in the build of overlays/prod", "{:#}", added[0]);
    let text = forebay(root, &["plan", "--base", "HEAD^1", "--head", "HEAD"]).stdout;
    let first = "nothing is known to be deleted, replaced or refused; 3 objects may be deleted\n";
    assert!(text.starts_with(first.as_bytes()), "{}", String::from_utf8_lossy(&text));
}
