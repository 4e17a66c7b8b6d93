//! Effects between two snapshots: what a change will do in the clusters.
//!
//! Clusters are compared by name, objects by identity on the effective view,
//! over resolved content: reformatting, moving files and comments are nothing.
//! Each room of effects has a file: `builds`, `objects`, `suspend`,
//! `gates`, `events`, `waits`; Machines and hooks come from
//! [`crate::simulate::cluster_api::machines`].

mod builds;
mod causes;
mod chart_values;
mod class;
mod equal;
mod events;
mod fate;
mod fields;
mod gates;
mod held;
mod hidden;
mod machines;
mod moves;
mod objects;
mod operator;
mod reach;
mod refused;
mod release_words;
mod released;
mod releases;
mod removal;
mod rendered;
mod restarts;
mod suspend;
mod unknowns;
mod upgrade;
mod validity;
mod waits;

pub(crate) use builds::failing_on_both_sides;
pub(crate) use fields::{FieldChange, compare};
pub(crate) use moves::{Takeover, replacements, takeovers};
pub(crate) use reach::Reach;
pub use reach::reach;
pub(crate) use release_words::{image_step, image_words, is_by_label_only, is_version_label, step};
pub(crate) use removal::counted_kinds;
pub use upgrade::{ClusterChange, Note, Upgrade, behaviours};

use crate::lang::yaml::{FilePath, Known, Location};
use crate::lint::Finding;
use crate::model::kinds::SOURCE;
use crate::model::value::to_json;
use crate::model::{Category, EffectKind, Maker, Name, ObjectId, Severity};
use crate::simulate::cluster_api::hooks::mutation::{NOTHING_STATED, Responses};
use crate::simulate::relations::Relations;
use crate::world::{Applied, ApplyTarget, Cluster, Effective, Form, ResourceSet, World};
use rustc_hash::FxHashSet;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// One consequence of a change.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The cluster; `None` without entry points.
    pub cluster: Option<Arc<str>>,
    /// What happens.
    pub effect: EffectKind,
    /// How bad it is.
    pub severity: Severity,
    /// The object that it happens to.
    pub object: ObjectId,
    /// The apply target of the object.
    pub target: ApplyTarget,
    /// JSON Pointer of the field that decides; empty for the whole object.
    pub field: String,
    /// Value before; null when absent.
    pub before: Value,
    /// Value after; null when absent.
    pub after: Value,
    /// Why, in a phrase.
    pub reason: String,
    /// Set where it does not happen with this change. Such effects don't count.
    pub when: Option<Later>,
    /// What follows, for an approver.
    pub consequences: Vec<String>,
    /// Figures and lists for programs.
    pub details: Map<String, Value>,
    /// Where the change is written.
    pub causes: Vec<Cause>,
}

/// What an effect waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Later {
    /// A source that tracks another ref of this repository moves: `v1.*`.
    Ref(String),
    /// Somebody bootstraps Flux again: nothing that it applies holds the change.
    Bootstrap,
}

impl Later {
    /// The name in JSON: the ref, or the command.
    pub fn name(&self) -> &str {
        match self {
            Later::Ref(tracked) => tracked,
            Later::Bootstrap => "flux bootstrap",
        }
    }

    /// When it happens, as a clause.
    pub fn words(&self) -> String {
        match self {
            Later::Ref(tracked) => format!("when `{tracked}` moves"),
            Later::Bootstrap => {
                "when `flux bootstrap` is run again: no Kustomization applies this file".to_owned()
            }
        }
    }
}

/// Where a change is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    pub location: Location,
    /// Which snapshot they are in.
    pub side: Side,
}

/// One of the two snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// Before the change.
    Base,
    /// After it.
    Head,
}

impl Side {
    /// The word in output.
    pub fn name(self) -> &'static str {
        match self {
            Side::Base => "base",
            Side::Head => "head",
        }
    }
}

impl Effect {
    /// An effect as bad as its kind is, without a field; fill in what is known.
    pub fn new(pair: &Pair<'_>, effect: EffectKind, object: &ObjectId) -> Effect {
        Effect {
            cluster: pair.name.clone(),
            effect,
            severity: effect.severity(),
            object: object.clone(),
            target: ApplyTarget::Local,
            field: String::new(),
            before: Value::Null,
            after: Value::Null,
            reason: String::new(),
            when: None,
            consequences: Vec::new(),
            details: Map::new(),
            causes: Vec::new(),
        }
    }

    /// Its family.
    pub fn category(&self) -> Category {
        self.effect.category()
    }

