//! Whole repositories with one defect each: `tests/projects/lint-RULE` holds
//! files in which a comment says what is found where:
//!
//! ```text
//! # error: [rule-id]                        on its own line: of the next line
//! key: value # warning: [rule-id]           at the end of a line: of that line
//! ```
//!
//! All rules run, and nothing else may be found. Rules whose page in
//! `tests/rules` is about several files already have their repository there.
//!
//! `tests/projects/inventory-NAME` are about what is believed of the world: a part
//! of the words of a finding may stand behind it in quotes, and
//! `# not checked: [reason]` asks for what is counted as not checked.

use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::engine::{self, LintOptions};
use forebay::internals::lint::rules::RULES;
use forebay::internals::lint::{Check, Finding, Group};
use forebay::internals::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects")
}

/// The rules that have a project, with its directory.
fn projects() -> BTreeMap<String, PathBuf> {
    let entries = std::fs::read_dir(directory()).expect("projects exist").flatten();
    let named = entries.filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().strip_prefix("lint-")?.to_owned();
        Some((name, entry.path()))
    });
    named.collect()
}

fn read(root: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in walkdir::WalkDir::new(root).into_iter().flatten() {
        if entry.file_type().is_file() {
            let relative = entry.path().strip_prefix(root).expect("below");
            let path = relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
            files.insert(path, std::fs::read_to_string(entry.path()).expect("a text"));
        }
    }
    files
}

/// (path, line, level, rule)
type Place = (String, u32, String, String);

fn asserted(files: &BTreeMap<String, String>) -> BTreeSet<Place> {
    let mut found = BTreeSet::new();
    for (path, text) in files {
        for (index, line) in text.lines().enumerate() {
            for level in ["error", "warning", "info"] {
                let Some((before, rest)) = line.split_once(&format!("# {level}: [")) else { continue };
                let (rule, _) = rest.split_once(']').expect("a closing bracket");
                let below = u32::from(before.trim().is_empty());
                found.insert((path.clone(), index as u32 + 1 + below, level.to_owned(), rule.to_owned()));
            }
        }
    }
    found
}

#[test]
fn each_project_has_its_defect_and_no_other() {
    let projects = projects();
    assert!(projects.len() >= 9, "{projects:?}");
    for (rule, root) in projects {
        let files = read(&root);
        let expected = asserted(&files);
        assert!(expected.iter().any(|(.., found)| *found == rule), "{rule}: its own finding is not asserted");
        let listed = files.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
        let snapshot = Arc::new(Snapshot::memory(listed, Arc::new(Store::default())));
        let world = World::new(&snapshot, &Config::default(), &[]);
        let outcome = engine::run(&world, &Config::default(), &LintOptions::default());
        let found: BTreeSet<Place> = outcome
            .findings
            .iter()
            .map(|finding| {
                let ((line, _), _) = snapshot.positions(&finding.location);
                let level = finding.level.name().to_owned();
                (finding.location.file.to_string(), line, level, finding.rule.id.to_owned())
            })
            .collect();
        assert_eq!(found, expected, "{rule}");
    }
}

/// The parts of findings that files ask for: (path, line, words).
fn asserted_words(files: &BTreeMap<String, String>) -> Vec<(String, u32, String)> {
    let mut found = Vec::new();
    for (path, text) in files {
        for (index, line) in text.lines().enumerate() {
            let Some((_, behind)) = line.split_once(": [").filter(|_| line.contains("# ")) else { continue };
            if let Some((_, words)) = behind.split_once("] \"") {
                let words = words.trim_end().trim_end_matches('"');
                found.push((path.clone(), index as u32 + 1, words.to_owned()));
            }
        }
    }
    found
}

fn reasons(files: &BTreeMap<String, String>) -> BTreeSet<String> {
    let lines = files.values().flat_map(|text| text.lines());
    let reason = |line: &str| Some(line.split_once("# not checked: [")?.1.split_once(']')?.0.to_owned());
    lines.filter_map(reason).collect()
}

