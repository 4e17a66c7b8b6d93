//! What the charts of HelmReleases make: values, names, what helm-controller adds, and
//! where everything comes from.

use crate::support::scratch::{GOTK_SYNC, Run, Scratch};
use serde_json::Value;

const TEMPLATE: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  all: {{ .Values | toJson | quote }}
  host: {{ .Values.host | quote }}
  chart: {{ .Chart.Version }}
  namespace: {{ .Release.Namespace }}
";

/// A cluster with one release of a chart that writes its values, and these objects.
fn fleet(spec: &str, objects: &str) -> Scratch {
    let scratch = Scratch::new(&[
        ("clusters/a/flux-system/gotk-sync.yaml", GOTK_SYNC),
        ("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"),
        ("charts/web/values.yaml", "host: default\nfrom: chart\n"),
        ("charts/web/templates/settings.yaml", TEMPLATE),
    ]);
    let release = format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: web, namespace: apps}}\nspec:\n  interval: 1h\n  chart: {{spec: {{chart: ./charts/web, sourceRef: {{kind: GitRepository, name: flux-system, namespace: flux-system}}}}}}\n{spec}"
    );
    scratch.write("clusters/a/web.yaml", release.as_bytes());
    if !objects.is_empty() {
        scratch.write("clusters/a/objects.yaml", objects.as_bytes());
    }
    scratch
}

fn build(scratch: &Scratch, flags: &[&str]) -> Run {
    let arguments = [&["build", "--helm-release", "apps/web", "--format", "json"][..], flags].concat();
    scratch.forebay(&arguments)
}

/// The objects of the release.
fn objects(scratch: &Scratch) -> Vec<Value> {
    let run = build(scratch, &[]);
    assert!(run.code < 2, "{}{}", run.out, run.err);
    run.json()["objects"].as_array().expect("objects").clone()
}

/// The values that its template sees, as JSON.
fn values(scratch: &Scratch) -> Value {
    let objects = objects(scratch);
    let text = objects[0]["data"]["all"].as_str().unwrap_or_else(|| panic!("{objects:#?}"));
    serde_json::from_str(text).expect("JSON")
}

fn config(name: &str, data: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: apps}}\ndata:\n{data}"
    )
}

#[test]
fn an_object_is_what_helm_controller_applies() {
    let scratch = fleet("  values: {host: example.com}\n", "");
    let objects = objects(&scratch);
    assert_eq!(objects.len(), 1);
    let metadata = &objects[0]["metadata"];
    assert_eq!(metadata["name"], "web");
    assert_eq!(metadata["namespace"], "apps");
    assert_eq!(metadata["labels"]["helm.toolkit.fluxcd.io/name"], "web");
    assert_eq!(metadata["labels"]["helm.toolkit.fluxcd.io/namespace"], "apps");
    assert_eq!(objects[0]["data"]["host"], "example.com");
    assert_eq!(values(&scratch), serde_json::json!({"host": "example.com", "from": "chart"}));
}

#[test]
fn names_and_namespaces_follow_the_release() {
    for (spec, name, namespace) in [
        ("", "web", "apps"),
        ("  targetNamespace: prod\n", "prod-web", "prod"),
        ("  targetNamespace: prod\n  releaseName: w\n", "w", "prod"),
        ("  storageNamespace: other\n", "web", "apps"),
    ] {
        let objects = objects(&fleet(spec, ""));
        let metadata = &objects[0]["metadata"];
        assert_eq!((&metadata["name"], &metadata["namespace"]), (&name.into(), &namespace.into()), "{spec}");
    }
}

#[test]
fn values_come_from_references_in_order_and_then_from_the_release() {
    let objects = [
        config("one", "  values.yaml: |\n    host: one\n    a: {x: 1, y: 1}\n"),
        config("two", "  other: |\n    host: two\n    a: {y: 2}\n"),
    ]
    .concat();
    let from = "  valuesFrom:\n  - {kind: ConfigMap, name: one}\n  - {kind: ConfigMap, name: two, valuesKey: other}\n";
    let scratch = fleet(from, &objects);
    let expected = serde_json::json!({"host": "two", "from": "chart", "a": {"x": 1, "y": 2}});
    assert_eq!(values(&scratch), expected);
    let scratch = fleet(&format!("{from}  values: {{host: own, a: null}}\n"), &objects);
    assert_eq!(values(&scratch), serde_json::json!({"host": "own", "from": "chart", "a": null}));
    // A generator of a kustomization makes one, too.
    let scratch = fleet("  valuesFrom: [{kind: ConfigMap, name: made}]\n", "");
    scratch.write("clusters/a/made.yaml", b"host: generated\n");
    scratch.write(
        "clusters/a/kustomization.yaml",
        b"resources: [web.yaml, flux-system/gotk-sync.yaml]\nconfigMapGenerator:\n- {name: made, namespace: apps, files: [values.yaml=made.yaml], options: {disableNameSuffixHash: true}}\n",
    );
    assert_eq!(values(&scratch)["host"], "generated");
}

