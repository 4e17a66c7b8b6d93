//! Random kustomizations: objects, and one section of a kustomization file for
//! each transformer. Written in mixed styles, because kustomize carries some of
//! them through.

use super::Files;
use crate::support::random::Random;

/// A value of YAML.
#[derive(Clone, Debug)]
enum Y {
    /// A scalar as it is written.
    Raw(String),
    /// A text of several lines.
    Text(String),
    Map(Vec<(String, Y)>),
    List(Vec<Y>),
}

fn raw(text: impl Into<String>) -> Y {
    Y::Raw(text.into())
}

fn map<const N: usize>(entries: [(&str, Y); N]) -> Y {
    Y::Map(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn list(items: impl IntoIterator<Item = Y>) -> Y {
    Y::List(items.into_iter().collect())
}

impl Y {
    fn push(&mut self, key: &str, value: Y) {
        if let Y::Map(entries) = self {
            entries.push((key.to_owned(), value));
        }
    }

    fn at(&self, key: &str) -> Option<&Y> {
        match self {
            Y::Map(entries) => entries.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    fn flow(&self, out: &mut String) {
        let separate = |out: &mut String, at: usize| out.push_str(if at > 0 { ", " } else { "" });
        match self {
            Y::Raw(text) => out.push_str(text),
            Y::Text(text) => out.push_str(&serde_json::Value::from(text.as_str()).to_string()),
            Y::Map(entries) => {
                out.push('{');
                for (at, (key, value)) in entries.iter().enumerate() {
                    separate(out, at);
                    out.push_str(&format!("{key}: "));
                    value.flow(out);
                }
                out.push('}');
            }
            Y::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    separate(out, at);
                    item.flow(out);
                }
                out.push(']');
            }
        }
    }

    /// Behind a key or a dash, ending in a line break.
    fn block(&self, r: &mut Random, indent: usize, out: &mut String) {
        let pad = " ".repeat(indent);
        match self {
            Y::Map(entries) if !entries.is_empty() && !r.one_in(6) => {
                out.push('\n');
                for (key, value) in entries {
                    out.push_str(&format!("{pad}{key}:"));
                    value.block(r, indent + 2, out);
                }
            }
            Y::List(items) if !items.is_empty() && !r.one_in(6) => {
                out.push('\n');
                for item in items {
                    out.push_str(&format!("{pad}-"));
                    item.block(r, indent + 2, out);
                }
            }
            Y::Text(text) if !text.starts_with(' ') && !r.one_in(4) => {
                let header = match text.len() - text.trim_end_matches('\n').len() {
                    0 => "-",
                    1 => "",
                    _ => "+",
                };
                // A folded document is none any more.
                let folded = r.one_in(3) && !text.contains(':');
                out.push_str(&format!(" {}{header}\n", if folded { ">" } else { "|" }));
                for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
                    out.push_str(&if line.is_empty() { "\n".to_owned() } else { format!("{pad}{line}\n") });
                }
            }
            Y::Raw(text) if text.is_empty() => out.push('\n'),
            _ => {
                out.push(' ');
                self.flow(out);
                out.push('\n');
            }
        }
    }

    /// As a document: a map whose root is never in flow style.
    fn document(&self, r: &mut Random) -> String {
        let mut out = String::new();
        if let Y::Map(entries) = self {
            for (key, value) in entries {
                out.push_str(&format!("{key}:"));
                value.block(r, 2, &mut out);
            }
        }
        out
    }
}

const NAMES: [&str; 5] = ["app", "db", "web", "cfg", "x-1"];
const NAMESPACES: [&str; 3] = ["one", "two", "default"];
const KEYS: [&str; 6] = ["app", "tier", "app.kubernetes.io/name", "env", "a.b/c-d", "zone"];
const WORDS: [&str; 8] =
    ["alpha", "beta", "gamma", "v1.2", "\"1\"", "\"true\"", "'quoted'", "long-value-0123"];
const SCALARS: [&str; 24] = [
    "plain",
    "\"quoted\"",
    "'single'",
    "5",
    "\"5\"",
    "true",
    "\"true\"",
    "1.50",
    "0o17",
    "0777",
    "1e3",
    "yes",
    "~",
    "\"\"",
    "2020-01-01",
    "2020-01-01T10:00:00+02:00",
    "1_000",
    "\"a: b\"",
    "é😀",
    "-1",
    "0x1F",
    "null",
    "on",
    "\"tab\\there\"",
];
const IMAGES: [&str; 7] = [
    "nginx",
    "nginx:1.25",
    "docker.io/library/redis:7",
    "localhost:5000/app/web",
    "registry.example.com/db:v1",
    "nginx@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "\"busybox:1\"",
];

fn word(r: &mut Random) -> Y {
    raw(*r.pick(&WORDS))
}

fn labels(r: &mut Random) -> Y {
    let mut keys = KEYS.to_vec();
    r.shuffle(&mut keys);
    let count = 1 + r.below(3);
    Y::Map(keys.into_iter().take(count).map(|key| (key.to_owned(), word(r))).collect())
}

fn value(r: &mut Random, depth: usize) -> Y {
    match r.below(if depth > 2 { 5 } else { 8 }) {
        5 => Y::Map((0..r.below(4)).map(|at| (format!("k{at}"), value(r, depth + 1))).collect()),
        6 => Y::List((0..r.below(4)).map(|_| value(r, depth + 1)).collect()),
        7 => Y::Text(
            r.pick(&["one\ntwo\n", "one\n  two\nthree", "a\n\nb\n\n", "word word\n\nword\n", "x\n"])
                .to_string(),
        ),
        _ => raw(*r.pick(&SCALARS)),
    }
}

#[derive(Clone)]
struct Object {
    api: &'static str,
    kind: &'static str,
    name: String,
    namespace: Option<&'static str>,
    tree: Y,
}

const KINDS: [(&str, &str); 26] = [
    ("apps/v1", "Deployment"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "CronJob"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("v1", "ConfigMap"),
    ("v1", "Secret"),
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("networking.k8s.io/v1", "Ingress"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Namespace"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"),
    ("apiregistration.k8s.io/v1", "APIService"),
    ("helm.toolkit.fluxcd.io/v2", "HelmRelease"),
    ("example.com/v1", "Widget"),
];
const CLUSTER_SCOPED: [&str; 5] =
    ["ClusterRole", "ClusterRoleBinding", "Namespace", "ValidatingWebhookConfiguration", "APIService"];

fn name(r: &mut Random) -> Y {
    raw(*r.pick(&NAMES))
}

fn container(r: &mut Random, at: usize) -> Y {
    let mut container =
        map([("name", raw(["main", "side", "init"][at % 3])), ("image", raw(*r.pick(&IMAGES)))]);
    if r.one_in(2) {
        let mut env = vec![map([("name", raw("A")), ("value", word(r))])];
        if r.one_in(2) {
            let reference = map([("name", name(r)), ("key", raw("k"))]);
            let kind = *r.pick(&["configMapKeyRef", "secretKeyRef"]);
            env.push(map([("name", raw("B")), ("valueFrom", map([(kind, reference)]))]));
        }
        if r.one_in(3) {
            env.push(map([("name", raw("C")), ("value", raw("\"$(VAR_A)-$(VAR_B)\""))]));
        }
        container.push("env", list(env));
    }
    if r.one_in(3) {
        let kind = *r.pick(&["configMapRef", "secretRef"]);
        container.push("envFrom", list([map([(kind, map([("name", name(r))]))])]));
    }
    if r.one_in(3) {
        let mut ports = Vec::new();
        for port in ["80", "8080"].iter().take(1 + r.below(2)) {
            let mut entry = map([("containerPort", raw(*port))]);
            if r.one_in(2) {
                entry.push("protocol", raw(*r.pick(&["TCP", "UDP"])));
            }
            ports.push(entry);
        }
        container.push("ports", list(ports));
    }
    if r.one_in(3) {
        container.push("args", list([raw("\"$(VAR_A)\""), raw("--flag"), word(r)]));
    }
    if r.one_in(4) {
        container.push("volumeMounts", list([map([("name", raw("vol")), ("mountPath", raw("/data"))])]));
    }
    container
}

fn pod_spec(r: &mut Random) -> Y {
    let count = 1 + r.below(3);
    let mut spec = map([("containers", list((0..count).map(|at| container(r, at)).collect::<Vec<_>>()))]);
    if r.one_in(4) {
        let first = container(r, 2);
        spec.push("initContainers", list([first]));
    }
    if r.one_in(2) {
        spec.push("serviceAccountName", name(r));
    }
    if r.one_in(2) {
        let mut volumes = Vec::new();
        for at in 0..1 + r.below(3) {
            let volume = raw(["vol", "more", "last"][at]);
            let source = match r.below(4) {
                0 => ("configMap", map([("name", name(r))])),
                1 => ("secret", map([("secretName", name(r))])),
                2 => ("persistentVolumeClaim", map([("claimName", name(r))])),
                _ => ("emptyDir", Y::Map(Vec::new())),
            };
            volumes.push(map([("name", volume), source]));
        }
        spec.push("volumes", list(volumes));
    }
    if r.one_in(4) {
        spec.push("imagePullSecrets", list([map([("name", name(r))])]));
    }
    if r.one_in(5) {
        spec.push("nodeSelector", labels(r));
    }
    if r.one_in(5) {
        let term = map([("labelSelector", map([("matchLabels", labels(r))])), ("topologyKey", raw("zone"))]);
        spec.push("topologySpreadConstraints", list([term]));
    }
    if r.one_in(6) {
        spec.push("extra", value(r, 0));
    }
    spec
}

fn template(r: &mut Random) -> Y {
    let mut template = Y::Map(Vec::new());
    if !r.one_in(4) {
        let mut metadata = map([("labels", labels(r))]);
        if r.one_in(4) {
            metadata.push("annotations", labels(r));
        }
        template.push("metadata", metadata);
    }
    template.push("spec", pod_spec(r));
    template
}

fn body(r: &mut Random, kind: &str) -> Vec<(&'static str, Y)> {
    let service = |r: &mut Random| map([("name", name(r)), ("namespace", raw(*r.pick(&NAMESPACES)))]);
    let one = |key: &'static str, value: Y| vec![(key, value)];
    match kind {
        "Deployment" | "StatefulSet" | "DaemonSet" => {
            let mut spec = Y::Map(Vec::new());
            if r.one_in(2) {
                spec.push("replicas", raw(*r.pick(&["1", "3", "\"2\""])));
            }
            if !r.one_in(4) {
                spec.push("selector", map([("matchLabels", labels(r))]));
            }
            spec.push("template", template(r));
            if kind == "StatefulSet" {
                spec.push("serviceName", name(r));
                if r.one_in(2) {
                    let claim =
                        map([("metadata", map([("name", raw("data"))])), ("spec", Y::Map(Vec::new()))]);
                    spec.push("volumeClaimTemplates", list([claim]));
                }
            }
            one("spec", spec)
        }
        "CronJob" => {
            let job = map([("spec", map([("template", template(r))]))]);
            one("spec", map([("schedule", raw("\"0 * * * *\"")), ("jobTemplate", job)]))
        }
        "Job" => one("spec", map([("template", template(r))])),
        "Pod" => one("spec", pod_spec(r)),
        "Service" => {
            let mut port = map([("port", raw(*r.pick(&["80", "443"])))]);
            if r.one_in(2) {
                port.push("name", raw("http"));
            }
            let mut spec = map([("ports", list([port]))]);
            if r.one_in(2) {
                spec.push("selector", labels(r));
            }
            one("spec", spec)
        }
        "ConfigMap" => {
            let mut data = map([("key", word(r))]);
            if r.one_in(2) {
                data.push("text", Y::Text("line one\n  line two\nlast\n".to_owned()));
            }
            if r.one_in(4) {
                data.push("odd.key", value(r, 2));
            }
            one("data", data)
        }
        "Secret" => vec![("type", raw("Opaque")), ("stringData", map([("password", word(r))]))],
        "ServiceAccount" if r.one_in(2) => one("secrets", list([map([("name", name(r))])])),
        "Role" | "ClusterRole" => {
            let names = (0..r.below(3)).map(|_| name(r)).collect::<Vec<_>>();
            let rule = map([
                ("apiGroups", list([raw("\"\"")])),
                ("resources", list([raw("configmaps")])),
                ("resourceNames", list(names)),
                ("verbs", list([raw("get")])),
            ]);
            one("rules", list([rule]))
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let role = if kind == "RoleBinding" { *r.pick(&["Role", "ClusterRole"]) } else { "ClusterRole" };
            let reference =
                map([("apiGroup", raw("rbac.authorization.k8s.io")), ("kind", raw(role)), ("name", name(r))]);
            let mut subject = map([
                ("kind", raw(*r.pick(&["ServiceAccount", "ServiceAccount", "User"]))),
                ("name", raw(*r.pick(&["app", "db", "default", "web"]))),
            ]);
            if !r.one_in(3) {
                subject.push("namespace", raw(*r.pick(&NAMESPACES)));
            }
            vec![("roleRef", reference), ("subjects", list([subject]))]
        }
        "Ingress" => {
            let path = map([("path", raw("/")), ("backend", map([("service", map([("name", name(r))]))]))]);
            let rule = map([("host", raw("a.example.com")), ("http", map([("paths", list([path]))]))]);
            let tls = map([("secretName", name(r))]);
            one("spec", map([("rules", list([rule])), ("tls", list([tls]))]))
        }
        "NetworkPolicy" => {
            let selector = if r.one_in(2) { Y::Map(Vec::new()) } else { map([("matchLabels", labels(r))]) };
            let peer = map([("podSelector", map([("matchLabels", labels(r))]))]);
            let rule = map([("from", list([peer]))]);
            one("spec", map([("podSelector", selector), ("ingress", list([rule]))]))
        }
        "PodDisruptionBudget" => one("spec", map([("selector", map([("matchLabels", labels(r))]))])),
        "HorizontalPodAutoscaler" => {
            let target = map([
                ("apiVersion", raw("apps/v1")),
                ("kind", raw(*r.pick(&["Deployment", "StatefulSet"]))),
                ("name", name(r)),
            ]);
            let metric = map([("type", raw("Resource")), ("resource", map([("name", raw("cpu"))]))]);
            one("spec", map([("scaleTargetRef", target), ("metrics", list([metric]))]))
        }
        "ValidatingWebhookConfiguration" => {
            let hook =
                map([("name", raw("a.example.com")), ("clientConfig", map([("service", service(r))]))]);
            one("webhooks", list([hook]))
        }
        "APIService" => one("spec", map([("group", raw("example.com")), ("service", service(r))])),
        "HelmRelease" => {
            let from = map([("kind", raw("ConfigMap")), ("name", name(r))]);
            let values = map([("image", map([("tag", word(r))])), ("any", value(r, 0))]);
            one("spec", map([("interval", raw("5m")), ("valuesFrom", list([from])), ("values", values)]))
        }
        "Widget" => {
            let mut spec = map([("a", value(r, 0)), ("items", list([value(r, 1), value(r, 1)]))]);
            spec.push("ref", map([("name", name(r))]));
            spec.push("url", raw("http://old.example.com:80/path"));
            spec.push("text", raw("\"$(VAR_A)\""));
            one("spec", spec)
        }
        _ => Vec::new(),
    }
}

/// Objects of distinct identities, `wanted` kinds first.
fn objects(r: &mut Random, wanted: &[&str]) -> Vec<Object> {
    let mut found: Vec<Object> = Vec::new();
    for at in 0..wanted.len() + 3 + r.below(4) {
        let (api, kind) = match wanted.get(at) {
            Some(kind) => *KINDS.iter().find(|(_, known)| known == kind).expect("a known kind"),
            None => *r.pick(&KINDS),
        };
        let name = (*r.pick(&NAMES)).to_owned();
        let scoped = !CLUSTER_SCOPED.contains(&kind);
        let namespace = (scoped && r.one_in(4)).then(|| *r.pick(&NAMESPACES));
        let same = |known: &Object| known.kind == kind && known.name == name;
        if found.iter().any(same) {
            continue;
        }
        let mut metadata = map([("name", raw(name.as_str()))]);
        if let Some(namespace) = namespace {
            metadata.push("namespace", raw(namespace));
        }
        for field in ["labels", "annotations"] {
            if r.one_in(2) {
                metadata.push(field, labels(r));
            }
        }
        let mut tree = map([("apiVersion", raw(api)), ("kind", raw(kind)), ("metadata", metadata)]);
        for (key, value) in body(r, kind) {
            tree.push(key, value);
        }
        found.push(Object { api, kind, name, namespace, tree });
    }
    found
}

/// The file of a level and what belongs to it.
struct Level<'l> {
    /// Its directory with a slash, empty at the root.
    at: &'l str,
    objects: &'l [Object],
    fields: Vec<(String, Y)>,
    files: Files,
}

impl Level<'_> {
    fn field(&mut self, key: &str, value: Y) {
        match self.fields.iter_mut().find(|(known, _)| known == key) {
            Some((_, Y::List(known))) => {
                if let Y::List(mut items) = value {
                    known.append(&mut items);
                }
            }
            Some((_, known)) => *known = value,
            None => self.fields.push((key.to_owned(), value)),
        }
    }

    fn file(&mut self, path: &str, text: String) {
        let full = format!("{}{path}", self.at);
        if let Some((_, known)) = self.files.iter_mut().find(|(known, _)| *known == full) {
            *known = text;
        } else {
            self.files.push((full, text));
        }
    }

    fn pick(&self, r: &mut Random) -> Object {
        r.pick(self.objects).clone()
    }
}

