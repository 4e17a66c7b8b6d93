//! A fault of each schema rule is found at its line, wherever it is written:
//! `tests/schema/places.md`.

use crate::plan_acts::{Files, blocks, edit, joined};
use forebay::internals::config::{self, Config};
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::Group;
use forebay::internals::lint::engine::{self, LintOptions};
use forebay::internals::world::World;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Level, rule, file and line.
type Found = BTreeSet<(String, String, String, u32)>;

/// What comments such as `# error: [unknown-field]` ask for.
fn wanted(files: &Files) -> Found {
    let mut wanted = Found::new();
    for (path, text) in files {
        for (at, line) in text.lines().enumerate() {
            for level in ["error", "warning"] {
                let rule =
                    line.split_once(&format!("# {level}: [")).and_then(|(_, rest)| rest.split_once(']'));
                if let Some((rule, _)) = rule {
                    wanted.insert((level.to_owned(), rule.to_owned(), path.clone(), at as u32 + 1));
                }
            }
        }
    }
    wanted
}

fn found(files: &Files, config: &Config) -> Found {
    let bytes = files.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
    let snapshot = Arc::new(Snapshot::memory(bytes, Arc::new(Store::default())));
    let world = World::new(&snapshot, config, &[]);
    let findings = engine::run(&world, config, &LintOptions::default()).findings;
    let of_group = findings.iter().filter(|finding| finding.rule.group == Group::Schema);
    let line = |path: &str, at: u32| files[path][..at as usize].matches('\n').count() as u32 + 1;
    of_group
        .map(|finding| {
            let place = &finding.location;
            let line = line(place.file.shown(), place.start);
            (finding.level.name().to_owned(), finding.rule.id.to_owned(), place.file.to_string(), line)
        })
        .collect()
}

#[test]
fn a_fault_is_found_where_it_is_written() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/schema/places.md");
    let text = std::fs::read_to_string(page).expect("it is part of the project");
    let mut parts = text.split("\n## ");
    let (shared, _) = blocks(parts.next().expect("a file has a beginning"));
    let common: Files = shared
        .iter()
        .filter_map(|block| Some((block.argument.strip_prefix("file=")?.to_owned(), joined(&block.lines))))
        .collect();
    let (mut problems, mut places) = (Vec::new(), BTreeMap::<String, usize>::new());
    for part in parts {
        let title = part.lines().next().unwrap_or_default();
        let (mut files, mut config) = (common.clone(), Config::default());
        for block in blocks(part).0 {
            match block.language {
                "config" => {
                    config = config::read(config::FILE_NAME, &joined(&block.lines)).expect("a configuration")
                }
                _ => match block.argument.strip_prefix("file=") {
                    Some(path) => drop(files.insert(path.to_owned(), joined(&block.lines))),
                    None => edit(&mut files, block.argument, &block.lines),
                },
            }
        }
        let (wanted, found) = (wanted(&files), found(&files, &config));
        if wanted != found {
            problems.push(format!("{title}: {found:?} instead of {wanted:?}"));
        }
        let rule = title.split(' ').next().unwrap_or_default();
        *places.entry(rule.to_owned()).or_default() += 1;
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(places.len() == 6 && places.values().all(|count| *count >= 7), "{places:?}");
}
