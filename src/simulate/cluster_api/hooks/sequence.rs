//! One reconcile of a managed topology, as far as hooks decide it: which hooks
//! are called, which version the control plane takes, what waits.
//!
//! Mirrors cluster-api `exp/topology/desiredstate/{desired_state,lifecycle_hooks}.go`
//! (`computeControlPlaneVersion` and the hooks that it calls, `isMachineDeploymentDeferred`),
//! `core/reconcilers/topology/cluster/reconcile_state.go` (`callAfterHooks`) and
//! `cluster_controller.go` (`callBeforeClusterCreateHook`, `reconcileDelete`).

use super::{Answers, Hook, HookAnswer, PendingHooks};
use crate::model::kubernetes_version::{Order, Version};

/// Cluster annotation keys with this prefix block the start of an upgrade.
pub(crate) const BEFORE_UPGRADE_PREFIX: &str = "before-upgrade.hook.cluster.cluster.x-k8s.io";
/// Entry annotation: this worker and all after it wait.
pub(crate) const HOLD_UPGRADE_SEQUENCE: &str = "topology.cluster.x-k8s.io/hold-upgrade-sequence";
/// Entry annotation: this worker waits.
pub(crate) const DEFER_UPGRADE: &str = "topology.cluster.x-k8s.io/defer-upgrade";
/// Cluster annotation: BeforeClusterDelete is over.
pub(crate) const OK_TO_DELETE: &str = "runtime.cluster.x-k8s.io/ok-to-delete";

/// What the topology reconcile sees of a Cluster whose control plane exists.
#[derive(Debug, Clone, Default)]
pub(crate) struct ControlPlaneState {
    /// `spec.topology.version`.
    pub topology_version: String,
    /// Calls that are owed.
    pub pending: PendingHooks,
    /// `spec.version` of the control plane object.
    pub spec_version: String,
    /// `status.version` of it; absent while it is being provisioned.
    pub status_version: Option<String>,
    /// Steps left for the control plane.
    pub control_plane_plan: Vec<String>,
    /// Stops left for MachineDeployments.
    pub machine_deployments_plan: Vec<String>,
    /// Stops left for MachinePools.
    pub machine_pools_plan: Vec<String>,
    /// The oldest version among workers.
    pub min_workers_version: Option<String>,
    /// Whether a MachineDeployment or MachinePool is between two versions.
    pub workers_upgrading: bool,
    /// Feature gate RuntimeSDK; without it no hook is called.
    pub runtime_sdk: bool,
    /// Cluster annotations that start with [`BEFORE_UPGRADE_PREFIX`].
    pub before_upgrade_annotations: Vec<String>,
}

/// One call of a hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HookCall {
    pub hook: Hook,
    /// `fromKubernetesVersion`, or the version that was reached.
    pub from: Option<String>,
    /// `toKubernetesVersion`, or `kubernetesVersion` of an After hook.
    pub to: String,
    /// What came back.
    pub answer: HookAnswer,
}

/// What one reconcile decides about the control plane's version.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ControlPlaneDecision {
    /// Hooks in the order of their calls.
    pub calls: Vec<HookCall>,
    /// The version that the control plane gets; none after an error.
    pub version: Option<String>,
    /// It waits with a version that is not the topology's.
    pub is_pending_upgrade: bool,
    /// It takes the next version in this reconcile.
    pub is_starting_upgrade: bool,
    /// It waits for workers to reach its version.
    pub is_waiting_for_workers_upgrade: bool,
    /// It is being created.
    pub is_provisioning: bool,
    /// It is between two versions.
    pub is_upgrading: bool,
    /// The calls that are owed afterwards.
    pub pending: PendingHooks,
    /// The hook whose answer stopped the reconcile here.
    pub blocked_by: Option<Hook>,
    /// Annotations that stopped it in place of BeforeClusterUpgrade.
    pub blocked_by_annotations: Vec<String>,
    /// Why the reconcile failed.
    pub error: Option<String>,
}

/// Decides the control plane's version and calls the hooks on the way.
pub(crate) fn compute_control_plane_version(
    state: &ControlPlaneState,
    answers: &Answers,
) -> ControlPlaneDecision {
    let mut decision = ControlPlaneDecision {
        pending: state.pending.clone(),
        is_pending_upgrade: state.spec_version != state.topology_version,
        ..ControlPlaneDecision::default()
    };
    match next_version(state, answers, &mut decision) {
        Ok(version) => decision.version = Some(version),
        Err(error) => decision.error = Some(error),
    }
    decision
}

