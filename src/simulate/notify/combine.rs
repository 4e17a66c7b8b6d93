//! The combination of the four sources of a notification's metadata, with
//! their precedence and their conflicts.

use std::collections::BTreeMap;

use super::{EVENT_PREFIX, InvolvedObject, Metadata};

/// The start of the line that notification-controller logs for a conflict.
pub const LOG_PREFIX: &str = "warning: ";

/// The message of a conflict, in the log and in the Kubernetes Event.
pub const CONFLICT_MESSAGE: &str = "metadata key conflicts detected (please refer to the Alert API docs and Flux RFC 0008 for more information)";

/// The line logged with each event that an Alert with `.spec.summary` matches.
pub const SUMMARY_DEPRECATION_LOG: &str = "warning: specifying an alert summary with '.spec.summary' is deprecated, use '.spec.eventMetadata.summary' instead";

/// The reason of the Kubernetes Event for a conflict. Despite its name the
/// metadata is appended all the same.
pub const CONFLICT_REASON: &str = "MetadataAppendFailed";

/// Where a metadata key came from, in the order of precedence, lowest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetadataSource {
    /// Annotations of the involved object in the event group.
    ObjectAnnotations,
    /// The Alert's `.spec.eventMetadata`.
    AlertEventMetadata,
    /// The Alert's deprecated `.spec.summary`.
    AlertSummary,
    /// What the involved object's controller added.
    ControllerMetadata,
}

impl MetadataSource {
    /// The words that notification-controller uses for the source.
    pub fn label(self) -> &'static str {
        match self {
            MetadataSource::ObjectAnnotations => "involved object annotations",
            MetadataSource::AlertEventMetadata => "Alert object .spec.eventMetadata",
            MetadataSource::AlertSummary => "Alert object .spec.summary",
            MetadataSource::ControllerMetadata => "involved object controller metadata",
        }
    }
}

/// The combined metadata of one event for one alert. Each key has its sources
/// in the order of precedence: the last one wins, the others are overridden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Combined<V> {
    /// Sources and values by key, never empty for a key.
    pub entries: BTreeMap<String, Vec<(MetadataSource, V)>>,
}

impl<V: Clone> Combined<V> {
    /// What the provider gets.
    pub fn metadata(&self) -> Metadata<V> {
        self.entries.iter().filter_map(|(key, all)| Some((key.clone(), all.last()?.1.clone()))).collect()
    }

    /// The keys that more than one source sets. Values are not compared: equal
    /// ones conflict too.
    pub fn conflicts(&self) -> Vec<Conflict> {
        self.entries
            .iter()
            .filter(|(_, all)| all.len() > 1)
            .map(|(key, all)| Conflict {
                key: key.clone(),
                sources: all.iter().map(|(source, _)| *source).collect(),
            })
            .collect()
    }
}

/// One key that several sources set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The key, without a prefix.
    pub key: String,
    /// All its sources, in the order of precedence.
    pub sources: Vec<MetadataSource>,
}

/// What notification-controller reports for conflicts: a log line, and an
/// Event on the Alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConflictReport {
    /// The message of the log line, whose field `conflictingKeys` has keys and
    /// sources.
    pub log: String,
    /// The annotations of the Kubernetes Event: key to sources.
    pub annotations: BTreeMap<String, String>,
    /// The Event's message; `None` where there is no Event.
    pub message: Option<String>,
}

/// What notification-controller says about `conflicts`, if there are any.
pub fn report(conflicts: &[Conflict]) -> Option<ConflictReport> {
    if conflicts.is_empty() {
        return None;
    }
    let annotations = conflicts
        .iter()
        .map(|conflict| {
            let labels: Vec<&str> = conflict.sources.iter().map(|s| s.label()).collect();
            (conflict.key.clone(), labels.join(", "))
        })
        .collect();
    let message = Some(CONFLICT_MESSAGE.to_owned());
    Some(ConflictReport { log: format!("{LOG_PREFIX}{CONFLICT_MESSAGE}"), annotations, message })
}

