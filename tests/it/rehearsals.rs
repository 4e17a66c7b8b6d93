//! What `plan --assume` says of small repositories: `tests/plan/rehearsals.md` says how its
//! sections are read. A commit that raises the version says the same.

use crate::plan_acts::{Files, blocks, edit, joined, words};
use crate::support::generated;
use forebay::internals::plan::behaviours;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

/// The page, its shared files and its sections.
const PAGE: &str = "tests/plan/rehearsals.md";

fn forebay(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forebay"))
        .current_dir(root)
        .env_remove("GITHUB_REF")
        .args(["plan", "--root", ".", "--no-config"])
        .args(arguments)
        .output()
        .expect("the binary was built")
}

fn json(root: &Path, arguments: &[&str]) -> Value {
    let output = forebay(root, &[arguments, &["--format", "json"]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&text).expect("JSON")
}

fn write(directory: &Path, files: &Files, version: &str) {
    for (path, text) in files {
        let path = directory.join(path);
        std::fs::create_dir_all(path.parent().expect("a file is in a directory")).expect("a directory");
        std::fs::write(path, text.replace("STATED", &format!("v{version}"))).expect("a directory");
    }
}

/// A section: what it is about, its files, its items by kind.
struct Section<'t> {
    title: &'t str,
    files: Files,
    items: Vec<&'t str>,
}

impl<'t> Section<'t> {
    fn all<'s>(&'s self, lead: &'s str) -> impl Iterator<Item = &'t str> + 's {
        self.items.iter().filter_map(move |item| item.strip_prefix(lead)?.strip_prefix(": "))
    }

    fn one(&self, lead: &str) -> &'t str {
        self.all(lead).next().unwrap_or_else(|| panic!("{}: no `{lead}`", self.title))
    }

    fn texts(&self) -> impl Iterator<Item = &'t str> + '_ {
        let leads = ["states: ", "assume: ", "note: ", "no note: "];
        self.items.iter().copied().filter(move |item| !leads.iter().any(|lead| item.starts_with(lead)))
    }
}

fn sections(page: &str) -> Vec<Section<'_>> {
    let mut parts = page.split("\n## ");
    let (shared, _) = blocks(parts.next().expect("a page has a beginning"));
    let common: Files = shared
        .iter()
        .filter_map(|block| Some((block.argument.strip_prefix("file=")?.to_owned(), joined(&block.lines))))
        .collect();
    let section = |part| {
        let (blocks, items) = blocks(part);
        let mut files = common.clone();
        for block in &blocks {
            match (block.language, block.argument.split_once('=')) {
                ("yaml", Some(("both", path))) => drop(files.insert(path.to_owned(), joined(&block.lines))),
                ("yaml", Some(("absent", path))) => drop(files.remove(path)),
                _ => edit(&mut files, block.argument, &block.lines),
            }
        }
        Section { title: part.lines().next().unwrap_or_default(), files, items }
    };
    parts.map(section).collect()
}

/// The notes of an answer, without what a commit and a rehearsal say in other words.
fn notes(answer: &Value) -> Vec<Value> {
    let changes = answer["clusterChanges"].as_array().expect("a list");
    changes.iter().flat_map(|change| change["notes"].as_array().expect("a list")).cloned().collect()
}

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE))
        .expect("it is part of the project")
}

