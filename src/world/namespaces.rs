//! Objects that can't be applied because nothing gives them a namespace.
//! Source: kustomize-controller applies what the build gives, without a default;
//! client-go refuses a name in a namespaced resource without a namespace.

use super::schemas::is_whole_build;
use super::{Applied, ApplyTarget, Cluster, Effective};
use crate::build::kustomize::is_namespaced;
use crate::lang::yaml::NodeRef;
use crate::model::{ObjectId, kinds};
use crate::schema::table;

/// Whether nothing gives an object the namespace that its kind lies in, as far as it is known:
/// what `by` applies of it, to `target`, is refused. Where all that a Kustomization applies has
/// none, whoever wrote it knows who sets it: that is for the caller to see.
pub(crate) fn lacks_namespace(
    cluster: &Cluster,
    object: &Effective,
    by: &Applied,
    target: &ApplyTarget,
) -> bool {
    object.id.namespace.is_none()
        && *target == ApplyTarget::Local
        && is_in_namespaces(&object.id)
        // A parent that is not seen may patch a targetNamespace in.
        && is_whole_build(cluster, Some(by))
        && !is_left_alone(object.node.get_ref())
}

/// Whether objects of the kind lie in namespaces, as far as it is known.
fn is_in_namespaces(id: &ObjectId) -> bool {
    kinds::of(id).is_some()
        || is_namespaced(&id.api_version, &id.kind) == Some(true)
        || table::is_namespaced(id.group(), &id.kind) == Some(true)
}

/// Whether the controller is told not to apply it.
fn is_left_alone(node: NodeRef<'_>) -> bool {
    node.entries_at("/metadata/annotations").any(|entry| {
        let value = entry.value.as_str().unwrap_or_default();
        (entry.key == "kustomize.toolkit.fluxcd.io/reconcile" && value.eq_ignore_ascii_case("disabled"))
            || (entry.key == "kustomize.toolkit.fluxcd.io/ssa" && value.eq_ignore_ascii_case("ignore"))
    })
}
