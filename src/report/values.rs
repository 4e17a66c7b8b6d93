//! The answer of `explain-values`: all values of a release as its templates see them, who
//! set each, and whether anything reads it.
//!
//! What a default of a chart means is Helm's `CoalesceValues`; what goes over it is
//! fluxcd/pkg `chartutil/values.go`. A value is known by the place that it was written at:
//! the layer that holds this place set it.

use super::objects::{self, Masks, leaves};
use super::parts;
use super::references::dotted;
use crate::build::helm::{Kind, Value as HelmValue};
use crate::files::Snapshot;
use crate::lang::text::{clean, counted, is_hostile, shorten};
use crate::lang::yaml::emit::{DEPTH_LIMIT, EmitError, style_of, to_json, to_yaml_marked};
use crate::lang::yaml::pointer_segments;
use crate::lang::yaml::{Built, Entry, FilePath, Location, Node, NodeRef, ScalarStyle, Value};
use crate::sources::render::ValueUse;
use crate::sources::values::{By, Layer, Values};
use crate::world::releases::Release;
use anstyle::Effects;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json as value};
use std::fmt::Write as _;
use std::sync::Arc;

/// Characters of a value that a line shows.
const SHOWN: usize = 48;

/// Columns up to which the first column of the table grows.
const WIDEST: usize = 72;

/// What sets a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Setter {
    /// The default of the chart, or of a chart in it.
    Chart,
    /// A file of `valuesFiles`, which stands in the place of the defaults.
    ValuesFile,
    /// `spec.values` as it is written.
    Release,
    /// `spec.values`, by a patch or what else a build does on the way.
    Patched,
    /// A ConfigMap of `valuesFrom`, by its name and key.
    ConfigMap(String),
    /// A Secret of `valuesFrom`, by its name and key.
    Secret(String),
    /// A `targetPath` of `valuesFrom`, by the object and its key.
    TargetPath(String),
}

impl Setter {
    /// The word of the contract.
    fn word(&self) -> &'static str {
        match self {
            Setter::Chart | Setter::ValuesFile => "chart",
            Setter::Release | Setter::Patched => "release",
            Setter::ConfigMap(_) => "configMap",
            Setter::Secret(_) => "secret",
            Setter::TargetPath(_) => "targetPath",
        }
    }

    /// It for people.
    fn told(&self) -> &'static str {
        match self {
            Setter::Chart => "chart",
            Setter::ValuesFile => "valuesFiles",
            Setter::Release => "release",
            Setter::Patched => "patch",
            Setter::ConfigMap(_) => "ConfigMap",
            Setter::Secret(_) => "Secret",
            Setter::TargetPath(_) => "targetPath",
        }
    }

    /// The object of `valuesFrom` and its key.
    fn object(&self) -> Option<&str> {
        match self {
            Setter::ConfigMap(told) | Setter::Secret(told) | Setter::TargetPath(told) => Some(told),
            Setter::Chart | Setter::ValuesFile | Setter::Release | Setter::Patched => None,
        }
    }
}

/// A value of a release: a scalar, or what is empty.
#[derive(Debug)]
struct ValueRow {
    pointer: String,
    /// The value on one line, masked.
    shown: String,
    by: Setter,
    location: Option<Location>,
    /// `None` where nobody can say.
    is_read: Option<bool>,
}

/// All values of a release.
#[derive(Debug)]
pub(crate) struct Explained {
    /// The release, its chart and its Helm in a line.
    title: String,
    /// Masked, in order of the keys.
    node: Node,
    rows: Vec<ValueRow>,
    /// Whether templates were followed.
    is_followed: bool,
}

/// Where each layer of values was written.
struct Setters<'v> {
    layers: &'v [Layer],
    by_place: FxHashMap<(FilePath, u32, u32), usize>,
    /// The file of the release.
    own: Option<FilePath>,
    /// Paths of `valuesFiles`, but for the chart's own values.yaml.
    values_files: Vec<&'v str>,
}

