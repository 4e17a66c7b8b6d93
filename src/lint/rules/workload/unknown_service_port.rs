//! `unknown-service-port`: a route or Ingress names a port that its Service doesn't have, or
//! a Service names a port that none of its Pods has.
//! Source: ingress-nginx `internal/ingress/controller/controller.go` (`serviceEndpoints`);
//! Gateway API `apis/v1` (`BackendObjectReference.Port`); `kubernetes`
//! `staging/src/k8s.io/endpointslice/utils.go` (`FindPort`).

use super::{dotted, judged, target, text};
use crate::build::kustomize::FILE_NAMES;
use crate::files::{Snapshot, join};
use crate::lang::text::suggest;
use crate::lang::yaml::NodeRef;
use crate::lint::usual::Usual;
use crate::lint::workloads::{Target, Workloads};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::workloads::{Reference, pod_spec, pod_template};
use crate::world::{ApplyTarget, Effective};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-service-port",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.3.0",
    summary: "a port that the Service, or its Pods, do not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/unknown-service-port.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    let mut usual: Option<Usual<'_>> = None;
    for (object, reference, name) in judged(workloads) {
        let Some(port) = reference.port.filter(|_| &*reference.kind == "Service") else { continue };
        let target =
            workloads.target(Name::new(&reference.group, "Service", reference.namespace.as_deref(), name));
        match target {
            Target::Here(service) => backend(object, reference, name, port, service, report),
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
    reference: &Reference<'_>,
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

fn backend(
    object: &Effective,
    reference: &Reference<'_>,
    name: &str,
    port: NodeRef<'_>,
    service: &Effective,
    report: &mut Reporter<'_>,
) {
    let node = service.node.get_ref();
    // Another name for a host has no ports that must be stated.
    if node.str_at("/spec/type").is_some_and(|kind| kind == "ExternalName") {
        return;
    }
    let Some(wanted) = text(port) else { return };
    let Some(known) = node.items_at("/spec/ports").map(port_of).collect::<Option<Vec<_>>>() else { return };
    let fits =
        |(number, name): &(String, Option<String>)| *number == *wanted || name.as_deref() == Some(&*wanted);
    if known.is_empty() || known.iter().any(fits) {
        return;
    }
    let Some(location) = port.location() else { return };
    let title = format!("{}: {} has no port `{wanted}`", object.id, target(reference, name));
    let finding = report.report(location, title);
    finding.level(if reference.is_guess { Level::Warning } else { Level::Error });
    finding.why(reference.consequence).object(&object.id).label("no such port");
    finding.field(format!("{}/port", reference.pointer), &*wanted);
    finding.help(format!("its ports are {}", described(&known)));
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

/// The workloads of each namespace, with their Pods' labels.
type Templates<'a> = FxHashMap<&'a str, Vec<(&'a Effective, NodeRef<'a>)>>;

fn target_ports(view: &ClusterView<'_>, workloads: &Workloads<'_>, report: &mut Reporter<'_>) {
    let local = || view.written().filter(|(member, _)| member.target == ApplyTarget::Local);
    let mut templates: Templates<'_> = FxHashMap::default();
    for (_, object) in local() {
        let (id, node) = (&object.id, object.node.get_ref());
        if let (Some(namespace), Some(template)) = (id.namespace.as_deref(), pod_template(id, node)) {
            templates.entry(namespace).or_default().push((object, template));
        }
    }
    // What is written, and built by none: the patches of a kustomization that lists it may
    // add the port.
    let is_loose = view.cluster.name.is_none() && view.cluster.applied.is_empty();
    let snapshot = view.beyond().snapshot;
    let is_whole = |object: &Effective| !is_loose || !is_listed(snapshot, object);
    for (_, object) in local().filter(|(_, object)| object.id.is("", "Service")) {
        let in_namespace = object.id.namespace.as_deref().and_then(|namespace| templates.get(namespace));
        let all = in_namespace.map_or(&[][..], Vec::as_slice);
        if all.iter().all(|(object, _)| is_whole(object)) {
            named_targets(object, all, workloads, report);
        }
    }
}

/// Whether a kustomization lies beside the file of an object.
fn is_listed(snapshot: &Snapshot, object: &Effective) -> bool {
    let Some(location) = object.node.get_ref().location() else { return false };
    let path = location.file.shown();
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    FILE_NAMES.iter().filter_map(|name| join(directory, name)).any(|path| snapshot.file(&path).is_some())
}

fn named_targets(
    service: &Effective,
    templates: &[(&Effective, NodeRef<'_>)],
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
    let selected: Vec<_> = templates.iter().filter(|(_, template)| selects(node, *template)).collect();
    let ports: Option<Vec<String>> =
        selected.iter().flat_map(|(object, _)| container_ports(object)).collect();
    let Some(ports) = ports.filter(|_| !selected.is_empty()) else { return };
    for (index, target) in named {
        let Some(name) = text(target).filter(|name| !ports.iter().any(|port| **port == **name)) else {
            continue;
        };
        let Some(location) = target.location() else { continue };
        let pointer = format!("/spec/ports/{index}/targetPort");
        let title = format!("{}: `{}` names no port `{name}` of its Pods", service.id, dotted(&pointer));
        let complete = workloads.is_complete("apps", "Deployment", service.id.namespace.as_deref());
        let finding = report.report(location, title);
        finding.level(if complete { Level::Error } else { Level::Warning });
        finding.why("the Service has no endpoints for this port: connections to it are refused");
        finding.object(&service.id).field(pointer, &*name).label("no container has this port");
        finding.help(match suggest(&name, ports.iter().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "name a port of the container, or write its number".to_owned(),
        });
        for (object, _) in selected.iter().take(3) {
            if let Some(place) = object.node.get_ref().location_at("/metadata/name") {
                finding.related(object.id.to_string(), place);
            }
        }
    }
}

/// Whether a Service's selector, which has entries, selects the Pods of a template.
fn selects(service: NodeRef<'_>, template: NodeRef<'_>) -> bool {
    let mut selector = service.entries_at("/spec/selector").peekable();
    let labels = template.at("/metadata/labels");
    selector.peek().is_some()
        && selector.all(|entry| {
            let label = labels.and_then(|labels| labels.get(&entry.key)).and_then(NodeRef::text);
            label.is_some_and(|label| entry.value.text().is_some_and(|wanted| wanted == label))
        })
}

/// The names of the ports of a workload's containers; an item is `None` where one is not
/// known.
fn container_ports(object: &Effective) -> Vec<Option<String>> {
    let Some((_, spec)) = pod_spec(&object.id, object.node.get_ref()) else { return Vec::new() };
    let lists = ["containers", "initContainers"].into_iter().filter_map(|list| spec.get(list));
    let ports = lists.flat_map(NodeRef::items).filter_map(|container| container.get("ports"));
    let names = ports.flat_map(NodeRef::items).filter_map(|port| port.get("name"));
    names.map(|name| text(name).map(std::borrow::Cow::into_owned)).collect()
}
