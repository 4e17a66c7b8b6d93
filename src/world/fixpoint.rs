//! Growing clusters from their entry points: build, take the Flux
//! Kustomizations in the output, build theirs, until nothing changes.

use super::capabilities::{self, Possible};
use super::earlier::{Built, Earlier, Identity, Inputs};
use super::entry_point::{self, Entry, source_of};
use super::instance;
use super::inventory::{Kinds, Opener, OpenerCause, Written};
use super::releases::{self, Release, Renderer};
use super::source::{Objects, Shared, SourceState, Sources, is_source};
use super::{Applied, ApplyTarget, Outcome, Placed, ResourceSet, target_of};
use crate::build::kustomize::FileRole;
use crate::build::resource_set;
use crate::build::substitute::{Provided, Variables, secret_written_by, writes_secrets};
use crate::config::{Config, Feature, Injected};
use crate::files::{FileTree, Snapshot};
use crate::lang::yaml::{FilePath, Known, Location, Node, NodeRef, Tree};
use crate::model::kinds;
use crate::model::{Called, Certainty, Maker, ObjectId, Unchecked};
use crate::world::build;
use crate::world::build::{BuildFailure, BuiltObject, FailureKind, FluxBuild, set_common_metadata};
use crate::world::versions::{Installs, Settings};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Depth to which ResourceSets may make ResourceSets.
const SET_DEPTH: u32 = 8;

/// Rounds after which a cluster that keeps changing is taken as it is.
const ROUNDS: usize = 8;

/// Flux Kustomizations that one cluster may have.
const LIMIT: usize = 20_000;

/// Bytes that the objects of one cluster may come to when they are written, each
/// with [`OBJECT`] besides.
const SIZE_LIMIT: u64 = 1 << 30;

/// Bytes counted for each object besides its text.
const OBJECT: u64 = 4096;

/// Grows a cluster, and once more where the object that states its entry point
/// turns out to be of another namespace: there the operator makes the pair.
pub(super) fn grow_placed(repository: &Repository<'_>, entry: &Entry, name: Arc<str>) -> Grown {
    let grown = grow(repository, entry, name.clone());
    let Some((kind, object, file)) = entry.stated_by.as_ref().filter(|_| entry.owned) else { return grown };
    let placed = grown.objects.iter().find(|(id, built, target, _)| {
        let is_it = id.kind == *kind && id.name == *object && *target == ApplyTarget::Local;
        is_it && built.node.get_ref().location().is_some_and(|location| location.file.is_at(file))
    });
    let namespace = placed.and_then(|(id, built, _, _)| {
        let target =
            built.node.get_ref().str_at("/spec/targetNamespace").filter(|_| kinds::is_helm_release(id));
        target.map(|text| text.into_owned()).or_else(|| id.namespace.as_deref().map(str::to_owned))
    });
    let before = entry.kustomizations.first().and_then(|(id, _)| id.namespace.as_deref());
    match namespace.filter(|namespace| !namespace.contains('?')) {
        Some(namespace) if Some(namespace.as_str()) != before => {
            grow(repository, &instance::in_namespace(entry, &namespace), name)
        }
        _ => grown,
    }
}

/// Components of a root that say what lies there, not which cluster it is.
const PLAIN: [&str; 5] = ["flux", "cluster", "bootstrap", "config", "apps"];

/// Components above which there is no cluster's name.
const TOPS: [&str; 3] = ["kubernetes", "k8s", "flux"];

/// The name of an entry point by itself: the configuration's, else the last
/// component of its root that is more than the word for what lies there, else
/// the repository's.
fn own_name(entry: &Entry) -> String {
    if let Some(name) = &entry.name {
        return name.clone();
    }
    let segments: Vec<&str> = entry.root.split('/').filter(|segment| !segment.is_empty()).collect();
    let Some(last) = segments.last() else { return ".".to_owned() };
    if !PLAIN.contains(last) {
        return (*last).to_owned();
    }
    let above = segments.iter().rev().find(|segment| !PLAIN.contains(segment) && !TOPS.contains(segment));
    let repository = || {
        let url = entry.url.as_deref().filter(|_| entry.tree.is_empty())?;
        url.rsplit('/').next().filter(|name| !name.is_empty() && !name.contains(['$', '{']))
    };
    above.copied().or_else(repository).unwrap_or(last).to_owned()
}

