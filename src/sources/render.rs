//! What a release's chart makes of its values: charts are loaded once, equal requests are
//! rendered once.

use super::kept;
use super::outcome::{Answers, Made, Meant, Outcome, Refusal, documents_of};
use super::request::Request as Asked;
use super::resolve::{ChartPlace, Found, Trees, clean, location_of, normalised};
use super::values::Values;
use crate::build::helm::{
    self, Capabilities, Chart, ChartFile, Culprit, Dead, Helm, Idle, Kind, Readers, Release, RenderError,
    Replaced, Value, merge_into,
};
use crate::files::{
    Blob, ChartContent, ChartStores, FileTree, PathKind, RenderCache, Snapshot, Store, StoredChart,
};
use crate::lang::template::{Constraints, Version};
use crate::lang::text::Names;
use crate::lang::yaml::{FilePath, Location, Node, Tree};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
use sha2::{Digest, Sha256};
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// All that a render hangs on besides the chart.
pub(crate) struct Wish<'w> {
    /// What the release asks for.
    pub asked: &'w Asked,
    /// Its values.
    pub values: &'w Values,
    /// Its name and namespace.
    pub release: Release,
    /// What the cluster is likely to be able to do.
    pub capabilities: Capabilities,
    /// The least and the most that it may be: what both decide alike is known.
    pub ends: Vec<Capabilities>,
    /// The Helm of its helm-controller.
    pub helm: Helm,
    /// `disableSchemaValidation`
    pub skips_schema: bool,
}

/// A release that was rendered.
#[derive(Debug)]
pub(crate) struct Rendering {
    /// What came of it.
    pub outcome: Arc<Outcome>,
    /// The chart, with its values files, and what it was rendered for; nothing where there
    /// is no chart.
    of: Option<Rendered>,
    /// What of the chart a store was asked for by name alone, in words.
    pub taken_in: Arc<[String]>,
    unread: OnceLock<Arc<Unread>>,
    idle: OnceLock<Vec<Idle>>,
    culprit: OnceLock<Option<Culprit>>,
    replaced: OnceLock<Vec<Replaced>>,
    deprecation: Option<String>,
}

#[derive(Debug)]
struct Rendered {
    chart: Arc<Chart>,
    values: Value,
    release: Release,
    capabilities: Capabilities,
    helm: Helm,
    skips_schema: bool,
    /// Files of `valuesFiles`, without the chart's own values.
    values_files: Vec<FilePath>,
    /// Whether nothing was taken into the chart from elsewhere.
    is_whole: bool,
    /// How its templates ran, where they did.
    run: Option<Run>,
}

/// A run of the templates of a chart.
#[derive(Debug)]
struct Run {
    touched: helm::Touched,
    /// What they wrote, where the same request makes them write it again.
    written: Option<helm::Digest>,
}

/// What the templates of a chart do with the values of a release.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// The values that nothing reads.
    pub dead: Vec<Dead>,
    /// Whether the templates could be followed.
    pub is_followed: bool,
    /// What the templates can read; nothing where that is too much to say, or not asked
    /// again.
    readers: Option<Arc<Readers>>,
    /// All values, as templates see them.
    coalesced: Option<Value>,
    /// What is meant by dead values, as far as that was asked.
    meant: Mutex<FxHashMap<Vec<Arc<str>>, Option<Meant>>>,
    /// The keys that templates know, by the path of the map that they are of.
    known: Mutex<FxHashMap<Vec<Arc<str>>, Arc<Keys>>>,
}

type Keys = Names<Arc<str>>;

impl Unread {
    /// What is meant by a dead value, as far as one thing is near.
    pub(crate) fn meant(&self, dead: &Dead) -> Option<Meant> {
        let known = || self.meant.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(meant) = known().get(&dead.path) {
            return meant.clone();
        }
        let meant = self.find_meant(dead);
        known().insert(dead.path.clone(), meant.clone());
        meant
    }

