//! Living with old findings: a baseline holds what they are about, not where
//! they stand.

use crate::support::scratch::Scratch;

const APPS: &str = r#"apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata:
  name: on-call
  namespace: flux-system
  labels:
    contact: sre@example.com
  annotations:
    events.toolkit.fluxcd.io/image: podinfo:6.5.4
spec:
  providerRef: {name: slack}
  eventSources:
    - kind: Kustomization
      name: "*"
    - kind: HelmRelease
      name: pod*
    - kind: HelmRelease
      name: app*
"#;

/// Findings that are new against the baseline, and the exit code.
fn new(scratch: &Scratch) -> (Vec<String>, i32) {
    let arguments =
        ["lint", "--baseline", "b.json", "--fail-on", "warning", "--format", "concise", "--quiet"];
    let run = scratch.forebay(&arguments);
    (run.out.lines().map(str::to_owned).collect(), run.code)
}

fn with_baseline() -> Scratch {
    let scratch = Scratch::new(&[("apps/alert.yaml", APPS)]);
    let run = scratch.forebay(&["lint", "--baseline", "b.json", "--update-baseline"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains(" in the baseline"), "{}", run.out);
    assert!(scratch.read("b.json").lines().count() >= 5, "{}", scratch.read("b.json"));
    assert_eq!(new(&scratch), (vec![], 0));
    scratch
}

#[test]
fn lines_above_are_nothing_new() {
    let scratch = with_baseline();
    let above = format!(
        "{}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x, namespace: y}}\n---\n",
        "# x\n".repeat(100)
    );
    scratch.write("apps/alert.yaml", (above + APPS).as_bytes());
    assert_eq!(new(&scratch), (vec![], 0));
}

#[test]
fn a_renamed_file_is_nothing_new() {
    let scratch = with_baseline();
    std::fs::remove_file(scratch.path().join("apps/alert.yaml")).expect("it exists");
    scratch.write("elsewhere/renamed.yml", APPS.as_bytes());
    assert_eq!(new(&scratch), (vec![], 0));
}

#[test]
fn reordered_items_are_nothing_new() {
    let scratch = with_baseline();
    let (head, items) = APPS.split_once("  eventSources:\n").expect("written above");
    let mut items: Vec<&str> = items.split_inclusive("*\"\n").flat_map(|part| part.split("    - ")).collect();
    items.retain(|item| !item.trim().is_empty());
    items.reverse();
    let items: String = items.iter().map(|item| format!("    - {}\n", item.trim_end())).collect();
    scratch.write("apps/alert.yaml", format!("{head}  eventSources:\n{items}").as_bytes());
    assert_eq!(new(&scratch), (vec![], 0));
}

#[test]
fn another_finding_is_new() {
    let scratch = with_baseline();
    scratch.write("apps/alert.yaml", APPS.replace("sre@example.com", "dev@example.com").as_bytes());
    let (found, code) = new(&scratch);
    assert_eq!((found.len(), code), (1, 1), "{found:?}");
    assert!(found[0].contains("malformed-label-value"), "{found:?}");
    // The same fault of the same object once more is one more.
    scratch.write("apps/alert.yaml", APPS.as_bytes());
    scratch.write("apps/copy.yaml", APPS.as_bytes());
    assert_eq!(new(&scratch).1, 1);
}

#[test]
fn what_is_fixed_can_be_pruned_and_nothing_is_added() {
    let scratch = with_baseline();
    let before = scratch.read("b.json");
    let fixed = APPS.replace("sre@example.com", "sre").replace("events.toolkit", "evnets.toolkit");
    scratch.write("apps/alert.yaml", fixed.as_bytes());
    let run = scratch.forebay(&["lint", "--baseline", "b.json"]);
    assert!(run.out.contains("of the baseline gone (--prune-baseline)"), "{}", run.out);
    assert_eq!(scratch.read("b.json"), before);
    let run = scratch.forebay(&["lint", "--baseline", "b.json", "--prune-baseline"]);
    assert!(!run.out.contains("of the baseline gone"), "{}", run.out);
    let after = scratch.read("b.json");
    assert!(
        !after.contains("malformed-label-value") && after.lines().count() < before.lines().count(),
        "{after}"
    );
    scratch.write("apps/alert.yaml", APPS.as_bytes());
    assert_eq!(new(&scratch).1, 1);
}

#[test]
fn wrong_uses_are_told() {
    let scratch = with_baseline();
    scratch.write("other.json", b"{}");
    for (arguments, part) in [
        (&["lint", "--prune-baseline"][..], "--baseline FILE"),
        (&["lint", "--baseline", "missing.json"], "--update-baseline writes it"),
        (&["lint", "--baseline", "other.json"], "no baseline"),
        (&["lint", "apps", "--baseline", "b.json", "--update-baseline"], "without PATHs"),
        (&["lint", "--select", "metadata", "--baseline", "b.json", "--prune-baseline"], "without PATHs"),
    ] {
        let run = scratch.forebay(arguments);
        assert_eq!(run.code, 2, "{arguments:?}");
        assert!(run.err.contains(part), "{}", run.err);
    }
}
