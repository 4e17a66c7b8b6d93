//! Which values of a release the templates of its chart can read, under any other values.
//!
//! The templates of the chart and of all charts in it, switched on or off, are followed by
//! [`crate::lang::template::reads`]. What they can't read is dropped once, and the chart
//! rendered without it: only what changes nothing then is dead.

use super::chart::{Chart, ChartFile};
use super::dependencies::in_range;
use super::error::RenderError;
use super::readers::{Dead, Path, Readers};
use super::value::{Kind, Map, Value};
use super::{Digest, HelmLine, Keep, RenderRequest, RenderedChart, Work, render_unless, render_with_digest};
use crate::lang::template::reads::{self, DataShape, Program};
use crate::lang::template::{Parsed, TemplateParser, helm};
use base64::Engine as _;
use rustc_hash::FxHashMap;
use sha2::{Digest as _, Sha256};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Texts of values that are templates.
const TEXTS: usize = 2_000;
/// Dead values of one release that are proved one by one.
const PROVED: usize = 40;
/// Steps of templates that the renders for it may take together.
const STEPS: u64 = 20_000_000;

/// A chart of the tree with its place in the values.
struct Part<'c> {
    chart: &'c Chart,
    /// `t/charts/s`
    name: String,
    path: Path,
}

/// The chart as it is with everything switched on, by its aliases.
fn switched_on(chart: &Chart, depth: usize) -> Chart {
    let mut chart = chart.clone();
    let wanted = chart.metadata.dependencies.clone().unwrap_or_default();
    let mut charts: Vec<Chart> = Vec::new();
    for inner in &chart.dependencies {
        let fits = |name: &str, range: &str| inner.name() == name && in_range(range, &inner.metadata.version);
        let own: Vec<_> = wanted.iter().filter(|one| fits(&one.name, &one.version)).collect();
        if own.is_empty() {
            charts.push(inner.clone());
        }
        for dependency in own {
            let mut inner = inner.clone();
            if !dependency.alias.is_empty() {
                Arc::make_mut(&mut inner.metadata).name.clone_from(&dependency.alias);
            }
            charts.push(inner);
        }
    }
    let deep = depth < super::load::DEPTH;
    chart.dependencies = charts.iter().filter(|_| deep).map(|inner| switched_on(inner, depth + 1)).collect();
    chart
}

fn parts<'c>(chart: &'c Chart, name: String, path: Path, found: &mut Vec<Part<'c>>) {
    found.push(Part { chart, name: name.clone(), path: path.clone() });
    for inner in &chart.dependencies {
        let path = path.iter().cloned().chain([inner.name().into()]).collect();
        parts(inner, format!("{name}/charts/{}", inner.name()), path, found);
    }
}

/// The template that a text is in base64.
fn encoded(text: &str) -> Option<Arc<str>> {
    let is_it = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
    if text.len() < 8 || !text.bytes().all(is_it) {
        return None;
    }
    let decoded = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    Some(String::from_utf8(decoded).ok().filter(|text| text.contains("{{"))?.into())
}

/// Texts in values that are templates.
fn texts(value: &Value, found: &mut BTreeSet<Arc<str>>) {
    match &value.kind {
        Kind::Text(text) if text.contains("{{") => drop(found.insert(text.clone())),
        Kind::Holes(holes) if holes.parts.iter().flatten().any(|part| part.contains("{{")) => {
            // What fills a hole is a word, as far as anybody can say.
            let text: String = holes.parts.iter().map(|part| part.as_deref().unwrap_or("unknown")).collect();
            found.insert(text.into());
        }
        Kind::Text(text) => found.extend(encoded(text)),
        Kind::Map(map) => {
            map.values().for_each(|value| texts(value, found));
        }
        Kind::List(items) => items.iter().for_each(|item| texts(item, found)),
        _ => {}
    }
}

