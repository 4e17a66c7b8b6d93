//! The HelmReleases of a cluster, the charts that they mean, and what these make.

mod objects;

use self::objects::Applied;
use super::capabilities::{self, Possible};
use super::source::{LocalObjects, Sources};
use super::versions::Settings;
use super::{ApplyTarget, PlacedObject, target_of};
use crate::build::helm;
use crate::files::{ChartStores, FileTree, RenderCache, Snapshot};
use crate::lang::yaml::{FilePath, Known as Certain, Location, Node, NodeRef, Tree};
use crate::model::value::to_json;
use crate::model::{Called, Maker, ObjectId, kinds};
use crate::sources::charts::{Around, Charts, Once};
use crate::sources::outcome::{ChartObjects, ChartOutcome, NoRelease};
use crate::sources::release::{name, namespace};
use crate::sources::render::{Rendering, Wish};
use crate::sources::request::{self, Asked, ChartRequest, ObjectLookup, Unclear};
use crate::sources::resolve::{ChartPlace, FoundChart, Missing, Trees, resolve};
use crate::sources::values::{self, Values};
use crate::world::build::BuiltObject;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A HelmRelease of a cluster.
#[derive(Clone, Debug)]
pub struct Release {
    pub id: ObjectId,
    /// The effective HelmRelease.
    pub node: Node,
    /// What makes it.
    pub maker: Maker,
    /// Where it installs.
    pub target: ApplyTarget,
    /// What it asks for.
    pub(crate) request: Result<ChartRequest, Unclear>,
    /// The chart that it means.
    pub(crate) chart: Result<FoundChart, Missing>,
    /// Its values; what helm-controller says where it fails on them.
    pub(crate) values: Result<Arc<Values>, values::NoValues>,
    /// What its chart makes of them; `None` where the chart is not here.
    pub(crate) outcome: Option<Arc<ChartOutcome>>,
    /// How that came about, where there is a chart.
    pub(crate) rendering: Option<Arc<Rendering>>,
    /// What is applied, as helm-controller applies it.
    pub(crate) objects: Vec<Arc<BuiltObject>>,
    /// What is run around an install or upgrade, in the release's namespace.
    pub(crate) hooks: Vec<Arc<BuiltObject>>,
    /// What decides on all of it that is not known, in words.
    pub(crate) assumed: Vec<String>,
    /// Releases that its chart makes and that are not followed: they are there already, or
    /// too many in each other.
    pub(crate) unfollowed: Vec<ObjectId>,
}

/// The kinds that Roles let somebody create, by the plural words of rules.
static CREATED: [(&str, &[&str]); 12] = [
    ("configmaps", &["ConfigMap"]),
    ("cronjobs", &["CronJob"]),
    ("daemonsets", &["DaemonSet"]),
    ("deployments", &["Deployment"]),
    ("ingresses", &["Ingress"]),
    ("jobs", &["Job"]),
    ("persistentvolumeclaims", &["PersistentVolumeClaim"]),
    ("pods", &["Pod"]),
    ("secrets", &["Secret"]),
    ("serviceaccounts", &["ServiceAccount"]),
    ("services", &["Service"]),
    ("statefulsets", &["StatefulSet"]),
];

/// What the Roles of a release let its programs create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Creates {
    /// Kinds in its own namespace, each by itself.
    pub here: Vec<&'static [&'static str]>,
    /// Kinds in any namespace, each by itself.
    pub anywhere: Vec<&'static [&'static str]>,
    /// Whether that is every kind, in some namespace.
    pub anything: bool,
}

