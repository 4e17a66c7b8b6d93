//! `forebay chart verify`.

use super::common::Common;
use super::session::Session;
use super::stores::ROOT_STORE;
use super::{Answer, Status, output};
use crate::files::{ChartStore, ChartStores, StoreLayout};
use crate::lang::text::{clean, counted};
use std::path::PathBuf;
use std::sync::Arc;

output::formats!(Text = "text": "for people");

/// Flags of `chart verify`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// Store to look at [default: .forebay/charts of the root]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let session = Session::open(common, &[])?;
    let store = arguments.into.clone().unwrap_or_else(|| session.root.join(ROOT_STORE));
    let listed = ChartStore { name: Arc::from(""), path: Ok(store), layout: StoreLayout::Charts };
    let stores = ChartStores::new(vec![listed]);
    let (mut changed, mut unrecorded, mut same) = (Vec::new(), Vec::new(), 0);
    for chart in stores.charts() {
        match chart.is_as_recorded() {
            Some(true) => same += 1,
            Some(false) => changed.push(chart),
            None => unrecorded.push(chart),
        }
    }
    output::emit(common, |_: Format, out, _| {
        for chart in &changed {
            let (name, version) = (clean(&chart.name), clean(&chart.version));
            writeln!(
                out,
                "changed {name} {version} ({}): it is not what index.yaml records",
                clean(&chart.path)
            )?;
        }
        for chart in &unrecorded {
            let (name, version) = (clean(&chart.name), clean(&chart.version));
            writeln!(out, "not recorded {name} {version} ({})", clean(&chart.path))?;
        }
        writeln!(
            out,
            "{} as recorded, {} changed, {} not recorded",
            counted(same, "chart"),
            changed.len(),
            unrecorded.len()
        )
    })?;
    Ok(if changed.is_empty() { Status::Clean } else { Status::Findings })
}
