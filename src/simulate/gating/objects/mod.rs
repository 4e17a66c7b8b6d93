//! What gates and what is gated, read from the objects of one cluster.

mod read;

use read::{
    read_consumers, read_dependants, read_gate, read_gated, read_generator, read_hooks, read_job,
    read_provider, read_receiver, read_suspendable,
};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::commands::{self, Action};
use super::{GateRequest, GateSpec, Position};
use crate::config::Feature;
use crate::lang::go::cron::CronSchedule;
use crate::lang::go::duration::GoDuration;
use crate::lang::yaml::{Location, NodeRef};
use crate::model::{ObjectId, kinds};
use crate::simulate::gating::schedule::Schedules;
use crate::world::versions::Settings;

/// API group of the proposed Gate.
pub(crate) const GATE_GROUP: &str = "gating.toolkit.fluxcd.io";
/// flux-operator's timeout of a provider without the annotation.
const PROVIDER_TIMEOUT: GoDuration = GoDuration::from_seconds(120);

/// Kinds that the proposal lets wait for gates: syncs and sources.
pub(crate) const GATED_KINDS: [(&str, &str); 7] = [
    ("kustomize.toolkit.fluxcd.io", "Kustomization"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"),
    ("image.toolkit.fluxcd.io", "ImageUpdateAutomation"),
    ("source.toolkit.fluxcd.io", "Bucket"),
    ("source.toolkit.fluxcd.io", "GitRepository"),
    ("source.toolkit.fluxcd.io", "HelmRepository"),
    ("source.toolkit.fluxcd.io", "OCIRepository"),
];

/// Whether an object is of a kind that may wait for gates.
pub(crate) fn is_gateable(id: &ObjectId) -> bool {
    GATED_KINDS.iter().any(|(group, kind)| id.is(group, kind))
}

/// Whether controllers of a cluster have the field `spec.gates`, as the configuration or
/// a definition of its repository says.
pub(crate) fn are_available(settings: &Settings) -> bool {
    settings.feature(Feature::Gates).value == Some(true)
}

/// Whether a field is the proposal's, and the API server takes it although no schema of
/// a release has it: where gates are available.
pub(crate) fn is_taken(id: &ObjectId, pointer: &str, available: bool) -> bool {
    available && pointer == "/spec/gates" && kinds::of(id).is_some()
}

/// Whether an object is a Gate.
pub(crate) fn is_gate(id: &ObjectId) -> bool {
    id.is(GATE_GROUP, "Gate")
}

#[derive(Debug, Clone)]
pub struct Gate {
    pub id: ObjectId,
    /// Where it is written.
    pub location: Option<Location>,
    /// `spec.default` as written, if it is one of the two words.
    pub default: Option<Position>,
    /// What counts of the spec; unusable parts are in `unknown`.
    pub spec: GateSpec,
    /// `spec.interval`, how late it may notice a request.
    pub interval: Option<GoDuration>,
    /// The well-formed request annotations.
    pub requests: Vec<(GateRequest, Option<Location>)>,
    /// Why the gate's position cannot be told, if it can't.
    pub unknown: Option<String>,
    /// Receivers that name it: a call of theirs can open or close it any time.
    pub receivers: Vec<ObjectId>,
}

/// A name in `spec.gates[]`.
#[derive(Debug, Clone)]
pub struct GateReference {
    /// The gate's name; of one in another namespace `namespace/name`, which is
    /// none of the object's own: such a gate is missing.
    pub name: Arc<str>,
    /// Where it is written.
    pub location: Option<Location>,
}

/// A sync or source with `spec.gates[]`.
#[derive(Debug, Clone)]
pub struct Gated {
    pub id: ObjectId,
    /// Where it is written.
    pub location: Option<Location>,
    /// The gates that it waits for, in order.
    pub gates: Vec<GateReference>,
    /// Whether some name is not known.
    pub has_unknown_gate: bool,
    /// Whether it is a source: those take the condition `Blocked`.
    pub is_source: bool,
    /// `spec.interval`, how late it may notice an opened gate.
    pub interval: Option<GoDuration>,
}

/// A ResourceSetInputProvider with `spec.schedule[]`.
#[derive(Debug, Clone)]
pub struct Provider {
    pub id: ObjectId,
    /// Where its schedule is written.
    pub location: Option<Location>,
    /// When it may reconcile; or why that is not known.
    pub schedules: Result<Schedules, String>,
    /// Whether its annotation switches it off altogether.
    pub disabled: bool,
}

/// A Flux object that is suspended in Git, or that a CronJob suspends.
#[derive(Debug, Clone)]
pub struct Suspendable {
    pub id: ObjectId,
    /// Where `spec.suspend` is written, else the object.
    pub location: Option<Location>,
    /// `spec.suspend` if it is written; unknown values read as absent.
    pub suspend: Option<bool>,
}

/// A CronJob whose command opens or closes gates, or suspends or resumes.
#[derive(Debug, Clone)]
pub struct Job {
    pub id: ObjectId,
    /// Where its schedule is written.
    pub location: Option<Location>,
    /// Its schedule; or why it is not simulated.
    pub schedule: Result<CronSchedule, String>,
    /// What each run does, in order.
    pub actions: Vec<commands::FoundAction>,
}

/// A Flagger webhook that holds a Canary back.
#[derive(Debug, Clone)]
pub struct Hook {
    pub id: ObjectId,
    /// Where the hook's url is written.
    pub location: Option<Location>,
    /// `confirm-rollout`, `confirm-traffic-increase` or `confirm-promotion`.
    pub kind: Arc<str>,
    /// What the url answers, by the loadtester's paths: `/gate/halt` never
    /// approves, `/gate/approve` always does, all else depends.
    pub answer: Option<Position>,
}

/// An object that uses another's artifact: a consumer and its source.
#[derive(Debug, Clone)]
pub struct Consumer {
    pub id: ObjectId,
    /// Its source's kind, namespace and name.
    pub source: GateTarget,
}

/// A sync that waits for another to be ready.
#[derive(Debug, Clone)]
pub struct Dependant {
    /// The sync that waits.
    pub id: ObjectId,
    /// What it waits for.
    pub on: GateTarget,
    /// Its own source, if it has one.
    pub source: Option<GateTarget>,
}

/// An object named by a reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GateTarget {
    pub kind: Arc<str>,
    /// Its namespace, as written or that of the referrer.
    pub namespace: Option<Arc<str>>,
    pub name: Arc<str>,
}