type Section = fn(&mut Random, &mut Level<'_>);

/// A section for each transformer.
const SECTIONS: [(&str, Section); 24] = [
    ("namespace", namespace),
    ("name_prefix", name_prefix),
    ("labels", labels_section),
    ("common_labels", common_labels),
    ("common_annotations", common_annotations),
    ("patches_merge", patches_merge),
    ("patches_target", patches_target),
    ("patches_strategic_merge", patches_strategic_merge),
    ("patches_json", patches_json),
    ("images", images),
    ("replicas", replicas),
    ("config_map_generator", config_map_generator),
    ("secret_generator", secret_generator),
    ("generator_behavior", generator_behavior),
    ("generator_options", generator_options),
    ("components", components),
    ("replacements", replacements),
    ("vars", vars),
    ("configurations", configurations),
    ("sort_options", sort_options),
    ("build_metadata", build_metadata),
    ("transformers", transformers),
    ("generators", generators),
    ("documents", documents),
];

/// The names of the sections, and `mixed`.
pub(crate) fn names() -> Vec<&'static str> {
    SECTIONS.iter().map(|(name, _)| *name).chain(["mixed"]).collect()
}

/// The files of a kustomization around one section; `mixed` has several.
pub(crate) fn files(name: &str, r: &mut Random) -> Files {
    // Neighbouring seeds would begin alike.
    for byte in name.bytes() {
        r.0 = r.0.wrapping_mul(31).wrapping_add(u64::from(byte));
        r.below(2);
    }
    let wanted: &[&str] = match name {
        "replicas" => &["Deployment", "StatefulSet"],
        "vars" => &["Service", "Widget", "Deployment"],
        "replacements" => &["ConfigMap", "Widget", "Deployment"],
        "namespace" => &["ServiceAccount", "RoleBinding"],
        "patches_merge" | "patches_target" | "patches_strategic_merge" => &["Deployment"],
        _ => &[],
    };
    let objects = objects(r, wanted);
    let section = |r: &mut Random| match SECTIONS.iter().find(|(known, _)| *known == name) {
        Some((_, section)) => *section,
        None => r.pick(&SECTIONS).1,
    };
    let base = !r.one_in(3);
    let at = if base { "base/" } else { "" };
    let mut level = Level { at, objects: &objects, fields: Vec::new(), files: Vec::new() };
    resources(r, &mut level);
    if base {
        if r.one_in(3) {
            let first = section(r);
            first(r, &mut level);
        }
        if r.one_in(3) {
            name_prefix(r, &mut level);
        }
        if r.one_in(4) {
            namespace(r, &mut level);
        }
        let mut files = finished(r, level);
        let mut root = Level { at: "", objects: &objects, fields: Vec::new(), files: Vec::new() };
        root.field("resources", list([raw("base")]));
        std::mem::swap(&mut root.files, &mut files);
        level = root;
    }
    for _ in 0..if name == "mixed" { 2 + r.below(3) } else { 1 } {
        let next = section(r);
        next(r, &mut level);
    }
    if name != "mixed" && r.one_in(3) {
        let other = *r.pick(&[name_prefix as Section, namespace, common_labels, config_map_generator]);
        other(r, &mut level);
    }
    finished(r, level)
}

