//! `forebay simulate suspend`.

use super::common::Common;
use super::output;
use super::revisions;
use super::selector::Asked;
use super::session::{Session, cluster_filter};
use super::{Answer, Status};
use crate::files::git;
use crate::lint::engine::NotChecked;
use crate::model::Unchecked;
use crate::report::{json, suspend};
use crate::world::ApplyTarget;
use crate::world::helm_charts::helm_charts;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema");

/// Flags of `simulate suspend`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    #[command(flatten)]
    asked: Asked,
    /// Revision or directory (./DIR) from when the suspension began: says what resuming applies and prunes of
    /// what changed since
    #[arg(long, value_name = "REV|./DIR")]
    since: Option<String>,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let at = common.at(&jiff::tz::TimeZone::UTC)?;
    let selector = arguments.asked.selector(common)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let wanted = cluster_filter(common, &world)?;
    let earlier = arguments.since.as_deref().map(|name| revisions::read(&session, name)).transpose()?;
    let remotes = git::remotes(&session.root);
    let earlier =
        earlier.map(|revision| (world.like(&revision.snapshot, &session.config, &remotes), revision.label));
    let earlier = earlier.as_ref().map(|(earlier, label)| (earlier, label.as_str()));
    let charts: Vec<_> = world
        .applied_clusters()
        .flat_map(|cluster| helm_charts(&world, cluster, &ApplyTarget::Local))
        .collect();
    let mut states = suspend::states(&world, &charts, earlier, at, wanted);
    if let Some(selector) = &selector {
        let ids: Vec<_> = states.ids().collect();
        if !ids.iter().any(|id| selector.matches(id)) {
            return Err(selector.not_found(ids));
        }
        states.keep(|id| selector.matches(id));
    }
    let mut not_checked = NotChecked::default();
    for (job, command) in &states.unread {
        not_checked.add(Unchecked::CronJobCommand, format!("{job}: {command}"));
    }
    output::warn_if_nothing_followed(&world);
    output::emit(common, |format, out, _| match format {
        Format::Json => {
            let header = json::header("simulate-suspend", at, Some(&world), &not_checked);
            json::write(out, &json::answer(header, suspend::json(&world, &states)))
        }
        Format::Text => {
            out.write_all(suspend::text(&world, at, &states).as_bytes())?;
            output::followed(out, &world)
        }
    })?;
    Ok(Status::Clean)
}
