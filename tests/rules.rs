//! Literate rule tests: every `tests/rules/<group>/<rule>.md` is documentation
//! and test at once.
//!
//! A `yaml` fence is a file; a paragraph that is just a path in backticks before
//! it (`` `apps/a.yaml`: ``) names it, else it is `manifest.yaml`. Consecutive
//! named fences of a section form one repository; an unnamed fence is one of its
//! own. A `latin1` fence is a named file in that encoding; the paths in a
//! `.gitignore` at the root exist, but not in the repository. Comments assert findings:
//!
//! ```text
//! # error: [rule-id] "part of title, why or help"   on its own line: of the next line that is no assertion
//! key: value # warning: [rule-id]                    at the end of a line: of that line
//! # error-file: [rule-id]                            anywhere in the file
//! ```
//!
//! Under `## Example` the assertions must be exactly the findings of the rule
//! under test, at least one; under `## Use instead` there must be none. A
//! `fixed` fence after a `yaml` fence is the file after `--fix=unsafe` of this
//! rule alone. A `base` fence after a `yaml` fence is the file before the change,
//! for rules about changes. A `config` fence is the repository's `.forebay.yaml`; files
//! below `.forebay/charts` are its store of charts. Under
//! `## Fix`, a rule that can fix must have such a pair. Time-dependent rules run
//! at 2026-06-01T00:00:00Z.

use forebay::internals::config::{self, Config};
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::engine::{self, LintOptions};
use forebay::internals::lint::rules::RULES;
use forebay::internals::lint::{Applicability, Check, FixAvailability, Rule};
use forebay::internals::rewrite::fix;
use forebay::internals::world::World;
use libtest_mimic::{Arguments, Failed, Trial};
use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// The store of charts of a repository.
const STORE: &str = ".forebay/charts";

/// The moment that time-dependent rules judge.
const AT: &str = "2026-06-01T00:00:00Z";

/// Headings that every page has, in order.
const HEADINGS: [&str; 6] = ["What it does", "Why it matters", "Example", "Use instead", "Fix", "Source"];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test("registry", registry)];
    for rule in RULES {
        let page = parse(rule.docs);
        trials.push(Trial::test(format!("{}/{}: page", rule.group.name(), rule.id), {
            let page = page.clone();
            move || check_page(rule, &page)
        }));
        for (number, case) in cases(&page).into_iter().enumerate() {
            let name = format!("{}/{}: {} {}", rule.group.name(), rule.id, case.section, number + 1);
            trials.push(Trial::test(name, move || check_case(rule, &case)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

#[derive(Clone, Default)]
struct Page {
    title: String,
    headings: Vec<String>,
    fences: Vec<Fence>,
}

#[derive(Clone)]
struct Fence {
    section: String,
    /// Path named by the paragraph before it.
    path: Option<String>,
    language: String,
    text: String,
}

#[derive(Clone)]
struct Case {
    section: String,
    files: BTreeMap<String, String>,
    /// Paths of the files that are written as Latin-1.
    latin1: Vec<String>,
    fixed: BTreeMap<String, String>,
    /// Files as they were before the change that a rule looks at.
    base: BTreeMap<String, String>,
    config: Option<String>,
}

fn parse(markdown: &str) -> Page {
    let mut page = Page::default();
    let (mut heading, mut paragraph, mut fence): (Option<HeadingLevel>, String, Option<Fence>) =
        (None, String::new(), None);
    let mut section = String::new();
    for event in Parser::new(markdown) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                heading = Some(level);
                paragraph.clear();
            }
            Event::End(TagEnd::Heading(level)) => {
                if level == HeadingLevel::H1 {
                    page.title = paragraph.clone();
                } else if level == HeadingLevel::H2 {
                    section = paragraph.clone();
                    page.headings.push(section.clone());
                }
                heading = None;
                paragraph.clear();
            }
            Event::Start(Tag::Paragraph) => paragraph.clear(),
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                let path = paragraph.trim().strip_prefix('`').and_then(|rest| {
                    rest.strip_suffix("`:").or_else(|| rest.strip_suffix('`')).map(str::to_owned)
                });
                fence = Some(Fence {
                    section: section.clone(),
                    path: path.filter(|path| !path.contains('`')),
                    language: language.to_string(),
                    text: String::new(),
                });
                paragraph.clear();
            }
            Event::End(TagEnd::CodeBlock) => page.fences.extend(fence.take()),
            Event::Text(text) => match &mut fence {
                Some(fence) => fence.text.push_str(&text),
                None => paragraph.push_str(&text),
            },
            Event::Code(code) => {
                if heading.is_some() {
                    paragraph.push_str(&code);
                } else {
                    paragraph.push_str(&format!("`{code}`"));
                }
            }
            Event::SoftBreak | Event::HardBreak => paragraph.push(' '),
            _ => {}
        }
    }
    page
}

