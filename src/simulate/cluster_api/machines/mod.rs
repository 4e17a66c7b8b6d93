//! What a change of manifests does to Machines, and which hooks it calls.
//!
//! Two states of one cluster are compared: the desired objects of each managed
//! topology, and the standalone control planes and workers.

mod in_place;
mod stops;
mod topology;
mod upgrade;

use std::collections::{BTreeMap, BTreeSet};

use in_place::{Gate, Verdict};
use serde_json::{Map, Value, json};

use crate::config::Feature;
use crate::lang::yaml::{Known, Location, NodeRef, pointer_join};
use crate::model::cluster_api_kinds::{CONTROL_PLANE, CORE};
use crate::model::value::{has_unknown, to_json, unknown};
use crate::model::{EffectKind, ObjectId};
use crate::simulate::cluster_api::hooks::mutation::{MutationHook, NOTHING_STATED, Responses, Update};
use crate::simulate::cluster_api::hooks::simulate::Event;
use crate::simulate::cluster_api::propagation::{Entry, Keys, Metadata, Source};
use crate::simulate::cluster_api::references::{Object, Objects, Scope, has_cluster_api, scopes_of};
use crate::simulate::cluster_api::rollout::field;
use crate::simulate::cluster_api::rollout::field::Judgement;
use crate::simulate::cluster_api::rollout::{Effect, kubeadm_config, template};
use crate::simulate::cluster_api::topology::fields;
use crate::simulate::cluster_api::topology::fields::{Field, Fields, HEALTH_CHECK, Table};
use crate::simulate::cluster_api::topology::{Cluster, metadata_at, text_at};
use crate::world::{ApplyTarget, Cluster as FluxCluster, World};

/// One effect of a change on Machines or hooks, with where it is written.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The object whose change has the effect.
    pub object: ObjectId,
    /// Where it is applied.
    pub target: ApplyTarget,
    /// The effect.
    pub effect: Effect,
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
) -> Vec<Change> {
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
        let nothing = Scope { cluster: None, target: target.clone(), objects: Objects::default() };
        let of = |scopes: &'_ [Scope<'_>]| scopes.iter().position(|scope| scope.target == *target);
        let old = of(&before).map_or(&nothing, |index| &before[index]);
        let new = of(&after).map_or(&nothing, |index| &after[index]);
        let conditions = conditions(if new.cluster.is_some() { new } else { old });
        Comparison { before: old, after: new, conditions, responses }.run(&mut changes);
    }
    changes
}

/// Templates that standalone objects reference and that were edited in place.
pub(crate) fn template_edits(before: &Scope<'_>, after: &Scope<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    Comparison { before, after, conditions: conditions(after), responses: &NOTHING_STATED }
        .templates(&mut changes);
    changes
}

/// What of the cluster's settings decides.
struct Conditions {
    template_metadata: bool,
    in_place: Gate,
    runtime_sdk: bool,
    /// Whether it is stated, not taken from an extension that is there.
    runtime_sdk_stated: bool,
    extensions: Vec<crate::config::Extension>,
    minor: Option<u64>,
}

