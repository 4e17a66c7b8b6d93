//! What workloads, and what routes to them, refer to.

mod hosts;
mod labels;
pub(crate) mod malformed_image;
pub(crate) mod missing_data_key;
pub(crate) mod missing_reference_grant;
pub(crate) mod missing_workload_reference;
pub(crate) mod rejected_workload;
pub(crate) mod removed_reference_target;
pub(crate) mod selector_matches_nothing;
pub(crate) mod unattached_route;
pub(crate) mod undefined_name_in_object;
pub(crate) mod undefined_name_in_pod;
pub(crate) mod unknown_service_host;
pub(crate) mod unknown_service_port;

use crate::build::kustomize::FILE_NAMES;
use crate::files::{Snapshot, join};
use crate::lang::yaml::NodeRef;
use crate::lint::metadata::has_hole;
use crate::lint::workloads::{UnseenCause, Workloads};
use crate::model::ObjectId;
use crate::model::Unchecked;
use crate::model::workloads::{WorkloadReference, are_pods_unread, is_judged};
use crate::world::Effective;
use std::borrow::Cow;

/// The references about whose targets something is known, with the objects that state them
/// and the names.
pub(super) fn judged<'n, 'a>(
    workloads: &'n Workloads<'a>,
) -> impl Iterator<Item = (&'a Effective, &'n WorkloadReference<'a>, &'n str)> {
    workloads.references().iter().flat_map(|(object, references)| {
        references.iter().filter_map(|reference| Some((*object, reference, known_name(reference)?)))
    })
}

/// The name of a reference, when it is known for sure and its kind is one that is judged.
fn known_name<'r>(reference: &'r WorkloadReference<'_>) -> Option<&'r str> {
    let namespace = reference.namespace.as_deref();
    let name = reference.name.as_deref()?;
    let known = !is_open(name)
        && !namespace.is_some_and(is_open)
        && is_judged(&reference.group, &reference.kind)
        && (namespace.is_some()
            || crate::model::workloads::is_cluster_scoped(&reference.group, &reference.kind));
    known.then_some(name)
}

/// What comes of Pods that the API server `refuses`, by the workload that states them.
pub(super) fn refusal_of_pods(id: &ObjectId, refuses: &str) -> String {
    match are_pods_unread(id) {
        true => format!("the API server takes the object and {refuses} its Pods: none of them runs"),
        false => format!("the API server {refuses} the object"),
    }
}

/// Whether a text holds something that is filled in later, or that SOPS encrypted.
pub(super) fn is_open(text: &str) -> bool {
    has_hole(text) || text.contains(['?', '$', '{', '<']) || text.starts_with("ENC[")
}

/// What a reference to something that may exist is under "not checked".
pub(super) fn unchecked(cause: UnseenCause<'_>) -> Unchecked {
    match cause {
        UnseenCause::Opener(opener) => opener.unchecked(),
        UnseenCause::Maker(id) if crate::model::kinds::is_helm_release(id) => Unchecked::ReferenceIntoChart,
        UnseenCause::Maker(_) => Unchecked::ReferenceToGeneratedObject,
        UnseenCause::Unapplied => Unchecked::ReferenceToUnappliedObject,
        UnseenCause::Anybody => Unchecked::ReferenceToConfig,
    }
}

/// `Kind namespace/name` of the target of a reference.
pub(super) fn target(reference: &WorkloadReference<'_>, name: &str) -> String {
    match reference.namespace.as_deref() {
        Some(namespace) => format!("{} {namespace}/{name}", reference.kind),
        None => format!("{} {name}", reference.kind),
    }
}

/// A path as people write it: `spec.template.spec.containers[0].env[1]`.
pub(super) fn dotted(pointer: &str) -> String {
    let mut text = String::new();
    for part in pointer.split('/').skip(1) {
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            text.push('[');
            text.push_str(part);
            text.push(']');
        } else {
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(&part.replace("~1", "/").replace("~0", "~"));
        }
    }
    text
}

/// A scalar as text, when it is known.
pub(super) fn text(node: NodeRef<'_>) -> Option<Cow<'_, str>> {
    node.text().filter(|text| !is_open(text) && !node.is_unknown())
}

/// Whether a kustomization lies beside the file of an object.
pub(super) fn is_listed(snapshot: &Snapshot, object: &Effective) -> bool {
    let Some(location) = object.node.get_ref().location() else { return false };
    let path = location.file.shown();
    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
    FILE_NAMES.iter().filter_map(|name| join(directory, name)).any(|path| snapshot.file(&path).is_some())
}
