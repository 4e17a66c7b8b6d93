//! What differs by version, from outside: each simulator below, at and above the
//! version that does it, and where nothing states the version.

use crate::support::scratch::Scratch;
use serde_json::{Value, json};

fn configured(target: &str) -> String {
    format!("{target}clusters: [{{name: prod, path: clusters/prod}}]\n")
}

/// A cluster of one release with annotations, and an Alert that sets keys.
fn events(flux: &str) -> Scratch {
    let target = if flux.is_empty() { String::new() } else { format!("target: {{flux: \"{flux}\"}}\n") };
    Scratch::new(&[
        (".forebay.yaml", &configured(&target)),
        (
            "clusters/prod/all.yaml",
            "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: web
  namespace: apps
  annotations:
    event.toolkit.fluxcd.io/env: object
spec:
  interval: 1h
  chartRef: {kind: OCIRepository, name: web}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: chat, namespace: apps}
spec: {type: slack, channel: general}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all, namespace: apps}
spec:
  providerRef: {name: chat}
  summary: the field
  eventMetadata: {env: alert, revision: alert}
  eventSources: [{kind: HelmRelease, name: \"*\"}]
",
        ),
    ])
}

const REVISION: [&str; 2] = ["--controller-metadata", "helm.toolkit.fluxcd.io/revision=1.0.0"];

fn notification(scratch: &Scratch) -> Value {
    let run = scratch.forebay(&["simulate", "events", "--format", "json", REVISION[0], REVISION[1]]);
    assert_eq!(run.code, 0, "{}", run.err);
    run.json()["objects"][0].take()
}

#[test]
fn event_metadata_of_objects_needs_flux_2_5() {
    for (flux, sent) in [("2.4", false), ("2.4.9", false), ("2.5", true), ("2.6", true), ("2.12", true)] {
        let answer = notification(&events(flux));
        let metadata = &answer["notifications"][0]["metadata"];
        let expected = match sent {
            true => json!({"env": "alert", "revision": "1.0.0", "summary": "the field"}),
            false => json!({"env": "alert", "revision": "1.0.0", "summary": "the field"}),
        };
        assert_eq!(*metadata, expected, "{flux}");
        let annotations = &answer["kubernetesEventAnnotations"];
        assert_eq!(annotations.get("event.toolkit.fluxcd.io/env").is_some(), sent, "{flux}: {annotations}");
        let dropped = answer["dropped"].to_string();
        assert_eq!(dropped.contains("from Flux 2.5 on"), !sent, "{flux}: {dropped}");
        let found = &answer["notifications"][0];
        // notification-controller 1.2 to 1.4 have an Event for each key that is not added.
        let message = match sent {
            true => "metadata key conflicts detected",
            false => "metadata key found in the existing set of metadata for 'revision' in HelmRelease/apps/",
        };
        let event = found["event"]["message"].as_str().unwrap_or_default();
        assert!(event.starts_with(message), "{flux}: {event}");
        assert_eq!(
            found["sources"]["env"].as_array().map(Vec::len),
            Some(if sent { 2 } else { 1 }),
            "{flux}"
        );
    }
}

#[test]
fn before_flux_2_5_the_event_beats_the_alert_and_the_summary_all() {
    let answer = notification(&events("2.4"));
    let found = &answer["notifications"][0];
    assert_eq!(found["metadata"]["revision"], "1.0.0", "{found}");
    assert_eq!(found["log"], "metadata key found in the existing set of metadata");
    let event = json!({
        "involvedObject": {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
                           "namespace": "apps", "name": "web"},
        "severity": "info",
        "metadata": {"helm.toolkit.fluxcd.io/summary": "the controller"},
    });
    for (flux, summary) in [("2.4", "the field"), ("2.5", "the controller")] {
        let scratch = events(flux);
        scratch.write("event.json", event.to_string().as_bytes());
        let run = scratch.forebay(&["simulate", "events", "--format", "json", "--event", "event.json"]);
        let metadata = &run.json()["objects"][0]["notifications"][0]["metadata"];
        assert_eq!(metadata["summary"], summary, "{flux}: {metadata}");
    }
}

