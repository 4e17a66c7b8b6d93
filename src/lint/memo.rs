//! What a run keeps for the next one over a world like it, so that a key in an editor
//! costs what it changed.
//!
//! A rule's answer about a subject is kept where nothing that the rule could read is
//! another:
//!
//! - **A file**: the same [`File`], which snapshots share while its bytes, path and kind
//!   are the same. The view shows nothing else.
//! - **An object**: the same node. Worlds that follow one another share the nodes of
//!   what was built of the same texts in the same way, so that its values, their
//!   places and what substitution stumbles over are the same too. Of what is around
//!   it, rules read the clusters that hold it (name, certainty, settings), the
//!   Kustomizations that apply it there, and the definitions of custom resources that
//!   its verdict needs: each is compared.
//! - **A cluster**: the same in every field, object by object
//!   ([`World::has_same_cluster`]).
//!
//! What lies beyond the subject a rule gets by a method that takes a note
//! ([`super::view`]): it is run again each time. Of the keys that selectors name, the
//! answers are kept and asked again. Whether there is an entry point at all holds for
//! everything. Rules about the repository and about the run are run each time, and so
//! is all that merges, suppresses and ranks findings.

use super::view::ReadSet;
use super::{Context, Finding, Reporter, Rule, Skipped};
use crate::config::Config;
use crate::files::{File, join};
use crate::model::{Maker, ObjectId};
use crate::world::same::is_same_applied;
use crate::world::{ApplyTarget, Cluster, Effective, World};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Findings and counts of some rules over some subjects.
#[derive(Clone, Default)]
pub(super) struct Checked {
    pub(super) findings: Vec<Finding>,
    pub(super) not_checked: Vec<Skipped>,
}

impl Checked {
    pub(super) fn append(&mut self, mut other: Checked) {
        self.findings.append(&mut other.findings);
        self.not_checked.append(&mut other.not_checked);
    }

    pub(super) fn run(&mut self, rule: &'static Rule, check: impl FnOnce(&mut Reporter<'_>)) {
        check(&mut Reporter::new(rule, &mut self.findings, &mut self.not_checked));
    }

    /// How much it has, for [`Checked::since`].
    fn size(&self) -> (usize, usize) {
        (self.findings.len(), self.not_checked.len())
    }

    /// Takes out what came after it had that much.
    fn since(&mut self, (findings, not_checked): (usize, usize)) -> Checked {
        Checked {
            findings: self.findings.split_off(findings),
            not_checked: self.not_checked.split_off(not_checked),
        }
    }
}

/// What came of the rules about one subject.
#[derive(Default)]
pub(super) struct Noted {
    /// Of those that looked at it alone.
    kept: Checked,
    /// The keys that they asked about, with the answers.
    keys: Vec<(String, bool)>,
    /// Those that looked beyond it.
    beyond: Vec<&'static Rule>,
    /// Of those.
    fresh: Checked,
    /// Whether the run before had it.
    again: bool,
}