#[test]
fn a_target_path_has_the_precedence_that_the_code_has() {
    let objects = [
        config("v", "  k: given\n"),
        config("m", "  values.yaml: |\n    m: {z: 1}\n"),
        config("later", "  values.yaml: |\n    free: later\n"),
    ]
    .concat();
    let at = |path: &str| format!("  - {{kind: ConfigMap, name: v, valuesKey: k, targetPath: {path}}}\n");
    let other = |name: &str| format!("  - {{kind: ConfigMap, name: {name}}}\n");
    for (references, spec, pointer, expected) in [
        // At the top, the release's own value wins.
        (at("a"), "{a: own}", "/a", "own"),
        // Below a map that came in unmerged, the path wins.
        (at("m.a"), "{m: {a: own}}", "/m/a", "given"),
        // Unless something before it has that map, too.
        (other("m") + &at("m.a"), "{m: {a: own}}", "/m/a", "own"),
        // A key that the release lacks stays, and a later reference beats it.
        (at("free"), "{}", "/free", "given"),
        (at("free") + &other("later"), "{}", "/free", "later"),
    ] {
        let scratch = fleet(&format!("  valuesFrom:\n{references}  values: {spec}\n"), &objects);
        let values = values(&scratch);
        assert_eq!(values.pointer(pointer), Some(&expected.into()), "{references}{spec}: {values}");
    }
}

#[test]
fn values_of_secrets_are_unknown_and_their_keys_known() {
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: apps}\nstringData:\n  values.yaml: |\n    host: s3cret\n";
    let scratch = fleet("  valuesFrom: [{kind: Secret, name: s}]\n", secret);
    let run = build(&scratch, &[]);
    assert!(!run.out.contains("s3cret") && !run.err.contains("s3cret"), "{}{}", run.out, run.err);
    let object = &run.json()["objects"][0];
    assert_ne!(object["data"]["host"], "default", "{object}");
    // One that is not here may set anything: said, and the rest stands.
    let scratch = fleet("  valuesFrom: [{kind: Secret, name: elsewhere}]\n", "");
    let run = build(&scratch, &[]);
    assert!(run.err.contains("assumed: Secret apps/elsewhere, key values.yaml"), "{}", run.err);
}

#[test]
fn values_files_take_the_place_of_the_defaults() {
    let with = |extra: &str| {
        let scratch = fleet("", "");
        let text = scratch.read("clusters/a/web.yaml");
        scratch.write(
            "clusters/a/web.yaml",
            text.replace("chart: ./charts/web,", &format!("chart: ./charts/web, {extra},")).as_bytes(),
        );
        scratch.write("charts/web/prod.yaml", b"host: prod\n");
        scratch
    };
    let scratch = with("valuesFiles: [charts/web/prod.yaml]");
    assert_eq!(values(&scratch), serde_json::json!({"host": "prod"}));
    // The version ends in what only the cluster knows.
    let run = build(&scratch, &[]);
    assert_eq!(run.json()["objects"][0]["data"]["chart"]["$holes"][0], "0.1.0+", "{}", run.out);
    let scratch = with("valuesFiles: [charts/web/values.yaml, charts/web/prod.yaml]");
    assert_eq!(values(&scratch), serde_json::json!({"host": "prod", "from": "chart"}));
    let run = build(&with("valuesFiles: [charts/web/none.yaml]"), &[]);
    assert!(run.code == 3 && run.err.contains("no values file found at path"), "{}", run.err);
    let scratch =
        with("valuesFiles: [charts/web/none.yaml, charts/web/prod.yaml], ignoreMissingValuesFiles: true");
    assert_eq!(values(&scratch), serde_json::json!({"host": "prod"}));
}

#[test]
fn post_renderers_and_common_metadata_change_what_the_chart_made() {
    let spec = "  postRenderers:\n  - kustomize:\n      patches:\n      - target: {kind: ConfigMap}\n        patch: |\n          - {op: add, path: /data/added, value: patched}\n  commonMetadata: {labels: {team: web}}\n";
    let objects = objects(&fleet(spec, ""));
    assert_eq!(objects[0]["data"]["added"], "patched");
    assert_eq!(objects[0]["metadata"]["labels"]["team"], "web");
    let scratch = fleet("  postRenderers: [{kustomize: {images: [{name: nginx, newTag: '2'}]}}]\n", "");
    scratch.write(
        "charts/web/templates/pod.yaml",
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: 'nginx:1'}]}\n",
    );
    let pod = self::objects(&scratch).into_iter().find(|object| object["kind"] == "Pod").expect("a Pod");
    assert_eq!(pod["spec"]["containers"][0]["image"], "nginx:2");
}

