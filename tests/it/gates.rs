//! Gates, schedules, suspensions and their consumers over a range of time.

use std::sync::Arc;

use forebay::internals::files::{Snapshot, Store};
use forebay::internals::report::gates::{ClusterGates, View, svg};
use forebay::internals::simulate::gating::objects::Gating;
use forebay::internals::simulate::gating::timeline::{PassState, Range, Simulation, changes, simulate};
use jiff::tz::TimeZone;

use crate::support::scratch::Scratch;

/// Simulates the objects of one file.
fn run(manifests: &str, from: &str, to: &str) -> Simulation {
    let file = ("gates.yaml", manifests.as_bytes().to_vec());
    let snapshot = Snapshot::memory([file], Arc::new(Store::default()));
    let objects = snapshot.objects().iter().map(|object| (&object.id, object.node.get_ref()));
    let range = Range { from: from.parse().unwrap(), to: to.parse().unwrap() };
    simulate(&Gating::read(objects), range)
}

/// The picture of one file's objects.
fn picture(manifests: &str, from: &str, to: &str, zone: &str) -> String {
    let snapshot = Snapshot::memory([("a.yaml", manifests.as_bytes().to_vec())], Arc::new(Store::default()));
    let zone = TimeZone::get(zone).unwrap();
    let clusters = [ClusterGates {
        name: Some("production".into()),
        root: "clusters/production".into(),
        simulation: run(manifests, from, to),
        has_gates: false,
        unread: Vec::new(),
        version: Default::default(),
    }];
    let view = View { snapshot: &snapshot, clusters: &clusters, zone: &zone, is_range: true, ascii: false };
    svg::render(&view)
}

/// Changes as `time object state (cause)`.
fn listed(simulation: &Simulation) -> Vec<String> {
    changes(simulation)
        .iter()
        .map(|(subject, change)| {
            format!("{} {} {} ({})", change.at, subject.id.name, change.state.name(), change.cause)
        })
        .collect()
}

/// The states of one object: `state` at the start, then `time state`.
fn states(simulation: &Simulation, name: &str) -> Vec<String> {
    let mut subjects = simulation.subjects.iter().filter(|subject| &*subject.id.name == name);
    let subject = subjects.next_back().unwrap();
    let mut found = vec![subject.timeline.first.name().to_string()];
    found.extend(subject.timeline.changes.iter().map(|c| format!("{} {}", c.at, c.state.name())));
    found
}

const APPROVAL: &str = "
apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata:
  name: sre-approval
  namespace: flux-system
  annotations:
    open.gate.fluxcd.io/requestedAt: 2021-03-26T10:00:00Z
spec:
  interval: 30s
  default: closed
  window: 1h
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: my-app
  namespace: flux-system
spec:
  interval: 10m
  sourceRef: {kind: GitRepository, name: app}
  gates:
    - name: sre-approval
    - name: qa-approval
";

#[test]
fn a_missing_gate_blocks() {
    let simulation = run(APPROVAL, "2021-03-26T10:30:00Z", "2021-03-27T00:00:00Z");
    let app = &simulation.gated[0];
    assert_eq!(app.closed, ["qa-approval"]);
    assert_eq!(app.missing, ["qa-approval"]);
    assert_eq!(app.proceeds, PassState::Closed);
    assert_eq!(
        app.condition.message,
        "Reconciliation is waiting approval, gate 'flux-system/qa-approval' is closed."
    );
    assert_eq!(states(&simulation, "my-app"), ["closed"]);
}

#[test]
fn a_consumer_proceeds_while_all_gates_are_opened() {
    let qa = "
---
apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata:
  name: qa-approval
  namespace: flux-system
  annotations:
    open.gate.fluxcd.io/requestedAt: 2021-03-26T10:30:00Z
spec: {interval: 2m, default: closed, window: 1h}
";
    let simulation = run(&format!("{APPROVAL}{qa}"), "2021-03-26T09:00:00Z", "2021-03-27T00:00:00Z");
    assert_eq!(
        listed(&simulation),
        [
            "2021-03-26T10:00:00Z sre-approval opened (open requested)",
            "2021-03-26T10:30:00Z qa-approval opened (open requested)",
            "2021-03-26T11:00:00Z sre-approval closed (window of 1h is over)",
            "2021-03-26T11:30:00Z qa-approval closed (window of 1h is over)",
        ]
    );
    assert_eq!(
        states(&simulation, "my-app"),
        ["closed", "2021-03-26T10:30:00Z opened", "2021-03-26T11:00:00Z closed"]
    );
    assert_eq!(simulation.gated[0].gate_latency.unwrap().to_string(), "2m0s");
}

