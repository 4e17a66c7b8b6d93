//! `forebay plan`.

use super::common::Common;
use super::output;
use super::revisions::{self, Revision};
use super::session::Session;
use super::{Answer, Failure, Status};
use crate::lint::engine::{self, NotChecked, Options};
use crate::plan::{self, Effect, Severity};
use crate::repo::git;
use crate::report::plan::{Plan, github, json, markdown, text};
use crate::world::World;

const FORMATS: [&str; 4] = ["text", "json", "markdown", "github"];

/// Flags of `plan`.
#[derive(clap::Args)]
#[command(after_help = "Formats: text (default), json, markdown, github.")]
pub(crate) struct Arguments {
    /// Revision or directory (./DIR) before the change [default: the merge base with the main branch]
    #[arg(long, value_name = "REV|./DIR")]
    base: Option<String>,
    /// Revision or directory (./DIR) after the change [default: the working tree]
    #[arg(long, value_name = "REV|./DIR")]
    head: Option<String>,
    /// Exit 1 when there are effects
    #[arg(long)]
    exit_code: bool,
    /// Exit 1 on these effects or severities (disruptive, notable, routine)
    #[arg(long, value_name = "EFFECT|SEVERITY", value_delimiter = ',')]
    fail_on_effect: Vec<String>,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen(common, &FORMATS)?;
    let at = common.at(&jiff::tz::TimeZone::UTC)?;
    let session = Session::open(common, &[])?;
    let head = match &arguments.head {
        Some(name) => revisions::read(&session, name)?,
        None => Revision { snapshot: session.snapshot.clone(), label: "working tree".to_owned() },
    };
    let (base, remotes) = rayon::join(
        || match &arguments.base {
            Some(name) => revisions::read(&session, name),
            None => revisions::read(&session, &revisions::default_base(&session)?),
        },
        || git::remotes(&session.root),
    );
    let base = base?;
    let base_world = World::new(&base.snapshot, &session.config, &remotes);
    let head_world = base_world.like(&head.snapshot, &session.config, &remotes);
    let wanted = |effect: &Effect| {
        common.cluster.is_empty()
            || effect
                .cluster
                .as_deref()
                .is_some_and(|name| common.cluster.iter().any(|wanted| wanted == name))
    };
    let known = |name: &String| {
        [&base_world, &head_world]
            .iter()
            .any(|world| world.clusters.iter().any(|cluster| cluster.name.as_deref() == Some(name.as_str())))
    };
    if let Some(unknown) = common.cluster.iter().find(|name| !known(name)) {
        return Err(Failure::Usage(format!("no cluster is called `{unknown}`")));
    }
    let options = Options::default();
    let (mut effects, (before, after)) = rayon::join(
        || plan::plan(&base_world, &head_world),
        || {
            rayon::join(
                || engine::run(&base_world, &session.config, &options),
                || engine::run_change(&base_world, &head_world, &session.config, &options),
            )
        },
    );
    effects.retain(wanted);
    let mut not_checked = NotChecked::default();
    engine::not_built(&head_world, &mut not_checked);
    let view = Plan {
        base: &base.label,
        head: &head.label,
        base_world: &base_world,
        head_world: &head_world,
        effects: &effects,
        new_findings: plan::only_in(&after.findings, &before.findings),
        fixed_findings: plan::only_in(&before.findings, &after.findings),
        not_checked: &not_checked,
        clusters: &common.cluster,
        show: common.show(),
        at,
    };
    output::emit(common, &FORMATS, |format, out, _| match format {
        "json" => crate::report::json::write(out, &json(&view)),
        "markdown" => out.write_all(markdown(&view).as_bytes()),
        "github" => out.write_all(github(&view).as_bytes()),
        _ => out.write_all(text(&view).as_bytes()),
    })?;
    let failing = |effect: &Effect| {
        arguments.fail_on_effect.iter().any(|wanted| {
            wanted == effect.effect
                || Severity::ALL
                    .iter()
                    .any(|severity| severity.name() == wanted && effect.severity >= *severity)
        })
    };
    let mut counted = effects.iter().filter(|effect| effect.when.is_none());
    let failed = (arguments.exit_code && counted.clone().next().is_some())
        || counted.any(failing)
        || (common.complete && !not_checked.is_empty());
    Ok(if failed { Status::Findings } else { Status::Clean })
}
