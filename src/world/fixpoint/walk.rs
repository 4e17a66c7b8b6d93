//! A round: builds what is due, in the order of what applies it.

use super::grown::built_outcome;
use super::round::{Extent, LIMIT, Rendering, Round, RoundWalk};
use super::sets::{SET_DEPTH, made_by, providers};
use super::start::Start;
use super::step::{Due, RoundStep, identity_of};
use crate::lang::yaml::NodeRef;
use crate::model::{Maker, Unchecked, kinds};
use crate::world::build::{BuildFailure, BuiltObject, FailureKind, FluxBuild};
use crate::world::earlier::{EarlierBuild, Identity};
use crate::world::source::SourceState;
use crate::world::{Applied, ApplyTarget, Outcome, ResourceSet, target_of};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::sync::Arc;

/// Bytes that the objects of one cluster may come to when they are written, each
/// with [`OBJECT`] besides.
const SIZE_LIMIT: u64 = 1 << 30;

/// Bytes counted for each object besides its text.
const OBJECT: u64 = 4096;

/// Builds what is due.
pub(super) fn round(
    start: &Start<'_>,
    known: &mut FxHashMap<Identity, EarlierBuild>,
    extent: Extent,
) -> Round {
    let mut walk = RoundWalk {
        start,
        known,
        extent,
        providers: providers(&start.objects),
        out: Round::default(),
        queue: Vec::new(),
        seen: FxHashSet::default(),
        size: 0,
        paths: FxHashMap::default(),
        rendering: Rendering::default(),
    };
    walk.begin();
    let mut at = 0;
    // More at a time would let builds that are too large together lie in memory
    // at once.
    let batch = 4 * rayon::current_num_threads();
    loop {
        while at < walk.queue.len() {
            let due = walk.queue[at..walk.queue.len().min(at + batch)].to_vec();
            at += due.len();
            // One by one: the last of a batch is waited for.
            let steps = due.par_iter().with_max_len(1);
            let (known, applied, paths) = (&*walk.known, &*walk.out.applied, &walk.paths);
            let steps: Vec<RoundStep> = steps.map(|due| start.step(due, known, applied, paths)).collect();
            due.into_iter().zip(steps).for_each(|(due, step)| walk.take(due, step));
        }
        if extent < Extent::Charts || !walk.render_due() {
            return walk.out;
        }
    }
}

impl RoundWalk<'_, '_> {
    /// The roots are due.
    fn begin(&mut self) {
        for (id, node) in &self.start.entry.kustomizations {
            if self.seen.insert(identity_of(id, node.get_ref())) {
                // From the second round on, the root is what it applies of itself.
                let own = self.start.objects.get(&id.called());
                let node = own.map_or_else(|| node.clone(), |(_, node)| node.clone());
                self.queue.push(Due { id: id.clone(), node, parent: None, maker: Maker::Entry });
            }
        }
    }

    /// Takes what the step of a Kustomization came to.
    fn take(&mut self, due: Due, step: RoundStep) {
        let Due { id, node, parent, maker } = due;
        let RoundStep { identity, path, tree, state, built } = step;
        if let Some(built) = built {
            self.note(&identity, built, node.get_ref());
        }
        let Some(built) = self.known.get(&identity) else { return };
        self.size += match &built.result {
            Ok(build) => weight(build),
            Err(Outcome::Failed(failure)) if failure.kind == FailureKind::TooLarge => SIZE_LIMIT,
            Err(_) => 0,
        };
        let target = target_of(&id, node.get_ref());
        *self.paths.entry(path.clone()).or_default() += 1;
        let (outcome, files_read, objects) = match &built.result {
            Ok(build) => (built_outcome(build), build.files_read.clone(), build.objects.clone()),
            Err(outcome) => (outcome.again(), Vec::new(), Vec::new()),
        };
        self.out.read.extend(files_read.iter().cloned());
        self.out.applied.push(Applied {
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
        self.spread(objects, &target);
    }

    /// Keeps a build for the next round, unless it is more than the cluster may have.
    fn note(&mut self, identity: &Identity, mut built: EarlierBuild, node: NodeRef<'_>) {
        self.out.changed = true;
        match &built.result {
            Ok(_) if self.size > SIZE_LIMIT => {
                let why = "this cluster has too many objects before it".to_owned();
                built.result = Err(Outcome::Unknown(why));
            }
            Ok(build) if self.size + weight(build) > SIZE_LIMIT => {
                built.result = Err(Outcome::Failed(too_large(node)));
            }
            _ => {}
        }
        built.before = self.known.remove(identity).map(Box::new);
        self.known.insert(identity.clone(), built);
    }

    /// Puts what the last Kustomization applies into the cluster, with what ResourceSets
    /// among it make; other Kustomizations are due then.
    fn spread(&mut self, objects: Vec<Arc<BuiltObject>>, target: &ApplyTarget) {
        let index = self.out.applied.len() as u32 - 1;
        let local = *target == ApplyTarget::Local;
        for object in objects {
            let mut made = vec![(object, Maker::Kustomization(index), 0)];
            while let Some((object, maker, depth)) = made.pop() {
                let Some(id) = object.id.clone() else { continue };
                let node = object.node.get_ref();
                if local
                    && depth < SET_DEPTH
                    && id.is(kinds::OPERATOR, "ResourceSet")
                    && let Some((inner, is_complete)) = made_by(&self.providers, &id, node)
                {
                    let of_set = Maker::ResourceSet(self.out.sets.len() as u32);
                    let node = object.node.clone();
                    self.out.sets.push(ResourceSet { id: (*id).clone(), node, maker, is_complete });
                    made.extend(inner.into_iter().rev().map(|object| (object, of_set, depth + 1)));
                }
                if self.extent >= Extent::Builds
                    && local
                    && kinds::is_kustomization(&id)
                    && self.seen.insert(identity_of(&id, node))
                {
                    self.follow(Due {
                        id: (*id).clone(),
                        node: object.node.clone(),
                        parent: Some(index),
                        maker,
                    });
                }
                self.out.objects.push((id, object, target.clone(), maker));
            }
        }
    }

    /// Puts a Kustomization into the queue, as far as there may be more of them.
    fn follow(&mut self, due: Due) {
        if self.queue.len() < LIMIT {
            self.queue.push(due);
        } else if let Some(applied) = self.out.applied.last_mut()
            && let Outcome::Built { partial, .. } = &mut applied.outcome
        {
            let location = due.node.get_ref().location();
            partial.push((Unchecked::TooManyKustomizations, due.id.to_string(), location));
        }
    }
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
