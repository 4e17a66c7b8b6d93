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

use forebay::config::Config;
use forebay::lint::engine::{self, Options};
use forebay::lint::rules::RULES;
use forebay::lint::{Check, Group};
use forebay::repo::{Snapshot, Store};
use forebay::world::World;
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
        let outcome = engine::run(&world, &Config::default(), &Options::default());
        let found: BTreeSet<Place> = outcome
            .findings
            .iter()
            .map(|finding| {
                let ((line, _), _) = snapshot.positions(&finding.location);
                let level = finding.level.name().to_owned();
                (finding.location.path.to_string(), line, level, finding.rule.id.to_owned())
            })
            .collect();
        assert_eq!(found, expected, "{rule}");
    }
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
