//! `forebay mcp`.

use super::common::Common;
use super::root::root_and_focus;
use super::{Answer, Cli, Failure, Status, command, output, run_command};
use crate::mcp::{self, Tool};
use crate::report::lines::{Lines, Shape};
use clap::FromArgMatches;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Flags of `mcp`.
#[derive(clap::Args)]
#[command(
    after_help = "An agent or its editor starts this and speaks the Model Context Protocol with it: docs/mcp.md."
)]
pub(crate) struct Arguments {}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    let Arguments {} = arguments;
    if common.format.is_some() || !common.output_file.is_empty() {
        return Err(Failure::Usage("mcp speaks its protocol and knows no --format".to_owned()));
    }
    if !common.cluster.is_empty() {
        return Err(Failure::Usage("mcp answers for all clusters: it takes no --cluster".to_owned()));
    }
    let (root, _) = root_and_focus(common.root.as_deref(), &[])?;
    let lost = |error: io::Error| Failure::Work(format!("{}: {error}", root.display()));
    let server = common.with_absolute_paths().map_err(lost)?;
    // Paths of questions are relative to the root.
    std::env::set_current_dir(&root).map_err(lost)?;
    // A session has no end that a sign of life could wait for.
    super::progress::stop();
    let mut answer = |tool: &Tool, words: &[String]| ask(&server.of_question(&root), tool, words);
    let served = mcp::serve(&mut io::stdin().lock(), &mut io::stdout().lock(), &mut answer);
    served.or_else(output::went_away).map_err(|error| Failure::Work(format!("standard output: {error}")))?;
    Ok(Status::Clean)
}

/// The answer of a command, with everything that is hidden hidden.
///
/// # Errors
/// Why there is none, in words.
fn ask(question: &Common, tool: &Tool, words: &[String]) -> Result<String, String> {
    let line = ["forebay"].iter().chain(tool.command).map(|word| (*word).to_owned());
    let format = format!("--format={}", tool.format);
    let line = line.chain([format]).chain(words.iter().cloned());
    let parsed =
        command().try_get_matches_from(line).and_then(|mut found| Cli::from_arg_matches_mut(&mut found));
    let Cli { common: asked, command } = parsed.map_err(|error| error.render().to_string())?;
    let question = question.asks(asked);
    let ran = catch_unwind(AssertUnwindSafe(|| run_command(&question, command)));
    match ran {
        Ok(Ok(_)) => Ok(question.taken()),
        Ok(Err(failure)) => Err(masked(&question, &failure.words())),
        Err(_) => Err("this is a bug in forebay: its standard error says where".to_owned()),
    }
}

/// Words as standard error would have them.
fn masked(question: &Common, words: &str) -> String {
    let mut out = Vec::new();
    let mut lines = Lines::new(&mut out, Shape::Text, question.secrets());
    let written = lines.write_all(words.as_bytes()).and_then(|()| lines.flush());
    drop(lines);
    written.map_or_else(|error| error.to_string(), |()| String::from_utf8_lossy(&out).into_owned())
}