fn next_version(
    state: &ControlPlaneState,
    answers: &Answers,
    decision: &mut ControlPlaneDecision,
) -> Result<String, String> {
    let current = state.spec_version.clone();
    let Some(status) = &state.status_version else {
        decision.is_provisioning = true;
        return Ok(current);
    };
    if is_upgrading(&current, status)? {
        decision.is_upgrading = true;
        return Ok(current);
    }
    let caller = Caller { enabled: state.runtime_sdk, answers };
    let workers_from = state.min_workers_version.clone().unwrap_or_default();
    let owed = [(Hook::AfterControlPlaneUpgrade, None), (Hook::BeforeWorkersUpgrade, Some(workers_from))];
    for (hook, from) in owed {
        if !caller.call_owed(hook, from, &current, decision)? {
            return Ok(current);
        }
    }
    let waits = |plan: &[String]| plan.first() == Some(&current);
    if waits(&state.machine_deployments_plan) || waits(&state.machine_pools_plan) {
        decision.is_waiting_for_workers_upgrade = true;
        return Ok(current);
    }
    if state.workers_upgrading {
        return Ok(current);
    }
    if !caller.call_owed(Hook::AfterWorkersUpgrade, None, &current, decision)? || !decision.is_pending_upgrade
    {
        return Ok(current);
    }
    if state.runtime_sdk && !begins(state, &caller, &current, decision)? {
        return Ok(current);
    }
    let Some(next) = state.control_plane_plan.first().cloned() else {
        return Err("cannot compute the control plane version if the control plane is pending upgrade \
             and the upgrade plan is not set"
            .to_owned());
    };
    if state.runtime_sdk {
        let from = Some(current.clone());
        if !caller.call(Hook::BeforeControlPlaneUpgrade, from, &next, decision)? {
            return Ok(current);
        }
        decision.pending.mark([Hook::AfterControlPlaneUpgrade]);
        let stops = |plan: &[String]| plan.first() == Some(&next);
        if stops(&state.machine_deployments_plan) || stops(&state.machine_pools_plan) {
            decision.pending.mark([Hook::BeforeWorkersUpgrade, Hook::AfterWorkersUpgrade]);
        }
    }
    decision.is_starting_upgrade = true;
    decision.is_pending_upgrade = false;
    Ok(next)
}

/// Whether an upgrade may begin, or has begun.
fn begins(
    state: &ControlPlaneState,
    caller: &Caller<'_>,
    current: &str,
    decision: &mut ControlPlaneDecision,
) -> Result<bool, String> {
    // AfterClusterUpgrade is owed from the first step to the last, so its
    // mark tells the start of an upgrade from its middle.
    if !decision.pending.has(Hook::AfterClusterUpgrade) {
        if !state.before_upgrade_annotations.is_empty() {
            decision.blocked_by_annotations = state.before_upgrade_annotations.clone();
            return Ok(false);
        }
        let from = Some(current.to_owned());
        let to = &state.topology_version;
        if !caller.call(Hook::BeforeClusterUpgrade, from, to, decision)? {
            return Ok(false);
        }
    }
    decision.pending.mark([Hook::AfterClusterUpgrade]);
    Ok(true)
}

fn is_upgrading(spec: &str, status: &str) -> Result<bool, String> {
    let parse = |text: &str| {
        Version::parse(text).ok_or_else(|| format!("failed to parse control plane version {text}"))
    };
    let order = parse(spec)?.compare_with_build(&parse(status)?);
    Ok(matches!(order, Order::Greater | Order::Unordered))
}

struct Caller<'a> {
    enabled: bool,
    answers: &'a Answers,
}

impl Caller<'_> {
    /// Calls a hook if its call is owed, and takes it off the list unless it
    /// blocks. Returns whether the reconcile goes on.
    fn call_owed(
        &self,
        hook: Hook,
        from: Option<String>,
        to: &str,
        decision: &mut ControlPlaneDecision,
    ) -> Result<bool, String> {
        if !self.enabled || !decision.pending.has(hook) {
            return Ok(true);
        }
        let goes_on = self.call(hook, from, to, decision)?;
        if goes_on {
            decision.pending.done(hook);
        }
        Ok(goes_on)
    }

    fn call(
        &self,
        hook: Hook,
        from: Option<String>,
        to: &str,
        decision: &mut ControlPlaneDecision,
    ) -> Result<bool, String> {
        let Some(&answer) = self.answers.get(&hook) else {
            return Ok(true);
        };
        decision.calls.push(HookCall { hook, from, to: to.to_owned(), answer });
        match answer {
            HookAnswer::NonBlocking => Ok(true),
            HookAnswer::Blocking { .. } => {
                decision.blocked_by = Some(hook);
                Ok(false)
            }
            HookAnswer::Failure => {
                decision.blocked_by = Some(hook);
                Err(failure(hook))
            }
        }
    }
}

