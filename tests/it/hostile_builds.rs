//! Repositories made to hurt: each build ends, within bounds of time and memory,
//! with a finding that names the file and the line.
//!
//! On Linux every run has 2 GiB of address space and two minutes of processor
//! time, far more than it needs and far less than what these would take.

use crate::support::scratch::{Scratch, forebay};
use std::fmt::Write as _;
use std::process::Command;

const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: shop\ndata:\n  k: v\n";

fn kustomization(name: &str, path: &str, rest: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: {name}\n  namespace: flux-system\n\
         spec:\n  interval: 1h\n  prune: true\n  path: {path}\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n{rest}"
    )
}

/// A cluster with one Kustomization, `flux-system/app`, over `app/`.
struct Repository(Scratch);

impl Repository {
    fn new(files: &[(&str, &str)]) -> Repository {
        let scratch = Scratch::new(files);
        let sync = format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: flux-system\n  namespace: flux-system\n\
             spec:\n  interval: 1m\n  url: https://example.com/o/r\n---\n{}",
            kustomization("flux-system", "./clusters/main", "")
        );
        scratch.write("clusters/main/flux-system/gotk-sync.yaml", sync.as_bytes());
        scratch.write("clusters/main/app.yaml", kustomization("app", "./app", "").as_bytes());
        Repository(scratch)
    }

    /// Run forebay: exit code, standard output, standard error.
    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let binary = forebay();
        let mut command = if cfg!(target_os = "linux") {
            let mut shell = Command::new("sh");
            shell.args(["-c", "ulimit -v 2097152 && ulimit -t 120 && exec \"$0\" \"$@\""]);
            shell.arg(binary.get_program());
            for (name, value) in binary.get_envs() {
                match value {
                    Some(value) => shell.env(name, value),
                    None => shell.env_remove(name),
                };
            }
            shell
        } else {
            binary
        };
        let output = command.current_dir(self.0.path()).args(arguments).output().expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// `lint` has this one finding at this place, and `build` says the same.
    #[track_caller]
    fn refuses(&self, rule: &str, place: &str, message: &str) {
        let (code, out, err) = self.run(&["lint", "--format", "concise"]);
        assert_eq!(code, Some(1), "{out}{err}");
        let found: Vec<&str> = out.lines().filter(|line| line.contains(": error[")).collect();
        let [line] = found.as_slice() else { panic!("not one error: {out}{err}") };
        assert!(line.starts_with(&format!("{place}:")), "{line}");
        assert!(line.contains(&format!("error[{rule}]")) && line.contains(message), "{line}");
        assert!(!out.contains("warning["), "{out}");

        let (code, _, err) = self.run(&["build", "--all"]);
        assert_eq!(code, Some(1), "{err}");
        assert!(err.contains(message) && err.contains(place), "{err}");
    }

    /// `build DIR` refuses too, at the same place.
    #[track_caller]
    fn refuses_directory(&self, place: &str, message: &str) {
        let (code, out, err) = self.run(&["build", "app", "--root", "."]);
        assert_eq!((code, out.as_str()), (Some(3), ""), "{err}");
        assert!(err.contains(message) && err.contains(place), "{err}");
    }
}

/// Files that are all overhead: the memory of a run follows a bound, not them.
#[cfg(target_os = "linux")]
#[test]
fn files_of_documents_and_lists_stay_small() {
    let rows = [
        ("---\n".repeat(6_000_000), 400, "too many documents"),
        ("---\n".repeat(90_000), 400, "No findings"),
        (format!("a:\n{}", "- b\n".repeat(1_500_000)), 500, "No findings"),
        (format!("a: [{}]\n", "b, ".repeat(1_500_000)), 500, "No findings"),
    ];
    for (text, mebibytes, expected) in rows {
        let scratch = Scratch::new(&[("a.yaml", &text)]);
        let limit = format!("ulimit -v {} && ulimit -t 120 && exec \"$0\" \"$@\"", mebibytes << 10);
        let run = Command::new("sh")
            .args(["-c", &limit])
            .arg(forebay().get_program())
            .args(["lint", "--threads", "2", "--color", "never", "--root"])
            .arg(scratch.path())
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(said.contains(expected), "{mebibytes} MiB: {} {said}", String::from_utf8_lossy(&run.stderr));
    }
}

