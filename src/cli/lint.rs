//! `forebay lint`.

use super::add_ignores;
use super::common::Common;
use super::fix::{FixArguments, Next};
use super::output;
use super::revisions;
use super::session::{Session, cluster_filter};
use super::stores;
use super::{Answer, Failure};
use crate::config::{Config, FILE_NAME, Level, Written};
use crate::files::git;
use crate::lang::text::clean;
use crate::lang::yaml::{FilePath, Location};
use crate::lint::Rule;
use crate::lint::baseline::Baseline;
use crate::lint::engine::{self, LintOptions, LintOutcome, UnknownRule};
use crate::lint::rules::TIME_DEPENDENT;
use crate::plan;
use crate::report::{self, Lint};
use crate::world::{Cluster, World};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

output::formats!(
    Full = "full": "a block for each finding, with the bytes to change",
    Concise = "concise": "a line for each place",
    Json = "json": "for programs: stable, with a schema",
    Sarif = "sarif": "for code scanning",
    Github = "github": "annotations of a workflow",
    Gitlab = "gitlab": "GitLab's code quality report",
    Junit = "junit": "for test reports",
    Markdown = "markdown": "for a comment or a job summary",
    Html = "html": "one page, to keep or to mail"
);

/// The baseline that is written where nothing names another.
const BASELINE: &str = ".forebay-baseline.json";

/// Flags of `lint`.
#[derive(clap::Args)]
#[command(
    after_help = format!("{}\n\nExit codes: 0 nothing at or above --fail-on, 1 findings, 2 usage or configuration, 3 could not work.", output::help::<Format>()),
    arg = output::argument::<Format>()
)]
pub(crate) struct Arguments {
    /// Files and directories to report on, `-` for standard input [default: the whole root]
    paths: Vec<PathBuf>,
    /// Report only what is new since a git revision or a directory (./DIR), wherever it points
    #[arg(long, value_name = "REV|./DIR")]
    since: Option<String>,
    /// Run only these rules or groups
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Do not run these rules or groups
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// What standard input is: a path relative to the working directory, else to the root
    #[arg(long, value_name = "FILE")]
    stdin_filename: Option<PathBuf>,
    #[command(flatten)]
    fix: FixArguments,
    /// Print how many findings each rule and each directory has instead of the findings
    #[arg(long)]
    statistics: bool,
    /// List everything that was not checked
    #[arg(long)]
    list_unchecked: bool,
    /// Silence what is found by comments in the files, with a reason by =REASON
    #[arg(
        long,
        value_name = "REASON",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with_all = ["fix", "diff", "since", "baseline", "stdin_filename"]
    )]
    add_ignores: Option<String>,
    /// Accept the findings that this file holds [default: `baseline` of the configuration]
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the findings of this run to the baseline [default: .forebay-baseline.json]
    #[arg(long, conflicts_with = "prune_baseline")]
    update_baseline: bool,
    /// Render all charts anew, and keep nothing of it for the next run
    #[arg(long)]
    no_cache: bool,
    /// Remove from the baseline what is not found any more
    #[arg(long)]
    prune_baseline: bool,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let at = common.at(&TimeZone::UTC)?;
    let mut session = open(common, arguments)?;
    if let Some(stores) = Arc::get_mut(&mut session.config.stores).filter(|_| !arguments.no_cache) {
        stores.keep_renders(stores::render_cache(&session.root));
    }
    let is_stated = session.config.baseline.is_some();
    let baseline = baseline(arguments, &mut session)?;
    let options = options(arguments, &session, at);
    check(arguments, &session, &options)?;
    let (world, mut outcome) = match found(common, arguments, &session, &options)? {
        Next::Done(status) => return Ok(status),
        Next::Report(rest) => *rest,
    };
    if outcome.files == 0 && outcome.not_checked.is_empty() && !common.allow_empty {
        return Err(Failure::Work("no manifest to read here (--allow-empty makes that fine)".to_owned()));
    }
    output::warn_if_nothing_followed(&world);
    let wanted = cluster_filter(common, &world)?;
    if !common.cluster.is_empty() {
        keep_clusters(&mut outcome, world.clusters.iter().filter(|cluster| wanted(cluster)));
    }
    let stale = match &baseline {
        Some(file) => apply_baseline(common, arguments, file, &mut outcome)?,
        None => 0,
    };
    if let Some(file) = baseline.as_ref().filter(|_| arguments.update_baseline && !is_stated) {
        to_be_stated(common, &session, file);
    }
    let mut lint = Lint {
        world: &world,
        outcome: &outcome,
        show: common.show(),
        at,
        summary: !common.quiet,
        width: usize::MAX,
        list_unchecked: arguments.list_unchecked,
        stale_baseline: stale,
        begins: baseline.is_none() && arguments.since.is_none() && session.focus.is_empty(),
        is_configured: session.root.join(FILE_NAME).exists(),
        fails_at: common.fails_at(),
        prefix: session.prefix(common),
        secrets: common.secrets(),
    };
    output::emit(common, |format, out, terminal| {
        lint.width = terminal.width();
        write(&lint, arguments.statistics, format, out, terminal)
    })?;
    let levels = outcome.findings.iter().map(|finding| finding.level);
    let status = common.status(levels, outcome.not_checked.is_empty());
    world.keep_renders(&session.config.stores);
    // The process ends and gives its memory back at once; taking trees apart piece by
    // piece would be a twentieth of the work.
    if common.taken.is_none() {
        std::mem::forget((session, world, outcome));
    }
    Ok(status)
}

