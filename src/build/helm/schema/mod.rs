//! `values.schema.json` of a chart and of those in it, as Helm's
//! `pkg/chart/common/util/jsonschema.go` checks values against them.
//!
//! No network: what a schema names elsewhere is answered by the file of the same chart
//! whose `$id` or path ends alike, else it is not followed. Either is assumed.

mod compile;
mod formats;
pub(super) mod ready;
mod text;
mod validate;

use super::chart::{Chart, ChartFile, Prepared};
use super::error::{Refusal, RenderError, SchemaFault, SchemaFaultKind};
use super::line::HelmLine;
use super::value::{Kind, Value};
use crate::lang::yaml::{Location, NodeRef, Origin};
use compile::Remote;
use ready::{Schema, SchemaOutcome, parsed};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use validate::{ValidationFault, Wrong};

/// What the schemas say.
#[derive(Debug, Default)]
pub(super) struct Checked {
    told: String,
    pub(super) faults: Vec<SchemaFault>,
    pub(super) assumed: Vec<String>,
    pub(super) warnings: Vec<String>,
}

impl Checked {
    /// Whether no schema refuses anything.
    pub(super) fn is_fit(&self) -> bool {
        self.told.is_empty()
    }

    /// The refusal, if there is one.
    pub(super) fn refusal(&mut self) -> Option<RenderError> {
        if self.is_fit() {
            return None;
        }
        let mut refusal = Refusal::new(format!(
            "values don't meet the specifications of the schema(s) in the following chart(s):\n{}",
            self.told
        ));
        refusal.location = self.faults.iter().find_map(|fault| fault.location.clone());
        refusal.faults = std::mem::take(&mut self.faults);
        refusal.assumed = self.assumed.clone();
        Some(refusal.into())
    }
}

/// Checks the values of a chart, and of the charts in it.
pub(super) fn check(
    chart: &Chart,
    values: &Value,
    line: HelmLine,
    prepared: &Prepared,
) -> Result<Checked, RenderError> {
    let mut checked = Checked::default();
    let schemas = Schemas { line, prepared, files: Files::of(chart) };
    below(chart, values, values, &mut Vec::new(), &schemas, &mut checked)?;
    Ok(checked)
}

/// Where compiled schemas come from.
struct Schemas<'c> {
    line: HelmLine,
    prepared: &'c Prepared,
    files: Files<'c>,
}

impl<'c> Schemas<'c> {
    fn get(&self, file: &'c ChartFile) -> Arc<Schema> {
        self.prepared.schema(file, self.files.all(), || Schema::of(file.bytes(), self.line, &self.files))
    }
}

fn below<'c>(
    chart: &'c Chart,
    values: &Value,
    all: &Value,
    path: &mut Vec<String>,
    schemas: &Schemas<'c>,
    checked: &mut Checked,
) -> Result<(), RenderError> {
    if let Some(file) = &chart.schema {
        let schema = schemas.get(file);
        checked.assumed.extend(schema.assumed().iter().cloned());
        checked.warnings.extend(schema.warnings().iter().cloned());
        match schema.judge(values)? {
            SchemaOutcome::Fits => {}
            SchemaOutcome::Broken(why) => checked.told.push_str(&format!("{}:\n{why}", chart.name())),
            SchemaOutcome::Refused(faults) => {
                let mut told = String::new();
                match schemas.line {
                    HelmLine::V3_17 => {
                        let mut lines = Vec::new();
                        text::told_in_3(&faults, &mut lines);
                        told = lines.join("\n");
                    }
                    HelmLine::V4_1 | HelmLine::V4_2 => text::told(&faults, 0, &mut told),
                }
                checked.told.push_str(&format!("{}:\n{told}\n", chart.name()));
                note(&faults, chart, path, all, checked);
            }
        }
    }
    for inner in &chart.dependencies {
        match values.get(inner.name()) {
            Some(own) if own.is_map() => {
                path.push(inner.name().to_owned());
                below(inner, own, all, path, schemas, checked)?;
                path.pop();
            }
            None => {}
            Some(own) if own.is_null() => {}
            Some(own) => checked.told.push_str(&format!(
                "{}:\ninvalid type for values: expected object (map), got {}\n",
                inner.name(),
                own.go_type()
            )),
        }
    }
    Ok(())
}

/// Notes the values that are refused, and where they were written.
fn note(faults: &[ValidationFault], chart: &Chart, path: &[String], all: &Value, checked: &mut Checked) {
    for fault in faults {
        let is_around = matches!(fault.kind, Wrong::Group | Wrong::Reference | Wrong::AllOf);
        if is_around && !fault.causes.is_empty() {
            note(&fault.causes, chart, path, all, checked);
            continue;
        }
        let whole: Vec<String> = path.iter().chain(&fault.path).cloned().collect();
        let mut add = |path: Vec<String>, kind, message| {
            let (location, own) = written(all, &path);
            let (chart, causes) = (chart.name().to_owned(), text::causes(fault));
            checked.faults.push(SchemaFault { chart, path, kind, message, causes, location, own });
        };
        match &fault.kind {
            Wrong::AdditionalProperties(names) => {
                for name in names {
                    let one = Wrong::AdditionalProperties(vec![name.clone()]);
                    let path = whole.iter().chain([name]).cloned().collect();
                    add(path, SchemaFaultKind::Additional, text::words(&one));
                }
            }
            Wrong::Required(missing) => {
                add(whole, SchemaFaultKind::Missing(missing.clone()), text::words(&fault.kind));
            }
            Wrong::FalseSchema if !whole.is_empty() => {
                add(whole, SchemaFaultKind::Additional, text::words(&fault.kind));
            }
            _ => add(whole, SchemaFaultKind::Value, text::words(&fault.kind)),
        }
    }
}

