//! Updates in place, function by function as upstream has them: whether extensions can change
//! a Machine, and what becomes of the change.
//!
//! Mirrors cluster-api `core/reconcilers/machinedeployment/
//! machinedeployment_canupdatemachineset.go`, `controlplane/kubeadm/reconcilers/
//! kubeadmcontrolplane/{inplace,inplace_canupdatemachine}.go`, `core/reconcilers/machine/
//! machine_controller_inplace_update.go` and `internal/util/{inplace,patch}`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::mutation::{Patch, read_patch};
use crate::simulate::cluster_api::rollout::template::differences;
use crate::simulate::cluster_api::topology::patches::patched_by;

/// The names of upstream's functions.
pub(super) const NAMES: [&str; 8] = [
    "canUpdateMachineSetInPlace",
    "canUpdateMachine",
    "canExtensionsUpdateMachineSet",
    "canExtensionsUpdateMachine",
    "applyPatchesToRequest",
    "tryInPlaceUpdate",
    "reconcileInPlaceUpdate",
    "callUpdateMachineHook",
];

/// One question, by the name of upstream's function.
#[derive(Deserialize)]
#[serde(tag = "function", rename_all = "camelCase")]
pub(super) enum Question {
    CanUpdateMachineSetInPlace(CanUpdate),
    CanUpdateMachine(CanUpdate),
    CanExtensionsUpdateMachineSet(CanUpdate),
    CanExtensionsUpdateMachine(CanUpdate),
    ApplyPatchesToRequest(CanUpdate),
    TryInPlaceUpdate(Try),
    ReconcileInPlaceUpdate(Reconcile),
    CallUpdateMachineHook(UpdateCall),
}

impl Question {
    /// The answer, in the terms of upstream's tests.
    pub(super) fn answer(self) -> Value {
        let or_error = |answer: Result<Value, String>| answer.unwrap_or_else(|error| json!({"error": error}));
        match self {
            Self::CanUpdateMachineSetInPlace(question) => or_error(question.asked("CanUpdateMachineSet")),
            Self::CanUpdateMachine(question) => or_error(question.asked("CanUpdateMachine")),
            Self::CanExtensionsUpdateMachineSet(question) | Self::CanExtensionsUpdateMachine(question) => {
                let answer = question.extensions();
                or_error(answer.map(|reasons| json!({"canUpdate": reasons.is_empty(), "reasons": reasons})))
            }
            Self::ApplyPatchesToRequest(mut question) => or_error(question.patched()),
            Self::TryInPlaceUpdate(question) => question.answer(),
            Self::ReconcileInPlaceUpdate(question) => question.answer(),
            Self::CallUpdateMachineHook(question) => or_error(
                question
                    .answer()
                    .map(|(retry, message)| json!({"requeueAfterSeconds": retry, "message": message})),
            ),
        }
    }
}

/// A Machine or a MachineSet with the objects that it references, as requests have them.
#[derive(Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RequestObjects {
    machine_set: Option<Value>,
    machine: Option<Value>,
    infrastructure_machine_template: Option<Value>,
    infrastructure_machine: Option<Value>,
    bootstrap_config_template: Option<Value>,
    bootstrap_config: Option<Value>,
}

/// An object of a request and the patch of the answer that is for it.
type Patched = (fn(&mut RequestObjects) -> &mut Option<Value>, &'static str);

/// All of them; templates are compared at `spec.template.spec`, the rest at `spec`.
const PATCHED: [Patched; 6] = [
    (|objects| &mut objects.machine_set, "machineSetPatch"),
    (|objects| &mut objects.machine, "machinePatch"),
    (|objects| &mut objects.bootstrap_config_template, "bootstrapConfigTemplatePatch"),
    (|objects| &mut objects.bootstrap_config, "bootstrapConfigPatch"),
    (|objects| &mut objects.infrastructure_machine_template, "infrastructureMachineTemplatePatch"),
    (|objects| &mut objects.infrastructure_machine, "infrastructureMachinePatch"),
];

/// Whether what is now can become what is desired, by the patches of extensions.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CanUpdate {
    #[serde(default)]
    feature_gate_in_place_updates: Option<bool>,
    #[serde(default)]
    current: RequestObjects,
    #[serde(default)]
    desired: RequestObjects,
    /// Those that are registered.
    #[serde(default)]
    handlers: Vec<String>,
    #[serde(default)]
    responses: BTreeMap<String, Value>,
    /// What comes of their answers, where it is given.
    #[serde(default)]
    extensions_can_update: Option<bool>,
}

