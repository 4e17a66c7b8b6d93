//! `alert-source-glob`: a glob in an Alert's sources, which has none.
//! Source: notification-controller `internal/server/event_handlers.go`,
//! `eventMatchesAlertSource`.

use super::{is_alert, is_glob, title};
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::text::Text;

pub(crate) static RULE: Rule = Rule {
    id: "alert-source-glob",
    group: Group::Event,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a glob in an Alert's sources, which matches nothing",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/alert-source-glob.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !is_alert(view.id) {
        return;
    }
    for (index, source) in view.node.items_at("/spec/eventSources").enumerate() {
        for (field, why, help) in [
            (
                "name",
                "only `*` alone means every name; else the name is compared as it is",
                "name the objects one by one, or use `*` with matchLabels",
            ),
            (
                "namespace",
                "the namespace is compared as it is; an Alert cannot look at all of them",
                "list a source for each namespace",
            ),
        ] {
            let Some(node) = source.get(field) else { continue };
            let text = Text::of(node);
            let Some(value) = text.known() else { continue };
            let Some(location) = node.location().filter(|_| is_glob(field, value)) else { continue };
            report
                .report(location, title(view.id, &format!("eventSources[{index}].{field} is a glob")))
                .why(why)
                .help(help)
                .label("matches nothing")
                .object(view.id)
                .field(format!("/spec/eventSources/{index}/{field}"), value);
        }
    }
}
