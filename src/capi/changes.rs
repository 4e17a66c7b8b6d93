//! What a change of manifests does to Machines, and which hooks it calls.
//!
//! Two states of one cluster are compared: the desired objects of each managed
//! topology, and the standalone control planes and workers.

mod topology;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::kinds::{CONTROL_PLANE, CORE};
use super::objects::{Object, Scope, scopes_of};
use super::propagation::{Entry, Keys, Metadata, Source};
use super::rollout::field::{self, Judgement};
use super::rollout::{Effect, EffectKind};
use super::topology::fields::{self, Field, Fields, HEALTH_CHECK, Table};
use super::topology::value::{has_unknown, to_json};
use super::topology::{Cluster, metadata_at, text_at};
use crate::config::Feature;
use crate::flux::cluster::{Cluster as FluxCluster, World};
use crate::repo::ObjectId;
use crate::yaml::{Known, Location, NodeRef, pointer_join};

/// One effect of a change on Machines or hooks, with where it is written.
#[derive(Clone, Debug)]
pub struct Change {
    /// The object whose change has the effect.
    pub object: ObjectId,
    /// The effect.
    pub effect: Effect,
    /// Where it was written before.
    pub base: Option<Location>,
    /// Where it is written now.
    pub head: Option<Location>,
}

/// Effects between two states of a cluster; either may be absent. Objects that
/// are new or gone are told by their own effects; here only what follows for the
/// Machines of objects that stay.
pub fn effects(
    base: &World,
    base_cluster: Option<&FluxCluster>,
    head: &World,
    head_cluster: Option<&FluxCluster>,
) -> Vec<Change> {
    let (Some(base_cluster), Some(head_cluster)) = (base_cluster, head_cluster) else { return Vec::new() };
    let before = scopes_of(base, base_cluster);
    let mut changes = Vec::new();
    for after in scopes_of(head, head_cluster) {
        let Some(before) = before.iter().find(|scope| scope.target == after.target) else { continue };
        let comparison = Comparison { before, after: &after, conditions: conditions(&after) };
        comparison.run(&mut changes);
    }
    changes
}

/// Templates that standalone objects reference and that were edited in place.
pub fn template_edits(before: &Scope<'_>, after: &Scope<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    Comparison { before, after, conditions: conditions(after) }.templates(&mut changes);
    changes
}

/// What of the cluster's settings decides.
struct Conditions {
    template_metadata: bool,
    in_place: bool,
    runtime_sdk: bool,
    minor: Option<u64>,
}

fn conditions(scope: &Scope<'_>) -> Conditions {
    let settings = scope.cluster.map(|cluster| &cluster.settings);
    let feature = |feature| settings.and_then(|s| s.feature(feature).value);
    let version = settings.and_then(|s| s.cluster_api.value);
    let extension = scope.objects.of_kind(super::kinds::RUNTIME, "ExtensionConfig").next().is_some();
    Conditions {
        template_metadata: version.is_none_or(|version| version.at_least(1, 14)),
        in_place: feature(Feature::InPlaceUpdates).unwrap_or(extension),
        runtime_sdk: feature(Feature::RuntimeSdk).unwrap_or(true),
        minor: version.map(|version| u64::from(version.minor)),
    }
}

struct Comparison<'c, 'a> {
    before: &'c Scope<'a>,
    after: &'c Scope<'a>,
    conditions: Conditions,
}

