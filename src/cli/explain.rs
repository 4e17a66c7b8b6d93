//! `forebay explain`.

use super::common::Common;
use super::output::{self, Formats};
use super::{Answer, Failure, Status};
use crate::lint::rules::{self, RULES};
use crate::report;
use crate::text::{clean, suggest};

output::formats!(Text = "text", Markdown = "markdown");

/// Flags of `explain`.
#[derive(clap::Args)]
#[command(after_help = Format::HELP)]
pub(crate) struct Arguments {
    /// The rule's id
    rule: String,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    let Some(rule) = rules::find(&arguments.rule) else {
        let help = match suggest(&arguments.rule, RULES.iter().map(|rule| rule.id)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`forebay rules` lists all".to_owned(),
        };
        return Err(Failure::Usage(format!("no rule `{}`; {help}", clean(&arguments.rule))));
    };
    output::emit(common, |format, out, terminal| match format {
        Format::Markdown => report::docs::markdown(out, rule),
        Format::Text => report::docs::text(out, rule, terminal),
    })?;
    Ok(Status::Clean)
}
