//! `selector-matches-nothing`: a Service, a policy, a budget or a monitor selects by labels
//! that nothing of its namespace has.
//! Source: `kubernetes` `pkg/controller/endpointslice` (`syncService`), networking/v1
//! `NetworkPolicySpec`, policy/v1 `PodDisruptionBudgetSpec`; prometheus-operator
//! `monitoring/v1` (`ServiceMonitorSpec.Selector`).

use super::labels::Labelled;
use super::{dotted, text};
use crate::lang::text::{Word, Words};
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::lint::usual::is_slip;
use crate::lint::workloads::Workloads;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::model::ObjectId;
use crate::model::workloads::pod_template;
use crate::world::{ApplyTarget, Effective};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::OnceLock;

pub(crate) static RULE: Rule = Rule {
    id: "selector-matches-nothing",
    group: Group::Workload,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a selector that nothing of the namespace matches",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/selector-matches-nothing.md"),
    check: Check::Cluster(check),
};

/// What a selector is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selected {
    Pods,
    Services,
}

/// A selector of a kind: where its map of labels stands, what it selects, the level, and
/// what an empty match means.
struct JudgedSelector {
    pointer: &'static str,
    selected: Selected,
    level: Level,
    why: &'static str,
}

fn selector(id: &ObjectId) -> Option<JudgedSelector> {
    use Selected::{Pods, Services};
    let (pointer, selected, level, why) = match (id.group(), &*id.kind) {
        ("", "Service") => {
            ("/spec/selector", Pods, Level::Warning, "it has no endpoints: connections to it are refused")
        }
        ("networking.k8s.io", "NetworkPolicy") => {
            ("/spec/podSelector/matchLabels", Pods, Level::Info, "the policy protects nothing")
        }
        ("policy", "PodDisruptionBudget") => {
            ("/spec/selector/matchLabels", Pods, Level::Info, "the budget protects nothing")
        }
        ("monitoring.coreos.com", "ServiceMonitor") => {
            ("/spec/selector/matchLabels", Services, Level::Info, "nothing is scraped")
        }
        ("monitoring.coreos.com", "PodMonitor") => {
            ("/spec/selector/matchLabels", Pods, Level::Info, "nothing is scraped")
        }
        _ => return None,
    };
    Some(JudgedSelector { pointer, selected, level, why })
}

/// What is selected, by namespace.
type LabelIndex<'a> = FxHashMap<&'a str, Labelled<'a>>;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    let (mut pods, mut services): (LabelIndex<'_>, LabelIndex<'_>) = Default::default();
    let mut selectors = Vec::new();
    let mut open: FxHashSet<&str> = FxHashSet::default();
    for (member, object) in view.members() {
        let (id, node) = (&object.id, object.node.get_ref());
        let Some(namespace) = id.namespace.as_deref().filter(|_| member.target == ApplyTarget::Local) else {
            continue;
        };
        if let Some(template) = pod_template(id, node) {
            pods.entry(namespace).or_default().push(object, template.at("/metadata/labels"));
        } else if may_make_pods(id) {
            open.insert(namespace);
        }
        if id.is("", "Service") {
            services.entry(namespace).or_default().push(object, node.at("/metadata/labels"));
        }
        if let Some(selector) = selector(id) {
            selectors.push((namespace, object, selector));
        }
        if matches!(&*id.kind, "NetworkPolicy" | "CiliumNetworkPolicy") {
            peers(object, workloads, report);
        }
    }
    let relabelled = OnceCell::new();
    let mut values: Option<ValueCounts<'_>> = None;
    for (namespace, object, selector) in &selectors {
        let is_known = !open.contains(namespace) && is_complete(workloads, selector.selected, namespace);
        if is_known {
            let candidates = match selector.selected {
                Selected::Pods => pods.get(namespace),
                Selected::Services => services.get(namespace),
            };
            if let Some(candidates) = candidates {
                let relabels = || {
                    selector.selected == Selected::Pods
                        && relabelled.get_or_init(|| where_pods_change(view)).contains(*namespace)
                };
                judge(object, selector, candidates, &relabels, report);
            }
        } else {
            let values = values.get_or_insert_with(|| ValueCounts::of(view, &selectors));
            slip(object, selector, namespace, workloads, values, report);
        }
    }
}