#[test]
fn a_gate_of_another_namespace_does_not_count() {
    let elsewhere = APPROVAL.replacen("namespace: flux-system", "namespace: other", 1);
    let simulation = run(&elsewhere, "2021-03-26T10:30:00Z", "2021-03-27T00:00:00Z");
    assert_eq!(simulation.gated[0].missing, ["sre-approval", "qa-approval"]);
}

const FRIDAYS: &str = r#"
apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata: {name: maintenance, namespace: flux-system}
spec: {interval: 30s, default: opened, window: 24h}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: no-deploy-friday, namespace: flux-system}
spec:
  schedule: 0 0 * * FRI
  timeZone: Europe/Berlin
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - name: close
              image: bitnami/kubectl
              command: [/bin/sh, -c]
              args:
                - >-
                  kubectl -n flux-system annotate --overwrite gate/maintenance
                  close.gate.fluxcd.io/requestedAt="$(date -u +"%Y-%m-%dT%H:%M:%SZ")"
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: app, namespace: flux-system}
spec: {interval: 1m, gates: [{name: maintenance}]}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: apps}
spec:
  interval: 10m
  sourceRef: {kind: GitRepository, name: app, namespace: flux-system}
"#;

#[test]
fn a_cron_job_closes_on_fridays_through_the_change_of_the_clock() {
    let simulation = run(FRIDAYS, "2026-03-20T12:00:00Z", "2026-04-04T00:00:00Z");
    assert_eq!(
        listed(&simulation),
        [
            "2026-03-20T23:00:00Z maintenance opened (window of 24h is over)",
            "2026-03-26T23:00:00Z maintenance closed (CronJob flux-system/no-deploy-friday)",
            "2026-03-27T23:00:00Z maintenance opened (window of 24h is over)",
            "2026-04-02T22:00:00Z maintenance closed (CronJob flux-system/no-deploy-friday)",
            "2026-04-03T22:00:00Z maintenance opened (window of 24h is over)",
        ]
    );
    assert_eq!(
        simulation.gates[0].state.as_ref().unwrap().message,
        "Gate scheduled for opening at 2026-03-20T23:00:00Z"
    );
    let frozen: Vec<_> = simulation.frozen.iter().map(|f| format!("{}: {}", f.id, f.because)).collect();
    assert_eq!(
        frozen,
        ["Kustomization apps/app: GitRepository flux-system/app is closed: it keeps its last revision"]
    );
}

#[test]
fn what_a_cron_job_may_or_may_not_do_makes_a_gate_unknown() {
    for (from, to) in [
        ("--overwrite ", ""),
        ("0 0 * * FRI", "0 0 * * 7"),
        ("0 0 * * FRI", "'@every 24h'"),
        ("0 0 * * FRI", "TZ=UTC 0 0 * * FRI"),
        ("date -u", "date -d tomorrow -u"),
    ] {
        let simulation = run(&FRIDAYS.replace(from, to), "2026-03-20T12:00:00Z", "2026-04-04T00:00:00Z");
        assert_eq!(states(&simulation, "maintenance"), ["unknown"], "{to}");
        assert!(simulation.gates[0].state.is_none());
        assert_eq!(simulation.gated[0].proceeds, PassState::Unknown);
    }
}

#[test]
fn what_is_unknown_says_why() {
    let manifests = "
apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata: {name: perhaps, namespace: flux-system}
spec: {interval: 1m, default: perhaps, window: 1h}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: waits, namespace: flux-system}
spec: {interval: 10m, gates: [{name: perhaps}]}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: waits-elsewhere, namespace: flux-system}
spec: {interval: 10m, gates: [{name: perhaps}, {name: other, namespace: 1}]}
";
    let simulation = run(manifests, "2021-03-26T10:30:00Z", "2021-03-27T00:00:00Z");
    let why = |name: &str| {
        let mut subjects = simulation.subjects.iter().filter(|subject| &*subject.id.name == name);
        subjects.next_back().and_then(|subject| subject.unknown.clone())
    };
    let gate = "spec.default is neither opened nor closed";
    assert_eq!(why("perhaps").as_deref(), Some(gate));
    assert_eq!(why("waits").as_deref(), Some(gate));
    assert_eq!(why("waits-elsewhere").as_deref(), Some("one of its gates is not known"));
}

