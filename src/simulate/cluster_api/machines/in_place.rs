//! Whether Machines that are not up to date are changed in place instead of replaced.
//!
//! Mirrors cluster-api `controlplane/kubeadm/reconcilers/kubeadmcontrolplane/
//! {update,inplace_canupdatemachine}.go` and `core/reconcilers/machinedeployment/
//! {machinedeployment_rollout_rollingupdate,machinedeployment_canupdatemachineset}.go`.

use serde_json::Value;

use super::Comparison;
use crate::simulate::behaviour::IN_PLACE_UPDATES;
use crate::simulate::cluster_api::hooks::mutation::{CanUpdate, MutationHook, Update};
use crate::simulate::cluster_api::hooks::selection::called;

/// What comes of the question whether Machines can be changed in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InPlaceVerdict {
    /// Nobody is asked, or the answer is no; with the reason where one is to be told.
    No(Option<String>),
    /// An extension may be there, and may accept.
    Maybe,
    /// It accepts; with what is stated of the change of each Machine.
    Yes(Option<Update>),
    /// The question cannot be answered, and nothing goes on.
    Fails(String),
}

/// What is known of the feature gate InPlaceUpdates, which every release has off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InPlaceGate {
    /// Whether it is taken to be on.
    pub is_on: bool,
    /// Whether that is stated.
    pub is_stated: bool,
}

impl Comparison<'_, '_> {
    /// What comes of a question about Machines of a namespace.
    pub(super) fn verdict(&self, hook: MutationHook, namespace: &str) -> InPlaceVerdict {
        let (conditions, name) = (&self.conditions, hook.name());
        let gate = conditions.in_place;
        let Some(answer) = self.responses.can_update(hook) else {
            return if gate.is_on { InPlaceVerdict::Maybe } else { InPlaceVerdict::No(None) };
        };
        if gate.is_stated && !gate.is_on {
            return no(format!("{name} is not called: the feature gate InPlaceUpdates is off"));
        }
        if conditions.minor.is_some_and(|minor| minor < u64::from(IN_PLACE_UPDATES.since)) {
            return no(format!("{name} is not called before Cluster API 1.{}", IN_PLACE_UPDATES.since));
        }
        let called = called(&conditions.extensions, &self.after.objects, namespace);
        let of = |hook| called.mutation.as_ref().map(|all| all.get(&hook).cloned().unwrap_or_default());
        let handlers = of(hook);
        match handlers.as_deref() {
            Some([]) => return no(format!("{name} is not called: no handler is registered for it")),
            Some(several @ [_, _, ..]) => return InPlaceVerdict::Fails(one_only(hook, several)),
            _ => {}
        }
        let is_ignored = handlers.iter().flatten().any(|handler| called.ignoring.contains(handler));
        match answer {
            CanUpdate::None => no(format!("{name} accepts nothing in place")),
            CanUpdate::Unreachable if is_ignored => {
                no(format!("{name} cannot be reached, which failurePolicy Ignore takes for no patches"))
            }
            CanUpdate::Unreachable => InPlaceVerdict::Fails(format!(
                "{name} cannot be reached, so no Machine is replaced or changed until it is"
            )),
            CanUpdate::All => match of(MutationHook::UpdateMachine).as_deref() {
                // `callUpdateMachineHook`: to find no handler is an error.
                Some([]) => InPlaceVerdict::Yes(Some(Update::Failure)),
                Some(several @ [_, _, ..]) => {
                    InPlaceVerdict::Fails(one_only(MutationHook::UpdateMachine, several))
                }
                _ => InPlaceVerdict::Yes(self.responses.update_machine),
            },
        }
    }
}

fn no(why: String) -> InPlaceVerdict {
    InPlaceVerdict::No(Some(why))
}

fn one_only(hook: MutationHook, handlers: &[String]) -> String {
    format!("{} handlers answer {} ({}), and only one may", handlers.len(), hook.name(), handlers.join(", "))
}

