//! Text: one block per object and alert.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{ClusterEvents, SimulatedEvent, View};
use crate::files::markers::ImagePolicyMarker;
use crate::lang::text::clean;
use crate::lang::text::shorten;
use crate::lang::yaml::{Known, Location};
use crate::model::text::Text;
use crate::report::parts::{columns, of_clusters, paragraph, shared};
use crate::report::stated::heads;
use crate::simulate::notify::combine::{
    CONFLICT_MESSAGE, CONFLICT_REASON, Conflict, MetadataSource, OLDER_CONFLICT_LOG,
};
use crate::simulate::notify::controllers::RuntimeKey;
use crate::simulate::notify::delivery::Delivery;
use crate::simulate::notify::objects::MetadataValue;
use crate::simulate::notify::simulate::{AT_RUN_TIME, Considered, Notification};

/// Width of a value on a terminal.
const VALUE: usize = 27;

/// Alerts that do not match and are named without being asked for.
pub(crate) const NAMED_ALERTS: usize = 3;

/// The whole answer. What several clusters have in common is said once, with their names.
pub(crate) fn render(view: &View<'_>) -> String {
    let mut out = String::new();
    let versions = view.clusters.iter().map(|cluster| (name(cluster), cluster.version.clone()));
    let mut last = heads(&mut out, versions, "all objects").unwrap_or_default();
    let noted = view.clusters.iter().map(|cluster| (name(cluster), Vec::from_iter(cluster.note.clone())));
    for (names, notes) in shared(noted) {
        let of = if names == last { String::new() } else { of_clusters(&names, "") + ": " };
        for note in notes {
            paragraph(&mut out, &clean(&format!("{of}{note}")), "  ");
        }
    }
    let said = view.clusters.iter().map(|cluster| (name(cluster), said(view, cluster)));
    let mut sections = shared(said);
    // What all of them have in common goes below their head.
    sections.sort_by_key(|(names, _)| *names != last);
    for (index, (names, said)) in sections.iter().enumerate() {
        let counts = said.iter().all(|one| matches!(one, Said::Count(_)));
        if (index > 0 || *names != last) && !out.ends_with("\n\n") && !counts {
            out.push('\n');
        }
        let of = if *names == last { String::new() } else { of_clusters(names, "") };
        section(&of, said, &mut out);
        last.clone_from(names);
    }
    out
}

fn name(cluster: &ClusterEvents<'_>) -> Option<String> {
    cluster.name.map(str::to_owned)
}

/// One thing that is said of a cluster.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Said {
    /// What an alert sends, and whether it has metadata that is known at run time only.
    Alert(Vec<String>, bool),
    /// What becomes of the events of an object, and whether that ends with remarks.
    Object(String, String, bool),
    /// Alerts that don't want the events of an object.
    Unmatched(String, Vec<String>),
    /// An alert that asks for errors only, where only others were asked about.
    Deaf(String),
    /// How many are not shown.
    Count(String),
}

fn said(view: &View<'_>, cluster: &ClusterEvents<'_>) -> Vec<Said> {
    let mut said = alerts(cluster);
    for alert in cluster.errors_only.iter().filter(|_| view.is_info) {
        said.push(Said::Deaf(format!(
            "{} sends nothing at severity info; it asks for error: `--severity error`",
            clean(&alert.to_string())
        )));
    }
    let is_shown = |answer: &&SimulatedEvent<'_>| view.explain || !answer.simulation.notifications.is_empty();
    // That no alert wants what nobody wrote is no news.
    let is_news = |answer: &&SimulatedEvent<'_>| !answer.is_made || view.lists_alerts || is_shown(answer);
    let answers = || cluster.answers.iter().filter(is_news);
    let mut silent = answers().count();
    let single = silent == 1;
    for answer in answers().filter(|answer| single || is_shown(answer)) {
        silent -= 1;
        said.extend(of_object(view, answer));
    }
    if silent > 0 {
        let plural = if silent == 1 { "object reaches" } else { "objects reach" };
        said.push(Said::Count(format!("{silent} {plural} no alert (--explain)")));
    } else if answers().next().is_none() {
        said.push(Said::Count("no object that emits events".to_owned()));
    }
    said
}

