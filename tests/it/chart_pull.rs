//! `forebay chart pull`, `prune` and `verify`: what helm is asked for, and what becomes of
//! what it writes. The helm here is a script that notes its arguments.

use crate::chart_stores::archive;
use crate::support::scratch::{Run, Scratch};
use std::os::unix::fs::PermissionsExt;

const OBJECTS: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: apps}
spec: {interval: 1h, url: 'https://charts.example.com/stable'}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: registry, namespace: apps}
spec: {interval: 1h, type: oci, url: 'oci://ghcr.example.com/charts', secretRef: {name: login}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec: {interval: 1h, chart: {spec: {chart: web, version: 1.2.3, sourceRef: {kind: HelmRepository, name: charts}}}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: api, namespace: apps}
spec: {interval: 1h, chart: {spec: {chart: api, version: 2.x, sourceRef: {kind: HelmRepository, name: registry}}}}
";

/// Gives the archive `NAME.tgz` beside it for a chart, notes what it was asked for, and
/// fails for what it doesn't have.
const HELM: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/asked"
case "$1" in
version) echo v3.17.3+ge4da497 ;;
repo) echo "${REPOSITORIES:-[]}" ;;
pull)
  name=$(basename "$2" | sed 's/[@:].*//')
  while [ "$1" != --destination ]; do shift; done
  if [ -f "$here/$name.tgz" ]; then
    cp "$here/$name.tgz" "$2/$name.tgz"
    echo "Pulled: $name"
    echo "Digest: sha256:aaaa"
  else
    echo "Error: $name: 401 unauthorized" >&2
    exit 1
  fi ;;
esac
"#;

/// A repository with two releases, and a helm beside it.
fn fleet() -> (Scratch, Scratch) {
    let scratch = Scratch::new(&[("apps.yaml", OBJECTS)]);
    let tools = Scratch::new(&[]);
    let helm = tools.write("helm", HELM.as_bytes());
    std::fs::set_permissions(helm, std::fs::Permissions::from_mode(0o755)).expect("it can be run");
    (scratch, tools)
}

fn pull(scratch: &Scratch, tools: &Scratch, flags: &[&str]) -> Run {
    let helm = tools.path().join("helm");
    let arguments = [&["chart", "pull", "--helm", helm.to_str().expect("UTF-8")][..], flags].concat();
    scratch.forebay(&arguments)
}

fn found(scratch: &Scratch) -> Vec<String> {
    let answer = scratch.forebay(&["chart", "list", "--format", "json"]).json();
    let charts = answer["charts"].as_array().expect("charts").clone();
    charts.iter().filter_map(|chart| chart["found"]["path"].as_str().map(str::to_owned)).collect()
}

