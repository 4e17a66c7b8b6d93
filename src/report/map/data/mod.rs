//! What the page draws, as JSON: clusters, items, edges, findings, effects, the
//! timeline. The keys are short, because a fleet has thousands of items; the
//! script of the page names them.

mod item;
mod json;

use super::FleetMap;
use crate::lang::text::clean;
use crate::lang::yaml::{Known, Location};
use crate::lint::Finding;
use crate::model::Severity;
use crate::model::kinds;
use crate::model::kinds::NOTIFICATION;
use crate::model::{ObjectId, cluster_api_kinds};
use crate::plan::Effect;
use crate::report::layout::{Area, Size, layered, shelves};
use crate::simulate::notify::alerts::{Alert, selects};
use crate::simulate::notify::objects::{involved_object, labels_of};
use crate::simulate::suspend::suspension;
use crate::world::graph::{EdgeKind, Graph, GraphNode};
use crate::world::{Applied, ApplyTarget, Cluster, Effective, Outcome};
use item::{MapItem, fields};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

/// Rows that a box shows; the list of the page has all.
const ROWS: usize = 12;

/// Widths and heights that the script of the page draws with, in pixels.
const WIDTH: u32 = 250;
const HEAD: u32 = 40;
const ROW: u32 = 18;
const TITLE: u32 = 60;
const MARGIN: u32 = 24;

/// Everything that the page needs.
pub(super) fn data(map: &FleetMap<'_>) -> Value {
    let mut drawing = Drawing {
        map,
        items: Vec::new(),
        edges: Vec::new(),
        places: FxHashMap::default(),
        clusters: Vec::new(),
    };
    for (number, index) in map.clusters.iter().enumerate() {
        drawing.cluster(number, &map.world.clusters[*index]);
    }
    let findings = drawing.findings();
    let effects = drawing.effects();
    drawing.shock_wave();
    let areas = drawing.lay_out();
    let time = drawing.time();
    drawing.json(&areas, &findings, &effects, &time)
}

struct Drawing<'m, 'a> {
    map: &'m FleetMap<'a>,
    items: Vec<MapItem<'a>>,
    /// (from, to, kind), the kind by its place in the script's list.
    edges: Vec<(usize, usize, usize)>,
    /// The item of an object, or that which applies it, by cluster.
    places: FxHashMap<(usize, ObjectId), usize>,
    /// The cluster of each number: its name, what is said beside it, and how
    /// certain it is.
    clusters: Vec<(String, String, &'static str)>,
}

/// The script's number of a relation.
const APPLIES: usize = 0;
const ALERT: usize = 4;

fn number(kind: EdgeKind) -> usize {
    match kind {
        EdgeKind::Applies => APPLIES,
        EdgeKind::Source => 1,
        EdgeKind::DependsOn => 2,
        EdgeKind::Gate => 3,
    }
}

impl<'a> Drawing<'_, 'a> {
    fn cluster(&mut self, number: usize, cluster: &'a Cluster) {
        let world = self.map.world;
        let name = match &cluster.name {
            Some(name) => name.to_string(),
            None if cluster.root.is_empty() => "this repository".to_owned(),
            None => cluster.root.clone(),
        };
        let flux = cluster.settings.flux.value.map(|version| format!("Flux {version}, "));
        let root = if cluster.root.is_empty() { "." } else { &cluster.root };
        let place = if *root == name { "" } else { root };
        let about = format!("{}{place}", flux.unwrap_or_default());
        self.clusters.push((name, about.trim_end_matches(", ").to_owned(), cluster.certainty.name()));
        let graph = Graph::of(world, |other| std::ptr::eq(other, cluster));
        let first = self.items.len();
        let applied: FxHashMap<&ObjectId, &Applied> =
            cluster.applied.iter().map(|applied| (&applied.id, applied)).collect();
        let members: FxHashMap<&ObjectId, &'a Effective> = world
            .written(cluster)
            .filter(|(member, _)| member.target == ApplyTarget::Local)
            .map(|(_, object)| (&object.id, object))
            .collect();
        for node in &graph.nodes {
            let item = self.item(number, cluster, node, applied.get(&node.object).copied(), &members);
            self.places.insert((number, node.object.clone()), self.items.len());
            self.items.push(item);
        }
        self.edges.extend(
            graph
                .edges
                .iter()
                .filter(|edge| edge.from != edge.to)
                .map(|edge| (first + edge.from, first + edge.to, self::number(edge.kind))),
        );
        self.topologies(number, cluster, &members);
        self.rows(number, first, &graph, &applied);
        self.others(number, cluster);
        self.alerts(first, &members);
    }

