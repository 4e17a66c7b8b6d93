//! `.forebay.yaml`: what the root's configuration says, with the place of every
//! setting, so that mistakes and unused entries are shown where they stand.
//!
//! Only the root's file is read; there is no merging of files. `read` is pure
//! text to [`Config`]; [`load`] finds and reads the file.

mod assumed;
mod pattern;
mod read;

pub use assumed::Assumed;
pub(crate) use pattern::{Pattern, Patterns};
pub(crate) use read::Mistake;
pub use read::read;

use crate::files::{Allowed, ChartStore, ChartStores, PathTarget, StoreLayout, place};
use crate::lang::yaml::Location;
use crate::model::Version;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Name of the file in the root.
pub const FILE_NAME: &str = ".forebay.yaml";

/// The JSON Schema of the file.
pub const SCHEMA: &str = include_str!("../../schemas/config.json");

/// A commented file to begin with.
pub(crate) const TEMPLATE: &str = include_str!("template.yaml");

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Not run or not reported.
    Off,
    /// Worth knowing.
    Info,
    /// Works, but not as it reads.
    Warning,
    /// The controllers will fail, ignore or lose something.
    Error,
}

impl Level {
    /// All levels, the lowest first.
    pub const ALL: [Level; 4] = [Level::Off, Level::Info, Level::Warning, Level::Error];

    /// The word in output and configuration.
    pub fn name(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }

    /// The level of a word.
    pub fn parse(word: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == word)
    }
}

/// A value of the configuration and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written<T> {
    pub value: T,
    /// Its bytes in the configuration file.
    pub location: Location,
}

/// The root's configuration. The default is that of an empty file.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Versions and features of the controllers; clusters may have their own.
    pub target: TargetConfig,
    /// Entry points; when empty, they are found in the repository.
    pub clusters: Vec<ClusterConfig>,
    /// Where the trees of Flux sources lie.
    pub sources: Vec<FluxSource>,
    /// Files that are not reported on. Builds still read them.
    pub exclude: Patterns,
    /// Directories of schemas, relative to the root: CustomResourceDefinitions, or
    /// JSON Schemas as catalogues lay them out.
    pub schemas: Vec<Written<String>>,
    /// Stores of charts: directories, absolute or relative to the root.
    pub charts: Vec<Written<String>>,
    /// The baseline, relative to the root. It is no manifest.
    pub baseline: Option<Written<String>>,
    /// Levels of rules or groups, in order; a rule's own entry wins over its
    /// group's.
    pub rules: Vec<RuleLevel>,
    /// Levels for some paths, in order; the last that matches wins.
    pub overrides: Vec<Override>,
    /// The patterns of all overrides, and the place of the override of each.
    override_paths: OnceLock<(Patterns, Vec<usize>)>,
    /// Whether something in the cluster adds substitution variables.
    pub injected_variables: Option<Written<Injected>>,
    /// Whether a suppression without a reason is a finding.
    pub require_reason: Option<Written<bool>>,
    /// The default base revision of `plan`.
    pub plan_base: Option<Written<String>>,
    /// Directories outside of the root that may be read; no setting of the file.
    pub allowed: Allowed,
    /// What a rehearsal assumes, above all that is stated; no setting of the file.
    pub assumed: Assumed,
    /// Where charts are looked for: what the flags and `charts` come to; no setting of the
    /// file.
    pub(crate) stores: Arc<ChartStores>,
}

/// Substitution variables that something in the cluster adds to Kustomizations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Injected {
    /// None.
    No,
    /// Some, nobody knows which.
    Any,
    /// These.
    Names(Vec<String>),
}

impl Config {
    /// Which variables something in the cluster adds, where the file says so.
    pub fn injected(&self) -> Option<&Injected> {
        self.injected_variables.as_ref().map(|injected| &injected.value)
    }

    /// The same, with one store of charts: what it is called, and its directory.
    pub fn with_store(&self, name: &str, directory: &Path) -> Config {
        let layout = StoreLayout::Charts;
        let store = ChartStore { name: name.into(), path: Ok(directory.to_owned()), layout };
        Config { stores: Arc::new(ChartStores::new(vec![store])), ..self.clone() }
    }

    /// The same, with versions that a rehearsal assumes.
    pub fn assuming(&self, assumed: Assumed) -> Config {
        let mut config = self.clone();
        config.assumed = assumed;
        config
    }

    /// The level that `rules` gives a rule: its own entry, else its group's.
    pub fn level(&self, rule: &str, group: &str) -> Option<Level> {
        level_in(&self.rules, rule, group)
    }

    /// The level that `overrides` give a rule for findings in a file.
    pub fn override_level(&self, path: &str, rule: &str, group: &str) -> Option<Level> {
        let (patterns, entries) = self.override_paths.get_or_init(|| {
            let entries = self.overrides.iter().enumerate();
            entries.flat_map(|(at, entry)| entry.paths.iter().map(move |path| (path.clone(), at))).unzip()
        });
        let matching: BTreeSet<usize> = patterns.covering(path).map(|at| entries[at]).collect();
        matching.iter().rev().find_map(|at| level_in(&self.overrides[*at].rules, rule, group))
    }

