//! `json`: the stable contract, with a JSON Schema for each command in
//! `schemas/`.

use super::lines::json_escape;
use super::parts::{location, object, origins};
use super::{Lint, shown_edits};
use crate::files::Snapshot;
use crate::lang::text::{clean, is_visible};
use crate::lint::Finding;
use crate::lint::engine::NotChecked;
use crate::model::Unchecked;
use crate::model::value::unknown;
use crate::world::World;
use crate::world::versions::{Setting, Settings};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::io::{self, Write};

/// How many examples `notChecked` has for each reason.
const EXAMPLES: usize = 3;

/// Write an answer as one line of JSON with sorted maps.
pub fn write(out: &mut dyn Write, answer: &Value) -> io::Result<()> {
    answer.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, Inert))?;
    writeln!(out)
}

/// A part of JSON in which what nobody sees, and these characters, are escaped: it means
/// the same. `##[error]` is a command to some runners, wherever it stands.
pub(crate) fn inert<'j>(json: &'j str, also: &[char]) -> Cow<'j, str> {
    if json.is_ascii() && !json.contains(also) && !json.contains("##") && !json.contains('\u{7f}') {
        return json.into();
    }
    let mut out = String::with_capacity(json.len());
    let mut before = ' ';
    for c in json.chars() {
        let is_plain = matches!(c, '\n' | '\t') || is_visible(before, c);
        if is_plain && !also.contains(&c) && (c, before) != ('#', '#') {
            out.push(c);
        } else {
            json_escape(&mut out, c);
        }
        before = c;
    }
    out.into()
}

/// Compact JSON without characters that make a terminal or a reader do something,
/// and without what the runner of a workflow looks for inside of lines.
struct Inert;

impl serde_json::ser::Formatter for Inert {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        out.write_all(inert(fragment, &[]).as_bytes())
    }
}

/// The header that every answer begins with. `world` is what the answer rests
/// on, where it rests on a repository.
pub(crate) fn header(
    command: &str,
    at: Option<Timestamp>,
    world: Option<&World>,
    not_checked: &NotChecked,
) -> Map<String, Value> {
    let unchecked = |(what, places): (Unchecked, &[String])| json!({"what": what.name(), "count": places.len(), "examples": places.iter().take(EXAMPLES).collect::<Vec<_>>()});
    let mut header = Map::new();
    header.insert("schema".to_owned(), json!(format!("forebay.{command}/v1")));
    header.insert("version".to_owned(), json!(env!("CARGO_PKG_VERSION")));
    header.insert("root".to_owned(), json!("."));
    header.insert("at".to_owned(), json!(at.map(|at| at.to_string())));
    header.insert("target".to_owned(), world.map_or_else(|| json!({}), target));
    header.insert("notChecked".to_owned(), not_checked.iter().map(unchecked).collect());
    header.insert("coverage".to_owned(), coverage(world));
    header
}

/// By cluster: versions and features, and where each was read. A cluster
/// without an entry point has no name and is left out.
pub(crate) fn target(world: &World) -> Value {
    let mut target = Map::new();
    for cluster in &world.clusters {
        let Some(name) = &cluster.name else { continue };
        let settings = &cluster.settings;
        let mut values = Map::new();
        for (key, version) in [
            ("flux", &settings.flux),
            ("clusterApi", &settings.cluster_api),
            ("kubernetes", &settings.kubernetes),
        ] {
            let value = match key {
                "flux" => flux(settings),
                _ => version.value.map_or_else(unstated, |version| json!(version.to_string())),
            };
            values.insert(key.to_owned(), json!({"value": value, "from": from(&world.snapshot, version)}));
        }
        for (feature, setting) in settings.features() {
            let value = setting.value.map_or_else(unstated, |on| json!(on));
            let value = json!({"value": value, "from": from(&world.snapshot, setting)});
            values.insert(feature.name().to_owned(), value);
        }
        target.insert(name.to_string(), Value::Object(values));
    }
    Value::Object(target)
}