    fn find_meant(&self, dead: &Dead) -> Option<Meant> {
        let (readers, coalesced) = (self.readers.as_ref()?, self.coalesced.as_ref()?);
        let (key, above) = dead.path.split_last()?;
        let beside = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(above).cloned();
        let beside = beside.unwrap_or_else(|| {
            let names: Arc<Keys> = Arc::new(readers.siblings(dead, coalesced).into_iter().collect());
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(above.to_vec()).or_insert(names).clone()
        });
        if let Some(near) = beside.nearest(key) {
            return Some(Meant::Near(above.iter().cloned().chain([near.into()]).collect()));
        }
        match &*readers.elsewhere(dead, coalesced) {
            [only] => Some(Meant::Elsewhere(only.clone())),
            _ => None,
        }
    }
}

/// All values of a release, and what templates do with them.
#[derive(Debug)]
pub(crate) struct Reading {
    /// As templates see them.
    pub values: Value,
    /// The highest keys that nothing reads.
    pub dead: FxHashSet<Vec<Arc<str>>>,
    /// The same, where a render without them says otherwise, or was not made.
    pub unsure: FxHashSet<Vec<Arc<str>>>,
    /// Whether the templates could be followed.
    pub is_followed: bool,
}

impl Rendering {
    /// All values as the templates see them, and which of them nothing reads; `None` where
    /// there is no chart.
    ///
    /// # Errors
    /// Helm refuses to put them together.
    pub(crate) fn reading(&self) -> Option<Result<Reading, RenderError>> {
        self.of.as_ref().map(|of| of.reading(&self.unread()))
    }

    /// The files of `valuesFiles`, without the chart's own values.
    pub(crate) fn values_files(&self) -> &[FilePath] {
        self.of.as_ref().map_or(&[], |of| &of.values_files)
    }

    /// The values of these files that nothing reads, each with where its key stands.
    pub(crate) fn unread_of_files(&self) -> Vec<(Dead, Location)> {
        let unread = self.unread();
        match (&self.of, &unread.readers, &unread.coalesced) {
            (Some(of), Some(readers), Some(coalesced)) if !of.values_files.is_empty() => {
                of.unread_of_files(readers, coalesced)
            }
            _ => Vec::new(),
        }
    }

    /// The values that the chart reads under other values only; nothing where its templates
    /// could not be followed.
    pub(crate) fn idle(&self) -> &[Idle] {
        self.idle.get_or_init(|| {
            let unread = self.unread();
            let (Some(of), Some(readers)) = (&self.of, &unread.readers) else { return Vec::new() };
            let Some(run) = &of.run else { return Vec::new() };
            helm::idle(&of.request(), (&run.touched, run.written.as_ref()), readers, &unread.dead)
        })
    }

    /// The value that the chart fails on, where it fails.
    pub(crate) fn culprit(&self) -> Option<&Culprit> {
        let find = || {
            let unread = self.unread();
            self.of.as_ref().and_then(|of| helm::culprit(&of.request(), unread.readers.as_deref()))
        };
        self.culprit.get_or_init(find).as_ref()
    }

    /// The values that another version of the chart read and this one doesn't; nothing where
    /// the chart is the same, or where one of the two can't be followed.
    pub(crate) fn unread_since(&self, before: &Rendering) -> Vec<(Dead, Option<Meant>)> {
        let (Some(old), Some(new)) = (&before.of, &self.of) else { return Vec::new() };
        if Arc::ptr_eq(&old.chart, &new.chart) {
            return Vec::new();
        }
        let (was, is) = (before.unread(), self.unread());
        if was.readers.is_none() {
            return Vec::new();
        }
        // Whether it, or what it lies in, was dead.
        let all: FxHashSet<&[Arc<str>]> = was.dead.iter().map(|dead| &*dead.path).collect();
        let was_dead = |path: &[Arc<str>]| (0..=path.len()).any(|steps| all.contains(&path[..steps]));
        let is_new = |dead: &&Dead| old.values.at(&dead.path).is_some() && !was_dead(&dead.path);
        is.dead.iter().filter(is_new).map(|dead| (dead.clone(), is.meant(dead))).collect()
    }

    /// What of the charts' values the release's stand in the place of, in another shape.
    pub(crate) fn replaced(&self) -> &[Replaced] {
        let find = || self.of.as_ref().and_then(|of| helm::replaced(&of.request()).ok()).unwrap_or_default();
        self.replaced.get_or_init(find)
    }

