//! What operators read of simulators and rewriters, from outside, on layouts of
//! repositories as people have them.

use crate::support::scratch::Scratch;
use std::collections::BTreeSet;

const SOURCE: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://example.com/fleet}
";

const RELEASE: &str = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: web
  namespace: web
spec:
  interval: 1h
  chartRef: {kind: OCIRepository, name: web}
";

fn kustomization(path: &str) -> String {
    format!(
        "{SOURCE}---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: apps, namespace: flux-system}}
spec:
  interval: 10m
  path: {path}
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
"
    )
}

/// Two clusters whose overlays take one release from a base.
fn shared(overlay: &str) -> Scratch {
    Scratch::new(&[
        (".forebay.yaml", "clusters: [{name: a, path: clusters/a}, {name: b, path: clusters/b}]\n"),
        ("clusters/a/apps.yaml", &kustomization("./apps/a")),
        ("clusters/b/apps.yaml", &kustomization("./apps/b")),
        ("apps/a/kustomization.yaml", overlay),
        ("apps/b/kustomization.yaml", "resources:\n  - ../base\n"),
        ("apps/base/kustomization.yaml", "resources:\n  - release.yaml\n"),
        ("apps/base/release.yaml", RELEASE),
    ])
}

#[test]
fn suspend_writes_the_smallest_patch_and_resume_takes_it_back() {
    let overlays = [
        "resources:\n  - ../base\n",
        "resources:\n- ../base\n",
        "resources:\n  - ../base",
        "resources: [../base]\npatches:\n- target: {kind: HelmRelease}\n  patch: |\n    - op: add\n      path: /spec/timeout\n      value: 5m\n",
        "resources:\n    - ../base\npatches:\n    - patch: |-\n        apiVersion: helm.toolkit.fluxcd.io/v2\n        kind: HelmRelease\n        metadata:\n          name: web\n          namespace: web\n        spec:\n          timeout: 5m\n",
        "namespace: other\nresources:\n  - ../base\n",
        "namePrefix: my-\nresources:\n  - ../base\n# the end\n",
        "resources:\r\n  - ../base\r\n",
    ];
    for overlay in overlays {
        let scratch = shared(overlay);
        let object = if overlay.contains("namePrefix") { "hr/my-web" } else { "hr/web" };
        let run = scratch.forebay(&["suspend", object, "--cluster", "a", "--message", "INC-1", "--diff"]);
        assert_eq!(run.code, 0, "{overlay}: {}", run.err);
        assert!(run.out.contains("+++ apps/a/kustomization.yaml"), "{overlay}: {}", run.out);
        assert_eq!(scratch.read("apps/a/kustomization.yaml"), overlay, "--diff writes nothing");
        let run = scratch.forebay(&["suspend", object, "--cluster", "a", "--message", "INC-1"]);
        assert_eq!(run.code, 0, "{overlay}: {}", run.err);
        assert!(run.err.contains("changes nothing else"), "{}", run.err);
        assert_eq!(scratch.read("apps/base/release.yaml"), RELEASE);
        let states = scratch.forebay(&["simulate", "suspend", "--format", "json"]).json();
        let suspended: Vec<_> =
            states["objects"].as_array().unwrap().iter().filter(|o| o["suspended"] == true).collect();
        assert_eq!(suspended.len(), 1, "{overlay}: {suspended:?}");
        assert_eq!(suspended[0]["cluster"], "a");
        assert_eq!(suspended[0]["reason"], "INC-1", "{overlay}");
        let run = scratch.forebay(&["resume", object, "--cluster", "a"]);
        assert_eq!(run.code, 0, "{overlay}: {}", run.err);
        assert_eq!(scratch.read("apps/a/kustomization.yaml"), overlay);
    }
}

