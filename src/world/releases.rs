//! The HelmReleases of a cluster, and the charts that they mean.

use super::source::{Objects, Sources};
use super::{ApplyTarget, Placed, target_of};
use crate::files::{ChartStores, FileTree, Snapshot};
use crate::lang::yaml::Node;
use crate::model::{Maker, ObjectId, kinds};
use crate::sources::request::{self, Request, Unclear};
use crate::sources::resolve::{ChartPlace, Found, Missing, Trees, resolve};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A HelmRelease of a cluster.
#[derive(Debug)]
pub struct Release {
    /// Its identity.
    pub id: ObjectId,
    /// The effective HelmRelease.
    pub node: Node,
    /// What makes it.
    pub maker: Maker,
    /// Where it installs.
    pub target: ApplyTarget,
    /// What it asks for.
    pub(crate) request: Result<Request, Unclear>,
    /// The chart that it means.
    pub(crate) chart: Result<Found, Missing>,
}

impl Release {
    /// Whether it is the same object, of the same chart, as in another world.
    pub(super) fn is_same(&self, other: &Release) -> bool {
        let same_place = |one: &Found, two: &Found| match (&one.place, &two.place) {
            (ChartPlace::Tree(tree, path), ChartPlace::Tree(other, at)) => {
                path == at && tree.is_laid_out_as(other) && same_files(tree, other, path)
            }
            (ChartPlace::Store(one), ChartPlace::Store(two)) => Arc::ptr_eq(one, two),
            _ => false,
        };
        let same_chart = match (&self.chart, &other.chart) {
            (Ok(one), Ok(two)) => one.assumed == two.assumed && same_place(one, two),
            (Err(one), Err(two)) => one == two,
            _ => false,
        };
        self.id == other.id
            && self.maker == other.maker
            && self.target == other.target
            && self.node.get_ref().is_same_text(other.node.get_ref())
            && same_chart
    }
}

/// Whether two trees hold the same files below a path, and at it.
fn same_files(one: &FileTree, other: &FileTree, path: &str) -> bool {
    if Arc::ptr_eq(one.snapshot(), other.snapshot()) {
        return true;
    }
    let files = |tree: &FileTree| tree.walk(path).map(|(_, file)| file.name()).collect::<Vec<_>>();
    let (before, after) = (files(one), files(other));
    before == after && before.iter().all(|file| one.snapshot().holds_same(other.snapshot(), file))
}

/// The releases of a cluster that is grown on these sources.
pub(super) fn of_cluster(sources: &Sources<'_>, objects: &Objects, placed: &[Placed]) -> Vec<Release> {
    let lookup = |kind: &str, namespace: Option<&str>, name: &str| {
        let key = (Arc::from(kind), namespace.map(Arc::from), Arc::from(name));
        objects.get(&key).map(|(_, node)| node.clone())
    };
    let trees = |kind: &str, namespace: Option<&str>, name: &str, path: &str| {
        sources.resolve(objects, kind, namespace, name, path).map(|found| found.tree)
    };
    releases(placed, &lookup, &trees, &sources.config.stores)
}

/// The releases of what no entry point names: their sources are looked for beside them,
/// then in all files.
pub(super) fn of_files(snapshot: &Arc<Snapshot>, placed: &[Placed], stores: &ChartStores) -> Vec<Release> {
    if !placed.iter().any(|(id, ..)| kinds::is_helm_release(id)) {
        return Vec::new();
    }
    let mut beside: FxHashMap<(&str, Option<&str>, &str), &Node> = FxHashMap::default();
    for (id, built, ..) in placed {
        beside.entry((&id.kind, id.namespace.as_deref(), &id.name)).or_insert(&built.node);
    }
    let lookup = |kind: &str, namespace: Option<&str>, name: &str| {
        if let Some(node) = beside.get(&(kind, namespace, name)) {
            return Some((*node).clone());
        }
        let mut named = snapshot.objects().iter().filter(|object| {
            &*object.id.kind == kind
                && &*object.id.name == name
                && (object.id.namespace.as_deref() == namespace || object.id.namespace.is_none())
        });
        let first = named.next()?;
        named.next().is_none().then(|| first.node.clone())
    };
    let trees = |kind: &str, _: Option<&str>, name: &str, path: &str| match snapshot.has_directory(path) {
        true if matches!(kind, "GitRepository" | "Bucket") => Ok(FileTree::root(snapshot.clone())),
        _ => Err(format!("nothing here says where the files of {kind} {name} are")),
    };
    releases(placed, &lookup, &trees, stores)
}

fn releases(
    placed: &[Placed],
    lookup: &request::Lookup<'_>,
    trees: &Trees<'_>,
    stores: &ChartStores,
) -> Vec<Release> {
    let found = placed.iter().filter(|(id, ..)| kinds::is_helm_release(id));
    let release = |(id, built, sent, maker): &Placed| {
        let node = built.node.get_ref();
        let request = request::of_release(id, node, lookup);
        let chart = match &request {
            Ok(request) => resolve(request, trees, stores).map_err(|missing| *missing),
            Err(unclear) => Err(Missing::unclear(unclear)),
        };
        let target = match sent {
            ApplyTarget::Local => target_of(id, node),
            remote => remote.clone(),
        };
        Release { id: id.clone(), node: built.node.clone(), maker: *maker, target, request, chart }
    };
    found.map(release).collect()
}
