//! `duplicate-object`: one object applied by several Kustomizations.
//! Source: kustomize-controller `apply`; `prune` deletes by inventory what carries
//! the owner labels of the Kustomization that drops it (`DeleteOptions.Inclusions`),
//! and those are of the one that applied last.

use super::listed;
use crate::lang::text::counted;
use crate::lang::yaml::{Known, Location, Node, NodeRef, pointer_join};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::world::{Applied, Effective};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static RULE: Rule = Rule {
    id: "duplicate-object",
    group: Group::Reference,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "one object applied by several Kustomizations",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/reference/duplicate-object.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    // Overlays of a repository without entry points are alternatives.
    if view.cluster.name.is_none() {
        return;
    }
    let mut by_identity: FxHashMap<_, Vec<(&Applied, &Effective)>> = FxHashMap::default();
    for (member, object) in view.written() {
        let Some(index) = member.maker.kustomization() else { continue };
        if object.id.name.is_empty() || object.id.is_unknown() || member.target.is_unknown() {
            continue;
        }
        let id = &object.id;
        let key = (&member.target, id.named());
        by_identity.entry(key).or_default().push((&view.cluster.applied[index as usize], object));
    }
    let mut several: Vec<_> = by_identity.into_iter().filter(|(_, list)| list.len() > 1).collect();
    several.sort_unstable_by_key(|(key, _)| *key);
    let own: Vec<AppliesItself<'_>> =
        several.iter().filter_map(|(_, list)| AppliesItself::of(list)).collect();
    let mut told: Vec<AppliedTwice> = own.iter().map(|_| AppliedTwice::default()).collect();
    let mut around: BTreeMap<&ObjectId, AppliedAround<'_>> = BTreeMap::new();
    for (_, list) in &several {
        if list.iter().any(|(_, object)| left_alone(object)) {
            continue;
        }
        let Some(several) = AppliedSeveral::of(list) else { continue };
        if let Some(cause) = own.iter().position(|cause| cause.explains(list)) {
            let is_itself = several.first().id == own[cause].applied.id;
            let is_changed = matches!(several.weight, Weight::Content);
            if is_itself || !is_changed {
                told[cause].count += 1;
                if is_itself {
                    told[cause].is_changed = is_changed;
                    told[cause].differences = several.differences;
                }
                continue;
            }
        }
        match several.around(view) {
            Some(outer) => {
                let new = || AppliedAround { outer, objects: Vec::new() };
                around.entry(&outer.id).or_insert_with(new).objects.push(several);
            }
            None => several.report(report),
        }
    }
    around.values().for_each(|around| around.report(report));
    for (cause, told) in own.iter().zip(told).filter(|(_, told)| told.count > 0) {
        cause.report(&told, report);
    }
}

/// The first object of each Kustomization.
fn one_of_each<'a>(list: &[(&'a Applied, &'a Effective)]) -> Vec<(&'a Applied, &'a Effective)> {
    let mut known: BTreeSet<&ObjectId> = BTreeSet::new();
    list.iter().copied().filter(|(by, _)| known.insert(&by.id)).collect()
}

/// An object that several Kustomizations apply.
struct AppliedSeveral<'a> {
    /// At least two, each with its object.
    appliers: Vec<(&'a Applied, &'a Effective)>,
    /// Its name, as the last of them applies it.
    location: Location,
    weight: Weight,
    differences: Vec<String>,
}

