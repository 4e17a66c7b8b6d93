//! The contract of the command line: flags, exit codes, formats.

use crate::support::scratch::{Scratch, assert_schema};

/// A manifest with one error, one warning and one info.
const FAULTY: &str = r#"apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: podinfo
  namespace: podinfo
  labels:
    contact: sre@example.com
  annotations:
    events.toolkit.fluxcd.io/image: podinfo:6.5.4
    reconcile.fluxcd.io/requestedAt: "2026-01-01"
spec: {interval: 1h}
"#;

const CLEAN: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\ndata: {}\n";

/// An object of a kind that nothing knows.
const WIDGET: &str = "apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\n  namespace: b\n";

#[test]
fn exit_codes() {
    let faulty = [("a.yaml", FAULTY)];
    let warning = FAULTY.replace("contact: sre@example.com", "contact: sre");
    let warning = [("a.yaml", warning.as_str())];
    let template = [("a.yaml", "{{- if .x }}\na: 1\n{{- end }}\n"), ("b.yaml", CLEAN)];
    let known = [
        ("a.yaml", WIDGET),
        (".forebay.yaml", "version: 1\nschemas: [schemas]\n"),
        ("schemas/example.com/widget_v1.json", r#"{"properties": {"spec": {}}}"#),
    ];
    type Case<'c> = (&'c [(&'c str, &'c str)], &'c [&'c str], i32);
    let cases: [Case<'_>; 30] = [
        (&[("a.yaml", CLEAN)], &["lint"], 0),
        (&faulty, &["lint"], 1),
        (&faulty, &["lint", "--fail-on", "never"], 0),
        (&faulty, &["lint", "--ignore", "malformed-label-value"], 0),
        (&faulty, &["lint", "--ignore", "metadata"], 0),
        (&faulty, &["lint", "--ignore", "malformed-label-value", "--fail-on", "warning"], 1),
        (&warning, &["lint"], 0),
        (&warning, &["lint", "--fail-on", "warning"], 1),
        (&warning, &["lint", "--fail-on", "info"], 1),
        // What is printed does not change the answer.
        (&warning, &["lint", "--show", "error", "--fail-on", "warning"], 1),
        (&template, &["lint"], 0),
        (&template, &["lint", "--complete"], 1),
        (&[("a.yaml", CLEAN)], &["lint", "--complete"], 0),
        // A kind without a schema is not checked, where that was asked for.
        (&[("a.yaml", WIDGET)], &["lint"], 0),
        (&[("a.yaml", WIDGET)], &["lint", "--complete"], 1),
        (&[("a.yaml", WIDGET)], &["lint", "--complete", "--select", "syntax"], 0),
        (&known, &["lint", "--complete"], 0),
        (&faulty, &["lint", "--select", "no-such-rule"], 2),
        (&faulty, &["lint", "--fail-on", "fatal"], 2),
        (&faulty, &["lint", "--format", "xml"], 2),
        (&faulty, &["lint", "--output-file", "json"], 2),
        (&faulty, &["lint", "--no-such-flag"], 2),
        (&faulty, &["lint", "--at", "yesterday"], 2),
        (&faulty, &["lint", "--threads", "0"], 2),
        (&faulty, &["lint", "../outside.yaml"], 3),
        (&faulty, &["lint", "--config", "missing.yaml"], 2),
        (&[("a.yaml", CLEAN), (".forebay.yaml", "rule: {}\n")], &["lint"], 2),
        (&[("README.md", "")], &["lint"], 3),
        (&[("README.md", "")], &["lint", "--allow-empty"], 0),
        (&faulty, &["lint", "missing.yaml"], 3),
    ];
    for (files, arguments, expected) in cases {
        let run = Scratch::new(files).forebay(arguments);
        assert_eq!(run.code, expected, "{arguments:?}\n{}{}", run.out, run.err);
        if expected > 1 {
            assert!(
                run.out.is_empty() && run.err.starts_with("forebay: ") || run.err.starts_with("error: "),
                "{}",
                run.err
            );
        }
    }
}

