//! What a change of desired state does to Machines: which are replaced, which
//! are changed in place, which stay.

pub(crate) mod control_plane;
pub(crate) mod field;
pub(crate) mod kubeadm_config;
pub(crate) mod machine_deployment;
pub(crate) mod template;

use crate::model::EffectKind;
use serde::Deserialize;
use serde_json::Value;

/// One consequence of a change for the Machines of a Cluster, or for the hooks
/// that the change calls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RolloutEffect {
    /// What happens: of the families `machines` and `hook`.
    pub effect: EffectKind,
    /// JSON Pointer of the field that decides.
    pub field: String,
    /// Value before; null when absent.
    pub before: Value,
    /// Value after; null when absent.
    pub after: Value,
    /// Why the controllers do that.
    pub reason: String,
    /// What follows from it, for a human.
    pub consequences: Vec<String>,
    /// Figures and names for programs: `machines`, `target`, `fields`, `hooks`.
    pub details: serde_json::Map<String, Value>,
}

/// Whether a Machine or MachineSet matches what is desired, with upstream's
/// reasons.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpToDate {
    /// Why it does not; empty when it does.
    pub log_messages: Vec<String>,
    /// Whether an update extension may be asked to change it in place.
    pub eligible_for_in_place_update: bool,
}

impl UpToDate {
    /// Whether it matches.
    pub fn is_up_to_date(&self) -> bool {
        self.log_messages.is_empty()
    }
}

/// A reference to an object of the same namespace: v1beta2's group, kind and
/// name, and what v1beta1's references come down to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectRef {
    /// API group; the version that v1beta1 adds does not count.
    pub api_group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

impl ObjectRef {
    /// `Kind.group`, as `GroupKind.String()` prints it.
    pub fn group_kind(&self) -> String {
        if self.api_group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.api_group)
        }
    }
}
