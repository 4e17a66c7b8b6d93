//! What a change of manifests does to Machines, and which hooks it calls.
//!
//! Two states of one cluster are compared: the desired objects of each managed
//! topology, and the standalone control planes and workers.

mod in_place;
mod part;
mod stops;
mod topology;
mod upgrade;

use std::collections::BTreeSet;

use in_place::InPlaceGate;
use part::{EffectOrigin, MAYBE_IN_PLACE, MIGRATED, ReplacementPart, is_on_both_sides, strategy};
use serde_json::{Map, Value};

use crate::config::Feature;
use crate::lang::yaml::{Known, Location, NodeRef, pointer_join};
use crate::model::cluster_api_kinds::{CONTROL_PLANE, CORE};
use crate::model::value::{has_unknown, to_json};
use crate::model::{EffectKind, ObjectId};
use crate::simulate::cluster_api::hooks::mutation::{MutationHook, NOTHING_STATED, Responses};
use crate::simulate::cluster_api::hooks::simulate::Event;
use crate::simulate::cluster_api::references::{
    Objects, ScopedObject, TargetScope, has_cluster_api, scopes_of,
};
use crate::simulate::cluster_api::rollout::RolloutEffect;
use crate::simulate::cluster_api::rollout::field;
use crate::simulate::cluster_api::rollout::field::Judgement;
use crate::simulate::cluster_api::topology::fields;
use crate::simulate::cluster_api::topology::fields::Table;
use crate::simulate::cluster_api::topology::{Cluster, metadata_at, text_at};
use crate::world::{ApplyTarget, Cluster as FluxCluster, World};

/// One effect of a change on Machines or hooks, with where it is written.
#[derive(Clone, Debug)]
pub(crate) struct MachineChange {
    /// The object whose change has the effect.
    pub object: ObjectId,
    /// Where it is applied.
    pub target: ApplyTarget,
    pub effect: RolloutEffect,
    /// Where it was written before.
    pub base: Option<Location>,
    /// Where it is written now.
    pub head: Option<Location>,
    /// The patch of a class through which it comes.
    pub via: Option<Location>,
}

/// Effects between two states of a cluster; either may be absent. Objects that
/// are new or gone are told by their own effects; here what follows for the
/// Machines of objects that stay, and the hooks that are called for Clusters.
pub(crate) fn effects(
    base: &World,
    base_cluster: Option<&FluxCluster>,
    head: &World,
    head_cluster: Option<&FluxCluster>,
    responses: &Responses,
) -> Vec<MachineChange> {
    let has = |world, cluster: Option<&FluxCluster>| cluster.is_some_and(|one| has_cluster_api(world, one));
    if !has(base, base_cluster) && !has(head, head_cluster) {
        return Vec::new();
    }
    let before = base_cluster.map(|cluster| scopes_of(base, cluster)).unwrap_or_default();
    let after = head_cluster.map(|cluster| scopes_of(head, cluster)).unwrap_or_default();
    let mut targets: Vec<&ApplyTarget> = before.iter().chain(&after).map(|scope| &scope.target).collect();
    targets.sort_unstable();
    targets.dedup();
    let mut changes = Vec::new();
    for target in targets {
        let nothing = TargetScope { cluster: None, target: target.clone(), objects: Objects::default() };
        let of = |scopes: &'_ [TargetScope<'_>]| scopes.iter().position(|scope| scope.target == *target);
        let old = of(&before).map_or(&nothing, |index| &before[index]);
        let new = of(&after).map_or(&nothing, |index| &after[index]);
        let conditions = conditions(if new.cluster.is_some() { new } else { old });
        Comparison { before: old, after: new, conditions, responses }.run(&mut changes);
    }
    changes
}

/// Templates that standalone objects reference and that were edited in place.
pub(crate) fn template_edits(before: &TargetScope<'_>, after: &TargetScope<'_>) -> Vec<MachineChange> {
    let mut changes = Vec::new();
    Comparison { before, after, conditions: conditions(after), responses: &NOTHING_STATED }
        .templates(&mut changes);
    changes
}

/// What of the cluster's settings decides.
struct Conditions {
    template_metadata: bool,
    in_place: InPlaceGate,
    runtime_sdk: bool,
    /// Whether it is stated, not taken from an extension that is there.
    runtime_sdk_stated: bool,
    extensions: Vec<crate::config::Extension>,
    minor: Option<u64>,
}

