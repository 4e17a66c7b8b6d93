//! `gate-on-unsupported-kind`: `spec.gates` where nothing reads it.
//! Source: the gating RFC, which gates sources and syncs; source-controller
//! `HelmRepositoryReconciler.migrationToStatic` for HelmRepositories of type oci.

use super::is_refused;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::simulate::gating::objects::{GATED_KINDS, is_gateable};

pub(crate) static RULE: Rule = Rule {
    id: "gate-on-unsupported-kind",
    group: Group::Gate,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "spec.gates on a kind that can't wait for gates",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/gate/gate-on-unsupported-kind.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    let group = view.id.group();
    let is_flux = group.ends_with(".toolkit.fluxcd.io")
        || matches!(group, "source.extensions.fluxcd.io" | "fluxcd.controlplane.io");
    if !is_flux || !view.node.items_at("/spec/gates").any(|item| item.at("/name").is_some()) {
        return;
    }
    let entry = view.node.entries_at("/spec").find(|entry| entry.key == "gates");
    let Some(location) = entry.and_then(|entry| entry.key_location()) else { return };
    if is_refused(view) {
        return;
    }
    if is_gateable(view.id) {
        let is_oci = view.node.str_at("/spec/type").as_deref() == Some("oci");
        if &*view.id.kind == "HelmRepository" && is_oci {
            report
                .report(location, format!("{}: type oci is never reconciled, so not gated", view.id))
                .level(Level::Warning)
                .why("source-controller does nothing for it; charts are fetched whatever the gate says")
                .help("gate the HelmReleases that use it")
                .object(view.id)
                .field("/spec/gates", "oci");
        }
        return;
    }
    let right_group = GATED_KINDS.iter().find(|(_, kind)| *kind == &*view.id.kind);
    let (why, help) = match right_group {
        Some((right, kind)) => (
            format!("{kind} is a kind of {right}, not of {group}: no controller reads this object"),
            format!("set apiVersion to one of {right}"),
        ),
        None => (
            "the proposal lets only Kustomizations, HelmReleases, ImageUpdateAutomations and sources wait"
                .to_string(),
            "gate the source that it uses, or the Kustomization that applies it".to_string(),
        ),
    };
    report
        .report(location, format!("{}: spec.gates has no effect here", view.id))
        .why(why)
        .help(help)
        .object(view.id)
        .field("/spec/gates", &*view.id.kind);
}
