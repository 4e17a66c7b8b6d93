//! Builds that a change breaks, or takes out of sight.
//!
//! A Flux Kustomization that can't be built applies nothing and prunes nothing:
//! what it applied stays as it is. One whose files are not here any more may do
//! anything.
//! Source: kustomize-controller `reconcile` (kustomization_controller.go), which
//! returns before it applies or prunes when the build fails.

use super::{Effect, Key, Objects, Pair, Side, waits};
use crate::build::kustomize::ErrorClass;
use crate::build::substitute::{BadVariable, ProblemKind};
use crate::config::Feature;
use crate::lang::yaml::Location;
use crate::model::{EffectKind, Object, ObjectId, kinds};
use crate::world::build::{BuildFailure, FailureKind};
use crate::world::{Applied, Cluster, Effective, Outcome, World, clean_path};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// A Kustomization that says nothing of its objects after the change.
pub(super) struct StalledKustomization<'w> {
    applied: &'w Applied,
    why: Why,
    /// Objects that it, or what it applies, applied before.
    kept: BTreeSet<Key<'w>>,
}

/// Why it doesn't.
enum Why {
    /// Its build fails: nothing is applied or pruned.
    Fails(String, Option<Location>),
    /// All that it applies, or a part that was here before, is unknown; and what was unknown of it
    /// before, that is gone.
    Unseen(String, Option<Location>, Option<String>),
}

/// Puts what stays into `after`, and takes out of it what isn't applied.
pub(super) fn keep<'w>(
    (base_world, base): (&World, Option<&'w Cluster>),
    head_world: &'w World,
    head: Option<&'w Cluster>,
    before: &Objects<'w>,
    after: &mut Objects<'w>,
) -> Vec<StalledKustomization<'w>> {
    if let Some(misled) = base.and_then(|base| misled((base_world, base), head_world, head, before)) {
        after.clone_from(before);
        return vec![misled];
    }
    let Some(head) = head else {
        let gone = base.and_then(|base| gone(base, head_world, before));
        if gone.is_some() {
            after.clone_from(before);
        }
        return Vec::from_iter(gone);
    };
    let old = |applied: &Applied| {
        base.and_then(|cluster| cluster.applied(applied.id.namespace.as_deref(), &applied.id.name))
    };
    let mut standstills: Vec<StalledKustomization<'w>> = head
        .applied
        .iter()
        .zip(failures(head_world, head))
        .filter_map(|(applied, failure)| {
            let why = match failure {
                Some((message, location)) => Why::Fails(message, location),
                None => unseen(applied, old(applied))?,
            };
            Some(StalledKustomization { applied, why, kept: BTreeSet::new() })
        })
        .collect();
    if standstills.is_empty() {
        return standstills;
    }
    let at_rest: BTreeMap<_, usize> = standstills
        .iter()
        .enumerate()
        .map(|(index, standstill)| ((&standstill.applied.id.namespace, &standstill.applied.id.name), index))
        .collect();
    after.retain(|_, placed| {
        let by = placed.kustomization.and_then(|by| at_rest.get(&(&by.id.namespace, &by.id.name)));
        !by.is_some_and(|index| matches!(standstills[*index].why, Why::Fails(..)))
    });
    for (key, placed) in before {
        let by = nearest_left(placed.kustomization, base, head, |applied| {
            at_rest.contains_key(&(&applied.id.namespace, &applied.id.name))
        });
        let Some(index) = by.and_then(|by| at_rest.get(&(&by.id.namespace, &by.id.name))) else { continue };
        if !after.contains_key(key) {
            after.insert(*key, *placed);
            standstills[*index].kept.insert(*key);
        }
    }
    standstills
}

/// The nearest Kustomization above an object that the head still has, or that is at rest:
/// an object that is gone with what applied it was not removed if that can't be built.
fn nearest_left<'w>(
    mut by: Option<&'w Applied>,
    base: Option<&'w Cluster>,
    head: &Cluster,
    is_at_rest: impl Fn(&Applied) -> bool,
) -> Option<&'w Applied> {
    for _ in 0..64 {
        let applied = by?;
        if is_at_rest(applied) || head.applied(applied.id.namespace.as_deref(), &applied.id.name).is_some() {
            return Some(applied);
        }
        by = applied.parent.and_then(|index| base.map(|cluster| &cluster.applied[index as usize]));
    }
    None
}

