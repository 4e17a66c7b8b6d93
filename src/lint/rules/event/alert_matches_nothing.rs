//! `alert-matches-nothing`: an Alert, or one source of it, that no object of the
//! cluster matches.
//! Source: notification-controller `internal/server/event_handlers.go`,
//! `eventMatchesAlertSources`.

use super::{AlertIndex, is_glob, title};
use crate::lang::yaml::{FilePath, Known, Location, NodeRef};
use crate::lint::{Check, ClusterView, FixAvailability, Group, Level, Reporter, Rule};
use crate::model::ObjectId;
use crate::simulate::notify::alerts::{Alert, EventSource, SOURCE_KINDS};
use crate::simulate::notify::controllers::EMITTERS;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) static RULE: Rule = Rule {
    id: "alert-matches-nothing",
    group: Group::Event,
    level: Level::Error,
    default: true,
    since: "0.1.0",
    summary: "an Alert that no object matches",
    fix: FixAvailability::None,
    docs: include_str!("../../../../tests/rules/event/alert-matches-nothing.md"),
    check: Check::Cluster(check),
};

/// From so many sources of an Alert on, all are told in one sentence, which reports for people
/// show once: a list that was copied from another cluster has dozens.
const MANY: usize = 3;

/// A file and an offset in it.
type BytePlace = (FilePath, u32);

fn check(view: &ClusterView<'_>, report: &mut Reporter<'_>) {
    let Some(alert_index) = view.alert_index() else { return };
    let judged = judged_sources(view, alert_index);
    // A text that several Alerts share need not match in each of their namespaces.
    let mut users: BTreeMap<&BytePlace, BTreeSet<&ObjectId>> = BTreeMap::new();
    for ((item, _), judged) in alert_index.notifier.alerts.iter().zip(&judged) {
        for place in judged.iter().filter_map(|(place, _)| place.as_ref()) {
            users.entry(place).or_default().insert(item.id);
        }
    }
    let useful: BTreeSet<&BytePlace> = judged
        .iter()
        .flatten()
        .filter(|(_, nothing)| !nothing)
        .filter_map(|(place, _)| place.as_ref())
        .collect();
    for ((item, alert), judged) in alert_index.notifier.alerts.iter().zip(&judged) {
        let entry = item.node.at("/spec").and_then(|spec| spec.entry("eventSources"));
        let Some(entry) = entry.filter(|entry| entry.value.is_seq()) else { continue };
        let Some(location) = entry.key_location() else { continue };
        if alert.sources.is_empty() {
            report_empty(item.id, location, report);
            continue;
        }
        let is_useful = |place: &Option<_>| place.as_ref().is_some_and(|place| useful.contains(place));
        let nothing: Vec<bool> =
            judged.iter().map(|(place, nothing)| *nothing && !is_useful(place)).collect();
        if nothing.iter().all(|nothing| *nothing) {
            report
                .report(location, title(item.id, "no object matches it"))
                .level(Level::Warning)
                .why(format!("{} has no object that any of its sources names", view.cluster.label()))
                .help(help(alert_index, alert, &alert.sources))
                .object(item.id)
                .field("/spec/eventSources", "");
            continue;
        }
        let is_shared = |index: usize| {
            let users = judged[index].0.as_ref().and_then(|place| users.get(place));
            users.is_some_and(|users| users.len() > 1)
        };
        let unmatched = alert.sources.iter().enumerate().filter(|(index, _)| nothing[*index]);
        let unmatched: Vec<_> = unmatched
            .map(|(index, source)| (index, told_of(view, alert_index, alert, source, is_shared(index))))
            .collect();
        let are_many = unmatched.iter().filter(|(_, told)| told.level == Level::Warning).count() >= MANY;
        for (index, told) in unmatched {
            let Some(location) = entry.value.items().nth(index).and_then(|node| node.location()) else {
                continue;
            };
            let (what, why) = match are_many && told.level == Level::Warning {
                true => (
                    "a source matches no object".to_owned(),
                    format!("{} has no such object in the namespace of the source", view.cluster.label()),
                ),
                false => (format!("eventSources[{index}] matches no object"), told.why),
            };
            report
                .report(location, title(item.id, &what))
                .level(told.level)
                .why(why)
                .help(told.help)
                .object(item.id)
                .field(format!("/spec/eventSources/{index}"), alert.sources[index].name.display());
        }
    }
}

/// Where each source of each Alert stands, and whether it matches nothing.
fn judged_sources(
    view: &ClusterView<'_>,
    alert_index: &AlertIndex<'_>,
) -> Vec<Vec<(Option<BytePlace>, bool)>> {
    alert_index
        .notifier
        .alerts
        .iter()
        .map(|(item, alert)| {
            let sources = item.node.at("/spec/eventSources");
            let mut places = sources.into_iter().flat_map(NodeRef::items).map(|source| source.location());
            let judge = |source| {
                let place = places.next().flatten().map(|place| (place.file, place.start));
                (place, matches_nothing(view, alert_index, alert, source))
            };
            alert.sources.iter().map(judge).collect()
        })
        .collect()
}

fn report_empty(id: &ObjectId, location: Location, report: &mut Reporter<'_>) {
    report
        .report(location, title(id, "it has no event sources"))
        .why("the API server accepts an empty list, and no event ever matches it")
        .help("list the kinds and names whose events are wanted, or remove the Alert")
        .object(id)
        .field("/spec/eventSources", "[]");
}

/// What is said of a source that matches nothing.
struct UnmatchedSource {
    level: Level,
    why: String,
    help: String,
}