impl Comparison<'_, '_> {
    fn run(&self, changes: &mut Vec<Change>) {
        for after in Cluster::all(&self.after.objects).filter(|c| c.topology().is_some()) {
            let before = self.same(after.object).map(|object| Cluster { object });
            if let Some(before) = before.filter(|c| c.topology().is_some()) {
                topology::effects(self, &before, &after, changes);
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

    fn control_plane(&self, before: Object<'_>, after: Object<'_>, changes: &mut Vec<Change>) {
        let replicas = after.node.at("/spec/replicas").and_then(NodeRef::as_int);
        let mut part = Part::new(self, before.id, "KubeadmControlPlane", replicas, changes);
        let old = fields::of_object(Table::ControlPlane, before.node);
        let new = fields::of_object(Table::ControlPlane, after.node);
        part.fields(&old, &new, field::control_plane);
        let spec = "/spec/kubeadmConfigSpec";
        let json = |object: Object<'_>| object.node.at(spec).map(to_json).unwrap_or_default();
        let version = text_at(after.node, &["/spec/version"]).unwrap_or_default();
        part.kubeadm(
            &json(before),
            &json(after),
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
        let mut part = Part::new(self, before.id, &kind, replicas, changes);
        let old = fields::of_object(Table::Worker, before.node);
        let new = fields::of_object(Table::Worker, after.node);
        part.fields(&old, &new, |name, value| field::worker(&kind, name, value));
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
                effect: Effect {
                    category: "machines",
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
    target: String,
    /// The part inside its object: the entry's JSON Pointer, and that with its
    /// name for its index.
    entry: Option<(String, String)>,
    machines: Option<i64>,
    in_place: bool,
    /// Why everything but replacement waits.
    held: Option<String>,
    /// Said with everything that does not wait.
    note: Option<String>,
    rollout: Option<Change>,
    rolled: Vec<String>,
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
            target: target.to_owned(),
            entry: None,
            machines,
            in_place: comparison.conditions.in_place,
            held: None,
            note: None,
            rollout: None,
            rolled: Vec::new(),
            changes,
        }
    }

    fn fields(&mut self, before: &Fields, after: &Fields, judge: impl Fn(&str, &Value) -> Judgement) {
        let names: BTreeMap<&str, ()> = before.keys().chain(after.keys()).map(|name| (*name, ())).collect();
        for name in names.into_keys() {
            let (old, new) = (before.get(name), after.get(name));
            let value = |field: Option<&Field>| field.map(|f| f.value.clone()).unwrap_or_default();
            let (before, after) = (value(old), value(new));
            if before == after {
                continue;
            }
            let mut judgement = judge(name, &after);
            if has_unknown(&before) || has_unknown(&after) {
                judgement = (EffectKind::Unknown, "its value is not known offline");
            }
            if name == HEALTH_CHECK {
                judgement.1 = "the MachineHealthCheck is changed; no Machine is touched";
            }
            let pointer = new.or(old).map(|f| f.pointer.clone()).unwrap_or_default();
            let place = |field: Option<&Field>| field.and_then(|f| f.location.clone());
            let waits = name != HEALTH_CHECK;
            self.push(judgement, pointer, (before, after), (place(old), place(new)), waits);
        }
    }

    fn kubeadm(
        &mut self,
        before: &Value,
        after: &Value,
        version: &str,
        pointer: &str,
        places: (Option<Location>, Option<Location>),
    ) {
        let Some((judgement, paths)) = field::kubeadm_config_spec(before, after, version) else { return };
        let first = paths.first().map(|path| path.replace('.', "/")).unwrap_or_default();
        let at = |spec: &Value| spec.pointer(&format!("/{first}")).cloned().unwrap_or_default();
        self.push(judgement, format!("{pointer}/{first}"), (at(before), at(after)), places, true);
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
            let value = |entry: Option<&Entry>| json!(entry.and_then(|e| e.value.clone()));
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
        let reason = format!("{}, {}: {reason}", self.target, phrase(&field, &before, &after));
        let mut change = Change {
            object: self.object.clone(),
            effect: Effect {
                category: "machines",
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
        };
        if effect == EffectKind::Rollout {
            self.rolled.push(field);
            self.rollout.get_or_insert(change);
            return;
        }
        match &self.held {
            Some(why) if waits && effect != EffectKind::Rejected => {
                change.effect.details.insert("then".to_owned(), json!(effect.name()));
                change.effect.effect = EffectKind::Delayed;
                change.effect.reason = format!("{reason}; {why}");
            }
            _ => change.effect.consequences.extend(self.note.clone().filter(|_| waits)),
        }
        self.changes.push(change);
    }

    /// Adds the one replacement of all Machines of the part.
    fn finish(self) {
        let Some(mut change) = self.rollout else { return };
        let effect = &mut change.effect;
        if let Some(machines) = self.machines {
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
        if self.in_place {
            effect.consequences.push("unless an update extension accepts it in place".to_owned());
        }
        effect.consequences.extend(self.held);
        self.changes.push(change);
    }
}

/// A field's name and values, as far as they are short.
fn phrase(field: &str, before: &Value, after: &Value) -> String {
    let segments: Vec<String> = crate::yaml::pointer_segments(field).map(|s| s.into_owned()).collect();
    let name = segments.iter().rev().find(|s| !s.starts_with('{')).cloned().unwrap_or_default();
    let short = |value: &Value| match value {
        Value::Null => Some("nothing".to_owned()),
        Value::String(text) if text.chars().count() <= 30 => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    match (short(before), short(after)) {
        (Some(before), Some(after)) if before != after => format!("{name} {before} -> {after}"),
        _ => name,
    }
}

/// Where a key is written, of one that the repository states.
fn field_of(entry: &Entry) -> Option<(String, Option<Location>)> {
    match &entry.source {
        Source::Field { pointer, location } => Some((pointer.clone(), location.clone())),
        Source::Controller(_) => None,
    }
}