#[test]
fn definitions_come_with_the_chart_unless_they_are_skipped() {
    let definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\nspec: {group: example.com, scope: Cluster, names: {kind: Thing, plural: things}, versions: []}\n";
    for (spec, count) in
        [("", 3), ("  install: {crds: Skip}\n", 2), ("  install: {crds: CreateReplace}\n", 3)]
    {
        let scratch = fleet(spec, "");
        scratch.write("charts/web/crds/things.yaml", definition.as_bytes());
        scratch.write(
            "charts/web/templates/thing.yaml",
            b"apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: t}\n",
        );
        let objects = objects(&scratch);
        assert_eq!(objects.len(), count, "{spec}");
        let thing = objects.iter().find(|object| object["kind"] == "Thing").expect("a Thing");
        assert!(thing["metadata"]["namespace"].is_null(), "{thing}");
    }
}

#[test]
fn everything_is_built_with_what_charts_make_unless_they_are_left_out() {
    let scratch = fleet("", "");
    let kinds = |flags: &[&str]| {
        let answer = scratch.forebay(&[&["build", "--all", "--format", "json"][..], flags].concat()).json();
        let objects = answer["objects"].as_array().expect("objects").clone();
        objects.iter().filter(|object| object["kind"] == "ConfigMap").count()
    };
    assert_eq!((kinds(&[]), kinds(&["--no-charts"])), (1, 0));
}