fn failure(hook: Hook) -> String {
    format!("failed to call extension handlers for hook \"{hook}.hooks.runtime.cluster.x-k8s.io\"")
}

/// What a call outside the control plane's version decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallOutcome {
    /// Whether the hook was called.
    pub called: bool,
    /// Whether it is owed afterwards.
    pub still_pending: bool,
    /// Seconds until the next try; 0 when nothing waits.
    pub requeue_after_seconds: i64,
    /// Whether the reconcile goes on to what the hook guards.
    pub proceeds: bool,
    /// Why the reconcile failed.
    pub error: Option<String>,
}

impl CallOutcome {
    fn not_called(still_pending: bool, proceeds: bool) -> Self {
        Self { called: false, still_pending, requeue_after_seconds: 0, proceeds, error: None }
    }

    fn of(hook: Hook, answer: Option<HookAnswer>, blocks: bool) -> Self {
        let (requeue_after_seconds, proceeds, error) = match answer {
            None | Some(HookAnswer::NonBlocking) => (0, true, None),
            Some(HookAnswer::Blocking { .. }) if !blocks => (0, true, None),
            Some(HookAnswer::Blocking { retry_after_seconds }) => (retry_after_seconds, false, None),
            Some(HookAnswer::Failure) => (0, false, Some(failure(hook))),
        };
        Self { called: answer.is_some(), still_pending: !proceeds, requeue_after_seconds, proceeds, error }
    }
}

/// BeforeClusterCreate: called until the Cluster names an infrastructure or a
/// control plane object.
pub(crate) fn before_cluster_create(
    infrastructure_ref_set: bool,
    control_plane_ref_set: bool,
    answer: Option<HookAnswer>,
) -> CallOutcome {
    if infrastructure_ref_set || control_plane_ref_set {
        return CallOutcome::not_called(false, true);
    }
    CallOutcome::of(Hook::BeforeClusterCreate, answer, true)
}

/// AfterControlPlaneInitialized: owed from creation on, called once, and only a
/// failure is repeated.
pub(crate) fn after_control_plane_initialized(
    about_to_be_created: bool,
    pending: &PendingHooks,
    initialized: bool,
    answer: Option<HookAnswer>,
) -> CallOutcome {
    let hook = Hook::AfterControlPlaneInitialized;
    let owed = about_to_be_created || pending.has(hook);
    if !owed || !initialized {
        return CallOutcome::not_called(owed, true);
    }
    CallOutcome::of(hook, answer, false)
}

/// The state of an upgrade that AfterClusterUpgrade waits for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UpgradeTracker {
    /// Not provisioning, upgrading, starting or pending.
    pub control_plane_unstable: bool,
    /// A MachineDeployment or MachinePool is upgrading, waits to be created, or
    /// its upgrade is pending or deferred.
    pub workers_unfinished: bool,
}

/// AfterClusterUpgrade: called when everything is at the topology's version and
/// the other After hooks are done.
pub(crate) fn after_cluster_upgrade(
    pending: &PendingHooks,
    tracker: UpgradeTracker,
    answer: Option<HookAnswer>,
) -> CallOutcome {
    let hook = Hook::AfterClusterUpgrade;
    let owed = pending.has(hook);
    let waits = pending.has(Hook::AfterControlPlaneUpgrade)
        || pending.has(Hook::AfterWorkersUpgrade)
        || tracker.control_plane_unstable
        || tracker.workers_unfinished;
    if !owed || waits {
        return CallOutcome::not_called(owed, !owed);
    }
    CallOutcome::of(hook, answer, true)
}

/// One entry of `spec.topology.workers.machineDeployments` or `machinePools`,
/// as far as it decides the order of upgrades.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkerEntry {
    /// The entry's name.
    pub name: String,
    /// The entry's annotations [`DEFER_UPGRADE`], [`HOLD_UPGRADE_SEQUENCE`].
    pub defers: bool,
    /// Whether it holds itself and everything after it.
    pub holds: bool,
}

/// Whether a worker's upgrade is deferred, by itself or by an earlier entry that
/// holds the sequence. A name that is not listed is not deferred.
pub(crate) fn is_deferred(entries: &[WorkerEntry], subject: &str) -> bool {
    for entry in entries {
        if entry.holds {
            // The hold covers this entry and all after it; the subject is one
            // of those, as the loop has not met it yet.
            return entries.iter().any(|e| e.name == subject);
        }
        if entry.name == subject {
            return entry.defers;
        }
    }
    false
}