impl CanUpdate {
    /// `canUpdateMachineSetInPlace`, `canUpdateMachine`.
    fn asked(self, hook: &str) -> Result<Value, String> {
        let no = || Ok(json!({"canUpdate": false, "asked": false}));
        if self.feature_gate_in_place_updates == Some(false) {
            return no();
        }
        let (old, new) = (&self.current, &self.desired);
        if hook == "CanUpdateMachineSet" {
            for (objects, which) in [(old, "old"), (new, "new")] {
                if objects.infrastructure_machine_template.is_none() {
                    return Err(format!(
                        "failed to get InfrastructureMachineTemplate from MachineSet {which}-machineset: cannot \
                         get object - object reference not set"
                    ));
                }
            }
            if old.bootstrap_config_template.is_some() != new.bootstrap_config_template.is_some() {
                return no();
            }
        } else {
            let has = |o: &RequestObjects| o.infrastructure_machine.is_some() && o.bootstrap_config.is_some();
            if !has(old) || !has(new) || new.machine.is_none() {
                return no();
            }
        }
        match &self.handlers[..] {
            [] => return no(),
            [_] => {}
            several => return Err(one_only(hook, several)),
        }
        let can_update = match self.extensions_can_update {
            Some(given) => given,
            None => self.extensions()?.is_empty(),
        };
        Ok(json!({"canUpdate": can_update, "asked": true}))
    }

    /// `canExtensionsUpdateMachineSet`, `canExtensionsUpdateMachine`: what still differs after
    /// the patches of all.
    fn extensions(mut self) -> Result<Vec<String>, String> {
        let mut reasons = Vec::new();
        for handler in &self.handlers {
            let response = self.responses.get(handler).cloned().unwrap_or_default();
            apply(&mut self.current, &response)?;
            reasons = still_different(&mut self.current, &mut self.desired);
            if reasons.is_empty() {
                break;
            }
        }
        Ok(reasons)
    }

    /// `applyPatchesToRequest`.
    fn patched(&mut self) -> Result<Value, String> {
        for response in self.responses.values() {
            apply(&mut self.current, response)?;
        }
        let specs = PATCHED.iter().filter_map(|(object, _)| object(&mut self.current).clone());
        Ok(json!({"objects": specs.collect::<Vec<_>>()}))
    }
}

fn one_only(hook: &str, handlers: &[String]) -> String {
    format!("found multiple {hook} hooks ({}): only one hook is supported", handlers.join(","))
}

/// `applyPatchesToRequest`: of a patched object only its spec is taken over.
fn apply(current: &mut RequestObjects, response: &Value) -> Result<(), String> {
    for (object, field) in PATCHED {
        let (Some(object), Some(patch)) = (object(current), response.get(field)) else { continue };
        let text = |key: &str| patch.get(key).and_then(Value::as_str);
        let bytes = patch.get("patch").cloned().unwrap_or_default();
        let kind = text("patchType").unwrap_or_default();
        if kind.is_empty() && (bytes.is_null() || bytes == json!("")) {
            continue;
        }
        let patch = match kind {
            "" => return Err("failed to apply patch: patchType is not set".to_owned()),
            "JSONPatch" | "JSONMergePatch" => read_patch(kind, bytes)?,
            other => return Err(format!("failed to apply patch: unknown patchType {other}")),
        };
        if matches!(&patch, Patch::Json(operations) if operations.is_empty()) {
            continue;
        }
        let mut patched = object.clone();
        patched_by(&patch, &mut patched).map_err(|why| format!("failed to apply patch: {why}"))?;
        let place = spec_of(field);
        if let (Some(to), Some(from)) = (object.pointer_mut(place), patched.pointer(place)) {
            *to = from.clone();
        }
    }
    Ok(())
}

fn spec_of(field: &str) -> &'static str {
    if field.contains("Template") || field.contains("Set") { "/spec/template/spec" } else { "/spec" }
}

/// `matchesMachineSet`, `matchesMachine`.
fn still_different(current: &mut RequestObjects, desired: &mut RequestObjects) -> Vec<String> {
    let mut reasons = Vec::new();
    for (object, field) in PATCHED {
        let (Some(now), Some(then)) = (object(current).clone(), object(desired).clone()) else { continue };
        let is_machine = matches!(field, "machineSetPatch" | "machinePatch");
        let spec = |object: &Value| {
            let spec = object.pointer(spec_of(field)).cloned().unwrap_or_default();
            if is_machine { compared(spec) } else { spec }
        };
        let paths = differences(&spec(&now), &spec(&then));
        if paths.is_empty() {
            continue;
        }
        let kind = match field {
            "machineSetPatch" => "MachineSet",
            "machinePatch" => "Machine",
            _ => now.get("kind").and_then(Value::as_str).unwrap_or_default(),
        };
        let paths: Vec<String> = paths.iter().map(|path| path.join(".")).collect();
        reasons.push(format!("{kind} cannot be updated in-place: {}", paths.join(", ")));
    }
    reasons
}

/// `CleanupMachineSpecForDiff`: without what is never a reason.
fn compared(spec: Value) -> Value {
    let Value::Object(mut spec) = spec else { return spec };
    for key in [
        "clusterName",
        "bootstrap",
        "infrastructureRef",
        "providerID",
        "minReadySeconds",
        "readinessGates",
        "taints",
    ] {
        spec.remove(key);
    }
    if let Some(Value::Object(deletion)) = spec.get_mut("deletion") {
        for key in ["nodeDrainTimeoutSeconds", "nodeVolumeDetachTimeoutSeconds", "nodeDeletionTimeoutSeconds"]
        {
            deletion.remove(key);
        }
        if deletion.is_empty() {
            spec.remove("deletion");
        }
    }
    Value::Object(spec)
}