impl GateTarget {
    /// Whether it names this object.
    pub fn is(&self, id: &ObjectId) -> bool {
        self.kind == id.kind && self.namespace == id.namespace && self.name == id.name
    }

    /// What names an object.
    pub fn of(id: &ObjectId) -> Self {
        GateTarget { kind: id.kind.clone(), namespace: id.namespace.clone(), name: id.name.clone() }
    }
}

/// All that gates and is gated in one cluster.
#[derive(Debug, Clone, Default)]
pub struct Gating {
    /// Gates.
    pub gates: Vec<Gate>,
    /// Objects that wait for them.
    pub gated: Vec<Gated>,
    /// Providers with a schedule.
    pub providers: Vec<Provider>,
    /// All suspendable objects that are suspended or that a CronJob touches.
    pub suspendable: Vec<Suspendable>,
    /// CronJobs that matter.
    pub jobs: Vec<Job>,
    /// Flagger's confirming webhooks.
    pub hooks: Vec<Hook>,
    /// Who consumes which source.
    pub consumers: Vec<Consumer>,
    /// Which sync waits for which.
    pub dependants: Vec<Dependant>,
    /// CronJobs with a command about a suspension that cannot be read, and the
    /// command.
    pub unread: Vec<(ObjectId, String)>,
}

