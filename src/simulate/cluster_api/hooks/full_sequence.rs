//! The sequence of lifecycle hooks with the hooks between them that decide what is made and
//! how Machines change.
//!
//! Mirrors cluster-api `core/reconcilers/topology/cluster/patches/engine.go` (`Apply`),
//! `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/update.go` (`rollingUpdate`),
//! `core/reconcilers/machinedeployment/machinedeployment_rollout_rollingupdate.go` and
//! `core/reconcilers/machine/machine_controller_inplace_update.go`.

use std::collections::{BTreeMap, BTreeSet};

use super::MutationHandlers;
use super::mutation::{
    CanUpdate, Discover, Generate, MutationHook, Responses, Side, StatedAnswers, Trouble, Update,
};
use super::simulate::{self, Event, HookStep, Simulation, SimulationRequest, StepKind, StepState};
use crate::simulate::behaviour::IN_PLACE_UPDATES;
use crate::simulate::cluster_api::references::Objects;
use crate::simulate::cluster_api::rollout::template::differences;
use crate::simulate::cluster_api::topology::desired::{Desired, TemplatePart, desired, desired_with};
use crate::simulate::cluster_api::topology::part_names::parts;
use crate::simulate::cluster_api::topology::patches::{GENERATE, VALIDATE, is_external};
use crate::simulate::cluster_api::topology::{Class, Cluster, text_at};

/// What is known of the extensions that decide what is made.
#[derive(Clone, Debug)]
pub(crate) struct Extensions<'r> {
    /// What they answer.
    pub responses: &'r Responses,
    /// Their handlers; `None`: unknown.
    pub handlers: Option<MutationHandlers>,
    /// Extensions that are not called for the Cluster's namespace.
    pub out: BTreeSet<String>,
    /// Whether the feature gate InPlaceUpdates is on, where it is stated.
    pub in_place: Option<bool>,
    /// Whether patches may change template metadata (Cluster API 1.14).
    pub template_metadata: bool,
}

/// Simulates an event of a Cluster with all of its hooks.
///
/// # Errors
/// A text for the user where versions are missing.
pub(crate) fn simulate<'a>(
    cluster: &Cluster<'a>,
    objects: &Objects<'a>,
    request: &SimulationRequest,
    extensions: &Extensions<'_>,
) -> Result<Simulation, String> {
    let mut simulation = simulate::simulate(cluster, objects, request)?;
    let class = cluster.class(objects);
    let run = SequenceRun { cluster, objects, request, extensions, class };
    if simulation.steps.is_empty() || request.event == Event::Delete {
        return Ok(simulation);
    }
    let mut steps = run.discovered(&mut simulation.notes);
    let mut is_first = true;
    for step in std::mem::take(&mut simulation.steps) {
        if step.kind == StepKind::ControlPlane && std::mem::take(&mut is_first) {
            steps.extend(run.topology());
        }
        if request.event == Event::Upgrade {
            run.in_place(step, &mut steps);
        } else {
            steps.push(step);
        }
    }
    if request.event == Event::Upgrade {
        simulation.notes.extend(run.gate());
    }
    simulation.steps = steps;
    stop_at_first(&mut simulation);
    Ok(simulation)
}

/// Everything after the first step that stops is pending, whoever found it.
fn stop_at_first(simulation: &mut Simulation) {
    let is_stop = |step: &HookStep| matches!(step.state, StepState::Blocked | StepState::Aborted);
    let Some(first) = simulation.steps.iter().position(is_stop) else { return };
    for step in &mut simulation.steps[first + 1..] {
        if step.state != StepState::Skipped {
            step.state = StepState::Pending;
        }
    }
    if let StepKind::Mutation(hook) = simulation.steps[first].kind {
        simulation.withheld = vec![match hook {
            MutationHook::DiscoverVariables => {
                "the ClusterClass is not reconciled, and no Cluster of it".to_owned()
            }
            MutationHook::GeneratePatches | MutationHook::ValidateTopology => {
                "nothing of the topology is reconciled, MachineHealthChecks and deletions included".to_owned()
            }
            _ => "the Machines that are not up to date stay as they are; nothing replaces them instead"
                .to_owned(),
        }];
    }
}