fn finished(r: &mut Random, mut level: Level<'_>) -> Files {
    let mut fields = std::mem::take(&mut level.fields);
    r.shuffle(&mut fields);
    let text = Y::Map(fields).document(r);
    level.file("kustomization.yaml", text);
    level.files
}

fn resources(r: &mut Random, level: &mut Level<'_>) {
    let mut texts = vec![String::new(), String::new()];
    for object in level.objects {
        let text = object.tree.document(r);
        let file = &mut texts[r.below(2)];
        if !file.is_empty() {
            file.push_str("---\n");
        }
        file.push_str(&text);
    }
    let mut names = Vec::new();
    for (at, text) in texts.into_iter().enumerate() {
        let path = format!("r{at}.yaml");
        if !text.is_empty() {
            names.push(raw(path.as_str()));
        }
        level.file(&path, text);
    }
    level.field("resources", Y::List(names));
}

fn namespace(r: &mut Random, level: &mut Level<'_>) {
    level.field("namespace", raw(*r.pick(&["three", "one", "default", "\"5\""])));
}

fn name_prefix(r: &mut Random, level: &mut Level<'_>) {
    if !r.one_in(3) {
        level.field("namePrefix", raw(*r.pick(&["p-", "dev-", "\"1\"", "a.b-"])));
    }
    if r.one_in(2) {
        level.field("nameSuffix", raw(*r.pick(&["-s", "-v2", "\"0\""])));
    }
}

