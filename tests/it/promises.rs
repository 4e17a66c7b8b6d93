//! What SECURITY.md promises is tested: each sentence names its tests, and they exist.
//! And what no single test shows: which files are opened, written and executed, and
//! that an answer is the same wherever and however it is made.

use crate::support::attack::{COMMANDS, command_line, repository};
use crate::support::scratch::{Scratch, forebay};
use crate::support::skip::skip;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

#[test]
fn every_promise_names_tests_that_exist() {
    let text = std::fs::read_to_string(Path::new(ROOT).join("SECURITY.md")).expect("SECURITY.md");
    let promises = text.split("\n- ").skip(1);
    let mut count = 0;
    for promise in promises {
        let words = promise.split('`').skip(1).step_by(2);
        let tests: Vec<&str> = words.filter(|word| word.contains("::")).collect();
        assert!(!tests.is_empty(), "no test is named: {promise}");
        for test in tests {
            let (module, name) = test.split_once("::").expect("asked for above");
            let file = Path::new(ROOT).join(format!("tests/it/{module}.rs"));
            let source = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{test}: {error}"));
            let is_test = |attributes: &str| source.contains(&format!("#[test]\n{attributes}fn {name}()"));
            assert!(is_test("") || is_test("#[cfg(target_os = \"linux\")]\n"), "{test} does not exist");
        }
        count += 1;
    }
    assert!(count >= 6, "the promises were not found");
}

/// The calls of a command and of what it starts.
fn trace(scratch: &Scratch, arguments: &[&str]) -> String {
    let log = scratch
        .path()
        .join("../")
        .join(format!("{}.trace", scratch.path().file_name().expect("a name").to_string_lossy()));
    let binary = forebay();
    let mut command = Command::new("strace");
    command.args(["-f", "-y", "-s", "4096", "-e", "trace=%file,%network,%process,write", "-o"]);
    command.arg(&log).arg(binary.get_program()).args(arguments).current_dir(scratch.path());
    for (name, value) in binary.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.expect("strace runs");
    let text = std::fs::read(&log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let _ = std::fs::remove_file(&log);
    text.expect("a trace")
}

/// Places of the system that every program reads: its libraries, the zones of time,
/// what it is run with.
const SYSTEM: &[&str] = &["/etc/", "/lib", "/usr/", "/proc/", "/sys/", "/dev/null", "/dev/urandom", "/opt/"];

#[test]
#[cfg(target_os = "linux")]
fn only_the_root_is_opened_nothing_connected_and_only_git_executed() {
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        skip!("strace does not run here");
    }
    let scratch = repository("boundary");
    let outside = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(outside.path().join("a.yaml"), "a: 1\n").expect("written");
    for (link, target) in [("clusters/a/out.yaml", "a.yaml"), ("apps/a/out", ""), (".forebay-x", "a.yaml")] {
        let target = outside.path().join(target);
        std::os::unix::fs::symlink(target, scratch.path().join(link)).expect("a link");
    }
    scratch.write(
        "clusters/a/more/kustomization.yaml",
        b"resources: [../../../../../etc/passwd, /etc/hostname, ../out.yaml]\n",
    );
    let root = scratch.path().canonicalize().expect("it is there");
    let binary = Path::new(env!("CARGO_BIN_EXE_forebay"));
    let own: Vec<&str> =
        [root.to_str(), binary.parent().and_then(Path::to_str)].into_iter().flatten().collect();
    let home = std::env::var("HOME").unwrap_or_default();
    for (arguments, formats) in COMMANDS.iter().step_by(2) {
        let log = trace(&scratch, &command_line(arguments, formats[0]));
        let mut executed: BTreeSet<String> = BTreeSet::new();
        let mut opened = 0;
        for line in log.lines() {
            let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            let (name, rest) = call.split_once('(').unwrap_or((call, ""));
            assert!(
                !matches!(name, "socket" | "connect" | "sendto" | "bind" | "accept"),
                "{arguments:?}: {line}"
            );
            let path = rest.split('"').nth(1).unwrap_or_default();
            if name == "execve" && rest.ends_with("= 0") {
                executed.insert(path.rsplit('/').next().unwrap_or(path).to_owned());
            }
            let is_open = matches!(name, "open" | "openat" | "openat2" | "creat");
            if !is_open || line.contains(") = -1 ") || line.contains("unfinished") {
                continue;
            }
            // What was really opened stands behind the answer, links followed.
            let real = line.rsplit_once("<").and_then(|(_, end)| end.strip_suffix('>')).unwrap_or(path);
            opened += usize::from(real.starts_with(own[0]));
            let is_own = own.iter().chain(SYSTEM).any(|own| real.starts_with(own)) || real == "/";
            let is_git_s = !home.is_empty() && real.starts_with(&format!("{home}/."));
            assert!(is_own || is_git_s, "{arguments:?} opens {real}: {line}");
            assert!(!real.starts_with("/etc/passwd") || is_library(&log, line), "{arguments:?}: {line}");
            let is_secret = real.ends_with("/environ") || real.ends_with("/cmdline");
            assert!(!is_secret, "{arguments:?}: {line}");
            assert!(!real.contains("hostname"), "{arguments:?}: {line}");
            let writes = rest.contains("O_WRONLY") || rest.contains("O_RDWR") || rest.contains("O_CREAT");
            assert!(!writes || real.starts_with("/dev/"), "{arguments:?} writes {real}");
        }
        let others: Vec<&String> =
            executed.iter().filter(|name| *name != "git" && *name != "forebay").collect();
        assert!(others.is_empty(), "{arguments:?} executes {others:?}");
        assert!(opened > 3 || arguments[0] == "config", "{arguments:?}: nothing was traced");
    }
}

