//! `forebay simulate hooks --input FILE`: one observed state in upstream's
//! terms, and what one reconcile makes of it.
//!
//! The shapes of input and answer are those of the recorded upstream cases; the
//! keys of the input tell which question is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::sequence::{self, CallOutcome, ControlPlaneState, HookCall, UpgradeTracker, WorkerEntry};
use super::upgrade_plan::{self, Observed, PlanSource};
use super::{Answers, Hook, HookAnswer, PendingHooks, in_place, mutation_input};

/// Answers one input.
///
/// # Errors
/// A text for the user: the input is not an object, asks nothing known, or has
/// a field of a wrong type.
pub fn answer(input: &Value) -> Result<Value, String> {
    let has = |key: &str| input.get(key).is_some();
    if let Some(function) = input.get("function").and_then(Value::as_str) {
        return match in_place::NAMES.contains(&function) {
            true => Ok(read::<in_place::Question>(input)?.answer()),
            false => read::<mutation_input::Question>(input)?.answer(),
        };
    }
    if has("topologyList") {
        deferral(read(input)?)
    } else if has("desiredVersion") {
        plan(read(input)?)
    } else if has("topologyVersion") {
        control_plane(read(input)?)
    } else if has("pendingHooksAnnotation") || has("upgradeTracker") {
        after_hook(read(input)?)
    } else if has("infrastructureRefSet") || has("controlPlaneRefSet") {
        before_create(read(input)?)
    } else {
        Err("the input asks nothing known: expected one of the keys topologyVersion (hooks of an \
             upgrade), desiredVersion (upgrade plan), topologyList (deferral), \
             pendingHooksAnnotation (After hooks), infrastructureRefSet (creation) or function (topology \
             mutation and updates in place, such as canUpdateMachineSetInPlace)"
            .to_owned())
    }
}

fn read<T: for<'de> Deserialize<'de>>(input: &Value) -> Result<T, String> {
    T::deserialize(input).map_err(|e| format!("the input cannot be read: {e}"))
}

