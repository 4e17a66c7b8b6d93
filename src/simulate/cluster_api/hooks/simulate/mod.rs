//! A whole life event of a managed Cluster as the sequence that an operator can
//! follow: hooks, control plane steps, workers; what blocks, what waits.

mod judge;

use std::collections::{BTreeMap, BTreeSet};

use super::mutation::MutationHook;
use super::sequence::{
    self, ControlPlaneState, DEFER_UPGRADE, HOLD_UPGRADE_SEQUENCE, HookCall, OK_TO_DELETE, WorkerEntry,
};
use super::upgrade_plan::{self, Observed, PlanSource, UpgradePlan};
use super::{Answers, Hook, HookAnswer};
use crate::model::kubernetes_version::Version;
use crate::simulate::behaviour::Behaviour;
use crate::simulate::cluster_api::propagation::WorkerKind;
use crate::simulate::cluster_api::references::Objects;
use crate::simulate::cluster_api::topology::class::has_chained_upgrades;
use crate::simulate::cluster_api::topology::{Cluster, version_rejection};

/// What happens to the Cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is created.
    Create,
    /// Its `spec.topology.version` changes.
    Upgrade,
    /// It is deleted.
    Delete,
}

/// What to simulate, and under which circumstances.
#[derive(Clone, Debug)]
pub struct SimulationRequest {
    /// The event.
    pub event: Event,
    /// Version before an upgrade; the Cluster's own unless `to` is missing.
    pub from: Option<String>,
    /// Version after it; the Cluster's own where `from` is given.
    pub to: Option<String>,
    /// Answers other than non-blocking.
    pub respond: Answers,
    /// Registered handlers by hook; `None`: unknown, so every hook is assumed to
    /// have one.
    pub handlers: Option<BTreeMap<Hook, Vec<String>>>,
    /// Cluster API's minor (1.x), where known.
    pub minor: Option<u64>,
    /// Hooks whose extension cannot be reached.
    pub unreachable: BTreeSet<Hook>,
    /// Handlers, as `handler.extension`, with `failurePolicy: Ignore`.
    pub ignoring: BTreeSet<String>,
    /// Feature gate RuntimeSDK.
    pub runtime_sdk: RuntimeSdk,
}

/// The feature gate without which no hook is called. Every release has it off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RuntimeSdk {
    /// It is stated to be on.
    On,
    /// It is stated to be off.
    Off,
    /// Nothing states it, so it is off.
    #[default]
    Unstated,
}

impl RuntimeSdk {
    /// Why no hook is called, if none is.
    pub fn silence(self) -> Option<&'static str> {
        match self {
            Self::On => None,
            Self::Off => Some("no lifecycle hook is called: the feature gate RuntimeSDK is off"),
            Self::Unstated => Some(
                "no lifecycle hook is called: the feature gate RuntimeSDK is off in every release unless \
                 stated, and nothing states it (target.features.runtimeSdk)",
            ),
        }
    }
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// A hook is called.
    Hook(Hook),
    /// One that decides what is made, or how Machines change.
    Mutation(MutationHook),
    /// The control plane is created, moves to a version, or is deleted.
    ControlPlane,
    /// Workers are created, move to a version, or are deleted.
    Workers,
}

/// How far a step gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It is over.
    Done,
    /// It waits for something outside.
    Blocked,
    /// It comes after what is blocked.
    Pending,
    /// It does not happen.
    Skipped,
    /// The reconcile fails here and is retried.
    Aborted,
}

impl StepState {
    /// The word in output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Pending => "pending",
            Self::Skipped => "skipped",
            Self::Aborted => "aborted",
        }
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookStep {
    /// What it does.
    pub kind: StepKind,
    /// Version before it.
    pub from: Option<String>,
    /// Version that it leads to.
    pub to: Option<String>,
    /// How far it gets.
    pub state: StepState,
    /// Whether an answer can hold it.
    pub blocking: bool,
    /// Registered handlers of its hook; `None`: unknown.
    pub handlers: Option<Vec<String>>,
    /// What to do when it is blocked.
    pub unblock: Vec<String>,
    /// Why it is in its state, or what it comprises.
    pub reason: String,
}

