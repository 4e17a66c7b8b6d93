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
fn each_form_of_an_object_is_answered_where_a_value_is_asked_for() {
    let scratch = fleet();
    let run = scratch.forebay(&["why", "deploy/web", "/spec/template/spec/containers/0/env/0/value"]);
    let told = lines(&run);
    for line in [
        "shop.prod.example.com",
        "  substitution clusters/prod/apps.yaml:16:13  ${HOST} = shop.prod.example.com",
        "shop.staging.example.com",
        "  substitution clusters/staging/apps.yaml:16:13  ${HOST} = shop.staging.example.com",
    ] {
        assert!(told.contains(&line), "{line}: {}{}", run.out, run.err);
    }
    // A program gets one.
    let run = scratch.forebay(&["why", "deploy/web", "spec.replicas", "--format", "json"]);
    assert_eq!((run.code, run.out.as_str()), (2, ""), "{}", run.err);
}

#[test]
fn a_file_of_a_generator_is_found_and_its_lines_are_shown() {
    let scratch = fleet();
    let list = "resources: [web.yaml, others.yaml]\nconfigMapGenerator:\n  - name: page\n    namespace: shop\n    \
                files: [page.yaml]\ngeneratorOptions: {disableNameSuffixHash: true}\n";
    scratch.write("apps/kustomization.yaml", list.as_bytes());
    scratch.write(
        "apps/page.yaml",
        b"title: shop\nhost: ${HOST:=none}\nlong:\n  - 1\n  - 2\n  - 3\n  - 4\n  - 5\n  - 6\n",
    );
    let run = scratch.forebay(&["why", "apps/page.yaml", "--cluster", "prod"]);
    assert_eq!(lines(&run).first(), Some(&"ConfigMap shop/page"), "{}{}", run.out, run.err);
    assert!(lines(&run).contains(&"  generator    apps/kustomization.yaml:3:5"), "{}", run.out);
    let run = scratch.forebay(&["why", "cm/page", "/data/page.yaml", "--cluster", "prod"]);
    let told = lines(&run);
    assert_eq!(
        told.get(..2),
        Some(&["title: shop", "host: shop.prod.example.com"][..]),
        "{}{}",
        run.out,
        run.err
    );
    assert_eq!(
        told.get(8..10),
        Some(&["… and 1 more line", "  from         apps/page.yaml:1:1"][..]),
        "{}",
        run.out
    );
    // The same of other files: both are told.
    scratch.write("apps/page.yaml", b"title: shop\n");
    let staging = scratch.read("clusters/staging/apps.yaml").replace("shop.staging", "shop.prod");
    scratch.write("clusters/staging/apps.yaml", staging.as_bytes());
    let run = scratch.forebay(&["why", "deploy/web"]);
    let variables = lines(&run).into_iter().filter(|line| line.contains("${HOST} = shop.prod.example.com"));
    assert_eq!(variables.count(), 2, "{}{}", run.out, run.err);
}

/// A cluster whose settings four manifests use, in whole values and in parts of them.
fn settings() -> Scratch {
    let sync = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: flux-system, namespace: \
                flux-system}\nspec: {interval: 1m, url: https://example.com/fleet}\n---\napiVersion: \
                kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: flux-system, namespace: \
                flux-system}\nspec: {interval: 10m, path: ./clusters/prod, prune: true, sourceRef: {kind: \
                GitRepository, name: flux-system}}\n";
    let kustomization = |name: &str, more: &str| {
        format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: \
             flux-system}}\nspec:\n  interval: 10m\n  path: ./{name}\n  prune: true\n  sourceRef: {{kind: \
             GitRepository, name: flux-system}}\n{more}"
        )
    };
    let map = |name: &str, value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: shop}}\ndata:\n  a: {value}\n"
        )
    };
    let variables = "  postBuild:\n    substituteFrom: [{kind: ConfigMap, name: settings}]\n";
    Scratch::git(&[
        ("clusters/prod/flux-system/gotk-sync.yaml", sync),
        ("clusters/prod/apps.yaml", &kustomization("apps", variables)),
        ("clusters/prod/extra.yaml", &kustomization("extra", "")),
        (
            "clusters/prod/settings.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: flux-system}\ndata:\n  DOMAIN: a.org\n",
        ),
        (
            "clusters/prod/kustomization.yaml",
            "resources: [flux-system/gotk-sync.yaml, apps.yaml, extra.yaml, settings.yaml]\n",
        ),
        ("apps/one.yaml", &map("one", "${DOMAIN}")),
        ("apps/two.yaml", &map("two", "https://www.${DOMAIN}/x")),
        ("apps/three.yaml", &map("three", "|\n    first\n    host: ${DOMAIN}\n    last")),
        ("extra/map.yaml", &map("extra", "1")),
    ])
}

