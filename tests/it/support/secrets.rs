//! Secrets in every shape, with a marker wherever a value is: `@T@` for a text, `@B@` for
//! one in base64, `@P@` for a part of the value before it.

use base64::Engine;

/// Files by the name of their directory. Each directory is applied by a Kustomization of
/// its own, so that one that can't be built takes nothing from the others.
pub(crate) const SHAPES: &[(&str, &[(&str, &str)])] = &[
    (
        "plain",
        &[(
            "secret.yaml",
            r#"# @T@
apiVersion: v1
kind: Secret
metadata:
  name: plain
  namespace: apps
  labels: {team: @T@, bad: "@T@ @T@"}
  annotations:
    note: @T@
    event.toolkit.fluxcd.io/x: @T@
    kustomize.toolkit.fluxcd.io/prune: @T@
    kubectl.kubernetes.io/last-applied-configuration: '{"data":{"k":"@B@"},"stringData":{"k":"@T@"}}'
  finalizers: ["@T@"]
  ownerReferences: [{kind: ConfigMap, name: "@T@", uid: "@T@"}]
immutable: "@T@"
type: Opaque
data:
  key: @B@ # before: @T@
  bad: "@T@ no base64"
  # @T@
stringData: {plain: "@T@", number: 1, nested: {"@T@": "@T@"}}
"#,
        )],
    ),
    (
        "misspelt",
        &[(
            "secret.yaml",
            r#"apiVersion: v1
kind: Secret
metadata: {name: misspelt, namespace: apps, label: {a: "@T@"}, creationTimestamp: "@T@"}
stringdata: {key: "@T@"}
Data: {key: "@B@"}
spec: {key: "@T@", list: ["@T@", {name: "@T@", value: "@T@"}]}
value: "@T@"
"#,
        )],
    ),
    (
        "text",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: text, namespace: apps}\ndata: \"@T@\"\nstringData: '@T@'\n",
        )],
    ),
    (
        "list-of-data",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: list-of-data, namespace: apps}\ndata:\n- '@B@'\n- name: \"@T@\"\n  value: '@T@'\n- key=@T@\nstringData: [\"@T@\"]\n",
        )],
    ),
    (
        "json",
        &[
            (
                "secret.json",
                r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"json","namespace":"apps","labels":{"a":"@T@"}},"data":{"k":"@B@"},"stringData":{"k":"@T@"},"stringdata":{"k":"@T@"}}
"#,
            ),
            ("kustomization.yaml", "resources: [secret.json]\n"),
        ],
    ),
    (
        "duplicates",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: duplicates, namespace: apps}\nstringData:\n  a: \"@T@\"\n  a: '@T@'\nstringData:\n  b: @T@\ndata: {k: \"@B@\"}\ndata: {k: '@B@'}\n",
        )],
    ),
    (
        "secret-list",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: SecretList\nmetadata: {resourceVersion: \"@T@\"}\nitems:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: one, namespace: apps}\n  stringData: {a: \"@T@\", nmae: '@T@'}\n- metadata: {name: two, namespace: apps}\n  data: {k: \"@B@\"}\n- \"@T@\"\n",
        )],
    ),
    (
        "list",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: List\nitems:\n# @T@\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: item, namespace: apps}\n  stringData: {a: &here \"@T@\", stringdata: '@T@'}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: takes-alias, namespace: apps, labels: {x: *here}}\n  data: {copied: *here}\n",
        )],
    ),
    (
        "flow",
        &[(
            "secret.yaml",
            "{apiVersion: v1, kind: Secret, metadata: {name: flow, namespace: apps},\n  stringData: {a: \"@T@\", 'b': '@T@', c: @T@, d: },\n  unknown: [@T@, {x: @T@}]}\n",
        )],
    ),
    (
        "blocks",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: blocks, namespace: apps}\nstringData:\n  literal: |\n    first line of it\n    password: @T@\n\n    @T@\n  folded: >-\n    @T@\n    @T@\n  double: \"@T@\\n\n    @T@\"\n  plain: a long\n    @T@\n",
        )],
    ),
    (
        "anchors",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: anchors, namespace: apps, labels: &all {a: &one \"@T@\"}}\nstringData: {a: *one, <<: *all}\nextra: *all\n? \"key\"\n: \"@T@\"\n",
        )],
    ),
    (
        "between",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: before, namespace: apps}\n---\n# old: @T@\n---\n# password: @T@\n\napiVersion: v1\nkind: Secret\nmetadata: {name: between, namespace: apps}\nstringData: {a: b1}\n# last @T@\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: after, namespace: apps, labels: {x: 'a b'}}\n",
        )],
    ),
    (
        "broken-tab",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: broken\n  annotations:\n    a: @T@\nstringData:\n  a: @T@\n\tb: @T@\n",
        )],
    ),
    (
        "broken-quote",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: broken}\nstringData:\n  a: \"@T@\n  b: @T@\n",
        )],
    ),
    (
        "broken-alias",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: broken}\nstringData:\n  a: *@T@\n  b: @T@\n",
        )],
    ),
    (
        "broken-brace",
        &[(
            "secret.yaml",
            "{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"metadata\": {\"name\": \"broken\"}, \"stringData\": {\"a\": \"@T@\", \"b: \"@T@\"}}\n",
        )],
    ),
    (
        "broken-late",
        &[(
            "secret.yaml",
            "stringData:\n  a: @T@: @T@\n  b: @T@\nmetadata: {name: broken}\nkind: Secret\napiVersion: v1\n",
        )],
    ),
    (
        "broken-indent",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata:\n  name: broken\nstringData:\n    a: @T@\n  b: @T@\n c: @T@\n",
        )],
    ),
    (
        "broken-tag",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: broken}\nstringData: {a: !<@T@> @T@, b: %@T@}\n",
        )],
    ),
    (
        "broken-after",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: broken}\nstringData: {a: c}\n--- {b: @T@}\nstringData: {a: @T@}\nkind: Secret\n",
        )],
    ),
    (
        "malformed",
        &[
            (
                "secret.yaml",
                r#"apiVersion: v1
kind: Secret
metadata: {name: malformed, namespace: apps, labels: {a: "${X-@T@}"}}
stringData:
  a: "${X-@T@}"
"#,
            ),
            (
                "config.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: malformed, namespace: apps}\ndata: {a: \"${PASSWORD-default}\"}\n",
            ),
        ],
    ),
    (
        "defaults",
        &[(
            "secret.yaml",
            "apiVersion: v1\nkind: Secret\nmetadata: {name: defaults, namespace: apps}\nstringData:\n  a: ${UNDEFINED:=@T@}\n  b: ${GIVEN:-@T@}\n  c: ${NOWHERE}@T@\n  d: ${COLON}\ndata: {k: \"${NOWHERE}@B@\"}\n",
        )],
    ),
    (
        "copies",
        &[
            (
                "kustomization.yaml",
                r#"resources: [secret.yaml, config.yaml]
replacements:
- source: {kind: Secret, name: source, fieldPath: stringData.plain}
  targets:
  - select: {kind: ConfigMap, name: target}
    fieldPaths: [data.copied, data.text, metadata.annotations.note, "metadata.labels.[app.kubernetes.io/part-of]"]
    options: {create: true}
- source: {kind: Secret, name: source, fieldPath: stringData.url, options: {delimiter: ":", index: 1}}
  targets:
  - {select: {kind: ConfigMap, name: target}, fieldPaths: [data.part], options: {create: true}}
- source: {kind: Secret, name: source, fieldPath: metadata.labels.team}
  targets:
  - {select: {kind: ConfigMap, name: target}, fieldPaths: [data.label, spec.replicas], options: {create: true}}
vars:
- {name: PLAIN, objref: {kind: Secret, name: source, apiVersion: v1}, fieldref: {fieldpath: stringData.var}}
"#,
            ),
            (
                "secret.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata: {name: source, namespace: apps, labels: {team: \"@T@\"}}\nstringData: {plain: \"@T@\", url: \"user:@T@:host\", var: \"@T@\"}\n",
            ),
            (
                "config.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: target, namespace: apps}\ndata: {text: old}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: takes-var, namespace: apps}\nspec: {containers: [{name: a, image: b, args: [\"--password=$(PLAIN)\"], env: [{name: A, value: $(PLAIN)}]}]}\n",
            ),
        ],
    ),
    (
        "out-of-bounds",
        &[
            (
                "kustomization.yaml",
                "resources: [secret.yaml]\nreplacements:\n- source: {kind: Secret, name: source, fieldPath: stringData.url, options: {delimiter: \":\", index: 7}}\n  targets: [{select: {kind: Secret}, fieldPaths: [stringData.b]}]\n",
            ),
            (
                "secret.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata: {name: source, namespace: apps}\nstringData: {url: \"user:@T@\", b: \"@T@\"}\n",
            ),
        ],
    ),
    (
        "wrong-type",
        &[
            (
                "kustomization.yaml",
                "resources: [secret.yaml, config.yaml]\nreplacements:\n- source: {kind: Secret, name: source, fieldPath: stringData.a}\n  targets: [{select: {kind: Thing}, fieldPaths: [spec.count], options: {delimiter: \"-\", index: 1}}]\npatches:\n- target: {kind: Secret}\n  patch: '- {op: test, path: /stringData/a, value: \"@T@\"}'\n",
            ),
            (
                "secret.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata: {name: source, namespace: apps}\nstringData: {a: \"@T@\"}\n",
            ),
            (
                "config.yaml",
                "apiVersion: example.org/v1\nkind: Thing\nmetadata: {name: thing, namespace: apps}\nspec: {count: 1}\n",
            ),
        ],
    ),
    (
        "substituted",
        &[
            (
                "config.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: takes, namespace: apps, labels: {a: \"${GIVEN}\", b: \"x ${GIVEN}\"}, annotations: {b: \"${GIVEN}\"}}\ndata: {a: \"${GIVEN}\", b: \"x${GIVEN}y\", c: \"${GIVEN:0:9}\", d: \"${GIVEN^^}\", e: \"${ENCODED}\", f: \"${COLON}\"}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: takes, namespace: apps}\nspec: {replicas: \"${GIVEN}\", selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: \"b:${GIVEN}\", imagePullPolicy: \"${GIVEN}\"}]}}}\n",
            ),
            (
                "broken.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: breaks, namespace: apps}\ndata: {a: \"${BREAKS}\"}\n",
            ),
            (
                "flux.yaml",
                "apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Provider\nmetadata: {name: takes, namespace: apps}\nspec: {type: slack, channel: \"${GIVEN}\", address: \"https://hooks.example.com/${GIVEN}\"}\n---\napiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {name: takes, namespace: apps}\nspec: {providerRef: {name: takes}, eventMetadata: {a: \"${GIVEN}\"}, eventSources: [{kind: HelmRelease, name: '*'}], inclusionList: [\"${GIVEN}(\"]}\n---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: takes, namespace: apps, annotations: {event.toolkit.fluxcd.io/secret: \"${GIVEN}\"}}\nspec: {interval: \"${GIVEN}\", suspend: true, chart: {spec: {chart: x, version: \"${GIVEN}\", sourceRef: {kind: HelmRepository, name: missing}}}, values: {a: \"${GIVEN}\"}}\n",
            ),
        ],
    ),
    (
        "generated",
        &[
            (
                "kustomization.yaml",
                "resources: [config.yaml]\nsecretGenerator:\n- name: generated\n  namespace: apps\n  literals: [\"key=@T@\", 'other=\"@T@\"', bare=@T@]\n  files: [file.yaml, renamed=other.txt]\n  envs: [secrets.env]\n- name: generated-fixed\n  namespace: apps\n  options: {disableNameSuffixHash: true}\n  literals:\n  - key=@T@\nreplacements:\n- source: {kind: Secret, name: generated-fixed, fieldPath: data.key}\n  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.copied], options: {create: true}}]\n",
            ),
            (
                "file.yaml",
                "password: @T@\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {a: \"@T@ @T@\"}}\nb: \"@T@\n",
            ),
            ("other.txt", "@T@\n"),
            ("secrets.env", "A=@T@\nB=\"@T@\"\n"),
            (
                "config.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copies, namespace: apps}\ndata: {a: b}\n",
            ),
        ],
    ),
    (
        "bad-literal",
        &[(
            "kustomization.yaml",
            "secretGenerator:\n- name: a\n  literals: [\"@T@\", \"=@T@\"]\n- name: b\n  files: [\"a=b=@T@\", \"@T@=\"]\n- name: c\n  literals: [\"k=@T@\", \"k=@T@\"]\n",
        )],
    ),
    (
        "patched",
        &[
            (
                "kustomization.yaml",
                "resources: [secret.yaml]\npatches:\n- target: {kind: Secret, name: patched}\n  patch: |\n    - {op: add, path: /stringData/patched, value: \"@T@\"}\n    - {op: add, path: /metadata/labels, value: {team: \"@T@\"}}\n    - {op: add, path: /stringdata, value: {x: \"@T@\"}}\n- patch: |\n    apiVersion: v1\n    kind: Secret\n    metadata: {name: patched, namespace: apps}\n    stringData: {merged: \"@T@\"}\n- path: patch.yaml\n  target: {kind: Secret}\n- path: merge.yaml\n- target: {kind: .*}\n  patch: '- {op: add, path: /stringData/any, value: \"@T@\"}'\n- target: {kind: Secret, name: nowhere}\n  patch: '- {op: add, path: /unknown/x, value: \"@T@\"}'\n",
            ),
            (
                "secret.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata: {name: patched, namespace: apps}\nstringData: {a: b}\n",
            ),
            (
                "patch.yaml",
                "- {op: add, path: /stringData/file, value: \"@T@\"}\n- {op: add, path: /metadata/annotations, value: {a: \"@T@\"}}\n",
            ),
            (
                "merge.yaml",
                "apiVersion: v1\nkind: Secret\nmetadata: {name: patched, namespace: apps}\nstringData: {file-merged: \"@T@\"}\nstringdata: \"@T@\"\n",
            ),
        ],
    ),
    (
        "templates",
        &[(
            "sets.yaml",
            r#"apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata: {name: sets, namespace: apps}
spec:
  inputs:
  - {tenant: one, password: "@T@", token: '@T@', unknown: {x: 1}}
  resources:
  - apiVersion: v1
    kind: ConfigMap
    metadata: {name: << inputs.tenant >>, namespace: apps}
  # @T@
  - apiVersion: v1
    kind: Secret
    metadata: {name: << inputs.tenant >>, namespace: apps, labels: {x: "@T@"}}
    stringData: {a: "<< inputs.password >>", b: "@T@"}
    stringdata: {a: "@T@"}
  resourcesTemplate: |
    apiVersion: v1
    kind: Secret
    metadata:
      name: << inputs.tenant >>-two
      namespace: apps
    stringData:
      c: << inputs.token >>
      d: @T@
    ---
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: << inputs.tenant >>-two, namespace: apps}
---
apiVersion: fluxcd.controlplane.io/v1
kind: ResourceSet
metadata: {name: broken-set, namespace: apps}
spec:
  inputs: [{password: "@T@"}]
  resourcesTemplate: |
    apiVersion: v1
    kind: Secret
    metadata: {name: x, namespace: apps}
    stringData: {c: "<< inputs.password >>", d: "<< inputs.missing | @T@ >>"
"#,
        )],
    ),
    (
        "within",
        &[(
            "values.yaml",
            r#"apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: within, namespace: apps}
spec:
  interval: 5m
  chart: {spec: {chart: x, sourceRef: {kind: HelmRepository, name: missing}}}
  valuesFrom: [{kind: Secret, name: values}]
  values:
    extraObjects:
    - {apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {a: "@T@"}}
    extraText: |
      apiVersion: v1
      kind: Secret
      metadata:
        name: b
      stringData:
        a: @T@
  postRenderers:
  - kustomize:
      patches:
      - target: {kind: Secret}
        patch: |
          - {op: add, path: /stringData/x, value: "@T@"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: manifests, namespace: apps, labels: {bad: 'a b'}}
data:
  secret.yaml: "apiVersion: v1\nkind: Secret\nmetadata: {name: c}\nstringData: {a: '@T@'}\n"
  secret.json: '{"apiVersion":"v1","kind":"Secret","metadata":{"name":"d"},"data":{"a":"@B@"}}'
"#,
        )],
    ),
    (
        "kinds",
        &[
            (
                "secret.yaml",
                "apiVersion: v1\nkind: secret\nmetadata: {name: small, namespace: apps}\nstringData: {a: \"@T@\"}\n---\napiVersion: example.org/v1\nkind: Secret\nmetadata: {name: other, namespace: apps}\nspec: {a: \"@T@\"}\n---\nkind: Secret\nmetadata: {name: bare}\nstringData: {a: \"@T@\"}\n---\napiVersion: v1\nkind: Secret\nstringData: {a: \"@T@\"}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: [\"@T@\"], namespace: {x: \"@T@\"}}\ntype: {a: \"@T@\"}\nstringData: {a: \"@T@\"}\n---\napiVersion: v1\nkind: ${KIND:=Secret}\nmetadata: {name: later, namespace: apps}\nstringData: {a: \"@T@\"}\n",
            ),
            (
                "crlf.yaml",
                "apiVersion: v1\r\nkind: Secret\r\nmetadata:\r\n  name: crlf\r\n  namespace: apps\r\nstringData:\r\n  a: @T@\r\n  # @T@\r\nunknown: @T@\r\n",
            ),
        ],
    ),
    (
        "makers",
        &[
            ("kustomization.yaml", "generators: [generator.yaml]\ntransformers: [transformer.yaml]\n"),
            (
                "generator.yaml",
                "apiVersion: builtin\nkind: SecretGenerator\nmetadata: {name: by-generator, namespace: apps}\nliterals: [\"a=@T@\"]\nunknown: 1\n",
            ),
            (
                "transformer.yaml",
                "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: patch}\ntarget: {kind: Secret}\npatch: '- {op: add, path: /data/x, value: \"@T@\"}'\n",
            ),
        ],
    ),
];

/// A text with markers in it: each has a number of its own and `word` in it.
pub(crate) fn marked(text: &str, word: &str, count: &mut usize, markers: &mut Vec<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        out.push_str(&rest[..at]);
        let kind = rest.get(at..at + 3).unwrap_or_default();
        if !matches!(kind, "@T@" | "@B@") {
            out.push('@');
            rest = &rest[at + 1..];
            continue;
        }
        *count += 1;
        let letters: String =
            count.to_string().bytes().map(|digit| char::from(digit - b'0' + b'g')).collect();
        let marker = format!("{word}{letters}");
        let encoded = base64::engine::general_purpose::STANDARD.encode(&marker);
        out.push_str(if kind == "@B@" { &encoded } else { &marker });
        markers.push(marker);
        rest = &rest[at + 3..];
    }
    out + rest
}
