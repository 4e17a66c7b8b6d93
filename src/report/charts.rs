//! The answer of `chart list`: which charts the releases of a repository mean, and where
//! each was found.

use super::parts::object;
use crate::files::ChartStores;
use crate::lang::template::Version;
use crate::lang::text::{clean, counted};
use crate::model::ObjectId;
use crate::sources::request::{Asked, ChartRequest};
use crate::sources::resolve::{ChartPlace, FoundChart, Missing, is_exact};
use crate::world::releases::Release;
use crate::world::{Cluster, World};
use serde_json::{Value, json as value};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A chart that releases mean, as they ask for it.
pub(crate) struct MeantChartRow<'w> {
    pub name: String,
    /// The version or range that is asked for; of a chart of a file tree what its
    /// Chart.yaml says.
    pub version: String,
    /// What is asked for by the first of the releases; `None` where that isn't known here.
    pub request: Option<&'w ChartRequest>,
    /// The releases, each once.
    pub releases: Vec<&'w ObjectId>,
    /// Where it was found, or why it wasn't.
    pub found: Result<&'w FoundChart, &'w Missing>,
}

/// The charts of the wanted clusters, in order of their names and versions.
pub(crate) fn rows<'w>(world: &'w World, wanted: impl Fn(&Cluster) -> bool) -> Vec<MeantChartRow<'w>> {
    let mut rows: BTreeMap<(String, String, String), MeantChartRow<'w>> = BTreeMap::new();
    let clusters = world.clusters.iter().filter(|cluster| wanted(cluster) && world.counts(cluster));
    for release in clusters.flat_map(|cluster| &cluster.releases) {
        let request = release.request.as_ref().ok();
        let (name, version, url) = request.map_or(("", "", None), ChartRequest::named);
        let from = match (request, url) {
            (_, Some(url)) => url.to_owned(),
            (Some(ChartRequest { source: (kind, namespace, source), chart, .. }), None) => {
                format!("{kind}/{namespace:?}/{source}/{chart:?}")
            }
            (None, None) => {
                release.chart.as_ref().err().map_or_else(String::new, |missing| missing.why.clone())
            }
        };
        let version = if version.is_empty() { tree_version(release) } else { version.to_owned() };
        let row = rows.entry((name.to_owned(), version.clone(), from)).or_insert_with(|| MeantChartRow {
            name: name.to_owned(),
            version,
            request,
            releases: Vec::new(),
            found: release.chart.as_ref(),
        });
        if !row.releases.contains(&&release.id) {
            row.releases.push(&release.id);
        }
    }
    rows.into_values().collect()
}

/// The version that the Chart.yaml of a chart of a file tree states.
fn tree_version(release: &Release) -> String {
    let Ok(FoundChart { place: ChartPlace::Tree(tree, path), .. }) = &release.chart else {
        return String::new();
    };
    let file = if path.is_empty() { "Chart.yaml".to_owned() } else { format!("{path}/Chart.yaml") };
    let stated = tree.file(&file).and_then(|file| {
        let source = tree.snapshot().sources(file).first()?;
        let root = source.root();
        Some(root.get_ref().at("/version")?.text()?.into_owned())
    });
    stated.unwrap_or_default()
}

