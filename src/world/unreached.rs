//! What no cluster reaches, as clusters without a name: leaf overlays and loose
//! objects are looked at as in a repository without entry points.

use super::earlier::{EarlierBuild, Identity, Inputs};
use super::fixpoint::{Grown, Repository, built_outcome};
use super::overlays::Overlays;
use super::releases;
use super::{Applied, ApplyTarget, Outcome, PlacedObject};
use crate::build::kustomize::FileRole;
use crate::build::substitute::Variables;
use crate::files::FileTree;
use crate::lang::yaml::{FilePath, Node};
use crate::model::{Certainty, Maker, ObjectId};
use crate::world::build::{self, BuiltObject};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::sync::Arc;

/// What no cluster reaches: one nameless cluster for each overlay that no other
/// kustomization includes, and one for the loose objects. `used` are the files
/// that clusters read.
pub(super) fn clusters(
    repository: &Repository<'_>,
    overlays: &Overlays,
    mut used: FxHashSet<FilePath>,
) -> Vec<Grown> {
    let snapshot = repository.snapshot;
    let tree = FileTree::root(snapshot.clone());
    let is_used = |leaf: &&String| {
        let file = |name: &&str| if leaf.is_empty() { (*name).to_owned() } else { format!("{leaf}/{name}") };
        crate::build::kustomize::FILE_NAMES.iter().any(|name| used.contains(&FilePath::in_root(file(name))))
    };
    let leaves: Vec<&String> = overlays.leaves().filter(|leaf| !is_used(leaf)).collect();
    let mut all: Vec<Grown> =
        leaves.into_par_iter().map(|directory| overlay(repository, &tree, directory)).collect();
    for grown in &all {
        used.extend(grown.applied.iter().flat_map(|applied| applied.files_read.iter().cloned()));
    }
    let loose: Vec<_> = snapshot
        .objects()
        .iter()
        .filter(|object| {
            !used.contains(&object.source.file) && object.id.group() != "kustomize.config.k8s.io"
        })
        .map(|object| {
            let files = object.node.get_ref().location().map(|location| (FileRole::Resource, location));
            let files = files.into_iter().collect();
            let built = Arc::new(BuiltObject::new(object.node.clone(), files));
            (Arc::new(object.id.clone()), built, ApplyTarget::Local, Maker::Entry)
        })
        .collect();
    if !loose.is_empty() {
        all.push(nameless(String::new(), loose, Vec::new(), FxHashMap::default()));
    }
    // Most overlays hold one release: together they keep all threads busy, large charts first.
    let stores = &repository.config.stores;
    let mut todo: Vec<&mut Grown> = all.iter_mut().collect();
    todo.sort_by_cached_key(|grown| Reverse(releases::largest_chart(&grown.objects, stores)));
    todo.into_par_iter().with_max_len(1).for_each(|grown| {
        let all = releases::of_files(snapshot, &grown.objects, stores, &repository.charts);
        grown.take_in(all);
    });
    all
}

fn overlay(repository: &Repository<'_>, tree: &FileTree, directory: &str) -> Grown {
    let mut node = Node::empty_map(None);
    let mut spec = Node::empty_map(None);
    spec.set("path", Node::string(directory, None), None);
    node.set("spec", spec, None);
    let identity: Identity = (None, directory.into());
    let variables = Variables::default();
    let inputs = Inputs {
        node: node.get_ref(),
        tree: Some(tree),
        path: directory,
        variables: &variables,
        strict: false,
    };
    let earlier =
        repository.earlier.as_ref().and_then(|earlier| earlier.build(directory, &identity, &inputs));
    let build = || build::build_overlay(tree, directory, &repository.shared.memo);
    let result = earlier.unwrap_or_else(build).map_err(Outcome::Failed);
    let (objects, files_read, outcome) = match &result {
        Ok(build) => (build.objects.clone(), build.files_read.clone(), built_outcome(build)),
        // Its objects are looked at where they are written.
        Err(outcome) => (Vec::new(), Vec::new(), outcome.again()),
    };
    let objects = objects
        .into_iter()
        .filter_map(|object| Some((object.id.clone()?, object, ApplyTarget::Local, Maker::Kustomization(0))))
        .collect();
    let built = EarlierBuild {
        node: node.clone(),
        tree: Some(tree.clone()),
        variables,
        strict: false,
        result,
        before: None,
    };
    let id = ObjectId {
        api_version: "kustomize.config.k8s.io/v1beta1".into(),
        kind: "Kustomization".into(),
        namespace: None,
        name: directory.into(),
    };
    let applied = Applied {
        id,
        node,
        tree: Some(tree.clone()),
        path: directory.to_owned(),
        target: ApplyTarget::Local,
        outcome,
        assumed: false,
        later: false,
        parent: None,
        maker: Maker::Entry,
        files_read,
    };
    nameless(directory.to_owned(), objects, vec![applied], FxHashMap::from_iter([(identity, built)]))
}

/// What no entry point names.
fn nameless(
    root: String,
    objects: Vec<PlacedObject>,
    applied: Vec<Applied>,
    builds: FxHashMap<Identity, EarlierBuild>,
) -> Grown {
    Grown {
        name: None,
        root,
        objects,
        applied,
        generated: Vec::new(),
        read: FxHashSet::default(),
        certainty: Certainty::Guessed,
        form: None,
        location: None,
        bootstrapped: None,
        tree: String::new(),
        source: None,
        is_sent: false,
        sets: Vec::new(),
        releases: Vec::new(),
        rendered: Vec::new(),
        builds,
        openers: Vec::new(),
    }
}
