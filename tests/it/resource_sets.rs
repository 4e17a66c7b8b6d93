//! What ResourceSets make: inputs from everywhere, strategies, templates with control
//! flow, and what stays unknown.

use forebay::internals::config::Config;
use forebay::internals::files::{Snapshot, Store};
use forebay::internals::lang::yaml::NodeRef;
use forebay::internals::lang::yaml::emit::to_json;
use forebay::internals::world::World;
use std::sync::Arc;

const SYNC: &str = "apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'ssh://git@example.com/fleet'}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, prune: true, path: ./cluster, sourceRef: {kind: GitRepository, name: flux-system}}
";

const PROVIDER: &str = "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSetInputProvider\n";

fn set(spec: &str) -> String {
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: fluxcd.controlplane.io/v1\nkind: ResourceSet\n\
         metadata: {{name: the-set, namespace: flux-system}}\nspec:\n{spec}"
    )
}

fn provider(name: &str, rest: &str) -> String {
    format!("{PROVIDER}metadata: {{name: {name}, namespace: flux-system{rest}}}\n")
}

fn world(files: &[(&str, &str)]) -> World {
    let mut all = vec![("cluster/flux-system/gotk-sync.yaml", SYNC.as_bytes().to_vec())];
    all.extend(files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec())));
    let store = Arc::new(Store::default());
    World::new(&Arc::new(Snapshot::memory(all, store)), &Config::default(), &[])
}

/// A value as JSON, with `?` where a part of it is unknown.
fn shown(node: NodeRef<'_>) -> String {
    match node.holes() {
        Some(holes) => holes.parts.iter().map(|part| part.as_deref().unwrap_or("?")).collect(),
        None if node.is_unknown() => "?".to_owned(),
        None => to_json(node).unwrap_or_else(|error| error.to_string()),
    }
}

/// What the ResourceSet makes, `kind/name`, each with its `data`; and whether that is all.
fn made(files: &[(&str, &str)]) -> (Vec<String>, Option<bool>) {
    let world = world(files);
    let cluster = &world.clusters[0];
    let complete = cluster.sets.first().map(|set| set.is_complete);
    let mut found: Vec<String> = world
        .members(cluster)
        .filter(|(member, _)| member.maker.word() == "resourceSet")
        .map(|(_, object)| {
            let data = object.node.get_ref().get("data").map(shown).unwrap_or_default();
            format!("{}/{} {data}", object.id.kind, object.id.name)
        })
        .collect();
    found.sort();
    (found, complete)
}

fn made_by(spec: &str) -> (Vec<String>, Option<bool>) {
    made(&[("cluster/set.yaml", &set(spec))])
}

const MAP: &str = "apiVersion: v1\n    kind: ConfigMap\n    metadata: {namespace: apps, name: ";

#[test]
fn a_range_over_a_list_of_a_provider() {
    let template = format!(
        "inputsFrom: [{{name: apps}}]\nresourcesTemplate: |\n  <<- range $app := inputs.apps >>\n  ---\n  {}app-<< $app.app >>}}\n  \
         data: {{size: << get $app \"size\" | default inputs.defaults.size >>}}\n  <<- end >>\n",
        MAP.replace("\n    ", "\n  ")
    );
    let apps = provider("apps", "")
        + "spec: {type: Static, defaultValues: {defaults: {size: 1Gi}, apps: [{app: a}, {app: b, size: 5Gi}]}}\n";
    let (found, complete) = made(&[("cluster/set.yaml", &set(&template)), ("cluster/apps.yaml", &apps)]);
    assert_eq!(found, ["ConfigMap/app-a {\"size\":\"1Gi\"}", "ConfigMap/app-b {\"size\":\"5Gi\"}"]);
    assert_eq!(complete, Some(true));
}

#[test]
fn objects_under_conditions_and_templates_within() {
    let spec = "inputs: [{name: a, extra: true, l: [x, 'y: z']}, {name: b, extra: false, l: []}]
resourcesTemplate: |
  << define \"meta\" >>{namespace: apps, name: << . | quote >>}<< end >>
  apiVersion: v1
  kind: ConfigMap
  metadata: << template \"meta\" inputs.name >>
  data:
    l: << join \",\" inputs.l | quote >>
  << if inputs.extra >>
  ---
  apiVersion: v1
  kind: ConfigMap
  metadata: << template \"meta\" (printf \"%s-extra\" inputs.name) >>
  data: << dict \"l\" inputs.l | toYaml | nindent 4 >>
  << end >>
";
    let (found, complete) = made_by(spec);
    assert_eq!(
        found,
        [
            "ConfigMap/a {\"l\":\"x,y: z\"}",
            "ConfigMap/a-extra {\"l\":[\"x\",\"y: z\"]}",
            "ConfigMap/b {\"l\":\"\"}",
        ]
    );
    assert_eq!(complete, Some(true));
}

