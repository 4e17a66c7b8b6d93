//! `event-metadata-redirects-commit-status`: a `commit` in event metadata, which
//! decides the commit that statuses are set on.
//! Source: fluxcd/pkg `apis/event/v1beta1/event.go`, `GetRevision`;
//! notification-controller `internal/notifier/util.go`, `parseRevision`.

use super::{event_annotation, relate, title};
use crate::lang::yaml::{EntryRef, pointer_join};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::kinds::is_kustomization;
use crate::model::text::Text;
use crate::simulate::notify::EVENT_PREFIX;
use crate::simulate::notify::providers::{commit_hash, sets_commit_status};
use crate::simulate::notify::simulate::SimulatedObject;

pub(crate) static RULE: Rule = Rule {
    id: "event-metadata-redirects-commit-status",
    group: Group::Event,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "event metadata that decides which commit gets the status",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/event-metadata-redirects-commit-status.md"),
    check: Check::Cluster(check),
};

const KEY: &str = "commit";

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let Some(alert_index) = view.alert_index() else { return };
    for (item, alert) in alert_index.alerts() {
        if !alert_index.provider_type(alert).is_some_and(sets_commit_status) {
            continue;
        }
        let own = item.node.at("/spec/eventMetadata").and_then(|metadata| metadata.entry(KEY));
        if let Some(entry) = own {
            check_entry(item, None, &entry, "/spec/eventMetadata/commit", report);
            continue;
        }
        for object in alert_index.selected(alert) {
            if let Some(entry) = event_annotation(object.node, KEY) {
                let pointer = pointer_join("/metadata/annotations", &format!("{EVENT_PREFIX}{KEY}"));
                check_entry(object, Some(item), &entry, &pointer, report);
            }
        }
    }
}

/// `alert` is set where the entry is an annotation of an object.
fn check_entry(
    item: &SimulatedObject<'_>,
    alert: Option<&SimulatedObject<'_>>,
    entry: &EntryRef<'_>,
    pointer: &str,
    report: &mut Reporter<'_>,
) {
    let Some(location) = entry.key_location() else { return };
    let text = Text::of(entry.value);
    let without_hash = text.known().is_some_and(|value| commit_hash(value).is_none());
    let (level, rest, why) = if without_hash {
        (
            Level::Error,
            "`commit` is no revision, and no status is set",
            "a `commit` takes the place of the event's own revision even when it is empty, and one \
             without a hash of 40 or 64 characters fails the notification",
        )
    } else if alert.is_none() || is_kustomization(item.id) {
        (
            Level::Warning,
            "`commit` redirects its commit statuses",
            "a `commit` takes the place of the event's own revision: every status is set on that \
             commit, whatever was applied",
        )
    } else {
        // Other kinds have no commit of their own: naming one is the only way.
        return;
    };
    let finding = report
        .report(location, title(item.id, rest))
        .level(level)
        .why(why)
        .help("remove it; kustomize-controller names the commit that it applied")
        .object(item.id)
        .field(pointer, text.display());
    if let Some(alert) = alert {
        relate(finding, [(alert.id, alert.node.location_at("/spec/providerRef"))].into_iter());
    }
}