#[test]
fn a_field_that_suspend_wrote_goes_byte_for_byte() {
    for release in [RELEASE.to_owned(), format!("# head\n{RELEASE}"), RELEASE.replace('\n', "\r\n")] {
        let scratch = Scratch::new(&[
            (".forebay.yaml", "clusters: [{name: a, path: clusters/a}]\n"),
            ("clusters/a/release.yaml", &release),
        ]);
        assert_eq!(scratch.forebay(&["suspend", "hr/web", "-n", "web", "--message", "why"]).code, 0);
        assert!(scratch.read("clusters/a/release.yaml").contains("suspend: true # why"));
        let run = scratch.forebay(&["resume", "hr/web", "-n", "web"]);
        assert_eq!(run.code, 0, "{}", run.err);
        assert_eq!(scratch.read("clusters/a/release.yaml"), release);
    }
}

#[test]
fn no_wider_place_is_advised_where_two_clusters_build_one_overlay() {
    let scratch = shared("resources:\n  - ../base\n");
    scratch.write("clusters/b/apps.yaml", kustomization("./apps/a").as_bytes());
    let run = scratch.forebay(&["suspend", "hr/web", "--cluster", "a"]);
    assert_eq!(run.code, 2, "{}", run.out);
    assert!(run.err.contains("no text feeds it alone"), "{}", run.err);
    assert!(!run.err.contains("set it in"), "{}", run.err);
    assert_eq!(scratch.read("apps/base/release.yaml"), RELEASE);
}

#[test]
fn a_namespace_is_given_as_to_flux_and_kubectl() {
    let scratch = shared("resources:\n  - ../base\n");
    let run = |arguments: &[&str]| scratch.forebay(arguments);
    assert_eq!(run(&["locate", "hr/web", "-n", "web", "--cluster", "a"]).code, 0);
    assert_eq!(run(&["suspend", "hr/web", "-n", "elsewhere", "--cluster", "a", "--diff"]).code, 2);
    let both = run(&["suspend", "hr/web/web", "--namespace", "elsewhere", "--cluster", "a"]);
    assert!(both.err.contains("names namespace web, and -n elsewhere"), "{}", both.err);
}

#[test]
fn a_migration_leaves_what_it_cannot_change_and_does_the_rest() {
    let annotated = |name: &str, metadata: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
{metadata}
spec:
  interval: 1h
  chartRef: {{kind: OCIRepository, name: {name}}}
"
        )
    };
    let good = annotated(
        "good",
        "metadata:\n  name: good\n  namespace: web\n  annotations:\n    reconcile.fluxcd.io/suspended: why",
    );
    let anchored = annotated(
        "bad",
        "metadata:\n  name: bad\n  namespace: web\n  labels: &shared\n    reconcile.fluxcd.io/suspended: why\n  annotations: *shared",
    );
    let scratch = Scratch::new(&[
        (".forebay.yaml", "clusters: [{name: a, path: clusters/a}]\n"),
        ("clusters/a/good.yaml", &good),
        ("clusters/a/bad.yaml", &anchored),
    ]);
    let run = scratch.forebay(&["migrate", "suspend", "--to", "spec"]);
    assert_eq!(run.code, 1, "{}{}", run.out, run.err);
    assert!(run.err.contains("left: HelmRelease web/bad"), "{}", run.err);
    assert!(scratch.read("clusters/a/good.yaml").contains("suspend: true # why"), "{}", run.err);
    assert_eq!(scratch.read("clusters/a/bad.yaml"), anchored);
}