fn cases(page: &Page) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut config: Option<String> = None;
    let mut open_section = String::new();
    let mut named = false;
    for fence in &page.fences {
        if fence.section != open_section {
            open_section.clone_from(&fence.section);
            named = false;
        }
        match fence.language.as_str() {
            "config" => {
                config = Some(fence.text.clone());
                named = false;
            }
            "yaml" | "text" | "latin1" if fence.language == "yaml" || fence.path.is_some() => {
                let path = fence.path.clone().unwrap_or_else(|| "manifest.yaml".to_owned());
                let joins = named && fence.path.is_some();
                match cases
                    .last_mut()
                    .filter(|case| joins && case.section == fence.section && !case.files.contains_key(&path))
                {
                    Some(case) => {
                        case.files.insert(path, fence.text.clone());
                    }
                    None => cases.push(Case {
                        section: fence.section.clone(),
                        files: config
                            .iter()
                            .map(|text| (config::FILE_NAME.to_owned(), text.clone()))
                            .chain([(path.clone(), fence.text.clone())])
                            .collect(),
                        latin1: if fence.language == "latin1" { vec![path] } else { Vec::new() },
                        fixed: BTreeMap::new(),
                        base: BTreeMap::new(),
                        config: config.take(),
                    }),
                }
                named = fence.path.is_some();
            }
            "base" => {
                if let Some(case) = cases.last_mut() {
                    let path = fence.path.clone().or_else(|| case.files.keys().next().cloned());
                    case.base.insert(path.unwrap_or_default(), fence.text.clone());
                }
            }
            "fixed" => {
                if let Some(case) = cases.last_mut() {
                    let path = fence
                        .path
                        .clone()
                        .or_else(|| case.files.keys().find(|path| *path != config::FILE_NAME).cloned());
                    case.fixed.insert(path.unwrap_or_default(), fence.text.clone());
                }
            }
            _ => {}
        }
    }
    cases
}

fn check_page(rule: &Rule, page: &Page) -> Result<(), Failed> {
    if page.title != rule.id {
        return Err(format!("the page's title is `{}`", page.title).into());
    }
    if page.headings != HEADINGS {
        return Err(format!("headings are {:?}, not {HEADINGS:?}", page.headings).into());
    }
    let in_section = |name: &str| page.fences.iter().any(|fence| fence.section == name);
    if !in_section("Example") || !in_section("Use instead") {
        return Err("needs a failing and a passing example".into());
    }
    let fixes = page.fences.iter().any(|fence| fence.language == "fixed");
    if fixes != (rule.fix != FixAvailability::None) {
        return Err("a rule that can fix has a `fixed` fence, no other has".into());
    }
    Ok(())
}

/// An assertion: line (0 for anywhere in the file), level, rule, part of the text.
type Assertion = (u32, String, String, Option<String>);

fn assertions(text: &str) -> Vec<Assertion> {
    let mut found = Vec::new();
    let mut pending: Vec<Assertion> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index as u32 + 1;
        let parsed = line.match_indices("# ").find_map(|(at, _)| {
            let body = &line[at + 2..];
            let (level, rest) = body.split_once(": [")?;
            let (level, anywhere) = match level.strip_suffix("-file") {
                Some(level) => (level, true),
                None => (level, false),
            };
            if !["error", "warning", "info"].contains(&level) {
                return None;
            }
            let (rule, rest) = rest.split_once(']')?;
            let part = rest.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            Some((
                line[..at].trim().is_empty(),
                anywhere,
                level.to_owned(),
                rule.to_owned(),
                part.map(str::to_owned),
            ))
        });
        match parsed {
            Some((_, true, level, rule, part)) => found.push((0, level, rule, part)),
            Some((true, false, level, rule, part)) => pending.push((0, level, rule, part)),
            Some((false, false, level, rule, part)) => found.push((number, level, rule, part)),
            None => found.extend(pending.drain(..).map(|(_, level, rule, part)| (number, level, rule, part))),
        }
    }
    found.extend(pending);
    found
}

