//! `forebay migrate`: one kind of fix, for all objects at once.

use super::common::Common;
use super::rewriting::Mode;
use super::session::Session;
use super::{Answer, Failure, Status};
use crate::config::Written;
use crate::lint::engine::Options;
use crate::lint::{Applicability, Rule, rules};
use crate::model::{FLUX, Version};
use crate::repo::{Snapshot, git};
use crate::report;
use crate::rewrite;
use crate::text::clean;
use crate::world::World;
use crate::yaml::Location;
use std::path::PathBuf;
use std::sync::Arc;

/// What to migrate.
#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// Move spec.summary of Alerts to spec.eventMetadata.summary
    AlertSummary(Migration),
    /// Move suspensions from the annotation to spec.suspend, or back
    Suspend(super::suspend::MigrateArguments),
    /// Change the apiVersions that the cluster's Flux no longer serves
    ApiVersions(ApiVersions),
}

/// Flags of `migrate api-versions`.
#[derive(clap::Args)]
pub(crate) struct ApiVersions {
    #[command(flatten)]
    migration: Migration,
    /// Flux that is to serve them [default: the version of each cluster]
    #[arg(long, value_name = "2.x")]
    to: Option<String>,
}

/// Flags of a migration.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 migrated, or nothing to do; 1 with --diff and --check: files would \
    change, else: some objects are left to migrate by hand.")]
pub(crate) struct Migration {
    /// Files and directories to migrate [default: the whole root]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    mode: Mode,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    match arguments {
        Arguments::AlertSummary(migration) => {
            by_rule(common, migration, &rules::event::deprecated_alert_summary::RULE, None)
        }
        Arguments::Suspend(arguments) => super::suspend::migrate(common, arguments),
        Arguments::ApiVersions(arguments) => {
            let to = arguments.to.as_deref().map(version).transpose()?;
            by_rule(common, &arguments.migration, &rules::reference::removed_api_version::RULE, to)
        }
    }
}

fn version(text: &str) -> Result<Version, Failure> {
    let version = Version::parse(text).filter(|version| version.within(&FLUX));
    version.ok_or_else(|| Failure::Usage(format!("--to: `{text}` is no Flux version of 2.0 to 2.9")))
}

/// Apply the safe fixes of a rule, as for clusters of Flux `to`.
fn by_rule(common: &Common, migration: &Migration, rule: &Rule, to: Option<Version>) -> Answer {
    let mut session = Session::open(common, &migration.paths)?;
    if let Some(value) = to {
        let location = Location { path: "--to".into(), start: 0, end: 0, via: Vec::new() };
        session.config.target.flux = Some(Written { value, location });
    }
    let options =
        Options { select: vec![rule.id.to_owned()], focus: session.focus.clone(), ..Options::default() };
    let remotes = git::remotes(&session.root);
    let world = |snapshot: &Arc<Snapshot>| World::new(snapshot, &session.config, &remotes);
    let outcome =
        rewrite::fix::fix(world, session.snapshot.clone(), &session.config, &options, Applicability::Safe);
    let (before, after) = (&session.snapshot, &outcome.world.snapshot);
    migration.mode.carry_out(common, &session, &outcome.changes)?;
    let writes = migration.mode.writes();
    if !common.quiet {
        let mut stderr = super::output::stderr(common);
        let _ = report::diff::summary(&mut stderr, before, &outcome, writes, false);
        for finding in outcome.left.findings.iter().filter(|finding| finding.rule.id == rule.id) {
            let ((line, _), _) = after.positions(&finding.location);
            let place = format!("{}:{line}", finding.location.path);
            let title = clean(&finding.title);
            let _ = std::io::Write::write_fmt(
                &mut stderr,
                format_args!("left: {}: {title}; {}\n", clean(&place), finding.help),
            );
        }
    }
    let is_left = outcome.left.findings.iter().any(|finding| finding.rule.id == rule.id);
    let pending = if writes { is_left } else { is_left || !outcome.changes.is_empty() };
    Ok(if pending { Status::Findings } else { Status::Clean })
}
