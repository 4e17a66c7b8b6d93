//! Values of a release that stand where the charts have something of another shape: Helm
//! merges tables with tables alone. Of a table and something else the higher one wins
//! whole, and Helm says so in its log at most (`coalesceTablesFullKey`, `coalesceValues`,
//! `coalesceGlobals` of `pkg/chart/common/util/coalesce.go`).

use super::chart::Chart;
use super::coalesce::Coalescing;
use super::dependencies::Processing;
use super::error::RenderError;
use super::readers::Path;
use super::reads::is_same;
use super::value::{GLOBAL, Kind, Map, Value};
use super::{Keep, RenderRequest, RenderedChart, coalesced, render};
use std::sync::Arc;

/// A value in whose place something else stands.
#[derive(Clone, Debug)]
pub(crate) struct Replaced {
    /// Keys from the root of all values.
    pub(crate) path: Path,
    /// What is lost.
    pub(crate) loss: Loss,
}

/// What is lost.
#[derive(Clone, Debug)]
pub(crate) enum Loss {
    /// A table of the charts, for something that is none.
    Table(Arc<Map>),
    /// Something of the charts that is no table, for a table.
    Other(Value),
    /// The globals, for those charts that are in this one.
    Globals,
}

/// Values of one release that are judged by a render each.
const JUDGED: usize = 40;

/// A walk down the values of a release.
#[derive(Default)]
struct Walk {
    path: Path,
    found: Vec<Replaced>,
}

/// What the values of a release replace, as far as templates don't take it so.
///
/// # Errors
/// Helm refuses them.
pub(crate) fn replaced(request: &RenderRequest<'_>) -> Result<Vec<Replaced>, RenderError> {
    // What Helm refuses is another matter.
    coalesced(request)?;
    let chart = Processing::new(request.helm).run(request.chart, request.values)?;
    let mut coalescing = Coalescing { nulls: request.helm.nulls, warnings: Vec::new(), merge: false };
    let defaults = coalescing.values(&chart, &Value::empty())?;
    let (Some(given), Some(own)) = (request.values.map(), defaults.map()) else { return Ok(Vec::new()) };
    let mut walk = Walk::default();
    walk.maps(given, own);
    walk.charts(&chart, &mut Vec::new(), request.values, &defaults);
    walk.found.sort_by(|one, other| one.path.cmp(&other.path));
    walk.found.dedup_by(|one, other| one.path == other.path);
    walk.found.truncate(JUDGED);
    if walk.found.is_empty() {
        return Ok(walk.found);
    }
    let request = RenderRequest { keep: Keep::Text, ..request.clone() };
    let with = render(&request);
    if with.is_err() && fails_on_the_unknown(&request) {
        return Ok(Vec::new());
    }
    walk.found.retain(|replaced| !is_taken(&request, &with, replaced));
    Ok(walk.found)
}

/// Whether a chart fails on what only a cluster knows: how it takes its values, it does not
/// come to show.
fn fails_on_the_unknown(request: &RenderRequest<'_>) -> bool {
    let asked = render(&RenderRequest { keep: Keep::Questions, ..request.clone() });
    matches!(asked, Err(RenderError::Refused(refusal)) if !refusal.assumed.is_empty())
}

/// Whether the templates take a value in the shape that it has: with another one of this
/// shape something else comes out, and no table is printed as Go prints maps.
fn is_taken(
    request: &RenderRequest<'_>,
    with: &Result<RenderedChart, RenderError>,
    replaced: &Replaced,
) -> bool {
    let given = replaced.path.iter().try_fold(request.values, |value, key| value.get(key));
    let (Some(given), Ok(rendered)) = (given, with) else { return false };
    let kind = match &given.kind {
        Kind::Bool(value) => Kind::Bool(!value),
        Kind::Int(value) => Kind::Int(value.wrapping_add(1)),
        Kind::Float(value) => Kind::Float(value + 1.0),
        Kind::Text(text) => Kind::Text(format!("{text}x").into()),
        Kind::List(_) => Kind::List(Arc::default()),
        Kind::Map(_) => Kind::Map(Arc::default()),
        Kind::Null | Kind::Holes(_) | Kind::Unknown(_) => return false,
    };
    let values = put(request.values, &replaced.path, Value { kind, origin: given.origin.clone() });
    let without = render(&RenderRequest { values: &values, ..request.clone() });
    if is_same(with, &without) {
        return false;
    }
    // An empty one is printed, too.
    let printed = |text: &str| text.matches("map[").count() - text.matches("map[]").count();
    let maps = |rendered: &RenderedChart| -> usize {
        let all = rendered.manifests.iter().chain(&rendered.hooks);
        all.map(|document| printed(&document.text)).sum()
    };
    !matches!(&without, Ok(without) if maps(rendered) > maps(without))
}

/// Values with another one at a path of keys.
fn put(value: &Value, path: &[Arc<str>], new: Value) -> Value {
    let (Some((first, rest)), Some(map)) = (path.split_first(), value.map()) else { return new };
    let mut map = map.clone();
    let inner = map.get(first).map_or_else(|| new.clone(), |inner| put(inner, rest, new.clone()));
    map.insert(first.clone(), inner);
    Value { kind: Kind::Map(Arc::new(map)), origin: value.origin.clone() }
}

impl Walk {
    fn maps(&mut self, given: &Map, own: &Map) {
        for (key, value) in given {
            let Some(default) = own.get(key) else { continue };
            self.path.push(key.clone());
            match (&value.kind, &default.kind) {
                (Kind::Map(given), Kind::Map(own)) => self.maps(given, own),
                (Kind::Null | Kind::Unknown(_), _) => {}
                (Kind::Map(_), _) if is_filled(default) => self.lost(Loss::Other(default.clone())),
                (_, Kind::Map(table)) if !table.is_empty() => self.lost(Loss::Table(table.clone())),
                _ => {}
            }
            self.path.pop();
        }
    }

    fn lost(&mut self, loss: Loss) {
        self.found.push(Replaced { path: self.path.clone(), loss });
    }

    /// Globals against those that the charts in a chart have by default.
    fn charts(&mut self, chart: &Chart, scope: &mut Path, given: &Value, defaults: &Value) {
        let at = |values: &Value, scope: &[Arc<str>]| -> Option<Value> {
            scope
                .iter()
                .chain([&GLOBAL.into()])
                .try_fold(values.clone(), |value, key| value.get(key).cloned())
        };
        let global = at(given, scope);
        for inner in &chart.dependencies {
            let above = scope.clone();
            scope.push(inner.name().into());
            if let Some(global) = &global {
                self.path = above.iter().cloned().chain([GLOBAL.into()]).collect();
                match (&global.kind, at(defaults, scope).as_ref().map(|own| &own.kind)) {
                    (Kind::Map(given), Some(Kind::Map(own))) => self.maps(given, own),
                    (Kind::Map(_) | Kind::Null | Kind::Unknown(_), _) => {}
                    _ => self.lost(Loss::Globals),
                }
                self.path.clear();
            }
            self.charts(inner, scope, given, defaults);
            scope.pop();
        }
    }
}

/// Whether something is lost with it.
fn is_filled(value: &Value) -> bool {
    match &value.kind {
        Kind::Null | Kind::Bool(false) | Kind::Unknown(_) | Kind::Map(_) => false,
        Kind::Bool(true) | Kind::Holes(_) => true,
        Kind::Int(value) => *value != 0,
        Kind::Float(value) => *value != 0.0,
        Kind::Text(text) => !text.is_empty(),
        Kind::List(items) => !items.is_empty(),
    }
}
