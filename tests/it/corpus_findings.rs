//! docs/corpus-findings.md says what lint reports on real repositories, no more and
//! no less: counts, skipped files, and every error with its place. `.ci/corpus`
//! writes those parts anew; verdicts are kept, and what is new waits for one. Errors and
//! all findings of the group `schema` need one.

use crate::support::corpus::Corpus;
use crate::support::skip::corpus_or_skip;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

const PAGE: &str = "docs/corpus-findings.md";

/// What stands where a person has yet to judge an error.
const NOT_JUDGED: &str = "not yet judged.";

/// Errors of one rule in one repository beyond this many stand in one line.
const LISTED: usize = 12;

/// Reasons of `notChecked` that skip a file, not a reference.
const SKIPPED: [&str; 7] =
    ["symlink", "submodule", "special-file", "missing-git-object", "git-lfs", "git-crypt", "template"];

/// Each repository's name and the answer of lint.
fn answers(corpus: &Corpus) -> Vec<(String, Value)> {
    let mut repositories: Vec<_> = std::fs::read_dir(corpus.root()).unwrap().flatten().collect();
    repositories.retain(|entry| entry.path().is_dir());
    repositories.sort_by_key(|entry| entry.file_name());
    let answer = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["lint", "--no-config", "--format", "json", "--show", "info", "--root"])
            .arg(entry.path())
            .arg(entry.path())
            .output()
            .unwrap();
        let answer = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("{name}: {error}: {}", String::from_utf8_lossy(&output.stderr));
        });
        (name, answer)
    };
    repositories.into_iter().map(answer).collect()
}

#[test]
fn the_page_says_what_lint_reports() {
    let answers = answers(corpus_or_skip!());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let wanted = renewed(&page, &answers);
    if std::env::var_os("FOREBAY_RENEW").is_some() {
        std::fs::write(&path, wanted).unwrap();
    } else {
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!words.contains(&format!("`: {NOT_JUDGED}")), "{PAGE} has findings without a verdict");
        let difference = similar::TextDiff::from_lines(page.as_str(), wanted.as_str());
        assert!(
            page == wanted,
            "{PAGE} says something else than lint; `.ci/corpus` renews it:\n{}",
            difference.unified_diff()
        );
    }
}

/// The page with its generated parts as lint answers now.
fn renewed(page: &str, answers: &[(String, Value)]) -> String {
    let known = verdicts(section(page, "errors"));
    let of_group = verdicts(section(page, "schema"));
    let repositories = format!("{} repositories\n", answers.len());
    [
        ("number", repositories),
        ("counts", counts(answers)),
        ("skipped", skipped(answers)),
        ("coverage", coverage(answers)),
        ("errors", errors(answers, &known)),
        ("schema", of_schema(answers, &of_group)),
    ]
    .iter()
    .fold(page.to_owned(), |page, (name, text)| page.replacen(section(&page, name), text, 1))
}

/// What stands between `<!-- NAME -->` and `<!-- end -->`, each on its own line.
fn section<'p>(page: &'p str, name: &str) -> &'p str {
    let start = format!("<!-- {name} -->\n");
    let from = page.find(&start).unwrap_or_else(|| panic!("{PAGE} has no {start}")) + start.len();
    &page[from..from + page[from..].find("<!-- end -->").unwrap_or_else(|| panic!("{name} has no end"))]
}

/// For each repository what it holds, and how often each rule speaks.
fn counts(answers: &[(String, Value)]) -> String {
    let mut text = "\n| repository | files | documents | objects | errors | warnings | infos |\n\
                    |---|---|---|---|---|---|---|\n"
        .to_owned();
    for (name, answer) in answers {
        let mut rules: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for finding in answer["findings"].as_array().unwrap() {
            let key = (finding["level"].as_str().unwrap(), finding["rule"].as_str().unwrap());
            *rules.entry(key).or_default() += 1;
        }
        let of = |level: &str| {
            let own = rules.iter().filter(|((own, _), _)| *own == level);
            let counted: Vec<String> = own.map(|((_, rule), count)| format!("{count} `{rule}`")).collect();
            if counted.is_empty() { "0".to_owned() } else { counted.join(", ") }
        };
        let summary = &answer["summary"];
        let (files, documents, objects) = (&summary["files"], &summary["documents"], &summary["objects"]);
        let (errors, warnings, infos) = (of("error"), of("warning"), of("info"));
        let row = format!("{name} | {files} | {documents} | {objects} | {errors} | {warnings} | {infos}");
        writeln!(text, "| {row} |").unwrap();
    }
    text + "\n"
}