    /// The same, caused here.
    #[must_use]
    pub fn at(mut self, side: Side, location: Option<Location>) -> Effect {
        self.causes.extend(location.map(|location| Cause { location, side }));
        self
    }

    /// The same, with a consequence.
    #[must_use]
    pub fn then(mut self, consequence: impl Into<String>) -> Effect {
        self.consequences.push(consequence.into());
        self
    }

    /// What identifies it across runs: 16 hexadecimal digits.
    pub fn id(&self) -> String {
        let mut hasher = Sha256::new();
        let namespace = self.object.namespace.as_deref().unwrap_or("");
        let target = match &self.target {
            ApplyTarget::Local => "",
            ApplyTarget::Remote(name) => name,
        };
        let cluster = self.cluster.as_deref().unwrap_or("");
        let group = self.object.group();
        for part in [
            cluster,
            self.category().name(),
            self.effect.name(),
            group,
            &self.object.kind,
            namespace,
            &self.object.name,
            target,
            &self.field,
        ] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// One cluster before and after.
pub struct Pair<'w> {
    pub name: Option<Arc<str>>,
    /// The repository before.
    pub base_world: &'w World,
    /// The repository after.
    pub head_world: &'w World,
    /// The cluster before; `None` for a new one.
    pub base: Option<&'w Cluster>,
    /// The cluster after; `None` for one that is gone.
    pub head: Option<&'w Cluster>,
    /// Its objects before.
    pub(crate) before: Objects<'w>,
    /// Its objects after.
    pub(crate) after: Objects<'w>,
    /// Both, in the order of their identities.
    sides: Vec<TwoSides<'w>>,
    /// What charts make on both sides.
    rendered: rendered::Rendered<'w>,
    /// Kustomizations after the change that leave their objects alone.
    standstills: Vec<builds::StalledKustomization<'w>>,
    /// Kustomizations whose builds failed before the change.
    failed_before: BTreeSet<&'w ObjectId>,
    /// Those of them that build now.
    repaired: BTreeSet<&'w ObjectId>,
    /// What its objects have to do with each other after the change.
    relations: Option<Relations<'w>>,
    /// ResourceSets after the change whose inputs are all known.
    complete_sets: FxHashSet<&'w ObjectId>,
}

/// An identity, and the object of it before and after.
type TwoSides<'w> = (Key<'w>, Option<Placed<'w>>, Option<Placed<'w>>);

/// An object before and after, where it is there.
pub(crate) type Sides<'p, 'w> = (&'p Key<'w>, Option<&'p Placed<'w>>, Option<&'p Placed<'w>>);

impl<'w> Pair<'w> {
    /// All objects, in the order of their identities.
    pub(crate) fn sides(&self) -> impl Iterator<Item = Sides<'_, 'w>> {
        self.sides.iter().map(|(key, before, after)| (key, before.as_ref(), after.as_ref()))
    }

    /// Those that are there before and after.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (&Key<'w>, &Placed<'w>, &Placed<'w>)> {
        self.sides().filter_map(|(key, before, after)| Some((key, before?, after?)))
    }
}