/// The answer for programs.
pub(crate) fn json(rows: &[MeantChartRow<'_>], stores: &ChartStores) -> Value {
    let charts = rows.iter().map(|row| {
        let found = row.found.ok().map(|found| place(found, stores));
        let assumed = row.found.ok().and_then(|found| found.assumed.as_deref());
        let source = row.request.map_or_else(|| value!({}), source);
        let mut one = value!({
            "name": row.name,
            "version": row.version,
            "source": source,
            "releases": row.releases.iter().map(|id| object(id)).collect::<Vec<_>>(),
            "found": found,
            "why": row.found.err().map(|missing| missing.why.as_str()),
        });
        if let Some(assumed) = assumed {
            one["assumed"] = value!(assumed);
        }
        if let Some(newer) = newer(row, stores) {
            one["newer"] = value!(newer);
        }
        one
    });
    value!({"charts": charts.collect::<Vec<_>>()})
}

fn source(request: &ChartRequest) -> Value {
    let (kind, namespace, name) = &request.source;
    let mut source = value!({"kind": kind, "name": name});
    if let Some(namespace) = namespace {
        source["namespace"] = value!(namespace);
    }
    if let (_, _, Some(url)) = request.named() {
        source["url"] = value!(url);
    }
    source
}

fn place(found: &FoundChart, stores: &ChartStores) -> Value {
    match &found.place {
        ChartPlace::Tree(tree, path) => {
            let real = tree.real(path).map(|real| real.shown().to_string()).unwrap_or_default();
            let real = if real.is_empty() { ".".to_owned() } else { real };
            value!({"store": ".", "path": real, "digest": null})
        }
        ChartPlace::Store(chart) => {
            let digest = chart.is_archive().then(|| chart.content().ok()).flatten();
            let digest = digest.map(|content| format!("sha256:{}", content.digest()));
            value!({"store": &*stores.store(chart.store).name, "path": chart.path, "digest": digest})
        }
    }
}

/// The newest version of a chart that a store has, where it is newer than the one that is
/// asked for.
fn newer(row: &MeantChartRow<'_>, stores: &ChartStores) -> Option<String> {
    let own = match row.found {
        Ok(FoundChart { place: ChartPlace::Store(chart), .. }) => chart.version.clone(),
        _ if is_exact(&row.version) => row.version.clone(),
        _ => return None,
    };
    if row.request.is_none_or(|request| matches!(request.chart, Asked::Path(_))) {
        return None;
    }
    let own = Version::parse(&own).ok()?;
    let mut newest: Option<(Version, &str)> = None;
    for chart in stores.named(&row.name) {
        let Ok(version) = Version::parse(&chart.version) else { continue };
        let above = newest.as_ref().map_or(&own, |(newest, _)| newest);
        // Nobody is told to take a prerelease.
        if version.compare(above) == Ordering::Greater && version.is_release() {
            newest = Some((version, &chart.version));
        }
    }
    newest.map(|(_, version)| version.to_owned())
}

/// The answer for people.
pub(crate) fn text(rows: &[MeantChartRow<'_>], all: &[MeantChartRow<'_>], stores: &ChartStores) -> String {
    let mut out = String::new();
    if rows.is_empty() {
        out.push_str(if all.is_empty() { "no release means a chart\n" } else { "no chart is missing\n" });
        return out;
    }
    let longest = |text: &dyn Fn(&MeantChartRow<'_>) -> usize, least: usize| {
        rows.iter().map(text).max().unwrap_or(0).max(least)
    };
    let name = longest(&|row| clean(shown(&row.name)).chars().count(), "CHART".len());
    let version = longest(&|row| clean(shown(&row.version)).chars().count(), "VERSION".len());
    let _ = writeln!(out, "{:name$}   {:version$}   RELEASES   FOUND", "CHART", "VERSION");
    for row in rows {
        let found = match row.found {
            Ok(found) => told(found, stores),
            Err(missing) if missing.is_remote => {
                format!("missing: {}", clean(missing.url.as_deref().unwrap_or_default()))
            }
            Err(missing) => format!("missing: {}", clean(&missing.why)),
        };
        let newer =
            newer(row, stores).map_or_else(String::new, |newer| format!("; a store has {}", clean(&newer)));
        let (shown_name, shown_version) = (clean(shown(&row.name)), clean(shown(&row.version)));
        let count = row.releases.len();
        let _ = writeln!(out, "{shown_name:name$}   {shown_version:version$}   {count:>8}   {found}{newer}");
    }
    let _ = writeln!(out, "{}", summary(all));
    out
}

fn shown(version: &str) -> &str {
    if version.is_empty() { "-" } else { version }
}

fn told(found: &FoundChart, stores: &ChartStores) -> String {
    match &found.place {
        ChartPlace::Tree(tree, path) => {
            let real = tree.real(path).map(|real| clean(real.shown()).into_owned()).unwrap_or_default();
            if real.is_empty() { ".".to_owned() } else { real }
        }
        ChartPlace::Store(chart) => {
            let store = clean(&stores.store(chart.store).name).into_owned();
            match (&found.assumed, &found.unverified) {
                (Some(_), _) => format!("assumed {} ({store})", clean(&chart.version)),
                (None, Some(_)) => format!("{store} (its digest is not recorded)"),
                (None, None) => store,
            }
        }
    }
}

/// The last line: `3 of 4 charts found, for 44 of 45 releases; …`.
fn summary(rows: &[MeantChartRow<'_>]) -> String {
    let releases = |rows: &mut dyn Iterator<Item = &MeantChartRow<'_>>| {
        rows.map(|row| row.releases.len()).sum::<usize>()
    };
    let found = rows.iter().filter(|row| row.found.is_ok()).count();
    let with = releases(&mut rows.iter().filter(|row| row.found.is_ok()));
    let all = releases(&mut rows.iter());
    let mut line = format!(
        "{found} of {} found, for {with} of {}",
        counted(rows.len(), "chart"),
        counted(all, "release")
    );
    if rows.iter().any(|row| row.found.is_err_and(|missing| missing.is_remote)) {
        line.push_str("; `forebay chart pull` fetches what is missing");
    }
    line
}
