//! What a pull request can put in the tree: links, pipes, planted repositories,
//! names and settings that lead out of it. Nothing outside is read or written.

use crate::support::scratch::{Run, Scratch, forebay};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const MANIFEST: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
/// Text that no output may hold.
const SECRET: &str = "outside-5d1f";

/// A repository in `repo`, and what is not its own beside it.
fn tree(files: &[(&str, &str)]) -> Scratch {
    let outside = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {SECRET}\n");
    let scratch = Scratch::new(&[
        ("outside/a.yaml", &outside),
        ("outside/config.yaml", &format!("{SECRET}: 1\n")),
        ("outside/report", SECRET),
        ("repo/a.yaml", MANIFEST),
    ]);
    for (path, text) in files {
        scratch.write(&format!("repo/{path}"), text.as_bytes());
    }
    scratch
}

/// Run in the repository, but no longer than a minute.
fn run(scratch: &Scratch, arguments: &[&str]) -> Run {
    let mut child = forebay()
        .current_dir(scratch.path().join("repo"))
        .env("FOREBAY_TEST_TOKEN", SECRET)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("forebay runs");
    for _ in 0..6000 {
        if child.try_wait().expect("it can be waited for").is_some() {
            return Run::of(child.wait_with_output().expect("forebay ends"));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    panic!("{arguments:?} hangs");
}

fn link(scratch: &Scratch, target: &str, name: &str) {
    symlink(target, scratch.path().join("repo").join(name)).expect("a link");
}

fn assert_silent(run: &Run) {
    assert!(!run.out.contains(SECRET) && !run.err.contains(SECRET), "{}{}", run.out, run.err);
}

fn outside_is_untouched(scratch: &Scratch) {
    assert_eq!(scratch.read("outside/report"), SECRET);
    assert!(scratch.read("outside/a.yaml").contains(SECRET));
    let names = std::fs::read_dir(scratch.path().join("outside")).expect("it is there").count();
    assert_eq!(names, 3, "something was written outside");
}

#[test]
fn a_configuration_that_leads_out_of_the_root_is_refused() {
    for target in ["../outside/config.yaml", "/proc/self/environ", "/dev/zero", "/dev/stdin"] {
        for arguments in [&["lint"][..], &["config", "show"], &["lint", "--config", ".forebay.yaml"]] {
            let scratch = tree(&[]);
            link(&scratch, target, ".forebay.yaml");
            let run = run(&scratch, arguments);
            assert_silent(&run);
            assert_eq!(run.code, 2, "{target}: {}{}", run.out, run.err);
            assert!(run.err.contains("leads out of the root through a symbolic link"), "{}", run.err);
        }
    }
}

#[test]
fn a_configuration_may_be_a_link_that_stays_inside() {
    let scratch = tree(&[("ci/forebay.yaml", "rules: {no-such-rule: off}\n")]);
    link(&scratch, "ci/forebay.yaml", ".forebay.yaml");
    let run = run(&scratch, &["lint"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("no-such-rule"), "{}", run.err);
}

#[test]
fn git_s_own_directory_is_no_configuration() {
    let scratch = tree(&[]);
    let git = Scratch::git(&[]);
    std::fs::rename(git.path().join(".git"), scratch.path().join("repo/.git")).expect("moved");
    std::fs::write(scratch.path().join("repo/.git/config"), format!("[core]\n\tbare = false\n# {SECRET}\n"))
        .expect("written");
    link(&scratch, ".git/config", ".forebay.yaml");
    let run = run(&scratch, &["lint"]);
    assert_silent(&run);
    assert_eq!(run.code, 2, "{}", run.err);
}

#[test]
fn a_configuration_that_is_a_pipe_does_not_hang() {
    let scratch = tree(&[]);
    let made = Command::new("mkfifo").arg(scratch.path().join("repo/.forebay.yaml")).status();
    assert!(made.expect("mkfifo runs").success());
    for arguments in [&["lint"][..], &["config", "show"], &["lint", "--config", ".forebay.yaml"]] {
        assert_eq!(run(&scratch, arguments).code, 2);
    }
}

#[test]
fn files_that_flags_name_are_read_inside_the_root_only() {
    let scratch = tree(&[]);
    link(&scratch, "../outside/config.yaml", "linked.json");
    link(&scratch, "../outside", "linked");
    for file in ["linked.json", "linked/config.yaml"] {
        for arguments in [
            &["lint", "--baseline", file][..],
            &["lint", "--config", file],
            &["simulate", "events", "--event", file],
            &["simulate", "hooks", "--input", file],
        ] {
            let run = run(&scratch, arguments);
            assert_silent(&run);
            assert!(run.code >= 2, "{arguments:?}: {} {}{}", run.code, run.out, run.err);
        }
    }
}

#[test]
fn paths_that_lead_out_of_the_repository_are_refused() {
    let scratch = tree(&[]);
    let git = Scratch::git(&[]);
    std::fs::rename(git.path().join(".git"), scratch.path().join("repo/.git")).expect("moved");
    link(&scratch, "../outside", "linked");
    for arguments in [
        &["lint", "linked"][..],
        &["lint", "linked/a.yaml"],
        &["--root", "linked", "lint"],
        &["plan", "--base", "./linked"],
        &["build", "--root", "linked", "."],
    ] {
        let run = run(&scratch, arguments);
        assert_silent(&run);
        assert!(run.code >= 2, "{arguments:?}: {} {}{}", run.code, run.out, run.err);
    }
}

#[test]
fn files_below_linked_directories_are_not_read() {
    let kustomization = "resources: [linked/a.yaml, ../outside/a.yaml, file.yaml]\n";
    let scratch = tree(&[("deploy/kustomization.yaml", kustomization)]);
    link(&scratch, "../../outside", "deploy/linked");
    link(&scratch, "../../outside/a.yaml", "deploy/file.yaml");
    for arguments in [&["lint", "--show", "info"][..], &["build", "deploy"]] {
        let run = run(&scratch, arguments);
        assert_silent(&run);
    }
}

/// A bare repository in the tree, whose index names files outside.
fn plant(scratch: &Scratch, work_tree: Option<&str>) {
    let maker = Scratch::git(&[("x/a.yaml", MANIFEST)]);
    maker.commit("planted");
    let git = maker.path().join(".git");
    let mut index = std::fs::read(git.join("index")).expect("an index");
    let at = index.windows(8).position(|window| window == b"x/a.yaml").expect("the name");
    // As long as the other: the checksum is left out, as `index.skipHash` does.
    index[at..at + 8].copy_from_slice(b"../b.yml");
    let end = index.len() - 20;
    index[end..].fill(0);
    std::fs::write(git.join("index"), index).expect("an index");
    let work_tree = work_tree.map_or(String::new(), |path| format!("\tworktree = {path}\n"));
    let config = format!("[core]\n\trepositoryformatversion = 0\n\tbare = false\n{work_tree}");
    std::fs::write(git.join("config"), config).expect("a configuration");
    for entry in std::fs::read_dir(&git).expect("a directory").flatten() {
        let to = scratch.path().join("repo/deploy").join(entry.file_name());
        std::fs::rename(entry.path(), to).expect("moved");
    }
}

#[test]
fn a_planted_repository_is_content() {
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    kustomize.toolkit.fluxcd.io/prune: Disabled\n";
    for work_tree in [None, Some(".."), Some("/"), Some("../../outside")] {
        let scratch = tree(&[("deploy/c.yaml", MANIFEST), ("b.yml", bad)]);
        plant(&scratch, work_tree);
        for arguments in [
            &["lint", "--root", "deploy", "--show", "info"][..],
            &["lint", "--root", "deploy", "--fix=unsafe"],
            &["lint", "deploy/c.yaml", "--fix=unsafe"],
        ] {
            let run = run(&scratch, arguments);
            assert!(!run.out.contains("b.yml"), "{arguments:?} {work_tree:?}: {}", run.out);
            assert_eq!(scratch.read("repo/b.yml"), bad, "{arguments:?} {work_tree:?}");
        }
        let run = run(&scratch, &["lint", "--root", "deploy", "--format", "json"]);
        assert_eq!(run.json()["summary"]["files"], 1, "{}", run.out);
        outside_is_untouched(&scratch);
    }
}

#[test]
fn reports_are_not_written_through_links() {
    for (target, name, file) in [
        ("../outside/report", "report", "report"),
        ("../outside/new", "report", "report"),
        ("../outside", "reports", "reports/report"),
        ("../outside", "reports", "reports/new"),
    ] {
        let scratch =
            tree(&[("deploy/kustomization.yaml", "resources: [a.yaml]\n"), ("deploy/a.yaml", MANIFEST)]);
        link(&scratch, target, name);
        let output = format!("json={file}");
        let absolute = format!("json={}", scratch.path().join("repo").join(file).display());
        for arguments in [
            &["lint", "--output-file", &output][..],
            &["lint", "--output-file", &absolute],
            &["lint", "--baseline", file, "--update-baseline"],
            &["rules", "--output-file", &output],
        ] {
            let run = run(&scratch, arguments);
            assert!(run.code >= 2, "{arguments:?}: {} {}{}", run.code, run.out, run.err);
            outside_is_untouched(&scratch);
        }
    }
}

#[test]
fn builds_are_not_written_through_links() {
    let object = format!("{MANIFEST}  namespace: default\n");
    for (target, name) in [("../outside", "out"), ("../../outside/report", "out/v1_configmap_default_a.yaml")]
    {
        let scratch =
            tree(&[("deploy/kustomization.yaml", "resources: [a.yaml]\n"), ("deploy/a.yaml", &object)]);
        if name.contains('/') {
            std::fs::create_dir(scratch.path().join("repo/out")).expect("a directory");
        }
        link(&scratch, target, name);
        let run = run(&scratch, &["build", "deploy", "--output-dir", "out"]);
        assert_eq!(run.code, 3, "{}{}", run.out, run.err);
        assert!(run.err.contains("symbolic link"), "{}", run.err);
        outside_is_untouched(&scratch);
    }
}

#[test]
fn patches_are_not_written_through_links() {
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n";
    for (target, name, directory) in [("../outside", "out", "out"), ("../outside", "out", "out/new")] {
        let scratch = tree(&[("deploy/a.yaml", object)]);
        link(&scratch, target, name);
        let run = run(&scratch, &["rename", "ConfigMap/default/a", "b", "--patches", directory]);
        assert_eq!(run.code, 3, "{}{}", run.out, run.err);
        assert!(run.err.contains("symbolic link"), "{}", run.err);
        outside_is_untouched(&scratch);
    }
}

#[test]
fn outputs_replace_files_and_write_to_devices() {
    let scratch = tree(&[("report.json", "old")]);
    let run =
        run(&scratch, &["lint", "--output-file", "json=report.json", "--output-file", "concise=/dev/null"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(scratch.read("repo/report.json").starts_with('{'));
    assert!(!Path::new("/dev/null").is_file());
    // Through a link of the user's own, outside of the tree.
    symlink("report", scratch.path().join("outside/alias")).expect("a link");
    let run = self::run(&scratch, &["lint", "--output-file", "json=../outside/alias"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(scratch.read("outside/report").starts_with('{'));
    assert!(scratch.path().join("outside/alias").is_symlink());
}

#[test]
fn files_of_others_that_look_temporary_stay() {
    let bad = MANIFEST
        .replace("name: a", "name: a\n  annotations:\n    kustomize.toolkit.fluxcd.io/prune: 'false'");
    let names = [".forebay-notes.tmp", ".forebay-1-0.tmp", ".forebay-0123456789abcdef-1-0.tmp"];
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "somebody's")).collect();
    files.push(("a.yaml", &bad));
    let scratch = tree(&files);
    let run = run(&scratch, &["lint", "--fix=unsafe"]);
    assert_ne!(scratch.read("repo/a.yaml"), bad, "nothing was written: {}", run.err);
    for name in names {
        assert_eq!(scratch.read(&format!("repo/{name}")), "somebody's", "{}", run.err);
    }
}

#[test]
fn a_file_with_another_name_is_told() {
    let bad = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n    kustomize.toolkit.fluxcd.io/prune: 'false'\n";
    let scratch = tree(&[("a.yaml", bad)]);
    std::fs::hard_link(scratch.path().join("repo/a.yaml"), scratch.path().join("repo/other.txt"))
        .expect("a link");
    let run = run(&scratch, &["lint", "--fix=unsafe"]);
    assert_ne!(scratch.read("repo/a.yaml"), bad, "{}", run.err);
    assert_eq!(scratch.read("repo/other.txt"), bad);
    assert!(run.err.contains("a.yaml had another name (a hard link)"), "{}", run.err);
}

const SYNC: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: flux-system\n  namespace: flux-system\nspec:\n  path: ./clusters/a\n  sourceRef: {kind: GitRepository, name: flux-system}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: flux-system\n  namespace: flux-system\nspec:\n  url: https://example.com/a\n";
const SHARED: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: shared\n  namespace: flux-system\nspec:\n  path: ./\n  sourceRef: {kind: OCIRepository, name: shared}\n---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\nmetadata:\n  name: shared\n  namespace: flux-system\nspec:\n  url: oci://example.com/shared\n";

/// A cluster that applies a source which the configuration says lies elsewhere.
fn shared(directory: &str) -> Scratch {
    let config = format!("sources: [{{kind: OCIRepository, name: shared, dir: {directory}}}]\n");
    let scratch = tree(&[
        ("clusters/a/flux-system/gotk-sync.yaml", SYNC),
        ("clusters/a/shared.yaml", SHARED),
        (".forebay.yaml", &config),
    ]);
    scratch.write("config.yaml", config.as_bytes());
    std::fs::remove_file(scratch.path().join("outside/config.yaml")).expect("removed");
    scratch
}

#[test]
fn the_tree_can_not_name_directories_outside() {
    for directory in ["../outside", "/", "/proc", "linked", "./a/../linked"] {
        let scratch = shared(directory);
        link(&scratch, "../outside", "linked");
        for arguments in [&["build", "--all"][..], &["lint", "--show", "info", "--list-unchecked"]] {
            let run = run(&scratch, arguments);
            assert_silent(&run);
            assert!(
                run.out.contains("--allow-dir") || run.err.contains("--allow-dir"),
                "{directory} {arguments:?}: {}{}",
                run.out,
                run.err
            );
        }
    }
}

#[test]
fn a_flag_and_a_configuration_outside_can_name_directories() {
    let scratch = shared("../outside");
    for arguments in [
        &["build", "--all", "--allow-dir", "../outside"][..],
        &["build", "--all", "--allow-dir", ".."],
        &["build", "--all", "--config", "../config.yaml"],
    ] {
        let run = run(&scratch, arguments);
        assert!(run.out.contains(SECRET), "{arguments:?}: {}{}", run.out, run.err);
    }
    let elsewhere = run(&scratch, &["build", "--all", "--allow-dir", "clusters"]);
    assert_silent(&elsewhere);
}

#[test]
fn the_tree_can_not_name_a_base_outside() {
    for base in ["/", "../outside", "./linked"] {
        let scratch = tree(&[(".forebay.yaml", &format!("plan: {{base: {base}}}\n"))]);
        link(&scratch, "../outside", "linked");
        let run = run(&scratch, &["plan"]);
        assert_silent(&run);
        assert_eq!(run.code, 3, "{base}: {}{}", run.out, run.err);
        assert!(run.err.contains("--allow-dir"), "{}", run.err);
    }
    let scratch = tree(&[(".forebay.yaml", "plan: {base: ../outside}\n")]);
    let run = run(&scratch, &["plan", "--allow-dir", "../outside"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
}