#[test]
fn what_is_not_resolved_stays_in_the_text_of_a_build() {
    let apps = kustomization("./apps").replace(
        "  prune: true\n",
        "  prune: true\n  postBuild:\n    substitute: {A: one}\n    substituteFrom: [{kind: Secret, name: vars}]\n",
    );
    let scratch = Scratch::new(&[
        (".forebay.yaml", "clusters: [{name: a, path: clusters/a}]\n"),
        ("clusters/a/apps.yaml", &apps),
        (
            "apps/config.yaml",
            "apiVersion: v1
kind: ConfigMap
metadata: {name: web, namespace: web}
data:
  both: ${A}-${B}
  known: ${A}
  whole: ${C}
  quoted: \"x ${D:=d} y\"
",
        ),
    ]);
    let run = scratch.forebay(&["build", "--kustomization", "apps"]);
    assert_eq!(run.code, 1, "{}", run.err);
    for line in ["  both: one-${B}", "  known: one", "  whole: ${C}", "  quoted: x ${D:=d} y"] {
        assert!(run.out.lines().any(|found| found == line), "{line}: {}", run.out);
    }
    assert!(!run.out.contains("$holes") && !run.out.contains("$unknown"), "{}", run.out);
    assert_eq!(run.err.matches("partial: ConfigMap web/web").count(), 3, "{}", run.err);
    let json = scratch.forebay(&["build", "--kustomization", "apps", "--format", "json"]);
    assert!(json.out.contains("$holes"), "JSON keeps the markers: {}", json.out);
    let located = scratch.forebay(&["locate", "ConfigMap/web/web", "data.quoted"]);
    assert!(located.out.starts_with("apps/config.yaml:8"), "{}{}", located.out, located.err);
}

#[test]
fn a_value_of_an_inline_patch_has_its_own_line() {
    let overlay = "resources:\n  - ../base\npatches:\n  - patch: |-\n      apiVersion: helm.toolkit.fluxcd.io/v2\n      kind: HelmRelease\n      metadata:\n        name: web\n      spec:\n        interval: 2h\n        values:\n          replicas: 3\n    target: {kind: HelmRelease}\n";
    let scratch = shared(overlay);
    for (pointer, line) in [("spec.interval", 10), ("/spec/values/replicas", 12)] {
        let run = scratch.forebay(&["locate", "hr/web/web", pointer, "--cluster", "a"]);
        let expected = format!("apps/a/kustomization.yaml:{line}:");
        assert!(run.out.contains(&expected), "{pointer}: {}{}", run.out, run.err);
    }
}

#[test]
fn a_load_restrictor_refuses_what_kustomize_refuses() {
    let scratch = Scratch::new(&[
        ("overlay/kustomization.yaml", "resources:\n  - ../base/release.yaml\n"),
        ("base/release.yaml", RELEASE),
    ]);
    let root = ["--root", "."];
    let open = scratch.forebay(&["build", "overlay", root[0], root[1]]);
    assert_eq!(open.code, 0, "{}", open.err);
    let closed = scratch.forebay(&["build", "overlay", root[0], root[1], "--load-restrictor", "root-only"]);
    assert_eq!(closed.code, 3, "{}", closed.out);
    assert!(scratch.forebay(&["build", "--help"]).out.contains("inside the root"));
}

fn gates(features: &str, gated: &str, more: &str) -> Scratch {
    Scratch::new(&[
        (".forebay.yaml", &format!("{features}clusters: [{{name: a, path: clusters/a}}]\n")),
        (
            "clusters/a/all.yaml",
            &format!(
                "apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata: {{name: sre, namespace: apps}}
spec: {{default: opened, window: 1m, interval: 10m}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: web, namespace: apps}}
spec:
  interval: 10m
  path: ./none
  prune: true
  sourceRef: {{kind: GitRepository, name: other}}
  gates: {gated}
{more}"
            ),
        ),
    ])
}

const AT: [&str; 2] = ["--at", "2026-03-26T10:00:00Z"];

#[test]
fn a_foreign_gate_is_not_the_own_one_and_repeats_count_once() {
    for (gated, waits, proceeds) in [
        ("[{name: sre}]", vec!["sre"], true),
        ("[{name: sre}, {name: sre}]", vec!["sre"], true),
        ("[{name: sre, namespace: apps}]", vec!["sre"], true),
        ("[{name: sre, namespace: flux-system}]", vec!["flux-system/sre"], false),
        ("[{name: sre}, {name: sre, namespace: flux-system}]", vec!["sre", "flux-system/sre"], false),
    ] {
        let scratch = gates("", gated, "");
        let run = scratch.forebay(&["simulate", "gates", "--format", "json", AT[0], AT[1]]);
        let object = &run.json()["objects"][0];
        let names: Vec<&str> =
            object["gates"].as_array().unwrap().iter().filter_map(serde_json::Value::as_str).collect();
        assert_eq!(names, waits, "{gated}");
        assert_eq!(object["proceeds"], proceeds, "{gated}: {object}");
    }
}