#[test]
fn a_secret_that_something_makes_goes_over_the_settings_before_it() {
    let secret = |kind: &str, spec: &str| {
        format!(
            "apiVersion: {kind}\nmetadata: {{name: secrets, namespace: flux-system}}\nspec:\n  {}\n",
            spec.replace('\n', "\n  ")
        )
    };
    let external = "external-secrets.io/v1\nkind: ExternalSecret";
    let sealed = "bitnami.com/v1alpha1\nkind: SealedSecret";
    let fetched = "dataFrom: [{extract: {key: all}}]\ntarget:\n  template:\n    ";
    let both = "{kind: ConfigMap, name: settings}, {kind: Secret, name: secrets}";
    let turned = "{kind: Secret, name: secrets}, {kind: ConfigMap, name: settings}";
    let template = format!("{fetched}data: {{DOMAIN: '{{{{ .domain }}}}'}}");
    let other = format!("{fetched}data: {{HOST: '{{{{ .host }}}}'}}");
    let merged = format!("data: [{{secretKey: DOMAIN}}]\n{fetched}mergePolicy: Merge\n    data: {{HOST: a}}");
    let replaced = format!("data: [{{secretKey: DOMAIN}}]\n{fetched}data: {{HOST: a}}");
    for (made, order, is_known) in [
        (secret(external, &template), both, false),
        (secret(external, "data: [{secretKey: DOMAIN}]"), both, false),
        (secret(sealed, "encryptedData: {DOMAIN: AgB}"), both, false),
        (secret(external, &merged), both, false),
        // What is written last counts.
        (secret(external, &template), turned, true),
        // Another key, and one that the template does not take over.
        (secret(external, &other), both, true),
        (secret(external, &replaced), both, true),
    ] {
        let scratch = settings();
        let apps = scratch.read("clusters/prod/apps.yaml");
        let apps = apps.replace("{kind: ConfigMap, name: settings}", order);
        scratch.write("clusters/prod/apps.yaml", apps.as_bytes());
        scratch.write("clusters/prod/secrets.yaml", made.as_bytes());
        let list =
            scratch.read("clusters/prod/kustomization.yaml").replace("settings", "secrets.yaml, settings");
        scratch.write("clusters/prod/kustomization.yaml", list.as_bytes());
        let run = scratch.forebay(&["locate", "configmap", "shop/one", "/data/a"]);
        assert_eq!(run.out.contains("a.org"), is_known, "{made}{}{}", run.out, run.err);
    }
}

#[test]
fn what_one_line_causes_stands_together_in_each_format() {
    let scratch = settings();
    scratch.commit("as it was");
    let changed = scratch.read("clusters/prod/settings.yaml").replace("a.org", "b.org");
    scratch.write("clusters/prod/settings.yaml", changed.as_bytes());
    let run = scratch.forebay(&["plan", "--base", "HEAD"]);
    let told = lines(&run);
    for line in [
        "  clusters/prod/settings.yaml:5 DOMAIN -> 4 effects",
        "    changes   ConfigMap shop/one: data.a a.org -> b.org",
        "    changes   ConfigMap shop/two: data.a https://www.a.org/x ->",
        "              + host: b.org",
    ] {
        assert!(told.contains(&line), "{line}\n{}{}", run.out, run.err);
    }
    let run = scratch.forebay(&["plan", "--base", "HEAD", "--format", "markdown"]);
    let entry = lines(&run).into_iter().find(|line| line.contains("4 effects:")).unwrap_or_default();
    for part in ["ConfigMap shop/two: data.a", "`+ host: b.org`", "`clusters/prod/settings.yaml:5` `DOMAIN`"]
    {
        assert!(entry.contains(part), "{part}\n{}", run.out);
    }
}

#[test]
fn what_a_change_takes_off_a_list_is_not_said_to_be_left_out() {
    let scratch = settings();
    scratch.commit("as it was");
    let list = scratch.read("clusters/prod/kustomization.yaml").replace("extra.yaml, ", "");
    scratch.write("clusters/prod/kustomization.yaml", list.as_bytes());
    let run = scratch.forebay(&["plan", "--base", "HEAD"]);
    assert!(run.out.contains("DELETES   Kustomization flux-system/extra: no longer listed"), "{}", run.out);
    assert!(!run.out.contains("not followed"), "{}", run.out);
    // Where a cluster is stated, the advice is about the file.
    scratch.write("extra/map.yaml", scratch.read("extra/map.yaml").replace("1", "2").as_bytes());
    let run = scratch.forebay(&["plan", "--base", "HEAD"]);
    assert!(!run.out.contains("say in .forebay.yaml what Flux applies first"), "{}", run.out);
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
