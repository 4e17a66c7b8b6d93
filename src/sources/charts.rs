//! Charts that are loaded once, and requests of which equal ones are rendered once.

use super::kept;
use super::load::{Loaded, place_key};
use super::outcome::{ChartOutcome, NoRelease};
use super::render::{Rendering, Wish};
use super::resolve::{ChartPlace, FoundChart, Trees, clean};
use crate::build::helm::{self, Chart, ChartFile, Helm, KnownReaders, RenderError, Value, merge_into};
use crate::files::{ChartStores, FileTree, RenderCache, Snapshot, StoredChart};
use crate::lang::yaml::FilePath;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What lies around a release: where its chart and the files of its sources are looked for.
pub(crate) struct Around<'a> {
    pub stores: &'a ChartStores,
    pub snapshot: &'a Snapshot,
    pub trees: &'a Trees<'a>,
}

/// Charts and renders that are known.
#[derive(Debug, Default)]
pub(crate) struct Charts {
    loaded: Once<String, Result<Loaded, RenderError>>,
    /// What their templates can read: a chart is loaded for each line of Helm.
    readers: Arc<KnownReaders>,
    rendered: Once<[u8; 32], Arc<Rendering>>,
    by_versions: ByVersions,
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

type Renderings = FxHashMap<[u8; 32], Vec<Arc<Rendering>>>;

/// Renders of which it is known which API versions of the cluster decide, by the keys of all
/// else.
#[derive(Debug, Default)]
struct ByVersions {
    /// Those of the world before.
    earlier: Renderings,
    own: Mutex<Renderings>,
}

impl ByVersions {
    /// One that is the same with these versions.
    fn known(&self, key: &[u8; 32], versions: &[String]) -> Option<Arc<Rendering>> {
        let fits = |rendering: &&Arc<Rendering>| {
            let decide = rendering.versions.as_ref();
            decide.is_some_and(|all| {
                all.iter().all(|(version, is_there)| versions.contains(version) == *is_there)
            })
        };
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = own.get(key).and_then(|all| all.iter().find(fits)) {
            return Some(known.clone());
        }
        let earlier = self.earlier.get(key)?.iter().find(fits)?;
        own.entry(*key).or_default().push(earlier.clone());
        Some(earlier.clone())
    }

    fn note(&self, key: [u8; 32], rendering: Arc<Rendering>) {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let known = own.entry(key).or_default();
        if !known.iter().any(|other| Arc::ptr_eq(other, &rendering)) {
            known.push(rendering);
        }
    }

    /// As [`Once::after`].
    fn after(&self) -> ByVersions {
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        ByVersions { earlier: own.clone(), own: Mutex::default() }
    }
}

impl Charts {
    /// For the next world: what this one knew is not made again, and what the next doesn't
    /// ask for is forgotten.
    pub(crate) fn after(&self) -> Charts {
        let (loaded, rendered) = (self.loaded.after(), self.rendered.after());
        Charts { loaded, rendered, by_versions: self.by_versions.after(), ..Charts::default() }
    }

    /// What the chart that was found makes of a release.
    pub(crate) fn render(&self, found: &FoundChart, wish: &Wish<'_>, around: &Around<'_>) -> Arc<Rendering> {
        let rendering = match (around.stores.renders(), &found.place) {
            (Some(cache), ChartPlace::Store(stored)) => {
                self.kept_or_made(found, wish, around, (cache, stored))
            }
            _ => self.made(found, wish, around),
        };
        rendering.note_files(around.snapshot);
        rendering
    }

    fn kept_or_made(
        &self,
        found: &FoundChart,
        wish: &Wish<'_>,
        around: &Around<'_>,
        (cache, stored): (&RenderCache, &Arc<StoredChart>),
    ) -> Arc<Rendering> {
        let Some([all_else, all]) = wish.to_bytes(stored) else { return self.made(found, wish, around) };
        let keys = [cache.key(&all_else), cache.key(&all)];
        let (versions, blobs) = (&wish.capabilities.api_versions, around.snapshot.store());
        let read = |key: &[u8; 32]| kept::decode(&cache.get(key)?, versions, blobs);
        self.once(keys, wish, || {
            if let Some(kept) = read(&keys[0]).or_else(|| read(&keys[1])) {
                return Arc::new(Rendering::kept(kept, (stored, wish.helm)));
            }
            let made = self.made(found, wish, around);
            if made.is_of_whole_chart() {
                let key = keys[usize::from(made.versions.is_none())];
                self.fresh.lock().unwrap_or_else(PoisonError::into_inner).push((key, made.clone()));
            }
            made
        })
    }

