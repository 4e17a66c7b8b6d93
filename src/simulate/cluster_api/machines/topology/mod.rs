//! A managed topology before and after: its control plane and workers, what its
//! templates and patches make, what waits for an upgrade, which hooks are called.

mod called;
mod class;
mod templates;

pub(super) use called::hooks;
use serde_json::{Map, Value, json};

use super::stops::stops;
use super::upgrade::is_deferred;
use super::{COPIED, Comparison, MachineChange, NOT_COPIED, ReplacementPart, upgrade};
use crate::lang::yaml::pointer_join;
use crate::model::EffectKind;
use crate::model::value::has_unknown;
use crate::simulate::cluster_api::hooks::mutation::{MutationHook, Side, StatedAnswers};
use crate::simulate::cluster_api::hooks::simulate::{Event, VersionUpdate};
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::rollout::RolloutEffect;
use crate::simulate::cluster_api::rollout::field;
use crate::simulate::cluster_api::rollout::template::differences;
use crate::simulate::cluster_api::topology::Cluster;
use crate::simulate::cluster_api::topology::class::has_chained_upgrades;
use crate::simulate::cluster_api::topology::desired::{
    Desired, TemplatePart as Template, Worker, desired_with,
};
use crate::simulate::cluster_api::topology::fields;

const VERSION: &str = "/spec/topology/version";

/// Effects of a change on a Cluster whose topology is managed on both sides.
pub(super) fn effects(
    comparison: &Comparison<'_, '_>,
    before: &Cluster<'_>,
    after: &Cluster<'_>,
    changes: &mut Vec<MachineChange>,
) {
    let template_metadata = comparison.conditions.template_metadata;
    let stated = |side| StatedAnswers { responses: comparison.responses, side };
    let old = desired_with(*before, &comparison.before.objects, template_metadata, stated(Side::Before));
    let new = desired_with(*after, &comparison.after.objects, template_metadata, stated(Side::After));
    let stops = new.as_ref().and_then(|new| stops(comparison, new));
    let versions = before.version().zip(after.version()).filter(|(from, to)| from != to);
    if let Some((from, to)) = &versions
        && !upgraded(comparison, before, after, (from, to), stops.as_deref(), changes)
    {
        return;
    }
    if before.version().is_none() != after.version().is_none() {
        unknown_version(comparison, before, after, changes);
    }
    let (Some(old), Some(new)) = (old, new) else {
        unknown_class(comparison, before, after, changes);
        return;
    };
    let pair = WorkerPair { comparison, old: &old, new: &new, upgrades: versions.is_some(), stops };
    if pair.class_is_refused(changes) {
        return;
    }
    pair.infrastructure(changes);
    pair.control_plane(changes);
    for kind in WorkerKind::BOTH {
        pair.workers(kind, changes);
    }
}

/// The effect of another version, and its hooks. Whether the change is accepted.
fn upgraded(
    comparison: &Comparison<'_, '_>,
    before: &Cluster<'_>,
    after: &Cluster<'_>,
    (from, to): (&str, &str),
    stops: Option<&str>,
    changes: &mut Vec<MachineChange>,
) -> bool {
    let class = after.class(&comparison.after.objects);
    let minor = comparison.conditions.minor;
    let listed = class.as_ref().map(|c| c.kubernetes_versions(minor)).unwrap_or_default();
    let update = VersionUpdate {
        from,
        to,
        class_versions: &listed,
        plan_extension: has_chained_upgrades(minor)
            && class.as_ref().is_none_or(|c| c.upgrade_plan_extension(minor).is_some()),
    };
    let unchecked = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
    let unsafe_update = crate::simulate::cluster_api::topology::has_annotation(after.object.node, unchecked);
    let place = |cluster: &Cluster<'_>| cluster.object.node.location_at(VERSION);
    let mut change = MachineChange {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: RolloutEffect {
            effect: EffectKind::Rollout,
            field: VERSION.to_owned(),
            before: json!(from),
            after: json!(to),
            reason: format!("version {from} -> {to}"),
            consequences: Vec::new(),
            details: Map::new(),
        },
        base: place(before),
        head: place(after),
        via: None,
    };
    if let Some(why) = update.rejection().filter(|_| !unsafe_update) {
        change.effect.effect = EffectKind::Rejected;
        change.effect.reason = format!("the webhook rejects it: {why}");
        changes.push(change);
        return false;
    }
    // Without the class it is not known whether it plans the steps.
    let alone = VersionUpdate { class_versions: &[], plan_extension: false, ..update };
    if let (None, Some(why)) = (&class, alone.rejection().filter(|_| !unsafe_update)) {
        change.effect.consequences.push(format!(
            "its ClusterClass is not in the repository; unless it plans the steps, the webhook rejects it: {why}"
        ));
    }
    let waits = after.is_paused().then_some(PAUSED).or(stops);
    upgrade::machines(comparison, (before, after), class.as_ref(), waits, &mut change.effect);
    changes.push(change);
    hooks(comparison, Event::Upgrade, Some(before), after, changes);
    true
}

