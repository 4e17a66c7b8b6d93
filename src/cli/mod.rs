//! One file per command: flags to a library call to a report.

#![allow(rustdoc::broken_intra_doc_links, reason = "helps of flags are printed as they are: `FILE[:LINE]`")]

mod add_ignores;
mod assume;
mod build;
mod chart_list;
mod chart_prune;
mod chart_pull;
mod chart_template;
mod chart_verify;
mod common;
mod complete;
mod completions;
mod config;
mod explain;
mod explain_values;
mod fix;
mod gate;
mod graph;
mod helm;
mod lint;
mod locate;
mod lsp;
mod map;
mod mcp;
mod migrate;
mod output;
mod places;
mod plan;
mod progress;
mod refactoring;
mod releases;
mod relocate;
mod rename;
mod respond;
mod revisions;
mod rewriting;
mod root;
mod rules;
mod schema;
mod selector;
mod session;
mod simulate_events;
mod simulate_gates;
mod simulate_hooks;
mod simulate_propagation;
mod simulate_suspend;
mod stores;
mod suspend;
mod tips;
mod why;

use crate::lang::text::{clean, suggest};
use crate::report;
use crate::simulate::gating::Position;
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use common::Common;
use std::mem::ManuallyDrop;

/// Offline linter, simulator, planner and in-place rewriter for GitOps
/// repositories of Flux and Cluster API manifests.
#[derive(Parser)]
#[command(name = "forebay", version, about, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    common: Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Report what is wrong, at file:line:column
    #[command(alias = "check")]
    Lint(lint::Arguments),
    /// Print what a directory builds to, as kustomize does
    #[command(alias = "render")]
    Build(build::Arguments),
    /// Find, list and render charts of Helm
    #[command(subcommand)]
    Chart(Chart),
    /// Say what the controllers will make of it
    #[command(subcommand, arg_required_else_help = true)]
    Simulate(Simulate),
    /// Say what a change will do in the clusters
    #[command(alias = "diff")]
    Plan(plan::Arguments),
    /// Ask a Gate to open or to close, in its manifest
    #[command(subcommand)]
    Gate(Gate),
    /// Rewrite what a newer Flux wants otherwise
    #[command(subcommand)]
    Migrate(migrate::Arguments),
    /// Suspend objects in their files
    Suspend(suspend::SuspendArguments),
    /// Resume suspended objects in their files
    Resume(suspend::ResumeArguments),
    /// Give an object another name, without deleting what runs
    Rename(rename::Arguments),
    /// Move files, with every path that names them
    Move(relocate::Arguments),
    /// Explain a rule, or a field of a kind: what it takes, since and until when
    Explain(explain::Arguments),
    /// Say what the values of a release are, who sets each, and which are read
    ExplainValues(explain_values::Arguments),
    /// Say who applies an object, through which files, patches and substitutions
    Why(why::Arguments),
    /// Give file, line and column of an effective value
    Locate(locate::Arguments),
    /// Show who applies whom, from which source, after what
    Graph(graph::Arguments),
    /// Draw the fleet on one page
    Map(map::Arguments),
    /// Answer an editor: the language server, over standard input and output
    Lsp(lsp::Arguments),
    /// Answer an agent: the Model Context Protocol, over standard input and output
    Mcp(mcp::Arguments),
    /// List all rules
    Rules(rules::Arguments),
    /// Print what the API server takes for a kind
    #[command(subcommand)]
    Schema(schema::Arguments),
    /// Show, describe or begin the configuration
    #[command(subcommand)]
    Config(config::Arguments),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Print the man page
    #[command(hide = true)]
    Man(completions::Man),
}

#[derive(Subcommand)]
enum Chart {
    /// List the charts that the releases mean, and where each was found
    List(chart_list::Arguments),
    /// Print what a chart renders to, to the byte as `helm template` does
    Template(Box<chart_template::Arguments>),
    /// Fetch the charts that are missing, with your helm
    Pull(chart_pull::Arguments),
    /// Remove the charts of a store that no release means
    Prune(chart_prune::Arguments),
    /// Compare the charts of a store with what its index records
    Verify(chart_verify::Arguments),
}

#[derive(Subcommand)]
enum Gate {
    /// Write the annotation that opens a Gate
    Open(gate::Arguments),
    /// Write the annotation that closes a Gate
    Close(gate::Arguments),
}

#[derive(Subcommand)]
enum Simulate {
    /// What notifications will say, and whom they reach
    Events(simulate_events::Arguments),
    /// When gates, schedules and suspensions let deployments through
    Gates(simulate_gates::Arguments),
    /// Which lifecycle hooks a Cluster calls, and what they block
    Hooks(simulate_hooks::Arguments),
    /// What is suspended, and what follows from it
    Suspend(simulate_suspend::Arguments),
    /// Where labels, annotations and taints end up, and where they stop
    Propagation(simulate_propagation::Arguments),
}

