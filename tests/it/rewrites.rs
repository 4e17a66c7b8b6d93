//! `lint --fix` and `--diff` on files: what is written, what is refused, and
//! that a run killed at any moment leaves whole files.

use crate::support::scratch::{Scratch, forebay};
use crate::support::skip::skip;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lang::yaml::WorkPath;
use forebay::internals::report::diff::{self, Look};
use forebay::internals::rewrite::FileChange;
use forebay::internals::rewrite::write::write;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

const BAD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  port: 8080 # p\n";
const GOOD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  port: \"8080\" # p\n";

fn fixed(text: &str) -> String {
    let scratch = Scratch::new(&[("a.yaml", text)]);
    scratch.forebay(&["lint", "--fix"]);
    scratch.read("a.yaml")
}

#[test]
fn fixes_change_their_bytes_and_no_others() {
    let crlf = |text: &str| text.replace('\n', "\r\n");
    let bom = |text: &str| format!("\u{feff}{text}");
    let unfinished = |text: &str| text.trim_end().to_owned();
    assert_eq!(fixed(BAD), GOOD);
    assert_eq!(fixed(&crlf(BAD)), crlf(GOOD));
    assert_eq!(fixed(&bom(BAD)), bom(GOOD));
    assert_eq!(fixed(&unfinished(BAD)), unfinished(GOOD));
}

#[test]
fn a_diff_is_shown_and_nothing_written() {
    let scratch = Scratch::new(&[("a.yaml", BAD)]);
    let run = scratch.forebay(&["lint", "--diff"]);
    assert_eq!(run.code, 1, "{}", run.err);
    assert_eq!(
        run.out,
        "--- a.yaml\n+++ a.yaml\n@@ -3,4 +3,4 @@\n metadata:\n   name: a\n data:\n-  port: 8080 # p\n+  port: \"8080\" # p\n"
    );
    assert!(run.err.contains("would fix 1 finding in 1 file: 1 non-string-metadata-value"), "{}", run.err);
    assert_eq!(scratch.read("a.yaml"), BAD);
    assert_eq!(scratch.forebay(&["lint", "--fix"]).code, 0);
    let again = scratch.forebay(&["lint", "--diff"]);
    assert_eq!((again.code, again.out.as_str()), (0, ""));
}

#[test]
fn secrets_are_masked_in_diffs() {
    let text = BAD.replace("ConfigMap", "Secret").replace("\ndata:", "\n  labels:\n    v: 1\nstringData:");
    let scratch = Scratch::new(&[("a.yaml", &text)]);
    let run = scratch.forebay(&["lint", "--diff"]);
    assert!(run.out.contains("port: ****") && !run.out.contains("8080"), "{}", run.out);
}

#[test]
fn standard_input_goes_on_fixed() {
    let scratch = Scratch::new(&[("b.yaml", GOOD)]);
    let run = scratch.forebay_with(&["lint", "--fix", "--stdin-filename", "a.yaml"], &[], BAD.as_bytes());
    assert_eq!(run.out, GOOD, "{}", run.err);
    assert_eq!(run.code, 0);
}

#[test]
fn generated_and_signed_files_stay() {
    let generated = format!("# Code generated. DO NOT EDIT.\n{BAD}");
    assert_eq!(fixed(&generated), generated);
    let signed = format!("{BAD}sops:\n  mac: ENC[x]\n  version: 3.9.0\n");
    let scratch = Scratch::new(&[("a.yaml", &signed)]);
    let run = scratch.forebay(&["lint", "--fix"]);
    assert_eq!(scratch.read("a.yaml"), signed);
    assert!(run.err.contains("any change breaks its MAC"), "{}", run.err);
    let clear = format!("{BAD}sops:\n  mac: ENC[x]\n  mac_only_encrypted: true\n");
    assert!(fixed(&clear).starts_with(GOOD));
}

#[cfg(unix)]
#[test]
fn modes_stay_and_links_are_not_followed() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new(&[("a.yaml", BAD)]);
    let path = scratch.path().join("a.yaml");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::write(scratch.path().join("real.txt"), BAD).unwrap();
    std::os::unix::fs::symlink("real.txt", scratch.path().join("link.yaml")).unwrap();
    scratch.forebay(&["lint", "--fix"]);
    assert_eq!(scratch.read("a.yaml"), GOOD);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(scratch.read("real.txt"), BAD);
    assert!(std::fs::symlink_metadata(scratch.path().join("link.yaml")).unwrap().is_symlink());

    std::fs::write(&path, BAD).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o440)).unwrap();
    let run = scratch.forebay(&["lint", "--fix"]);
    assert_eq!(run.code, 3);
    assert!(run.err.contains("a.yaml: the file is read-only; make it writable first"), "{}", run.err);
    assert_eq!(scratch.read("a.yaml"), BAD);
}

