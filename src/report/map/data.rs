//! What the page draws, as JSON: clusters, items, edges, findings, effects, the
//! timeline. The keys are short, because a fleet has thousands of items; the
//! script of the page names them.

use super::Map;
use crate::config::Level;
use crate::lang::text::clean;
use crate::lang::yaml::{Known, Location, NodeRef};
use crate::lint::Finding;
use crate::model::Severity;
use crate::model::kinds;
use crate::model::kinds::NOTIFICATION;
use crate::model::{ObjectId, cluster_api_kinds};
use crate::plan::{Effect, Side};
use crate::report::layout::{Area, Size, layered, shelves};
use crate::report::plan::sentence;
use crate::simulate::gating::timeline::{State, SubjectKind};
use crate::simulate::notify::alerts::{Alert, selects};
use crate::simulate::notify::objects::{involved_object, labels_of};
use crate::simulate::suspend::suspension;
use crate::world::graph::{EdgeKind, Graph, GraphNode};
use crate::world::{Applied, ApplyTarget, Cluster, Effective, Outcome};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Rows that a box shows; the list of the page has all.
const ROWS: usize = 12;

/// Widths and heights that the script of the page draws with, in pixels.
const WIDTH: u32 = 250;
const HEAD: u32 = 40;
const ROW: u32 = 18;
const TITLE: u32 = 60;
const MARGIN: u32 = 24;

/// Fields of Flux and Cluster API objects that say what an object does. None of
/// them can hold a secret, but for addresses, which are cut.
const FIELDS: [&str; 34] = [
    "path",
    "url",
    "endpoint",
    "bucketName",
    "ref/branch",
    "ref/tag",
    "ref/semver",
    "ref/name",
    "ref/commit",
    "chart/spec/chart",
    "chart/spec/version",
    "releaseName",
    "targetNamespace",
    "storageNamespace",
    "serviceAccountName",
    "interval",
    "retryInterval",
    "timeout",
    "prune",
    "wait",
    "force",
    "suspend",
    "deletionPolicy",
    "type",
    "channel",
    "eventSeverity",
    "summary",
    "default",
    "window",
    "image",
    "topology/version",
    "topology/class",
    "topology/classRef/name",
    "topology/controlPlane/replicas",
];

/// An object on the map.
struct Item<'a> {
    cluster: usize,
    id: ObjectId,
    /// The item whose box it is a row of; `None` for a box.
    within: Option<usize>,
    /// Rows of a box, in order.
    rows: Vec<usize>,
    /// What a box says below its name.
    note: String,
    /// What it applies that is no item, by kind.
    others: BTreeMap<String, usize>,
    states: Vec<&'static str>,
    why: String,
    effective: Option<&'a Effective>,
    fields: Vec<(String, String)>,
    files: Vec<Value>,
    events: Vec<String>,
    findings: Vec<usize>,
    effects: Vec<usize>,
    area: Area,
}

impl Item<'_> {
    fn new(cluster: usize, id: ObjectId) -> Self {
        Item {
            cluster,
            id,
            within: None,
            rows: Vec::new(),
            note: String::new(),
            others: BTreeMap::new(),
            states: Vec::new(),
            why: String::new(),
            effective: None,
            fields: Vec::new(),
            files: Vec::new(),
            events: Vec::new(),
            findings: Vec::new(),
            effects: Vec::new(),
            area: Area::default(),
        }
    }

    /// The line below the rows.
    fn more(&self) -> String {
        let hidden = self.rows.len().saturating_sub(ROWS);
        let others: usize = self.others.values().sum();
        let objects = if others == 1 { "object" } else { "objects" };
        match (hidden, others) {
            (0, 0) => String::new(),
            (0, others) if self.rows.is_empty() => format!("{others} {objects}"),
            (0, others) => format!("{others} other {objects}"),
            (hidden, 0) => format!("{hidden} more"),
            (hidden, others) => format!("{hidden} more, {others} other {objects}"),
        }
    }

    fn size(&self) -> Size {
        let lines = self.rows.len().min(ROWS) + usize::from(!self.more().is_empty());
        Size { width: WIDTH, height: HEAD + ROW * lines as u32 + if lines == 0 { 0 } else { 6 } }
    }
}

