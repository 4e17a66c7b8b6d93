//! `deprecated-alert-summary`: the deprecated `spec.summary` of an Alert.
//! Source: notification-controller `internal/server/event_handlers.go`,
//! `combineEventMetadata`; RFC-0008, "Reasoning".

use super::{is_alert, title};
use crate::lang::yaml::NodeRef;
use crate::lang::yaml::edit::{Operation, Prune, pointer_of};
use crate::lint::{Applicability, Check, FixAvailability, Group, Level, ObjectView, Reporter, Rule};

pub(crate) static RULE: Rule = Rule {
    id: "deprecated-alert-summary",
    group: Group::Event,
    level: Level::Warning,
    default: true,
    since: "0.1.0",
    summary: "an Alert with the deprecated field spec.summary",
    fix: FixAvailability::Sometimes,
    docs: include_str!("../../../../tests/rules/event/deprecated-alert-summary.md"),
    check: Check::Object(check),
};

fn check(view: &ObjectView<'_>, report: &mut Reporter<'_>) {
    if !is_alert(view.id) {
        return;
    }
    // The CRDs say so since 2.5.
    let mut versions = view.settings().map(|settings| settings.flux_at_least(5)).peekable();
    if versions.peek().is_some() && versions.all(|since| since == Some(false)) {
        return;
    }
    let Some(spec) = view.node.at("/spec") else { return };
    let Some(entry) = spec.entry("summary").filter(|entry| !entry.value.is_null()) else { return };
    let Some(location) = entry.key_location() else { return };
    let text = entry.value.text().unwrap_or_default();
    let newer = spec.at("/eventMetadata/summary");
    let finding = if text.is_empty() && !entry.value.is_unknown() {
        report
            .report(location, title(view.id, "spec.summary is deprecated, and empty"))
            .why("an empty summary adds nothing to notifications, and the field is to go")
            .help("delete it")
    } else {
        let why = match newer {
            Some(_) => {
                "it overrides spec.eventMetadata.summary, with a conflict reported for each event; \
                 the field is to go"
            }
            None => {
                "notification-controller logs a deprecation with each event: \
                 the field is to go"
            }
        };
        report
            .report(location, title(view.id, "spec.summary is deprecated"))
            .why(why)
            .help("move the text to spec.eventMetadata.summary")
    };
    let is_empty = text.is_empty() && !entry.value.is_unknown();
    // One text is one finding, whatever each cluster's variables make of it.
    let written = match is_empty {
        true => String::new(),
        false => "written".to_owned(),
    };
    finding.object(view.id).field("/spec/summary", written);
    if is_empty {
        finding.fix("delete the empty summary", Applicability::Safe, entry.value, |pointer| {
            vec![Operation::RemoveKey { pointer: pointer.to_owned(), prune: Prune::Keep }]
        });
    } else if newer.is_none_or(|newer| in_one_document(newer, entry.value)) {
        let into = "eventMetadata".to_owned();
        finding.fix("move it to spec.eventMetadata.summary", Applicability::Safe, entry.value, |pointer| {
            vec![Operation::MoveKey { pointer: pointer.to_owned(), into }]
        });
    }
    if let Some(place) = newer.and_then(|node| node.location()) {
        finding.related("spec.eventMetadata.summary is overridden", place);
    }
}

/// Whether both values are written in one document. From another one, such as
/// an overlay, the other summary would win after the move.
fn in_one_document(one: NodeRef<'_>, other: NodeRef<'_>) -> bool {
    let source = |node| pointer_of(node).map(|(source, _)| (source.file.clone(), source.index));
    source(one).is_some_and(|place| source(other) == Some(place))
}
