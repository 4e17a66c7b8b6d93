//! Whole repositories whose documents are changed at random, in their structure and
//! in their text: whatever a tree holds, `lint` in every format, `plan` (and with it
//! every simulator), `--fix`, `suspend` and `resume` end without a panic, findings
//! point into files, and what was suspended and resumed is as it was.
//!
//! `FOREBAY_FUZZ` sets how many trees, `FOREBAY_SEED` the first seed. A tree that
//! fails is written to the directory `FOREBAY_FUZZ_KEEP`, if that is set.

use crate::support::random::Random;
use forebay::config::{Config, Level};
use forebay::lint::Applicability;
use forebay::lint::engine::{self, NotChecked, Options, Outcome};
use forebay::plan;
use forebay::repo::{Snapshot, Store};
use forebay::report::{self, Lint, Terminal};
use forebay::rewrite;
use forebay::rewrite::subject::Subject;
use forebay::rewrite::suspend::{self, Aim};
use forebay::world::{ApplyTarget, World};
use serde_yaml::Value;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

type Tree = BTreeMap<String, String>;

/// Scalars that something reads as a number, a time, a name, a path, a pattern.
const SCALARS: &[&str] = &[
    "",
    "~",
    "null",
    "true",
    "yes",
    "0",
    "-1",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551616",
    "1e400",
    ".inf",
    "0x7fffffffffffffff",
    "99999999999999999999h",
    "-1h",
    "1h-1m",
    "2562047h47m16.854775807s",
    "0s",
    "2026-03-27T09:00:00Z",
    "9999-12-31T23:59:59Z",
    "0000-01-01T00:00:00Z",
    "-009999-01-01T00:00:00Z",
    "TZ=Europe/Berlin 0 0 31 2 *",
    "*/0 * * * *",
    "60 24 32 13 8",
    "@every -1h",
    "${A}",
    "${A:-${B:-${C}}}",
    "${A//",
    "$${A}",
    "${A:=b}",
    "${A:1:-99}",
    "${A,,}",
    ".",
    "..",
    "/",
    "../..",
    "./",
    "//",
    "./clusters/production",
    "a/../../b",
    "https://[::1",
    "git@host:a/b",
    "oci://x",
    "(a",
    "[z-a]",
    "a{9999}{9999}",
    "*",
    "**",
    "v1.99999999999999999999.0",
    "v1.31.0-rc.1+b",
    ">=1.0.0 <x",
    "kubernetes",
    "Kustomization",
    "kustomize.toolkit.fluxcd.io/v1",
    "v1",
    "/",
    "a/b/c/d",
    "\u{202e}x",
    "é",
    "a\nb",
    "a\tb",
    "'",
    "\"",
    ": ",
    "- ",
    "# x",
    "&a",
    "*a",
    "!!binary x",
    "<<",
    "$patch",
    "flux-system",
    "apps",
    "default",
];

/// What a hand, or an attacker, puts into a text.
const SNIPPETS: &[&str] = &[
    "\n",
    "  ",
    ":",
    "- ",
    "'",
    "\"",
    "{",
    "[",
    "}",
    "#",
    "&a ",
    "*a",
    "|\n",
    ">-\n",
    "\t",
    "---\n",
    "...\n",
    "<<: *a\n",
    "? ",
    "!!str ",
    "!x ",
    "\u{feff}",
    "\r\n",
    "\r",
    "\u{85}",
    "${",
    "{{ .x }}",
    "%YAML 1.2\n",
    "\0",
    "kind: List\nitems:\n",
    "$patch: delete\n",
    "# forebay: ignore[all] x\n",
    "- op: remove\n  path: /-1\n",
];

/// The trees to begin with: the mini-repositories and fixtures.
fn seeds() -> Vec<Tree> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut trees = Vec::new();
    for directory in ["tests/projects", "fixtures"] {
        let mut projects: Vec<_> = std::fs::read_dir(root.join(directory))
            .expect("projects")
            .map(|entry| entry.expect("an entry").path())
            .filter(|path| path.is_dir())
            .collect();
        projects.sort();
        for project in projects {
            let mut tree = Tree::new();
            for entry in walkdir::WalkDir::new(&project).sort_by_file_name().into_iter().flatten() {
                let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
                let path = entry.path().strip_prefix(&project).expect("below it");
                tree.insert(path.to_string_lossy().replace('\\', "/"), text);
            }
            if (1..60).contains(&tree.len()) {
                trees.push(tree);
            }
        }
    }
    trees
}

