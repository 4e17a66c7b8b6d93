//! `unattached-route`: a route that its Gateway doesn't take in.
//! Source: Gateway API `apis/v1/gateway_types.go` (`AllowedRoutes`, `FromNamespaces`),
//! `apis/v1/shared_types.go` (`RouteReasonNotAllowedByListeners`,
//! `RouteReasonNoMatchingListenerHostname`, `RouteReasonNoMatchingParent`).

use super::{dotted, is_open, judged, text};
use crate::lang::text::suggest;
use crate::lang::yaml::NodeRef;
use crate::lint::workloads::{TargetState, Workloads};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::workloads::WorkloadReference;
use crate::world::Effective;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "unattached-route",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a route that its Gateway does not take in",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/unattached-route.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // A chart, or another file, may bring the Gateway that the clusters have.
    if view.cluster.name.is_none() && view.has_entry() {
        return;
    }
    let workloads = view.workloads();
    for (object, reference, name) in judged(workloads) {
        if &*reference.kind != "Gateway" || !object.id.kind.ends_with("Route") {
            continue;
        }
        let found =
            workloads.target(Name::new(&reference.group, "Gateway", reference.namespace.as_deref(), name));
        if let TargetState::Here(gateway) = found {
            parent(&RouteAndListener { workloads, route: object, reference, gateway }, report);
        }
    }
}

/// A route and a Gateway that it names.
struct RouteAndListener<'p, 'a> {
    workloads: &'p Workloads<'a>,
    route: &'p Effective,
    reference: &'p WorkloadReference<'a>,
    gateway: &'p Effective,
}

/// Looks at the listeners of a Gateway one condition after the other, and tells the first
/// that leaves none.
fn parent(pair: &RouteAndListener<'_, '_>, report: &mut Reporter<'_>) {
    let Some(at) = pair.route.node.get_ref().at(&pair.reference.pointer) else { return };
    let mut listeners: Vec<NodeRef<'_>> = pair.gateway.node.get_ref().items_at("/spec/listeners").collect();
    if listeners.is_empty() || listeners.iter().any(|listener| listener.is_unknown()) {
        return;
    }
    if let Some(section) = at.get("sectionName") {
        let Some(wanted) = text(section) else { return };
        let Some(names) =
            listeners.iter().map(|one| one.get("name").and_then(text)).collect::<Option<Vec<_>>>()
        else {
            return;
        };
        let fits = names.iter().position(|name| *name == wanted);
        let Some(place) = fits else {
            let help = match suggest(&wanted, names.iter().map(|name| &**name)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("its listeners are {}", names.join(", ")),
            };
            let what = format!("has no listener `{wanted}`");
            return tell(pair, section, "sectionName", &what, help, report);
        };
        listeners = vec![listeners[place]];
    }
    if let Some(port) = at.get("port") {
        let Some(wanted) = text(port) else { return };
        let ports = listeners.iter().map(|one| one.get("port").and_then(text)).collect::<Option<Vec<_>>>();
        let Some(ports) = ports else { return };
        if !ports.contains(&wanted) {
            let help = format!("its listeners have the ports {}", ports.join(", "));
            let what = format!("has no listener of port {wanted}");
            return tell(pair, port, "port", &what, help, report);
        }
        listeners.retain(|one| one.get("port").and_then(text) == Some(wanted.clone()));
    }
    let allowing: Vec<_> =
        listeners.iter().copied().filter(|one| is_allowed(pair, *one) != Some(false)).collect();
    if allowing.is_empty() {
        let what = "allows no routes of this namespace";
        let help = "set `allowedRoutes.namespaces.from: All` on its listener, or move the route";
        return tell(pair, pair.reference.name_node, "name", what, help.to_owned(), report);
    }
    hostnames(pair, &allowing, report);
}

