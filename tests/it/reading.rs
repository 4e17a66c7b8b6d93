//! What a newcomer types and reads: words for objects, next steps, the verdict last.

use crate::support::scratch::{Run, Scratch, assert_schema};

const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: web:1
          env:
            - name: HOST
              value: ${HOST}
          envFrom:
            - configMapRef: {name: settings}
            - secretRef: {name: creds}
            - secretRef: {name: absent, optional: true}
";

const OTHERS: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
  namespace: shop
data:
  values.yaml: |
    image:
      tag: 1.2.3
---
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata:
  name: vault-creds
  namespace: shop
spec:
  secretStoreRef: {kind: ClusterSecretStore, name: vault}
  target: {name: creds}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: db
  namespace: shop
spec:
  interval: 1h
  chart: {spec: {chart: db, sourceRef: {kind: HelmRepository, name: charts}}}
  valuesFrom:
    - {kind: ConfigMap, name: settings}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata:
  name: charts
  namespace: shop
spec:
  interval: 1h
  url: https://charts.example.com
";

/// Two clusters that apply the same directory with other variables.
fn fleet() -> Scratch {
    let cluster = |name: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {{name: flux-system, namespace: \
             flux-system}}\nspec: {{interval: 1m, url: https://example.com/fleet, ref: {{branch: main}}}}\n---\n\
             apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps, namespace: \
             flux-system}}\nspec:\n  interval: 10m\n  path: ./apps\n  prune: true\n  sourceRef: {{kind: \
             GitRepository, name: flux-system}}\n  postBuild:\n    substitute:\n      HOST: shop.{name}.example.com\n"
        )
    };
    let list = "resources:\n  - web.yaml\n  - others.yaml\n";
    Scratch::git(&[
        (
            ".forebay.yaml",
            "version: 1\nclusters: [{name: prod, path: clusters/prod}, {name: staging, path: clusters/staging}]\n",
        ),
        ("clusters/prod/apps.yaml", &cluster("prod")),
        ("clusters/staging/apps.yaml", &cluster("staging")),
        ("apps/kustomization.yaml", list),
        ("apps/web.yaml", DEPLOYMENT),
        ("apps/others.yaml", OTHERS),
    ])
}

fn lines(run: &Run) -> Vec<&str> {
    run.out.lines().collect()
}

#[test]
fn the_verdict_is_the_last_line_and_what_was_not_checked_is_of_the_paths() {
    let scratch = fleet();
    let run = scratch.forebay(&["lint"]);
    assert_eq!(lines(&run).last(), Some(&"No findings"), "{}", run.out);
    let unchecked = |run: &Run| {
        let text = run.out.replace("\n  ", " ");
        text.lines().find(|line| line.starts_with("not checked")).map(str::to_owned)
    };
    let all = unchecked(&run).expect("a chart is not here");
    assert!(
        all.contains("1 chart (") && all.ends_with("--list-unchecked says which, and what helps"),
        "{all}"
    );
    // Of another directory, nothing is told.
    let focused = scratch.forebay(&["check", "clusters"]);
    let of_clusters = unchecked(&focused).unwrap_or_default();
    assert!(!of_clusters.contains("chart") && !of_clusters.contains("references to config"), "{of_clusters}");
    // Here is an entry point: none is asked for.
    let listed = scratch.forebay(&["lint", "--list-unchecked"]);
    assert!(!listed.out.contains("say in .forebay.yaml what Flux applies first"), "{}", listed.out);
    scratch.write(
        "apps/web.yaml",
        DEPLOYMENT.replace("app: web}}\n  template", "app: \"we b\"}}\n  template").as_bytes(),
    );
    scratch.write(
        "apps/others.yaml",
        OTHERS.replace("  name: db\n", "  name: db\n  labels: {a: \"b b\"}\n").as_bytes(),
    );
    let run = scratch.forebay(&["lint"]);
    assert!(
        lines(&run).last().is_some_and(|last| last.starts_with("Found ") && last.contains(" in ")),
        "{}",
        run.out
    );
}

