//! What is said once is not said again: findings of a fleet, as people read them.

use crate::support::scratch::Scratch;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const CLUSTERS: usize = 34;

fn kustomization(name: &str, path: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: {name}\n  \
         namespace: flux-system\nspec:\n  interval: 10m\n  path: {path}\n  prune: true\n  sourceRef:\n    \
         kind: GitRepository\n    name: flux-system\n"
    )
}

/// One base for all clusters, a second one for five of them, and forty objects that
/// one component labels.
fn fleet() -> Scratch {
    let mut config = "version: 1\nclusters:\n".to_owned();
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  \
                  name: flux-system\n  namespace: flux-system\nspec:\n  interval: 1m\n  \
                  url: https://example.com/fleet\n  ref:\n    branch: main\n";
    let mut files: Vec<(String, String)> = Vec::new();
    for number in 0..CLUSTERS {
        let _ = writeln!(config, "  - {{name: c{number:02}, path: clusters/c{number:02}}}");
        let mut text = format!(
            "{source}---\n{}---\n{}",
            kustomization("base", "./base"),
            kustomization("many", "./many")
        );
        if number < 5 {
            let _ = write!(text, "---\n{}", kustomization("edge", "./edge"));
        }
        files.push((format!("clusters/c{number:02}/apps.yaml"), text));
    }
    let namespace = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n  labels:\n    contact: sre@example.com\n"
        )
    };
    files.push(("base/namespace.yaml".to_owned(), namespace("base")));
    files.push(("edge/namespace.yaml".to_owned(), namespace("edge")));
    let mut list = String::new();
    for number in 0..40 {
        let name = format!("config-{number:02}");
        files.push((
            format!("many/{name}.yaml"),
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n  namespace: default\n"),
        ));
        let _ = writeln!(list, "  - {name}.yaml");
    }
    files.push((
        "many/kustomization.yaml".to_owned(),
        format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n{list}labels:\n  \
             - pairs:\n      team: team a\n"
        ),
    ));
    files.push((".forebay.yaml".to_owned(), config));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Scratch::git(&files)
}

fn lint(scratch: &Scratch, format: &str) -> String {
    let run = scratch.forebay(&[
        "lint",
        "--format",
        format,
        "--select",
        "malformed-label-value",
        "--fail-on",
        "never",
    ]);
    assert_eq!(run.code, 0, "{}", run.err);
    run.out
}

#[test]
fn one_text_of_a_fleet_is_one_entry_with_the_names() {
    let scratch = fleet();
    for format in ["full", "concise", "markdown", "github"] {
        let out = lint(&scratch, format);
        for (path, clusters) in [
            ("base/namespace.yaml", "all 34 clusters"),
            ("edge/namespace.yaml", "5 clusters: c00, c01, c02, c03, c04"),
        ] {
            assert_eq!(out.matches(path).count(), 1, "{format}: {path}\n{out}");
            assert!(out.contains(clusters), "{format}: {clusters}\n{out}");
        }
        // Its place, and in `full` the transformer that it went through.
        let places = out.matches("many/kustomization.yaml").count();
        assert!(places == 1 || (format == "full" && places == 2), "{format}: {places}\n{out}");
        assert!(out.contains("39 more objects"), "{format}\n{out}");
    }
    let report: serde_json::Value = serde_json::from_str(&lint(&scratch, "json")).expect("JSON");
    let findings = report["findings"].as_array().expect("a list");
    let many = findings.iter().find(|finding| finding["location"]["path"] == "many/kustomization.yaml");
    assert_eq!(many.and_then(|many| many["objects"].as_array()).map(Vec::len), Some(40), "{findings:?}");
    assert!(
        findings
            .iter()
            .any(|finding| finding["clusters"].as_array().is_some_and(|all| all.len() == CLUSTERS))
    );
}

#[test]
fn no_line_is_printed_twice() {
    let out = lint(&fleet(), "concise");
    let lines: Vec<&str> = out.lines().collect();
    let distinct: BTreeSet<&str> = lines.iter().copied().collect();
    assert_eq!(lines.len(), distinct.len(), "{out}");
}