/// The line that notification-controller before 1.5 logs for a key of
/// `spec.eventMetadata` that the event has already.
pub(crate) const OLDER_CONFLICT_LOG: &str = "metadata key found in the existing set of metadata";

/// What notification-controller before 1.5 (Flux 2.5) makes of an event's
/// metadata and an Alert's: only the object's own group is kept, its keys beat
/// `spec.eventMetadata`, and `spec.summary` beats all.
///
/// Mirrors notification-controller 1.0 `internal/server/event_handlers.go`,
/// `cleanupMetadata` and `enhanceEventWithAlertMetadata`.
pub(crate) fn combine_before_flux_2_5<V: Clone>(
    group: &str,
    event_metadata: &Metadata<V>,
    alert_metadata: &Metadata<V>,
    summary: Option<&V>,
) -> Combined<V> {
    let own_prefix = format!("{group}/");
    let alert =
        alert_metadata.iter().map(|(key, value)| (MetadataSource::AlertEventMetadata, key.clone(), value));
    let own = event_metadata.iter().filter_map(|(key, value)| {
        Some((MetadataSource::ControllerMetadata, key.strip_prefix(&own_prefix)?.to_owned(), value))
    });
    let summary = summary.map(|value| (MetadataSource::AlertSummary, "summary".to_owned(), value));
    let mut entries: BTreeMap<String, Vec<(MetadataSource, V)>> = BTreeMap::new();
    for (source, key, value) in alert.chain(own).chain(summary) {
        entries.entry(key).or_default().push((source, value.clone()));
    }
    Combined { entries }
}

/// What notification-controller before 1.5 says about conflicts: only of keys
/// that `spec.eventMetadata` failed to add. From 1.2 on each of them is an Event as well.
///
/// Mirrors notification-controller 1.0 to 1.4 `internal/server/event_handlers.go`,
/// `enhanceEventWithAlertMetadata`.
pub(crate) fn older_report(
    conflicts: &[Conflict],
    object: &InvolvedObject,
    has_events: bool,
) -> Option<ConflictReport> {
    let is_told = |conflict: &&Conflict| {
        conflict
            .sources
            .starts_with(&[MetadataSource::AlertEventMetadata, MetadataSource::ControllerMetadata])
    };
    let InvolvedObject { kind, namespace, name, .. } = object;
    let each = |conflict: &Conflict| {
        format!("{OLDER_CONFLICT_LOG} for '{}' in {kind}/{namespace}/{name}", conflict.key)
    };
    let told: Vec<String> = conflicts.iter().filter(is_told).map(each).collect();
    (!told.is_empty()).then(|| ConflictReport {
        log: OLDER_CONFLICT_LOG.to_owned(),
        annotations: BTreeMap::new(),
        message: has_events.then(|| told.join("; ")),
    })
}

