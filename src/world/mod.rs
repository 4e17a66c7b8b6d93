//! Clusters: which objects Flux would apply where.
//!
//! A [`World`] holds every effective object once, with its memberships: (cluster,
//! apply target, applied by). A [`Cluster`] starts at an entry point (see
//! [`entry`]) and grows to a fixpoint: build, take the Flux Kustomizations in
//! the output, build theirs. What could exist unseen is an [`UnseenMaker`]; a
//! reference is judged by [`Cluster::lookup`].

mod artifact;
mod assemble;
pub(crate) mod build;
mod capabilities;
mod chart_texts;
mod coverage;
mod earlier;
pub(crate) mod entry;
mod entry_point;
mod fixpoint;
pub(crate) mod graph;
pub(crate) mod helm_charts;
mod index;
mod instance;
mod inventory;
pub(crate) mod left_out;
pub(crate) mod named;
pub(crate) mod namespaces;
mod overlays;
mod pushes;
pub(crate) mod releases;
pub(crate) mod same;
pub(crate) mod schemas;
pub(crate) mod scripts;
mod source;
mod unreached;
mod upstream;
pub(crate) mod value_places;
pub(crate) mod vendors;
pub(crate) mod versions;

pub(crate) use coverage::Unapplied;
pub(crate) use entry::suggestions;
pub(crate) use entry_point::{Form, Unsettled, called_by, clean_path, source_of};
pub(crate) use inventory::{Lookup, UnseenMaker, UnseenMakerKind};
pub(crate) use source::TreeOf;

use crate::build::kustomize::Warning;
use crate::build::kustomize::{FILE_NAMES, FileRole};
use crate::build::substitute::{BadVariable, MissingSource, Provided, SubstitutionProblem, Variables};
use crate::config::{Config, Injected};
use crate::files::{ChartStores, File, FileTree, Snapshot};
use crate::lang::yaml::{FilePath, Location, Node, NodeRef};
use crate::model::{Called, Certainty, Maker, Name, Object, ObjectId, Unchecked};
use crate::world::build::BuildFailure;
use crate::world::versions::Settings;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

/// All clusters of a repository and their objects.
#[derive(Debug)]
pub struct World {
    /// The files.
    pub snapshot: Arc<Snapshot>,
    /// Distinct effective objects, those that charts make among them.
    pub objects: Vec<Effective>,
    /// Clusters in order of their root paths, then what none of them reaches: one
    /// nameless cluster per leaf overlay and one for the loose objects.
    pub clusters: Vec<Cluster>,
    /// Objects of the source view that no cluster takes in, as indices of
    /// [`Snapshot::objects`]. Empty without entry points.
    pub orphans: Vec<u32>,
    /// Their namespaces by name and kind, looked up on first use.
    unapplied: OnceLock<UnappliedNames>,
    /// Whether an entry point was found.
    pub has_entry: bool,
    /// What would be an entry point if its root could be found.
    pub unsettled: Vec<Unsettled>,
    /// Paths of the files that only generators of kustomizations read, as bytes.
    pub inputs: FxHashSet<Arc<str>>,
    /// Paths of the files that the clusters read.
    read: FxHashSet<FilePath>,
    /// Paths of the files that the configuration excludes.
    excluded: FxHashSet<Arc<str>>,
    /// Charts that were loaded and rendered, for a world like this one.
    charts: Arc<releases::KnownReleases>,
    /// What was built, for a world like this one.
    builds: earlier::Builds,
    /// What the API servers of its clusters take.
    pub schemas: schemas::Schemas,
}

/// What nothing applies, by name, kind and namespace, as it is counted among the objects of the
/// snapshot.
type UnappliedNames = FxHashMap<Arc<str>, FxHashMap<Arc<str>, FxHashMap<Arc<str>, u32>>>;

