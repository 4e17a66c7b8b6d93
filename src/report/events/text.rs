//! Text: one block per object and alert.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::{Answer, Cluster, View};
use crate::model::text::Text;
use crate::repo::markers::ImagePolicyMarker;
use crate::report::parts::paragraph;
use crate::simulate::events::combine::{CONFLICT_MESSAGE, CONFLICT_REASON, Conflict, Source};
use crate::simulate::events::controllers::RuntimeKey;
use crate::simulate::events::delivery::Delivery;
use crate::simulate::events::objects::Value;
use crate::simulate::events::simulate::Notification;
use crate::text::clean;
use crate::text::shorten;
use crate::yaml::{Known, Location};

/// Widths of the columns of keys, values and sources.
const KEY: usize = 14;
const VALUE: usize = 27;
const FROM: usize = 21;

/// Alerts that do not match and are named without being asked for.
const NAMED_ALERTS: usize = 3;

/// The whole answer.
pub fn render(view: &View<'_>) -> String {
    let mut out = String::new();
    for (index, cluster) in view.clusters.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        render_cluster(view, cluster, &mut out);
    }
    out
}

fn render_cluster(view: &View<'_>, cluster: &Cluster<'_>, out: &mut String) {
    match cluster.name {
        Some(name) => drop(writeln!(out, "cluster {}", clean(name))),
        None => out.push_str("all objects\n"),
    }
    let is_shown = |answer: &&Answer<'_>| view.explain || !answer.simulation.notifications.is_empty();
    let single = cluster.answers.len() == 1;
    let shown: Vec<&Answer<'_>> =
        cluster.answers.iter().filter(|answer| single || is_shown(answer)).collect();
    for (index, answer) in shown.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        render_answer(view, answer, out);
    }
    let silent = cluster.answers.len() - shown.len();
    if silent > 0 {
        let blank = if shown.is_empty() { "" } else { "\n" };
        let plural = if silent == 1 { "object reaches" } else { "objects reach" };
        let _ = writeln!(out, "{blank}{silent} {plural} no alert (--explain)");
    } else if cluster.answers.is_empty() {
        out.push_str("no object that emits events\n");
    }
}

fn render_answer(view: &View<'_>, answer: &Answer<'_>, out: &mut String) {
    let simulation = &answer.simulation;
    let object = match answer.target {
        Some(target) => format!("{} (cluster of {target})", answer.object),
        None => answer.object.to_string(),
    };
    let mut notes = Vec::new();
    if simulation.notifications.is_empty() {
        let _ = writeln!(out, "{}: no alert wants it", clean(&object));
    }
    for (index, notification) in simulation.notifications.iter().enumerate() {
        if index > 0 {
            write_notes(&mut notes, out);
            out.push('\n');
        }
        render_notification(view, answer, &object, notification, out);
        notes.extend(notes_of(notification));
    }
    for key in &simulation.dropped {
        notes.push(format!("not sent: {} ({})", key.key, key.reason));
    }
    let others: Vec<_> =
        simulation.considered.iter().filter(|c| c.answer.matched == Known::Value(false)).collect();
    let named = if view.explain { others.len() } else { NAMED_ALERTS };
    for other in others.iter().take(named) {
        notes.push(format!("not matched: {} ({})", other.alert, other.answer.reason));
    }
    if others.len() > named {
        notes.push(format!("not matched: {} more alerts (--explain)", others.len() - named));
    }
    write_notes(&mut notes, out);
}

fn write_notes(notes: &mut Vec<String>, out: &mut String) {
    if !notes.is_empty() {
        out.push('\n');
    }
    for note in notes.drain(..) {
        paragraph(out, &clean(&note), "  ");
    }
}

fn render_notification(
    view: &View<'_>,
    answer: &Answer<'_>,
    object: &str,
    found: &Notification<'_>,
    out: &mut String,
) {
    let kind = found.provider.map(|provider| provider.kind.display().into_owned());
    let kind = kind.filter(|kind| *kind != found.provider_name).map(|kind| format!(" ({kind})"));
    let title = format!(
        "{object} -> {} -> Provider {}{}",
        found.alert.id,
        found.provider_name,
        kind.unwrap_or_default()
    );
    paragraph(out, &clean(&title), "  ");
    let delivered = match &found.delivery {
        Delivery::Delivered => format!("delivered: yes ({})", found.matched),
        Delivery::Dropped(reason) => format!("delivered: no ({reason})"),
        Delivery::Failed(error) => {
            format!("delivered: no; the Alert gets NotificationDispatchFailed: {error}")
        }
        Delivery::Unknown(why) => format!("delivered: not known ({why})"),
    };
    paragraph(out, &clean(&delivered), "  ");

    let rows = rows(view, answer, found);
    if rows.is_empty() {
        return;
    }
    out.push('\n');
    row(out, &["KEY", "VALUE", "FROM", ""]);
    for cells in &rows {
        row(out, &cells.each_ref().map(String::as_str));
    }
    let values = found.combined.entries.values().flatten();
    let files: BTreeSet<&str> =
        values.filter_map(|(_, value)| Some(&*value.location.as_ref()?.path)).collect();
    if !files.is_empty() {
        let files: Vec<&str> = files.into_iter().collect();
        let _ = writeln!(out, "  ({})", clean(&files.join(", ")));
    }
}

