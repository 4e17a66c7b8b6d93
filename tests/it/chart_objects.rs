//! What charts make is judged like everything else: a finding stands at the repository's
//! value, and references see what is rendered, as far as all of it is known.

use crate::support::scratch::Scratch;
use serde_json::Value;

const SYNC: &str = "\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: 'https://example.com/fleet.git', ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/a, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
---
apiVersion: v1
kind: Namespace
metadata: {name: apps}
";

const RELEASE: &str = "\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: apps}
spec:
  interval: 1h
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
";

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {ports: [{name: http, port: 80}]}
";

const INGRESS: &str = "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: apps}
spec:
  rules:
    - host: web.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
            backend: {service: {name: NAME, port: {number: 80}}}
";

/// A stated cluster with one release of a chart of these templates, and these objects.
fn fleet(templates: &[(&str, &str)], values: &str, objects: &str) -> Scratch {
    let scratch = Scratch::new(&[
        ("clusters/a/flux-system/gotk-sync.yaml", SYNC),
        ("charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"),
    ]);
    for (name, text) in templates {
        scratch.write(&format!("charts/web/templates/{name}.yaml"), text.as_bytes());
    }
    let values = if values.is_empty() { String::new() } else { format!("  values:\n{values}") };
    scratch.write("clusters/a/web.yaml", format!("{RELEASE}{values}").as_bytes());
    scratch.write("clusters/a/objects.yaml", objects.as_bytes());
    scratch
}

/// Rule, level, title and the text that each finding stands at.
fn findings(scratch: &Scratch) -> Vec<(String, String, String, String)> {
    let run = scratch.forebay(&["lint", "--format", "json", "--fail-on", "never", "--show", "info"]);
    let answer = run.json();
    crate::support::scratch::assert_schema("schemas/lint.json", &answer);
    let told = |one: &Value| {
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let place = &one["location"];
        let byte = |name: &str| place[name].as_u64().expect("a byte") as usize;
        let at = scratch.read(place["path"].as_str().expect("a path"))[byte("start")..byte("end")].to_owned();
        (text(&one["rule"]), text(&one["level"]), text(&one["message"]), at)
    };
    answer["findings"].as_array().expect("findings").iter().map(told).collect()
}

fn rules(scratch: &Scratch) -> Vec<(String, String)> {
    findings(scratch).into_iter().map(|(rule, level, ..)| (rule, level)).collect()
}

fn one(rule: &str, level: &str) -> Vec<(String, String)> {
    vec![(rule.to_owned(), level.to_owned())]
}

const ACCOUNT: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
  labels: {{- toYaml .Values.labels | nindent 4 }}
{{- with .Values.extra }}
{{ toYaml . }}
{{- end }}
";

#[test]
fn a_finding_about_a_rendered_value_stands_where_the_release_writes_it() {
    let label = fleet(&[("account", ACCOUNT)], "    labels: {team: -web-}\n", "");
    let [(rule, level, title, at)] = &findings(&label)[..] else { panic!("{:?}", findings(&label)) };
    assert_eq!((&**rule, &**level, &**at), ("malformed-label-value", "error", "-web-"), "{title}");
    assert!(title.starts_with("ServiceAccount apps/web: "), "{title}");

    let field =
        fleet(&[("account", ACCOUNT)], "    labels: {a: b}\n    extra: {automountToken: false}\n", "");
    let [(rule, _, _, at)] = &findings(&field)[..] else { panic!("{:?}", findings(&field)) };
    assert_eq!((&**rule, &**at), ("unknown-field", "automountToken"));
}

#[test]
fn a_finding_about_a_rendered_value_is_never_fixed_by_itself() {
    let field = fleet(&[("account", ACCOUNT)], "    labels: {a: b}\n    extra: {secretz: []}\n", "");
    let before = field.read("clusters/a/web.yaml");
    field.forebay(&["lint", "--fix=unsafe"]);
    assert_eq!(field.read("clusters/a/web.yaml"), before);
}

