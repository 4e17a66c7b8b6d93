//! A plan as a comment of a pull request: GitHub takes 65,536 characters. What does not
//! fit is folded and then counted, the least first.

use crate::support::random::Random;
use forebay::internals::config::{Config, Level};
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lint::engine::{self, LintOptions, NotChecked};
use forebay::internals::model::Unchecked;
use forebay::internals::plan::{plan, reach};
use forebay::internals::report::plan::{Plan, markdown};
use forebay::internals::world::World;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What GitHub takes.
const MOST: usize = 65_536;

type Files = BTreeMap<String, String>;

/// A fleet of some clusters with some objects each, before and after a change of every
/// object. No two objects change alike, so that no line stands for two.
fn fleet(clusters: usize, objects: usize, random: &mut Random) -> (Files, Files) {
    let (mut base, mut head) = (Files::new(), Files::new());
    let long = |random: &mut Random| "long".repeat(random.below(12) + 1);
    for cluster in 0..clusters {
        let name = format!("cluster-{cluster:02}");
        let sync = format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\n\
             metadata: {{name: flux-system, namespace: flux-system}}\n\
             spec: {{interval: 1m, url: https://example.com/fleet}}\n---\n\
             apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
             metadata: {{name: flux-system, namespace: flux-system}}\n\
             spec:\n  interval: 10m\n  path: ./clusters/{name}\n  prune: true\n\
             \x20 sourceRef: {{kind: GitRepository, name: flux-system}}\n"
        );
        for files in [&mut base, &mut head] {
            files.insert(format!("clusters/{name}/flux-system/gotk-sync.yaml"), sync.clone());
        }
        for number in 0..objects {
            let object = format!("app-{cluster}-{number}-{}", long(random));
            let path = format!("clusters/{name}/{object}.yaml");
            let one = match random.below(4) {
                0 => format!("apiVersion: v1\nkind: Namespace\nmetadata: {{name: {object}}}\n"),
                1 => format!(
                    "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: {object}, namespace: apps}}\n\
                     spec: {{accessModes: [ReadWriteOnce], resources: {{requests: {{storage: {}Gi}}}}}}\n",
                    number + 2
                ),
                2 => format!(
                    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {object}, namespace: apps}}\n\
                     spec:\n  replicas: 2\n  selector: {{matchLabels: {{app: {object}}}}}\n  template:\n\
                     \x20   metadata: {{labels: {{app: {object}}}}}\n\
                     \x20   spec: {{containers: [{{name: app, image: \"example.com/{object}:1.0\"}}]}}\n"
                ),
                _ => format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {object}, namespace: apps}}\n\
                     data: {{key: {object}}}\n"
                ),
            };
            // What is refused keeps all that is beside it from being applied.
            let is_refused = cluster % 8 == 0 && number % 16 == 0;
            let other = match random.below(3) {
                0 => None,
                _ if one.contains("Namespace\n") => None,
                _ if is_refused => Some(one.replace("{app: ", "{web: ").replace("Gi", "Mi")),
                _ => Some(
                    one.replace(":1.0", ":2.0").replace("data: {key", "data: {other").replace("Gi", "00Gi"),
                ),
            };
            if let Some(other) = other {
                head.insert(path.clone(), other);
            }
            base.insert(path, one);
        }
    }
    (base, head)
}

fn world(files: &Files, store: &Arc<Store>) -> World {
    let bytes = files.iter().map(|(path, text)| (path.as_str(), text.clone().into_bytes()));
    World::new(&Arc::new(Snapshot::memory(bytes, store.clone())), &Config::default(), &[])
}

/// The comment, and how many effects there are.
fn comment(base: &World, head: &World) -> (String, usize) {
    let (config, options) = (Config::default(), LintOptions::default());
    let effects = plan(base, head);
    let found = engine::run(head, &config, &options);
    let before = engine::run(base, &config, &options);
    let reach = reach(base, head, &effects);
    let mut not_checked = NotChecked::default();
    not_checked.add(Unchecked::KindWithoutSchema, "example.com/v1 Widget");
    let text = markdown(&Plan {
        base: "base",
        head: "head",
        base_world: base,
        head_world: head,
        effects: &effects,
        changes: &[],
        assumed: None,
        new_findings: found.findings.iter().collect(),
        fixed_findings: before.findings.iter().collect(),
        not_checked: &not_checked,
        reach: &reach,
        clusters: &[],
        show: Level::Info,
        at: None,
    });
    (text, effects.len())
}

fn numbers_before(text: &str, words: &str) -> usize {
    let before = text.split(words).next().expect("a beginning");
    let digits =
        before.trim_end().rsplit(|c: char| !c.is_ascii_digit() && c != ',').next().unwrap_or_default();
    digits.replace(',', "").parse().unwrap_or(0)
}

#[test]
fn a_comment_of_a_large_change_fits() {
    for (seed, clusters, objects) in [(1, 40, 75), (2, 3, 4), (3, 12, 20)] {
        let (base, head) = fleet(clusters, objects, &mut Random(seed));
        let store = Arc::new(Store::default());
        let (text, effects) = comment(&world(&base, &store), &world(&head, &store));
        let count = text.chars().count();
        assert!(count <= MOST, "{count} characters of {effects} effects");
        assert_eq!(text.matches("<details>").count(), text.matches("</details>").count(), "{text}");
        assert_eq!(text.matches("Not checked: 1 kind without schema").count(), 1);
        // The worst stands first, and what is left out is no worse than what is there.
        let marks: Vec<bool> = text
            .lines()
            .filter(|line| line.starts_with("| 🔴") || line.starts_with("| 🟡"))
            .map(|line| line.starts_with("| 🔴"))
            .collect();
        assert!(!marks.is_empty() && marks.is_sorted_by(|one, next| one >= next), "{marks:?}");
        if effects > 1000 {
            assert!(effects > 2_500, "{effects} effects");
            assert!(count > MOST / 2, "{count} characters are few for {effects} effects");
            assert!(marks.iter().all(|is_worst| *is_worst), "{marks:?}");
        }
        let left_out = if text.contains("left out") { numbers_before(&text, " more line") } else { 0 };
        assert_eq!(left_out > 0, effects > 1000, "{left_out} of {effects}: {}", &text[text.len() - 600..]);
    }
}
