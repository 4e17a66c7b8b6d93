//! What an operator does, and what `forebay plan` must say of it:
//! `tests/plan/acts.md` says how its sections are read.

use crate::support::scratch::Scratch;
use crate::support::sides::same_sides;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

pub(crate) type Files = BTreeMap<String, String>;

/// A fenced block: its language, what stands behind it, its lines.
pub(crate) struct Block<'t> {
    pub language: &'t str,
    pub argument: &'t str,
    pub lines: Vec<&'t str>,
}

pub(crate) fn blocks(part: &str) -> (Vec<Block<'_>>, Vec<&str>) {
    let (mut blocks, mut items) = (Vec::new(), Vec::new());
    let mut lines = part.lines();
    while let Some(line) = lines.next() {
        if let Some(fence) = line.strip_prefix("```") {
            let (language, argument) = fence.split_once(' ').unwrap_or((fence, ""));
            let lines = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push(Block { language, argument, lines });
        } else if let Some(item) = line.strip_prefix("- ") {
            items.push(item);
        }
    }
    (blocks, items)
}

pub(crate) fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

pub(crate) fn edit(files: &mut Files, path: &str, lines: &[&str]) {
    let side = |sign: char| {
        let lines: Vec<&str> = lines
            .iter()
            .filter(|line| line.starts_with(sign))
            .map(|line| line.get(2..).unwrap_or(""))
            .collect();
        joined(&lines)
    };
    let text = files.get_mut(path).unwrap_or_else(|| panic!("no file {path}"));
    assert!(text.contains(&side('-')), "{path} has no such lines: {lines:?}");
    *text = text.replacen(&side('-'), &side('+'), 1);
}

fn sides(common: &Files, blocks: &[Block<'_>]) -> (Files, Files) {
    let mut base = common.clone();
    for block in blocks {
        let text = joined(&block.lines);
        match (block.language, block.argument.split_once('=')) {
            ("yaml", Some(("both" | "base", path))) => drop(base.insert(path.to_owned(), text)),
            ("yaml", Some(("absent", path))) => drop(base.remove(path)),
            _ => {
                if let Some(path) = block.argument.strip_prefix("both ") {
                    edit(&mut base, path, &block.lines);
                }
            }
        }
    }
    let mut head = base.clone();
    for block in blocks {
        let text = joined(&block.lines);
        match (block.language, block.argument.split_once('=')) {
            ("yaml", Some(("head", path))) => drop(head.insert(path.to_owned(), text)),
            ("yaml", Some(("deleted", path))) => drop(head.remove(path)),
            ("edit", _) => match block.argument.split_once(' ') {
                None => edit(&mut head, block.argument, &block.lines),
                Some(("base", path)) => edit(&mut base, path, &block.lines),
                Some(_) => {}
            },
            _ => {}
        }
    }
    (base, head)
}

fn write(directory: &Path, files: &Files) {
    for (path, text) in files {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().expect("a file is in a directory"))
            .expect("temporary directory");
        std::fs::write(path, text).expect("temporary directory");
    }
}