/// Why a command ended without its answer.
pub(crate) enum Failure {
    /// Usage or an ambiguous object: exit 2.
    Usage(String),
    /// The configuration can't be used: exit 2.
    Configuration(crate::config::Error),
    /// Could not work: exit 3.
    Work(String),
}

impl Failure {
    /// The exit code.
    fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Configuration(_) => 2,
            Failure::Work(_) => 3,
        }
    }

    /// What to tell.
    fn words(&self) -> String {
        match self {
            Failure::Usage(message) | Failure::Work(message) => message.clone(),
            Failure::Configuration(crate::config::Error::Mistakes { text, mistakes }) => {
                let mut shown = "the configuration can't be used; nothing was done\n".to_owned();
                for mistake in mistakes {
                    shown.push_str(&report::full::mistake(mistake, text));
                }
                shown
            }
            Failure::Configuration(error) => error.to_string(),
        }
    }
}

/// What a command answers with: exit code 0 or 1.
pub(crate) type Answer = Result<Status, Failure>;

/// Exit codes of commands that did their work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Nothing to complain about: exit 0.
    Clean,
    /// Findings, changes needed, effects: exit 1.
    Findings,
}

/// Parse the arguments of the process, run the command, end with its exit code.
pub fn main() -> ! {
    std::panic::set_hook(Box::new(report_bug));
    output::end(std::panic::catch_unwind(run).unwrap_or(3))
}

/// What the process was given.
fn parse() -> Result<Cli, clap::Error> {
    if let Some(cli) = of_one_command() {
        return Ok(cli);
    }
    // Never taken apart: that would take half as long as making it.
    let mut command = ManuallyDrop::new(command());
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// What the process was given where its first word is a command that hooks and scripts start
/// often. To make the flags of all commands takes a quarter of a run that finds nothing to do.
/// Mistakes and helps are left to who knows all.
fn of_one_command() -> Option<Cli> {
    let word = |index| std::env::args_os().nth(index)?.into_string().ok();
    let new = clap::Command::new;
    let own = match &*word(1)? {
        "lint" => lint::Arguments::augment_args(new("lint")),
        "build" => build::Arguments::augment_args(new("build")),
        "plan" => plan::Arguments::augment_args(new("plan")),
        "chart" if word(2).as_deref() == Some("template") => return of_chart_template(),
        _ => return None,
    };
    let all = Common::augment_args(new("forebay")).subcommand(own);
    let mut all = ManuallyDrop::new(all);
    let mut matches = all.try_get_matches_from_mut(std::env::args_os()).ok()?;
    Cli::from_arg_matches_mut(&mut matches).ok()
}

/// The same of `chart template`, whose flags are of one level here: to hand the common ones down
/// to a command in a command takes as long as to make all of them.
fn of_chart_template() -> Option<Cli> {
    let all = chart_template::Arguments::augment_args(clap::Command::new("forebay"));
    let mut all = ManuallyDrop::new(Common::augment_args(all));
    let given = std::env::args_os().take(1).chain(std::env::args_os().skip(3));
    let mut matches = all.try_get_matches_from_mut(given).ok()?;
    let own = chart_template::Arguments::from_arg_matches_mut(&mut matches).ok()?;
    let common = Common::from_arg_matches_mut(&mut matches).ok()?;
    Some(Cli { common, command: Command::Chart(Chart::Template(Box::new(own))) })
}

/// All commands and flags.
fn command() -> clap::Command {
    Cli::command().mut_subcommand("plan", |plan| plan.defer(plan::with_effects))
}

fn run() -> u8 {
    match complete::answer() {
        Ok(false) => {}
        Ok(true) => return 0,
        Err(error) => {
            let _ = error.print();
            return 2;
        }
    }
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => {
            let words: Vec<String> =
                std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
            let message = wrong_value(&error).or_else(|| tips::tip(&error, &words));
            if let Some(message) = message.map(|message| clean(&message).into_owned()) {
                return complain(&Common::default(), 2, &message);
            }
            let _ = error.print();
            return if error.use_stderr() { 2 } else { 0 };
        }
    };
    let Cli { common, command } = cli;
    progress::start(&common);
    // The server waits for keys, and plans beside it in a thread of its own.
    let works = !matches!(command, Command::Lsp(_));
    // What renders one chart starts those that it needs: others would be a part of its time.
    let started = match command {
        Command::Chart(Chart::Template(_)) => Ok(()),
        _ => common.start_threads(works),
    };
    let answer = started.and_then(|()| run_command(&common, command));
    progress::stop();
    match answer {
        Ok(Status::Clean) => 0,
        Ok(Status::Findings) => 1,
        Err(failure) => complain(&common, failure.code(), &failure.words()),
    }
}