#[test]
fn a_new_baseline_says_the_line_that_lets_every_run_read_it() {
    let scratch = fleet();
    scratch.write(
        "apps/others.yaml",
        OTHERS.replace("  name: db\n", "  name: db\n  labels: {a: \"b b\"}\n").as_bytes(),
    );
    let run = scratch.forebay(&["lint", "--update-baseline"]);
    assert!(run.err.contains("add `baseline: .forebay-baseline.json` to .forebay.yaml"), "{}", run.err);
    assert!(run.out.contains("1 in the baseline"), "{}", run.out);
    // What it names holds the findings back, and is not told of again.
    let config = scratch.read(".forebay.yaml") + "baseline: .forebay-baseline.json\n";
    scratch.write(".forebay.yaml", config.as_bytes());
    let run = scratch.forebay(&["lint", "--update-baseline"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
}

#[test]
fn what_is_no_command_gets_the_one_that_was_meant() {
    let scratch = fleet();
    for (arguments, told) in [
        (&["fmt"][..], "forebay formats no files"),
        (&["plan", "main"], "`forebay plan --base main`"),
        (&["lint", "--explain", "missing-reference"], "`forebay explain missing-reference`"),
        (&["build"], "--kustomization NAMESPACE/NAME"),
        (&["why"], "`forebay why FILE:LINE`"),
        (&["tree"], "`forebay graph`"),
        (&["validate"], "`forebay lint`"),
    ] {
        let run = scratch.forebay(arguments);
        assert!(run.code == 2 && run.err.contains(told), "{arguments:?}: {}", run.err);
    }
    // Without a command, all of them.
    let run = scratch.forebay(&[]);
    assert!(run.code == 2 && run.err.contains("Report what is wrong"), "{}", run.err);
    let names = |run: &Run| run.out.lines().next().unwrap_or_default().to_owned();
    assert_eq!(
        names(&scratch.forebay(&["diff", "--base", "HEAD"])),
        names(&scratch.forebay(&["plan", "--base", "HEAD"]))
    );
}

#[test]
fn objects_are_named_as_kubectl_takes_them() {
    let scratch = fleet();
    let name = |arguments: &[&str]| {
        let run = scratch.forebay(arguments);
        lines(&run).first().map_or(run.err.clone(), |line| (*line).to_owned())
    };
    for arguments in [
        &["why", "cm/settings"][..],
        &["why", "cm", "settings"],
        &["why", "configmaps/shop/settings"],
        &["why", "ConfigMap", "settings", "-n", "shop"],
        &["why", "apps/others.yaml:3"],
        &["why", "apps/others.yaml:3:5"],
    ] {
        assert_eq!(name(arguments), "ConfigMap shop/settings", "{arguments:?}");
    }
    let whole = scratch.forebay(&["why", "apps/others.yaml"]).out;
    assert_eq!(whole.lines().filter(|line| !line.starts_with(' ') && !line.is_empty()).count(), 4, "{whole}");
    for (arguments, told) in [
        (&["why", "deploy/webb"][..], "did you mean Deployment/web?"),
        (&["why", "svc/web"], "did you mean Deployment/shop/web?"),
        (&["why", "sts/x"], "there is no StatefulSet here"),
        (&["why", "apps/other.yaml"], "there is no such file"),
        (&["why", "apps/kustomization.yaml"], "no object of a cluster is made of it"),
        (&["locate", "hr/db", "/spec", "more"], "write OBJECT POINTER"),
    ] {
        let run = scratch.forebay(arguments);
        assert!(run.code == 2 && run.err.contains(told), "{arguments:?}: {}", run.err);
    }
    // Forms differ in a value: that is what tells them apart.
    let run = scratch.forebay(&["why", "deploy/web"]);
    let form = "  prod: spec.template.spec.containers[0].env[0].value = shop.prod.example.com";
    assert!(run.code == 2 && run.err.contains(form), "{}", run.err);
    for simulator in [&["simulate", "suspend"][..], &["simulate", "events"]] {
        let asked = [simulator, &["hr", "db"]].concat();
        let flagged = [simulator, &["--object", "hr/db"]].concat();
        let run = scratch.forebay(&asked);
        assert_eq!((run.code, run.out.clone()), (0, scratch.forebay(&flagged).out), "{}", run.err);
        let run = scratch.forebay(&[simulator, &["hr/none"]].concat());
        assert_eq!(run.code, 2, "{simulator:?}: {}", run.out);
    }
}

#[test]
fn values_are_traced_to_variables_and_to_values_from() {
    let scratch = fleet();
    let run = scratch.forebay(&["why", "deploy/web", "--cluster", "prod"]);
    let line = "  substitution clusters/prod/apps.yaml:16:13  ${HOST} = shop.prod.example.com";
    assert!(lines(&run).contains(&line), "{}", run.out);
    let pointer = "/spec/template/spec/containers/0/env/0/value";
    let run = scratch.forebay(&["locate", "deploy", "web", pointer, "--cluster", "prod"]);
    let expected = "apps/web.yaml:16:22 (via substitution ${HOST} = shop.prod.example.com at clusters/prod/apps.yaml:16:13)\n";
    assert_eq!(run.out, expected, "{}", run.err);
    let run = scratch.forebay(&["locate", "hr/db", "/spec/values/image/tag"]);
    assert_eq!(
        run.out, "apps/others.yaml:9:12 (by valuesFrom, ConfigMap shop/settings, key values.yaml)\n",
        "{}",
        run.err
    );
    for words in [
        &["why", "hr/db", "spec.values.image.tag"][..],
        &["why", "hr", "db", "spec.values.image.tag"],
        &["why", "hr/db", "/spec/values/image/tag"],
    ] {
        let run = scratch.forebay(words);
        let told = lines(&run);
        assert_eq!(told.get(1), Some(&"  from         apps/others.yaml:9:12"), "{}{}", run.out, run.err);
        let by = "  valuesFrom   ConfigMap shop/settings, key values.yaml";
        assert_eq!(told.get(2), Some(&by), "{}", run.out);
        assert!(told.contains(&"HelmRelease shop/db"), "{}", run.out);
    }
    let run = scratch.forebay(&["why", "hr/db", "spec.values.image.tags"]);
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{}", run.err);
    // Seen from where the user is.
    let below = scratch.forebay_in("apps", &["locate", "hr/db", "spec.interval"]);
    assert_eq!(below.out, "others.yaml:26:13\n", "{}", below.err);
    let below = scratch.forebay_in("clusters/prod", &["locate", "hr/db", "spec.interval"]);
    assert_eq!(below.out, "../../apps/others.yaml:26:13\n", "{}", below.err);
}

#[test]
fn references_are_told_both_ways() {
    let scratch = fleet();
    let run = scratch.forebay(&["why", "--references", "deploy/web", "--cluster", "prod"]);
    for line in [
        "    ConfigMap shop/settings  apps/others.yaml:1:1",
        "      spec.template.spec.containers[0].envFrom[0].configMapRef  apps/web.yaml:18:36",
        "    Secret shop/creds, made of ExternalSecret shop/vault-creds  apps/others.yaml:11:1",
        "  nothing here refers to it",
    ] {
        assert!(lines(&run).contains(&line), "{line}\n{}", run.out);
    }
    assert!(run.out.contains("    Secret shop/absent, which is optional: not here; "), "{}", run.out);
    let run = scratch.forebay(&["why", "--references", "cm/settings"]);
    assert!(run.out.contains("  is referred to by\n    Deployment shop/web\n"), "{}", run.out);
    assert!(
        run.out.contains("    HelmRelease shop/db\n      spec.valuesFrom[0]  apps/others.yaml:"),
        "{}",
        run.out
    );
    // Through what a controller makes of it.
    let run = scratch.forebay(&["why", "--references", "externalsecret/vault-creds"]);
    assert!(run.out.contains("    Deployment shop/web, by Secret shop/creds\n"), "{}", run.out);
    let answer = scratch.forebay(&["why", "--references", "es/vault-creds", "--format", "json"]).json();
    assert_eq!(answer["referencedBy"][0]["object"]["kind"], "Deployment", "{answer}");
    assert_eq!(answer["references"][0]["target"]["kind"], "ClusterSecretStore", "{answer}");
    // A chart that is not here may make it.
    assert_eq!(answer["references"][0]["standing"], "unseen", "{answer}");
    assert_schema("schemas/why.json", &answer);
}

#[test]
fn an_alert_is_shown_an_event_of_the_severity_that_it_asks_for() {
    let scratch = fleet();
    let alert = "---\napiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Provider\nmetadata: {name: chat, \
                 namespace: shop}\nspec: {type: slack, address: https://chat.example.com}\n---\napiVersion: \
                 notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {name: failures, namespace: \
                 shop}\nspec:\n  providerRef: {name: chat}\n  eventSeverity: error\n  eventSources: [{kind: \
                 HelmRelease, name: db}]\n";
    scratch.write("apps/others.yaml", format!("{OTHERS}{alert}").as_bytes());
    let events =
        |more: &[&str]| scratch.forebay(&[&["simulate", "events", "--cluster", "prod"], more].concat());
    let asked = events(&[]);
    assert!(asked.out.contains("shop/failures  slack     1 object  error"), "{}", asked.out);
    let info = events(&["--severity", "info"]);
    let told = "Alert shop/failures sends nothing at severity info; it asks for error:\n  `--severity error`";
    assert!(info.out.contains("shop/failures  -         nothing") && info.out.contains(told), "{}", info.out);
    let error = events(&["--severity", "error", "--format", "json"]).json();
    let default = events(&["--format", "json"]).json();
    let delivered = |answer: &serde_json::Value| {
        let objects = answer["objects"].as_array().expect("a list").clone();
        let release =
            objects.iter().find(|one| one["object"]["kind"] == "HelmRelease").expect("a release").clone();
        release["notifications"][0]["delivered"].clone()
    };
    assert_eq!((delivered(&error), delivered(&default)), (true.into(), true.into()));
}

#[test]
fn colours_change_no_word_of_an_answer() {
    let commands: [(&str, &[&str]); 12] = [
        ("fixtures/demo", &["plan", "--base", "./fixtures/demo"]),
        ("fixtures/demo", &["why", "HelmRelease/podinfo/podinfo", "--cluster", "production"]),
        ("fixtures/demo", &["graph"]),
        ("fixtures/demo", &["simulate", "events"]),
        ("fixtures/demo", &["simulate", "suspend"]),
        ("fixtures/demo", &["config", "show"]),
        ("fixtures/demo", &["rules"]),
        ("fixtures/demo", &["chart", "list"]),
        ("fixtures/demo", &["explain", "missing-reference"]),
        ("fixtures/demo", &["lint", "--format", "full"]),
        ("fixtures/gates", &["simulate", "gates", "--at", "2026-03-27T09:00:00Z"]),
        ("fixtures/cluster-api", &["simulate", "propagation"]),
    ];
    let here = Scratch::new(&[]);
    let top = env!("CARGO_MANIFEST_DIR");
    for (root, command) in commands {
        let root = format!("{top}/{root}");
        let base = format!("{top}/fixtures/update/before");
        let mut line: Vec<&str> = command.to_vec();
        if command[0] == "plan" {
            line[2] = &base;
        }
        line.extend(["--root", &root, "--color"]);
        let run = |when: &'static str| here.forebay(&[&line[..], &[when]].concat()).out;
        let (plain, coloured) = (run("never"), run("always"));
        assert!(!plain.contains('\u{1b}') && !plain.is_empty(), "{command:?}: {plain}");
        assert!(coloured.contains("\u{1b}["), "{command:?} has no colour: {coloured}");
        let mut parts = coloured.split("\u{1b}[");
        let first = parts.next().unwrap_or_default().to_owned();
        let bare = parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest));
        assert_eq!(bare, plain, "{command:?}");
    }
}