const PAUSED: &str = "the Cluster is paused, so nothing is reconciled until it is not";

/// A Cluster gets a topology, or loses the one that it has: both are refused,
/// with one way around the first.
pub(super) fn given_or_taken(
    comparison: &Comparison<'_, '_>,
    before: &Cluster<'_>,
    after: &Cluster<'_>,
    changes: &mut Vec<MachineChange>,
) {
    const WAY_AROUND: &str = "unsafe.topology.cluster.x-k8s.io/disable-update-class-name-check";
    let reason = match (before.topology(), after.topology()) {
        (Some(_), None) => "spec.topology cannot be taken away from a Cluster that has one",
        (None, Some(_))
            if !crate::simulate::cluster_api::topology::has_annotation(after.object.node, WAY_AROUND) =>
        {
            "a Cluster that was made without spec.topology cannot get one"
        }
        _ => return,
    };
    let place = |cluster: &Cluster<'_>| cluster.object.node.location_at("/spec/topology");
    changes.push(MachineChange {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: RolloutEffect {
            effect: EffectKind::Rejected,
            field: "/spec/topology".to_owned(),
            before: Value::Null,
            after: Value::Null,
            reason: format!("the webhook rejects it: {reason}"),
            consequences: Vec::new(),
            details: Map::new(),
        },
        base: place(before),
        head: place(after),
        via: None,
    });
}

/// A version on one side only.
fn unknown_version(
    comparison: &Comparison<'_, '_>,
    before: &Cluster<'_>,
    after: &Cluster<'_>,
    changes: &mut Vec<MachineChange>,
) {
    let value = |cluster: &Cluster<'_>| {
        cluster.object.node.at(VERSION).map(crate::model::value::to_json).unwrap_or_default()
    };
    changes.push(MachineChange {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: RolloutEffect {
            effect: EffectKind::Unknown,
            field: VERSION.to_owned(),
            before: value(before),
            after: value(after),
            reason: "the version is not known offline: all Machines are replaced if it is another one"
                .to_owned(),
            consequences: Vec::new(),
            details: Map::new(),
        },
        base: before.object.node.location_at(VERSION),
        head: after.object.node.location_at(VERSION),
        via: None,
    });
}

/// Without the class what a changed topology makes is not known.
fn unknown_class(
    comparison: &Comparison<'_, '_>,
    before: &Cluster<'_>,
    after: &Cluster<'_>,
    changes: &mut Vec<MachineChange>,
) {
    let json = |cluster: &Cluster<'_>| {
        let mut topology = cluster.topology().map(crate::model::value::to_json).unwrap_or_default();
        if let Value::Object(map) = &mut topology {
            map.remove("version");
        }
        topology
    };
    if json(before) == json(after) {
        return;
    }
    let place = |cluster: &Cluster<'_>| cluster.object.node.location_at("/spec/topology");
    changes.push(MachineChange {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: RolloutEffect {
            effect: EffectKind::Unknown,
            field: "/spec/topology".to_owned(),
            before: Value::Null,
            after: Value::Null,
            reason: "its ClusterClass is not in the repository, or not the only one of its name".to_owned(),
            consequences: Vec::new(),
            details: Map::new(),
        },
        base: place(before),
        head: place(after),
        via: None,
    });
}

/// The JSON Pointer of a worker's entry, and that with its name for its index.
fn entry_of(worker: &Worker<'_>) -> (String, String) {
    let pointer = worker.entry.pointer.clone();
    let list = pointer.rsplit_once('/').map_or("", |(list, _)| list);
    let name = worker.entry.name.as_deref().unwrap_or_default();
    let named = format!("{list}/{{name={name}}}");
    (pointer, named)
}

struct WorkerPair<'p, 'c, 'a> {
    comparison: &'p Comparison<'c, 'a>,
    old: &'p Desired<'p>,
    new: &'p Desired<'p>,
    upgrades: bool,
    /// Why the reconcile fails, so that nothing of the topology changes.
    stops: Option<String>,
}

