//! What clusters are called.

use crate::world::entry_point::EntryPoint;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Components of a root that say what lies there, not which cluster it is.
const PLAIN: [&str; 5] = ["flux", "cluster", "bootstrap", "config", "apps"];

/// Components above which there is no cluster's name.
const TOPS: [&str; 3] = ["kubernetes", "k8s", "flux"];

/// The name of an entry point by itself: the configuration's, else the last
/// component of its root that is more than the word for what lies there, else
/// the repository's.
fn own_name(entry: &EntryPoint) -> String {
    if let Some(name) = &entry.name {
        return name.clone();
    }
    let segments: Vec<&str> = entry.root.split('/').filter(|segment| !segment.is_empty()).collect();
    let Some(last) = segments.last() else { return ".".to_owned() };
    if !PLAIN.contains(last) {
        return (*last).to_owned();
    }
    // What lies in `clusters` is a cluster, whatever it is called.
    if let Some(at) = segments.iter().position(|segment| *segment == "clusters")
        && let Some(name) = segments.get(at + 1)
        && segments[at + 1..].iter().all(|segment| PLAIN.contains(segment))
    {
        return (*name).to_owned();
    }
    let above = segments.iter().rev().find(|segment| !PLAIN.contains(segment) && !TOPS.contains(segment));
    let repository = || {
        let url = entry.url.as_deref().filter(|_| entry.tree.is_empty())?;
        url.rsplit('/').next().filter(|name| !name.is_empty() && !name.contains(['$', '{']))
    };
    above.copied().or_else(repository).unwrap_or(last).to_owned()
}

/// Names, on collision the shortest unique suffix of the root path.
pub(crate) fn cluster_names(entries: &[EntryPoint]) -> Vec<Arc<str>> {
    let suffix = |root: &str, count: usize| {
        let segments: Vec<&str> = root.split('/').filter(|segment| !segment.is_empty()).collect();
        match segments.len() {
            0 => ".".to_owned(),
            length => segments[length.saturating_sub(count)..].join("/"),
        }
    };
    let own: Vec<String> = entries.iter().map(own_name).collect();
    let mut named: FxHashMap<&str, usize> = FxHashMap::default();
    own.iter().for_each(|name| *named.entry(name).or_default() += 1);
    // How many roots end in so many segments in this way, for each number that is asked.
    let mut ends: FxHashMap<usize, FxHashMap<String, usize>> = FxHashMap::default();
    let mut is_unique = |name: &String| {
        let count = name.split('/').count();
        let ends = ends.entry(count).or_insert_with(|| {
            let mut ends = FxHashMap::default();
            entries.iter().for_each(|entry| *ends.entry(suffix(&entry.root, count)).or_default() += 1);
            ends
        });
        ends.get(name) == Some(&1)
    };
    entries
        .iter()
        .zip(&own)
        .map(|(entry, name)| {
            if entry.name.is_some() || named[name.as_str()] == 1 {
                return name.as_str().into();
            }
            let depth = entry.root.split('/').count();
            let unique = (1..=depth).map(|count| suffix(&entry.root, count)).find(&mut is_unique);
            unique.unwrap_or_else(|| suffix(&entry.root, depth)).into()
        })
        .collect()
}
