//! `unknown-service-host`: a text names the host of a Service that the cluster doesn't have.
//! Source: `kubernetes` DNS specification 1.1 (`<service>.<namespace>.svc.<domain>`).

use super::{dotted, is_open};
use crate::build::substitute::Parts;
use crate::lang::text::{Word, Words};
use crate::lang::yaml::{Location, NodeRef};
use crate::lint::workloads::{Cause, Near, Target, Workloads};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::{Name, kinds};
use crate::world::{ApplyTarget, Effective, OpenerCause};
use rustc_hash::FxHashSet;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-service-host",
    group: Group::Workload,
    level: Level::Warning,
    default: true,
    since: "0.3.0",
    summary: "a text names the host of a Service that the cluster does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/unknown-service-host.md"),
    check: Check::Cluster(check),
};

/// Bytes of a text that are looked at: hosts stand in addresses, not in dashboards.
const LONGEST: usize = 64 * 1024;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    let local = || view.written().filter(|(member, _)| member.target == ApplyTarget::Local);
    let namespaces: FxHashSet<&str> = local()
        .filter_map(|(_, object)| match object.id.is("", "Namespace") {
            true => Some(&*object.id.name),
            false => object.id.namespace.as_deref(),
        })
        .collect();
    let meant = Meant::of_cluster(view, &namespaces);
    for (_, object) in local() {
        let mut told = FxHashSet::default();
        for pointer in places(object) {
            let Some(node) = object.node.get_ref().at(pointer) else { continue };
            texts(node, pointer, &mut |pointer, node| {
                let Some(text) = node.as_str().filter(|text| text.len() <= LONGEST && text.contains(".svc"))
                else {
                    return;
                };
                let mut parts = Parts::new(node, &text);
                for host in hosts(&text) {
                    let is_here = namespaces.contains(host.namespace);
                    let is_sure = !is_here && has_domain(&text[host.part.clone()]);
                    let meant = is_sure.then(|| meant.of(host.namespace)).flatten();
                    let place = parts.location(host.part.clone()).filter(|_| is_here || meant.is_some());
                    // What an alias repeats is written once.
                    let Some(place) = place.filter(|place| told.insert((place.file.clone(), place.start)))
                    else {
                        continue;
                    };
                    match meant {
                        Some(meant) => misspelled_namespace(object, pointer, place, &host, meant, report),
                        None => judge(workloads, object, pointer, place, &host, report),
                    }
                }
            });
        }
    }
}

/// The namespaces that a misspelled one may mean.
struct Meant<'a>(Option<Words<&'a str>>);

impl<'a> Meant<'a> {
    /// Of a cluster that is stated: of what nobody applies a part may be anywhere.
    fn of_cluster(view: &ClusterView<'_>, namespaces: &FxHashSet<&'a str>) -> Meant<'a> {
        Meant(view.cluster.name.is_some().then(|| namespaces.iter().copied().collect()))
    }

    /// The one that differs in a single letter; of short names and of those that count
    /// (`team-1`) another one may as well be meant.
    fn of(&self, namespace: &str) -> Option<&'a str> {
        let words = self.0.as_ref().filter(|_| namespace.len() >= SHORTEST)?;
        let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        let word = Word::like(namespace);
        let near = words.near(&word);
        let near = near.filter(|(distance, known)| *distance == 1 && letters(known) != letters(namespace));
        near.map(|(_, known)| *known).min()
    }
}

/// Letters from which on a namespace that differs in one is a misspelled one.
const SHORTEST: usize = 6;

/// Whether a host is one of the cluster for sure: `.svc` may stand in other names.
fn has_domain(host: &str) -> bool {
    host.contains(".svc.cluster.local") || host.split(':').next().is_some_and(|host| host.ends_with(".svc"))
}

fn misspelled_namespace(
    object: &Effective,
    pointer: &str,
    location: Location,
    host: &Host<'_>,
    meant: &str,
    report: &mut Reporter<'_>,
) {
    let (name, namespace) = (host.name, host.namespace);
    let title = format!(
        "{}: `{}` names a Service of namespace {namespace}, which nothing is in",
        object.id,
        dotted(pointer)
    );
    let finding = report.report(location, title);
    finding.claims_absence().why("the name does not resolve: connections fail").object(&object.id);
    finding.field(pointer, format!("{name}.{namespace}")).label("no such namespace");
    finding.help(format!("did you mean `{name}.{meant}`?"));
}

/// Where an object holds texts for programs that speak to Services.
fn places(object: &Effective) -> &'static [&'static str] {
    match (object.id.group(), &*object.id.kind) {
        _ if kinds::is_helm_release(&object.id) => &["/spec/values"],
        ("", "ConfigMap") => &["/data"],
        ("external-secrets.io", "SecretStore" | "ClusterSecretStore") => &["/spec/provider"],
        ("external-secrets.io", "ExternalSecret") => &["/spec/target/template/data"],
        ("", "Pod") => &["/spec"],
        ("apps", _) => &["/spec/template/spec"],
        ("batch", "Job") => &["/spec/template/spec"],
        ("batch", "CronJob") => &["/spec/jobTemplate/spec/template/spec"],
        _ => &[],
    }
}