fn write(result: impl Serialize) -> Result<Value, String> {
    serde_json::to_value(result).map_err(|e| format!("the answer cannot be written: {e}"))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ControlPlaneInput {
    topology_version: String,
    #[serde(default)]
    pending_hooks: Option<String>,
    control_plane_spec_version: String,
    #[serde(default)]
    control_plane_status_version: Option<String>,
    #[serde(default)]
    control_plane_upgrade_plan: Vec<String>,
    #[serde(default)]
    min_workers_version: Option<String>,
    #[serde(default)]
    machine_deployments_upgrade_plan: Vec<String>,
    #[serde(default)]
    machine_pools_upgrade_plan: Vec<String>,
    #[serde(default)]
    workers_upgrading: bool,
    #[serde(default)]
    cluster_annotations: std::collections::BTreeMap<String, String>,
    #[serde(default, rename = "featureGateRuntimeSDK")]
    runtime_sdk: Option<bool>,
    #[serde(default)]
    hook_responses: std::collections::BTreeMap<String, String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ControlPlaneAnswer {
    hooks_called_in_order: Vec<CallAnswer>,
    control_plane_version: Option<String>,
    is_pending_upgrade: bool,
    is_starting_upgrade: bool,
    is_waiting_for_workers_upgrade: bool,
    pending_hooks: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallAnswer {
    hook: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kubernetes_version: Option<String>,
}

impl From<HookCall> for CallAnswer {
    fn from(call: HookCall) -> Self {
        let (to_version, kubernetes_version) = match call.from {
            Some(_) => (Some(call.to), None),
            None => (None, Some(call.to)),
        };
        Self { hook: call.hook.name(), from_version: call.from, to_version, kubernetes_version }
    }
}

fn control_plane(input: ControlPlaneInput) -> Result<Value, String> {
    let mut answers = Answers::new();
    for (name, text) in &input.hook_responses {
        let hook = Hook::from_name(name).ok_or_else(|| unknown_hook(name))?;
        answers.insert(hook, parse_answer(text)?);
    }
    let state = ControlPlaneState {
        topology_version: input.topology_version,
        pending: PendingHooks::parse(input.pending_hooks.as_deref().unwrap_or_default()),
        spec_version: input.control_plane_spec_version,
        status_version: input.control_plane_status_version,
        control_plane_plan: input.control_plane_upgrade_plan,
        machine_deployments_plan: input.machine_deployments_upgrade_plan,
        machine_pools_plan: input.machine_pools_upgrade_plan,
        min_workers_version: input.min_workers_version,
        workers_upgrading: input.workers_upgrading,
        runtime_sdk: input.runtime_sdk.unwrap_or(true),
        before_upgrade_annotations: input
            .cluster_annotations
            .into_keys()
            .filter(|key| key.starts_with(sequence::BEFORE_UPGRADE_PREFIX))
            .collect(),
    };
    let decision = sequence::compute_control_plane_version(&state, &answers);
    write(ControlPlaneAnswer {
        hooks_called_in_order: decision.calls.into_iter().map(CallAnswer::from).collect(),
        control_plane_version: decision.version,
        is_pending_upgrade: decision.is_pending_upgrade,
        is_starting_upgrade: decision.is_starting_upgrade,
        is_waiting_for_workers_upgrade: decision.is_waiting_for_workers_upgrade,
        pending_hooks: decision.pending.to_string(),
        error: decision.error,
    })
}

fn unknown_hook(name: &str) -> String {
    let known: Vec<&str> = Hook::ALL.iter().map(|hook| hook.name()).collect();
    format!("no lifecycle hook is named {name}; known: {}", known.join(", "))
}

/// Reads an answer as the cases write it: `blocking(retryAfterSeconds=10)`,
/// `non-blocking`, `Success, retryAfterSeconds=0`, `failureResponse`.
fn parse_answer(text: &str) -> Result<HookAnswer, String> {
    let lower = text.to_ascii_lowercase();
    let retry = lower.split_once("retryafterseconds=").and_then(|(_, rest)| {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest[..end].parse::<i64>().ok()
    });
    if lower.starts_with("fail") {
        return Ok(HookAnswer::Failure);
    }
    match retry {
        Some(0) => return Ok(HookAnswer::NonBlocking),
        Some(retry_after_seconds) => {
            return Ok(HookAnswer::Blocking { retry_after_seconds });
        }
        None => {}
    }
    if lower.starts_with("non-blocking") || lower.starts_with("success") {
        Ok(HookAnswer::NonBlocking)
    } else if lower.starts_with("blocking") {
        Ok(HookAnswer::Blocking { retry_after_seconds: 10 })
    } else {
        Err(format!("no hook answers {text:?}; expected blocking, non-blocking or failure"))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlanInput {
    desired_version: String,
    #[serde(default)]
    control_plane_version: Option<String>,
    #[serde(default)]
    machine_deployment_version: Option<String>,
    #[serde(default)]
    machine_pool_version: Option<String>,
    #[serde(default)]
    cluster_class_versions: Option<Vec<String>>,
    #[serde(default)]
    plan_function_returns: Option<PlanReturns>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PlanReturns {
    #[serde(default)]
    control_plane: Option<Vec<String>>,
    #[serde(default)]
    workers: Option<Vec<String>>,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanAnswer {
    control_plane_upgrade_plan: Vec<String>,
    machine_deployment_upgrade_plan: Vec<String>,
    machine_pool_upgrade_plan: Vec<String>,
    error: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_message: Option<String>,
}

fn plan(input: PlanInput) -> Result<Value, String> {
    let has_workers = input.machine_deployment_version.is_some() || input.machine_pool_version.is_some();
    let source = match (input.plan_function_returns, input.cluster_class_versions) {
        (Some(returns), _) => PlanSource::Extension {
            control_plane: returns.control_plane.unwrap_or_default(),
            workers: returns.workers.unwrap_or_default(),
            // Go writes the absence of an error as nil, with a comment or not.
            error: returns.error.filter(|e| !e.trim_start().starts_with("nil")),
        },
        (None, Some(versions)) => PlanSource::ClassVersions(versions),
        (None, None) => PlanSource::OneMinor,
    };
    let computed = match (&source, &input.control_plane_version) {
        // The planning function alone: its result before the rules of plans.
        (PlanSource::ClassVersions(_) | PlanSource::OneMinor, Some(current)) if !has_workers => {
            upgrade_plan::steps(&source, &input.desired_version, current)
                .map(|(steps, _)| upgrade_plan::UpgradePlan { control_plane: steps, ..Default::default() })
        }
        _ => upgrade_plan::compute(
            &Observed {
                desired: input.desired_version,
                control_plane: input.control_plane_version,
                machine_deployments: input.machine_deployment_version.into_iter().collect(),
                machine_pools: input.machine_pool_version.into_iter().collect(),
            },
            &source,
        ),
    };
    let (plan, error_message) = match computed {
        Ok(plan) => (plan, None),
        Err(message) => (Default::default(), Some(message)),
    };
    write(PlanAnswer {
        control_plane_upgrade_plan: plan.control_plane,
        machine_deployment_upgrade_plan: plan.machine_deployments,
        machine_pool_upgrade_plan: plan.machine_pools,
        error: error_message.is_some(),
        error_message,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DeferralInput {
    topology_list: Vec<TopologyEntry>,
    subject: String,
}

#[derive(Deserialize)]
struct TopologyEntry {
    name: String,
    #[serde(default)]
    annotations: std::collections::BTreeMap<String, String>,
}

fn deferral(input: DeferralInput) -> Result<Value, String> {
    let entries: Vec<WorkerEntry> = input
        .topology_list
        .into_iter()
        .map(|entry| WorkerEntry {
            defers: entry.annotations.contains_key(sequence::DEFER_UPGRADE),
            holds: entry.annotations.contains_key(sequence::HOLD_UPGRADE_SEQUENCE),
            name: entry.name,
        })
        .collect();
    Ok(serde_json::json!({"deferred": sequence::is_deferred(&entries, &input.subject)}))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AfterHookInput {
    #[serde(default)]
    hook_response: Option<String>,
    #[serde(default)]
    pending_hooks_annotation: Option<String>,
    #[serde(default)]
    upgrade_tracker: Vec<String>,
    #[serde(default)]
    control_plane_initialized: Option<bool>,
    #[serde(default)]
    infrastructure_ref_set: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AfterHookAnswer {
    hook_called: bool,
    still_pending: bool,
    error: bool,
}

impl From<CallOutcome> for AfterHookAnswer {
    fn from(outcome: CallOutcome) -> Self {
        Self {
            hook_called: outcome.called,
            still_pending: outcome.still_pending,
            error: outcome.error.is_some(),
        }
    }
}

fn after_hook(input: AfterHookInput) -> Result<Value, String> {
    let pending = PendingHooks::parse(input.pending_hooks_annotation.as_deref().unwrap_or_default());
    let answer = input.hook_response.as_deref().map(parse_answer).transpose()?;
    let outcome = match input.control_plane_initialized {
        Some(initialized) => {
            let created = input.infrastructure_ref_set.unwrap_or(initialized);
            sequence::after_control_plane_initialized(!created, &pending, initialized, answer)
        }
        None => sequence::after_cluster_upgrade(&pending, tracker(&input.upgrade_tracker)?, answer),
    };
    write(AfterHookAnswer::from(outcome))
}

/// Reads the statements with which upstream's tests set up their tracker.
fn tracker(statements: &[String]) -> Result<UpgradeTracker, String> {
    let mut tracker = UpgradeTracker::default();
    for statement in statements {
        if let Some(field) = statement.strip_prefix("ControlPlane.") {
            tracker.control_plane_unstable |= field.trim_end().ends_with("true");
        } else if statement.starts_with("MachineDeployments.Mark")
            || statement.starts_with("MachinePools.Mark")
        {
            tracker.workers_unfinished = true;
        } else {
            return Err(format!("the upgrade tracker has no {statement:?}"));
        }
    }
    Ok(tracker)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BeforeCreateInput {
    #[serde(default)]
    hook_response: Option<String>,
    #[serde(default)]
    infrastructure_ref_set: bool,
    #[serde(default)]
    control_plane_ref_set: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BeforeCreateAnswer {
    requeue_after_seconds: i64,
    error: bool,
    topology_objects_created: bool,
}

fn before_create(input: BeforeCreateInput) -> Result<Value, String> {
    let answer = input.hook_response.as_deref().map(parse_answer).transpose()?;
    let outcome =
        sequence::before_cluster_create(input.infrastructure_ref_set, input.control_plane_ref_set, answer);
    write(BeforeCreateAnswer {
        requeue_after_seconds: outcome.requeue_after_seconds,
        error: outcome.error.is_some(),
        topology_objects_created: outcome.proceeds,
    })
}
