//! What identifies an object in a build.
//!
//! Mirrors `kyaml/resid` and `kyaml/openapi` (`precomputedIsNamespaceScoped`).

use super::nodes;
use super::scopes;
use crate::lang::yaml::NodeRef;
use rustc_hash::FxHashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// What the namespace of a cluster-scoped object counts as.
pub(super) const NO_NAMESPACE: &str = "_non_namespaceable_";

/// Group, version and kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gvk {
    /// `apiVersion` as written.
    pub api_version: Arc<str>,
    /// `kind`.
    pub kind: Arc<str>,
}

impl Gvk {
    /// The group; empty for the core group.
    pub(super) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    pub(super) fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(&*self.api_version, |(_, version)| version)
    }

    /// Whether each part is the selector's or the selector's is empty.
    pub(super) fn is_selected_by(&self, group: &str, version: &str, kind: &str) -> bool {
        (kind.is_empty() || &*self.kind == kind)
            && (group.is_empty() || self.group() == group)
            && (version.is_empty() || self.version() == version)
    }

    /// Whether kustomize knows the type to be cluster-scoped.
    pub(super) fn is_cluster_scoped(&self) -> bool {
        known_scopes().get(&(&*self.api_version, &*self.kind)) == Some(&true)
    }

    /// Whether kustomize's table of scopes has the type at all.
    pub(super) fn has_known_scope(&self) -> bool {
        known_scopes().contains_key(&(&*self.api_version, &*self.kind))
    }
}

/// Whether objects of a built-in type lie in a namespace, by kustomize's table of scopes;
/// `None` for a type that isn't there.
pub(crate) fn is_namespaced(api_version: &str, kind: &str) -> Option<bool> {
    known_scopes().get(&(api_version, kind)).map(|cluster_scoped| !cluster_scoped)
}

fn known_scopes() -> &'static FxHashMap<(&'static str, &'static str), bool> {
    static SCOPES: OnceLock<FxHashMap<(&'static str, &'static str), bool>> = OnceLock::new();
    SCOPES.get_or_init(|| {
        let cluster = scopes::CLUSTER_SCOPED.iter().map(|key| (*key, true));
        cluster.chain(scopes::NAMESPACED.iter().map(|key| (*key, false))).collect()
    })
}

/// An id: type, name and namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ResId {
    pub gvk: Gvk,
    /// `metadata.name`.
    pub name: Arc<str>,
    /// `metadata.namespace` as written, empty where absent.
    pub namespace: Arc<str>,
    /// Whether the type is cluster-scoped.
    pub cluster_scoped: bool,
    hash: u64,
}

impl ResId {
    /// The id that an object states.
    pub(super) fn of(object: NodeRef<'_>) -> ResId {
        let metadata = object.get("metadata");
        let part = |key| metadata.map_or(Arc::from(""), |node| nodes::field_text(node, key).as_ref().into());
        ResId::new(
            nodes::field_text(object, "apiVersion").as_ref(),
            nodes::field_text(object, "kind").as_ref(),
            part("name"),
            part("namespace"),
        )
    }

    /// From its parts.
    pub(super) fn new(api_version: &str, kind: &str, name: Arc<str>, namespace: Arc<str>) -> ResId {
        let gvk = Gvk { api_version: api_version.into(), kind: kind.into() };
        let cluster_scoped = gvk.is_cluster_scoped();
        let mut id = ResId { gvk, name, namespace, cluster_scoped, hash: 0 };
        let mut hasher = rustc_hash::FxHasher::default();
        (&id.gvk, &id.name, id.effective_namespace()).hash(&mut hasher);
        id.hash = hasher.finish();
        id
    }

    /// The namespace as ids compare it.
    pub(super) fn effective_namespace(&self) -> &str {
        match &*self.namespace {
            _ if self.cluster_scoped => NO_NAMESPACE,
            "" => "default",
            namespace => namespace,
        }
    }

    /// A hash of what two objects of one build may not share. An effective namespace in
    /// place of a written one leaves it as it is.
    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// Whether the two are the same object.
    pub(super) fn equals(&self, other: &ResId) -> bool {
        self.gvk == other.gvk
            && self.name == other.name
            && self.effective_namespace() == other.effective_namespace()
    }
}

/// `Kind namespace/name`, as messages name objects.
impl fmt::Display for ResId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind: &str = if self.gvk.kind.is_empty() { "object" } else { &self.gvk.kind };
        match (&*self.namespace, self.cluster_scoped) {
            ("", _) | (_, true) => write!(f, "{kind} {}", self.name),
            (namespace, false) => write!(f, "{kind} {namespace}/{}", self.name),
        }
    }
}