/// An object as Flux would apply it.
#[derive(Debug)]
pub struct Effective {
    /// Its identity.
    pub id: ObjectId,
    /// Its root; values know their origin.
    pub node: Node,
    /// Files that made it: role (`resource`, `patch`, …) and place.
    pub files: Vec<(FileRole, Location)>,
    /// What substitution stumbles over in it.
    pub problems: Vec<SubstitutionProblem>,
    /// Whether a chart makes it: no file of the repository holds it as a whole.
    pub is_rendered: bool,
    /// Where it is: (cluster, member of that cluster).
    pub members: Vec<(u32, u32)>,
}

/// An entry point's closure.
#[derive(Debug)]
pub struct Cluster {
    /// Its name; `None` where there is no entry point.
    pub name: Option<Arc<str>>,
    /// The directory that its root applies, relative to the repository's root.
    pub root: String,
    /// How it is known; guessed where there is no entry point.
    pub certainty: Certainty,
    /// What says so; `None` where there is no entry point.
    pub form: Option<Form>,
    /// Where it is written.
    pub location: Option<Location>,
    /// The gotk-sync.yaml whose directory bootstrap applied, where no Kustomization does.
    pub bootstrapped: Option<FilePath>,
    /// The directory that its source stands for; empty for the repository's top.
    pub tree: String,
    /// What its own root is applied from; nothing where nothing says so.
    pub(crate) source: Option<Called>,
    /// Versions, flags and features.
    pub settings: Settings,
    /// Variables that something in it adds to those of its Kustomizations.
    pub(crate) injected: Injected,
    /// Its objects; after those that files hold, those that charts make.
    pub members: Vec<Member>,
    /// How many of the members files hold.
    written: usize,
    /// Its Flux Kustomizations, those on the local target, the root first.
    pub applied: Vec<Applied>,
    /// What could hold more objects.
    pub openers: Vec<UnseenMaker>,
    /// Its ResourceSets that could be expanded, wholly or in part.
    pub sets: Vec<ResourceSet>,
    /// Its HelmReleases.
    pub releases: Vec<releases::Release>,
    /// Objects that controllers make of others (ExternalArtifacts, HelmCharts,
    /// the pair of a FluxInstance), and of what.
    pub generated: Vec<(ObjectId, String)>,
    /// Members by name.
    index: index::Index,
    /// Places of Flux Kustomizations by their name.
    applied_index: FxHashMap<Arc<str>, Vec<u32>>,
}

/// Makers above an object that are told: Kustomizations that apply each other in a circle
/// have no end.
const MAKERS: usize = 64;

/// An object of a cluster that is being made, where it goes and what makes it.
type PlacedObject = (Arc<ObjectId>, Arc<build::BuiltObject>, ApplyTarget, Maker);

/// Where an object is applied.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ApplyTarget {
    /// The cluster that runs the controllers.
    Local,
    /// The cluster behind a `kubeConfig`: `namespace/name` of its Secret or
    /// ConfigMap, with `?` where that is unknown.
    Remote(Arc<str>),
}

impl ApplyTarget {
    /// Whether it is unknown which cluster that is.
    pub fn is_unknown(&self) -> bool {
        matches!(self, ApplyTarget::Remote(name) if name.contains('?'))
    }
}

/// An object in a cluster.
#[derive(Clone, Debug)]
pub struct Member {
    /// Index in [`World::objects`].
    pub object: u32,
    /// Where it is applied.
    pub target: ApplyTarget,
    /// What makes it: a Kustomization of [`Cluster::applied`], a ResourceSet of
    /// [`Cluster::sets`].
    pub maker: Maker,
}

/// A ResourceSet of which what it makes of known inputs is among the members.
#[derive(Debug)]
pub struct ResourceSet {
    /// Whether that is all that it makes: no inputs are the cluster's.
    pub is_complete: bool,
    pub id: ObjectId,
    /// The effective ResourceSet.
    pub node: Node,
    /// What makes it itself.
    pub maker: Maker,
}