    /// The target of a cluster: its own settings over the global ones.
    pub fn target_of(&self, cluster: Option<&str>) -> TargetConfig {
        let own = self.clusters.iter().find(|entry| cluster == Some(entry.name.as_str()));
        match own.and_then(|entry| entry.target.as_ref()) {
            Some(own) => own.over(&self.target),
            None => self.target.clone(),
        }
    }
}

fn level_in(entries: &[RuleLevel], rule: &str, group: &str) -> Option<Level> {
    let of = |name: &str| entries.iter().find(|entry| entry.name == name).map(|entry| entry.level);
    of(rule).or_else(|| of(group))
}

/// The level of a rule or group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLevel {
    /// A rule's id or a group's name; the engine knows which exist.
    pub name: String,
    pub level: Level,
    pub location: Location,
}

/// Levels for some paths.
#[derive(Clone, Debug)]
pub struct Override {
    /// Files that it applies to.
    pub paths: Vec<Pattern>,
    /// Levels there.
    pub rules: Vec<RuleLevel>,
}

/// Versions and features of the controllers. `None` and absence mean `auto`:
/// read from the repository, else unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetConfig {
    /// The Flux distribution's version.
    pub flux: Option<Written<Version>>,
    /// The version of Cluster API's core.
    pub cluster_api: Option<Written<Version>>,
    /// The version of Kubernetes.
    pub kubernetes: Option<Written<Version>>,
    /// Features that are said to be enabled or disabled, in the file's order.
    pub features: Vec<(Feature, Written<bool>)>,
    /// `--additional-sync-machine-labels` of Cluster API's core controllers:
    /// regular expressions.
    pub additional_sync_machine_labels: Vec<Written<String>>,
    /// `--additional-sync-machine-annotations`, likewise.
    pub additional_sync_machine_annotations: Vec<Written<String>>,
    /// Runtime extensions and their handlers, which only a cluster knows.
    pub extensions: Vec<Extension>,
}

impl TargetConfig {
    /// Whether a feature is said to be enabled; `None` for auto.
    pub fn feature(&self, feature: Feature) -> Option<&Written<bool>> {
        self.features.iter().find(|(name, _)| *name == feature).map(|(_, value)| value)
    }

    /// These settings, and the `rest`'s where there are none.
    fn over(&self, rest: &TargetConfig) -> TargetConfig {
        let either = |own: &Vec<Written<String>>, rest: &Vec<Written<String>>| {
            if own.is_empty() { rest.clone() } else { own.clone() }
        };
        let mut features = self.features.clone();
        features.extend(rest.features.iter().filter(|(name, _)| self.feature(*name).is_none()).cloned());
        TargetConfig {
            flux: self.flux.clone().or_else(|| rest.flux.clone()),
            cluster_api: self.cluster_api.clone().or_else(|| rest.cluster_api.clone()),
            kubernetes: self.kubernetes.clone().or_else(|| rest.kubernetes.clone()),
            features,
            additional_sync_machine_labels: either(
                &self.additional_sync_machine_labels,
                &rest.additional_sync_machine_labels,
            ),
            additional_sync_machine_annotations: either(
                &self.additional_sync_machine_annotations,
                &rest.additional_sync_machine_annotations,
            ),
            extensions: if self.extensions.is_empty() {
                rest.extensions.clone()
            } else {
                self.extensions.clone()
            },
        }
    }
}

/// What controllers may or may not do, by version and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Feature {
    /// The controllers implement the gating RFC.
    Gates,
    /// The controllers honour `reconcile.fluxcd.io/suspended`.
    SuspendAnnotation,
    /// References across namespaces are allowed.
    CrossNamespaceRefs,
    /// kustomize-controller's gate StrictPostBuildSubstitutions.
    StrictSubstitution,
    /// The gate ExternalArtifact.
    ExternalArtifact,
    /// The gate AdditiveCELDependencyCheck.
    AdditiveCelDependencyCheck,
    /// Cluster API's gate ClusterTopology.
    ClusterTopology,
    /// Cluster API's gate RuntimeSDK.
    RuntimeSdk,
    /// Cluster API's gate InPlaceUpdates.
    InPlaceUpdates,
    /// Cluster API's gate MachineTaintPropagation.
    MachineTaintPropagation,
}

impl Feature {
    /// All features, in the order of the documentation.
    pub const ALL: [Feature; 10] = [
        Feature::Gates,
        Feature::SuspendAnnotation,
        Feature::CrossNamespaceRefs,
        Feature::StrictSubstitution,
        Feature::ExternalArtifact,
        Feature::AdditiveCelDependencyCheck,
        Feature::ClusterTopology,
        Feature::RuntimeSdk,
        Feature::InPlaceUpdates,
        Feature::MachineTaintPropagation,
    ];