fn told_of(
    view: &ClusterView<'_>,
    alert_index: &AlertIndex<'_>,
    alert: &Alert,
    source: &EventSource,
    shared: bool,
) -> UnmatchedSource {
    let all = source.name.known() == Some("*");
    let elsewhere = if all { namespaces(alert_index, alert, source) } else { BTreeSet::new() };
    // Of a kind that nothing has, nothing is lost.
    let lost = if all { !shared && !elsewhere.is_empty() } else { true };
    let name = if all { String::new() } else { format!(" `{}`", source.name.display()) };
    UnmatchedSource {
        level: if lost { Level::Warning } else { Level::Info },
        why: format!(
            "{} has no {}{name} in namespace {}",
            view.cluster.label(),
            source.kind.display(),
            source.namespace_in(&alert.namespace).display()
        ),
        help: match all {
            true if is_elsewhere(source, alert) => help_for_place(source, &elsewhere),
            true => help_for_all(&elsewhere),
            false => help(alert_index, alert, std::slice::from_ref(source)),
        },
    }
}

/// Whether a source surely matches nothing. Sources that could never match
/// anything, wherever they are, are another rule's.
fn matches_nothing(
    view: &ClusterView<'_>,
    alert_index: &AlertIndex<'_>,
    alert: &Alert,
    source: &EventSource,
) -> bool {
    let namespace = source.namespace_in(&alert.namespace);
    let (Some(kind), Some(name), Some(namespace)) =
        (source.kind.known(), source.name.known(), namespace.known())
    else {
        return false;
    };
    let groups = EMITTERS.iter().filter(|emitter| emitter.kind == kind).map(|emitter| emitter.group);
    let is_judged = SOURCE_KINDS.contains(&kind)
        && kind != "ExternalArtifact"
        && !is_glob("name", name)
        && !is_glob("namespace", namespace)
        && !namespace.is_empty();
    is_judged
        && groups.into_iter().all(|group| view.cluster.is_complete(group, kind, Some(namespace)))
        && alert_index
            .candidates(source)
            .into_iter()
            .all(|at| alert_index.source_selects(alert, source, at) == Known::Value(false))
        && !is_known(view, kind, namespace, name)
}

/// Whether there is such an object that is no emitter in the alert_index: an OCI
/// HelmRepository, or one that the entry point or a controller makes.
fn is_known(view: &ClusterView<'_>, kind: &str, namespace: &str, name: &str) -> bool {
    let is_it = |id: &ObjectId| {
        *id.kind == *kind && id.namespace.as_deref() == Some(namespace) && (name == "*" || *id.name == *name)
    };
    view.cluster.generated.iter().any(|(id, _)| is_it(id))
        || name != "*" && view.written().any(|(_, object)| is_it(&object.id))
}

/// The namespaces that have objects of a source's kind.
fn namespaces<'s>(alert_index: &'s AlertIndex<'_>, alert: &Alert, source: &EventSource) -> BTreeSet<&'s str> {
    let is_meant = |at: usize| {
        let anywhere =
            EventSource { namespace: alert_index.emitters[at].namespace().into(), ..source.clone() };
        alert_index.source_selects(alert, &anywhere, at) == Known::Value(true)
    };
    let found = alert_index.candidates(source).into_iter().filter(|at| is_meant(*at));
    found.map(|at| alert_index.emitters[at].namespace()).collect()
}

/// Whether a source says a namespace, and another one than the Alert's.
fn is_elsewhere(source: &EventSource, alert: &Alert) -> bool {
    source.namespace.known().is_some_and(|namespace| !namespace.is_empty() && namespace != &*alert.namespace)
}

/// Whoever says a namespace means that one.
fn help_for_place(source: &EventSource, namespaces: &BTreeSet<&str>) -> String {
    let kind = source.kind.display();
    let mut names = namespaces.iter();
    match (names.next(), names.len()) {
        (None, _) => "remove it until there is one".to_owned(),
        (Some(only), 0) => format!("remove it, or correct the namespace: only `{only}` has a {kind}"),
        (Some(_), more) => {
            format!("remove it, or correct the namespace: {} others have a {kind}", more + 1)
        }
    }
}

/// A source is about one namespace: whoever writes `*` may mean all.
fn help_for_all(namespaces: &BTreeSet<&str>) -> String {
    let mut names = namespaces.iter();
    match (names.next(), names.len()) {
        (None, _) => "remove it until there is one".to_owned(),
        (Some(first), 0) => format!("write `namespace: {first}`: a source is about one namespace"),
        (Some(first), more) => format!(
            "write a source for each namespace, `namespace: {first}` and {more} more: each is about one"
        ),
    }
}

/// Where objects of a wanted kind and name are.
fn help(alert_index: &AlertIndex<'_>, alert: &Alert, sources: &[EventSource]) -> String {
    let is_meant = |source: &EventSource, at: usize| {
        let anywhere =
            EventSource { namespace: alert_index.emitters[at].namespace().into(), ..source.clone() };
        alert_index.source_selects(alert, &anywhere, at) == Known::Value(true)
    };
    let first = |source| alert_index.candidates(source).into_iter().find(|at| is_meant(source, *at));
    let elsewhere = sources.iter().find_map(first).map(|at| &alert_index.emitters[at]);
    match elsewhere {
        Some(item) => format!("{} is in namespace {}: add it to the source", item.id, item.namespace()),
        None => "correct kind, name or namespace, or remove it".to_owned(),
    }
}
