//! Which schema judges an object: the definition that its cluster applies, one that
//! the repository holds, or the built-in table for the version that the cluster
//! states.

use super::versions::Settings;
use super::{Applied, ApplyTarget, Cluster, Member, Outcome, World};
use crate::config::Config;
use crate::files::{Allowed, FileTree, Snapshot, join};
use crate::lang::yaml::NodeRef;
use crate::model::{Certainty, ObjectId};
use crate::schema::{
    self, Catalogue, Defined, Options, Product, Report, Schema, TableKind, WrittenSchema, table,
};
use rustc_hash::FxHashMap;
use std::sync::{Arc, OnceLock};

/// The API group of CustomResourceDefinitions.
const EXTENSIONS: &str = "apiextensions.k8s.io";
const DEFINITION: &str = "CustomResourceDefinition";

/// The schemas of a world, read when they are asked for.
#[derive(Debug, Default)]
pub struct Schemas {
    clusters: Vec<OnceLock<Definitions>>,
    repository: OnceLock<FxHashMap<KindKey, Vec<InFile>>>,
    catalogue: OnceLock<Catalogue>,
    /// What the catalogue is made of, and what of it may lie outside of the root.
    directories: Vec<String>,
    allowed: Allowed,
}

type KindKey = (Arc<str>, Arc<str>);

/// A definition, and the file that holds it.
type InFile = (Defined, Arc<str>);

/// The definitions that a cluster applies, by target.
type Definitions = FxHashMap<(ApplyTarget, Arc<str>, Arc<str>), Vec<Defined>>;

/// Who says what a kind looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// A definition that the same cluster applies.
    Cluster,
    /// A definition elsewhere in the repository.
    Repository,
    /// A file that the configuration names.
    Catalogue,
    /// The table, for the version that the cluster states.
    Version {
        /// Whose version.
        product: Product,
        /// Its place in [`Product::releases`].
        release: usize,
    },
    /// The table, for all of its releases: the version is unknown, or the only one
    /// that the table knows.
    Any(Product),
}

/// What judges an object.
#[derive(Clone, Debug)]
pub struct Judge<'s> {
    /// Who says so.
    pub basis: Basis,
    /// The schemas; what is wrong by all of them is wrong. The newest first.
    pub schemas: Vec<&'s Schema>,
    /// Whether the kind is Kubernetes' own: kustomize-controller drops its unknown
    /// fields before the apply.
    pub native: bool,
    /// Whether flux-operator may have widened enums.
    pub operator: bool,
    /// The file of [`Basis::Repository`].
    pub file: Option<&'s Arc<str>>,
}

/// Whether and how a kind is known.
#[derive(Clone, Debug)]
pub enum KindSchema<'s> {
    /// By these schemas.
    Judge(Judge<'s>),
    /// The cluster's version doesn't have it.
    NotServed {
        /// The kind in the table.
        kind: &'static TableKind,
        /// The release that the cluster states.
        release: usize,
    },
    /// Its definition takes anything, or leaves it to a later version.
    Anything,
    /// Nothing knows it.
    Unknown,
}

impl<'s> KindSchema<'s> {
    /// Whether a definition of the repository says it better: an operator may have another
    /// release than the table knows.
    fn leaves_to_repository(&self) -> bool {
        match self {
            KindSchema::Unknown => true,
            KindSchema::Judge(judge) => matches!(judge.basis, Basis::Any(Product::Operator(_))),
            KindSchema::NotServed { .. } | KindSchema::Anything => false,
        }
    }

    fn or(self, other: KindSchema<'s>) -> KindSchema<'s> {
        match self {
            KindSchema::Unknown => other,
            known => known,
        }
    }
}

impl<'s> Judge<'s> {
    /// What all of its schemas refuse: what one of the possible versions takes may be
    /// right. An object that replaces `old` is held against the rules of changes too.
    pub fn report<'a>(
        &self,
        node: NodeRef<'a>,
        old: Option<NodeRef<'a>>,
        options: Options,
    ) -> Report<'a, 's> {
        let one = |schema: &'s Schema| match old {
            Some(old) => schema::validate_update(old, node, schema, options),
            None => schema::validate(node, schema, options),
        };
        let Some((first, rest)) = self.schemas.split_first() else { return Report::default() };
        let mut report = one(first);
        for schema in rest {
            if report.violations.is_empty() {
                break;
            }
            let other = one(schema);
            report.violations.retain(|violation| other.violations.iter().any(|same| same.covers(violation)));
        }
        report
    }

    /// Whether what it refuses is refused for sure where the object is applied. What
    /// is known at one release only, or is dropped and not refused, is not.
    pub fn is_certain(&self) -> bool {
        match self.basis {
            Basis::Cluster | Basis::Version { .. } => true,
            Basis::Any(Product::Flux | Product::ClusterApi) => true,
            Basis::Catalogue => !self.native,
            Basis::Any(_) | Basis::Repository => false,
        }
    }
}

