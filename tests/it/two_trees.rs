//! A fleet of two repositories: A maps a source to B beside it, and both hold
//! `apps/x.yaml`. Every command tells which of them it means, and changes A's alone.

use crate::support::scratch::{Run, Scratch};
use serde_json::Value;

pub(crate) const CONFIG: &str = "version: 1\n\
    sources: [{kind: GitRepository, name: fleet-b, namespace: flux-system, dir: ../b}]\n\
    clusters: [{name: prod, path: clusters/prod}]\n";

pub(crate) const CLUSTER: &str = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
    metadata: {name: fleet-b, namespace: flux-system}\n\
    spec: {interval: 1m, url: 'https://example.com/b'}\n\
    ---\n\
    apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
    metadata: {name: b, namespace: flux-system}\n\
    spec:\n  interval: 10m\n  prune: true\n  path: ./apps\n  \
    sourceRef: {kind: GitRepository, name: fleet-b}\n";

/// A's file: a label whose value the API server refuses.
pub(crate) const OURS: &str = "# A's file, of other bytes than B's\napiVersion: v1\nkind: ConfigMap\n\
    metadata: {name: own, namespace: flux-system, labels: {note: 'has space'}}\n";

/// B's file: a version that Flux no longer serves, a Secret, a suspendable object.
const THEIRS: &str = "apiVersion: source.toolkit.fluxcd.io/v1beta2\nkind: HelmRepository\n\
    metadata: {name: charts, namespace: flux-system}\n\
    spec: {interval: 5m, url: 'https://example.com/charts'}\n\
    ---\n\
    apiVersion: v1\nkind: Secret\nmetadata: {name: creds, namespace: flux-system}\n\
    stringData: {token: Sup3rS3cretT0kenValue}\n\
    ---\n\
    apiVersion: v1\nkind: ConfigMap\n\
    metadata: {name: copy, namespace: flux-system, labels: {token: x}}\n\
    ---\n\
    apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\n\
    metadata: {name: told, namespace: flux-system}\n\
    spec: {summary: all, providerRef: {name: chat}, eventSources: [{kind: HelmRepository, name: charts}]}\n\
    ---\n\
    apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Provider\n\
    metadata: {name: chat, namespace: flux-system}\nspec: {type: slack}\n";

pub(crate) const KUSTOMIZATION: &str = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\
    resources: [x.yaml]\n\
    replacements:\n\
    - source: {kind: Secret, name: creds, fieldPath: stringData.token}\n  \
    targets: [{select: {kind: ConfigMap, name: copy}, fieldPaths: [metadata.labels.token]}]\n";

pub(crate) const LISTED: &str = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n\
    resources: [ks.yaml, ../../apps/x.yaml]\n";

/// The two of them, with more files over these; A is a git repository with a commit.
pub(crate) fn fleet(more: &[(&str, &str)]) -> Scratch {
    let files = [
        ("a/.forebay.yaml", CONFIG),
        ("a/clusters/prod/ks.yaml", CLUSTER),
        ("a/clusters/prod/kustomization.yaml", LISTED),
        ("a/apps/x.yaml", OURS),
        ("b/apps/x.yaml", THEIRS),
        ("b/apps/kustomization.yaml", KUSTOMIZATION),
    ];
    let scratch = Scratch::new(&[&files, more].concat());
    scratch.run_git(&["init", "-q", "-b", "main", "a"]);
    scratch.run_git(&["-C", "a", "add", "-A"]);
    scratch.run_git(&["-C", "a", "commit", "-q", "-m", "first"]);
    scratch
}

fn run(scratch: &Scratch, arguments: &[&str]) -> Run {
    scratch.forebay(&[&["--root", "a", "--allow-dir", "b"], arguments].concat())
}

fn findings(scratch: &Scratch, arguments: &[&str]) -> Vec<(String, String, u64)> {
    let arguments = [&["lint", "--format", "json", "--show", "info", "--fail-on", "never"], arguments];
    let answer = run(scratch, &arguments.concat()).json();
    let one = |finding: &Value| {
        let place = &finding["location"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&finding["rule"]), text(&place["path"]), place["line"].as_u64().unwrap_or_default())
    };
    answer["findings"].as_array().expect("findings").iter().map(one).collect()
}

fn has(found: &[(String, String, u64)], rule: &str, path: &str, line: u64) -> bool {
    found.iter().any(|one| *one == (rule.to_owned(), path.to_owned(), line))
}

