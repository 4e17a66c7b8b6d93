//! `unknown-service-port`: a route or Ingress names a port that its Service doesn't have, or
//! a Service names a port that none of its Pods has.
//! Source: ingress-nginx `internal/ingress/controller/controller.go` (`serviceEndpoints`);
//! Gateway API `apis/v1` (`BackendObjectReference.Port`); `kubernetes`
//! `staging/src/k8s.io/endpointslice/utils.go` (`FindPort`).

use super::labels::Labelled;
use super::{dotted, is_listed, judged, target, text};
use crate::lang::yaml::NodeRef;
use crate::lint::known_names::KnownNames;
use crate::lint::usual::Usual;
use crate::lint::workloads::{TargetState, Workloads};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::workloads::{WorkloadReference, pod_spec, pod_template};
use crate::world::{ApplyTarget, Effective};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::cell::OnceCell;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-service-port",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a port that the Service, or its Pods, do not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/unknown-service-port.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    let mut usual: Option<Usual<'_>> = None;
    // The ports of each Service that was asked for some, by where it is kept.
    let mut ports: FxHashMap<usize, Option<Ports>> = FxHashMap::default();
    for (object, reference, name) in judged(workloads) {
        let Some(port) = reference.port.filter(|_| &*reference.kind == "Service") else { continue };
        let target =
            workloads.target(Name::new(&reference.group, "Service", reference.namespace.as_deref(), name));
        match target {
            TargetState::Here(service) => {
                let ports = ports.entry(std::ptr::from_ref(service).addr());
                if let Some(ports) = ports.or_insert_with(|| Ports::of(service)) {
                    backend((object, reference, name), port, (service, ports), report);
                }
            }
            // Its ports are not known: a name that others call theirs, but for a letter.
            _ => {
                let usual = usual.get_or_insert_with(|| usual_ports(workloads));
                misspelt(object, reference, name, port, usual, report);
            }
        }
    }
    target_ports(view, workloads, report);
}

/// The names of ports that the references of a cluster write.
fn usual_ports<'a>(workloads: &Workloads<'a>) -> Usual<'a> {
    let mut usual = Usual::default();
    for (number, (_, references)) in workloads.references().iter().enumerate() {
        let ports = references.iter().filter(|reference| &*reference.kind == "Service");
        for port in ports.filter_map(|reference| text(reference.port?)) {
            usual.add(Cow::Borrowed("Service"), Cow::Borrowed(""), port, number);
        }
    }
    usual
}

fn misspelt(
    object: &Effective,
    reference: &WorkloadReference<'_>,
    name: &str,
    port: NodeRef<'_>,
    usual: &Usual<'_>,
    report: &mut Reporter<'_>,
) {
    let (Some(wanted), Some(location)) = (text(port), port.location()) else { return };
    let Some((meant, count)) = usual.meant("Service", "", &wanted) else { return };
    let title = format!("{}: {} probably has no port `{wanted}`", object.id, target(reference, name));
    let finding = report.report(location, title);
    finding.level(Level::Warning).claims_absence();
    finding.why(reference.consequence).object(&object.id).label("named so nowhere else");
    finding.field(format!("{}/port", reference.pointer), &*wanted);
    finding.help(format!("did you mean `{meant}`? {count} other objects name a port so"));
}

/// The ports of a Service.
struct Ports {
    /// The number of each, and its name.
    all: Vec<(String, Option<String>)>,
    /// All numbers and names.
    words: FxHashSet<String>,
}

impl Ports {
    /// `None` where they are not known, and where there need be none: another name for a host
    /// has no ports that must be stated.
    fn of(service: &Effective) -> Option<Ports> {
        let node = service.node.get_ref();
        if node.str_at("/spec/type").is_some_and(|kind| kind == "ExternalName") {
            return None;
        }
        let all = node.items_at("/spec/ports").map(port_of).collect::<Option<Vec<_>>>()?;
        let words = all.iter().flat_map(|(number, name)| [Some(number), name.as_ref()]);
        let words = words.flatten().cloned().collect();
        (!all.is_empty()).then_some(Ports { all, words })
    }
}