fn labels_section(r: &mut Random, level: &mut Level<'_>) {
    let entries = (0..1 + r.below(3)).map(|_| {
        let mut entry = map([("pairs", labels(r))]);
        match r.below(4) {
            0 => entry.push("includeSelectors", raw("true")),
            1 => entry.push("includeTemplates", raw("true")),
            2 => {
                let path = *r.pick(&["spec/extra/labels", "spec/values/labels", "metadata/labels"]);
                let mut field = map([("path", raw(path)), ("create", raw("true"))]);
                if r.one_in(2) {
                    field.push("kind", raw(*r.pick(&["Widget", "HelmRelease", "ConfigMap"])));
                }
                entry.push("fields", list([field]));
            }
            _ => {}
        }
        entry
    });
    let entries = entries.collect::<Vec<_>>();
    level.field("labels", list(entries));
}

fn common_labels(r: &mut Random, level: &mut Level<'_>) {
    level.field("commonLabels", labels(r));
}

fn common_annotations(r: &mut Random, level: &mut Level<'_>) {
    level.field("commonAnnotations", labels(r));
}

/// A patch for an object: parts of it, changed.
fn merge_patch(r: &mut Random, object: &Object) -> Y {
    let mut metadata = map([("name", raw(object.name.as_str()))]);
    if let Some(namespace) = object.namespace {
        metadata.push("namespace", raw(namespace));
    }
    if r.one_in(3) {
        let mut changed = labels(r);
        if r.one_in(3) {
            changed.push("$patch", raw(*r.pick(&["replace", "merge"])));
        } else if r.one_in(3) {
            changed.push("gone", raw("null"));
        }
        let field = *r.pick(&["labels", "annotations"]);
        metadata.push(field, changed);
    }
    let mut patch =
        map([("apiVersion", raw(object.api)), ("kind", raw(object.kind)), ("metadata", metadata)]);
    if let Y::Map(entries) = &object.tree {
        for (key, part) in entries.iter().skip(3) {
            patch.push(key, mutated(r, part, 0));
        }
    }
    patch
}