/// A resource is a template as the text that it is written as: a scalar may become a
/// tree, keys are templates too, and quotes of the file protect nothing.
#[test]
fn a_resource_is_a_text_before_it_is_read() {
    let spec =
        "inputs: [{name: a, port: 8080, tree: {k: [1, 'yes']}, yes: 'yes', on: true, million: 1000000}]
resources:
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: apps, name: '<< inputs.name >>'}
  data:
    port: \"<< inputs.port >>\"
    quoted: << inputs.port | quote >>
    tree: << inputs.tree | toYaml | nindent 6 >>
    plain-yes: << inputs.yes >>
    \"<< inputs.name >>-key\": << if inputs.on >>on<< else >>off<< end >>
    big: << mul inputs.port 1000 >>
    exponent: << inputs.million >>
    kept: 'yes'
";
    let (found, _) = made_by(spec);
    assert_eq!(
        found,
        [
            "ConfigMap/a {\"a-key\":true,\"big\":8080000,\"exponent\":1000000,\"kept\":\"yes\",\"plain-yes\":true,\"port\":8080,\
          \"quoted\":\"8080\",\"tree\":{\"k\":[1,\"yes\"]}}"
        ]
    );
}

/// As flux-operator's own code answered, with the reader of apimachinery 0.34.
#[test]
fn what_is_made_is_read_as_the_api_server_gets_it() {
    let of_text = |data: &str| {
        let template = format!("{}x}}\n    data:\n{data}", MAP.trim_start().replace("\n    ", "\n  "));
        made_by(&format!(
            "inputs: [{{a: b}}]\nresourcesTemplate: |\n  {}",
            template.replace("\n    ", "\n  ")
        ))
        .0
    };
    for (data, made) in [
        ("      1: a\n", Some("{\"1\":\"a\"}")),
        ("      true: a\n", Some("{\"true\":\"a\"}")),
        ("      y: a\n", Some("{\"true\":\"a\"}")),
        ("      \"y\": a\n", Some("{\"y\":\"a\"}")),
        ("      1.5: a\n", Some("{\"1.5\":\"a\"}")),
        ("      ? [a]\n      : a\n", None),
        ("      k: 12345678901234567890\n", Some("{\"k\":12345678901234567000}")),
        ("      k: 9223372036854775807\n", Some("{\"k\":9223372036854775807}")),
        // The reader ends the last line too.
        ("      k: |\n        << inputs.a ->>\n", Some("{\"k\":\"b\\n\"}")),
        ("      k: |-\n        << inputs.a ->>\n", Some("{\"k\":\"b\"}")),
        ("      k: >\n        << inputs.a ->>\n", Some("{\"k\":\"b\\n\"}")),
    ] {
        let expected: Vec<String> = made.map(|made| format!("ConfigMap/x {made}")).into_iter().collect();
        assert_eq!(of_text(data), expected, "{data}");
    }
}

#[test]
fn inputs_are_flattened_own_first_then_providers_by_name() {
    let spec = "inputs: [{name: own}]
inputsFrom: [{name: two}, {selector: {matchExpressions: [{key: set, operator: In, values: [x, y]}]}}, {name: one}]
resources:
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: apps, name: << inputs.name >>}
  data: {of: << inputs.provider.kind >>/<< inputs.provider.name >>}
";
    let one = provider("one", ", labels: {set: x}") + "spec: {type: Static, defaultValues: {name: first}}\n";
    // The first object of a name stays.
    let two = provider("two", "") + "spec: {type: Static, defaultValues: {name: first}}\n";
    let files = [("cluster/set.yaml", &*set(spec)), ("cluster/1.yaml", &one), ("cluster/2.yaml", &two)];
    let (found, complete) = made(&files);
    assert_eq!(
        found,
        [
            "ConfigMap/first {\"of\":\"ResourceSetInputProvider/one\"}",
            "ConfigMap/own {\"of\":\"ResourceSet/the-set\"}",
        ]
    );
    assert_eq!(complete, Some(true));
}

#[test]
fn inputs_are_permuted_each_provider_under_its_name() {
    let spec = "inputStrategy: {name: Permute}
inputs: [{env: dev}, {env: prod}]
inputsFrom: [{name: team.one}, {name: b}]
resources:
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: apps, name: << inputs.the_set.env >>-<< inputs.team_one.team >>-<< inputs.b.n >>}
  data: {id: << inputs.id >>}