#[test]
fn a_value_that_only_decides_is_not_to_blame() {
    let template = "{{ if .Values.enabled }}apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\nautomountToken: true\n{{ end }}";
    let scratch = fleet(&[("account", template)], "    enabled: true\n", "");
    let [(rule, level, title, at)] = &findings(&scratch)[..] else { panic!("{:?}", findings(&scratch)) };
    assert_eq!((&**rule, &**level, &**at), ("faulty-chart", "info", "./charts/web"), "{title}");
}

#[test]
fn references_find_what_charts_make() {
    let there = fleet(&[("service", SERVICE)], "", &INGRESS.replace("NAME", "web"));
    assert_eq!(rules(&there), []);
    let absent = fleet(&[("service", SERVICE)], "", &INGRESS.replace("NAME", "api"));
    assert_eq!(rules(&absent), one("missing-workload-reference", "error"));
    let port = fleet(&[("service", SERVICE)], "", &INGRESS.replace("NAME", "web").replace("80}", "81}"));
    assert_eq!(rules(&port).len(), 1, "{:?}", findings(&port));
}

#[test]
fn what_a_chart_of_unknown_objects_may_make_is_not_missing() {
    let cases = [
        // Something unknown decides.
        "{{ if lookup \"v1\" \"Secret\" \"apps\" \"x\" }}apiVersion: v1\nkind: Service\nmetadata: {name: api}\n{{ end }}",
        // Another version of Kubernetes has more.
        "{{ if semverCompare \">=1.34-0\" .Capabilities.KubeVersion.Version }}apiVersion: v1\nkind: Service\nmetadata: {name: api}\n{{ end }}",
        "{{ if .Capabilities.APIVersions.Has \"example.com/v1\" }}apiVersion: v1\nkind: Service\nmetadata: {name: api}\n{{ end }}",
        // Its programs may create some.
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: operator}\nrules: [{apiGroups: [''], resources: [services], verbs: [get, create]}]\n",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: operator}\nrules: [{apiGroups: [''], resources: ['*'], verbs: ['*']}]\n",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: operator}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: []\n",
        // A hook of it does.
        "apiVersion: v1\nkind: Service\nmetadata: {name: api, annotations: {helm.sh/hook: pre-install}}\nspec: {ports: [{port: 80}]}\n",
    ];
    for template in cases {
        let scratch = fleet(&[("some", template)], "", &INGRESS.replace("NAME", "api"));
        assert_eq!(rules(&scratch), [], "{template}");
    }
}

#[test]
fn what_every_cluster_answers_alike_is_known() {
    let cases = [
        "{{ if semverCompare \">=1.20-0\" .Capabilities.KubeVersion.Version }}apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n{{ end }}",
        "{{ if .Capabilities.APIVersions.Has \"apps/v1\" }}apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n{{ end }}",
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n{{ if lookup \"v1\" \"Node\" \"\" \"\" }}{{ end }}",
    ];
    for template in &cases[..2] {
        let scratch = fleet(&[("some", template)], "", &INGRESS.replace("NAME", "api"));
        assert_eq!(rules(&scratch), one("missing-workload-reference", "error"), "{template}");
    }
    // A question of which nothing comes is a question all the same.
    let scratch = fleet(&[("some", cases[2])], "", &INGRESS.replace("NAME", "api"));
    assert_eq!(rules(&scratch), []);
}

#[test]
fn definitions_of_a_chart_answer_what_charts_ask_and_judge_objects() {
    let definition = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wheels.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Wheel, plural: wheels, singular: wheel, listKind: WheelList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {spokes: {type: integer}}}}}}