/// A sequence of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Simulation {
    /// What happens to the Cluster.
    pub event: Option<Event>,
    /// The class, as `namespace/name`.
    pub class: Option<String>,
    /// Version before and after.
    pub from: Option<String>,
    /// See `from`.
    pub to: Option<String>,
    /// The steps of an upgrade.
    pub plan: Option<UpgradePlan>,
    /// Where the plan comes from.
    pub plan_source: &'static str,
    /// Whether hooks are called at all; the steps are those with it on.
    pub runtime_sdk: RuntimeSdk,
    /// The steps in order.
    pub steps: Vec<HookStep>,
    /// What is withheld while the blocked step waits.
    pub withheld: Vec<String>,
    /// Why there are no steps, or what limits them.
    pub notes: Vec<String>,
    /// Whether the versions before and after an upgrade are the same.
    pub is_there_already: bool,
}

/// The workers of a topology as the sequence needs them.
struct Workers {
    kind: WorkerKind,
    entries: Vec<WorkerEntry>,
    replicas: Vec<Option<i64>>,
    /// Entries whose Machines are replaced only as somebody deletes them.
    on_delete: Vec<String>,
}

/// Simulates an event of a Cluster.
///
/// # Errors
/// A text for the user where versions are missing.
pub fn simulate<'a>(
    cluster: &Cluster<'a>,
    objects: &Objects<'a>,
    request: &SimulationRequest,
) -> Result<Simulation, String> {
    let class_ref = cluster.class_ref();
    let mut simulation = Simulation {
        event: Some(request.event),
        class: class_ref.as_ref().map(|c| format!("{}/{}", c.namespace, c.name)),
        runtime_sdk: request.runtime_sdk,
        ..Simulation::default()
    };
    let name = cluster.object.id;
    if cluster.topology().is_none() {
        simulation.notes.push(format!("no lifecycle hook is called: {name} has no managed topology"));
        return Ok(simulation);
    }
    if cluster.is_paused() {
        simulation
            .notes
            .push(format!("no lifecycle hook is called: {name} is paused, so nothing is reconciled"));
        return Ok(simulation);
    }
    let workers: Vec<Workers> =
        WorkerKind::BOTH.into_iter().map(|kind| read_workers(cluster, objects, kind)).collect();
    let runner = Runner { cluster, request, workers: &workers };
    match request.event {
        Event::Create => runner.create(objects, &mut simulation),
        Event::Delete => runner.delete(&mut simulation),
        Event::Upgrade => runner.upgrade(objects, &mut simulation)?,
    }
    runner.judge(&mut simulation);
    Ok(simulation)
}

fn read_workers<'a>(cluster: &Cluster<'a>, objects: &Objects<'a>, kind: WorkerKind) -> Workers {
    let entries = cluster.workers(kind);
    let class = cluster.class(objects);
    let waits = entries.iter().filter(|entry| cluster.is_on_delete(entry, class.as_ref()));
    Workers {
        kind,
        on_delete: waits.filter_map(|entry| entry.name.clone()).collect(),
        replicas: entries
            .iter()
            .map(|e| e.node.at("/replicas").and_then(crate::lang::yaml::NodeRef::as_int))
            .collect(),
        entries: entries
            .iter()
            .map(|e| WorkerEntry {
                name: e.name.clone().unwrap_or_default(),
                defers: e.has_annotation(DEFER_UPGRADE),
                holds: e.has_annotation(HOLD_UPGRADE_SEQUENCE),
            })
            .collect(),
    }
}

struct Runner<'r, 'a> {
    cluster: &'r Cluster<'a>,
    request: &'r SimulationRequest,
    workers: &'r [Workers],
}

