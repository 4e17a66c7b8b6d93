//! `forebay lint --add-ignores`.

use super::Failure;
use super::common::Common;
use super::session::Session;
use crate::files::git;
use crate::lang::text::counted;
use crate::lint::engine::{self, LintOptions, LintOutcome};
use crate::report::{self};
use crate::rewrite::ignore::{self, Ignore};
use crate::rewrite::write;
use crate::world::World;
use std::io::Write;
use std::sync::Arc;

/// Write a comment for each finding that is shown, and look again. What no
/// comment can silence is told, and stays.
pub(crate) fn run(
    common: &Common,
    session: &Session,
    options: &LintOptions,
    reason: &str,
    outcome: &LintOutcome,
) -> Result<(World, LintOutcome), Failure> {
    let show = common.show();
    let shown = outcome.findings.iter().filter(|finding| finding.level >= show);
    let ignores = shown.map(|finding| Ignore { rule: finding.rule.id, location: finding.location.clone() });
    let added = ignore::add(&session.snapshot, &ignores.collect::<Vec<_>>(), reason.trim());
    let linked = write::write(&session.root, &added.changes).map_err(|refusals| {
        let lines = refusals.iter().map(|refusal| report::diff::sentence(&session.snapshot, refusal));
        Failure::Work(format!("the comments were not written:\n{}", lines.collect::<Vec<_>>().join("\n")))
    })?;
    super::progress::stop();
    super::rewriting::tell_of_links(common, &linked);
    let mut stderr = super::output::stderr(common);
    if !common.quiet {
        let comments = counted(added.comments, "comment");
        let _ = writeln!(stderr, "{comments} added in {}", counted(added.changes.len(), "file"));
    }
    for refusal in &added.refusals {
        let _ = writeln!(stderr, "{}", report::diff::sentence(&session.snapshot, refusal));
    }
    let files = added.changes.iter().map(|change| (&*change.path, change.after.clone().into_bytes()));
    let snapshot = Arc::new(session.snapshot.with_files(files));
    let world = World::new(&snapshot, &session.config, &git::remotes(&session.root));
    let left = engine::run(&world, &session.config, options);
    Ok((world, left))
}