impl Noted {
    /// Runs the rules that have to be run.
    pub(super) fn of(
        before: Option<&Noted>,
        rules: &[&'static Rule],
        looks: &ReadSet,
        run: impl Fn(&'static Rule, &mut Checked),
    ) -> Noted {
        let mut noted = match before {
            Some(before) => Noted {
                kept: before.kept.clone(),
                keys: before.keys.clone(),
                again: true,
                ..Noted::default()
            },
            None => Noted::default(),
        };
        for rule in before.map_or(rules, |before| &before.beyond) {
            let before = noted.kept.size();
            run(rule, &mut noted.kept);
            if looks.take_beyond() {
                noted.beyond.push(rule);
                // Most rules have nothing to say of most objects.
                if noted.kept.size() != before {
                    noted.fresh.append(noted.kept.since(before));
                }
            }
        }
        noted.keys.extend(looks.take_keys());
        noted
    }

    /// Adds what it has to what a run found.
    pub(super) fn tell(&self, all: &mut Checked) {
        for one in [&self.kept, &self.fresh] {
            all.findings.extend_from_slice(&one.findings);
            all.not_checked.extend_from_slice(&one.not_checked);
        }
    }

    /// Takes what it has into what a run found, where nothing is kept.
    pub(super) fn give(self, all: &mut Checked) {
        all.append(self.kept);
        all.append(self.fresh);
    }

    fn holds(&self, context: &Context<'_>) -> bool {
        self.keys.iter().all(|(key, answer)| context.is_selected(key) == *answer)
    }
}

/// What came of the rules about all files, objects and clusters, in their order.
#[derive(Default)]
pub(super) struct AllNoted {
    pub(super) documents: Vec<Noted>,
    pub(super) objects: Vec<Noted>,
    pub(super) clusters: Vec<Noted>,
}

/// What runs over worlds that follow one another keep; of one configuration and one
/// choice of rules.
#[derive(Default)]
pub struct LintMemo {
    last: Option<Last>,
}

/// The run before.
struct Last {
    /// Keeps alive what is known by its address.
    world: Arc<World>,
    files: FxHashMap<usize, u32>,
    nodes: FxHashMap<(usize, u32), u32>,
    clusters: FxHashMap<ClusterKey, u32>,
    definitions: Option<Vec<Address>>,
    noted: AllNoted,
}

type Address = (usize, u32);

/// Where a cluster is looked for in another world: its name, its root, and whether it
/// applies anything.
type ClusterKey = (Option<Arc<str>>, String, bool);

fn key_of(cluster: &Cluster) -> ClusterKey {
    (cluster.name.clone(), cluster.root.clone(), cluster.applied.is_empty())
}

fn address_of(file: &Arc<File>) -> usize {
    Arc::as_ptr(file) as usize
}

fn is_definition(id: &ObjectId) -> bool {
    id.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

impl LintMemo {
    /// Keeps what came of a run; `files` are those that rules about files were shown.
    pub(super) fn keep(
        &mut self,
        world: &Arc<World>,
        config: &Config,
        files: &[&Arc<File>],
        noted: AllNoted,
    ) {
        let numbered = |at: usize| at as u32;
        self.last = Some(Last {
            files: files.iter().enumerate().map(|(at, file)| (address_of(file), numbered(at))).collect(),
            nodes: world
                .objects
                .iter()
                .enumerate()
                .map(|(at, object)| (object.node.address(), numbered(at)))
                .collect(),
            clusters: world
                .clusters
                .iter()
                .enumerate()
                .map(|(at, cluster)| (key_of(cluster), numbered(at)))
                .collect(),
            definitions: definitions(world, config),
            world: world.clone(),
            noted,
        });
    }

    /// About how many files, objects and clusters the last run took over what the one
    /// before said, and about how many it had something to say.
    pub fn reused(&self) -> (usize, usize) {
        let Some(last) = &self.last else { return (0, 0) };
        let AllNoted { documents, objects, clusters } = &last.noted;
        let all = || documents.iter().chain(objects).chain(clusters);
        (all().filter(|noted| noted.again).count(), all().count())
    }

    /// What of it holds for another world.
    pub(super) fn compare<'m>(&'m self, context: &'m Context<'m>) -> Option<Kept<'m>> {
        let last = self.last.as_ref()?;
        if last.world.has_entry != context.world.has_entry {
            return None;
        }
        let world = context.world;
        let twins = world.clusters.iter().map(|cluster| EarlierCluster::of(world, cluster, last)).collect();
        let definitions = definitions(world, context.config);
        let same_definitions = definitions.is_some() && definitions == last.definitions;
        Some(Kept { last, context, twins, same_definitions })
    }
}

/// What decides, beside a cluster's own definitions, which schema judges an object:
/// the definitions of the repository and the files of the directories that the
/// configuration names. `None` where these are not all in the repository.
fn definitions(world: &World, config: &Config) -> Option<Vec<Address>> {
    let snapshot = &world.snapshot;
    let objects = snapshot.objects().iter().filter(|object| is_definition(&object.id));
    let mut all: Vec<Address> = objects.map(|object| object.node.address()).collect();
    for directory in &config.schemas {
        let path = join("", &directory.value)?;
        let files = snapshot.files_below(&path);
        if files.is_empty() {
            return None;
        }
        all.extend(files.iter().map(|file| (address_of(file), u32::MAX)));
    }
    Some(all)
}

/// What of the run before holds.
pub(super) struct Kept<'m> {
    last: &'m Last,
    context: &'m Context<'m>,
    /// For each cluster.
    twins: Vec<EarlierCluster>,
    same_definitions: bool,
}