impl Pair<'_> {
    /// Whether the object of an effect stays as it is: `after` has that of the base.
    fn stays(&self, effect: &Effect) -> bool {
        let key = key_of(effect);
        self.standstills.iter().any(|standstill| standstill.keeps(&key))
    }

    /// What an effect waits for.
    fn when(&self, effect: &Effect) -> Option<Later> {
        let of_bootstrap =
            || (self.waits_for_root(effect) || self.of_bootstrap(effect)).then_some(Later::Bootstrap);
        self.tracked(effect).map(Later::Ref).or_else(of_bootstrap)
    }

    /// Whether an effect comes of a root that applies another directory once bootstrap says so:
    /// none of the base's Kustomizations applies the file that states it, so the cluster's root
    /// stays what it is. What Kustomizations of both sides apply goes on as ever.
    fn waits_for_root(&self, effect: &Effect) -> bool {
        let Some(base) = self.base.filter(|base| base.bootstrapped.is_some()) else { return false };
        let path = |world| builds::root_path(base, world).map(|(path, _)| path);
        if path(self.base_world) == path(self.head_world) {
            return false;
        }
        let key = key_of(effect);
        let by =
            self.after.get(&key).or_else(|| self.before.get(&key)).and_then(|placed| placed.kustomization);
        let stays = |cluster: &Cluster, id: &ObjectId| {
            cluster.applied(id.namespace.as_deref(), &id.name).is_some_and(|applied| applied.parent.is_some())
        };
        !by.is_some_and(|by| stays(base, &by.id) && self.head.is_some_and(|head| stays(head, &by.id)))
    }

    /// The ref of this repository that has to move before an effect happens.
    fn tracked(&self, effect: &Effect) -> Option<String> {
        let key = key_of(effect);
        let after = self.after.get(&key).filter(|_| !self.stays(effect));
        let (world, cluster, placed) = match (after, self.before.get(&key)) {
            (Some(placed), _) => (self.head_world, self.head?, placed),
            (None, placed) => (self.base_world, self.base?, placed?),
        };
        let mut by = placed.kustomization;
        // A Kustomization may apply itself.
        for _ in 0..64 {
            let applied = by?;
            if applied.later {
                return Some(tracked_ref(world, cluster, applied));
            }
            by = applied.parent.map(|index| &cluster.applied[index as usize]);
        }
        None
    }

    /// Whether all of its causes lie with a gotk-sync.yaml, in files that no Kustomization
    /// reads.
    fn of_bootstrap(&self, effect: &Effect) -> bool {
        let is_bootstraps = |cause: &Cause| {
            let (Some(base), Some(head)) = (self.base, self.head) else { return false };
            let cluster = if cause.side == Side::Base { base } else { head };
            is_of_bootstrap(cluster, &cause.location)
        };
        // Bootstrap deletes nothing.
        let is_there = self.after.contains_key(&key_of(effect));
        is_there && !effect.causes.is_empty() && effect.causes.iter().all(is_bootstraps)
    }
}

/// The directory that only bootstrap applied, and the gotk-sync.yaml in it.
fn bootstrapped(cluster: &Cluster) -> Option<(&str, &FilePath)> {
    let sync = cluster.bootstrapped.as_ref()?;
    let (directory, _) = sync.shown().rsplit_once('/')?;
    Some((directory, sync))
}

/// Whether a place lies in the directory that only bootstrap applied, in a file that no
/// Kustomization reads.
pub(crate) fn is_of_bootstrap(cluster: &Cluster, place: &Location) -> bool {
    let Some((directory, sync)) = bootstrapped(cluster) else { return false };
    let rest = place.file.shown().strip_prefix(directory);
    rest.is_some_and(|rest| rest.starts_with('/'))
        && place.file.tree() == sync.tree()
        && !cluster.applied.iter().any(|applied| applied.files_read.contains(&place.file))
}

/// What the source of a Kustomization tracks: `v1.*`, or the source's name.
fn tracked_ref(world: &World, cluster: &Cluster, applied: &Applied) -> String {
    let node = applied.node.get_ref();
    let text = |field: &str| node.str_at(&format!("/spec/sourceRef/{field}"));
    let (kind, name) = (text("kind").unwrap_or_default(), text("name").unwrap_or_default());
    let namespace = text("namespace");
    let namespace = namespace.as_deref().or(applied.id.namespace.as_deref());
    let source = cluster.find(&ApplyTarget::Local, Name::new(SOURCE, &kind, namespace, &name));
    source
        .and_then(|member| {
            let node = world.object(member.object).node.get_ref();
            // In the order in which source-controller prefers them.
            ["commit", "name", "digest", "semver", "tag", "branch"]
                .iter()
                .find_map(|field| node.str_at(&format!("/spec/ref/{field}")))
                .map(|text| text.into_owned())
        })
        .unwrap_or_else(|| format!("{kind} {name}"))
}

/// Findings that the head has and the base has not (or the reverse, with the
/// two exchanged), told apart by fingerprint and count.
pub fn only_in<'f>(here: &'f [Finding], there: &[Finding]) -> Vec<&'f Finding> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for finding in there {
        *known.entry(finding.fingerprint.clone()).or_default() += 1;
    }
    here.iter()
        .filter(|finding| match known.get_mut(&finding.fingerprint) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => true,
        })
        .collect()
}

/// Whether a finding of one world could have been made in the other one: not where
/// all its objects come from builds that fail there.
pub(crate) fn comparable(here: &World, there: &World) -> impl Fn(&&Finding) -> bool {
    let mut hidden: BTreeSet<ObjectId> = BTreeSet::new();
    for cluster in &here.clusters {
        let Some(other) = there.clusters.iter().find(|other| other.name == cluster.name) else { continue };
        let failing = builds::failing(there, other);
        if failing.is_empty() {
            continue;
        }
        let inside = here.written(cluster).filter(|(member, _)| {
            let by = member.maker.kustomization().map(|index| &cluster.applied[index as usize].id);
            by.is_some_and(|by| failing.contains(by))
        });
        hidden.extend(inside.map(|(_, object)| object.id.clone()));
    }
    move |finding| {
        hidden.is_empty()
            || finding.objects.is_empty()
            || !finding.objects.iter().all(|object| hidden.contains(object))
    }
}

