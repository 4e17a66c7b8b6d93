//! Which charts take part, and what they give to those around them, as
//! `ProcessDependencies` of Helm's `pkg/chart/v2/util/dependencies.go` does it.

use super::chart::Chart;
use super::coalesce::{Coalescing, Warning};
use super::error::RenderError;
use super::line::{Helm, HelmLine};
use super::metadata::Dependency;
use super::value::{Kind, Map, Value};
use crate::lang::template::{Constraints, Version};
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whether a version lies in a range; a range or version that is none never fits.
pub(super) fn in_range(range: &str, version: &str) -> bool {
    in_range_for(HelmLine::V4_2, range, version)
}

/// As [`in_range`], by the library of a line of Helm.
pub(super) fn in_range_for(line: HelmLine, range: &str, version: &str) -> bool {
    match (Constraints::parse(range), Version::parse(version)) {
        (Ok(range), Ok(version)) if line == HelmLine::V3_17 => range.check_each(&version),
        (Ok(range), Ok(version)) => range.check(&version),
        _ => false,
    }
}

/// Switches and imports for one release.
pub(super) struct Processing {
    helm: Helm,
    pub(super) warnings: Vec<Warning>,
    charts: usize,
    /// The charts that have imported, by the address of their files.
    have_imported: FxHashSet<usize>,
}

/// Charts that take part in one release: aliases within aliases double them with each
/// level, in Helm too.
const CHARTS: usize = 2_000;

impl Processing {
    pub(super) fn new(helm: Helm) -> Processing {
        Processing { helm, warnings: Vec::new(), charts: 0, have_imported: FxHashSet::default() }
    }

    /// The chart as it takes part: without what is switched off, by aliases, with what it
    /// imports.
    pub(super) fn run(&mut self, chart: &Chart, values: &Value) -> Result<Chart, RenderError> {
        let mut chart = chart.clone();
        self.switch(&mut chart, values, "")?;
        self.import(&mut chart)?;
        Ok(chart)
    }

    fn coalesced(&mut self, chart: &Chart, values: &Value, merge: bool) -> Result<Value, RenderError> {
        let mut coalescing = Coalescing { nulls: self.helm.nulls, warnings: Vec::new(), merge };
        let values = coalescing.values(chart, values);
        self.warnings.append(&mut coalescing.warnings);
        values
    }

    fn warn(&mut self, of_4: String, of_3: String) {
        let message = if self.helm.line == HelmLine::V3_17 { of_3 } else { of_4 };
        self.warnings.push(Warning::new(message));
    }

    /// `processDependencyEnabled`.
    fn switch(&mut self, chart: &mut Chart, values: &Value, path: &str) -> Result<(), RenderError> {
        let Some(mut wanted) = chart.metadata.dependencies.clone() else {
            return Ok(());
        };
        let line = self.helm.line;
        let fits = |wanted: &Dependency, chart: &Chart| {
            chart.name() == wanted.name && in_range_for(line, &wanted.version, &chart.metadata.version)
        };
        let is_free = |chart: &&Chart| !wanted.iter().any(|one| fits(one, chart));
        let mut charts: Vec<Chart> = chart.dependencies.iter().filter(is_free).cloned().collect();
        for dependency in &mut wanted {
            if let Some(found) = chart.dependencies.iter().find(|chart| fits(dependency, chart)) {
                let mut found = found.clone();
                if !dependency.alias.is_empty() {
                    Arc::make_mut(&mut found.metadata).name.clone_from(&dependency.alias);
                }
                charts.push(found);
            }
            if !dependency.alias.is_empty() {
                dependency.name.clone_from(&dependency.alias);
            }
            dependency.enabled = true;
        }
        chart.dependencies = charts;
        let values = self.coalesced(chart, values, false)?;
        self.tags(&mut wanted, &values);
        self.conditions(&mut wanted, &values, path);
        let off: BTreeSet<String> =
            wanted.iter().filter(|one| !one.enabled).map(|one| one.name.clone()).collect();
        wanted.retain(|one| !off.contains(&one.name));
        chart.dependencies.retain(|chart| !off.contains(chart.name()));
        self.charts += chart.dependencies.len();
        if self.charts > CHARTS {
            return Err(RenderError::Unable(format!(
                "more than forebay's bound: {CHARTS} charts in a release"
            )));
        }
        for inner in &mut chart.dependencies {
            let path = format!("{path}{}.", inner.name());
            self.switch(inner, &values, &path)?;
        }
        // Helm appends to nothing: what is empty is nil again.
        let wanted = (!wanted.is_empty()).then_some(wanted);
        Arc::make_mut(&mut chart.metadata).dependencies = wanted;
        Ok(())
    }

