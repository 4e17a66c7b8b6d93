//! `forebay migrate`: one kind of fix, for all objects at once.

use super::common::Common;
use super::rewriting::Mode;
use super::session::Session;
use super::{Answer, Failure, Status};
use crate::config::{Level, Written};
use crate::files::{Snapshot, git};
use crate::lang::text::{clean, counted, line_start};
use crate::lang::yaml::{FilePath, Location};
use crate::lint::engine::LintOptions;
use crate::lint::{Applicability, Finding, Rule, rules};
use crate::model::{FLUX, Version};
use crate::report;
use crate::rewrite;
use crate::world::World;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// What to migrate.
#[derive(clap::Subcommand)]
pub(crate) enum Arguments {
    /// Move spec.summary of Alerts to spec.eventMetadata.summary
    AlertSummary(Migration),
    /// Move suspensions from the annotation to spec.suspend, or back
    Suspend(super::suspend::MigrateArguments),
    /// Change the apiVersions that the cluster's Flux or Kubernetes no longer serves
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
            by_rules(common, migration, &[&rules::event::deprecated_alert_summary::RULE], None)
        }
        Arguments::Suspend(arguments) => super::suspend::migrate(common, arguments),
        Arguments::ApiVersions(arguments) => {
            let to = arguments.to.as_deref().map(version).transpose()?;
            by_rules(common, &arguments.migration, &API_VERSIONS, to)
        }
    }
}

fn version(text: &str) -> Result<Version, Failure> {
    let version = Version::parse(text).filter(|version| version.within(&FLUX));
    let (major, minors) = &FLUX;
    let (oldest, newest) = (minors.start(), minors.end());
    version.ok_or_else(|| {
        let known = format!("{major}.{oldest} to {major}.{newest}");
        Failure::Usage(format!("--to: `{}` is no Flux version of {known}", clean(text)))
    })
}

/// What `migrate api-versions` changes.
static API_VERSIONS: [&Rule; 2] =
    [&rules::reference::removed_api_version::RULE, &rules::reference::removed_kubernetes_api::RULE];

/// Apply the safe fixes of some rules, as for clusters of Flux `to`.
fn by_rules(common: &Common, migration: &Migration, rules: &[&Rule], to: Option<Version>) -> Answer {
    let mut session = Session::open(common, &migration.paths)?;
    if let Some(value) = to {
        let location = Location { file: FilePath::in_root("--to"), start: 0, end: 0, via: Vec::new() };
        session.config.target.flux = Some(Written { value, location });
    }
    let select = rules.iter().map(|rule| rule.id.to_owned()).collect();
    let options = LintOptions { select, focus: session.focus.clone(), ..LintOptions::default() };
    let remotes = git::remotes(&session.root);
    let world = |snapshot: &Arc<Snapshot>| World::new(snapshot, &session.config, &remotes);
    let outcome =
        rewrite::fix::fix(world, session.snapshot.clone(), &session.config, &options, Applicability::Safe);
    let (before, after) = (&session.snapshot, &outcome.world.snapshot);
    migration.mode.carry_out(common, &session, &outcome.changes)?;
    let writes = migration.mode.writes();
    let is_of = |finding: &&Finding| rules.iter().any(|rule| rule.id == finding.rule.id);
    let is_left = outcome.left.findings.iter().any(|finding| is_of(&finding));
    if !common.quiet {
        let mut stderr = super::output::stderr(common);
        let _ = report::diff::summary(&mut stderr, before, &outcome, writes, false);
        let left = outcome.left.findings.iter().filter(is_of);
        let _ = tell_left(&mut stderr, after, left);
        if outcome.changes.is_empty() && outcome.refused.is_empty() && !is_left {
            let _ = writeln!(stderr, "nothing to migrate");
        }
    }
    let pending = if writes { is_left } else { is_left || !outcome.changes.is_empty() };
    Ok(if pending { Status::Findings } else { Status::Clean })
}

/// From so many on, what is left for one reason is one entry.
const MANY: usize = 2;

/// Say what is left, why, and what would let it go on.
fn tell_left<'f>(
    out: &mut dyn Write,
    snapshot: &Snapshot,
    left: impl Iterator<Item = &'f Finding>,
) -> io::Result<()> {
    let mut groups: BTreeMap<(String, String), Vec<&Finding>> = BTreeMap::new();
    for finding in left {
        let (_, what) = finding.title.split_once(": ").unwrap_or(("", &finding.title));
        let said = format!("{}; {}", clean(what), finding.help);
        groups.entry((why_left(finding).to_owned(), said)).or_default().push(finding);
    }
    let place = |finding: &Finding| {
        let ((line, _), _) = snapshot.positions(&finding.location);
        format!("{}:{line}", line_start(finding.location.file.shown()))
    };
    let subject = |finding: &Finding| {
        let subject = finding.title.split_once(": ").map_or("", |(subject, _)| subject);
        clean(subject).into_owned()
    };
    let mut groups = groups.iter().peekable();
    while let Some(((why, said), findings)) = groups.next() {
        if findings.len() < MANY {
            for finding in findings {
                writeln!(out, "left: {}: {}: {said}", place(finding), subject(finding))?;
            }
        } else {
            writeln!(out, "left: {}: {said}", counted(findings.len(), "object"))?;
            for finding in findings {
                writeln!(out, "  {}  {}", place(finding), subject(finding))?;
            }
        }
        // Said once for all that is left for the same reason.
        if groups.peek().is_none_or(|((next, _), _)| next != why) {
            writeln!(out, "  why: {why}")?;
        }
    }
    Ok(())
}

/// Why the migration does not change what a finding is about, and what would let it.
fn why_left(finding: &Finding) -> &'static str {
    let best = finding.fixes.iter().map(|fix| fix.applicability).max();
    let of_versions = API_VERSIONS.iter().any(|rule| rule.id == finding.rule.id);
    let of_kubernetes = finding.rule.id == rules::reference::removed_kubernetes_api::RULE.id;
    match best {
        _ if finding.location.file.of_root().is_none() => {
            "it is of another file tree, and only the root's is changed; run this there"
        }
        Some(Applicability::Unsafe) if of_kubernetes => {
            "nothing says which Kubernetes it is for; say it in .forebay.yaml: `target: {kubernetes: \"1.34\"}`"
        }
        Some(Applicability::Unsafe) if of_versions && finding.level == Level::Info => {
            "no cluster applies it, so that nothing says which Flux does; `--to 2.9` changes it for that \
             version, and so does `target: {flux: \"2.9\"}` in .forebay.yaml"
        }
        Some(Applicability::Unsafe) if of_versions => {
            "nothing says which Flux the cluster runs; add `--to 2.9`, or say it in .forebay.yaml: \
             `target: {flux: \"2.9\"}`"
        }
        Some(Applicability::Unsafe) => "the change is a guess; `lint --fix=unsafe` makes it",
        Some(Applicability::Safe) => "the change was refused, for the reason above",
        _ if of_versions => {
            "the text has a field that the new version doesn't know, or feeds objects of other versions; \
             take that field out by hand, or part the text, and run this again"
        }
        _ => {
            "the text is one that a move would change for others: it feeds several objects, or another file \
             says the opposite; move it by hand, and run this again"
        }
    }
}