#[test]
fn the_inventory_is_what_a_person_sees() {
    let entries = std::fs::read_dir(directory()).expect("projects exist").flatten();
    let roots: BTreeSet<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("inventory-")))
        .collect();
    assert!(roots.len() >= 30, "{roots:?}");
    let mut problems = Vec::new();
    for root in roots {
        let name = root.file_name().expect("a name").to_string_lossy().into_owned();
        let files = read(&root);
        let listed = files.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
        let snapshot = Arc::new(Snapshot::memory(listed, Arc::new(Store::default())));
        let world = World::new(&snapshot, &Config::default(), &[]);
        let outcome = engine::run(&world, &Config::default(), &LintOptions::default());
        let place = |finding: &Finding| {
            let ((line, _), _) = snapshot.positions(&finding.location);
            let level = finding.level.name().to_owned();
            (finding.location.file.to_string(), line, level, finding.rule.id.to_owned())
        };
        // Objects that only one of two layouts applies are named in others.
        let found: BTreeSet<Place> =
            outcome.findings.iter().filter(|finding| finding.rule.id != "orphan-object").map(place).collect();
        let expected = asserted(&files);
        if found != expected {
            problems.push(format!("{name}: found {found:#?}, not {expected:#?}"));
        }
        for (path, line, words) in asserted_words(&files) {
            let told = outcome.findings.iter().any(|finding| {
                let (at, number, ..) = place(finding);
                at == path
                    && number == line
                    && format!("{} {} {}", finding.title, finding.why, finding.help).contains(&words)
            });
            if !told {
                let all: Vec<String> = outcome
                    .findings
                    .iter()
                    .map(|one| format!("{} {} {}", one.title, one.why, one.help))
                    .collect();
                problems.push(format!("{name}: {path}:{line} does not say `{words}`: {all:#?}"));
            }
        }
        let counted: BTreeSet<String> =
            outcome.not_checked.iter().map(|(reason, _)| reason.name().to_owned()).collect();
        for reason in reasons(&files) {
            if !counted.contains(&reason) {
                problems.push(format!("{name}: {reason} is not among {counted:?}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A finding about a file has its path, and the line where that is known.
#[test]
fn places_of_files_that_are_no_text() {
    let files = [("apps/a.yaml", b"a: 1\nb: \xff\xfe\n".to_vec())];
    let snapshot = Arc::new(Snapshot::memory(files, Arc::new(Store::default())));
    let world = World::new(&snapshot, &Config::default(), &[]);
    let outcome = engine::run(&world, &Config::default(), &LintOptions::default());
    let finding = outcome.findings.iter().find(|finding| finding.rule.id == "undecodable-file").expect("one");
    let place = forebay::internals::report::place(&snapshot, &finding.location).expect("a place");
    assert_eq!((place.from, place.start), ((2, 4), 8));
}

/// Every rule about relations has a repository of several files, here or in its
/// page.
#[test]
fn every_rule_about_several_files_has_a_repository() {
    let projects = projects();
    let groups = [Group::Build, Group::Reference, Group::Suspend, Group::Gate, Group::Event];
    let mut missing = Vec::new();
    for rule in RULES.iter().filter(|rule| groups.contains(&rule.group)) {
        if !matches!(rule.check, Check::Cluster(_) | Check::Repository(_)) {
            continue;
        }
        let example =
            rule.docs.split("## Example").nth(1).and_then(|rest| rest.split("## Use instead").next());
        let paths: BTreeSet<&str> = example
            .unwrap_or_default()
            .lines()
            .filter_map(|line| line.strip_prefix('`')?.strip_suffix("`:"))
            .collect();
        if paths.len() < 2 && !projects.contains_key(rule.id) {
            missing.push(rule.id);
        }
    }
    assert!(missing.is_empty(), "without a repository of their own: {missing:?}");
}