/// All effects, the worst first within each cluster, clusters by name.
pub fn plan(base: &World, head: &World) -> Vec<Effect> {
    planned(base, head).effects
}

/// What a change does.
#[derive(Clone, Debug, Default)]
pub struct Planned {
    /// The effects on objects, the worst first within each cluster, clusters by name.
    pub effects: Vec<Effect>,
    /// What concerns whole clusters, by name.
    pub changes: Vec<ClusterChange>,
}

/// What a change does to objects, and to whole clusters.
pub fn planned(base: &World, head: &World) -> Planned {
    planned_under(base, head, &NOTHING_STATED)
}

/// The same, where extensions of Cluster API are stated to answer something.
pub(crate) fn planned_under(base: &World, head: &World, responses: &Responses) -> Planned {
    let (mut effects, mut cluster_changes) = (Vec::new(), Vec::new());
    let changes = causes::Changes::between(base, head);
    for pair in pairs(base, head) {
        let machines = machines::effects(&pair, responses);
        let mut own = objects::effects(&pair, &machines::MachineFields::by(&machines));
        own.extend(suspend::effects(&pair));
        own.extend(gates::effects(&pair));
        own.extend(events::effects(&pair));
        own.extend(waits::effects(&pair));
        own.extend(unknowns::effects(&pair));
        own.extend(upgrade::effects(&pair));
        cluster_changes.extend(upgrade::changes(&pair));
        own.extend(machines);
        own.retain(|effect| !pair.stays(effect));
        operator::root_deleted(&pair, &mut own);
        held::apply(&pair, &mut own);
        own.extend(builds::effects(&pair));
        causes::settle(&pair, &changes, &mut own);
        for effect in &mut own {
            effect.when = pair.when(effect);
        }
        let inside = rendered::effects(&pair, &changes, &mut own);
        own.extend(inside);
        restarts::tell(&pair, &mut own);
        hidden::conceal(&pair, &mut own);
        own.sort_by(|a, b| {
            (a.when.is_some(), b.severity)
                .cmp(&(b.when.is_some(), a.severity))
                .then_with(|| a.object.cmp(&b.object))
                .then_with(|| a.category().name().cmp(b.category().name()))
                .then_with(|| a.effect.name().cmp(b.effect.name()))
                .then_with(|| a.field.cmp(&b.field))
        });
        effects.append(&mut own);
    }
    Planned { effects, changes: cluster_changes }
}

/// A cluster in the base and in the head.
type Both<'w> = (Option<&'w Cluster>, Option<&'w Cluster>);

/// The clusters of both worlds, each with its name.
fn clusters_of_both<'w>(base_world: &'w World, head_world: &'w World) -> Vec<(Option<Arc<str>>, Both<'w>)> {
    let mut pairs: BTreeMap<(Option<Arc<str>>, &str), Both<'w>> = BTreeMap::new();
    // Nameless clusters (overlays without an entry point) pair by their path.
    fn key(cluster: &Cluster) -> (Option<Arc<str>>, &str) {
        (cluster.name.clone(), if cluster.name.is_some() { "" } else { &cluster.root })
    }
    // What is read without an entry point is nothing that a cluster gains or loses
    // when the first comes or the last goes.
    let compared =
        |cluster: &&Cluster| cluster.name.is_some() || !(base_world.has_entry || head_world.has_entry);
    for cluster in base_world.clusters.iter().filter(compared) {
        pairs.entry(key(cluster)).or_default().0 = Some(cluster);
    }
    for cluster in head_world.clusters.iter().filter(compared) {
        pairs.entry(key(cluster)).or_default().1 = Some(cluster);
    }
    // A cluster whose name changed, as when a second one of that name came, is
    // still the one that applies this directory.
    join(&mut pairs, |cluster| Some(&cluster.root));
    // So is one whose root applies another directory: the same Kustomization of the same file.
    // The configuration of forebay has no say in what a cluster applies.
    join(&mut pairs, |cluster| {
        let form = cluster.form.filter(|form| *form != Form::Config)?;
        Some((form, &cluster.location.as_ref()?.file, &cluster.applied.first()?.id))
    });
    pairs.into_iter().map(|((name, _), sides)| (name, sides)).collect()
}

