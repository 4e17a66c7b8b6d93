//! `forebay explain` of a rule; that of a field is in `schema`.

use super::common::Common;
use super::output;
use super::{Answer, Failure, Status};
use crate::lang::text::{clean, suggest};
use crate::lint::rules::{self, RULES};
use crate::report;

output::formats!(Text = "text": "for people", Markdown = "markdown": "for a comment or a job summary");
// What the command line takes; the answer of the one or the other refuses the rest.
output::formats!(
    Both: Text = "text": "for people",
    Json = "json": "of a field, for programs: stable, with a schema",
    Markdown = "markdown": "of a rule, for a comment or a job summary"
);

/// Flags of `explain`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Both>(), arg = output::argument::<Both>())]
pub(crate) struct Arguments {
    /// The rule's id, or a field of a kind: `ks.spec.postBuild.substituteFrom`
    rule: String,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    // No id of a rule has a dot or begins with a capital letter.
    let is_known = rules::find(&arguments.rule).is_some();
    if !is_known && (arguments.rule.contains('.') || super::schema::is_kind(&arguments.rule)) {
        if matches!(output::chosen::<Both>(common)?.0, Both::Markdown) {
            let message =
                "a field is explained as text or json (agents: explain_field), a rule as markdown too";
            return Err(Failure::Usage(message.to_owned()));
        }
        return super::schema::explain(common, &arguments.rule);
    }
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