#[test]
fn who_made_an_object_and_where_its_values_stand_is_told() {
    let scratch = fleet("  values:\n    host: example.com\n", "");
    let answer = scratch.forebay(&["why", "ConfigMap/apps/web", "--format", "json"]).json();
    let kinds: Vec<&str> = answer["madeBy"]
        .as_array()
        .expect("makers")
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["helmRelease", "kustomization", "entry"], "{answer:#}");
    assert_eq!(answer["madeBy"][0]["object"]["name"], "web");
    let text = scratch.forebay(&["why", "ConfigMap/apps/web"]).out;
    assert!(text.contains("rendered by HelmRelease apps/web (chart web 0.1.0)"), "{text}");
    let place = scratch.forebay(&["locate", "ConfigMap/apps/web", "/data/host"]).out;
    assert!(place.starts_with("clusters/a/web.yaml:8:11"), "{place}");
    let answer = scratch.forebay(&["locate", "ConfigMap/apps/web", "/data/host", "--format", "json"]).json();
    let origins = answer["origins"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    let paths: Vec<&str> = origins.iter().map(|origin| origin["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["clusters/a/web.yaml", "charts/web/templates/settings.yaml"], "{answer:#}");
    // A default of the chart stands in the chart.
    let scratch = fleet("", "");
    let place = scratch.forebay(&["locate", "ConfigMap/apps/web", "/data/host"]).out;
    assert!(place.starts_with("charts/web/values.yaml:1:7"), "{place}");
}

#[test]
fn a_chart_of_a_store_has_a_tree_of_its_own() {
    let scratch = fleet("", "");
    let text = scratch.read("clusters/a/web.yaml");
    let source = "{kind: HelmRepository, name: charts}";
    let text = text.replace("chart: ./charts/web,", "chart: web, version: 0.1.0,");
    let text = text.replace("{kind: GitRepository, name: flux-system, namespace: flux-system}", source);
    scratch.write("clusters/a/web.yaml", text.as_bytes());
    scratch.write(
        "clusters/a/repository.yaml",
        b"apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: apps}\nspec: {interval: 1h, url: 'https://charts.example.com'}\n",
    );
    let locate = ["locate", "ConfigMap/apps/web", "/data/namespace", "--charts", "charts"];
    let place = scratch.forebay(&locate).out;
    assert!(place.starts_with("chart web 0.1.0: templates/settings.yaml:9:"), "{place}");
    let answer = scratch.forebay(&[&locate[..], &["--format", "json"]].concat()).json();
    assert_eq!(answer["location"]["tree"], "chart:web@0.1.0", "{answer:#}");
    assert_eq!(answer["location"]["path"], "templates/settings.yaml");
    crate::support::scratch::assert_schema("schemas/locate.json", &answer);
}

#[test]
fn what_charts_make_is_followed() {
    let scratch = fleet("", "");
    scratch.write(
        "charts/web/templates/more.yaml",
        b"apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: more, namespace: flux-system}\nspec: {interval: 1h, path: ./more, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}\n",
    );
    scratch.write(
        "more/x.yaml",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: followed, namespace: apps}\n",
    );
    let answer = scratch.forebay(&["why", "ConfigMap/apps/followed", "--format", "json"]).json();
    let kinds: Vec<&str> = answer["madeBy"]
        .as_array()
        .expect("makers")
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["kustomization", "helmRelease", "kustomization", "entry"], "{answer:#}");
    // A chart that makes its own release again makes no circle.
    let text = scratch.read("clusters/a/web.yaml");
    scratch.write("charts/web/templates/again.yaml", text.as_bytes());
    let answer = scratch.forebay(&["lint", "--format", "json"]).json();
    assert!(
        answer["notChecked"].to_string().contains("its chart makes HelmRelease apps/web again"),
        "{answer:#}"
    );
}

#[test]
fn helm_is_that_of_the_helm_controller() {
    // Helm 4.2 deletes nulls of a chart's own values, those before keep them.
    let deployment = |tag: &str| {
        format!(
            "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: helm-controller, namespace: flux-system}}\nspec: {{template: {{spec: {{containers: [{{name: manager, image: 'ghcr.io/fluxcd/helm-controller:{tag}'}}]}}}}}}\n"
        )
    };
    for (objects, expected) in [
        (String::new(), serde_json::json!({"host": "h"})),
        (deployment("v1.6.3"), serde_json::json!({"host": "h"})),
        (deployment("v1.5.5"), serde_json::json!({"host": "h"})),
        (deployment("v1.5.3"), serde_json::json!({"host": "h", "gone": null})),
        (deployment("v1.3.0"), serde_json::json!({"host": "h", "gone": null})),
    ] {
        let scratch = fleet("", &objects);
        scratch.write("charts/web/values.yaml", b"host: h\ngone: null\n");
        assert_eq!(values(&scratch), expected, "{objects}");
    }
}

#[test]
fn what_cannot_be_rendered_says_why() {
    let scratch = fleet("", "");
    scratch.write("charts/web/templates/fails.yaml", b"{{ fail \"not like this\" }}\n");
    let run = build(&scratch, &[]);
    assert!(run.code == 3 && run.err.contains("not like this"), "{}", run.err);
    let run = scratch.forebay(&["build", "--helm-release", "apps/wbe"]);
    assert!(run.code == 2 && run.err.contains("did you mean apps/web?"), "{}", run.err);
    let run = build(&fleet("", ""), &["--no-charts"]);
    assert!(run.code == 3 && run.err.contains("charts are left out"), "{}", run.err);
    // A chart whose dependency is nowhere is not checked.
    let scratch = fleet("", "");
    scratch.write(
        "charts/web/Chart.yaml",
        b"apiVersion: v2\nname: web\nversion: 0.1.0\ndependencies: [{name: lib, version: 1.x, repository: 'https://example.com'}]\n",
    );
    let run = build(&scratch, &[]);
    assert!(run.code == 3 && run.err.contains("its dependency lib 1.x"), "{}", run.err);
    scratch.write("store/lib/Chart.yaml", b"apiVersion: v2\nname: lib\nversion: 1.2.0\n");
    assert_eq!(build(&scratch, &["--charts", "store"]).code, 0);
    // Of a store that has one of its name nobody knows whether it is meant.
    scratch
        .write("store/lib/1.2.0/Chart.yaml", b"apiVersion: v2\nname: lib\nversion: 1.2.0\ntype: library\n");
    scratch.write(
        "charts/web/templates/settings.yaml",
        b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ include \"lib.name\" . }}}\n",
    );
    let lint = |flags: &[&str]| {
        let flags = [&["lint", "--format", "json", "--fail-on", "never"][..], flags].concat();
        let answer = scratch.forebay(&flags).json();
        let fails = answer["findings"].as_array().expect("findings").iter();
        fails.filter(|one| one["rule"] == "chart-fails").cloned().collect::<Vec<Value>>()
    };
    let told = lint(&["--charts", "store"]);
    let why = told[0]["why"].as_str().expect("why");
    assert_eq!(told[0]["level"], "warning", "{told:#?}");
    assert!(why.contains("its dependency lib 1.2.0 is the store's chart of that name"), "{why}");
}

const SCHEMA: &str = r#"{"type": "object", "additionalProperties": false, "properties": {
  "global": {}, "host": {"type": "string"}, "from": {}, "replicas": {"type": "integer"},
  "tls": {"type": "object", "required": ["secret"], "additionalProperties": false, "properties": {"secret": {}}}}}"#;

/// What a finding of `rejected-chart-values` says: `path`, `valuesPath`, file, the text at
/// its place, the messages of `related`.
fn rejected(scratch: &Scratch) -> Vec<(Value, String, String, String, Vec<String>)> {
    scratch.write("charts/web/values.schema.json", SCHEMA.as_bytes());
    let answer = scratch.forebay(&["lint", "--format", "json", "--fail-on", "never"]).json();
    crate::support::scratch::assert_schema("schemas/lint.json", &answer);
    let findings = answer["findings"].as_array().expect("findings");
    assert!(findings.iter().all(|one| one["rule"] != "chart-fails"), "{answer:#}");
    let ours = findings.iter().filter(|one| one["rule"] == "rejected-chart-values");
    let told = ours.map(|one| {
        assert_eq!(one["objects"][0]["kind"], "HelmRelease", "{one:#}");
        let place = &one["location"];
        let file = place["path"].as_str().expect("a path").to_owned();
        let byte = |name: &str| place[name].as_u64().expect("a byte") as usize;
        let text = scratch.read(&file)[byte("start")..byte("end")].to_owned();
        let related = one["related"].as_array().expect("related").iter();
        let related = related.map(|one| one["message"].as_str().expect("a message").to_owned()).collect();
        let pointer = one["valuesPath"].as_str().expect("a pointer").to_owned();
        (one["path"].clone(), pointer, file, text, related)
    });
    told.collect()
}

