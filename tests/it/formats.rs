//! The formats of `lint`, as their readers need them.

use crate::support::scratch::{Scratch, assert_schema};
use serde_json::Value;

const FORMATS: [&str; 9] =
    ["full", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "html"];

const FAULTY: &str = r#"apiVersion: v1
kind: Namespace
metadata:
  name: podinfo
  labels:
    contact: sre@example.com
    other: "b b" # forebay: ignore[malformed-label-value] known, see TEAM-1
  annotations:
    events.toolkit.fluxcd.io/image: podinfo:6.5.4
"#;

#[test]
fn sarif_is_what_code_scanning_reads() {
    let scratch = Scratch::git(&[("a b/ü#1.yaml", FAULTY), ("t.yaml", "{{- if .x }}\n")]);
    let log = scratch.forebay(&["lint", "--format", "sarif"]).json();
    assert_schema("tests/data/sarif-2.1.0.json", &log);
    let run = &log["runs"][0];
    let results = run["results"].as_array().expect("a list");
    let errors: Vec<&Value> = results.iter().filter(|result| result["suppressions"].is_null()).collect();
    let rule = &run["tool"]["driver"]["rules"][errors[0]["ruleIndex"].as_u64().expect("a number") as usize];
    assert_eq!(rule["id"], errors[0]["ruleId"]);
    assert!(rule["help"]["markdown"].as_str().is_some_and(|help| help.contains("## Why it matters")));
    let place = &errors[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b/%C3%BC%231.yaml");
    let region =
        ["startLine", "startColumn", "endLine", "endColumn"].map(|key| place["region"][key].as_u64());
    assert_eq!(region, [Some(6), Some(14), Some(6), Some(29)]);
    let bytes = FAULTY.find("sre@").expect("written above") as u64;
    assert_eq!(place["region"]["byteOffset"].as_u64(), Some(bytes));
    let suppressed = results.iter().find(|result| !result["suppressions"].is_null()).expect("one");
    assert_eq!(suppressed["suppressions"][0]["kind"], "inSource");
    assert_eq!(suppressed["suppressions"][0]["justification"], "known, see TEAM-1");
    assert!(
        run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
            .as_str()
            .is_some_and(|text| text == "not checked: 1 template")
    );
}

#[test]
fn fingerprints_are_unique_where_services_need_it() {
    let scratch = Scratch::new(&[("a.yaml", FAULTY), ("b.yaml", FAULTY)]);
    let report = scratch.forebay(&["lint", "--format", "gitlab", "--select", "malformed-label-value"]).json();
    let report = report.as_array().expect("a list");
    assert_eq!(report.len(), 2);
    assert_ne!(report[0]["fingerprint"], report[1]["fingerprint"]);
    for issue in report {
        assert_eq!(issue["severity"], "major");
        assert_eq!(issue["check_name"], "malformed-label-value");
        assert_eq!(issue["location"]["lines"]["begin"], 6);
        assert!(issue["description"].as_str().is_some_and(|text| text.starts_with("Namespace podinfo: ")));
    }
}

#[test]
fn services_get_paths_of_the_repository() {
    let scratch = Scratch::git(&[("fleet/a.yaml", FAULTY)]);
    let run = |format| scratch.forebay(&["lint", "--root", "fleet", "--format", format]).out;
    assert!(run("github").contains("file=fleet/a.yaml,"));
    assert!(run("gitlab").contains(r#""path":"fleet/a.yaml""#));
    assert!(run("sarif").contains(r#""uri":"fleet/a.yaml""#));
    assert!(run("json").contains(r#""path":"a.yaml""#));
}

#[test]
fn annotations_are_capped_and_the_rest_counted() {
    let labels: String = (0..25).map(|n| format!("    l{n}: \"b {n}\"\n")).collect();
    let text = format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  labels:\n{labels}");
    let scratch = Scratch::new(&[("a.yaml", &text)]);
    let out = scratch.forebay(&["lint", "--format", "github"]).out;
    assert_eq!(out.lines().count(), 10, "{out}");
    assert!(out.lines().all(|line| line.starts_with("::error ")), "{out}");
    assert!(out.ends_with("::16 more errors of forebay in the log and the summary\n"), "{out}");
}

#[test]
fn a_page_begins_with_the_file_that_has_the_worst() {
    let warned = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: b\n  annotations:\n    events.toolkit.fluxcd.io/image: a\n";
    let scratch = Scratch::new(&[("a.yaml", warned), ("b.yaml", FAULTY)]);
    let page = scratch.forebay(&["lint", "--format", "html"]).out;
    let at =
        |file: &str| page.find(&format!("<h2><code>{file}</code></h2>")).unwrap_or_else(|| panic!("{page}"));
    assert!(at("b.yaml") < at("a.yaml"), "{page}");
}

#[test]
fn junit_has_a_case_for_each_finding_and_one_without() {
    let scratch = Scratch::new(&[("a.yaml", FAULTY)]);
    let out = scratch.forebay(&["lint", "--format", "junit"]).out;
    assert_eq!(out.matches("<testcase ").count(), 2, "{out}");
    assert!(out.contains(r#"tests="2" failures="1""#) && out.contains(r#"<failure type="error""#), "{out}");
    // What leaves the exit code 0 is no failure.
    let only = ["lint", "--format", "junit", "--select", "misspelled-annotation-prefix"];
    let run = scratch.forebay(&only);
    assert!(run.code == 0 && run.out.contains(r#"tests="1" failures="0""#), "{}", run.out);
    assert!(run.out.contains("<system-out>warning: ") && !run.out.contains("<failure"), "{}", run.out);
    let run = scratch.forebay(&[&only[..], &["--fail-on", "warning"]].concat());
    assert!(run.code == 1 && run.out.contains(r#"failures="1""#), "{}", run.out);
    let clean =
        Scratch::new(&[("a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n")]);
    let out = clean.forebay(&["lint", "--format", "junit"]).out;
    assert!(out.contains(r#"tests="1" failures="0""#), "{out}");
}

#[test]
fn markdown_is_cut_where_services_refuse_more() {
    let labels: String = (0..500).map(|n| format!("    l{n}: \"b {n}\"\n")).collect();
    let namespace =
        |name| format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n  labels:\n{labels}");
    let texts = ["a", "b", "c", "d"].map(|name| (format!("{name}.yaml"), namespace(name)));
    let files: Vec<(&str, &str)> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let scratch = Scratch::new(&files);
    let out = scratch.forebay(&["lint", "--format", "markdown"]).out;
    assert!(out.len() < 65_000, "{}", out.len());
    assert!(out.starts_with("<!-- forebay:lint -->\n### forebay: 2000 errors\n"), "{out}");
    assert!(out.contains(" findings more not shown here."));
}

/// A line that the runner of a workflow obeys.
fn is_command(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("::") || line.starts_with("##[")
}

#[test]
fn hostile_strings_come_out_inert() {
    let evil =
        "\\e[31m\\r\\n::error::pwned%0A::error::pwned ${{ github.token }} <img src=x onerror=y> @team | `x`";
    let manifest = format!(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: \"a ::error::pwned {evil}\"\n  labels:\n    a: \"{evil}\"\n    \
         \"::error::k {evil}\": x\n  annotations:\n    \"events.toolkit.fluxcd.io/{evil}\": \"{evil}\"\n"
    );
    let names =
        ["::error::pwned.yaml", "a%0A::error::b,c:d.yaml", "##[error]x.yaml", "d\u{1b}[31m\n::error::e.yaml"];
    let names: Vec<&str> = if cfg!(windows) { vec!["a%0A.yaml"] } else { names.to_vec() };
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, manifest.as_str())).collect();
    let scratch = Scratch::git(&files);
    for format in FORMATS {
        for extra in [&["--show", "info"][..], &["--list-unchecked", "--color", "always"]] {
            let run = scratch.forebay(&[&["lint", "--format", format], extra].concat());
            assert!([0, 1].contains(&run.code), "{format}: {}", run.err);
            let text = run.out;
            let coloured = extra.contains(&"always") && format == "full";
            let controls = text.chars().filter(|c| c.is_control() && *c != '\n');
            assert!(coloured || controls.count() == 0, "{format}: {text:?}");
            for line in text.lines().filter(|line| is_command(line)) {
                let ours = ["::error file=", "::warning file=", "::notice file="];
                let more = line.contains(" title=forebay::");
                assert!(
                    format == "github" && (more || ours.iter().any(|lead| line.starts_with(lead))),
                    "{format}: {line}"
                );
                // Nothing of a file ends the properties or adds one.
                let (properties, _) = line[2..].split_once("::").expect("a command has data");
                assert!(properties.matches(['\n', '\r']).count() == 0);
                let keys = properties.split(',').map(|part| part.split('=').next().unwrap_or_default());
                let known = [
                    "error file",
                    "warning file",
                    "notice file",
                    "error title",
                    "warning title",
                    "notice title",
                    "line",
                    "endLine",
                    "col",
                    "endColumn",
                    "title",
                ];
                assert!(keys.clone().all(|key| known.contains(&key)), "{line}");
            }
            if coloured {
                let stripped = text.replace("\u{1b}[", "").replace("\u{1b}]8", "");
                assert!(!stripped.contains('\u{1b}'), "{text:?}");
            }
            if format == "markdown" {
                assert!(!text.contains("<img") && !text.contains(" @team"), "{text}");
            }
            if format == "html" {
                assert!(!text.contains("<img") && !text.contains("<script"), "{text}");
            }
            if format == "junit" {
                assert!(!text.contains("<img"), "{text}");
            }
            if ["json", "sarif", "gitlab"].contains(&format) {
                let _: Value = serde_json::from_str(&text).expect("JSON");
            }
        }
    }
}

#[test]
fn titles_are_whole_in_every_format() {
    let (namespace, name) = ("n".repeat(60), format!("{}z", "a".repeat(120)));
    let faulty = FAULTY
        .replace("Namespace", "ConfigMap")
        .replace("podinfo\n", &format!("{name}\n  namespace: {namespace}\n"));
    let scratch = Scratch::new(&[("a.yaml", &faulty)]);
    let lint = |format: &str| {
        scratch.forebay(&["lint", "--format", format, "--select", "malformed-label-value"]).out
    };
    let json: Value = serde_json::from_str(&lint("json")).expect("JSON");
    let found = json["findings"].as_array().expect("a list");
    let title = found
        .iter()
        .find(|finding| finding["rule"] == "malformed-label-value")
        .and_then(|finding| finding["message"].as_str())
        .expect("a title");
    assert!(title.chars().count() >= 200, "{title}");
    assert!(title.starts_with(&format!("ConfigMap {namespace}/{name}: ")) && !title.contains('…'), "{title}");
    for format in ["json", "sarif", "gitlab", "junit", "markdown", "github", "concise", "html"] {
        let out = lint(format);
        // Each escapes quotes its own way.
        let plain = out.replace("\\`", "`").replace("%3A", ":");
        let plain = plain.replace("<code>", "`").replace("</code>", "`");
        assert!(plain.contains(title), "{format} has not the whole of {title}:\n{out}");
    }
    let full = lint("full");
    let words: Vec<&str> = title.split(' ').collect();
    let start = full.lines().position(|line| line.contains('×')).expect("a title");
    let block: Vec<&str> = full.lines().skip(start).take_while(|line| !line.contains('╰')).collect();
    let told: Vec<&str> = block
        .iter()
        .flat_map(|line| line.split_whitespace())
        .filter(|word| !matches!(*word, "×" | "│"))
        .collect();
    assert_eq!(told, words);
    assert!(block.len() > 1, "nothing is wrapped: {full}");
    let too_long = block.iter().find(|line| line.chars().count() > 80 && line.split_whitespace().count() > 2);
    assert_eq!(too_long, None);
}