    fn made(&self, found: &FoundChart, wish: &Wish<'_>, around: &Around<'_>) -> Arc<Rendering> {
        let loaded = match self.load(found, wish.helm, around) {
            Ok(loaded) => loaded,
            Err(error) => return Rendering::without_chart(Arc::new(ChartOutcome::of(error))),
        };
        let (kind, namespace, name) = &wish.asked.source;
        let source = || (around.trees)(kind, namespace.as_deref(), name, "");
        let (chart, values_files) = match with_files(loaded.chart.clone(), found, wish, &source) {
            Ok(both) => both,
            Err(outcome) => return Rendering::without_chart(outcome),
        };
        let loaded = Loaded { chart, ..loaded };
        let keys = wish.keys(&loaded.chart, found);
        self.once(keys, wish, || Arc::new(wish.rendering(&loaded, values_files)))
    }

    /// A render, by the keys of what it hangs on without the API versions of the cluster, and
    /// with them.
    fn once(
        &self,
        [all_else, all]: [[u8; 32]; 2],
        wish: &Wish<'_>,
        make: impl FnOnce() -> Arc<Rendering>,
    ) -> Arc<Rendering> {
        let versions = &wish.capabilities.api_versions;
        if let Some(known) = self.by_versions.known(&all_else, versions) {
            return known;
        }
        let rendering = self.rendered.get(all, make);
        if rendering.versions.is_some() {
            self.by_versions.note(all_else, rendering.clone());
        }
        rendering
    }

    fn load(&self, found: &FoundChart, helm: Helm, around: &Around<'_>) -> Result<Loaded, RenderError> {
        let key = format!("{} {:?}", place_key(found), helm.line);
        self.loaded.get(key, || {
            let loaded = Loaded::of(found, helm, around.stores, around.snapshot.store())?;
            loaded.chart.prepared.share(self.readers.clone());
            Ok(loaded)
        })
    }

    /// Keeps what was rendered for runs to come.
    pub(crate) fn keep(&self, cache: &RenderCache) {
        let fresh = std::mem::take(&mut *self.fresh.lock().unwrap_or_else(PoisonError::into_inner));
        let encoded = |(key, rendering): &([u8; 32], Arc<Rendering>)| {
            Some((*key, kept::encode(&rendering.outcome, &rendering.answers())?))
        };
        let mut entries: FxHashMap<[u8; 32], Vec<Vec<u8>>> = FxHashMap::default();
        for (key, render) in fresh.par_iter().filter_map(encoded).collect::<Vec<_>>() {
            entries.entry(key).or_default().push(render);
        }
        entries.par_iter().for_each(|(key, renders)| {
            cache.put(key, &kept::entry(renders, cache.get(key).as_deref()));
        });
        if !fresh.is_empty() {
            cache.prune();
        }
    }
}

/// The chart with what `valuesFiles` put in the place of its own values, and these files
/// without the one that has them.
fn with_files(
    chart: Arc<Chart>,
    found: &FoundChart,
    wish: &Wish<'_>,
    source: &dyn Fn() -> Result<FileTree, String>,
) -> Result<(Arc<Chart>, Vec<FilePath>), Arc<ChartOutcome>> {
    let files = &wish.asked.values_files;
    if files.iter().all(|(file, _)| file == "values.yaml") {
        return Ok((chart, Vec::new()));
    }
    let own = chart.values.as_ref().and_then(|values| Some(values.origin.as_ref()?.location().file));
    let (mut merged, mut taken) = (Value::empty(), Vec::new());
    for (path, place) in files {
        let refused = |message: String| {
            Arc::new(ChartOutcome::Refused(Box::new(NoRelease::new(message, place.clone()))))
        };
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
                    helm::values_of(&file, wish.helm.line).map_err(|why| Arc::new(ChartOutcome::of(why)))?;
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
