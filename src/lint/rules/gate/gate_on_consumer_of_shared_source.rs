//! `gate-on-consumer-of-shared-source`: some of a source's consumers wait for a
//! gate, others do not.
//! Source: flux2 pull request 3158, where maintainers wanted gates on sources
//! only, as gating consumers leaves a cluster in a mixed state.

use super::{local, title, waits};
use crate::flux::cluster::{ApplyTarget, Effective};
use crate::flux::references::{Role, references};
use crate::lint::metadata::has_hole;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
pub static RULE: Rule = Rule {
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

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let mut consumers: BTreeMap<(String, Option<String>, String), Vec<&Effective>> = BTreeMap::new();
    for (_, object) in local(view) {
        let sources = references(&object.id, object.node.get_ref());
        let is_consumer = matches!(&*object.id.kind, "Kustomization" | "HelmRelease");
        for source in sources.into_iter().filter(|reference| is_consumer && reference.role == Role::Source) {
            if let Some(name) = source.name.filter(|name| !has_hole(name) && !source.namespace_unknown) {
                consumers.entry((source.kind, source.namespace, name)).or_default().push(object);
            }
        }
    }
    for ((kind, namespace, name), sharing) in &consumers {
        let group = crate::flux::references::group_of(kind);
        let source = view.cluster.find(&ApplyTarget::Local, group, kind, namespace.as_deref(), name);
        let of_source: BTreeSet<String> = source
            .map(|member| waits(view.context.world.object(member.object)))
            .into_iter()
            .flatten()
            .map(|wait| wait.name)
            .collect();
        for object in sharing {
            let own = waits(object);
            // What the source waits for, everybody waits for.
            let names: BTreeSet<&str> =
                own.iter().map(|wait| &*wait.name).filter(|name| !of_source.contains(*name)).collect();
            let free: Vec<&&Effective> = sharing
                .iter()
                .filter(|other| {
                    let waits = waits(other);
                    !names.iter().all(|name| waits.iter().any(|wait| wait.name == **name))
                })
                .collect();
            let spec = object.node.get_ref().entries_at("/spec").find(|entry| entry.key == "gates");
            let location = spec.and_then(|entry| entry.key_location());
            let (Some(location), false, false) = (location, names.is_empty(), free.is_empty()) else {
                continue;
            };
            let target = match namespace {
                Some(namespace) => format!("{kind} {namespace}/{name}"),
                None => format!("{kind} {name}"),
            };
            let free_count = match free.len() {
                1 => "1 other that shares".into(),
                count => format!("{count} others that share"),
            };
            let finding =
                report.report(location, title(format!("{}: gated apart from its source", object.id)));
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