#[test]
fn a_suspended_cron_job_does_nothing() {
    let simulation = run(
        &FRIDAYS.replace("timeZone: Europe", "suspend: true\n  timeZone: Europe"),
        "2026-03-20T12:00:00Z",
        "2026-04-04T00:00:00Z",
    );
    assert_eq!(states(&simulation, "maintenance"), ["opened"]);
}

fn flux_job(name: &str, schedule: &str, command: &str) -> String {
    format!(
        "
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: {name}, namespace: flux-system}}
spec:
  schedule: {schedule}
  jobTemplate:
    spec:
      template:
        spec:
          containers:
            - {{name: flux, image: ghcr.io/fluxcd/flux-cli, args: [{command}]}}
"
    )
}

#[test]
fn cron_jobs_suspend_and_resume() {
    let app = "
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app, namespace: flux-system}
spec: {interval: 10m}
";
    let stop = flux_job("stop", "0 17 * * THU", "suspend, ks, app");
    let start = flux_job("start", "0 8 * * MON", "resume, ks, app");
    let simulation = run(&format!("{app}{stop}{start}"), "2026-03-25T00:00:00Z", "2026-04-01T00:00:00Z");
    assert_eq!(
        listed(&simulation),
        [
            "2026-03-26T17:00:00Z app closed (CronJob flux-system/stop)",
            "2026-03-30T08:00:00Z app opened (CronJob flux-system/start)",
        ]
    );
    // Git that says otherwise is written back by Flux at some time.
    let in_git = app.replace("{interval: 10m}", "{interval: 10m, suspend: false}");
    let simulation = run(&format!("{in_git}{stop}{start}"), "2026-03-25T00:00:00Z", "2026-04-01T00:00:00Z");
    assert_eq!(states(&simulation, "app"), ["unknown"]);
}

#[test]
fn a_suspension_comes_before_gates() {
    let suspended = APPROVAL.replace("interval: 10m", "interval: 10m\n  suspend: true");
    let simulation = run(&suspended, "2021-03-26T10:30:00Z", "2021-03-27T00:00:00Z");
    assert_eq!(simulation.gated[0].suspended, PassState::Closed);
    let app = simulation.subjects.last().unwrap();
    assert_eq!(app.waits_for, ["suspend", "sre-approval", "qa-approval"]);
}

#[test]
fn providers_follow_their_schedule() {
    let provider = "
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSetInputProvider
metadata: {name: tags, namespace: flux-system}
spec:
  type: GitHubTag
  schedule:
    - {cron: '0 9 * * mon-thu', timeZone: Europe/Berlin, window: 8h}
";
    let simulation = run(provider, "2026-03-26T00:00:00Z", "2026-03-31T00:00:00Z");
    assert_eq!(
        listed(&simulation),
        [
            "2026-03-26T08:00:00Z tags opened (its schedule triggers)",
            "2026-03-26T15:58:00Z tags closed (its window is over)",
            "2026-03-30T07:00:00Z tags opened (its schedule triggers)",
            "2026-03-30T14:58:00Z tags closed (its window is over)",
        ]
    );
    for (from, to, expected) in [
        ("window: 8h", "window: 3m", "unknown"),
        ("0 9 * * mon-thu", "TZ=UTC 0 9 * * *", "unknown"),
        ("window: 8h", "window: 0s", "opened"),
        (
            "namespace: flux-system}",
            "namespace: a, annotations: {fluxcd.controlplane.io/reconcile: Disabled}}",
            "closed",
        ),
    ] {
        let simulation = run(&provider.replace(from, to), "2026-03-26T00:00:00Z", "2026-03-31T00:00:00Z");
        assert_eq!(states(&simulation, "tags"), [expected], "{to}");
    }
}

#[test]
fn receivers_and_confirming_webhooks_are_seen() {
    let others = "
---
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: approve, namespace: flux-system}
spec:
  type: generic
  resources: [{kind: Gate, name: sre-approval}]
---
apiVersion: flagger.app/v1beta1
kind: Canary
metadata: {name: web, namespace: apps}
spec:
  analysis:
    webhooks:
      - {name: halt, type: confirm-promotion, url: 'http://flagger-loadtester.test/gate/halt'}
      - {name: ask, type: confirm-rollout, url: 'http://flagger-loadtester.test/gate/check'}
      - {name: back, type: rollback, url: 'http://flagger-loadtester.test/gate/halt'}
      - {name: load, type: rollout, url: 'http://flagger-loadtester.test/'}
