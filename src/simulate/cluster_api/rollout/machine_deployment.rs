//! Which MachineSet carries a MachineDeployment's template, and so whether its
//! Machines are replaced.
//!
//! Mirrors cluster-api `core/reconcilers/machinedeployment/mdutil/util.go`
//! (`MachineTemplateUpToDate`, `FindNewAndOldMachineSets`,
//! `MachineSetsByDecreasingReplicas`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{ObjectRef, UpToDate};

/// The fields of `spec.template` that decide about a rollout. All others are
/// changed in place or are not compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MachineTemplate {
    /// `spec.template.spec`.
    pub spec: MachineSpec,
}

/// The compared fields of `spec.template.spec`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MachineSpec {
    /// Kubernetes version.
    pub version: String,
    /// Failure domain.
    pub failure_domain: String,
    /// Infrastructure template.
    pub infrastructure_ref: ObjectRef,
    /// Bootstrap template or data.
    pub bootstrap: Bootstrap,
}

/// `bootstrap`: compared as a whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Bootstrap {
    /// Bootstrap template.
    pub config_ref: Option<ObjectRef>,
    /// Secret with ready-made bootstrap data.
    pub data_secret_name: Option<String>,
}

/// Compares a MachineSet's template with its MachineDeployment's.
pub fn machine_template_up_to_date(current: &MachineTemplate, desired: &MachineTemplate) -> UpToDate {
    let (current, desired) = (&current.spec, &desired.spec);
    let mut messages = Vec::new();
    let mut differs = |field: &str, current: &str, desired: &str| {
        messages.push(format!("spec.{field} {current}, {desired} required"));
    };
    if current.version != desired.version {
        differs("version", &current.version, &desired.version);
    }
    if current.bootstrap != desired.bootstrap {
        match &current.bootstrap.config_ref {
            Some(config) => {
                let target = desired.bootstrap.config_ref.clone().unwrap_or_default();
                differs("bootstrap.configRef", &kind_name(config), &kind_name(&target));
            }
            None => {
                let secret = |b: &Bootstrap| b.data_secret_name.clone().unwrap_or("nil".to_owned());
                differs("bootstrap.dataSecretName", &secret(&current.bootstrap), &secret(&desired.bootstrap));
            }
        }
    }
    if current.infrastructure_ref != desired.infrastructure_ref {
        differs(
            "infrastructureRef",
            &kind_name(&current.infrastructure_ref),
            &kind_name(&desired.infrastructure_ref),
        );
    }
    if current.failure_domain != desired.failure_domain {
        differs("failureDomain", &current.failure_domain, &desired.failure_domain);
    }
    UpToDate { eligible_for_in_place_update: !messages.is_empty(), log_messages: messages }
}

fn kind_name(reference: &ObjectRef) -> String {
    format!("{} {}", reference.kind, reference.name)
}

/// A MachineSet of a MachineDeployment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineSet {
    /// Name.
    pub name: String,
    /// `spec.template`.
    pub template: MachineTemplate,
    /// `spec.replicas`.
    pub replicas: i64,
    /// Creation time, in seconds of any epoch.
    pub created: i64,
}

/// How a MachineDeployment's MachineSets serve it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineSets {
    /// The one that carries the template; none means that one is created and
    /// Machines are replaced.
    pub new: Option<String>,
    /// The others, whose Machines go.
    pub old: Vec<String>,
    /// By name: whether an update extension may move its Machines in place.
    pub eligible_for_in_place_update: BTreeMap<String, bool>,
}

/// Finds the MachineSet that carries `template` at `now`; `rollout_after` is
/// `spec.rollout.after`, both in the epoch of the creation times.
pub fn find_new_and_old_machine_sets(
    template: &MachineTemplate,
    rollout_after: Option<i64>,
    machine_sets: &[MachineSet],
    now: i64,
) -> MachineSets {
    let mut sorted: Vec<&MachineSet> = machine_sets.iter().collect();
    sorted.sort_by(|a, b| (b.replicas, a.created, &a.name).cmp(&(a.replicas, b.created, &b.name)));
    let mut found = MachineSets::default();
    let mut candidates = Vec::new();
    for machine_set in sorted {
        let result = machine_template_up_to_date(&machine_set.template, template);
        let mut eligible = result.eligible_for_in_place_update;
        if result.is_up_to_date() {
            candidates.push(machine_set);
        } else {
            found.old.push(machine_set.name.clone());
            let expired = rollout_after.is_some_and(|after| after < now && machine_set.created < after);
            eligible &= !expired;
        }
        found.eligible_for_in_place_update.insert(machine_set.name.clone(), eligible);
    }
    let due = rollout_after.filter(|after| now >= *after);
    for candidate in candidates {
        if found.new.is_none() && due.is_none_or(|after| candidate.created >= after) {
            found.new = Some(candidate.name.clone());
        } else {
            found.old.push(candidate.name.clone());
        }
    }
    found
}
