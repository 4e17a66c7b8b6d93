//! `forebay rules`.

use super::common::Common;
use super::output;
use super::{Answer, Status};
use crate::lint::engine::NotChecked;
use crate::lint::rules::RULES;
use crate::lint::{Group, Rule};
use crate::report;
use serde_json::{Value, json};
use std::io::{self, Write};

output::formats!(Text = "text": "for people", Markdown = "markdown": "for a comment or a job summary", Json = "json": "for programs: stable, with a schema");

/// Flags of `rules`.
#[derive(clap::Args)]
#[command(after_help = output::help::<Format>(), arg = output::argument::<Format>())]
pub(crate) struct Arguments {}

/// Run the command.
pub(crate) fn run(common: &Common, _: &Arguments) -> Answer {
    output::emit(common, |format, out, _| match format {
        Format::Json => report::json::write(out, &as_json()),
        Format::Markdown => markdown(out),
        Format::Text => text(out),
    })?;
    Ok(Status::Clean)
}

/// The groups that have rules, with their rules.
fn groups() -> impl Iterator<Item = (Group, Vec<&'static Rule>)> {
    Group::ALL.into_iter().filter_map(|group| {
        let rules: Vec<_> = RULES.iter().copied().filter(|rule| rule.group == group).collect();
        (!rules.is_empty()).then_some((group, rules))
    })
}

fn default_level(rule: &Rule) -> &'static str {
    if rule.default { rule.level.name() } else { "off" }
}

fn text(out: &mut dyn Write) -> io::Result<()> {
    let width = RULES.iter().map(|rule| rule.id.len()).max().unwrap_or(0);
    for (index, (group, rules)) in groups().enumerate() {
        let gap = if index > 0 { "\n" } else { "" };
        writeln!(out, "{gap}{}", group.name())?;
        for rule in rules {
            writeln!(out, "  {:<width$}  {:<7}  {}", rule.id, default_level(rule), rule.summary)?;
        }
    }
    Ok(())
}

/// The table of `docs/rules/README.md`.
fn markdown(out: &mut dyn Write) -> io::Result<()> {
    for (index, (group, rules)) in groups().enumerate() {
        let gap = if index > 0 { "\n" } else { "" };
        writeln!(
            out,
            "{gap}## {}\n\n| Rule | Level | Fix | What it reports |\n|---|---|---|---|",
            group.name()
        )?;
        for rule in rules {
            let (id, level, fix) = (rule.id, default_level(rule), rule.fix.name());
            writeln!(out, "| [`{id}`]({id}.md) | {level} | {fix} | {} |", rule.summary)?;
        }
    }
    Ok(())
}

fn as_json() -> Value {
    let rule = |rule: &&'static Rule| {
        json!({
            "id": rule.id,
            "group": rule.group.name(),
            "level": rule.level.name(),
            "default": rule.default,
            "scope": rule.check.scope(),
            "fix": rule.fix.name(),
            "summary": rule.summary,
        })
    };
    let mut answer = report::json::header("rules", None, None, &NotChecked::default());
    answer.insert("rules".to_owned(), RULES.iter().map(rule).collect());
    Value::Object(answer)
}
