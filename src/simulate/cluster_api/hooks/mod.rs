//! Lifecycle hooks of managed topologies: which one is called when, what its
//! answer blocks, and which calls are still owed.
//!
//! Everything here takes the observed state and the answers as inputs, with
//! upstream's names, so that a test case of cluster-api reads the same.

pub(crate) mod extension_config;
pub(crate) mod full_sequence;
mod in_place;
pub(crate) mod input;
pub(crate) mod mutation;
mod mutation_input;
pub(crate) mod selection;
pub(crate) mod sequence;
pub(crate) mod simulate;
pub(crate) mod upgrade_plan;

use crate::config::Extension;
use crate::simulate::behaviour::{AFTER_CLUSTER_UPGRADE_BLOCKS, CHAINED_UPGRADES};
use mutation::MutationHook;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A lifecycle hook of `hooks.runtime.cluster.x-k8s.io/v1alpha1`
/// (cluster-api `api/runtime/hooks/v1alpha1/lifecyclehooks_types.go`), in the
/// order of a Cluster's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hook {
    /// Before any object of the topology exists.
    BeforeClusterCreate,
    /// Once the first control plane Machine serves the API.
    AfterControlPlaneInitialized,
    /// Once, before the first step of an upgrade.
    BeforeClusterUpgrade,
    /// Before every control plane step.
    BeforeControlPlaneUpgrade,
    /// After every control plane step.
    AfterControlPlaneUpgrade,
    /// Before workers move to a version.
    BeforeWorkersUpgrade,
    /// After all workers reached a version.
    AfterWorkersUpgrade,
    /// Once, when everything is at the topology's version.
    AfterClusterUpgrade,
    /// Before anything of the Cluster is deleted.
    BeforeClusterDelete,
}

impl Hook {
    /// All nine, in the order of a Cluster's life.
    pub const ALL: [Self; 9] = [
        Self::BeforeClusterCreate,
        Self::AfterControlPlaneInitialized,
        Self::BeforeClusterUpgrade,
        Self::BeforeControlPlaneUpgrade,
        Self::AfterControlPlaneUpgrade,
        Self::BeforeWorkersUpgrade,
        Self::AfterWorkersUpgrade,
        Self::AfterClusterUpgrade,
        Self::BeforeClusterDelete,
    ];

    /// The name that ExtensionConfigs and annotations use.
    pub fn name(self) -> &'static str {
        match self {
            Self::BeforeClusterCreate => "BeforeClusterCreate",
            Self::AfterControlPlaneInitialized => "AfterControlPlaneInitialized",
            Self::BeforeClusterUpgrade => "BeforeClusterUpgrade",
            Self::BeforeControlPlaneUpgrade => "BeforeControlPlaneUpgrade",
            Self::AfterControlPlaneUpgrade => "AfterControlPlaneUpgrade",
            Self::BeforeWorkersUpgrade => "BeforeWorkersUpgrade",
            Self::AfterWorkersUpgrade => "AfterWorkersUpgrade",
            Self::AfterClusterUpgrade => "AfterClusterUpgrade",
            Self::BeforeClusterDelete => "BeforeClusterDelete",
        }
    }

    /// The hook of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }

    /// The Cluster API minor (1.x) that calls it first; 2 for the six that the
    /// add-on proposal brought.
    pub fn since_minor(self) -> u64 {
        match self {
            Self::BeforeControlPlaneUpgrade | Self::BeforeWorkersUpgrade | Self::AfterWorkersUpgrade => {
                u64::from(CHAINED_UPGRADES.since)
            }
            _ => 2,
        }
    }

    /// Whether a non-zero `retryAfterSeconds` in its answer holds anything, on
    /// Cluster API 1.`minor` (`None`: the newest known).
    pub fn may_block(self, minor: Option<u64>) -> bool {
        match self {
            Self::AfterControlPlaneInitialized => false,
            Self::AfterClusterUpgrade => {
                minor.is_none_or(|minor| minor >= u64::from(AFTER_CLUSTER_UPGRADE_BLOCKS.since))
            }
            _ => true,
        }
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What all handlers of a hook answered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookAnswer {
    /// `status: Success`, `retryAfterSeconds: 0`.
    NonBlocking,
    /// `status: Success` and the lowest non-zero `retryAfterSeconds`.
    Blocking {
        /// Seconds until the hook is called again.
        retry_after_seconds: i64,
    },
    /// `status: Failure`, or unreachable under `failurePolicy: Fail`: the
    /// reconcile aborts and is retried.
    Failure,
}

/// Answers by hook. A hook that is not in it has no handler: it passes without
/// a call.
pub(crate) type Answers = BTreeMap<Hook, HookAnswer>;

/// The annotation `runtime.cluster.x-k8s.io/pending-hooks`: a sorted, comma
/// separated list of hooks that are owed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PendingHooks(BTreeSet<String>);

impl PendingHooks {
    /// Reads the annotation's value; empty items do not count.
    pub(crate) fn parse(annotation: &str) -> Self {
        Self(annotation.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }

    /// Whether the call is owed.
    pub(crate) fn has(&self, hook: Hook) -> bool {
        self.0.contains(hook.name())
    }

    /// Marks calls as owed (`hooks.MarkAsPending`).
    pub(crate) fn mark(&mut self, hooks: impl IntoIterator<Item = Hook>) {
        self.0.extend(hooks.into_iter().map(|h| h.name().to_owned()));
    }

    /// Marks a call as done (`hooks.MarkAsDone`).
    pub(crate) fn done(&mut self, hook: Hook) {
        self.0.remove(hook.name());
    }
}

impl fmt::Display for PendingHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{name}")?;
        }
        Ok(())
    }
}

/// The handlers of extensions that are known, by hook; `None` where none is.
pub(crate) fn handlers(extensions: &[Extension]) -> Option<BTreeMap<Hook, Vec<String>>> {
    (!extensions.is_empty()).then(|| {
        let mut handlers: BTreeMap<Hook, Vec<String>> = BTreeMap::new();
        for extension in extensions {
            for handler in &extension.handlers {
                if let Some(hook) = Hook::from_name(&handler.hook) {
                    handlers.entry(hook).or_default().push(format!("{}.{}", handler.name, extension.name));
                }
            }
        }
        handlers
    })
}

/// The handlers of extensions that decide what is made; `None` where none is known.
pub(crate) fn mutation_handlers(extensions: &[Extension]) -> Option<MutationHandlers> {
    (!extensions.is_empty()).then(|| {
        let mut handlers = MutationHandlers::new();
        for extension in extensions {
            for handler in &extension.handlers {
                if let Some(hook) = MutationHook::from_name(&handler.hook) {
                    handlers.entry(hook).or_default().push(format!("{}.{}", handler.name, extension.name));
                }
            }
        }
        handlers
    })
}

/// Handlers, as `handler.extension`, by the hook that they answer.
pub(crate) type MutationHandlers = BTreeMap<MutationHook, Vec<String>>;

/// The handlers of extensions whose failure is ignored.
pub(crate) fn ignoring(extensions: &[Extension]) -> BTreeSet<String> {
    extensions
        .iter()
        .flat_map(|extension| extension.handlers.iter().map(move |handler| (extension, handler)))
        .filter(|(_, handler)| handler.ignores_failure)
        .map(|(extension, handler)| format!("{}.{}", handler.name, extension.name))
        .collect()
}