/// `tryInPlaceUpdate` of a control plane.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Try {
    /// Whether the preflight checks of all Machines pass.
    preflight: bool,
    /// Whether they pass without the Machine in question.
    #[serde(default)]
    preflight_without_machine: bool,
    #[serde(default)]
    can_update: Option<bool>,
    #[serde(default)]
    can_update_error: Option<String>,
}

impl Try {
    fn answer(self) -> Value {
        let answer = |asked: bool, triggered: bool, falls_back: bool, requeue: bool| {
            json!({"canUpdateMachineCalled": asked, "triggered": triggered, "fallbackToScaleDown": falls_back,
                   "requeue": requeue, "error": false})
        };
        match (self.preflight, self.can_update_error, self.can_update) {
            (false, ..) if self.preflight_without_machine => answer(false, false, true, false),
            (false, ..) => answer(false, false, false, true),
            (true, Some(_), _) => json!({"canUpdateMachineCalled": true, "triggered": false,
                                         "fallbackToScaleDown": false, "requeue": false, "error": true}),
            (true, None, Some(true)) => answer(true, true, false, false),
            (true, None, _) => answer(true, false, true, false),
        }
    }
}

/// `reconcileInPlaceUpdate` of a Machine.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Reconcile {
    feature_gate_in_place_updates: bool,
    machine_annotations: BTreeMap<String, String>,
    infrastructure_provisioned: bool,
    bootstrap_data_secret_created: bool,
    node_ref: bool,
    /// Annotations of the InfraMachine; none where it is missing.
    infra_machine_annotations: Option<BTreeMap<String, String>>,
    bootstrap_config_annotations: Option<BTreeMap<String, String>>,
    call: UpdateCall,
}

const IN_PROGRESS: &str = "in-place-updates.internal.cluster.x-k8s.io/update-in-progress";
const PENDING: &str = "runtime.cluster.x-k8s.io/pending-hooks";

impl Reconcile {
    fn answer(self) -> Value {
        let is_marked = |annotations: &BTreeMap<String, String>| annotations.contains_key(IN_PROGRESS);
        let is_pending = self
            .machine_annotations
            .get(PENDING)
            .is_some_and(|hooks| hooks.split(',').any(|hook| hook == "UpdateMachine"));
        let rest = || json!({"requeueAfterSeconds": 0, "error": false, "completed": false});
        if !self.feature_gate_in_place_updates {
            return rest();
        }
        if !is_marked(&self.machine_annotations) {
            // What an update that nobody wants any more left behind is taken away.
            return with(rest(), [("completed", json!(is_pending))]);
        }
        let is_there = self.infrastructure_provisioned && self.bootstrap_data_secret_created && self.node_ref;
        if !is_pending || !is_there {
            return rest();
        }
        let Some(infra) = &self.infra_machine_annotations else {
            return failed("In-place update not possible: InfraMachine not found");
        };
        if !is_marked(infra) || !self.bootstrap_config_annotations.as_ref().is_none_or(is_marked) {
            return rest();
        }
        match self.call.answer() {
            Err(_) => failed("UpdateMachine hook failed: please check controller logs for errors"),
            Ok((0, _)) => with(rest(), [("completed", json!(true))]),
            Ok((seconds, message)) => {
                let message = if message.is_empty() { String::new() } else { format!(": {message}") };
                with(
                    rest(),
                    [
                        ("requeueAfterSeconds", json!(seconds)),
                        ("reason", json!("InPlaceUpdating")),
                        ("message", json!(format!("In-place update in progress{message}"))),
                    ],
                )
            }
        }
    }
}

fn with<const N: usize>(value: Value, more: [(&str, Value); N]) -> Value {
    let Value::Object(mut map) = value else { return value };
    map.extend(more.map(|(key, value)| (key.to_owned(), value)));
    Value::Object(map)
}

fn failed(message: &str) -> Value {
    json!({"requeueAfterSeconds": 0, "error": true, "completed": false, "reason": "InPlaceUpdateFailed",
           "message": message})
}

/// `callUpdateMachineHook`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct UpdateCall {
    handlers: Vec<String>,
    /// `status` of the answer.
    status: Option<String>,
    message: String,
    retry_after_seconds: i64,
}

impl UpdateCall {
    /// Seconds until it is called again, and what it said.
    fn answer(self) -> Result<(i64, String), String> {
        match &self.handlers[..] {
            [] => Err("no extensions registered for UpdateMachine hook".to_owned()),
            [_] if self.status.as_deref() == Some("Success") => Ok((self.retry_after_seconds, self.message)),
            [handler] => Err(format!("runtime hook UpdateMachine of {handler} failed")),
            several => Err(one_only("UpdateMachine", several)),
        }
    }
}