    fn tags(&mut self, wanted: &mut [Dependency], values: &Value) {
        let Some(tags) = values.get("tags").and_then(Value::map) else {
            return;
        };
        for dependency in wanted {
            let (mut some_true, mut some_false) = (false, false);
            for tag in &dependency.tags {
                match tags.get(&**tag).map(|value| &value.kind) {
                    None => {}
                    Some(Kind::Bool(true)) => some_true = true,
                    Some(Kind::Bool(false)) => some_false = true,
                    Some(_) => self.warn(
                        format!("returned non-bool value tag={tag} chart={}", dependency.name),
                        format!("Warning: Tag '{tag}' for chart {} returned non-bool value", dependency.name),
                    ),
                }
            }
            dependency.enabled = some_true || !some_false;
        }
    }

    fn conditions(&mut self, wanted: &mut [Dependency], values: &Value, path: &str) {
        for dependency in wanted {
            let condition = dependency.condition.trim().to_owned();
            for one in condition.split(',').filter(|one| !one.is_empty()) {
                match at(values, &format!("{path}{one}")).map(|value| &value.kind) {
                    None | Some(Kind::Map(_)) => {}
                    Some(Kind::Bool(value)) => {
                        dependency.enabled = *value;
                        break;
                    }
                    Some(_) => self.warn(
                        format!("returned non-bool value path={one} chart={}", dependency.name),
                        format!(
                            "Warning: Condition path '{one}' for chart {} returned non-bool value",
                            dependency.name
                        ),
                    ),
                }
            }
        }
    }

    /// `processDependencyImportValues`: inner charts first.
    fn import(&mut self, chart: &mut Chart) -> Result<(), RenderError> {
        for inner in &mut chart.dependencies {
            self.import(inner)?;
        }
        if chart.metadata.dependencies.is_none() {
            return Ok(());
        }
        let mut own = self.coalesced(chart, &Value::empty(), true)?;
        let mut imported = Imported::default();
        // A chart under two names has one list of imports, which the first one rewrites to what
        // Helm 3 does not read.
        let is_first = self.have_imported.insert(Arc::as_ptr(&chart.all).addr());
        let is_read = is_first || self.helm.line != HelmLine::V3_17;
        let metadata = Arc::make_mut(&mut chart.metadata);
        for dependency in metadata.dependencies.iter_mut().flatten() {
            let mut shown = Vec::new();
            for one in std::mem::take(&mut dependency.import_values) {
                let (child, parent) = match &one.kind {
                    _ if !is_read => continue,
                    Kind::Map(map) => {
                        let part = |key: &str| map.get(key).map_or("<nil>".to_owned(), Value::to_string);
                        (part("child"), part("parent"))
                    }
                    Kind::Text(text) => (format!("exports.{text}"), ".".to_owned()),
                    _ => continue,
                };
                shown.push(pair(&child, &parent));
                let source = format!("{}.{child}", dependency.name);
                match at(&own, &source).and_then(Value::map).cloned() {
                    Some(table) => imported.add(&mut own, &source, &parent, table, self.helm),
                    None => self.missing(&one, &dependency.name, &own, &source),
                }
            }
            dependency.import_values = shown;
        }
        let mut coalescing = Coalescing { nulls: self.helm.nulls, warnings: Vec::new(), merge: true };
        if let Some(map) = own.map_mut() {
            coalescing.tables(map, &imported.values, "", true);
        }
        self.warnings.append(&mut coalescing.warnings);
        chart.values = Some(own);
        Ok(())
    }