    /// The key in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Gates => "gates",
            Feature::SuspendAnnotation => "suspendAnnotation",
            Feature::CrossNamespaceRefs => "crossNamespaceRefs",
            Feature::StrictSubstitution => "strictSubstitution",
            Feature::ExternalArtifact => "externalArtifact",
            Feature::AdditiveCelDependencyCheck => "additiveCELDependencyCheck",
            Feature::ClusterTopology => "clusterTopology",
            Feature::RuntimeSdk => "runtimeSdk",
            Feature::InPlaceUpdates => "inPlaceUpdates",
            Feature::MachineTaintPropagation => "machineTaintPropagation",
        }
    }
}

/// A registered runtime extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Name of its ExtensionConfig.
    pub name: String,
    pub handlers: Vec<Handler>,
}

/// A handler of a runtime extension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// Its name, without the extension's.
    pub name: String,
    /// The hook that it answers, such as `BeforeClusterUpgrade`.
    pub hook: String,
    /// Whether a failing call is ignored (`failurePolicy: Ignore`); Cluster
    /// API's default is `Fail`.
    pub ignores_failure: bool,
}

/// An entry point of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConfig {
    /// Its name in output.
    pub name: String,
    /// Directory that its root Kustomization applies, relative to the root and
    /// cleaned (`clusters/production`, empty for the root itself). `None` where
    /// only `kubeConfig` says what it holds.
    pub path: Option<Written<String>>,
    /// Settings of its own.
    pub target: Option<TargetConfig>,
    /// The Secret or ConfigMap by which a hub reaches it: the objects that
    /// Kustomizations of the hub send through it live here.
    pub kube_config: Option<KubeConfig>,
    /// The whole entry.
    pub location: Location,
}

impl ClusterConfig {
    /// Whether this cluster is what `kubeConfig` names by `namespace/name`.
    pub fn is_reached_by(&self, target: &str) -> bool {
        let (namespace, name) = target.split_once('/').unwrap_or(("", target));
        self.kube_config.as_ref().is_some_and(|own| {
            own.name == name && own.namespace.as_deref().is_none_or(|own| own == namespace)
        })
    }
}

/// What `spec.kubeConfig` of a Flux object names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeConfig {
    /// Namespace, when given.
    pub namespace: Option<String>,
    /// Name of the Secret or ConfigMap.
    pub name: String,
}

/// Where the tree of a Flux source lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FluxSource {
    /// `GitRepository`, `OCIRepository`, `Bucket` or `ExternalArtifact`.
    pub kind: String,
    pub name: String,
    /// Its namespace; any when absent.
    pub namespace: Option<String>,
    pub tree: SourceTree,
    /// The whole entry.
    pub location: Location,
}

/// The tree of a configured source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceTree {
    /// A directory of this repository, relative to the root and cleaned; empty
    /// for the root itself.
    Path(String),
    /// Another local directory, as written: absolute or relative to the root.
    Directory(String),
}

impl std::fmt::Display for SourceTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SourceTree::Path(path) if path.is_empty() => f.write_str("."),
            SourceTree::Path(path) | SourceTree::Directory(path) => f.write_str(path),
        }
    }
}

/// Why the configuration can't be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The file can't be read.
    #[error("{name}: {error}")]
    Unreadable {
        /// The file as named.
        name: String,
        /// What the system said.
        error: io::Error,
    },
    /// What is wrong in it, in order; at least one.
    #[error("{} of the configuration", mistakes.len())]
    Mistakes {
        /// Its text, for showing the places.
        text: String,
        /// In order of their places.
        mistakes: Vec<Mistake>,
    },
}

/// Load the configuration: of `file`, which must exist, else of the root's
/// `.forebay.yaml`, else the default. Locations name the file relative to the
/// root when it is inside, else as given.
///
/// # Errors
/// A file that can't be read or holds mistakes.
pub(crate) fn load(root: &Path, file: Option<&Path>) -> Result<Config, Error> {
    let (path, name) = match file {
        Some(file) => (file.to_owned(), name_within(root, file)),
        None => (root.join(FILE_NAME), FILE_NAME.to_owned()),
    };
    let text = match crate::files::read_named(root, &path) {
        Ok(text) => text,
        Err(error) if file.is_none() && error.kind() == io::ErrorKind::NotFound => {
            return Ok(Config::default());
        }
        Err(error) => return Err(Error::Unreadable { name, error }),
    };
    let mut config = read(&name, &text).map_err(|mistakes| Error::Mistakes { text, mistakes })?;
    config.allowed.all = place(root, &path) == PathTarget::Outside;
    Ok(config)
}

fn name_within(root: &Path, file: &Path) -> String {
    match place(root, file) {
        PathTarget::Inside(_, rest) => rest.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"),
        PathTarget::Outside => file.to_string_lossy().into_owned(),
    }
}