/// The names of the clusters of both worlds, in order: of one that is called otherwise now, as
/// the head calls it.
pub(crate) fn cluster_names(base: &World, head: &World) -> BTreeSet<Arc<str>> {
    clusters_of_both(base, head).into_iter().filter_map(|(name, _)| name).collect()
}

/// Names of clusters as the plan calls them: of one that only the base has and that is called
/// otherwise now, that.
pub(crate) fn names_now(base: &World, head: &World, names: &[String]) -> Vec<String> {
    let both = clusters_of_both(base, head);
    let now = |name: &String| {
        let is_it = |(_, sides): &&(Option<Arc<str>>, Both<'_>)| {
            sides.0.is_some_and(|base| base.name.as_deref() == Some(name))
        };
        let is_there = both.iter().any(|(own, _)| own.as_deref() == Some(name));
        let other = both.iter().find(is_it).filter(|_| !is_there);
        other.and_then(|(own, _)| own.as_deref()).unwrap_or(name).to_owned()
    };
    names.iter().map(now).collect()
}

/// Makes one of a cluster that only the base has and one that only the head has, where what
/// tells them apart is the same and no other's.
fn join<'w, K: Ord + Clone, T: Ord>(
    pairs: &mut BTreeMap<K, Both<'w>>,
    told_by: impl Fn(&'w Cluster) -> Option<T>,
) {
    let mut alike: BTreeMap<T, [Vec<K>; 2]> = BTreeMap::new();
    for (key, sides) in pairs.iter() {
        let (cluster, side) = match *sides {
            (Some(base), None) => (base, 0),
            (None, Some(head)) => (head, 1),
            _ => continue,
        };
        if let Some(told_by) = told_by(cluster) {
            alike.entry(told_by).or_default()[side].push(key.clone());
        }
    }
    for [old, new] in alike.into_values() {
        let ([old], [new]) = (&*old, &*new) else { continue };
        let base = pairs.remove(old).and_then(|sides| sides.0);
        pairs.entry(new.clone()).or_default().0 = base;
    }
}

fn pairs<'w>(base_world: &'w World, head_world: &'w World) -> Vec<Pair<'w>> {
    clusters_of_both(base_world, head_world)
        .into_iter()
        .map(|(name, (base, head))| {
            let (before, mut after) = one_each(&placed(base_world, base), &placed(head_world, head));
            let standstills = builds::keep((base_world, base), head_world, head, &before, &mut after);
            let failed_before = base.map(|base| builds::failing(base_world, base)).unwrap_or_default();
            let repaired = builds::repaired_ones(&failed_before, &standstills, head);
            let rendered = rendered::Rendered::of((base_world, base), (head_world, head), [&before, &after]);
            Pair {
                name,
                base_world,
                head_world,
                base,
                head,
                sides: both(&before, &after),
                before,
                after,
                rendered,
                standstills,
                failed_before,
                repaired,
                relations: head.map(|head| Relations::new(head_world, head)),
                complete_sets: complete_sets(head),
            }
        })
        .collect()
}

/// Identity of an object on a target, without its API version.
pub(crate) type Key<'w> = (&'w ApplyTarget, Name<'w>);

/// The identity of the object that an effect happens to.
fn key_of(effect: &Effect) -> Key<'_> {
    (&effect.target, effect.object.named())
}

/// An object of one side with the Flux Kustomization that applies it.
#[derive(Clone, Copy)]
pub(crate) struct Placed<'w> {
    pub object: &'w Effective,
    /// Where it is applied.
    pub target: &'w ApplyTarget,
    /// Who applies it, unless it is a root.
    pub kustomization: Option<&'w Applied>,
    /// The ResourceSet that applies it.
    pub set: Option<&'w ResourceSet>,
}

/// An object and its identity.
type Keyed<'w> = (Key<'w>, Placed<'w>);

/// Objects of a cluster by identity.
pub(crate) type Objects<'w> = BTreeMap<Key<'w>, Placed<'w>>;

/// The objects of both sides, in the order of their identities.
fn both<'w>(before: &Objects<'w>, after: &Objects<'w>) -> Vec<TwoSides<'w>> {
    let mut all = Vec::with_capacity(before.len().max(after.len()));
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return all,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some((one, _)), Some((other, _))) => one.cmp(other),
        };
        let old = if order.is_le() { before.next() } else { None };
        let new = if order.is_ge() { after.next() } else { None };
        let placed = |side: Option<(&Key<'w>, &Placed<'w>)>| side.map(|(_, placed)| *placed);
        let key = old.or(new).map(|(key, _)| *key);
        all.extend(key.map(|key| (key, placed(old), placed(new))));
    }
}

