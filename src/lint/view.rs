//! What rules are shown, and what of it they looked at.
//!
//! A view gives what its rule is about: a file, an object, a cluster. What lies beyond
//! is behind a method that takes a note, so that [`super::memo`] knows which answers
//! of an earlier run still hold: those whose subject is the same and that never looked
//! elsewhere.

use super::alert_index::AlertIndex;
use super::by_hand::ByHand;
use super::finding::ChartFaults;
use super::metadata::{MetadataMap, metadata_maps};
use super::patches::{Applier, PatchOperation, UnappliedPatch};
use super::selectors::Selectors;
use super::unlisted::{Unlisted, unlisted};
use super::workloads::Workloads;
use super::{Rule, Suppressions, validity};
use crate::config::Config;
use crate::files::{Blob, File, Snapshot, Unreadable};
use crate::lang::text::Words;
use crate::lang::yaml::{Location, NodeRef, Source, Stream};
use crate::model::ObjectId;
use crate::model::references::{Reference, references};
use crate::simulate::suspend::{Suspension, suspension};
use crate::world::left_out::{LeftOut, Listings};
use crate::world::schemas::is_whole;
use crate::world::scripts::Scripts;
use crate::world::versions::Settings;
use crate::world::{Applied, ApplyTarget, Cluster, Effective, Member, UnseenMakerKind, World};
use jiff::Timestamp;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What every rule can see.
pub struct Context<'a> {
    /// The files and source objects.
    pub snapshot: &'a Snapshot,
    /// The clusters and effective objects.
    pub world: &'a World,
    /// The root's configuration.
    pub config: &'a Config,
    /// The time that was asked for; rules that depend on it are silent without.
    pub at: Option<Timestamp>,
    selectors: OnceLock<Selectors>,
    image_policies: OnceLock<ImagePolicies>,
    object_names: OnceLock<ObjectNames>,
    has_webhook_for_pods: OnceLock<bool>,
    by_hand: OnceLock<ByHand>,
    scripts: OnceLock<Scripts>,
    unlisted: OnceLock<Vec<Unlisted>>,
    listings: Mutex<Listings>,
    /// By where the Kustomization is.
    variables: Mutex<FxHashMap<usize, Arc<Words<String>>>>,
    /// Those of each effective object: a dozen rules ask for them.
    references: Vec<Vec<Reference<'a>>>,
}

impl<'a> Context<'a> {
    /// What rules can see of a repository.
    pub fn new(world: &'a World, config: &'a Config, at: Option<Timestamp>) -> Self {
        let of = |object: &'a Effective| references(&object.id, object.node.get_ref());
        let references = world.objects.par_iter().map(of).collect();
        let (selectors, image_policies, object_names) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let variables = Mutex::default();
        Context {
            snapshot: &world.snapshot,
            world,
            config,
            at,
            selectors,
            image_policies,
            object_names,
            has_webhook_for_pods: OnceLock::new(),
            by_hand: OnceLock::new(),
            scripts: OnceLock::new(),
            unlisted: OnceLock::new(),
            listings: Mutex::default(),
            variables,
            references,
        }
    }

    /// The ImagePolicies that the repository states. Looked up once, on first use.
    pub fn image_policies(&self) -> &ImagePolicies {
        self.image_policies.get_or_init(|| ImagePolicies::of(self.world))
    }

    /// Whether any file of the repository has an object of this group, kind and name, which
    /// [`without_blanks`] made. Looked up once, on first use.
    pub fn has_object(&self, group: &str, kind: &str, name: &str) -> bool {
        let names = self.object_names.get_or_init(|| {
            let mut names = ObjectNames::default();
            for object in self.snapshot.objects() {
                let id = &object.id;
                let of_kind = names.entry((id.group().to_owned(), id.kind.to_string())).or_default();
                of_kind.insert(without_blanks(&id.name));
            }
            names
        });
        names.get(&(group.to_owned(), kind.to_owned())).is_some_and(|names| names.contains(name))
    }

