//! Event metadata and the alerts that carry it.

pub mod alert_matches_nothing;
pub mod alert_source_glob;
pub mod alert_source_without_events;
pub mod change_request_not_a_number;
pub mod commit_status_provider_drops_events;
pub mod deprecated_alert_summary;
pub mod event_metadata_conflict;
pub mod event_metadata_dropped;
pub mod event_metadata_redirects_commit_status;
pub mod malformed_alert_pattern;
pub mod missing_alert_provider;
pub mod overwritten_by_provider;
pub mod secret_in_event_metadata;
pub mod unknown_provider_type;
pub mod unsupported_alert_source_kind;

use crate::lint::title;
use crate::lint::{ClusterView, Finding};
use crate::model::ObjectId;
use crate::model::kinds::{NOTIFICATION, SOURCE};
use crate::model::text::Text;
use crate::simulate::alerts::{Alert, EventSource, selects};
use crate::simulate::events::EVENT_PREFIX;
use crate::simulate::events::controllers::emitter_of;
use crate::simulate::events::objects::{involved_object, labels_of};
use crate::simulate::events::simulate::{Item, Notifier, items};
use crate::world::ApplyTarget;
use crate::yaml::{EntryRef, Known, Location, NodeRef};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// Whether an object is an Alert of any API version.
fn is_alert(id: &ObjectId) -> bool {
    id.is(NOTIFICATION, "Alert")
}

/// Related places that a finding names; more are counted by its reason.
const MAX_RELATED: usize = 5;

/// The alerts of a cluster and the objects whose events they may get.
struct Scene<'a> {
    notifier: Notifier<'a>,
    emitters: Vec<Item<'a>>,
    /// Positions of emitters by kind, and by kind and name.
    kinds: FxHashMap<&'a str, Vec<usize>>,
    names: FxHashMap<(&'a str, &'a str), Vec<usize>>,
    /// Positions of emitters by the event metadata that they state.
    annotated: FxHashMap<String, Vec<usize>>,
    /// What the same sources have selected before: many alerts have the same.
    known: RefCell<FxHashMap<String, Rc<[usize]>>>,
}

impl<'a> Scene<'a> {
    /// `None` for a cluster without alerts.
    fn of(view: &ClusterView<'a>) -> Option<Scene<'a>> {
        let (world, cluster) = (view.world(), view.cluster);
        let notifier = Notifier::new(world, cluster, &ApplyTarget::Local);
        if notifier.alerts.is_empty() {
            return None;
        }
        let emitters: Vec<Item<'a>> =
            items(world, cluster, &ApplyTarget::Local).filter(|item| emits(*item)).collect();
        let mut kinds: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        let mut names: FxHashMap<(&str, &str), Vec<usize>> = FxHashMap::default();
        let mut annotated: FxHashMap<String, Vec<usize>> = FxHashMap::default();
        for (at, item) in emitters.iter().enumerate() {
            for (key, _) in event_annotations(item.node) {
                annotated.entry(key).or_default().push(at);
            }
            kinds.entry(&item.id.kind).or_default().push(at);
            names.entry((&item.id.kind, &item.id.name)).or_default().push(at);
        }
        Some(Scene { notifier, emitters, kinds, names, annotated, known: RefCell::default() })
    }

    /// Alerts that are not known to be suspended.
    fn alerts(&self) -> impl Iterator<Item = &(Item<'a>, Alert)> {
        self.notifier.alerts.iter().filter(|(_, alert)| alert.suspend != Known::Value(true))
    }

    /// The type of an alert's Provider, where it is known.
    fn provider_type(&self, alert: &Alert) -> Option<&str> {
        let (_, provider) = self.notifier.provider_of(alert).value().flatten()?;
        provider.kind.known()
    }

    /// The objects that an alert surely selects.
    fn selected<'s>(&'s self, alert: &'s Alert) -> impl Iterator<Item = &'s Item<'a>> {
        let selected = self.selected_at(alert);
        (0..selected.len()).map(move |at| &self.emitters[selected[at]])
    }

    /// Positions of the objects that an alert surely selects, in order.
    fn selected_at(&self, alert: &Alert) -> Rc<[usize]> {
        let key = format!("{} {:?} {:?}", alert.namespace, alert.severity, alert.sources);
        let known = self.known.borrow().get(&key).cloned();
        known.unwrap_or_else(|| {
            let mut found: Vec<usize> =
                alert.sources.iter().flat_map(|source| self.candidates(alert, source)).collect();
            found.sort_unstable();
            found.dedup();
            found.retain(|at| selected_by(alert, &self.emitters[*at]) == Known::Value(true));
            let found: Rc<[usize]> = found.into();
            self.known.borrow_mut().insert(key, found.clone());
            found
        })
    }

    /// Positions of the emitters that a source may select, in order.
    fn candidates(&self, alert: &Alert, source: &EventSource) -> Vec<usize> {
        let found = match (source.kind.known(), source.name.known()) {
            (Some(kind), Some(name)) if name != "*" && !is_glob("name", name) => {
                self.names.get(&(kind, name))
            }
            (Some(kind), _) => self.kinds.get(kind),
            (None, _) => return (0..self.emitters.len()).collect(),
        };
        let namespace = source.namespace_in(&alert.namespace);
        // Most sources are of one namespace; labels are read of what is there.
        let elsewhere = |at: &usize| {
            let own = self.emitters[*at].id.namespace.as_deref();
            matches!((own, namespace.known()), (Some(own), Some(namespace)) if own != namespace)
        };
        found.into_iter().flatten().copied().filter(|at| !elsewhere(at)).collect()
    }
}

/// Whether the sources of an alert select an object.
fn selected_by(alert: &Alert, item: &Item<'_>) -> Known<bool> {
    let object = involved_object(item.id);
    selects(alert, &object, &labels_of(item.node))
}

/// Whether events about an object are posted: a HelmRepository of type `oci` is
/// never reconciled.
fn emits(item: Item<'_>) -> bool {
    emitter_of(item.id.group(), &item.id.kind).is_some() && !is_oci_repository(item)
}

fn is_oci_repository(item: Item<'_>) -> bool {
    item.id.is(SOURCE, "HelmRepository") && item.node.str_at("/spec/type").as_deref() == Some("oci")
}

/// The event metadata that an object states in annotations: its key without
/// the prefix, and the entry.
fn event_annotations<'a>(node: NodeRef<'a>) -> impl Iterator<Item = (String, EntryRef<'a>)> {
    node.entries_at("/metadata/annotations")
        .filter_map(|entry| Some((entry.key.strip_prefix(EVENT_PREFIX)?.to_owned(), entry)))
}

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

/// Whether `name` or `namespace` of a source is a glob, which matches nothing.
fn is_glob(field: &str, value: &str) -> bool {
    value.contains(['*', '?', '[']) && !(field == "name" && value == "*")
}

/// Whether one source alone selects an object.
fn source_selects(alert: &Alert, source: &EventSource, item: &Item<'_>) -> Known<bool> {
    let alone = Alert { sources: vec![source.clone()], ..alert.clone() };
    selected_by(&alone, item)
}