/// Calls for each scalar of a tree; an explicit stack, since values nest as they like.
fn texts<'a>(node: NodeRef<'a>, pointer: &str, then: &mut dyn FnMut(&str, NodeRef<'a>)) {
    let mut stack = vec![(pointer.to_owned(), node)];
    while let Some((pointer, node)) = stack.pop() {
        let before = stack.len();
        if node.is_map() {
            for entry in node.entries() {
                stack.push((crate::lang::yaml::pointer_join(&pointer, &entry.key), entry.value));
            }
        } else if node.is_seq() {
            for (index, item) in node.items().enumerate() {
                stack.push((format!("{pointer}/{index}"), item));
            }
        } else {
            then(&pointer, node);
        }
        stack[before..].reverse();
    }
}

/// A Service's host in a text.
struct Host<'t> {
    /// Its bytes in the text, the port included.
    part: std::ops::Range<usize>,
    name: &'t str,
    namespace: &'t str,
    port: Option<&'t str>,
}

/// The hosts `NAME.NAMESPACE.svc` of a text, with their ports.
fn hosts(text: &str) -> Vec<Host<'_>> {
    let is_of_host =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'$' | b'{' | b'}');
    let mut found = Vec::new();
    for (at, _) in text.match_indices(".svc") {
        let bytes = text.as_bytes();
        let after = bytes.get(at + 4).copied();
        if after.is_some_and(|byte| is_of_host(byte) && byte != b'.') {
            continue;
        }
        // No host is longer than 253 bytes: what goes on before is none.
        let length = bytes[..at].iter().rev().take(254).take_while(|byte| is_of_host(**byte)).count();
        let host = &text[at - length..at];
        let Some((before, namespace)) = host.rsplit_once('.') else { continue };
        // The Pods of a headless Service have names before the Service's.
        let name = before.rsplit('.').next().unwrap_or(before);
        if length > 253 || is_open(host) || name.is_empty() || namespace.is_empty() {
            continue;
        }
        let end = at + 4 + bytes[at + 4..].iter().take(254).take_while(|byte| is_of_host(**byte)).count();
        let digits = text[end..]
            .strip_prefix(':')
            .map_or(0, |rest| rest.bytes().take(5).take_while(u8::is_ascii_digit).count());
        let port = (digits > 0).then(|| &text[end + 1..=end + digits]);
        let part = at - length..port.map_or(end, |port| end + 1 + port.len());
        found.push(Host { part, name, namespace, port });
    }
    found
}

fn judge(
    workloads: &Workloads<'_>,
    object: &Effective,
    pointer: &str,
    location: Location,
    host: &Host<'_>,
    report: &mut Reporter<'_>,
) {
    let service = format!("Service {}/{}", host.namespace, host.name);
    let field = dotted(pointer);
    let cause = match workloads.target(Name::new("", "Service", Some(host.namespace), host.name)) {
        Target::Here(found) => {
            if let Some((port, known)) =
                host.port.zip(ports(found)).filter(|(port, known)| !known.iter().any(|one| one == port))
            {
                let title = format!(
                    "{}: `{field}` names port {port} of {service}, which it does not have",
                    object.id
                );
                let finding = report.report(location, title);
                finding.why("nothing listens there: connections fail").object(&object.id);
                finding.field(pointer, format!("{}.{}:{port}", host.name, host.namespace));
                finding.help(format!("its ports are {}", known.join(", ")));
                if let Some(place) = found.node.get_ref().location_at("/spec/ports") {
                    finding.related(found.id.to_string(), place);
                }
            }
            return;
        }
        Target::Made(..) => return,
        Target::Absent(cause) => cause,
    };
    let near = workloads.near("", "Service", Some(host.namespace), host.name);
    let near = near.filter(|near| matches!(near, Near::Misspelled(_)) || cause.is_none());
    let is_open = cause.is_some() || workloads.has_releases();
    if near.is_none() && is_open {
        let cause = cause.unwrap_or(Cause::Opener(OpenerCause::Chart));
        let what = format!("{}: {service}", object.id);
        report.not_checked(super::unchecked(cause), Some(location), what);
        return;
    }
    let finding = report.report(location, format!("{}: `{field}` names no known {service}", object.id));
    finding.claims_absence().why("the name does not resolve: connections fail").object(&object.id);
    finding.field(pointer, format!("{}.{}", host.name, host.namespace)).label(format!("no {service}"));
    match near {
        Some(Near::Misspelled(named)) => finding.help(format!("did you mean `{}`?", named.name)),
        Some(Near::Elsewhere(named)) => {
            let namespace = named.namespace.as_deref().unwrap_or_default();
            finding.help(format!("Service {namespace}/{} is in another namespace", named.name))
        }
        None => finding.help(format!("create {service}, or correct the name")),
    };
}

/// The numbers of a Service's ports; `None` where they are not known, or need not be stated.
fn ports(service: &Effective) -> Option<Vec<String>> {
    let node = service.node.get_ref();
    // The Pods of a headless Service are reached at any port.
    let is_headless = node.str_at("/spec/clusterIP").is_some_and(|ip| ip == "None");
    if is_headless || node.str_at("/spec/type").is_some_and(|kind| kind == "ExternalName") {
        return None;
    }
    let ports =
        node.items_at("/spec/ports").map(|port| Some(port.get("port").and_then(super::text)?.into_owned()));
    ports.collect::<Option<Vec<_>>>().filter(|ports| !ports.is_empty())
}