#[test]
fn a_receiver_may_name_a_gate_where_gates_are_enabled() {
    let receiver = "---
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: approve, namespace: apps}
spec:
  type: generic
  secretRef: {name: token}
  resources: [{kind: Gate, name: sre, apiVersion: gating.toolkit.fluxcd.io/v1alpha1}]
";
    for (features, refused) in [("", true), ("target: {features: {gates: enabled}}\n", false)] {
        let scratch = gates(features, "[{name: sre}]", receiver);
        let run = scratch.forebay(&[
            "lint",
            "--select",
            "wrong-reference-kind,missing-reference",
            "--format",
            "concise",
        ]);
        assert_eq!(run.out.contains("can't be a Gate"), refused, "{}{}", run.out, run.err);
        assert!(!run.out.contains("no known Gate"), "{}", run.out);
    }
}

/// The RFC gives a Gate the condition `Opened`; `Approved` and `Blocked` are of who waits.
#[test]
fn a_gate_has_a_condition_of_its_own() {
    let scratch = gates("target: {features: {gates: enabled}}\n", "[{name: sre}]", "");
    let why = |object: &str| scratch.forebay(&["simulate", "gates", AT[0], AT[1], object]).out;
    let gate = why("Gate/apps/sre");
    assert!(gate.contains("Condition Opened:"), "{gate}");
    assert!(!gate.contains("Approved") && !gate.contains("Blocked"), "{gate}");
    let alert = "---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all, namespace: apps}
spec: {providerRef: {name: chat}, eventSources: [], gates: [{name: sre}]}
";
    let scratch = gates("target: {features: {gates: enabled}}\n", "[{name: sre}]", alert);
    let out = scratch.forebay(&["simulate", "gates", AT[0], AT[1], "Alert/apps/all"]).out;
    assert_eq!(out, "Alert apps/all: proceeds; the proposal gates sources and syncs alone.\n");
}