/// The namespaces whose programs may change Pods: who answers a webhook, or leads, gives itself
/// the label that a Service selects, and no template has it (`longhorn/longhorn-manager`
/// `app/daemon.go`, `AddLabelToManagerPod`).
fn where_pods_change(view: &ClusterView<'_>) -> FxHashSet<String> {
    let changes_pods = |role: &Effective| {
        role.node.get_ref().items_at("/rules").any(|rule| {
            let has = |pointer: &str, words: &[&str]| {
                rule.items_at(pointer).filter_map(NodeRef::as_str).any(|own| words.contains(&&*own))
            };
            has("/resources", &["pods", "*"]) && has("/verbs", &["patch", "update", "*"])
        })
    };
    let of_kind = |kind: &'static str| {
        let members = view.members().map(|(_, object)| object);
        members.filter(move |object| object.id.is("rbac.authorization.k8s.io", kind))
    };
    let roles = of_kind("ClusterRole").filter(|role| changes_pods(role)).map(|role| &*role.id.name);
    let roles: FxHashSet<&str> = roles.chain(["cluster-admin", "admin", "edit"]).collect();
    let grants = |binding: &&Effective| {
        let role = |pointer: &str| binding.node.get_ref().str_at(pointer);
        role("/roleRef/kind").is_some_and(|kind| kind == "ClusterRole")
            && role("/roleRef/name").is_some_and(|name| roles.contains(&*name))
    };
    let here = of_kind("Role").filter(|role| changes_pods(role)).chain(of_kind("RoleBinding").filter(grants));
    let mut found: FxHashSet<String> =
        here.filter_map(|object| Some(object.id.namespace.as_deref()?.to_owned())).collect();
    for binding in of_kind("ClusterRoleBinding").filter(grants) {
        let subjects = binding.node.get_ref().items_at("/subjects");
        found.extend(subjects.filter_map(|subject| Some(subject.str_at("/namespace")?.into_owned())));
    }
    found
}

/// Labels that say in which namespace a peer of a policy is (`kubernetes`
/// `staging/src/k8s.io/api/core/v1/well_known_labels.go`; `cilium/cilium`
/// `pkg/k8s/apis/cilium.io/const.go`, `PodNamespaceLabel`).
const NAMESPACES: [&str; 3] =
    ["kubernetes.io/metadata.name", "io.kubernetes.pod.namespace", "k8s:io.kubernetes.pod.namespace"];

/// The namespaces that a policy selects: one that is another of the cluster but for a letter.
fn peers(object: &Effective, workloads: &Workloads<'_>, report: &mut Reporter<'_>) {
    let Some(spec) = object.node.get_ref().at("/spec") else { return };
    // An explicit stack: peers nest as they like.
    let mut stack = vec![("/spec".to_owned(), spec)];
    while let Some((pointer, node)) = stack.pop() {
        for (index, item) in node.items().enumerate() {
            stack.push((format!("{pointer}/{index}"), item));
        }
        for entry in node.entries() {
            let pointer = pointer_join(&pointer, &entry.key);
            if !NAMESPACES.contains(&&*entry.key) {
                stack.push((pointer, entry.value));
                continue;
            }
            let (Some(name), Some(location)) = (text(entry.value), entry.value.location()) else { continue };
            let Some(meant) = workloads.namespace_like(&name) else { continue };
            let what = format!("it selects Namespace {name}, in which nothing here is");
            let finding = report.report(location, title(&object.id, &what));
            finding.level(Level::Warning).claims_absence();
            finding.why("the policy says nothing about the Pods that it means");
            finding.object(&object.id).field(pointer, &*name).help(format!("did you mean `{meant}`?"));
        }
    }
}

/// Labels whose values are names: of an application, of a release, of a part.
const NAMES: [&str; 6] = [
    "app",
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    "k8s-app",
];

/// How often labels of a cluster have a value: by namespace and key.
#[derive(Default)]
struct ValueCounts<'a>(FxHashMap<(&'a str, &'static str), OfLabel>);

/// The values of one label.
#[derive(Default)]
struct OfLabel {
    counts: FxHashMap<String, u32>,
    words: OnceLock<Words<String>>,
}

