//! Which values of a release its chart reads under other values only.
//!
//! Three witnesses: no byte of what the chart makes comes from the value and no condition
//! asked it; it is looked up in a branch that was come to and passed over; and a render
//! without it makes the same.

use super::chart::Chart;
use super::dependencies::Processing;
use super::objects::{API_VERSIONS, ChartScope, EACH_API_VERSION};
use super::readers::{Dead, Path, Readers};
use super::reads::{Unrendered, proved_by, without};
use super::value::{Kind, Value};
use super::{Digest, RenderRequest, RenderedChart, Template};
use crate::lang::template::{Engine, OriginId, PassedOver, PathStep, TraceSource};
use crate::lang::yaml::{Location, Origin};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Values of one release that are looked at.
const LOOKED_AT: usize = 500;
/// Steps of the look-ups that are kept of a release, all together.
const STEPS_KEPT: usize = 20_000;

/// A value that does nothing under the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Idle {
    /// Keys and indices from the root of all values.
    pub(crate) path: Path,
    /// Why.
    pub(crate) reason: IdleReason,
    /// What it stands for, where that is more than itself.
    all: Vec<Path>,
}

/// Why a value does nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdleReason {
    /// The chart that it is for takes no part: its name, the values that say so, and how many
    /// more values are for it.
    Off(String, Vec<String>, u64),
    /// It is read in a branch that was passed over: `if`, `with` or `range`, what that asks,
    /// and where.
    PassedOver(&'static str, Arc<str>, Option<Location>),
}

impl Idle {
    /// One that stands for itself alone.
    pub(crate) fn new(path: Path, reason: IdleReason) -> Idle {
        Idle { path, reason, all: Vec::new() }
    }
}

/// What templates asked in a run.
#[derive(Debug)]
pub(super) struct Questions {
    /// What anything comes from that they wrote, or that they asked.
    live: FxHashSet<OriginId>,
    /// The API versions that were asked for; nothing where they are too many.
    versions: Option<BTreeSet<String>>,
    /// What was passed over, by the keys of the values.
    passed: Vec<(Vec<PathStep>, PassedOver)>,
}

impl Questions {
    /// Of a run whose output is cut already.
    pub(super) fn of(rendered: &RenderedChart, engine: &Engine) -> Questions {
        let live = live_ids(rendered, engine.questioned());
        Questions { live, versions: engine.asked_versions(), passed: Vec::new() }
    }

    /// Whether something came of each of a release's values, or each was asked: then none was
    /// passed over.
    pub(super) fn are_of_all(&self, rendered: &RenderedChart, values: &Value) -> bool {
        Touched { live: places_of(rendered, &self.live), passed: Vec::new() }.is_all(values)
    }

    /// Notes what was passed over.
    pub(super) fn pass_over(
        &mut self,
        engine: &Engine,
        templates: &[Template<'_>],
        scopes: &[ChartScope],
        chart: &Chart,
    ) {
        let mut charts = Vec::new();
        value_paths(chart, Vec::new(), &mut charts);
        debug_assert_eq!(charts.len(), scopes.len(), "charts are walked in one order");
        let of_values = |one: PassedOver| {
            let (first, rest) = one.path.split_first()?;
            // What is printed for people has no effect on what is installed.
            let template = templates.get(one.place.source as usize)?;
            let template = Some(template).filter(|own| !own.name.ends_with("NOTES.txt"))?;
            let own = charts.get(template.scope)?.iter().cloned().map(PathStep::Field);
            let path = own.chain(rest.iter().cloned()).collect();
            (*first == PathStep::Field("Values".into())).then_some((path, one))
        };
        self.passed = engine.passed_over().into_iter().filter_map(of_values).collect();
    }
}

/// Where the values of a chart and of those in it lie, in the order of their scopes;
/// those of a library are the values of the chart around it.
fn value_paths(chart: &Chart, path: Path, found: &mut Vec<Path>) {
    let own = match (chart.metadata.is_library(), path.split_last()) {
        (true, Some((_, above))) => above.to_vec(),
        _ => path.clone(),
    };
    found.push(own);
    for inner in &chart.dependencies {
        let below = path.iter().cloned().chain([inner.name().into()]).collect();
        value_paths(inner, below, found);
    }
}

/// What a run did with the values that it was given.
#[derive(Debug)]
pub(crate) struct Touched {
    /// Where those were written that anything comes from, or that were asked.
    live: FxHashSet<Location>,
    /// What was passed over, by the keys of the values, and where.
    passed: Vec<(Vec<PathStep>, PassedOver, Option<Location>)>,
}

impl RenderedChart {
    /// The API versions on whose being in the cluster hangs what templates wrote, or what they
    /// asked; nothing where it hangs on all of them, or questions are not kept.
    pub(crate) fn asked_api_versions(&self) -> Option<BTreeSet<String>> {
        let questions = self.questions.as_ref()?;
        if questions.live.contains(&EACH_API_VERSION) {
            return None;
        }
        if questions.live.contains(&API_VERSIONS) {
            questions.versions.clone()
        } else {
            Some(BTreeSet::new())
        }
    }