impl Chart {
    /// What its templates can read, with the texts of its own values and of these; nothing
    /// where that is too much to say.
    pub(crate) fn readers(&self, values: Option<&Value>, line: HelmLine) -> Option<Arc<Readers>> {
        let all = switched_on(self, 0);
        let mut found = Vec::new();
        parts(&all, all.name().to_owned(), Vec::new(), &mut found);
        let mut known = BTreeSet::new();
        values.iter().for_each(|values| texts(values, &mut known));
        found.iter().filter_map(|part| part.chart.values.as_ref()).for_each(|own| texts(own, &mut known));
        known.retain(|text| reads::may_read(text, &["Capabilities", "Chart", "Release", "Template"]));
        if known.len() > TEXTS {
            return None;
        }
        let known: Vec<Arc<str>> = known.into_iter().collect();
        let mut hasher = Sha256::new();
        hasher.update(self.prepared.shape(|| shape(&found, line)));
        known.iter().for_each(|text| hasher.update(format!("{}:{text}", text.len())));
        self.prepared.readers(hasher.finalize().into(), || readers(&found, &known, line).map(Arc::new))
    }
}

/// All that [`readers`] hangs on besides the texts. A line of Helm differs from others by its
/// functions, and so only where a template is none in it.
fn shape(parts: &[Part<'_>], line: HelmLine) -> [u8; 32] {
    let mut hasher = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hasher.update(bytes.len().to_le_bytes());
        hasher.update(bytes);
    };
    for part in parts {
        let charts: Vec<&str> = part.chart.dependencies.iter().map(Chart::name).collect();
        let (metadata, is_library) = (&part.chart.metadata.dependencies, part.chart.metadata.is_library());
        add(format!("{} {:?} {is_library} {charts:?} {metadata:?}", part.name, part.path).as_bytes());
        let files =
            part.chart.files.iter().filter(|file| file.text().is_some_and(|text| text.contains("{{")));
        for file in part.chart.templates.iter().chain(files) {
            add(file.name.as_bytes());
            add(file.bytes());
        }
    }
    let parser = line.template_parser();
    let is_broken = |(name, _, file): &(String, usize, &ChartFile)| {
        parsed(parts, &parser, name, file).is_none_or(|parsed| parsed.is_broken())
    };
    if named(parts).iter().any(is_broken) {
        add(format!("{line:?}").as_bytes());
    }
    hasher.finalize().into()
}

/// The templates of all charts, in Helm's order, each with the chart that it is of.
fn named<'c>(parts: &[Part<'c>]) -> Vec<(String, usize, &'c ChartFile)> {
    let mut named = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        for file in part.chart.templates.iter() {
            if is_partial(&file.name) || !part.chart.metadata.is_library() {
                named.push((format!("{}/{}", part.name, file.name), index, file));
            }
        }
    }
    helm::sort(&mut named, |(name, ..)| name);
    named.dedup_by(|a, b| a.0 == b.0);
    named
}