#[test]
fn findings_stand_in_the_file_that_they_are_about() {
    let scratch = fleet(&[]);
    let found = findings(&scratch, &[]);
    assert!(has(&found, "malformed-label-value", "apps/x.yaml", 4), "{found:?}");
    assert!(has(&found, "removed-api-version", "../b/apps/x.yaml", 1), "{found:?}");
    // Those that fail the run count wherever they are.
    let broken = THEIRS.replace("labels: {token: x}", "labels: {token: 'a b', x: y}");
    let kustomization = KUSTOMIZATION.split("replacements").next().expect("the head");
    let files = [
        ("b/apps/x.yaml", broken.as_str()),
        ("b/apps/kustomization.yaml", kustomization),
        ("a/apps/x.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own, namespace: flux-system}\n"),
    ];
    let scratch = fleet(&files);
    let lint = run(&scratch, &["lint", "--format", "concise"]);
    assert_eq!(lint.code, 1, "{}", lint.out);
    assert!(lint.out.contains("../b/apps/x.yaml:13:"), "{}", lint.out);
}

#[test]
fn every_format_names_the_other_tree() {
    let scratch = fleet(&[]);
    for format in ["full", "concise", "json", "github", "gitlab", "junit", "markdown", "html"] {
        let out = run(&scratch, &["lint", "--format", format, "--fail-on", "never"]).out;
        assert!(out.contains("../b/apps/x.yaml"), "{format}: {out}");
    }
    let sarif = run(&scratch, &["lint", "--format", "sarif", "--fail-on", "never"]).json();
    let run = &sarif["runs"][0];
    assert_eq!(run["originalUriBaseIds"]["TREE1"]["uri"], "../b/");
    let places = run["results"].as_array().expect("results").iter();
    let places: Vec<&Value> =
        places.map(|result| &result["locations"][0]["physicalLocation"]["artifactLocation"]).collect();
    let is =
        |uri: &str, base: &str| places.iter().any(|place| place["uri"] == uri && place["uriBaseId"] == base);
    assert!(is("apps/x.yaml", "TREE1") && is("apps/x.yaml", "%SRCROOT%"), "{places:?}");
    // The full text shows B's line, not A's.
    let full = self::run(&scratch, &["lint", "--fail-on", "never"]).out;
    assert!(full.contains("source.toolkit.fluxcd.io/v1beta2"), "{full}");
}

#[test]
fn nothing_is_written_outside_of_the_root() {
    let commands: [&[&str]; 12] = [
        &["lint", "--fix"],
        &["lint", "--fix=unsafe"],
        &["lint", "--fix=unsafe", "--select", "all"],
        &["lint", "--add-ignores", "--reason", "known"],
        &["migrate", "api-versions"],
        &["migrate", "api-versions", "--to", "2.9"],
        &["migrate", "alert-summary"],
        &["suspend", "HelmRepository/flux-system/charts", "--message", "later"],
        &["resume", "HelmRepository/flux-system/charts"],
        &["rename", "HelmRepository/flux-system/charts", "store"],
        &["rename", "ConfigMap/flux-system/copy", "other"],
        &["move", "HelmRepository/flux-system/charts", "--to", "ks/flux-system/flux-system"],
    ];
    for command in commands {
        let scratch = fleet(&[]);
        let run = run(&scratch, command);
        assert_eq!(scratch.read("b/apps/x.yaml"), THEIRS, "{command:?}");
        assert_eq!(scratch.read("b/apps/kustomization.yaml"), KUSTOMIZATION, "{command:?}");
        // A's file has no word of what B's is told about, so that only its own finding may
        // change it.
        let ours =
            scratch.read("a/apps/x.yaml").replace("# forebay: ignore[malformed-label-value] known\n", "");
        assert_eq!(ours, OURS, "{command:?}: {}{}", run.out, run.err);
        assert!(run.code < 3, "{command:?}: {} {}", run.code, run.err);
    }
}

#[test]
fn a_refused_change_names_the_file_and_the_way_out() {
    let scratch = fleet(&[]);
    for command in [
        &["rename", "HelmRepository/flux-system/charts", "store"][..],
        &["suspend", "HelmRepository/flux-system/charts"],
    ] {
        let run = run(&scratch, command);
        let said = run.out + &run.err;
        assert!(run.code == 1 || run.code == 2, "{command:?}: {} {said}", run.code);
        assert!(said.contains("../b/apps/x.yaml") && said.contains("file tree"), "{command:?}: {said}");
    }
    let migrated = run(&scratch, &["migrate", "api-versions", "--to", "2.9"]);
    assert_eq!(migrated.code, 1, "{}", migrated.err);
    assert!(migrated.err.contains("another file tree"), "{}", migrated.err);
}

