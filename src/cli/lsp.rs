//! `forebay lsp`.

use super::common::Common;
use super::root::root_and_focus;
use super::session::load_config;
use super::{Answer, Failure, Status, lint};
use crate::config;
use crate::lsp::{self, Host};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use lsp_server::Connection;
use std::path::Path;

/// Flags of `lsp`.
#[derive(clap::Args)]
#[command(
    after_help = "An editor starts this and speaks the Language Server Protocol with it: docs/editor.md."
)]
pub(crate) struct Arguments {
    /// What some editors add: it is the only way
    #[arg(long, hide = true)]
    stdio: bool,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    let Arguments { stdio: _ } = arguments;
    if common.format.is_some() || !common.output_file.is_empty() {
        return Err(Failure::Usage("lsp speaks its protocol and knows no --format".to_owned()));
    }
    if !common.cluster.is_empty() {
        return Err(Failure::Usage("lsp answers for all clusters: it takes no --cluster".to_owned()));
    }
    let at = common.at(&TimeZone::UTC)?;
    let words = |failure: Failure| match failure {
        Failure::Usage(text) | Failure::Work(text) => text,
        Failure::Configuration(error) => error.to_string(),
    };
    let root = |folder: &Path| {
        let folders = if common.root.is_some() { Vec::new() } else { vec![folder.to_owned()] };
        let (root, _) = root_and_focus(common.root.as_deref(), &folders).map_err(words)?;
        common.works_on(&root);
        Ok(root)
    };
    let config = |root: &Path| {
        load_config(common, root).map_err(|failure| match failure {
            Failure::Configuration(error) => error,
            other => config::Error::Unreadable {
                name: config::FILE_NAME.to_owned(),
                error: std::io::Error::other(words(other)),
            },
        })
    };
    let time = |config: &config::Config| {
        at.or_else(|| lint::configures_time_dependent_rule(config).then(Timestamp::now))
    };
    let now = || at.unwrap_or_else(Timestamp::now);
    let host = Host {
        root: &root,
        config: &config,
        at: &time,
        now: &now,
        show: common.show(),
        base: super::revisions::base_of,
    };
    // A session has no end that a sign of life could wait for.
    super::progress::stop();
    let (connection, threads) = Connection::stdio();
    let served = lsp::serve(&connection, &host);
    drop(connection);
    match served {
        Ok(()) => {
            let ended = threads.join();
            ended.map_err(|error| Failure::Work(format!("standard input: {error}")))?;
            Ok(Status::Clean)
        }
        Err(failure) => Err(Failure::Work(failure.to_string())),
    }
}
