//! `unknown-suppression`: a suppression that names no rule.
//! Source: our own grammar, `# forebay: ignore[rule-id] reason`.

use crate::lang::text::suggest;
use crate::lint::rules::RULES;
use crate::lint::{Check, FixAvailability, Group, Level, Reporter, Rule, RunView};

pub(crate) static RULE: Rule = Rule {
    id: "unknown-suppression",
    group: Group::Forebay,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a suppression that names no rule",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/forebay/unknown-suppression.md"),
    check: Check::Run(check),
};

fn check(view: &RunView<'_>, report: &mut Reporter<'_>) {
    let ids = || RULES.iter().map(|rule| rule.id);
    for suppression in view.suppressions.all() {
        let name = &suppression.rule;
        if ids().any(|id| id == name) {
            continue;
        }
        let help = match suggest(name, ids()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if Group::ALL.iter().any(|group| group.name() == name) => {
                format!("name the rules of group {name} that are meant, one by one")
            }
            None => "`forebay rules` lists all".to_owned(),
        };
        report
            .report(suppression.location.clone(), format!("no rule is called `{name}`"))
            .why("this suppression silences nothing")
            .help(help)
            .field("", name.clone());
    }
    for (location, text) in view.suppressions.malformed() {
        report
            .report(location.clone(), "comment to forebay that it does not understand")
            .why("it silences nothing")
            .help("write `# forebay: ignore[rule-id] reason` or `ignore-file[rule-id]`")
            .field("", text.clone());
    }
}