/// A Flux Kustomization of a cluster and what it builds.
#[derive(Debug)]
pub struct Applied {
    /// Its identity.
    pub id: ObjectId,
    /// The effective Flux Kustomization.
    pub node: Node,
    /// Its tree, when it is in this repository.
    pub tree: Option<FileTree>,
    /// `spec.path`, clean, inside the tree.
    pub path: String,
    /// Where its objects go.
    pub target: ApplyTarget,
    /// What came of its build.
    pub outcome: Outcome,
    /// The tree was taken to be this repository because its path exists here.
    pub assumed: bool,
    /// Its source tracks another ref of this repository.
    pub later: bool,
    /// The Kustomization of [`Cluster::applied`] that it comes from, by itself or
    /// through a ResourceSet.
    pub parent: Option<u32>,
    /// What makes it.
    pub maker: Maker,
    /// Paths of the files that its build read, sorted.
    pub files_read: Vec<FilePath>,
}

/// What came of building a Flux Kustomization.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// Built; what was left out: (name under "not checked", what, where).
    Built {
        /// See above.
        partial: Vec<(Unchecked, String, Option<Location>)>,
        /// Whether some of that may change objects that are there.
        may_change: bool,
        /// Variables with names or values that fail the build.
        bad_variables: Vec<BadVariable>,
        /// Sources of variables that are known to be missing, which fails it.
        missing_sources: Vec<MissingSource>,
        /// Files of a generated kustomization that fail it.
        unusable: Vec<BuildFailure>,
        /// What kustomize accepts though it does nothing.
        warnings: Vec<Warning>,
    },
    /// Can't be built: Flux fails too.
    Failed(BuildFailure),
    /// Its files are not here, and why.
    External(String),
    /// What it applies is known in the cluster only, and why.
    Unknown(String),
    /// The path doesn't exist in the tree.
    MissingPath,
}

impl Outcome {
    /// Why a build fails: as a whole, or by what had to be left out of it.
    pub fn failures(&self) -> &[BuildFailure] {
        match self {
            Outcome::Failed(failure) => std::slice::from_ref(failure),
            Outcome::Built { unusable, .. } => unusable,
            Outcome::External(_) | Outcome::Unknown(_) | Outcome::MissingPath => &[],
        }
    }

    /// What kustomize accepts in a build though it does nothing.
    pub(crate) fn warnings(&self) -> &[Warning] {
        match self {
            Outcome::Built { warnings, .. } => warnings,
            _ => &[],
        }
    }
}

impl World {
    /// Find the clusters of a snapshot and build them. `remotes` are the URLs of
    /// the git remotes.
    pub fn new(snapshot: &Arc<Snapshot>, config: &Config, remotes: &[String]) -> World {
        assemble::world(snapshot, config, remotes, None)
    }

    /// The same for another snapshot of a repository: what would be built of the
    /// same files in the same way is shared, so that its nodes are the same too.
    pub fn like(&self, snapshot: &Arc<Snapshot>, config: &Config, remotes: &[String]) -> World {
        assemble::world(snapshot, config, remotes, Some(self))
    }

    /// Keeps what charts made of releases for runs to come, where these stores let it.
    pub(crate) fn keep_renders(&self, stores: &ChartStores) {
        if let Some(cache) = stores.renders() {
            self.charts.keep(cache);
        }
    }

    /// The clusters of the entry points; where there is none, what stands for
    /// them: a nameless one per leaf overlay, and one for the loose objects.
    pub fn applied_clusters(&self) -> impl Iterator<Item = &Cluster> {
        self.clusters.iter().filter(|cluster| cluster.name.is_some() || !self.has_entry)
    }

    /// Whether a cluster states who applies it: then no entry point is missing in the
    /// configuration.
    pub(crate) fn states_entry(&self) -> bool {
        self.clusters.iter().any(schemas::is_stated)
    }

    /// Whether a cluster is made of more than what the configuration excludes:
    /// fixtures are nobody's fleet.
    pub fn counts(&self, cluster: &Cluster) -> bool {
        let is_excluded = |file: &FilePath| self.is_excluded(file);
        let stated = cluster.location.as_ref().is_none_or(|location| is_excluded(&location.file));
        let mut read = cluster.applied.iter().flat_map(|applied| &applied.files_read).peekable();
        self.excluded.is_empty() || !stated || (read.peek().is_some() && !read.all(is_excluded))
    }