/// Whether a line is of another process than the first: git asks who runs it.
#[cfg(target_os = "linux")]
fn is_library(log: &str, line: &str) -> bool {
    let process = |line: &str| line.split(' ').next().map(str::to_owned);
    process(line) != log.lines().next().and_then(process)
}

#[test]
fn answers_are_the_same_wherever_and_however_they_are_made() {
    // The same files, made in another order and at another place.
    let (first, second) = (repository("same"), Scratch::new(&[]));
    let names = first.run_git(&["ls-files", "-c", "-o"]);
    let mut names: Vec<&str> = names.lines().collect();
    names.reverse();
    let second = {
        let place = second.path().join("another/place with a blank");
        for name in &names {
            let full = place.join(name);
            std::fs::create_dir_all(full.parent().expect("a directory")).expect("made");
            std::fs::copy(first.path().join(name), full).expect("copied");
        }
        std::fs::rename(first.path().join(".git"), place.join(".git")).expect("moved");
        (second, place)
    };
    let run = |directory: &Path, arguments: &[&str], environment: &[(&str, &str)]| {
        let mut command = forebay();
        let output = command.current_dir(directory).args(arguments).envs(environment.iter().copied());
        let output = output.stdin(Stdio::null()).output().expect("forebay runs");
        (output.status.code(), output.stdout, output.stderr)
    };
    let mut answers = Vec::new();
    let commands: Vec<Vec<&str>> = COMMANDS
        .iter()
        .flat_map(|(arguments, formats)| formats.iter().map(|format| command_line(arguments, format)))
        .collect();
    for arguments in &commands {
        let one = run(&second.1, arguments, &[("RAYON_NUM_THREADS", "1")]);
        for environment in [
            &[("RAYON_NUM_THREADS", "5"), ("LC_ALL", "tr_TR.UTF-8"), ("TZ", "Pacific/Apia")][..],
            &[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8"), ("TZ", "America/St_Johns"), ("HOME", "/nonexistent")],
        ] {
            let other = run(&second.1, arguments, environment);
            assert_eq!(one, other, "{arguments:?} {environment:?}");
        }
        let threads = [&arguments[..], &["--threads", "3"]].concat();
        assert_eq!(one, run(&second.1, &threads, &[]), "{arguments:?}");
        answers.push(one);
    }
    std::fs::rename(second.1.join(".git"), first.path().join(".git")).expect("moved back");
    for (arguments, answer) in commands.iter().zip(&answers) {
        assert_eq!(answer, &run(first.path(), arguments, &[]), "{arguments:?} at another place");
    }
}

/// A release of a chart that lies in a store.
const RELEASE: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: apps}
spec: {interval: 1h, url: 'https://charts.example.com/stable'}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: NAME, namespace: apps}
spec: {interval: 1h, chart: {spec: {chart: NAME, version: 1.2.3, sourceRef: {kind: HelmRepository, name: charts}}}}
";

#[test]
#[cfg(target_os = "linux")]
fn stores_of_charts_are_read_without_a_socket_and_without_helm() {
    let works = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    if !works.is_ok_and(|status| status.success()) {
        skip!("strace does not run here");
    }
    let scratch = Scratch::git(&[(".forebay.yaml", "version: 1\ncharts: [configured]\n")]);
    // One release of each store, and one of none.
    for (name, store) in
        [("own", ".forebay/charts"), ("configured", "configured"), ("given", "given"), ("none", "")]
    {
        scratch.write(&format!("apps/{name}.yaml"), RELEASE.replace("NAME", name).as_bytes());
        if !store.is_empty() {
            scratch.write(
                &format!("{store}/{name}.tgz"),
                &crate::chart_stores::archive(name, "1.2.3", "a: 1\n"),
            );
        }
    }
    scratch.commit("all");
    for arguments in [
        &["lint"][..],
        &["plan", "--base", "HEAD"],
        &["build", "--all"],
        &["chart", "list"],
        &["chart", "verify"],
        &["chart", "pull", "--dry-run"],
        &["lsp"],
        &["mcp"],
    ] {
        let line = [arguments, &["--charts", "given"]].concat();
        let log = trace(&scratch, &line);
        for line in log.lines() {
            let call = line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ');
            let name = call.split('(').next().unwrap_or_default();
            let is_net = matches!(name, "socket" | "connect" | "sendto" | "bind" | "accept");
            assert!(!is_net, "{arguments:?}: {line}");
            let is_other = name == "execve" && !call.contains("/git\"") && !call.contains("/forebay\"");
            assert!(!is_other || !call.ends_with("= 0"), "{arguments:?}: {line}");
            assert!(!call.contains("/helm\""), "{arguments:?}: {line}");
        }
        let serves = matches!(arguments[0], "lsp" | "mcp");
        for archive in ["own.tgz", "configured.tgz", "given.tgz"].iter().filter(|_| !serves) {
            assert!(log.contains(archive), "{arguments:?} does not read {archive}");
        }
    }
}