/// Writes what some clusters have in common; `of` is nothing where they are just named.
fn section(of: &str, said: &[Said], out: &mut String) {
    let counts = said.iter().all(|one| matches!(one, Said::Count(_)));
    if !of.is_empty() && !counts {
        paragraph(out, of, "  ");
    }
    alert_table(said, out);
    let mut last: Option<(&str, bool)> = None;
    for one in said {
        match one {
            Said::Object(object, text, has_notes) => {
                if last.is_some() {
                    out.push('\n');
                }
                out.push_str(text);
                last = Some((object, *has_notes));
            }
            Said::Unmatched(object, notes) => {
                match last {
                    Some((same, has_notes)) if same == object => {
                        if !has_notes {
                            out.push('\n');
                        }
                    }
                    last => {
                        if last.is_some() {
                            out.push('\n');
                        }
                        paragraph(out, object, "  ");
                    }
                }
                notes.iter().for_each(|note| paragraph(out, note, "  "));
                last = Some((object, true));
            }
            Said::Count(text) => {
                if last.is_some() {
                    out.push('\n');
                }
                let of = if counts && !of.is_empty() { format!("{of}: ") } else { String::new() };
                paragraph(out, &format!("{of}{text}"), "  ");
            }
            Said::Alert(..) | Said::Deaf(_) => {}
        }
    }
}

/// The table of alerts, and those that hear nothing.
fn alert_table(said: &[Said], out: &mut String) {
    let mut rows = vec![["ALERT", "PROVIDER", "SENDS", "SEVERITY", "METADATA"].map(str::to_owned).to_vec()];
    let mut at_run_time = false;
    for one in said {
        if let Said::Alert(row, later) = one {
            rows.push(row.clone());
            at_run_time |= later;
        }
    }
    if rows.len() > 1 {
        out.push('\n');
        columns(&rows, out);
        if at_run_time {
            out.push_str("  (in brackets: known at run time)\n");
        }
        for one in said {
            if let Said::Deaf(text) = one {
                paragraph(out, text, "  ");
            }
        }
        out.push('\n');
    }
}

/// What each alert will send: the answer in short.
fn alerts(cluster: &ClusterEvents<'_>) -> Vec<Said> {
    let mut seen: BTreeMap<String, Sent<'_>> = BTreeMap::new();
    for alert in &cluster.alerts {
        seen.entry(alert.to_string()).or_default();
    }
    for answer in &cluster.answers {
        for found in &answer.simulation.notifications {
            let sent = seen.entry(found.alert.id.to_string()).or_default();
            sent.objects += 1;
            let is_sent = matches!(found.delivery, Delivery::Delivered | Delivery::Partly(_));
            sent.delivered += usize::from(is_sent);
            sent.unknown += usize::from(matches!(found.delivery, Delivery::Unknown(_)));
            sent.keys.extend(found.combined.entries.keys().map(String::as_str));
            sent.at_run_time.extend(found.runtime_keys.iter().map(|key| key.key));
            let kind = found.provider.map(|provider| provider.kind.display().into_owned());
            sent.provider = kind.unwrap_or_else(|| found.provider_name.clone());
            sent.severity = match found.alert.node.str_at("/spec/eventSeverity").as_deref() {
                Some("error") => "error",
                _ => "info, error",
            };
        }
    }
    let row = |(alert, sent): (&String, &Sent<'_>)| {
        let alert = clean(alert.strip_prefix("Alert ").unwrap_or(alert)).into_owned();
        if sent.objects == 0 {
            return Said::Alert(vec![alert, "-".to_owned(), "nothing".to_owned()], false);
        }
        let count = match (sent.delivered, sent.unknown) {
            (0, 0) => "nothing".to_owned(),
            (0, unknown) => format!("perhaps {unknown}"),
            (delivered, _) => delivered.to_string(),
        };
        let sends = if sent.delivered == sent.objects {
            crate::lang::text::counted(sent.objects, "object")
        } else {
            format!("{count} of {}", crate::lang::text::counted(sent.objects, "object"))
        };
        let mut keys: Vec<String> = sent.keys.iter().map(|key| clean(key).into_owned()).collect();
        let later = sent.at_run_time.iter().filter(|key| !sent.keys.contains(**key));
        keys.extend(later.map(|key| format!("({key})")));
        let cells =
            vec![alert, clean(&sent.provider).into_owned(), sends, sent.severity.to_owned(), keys.join(" ")];
        Said::Alert(cells, !sent.at_run_time.is_empty())
    };
    seen.iter().map(row).collect()
}

