//! References between objects of one cluster.

pub(crate) mod applied_before_its_definition;
pub(crate) mod cross_namespace_reference;
pub(crate) mod denied_image_repository;
pub(crate) mod dependency_cycle;
pub(crate) mod dependency_on_itself;
pub(crate) mod duplicate_object;
pub(crate) mod failing_message_template;
pub(crate) mod ignored_health_check;
pub(crate) mod malformed_duration;
pub(crate) mod malformed_health_check;
pub(crate) mod missing_namespace;
pub(crate) mod missing_reference;
pub(crate) mod namespace_deadlock;
pub(crate) mod removed_api_version;
pub(crate) mod removed_kubernetes_api;
pub(crate) mod shared_release_name;
pub(crate) mod workload_cluster_not_awaited;
pub(crate) mod wrong_reference_kind;

use crate::lint::ClusterView;
use crate::lint::metadata::has_hole;
use crate::model::references::Reference;
use crate::world::{ApplyTarget, Effective};

/// The local objects of a cluster with their references.
pub(super) fn local_references<'a>(
    view: &ClusterView<'a>,
) -> impl Iterator<Item = (&'a Effective, &'a Reference<'a>)> {
    view.written()
        .filter(|(member, _)| member.target == ApplyTarget::Local)
        .flat_map(|(member, object)| view.references(member).iter().map(move |found| (object, found)))
}

/// The name of a reference, when it is known for sure.
pub(in crate::lint::rules) fn known_name<'r>(reference: &'r Reference<'_>) -> Option<&'r str> {
    let unknown = reference.namespace_unknown
        || reference.namespace.as_deref().is_some_and(has_hole)
        || has_hole(&reference.kind);
    // SOPS may have encrypted any value of a file.
    let is_known = |name: &str| !unknown && !has_hole(name) && !name.starts_with("ENC[");
    reference.name.as_deref().filter(|name| is_known(name))
}

/// `namespace/name`, as messages name the target of a reference.
pub(super) fn target_name(reference: &Reference<'_>, name: &str) -> String {
    match &reference.namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

/// The field of a reference in words: `dependsOn`, `sourceRef`.
pub(super) fn field_name(pointer: &str) -> &str {
    let mut parts = pointer.rsplit('/').filter(|part| !part.bytes().all(|byte| byte.is_ascii_digit()));
    match parts.next() {
        Some("repository") => "include",
        Some("secretRef") if pointer.contains("/decryption/") => "decryption.secretRef",
        Some("secretRef") if pointer.contains("/kubeConfig/") => "kubeConfig.secretRef",
        Some("configMapRef") => "kubeConfig.configMapRef",
        Some(part) => part,
        None => pointer,
    }
}

/// What a list names: `a`, `a and b`, `a, b and c`.
pub(in crate::lint::rules) fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}
