//! `gate-on-consumer-of-shared-source`: some of a source's consumers wait for a
//! gate, others do not.
//! Source: flux2 pull request 3158, where maintainers wanted gates on sources
//! only, as gating consumers leaves a cluster in a mixed state.

use super::{Wait, local, waits};
use crate::lint::metadata::has_hole;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::references::Role;
use crate::simulate::gating::objects::are_available;
use crate::world::{ApplyTarget, Effective};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static RULE: Rule = Rule {
    id: "gate-on-consumer-of-shared-source",
    group: Group::Gate,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "some consumers of a source wait for a gate, others do not",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/gate-on-consumer-of-shared-source.md"),
    check: Check::Cluster(check),
};

/// Others that are named.
const NAMED: usize = 3;

/// An object that uses a source, and the gates that it names.
struct Consumer<'a> {
    object: &'a Effective,
    waits: Vec<Wait<'a>>,
}

/// A source: kind, namespace and name.
type SharedSource<'a> = (&'a str, Option<&'a str>, &'a str);

/// The objects that use each source of which some user is gated.
fn consumers<'a>(view: &ClusterView<'a>) -> BTreeMap<SharedSource<'a>, Vec<Consumer<'a>>> {
    let mut consumers: BTreeMap<SharedSource<'_>, Vec<Consumer<'_>>> = BTreeMap::new();
    let is_consumer = |object: &Effective| matches!(&*object.id.kind, "Kustomization" | "HelmRelease");
    for (member, object) in local(view).filter(|(_, object)| is_consumer(object)) {
        let found = view.references(member);
        for source in found.iter().filter(|reference| reference.role == Role::Source) {
            if let Some(name) =
                source.name.as_deref().filter(|name| !has_hole(name) && !source.namespace_unknown)
            {
                let consumer = Consumer { object, waits: waits(object) };
                let key = (&*source.kind, source.namespace.as_deref(), name);
                consumers.entry(key).or_default().push(consumer);
            }
        }
    }
    consumers.retain(|_, sharing| sharing.iter().any(|consumer| !consumer.waits.is_empty()));
    consumers
}

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // Elsewhere the field itself is refused: `unknown-field`.
    if !are_available(&view.cluster.settings) {
        return;
    }
    for ((kind, namespace, name), sharing) in &consumers(view) {
        let group = crate::model::references::group_of(kind);
        let source = view.cluster.find(&ApplyTarget::Local, Name::new(group, kind, *namespace, name));
        let of_source: BTreeSet<String> = source
            .map(|member| waits(view.object(member)))
            .into_iter()
            .flatten()
            .map(|wait| wait.name)
            .collect();
        for Consumer { object, waits } in sharing {
            // What the source waits for, everybody waits for.
            let names: BTreeSet<&str> =
                waits.iter().map(|wait| &*wait.name).filter(|name| !of_source.contains(*name)).collect();
            if names.is_empty() {
                continue;
            }
            let free: Vec<&Effective> = sharing
                .iter()
                .filter(|other| !names.iter().all(|name| other.waits.iter().any(|wait| wait.name == **name)))
                .map(|other| other.object)
                .collect();
            let spec = object.node.get_ref().entries_at("/spec").find(|entry| entry.key == "gates");
            let location = spec.and_then(|entry| entry.key_location());
            let (Some(location), false) = (location, free.is_empty()) else { continue };
            let target = match namespace {
                Some(namespace) => format!("{kind} {namespace}/{name}"),
                None => format!("{kind} {name}"),
            };
            let free_count = match free.len() {
                1 => "1 other that shares".into(),
                count => format!("{count} others that share"),
            };
            let finding = report.report(location, format!("{}: gated apart from its source", object.id));
            finding
                .why(format!(
                    "{free_count} {target} without the gate: while it is closed, the revisions differ, and what depends \
                     on this object waits"
                ))
                .help(format!("gate {target} instead, or all that use it, if the parts belong together"))
                .object(&object.id)
                .field("/spec/gates", names.into_iter().collect::<Vec<_>>().join(","));
            for other in free.iter().take(NAMED) {
                if let Some(place) = other.node.get_ref().location_at("/metadata/name") {
                    finding.related(format!("{} does not wait", other.id), place);
                }
            }
        }
    }
}