/// How many of the Machines are changed in place: all, or all but one, for which a new one is
/// made first. A control plane makes one for maxSurge, which is 1 by default (`rollingUpdate`);
/// a MachineDeployment where maxUnavailable leaves none that may be missing, as by default
/// (`reconcileInPlaceUpdateIntent`).
pub(super) fn changed(hook: MutationHook, strategy: Option<&Value>, machines: i64) -> i64 {
    let rolling =
        |key: &str| strategy.and_then(|strategy| strategy.pointer(&format!("/rollingUpdate/{key}")));
    let one_more = match hook {
        MutationHook::CanUpdateMachine => rolling("maxSurge").and_then(Value::as_i64) != Some(0),
        _ => {
            let missing = rolling("maxUnavailable").map_or(0, |value| whole(value, machines));
            // Both at zero counts as one that may be missing (`ResolveFenceposts`).
            let surge = rolling("maxSurge").map_or(1, |value| whole(value, 100));
            missing == 0 && surge != 0
        }
    };
    machines - i64::from(one_more)
}

/// A number, or a share of `of` rounded down.
fn whole(value: &Value, of: i64) -> i64 {
    let percent = || value.as_str()?.strip_suffix('%')?.parse::<i64>().ok();
    value.as_i64().or_else(|| percent().map(|percent| percent.saturating_mul(of) / 100)).unwrap_or(0)
}

/// Why none is changed in place although the extension accepts it.
pub(super) fn replaced_first(hook: MutationHook) -> String {
    let (name, limit) = match hook {
        MutationHook::CanUpdateMachine => (hook.name(), "maxSurge 1"),
        _ => (hook.name(), "maxUnavailable 0"),
    };
    format!("{name} is not called: with {limit} a new Machine takes the place of the only one")
}

/// What is said of Machines that are changed in place.
pub(super) fn told(hook: MutationHook, target: &str, machines: Option<i64>, changed: i64) -> Vec<String> {
    let Some(all) = machines else {
        return vec![format!("{target}: number of Machines not stated here")];
    };
    let count = |n: i64| if n == 1 { "1 Machine".to_owned() } else { format!("{n} Machines") };
    if changed == all {
        return vec![format!("{target}: {} changed in place", count(all))];
    }
    let limit = if hook == MutationHook::CanUpdateMachine { "maxSurge 1" } else { "maxUnavailable 0" };
    vec![format!(
        "{target}: {changed} of {} changed in place; with {limit} one is made first, and one deleted at the end",
        count(all)
    )]
}

/// What follows from the state of UpdateMachine.
pub(super) fn progress(update: Option<Update>) -> Option<&'static str> {
    match update {
        Some(Update::Done) => None,
        Some(Update::InProgress) => Some("UpdateMachine asks to wait: the Machines after it wait as well"),
        Some(Update::Failure) => Some(
            "UpdateMachine fails: the Machine stays as it is and is asked for again; nothing replaces it instead",
        ),
        None => Some("as UpdateMachine changes one after the other"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_machine_is_made_first_where_none_may_be_missing() {
        let (kcp, md) = (MutationHook::CanUpdateMachine, MutationHook::CanUpdateMachineSet);
        for (hook, rolling, machines, expected) in [
            (kcp, json!({}), 3, 2),
            (kcp, json!({"maxSurge": 1}), 1, 0),
            (kcp, json!({"maxSurge": 0}), 3, 3),
            (md, json!({}), 6, 5),
            (md, json!({"maxUnavailable": 1}), 6, 6),
            (md, json!({"maxUnavailable": "10%"}), 6, 5),
            (md, json!({"maxUnavailable": "50%"}), 6, 6),
            (md, json!({"maxSurge": 0}), 6, 6),
        ] {
            let strategy = json!({"rollingUpdate": rolling});
            assert_eq!(changed(hook, Some(&strategy), machines), expected, "{rolling}");
        }
    }
}
