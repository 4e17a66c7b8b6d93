//! `change-request-not-a-number`: metadata that is to name a pull or merge
//! request, and does not.
//! Source: notification-controller
//! `internal/server/provider_change_request.go`, and the notifiers of pull and
//! merge request comments.

use super::{event_annotation, title};
use crate::lang::yaml::{NodeRef, pointer_join};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::text::Text;
use crate::simulate::notify::EVENT_PREFIX;
use crate::simulate::notify::providers::{change_request_number, comments_on_change_request};
use crate::simulate::notify::simulate::SimulatedObject;

pub(crate) static RULE: Rule = Rule {
    id: "change-request-not-a-number",
    group: Group::Event,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "a change request that is not a number",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/change-request-not-a-number.md"),
    check: Check::Cluster(check),
};

const KEY: &str = "change_request";

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let Some(alert_index) = view.alert_index() else { return };
    let mut seen: Vec<&SimulatedObject<'_>> = Vec::new();
    for (item, alert) in alert_index.alerts() {
        if !alert_index.provider_type(alert).is_some_and(comments_on_change_request) {
            continue;
        }
        let own = item.node.at("/spec/eventMetadata").and_then(|metadata| metadata.entry(KEY));
        if let Some(entry) = own {
            // It replaces the number of every object.
            check_value(item, entry.value, "/spec/eventMetadata/change_request", report);
            continue;
        }
        for object in alert_index.selected(alert) {
            let Some(entry) = event_annotation(object.node, KEY) else { continue };
            if !seen.iter().any(|other| std::ptr::eq(other.id, object.id)) {
                seen.push(object);
                let pointer = pointer_join("/metadata/annotations", &format!("{EVENT_PREFIX}{KEY}"));
                check_value(object, entry.value, &pointer, report);
            }
        }
    }
}

fn check_value(item: &SimulatedObject<'_>, node: NodeRef<'_>, pointer: &str, report: &mut Reporter<'_>) {
    let text = Text::of(node);
    let (Some(value), Some(location)) = (text.known(), node.location()) else { return };
    let why = match change_request_number(value) {
        Some(number) if number > 0 => return,
        Some(_) => "no change request has that number, so the comment is lost",
        None if value.is_empty() => "an empty value counts as none: the provider drops the event",
        None => "the provider reads a decimal number; anything else fails, and the comment is lost",
    };
    report
        .report(location, title(item.id, "change_request is no number of a change request"))
        .why(why)
        .help("write the number alone, such as \"42\"")
        .object(item.id)
        .field(pointer, value);
}