/// A template, parsed once: renders keep it with the chart itself. Nothing where it is no UTF-8.
fn parsed(parts: &[Part<'_>], parser: &TemplateParser, name: &str, file: &ChartFile) -> Option<Arc<Parsed>> {
    let (prepared, text) = (&parts.first()?.chart.prepared, file.shared_text()?);
    Some(prepared.templates(name, &file.blob, || parser.parse(name, text)))
}

fn readers(parts: &[Part<'_>], texts: &[Arc<str>], line: HelmLine) -> Option<Readers> {
    let parser = line.template_parser();
    let (mut templates, mut runs, mut broken) = (Vec::new(), Vec::new(), Vec::new());
    for (name, index, file) in named(parts) {
        let parsed = parsed(parts, &parser, &name, file)?;
        if parsed.is_broken() {
            // Others may include what it was to define, and that may read anything.
            let defines = |text: &str| text.contains("define") || text.contains("block");
            if is_partial(&file.name) || file.text().is_none_or(defines) {
                return None;
            }
            broken.push(index);
            continue;
        }
        templates.push(parsed);
        if !is_partial(&file.name) {
            runs.push((Arc::from(name.as_str()), index));
        }
    }
    let files = parts.iter().map(|part| template_files(part.chart)).collect();
    let roots = parts.iter().enumerate().map(|(index, part)| root(parts, index, part)).collect();
    let program = Program { templates, roots, runs, broken, texts, files };
    let reads = crate::lang::template::with_stack(|| reads::reads(&program))??;
    let scopes = parts.iter().map(|part| part.path.clone()).collect();
    Some(Readers { reads, scopes, switches: switches(parts) })
}

fn is_partial(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|base| base.starts_with('_'))
}

/// Files of a chart that may be templates.
fn template_files(chart: &Chart) -> FxHashMap<Arc<str>, Arc<str>> {
    let text = |file: &super::ChartFile| Some((file.name.clone(), Arc::<str>::from(file.text()?)));
    chart.files.iter().filter_map(text).filter(|(_, text)| text.contains("{{")).collect()
}

/// What the templates of a chart are given.
fn root(parts: &[Part<'_>], index: usize, part: &Part<'_>) -> DataShape {
    let inner = |own: &Chart| {
        let path: Path = part.path.iter().cloned().chain([own.name().into()]).collect();
        let at = parts.iter().position(|other| other.path == path)?;
        Some((own.name().into(), DataShape::Root(at)))
    };
    let base: Arc<str> = format!("{}/templates", part.name).into();
    let template = vec![("BasePath".into(), DataShape::Text(base)), ("Name".into(), DataShape::Other)];
    DataShape::Map(vec![
        ("Capabilities".into(), DataShape::Other),
        ("Chart".into(), DataShape::Other),
        ("Files".into(), DataShape::Files(index)),
        ("Release".into(), DataShape::Other),
        ("Subcharts".into(), DataShape::Map(part.chart.dependencies.iter().filter_map(inner).collect())),
        ("Template".into(), DataShape::Map(template)),
        ("Values".into(), DataShape::Input(part.path.clone())),
    ])
}

/// Values by which Helm switches charts: tags of the root, conditions of each chart.
fn switches(parts: &[Part<'_>]) -> Vec<Path> {
    let mut found = Vec::new();
    for part in parts {
        for dependency in part.chart.metadata.dependencies.iter().flatten() {
            for tag in &dependency.tags {
                found.push(vec!["tags".into(), tag.as_str().into()]);
            }
            for condition in dependency.condition.trim().split(',').filter(|one| !one.is_empty()) {
                let own = part.path.iter().cloned();
                found.push(own.chain(condition.split('.').map(Arc::from)).collect());
            }
        }
    }
    found
}

/// Those of dead values whose lack changes nothing of what the chart makes; all of them
/// where it makes nothing: what fails without the key fails at another place, perhaps.
/// `known` is what the chart is known to write for the request.
pub(crate) fn proved(request: &RenderRequest<'_>, known: Option<&Digest>, dead: Vec<Dead>) -> Vec<Dead> {
    proved_apart(request, known, dead, &|values, dead: &[Dead]| without(values, &paths(dead)))
}

/// The same of defaults of the charts, which a null above them takes away; `all` are all
/// values. A schema that needs them is not asked.
pub(crate) fn proved_defaults(
    request: &RenderRequest<'_>,
    known: Option<&Digest>,
    all: &Value,
    dead: Vec<Dead>,
) -> Vec<Dead> {
    let request = RenderRequest { skip_schema_validation: true, ..request.clone() };
    proved_apart(&request, known, dead, &|values, dead: &[Dead]| hiding(Some(values), all, &paths(dead)))
}

/// Those that only a render tells are proved apart from the others: one of them that counts would
/// have all of these rendered one by one.
fn proved_apart(
    request: &RenderRequest<'_>,
    known: Option<&Digest>,
    dead: Vec<Dead>,
    lacking: &dyn Fn(&Value, &[Dead]) -> Value,
) -> Vec<Dead> {
    let (fills, others) = dead.into_iter().partition(Dead::fills);
    let mut found = proved_by(request, known, others, lacking, Unrendered::Proved);
    found.extend(proved_by(request, known, fills, lacking, Unrendered::Unproved));
    found
}

fn paths(dead: &[Dead]) -> Vec<&[Arc<str>]> {
    dead.iter().map(|dead| &*dead.path).collect()
}

/// What is said of things to be proved where the chart makes nothing with them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unrendered {
    /// All are taken as proved.
    Proved,
    /// None is.
    Unproved,
}

/// Those of some things without which the same is made; `lacking` takes some from the values.
pub(super) fn proved_by<T>(
    request: &RenderRequest<'_>,
    known: Option<&Digest>,
    dead: Vec<T>,
    lacking: &dyn Fn(&Value, &[T]) -> Value,
    unrendered: Unrendered,
) -> Vec<T> {
    if dead.is_empty() {
        return dead;
    }
    let with = OnceCell::new();
    let with =
        || with.get_or_init(|| render_with_digest(&RenderRequest { keep: Keep::Text, ..request.clone() }));
    if known.is_none() && matches!(with(), Err(RenderError::Refused(refusal)) if refusal.faults.is_empty()) {
        return if unrendered == Unrendered::Proved { dead } else { Vec::new() };
    }
    let known = known.or_else(|| with().as_ref().ok().and_then(|with| with.digest.as_ref()));
    let work = Work::new(STEPS);
    let is_same = |dead: &[T]| {
        let values = lacking(request.values, dead);
        let request =
            RenderRequest { values: &values, keep: Keep::Text, work: Some(&work), ..request.clone() };
        match render_unless(&request, known) {
            Ok(None) => true,
            Ok(Some(other)) => is_same(with(), &Ok(other)),
            Err(error) => is_same(with(), &Err(error)),
        }
    };
    if is_same(&dead) {
        return dead;
    }
    let one_by_one = dead.into_iter().take(PROVED);
    one_by_one.filter(|dead| is_same(std::slice::from_ref(dead))).collect()
}

/// Paths by their first keys, with what is left of them.
fn by_first<'p>(paths: &[&'p [Arc<str>]]) -> FxHashMap<&'p Arc<str>, Vec<&'p [Arc<str>]>> {
    let mut found: FxHashMap<_, Vec<_>> = FxHashMap::default();
    for (first, rest) in paths.iter().filter_map(|path| path.split_first()) {
        found.entry(first).or_default().push(rest);
    }
    found
}