impl Release {
    /// What its programs may create: hooks and operators make objects that the chart does
    /// not show, and the API server lets them make no others.
    pub(crate) fn creates(&self) -> Creates {
        let mut creates = Creates::default();
        for object in self.objects.iter().chain(&self.hooks) {
            let Some(id) = &object.id else { continue };
            if id.group() != "rbac.authorization.k8s.io" {
                continue;
            }
            let node = object.node.get_ref();
            let role = node.str_at("/roleRef/name");
            if role.is_some_and(|role| matches!(&*role, "cluster-admin" | "admin" | "edit")) {
                creates.anything = true;
            }
            let kinds = match &*id.kind {
                "Role" => &mut creates.here,
                "ClusterRole" => &mut creates.anywhere,
                _ => continue,
            };
            for rule in node.items_at("/rules") {
                let names = |pointer: &str, word: &str| {
                    rule.items_at(pointer).filter_map(NodeRef::as_str).any(|own| own == word || own == "*")
                };
                if !names("/verbs", "create") {
                    continue;
                }
                creates.anything |=
                    rule.items_at("/resources").any(|own| own.as_str().is_some_and(|own| own == "*"));
                let named = CREATED.iter().filter(|(word, _)| names("/resources", word));
                kinds.extend(named.map(|(_, kind)| *kind));
            }
        }
        for kinds in [&mut creates.here, &mut creates.anywhere] {
            kinds.sort_unstable();
            kinds.dedup();
        }
        creates
    }

    /// Whether it is the same object, of the same chart, as in another world.
    pub(crate) fn is_same(&self, other: &Release) -> bool {
        let same_outcome = match (&self.outcome, &other.outcome) {
            (Some(one), Some(two)) => Arc::ptr_eq(one, two),
            (None, None) => self.chart.as_ref().err() == other.chart.as_ref().err(),
            _ => false,
        };
        self.id == other.id
            && self.maker == other.maker
            && self.target == other.target
            && self.node.get_ref().is_same_text(other.node.get_ref())
            && self.assumed == other.assumed
            && same_outcome
    }

    /// Whether it says into which namespace it goes.
    pub(super) fn says_namespace(&self) -> bool {
        self.id.namespace.is_some() || self.node.get_ref().at("/spec/targetNamespace").is_some()
    }