    /// Whether the configuration excludes a file.
    pub fn is_excluded(&self, file: &FilePath) -> bool {
        file.of_root().is_some_and(|path| self.excluded.contains(path))
    }

    /// Whether a cluster of an entry point reads a file.
    pub fn is_applied(&self, file: &File) -> bool {
        self.is_read(&file.name())
    }

    /// The files at which builds of clusters fail.
    pub fn broken_files(&self) -> FxHashSet<FilePath> {
        let clusters = self.clusters.iter().filter(|cluster| cluster.name.is_some());
        let failures =
            clusters.flat_map(|cluster| &cluster.applied).flat_map(|applied| applied.outcome.failures());
        failures.filter_map(|failure| Some(failure.location.as_ref()?.file.clone())).collect()
    }

    /// Whether a build of a cluster reads a file.
    pub fn is_read(&self, file: &FilePath) -> bool {
        self.read.contains(file)
    }

    /// Whether a file is neither read by a cluster of an entry point nor lies where
    /// one applies a directory.
    pub fn is_outside(&self, file: &FilePath) -> bool {
        let Some(path) = file.of_root() else { return !self.read.contains(file) };
        let below = |directory: &str| {
            directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
        };
        let is_of = |cluster: &Cluster| {
            let applies = |applied: &Applied| {
                let real = applied.tree.as_ref().and_then(|tree| tree.root_path(&applied.path));
                real.is_some_and(|real| below(&real))
            };
            below(&cluster.root) || cluster.applied.iter().any(applies)
        };
        !self.read.contains(file) && !self.clusters.iter().filter(|cluster| cluster.name.is_some()).any(is_of)
    }

    /// The files beside the root's tree that the clusters take objects and kustomizations
    /// from, in order: of a tree of others only what is applied here is judged.
    pub(crate) fn files_beside(&self) -> Vec<&Arc<File>> {
        if self.snapshot.beside().next().is_none() {
            return Vec::new();
        }
        let made = self.objects.iter().flat_map(|object| &object.files);
        let made = made.filter(|(role, _)| *role != FileRole::Generator).map(|(_, place)| &place.file);
        let applied = || self.clusters.iter().flat_map(|cluster| &cluster.applied);
        let failures = applied().flat_map(|applied| applied.outcome.failures());
        let failed = failures.filter_map(|failure| Some(&failure.location.as_ref()?.file));
        let is_kustomization =
            |file: &&FilePath| FILE_NAMES.contains(&file.shown().rsplit('/').next().unwrap_or_default());
        let kustomizations = applied().flat_map(|applied| &applied.files_read).filter(is_kustomization);
        let all = made.chain(failed).chain(kustomizations).filter(|file| file.of_root().is_none());
        let all: BTreeSet<&FilePath> = all.collect();
        all.into_iter().filter_map(|file| self.snapshot.find(file)).filter(|file| file.is_manifest).collect()
    }

    /// An object by its index.
    pub fn object(&self, index: u32) -> &Effective {
        &self.objects[index as usize]
    }