#[test]
fn documents_of_a_tree_are_capped_aloud() {
    let scratch = Scratch::new(&[]);
    let (many, files) = ("---\n".repeat(99_000), 12);
    (0..files).for_each(|at| drop(scratch.write(&format!("f{at:02}.yaml"), many.as_bytes())));
    let run = scratch.forebay(&["lint", "--complete", "--list-unchecked"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.out.contains("10 files, 990000 documents"), "{}", run.out);
    for left_out in ["f10.yaml", "f11.yaml"] {
        assert!(run.out.contains(left_out), "{left_out} is left out without a word: {}", run.out);
    }
}

#[test]
fn findings_of_one_rule_in_one_file_are_capped_aloud() {
    let wrong = |at: usize| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{at}, labels: {{a: 'b b'}}}}\n---\n")
    };
    let text: String = (0..1_500).map(wrong).collect();
    let scratch = Scratch::new(&[("a.yaml", &text), ("b.yaml", &wrong(0))]);
    for format in ["full", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "html"] {
        let run = scratch.forebay(&["lint", "--format", format]);
        assert_eq!(run.code, 1, "{format}: {}", run.err);
        let said = run.out + &run.err;
        assert!(said.contains("501 more findings of"), "{format} does not say what is left out: {said}");
    }
}

const UNBUILDABLE: &str = "unbuildable-kustomization";

#[test]
fn circles() {
    let component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n";
    let circle = format!("{component}components:\n  - ../part\n");
    type Row<'r> = (&'r [(&'r str, &'r str)], &'r str, &'r str);
    let table: [Row<'_>; 4] = [
        (
            &[
                ("app/kustomization.yaml", "resources:\n  - ../base\n"),
                ("base/kustomization.yaml", "resources:\n  - ../app\n"),
            ],
            "base/kustomization.yaml:2:5",
            "a circle",
        ),
        (&[("app/kustomization.yaml", "resources:\n  - ../app\n")], "app/kustomization.yaml:2:5", "a circle"),
        (&[("app/kustomization.yaml", "resources:\n  - ..\n")], "app/kustomization.yaml:2:5", "a circle"),
        (
            &[("app/kustomization.yaml", "components:\n  - ../part\n"), ("part/kustomization.yaml", &circle)],
            "part/kustomization.yaml:4:5",
            "a circle",
        ),
    ];
    for (files, place, message) in table {
        let repository = Repository::new(files);
        repository.refuses(UNBUILDABLE, place, message);
        repository.refuses_directory(place, message);
    }
}

#[test]
fn paths_that_leave_the_repository() {
    for path in ["../../../../etc", "../../../../etc/passwd", "/etc/passwd", "../.."] {
        let text = format!("resources:\n  - {path}\n");
        let repository = Repository::new(&[("app/kustomization.yaml", &text)]);
        repository.refuses("resource-outside-root", "app/kustomization.yaml:2:5", "outside");
        repository.refuses_directory("app/kustomization.yaml:2:5", "outside");
    }
}

#[cfg(unix)]
#[test]
fn links_in_circles() {
    use std::os::unix::fs::symlink;
    for (target, name) in [("loop", "loop"), (".", "here"), ("..", "up"), ("two", "one"), ("/etc", "etc")] {
        let text = format!("resources:\n  - c.yaml\n  - {name}\n");
        let repository = Repository::new(&[("app/kustomization.yaml", &text), ("app/c.yaml", CONFIG_MAP)]);
        symlink(target, repository.0.path().join("app").join(name)).expect("a link");
        symlink("one", repository.0.path().join("app/two")).expect("a link");
        repository.refuses("missing-resource", "app/kustomization.yaml:3:5", "behind a symbolic link");
    }
    // Without a kustomization.yaml nobody asks for them.
    let repository = Repository::new(&[("app/c.yaml", CONFIG_MAP)]);
    symlink(".", repository.0.path().join("app/here")).expect("a link");
    symlink("/", repository.0.path().join("app/root")).expect("a link");
    let (code, out, err) = repository.run(&["lint", "--format", "concise"]);
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("No findings"), "{out}");
}