/// Names, on collision the shortest unique suffix of the root path.
pub(super) fn cluster_names(entries: &[Entry]) -> Vec<Arc<str>> {
    let suffix = |root: &str, count: usize| {
        let segments: Vec<&str> = root.split('/').filter(|segment| !segment.is_empty()).collect();
        match segments.len() {
            0 => ".".to_owned(),
            length => segments[length.saturating_sub(count)..].join("/"),
        }
    };
    let own: Vec<String> = entries.iter().map(own_name).collect();
    let mut named: FxHashMap<&str, usize> = FxHashMap::default();
    own.iter().for_each(|name| *named.entry(name).or_default() += 1);
    // How many roots end in so many segments in this way, for each number that is asked.
    let mut ends: FxHashMap<usize, FxHashMap<String, usize>> = FxHashMap::default();
    let mut is_unique = |name: &String| {
        let count = name.split('/').count();
        let ends = ends.entry(count).or_insert_with(|| {
            let mut ends = FxHashMap::default();
            entries.iter().for_each(|entry| *ends.entry(suffix(&entry.root, count)).or_default() += 1);
            ends
        });
        ends.get(name) == Some(&1)
    };
    entries
        .iter()
        .zip(&own)
        .map(|(entry, name)| {
            if entry.name.is_some() || named[name.as_str()] == 1 {
                return name.as_str().into();
            }
            let depth = entry.root.split('/').count();
            let unique = (1..=depth).map(|count| suffix(&entry.root, count)).find(&mut is_unique);
            unique.unwrap_or_else(|| suffix(&entry.root, depth)).into()
        })
        .collect()
}

/// What all clusters grow on.
pub(super) struct Repository<'a> {
    pub(super) snapshot: &'a Arc<Snapshot>,
    pub(super) shared: &'a Shared,
    pub(super) charts: Arc<releases::Known>,
    pub(super) pushes: &'a [super::pushes::Push],
    pub(super) config: &'a Config,
    /// URLs of the git remotes, normalised.
    pub(super) urls: Vec<String>,
    pub(super) installs: Installs,
    pub(super) earlier: Option<Earlier<'a>>,
}

/// A cluster with its objects still at hand.
pub(super) struct Grown {
    pub(super) name: Option<Arc<str>>,
    pub(super) root: String,
    pub(super) objects: Vec<Placed>,
    pub(super) applied: Vec<Applied>,
    pub(super) generated: Vec<ObjectId>,
    /// Paths of the files that its builds read.
    pub(super) read: FxHashSet<FilePath>,
    pub(super) certainty: Certainty,
    pub(super) form: Option<entry_point::Form>,
    pub(super) location: Option<Location>,
    pub(super) tree: String,
    pub(super) source: Option<Called>,
    pub(super) is_sent: bool,
    pub(super) sets: Vec<ResourceSet>,
    pub(super) releases: Vec<Release>,
    /// What their charts make.
    pub(super) rendered: Vec<Placed>,
    pub(super) builds: FxHashMap<Identity, Built>,
    /// What may have applied more: other roots.
    pub(super) openers: Vec<Opener>,
}

