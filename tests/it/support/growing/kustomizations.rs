//! Kustomizations that are large in one of their fields.

use super::{Files, Generator, config_map, deployment, each, files, kustomization, kustomized, named};

/// A Deployment whose list of containers, or of what they hold, is this.
fn listed(lines: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: d, namespace: default}}\nspec:\n  template:\n    spec:\n      containers:\n{lines}"
    )
}

/// A patch of such a Deployment.
fn patched(own: &str, patch: &str) -> Files {
    let indented: String = listed(patch).lines().map(|line| format!("    {line}\n")).collect();
    kustomized("patches", &format!("- patch: |\n{indented}"), listed(own))
}

fn containers(count: usize, of: impl Fn(usize) -> String) -> String {
    each(count, |at| format!("      - {{{}}}\n", of(at)))
}

/// A JSON patch of a ConfigMap with many keys.
fn operations(count: usize, operation: impl Fn(usize) -> String) -> Files {
    let operations = each(count, |at| format!("    - {{{}}}\n", operation(at)));
    let patch = format!("- target: {{kind: ConfigMap}}\n  patch: |\n{operations}");
    kustomized("patches", &patch, keyed(count + 1))
}

fn keyed(count: usize) -> String {
    let keys = each(count, |at| format!("  k{at}: x\n"));
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: default}}\ndata:\n{keys}")
}

fn generators(count: usize, rest: &str) -> String {
    each(count, |at| format!("- name: c{at}\n{rest}  literals: [a=b]\n"))
}

/// An app that is this kustomization, over a base.
fn over(kustomization_file: String, base: String) -> Files {
    files(&[
        ("clusters/a/sync.yaml", super::SYNC.to_owned() + &kustomization("app", "./app", "")),
        ("app/kustomization.yaml", kustomization_file),
        ("base/kustomization.yaml", base),
    ])
}

/// A thing whose list has items of these names.
fn things(count: usize) -> String {
    let items = each(count, |at| format!("  - {{name: i{at}, v: x}}\n"));
    format!("apiVersion: e.com/v1\nkind: Thing\nmetadata: {{name: t}}\nspec:\n  items:\n{items}")
}

/// A replacement of `data.a` of a ConfigMap into each of these paths.
fn replaced(count: usize, target: impl Fn(usize) -> String, object: String) -> Files {
    let replacement = |at| {
        format!(
            "- source: {{kind: ConfigMap, name: s, fieldPath: data.a}}\n  targets: [{{{}}}]\n",
            target(at)
        )
    };
    kustomized("replacements", &each(count, replacement), config_map("s") + &object)
}

