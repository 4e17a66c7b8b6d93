//! A managed topology before and after: its control plane and workers, what its
//! templates and patches make, what waits for an upgrade, which hooks are called.

use serde_json::{Map, Value, json};

use super::stops::stops;
use super::upgrade::is_deferred;
use super::{COPIED, Change, Comparison, MIGRATED, NOT_COPIED, Origin, Part, is_on_both_sides, upgrade};
use crate::lang::yaml::{Location, NodeRef, pointer_join, pointer_to};
use crate::model::EffectKind;
use crate::model::value::has_unknown;
use crate::simulate::cluster_api::hooks::mutation::{MutationHook, Side, Stated};
use crate::simulate::cluster_api::hooks::selection::called;
use crate::simulate::cluster_api::hooks::simulate::{
    Event, Request, RuntimeSdk, State, StepKind, VersionUpdate, simulate,
};
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::rollout::field;
use crate::simulate::cluster_api::rollout::template::{
    TemplateOutcome, differences, summarise, template_outcome,
};
use crate::simulate::cluster_api::rollout::{Effect, kubeadm_config};
use crate::simulate::cluster_api::topology::class::has_chained_upgrades;
use crate::simulate::cluster_api::topology::desired::{Desired, Part as Template, Worker, desired_with};
use crate::simulate::cluster_api::topology::fields;
use crate::simulate::cluster_api::topology::patches::{is_external, writer};
use crate::simulate::cluster_api::topology::{Class, Cluster, TemplateRef, text_at};
use std::collections::BTreeSet;

const VERSION: &str = "/spec/topology/version";

/// A template that differs only in what an extension is asked about: `GeneratePatches` answers
/// with any patch of its spec, or with none (cluster-api
/// `core/reconcilers/topology/cluster/patches/engine.go`, `Apply`).
const EXTERNAL: (EffectKind, &str) = (
    EffectKind::ProviderDefined,
    "what the extension answers decides whether the template changes, and so whether Machines roll",
);

/// The same, of a template for which one answer is stated.
const OTHER_REQUEST: (EffectKind, &str) = (
    EffectKind::ProviderDefined,
    "the stated answer of the extension was to one request, and this is another: \
     GeneratePatches=BEFORE..AFTER states both",
);

