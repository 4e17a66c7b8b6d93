//! Values of a chart and of the charts in it, put together as `CoalesceValues` and
//! `MergeValues` of Helm's `pkg/chart/common/util/coalesce.go` do it.

use super::chart::Chart;
use super::error::{RenderError, refuse};
use super::line::Nulls;
use super::value::{GLOBAL, Kind, Map, Value};
use crate::lang::yaml::Origin;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Something that Helm warns of while it puts values together.
#[derive(Clone, Debug)]
pub struct Warning {
    /// Helm's words.
    pub message: String,
    /// Keys, joined by dots, of the value that it is about: those of charts first.
    pub path: Option<String>,
    /// Where the value that lost was written.
    pub origin: Option<Origin>,
}

impl Warning {
    pub(super) fn new(message: impl Into<String>) -> Warning {
        Warning { message: message.into(), path: None, origin: None }
    }
}

/// Puts values together, and keeps what Helm would say on the way.
pub(super) struct Coalescing {
    pub(super) nulls: Nulls,
    pub(super) warnings: Vec<Warning>,
    /// Whether null is a value, as while values are imported.
    pub(super) merge: bool,
}

fn joined(prefix: &str, key: &str) -> String {
    if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
}

impl Coalescing {
    /// The values that the templates of a chart see, those of its charts below their
    /// names.
    pub(super) fn values(&mut self, chart: &Chart, given: &Value) -> Result<Value, RenderError> {
        let mut values = if given.is_map() { given.clone() } else { Value::empty() };
        if let Some(map) = values.map_mut() {
            self.chart(chart, map, "")?;
            share_down(chart, map);
        }
        Ok(values)
    }

    fn chart(&mut self, chart: &Chart, into: &mut Map, prefix: &str) -> Result<(), RenderError> {
        self.defaults(chart, into, prefix);
        let prefix = joined(prefix, chart.name());
        for inner in &chart.dependencies {
            let name = inner.name();
            let mut own = match into.get_mut(name) {
                None => Value::empty(),
                Some(value) if value.is_map() => std::mem::replace(value, Value::new(Kind::Null)),
                Some(value) => {
                    return refuse(format!("type mismatch on {name}: {}", percent_t(value)));
                }
            };
            if let Some(map) = own.map_mut() {
                self.globals(map, into.get(GLOBAL), &prefix);
                self.chart(inner, map, &prefix)?;
                share(into, map.get(GLOBAL));
            }
            into.insert(name.into(), own);
        }
        Ok(())
    }

    /// `coalesceGlobals`: what the chart around has goes before a chart's own.
    fn globals(&mut self, into: &mut Map, from: Option<&Value>, prefix: &str) {
        let mut own = into.get(GLOBAL).cloned().unwrap_or_else(Value::empty);
        let Some(globals) = own.map_mut() else {
            self.warn("warning: skipping globals because destination global is not a table.");
            return;
        };
        let empty = Map::new();
        let outer = match from.map(|value| &value.kind) {
            None => &empty,
            Some(Kind::Map(map)) => map,
            Some(_) => {
                self.warn("warning: skipping globals because source global is not a table.");
                return;
            }
        };
        for (key, value) in outer {
            match (value.is_map(), globals.get(key)) {
                (true, Some(known)) if known.is_map() => {
                    let mut merged = value.clone();
                    if let (Some(map), Some(known)) = (merged.map_mut(), known.map()) {
                        self.tables(map, known, &joined(prefix, key), true);
                    }
                    globals.insert(key.clone(), merged);
                }
                (true, Some(_)) => {
                    self.warn(&format!("Conflict: cannot merge map onto non-map for {key:?}. Skipping."));
                }
                (false, Some(known)) if known.is_map() => {
                    self.warn(&format!("key {key} is table. Skipping"));
                }
                _ => drop(globals.insert(key.clone(), value.clone())),
            }
        }
        into.insert(GLOBAL.into(), own);
    }

    fn warn(&mut self, message: &str) {
        self.warnings.push(Warning::new(message));
    }

    /// `coalesceValues`: a chart's own values below those that are given.
    fn defaults(&mut self, chart: &Chart, into: &mut Map, prefix: &str) {
        let prefix = joined(prefix, chart.name());
        let Some(own) = chart.values.as_ref().and_then(Value::map) else {
            return;
        };
        let cleans = self.nulls == Nulls::Cleaning;
        for (key, value) in own {
            match into.get_mut(key) {
                Some(given) if given.is_null() && !self.merge => drop(into.remove(key)),
                Some(given) if given.is_map() => match value.map() {
                    None if value.is_null() => {}
                    None => {
                        let path = joined(&prefix, key);
                        self.warnings.push(Warning {
                            message: format!("warning: skipped value for {path}: Not a table."),
                            origin: value.origin.clone(),
                            path: Some(path),
                        });
                    }
                    Some(below) => {
                        let of_chart = chart.dependencies.iter().any(|inner| inner.name() == &**key);
                        let merge = self.merge || of_chart;
                        let Some(given) = given.map_mut() else { continue };
                        let path = joined(&prefix, key);
                        if merge || !cleans {
                            self.tables(given, below, &path, merge);
                        } else if let Some(below) = cleaned(value).map() {
                            self.tables(given, below, &path, merge);
                        }
                    }
                },
                Some(_) => {}
                None if self.merge || !cleans => drop(into.insert(key.clone(), value.clone())),
                None if value.is_null() => {}
                None => drop(into.insert(key.clone(), cleaned(value))),
            }
        }
    }

