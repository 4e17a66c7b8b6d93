//! `unknown-service-host`: a text names the host of a Service that the cluster doesn't have.
//! Source: `kubernetes` DNS specification 1.1 (`<service>.<namespace>.svc.<domain>`).

use super::dotted;
use super::hosts::{HostForm, ServiceHost, hosts};
use crate::build::substitute::Parts;
use crate::files::Snapshot;
use crate::lang::text::{Word, Words};
use crate::lang::yaml::{Location, NodeKind, NodeRef};
use crate::lint::usual::is_slip;
use crate::lint::workloads::{Near, TargetState, UnseenCause, Workloads};
use crate::lint::{Check, ClusterView, Finding, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::{Name, kinds, namespaces};
use crate::world::{ApplyTarget, Effective, UnseenMakerKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-service-host",
    group: Group::Workload,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a text names the host of a Service that the cluster does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/workload/unknown-service-host.md"),
    check: Check::Cluster(check),
};

/// Bytes of a text that are looked at: hosts stand in addresses, not in dashboards.
const LONGEST: usize = 64 * 1024;

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let workloads = view.workloads();
    let snapshot = view.beyond().snapshot;
    let local = || view.written().filter(|(member, _)| member.target == ApplyTarget::Local);
    let namespaces: FxHashSet<&str> = local()
        .filter_map(|(_, object)| match object.id.is("", "Namespace") {
            true => Some(&*object.id.name),
            false => object.id.namespace.as_deref(),
        })
        .collect();
    let meant = MeantNamespaces::of_cluster(view, &namespaces);
    for (_, object) in local() {
        let mut told = FxHashSet::default();
        let own = namespace_of(object);
        for pointer in places(object) {
            let Some(node) = object.node.get_ref().at(pointer) else { continue };
            texts(node, pointer, &mut |pointer, node| {
                let Some(text) = known_text(node) else { return };
                let mut places = HostPlaces::new(snapshot, node, &text);
                for host in hosts(&text) {
                    let Some(namespace) = host.namespace.or(own.as_deref()) else { continue };
                    let is_here = namespaces.contains(namespace);
                    let is_sure =
                        !is_here && (host.form != HostForm::Service || has_domain(&text[host.part.clone()]));
                    let moved = || meant.moved(&host, has_domain(&text[host.part.clone()]));
                    let meant = is_sure.then(|| meant.of(workloads, &host).or_else(moved)).flatten();
                    let host = PlacedHost { namespace, host };
                    let place = places.location(&host.host).filter(|_| is_here || meant.is_some());
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

/// The text of a scalar, with a sign that stands in no host for each part that is not known.
fn known_text(node: NodeRef<'_>) -> Option<Cow<'_, str>> {
    let of_holes = || {
        let parts = node.holes()?.parts.iter();
        Some(Cow::Owned(parts.map(|part| part.as_deref().unwrap_or("$")).collect()))
    };
    node.as_str().or_else(of_holes)
}

/// The places of the hosts of a text, asked for in their order.
struct HostPlaces<'n> {
    parts: Parts<'n>,
    text: &'n str,
    /// What the file has, and how far it was gone through: with variables filled in the text
    /// is another one.
    written: Option<(Location, &'n str)>,
    read: usize,
    missed: u32,
}

/// Hosts that are looked for in the file, and are not there: variables made them.
const MISSED: u32 = 100;

impl<'n> HostPlaces<'n> {
    fn new(snapshot: &'n Snapshot, node: NodeRef<'n>, text: &'n str) -> HostPlaces<'n> {
        let written = || {
            let whole = node.location()?;
            let file = snapshot.find(&whole.file)?;
            let all = snapshot.blob(file).ok()?.text()?;
            let written = all.get(whole.start as usize..whole.end as usize)?;
            Some((whole, written))
        };
        HostPlaces { parts: Parts::new(node, text), text, written: written(), read: 0, missed: 0 }
    }

    fn location(&mut self, host: &ServiceHost<'_>) -> Option<Location> {
        let place = self.parts.location(host.part.clone())?;
        let wanted = &self.text[host.part.clone()];
        let Some((whole, written)) = self.written.as_ref().filter(|_| self.missed < MISSED) else {
            return Some(place);
        };
        if (place.end - place.start) as usize == wanted.len() {
            return Some(place);
        }
        let Some(at) = written.get(self.read..).and_then(|rest| rest.find(wanted)) else {
            self.missed += 1;
            return Some(place);
        };
        let start = self.read + at;
        self.read = start + wanted.len();
        let start = whole.start + start as u32;
        Some(Location { start, end: start + wanted.len() as u32, ..whole.clone() })
    }
}

/// A host and the namespace that it means.
struct PlacedHost<'t> {
    namespace: &'t str,
    host: ServiceHost<'t>,
}

/// Whether a text may hold a host: of most texts nothing more is looked at.
fn may_hold(text: &str) -> bool {
    let (colon, dot) = (text.contains(':'), text.contains('.'));
    match (colon, dot) {
        (true, true) => true,
        (true, false) => text.contains("://"),
        (false, true) => text.contains(".svc"),
        (false, false) => false,
    }
}

/// The namespace of who reads the texts of an object.
fn namespace_of(object: &Effective) -> Option<Cow<'_, str>> {
    let target = || object.node.get_ref().str_at("/spec/targetNamespace");
    let target = kinds::is_helm_release(&object.id).then(target).flatten();
    target.or_else(|| object.id.namespace.as_deref().map(Cow::Borrowed))
}

/// The namespaces that a wrong one may mean.
struct MeantNamespaces<'a>(Option<(Words<&'a str>, ServiceNamespaces<'a>)>);

/// The namespaces of Services and of releases, by their names.
type ServiceNamespaces<'a> = FxHashMap<&'a str, BTreeSet<&'a str>>;

impl<'a> MeantNamespaces<'a> {
    /// Of a cluster that is stated: of what nobody applies a part may be anywhere.
    fn of_cluster(view: &ClusterView<'a>, namespaces: &FxHashSet<&'a str>) -> MeantNamespaces<'a> {
        if view.cluster.name.is_none() {
            return MeantNamespaces(None);
        }
        let mut by_name = ServiceNamespaces::default();
        for (_, object) in view.written().filter(|(member, _)| member.target == ApplyTarget::Local) {
            let is_one = object.id.is("", "Service") || kinds::is_helm_release(&object.id);
            if let Some(namespace) = object.id.namespace.as_deref().filter(|_| is_one) {
                by_name.entry(&object.id.name).or_default().insert(namespace);
            }
        }
        MeantNamespaces(Some((namespaces.iter().copied().collect(), by_name)))
    }

    /// The only one that has the Service of a host which is one of the cluster for sure.
    fn moved(&self, host: &ServiceHost<'_>, is_of_cluster: bool) -> Option<&'a str> {
        let (_, by_name) = self.0.as_ref()?;
        let given = host.namespace.is_none_or(namespaces::is_given);
        let known = by_name.get(host.name).filter(|known| is_of_cluster && !given && known.len() == 1);
        known.and_then(|known| known.first().copied())
    }

    /// The one that differs in a single letter; of short names and of those that count
    /// (`team-1`) another one may as well be meant, unless that one has the Service, too. A
    /// host without `.svc` may be any, so that of it the Service is always wanted.
    fn of(&self, workloads: &Workloads<'_>, host: &ServiceHost<'_>) -> Option<&'a str> {
        let ((words, _), namespace) = (self.0.as_ref()?, host.namespace?);
        let letters = |name: &str| name.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
        let has_service = |known: &str| {
            let wanted = Name::new("", "Service", Some(known), host.name);
            !matches!(workloads.target(wanted), TargetState::Absent(_))
                || workloads.is_of_release(Some(known), host.name)
        };
        let word = Word::like(namespace);
        let near = words.near(&word);
        let near = near.filter(|(distance, known)| *distance == 1 && letters(known) != letters(namespace));
        let near = near.filter(|(_, known)| match host.form {
            HostForm::Service if namespace.len() >= SHORTEST => true,
            _ => (is_slip(namespace, known) || is_replaced(namespace, known)) && has_service(known),
        });
        near.map(|(_, known)| *known).min()
    }
}

/// Whether one letter stands for another in a name that is long enough to tell.
fn is_replaced(namespace: &str, known: &str) -> bool {
    namespace.len() >= SHORTEST && namespace.len() == known.len()
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
    PlacedHost { namespace, host }: &PlacedHost<'_>,
    meant: &str,
    report: &mut Reporter<'_>,
) {
    let name = host.name;
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

/// Calls for each scalar of a tree that may hold a host; an explicit stack, since values nest
/// as they like.
fn texts<'a>(node: NodeRef<'a>, pointer: &str, then: &mut dyn FnMut(&str, NodeRef<'a>)) {
    // Most scalars hold none: no pointer is written to them.
    let is_passed = |node: NodeRef<'_>| {
        let is_long = |text: &Cow<'_, str>| text.len() > LONGEST;
        node.kind() == NodeKind::Scalar
            && known_text(node).is_none_or(|text| is_long(&text) || !may_hold(&text))
    };
    let mut stack = vec![(pointer.to_owned(), node)];
    while let Some((pointer, node)) = stack.pop() {
        let before = stack.len();
        if node.is_map() {
            for entry in node.entries().filter(|entry| !is_passed(entry.value)) {
                stack.push((crate::lang::yaml::pointer_join(&pointer, &entry.key), entry.value));
            }
        } else if node.is_seq() {
            for (index, item) in node.items().enumerate().filter(|(_, item)| !is_passed(*item)) {
                stack.push((format!("{pointer}/{index}"), item));
            }
        } else if !is_passed(node) {
            then(&pointer, node);
        }
        stack[before..].reverse();
    }
}

fn judge(
    workloads: &Workloads<'_>,
    object: &Effective,
    pointer: &str,
    location: Location,
    PlacedHost { namespace, host }: &PlacedHost<'_>,
    report: &mut Reporter<'_>,
) {
    let service = format!("Service {namespace}/{}", host.name);
    let field = dotted(pointer);
    let cause = match workloads.target(Name::new("", "Service", Some(namespace), host.name)) {
        TargetState::Here(found) => {
            let known = ports(found);
            if let Some((port, known)) = host.port.zip(known.as_deref())
                && !known.iter().any(|known| known == port)
            {
                let title = format!(
                    "{}: `{field}` names port {port} of {service}, which it does not have",
                    object.id
                );
                let finding = report.report(location, title);
                finding.field(pointer, format!("{}.{namespace}:{port}", host.name)).object(&object.id);
                other_port(finding, found, known);
            }
            return;
        }
        TargetState::Made(..) => return,
        TargetState::Absent(cause) => cause,
    };
    let is_service = host.form == HostForm::Service;
    let near = workloads.near("", "Service", Some(namespace), host.name);
    let near = near.filter(|near| match near {
        // Whatever is called almost so may be meant.
        Near::Misspelled(named) => is_service || is_slip(host.name, &named.name),
        Near::Elsewhere(_) => is_service && cause.is_none(),
        // No generator makes a Service.
        Near::Hashed(_) => false,
    });
    let is_open = cause.is_some() || workloads.has_releases() || !is_service;
    let release = || workloads.release_like(namespace, host.name);
    let release = near.is_none().then(release).flatten();
    if near.is_none() && release.is_none() && is_open {
        if !is_service {
            return;
        }
        let cause = cause.unwrap_or(UnseenCause::Opener(UnseenMakerKind::Chart));
        let what = format!("{}: {service}", object.id);
        report.not_checked(super::unchecked(cause), Some(location), what);
        return;
    }
    let finding = report.report(location, format!("{}: `{field}` names no known {service}", object.id));
    finding.claims_absence().why("the name does not resolve: connections fail").object(&object.id);
    finding.field(pointer, format!("{}.{namespace}", host.name)).label(format!("no {service}"));
    match near {
        Some(Near::Misspelled(named) | Near::Hashed(named)) => {
            finding.help(format!("did you mean `{}`?", named.name))
        }
        Some(Near::Elsewhere(named)) => {
            let namespace = named.namespace.as_deref().unwrap_or_default();
            finding.help(format!("Service {namespace}/{} is in another namespace", named.name))
        }
        None => finding.help(match release {
            Some(release) => format!("did you mean `{release}`? a HelmRelease of the namespace is called so"),
            None => format!("create {service}, or correct the name"),
        }),
    };
}

/// What is said of a port that a Service doesn't have.
fn other_port(finding: &mut Finding, service: &Effective, known: &[String]) {
    finding.why("nothing listens there: connections fail");
    finding.help(format!("its ports are {}", known.join(", ")));
    if let Some(place) = service.node.get_ref().location_at("/spec/ports") {
        finding.related(service.id.to_string(), place);
    }
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