fn backend(
    (object, reference, name): (&Effective, &WorkloadReference<'_>, &str),
    port: NodeRef<'_>,
    (service, ports): (&Effective, &Ports),
    report: &mut Reporter<'_>,
) {
    let node = service.node.get_ref();
    let Some(wanted) = text(port).filter(|wanted| !ports.words.contains(&**wanted)) else { return };
    let Some(location) = port.location() else { return };
    let title = format!("{}: {} has no port `{wanted}`", object.id, target(reference, name));
    let finding = report.report(location, title);
    finding.level(if reference.is_guess { Level::Warning } else { Level::Error });
    finding.why(reference.consequence).object(&object.id).label("no such port");
    finding.field(format!("{}/port", reference.pointer), &*wanted);
    finding.help(format!("its ports are {}", described(&ports.all)));
    if let Some(place) = node.location_at("/spec/ports") {
        finding.related(service.id.to_string(), place);
    }
}

/// Number and name of a Service's port; `None` where they are not known.
fn port_of(port: NodeRef<'_>) -> Option<(String, Option<String>)> {
    let number = port.get("port").and_then(text)?.into_owned();
    let name = match port.get("name") {
        Some(name) => Some(text(name)?.into_owned()),
        None => None,
    };
    Some((number, name))
}

fn described(ports: &[(String, Option<String>)]) -> String {
    let words = ports.iter().take(5).map(|(number, name)| match name {
        Some(name) => format!("{number} (`{name}`)"),
        None => number.clone(),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn target_ports(view: &ClusterView<'_>, workloads: &Workloads<'_>, report: &mut Reporter<'_>) {
    let local = || view.members().filter(|(member, _)| member.target == ApplyTarget::Local);
    // By namespace; and whether a patch may add a port to one of them.
    let mut templates: FxHashMap<&str, (Labelled<'_>, OnceCell<bool>)> = FxHashMap::default();
    for (_, object) in local() {
        let (id, node) = (&object.id, object.node.get_ref());
        if let (Some(namespace), Some(template)) = (id.namespace.as_deref(), pod_template(id, node)) {
            templates.entry(namespace).or_default().0.push(object, template.at("/metadata/labels"));
        }
    }
    // What is written, and built by none: the patches of a kustomization that lists it may
    // add the port.
    let is_loose = view.cluster.name.is_none() && view.cluster.applied.is_empty();
    let snapshot = view.beyond().snapshot;
    let is_whole = |object: &Effective| !is_loose || !is_listed(snapshot, object);
    for (_, object) in local().filter(|(_, object)| object.id.is("", "Service")) {
        let in_namespace = object.id.namespace.as_deref().and_then(|namespace| templates.get(namespace));
        let Some((all, are_whole)) = in_namespace else { continue };
        if *are_whole.get_or_init(|| all.objects().all(is_whole)) {
            named_targets(object, all, workloads, report);
        }
    }
}

/// So many workloads that one Service selects are read; of more it is not known which ports
/// they have.
const SELECTED: usize = 100;

fn named_targets(
    service: &Effective,
    templates: &Labelled<'_>,
    workloads: &Workloads<'_>,
    report: &mut Reporter<'_>,
) {
    let node = service.node.get_ref();
    let is_name = |target: &NodeRef<'_>| target.as_int().is_none();
    let named = node
        .items_at("/spec/ports")
        .enumerate()
        .filter_map(|(index, port)| Some((index, port.get("targetPort").filter(is_name)?)));
    let named: Vec<_> = named.collect();
    if named.is_empty() {
        return;
    }
    let wanted = node
        .entries_at("/spec/selector")
        .map(|entry| Some((entry.key.into_owned(), text(entry.value)?.into_owned())));
    let Some(wanted) = wanted.collect::<Option<Vec<_>>>() else { return };
    let selected: Vec<_> = templates.with(&wanted).take(SELECTED + 1).collect();
    let ports: Option<KnownNames<'_>> = selected.iter().flat_map(|object| container_ports(object)).collect();
    let Some(ports) = ports.filter(|_| (1..=SELECTED).contains(&selected.len())) else { return };
    for (index, target) in named {
        let Some(name) = text(target).filter(|name| !ports.contains(name)) else { continue };
        let Some(location) = target.location() else { continue };
        let pointer = format!("/spec/ports/{index}/targetPort");
        let title = format!("{}: `{}` names no port `{name}` of its Pods", service.id, dotted(&pointer));
        let complete = workloads.is_complete("apps", "Deployment", service.id.namespace.as_deref());
        let finding = report.report(location, title);
        finding.level(if complete { Level::Error } else { Level::Warning });
        finding.why("the Service has no endpoints for this port: connections to it are refused");
        finding.object(&service.id).field(pointer, &*name).label("no container has this port");
        finding.help(match ports.nearest(&name) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a port of the container, or write its number".to_owned(),
        });
        for object in selected.iter().take(3) {
            if let Some(place) = object.node.get_ref().location_at("/metadata/name") {
                finding.related(object.id.to_string(), place);
            }
        }
    }
}

/// The names of the ports of a workload's containers; an item is `None` where one is not
/// known.
fn container_ports(object: &Effective) -> Vec<Option<Cow<'_, str>>> {
    let Some((_, spec)) = pod_spec(&object.id, object.node.get_ref()) else { return Vec::new() };
    let lists = ["containers", "initContainers"].into_iter().filter_map(|list| spec.get(list));
    let ports = lists.flat_map(NodeRef::items).filter_map(|container| container.get("ports"));
    let names = ports.flat_map(NodeRef::items).filter_map(|port| port.get("name"));
    names.map(text).collect()
}