fn mutated(r: &mut Random, part: &Y, depth: usize) -> Y {
    if depth > 0 && r.one_in(14) {
        return raw("null");
    }
    match part {
        Y::Map(entries) => {
            let mut new = Vec::new();
            for (key, value) in entries {
                // Keys by which lists are merged mostly stay.
                let is_key = ["name", "containerPort", "port", "mountPath"].contains(&key.as_str());
                if is_key && !matches!(value, Y::Map(_) | Y::List(_)) {
                    new.push((key.clone(), if r.one_in(9) { raw("other") } else { value.clone() }));
                } else if !r.one_in(2) || matches!(value, Y::Map(_) | Y::List(_)) && !r.one_in(4) {
                    new.push((key.clone(), mutated(r, value, depth + 1)));
                }
            }
            if r.one_in(7) {
                new.push(("added".to_owned(), value(r, 1)));
            }
            if depth > 0 && r.one_in(12) {
                new.push(("$patch".to_owned(), raw(*r.pick(&["replace", "delete", "merge"]))));
            }
            r.shuffle(&mut new);
            Y::Map(new)
        }
        Y::List(items) => {
            let mut new: Vec<Y> = Vec::new();
            for item in items {
                if !r.one_in(3) {
                    new.push(mutated(r, item, depth + 1));
                }
            }
            if r.one_in(4) {
                new.push(match items.first() {
                    Some(Y::Map(_)) => map([("name", raw("fresh")), ("image", raw("new:1"))]),
                    _ => raw("fresh"),
                });
            }
            if r.one_in(10) {
                new.push(map([("$patch", raw(*r.pick(&["replace", "delete", "merge"])))]));
            }
            r.shuffle(&mut new);
            Y::List(new)
        }
        _ => raw(*r.pick(&SCALARS)),
    }
}

fn patches_merge(r: &mut Random, level: &mut Level<'_>) {
    for at in 0..1 + r.below(2) {
        let object = level.pick(r);
        let mut text = if r.one_in(12) {
            let mut patch = map([("apiVersion", raw(object.api)), ("kind", raw(object.kind))]);
            let mut metadata = map([("name", raw(object.name.as_str()))]);
            if let Some(namespace) = object.namespace {
                metadata.push("namespace", raw(namespace));
            }
            patch.push("metadata", metadata);
            patch.push("$patch", raw(*r.pick(&["delete", "replace"])));
            patch.document(r)
        } else {
            merge_patch(r, &object).document(r)
        };
        if r.one_in(4) {
            let other = level.pick(r);
            if other.kind != object.kind || other.name != object.name {
                text = format!("{text}---\n{}", merge_patch(r, &other).document(r));
            }
        }
        if r.one_in(2) {
            level.file(&format!("p{at}.yaml"), text);
            level.field("patches", list([map([("path", raw(format!("p{at}.yaml")))])]));
        } else {
            level.field("patches", list([map([("patch", Y::Text(text))])]));
        }
    }
}

fn target(r: &mut Random, object: &Object) -> Y {
    let mut target = Y::Map(Vec::new());
    match r.below(6) {
        0 => target.push("kind", raw(object.kind)),
        1 => target.push("name", raw(object.name.as_str())),
        2 => target.push("name", raw(format!("\"{}.*|zz\"", &object.name[..1]))),
        3 => target.push(
            "labelSelector",
            raw(*r.pick(&["app", "\"tier in (alpha,beta)\"", "\"!env\"", "app=alpha"])),
        ),
        4 => target.push("namespace", raw(*r.pick(&["one", "default", "\"t.*\""]))),
        _ => {
            target.push("kind", raw(object.kind));
            target.push("name", raw(object.name.as_str()));
        }
    }
    if r.one_in(4) {
        target.push("annotationSelector", raw(*r.pick(&["app", "zone!=beta"])));
    }
    if r.one_in(5) {
        target.push("version", raw("v1"));
    }
    target
}

fn patches_target(r: &mut Random, level: &mut Level<'_>) {
    for _ in 0..1 + r.below(2) {
        let object = level.pick(r);
        let mut patch = merge_patch(r, &object);
        if r.one_in(2) {
            // For any object: metadata and something of its own.
            patch = map([
                ("apiVersion", raw("any/v1")),
                ("kind", raw("Any")),
                ("metadata", map([("name", raw("any")), ("labels", labels(r)), ("annotations", labels(r))])),
                ("added", value(r, 0)),
            ]);
        }
        let text = patch.document(r);
        let mut entry = map([("target", target(r, &object)), ("patch", Y::Text(text))]);
        if r.one_in(4) {
            let option = *r.pick(&["allowNameChange", "allowKindChange"]);
            entry.push("options", map([(option, raw("true"))]));
        }
        level.field("patches", list([entry]));
    }
}

fn patches_strategic_merge(r: &mut Random, level: &mut Level<'_>) {
    for at in 0..1 + r.below(2) {
        let object = level.pick(r);
        let text = merge_patch(r, &object).document(r);
        if r.one_in(2) {
            level.file(&format!("s{at}.yaml"), text);
            level.field("patchesStrategicMerge", list([raw(format!("s{at}.yaml"))]));
        } else {
            level.field("patchesStrategicMerge", list([Y::Text(text)]));
        }
    }
}

/// JSON pointers to what a tree has.
fn pointers(part: &Y, at: &str, found: &mut Vec<String>) {
    match part {
        Y::Map(entries) => {
            for (key, value) in entries {
                let path = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
                found.push(path.clone());
                pointers(value, &path, found);
            }
        }
        Y::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let path = format!("{at}/{index}");
                found.push(path.clone());
                pointers(item, &path, found);
            }
            found.push(format!("{at}/-"));
        }
        _ => {}
    }
}

fn operations(r: &mut Random, object: &Object) -> Vec<Y> {
    let mut known = Vec::new();
    for (key, part) in [("spec", object.tree.at("spec")), ("metadata", object.tree.at("metadata"))] {
        if let Some(part) = part {
            known.push(format!("/{key}/added"));
            pointers(part, &format!("/{key}"), &mut known);
        }
    }
    known.retain(|path| !path.contains("/name"));
    // Any value in the place of a list or a map mostly fails.
    if !r.one_in(4) {
        let all = known.clone();
        known.retain(|path| !all.iter().any(|other| other.starts_with(&format!("{path}/"))));
    }
    let mut operations = Vec::new();
    for _ in 0..1 + r.below(4) {
        let path = r.pick(&known).clone();
        let end = path.ends_with("/-");
        let op = match r.below(8) {
            0 if !end && !path.ends_with("added") => "remove",
            1 | 2 if !end => "replace",
            3 => "copy",
            4 => "test",
            _ => "add",
        };
        let mut operation = map([("op", raw(op)), ("path", raw(format!("\"{path}\"")))]);
        match op {
            "remove" => {}
            "copy" => operation.push("from", raw("/metadata/name")),
            "test" => {
                operation = map([
                    ("op", raw("test")),
                    ("path", raw("/metadata/name")),
                    ("value", raw(object.name.as_str())),
                ]);
            }
            _ => operation.push("value", value(r, 1)),
        }
        operations.push(operation);
    }
    operations
}