/// The same, with texts for short.
fn told(
    path: Option<&str>,
    pointer: &str,
    file: &str,
    text: &str,
    related: &[&str],
) -> (Value, String, String, String, Vec<String>) {
    let related = related.iter().map(|one| (*one).to_owned()).collect();
    (path.into(), pointer.to_owned(), file.to_owned(), text.to_owned(), related)
}

#[test]
fn what_a_schema_refuses_is_told_where_the_release_writes_it() {
    let scratch = fleet("  values:\n    replicas: many\n    tls: {secret: s, cert: c}\n    hots: x\n", "");
    let file = "clusters/a/web.yaml";
    assert_eq!(
        rejected(&scratch),
        [
            told(Some("/spec/values/replicas"), "/replicas", file, "replicas", &[]),
            told(Some("/spec/values/tls/cert"), "/tls/cert", file, "cert", &[]),
            told(Some("/spec/values/hots"), "/hots", file, "hots", &[]),
        ]
    );
    // What is missing is told at the map that lacks it.
    let scratch = fleet("  values:\n    tls: {}\n", "");
    assert_eq!(rejected(&scratch), [told(Some("/spec/values/tls"), "/tls", file, "tls", &[])]);
    let scratch = fleet("  install: {disableSchemaValidation: true}\n  values: {replicas: many}\n", "");
    assert_eq!(rejected(&scratch), []);
}

#[test]
fn what_a_schema_refuses_is_told_where_a_config_map_holds_it() {
    let from = "  valuesFrom: [{kind: ConfigMap, name: v}]\n";
    let file = "clusters/a/objects.yaml";
    let related = ["the value comes from ConfigMap apps/v, key values.yaml"];
    let text =
        config("v", "  values.yaml: |\n    host: h\n    replicas: many\n    tls: {secret: s, cert: c}\n");
    assert_eq!(
        rejected(&fleet(from, &text)),
        [
            told(None, "/replicas", file, "replicas", &related),
            told(None, "/tls/cert", file, "cert", &related),
        ]
    );
    // A build that changes the ConfigMap keeps the places.
    let scratch = fleet(from, &text);
    scratch.write(
        "clusters/a/kustomization.yaml",
        b"resources: [flux-system/gotk-sync.yaml, web.yaml, objects.yaml]\nlabels: [{pairs: {team: a}}]\n",
    );
    let found = rejected(&scratch);
    assert_eq!(found[0], told(None, "/replicas", file, "replicas", &related));
    let text = config("v", "  values.yaml: |\n    replicas: many\n");
    // Those of the release win, and only what is refused at last is told.
    assert_eq!(rejected(&fleet(&format!("{from}  values: {{replicas: 2}}\n"), &text)), []);
    let own = rejected(&fleet(&format!("{from}  values: {{replicas: more}}\n"), &text));
    assert_eq!(
        own,
        [told(Some("/spec/values/replicas"), "/replicas", "clusters/a/web.yaml", "replicas", &[])]
    );
    // At a path, the key that holds the text.
    let target = "  valuesFrom: [{kind: ConfigMap, name: v, valuesKey: n, targetPath: replicas}]\n";
    let related = ["the value comes from ConfigMap apps/v, key n"];
    assert_eq!(
        rejected(&fleet(target, &config("v", "  n: many\n"))),
        [told(None, "/replicas", file, "n", &related)]
    );
}