#[test]
fn why_and_locate_give_the_place_in_the_other_tree() {
    let scratch = fleet(&[]);
    let why = run(&scratch, &["why", "HelmRepository/charts"]);
    assert!(why.out.contains("../b/apps/x.yaml:1"), "{}", why.out);
    let own = run(&scratch, &["why", "ConfigMap/own"]);
    assert!(own.out.contains(" apps/x.yaml:2"), "{}", own.out);
    let locate = run(&scratch, &["locate", "HelmRepository/charts", "/spec/url"]);
    assert_eq!(locate.out.trim(), "../b/apps/x.yaml:4:27");
    let json = run(&scratch, &["locate", "HelmRepository/charts", "/spec/url", "--format", "json"]).json();
    assert_eq!(json["location"]["path"], "../b/apps/x.yaml");
    assert_eq!(json["location"]["start"], THEIRS.find("'https").expect("there"));
}

#[test]
fn a_secret_of_the_other_tree_stays_one() {
    let scratch = fleet(&[]);
    scratch.write("a/clusters/prod/more.yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n");
    let commands: [&[&str]; 12] = [
        &["build", "--all"],
        &["build", "--all", "--origin"],
        &["build", "--all", "--format", "json", "--origin"],
        &["build", "--kustomization", "flux-system/b"],
        &["lint", "--format", "json", "--show", "info"],
        &["lint", "--format", "full", "--show", "info"],
        &["plan", "--base", "HEAD", "--format", "json"],
        &["plan", "--base", "HEAD"],
        &["map"],
        &["graph"],
        &["locate", "ConfigMap/copy", "/metadata/labels/token", "--format", "json"],
        &["why", "ConfigMap/copy", "--format", "json"],
    ];
    for command in commands {
        let run = run(&scratch, command);
        let said = run.out + &run.err;
        assert!(run.code < 2, "{command:?}: {} {said}", run.code);
        assert!(!said.contains("Sup3rS3cret"), "{command:?}: {said}");
    }
}

#[test]
fn a_plan_takes_the_other_tree_as_it_is_and_says_so() {
    let scratch = fleet(&[]);
    scratch.write("b/apps/x.yaml", THEIRS.replace("interval: 5m", "interval: 6m").as_bytes());
    scratch.write("a/apps/x.yaml", OURS.replace("has space", "none").as_bytes());
    let plan = run(&scratch, &["plan", "--base", "HEAD", "--format", "json"]).json();
    let effects = plan["effects"].as_array().expect("effects");
    assert!(!effects.is_empty(), "{plan}");
    assert!(effects.iter().all(|effect| effect["object"]["name"] != "charts"), "{plan}");
    assert!(effects.iter().any(|effect| effect["object"]["name"] == "own"), "{plan}");
    let said = plan["notChecked"].as_array().expect("what was not checked");
    let tree = said.iter().find(|one| one["what"] == "other-tree").expect("the other tree");
    assert_eq!(tree["examples"], serde_json::json!(["../b"]));
    let text = run(&scratch, &["plan", "--base", "HEAD"]);
    assert!(text.out.contains("other file tree"), "{}", text.out);
}

#[test]
fn of_the_other_tree_only_what_is_applied_is_judged() {
    let scratch = fleet(&[
        ("b/apps/unused.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: q, labels: {a: 'b c'}}\n"),
        ("b/lost/broken.yaml", "a: [\n"),
        ("b/lost/kustomization.yaml", "resources: [missing.yaml]\n"),
        ("b/.forebay.yaml", "version: 1\nrules: {removed-api-version: off}\n"),
    ]);
    let found = findings(&scratch, &[]);
    let beside: Vec<_> = found.iter().filter(|(_, path, _)| path.starts_with("../b/")).collect();
    assert!(beside.iter().all(|(_, path, _)| path == "../b/apps/x.yaml"), "{beside:?}");
    assert!(has(&found, "removed-api-version", "../b/apps/x.yaml", 1), "{found:?}");
    // What a build reads is told where it is broken.
    let scratch = fleet(&[("b/apps/x.yaml", "apiVersion: v1\nkind: [\n")]);
    let found = findings(&scratch, &[]);
    assert!(
        found.iter().any(|(rule, path, _)| rule == "yaml-syntax" && path == "../b/apps/x.yaml"),
        "{found:?}"
    );
}