fn plan(root: &Path, (base, head): (&str, &str), format: &str) -> String {
    let stated = Path::new("head/.forebay.yaml");
    let config =
        if root.join(stated).exists() { vec!["--config", "head/.forebay.yaml"] } else { vec!["--no-config"] };
    let charts =
        if root.join("store").exists() { vec!["--charts", "store", "--no-user-stores"] } else { Vec::new() };
    let output = Command::new(env!("CARGO_BIN_EXE_forebay"))
        .current_dir(root)
        .env_remove("GITHUB_REF")
        .args(["plan", "--base", base, "--head", head, "--root", ".", "--format", format])
        .args(config)
        .args(charts)
        .output()
        .expect("the binary was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn acts_of_an_operator() {
    let count = told("acts.md");
    assert!(count >= 25, "{count} acts");
}

#[test]
fn fields_values_and_versions() {
    let count = told("versions.md");
    assert!(count >= 20, "{count} pairs");
}

#[test]
fn machines_and_what_webhooks_refuse() {
    let count = told("machines.md") + told("patches.md");
    assert!(count >= 15, "{count} pairs");
}

#[test]
fn what_was_not_followed_and_where_a_change_is_written() {
    let count = told("reach.md") + told("causes.md");
    assert!(count >= 15, "{count} pairs");
}

#[test]
fn releases_whose_charts_are_here() {
    let count = told("charts.md");
    assert!(count >= 15, "{count} pairs");
}

#[test]
fn what_a_resource_set_makes_no_longer_is_deleted() {
    let count = told("sets.md");
    assert!(count >= 9, "{count}");
}

#[test]
fn what_only_bootstrap_applies() {
    assert_eq!(told("bootstrap.md"), 8);
}

/// Letters and digits, for a comparison of formats.
fn bare(text: &str) -> String {
    text.replace("&gt;", ">").chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Plans every pair of a file of `tests/plan`, and counts them.
fn told(file: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plan").join(file);
    let text = std::fs::read_to_string(path).expect("it is part of the project");
    let mut parts = text.split("\n## ");
    let (shared, _) = blocks(parts.next().expect("a file has a beginning"));
    let common: Files = shared
        .iter()
        .filter_map(|block| Some((block.argument.strip_prefix("file=")?.to_owned(), joined(&block.lines))))
        .collect();
    let store: Files = shared
        .iter()
        .filter_map(|block| Some((block.argument.strip_prefix("store=")?.to_owned(), joined(&block.lines))))
        .collect();
    let mut problems = Vec::new();
    let mut count = 0;
    for part in parts {
        let title = part.lines().next().unwrap_or_default();
        let (blocks, items) = blocks(part);
        let (base, head) = sides(&common, &blocks);
        let directory = tempfile::tempdir().expect("temporary directory");
        write(&directory.path().join("base"), &base);
        write(&directory.path().join("head"), &head);
        write(&directory.path().join("store"), &store);
        let there = ("./base", "./head");
        let answer = plan(directory.path(), there, "text");
        let markdown = plan(directory.path(), there, "markdown");
        let back = plan(directory.path(), ("./head", "./base"), "text");
        // The verdict comes first, the total last.
        let github = plan(directory.path(), there, "github");
        let verdict = answer.split("./base").next().unwrap_or_default();
        if verdict.trim().is_empty() || !bare(&markdown).contains(&bare(verdict)) {
            problems.push(format!("{title}: the comment has no verdict: {verdict}\n{markdown}"));
        }
        let last = answer.lines().last().unwrap_or_default();
        if !last.starts_with("Plan: ") || !bare(&markdown).ends_with(&bare(last)) {
            problems.push(format!("{title}: the total does not stand last: {last}"));
        }
        for format in [&answer, &markdown, &github] {
            if format.contains("$holes") || format.contains("$unknown") {
                problems.push(format!("{title}: an inner form is shown:\n{format}"));
            }
        }
        let found = words(&answer);
        count += 1;
        assert!(!items.is_empty(), "{title}: nothing must be said");
        for item in items {
            let (wanted, text) = match item.strip_prefix("not: ") {
                Some(text) => (false, text),
                None => (true, item),
            };
            if found.contains(&words(text)) != wanted {
                problems.push(format!("{title}: {item}\n{answer}"));
            }
        }
        for answer in [&answer, &markdown, &back] {
            problems.extend(same_sides(answer).map(|line| format!("{title}: nothing differs in: {line}")));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    count
}

/// `--cluster` takes the names of both sides, and both mean the same cluster.
#[test]
fn a_cluster_whose_root_applies_another_directory_has_two_names() {
    let sync = |path: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
             metadata: {{name: flux-system, namespace: flux-system}}\n\
             spec: {{interval: 1m, url: https://github.com/example/fleet}}\n---\n\
             apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
             metadata: {{name: flux-system, namespace: flux-system}}\n\
             spec:\n  interval: 10m\n  path: {path}\n  prune: true\n  \
             sourceRef: {{kind: GitRepository, name: flux-system}}\n"
        )
    };
    let settings = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: default}\n";
    let scratch = Scratch::new(&[
        ("base/old/settings.yaml", settings),
        ("base/new/sync/gotk-sync.yaml", &sync("./old")),
        ("base/new/sync/kustomization.yaml", "resources: [gotk-sync.yaml]\n"),
        ("head/old/settings.yaml", settings),
        ("head/new/sync/gotk-sync.yaml", &sync("./new")),
        ("head/new/sync/kustomization.yaml", "resources: [gotk-sync.yaml]\n"),
    ]);
    let plan = |cluster: &str| {
        let flags = ["plan", "--base", "./base", "--head", "./head", "--root", ".", "--no-config"];
        scratch.forebay(&[&flags[..], &["--cluster", cluster]].concat())
    };
    let [old, new] = ["old", "new"].map(plan);
    // The root that is in the cluster does not apply the file that changes it.
    let later = "not now: when `flux bootstrap` is run again";
    let deleted = words(&format!("DELETES ConfigMap default/settings: removed from Git {later}"));
    assert!(words(&old.out).contains(&deleted), "{}", old.out);
    assert!(old.out.starts_with("nothing changes in the clusters"), "{}", old.out);
    assert_eq!(old.out, new.out);
    let none = plan("other");
    assert_eq!(none.code, 2);
    assert!(none.err.contains("there are new, old"), "{}", none.err);
}