/// What was followed in each repository, and what its team sees on the first day:
/// errors and warnings.
fn coverage(answers: &[(String, Value)]) -> String {
    let mut text =
        "\n| repository | clusters | Kustomizations followed | objects in clusters | errors and warnings |\n\
                    |---|---|---|---|---|\n"
            .to_owned();
    let mut seen = Vec::new();
    for (name, answer) in answers {
        let coverage = &answer["coverage"];
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for certainty in coverage["clusters"].as_object().unwrap().values() {
            *known.entry(certainty.as_str().unwrap()).or_default() += 1;
        }
        let clusters: Vec<String> = known.iter().map(|(known, count)| format!("{count} {known}")).collect();
        let clusters = if clusters.is_empty() { "0".to_owned() } else { clusters.join(", ") };
        let findings = ["error", "warning"].map(|level| answer["summary"][level].as_u64().unwrap());
        let findings: u64 = findings.iter().sum();
        seen.push(findings);
        let followed = format!("{} of {}", coverage["followed"], coverage["kustomizations"]);
        let objects = format!("{} of {}", coverage["inClusters"], coverage["objects"]);
        writeln!(text, "| {name} | {clusters} | {followed} | {objects} | {findings} |").unwrap();
    }
    seen.sort_unstable();
    let (median, most) = (seen[seen.len() / 2], seen[seen.len() - 1]);
    writeln!(
        text,
        "\nOf {} teams the median sees {median} on the first day, the one with most {most}.",
        seen.len()
    )
    .unwrap();
    text + "\n"
}

fn skipped(answers: &[(String, Value)]) -> String {
    let mut rows = BTreeSet::new();
    for (name, answer) in answers {
        for reason in answer["notChecked"].as_array().unwrap() {
            let (what, count) = (reason["what"].as_str().unwrap(), &reason["count"]);
            if SKIPPED.contains(&what) {
                rows.insert(format!("| {what} | {name} | {count} |\n"));
            }
        }
    }
    format!("\n| reason | repository | files |\n|---|---|---|\n{}\n", rows.into_iter().collect::<String>())
}

