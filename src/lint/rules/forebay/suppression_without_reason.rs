//! `suppression-without-reason`: where the configuration asks for reasons.
//! Source: our own `requireReason`.

use crate::lint::{Check, FixAvailability, Group, Level, Reporter, Rule, RunView};

pub(crate) static RULE: Rule = Rule {
    id: "suppression-without-reason",
    group: Group::Forebay,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a suppression that does not say why, where the configuration asks for it",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/forebay/suppression-without-reason.md"),
    check: Check::Run(check),
};

fn check(view: &RunView<'_>, report: &mut Reporter<'_>) {
    if !view.context.config.require_reason.as_ref().is_some_and(|asks| asks.value) {
        return;
    }
    for suppression in view.suppressions.all().filter(|suppression| suppression.reason.is_empty()) {
        let title = format!("suppression of `{}` gives no reason", suppression.rule);
        report
            .report(suppression.location.clone(), title)
            .why("the configuration says `requireReason: true`")
            .help("say after the rule why its finding is fine here")
            .field("", suppression.rule.clone());
    }
}