fn conditions(scope: &TargetScope<'_>) -> Conditions {
    let settings = scope.cluster.map(|cluster| &cluster.settings);
    let feature = |feature| settings.and_then(|s| s.feature(feature).value);
    let version = settings.and_then(|s| s.cluster_api.value);
    let extension =
        scope.objects.of_kind(crate::model::cluster_api_kinds::RUNTIME, "ExtensionConfig").next().is_some();
    Conditions {
        template_metadata: version.is_none_or(|version| version.at_least(1, 14)),
        in_place: InPlaceGate {
            is_on: feature(Feature::InPlaceUpdates).unwrap_or(extension),
            is_stated: settings.is_some_and(|s| s.feature(Feature::InPlaceUpdates).from.is_some()),
        },
        // Off in every release. One that is stated to be on, or an extension that needs it.
        runtime_sdk: match settings.map(|s| s.feature(Feature::RuntimeSdk)) {
            Some(setting) if setting.from.is_some() => setting.value == Some(true),
            _ => extension,
        },
        runtime_sdk_stated: settings.is_some_and(|s| s.feature(Feature::RuntimeSdk).from.is_some()),
        extensions: settings.map(|s| s.extensions.clone()).unwrap_or_default(),
        minor: version.map(|version| u64::from(version.minor_in(1))),
    }
}

struct Comparison<'c, 'a> {
    before: &'c TargetScope<'a>,
    after: &'c TargetScope<'a>,
    conditions: Conditions,
    responses: &'c Responses,
}

impl Comparison<'_, '_> {
    fn run(&self, changes: &mut Vec<MachineChange>) {
        for after in Cluster::all(&self.after.objects).filter(|c| !c.object.id.is_unknown()) {
            let before = self.same(after.object).map(|object| Cluster { object });
            match before {
                Some(before) if before.topology().is_some() && after.topology().is_some() => {
                    topology::effects(self, &before, &after, changes);
                }
                Some(before) => topology::given_or_taken(self, &before, &after, changes),
                // One more of an identity that was there is no new Cluster.
                None if is_among(&self.before.objects, after.object) => {}
                None if has_unnamed(&self.before.objects, after.object) => {}
                None => topology::hooks(self, Event::Create, None, &after, changes),
            }
        }
        for before in Cluster::all(&self.before.objects).filter(|c| !c.object.id.is_unknown()) {
            let gone = !is_among(&self.after.objects, before.object);
            if gone && !has_unnamed(&self.after.objects, before.object) {
                topology::hooks(self, Event::Delete, Some(&before), &before, changes);
            }
        }
        for after in self.after.objects.of_kind(CONTROL_PLANE, "KubeadmControlPlane") {
            if let Some(before) = self.same(after) {
                self.control_plane(before, after, changes);
            }
        }
        for kind in ["MachineDeployment", "MachineSet", "MachinePool"] {
            for after in self.after.objects.of_kind(CORE, kind) {
                if let Some(before) = self.same(after) {
                    self.worker(before, after, changes);
                }
            }
        }
        for after in self.after.objects.of_kind(CORE, "MachineHealthCheck") {
            if let Some(before) = self.same(after) {
                self.health_check(before, after, changes);
            }
        }
        self.templates(changes);
    }