pub(super) fn grow(repository: &Repository<'_>, entry: &Entry, name: Arc<str>) -> Grown {
    let Repository { snapshot, shared, pushes, config, urls, .. } = repository;
    let mut urls = urls.clone();
    urls.extend(entry.url.clone());
    let sources = Sources { snapshot, shared, config, urls, entry, pushes };
    let mut known: FxHashMap<Identity, Built> = FxHashMap::default();
    let placed = entry.overlay.iter().filter_map(|object| {
        let id = object.id.clone()?;
        Some((place_of(&id, object.node.get_ref()), (id, object.node.clone())))
    });
    let placed: Vec<_> =
        placed.filter(|(_, (id, _))| is_source(id, &ApplyTarget::Local) || relevant(id)).collect();
    let made = || {
        let pair = entry.generated.iter().filter_map(|(id, node)| Some((id, node.as_ref()?)));
        let roots = entry.kustomizations.iter().map(|(id, node)| (id, node));
        pair.chain(roots.filter(|_| entry.owned))
            .map(|(id, node)| (id.called(), (id.clone(), node.clone())))
            .chain(placed.iter().cloned())
    };
    let target = config.target_of(Some(&name));
    // Most often what lies below its root is what a cluster applies.
    let guessed = snapshot.objects_below(&entry.root).iter();
    let guessed = guessed.map(|object| (&object.id, object.node.get_ref()));
    let settings =
        Settings::read(guessed, snapshot, &repository.installs, &entry.root, (&target, &config.assumed));
    let injects = injects_variables(config, &[]);
    let mut start = Start {
        repository,
        sources,
        entry,
        settings,
        objects: made().collect(),
        injects,
        served: BTreeSet::new(),
    };
    let mut grown = Grown {
        name: Some(name.clone()),
        root: entry.root.clone(),
        objects: Vec::new(),
        applied: Vec::new(),
        generated: entry.generated.iter().map(|(id, _)| id.clone()).collect(),
        read: FxHashSet::default(),
        certainty: entry.certainty,
        form: Some(entry.form),
        location: entry.location.clone(),
        tree: entry.tree.clone(),
        source: entry.source.clone(),
        is_sent: entry.is_sent,
        sets: Vec::new(),
        releases: Vec::new(),
        rendered: Vec::new(),
        builds: FxHashMap::default(),
        openers: openers_of(snapshot, entry),
    };
    // The roots by themselves first: most apply their own definition, and what they
    // apply differs from what the files state where something patches them.
    for follows in [false, true] {
        for _ in 0..ROUNDS {
            let (next, changed) = round(&start, &mut known, follows);
            grown.objects = next.objects;
            grown.applied = next.applied;
            grown.read = next.read;
            grown.sets = next.sets;
            grown.releases = next.releases;
            grown.rendered = next.rendered;
            // What a root applies by hand gives variables as what it builds does.
            let beside = match entry.certainty == Certainty::Guessed && entry.name.is_none() {
                true => by_hand(snapshot, entry, &grown),
                false => Vec::new(),
            };
            let started = start.objects.len();
            let objects = || {
                beside
                    .iter()
                    .chain(&grown.objects)
                    .filter(|(id, _, target, _)| {
                        is_source(id, target) || (*target == ApplyTarget::Local && relevant(id))
                    })
                    .map(|(id, built, _, _)| {
                        (place_of(id, built.node.get_ref()), (id.clone(), built.node.clone()))
                    })
                    .chain(grown.releases.iter().flat_map(rendered))
                    .chain(made())
                    .collect()
            };
            let settings = || {
                Settings::read(
                    grown.objects.iter().map(|(id, built, _, _)| (id, built.node.get_ref())),
                    snapshot,
                    &repository.installs,
                    &entry.root,
                    (&target, &config.assumed),
                )
            };
            (start.objects, start.settings) = rayon::join(objects, settings);
            let injects = injects_variables(config, &grown.objects);
            let served = capabilities::served(grown.rendered.iter());
            let is_settled = !changed
                && start.objects.len() == started
                && injects == start.injects
                && served == start.served;
            (start.injects, start.served) = (injects, served);
            if is_settled {
                break;
            }
        }
    }
    grown.builds = known;
    // What the operator makes of an instance is there beside what Git holds, and
    // before it: copies in Git are left alone.
    if entry.owned {
        let sources = entry.generated.iter().filter_map(|(id, node)| Some((id, node.as_ref()?)));
        let pair = sources.chain(entry.kustomizations.iter().map(|(id, node)| (id, node)));
        for (at, (id, node)) in pair.enumerate() {
            let files = node
                .get_ref()
                .location()
                .map(|location| (FileRole::Resource, location))
                .into_iter()
                .collect();
            let built = Arc::new(BuiltObject::new(node.clone(), files));
            grown.objects.insert(at, (id.clone(), built, ApplyTarget::Local, Maker::Entry));
        }
        grown.generated.clear();
    }
    let applied = grown.objects.len();
    for object in &entry.overlay {
        if let Some(id) = object.id.clone() {
            grown.objects.push((id, object.clone(), ApplyTarget::Local, Maker::Entry));
        }
    }
    if entry.certainty == Certainty::Guessed && entry.name.is_none() {
        let placed = by_hand(snapshot, entry, &grown);
        grown.objects.extend(placed);
    }
    let beside = grown.objects[applied..].iter().filter(|(id, ..)| kinds::is_helm_release(id));
    let beside: Vec<(Placed, u32)> = beside.map(|placed| (placed.clone(), 0)).collect();
    let mut served = capabilities::served(grown.objects.iter());
    served.extend(start.served.iter().cloned());
    grown.take_in(start.render(&beside, &served));
    grown
}

impl Grown {
    /// Adds releases with what their charts make, which is not followed.
    pub(super) fn take_in(&mut self, releases: Vec<Release>) {
        for release in releases {
            let maker = Maker::HelmRelease(self.releases.len() as u32);
            self.rendered.extend(release.placed(maker));
            self.releases.push(release);
        }
    }
}

/// What a chart makes that shapes the next round.
fn rendered(release: &Release) -> impl Iterator<Item = (Called, (ObjectId, Node))> + '_ {
    let local = release.objects.iter().filter(|_| release.target == ApplyTarget::Local);
    let shaping = local.filter_map(|object| {
        let id = object.id.as_ref()?;
        (is_source(id, &ApplyTarget::Local) || relevant(id)).then_some((id, object))
    });
    shaping.map(|(id, object)| (place_of(id, object.node.get_ref()), (id.clone(), object.node.clone())))
}