impl Runner<'_, '_> {
    fn create(&self, objects: &Objects<'_>, simulation: &mut Simulation) {
        let version = self.cluster.version();
        let listed = self.cluster.class(objects).map(|class| class.kubernetes_versions(self.request.minor));
        let rejection = version
            .as_deref()
            .filter(|version| !version.contains("${"))
            .and_then(|version| version_rejection(version, &listed.unwrap_or_default()));
        if let Some(why) = rejection {
            simulation.notes.push(format!("the webhook rejects the Cluster: {why}"));
            return;
        }
        simulation.to = version.clone();
        self.push_hook(simulation, Hook::BeforeClusterCreate, None, None);
        simulation.steps.push(self.step(
            StepKind::ControlPlane,
            None,
            version.clone(),
            format!("created{}", self.control_plane_machines(": ")),
        ));
        // They are made in the same reconcile, and join by themselves: no hook
        // stands between.
        let machines = self.worker_machines();
        simulation.steps.push(self.step(
            StepKind::Workers,
            None,
            version,
            match machines.is_empty() {
                true => "none".to_owned(),
                false => format!("created at once, joining later: {machines}"),
            },
        ));
        self.push_hook(simulation, Hook::AfterControlPlaneInitialized, None, None);
    }

    fn delete(&self, simulation: &mut Simulation) {
        simulation.from = self.cluster.version();
        self.push_hook(simulation, Hook::BeforeClusterDelete, None, None);
        if self.annotations().any(|key| key == OK_TO_DELETE) {
            for step in &mut simulation.steps {
                step.state = StepState::Skipped;
                step.reason = format!("annotation {OK_TO_DELETE} is set on the Cluster");
            }
        }
        for kind in [StepKind::Workers, StepKind::ControlPlane] {
            simulation.steps.push(self.step(kind, None, None, "deleted".to_owned()));
        }
    }

    fn upgrade(&self, objects: &Objects<'_>, simulation: &mut Simulation) -> Result<(), String> {
        let (from, to) = self.versions()?;
        let same = Version::parse(&from).zip(Version::parse(&to)).is_some_and(|(from, to)| from == to);
        if same || from == to {
            simulation.to = Some(to);
            simulation.is_there_already = true;
            return Ok(());
        }
        simulation.from = Some(from.clone());
        simulation.to = Some(to.clone());
        let class = self.cluster.class(objects);
        let minor = self.request.minor;
        let listed = class.as_ref().map(|c| c.kubernetes_versions(minor)).unwrap_or_default();
        let extension = class.as_ref().and_then(|c| c.upgrade_plan_extension(minor));
        let may_be_planned = class.is_none() && has_chained_upgrades(minor);
        if may_be_planned {
            let why =
                "its ClusterClass is not in the repository: kubernetesVersions and extensions are unknown";
            simulation.notes.push(why.to_owned());
        }
        let key = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
        let unsafe_update = self.annotations().any(|own| own == key);
        let update = VersionUpdate {
            from: &from,
            to: &to,
            class_versions: &listed,
            plan_extension: extension.is_some() || may_be_planned,
        };
        if !unsafe_update && let Some(why) = update.rejection() {
            simulation.notes.push(format!("the webhook rejects the change: {why}"));
            return Ok(());
        }
        let skips = skips_a_minor(&from, &to);
        let plan = match extension {
            // One minor at a time would be refused, and the class may list others.
            None if may_be_planned && skips => {
                simulation.plan_source = "its class decides on the steps; the target only";
                self.direct_plan(&from, &to)
            }
            Some(extension) => {
                simulation.plan_source = "the target only";
                simulation.notes.push(format!(
                    "extension {extension} plans the steps, unknown offline: only the target is shown"
                ));
                self.direct_plan(&from, &to)
            }
            None => match self.computed_plan(&from, &to, listed, simulation) {
                Ok(plan) => plan,
                Err(error) => {
                    simulation.notes.push(format!("the topology reconcile fails: {error}"));
                    return Ok(());
                }
            },
        };
        self.walk(simulation, &from, &to, &plan);
        simulation.plan = Some(plan);
        self.note_pools(simulation);
        Ok(())
    }

    /// The versions before and after, as they are asked for or stated.
    fn versions(&self) -> Result<(String, String), String> {
        let own = self.cluster.version();
        let (from, to) = match (&self.request.from, &self.request.to) {
            (Some(from), Some(to)) => (Some(from.clone()), Some(to.clone())),
            (Some(from), None) => (Some(from.clone()), own),
            (None, Some(to)) => (own, Some(to.clone())),
            (None, None) => return Err("an upgrade needs --to, or --from the version before".to_owned()),
        };
        from.zip(to).ok_or_else(|| {
            "the Cluster's spec.topology.version is not known; state --from and --to".to_owned()
        })
    }