    /// Whether any file of the repository states a webhook that may change Pods. Looked up
    /// once, on first use.
    pub fn has_webhook_for_pods(&self) -> bool {
        *self.has_webhook_for_pods.get_or_init(|| {
            let objects = self.snapshot.objects().iter();
            objects.filter(|object| &*object.id.kind == "MutatingWebhookConfiguration").any(|object| {
                let webhooks = object.node.get_ref().items_at("/webhooks");
                webhooks.flat_map(|webhook| webhook.items_at("/rules")).any(|rule| {
                    rule.items_at("/resources")
                        .any(|name| matches!(name.text().as_deref(), Some("pods" | "*" | "*/*")))
                })
            })
        })
    }

    /// What is said beside the clusters. Looked up once, on first use.
    pub(crate) fn by_hand(&self) -> &ByHand {
        self.by_hand.get_or_init(|| ByHand::of(self.world))
    }

    /// The file with commands that names a file.
    pub(crate) fn script_that_names(&self, path: &str) -> Option<&str> {
        self.scripts.get_or_init(|| Scripts::of(self.snapshot)).that_names(self.snapshot, path)
    }

    /// The files that their kustomizations leave out. Looked up once, on first use.
    pub(crate) fn unlisted(&self) -> &[Unlisted] {
        self.unlisted.get_or_init(|| unlisted(self.world, self.by_hand()))
    }

    /// The kustomization that leaves out a file which no cluster applies.
    pub(crate) fn left_out(&self, path: &str) -> Option<LeftOut> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner).left_out(self.snapshot, path)
    }

    /// The variables that a Kustomization of this world states, any of which each of its
    /// objects may misspell.
    fn variables(&self, applied: &'a Applied) -> Arc<Words<String>> {
        let mut known = self.variables.lock().unwrap_or_else(PoisonError::into_inner);
        let stated = || {
            let entries = applied.node.get_ref().entries_at("/spec/postBuild/substitute");
            Arc::new(entries.map(|entry| entry.key.into_owned()).collect())
        };
        known.entry(std::ptr::from_ref(applied).addr()).or_insert_with(stated).clone()
    }

    /// The references of an object of a cluster.
    pub fn references(&self, member: &Member) -> &[Reference<'a>] {
        &self.references[member.object as usize]
    }

    /// Whether something in the repository selects objects by this label or
    /// annotation key, or names it in a text. Looked up once, on first use.
    pub fn is_selected(&self, key: &str) -> bool {
        self.selectors.get_or_init(|| Selectors::collect(self.snapshot)).name(key)
    }
}

/// The names of a repository's objects, by group and kind.
type ObjectNames = FxHashMap<(String, String), FxHashSet<String>>;

/// A name without the blanks that clusterctl takes in `${ NAME }`.
/// Source: cluster-api `cmd/clusterctl/client/yamlprocessor/simple_processor.go`.
pub(crate) fn without_blanks(name: &str) -> String {
    name.replace("${ ", "${").replace(" }", "}")
}

/// The ImagePolicies of a repository, in its clusters and beside them.
#[derive(Debug, Default)]
pub struct ImagePolicies {
    /// Name and namespace; no namespace where none is written.
    known: BTreeSet<(String, Option<String>)>,
    /// Whether there may be others: a name or a namespace has an unknown part, or
    /// something of a cluster can hold policies that are not seen.
    open: bool,
    /// The names of a namespace.
    names: FxHashMap<String, Words<String>>,
}

impl ImagePolicies {
    fn of(world: &World) -> ImagePolicies {
        const GROUP: &str = "image.toolkit.fluxcd.io";
        const KIND: &str = "ImagePolicy";
        let orphans = world.orphans().map(|object| &object.id);
        let mut policies = ImagePolicies::default();
        for id in world.objects.iter().map(|object| &object.id).chain(orphans) {
            if !id.is(GROUP, KIND) {
                continue;
            }
            let namespace = id.namespace.as_deref();
            let unknown = |text: &str| text.contains("${") || text.contains('?');
            policies.open |= unknown(&id.name) || namespace.is_some_and(unknown);
            policies.known.insert((id.name.to_string(), namespace.map(str::to_owned)));
        }
        let namespaces: BTreeSet<Option<&str>> =
            policies.known.iter().map(|(_, namespace)| namespace.as_deref()).collect();
        let names_of = |namespace: &str| {
            let known = policies.known.iter().filter(|(_, place)| place.as_deref() == Some(namespace));
            (namespace.to_owned(), known.map(|(name, _)| name.clone()).collect())
        };
        policies.names = namespaces.iter().flatten().map(|namespace| names_of(namespace)).collect();
        let named = || world.clusters.iter().filter(|cluster| cluster.name.is_some());
        policies.open |= named()
            .any(|cluster| namespaces.iter().any(|namespace| !cluster.is_complete(GROUP, KIND, *namespace)));
        policies
    }