fn patches_json(r: &mut Random, level: &mut Level<'_>) {
    for at in 0..1 + r.below(2) {
        let object = level.pick(r);
        let mut text = String::new();
        // Between brackets it would have to be JSON.
        for operation in operations(r, &object) {
            text.push('-');
            operation.block(r, 2, &mut text);
        }
        let exact = map([("kind", raw(object.kind)), ("name", raw(object.name.as_str()))]);
        let field = if r.one_in(3) { "patchesJson6902" } else { "patches" };
        let mut entry = map([("target", exact)]);
        if r.one_in(2) {
            level.file(&format!("j{at}.yaml"), text);
            entry.push("path", raw(format!("j{at}.yaml")));
        } else {
            entry.push("patch", Y::Text(text));
        }
        level.field(field, list([entry]));
    }
}

fn image(r: &mut Random) -> Y {
    let names =
        ["nginx", "docker.io/library/redis", "localhost:5000/app/web", "registry.example.com/db", "nginx.*"];
    let mut image = map([("name", raw(*r.pick(&names)))]);
    match r.below(5) {
        0 => image.push("newTag", raw("\"2.0\"")),
        1 => image.push("newName", raw("mirror.example.com/x")),
        2 => image
            .push("digest", raw("sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef")),
        3 => image.push("tagSuffix", raw("-debug")),
        _ => {
            image.push("newName", raw("busybox"));
            image.push("newTag", raw("v3"));
        }
    }
    image
}

fn images(r: &mut Random, level: &mut Level<'_>) {
    let images = (0..1 + r.below(3)).map(|_| image(r)).collect::<Vec<_>>();
    level.field("images", list(images));
}

fn replicas(r: &mut Random, level: &mut Level<'_>) {
    let scaled: Vec<&Object> =
        level.objects.iter().filter(|object| ["Deployment", "StatefulSet"].contains(&object.kind)).collect();
    if scaled.is_empty() {
        return;
    }
    let object = (*r.pick(&scaled)).clone();
    let count = r.below(9).to_string();
    level.field("replicas", list([map([("name", raw(object.name.as_str())), ("count", raw(count))])]));
}

fn options(r: &mut Random) -> Y {
    let mut options = Y::Map(Vec::new());
    for field in ["disableNameSuffixHash", "immutable"] {
        if r.one_in(3) {
            options.push(field, raw(*r.pick(&["true", "false"])));
        }
    }
    for field in ["labels", "annotations"] {
        if r.one_in(3) {
            options.push(field, labels(r));
        }
    }
    options
}

fn generator(r: &mut Random, level: &mut Level<'_>, name: &str) -> Y {
    let mut generator = map([("name", raw(name))]);
    let literals = ["a=1", "b=two words", "\"c='quoted'\"", "d=", "e=x=y", "\"f=é😀 <&>\"", "\"g=a\\nb\\n\""];
    if !r.one_in(4) {
        let from = r.below(5);
        let some = literals[from..from + 2].iter().map(|literal| raw(*literal)).collect::<Vec<_>>();
        generator.push("literals", list(some));
    }
    if r.one_in(2) {
        level.file("app.conf", "[section]\nkey = value \n\n".to_owned());
        generator.push("files", list([raw(*r.pick(&["app.conf", "other=app.conf"]))]));
    }
    if r.one_in(3) {
        level.file("vars.env", "# vars\nENV_A=1\n  ENV_B=\"x\"\n\nENV_C=a=b\r\nEMPTY=\n".to_owned());
        generator.push("envs", list([raw("vars.env")]));
    }
    if r.one_in(3) {
        generator.push("options", options(r));
    }
    generator
}

/// A name that no object of the kind has.
fn free_name(r: &mut Random, level: &Level<'_>, kind: &str) -> String {
    let taken = |name: &str| level.objects.iter().any(|object| object.kind == kind && object.name == name);
    let free: Vec<&str> = NAMES.into_iter().filter(|name| !taken(name)).collect();
    match free.is_empty() {
        true => "fresh".to_owned(),
        false => (*r.pick(&free)).to_owned(),
    }
}

fn config_map_generator(r: &mut Random, level: &mut Level<'_>) {
    let name = free_name(r, level, "ConfigMap");
    let entry = generator(r, level, &name);
    level.field("configMapGenerator", list([entry]));
}

fn secret_generator(r: &mut Random, level: &mut Level<'_>) {
    let name = free_name(r, level, "Secret");
    let mut entry = generator(r, level, &name);
    if r.one_in(3) {
        entry.push("type", raw("kubernetes.io/tls"));
    }
    level.field("secretGenerator", list([entry]));
}

/// A base with a generated object that this level merges into or replaces.
fn generator_behavior(r: &mut Random, level: &mut Level<'_>) {
    let field = *r.pick(&["configMapGenerator", "secretGenerator"]);
    let kind = if field == "configMapGenerator" { "ConfigMap" } else { "Secret" };
    let mut inner = Level { at: "generated/", objects: level.objects, fields: Vec::new(), files: Vec::new() };
    let first = generator(r, &mut inner, "made");
    inner.field(field, list([first]));
    if r.one_in(3) {
        name_prefix(r, &mut inner);
    }
    for (path, text) in finished(r, inner) {
        level.file(&format!("generated/{}", path.trim_start_matches("generated/")), text);
    }
    level.field("resources", list([raw("generated")]));
    let plain = level.objects.iter().find(|object| object.kind == kind && r.one_in(2));
    let name = plain.map_or("made", |object| object.name.as_str()).to_owned();
    let mut second = generator(r, level, &name);
    second.push("behavior", raw(*r.pick(&["merge", "merge", "replace"])));
    if let Some(namespace) = plain.and_then(|object| object.namespace) {
        second.push("namespace", raw(namespace));
    }
    level.field(field, list([second]));
}

fn generator_options(r: &mut Random, level: &mut Level<'_>) {
    let options = options(r);
    level.field("generatorOptions", options);
    config_map_generator(r, level);
    if r.one_in(2) {
        secret_generator(r, level);
    }
}