/// Everything that the page needs.
pub(super) fn data(map: &Map<'_>) -> Value {
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
    map: &'m Map<'a>,
    items: Vec<Item<'a>>,
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
    ) -> Item<'a> {
        let mut item = Item::new(number, node.object.clone());
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
                    self.items.push(Item::new(number, without_applier(cluster)));
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
                            self.items.push(Item::new(number, without_applier(cluster)));
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
                    let mut item = Item::new(number, effect.object.clone());
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

    /// What opens and closes within the simulated range.
    fn time(&self) -> Value {
        let Some(range) = self.map.simulations.first().map(|simulation| simulation.range) else {
            return Value::Null;
        };
        let mut rows = Vec::new();
        for (number, simulation) in self.map.simulations.iter().enumerate() {
            for subject in &simulation.subjects {
                let changes = subject.timeline.intervals(range);
                let is_quiet = changes.len() <= 1;
                let is_plain = matches!(subject.kind, SubjectKind::Suspend | SubjectKind::CronJob)
                    && changes.iter().all(|(_, _, state)| *state == State::Opened);
                if is_quiet && is_plain {
                    continue;
                }
                let spans: Vec<Value> = changes
                    .iter()
                    .map(|(from, to, state)| {
                        let to = to.unwrap_or(range.to);
                        json!([from.as_second(), to.as_second(), state.name()])
                    })
                    .collect();
                let words: Vec<String> =
                    changes.iter().map(|(from, _, state)| format!("{} from {from}", state.name())).collect();
                let label = clean(&subject.id.to_string()).into_owned();
                rows.push(json!({
                    "i": self.places.get(&(number, subject.id.clone())).map_or(-1, |index| *index as i64),
                    "l": label,
                    "w": format!("{} in {}", subject.kind.name(), clean(&self.clusters[number].0)),
                    "d": format!("{label}: {}", words.join(", ")),
                    "v": spans,
                }));
            }
        }
        let is_proposal = self.map.simulations.iter().any(|simulation| !simulation.gates.is_empty());
        let note = "No released Flux has gates: what the gating proposal says would happen.";
        json!({
            "from": range.from.as_second(),
            "to": range.to.as_second(),
            "words": format!("{} to {}", range.from, range.to),
            "note": is_proposal.then_some(note),
            "rows": rows,
        })
    }

    fn json(&self, areas: &[Area], findings: &[&Finding], effects: &[&Effect], time: &Value) -> Value {
        let snapshot = &self.map.world.snapshot;
        let clusters: Vec<Value> = self
            .clusters
            .iter()
            .zip(areas)
            .map(|((name, about, certainty), area)| {
                json!({"n": clean(name), "c": certainty, "t": clean(about), "x": area.x, "y": area.y, "w": area.width, "h": area.height})
            })
            .collect();
        let items: Vec<Value> = self.items.iter().map(item_json).collect();
        let findings: Vec<Value> = findings
            .iter()
            .map(|finding| {
                json!({"l": finding.level.name(), "r": finding.rule.id, "m": clean(&finding.title), "w": clean(&finding.why), "h": clean(&finding.help), "p": clean(finding.location.file.shown()), "n": snapshot.positions(&finding.location).0.0})
            })
            .collect();
        let effects: Vec<Value> = effects.iter().map(|effect| self.effect_json(effect)).collect();
        json!({
            "v": env!("CARGO_PKG_VERSION"),
            "summary": self.summary(),
            "clusters": clusters,
            "items": items,
            "edges": self.edges,
            "findings": findings,
            "effects": effects,
            "time": time,
        })
    }

    fn effect_json(&self, effect: &Effect) -> Value {
        let (verb, phrase) = sentence(effect);
        let place = effect.causes.first().and_then(|cause| {
            let base = self.map.change.as_ref()?.base_world;
            let world = if cause.side == Side::Base { base } else { self.map.world };
            Some((
                clean(cause.location.file.shown()).into_owned(),
                world.snapshot.positions(&cause.location).0.0,
            ))
        });
        let consequences: Vec<_> = effect.consequences.iter().map(|text| clean(text)).collect();
        json!({"s": effect.severity.name(), "w": verb, "m": clean(&phrase), "q": consequences, "f": place.as_ref().map(|(path, _)| path), "n": place.as_ref().map(|(_, line)| line)})
    }

    fn summary(&self) -> String {
        let count = |level: Level| self.map.outcome.findings.iter().filter(|f| f.level == level).count();
        let plural = |count: usize, one: &str| crate::lang::text::counted(count, one);
        let mut text = format!(
            "{}, {}; {}, {}",
            plural(self.map.outcome.clusters.len(), "cluster"),
            plural(self.items.iter().filter(|item| !item.id.kind.is_empty()).count(), "object"),
            plural(count(Level::Error), "error"),
            plural(count(Level::Warning), "warning"),
        );
        if let Some(change) = &self.map.change {
            text.push_str(&format!(
                "; {} since {}",
                plural(change.effects.len(), "effect"),
                clean(change.base)
            ));
        }
        text
    }
}

