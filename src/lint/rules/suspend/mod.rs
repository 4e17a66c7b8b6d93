//! Suspended objects and what follows from them.

pub(crate) mod annotation_only_suspend;
pub(crate) mod self_managed_suspend;
pub(crate) mod suspend_annotation_value;
pub(crate) mod suspend_disagreement;
pub(crate) mod suspend_fan_out;
pub(crate) mod suspend_without_reason;
pub(crate) mod suspended_alert;
pub(crate) mod suspended_dependency;
pub(crate) mod suspended_parent;
pub(crate) mod suspended_provider;
pub(crate) mod suspended_source;
pub(crate) mod suspended_under_wait;

use crate::lint::ClusterView;
use crate::simulate::suspend::Suspension;
use crate::world::Effective;
use rustc_hash::FxHashMap;

/// The objects of a cluster that are suspended or seem to be.
pub(super) fn suspended_objects<'v, 'a>(
    view: &'v ClusterView<'a>,
) -> impl Iterator<Item = &'v (&'a Effective, Suspension<'a>)> {
    view.suspendable().iter().filter(|(_, suspension)| !suspension.ways().is_empty())
}

/// The objects of a cluster by the place of what applies them.
fn applied_objects<'a>(view: &ClusterView<'a>) -> FxHashMap<u32, Vec<&'a Effective>> {
    let mut found: FxHashMap<u32, Vec<&Effective>> = FxHashMap::default();
    for (member, object) in view.written() {
        if let Some(by) = member.maker.kustomization() {
            found.entry(by).or_default().push(object);
        }
    }
    found
}