    fn missing(&mut self, one: &Value, chart: &str, values: &Value, path: &str) {
        let mut known = values;
        let mut missing = path;
        for part in path.split('.') {
            missing = part;
            match known.get(part) {
                Some(next) if next.is_map() => known = next,
                _ => break,
            }
        }
        let why = format!("\"{missing}\" is not a table");
        let quoted = format!("{why:?}");
        if one.is_map() {
            self.warn(
                format!("ImportValues missing table from chart chart={chart} error={quoted}"),
                format!("Warning: ImportValues missing table from chart {chart}: {why}"),
            );
        } else {
            self.warn(
                format!("ImportValues missing table error={quoted}"),
                format!("Warning: ImportValues missing table: {why}"),
            );
        }
    }
}

fn pair(child: &str, parent: &str) -> Value {
    let entries = [("child", child), ("parent", parent)];
    let map: Map = entries.into_iter().map(|(key, text)| (key.into(), Value::text(text))).collect();
    Value::new(Kind::Map(Arc::new(map)))
}

/// The value at keys that are joined by dots.
pub(super) fn at<'v>(values: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(values, |value, key| value.get(key))
}

fn at_mut<'v>(values: &'v mut Value, path: &[String]) -> Option<&'v mut Value> {
    path.iter().try_fold(values, |value, key| value.map_mut()?.get_mut(&**key))
}

/// What charts give to the one around them. Go's maps are shared: a table that was given
/// first is changed where it came from when another is put into it, so it is kept where
/// both stand.
#[derive(Default)]
struct Imported {
    values: Map,
    /// Paths here, and the paths of the same tables in the chart's values.
    shared: Vec<(Vec<String>, Vec<String>)>,
}

impl Imported {
    fn add(&mut self, own: &mut Value, source: &str, parent: &str, table: Map, helm: Helm) {
        let keys = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        let (source, parent) = (keys(source), if parent == "." { Vec::new() } else { keys(parent) });
        self.share(&source, &parent, &table);
        let mut coming = table;
        for key in parent.iter().rev() {
            coming = Map::from([(key.as_str().into(), Value::new(Kind::Map(Arc::new(coming))))]);
        }
        let mut coalescing = Coalescing { nulls: helm.nulls, warnings: Vec::new(), merge: true };
        coalescing.tables(&mut self.values, &coming, "", true);
        for (here, there) in &self.shared {
            let found = here.iter().try_fold(None, |at: Option<&Value>, key| match at {
                None => self.values.get(&**key).map(Some),
                Some(value) => value.get(key).map(Some),
            });
            if let (Some(Some(found)), Some(value)) = (found, at_mut(own, there)) {
                value.kind = found.kind.clone();
            }
        }
    }

    /// Notes which tables will be the same in both.
    fn share(&mut self, source: &[String], parent: &[String], table: &Map) {
        let mut known = Some(&self.values);
        for key in parent {
            let Some(map) = known else { return };
            match map.get(&**key) {
                Some(value) => known = value.map(),
                // The table itself is put there, or a new one around it.
                None => {
                    self.shared.push((parent.to_vec(), source.to_vec()));
                    return;
                }
            }
        }
        let mut found = Vec::new();
        if let Some(known) = known {
            entries(known, table, &mut Vec::new(), &mut found);
        }
        for path in found {
            let both = |start: &[String]| [start, &path].concat();
            self.shared.push((both(parent), both(source)));
        }
    }
}

/// Paths of the tables that `from` has and `into` lacks.
fn entries(into: &Map, from: &Map, path: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    for (key, value) in from {
        let Some(below) = value.map() else { continue };
        path.push(key.to_string());
        match into.get(key).map(|known| known.map()) {
            None => found.push(path.clone()),
            Some(Some(known)) => entries(known, below, path, found),
            Some(None) => {}
        }
        path.pop();
    }
}