/// What may be in a cluster by its entry point: what another root has applied,
/// sources that come with the installation.
fn openers_of(snapshot: &Snapshot, entry: &Entry) -> Vec<Opener> {
    let other = |(id, files): &(ObjectId, FxHashSet<Arc<str>>)| {
        let objects = snapshot.objects().iter().filter(|object| files.contains(object.path()));
        Written::of(objects).opener(OpenerCause::OtherRoot, format!("{id}, which may be the root"))
    };
    let mut openers: Vec<Opener> = entry.other_roots.iter().filter_map(other).collect();
    if entry.has_unseen_sources {
        openers.push(Opener {
            cause: OpenerCause::NoEntry,
            kinds: Kinds::Only(["GitRepository", "OCIRepository", "Bucket"].map(Arc::from).to_vec()),
            namespace: None,
            names: None,
            only: None,
            target: ApplyTarget::Local,
            what: "what installs Flux".to_owned(),
            location: None,
        });
    }
    openers
}

/// What an object that shapes builds is looked up by.
fn place_of(id: &ObjectId, node: NodeRef<'_>) -> Called {
    match secret_written_by(id, node) {
        Some(name) => Called { kind: WRITER.into(), namespace: id.namespace.clone(), name },
        None => id.called(),
    }
}

/// Without a stated entry point, what lies beside the root Kustomizations is
/// taken to be applied by hand.
fn by_hand(snapshot: &Snapshot, entry: &Entry, grown: &Grown) -> Vec<Placed> {
    let mut placed = Vec::new();
    let directory = |file: &FilePath| {
        let above = file.shown().rsplit_once('/').map_or("", |(directory, _)| directory);
        (file.tree().clone(), above.to_owned())
    };
    let roots: FxHashSet<(Tree, String)> = entry
        .kustomizations
        .iter()
        .filter_map(|(_, node)| node.get_ref().location())
        .map(|location| directory(&location.file))
        .collect();
    let built: FxHashSet<FilePath> = grown
        .objects
        .iter()
        .flat_map(|(_, object, _, _)| object.files.iter().map(|(_, location)| location.file.clone()))
        .collect();
    for object in snapshot.objects() {
        let beside = roots.contains(&directory(&object.source.file)) && !built.contains(&object.source.file);
        if !beside || object.id.group() == "kustomize.config.k8s.io" {
            continue;
        }
        let files = object
            .node
            .get_ref()
            .location()
            .map(|location| (FileRole::Resource, location))
            .into_iter()
            .collect();
        let built = Arc::new(BuiltObject::new(object.node.clone(), files));
        placed.push((object.id.clone(), built, ApplyTarget::Local, Maker::Entry));
    }
    placed
}

/// What gives a ResourceSet inputs.
const PROVIDER: &str = "ResourceSetInputProvider";

/// Objects that shape the next round besides sources.
fn relevant(id: &ObjectId) -> bool {
    id.group().is_empty() && matches!(&*id.kind, "ConfigMap" | "Secret")
        || kinds::is_kustomization(id)
        || id.is(kinds::OPERATOR, PROVIDER)
        || writes_secrets(id)
}

/// Where an object stands that writes a Secret: at the name of that.
const WRITER: &str = "writer of a Secret";

struct Round {
    objects: Vec<Placed>,
    /// The HelmReleases, with what their charts make.
    releases: Vec<Release>,
    /// What their charts make.
    rendered: Vec<Placed>,
    applied: Vec<Applied>,
    read: FxHashSet<FilePath>,
    /// ResourceSets of which everything that they make is among the objects.
    sets: Vec<ResourceSet>,
}

/// What the builds of one round start from.
struct Start<'a> {
    repository: &'a Repository<'a>,
    sources: Sources<'a>,
    entry: &'a Entry,
    settings: Settings,
    /// What shapes builds, of the round before.
    objects: Objects,
    /// Whether something in the cluster may add variables to Kustomizations.
    injects: bool,
    /// API versions that charts add by their definitions, of the round before.
    served: BTreeSet<String>,
}

/// A Flux Kustomization that is due.
#[derive(Clone)]
struct Due {
    id: ObjectId,
    node: Node,
    /// See [`Applied::parent`].
    parent: Option<u32>,
    maker: Maker,
}

/// What was found out about one that is due.
struct Step {
    identity: Identity,
    path: String,
    tree: Result<FileTree, Outcome>,
    state: SourceState,
    /// Its build, where that of the round before isn't the same.
    built: Option<Built>,
}

