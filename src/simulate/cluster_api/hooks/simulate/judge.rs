//! What each step waits for: answers of hooks, and what is withheld meanwhile.

use super::{Event, HookStep, Runner, RuntimeSdk, Simulation, StepKind, StepState, list};
use crate::simulate::behaviour;
use crate::simulate::cluster_api::hooks::sequence::{
    BEFORE_UPGRADE_PREFIX, DEFER_UPGRADE, HOLD_UPGRADE_SEQUENCE,
};
use crate::simulate::cluster_api::hooks::{Hook, HookAnswer, sequence};
use crate::simulate::cluster_api::topology::fields::ON_DELETE;
use crate::simulate::cluster_api::topology::text_at;

impl Runner<'_, '_> {
    /// Finds the step at which the sequence stops: everything before it is done,
    /// everything after it pending.
    pub(super) fn judge(&self, simulation: &mut Simulation) {
        if self.request.runtime_sdk == RuntimeSdk::Off {
            simulation.notes.extend(self.request.runtime_sdk.silence().map(str::to_owned));
        }
        let mut stopped = false;
        let mut withheld = Vec::new();
        for index in 0..simulation.steps.len() {
            let last_minor = simulation.to.clone();
            let step = &mut simulation.steps[index];
            if stopped {
                if step.state != StepState::Skipped {
                    step.state = StepState::Pending;
                }
                continue;
            }
            match step.kind {
                StepKind::Hook(hook) => self.judge_hook(hook, step),
                StepKind::Workers if self.request.event == Event::Upgrade => self.judge_workers(step),
                _ => {}
            }
            if matches!(step.state, StepState::Blocked | StepState::Aborted) {
                stopped = true;
                withheld = self.withheld(step, last_minor.as_deref());
            }
        }
        simulation.withheld = withheld;
    }

    fn judge_hook(&self, hook: Hook, step: &mut HookStep) {
        if step.state == StepState::Skipped {
            return;
        }
        if hook == Hook::BeforeClusterUpgrade && self.reads(behaviour::UPGRADE_HOOK_ANNOTATION) {
            let keys: Vec<String> =
                self.annotations().filter(|key| key.starts_with(BEFORE_UPGRADE_PREFIX)).collect();
            if !keys.is_empty() {
                step.state = StepState::Blocked;
                step.reason = format!("annotation {} is set on the Cluster", keys.join(", "));
                step.unblock = vec!["remove the annotation from the Cluster".to_owned()];
                return;
            }
        }
        if step.handlers.as_ref().is_some_and(Vec::is_empty) {
            step.state = StepState::Skipped;
            step.reason = "no handler is registered".to_owned();
            return;
        }
        if self.request.unreachable.contains(&hook) {
            self.judge_unreachable(step);
            return;
        }
        match self.request.respond.get(&hook) {
            Some(HookAnswer::Blocking { .. }) if step.blocking => {
                step.state = StepState::Blocked;
                step.reason = "asked to wait".to_owned();
                step.unblock = vec![
                    "let the extension answer with retryAfterSeconds 0, or fix it".to_owned(),
                    "with failurePolicy Ignore an unreachable one counts as success".to_owned(),
                ];
            }
            Some(HookAnswer::Blocking { .. }) => {
                step.reason = match hook {
                    Hook::AfterClusterUpgrade => "asked to wait, which blocks from Cluster API 1.12 on",
                    _ => "its answer has no retryAfterSeconds, so it cannot block",
                }
                .to_owned();
            }
            Some(HookAnswer::Failure) => {
                step.state = StepState::Aborted;
                step.reason = "failed: the reconcile aborts here and is retried".to_owned();
                step.unblock = vec![
                    "let the extension answer with status Success".to_owned(),
                    "failurePolicy Ignore passes over an unreachable extension, not over status Failure"
                        .to_owned(),
                ];
            }
            _ => {}
        }
    }

    /// An extension that cannot be reached: its handlers' failurePolicy decides.
    fn judge_unreachable(&self, step: &mut HookStep) {
        let handlers = step.handlers.as_deref();
        let ignored = |name: &String| self.request.ignoring.contains(name);
        if handlers.is_some_and(|handlers| handlers.iter().all(ignored)) {
            step.reason = "cannot be reached, which failurePolicy Ignore takes for success".to_owned();
            return;
        }
        step.state = StepState::Aborted;
        step.reason = match handlers {
            Some(handlers) => {
                let failing: Vec<&str> =
                    handlers.iter().filter(|name| !ignored(name)).map(String::as_str).collect();
                format!("{} cannot be reached, failurePolicy Fail: the reconcile aborts", failing.join(", "))
            }
            None => "cannot be reached: the reconcile aborts with failurePolicy Fail, the default; with \
                     Ignore it counts as success"
                .to_owned(),
        };
        step.unblock = vec!["let the extension be reached, or set failurePolicy Ignore".to_owned()];
    }