#[test]
fn the_same_sentence_at_many_places_is_one_block() {
    let text = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n  labels:\n    contact: sre@example.com\n"
        )
    };
    let names = ["a", "b", "c", "d"];
    let files: Vec<(String, String)> = names.map(|name| (format!("{name}.yaml"), text(name))).into();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let scratch = Scratch::new(&files);
    let out = lint(&scratch, "full");
    assert_eq!(out.matches("malformed-label-value (error)").count(), 1, "{out}");
    assert!(
        out.contains("also: 3 other places\n        b.yaml:6  Namespace b\n        c.yaml:6  Namespace c\n"),
        "{out}"
    );
    // Editors and `grep` want a line for each.
    assert_eq!(lint(&scratch, "concise").matches("malformed-label-value").count(), 4);
    // An annotation at each line, as long as the service shows them.
    assert_eq!(lint(&scratch, "github").lines().count(), 4);
    let row = lint(&scratch, "markdown");
    assert_eq!(row.matches("| 🔴 error |").count(), 1, "{row}");
    assert!(row.contains("`d.yaml:6`"), "{row}");
    // Two are shown one by one.
    let scratch = Scratch::new(&files[..2]);
    assert_eq!(lint(&scratch, "full").matches("malformed-label-value (error)").count(), 2);
}

#[test]
fn many_findings_end_with_ways_to_begin() {
    let labels: String = (0..60).map(|n| format!("    l{n}: \"b {n}\"\n")).collect();
    let text = format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels:\n{labels}");
    let scratch = Scratch::new(&[("apps/a/x/a.yaml", &text), ("infra/b.yaml", &text)]);
    let out = lint(&scratch, "full");
    for command in ["forebay lint --since main", "--update-baseline", "forebay config init"] {
        assert!(out.contains(command), "{out}");
    }
    let run = scratch.forebay(&["lint", "apps/a/x/a.yaml", "--fail-on", "never"]);
    assert!(!run.out.contains("config init"), "{}", run.out);
    let run = scratch.forebay(&["lint", "--statistics", "--fail-on", "never"]);
    assert!(run.out.contains("\n 60  apps/a\n 60  infra\n"), "{}", run.out);
}