impl WorkerPair<'_, '_, '_> {
    fn part<'s>(
        &self,
        target: String,
        machines: Option<i64>,
        changes: &'s mut Vec<MachineChange>,
    ) -> ReplacementPart<'s> {
        let mut part =
            ReplacementPart::new(self.comparison, self.new.cluster.object.id, &target, machines, changes);
        part.paused = self.new.cluster.is_paused().then(|| PAUSED.to_owned()).or_else(|| self.stops.clone());
        part
    }

    fn infrastructure(&self, changes: &mut Vec<MachineChange>) {
        let mut part = self.part("infrastructure cluster".to_owned(), None, changes);
        self.generated(&mut part, self.old.infrastructure.as_ref(), self.new.infrastructure.as_ref());
        part.finish();
    }

    fn control_plane(&self, changes: &mut Vec<MachineChange>) {
        let (old, new) = (&self.old.control_plane, &self.new.control_plane);
        let replicas = new.fields.get("/spec/replicas").and_then(|f| f.value.as_i64());
        let mut part = self.part(new.kind.clone(), replicas, changes);
        let entry = "/spec/topology/controlPlane".to_owned();
        part.entry = Some((entry.clone(), entry));
        if self.upgrades {
            let note = "withheld as long as a hook blocks the start of the upgrade";
            part.note = Some(note.to_owned());
        }
        let (mut before, mut after) = (old.fields.clone(), new.fields.clone());
        before.remove("/spec/version");
        after.remove("/spec/version");
        let kubeadm = new.kind == "KubeadmControlPlane" && old.kind == new.kind;
        if kubeadm {
            let spec = new.part.as_ref().and_then(Template::spec);
            part.strategy = spec
                .and_then(|spec| spec.pointer("/rollout/strategy").or(spec.get("rolloutStrategy")))
                .cloned();
            part.ask(self.comparison, MutationHook::CanUpdateMachine);
        }
        let stacked = new.part.as_ref().and_then(Template::spec).is_some_and(|spec| {
            spec.pointer("/kubeadmConfigSpec/clusterConfiguration/etcd/external").is_none()
                && !has_unknown(spec)
        });
        part.fields(&before, &after, |name, old, new| match kubeadm {
            true => field::kubeadm_control_plane(name, old, new, stacked),
            false => field::control_plane(name, new),
        });
        match (&old.machine_metadata, &new.machine_metadata) {
            (Some(before), Some(after)) => part.metadata(before, after, COPIED),
            _ => part.metadata(&old.metadata, &new.metadata, NOT_COPIED),
        }
        self.template(&mut part, "infrastructure", old.machines.as_ref(), new.machines.as_ref());
        if let (true, Some(before), Some(after)) = (kubeadm, &old.part, &new.part) {
            let spec = |part: &Template| part.spec().and_then(|s| s.get("kubeadmConfigSpec")).cloned();
            let version = self.new.cluster.version().unwrap_or_default();
            let specs = (spec(before).unwrap_or_default(), spec(after).unwrap_or_default());
            let migrated = before.api_version != after.api_version;
            let place = "/spec/template/spec/kubeadmConfigSpec";
            let first = differences(&specs.0, &specs.1).into_iter().next().unwrap_or_default();
            let at = first.iter().fold(place.to_owned(), |place, key| pointer_join(&place, key));
            part.origin = Some(self.origin(before, after, &at));
            let cause = self.cause(before, after, &at);
            part.kubeadm(specs, migrated, &version, "/spec/kubeadmConfigSpec", cause);
            part.origin = None;
            self.marks(&mut part, before, after);
        } else {
            self.generated(&mut part, old.part.as_ref(), new.part.as_ref());
        }
        part.finish();
    }

    fn workers(&self, kind: WorkerKind, changes: &mut Vec<MachineChange>) {
        let of = |desired: &Desired<'_>| -> Vec<String> {
            let entries = desired.workers.iter().filter(|w| w.entry.kind == kind);
            entries.filter_map(|w| w.entry.name.clone()).collect()
        };
        let (before, after) = (of(self.old), of(self.new));
        // An entry whose name is not known may be any.
        let unnamed = |desired: &Desired<'_>| {
            desired.workers.iter().any(|w| w.entry.kind == kind && w.entry.name.is_none())
        };
        if unnamed(self.old) || unnamed(self.new) {
            let mut part = self.part(format!("{}s", kind.kind()), None, changes);
            let list = format!("/spec/topology/workers/{}", kind.list());
            let place = |desired: &Desired<'_>| desired.cluster.object.node.location_at(&list);
            let names = |of: &[String]| json!(of);
            if before != after {
                let judgement = (EffectKind::Unknown, "the name of an entry is not known offline");
                let places = (place(self.old), place(self.new));
                part.push(judgement, list.clone(), (names(&before), names(&after)), places, true);
            }
            for name in &before {
                if let (Some(old), Some(new)) = (self.old.worker(kind, name), self.new.worker(kind, name)) {
                    self.worker(old, new, part.changes);
                }
            }
            return;
        }
        let added: Vec<&String> = after.iter().filter(|name| !before.contains(name)).collect();
        for name in &before {
            let Some(old) = self.old.worker(kind, name) else { continue };
            match self.new.worker(kind, name) {
                Some(new) => self.worker(old, new, changes),
                None => self.gone(old, name, &added, changes),
            }
        }
        for name in added {
            let Some(new) = self.new.worker(kind, name) else { continue };
            let replicas = new.fields.get("/spec/replicas").map(|f| f.value.clone()).unwrap_or_default();
            let mut part = self.part(format!("{} {name}", kind.kind()), replicas.as_i64(), changes);
            part.entry = Some(entry_of(new));
            self.hold(&mut part);
            let judgement = (EffectKind::Scale, "the entry is new: it is created with its Machines");
            let places = (None, new.entry.node.location_at("/name"));
            part.push(judgement, new.entry.pointer.clone(), (Value::Null, replicas), places, true);
        }
    }

    /// Deletion waits for nothing; creation and everything else does.
    fn hold(&self, part: &mut ReplacementPart<'_>) {
        if self.upgrades {
            part.held = Some("withheld until the control plane is upgraded and no hook blocks".to_owned());
        }
    }

    fn gone(&self, old: &Worker<'_>, name: &str, added: &[&String], changes: &mut Vec<MachineChange>) {
        let kind = old.entry.kind.kind();
        let replicas = old.fields.get("/spec/replicas").map(|f| f.value.clone()).unwrap_or_default();
        let mut part = self.part(format!("{kind} {name}"), None, changes);
        part.entry = Some(entry_of(old));
        let judgement = (EffectKind::Scale, "the entry is gone: it is deleted with its Machines, at once");
        let places = (old.entry.node.location_at("/name"), None);
        part.push(judgement, old.entry.pointer.clone(), (replicas.clone(), json!(0)), places, false);
        let Some(change) = part.changes.last_mut() else { return };
        if let Some(machines) = replicas.as_i64() {
            change.effect.details.insert("machines".to_owned(), json!(machines));
            change.effect.details.insert("deleted".to_owned(), json!(true));
        }
        if self.upgrades && !added.is_empty() {
            change.effect.details.insert("capacityLost".to_owned(), json!(true));
            change.effect.consequences.push(format!(
                "its capacity is lost until the upgrade lets {} be created",
                added.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
            ));
        }
    }

    fn worker(&self, old: &Worker<'_>, new: &Worker<'_>, changes: &mut Vec<MachineChange>) {
        let kind = new.entry.kind.kind();
        let name = new.entry.name.as_deref().unwrap_or_default();
        let replicas = new.fields.get("/spec/replicas").and_then(|f| f.value.as_i64());
        let mut part = self.part(format!("{kind} {name}"), replicas, changes);
        part.entry = Some(entry_of(new));
        self.hold(&mut part);
        if new.entry.kind == WorkerKind::MachineDeployment {
            part.on_delete = fields::is_on_delete(&new.fields);
            part.strategy = super::strategy(&new.fields);
            part.ask(self.comparison, MutationHook::CanUpdateMachineSet);
        }
        let (mut before, mut after) = (old.fields.clone(), new.fields.clone());
        before.remove("/spec/template/spec/version");
        after.remove("/spec/template/spec/version");
        part.fields(&before, &after, |field, _, value| field::worker(kind, field, value));
        part.metadata(&old.metadata, &new.metadata, COPIED);
        self.deferral(&mut part, old, new);
        match new.entry.kind {
            WorkerKind::MachineDeployment => {
                self.template(
                    &mut part,
                    "infrastructure",
                    old.infrastructure.as_ref(),
                    new.infrastructure.as_ref(),
                );
                self.template(&mut part, "bootstrap", old.bootstrap.as_ref(), new.bootstrap.as_ref());
            }
            WorkerKind::MachinePool => {
                self.generated(&mut part, old.infrastructure.as_ref(), new.infrastructure.as_ref());
                self.generated(&mut part, old.bootstrap.as_ref(), new.bootstrap.as_ref());
            }
        }
        part.finish();
    }

    /// Annotations that hold back an upgrade, which reach no object.
    fn deferral(&self, part: &mut ReplacementPart<'_>, old: &Worker<'_>, new: &Worker<'_>) {
        let was = is_deferred(&self.old.cluster, &old.entry);
        let is = is_deferred(&self.new.cluster, &new.entry);
        let judgement = match (was, is) {
            (false, true) => (EffectKind::ObjectOnly, "its upgrades are deferred from now on"),
            // Whether it is behind is known in the cluster only.
            (true, false) => (
                EffectKind::Unknown,
                "its upgrade is no longer deferred: Machines are replaced now if it is behind the topology's version",
            ),
            _ => return,
        };
        let pointer = format!("{}/metadata/annotations", new.entry.pointer);
        let places = (
            self.old.cluster.object.node.location_at(&format!("{}/metadata/annotations", old.entry.pointer)),
            self.new.cluster.object.node.location_at(&pointer),
        );
        part.push(judgement, pointer, (json!(was), json!(is)), places, false);
    }
}
