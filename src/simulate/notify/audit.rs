//! Events about what users do in flux-operator's web UI.
//!
//! Source: flux-operator 0.41 `internal/web/audit.go`, `sendAuditEvent`: an event of the
//! object that the user acted on, or of the Flux object that manages the workload, with
//! keys of the event group; `internal/web/config/validation.go`, `ValidateUserActionsSpec`.

use super::controllers::RuntimeKey;
use crate::lang::yaml::NodeRef;
use crate::model::{ObjectId, kinds};

/// Who sends them.
pub(crate) const SENDER: &str = "flux-operator";

const fn key(key: &'static str, when: &'static str) -> RuntimeKey {
    RuntimeKey { key, always: false, when, by: Some(SENDER) }
}

/// What they carry, those about an object of this kind. Workloads are managed by releases,
/// Kustomizations and what flux-operator applies (`getReconcilerRef`).
pub(super) fn keys(kind: &str) -> impl Iterator<Item = RuntimeKey> {
    let manages = matches!(kind, "Kustomization" | "HelmRelease" | "ResourceSet" | "FluxInstance");
    KEYS.into_iter().filter(move |key| manages || key.key != "subject")
}

const KEYS: [RuntimeKey; 4] = [
    key("action", "events of what a user did in the web UI"),
    key("groups", "events of what a user did in the web UI"),
    key("subject", "events of what a user did to a workload in the web UI"),
    key("username", "events of what a user did in the web UI"),
];

/// Whether an object is a release of flux-operator that audits some action.
pub(super) fn is_enabled(id: &ObjectId, node: NodeRef<'_>) -> bool {
    kinds::is_helm_release(id)
        && node
            .items_at("/spec/values/web/config/userActions/audit")
            .any(|action| NodeRef::as_str(action).is_some())
}