/// A text of values with a variable of a Secret in it is known but for that.
#[test]
fn values_with_unknown_variables_are_known_around_them() {
    let from = "  valuesFrom: [{kind: ConfigMap, name: v}]\n";
    let scratch = |text: &str| {
        let lines: String = text.lines().map(|line| format!("    {line}\n")).collect();
        let scratch = fleet(from, &config("v", &format!("  values.yaml: |\n{lines}")));
        let unknown = "prune: true, postBuild: {substituteFrom: [{kind: Secret, name: cluster-secrets}]},";
        let sync = GOTK_SYNC.replace("prune: true,", unknown);
        scratch.write("clusters/a/flux-system/gotk-sync.yaml", sync.as_bytes());
        scratch
    };
    let pointers = |text: &str| {
        let found = rejected(&scratch(text));
        assert!(found.iter().all(|(_, _, file, ..)| file == "clusters/a/objects.yaml"), "{text}: {found:?}");
        found.into_iter().map(|(_, pointer, ..)| pointer).collect::<Vec<_>>()
    };
    // What is known is judged, in quotes or not, before and behind, each at its own place.
    let related = ["the value comes from ConfigMap apps/v, key values.yaml"];
    let file = "clusters/a/objects.yaml";
    assert_eq!(
        rejected(&scratch("host: é.${DOMAIN}.${NAME}\nreplicas: many\ntls: {secret: \"${S}\", cert: c}")),
        [
            told(None, "/replicas", file, "replicas", &related),
            told(None, "/tls/cert", file, "cert", &related),
        ]
    );
    assert_eq!(pointers("host: \"web.${DOMAIN}\"\nreplicas: many"), ["/replicas"]);
    assert_eq!(pointers("replicas: many\nhost: ${NAME}.${DOMAIN}/x"), ["/replicas"]);
    // What is unknown is not, nor what may be part of a number.
    assert_eq!(pointers("host: h\nreplicas: ${COUNT}"), [""; 0]);
    assert_eq!(pointers("host: h\nreplicas: \"${COUNT}\""), [""; 0]);
    assert_eq!(pointers("host: h\nreplicas: 1${COUNT}"), [""; 0]);
    // No word stands for it in what is made, nor in what is said of it.
    let text = "host: \"web.${DOMAIN}\"\nfrom: [\"a.${DOMAIN}\", {b: \"${DOMAIN}/c\"}, \"${DOMAIN}\"]";
    let scratch_of_text = scratch(text);
    for arguments in [
        &["build", "--helm-release", "apps/web", "--format", "json"][..],
        &["explain-values", "apps/web"],
        &["explain-values", "apps/web", "--format", "json"],
        &["why", "HelmRelease/apps/web", "/spec/values/host"],
        &["why", "HelmRelease/apps/web", "/spec/values/from/1/b"],
        &["locate", "HelmRelease/apps/web", "/spec/values/host", "--format", "json"],
        &["lint", "--show", "info", "--format", "json"],
    ] {
        let run = scratch_of_text.forebay(arguments);
        assert!(!format!("{}{}", run.out, run.err).contains("forebayUnknown"), "{arguments:?}: {}", run.out);
        assert!(run.code < 2, "{arguments:?}: {}", run.err);
    }
    // Of the file of a generator, too.
    let generated = scratch("");
    generated.write(
        "clusters/a/kustomization.yaml",
        b"resources: [flux-system/gotk-sync.yaml, web.yaml]\nconfigMapGenerator: [{name: v, namespace: apps, files: [values.yaml=v.yaml]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n",
    );
    generated.write("clusters/a/v.yaml", b"host: web.${DOMAIN}\nreplicas: many\n");
    assert_eq!(rejected(&generated), [told(None, "/replicas", "clusters/a/v.yaml", "replicas", &related)]);
    // A key, or lines of their own, may be anything: nothing of it is known then.
    for text in ["${KEY}: x\nreplicas: many", "${MORE}\nreplicas: many", "tls: {${KEY}: x}\nreplicas: many"] {
        let scratch = scratch(text);
        assert_eq!(rejected(&scratch), [], "{text}");
        let run = build(&scratch, &[]);
        assert!(run.err.contains("assumed: ConfigMap apps/v, key values.yaml"), "{text}: {}", run.err);
    }
}

/// What a chart needs may be in values that are not here: that is no more than an info.
#[test]
fn what_is_lacking_may_be_in_values_that_are_not_here() {
    let schema = r#"{"required": ["host"], "properties": {"host": {"type": "string"}, "replicas": {"type": "integer"}}}"#;
    let levels = |spec: &str| {
        let scratch = fleet(spec, "");
        scratch.write("charts/web/values.yaml", b"host: null\n");
        scratch.write("charts/web/values.schema.json", schema.as_bytes());
        let run = scratch.forebay(&["lint", "--format", "json", "--show", "info", "--fail-on", "never"]);
        let answer = run.json();
        let findings = answer["findings"].as_array().expect("findings").iter();
        let ours = findings.filter(|one| one["rule"] == "rejected-chart-values");
        ours.map(|one| one["level"].as_str().expect("a level").to_owned()).collect::<Vec<_>>()
    };
    let unseen = "  valuesFrom: [{kind: Secret, name: elsewhere}]\n";
    assert_eq!(levels(""), ["error"]);
    assert_eq!(levels(unseen), ["info"]);
    // What the release itself sets is refused whatever else is set.
    assert_eq!(levels(&format!("{unseen}  values: {{host: h, replicas: many}}\n")), ["warning"]);
}

