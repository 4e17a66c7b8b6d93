//! `overwritten-by-provider`: metadata that the provider replaces.
//! Source: notification-controller `internal/notifier/alertmanager.go`,
//! `opsgenie.go` and `incidentio.go`.

use super::{alert_entry, event_annotation, title};
use crate::lang::yaml::{EntryRef, pointer_join};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::simulate::notify::EVENT_PREFIX;
use crate::simulate::notify::providers::overwritten_keys;
use crate::simulate::notify::simulate::SimulatedObject;

pub(crate) static RULE: Rule = Rule {
    id: "overwritten-by-provider",
    group: Group::Event,
    level: Level::Info,
    default: true,
    since: "0.1.0",
    summary: "event metadata that the provider replaces",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/overwritten-by-provider.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let Some(alert_index) = view.alert_index() else { return };
    for (item, alert) in alert_index.alerts() {
        let Some(provider) = alert_index.provider_type(alert) else { continue };
        for key in overwritten_keys(provider) {
            if let Some(entry) = alert_entry(item.node, key) {
                report_key(item, &entry, provider, key, &pointer_join("/spec/eventMetadata", key), report);
                continue;
            }
            for object in alert_index.selected(alert) {
                if let Some(entry) = event_annotation(object.node, key) {
                    let pointer = pointer_join("/metadata/annotations", &format!("{EVENT_PREFIX}{key}"));
                    report_key(object, &entry, provider, key, &pointer, report);
                }
            }
        }
    }
}

fn report_key(
    item: &SimulatedObject<'_>,
    entry: &EntryRef<'_>,
    provider: &str,
    key: &str,
    pointer: &str,
    report: &mut Reporter<'_>,
) {
    let Some(location) = entry.key_location() else { return };
    report
        .report(location, title(item.id, &format!("providers of type {provider} replace `{key}`")))
        .why(format!("a provider of type {provider} sets `{key}` from the event itself"))
        .help("use another key")
        .object(item.id)
        .field(pointer, key);
}
