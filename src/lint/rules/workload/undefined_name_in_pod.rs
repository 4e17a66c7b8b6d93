//! `undefined-name-in-pod`: a container names a volume or a port that its Pod doesn't have,
//! or two things of a Pod have one name.
//! Source: `kubernetes` `pkg/apis/core/validation/validation.go` (`ValidateVolumeMounts`,
//! `validateContainers`, `validateContainerPorts`), `pkg/probe/util.go` (`ResolveContainerPort`).

use super::{dotted, refusal_of_pods, text};
use crate::lang::yaml::NodeRef;
use crate::lint::known_names::KnownNames;
use crate::lint::rules::schema::malformed_field_value::is_placeholder;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::Unchecked;
use crate::model::workloads::{are_pods_unread, pod_spec};

pub(crate) static RULE: Rule = Rule {
    id: "undefined-name-in-pod",
    group: Group::Workload,
    level: Level::Error,
    default: true,
    since: "0.2.0",
    summary: "a container names a volume or a port that its Pod does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/undefined-name-in-pod.md"),
    check: Check::Object(check),
};

/// Whether a cluster applies the object.
fn is_applied(view: &ObjectView<'_>) -> bool {
    view.memberships().any(|(cluster, _)| cluster.name.is_some())
}

/// What no cluster applies, in a repository that states what is applied, stops nothing.
fn level(view: &ObjectView<'_>) -> Level {
    if is_applied(view) || !view.beyond().world.has_entry { Level::Error } else { Level::Warning }
}

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let Some((prefix, spec)) = pod_spec(view.id, view.node) else { return };
    let volumes = volumes(view, spec);
    let mut names = KnownNames::default();
    for list in ["initContainers", "containers"] {
        let Some(containers) = spec.get(list) else { continue };
        for (index, container) in containers.items().enumerate() {
            let pointer = format!("{prefix}/{list}/{index}");
            if let Some(volumes) = &volumes {
                mounts(view, container, &pointer, volumes, report);
            }
            ports(view, container, &pointer, report);
            let Some(name) = container.get("name").and_then(text) else { continue };
            // Two of one list are `duplicate-list-item`.
            if list == "containers" && names.contains(&name) {
                shared_name(view, container, &pointer, &name, report);
            } else if list == "initContainers" {
                names.push(name);
            }
        }
    }
}

/// The names of the Pod's volumes; `None` where one is not known.
fn volumes<'a>(view: &ObjectView<'a>, spec: NodeRef<'a>) -> Option<KnownNames<'a>> {
    let own = spec.get("volumes").into_iter().flat_map(NodeRef::items).map(|volume| volume.get("name"));
    let claims = view.node.items_at("/spec/volumeClaimTemplates").map(|claim| claim.at("/metadata/name"));
    own.chain(claims).map(|name| name.and_then(text)).collect()
}

fn mounts(
    view: &ObjectView<'_>,
    container: NodeRef<'_>,
    pointer: &str,
    volumes: &KnownNames<'_>,
    report: &mut Reporter<'_>,
) {
    for field in ["volumeMounts", "volumeDevices"] {
        let mounts = container.get(field).into_iter().flat_map(NodeRef::items);
        for (index, node) in mounts.enumerate() {
            let Some(node) = node.get("name") else { continue };
            let Some(name) = text(node).filter(|name| !volumes.contains(name)) else { continue };
            // Of a Pod that the API server reads only as it is made, a webhook may add the volume.
            if are_pods_unread(view.id) && view.beyond().has_webhook_for_pods() {
                continue;
            }
            let path = format!("{pointer}/{field}/{index}/name");
            undefined(
                view,
                node,
                &path,
                &format!("no volume `{name}`"),
                &name,
                volumes,
                &refusal_of_pods(view.id, "refuses"),
                report,
            );
        }
    }
}

/// Probes and hooks that name a port.
const PORT_USERS: [&str; 10] = [
    "/livenessProbe/httpGet/port",
    "/livenessProbe/tcpSocket/port",
    "/readinessProbe/httpGet/port",
    "/readinessProbe/tcpSocket/port",
    "/startupProbe/httpGet/port",
    "/startupProbe/tcpSocket/port",
    "/lifecycle/postStart/httpGet/port",
    "/lifecycle/postStart/tcpSocket/port",
    "/lifecycle/preStop/httpGet/port",
    "/lifecycle/preStop/tcpSocket/port",
];

fn ports(view: &ObjectView<'_>, container: NodeRef<'_>, pointer: &str, report: &mut Reporter<'_>) {
    let mut known = KnownNames::default();
    for (index, port) in container.get("ports").into_iter().flat_map(NodeRef::items).enumerate() {
        let Some(node) = port.get("name") else { continue };
        let Some(name) = text(node) else { return };
        if !known.push(name.clone()) {
            let path = format!("{pointer}/ports/{index}/name");
            let title = format!("{}: `{}` names a second port `{name}`", view.id, dotted(&path));
            let Some(location) = node.location() else { continue };
            let finding = report.report(location, title);
            finding
                .level(level(view))
                .why(refusal_of_pods(view.id, "refuses"))
                .object(view.id)
                .field(path, &*name)
                .label("the second of this name");
            finding.help("give each port of a container a name of its own");
        }
    }
    for user in PORT_USERS {
        let Some(node) = container.at(user).filter(|node| node.as_int().is_none()) else { continue };
        let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
        let Some(name) = text(node).filter(|name| !is_number(name) && !known.contains(name)) else {
            continue;
        };
        let why = match user.contains("Probe") {
            true => {
                "the kubelet finds no port to ask: the probe fails, and the container is restarted or gets no traffic"
            }
            false => "the kubelet finds no port to call: the hook fails, and the container is killed",
        };
        let path = format!("{pointer}{user}");
        undefined(
            view,
            node,
            &path,
            &format!("no port `{name}` of its container"),
            &name,
            &known,
            why,
            report,
        );
    }
}

#[expect(clippy::too_many_arguments, reason = "one sentence, from two places")]
fn undefined(
    view: &ObjectView<'_>,
    node: NodeRef<'_>,
    path: &str,
    what: &str,
    name: &str,
    known: &KnownNames<'_>,
    why: &str,
    report: &mut Reporter<'_>,
) {
    let Some(location) = node.location() else { return };
    if is_placeholder(name) && !is_applied(view) {
        report.not_checked(Unchecked::Placeholder, Some(location), format!("{}: {path}", view.id));
        return;
    }
    let finding = report.report(location, format!("{}: `{}` names {what}", view.id, dotted(path)));
    finding.level(level(view)).why(why).object(view.id).field(path, name).label(what.to_owned());
    finding.help(match known.nearest(name) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => "define it, or remove this".to_owned(),
        None => format!("defined are {}", known.first().0),
    });
}

fn shared_name(
    view: &ObjectView<'_>,
    container: NodeRef<'_>,
    pointer: &str,
    name: &str,
    report: &mut Reporter<'_>,
) {
    let Some(location) = container.get("name").and_then(NodeRef::location) else { return };
    let title = format!("{}: an init container and a container are both called `{name}`", view.id);
    let finding = report.report(location, title);
    finding
        .level(level(view))
        .why(refusal_of_pods(view.id, "refuses"))
        .object(view.id)
        .field(format!("{pointer}/name"), name)
        .label("the second of this name");
    finding.help("give each container of a Pod a name of its own");
}