/// The items of the list of errors: what is judged, and the verdict as it is
/// written.
fn verdicts(list: &str) -> BTreeMap<String, String> {
    let items =
        list.split("\n- ").skip(1).filter_map(|item| item.split_once("`: ").or(item.split_once("`:\n")));
    let words = |what: &str| what.split_whitespace().collect::<Vec<_>>().join(" ");
    items
        .map(|(what, verdict)| (words(what) + "`", verdict.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect()
}

/// Every error with its place and verdict; many of one rule in one repository
/// together.
fn errors(answers: &[(String, Value)], verdicts: &BTreeMap<String, String>) -> String {
    let mut text = "\n".to_owned();
    for (name, answer) in answers {
        let mut rules: BTreeMap<&str, BTreeSet<(&str, u64)>> = BTreeMap::new();
        for finding in answer["findings"].as_array().unwrap().iter().filter(|f| f["level"] == "error") {
            let (rule, at) = (finding["rule"].as_str().unwrap(), &finding["location"]);
            let place = (at["path"].as_str().unwrap(), at["line"].as_u64().unwrap());
            rules.entry(rule).or_default().insert(place);
        }
        for (rule, places) in rules {
            let whats: Vec<String> = if places.len() > LISTED {
                vec![format!("`{name}` `{rule}`")]
            } else {
                places.iter().map(|(path, line)| format!("`{name}/{path}:{line}` `{rule}`")).collect()
            };
            for what in whats {
                let verdict = verdicts.get(&what).map_or(NOT_JUDGED, String::as_str);
                text.push_str(&wrapped(&format!("{what}: {verdict}")));
            }
        }
    }
    text + "\n"
}

/// The findings of the group `schema` of any level: those of one rule about one field of
/// one kind in one repository have one cause, and together a verdict. Behind their places
/// stands the verdict as it is written.
fn of_schema(answers: &[(String, Value)], verdicts: &BTreeMap<String, String>) -> String {
    let mut text = "\n".to_owned();
    for (name, answer) in answers {
        let mut causes: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for finding in answer["findings"].as_array().unwrap().iter().filter(|f| f["group"] == "schema") {
            let (rule, at) = (finding["rule"].as_str().unwrap(), &finding["location"]);
            let (level, kind) = (finding["level"].as_str().unwrap(), &finding["objects"][0]["kind"]);
            let field: Vec<&str> = finding["path"].as_str().unwrap().split('/').skip(1).collect();
            let is_index = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
            let field: Vec<&str> =
                field.into_iter().map(|name| if is_index(name) { "*" } else { name }).collect();
            let kind = kind.as_str().unwrap_or("object");
            let cause = format!("`{name}` {level} `{rule}` `{kind}.{}`", field.join("."));
            let place = format!("{}:{}", at["path"].as_str().unwrap(), at["line"]);
            causes.entry(cause).or_default().push(place);
        }
        for (cause, mut places) in causes {
            places.sort();
            let (count, more) = (places.len(), places.len().saturating_sub(LISTED));
            places.truncate(LISTED);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            let places = format!("{count} ({}{rest})", places.join(", "));
            // What stands before the verdict is made anew.
            let verdict = verdicts
                .get(&cause)
                .map_or(NOT_JUDGED, |item| item.split_once("). ").map_or(NOT_JUDGED, |(_, verdict)| verdict));
            let verdict =
                if verdict == NOT_JUDGED { NOT_JUDGED.to_owned() } else { format!("{places}. {verdict}") };
            text.push_str(&wrapped(&format!("{cause}: {verdict}")));
        }
    }
    text + "\n"
}

/// An item of a list in lines of at most 85 columns, where its words allow that.
fn wrapped(item: &str) -> String {
    let mut lines = vec!["-".to_owned()];
    for word in item.split(' ') {
        let line = lines.last_mut().expect("a line");
        if line.len() > 2 && line.len() + 1 + word.len() > 85 {
            lines.push(format!("  {word}"));
        } else {
            write!(line, " {word}").unwrap();
        }
    }
    lines.join("\n") + "\n"
}

/// A verdict about the group `schema` outlives a renewal that moves its places, and
/// another field waits for its own.
#[test]
fn verdicts_about_fields_are_kept() {
    let answer = |places: &[(u64, &str)]| {
        let finding = |(line, field): &(u64, &str)| {
            serde_json::json!({
                "group": "schema", "rule": "r", "level": "warning", "path": field,
                "objects": [{"kind": "K"}], "location": {"path": "a.yaml", "line": line},
            })
        };
        let findings: Vec<Value> = places.iter().map(finding).collect();
        vec![("o__r".to_owned(), serde_json::json!({"findings": findings}))]
    };
    let first = of_schema(&answer(&[(3, "/spec/a/0/b")]), &BTreeMap::new());
    assert_eq!(first, "\n- `o__r` warning `r` `K.spec.a.*.b`: not yet judged.\n\n");
    let judged = first.replace("not yet judged.", "1 (a.yaml:3). True\n  fault, see (1). It is so.");
    let moved = answer(&[(5, "/spec/a/0/b"), (9, "/spec/a/1/b"), (9, "/spec/c")]);
    let second = of_schema(&moved, &verdicts(&judged));
    assert_eq!(
        second,
        "\n- `o__r` warning `r` `K.spec.a.*.b`: 2 (a.yaml:5, a.yaml:9). True fault, see (1). It\n  is so.\n\
         - `o__r` warning `r` `K.spec.c`: not yet judged.\n\n"
    );
}

/// A verdict outlives a renewal; a finding that went away takes its own along.
#[test]
fn verdicts_are_kept() {
    let answer = |lines: &[u64]| {
        let finding = |line: &u64| serde_json::json!({"rule": "r", "level": "error", "location": {"path": "a.yaml", "line": line}});
        let findings: Vec<Value> = lines.iter().map(finding).collect();
        vec![("o__r".to_owned(), serde_json::json!({"findings": findings}))]
    };
    let first = errors(&answer(&[3, 7]), &BTreeMap::new());
    assert_eq!(first, "\n- `o__r/a.yaml:3` `r`: not yet judged.\n- `o__r/a.yaml:7` `r`: not yet judged.\n\n");
    let judged = first.replace("7` `r`: not yet judged.", "7`\n  `r`: true fault, because of\n  what it is.");
    let second = errors(&answer(&[7, 9]), &verdicts(&judged));
    assert_eq!(
        second,
        "\n- `o__r/a.yaml:7` `r`: true fault, because of what it is.\n- `o__r/a.yaml:9` `r`: not yet judged.\n\n"
    );
}