#[test]
fn what_a_schema_refuses_is_told_in_patches_files_of_values_and_generators() {
    // A patch of another file.
    let scratch = fleet("  values: {host: h}\n", "");
    scratch.write(
        "clusters/a/kustomization.yaml",
        b"resources: [flux-system/gotk-sync.yaml, web.yaml]\npatches: [{path: patch.yaml}]\n",
    );
    scratch.write(
        "clusters/a/patch.yaml",
        b"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: apps}\nspec: {values: {replicas: many}}\n",
    );
    assert_eq!(rejected(&scratch), [told(None, "/replicas", "clusters/a/patch.yaml", "replicas", &[])]);
    // The file of a generator.
    let scratch = fleet("  valuesFrom: [{kind: ConfigMap, name: v}]\n", "");
    scratch.write(
        "clusters/a/kustomization.yaml",
        b"resources: [flux-system/gotk-sync.yaml, web.yaml]\nconfigMapGenerator: [{name: v, namespace: apps, files: [values.yaml=web-values.yaml]}]\ngeneratorOptions: {disableNameSuffixHash: true}\n",
    );
    scratch.write("clusters/a/web-values.yaml", b"host: h\nreplicas: many\n");
    let related = ["the value comes from ConfigMap apps/v, key values.yaml"];
    assert_eq!(
        rejected(&scratch),
        [told(None, "/replicas", "clusters/a/web-values.yaml", "replicas", &related)]
    );
    // A file of values of the source.
    let scratch = fleet("", "");
    let text = scratch.read("clusters/a/web.yaml");
    let text = text.replace(
        "chart: ./charts/web,",
        "chart: ./charts/web, valuesFiles: [charts/web/values.yaml, more.yaml],",
    );
    scratch.write("clusters/a/web.yaml", text.as_bytes());
    scratch.write("more.yaml", b"replicas: many\n");
    let related = ["the release takes the value from here"];
    assert_eq!(rejected(&scratch), [told(None, "/replicas", "more.yaml", "replicas", &related)]);
}

/// What is told of values that nothing reads or a schema refuses: rule, level, `path`, file,
/// the text at its place.
fn unread(scratch: &Scratch, flags: &[&str]) -> Vec<[String; 5]> {
    let arguments =
        [&["lint", "--format", "json", "--fail-on", "never", "--show", "info"][..], flags].concat();
    let answer = scratch.forebay(&arguments).json();
    let wanted =
        ["unknown-chart-value", "rejected-chart-values", "value-without-effect", "value-replaced-table"];
    let ours = answer["findings"].as_array().expect("findings").iter();
    let ours = ours.filter(|one| wanted.contains(&one["rule"].as_str().expect("a rule")));
    let told = ours.map(|one| {
        let file = one["location"]["path"].as_str().expect("a path");
        let byte = |name: &str| one["location"][name].as_u64().expect("a byte") as usize;
        let text = scratch.read(file)[byte("start")..byte("end")].to_owned();
        let word = |name: &str| one[name].as_str().unwrap_or_default().to_owned();
        [word("rule"), word("level"), word("path"), file.to_owned(), text]
    });
    told.collect()
}

#[test]
fn what_a_schema_refuses_is_one_finding_and_the_other_comes_alone() {
    let scratch = fleet("  values: {host: h, hots: h, more: {a: b}}\n", "");
    scratch.write(
        "charts/web/templates/settings.yaml",
        b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {host: {{ .Values.host }}}\n",
    );
    scratch.write("charts/web/values.schema.json", SCHEMA.as_bytes());
    let refused = |key: &str| {
        ["rejected-chart-values", "error", &format!("/spec/values/{key}"), "clusters/a/web.yaml", key]
            .map(str::to_owned)
    };
    assert_eq!(unread(&scratch, &[]), [refused("hots"), refused("more")]);
    let alone = unread(&scratch, &["--select", "unknown-chart-value"]);
    let rules: Vec<&str> = alone.iter().map(|one| &*one[1]).collect();
    assert_eq!(rules, ["warning", "warning"], "{alone:?}");
}

#[test]
fn templates_without_text_are_no_obstacle() {
    let scratch = fleet("  values: {isOn: false, host: h}\n", "");
    scratch.write(
        "charts/web/templates/settings.yaml",
        b"{{ if .Values.isOn }}\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n\
          data: {host: {{ .Values.host }}}\n{{ end }}\n",
    );
    for name in ["_a.tpl", "a.yaml", "zz.yaml"] {
        scratch.write(&format!("charts/web/templates/{name}"), b"");
    }
    let idle = ["value-without-effect", "info", "/spec/values/host", "clusters/a/web.yaml", "host"];
    assert_eq!(unread(&scratch, &[]), [idle.map(str::to_owned)]);
}

#[test]
fn dead_values_of_files_are_told_at_the_file_where_all_releases_leave_them() {
    let scratch = fleet("", "");
    scratch.write(
        "charts/web/templates/settings.yaml",
        b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: {host: {{ .Values.host }}}\n",
    );
    let text = scratch.read("clusters/a/web.yaml");
    let with_file = |text: &str| {
        text.replace(
            "chart: ./charts/web,",
            "chart: ./charts/web, valuesFiles: [charts/web/values.yaml, more.yaml],",
        )
    };
    scratch.write("clusters/a/web.yaml", with_file(&text).as_bytes());
    scratch.write("more.yaml", b"host: h\nhots: a\nsize: 3\n");
    let dead = |key: &str| ["unknown-chart-value", "info", "", "more.yaml", key].map(str::to_owned);
    assert_eq!(unread(&scratch, &[]), [dead("hots"), dead("size")]);
    // Another release takes the file, and its chart reads one of them.
    scratch.write("charts/other/Chart.yaml", b"apiVersion: v2\nname: other\nversion: 0.1.0\n");
    scratch.write("charts/other/templates/a.yaml", b"kind: ConfigMap\napiVersion: v1\nmetadata: {name: b}\ndata: {host: {{ .Values.host }}, size: '{{ .Values.size }}'}\n");
    let other = text
        .replace("name: web, namespace: apps", "name: other, namespace: apps")
        .replace("./charts/web", "./charts/other");
    let other = other.replace("chart: ./charts/other,", "chart: ./charts/other, valuesFiles: [more.yaml],");
    scratch.write("clusters/a/other.yaml", other.as_bytes());
    assert_eq!(unread(&scratch, &[]), [dead("hots")]);
}