    /// What its chart makes, as members of its cluster.
    pub(super) fn placed(&self, maker: Maker) -> impl Iterator<Item = PlacedObject> + '_ {
        self.objects
            .iter()
            .filter_map(move |object| Some((object.id.clone()?, object.clone(), self.target.clone(), maker)))
    }

    /// The name and version of its chart, where that is rendered.
    pub(crate) fn label(&self) -> Option<(&str, &str)> {
        match self.outcome.as_deref()? {
            ChartOutcome::Rendered(ChartObjects { label: (name, version), .. }) => Some((name, version)),
            ChartOutcome::Refused(_) | ChartOutcome::Unable(_) => None,
        }
    }

    /// Whether all that its chart makes is known: it is rendered, nothing unknown decided
    /// on any of it, and no name in it is unknown.
    pub(crate) fn is_known(&self) -> bool {
        matches!(self.outcome.as_deref(), Some(ChartOutcome::Rendered(_)))
            && self.assumed.is_empty()
            && self.unfollowed.is_empty()
            && self.objects.iter().all(|object| object.id.as_ref().is_some_and(|id| !id.is_unknown()))
    }

    /// What its chart makes of it, where it makes something.
    pub(crate) fn made(&self) -> Option<&ChartObjects> {
        match self.outcome.as_deref()? {
            ChartOutcome::Rendered(made) => Some(made),
            ChartOutcome::Refused(_) | ChartOutcome::Unable(_) => None,
        }
    }

    /// Whether an object is a definition of its chart's `crds/`, which Helm installs and
    /// neither upgrades nor deletes.
    pub(crate) fn brings(&self, id: &ObjectId) -> bool {
        id.is("apiextensions.k8s.io", "CustomResourceDefinition")
            && self.made().is_some_and(|made| {
                let named = |node: &Node| {
                    node.get_ref().str_at("/metadata/name").is_some_and(|name| *name == *id.name)
                };
                made.definitions.iter().any(named)
            })
    }

    /// Whether a file is the chart's: of a store, or in its folder here.
    pub(crate) fn is_of_its_chart(&self, file: &FilePath) -> bool {
        let folder = match &self.chart {
            Ok(FoundChart { place: ChartPlace::Tree(tree, path), .. }) => tree.real(path),
            _ => None,
        };
        let is_below = |folder: FilePath| {
            let rest = file.shown().strip_prefix(&**folder.shown());
            folder.shown().is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        *file.tree() == Tree::Chart || folder.is_some_and(is_below)
    }

    /// Whether only files of a chart in a tree differ from another world's: neither its
    /// version, nor the release, nor its values.
    pub(crate) fn differs_by_files(&self, other: &Release) -> bool {
        let of_tree = |release: &Release| {
            let found = release.chart.as_ref();
            found.is_ok_and(|found| matches!(found.place, ChartPlace::Tree(..)))
                && release.request.as_ref().is_ok_and(|request| !request.has_suffix)
        };
        of_tree(self)
            && of_tree(other)
            && self.label() == other.label()
            && self.node.get_ref().same_value(other.node.get_ref()) == Certain::Value(true)
            && self.has_values_of(other)
    }

    /// Whether helm-controller finds nothing to upgrade, whatever the chart makes now: that
    /// the cluster can do something else is no reason for it.
    /// Source: helm-controller `internal/reconcile/state.go` (`DetermineReleaseState`).
    pub(crate) fn is_in_sync_with(&self, other: &Release) -> bool {
        let has_suffix = |release: &Release| release.request.as_ref().map_or(true, |asked| asked.has_suffix);
        self.label().is_some()
            && self.label() == other.label()
            && (self.asks_for_the_chart_of(other) || !has_suffix(self) && !has_suffix(other))
            && self.node.get_ref().same_value(other.node.get_ref()) != Certain::Value(false)
            && self.has_values_of(other)
    }

    fn has_values_of(&self, other: &Release) -> bool {
        let values = |release: &Release| {
            release.values.as_ref().ok().map(|values| format!("{:?}", values.value.without_origins()))
        };
        values(self) == values(other)
    }

    /// Whether it asks for the chart of another world's release, from wherever: the same
    /// version at the same URL, whose number ends in nothing of its own.
    pub(crate) fn asks_for_the_chart_of(&self, other: &Release) -> bool {
        let (Ok(one), Ok(two)) = (&self.request, &other.request) else { return false };
        let is_told = match &one.chart {
            Asked::Named { url, .. } => url.is_some(),
            Asked::Artifact { .. } => true,
            // What lies at a path changes with its tree.
            Asked::Path(_) => false,
        };
        // Of values' files a HelmChart's generation is part of the version.
        let has_files = !one.values_files.is_empty() || !two.values_files.is_empty();
        is_told && !has_files && one.chart == two.chart && one.has_suffix == two.has_suffix
    }

    /// The chart's name and version: those of the chart that is here, else those that are
    /// asked for.
    pub(crate) fn chart_named(&self) -> Option<(&str, &str)> {
        let asked = || self.request.as_ref().ok().map(|request| request.named());
        self.label().or_else(|| asked().map(|(name, version, _)| (name, version)))
    }

    /// Where it names its chart.
    pub(crate) fn chart_place(&self) -> Option<Location> {
        let asked = self.request.as_ref().ok().and_then(|request| request.location.clone());
        asked.or_else(|| self.node.get_ref().location_at("/spec/chart"))
    }

    /// Why there is nothing of it here.
    pub(crate) fn not_rendered(&self) -> Option<String> {
        let missing = self.chart.as_ref().err().map(ToString::to_string);
        let refused = || Some(format!("its chart fails: {}", self.refusal()?.message));
        missing.or_else(refused).or_else(|| self.unable().map(str::to_owned))
    }

    /// Why nobody can say here what it makes.
    pub(crate) fn unable(&self) -> Option<&str> {
        match self.outcome.as_deref()? {
            ChartOutcome::Unable(why) => Some(why),
            ChartOutcome::Rendered(_) | ChartOutcome::Refused(_) => None,
        }
    }

    /// Why helm-controller refuses it.
    pub(crate) fn refusal(&self) -> Option<&NoRelease> {
        match self.outcome.as_deref()? {
            ChartOutcome::Refused(refusal) => Some(&**refusal),
            ChartOutcome::Rendered(_) | ChartOutcome::Unable(_) => None,
        }
    }
}