    /// What Chart.yaml says of a chart that is deprecated.
    pub(crate) fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }

    fn new(outcome: Arc<Outcome>, of: Option<Rendered>, taken_in: Arc<[String]>) -> Rendering {
        let metadata = of.as_ref().map(|of| &of.chart.metadata);
        let deprecated = metadata.filter(|metadata| metadata.deprecated);
        let deprecation = deprecated.map(|metadata| metadata.description.clone());
        Rendering {
            outcome,
            of,
            taken_in,
            unread: OnceLock::new(),
            idle: OnceLock::new(),
            culprit: OnceLock::new(),
            replaced: OnceLock::new(),
            deprecation,
        }
    }

    fn without_chart(outcome: Arc<Outcome>) -> Arc<Rendering> {
        Arc::new(Rendering::new(outcome, None, Arc::default()))
    }

    /// One that was kept: all that is asked of the chart was answered before.
    fn kept(outcome: Outcome, answers: Answers) -> Rendering {
        let dead = answers.dead.iter().map(|(dead, _)| dead.clone()).collect();
        let meant = Mutex::new(answers.dead.into_iter().map(|(dead, meant)| (dead.path, meant)).collect());
        let unread = Unread { dead, is_followed: answers.is_followed, meant, ..Unread::default() };
        let deprecation = answers.deprecation;
        Rendering {
            unread: Arc::new(unread).into(),
            idle: answers.idle.into(),
            culprit: answers.culprit.into(),
            replaced: answers.replaced.into(),
            deprecation,
            ..Rendering::new(Arc::new(outcome), None, Arc::default())
        }
    }

    /// The answers to all that is asked of it.
    fn answers(&self) -> Answers {
        let unread = self.unread();
        let told = unread.dead.iter().enumerate();
        let meant = |(at, dead): (usize, &Dead)| (at < MEANT).then(|| unread.meant(dead)).flatten();
        // Of what a schema refuses the value is known.
        let fails = matches!(&*self.outcome, Outcome::Refused(refusal) if refusal.faults.is_empty());
        Answers {
            leads: self.of.as_ref().map(|of| leads_of(&of.chart)).unwrap_or_default(),
            deprecation: self.deprecation.clone(),
            is_followed: unread.is_followed,
            dead: told.map(|one| (one.1.clone(), meant(one))).collect(),
            idle: self.idle().to_vec(),
            culprit: if fails { self.culprit().cloned() } else { None },
            replaced: self.replaced().to_vec(),
        }
    }

    /// What of the values nothing reads; found once.
    pub(crate) fn unread(&self) -> Arc<Unread> {
        let find = || self.of.as_ref().map(Rendered::unread).unwrap_or_default();
        self.unread.get_or_init(|| Arc::new(find())).clone()
    }
}

impl Rendered {
    fn request(&self) -> helm::Request<'_> {
        helm::Request {
            chart: &self.chart,
            values: &self.values,
            release: &self.release,
            capabilities: &self.capabilities,
            ends: &[],
            helm: self.helm,
            skip_schema_validation: self.skips_schema,
            version_suffix: None,
            keep: helm::Keep::Text,
        }
    }

    fn written(&self) -> Option<&helm::Digest> {
        self.run.as_ref()?.written.as_ref()
    }

    fn unread(&self) -> Unread {
        let request = self.request();
        let readers = self.chart.readers(&self.values, self.helm.line);
        let coalesced = helm::coalesced(&request).ok();
        let dead = match (&readers, &coalesced) {
            (Some(readers), Some(coalesced)) => {
                helm::proved(&request, self.written(), readers.dead(&self.values, coalesced))
            }
            _ => Vec::new(),
        };
        let is_followed = readers.is_some();
        Unread { dead, is_followed, readers, coalesced, ..Unread::default() }
    }

    fn unread_of_files(&self, readers: &Readers, coalesced: &Value) -> Vec<(Dead, Location)> {
        let Some(defaults) = &self.chart.values else { return Vec::new() };
        let mut dead = readers.dead(defaults, coalesced);
        // What the release sets itself is told there.
        dead.retain(|dead| self.values.at(&dead.path).is_none());
        let place = |dead: &Dead| {
            let origin = defaults.at(&dead.path)?.origin.as_ref()?;
            let is_own = self.values_files.contains(&origin.location().file);
            is_own.then(|| helm::key_of(origin).unwrap_or_else(|| origin.location()))
        };
        dead.retain(|dead| place(dead).is_some());
        let proved = helm::proved_defaults(&self.request(), self.written(), coalesced, dead);
        proved.into_iter().filter_map(|dead| Some((dead.clone(), place(&dead)?))).collect()
    }

    fn reading(&self, unread: &Unread) -> Result<Reading, RenderError> {
        let request = self.request();
        let values = helm::coalesced(&request)?;
        let Some(readers) = &unread.readers else {
            return Ok(Reading {
                values,
                dead: FxHashSet::default(),
                unsure: FxHashSet::default(),
                is_followed: false,
            });
        };
        let mut dead: FxHashSet<Vec<Arc<str>>> = unread.dead.iter().map(|dead| dead.path.clone()).collect();
        let mut others = readers.dead(&values, &values);
        others.retain(|other| !dead.contains(&other.path));
        let proved = helm::proved_defaults(&request, self.written(), &values, others.clone());
        dead.extend(proved.into_iter().map(|dead| dead.path));
        let unsure = others.into_iter().map(|dead| dead.path).filter(|path| !dead.contains(path)).collect();
        Ok(Reading { values, dead, unsure, is_followed: true })
    }
}