    fn item(
        &self,
        number: usize,
        cluster: &Cluster,
        node: &GraphNode,
        applied: Option<&Applied>,
        members: &FxHashMap<&ObjectId, &'a Effective>,
    ) -> MapItem<'a> {
        let mut item = MapItem::new(number, node.object.clone());
        item.note.clone_from(&node.note);
        if let Some(applied) = applied {
            match &applied.outcome {
                Outcome::Built { .. } => {}
                Outcome::Failed(_) => {
                    item.states.push("missing");
                    item.why = "its build fails".to_owned();
                }
                Outcome::MissingPath => {
                    item.states.push("missing");
                    item.why = "its path does not exist".to_owned();
                }
                Outcome::External(why) | Outcome::Unknown(why) => {
                    item.states.push("unfollowed");
                    item.why.clone_from(why);
                }
            }
        }
        let effective = members.get(&node.object).copied();
        let root =
            effective.map(|object| object.node.get_ref()).or_else(|| applied.map(|a| a.node.get_ref()));
        item.effective = effective;
        if let Some(root) = root {
            let suspended = suspension(&node.object, root, &cluster.settings);
            if suspended.is_some_and(|suspension| suspension.suspended == Some(true)) {
                item.states.push("suspended");
            }
            item.fields = fields(root);
        }
        if let Some(effective) = effective {
            item.files =
                effective.files.iter().map(|(role, location)| self.file(location, role.name())).collect();
        }
        item
    }

    fn file(&self, location: &Location, role: &str) -> Value {
        json!([clean(location.file.shown()), self.map.world.snapshot.positions(location).0.0, role])
    }

    /// Clusters of Cluster API are no objects of Flux, but worth a row.
    fn topologies(
        &mut self,
        number: usize,
        cluster: &'a Cluster,
        members: &FxHashMap<&ObjectId, &'a Effective>,
    ) {
        let world = self.map.world;
        for (_, object) in world.written(cluster) {
            let is_topology = object.id.is(cluster_api_kinds::CORE, "Cluster");
            if !is_topology || self.places.contains_key(&(number, object.id.clone())) {
                continue;
            }
            let node = GraphNode {
                object: object.id.clone(),
                cluster: cluster.name.clone(),
                note: String::new(),
                others: 0,
                is_root: false,
            };
            let item = self.item(number, cluster, &node, None, members);
            self.places.insert((number, object.id.clone()), self.items.len());
            self.items.push(item);
        }
    }

    /// Puts what is no Flux Kustomization into the box of the one that applies
    /// it; what none applies shares a box of its own.
    fn rows(&mut self, number: usize, first: usize, graph: &Graph, applied: &FxHashMap<&ObjectId, &Applied>) {
        let mut by: FxHashMap<usize, usize> = FxHashMap::default();
        for edge in graph.edges.iter().filter(|edge| edge.kind == EdgeKind::Applies) {
            by.entry(first + edge.to).or_insert(first + edge.from);
        }
        let cluster = &self.map.world.clusters[self.map.clusters[number]];
        for (member, object) in self.map.world.written(cluster) {
            if let (Some(index), Some(by_index)) =
                (self.places.get(&(number, object.id.clone())), member.maker.kustomization())
            {
                let applier = &cluster.applied[by_index as usize].id;
                if let Some(box_index) = self.places.get(&(number, applier.clone())) {
                    by.entry(*index).or_insert(*box_index);
                }
            }
        }
        // What a HelmRelease makes stands in the box of whoever applies the release.
        let boxes = |within: usize| self.items.get(within).is_some_and(|item| applied.contains_key(&item.id));
        let inner: Vec<(usize, usize)> = by
            .iter()
            .filter(|(_, within)| !boxes(**within))
            .filter_map(|(index, within)| Some((*index, *by.get(within)?)))
            .collect();
        by.extend(inner);
        let mut loose = None;
        for index in first..self.items.len() {
            if applied.contains_key(&self.items[index].id) {
                continue;
            }
            let within = match by.get(&index) {
                Some(within) => *within,
                None => *loose.get_or_insert_with(|| {
                    self.items.push(MapItem::new(number, without_applier(cluster)));
                    self.items.len() - 1
                }),
            };
            self.items[index].within = Some(within);
            self.items[within].rows.push(index);
        }
        for box_index in first..self.items.len() {
            let mut rows = std::mem::take(&mut self.items[box_index].rows);
            rows.sort_by(|a, b| {
                let key = |index: &usize| {
                    let id = &self.items[*index].id;
                    (rank(&id.kind), id.kind.clone(), id.namespace.clone(), id.name.clone())
                };
                key(a).cmp(&key(b))
            });
            self.items[box_index].rows = rows;
        }
    }

    /// Counts what is no item where it is applied, and remembers where it is.
    fn others(&mut self, number: usize, cluster: &'a Cluster) {
        for (member, object) in self.map.world.written(cluster) {
            let key = (number, object.id.clone());
            if self.places.contains_key(&key) {
                continue;
            }
            let applier = member.maker.kustomization().map(|by| cluster.applied[by as usize].id.clone());
            let within = applier.and_then(|id| self.places.get(&(number, id)).copied());
            let within = match within {
                Some(within) => within,
                None => {
                    match self.items.iter().position(|item| item.cluster == number && item.id.kind.is_empty())
                    {
                        Some(within) => within,
                        None => {
                            self.items.push(MapItem::new(number, without_applier(cluster)));
                            self.items.len() - 1
                        }
                    }
                }
            };
            *self.items[within].others.entry(object.id.kind.to_string()).or_default() += 1;
            self.places.insert(key, within);
        }
    }

    /// Which Alerts select which objects, and where they send.
    fn alerts(&mut self, first: usize, members: &FxHashMap<&ObjectId, &'a Effective>) {
        let alerts: Vec<(usize, Alert)> = (first..self.items.len())
            .filter(|index| self.items[*index].id.is(NOTIFICATION, "Alert"))
            .filter_map(|index| {
                let object = members.get(&self.items[index].id)?;
                Some((index, Alert::of(&object.id, object.node.get_ref())))
            })
            .collect();
        for (index, alert) in &alerts {
            let Some(name) = alert.provider.known() else { continue };
            let provider = (first..self.items.len()).find(|other| {
                let id = &self.items[*other].id;
                id.is(NOTIFICATION, "Provider")
                    && *id.name == *name
                    && id.namespace == self.items[*index].id.namespace
            });
            self.edges.extend(provider.map(|provider| (*index, provider, ALERT)));
        }
        for index in first..self.items.len() {
            let Some(object) = self.items[index].effective else { continue };
            let (involved, labels) = (involved_object(&object.id), labels_of(object.node.get_ref()));
            let selecting = alerts
                .iter()
                .filter(|(_, alert)| matches!(selects(alert, &involved, &labels), Known::Value(true)))
                .map(|(alert, _)| clean(&format!("sent to {}", self.items[*alert].id)).into_owned());
            self.items[index].events = selecting.collect();
        }
    }

    /// Hangs findings on items.
    fn findings(&mut self) -> Vec<&'a Finding> {
        let mut shown: Vec<&'a Finding> = Vec::new();
        for finding in &self.map.outcome.findings {
            let mut hung = false;
            for number in 0..self.clusters.len() {
                let name = self.map.world.clusters[self.map.clusters[number]].name.as_deref();
                let here = finding.clusters.is_empty()
                    || finding.clusters.iter().any(|cluster| Some(&**cluster) == name);
                if !here {
                    continue;
                }
                for id in &finding.objects {
                    if let Some(index) = self.places.get(&(number, id.clone())) {
                        let item = &mut self.items[*index];
                        if item.findings.last() != Some(&shown.len()) {
                            item.findings.push(shown.len());
                        }
                        hung = true;
                    }
                }
            }
            if hung {
                shown.push(finding);
            }
        }
        shown
    }

    /// Hangs effects on items; what the change deletes is drawn again for them.
    fn effects(&mut self) -> Vec<&'a Effect> {
        let Some(change) = &self.map.change else { return Vec::new() };
        let mut shown: Vec<&'a Effect> = Vec::new();
        let mut by_name: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (index, item) in
            self.items.iter().enumerate().filter(|(_, item)| kinds::is_helm_release(&item.id))
        {
            by_name.entry(item.id.name.to_string()).or_default().push(index);
        }
        for effect in change.effects {
            let number = self
                .map
                .clusters
                .iter()
                .position(|index| self.map.world.clusters[*index].name == effect.cluster);
            let Some(number) = number else { continue };
            let key = (number, effect.object.clone());
            if let Some(release) = effect.details.get("release").and_then(Value::as_str) {
                // What a chart makes is no item: its release is.
                let host = self.release(&by_name, number, release);
                if let Some(index) = host {
                    self.items[index].effects.push(shown.len());
                    shown.push(effect);
                }
                continue;
            }
            let index = match self.places.get(&key) {
                Some(index) => *index,
                None => {
                    let within = self.base_applier(number, effect);
                    let index = self.items.len();
                    let mut item = MapItem::new(number, effect.object.clone());
                    item.within = within;
                    item.why = "only in the base of the change".to_owned();
                    self.items.push(item);
                    if let Some(within) = within {
                        self.items[within].rows.insert(0, index);
                    }
                    self.places.insert(key, index);
                    index
                }
            };
            self.items[index].effects.push(shown.len());
            shown.push(effect);
        }
        shown
    }

    /// The item of a release, by namespace and name.
    fn release(&self, by_name: &FxHashMap<String, Vec<usize>>, number: usize, named: &str) -> Option<usize> {
        let (namespace, name) = named.split_once('/')?;
        let own = by_name.get(name)?.iter();
        own.copied().find(|index| {
            let item = &self.items[*index];
            item.cluster == number
                && kinds::is_helm_release(&item.id)
                && item.id.namespace.as_deref().unwrap_or_default() == namespace
        })
    }

    /// The box of what applied an object before the change, if it still stands.
    fn base_applier(&self, number: usize, effect: &Effect) -> Option<usize> {
        let base = self.map.change.as_ref()?.base_world;
        let cluster = base.clusters.iter().find(|cluster| cluster.name == effect.cluster)?;
        let (member, _) = base.written(cluster).find(|(_, object)| object.id == effect.object)?;
        let applier = &cluster.applied[member.maker.kustomization()? as usize].id;
        let index = *self.places.get(&(number, applier.clone()))?;
        (*applier != effect.object && self.items[index].within.is_none()).then_some(index)
    }

    /// Marks what waits for, or is applied by, something that the change stops.
    fn shock_wave(&mut self) {
        let Some(change) = &self.map.change else { return };
        let disruptive: Vec<(Option<&str>, &ObjectId)> = change
            .effects
            .iter()
            .filter(|effect| effect.severity == Severity::Disruptive)
            .map(|effect| (effect.cluster.as_deref(), &effect.object))
            .collect();
        let mut reached: Vec<usize> = (0..self.items.len())
            .filter(|index| {
                let item = &self.items[*index];
                let name = self.map.world.clusters[self.map.clusters[item.cluster]].name.as_deref();
                disruptive.iter().any(|(cluster, id)| *cluster == name && **id == item.id)
            })
            .collect();
        let mut next: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        for (from, to, kind) in &self.edges {
            match *kind {
                APPLIES => next.entry(*from).or_default().push(*to),
                ALERT => {}
                _ => next.entry(*to).or_default().push(*from),
            }
        }
        let first: Vec<usize> = reached.clone();
        let mut seen: Vec<bool> = vec![false; self.items.len()];
        while let Some(index) = reached.pop() {
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            reached.extend(next.get(&index).into_iter().flatten().copied());
        }
        for (index, item) in self.items.iter_mut().enumerate() {
            if seen[index] && !first.contains(&index) {
                item.states.push("shock");
            }
        }
    }

    /// Places all boxes; gives the areas of the clusters.
    fn lay_out(&mut self) -> Vec<Area> {
        let mut boxes: Vec<Vec<usize>> = vec![Vec::new(); self.clusters.len()];
        for (index, item) in self.items.iter().enumerate().filter(|(_, item)| item.within.is_none()) {
            boxes[item.cluster].push(index);
        }
        let mut inner = Vec::new();
        let mut sizes = Vec::new();
        for own in &boxes {
            let place: FxHashMap<usize, usize> =
                own.iter().enumerate().map(|(at, index)| (*index, at)).collect();
            let holder = |index: usize| place.get(&self.items[index].within.unwrap_or(index)).copied();
            let arrows: Vec<(usize, usize)> = self
                .edges
                .iter()
                .filter(|(_, _, kind)| *kind == APPLIES || *kind == number(EdgeKind::DependsOn))
                .filter_map(|(from, to, kind)| {
                    let (from, to) = (holder(*from)?, holder(*to)?);
                    Some(if *kind == APPLIES { (from, to) } else { (to, from) })
                })
                .filter(|(from, to)| from != to)
                .collect();
            let shapes: Vec<Size> = own.iter().map(|index| self.items[*index].size()).collect();
            let (areas, whole) = layered(&shapes, &arrows);
            sizes.push(Size {
                width: whole.width.max(WIDTH) + 2 * MARGIN,
                height: whole.height + TITLE + MARGIN,
            });
            inner.push(areas);
        }
        let (clusters, _) = shelves(&sizes, 2 * MARGIN);
        for ((own, areas), cluster) in boxes.iter().zip(&inner).zip(&clusters) {
            for (index, area) in own.iter().zip(areas) {
                self.items[*index].area =
                    Area { x: cluster.x + MARGIN + area.x, y: cluster.y + TITLE + area.y, ..*area };
            }
        }
        clusters
    }
}

/// What stands for objects that no Flux Kustomization applies.
fn without_applier(cluster: &Cluster) -> ObjectId {
    let name = if cluster.name.is_some() { "by hand or a controller" } else { "applied by no Kustomization" };
    ObjectId { api_version: "".into(), kind: "".into(), namespace: None, name: name.into() }
}

/// Kinds that people look for first stand first.
fn rank(kind: &str) -> usize {
    let order = ["Cluster", "HelmRelease", "ResourceSet", "Gate", "Alert", "Provider", "Receiver"];
    order.iter().position(|first| *first == kind).unwrap_or(order.len())
}
