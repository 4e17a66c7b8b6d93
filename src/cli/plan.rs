//! `forebay plan`.

use super::common::Common;
use super::output;
use super::respond::{self, Respond};
use super::revisions::{self, Revision};
use super::session::{self, Session};
use super::{Answer, Failure, Status, assume};
use crate::config::Assumed;
use crate::files::git;
use crate::lang::text::wrap;
use crate::lint::Finding;
use crate::lint::engine::{self, LintOptions, LintOutcome, NotChecked};
use crate::model::{Category, EffectKind, Severity, Unchecked};
use crate::plan::{self, ClusterChange, Effect, Planned, Reach};
use crate::report::paint;
use crate::report::plan::{Plan, github, html, json, markdown, text, verb_of};
use crate::simulate::cluster_api::hooks::mutation::Responses;
use crate::simulate::cluster_api::references::{TargetScope, scopes};
use crate::world::World;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::borrow::Cow;
use std::sync::Arc;

output::formats!(Text = "text": "for people", Json = "json": "for programs: stable, with a schema", Markdown = "markdown": "for a comment or a job summary", Github = "github": "annotations of a workflow", Html = "html": "one page, to keep or to mail");

/// Flags of `plan`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {
    /// Revision or directory (./DIR) before the change [default: the merge base with the main branch]
    #[arg(long, value_name = "REV|./DIR")]
    base: Option<String>,
    /// Revision or directory (./DIR) after the change [default: the working tree]
    #[arg(long, value_name = "REV|./DIR")]
    head: Option<String>,
    /// Versions to rehearse in place of those that are stated: flux=2.9,kubernetes=1.34,clusterApi=1.12,
    /// and proposals: gates=enabled,suspendAnnotation=enabled
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',')]
    assume: Vec<String>,
    /// What an extension of Cluster API answers: GeneratePatches=FILE or BEFORE..AFTER,
    /// DiscoverVariables=FILE (the response as Cluster API's JSON), ValidateTopology=failure,
    /// CanUpdateMachine and CanUpdateMachineSet=all, none or unreachable, UpdateMachine=done,
    /// inProgress or failure
    #[arg(long, value_name = "HOOK=ANSWER", value_delimiter = ',', value_parser = respond::parse)]
    respond: Vec<Respond>,
    /// Exit 1 when there are effects, or a cluster changes in a way that concerns what is here
    #[arg(long)]
    exit_code: bool,
    /// Exit 1 on these effects or severities (disruptive, notable, routine)
    #[arg(long, value_name = "EFFECT|SEVERITY", value_delimiter = ',', value_parser = FatalParser, hide_possible_values = true)]
    fail_on_effect: Vec<Fatal>,
}

/// An effect that makes the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fatal {
    /// Of this name, in whatever family.
    Named(&'static str),
    /// As bad as this, or worse.
    AtLeast(Severity),
}

impl Fatal {
    fn matches(self, effect: &Effect) -> bool {
        match self {
            Fatal::Named(name) => effect.effect.name() == name,
            Fatal::AtLeast(severity) => effect.severity >= severity,
        }
    }

    /// Whether what concerns a whole cluster is as bad; it has no name among effects.
    fn is_reached(self, change: &ClusterChange) -> bool {
        match self {
            Fatal::Named(_) => false,
            Fatal::AtLeast(severity) => change.notes.iter().any(|note| note.severity >= severity),
        }
    }
}

/// What `--assume` says; `None` without it.
///
/// # Errors
/// It is no such list, or stands beside `--base`.
fn assumed(arguments: &Arguments) -> Result<Option<Assumed>, Failure> {
    if arguments.assume.is_empty() {
        return Ok(None);
    }
    let assumed = assume::parse(&arguments.assume)?;
    if arguments.base.is_some() {
        return Err(Failure::Usage(
            "--assume looks at the same files under other versions, so it takes no --base; \
             `--head REV` says which files"
                .to_owned(),
        ));
    }
    Ok(Some(assumed))
}

/// Reads an effect's id, and answers a verb of the text with the ids that have it.
#[derive(Clone)]
struct FatalParser;

