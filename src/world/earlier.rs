//! Builds of another snapshot of the repository that need no second run: a plan
//! looks at two states that differ in a few files.

use super::{Outcome, World};
use crate::build::substitute::{ProblemKind, SubstitutionProblem, Variables};
use crate::files::{FileTree, Snapshot};
use crate::lang::yaml::{FilePath, Known, Node, NodeRef};
use crate::world::build::{BuildFailure, FailureKind, FluxBuild};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Namespace and name, or the place of a Kustomization whose name is unknown:
/// two of them need not be one.
pub(super) type Identity = (Option<Arc<str>>, Arc<str>);

/// A build and what it depends on; equal inputs in the next round are not built
/// again.
#[derive(Debug)]
pub(super) struct EarlierBuild {
    pub node: Node,
    pub tree: Option<FileTree>,
    pub variables: Variables,
    pub strict: bool,
    pub result: Result<FluxBuild, Outcome>,
    /// That of the round before, when fewer variables were known: the first round over
    /// another snapshot starts as this one did.
    pub before: Option<Box<EarlierBuild>>,
}

/// What a build depends on.
pub(super) struct Inputs<'b> {
    /// The effective Flux Kustomization.
    pub node: NodeRef<'b>,
    /// Its tree, where that is known.
    pub tree: Option<&'b FileTree>,
    /// `spec.path`, clean.
    pub path: &'b str,
    pub variables: &'b Variables,
    /// Whether undefined variables fail it.
    pub strict: bool,
}

impl EarlierBuild {
    pub(super) fn is_of(&self, inputs: &Inputs<'_>) -> bool {
        let same_tree = match (&self.tree, inputs.tree) {
            (Some(one), Some(two)) => Arc::ptr_eq(one.snapshot(), two.snapshot()) && one.is_laid_out_as(two),
            (None, None) => true,
            _ => false,
        };
        same_tree
            && self.strict == inputs.strict
            && self.variables == *inputs.variables
            && same(self.node.get_ref(), inputs.node)
    }
}

/// The builds of each cluster and leaf overlay, by its root.
pub(super) type Builds = FxHashMap<String, FxHashMap<Identity, EarlierBuild>>;

/// What was built of another snapshot.
pub(super) struct Earlier<'w> {
    world: &'w World,
    snapshot: &'w Arc<Snapshot>,
    /// Paths at which the two snapshots differ by more than content.
    moved: Vec<&'w Arc<str>>,
}

impl<'w> Earlier<'w> {
    pub(super) fn new(world: &'w World, snapshot: &'w Arc<Snapshot>) -> Earlier<'w> {
        Earlier { world, snapshot, moved: world.snapshot.moved_paths(snapshot) }
    }

    /// What the build of a Flux Kustomization came to before, where it can't come
    /// to anything else now: it would read the same texts. While the same paths are
    /// there, that holds of what lacks something or is refused as well.
    pub(super) fn build(
        &self,
        root: &str,
        identity: &Identity,
        inputs: &Inputs<'_>,
    ) -> Option<Result<FluxBuild, BuildFailure>> {
        let last = self.world.builds.get(root)?.get(identity)?;
        let mut rounds = std::iter::successors(Some(last), |built| built.before.as_deref());
        rounds.find_map(|before| self.again(before, inputs))
    }

    fn again(&self, before: &EarlierBuild, inputs: &Inputs<'_>) -> Option<Result<FluxBuild, BuildFailure>> {
        let (old, new) = (before.tree.as_ref()?, inputs.tree?);
        let result = match &before.result {
            Ok(build) => Ok(build),
            // What a tree lacks is told again sooner than it is compared; limits are those
            // of all builds together.
            Err(Outcome::Failed(failure)) if matches!(failure.kind, FailureKind::Unbuildable(_)) => {
                Err(failure)
            }
            Err(_) => return None,
        };
        let looked_into = match result {
            Ok(build) => &build.looked_into,
            Err(failure) => &failure.looked_into,
        };
        // Nothing is known about what changed in other directories.
        let same = Arc::ptr_eq(old.snapshot(), &self.world.snapshot)
            && Arc::ptr_eq(new.snapshot(), self.snapshot)
            && (before.strict == inputs.strict || !heeds_strictness(before))
            && before.variables == *inputs.variables
            && old.is_laid_out_as(new)
            && before.node.get_ref().is_same_text(inputs.node)
            && (self.moved.is_empty()
                || result.is_ok_and(|build| {
                    build.partial.is_empty() && build.unusable.is_empty() && !self.reaches(new, inputs, build)
                }))
            && looked_into.iter().all(|path| old.snapshot().holds_same(new.snapshot(), path));
        same.then(|| result.cloned().map_err(BuildFailure::clone))
    }

    /// Whether a path that came, went or changed its kind may matter to a build.
    fn reaches(&self, tree: &FileTree, inputs: &Inputs<'_>, build: &FluxBuild) -> bool {
        // The artifact of a composed tree lists all its paths.
        let Some(root) = tree.as_directory() else { return false };
        let own = match (root.is_empty(), inputs.path.is_empty()) {
            (true, _) => inputs.path.to_owned(),
            (_, true) => root.to_owned(),
            _ => format!("{root}/{}", inputs.path),
        };
        let directory = |path: &'_ str| path.rsplit_once('/').map_or(0, |(directory, _)| directory.len());
        let is_beside = |path: &str| {
            let parent = &path[..directory(path)];
            let read = build.files_read.iter().filter_map(FilePath::of_root);
            read.into_iter().any(|read| read[..directory(read)] == *parent)
        };
        let is_below = |path: &str| {
            own.is_empty() || path.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        inputs.node.at("/spec/ignoreMissingComponents").is_some()
            || self.moved.iter().any(|path| is_below(path) || is_beside(path))
    }
}

/// Whether strict substitution may make something else of a build: an undefined variable is
/// all that it judges, and each is noted.
fn heeds_strictness(built: &EarlierBuild) -> bool {
    let Ok(build) = &built.result else { return true };
    let is_undefined = |problem: &SubstitutionProblem| matches!(problem.kind, ProblemKind::Undefined { .. });
    built.variables.runs() == Some(true)
        && build.objects.iter().any(|object| object.problems.iter().any(is_undefined))
}

/// Equal values, the same unknown parts included.
fn same(one: NodeRef<'_>, other: NodeRef<'_>) -> bool {
    if one.is(other) {
        return true;
    }
    if one.is_unknown() || other.is_unknown() {
        return one.is_unknown() && other.is_unknown() && one.holes() == other.holes();
    }
    if one.is_map() && other.is_map() {
        return one.entries().count() == other.entries().count()
            && one.entries().all(|entry| other.get(&entry.key).is_some_and(|twin| same(entry.value, twin)));
    }
    if one.is_seq() && other.is_seq() {
        return one.items().count() == other.items().count()
            && one.items().zip(other.items()).all(|(one, other)| same(one, other));
    }
    one.same_value(other) == Known::Value(true)
}
