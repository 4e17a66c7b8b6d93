//! Who applies whom, from which source, after what.

use crate::lang::yaml::NodeRef;
use crate::model::{Called, ObjectId, kinds};
use crate::world::helm_charts::helm_charts;
use crate::world::{Applied, ApplyTarget, Cluster, Member, Outcome, World};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// The Flux objects of all clusters and their relations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// In order of clusters, parents before what they apply.
    pub nodes: Vec<GraphNode>,
    /// Sorted by where they start.
    pub edges: Vec<Edge>,
}

/// One object of a graph.
#[derive(Clone, Debug)]
pub(crate) struct GraphNode {
    pub object: ObjectId,
    /// The cluster that it is in.
    pub cluster: Option<Arc<str>>,
    /// What is worth a word beside its name: the path that it applies, why that
    /// is not here.
    pub note: String,
    /// How many objects it applies that are no nodes.
    pub others: usize,
    /// Whether no node is there that applies it.
    pub is_root: bool,
}

/// A relation of two objects, by their places in [`Graph::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Edge {
    /// Where it starts.
    pub from: usize,
    /// Where it leads.
    pub to: usize,
    /// What it is.
    pub kind: EdgeKind,
}

/// Kinds of relations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EdgeKind {
    /// A Kustomization applies an object, or a HelmRelease its HelmChart.
    Applies,
    /// An object reads its files or chart from a source.
    Source,
    /// An object waits for another one.
    DependsOn,
    /// An object waits for a gate.
    Gate,
}

impl EdgeKind {
    /// The word in output.
    pub(crate) fn name(self) -> &'static str {
        match self {
            EdgeKind::Applies => "applies",
            EdgeKind::Source => "source",
            EdgeKind::DependsOn => "dependsOn",
            EdgeKind::Gate => "gate",
        }
    }
}

impl Graph {
    /// The relations of one kind that start at a node.
    pub(crate) fn from(&self, node: usize, kind: EdgeKind) -> impl Iterator<Item = usize> {
        let start = self.edges.partition_point(|edge| edge.from < node);
        self.edges[start..]
            .iter()
            .take_while(move |edge| edge.from == node)
            .filter(move |edge| edge.kind == kind)
            .map(|edge| edge.to)
    }
}

impl Graph {
    /// The graph of the clusters that `wanted` names. Nodes are the objects of
    /// Flux and Gates; other objects are counted where they are applied.
    pub(crate) fn of(world: &World, wanted: impl Fn(&Cluster) -> bool) -> Graph {
        let mut graph = Graph::default();
        for cluster in world.applied_clusters().filter(|cluster| wanted(cluster)) {
            ClusterGraph { graph: &mut graph, world, cluster, known: FxHashMap::default() }.add();
        }
        graph.edges.sort_by_key(|edge| (edge.from, edge.kind, edge.to));
        graph.edges.dedup();
        graph
    }
}

fn is_node(id: &ObjectId) -> bool {
    kinds::of(id).is_some() || id.is("gating.toolkit.fluxcd.io", "Gate")
}

/// A graph while one cluster is added to it.
struct ClusterGraph<'g, 'w> {
    graph: &'g mut Graph,
    world: &'w World,
    cluster: &'w Cluster,
    /// The local objects by what references name.
    known: FxHashMap<Called, usize>,
}