impl TypedValueParser for FatalParser {
    type Value = Fatal;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Fatal, clap::Error> {
        let word = value.to_string_lossy().to_lowercase();
        let ids: Vec<&str> =
            EffectKind::ALL.iter().filter(|kind| verb_of(**kind) == word).map(|kind| kind.name()).collect();
        let parser = fatal();
        if ids.is_empty() || ids.contains(&&*word) {
            return parser.parse_ref(command, argument, value);
        }
        let is_are = if ids.len() == 1 { "its effect is" } else { "its effects are" };
        let text = format!("`{word}` is a verb of the text; {is_are} {}", ids.join(", "));
        Err(clap::Error::raw(clap::error::ErrorKind::InvalidValue, format!("{text}\n")).with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = clap::builder::PossibleValue> + '_>> {
        let words: Vec<_> = fatal().possible_values().into_iter().flatten().collect();
        Some(Box::new(words.into_iter()))
    }
}

fn fatal() -> impl TypedValueParser<Value = Fatal> {
    let severities = Severity::ALL.iter().map(|severity| severity.name());
    let mut words = Vec::new();
    for word in severities.chain(EffectKind::ALL.iter().map(|kind| kind.name())) {
        // Two kinds of objects share some names.
        if !words.contains(&word) {
            words.push(word);
        }
    }
    PossibleValuesParser::new(words).try_map(|word| {
        let severity = Severity::ALL.iter().find(|severity| severity.name() == word);
        let kind = EffectKind::ALL.iter().find(|kind| kind.name() == word);
        let named = kind.map(|kind| Fatal::Named(kind.name()));
        severity.map(|severity| Fatal::AtLeast(*severity)).or(named).ok_or("no effect")
    })
}

/// `plan` with the end of its `--help`, which is written when somebody asks for it.
pub(crate) fn with_effects(plan: clap::Command) -> clap::Command {
    plan.after_long_help(effects_help())
}

/// Every effect by family.
fn effects_help() -> String {
    let mut help = output::help::<Format>();
    help.push_str("\n\nEffects: the id, for --fail-on-effect and JSON; the verb of the text; how bad it is:");
    let width = EffectKind::ALL.iter().map(|kind| kind.name().len()).max().unwrap_or(0);
    let verbs = EffectKind::ALL.iter().map(|kind| verb_of(*kind).len()).max().unwrap_or(0);
    for category in Category::ALL {
        help.push_str(&format!("\n\n  {category}"));
        for kind in EffectKind::ALL.iter().filter(|kind| kind.category() == *category) {
            let severity = kind.severity();
            let verb = verb_of(*kind);
            let lead = format!("  {kind:width$}  {verb:verbs$}  {severity:10}  ");
            let mut text = kind.meaning().replace('`', "");
            if !kind.unless().is_empty() {
                text.push_str(&format!(" ({})", kind.unless()));
            }
            let gap = format!("\n{}", " ".repeat(lead.len()));
            help.push_str(&format!("\n{lead}{}", wrap(&text, HELP_WIDTH - lead.len()).join(&gap)));
        }
    }
    help
}

/// Columns of the help.
const HELP_WIDTH: usize = 80;

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let at = common.at(&jiff::tz::TimeZone::UTC)?;
    let assumed = assumed(arguments)?;
    let session = Session::open(common, &[])?;
    let (base, head, remotes) = ends(arguments, &session, assumed.is_some())?;
    common.keeps_secret(&base.snapshot);
    common.keeps_secret(&head.snapshot);
    let base_world = Arc::new(World::new(&base.snapshot, &session.config, &remotes));
    let head_config = match &assumed {
        Some(assumed) => Cow::Owned(session.config.assuming(assumed.clone())),
        None => Cow::Borrowed(&session.config),
    };
    let head_world = Arc::new(base_world.like(&head.snapshot, &head_config, &remotes));
    output::warn_if_nothing_followed(&head_world);
    session::check_clusters(common, &[&base_world, &head_world])?;
    let clusters = plan::names_now(&base_world, &head_world, &common.cluster);
    let wanted = |cluster: &Option<Arc<str>>| {
        clusters.is_empty() || clusters.iter().any(|own| Some(own.as_str()) == cluster.as_deref())
    };
    let responses = answers(common, arguments, [&base_world, &head_world])?;
    let options = LintOptions::default();
    let (planned, (before, after)) = rayon::join(
        || plan::planned_under(&base_world, &head_world, &responses),
        || engine::run_both(&base_world, &head_world, &session.config, &options),
    );
    let Planned { mut effects, mut changes } = planned;
    effects.retain(|effect| wanted(&effect.cluster));
    changes.retain(|change| wanted(&change.cluster));
    let reach = plan::reach(&base_world, &head_world, &effects);
    let not_checked = not_checked(&base_world, &head_world, &changes, &reach);
    let [new_findings, fixed_findings] = on_one_side((&base_world, &before), (&head_world, &after));
    let view = Plan {
        base: &base.label,
        head: &head.label,
        base_world: &base_world,
        head_world: &head_world,
        effects: &effects,
        changes: &changes,
        assumed: assumed.as_ref(),
        new_findings,
        fixed_findings,
        not_checked: &not_checked,
        reach: &reach,
        clusters: &clusters,
        show: common.show(),
        at,
    };
    output::emit(common, |format, out, terminal| match format {
        Format::Json => crate::report::json::write(out, &json(&view)),
        Format::Markdown => out.write_all(markdown(&view).as_bytes()),
        Format::Github => out.write_all(github(&view).as_bytes()),
        Format::Html => out.write_all(html(&view, common.secrets().as_deref()).as_bytes()),
        Format::Text => paint::write(out, &text(&view), terminal.color),
    })?;
    let failed = fails(arguments, &effects, &changes) || (common.complete && !not_checked.is_empty());
    let status = if failed { Status::Findings } else { Status::Clean };
    // As a lint ends.
    if common.taken.is_none() {
        std::mem::forget((effects, changes, session, base_world, head_world));
    }
    Ok(status)
}