";
    let simulation = run(&format!("{APPROVAL}{others}"), "2021-03-26T09:00:00Z", "2021-03-27T00:00:00Z");
    assert_eq!(simulation.gates[0].gate.receivers[0].to_string(), "Receiver flux-system/approve");
    let canary: Vec<_> = simulation.subjects.iter().filter(|s| &*s.id.kind == "Canary").collect();
    let found: Vec<_> = canary.iter().map(|s| (&*s.waits_for[0], s.timeline.first)).collect();
    assert_eq!(found, [("confirm-promotion", PassState::Closed), ("confirm-rollout", PassState::Unknown)]);
}

#[test]
fn closed_sources_freeze_what_is_downstream() {
    let manifests = "
apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata: {name: freeze, namespace: a}
spec: {interval: 30s, default: closed}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: repo, namespace: a}
spec: {gates: [{name: freeze}]}
---
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: split, namespace: a}
spec:
  sources: [{alias: repo, kind: GitRepository, name: repo}]
  artifacts: [{name: part}]
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: from-part, namespace: a}
spec: {sourceRef: {kind: ExternalArtifact, name: part}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: chart, namespace: b}
spec: {chart: {spec: {chart: ./c, sourceRef: {kind: GitRepository, name: repo, namespace: a}}}}
---
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImageUpdateAutomation
metadata: {name: images, namespace: a}
spec: {sourceRef: {kind: GitRepository, name: repo}}
";
    let simulation = run(manifests, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    let frozen: Vec<_> = simulation.frozen.iter().map(|f| f.id.to_string()).collect();
    assert_eq!(
        frozen,
        [
            "HelmRelease b/chart",
            "Kustomization a/from-part",
            "ArtifactGenerator a/split",
            "ExternalArtifact a/part",
        ]
    );
}

#[test]
fn a_closed_sync_holds_dependants_of_the_same_source() {
    let kustomization = |name: &str, rest: &str| {
        format!(
            "
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: {name}, namespace: flux-system}}
spec: {{{rest}}}
"
        )
    };
    let source = "sourceRef: {kind: GitRepository, name: repo}";
    let manifests = [
        kustomization("infra", &format!("{source}, gates: [{{name: freeze}}]")),
        kustomization("apps", &format!("{source}, dependsOn: [{{name: infra}}]")),
        kustomization("expr", &format!("{source}, dependsOn: [{{name: infra, readyExpr: 'true'}}]")),
        kustomization("other", "sourceRef: {kind: OCIRepository, name: repo}, dependsOn: [{name: infra}]"),
    ]
    .concat();
    let simulation = run(&manifests, "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
    let frozen: Vec<_> = simulation.frozen.iter().map(|f| f.id.to_string()).collect();
    assert_eq!(frozen, ["Kustomization flux-system/apps"]);
}

/// Gates, a Kustomization for each, and a provider that opens every hour.
fn many(count: usize) -> String {
    let mut manifests = String::from(
        "
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSetInputProvider
metadata: {name: tags, namespace: flux-system}
spec: {schedule: [{cron: '0 * * * *', window: 5m}]}
",
    );
    for index in 0..count {
        let name = ["qa", "change-freeze-of-the-whole-payment-platform-and-its-friends"][index % 2];
        let hour = index % 24;
        let day = index % 28 + 1;
        manifests.push_str(&format!(
            "
---
apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata:
  name: {name}-{index}
  namespace: flux-system
  annotations: {{open.gate.fluxcd.io/requestedAt: '2026-03-{day:02}T{hour:02}:00:00Z'}}
spec: {{interval: 30s, default: closed, window: {index}h}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: app-{index}, namespace: flux-system}}
spec: {{interval: 10m, gates: [{{name: {name}-{index}}}]}}
"
        ));
    }
    manifests
}

