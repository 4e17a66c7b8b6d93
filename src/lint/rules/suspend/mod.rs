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
use crate::simulate::suspend::{Suspension, suspension};
use crate::world::{ApplyTarget, Effective};

/// The suspendable objects of a cluster.
pub(super) fn suspendable_objects<'a>(
    view: &ClusterView<'a>,
) -> impl Iterator<Item = (&'a Effective, Suspension<'a>)> {
    let settings = &view.cluster.settings;
    view.members().filter(|(member, _)| member.target == ApplyTarget::Local).filter_map(move |(_, object)| {
        Some((object, suspension(&object.id, object.node.get_ref(), settings)?))
    })
}

/// Those that are suspended or seem to be.
pub(super) fn suspended_objects<'a>(
    view: &ClusterView<'a>,
) -> impl Iterator<Item = (&'a Effective, Suspension<'a>)> {
    suspendable_objects(view).filter(|(_, suspension)| !suspension.ways().is_empty())
}
