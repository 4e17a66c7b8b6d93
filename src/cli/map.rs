//! `forebay map`.

use super::common::Common;
use super::revisions::{self, Revision};
use super::session::{Session, cluster_filter};
use super::{Answer, Failure, Status};
use crate::files::git;
use crate::lint::engine::{self, LintOptions};
use crate::plan;
use crate::report::map::{FleetMap, MapChange, render};
use crate::rewrite::write;
use crate::simulate::gating::objects::Gating;
use crate::simulate::gating::timeline::{Range, simulate};
use crate::world::{ApplyTarget, World};
use jiff::{SignedDuration, Timestamp};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// Flags of `map`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File to write [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Revision or directory (./DIR) before a change that the map then shows [without a value: the merge base
    /// with the main branch]
    #[arg(long, value_name = "REV|./DIR", num_args = 0..=1)]
    base: Option<Option<String>>,
    /// Revision or directory (./DIR) after the change [default: the working tree]
    #[arg(long, value_name = "REV|./DIR", requires = "base")]
    head: Option<String>,
}

/// Days that the timeline covers.
const AHEAD: i64 = 7;

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    to_a_page(arguments)?;
    let at = common.at(&jiff::tz::TimeZone::UTC)?;
    let session = Session::open(common, &[])?;
    let remotes = git::remotes(&session.root);
    let head = match &arguments.head {
        Some(name) => revisions::read(&session, name)?,
        None => Revision { snapshot: session.snapshot.clone(), label: "working tree".to_owned() },
    };
    let base = arguments.base.as_ref().map(|name| match name {
        Some(name) => revisions::read(&session, name),
        None => revisions::read_default_base(&session),
    });
    let base = base.transpose()?;
    base.iter().chain([&head]).for_each(|revision| common.keeps_secret(&revision.snapshot));
    let base = base.map(|base| (World::new(&base.snapshot, &session.config, &remotes), base.label));
    let world = match &base {
        Some((base, _)) => base.like(&head.snapshot, &session.config, &remotes),
        None => World::new(&head.snapshot, &session.config, &remotes),
    };
    let wanted = cluster_filter(common, &world)?;
    let clusters: Vec<usize> =
        (0..world.clusters.len()).filter(|index| wanted(&world.clusters[*index])).collect();
    let outcome = engine::run(&world, &session.config, &LintOptions::default());
    let from = at.unwrap_or_else(now);
    let to = from.checked_add(SignedDuration::from_hours(24 * AHEAD)).unwrap_or(Timestamp::MAX);
    let simulations: Vec<_> = clusters
        .iter()
        .map(|index| {
            let local = world
                .written(&world.clusters[*index])
                .filter(|(member, _)| member.target == ApplyTarget::Local)
                .map(|(_, object)| (&object.id, object.node.get_ref()));
            simulate(&Gating::read(local), Range { from, to })
        })
        .collect();
    let effects = base.as_ref().map(|(base, _)| plan::plan(base, &world)).unwrap_or_default();
    let change =
        base.as_ref().map(|(base_world, label)| MapChange { base: label, base_world, effects: &effects });
    let page = render(&FleetMap {
        world: &world,
        clusters: &clusters,
        outcome: &outcome,
        simulations: &simulations,
        change,
        secrets: common.secrets().as_deref(),
    });
    let written = match &arguments.output {
        Some(file) => write::file(&session.root, file, page.as_bytes())
            .map_err(|error| format!("{}: {error}", file.display())),
        None => std::io::stdout()
            .write_all(page.as_bytes())
            .or_else(super::output::went_away)
            .map_err(|error| format!("standard output: {error}")),
    };
    written.map_err(Failure::Work)?;
    Ok(Status::Clean)
}

/// Refuses to write the page where nobody can look at it: on a terminal, or in a file whose
/// name says that it is something else.
fn to_a_page(arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.output {
        None if std::io::stdout().is_terminal() => Err(Failure::Usage(
            "the map is a page of HTML: `--output map.html` writes it to a file".to_owned(),
        )),
        Some(file) => match file.extension().and_then(|extension| extension.to_str()) {
            Some(other) if !["html", "htm"].iter().any(|known| known.eq_ignore_ascii_case(other)) => {
                Err(Failure::Usage(format!(
                    "the map is a page of HTML, not .{other}: `--output {}` writes it",
                    file.with_extension("html").display()
                )))
            }
            _ => Ok(()),
        },
        None => Ok(()),
    }
}

/// Gates know whole seconds.
fn now() -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH)
}
