//! Fields and values that the API server does not take: every field of a clean fleet
//! misspelled, one at a time, and the same verdicts as a JSON Schema validator has.

use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::engine::{self, LintOptions};
use forebay::internals::lint::{Finding, Group};
use forebay::internals::schema::{self, json_schema, table};
use forebay::internals::world::World;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

fn files(directory: &str) -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let entries = walkdir::WalkDir::new(&root).sort_by_file_name().into_iter().flatten();
    let file = |entry: walkdir::DirEntry| {
        let path = entry.path().strip_prefix(&root).ok()?.to_string_lossy().replace('\\', "/");
        Some((path, std::fs::read_to_string(entry.path()).ok()?))
    };
    entries.filter(|entry| entry.file_type().is_file()).filter_map(file).collect()
}

fn world(files: &BTreeMap<String, String>) -> World {
    let entries = files.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
    let snapshot = Snapshot::memory(entries, Arc::new(Store::default()));
    World::new(&Arc::new(snapshot), &Config::default(), &[])
}

fn lint(files: &BTreeMap<String, String>) -> Vec<(Finding, u32)> {
    let world = world(files);
    let findings = engine::run(&world, &Config::default(), &LintOptions::default()).findings;
    let line = |finding: &Finding| world.snapshot.positions(&finding.location).0.0;
    findings.into_iter().map(|finding| (finding.clone(), line(&finding))).collect()
}

/// Lines of `spec` whose key can be misspelled: the maps below these are free.
fn keys(text: &str) -> Vec<(usize, String)> {
    const FREE: [&str; 3] = ["values", "eventMetadata", "substitute"];
    let (mut inside, mut free, mut found) = (false, None, Vec::new());
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        if indent == 0 && !line.starts_with(' ') {
            inside = line.starts_with("spec:");
            free = None;
            continue;
        }
        if free.is_some_and(|free| indent > free) {
            continue;
        }
        free = None;
        let key = line.trim_start().trim_start_matches("- ").split(':').next().unwrap_or_default();
        if inside && !key.is_empty() && key.chars().all(char::is_alphanumeric) {
            found.push((number, key.to_owned()));
            if FREE.contains(&key) {
                free = Some(indent);
            }
        }
    }
    found
}

#[test]
fn each_misspelled_field_of_a_fleet_is_found_at_its_line() {
    let clean = files("fixtures/demo");
    let known = lint(&clean);
    assert!(known.iter().all(|(finding, _)| finding.rule.group != Group::Schema));
    let (mut seeded, mut missed) = (0, Vec::new());
    for (path, text) in &clean {
        let name = path.rsplit('/').next().unwrap_or_default();
        if !path.ends_with(".yaml") || name == "kustomization.yaml" || name.starts_with("gotk") {
            continue;
        }
        for (number, key) in keys(text) {
            let lines: Vec<String> = text
                .lines()
                .enumerate()
                .map(|(at, line)| match at == number {
                    true => line.replacen(&format!("{key}:"), &format!("{key}x:"), 1),
                    false => line.to_owned(),
                })
                .collect();
            let mut faulty = clean.clone();
            faulty.insert(path.clone(), lines.join("\n") + "\n");
            seeded += 1;
            let at_line = |(finding, line): &(Finding, u32)| {
                finding.location.file.is_at(path)
                    && *line == number as u32 + 1
                    && finding.rule.id == "unknown-field"
            };
            if !lint(&faulty).iter().any(at_line) {
                missed.push(format!("{path}:{}: {key}", number + 1));
            }
        }
    }
    assert!(seeded > 40, "{seeded}");
    assert!(missed.is_empty(), "{} of {seeded} are not found: {missed:#?}", missed.len());
}

#[test]
fn verdicts_are_those_of_a_json_schema_validator() {
    let mut judged = 0;
    let directories = ["fixtures/demo", "fixtures/events", "fixtures/gates", "tests/projects/fleet"];
    for directory in directories {
        let world = world(&files(directory));
        for object in &world.objects {
            let id = &object.id;
            let Some(kind) = table::find(id.group(), id.version(), &id.kind) else { continue };
            let releases = kind.releases();
            let Some(root) = releases.iter().rev().find_map(|release| release.schema()) else { continue };
            let Some(mut value) = schema::json(object.node.get_ref()) else { continue };
            let validator = jsonschema::validator_for(&json_schema(root, "test")).expect("a schema");
            if let Value::Object(map) = &mut value {
                map.remove("status");
                map.remove("sops");
            }
            let report = schema::validate(object.node.get_ref(), root, schema::Options::default());
            if report.has_unknown {
                continue;
            }
            judged += 1;
            let (ours, theirs) = (report.violations.is_empty(), validator.is_valid(&value));
            assert_eq!(ours, theirs, "{directory}: {id}: {:?}", validator.iter_errors(&value).next());
            let spec = value.get_mut("spec").and_then(Value::as_object_mut);
            if let Some(spec) = spec.filter(|_| root.property("spec").is_some_and(schema::Schema::is_closed))
            {
                spec.insert("noSuchField".to_owned(), Value::Bool(true));
                assert!(!validator.is_valid(&value), "{id}");
            }
        }
    }
    assert!(judged > 50, "{judged}");
}
