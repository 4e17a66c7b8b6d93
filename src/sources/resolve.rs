//! A request for a chart to the chart: in a file tree that the world follows, else in a
//! store, else nowhere here.
//!
//! Versions are compared as source-controller does (`internal/helm/repository`,
//! `ChartRepository.getChartVersion`): the exact text first, then the range, of which a
//! full version is one, without regard to build metadata and a leading `v`.

use super::request::{Asked, CHART_LAYER, ChartRequest, OciReference, Unclear};
use crate::files::{ChartStores, FileTree, StoredChart};
use crate::lang::template::{Constraints, Version};
use regex::Regex;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// A chart that is here.
#[derive(Clone, Debug)]
pub(crate) struct FoundChart {
    /// Where it is.
    pub place: ChartPlace,
    /// Why it may be another one in the cluster.
    pub assumed: Option<String>,
    /// What was asked for by digest and could not be compared.
    pub unverified: Option<String>,
}

/// Where a chart lies.
#[derive(Clone, Debug)]
pub(crate) enum ChartPlace {
    /// A folder or an archive of a file tree, by its clean path.
    Tree(FileTree, String),
    /// A chart of a store.
    Store(Arc<StoredChart>),
}

/// A chart that is not here, as answers tell it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Missing {
    /// Its name; empty where that isn't known.
    pub name: String,
    /// The version or range that is asked for.
    pub version: String,
    /// The URL of its source, where it is known.
    pub url: Option<String>,
    /// Why it is not here.
    pub why: String,
    /// Whether `chart pull` could fetch it.
    pub is_remote: bool,
    /// What the index of its repository, where a store has it, says against it.
    pub unlisted: Option<Box<Unlisted>>,
}

/// An index of a chart repository that lists a chart, newer versions of it, and not the one
/// that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Unlisted {
    /// The store that holds the index.
    pub store: Arc<str>,
    /// The versions that it lists, the nearest to the one that is asked for first.
    pub versions: Vec<String>,
}

/// What finds the tree of a Flux source: kind, namespace, name, and the path that will be
/// looked up in it.
pub(crate) type Trees<'t> = dyn Fn(&str, Option<&str>, &str, &str) -> Result<FileTree, String> + 't;

impl Missing {
    fn remote(name: &str, version: &str, url: Option<&str>, why: String) -> Missing {
        let (name, version) = (name.to_owned(), version.to_owned());
        Missing { name, version, url: url.map(str::to_owned), why, is_remote: url.is_some(), unlisted: None }
    }

    /// Of a release whose request isn't clear.
    pub(crate) fn unclear(unclear: &Unclear) -> Missing {
        let why = match unclear {
            Unclear::Unknown(what) => format!("{what} is known in the cluster only"),
            Unclear::NotHere(why) => why.clone(),
            Unclear::Nothing => "it names no chart".to_owned(),
        };
        Missing {
            name: String::new(),
            version: String::new(),
            url: None,
            why,
            is_remote: false,
            unlisted: None,
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.name.is_empty() { "a chart" } else { &self.name })?;
        if !self.version.is_empty() {
            write!(f, " {}", self.version)?;
        }
        if let Some(url) = &self.url {
            write!(f, " of {url}")?;
        }
        write!(f, ": {}", self.why)
    }
}

impl ChartRequest {
    /// The name of the chart, its version as it is asked for, and the URL of its source.
    pub(crate) fn named(&self) -> (&str, &str, Option<&str>) {
        match &self.chart {
            Asked::Path(path) => (last(path), "", None),
            Asked::Named { url, name, version } => (last(name), version, url.as_deref()),
            Asked::Artifact { url, reference, .. } => {
                let version = match reference {
                    OciReference::Tag(tag) | OciReference::Digest(_, Some(tag)) => tag,
                    OciReference::Range(range, _) => range,
                    OciReference::Digest(digest, None) => digest,
                };
                (last(url), version, Some(url))
            }
        }
    }

    /// Where no chart is wanted.
    fn left_out(&self) -> Missing {
        let (name, version, url) = self.named();
        Missing::remote(name, version, url, "charts are left out".to_owned())
    }
}

