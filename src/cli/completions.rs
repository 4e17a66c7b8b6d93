//! `forebay completions` and `forebay man`.

use super::common::Common;
use super::{Answer, Failure, Status, complete, output};
use crate::rewrite::write;
use std::io;
use std::path::{Path, PathBuf};

/// Flags of `completions`.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell to print completions for
    #[arg(value_parser = complete::shells())]
    shell: String,
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
    complete::script(&arguments.shell, &mut script).map_err(|error| Failure::Work(error.to_string()))?;
    output::emit(common, |_: output::TextOnly, out, _| out.write_all(&script))?;
    Ok(Status::Clean)
}

/// Print the man page, or write all.
pub(crate) fn man(common: &Common, arguments: &Man) -> Answer {
    match &arguments.output_dir {
        Some(directory) => {
            let root = common.boundary(directory)?;
            let mut command = super::command();
            command.build();
            let written = std::fs::create_dir_all(directory).and_then(|()| pages(&root, &command, directory));
            written.map_err(|error| Failure::Work(format!("{}: {error}", directory.display())))?;
        }
        None => output::emit(common, |_: output::TextOnly, mut out, _| {
            clap_mangen::Man::new(super::command()).render(&mut out)
        })?,
    }
    Ok(Status::Clean)
}

/// Write the page of a command and those of its commands.
fn pages(root: &Path, command: &clap::Command, directory: &Path) -> io::Result<()> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        pages(root, inner, directory)?;
    }
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text)?;
    write::file(root, &directory.join(page.get_filename()), &text)
}
