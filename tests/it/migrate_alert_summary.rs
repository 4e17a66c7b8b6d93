//! `forebay migrate alert-summary` on files: what changes, and that nothing else
//! does.

use std::path::Path;
use std::process::{Command, Output};

const BEFORE: &str = "# on-call\r\napiVersion: notification.toolkit.fluxcd.io/v1beta3\r\nkind: Alert\r\nmetadata: {name: on-call, namespace: flux-system}\r\nspec:\r\n    providerRef:   {name: chat}\r\n    summary: 'ghcr.io/x:1'   # {\"$imagepolicy\": \"flux-system:x\"}\r\n\r\n    # all of them\r\n    eventSources:\r\n      - kind: Kustomization\r\n        name: \"*\"\r\n---\r\nkind: Other   # untouched\r\nsummary: stays";

fn migrate(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_forebay"))
        .args(["migrate", "alert-summary", "--root"])
        .arg(root)
        .args(arguments)
        .output()
        .expect("the command runs")
}

#[test]
fn one_line_becomes_two_and_the_rest_stays() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let file = directory.path().join("alerts.yaml");
    std::fs::write(&file, BEFORE).expect("a writable directory");
    let read = || std::fs::read_to_string(&file).expect("the file");
    let line = "    summary: 'ghcr.io/x:1'   # {\"$imagepolicy\": \"flux-system:x\"}\r\n";
    let after = BEFORE.replace(line, &format!("    eventMetadata:\r\n    {line}"));

    let check = migrate(directory.path(), &["--check"]);
    assert_eq!(check.status.code(), Some(1));
    let diff = migrate(directory.path(), &["--diff"]);
    assert_eq!(diff.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&diff.stdout).contains("+    eventMetadata:"), "{diff:?}");
    assert_eq!(read(), BEFORE, "--check and --diff write nothing");

    let written = migrate(directory.path(), &[]);
    assert_eq!(written.status.code(), Some(0), "{}", String::from_utf8_lossy(&written.stderr));
    assert_eq!(read(), after);
    let again = migrate(directory.path(), &["--check"]);
    assert_eq!(again.status.code(), Some(0), "{}", String::from_utf8_lossy(&again.stderr));
}

#[test]
fn what_would_change_the_winner_is_left() {
    let directory = tempfile::TempDir::new().expect("a temporary directory");
    let write = |path: &str, text: &str| {
        let file = directory.path().join(path);
        std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
        std::fs::write(file, text).expect("a writable directory");
    };
    let alert = "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata:\n  name: on-call\n  namespace: flux-system\nspec:\n";
    write("base/kustomization.yaml", "resources: [alert.yaml]\n");
    let base =
        format!("{alert}  providerRef:\n    name: chat\n  summary: from the base\n  eventSources: []\n");
    write("base/alert.yaml", &base);
    write("overlay/kustomization.yaml", "resources: [../base]\npatches: [{path: patch.yaml}]\n");
    write("overlay/patch.yaml", &format!("{alert}  eventMetadata:\n    summary: of the overlay\n"));
    let output = migrate(directory.path(), &[]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("left: base/alert.yaml:9"), "{error}");
    let text = std::fs::read_to_string(directory.path().join("base/alert.yaml")).expect("the file");
    assert_eq!(text, base);
}
