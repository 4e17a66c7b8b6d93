//! Plans of whole repositories: `tests/projects/plan-*` hold a `base` and a
//! `head` (only the files that differ; `DELETED` lists removed ones) and the
//! expected effects, one line each:
//!
//! ```text
//! [cluster] category effect severity Kind [namespace/]name [field] [when REF]
//! ```
//!
//! Lines that start with `#` say what the pair is about. `wait` effects are
//! compared only where the expectation names one.

use forebay::internals::config::Config;
use forebay::internals::config::Level;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::Finding;
use forebay::internals::lint::engine::{LintOptions, LintOutcome, NotChecked, run, run_both, run_change};
use forebay::internals::plan::{Effect, plan, reach};
use forebay::internals::report::plan::{Plan, markdown, text};
use forebay::internals::world::World;
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

#[path = "it/support/sides.rs"]
mod sides;

type Files = BTreeMap<String, Vec<u8>>;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/projects");
    let mut trials = Vec::new();
    let mut names: Vec<PathBuf> = std::fs::read_dir(&root)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    names.sort();
    for project in names {
        let name = project.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("plan-") {
            let reverse = project.clone();
            trials.push(Trial::test(name.clone(), move || check(&project)));
            trials
                .push(Trial::test(format!("{name}: nothing changes against itself"), move || idle(&reverse)));
        }
    }
    let enough = trials.len();
    trials.push(Trial::test("at least 50 pairs", move || {
        if enough >= 100 { Ok(()) } else { Err(format!("{} trials", enough).into()) }
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn read(directory: &Path) -> Files {
    let mut files = Files::new();
    let mut open = vec![directory.to_owned()];
    while let Some(current) = open.pop() {
        for entry in std::fs::read_dir(&current).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if let Ok(relative) = path.strip_prefix(directory) {
                let name = relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
                files.insert(name, std::fs::read(&path).unwrap_or_default());
            }
        }
    }
    files
}

fn world(files: &Files, store: &Arc<Store>, config: &Config) -> World {
    World::new(&Arc::new(snapshot(files, store)), config, &[])
}

fn snapshot(files: &Files, store: &Arc<Store>) -> Snapshot {
    Snapshot::memory(files.iter().map(|(path, bytes)| (path.as_str(), bytes.clone())), store.clone())
}

fn sides(project: &Path) -> (Files, Files) {
    let base = read(&project.join("base"));
    let mut head = base.clone();
    let mut changes = read(&project.join("head"));
    if let Some(deleted) = changes.remove("DELETED") {
        for path in String::from_utf8_lossy(&deleted).lines() {
            head.remove(path.trim());
        }
    }
    head.extend(changes);
    (base, head)
}

fn line(effect: &Effect) -> String {
    let object = &effect.object;
    let name = match &object.namespace {
        Some(namespace) => format!("{namespace}/{}", object.name),
        None => object.name.to_string(),
    };
    let cluster = effect.cluster.as_deref().unwrap_or("-");
    let (category, severity) = (effect.category(), effect.severity.name());
    let when = effect.when.as_ref().map_or(String::new(), |later| format!(" when {}", later.name()));
    let line = format!(
        "[{cluster}] {category} {} {severity} {} {name} {}",
        effect.effect, object.kind, effect.field
    );
    format!("{}{when}", line.trim_end())
}

fn check(project: &Path) -> Result<(), Failed> {
    let (base, head) = sides(project);
    let expected = std::fs::read_to_string(project.join("expected.txt"))?;
    let expected: Vec<&str> =
        expected.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let (store, config) = (Arc::new(Store::default()), Config::default());
    let before = Arc::new(world(&base, &store, &config));
    let head_world = world(&head, &store, &config);
    let effects = plan(&before, &head_world);
    // The same with everything shared that can be.
    let after = Arc::new(snapshot(&head, &store).sharing(&before.snapshot));
    let shared_world = Arc::new(before.like(&after, &config, &[]));
    let sharing = plan(&before, &shared_world);
    if !sharing.iter().map(line).eq(effects.iter().map(line)) {
        return Err("builds that are shared make another plan".into());
    }
    // Nor does it matter to findings what is looked at once.
    let options = LintOptions::default();
    let whole = (run(&before, &config, &options), run_change(&before, &shared_world, &config, &options));
    let once = run_both(&before, &shared_world, &config, &options);
    let told = |outcome: &LintOutcome| -> Vec<String> {
        let line = |finding: &Finding| {
            let Finding { rule, level, title, why, objects, location, clusters, fingerprint, .. } = finding;
            format!("{} {level:?} {title} {why} {objects:?} {location:?} {clusters:?} {fingerprint}", rule.id)
        };
        outcome.findings.iter().map(line).collect()
    };
    if told(&whole.0) != told(&once.0) || told(&whole.1) != told(&once.1) {
        return Err("findings are not the same where rules look at what stays once".into());
    }
    let waits = expected.iter().any(|line| line.contains(" wait "));
    let mut got: Vec<String> =
        effects.iter().filter(|effect| waits || effect.category().name() != "wait").map(line).collect();
    let mut problems = Vec::new();
    for wanted in expected {
        match got.iter().position(|line| line == wanted) {
            Some(at) => drop(got.remove(at)),
            None => problems.push(format!("missing:  {wanted}")),
        }
    }
    problems.extend(got.into_iter().map(|line| format!("unwanted: {line}")));
    for effect in &effects {
        if effect.reason.is_empty() {
            problems.push(format!("no reason: {}", line(effect)));
        }
        if effect.causes.is_empty() && effect.category().name() != "event" {
            problems.push(format!("no cause: {}", line(effect)));
        }
    }
    let view = Plan {
        base: "base",
        head: "head",
        base_world: &before,
        head_world: &head_world,
        effects: &effects,
        changes: &[],
        assumed: None,
        new_findings: Vec::new(),
        fixed_findings: Vec::new(),
        not_checked: &NotChecked::default(),
        reach: &reach(&before, &head_world, &effects),
        clusters: &[],
        show: Level::Warning,
        at: None,
    };
    for answer in [text(&view), markdown(&view)] {
        problems.extend(sides::same_sides(&answer).map(|line| format!("nothing differs in: {line}")));
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

fn idle(project: &Path) -> Result<(), Failed> {
    let (base, head) = sides(project);
    let (store, config) = (Arc::new(Store::default()), Config::default());
    for files in [&base, &head] {
        // Comments and blank lines mean nothing.
        let decorated: Files = files
            .iter()
            .map(|(path, bytes)| {
                let mut text = b"# a comment\n\n".to_vec();
                text.extend(bytes);
                text.extend(b"\n# another\n");
                (path.clone(), if path.ends_with(".yaml") { text } else { bytes.clone() })
            })
            .collect();
        let effects = plan(&world(files, &store, &config), &world(&decorated, &store, &config));
        if let Some(effect) = effects.first() {
            return Err(format!("{} effects, the first: {}", effects.len(), line(effect)).into());
        }
    }
    Ok(())
}