/// The root of a cluster whose directory went away: the Kustomization in the
/// cluster can't be built any more.
fn gone<'w>(base: &'w Cluster, head_world: &World, before: &Objects<'w>) -> Option<StalledKustomization<'w>> {
    let root = base.applied.first().filter(|_| base.name.is_some() && !base.root.is_empty())?;
    let is_left = head_world.snapshot.has_directory(&base.root);
    let why = Why::Fails(format!("the directory {} is gone", base.root), None);
    (!is_left).then(|| StalledKustomization { applied: root, why, kept: before.keys().copied().collect() })
}

/// The root of a cluster that the head does not follow, though the file that states it does so
/// still: it applies a directory from now on that isn't there, or where that is can't be told any
/// more. The head takes others for roots then, or nothing.
fn misled<'w>(
    (base_world, base): (&World, &'w Cluster),
    head_world: &World,
    head: Option<&Cluster>,
    before: &Objects<'w>,
) -> Option<StalledKustomization<'w>> {
    let root = base.applied.first().filter(|_| base.name.is_some())?;
    if head.is_some_and(|head| head.applied(root.id.namespace.as_deref(), &root.id.name).is_some()) {
        return None;
    }
    let (directory, location) = root_path(base, head_world)?;
    let why = match root_path(base, base_world) {
        Some((old, _)) if old == directory => {
            Why::Unseen(format!("which directory here {directory} is can't be told any more"), location, None)
        }
        _ if head_world.snapshot.has_directory(&directory) => return None,
        _ => Why::Fails(format!("its path {directory} does not exist"), location),
    };
    Some(StalledKustomization { applied: root, why, kept: before.keys().copied().collect() })
}

/// The path of a cluster's root, as a world has it in the file that states the root.
pub(super) fn root_path(base: &Cluster, world: &World) -> Option<(String, Option<Location>)> {
    let root = base.applied.first()?;
    let file = base.location.as_ref()?.file.of_root()?;
    let objects = world.snapshot.objects_in(file);
    let own = objects.iter().find(|object| object.id == root.id).map(|object| (object, "/spec/path"));
    // The operator makes the root of what its instance says.
    let is_instance = |object: &&Object| {
        let namespace = object.id.namespace.as_deref();
        object.id.is(kinds::OPERATOR, "FluxInstance")
            && (namespace.is_none() || namespace == root.id.namespace.as_deref())
    };
    let of_instance = || objects.iter().find(is_instance).map(|object| (object, "/spec/sync/path"));
    let (stated, field) = own.or_else(of_instance)?;
    let node = stated.node.get_ref();
    // A variable's value is not looked for.
    let path = node.str_at(field).filter(|path| !path.contains("${"))?;
    let path = clean_path(&path);
    (!path.is_empty()).then(|| (path, node.location_at(field)))
}

/// What Kustomizations at a standstill do to the cluster, where they weren't
/// before.
pub(super) fn effects(pair: &Pair<'_>) -> Vec<Effect> {
    let failing = pair.standstills.iter().filter_map(|standstill| effect(pair, standstill));
    failing.chain(pair.repaired.iter().filter_map(|id| repaired(pair, id))).collect()
}

/// A build that failed and works again. What it holds is told in one line: it was
/// applied before the build broke, but for what has changed since.
fn repaired(pair: &Pair<'_>, id: &ObjectId) -> Option<Effect> {
    let applied = pair.head?.applied(id.namespace.as_deref(), &id.name)?;
    let objects =
        pair.after.values().filter(|placed| placed.kustomization.is_some_and(|by| by.id == *id)).count();
    let mut effect = Effect::new(pair, EffectKind::BuildsAgain, id);
    let counted = if objects == 1 { "1 object".to_owned() } else { format!("{objects} objects") };
    effect.reason = format!("builds again: {counted}");
    effect
        .consequences
        .push("it applies and prunes everything that changed while it did not build".to_owned());
    effect.details.insert("objects".to_owned(), json!(objects));
    Some(effect.at(Side::Head, applied.node.get_ref().location_at("/metadata/name")))
}

/// Kustomizations that failed before, and of which everything that is known builds.
pub(super) fn repaired_ones<'w>(
    failed_before: &BTreeSet<&'w ObjectId>,
    standstills: &[StalledKustomization<'_>],
    head: Option<&Cluster>,
) -> BTreeSet<&'w ObjectId> {
    let builds = |id: &&&ObjectId| {
        let applied = head.and_then(|head| head.applied(id.namespace.as_deref(), &id.name));
        applied.is_some_and(|applied| matches!(applied.outcome, Outcome::Built { .. }))
            && !standstills.iter().any(|standstill| standstill.applied.id == ***id)
    };
    failed_before.iter().filter(builds).copied().collect()
}