/// Builds what is due, and tells whether something is another than before. `follows`:
/// what the roots apply as well.
fn round(start: &Start<'_>, known: &mut FxHashMap<Identity, Built>, follows: bool) -> (Round, bool) {
    let (entry, objects) = (start.entry, &start.objects);
    let providers = providers(objects);
    let mut out = Round {
        objects: Vec::new(),
        releases: Vec::new(),
        rendered: Vec::new(),
        applied: Vec::new(),
        read: FxHashSet::default(),
        sets: Vec::new(),
    };
    let mut changed = false;
    let mut seen: FxHashSet<Identity> = FxHashSet::default();
    let mut queue: Vec<Due> = Vec::new();
    for (id, node) in &entry.kustomizations {
        if seen.insert(identity_of(id, node.get_ref())) {
            // From the second round on, the root is what it applies of itself.
            let own = objects.get(&id.called());
            let node = own.map_or_else(|| node.clone(), |(_, node)| node.clone());
            queue.push(Due { id: id.clone(), node, parent: None, maker: Maker::Entry });
        }
    }
    let (mut at, mut size) = (0, 0u64);
    let mut paths: FxHashMap<String, usize> = FxHashMap::default();
    // More at a time would let builds that are too large together lie in memory
    // at once.
    let batch = 4 * rayon::current_num_threads();
    let mut rendering = Rendering::default();
    loop {
        while at < queue.len() {
            let due = queue[at..queue.len().min(at + batch)].to_vec();
            at += due.len();
            // One by one: the last of a batch is waited for.
            let steps = due.par_iter().with_max_len(1);
            let steps: Vec<Step> = steps.map(|due| start.step(due, known, &out.applied, &paths)).collect();
            for (Due { id, node, parent, maker }, step) in due.into_iter().zip(steps) {
                let view = node.get_ref();
                let Step { identity, path, tree, state, built } = step;
                if let Some(mut built) = built {
                    changed = true;
                    match &built.result {
                        Ok(_) if size > SIZE_LIMIT => {
                            let why = "this cluster has too many objects before it".to_owned();
                            built.result = Err(Outcome::Unknown(why));
                        }
                        Ok(build) if size + weight(build) > SIZE_LIMIT => {
                            built.result = Err(Outcome::Failed(too_large(view)));
                        }
                        _ => {}
                    }
                    built.before = known.remove(&identity).map(Box::new);
                    known.insert(identity.clone(), built);
                }
                let Some(built) = known.get(&identity) else { continue };
                size += match &built.result {
                    Ok(build) => weight(build),
                    Err(Outcome::Failed(failure)) if failure.kind == FailureKind::TooLarge => SIZE_LIMIT,
                    Err(_) => 0,
                };
                let target = target_of(&id, view);
                let index = out.applied.len() as u32;
                *paths.entry(path.clone()).or_default() += 1;
                let outcome = match &built.result {
                    Ok(build) => built_outcome(build),
                    Err(outcome) => outcome.again(),
                };
                let files_read =
                    built.result.as_ref().map_or_else(|_| Vec::new(), |build| build.files_read.clone());
                out.applied.push(Applied {
                    id,
                    node,
                    tree: tree.ok(),
                    path,
                    target: target.clone(),
                    outcome,
                    assumed: state == SourceState::Assumed,
                    later: state == SourceState::Later,
                    parent,
                    maker,
                    files_read,
                });
                let Ok(build) = &built.result else { continue };
                out.read.extend(build.files_read.iter().cloned());
                for object in &build.objects {
                    let local = target == ApplyTarget::Local;
                    let mut made = vec![(object.clone(), Maker::Kustomization(index), 0)];
                    while let Some((object, maker, depth)) = made.pop() {
                        let Some(id) = object.id.clone() else { continue };
                        if local
                            && depth < SET_DEPTH
                            && id.is(kinds::OPERATOR, "ResourceSet")
                            && let Some((inner, is_complete)) =
                                made_by(&providers, &id, object.node.get_ref())
                        {
                            let of_set = Maker::ResourceSet(out.sets.len() as u32);
                            let node = object.node.clone();
                            out.sets.push(ResourceSet { id: id.clone(), node, maker, is_complete });
                            made.extend(inner.into_iter().rev().map(|object| (object, of_set, depth + 1)));
                        }
                        if follows
                            && local
                            && kinds::is_kustomization(&id)
                            && seen.insert(identity_of(&id, object.node.get_ref()))
                        {
                            if queue.len() < LIMIT {
                                let node = object.node.clone();
                                queue.push(Due { id: id.clone(), node, parent: Some(index), maker });
                            } else if let Outcome::Built { partial, .. } =
                                &mut out.applied[index as usize].outcome
                            {
                                let location = object.node.get_ref().location();
                                partial.push((Unchecked::TooManyKustomizations, id.to_string(), location));
                            }
                        }
                        out.objects.push((id, object, target.clone(), maker));
                    }
                }
            }
        }
        if !follows || !start.render_due(&mut out, &mut rendering, &mut seen, &mut queue) {
            break;
        }
    }
    (out, changed)
}

