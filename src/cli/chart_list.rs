//! `forebay chart list`.

use super::Answer;
use super::common::Common;
use super::output;
use super::session::{Session, cluster_filter};
use crate::lint::engine::NotChecked;
use crate::model::Unchecked;
use crate::report::{charts, json};

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of `chart list`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// Only charts that are not here
    #[arg(long)]
    missing: bool,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let wanted = cluster_filter(common, &world)?;
    let rows = || charts::rows(&world, &wanted);
    let all = rows();
    let mut shown = rows();
    shown.retain(|row| !arguments.missing || row.found.is_err());
    let mut not_checked = NotChecked::default();
    for missing in all.iter().filter_map(|row| row.found.err()) {
        not_checked.add(Unchecked::Chart, missing.to_string());
    }
    let stores = &session.config.stores;
    output::warn_if_nothing_followed(&world);
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let header = json::header("chart-list", None, Some(&world), &not_checked);
            json::write(out, &json::answer(header, charts::json(&shown, stores)))
        }
        Format::Text => out.write_all(charts::text(&shown, &all, stores).as_bytes()),
    })?;
    Ok(common.status(std::iter::empty(), not_checked.is_empty()))
}