/// Source: source-controller 1.2 `internal/controller/helmrepository_controller.go`,
/// `migrationToStatic`; kustomize-controller `Reconcile` looks at its own `spec.suspend`.
#[test]
fn a_static_repository_and_suspended_children_are_told_as_such() {
    let text = "apiVersion: source.toolkit.fluxcd.io/v1beta2
kind: HelmRepository
metadata: {name: oci, namespace: apps}
spec: {type: oci, url: \"oci://ghcr.io/x\", interval: 1h, suspend: true}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: apps}
spec: {interval: 1h, path: ./apps, prune: true, suspend: true, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: apps}
spec: {interval: 1h, url: https://github.com/example/fleet}
";
    let child = "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec: {interval: 1h, suspend: true, chartRef: {kind: OCIRepository, name: web}}
";
    for (flux, words) in [
        ("2.1", "its conditions are not renewed; its charts are pulled all the same"),
        ("2.2", "nothing is held back: of type oci it is static, and its charts are pulled all the same"),
    ] {
        let config = format!(
            "target: {{flux: \"{flux}\"}}\nclusters: [{{name: prod, path: clusters/prod}}]\n\
             sources: [{{kind: GitRepository, name: flux-system, namespace: apps, path: .}}]\n"
        );
        let scratch = Scratch::new(&[
            (".forebay.yaml", &config),
            ("clusters/prod/all.yaml", text),
            ("apps/web.yaml", child),
        ]);
        let out = scratch.forebay(&["simulate", "suspend"]).out.replace("\n    ", " ");
        assert!(out.contains(words), "{flux}: {out}");
        assert!(!out.contains("artifact stays served"), "{flux}: {out}");
        assert!(out.contains("its children are suspended as well"), "{flux}: {out}");
        assert!(!out.contains("keeps reconciling"), "{flux}: {out}");
    }
}

#[test]
fn gates_say_what_they_are_and_warn_of_short_windows() {
    let scratch = gates("", "[{name: sre}]", "");
    let text = scratch.forebay(&["simulate", "gates", AT[0], AT[1]]).out;
    assert!(text.starts_with("simulated as Flux 2.9"), "{text}");
    assert!(text.contains("longer than its window"), "{text}");
    assert!(text.contains("a proposal"), "{text}");
    let range = ["--from", "2026-03-26", "--to", "2026-03-27"];
    for (format, words) in
        [("svg", "no released Flux has gates"), ("mermaid", "a proposal that no released Flux has")]
    {
        let out = scratch
            .forebay(&["simulate", "gates", "--format", format, range[0], range[1], range[2], range[3]])
            .out;
        assert!(out.contains(words), "{format}: {out}");
    }
}

#[test]
fn objects_of_one_schedule_share_a_row() {
    let more: String = ["a", "b", "c"]
        .map(|name| {
            format!(
                "---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: apps}}
spec: {{interval: 10m, path: ./none, prune: true, sourceRef: {{kind: GitRepository, name: other}}, gates: [{{name: sre}}]}}
"
            )
        })
        .concat();
    let scratch = gates("", "[{name: sre}]", &more);
    let out = scratch.forebay(&["simulate", "gates", "--from", "2026-03-26", "--to", "2026-03-27"]).out;
    assert!(out.contains("and 3 more"), "{out}");
}

#[test]
fn cron_jobs_that_patch_suspend_are_read_or_counted() {
    let job = |command: &str| {
        format!(
            "---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: night, namespace: apps}}
spec:
  schedule: 0 22 * * *
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - name: kubectl
              image: bitnami/kubectl
              command: [sh, -c]
              args:
                - |
                  {command}
"
        )
    };
    let read = job("kubectl patch kustomization web --type merge -p '{\"spec\":{\"suspend\":true}}'");
    let scratch = gates("", "[{name: sre}]", &read);
    let out = scratch.forebay(&["simulate", "gates", AT[0], AT[1]]).out;
    assert!(out.contains("its suspension"), "suspended since 22:00: {out}");
    let unread = job("kubectl patch kustomization $WHICH --type merge -p '{\"spec\":{\"suspend\":true}}'");
    let scratch = gates("", "[{name: sre}]", &unread);
    let out = scratch.forebay(&["simulate", "gates", AT[0], AT[1]]).out;
    assert!(out.contains("not read") && out.contains("CronJob apps/night: kubectl patch"), "{out}");
    let json = scratch.forebay(&["simulate", "gates", "--format", "json", AT[0], AT[1]]).json();
    assert_eq!(json["notChecked"][0]["what"], "cronjob-command", "{json}");
}

#[test]
fn events_begin_with_what_each_alert_sends() {
    let scratch = Scratch::new(&[
        (".forebay.yaml", "target: {flux: \"2.9\"}\nclusters: [{name: a, path: clusters/a}]\n"),
        (
            "clusters/a/all.yaml",
            &format!(
                "{}---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {{name: status, namespace: web}}
spec: {{type: github, address: https://github.com/example/fleet}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {{name: status, namespace: web}}
spec:
  providerRef: {{name: status}}
  eventMetadata: {{a-key-that-is-longer-than-every-column-of-old: \"a value that is much longer than any column\"}}
  eventSources: [{{kind: HelmRelease, name: web}}]
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {{name: web, namespace: web}}
spec: {{interval: 1h, url: oci://example.com/web}}
",
                RELEASE.replace("  name: web\n", "  name: web\n  annotations: {event.toolkit.fluxcd.io/commit: abc}\n")
            ),
        ),
    ]);
    let out = scratch.forebay(&["simulate", "events"]).out;
    let lines: Vec<&str> = out.lines().collect();
    let head = lines.iter().position(|line| line.trim_start().starts_with("ALERT ")).expect("a table");
    assert!(head < 4 && lines[head + 1].contains("web/status"), "{out}");
    assert!(out.contains("a value that is much longer than any column"), "values are whole: {out}");
    let flat = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("context helmrelease/web/<uid of the Provider>, name helmrelease/web"), "{out}");
    let near = scratch.forebay(&["simulate", "events", "--object", "OCIRepository/web/web"]).out;
    let near = near.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(near.contains("no alert wants it; nearest is Alert web/status"), "{near}");
}

#[test]
fn proposals_name_tests_that_exist() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/proposals.md")).unwrap();
    let mut names = BTreeSet::new();
    for line in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| proposal")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let verified = cells.last().unwrap().trim();
        assert_eq!(cells.len(), 5, "{line}");
        assert!(!verified.is_empty(), "{line}");
        names.extend(verified.split('`').skip(1).step_by(2).filter(|name| name.contains("::")));
    }
    assert!(names.len() > 30, "{names:?}");
    for name in names {
        let (module, test) = name.rsplit_once("::").unwrap();
        let file = match module.strip_prefix("simulate::") {
            Some(inner) => {
                let path = root.join("src/simulate").join(inner.replace("::", "/"));
                if path.is_dir() { path.join("mod.rs") } else { path.with_extension("rs") }
            }
            None => root.join(format!("tests/it/{module}.rs")),
        };
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(text.contains(&format!("fn {test}(")), "{name}");
    }
}

#[test]
fn a_resumed_kustomization_applies_and_prunes_what_changed_meanwhile() {
    let apps = |suspend: &str, prune: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps, namespace: \
             flux-system}}\nspec:\n  interval: 1h\n  path: ./apps\n  prune: {prune}\n{suspend}  sourceRef: {{kind: \
             GitRepository, name: flux-system}}\n"
        )
    };
    let map = |name: &str, value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{a: {value}}}\n"
        )
    };
    let sync = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: \
                flux-system}\nspec: {interval: 1m, url: 'https://example.com/fleet'}\n---\napiVersion: \
                kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: \
                flux-system}\nspec:\n  interval: 10m\n  path: ./clusters/a\n  prune: true\n  sourceRef: {kind: \
                GitRepository, name: flux-system}\n";
    let scratch = Scratch::new(&[
        ("before/clusters/a/flux-system/gotk-sync.yaml", sync),
        ("before/clusters/a/apps.yaml", &apps("  suspend: true\n", "true")),
        ("before/apps/one.yaml", &map("one", "x")),
        ("before/apps/two.yaml", &map("two", "x")),
        ("before/apps/same.yaml", &map("same", "x")),
        ("now/clusters/a/flux-system/gotk-sync.yaml", sync),
        ("now/clusters/a/apps.yaml", &apps("  suspend: true\n", "true")),
        ("now/apps/one.yaml", &map("one", "y")),
        ("now/apps/three.yaml", &map("three", "x")),
        ("now/apps/same.yaml", &map("same", "x")),
    ]);
    let before = scratch.path().join("before").display().to_string();
    let ask = || {
        let run = scratch
            .forebay(&["simulate", "suspend", "--root", "now", "--since", &before, "--format", "json"]);
        let answer = run.json();
        let apps =
            answer["objects"].as_array().unwrap().iter().find(|o| o["object"]["name"] == "apps").unwrap();
        apps["consequences"].to_string()
    };
    let said = ask();
    assert!(said.contains("on resume, applied for the first time: ConfigMap default/three"), "{said}");
    assert!(said.contains("on resume, applied with new values: ConfigMap default/one\""), "{said}");
    assert!(said.contains("on resume, pruned: ConfigMap default/two"), "{said}");
    assert!(!said.contains("default/same") && !said.contains("was not suspended"), "{said}");

    scratch.write("before/clusters/a/apps.yaml", apps("", "true").as_bytes());
    scratch.write("now/clusters/a/apps.yaml", apps("  suspend: true\n", "false").as_bytes());
    let said = ask();
    assert!(said.contains("left in the cluster, as nothing prunes: ConfigMap default/two"), "{said}");
    assert!(said.contains("it was not suspended in"), "{said}");

    // Without a time there is nothing to compare with.
    let run = scratch.forebay(&["simulate", "suspend", "--root", "now"]);
    assert!(!run.out.contains("on resume"), "{}", run.out);
}