/// Dead values of one release of which it is kept what is meant: those that are told.
const MEANT: usize = 200;

/// Charts and renders that are known.
#[derive(Debug, Default)]
pub(crate) struct Charts {
    loaded: Once<String, Result<Loaded, RenderError>>,
    rendered: Once<[u8; 32], Arc<Rendering>>,
    /// Renders of this run that are to be kept, by their keys in the cache.
    fresh: Mutex<Vec<([u8; 32], Arc<Rendering>)>>,
}

/// Values that are made once, by key; others wait for who makes one.
#[derive(Debug)]
pub(crate) struct Once<K, V> {
    /// Those of the world before.
    earlier: FxHashMap<K, V>,
    own: Mutex<FxHashMap<K, Arc<OnceLock<V>>>>,
}

impl<K, V> Default for Once<K, V> {
    fn default() -> Once<K, V> {
        Once { earlier: FxHashMap::default(), own: Mutex::default() }
    }
}

impl<K: Hash + Eq + Clone, V: Clone> Once<K, V> {
    /// The value of a key.
    pub(crate) fn get(&self, key: K, make: impl FnOnce() -> V) -> V {
        let cell =
            self.own.lock().unwrap_or_else(PoisonError::into_inner).entry(key.clone()).or_default().clone();
        cell.get_or_init(|| self.earlier.get(&key).cloned().unwrap_or_else(make)).clone()
    }

    /// For the next world: it makes nothing anew, and forgets what it is not asked for.
    pub(crate) fn after(&self) -> Once<K, V> {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let done = own.iter().filter_map(|(key, cell)| Some((key.clone(), cell.get()?.clone())));
        Once { earlier: done.collect(), own: Mutex::default() }
    }
}

impl Charts {
    /// For the next world: what this one knew is not made again, and what the next doesn't
    /// ask for is forgotten.
    pub(crate) fn after(&self) -> Charts {
        Charts { loaded: self.loaded.after(), rendered: self.rendered.after(), fresh: Mutex::default() }
    }

    /// What the chart that was found makes of a release.
    pub(crate) fn render(
        &self,
        found: &Found,
        wish: &Wish<'_>,
        stores: &ChartStores,
        snapshot: &Snapshot,
        trees: &Trees<'_>,
    ) -> Arc<Rendering> {
        let (Some(cache), ChartPlace::Store(stored)) = (stores.renders(), &found.place) else {
            return self.made(found, wish, stores, snapshot, trees);
        };
        let Some(asked) = wish.to_bytes(stored) else {
            return self.made(found, wish, stores, snapshot, trees);
        };
        let key = cache.key(&asked);
        self.rendered.get(key, || {
            if let Some(kept) = Charts::kept(cache, &key, stored, wish.helm, snapshot) {
                return kept;
            }
            let made = self.made(found, wish, stores, snapshot, trees);
            if made.of.as_ref().is_some_and(|of| of.is_whole) {
                self.fresh.lock().unwrap_or_else(PoisonError::into_inner).push((key, made.clone()));
            }
            made
        })
    }

