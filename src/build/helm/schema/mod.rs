//! `values.schema.json` of a chart and of those in it, as Helm's
//! `pkg/chart/common/util/jsonschema.go` checks values against them.
//!
//! No network: what a schema names elsewhere is answered by the file of the same chart
//! whose `$id` or path ends alike, else it is not followed. Either is assumed.

mod compile;
mod formats;
mod text;
mod validate;

use super::chart::Chart;
use super::error::{Refusal, RenderError, SchemaFault, SchemaFaultKind};
use super::line::HelmLine;
use super::strvals::of_json;
use super::value::{Kind, Value};
use crate::lang::template::json_error;
use crate::lang::yaml::{Location, NodeRef, Origin};
use compile::{Compiler, Draft, OWN, Remote};
use std::collections::BTreeSet;
use validate::{Fault, Validator, Wrong};

/// What the schemas say.
#[derive(Debug, Default)]
pub(super) struct Checked {
    told: String,
    pub(super) faults: Vec<SchemaFault>,
    pub(super) assumed: Vec<String>,
    pub(super) warnings: Vec<String>,
}

impl Checked {
    /// The refusal, if there is one.
    pub(super) fn refusal(&mut self) -> Option<RenderError> {
        if self.told.is_empty() {
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
pub(super) fn check(chart: &Chart, values: &Value, line: HelmLine) -> Result<Checked, RenderError> {
    let mut checked = Checked::default();
    let remote = Files { root: chart };
    below(chart, values, values, &mut Vec::new(), line, &remote, &mut checked)?;
    Ok(checked)
}

fn below(
    chart: &Chart,
    values: &Value,
    all: &Value,
    path: &mut Vec<String>,
    line: HelmLine,
    remote: &Files<'_>,
    checked: &mut Checked,
) -> Result<(), RenderError> {
    if let Some(file) = &chart.schema {
        match one(file.bytes(), values, line, remote, checked)? {
            Outcome::Fits => {}
            Outcome::Broken(why) => checked.told.push_str(&format!("{}:\n{why}", chart.name())),
            Outcome::Refused(faults) => {
                let mut told = String::new();
                match line {
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
                below(inner, own, all, path, line, remote, checked)?;
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

enum Outcome {
    Fits,
    Broken(String),
    Refused(Vec<Fault>),
}

fn one(
    bytes: &[u8],
    values: &Value,
    line: HelmLine,
    remote: &Files<'_>,
    checked: &mut Checked,
) -> Result<Outcome, RenderError> {
    let schema = match parsed(bytes) {
        Ok(schema) => schema,
        Err(why) => return Ok(Outcome::Broken(why)),
    };
    let mut compiler = Compiler::new(remote, line == HelmLine::V3_17);
    let outcome = judged(&mut compiler, &schema, values, line)?;
    checked.assumed.append(&mut compiler.assumed);
    checked.warnings.append(&mut compiler.warnings);
    Ok(outcome)
}

fn judged(
    compiler: &mut Compiler<'_>,
    schema: &Value,
    values: &Value,
    line: HelmLine,
) -> Result<Outcome, RenderError> {
    let draft = match compiler.draft(schema) {
        Ok(draft) => draft,
        Err(why) => return Ok(Outcome::Broken(why)),
    };
    if line != HelmLine::V3_17
        && let Some(why) = meta(schema, draft)?
    {
        return Ok(Outcome::Broken(why));
    }
    let id = match compiler.compile(OWN, schema, draft) {
        Ok(id) => id,
        Err(why) => return Ok(Outcome::Broken(why)),
    };
    let mut validator = Validator::new(compiler);
    let faults = validator.check(id, values);
    if validator.is_over {
        return Err(over());
    }
    Ok(if faults.is_empty() { Outcome::Fits } else { Outcome::Refused(faults) })
}

fn over() -> RenderError {
    RenderError::Unable("more than forebay's bound: the steps and faults of a schema".to_owned())
}

/// What the metaschema of a draft says of a schema.
fn meta(schema: &Value, draft: Draft) -> Result<Option<String>, RenderError> {
    /// Nothing lies elsewhere.
    struct Nowhere;
    impl Remote for Nowhere {
        fn document(&self, _: &str) -> Option<Value> {
            None
        }
    }
    let mut compiler = Compiler::new(&Nowhere, false);
    let Ok(id) = compiler.metaschema(draft) else { return Ok(None) };
    let mut validator = Validator::new(&compiler);
    let faults = validator.check(id, schema);
    if validator.is_over {
        return Err(over());
    }
    if faults.is_empty() {
        return Ok(None);
    }
    let mut told = String::new();
    text::told(&faults, 0, &mut told);
    let url = draft.url();
    Ok(Some(format!(
        "{:?} is not valid against metaschema: jsonschema validation failed with '{url}#'\n{told}",
        format!("{OWN}#")
    )))
}

fn parsed(bytes: &[u8]) -> Result<Value, String> {
    if let Err(why) = json_error(bytes) {
        return Err(match &*why {
            "unexpected end of JSON input" if bytes.trim_ascii().is_empty() => "EOF".to_owned(),
            "unexpected end of JSON input" => "unexpected EOF".to_owned(),
            _ => why,
        });
    }
    if depth(bytes) > super::value::DEPTH_HERE {
        return Err("exceeded max depth".to_owned());
    }
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let value = <serde_json::Value as serde::Deserialize>::deserialize(&mut reader);
    Ok(of_json(&value.map_err(|error| error.to_string())?, None))
}

/// How deeply a JSON text is nested.
fn depth(bytes: &[u8]) -> usize {
    let (mut open, mut most, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                open += 1;
                most = most.max(open);
            }
            b'}' | b']' if !in_text => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}

/// Notes the values that are refused, and where they were written.
fn note(faults: &[Fault], chart: &Chart, path: &[String], all: &Value, checked: &mut Checked) {
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
}

impl Remote for Files<'_> {
    fn document(&self, url: &str) -> Option<Value> {
        let (_, rest) = url.split_once("://").unwrap_or(("", url));
        let wanted: Vec<&str> = rest.split('/').filter(|part| !part.is_empty()).collect();
        let mut best: Option<(usize, Value)> = None;
        let mut seen = BTreeSet::new();
        let own = self.root.schema.as_ref().map(|file| &file.place);
        for file in self.root.all_files() {
            // The schema that asks is no answer.
            if !file.name.ends_with(".json") || Some(&file.place) == own || !seen.insert(file.place.clone()) {
                continue;
            }
            let Ok(value) = parsed(file.bytes()) else { continue };
            let id = match value.get("$id").map(|id| &id.kind) {
                Some(Kind::Text(id)) => id.to_string(),
                _ => String::new(),
            };
            let alike = |path: &str| {
                let parts = path.split('/').filter(|part| !part.is_empty()).rev();
                parts.zip(wanted.iter().rev()).take_while(|(one, two)| one == *two).count()
            };
            let score = alike(&file.name).max(alike(&id));
            if score > 0 && best.as_ref().is_none_or(|(known, _)| *known < score) {
                best = Some((score, value));
            }
        }
        best.map(|(_, value)| value)
    }
}