/// Killed at random points of the work; `FOREBAY_KILLS` sets how often.
#[test]
fn a_killed_run_leaves_whole_files() {
    let kills: usize = std::env::var("FOREBAY_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(6);
    let files: Vec<String> = (0..200).map(|n| format!("d{}/f{n}.yaml", n % 7)).collect();
    let texts: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), BAD)).collect();
    let scratch = Scratch::new(&texts);
    let mut written: Vec<&String> = files.iter().collect();
    // In the order in which they are written.
    written.sort();
    let temporary = || -> Vec<_> {
        let directories = (0..7).map(|n| std::fs::read_dir(scratch.path().join(format!("d{n}"))).unwrap());
        directories
            .flat_map(|entries| entries.flatten().map(|entry| entry.file_name().into_string().unwrap()))
            .filter(|name| name.starts_with(".forebay-"))
            .collect()
    };
    let (mut before, mut staging, mut between) = (0, 0, 0);
    for round in 0..kills {
        for file in &files {
            scratch.write(file, BAD.as_bytes());
        }
        let mut child = forebay()
            .current_dir(scratch.path())
            .args(["lint", "--fix", "--quiet"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A third each: at any time before a file is touched, among so many
        // temporary files, among so many new ones.
        let point = round * 61 % 190;
        let arrived = || match round % 3 {
            0 => true,
            1 => temporary().len() > point,
            _ => scratch.read(written[point]) == GOOD,
        };
        if round % 3 == 0 {
            std::thread::sleep(Duration::from_micros(500 * point as u64));
        }
        while !arrived() && child.try_wait().unwrap().is_none() {}
        let _ = child.kill();
        let _ = child.wait();
        let new = files.iter().filter(|file| match scratch.read(file) {
            text if text == BAD => false,
            text if text == GOOD => true,
            text => panic!("{file} is neither old nor new: {text:?}"),
        });
        match (new.count(), temporary().len()) {
            (0, 0) => before += 1,
            (0, _) => staging += 1,
            (1..200, _) => between += 1,
            _ => {}
        }
        let again = scratch.forebay(&["lint", "--fix", "--quiet"]);
        assert_eq!(again.code, 0, "{}", again.err);
        for file in &files {
            assert_eq!(scratch.read(file), GOOD, "{file}");
        }
        assert_eq!(temporary(), Vec::<String>::new());
    }
    println!(
        "{kills} kills: {before} before the first byte, {staging} among the temporary files, \
         {between} among the new ones"
    );
    assert!(staging + between > 0, "no kill hit the writing");
}

/// What a killed run left goes with the next write of its directory, and nothing else.
#[cfg(unix)]
#[test]
fn leftovers_of_dead_writers_go_after_an_hour() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let dead = child.id();
    child.wait().unwrap();
    let name = |process: u32| format!(".forebay-0123456789abcdef-{process}-0.tmp");
    let two_hours_ago = std::time::SystemTime::now() - Duration::from_secs(7200);
    let alive = std::process::id();
    for (name, is_old, stays) in [
        (name(dead), true, false),
        (name(dead), false, true),
        (name(alive), true, true),
        (name(1), true, true),
        (name(0), true, true),
        (format!(".forebay-{dead}-0.tmp"), true, true),
        (format!(".forebay-0123456789abcdeg-{dead}-0.tmp"), true, true),
        (format!(".forebay-0123456789abcdef-{dead}-0-1.tmp"), true, true),
        (format!(".forebay-0123456789abcdef-{dead}-.tmp"), true, true),
        (format!("forebay-0123456789abcdef-{dead}-0.tmp"), true, true),
    ] {
        for arguments in [&["lint", "--fix"][..], &["lint", "--output-file", "json=d/report.json"]] {
            let scratch = Scratch::new(&[("d/a.yaml", BAD), ("e/a.yaml", GOOD)]);
            for directory in ["d", "e"] {
                let path = scratch.write(&format!("{directory}/{name}"), b"half of a file");
                if is_old {
                    let file = std::fs::File::options().write(true).open(&path).unwrap();
                    file.set_modified(two_hours_ago).unwrap();
                }
            }
            scratch.forebay(arguments);
            let is_there = |directory: &str| scratch.path().join(directory).join(&name).exists();
            assert_eq!(is_there("d"), stays, "{name} {is_old} {arguments:?}");
            assert!(is_there("e"), "nothing is written there: {name}");
        }
    }
    // A directory or a link of such a name is nobody's leftover.
    let scratch = Scratch::new(&[("a.yaml", BAD), ("other", "text")]);
    let (link, directory) = (name(dead), format!(".forebay-0123456789abcdef-{dead}-1.tmp"));
    std::os::unix::fs::symlink("other", scratch.path().join(&link)).unwrap();
    std::fs::create_dir(scratch.path().join(&directory)).unwrap();
    scratch.forebay(&["lint", "--fix"]);
    assert_eq!(scratch.read("a.yaml"), GOOD);
    assert!(std::fs::symlink_metadata(scratch.path().join(link)).is_ok());
    assert!(scratch.path().join(directory).is_dir());
    assert_eq!(scratch.read("other"), "text");
}

