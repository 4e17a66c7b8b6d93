//! `unused-config-entry`: an entry of the configuration that changes nothing.
//! Source: our own configuration.

use crate::config::{Patterns, RuleLevel};
use crate::lint::rules::{RULES, find};
use crate::lint::{Check, FixAvailability, Group, Level, Reporter, Rule, RunView};
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "unused-config-entry",
    group: Group::Forebay,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "an entry of .forebay.yaml that changes nothing",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/forebay/unused-config-entry.md"),
    check: Check::Run(check),
};

fn check(view: &RunView<'_>, report: &mut Reporter<'_>) {
    let config = view.context.config;
    unmatched(view, &config.exclude, "exclude", report);
    let of_overrides = config.overrides.iter().flat_map(|entry| &entry.paths);
    unmatched(view, &of_overrides.cloned().collect(), "overrides", report);
    for entry in &config.rules {
        repeated(entry, report);
    }
}

fn unmatched(view: &RunView<'_>, patterns: &Patterns, key: &str, report: &mut Reporter<'_>) {
    if patterns.is_empty() {
        return;
    }
    let files = view.context.snapshot.files().iter();
    let used: BTreeSet<usize> = files.flat_map(|file| patterns.covering(&file.path)).collect();
    for (_, pattern) in patterns.iter().enumerate().filter(|(at, _)| !used.contains(at)) {
        report
            .report(pattern.location.clone(), format!("no file matches `{}`", pattern.text))
            .why(format!("this entry of `{key}` applies to nothing"))
            .help("correct the pattern (`**` crosses directories, `*` does not) or remove it")
            .field(format!("/{key}"), pattern.text.clone());
    }
}

/// A level that the rule, or every rule of the group, has anyway.
fn repeated(entry: &RuleLevel, report: &mut Reporter<'_>) {
    let own = |rule: &Rule| if rule.default { rule.level } else { Level::Off };
    let repeats = match find(&entry.name) {
        Some(rule) => own(rule) == entry.level,
        None => {
            let mut group = RULES.iter().filter(|rule| rule.group.name() == entry.name).peekable();
            group.peek().is_some() && group.all(|rule| own(rule) == entry.level)
        }
    };
    if !repeats {
        return;
    }
    let level = entry.level.name();
    report
        .report(entry.location.clone(), format!("`{}` is {level} anyway", entry.name))
        .level(Level::Info)
        .why("the entry repeats the default")
        .help("remove it, unless it is there to stay when the default changes")
        .field("/rules", entry.name.clone());
}