/// Levels of a hundred bases each, all over the one below.
fn fan(levels: usize) -> Repository {
    let mut files: Vec<(String, String)> = vec![
        ("l0/kustomization.yaml".into(), "resources:\n  - c.yaml\n".into()),
        ("l0/c.yaml".into(), CONFIG_MAP.into()),
        ("app/kustomization.yaml".into(), format!("resources:\n  - ../l{levels}\n")),
    ];
    for level in 1..=levels {
        let mut all = "resources:\n".to_owned();
        for copy in 0..100 {
            let _ = writeln!(all, "  - c{copy}");
            let text = format!("resources:\n  - ../../l{}\nnamePrefix: p{copy}-\n", level - 1);
            files.push((format!("l{level}/c{copy}/kustomization.yaml"), text));
        }
        files.push((format!("l{level}/kustomization.yaml"), all));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    Repository::new(&files)
}

/// Ten thousand bases are no fault: each is built once.
#[test]
fn fans_of_bases() {
    let (code, out, err) = fan(2).run(&["build", "--kustomization", "app"]);
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(out.matches("\nkind: ConfigMap\n").count(), 10_000);

    fan(3).refuses(UNBUILDABLE, "l0/c.yaml:1:1", "more than 25000 objects");
}

#[test]
fn bases_below_each_other() {
    let mut files: Vec<(String, String)> = (0..300)
        .map(|level| (format!("l{level}/kustomization.yaml"), format!("resources:\n  - ../l{}\n", level + 1)))
        .collect();
    files.push(("app/kustomization.yaml".into(), "resources:\n  - ../l0\n".into()));
    files.push(("l300/c.yaml".into(), CONFIG_MAP.into()));
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let repository = Repository::new(&files);
    repository.refuses(UNBUILDABLE, "l23/kustomization.yaml:2:5", "more than 24 levels deep");
}

/// Few bytes that come to gigabytes: in doubled bases, generators, copies,
/// replacements, vars.
#[test]
fn gigabytes_of_output() {
    let megabyte = "x".repeat(1 << 20);

    let large = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\ndata:\n  k: {megabyte}\n");
    let mut files: Vec<(String, String)> = vec![
        ("l0/kustomization.yaml".into(), "resources:\n  - c.yaml\n".into()),
        ("l0/c.yaml".into(), large),
        ("app/kustomization.yaml".into(), "resources:\n  - ../l10\n".into()),
    ];
    for level in 1..=10 {
        files.push((format!("l{level}/kustomization.yaml"), "resources:\n  - a\n  - b\n".into()));
        for half in ["a", "b"] {
            let text = format!("namePrefix: {half}\nresources:\n  - ../../l{}\n", level - 1);
            files.push((format!("l{level}/{half}/kustomization.yaml"), text));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let doubled = Repository::new(&files);
    doubled.refuses(UNBUILDABLE, "l0/c.yaml:1:1", "more than 256 MiB");
    doubled.refuses_directory("l0/c.yaml:1:1", "more than 256 MiB");

    let mut generators = "configMapGenerator:\n".to_owned();
    for number in 0..1000 {
        let _ = writeln!(generators, "  - name: g{number}\n    files: [big.txt]");
    }
    let text = megabyte.repeat(8);
    let generated = Repository::new(&[("app/kustomization.yaml", &generators), ("app/big.txt", &text)]);
    generated.refuses(UNBUILDABLE, "app/kustomization.yaml:67:13", "more than 256 MiB");

    let thing =
        "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: c\n  namespace: shop\nspec:\n  a: v\n";
    let mut copies = "resources:\n  - c.yaml\npatches:\n  - target: {kind: Thing}\n    patch: |\n".to_owned();
    for number in 0..60 {
        let _ = writeln!(copies, "      - {{op: copy, from: /spec, path: /spec/x{number}}}");
    }
    let copied = Repository::new(&[("app/c.yaml", thing), ("app/kustomization.yaml", &copies)]);
    copied.refuses(UNBUILDABLE, "app/c.yaml:1:1", "beyond every limit");

    let long = format!("{thing}  b: {megabyte}\n");
    let mut replacements = "resources:\n  - c.yaml\nreplacements:\n  - source: {kind: Thing, fieldPath: spec.b}\n    targets:\n      \
                            - select: {kind: Thing}\n        options: {create: true}\n        fieldPaths:\n"
        .to_owned();
    for number in 0..10_000 {
        let _ = writeln!(replacements, "          - spec.x{number}");
    }
    let replaced = Repository::new(&[("app/c.yaml", &long), ("app/kustomization.yaml", &replacements)]);
    replaced.refuses(UNBUILDABLE, "app/kustomization.yaml:265:13", "more than 256 MiB");

    let uses: String = (0..500).map(|_| "      - $(V) $(V)\n").collect();
    let vars = format!(
        "{thing}  b: {megabyte}\n---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - name: a\n    command:\n{uses}"
    );
    let text = "resources:\n  - c.yaml\nvars:\n  - name: V\n    objref: {apiVersion: example.com/v1, kind: Thing, name: c}\n    \
                fieldref: {fieldpath: spec.b}\n";
    let expanded = Repository::new(&[("app/c.yaml", &vars), ("app/kustomization.yaml", text)]);
    expanded.refuses(UNBUILDABLE, "app/c.yaml:146:9", "more than 256 MiB");
}

/// A text that variables blow up.
#[test]
fn gigabytes_of_substitution() {
    let rest = format!("  postBuild:\n    substitute:\n      A: {}\n", "x".repeat(1 << 20));
    let value = "${A}".repeat(10_000);
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  namespace: shop\ndata:\n  k: {value}\n"
    );
    let repository = Repository::new(&[("app/c.yaml", &text)]);
    repository.0.write("clusters/main/app.yaml", kustomization("app", "./app", &rest).as_bytes());
    let (code, out, err) = repository.run(&["lint", "--format", "json"]);
    assert_eq!(code, Some(1), "{out}{err}");
    let answer: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let findings = answer["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "{}", answer["summary"]);
    let at = &findings[0]["location"];
    assert_eq!((at["path"].as_str(), at["line"].as_u64()), (Some("app/c.yaml"), Some(7)));
    let why = findings[0]["why"].as_str().expect("a reason");
    assert!(why.contains("larger than"), "{why}");
}

/// A Kustomization whose build applies another one of a new name over the same
/// path, forever; alone, and two in turn.
#[test]
fn kustomizations_without_end() {
    let own =
        |name: &str, path: &str| kustomization(name, path, "  postBuild:\n    substitute:\n      N: x${N}\n");
    let message = "applies itself again and again";
    let alone = Repository::new(&[("app/self.yaml", &own("a${N}", "./app"))]);
    alone.0.write("clusters/main/app.yaml", own("app", "./app").replace("x${N}", "x").as_bytes());
    alone.refuses(UNBUILDABLE, "app/self.yaml:9:9", message);

    let two = Repository::new(&[
        ("app/other.yaml", &own("b${N}", "./other")),
        ("other/app.yaml", &own("a${N}", "./app")),
    ]);
    two.0.write("clusters/main/app.yaml", own("app", "./app").replace("x${N}", "x").as_bytes());
    two.refuses(UNBUILDABLE, "other/app.yaml:9:9", message);
}
