//! `selector-matches-nothing`: a Service, a policy, a budget or a monitor selects by labels
//! that nothing of its namespace has.
//! Source: `kubernetes` `pkg/controller/endpointslice` (`syncService`), networking/v1
//! `NetworkPolicySpec`, policy/v1 `PodDisruptionBudgetSpec`; prometheus-operator
//! `monitoring/v1` (`ServiceMonitorSpec.Selector`).

use super::{dotted, text};
use crate::lang::text::suggest;
use crate::lang::yaml::NodeRef;
use crate::lint::workloads::Workloads;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::model::ObjectId;
use crate::model::workloads::pod_template;
use crate::world::{ApplyTarget, Effective};
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) static RULE: Rule = Rule {
    id: "selector-matches-nothing",
    group: Group::Workload,
    level: Level::Warning,
    default: true,
    since: "0.3.0",
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
struct Selector {
    pointer: &'static str,
    selected: Selected,
    level: Level,
    why: &'static str,
}

fn selector(id: &ObjectId) -> Option<Selector> {
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
    Some(Selector { pointer, selected, level, why })
}

/// The maps of labels of what is selected, with the objects that state them, by namespace.
type Labels<'a> = FxHashMap<&'a str, Vec<(&'a Effective, Option<NodeRef<'a>>)>>;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    let (mut pods, mut services): (Labels<'_>, Labels<'_>) = Default::default();
    let mut selectors = Vec::new();
    let mut open: FxHashSet<&str> = FxHashSet::default();
    for (member, object) in view.members() {
        let (id, node) = (&object.id, object.node.get_ref());
        let Some(namespace) = id.namespace.as_deref().filter(|_| member.target == ApplyTarget::Local) else {
            continue;
        };
        if let Some(template) = pod_template(id, node) {
            pods.entry(namespace).or_default().push((object, template.at("/metadata/labels")));
        } else if may_make_pods(id) {
            open.insert(namespace);
        }
        if id.is("", "Service") {
            services.entry(namespace).or_default().push((object, node.at("/metadata/labels")));
        }
        if let Some(selector) = selector(id) {
            selectors.push((namespace, object, selector));
        }
    }
    for (namespace, object, selector) in selectors {
        let candidates = match selector.selected {
            Selected::Pods => pods.get(namespace),
            Selected::Services => services.get(namespace),
        };
        let Some(candidates) = candidates else { continue };
        if !open.contains(namespace) && is_complete(workloads, selector.selected, namespace) {
            judge(object, &selector, candidates, report);
        }
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
    selector: &Selector,
    candidates: &[(&Effective, Option<NodeRef<'_>>)],
    report: &mut Reporter<'_>,
) {
    let node = object.node.get_ref();
    let other_namespaces = node.at("/spec/namespaceSelector").is_some_and(|selector| !selector.is_null());
    let expressions = node.items_at("/spec/selector/matchExpressions").next().is_some()
        || node.items_at("/spec/podSelector/matchExpressions").next().is_some();
    if other_namespaces || expressions {
        return;
    }
    let wanted: Option<Vec<(String, String, NodeRef<'_>)>> = node
        .entries_at(selector.pointer)
        .map(|entry| Some((entry.key.to_string(), text(entry.value)?.into_owned(), entry.value)))
        .collect();
    let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else { return };
    let label = |labels: Option<NodeRef<'_>>, key: &str| {
        labels.and_then(|labels| labels.get(key)).map(|value| text(value).map(|text| text.into_owned()))
    };
    let misses = |labels: Option<NodeRef<'_>>| -> Option<Vec<usize>> {
        let one = |(index, (key, value, _)): (usize, &(String, String, NodeRef<'_>))| match label(labels, key)
        {
            // A label that is not known may be the one.
            Some(None) => None,
            Some(Some(own)) if own == *value => Some(None),
            _ => Some(Some(index)),
        };
        Some(wanted.iter().enumerate().map(one).collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
    };
    let found: Option<Vec<Vec<usize>>> = candidates.iter().map(|(_, labels)| misses(*labels)).collect();
    let Some(found) = found.filter(|found| found.iter().all(|missed| !missed.is_empty())) else { return };
    // The one that fits best is probably meant.
    let Some((best, missed)) = found.iter().enumerate().min_by_key(|(_, missed)| missed.len()) else {
        return;
    };
    let (key, value, place) = &wanted[missed[0]];
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
    let values: Vec<String> = candidates.iter().filter_map(|(_, labels)| label(*labels, key)?).collect();
    finding.help(match suggest(value, values.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "select by labels that the template has, or add the label there".to_owned(),
    });
    let (nearest, _) = candidates[best];
    if let Some(place) = nearest.node.get_ref().location_at("/metadata/name") {
        finding.related(nearest.id.to_string(), place);
    }
}