fn item_json(item: &Item<'_>) -> Value {
    let others = item.others.iter().map(|(kind, count)| format!("{count} {}", clean(kind)));
    let mut out = json!({
        "c": item.cluster,
        "k": if item.id.kind.is_empty() { "Objects".into() } else { clean(&item.id.kind) },
        "n": clean(&item.id.name),
        "b": item.within.map_or(-1, |within| within as i64),
    });
    let mut put = |key: &str, value: Value, is_empty: bool| {
        if !is_empty {
            out[key] = value;
        }
    };
    put("s", json!(item.id.namespace.as_deref().map(clean)), item.id.namespace.is_none());
    put("d", json!(clean(&item.note)), item.note.is_empty());
    put("t", json!(item.states), item.states.is_empty());
    put("why", json!(clean(&item.why)), item.why.is_empty());
    put("a", json!(item.fields), item.fields.is_empty());
    put("f", json!(item.files), item.files.is_empty());
    put("e", json!(item.events), item.events.is_empty());
    put("g", json!(item.findings), item.findings.is_empty());
    put("p", json!(item.effects), item.effects.is_empty());
    put("o", json!(others.collect::<Vec<_>>()), item.others.is_empty());
    if item.within.is_none() {
        put("x", json!(item.area.x), false);
        put("y", json!(item.area.y), false);
        put("w", json!(item.area.width), false);
        put("h", json!(item.area.height), false);
        put("r", json!(item.rows.iter().take(ROWS).collect::<Vec<_>>()), item.rows.is_empty());
        put("all", json!(item.rows), item.rows.len() <= ROWS);
        let more = item.more();
        put("m", json!(more), more.is_empty());
    }
    out
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

/// Fields of the effective object, in words.
fn fields(root: NodeRef<'_>) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    for field in FIELDS {
        let Some(node) = root.at(&format!("/spec/{field}")) else { continue };
        let Some(text) = node.text() else { continue };
        let text = if matches!(field, "url" | "endpoint") { without_user(&text) } else { text.into_owned() };
        fields.push((field.replace('/', "."), clean(&text).into_owned()));
    }
    fields
}

/// An address without the user, password and query that it may hold.
fn without_user(url: &str) -> String {
    let bare = url.split(['?', '#']).next().unwrap_or(url);
    match bare.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_once('/').map_or((rest, None), |(a, p)| (a, Some(p)));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            match path {
                Some(path) => format!("{scheme}://{host}/{path}"),
                None => format!("{scheme}://{host}"),
            }
        }
        None => bare.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_their_secrets() {
        for (url, expected) in [
            ("https://user:token@git.example/a/b.git?key=1#x", "https://git.example/a/b.git"),
            ("ssh://git@github.com/a/b", "ssh://github.com/a/b"),
            ("oci://ghcr.io/a/b", "oci://ghcr.io/a/b"),
            ("git@github.com:a/b", "git@github.com:a/b"),
        ] {
            assert_eq!(without_user(url), expected);
        }
    }
}