/// Whether a listener allows routes of a namespace; `None` where that isn't known.
fn is_allowed(pair: &RouteAndListener<'_, '_>, listener: NodeRef<'_>) -> Option<bool> {
    let namespaces = listener.at("/allowedRoutes/namespaces");
    let from = match namespaces.and_then(|at| at.get("from")) {
        Some(from) => text(from)?,
        None => "Same".into(),
    };
    let own = pair.route.id.namespace.as_deref()?;
    match &*from {
        "All" => Some(true),
        "Same" => Some(pair.gateway.id.namespace.as_deref()? == own),
        "None" => Some(false),
        "Selector" if !pair.route.id.is_unknown() => {
            let labels = namespaces?.at("/selector/matchLabels")?;
            let found = match pair.workloads.target(Name::new("", "Namespace", None, own)) {
                TargetState::Here(namespace) => namespace.node.get_ref().at("/metadata/labels"),
                _ => None,
            };
            let mut known = true;
            for wanted in labels.entries() {
                let value = match &*wanted.key {
                    // The API server sets it, also of a Namespace that is not here.
                    "kubernetes.io/metadata.name" => Some(own.to_owned()),
                    key => found.and_then(|labels| labels.get(key)?.text()).map(|text| text.into_owned()),
                };
                match value {
                    // Somebody else may set the label.
                    None => known = false,
                    Some(value) if wanted.value.text()? != value => return Some(false),
                    Some(_) => {}
                }
            }
            known.then_some(true)
        }
        _ => None,
    }
}

fn hostnames(pair: &RouteAndListener<'_, '_>, listeners: &[NodeRef<'_>], report: &mut Reporter<'_>) {
    if matches!(&*pair.route.id.kind, "TCPRoute" | "UDPRoute") {
        return;
    }
    let node = pair.route.node.get_ref();
    let Some(own) = node.items_at("/spec/hostnames").map(text).collect::<Option<Vec<_>>>() else { return };
    let hosts: Option<Vec<_>> = listeners
        .iter()
        .map(|one| match one.get("hostname") {
            Some(host) => text(host),
            None => Some("".into()),
        })
        .collect();
    let Some(hosts) = hosts else { return };
    let meets = own.iter().any(|host| hosts.iter().any(|listener| overlaps(host, listener)));
    if own.is_empty() || meets || own.iter().any(|host| is_open(host)) {
        return;
    }
    let Some(first) = node.items_at("/spec/hostnames").next() else { return };
    let what = format!("has no listener for {}", own.join(", "));
    // One for each port has the same name twice.
    let names: BTreeSet<&str> = hosts.iter().map(|host| &**host).collect();
    let help = format!("its listeners are for {}", names.into_iter().collect::<Vec<_>>().join(", "));
    tell(pair, first, "name", &what, help, report);
}

/// Whether a route's hostname and a listener's have something in common: each may begin
/// with `*.`, and a listener without one takes all.
fn overlaps(host: &str, listener: &str) -> bool {
    let below = |name: &str, wildcard: &str| {
        wildcard.strip_prefix('*').is_some_and(|suffix| name.len() > suffix.len() && name.ends_with(suffix))
    };
    listener.is_empty()
        || host.eq_ignore_ascii_case(listener)
        || below(host, listener)
        || below(listener, host)
}

fn tell(
    pair: &RouteAndListener<'_, '_>,
    node: NodeRef<'_>,
    field: &str,
    what: &str,
    help: String,
    report: &mut Reporter<'_>,
) {
    let Some(location) = node.location() else { return };
    let RouteAndListener { route, reference, gateway, .. } = pair;
    let title = format!("{}: {} of `{}` {what}", route.id, gateway.id, dotted(&reference.pointer));
    let finding = report.report(location, title);
    finding.why(reference.consequence).object(&route.id).help(help).label("not taken in");
    finding.field(format!("{}/{field}", reference.pointer), node.text().unwrap_or_default().into_owned());
    if let Some(place) = gateway.node.get_ref().location_at("/spec/listeners") {
        finding.related(gateway.id.to_string(), place);
    }
}
