//! What gates and what is gated, read from the objects of one cluster.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::commands::{self, Action, Container};
use super::{GateSpec, Position, Request, parse_request_time};
use crate::config::Feature;
use crate::lang::go::cron::CronSchedule;
use crate::lang::go::duration::GoDuration;
use crate::lang::yaml::{Location, NodeRef};
use crate::model::{ObjectId, kinds};
use crate::simulate::gating::schedule::{ScheduleSpec, Schedules};
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

/// A Gate.
#[derive(Debug, Clone)]
pub struct Gate {
    /// Its identity.
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
    pub requests: Vec<(Request, Option<Location>)>,
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
    /// Its identity.
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
    /// Its identity.
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
    /// Its identity.
    pub id: ObjectId,
    /// Where `spec.suspend` is written, else the object.
    pub location: Option<Location>,
    /// `spec.suspend` if it is written; unknown values read as absent.
    pub suspend: Option<bool>,
}

/// A CronJob whose command opens or closes gates, or suspends or resumes.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its identity.
    pub id: ObjectId,
    /// Where its schedule is written.
    pub location: Option<Location>,
    /// Its schedule; or why it is not simulated.
    pub schedule: Result<CronSchedule, String>,
    /// What each run does, in order.
    pub actions: Vec<commands::Found>,
}

/// A Flagger webhook that holds a Canary back.
#[derive(Debug, Clone)]
pub struct Hook {
    /// The Canary.
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
    /// The consumer.
    pub id: ObjectId,
    /// Its source's kind, namespace and name.
    pub source: Target,
}

/// A sync that waits for another to be ready.
#[derive(Debug, Clone)]
pub struct Dependant {
    /// The sync that waits.
    pub id: ObjectId,
    /// What it waits for.
    pub on: Target,
    /// Its own source, if it has one.
    pub source: Option<Target>,
}

/// An object named by a reference.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// Its kind.
    pub kind: Arc<str>,
    /// Its namespace, as written or that of the referrer.
    pub namespace: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
}

impl Target {
    /// Whether it names this object.
    pub fn is(&self, id: &ObjectId) -> bool {
        self.kind == id.kind && self.namespace == id.namespace && self.name == id.name
    }