struct SequenceRun<'r, 'a> {
    cluster: &'r Cluster<'a>,
    objects: &'r Objects<'a>,
    request: &'r SimulationRequest,
    extensions: &'r Extensions<'r>,
    class: Option<Class<'a>>,
}

impl<'a> SequenceRun<'_, 'a> {
    /// The patches of the class that name an extension, with its handler.
    fn handlers(&self, names: &[&str]) -> Vec<(String, String)> {
        let patches = self.class.iter().flat_map(Class::patches);
        let named = |(_, patch): (String, _)| {
            Some((text_at(patch, &["/name"]).unwrap_or_default(), text_at(patch, names)?))
        };
        patches.filter_map(named).collect()
    }

    /// The calls with which a ClusterClass is reconciled, before any Cluster of it.
    fn discovered(&self, notes: &mut Vec<String>) -> Vec<HookStep> {
        let stated = &self.extensions.responses.discover_variables;
        let handlers = self.handlers(&["/external/discoverVariablesExtension"]);
        let calls = handlers.into_iter().map(|(_, handler)| {
            let (trouble, reason) = match stated {
                None => (None, "which variables it defines is known in the cluster only".to_owned()),
                Some(Discover::Trouble(trouble)) => (Some(*trouble), String::new()),
                Some(Discover::Variables(found)) => {
                    notes.extend(self.class.iter().flat_map(|class| self.undefined(class, found)));
                    let names: Vec<&str> = found.iter().map(|variable| variable.name.as_str()).collect();
                    let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
                    (None, format!("defines {names}"))
                }
            };
            self.call(MutationHook::DiscoverVariables, &handler, trouble, reason)
        });
        calls.collect()
    }

    /// The calls with which a desired state is computed, patch by patch.
    fn topology(&self) -> Vec<HookStep> {
        let responses = self.extensions.responses;
        let generate = self.handlers(&GENERATE).into_iter().map(|(patch, handler)| {
            let trouble = match responses.generated(&handler) {
                Some(Generate::Trouble(trouble)) => Some(*trouble),
                _ => None,
            };
            let mut step = self.call(MutationHook::GeneratePatches, &handler, trouble, String::new());
            if step.state == StepState::Done && step.reason.is_empty() {
                self.generated(&patch, &handler, &mut step);
            }
            step
        });
        let validate = self.handlers(&VALIDATE).into_iter().map(|(_, handler)| {
            self.call(MutationHook::ValidateTopology, &handler, responses.validate_topology, String::new())
        });
        generate.chain(validate).collect()
    }

    /// What an answer to GeneratePatches changes, or what it is asked about.
    fn generated(&self, patch: &str, handler: &str, step: &mut HookStep) {
        let responses = self.extensions.responses;
        if responses.generated(handler).is_none() {
            let all = self.class.iter().flat_map(|class| parts(self.cluster, class)).collect::<Vec<_>>();
            step.reason = format!("patch {patch}: what it changes is its answer, of {}", all.join(", "));
            return;
        }
        let metadata = self.extensions.template_metadata;
        let stated = StatedAnswers { responses, side: Side::Only };
        let Some(new) = desired_with(*self.cluster, self.objects, metadata, stated) else { return };
        let without = desired(*self.cluster, self.objects, metadata);
        if let Some(failure) = new.failures.iter().find(|failure| failure.message.contains(handler)) {
            step.state = StepState::Aborted;
            step.reason = format!("patch {patch}: {}", failure.message);
            step.unblock = vec!["let the extension answer with patches that fit its request".to_owned()];
            return;
        }
        let changed = without.map(|old| changed_parts(&old, &new)).unwrap_or_default();
        step.reason = match changed.is_empty() {
            true => format!("patch {patch}: changes nothing"),
            false => format!("patch {patch}: changes {}", changed.join(", ")),
        };
    }

    /// Variables of the Cluster that nobody defines, and those that it has to set.
    fn undefined(&self, class: &Class<'_>, found: &[super::mutation::Discovered]) -> Vec<String> {
        let inline = class.variables();
        let list = "/spec/topology/variables";
        let set: Vec<String> =
            self.cluster.object.node.items_at(list).filter_map(|item| text_at(item, &["/name"])).collect();
        let is_defined = |name: &String| {
            inline.iter().any(|(defined, _)| defined == name) || found.iter().any(|one| one.name == *name)
        };
        let undefined = set.iter().filter(|name| !is_defined(name));
        let missing = found.iter().filter(|one| one.required && !set.contains(&one.name));
        undefined
            .map(|name| {
                format!("the webhook rejects variable {name}: neither the ClusterClass nor its extension defines it")
            })
            .chain(missing.map(|one| format!("the webhook asks for variable {}, which is required", one.name)))
            .collect()
    }

    /// A call of one handler that a ClusterClass names.
    fn call(&self, hook: MutationHook, handler: &str, trouble: Option<Trouble>, reason: String) -> HookStep {
        let mut step = step(hook, Some(vec![handler.to_owned()]), reason);
        let extension = handler.rsplit_once('.').map_or(handler, |(_, extension)| extension);
        let registered = self.extensions.handlers.as_ref().and_then(|all| all.get(&hook));
        let is_missing = self.extensions.handlers.is_some()
            && registered.is_none_or(|handlers| !handlers.iter().any(|name| name == handler));
        let failure = if self.extensions.out.contains(extension) {
            Some("its namespaceSelector does not select the Cluster's namespace".to_owned())
        } else if is_missing {
            Some("it is not registered: target.extensions does not name it".to_owned())
        } else {
            match trouble {
                Some(Trouble::Unreachable) if self.request.ignoring.contains(handler) => {
                    step.reason =
                        "cannot be reached, which failurePolicy Ignore takes for success".to_owned();
                    None
                }
                other => other.map(|trouble| trouble.words().to_owned()),
            }
        };
        if let Some(why) = failure {
            step.state = StepState::Aborted;
            step.reason = format!("{why}: the reconcile aborts here and is retried");
            step.unblock = vec!["let the extension be reached and answer with status Success".to_owned()];
        }
        step
    }

    /// A step of Machines with what is asked before it.
    fn in_place(&self, mut machines: HookStep, steps: &mut Vec<HookStep>) {
        let hook = match machines.kind {
            StepKind::ControlPlane if self.has_kubeadm_control_plane() => MutationHook::CanUpdateMachine,
            StepKind::Workers => MutationHook::CanUpdateMachineSet,
            _ => return steps.push(machines),
        };
        let responses = self.extensions.responses;
        let is_on = self.extensions.in_place.unwrap_or(responses.speak_of_updates());
        if !is_on || self.is_before() {
            return steps.push(machines);
        }
        let answer = responses.can_update(hook);
        let mut asked = self.question(hook);
        if asked.state == StepState::Done {
            match answer {
                None => asked.reason = "its answer decides: in place, or replaced".to_owned(),
                Some(CanUpdate::None) => {
                    asked.reason = "accepts nothing in place: Machines are replaced".to_owned()
                }
                Some(CanUpdate::All) => asked.reason = "accepts everything in place".to_owned(),
                Some(CanUpdate::Unreachable) => self.unreachable(&mut asked),
            }
        }
        let accepts = answer == Some(CanUpdate::All) && asked.state == StepState::Done;
        steps.push(asked);
        if accepts {
            let mut update = self.question(MutationHook::UpdateMachine);
            match (update.state, responses.update_machine) {
                (StepState::Skipped, _) => {
                    update.state = StepState::Aborted;
                    update.reason = "no handler is registered, and the Machine waits for one".to_owned();
                    update.unblock = vec!["register a handler for UpdateMachine".to_owned()];
                }
                (StepState::Done, Some(Update::InProgress)) => {
                    update.state = StepState::Blocked;
                    update.reason = "asked to wait for the first Machine".to_owned();
                    update.unblock = vec!["let the extension answer with retryAfterSeconds 0".to_owned()];
                }
                (StepState::Done, Some(Update::Failure)) => {
                    update.state = StepState::Aborted;
                    update.reason = "failed: it is called again for the same Machine".to_owned();
                    update.unblock = vec![
                        "let the extension answer with status Success".to_owned(),
                        "or mark the Machine for remediation, so that it is replaced".to_owned(),
                    ];
                }
                _ => {}
            }
            update.blocking = true;
            steps.push(update);
            machines.reason = format!("{}; in place where it would be deleted otherwise", machines.reason);
        }
        steps.push(machines);
    }

    /// A call to the one handler that may be registered for a hook.
    fn question(&self, hook: MutationHook) -> HookStep {
        let handlers =
            self.extensions.handlers.as_ref().map(|all| all.get(&hook).cloned().unwrap_or_default());
        let mut step = step(hook, handlers, String::new());
        match step.handlers.as_deref() {
            Some([]) => {
                step.state = StepState::Skipped;
                step.reason = "no handler is registered".to_owned();
            }
            Some([_, _, ..]) => {
                step.state = StepState::Aborted;
                step.reason = "only one handler may be registered".to_owned();
                step.unblock = vec![format!("leave one handler for {}", hook.name())];
            }
            _ => {}
        }
        step
    }

    fn unreachable(&self, step: &mut HookStep) {
        let ignored = |name: &String| self.request.ignoring.contains(name);
        if step.handlers.as_deref().is_some_and(|handlers| handlers.iter().all(ignored)) {
            step.reason = "cannot be reached, which failurePolicy Ignore takes for no patches: Machines are \
                           replaced"
                .to_owned();
            return;
        }
        step.state = StepState::Aborted;
        step.reason = "cannot be reached: the reconcile aborts here and is retried".to_owned();
        step.unblock = vec!["let the extension be reached, or set failurePolicy Ignore".to_owned()];
    }

    fn is_before(&self) -> bool {
        self.request.minor.is_some_and(|minor| minor < u64::from(IN_PLACE_UPDATES.since))
    }

    fn has_kubeadm_control_plane(&self) -> bool {
        let reference = self.class.as_ref().and_then(Class::control_plane);
        reference
            .and_then(|reference| reference.kind)
            .is_none_or(|kind| kind == "KubeadmControlPlaneTemplate")
    }

    /// Why answers that are stated are not asked for, or only perhaps.
    fn gate(&self) -> Option<String> {
        if !self.extensions.responses.speak_of_updates() {
            return None;
        }
        if self.is_before() {
            return Some(format!(
                "update extensions are not called before Cluster API 1.{}",
                IN_PLACE_UPDATES.since
            ));
        }
        match self.extensions.in_place {
            Some(true) => None,
            Some(false) => {
                Some("update extensions are not called: the feature gate InPlaceUpdates is off".to_owned())
            }
            None => Some(
                "the feature gate InPlaceUpdates is off in every release unless stated \
                 (target.features.inPlaceUpdates); the steps are those with it on"
                    .to_owned(),
            ),
        }
    }
}

fn step(hook: MutationHook, handlers: Option<Vec<String>>, reason: String) -> HookStep {
    HookStep {
        kind: StepKind::Mutation(hook),
        from: None,
        to: None,
        state: StepState::Done,
        blocking: false,
        handlers,
        unblock: Vec::new(),
        reason,
    }
}

/// The templates that differ between two desired states, but for what is not known.
fn changed_parts(old: &Desired<'_>, new: &Desired<'_>) -> Vec<String> {
    let before: BTreeMap<String, &TemplatePart> = old.templates().collect();
    let is_known = |path: &Vec<String>| !is_external(path);
    let differs = |(name, after): &(String, &TemplatePart)| {
        let before = before.get(name).map(|before| &before.template);
        before.is_some_and(|before| differences(before, &after.template).iter().any(is_known))
    };
    new.templates().filter(differs).map(|(name, _)| name).collect()
}