/// Charts and releases that are known.
#[derive(Debug, Default)]
pub(super) struct KnownReleases {
    charts: Charts,
    /// What is applied of what a chart made, by the addresses of that and of the release.
    applied: Once<(usize, (usize, u32)), KnownApplied>,
    written: OnceLock<WrittenIndex>,
}

impl KnownReleases {
    /// Keeps what was rendered for runs to come.
    pub(super) fn keep(&self, cache: &RenderCache) {
        self.charts.keep(cache);
    }

    /// For the next world.
    pub(super) fn after(&self) -> KnownReleases {
        KnownReleases { charts: self.charts.after(), applied: self.applied.after(), written: OnceLock::new() }
    }
}

/// The objects of the files, by kind and name: their numbers in [`Snapshot::objects`].
#[derive(Debug)]
struct WrittenIndex {
    numbers: FxHashMap<(Arc<str>, Arc<str>), Vec<u32>>,
    sources: Mutex<KnownSources>,
}

/// By kind and name.
type KnownSources = FxHashMap<(Arc<str>, Arc<str>), Arc<SourcesOfName>>;

/// The sources of a kind and name by namespace: which is the first, and what it says; `None`
/// where another one says something else.
type SourcesOfName = FxHashMap<Option<Arc<str>>, Option<(u32, Arc<SourceText>)>>;

/// What a source says of where charts come from.
type SourceText = [Option<Value>; 6];

fn source_text(node: NodeRef<'_>) -> SourceText {
    ["/spec/url", "/spec/ref", "/spec/layerSelector", "/spec/chart", "/spec/version", "/spec/sourceRef"]
        .map(|pointer| node.at(pointer).map(to_json))
}

impl WrittenIndex {
    fn of(snapshot: &Snapshot) -> WrittenIndex {
        let mut numbers: FxHashMap<_, Vec<u32>> = FxHashMap::default();
        for (number, object) in snapshot.objects().iter().enumerate() {
            let key = (object.id.kind.clone(), object.id.name.clone());
            numbers.entry(key).or_default().push(number as u32);
        }
        WrittenIndex { numbers, sources: Mutex::default() }
    }

    /// The objects of a namespace, and of none, which an overlay may give.
    fn named<'s>(
        &'s self,
        snapshot: &'s Snapshot,
        (kind, namespace, name): (&str, Option<&'s str>, &str),
    ) -> impl Iterator<Item = &'s Node> {
        let numbers = self.numbers.get(&(kind.into(), name.into())).map_or(&[][..], Vec::as_slice);
        let named = numbers.iter().filter_map(|number| snapshot.objects().get(*number as usize));
        named
            .filter(move |object| {
                object.id.namespace.is_none() || object.id.namespace.as_deref() == namespace
            })
            .map(|object| &object.node)
    }

    /// The source, or the HelmChart, of that name in a namespace or in none; `None` where
    /// several say different things.
    fn source(&self, snapshot: &Snapshot, kind: &str, namespace: Option<&str>, name: &str) -> Option<Node> {
        if !matches!(kind, "HelmRepository" | "OCIRepository" | "HelmChart") {
            return None;
        }
        let (kind, name) = (Arc::<str>::from(kind), Arc::<str>::from(name));
        let mut known = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
        let sources = known.entry((kind, name));
        let sources = sources.or_insert_with_key(|key| Arc::new(self.sources_of(snapshot, key))).clone();
        drop(known);
        let own = namespace.map(|namespace| sources.get(&Some(namespace.into())));
        let mut first: Option<&(u32, Arc<SourceText>)> = None;
        for found in [sources.get(&None), own.flatten()].into_iter().flatten() {
            let found = found.as_ref()?;
            if first.is_some_and(|first| first.1 != found.1) {
                return None;
            }
            first = Some(first.filter(|first| first.0 < found.0).unwrap_or(found));
        }
        Some(snapshot.objects().get(first?.0 as usize)?.node.clone())
    }

    fn sources_of(&self, snapshot: &Snapshot, key: &(Arc<str>, Arc<str>)) -> SourcesOfName {
        let mut sources = SourcesOfName::default();
        for number in self.numbers.get(key).into_iter().flatten() {
            let Some(object) = snapshot.objects().get(*number as usize) else { continue };
            let text = source_text(object.node.get_ref());
            match sources.entry(object.id.namespace.clone()) {
                Entry::Vacant(entry) => drop(entry.insert(Some((*number, Arc::new(text))))),
                Entry::Occupied(mut entry) => {
                    if entry.get().as_ref().is_some_and(|(_, first)| **first != text) {
                        entry.insert(None);
                    }
                }
            }
        }
        sources
    }
}