/// What an alert sends of all objects.
#[derive(Default)]
struct Sent<'a> {
    objects: usize,
    delivered: usize,
    unknown: usize,
    keys: BTreeSet<&'a str>,
    at_run_time: BTreeSet<&'a str>,
    provider: String,
    severity: &'static str,
}

/// The alert that came closest: one of the object's own namespace, that names its
/// kind or anything at all.
fn nearest<'s>(answer: &'s SimulatedEvent<'_>) -> Option<&'s Considered<'s>> {
    let own = |considered: &&Considered<'_>| considered.alert.namespace == answer.object.namespace;
    let mut of_namespace: Vec<&Considered<'_>> = answer.simulation.considered.iter().filter(own).collect();
    // Reasons of a source's kind are the furthest from a match.
    of_namespace.sort_by_key(|considered| considered.answer.reason.starts_with("source kind"));
    of_namespace.into_iter().next()
}

fn of_object(view: &View<'_>, answer: &SimulatedEvent<'_>) -> Vec<Said> {
    let mut out = String::new();
    let simulation = &answer.simulation;
    let object = match answer.target {
        Some(target) => format!("{} (cluster of {target})", answer.object),
        None => answer.object.to_string(),
    };
    let mut notes = Vec::new();
    if simulation.notifications.is_empty() {
        let near = nearest(answer)
            .map_or(String::new(), |near| format!("; nearest is {}: {}", near.alert, near.answer.reason));
        paragraph(&mut out, &clean(&format!("{object}: no alert wants it{near}")), "  ");
    }
    for (index, notification) in simulation.notifications.iter().enumerate() {
        if index > 0 {
            write_notes(&mut notes, &mut out);
            out.push('\n');
        }
        render_notification(view, answer, &object, notification, &mut out);
        notes.extend(notes_of(notification));
    }
    for key in &simulation.dropped {
        notes.push(format!("not sent: {} ({})", key.key, key.reason));
    }
    let has_notes = !notes.is_empty();
    write_notes(&mut notes, &mut out);
    let object = clean(&object).into_owned();
    let mut said = vec![Said::Object(object.clone(), out, has_notes)];
    let others: Vec<_> =
        simulation.considered.iter().filter(|c| c.answer.matched == Known::Value(false)).collect();
    let named = if view.explain { usize::MAX } else { NAMED_ALERTS };
    let mut unmatched: Vec<String> = others
        .iter()
        .take(named)
        .map(|other| clean(&format!("not matched: {} ({})", other.alert, other.answer.reason)).into_owned())
        .collect();
    if simulation.not_matched > named {
        let more = crate::lang::text::counted(simulation.not_matched - named, "more alert");
        unmatched.push(format!("not matched: {more} (--explain)"));
    }
    if !unmatched.is_empty() {
        said.push(Said::Unmatched(object, unmatched));
    }
    said
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
    answer: &SimulatedEvent<'_>,
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
        Delivery::Partly(others) => format!("delivered: yes ({}), but not {others}", found.matched),
        Delivery::Dropped(reason) => format!("delivered: no ({reason})"),
        Delivery::Failed(error) => {
            format!("delivered: no; the Alert gets NotificationDispatchFailed: {error}")
        }
        Delivery::Unknown(why) => format!("delivered: not known ({why})"),
    };
    paragraph(out, &clean(&delivered), "  ");
    if let Some(status) = &found.commit_status {
        paragraph(out, &clean(&format!("commit status: {status}")), "  ");
    }

    let rows = rows(view, answer, found);
    if rows.is_empty() {
        return;
    }
    out.push('\n');
    let head = ["KEY", "VALUE", "FROM", ""].map(str::to_owned);
    let table: Vec<Vec<String>> = std::iter::once(head).chain(rows).map(|row| row.to_vec()).collect();
    columns(&table, out);
    let values = found.combined.entries.values().flatten();
    let files: BTreeSet<&str> =
        values.filter_map(|(_, value)| Some(&**value.location.as_ref()?.file.shown())).collect();
    if !files.is_empty() {
        let files: Vec<&str> = files.into_iter().collect();
        let _ = writeln!(out, "  ({})", clean(&files.join(", ")));
    }
}