";
    let one = provider("team.one", "") + "spec: {type: Static, defaultValues: {team: red}}\n";
    let two = provider("b", "") + "spec: {type: Static, defaultValues: {n: 1}}\n";
    let files = [("cluster/set.yaml", &*set(spec)), ("cluster/1.yaml", &one), ("cluster/2.yaml", &two)];
    let (found, complete) = made(&files);
    // adler32 of `the_set=0/b=0/team_one=0`, and of `the_set=1/…`.
    assert_eq!(
        found,
        ["ConfigMap/dev-red-1 {\"id\":1778518076}", "ConfigMap/prod-red-1 {\"id\":1779566653}"]
    );
    assert_eq!(complete, Some(true));
    // Without inputs of its own it is passed over, or makes everything nothing.
    let none =
        spec.replace("inputs: [{env: dev}, {env: prod}]\n", "").replace("inputs.the_set.env", "inputs.b.n");
    let files = [("cluster/set.yaml", &*set(&none)), ("cluster/1.yaml", &one), ("cluster/2.yaml", &two)];
    assert_eq!(made(&files).0.len(), 1);
    let empty = none.replace("{name: Permute}", "{name: Permute, includeEmptyProviders: true}");
    let files = [("cluster/set.yaml", &*set(&empty)), ("cluster/1.yaml", &one), ("cluster/2.yaml", &two)];
    assert_eq!(made(&files), (Vec::new(), Some(true)));
}

/// What a live provider gives is unknown; what own inputs make is there all the same.
#[test]
fn what_a_live_provider_gives_is_unknown_and_the_rest_is_made() {
    let spec = "inputs: [{name: own}]
inputsFrom: [{name: branches}]
resources:
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: apps, name: << inputs.name >>}
";
    let live = provider("branches", "") + "spec: {type: GitHubBranch, url: 'https://example.com/a/b'}\n";
    let both = [("cluster/set.yaml", &*set(spec)), ("cluster/1.yaml", &live)];
    assert_eq!(made(&both), (vec!["ConfigMap/own ".to_owned()], Some(false)));
    let alone = spec.replace("inputs: [{name: own}]\n", "");
    let files = [("cluster/set.yaml", &*set(&alone)), ("cluster/1.yaml", &live)];
    assert_eq!(made(&files), (Vec::new(), None));
    // Of all combinations each has a part of it.
    let permuted = format!("inputStrategy: {{name: Permute}}\n{spec}");
    let files = [("cluster/set.yaml", &*set(&permuted)), ("cluster/1.yaml", &live)];
    assert_eq!(made(&files), (Vec::new(), None));
    // A provider that isn't here may be in the cluster.
    assert_eq!(made(&[("cluster/set.yaml", &set(spec))]), (Vec::new(), None));
}

#[test]
fn the_id_of_a_static_provider_is_a_hole() {
    let spec = "inputsFrom: [{name: one}]
resources:
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: apps, name: << inputs.name >>-<< inputs.id >>}
  data: {id: << inputs.id >>, text: << inputs.id | quote >>, some: id-<< inputs.id >>-x, digits: << inputs.id >>0}
";
    let one = provider("one", "") + "spec: {type: Static, defaultValues: {name: a, id: mine}}\n";
    let world = world(&[("cluster/set.yaml", &set(spec)), ("cluster/1.yaml", &one)]);
    let cluster = &world.clusters[0];
    let (_, object) =
        world.members(cluster).find(|(_, object)| &*object.id.kind == "ConfigMap").expect("an object");
    assert_eq!(&*object.id.name, "a-?");
    let value = |key: &str| object.node.get_ref().at("/data").and_then(|data| data.get(key)).map(shown);
    assert_eq!(value("id").as_deref(), Some("?"));
    assert_eq!(value("text").as_deref(), Some("?"));
    assert_eq!(value("some").as_deref(), Some("id-?-x"));
    // Digits and digits are a number.
    assert_eq!(value("digits").as_deref(), Some("?"));
    // What asks it decides what nobody knows.
    let asks = spec
        .replace("name: << inputs.name >>-<< inputs.id >>", "name: << if eq inputs.id \"1\" >>a<< end >>");
    assert_eq!(made(&[("cluster/set.yaml", &set(&asks)), ("cluster/1.yaml", &one)]), (Vec::new(), None));
}

#[test]
fn steps_are_built_one_after_the_other() {
    let step = |name: &str, object: &str| {
        format!(
            "- name: {name}\n  resources:\n  - apiVersion: v1\n    kind: ConfigMap\n    \
             metadata: {{namespace: apps, name: {object}}}\n"
        )
    };
    let spec = format!(
        "inputs: [{{n: 1}}, {{n: 2}}]\nsteps:\n{}{}",
        step("one", "a-<< inputs.n >>"),
        step("two", "b")
    );
    assert_eq!(made_by(&spec).0, ["ConfigMap/a-1 ", "ConfigMap/a-2 ", "ConfigMap/b "]);
    // What two steps make fails, and so do steps beside resources.
    let twice = format!("steps:\n{}{}", step("one", "a"), step("two", "a"));
    assert_eq!(made_by(&twice), (Vec::new(), None));
    let both = format!("{spec}\nresourcesTemplate: ''\nresources: [{{}}]\n");
    assert_eq!(made_by(&both), (Vec::new(), None));
}