impl<'w> ClusterGraph<'_, 'w> {
    fn add(mut self) {
        let roots: Vec<&Applied> =
            self.cluster.applied.iter().filter(|applied| applied.parent.is_none()).collect();
        for applied in &roots {
            self.node(&applied.id, String::new(), true);
        }
        let members = self.written_nodes();
        let charts = helm_charts(self.world, self.cluster, &ApplyTarget::Local);
        for chart in &charts {
            let made = self.node(&chart.id, "(made by helm-controller)".to_owned(), false);
            self.relations(&chart.id, chart.node.get_ref(), made);
            if let Some(release) = self.known.get(&chart.release.called()).copied() {
                self.edge(release, made, EdgeKind::Applies);
            }
        }
        for (id, maker) in self.cluster.generated.iter().filter(|(id, _)| is_node(id)) {
            let made = self.node(id, "(made by a controller)".to_owned(), true);
            let is_maker = |member: &Member| self.world.object(member.object).id.to_string() == *maker;
            if &*id.kind == "ExternalArtifact"
                && let Some((_, generator)) = members.iter().find(|(member, _)| is_maker(member))
            {
                self.edge(made, *generator, EdgeKind::Source);
            }
        }
        let appliers: Vec<usize> =
            self.cluster.applied.iter().map(|applied| self.node(&applied.id, String::new(), true)).collect();
        for (applied, node) in self.cluster.applied.iter().zip(&appliers) {
            self.graph.nodes[*node].note = note(applied);
            self.relations(&applied.id, applied.node.get_ref(), *node);
        }
        for (member, node) in &members {
            if let Some(by) = member.maker.kustomization() {
                self.edge(appliers[by as usize], *node, EdgeKind::Applies);
            }
            if member.target == ApplyTarget::Local {
                let object = self.world.object(member.object);
                self.relations(&object.id, object.node.get_ref(), *node);
            }
        }
        for (member, object) in self.world.written(self.cluster) {
            if !is_node(&object.id)
                && let Some(by) = member.maker.kustomization()
            {
                self.graph.nodes[appliers[by as usize]].others += 1;
            }
        }
    }

    /// Adds what is written, of those kinds that are nodes.
    fn written_nodes(&mut self) -> Vec<(&'w Member, usize)> {
        self.world
            .written(self.cluster)
            .filter(|(_, object)| is_node(&object.id))
            .map(|(member, object)| {
                let note = match &member.target {
                    ApplyTarget::Local => String::new(),
                    ApplyTarget::Remote(name) => format!("(on the cluster of {name})"),
                };
                let is_root = member.maker.kustomization().is_none();
                let node = if member.target == ApplyTarget::Local {
                    self.node(&object.id, note, is_root)
                } else {
                    self.new_node(&object.id, note, is_root)
                };
                (member, node)
            })
            .collect()
    }

    fn node(&mut self, id: &ObjectId, note: String, is_root: bool) -> usize {
        if let Some(known) = self.known.get(&id.called()) {
            return *known;
        }
        let node = self.new_node(id, note, is_root);
        self.known.insert(id.called(), node);
        node
    }

    fn new_node(&mut self, id: &ObjectId, note: String, is_root: bool) -> usize {
        let cluster = self.cluster.name.clone();
        self.graph.nodes.push(GraphNode { object: id.clone(), cluster, note, others: 0, is_root });
        self.graph.nodes.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, kind: EdgeKind) {
        self.graph.edges.push(Edge { from, to, kind });
    }

    fn relations(&mut self, id: &ObjectId, node: NodeRef<'_>, from: usize) {
        let sources = [
            ("/spec/sourceRef", None),
            ("/spec/chartRef", None),
            ("/spec/chart/spec/sourceRef", None),
            ("/spec/imageRepositoryRef", Some("ImageRepository")),
        ];
        for (pointer, kind) in sources {
            if let Some(reference) = node.at(pointer) {
                self.reference(id, reference, kind, from, EdgeKind::Source);
            }
        }
        for reference in node.items_at("/spec/sources") {
            self.reference(id, reference, None, from, EdgeKind::Source);
        }
        for reference in node.items_at("/spec/dependsOn") {
            let kind = id.kind.clone();
            self.reference(id, reference, Some(&kind), from, EdgeKind::DependsOn);
        }
        for reference in node.items_at("/spec/gates") {
            self.reference(id, reference, Some("Gate"), from, EdgeKind::Gate);
        }
    }

    /// The relation to what a reference names, where it is a node. `kind` is
    /// that of references without one.
    fn reference(
        &mut self,
        id: &ObjectId,
        reference: NodeRef<'_>,
        kind: Option<&str>,
        from: usize,
        edge: EdgeKind,
    ) {
        let written = reference.str_at("/kind");
        let (Some(kind), Some(name)) = (written.as_deref().or(kind), reference.str_at("/name")) else {
            return;
        };
        let namespace = reference.str_at("/namespace");
        let wanted = Called::new(kind, namespace.as_deref().or(id.namespace.as_deref()), &name);
        if let Some(to) = self.known.get(&wanted).copied() {
            self.edge(from, to, edge);
        }
    }
}

/// The path that a Kustomization applies, or why nothing of it is here.
fn note(applied: &Applied) -> String {
    let path = if applied.path.is_empty() { "." } else { &applied.path };
    let why = match &applied.outcome {
        Outcome::Built { .. } => String::new(),
        Outcome::Failed(_) => " (can't be built)".to_owned(),
        Outcome::External(why) => format!(" (not here: {why})"),
        Outcome::Unknown(why) => format!(" ({why})"),
        Outcome::MissingPath => " (missing)".to_owned(),
    };
    format!("{path}{why}")
}
