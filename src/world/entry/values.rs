//! Files of values for the flux-instance chart: what Terraform, a script or a person gives
//! Helm before Flux is there.

use super::EntryPoint;
use super::leftovers::is_leftover;
use crate::files::Snapshot;
use crate::world::instance;

/// The entry points of files that are named as values, hold those of the chart, and are
/// no object.
pub(super) fn find(snapshot: &Snapshot) -> Vec<EntryPoint> {
    let is_named = |path: &str| instance::is_named_values(path) && !is_leftover(path);
    let files = snapshot.files().iter().filter(|file| is_named(&file.path));
    let of_file = files.filter_map(|file| {
        let stream = snapshot.stream(file).filter(|stream| stream.text.contains("sync:"))?;
        let [source] = snapshot.sources(file) else { return None };
        let root = source.root();
        let values = root.get_ref();
        let is_values = values.get("apiVersion").is_none() && stream.errors.is_empty();
        let is_whole = values.at("/instance/sync/path").is_some();
        if is_values && is_whole { instance::of_values_file(values, &file.path) } else { None }
    });
    of_file.collect()
}
