//! `suspended-parent`: a suspended Kustomization whose children keep reconciling.
//! Source: kustomize-controller `Reconcile`: suspension is not handed down.

use super::{applied_objects, suspended_objects};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::is_kustomization;
use crate::simulate::suspend::{is_reconciled, suspension as state_of};
use crate::world::Effective;

pub(crate) static RULE: Rule = Rule {
    id: "suspended-parent",
    group: Group::Suspend,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "a suspended Kustomization whose children keep reconciling",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/suspend/suspended-parent.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let mut applied = None;
    for (object, suspension) in suspended_objects(view) {
        if !is_kustomization(&object.id) || suspension.suspended != Some(true) {
            continue;
        }
        let appliers = view.cluster.appliers(object.id.namespace.as_deref(), &object.id.name);
        let applied = applied.get_or_insert_with(|| applied_objects(view));
        let mut children: Vec<&Effective> =
            appliers.iter().filter_map(|by| applied.get(by)).flatten().copied().collect();
        children.retain(|child| child.id != object.id && is_reconciled(&child.id));
        children.retain(|child| {
            let state = state_of(&child.id, child.node.get_ref(), &view.cluster.settings);
            state.is_none_or(|state| state.suspended == Some(false))
        });
        let Some(location) = suspension.location().filter(|_| !children.is_empty()) else { continue };
        report
            .report(location, format!("{}: suspended, its children are not", object.id))
            .why(format!(
                "{}; only changes to themselves stop arriving",
                match children.len() {
                    1 => "1 Flux object that it applied keeps reconciling".to_owned(),
                    count => format!("{count} Flux objects that it applied keep reconciling"),
                }
            ))
            .help("suspend the children to stop them")
            .object(&object.id)
            .field("/spec/suspend", "true");
    }
}
