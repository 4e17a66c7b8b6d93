//! `forebay graph`.

use super::common::Common;
use super::session::{Session, cluster_filter};
use super::{Answer, Status, output};
use crate::lint::engine::NotChecked;
use crate::report;
use crate::world::graph::Graph;

/// Formats, the default first.
const FORMATS: [&str; 4] = ["text", "mermaid", "dot", "json"];

/// Flags of `graph`.
#[derive(clap::Args)]
#[command(after_help = "Formats: text (default), mermaid, dot, json.")]
pub(crate) struct Arguments {}

/// Run the command.
pub(crate) fn run(common: &Common, _: &Arguments) -> Answer {
    output::chosen(common, &FORMATS)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let wanted = cluster_filter(common, &world)?;
    let graph = Graph::of(&world, wanted);
    output::emit(common, &FORMATS, |format, out, _| match format {
        "json" => {
            let header = report::json::header("graph", None, Some(&world), &NotChecked::default());
            report::json::write(out, &report::json::answer(header, report::graph::json(&graph)))
        }
        "mermaid" => out.write_all(report::graph::mermaid(&graph).as_bytes()),
        "dot" => out.write_all(report::graph::dot(&graph).as_bytes()),
        _ => out.write_all(report::graph::text(&graph).as_bytes()),
    })?;
    Ok(Status::Clean)
}
