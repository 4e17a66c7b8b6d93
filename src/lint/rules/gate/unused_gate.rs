//! `unused-gate`: a Gate that nothing waits for.
//! Source: the gating RFC; a gate holds back only what names it.

use super::{gates, has_unknown_wait, local, waits};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Unchecked;
use crate::simulate::gating::objects::GATED_KINDS;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "unused-gate",
    group: Group::Gate,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a Gate that nothing waits for",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/unused-gate.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let mut used = BTreeSet::new();
    let mut unknown = BTreeSet::new();
    for (_, object) in local(view) {
        let namespace = object.id.namespace.as_deref();
        used.extend(waits(object).into_iter().map(|wait| (namespace, wait.name)));
        if has_unknown_wait(object) {
            unknown.insert(namespace);
        }
    }
    for (_, gate) in gates(view) {
        let namespace = gate.id.namespace.as_deref();
        if used.contains(&(namespace, gate.id.name.to_string())) {
            continue;
        }
        let complete = |(group, kind): &(&str, &str)| view.cluster.is_complete(group, kind, namespace);
        if unknown.contains(&namespace) || !GATED_KINDS.iter().all(complete) {
            let place = gate.node.get_ref().location();
            report.not_checked(Unchecked::UnseenGateUsers, place, gate.id.to_string());
            continue;
        }
        let Some(location) = gate.node.get_ref().location_at("/metadata/name") else { continue };
        report
            .report(location, format!("{}: nothing waits for this gate", gate.id))
            .why("opening and closing it changes nothing: no object of its namespace names it in spec.gates")
            .help("name it in spec.gates of what it is to hold back, or remove it")
            .object(&gate.id)
            .field("/metadata/name", &*gate.id.name);
    }
}