#[test]
fn the_configuration_names_the_baseline() {
    let text =
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels:\n    contact: sre@example.com\n";
    let scratch = Scratch::new(&[("a.yaml", text), (".forebay.yaml", "version: 1\nbaseline: known.json\n")]);
    let run = scratch.forebay(&["lint", "--update-baseline"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let run = scratch.forebay(&["lint"]);
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(run.out.contains("1 in the baseline") && run.out.starts_with("2 files, "), "{}", run.out);
    let run = scratch.forebay(&["lint", "--no-config", "--prune-baseline"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("name it by --baseline FILE"), "{}", run.err);
}

#[test]
fn standard_input_is_named_from_here_or_from_the_root() {
    let text =
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels:\n    contact: sre@example.com\n";
    let scratch =
        Scratch::git(&[("apps/a.yaml", "apiVersion: v1\nkind: List\n"), ("other/b.yaml", "a: 1\n")]);
    for (root, name) in [(".", "apps/a.yaml"), ("apps/..", "./apps/a.yaml")] {
        let run = scratch.forebay_with(
            &["lint", "--root", root, "--stdin-filename", name, "--format", "concise", "--quiet"],
            &[],
            text.as_bytes(),
        );
        assert!(
            run.out.starts_with("apps/a.yaml:6:14: error[malformed-label-value]"),
            "{}{}",
            run.out,
            run.err
        );
    }
    let run = scratch.forebay_with(
        &["lint", "--root", "apps", "--stdin-filename", "a.yaml", "--format", "concise", "--quiet"],
        &[],
        text.as_bytes(),
    );
    assert!(run.out.starts_with("a.yaml:6:14: "), "{}{}", run.out, run.err);
    for (name, why) in [("nowhere/b.yaml", "no such directory"), ("../b.yaml", "outside of the root")] {
        let run = scratch.forebay_with(&["lint", "--stdin-filename", name], &[], text.as_bytes());
        assert!(run.code == 2 && run.err.contains(why), "{name}: {}{}", run.out, run.err);
    }
}

#[test]
fn words_wrap_at_the_width_and_stay_whole_in_a_pipe() {
    let name = "a-name-that-is-rather-long-and-has-many-hyphens";
    let text = format!(
        "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata:\n  name: {name}\n  \
         namespace: flux-system\nspec:\n  summary: a\n  providerRef: {{name: {name}}}\n  eventSources: []\n"
    );
    let scratch = Scratch::new(&[("a.yaml", &text)]);
    let run = |columns: &str| {
        let arguments = ["lint", "--select", "deprecated-alert-summary", "--fail-on", "never"];
        scratch.forebay_with(&arguments, &[("COLUMNS", columns)], b"").out
    };
    for (columns, width) in [("60", 60), ("100", 100), ("200", 200)] {
        let out = run(columns);
        for line in out.lines().filter(|line| !line.starts_with("not checked")) {
            let words =
                line.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count();
            assert!(line.chars().count() <= width || words <= 2, "{columns}: {line}");
        }
        assert!(out.contains(name), "{columns}: {out}");
    }
    assert!(run("60").lines().count() > run("200").lines().count());
    // An empty value is none: nobody said how wide the reader's place is.
    let piped = run("");
    assert!(
        piped.lines().any(|line| line.contains("logs a deprecation with each event: the field is to go")),
        "{piped}"
    );
    assert!(
        piped
            .lines()
            .any(|line| line.contains(&format!("Alert flux-system/{name}: spec.summary is deprecated"))),
        "{piped}"
    );
}

/// A base for all clusters and another one for five of them, both with something to
/// say in every answer; then a change of both.
#[test]
fn plans_simulators_and_migrations_of_a_fleet_say_it_once() {
    let scratch = fleet();
    let objects = |name: &str, interval: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2beta2\nkind: HelmRelease\nmetadata:\n  name: {name}\n  namespace: \
             {name}\n  annotations:\n    reconcile.fluxcd.io/suspended: why\nspec:\n  interval: {interval}\n  \
             chartRef:\n    kind: OCIRepository\n    name: {name}\n---\n\
             apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata:\n  name: {name}\n  \
             namespace: {name}\nspec:\n  summary: of {name}\n  providerRef:\n    name: {name}\n  eventSources:\n    \
             - kind: HelmRelease\n      name: '*'\n"
        )
    };
    let write = |interval: &str| {
        for name in ["base", "edge"] {
            scratch.write(&format!("{name}/objects.yaml"), objects(name, interval).as_bytes());
        }
    };
    write("10m");
    scratch.run_git(&["add", "--all"]);
    scratch.run_git(&["commit", "-qm", "before"]);
    write("5m");
    for arguments in [
        &["simulate", "suspend"][..],
        &["plan", "--base", "HEAD"],
        &["plan", "--base", "HEAD", "--format", "markdown"],
        &["migrate", "api-versions", "--check"],
        &["migrate", "alert-summary", "--check"],
        &["migrate", "suspend", "--to", "spec", "--check", "--all-clusters"],
    ] {
        for columns in ["60"] {
            let run = scratch.forebay_with(arguments, &[("COLUMNS", columns)], b"");
            let text = format!("{}{}", run.out, run.err);
            let mut seen = BTreeSet::new();
            for line in text.lines().map(str::trim).filter(|line| line.contains(".yaml:")) {
                assert!(seen.insert(line), "{arguments:?} {columns}: {line}\n{text}");
            }
            assert!(text.lines().count() < 80, "{arguments:?} {columns}: {text}");
        }
    }
    // Once for the base and once for the other one.
    let events = scratch.forebay(&["simulate", "events"]).out;
    assert_eq!(events.matches("alert-summary").count(), 2, "{events}");
    let suspended = scratch.forebay_with(&["simulate", "suspend"], &[("COLUMNS", "")], b"").out;
    assert!(
        suspended.contains("34 clusters: c00, ")
            && suspended.contains("\n5 clusters: c00, c01, c02, c03, c04, "),
        "{suspended}"
    );
    assert!(suspended.contains("\n29 clusters: c05, "), "{suspended}");
    let plan = scratch.forebay_with(&["plan", "--base", "HEAD"], &[("COLUMNS", "")], b"").out;
    assert!(
        plan.contains("1 effect in each of 29 clusters") && plan.contains("2 effects in each of 5 clusters"),
        "{plan}"
    );
}

/// Something of the base, something of the other one, and what each cluster has by
/// itself, in the answers that are no findings.
#[test]
fn simulators_and_the_configuration_of_a_fleet_say_it_once() {
    let scratch = fleet();
    for name in ["base", "edge"] {
        let objects = format!(
            "apiVersion: gating.toolkit.fluxcd.io/v1alpha1\nkind: Gate\nmetadata:\n  name: gate-{name}\n  namespace: \
             {name}\nspec:\n  default: closed\n  window: 1h\n---\n\
             apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata:\n  name: {name}\n  namespace: \
             {name}\nspec:\n  interval: 10m\n  suspend: true\n  url: oci://example.com/{name}\n---\n\
             apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata:\n  name: {name}\n  \
             namespace: {name}\nspec:\n  eventMetadata: {{of: {name}}}\n  providerRef:\n    name: {name}\n  \
             eventSources:\n    - kind: OCIRepository\n      name: '*'\n---\n\
             apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: md-{name}\n  \
             namespace: {name}\nspec:\n  clusterName: {name}\n  replicas: 1\n  selector: {{}}\n  template:\n    \
             metadata:\n      labels: {{node-role.kubernetes.io/{name}: \"\"}}\n    spec:\n      clusterName: \
             {name}\n      version: v1.31.0\n      bootstrap: {{dataSecretName: {name}}}\n      \
             infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerMachineTemplate, \
             name: {name}}}\n"
        );
        scratch.write(&format!("{name}/objects.yaml"), objects.as_bytes());
    }
    // The versions are stated in each cluster's own files, of two kinds.
    for number in 0..CLUSTERS {
        let version = if number < 5 { "v2.6.4" } else { "v2.7.5" };
        let text = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: source-controller\n  namespace: \
             flux-system\n  labels: {{app.kubernetes.io/part-of: flux, app.kubernetes.io/version: {version}}}\nspec:\n  \
             selector: {{matchLabels: {{app: a}}}}\n  template:\n    metadata: {{labels: {{app: a}}}}\n    spec:\n      \
             containers: [{{name: manager, image: a}}]\n"
        );
        scratch.write(&format!("clusters/c{number:02}/flux.yaml"), text.as_bytes());
    }
    let edge = "5 clusters: c00, c01, c02, c03, c04";
    let range = ["--from", "2026-03-01T00:00:00Z", "--to", "2026-03-05T00:00:00Z"];
    for arguments in [
        &["simulate", "events"][..],
        &["simulate", "events", "--object", "OCIRepository/*/*"],
        &["simulate", "gates", "--at", "2026-03-01T00:00:00Z"],
        &["simulate", "gates", range[0], range[1], range[2], range[3]],
        &["simulate", "propagation"],
        &["simulate", "suspend"],
        &["config", "show"],
    ] {
        let run = scratch.forebay_with(arguments, &[("COLUMNS", "")], b"");
        assert_eq!(run.code, 0, "{}", run.err);
        let mut seen = BTreeSet::new();
        // A label goes to several objects that are made of one.
        let parts: &[&str] = match arguments[1] {
            "propagation" => &["MachineDeployment "],
            _ => &[".yaml", " -> ", "gate-"],
        };
        let says = |line: &&str| parts.iter().any(|part| line.contains(part));
        for line in run.out.lines().map(str::trim).filter(says) {
            assert!(seen.insert(line), "{arguments:?}: {line}\n{}", run.out);
        }
        let is_config = arguments[0] == "config";
        assert!(run.out.contains("34 clusters: c00, "), "{arguments:?}\n{}", run.out);
        assert!(is_config || run.out.contains(edge), "{arguments:?}\n{}", run.out);
        // What each cluster has by itself is in its configuration alone: its path, where
        // its version is stated.
        let most = if is_config { 6 * CLUSTERS } else { 60 };
        assert!(run.out.lines().count() < most, "{arguments:?}\n{}", run.out);
        if ["events", "gates"].contains(&arguments[1]) {
            assert_eq!(
                run.out.matches("Flux 2.6.4 (`forebay config show` says where)").count(),
                1,
                "{}",
                run.out
            );
        }
    }
    // One of a cluster is told apart from those of all.
    let one = scratch.forebay(&["simulate", "gates", "--at", "2026-03-01T00:00:00Z", "--cluster", "c07"]).out;
    assert!(one.contains("cluster c07, at ") && !one.contains("gate-edge"), "{one}");
    let json =
        scratch.forebay(&["simulate", "gates", "--at", "2026-03-01T00:00:00Z", "--format", "json"]).json();
    assert_eq!(json["gates"].as_array().map(Vec::len), Some(CLUSTERS + 5));
}