/// How far the releases of a round are rendered.
#[derive(Default)]
struct Rendering {
    /// Objects that were looked through.
    seen: usize,
    /// Releases that charts make, and their depth.
    pending: Vec<(Placed, u32)>,
    /// The releases that there are.
    known: FxHashSet<Identity>,
}

impl Start<'_> {
    /// Renders releases.
    fn render(&self, due: &[(Placed, u32)], served: &BTreeSet<String>) -> Vec<Release> {
        let lookup = releases::lookup_in(&self.objects);
        let trees = releases::trees_in(&self.sources, &self.objects);
        let renderer = Renderer {
            known: &self.repository.charts,
            stores: &self.repository.config.stores,
            snapshot: self.repository.snapshot,
            helm: self.settings.helm(),
            possible: &Possible::of(&self.settings, self.settings.helm().line, served),
            lookup: &lookup,
            trees: &trees,
        };
        due.par_iter().with_max_len(1).map(|(placed, _)| renderer.release(placed)).collect()
    }

    /// Renders the releases that are due, and notes what their charts make that makes
    /// more; whether there was any.
    fn render_due(
        &self,
        out: &mut Round,
        rendering: &mut Rendering,
        seen: &mut FxHashSet<Identity>,
        queue: &mut Vec<Due>,
    ) -> bool {
        let providers = providers(&self.objects);
        let found = out.objects[rendering.seen..].iter().filter(|(id, ..)| kinds::is_helm_release(id));
        let mut due: Vec<(Placed, u32)> = found.map(|placed| (placed.clone(), 0)).collect();
        rendering.seen = out.objects.len();
        due.append(&mut rendering.pending);
        for ((id, built, ..), _) in &due {
            rendering.known.insert(identity_of(id, built.node.get_ref()));
        }
        let mut served = capabilities::served(out.objects.iter());
        served.extend(self.served.iter().cloned());
        let made = self.render(&due, &served);
        for (mut release, (_, depth)) in made.into_iter().zip(&due) {
            let maker = Maker::HelmRelease(out.releases.len() as u32);
            let is_local = release.target == ApplyTarget::Local;
            let objects = release.objects.iter().rev().cloned();
            let mut inner: Vec<(Arc<BuiltObject>, Maker, u32)> =
                objects.map(|object| (object, maker, *depth)).collect();
            while let Some((object, maker, depth)) = inner.pop() {
                let Some(id) = object.id.clone() else { continue };
                out.rendered.push((id.clone(), object.clone(), release.target.clone(), maker));
                let node = object.node.get_ref();
                if !is_local {
                    continue;
                }
                if id.is(kinds::OPERATOR, "ResourceSet") && depth < SET_DEPTH {
                    if let Some((made, is_complete)) = made_by(&providers, &id, node) {
                        let of_set = Maker::ResourceSet(out.sets.len() as u32);
                        out.sets.push(ResourceSet { id, node: object.node.clone(), maker, is_complete });
                        inner.extend(made.into_iter().rev().map(|object| (object, of_set, depth + 1)));
                    }
                } else if kinds::is_kustomization(&id) {
                    if seen.insert(identity_of(&id, node)) && queue.len() < LIMIT {
                        let parent = release.maker.kustomization();
                        queue.push(Due { id, node: object.node.clone(), parent, maker });
                    }
                } else if kinds::is_helm_release(&id) {
                    if depth >= SET_DEPTH || rendering.known.contains(&identity_of(&id, node)) {
                        release.unfollowed.push(id);
                    } else {
                        rendering.pending.push(((id, object, ApplyTarget::Local, maker), depth + 1));
                    }
                }
            }
            out.releases.push(release);
        }
        !due.is_empty()
    }

    /// Adds what something in the cluster may add to the variables.
    fn inject(&self, variables: &mut Variables) {
        if !self.injects {
            return;
        }
        match self.repository.config.injected() {
            Some(Injected::Names(names)) => names.iter().for_each(|name| variables.add_hidden(name)),
            _ => variables.open = true,
        }
    }

    /// Builds a Flux Kustomization, unless the build that is known is the same;
    /// `paths` says how often each is applied already.
    fn step(
        &self,
        due: &Due,
        known: &FxHashMap<Identity, Built>,
        applied: &[Applied],
        paths: &FxHashMap<String, usize>,
    ) -> Step {
        let Due { id, node, parent, .. } = due;
        let (sources, objects) = (&self.sources, &self.objects);
        let view = node.get_ref();
        let identity = identity_of(id, view);
        let written = entry_point::path_of(view);
        let path = match &written {
            Known::Value(path) => path.clone(),
            Known::Unknown => view.at("/spec/path").map_or_else(String::new, entry_point::pattern_of),
        };
        let found = match written {
            Known::Value(_) => resolve(sources, objects, id, view, &path),
            Known::Unknown => Err(Outcome::Unknown("its path is known in the cluster only".to_owned())),
        };
        let (tree, state) = match found {
            Ok(found) => (Ok(found.tree), found.state),
            Err(outcome) => (Err(outcome), SourceState::Here),
        };
        let mut variables = variables(objects, id, view);
        self.inject(&mut variables);
        let strict = self.settings.feature(Feature::StrictSubstitution).value == Some(true);
        let inputs =
            Inputs { node: view, tree: tree.as_ref().ok(), path: &path, variables: &variables, strict };
        // Why there is no tree may be told better when there are more objects.
        let is_told = |before: &Built| match (&tree, &before.result) {
            (Err(Outcome::External(now)), Err(Outcome::External(before))) => now == before,
            _ => true,
        };
        if known.get(&identity).is_some_and(|before| before.is_of(&inputs) && is_told(before)) {
            return Step { identity, path, tree, state, built: None };
        }
        let earlier = || self.repository.earlier.as_ref()?.build(&self.entry.root, &identity, &inputs);
        let build = |tree| build::build(tree, view, &variables, strict, &sources.shared.memo);
        let result = match &tree {
            Err(outcome) => Err(outcome.again()),
            Ok(tree)
                if paths.get(&path).is_some_and(|count| *count >= REPEATS)
                    && is_endless(applied, *parent, tree, &path) =>
            {
                Err(Outcome::Failed(endless(view)))
            }
            Ok(tree) if !path.is_empty() && !tree.is_directory(&path) => Err(Outcome::MissingPath),
            Ok(tree) => earlier().unwrap_or_else(|| build(tree)).map_err(Outcome::Failed),
        };
        let tree_of = tree.as_ref().ok().cloned();
        let built = Built { node: node.clone(), tree: tree_of, variables, strict, result, before: None };
        Step { identity, path, tree, state, built: Some(built) }
    }
}

