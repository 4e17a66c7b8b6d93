//! `self-gated-gate`: whatever applies a Gate waits for that very gate.
//! Source: the gating RFC, in which a gated Kustomization is not reconciled and
//! a gated source not fetched; kustomize-controller applies Gates like anything.

use super::{Wait, full_name, gates, waits};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::Name;
use crate::model::kinds::SOURCE;
use crate::simulate::gating::objects::are_available;
use crate::world::{Applied, ApplyTarget, Effective};

pub(crate) static RULE: Rule = Rule {
    id: "self-gated-gate",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "the Kustomization that applies a Gate waits for that gate",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/self-gated-gate.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // Elsewhere the field itself is refused: `unknown-field`.
    if !are_available(&view.cluster.settings) {
        return;
    }
    for (member, gate) in gates(view) {
        let Some(applied) = member.maker.kustomization().map(|index| &view.cluster.applied[index as usize])
        else {
            continue;
        };
        let own = blockers(view, applied)
            .into_iter()
            .find(|wait| wait.object.id.namespace == gate.id.namespace && *wait.name == *gate.id.name);
        let Some(wait) = own else { continue };
        let Some(location) = wait.node.location() else { continue };
        let closed = !is_opened_by_default(gate);
        let (level, when) = if closed {
            (Level::Error, "while it is closed, by default or not there yet,")
        } else {
            (Level::Warning, "once it is closed,")
        };
        let how = if wait.object.id == applied.id {
            format!("{} applies the gate", applied.id)
        } else {
            format!("{} applies the gate from this source", applied.id)
        };
        let finding = report.report(location, format!("{}: gated by a gate that it brings", wait.object.id));
        finding
            .level(level)
            .why(format!("{how}: {when} a request to open it that is committed to Git never arrives"))
            .help("apply the Gate with a Kustomization, from a source, that does not wait for it")
            .object(&wait.object.id)
            .field(format!("/spec/gates/{}/name", wait.index), full_name(&gate.id));
        if let Some(place) = gate.node.get_ref().location_at("/metadata/name") {
            finding.related(gate.id.to_string(), place);
        }
    }
}

/// What holds a Kustomization back: the gates that it waits for, and those that
/// its source waits for.
pub(super) fn blockers<'a>(view: &ClusterView<'a>, applied: &'a Applied) -> Vec<Wait<'a>> {
    let world = view.world();
    let find = |name: Name<'_>| -> Option<&'a Effective> {
        let member = view.cluster.find(&ApplyTarget::Local, name)?;
        Some(world.object(member.object))
    };
    let id = &applied.id;
    let object = find(id.named());
    let reference = applied.node.get_ref().at("/spec/sourceRef");
    let source = reference.and_then(|reference| {
        let namespace = reference.str_at("/namespace");
        let namespace = namespace.as_deref().or(id.namespace.as_deref());
        find(Name::new(SOURCE, &reference.str_at("/kind")?, namespace, &reference.str_at("/name")?))
    });
    object.into_iter().chain(source).flat_map(waits).collect()
}

/// Such a gate opens by itself when its window is over.
pub(super) fn is_opened_by_default(gate: &Effective) -> bool {
    gate.node.get_ref().str_at("/spec/default").as_deref() == Some("opened")
}