/// The revisions before and after, and the remotes of the repository.
fn ends(
    arguments: &Arguments,
    session: &Session,
    is_assumed: bool,
) -> Result<(Revision, Revision, Vec<String>), Failure> {
    let head = match &arguments.head {
        Some(name) => revisions::read(session, name)?,
        None => Revision { snapshot: session.snapshot.clone(), label: "working tree".to_owned() },
    };
    let (base, remotes) = rayon::join(
        || match (&arguments.base, is_assumed) {
            (Some(name), _) => revisions::read(session, name),
            // The same files under other controllers.
            (None, true) => Ok(Revision { snapshot: head.snapshot.clone(), label: head.label.clone() }),
            (None, false) => revisions::read_default_base(session),
        },
        || git::remotes(&session.root),
    );
    Ok((base?, head, remotes))
}

/// What the plan does not tell.
fn not_checked(base: &World, head: &World, changes: &[ClusterChange], reach: &Reach) -> NotChecked {
    let mut not_checked = NotChecked::default();
    not_checked.states_entry = head.states_entry();
    engine::not_built(head, &mut not_checked);
    charts_before(base, &mut not_checked);
    for failing in plan::failing_on_both_sides(base, head) {
        not_checked.add(Unchecked::BuildFailsOnBothSides, failing);
    }
    for change in changes.iter().filter(|change| change.what == "kubernetes") {
        not_checked.add(Unchecked::KubernetesFields, change.cluster.as_deref().unwrap_or("the repository"));
    }
    for directory in trees_beside(head) {
        not_checked.add(Unchecked::OtherTree, directory);
    }
    for path in &reach.unread {
        not_checked.add(Unchecked::ChangedFileOutsideClusters, path.clone());
    }
    for path in &reach.in_part {
        not_checked.add(Unchecked::ChangedFileInPartialBuild, path.clone());
    }
    not_checked
}

/// The findings that are new, and those that are fixed. Nothing inside a build that fails on
/// the other side is either.
fn on_one_side<'f>(
    base: (&World, &'f LintOutcome),
    head: (&World, &'f LintOutcome),
) -> [Vec<&'f Finding>; 2] {
    let new = |(world, outcome): (&World, &'f LintOutcome), (other, before): (&World, &'f LintOutcome)| {
        let mut found = plan::only_in(&outcome.findings, &before.findings);
        found.retain(plan::comparable(world, other));
        found
    };
    [new(head, base), new(base, head)]
}

/// Whether the flags make any of what happens a failure.
fn fails(arguments: &Arguments, effects: &[Effect], changes: &[ClusterChange]) -> bool {
    let failing = |effect: &Effect| arguments.fail_on_effect.iter().any(|fatal| fatal.matches(effect));
    let mut counted = effects.iter().filter(|effect| effect.when.is_none());
    let concerns = changes.iter().any(|change| !change.notes.is_empty());
    let as_bad =
        |change: &ClusterChange| arguments.fail_on_effect.iter().any(|fatal| fatal.is_reached(change));
    (arguments.exit_code && (concerns || counted.clone().next().is_some()))
        || counted.any(failing)
        || changes.iter().any(as_bad)
}

/// What extensions are stated to answer.
///
/// # Errors
/// An answer is none, or is to a hook whose answer a plan does not turn on.
fn answers(common: &Common, arguments: &Arguments, worlds: [&World; 2]) -> Result<Responses, Failure> {
    for given in &arguments.respond {
        if let Respond::Lifecycle(hook, _) = given {
            return Err(Failure::Usage(format!(
                "--respond: a plan says which lifecycle hooks may block; what follows when {hook} does is what \
                 `forebay simulate hooks` shows"
            )));
        }
    }
    let responses = respond::responses(common, &arguments.respond)?;
    let all: Vec<TargetScope<'_>> = worlds.into_iter().flat_map(scopes).collect();
    respond::check(&responses, &all)?;
    Ok(responses)
}

/// Counts the charts that only the base lacks.
fn charts_before(base: &World, not_checked: &mut NotChecked) {
    let mut of_base = NotChecked::default();
    engine::not_built(base, &mut of_base);
    let missing = |list: &NotChecked| -> Vec<String> {
        let charts = list.iter().filter(|(reason, _)| *reason == Unchecked::Chart);
        charts.flat_map(|(_, places)| places.iter().map(ToString::to_string)).collect()
    };
    let known = missing(not_checked);
    for chart in missing(&of_base).into_iter().filter(|chart| !known.contains(chart)) {
        not_checked.add(Unchecked::Chart, format!("{chart} (before the change)"));
    }
}

/// The trees beside the root's that clusters take objects from, as seen from the root.
fn trees_beside(world: &World) -> Vec<&str> {
    let files = world.files_beside();
    let mut directories = world.snapshot.directories_beside();
    let below =
        |directory: &str, path: &str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
    directories.retain(|directory| files.iter().any(|file| below(directory, &file.path)));
    directories
}