impl Gating {
    /// Reads the objects of a cluster. Their order decides that of the result.
    pub fn read<'a>(objects: impl Iterator<Item = (&'a ObjectId, NodeRef<'a>)>) -> Self {
        let mut gating = Gating::default();
        let mut receivers: FxHashMap<GateTarget, Vec<ObjectId>> = FxHashMap::default();
        for (id, node) in objects {
            match (id.group(), &*id.kind) {
                (GATE_GROUP, "Gate") => gating.gates.push(read_gate(id, node)),
                ("fluxcd.controlplane.io", "ResourceSetInputProvider") => {
                    gating.providers.extend(read_provider(id, node));
                }
                ("batch", "CronJob") => gating.jobs.extend(read_job(id, node)),
                ("flagger.app", "Canary") => gating.hooks.extend(read_hooks(id, node)),
                ("notification.toolkit.fluxcd.io", "Receiver") => {
                    for (receiver, target) in read_receiver(id, node) {
                        receivers.entry(target).or_default().push(receiver);
                    }
                }
                // Alerts and providers hold no deployment back.
                ("notification.toolkit.fluxcd.io", _) => {}
                (group, _) if group.ends_with(".toolkit.fluxcd.io") => {
                    gating.gated.extend(read_gated(id, node));
                    gating.suspendable.push(read_suspendable(id, node));
                    gating.consumers.extend(read_consumers(id, node));
                    gating.dependants.extend(read_dependants(id, node));
                }
                ("source.extensions.fluxcd.io", "ArtifactGenerator") => {
                    gating.consumers.extend(read_generator(id, node));
                }
                _ => {}
            }
        }
        for gate in &mut gating.gates {
            gate.receivers.extend(receivers.get(&GateTarget::of(&gate.id)).into_iter().flatten().cloned());
        }
        for job in &mut gating.jobs {
            job.actions.retain(|found| match &found.action {
                Action::Unread(command) => {
                    gating.unread.push((job.id.clone(), command.clone()));
                    false
                }
                _ => true,
            });
        }
        gating.jobs.retain(|job| !job.actions.is_empty());
        let jobs = &gating.jobs;
        gating.suspendable.retain(|object| {
            let mut actions = jobs.iter().flat_map(|job| &job.actions);
            object.suspend == Some(true) || actions.any(|found| suspends(&found.action, &object.id))
        });
        gating
    }

    /// Everything that gets its artifacts from a source, directly or through
    /// charts and generators, each with what is between.
    pub fn downstream(&self, source: &ObjectId) -> Vec<&ObjectId> {
        let mut by_source: FxHashMap<&GateTarget, Vec<&ObjectId>> = FxHashMap::default();
        for consumer in &self.consumers {
            by_source.entry(&consumer.source).or_default().push(&consumer.id);
        }
        let mut found = Vec::new();
        let mut seen = FxHashSet::from_iter([GateTarget::of(source)]);
        let mut open = vec![GateTarget::of(source)];
        while let Some(target) = open.pop() {
            for id in by_source.get(&target).into_iter().flatten() {
                if seen.insert(GateTarget::of(id)) {
                    open.push(GateTarget::of(id));
                    found.push(*id);
                }
            }
        }
        found.sort();
        found
    }
}

/// Whether an action suspends or resumes an object.
pub(crate) fn suspends(action: &Action, id: &ObjectId) -> bool {
    matches!(action, Action::Suspend { kind, namespace, name, .. }
        if *kind == &*id.kind
            && id.namespace.as_deref() == Some(namespace)
            && name.as_deref().is_none_or(|name| name == &*id.name))
}

/// The timeout that a provider's schedules are checked against.
pub(crate) fn provider_timeout(node: NodeRef<'_>) -> Option<GoDuration> {
    let annotations = node.at("/metadata/annotations");
    let value = annotations.and_then(|all| all.get("fluxcd.controlplane.io/reconcileTimeout"));
    match value {
        None => Some(PROVIDER_TIMEOUT),
        // A malformed one silently counts as none.
        Some(value) => Some(GoDuration::parse(&value.text()?).unwrap_or(PROVIDER_TIMEOUT)),
    }
}