    /// The objects of a cluster with their membership.
    pub fn members<'w>(&'w self, cluster: &'w Cluster) -> impl Iterator<Item = (&'w Member, &'w Effective)> {
        self.with_object(&cluster.members)
    }

    /// Those that files hold: all but what charts make.
    pub fn written<'w>(&'w self, cluster: &'w Cluster) -> impl Iterator<Item = (&'w Member, &'w Effective)> {
        self.with_object(&cluster.members[..cluster.written])
    }

    /// Those that charts make, by themselves or through a ResourceSet.
    pub fn rendered<'w>(&'w self, cluster: &'w Cluster) -> impl Iterator<Item = (&'w Member, &'w Effective)> {
        self.with_object(&cluster.members[cluster.written..])
    }

    fn with_object<'w>(&'w self, members: &'w [Member]) -> impl Iterator<Item = (&'w Member, &'w Effective)> {
        members.iter().map(|member| (member, self.object(member.object)))
    }

    /// The orphans of the source view.
    pub fn orphans(&self) -> impl Iterator<Item = &Object> {
        self.orphans.iter().map(|index| &self.snapshot.objects()[*index as usize])
    }

    /// Whether one of them has this kind and name, and the namespace or none.
    pub(crate) fn is_unapplied(&self, kind: &str, namespace: Option<&str>, name: &str) -> bool {
        let namespaces = self.unapplied_in(kind, name);
        namespaces.is_some_and(|known| known.contains_key("") || known.contains_key(namespace.unwrap_or("")))
    }

    /// One of them by its name: in that namespace, or written without one.
    pub(crate) fn unapplied(&self, wanted: Name<'_>) -> Option<&Object> {
        let namespaces = self.unapplied_in(wanted.kind, wanted.name)?;
        let at = namespaces.get(wanted.namespace.unwrap_or("")).or_else(|| namespaces.get(""))?;
        let object = &self.snapshot.objects()[*at as usize];
        (object.id.group() == wanted.group && !self.is_excluded(&object.source.file)).then_some(object)
    }

    /// Those of a kind and name by their namespaces, an empty one for none: one of each, and none that
    /// was put aside where there is another.
    pub(crate) fn unapplied_in(&self, kind: &str, name: &str) -> Option<&FxHashMap<Arc<str>, u32>> {
        let names = self.unapplied.get_or_init(|| {
            let mut names = UnappliedNames::default();
            let (aside, others): (Vec<u32>, Vec<u32>) = self
                .orphans
                .iter()
                .partition(|index| entry::is_archive(self.snapshot.objects()[**index as usize].path()));
            for index in others.into_iter().chain(aside) {
                let ObjectId { kind, namespace, name, .. } = &self.snapshot.objects()[index as usize].id;
                let of_kind = names.entry(name.clone()).or_default().entry(kind.clone()).or_default();
                of_kind.entry(namespace.clone().unwrap_or_default()).or_insert(index);
            }
            names
        });
        names.get(name)?.get(kind)
    }

    /// Those in files of a directory; its empty name is the repository.
    pub fn orphans_below(&self, directory: &str) -> impl Iterator<Item = &Object> {
        let objects = self.snapshot.objects();
        let path = |index: &u32| &**objects[*index as usize].path();
        let lead = if directory.is_empty() { String::new() } else { format!("{directory}/") };
        // Objects are in the order of their paths.
        let begin = self.orphans.partition_point(|index| path(index) < lead.as_str());
        let end = begin + self.orphans[begin..].partition_point(|index| path(index).starts_with(&lead));
        self.orphans[begin..end].iter().map(|index| &objects[*index as usize])
    }

    /// The variables of a Flux Kustomization as far as the cluster's objects tell;
    /// `None` without `spec.postBuild` where nothing adds any.
    pub fn variables(&self, cluster: &Cluster, id: &ObjectId, node: NodeRef<'_>) -> Option<Variables> {
        let stated = Variables::of(node, &mut |kind, name| {
            let found = cluster.find(&ApplyTarget::Local, Name::new("", kind, id.namespace.as_deref(), name));
            Provided::by(kind, found.map(|member| self.object(member.object).node.get_ref()))
        });
        if cluster.injected == Injected::No {
            return stated;
        }
        let mut variables = stated.unwrap_or_default();
        fixpoint::inject(&cluster.injected, &mut variables);
        Some(variables)
    }

    /// Names of the clusters that hold an object, sorted, without repetition.
    pub fn clusters_of(&self, object: &Effective) -> Vec<Arc<str>> {
        let names =
            object.members.iter().filter_map(|(cluster, _)| self.clusters[*cluster as usize].name.clone());
        let mut names: Vec<Arc<str>> = names.collect();
        names.sort();
        names.dedup();
        names
    }
}