/// Effects of a change on a Cluster whose topology is managed on both sides.
pub(super) fn effects(
    comparison: &Comparison<'_, '_>,
    before: &Cluster<'_>,
    after: &Cluster<'_>,
    changes: &mut Vec<Change>,
) {
    let template_metadata = comparison.conditions.template_metadata;
    let stated = |side| Stated { responses: comparison.responses, side };
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
    let pair = Pair { comparison, old: &old, new: &new, upgrades: versions.is_some(), stops };
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
    changes: &mut Vec<Change>,
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
    let mut change = Change {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: Effect {
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
    changes: &mut Vec<Change>,
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
    changes.push(Change {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: Effect {
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

/// The hooks that an event of a Cluster calls. `before` is absent for a new
/// Cluster; for a deleted one both are what it was.
pub(super) fn hooks(
    comparison: &Comparison<'_, '_>,
    event: Event,
    before: Option<&Cluster<'_>>,
    after: &Cluster<'_>,
    changes: &mut Vec<Change>,
) {
    if !comparison.conditions.runtime_sdk {
        return;
    }
    let upgrade = event == Event::Upgrade;
    let from = before.and_then(Cluster::version).filter(|_| upgrade);
    let to = after.version().filter(|_| upgrade);
    let objects = match event {
        Event::Delete => &comparison.before.objects,
        _ => &comparison.after.objects,
    };
    let called_for = called(&comparison.conditions.extensions, objects, after.object.namespace());
    // What makes it sure that hooks are called at all is an extension that is.
    if called_for.none_selects && !comparison.conditions.runtime_sdk_stated {
        return;
    }
    let request = Request {
        event,
        from: from.clone(),
        to: to.clone(),
        respond: Default::default(),
        handlers: called_for.handlers,
        minor: comparison.conditions.minor,
        unreachable: Default::default(),
        ignoring: called_for.ignoring,
        runtime_sdk: RuntimeSdk::On,
    };
    let Ok(simulation) = simulate(after, objects, &request) else { return };
    let mut called = Vec::new();
    let mut answering = BTreeSet::new();
    let mut blocking: Vec<&str> = Vec::new();
    let mut blocked = None;
    for step in &simulation.steps {
        let StepKind::Hook(hook) = step.kind else { continue };
        // Nothing answers it.
        if step.handlers.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        answering.extend(step.handlers.clone().unwrap_or_default());
        called.push(json!({
            "hook": hook.name(), "fromVersion": step.from, "toVersion": step.to, "mayBlock": step.blocking,
        }));
        if step.blocking && !blocking.contains(&hook.name()) {
            blocking.push(hook.name());
        }
        if step.state == State::Blocked {
            blocked = Some(step.reason.clone());
        }
    }
    if called.is_empty() {
        return;
    }
    let mut consequences = Vec::new();
    if !blocking.is_empty() {
        consequences.push(format!("may block: {}", blocking.join(", ")));
    }
    if let Some(reason) = blocked {
        consequences.insert(0, format!("it is blocked from the start: {reason}"));
        consequences.extend(simulation.withheld);
    }
    consequences.push(match answering.is_empty() {
        true => "extensions are unknown offline".to_owned(),
        false => format!("answered by {}", Vec::from_iter(answering).join(", ")),
    });
    consequences.extend(called_for.notes);
    let (field, reason) = match event {
        Event::Create => ("/spec/topology", "lifecycle hooks of its creation are called in order"),
        Event::Upgrade => (VERSION, "lifecycle hooks of the upgrade are called in order"),
        Event::Delete => ("/spec/topology", "a lifecycle hook is called before it is deleted"),
    };
    let place = |cluster: &Cluster<'_>| cluster.object.node.location_at(field);
    changes.push(Change {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: Effect {
            effect: EffectKind::HooksCalled,
            field: field.to_owned(),
            before: json!(from),
            after: json!(to),
            reason: reason.to_owned(),
            consequences,
            details: Map::from_iter([("hooks".to_owned(), json!(called))]),
        },
        base: before.and_then(place),
        head: place(after).filter(|_| event != Event::Delete),
        via: None,
    });
}

/// A version on one side only.
fn unknown_version(
    comparison: &Comparison<'_, '_>,
    before: &Cluster<'_>,
    after: &Cluster<'_>,
    changes: &mut Vec<Change>,
) {
    let value = |cluster: &Cluster<'_>| {
        cluster.object.node.at(VERSION).map(crate::model::value::to_json).unwrap_or_default()
    };
    changes.push(Change {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: Effect {
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
    changes: &mut Vec<Change>,
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
    changes.push(Change {
        object: after.object.id.clone(),
        target: comparison.after.target.clone(),
        effect: Effect {
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

struct Pair<'p, 'c, 'a> {
    comparison: &'p Comparison<'c, 'a>,
    old: &'p Desired<'p>,
    new: &'p Desired<'p>,
    upgrades: bool,
    /// Why the reconcile fails, so that nothing of the topology changes.
    stops: Option<String>,
}

impl Pair<'_, '_, '_> {
    fn part<'s>(&self, target: String, machines: Option<i64>, changes: &'s mut Vec<Change>) -> Part<'s> {
        let mut part = Part::new(self.comparison, self.new.cluster.object.id, &target, machines, changes);
        part.paused = self.new.cluster.is_paused().then(|| PAUSED.to_owned()).or_else(|| self.stops.clone());
        part
    }

    /// Whether the webhooks refuse what the Cluster's class becomes, by another
    /// name or by an edit (`ClusterClassesAreCompatible`, and the classes of
    /// workers that are in use). The effect says which part.
    fn class_is_refused(&self, changes: &mut Vec<Change>) -> bool {
        let (old, new) = (&self.old.class, &self.new.class);
        let rebased =
            (old.object.name(), old.object.namespace()) != (new.object.name(), new.object.namespace());
        let count = changes.len();
        let subject = if rebased { self.new.cluster.object } else { new.object };
        let mut refuse = |field: String, values: (Value, Value), reason: String| {
            let (base, head) = if rebased {
                let pointer = |cluster: &Cluster<'_>| {
                    let pointer = cluster.class_ref().map(|class| class.pointer).unwrap_or_default();
                    cluster.object.node.location_at(pointer)
                };
                (pointer(&self.old.cluster), pointer(&self.new.cluster))
            } else {
                (old.object.node.location_at(&field), new.object.node.location_at(&field))
            };
            changes.push(Change {
                object: subject.id.clone(),
                target: self.comparison.after.target.clone(),
                effect: Effect {
                    effect: EffectKind::Rejected,
                    field: if rebased { "/spec/topology/classRef".to_owned() } else { field },
                    before: values.0,
                    after: values.1,
                    reason: format!("the webhook rejects it: {reason}"),
                    consequences: Vec::new(),
                    details: Map::from_iter([(
                        "cluster".to_owned(),
                        json!(self.new.cluster.object.id.to_string()),
                    )]),
                },
                base,
                head,
                via: None,
            });
        };
        let mut compare =
            |what: &str, field: &str, before: Option<TemplateRef<'_>>, after: Option<TemplateRef<'_>>| {
                let unknown =
                    |r: &Option<TemplateRef<'_>>| r.as_ref().is_some_and(|r| r.group_kind().is_none());
                if unknown(&before) || unknown(&after) {
                    return;
                }
                let kind = |r: &Option<TemplateRef<'_>>| r.as_ref().and_then(TemplateRef::group_kind);
                let (before, after) = (kind(&before), kind(&after));
                if before != after {
                    let reason = format!("group and kind of {what} cannot change");
                    refuse(field.to_owned(), (json!(before), json!(after)), reason);
                }
            };
        compare("the infrastructure", "/spec/infrastructure", old.infrastructure(), new.infrastructure());
        compare("the control plane", "/spec/controlPlane", old.control_plane(), new.control_plane());
        compare(
            "the control plane's machineInfrastructure",
            "/spec/controlPlane/machineInfrastructure",
            old.control_plane_machines(),
            new.control_plane_machines(),
        );
        for kind in WorkerKind::BOTH {
            for before in old.workers(kind) {
                let Some(name) = &before.class else { continue };
                let Some(after) = new.worker(kind, name) else { continue };
                let what = format!("the infrastructure of worker class {name}");
                compare(&what, &after.pointer, before.infrastructure, after.infrastructure);
            }
        }
        for entry in self.new.cluster.all_workers() {
            let Some(name) = &entry.class else { continue };
            let known = |class: &Class<'_>| {
                // A class name that is not known may be this one.
                class.workers(entry.kind).iter().any(|w| w.class.as_ref().is_none_or(|class| class == name))
            };
            if known(old) && !known(new) {
                let list = format!("/spec/workers/{}", entry.kind.list());
                let reason = format!("{} class {name} is in use and not in the new class", entry.kind.kind());
                refuse(list, (json!(name), Value::Null), reason);
            }
        }
        changes.len() > count
    }

    fn infrastructure(&self, changes: &mut Vec<Change>) {
        let mut part = self.part("infrastructure cluster".to_owned(), None, changes);
        self.generated(&mut part, self.old.infrastructure.as_ref(), self.new.infrastructure.as_ref());
        part.finish();
    }

    fn control_plane(&self, changes: &mut Vec<Change>) {
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

    fn workers(&self, kind: WorkerKind, changes: &mut Vec<Change>) {
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
    fn hold(&self, part: &mut Part<'_>) {
        if self.upgrades {
            part.held = Some("withheld until the control plane is upgraded and no hook blocks".to_owned());
        }
    }

    fn gone(&self, old: &Worker<'_>, name: &str, added: &[&String], changes: &mut Vec<Change>) {
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

    fn worker(&self, old: &Worker<'_>, new: &Worker<'_>, changes: &mut Vec<Change>) {
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
    fn deferral(&self, part: &mut Part<'_>, old: &Worker<'_>, new: &Worker<'_>) {
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

    /// A machine or bootstrap template, of which the Cluster has a clone.
    fn template(&self, part: &mut Part<'_>, what: &str, old: Option<&Template>, new: Option<&Template>) {
        let (Some(old), Some(new)) = (old, new) else {
            self.unseen(part, what, old.is_some() != new.is_some());
            return;
        };
        if old.group_kind != new.group_kind {
            let judgement = match what {
                "bootstrap" => (EffectKind::Rollout, "another kind of bootstrap template"),
                _ => (EffectKind::Rejected, "group and kind of infrastructure templates cannot change"),
            };
            let values = (json!(old.group_kind), json!(new.group_kind));
            part.push(judgement, format!("/{what}"), values, self.cause(old, new, ""), true);
            return;
        }
        let migrated = old.api_version != new.api_version;
        let (mut before, mut after) = (old.template.clone(), new.template.clone());
        if migrated && what == "bootstrap" {
            for template in [&mut before, &mut after] {
                if let Some(spec) = template.pointer_mut("/spec/template/spec") {
                    *spec = kubeadm_config::converted(spec);
                }
            }
        }
        let paths = differences(&before, &after);
        let dotted: Vec<String> = paths.iter().map(|path| path.join(".")).collect();
        let known = |path: &Vec<String>| {
            let pointer = pointer_to(path);
            let value = |t: &Value| t.pointer(&pointer).cloned().unwrap_or_default();
            !has_unknown(&value(&before))
                && !has_unknown(&value(&after))
                && (!migrated || is_on_both_sides(&before, &after, path))
        };
        let is_spec = |path: &&Vec<String>| path.first().is_some_and(|s| s == "spec");
        let known_spec = paths.iter().find(|path| is_spec(path) && known(path));
        let Some(first) = known_spec.or_else(|| paths.iter().find(is_spec)).or(paths.first()) else { return };
        let pointer = pointer_to(first);
        let at = |template: &Value| template.pointer(&pointer).cloned().unwrap_or_default();
        let values = (at(&before), at(&after));
        let judgement = match template_outcome(summarise(dotted.iter().map(String::as_str), &[])) {
            TemplateOutcome::Unchanged => return,
            TemplateOutcome::PatchedInPlace => {
                (EffectKind::ObjectOnly, "only metadata of the clone changes; no Machine is replaced")
            }
            TemplateOutcome::Rotated if known_spec.is_some() => {
                (EffectKind::Rollout, "the clone of the template is replaced, so Machines roll")
            }
            // Its Machines are replaced for the version anyway.
            TemplateOutcome::Rotated if self.upgrades => return,
            TemplateOutcome::Rotated if migrated => MIGRATED,
            TemplateOutcome::Rotated if paths.iter().all(|path| is_external(path)) => self.external(),
            TemplateOutcome::Rotated => (
                EffectKind::Unknown,
                "a Go template, an extension or a value that is not known offline may change the template, and so roll Machines",
            ),
        };
        part.origin = Some(self.origin(old, new, &pointer));
        part.push(judgement, format!("/{what}{pointer}"), values, self.cause(old, new, &pointer), true);
    }

    /// What is to be said where only the answer of an extension is not known.
    fn external(&self) -> (EffectKind, &'static str) {
        if self.comparison.responses.generate_patches.is_empty() { EXTERNAL } else { OTHER_REQUEST }
    }

    /// What an extension may do to a KubeadmControlPlane, whose fields are judged one by one.
    fn marks(&self, part: &mut Part<'_>, old: &Template, new: &Template) {
        if self.upgrades {
            return;
        }
        let paths = differences(&old.template, &new.template);
        let Some(mark) = paths.iter().find(|path| is_external(path)) else { return };
        let pointer = pointer_to(mark);
        let at = |template: &Template| template.template.pointer(&pointer).cloned().unwrap_or_default();
        part.origin = Some(self.origin(old, new, &pointer));
        let cause = self.cause(old, new, &pointer);
        part.push(self.external(), format!("/controlPlane{pointer}"), (at(old), at(new)), cause, true);
    }

    /// The template behind a difference, and the patch that makes it.
    fn origin(&self, old: &Template, new: &Template, pointer: &str) -> Origin {
        let operation = |class: &Class<'_>, part: &Template| {
            let written = writer(&part.written, pointer)?.pointer.clone();
            let patch = written.split('/').take(4).collect::<Vec<_>>().join("/");
            let name = text_at(class.object.node, &[&format!("{patch}/name")]).unwrap_or_default();
            Some((name, class.object.node.location_at(&written)))
        };
        Origin {
            template: (
                new.template_kind.clone(),
                format!("{}/{}", self.new.class.object.namespace(), new.template_name),
            ),
            patch: operation(&self.new.class, new)
                .or_else(|| operation(&self.old.class, old).map(|(name, _)| (name, None))),
        }
    }

    /// A template of an object that is patched in place.
    fn generated(&self, part: &mut Part<'_>, old: Option<&Template>, new: Option<&Template>) {
        let (Some(old), Some(new)) = (old, new) else { return };
        let paths = differences(&old.template, &new.template);
        let Some(first) = paths.first() else { return };
        let pointer = pointer_to(first);
        let at = |template: &Value| template.pointer(&pointer).cloned().unwrap_or_default();
        let values = (at(&old.template), at(&new.template));
        let judgement = match paths.iter().all(|path| is_external(path)) {
            true => self.external(),
            false => (
                EffectKind::ProviderDefined,
                "the object is patched in place; its provider decides what follows",
            ),
        };
        part.origin = Some(self.origin(old, new, &pointer));
        let cause = self.cause(old, new, &pointer);
        part.push(judgement, pointer, values, cause, true);
    }

    fn unseen(&self, part: &mut Part<'_>, what: &str, changed: bool) {
        if changed {
            let judgement = (EffectKind::Unknown, "its template is not in the repository on one side");
            let list = "/spec/topology";
            let places = (
                self.old.cluster.object.node.location_at(list),
                self.new.cluster.object.node.location_at(list),
            );
            part.push(judgement, format!("/{what}"), (Value::Null, Value::Null), places, true);
        }
    }

    /// What changed among the sources of templates: a variable, the class, or a
    /// template; the first of them that has to do with the place of the template.
    fn cause(
        &self,
        before: &Template,
        after: &Template,
        place: &str,
    ) -> (Option<Location>, Option<Location>) {
        let (old, new) = (&self.old.cluster.object, &self.new.cluster.object);
        let (old_class, new_class) = (&self.old.class, &self.new.class);
        fn operation<'a>(class: &Class<'a>, part: &Template, place: &str) -> Option<(NodeRef<'a>, String)> {
            writer(&part.written, place).map(|written| (class.object.node, written.pointer.clone()))
        }
        let operations = [operation(old_class, before, place), operation(new_class, after, place)];
        let text = operations.iter().flatten().filter_map(|(class, pointer)| {
            let patch = pointer.split('/').take(4).collect::<Vec<_>>().join("/");
            Some(format!("{:?} {:?}", json(class.at(pointer))?, class.str_at(&format!("{patch}/enabledIf"))))
        });
        let text: String = text.collect();
        let mut lists: Vec<String> = ["variables", "controlPlane/variables/overrides", "classRef", "class"]
            .map(|name| format!("/spec/topology/{name}"))
            .to_vec();
        for entry in self.new.cluster.all_workers() {
            lists.push(format!("{}/variables/overrides", entry.pointer));
            lists.push(format!("{}/class", entry.pointer));
        }
        let differing = |list: &&String| json(old.node.at(list)) != json(new.node.at(list));
        let lists: Vec<&String> = lists.iter().filter(differing).collect();
        if let Some(places) = lists.iter().find_map(|list| mentioned(old.node, new.node, list, &text)) {
            return places;
        }
        if let Some(list) = lists.first() {
            return first_difference(old.node, new.node, list);
        }
        let [base, head] = &operations;
        let written =
            |one: &Option<(NodeRef<'_>, String)>| json(one.as_ref().and_then(|(class, at)| class.at(at)));
        if written(base) != written(head) {
            let location = |one: &Option<(NodeRef<'_>, String)>| {
                one.as_ref().and_then(|(class, at)| class.location_at(at))
            };
            return (location(base), location(head));
        }
        for pointer in ["/spec/patches", "/spec/variables", "/spec"] {
            let (before, after) = (old_class.object.node.at(pointer), new_class.object.node.at(pointer));
            if json(before) != json(after) {
                return first_difference(old_class.object.node, new_class.object.node, pointer);
            }
        }
        self.changed_template()
    }

    /// The first template of the class that is another.
    fn changed_template(&self) -> (Option<Location>, Option<Location>) {
        let before = &self.comparison.before.objects;
        for reference in self.new.class.templates() {
            let Some(after) = self.new.class.template(&self.comparison.after.objects, &reference) else {
                continue;
            };
            let old = self.old.class.template(before, &reference);
            if old.map(|o| json(o.node.at("/spec"))) != Some(json(after.node.at("/spec"))) {
                return (old.and_then(|o| o.node.location_at("/spec")), after.node.location_at("/spec"));
            }
        }
        (None, None)
    }
}

/// The places of the first variable that differs and that the text of a patch names.
fn mentioned(
    old: NodeRef<'_>,
    new: NodeRef<'_>,
    list: &str,
    patch: &str,
) -> Option<(Option<Location>, Option<Location>)> {
    let names: BTreeSet<String> = [old, new]
        .iter()
        .flat_map(|node| node.items_at(list))
        .filter_map(|item| text_at(item, &["/name"]))
        .collect();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let is_named = |name: &String| patch.split(|c| !is_part(c)).any(|word| word == name);
    fn of<'a>(node: NodeRef<'a>, list: &str, name: &str) -> Option<NodeRef<'a>> {
        node.items_at(list).find(|item| text_at(*item, &["/name"]).as_deref() == Some(name))
    }
    names.iter().filter(|name| is_named(name)).find_map(|name| {
        let (before, after) = (of(old, list, name), of(new, list, name));
        let location = |node: Option<NodeRef<'_>>| node.and_then(NodeRef::location);
        (json(before) != json(after)).then(|| (location(before), location(after)))
    })
}

fn json(node: Option<NodeRef<'_>>) -> Option<Value> {
    node.map(crate::model::value::to_json)
}

/// The places, before and after, of the first item of a list that differs; of the whole value
/// where no item of it does, or it is no list.
fn first_difference(
    old: NodeRef<'_>,
    new: NodeRef<'_>,
    pointer: &str,
) -> (Option<Location>, Option<Location>) {
    let mut before = old.items_at(pointer);
    for item in new.items_at(pointer) {
        let same = before.next();
        if json(same) != json(Some(item)) {
            return (same.and_then(NodeRef::location), item.location());
        }
    }
    (old.location_at(pointer), new.location_at(pointer))
}