/// Each file is whole at any moment, and one of the two goes on where the other was first.
#[test]
fn two_writers_at_once_leave_whole_files() {
    let files: Vec<String> = (0..60).map(|n| format!("d{}/f{n}.yaml", n % 3)).collect();
    let texts: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), BAD)).collect();
    let scratch = Scratch::new(&texts);
    for round in 0..4 {
        for file in &files {
            scratch.write(file, BAD.as_bytes());
        }
        let start = || {
            forebay()
                .current_dir(scratch.path())
                .args(["lint", "--fix", "--quiet"])
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        };
        let mut writers = [start(), start()];
        while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
            for file in &files {
                let text = scratch.read(file);
                assert!(text == BAD || text == GOOD, "{round} {file}: {text:?}");
            }
        }
        for writer in writers {
            let output = writer.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            // Whoever finds that a file was changed meanwhile says so, and touches it not.
            let refused = output.status.code() == Some(3) && told.contains("was changed since it was read");
            assert!(refused || output.status.success(), "{round} {}: {told}", output.status);
        }
        assert_eq!(scratch.forebay(&["lint", "--fix", "--quiet"]).code, 0);
        for file in &files {
            assert_eq!(scratch.read(file), GOOD, "{round} {file}");
        }
        let left: Vec<_> = (0..3)
            .flat_map(|n| std::fs::read_dir(scratch.path().join(format!("d{n}"))).unwrap().flatten())
            .map(|entry| entry.file_name().into_string().unwrap())
            .filter(|name| name.starts_with(".forebay-"))
            .collect();
        assert!(left.is_empty(), "{round} {left:?}");
    }
}

#[test]
fn summaries_tell_of_the_fixes_that_are_a_guess() {
    let guess = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n  annotations:\n    kustomize.toolkit.fluxcd.io/prune: 'false'\n";
    let scratch = Scratch::new(&[("a.yaml", BAD), ("b.yaml", guess)]);
    let plain = scratch.forebay(&["lint"]);
    assert!(plain.out.contains("\n1 fixable with --fix, 1 more with --fix=unsafe\n"), "{}", plain.out);
    let diff = scratch.forebay(&["lint", "--diff"]);
    assert!(diff.err.ends_with("left: 1 fixable with --fix=unsafe\n"), "{}", diff.err);
    let fix = scratch.forebay(&["lint", "--fix"]);
    assert!(fix.out.contains("\n1 fixable with --fix=unsafe\n"), "{}", fix.out);
    assert_eq!(scratch.read("b.yaml"), guess);
    let all = scratch.forebay(&["lint", "--fix=unsafe"]);
    assert_eq!(all.code, 0, "{}", all.out);
    assert!(!all.out.contains("fixable"), "{}", all.out);
    assert!(scratch.read("b.yaml").ends_with("prune: 'disabled'\n"));
}

#[test]
fn a_diff_of_secrets_can_be_applied_when_they_are_shown() {
    let text =
        BAD.replace("ConfigMap", "Secret").replace("\ndata:", "\nstringData:").replace("8080", "480813571");
    let scratch = Scratch::new(&[("a.yaml", &text)]);
    let run = scratch.forebay(&["lint", "--diff"]);
    assert!(!run.out.contains("480813571") && run.out.contains("-  port: *********"), "{}", run.out);
    // Nor does any other format show it.
    for format in ["full", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "html"] {
        let run = scratch.forebay(&["lint", "--format", format]);
        assert!(!run.out.contains("480813571"), "{format}");
    }
    let run = scratch.forebay(&["lint", "--diff", "--show-secrets"]);
    let patch = diffy::Patch::from_str(&run.out).unwrap();
    let patched = diffy::apply(&text, &patch).unwrap();
    scratch.forebay(&["lint", "--fix"]);
    assert_eq!(scratch.read("a.yaml"), patched);
    assert_eq!(patched, text.replace("480813571", "\"480813571\""));
}