/// Combines an event's metadata (cleaned up and without internal keys) with an
/// Alert's. `summary` is `None` where the field is absent or empty; an empty
/// value of any other source counts and can override.
///
/// Mirrors notification-controller `internal/server/event_handlers.go`,
/// `combineEventMetadata`.
pub fn combine<V: Clone>(
    group: &str,
    event_metadata: &Metadata<V>,
    alert_metadata: &Metadata<V>,
    summary: Option<&V>,
) -> Combined<V> {
    let own_prefix = format!("{group}/");
    let stripped = |prefix: &str| -> Vec<(String, V)> {
        event_metadata
            .iter()
            .filter_map(|(key, value)| Some((key.strip_prefix(prefix)?.to_owned(), value.clone())))
            .collect()
    };
    let mut entries: BTreeMap<String, Vec<(MetadataSource, V)>> = BTreeMap::new();
    let mut write = |source: MetadataSource, key: String, value: V| {
        entries.entry(key).or_default().push((source, value));
    };
    for (key, value) in stripped(EVENT_PREFIX) {
        write(MetadataSource::ObjectAnnotations, key, value);
    }
    for (key, value) in alert_metadata {
        write(MetadataSource::AlertEventMetadata, key.clone(), value.clone());
    }
    if let Some(summary) = summary {
        write(MetadataSource::AlertSummary, "summary".to_owned(), summary.clone());
    }
    for (key, value) in stripped(&own_prefix) {
        write(MetadataSource::ControllerMetadata, key, value);
    }
    Combined { entries }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_source_wins_and_all_are_reported() {
        let event = Metadata::from([
            ("event.toolkit.fluxcd.io/summary".to_owned(), "object"),
            ("event.toolkit.fluxcd.io/revision".to_owned(), "same"),
            ("helm.toolkit.fluxcd.io/revision".to_owned(), "same"),
        ]);
        let alert = Metadata::from([("summary".to_owned(), "alert"), ("env".to_owned(), "")]);
        let combined = combine("helm.toolkit.fluxcd.io", &event, &alert, Some(&"field"));
        assert_eq!(
            combined.metadata(),
            Metadata::from([
                ("env".to_owned(), ""),
                ("revision".to_owned(), "same"),
                ("summary".to_owned(), "field"),
            ])
        );
        let report = report(&combined.conflicts()).expect("two keys conflict");
        assert_eq!(
            report.annotations,
            BTreeMap::from([
                (
                    "revision".to_owned(),
                    "involved object annotations, involved object controller metadata".to_owned()
                ),
                (
                    "summary".to_owned(),
                    "involved object annotations, Alert object .spec.eventMetadata, Alert object .spec.summary".to_owned()
                ),
            ])
        );
    }

    #[test]
    fn before_flux_2_5_existing_keys_and_the_summary_win() {
        let event = Metadata::from([
            ("event.toolkit.fluxcd.io/env".to_owned(), "object"),
            ("helm.toolkit.fluxcd.io/revision".to_owned(), "1.0.0"),
            ("helm.toolkit.fluxcd.io/summary".to_owned(), "controller"),
        ]);
        let alert = Metadata::from([("revision".to_owned(), "mine"), ("region".to_owned(), "eu")]);
        let older = combine_before_flux_2_5("helm.toolkit.fluxcd.io", &event, &alert, Some(&"field"));
        assert_eq!(
            older.metadata(),
            Metadata::from([
                ("region".to_owned(), "eu"),
                ("revision".to_owned(), "1.0.0"),
                ("summary".to_owned(), "field"),
            ])
        );
        let object = InvolvedObject {
            api_version: "helm.toolkit.fluxcd.io/v2".into(),
            kind: "HelmRelease".into(),
            namespace: "apps".into(),
            name: "web".into(),
        };
        let report = older_report(&older.conflicts(), &object, false).expect("a key is not added");
        assert_eq!((&*report.log, report.message), (OLDER_CONFLICT_LOG, None));
        let report = older_report(&older.conflicts(), &object, true).expect("a key is not added");
        let message =
            "metadata key found in the existing set of metadata for 'revision' in HelmRelease/apps/web";
        assert_eq!(report.message.as_deref(), Some(message), "notification-controller 1.2 to 1.4");
        let newer = combine("helm.toolkit.fluxcd.io", &event, &alert, Some(&"field"));
        assert_eq!(newer.metadata()["env"], "object");
        assert_eq!(newer.metadata()["summary"], "controller");
        let quiet = combine_before_flux_2_5("g.io", &event, &alert, Some(&"field"));
        assert_eq!(older_report(&quiet.conflicts(), &object, true), None, "the summary overrides silently");
    }

    #[test]
    fn no_conflict_no_report() {
        assert_eq!(report(&combine::<&str>("g", &Metadata::new(), &Metadata::new(), None).conflicts()), None);
    }
}
