//! `self-managed-suspend`: a suspended Kustomization that applies its own definition.
//! Source: kustomize-controller `Reconcile`: resumed by hand, it applies `suspend: true`
//! from Git to itself again.

use super::{applied_objects, suspended_objects};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::is_kustomization;

pub(crate) static RULE: Rule = Rule {
    id: "self-managed-suspend",
    group: Group::Suspend,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a suspended Kustomization that applies its own definition",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/self-managed-suspend.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let mut applied = None;
    for (object, suspension) in suspended_objects(view) {
        let id = &object.id;
        if !is_kustomization(id) || suspension.suspended != Some(true) {
            continue;
        }
        let mut appliers = view.cluster.appliers(id.namespace.as_deref(), &id.name).into_iter();
        let applied = applied.get_or_insert_with(|| applied_objects(view));
        let applies = |by: u32| applied.get(&by).is_some_and(|all| all.iter().any(|other| other.id == *id));
        if !appliers.any(applies) {
            continue;
        }
        let Some(location) = suspension.location() else { continue };
        report
            .report(location, format!("{id}: suspends itself again after each resume"))
            .why(
                "it applies its own definition: once resumed in the cluster, its first reconciliation sets \
                 suspend: true again",
            )
            .help("suspend it in the cluster only, or remove it from its own path")
            .object(id)
            .field("/spec/suspend", "true");
    }
}