impl<'a> AppliedSeveral<'a> {
    fn of(list: &[(&'a Applied, &'a Effective)]) -> Option<AppliedSeveral<'a>> {
        let appliers = one_of_each(list);
        let (_, last) = appliers.get(1..)?.last()?;
        let location = last.node.get_ref().location_at("/metadata/name")?;
        let (weight, differences) = Differences::between(&appliers).told();
        Some(AppliedSeveral { appliers, location, weight, differences })
    }

    fn first(&self) -> &'a Effective {
        self.appliers[0].1
    }

    /// How many of the appliers delete what they no longer apply.
    fn pruned(&self) -> usize {
        let prunes =
            |by: &Applied| by.node.get_ref().at("/spec/prune").and_then(NodeRef::as_bool) == Some(true);
        self.appliers.iter().filter(|(by, _)| prunes(by)).count()
    }

    fn level(&self) -> Level {
        let id = &self.first().id;
        let namespace = &*id.kind == "Namespace" && id.group().is_empty();
        match self.weight {
            Weight::Content if !namespace && self.pruned() == self.appliers.len() => Level::Error,
            Weight::Content | Weight::Metadata if !namespace => Level::Warning,
            _ => Level::Info,
        }
    }

    /// The one applier that applies all the others and finds the object's file below its path,
    /// in theirs.
    fn around(&self, view: &ClusterView<'a>) -> Option<&'a Applied> {
        let applied = &view.cluster.applied;
        let parent = |by: &Applied| applied.get(by.parent? as usize);
        let file = |object: &Effective| Some(object.node.get_ref().location_at("/metadata/name")?.file);
        let own = file(self.first())?;
        let is_around = |outer: &&Applied| {
            let others = self.appliers.iter().filter(|(by, _)| by.id != outer.id);
            others.clone().count() + 1 == self.appliers.len()
                && others.clone().all(|(by, _)| {
                    parent(by).is_some_and(|above| above.id == outer.id) && is_below(&by.path, &outer.path)
                })
        };
        // Of the first two it has applied at least one.
        let outer = self.appliers.iter().take(2).filter_map(|(by, _)| parent(by)).find(is_around)?;
        self.appliers.iter().all(|(_, object)| file(object).as_ref() == Some(&own)).then_some(outer)
    }

    /// At its last applier, unless a `namespace` alone brought it there.
    fn report(&self, report: &mut Reporter<'_>) {
        let first = self.first();
        let foreign = foreign_namespace(&self.appliers);
        let names: Vec<String> = self.appliers.iter().map(|(by, _)| by.id.name.to_string()).collect();
        let help = match &foreign {
            Some(_) => "correct this namespace, or apply it from one Kustomization only",
            None => "apply it from one Kustomization only",
        };
        let location = foreign.unwrap_or_else(|| self.location.clone());
        let finding = report.report(location, format!("{}: applied by {}", first.id, listed(&names)));
        finding
            .level(self.level())
            .why(format!("{}{}", disagreement(&self.differences), pruning(self.pruned())))
            .help(help)
            .object(&first.id)
            .field("/metadata/name", names.join(" "));
        for (by, object) in &self.appliers {
            if let Some(place) = object.node.get_ref().location_at("/metadata/name") {
                finding.related(format!("applied by {}", by.id.name), place);
            }
        }
    }
}

/// What a Kustomization that applies itself explains.
#[derive(Default)]
struct AppliedTwice {
    /// Objects that are applied twice, itself among them.
    count: usize,
    /// Where the two differ that are applied of itself.
    differences: Vec<String>,
    /// Whether that is more than labels and annotations.
    is_changed: bool,
}

/// A Kustomization whose `spec.path` holds the file that defines it, while another one
/// applies that file too: everything that both find there is applied twice.
struct AppliesItself<'a> {
    applied: &'a Applied,
    by: BTreeSet<&'a ObjectId>,
}

impl<'a> AppliesItself<'a> {
    fn of(list: &[(&'a Applied, &'a Effective)]) -> Option<AppliesItself<'a>> {
        let (_, object) = list.first()?;
        let (applied, _) = list.iter().find(|(by, _)| by.id == object.id && by.parent.is_some())?;
        let by: BTreeSet<&ObjectId> = list.iter().map(|(by, _)| &by.id).collect();
        (by.len() > 1).then_some(AppliesItself { applied, by })
    }

    /// Whether that is why an object is applied several times.
    fn explains(&self, list: &[(&Applied, &Effective)]) -> bool {
        list.iter().any(|(by, _)| by.id == self.applied.id)
            && list.iter().all(|(by, _)| self.by.contains(&by.id))
    }

    fn report(&self, told: &AppliedTwice, report: &mut Reporter<'_>) {
        let node = self.applied.node.get_ref();
        let Some(location) = node.location_at("/spec/path").or_else(|| node.location()) else { return };
        let others: String = match told.count {
            0 | 1 => String::new(),
            count => format!(" with {}", counted(count - 1, "object")),
        };
        let names: Vec<String> =
            self.by.iter().filter(|by| **by != &self.applied.id).map(|by| by.name.to_string()).collect();
        let finding = report.report(location, format!("{}: spec.path holds its own file", self.applied.id));
        finding
            .level(if told.is_changed { Level::Error } else { Level::Info })
            .why(format!(
                "{} {} it{others}, and so does it itself: {}{}",
                listed(&names),
                if names.len() == 1 { "applies" } else { "apply" },
                disagreement(&told.differences),
                pruning(1)
            ))
            .help("move the file out of spec.path, or leave it out there by a kustomization.yaml")
            .object(&self.applied.id)
            .field("/spec/path", self.applied.path.as_str());
        if let Some(place) = node.location_at("/metadata/name") {
            finding.related("its own file", place);
        }
    }
}