    /// Whether it has this one.
    pub fn has(&self, namespace: &str, name: &str) -> bool {
        let in_namespace = |place: &Option<String>| place.as_deref().is_none_or(|known| known == namespace);
        self.named(name).any(|(_, place)| in_namespace(place))
    }

    /// Those of a name, in the order of their namespaces.
    fn named<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p (String, Option<String>)> {
        self.known.range((name.to_owned(), None)..).take_while(move |(known, _)| known == name)
    }

    /// Whether a policy of this namespace would be seen here: others of it are, and
    /// nothing may hold more.
    pub fn is_complete(&self, namespace: &str) -> bool {
        !self.open && self.known.iter().any(|(_, place)| place.as_deref() == Some(namespace))
    }

    /// The one that may have been meant, as a marker names it: the same name in
    /// another namespace, or one of the namespace with a name like it.
    pub fn like(&self, namespace: &str, name: &str) -> Option<String> {
        let elsewhere = self.named(name).next();
        let near = || self.names.get(namespace)?.nearest(name);
        match elsewhere {
            Some((name, Some(other))) => Some(format!("{other}:{name}")),
            _ => near().map(|near| format!("{namespace}:{near}")),
        }
    }
}

/// What a rule looked at beside its subject.
#[derive(Debug, Default)]
pub(super) struct ReadSet {
    beyond: Cell<bool>,
    keys: RefCell<Vec<(String, bool)>>,
}

impl ReadSet {
    /// Whether the rule looked beyond its subject; forgotten with that.
    pub(super) fn take_beyond(&self) -> bool {
        self.beyond.take()
    }

    /// The keys that it asked about, with the answers; forgotten with that.
    pub(super) fn take_keys(&self) -> Vec<(String, bool)> {
        self.keys.take()
    }

    fn is_selected(&self, context: &Context<'_>, key: &str) -> bool {
        let answer = context.is_selected(key);
        self.keys.borrow_mut().push((key.to_owned(), answer));
        answer
    }
}

/// A manifest file for [`super::Check::Document`]. Templates are not shown to rules.
pub struct DocumentView<'a> {
    context: &'a Context<'a>,
    pub file: &'a File,
    /// Its documents; empty where it can't be decoded.
    pub sources: &'a [Arc<Source>],
    pub(super) looks: ReadSet,
}

impl<'a> DocumentView<'a> {
    /// A file of a repository.
    pub fn new(context: &'a Context<'a>, file: &'a File) -> Self {
        let sources = context.snapshot.sources(file);
        DocumentView { context, file, sources, looks: ReadSet::default() }
    }

    /// Its content.
    ///
    /// # Errors
    /// It can't be read.
    pub fn blob(&self) -> Result<&'a Arc<Blob>, &'a Unreadable> {
        self.context.snapshot.blob(self.file)
    }

    /// Its text, when it is readable text.
    pub fn stream(&self) -> Option<&'a Arc<Stream>> {
        self.context.snapshot.stream(self.file)
    }

    /// All there is. A rule that asks is run again whenever anything changes.
    pub fn beyond(&self) -> &'a Context<'a> {
        self.looks.beyond.set(true);
        self.context
    }
}

/// An object for [`super::Check::Object`].
pub struct ObjectView<'a> {
    context: &'a Context<'a>,
    pub id: &'a ObjectId,
    /// Its root: the effective one, or the source of an orphan.
    pub node: NodeRef<'a>,
    /// The effective object; `None` for an orphan.
    pub effective: Option<&'a Effective>,
    /// Who applies it, where that is no Kustomization.
    pub(crate) applier: Applier,
    /// The operation of a JSON patch that states it.
    pub(crate) operation: Option<&'a PatchOperation>,
    metadata: OnceCell<Vec<MetadataMap<'a>>>,
    faults: OnceCell<validity::Verdict<'a>>,
    pub(super) looks: ReadSet,
}