impl Cluster {
    /// What made an object, and what made that, up to the entry point.
    pub fn makers(&self, member: &Member) -> Vec<Maker> {
        let above = |maker: &Maker| match *maker {
            Maker::Entry => None,
            Maker::Kustomization(index) => {
                let above = self.applied[index as usize].maker;
                // A root that applies its own definition ends the chain.
                Some(if above.kustomization().is_some_and(|above| above >= index) {
                    Maker::Entry
                } else {
                    above
                })
            }
            Maker::ResourceSet(index) => Some(self.sets[index as usize].maker),
            Maker::HelmRelease(index) => Some(self.releases[index as usize].maker),
        };
        std::iter::successors(Some(member.maker), above).take(MAKERS).collect()
    }

    /// The release whose chart makes an object, by itself or through a ResourceSet.
    pub(crate) fn release_of(&self, member: &Member) -> Option<&releases::Release> {
        self.makers(member).into_iter().find_map(|maker| match maker {
            Maker::HelmRelease(index) => self.releases.get(index as usize),
            Maker::Entry | Maker::Kustomization(_) | Maker::ResourceSet(_) => None,
        })
    }

    /// The object of a maker; `None` for the entry point.
    pub fn made_by(&self, maker: Maker) -> Option<(&ObjectId, &Node)> {
        match maker {
            Maker::Entry => None,
            Maker::Kustomization(index) => {
                let applied = &self.applied[index as usize];
                Some((&applied.id, &applied.node))
            }
            Maker::ResourceSet(index) => {
                let set = &self.sets[index as usize];
                Some((&set.id, &set.node))
            }
            Maker::HelmRelease(index) => {
                let release = &self.releases[index as usize];
                Some((&release.id, &release.node))
            }
        }
    }

    /// The releases of which all that their charts make is known.
    pub(crate) fn known_releases(&self) -> FxHashSet<&ObjectId> {
        self.releases.iter().filter(|release| release.is_known()).map(|release| &release.id).collect()
    }

    /// The name in messages: `cluster production`, or `this repository`.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("cluster {name}"),
            None => "this repository".to_owned(),
        }
    }

    /// The member of an identity on a target.
    pub fn find(&self, target: &ApplyTarget, name: Name<'_>) -> Option<&Member> {
        let member = self.index.get(&self.members, target, name)?;
        Some(&self.members[member as usize])
    }

    /// The Flux Kustomization (on the local target) of an identity.
    pub fn applied(&self, namespace: Option<&str>, name: &str) -> Option<&Applied> {
        let mut named = self.applied_index.get(name)?.iter().map(|at| &self.applied[*at as usize]);
        named.find(|applied| applied.id.namespace.as_deref() == namespace)
    }

    /// The places in [`Cluster::applied`] of what has this name: what
    /// [`Member::maker`] says of the objects that it applies.
    pub(crate) fn appliers(&self, namespace: Option<&str>, name: &str) -> Vec<u32> {
        let named = self.applied_index.get(name).into_iter().flatten().copied();
        named.filter(|at| self.applied[*at as usize].id.namespace.as_deref() == namespace).collect()
    }

    fn add(&mut self, id: &Arc<ObjectId>, member: Member) -> u32 {
        self.members.push(member);
        self.index.add(&self.members, id);
        self.members.len() as u32 - 1
    }
}

/// The apply target that `spec.kubeConfig` of a Kustomization or HelmRelease
/// names.
pub(crate) fn target_of(id: &ObjectId, node: NodeRef<'_>) -> ApplyTarget {
    let config = node.at("/spec/kubeConfig").filter(|config| config.is_map() || config.is_unknown());
    let Some(config) = config else {
        return ApplyTarget::Local;
    };
    let name = config.str_at("/secretRef/name").or_else(|| config.str_at("/configMapRef/name"));
    let namespace = id.namespace.as_deref().unwrap_or("");
    ApplyTarget::Remote(match name {
        Some(name) => format!("{namespace}/{name}").into(),
        // What two objects send to unknown places need not meet.
        None => format!("{namespace}/? of {}", id.name).into(),
    })
}
