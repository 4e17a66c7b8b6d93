//! The Machines of a Cluster whose version changes.

use serde_json::json;

use super::in_place::{InPlaceVerdict, changed, progress, replaced_first};
use super::{Comparison, MAYBE_IN_PLACE};
use crate::lang::yaml::NodeRef;
use crate::model::EffectKind;
use crate::model::value::to_json;
use crate::simulate::cluster_api::hooks::mutation::{MutationHook, Update};
use crate::simulate::cluster_api::hooks::sequence;
use crate::simulate::cluster_api::hooks::sequence::{
    DEFER_UPGRADE, HOLD_UPGRADE_SEQUENCE, WorkerEntry as Deferrable,
};
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::rollout::RolloutEffect;
use crate::simulate::cluster_api::topology::{Class, Cluster, WorkerEntry, fields};

/// What is known of the Machines so far.
#[derive(Default)]
struct Machines {
    replaced: i64,
    changed: i64,
    /// Whether any part, of however many Machines, is replaced.
    any_replaced: bool,
    maybe_in_place: bool,
    /// Why nothing goes on, or not further than a first Machine.
    stops: Vec<String>,
    told: Vec<String>,
}

/// Says which Machines of a Cluster change for its new version, and how. `waits`: why nothing
/// is reconciled.
pub(super) fn machines(
    comparison: &Comparison<'_, '_>,
    (before, after): (&Cluster<'_>, &Cluster<'_>),
    class: Option<&Class<'_>>,
    waits: Option<&str>,
    effect: &mut RolloutEffect,
) {
    let replicas = |node: Option<NodeRef<'_>>| node.and_then(NodeRef::as_int);
    let mut machines = Machines::default();
    let namespace = after.object.namespace();
    if let Some(n) = replicas(after.object.node.at("/spec/topology/controlPlane/replicas")) {
        let kind = class.and_then(Class::control_plane).and_then(|reference| reference.kind);
        let hook = (kind.as_deref() == Some("KubeadmControlPlaneTemplate"))
            .then_some(MutationHook::CanUpdateMachine);
        let template = class.and_then(|class| {
            let object = class.template(&comparison.after.objects, &class.control_plane()?)?;
            let spec = object.node.at("/spec/template/spec")?;
            spec.at("/rollout/strategy").or_else(|| spec.at("/rolloutStrategy")).map(to_json)
        });
        let verdict = hook.map(|hook| (hook, comparison.verdict(hook, namespace)));
        machines.part("control plane", n, "one at a time", verdict, template.as_ref());
    }
    let known = before.all_workers();
    for entry in after.all_workers() {
        let name = entry.name.clone().unwrap_or_default();
        if !known.iter().any(|e| e.kind == entry.kind && e.name == entry.name) {
            continue;
        }
        let part = format!("{} {name}", entry.kind.kind());
        if is_deferred(after, &entry) {
            machines.told.push(format!("{part}: deferred by annotation, so it stays at its version"));
            continue;
        }
        if after.is_on_delete(&entry, class) {
            machines.told.push(format!("{part}: {}", fields::ON_DELETE));
            continue;
        }
        let of_entry = after.worker_fields(&entry, class);
        let strategy = super::strategy(&of_entry);
        match (entry.kind, replicas(entry.node.at("/replicas"))) {
            (WorkerKind::MachinePool, _) => {
                machines
                    .told
                    .push(format!("{part}: the infrastructure provider decides, after the control plane"));
            }
            (_, Some(n)) => {
                let hook = MutationHook::CanUpdateMachineSet;
                let verdict = Some((hook, comparison.verdict(hook, namespace)));
                machines.part(&part, n, "after the control plane", verdict, strategy.as_ref());
            }
            (_, None) => {
                machines.any_replaced = true;
                machines.told.push(format!("{part}: after the control plane"));
            }
        }
    }
    machines.finish(waits, effect);
}

impl Machines {
    fn part(
        &mut self,
        part: &str,
        machines: i64,
        when: &str,
        verdict: Option<(MutationHook, InPlaceVerdict)>,
        strategy: Option<&serde_json::Value>,
    ) {
        let count = |n: i64| if n == 1 { "1 Machine".to_owned() } else { format!("{n} Machines") };
        let replaced = format!("{part}: {}, {when}", count(machines));
        let (hook, verdict) = match verdict {
            Some((hook, verdict)) => (hook, verdict),
            None => (MutationHook::CanUpdateMachine, InPlaceVerdict::No(None)),
        };
        let in_place =
            if matches!(verdict, InPlaceVerdict::Yes(_)) { changed(hook, strategy, machines) } else { 0 };
        let told = match &verdict {
            InPlaceVerdict::Yes(update) if in_place > 0 => {
                self.changed += machines;
                let rest = if in_place < machines { ", one for a new one" } else { "" };
                if *update == Some(Update::Failure) {
                    self.stops.push("UpdateMachine fails".to_owned());
                }
                let progress = progress(*update).map(|text| format!("; {text}")).unwrap_or_default();
                format!("{part}: {in_place} of {} in place{rest}, {when}{progress}", count(machines))
            }
            InPlaceVerdict::Yes(_) => format!("{replaced}; {}", replaced_first(hook)),
            InPlaceVerdict::No(Some(why)) => format!("{replaced}; {why}"),
            InPlaceVerdict::No(None) => replaced,
            InPlaceVerdict::Maybe => {
                self.maybe_in_place = true;
                replaced
            }
            InPlaceVerdict::Fails(why) => {
                self.stops.push(why.clone());
                replaced
            }
        };
        if in_place == 0 {
            self.replaced += machines;
            self.any_replaced = true;
        }
        self.told.push(told);
    }

    fn finish(self, waits: Option<&str>, effect: &mut RolloutEffect) {
        effect.consequences.extend(self.told);
        if self.maybe_in_place {
            effect.consequences.push(MAYBE_IN_PLACE.to_owned());
        }
        if self.changed > 0 && !self.any_replaced {
            effect.effect = EffectKind::UpdatedInPlace;
        }
        effect.details.insert("machines".to_owned(), json!(self.replaced + self.changed));
        if self.changed > 0 {
            effect.details.insert("inPlace".to_owned(), json!(self.changed));
        }
        let first = self.stops.first().map(String::as_str);
        if let Some(why) = waits.or(first) {
            effect.details.insert("then".to_owned(), json!(effect.effect.name()));
            effect.effect = EffectKind::Delayed;
            effect.reason = format!("{}; {why}", effect.reason);
        }
    }
}

/// Whether the upgrade of an entry is deferred, by itself or by one before it.
pub(super) fn is_deferred(cluster: &Cluster<'_>, entry: &WorkerEntry<'_>) -> bool {
    let entries: Vec<Deferrable> = cluster
        .workers(entry.kind)
        .iter()
        .map(|e| Deferrable {
            name: e.name.clone().unwrap_or_default(),
            defers: e.has_annotation(DEFER_UPGRADE),
            holds: e.has_annotation(HOLD_UPGRADE_SEQUENCE),
        })
        .collect();
    sequence::is_deferred(&entries, entry.name.as_deref().unwrap_or_default())
}