/// What is applied of a release, with what it was made of: that keeps its address.
#[derive(Clone, Debug)]
struct KnownApplied {
    _of: (Arc<ChartOutcome>, Node),
    applied: Result<Applied, Arc<ChartOutcome>>,
}

/// [`ObjectLookup`], for several threads.
type SharedLookup<'l> = dyn Fn(&str, Option<&str>, &str) -> Option<Node> + Sync + 'l;

/// [`Trees`], for several threads.
type SharedTrees<'t> = dyn Fn(&str, Option<&str>, &str, &str) -> Result<FileTree, String> + Sync + 't;

/// What releases are rendered with.
pub(super) struct Renderer<'r> {
    pub(super) known: &'r KnownReleases,
    pub(super) stores: &'r ChartStores,
    pub(super) snapshot: &'r Arc<Snapshot>,
    /// What the cluster says of itself.
    pub(super) settings: &'r Settings,
    pub(super) lookup: &'r SharedLookup<'r>,
    pub(super) trees: &'r SharedTrees<'r>,
}

impl Renderer<'_> {
    /// Releases, with what their charts make of them; `served` are the API versions that the
    /// cluster's own definitions add.
    ///
    /// One release of each chart is rendered first: the definitions that a chart brings are
    /// API versions that others may ask for. Rendered without them, those would have to be
    /// rendered again.
    pub(super) fn releases(&self, placed: &[&PlacedObject], served: &BTreeSet<String>) -> Vec<Release> {
        let mut releases: Vec<Release> =
            placed.par_iter().with_max_len(1).map(|placed| self.release(placed)).collect();
        let mut charts = FxHashSet::default();
        let (first, others): (Vec<&mut Release>, Vec<&mut Release>) =
            releases.iter_mut().partition(|release| match &release.chart {
                Ok(FoundChart { place: ChartPlace::Store(chart), .. }) => charts.insert(Arc::as_ptr(chart)),
                _ => true,
            });
        let mut served = served.clone();
        let first = self.rendered(first, &served);
        let placed: Vec<PlacedObject> =
            first.iter().flat_map(|release| release.placed(release.maker)).collect();
        served.append(&mut capabilities::served(placed.iter()));
        self.rendered(others, &served);
        releases
    }

    /// Large charts first: the last one keeps no thread busy while others have nothing to do.
    fn rendered<'l>(
        &self,
        mut releases: Vec<&'l mut Release>,
        served: &BTreeSet<String>,
    ) -> Vec<&'l Release> {
        releases.sort_by_key(|release| std::cmp::Reverse(size(release)));
        let possible = Possible::of(self.settings, self.settings.helm().line, served);
        let render = |release: &'l mut Release| {
            self.render(release, &possible);
            &*release
        };
        releases.into_par_iter().with_max_len(1).map(render).collect()
    }

    /// A release, with its chart.
    fn release(&self, (id, built, sent, maker): &PlacedObject) -> Release {
        let node = built.node.get_ref();
        let lookup: &ObjectLookup<'_> = &|kind, namespace, name| (self.lookup)(kind, namespace, name);
        let trees: &Trees<'_> = &|kind, namespace, name, path| (self.trees)(kind, namespace, name, path);
        // A source that nothing here applies is in the cluster by other means, as it is written.
        let written = |kind: &str, namespace: Option<&str>, name: &str| {
            let written = self.known.written.get_or_init(|| WrittenIndex::of(self.snapshot));
            written.source(self.snapshot, kind, namespace, name)
        };
        let request = request::of_release(id, node, &|kind, namespace, name| {
            lookup(kind, namespace, name).or_else(|| written(kind, namespace, name))
        });
        let chart = match &request {
            Ok(request) => resolve(request, trees, self.stores).map_err(|missing| *missing),
            Err(unclear) => Err(Missing::unclear(unclear)),
        };
        let target = match sent {
            ApplyTarget::Local => target_of(id, node),
            remote => remote.clone(),
        };
        Release {
            id: (**id).clone(),
            node: built.node.clone(),
            maker: *maker,
            target,
            request,
            chart,
            values: Err(values::NoValues::Unknown("spec.values")),
            outcome: None,
            rendering: None,
            objects: Vec::new(),
            hooks: Vec::new(),
            assumed: Vec::new(),
            unfollowed: Vec::new(),
        }
    }

    /// What its chart makes of a release.
    fn render(&self, release: &mut Release, possible: &Possible) {
        let (Ok(request), Ok(found)) = (&release.request, &release.chart) else { return };
        let lookup: &ObjectLookup<'_> = &|kind, namespace, name| (self.lookup)(kind, namespace, name);
        let trees: &Trees<'_> = &|kind, namespace, name, path| (self.trees)(kind, namespace, name, path);
        let node = release.node.get_ref();
        let written = &|file: &_| self.snapshot.written(file);
        let values = match values::of_release(&release.id, node, lookup, written) {
            Ok(values) => Arc::new(values),
            Err(refused) => {
                release.outcome = Some(Arc::new(without_values(&refused)));
                release.values = Err(refused);
                return;
            }
        };
        let (Some(name), Some(namespace)) = (name(&release.id, node), namespace(&release.id, node)) else {
            let why = "its name or namespace is known in the cluster only".to_owned();
            release.outcome = Some(Arc::new(ChartOutcome::Unable(why)));
            return;
        };
        let skips_schema = skips_schema(node);
        let wish = Wish {
            asked: request,
            values: &values,
            release: helm::ChartRelease {
                name,
                namespace: namespace.clone(),
                revision: 1,
                is_upgrade: false,
            },
            capabilities: &possible.likely,
            ends: &possible.ends,
            api_versions: &possible.api_versions,
            helm: self.settings.helm(),
            skips_schema,
        };
        let around = Around { stores: self.stores, snapshot: self.snapshot, trees };
        let rendering = self.known.charts.render(found, &wish, &around);
        let outcome = rendering.outcome.clone();
        release.assumed.extend(found.assumed.iter().chain(rendering.taken_in.iter()).cloned());
        release.rendering = Some(rendering);
        release.assumed.extend(values.unknown.iter().map(|unknown| format!("{unknown}, is not known here")));
        let outcome = match &*outcome {
            ChartOutcome::Rendered(made) => {
                release.assumed.extend(made.assumed.iter().cloned());
                self.apply(release, &outcome, made, &namespace).unwrap_or(outcome)
            }
            _ => outcome,
        };
        if let ChartOutcome::Refused(refusal) = &*outcome {
            release.assumed.extend(refusal.assumed.iter().cloned());
        }
        release.values = Ok(values);
        release.outcome = Some(outcome);
    }

    /// Puts in place what helm-controller applies of a chart's objects; what comes of it where it
    /// refuses them.
    fn apply(
        &self,
        release: &mut Release,
        outcome: &Arc<ChartOutcome>,
        made: &ChartObjects,
        namespace: &str,
    ) -> Option<Arc<ChartOutcome>> {
        let key = (Arc::as_ptr(outcome) as usize, release.node.address());
        let line = self.settings.helm().line;
        let known = self.known.applied.get(key, || KnownApplied {
            _of: (outcome.clone(), release.node.clone()),
            applied: objects::applied((&release.id, release.node.get_ref()), made, namespace, line),
        });
        match known.applied {
            Ok(Applied { objects, hooks }) => {
                (release.objects, release.hooks) = (objects, hooks);
                None
            }
            Err(outcome) => Some(outcome),
        }
    }
}