/// Given values with nulls in the places of some of all values; in a list, with the list
/// without them.
fn hiding(given: Option<&Value>, all: &Value, paths: &[&[Arc<str>]]) -> Value {
    if paths.iter().any(|path| path.is_empty()) {
        return Value::new(Kind::Null);
    }
    let Some(below) = all.map() else {
        return match all.kind {
            Kind::List(_) => without(all, paths),
            _ => Value::new(Kind::Null),
        };
    };
    let mut map = given.and_then(Value::map).cloned().unwrap_or_default();
    for (first, rest) in by_first(paths) {
        let hidden = match below.get(first) {
            Some(inner) => hiding(map.get(first), inner, &rest),
            None => Value::new(Kind::Null),
        };
        map.insert(first.clone(), hidden);
    }
    Value { kind: Kind::Map(Arc::new(map)), origin: given.and_then(|given| given.origin.clone()) }
}

/// Whether the same comes of two renders.
pub(super) fn is_same(
    one: &Result<RenderedChart, RenderError>,
    other: &Result<RenderedChart, RenderError>,
) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => one.is_same(other) && one.crds.len() == other.crds.len(),
        (Err(RenderError::Refused(one)), Err(RenderError::Refused(other))) => {
            // A refused property is another finding, which is gone with it.
            let all = |refusal: &super::Refusal| {
                refusal
                    .faults
                    .iter()
                    .map(|fault| (fault.path.clone(), fault.message.clone()))
                    .collect::<BTreeSet<_>>()
            };
            !one.faults.is_empty() && all(one).is_superset(&all(other))
        }
        (Err(RenderError::Refused(one)), Ok(_)) => !one.faults.is_empty(),
        _ => false,
    }
}

/// Values without some of their keys. Items of a list keep their places. All at once:
/// each map on the way is copied.
pub(super) fn without(value: &Value, paths: &[&[Arc<str>]]) -> Value {
    let kind = match &value.kind {
        Kind::Map(map) => {
            let mut map = Map::clone(map);
            for (first, rest) in by_first(paths) {
                match map.get(first) {
                    Some(_) if rest.iter().any(|rest| rest.is_empty()) => drop(map.remove(first)),
                    Some(inner) => drop(map.insert(first.clone(), without(inner, &rest))),
                    None => {}
                }
            }
            Kind::Map(Arc::new(map))
        }
        Kind::List(items) => {
            let mut items = Vec::clone(items);
            for (first, rest) in by_first(paths) {
                if let Some(item) = first.parse::<usize>().ok().and_then(|index| items.get_mut(index)) {
                    *item = without(item, &rest);
                }
            }
            Kind::List(Arc::new(items))
        }
        other => other.clone(),
    };
    Value { kind, origin: value.origin.clone() }
}