fn components(r: &mut Random, level: &mut Level<'_>) {
    let sections = [
        name_prefix as Section,
        namespace,
        labels_section,
        common_annotations,
        patches_target,
        patches_json,
        images,
        config_map_generator,
    ];
    let count = 1 + r.below(2);
    for index in 0..count {
        let mut inner = Level { at: "", objects: level.objects, fields: Vec::new(), files: Vec::new() };
        inner.field("apiVersion", raw("kustomize.config.k8s.io/v1alpha1"));
        inner.field("kind", raw("Component"));
        for _ in 0..1 + r.below(2) {
            let section = *r.pick(&sections);
            section(r, &mut inner);
        }
        for (path, text) in finished(r, inner) {
            level.file(&format!("c{index}/{path}"), text);
        }
        level.field("components", list([raw(format!("c{index}"))]));
    }
}

/// Paths of replacements to the scalars of a tree.
fn field_paths(part: &Y, at: &str, found: &mut Vec<String>) {
    let join = |step: String| if at.is_empty() { step } else { format!("{at}.{step}") };
    match part {
        Y::Map(entries) => {
            for (key, value) in entries {
                let step = if key.contains('.') {
                    if key.contains('/') { format!("[{key}]") } else { key.replace('.', "\\.") }
                } else {
                    key.clone()
                };
                field_paths(value, &join(step), found);
            }
        }
        Y::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let name = match item.at("name") {
                    Some(Y::Raw(name)) => Some(format!("[name={name}]")),
                    _ => None,
                };
                field_paths(item, &join(name.unwrap_or_else(|| index.to_string())), found);
                if index == 0 && matches!(item, Y::Map(_)) {
                    field_paths(item, &join("*".to_owned()), found);
                }
            }
        }
        Y::Raw(text) if !["~", "null", ""].contains(&text.as_str()) => found.push(at.to_owned()),
        _ => {}
    }
}

fn quoted(text: &str) -> Y {
    raw(serde_json::Value::from(text).to_string())
}

fn replacements(r: &mut Random, level: &mut Level<'_>) {
    for _ in 0..1 + r.below(3) {
        let (source, target) = (level.pick(r), level.pick(r));
        let (mut from, mut to) = (Vec::new(), Vec::new());
        field_paths(&source.tree, "", &mut from);
        field_paths(&target.tree, "", &mut to);
        from.retain(|path| !path.contains('*'));
        // The identity of targets stays, or later selections miss them.
        to.retain(|path| {
            !["apiVersion", "kind", "metadata.name", "metadata.namespace"].contains(&path.as_str())
        });
        if to.is_empty() {
            continue;
        }
        let select = |object: &Object| map([("kind", raw(object.kind)), ("name", raw(object.name.as_str()))]);
        let mut origin = select(&source);
        if !r.one_in(4) {
            origin.push("fieldPath", quoted(r.pick::<String>(&from)));
        }
        if r.one_in(5) {
            origin.push("options", map([("delimiter", raw("\".\"")), ("index", raw("0"))]));
        }
        let mut path = r.pick(&to).clone();
        let mut options = Y::Map(Vec::new());
        match r.below(5) {
            0 => {
                options.push("create", raw("true"));
                let end =
                    *r.pick(&["metadata.annotations.new", "metadata.labels.[a.b/new]", "spec.new.deep"]);
                path = end.to_owned();
            }
            1 => {
                options.push("delimiter", raw(*r.pick(&["\"/\"", "\":\"", "\"-\""])));
                options.push("index", raw(*r.pick(&["0", "1", "-1", "9"])));
            }
            _ => {}
        }
        let mut entry = map([("select", select(&target)), ("fieldPaths", list([quoted(&path)]))]);
        if r.one_in(4) {
            let other = level.pick(r);
            entry.push("reject", list([select(&other)]));
        }
        entry.push("options", options);
        level.field("replacements", list([map([("source", origin), ("targets", list([entry]))])]));
    }
}

fn vars(r: &mut Random, level: &mut Level<'_>) {
    for (at, variable) in ["VAR_A", "VAR_B"].into_iter().enumerate().take(1 + r.below(2)) {
        let object = level.pick(r);
        let reference = map([
            ("apiVersion", raw(object.api)),
            ("kind", raw(object.kind)),
            ("name", raw(object.name.as_str())),
        ]);
        let suffix = if level.at.is_empty() { "" } else { "_BASE" };
        let mut entry = map([("name", raw(format!("{variable}{suffix}"))), ("objref", reference)]);
        let path = if object.kind == "Service" { "spec.ports[0].port" } else { "metadata.name" };
        if at == 0 || r.one_in(2) {
            entry.push("fieldref", map([("fieldpath", raw(path))]));
        }
        level.field("vars", list([entry]));
    }
    level.file("vars.yaml", "varReference:\n- path: spec/text\n  kind: Widget\n".to_owned());
    if r.one_in(2) {
        level.field("configurations", list([raw("vars.yaml")]));
    }
}

fn configurations(r: &mut Random, level: &mut Level<'_>) {
    let text = "nameReference:\n\
        - kind: ConfigMap\n  version: v1\n  fieldSpecs:\n\
        \x20 - {path: spec/ref/name, kind: Widget}\n  - {path: spec/valuesFrom/name, kind: HelmRelease}\n\
        images:\n- {path: spec/url, kind: Widget}\n\
        commonLabels:\n- {path: spec/values/labels, kind: HelmRelease, create: true}\n\
        commonAnnotations:\n- {path: spec/notes, kind: Widget, create: true}\n\
        namePrefix:\n- {path: spec/ref/name, kind: Widget}\n\
        replicas:\n- {path: spec/size, kind: Widget, create: true}\n";
    level.file("config.yaml", text.to_owned());
    level.field("configurations", list([raw("config.yaml")]));
    for section in [name_prefix as Section, common_labels, common_annotations, config_map_generator, images] {
        if r.one_in(2) {
            section(r, level);
        }
    }
}

fn sort_options(r: &mut Random, level: &mut Level<'_>) {
    let options = match r.below(3) {
        0 => map([("order", raw("fifo"))]),
        1 => map([("order", raw("legacy"))]),
        _ => {
            let legacy = map([
                ("orderFirst", list([raw("Widget"), raw("ConfigMap")])),
                ("orderLast", list([raw("Deployment"), raw("Namespace")])),
            ]);
            map([("order", raw("legacy")), ("legacySortOptions", legacy)])
        }
    };
    level.field("sortOptions", options);
}