    /// A render that was kept; the chart is read when one of its files is asked for.
    fn kept(
        cache: &RenderCache,
        key: &[u8; 32],
        stored: &Arc<StoredChart>,
        helm: Helm,
        snapshot: &Snapshot,
    ) -> Option<Arc<Rendering>> {
        let (outcome, answers) = kept::decode(&cache.get(key)?, snapshot.store())?;
        let (stored, blobs) = (stored.clone(), snapshot.store().clone());
        snapshot.add_chart(answers.leads.clone(), move || {
            of_store(&stored, helm, &blobs).map_or_else(|_| Vec::new(), |chart| files_of(&chart))
        });
        Some(Arc::new(Rendering::kept(outcome, answers)))
    }

    /// Keeps what was rendered for runs to come.
    pub(crate) fn keep(&self, cache: &RenderCache) {
        let fresh = std::mem::take(&mut *self.fresh.lock().unwrap_or_else(PoisonError::into_inner));
        fresh.par_iter().for_each(|(key, rendering)| {
            if let Some(content) = kept::encode(&rendering.outcome, &rendering.answers()) {
                cache.put(key, &content);
            }
        });
        if !fresh.is_empty() {
            cache.prune();
        }
    }

    fn made(
        &self,
        found: &Found,
        wish: &Wish<'_>,
        stores: &ChartStores,
        snapshot: &Snapshot,
        trees: &Trees<'_>,
    ) -> Arc<Rendering> {
        let Loaded { chart, taken_in, is_whole } = match self.load(found, wish.helm, stores, snapshot.store())
        {
            Ok(loaded) => loaded,
            Err(error) => return Rendering::without_chart(Arc::new(Outcome::of(error))),
        };
        let (kind, namespace, name) = &wish.asked.source;
        let source = || trees(kind, namespace.as_deref(), name, "");
        let (chart, values_files) = match with_files(chart, found, wish, &source) {
            Ok(both) => both,
            Err(outcome) => return Rendering::without_chart(outcome),
        };
        let leads = leads_of(&chart);
        if !leads.is_empty() {
            let chart = chart.clone();
            snapshot.add_chart(leads, move || files_of(&chart));
        }
        self.rendered.get(wish.key(&chart, found), || {
            let (outcome, run) = wish.render(&chart);
            let of = Rendered { values_files, run, is_whole, ..wish.kept(chart.clone()) };
            Arc::new(Rendering::new(Arc::new(outcome), Some(of), taken_in))
        })
    }

    fn load(
        &self,
        found: &Found,
        helm: Helm,
        stores: &ChartStores,
        blobs: &Store,
    ) -> Result<Loaded, RenderError> {
        let key = format!("{} {:?}", place_key(found), helm.line);
        self.loaded.get(key, || {
            let mut chart = match &found.place {
                ChartPlace::Tree(tree, path) => of_tree(tree, path, helm)?,
                ChartPlace::Store(stored) => of_store(stored, helm, blobs)?,
            };
            let is_whole = chart.missing_dependencies().is_empty();
            let taken_in = complete(&mut chart, found, stores, helm, blobs)?.into();
            Ok(Loaded { chart: Arc::new(chart), taken_in, is_whole })
        })
    }
}

/// The files of a packed chart.
fn files_of(chart: &Chart) -> Vec<(Arc<str>, Arc<Blob>)> {
    let packed = chart.all_files().into_iter().filter(|file| *file.place.tree() == Tree::Chart);
    packed.map(|file| (file.place.shown().clone(), file.blob.clone())).collect()
}

/// What the paths of these files begin with, each once.
fn leads_of(chart: &Chart) -> Vec<String> {
    let mut leads: Vec<String> = Vec::new();
    for file in chart.all_files() {
        let lead = file.place.in_chart().map(|(lead, _)| lead);
        // Files of one chart are beside each other.
        if let Some(lead) =
            lead.filter(|lead| leads.last().is_none_or(|last| last[..last.len() - 1] != **lead))
        {
            leads.push(format!("{lead}/"));
        }
    }
    leads
}