fn conditions(scope: &Scope<'_>) -> Conditions {
    let settings = scope.cluster.map(|cluster| &cluster.settings);
    let feature = |feature| settings.and_then(|s| s.feature(feature).value);
    let version = settings.and_then(|s| s.cluster_api.value);
    let extension =
        scope.objects.of_kind(crate::model::cluster_api_kinds::RUNTIME, "ExtensionConfig").next().is_some();
    Conditions {
        template_metadata: version.is_none_or(|version| version.at_least(1, 14)),
        in_place: Gate {
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
    before: &'c Scope<'a>,
    after: &'c Scope<'a>,
    conditions: Conditions,
    responses: &'c Responses,
}

impl Comparison<'_, '_> {
    fn run(&self, changes: &mut Vec<Change>) {
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
    fn same<'o>(&'o self, after: Object<'_>) -> Option<Object<'o>> {
        let id = after.id;
        let alike = |other: &Object<'_>| other.id.name == id.name && other.id.namespace == id.namespace;
        let equal = |a: &Object<'_>, b: &Object<'_>| a.node.same_value(b.node) == Known::Value(true);
        let before: Vec<Object<'o>> =
            self.before.objects.of_kind(id.group(), &id.kind).filter(alike).collect();
        if before.len() < 2 {
            return before.first().copied();
        }
        let kept = |o: &&Object<'_>| {
            self.after.objects.of_kind(id.group(), &id.kind).filter(alike).any(|other| equal(o, &other))
        };
        let twin = before.iter().find(|o| equal(o, &after));
        twin.or_else(|| before.iter().find(|o| !kept(o))).copied()
    }

    /// Why nothing of an object is reconciled: it or its Cluster is paused.
    fn pause(&self, object: Object<'_>) -> Option<String> {
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

    fn health_check(&self, before: Object<'_>, after: Object<'_>, changes: &mut Vec<Change>) {
        let mut part = Part::new(self, after.id, "MachineHealthCheck", None, changes);
        let is_migrated = before.id.api_version != after.id.api_version;
        let spec = |object: Object<'_>| {
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

    fn control_plane(&self, before: Object<'_>, after: Object<'_>, changes: &mut Vec<Change>) {
        let replicas = after.node.at("/spec/replicas").and_then(NodeRef::as_int);
        let mut part = Part::new(self, after.id, "KubeadmControlPlane", replicas, changes);
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
        let json = |object: Object<'_>| object.node.at(spec).map(to_json).unwrap_or_default();
        let version = text_at(after.node, &["/spec/version"]).unwrap_or_default();
        let api = |object: Object<'_>| text_at(object.node, &["/apiVersion"]);
        part.kubeadm(
            (json(before), json(after)),
            api(before) != api(after),
            &version,
            spec,
            (before.node.location_at(spec), after.node.location_at(spec)),
        );
        let template = "/spec/machineTemplate/metadata";
        let metadata = |object: Object<'_>, at: &str| metadata_at(object.node, at);
        part.metadata(&metadata(before, template), &metadata(after, template), COPIED);
        part.metadata(&metadata(before, "/metadata"), &metadata(after, "/metadata"), NOT_COPIED);
        part.finish();
    }

    fn worker(&self, before: Object<'_>, after: Object<'_>, changes: &mut Vec<Change>) {
        let kind = after.id.kind.to_string();
        let replicas = after.node.at("/spec/replicas").and_then(NodeRef::as_int);
        let mut part = Part::new(self, after.id, &kind, replicas, changes);
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
        let metadata = |object: Object<'_>, at: &str| metadata_at(object.node, at);
        part.metadata(&metadata(before, template), &metadata(after, template), COPIED);
        part.metadata(&metadata(before, "/metadata"), &metadata(after, "/metadata"), NOT_COPIED);
        part.finish();
    }

    /// Templates that standalone objects reference are read when Machines are
    /// made, and watched by nobody.
    fn templates(&self, changes: &mut Vec<Change>) {
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
            let spec = |object: Object<'_>| object.node.at("/spec").map(to_json).unwrap_or_default();
            let (old, new) = (spec(before), spec(after));
            if old == new {
                continue;
            }
            changes.push(Change {
                object: after.id.clone(),
                target: self.after.target.clone(),
                effect: Effect {
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

/// Collects the effects of one control plane or worker, whose causes of
/// replacement are one effect: its Machines are replaced once.
struct Part<'p> {
    object: ObjectId,
    applied_to: ApplyTarget,
    target: String,
    /// The part inside its object: the entry's JSON Pointer, and that with its
    /// name for its index.
    entry: Option<(String, String)>,
    machines: Option<i64>,
    /// Who is asked whether Machines can be changed in place, and what comes of it.
    in_place: (Option<MutationHook>, Verdict),
    /// How Machines are replaced: `rollout.strategy`.
    strategy: Option<Value>,
    /// Why everything but replacement waits.
    held: Option<String>,
    /// Why everything waits.
    paused: Option<String>,
    /// Why replacement waits.
    rollout_waits: Option<String>,
    /// Whether Machines are replaced as somebody deletes them (strategy OnDelete).
    on_delete: bool,
    /// Said with everything that does not wait.
    note: Option<String>,
    /// The first change that needs other Machines, without what comes of it.
    rollout: Option<(Change, String)>,
    rolled: Vec<String>,
    /// The template and the patch behind what is pushed next.
    origin: Option<Origin>,
    /// Those behind the rollout.
    origins: Vec<Origin>,
    changes: &'p mut Vec<Change>,
}

impl<'p> Part<'p> {
    fn new(
        comparison: &Comparison<'_, '_>,
        object: &ObjectId,
        target: &str,
        machines: Option<i64>,
        changes: &'p mut Vec<Change>,
    ) -> Self {
        Part {
            object: object.clone(),
            applied_to: comparison.after.target.clone(),
            target: target.to_owned(),
            entry: None,
            machines,
            in_place: (
                None,
                if comparison.conditions.in_place.is_on { Verdict::Maybe } else { Verdict::No(None) },
            ),
            strategy: None,
            held: None,
            paused: None,
            rollout_waits: None,
            on_delete: false,
            note: None,
            rollout: None,
            rolled: Vec::new(),
            origin: None,
            origins: Vec::new(),
            changes,
        }
    }

    /// Asks whether Machines can be changed in place.
    fn ask(&mut self, comparison: &Comparison<'_, '_>, hook: MutationHook) {
        let namespace = self.object.namespace.as_deref().unwrap_or("default");
        self.in_place = (Some(hook), comparison.verdict(hook, namespace));
    }

    fn fields(&mut self, before: &Fields, after: &Fields, judge: impl Fn(&str, &Value, &Value) -> Judgement) {
        let names: BTreeMap<&str, ()> = before.keys().chain(after.keys()).map(|name| (*name, ())).collect();
        for name in names.into_keys() {
            let (old, new) = (before.get(name), after.get(name));
            let value = |field: Option<&Field>| field.map(|f| f.value.clone()).unwrap_or_default();
            let (before, after) = (value(old), value(new));
            if before == after {
                continue;
            }
            let mut judgement = judge(name, &before, &after);
            if has_unknown(&before) || has_unknown(&after) {
                judgement = (EffectKind::Unknown, "its value is not known offline");
            }
            if name == HEALTH_CHECK {
                judgement.1 = "the MachineHealthCheck is changed; no Machine is touched";
            }
            let pointer = new.or(old).map(|f| f.pointer.clone()).unwrap_or_default();
            let place = |field: Option<&Field>| field.and_then(|f| f.location.clone());
            let waits = name != HEALTH_CHECK;
            let written = |field: Option<&Field>| field.map(|f| f.written.clone()).unwrap_or_default();
            self.push(judgement, pointer, (written(old), written(new)), (place(old), place(new)), waits);
        }
    }

    /// `kubeadmConfigSpec` on both sides; `migrated`: in two API versions.
    fn kubeadm(
        &mut self,
        (mut before, mut after): (Value, Value),
        migrated: bool,
        version: &str,
        pointer: &str,
        places: (Option<Location>, Option<Location>),
    ) {
        if migrated {
            (before, after) = (kubeadm_config::converted(&before), kubeadm_config::converted(&after));
        }
        let (before, after) = (&before, &after);
        let Some((mut judgement, paths)) = field::kubeadm_config_spec(before, after, version) else { return };
        if migrated && !paths.iter().any(|path| is_on_both_sides(before, after, path)) {
            judgement = MIGRATED;
        }
        let mut pointers = paths
            .iter()
            .map(|path| path.iter().fold(String::new(), |pointer, segment| pointer_join(&pointer, segment)));
        let first = pointers.next().unwrap_or_default();
        let rest: Vec<String> = pointers.map(|path| format!("{pointer}{path}")).collect();
        let at = |spec: &Value| spec.pointer(&first).cloned().unwrap_or_default();
        let count = self.changes.len();
        self.push(judgement, format!("{pointer}{first}"), (at(before), at(after)), places, true);
        if rest.is_empty() {
            return;
        }
        match self.changes.get_mut(count) {
            Some(change) => {
                let all: Vec<&String> = std::iter::once(&change.effect.field).chain(&rest).collect();
                change.effect.details.insert("fields".to_owned(), json!(all));
            }
            // One of the causes of the replacement.
            None => self.rolled.extend(rest),
        }
    }

    fn metadata(&mut self, before: &Metadata, after: &Metadata, judgement: Judgement) {
        self.keys("label", &before.labels, &after.labels, judgement);
        self.keys("annotation", &before.annotations, &after.annotations, judgement);
    }

    fn keys(&mut self, word: &str, before: &Keys, after: &Keys, judgement: Judgement) {
        let names: BTreeMap<&String, ()> = before.keys().chain(after.keys()).map(|name| (name, ())).collect();
        for key in names.into_keys() {
            let (old, new) = (before.get(key), after.get(key));
            if old.map(|e| &e.value) == new.map(|e| &e.value) {
                continue;
            }
            let Some((pointer, _)) = new.or(old).and_then(field_of) else { continue };
            let value = |entry: Option<&Entry>| match entry.map(|e| &e.value) {
                Some(None) => unknown("its value is not known offline"),
                Some(Some(text)) => json!(text),
                None => Value::Null,
            };
            let place = |entry: Option<&Entry>| entry.and_then(field_of).and_then(|(_, at)| at);
            let count = self.changes.len();
            self.push(
                judgement,
                pointer_join(&pointer, key),
                (value(old), value(new)),
                (place(old), place(new)),
                true,
            );
            if let Some(change) = self.changes.get_mut(count)
                && judgement.0 == EffectKind::PropagatedInPlace
            {
                change.effect.details.insert("key".to_owned(), json!(key));
                if new.is_none() {
                    let text = format!(
                        "the {word} is removed from existing Machines, unless something else applies it too"
                    );
                    change.effect.consequences.push(text);
                }
            }
        }
    }

    fn push(
        &mut self,
        (effect, reason): Judgement,
        field: String,
        (before, after): (Value, Value),
        (base, head): (Option<Location>, Option<Location>),
        waits: bool,
    ) {
        let field = match &self.entry {
            Some((pointer, named)) => match field.strip_prefix(pointer.as_str()) {
                Some(rest) => format!("{named}{rest}"),
                None if field.starts_with("/spec/topology/") => field,
                None => format!("{named}{field}"),
            },
            None => field,
        };
        // What the object itself is need not be said again.
        let part =
            if self.target == *self.object.kind { String::new() } else { format!("{}, ", self.target) };
        let reason = if effect == EffectKind::Rollout && self.on_delete { fields::ON_DELETE } else { reason };
        let what = format!("{part}{}", phrase(&field, &before, &after));
        let reason = format!("{what}: {reason}");
        let origin = self.origin.take();
        let mut change = Change {
            object: self.object.clone(),
            target: self.applied_to.clone(),
            effect: Effect {
                effect,
                field: field.clone(),
                before,
                after,
                reason: reason.clone(),
                consequences: Vec::new(),
                details: Map::from_iter([("target".to_owned(), json!(self.target))]),
            },
            base,
            head,
            via: None,
        };
        if effect == EffectKind::Rollout {
            self.rolled.push(field);
            self.origins.extend(origin.filter(|origin| !self.origins.contains(origin)));
            self.rollout.get_or_insert((change, what));
            return;
        }
        if let Some(origin) = origin {
            origin.tell(&mut change);
        }
        match self.paused.as_ref().or(self.held.as_ref().filter(|_| waits)) {
            Some(why) if effect != EffectKind::Rejected => {
                change.effect.details.insert("then".to_owned(), json!(effect.name()));
                change.effect.effect = EffectKind::Delayed;
                change.effect.reason = format!("{reason}; {why}");
            }
            _ => change.effect.consequences.extend(self.note.clone().filter(|_| waits)),
        }
        self.changes.push(change);
    }

    /// Adds the one replacement of all Machines of the part, or their change in place.
    fn finish(mut self) {
        let Some((mut change, what)) = self.rollout.take() else { return };
        for origin in &self.origins {
            origin.tell(&mut change);
        }
        let effect = &mut change.effect;
        let (hook, mut verdict) = std::mem::replace(&mut self.in_place, (None, Verdict::No(None)));
        // A time that has come asks for new Machines (`ShouldRolloutAfter`, `ShouldRolloutBefore`).
        let is_due = |field: &String| field.contains("/rollout/") || field.contains("/rolloutAfter");
        if matches!(verdict, Verdict::Yes(_)) && self.rolled.iter().any(is_due) {
            verdict = Verdict::No(Some("what asks for new Machines is not changed in place".to_owned()));
        }
        let changed = hook
            .zip(self.machines)
            .map(|(hook, machines)| in_place::changed(hook, self.strategy.as_ref(), machines));
        if let (Verdict::Yes(_), Some(hook), Some(0)) = (&verdict, hook, changed) {
            verdict = Verdict::No(Some(in_place::replaced_first(hook)));
        }
        if self.on_delete {
            // Nothing is replaced by itself, so no Machine counts.
            effect.effect = EffectKind::NewMachinesOnly;
        } else if let (Verdict::Yes(update), Some(hook)) = (&verdict, hook) {
            effect.effect = EffectKind::UpdatedInPlace;
            effect.reason = format!("{what}: {} accepts it in place", hook.name());
            effect.details.extend(self.machines.map(|machines| ("machines".to_owned(), json!(machines))));
            let machines = self.machines;
            effect.consequences.extend(in_place::told(hook, &self.target, machines, changed.unwrap_or(0)));
            effect.consequences.extend(in_place::progress(*update).map(str::to_owned));
        } else if let Some(machines) = self.machines {
            effect.details.insert("machines".to_owned(), json!(machines));
            effect.consequences.push(match machines {
                1 => format!("{}: 1 Machine", self.target),
                n => format!("{}: {n} Machines", self.target),
            });
        } else {
            effect.consequences.push(format!("{}: number of Machines not stated here", self.target));
        }
        if self.rolled.len() > 1 {
            effect.consequences.push(format!("for {} fields at once", self.rolled.len()));
        }
        effect.details.insert("fields".to_owned(), json!(self.rolled));
        let mut stops = None;
        match verdict {
            _ if self.on_delete => {}
            Verdict::No(why) => effect.consequences.extend(why),
            Verdict::Maybe => effect.consequences.push(MAYBE_IN_PLACE.to_owned()),
            Verdict::Yes(Some(Update::Failure)) => stops = Some("UpdateMachine fails".to_owned()),
            Verdict::Yes(_) => {}
            Verdict::Fails(why) => stops = Some(why),
        }
        if let Some(why) = self.paused.or(self.rollout_waits).or(stops) {
            effect.details.insert("then".to_owned(), json!(effect.effect.name()));
            effect.effect = EffectKind::Delayed;
            effect.reason = format!("{}; {why}", effect.reason);
        }
        effect.consequences.extend(self.held);
        self.changes.push(change);
    }
}

const MAYBE_IN_PLACE: &str = "unless an update extension accepts it in place";

/// `rollout.strategy` of a control plane or of workers.
fn strategy(fields: &Fields) -> Option<Value> {
    fields.get("/spec/rollout/strategy").map(|field| field.value.clone())
}

/// The template that changes a clone, and the patch of the class that does it.
#[derive(Clone, Debug, PartialEq)]
struct Origin {
    /// Kind and name of the template.
    template: (String, String),
    /// The patch, and where its operation is written.
    patch: Option<(String, Option<Location>)>,
}

impl Origin {
    fn tell(&self, change: &mut Change) {
        let (kind, name) = &self.template;
        let by = self.patch.as_ref().map(|(name, _)| format!(", by patch {name}"));
        let details = &mut change.effect.details;
        change.effect.consequences.push(format!("template {kind} {name}{}", by.unwrap_or_default()));
        details.entry("template").or_insert(json!(format!("{kind}/{name}")));
        if let Some((name, location)) = &self.patch {
            details.entry("patch").or_insert(json!(name));
            change.via = change.via.take().or_else(|| location.clone());
        }
    }
}

/// Whether a path that differs has a value before and after. In two API versions
/// another path may be the same field under another name.
fn is_on_both_sides(before: &Value, after: &Value, path: &[String]) -> bool {
    [before, after].into_iter().all(|value| {
        path.iter().try_fold(value, |value, key| value.get(key)).is_some_and(|value| !value.is_null())
    })
}

const MIGRATED: Judgement =
    (EffectKind::Unknown, "another API version: what its conversion makes of it is not known offline");

/// Whether an object of its kind has a name that is not known, and so may be it.
fn has_unnamed(objects: &Objects<'_>, object: Object<'_>) -> bool {
    objects.of_kind(object.id.group(), &object.id.kind).any(|o| o.id.is_unknown())
}

fn is_among(objects: &Objects<'_>, object: Object<'_>) -> bool {
    objects
        .of_kind(object.id.group(), &object.id.kind)
        .any(|o| o.id.name == object.id.name && o.id.namespace == object.id.namespace)
}

/// A field's name and values, as far as they are short.
fn phrase(field: &str, before: &Value, after: &Value) -> String {
    let segments: Vec<String> = crate::lang::yaml::pointer_segments(field).map(|s| s.into_owned()).collect();
    let name = segments.iter().rev().find(|s| !s.starts_with('{')).cloned().unwrap_or_default();
    // The mark of what an extension may change.
    let name = name.strip_prefix('$').map_or(name.clone(), str::to_owned);
    let short = |value: &Value| match value {
        Value::Null => Some("nothing".to_owned()),
        Value::String(text) if text.is_empty() => Some("\"\"".to_owned()),
        Value::String(text) if text.chars().count() <= 30 => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    if let (Some(before), Some(after)) = (short(before), short(after))
        && before != after
    {
        return format!("{name} {before} -> {after}");
    }
    // Of a map the one value in it that differs.
    if let [path] = &template::differences(before, after)[..] {
        let at = |value: &Value| path.iter().try_fold(value, |value, key| value.get(key)).cloned();
        let (before, after) = (at(before).unwrap_or_default(), at(after).unwrap_or_default());
        if let (false, Some(before), Some(after)) = (path.is_empty(), short(&before), short(&after)) {
            return format!("{name}.{} {before} -> {after}", path.join("."));
        }
    }
    name
}

/// Where a key is written, of one that the repository states.
fn field_of(entry: &Entry) -> Option<(String, Option<Location>)> {
    match &entry.source {
        Source::Field { pointer, location } => Some((pointer.clone(), location.clone())),
        Source::Controller(_) => None,
    }
}