fn job(name: &str, schedule: &str, rest: &str, command: &str) -> String {
    format!(
        "apiVersion: batch/v1
kind: CronJob
metadata: {{name: {name}, namespace: flux-system}}
spec:
  schedule: '{schedule}'
{rest}  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: flux
              image: ghcr.io/fluxcd/flux-cli:v2.7.0
              command: [{command}]
---
"
    )
}

#[test]
fn a_moment_shows_what_cron_jobs_left_suspended() {
    let freeze = job("freeze", "0 17 * * FRI", "", "flux, suspend, ks, apps");
    let thaw = job(
        "thaw",
        "0 8 * * MON",
        "",
        r#"kubectl, patch, kustomization/apps, -n, flux-system, --type=merge, -p, '{"spec":{"suspend":false}}'"#,
    );
    let plain = kustomization("./apps");
    let saturday = "2026-11-21T12:00:00Z";
    // What is in Git, the jobs, the moment, what holds, what comes next.
    let unknown = "unknown";
    let cases: &[(&str, &str, &str, &str, &str)] = &[
        (&plain, &format!("{freeze}{thaw}"), saturday, "true", "2026-11-23T08:00:00Z"),
        (&plain, &format!("{freeze}{thaw}"), "2026-11-23T07:59:59Z", "true", "2026-11-23T08:00:00Z"),
        (&plain, &format!("{freeze}{thaw}"), "2026-11-23T08:00:00Z", "false", "2026-11-27T17:00:00Z"),
        (&plain, &format!("{thaw}{freeze}"), "2026-11-24T12:00:00Z", "false", "2026-11-27T17:00:00Z"),
        // A job that never runs changes nothing.
        (
            &plain,
            &job("freeze", "0 17 * * FRI", "  suspend: true\n", "flux, suspend, ks, apps"),
            saturday,
            "false",
            "",
        ),
        // Flux writes back what Git says, at a time that nobody knows.
        (&plain.replace("prune: true", "prune: true\n  suspend: false"), &freeze, saturday, unknown, ""),
        // Only one direction: it stays as the job left it.
        (&plain.replace("prune: true", "prune: true\n  suspend: true"), &freeze, saturday, "true", ""),
        // Another object's.
        (&plain, &job("freeze", "0 17 * * FRI", "", "flux, suspend, ks, other"), saturday, "false", ""),
    ];
    for (apps, jobs, at, expected, next) in cases {
        let scratch = Scratch::new(&[
            (".forebay.yaml", "clusters: [{name: a, path: clusters/a}]\n"),
            ("clusters/a/apps.yaml", apps),
            ("clusters/a/jobs.yaml", jobs),
            ("apps/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"),
        ]);
        let run = scratch.forebay(&["simulate", "suspend", "--at", at, "--format", "json"]);
        let answer = run.json();
        let found =
            answer["objects"].as_array().unwrap().iter().find(|o| o["object"]["name"] == "apps").unwrap();
        let state = match &found["suspended"] {
            state if state.is_boolean() => state.to_string(),
            _ => unknown.to_owned(),
        };
        assert_eq!(state, *expected, "{at} {jobs}\n{found:#}");
        assert_eq!(found["next"]["at"].as_str().unwrap_or_default(), *next, "{at} {jobs}\n{found:#}");
        // Without a moment, Git's state.
        let run = scratch.forebay(&["simulate", "suspend", "--format", "json"]);
        let answer = run.json();
        let found =
            answer["objects"].as_array().unwrap().iter().find(|o| o["object"]["name"] == "apps").unwrap();
        assert_eq!(found["suspended"], apps.contains("suspend: true"), "{found:#}");
    }
}