/// A chart as it is rendered.
#[derive(Clone, Debug)]
struct Loaded {
    chart: Arc<Chart>,
    /// What of it a store was asked for by name alone.
    taken_in: Arc<[String]>,
    /// Whether it lacked nothing.
    is_whole: bool,
}

/// What tells charts apart, by content.
fn place_key(found: &Found) -> String {
    match &found.place {
        ChartPlace::Tree(tree, path) => {
            let mut hasher = Sha256::new();
            for (path, file) in tree.walk(path).chain(tree.file(path).map(|file| (file.path.clone(), file))) {
                let bytes = tree.snapshot().blob(file).map_or(&[][..], |blob| blob.bytes());
                hasher.update(format!("{} {} {path} ", path.len(), bytes.len()));
                hasher.update(bytes);
            }
            let real = tree.real(path).map(|real| real.shown().to_string()).unwrap_or_default();
            format!("tree {real} {:x?}", hasher.finalize())
        }
        ChartPlace::Store(chart) => format!("store {} {}", chart.path, chart.digest().unwrap_or_default()),
    }
}

fn of_tree(tree: &FileTree, path: &str, helm: Helm) -> Result<Chart, RenderError> {
    match tree.file(path).filter(|_| tree.kind(path) == Some(PathKind::File)) {
        Some(file) => {
            let blob = tree.snapshot().blob(file);
            let blob = blob.map_err(|why| RenderError::Unable(format!("{path}: {why:?}")))?;
            Chart::of_archive(blob.bytes(), tree.snapshot().store(), helm.line)
        }
        None => Chart::of_tree(tree, path, path, helm.line),
    }
}

fn of_store(stored: &StoredChart, helm: Helm, blobs: &Store) -> Result<Chart, RenderError> {
    let content = stored.content().map_err(|why| RenderError::Unable(format!("{}: {why}", stored.path)))?;
    match &**content {
        ChartContent::Archive(bytes) => Chart::of_archive(bytes, blobs, helm.line),
        ChartContent::Folder(files) => Chart::of_folder(files, blobs, helm.line),
    }
}

/// Takes in from stores and from beside the chart what its `charts/` lacks; says what may be
/// another chart of the same name.
fn complete(
    chart: &mut Chart,
    found: &Found,
    stores: &ChartStores,
    helm: Helm,
    blobs: &Store,
) -> Result<Vec<String>, RenderError> {
    let mut taken_in = Vec::new();
    let missing: Vec<String> = chart.missing_dependencies().into_iter().map(str::to_owned).collect();
    for name in missing {
        let all = chart.metadata.dependencies.iter().flatten();
        let Some(wanted) = all.clone().find(|dependency| dependency.name == name) else { continue };
        let beside = match (&found.place, wanted.repository.strip_prefix("file://")) {
            (ChartPlace::Tree(tree, path), Some(relative)) => {
                crate::files::join(path, relative).map(|path| of_tree(tree, &path, helm))
            }
            _ => None,
        };
        let inner = match beside {
            Some(loaded) => loaded?,
            None => {
                let stored = stored(stores, &name, &wanted.version);
                let stored = stored.ok_or_else(|| {
                    let (name, version) = (&wanted.name, &wanted.version);
                    RenderError::Unable(format!(
                        "its dependency {name} {version} is neither in it nor in a store"
                    ))
                })?;
                let url = stored.recorded.as_ref().and_then(|recorded| recorded.url.as_deref());
                let wanted_url = location_of(&wanted.repository, &wanted.name);
                if url.is_none_or(|url| normalised(url) != wanted_url) {
                    let (name, version) = (&stored.name, &stored.version);
                    taken_in
                        .push(format!("its dependency {name} {version} is the store's chart of that name"));
                }
                of_store(stored, helm, blobs)?
            }
        };
        chart.dependencies.push(inner);
    }
    Ok(taken_in)
}

/// The newest chart of the stores that fits a dependency.
fn stored<'s>(stores: &'s ChartStores, name: &str, range: &str) -> Option<&'s Arc<StoredChart>> {
    let range = Constraints::parse(range).ok()?;
    let mut best: Option<(Version, &Arc<StoredChart>)> = None;
    for chart in stores.named(name) {
        let Ok(version) = Version::parse(&chart.version) else { continue };
        let is_newer = best.as_ref().is_none_or(|(best, _)| version.compare(best).is_gt());
        if range.check(&version) && is_newer {
            best = Some((version, chart));
        }
    }
    best.map(|(_, chart)| chart)
}