/// A Kustomization that finds in the directories below its `spec.path` what other ones, which
/// it applies itself, are there for.
struct AppliedAround<'a> {
    outer: &'a Applied,
    objects: Vec<AppliedSeveral<'a>>,
}

impl AppliedAround<'_> {
    /// Kustomizations inside, and objects, from which on it is one cause, not a slip at each.
    const MANY: usize = 3;

    fn report(&self, report: &mut Reporter<'_>) {
        let node = self.outer.node.get_ref();
        let place = node.location_at("/spec/path").or_else(|| node.location());
        let level = self.objects.iter().map(AppliedSeveral::level).max();
        let appliers = self.objects.iter().flat_map(|several| &several.appliers);
        let inner: BTreeSet<&ObjectId> =
            appliers.map(|(by, _)| &by.id).filter(|by| **by != self.outer.id).collect();
        let is_one_cause = inner.len() >= Self::MANY && self.objects.len() >= Self::MANY;
        let (Some(place), Some(level), true) = (place, level, is_one_cause) else {
            self.objects.iter().for_each(|several| several.report(report));
            return;
        };
        let others = counted(inner.len(), "other Kustomization");
        let what = format!("{}: it applies what {others} in its spec.path apply too", self.outer.id);
        let differing = self.objects.iter().filter(|several| !several.differences.is_empty());
        let shown: BTreeSet<&String> = differing.clone().flat_map(|several| &several.differences).collect();
        let shown: Vec<String> = shown.into_iter().cloned().collect();
        let same = match differing.count() {
            0 => ", and the same".to_owned(),
            count if count == self.objects.len() => format!(": {}", disagreement(&shown)),
            count => format!(", {count} of them not the same: {}", disagreement(&shown)),
        };
        let pruned = self.objects.iter().map(AppliedSeveral::pruned).max().unwrap_or_default();
        let finding = report.report(place, what);
        finding
            .level(level)
            .why(format!("{} objects are applied more than once{same}{}", self.objects.len(), pruning(pruned)))
            .help(format!(
                "let a kustomization.yaml in ./{} list the Kustomizations alone, or move what they apply out of it",
                self.outer.path
            ))
            .object(&self.outer.id)
            .field("/spec/path", self.outer.path.as_str());
        for several in self.objects.iter().filter(|several| several.level() == level).take(3) {
            finding.related(
                format!("{} is applied more than once", several.first().id),
                several.location.clone(),
            );
        }
    }
}

/// Whether a directory lies in another one.
fn is_below(path: &str, around: &str) -> bool {
    around.is_empty() && !path.is_empty()
        || path.strip_prefix(around).is_some_and(|rest| rest.starts_with('/'))
}

/// The `namespace` that alone brings an object to where another one is: a kustomization's
/// or a `targetNamespace` that stands elsewhere than in a directory of that name.
fn foreign_namespace(appliers: &[(&Applied, &Effective)]) -> Option<Location> {
    let namespace = appliers.first()?.1.id.namespace.clone()?;
    let mut places: Vec<Location> = appliers
        .iter()
        .filter_map(|(_, object)| {
            let node = object.node.get_ref();
            let (own, place) =
                (node.location_at("/metadata/name")?, node.location_at("/metadata/namespace")?);
            let is_home = place.file.shown().split('/').any(|segment| *segment == *namespace);
            (own.file != place.file && !is_home).then_some(place)
        })
        .collect();
    places.dedup_by(|a, b| a.file == b.file && a.start == b.start);
    let [place] = places.as_slice() else { return None };
    Some(place.clone())
}

/// How much a difference weighs.
#[derive(Clone, Copy)]
enum Weight {
    Nothing,
    /// Labels and annotations alone.
    Metadata,
    Content,
}

/// Pointers at which objects differ.
#[derive(Default)]
struct Differences {
    /// By their own texts.
    own: Vec<String>,
    /// By labels and annotations that `commonMetadata` of one of the appliers sets.
    common: Vec<String>,
}

impl Differences {
    /// Those of the first object from each of the others.
    fn between(appliers: &[(&Applied, &Effective)]) -> Differences {
        let mut differences = Differences::default();
        let (first_by, first) = appliers[0];
        for (by, object) in &appliers[1..] {
            let common = [first_by, by].map(|by| by.node.get_ref().at("/spec/commonMetadata"));
            differ(first.node.get_ref(), object.node.get_ref(), "", &common, &mut differences);
        }
        differences
    }