    /// What the run did with values, where what it asked was kept.
    ///
    /// It is kept as long as the release: of the places only those of its own `values`, of
    /// the look-ups only those into them, and no more than [`STEPS_KEPT`].
    pub(crate) fn touched(&mut self, values: &Value) -> Option<Touched> {
        let questions = self.questions.take()?;
        let mut own = FxHashSet::default();
        places(values, &mut own);
        let mut live = places_of(self, &questions.live);
        live.retain(|place| own.contains(place));
        live.shrink_to_fit();
        let mut left = STEPS_KEPT;
        let mut is_kept = |path: &[PathStep]| {
            let is_own = matches!(path.first(), Some(PathStep::Field(key)) if values.get(key).is_some());
            left = left.saturating_sub(if is_own { path.len() } else { 0 });
            is_own && left > 0
        };
        let placed = |(path, one): (Vec<PathStep>, PassedOver)| {
            let place = self.place(one.place);
            (path, one, place)
        };
        let passed = questions.passed.into_iter().filter(|(path, _)| is_kept(path)).map(placed).collect();
        Some(Touched { live, passed })
    }
}

impl Touched {
    /// Whether something came of each of a release's values, or each was asked. What two keys
    /// share by an anchor may be read by one of them only.
    fn is_all(&self, values: &Value) -> bool {
        self.is_all_once(values, &mut FxHashSet::default())
    }

    /// Values are no deeper than the reader of YAML lets them be.
    fn is_all_once(&self, value: &Value, seen: &mut FxHashSet<Location>) -> bool {
        match &value.kind {
            Kind::Map(map) if !map.is_empty() => map.values().all(|value| self.is_all_once(value, seen)),
            Kind::List(items) if !items.is_empty() => items.iter().all(|item| self.is_all_once(item, seen)),
            _ => value
                .origin
                .as_ref()
                .map(Origin::location)
                .is_some_and(|place| self.live.contains(&place) && seen.insert(place)),
        }
    }
}

/// The values of a release that its chart reads under other values only; without those in
/// `dead`, which it never reads. `touched` is of a run of the request, which wrote `known`.
pub(crate) fn idle(
    request: &RenderRequest<'_>,
    (touched, known): (&Touched, Option<&Digest>),
    readers: &Readers,
    dead: &[Dead],
) -> Vec<Idle> {
    let mut untouched = Vec::new();
    let dead = dead.iter().map(|dead| &*dead.path).collect();
    let walk = Walk { live: &touched.live, readers, dead };
    walk.value(request.values, &mut Vec::new(), &mut untouched);
    untouched.truncate(LOOKED_AT);
    let off = switched_off(request);
    let mut found: Vec<Idle> = Vec::new();
    for path in untouched {
        let switched = off.iter().find(|(name, _)| path.first() == Some(name));
        if let Some((name, by)) = switched {
            let is_for_it = |idle: &&mut Idle| {
                matches!(idle.reason, IdleReason::Off(..)) && idle.path.first() == Some(name)
            };
            match found.iter_mut().find(is_for_it) {
                Some(Idle { reason: IdleReason::Off(_, _, more), all, .. }) => {
                    *more += 1;
                    all.push(path);
                }
                _ => {
                    let reason = IdleReason::Off(name.to_string(), by.clone(), 0);
                    found.push(Idle { path: path.clone(), reason, all: vec![path] });
                }
            }
        } else if let Some((_, passed, place)) = passed_over(touched, &path) {
            let reason = IdleReason::PassedOver(passed.word, passed.question.clone(), place.clone());
            found.push(Idle { path: path.clone(), reason, all: vec![path] });
        }
    }
    let lacking = |values: &Value, idle: &[Idle]| {
        let all: Vec<&[Arc<str>]> = idle.iter().flat_map(|idle| &idle.all).map(|path| &**path).collect();
        without(values, &all)
    };
    proved_by(request, known, found, &lacking, Unrendered::Proved)
}

/// Where values were written. They are no deeper than the reader of YAML lets them be.
fn places(value: &Value, found: &mut FxHashSet<Location>) {
    found.extend(value.origin.as_ref().map(Origin::location));
    match &value.kind {
        Kind::Map(map) => map.values().for_each(|value| places(value, found)),
        Kind::List(items) => items.iter().for_each(|item| places(item, found)),
        _ => {}
    }
}

/// Where values were written.
fn places_of(rendered: &RenderedChart, ids: &FxHashSet<OriginId>) -> FxHashSet<Location> {
    ids.iter().filter_map(|id| rendered.origins.get(id.0 as usize)).map(Origin::location).collect()
}

/// What anything comes from that was written, and what was asked.
fn live_ids(rendered: &RenderedChart, asked: Vec<OriginId>) -> FxHashSet<OriginId> {
    let mut ids = FxHashSet::from_iter(asked);
    let parts = rendered.written.iter().flat_map(|written| &written.parts);
    // Most parts share what they come from.
    let mut seen = FxHashSet::default();
    let flows = parts.map(|part| &part.from).filter(|flows| seen.insert(flows.as_ptr()));
    for flow in flows.flat_map(|flows| flows.iter()) {
        match &flow.source {
            TraceSource::Value(id) => drop(ids.insert(*id)),
            TraceSource::Absent(maps, _) => ids.extend(maps.iter()),
            TraceSource::Unknown(_) => {}
        }
    }
    ids
}

struct Walk<'w> {
    live: &'w FxHashSet<Location>,
    readers: &'w Readers,
    dead: FxHashSet<&'w [Arc<str>]>,
}