/// Left, top, right and bottom of each text, for fonts whose characters are at
/// most 0.61 times as wide as high.
fn boxes(svg: &str) -> Vec<(f64, f64, f64, f64, String)> {
    let text =
        regex::Regex::new(r#"<text x="([0-9.]+)" y="([0-9.]+)" font-size="([0-9.]+)"[^>]*>([^<]*)</text>"#);
    let found: Vec<_> = text
        .unwrap()
        .captures_iter(svg)
        .map(|found| {
            let number = |index: usize| found[index].parse::<f64>().unwrap();
            let (x, baseline, size) = (number(1), number(2), number(3));
            let width = found[4].chars().count() as f64 * size * 0.61;
            (x, baseline - 0.8 * size, x + width, baseline + 0.25 * size, found[4].to_string())
        })
        .collect();
    assert_eq!(found.len(), svg.matches("<text ").count());
    found
}

#[test]
fn no_two_texts_of_a_picture_overlap() {
    let size = regex::Regex::new(r#"viewBox="0 0 ([0-9]+) ([0-9]+)""#).unwrap();
    for count in [1, 8, 40] {
        for (from, to, zone) in [
            ("2026-03-01T00:00:00Z", "2026-03-01T00:20:00Z", "UTC"),
            ("2026-03-28T00:00:00Z", "2026-03-30T05:17:00Z", "Europe/Berlin"),
            ("2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z", "Australia/Lord_Howe"),
            ("2026-03-01T00:00:00Z", "2027-04-01T00:00:00Z", "UTC"),
            ("2025-03-01T00:00:00Z", "2027-04-01T00:00:00Z", "UTC"),
        ] {
            let svg = picture(&many(count), from, to, zone);
            let boxes = boxes(&svg);
            assert!(boxes.len() > 2 * count);
            let size = size.captures(&svg).unwrap();
            let (width, height): (f64, f64) = (size[1].parse().unwrap(), size[2].parse().unwrap());
            for (index, a) in boxes.iter().enumerate() {
                assert!(
                    a.0 >= 0.0 && a.1 >= 0.0 && a.2 <= width && a.3 <= height,
                    "{a:?} leaves the picture"
                );
                for b in &boxes[index + 1..] {
                    let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                    assert!(apart, "{count} gates from {from}: {a:?} and {b:?} overlap");
                }
            }
        }
    }
}

#[test]
fn names_do_not_break_out_of_a_picture() {
    let hostile = APPROVAL.replace("name: my-app", "name: '<script>\"&'");
    let svg = picture(&hostile, "2021-03-26T09:00:00Z", "2021-03-27T00:00:00Z", "UTC");
    assert!(!svg.contains("<script>"));
    assert!(svg.contains("&lt;script&gt;&quot;&amp;"));
}

#[test]
fn the_answer_as_json_obeys_its_schema() {
    let schema = serde_json::from_str(include_str!("../../schemas/simulate-gates.json")).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (fixture, unknown) in [("change-freeze", false), ("no-deploy-friday", false), ("unknown", true)] {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_forebay"))
            .args(["simulate", "gates", "--format", "json", "--from", "2022-05-26", "--to", "2022-06-26"])
            .args(["--root", &format!("{}/fixtures/gates/{fixture}", env!("CARGO_MANIFEST_DIR"))])
            .output()
            .unwrap();
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let faults: Vec<_> = validator.iter_errors(&answer).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{fixture}: {faults:?}");
        assert_eq!(answer["gates"][0]["opened"]["$unknown"].is_string(), unknown, "{fixture}");
        assert!(!answer["objects"].as_array().unwrap().is_empty());
    }
}

/// The rules that speak of a repository, each once.
fn rules(files: &[(&str, &str)]) -> Vec<String> {
    let scratch = Scratch::new(files);
    let run = scratch.forebay(&["lint", "--format", "json"]);
    let answer: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
    let findings = answer["findings"].as_array().expect("a list");
    let mut rules: Vec<String> =
        findings.iter().filter_map(|finding| finding["rule"].as_str().map(str::to_owned)).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// structured-merge-diff `typed/validation.go`: a field that the schema does not declare is
/// refused, whatever it holds.
#[test]
fn a_field_that_is_refused_has_one_finding() {
    let manifests = "
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 10m
  prune: true
  path: ./apps
  sourceRef: {kind: GitRepository, name: flux-system}
  gates: [{name: sre}, {name: sre}, {name: qa, namespace: other}, {nmae: freeze}]
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: https://git.example.com/fleet.git}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: podinfo, namespace: flux-system}
spec:
  interval: 1m
  chart: ./chart
  sourceRef: {kind: GitRepository, name: flux-system}
  gates: [{name: sre}]
";
    let config = "version: 1\nclusters: [{name: production, path: fleet}]\n";
    let cm = ("apps/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: apps}\n");
    let with = |config: &str| rules(&[(".forebay.yaml", config), ("fleet/a.yaml", manifests), cm]);
    assert_eq!(with(config), ["unknown-field"]);
    let enabled = with(&format!("{config}target: {{features: {{gates: enabled}}}}\n"));
    for rule in [
        "cross-namespace-gate",
        "duplicate-gate-reference",
        "gate-on-unsupported-kind",
        "malformed-gate-reference",
        "missing-gate",
    ] {
        assert!(enabled.iter().any(|found| found == rule), "{rule}: {enabled:?}");
    }
    assert!(!enabled.iter().any(|found| found == "unknown-field"), "{enabled:?}");
}