    /// What they weigh, and all of them in order.
    fn told(self) -> (Weight, Vec<String>) {
        let is_metadata = |pointer: &String| {
            ["/metadata/labels", "/metadata/annotations"].iter().any(|start| pointer.starts_with(start))
        };
        let weight = match (self.own.is_empty(), self.own.iter().all(is_metadata)) {
            (true, _) => Weight::Nothing,
            (false, true) => Weight::Metadata,
            (false, false) => Weight::Content,
        };
        let mut all = self.own;
        all.extend(self.common);
        all.sort();
        all.dedup();
        (weight, all)
    }
}

/// What the appliers do to each other.
fn disagreement(differences: &[String]) -> String {
    let shown: Vec<String> = differences.iter().take(3).cloned().collect();
    match differences.len() {
        0 => "they apply the same".to_owned(),
        count @ 1..=3 => {
            let verb = if count == 1 { "it is" } else { "they are" };
            format!("they differ in {}: {verb} changed to and fro with each reconciliation", listed(&shown))
        }
        count => format!(
            "they differ in {} and {}, which change to and fro with each reconciliation",
            shown.join(", "),
            counted(count - 3, "other field")
        ),
    }
}

/// kustomize-controller prunes what carries its own owner labels, which the one
/// that applied last has written.
fn pruning(pruned: usize) -> &'static str {
    match pruned {
        0 => "",
        _ => {
            "; when the one that applied it last drops it, it is deleted, until another one applies it again"
        }
    }
}

/// Pointers at which two objects are known to differ; labels and annotations that
/// `commonMetadata` of one of the appliers sets are apart.
fn differ(
    one: NodeRef<'_>,
    other: NodeRef<'_>,
    pointer: &str,
    common: &[Option<NodeRef<'_>>; 2],
    found: &mut Differences,
) {
    if one.is_map() && other.is_map() {
        let ignored = match pointer {
            "/metadata/labels" => Some("labels"),
            "/metadata/annotations" => Some("annotations"),
            _ => None,
        };
        let is_common = |key: &str| {
            let has = |metadata: &NodeRef<'_>| {
                ignored.and_then(|field| metadata.get(field)).is_some_and(|map| map.get(key).is_some())
            };
            common.iter().flatten().any(has)
        };
        // The maps themselves may be there because of what is common.
        let metadata = |key: &str| pointer == "/metadata" && matches!(key, "labels" | "annotations");
        let nothing = Node::empty_map(None);
        for entry in one.entries() {
            let place = pointer_join(pointer, &entry.key);
            match other.get(&entry.key) {
                Some(twin) if is_common(&entry.key) => {
                    if entry.value.same_value(twin) == Known::Value(false) {
                        found.common.push(place);
                    }
                }
                Some(twin) => differ(entry.value, twin, &place, common, found),
                None if metadata(&entry.key) => differ(entry.value, nothing.get_ref(), &place, common, found),
                None if is_common(&entry.key) => found.common.push(place),
                None => found.own.push(place),
            }
        }
        for entry in other.entries().filter(|entry| one.get(&entry.key).is_none()) {
            let place = pointer_join(pointer, &entry.key);
            match (metadata(&entry.key), is_common(&entry.key)) {
                (true, _) => differ(nothing.get_ref(), entry.value, &place, common, found),
                (_, true) => found.common.push(place),
                _ => found.own.push(place),
            }
        }
    } else if one.is_seq() && other.is_seq() && one.items().count() == other.items().count() {
        for (index, (one, other)) in one.items().zip(other.items()).enumerate() {
            differ(one, other, &pointer_join(pointer, &index.to_string()), common, found);
        }
    } else if one.same_value(other) == Known::Value(false) {
        found.own.push(pointer.to_owned());
    }
}

/// Objects that an annotation or label takes out of plain apply.
fn left_alone(object: &Effective) -> bool {
    let node = object.node.get_ref();
    ["labels", "annotations"].iter().any(|map| {
        let value = |key: &str| {
            let map = node.at(&format!("/metadata/{map}"))?;
            map.get(key).and_then(NodeRef::text).map(|text| text.to_ascii_lowercase())
        };
        matches!(
            value("kustomize.toolkit.fluxcd.io/ssa").as_deref(),
            Some("merge" | "ifnotpresent" | "ignore")
        ) || value("kustomize.toolkit.fluxcd.io/reconcile").as_deref() == Some("disabled")
    })
}