    /// The plan that Cluster API makes itself, from the versions that the class lists.
    fn computed_plan(
        &self,
        from: &str,
        to: &str,
        listed: Vec<String>,
        simulation: &mut Simulation,
    ) -> Result<UpgradePlan, String> {
        let source = if listed.is_empty() {
            simulation.plan_source = "one minor at a time";
            PlanSource::OneMinor
        } else {
            simulation.plan_source = "ClusterClass kubernetesVersions";
            PlanSource::ClassVersions(listed)
        };
        let of = |kind| if self.any_worker(kind) { vec![from.to_owned()] } else { Vec::new() };
        let observed = Observed {
            desired: to.to_owned(),
            control_plane: Some(from.to_owned()),
            machine_deployments: of(WorkerKind::MachineDeployment),
            machine_pools: of(WorkerKind::MachinePool),
        };
        upgrade_plan::compute(&observed, &source).map_err(|error| error.to_string())
    }

    /// cluster-api's contract of MachinePools leaves replacement to the provider.
    fn note_pools(&self, simulation: &mut Simulation) {
        let pools = self.workers.iter().filter(|w| w.kind == WorkerKind::MachinePool);
        let pools: Vec<&str> = pools.flat_map(|w| &w.entries).map(|entry| entry.name.as_str()).collect();
        if !pools.is_empty() {
            let which = list(&pools);
            simulation.notes.push(format!(
                "MachinePool {which}: its infrastructure provider decides whether instances are replaced, and when"
            ));
        }
    }

    fn direct_plan(&self, from: &str, to: &str) -> UpgradePlan {
        let stop = |kind| if self.any_worker(kind) { vec![to.to_owned()] } else { Vec::new() };
        UpgradePlan {
            control_plane: vec![to.to_owned()],
            machine_deployments: stop(WorkerKind::MachineDeployment),
            machine_pools: stop(WorkerKind::MachinePool),
            // Where there are no workers nothing asks for it.
            min_workers_version: Some(from.to_owned()),
        }
    }

    /// Runs reconcile after reconcile, every answer non-blocking, until the
    /// upgrade is over.
    fn walk(&self, simulation: &mut Simulation, from: &str, to: &str, plan: &UpgradePlan) {
        let answers: Answers = self.called().map(|hook| (hook, HookAnswer::NonBlocking)).collect();
        let mut state = ControlPlaneState {
            topology_version: to.to_owned(),
            spec_version: from.to_owned(),
            status_version: Some(from.to_owned()),
            control_plane_plan: plan.control_plane.clone(),
            machine_deployments_plan: plan.machine_deployments.clone(),
            machine_pools_plan: plan.machine_pools.clone(),
            min_workers_version: plan.min_workers_version.clone(),
            runtime_sdk: true,
            ..ControlPlaneState::default()
        };
        // Each pass takes a control plane step or a workers' stop, or ends.
        for _ in
            0..=2 * (plan.control_plane.len() + plan.machine_deployments.len() + plan.machine_pools.len())
        {
            let before = state.spec_version.clone();
            let decision = sequence::compute_control_plane_version(&state, &answers);
            for call in decision.calls {
                self.push_call(simulation, call);
            }
            state.pending = decision.pending;
            if let Some(error) = decision.error {
                simulation.notes.push(format!("the topology reconcile fails: {error}"));
                return;
            }
            if decision.is_starting_upgrade {
                let version = decision.version.unwrap_or_default();
                simulation.steps.push(self.step(
                    StepKind::ControlPlane,
                    Some(before),
                    Some(version.clone()),
                    self.control_plane_machines(""),
                ));
                state.control_plane_plan.retain(|step| *step != version);
                state.spec_version.clone_from(&version);
                state.status_version = Some(version);
            } else if decision.is_waiting_for_workers_upgrade {
                simulation.steps.push(self.step(
                    StepKind::Workers,
                    state.min_workers_version.clone(),
                    Some(before.clone()),
                    self.worker_machines(),
                ));
                for plan in [&mut state.machine_deployments_plan, &mut state.machine_pools_plan] {
                    plan.retain(|stop| *stop != before);
                }
                state.min_workers_version = Some(before);
            } else {
                break;
            }
        }
        if state.pending.has(Hook::AfterClusterUpgrade) {
            self.push_hook(simulation, Hook::AfterClusterUpgrade, None, Some(to.to_owned()));
        }
    }

