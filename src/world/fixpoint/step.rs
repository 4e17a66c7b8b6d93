//! The step of one Flux Kustomization: what it waits for, and its build where one of
//! these is another than before.

use super::shape::{WRITER, inject};
use super::start::Start;
use crate::build::substitute::{Provided, Variables};
use crate::config::Feature;
use crate::files::FileTree;
use crate::lang::yaml::{Known, Node, NodeRef};
use crate::model::{Called, Maker, ObjectId};
use crate::world::build::{self, BuildFailure, FailureKind};
use crate::world::earlier::{EarlierBuild, Identity, Inputs};
use crate::world::entry_point::{self, source_of};
use crate::world::source::{LocalObjects, SourceState, Sources};
use crate::world::{Applied, Outcome, TreeOf};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A Flux Kustomization that is due.
#[derive(Clone)]
pub(super) struct Due {
    pub(super) id: ObjectId,
    pub(super) node: Node,
    /// See [`Applied::parent`].
    pub(super) parent: Option<u32>,
    pub(super) maker: Maker,
}

/// What was found out about one that is due.
pub(super) struct RoundStep {
    pub(super) identity: Identity,
    pub(super) path: String,
    pub(super) tree: Result<FileTree, Outcome>,
    pub(super) state: SourceState,
    /// Its build, where that of the round before isn't the same.
    pub(super) built: Option<EarlierBuild>,
}

impl Start<'_> {
    /// Builds a Flux Kustomization, unless the build that is known is the same;
    /// `paths` says how often each is applied already.
    pub(super) fn step(
        &self,
        due: &Due,
        known: &FxHashMap<Identity, EarlierBuild>,
        applied: &[Applied],
        paths: &FxHashMap<String, usize>,
    ) -> RoundStep {
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
        inject(&self.injected, &mut variables);
        let strict = self.settings.feature(Feature::StrictSubstitution).value == Some(true);
        let inputs =
            Inputs { node: view, tree: tree.as_ref().ok(), path: &path, variables: &variables, strict };
        // Why there is no tree may be told better when there are more objects.
        let is_told = |before: &EarlierBuild| match (&tree, &before.result) {
            (Err(Outcome::External(now)), Err(Outcome::External(before))) => now == before,
            _ => true,
        };
        if known.get(&identity).is_some_and(|before| before.is_of(&inputs) && is_told(before)) {
            return RoundStep { identity, path, tree, state, built: None };
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
        let built =
            EarlierBuild { node: node.clone(), tree: tree_of, variables, strict, result, before: None };
        RoundStep { identity, path, tree, state, built: Some(built) }
    }
}

pub(super) fn identity_of(id: &ObjectId, node: NodeRef<'_>) -> Identity {
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

fn endless(node: NodeRef<'_>) -> BuildFailure {
    BuildFailure {
        kind: FailureKind::Endless,
        message: "this Kustomization applies itself again and again, each time under a new name".to_owned(),
        location: node.location_at("/spec/path"),
        related: Box::default(),
        looked_into: Arc::default(),
    }
}

fn resolve(
    sources: &Sources<'_>,
    objects: &LocalObjects,
    id: &ObjectId,
    node: NodeRef<'_>,
    path: &str,
) -> Result<TreeOf, Outcome> {
    if entry_point::source_is_unknown(id, node) {
        return Err(Outcome::Unknown("its source is known in the cluster only".to_owned()));
    }
    let source = source_of(id, node).ok_or_else(|| Outcome::External("it names no source".to_owned()))?;
    sources.resolve(objects, &source, path).map_err(Outcome::External)
}

/// The variables of a Kustomization, looked up among the objects of the cluster.
fn variables(objects: &LocalObjects, id: &ObjectId, node: NodeRef<'_>) -> Variables {
    let mut provide = |kind: &str, name: &str| {
        let at = |kind: &str| objects.get(&Called::new(kind, id.namespace.as_deref(), name));
        let provided = Provided::by(kind, at(kind).map(|(_, node)| node.get_ref()));
        match at(WRITER).filter(|_| kind == "Secret") {
            Some((id, writer)) if matches!(provided, Provided::Unknown) => {
                Provided::by_writer(id, writer.get_ref())
            }
            Some(_) => provided.or_more(),
            None => provided,
        }
    };
    Variables::of(node, &mut provide).unwrap_or_default()
}