";
    let asking = "{{ if .Capabilities.APIVersions.Has \"example.com/v1/Wheel\" }}apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n{{ end }}";
    let objects = format!(
        "{}---\napiVersion: example.com/v1\nkind: Wheel\nmetadata: {{name: front, namespace: apps}}\nspec: {{spoks: 3}}\n",
        INGRESS.replace("NAME", "web")
    );
    let scratch = fleet(&[("definition", definition), ("some", asking)], "", &objects);
    let found = findings(&scratch);
    let [(rule, _, title, _), (field, _, _, at)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((&**field, &**at), ("unknown-field", "spoks"));
    // One Kustomization applies the release, and what is of a kind that its chart defines.
    assert_eq!(&**rule, "applied-before-its-definition");
    assert!(title.contains("together with HelmRelease apps/"), "{title}");
}

#[test]
fn what_a_chart_makes_twice_or_elsewhere_is_not_told_as_a_duplicate() {
    let objects = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: apps}\nspec: {ports: [{port: 80}]}\n";
    assert_eq!(rules(&fleet(&[("service", SERVICE)], "", objects)), []);
}

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.org/web:1, ports: [{name: http, containerPort: 8080}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: {{ .Values.port }}}]}
";

#[test]
fn a_port_that_a_value_names_is_one_of_the_charts_pods() {
    for port in ["http", "8080", "9090"] {
        let right = fleet(&[("web", DEPLOYMENT)], &format!("    port: {port}\n"), "");
        assert_eq!(rules(&right), [], "{port}");
    }
    let wrong = fleet(&[("web", DEPLOYMENT)], "    port: htp\n", "");
    let [(rule, level, title, at)] = &findings(&wrong)[..] else { panic!("{:?}", findings(&wrong)) };
    assert_eq!((&**rule, &**level, &**at), ("unknown-service-port", "error", "htp"), "{title}");
    // The chart's own mistake is nothing that a value mends.
    let own = fleet(&[("web", &DEPLOYMENT.replace("{{ .Values.port }}", "htp"))], "", "");
    assert_eq!(rules(&own), one("faulty-chart", "info"));
    // A Service of the repository that selects the Pods of a chart.
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web-too, namespace: apps}\n\
                   spec: {selector: {app: web}, ports: [{port: 80, targetPort: NAME}]}\n";
    let of = |name| fleet(&[("web", DEPLOYMENT)], "    port: http\n", &service.replace("NAME", name));
    assert_eq!(rules(&of("http")), []);
    assert_eq!(rules(&of("https")), one("unknown-service-port", "error"));
}

#[test]
fn a_health_check_names_what_a_chart_makes() {
    const APPS: &str = "\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec:
  interval: 10m
  path: ./apps
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  healthChecks: [{apiVersion: apps/v1, kind: KIND, name: NAME, namespace: apps}]
";
    const OTHER: &str = "\
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: other, namespace: apps}
spec:
  interval: 1h
  chart: {spec: {chart: ./charts/other, sourceRef: {kind: GitRepository, name: elsewhere, namespace: flux-system}}}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: elsewhere, namespace: flux-system}
spec: {interval: 1m, url: 'https://example.com/charts.git', ref: {branch: main}}
";
    let check = |kind: &str, name: &str, more: &str| {
        let objects = format!("{}{more}", APPS.replace("KIND", kind).replace("NAME", name));
        let scratch = fleet(&[("web", DEPLOYMENT)], "    port: http\n", &objects);
        scratch.write(
            "apps/settings.yaml",
            b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: apps}\n",
        );
        findings(&scratch)
    };
    assert_eq!(check("Deployment", "web", ""), []);
    for name in ["wep", "api"] {
        let found = check("Deployment", name, "");
        let [(rule, level, title, at)] = &found[..] else { panic!("{name}: {found:?}") };
        assert_eq!((&**rule, &**level, &**at), ("missing-reference", "warning", name), "{title}");
    }
    assert_eq!(check("StatefulSet", "web", "").len(), 1);
    // A chart that is not here may make it, unless the name is nearly one that is there.
    assert_eq!(check("Deployment", "api", OTHER), []);
    assert_eq!(check("Deployment", "wep", OTHER).len(), 1);
}

