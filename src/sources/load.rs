//! The charts that releases mean, loaded from file trees and stores.

use super::resolve::{ChartPlace, FoundChart, location_of, normalised};
use crate::build::helm::{Chart, Helm, RenderError};
use crate::files::{Blob, ChartContent, ChartStores, FileTree, PathKind, Store, StoredChart};
use crate::lang::template::{Constraints, Version};
use crate::lang::yaml::Tree;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The files of a packed chart.
pub(super) fn files_of(chart: &Chart) -> Vec<(Arc<str>, Arc<Blob>)> {
    let packed = chart.all_files().into_iter().filter(|file| *file.place.tree() == Tree::Chart);
    packed.map(|file| (file.place.shown().clone(), file.blob.clone())).collect()
}

/// What the paths of these files begin with, each once.
pub(super) fn leads_of(chart: &Chart) -> Vec<String> {
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
pub(super) struct Loaded {
    pub(super) chart: Arc<Chart>,
    /// What of it a store was asked for by name alone.
    pub(super) taken_in: Arc<[String]>,
    /// Whether it lacked nothing.
    pub(super) is_whole: bool,
}

impl Loaded {
    /// The chart that was found, with what stores have of its dependencies.
    pub(super) fn of(
        found: &FoundChart,
        helm: Helm,
        stores: &ChartStores,
        blobs: &Store,
    ) -> Result<Loaded, RenderError> {
        let mut chart = match &found.place {
            ChartPlace::Tree(tree, path) => of_tree(tree, path, helm)?,
            ChartPlace::Store(stored) => of_store(stored, helm, blobs)?,
        };
        let is_whole = chart.missing_dependencies().is_empty();
        let taken_in = complete(&mut chart, found, stores, helm, blobs)?.into();
        Ok(Loaded { chart: Arc::new(chart), taken_in, is_whole })
    }
}

/// What tells charts apart, by content.
pub(super) fn place_key(found: &FoundChart) -> String {
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

pub(super) fn of_store(stored: &StoredChart, helm: Helm, blobs: &Store) -> Result<Chart, RenderError> {
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
    found: &FoundChart,
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
