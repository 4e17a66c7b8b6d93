//! Why the reconcile of a topology fails at what its extensions answer.
//!
//! Mirrors cluster-api `core/reconcilers/topology/cluster/patches/engine.go` (`Apply`) and
//! `cluster_controller.go` (`reconcile`, on a ClusterClass whose variables are not ready).

use super::Comparison;
use crate::simulate::cluster_api::hooks::mutation::{Discover, Generate, MutationHook, Trouble};
use crate::simulate::cluster_api::hooks::selection::called;
use crate::simulate::cluster_api::topology::desired::Desired;
use crate::simulate::cluster_api::topology::patches::{GENERATE, VALIDATE};
use crate::simulate::cluster_api::topology::text_at;
use std::collections::BTreeSet;

/// The first reason of those that the stated answers give; it holds everything of the Cluster.
pub(super) fn stops(comparison: &Comparison<'_, '_>, desired: &Desired<'_>) -> Option<String> {
    let responses = comparison.responses;
    let namespace = desired.cluster.object.namespace();
    let called = called(&comparison.conditions.extensions, &comparison.after.objects, namespace);
    for (pointer, patch) in desired.class.patches() {
        let name = text_at(patch, &["/name"]).unwrap_or_default();
        let stop = |hook: MutationHook, handler: &str, trouble: Trouble| {
            stop(hook, handler, trouble, &called.ignoring).map(|why| format!("patch {name}: {why}"))
        };
        let discovers = text_at(patch, &["/external/discoverVariablesExtension"]);
        if let (Some(handler), Some(Discover::Trouble(trouble))) = (&discovers, &responses.discover_variables)
            && let Some(why) = stop(MutationHook::DiscoverVariables, handler, *trouble)
        {
            return Some(format!("{why}, so the ClusterClass is not reconciled, and no Cluster of it"));
        }
        if let Some(handler) = text_at(patch, &GENERATE) {
            if let Some(Generate::Trouble(trouble)) = responses.generated(&handler)
                && let Some(why) = stop(MutationHook::GeneratePatches, &handler, *trouble)
            {
                return Some(format!("{why}, so nothing of the topology is reconciled"));
            }
            if let Some(failure) = desired.failures.iter().find(|failure| failure.pointer == pointer) {
                return Some(format!(
                    "patch {name}: {}, so nothing of the topology is reconciled",
                    failure.message
                ));
            }
        }
        if let (Some(handler), Some(trouble)) = (text_at(patch, &VALIDATE), responses.validate_topology)
            && let Some(why) = stop(MutationHook::ValidateTopology, &handler, trouble)
        {
            return Some(format!("{why}, so nothing of the topology is reconciled"));
        }
    }
    None
}

/// What a failing call comes to; none where failurePolicy Ignore takes it for success.
pub(crate) fn stop(
    hook: MutationHook,
    handler: &str,
    trouble: Trouble,
    ignoring: &BTreeSet<String>,
) -> Option<String> {
    let passes = trouble == Trouble::Unreachable && ignoring.contains(handler);
    (!passes).then(|| format!("{} of {handler} {}", hook.name(), trouble.words()))
}