    /// Whether this Cluster API does something, or may.
    fn reads(&self, behaviour: Behaviour) -> bool {
        self.request.minor.is_none_or(|minor| minor >= u64::from(behaviour.since))
    }

    fn any_worker(&self, kind: WorkerKind) -> bool {
        self.workers.iter().any(|w| w.kind == kind && !w.entries.is_empty())
    }

    /// Hooks that this Cluster API calls at all.
    fn called(&self) -> impl Iterator<Item = Hook> {
        let minor = self.request.minor;
        Hook::ALL.into_iter().filter(move |hook| minor.is_none_or(|minor| minor >= hook.since_minor()))
    }

    fn push_call(&self, simulation: &mut Simulation, call: HookCall) {
        self.push_hook(simulation, call.hook, call.from, Some(call.to));
    }

    fn push_hook(&self, simulation: &mut Simulation, hook: Hook, from: Option<String>, to: Option<String>) {
        simulation.steps.push(self.step(StepKind::Hook(hook), from, to, String::new()));
    }

    fn step(&self, kind: StepKind, from: Option<String>, to: Option<String>, reason: String) -> HookStep {
        let (blocking, handlers) = match kind {
            StepKind::Hook(hook) => (
                hook.may_block(self.request.minor),
                self.request.handlers.as_ref().map(|h| h.get(&hook).cloned().unwrap_or_default()),
            ),
            _ => (false, Some(Vec::new())),
        };
        HookStep { kind, from, to, state: StepState::Done, blocking, handlers, unblock: Vec::new(), reason }
    }

    fn annotations(&self) -> impl Iterator<Item = String> {
        self.cluster.object.node.entries_at("/metadata/annotations").map(|entry| entry.key.into_owned())
    }
}

fn list(names: &[&str]) -> String {
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// A change of `spec.topology.version`, as the Cluster webhook judges it
/// (cluster-api `core/webhooks/admission/cluster.go`
/// `validateTopologyVersionUpdate`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct VersionUpdate<'v> {
    /// Version before.
    pub from: &'v str,
    /// Version after.
    pub to: &'v str,
    /// `spec.kubernetesVersions` of the class.
    pub class_versions: &'v [String],
    /// Whether the class names an extension that plans upgrades, or may.
    pub plan_extension: bool,
}

impl VersionUpdate<'_> {
    /// Why the webhook rejects it, as far as the versions alone tell.
    pub(crate) fn rejection(&self) -> Option<String> {
        let (Some(from), Some(to)) = (Version::parse(self.from), Version::parse(self.to)) else {
            return Some(format!("{} or {} is no semantic version", self.from, self.to));
        };
        if let Some(why) = version_rejection(self.to, &[]) {
            return Some(why);
        }
        if to.compare_release(&from).is_lt() {
            return Some(format!("{} is older than {}", self.to, self.from));
        }
        let chained = !self.class_versions.is_empty() || self.plan_extension;
        if !chained && (to.major, to.minor) >= (from.major, from.minor + 2) {
            return Some(format!(
                "{} to {} skips a minor, which needs kubernetesVersions in the ClusterClass and Cluster API 1.12",
                self.from, self.to
            ));
        }
        version_rejection(self.to, self.class_versions)
    }
}

/// Whether an upgrade leaves out a minor version.
fn skips_a_minor(from: &str, to: &str) -> bool {
    Version::parse(from)
        .zip(Version::parse(to))
        .is_some_and(|(from, to)| (to.major, to.minor) >= (from.major, from.minor + 2))
}
