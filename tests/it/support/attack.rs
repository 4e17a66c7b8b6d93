//! A repository with a text of someone else in every place that forebay prints, and
//! every command with each of its formats.

use super::scratch::Scratch;

/// Commands with their formats. None of them writes to the tree.
pub(crate) const COMMANDS: &[(&[&str], &[&str])] = &[
    (
        &["lint", "--show", "info"],
        &["full", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "html"],
    ),
    (&["lint", "--show", "info", "--statistics"], &["full", "concise", "markdown"]),
    (&["lint", "--show", "info", "--list-unchecked"], &["full", "concise"]),
    (&["lint", "--since", "HEAD"], &["full", "json", "markdown"]),
    (&["lint", "--fix=unsafe", "--diff"], &["diff"]),
    (&["build", "apps/a"], &["yaml", "json"]),
    (&["build", "apps/a", "--origin"], &["yaml", "json"]),
    (&["build", "--all"], &["yaml", "json"]),
    (&["build", "--all", "--origin"], &["yaml", "json"]),
    (&["simulate", "events", "--explain"], &["text", "json"]),
    (&["simulate", "gates", "--at", "2026-03-27T09:00:00Z"], &["text", "json", "mermaid", "svg"]),
    (&["simulate", "gates", "--at", "2026-03-27T09:00:00Z", "--why", "ks/*"], &["text"]),
    (&["simulate", "suspend"], &["text", "json"]),
    (&["simulate", "propagation"], &["text", "json"]),
    (&["simulate", "hooks", "Cluster/fleet/prod", "--on", "upgrade", "--to", "v1.32.0"], &["text", "json"]),
    (&["plan", "--base", "HEAD"], &["text", "json", "markdown", "github", "html"]),
    (&["map", "--at", "2026-03-27T09:00:00Z", "--base", "HEAD"], &["html"]),
    (&["graph"], &["text", "mermaid", "dot", "svg", "json"]),
    (&["chart", "list"], &["text", "json"]),
    (&["why", "ConfigMap/*/plain"], &["text", "json"]),
    (&["locate", "ConfigMap/*/plain"], &["text", "json"]),
    (&["locate", "ConfigMap/*/plain", "/data/copied"], &["text", "json"]),
    (&["suspend", "ks/*", "--message", "why", "--diff"], &["diff"]),
    (&["resume", "ks/*", "--diff"], &["diff"]),
    (&["gate", "open", "plain", "--at", "2026-03-27T09:00:00Z", "--diff"], &["diff"]),
    (&["migrate", "alert-summary", "--diff"], &["diff"]),
    (&["migrate", "suspend", "--to", "spec", "--diff"], &["diff"]),
    (&["migrate", "api-versions", "--to", "2.9", "--diff"], &["diff"]),
    (&["rename", "ks/app", "front", "--check"], &["text", "json"]),
    (&["rename", "Secret/secret", "hidden", "--diff"], &["diff"]),
    (&["move", "apps/a", "apps/b", "--check"], &["text", "json"]),
    (&["config", "show"], &["text", "json"]),
];

/// The command line of a row in one format.
pub(crate) fn command_line<'a>(arguments: &[&'a str], format: &'a str) -> Vec<&'a str> {
    let mut line = arguments.to_vec();
    let has_one = format == "diff" || arguments[0] == "map";
    if !has_one && !arguments.contains(&"--why") {
        line.extend(["--format", format]);
    }
    line
}

/// A repository where `text` is names, values, annotations, messages and paths; its
/// last commit has fewer objects, so that there is a change.
pub(crate) fn repository(text: &str) -> Scratch {
    let quoted = serde_json::to_string(text).expect("JSON");
    // Characters that no file system or git takes in a name.
    let name: String = text.chars().map(|c| if c == '/' || c == '\0' { '-' } else { c }).take(60).collect();
    let fill = |text: &str| text.replace("@@", &quoted);
    let path = serde_json::to_string(&format!("./clusters/{name}")).expect("JSON");
    let own = fill(SYNC).replace("./clusters/a", &path);
    let scratch = Scratch::git(&[]);
    scratch.write("clusters/a/flux-system/gotk-sync.yaml", fill(SYNC).as_bytes());
    scratch.write("clusters/a/apps.yaml", fill(APPS).as_bytes());
    scratch.write("apps/a/kustomization.yaml", fill(KUSTOMIZATION).as_bytes());
    scratch.write("apps/a/plain.yaml", fill(PLAIN).as_bytes());
    scratch.write("clusters/broken/kustomization.yaml", fill(BROKEN).as_bytes());
    scratch.commit("base");
    scratch.write(
        "clusters/a/apps.yaml",
        fill(APPS).replace("5m", "7m").replace("why: before", "why: after").as_bytes(),
    );
    scratch.write("apps/a/plain.yaml", fill(&PLAIN.replace("before", "after")).as_bytes());
    scratch.write(&format!("clusters/a/{name}.yaml"), fill(NAMED).as_bytes());
    scratch.write(&format!("clusters/{name}/flux-system/gotk-sync.yaml"), own.as_bytes());
    scratch.write(&format!("other/{name}/{name}.yaml"), fill(NAMED).as_bytes());
    scratch.write("other/kinds.yaml", fill(KINDS).as_bytes());
    scratch.write(&format!("other/broken-{name}.yaml"), fill("a: @@\nb: [\n").as_bytes());
    scratch.write("fleet/cluster.yaml", fill(FLEET).as_bytes());
    scratch
}

