//! `forebay graph`.

use super::common::Common;
use super::output;
use super::session::{Session, cluster_filter};
use super::{Answer, Status};
use crate::lint::engine::NotChecked;
use crate::report;
use crate::world::graph::Graph;

output::formats!(Text = "text": "for people", Mermaid = "mermaid": "a diagram for Markdown", Dot = "dot": "a diagram for Graphviz", Svg = "svg": "a picture", Json = "json": "for programs: stable, with a schema");

/// Flags of `graph`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {}

/// Run the command.
pub(crate) fn run(common: &Common, _: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let wanted = cluster_filter(common, &world)?;
    let graph = Graph::of(&world, wanted);
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let header = report::json::header("graph", None, Some(&world), &NotChecked::default());
            report::json::write(out, &report::json::answer(header, report::graph::json(&graph)))
        }
        Format::Mermaid => out.write_all(report::graph::mermaid(&graph).as_bytes()),
        Format::Svg => out.write_all(report::graph_svg::render(&graph).as_bytes()),
        Format::Dot => out.write_all(report::graph::dot(&graph).as_bytes()),
        Format::Text => out.write_all(report::graph::text(&graph).as_bytes()),
    })?;
    Ok(Status::Clean)
}
