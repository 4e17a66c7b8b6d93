//! `event-metadata-conflict`: a key of event metadata that several sources set.
//! Source: notification-controller `internal/server/event_handlers.go`,
//! `combineEventMetadata`; RFC-0008, "Precedence Order".

use super::{
    AlertIndex, MAX_RELATED, alert_entry, event_annotation, event_annotations, listed, relate, title,
};
use crate::lang::yaml::{Known, pointer_join};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::simulate::notify::EVENT_PREFIX;
use crate::simulate::notify::alerts::Alert;
use crate::simulate::notify::controllers::{Emitter, RuntimeKey, emitter_of};
use crate::simulate::notify::occasions::{Digest, has_digest};
use crate::simulate::notify::providers::gets_commit_status_updates;
use crate::simulate::notify::simulate::SimulatedObject;
use std::collections::BTreeSet;

pub(crate) static RULE: Rule = Rule {
    id: "event-metadata-conflict",
    group: Group::Event,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "a key of event metadata that several sources set",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/event-metadata-conflict.md"),
    check: Check::Cluster(check),
};

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let Some(alert_index) = view.alert_index() else { return };
    for (item, alert) in alert_index.alerts() {
        let keys: BTreeSet<&str> = alert
            .event_metadata
            .keys()
            .map(String::as_str)
            .chain(alert.summary.iter().map(|_| "summary"))
            .collect();
        if keys.is_empty() {
            continue;
        }
        let selected = alert_index.selected_at(alert);
        for key in keys {
            check_alert_key(alert_index, item, alert, &selected, key, report);
        }
    }
    // Before Flux 2.5 no annotation is sent.
    if alert_index.notifier.sends_annotations {
        for at in 0..alert_index.emitters.len() {
            check_annotations(alert_index, at, report);
        }
    }
}

/// A key of an alert against the annotations and the controllers of the objects
/// that it selects, and its own summary.
fn check_alert_key(
    alert_index: &AlertIndex<'_>,
    item: &SimulatedObject<'_>,
    alert: &Alert,
    selected: &[usize],
    key: &str,
    report: &mut Reporter<'_>,
) {
    let provider = alert_index.provider_type(alert);
    let is_new = alert_index.notifier.sends_annotations;
    let annotated = alert_index.annotated.get(key).into_iter().flatten().filter(|_| is_new);
    let annotated: Vec<&SimulatedObject<'_>> = annotated
        .filter(|at| selected.binary_search(at).is_ok())
        .map(|at| &alert_index.emitters[*at])
        .collect();
    let controlled = controlled(alert_index, selected, key, provider);
    let is_twice = key == "summary" && alert.summary.is_some() && alert.event_metadata.contains_key(key);
    if annotated.is_empty() && controlled.is_empty() && !is_twice {
        return;
    }
    let Some(location) = alert_entry(item.node, key).and_then(|entry| entry.key_location()) else { return };
    let certain = !annotated.is_empty()
        || is_twice
        || controlled
            .iter()
            .any(|object| runtime_key(alert_index, object, key, provider).is_some_and(|(_, key)| key.always));

    let mut reasons = Vec::new();
    if is_twice {
        reasons.push("spec.summary wins over spec.eventMetadata.summary".to_owned());
    }
    if !annotated.is_empty() {
        let ids: Vec<&ObjectId> = annotated.iter().map(|object| object.id).collect();
        reasons.push(format!("the Alert wins over the annotations of {}", listed(&ids)));
    }
    let of_controller = controlled.first().and_then(|object| runtime_key(alert_index, object, key, provider));
    if let Some((emitter, key)) = of_controller {
        let often = if key.always { "" } else { "sometimes " };
        let over = if is_new { "wins over both" } else { "wins" };
        reasons.push(format!("{} {often}{over}, with {}", emitter.controller, key.when));
    }
    let rest = conflict(key, !annotated.is_empty(), !controlled.is_empty());
    let pointer = match key {
        "summary" if alert.summary.is_some() => "/spec/summary".to_owned(),
        key => pointer_join("/spec/eventMetadata", key),
    };
    let finding = report
        .report(location, title(item.id, &rest))
        .level(if certain { Level::Warning } else { Level::Info })
        .why(format!(
            "{}{}",
            reasons.join("; "),
            alert_index.notifier.told_of_conflicts(of_controller.is_some())
        ))
        .help(match &annotated[..] {
            [] if is_twice => "keep one of the two",
            [] => "use another key: the controller's always wins",
            _ => "remove the key from one of them, or use another one",
        })
        .object(item.id)
        .field(pointer, key);
    let places = annotated
        .iter()
        .map(|object| (object.id, event_annotation(object.node, key).and_then(|entry| entry.key_location())));
    relate(finding, places);
}