/// Every node of a value, as paths of positions.
fn places(value: &Value, at: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    found.push(at.clone());
    let children: Vec<&Value> = match value {
        Value::Mapping(map) => map.values().collect(),
        Value::Sequence(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    for (index, child) in children.into_iter().enumerate() {
        at.push(index);
        places(child, at, found);
        at.pop();
    }
}

fn at_mut<'v>(value: &'v mut Value, place: &[usize]) -> Option<&'v mut Value> {
    place.iter().try_fold(value, |value, index| match value {
        Value::Mapping(map) => map.values_mut().nth(*index),
        Value::Sequence(items) => items.get_mut(*index),
        _ => None,
    })
}

fn scalar(random: &mut Random) -> Value {
    let text = *random.pick(SCALARS);
    match random.one_in(2) {
        true => Value::String(text.to_owned()),
        false => serde_yaml::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
    }
}

/// One change of the structure of a document.
fn restructure(document: &mut Value, donors: &[Value], random: &mut Random) {
    let mut all = Vec::new();
    places(document, &mut Vec::new(), &mut all);
    let place = random.pick(&all).clone();
    let other = random.pick(&all).clone();
    let copy = at_mut(document, &other).cloned().unwrap_or_default();
    let donor = random.pick(donors).clone();
    let target = at_mut(document, &place).expect("places are of this document");
    match random.below(9) {
        0 => *target = scalar(random),
        1 => *target = copy,
        2 => *target = Value::Sequence(vec![target.clone(), copy]),
        3 => *target = donor,
        4 => *target = Value::Mapping([(scalar(random), target.clone())].into_iter().collect()),
        5 => match target {
            Value::Mapping(map) if !map.is_empty() => {
                let key = map.keys().nth(random.below(map.len())).cloned().expect("one of them");
                map.remove(&key);
            }
            Value::Sequence(items) if !items.is_empty() => drop(items.remove(random.below(items.len()))),
            other => *other = Value::Null,
        },
        6 => match target {
            Value::Mapping(map) if !map.is_empty() => {
                let key = map.keys().nth(random.below(map.len())).cloned().expect("one of them");
                let value = map.remove(&key).unwrap_or_default();
                map.insert(scalar(random), value);
            }
            Value::Sequence(items) if !items.is_empty() => {
                let item = items[random.below(items.len())].clone();
                let times = 1 + random.below(4);
                items.extend(std::iter::repeat_n(item, times));
            }
            other => *other = scalar(random),
        },
        7 => {
            for _ in 0..random.below(12) {
                *target = Value::Sequence(vec![std::mem::take(target)]);
            }
        }
        _ => {
            if let Value::Mapping(map) = target {
                map.insert(scalar(random), scalar(random));
            } else {
                *target = scalar(random);
            }
        }
    }
}

/// Change the text of a file: its documents, or its bytes.
fn mutate_text(text: &str, donors: &[Value], random: &mut Random) -> String {
    let parsed: Result<Vec<Value>, _> =
        serde_yaml::Deserializer::from_str(text).map(<Value as serde::Deserialize>::deserialize).collect();
    if let (Ok(mut documents), false) = (parsed, random.one_in(3))
        && !documents.is_empty()
    {
        for _ in 0..=random.below(3) {
            let at = random.below(documents.len());
            restructure(&mut documents[at], donors, random);
        }
        if random.one_in(4) {
            documents.push(random.pick(donors).clone());
        }
        let texts: Vec<String> = documents.iter().filter_map(|one| serde_yaml::to_string(one).ok()).collect();
        return texts.join("---\n");
    }
    let mut text = text.to_owned();
    for _ in 0..=random.below(3) {
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let (from, to) = (*random.pick(&places), *random.pick(&places));
        let (from, to) = (from.min(to), from.max(to));
        match random.below(4) {
            0 => text.insert_str(from, random.pick::<&str>(SNIPPETS)),
            1 => {
                let end = text[from..to].char_indices().nth(40).map_or(to, |(at, _)| from + at);
                text.replace_range(from..end, "");
            }
            2 => text.insert_str(from, random.pick::<&str>(SCALARS)),
            _ => {
                let copied = text[from..to].to_owned();
                text.insert_str(to, &copied);
            }
        }
        if text.len() > 200_000 {
            break;
        }
    }
    text
}

