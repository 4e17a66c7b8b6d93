//! `annotation-on-wrong-kind`: a key that is never read on objects of its kind.
//! Source: the readers named in `flux/keys` and `capi/keys`.

use super::{KnownKeyEntry, has_own_place_rule, is_known_kind, is_setting, known_entries, named, reading};
use crate::lang::text::with_article;
use crate::lint::metadata::title;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::keys::ValueReading;
use crate::model::kinds::{self, SuspendBy};
use crate::simulate::suspend::ANNOTATION;

pub(crate) static RULE: Rule = Rule {
    id: "annotation-on-wrong-kind",
    group: Group::Annotation,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a key that is never read on objects of its kind",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/annotation/annotation-on-wrong-kind.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for known in known_entries(view) {
        let key = known.key;
        if key.name == ANNOTATION && known.map.own && known.in_its_field() {
            never_suspended(view, &known, report);
            continue;
        }
        if !known.map.own || !known.in_its_field() || !is_setting(key) {
            continue;
        }
        let Some(location) = known.entry.key_location() else { continue };
        if key.name == PARENT_ONLY {
            if is_suspendable(view.id) && reading(known.entry, key.value) == Some(ValueReading::Effective) {
                let (level, why) = if is_surely_unapplied(view) {
                    (
                        Level::Warning,
                        "only the Kustomization that applies an object reads it, and none applies this one",
                    )
                } else {
                    (
                        Level::Info,
                        "the Kustomization that applies this object leaves it alone; the object itself goes on",
                    )
                };
                report
                    .report(location, title(view.id, "", "reconcile: disabled", " is no pause"))
                    .level(level)
                    .why(why)
                    .help("set `spec.suspend: true` to pause it")
                    .object(view.id)
                    .field(known.pointer(), &*known.entry.key);
            }
            continue;
        }
        if has_own_place_rule(key)
            || known.on_its_kind(view.id)
            || !is_known_kind(view.id)
            || matches!(reading(known.entry, key.value), Some(ValueReading::Idle))
        {
            continue;
        }
        report
            .report(location, title(view.id, "", known.short(), " is not read on this kind"))
            .why(format!(
                "{} does nothing on {}; elsewhere it {}",
                named(key),
                with_article(&view.id.kind),
                key.effect
            ))
            .help(help(key.name, view.id))
            .object(view.id)
            .field(known.pointer(), &*known.entry.key);
    }
}

/// The proposed annotation that suspends, on a kind of Flux that has no `spec.suspend`.
fn never_suspended(view: &ObjectView<'_>, known: &KnownKeyEntry<'_, '_>, report: &mut Reporter<'_>) {
    let by = kinds::of(view.id).map(|kind| kind.suspend);
    let help = match by {
        None | Some(SuspendBy::Field) => return,
        Some(SuspendBy::Annotation(key)) => format!("annotate it `{key}: disabled`"),
        Some(SuspendBy::Nothing) => "remove it: the kind has no suspension".to_owned(),
    };
    let Some(location) = known.entry.key_location() else { return };
    report
        .report(location, title(view.id, "", known.short(), " suspends nothing on this kind"))
        .level(Level::Error)
        .why(format!(
            "the suspend proposal is about kinds with spec.suspend, and {} has none",
            with_article(&view.id.kind)
        ))
        .help(help)
        .object(view.id)
        .field(known.pointer(), &*known.entry.key);
}

/// The key that speaks to the Kustomization above.
const PARENT_ONLY: &str = "kustomize.toolkit.fluxcd.io/reconcile";

/// The entry point's own Kustomization where its path does not hold it. Of other
/// orphans nobody knows whether something outside the repository applies them.
fn is_surely_unapplied(view: &ObjectView<'_>) -> bool {
    let entry_point = view.node.location().is_some_and(|at| at.file.shown().ends_with("gotk-sync.yaml"));
    // The root of a cluster is one of its objects, also where no Kustomization applies it.
    entry_point && view.memberships().all(|(_, member)| member.maker.kustomization().is_none())
}

fn is_suspendable(id: &ObjectId) -> bool {
    id.is("kustomize.toolkit.fluxcd.io", "Kustomization") || id.is("helm.toolkit.fluxcd.io", "HelmRelease")
}

fn help(key: &str, id: &ObjectId) -> &'static str {
    let machines = id.group() == "cluster.x-k8s.io" && id.kind.starts_with("Machine");
    match key {
        "event.toolkit.fluxcd.io/" if &*id.kind == "Alert" => {
            "write `spec.eventMetadata`, or annotate the objects that it watches"
        }
        "event.toolkit.fluxcd.io/" => {
            "annotate the Kustomization, HelmRelease or source that sends the events"
        }
        "helm.toolkit.fluxcd.io/driftDetection" => {
            "annotate the objects that the chart renders, or set `spec.driftDetection`"
        }
        "cluster.x-k8s.io/drain" => "put the label on the Pods, under `spec.template.metadata.labels`",
        _ if machines && key.starts_with("machine.") => {
            "put it on the Machines, under `spec.template.metadata.annotations`"
        }
        _ => "move it to the object that it is meant for, or remove it",
    }
}