/// The chart with what `valuesFiles` put in the place of its own values, and these files
/// without the one that has them.
fn with_files(
    chart: Arc<Chart>,
    found: &Found,
    wish: &Wish<'_>,
    source: &dyn Fn() -> Result<FileTree, String>,
) -> Result<(Arc<Chart>, Vec<FilePath>), Arc<Outcome>> {
    let files = &wish.asked.values_files;
    if files.iter().all(|(file, _)| file == "values.yaml") {
        return Ok((chart, Vec::new()));
    }
    let own = chart.values.as_ref().and_then(|values| Some(values.origin.as_ref()?.location().file));
    let (mut merged, mut taken) = (Value::empty(), Vec::new());
    for (path, place) in files {
        let refused =
            |message: String| Arc::new(Outcome::Refused(Box::new(Refusal::new(message, place.clone()))));
        let file = match &found.place {
            ChartPlace::Tree(tree, _) => of_source(&source().unwrap_or_else(|_| tree.clone()), path),
            _ if clean(path) == "values.yaml" => {
                merge_into(&mut merged, &chart.values.clone().unwrap_or_else(Value::empty));
                continue;
            }
            _ => chart.files.iter().find(|file| *file.name == *clean(path)).cloned(),
        };
        match file {
            Some(file) => {
                let values =
                    helm::values_of(&file, wish.helm.line).map_err(|why| Arc::new(Outcome::of(why)))?;
                merge_into(&mut merged, &values);
                taken.extend(Some(file.place).filter(|place| Some(place) != own.as_ref()));
            }
            None if wish.asked.ignores_missing_files => {}
            None => return Err(refused(format!("no values file found at path '{path}'"))),
        }
    }
    Ok((Arc::new(Chart { values: Some(merged), ..Chart::clone(&chart) }), taken))
}

/// A values file of a source, by its path there.
fn of_source(tree: &FileTree, path: &str) -> Option<ChartFile> {
    let path = clean(path);
    let file = tree.file(&path)?;
    let blob = tree.snapshot().blob(file).ok()?.clone();
    Some(ChartFile { name: path.into(), blob, place: file.name() })
}

