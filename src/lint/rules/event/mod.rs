//! Event metadata and the alerts that carry it.

pub(crate) mod alert_matches_nothing;
pub(crate) mod alert_source_glob;
pub(crate) mod alert_source_without_events;
pub(crate) mod change_request_not_a_number;
pub(crate) mod commit_status_provider_drops_events;
pub(crate) mod deprecated_alert_summary;
pub(crate) mod event_metadata_conflict;
pub(crate) mod event_metadata_dropped;
pub(crate) mod event_metadata_redirects_commit_status;
pub(crate) mod malformed_alert_pattern;
pub(crate) mod missing_alert_provider;
pub(crate) mod overwritten_by_provider;
pub(crate) mod secret_in_event_metadata;
pub(crate) mod unknown_provider_type;
pub(crate) mod unsupported_alert_source_kind;

use crate::lang::yaml::{EntryRef, Location, NodeRef};
use crate::lint::Finding;
use crate::lint::alert_index::{AlertIndex, event_annotations, is_glob, is_static, subject_of};
use crate::lint::title;
use crate::model::ObjectId;
use crate::model::kinds::NOTIFICATION;
use crate::model::text::Text;

/// Whether an object is an Alert of any API version.
fn is_alert(id: &ObjectId) -> bool {
    id.is(NOTIFICATION, "Alert")
}

/// Related places that a finding names; more are counted by its reason.
const MAX_RELATED: usize = 5;

/// One annotation of an object in the event group.
fn event_annotation<'a>(node: NodeRef<'a>, key: &str) -> Option<EntryRef<'a>> {
    event_annotations(node).find(|(found, _)| found == key).map(|(_, entry)| entry)
}

/// The entry that makes an Alert set a key: `spec.summary` before
/// `spec.eventMetadata`, as it wins.
fn alert_entry<'a>(node: NodeRef<'a>, key: &str) -> Option<EntryRef<'a>> {
    let summary = match key {
        "summary" => node.at("/spec").and_then(|spec| spec.entry("summary")),
        _ => None,
    };
    let is_set = |entry: &EntryRef<'_>| !entry.value.is_null() && Text::of(entry.value).known() != Some("");
    summary.filter(is_set).or_else(|| node.at("/spec/eventMetadata")?.entry(key))
}

/// Names the first objects of a list at their places; the reason of the finding
/// says how many there are.
fn relate<'i>(finding: &mut Finding, places: impl Iterator<Item = (&'i ObjectId, Option<Location>)>) {
    for (id, location) in places.take(MAX_RELATED) {
        if let Some(location) = location {
            finding.related(id.to_string(), location);
        }
    }
}

/// `Kind namespace/name`, or `N objects, Kind namespace/name first`.
fn listed(ids: &[&ObjectId]) -> String {
    match ids {
        [] => "no object".to_owned(),
        [only] => only.to_string(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}