#[test]
fn json_obeys_its_schema_and_show() {
    let scratch = Scratch::git(&[
        ("a.yaml", FAULTY),
        ("t.yaml", "{{- if .x }}\n"),
        ("b.yaml", "apiVersion: v1\nkind: ConfigMap\na: [\n"),
    ]);
    let levels = |arguments: &[&str]| {
        let answer = scratch.forebay(arguments).json();
        assert_schema("schemas/lint.json", &answer);
        let summary = ["error", "warning", "info"].map(|level| answer["summary"][level].as_u64());
        assert_eq!(summary, [Some(2), Some(1), Some(1)], "{answer:#}");
        let findings = answer["findings"].as_array().expect("a list").clone();
        findings.iter().map(|finding| finding["level"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(levels(&["lint", "--format", "json"]), ["error", "warning", "error"]);
    assert_eq!(levels(&["lint", "--format", "json", "--show", "error"]), ["error", "error"]);
    assert_eq!(levels(&["lint", "--format", "json", "--show", "info"]).len(), 4);
}

#[test]
fn json_tells_places_in_bytes_lines_and_columns() {
    let text = "# é\nkind: ConfigMap\napiVersion: v1\nmetadata:\n  name: a\n  labels: {é: \"a b\"}\n";
    let scratch = Scratch::new(&[("a.yaml", text)]);
    let answer = scratch.forebay(&["lint", "--format", "json", "--select", "malformed-label-value"]).json();
    let location = &answer["findings"][0]["location"];
    let start = text.find("\"a b\"").expect("written above");
    assert_eq!(location["path"], "a.yaml");
    assert_eq!(
        (location["start"].as_u64(), location["end"].as_u64()),
        (Some(start as u64), Some(start as u64 + 5))
    );
    assert_eq!((location["line"].as_u64(), location["column"].as_u64()), (Some(6), Some(15)));
    assert_eq!((location["endLine"].as_u64(), location["endColumn"].as_u64()), (Some(6), Some(20)));
}

#[test]
fn what_is_no_text_has_a_place_all_the_same() {
    let scratch = Scratch::new(&[("b.yaml", CLEAN)]);
    scratch.write("a.yaml", b"kind: \xff\xfe\n");
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    assert_schema("schemas/lint.json", &answer);
    assert_eq!(answer["findings"][0]["rule"], "undecodable-file");
    let location = &answer["findings"][0]["location"];
    let number = |field: &str| location[field].as_u64();
    assert_eq!(
        (location["path"].as_str(), number("line"), number("start")),
        (Some("a.yaml"), Some(1), Some(6))
    );
    for format in ["full", "concise", "github"] {
        let run = scratch.forebay(&["lint", "--format", format]);
        assert!(run.out.contains("a.yaml"), "{format}: {}", run.out);
    }
}

#[test]
fn one_run_serves_several_readers() {
    let scratch = Scratch::new(&[("a.yaml", FAULTY)]);
    let arguments =
        ["lint", "--format", "concise", "--output-file", "json=out.json", "--output-file", "github=out.txt"];
    let run = scratch.forebay(&arguments);
    assert_eq!(run.code, 1);
    assert!(run.out.starts_with("a.yaml:7:14: error[malformed-label-value] "), "{}", run.out);
    assert_schema("schemas/lint.json", &serde_json::from_str(&scratch.read("out.json")).expect("JSON"));
    assert!(scratch.read("out.txt").starts_with("::error file=a.yaml,line=7,"));
}

#[test]
fn output_is_the_same_for_any_number_of_threads_and_any_place() {
    let files: Vec<(String, &str)> = (0..40).map(|n| (format!("d{}/f{n}.yaml", n % 7), FAULTY)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let (one, other) = (Scratch::new(&files), Scratch::git(&files));
    let arguments = |threads| ["lint", "--show", "info", "--threads", threads];
    let expected = one.forebay(&arguments("1")).out;
    assert!(!expected.contains(one.path().to_str().expect("UTF-8")));
    assert_eq!(one.forebay(&arguments("8")).out, expected);
    assert_eq!(other.forebay(&arguments("2")).out, expected);
}

#[test]
fn standard_input_stands_for_a_file() {
    let scratch = Scratch::git(&[("a/x.yaml", CLEAN), (".forebay.yaml", "exclude: [a]\n")]);
    let run = scratch.forebay_with(
        &["lint", "-", "--stdin-filename", "a/x.yaml", "--format", "concise"],
        &[],
        FAULTY.as_bytes(),
    );
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.starts_with("a/x.yaml:7:14: error["), "{}", run.out);
    assert_eq!(scratch.read("a/x.yaml"), CLEAN);
}

/// A repository of which everything is a fixture.
#[test]
fn where_all_is_excluded_the_summary_says_what_to_look_at() {
    let config = (".forebay.yaml", "version: 1\nexclude: [fixtures/**]\n");
    let sync = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
                metadata: {name: a, namespace: flux-system}\n\
                spec: {interval: 1m, prune: true, path: ./apps, sourceRef: {kind: GitRepository, name: a}}\n";
    let file = ("fixtures/demo/clusters/prod/a.yaml", sync);
    let said = "no object was looked at: .forebay.yaml excludes 1 file; to look at some: forebay lint --root \
                fixtures/demo";
    let run = Scratch::git(&[config, file]).forebay(&["lint"]);
    let words: Vec<&str> = run.out.split_whitespace().collect();
    assert!(words.join(" ").contains(said), "{}", run.out);
    // One object that counts is enough.
    let one = ("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    let run = Scratch::git(&[config, file, one]).forebay(&["lint"]);
    assert!(!run.out.contains("no object was looked at"), "{}", run.out);
}

#[test]
fn paths_choose_what_is_reported_and_override_exclude() {
    let scratch =
        Scratch::git(&[("a/x.yaml", FAULTY), ("b/y.yaml", FAULTY), (".forebay.yaml", "exclude: [a/**]\n")]);
    let paths = |arguments: &[&str]| {
        let answer =
            scratch.forebay(&[&["lint", "--format", "json", "--show", "error"], arguments].concat()).json();
        let findings = answer["findings"].as_array().expect("a list").clone();
        findings.iter().map(|f| f["location"]["path"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(paths(&[]), ["b/y.yaml"]);
    assert_eq!(paths(&["b"]), ["b/y.yaml"]);
    assert_eq!(paths(&["a"]), ["a/x.yaml"]);
    assert_eq!(paths(&["a/x.yaml"]), ["a/x.yaml"]);
    assert_eq!(paths(&["."]), ["b/y.yaml"]);
    assert_eq!(paths(&["--no-config"]), ["a/x.yaml", "b/y.yaml"]);
    assert_eq!(paths(&["--root", "a"]), ["x.yaml"]);
}

#[test]
fn configuration_sets_levels_by_rule_group_and_path() {
    let config = "rules: {metadata: warning, misspelled-annotation-prefix: off}\n\
                  overrides: [{paths: ['dev/**'], rules: {malformed-label-value: info}}]\n";
    let scratch = Scratch::new(&[("dev/a.yaml", FAULTY), ("prod/a.yaml", FAULTY), (".forebay.yaml", config)]);
    let run = scratch.forebay(&["lint", "--format", "concise", "--show", "info", "--quiet"]);
    let lines: Vec<&str> = run.out.lines().filter(|line| !line.contains("committed-request")).collect();
    assert_eq!(lines.len(), 2, "{}", run.out);
    assert!(lines[0].starts_with("dev/a.yaml:7:14: info[malformed-label-value]"), "{}", run.out);
    assert!(lines[1].starts_with("prod/a.yaml:7:14: warning[malformed-label-value]"), "{}", run.out);
}

#[test]
fn mistakes_of_the_configuration_are_shown_where_they_stand() {
    let scratch = Scratch::new(&[("a.yaml", CLEAN), (".forebay.yaml", "version: 1\nexclde: [a]\n")]);
    let run = scratch.forebay(&["lint"]);
    assert_eq!(run.code, 2);
    for part in [".forebay.yaml:2:1", "unknown key `exclde`", "did you mean `exclude`?"] {
        assert!(run.err.contains(part), "{part}: {}", run.err);
    }
}

#[test]
fn colour_follows_flags_and_environment() {
    let scratch = Scratch::new(&[("a.yaml", FAULTY)]);
    let coloured = |arguments: &[&str], environment: &[(&str, &str)]| {
        scratch.forebay_with(&[&["lint"], arguments].concat(), environment, b"").out.contains('\u{1b}')
    };
    assert!(!coloured(&[], &[]));
    assert!(coloured(&["--color", "always"], &[("NO_COLOR", "1")]));
    assert!(coloured(&[], &[("FORCE_COLOR", "1")]));
    assert!(coloured(&[], &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[], &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    assert!(!coloured(&["--color", "never"], &[("FORCE_COLOR", "1")]));
}

#[test]
fn values_of_secrets_are_never_shown() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n  namespace: b\nstringData:\n  \
                  user: hunter2\n  token: 12hunter2\n  port: 8080\n";
    let broken =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: c}\nstringData:\n  token: hunter2\n  a: [hunter2\n";
    let scratch = Scratch::new(&[("a.yaml", secret), ("b.yaml", broken)]);
    let run = scratch.forebay(&["lint"]);
    assert!(run.out.contains("port:") && run.out.contains("yaml-syntax"), "{}", run.out);
    assert!(!run.out.contains("hunter2"), "{}", run.out);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    use std::process::Stdio;
    let files: Vec<(String, &str)> = (0..300).map(|n| (format!("f{n}.yaml"), FAULTY)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let scratch = Scratch::new(&files);
    let mut child = crate::support::scratch::forebay()
        .current_dir(scratch.path())
        .args(["lint", "--show", "info"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("forebay runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("forebay ends");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn rules_and_their_explanations() {
    let scratch = Scratch::new(&[]);
    let rules = scratch.forebay(&["rules", "--format", "json"]).json();
    let first = rules["rules"].as_array().and_then(|rules| rules.first()).expect("rules").clone();
    for key in ["id", "group", "level", "default", "scope", "fix", "summary"] {
        assert!(!first[key].is_null(), "{key}");
    }
    let text = scratch.forebay(&["rules"]);
    for rule in rules["rules"].as_array().expect("a list") {
        let id = rule["id"].as_str().expect("text");
        assert!(text.out.contains(id));
        let page = scratch.forebay(&["explain", id]);
        assert_eq!(page.code, 0);
        assert!(page.out.starts_with(&format!("{id}\n")), "{}", page.out);
    }
    let run = scratch.forebay(&["explain", "yaml-sintax"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("did you mean `yaml-syntax`?"), "{}", run.err);
}

#[test]
fn configuration_begins_with_a_commented_file() {
    let scratch = Scratch::git(&[("a.yaml", CLEAN)]);
    let run = scratch.forebay(&["config", "init"]);
    assert_eq!((run.code, run.out.as_str()), (0, ".forebay.yaml written\n"));
    assert_eq!(scratch.forebay(&["lint"]).code, 0);
    let before = scratch.read(".forebay.yaml");
    let run = scratch.forebay(&["config", "init"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("left as it is"), "{}", run.err);
    assert_eq!(scratch.read(".forebay.yaml"), before);
}

#[test]
fn configuration_in_force_is_shown_with_where_it_was_read() {
    let config = "exclude: [b/**]\nrules: {duplicate-key: warning}\n\
                  clusters:\n  - {name: production, path: clusters/p, target: {flux: \"2.7\"}}\n";
    let scratch = Scratch::git(&[("clusters/p/a.yaml", CLEAN), (".forebay.yaml", config)]);
    let answer = scratch.forebay(&["config", "show", "--format", "json"]).json();
    assert_eq!(answer["schema"], "forebay.config-show/v1");
    let value = |key: &str| {
        let row = answer["values"].as_array().expect("a list").iter().find(|row| row["key"] == key);
        let row = row.unwrap_or_else(|| panic!("{key}: {answer:#}"));
        (row["value"].clone(), row["from"].as_str().expect("text").to_owned())
    };
    assert_eq!(value("exclude"), (serde_json::json!(["b/**"]), ".forebay.yaml:1".to_owned()));
    assert_eq!(value("rules.duplicate-key"), ("warning".into(), ".forebay.yaml:2".to_owned()));
    assert_eq!(value("clusters.production.path"), ("clusters/p".into(), ".forebay.yaml:4".to_owned()));
    assert_eq!(value("clusters.production.target.flux"), ("2.7".into(), ".forebay.yaml:4".to_owned()));
    assert!(value("clusters.production.target.clusterApi").0["$unknown"].is_string());
    let text = scratch.forebay(&["config", "show"]).out;
    assert!(text.contains("\ncluster production\n  path "), "{text}");
    assert!(text.contains("  flux                        2.7 "), "{text}");
}

#[test]
fn the_schema_of_the_configuration_accepts_it() {
    let scratch = Scratch::new(&[]);
    let schema = scratch.forebay(&["config", "schema"]).json();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let valid = |text: &str| {
        let value: serde_json::Value = serde_yaml::from_str(text).expect("YAML");
        validator.is_valid(&value)
    };
    assert!(valid(
        "rules: {a: off, b: warning}\nexclude: [x]\nclusters: [{name: a, path: b, target: {flux: 2.7}}]\n"
    ));
    for text in ["exclde: []\n", "rules: {a: fatal}\n", "clusters: [{path: a}]\n", "target: {flux: new}\n"] {
        assert!(!valid(text), "{text}");
    }
}

#[test]
fn completions_and_man_pages_know_the_commands() {
    let scratch = Scratch::new(&[]);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = scratch.forebay(&["completions", shell]);
        assert!(run.code == 0 && run.out.contains("FOREBAY_COMPLETE"), "{shell}: {}", run.out);
    }
    assert!(scratch.forebay(&["man"]).out.contains(".TH forebay 1"));
    assert_eq!(scratch.forebay(&["man", "--output-dir", "man"]).code, 0);
    assert!(scratch.read("man/forebay-lint.1").contains("baseline"));
}

#[test]
fn findings_are_silenced_by_comments() {
    let scratch = Scratch::git(&[
        ("a.yaml", FAULTY),
        (
            "b.json",
            "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"b\",\"labels\":{\"a\":\"b b\"}}}\n",
        ),
    ]);
    let run = scratch.forebay(&["lint", "--add-ignores=known, see TEAM-1", "--format", "concise"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(
        run.err.contains("2 comments added in 1 file") && run.err.contains("b.json: JSON has no comments"),
        "{}",
        run.err
    );
    assert!(run.out.starts_with("b.json:1:") && run.out.contains("2 suppressed"), "{}", run.out);
    let expected = FAULTY
        .replace(
            "    contact:",
            "    # forebay: ignore[malformed-label-value] known, see TEAM-1\n    contact:",
        )
        .replace(
            "    events.",
            "    # forebay: ignore[misspelled-annotation-prefix] known, see TEAM-1\n    events.",
        );
    assert_eq!(scratch.read("a.yaml"), expected);
    let again = scratch.forebay(&["lint", "--add-ignores", "--format", "concise"]);
    assert!(again.err.contains("0 comments added in 0 files"), "{}", again.err);
    assert_eq!(scratch.read("a.yaml"), expected);
}

/// (followed, Kustomizations, errors) of a lint.
fn followed(scratch: &Scratch) -> (u64, u64, u64) {
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    let coverage = |key: &str| answer["coverage"][key].as_u64().expect("a number");
    (coverage("followed"), coverage("kustomizations"), answer["summary"]["error"].as_u64().expect("a number"))
}

/// Many clusters that share a Kustomization, each with its path in a patch, whose
/// source comes with the installation: nothing says what is applied.
#[test]
fn coverage_rises_with_the_configuration_that_init_writes() {
    let shared = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: apps\n  \
                  namespace: flux-system\nspec:\n  interval: 10m\n  prune: true\n  sourceRef:\n    \
                  kind: GitRepository\n    name: platform\n";
    let list = |resources: &str| {
        format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [{resources}]\n"
        )
    };
    let mut files = vec![
        ("base/apps.yaml".to_owned(), shared.to_owned()),
        ("base/kustomization.yaml".to_owned(), list("apps.yaml")),
    ];
    for environment in ["dev", "prod"] {
        files.push((format!("apps/{environment}/a.yaml"), CLEAN.to_owned()));
        for number in 1..=8 {
            let patch = format!(
                "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: apps\n  \
                 namespace: flux-system\nspec:\n  path: ./apps/{environment}\n"
            );
            let directory = format!("clusters/{environment}/{number:02}");
            files.push((format!("{directory}/patch.yaml"), patch));
            let own = list("../../../base") + "patches: [{path: patch.yaml}]\n";
            files.push((format!("{directory}/kustomization.yaml"), own));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let scratch = Scratch::git(&files);
    assert_eq!(followed(&scratch).0, 0);
    assert_eq!(scratch.forebay(&["config", "init"]).code, 0);
    // A person confirms what is proposed by taking the marks away.
    let proposed = scratch.read(".forebay.yaml");
    assert!(proposed.contains("#  - {name: dev/01, path: clusters/dev/01}\n"), "{proposed}");
    let confirmed = proposed.replace("#clusters:", "clusters:").replace("#  - {name:", "  - {name:");
    scratch.write(".forebay.yaml", confirmed.as_bytes());
    // In each of 16 clusters the root and what it applies.
    assert_eq!(followed(&scratch), (32, 32, 0));
}

/// A repository whose tree is known by the workflow that pushes it: without the
/// workflow it is assumed, with the configuration that was written before stated.
#[test]
fn what_init_writes_states_a_tree_that_was_assumed() {
    let corpus = crate::support::skip::corpus_or_skip!();
    let from = corpus.root().join("xunholy__k8s-gitops");
    let scratch = Scratch::git(&[]);
    for file in walkdir::WalkDir::new(&from).into_iter().flatten().filter(|entry| entry.file_type().is_file())
    {
        let path = file.path().strip_prefix(&from).expect("below").to_string_lossy().into_owned();
        scratch.write(&path, &std::fs::read(file.path()).expect("a file"));
    }
    let certainty = |scratch: &Scratch| {
        let answer = scratch.forebay(&["config", "show", "--format", "json"]).json();
        answer["coverage"]["clusters"]["cluster-00"].as_str().unwrap_or("none").to_owned()
    };
    let all = followed(&scratch);
    std::fs::remove_dir_all(scratch.path().join(".github")).expect("workflows");
    assert_ne!(certainty(&scratch), "stated");
    assert_eq!(scratch.forebay(&["config", "init"]).code, 0);
    assert_eq!(certainty(&scratch), "stated");
    assert_eq!(followed(&scratch).0, all.0);
}
