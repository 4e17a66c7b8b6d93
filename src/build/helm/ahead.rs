//! Packed charts whose templates are parsed while the rest of them is unpacked.

use super::HelmLine;
use super::chart::{Chart, Prepared, text_of};
use super::error::RenderError;
use crate::files::{Blob, PackedFiles, Store};
use crate::lang::template::with_stack_while;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

/// Goes on with the chart in the packed archive that `read` gives, as [`Chart::of_archive`] makes
/// it, on a thread of its own. This one does `meanwhile`, and then parses the templates, in the
/// order in which they are unpacked: of a process that renders one release, to unpack and to
/// parse are most. What only templates may ask for stays packed until one does; so do the schemas
/// that others may refer to where nothing `validates`. Nothing where the system has no second
/// thread.
pub(crate) fn with_archive<T: Send, E: From<RenderError>>(
    read: impl FnOnce() -> Result<Vec<u8>, E> + Send,
    store: &Store,
    line: HelmLine,
    validates: bool,
    meanwhile: impl FnOnce(),
    go_on: impl FnOnce(Result<Chart, E>) -> T + Send,
) -> Option<T> {
    let prepared = Arc::new(Prepared::default());
    let parser = line.template_parser();
    let (unpacked, templates) = mpsc::channel::<(String, Arc<Blob>)>();
    let parsed = prepared.clone();
    let has_ended = AtomicBool::new(false);
    let ended = &has_ended;
    let load = move || {
        let chart: Result<Chart, E> = read().and_then(|packed| {
            let packed = Arc::new(PackedFiles::new(packed));
            let mut hold = |path: &str, bytes: &[u8], range: Option<Range<usize>>| {
                let inner = inner_path(path);
                if let Some(range) = range.filter(|_| !is_read(inner, validates)) {
                    return Arc::new(Blob::in_archive(&packed, range));
                }
                let blob = store.intern(bytes);
                if inner.starts_with("templates/") {
                    // Who listens does so until there are no more.
                    let _ = unpacked.send((path.to_owned(), blob.clone()));
                }
                blob
            };
            Ok(Chart::of_members(packed.packed(), store, line, &mut hold)?)
        });
        drop(unpacked);
        let answer = go_on(chart.map(|chart| Chart { prepared, ..chart }));
        ended.store(true, Ordering::Relaxed);
        answer
    };
    with_stack_while(load, || {
        meanwhile();
        for (name, blob) in templates {
            // What is refused needs no templates any more.
            if has_ended.load(Ordering::Relaxed) {
                break;
            }
            if let Some(text) = text_of(&blob) {
                parsed.templates(&name, &blob, || parser.parse(&name, text));
            }
        }
    })
}

/// The path of an archive's file below its chart, or below the folder in `charts/` that it is in.
fn inner_path(path: &str) -> &str {
    let mut inner = path.split_once('/').map_or("", |(_, inner)| inner);
    while let Some((_, rest)) = inner.strip_prefix("charts/").and_then(|inner| inner.split_once('/')) {
        inner = rest;
    }
    inner
}

/// Whether many renders read a file: what loading reads, templates and what lies in `files/` for
/// them, what is printed, and where values are validated what may answer references of schemas. The
/// rest are files that templates may ask for, which is documents, tests and pictures most often.
fn is_read(inner: &str, validates: bool) -> bool {
    let lies_on_top = !inner.contains('/');
    let is_of_loading = lies_on_top && !inner.ends_with(".md");
    let is_packed_chart = inner.starts_with("charts/");
    let is_schema = validates && inner.ends_with(".json");
    is_of_loading
        || is_packed_chart
        || is_schema
        || ["crds/", "files/", "templates/"].iter().any(|folder| inner.starts_with(folder))
}