fn build_metadata(r: &mut Random, level: &mut Level<'_>) {
    let wanted = ["originAnnotations", "transformerAnnotations", "unknown"];
    let some = wanted.iter().filter(|_| !r.one_in(3)).map(|word| raw(*word)).collect::<Vec<_>>();
    level.field("buildMetadata", Y::List(some));
    let section =
        *r.pick(&[name_prefix as Section, config_map_generator, components, patches_target, images]);
    section(r, level);
}

fn transformers(r: &mut Random, level: &mut Level<'_>) {
    let mut texts = Vec::new();
    for _ in 0..1 + r.below(3) {
        let (kind, mut fields) = match r.below(9) {
            0 => (
                "LabelTransformer",
                map([
                    ("labels", labels(r)),
                    ("fieldSpecs", list([map([("path", raw("metadata/labels")), ("create", raw("true"))])])),
                ]),
            ),
            1 => (
                "AnnotationsTransformer",
                map([
                    ("annotations", labels(r)),
                    (
                        "fieldSpecs",
                        list([map([("path", raw("metadata/annotations")), ("create", raw("true"))])]),
                    ),
                ]),
            ),
            2 => {
                let mut fields = Y::Map(Vec::new());
                if r.one_in(2) {
                    fields.push("unsetOnly", raw("true"));
                }
                if r.one_in(2) {
                    let mode = *r.pick(&["defaultOnly", "allServiceAccounts", "none"]);
                    fields.push("setRoleBindingSubjects", raw(mode));
                }
                ("NamespaceTransformer", fields)
            }
            3 => (
                "PrefixTransformer",
                map([("prefix", raw("t-")), ("fieldSpecs", list([map([("path", raw("metadata/name"))])]))]),
            ),
            4 => (
                "SuffixTransformer",
                map([("suffix", raw("-t")), ("fieldSpecs", list([map([("path", raw("metadata/name"))])]))]),
            ),
            5 => ("ImageTagTransformer", map([("imageTag", image(r))])),
            6 => {
                let object = level.pick(r);
                let patch = map([
                    ("kind", raw("Any")),
                    ("metadata", map([("name", raw("any"))])),
                    ("added", value(r, 1)),
                ]);
                let patch = patch.document(r);
                ("PatchTransformer", map([("target", target(r, &object)), ("patch", Y::Text(patch))]))
            }
            7 => {
                let target =
                    map([("fieldPath", raw(*r.pick(&["metadata/labels/added", "spec/added/deep"])))]);
                ("ValueAddTransformer", map([("value", word(r)), ("targets", list([target]))]))
            }
            _ => {
                let object = level.pick(r);
                let patch = merge_patch(r, &object).document(r);
                ("PatchStrategicMergeTransformer", map([("patches", Y::Text(patch))]))
            }
        };
        let mut metadata = map([("name", raw("t"))]);
        if kind == "NamespaceTransformer" {
            metadata.push("namespace", raw("three"));
            let spec = map([("path", raw("metadata/namespace")), ("create", raw("true"))]);
            fields.push("fieldSpecs", list([spec]));
        }
        let mut tree = map([("apiVersion", raw("builtin")), ("kind", raw(kind)), ("metadata", metadata)]);
        if let Y::Map(entries) = fields {
            for (key, value) in entries {
                tree.push(&key, value);
            }
        }
        texts.push(tree.document(r));
    }
    if r.one_in(2) {
        level.file("t.yaml", texts.join("---\n"));
        level.field("transformers", list([raw("t.yaml")]));
    } else {
        let inline = texts.into_iter().map(Y::Text).collect::<Vec<_>>();
        level.field("transformers", list(inline));
    }
}

fn generators(r: &mut Random, level: &mut Level<'_>) {
    let kind = *r.pick(&["ConfigMapGenerator", "SecretGenerator"]);
    let name = free_name(r, level, kind.trim_end_matches("Generator"));
    let made = generator(r, level, &name);
    let mut tree = map([
        ("apiVersion", raw("builtin")),
        ("kind", raw(kind)),
        ("metadata", map([("name", raw(name.as_str()))])),
    ]);
    if let Y::Map(entries) = made {
        for (key, value) in entries.into_iter().skip(1) {
            tree.push(&key, value);
        }
    }
    let text = tree.document(r);
    if r.one_in(2) {
        level.file("g.yaml", text);
        level.field("generators", list([raw("g.yaml")]));
    } else {
        level.field("generators", list([Y::Text(text)]));
    }
}

/// Files of odd shape: lists, separators, anchors, line ends.
fn documents(r: &mut Random, level: &mut Level<'_>) {
    let widget = |name: &str, r: &mut Random| {
        let mut tree = map([
            ("apiVersion", raw("example.com/v1")),
            ("kind", raw("Gadget")),
            ("metadata", map([("name", raw(name)), ("labels", labels(r))])),
        ]);
        tree.push("spec", map([("any", value(r, 0)), ("more", value(r, 0)), ("last", value(r, 0))]));
        tree
    };
    let (one, two) = (widget("g-one", r), widget("g-two", r));
    let text = match r.below(5) {
        0 => {
            let kind = *r.pick(&["List", "GadgetList"]);
            map([("apiVersion", raw("v1")), ("kind", raw(kind)), ("items", list([one, two]))]).document(r)
        }
        1 => format!("---\n---\n# nothing\n---\n{}--- # two\n{}---\n", one.document(r), two.document(r)),
        2 => format!("\u{feff}{}...\nignored: true\n---\n{}", one.document(r), two.document(r)),
        3 => format!("{}---\n{}", one.document(r), two.document(r)).replace('\n', "\r\n"),
        _ => {
            let text = one.document(r);
            format!("{text}base: &base {{a: 1, b: [x, *name]}}\nmerged: {{<<: *base, c: 2}}\n")
                .replace("name: g-one", "name: &name g-one")
        }
    };
    level.file("odd.yaml", text);
    level.field("resources", list([raw("odd.yaml")]));
    if r.one_in(2) {
        patches_json(r, level);
    }
}
