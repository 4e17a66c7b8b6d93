//! `unknown-chart-value`: a value that no template of the chart reads.
//! Source: Go `text/template/exec.go` (`evalField`: a key that nothing names is passed over),
//! helm `pkg/engine/engine.go`, `pkg/chart/v2/util/dependencies.go`.

use super::{ReleaseValuePlace, chart_of, doubt, place_of, unread_words, values_files};
use crate::build::helm::{Dead, Kind, Value};
use crate::lang::yaml::{Location, pointer_join, pointer_to};
use crate::lint::{Check, Context, FixAvailability, Group, Level, Reporter, Rule, title};
use crate::model::{ObjectId, Unchecked};
use crate::sources::render::Unread;
use crate::world::releases::Release;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) static RULE: Rule = Rule {
    id: "unknown-chart-value",
    group: Group::Chart,
    level: Level::Warning,
    default: true,
    since: "0.2.0",
    summary: "a value that no template of the chart reads",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/chart/unknown-chart-value.md"),
    check: Check::Repository(check),
};

/// Values of one release that are told of.
const MOST: usize = 200;

/// Clusters that are named.
const NAMED: usize = 3;

/// A pointer into values, and where the key stands.
type ValueKey = (String, Location);

/// A dead value, with those that it is dead for.
struct DeadValue<'w> {
    release: &'w Release,
    dead: Dead,
    unread: Arc<Unread>,
    place: ReleaseValuePlace,
    /// The clusters that it is dead in, and those where it is read or nobody can say.
    clusters: Vec<Option<Arc<str>>>,
    others: Vec<(Option<Arc<str>>, Certainty)>,
    objects: Vec<ObjectId>,
}

/// Whether a chart that isn't said to read nothing reads a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    Read,
    Unknown,
}

fn check(context: &Context<'_>, report: &mut Reporter<'_>) {
    let mut all: Vec<(Option<Arc<str>>, &Release)> = Vec::new();
    for cluster in &context.world.clusters {
        all.extend(cluster.releases.iter().map(|release| (cluster.name.clone(), release)));
    }
    values_files::check(&all, report);
    count_unfollowed(&all, report);
    let mut told: Vec<DeadValue<'_>> = Vec::new();
    let mut at: FxHashMap<ValueKey, usize> = FxHashMap::default();
    for (_, release) in &all {
        for dead in unread(release).iter().flat_map(|unread| unread.dead.iter().take(MOST)) {
            let pointer = pointer_to(&dead.path);
            let Some(place) = place_of(release, &pointer) else { continue };
            let key = (pointer, place.location.clone());
            at.entry(key).or_insert_with(|| {
                let unread = unread(release).unwrap_or_default();
                told.push(DeadValue {
                    release,
                    dead: dead.clone(),
                    unread,
                    place,
                    clusters: Vec::new(),
                    others: Vec::new(),
                    objects: Vec::new(),
                });
                told.len() - 1
            });
        }
    }
    if told.is_empty() {
        return;
    }
    let pointers: FxHashSet<&str> = at.keys().map(|(pointer, _)| &**pointer).collect();
    for (cluster, release) in &all {
        let Ok(values) = &release.values else { continue };
        let mut found = Vec::new();
        among(&values.value, &mut String::new(), &pointers, &mut found);
        let unread = unread(release);
        for pointer in found {
            let Some(place) = place_of(release, &pointer) else { continue };
            let Some(index) = at.get(&(pointer.clone(), place.location)) else { continue };
            let one = &mut told[*index];
            match standing(unread.as_deref(), &one.dead) {
                None => {
                    one.clusters.push(cluster.clone());
                    one.objects.push(release.id.clone());
                }
                Some(certainty) => one.others.push((cluster.clone(), certainty)),
            }
        }
    }
    told.iter().for_each(|one| tell(one, report));
}