    /// `coalesceTablesFullKey`: what `into` lacks, it gets of `from`.
    pub(super) fn tables(&mut self, into: &mut Map, from: &Map, prefix: &str, merge: bool) {
        let extends = self.nulls != Nulls::Original;
        // In one generation null deletes itself where it hides nothing.
        let deletes = self.nulls == Nulls::Deleting && !merge;
        let nulls: Vec<Arc<str>> = match deletes {
            true => into.iter().filter(|(_, value)| value.is_null()).map(|(key, _)| key.clone()).collect(),
            false => Vec::new(),
        };
        for (key, value) in from {
            let Some(known) = into.get_mut(key) else {
                into.insert(key.clone(), value.clone());
                continue;
            };
            if known.is_null() && !merge && (!extends || deletes || !value.is_null()) {
                into.remove(key);
                continue;
            }
            // What is null in `into` is null in both.
            let hides = known.is_null() && extends;
            match (value.map(), known.is_map()) {
                (Some(below), true) => {
                    if let Some(known) = known.map_mut() {
                        self.tables(known, below, &joined(prefix, key), merge);
                    }
                }
                (Some(_), false) if !hides => {
                    let path = joined(prefix, key);
                    self.warnings.push(Warning {
                        message: format!(
                            "warning: cannot overwrite table with non table for {path} ({value})"
                        ),
                        origin: known.origin.clone(),
                        path: Some(path),
                    });
                }
                (None, true) if !value.is_null() => {
                    let path = joined(prefix, key);
                    self.warnings.push(Warning {
                        message: format!(
                            "warning: destination for {path} is a table. Ignoring non-table value ({value})"
                        ),
                        origin: value.origin.clone(),
                        path: Some(path),
                    });
                }
                _ => {}
            }
        }
        for key in nulls {
            into.remove(&key);
        }
    }

    /// The warnings, each once.
    pub(super) fn take_warnings(&mut self) -> Vec<Warning> {
        let mut seen = BTreeSet::new();
        let all = std::mem::take(&mut self.warnings);
        all.into_iter().filter(|warning| seen.insert(warning.message.clone())).collect()
    }
}

/// Of the globals that a chart hands on Helm copies the outermost map and the maps in it, and no
/// more (`copyMap`): the maps in those are the same in both charts, so what one of them gets the
/// other has too. Takes such maps over from the globals of the other.
fn share(into: &mut Map, other: Option<&Value>) {
    let (Some(own), Some(others)) = (into.get(GLOBAL).and_then(Value::map), other.and_then(Value::map))
    else {
        return;
    };
    let mut shared = Vec::new();
    for (key, value) in own {
        let both = value.map().zip(others.get(key).and_then(Value::map));
        for (inner, own, other) in both.into_iter().flat_map(|(own, others)| {
            own.iter().filter_map(move |(inner, value)| Some((inner, value, others.get(inner)?)))
        }) {
            let is_same = match (&own.kind, &other.kind) {
                (Kind::Map(own), Kind::Map(other)) => Arc::ptr_eq(own, other),
                _ => true,
            };
            if !is_same {
                shared.push((key.clone(), inner.clone(), other.clone()));
            }
        }
    }
    let Some(globals) = (!shared.is_empty()).then(|| into.get_mut(GLOBAL)).flatten().and_then(Value::map_mut)
    else {
        return;
    };
    for (key, inner, value) in shared {
        if let Some(map) = globals.get_mut(&key).and_then(Value::map_mut) {
            map.insert(inner, value);
        }
    }
}

/// [`share`] from a chart to those in it, once all of them have their values.
fn share_down(chart: &Chart, values: &mut Map) {
    let globals = values.get(GLOBAL).cloned();
    for inner in &chart.dependencies {
        if let Some(own) = values.get_mut(inner.name()).and_then(Value::map_mut) {
            share(own, globals.as_ref());
            share_down(inner, own);
        }
    }
}

/// Without null in maps.
fn cleaned(value: &Value) -> Value {
    let Some(map) = value.map() else { return value.clone() };
    if !has_null(map) {
        return value.clone();
    }
    let kept = map.iter().filter(|(_, value)| !value.is_null());
    let kept: Map = kept.map(|(key, value)| (key.clone(), cleaned(value))).collect();
    Value { kind: Kind::Map(Arc::new(kept)), origin: value.origin.clone() }
}

fn has_null(map: &Map) -> bool {
    map.values().any(|value| value.is_null() || value.map().is_some_and(has_null))
}

/// `%t` of what is no boolean, but for one that is.
fn percent_t(value: &Value) -> String {
    /// Of what a list or a map holds: there null is printed without the verb.
    fn inner(value: &Value) -> String {
        if value.is_null() { "<nil>".to_owned() } else { percent_t(value) }
    }
    match &value.kind {
        Kind::Bool(value) => value.to_string(),
        Kind::Null => "%!t(<nil>)".to_owned(),
        Kind::List(items) => {
            let items: Vec<String> = items.iter().map(inner).collect();
            format!("[{}]", items.join(" "))
        }
        Kind::Map(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by(|a, b| a.0.cmp(b.0));
            let shown = entries.iter().map(|(key, value)| format!("%!t(string={key}):{}", inner(value)));
            format!("map[{}]", shown.collect::<Vec<_>>().join(" "))
        }
        _ => format!("%!t({}={value})", value.go_type()),
    }
}
