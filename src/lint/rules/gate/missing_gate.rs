//! `missing-gate`: an object waits for a Gate that the cluster does not have.
//! Source: the gating RFC does not say what a missing gate means; it blocks here.

use super::{gates, local, waits};
use crate::lang::text::Words;
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::simulate::gating::objects::{GATE_GROUP, are_available};
use crate::world::{ApplyTarget, Effective, Lookup};
use rustc_hash::FxHashMap;

pub(crate) static RULE: Rule = Rule {
    id: "missing-gate",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an object waits for a Gate that the cluster does not have",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/missing-gate.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // Elsewhere the field itself is refused: `unknown-field`.
    if !are_available(&view.cluster.settings) {
        return;
    }
    let mut known: Option<Vec<&Effective>> = None;
    let mut named: FxHashMap<Option<&str>, Words<&str>> = FxHashMap::default();
    for (_, object) in local(view) {
        for wait in waits(object) {
            let id = &object.id;
            let namespace = id.namespace.as_deref();
            let openers = match view
                .cluster
                .lookup(&ApplyTarget::Local, Name::new(GATE_GROUP, "Gate", namespace, &wait.name))
            {
                Lookup::Found(_) | Lookup::Generated(_) => continue,
                Lookup::Missing => Vec::new(),
                Lookup::Unseen(openers) => openers,
            };
            let known = known.get_or_insert_with(|| gates(view).map(|(_, gate)| gate).collect());
            let elsewhere = known.iter().find(|gate| *gate.id.name == *wait.name);
            let beside = || known.iter().filter(|gate| gate.id.namespace.as_deref() == namespace);
            let names = named.entry(namespace);
            let near =
                names.or_insert_with(|| beside().map(|gate| &*gate.id.name).collect()).nearest(&wait.name);
            let wanted = match namespace {
                Some(namespace) => format!("{namespace}/{}", wait.name),
                None => wait.name.clone(),
            };
            if !openers.is_empty() && elsewhere.is_none() && near.is_none() {
                let what = format!("{id}: Gate {wanted}");
                report.not_checked(openers[0].cause.unchecked(), wait.node.location(), what);
                continue;
            }
            let Some(location) = wait.node.location() else { continue };
            let finding = report.report(location, format!("{id}: waits for a Gate that does not exist"));
            finding
                .claims_absence()
                .level(if openers.is_empty() { Level::Error } else { Level::Warning })
                .why(
                    "a missing gate blocks: the object is not reconciled until the Gate exists and is opened",
                )
                .label(format!("no Gate {wanted} in {}", view.cluster.label()))
                .object(id)
                .field(format!("/spec/gates/{}/name", wait.index), wanted.clone());
            match (near, elsewhere) {
                (Some(near), _) => finding.help(format!("did you mean `{near}`?")),
                (None, Some(gate)) => {
                    if let Some(place) = gate.node.get_ref().location_at("/metadata/namespace") {
                        finding.related(format!("{} is of another namespace", gate.id), place);
                    }
                    finding.help(format!("define Gate {wanted}; gates are of the object's own namespace"))
                }
                (None, None) => finding.help(format!("define Gate {wanted}, or remove the entry")),
            };
        }
    }
}