/// Whether something among the objects of a cluster changes Flux Kustomizations
/// when they are admitted: a webhook or policy that names their API group, or the
/// chart of kustomize-mutating-webhook, which adds `postBuild` variables.
fn injects_variables(config: &Config, objects: &[Placed]) -> bool {
    let names_group = |node: NodeRef<'_>| {
        node.items_at("/apiGroups").filter_map(NodeRef::as_str).any(|group| group == kinds::KUSTOMIZE)
    };
    if let Some(stated) = config.injected() {
        return *stated != Injected::No;
    }
    objects.iter().filter(|(_, _, target, _)| *target == ApplyTarget::Local).any(|(id, object, ..)| {
        let node = object.node.get_ref();
        match (id.group(), &*id.kind) {
            ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
                node.items_at("/webhooks").flat_map(|hook| hook.items_at("/rules")).any(names_group)
            }
            ("admissionregistration.k8s.io", "MutatingAdmissionPolicy") => {
                node.items_at("/spec/matchConstraints/resourceRules").any(names_group)
            }
            (kinds::HELM, "HelmRelease") => {
                let chart = node.str_at("/spec/chart/spec/chart");
                [chart.as_deref(), node.str_at("/spec/chartRef/name").as_deref(), Some(&*id.name)]
                    .into_iter()
                    .flatten()
                    .any(|name| name.contains(MUTATING_WEBHOOK))
            }
            (kinds::SOURCE, "OCIRepository") => {
                node.str_at("/spec/url").is_some_and(|url| url.contains(MUTATING_WEBHOOK))
            }
            _ => false,
        }
    })
}

/// A webhook that adds variables to every Flux Kustomization.
const MUTATING_WEBHOOK: &str = "kustomize-mutating-webhook";

/// ResourceSetInputProviders by namespace, in order of their names.
type Providers<'o> = FxHashMap<Option<Arc<str>>, Vec<(&'o ObjectId, NodeRef<'o>)>>;

fn providers(objects: &Objects) -> Providers<'_> {
    let mut found = Providers::default();
    for (id, node) in objects.values().filter(|(id, _)| id.is(kinds::OPERATOR, PROVIDER)) {
        found.entry(id.namespace.clone()).or_default().push((id, node.get_ref()));
    }
    for all in found.values_mut() {
        all.sort_by(|one, other| one.0.name.cmp(&other.0.name));
    }
    found
}

