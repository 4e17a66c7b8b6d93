//! `forebay completions` and `forebay man`.

use super::common::Common;
use super::{Answer, Cli, Failure, Status, output};
use clap::CommandFactory;
use clap_complete::Shell;
use std::path::PathBuf;

/// Flags of `completions`.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell to print completions for
    shell: Shell,
}

/// Flags of `man`.
#[derive(clap::Args)]
pub(crate) struct Man {
    /// Write the pages of all commands to this directory instead of printing the main one
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
}

/// Print completions.
pub(crate) fn completions(common: &Common, arguments: &Completions) -> Answer {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "forebay", &mut script);
    output::emit(common, &["text"], |_, out, _| out.write_all(&script))?;
    Ok(Status::Clean)
}

/// Print the man page, or write all.
pub(crate) fn man(common: &Common, arguments: &Man) -> Answer {
    match &arguments.output_dir {
        Some(directory) => {
            let written = std::fs::create_dir_all(directory)
                .and_then(|()| clap_mangen::generate_to(Cli::command(), directory));
            written.map_err(|error| Failure::Work(format!("{}: {error}", directory.display())))?;
        }
        None => output::emit(common, &["text"], |_, mut out, _| {
            clap_mangen::Man::new(Cli::command()).render(&mut out)
        })?,
    }
    Ok(Status::Clean)
}