#[test]
fn suppressions_of_the_other_tree_count() {
    let silenced = format!("# forebay: ignore-file[removed-api-version] B is slow\n{THEIRS}");
    let scratch = fleet(&[("b/apps/x.yaml", &silenced)]);
    let found = findings(&scratch, &[]);
    assert!(found.iter().all(|(rule, ..)| rule != "removed-api-version"), "{found:?}");
    // One of A's silences nothing of B's, though it stands in a file of that path.
    let ours = format!("# forebay: ignore-file[removed-api-version] wrong file\n{OURS}");
    let scratch = fleet(&[("a/apps/x.yaml", &ours)]);
    let found = findings(&scratch, &[]);
    assert!(has(&found, "removed-api-version", "../b/apps/x.yaml", 1), "{found:?}");
    assert!(
        found.iter().any(|(rule, path, _)| rule == "unused-suppression" && path == "apps/x.yaml"),
        "{found:?}"
    );
}

#[test]
fn simulators_and_the_other_readers_run_over_both() {
    let scratch = fleet(&[]);
    for command in [
        &["simulate", "events", "--format", "json"][..],
        &["simulate", "suspend", "--format", "json"],
        &["simulate", "gates", "--format", "json"],
        &["simulate", "propagation", "--format", "json"],
        &["graph", "--format", "json"],
        &["config", "show", "--format", "json"],
    ] {
        let run = run(&scratch, command);
        assert_eq!(run.code, 0, "{command:?}: {}", run.err);
        let wrong = "\"path\":\"apps/x.yaml\"";
        assert!(
            !run.out.replace(' ', "").contains(wrong),
            "{command:?} places B's objects in A's file: {}",
            run.out
        );
    }
    let suspended = THEIRS.replace("interval: 5m", "interval: 5m, suspend: true");
    let scratch = fleet(&[("b/apps/x.yaml", &suspended)]);
    let suspended = run(&scratch, &["simulate", "suspend", "--format", "json"]).json();
    let charts = suspended["objects"].as_array().expect("objects").iter();
    let charts = charts.into_iter().find(|one| one["object"]["name"] == "charts").expect("B's object");
    assert_eq!(charts["location"]["path"], "../b/apps/x.yaml");
}

/// A configuration that maps the source to another directory.
fn mapped(dir: &str) -> String {
    CONFIG.replace("../b", dir)
}

#[test]
fn a_directory_of_the_work_tree_is_the_root_s_however_it_is_reached() {
    let inner = [("a/b/apps/x.yaml", THEIRS), ("a/b/apps/kustomization.yaml", KUSTOMIZATION)];
    for dir in ["b", "./clusters/../b", "../a/b", "linked"] {
        let config = mapped(dir);
        let scratch = fleet(&[&inner[..], &[("a/.forebay.yaml", config.as_str())]].concat());
        #[cfg(unix)]
        std::os::unix::fs::symlink("b", scratch.path().join("a/linked")).expect("linked");
        let found = findings(&scratch, &[]);
        assert!(has(&found, "removed-api-version", "b/apps/x.yaml", 1), "{dir}: {found:?}");
        let migrated = run(&scratch, &["migrate", "api-versions", "--to", "2.9"]);
        assert_eq!(migrated.code, 0, "{dir}: {}", migrated.err);
        assert!(
            scratch.read("a/b/apps/x.yaml").starts_with("apiVersion: source.toolkit.fluxcd.io/v1\n"),
            "{dir}"
        );
        assert_eq!(scratch.read("b/apps/x.yaml"), THEIRS, "{dir}");
    }
}