/// What a ResourceSet makes of inputs that are known, and whether that is all.
fn made_by(
    providers: &Providers<'_>,
    id: &ObjectId,
    set: NodeRef<'_>,
) -> Option<(Vec<Arc<BuiltObject>>, bool)> {
    let providers = providers.get(&id.namespace).map(Vec::as_slice).unwrap_or_default();
    let made = resource_set::expand(id, set, providers)?;
    let common = set.at("/spec/commonMetadata").filter(|node| !node.is_null());
    let built = |mut node: Node| {
        let place = node.get_ref().location();
        for field in ["labels", "annotations"] {
            if let Some(common) = common {
                set_common_metadata(&mut node, field, common, common.location().as_ref());
            }
        }
        let files = place.map(|location| (FileRole::Resource, location)).into_iter().collect();
        Arc::new(BuiltObject::new(node, files))
    };
    Some((made.objects.into_iter().map(built).collect(), made.is_complete))
}

fn identity_of(id: &ObjectId, node: NodeRef<'_>) -> Identity {
    match node.location().filter(|_| id.is_unknown()) {
        Some(place) => (None, format!("? {}:{}", place.file, place.start).into()),
        None => (id.namespace.clone(), id.name.clone()),
    }
}

/// How often one directory may apply itself under another name.
const REPEATS: usize = 4;

/// Whether a Kustomization comes of a chain of others over the same directory:
/// one that renames what it applies (`namePrefix`, a name with a variable) and
/// applies its own definition never ends.
fn is_endless(applied: &[Applied], parent: Option<u32>, tree: &FileTree, path: &str) -> bool {
    let key = tree.key();
    std::iter::successors(parent, |index| applied[*index as usize].parent)
        .map(|index| &applied[index as usize])
        .filter(|above| above.path == path && above.tree.as_ref().is_some_and(|tree| tree.key() == key))
        .nth(REPEATS - 1)
        .is_some()
}

fn weight(build: &FluxBuild) -> u64 {
    build.size + OBJECT * build.objects.len() as u64
}

fn too_large(node: NodeRef<'_>) -> BuildFailure {
    BuildFailure {
        kind: FailureKind::TooLarge,
        message: format!(
            "with this Kustomization its cluster has objects of more than {} MiB",
            SIZE_LIMIT >> 20
        ),
        location: node.location_at("/spec/path"),
        related: Box::default(),
        looked_into: Arc::default(),
    }
}

fn endless(node: NodeRef<'_>) -> BuildFailure {
    BuildFailure {
        kind: FailureKind::Endless,
        message: "this Kustomization applies itself again and again, each time under a new name".to_owned(),
        location: node.location_at("/spec/path"),
        related: Box::default(),
        looked_into: Arc::default(),
    }
}

pub(super) fn built_outcome(build: &FluxBuild) -> Outcome {
    Outcome::Built {
        partial: build.partial.clone(),
        bad_variables: build.bad_variables.clone(),
        missing_sources: build.missing_sources.clone(),
        unusable: build.unusable.clone(),
        warnings: build.warnings.clone(),
    }
}

impl Outcome {
    pub(super) fn again(&self) -> Outcome {
        match self {
            Outcome::Built { partial, bad_variables, missing_sources, unusable, warnings } => {
                Outcome::Built {
                    partial: partial.clone(),
                    bad_variables: bad_variables.clone(),
                    missing_sources: missing_sources.clone(),
                    unusable: unusable.clone(),
                    warnings: warnings.clone(),
                }
            }
            Outcome::Failed(failure) => Outcome::Failed(failure.clone()),
            Outcome::External(why) => Outcome::External(why.clone()),
            Outcome::Unknown(why) => Outcome::Unknown(why.clone()),
            Outcome::MissingPath => Outcome::MissingPath,
        }
    }
}

fn resolve(
    sources: &Sources<'_>,
    objects: &Objects,
    id: &ObjectId,
    node: NodeRef<'_>,
    path: &str,
) -> Result<super::TreeOf, Outcome> {
    if entry_point::source_is_unknown(id, node) {
        return Err(Outcome::Unknown("its source is known in the cluster only".to_owned()));
    }
    let source = source_of(id, node).ok_or_else(|| Outcome::External("it names no source".to_owned()))?;
    sources.resolve(objects, &source, path).map_err(Outcome::External)
}

/// The variables of a Kustomization, looked up among the objects of the cluster.
fn variables(objects: &Objects, id: &ObjectId, node: NodeRef<'_>) -> Variables {
    let mut provide = |kind: &str, name: &str| {
        let at = |kind: &str| objects.get(&Called::new(kind, id.namespace.as_deref(), name));
        let provided = Provided::by(kind, at(kind).map(|(_, node)| node.get_ref()));
        if kind == "Secret" && at(WRITER).is_some() { provided.or_more() } else { provided }
    };
    Variables::of(node, &mut provide).unwrap_or_default()
}
