//! Whether a control plane Machine is up to date with its KubeadmControlPlane.
//!
//! Mirrors cluster-api `controlplane/kubeadm/pkg/filters.go` (`UpToDate`,
//! `matchesMachineSpec`, `matchesInfraMachine`) and
//! `util/collections/machine_filters.go` (`ShouldRolloutAfter`,
//! `ShouldRolloutBefore`).

use serde_json::Value;

use super::{ObjectRef, UpToDate, kubeadm_config};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// The fields of a KubeadmControlPlane that may replace its Machines.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlPlane {
    /// `spec.version`.
    pub version: String,
    /// `spec.machineTemplate.spec.infrastructureRef`.
    pub infrastructure_ref: ObjectRef,
    /// `spec.kubeadmConfigSpec`.
    pub kubeadm_config_spec: Value,
    /// `spec.rollout.after`, in seconds of the epoch of `now`.
    pub rollout_after: Option<i64>,
    /// `spec.rollout.before.certificatesExpiryDays`.
    pub certificates_expiry_days: Option<i64>,
}

/// A control plane Machine with the objects that it owns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ControlPlaneMachine {
    /// `spec.version`.
    pub version: String,
    /// Creation time.
    pub created: i64,
    /// `status.certificatesExpiryDate`.
    pub certificates_expire: Option<i64>,
    /// Spec of its KubeadmConfig; unknown ones match.
    pub kubeadm_config: Option<Value>,
    /// Its InfraMachine; unknown ones match.
    pub infra_machine: InfraMachine,
    /// Annotation `delete-machine` or `remediate-machine` is present.
    pub marked_to_go: bool,
}

/// What its InfraMachine says of the template that it was cloned from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum InfraMachine {
    /// Not found, or without the two `cloned-from` annotations.
    #[default]
    Unknown,
    /// Cloned from this template.
    ClonedFrom {
        /// `cluster.x-k8s.io/cloned-from-name`.
        name: String,
        /// `cluster.x-k8s.io/cloned-from-groupkind`.
        group_kind: String,
    },
}

/// Compares a Machine with its control plane at `now`.
pub fn up_to_date(control_plane: &ControlPlane, machine: &ControlPlaneMachine, now: i64) -> UpToDate {
    let mut messages = Vec::new();
    let mut eligible = !machine.marked_to_go;
    let expires_soon = control_plane
        .certificates_expiry_days
        .filter(|days| *days > 0)
        .zip(machine.certificates_expire)
        .is_some_and(|(days, expire)| expire < now + days * DAY);
    if expires_soon {
        messages.push("certificates will expire soon, rolloutBefore expired".to_owned());
        eligible = false;
    }
    let due = control_plane.rollout_after.is_some_and(|after| after < now && machine.created < after);
    if due {
        messages.push("rolloutAfter expired".to_owned());
        eligible = false;
    }
    if machine.version != control_plane.version {
        messages.push(format!(
            "Machine version \"{}\" is not equal to KCP version \"{}\"",
            machine.version, control_plane.version
        ));
    }
    if let Some(current) = &machine.kubeadm_config {
        let spec = &control_plane.kubeadm_config_spec;
        let paths = kubeadm_config::differences(spec, &control_plane.version, current);
        if !paths.is_empty() {
            let paths: Vec<String> = paths.iter().map(|path| path.join(".")).collect();
            messages.push(format!("Machine KubeadmConfig is outdated: diff: {}", paths.join(", ")));
        }
    }
    if let InfraMachine::ClonedFrom { name, group_kind } = &machine.infra_machine
        && !matches_infra_machine(&machine.infra_machine, &control_plane.infrastructure_ref)
    {
        messages.push(format!(
            "Infrastructure template on KCP rotated from {group_kind} {name} to {} {}",
            control_plane.infrastructure_ref.group_kind(),
            control_plane.infrastructure_ref.name
        ));
    }
    UpToDate { eligible_for_in_place_update: eligible && !messages.is_empty(), log_messages: messages }
}

/// Whether an InfraMachine was cloned from the template that is referenced now.
pub fn matches_infra_machine(infra_machine: &InfraMachine, template: &ObjectRef) -> bool {
    match infra_machine {
        InfraMachine::Unknown => true,
        InfraMachine::ClonedFrom { name, group_kind } => {
            *name == template.name && *group_kind == template.group_kind()
        }
    }
}