impl<'a> ObjectView<'a> {
    /// An effective object, or an orphan.
    pub fn new(
        context: &'a Context<'a>,
        id: &'a ObjectId,
        node: NodeRef<'a>,
        effective: Option<&'a Effective>,
    ) -> Self {
        let (metadata, faults) = (OnceCell::new(), OnceCell::new());
        let (applier, looks) = (Applier::default(), ReadSet::default());
        ObjectView { context, id, node, effective, applier, operation: None, metadata, faults, looks }
    }

    /// The same, which a patch states.
    pub(super) fn of(self, patch: &'a UnappliedPatch) -> Self {
        ObjectView { applier: patch.applier, operation: patch.operation.as_ref(), ..self }
    }

    /// The same, applied by another one.
    pub(super) fn by(self, applier: Applier) -> Self {
        ObjectView { applier, ..self }
    }

    /// Its label and annotation maps, its own first, then those that it hands down.
    pub fn metadata(&self) -> &[MetadataMap<'a>] {
        self.metadata.get_or_init(|| metadata_maps(self.id, self.node))
    }

    /// What the API servers of its clusters make of it.
    pub fn verdict(&self) -> &validity::Verdict<'a> {
        self.faults.get_or_init(|| validity::judge(self, self.context))
    }

    /// The clusters that hold it, with its membership. Of a cluster nothing is to be
    /// read but what [`super::memo`] compares: its name, certainty and settings.
    pub fn memberships(&self) -> impl Iterator<Item = (&'a Cluster, &'a Member)> {
        let world = self.context.world;
        self.effective.into_iter().flat_map(|object| &object.members).map(move |(cluster, member)| {
            let cluster = &world.clusters[*cluster as usize];
            (cluster, &cluster.members[*member as usize])
        })
    }

    /// The Flux Kustomizations that apply it; none for orphans, loose objects
    /// and overlays of a repository without entry points.
    pub fn appliers(&self) -> impl Iterator<Item = (&'a Cluster, &'a Applied)> {
        self.memberships().filter(|(cluster, _)| cluster.name.is_some()).filter_map(|(cluster, member)| {
            Some((cluster, &cluster.applied[member.maker.kustomization()? as usize]))
        })
    }

    /// Whether it reaches a cluster through a build (kustomize re-emits values).
    pub fn is_built(&self) -> bool {
        self.memberships().any(|(_, member)| member.maker.kustomization().is_some())
    }

    /// Whether all of it is known: each build that makes it is one of which nothing is left
    /// out.
    pub(crate) fn is_whole(&self) -> bool {
        self.memberships().all(|(cluster, member)| is_whole(cluster, member))
    }

    /// Settings of the clusters that hold it; rules that depend on a version
    /// must hold for all of them.
    pub fn settings(&self) -> impl Iterator<Item = &'a Settings> {
        self.memberships().map(|(cluster, _)| &cluster.settings)
    }

    /// See [`Context::is_selected`].
    pub fn is_selected(&self, key: &str) -> bool {
        self.looks.is_selected(self.context, key)
    }

    /// The variables that a Kustomization that applies it states.
    pub(crate) fn variables(&self, applied: &'a Applied) -> Arc<Words<String>> {
        self.context.variables(applied)
    }

    /// All there is. A rule that asks is run again whenever anything changes.
    pub fn beyond(&self) -> &'a Context<'a> {
        self.looks.beyond.set(true);
        self.context
    }
}

/// A cluster for [`super::Check::Cluster`].
pub struct ClusterView<'a> {
    context: &'a Context<'a>,
    pub cluster: &'a Cluster,
    /// See [`ClusterView::alert_index`].
    alert_index: OnceCell<Option<AlertIndex<'a>>>,
    /// See [`ClusterView::suspendable`].
    suspendable: OnceCell<Vec<(&'a Effective, Suspension<'a>)>>,
    /// See [`ClusterView::workloads`].
    workloads: OnceCell<Workloads<'a>>,
    pub(super) looks: ReadSet,
}