/// Write the findings in a format.
fn write(
    lint: &Lint<'_>,
    statistics: bool,
    format: Format,
    out: &mut dyn Write,
    terminal: report::Terminal,
) -> io::Result<()> {
    match format {
        Format::Json => report::json::write(out, &report::json::lint(lint)),
        Format::Sarif => report::json::write(out, &report::sarif::log(lint)?),
        Format::Github => report::github::write(out, lint),
        Format::Gitlab => report::json::write(out, &report::gitlab::report(lint)),
        Format::Junit => report::junit::write(out, lint),
        Format::Markdown => report::markdown::write(out, lint),
        Format::Html => out.write_all(report::html::render(lint).as_bytes()),
        Format::Full | Format::Concise if statistics => report::summary::statistics(out, lint)
            .and_then(|()| if lint.summary { report::summary::write(out, lint) } else { Ok(()) }),
        Format::Concise => report::concise::write(out, lint),
        Format::Full => report::full::write(out, lint, terminal),
    }
}

/// Refuse what can't be asked for.
fn check(arguments: &Arguments, session: &Session, options: &LintOptions) -> Result<(), Failure> {
    if arguments.add_ignores.is_some() && arguments.reads_stdin() {
        return Err(Failure::Usage("--add-ignores changes files, and standard input is none".to_owned()));
    }
    if let Some(unknown) = engine::unknown_rules(&session.config, options).first() {
        return Err(Failure::Usage(refusal(session, unknown)));
    }
    Ok(())
}

/// Which rules run, on which files and at which time.
fn options(arguments: &Arguments, session: &Session, at: Option<Timestamp>) -> LintOptions {
    LintOptions {
        select: arguments.select.clone(),
        ignore: arguments.ignore.clone(),
        focus: session.focus.clone(),
        at: at.or_else(|| names_time_dependent_rule(arguments, session).then(Timestamp::now)),
    }
}

/// The findings: of what a fix leaves, of what changed since a revision, or of everything.
fn found(
    common: &Common,
    arguments: &Arguments,
    session: &Session,
    options: &LintOptions,
) -> Result<Next, Failure> {
    if arguments.fix.wanted() {
        return arguments.fix.run(common, session, options, arguments.reads_stdin());
    }
    let world = session.world();
    let outcome = match &arguments.since {
        Some(revision) => since(common, session, &world, revision, options)?,
        None => engine::run(&world, &session.config, options),
    };
    Ok(Next::Report(Box::new(match &arguments.add_ignores {
        Some(reason) => add_ignores::run(common, session, options, reason, &outcome)?,
        None => (world, outcome),
    })))
}

/// Leave out what is known to be in other clusters only. What belongs to no
/// cluster may concern any.
fn keep_clusters<'w>(outcome: &mut LintOutcome, wanted: impl Iterator<Item = &'w Cluster>) {
    let wanted: Vec<&str> = wanted.filter_map(|cluster| cluster.name.as_deref()).collect();
    outcome.clusters.retain(|name| wanted.contains(&name.as_str()));
    outcome.findings.retain(|finding| {
        finding.clusters.is_empty() || finding.clusters.iter().any(|name| wanted.contains(&&**name))
    });
}

/// The baseline: the flag's, else the configuration's. The session's configuration
/// names it after that, so that it is no manifest.
fn baseline(arguments: &Arguments, session: &mut Session) -> Result<Option<PathBuf>, Failure> {
    let Some(file) = &arguments.baseline else {
        let stated = session.config.baseline.as_ref().map(|file| session.root.join(&file.value));
        if stated.is_none() && arguments.prune_baseline {
            let message =
                "which baseline? name it by --baseline FILE, or by `baseline: FILE` in .forebay.yaml";
            return Err(Failure::Usage(message.to_owned()));
        }
        let new = || session.root.join(BASELINE);
        return Ok(stated.or_else(|| arguments.update_baseline.then(new)));
    };
    // One outside of the root is no file of the repository anyway.
    if let Ok(value) = session.inside(file) {
        let location = Location { file: FilePath::in_root("--baseline"), start: 0, end: 0, via: Vec::new() };
        session.config.baseline = Some(Written { value, location });
    }
    Ok(Some(file.clone()))
}

/// Says the line of the configuration that lets every run read a new baseline.
fn to_be_stated(common: &Common, session: &Session, file: &Path) {
    let Ok(path) = session.inside(file) else { return };
    let path = clean(&path).into_owned();
    let line =
        format!("{path} is written; add `baseline: {path}` to {FILE_NAME}, so that every run reads it");
    let _ = writeln!(output::stderr(common), "{line}");
}