    fn judge_workers(&self, step: &mut HookStep) {
        let deferred: Vec<&str> = self
            .workers
            .iter()
            .flat_map(|w| w.entries.iter().filter(|e| sequence::is_deferred(&w.entries, &e.name)))
            .map(|e| e.name.as_str())
            .collect();
        if deferred.is_empty() {
            self.judge_on_delete(step);
            return;
        }
        step.state = StepState::Blocked;
        step.reason = format!("{} deferred by annotation; {}", deferred.join(", "), step.reason);
        step.unblock =
            vec![format!("remove {DEFER_UPGRADE} or {HOLD_UPGRADE_SEQUENCE} from the entry's metadata")];
    }

    /// A MachineDeployment is upgrading while any Machine of it has another version
    /// (`MachineDeploymentState.IsUpgrading`), and with OnDelete only a deletion changes that.
    fn judge_on_delete(&self, step: &mut HookStep) {
        let names: Vec<&str> = self.workers.iter().flat_map(|w| &w.on_delete).map(String::as_str).collect();
        if names.is_empty() {
            return;
        }
        step.state = StepState::Blocked;
        step.reason = format!("{}: {}; {}", names.join(", "), ON_DELETE, step.reason);
        step.unblock = vec![format!("delete the Machines of {}, one after the other", list(&names))];
    }

    /// What receives nothing while a step waits.
    fn withheld(&self, step: &HookStep, target: Option<&str>) -> Vec<String> {
        let StepKind::Hook(hook) = step.kind else {
            return vec![
                "AfterClusterUpgrade stays due, so the next change of version is rejected".to_owned(),
            ];
        };
        let says = |text: &str| vec![text.to_owned()];
        if step.state == StepState::Aborted
            && !matches!(hook, Hook::BeforeClusterCreate | Hook::BeforeClusterDelete)
        {
            return says("nothing of the topology is reconciled, MachineHealthChecks and deletions included");
        }
        let last_step = step.to.as_deref() == target;
        let (creation, control_plane, workers) = match hook {
            Hook::BeforeClusterCreate => return says("no object of the topology is created"),
            Hook::BeforeClusterDelete => return says("nothing of the Cluster is deleted"),
            // Its answer cannot block.
            Hook::AfterControlPlaneInitialized => return Vec::new(),
            Hook::AfterClusterUpgrade => {
                return says("the next change of spec.topology.version is rejected");
            }
            Hook::AfterWorkersUpgrade if last_step => {
                return says("the upgrade does not complete: AfterClusterUpgrade waits");
            }
            Hook::BeforeClusterUpgrade | Hook::BeforeControlPlaneUpgrade => (true, true, true),
            Hook::AfterControlPlaneUpgrade | Hook::BeforeWorkersUpgrade => (true, !last_step, true),
            Hook::AfterWorkersUpgrade => (false, true, true),
        };
        let mut withheld = Vec::new();
        if creation {
            withheld.push("new MachineDeployments and MachinePools are not created".to_owned());
        }
        let mut receivers = Vec::new();
        if control_plane {
            receivers.push("the control plane");
        }
        if workers {
            receivers.extend(self.workers.iter().flat_map(|w| &w.entries).map(|e| e.name.as_str()));
        }
        if !receivers.is_empty() {
            let verb = if receivers.len() == 1 { "receives" } else { "receive" };
            withheld
                .push(format!("{} {verb} nothing, labels, timeouts and replicas included", list(&receivers)));
        }
        withheld.push("MachineHealthChecks, the infrastructure cluster and deletions go on".to_owned());
        withheld
    }

    pub(super) fn control_plane_machines(&self, before: &str) -> String {
        let replicas = self
            .cluster
            .object
            .node
            .at("/spec/topology/controlPlane/replicas")
            .and_then(crate::lang::yaml::NodeRef::as_int);
        match replicas {
            Some(1) => format!("{before}1 Machine"),
            Some(n) => format!("{before}{n} Machines, one at a time"),
            None => String::new(),
        }
    }

    /// `md-0: 6 Machines, then md-1: 2`; with an upgrade concurrency
    /// above one they go together.
    pub(super) fn worker_machines(&self) -> String {
        let concurrency = text_at(
            self.cluster.object.node,
            &["/metadata/annotations/topology.cluster.x-k8s.io~1upgrade-concurrency"],
        )
        .and_then(|text| text.parse::<u32>().ok());
        let separator = if concurrency.is_some_and(|n| n > 1) { ", " } else { ", then " };
        let lists: Vec<String> = self
            .workers
            .iter()
            .filter(|w| !w.entries.is_empty())
            .map(|w| {
                let each = w.entries.iter().zip(&w.replicas).enumerate();
                let each = each.map(|(index, (entry, replicas))| match (replicas, index) {
                    (Some(1), 0) => format!("{}: 1 Machine", entry.name),
                    (Some(n), 0) => format!("{}: {n} Machines", entry.name),
                    (Some(n), _) => format!("{}: {n}", entry.name),
                    (None, _) => entry.name.clone(),
                });
                each.collect::<Vec<_>>().join(separator)
            })
            .collect();
        lists.join("; ")
    }
}