fn effect(pair: &Pair<'_>, standstill: &StalledKustomization<'_>) -> Option<Effect> {
    let id = &standstill.applied.id;
    let count = standstill.kept.len();
    let counted = counted_objects(count);
    let (mut effect, location) = match &standstill.why {
        Why::Fails(..) if pair.failed_before.contains(id) => return None,
        Why::Fails(reason, location) => {
            let mut effect = Effect::new(pair, EffectKind::BuildFails, id);
            effect.reason = format!("its build fails: {reason}");
            let (own, others) = standstill.kept_by(pair);
            effect.consequences.push(match own {
                0 => "nothing of it is applied".to_owned(),
                1 => "nothing of it is applied or pruned; 1 object that it applied stays".to_owned(),
                _ => format!("nothing of it is applied or pruned; {own} objects that it applied stay"),
            });
            if others > 0 {
                effect.consequences.push(format!(
                    "the Kustomizations among them stay as they are in the cluster, with {} that they apply",
                    counted_objects(others)
                ));
            }
            let was_there =
                pair.base.is_some_and(|base| base.applied(id.namespace.as_deref(), &id.name).is_some());
            effect.details.insert("new".to_owned(), json!(!was_there));
            if kinds::is_kustomization(id)
                && let Some(waiting) = waits::named(&waits::reach(pair, id).reached)
            {
                effect.consequences.push(format!("{waiting} until it is ready again"));
            }
            (effect, location)
        }
        Why::Unseen(_, _, None) if count == 0 => return None,
        Why::Unseen(reason, location, before) => {
            let mut effect = Effect::new(pair, EffectKind::Unseen, id);
            effect.reason = format!("what it applies can't all be told here: {reason}");
            effect.consequences.extend(before.as_ref().map(|before| format!("before the change: {before}")));
            if count > 0 {
                effect.consequences.push(format!("{counted} that it applied may be changed or deleted"));
            }
            (effect, location)
        }
    };
    effect.target = standstill.applied.target.clone();
    effect.details.insert("keptObjects".to_owned(), json!(count));
    let own = || standstill.applied.node.get_ref().location_at("/metadata/name");
    // What is said of it is said of the head.
    let side = if pair.head.is_some() || location.is_some() { Side::Head } else { Side::Base };
    Some(effect.at(side, location.clone().or_else(own)))
}

fn counted_objects(count: usize) -> String {
    if count == 1 { "1 object".to_owned() } else { format!("{count} objects") }
}

/// Why it can't be told what a Kustomization of the head applies: it is not in
/// this repository, or too much.
fn unseen(applied: &Applied, before: Option<&Applied>) -> Option<Why> {
    match &applied.outcome {
        Outcome::External(reason) | Outcome::Unknown(reason) => Some(Why::Unseen(reason.clone(), None, None)),
        Outcome::Built { partial, .. } => {
            let new = new_parts(applied, before);
            let location = partial.iter().find(|(_, what, _)| Some(&&**what) == new.first());
            let location = location.and_then(|(.., location)| location.clone());
            let gone = before.map(|before| new_parts(before, Some(applied))).unwrap_or_default();
            Some(Why::Unseen(first_of(&new)?, location, first_of(&gone)))
        }
        // Flux has no such limit.
        Outcome::Failed(failure) => {
            Some(Why::Unseen(failure.message.clone(), failure.location.clone(), None))
        }
        Outcome::MissingPath => None,
    }
}

/// What of a Kustomization's build can't be told, and is not in its other build.
fn new_parts<'w>(of: &'w Applied, other: Option<&Applied>) -> Vec<&'w str> {
    let Outcome::Built { partial, .. } = &of.outcome else { return Vec::new() };
    let known: BTreeSet<&str> = match other.map(|other| &other.outcome) {
        Some(Outcome::Built { partial, .. }) => partial.iter().map(|(_, known, _)| &**known).collect(),
        _ => BTreeSet::new(),
    };
    partial.iter().map(|(_, what, _)| &**what).filter(|what| !known.contains(what)).collect()
}

fn first_of(list: &[&str]) -> Option<String> {
    match list {
        [] => None,
        [only] => Some((*only).to_owned()),
        [first, more @ ..] => Some(format!("{first} and {} more", more.len())),
    }
}

/// What of a Kustomization's build before the change could not be told, and is gone: what is new in
/// its build may have been made of that.
pub(super) fn unseen_before(before: &Applied, now: &Applied) -> Option<String> {
    match &before.outcome {
        Outcome::External(reason) | Outcome::Unknown(reason) => Some(reason.clone()),
        Outcome::Built { .. } => first_of(&new_parts(before, Some(now))),
        Outcome::Failed(_) | Outcome::MissingPath => None,
    }
}