/// The chart that is asked for.
///
/// # Errors
/// Why it is not here.
pub(crate) fn resolve(
    request: &ChartRequest,
    trees: &Trees<'_>,
    stores: &ChartStores,
) -> Result<FoundChart, Box<Missing>> {
    if stores.is_off() {
        return Err(Box::new(request.left_out()));
    }
    let (kind, namespace, name) = &request.source;
    let tree = |path: &str| trees(kind, namespace.as_deref(), name, path);
    let found = match &request.chart {
        Asked::Path(path) => in_tree(path, &tree),
        Asked::Named { url, name, version } => {
            let from = url.as_deref().map(|url| location_of(url, name));
            let wanted = Wanted { name: last(name), version, url: from.as_deref(), tag: None, filter: None };
            let missing = |why| {
                let why = match url {
                    Some(_) => why,
                    None => format!("nothing here makes {kind} {}", request.source.2),
                };
                let unlisted =
                    url.as_deref().and_then(|url| unlisted(url, last(name), version, stores)).map(Box::new);
                Missing { unlisted, ..Missing::remote(name, version, url.as_deref(), why) }
            };
            wanted.find(stores).map_err(missing)
        }
        Asked::Artifact { url, reference, layer } => match tree("") {
            // Pushed from here.
            Ok(tree) if tree.file("Chart.yaml").is_some() => Ok(FoundChart {
                place: ChartPlace::Tree(tree, String::new()),
                assumed: None,
                unverified: None,
            }),
            _ => match layer {
                Some(layer) if layer != CHART_LAYER => Err(other_layer(request, layer)),
                _ => artifact(url, reference, stores),
            },
        },
    };
    found.map_err(Box::new)
}

/// What an index of a repository says against an exact version. One without a newer version
/// may be older than the version; one whose archives lie elsewhere may be of another
/// repository.
fn unlisted(url: &str, name: &str, version: &str, stores: &ChartStores) -> Option<Unlisted> {
    let wanted = Version::parse(version).ok().filter(|_| is_exact(version))?;
    let repository = format!("{}/", normalised(url));
    for (store, listed) in stores.catalogued(name) {
        if !listed.iter().any(|(_, url)| normalised(url).starts_with(&repository)) {
            continue;
        }
        let parsed = |(version, _): &(String, String)| Some((Version::parse(version).ok()?, version.clone()));
        let mut versions: Vec<(Version, String)> = listed.iter().filter_map(parsed).collect();
        if versions.iter().any(|(own, _)| own.compare(&wanted) == Ordering::Equal) {
            return None;
        }
        if !versions.iter().any(|(own, _)| own.compare(&wanted) == Ordering::Greater) {
            continue;
        }
        let distance = |own: &Version| {
            let parts = [(own.major, wanted.major), (own.minor, wanted.minor), (own.patch, wanted.patch)];
            parts.map(|(own, wanted)| own.abs_diff(wanted))
        };
        versions.sort_by_key(|(own, _)| distance(own));
        let versions = versions.into_iter().map(|(_, version)| version).collect();
        return Some(Unlisted { store: store.name.clone(), versions });
    }
    None
}

/// The last component of a path or URL.
fn last(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default()
}

/// A chart at a path of a tree: a folder with a Chart.yaml, or an archive.
fn in_tree(written: &str, tree: &dyn Fn(&str) -> Result<FileTree, String>) -> Result<FoundChart, Missing> {
    let path = clean(written);
    let named = last(&path).to_owned();
    let missing = |why| Missing {
        name: named.clone(),
        version: String::new(),
        url: None,
        why,
        is_remote: false,
        unlisted: None,
    };
    let tree = tree(&path).map_err(missing)?;
    let chart = if path.is_empty() { "Chart.yaml".to_owned() } else { format!("{path}/Chart.yaml") };
    if tree.file(&chart).is_none() && tree.file(&path).is_none() {
        return Err(missing(format!("its source holds no chart at {written}")));
    }
    Ok(FoundChart { place: ChartPlace::Tree(tree, path), assumed: None, unverified: None })
}

/// A path that never leaves its tree (`securejoin.SecureJoin`).
pub(crate) fn clean(path: &str) -> String {
    let mut segments: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            _ => segments.push(segment),
        }
    }
    segments.join("/")
}

/// Of an artifact of which another layer than a chart's is taken: no store holds such,
/// and helm fetches none.
fn other_layer(request: &ChartRequest, layer: &str) -> Missing {
    let (name, version, _) = request.named();
    let why = format!("its layerSelector takes a layer of type {layer}, and charts are of {CHART_LAYER}");
    Missing {
        name: name.to_owned(),
        version: version.to_owned(),
        url: None,
        why,
        is_remote: false,
        unlisted: None,
    }
}