/// What the clusters take in of the repository, and what was not followed.
fn coverage(world: Option<&World>) -> Value {
    let coverage = world.map(World::coverage).unwrap_or_default();
    let clusters: Map<String, Value> =
        coverage.clusters.iter().map(|(name, known)| (name.to_string(), json!(known.name()))).collect();
    let not_followed = coverage.not_followed.iter().map(|one| {
        let place = world.and_then(|world| Some(location(&world.snapshot, Some(one.location.as_ref()?))));
        json!({"object": object(&one.object), "why": clean(&one.why), "location": place})
    });
    json!({
        "kustomizations": coverage.kustomizations,
        "followed": coverage.followed,
        "objects": coverage.objects,
        "inClusters": coverage.in_clusters,
        "orphans": coverage.orphans,
        "clusters": clusters,
        "notFollowed": not_followed.collect::<Value>(),
    })
}

/// The version of Flux, or what bounds it.
pub(crate) fn flux(settings: &Settings) -> Value {
    match (settings.flux.value, settings.flux_between) {
        (Some(version), _) if version.major < 2 => json!("older than 2.0"),
        (Some(version), _) => json!(version.to_string()),
        (None, (None, None)) => unstated(),
        (None, (Some(low), None)) => unknown(format!("2.{low} or later")),
        (None, (None, Some(high))) => unknown(format!("2.{high} or earlier")),
        (None, (Some(low), Some(high))) => unknown(format!("from 2.{low} to 2.{high}")),
    }
}

/// The value of what the repository does not state.
pub(crate) fn unstated() -> Value {
    unknown("nothing in the repository or the configuration says it")
}

/// `path:line` of a setting.
pub(crate) fn from<T>(snapshot: &Snapshot, setting: &Setting<T>) -> Option<String> {
    let location = setting.from.as_ref()?;
    Some(format!("{}:{}", location.file, snapshot.positions(location).0.0))
}

/// An answer: the header and what the command says.
pub(crate) fn answer(header: Map<String, Value>, body: Value) -> Value {
    let mut answer = header;
    if let Value::Object(body) = body {
        answer.extend(body);
    }
    Value::Object(answer)
}

/// The answer of `lint`.
pub fn lint(lint: &Lint<'_>) -> Value {
    let outcome = lint.outcome;
    let mut answer = header("lint", lint.at, Some(lint.world), &outcome.not_checked);
    let mut summary = json!({
        "files": outcome.files,
        "documents": outcome.documents,
        "objects": outcome.objects,
        "clusters": outcome.clusters,
        "fixable": lint.fixable(),
        "suppressed": outcome.suppressed.len(),
    });
    for level in [crate::config::Level::Error, crate::config::Level::Warning, crate::config::Level::Info] {
        summary[level.name()] = json!(lint.count(level));
    }
    answer.insert("summary".to_owned(), summary);
    answer.insert("findings".to_owned(), lint.shown().map(|found| finding(lint.snapshot(), found)).collect());
    Value::Object(answer)
}

pub(crate) fn finding(snapshot: &Snapshot, finding: &Finding) -> Value {
    let related = finding.related.iter().map(
        |related| json!({"message": clean(&related.message), "location": location(snapshot, Some(&related.location))}),
    );
    let fixes = finding.fixes.iter().map(|fix| {
        let edits = shown_edits(snapshot, finding, fix).iter().map(
            |edit| json!({"path": &*edit.path, "start": edit.start, "end": edit.end, "text": edit.text}),
        );
        json!({
            "title": clean(&fix.title),
            "applicability": fix.applicability.name(),
            "edits": edits.collect::<Value>(),
        })
    });
    let is_elsewhere = finding.path.is_empty() && finding.values_path.is_some();
    let path = (!is_elsewhere).then_some(&finding.path);
    let mut told = json!({
        "rule": finding.rule.id,
        "group": finding.rule.group.name(),
        "level": finding.level.name(),
        "message": clean(&finding.title),
        "why": clean(&finding.why),
        "help": clean(&finding.help),
        "objects": finding.objects.iter().map(object).collect::<Value>(),
        "objectCount": finding.objects.len(),
        "path": path,
        "location": location(snapshot, Some(&finding.location)),
        "related": related.collect::<Value>(),
        "clusters": finding.clusters.iter().map(|name| &**name).collect::<Vec<_>>(),
        "fixes": fixes.collect::<Value>(),
        "fingerprint": finding.fingerprint,
    });
    if let Some(pointer) = &finding.values_path {
        told["valuesPath"] = json!(pointer);
    }
    if let Some(origins) = origins(snapshot, Some(&finding.location)) {
        told["origins"] = origins.into();
    }
    told
}