#[test]
fn the_first_of_one_identity_stays_and_what_is_disabled_is_left_out() {
    let spec = "inputs: [{n: a, off: enabled}, {n: b, off: disabled}]
resourcesTemplate: |
  apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: apps, name: same}
  data: {from: text}
resources:
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: apps, name: same}
  data: {from: << inputs.n >>}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    namespace: apps
    name: << inputs.n >>
    annotations: {fluxcd.controlplane.io/reconcile: << inputs.off >>}
";
    assert_eq!(made_by(spec).0, ["ConfigMap/a ", "ConfigMap/same {\"from\":\"a\"}"]);
    // Without inputs the annotation of a resource is not looked at.
    let alone = "resources:
- apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: apps, name: a, annotations: {fluxcd.controlplane.io/reconcile: disabled}}
";
    assert_eq!(made_by(alone).0, ["ConfigMap/a "]);
}

/// What fails makes nothing, and nothing is said of what it would have made.
#[test]
fn a_template_that_fails_makes_nothing() {
    let of = |template: &str| {
        let spec = format!(
            "inputs: [{{n: a, l: [1], m: {{}}}}]\nresourcesTemplate: |\n  apiVersion: v1\n  kind: ConfigMap\n  \
             metadata: {{namespace: apps, name: a}}\n  data: {{k: {template}}}\n"
        );
        made_by(&spec)
    };
    assert_eq!(of("<< inputs.n >>").0, ["ConfigMap/a {\"k\":\"a\"}"]);
    for template in [
        "<< inputs.none >>",
        "<< inputs.m.none >>",
        "<< inputs.n",
        "<< nope >>",
        "<< include \"x\" . >>",
        "<< .Values >>",
        "<< fail \"no\" >>",
        "<< now >>",
        "<< merge inputs.m inputs.m >>",
        "<< index inputs.l 7 >>",
        "<< \"a: b\" >>",
        "<< range inputs.n >>x<< end >>",
        "<< until 100000000 | len >>",
    ] {
        assert_eq!(of(template), (Vec::new(), None), "{template}");
    }
    for (template, value) in [
        ("<< slugify \"Ägypten & Co. @home!\" >>", "?"),
        ("<< slugify \"Feature/ABC-123_x & Co. @home!\" >>", "\"feature-abc-123_x-and-co-athome\""),
        ("<< toYaml inputs.l | trim | quote >>", "\"- 1\""),
        ("<< (fromJson \"[1,2]\") | len >>", "2"),
        ("<< inputs.m | toJson | quote >>", "\"{}\""),
        ("<< dig \"a\" \"b\" \"none\" inputs.m >>", "\"none\""),
    ] {
        let expected = match value {
            "?" => "ConfigMap/a {\"k\":{\"$unknown\":\"slugify of letters beyond ASCII\"}}".to_owned(),
            value => format!("ConfigMap/a {{\"k\":{value}}}"),
        };
        assert_eq!(of(template).0, [expected], "{template}");
    }
}

/// A part of a list that a loop wrote stands at the line of the loop's body.
#[test]
fn places_of_what_a_loop_writes() {
    let text = set("inputs: [{l: [one, two]}]
resourcesTemplate: |
  apiVersion: v1
  kind: ConfigMap
  metadata: {namespace: apps, name: a}
  data:
  << range $i, $e := inputs.l >>
    k<< $i >>: fixed
    v<< $i >>: << $e >>
  << end >>
    last: end
");
    let world = world(&[("cluster/set.yaml", &text)]);
    let (_, object) = world
        .members(&world.clusters[0])
        .find(|(_, object)| &*object.id.kind == "ConfigMap")
        .expect("an object");
    let written = |pointer: &str| {
        let place = object.node.get_ref().at(pointer).and_then(NodeRef::location).expect("a place");
        text[place.start as usize..place.end as usize].to_owned()
    };
    for (pointer, place) in [
        ("/data/k0", "fixed"),
        ("/data/k1", "fixed"),
        ("/data/v0", "one"),
        ("/data/v1", "two"),
        ("/data/last", "end"),
        ("/kind", "ConfigMap"),
    ] {
        assert_eq!(written(pointer), place, "{pointer}");
    }
    let origins = object.node.get_ref().at("/data/v1").expect("a value").origins();
    let all: Vec<&str> =
        origins.iter().map(|place| &text[place.start as usize..place.end as usize]).collect();
    assert_eq!(all, ["two", "<< $e >>"]);
}