impl<'a> ClusterView<'a> {
    /// A cluster of a repository.
    pub fn new(context: &'a Context<'a>, cluster: &'a Cluster) -> Self {
        ClusterView {
            context,
            cluster,
            alert_index: OnceCell::new(),
            suspendable: OnceCell::new(),
            workloads: OnceCell::new(),
            looks: ReadSet::default(),
        }
    }

    /// Its objects with their membership.
    pub fn members(&self) -> impl Iterator<Item = (&'a Member, &'a Effective)> + use<'a> {
        self.context.world.members(self.cluster)
    }

    /// Those that files hold: all but what charts make.
    pub fn written(&self) -> impl Iterator<Item = (&'a Member, &'a Effective)> + use<'a> {
        self.context.world.written(self.cluster)
    }

    /// Its objects of a group and kind.
    pub fn of_kind<'k>(
        &self,
        group: &'k str,
        kind: &'k str,
    ) -> impl Iterator<Item = (&'a Member, &'a Effective)> + use<'a, 'k> {
        self.written().filter(move |(_, object)| object.id.is(group, kind))
    }

    /// Its alerts and the objects whose events they may get; `None` without alerts.
    pub(super) fn alert_index(&self) -> Option<&AlertIndex<'a>> {
        // Where an entry point is only guessed, what lies beside the builds counts.
        if self.cluster.openers.iter().any(|opener| opener.cause == UnseenMakerKind::NoEntry) {
            self.looks.beyond.set(true);
        }
        self.alert_index.get_or_init(|| AlertIndex::of(self.context.world, self.cluster)).as_ref()
    }

    /// Its objects that can be suspended, each with what it says of that.
    pub(super) fn suspendable(&self) -> &[(&'a Effective, Suspension<'a>)] {
        self.suspendable.get_or_init(|| {
            let local = self.written().filter(|(member, _)| member.target == ApplyTarget::Local);
            local
                .filter_map(|(_, object)| {
                    Some((object, suspension(&object.id, object.node.get_ref(), &self.cluster.settings)?))
                })
                .collect()
        })
    }

    /// What its workloads refer to, and what could be meant. It looks at the orphans too.
    pub(super) fn workloads(&self) -> &Workloads<'a> {
        self.looks.beyond.set(true);
        self.workloads.get_or_init(|| Workloads::of(self.context.world, self.cluster))
    }

    /// The object of one of its members.
    pub fn object(&self, member: &Member) -> &'a Effective {
        self.context.world.object(member.object)
    }

    /// The references of the object of one of its members.
    pub fn references(&self, member: &Member) -> &'a [Reference<'a>] {
        self.context.references(member)
    }

    /// See [`Context::is_selected`].
    pub fn is_selected(&self, key: &str) -> bool {
        self.looks.is_selected(self.context, key)
    }

    /// The root's configuration.
    pub fn config(&self) -> &'a Config {
        self.context.config
    }

    /// Whether the repository has an entry point.
    pub fn has_entry(&self) -> bool {
        self.context.world.has_entry
    }

    /// The world, for what takes it along with the cluster to find the cluster's own
    /// objects. Of anything else in it, see [`ClusterView::beyond`].
    pub fn world(&self) -> &'a World {
        self.context.world
    }

    /// All there is. A rule that asks is run again whenever anything changes.
    pub fn beyond(&self) -> &'a Context<'a> {
        self.looks.beyond.set(true);
        self.context
    }
}

/// Two snapshots for [`super::Check::Change`]; findings are about the head.
pub struct ChangeView<'a> {
    /// Before the change.
    pub base: &'a Context<'a>,
    /// After it.
    pub head: &'a Context<'a>,
}

/// A run for [`super::Check::Run`], after all other rules.
pub struct RunView<'a> {
    /// What every rule can see.
    pub context: &'a Context<'a>,
    /// The suppressions, which know whether they were used.
    pub suppressions: &'a Suppressions,
    /// The rules that ran.
    pub rules: &'a [&'static Rule],
    /// Whether only some PATHs were asked for.
    pub is_focused: bool,
    /// Whether everything of every cluster could be built.
    pub is_complete: bool,
    /// What charts alone are to blame for, where the releases name them.
    pub of_charts: &'a [(Location, ChartFaults)],
}