/// What a cluster was before.
enum EarlierCluster {
    /// Not there, or of other settings.
    Other,
    Same(u32),
    /// What an object sees of it is the same, but for these of its Kustomizations: the
    /// number that each had.
    Alike(u32, Vec<Option<u32>>),
}

impl EarlierCluster {
    fn of(world: &World, cluster: &Cluster, last: &Last) -> EarlierCluster {
        let Some(at) = last.clusters.get(&key_of(cluster)).copied() else { return EarlierCluster::Other };
        let before = &last.world.clusters[at as usize];
        if world.has_same_cluster(cluster, &last.world, before) {
            return EarlierCluster::Same(at);
        }
        if cluster.certainty != before.certainty
            || cluster.settings != before.settings
            || own_definitions(world, cluster) != own_definitions(&last.world, before)
        {
            return EarlierCluster::Other;
        }
        let numbers: FxHashMap<&ObjectId, usize> =
            before.applied.iter().enumerate().map(|(at, applied)| (&applied.id, at)).collect();
        let same = cluster.applied.iter().map(|applied| {
            let number = numbers.get(&applied.id).copied();
            number.filter(|number| is_same_applied(applied, &before.applied[*number])).map(|at| at as u32)
        });
        EarlierCluster::Alike(at, same.collect())
    }
}

/// The definitions of custom resources that a cluster applies, and where.
fn own_definitions<'w>(world: &'w World, cluster: &'w Cluster) -> Vec<(&'w ApplyTarget, Address)> {
    let members = world.members(cluster).filter(|(_, object)| is_definition(&object.id));
    members.map(|(member, object)| (&member.target, object.node.address())).collect()
}

impl<'m> Kept<'m> {
    /// What came of a file.
    pub(super) fn document(&self, file: &Arc<File>) -> Option<&'m Noted> {
        let at = self.last.files.get(&address_of(file))?;
        self.of(&self.last.noted.documents, *at)
    }

    /// What came of an object.
    pub(super) fn object(&self, object: &Effective) -> Option<&'m Noted> {
        let at = *self.last.nodes.get(&object.node.address())?;
        let before = &self.last.world.objects[at as usize];
        let holds = self.same_definitions
            && object.members.len() == before.members.len()
            && object
                .members
                .iter()
                .zip(&before.members)
                .all(|(now, before)| self.is_same_place(*now, *before));
        if holds { self.of(&self.last.noted.objects, at) } else { None }
    }

    /// What came of a cluster, by its place in [`World::clusters`].
    pub(super) fn cluster(&self, cluster: usize) -> Option<&'m Noted> {
        match &self.twins[cluster] {
            EarlierCluster::Same(at) => self.of(&self.last.noted.clusters, *at),
            EarlierCluster::Alike(..) | EarlierCluster::Other => None,
        }
    }

    fn of(&self, all: &'m [Noted], at: u32) -> Option<&'m Noted> {
        all.get(at as usize).filter(|noted| noted.holds(self.context))
    }

    /// Whether an object is in a cluster as it was.
    fn is_same_place(&self, (cluster, member): (u32, u32), (old, before): (u32, u32)) -> bool {
        let (world, last) = (self.context.world, &self.last.world);
        match &self.twins[cluster as usize] {
            EarlierCluster::Same(at) => *at == old && member == before,
            EarlierCluster::Alike(at, numbers) => {
                let now = &world.clusters[cluster as usize].members[member as usize];
                let before = &last.clusters[old as usize].members[before as usize];
                let same_maker = match (now.maker, before.maker) {
                    (Maker::Kustomization(now), Maker::Kustomization(before)) => {
                        numbers[now as usize] == Some(before)
                    }
                    (now, before) => now == before,
                };
                *at == old && same_maker && now.target == before.target
            }
            EarlierCluster::Other => false,
        }
    }
}