#[test]
fn of_a_directory_around_the_root_the_files_inside_are_the_root_s() {
    // The source is the parent of both: B's files are beside, A's are A's.
    let config = mapped("..");
    let cluster = CLUSTER.replace("path: ./apps", "path: ./b/apps")
        + "---\n"
        + &CLUSTER
            .split("---\n")
            .last()
            .expect("a Kustomization")
            .replace("name: b,", "name: own,")
            .replace("path: ./apps", "path: ./a/more");
    let scratch = fleet(&[
        ("a/.forebay.yaml", config.as_str()),
        ("a/clusters/prod/ks.yaml", cluster.as_str()),
        ("a/more/y.yaml", THEIRS),
    ]);
    let run = scratch.forebay(&["--root", "a", "--allow-dir", ".", "migrate", "api-versions", "--to", "2.9"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("../b/apps/x.yaml:1"), "{}", run.err);
    assert!(
        scratch.read("a/more/y.yaml").starts_with("apiVersion: source.toolkit.fluxcd.io/v1\n"),
        "{}",
        run.err
    );
    assert_eq!(scratch.read("b/apps/x.yaml"), THEIRS);
    let why = scratch.forebay(&[
        "--root",
        "a",
        "--allow-dir",
        ".",
        "build",
        "--kustomization",
        "flux-system/own",
        "--origin",
    ]);
    assert!(why.out.contains("# more/y.yaml:1"), "{} {}", why.out, why.err);
}

#[test]
fn what_git_leaves_out_of_the_work_tree_is_a_tree_beside_it() {
    // Ignored, and a repository of its own inside of A: neither is part of A's work tree.
    for ignored in [true, false] {
        let inner =
            [("a/vendor/b/apps/x.yaml", THEIRS), ("a/vendor/b/apps/kustomization.yaml", KUSTOMIZATION)];
        let config = mapped("vendor/b");
        let scratch = fleet(&[
            ("a/.forebay.yaml", config.as_str()),
            ("a/.gitignore", if ignored { "/vendor\n" } else { "" }),
        ]);
        for (path, text) in inner {
            scratch.write(path, text.as_bytes());
        }
        if !ignored {
            scratch.run_git(&["init", "-q", "a/vendor/b"]);
            scratch.run_git(&["-C", "a/vendor/b", "add", "-A"]);
            scratch.run_git(&["-C", "a/vendor/b", "commit", "-q", "-m", "theirs"]);
        }
        let found = findings(&scratch, &[]);
        assert!(has(&found, "removed-api-version", "vendor/b/apps/x.yaml", 1), "{ignored}: {found:?}");
        let migrated = run(&scratch, &["migrate", "api-versions", "--to", "2.9"]);
        assert!(migrated.err.contains("another file tree"), "{ignored}: {}", migrated.err);
        assert_eq!(scratch.read("a/vendor/b/apps/x.yaml"), THEIRS, "{ignored}");
    }
}

#[test]
fn overlapping_directories_agree_on_their_files() {
    let config = CONFIG.replace(
        "dir: ../b}",
        "dir: ../b}, {kind: GitRepository, name: fleet-b-apps, namespace: flux-system, dir: ../b/apps}",
    );
    let second = CLUSTER
        .replace("name: fleet-b", "name: fleet-b-apps")
        .replace("name: b,", "name: b-apps,")
        .replace("path: ./apps", "path: ./");
    let cluster = format!("{CLUSTER}---\n{second}");
    let scratch =
        fleet(&[("a/.forebay.yaml", config.as_str()), ("a/clusters/prod/ks.yaml", cluster.as_str())]);
    let found = findings(&scratch, &["--select", "removed-api-version"]);
    assert_eq!(found, [("removed-api-version".to_owned(), "../b/apps/x.yaml".to_owned(), 1)]);
}

#[test]
fn an_artifact_composed_of_both_keeps_the_files_apart() {
    let config =
        CONFIG.replace("sources: [", "sources: [{kind: GitRepository, name: flux-system, path: .}, ");
    let cluster = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
        metadata: {name: flux-system, namespace: flux-system}\n\
        spec: {interval: 10m, prune: true, path: ./clusters/prod, sourceRef: {kind: GitRepository, name: flux-system}}\n\
        ---\n\
        apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
        metadata: {name: fleet-b, namespace: flux-system}\nspec: {interval: 1m, url: 'https://example.com/b'}\n\
        ---\n\
        apiVersion: source.extensions.fluxcd.io/v1beta1\nkind: ArtifactGenerator\n\
        metadata: {name: both, namespace: flux-system}\n\
        spec:\n  sources:\n  - {alias: a, kind: GitRepository, name: flux-system}\n  \
        - {alias: b, kind: GitRepository, name: fleet-b}\n  artifacts:\n  - name: both\n    copy:\n    \
        - {from: '@a/more/**', to: '@artifact/ours/'}\n    - {from: '@b/apps/**', to: '@artifact/theirs/'}\n\
        ---\n\
        apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
        metadata: {name: both, namespace: flux-system}\n\
        spec:\n  interval: 10m\n  prune: true\n  path: ./\n  \
        sourceRef: {kind: ExternalArtifact, name: both}\n";
    let scratch = fleet(&[
        ("a/.forebay.yaml", config.as_str()),
        ("a/clusters/prod/ks.yaml", cluster),
        (
            "a/more/x.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: flux-system}\n",
        ),
    ]);
    let build = run(&scratch, &["build", "--kustomization", "flux-system/both", "--origin"]);
    assert!(build.out.contains("# more/x.yaml:1"), "{} {}", build.out, build.err);
    assert!(build.out.contains("# ../b/apps/x.yaml:1"), "{} {}", build.out, build.err);
    assert!(!build.out.contains("Sup3rS3cret"), "{}", build.out);
}