impl Explained {
    /// Of a release with its values; `reading` is what its templates make of them, where
    /// its chart is here.
    pub(crate) fn of(
        release: &Release,
        title: String,
        values: &Values,
        reading: Option<&ValueUse>,
        snapshot: &Snapshot,
    ) -> Explained {
        let all = reading.map_or(&values.value, |reading| &reading.values);
        let plain = to_node(all, 0);
        let node = objects::masked(plain.get_ref(), snapshot, &mut Masks::default());
        let setters = Setters::of(release, values);
        let mut rows = Vec::new();
        leaves(node.get_ref(), "", 0, &mut |pointer, leaf| {
            let location = leaf.location();
            rows.push(ValueRow {
                pointer: pointer.to_owned(),
                shown: shown(leaf),
                by: setters.of_value(pointer, location.as_ref()),
                location,
                is_read: reading.and_then(|reading| is_read(reading, pointer)),
            });
        });
        rows.retain(|row| !row.pointer.is_empty());
        let is_followed = reading.is_some_and(|reading| reading.is_followed);
        Explained { title, node, rows, is_followed }
    }

    /// The answer for programs.
    ///
    /// # Errors
    /// A value that JSON cannot hold.
    pub(crate) fn json(&self, snapshot: &Snapshot) -> Result<Json, EmitError> {
        let set = self.rows.iter().map(|row| {
            value!({
                "path": row.pointer,
                "by": row.by.word(),
                "location": parts::location(snapshot, row.location.as_ref()),
                "read": row.is_read.map_or_else(|| value!("$unknown"), Json::Bool),
            })
        });
        let set: Vec<Json> = set.collect();
        Ok(value!({"values": objects::json(self.node.get_ref())?, "set": set}))
    }

    /// The answer for people: a line for each value. What nothing reads is struck; without
    /// colour the strokes are `~~`.
    pub(crate) fn text(&self, place: &dyn Fn(&Location) -> String, color: bool) -> String {
        let cell = |row: &ValueRow| format!("{}: {}", clean(&dotted(&row.pointer)), row.shown);
        let cells: Vec<String> = self.rows.iter().map(cell).collect();
        let strokes = if color { 0 } else { 4 };
        let longest = cells.iter().map(|cell| cell.chars().count() + strokes).max().unwrap_or(0);
        let first = longest.clamp("VALUE".len(), WIDEST);
        let second = self.rows.iter().map(|row| row.by.told().len()).max().unwrap_or(0).max("SET BY".len());
        let mut out = format!("{}\n", clean(&self.title));
        if self.rows.is_empty() {
            out.push_str("it has no values\n");
            return out;
        }
        let _ = writeln!(out, "{:first$}   {:second$}   WHERE", "VALUE", "SET BY");
        for (row, cell) in self.rows.iter().zip(&cells) {
            let is_dead = row.is_read == Some(false);
            let (open, close) = match (is_dead, color) {
                (true, true) => {
                    (Effects::STRIKETHROUGH.render().to_string(), anstyle::Reset.render().to_string())
                }
                (true, false) => ("~~".to_owned(), "~~".to_owned()),
                (false, _) => (String::new(), String::new()),
            };
            let width = cell.chars().count() + if is_dead && !color { strokes } else { 0 };
            let pad = " ".repeat(first.saturating_sub(width));
            let (by, place) = (row.by.told(), row.place(place).unwrap_or_else(|| "-".to_owned()));
            let object = row.by.object().map_or_else(String::new, |told| format!(" ({})", clean(told)));
            let reader = if is_dead { "   nothing reads it" } else { "" };
            let _ = writeln!(out, "{open}{cell}{close}{pad}   {by:second$}   {place}{object}{reader}");
        }
        let _ = writeln!(out, "{}", self.summary());
        out
    }