/// The bytes of the largest packed chart that one of these releases may mean, by its name.
pub(super) fn largest_chart(placed: &[PlacedObject], stores: &ChartStores) -> u64 {
    let releases = placed.iter().filter(|(id, ..)| kinds::is_helm_release(id));
    let names = releases.flat_map(|(_, built, ..)| {
        let node = built.node.get_ref();
        ["/spec/chart/spec/chart", "/spec/chartRef/name"].map(|pointer| node.str_at(pointer))
    });
    names.flatten().flat_map(|name| stores.named(&name).map(|chart| chart.size()).max()).max().unwrap_or(0)
}

/// The bytes of a release's packed chart.
fn size(release: &Release) -> u64 {
    match &release.chart {
        Ok(FoundChart { place: ChartPlace::Store(chart), .. }) => chart.size(),
        _ => 0,
    }
}

/// What finds the sources of a cluster that is grown on these.
pub(super) fn lookup_in(objects: &LocalObjects) -> impl Fn(&str, Option<&str>, &str) -> Option<Node> + Sync {
    |kind, namespace, name| objects.get(&Called::new(kind, namespace, name)).map(|(_, node)| node.clone())
}

/// What finds the trees of the sources of a cluster.
pub(super) fn trees_in<'s>(
    sources: &'s Sources<'s>,
    objects: &'s LocalObjects,
) -> impl Fn(&str, Option<&str>, &str, &str) -> Result<FileTree, String> + Sync + 's {
    move |kind, namespace, name, path| {
        sources.resolve(objects, &Called::new(kind, namespace, name), path).map(|found| found.tree)
    }
}