/// Run a command.
fn run_command(common: &Common, command: Command) -> Answer {
    match command {
        Command::Lint(arguments) => lint::run(common, &arguments),
        Command::Build(arguments) => build::run(common, &arguments),
        Command::Chart(Chart::List(arguments)) => chart_list::run(common, &arguments),
        Command::Chart(Chart::Template(arguments)) => chart_template::run(common, &arguments),
        Command::Chart(Chart::Pull(arguments)) => chart_pull::run(common, &arguments),
        Command::Chart(Chart::Prune(arguments)) => chart_prune::run(common, &arguments),
        Command::Chart(Chart::Verify(arguments)) => chart_verify::run(common, &arguments),
        Command::Simulate(Simulate::Events(arguments)) => simulate_events::run(common, &arguments),
        Command::Simulate(Simulate::Gates(arguments)) => simulate_gates::run(common, &arguments),
        Command::Simulate(Simulate::Hooks(arguments)) => simulate_hooks::run(common, &arguments),
        Command::Simulate(Simulate::Suspend(arguments)) => simulate_suspend::run(common, &arguments),
        Command::Simulate(Simulate::Propagation(arguments)) => simulate_propagation::run(common, &arguments),
        Command::Suspend(arguments) => suspend::suspend(common, &arguments),
        Command::Resume(arguments) => suspend::resume(common, &arguments),
        Command::Move(arguments) => relocate::run(common, &arguments),
        Command::Rename(arguments) => rename::run(common, &arguments),
        Command::Plan(arguments) => plan::run(common, &arguments),
        Command::Migrate(arguments) => migrate::run(common, &arguments),
        Command::Graph(arguments) => graph::run(common, &arguments),
        Command::Why(arguments) => why::run(common, &arguments),
        Command::Locate(arguments) => locate::run(common, &arguments),
        Command::Gate(Gate::Open(arguments)) => gate::run(common, &arguments, Position::Opened),
        Command::Gate(Gate::Close(arguments)) => gate::run(common, &arguments, Position::Closed),
        Command::Explain(arguments) => explain::run(common, &arguments),
        Command::ExplainValues(arguments) => explain_values::run(common, &arguments),
        Command::Config(arguments) => config::run(common, &arguments),
        Command::Completions(arguments) => completions::completions(common, &arguments),
        Command::Man(arguments) => completions::man(common, &arguments),
        Command::Map(arguments) => map::run(common, &arguments),
        Command::Lsp(arguments) => lsp::run(common, &arguments),
        Command::Mcp(arguments) => mcp::run(common, &arguments),
        Command::Rules(arguments) => rules::run(common, &arguments),
        Command::Schema(arguments) => schema::run(common, &arguments),
    }
}

/// A word that a closed option does not take: what was meant, and all that it takes.
fn wrong_value(error: &clap::Error) -> Option<String> {
    let text = |kind| match error.get(kind)? {
        ContextValue::String(text) => Some(text.as_str()),
        _ => None,
    };
    let Some(ContextValue::Strings(words)) = error.get(ContextKind::ValidValue) else { return None };
    let word = text(ContextKind::InvalidValue)?;
    let argument = text(ContextKind::InvalidArg)?;
    // `--show <LEVEL>` without what stands for the value.
    let option = argument.split_once(" <").map_or(argument, |(option, _)| option);
    let list = format!("it takes {}", words.join(", "));
    Some(match suggest(word, words.iter().map(String::as_str)) {
        _ if word.is_empty() => format!("{option} needs a value: {list}"),
        Some(near) => format!("{option} does not take `{}`; did you mean `{near}`? ({list})", clean(word)),
        None => format!("{option} does not take `{}`: {list}", clean(word)),
    })
}

fn complain(common: &Common, code: u8, message: &str) -> u8 {
    use std::io::Write;
    progress::stop();
    let _ = writeln!(output::stderr(common), "forebay: {}", message.trim_end());
    code
}

/// A panic is our own bug, whatever the input was.
fn report_bug(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic.location().map(ToString::to_string).unwrap_or_default();
    let payload = panic.payload();
    let text = payload.downcast_ref::<&str>().copied();
    let message = text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let message = clean(message);
    complain(
        &Common::default(),
        3,
        &format!(
            "this is a bug in forebay {}, not in your repository: {message} ({place})\n\
             please report it with the command and, if you can, the file: {}/issues",
            env!("CARGO_PKG_VERSION"),
            env!("CARGO_PKG_REPOSITORY"),
        ),
    );
}