fn complete_sets(cluster: Option<&Cluster>) -> FxHashSet<&ObjectId> {
    let sets = cluster.into_iter().flat_map(|cluster| &cluster.sets);
    sets.filter(|set| set.is_complete).map(|set| &set.id).collect()
}

/// Objects of a cluster in order of their identities, those that share one as they are
/// applied.
fn placed<'w>(world: &'w World, cluster: Option<&'w Cluster>) -> Vec<Keyed<'w>> {
    let mut all = Vec::new();
    if let Some(cluster) = cluster {
        for (member, object) in world.written(cluster) {
            let id = &object.id;
            // Which one of them is which can't be told.
            if matches!(&*id.name, "" | "?") {
                continue;
            }
            let key = (&member.target, id.named());
            let kustomization = member.maker.kustomization().map(|index| &cluster.applied[index as usize]);
            let set = match member.maker {
                Maker::ResourceSet(index) => cluster.sets.get(index as usize),
                _ => None,
            };
            all.push((key, Placed { object, target: &member.target, kustomization, set }));
        }
    }
    all.sort_by_key(|(key, _)| *key);
    all
}

/// One object for each identity. Of several, those that differ, the last applied
/// of each side; where all are alike, two that are: files that moved are nothing.
fn one_each<'w>(before: &[Keyed<'w>], after: &[Keyed<'w>]) -> (Objects<'w>, Objects<'w>) {
    type Share<'s, 'w> = &'s [Keyed<'w>];
    let is_one = |one: &Keyed<'w>, other: &Keyed<'w>| one.0 == other.0;
    let (mut befores, mut afters) = (before.chunk_by(is_one).peekable(), after.chunk_by(is_one).peekable());
    let (mut old, mut new) = (Vec::with_capacity(before.len()), Vec::with_capacity(after.len()));
    let last = |share: Option<Share<'_, 'w>>| share.and_then(<[_]>::last).copied();
    loop {
        let order = match (befores.peek(), afters.peek()) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(before), Some(after)) => before[0].0.cmp(&after[0].0),
        };
        let before = if order.is_le() { befores.next() } else { None };
        let after = if order.is_ge() { afters.next() } else { None };
        let (before, after) = match (before, after) {
            (Some(before), Some(after)) if before.len() + after.len() > 2 => different(before, after),
            (before, after) => (last(before), last(after)),
        };
        old.extend(before);
        new.extend(after);
    }
    (Objects::from_iter(old), Objects::from_iter(new))
}

/// Of objects that share an identity, the last of each side that the other side has no
/// equal of; two that are equal where one side has no such. Equal ones that the same
/// Kustomization applies belong together: which of them comes first says nothing.
fn different<'w>(before: &[Keyed<'w>], after: &[Keyed<'w>]) -> (Option<Keyed<'w>>, Option<Keyed<'w>>) {
    let hashed = |placed: &Keyed<'w>| (*placed, placed.1.object.node.get_ref().value_hash());
    let applier = |placed: &Keyed<'w>| placed.1.kustomization.map(|applied| &applied.id);
    let mut own: Vec<(Keyed<'w>, u64)> = before.iter().map(hashed).collect();
    let mut rest: Vec<(Keyed<'w>, u64)> = after.iter().map(hashed).collect();
    let mut alike = None;
    for by_one in [true, false] {
        own.retain(|(before, before_hash)| {
            let node = before.1.object.node.get_ref();
            let twin = rest.iter().position(|(after, hash)| {
                before_hash == hash
                    && (!by_one || applier(before) == applier(after))
                    && after.1.object.node.get_ref().same_value(node) == Known::Value(true)
            });
            let Some(index) = twin else { return true };
            alike = Some((*before, rest.remove(index).0));
            false
        });
    }
    let last = |left: &[(Keyed<'w>, u64)]| left.last().map(|(placed, _)| *placed);
    match (last(&own), last(&rest), alike) {
        (Some(before), Some(after), _) | (_, _, Some((before, after))) => (Some(before), Some(after)),
        (before, after, None) => (before, after),
    }
}

/// The values that an effect shows of a node, for JSON.
pub(crate) fn json_of(node: Option<crate::lang::yaml::NodeRef<'_>>) -> Value {
    node.map_or(Value::Null, |node| to_json(node))
}