/// The releases of what no entry point names: their sources are looked for beside them,
/// then in all files.
pub(super) fn of_files(
    snapshot: &Arc<Snapshot>,
    placed: &[PlacedObject],
    stores: &ChartStores,
    known: &KnownReleases,
) -> Vec<Release> {
    let releases: Vec<&PlacedObject> = placed.iter().filter(|(id, ..)| kinds::is_helm_release(id)).collect();
    if releases.is_empty() {
        return Vec::new();
    }
    let mut beside: FxHashMap<Called, &Node> = FxHashMap::default();
    for (id, built, ..) in placed {
        beside.entry(id.called()).or_insert(&built.node);
    }
    let lookup = |kind: &str, namespace: Option<&str>, name: &str| {
        if let Some(node) = beside.get(&Called::new(kind, namespace, name)) {
            return Some((*node).clone());
        }
        let written = known.written.get_or_init(|| WrittenIndex::of(snapshot));
        let mut named = written.named(snapshot, (kind, namespace, name));
        let first = named.next()?;
        named.next().is_none().then(|| first.clone())
    };
    let trees = |kind: &str, _: Option<&str>, name: &str, path: &str| match snapshot.has_directory(path) {
        true if matches!(kind, "GitRepository" | "Bucket") => Ok(FileTree::root(snapshot.clone())),
        _ => Err(format!("nothing here says where the files of {kind} {name} are")),
    };
    let settings = Settings::default();
    let renderer = Renderer { known, stores, snapshot, settings: &settings, lookup: &lookup, trees: &trees };
    renderer.releases(&releases, &BTreeSet::new())
}

/// What comes of a release whose values can't be told.
fn without_values(refused: &values::NoValues) -> ChartOutcome {
    match refused {
        values::NoValues::Unknown(what) => ChartOutcome::Unable(format!("{what}: known in the cluster only")),
        values::NoValues::Fails(message, location) => {
            ChartOutcome::Refused(Box::new(NoRelease::new(message.clone(), location.clone())))
        }
    }
}

/// Whether an install or an upgrade passes over the chart's schema, or may.
fn skips_schema(node: NodeRef<'_>) -> bool {
    ["install", "upgrade"].iter().any(|action| {
        let pointer = format!("/spec/{action}/disableSchemaValidation");
        node.at(&pointer).is_some_and(|skips| skips.as_bool() != Some(false))
    })
}