    fn of(id: &ObjectId) -> Self {
        Target { kind: id.kind.clone(), namespace: id.namespace.clone(), name: id.name.clone() }
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
        let mut receivers = Vec::new();
        for (id, node) in objects {
            match (id.group(), &*id.kind) {
                (GATE_GROUP, "Gate") => gating.gates.push(read_gate(id, node)),
                ("fluxcd.controlplane.io", "ResourceSetInputProvider") => {
                    gating.providers.extend(read_provider(id, node));
                }
                ("batch", "CronJob") => gating.jobs.extend(read_job(id, node)),
                ("flagger.app", "Canary") => gating.hooks.extend(read_hooks(id, node)),
                ("notification.toolkit.fluxcd.io", "Receiver") => {
                    receivers.extend(read_receiver(id, node));
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
            let named = receivers.iter().filter(|(_, target)| target.is(&gate.id));
            gate.receivers.extend(named.map(|(receiver, _)| receiver.clone()));
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

    /// The gate that an object's reference names: one of its own namespace.
    pub fn gate(&self, namespace: Option<&str>, name: &str) -> Option<&Gate> {
        self.gates.iter().find(|gate| gate.id.namespace.as_deref() == namespace && &*gate.id.name == name)
    }

    /// Everything that gets its artifacts from a source, directly or through
    /// charts and generators, each with what is between.
    pub fn downstream(&self, source: &ObjectId) -> Vec<&ObjectId> {
        let mut by_source: FxHashMap<&Target, Vec<&ObjectId>> = FxHashMap::default();
        for consumer in &self.consumers {
            by_source.entry(&consumer.source).or_default().push(&consumer.id);
        }
        let mut found = Vec::new();
        let mut seen = FxHashSet::from_iter([Target::of(source)]);
        let mut open = vec![Target::of(source)];
        while let Some(target) = open.pop() {
            for id in by_source.get(&target).into_iter().flatten() {
                if seen.insert(Target::of(id)) {
                    open.push(Target::of(id));
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

/// A duration field: absent, well-formed, or unusable.
enum Field {
    Absent,
    Value(GoDuration),
    Unusable,
}

fn duration(node: NodeRef<'_>, pointer: &str) -> Field {
    match node.at(pointer).filter(|value| !value.is_null()) {
        None => Field::Absent,
        Some(value) => match value.as_str().and_then(|text| GoDuration::parse(&text).ok()) {
            Some(duration) if !value.is_unknown() => Field::Value(duration),
            _ => Field::Unusable,
        },
    }
}

fn interval(node: NodeRef<'_>) -> Option<GoDuration> {
    match duration(node, "/spec/interval") {
        Field::Value(interval) => Some(interval),
        Field::Absent | Field::Unusable => None,
    }
}

fn read_gate(id: &ObjectId, node: NodeRef<'_>) -> Gate {
    let mut unknown = None;
    let default = node.at("/spec/default").filter(|value| !value.is_null());
    let position = match default.map(|value| value.as_str()) {
        Some(Some(word)) if word == "opened" => Some(Position::Opened),
        Some(Some(word)) if word == "closed" => Some(Position::Closed),
        None => None,
        Some(_) => {
            unknown = Some("spec.default is neither opened nor closed".to_string());
            None
        }
    };
    let window = match duration(node, "/spec/window") {
        Field::Value(window) => Some(window),
        Field::Absent => None,
        Field::Unusable => {
            unknown = Some("spec.window is no known duration".to_string());
            None
        }
    };
    let mut requests = Vec::new();
    for position in [Position::Opened, Position::Closed] {
        let key = position.annotation();
        let annotations = node.at("/metadata/annotations");
        let Some(value) = annotations.and_then(|annotations| annotations.get(key)) else {
            continue;
        };
        match value.text() {
            // One that is malformed is a finding, and ignored.
            Some(text) => requests
                .extend(parse_request_time(&text).map(|at| (Request { at, position }, value.location()))),
            None => unknown = Some(format!("the annotation {key} is not known")),
        }
    }
    Gate {
        id: id.clone(),
        location: node.location(),
        default: position,
        spec: GateSpec { default: position.unwrap_or(Position::Closed), window },
        interval: interval(node),
        requests,
        unknown,
        receivers: Vec::new(),
    }
}

fn read_gated(id: &ObjectId, node: NodeRef<'_>) -> Option<Gated> {
    if !is_gateable(id) {
        return None;
    }
    let list = node.at("/spec/gates").filter(|list| !list.is_null())?;
    let mut gates = Vec::new();
    // What names no gate is no gate that could be looked up: `malformed-gate-reference`.
    let mut has_unknown_gate = list.is_unknown() || !list.is_seq();
    for item in list.items() {
        match item.at("/name").map(|name| (name.as_str(), name.is_unknown())) {
            Some((Some(name), false)) if !name.is_empty() => {
                let location = item.location_at("/name");
                let namespace = item.at("/namespace").filter(|value| !value.is_null());
                let name: Arc<str> = match namespace.map(|value| value.as_str()) {
                    Some(Some(other)) if Some(&*other) != id.namespace.as_deref() => {
                        format!("{other}/{name}").into()
                    }
                    Some(None) => {
                        has_unknown_gate = true;
                        continue;
                    }
                    _ => name.as_ref().into(),
                };
                if gates.iter().all(|known: &GateReference| known.name != name) {
                    gates.push(GateReference { name, location });
                }
            }
            _ => has_unknown_gate = true,
        }
    }
    if gates.is_empty() && !has_unknown_gate {
        return None;
    }
    Some(Gated {
        id: id.clone(),
        location: node.location(),
        gates,
        has_unknown_gate,
        is_source: id.group() == "source.toolkit.fluxcd.io",
        interval: interval(node),
    })
}

fn read_suspendable(id: &ObjectId, node: NodeRef<'_>) -> Suspendable {
    let suspend = node.at("/spec/suspend");
    Suspendable {
        id: id.clone(),
        location: suspend.and_then(NodeRef::location).or_else(|| node.location()),
        suspend: suspend.and_then(NodeRef::as_bool),
    }
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

fn read_provider(id: &ObjectId, node: NodeRef<'_>) -> Option<Provider> {
    let list = node.at("/spec/schedule").filter(|list| !list.is_null())?;
    let annotations = node.at("/metadata/annotations");
    let disabled = annotations
        .and_then(|all| all.get("fluxcd.controlplane.io/reconcile"))
        .and_then(NodeRef::text)
        .is_some_and(|value| value.eq_ignore_ascii_case("disabled"));
    Some(Provider {
        id: id.clone(),
        location: node.location_at("/spec/schedule"),
        schedules: read_schedules(list, provider_timeout(node)),
        disabled,
    })
}

fn read_schedules(list: NodeRef<'_>, timeout: Option<GoDuration>) -> Result<Schedules, String> {
    let unknown = || "the schedule is not known".to_string();
    let timeout = timeout.ok_or_else(unknown)?;
    let mut entries = Vec::new();
    for item in list.items() {
        let text = |pointer: &str, default: &str| match item.at(pointer).filter(|value| !value.is_null()) {
            None => Ok(default.to_string()),
            Some(value) => value.as_str().map(String::from).ok_or_else(unknown),
        };
        let window = text("/window", "0s")?;
        let window = GoDuration::parse(&window).map_err(|error| error.to_string())?;
        entries.push((text("/cron", "")?, text("/timeZone", "UTC")?, window));
    }
    let specs: Vec<ScheduleSpec<'_>> = entries
        .iter()
        .map(|(cron, time_zone, window)| ScheduleSpec { cron, time_zone, window: *window })
        .collect();
    Schedules::new(&specs, timeout).map_err(|error| error.to_string())
}

fn read_job(id: &ObjectId, node: NodeRef<'_>) -> Option<Job> {
    let pod = node.at("/spec/jobTemplate/spec/template/spec")?;
    let strings = |container: NodeRef<'_>, pointer: &str| -> Vec<String> {
        container.items_at(pointer).map(|item| item.text().unwrap_or_default().into_owned()).collect()
    };
    let actions: Vec<commands::Found> = pod
        .items_at("/initContainers")
        .chain(pod.items_at("/containers"))
        .flat_map(|container| {
            commands::actions(&Container {
                image: container.str_at("/image").unwrap_or_default().into_owned(),
                command: strings(container, "/command"),
                args: strings(container, "/args"),
                env: container
                    .items_at("/env")
                    .filter_map(|entry| {
                        Some((entry.str_at("/name")?.into_owned(), entry.str_at("/value")?.into_owned()))
                    })
                    .collect(),
            })
        })
        .collect();
    let own = id.namespace.as_deref().unwrap_or("default");
    let actions: Vec<commands::Found> = actions
        .into_iter()
        .map(|mut found| {
            if let Action::Suspend { namespace, .. } = &mut found.action
                && namespace.is_empty()
            {
                *namespace = own.to_owned();
            }
            found
        })
        .collect();
    if actions.is_empty() || node.at("/spec/suspend").and_then(NodeRef::as_bool) == Some(true) {
        return None;
    }
    Some(Job {
        id: id.clone(),
        location: node.location_at("/spec/schedule"),
        schedule: read_cron(node),
        actions,
    })
}

fn read_cron(node: NodeRef<'_>) -> Result<CronSchedule, String> {
    let known = |pointer: &str| match node.at(pointer).filter(|value| !value.is_null()) {
        None => Ok(None),
        Some(value) => match value.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err("the schedule is not known".to_string()),
        },
    };
    let expression = known("/spec/schedule")?.unwrap_or_default();
    if expression.contains("TZ") {
        return Err("Kubernetes refuses a time zone in spec.schedule".into());
    }
    // Without a zone Kubernetes takes the controller manager's, mostly UTC.
    let zone = known("/spec/timeZone")?.unwrap_or_else(|| "UTC".into());
    let schedule = CronSchedule::parse_in(&expression, &zone).map_err(|error| error.to_string())?;
    if schedule.is_every() {
        return Err("an @every schedule counts from a time that only the cluster knows".into());
    }
    Ok(schedule)
}

fn read_hooks(id: &ObjectId, node: NodeRef<'_>) -> Vec<Hook> {
    node.items_at("/spec/analysis/webhooks")
        .filter_map(|hook| {
            let kind = hook.str_at("/type")?;
            let url = hook.str_at("/url")?;
            let path = url.split_once("/gate/")?.1;
            kind.starts_with("confirm-").then(|| Hook {
                id: id.clone(),
                location: hook.location_at("/url"),
                kind: kind.as_ref().into(),
                answer: match path.trim_end_matches('/') {
                    "halt" => Some(Position::Closed),
                    "approve" => Some(Position::Opened),
                    _ => None,
                },
            })
        })
        .collect()
}

fn read_receiver(id: &ObjectId, node: NodeRef<'_>) -> Vec<(ObjectId, Target)> {
    node.items_at("/spec/resources")
        .filter(|item| item.str_at("/kind").as_deref() == Some("Gate"))
        .filter_map(|item| Some((id.clone(), target(id, item, Some("Gate"))?)))
        .collect()
}

/// The object that a reference `{kind, name, namespace}` names.
fn target(id: &ObjectId, reference: NodeRef<'_>, kind: Option<&str>) -> Option<Target> {
    let text = |pointer: &str| reference.at(pointer).filter(|value| !value.is_null());
    let namespace = match text("/namespace") {
        Some(namespace) => Some(namespace.as_str()?.as_ref().into()),
        None => id.namespace.clone(),
    };
    Some(Target {
        kind: match text("/kind") {
            Some(kind) => kind.as_str()?.as_ref().into(),
            None => kind?.into(),
        },
        namespace,
        name: text("/name")?.as_str()?.as_ref().into(),
    })
}

fn read_consumers(id: &ObjectId, node: NodeRef<'_>) -> Vec<Consumer> {
    let mut found: Vec<Target> = ["/spec/sourceRef", "/spec/chart/spec/sourceRef", "/spec/chartRef"]
        .iter()
        .filter_map(|pointer| target(id, node.at(pointer)?, None))
        .collect();
    found.extend(
        node.items_at("/spec/include")
            .filter_map(|item| target(id, item.at("/repository")?, Some("GitRepository"))),
    );
    // An image automation clones the repository itself; the source's artifact
    // does not matter to it.
    if &*id.kind == "ImageUpdateAutomation" {
        found.clear();
    }
    found.into_iter().map(|source| Consumer { id: id.clone(), source }).collect()
}

/// A generator consumes its sources, and each artifact it makes consumes it.
fn read_generator(id: &ObjectId, node: NodeRef<'_>) -> Vec<Consumer> {
    let sources = node.items_at("/spec/sources").filter_map(|item| target(id, item, None));
    let mut found: Vec<Consumer> = sources.map(|source| Consumer { id: id.clone(), source }).collect();
    for artifact in node.items_at("/spec/artifacts") {
        if let Some(name) = artifact.str_at("/name") {
            let artifact = ObjectId {
                api_version: "source.toolkit.fluxcd.io/v1".into(),
                kind: "ExternalArtifact".into(),
                namespace: id.namespace.clone(),
                name: name.as_ref().into(),
            };
            found.push(Consumer { id: artifact, source: Target::of(id) });
        }
    }
    found
}

fn read_dependants(id: &ObjectId, node: NodeRef<'_>) -> Vec<Dependant> {
    let source = node.at("/spec/sourceRef").and_then(|reference| target(id, reference, None));
    node.items_at("/spec/dependsOn")
        .filter(|item| item.at("/readyExpr").is_none_or(NodeRef::is_null))
        .filter_map(|item| {
            let on = target(id, item, Some(&id.kind))?;
            Some(Dependant { id: id.clone(), on, source: source.clone() })
        })
        .collect()
}
