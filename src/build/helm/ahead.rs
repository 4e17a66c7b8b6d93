//! Packed charts whose templates are parsed while the rest of them is unpacked.

use super::HelmLine;
use super::chart::{Chart, Prepared, text_of};
use super::error::RenderError;
use crate::files::{Blob, Store};
use crate::lang::template::with_stack_while;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

/// Goes on with the chart in the packed archive that `read` gives, as [`Chart::of_archive`] makes
/// it, on a thread of its own. This one does `meanwhile`, and then parses the templates, in the
/// order in which they are unpacked: of a process that renders one release, to unpack and to
/// parse are most. Nothing where the system has no second thread.
pub(crate) fn with_archive<T: Send, E: From<RenderError>>(
    read: impl FnOnce() -> Result<Vec<u8>, E> + Send,
    store: &Store,
    line: HelmLine,
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
        let mut tell = |path: &str, blob: &Arc<Blob>| {
            if is_template(path) {
                // Who listens does so until there are no more.
                let _ = unpacked.send((path.to_owned(), blob.clone()));
            }
        };
        let chart: Result<Chart, E> =
            read().and_then(|packed| Ok(Chart::of_archive_telling(&packed, store, line, &mut tell)?));
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

/// Whether a file of an archive is a template of its chart, or of a folder in `charts/`.
fn is_template(path: &str) -> bool {
    let Some((_, mut inner)) = path.split_once('/') else { return false };
    while let Some((_, rest)) = inner.strip_prefix("charts/").and_then(|inner| inner.split_once('/')) {
        inner = rest;
    }
    inner.starts_with("templates/")
}