fn artifact(url: &str, reference: &OciReference, stores: &ChartStores) -> Result<FoundChart, Missing> {
    let name = last(url);
    let from = normalised(url);
    let wanted = Wanted { name, version: "", url: Some(&from), tag: None, filter: None };
    match reference {
        OciReference::Tag(tag) => {
            let version = tag.replace('_', "+");
            let wanted = Wanted { version: &version, tag: Some(tag), ..wanted };
            wanted.find(stores).map_err(|why| Missing::remote(name, tag, Some(url), why))
        }
        OciReference::Range(range, filter) => {
            let missing = |why| Missing::remote(name, range, Some(url), why);
            let filter = match filter.as_deref().map(Regex::new) {
                Some(Err(_)) => return Err(missing("its semverFilter is no regular expression".to_owned())),
                Some(Ok(filter)) => Some(filter),
                None => None,
            };
            let wanted = Wanted { version: range, filter: filter.as_ref(), ..wanted };
            let mut found = wanted.find(stores).map_err(missing)?;
            let told = || format!("the newest of the store that fits {range}");
            found.assumed = found.assumed.or_else(|| Some(told()));
            Ok(found)
        }
        OciReference::Digest(digest, tag) => by_digest(name, url, digest, tag.as_deref(), stores),
    }
}

/// A chart that is asked for by its manifest's digest.
fn by_digest(
    name: &str,
    url: &str,
    digest: &str,
    tag: Option<&str>,
    stores: &ChartStores,
) -> Result<FoundChart, Missing> {
    let missing = |why: &str| Missing::remote(name, tag.unwrap_or(digest), Some(url), why.to_owned());
    if let Some(chart) = stores.with_manifest(digest) {
        return checked(chart).map_err(|why| missing(&why));
    }
    let Some(tag) = tag else {
        return Err(missing("it is named by a digest, which no store records"));
    };
    let (from, version) = (normalised(url), tag.replace('_', "+"));
    let wanted = Wanted { name, version: &version, url: Some(&from), tag: Some(tag), filter: None };
    let mut found = wanted.find(stores).map_err(|why| missing(&why))?;
    if let ChartPlace::Store(chart) = &found.place {
        match chart.recorded.as_ref().and_then(|recorded| recorded.manifest.as_deref()) {
            Some(_) => return Err(missing("the store holds another digest of this tag")),
            None => found.unverified = Some(digest.to_owned()),
        }
    }
    Ok(found)
}

/// A chart that is looked for in stores.
struct Wanted<'w> {
    /// The name in its Chart.yaml.
    name: &'w str,
    /// A version or a range.
    version: &'w str,
    /// Where it comes from, normalised.
    url: Option<&'w str>,
    /// The tag of an OCI artifact.
    tag: Option<&'w str>,
    /// What tags have to match.
    filter: Option<&'w Regex>,
}

