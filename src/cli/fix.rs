//! `forebay lint --fix` and `--diff`.

use super::common::Common;
use super::output;
use super::rewriting::{refused, show};
use super::session::Session;
use super::{Failure, Status};
use crate::files::{Snapshot, git};
use crate::lang::text::clean;
use crate::lint::Applicability;
use crate::lint::engine::{self, LintOptions};
use crate::report;
use crate::rewrite::{self, fix::FixOutcome};
use crate::world::World;
use std::io::Write;
use std::sync::Arc;

/// Flags of `lint` that change files.
#[derive(clap::Args)]
pub(crate) struct FixArguments {
    /// Apply the fixes that are surely meant, with =unsafe those that are a guess too
    #[arg(
        long,
        value_name = "safe|unsafe",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "safe",
        value_parser = ["safe", "unsafe"],
        conflicts_with_all = ["since", "baseline"]
    )]
    fix: Option<String>,
    /// Show what --fix would change as a unified diff, and write nothing
    #[arg(long, conflicts_with_all = ["since", "baseline"])]
    diff: bool,
    /// With --diff: show the values of Secrets, so that it can be applied
    #[arg(long, requires = "diff")]
    show_secrets: bool,
}

/// What is left to do after fixing.
pub(crate) enum Next {
    /// Nothing: everything is said.
    Done(Status),
    /// Report what is left of the fixed repository.
    Report(Box<(World, engine::LintOutcome)>),
}

impl FixArguments {
    /// Whether any of the flags is given.
    pub(crate) fn wanted(&self) -> bool {
        self.fix.is_some() || self.diff
    }

    /// Fix what can be fixed; write it, or show it.
    pub(crate) fn run(
        &self,
        common: &Common,
        session: &Session,
        options: &LintOptions,
        stdin: bool,
    ) -> Result<Next, Failure> {
        let least = match self.fix.as_deref() {
            Some("unsafe") => Applicability::Unsafe,
            _ => Applicability::Safe,
        };
        let remotes = git::remotes(&session.root);
        let world = |snapshot: &Arc<Snapshot>| World::new(snapshot, &session.config, &remotes);
        let outcome = rewrite::fix::fix(world, session.snapshot.clone(), &session.config, options, least);
        if self.diff {
            show(common, session, &outcome.changes, self.show_secrets)?;
            say(common, session, &outcome, false, true);
            let changed = !outcome.changes.is_empty();
            return Ok(Next::Done(if changed { Status::Findings } else { Status::Clean }));
        }
        if stdin {
            return filter(common, session, &outcome).map(Next::Done);
        }
        let linked = rewrite::write::write(&session.root, &outcome.changes).map_err(|refusals| {
            Failure::Work(refused(session, "the fixes could not be written", &refusals))
        })?;
        super::rewriting::tell_of_links(common, &linked);
        say(common, session, &outcome, true, false);
        Ok(Next::Report(Box::new((outcome.world, outcome.left))))
    }
}

/// Standard input goes on to standard output, fixed or not; what is left to say
/// goes beside it.
fn filter(common: &Common, session: &Session, outcome: &FixOutcome) -> Result<Status, Failure> {
    let snapshot = &outcome.world.snapshot;
    let file = session.focus.first().and_then(|path| snapshot.file(path));
    let blob = file.and_then(|file| snapshot.blob(file).ok());
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(blob.map_or(&[], |blob| blob.bytes()))
        .and_then(|()| stdout.flush())
        .or_else(output::went_away)
        .map_err(|error| Failure::Work(format!("standard output: {error}")))?;
    say(common, session, outcome, true, true);
    let mut stderr = output::stderr(common);
    let show = common.show();
    for finding in outcome.left.findings.iter().filter(|finding| finding.level >= show) {
        let ((line, column), _) = snapshot.positions(&finding.location);
        let path = clean(finding.location.file.shown());
        let (level, rule) = (finding.level.name(), finding.rule.id);
        let _ = writeln!(stderr, "{path}:{line}:{column}: {level}: {} [{rule}]", clean(&finding.title));
    }
    let levels = outcome.left.findings.iter().map(|finding| finding.level);
    Ok(common.status(levels, outcome.left.not_checked.is_empty()))
}

fn say(common: &Common, session: &Session, outcome: &FixOutcome, written: bool, alone: bool) {
    if !common.quiet {
        let _ =
            report::diff::summary(&mut output::stderr(common), &session.snapshot, outcome, written, alone);
    }
}