fn notes_of(found: &Notification<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(report) = found.report.as_ref().filter(|report| report.log == OLDER_CONFLICT_LOG) {
        let is_left_out =
            |conflict: &&Conflict| conflict.sources.contains(&MetadataSource::ControllerMetadata);
        let keys: Vec<&str> =
            found.conflicts.iter().filter(is_left_out).map(|conflict| conflict.key.as_str()).collect();
        let told = match &report.message {
            Some(message) => {
                format!(
                    "with each event the Alert gets a Kubernetes Event Warning {CONFLICT_REASON}: {message}"
                )
            }
            None => "notification-controller logs this".to_owned(),
        };
        notes.push(format!("not added: {} of eventMetadata, as the event has it; {told}", keys.join(", ")));
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
    if found.combined.entries.values().flatten().any(|(source, _)| *source == MetadataSource::AlertSummary) {
        notes.push(
            "deprecated: spec.summary of the Alert; use spec.eventMetadata.summary (`forebay migrate \
             alert-summary`)"
                .to_owned(),
        );
    }
    notes
}

fn rows(view: &View<'_>, answer: &SimulatedEvent<'_>, found: &Notification<'_>) -> Vec<[String; 4]> {
    let controller = match answer.controller {
        "" => "controller",
        controller => controller,
    };
    let from = |source: MetadataSource| match source {
        MetadataSource::ObjectAnnotations => "annotation".to_owned(),
        MetadataSource::AlertEventMetadata => "Alert eventMetadata".to_owned(),
        MetadataSource::AlertSummary => "Alert summary".to_owned(),
        MetadataSource::ControllerMetadata => controller.to_owned(),
    };
    let place = |value: &MetadataValue| value.location.as_ref().map_or(String::new(), |at| place(view, at));
    let mut rows = Vec::new();
    for (key, all) in &found.combined.entries {
        let key = clean(key).into_owned();
        let Some(((source, value), overridden)) = all.split_last() else { continue };
        rows.push([key.clone(), shown(view, &value.text), from(*source), place(value)]);
        let marker = value.location.as_ref().and_then(|at| ImagePolicyMarker::at(view.snapshot, at));
        if let Some(marker) = marker {
            let policy = format!("updated by ImagePolicy {}/{}", marker.namespace, marker.name);
            rows.push([String::new(), clean(&policy).into_owned(), String::new(), String::new()]);
        }
        for (source, value) in overridden.iter().rev() {
            let width = if view.cuts { VALUE - 14 } else { usize::MAX };
            let text = format!("overrides `{}`", shown_up_to(&value.text, width));
            rows.push([String::new(), text, from(*source), place(value)]);
        }
        let is_sometimes = |runtime: &&RuntimeKey| runtime.key == key && !runtime.always;
        if found.runtime_keys.iter().find(is_sometimes).is_some() {
            let text = "overridden in some events".to_owned();
            rows.push([String::new(), text, controller.to_owned(), String::new()]);
        }
    }
    let is_new = |key: &&RuntimeKey| !found.combined.entries.contains_key(key.key);
    for key in found.runtime_keys.iter().filter(is_new) {
        let text = if key.always { "known at run time" } else { "in some events only" };
        let by = key.by.unwrap_or(controller);
        rows.push([key.key.to_owned(), text.to_owned(), by.to_owned(), String::new()]);
    }
    rows
}

/// A value; whole outside of a terminal.
fn shown(view: &View<'_>, text: &Text) -> String {
    let width = if view.cuts { VALUE - 1 } else { usize::MAX };
    match text {
        Text::Unknown(why) if **why == *AT_RUN_TIME => AT_RUN_TIME.to_owned(),
        Text::Unknown(why) => shorten(&clean(&format!("not known ({why})")), width),
        text => shown_up_to(text, width),
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
    let name = location.file.shown().rsplit('/').next().unwrap_or_default();
    format!("{}:{line}", clean(name))
}