impl Wanted<'_> {
    /// The chart of the first store that has one that fits.
    ///
    /// # Errors
    /// Why there is none.
    fn find(&self, stores: &ChartStores) -> Result<FoundChart, String> {
        let own: Vec<&Arc<StoredChart>> =
            stores.named(self.name).filter(|chart| self.may_be(chart)).collect();
        let exact = is_exact(self.version) || (self.tag.is_some() && self.version != "latest");
        let tagged = own.iter().filter(|chart| self.is_tagged(chart)).copied().collect::<Vec<_>>();
        let same_text = || own.iter().filter(|chart| chart.version == self.version).copied().collect();
        let fitting = match (tagged.is_empty(), exact) {
            (false, _) => tagged,
            (true, true) => {
                let exact: Vec<_> = same_text();
                if exact.is_empty() { self.equal(&own) } else { exact }
            }
            (true, false) if self.tag.is_some() => Vec::new(),
            (true, false) => self.newest(&own)?,
        };
        let Some(first) = fitting.first() else { return Err(self.absence(&own)) };
        // Stores are asked in their order.
        let rivals: Vec<_> = fitting.iter().filter(|chart| chart.store == first.store).collect();
        let (known, unknown): (Vec<_>, Vec<_>) = rivals.iter().partition(|chart| self.is_of_url(chart));
        let chosen = known.first().or(unknown.first()).ok_or("no store has it")?;
        if known.is_empty() && unknown.len() > 1 && !are_equal(&unknown) {
            let store = &stores.store(first.store).name;
            return Err(format!("{store} holds several charts of this name and version, of unknown origin"));
        }
        let mut found = checked(chosen)?;
        if !exact {
            let version = &chosen.version;
            let mut told = match self.version {
                "" => format!("{version} is the newest of the store"),
                range => format!("{version} is the newest of the store that fits {range}"),
            };
            if known.is_empty() {
                told.push_str(", and no index says where it comes from");
            }
            found.assumed = Some(told);
        }
        Ok(found)
    }

    /// Whether a chart doesn't come from elsewhere.
    fn may_be(&self, chart: &StoredChart) -> bool {
        let url = chart.recorded.as_ref().and_then(|recorded| recorded.url.as_deref());
        match (url, self.url) {
            (Some(url), Some(own)) => normalised(url) == own,
            _ => true,
        }
    }

    fn is_of_url(&self, chart: &StoredChart) -> bool {
        let url = chart.recorded.as_ref().and_then(|recorded| recorded.url.as_deref());
        url.is_some_and(|url| self.url == Some(&*normalised(url)))
    }

    fn is_tagged(&self, chart: &StoredChart) -> bool {
        let tag = chart.recorded.as_ref().and_then(|recorded| recorded.tag.as_deref());
        self.tag.is_some() && tag == self.tag && self.is_of_url(chart)
    }

    /// The charts of an equal version.
    fn equal<'c>(&self, charts: &[&'c Arc<StoredChart>]) -> Vec<&'c Arc<StoredChart>> {
        let Ok(wanted) = Version::parse(self.version) else { return Vec::new() };
        let is_equal = |chart: &&&Arc<StoredChart>| {
            Version::parse(&chart.version).is_ok_and(|own| own.compare(&wanted) == Ordering::Equal)
        };
        charts.iter().filter(is_equal).copied().collect()
    }

    /// The charts of the newest version that fits the range.
    fn newest<'c>(&self, charts: &[&'c Arc<StoredChart>]) -> Result<Vec<&'c Arc<StoredChart>>, String> {
        let range = if self.version.is_empty() { "*" } else { self.version };
        let range = Constraints::parse(range).map_err(|_| format!("{range} is no range of versions"))?;
        let mut best: Option<Version> = None;
        let mut found: Vec<&Arc<StoredChart>> = Vec::new();
        for chart in charts {
            let tag = chart.recorded.as_ref().and_then(|recorded| recorded.tag.clone());
            let tag = tag.unwrap_or_else(|| chart.version.replace('+', "_"));
            let Ok(version) = Version::parse(&chart.version) else { continue };
            if !range.check(&version) || self.filter.is_some_and(|filter| !filter.is_match(&tag)) {
                continue;
            }
            match best.as_ref().map_or(Ordering::Greater, |best| version.compare(best)) {
                Ordering::Less => continue,
                Ordering::Equal => {}
                Ordering::Greater => found.clear(),
            }
            found.push(chart);
            best = Some(version);
        }
        Ok(found)
    }

    /// Why there is none, with what is there instead.
    fn absence(&self, own: &[&Arc<StoredChart>]) -> String {
        let mut versions: Vec<&str> = own.iter().map(|chart| &*chart.version).collect();
        versions.dedup();
        match versions.len() {
            0 => "it is in no store".to_owned(),
            1..=4 => format!("it is in no store; there is {}", versions.join(", ")),
            more => format!("it is in no store; there are {more} other versions of it"),
        }
    }
}

/// Whether a version means one version: no range, no wildcard, all three numbers.
pub(crate) fn is_exact(version: &str) -> bool {
    let core = version.split(['-', '+']).next().unwrap_or_default();
    Version::parse(version).is_ok() && core.split('.').count() == 3
}

fn checked(chart: &Arc<StoredChart>) -> Result<FoundChart, String> {
    if chart.is_as_recorded() == Some(false) {
        return Err(format!("{} of its store is not what the store's index.yaml records", chart.path));
    }
    Ok(FoundChart { place: ChartPlace::Store(chart.clone()), assumed: None, unverified: None })
}

fn are_equal(charts: &[&&&Arc<StoredChart>]) -> bool {
    let digest = |chart: &Arc<StoredChart>| chart.content().ok().map(|content| content.digest());
    let Some((first, rest)) = charts.split_first() else { return true };
    let first = digest(first);
    first.is_some() && rest.iter().all(|chart| digest(chart) == first)
}

/// Where a chart of a repository comes from, normalised.
pub(crate) fn location_of(repository: &str, name: &str) -> String {
    normalised(&format!("{}/{name}", repository.trim_end_matches('/')))
}

/// A URL without case of its scheme and host, and without an end.
pub(crate) fn normalised(url: &str) -> String {
    let url = url.trim_end_matches('/');
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (host, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    let (scheme, host) = (scheme.to_ascii_lowercase(), host.to_ascii_lowercase());
    if path.is_empty() { format!("{scheme}://{host}") } else { format!("{scheme}://{host}/{path}") }
}