#[test]
fn values_that_are_no_yaml_are_told_where_they_stand() {
    for (text, cause) in [
        ("'a: ['", "did not find expected node content"),
        ("'a: b: c'", "mapping values are not allowed in this context"),
        ("'{{ x }}'", "invalid map key"),
        ("'- a'", "it holds no map of values"),
    ] {
        let scratch = fleet(
            "  valuesFrom: [{kind: ConfigMap, name: v, valuesKey: k}]\n",
            &config("v", &format!("  k: {text}\n")),
        );
        let run = scratch.forebay(&["lint", "--select", "chart-fails", "--format", "json"]);
        let findings = run.json()["findings"].clone();
        assert_eq!(findings.as_array().expect("findings").len(), 1, "{text}: {findings:#}");
        assert_eq!(findings[0]["location"]["path"], "clusters/a/objects.yaml", "{text}");
        assert_eq!(findings[0]["message"], "HelmRelease apps/web: its values can't be read", "{text}");
        assert!(findings[0]["why"].as_str().is_some_and(|why| why.contains(cause)), "{findings:#}");
        assert_eq!(build(&scratch, &[]).code, 3, "{text}");
    }
}

/// As fluxcd/pkg `chartutil/values.go` answers, run with Helm 4.2.3's parser.
#[test]
fn what_a_target_path_sets_is_what_helm_controller_sets() {
    for (path, text, literal, expected) in [
        ("x\\.y.a", "a.b,c", true, serde_json::json!({"x.y": {"a": "a.b,c"}})),
        ("d.k\\=v", "[1,2]", true, serde_json::json!({"d": {"k=v": "[1,2]"}})),
        ("c.a\\[0\\]", "\"1\"", true, serde_json::json!({"c": {"a[0]": "\"1\""}})),
        ("a[1]", "{\"x\": 1}", true, serde_json::json!({"a": [null, "{\"x\": 1}"]})),
        ("a", "C:\\dir", true, serde_json::json!({"a": "C:\\dir"})),
        ("a.b", "'", false, serde_json::json!({"a": {"b": ""}})),
        ("a.b", "\"", false, serde_json::json!({"a": {"b": ""}})),
        ("a", "\"'5'\"", false, serde_json::json!({"a": "5"})),
        ("a", "5", false, serde_json::json!({"a": 5})),
        ("a", "1,b=2", false, serde_json::json!({"a": 1, "b": 2})),
    ] {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let spec = format!(
            "  valuesFrom: [{{kind: ConfigMap, name: v, valuesKey: k, literal: {literal}, targetPath: {}}}]\n",
            quoted(path)
        );
        let scratch = fleet(&spec, &config("v", &format!("  k: {}\n", quoted(text))));
        scratch.write("charts/web/values.yaml", b"");
        assert_eq!(values(&scratch), expected, "{path} {text}");
    }
}

/// A chart that takes long is not rendered without each of its values to find the one that it
/// fails on: the search ends with the steps that it may take.
#[test]
fn the_search_for_what_a_chart_fails_on_is_bounded() {
    for (rounds, culprit) in [(1_000, "/spec/values/last"), (400_000, "")] {
        let keys: String = (0..40).map(|index| format!("key{index}: 1, ")).collect();
        let scratch = fleet(&format!("  values: {{{keys}last: x}}\n"), "");
        let reads = "{{ range $key, $value := .Values }}{{ $key }}: {{ $value }}\n{{ end }}";
        let fails = format!(
            "{{{{ range until {rounds} }}}}{{{{ end }}}}{{{{ if .Values.last }}}}{{{{ fail \"no\" }}}}{{{{ end }}}}\n"
        );
        scratch.write("charts/web/templates/fails.yaml", format!("{fails}{reads}").as_bytes());
        let run = scratch.forebay(&["lint", "--select", "chart-fails", "--format", "json"]);
        let findings = run.json()["findings"].clone();
        assert_eq!(findings.as_array().map(Vec::len), Some(1), "{findings:#}");
        assert_eq!(findings[0]["path"].as_str().unwrap_or_default(), culprit, "{rounds}: {findings:#}");
    }
}