impl Wish<'_> {
    fn kept(&self, chart: Arc<Chart>) -> Rendered {
        Rendered {
            chart,
            values: self.values.value.clone(),
            release: self.release.clone(),
            capabilities: self.capabilities.clone(),
            helm: self.helm,
            skips_schema: self.skips_schema,
            values_files: Vec::new(),
            is_whole: false,
            run: None,
        }
    }

    fn render(&self, chart: &Chart) -> (Outcome, Option<Run>) {
        // Either order gives the same answer; of a chart that asked before, the first of
        // three renders is saved.
        let asks = chart.prepared.asks_capabilities();
        let early = if asks { self.alike(chart) } else { None };
        match early.unwrap_or_else(|| self.likely(chart, !asks)) {
            Ok(mut rendered) => {
                let made = made(chart, &rendered);
                // The release is rendered without the suffix where it is compared.
                let written = (!self.asked.has_suffix).then_some(rendered.digest);
                let run = rendered.touched(&self.values.value).map(|touched| Run { touched, written });
                (Outcome::Rendered(made), run)
            }
            Err(error) => (Outcome::of(error), None),
        }
    }

    /// What comes of what the cluster is likely to be, or of all that it may be where that
    /// is one and the same and was not looked at yet.
    fn likely(&self, chart: &Chart, may_be_alike: bool) -> Result<helm::Rendered, RenderError> {
        let likely = helm::render(&self.request(chart, &self.capabilities));
        let is_assumed = |unknown: &String| match &likely {
            Ok(rendered) => rendered.hangs_on(unknown),
            Err(RenderError::Refused(refusal)) => refusal.assumed.contains(unknown),
            Err(RenderError::Unable(_)) => false,
        };
        if !may_be_alike || !self.capabilities.assumed.as_ref().is_some_and(is_assumed) {
            return likely;
        }
        chart.prepared.note_capabilities();
        self.alike(chart).unwrap_or(likely)
    }

    /// What comes of everything that the cluster may be, where that is one and the same.
    fn alike(&self, chart: &Chart) -> Option<Result<helm::Rendered, RenderError>> {
        self.capabilities.assumed.as_ref()?;
        let (least, others) = self.ends.split_first()?;
        let least = helm::render(&self.request(chart, least));
        let is_same = |end: &Capabilities| {
            let request = helm::Request { keep: helm::Keep::Text, ..self.request(chart, end) };
            match (&least, helm::render_unless(&request, least.as_ref().ok().map(|least| &least.digest))) {
                (Ok(_), Ok(None)) => true,
                (Ok(one), Ok(Some(other))) => one.is_same(&other),
                (Err(RenderError::Refused(one)), Err(RenderError::Refused(other))) => {
                    one.message == other.message
                }
                _ => false,
            }
        };
        others.iter().all(is_same).then_some(least)
    }

    fn request<'r>(&'r self, chart: &'r Chart, capabilities: &'r Capabilities) -> helm::Request<'r> {
        let suffix = self.asked.has_suffix.then(|| "the digest or generation behind the version".to_owned());
        helm::Request {
            chart,
            values: &self.values.value,
            release: &self.release,
            capabilities,
            ends: &self.ends,
            helm: self.helm,
            skip_schema_validation: self.skips_schema,
            version_suffix: suffix,
            keep: helm::Keep::Questions,
        }
    }

    /// What tells requests apart, by content and by the places of the values.
    fn key(&self, chart: &Arc<Chart>, found: &Found) -> [u8; 32] {
        let mut hasher = Sha256::new();
        hasher.update(format!(
            "{} {:?} {:?} {:?} {:?} {} {}",
            place_key(found),
            self.release,
            self.capabilities,
            self.ends,
            self.helm,
            self.skips_schema,
            self.asked.has_suffix
        ));
        if !self.asked.values_files.is_empty() {
            hash(chart.values.as_ref(), &mut hasher);
        }
        hash(Some(&self.values.value), &mut hasher);
        hasher.finalize().into()
    }

    /// All that a render of a stored chart hangs on, by content and by the places of the
    /// values; `None` where that lies in other files too.
    fn to_bytes(&self, chart: &StoredChart) -> Option<Vec<u8>> {
        if self.asked.values_files.iter().any(|(file, _)| file != "values.yaml") {
            return None;
        }
        let head = (
            chart.digest()?,
            &self.release,
            &self.capabilities,
            &self.ends,
            self.helm,
            self.skips_schema,
            self.asked.has_suffix,
        );
        let mut out = format!("{head:?}").into_bytes();
        kept::write_value(&self.values.value, &mut out);
        Some(out)
    }
}

fn hash(value: Option<&Value>, hasher: &mut Sha256) {
    let Some(value) = value else { return };
    match &value.origin {
        Some(origin) => {
            let location = origin.location();
            hasher.update(format!("l{} {} {}", location.file, location.start, location.end));
        }
        None => hasher.update("-"),
    }
    match &value.kind {
        Kind::Map(map) => {
            hasher.update(format!("m{}", map.len()));
            for (key, value) in map.iter() {
                hasher.update(format!("{}:{key}", key.len()));
                hash(Some(value), hasher);
            }
        }
        Kind::List(items) => {
            hasher.update(format!("s{}", items.len()));
            items.iter().for_each(|item| hash(Some(item), hasher));
        }
        other => hasher.update(format!("{other:?}")),
    }
}

fn made(chart: &Chart, rendered: &helm::Rendered) -> Made {
    let nodes = |documents: &[helm::Document]| -> Vec<Node> {
        documents.iter().filter_map(|document| rendered.node(document)).collect()
    };
    let definitions = rendered.crds.iter().flat_map(|(_, file)| documents_of(file)).collect();
    Made {
        label: (chart.metadata.name.clone(), chart.metadata.version.clone()),
        objects: nodes(&rendered.manifests),
        hooks: nodes(&rendered.hooks),
        definitions,
        assumed: rendered.assumed.clone(),
    }
}