/// Where the value at a path, or the nearest one around it, was written; and its key, else
/// the value, where it is written itself.
fn written(all: &Value, path: &[String]) -> (Option<Location>, Option<Location>) {
    let place = |value: &Value| value.origin.as_ref().map(Origin::location);
    let mut value = Some(all);
    let mut location = place(all);
    let mut own = location.clone();
    for key in path {
        value = value.and_then(|value| match &value.kind {
            Kind::Map(map) => map.get(&**key),
            Kind::List(items) => key.parse::<usize>().ok().and_then(|index| items.get(index)),
            _ => None,
        });
        let found = value.and_then(place);
        own = value.and_then(|value| key_before(value, key)).or_else(|| found.clone());
        location = found.or(location);
    }
    (location, own)
}

/// The key that stands before a value.
fn key_before(value: &Value, key: &str) -> Option<Location> {
    let Some(Origin::Token(source, token)) = &value.origin else { return None };
    let before = NodeRef::Source(source, token.checked_sub(1)?);
    before.text().filter(|text| **text == *key).and_then(|_| before.location())
}

/// The JSON files of a chart and of those in it.
struct Files<'c> {
    root: &'c Chart,
    answers: OnceCell<Answers<'c>>,
}

/// The files that may answer a reference.
#[derive(Default)]
struct Answers<'c> {
    files: Vec<JsonFile<'c>>,
    /// By the last parts of their names and of what they call themselves.
    by_end: FxHashMap<String, Vec<usize>>,
}

/// A JSON file of a chart.
struct JsonFile<'c> {
    file: &'c ChartFile,
    /// What it holds, read once; nothing where it is no JSON.
    value: OnceCell<Option<Value>>,
}

impl JsonFile<'_> {
    fn value(&self) -> Option<&Value> {
        self.value.get_or_init(|| parsed(self.file.bytes()).ok()).as_ref()
    }

    /// What it calls itself; it is read only where it may say so.
    fn id(&self) -> Option<&str> {
        let bytes = self.file.bytes();
        let is_there = |word: &str| memchr::memmem::find(bytes, word.as_bytes()).is_some();
        if !is_there("$id") && !is_there("\\u") {
            return None;
        }
        match &self.value()?.get("$id")?.kind {
            Kind::Text(id) => Some(id),
            _ => None,
        }
    }
}

/// The parts of a path from the last one on.
fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').rev().filter(|part| !part.is_empty())
}

impl<'c> Files<'c> {
    fn of(root: &'c Chart) -> Files<'c> {
        Files { root, answers: OnceCell::new() }
    }

    fn all(&self) -> impl Iterator<Item = &'c ChartFile> {
        self.root.all_files().into_iter().filter(|file| file.name.ends_with(".json"))
    }

    fn answers(&self) -> &Answers<'c> {
        self.answers.get_or_init(|| {
            // The schema that asks is no answer.
            let own = self.root.schema.as_ref().map(|file| &file.place);
            let mut seen = BTreeSet::new();
            let mut answers = Answers::default();
            for file in self.all().filter(|file| Some(&file.place) != own && seen.insert(&file.place)) {
                let json = JsonFile { file, value: OnceCell::new() };
                let ends = [Some(&*file.name), json.id()].map(|path| parts(path?).next());
                for (index, end) in ends.iter().enumerate() {
                    if let Some(end) = end.filter(|_| index == 0 || ends[0] != *end) {
                        let number = answers.files.len();
                        answers.by_end.entry(end.to_owned()).or_default().push(number);
                    }
                }
                answers.files.push(json);
            }
            answers
        })
    }
}

impl Remote for Files<'_> {
    fn document(&self, url: &str) -> Option<&Value> {
        let (_, rest) = url.split_once("://").unwrap_or(("", url));
        let alike = |path: &str| parts(path).zip(parts(rest)).take_while(|(one, two)| one == two).count();
        let Answers { files, by_end } = self.answers();
        let mut best: Option<(usize, &Value)> = None;
        for json in by_end.get(parts(rest).next()?)?.iter().map(|number| &files[*number]) {
            let score = alike(&json.file.name).max(json.id().map_or(0, alike));
            if score > best.map_or(0, |(known, _)| known)
                && let Some(value) = json.value()
            {
                best = Some((score, value));
            }
        }
        best.map(|(_, value)| value)
    }
}
