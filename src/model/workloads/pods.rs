//! Where the Pods of a workload are described.

use crate::lang::yaml::NodeRef;
use crate::model::ObjectId;

/// JSON Pointer of the Pod's spec in an object of Kubernetes' own kinds; pod templates
/// of operators' kinds are theirs to read.
pub(super) fn pod_spec_pointer(id: &ObjectId) -> Option<&'static str> {
    Some(match (id.group(), &*id.kind) {
        ("", "Pod") => "/spec",
        ("", "ReplicationController")
        | ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job") => "/spec/template/spec",
        ("batch", "CronJob") => "/spec/jobTemplate/spec/template/spec",
        _ => return None,
    })
}

/// The Pod's spec of an object, with its pointer.
pub(crate) fn pod_spec<'a>(id: &ObjectId, node: NodeRef<'a>) -> Option<(&'static str, NodeRef<'a>)> {
    let pointer = pod_spec_pointer(id)?;
    Some((pointer, node.at(pointer)?))
}

/// Whether the API server takes a workload whose Pods it will refuse: it looks at those of a
/// StatefulSet only as they are made, since some of their volumes are claims.
/// Source: kubernetes `pkg/apis/apps/validation/validation.go`
/// (`ValidatePodTemplateSpecForStatefulSet`).
pub(crate) fn are_pods_unread(id: &ObjectId) -> bool {
    id.is("apps", "StatefulSet")
}

/// The object or template that holds the Pods' labels and spec.
pub(crate) fn pod_template<'a>(id: &ObjectId, node: NodeRef<'a>) -> Option<NodeRef<'a>> {
    node.at(pod_spec_pointer(id)?.strip_suffix("/spec")?)
}