fn check_case(rule: &Rule, case: &Case) -> Result<(), Failed> {
    let config = match &case.config {
        Some(text) => load_config(text)?,
        None => Config::default(),
    };
    // A store of charts is read from a disk.
    let disk = tempfile::tempdir().map_err(|error| Failed::from(error.to_string()))?;
    for (path, text) in case.files.iter().filter(|(path, _)| path.starts_with(STORE)) {
        let path = disk.path().join(path);
        path.parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .map_err(|error| Failed::from(error.to_string()))?;
        std::fs::write(path, text).map_err(|error| Failed::from(error.to_string()))?;
    }
    let config = match disk.path().join(STORE) {
        store if store.is_dir() => config.with_store(STORE, &store),
        _ => config,
    };
    let ignored: Vec<String> =
        case.files.get(".gitignore").map_or("", String::as_str).lines().map(str::to_owned).collect();
    let files = case.files.iter().filter(|(path, _)| !ignored.contains(path)).map(|(path, text)| {
        let latin1 = case.latin1.contains(path);
        let bytes = if latin1 { text.chars().map(|c| c as u8).collect() } else { text.clone().into_bytes() };
        (path.as_str(), bytes)
    });
    let snapshot = Snapshot::memory(files, Arc::new(Store::default()));
    let snapshot = Arc::new(snapshot.beside_ignored(ignored.clone()));
    // What the rules about forebay itself report is what the others left.
    let about_forebay = matches!(rule.check, Check::Run(_));
    let select = if about_forebay { Vec::new() } else { vec![rule.id.to_owned()] };
    let options = LintOptions { select, at: AT.parse().ok(), ..LintOptions::default() };
    let head = World::new(&snapshot, &config, &[]);
    let mut outcome = if case.base.is_empty() {
        engine::run(&head, &config, &options)
    } else {
        let before = case.files.iter().chain(&case.base).map(|(path, text)| (path.as_str(), text));
        let before: BTreeMap<&str, &String> = before.collect();
        let files = before.into_iter().map(|(path, text)| (path, text.clone().into_bytes()));
        let snapshot = Arc::new(Snapshot::memory(files, Arc::new(Store::default())));
        engine::run_change(&World::new(&snapshot, &config, &[]), &head, &config, &options)
    };
    outcome.findings.retain(|finding| !about_forebay || finding.rule.id == rule.id);
    let mut problems = Vec::new();
    let mut wanted: BTreeMap<&str, Vec<Assertion>> = BTreeMap::new();
    for (path, text) in &case.files {
        wanted.insert(path, assertions(text));
    }
    let asserted: usize = wanted.values().map(Vec::len).sum();
    if case.section == "Example" && asserted == 0 {
        return Err("an example asserts at least one finding".into());
    }
    if case.section == "Use instead" && asserted > 0 {
        return Err("what to use instead has no finding".into());
    }
    for finding in &outcome.findings {
        let ((line, _), _) = snapshot.positions(&finding.location);
        let list = wanted.entry(&**finding.location.file.shown()).or_default();
        let words = format!("{}\n{}\n{}", finding.title, finding.why, finding.help);
        let at = list.iter().position(|(wanted_line, level, id, part)| {
            (*wanted_line == line || *wanted_line == 0)
                && level == finding.level.name()
                && id == finding.rule.id
                && part.as_ref().is_none_or(|part| words.contains(part.as_str()))
        });
        match at {
            Some(at) => {
                list.remove(at);
            }
            None => problems.push(format!(
                "not asserted: {}:{line}: {}: [{}] {} | {} | {}",
                finding.location.file,
                finding.level.name(),
                finding.rule.id,
                finding.title,
                finding.why,
                finding.help
            )),
        }
        if finding.title.contains('…') {
            problems.push(format!("a title is cut: {}", finding.title));
        }
        if finding.why.is_empty() {
            problems.push(format!("no reason given: {}", finding.title));
        }
    }
    for (path, list) in wanted {
        for (line, level, id, part) in list {
            problems.push(format!("not found: {path}:{line}: {level}: [{id}] {}", part.unwrap_or_default()));
        }
    }
    for (path, fixed) in &case.fixed {
        let got = fixed_text(&snapshot, &config, &options, path)?;
        if got != *fixed {
            problems.push(format!("{path} after the fix:\n{got}"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

fn load_config(text: &str) -> Result<Config, Failed> {
    config::read(config::FILE_NAME, text).map_err(|mistakes| format!("config: {mistakes:?}").into())
}

/// The file after every fix of the rule, unsafe ones too; fixing again changes
/// nothing more.
fn fixed_text(
    snapshot: &Arc<Snapshot>,
    config: &Config,
    options: &LintOptions,
    path: &str,
) -> Result<String, Failed> {
    let world = |snapshot: &Arc<Snapshot>| World::new(snapshot, config, &[]);
    let fix = |snapshot| fix::fix(world, snapshot, config, options, Applicability::Unsafe);
    let outcome = fix(snapshot.clone());
    if let Some((_, refusal)) = outcome.refused.first() {
        return Err(format!("a fix was refused: {}", refusal.message).into());
    }
    let after = &outcome.world.snapshot;
    if !fix(after.clone()).changes.is_empty() {
        return Err("fixing twice changes more than fixing once".into());
    }
    let text = after.file(path).and_then(|file| after.stream(file)).ok_or("the fixed file can't be read")?;
    Ok(text.text.to_string())
}

/// Ids are unique, kebab-case, sorted; every page belongs to a rule.
fn registry() -> Result<(), Failed> {
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    if !ids.is_sorted_by(|a, b| a < b) {
        return Err("RULES is not sorted by id, or an id is used twice".into());
    }
    for id in &ids {
        if !id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-') {
            return Err(format!("`{id}` is not kebab-case").into());
        }
    }
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rules");
    for group in std::fs::read_dir(pages)? {
        let group = group?;
        for page in std::fs::read_dir(group.path())? {
            let page = page?.path();
            let name = page.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let known = RULES
                .iter()
                .any(|rule| rule.id == name && rule.group.name() == group.file_name().to_string_lossy());
            if !known {
                return Err(format!("{} belongs to no rule", page.display()).into());
            }
        }
    }
    Ok(())
}