/// The limit on the size of files stands for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_all_files_as_they_are() {
    let large = format!("{BAD}  text: |\n{}", "    filler, filler, filler, filler, filler\n".repeat(4000));
    let scratch = Scratch::new(&[("a.yaml", BAD), ("b/large.yaml", &large), ("c.yaml", BAD)]);
    let binary = env!("CARGO_BIN_EXE_forebay");
    let output = std::process::Command::new("sh")
        .current_dir(scratch.path())
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" lint --fix", binary])
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{err}");
    assert!(err.contains("b/large.yaml: a new file can't be written beside it"), "{err}");
    assert!(err.contains("no file was changed"), "{err}");
    for (file, text) in [("a.yaml", BAD), ("b/large.yaml", &*large), ("c.yaml", BAD)] {
        assert_eq!(scratch.read(file), text, "{file}");
    }
    let names = walk(scratch.path());
    assert_eq!(names, ["a.yaml", "b", "b/large.yaml", "c.yaml"]);
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_leaves_all_files_as_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new(&[("a.yaml", BAD), ("b/b.yaml", BAD)]);
    let directory = scratch.path().join("b");
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o555)).unwrap();
    if std::fs::write(directory.join("probe"), "").is_ok() {
        skip!("nothing is read-only for root");
    }
    let run = scratch.forebay(&["lint", "--fix"]);
    std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(run.code, 3);
    assert!(run.err.contains("b/b.yaml: a new file can't be written beside it"), "{}", run.err);
    assert_eq!((scratch.read("a.yaml"), scratch.read("b/b.yaml")), (BAD.to_owned(), BAD.to_owned()));
}