/// Accept what the baseline holds, after bringing it up to date where that was
/// asked for. Gives how many of its findings are not found any more.
fn apply_baseline(
    common: &Common,
    arguments: &Arguments,
    file: &Path,
    outcome: &mut LintOutcome,
) -> Result<usize, Failure> {
    let changes = arguments.update_baseline || arguments.prune_baseline;
    let partial = arguments.since.is_some()
        || [arguments.select.len(), arguments.ignore.len(), arguments.paths.len()] != [0, 0, 0];
    if changes && partial {
        let message =
            "a baseline is changed by a run over everything: without PATHs, --since, --select and --ignore";
        return Err(Failure::Usage(message.to_owned()));
    }
    let named = |error: &dyn std::fmt::Display| Failure::Usage(format!("{}: {error}", file.display()));
    let show = common.show();
    let shown = || outcome.findings.iter().filter(|finding| finding.level >= show);
    let root = common.boundary(file)?;
    let before = match crate::files::read_named(&root, file) {
        Ok(text) => Some(Baseline::parse(&text).map_err(|error| named(&error))?),
        Err(error) if error.kind() == io::ErrorKind::NotFound && arguments.update_baseline => None,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(named(&"no such file; --update-baseline writes it"));
        }
        Err(error) => return Err(Failure::Work(format!("{}: {error}", file.display()))),
    };
    let after = match &before {
        _ if arguments.update_baseline => Baseline::of(shown()),
        Some(before) if arguments.prune_baseline => before.pruned(&outcome.findings),
        before => before.clone().unwrap_or_default(),
    };
    if before.as_ref() != Some(&after) {
        let written = crate::rewrite::write::file(&root, file, after.to_text().as_bytes());
        written.map_err(|error| Failure::Work(format!("{}: {error}", file.display())))?;
    }
    let stale = after.count() - after.pruned(&outcome.findings).count();
    after.apply(outcome);
    // What PATHs and selections leave out says nothing about the rest.
    Ok(if partial { 0 } else { stale })
}

impl Arguments {
    fn reads_stdin(&self) -> bool {
        self.stdin_filename.is_some() || self.paths.iter().any(|path| path.as_os_str() == "-")
    }
}

/// Whether a rule that needs a time is asked for by its name.
fn names_time_dependent_rule(arguments: &Arguments, session: &Session) -> bool {
    let selected = |rule: &&Rule| arguments.select.iter().any(|name| name == rule.id);
    configures_time_dependent_rule(&session.config) || TIME_DEPENDENT.iter().any(selected)
}

/// Whether the configuration turns a rule on that needs a time.
pub(super) fn configures_time_dependent_rule(config: &Config) -> bool {
    let is_on =
        |rule: &&Rule| config.rules.iter().any(|entry| entry.name == rule.id && entry.level != Level::Off);
    TIME_DEPENDENT.iter().any(is_on)
}

/// What is new relative to a revision; rules about changes run too.
fn since(
    common: &Common,
    session: &Session,
    world: &World,
    revision: &str,
    options: &LintOptions,
) -> Result<engine::LintOutcome, Failure> {
    let before = revisions::read(session, revision)?;
    common.keeps_secret(&before.snapshot);
    let base = world.like(&before.snapshot, &session.config, &git::remotes(&session.root));
    // Old findings are looked for everywhere: one may have moved.
    let everywhere = LintOptions { focus: Vec::new(), ..options.clone() };
    let old = engine::run(&base, &session.config, &everywhere);
    let mut outcome = engine::run_change(&base, world, &session.config, options);
    let new: Vec<_> = plan::only_in(&outcome.findings, &old.findings).into_iter().cloned().collect();
    outcome.findings = new;
    Ok(outcome)
}

/// The repository, with standard input in place of a file where it was asked
/// for.
fn open(common: &Common, arguments: &Arguments) -> Result<Session, Failure> {
    if !arguments.reads_stdin() {
        return Session::open(common, &arguments.paths);
    }
    if arguments.paths.iter().any(|path| path.as_os_str() != "-") {
        return Err(Failure::Usage("standard input is read alone, without other PATHs".to_owned()));
    }
    let mut session = Session::open(common, &[])?;
    let name = arguments.stdin_filename.clone().unwrap_or_else(|| PathBuf::from("stdin.yaml"));
    let path = match session.inside(&name) {
        Ok(path) => path,
        // A path of the root, as every answer writes it, while the work is done
        // somewhere else.
        Err(refusal) => session.inside(&session.root.join(&name)).map_err(|_| refusal)?,
    };
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .take(crate::files::SIZE_LIMIT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::Work(format!("standard input: {error}")))?;
    session.snapshot = session.snapshot.with_file(&path, bytes).into();
    session.focus = vec![path];
    Ok(session)
}

fn refusal(session: &Session, unknown: &UnknownRule) -> String {
    let place = unknown.location.as_ref().map_or_else(String::new, |location| {
        let ((line, column), _) = session.snapshot.positions(location);
        format!("{}:{line}:{column}: ", clean(location.file.shown()))
    });
    let help = match unknown.suggestion {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`forebay rules` lists all".to_owned(),
    };
    format!("{place}no rule or group `{}`; {help}", clean(&unknown.name))
}