impl Schemas {
    /// The schemas of a world of some clusters, and of the directories that the
    /// configuration names.
    pub(super) fn new(clusters: usize, config: &Config) -> Schemas {
        Schemas {
            clusters: (0..clusters).map(|_| OnceLock::new()).collect(),
            repository: OnceLock::new(),
            catalogue: OnceLock::new(),
            directories: config.schemas.iter().map(|directory| directory.value.clone()).collect(),
            allowed: config.allowed.clone(),
        }
    }

    /// What judges an object in a cluster, by its place in [`World::clusters`].
    pub fn of_member(
        &self,
        world: &World,
        cluster: usize,
        target: &ApplyTarget,
        id: &ObjectId,
    ) -> KindSchema<'_> {
        let place = &world.clusters[cluster];
        let by_hand = place.name.is_none() && place.applied.is_empty();
        let definitions = self.clusters[cluster].get_or_init(|| definitions(world, place));
        let key = || (target.clone(), Arc::<str>::from(id.group()), id.kind.clone());
        let has_own = !definitions.is_empty() && !by_hand;
        let judges = has_own && !is_assumed_anew(&place.settings, id);
        let own = if judges { definitions.get(&key()) } else { None };
        if let Some(found) = own.and_then(|own| version_in(own, id.version())) {
            return judge(found, Basis::Cluster);
        }
        let settings = (*target == ApplyTarget::Local).then_some(&place.settings);
        if settings.is_some_and(|settings| settings.redefines(id.group(), &id.kind)) {
            return KindSchema::Anything;
        }
        let operator = settings.is_none_or(|settings| settings.operator || settings.flux.value.is_none());
        let version = |product: Product| match product {
            Product::Flux => settings.and_then(|settings| settings.flux.value),
            Product::ClusterApi => settings.and_then(|settings| settings.cluster_api.value),
            Product::Neighbours | Product::Kubernetes | Product::Operator(_) => None,
        };
        let in_table = || self.in_table(id, |product| product.release(version(product)?), operator);
        match self.in_catalogue(&world.snapshot, id).map_or_else(in_table, KindSchema::Judge) {
            // Without any cluster the repository speaks of itself, as a provider's does.
            found if found.leaves_to_repository() && (is_stated(place) || !world.has_entry) => {
                self.in_repository(&world.snapshot, id).or(found)
            }
            found => found,
        }
    }

    /// What judges an object that no cluster holds.
    pub fn of_orphan(&self, world: &World, id: &ObjectId) -> KindSchema<'_> {
        match self.in_catalogue(&world.snapshot, id) {
            Some(judge) => KindSchema::Judge(judge),
            None => match self.in_table(id, |_| None, true) {
                found if found.leaves_to_repository() && !world.has_entry => {
                    self.in_repository(&world.snapshot, id).or(found)
                }
                found => found,
            },
        }
    }

    fn in_catalogue(&self, snapshot: &Arc<Snapshot>, id: &ObjectId) -> Option<Judge<'_>> {
        if self.directories.is_empty() {
            return None;
        }
        let catalogue = self.catalogue.get_or_init(|| {
            let mut catalogue = Catalogue::default();
            for directory in &self.directories {
                add_directory(&mut catalogue, snapshot, directory, &self.allowed);
            }
            catalogue
        });
        let written = catalogue.find(id.group(), id.version(), &id.kind)?;
        let native = table::find(id.group(), id.version(), &id.kind).is_some_and(is_native);
        Some(Judge {
            basis: Basis::Catalogue,
            schemas: vec![written.schema()],
            native,
            operator: true,
            file: None,
        })
    }

    fn in_table(
        &self,
        id: &ObjectId,
        release: impl Fn(Product) -> Option<usize>,
        operator: bool,
    ) -> KindSchema<'static> {
        let Some(kind) = table::find(id.group(), id.version(), &id.kind) else { return KindSchema::Unknown };
        let native = is_native(kind);
        let releases = kind.releases();
        if let Some(release) = release(kind.product) {
            return match releases[release].schema().filter(|_| releases[release].served) {
                Some(schema) => KindSchema::Judge(Judge {
                    basis: Basis::Version { product: kind.product, release },
                    schemas: vec![schema],
                    native,
                    operator,
                    file: None,
                }),
                None => KindSchema::NotServed { kind, release },
            };
        }
        let mut roots: Vec<(u16, &Schema)> = Vec::new();
        for root in releases.iter().rev().filter_map(|release| release.root().zip(release.schema())) {
            if !roots.iter().any(|(number, _)| *number == root.0) {
                roots.push(root);
            }
        }
        let schemas: Vec<&Schema> = roots.into_iter().map(|(_, schema)| schema).collect();
        match schemas.is_empty() {
            true => KindSchema::Unknown,
            false => KindSchema::Judge(Judge {
                basis: Basis::Any(kind.product),
                schemas,
                native,
                operator,
                file: None,
            }),
        }
    }

    /// A definition that the repository holds and this cluster doesn't apply: only
    /// where all of them say the same about the version.
    fn in_repository(&self, snapshot: &Snapshot, id: &ObjectId) -> KindSchema<'_> {
        let all = self.repository.get_or_init(|| {
            let mut all: FxHashMap<KindKey, Vec<InFile>> = FxHashMap::default();
            for object in snapshot.objects().iter().filter(|object| object.id.is(EXTENSIONS, DEFINITION)) {
                for defined in schema::defined(object.node.get_ref()) {
                    let key = (defined.group.clone(), defined.kind.clone());
                    all.entry(key).or_default().push((defined, object.source.file.shown().clone()));
                }
            }
            all
        });
        let Some(known) = all.get(&(id.group().into(), id.kind.clone())) else { return KindSchema::Unknown };
        let mut versions = known.iter().filter(|(defined, _)| &*defined.version == id.version());
        match (versions.next(), versions.next()) {
            (Some((only, file)), None) => match judge(only, Basis::Repository) {
                KindSchema::Judge(judge) => KindSchema::Judge(Judge { file: Some(file), ..judge }),
                found => found,
            },
            _ => KindSchema::Unknown,
        }
    }
}