#[test]
fn each_rehearsal_says_what_its_section_says() {
    let page = page();
    let mut problems = Vec::new();
    for section in sections(&page) {
        let directory = tempfile::tempdir().expect("temporary directory");
        let (stated, assumed) = (section.one("states"), section.one("assume"));
        write(&directory.path().join("now"), &section.files, stated);
        let root = directory.path().join("now");
        let output = forebay(&root, &["--assume", assumed, "--format", "text"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let answer = json(&root, &["--assume", assumed]);
        let told: BTreeSet<String> =
            notes(&answer).iter().map(|note| note["id"].as_str().expect("a name").to_owned()).collect();
        let missing = section.all("note").filter(|id| !told.contains(*id)).map(|id| format!("no {id}"));
        let unwanted =
            section.all("no note").filter(|id| told.contains(*id)).map(|id| format!("{id} is told"));
        problems.extend(missing.chain(unwanted).map(|what| format!("{}: {what}\n{text}", section.title)));
        let found = words(&text);
        for item in section.texts() {
            let (wanted, item) = item.strip_prefix("not: ").map_or((true, item), |item| (false, item));
            if found.contains(&words(item)) != wanted {
                problems.push(format!("{}: {item}\n{text}", section.title));
            }
        }
        let (key, value) = assumed.split_once('=').expect("key and value");
        assert_eq!(answer["assumed"][key], value, "{}", section.title);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn a_commit_that_raises_the_version_says_the_same() {
    let page = page();
    let mut compared = 0;
    for section in sections(&page) {
        let Some(version) = section.one("assume").strip_prefix("flux=") else { continue };
        let directory = tempfile::tempdir().expect("temporary directory");
        let root = directory.path();
        write(&root.join("before"), &section.files, section.one("states"));
        write(&root.join("after"), &section.files, &format!("{version}.0"));
        let rehearsed = json(&root.join("before"), &["--assume", &format!("flux={version}.0")]);
        let planned = json(root, &["--base", "./before", "--head", "./after"]);
        let of = |answer| -> Vec<String> { notes(answer).iter().map(Value::to_string).collect() };
        // What a definition in the repository says holds for a commit alone.
        if section.files.contains_key("clusters/prod/crd.yaml") {
            continue;
        }
        assert_eq!(of(&rehearsed), of(&planned), "{}", section.title);
        let kept = |answer: &Value| -> Vec<String> {
            let effects = answer["effects"].as_array().expect("a list").iter();
            let of_objects = effects.filter(|effect| effect["object"]["kind"] != "Deployment");
            of_objects.map(|effect| format!("{} {}", effect["effect"], effect["object"])).collect()
        };
        assert_eq!(kept(&rehearsed), kept(&planned), "{}", section.title);
        compared += 1;
    }
    assert!(compared >= 20, "{compared} were compared");
}

#[test]
fn each_behaviour_has_a_section_and_a_row_in_the_documentation() {
    let page = page();
    let told: BTreeSet<&str> =
        sections(&page).iter().flat_map(|one| one.all("note").collect::<Vec<_>>()).collect();
    let mut table = String::from(
        "| since | name | what is so from then on | severity | source |\n|---|---|---|---|---|\n",
    );
    for row in behaviours() {
        assert!(told.contains(row.id), "{} has no section in {PAGE}", row.id);
        let source = row.source.rsplit('/').next().unwrap_or_default();
        let _ = writeln!(
            table,
            "| {} | `{}` | {} | {} | [{}]({}) |",
            row.first(),
            row.id,
            row.what(),
            row.severity,
            source,
            row.source
        );
    }
    generated::check("docs/rehearsals.md", "behaviours", &table);
}

#[test]
fn what_can_not_be_assumed_is_refused_in_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/update/before");
    for (assumed, said) in [
        ("flux=2.10", "2.0 to 2.9 can be assumed"),
        ("flux=1.9", "2.0 to 2.9 can be assumed"),
        ("flux=new", "`new` is no version of Flux"),
        ("clusterApi=1.4", "1.5 to 1.15 can be assumed"),
        ("clusterApi=1.16", "1.5 to 1.15 can be assumed"),
        ("kubernetes=2.0", "`2.0` is no version of Kubernetes"),
        ("kuberntes=1.34", "did you mean `kubernetes`?"),
        ("strictSubstitution=enabled", "there are flux, kubernetes, clusterApi, gates, suspendAnnotation"),
        ("flux", "write flux=2.9"),
        ("gates=on", "it is enabled or disabled"),
        ("gates=enabld", "did you mean `enabled`?"),
        ("flux=2.8,flux=2.9", "flux is said twice"),
    ] {
        let output = forebay(&root, &["--assume", assumed]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{assumed}: {text}");
        assert!(text.contains(said), "{assumed}: {text}");
    }
    let output = forebay(&root, &["--assume", "flux=2.9", "--base", "HEAD"]);
    assert_eq!(output.status.code(), Some(2), "--base beside --assume");
}

#[test]
fn a_rehearsal_fails_on_the_effects_of_a_plan() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/update/before");
    for (assumed, effect, code) in [
        ("flux=2.9", "build-fails", 1),
        ("flux=2.9", "disruptive", 1),
        ("flux=2.9", "rollout", 0),
        ("flux=2.8", "routine", 0),
    ] {
        let output = forebay(&root, &["--assume", assumed, "--fail-on-effect", effect]);
        assert_eq!(output.status.code(), Some(code), "{assumed} {effect}");
    }
}