/// Counts releases whose charts are too much to follow, each once.
fn count_unfollowed(all: &[(Option<Arc<str>>, &Release)], report: &mut Reporter<'_>) {
    let mut unfollowed = BTreeSet::new();
    for (_, release) in all {
        if release.rendering.as_ref().is_some_and(|rendering| rendering.is_unfollowed()) {
            let what = format!("{}: the chart {}", release.id, chart_of(release));
            if unfollowed.insert(what.clone()) {
                report.not_checked(Unchecked::ChartValues, release.node.get_ref().location(), what);
            }
        }
    }
}

fn unread(release: &Release) -> Option<Arc<Unread>> {
    release.rendering.as_ref().map(|rendering| rendering.unread())
}

/// What the chart of a release that takes a text does with a value of it; `None` where it
/// is dead.
fn standing(unread: Option<&Unread>, dead: &Dead) -> Option<Certainty> {
    match unread {
        Some(unread) if unread.dead.iter().any(|own| own.path == dead.path) => None,
        Some(unread) if unread.is_followed => Some(Certainty::Read),
        _ => Some(Certainty::Unknown),
    }
}

/// Those of some pointers that values have. Values are as deep as YAML may be.
fn among(value: &Value, pointer: &mut String, wanted: &FxHashSet<&str>, found: &mut Vec<String>) {
    if wanted.contains(&**pointer) {
        found.push(pointer.clone());
    }
    let mut below = |key: &str, inner: &Value| {
        let before = pointer.len();
        *pointer = pointer_join(pointer, key);
        among(inner, pointer, wanted, found);
        pointer.truncate(before);
    };
    match &value.kind {
        Kind::Map(map) => map.iter().for_each(|(key, inner)| below(key, inner)),
        Kind::List(items) => {
            items.iter().enumerate().for_each(|(index, inner)| below(&index.to_string(), inner));
        }
        _ => {}
    }
}

fn tell(told: &DeadValue<'_>, report: &mut Reporter<'_>) {
    let DeadValue { release, dead, unread, place, .. } = told;
    let path = &dead.path;
    let (what, mut why) = unread_words(&chart_of(release), unread, dead);
    let mut help = "remove it, or correct its name or its place".to_owned();
    if let Some(elsewhere) = elsewhere(told) {
        why.push_str(&format!(" there; {elsewhere}"));
        help = "leave it where another cluster needs it; where none does, remove it".to_owned();
    }
    if let Some(doubt) = doubt(release) {
        why.push_str(&format!("; {doubt}"));
    }
    let finding = report.report(place.location.clone(), title(&release.id, &what));
    finding
        .why(why)
        .help(help)
        .object(&release.id)
        .field(
            place.path.clone().unwrap_or_default(),
            path.last().map(ToString::to_string).unwrap_or_default(),
        )
        .values_path(pointer_to(path));
    if !told.others.is_empty() {
        finding.level(Level::Info);
    }
    for id in told.objects.iter().filter(|id| **id != release.id) {
        finding.objects.push(id.clone());
    }
    let mut seen = FxHashSet::default();
    finding.objects.retain(|id| seen.insert(id.clone()));
    finding.clusters.extend(told.clusters.iter().flatten().cloned());
    finding.clusters.sort();
    finding.clusters.dedup();
    finding.related.extend(place.related.clone());
}

/// What the other clusters that share the text do with it.
fn elsewhere(told: &DeadValue<'_>) -> Option<String> {
    let of = |wanted: Certainty| {
        let names = told.others.iter().filter(|(_, certainty)| *certainty == wanted);
        let names = names.map(|(name, _)| name.as_deref().unwrap_or("another cluster").to_owned());
        let names: BTreeSet<String> = names.collect();
        let listed: Vec<&str> = names.iter().take(NAMED).map(String::as_str).collect();
        let more =
            if names.len() > NAMED { format!(" and {} more", names.len() - NAMED) } else { String::new() };
        (!names.is_empty()).then(|| format!("{}{more}", listed.join(", ")))
    };
    match (of(Certainty::Read), of(Certainty::Unknown)) {
        (Some(read), _) => Some(format!("the chart that {read} takes reads it from the same text")),
        (None, Some(unknown)) => {
            Some(format!("what the chart of {unknown} does with the same text is not known"))
        }
        (None, None) => None,
    }
}