/// Take in the files of a directory, of the repository or elsewhere.
fn add_directory(catalogue: &mut Catalogue, snapshot: &Arc<Snapshot>, directory: &str, allowed: &Allowed) {
    let within = join("", directory);
    let tree = match within.filter(|path| path.is_empty() || snapshot.has_directory(path)) {
        Some(path) => FileTree::directory(snapshot.clone(), &path),
        None => match FileTree::named(snapshot, directory, allowed) {
            Ok(tree) => tree,
            Err(_) => return,
        },
    };
    catalogue.add(&tree);
}

/// Whether a kind is one of Kubernetes' own, and not a custom resource.
fn is_native(kind: &TableKind) -> bool {
    kind.product == Product::Kubernetes && kind.group() != "gateway.networking.k8s.io"
}

/// Whether a rehearsal assumes another version of the product that a kind is of: the
/// definition that the repository holds is of the version that is to go.
fn is_assumed_anew(settings: &Settings, id: &ObjectId) -> bool {
    let assumed = &settings.assumed;
    let product = || table::find(id.group(), id.version(), &id.kind).map(|kind| kind.product);
    match (assumed.flux, assumed.cluster_api) {
        (None, None) => false,
        (flux, cluster_api) => match product() {
            Some(Product::Flux) => flux.is_some(),
            Some(Product::ClusterApi) => cluster_api.is_some(),
            Some(Product::Kubernetes | Product::Neighbours | Product::Operator(_)) | None => false,
        },
    }
}

fn version_in<'d>(defined: &'d [Defined], version: &str) -> Option<&'d Defined> {
    defined.iter().find(|defined| &*defined.version == version)
}

fn judge(defined: &Defined, basis: Basis) -> KindSchema<'_> {
    match (&defined.schema, defined.served) {
        (Some(schema), Some(true)) => KindSchema::Judge(Judge {
            basis,
            schemas: vec![WrittenSchema::schema(schema)],
            native: false,
            operator: false,
            file: None,
        }),
        _ => KindSchema::Anything,
    }
}

fn definitions(world: &World, cluster: &Cluster) -> Definitions {
    let mut all = Definitions::default();
    let members = world.members(cluster).filter(|(_, object)| object.id.is(EXTENSIONS, DEFINITION));
    for (member, object) in members {
        for defined in schema::defined(object.node.get_ref()) {
            let key = (member.target.clone(), defined.group.clone(), defined.kind.clone());
            all.entry(key).or_default().push(defined);
        }
    }
    all
}

/// Whether the repository or the configuration states who applies a cluster.
pub(crate) fn is_stated(cluster: &Cluster) -> bool {
    cluster.name.is_some() && cluster.certainty == Certainty::Stated
}

/// Whether nothing that a build left out may change what applies an object: what isn't
/// there is missing then.
pub(crate) fn is_whole(cluster: &Cluster, member: &Member) -> bool {
    is_whole_build(cluster, member.maker.kustomization().map(|applied| &cluster.applied[applied as usize]))
}

/// The same of what applies an object; nothing where it is applied by hand.
pub(crate) fn is_whole_build(cluster: &Cluster, applied: Option<&Applied>) -> bool {
    // Without a stated entry point, parents that patch it may be elsewhere.
    if !is_stated(cluster) {
        return false;
    }
    match applied.map(|applied| &applied.outcome) {
        Some(Outcome::Built { may_change, .. }) => !may_change,
        Some(_) => false,
        None => true,
    }
}