#[test]
fn a_command_that_cannot_be_read_is_named() {
    let scratch = Scratch::new(&[
        (".forebay.yaml", "clusters: [{name: a, path: clusters/a}]\n"),
        ("clusters/a/apps.yaml", &kustomization("./apps")),
        ("clusters/a/jobs.yaml", &job("odd", "0 1 * * *", "", "sh, -c, 'flux suspend ks $NAME'")),
        ("apps/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"),
    ]);
    let run = scratch.forebay(&["simulate", "suspend", "--at", "2026-11-21T12:00:00Z"]);
    assert!(run.out.contains("not read: commands that may suspend or resume more"), "{}", run.out);
    assert!(run.out.contains("CronJob flux-system/odd: flux suspend ks $NAME"), "{}", run.out);
}

#[test]
fn what_no_cluster_applies_is_said_where_it_stands() {
    let sync = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: \
                flux-system}\nspec:\n  interval: 10m\n  path: ./clusters/a\n  prune: true\n  sourceRef: {kind: \
                GitRepository, name: flux-system}\n";
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: \
                  flux-system}\nspec: {interval: 1m, url: 'https://example.com/fleet'}\n---\n";
    let stray = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: apps, namespace: \
                 flux-system}\nspec: {interval: 1h, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: \
                 flux-system}}\n";
    let scratch = Scratch::new(&[
        ("clusters/a/flux-system/gotk-sync.yaml", &format!("{source}{sync}")),
        ("old/apps.yaml", stray),
        ("apps/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n"),
    ]);
    for command in [
        &["build", "--kustomization", "apps"][..],
        &["why", "ks/flux-system/apps"],
        &["locate", "ks/apps", "spec.path"],
    ] {
        let run = scratch.forebay(command);
        assert_eq!(run.code, 2, "{command:?}");
        assert!(
            run.err.contains("no cluster applies") && run.err.contains("old/apps.yaml:1:1"),
            "{}",
            run.err
        );
    }
    // A name that nothing has keeps its suggestion.
    assert!(scratch.forebay(&["why", "ks/flux-systen"]).err.contains("did you mean"));
}

