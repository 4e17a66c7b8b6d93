//! Small kustomizations with what kustomize makes of them: `tests/kustomize/*.txt`.
//!
//! A case begins with `#### NAME`, a file of it with `== PATH` (without one it
//! is `a.yaml`; without a kustomization file there is one that names it; `== PATH
//! from NAME` is that of an earlier case), the outcome with `==> builds` or `==>
//! fails at PATH:LINE`. `<TAB>`, `<SP>`, `<BOM>` and `\r` stand for characters that
//! editors change.
//!
//! `FOREBAY_RECORD=1` runs `kubectl kustomize` on every case, writes what it
//! prints as the outcome and fails where forebay differs.

use crate::support::kustomize::{self, Files};
use std::path::{Path, PathBuf};

struct Case {
    name: String,
    /// As written, without the outcome.
    text: String,
    files: Files,
    outcome: String,
}

fn parse(text: &str) -> (String, Vec<Case>) {
    let mut cases = text.split("#### ");
    let head = cases.next().unwrap_or_default().to_owned();
    let mut parsed: Vec<Case> = Vec::new();
    for case in cases {
        let (name, body) = case.split_once('\n').expect("a name");
        let (text, outcome) = match body.find("==> ") {
            Some(at) => (&body[..at], &body[at..]),
            None => (body, ""),
        };
        let mut files: Files = Vec::new();
        for line in text.split_inclusive('\n') {
            match line.strip_prefix("== ") {
                Some(path) => files.push(match path.trim_end().split_once(" from ") {
                    None => (path.trim_end().to_owned(), String::new()),
                    Some((path, name)) => {
                        let known = parsed.iter().find(|known| known.name == name).expect("an earlier case");
                        known.files.iter().find(|(known, _)| known == path).expect("its file").clone()
                    }
                }),
                None => {
                    if files.is_empty() {
                        files.push(("a.yaml".to_owned(), String::new()));
                    }
                    files.last_mut().expect("just made").1.push_str(&special(line));
                }
            }
        }
        let names = ["kustomization.yaml", "kustomization.yml", "Kustomization"];
        if !files.iter().any(|(path, _)| names.contains(&path.as_str())) {
            files.push((names[0].to_owned(), "resources: [a.yaml]\n".to_owned()));
        }
        let (name, text, outcome) = (name.to_owned(), text.to_owned(), outcome.to_owned());
        parsed.push(Case { name, text, files, outcome });
    }
    (head, parsed)
}

fn special(line: &str) -> String {
    line.replace("\\r\n", "\r\n").replace("<BOM>", "\u{feff}").replace("<SP>", " ").replace("<TAB>", "\t")
}

fn outcome_of(case: &Case) -> (String, String) {
    match kustomize::forebay(&case.files) {
        Ok(text) => (format!("==> builds\n{text}"), String::new()),
        Err((place, message)) => (format!("==> fails at {place}\n"), message),
    }
}

fn goldens() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kustomize");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(directory).expect("goldens").map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "txt"));
    paths.sort();
    paths
}

#[test]
fn cases_build_as_recorded() {
    let record = std::env::var_os("FOREBAY_RECORD").is_some();
    let (mut count, mut failures) = (0, Vec::new());
    for path in goldens() {
        let text = std::fs::read_to_string(&path).expect("a golden");
        let (mut recorded, cases) = parse(&text);
        for case in &cases {
            count += 1;
            let (found, message) = outcome_of(case);
            let name = format!("{}: {}", path.file_stem().unwrap_or_default().to_string_lossy(), case.name);
            if record {
                let known = match kustomize::kubectl(&case.files) {
                    Ok(text) => format!("==> builds\n{text}"),
                    Err(_) if found.starts_with("==> fails") => found.clone(),
                    Err(complaint) => format!("==> fails: {complaint}\n"),
                };
                if found != known {
                    failures.push(format!("{name}: kubectl\n{known}forebay\n{found}{message}"));
                }
                recorded.push_str(&format!("#### {}\n{}{known}", case.name, case.text));
            } else if found != case.outcome {
                failures.push(format!("{name}: recorded\n{}found\n{found}{message}", case.outcome));
            }
        }
        if record {
            std::fs::write(&path, recorded).expect("the golden");
        }
    }
    assert!(failures.is_empty(), "{} of {count} cases:\n{}", failures.len(), failures.join("\n\n"));
    assert!(count > 100, "{count} cases");
}

/// Every failure names a file of the case and a line, and says something.
#[test]
fn failures_name_a_file_and_a_line() {
    let mut failures = 0;
    for path in goldens() {
        let text = std::fs::read_to_string(&path).expect("a golden");
        for case in parse(&text).1 {
            let Err((place, message)) = kustomize::forebay(&case.files) else { continue };
            failures += 1;
            let (file, line) = place.rsplit_once(':').unwrap_or_else(|| panic!("{}: {message}", case.name));
            assert!(case.files.iter().any(|(path, _)| path == file), "{}: {place}: {message}", case.name);
            assert!(line.parse::<u32>().is_ok_and(|line| line > 0), "{}: {place}", case.name);
            assert!(!message.is_empty(), "{}", case.name);
        }
    }
    assert!(failures > 50, "{failures} failures");
}