/// The title's words for a key of an Alert by who else sets it.
fn conflict(key: &str, by_annotations: bool, by_controller: bool) -> String {
    match (by_annotations, by_controller) {
        (false, false) => "`summary` is set twice".to_owned(),
        (false, true) => format!("`{key}` is overridden by the controller"),
        (true, false) => format!("`{key}` overrides annotations"),
        (true, true) => format!("`{key}` is set by objects and controller as well"),
    }
}

/// The first selected object of each kind whose controller adds the key: those of a
/// kind are alike, and there may be many.
fn controlled<'s, 'a>(
    alert_index: &'s AlertIndex<'a>,
    selected: &[usize],
    key: &str,
    provider: Option<&str>,
) -> Vec<&'s SimulatedObject<'a>> {
    let first = |positions: &Vec<usize>| {
        let one = &alert_index.emitters[*positions.first()?];
        runtime_key(alert_index, one, key, provider)?;
        match selected.len() < positions.len() {
            true => selected.iter().find(|at| alert_index.emitters[**at].id.kind == one.id.kind).copied(),
            false => positions.iter().find(|at| selected.binary_search(at).is_ok()).copied(),
        }
    };
    let mut found: Vec<usize> = alert_index.kinds.values().filter_map(first).collect();
    found.sort_unstable();
    found.into_iter().map(|at| &alert_index.emitters[at]).collect()
}

/// Annotations that the object's own controller overrides, where an alert would
/// send them and sets no such key itself.
fn check_annotations(alert_index: &AlertIndex<'_>, at: usize, report: &mut Reporter<'_>) {
    let object = &alert_index.emitters[at];
    for (key, entry) in event_annotations(object.node) {
        let mut alerts = Vec::new();
        let mut certain = false;
        for (item, alert) in alert_index.alerts() {
            let Some((_, runtime)) = runtime_key(alert_index, object, &key, alert_index.provider_type(alert))
            else {
                continue;
            };
            let is_set =
                alert.event_metadata.contains_key(&key) || (key == "summary" && alert.summary.is_some());
            if !is_set && alert_index.selected_by(alert, at) == Known::Value(true) {
                certain |= runtime.always;
                alerts.push(item);
            }
        }
        let Some((emitter, runtime)) =
            runtime_key(alert_index, object, &key, None).filter(|_| !alerts.is_empty())
        else {
            continue;
        };
        let Some(location) = entry.key_location() else { continue };
        let finding = report
            .report(location, title(object.id, &format!("annotation `{key}` is overridden")))
            .level(if certain { Level::Warning } else { Level::Info })
            .why(format!(
                "{} sets `{key}` itself in {}, and wins; each of them puts a Warning MetadataAppendFailed \
                 on the Alert",
                emitter.controller, runtime.when
            ))
            .help("use another key")
            .object(object.id)
            .field(pointer_join("/metadata/annotations", &format!("{EVENT_PREFIX}{key}")), &*key);
        relate(
            finding,
            alerts.iter().take(MAX_RELATED).map(|item| (item.id, item.node.location_at("/metadata/name"))),
        );
    }
}

/// The key that an object's controller adds under this name, where a provider
/// of this type sees it.
fn runtime_key(
    alert_index: &AlertIndex<'_>,
    object: &SimulatedObject<'_>,
    key: &str,
    provider: Option<&str>,
) -> Option<(&'static Emitter, RuntimeKey)> {
    let gate = alert_index.notifier.controller.commit_status;
    let sees_updates = provider.is_none_or(|provider| gets_commit_status_updates(provider, gate));
    // kustomize-controller 1.5 was the first to add the origin's revision.
    let is_later = key == "originRevision" && !alert_index.notifier.sends_annotations;
    let is_never = key == "oci-digest" && has_digest(object.node) == Digest::Never;
    if (key == "commit_status" && !sees_updates) || is_later || is_never {
        return None;
    }
    let emitter = emitter_of(object.id.group(), &object.id.kind)?;
    let runtime = emitter.keys.iter().find(|runtime| runtime.key == key)?;
    Some((emitter, *runtime))
}