impl<'a> ValueCounts<'a> {
    fn of(view: &ClusterView<'a>, selectors: &[(&'a str, &'a Effective, JudgedSelector)]) -> ValueCounts<'a> {
        let mut values = ValueCounts::default();
        for (member, object) in view.members() {
            let (id, node) = (&object.id, object.node.get_ref());
            let namespace = id.namespace.as_deref().filter(|_| member.target == ApplyTarget::Local);
            if let Some(namespace) = namespace {
                values.add(namespace, node.at("/metadata/labels"));
                let template = pod_template(id, node);
                values.add(namespace, template.and_then(|template| template.at("/metadata/labels")));
            }
        }
        for (namespace, object, selector) in selectors {
            values.add(namespace, object.node.get_ref().at(selector.pointer));
        }
        values
    }

    fn add(&mut self, namespace: &'a str, labels: Option<NodeRef<'_>>) {
        for key in NAMES {
            let value = labels.and_then(|labels| labels.get(key)).and_then(text);
            if let Some(value) = value {
                let all = &mut self.0.entry((namespace, key)).or_default().counts;
                *all.entry(value.into_owned()).or_default() += 1;
            }
        }
    }

    /// The value that was probably meant by one that nothing else has: the only one of a
    /// letter's difference, a label's or the name of a release.
    fn meant(
        &self,
        namespace: &str,
        key: &'static str,
        value: &str,
        workloads: &Workloads<'_>,
    ) -> Option<String> {
        let known = self.0.get(&(namespace, key))?;
        let is_written = known.counts.get(value).is_some_and(|count| *count > 1);
        if is_written || workloads.is_of_release(Some(namespace), value) {
            return None;
        }
        let words = known.words.get_or_init(|| known.counts.keys().cloned().collect());
        let word = Word::new(value, 1);
        let labels =
            words.near(&word).filter(|(_, other)| is_slip(value, other)).map(|(_, other)| other.clone());
        let meant: BTreeSet<String> = labels.chain(workloads.release_like(namespace, value)).collect();
        // Of two nobody can say which.
        meant.first().filter(|_| meant.len() == 1).cloned()
    }
}

/// Where charts or operators may make what is selected: a value that is another one of the
/// namespace but for a letter.
fn slip(
    object: &Effective,
    selector: &JudgedSelector,
    namespace: &str,
    workloads: &Workloads<'_>,
    values: &ValueCounts<'_>,
    report: &mut Reporter<'_>,
) {
    let node = object.node.get_ref();
    if node.at("/spec/namespaceSelector").is_some_and(|selector| !selector.is_null()) {
        return;
    }
    for entry in node.entries_at(selector.pointer) {
        let Some(key) = NAMES.into_iter().find(|key| *key == entry.key) else { continue };
        let (Some(value), Some(location)) = (text(entry.value), entry.value.location()) else { continue };
        let Some(meant) = values.meant(namespace, key, &value, workloads) else { continue };
        let what = format!("`{}` selects `{key}: {value}`, which nothing here has", dotted(selector.pointer));
        let finding = report.report(location, title(&object.id, &what));
        finding.level(selector.level).claims_absence().why(selector.why);
        finding.object(&object.id).field(format!("{}/{key}", selector.pointer), &*value);
        finding.help(format!("did you mean `{meant}`?"));
    }
}

/// Whether an operator may make Pods or Services of an object, in its namespace.
fn may_make_pods(id: &ObjectId) -> bool {
    let group = id.group();
    let is_known = group.is_empty()
        || matches!(
            group,
            "apps" | "batch" | "policy" | "autoscaling" | "cert-manager.io" | "external-secrets.io"
        )
        || group.ends_with(".k8s.io") && !group.ends_with(".x-k8s.io")
        || group.ends_with("toolkit.fluxcd.io");
    let is_monitor = matches!(&*id.kind, "ServiceMonitor" | "PodMonitor" | "PrometheusRule");
    !is_known && !is_monitor
}

fn is_complete(workloads: &Workloads<'_>, selected: Selected, namespace: &str) -> bool {
    let is_complete = |group, kind| workloads.is_complete(group, kind, Some(namespace));
    match selected {
        Selected::Pods => {
            is_complete("apps", "Deployment")
                && is_complete("apps", "StatefulSet")
                && is_complete("apps", "DaemonSet")
                && is_complete("batch", "Job")
                && is_complete("", "Pod")
        }
        Selected::Services => is_complete("", "Service"),
    }
}

fn judge(
    object: &Effective,
    selector: &JudgedSelector,
    candidates: &Labelled<'_>,
    relabels: &dyn Fn() -> bool,
    report: &mut Reporter<'_>,
) {
    let node = object.node.get_ref();
    let other_namespaces = node.at("/spec/namespaceSelector").is_some_and(|selector| !selector.is_null());
    let expressions = node.items_at("/spec/selector/matchExpressions").next().is_some()
        || node.items_at("/spec/podSelector/matchExpressions").next().is_some();
    if other_namespaces || expressions {
        return;
    }
    let entries: Vec<_> = node.entries_at(selector.pointer).collect();
    let wanted = entries.iter().map(|entry| Some((entry.key.to_string(), text(entry.value)?.into_owned())));
    let Some(wanted) = wanted.collect::<Option<Vec<(String, String)>>>() else { return };
    // A label that is not known may be the one.
    if wanted.is_empty() || wanted.iter().any(|(key, _)| candidates.is_unknown(key)) {
        return;
    }
    if candidates.with(&wanted).next().is_some() {
        return;
    }
    if wanted.iter().any(|(key, _)| !candidates.has_key(key)) && relabels() {
        return;
    }
    // The one that fits best is probably meant.
    let Some((nearest, lacking)) = candidates.nearest(&wanted) else { return };
    let (key, value) = &wanted[lacking];
    let place = entries[lacking].value;
    let Some(location) = place.location() else { return };
    let what = format!(
        "`{}` selects `{key}: {value}`, which no {} of the namespace has",
        dotted(selector.pointer),
        match selector.selected {
            Selected::Pods => "Pod",
            Selected::Services => "Service",
        }
    );
    let finding = report.report(location, title(&object.id, &what));
    finding.level(selector.level).claims_absence().why(selector.why);
    finding.object(&object.id).field(format!("{}/{key}", selector.pointer), value.as_str());
    finding.help(match candidates.value_like(key, value) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "select by labels that the template has, or add the label there".to_owned(),
    });
    if let Some(place) = nearest.node.get_ref().location_at("/metadata/name") {
        finding.related(nearest.id.to_string(), place);
    }
}