fn notes_of(found: &Notification<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if found.report.as_ref().is_some_and(|report| !report.has_event) {
        let is_left_out = |conflict: &&Conflict| conflict.sources.contains(&Source::ControllerMetadata);
        let keys: Vec<&str> =
            found.conflicts.iter().filter(is_left_out).map(|conflict| conflict.key.as_str()).collect();
        notes.push(format!(
            "not added: {} of eventMetadata, as the event has it; notification-controller logs this",
            keys.join(", ")
        ));
    } else if found.report.is_some() {
        let keys: Vec<&str> = found.conflicts.iter().map(|conflict| conflict.key.as_str()).collect();
        let plural = if keys.len() == 1 { "conflict" } else { "conflicts" };
        notes.push(format!(
            "{} {plural}: {}. With each event the Alert gets a Kubernetes Event Warning \
             {CONFLICT_REASON}: {CONFLICT_MESSAGE}",
            keys.len(),
            keys.join(", "),
        ));
    }
    if found.combined.entries.values().flatten().any(|(source, _)| *source == Source::AlertSummary) {
        notes.push(
            "deprecated: spec.summary of the Alert; use spec.eventMetadata.summary (`forebay migrate \
             alert-summary`)"
                .to_owned(),
        );
    }
    notes
}

/// Writes cells into the columns. A cell too wide shifts the rest.
fn row(out: &mut String, cells: &[&str; 4]) {
    let [key, value, from, place] = cells;
    let mut line = String::from("  ");
    for (cell, width) in [(key, KEY), (value, VALUE), (from, FROM)] {
        line.push_str(cell);
        let used = cell.chars().count();
        line.push_str(&" ".repeat(width.saturating_sub(used).max(1)));
    }
    line.push_str(place);
    out.push_str(line.trim_end());
    out.push('\n');
}

fn rows(view: &View<'_>, answer: &Answer<'_>, found: &Notification<'_>) -> Vec<[String; 4]> {
    let controller = match answer.controller {
        "" => "controller",
        controller => controller,
    };
    let from = |source: Source| match source {
        Source::ObjectAnnotations => "annotation".to_owned(),
        Source::AlertEventMetadata => "Alert eventMetadata".to_owned(),
        Source::AlertSummary => "Alert summary".to_owned(),
        Source::ControllerMetadata => controller.to_owned(),
    };
    let place = |value: &Value| value.location.as_ref().map_or(String::new(), |at| place(view, at));
    let mut rows = Vec::new();
    for (key, all) in &found.combined.entries {
        let key = clean(key).into_owned();
        let Some(((source, value), overridden)) = all.split_last() else { continue };
        rows.push([key.clone(), shown(&value.text), from(*source), place(value)]);
        let marker = value.location.as_ref().and_then(|at| ImagePolicyMarker::at(view.snapshot, at));
        if let Some(marker) = marker {
            let policy = format!("updated by ImagePolicy {}/{}", marker.namespace, marker.name);
            rows.push([String::new(), clean(&policy).into_owned(), String::new(), String::new()]);
        }
        for (source, value) in overridden.iter().rev() {
            let text = format!("overrides `{}`", shown_up_to(&value.text, VALUE - 14));
            rows.push([String::new(), text, from(*source), place(value)]);
        }
        if found.runtime_keys.iter().any(|runtime| runtime.key == key) {
            let text = "overridden at run time".to_owned();
            rows.push([String::new(), text, controller.to_owned(), String::new()]);
        }
    }
    let is_new = |key: &&RuntimeKey| !found.combined.entries.contains_key(key.key);
    for key in found.runtime_keys.iter().filter(is_new) {
        let text = if key.always { "known at run time" } else { "in some events only" };
        rows.push([key.key.to_owned(), text.to_owned(), controller.to_owned(), String::new()]);
    }
    rows
}

fn shown(text: &Text) -> String {
    match text {
        Text::Unknown(why) => shorten(&clean(&format!("not known ({why})")), VALUE - 1),
        text => shown_up_to(text, VALUE - 1),
    }
}

fn shown_up_to(text: &Text, width: usize) -> String {
    match text.display() {
        empty if empty.is_empty() => "(empty)".to_owned(),
        text => shorten(&clean(&text), width),
    }
}

/// The file's own name and the line.
fn place(view: &View<'_>, location: &Location) -> String {
    let ((line, _), _) = view.snapshot.positions(location);
    let name = location.path.rsplit('/').next().unwrap_or_default();
    format!("{}:{line}", clean(name))
}