/// The Kustomizations of a cluster whose builds fail.
pub(super) fn failing<'w>(world: &World, cluster: &'w Cluster) -> BTreeSet<&'w ObjectId> {
    let failing = cluster.applied.iter().zip(failures(world, cluster));
    failing.filter(|(_, failure)| failure.is_some()).map(|(applied, _)| &applied.id).collect()
}

/// The Kustomizations of all clusters whose builds fail on both sides: what a change of
/// them does can't be told.
pub(crate) fn failing_on_both_sides(base: &World, head: &World) -> Vec<String> {
    let mut found = Vec::new();
    for cluster in &head.clusters {
        let before = base.clusters.iter().find(|before| before.name == cluster.name);
        let before = before.map(|before| failing(base, before)).unwrap_or_default();
        for id in failing(head, cluster).intersection(&before) {
            let of = cluster.name.as_ref().map_or(String::new(), |name| format!(" in {name}"));
            found.push(format!("{id}{of}"));
        }
    }
    found
}

/// Why a build fails, and where.
type FailureReason = (String, Option<Location>);

/// For each Kustomization of a cluster, why its build fails.
fn failures(world: &World, cluster: &Cluster) -> Vec<Option<FailureReason>> {
    let mut failures: Vec<Option<FailureReason>> = cluster.applied.iter().map(failure).collect();
    let strict = cluster.settings.feature(Feature::StrictSubstitution).value == Some(true);
    for (member, object) in world.written(cluster).filter(|(_, object)| !object.problems.is_empty()) {
        if let Some(index) = member.maker.kustomization()
            && failures[index as usize].is_none()
        {
            failures[index as usize] = substitution(object, strict);
        }
    }
    failures
}

fn failure(applied: &Applied) -> Option<FailureReason> {
    let told = |failure: &BuildFailure| (failure.message.clone(), failure.location.clone());
    match &applied.outcome {
        Outcome::Failed(failure) => (!is_own_limit(failure)).then(|| told(failure)),
        Outcome::MissingPath => Some((
            format!("its path {} does not exist", applied.path),
            applied.node.get_ref().location_at("/spec/path"),
        )),
        Outcome::External(_) | Outcome::Unknown(_) => None,
        Outcome::Built { bad_variables, missing_sources, unusable, .. } => {
            let bad = bad_variables.first().map(|variable| match variable {
                BadVariable::Name { name, location } => {
                    (format!("`{name}` is no name of a variable"), location.clone())
                }
                BadVariable::Value { name, found, location } => {
                    (format!("the value of {name} is no string ({found})"), location.clone())
                }
            });
            bad.or_else(|| {
                let source = missing_sources.first()?;
                Some((format!("no {} {}", source.kind, source.name), source.location.clone()))
            })
            .or_else(|| unusable.first().map(told))
        }
    }
}

/// Whether a build is too much for this program alone.
pub(super) fn is_own_limit(failure: &BuildFailure) -> bool {
    matches!(failure.kind, FailureKind::TooLarge | FailureKind::Unbuildable(ErrorClass::Limit))
}

/// What substitution of an object fails on.
fn substitution(object: &Effective, strict: bool) -> Option<FailureReason> {
    object.problems.iter().find_map(|problem| {
        let message = match &problem.kind {
            ProblemKind::Malformed { message, .. } => format!("malformed expression: {message}"),
            ProblemKind::BrokenYaml { message } | ProblemKind::Failed { message } => message.clone(),
            ProblemKind::Undefined { name } if strict => format!("${{{name}}} is not defined"),
            _ => return None,
        };
        Some((format!("{}: {message}", object.id), problem.location.clone()))
    })
}

impl StalledKustomization<'_> {
    /// How many of the objects that stay it applied itself, and how many the others did.
    fn kept_by(&self, pair: &Pair<'_>) -> (usize, usize) {
        let id = &self.applied.id;
        let is_own = |key: &&Key<'_>| {
            let by = pair.before.get(*key).and_then(|placed| placed.kustomization);
            by.is_none_or(|by| by.id == *id)
        };
        let own = self.kept.iter().filter(is_own).count();
        (own, self.kept.len() - own)
    }

    /// Whether it is the standstill of a Kustomization whose build fails.
    pub(super) fn fails(&self, id: &ObjectId) -> bool {
        matches!(self.why, Why::Fails(..)) && self.applied.id == *id
    }

    /// Whether an object stays as it is because of it.
    pub(super) fn keeps(&self, key: &Key<'_>) -> bool {
        self.kept.contains(key)
    }
}