    /// `5 values: 2 of the release, 3 of its chart; 1 is read by nothing`.
    fn summary(&self) -> String {
        let count = |word: &str| self.rows.iter().filter(|row| row.by.word() == word).count();
        let parts = [
            ("chart", "of its chart"),
            ("release", "of the release"),
            ("configMap", "of ConfigMaps"),
            ("secret", "of Secrets"),
            ("targetPath", "by targetPath"),
        ];
        let told = parts.iter().map(|(word, told)| (count(word), told)).filter(|(count, _)| *count > 0);
        let told: Vec<String> = told.map(|(count, told)| format!("{count} {told}")).collect();
        let dead = self.rows.iter().filter(|row| row.is_read == Some(false)).count();
        let dead = match (self.is_followed, dead) {
            (false, _) => "what reads them isn't known".to_owned(),
            (true, 0) => "all of them can be read".to_owned(),
            (true, 1) => "1 is read by nothing".to_owned(),
            (true, dead) => format!("{dead} are read by nothing"),
        };
        format!("{}: {}; {dead}", counted(self.rows.len(), "value"), told.join(", "))
    }

    /// The values as YAML, with a comment at each: who set it, where, and whether nothing
    /// reads it.
    ///
    /// # Errors
    /// A value that YAML cannot hold.
    pub(crate) fn yaml(&self, place: &dyn Fn(&Location) -> String) -> Result<String, EmitError> {
        let (text, marks) = to_yaml_marked(self.node.get_ref())?;
        let title = clean(&self.title).into_owned();
        if text.contains(|c: char| !c.is_ascii() && is_hostile(c)) {
            // What nobody sees: the same values as JSON, which is YAML as well.
            return Ok(format!("# {title}\n{}\n", to_json(self.node.get_ref())?));
        }
        let mut comments: FxHashMap<(usize, u32), String> = FxHashMap::default();
        let mut rows = self.rows.iter();
        leaves(self.node.get_ref(), "", 0, &mut |pointer, leaf| {
            if let Some(row) = rows.next().filter(|row| row.pointer == pointer) {
                comments.insert(leaf.address(), row.comment(place));
            }
        });
        let mut out = format!("# {title}\n");
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let range = at..at + line.len();
            at = range.end;
            let first = marks.partition_point(|mark| mark.bytes.start < range.start);
            let own = marks[first..].iter().take_while(|mark| mark.bytes.start < range.end);
            let Some((mark, comment)) =
                own.filter_map(|mark| Some((mark, comments.remove(&mark.of)?))).last()
            else {
                out.push_str(line);
                continue;
            };
            let content = line.trim_end_matches('\n');
            let is_block =
                !mark.is_key && mark.bytes.end > range.end || content.ends_with(['|', '>', '-', '+']);
            if is_block {
                let indent = &content[..content.len() - content.trim_start().len()];
                let _ = write!(out, "{indent}# {comment}\n{line}");
            } else {
                let _ = writeln!(out, "{content} # {comment}");
            }
        }
        Ok(out)
    }
}

impl ValueRow {
    /// Where it is written, without what it went through.
    fn place(&self, place: &dyn Fn(&Location) -> String) -> Option<String> {
        let location = self.location.as_ref()?;
        Some(place(&Location { via: Vec::new(), ..location.clone() }))
    }

    fn comment(&self, place: &dyn Fn(&Location) -> String) -> String {
        let by = match (&self.by, self.by.object()) {
            // The place names the chart.
            (Setter::Chart, _) if self.location.is_some() => None,
            (Setter::TargetPath(told), _) => Some(format!("targetPath, {}", clean(told))),
            (_, Some(told)) => Some(clean(told).into_owned()),
            (by, None) => Some(by.told().to_owned()),
        };
        let parts: Vec<String> = by.into_iter().chain(self.place(place)).collect();
        let reader = if self.is_read == Some(false) { "; nothing reads it" } else { "" };
        format!("{}{reader}", parts.join(", "))
    }
}

