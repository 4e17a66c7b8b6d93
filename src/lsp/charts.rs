//! Files of packed charts as documents that an editor shows and nobody writes: it asks for
//! their text by an address of a scheme of its own, where it says that it does.

use super::position::{Ruler, path_in, uri_in};
use super::state::ServerState;
use crate::lang::yaml::{FilePath, Location, Tree};
use lsp_types::Uri;
use serde::{Deserialize, Serialize};

/// The scheme of such an address: `forebay-chart:/NAME@VERSION/PATH`.
const SCHEME: &str = "forebay-chart:";

/// What the editor sends.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Parameters {
    uri: Uri,
}

/// What it gets.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct ChartAnswer {
    /// The file as it is in the chart.
    text: String,
}

/// The text behind an address.
pub(super) fn text(state: &ServerState<'_>, parameters: &Parameters) -> Option<ChartAnswer> {
    let path = path_in(SCHEME, &parameters.uri)?;
    text_at(state, &FilePath::new(Tree::Chart, path.trim_start_matches('/'))).map(|text| ChartAnswer { text })
}

fn text_at(state: &ServerState<'_>, file: &FilePath) -> Option<String> {
    let snapshot = state.snapshot();
    let blob = snapshot.blob(snapshot.find(file)?).ok()?;
    Some(String::from_utf8_lossy(blob.bytes()).into_owned())
}

/// A place for the editor, those of packed charts where it opens them.
pub(super) fn shown(state: &ServerState<'_>, place: &Location) -> Option<lsp_types::Location> {
    match place.file.in_chart() {
        Some(_) => location(state, place),
        None => state.location(place),
    }
}

fn location(state: &ServerState<'_>, location: &Location) -> Option<lsp_types::Location> {
    let text = text_at(state, &location.file).filter(|_| state.settings.shows_charts)?;
    let range = Ruler::new(&text, state.encoding).range(location.start as usize, location.end as usize);
    Some(lsp_types::Location { uri: uri_in(SCHEME, &format!("/{}", location.file.shown()))?, range })
}
