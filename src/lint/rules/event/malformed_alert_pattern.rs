//! `malformed-alert-pattern`: a pattern of an Alert that is no regular
//! expression.
//! Source: notification-controller `internal/server/event_handlers.go`,
//! `messageIsIncluded` and `messageIsExcluded`.

use super::{is_alert, title};
use crate::lang::go::regexp::GoRegexp;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::text::Text;

pub(crate) static RULE: Rule = Rule {
    id: "malformed-alert-pattern",
    group: Group::Event,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a pattern of an Alert that is no regular expression",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/malformed-alert-pattern.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !is_alert(view.id) {
        return;
    }
    for (list, why) in [
        ("inclusionList", "notification-controller skips it: the events that it is to let pass are lost"),
        ("exclusionList", "notification-controller skips it: the events that it is to drop are sent"),
    ] {
        let pointer = format!("/spec/{list}");
        for (index, item) in view.node.items_at(&pointer).enumerate() {
            let text = Text::of(item);
            let Some(pattern) = text.known() else { continue };
            let (Some(error), Some(location)) = (GoRegexp::rejection(pattern), item.location()) else {
                continue;
            };
            let help = match pattern.starts_with(['*', '?', '+']) {
                true => "patterns are searched anywhere in the message; for any text write `.*`",
                false => "write a regular expression of Go (RE2 syntax)",
            };
            report
                .report(location, title(view.id, &format!("{list}[{index}] is no regular expression")))
                .why(format!("{why} ({error})"))
                .help(help)
                .object(view.id)
                .field(format!("{pointer}/{index}"), pattern);
        }
    }
}