/// Several runs at once: each file is whole, and in the end the right one.
#[test]
fn runs_at_the_same_time_do_not_harm_each_other() {
    let files: Vec<String> = (0..60).map(|n| format!("d{}/f{n}.yaml", n % 3)).collect();
    let texts: Vec<(&str, &str)> = files.iter().map(|file| (file.as_str(), BAD)).collect();
    let scratch = Scratch::new(&texts);
    let start = || {
        forebay()
            .current_dir(scratch.path())
            .args(["lint", "--fix", "--quiet"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut runs: Vec<_> = (0..4).map(|_| start()).collect();
    for run in &mut runs {
        run.wait().unwrap();
    }
    for file in &files {
        let text = scratch.read(file);
        assert!(text == BAD || text == GOOD, "{file}: {text}");
    }
    let last = scratch.forebay(&["lint", "--fix"]);
    assert_eq!(last.code, 0, "{}", last.err);
    for file in &files {
        assert_eq!(scratch.read(file), GOOD);
    }
    assert_eq!(walk(scratch.path()).len(), files.len() + 3);
}

fn walk(root: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            names.push(entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned());
            if entry.path().is_dir() {
                open.push(entry.path());
            }
        }
    }
    names.sort();
    names
}

/// Wherever the value of a Secret may stand beside a line that is changed.
#[test]
fn secrets_are_masked_wherever_they_stand() {
    let odd = "metadata:\n  name: a\n";
    let secret = format!("apiVersion: v1\nkind: Secret\n{odd}");
    let overlay = format!("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{odd}");
    let flux = format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n{odd}spec:\n  interval: 1m\n  \
         prune: false\n  sourceRef: {{kind: GitRepository, name: a}}\n"
    );
    let applied = "    kubectl.kubernetes.io/last-applied-configuration: '{\"data\":{\"k\":\"HIDDEN\"}}'\n";
    let strategic =
        "kind: Secret\n      apiVersion: v1\n      metadata: {name: a}\n      stringData: {k: HIDDEN}\n";
    for text in [
        format!("{secret}stringData: {{k: HIDDEN}}\n"),
        format!("{secret}data:\n  k: |\n    HIDDEN\n    HIDDEN\n"),
        format!("{secret}data: &d\n  k: HIDDEN\nstringData: *d\n"),
        format!("{secret}  annotations:\n{applied}data: {{}}\n"),
        format!(
            "{secret}sops:\n  mac: ENC[x]\n  mac_only_encrypted: true\ndata:\n  k: ENC[AES256_GCM,data:HIDDEN,type:str]\n"
        ),
        format!(
            "apiVersion: v1\nkind: List\nitems:\n- {}",
            secret.replace('\n', "\n  ") + "data: {k: HIDDEN}\n"
        ),
        format!("{overlay}secretGenerator:\n- name: a\n  literals:\n  - k=HIDDEN\n  - 'l=HIDDEN'\n"),
        format!("{overlay}patches:\n- patch: |\n      {strategic}"),
        format!(
            "{overlay}patches:\n- target: {{kind: Secret}}\n  patch: |\n    - op: add\n      path: /data/k\n      value: HIDDEN\n"
        ),
        format!(
            "{overlay}patches:\n- patch: '[{{\"op\": \"add\", \"path\": \"/stringData/k\", \"value\": \"HIDDEN\"}}]'\n"
        ),
        format!("{overlay}patchesStrategicMerge:\n- |\n      {strategic}"),
        format!("{flux}  patches:\n  - patch: |\n      {strategic}"),
        format!(
            "{flux}  patchesStrategicMerge:\n  - kind: Secret\n    apiVersion: v1\n    metadata: {{name: a}}\n    data: {{k: HIDDEN}}\n"
        ),
    ] {
        let name = if text.contains("config.k8s.io") { "kustomization.yaml" } else { "a.yaml" };
        // The change is on the line behind.
        let text = text + "z: {v: 1}\n";
        let before = Snapshot::memory([(name, text.clone().into_bytes())], Arc::new(Store::default()));
        let blob = before.blob(before.file(name).unwrap()).unwrap().clone();
        let change = FileChange {
            path: WorkPath::new(name).unwrap(),
            before: blob,
            after: text.replace("{v: 1}", "{v: '1'}"),
        };
        let after = before.with_file(name, change.after.clone().into_bytes());
        let shown = |secrets: bool| {
            let mut out = Vec::new();
            let look = Look { color: false, secrets };
            diff::write(&mut out, &before, &after, std::slice::from_ref(&change), look).unwrap();
            String::from_utf8(out).unwrap()
        };
        let masked = shown(false);
        assert!(masked.contains("+z: {v: "), "{masked}");
        assert!(masked.contains("****") && !masked.contains("HIDDEN"), "{masked}");
        assert!(shown(true).contains("HIDDEN"));
    }
}

/// What changes on disk between reading and writing is nobody's to overwrite.
#[test]
fn files_that_change_meanwhile_stay() {
    let scratch = Scratch::new(&[("a.yaml", BAD), ("b.yaml", BAD)]);
    let snapshot = Snapshot::work_tree(scratch.path(), Arc::new(Store::default())).unwrap();
    let changes = ["a.yaml", "b.yaml"].map(|path| FileChange {
        path: WorkPath::new(path).unwrap(),
        before: snapshot.blob(snapshot.file(path).unwrap()).unwrap().clone(),
        after: GOOD.to_owned(),
    });
    scratch.write("b.yaml", b"mine: now\n");
    let refusals = write(scratch.path(), &changes).unwrap_err();
    assert_eq!(refusals.len(), 1);
    assert_eq!(
        (&*refusals[0].path, &*refusals[0].message, &*refusals[0].help),
        ("b.yaml", "the file was changed since it was read", "run again")
    );
    assert_eq!((scratch.read("a.yaml"), scratch.read("b.yaml")), (BAD.to_owned(), "mine: now\n".to_owned()));
    std::fs::remove_file(scratch.path().join("b.yaml")).unwrap();
    let refusals = write(scratch.path(), &changes).unwrap_err();
    assert!(refusals[0].message.starts_with("it can't be read"), "{refusals:?}");
    assert_eq!(scratch.read("a.yaml"), BAD);
}

#[test]
fn templates_stay() {
    for (name, text) in [
        ("chart/templates/a.yaml", BAD.to_owned()),
        ("a.yaml", format!("{{{{- if .Values.x }}}}\n{BAD}{{{{- end }}}}\n")),
    ] {
        let scratch = Scratch::new(&[("chart/Chart.yaml", "name: c\nversion: 1.0.0\n"), (name, &text)]);
        let run = scratch.forebay(&["lint", "--fix"]);
        assert_eq!(scratch.read(name), text, "{}", run.out);
    }
}
