//! `event-metadata-dropped`: an annotation in the object's own API group, which
//! nobody reads as event metadata.
//! Source: fluxcd/pkg `runtime/events/recorder.go`, `AnnotatedEventf`, copies
//! annotations of the event group only; notification-controller
//! `internal/server/event_server.go`, `cleanupMetadata`, drops foreign groups.

use super::title;
use crate::lang::yaml::pointer_join;
use crate::lint::{Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};
use crate::model::ObjectId;
use crate::model::keys::{FLUX, KeyStanding};
use crate::simulate::notify::EVENT_PREFIX;
use crate::simulate::notify::controllers::emitter_of;

pub(crate) static RULE: Rule = Rule {
    id: "event-metadata-dropped",
    group: Group::Event,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "an annotation that is no event metadata",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/event-metadata-dropped.md"),
    check: Check::Object(check),
};

/// Names that mean something as event metadata, so that nothing else was meant.
const METADATA: &[&str] = &[
    "app-version",
    "change_request",
    "checksum",
    "commit",
    "commit_status",
    "digest",
    "oci-digest",
    "originRevision",
    "revision",
    "summary",
    "token",
];

/// The name of a key that this rule judges: one of no controller, in the own
/// group of an object that emits events.
pub(in crate::lint::rules) fn own_group_name<'k>(id: &ObjectId, key: &'k str) -> Option<&'k str> {
    let name = key.strip_prefix(id.group())?.strip_prefix('/')?;
    emitter_of(id.group(), &id.kind)?;
    let judged = match FLUX.standing(key) {
        KeyStanding::Unknown => true,
        KeyStanding::NearMiss(_) => METADATA.contains(&name),
        _ => false,
    };
    judged.then_some(name)
}

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    for entry in view.node.entries_at("/metadata/annotations") {
        let Some(name) = own_group_name(view.id, &entry.key) else { continue };
        if view.is_selected(&entry.key) {
            continue;
        }
        let Some(location) = entry.key_location() else { continue };
        let level = if METADATA.contains(&name) { Level::Warning } else { Level::Info };
        report
            .report(location, title(view.id, &format!("annotation `{name}` is no event metadata")))
            .level(level)
            .why(
                "of an object's annotations only those of event.toolkit.fluxcd.io go on its events; \
                 metadata in its own group is the controller's, and nobody else can set it",
            )
            .help(format!("write {EVENT_PREFIX}{name}"))
            .object(view.id)
            .field(pointer_join("/metadata/annotations", &entry.key), &*entry.key);
    }
}