#[test]
fn charts_are_fetched_checked_and_recorded() {
    let (scratch, tools) = fleet();
    tools.write("web.tgz", &archive("web", "1.2.3", "a: 1\n"));
    tools.write("api.tgz", &archive("api", "2.4.0", "a: 1\n"));
    let run = pull(&scratch, &tools, &[]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert_eq!(run.out, "pulled api 2.4.0 into .forebay/charts\npulled web 1.2.3 into .forebay/charts\n");
    assert_eq!(found(&scratch), ["api-2.4.0.tgz", "web-1.2.3.tgz"]);
    let index = scratch.read(".forebay/charts/index.yaml");
    for line in [
        "url: \"https://charts.example.com/stable/web\"",
        "url: \"oci://ghcr.example.com/charts/api\"",
        "tag: \"2.4.0\"",
        "manifestDigest: \"sha256:aaaa\"",
    ] {
        assert!(index.contains(line), "{line}: {index}");
    }
    let asked = tools.read("asked");
    assert!(asked.contains("pull web --repo https://charts.example.com/stable --version=1.2.3"), "{asked}");
    assert!(asked.contains("pull oci://ghcr.example.com/charts/api --version=2.x"), "{asked}");
    // Nothing is missing now.
    assert_eq!(pull(&scratch, &tools, &[]).out, "no chart is missing\n");
    assert_eq!(scratch.forebay(&["chart", "verify"]).code, 0);
    // A tampered archive is told, and not rendered.
    scratch.write(".forebay/charts/web-1.2.3.tgz", &archive("web", "1.2.3", "a: 2\n"));
    let run = scratch.forebay(&["chart", "verify"]);
    assert!(run.code == 1 && run.out.contains("changed web 1.2.3"), "{}", run.out);
    let run = scratch.forebay(&["lint", "--list-unchecked"]);
    assert!(run.out.contains("is not what the store's index.yaml records"), "{}", run.out);
}

#[test]
fn a_repository_that_helm_knows_is_asked_by_its_name() {
    let (scratch, tools) = fleet();
    tools.write("web.tgz", &archive("web", "1.2.3", ""));
    let helm = tools.path().join("helm");
    let known = r#"[{"name":"stable","url":"https://charts.example.com/stable/"}]"#;
    let run = scratch.forebay_with(
        &["chart", "pull", "--jobs", "1", "--helm", helm.to_str().expect("UTF-8")],
        &[("REPOSITORIES", known)],
        b"",
    );
    assert!(tools.read("asked").contains("pull stable/web --version=1.2.3"), "{}{}", run.out, run.err);
}

#[test]
fn what_fails_is_told_in_helms_words_and_the_rest_stays() {
    let (scratch, tools) = fleet();
    tools.write("web.tgz", &archive("web", "1.2.3", ""));
    let run = pull(&scratch, &tools, &[]);
    assert_eq!(run.code, 1);
    assert_eq!(run.out, "pulled web 1.2.3 into .forebay/charts\n");
    assert!(
        run.err.contains("failed: api 2.x of oci://ghcr.example.com/charts/api: api: 401 unauthorized"),
        "{}",
        run.err
    );
    assert!(
        run.err.contains("Secret apps/login; log in with `helm registry login ghcr.example.com`"),
        "{}",
        run.err
    );
    // Another chart than the one that was asked for.
    let (scratch, tools) = fleet();
    tools.write("web.tgz", &archive("web", "1.2.4", ""));
    tools.write("api.tgz", &archive("other", "2.0.0", ""));
    let run = pull(&scratch, &tools, &[]);
    assert!(run.err.contains("helm fetched web 1.2.4 instead"), "{}", run.err);
    assert!(run.err.contains("helm fetched other 2.0.0 instead"), "{}", run.err);
    assert!(found(&scratch).is_empty());
    // No helm at all.
    let run = scratch.forebay(&["chart", "pull", "--helm", "./nowhere"]);
    assert!(run.code == 3 && run.err.contains("--helm PATH"), "{}", run.err);
}

#[test]
fn other_content_of_the_same_version_is_not_overwritten_unasked() {
    let (scratch, tools) = fleet();
    tools.write("web.tgz", &archive("web", "1.2.3", "a: 1\n"));
    tools.write("api.tgz", &archive("api", "2.0.0", ""));
    // The store's own comes from elsewhere, so that it is not what is meant.
    let other = archive("web", "1.2.3", "a: 2\n");
    scratch.write(".forebay/charts/web-1.2.3.tgz", &other);
    scratch.write(
        ".forebay/charts/index.yaml",
        b"entries: {web: [{urls: [web-1.2.3.tgz], url: 'https://elsewhere.example.com/web'}]}\n",
    );
    let run = pull(&scratch, &tools, &[]);
    assert!(run.code == 1 && run.err.contains("--replace takes its place"), "{}", run.err);
    let stored = scratch.path().join(".forebay/charts/web-1.2.3.tgz");
    assert_eq!(std::fs::read(&stored).expect("there"), other);
    assert_eq!(pull(&scratch, &tools, &["--replace"]).code, 0);
    assert_ne!(std::fs::read(&stored).expect("there"), other);
}

#[test]
fn a_dry_run_prints_the_commands_and_starts_nothing() {
    let (scratch, tools) = fleet();
    let run = pull(&scratch, &tools, &["--dry-run"]);
    assert_eq!(
        run.out,
        "helm pull oci://ghcr.example.com/charts/api --version=2.x --destination .forebay/charts\n\
         helm pull web --repo https://charts.example.com/stable --version=1.2.3 --destination .forebay/charts\n"
    );
    assert!(!tools.path().join("asked").exists());
    // A password never leaves the file, and no name is a flag.
    let text = OBJECTS
        .replace("https://charts", "https://user:hunter2@charts")
        .replace("chart: api", "chart: --api");
    scratch.write("apps.yaml", text.as_bytes());
    let run = pull(&scratch, &tools, &["--dry-run"]);
    assert!(!run.out.contains("hunter2") && !run.err.contains("hunter2"), "{}{}", run.out, run.err);
    assert!(run.out.contains("holds a user or a password"), "{}", run.out);
    assert!(!run.out.lines().any(|line| line.starts_with("helm") && line.contains(" --api")), "{}", run.out);
}

#[test]
fn what_no_release_means_is_pruned() {
    let (scratch, tools) = fleet();
    tools.write("web.tgz", &archive("web", "1.2.3", ""));
    tools.write("api.tgz", &archive("api", "2.0.0", ""));
    assert_eq!(pull(&scratch, &tools, &[]).code, 0);
    assert_eq!(scratch.forebay(&["chart", "prune"]).out, "every chart of the store is used\n");
    scratch.write("apps.yaml", OBJECTS.replace("1.2.3", "1.3.0").as_bytes());
    let run = scratch.forebay(&["chart", "prune", "--dry-run"]);
    assert_eq!(run.out, "would remove web 1.2.3 (web-1.2.3.tgz)\n");
    let run = scratch.forebay(&["chart", "prune"]);
    assert_eq!((run.code, run.out.as_str()), (0, "removed web 1.2.3 (web-1.2.3.tgz)\n"), "{}", run.err);
    assert_eq!(found(&scratch), ["api-2.0.0.tgz"]);
    assert!(!scratch.read(".forebay/charts/index.yaml").contains("web"));
}

#[test]
fn only_chart_pull_starts_helm() {
    let (scratch, tools) = fleet();
    tools.write("web.tgz", &archive("web", "1.2.3", ""));
    let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap_or_default());
    let run = |arguments: &[&str]| scratch.forebay_with(arguments, &[("PATH", &path)], b"");
    let asked = tools.path().join("asked");
    for arguments in [
        &["lint"][..],
        &["build", "--all"],
        &["plan", "--base", "."],
        &["chart", "list"],
        &["chart", "verify"],
        &["chart", "pull", "--dry-run"],
        &["why", "HelmRelease/web"],
    ] {
        run(arguments);
        assert!(!asked.exists(), "{arguments:?} starts helm");
    }
    run(&["chart", "pull"]);
    assert!(asked.exists());
}