    /// The object of the same identity before the change. Of several, one that is
    /// still there as it was is another one.
    fn same<'o>(&'o self, after: ScopedObject<'_>) -> Option<ScopedObject<'o>> {
        let id = after.id;
        let alike = |other: &ScopedObject<'_>| other.id.name == id.name && other.id.namespace == id.namespace;
        let equal =
            |a: &ScopedObject<'_>, b: &ScopedObject<'_>| a.node.same_value(b.node) == Known::Value(true);
        let before: Vec<ScopedObject<'o>> =
            self.before.objects.of_kind(id.group(), &id.kind).filter(alike).collect();
        if before.len() < 2 {
            return before.first().copied();
        }
        let kept = |o: &&ScopedObject<'_>| {
            self.after.objects.of_kind(id.group(), &id.kind).filter(alike).any(|other| equal(o, &other))
        };
        let twin = before.iter().find(|o| equal(o, &after));
        twin.or_else(|| before.iter().find(|o| !kept(o))).copied()
    }

    /// Why nothing of an object is reconciled: it or its Cluster is paused.
    fn pause(&self, object: ScopedObject<'_>) -> Option<String> {
        const PAUSED: &str = "cluster.x-k8s.io/paused";
        let cluster = text_at(object.node, &["/spec/clusterName"])
            .or_else(|| text_at(object.node, &["/metadata/labels/cluster.x-k8s.io~1cluster-name"]));
        let cluster = cluster.and_then(|name| {
            Cluster::all(&self.after.objects)
                .find(|c| c.object.name() == name && c.object.namespace() == object.namespace())
        });
        if cluster.is_some_and(|c| c.object.node.at("/spec/paused").and_then(NodeRef::as_bool) == Some(true))
        {
            return Some("its Cluster is paused, so nothing is reconciled until it is not".to_owned());
        }
        crate::simulate::cluster_api::topology::has_annotation(object.node, PAUSED)
            .then(|| "it is paused by annotation, so nothing is reconciled until it is not".to_owned())
    }

    fn health_check(
        &self,
        before: ScopedObject<'_>,
        after: ScopedObject<'_>,
        changes: &mut Vec<MachineChange>,
    ) {
        let mut part = ReplacementPart::new(self, after.id, "MachineHealthCheck", None, changes);
        let is_migrated = before.id.api_version != after.id.api_version;
        let spec = |object: ScopedObject<'_>| {
            let spec = object.node.at("/spec").map(to_json).unwrap_or_default();
            if is_migrated { fields::health_check_spec(spec) } else { spec }
        };
        let (old, new) = (spec(before), spec(after));
        let keys = [&old, &new].into_iter().filter_map(Value::as_object).flat_map(|spec| spec.keys());
        let names: BTreeSet<&String> = keys.filter(|key| !key.starts_with('$')).collect();
        for name in names {
            let pointer = pointer_join("/spec", name);
            let value = |spec: &Value| spec.get(name).cloned().unwrap_or_default();
            let values = (value(&old), value(&new));
            if values.0 == values.1 {
                continue;
            }
            let judgement = match &**name {
                "clusterName" => (EffectKind::Rejected, "the Cluster of an object cannot change"),
                _ if has_unknown(&values.0) || has_unknown(&values.1) => {
                    (EffectKind::Unknown, "its value is not known offline")
                }
                _ => (
                    EffectKind::ObjectOnly,
                    "Machines are remediated by other rules from now on; none is replaced for the change",
                ),
            };
            let places = (before.node.location_at(&pointer), after.node.location_at(&pointer));
            part.push(judgement, pointer, values, places, false);
        }
        part.finish();
    }

    fn control_plane(
        &self,
        before: ScopedObject<'_>,
        after: ScopedObject<'_>,
        changes: &mut Vec<MachineChange>,
    ) {
        let replicas = after.node.at("/spec/replicas").and_then(NodeRef::as_int);
        let mut part = ReplacementPart::new(self, after.id, "KubeadmControlPlane", replicas, changes);
        part.paused = self.pause(after);
        let old = fields::of_object(Table::ControlPlane, before.node);
        let new = fields::of_object(Table::ControlPlane, after.node);
        part.strategy = strategy(&new);
        part.ask(self, MutationHook::CanUpdateMachine);
        let spec = "/spec/kubeadmConfigSpec";
        let kubeadm = after.node.at(spec).map(to_json).unwrap_or_default();
        let stacked =
            kubeadm.pointer("/clusterConfiguration/etcd/external").is_none() && !has_unknown(&kubeadm);
        part.fields(&old, &new, |name, old, new| field::kubeadm_control_plane(name, old, new, stacked));
        let json = |object: ScopedObject<'_>| object.node.at(spec).map(to_json).unwrap_or_default();
        let version = text_at(after.node, &["/spec/version"]).unwrap_or_default();
        let api = |object: ScopedObject<'_>| text_at(object.node, &["/apiVersion"]);
        part.kubeadm(
            (json(before), json(after)),
            api(before) != api(after),
            &version,
            spec,
            (before.node.location_at(spec), after.node.location_at(spec)),
        );
        let template = "/spec/machineTemplate/metadata";
        let metadata = |object: ScopedObject<'_>, at: &str| metadata_at(object.node, at);
        part.metadata(&metadata(before, template), &metadata(after, template), COPIED);
        part.metadata(&metadata(before, "/metadata"), &metadata(after, "/metadata"), NOT_COPIED);
        part.finish();
    }

    fn worker(&self, before: ScopedObject<'_>, after: ScopedObject<'_>, changes: &mut Vec<MachineChange>) {
        let kind = after.id.kind.to_string();
        let replicas = after.node.at("/spec/replicas").and_then(NodeRef::as_int);
        let mut part = ReplacementPart::new(self, after.id, &kind, replicas, changes);
        part.paused = self.pause(after);
        if after.node.at("/spec/paused").and_then(NodeRef::as_bool) == Some(true) {
            part.rollout_waits = Some("spec.paused holds the rollout until it is false".to_owned());
        }
        let old = fields::of_object(Table::Worker, before.node);
        let new = fields::of_object(Table::Worker, after.node);
        part.on_delete = kind == "MachineDeployment" && fields::is_on_delete(&new);
        if kind == "MachineDeployment" {
            part.strategy = strategy(&new);
            part.ask(self, MutationHook::CanUpdateMachineSet);
        }
        part.fields(&old, &new, |name, _, value| field::worker(&kind, name, value));
        let template = "/spec/template/metadata";
        let metadata = |object: ScopedObject<'_>, at: &str| metadata_at(object.node, at);
        part.metadata(&metadata(before, template), &metadata(after, template), COPIED);
        part.metadata(&metadata(before, "/metadata"), &metadata(after, "/metadata"), NOT_COPIED);
        part.finish();
    }

    /// Templates that standalone objects reference are read when Machines are
    /// made, and watched by nobody.
    fn templates(&self, changes: &mut Vec<MachineChange>) {
        let mut used: Vec<(String, String, String)> = Vec::new();
        let standalone = ["MachineDeployment", "MachineSet", "MachinePool"]
            .into_iter()
            .flat_map(|kind| self.after.objects.of_kind(CORE, kind))
            .chain(self.after.objects.of_kind(CONTROL_PLANE, "KubeadmControlPlane"));
        for object in standalone {
            for pointer in [
                "/spec/template/spec/bootstrap/configRef",
                "/spec/template/spec/infrastructureRef",
                "/spec/machineTemplate/spec/infrastructureRef",
                "/spec/machineTemplate/infrastructureRef",
            ] {
                let Some(reference) = object.node.at(pointer) else { continue };
                if let (Some(kind), Some(name)) =
                    (text_at(reference, &["/kind"]), text_at(reference, &["/name"]))
                {
                    used.push((kind, object.namespace().to_owned(), name));
                }
            }
        }
        for after in self.after.objects.iter().filter(|o| o.id.kind.ends_with("Template")) {
            let key = (after.id.kind.to_string(), after.namespace().to_owned(), after.name().to_owned());
            let Some(before) = self.same(after).filter(|_| used.contains(&key)) else { continue };
            let spec = |object: ScopedObject<'_>| object.node.at("/spec").map(to_json).unwrap_or_default();
            let (old, new) = (spec(before), spec(after));
            if old == new {
                continue;
            }
            changes.push(MachineChange {
                object: after.id.clone(),
                target: self.after.target.clone(),
                effect: RolloutEffect {
                    effect: EffectKind::NewMachinesOnly,
                    field: "/spec".to_owned(),
                    before: Value::Null,
                    after: Value::Null,
                    reason: "the reference stays the same, so no Machine is replaced".to_owned(),
                    consequences: vec![
                        "Machines that are made from now on differ from those that exist".to_owned(),
                        "many providers' templates are immutable: then the change is rejected".to_owned(),
                    ],
                    details: Map::new(),
                },
                base: before.node.location_at("/spec"),
                head: after.node.location_at("/spec"),
                via: None,
            });
        }
    }
}

const COPIED: Judgement =
    (EffectKind::PropagatedInPlace, "existing Machines get it in place; none is replaced");
const NOT_COPIED: Judgement = (EffectKind::ObjectOnly, "top-level metadata reaches no Machine");

/// Whether an object of its kind has a name that is not known, and so may be it.
fn has_unnamed(objects: &Objects<'_>, object: ScopedObject<'_>) -> bool {
    objects.of_kind(object.id.group(), &object.id.kind).any(|o| o.id.is_unknown())
}

fn is_among(objects: &Objects<'_>, object: ScopedObject<'_>) -> bool {
    objects
        .of_kind(object.id.group(), &object.id.kind)
        .any(|o| o.id.name == object.id.name && o.id.namespace == object.id.namespace)
}