fn provider(kind: &str, alert_source: &str, flux: &str) -> Value {
    let scratch = Scratch::new(&[
        (".forebay.yaml", &configured(&format!("target: {{flux: \"{flux}\"}}\n"))),
        (
            "clusters/prod/all.yaml",
            &format!(
                "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: web, namespace: apps}}
spec: {{interval: 1h, path: ./none, prune: true, sourceRef: {{kind: GitRepository, name: other}}}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {{name: chat, namespace: apps}}
spec: {{type: {kind}}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {{name: all, namespace: apps}}
spec:
  providerRef: {{name: chat}}
  eventSources: [{{kind: Kustomization, name: \"*\"}}, {{kind: {alert_source}, name: \"*\"}}]
"
            ),
        ),
    ]);
    let run = scratch.forebay(&["simulate", "events", "--object", "ks/apps/web", "--format", "json"]);
    assert_eq!(run.code, 0, "{}", run.err);
    run.json()["objects"][0]["notifications"][0].take()
}

#[test]
fn a_provider_type_is_refused_before_the_version_that_has_it() {
    for (kind, flux, delivered) in [
        ("slack", "2.0", true),
        ("otel", "2.6", false),
        ("otel", "2.7", true),
        ("otel", "2.8", true),
        ("zoom", "2.9", false),
        ("zoom", "2.10", true),
        ("carrierpigeon", "2.9", false),
    ] {
        let found = provider(kind, "HelmRelease", flux);
        assert_eq!(found["delivered"], delivered, "{kind} {flux}: {}", found["reason"]);
    }
}

#[test]
fn an_alert_that_the_schema_refuses_delivers_nothing() {
    for (source, flux, delivered) in [
        ("Receiver", "2.9", false),
        ("ArtifactGenerator", "2.7", false),
        ("ArtifactGenerator", "2.8", true),
        ("ArtifactGenerator", "2.9", true),
        ("ResourceSet", "2.9", false),
    ] {
        let found = provider("slack", source, flux);
        assert_eq!(found["delivered"], delivered, "{source} {flux}: {}", found["reason"]);
    }
}

#[test]
fn an_instance_of_a_chart_is_flux_operators_too() {
    let scratch = Scratch::new(&[
        (".forebay.yaml", &configured("")),
        (
            "clusters/prod/all.yaml",
            "apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: flux-instance, namespace: flux-system}
spec: {interval: 1h, url: oci://ghcr.io/controlplaneio-fluxcd/charts/flux-instance, ref: {tag: 0.30.0}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: flux-instance, namespace: flux-system}
spec:
  interval: 1h
  chartRef: {kind: OCIRepository, name: flux-instance}
  values: {instance: {distribution: {version: 2.7.3}}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: chat, namespace: flux-system}
spec: {type: slack}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all, namespace: flux-system}
spec:
  providerRef: {name: chat}
  eventSources: [{kind: FluxInstance, name: \"*\"}]
",
        ),
    ]);
    let run = scratch.forebay(&["lint", "--select", "unsupported-alert-source-kind"]);
    assert_eq!(run.code, 0, "{}", run.out);
}

#[test]
fn commit_status_providers_ask_for_a_commit_from_flux_2_8_on() {
    // Failures of sources carry no revision: from 2.9 on they pass the gate, and fail to be sent.
    for (flux, info, error) in [("2.7", true, false), ("2.8", false, false), ("2.9", false, false)] {
        let scratch = Scratch::new(&[
            (".forebay.yaml", &configured(&format!("target: {{flux: \"{flux}\"}}\n"))),
            (
                "clusters/prod/all.yaml",
                "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: web, namespace: apps}
spec: {interval: 1h, url: https://example.com/web}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: status, namespace: apps}
spec: {type: github, address: https://github.com/example/web}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: status, namespace: apps}
spec:
  providerRef: {name: status}
  eventSources: [{kind: GitRepository, name: \"*\"}]
",
            ),
        ]);
        for (severity, expected) in [("info", info), ("error", error)] {
            let run = scratch.forebay(&["simulate", "events", "--format", "json", "--severity", severity]);
            let found = &run.json()["objects"][0]["notifications"][0];
            assert_eq!(found["delivered"], expected, "{flux} {severity}: {}", found["reason"]);
        }
    }
}

/// What of a Kustomization and a HelmRelease reaches GitHub, by version of Flux or by the image
/// of notification-controller: `getNotificationParams` of its tags 1.7.5, 1.8.0, 1.8.1, 1.9.0.
#[test]
fn commit_statuses_by_kind_severity_and_version() {
    const OBJECTS: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: apps}
spec: {interval: 1h, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: web}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec: {interval: 1h, chartRef: {kind: OCIRepository, name: web}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: status, namespace: apps}
spec: {type: github, address: https://github.com/example/web}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: status, namespace: apps}
spec:
  providerRef: {name: status}
  eventSources: [{kind: Kustomization, name: \"*\"}, {kind: HelmRelease, name: \"*\"}]
";
    const DROPPED: &str = "due to missing commit metadata key";
    const NO_HASH: &str = "failed to extract commit hash from '<version of the chart>' revision";
    type Answer = (bool, &'static str);
    let check = |files: &[(&str, &str)], name: &str, expected: [[Answer; 2]; 2]| {
        let scratch = Scratch::new(files);
        for (severity, expected) in ["info", "error"].into_iter().zip(expected) {
            let run = scratch.forebay(&["simulate", "events", "--format", "json", "--severity", severity]);
            let answer = run.json();
            for (kind, (delivered, reason)) in ["HelmRelease", "Kustomization"].into_iter().zip(expected) {
                let objects = answer["objects"].as_array().unwrap();
                let one = objects.iter().find(|one| one["object"]["kind"] == kind).unwrap();
                let found = &one["notifications"][0];
                let told = found["reason"].as_str().unwrap_or_default();
                assert_eq!(found["delivered"], delivered, "{name} {severity} {kind}: {told}");
                assert!(told.contains(reason), "{name} {severity} {kind}: {told}");
                assert_eq!(told.is_empty(), reason.is_empty(), "{name} {severity} {kind}: {told}");
            }
        }
    };
    let nothing = [(false, DROPPED), (false, DROPPED)];
    let success = [[(false, DROPPED), (true, "progress and failures: event dropped")], nothing];
    let all = [[(false, NO_HASH), (true, "")], [(false, NO_HASH), (true, "")]];
    let newest = [[(false, NO_HASH), (true, "progress: event dropped")], [(false, NO_HASH), (true, "")]];
    for (flux, expected) in [
        ("2.4", all),
        ("2.7", all),
        ("2.8.0", [nothing, nothing]),
        ("2.8.1", success),
        ("2.8", success),
        ("2.9", newest),
    ] {
        let config = configured(&format!("target: {{flux: \"{flux}\"}}\n"));
        check(&[(".forebay.yaml", &config), ("clusters/prod/all.yaml", OBJECTS)], flux, expected);
    }
    for (image, expected) in
        [("v1.7.5", all), ("v1.8.0", [nothing, nothing]), ("v1.8.1", success), ("v1.9.3", newest)]
    {
        let controller = format!(
            "---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: notification-controller, namespace: flux-system}}
spec:
  template:
    spec:
      containers: [{{name: manager, image: \"ghcr.io/fluxcd/notification-controller:{image}\"}}]
"
        );
        let objects = format!("{OBJECTS}{controller}");
        check(&[(".forebay.yaml", &configured("")), ("clusters/prod/all.yaml", &objects)], image, expected);
    }
}

/// Source: flux-operator `internal/controller`, `notify` of each reconciler: a ResourceSet's
/// events have no metadata, failures of a ResourceSetInputProvider neither.
#[test]
fn revisions_of_flux_operators_events() {
    let text = "apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {name: flux, namespace: flux-system}
spec: {distribution: {version: 2.7.x, registry: ghcr.io/fluxcd}}
---
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata: {name: apps, namespace: flux-system}
spec: {inputs: [{a: b}], resources: []}
---
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSetInputProvider
metadata: {name: inputs, namespace: flux-system}
spec: {type: Static, defaultValues: {a: b}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: status, namespace: flux-system}
spec: {type: github, address: https://github.com/example/web}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: status, namespace: flux-system}
spec:
  providerRef: {name: status}
  eventSources:
    - {kind: FluxInstance, name: \"*\"}
    - {kind: ResourceSet, name: \"*\"}
    - {kind: ResourceSetInputProvider, name: \"*\"}
";
    let config = configured("target: {flux: \"2.7\"}\n");
    let scratch = Scratch::new(&[(".forebay.yaml", &config), ("clusters/prod/all.yaml", text)]);
    for (kind, severity, delivered, keys) in [
        ("FluxInstance", "info", true, vec!["revision"]),
        ("FluxInstance", "error", true, vec!["revision"]),
        ("ResourceSet", "info", false, vec![]),
        ("ResourceSet", "error", false, vec![]),
        ("ResourceSetInputProvider", "info", true, vec!["revision"]),
        ("ResourceSetInputProvider", "error", false, vec![]),
    ] {
        let run = scratch.forebay(&["simulate", "events", "--format", "json", "--severity", severity]);
        let answer = run.json();
        let objects = answer["objects"].as_array().expect("a list");
        let one = objects.iter().find(|one| one["object"]["kind"] == kind).expect("the object");
        let found = &one["notifications"][0];
        assert_eq!(found["delivered"], delivered, "{kind} {severity}: {}", found["reason"]);
        assert_eq!(found["runtimeKeys"], json!(keys), "{kind} {severity}");
    }
}

/// Objects of which no controller tells anything, and conflicts that are sure without an event.
#[test]
fn events_that_are_never_emitted_and_keys_that_the_controller_overrides() {
    let objects = "apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: apps}
spec: {type: oci, url: oci://ghcr.io/example, interval: 1h}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: web
  namespace: apps
  annotations: {event.toolkit.fluxcd.io/revision: mine, event.toolkit.fluxcd.io/oci-digest: mine}
spec: {interval: 1h, chartRef: {kind: OCIRepository, name: web}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: web, namespace: apps}
spec: {interval: 1h, url: https://example.com/web, suspend: true}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: chat, namespace: apps}
spec: {type: slack, channel: general}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: chat, namespace: apps}
spec:
  providerRef: {name: chat}
  eventMetadata: {app-version: \"1\"}
  eventSources:
    - {kind: HelmRepository, name: \"*\"}
    - {kind: HelmRelease, name: \"*\"}
    - {kind: GitRepository, name: \"*\"}
";
    for (flux, charts, keys, message) in [
        ("2.1", None, vec!["app-version"], None),
        ("2.4", Some("static"), vec!["app-version"], Some("for 'app-version' in HelmRelease/apps/web")),
        (
            "2.9",
            Some("static"),
            vec!["app-version", "oci-digest", "revision"],
            Some("metadata key conflicts detected"),
        ),
    ] {
        let config = configured(&format!("target: {{flux: \"{flux}\"}}\n"));
        let scratch = Scratch::new(&[(".forebay.yaml", &config), ("clusters/prod/all.yaml", objects)]);
        let answer = scratch.forebay(&["simulate", "events", "--format", "json"]).json();
        let of = |kind: &str| {
            let objects = answer["objects"].as_array().unwrap();
            let one = objects.iter().find(|one| one["object"]["kind"] == kind).unwrap();
            one["notifications"][0].clone()
        };
        let git = of("GitRepository");
        assert_eq!(git["reason"], "no event is emitted: it is suspended", "{flux}");
        let repository = of("HelmRepository");
        assert_eq!(repository["delivered"], charts.is_none(), "{flux}: {repository}");
        let why = repository["reason"].as_str().unwrap_or_default();
        assert!(why.contains(charts.unwrap_or_default()), "{flux}: {why}");
        let release = of("HelmRelease");
        let told: Vec<&str> =
            release["conflicts"].as_array().unwrap().iter().filter_map(|one| one["key"].as_str()).collect();
        assert_eq!(told, keys, "{flux}: {release}");
        let last = release["conflicts"][0]["sources"].as_array().unwrap().last().cloned();
        assert_eq!(last.unwrap(), "involved object controller metadata", "{flux}");
        match message {
            Some(message) => {
                let event = release["event"]["message"].as_str().unwrap_or_default();
                assert!(event.contains(message), "{flux}: {release}");
            }
            None => assert!(release["event"].is_null(), "{flux}: {release}"),
        }
    }
}

/// A managed Cluster whose class lists versions.
/// Source: helm-controller `isSourceWithRevisionDigest`.
#[test]
fn the_digest_of_a_chart_is_told_of_oci_artifacts_alone() {
    for (chart, keys, digest) in [
        ("chartRef: {kind: OCIRepository, name: web}", 3, Some("known at run time")),
        ("chartRef: {kind: ExternalArtifact, name: web}", 3, Some("in some events only")),
        ("chartRef: {kind: HelmChart, name: web}", 2, None),
        ("chart: {spec: {chart: web, sourceRef: {kind: HelmRepository, name: web}}}", 2, None),
    ] {
        let text = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: web, namespace: apps}}
spec: {{interval: 1h, {chart}}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {{name: chat, namespace: apps}}
spec: {{type: slack, channel: general}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {{name: all, namespace: apps}}
spec: {{providerRef: {{name: chat}}, eventSources: [{{kind: HelmRelease, name: '*'}}]}}
"
        );
        let scratch = Scratch::new(&[(".forebay.yaml", &configured("")), ("clusters/prod/all.yaml", &text)]);
        let events = ["simulate", "events", "--object", "HelmRelease/apps/web"];
        let answer = scratch.forebay(&[&events[..], &["--format", "json"]].concat()).json();
        let told = &answer["objects"][0]["notifications"][0]["runtimeKeys"];
        assert_eq!(told.as_array().map(Vec::len), Some(keys), "{chart}: {told}");
        let out = scratch.forebay(&events).out;
        let line = out.lines().find(|line| line.trim_start().starts_with("oci-digest"));
        assert_eq!(line.is_some(), digest.is_some(), "{chart}: {out}");
        assert!(line.is_none_or(|line| line.contains(digest.unwrap_or_default())), "{chart}: {line:?}");
    }
}

/// Source: source-controller has no reconciler of ExternalArtifacts, and source-watcher
/// tells of the ArtifactGenerator.
#[test]
fn nothing_tells_of_what_no_controller_reconciles() {
    let text = "apiVersion: source.toolkit.fluxcd.io/v1
kind: ExternalArtifact
metadata: {name: out, namespace: apps}
spec: {sourceRef: {apiVersion: source.extensions.fluxcd.io/v1beta1, kind: ArtifactGenerator, name: gen}}
---
apiVersion: source.extensions.fluxcd.io/v1beta1
kind: ArtifactGenerator
metadata: {name: gen, namespace: apps}
spec: {sources: [{alias: a, kind: GitRepository, name: x}], artifacts: [{name: b, copy: [{from: '@a/**', to: '@artifact/'}]}]}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: chat, namespace: apps}
spec: {type: slack, channel: general}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all, namespace: apps}
spec:
  providerRef: {name: chat}
  eventSources: [{kind: ExternalArtifact, name: '*'}, {kind: ArtifactGenerator, name: '*'}]
";
    let scratch = Scratch::new(&[(".forebay.yaml", &configured("")), ("clusters/prod/all.yaml", text)]);
    for (object, delivered) in [("ExternalArtifact/apps/out", false), ("ArtifactGenerator/apps/gen", true)] {
        let run = scratch.forebay(&["simulate", "events", "--object", object, "--format", "json"]);
        let found = run.json()["objects"][0]["notifications"][0].take();
        assert_eq!(found["delivered"], delivered, "{object}: {found:#}");
        let why = found["reason"].as_str().unwrap_or_default();
        assert_eq!(why.contains("no controller tells of an ExternalArtifact"), !delivered, "{why}");
    }
}

/// Source: flux-operator 0.41 `internal/web/audit.go`, `sendAuditEvent`.
#[test]
fn audit_events_of_the_web_ui_have_keys_of_their_own() {
    let all = |config: &str| {
        let text = format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: flux-operator, namespace: flux-system}}
spec:
  interval: 1h
  chartRef: {{kind: OCIRepository, name: flux-operator}}
  values: {{web: {{config: {{userActions: {config}}}}}}}
---
apiVersion: image.toolkit.fluxcd.io/v1
kind: ImagePolicy
metadata: {{name: app, namespace: flux-system}}
spec: {{suspend: true, imageRepositoryRef: {{name: app}}, policy: {{alphabetical: {{}}}}}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {{name: chat, namespace: flux-system}}
spec: {{type: slack, channel: general}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {{name: all, namespace: flux-system}}
spec:
  providerRef: {{name: chat}}
  eventMetadata: {{username: nobody}}
  eventSources: [{{kind: HelmRelease, name: '*'}}, {{kind: ImagePolicy, name: '*'}}]
"
        );
        Scratch::new(&[(".forebay.yaml", &configured("")), ("clusters/prod/all.yaml", &text)])
    };
    for (config, is_audited) in
        [("{audit: ['*']}", true), ("{audit: [suspend]}", true), ("{audit: []}", false)]
    {
        let scratch = all(config);
        let answer = scratch.forebay(&["simulate", "events", "--format", "json"]).json();
        let found = |kind: &str| {
            let objects = answer["objects"].as_array().expect("a list");
            let of_kind = objects.iter().find(|one| one["object"]["kind"] == kind).expect("the object");
            of_kind["notifications"][0].clone()
        };
        let release = found("HelmRelease");
        let keys = release["runtimeKeys"].to_string();
        for key in ["\"action\"", "\"groups\"", "\"subject\""] {
            assert_eq!(keys.contains(key), is_audited, "{config}: {keys}");
        }
        // The Alert's key wins over flux-operator's.
        assert!(!keys.contains("username"), "{keys}");
        assert_eq!(release["metadata"]["username"], "nobody");
        let policy = found("ImagePolicy")["runtimeKeys"].to_string();
        assert!(!policy.contains("subject"), "{policy}");
        // Who is suspended is acted on all the same.
        assert_eq!(found("ImagePolicy")["delivered"], is_audited, "{config}: {answer:#}");
        let text = scratch.forebay(&["simulate", "events"]).out;
        let row = text.lines().any(|line| line.contains("action") && line.ends_with("flux-operator"));
        assert_eq!(row, is_audited, "{text}");
        let errors = scratch.forebay(&["simulate", "events", "--severity", "error", "--format", "json"]);
        assert!(!errors.out.contains("\"action\""), "{}", errors.out);
    }
    let scratch = all("{audit: [suspend]}");
    let event = json!({
        "involvedObject": {"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
                           "namespace": "flux-system", "name": "flux-operator"},
        "severity": "info", "reason": "WebAction", "reportingController": "flux-operator",
        "message": "User 'ann' performed action 'suspend' for 'HelmRelease/flux-system/flux-operator' on the web UI",
        "metadata": {"event.toolkit.fluxcd.io/action": "suspend", "event.toolkit.fluxcd.io/username": "ann",
                     "event.toolkit.fluxcd.io/groups": "sre", "helm.toolkit.fluxcd.io/token": "x"},
    });
    scratch.write("event.json", event.to_string().as_bytes());
    let answer = scratch.forebay(&["simulate", "events", "--event", "event.json", "--format", "json"]).json();
    let found = &answer["objects"][0]["notifications"][0];
    assert_eq!(found["metadata"], json!({"action": "suspend", "groups": "sre", "username": "nobody"}));
    assert_eq!(found["conflicts"][0]["key"], "username", "{found:#}");
}

/// Source: notification-controller `internal/notifier`, `Post` of the git providers and of
/// PagerDuty (`HasReason(meta.ProgressingReason)`) and of `otel.go`.
#[test]
fn providers_pass_over_progress_and_what_starts_no_trace() {
    for (kind, source, reason, delivered) in [
        ("slack", "HelmRepository", "Progressing", true),
        ("pagerduty", "HelmRepository", "Progressing", false),
        ("pagerduty", "HelmRepository", "NewArtifact", true),
        ("github", "HelmRepository", "Progressing", false),
        ("otel", "HelmRepository", "NewArtifact", false),
        ("otel", "GitRepository", "NewArtifact", true),
    ] {
        let text = format!(
            "apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {{name: to, namespace: flux-system}}
spec: {{type: {kind}, address: \"https://example.com/a/b\", channel: general}}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {{name: all, namespace: flux-system}}
spec: {{providerRef: {{name: to}}, eventSources: [{{kind: {source}, name: '*'}}]}}
"
        );
        let event = json!({
            "involvedObject": {"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": source,
                               "namespace": "flux-system", "name": "app"},
            "severity": "info", "reason": reason, "message": "m",
            "metadata": {"source.toolkit.fluxcd.io/revision": "main@sha1:4ac2bd3d7ae2f9ae4ac2bd3d7ae2f9ae4ac2bd3d"},
        });
        let scratch = Scratch::new(&[
            (".forebay.yaml", &configured("target: {flux: \"2.7\"}\n")),
            ("clusters/prod/all.yaml", &text),
            ("event.json", &event.to_string()),
        ]);
        let run = scratch.forebay(&["simulate", "events", "--event", "event.json", "--format", "json"]);
        let found = run.json()["objects"][0]["notifications"][0].take();
        assert_eq!(found["delivered"], delivered, "{kind} {source} {reason}: {}", found["reason"]);
    }
}

fn topology(target: &str, version: &str) -> Scratch {
    Scratch::new(&[
        (".forebay.yaml", &configured(target)),
        (
            "clusters/prod/all.yaml",
            &format!(
                "apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {{name: quick, namespace: fleet}}
spec: {{kubernetesVersions: [v1.32.8, v1.33.5, v1.34.1]}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {{name: prod, namespace: fleet}}
spec:
  topology:
    classRef: {{name: quick}}
    version: {version}
    controlPlane: {{replicas: 3}}
"
            ),
        ),
    ])
}

fn hooks(scratch: &Scratch, arguments: &[&str]) -> Value {
    let mut all = vec!["simulate", "hooks", "Cluster/fleet/prod", "--format", "json"];
    all.extend(arguments);
    let run = scratch.forebay(&all);
    assert_eq!(run.code, 0, "{}", run.err);
    run.json()
}

#[test]
fn no_hook_is_called_unless_runtime_sdk_is_stated() {
    let upgrade = ["--on", "upgrade", "--to", "v1.33.5"];
    for (target, called) in [
        ("target: {clusterApi: \"1.12\"}\n", false),
        ("", false),
        ("target: {clusterApi: \"1.12\", features: {runtimeSdk: disabled}}\n", false),
        ("target: {clusterApi: \"1.12\", features: {runtimeSdk: enabled}}\n", true),
    ] {
        let scratch = topology(target, "v1.32.8");
        let answer = hooks(&scratch, &upgrade);
        assert_eq!(answer["runtimeSdk"], called, "{target}");
        let says = answer["notes"].to_string().contains("no lifecycle hook is called");
        assert_eq!(says, target.contains("disabled"), "{target}: {}", answer["notes"]);
        let steps = answer["steps"].to_string();
        assert!(steps.contains("BeforeClusterUpgrade"), "with RuntimeSDK on: {steps}");
        let mut text = vec!["simulate", "hooks", "Cluster/fleet/prod"];
        text.extend(upgrade);
        let text = scratch.forebay(&text).out;
        assert_eq!(text.contains("with RuntimeSDK on:"), !called, "{text}");
    }
}

#[test]
fn an_unreachable_extension_is_judged_by_its_failure_policy() {
    let answer = |policy: &str| {
        let extensions = match policy {
            "" => String::new(),
            policy => format!(
                ", extensions: [{{name: addons, handlers: [{{name: up, hook: BeforeClusterUpgrade, failurePolicy: {policy}}}]}}]"
            ),
        };
        let target =
            format!("target: {{clusterApi: \"1.12\", features: {{runtimeSdk: enabled}}{extensions}}}\n");
        let scratch = topology(&target, "v1.32.8");
        let mut answer = hooks(
            &scratch,
            &["--on", "upgrade", "--to", "v1.33.5", "--respond", "BeforeClusterUpgrade=unreachable"],
        );
        answer["steps"][0].take()
    };
    assert_eq!(answer("Fail")["state"], "aborted");
    assert_eq!(answer("Ignore")["state"], "done");
    let unknown = answer("");
    assert_eq!(unknown["state"], "aborted");
    assert!(unknown["reason"].as_str().unwrap().contains("with Ignore it counts as success"), "{unknown}");
}

#[test]
fn hooks_of_chained_upgrades_need_cluster_api_1_12() {
    for (minor, there) in [("1.11", false), ("1.12", true), ("1.13", true)] {
        let target = format!("target: {{clusterApi: \"{minor}\", features: {{runtimeSdk: enabled}}}}\n");
        let answer = hooks(&topology(&target, "v1.32.8"), &["--on", "upgrade", "--to", "v1.33.5"]);
        let steps = answer["steps"].to_string();
        assert_eq!(steps.contains("BeforeControlPlaneUpgrade"), there, "{minor}: {steps}");
        let answer = hooks(
            &topology(&target, "v1.32.8"),
            &["--on", "upgrade", "--to", "v1.33.5", "--respond", "AfterClusterUpgrade=blocking"],
        );
        let blocked = answer["steps"].to_string().contains("\"blocked\"");
        assert_eq!(blocked, there, "AfterClusterUpgrade {minor}");
    }
}

#[test]
fn a_topology_version_that_the_webhook_rejects_is_refused() {
    for (version, arguments, why) in [
        ("v1.32.8", vec!["--on", "upgrade", "--to", "v1.33"], "no full semantic version"),
        ("v1.33", vec!["--on", "create"], "no full semantic version"),
        ("v1.33.9", vec!["--on", "create"], "kubernetesVersions"),
        ("v1.32.8", vec!["--on", "upgrade", "--to", "v1.33.6"], "kubernetesVersions"),
    ] {
        let target = "target: {clusterApi: \"1.12\", features: {runtimeSdk: enabled}}\n";
        let answer = hooks(&topology(target, version), &arguments);
        assert_eq!(answer["steps"], json!([]), "{version} {arguments:?}");
        assert!(answer["notes"].to_string().contains(why), "{version}: {}", answer["notes"]);
    }
    let older = "target: {clusterApi: \"1.11\", features: {runtimeSdk: enabled}}\n";
    let answer = hooks(&topology(older, "v1.33.9"), &["--on", "create"]);
    assert_ne!(answer["steps"], json!([]), "1.11 does not read the list");
}

#[test]
fn versions_beyond_the_known_are_judged_with_a_warning() {
    for (target, expected) in [
        ("target: {flux: \"2.12\"}\n", "newer than 2.9"),
        ("target: {flux: \"0.41\"}\n", "older than 2.0"),
        ("target: {clusterApi: \"1.99\"}\n", "newer than 1.15"),
    ] {
        let scratch = topology(target, "v1.32.8");
        let run = scratch.forebay(&["lint", "--select", "unsupported-version", "--format", "concise"]);
        assert!(run.out.contains("unsupported-version"), "{target}: {}{}", run.out, run.err);
        let json = scratch.forebay(&["lint", "--select", "unsupported-version", "--format", "json"]).json();
        assert!(json["findings"][0]["why"].as_str().unwrap().contains(expected), "{json}");
    }
}

#[test]
fn the_first_line_says_the_version_and_from_where() {
    let scratch = events("2.4");
    let run = scratch.forebay(&["simulate", "suspend"]);
    let first = run.out.lines().next().unwrap();
    assert!(first.contains("Flux 2.4 (.forebay.yaml:1)"), "{first}");
    let out = scratch.forebay(&["simulate", "events"]).out;
    assert!(out.lines().next().unwrap().contains("Flux 2.4"), "{out}");
    let unstated = events("").forebay(&["simulate", "events"]).out;
    let unstated = unstated.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(unstated.contains("simulated as Flux 2.9, as nothing states its version"), "{unstated}");
    assert!(
        unstated.contains("from Flux 2.5 on") && unstated.contains("before,"),
        "both answers: {unstated}"
    );
    let topology = topology("target: {clusterApi: \"1.12\"}\n", "v1.32.8");
    let out = topology.forebay(&["simulate", "hooks", "Cluster/fleet/prod", "--on", "create"]).out;
    assert!(out.lines().next().unwrap().contains("Cluster API 1.12 (.forebay.yaml:1)"), "{out}");
}

/// Tags of kubernetes-sigs/cluster-api: 1.14 is the newest minor that is released.
#[test]
fn the_newest_released_cluster_api_is_simulated_and_a_later_one_is_said_to_be_none() {
    for (target, words) in [
        ("", "simulated as Cluster API 1.14, as nothing states its version"),
        ("target: {clusterApi: \"1.14\"}\n", "Cluster API 1.14 (.forebay.yaml:1)"),
        ("target: {clusterApi: \"1.15\"}\n", "Cluster API 1.15, which is not released (.forebay.yaml:1)"),
    ] {
        let scratch = topology(target, "v1.32.8");
        let out = scratch.forebay(&["simulate", "propagation"]).out;
        let first = out.lines().next().unwrap_or_default();
        assert!(first.contains(words), "{target}: {first}");
    }
}

#[test]
fn an_annotation_holds_an_upgrade_from_cluster_api_1_10_on() {
    for (minor, held) in [("1.9", false), ("1.10", true), ("1.11", true)] {
        let target = format!("target: {{clusterApi: \"{minor}\", features: {{runtimeSdk: enabled}}}}\n");
        let scratch = topology(&target, "v1.32.8");
        let held_by = "before-upgrade.hook.cluster.cluster.x-k8s.io/backup";
        let text = scratch.read("clusters/prod/all.yaml");
        let cluster = "metadata: {name: prod, namespace: fleet}";
        let annotated = cluster.replace('}', &format!(", annotations: {{{held_by}: \"\"}}}}"));
        scratch.write("clusters/prod/all.yaml", text.replace(cluster, &annotated).as_bytes());
        let answer = hooks(&scratch, &["--on", "upgrade", "--to", "v1.33.5"]);
        let first = &answer["steps"][0];
        assert_eq!(first["state"] == "blocked", held, "{minor}: {first}");
        assert_eq!(first["reason"].to_string().contains(held_by), held, "{minor}: {first}");
    }
}

/// Two clusters that apply one text, whose FluxInstances ask for these versions of Flux.
fn two_clusters(versions: [&str; 2], text: &str) -> Scratch {
    let instance = |name: &str, version: &str| {
        format!(
            "apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {{name: flux, namespace: flux-system}}
spec:
  distribution: {{version: {version}, registry: ghcr.io/fluxcd}}
  sync: {{kind: GitRepository, url: 'https://example.com/o/r', ref: refs/heads/main, path: clusters/{name}}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: apps, namespace: flux-system}}
spec:
  interval: 1h
  path: ./apps
  prune: true
  sourceRef: {{kind: GitRepository, name: flux-system}}
  postBuild: {{substitute: {{region: eu}}}}
"
        )
    };
    Scratch::new(&[
        ("clusters/a/flux.yaml", &instance("a", versions[0])),
        ("clusters/b/flux.yaml", &instance("b", versions[1])),
        ("apps/app.yaml", text),
    ])
}

fn findings_of(rule: &str, scratch: &Scratch) -> Vec<Value> {
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    let all = answer["findings"].as_array().expect("findings");
    all.iter().filter(|finding| finding["rule"] == rule).cloned().collect()
}

/// The most severe is told of one text, and what happens in the other cluster beside it.
#[test]
fn one_text_in_clusters_of_two_versions_is_told_for_each() {
    let fails = "the build of Kustomization flux-system/apps fails, so nothing of it is applied";
    let emptied = "it is replaced by nothing; from Flux 2.9 the build fails instead";
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: apps}\ndata: {zone: \"${zone}\"}\n";
    for (versions, level, why) in [
        (["2.8.1", "2.9.0"], "error", format!("{fails}; in cluster a: {emptied}")),
        (["2.9.0", "2.8.1"], "error", format!("{fails}; in cluster b: {emptied}")),
        (["2.9.0", "2.9.4"], "error", fails.to_owned()),
        (["2.7.0", "2.8.1"], "warning", emptied.to_owned()),
    ] {
        let found = findings_of("undefined-substitution", &two_clusters(versions, text));
        assert_eq!(found.len(), 1, "{versions:?}: {found:?}");
        assert_eq!(found[0]["clusters"], json!(["a", "b"]), "{versions:?}");
        assert_eq!(found[0]["level"], level, "{versions:?}");
        assert_eq!(found[0]["why"], why.as_str(), "{versions:?}");
    }
}

/// A version that one cluster no longer serves is told of that one, and the fix names one that
/// both serve.
#[test]
fn a_version_that_one_of_two_clusters_no_longer_serves_is_told_of_that_one() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2beta2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec:
  interval: 1h
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
";
    let source = "apiVersion: source.toolkit.fluxcd.io/v1beta2
kind: OCIRepository
metadata: {name: web, namespace: apps}
spec: {interval: 1h, url: 'oci://example.com/web', ref: {tag: 1.0.0}}
";
    let v2 = "use helm.toolkit.fluxcd.io/v2";
    let v1 = "use source.toolkit.fluxcd.io/v1";
    let none = "use source.toolkit.fluxcd.io/v1 once all clusters that apply it have Flux 2.6: no version is \
                served by all of them";
    for (versions, text, clusters, help) in [
        (["2.9.0", "2.5.1"], release, json!(["a"]), v2),
        (["2.5.1", "2.9.0"], release, json!(["b"]), v2),
        (["2.8.0", "2.9.0"], release, json!(["a", "b"]), v2),
        (["2.9.0", "2.7.0"], source, json!(["a"]), v1),
        (["2.9.0", "2.5.1"], source, json!(["a"]), none),
    ] {
        let scratch = two_clusters(versions, text);
        let found = findings_of("removed-api-version", &scratch);
        assert_eq!(found.len(), 1, "{versions:?}: {found:?}");
        assert_eq!(found[0]["clusters"], clusters, "{versions:?}");
        assert_eq!(found[0]["level"], "error", "{versions:?}");
        assert_eq!(found[0]["help"], help, "{versions:?}");
        let has_fix = !found[0]["fixes"].as_array().expect("fixes").is_empty();
        assert_eq!(has_fix, help != none, "{versions:?}");
    }
    for versions in [["2.5.1", "2.7.0"], ["2.7.8", "2.4.0"]] {
        assert_eq!(findings_of("removed-api-version", &two_clusters(versions, release)), Vec::<Value>::new());
    }
}

#[test]
fn a_kubernetes_version_that_one_of_two_clusters_no_longer_serves_is_told_of_that_one() {
    let budget = "apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: web, namespace: apps}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
";
    let fits = "use policy/v1, which Kubernetes has since 1.21";
    for (versions, clusters, help) in [
        (["1.30", "1.24"], json!(["a"]), fits),
        (["1.24", "1.30"], json!(["b"]), fits),
        (["1.29", "1.30"], json!(["a", "b"]), fits),
        (
            ["1.30", "1.20"],
            json!(["a"]),
            "use policy/v1 once all clusters that apply it have Kubernetes 1.21",
        ),
        (["1.24", "1.23"], json!([]), ""),
    ] {
        let scratch = two_clusters(["2.9.0", "2.9.0"], budget);
        let cluster = |name: &str, version: &str| {
            format!("{{name: {name}, path: clusters/{name}, target: {{kubernetes: \"{version}\"}}}}")
        };
        let both = [cluster("a", versions[0]), cluster("b", versions[1])];
        let config = format!("version: 1\nclusters: [{}]\n", both.join(", "));
        scratch.write(".forebay.yaml", config.as_bytes());
        let found = findings_of("removed-kubernetes-api", &scratch);
        let told = found.first().map_or(json!([]), |finding| finding["clusters"].clone());
        assert_eq!(told, clusters, "{versions:?}: {found:?}");
        assert!(found.iter().all(|finding| finding["help"] == help), "{versions:?}: {found:?}");
        assert!(found.iter().all(|finding| finding["level"] == "error"), "{versions:?}: {found:?}");
    }
}

/// What an older cluster refuses is told of it alone.
#[test]
fn an_alert_and_a_provider_that_one_of_two_clusters_refuses_are_told_of_that_one() {
    let provider = "apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: chat, namespace: apps}
spec: {type: zulip, address: 'https://example.com', channel: ops/alerts}
";
    let alert = "apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: all, namespace: apps}
spec:
  providerRef: {name: chat}
  eventSources: [{kind: ArtifactGenerator, name: '*'}]
";
    for (rule, text) in [("unknown-provider-type", provider), ("unsupported-alert-source-kind", alert)] {
        for (versions, clusters) in [
            (["2.3.0", "2.9.0"], json!(["a"])),
            (["2.9.0", "2.3.0"], json!(["b"])),
            (["2.2.0", "2.3.0"], json!(["a", "b"])),
            (["2.8.0", "2.9.0"], json!([])),
        ] {
            let found = findings_of(rule, &two_clusters(versions, text));
            let told = found.first().map_or(json!([]), |finding| finding["clusters"].clone());
            assert_eq!(told, clusters, "{rule} {versions:?}: {found:?}");
        }
    }
}