impl<'v> Setters<'v> {
    fn of(release: &'v Release, values: &'v Values) -> Setters<'v> {
        let mut by_place = FxHashMap::default();
        for (index, layer) in values.layers.iter().enumerate() {
            leaves(layer.root.get_ref(), "", 0, &mut |_, leaf| {
                if let Some(at) = leaf.location() {
                    by_place.insert((at.file, at.start, at.end), index);
                }
            });
        }
        let files = release.request.iter().flat_map(|request| &request.values_files);
        let values_files = files.map(|(path, _)| path.trim_start_matches("./"));
        let values_files = values_files.filter(|path| *path != "values.yaml").collect();
        let own = release.node.get_ref().location().map(|at| at.file);
        Setters { layers: &values.layers, by_place, own, values_files }
    }

    /// Who set the value at a pointer, which was written at a place.
    fn of_value(&self, pointer: &str, location: Option<&Location>) -> Setter {
        let Some(at) = location else {
            // A value that no text says was made by a build, or by Helm.
            let holds = |layer: &&Layer| {
                matches!(layer.by, By::Release) && layer.root.get_ref().at(pointer).is_some()
            };
            return if self.layers.iter().any(|layer| holds(&layer)) {
                Setter::Patched
            } else {
                Setter::Chart
            };
        };
        let Some(index) = self.by_place.get(&(at.file.clone(), at.start, at.end)) else {
            let path = at.file.in_chart().map_or(&**at.file.shown(), |(_, path)| path);
            let is_it = |file: &&str| {
                path.strip_suffix(file).is_some_and(|above| above.is_empty() || above.ends_with('/'))
            };
            return if self.values_files.iter().any(is_it) { Setter::ValuesFile } else { Setter::Chart };
        };
        match &self.layers[*index].by {
            By::Release if self.own.as_ref().is_none_or(|own| *own == at.file) => Setter::Release,
            By::Release => Setter::Patched,
            By::Reference(reference) if reference.is_secret => Setter::Secret(reference.told.clone()),
            By::Reference(reference) => Setter::ConfigMap(reference.told.clone()),
            By::TargetPath(reference, _) => Setter::TargetPath(reference.told.clone()),
        }
    }
}

/// Whether something may read the value at a pointer.
fn is_read(reading: &ValueUse, pointer: &str) -> Option<bool> {
    if !reading.is_followed {
        return None;
    }
    let mut path: Vec<Arc<str>> = Vec::new();
    for segment in pointer_segments(pointer) {
        path.push(segment.into());
        if reading.dead.contains(&path) {
            return Some(false);
        }
        if reading.unsure.contains(&path) {
            return None;
        }
    }
    Some(true)
}

/// A value on one line.
fn shown(leaf: NodeRef<'_>) -> String {
    if leaf.is_map() {
        return "{}".to_owned();
    }
    if leaf.is_seq() {
        return "[]".to_owned();
    }
    if leaf.is_unknown() {
        return "***".to_owned();
    }
    let Some(text) = leaf.text() else { return "null".to_owned() };
    let is_text = leaf.as_str().is_some();
    let text = shorten(&clean(&text), SHOWN);
    match is_text && style_of(&text, false) != ScalarStyle::Plain {
        true => format!("{text:?}"),
        false => text,
    }
}

/// The values as a tree that keeps their places. Deeper ones than a tree may hold are not
/// printed.
fn to_node(value: &HelmValue, depth: usize) -> Node {
    let below = |value: &HelmValue| match depth > DEPTH_LIMIT {
        true => Node::scalar(Value::Unknown("nested too deeply".into()), None),
        false => to_node(value, depth + 1),
    };
    let own = match &value.kind {
        Kind::Null => Value::Null,
        Kind::Bool(value) => Value::Bool(*value),
        Kind::Int(value) => Value::Int(*value),
        Kind::Float(value) => Value::Float(*value),
        Kind::Text(text) => Value::Str(text.clone()),
        Kind::List(items) => Value::Seq(items.iter().map(below).collect()),
        Kind::Map(map) => {
            let entry = |(key, value): (&Arc<str>, &HelmValue)| Entry {
                key: Node::string(key, None),
                value: below(value),
            };
            Value::Map(map.iter().map(entry).collect())
        }
        Kind::Holes(holes) => Value::Holes((**holes).clone()),
        Kind::Unknown(why) => Value::Unknown(why.clone()),
    };
    Node::Built(Arc::new(Built { value: own, origin: value.origin.clone() }))
}
