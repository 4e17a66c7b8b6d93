//! Definitions of Flux that an instance patches or leaves out: what their kinds look like
//! then is not what the version of Flux says.
//! Source: flux-operator `api/v1` (`Kustomize.Patches`).

use crate::lang::yaml::NodeRef;
use std::sync::Arc;

/// Names of definitions; an empty one stands for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Redefined(Vec<Arc<str>>);

impl Redefined {
    /// Takes in one of an instance's patches.
    pub(super) fn read(&mut self, patch: NodeRef<'_>) {
        let text = |pointer| patch.str_at(pointer);
        if text("/target/kind").as_deref() == Some("CustomResourceDefinition") {
            self.0.push(text("/target/name").as_deref().unwrap_or_default().into());
        }
    }

    /// Whether the definition of a kind is another than that of the version.
    pub(super) fn holds(&self, group: &str, kind: &str) -> bool {
        let kind = kind.to_ascii_lowercase();
        let plural = match kind.strip_suffix('y') {
            Some(stem) => format!("{stem}ies.{group}"),
            None => format!("{kind}s.{group}"),
        };
        self.0.iter().any(|name| name.is_empty() || **name == *plural)
    }
}