#[test]
fn a_release_that_nothing_applies_blames_no_source_of_others() {
    let source = "apiVersion: source.toolkit.fluxcd.io/v1\nkind: OCIRepository\n\
                  metadata: {name: web, namespace: apps}\n\
                  spec: {interval: 1h, url: 'oci://example.com/charts/web', ref: {tag: 0.1.0}}\n";
    let release = |name: &str, host: &str| {
        format!(
            "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\n\
             metadata: {{name: {name}, namespace: apps}}\n\
             spec: {{interval: 1h, chartRef: {{kind: OCIRepository, name: web}}, values: {{{host}}}}}\n"
        )
    };
    let fails = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n\
                 data: {host: {{ required \"a host is needed\" .Values.host }}}\n";
    let scratch = Scratch::new(&[
        ("clusters/a/flux-system/gotk-sync.yaml", SYNC),
        (".forebay/charts/web/Chart.yaml", "apiVersion: v2\nname: web\nversion: 0.1.0\n"),
        (".forebay/charts/web/templates/settings.yaml", fails),
        ("clusters/a/source.yaml", source),
        ("clusters/a/web.yaml", &release("web", "host: a")),
        ("archive/old.yaml", &release("old", "")),
    ]);
    let all = findings(&scratch);
    let fails: Vec<_> = all.iter().filter(|(rule, ..)| rule == "chart-fails").collect();
    let [(_, level, title, at)] = fails[..] else { panic!("{all:?}") };
    assert!(title.contains("apps/old") && at.contains("kind: OCIRepository"), "{title}: {at}");
    assert_eq!(level, "info");
}

#[test]
fn a_chart_that_fails_on_what_a_cluster_knows_says_not_how_it_takes_a_value() {
    let template = "\
{{- if not (lookup \"v1\" \"Secret\" \"apps\" \"x\") }}{{ fail \"no such Secret\" }}{{ end }}
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {secret: {{ if kindIs \"string\" .Values.secret }}{{ .Values.secret }}{{ else }}own{{ end }}}
";
    let told = |template: &str| {
        let scratch = fleet(&[("some", template)], "    secret: mine\n", "");
        scratch.write("charts/web/values.yaml", b"secret: {token: ''}\n");
        rules(&scratch)
    };
    assert_eq!(told(template), one("chart-fails", "info"));
    // What a loop over the answer counted.
    let counted = "\
{{- $found := 0 }}{{ range (lookup \"v1\" \"Secret\" \"\" \"\").items }}{{ $found = add $found 1 }}{{ end }}
{{- if eq $found 0 }}{{ fail \"no such Secret\" }}{{ end }}
";
    let rest = template.split_once('\n').expect("two lines").1;
    assert_eq!(told(&format!("{counted}{rest}")), one("chart-fails", "info"));
    // Where the cluster does not matter, one that fails takes it in no shape.
    let fails =
        template.replacen("lookup \"v1\" \"Secret\" \"apps\" \"x\"", "kindIs \"map\" .Values.secret", 1);
    assert!(told(&fails).iter().any(|(rule, _)| rule == "value-replaced-table"), "{:?}", told(&fails));
}

#[test]
fn a_kustomization_that_does_not_build_may_move_what_lies_beside_it() {
    let web = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: home}\n\
               spec: {containers: [{name: web, image: a}], volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]}\n";
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: storage}\n\
                 spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n";
    let told = |kustomization: Option<&str>| {
        let scratch = fleet(&[], "", "");
        std::fs::remove_file(scratch.path().join("clusters/a/web.yaml")).expect("a release");
        scratch.write("old/web.yaml", web.as_bytes());
        scratch.write("old/claim.yaml", claim.as_bytes());
        if let Some(text) = kustomization {
            scratch.write("old/kustomization.yaml", text.as_bytes());
        }
        rules(&scratch).into_iter().filter(|(rule, _)| rule == "missing-workload-reference").count()
    };
    assert_eq!(told(None), 1);
    assert_eq!(told(Some("namespace: home\nresources: [web.yaml, claim.yaml]\npatches: [a.yaml]\n")), 0);
}

/// What a release makes of a template, whose values have a variable of an encrypted Secret.
fn with_a_hidden_domain(template: &str, values: &str) -> String {
    let secret = "\
apiVersion: v1
kind: Secret
metadata: {name: secrets, namespace: flux-system}
stringData: {SECRET_DOMAIN: 'ENC[AES256_GCM,data:aGk=,iv:aXY=,tag:dGFn,type:str]'}
sops: {age: [{recipient: age1examplealice, enc: YWdl}], version: 3.11.0}
";
    let scratch = fleet(&[("a", template)], values, secret);
    let path = "./clusters/a, prune: true, postBuild: {substituteFrom: [{kind: Secret, name: secrets}]}";
    let sync = SYNC.replace("./clusters/a, prune: true", path);
    scratch.write("clusters/a/flux-system/gotk-sync.yaml", sync.as_bytes());
    scratch.forebay(&["build", "--helm-release", "apps/web"]).out
}

/// Of a variable of an encrypted Secret the text is hidden that holds it: not its name, not what
/// was only decided by it, and not what stands beside it.
#[test]
fn what_a_secret_only_decided_is_shown() {
    const TEMPLATE: &str = "\
{{- $all := list }}
{{- range $name, $value := .Values.env }}
{{- $one := dict \"name\" $name }}
{{- $_ := set $one \"value\" $value }}
{{- $all = append $all $one }}
{{- end }}
{{- $env := list }}
{{- range $all }}
{{- if hasKey . \"value\" }}
{{- if kindIs \"string\" .value }}
{{- $env = append $env (dict \"name\" .name \"value\" (tpl .value $)) }}
{{- end }}
{{- end }}
{{- end }}
apiVersion: example.com/v1
kind: Example
metadata: {name: web}
env: {{- $env | toYaml | nindent 2 }}
keys: {{- keys .Values.env | sortAlpha | toYaml | nindent 2 }}
";
    let values =
        "    env:\n      A_LEVEL: info\n      URL: https://web.${SECRET_DOMAIN}\n      Z_LEVEL: debug\n";
    let out = with_a_hidden_domain(TEMPLATE, values);
    let env = out.split_once("env:\n").map(|(_, env)| env.lines().take(6).collect::<Vec<_>>());
    let expected = [
        "- name: A_LEVEL",
        "  value: info",
        "- name: URL",
        "  value: '***'",
        "- name: Z_LEVEL",
        "  value: debug",
    ];
    assert_eq!(env.as_deref(), Some(&expected[..]), "{out}");
    assert!(out.contains("keys:\n- A_LEVEL\n- URL\n- Z_LEVEL\n"), "{out}");
}

/// Libraries pass objects on as YAML, several times: what a map is made of is no part of its values.
#[test]
fn what_stands_beside_a_secret_is_shown_however_often_it_is_read_back() {
    const TEMPLATE: &str = "\
{{- define \"all\" -}}
{{- $all := dict }}
{{- range $name, $one := .Values.controllers }}{{ $_ := set $all $name . }}{{ end }}
{{- $all | toYaml -}}
{{- end -}}
{{- define \"named\" -}}
{{- $one := get (include \"all\" .root | fromYaml) .id -}}
{{- $_ := set $one \"name\" .id -}}
{{- $one | toYaml -}}
{{- end -}}
{{- $one := include \"named\" (dict \"root\" $ \"id\" \"one\") | fromYaml }}
apiVersion: example.com/v1
kind: Example
metadata: {name: {{ $one.name }}}
size: {{ $one.size }}
word: {{ $one.word }}
url: {{ $one.url }}
";
    // A text of lines is read from the YAML, all else out of the value that was written.
    let values = "    controllers:\n      one: {size: 3, word: plain, url: 'https://web.${SECRET_DOMAIN}'}\n      \
                  two: {command: [\"a\\nb\\n\"]}\n";
    let out = with_a_hidden_domain(TEMPLATE, values);
    for shown in ["\n  name: one\n", "size: 3\n", "word: plain\n", "url: '***'\n"] {
        assert!(out.contains(shown), "{shown}: {out}");
    }
}

/// The lines of `why` about where a value comes from and what decided on it.
fn told(scratch: &Scratch, object: &str, pointer: &str) -> Vec<String> {
    let out = scratch.forebay(&["why", object, pointer]).out;
    let is_told = |line: &&str| line.starts_with("  from ") || line.starts_with("  decided by ");
    out.lines().filter(is_told).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// What a map that is read from a text comes from is what stands around its values, however
/// unlike a text these are: no line of one decides on another.
#[test]
fn a_value_that_was_read_back_is_decided_by_no_other() {
    const TEMPLATE: &str = "\
{{- define \"one\" -}}
{{- .Values.one | toYaml -}}
{{- end -}}
{{- $one := include \"one\" . | fromYaml }}
{{- if $one.enabled }}
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ $one.name }}}
data: {level: {{ default \"info\" $one.level }}, first: {{ keys $one | sortAlpha | first }}}
{{- end }}
";
    for (env, values) in [
        ("{A: b}", "lines of a block"),
        ("{A: 'b: c', '1': d}", "a text with a mark, and a key like a number"),
        ("{A: \"b\\nc\"}", "several lines"),
        ("{A: \"b\\nc \\n\", B: \"\\u0085\"}", "what YAML writes otherwise"),
    ] {
        let own =
            format!("    one:\n      enabled: true\n      env: {env}\n      level: ''\n      name: web\n");
        let fleet = fleet(&[("map", TEMPLATE)], &own, "");
        let expected = ["from clusters/a/web.yaml:9:16", "decided by clusters/a/web.yaml:9:7"];
        assert_eq!(told(&fleet, "ConfigMap/apps/web", "/data/first"), expected, "{values}");
        // A text of the template's own was chosen by a value.
        let level = ["from charts/web/templates/map.yaml:9:27", "decided by clusters/a/web.yaml:11:14"];
        assert_eq!(told(&fleet, "ConfigMap/apps/web", "/data/level"), level, "{values}");
    }
}

/// Who asks for an object of a chart that is not here is told that.
#[test]
fn an_object_that_is_not_there_may_be_of_a_release_that_is_not_rendered() {
    let scratch = fleet(&[("service", SERVICE)], "", "");
    let asked = |object: &str| scratch.forebay(&["why", object, "/spec"]).err;
    assert!(
        asked("Service/apps/wep").contains("did you mean Service/apps/web?"),
        "{}",
        asked("Service/apps/wep")
    );
    scratch.write("charts/web/templates/broken.yaml", b"{{ fail \"no port\" }}");
    let err = asked("Service/apps/web");
    let expected = "no object is called Service/apps/web; HelmRelease apps/web may make it, which is not rendered: its chart fails: ";
    assert!(err.contains(expected) && err.contains("no port"), "{err}");
    // What stands in another namespace is nearer.
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: other}\nspec: {ports: [{port: 80}]}\n";
    scratch.write("clusters/a/objects.yaml", service.as_bytes());
    assert!(
        asked("Service/apps/web").contains("did you mean Service/other/web?"),
        "{}",
        asked("Service/apps/web")
    );
    scratch.write("clusters/a/objects.yaml", b"");
    // Of another namespace, or another name, it is nobody's.
    for object in ["Service/other/web", "Service/other"] {
        assert!(!asked(object).contains("may make it"), "{}", asked(object));
    }
}