/// Change a tree: some of its files, sometimes their names.
fn mutate(tree: &Tree, donors: &[Value], random: &mut Random) -> Tree {
    let mut tree = tree.clone();
    for _ in 0..=random.below(4) {
        let paths: Vec<String> = tree.keys().cloned().collect();
        if paths.is_empty() {
            return tree;
        }
        let path = random.pick(&paths).clone();
        match random.below(12) {
            0 => drop(tree.remove(&path)),
            1 => {
                let text = tree.remove(&path).unwrap_or_default();
                tree.insert(random.pick(&paths).clone(), text);
            }
            2 => {
                let (directory, name) = path.rsplit_once('/').unwrap_or(("", &path));
                let copy = format!("{directory}/copy/{name}").trim_start_matches('/').to_owned();
                tree.insert(copy, tree[&path].clone());
            }
            _ => {
                let text = mutate_text(&tree[&path], donors, random);
                tree.insert(path, text);
            }
        }
    }
    // A file can't be a directory too.
    let names: Vec<String> = tree.keys().cloned().collect();
    tree.retain(|path, _| {
        !names.iter().any(|other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')))
    });
    tree
}

fn snapshot(tree: &Tree, store: &Arc<Store>) -> Arc<Snapshot> {
    let files = tree.iter().map(|(path, text)| (path.as_str(), text.as_bytes().to_vec()));
    Arc::new(Snapshot::memory(files, store.clone()))
}

fn every_format(world: &World, outcome: &Outcome) -> Vec<u8> {
    let lint = Lint {
        world,
        outcome,
        show: Level::Info,
        at: None,
        summary: true,
        list_unchecked: true,
        begins: true,
        stale_baseline: 0,
        prefix: String::new(),
    };
    let mut out = Vec::new();
    let terminal = Terminal { color: true, links: true, columns: Some(80) };
    report::json::write(&mut out, &report::json::lint(&lint)).expect("memory takes it");
    report::json::write(&mut out, &report::sarif::log(&lint).expect("a log")).expect("memory takes it");
    report::json::write(&mut out, &report::gitlab::report(&lint)).expect("memory takes it");
    report::github::write(&mut out, &lint).expect("memory takes it");
    report::junit::write(&mut out, &lint).expect("memory takes it");
    report::markdown::write(&mut out, &lint).expect("memory takes it");
    report::concise::write(&mut out, &lint).expect("memory takes it");
    report::full::write(&mut out, &lint, terminal).expect("memory takes it");
    out
}

fn require_places(snapshot: &Snapshot, outcome: &Outcome) {
    for finding in &outcome.findings {
        let places =
            std::iter::once(&finding.location).chain(finding.related.iter().map(|one| &one.location));
        for place in places {
            let Some(stream) = snapshot.file(&place.path).and_then(|file| snapshot.stream(file)) else {
                continue;
            };
            let (start, end) = (place.start as usize, place.end as usize);
            assert!(
                start <= end && stream.text.is_char_boundary(start) && stream.text.is_char_boundary(end),
                "{}: {}: {start}..{end} of {}",
                finding.rule.id,
                finding.title,
                stream.text.len()
            );
        }
    }
}

/// Suspend something, resume it, and compare.
fn suspend_and_resume(world: &World, config: &Config, random: &mut Random) -> Option<()> {
    let subjects: Vec<(usize, usize)> = world
        .clusters
        .iter()
        .enumerate()
        .flat_map(|(cluster, one)| (0..one.members.len()).map(move |member| (cluster, member)))
        .filter(|(cluster, member)| {
            let member = &world.clusters[*cluster].members[*member];
            member.target == ApplyTarget::Local
                && suspend::is_suspendable(&world.objects[member.object as usize].id)
        })
        .collect();
    let (cluster, member) = *subjects.get(random.below(subjects.len()))?;
    let cluster = &world.clusters[cluster];
    let object = &world.objects[cluster.members[member].object as usize];
    let aim = Aim::Suspended { via: None, message: None };
    // Of an object without a spec, which no API server takes, an empty one is left.
    let has_spec = object.node.get_ref().at("/spec").is_some();
    (has_spec && !suspend_state(world, &object.id)).then_some(())?;
    let wanted = aim.changes(&world.snapshot, Subject { cluster, object }).ok()?;
    let changes = rewrite::plan(&world.snapshot, &wanted).ok()?;
    let files = changes.iter().map(|change| (&*change.path, change.after.clone().into_bytes()));
    let suspended = Arc::new(world.snapshot.with_files(files));
    let after = World::new(&suspended, config, &[]);
    let found = after.clusters.iter().find(|one| one.root == cluster.root && one.name == cluster.name);
    let again = found.and_then(|one| {
        let (_, object) = after.members(one).find(|(_, other)| other.id == object.id)?;
        Aim::Resumed.changes(&suspended, Subject { cluster: one, object }).ok()
    });
    let back = rewrite::plan(&suspended, &again?).ok()?;
    for change in &back {
        let original = changes.iter().find(|one| one.path == change.path).map(|one| &one.before.bytes);
        if let Some(original) = original.filter(|_| changes.len() == back.len()) {
            assert_eq!(
                String::from_utf8_lossy(original),
                change.after,
                "{} was suspended and resumed",
                object.id
            );
        }
    }
    Some(())
}

/// Whether an object of this id states anything about its suspension.
fn suspend_state(world: &World, id: &forebay::model::ObjectId) -> bool {
    let texts = |text: &str| text.contains("suspend") || text.contains("reconcile");
    world.objects.iter().filter(|object| object.id == *id).any(|object| {
        let node = object.node.get_ref();
        node.at("/spec/suspend").is_some()
            || node
                .at("/metadata/annotations")
                .is_some_and(|map| map.entries().any(|entry| texts(&entry.key)))
    })
}

/// Everything that forebay makes of a tree, and of the change to it.
fn run(before: &Tree, after: &Tree, random: &mut Random) -> usize {
    let store = Arc::new(Store::default());
    let config = Config::default();
    let options = Options::default();
    let base = World::new(&snapshot(before, &store), &config, &[]);
    let head = base.like(&snapshot(after, &store), &config, &[]);
    let (old, new) =
        (engine::run(&base, &config, &options), engine::run_change(&base, &head, &config, &options));
    require_places(&head.snapshot, &new);
    assert!(!every_format(&head, &new).is_empty());
    let effects = plan::plan(&base, &head);
    let reach = plan::reach(&base, &head, &effects);
    let view = report::plan::Plan {
        base: "before",
        head: "after",
        base_world: &base,
        head_world: &head,
        effects: &effects,
        new_findings: plan::only_in(&new.findings, &old.findings),
        fixed_findings: plan::only_in(&old.findings, &new.findings),
        not_checked: &NotChecked::default(),
        reach: &reach,
        clusters: &[],
        show: Level::Info,
        at: None,
    };
    assert!(report::plan::json(&view).is_object());
    assert!(!report::plan::markdown(&view).is_empty());
    report::plan::text(&view);
    report::plan::github(&view);
    // Nothing changes between equal trees.
    let same = head.like(&snapshot(after, &store), &config, &[]);
    let effects = plan::plan(&head, &same);
    assert!(effects.is_empty(), "{:?}", effects.iter().map(|effect| effect.id()).collect::<Vec<_>>());
    let world = |snapshot: &Arc<Snapshot>| World::new(snapshot, &config, &[]);
    let fixed = rewrite::fix::fix(world, head.snapshot.clone(), &config, &options, Applicability::Unsafe);
    let unproven: Vec<_> =
        fixed.refused.iter().filter(|(_, refusal)| refusal.message.contains("bug")).collect();
    assert!(unproven.is_empty(), "{unproven:?}");
    suspend_and_resume(&head, &config, random);
    head.snapshot.files().iter().map(|file| head.snapshot.sources(file).len()).sum()
}

#[test]
fn any_tree_is_linted_planned_and_rewritten() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect(name));
    let (count, first) = (number("FOREBAY_FUZZ").unwrap_or(6), number("FOREBAY_SEED").unwrap_or(1));
    let seeds = seeds();
    assert!(seeds.len() > 100, "{} trees to begin with", seeds.len());
    let donors: Vec<Value> = seeds
        .iter()
        .flat_map(Tree::values)
        .flat_map(|text| {
            serde_yaml::Deserializer::from_str(text).map(<Value as serde::Deserialize>::deserialize)
        })
        .map_while(Result::ok)
        .filter(|value: &Value| value.is_mapping())
        .collect();
    let (mut documents, mut failed) = (0, Vec::new());
    for seed in first..first + count {
        let mut random = Random(seed);
        let tree = random.pick(&seeds).clone();
        let before = if random.one_in(2) { tree.clone() } else { mutate(&tree, &donors, &mut random) };
        let after = mutate(&before, &donors, &mut random);
        match catch_unwind(AssertUnwindSafe(|| run(&before, &after, &mut random))) {
            Ok(count) => documents += count,
            Err(_) => {
                failed.push(seed);
                if let Some(keep) = std::env::var_os("FOREBAY_FUZZ_KEEP") {
                    for (side, tree) in [("before", &before), ("after", &after)] {
                        for (path, text) in tree {
                            let full = Path::new(&keep).join(format!("{seed}/{side}")).join(path);
                            std::fs::create_dir_all(full.parent().expect("a directory"))
                                .expect("a directory");
                            std::fs::write(full, text).expect("a file");
                        }
                    }
                }
            }
        }
    }
    println!("{count} trees, {documents} documents");
    assert!(failed.is_empty(), "seeds of trees that failed: {failed:?}");
}