/// All of them.
pub(super) const ALL: &[Generator] = &[
    ("generators that merge", 50, |count| {
        over(
            format!(
                "resources: [../base]\nconfigMapGenerator:\n{}",
                generators(count, "  behavior: merge\n")
            ),
            format!("configMapGenerator:\n{}", generators(count, "")),
        )
    }),
    ("literals of one generator", 200, |count| {
        let literals = each(count, |at| format!("  - k{at}=b\n"));
        kustomized("configMapGenerator", &format!("- name: g\n  literals:\n{literals}"), config_map("c"))
    }),
    ("entries of labels", 100, |count| {
        kustomized("labels", &each(count, |at| format!("- pairs: {{l{at}: x}}\n")), config_map("a"))
    }),
    ("entries of labels with fields", 25, |count| {
        let entry = |at| format!("- pairs: {{l{at}: x}}\n  fields: [{{path: spec/a{at}, create: true}}]\n");
        kustomized("labels", &each(count, entry), config_map("a") + &deployment(1))
    }),
    ("entries of labels that selectors have in common", 50, |count| {
        let entry = |at| format!("- pairs: {{l{}: x}}\n  includeSelectors: true\n", at / 2);
        kustomized("labels", &each(count, entry), deployment(1))
    }),
    ("pairs of one entry of labels", 100, |count| {
        let pairs = each(count, |at| format!("    l{at}: x\n"));
        kustomized("labels", &format!("- pairs:\n{pairs}"), config_map("a"))
    }),
    ("fields of one entry of labels", 50, |count| {
        let fields = each(count, |at| format!("  - {{path: spec/a{at}, create: true}}\n"));
        kustomized("labels", &format!("- pairs: {{a: b}}\n  fields:\n{fields}"), deployment(1))
    }),
    ("commonAnnotations", 100, |count| {
        kustomized("commonAnnotations", &each(count, |at| format!("  l{at}: x\n")), config_map("a"))
    }),
    ("replacements that create", 50, |count| {
        let target = |at| {
            format!(
                "select: {{kind: ConfigMap, name: t}}, options: {{create: true}}, fieldPaths: [data.k{at}]"
            )
        };
        replaced(count, target, config_map("t"))
    }),
    ("replacements of items by their places", 50, |count| {
        let target = |at| format!("select: {{kind: Thing}}, fieldPaths: [spec.items.{at}.v]");
        replaced(count, target, things(count))
    }),
    ("a strategic merge of a keyed list", 100, |count| {
        let of = |value: &'static str| containers(count, move |at| format!("name: c{at}, image: {value}"));
        patched(&of("x"), &of("y"))
    }),
    ("a strategic merge of new items", 100, |count| {
        let of = |name: &'static str| containers(count, move |at| format!("name: {name}{at}, image: x"));
        patched(&of("c"), &of("d"))
    }),
    ("a strategic merge that deletes items", 100, |count| {
        let own = containers(count + 1, |at| format!("name: c{at}, image: x"));
        patched(&own, &containers(count, |at| format!("name: c{at}, $patch: delete")))
    }),
    ("a strategic merge of keys", 200, |count| {
        let patch = each(count, |at| format!("      n{at}: x\n"));
        let head = "    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: c, namespace: default}\n    data:\n";
        kustomized("patches", &format!("- patch: |\n{head}{patch}"), keyed(count))
    }),
    ("a strategic merge that deletes keys", 200, |count| {
        let patch = each(count, |at| format!("      k{at}: null\n"));
        let head = "    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: c, namespace: default}\n    data:\n";
        kustomized("patches", &format!("- patch: |\n{head}{patch}"), keyed(count + 1))
    }),
    ("a JSON patch that replaces keys", 80, |count| {
        operations(count, |at| format!("op: replace, path: /data/k{at}, value: z"))
    }),
    ("a JSON patch that removes keys", 80, |count| {
        operations(count, |at| format!("op: remove, path: /data/k{at}"))
    }),
    ("a JSON patch that tests keys", 80, |count| {
        operations(count, |at| format!("op: test, path: /data/k{at}, value: x"))
    }),
    ("a JSON patch that appends to a list", 80, |count| {
        let operations = each(count, |at| format!("    - {{op: add, path: /spec/items/-, value: v{at}}}\n"));
        kustomized("patches", &format!("- target: {{kind: Thing}}\n  patch: |\n{operations}"), things(1))
    }),
    ("replicas", 40, |count| {
        let entries = each(count, |at| format!("- name: d{at}\n  count: 3\n"));
        kustomized("replicas", &entries, each(count, deployment))
    }),
    ("subjects with namespaces", 25, |count| {
        let subjects =
            each(count, |at| format!("- {{kind: ServiceAccount, name: s{at}, namespace: n{at}}}\n"));
        let binding = format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: b}}\n\
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}}\nsubjects:\n{subjects}---\n"
        );
        let account = |at| {
            format!(
                "apiVersion: v1\nkind: ServiceAccount\nmetadata: {{name: s{at}, namespace: n{at}}}\n---\n"
            )
        };
        kustomized("namePrefix: a-\nlabels", "- pairs: {a: b}\n", binding + &each(count, account))
    }),
    ("vars", 25, |count| {
        let var = |at| {
            format!(
                "- name: V{at}\n  objref: {{apiVersion: v1, kind: ConfigMap, name: c{at}}}\n  fieldref: {{fieldPath: data.a}}\n"
            )
        };
        kustomized("vars", &each(count, var), each(count, |at| config_map(&format!("c{at}"))))
    }),
    ("bases of one kustomization", 25, |count| {
        let mut found =
            over(format!("resources:\n{}", each(count, |at| format!("- ../b{at}\n"))), String::new());
        found.pop();
        found.extend((0..count).flat_map(|at| {
            [
                named("b", at, "kustomization.yaml", "resources: [a.yaml]\n".to_owned()),
                named("b", at, "a.yaml", config_map(&format!("c{at}"))),
            ]
        }));
        found
    }),
    ("patches by labels", 20, |count| {
        let patch = |at| {
            format!(
                "- target: {{kind: ConfigMap, labelSelector: l=v{at}}}\n  patch: |\n    - {{op: add, path: /data/k, value: v}}\n"
            )
        };
        // Every patch has to ask every object for its labels: as many objects, or patches.
        kustomized("patches", &each(count, patch), each(8, |at| config_map(&format!("c{at}"))))
    }),
];