/// A source's `spec.ignore` holds wherever the Kustomization lies: in a repository
/// without clusters, in one whose root is only guessed, and in a cluster.
#[test]
fn the_ignore_rules_of_a_source_hold_in_every_layout() {
    let pair = |name: &str, path: &str, ignore: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: {name}, namespace: \
             flux-system}}\nspec:\n  interval: 1m\n  url: https://example.com/fleet\n{ignore}---\napiVersion: \
             kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: \
             flux-system}}\nspec: {{interval: 1h, path: ./{path}, prune: true, sourceRef: {{kind: GitRepository, name: \
             {name}}}}}\n"
        )
    };
    let map = |name: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\n")
    };
    let ignore = "  ignore: |\n    /apps/skip\n";
    let apps = [("apps/a.yaml", map("a")), ("apps/skip/b.yaml", map("b"))];
    let layouts = [
        vec![("flux.yaml", pair("apps", "apps", ignore))],
        vec![("deploy/flux/ks.yaml", pair("apps", "apps", ignore))],
        vec![
            ("clusters/a/flux-system/gotk-sync.yaml", pair("flux-system", "clusters/a", "")),
            ("clusters/a/apps.yaml", pair("apps", "apps", ignore)),
        ],
    ];
    for layout in layouts {
        let scratch = Scratch::new(&[]);
        for (path, text) in layout.iter().chain(&apps) {
            scratch.write(path, text.as_bytes());
        }
        let run = scratch.forebay(&["build", "--kustomization", "apps"]);
        assert_eq!(run.code, 0, "{}: {}", layout[0].0, run.err);
        assert!(
            run.out.contains("name: a\n") && !run.out.contains("name: b\n"),
            "{}: {}",
            layout[0].0,
            run.out
        );
    }
}