const SYNC: &str = r"apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://example.com/fleet.git', ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec:
  interval: 5m
  path: ./clusters/a
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
";

const APPS: &str = r"apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: app
  namespace: flux-system
  labels: {team: @@}
  annotations: {reconcile.fluxcd.io/suspended: @@}
spec:
  interval: 5m
  suspend: true
  path: ./apps/a
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  dependsOn: [{name: @@}, {name: gone, namespace: @@}]
  postBuild: {substitute: {variable: @@}, substituteFrom: [{kind: ConfigMap, name: @@}]}
  gates: [{name: plain}, {name: @@}]
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: broken, namespace: flux-system}
spec:
  interval: 5m
  path: ./clusters/broken
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  patches:
  - target: {kind: @@, name: @@}
    patch: @@
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: lost
  namespace: @@
spec:
  interval: @@
  path: @@
  prune: true
  sourceRef: {kind: GitRepository, name: @@}
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Alert
metadata: {name: alert, namespace: flux-system}
spec:
  providerRef: {name: @@}
  summary: @@
  eventMetadata: {summary: @@, image: @@}
  eventSources: [{kind: Kustomization, name: '*'}, {kind: HelmRelease, name: @@}, {kind: @@, name: x}]
  inclusionList: [@@]
---
apiVersion: notification.toolkit.fluxcd.io/v1beta3
kind: Provider
metadata: {name: slack, namespace: flux-system}
spec: {type: @@, channel: @@, address: 'https://hooks.slack.com/services/T0/B0/address-5d1f-token', proxy: 'http://user:proxy-5d1f-word@proxy.example.com'}
---
apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata:
  name: plain
  namespace: flux-system
  annotations: {note: @@}
spec: {interval: 30s, default: closed, window: 1h}
---
apiVersion: gating.toolkit.fluxcd.io/v1alpha1
kind: Gate
metadata: {name: @@, namespace: @@, annotations: {open.gate.fluxcd.io/requestedAt: @@}}
spec: {interval: 30s, default: @@, window: @@}
";

const NAMED: &str = r"apiVersion: v1
kind: ConfigMap
metadata: {name: @@, namespace: @@, labels: {team: @@, app.kubernetes.io/name: @@}, annotations: {event.toolkit.fluxcd.io/image: @@}}
data: {key: @@}
---
apiVersion: helm.toolkit.fluxcd.io/v2beta1
kind: HelmRelease
metadata: {name: @@, namespace: flux-system, annotations: {event.toolkit.fluxcd.io/summary: @@}}
spec: {interval: 5m, chart: {spec: {chart: @@, version: @@, sourceRef: {kind: HelmRepository, name: @@}}}, valuesFrom: [{kind: Secret, name: @@}]}
";

const KINDS: &str = r"apiVersion: @@
kind: @@
metadata: {name: @@, namespace: @@}
";

const KUSTOMIZATION: &str = r"apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [plain.yaml]
commonAnnotations: {note: @@}
secretGenerator:
- name: generated
  literals: [key=literal-5d1f-value]
patches:
- target: {kind: Secret, name: secret}
  patch: |
    - {op: add, path: /stringData/patched, value: patched-5d1f-value}
replacements:
- source: {kind: Secret, name: secret, fieldPath: stringData.plain}
  targets: [{select: {kind: ConfigMap, name: plain}, fieldPaths: [data.copied], options: {create: true}}]
";

const BROKEN: &str = r"resources: [@@]
secretGenerator:
- name: generated
  literals: [bare-5d1f-literal]
";

const PLAIN: &str = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: plain, namespace: default, labels: {bad: 'a b'}, annotations: {kustomize.toolkit.fluxcd.io/prune: @@}}
data: {key: @@, state: before, substituted: "${variable}", by-hand: by-hand plain-5d1f-value}
---
apiVersion: v1
kind: Secret
metadata:
  name: secret
  namespace: default
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{"data":{"k":"bGFzdC01ZDFmLWFwcGxpZWQ="},"stringData":{"k":"last-5d1f-applied"}}'
data: {key: ZGF0YS01ZDFmLXZhbHVl}
stringData: {plain: plain-5d1f-value, state: before-5d1f-value}
"#;

const FLEET: &str = r"apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: prod, namespace: fleet, labels: {a: @@}, annotations: {before-upgrade.hook.cluster.cluster.x-k8s.io/x: @@}}
spec:
  topology:
    class: @@
    version: v1.31.0
    controlPlane: {replicas: 3, metadata: {labels: {b: @@}, annotations: {c: @@}}}
    workers: {machineDeployments: [{class: @@, name: @@, replicas: 1, metadata: {labels: {d: @@}}}]}
    variables: [{name: @@, value: @@}]
";

/// What no output holds of the Secrets above: as text, and as base64.
pub(crate) const MARKERS: &[&str] = &[
    "address-5d1f-token",
    "proxy-5d1f-word",
    "literal-5d1f-value",
    "bare-5d1f-literal",
    "patched-5d1f-value",
    "plain-5d1f-value",
    "before-5d1f-value",
    "after-5d1f-value",
    "last-5d1f-applied",
    "bGFzdC01ZDFmLWFwcGxpZWQ",
    "ZGF0YS01ZDFmLXZhbHVl",
    "data-5d1f-value",
];