impl Walk<'_> {
    /// Finds the highest values that nothing came from; says whether all of this one is
    /// such a value. Values are no deeper than the reader of YAML lets them be.
    fn value(&self, value: &Value, path: &mut Path, found: &mut Vec<Path>) -> bool {
        let is_own = value.origin.as_ref().is_some_and(|origin| !self.live.contains(&origin.location()));
        let is_known = !matches!(value.kind, Kind::Unknown(_) | Kind::Null);
        if self.dead.contains(&**path) || self.readers.is_switch_itself(path) {
            return false;
        }
        let before = found.len();
        let mut is_all = is_own && is_known;
        match &value.kind {
            Kind::Map(map) => {
                for (key, inner) in map.iter() {
                    path.push(key.clone());
                    is_all &= self.value(inner, path, found);
                    path.pop();
                }
            }
            Kind::List(items) => {
                let mut below = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    path.push(index.to_string().into());
                    is_all &= self.value(item, path, &mut below);
                    path.pop();
                }
            }
            _ => {}
        }
        if is_all && !path.is_empty() {
            found.truncate(before);
            found.push(path.clone());
        }
        is_all
    }
}

/// Charts in the chart that take no part, by the keys of their values, and what decides.
fn switched_off(request: &RenderRequest<'_>) -> Vec<(Arc<str>, Vec<String>)> {
    let Ok(chart) = Processing::new(request.helm).run(request.chart, request.values) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for dependency in request.chart.metadata.dependencies.iter().flatten() {
        let is_here = request.chart.dependencies.iter().any(|inner| inner.name() == dependency.name);
        let name = if dependency.alias.is_empty() { &dependency.name } else { &dependency.alias };
        let takes_part = chart.dependencies.iter().any(|inner| inner.name() == name);
        if is_here && !takes_part {
            let conditions = dependency.condition.split(',').map(str::trim).filter(|one| !one.is_empty());
            let tags = dependency.tags.iter().map(|tag| format!("tags.{tag}"));
            let by = conditions.map(str::to_owned).chain(tags).collect();
            found.push((Arc::from(name.as_str()), by));
        }
    }
    found
}

/// The branch that would read a value: one that names it or goes into it. What only uses a
/// map around it, but for all values of a chart, may hand it on: nothing where that stands under
/// another question, and nothing where the cluster decides on any of them: what it can do is
/// known there alone.
fn passed_over<'t>(
    touched: &'t Touched,
    path: &[Arc<str>],
) -> Option<&'t (Vec<PathStep>, PassedOver, Option<Location>)> {
    let is_step = |(step, key): (&PathStep, &Arc<str>)| match step {
        PathStep::Field(name) => name == key,
        PathStep::Element => true,
        PathStep::Key => false,
    };
    let fits = |read: &[PathStep]| read.iter().zip(path).all(is_step);
    let reads =
        |(read, ..): &&(Vec<PathStep>, PassedOver, Option<Location>)| read.len() >= path.len() && fits(read);
    let of_cluster =
        |(_, one, _): &(Vec<PathStep>, PassedOver, Option<Location>)| one.question.contains(".Capabilities");
    let mut reading = touched.passed.iter().filter(reads).peekable();
    let first = reading.peek().copied()?;
    let hands_on = |(read, one, _): &(Vec<PathStep>, PassedOver, Option<Location>)| {
        let is_all_values = one.path.len() == 1;
        read.len() < path.len() && !is_all_values && fits(read) && one.question != first.1.question
    };
    (!reading.any(of_cluster) && !touched.passed.iter().any(hands_on)).then_some(first)
}
